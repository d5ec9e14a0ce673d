"""What estimators in files predict, are and become; the specimens of the zoo, in files that another process writes:

PYTHONPATH=tests python -m contract.stored FOLDER       writes a file of each, and says what it would have become
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import zoo
from specimen import Specimen

import onkel
from onkel import registry
from onkel.states.state import to_json


def predictions(given: Any, probes: Any) -> str:
    """What an estimator or a model makes of the probes, to the bit, as text."""
    if probes is None:
        return ""
    found = given.transform(probes) if hasattr(given, "transform") else given.predict(probes)
    if isinstance(found, list):
        return json.dumps(found)
    dense = found.toarray() if sp.issparse(found) else np.asarray(found)
    return f"{dense.dtype} {dense.shape} " + (
        repr(dense.tolist()) if dense.dtype.hasobject else hashlib.sha256(dense.tobytes()).hexdigest()
    )


def digest(estimator: Any) -> str:
    """A hash of all that an estimator is: its settings and the bits of its arrays."""
    state = estimator.state()
    found = hashlib.sha256(json.dumps([state.kind, state.version, to_json(state.settings)], sort_keys=True).encode())
    for name, array in sorted(state.arrays.items()):
        found.update(f"{name} {array.dtype} {array.shape}".encode())
        found.update(repr(array.tolist()).encode() if array.dtype.hasobject else array.tobytes())
    return found.hexdigest()


def report(specimen: Specimen, estimator: Any) -> dict[str, str]:
    """What an estimator of this form predicts and is, and what it becomes when it goes on; it goes on."""
    probes = specimen.data.probes
    found = {"predicts": predictions(estimator, probes), "is": digest(estimator)}
    if specimen.goes_on:
        specimen.go_on(estimator)
        found |= {"becomes": digest(estimator), "then predicts": predictions(estimator, probes)}
    return found


def file_name(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:16] + ".onkel"


def missing() -> set[str]:
    """The estimators of the registry that are not in the zoo."""
    return {entry.name for entry in registry.estimators()} - {one.estimator for one in zoo.SPECIMENS.values()}


def main(folder: str) -> None:
    found = {}
    for name, specimen in zoo.SPECIMENS.items():
        estimator = specimen.make()
        onkel.save(estimator, Path(folder, file_name(name)))
        found[name] = report(specimen, estimator)
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
