"""The source tree keeps its own rules: import layers, warnings, no private names of other packages."""

from __future__ import annotations

import inspect
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import onkel

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "onkel"
FILES = {str(path.relative_to(SOURCE)): path.read_text("utf-8") for path in sorted(SOURCE.rglob("*.py"))}


def layers() -> list[str]:
    """The import contract's layers, highest first, as pyproject.toml writes them."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        (contract,) = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    assert contract["exhaustive"]
    return contract["layers"]


def test_the_layers_name_every_module_and_nothing_else():
    """import-linter refuses a module in no layer, but not a layer of a module that is gone."""
    named = [name.strip() for layer in layers() for name in re.split("[|:]", layer)]
    there = [path.stem for path in SOURCE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()]
    assert sorted(name for name in named if "(" not in name) == sorted(set(there) - {"__init__"})
    assert not {name.strip("()") for name in named if "(" in name} & set(there)  # rooms that are still to be built


def test_there_are_eight_layers_and_few_modules_outside_the_rooms():
    assert len(layers()) == 8
    assert len([name for name in FILES if "/" not in name]) <= 6


def test_no_file_is_longer_than_a_person_reads_in_one_sitting():
    files = [*SOURCE.rglob("*.py"), *(ROOT / "cpp").rglob("*.*")]
    lengths = {str(path.relative_to(ROOT)): len(path.read_text("utf-8").splitlines()) for path in files}
    assert {name: length for name, length in lengths.items() if length > 450} == {}


CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
WHERE = CONTRIBUTING.split("## Where things are")[1].split("##")[0]
ROOMS = [line[4:].split("   ")[0].split() for line in WHERE.splitlines() if line.startswith("    ")]


def test_contributing_names_every_room_and_nothing_else():
    there = [path.name + "/" * path.is_dir() for path in SOURCE.iterdir() if path.name[:2] != "__"]
    assert sorted(name for rooms in ROOMS for name in rooms) == sorted(set(there) - {"py.typed"})
    assert set(re.findall(r"`cpp/(\w+)`", WHERE)) == {path.name for path in (ROOT / "cpp").iterdir() if path.is_dir()}


def test_the_rooms_of_contributing_are_in_the_order_of_the_layers():
    rooms = [{name.removesuffix("/").removesuffix(".py") for name in line} for line in ROOMS]
    built = [{name.strip() for name in re.split("[|:]", layer) if "(" not in name} for layer in reversed(layers())]
    assert rooms == [layer for layer in built if layer]


def test_every_file_that_contributing_names_exists():
    named = set(re.findall(r"`((?:src|tests|cpp|examples|benchmarks|docs)/[\w./]+)`", CONTRIBUTING))
    inside = {f"src/onkel/{name}" for name in re.findall(r"`((?:learners|estimators|kernels)/\w+\.py)`", CONTRIBUTING)}
    assert [name for name in sorted(named | inside) if not (ROOT / name).exists()] == []


def test_no_module_uses_private_names_of_scikit_learn():
    private = re.compile(r"from sklearn[\w.]* import [^\n]*\b_\w|from sklearn[\w.]*\._\w|import sklearn[\w.]*\._")
    assert [name for name, text in FILES.items() if private.search(text)] == []


# ---------------------------------------------------------------- warnings


def test_only_the_helper_that_finds_the_users_line_warns():
    assert [name for name, text in FILES.items() if "warnings.warn" in text] == ["errors.py"]


X = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0], [2.0, 1.0]])  # rows 0 and 1 are equal
Y = [0, 1, 0, 1]  # and have different labels
INDEFINITE = np.array([[0.0, 1.0], [1.0, 0.0]])


def fit(estimator, X, y):
    estimator.fit(X, y)  # the user's own line


def finish(estimator, X, y):
    estimator.partial_fit(X, y).finish()  # the user's own line


WARNINGS = [
    (fit, onkel.KernelPerceptron(gamma=1.0), X, ConvergenceWarning),
    (fit, onkel.Perceptron(), X, ConvergenceWarning),
    (fit, onkel.Forgetron(gamma=1.0), X, ConvergenceWarning),
    (fit, onkel.KernelPerceptron(kernel="precomputed"), INDEFINITE, UserWarning),
    (fit, onkel.Projectron(kernel="precomputed"), INDEFINITE, UserWarning),
    (fit, onkel.SVC(max_iter=1), X, ConvergenceWarning),
    (fit, onkel.SVR(max_iter=1, epsilon=0.0), X, ConvergenceWarning),
    (fit, onkel.OneClassSVM(max_iter=1, tol=1e-9), X[1:], ConvergenceWarning),
    (
        finish,
        onkel.OnlineSVC(gamma=1.0, C=1e9, tol=1e-300),
        np.random.default_rng(0).random((40, 2)),
        ConvergenceWarning,
    ),
]


@pytest.mark.parametrize(
    ("call", "estimator", "X", "category"), WARNINGS, ids=lambda value: getattr(value, "__name__", "")
)
def test_a_warning_names_the_users_own_line(call, estimator, X, category, monkeypatch):
    monkeypatch.setattr("onkel.learners.lasvm.STEPS", 100)
    lines, start = inspect.getsourcelines(call)
    with pytest.warns(category) as caught:
        call(estimator, X, (Y * 10)[: len(X)])
    for warning in caught:
        assert (warning.filename, warning.lineno) == (__file__, start + len(lines) - 1)
