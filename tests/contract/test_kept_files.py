"""Files that earlier versions have written load for ever, predict what they did, and go on learning.

    PYTHONPATH=tests python -m contract.test_kept_files       writes the files of today that are missing

A kept file is never changed. Beside it, NAME.json has rows and what the model predicted for them. There is a file of
every estimator in every form, and of as many of their models as it takes to have every kind and version of state.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import zoo

import onkel
from onkel import registry
from onkel.files.container import FORMAT
from onkel.learners.perceptron.kernel import KernelPerceptronLearner
from onkel.states.state import State

FOLDER = Path(__file__).parent / "kept_files"
KEPT = sorted(FOLDER.glob("*/*.onkel"))
N_PROBES = 6
PART = {"kind", "version", "settings"}


# The names that specimens had when a file of them was kept.
KEPT_AS = {
    "BudgetPerceptron oldest": "oldest",
    "Forgetron basic": "basic Forgetron",
    "PRank kernel": "PRank, kernel",
    "PRank linear": "PRank, linear",
    "Perceptron averaged": "averaged Perceptron",
    "Projectron aggressive": "aggressive Projectron",
    "RecursiveKernelRidge forgetting": "recursive, forgetting",
    **{f"KernelPerceptron {name}": f"KernelPerceptron, {name}" for name in KernelPerceptronLearner.HYPOTHESES},
}
WANTED = zoo.with_tags(without=("unkept",))
SPECIMENS = {KEPT_AS.get(name, name): specimen for name, specimen in zoo.SPECIMENS.items()}


def file_of(name: str) -> Path:
    name = KEPT_AS.get(name, name)
    return FOLDER / f"format-{FORMAT}" / (re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") + ".onkel")


def kinds_of(state: State) -> set[tuple[str, int]]:
    """The kinds and versions of a state and of all its parts."""
    parts = [name for name, value in state.settings.items() if isinstance(value, Mapping) and set(value) == PART]
    return {(state.kind, state.version)}.union(*(kinds_of(state.part(name)) for name in parts))


def as_json(probes: Any) -> Any:
    """Rows as JSON, with what they were."""
    if probes is None:
        return None
    if sp.issparse(probes):
        return {"csr": probes[:N_PROBES].toarray().tolist(), "dtype": probes.dtype.name}
    if isinstance(probes, pd.DataFrame):
        return {"frame": {name: column.tolist() for name, column in probes[:N_PROBES].items()}}
    if isinstance(probes, np.ndarray):
        return {"array": probes[:N_PROBES].tolist(), "dtype": probes.dtype.str}
    if isinstance(probes[0], np.ndarray):
        return {"matrices": [matrix.tolist() for matrix in probes[:N_PROBES]]}
    return {"list": probes[:N_PROBES]}


def from_json(given: Any) -> Any:
    match given:
        case {"csr": rows, "dtype": dtype}:
            return sp.csr_array(np.array(rows, dtype=dtype))
        case {"frame": columns}:
            return pd.DataFrame(columns)
        case {"array": rows, "dtype": dtype}:
            return np.array(rows, dtype=dtype)
        case {"matrices": matrices}:
            return [np.array(matrix) for matrix in matrices]
        case {"list": rows}:
            return rows
    return None


def predicted(estimator: Any, probes: Any) -> Any:
    if probes is None:
        return None
    found = estimator.transform(probes) if hasattr(estimator, "transform") else estimator.predict(probes)
    return found.tolist() if isinstance(found, np.ndarray) else found


@pytest.mark.parametrize("path", KEPT, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_kept_file_loads_and_predicts_what_it_did(path):
    said = json.loads(path.with_suffix(".json").read_text("utf-8"))
    loaded, probes = onkel.load(path), from_json(said["probes"])
    found = predicted(loaded, probes)
    if said["predicted"] and isinstance(np.ravel(said["predicted"][0])[0], float | np.floating):
        np.testing.assert_allclose(found, said["predicted"], rtol=1e-6, atol=1e-9)
    else:
        assert found == said["predicted"]
    specimen = SPECIMENS.get(said["name"])
    if specimen is not None and specimen.goes_on:  # with the examples of today
        rounds = getattr(loaded, "n_rounds_", None)
        specimen.go_on(loaded)
        assert rounds is None or loaded.n_rounds_ > rounds


def test_there_is_a_kept_file_of_every_estimator_and_every_form_of_it():
    missing = [name for name in WANTED if not file_of(name).exists()]
    assert not missing, "run: PYTHONPATH=tests python -m contract.test_kept_files"
    kinds = {onkel.inspect(path).kind for path in KEPT}
    assert kinds >= {f"estimator/{entry.name}" for entry in registry.estimators()}


def test_there_is_a_kept_file_of_every_kind_and_version_of_state():
    today = set().union(*(kinds_of(state) for name in zoo.SPECIMENS for state in states(zoo.made(name))))
    assert today <= set().union(*(kinds_of(onkel.load(path).state()) for path in KEPT))


def states(estimator: Any) -> list[State]:
    """The states of an estimator and of its model, if it has one."""
    try:
        return [estimator.state(), estimator.model_.state()]
    except AttributeError:  # NotFittedError is one, too
        return [estimator.state()]


def keep(name: str, kept: Any, given: Any) -> None:
    """Writes the file of an estimator, and what it predicts, unless there is one of the same kinds and versions."""
    path, probes, kinds = file_of(name), from_json(as_json(given)), kinds_of(kept.state())
    for number in itertools.count(2):
        if not path.exists():
            break
        if kinds_of(onkel.load(path).state()) == kinds:
            return
        path = file_of(f"{name} {number}")
    path.parent.mkdir(parents=True, exist_ok=True)
    onkel.save(kept, path)
    said = {"name": name, "probes": as_json(given), "predicted": predicted(kept, probes)}
    path.with_suffix(".json").write_text(json.dumps(said, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    covered = set().union(*(kinds_of(onkel.load(path).state()) for path in KEPT))
    for name, specimen in WANTED.items():
        estimator, probes = zoo.made(name), specimen.data.probes
        keep(name, estimator, probes)
        kinds = set().union(*map(kinds_of, states(estimator)[1:]))
        if kinds - covered:
            covered |= kinds
            keep(f"model of {name}", estimator.model_, probes)
