"""Arrays of a state as arrays of plain numbers, and back.

Most arrays of a state hold numbers already. The others are written by one of these encodings, which the document
names; NAME is the name of the array:

    text      str or bytes of fixed length     NAME, code points (uint32) or bytes (uint8), one axis more
    time      dates and durations              NAME, int64
    strings   objects that are all strings     NAME#bytes (UTF-8), NAME#offsets
    values    objects: str, int, float, bool,  NAME#bytes (JSON), NAME#offsets
              None

What has no encoding is refused when it is saved.

Long lists of numbers in the settings of a state, such as the centres that a user gave, become arrays as well, so that
the JSON of a file is small: in their place is {"$array": NAME}.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.errors import FileFormatError, KindError

__all__ = ["decoded", "encoded", "with_lists", "without_lists"]

PLAIN = "biuf"
LONGEST_CODE_POINT = 0x10FFFF
TIME = re.compile(r"[mM]8(\[\d{0,9}[A-Za-zμ]{1,2}\])?")
LIST, PREFIX = "$array", "settings#"
LONG = 64  # numbers of a list that is written as an array

Encoding = dict[str, Any]
Arrays = dict[str, NDArray]


# ---------------------------------------------------------------- writing


def encoded(arrays: Mapping[str, NDArray]) -> tuple[Arrays, dict[str, Encoding]]:
    """Arrays of plain numbers, and the encodings of those that were none, by name."""
    plain: Arrays = {}
    encodings: dict[str, Encoding] = {}
    for name, array in arrays.items():
        encoding, parts = _encoded(name, array)
        if encoding is not None:
            encodings[name] = encoding
        for key, part in parts.items():
            if key in plain or key == "__metadata__":
                raise KindError(f"save: two arrays of the state have the name {key!r} in a file.")
            plain[key] = part
    return plain, encodings


def _encoded(name: str, array: NDArray) -> tuple[Encoding | None, Arrays]:
    kind = array.dtype.kind
    if kind in PLAIN and array.dtype.itemsize <= 8:
        return None, {name: array}
    if kind in "US":
        unit = np.uint32 if kind == "U" else np.uint8
        shape = (*array.shape, array.dtype.itemsize // np.dtype(unit).itemsize)
        native = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
        return {"as": "text", "kind": kind}, {name: native.reshape(-1).view(unit).reshape(shape)}
    if kind in "mM":
        return {"as": "time", "dtype": array.dtype.str[1:]}, {name: array.astype(np.int64)}
    if kind == "O":
        return _encoded_objects(name, array)
    raise KindError(f"save: the array {name!r} must hold numbers, strings or dates; got {array.dtype}.")


def _encoded_objects(name: str, array: NDArray) -> tuple[Encoding, Arrays]:
    values = array.reshape(-1).tolist()
    if all(isinstance(value, str) for value in values):
        how, texts = "strings", [str.encode(value, "utf-8", "surrogatepass") for value in values]
    else:
        for value in values:
            if type(value) not in (str, int, float, bool, type(None)):
                raise KindError(
                    f"save: objects must be strings, numbers, True, False or None to be kept in a file; "
                    f"{name!r} has a {type(value).__name__}. Use such labels, names or examples, or pickle the "
                    "estimator for a process that you trust."
                )
        how, texts = "values", [json.dumps(value).encode() for value in values]
    lengths = np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))
    offsets = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths, dtype=np.int64)])
    text = np.frombuffer(b"".join(texts), dtype=np.uint8)
    return {"as": how, "shape": list(array.shape)}, {f"{name}#bytes": text, f"{name}#offsets": offsets}


def without_lists(value: Any, arrays: Arrays) -> Any:
    """JSON without its long lists of numbers, which are added to the arrays."""
    if isinstance(value, dict):
        return {key: without_lists(item, arrays) for key, item in value.items()}
    if not isinstance(value, list):
        return value
    kinds = {type(item) for item in value} if len(value) >= LONG else set()
    if kinds == {float} or (kinds == {int} and max(map(abs, value)) < 2**63):
        name = f"{PREFIX}{len(arrays)}"
        arrays[name] = np.array(value, dtype=np.float64 if kinds == {float} else np.int64)
        return {LIST: name}
    return [without_lists(item, arrays) for item in value]


# ---------------------------------------------------------------- reading


def with_lists(value: Any, arrays: Arrays, path: str | os.PathLike[str]) -> Any:
    """The JSON that `without_lists` was given; takes the arrays of its lists out of the arrays."""
    if isinstance(value, list):
        return [with_lists(item, arrays, path) for item in value]
    if not isinstance(value, dict):
        return value
    if LIST not in value:
        return {key: with_lists(item, arrays, path) for key, item in value.items()}
    name = value[LIST]
    array = arrays.pop(name, None) if isinstance(name, str) and name.startswith(PREFIX) else None
    if len(value) != 1 or array is None or array.dtype not in (np.float64, np.int64) or array.ndim != 1:
        raise FileFormatError(path, "a list of numbers in its settings must be an array of its own")
    return array.tolist()


def decoded(plain: Mapping[str, NDArray], encodings: Any, path: str | os.PathLike[str]) -> Arrays:
    """The arrays of a state. Nothing of the file is trusted."""
    if not isinstance(encodings, dict):
        raise FileFormatError(path, "the encodings of its arrays must be a JSON object")
    rest = dict(plain)

    def take(name: str) -> NDArray:
        if name not in rest:
            raise FileFormatError(path, f"it must have the array {name!r}")
        return rest.pop(name)

    def check(right: bool, name: str, wanted: str) -> None:
        if not right:
            raise FileFormatError(path, f"the array {name!r}: {wanted}")

    found: Arrays = {}
    for name, encoding in encodings.items():
        how = encoding.get("as") if isinstance(encoding, dict) else None
        if not isinstance(how, str) or how not in DECODERS:
            raise FileFormatError(path, f"the array {name!r} must have one of the encodings {', '.join(DECODERS)}")
        found[name] = DECODERS[how](name, encoding, take, check)
    return found | rest


Take = Callable[[str], NDArray]
Check = Callable[[bool, str, str], None]


def _text(name: str, encoding: Encoding, take: Take, check: Check) -> NDArray:
    units, kind = take(name), encoding.get("kind")
    unit = {"U": np.uint32, "S": np.uint8}.get(kind if isinstance(kind, str) else "")
    check(unit is not None and units.dtype == unit, name, "text must be uint32 (str) or uint8 (bytes)")
    check(units.ndim > 0 and 0 < units.shape[-1] < 2**20, name, "text must have an axis for its characters")
    check(kind == "S" or not units.size or units.max() <= LONGEST_CODE_POINT, name, "characters must be code points")
    width = units.shape[-1]
    return np.ascontiguousarray(units).reshape(-1).view(f"{kind}{width}").reshape(units.shape[:-1])


def _time(name: str, encoding: Encoding, take: Take, check: Check) -> NDArray:
    numbers, dtype = take(name), encoding.get("dtype")
    right = isinstance(dtype, str) and TIME.fullmatch(dtype) is not None and numbers.dtype == np.int64
    check(right, name, "dates and durations must be int64, with a unit such as M8[D]")
    try:
        return numbers.view(np.dtype(dtype))
    except TypeError:
        check(False, name, "dates and durations must have a unit such as M8[D]")
        raise


def _strings(name: str, encoding: Encoding, take: Take, check: Check) -> NDArray:
    def text(raw: bytes) -> str:
        try:
            return raw.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            check(False, name, "strings must be UTF-8")
            raise

    return _objects(name, encoding, text, take, check)


def _values(name: str, encoding: Encoding, take: Take, check: Check) -> NDArray:
    def value(raw: bytes) -> Any:
        try:
            found = json.loads(raw)
        except (ValueError, RecursionError):
            found = []
        check(not isinstance(found, (list, dict)), name, "values must be strings, numbers, true, false or null")
        return found

    return _objects(name, encoding, value, take, check)


def _objects(name: str, encoding: Encoding, read: Callable[[bytes], Any], take: Take, check: Check) -> NDArray:
    text, offsets, shape = take(f"{name}#bytes"), take(f"{name}#offsets"), encoding.get("shape")
    right = text.dtype == np.uint8 and text.ndim == 1 and offsets.dtype == np.int64 and offsets.ndim == 1
    check(right and len(offsets) > 0, name, "there must be bytes (uint8) and offsets (int64)")
    rising = offsets[0] == 0 and offsets[-1] == len(text) and bool((offsets[1:] >= offsets[:-1]).all())
    check(rising, name, "offsets must rise from 0 to the number of bytes")
    whole = isinstance(shape, list) and len(shape) <= 32 and all(type(n) is int and 0 <= n < 2**62 for n in shape)
    check(whole and math.prod(shape or []) == len(offsets) - 1, name, "there must be an object for each place")
    check(math.prod(n for n in shape or [] if n) < 2**40, name, "its shape is too large")
    assert isinstance(shape, list)
    raw, places = text.tobytes(), offsets.tolist()
    found = np.empty(len(places) - 1, dtype=object)
    for i in range(len(found)):
        found[i] = read(raw[places[i] : places[i + 1]])
    return found.reshape(shape)


DECODERS = {"text": _text, "time": _time, "strings": _strings, "values": _values}
