"""Models in files: save, load and inspect.

A `.onkel` file is a safetensors file: a header of JSON, then arrays. Nothing in it is code, and loading it runs none.
It is made from the `State` of an estimator or model, so that whatever has a state can be saved.

    model_file.py   save and load
    summary.py      inspect: what a file holds, from its header alone
    document.py     the JSON of a file: canonical when written, limited when read
    tensors.py      arrays of a state as arrays of plain numbers, and back
    container.py    the bytes: header and arrays, written atomically, read by mapping
"""

from onkel.files.model_file import load, save
from onkel.files.summary import Summary, inspect

__all__ = ["Summary", "inspect", "load", "save"]
