"""The source tree keeps its own rules: import layers, warnings, no private names of other packages."""

from __future__ import annotations

import ast
import inspect
import re
import tomllib
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import onkel

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "onkel"
PUBLIC_PATHS = Path(__file__).with_name("public_paths.txt")
FILES = {path.relative_to(SOURCE).as_posix(): path.read_text("utf-8") for path in sorted(SOURCE.rglob("*.py"))}


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


def test_there_are_nine_layers_and_few_modules_outside_the_rooms():
    assert len(layers()) == 9
    assert len([name for name in FILES if "/" not in name]) <= 6


# ---------------------------------------------------------------- rooms, files and who knows whom


def test_a_room_has_at_most_14_modules():
    rooms: dict[str, int] = {}
    for name in FILES:
        room, slash, module = name.rpartition("/")
        rooms[room] = rooms.get(room, 0) + (bool(slash) and module != "__init__.py")
    assert {room: count for room, count in rooms.items() if count > 14} == {}


def lines_of_code(path: Path) -> int:
    """The lines that are neither empty nor comments nor docstrings."""
    text = path.read_text("utf-8")
    if path.suffix != ".py":
        return sum(bool(re.sub("//.*", "", line).strip()) for line in text.splitlines())
    tree = ast.parse(text)
    lines = {node.lineno for node in ast.walk(tree) if hasattr(node, "lineno")}
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            lines -= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(lines)


def test_a_file_has_at_most_300_lines_of_code():
    files = [*SOURCE.rglob("*.py"), *(path for path in (ROOT / "cpp").rglob("*.*") if path.is_file())]
    lengths = {path.relative_to(ROOT).as_posix(): lines_of_code(path) for path in files}
    assert {name: length for name, length in lengths.items() if length > 300} == {}


class Imports(NamedTuple):
    """The modules of onkel that a module imports when it is imported, for type checkers only, and inside functions."""

    at_once: set[str]
    for_types: set[str]
    later: set[str]


def module_name(name: str) -> str:
    """The name of the module in a file of the package."""
    return "onkel." + name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


MODULES = {module_name(name): name for name in FILES if name != "__init__.py"}


def imports_of(module: str) -> Imports:
    found = Imports(set(), set(), set())

    def visit(node: ast.AST, into: set[str]) -> None:
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "onkel":
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            into.update(name if name in MODULES else node.module for name in names)
        elif isinstance(node, ast.Import):
            into.update(alias.name for alias in node.names if alias.name in MODULES)
        for child in ast.iter_child_nodes(node):
            for_types = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test) and child in node.body
            later = isinstance(node, ast.FunctionDef)
            visit(child, found.for_types if for_types else found.later if later else into)

    visit(ast.parse(FILES[MODULES[module]]), found.at_once)
    return Imports(*(names & MODULES.keys() - {module} for names in found))


IMPORTS = {module: imports_of(module) for module in MODULES}


def reached(module: str, *, later: bool) -> set[str]:
    """The modules that a module imports, and those that these import, and so on; the `later` ones, too, if wanted."""
    found: set[str] = set()
    todo = [module]
    while todo:
        imports = IMPORTS[todo.pop()]
        new = (imports.at_once | imports.later if later else imports.at_once) - found
        found |= new
        todo += new
    return found


def test_no_module_imports_a_module_that_imports_it_to_know_its_types():
    known = {m for m in IMPORTS for other in IMPORTS[m].for_types if m in reached(other, later=False)}
    assert known == set()


def test_no_modules_import_each_other_not_even_inside_functions():
    assert {module for module in IMPORTS if module in reached(module, later=True)} == set()


def test_private_attributes_of_estimators_are_used_in_their_room_only():
    private = re.compile(r"\b(?:estimator|tagger|learner\.estimator)\._[a-z]")
    found = [name for name, text in FILES.items() if not name.startswith("estimators/") and private.search(text)]
    assert found == []


def test_private_members_of_kernels_are_used_in_their_room_only():
    private = re.compile(r"\bkernel\._[a-z]")
    assert [name for name, text in FILES.items() if not name.startswith("kernels/") and private.search(text)] == []


def test_learners_and_kernels_do_not_speak_of_fitted_attributes():
    """A lower room must make sense without the rooms above it."""
    shown = {line.rpartition(".")[2] for line in PUBLIC_PATHS.read_text("utf-8").split() if line.endswith("_")}
    shown -= {"coef_", "intercept_"}  # no room knows these words only from estimators
    found: dict[str, list[str]] = {}
    for name, text in FILES.items():
        if name.startswith(("kernels/", "learners/", "solvers/", "text/", "data/", "states/")):
            words = sorted(set(re.findall(r"\b[a-z]\w*[a-z]_\b", text)) & shown)
            if words:
                found[name] = words
    assert found == {}


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
    made = set(re.findall(r"`([^`]+)`, as a new file", CONTRIBUTING))  # by who follows a recipe
    assert [name for name in sorted((named | inside) - made) if not (ROOT / name).exists()] == []


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
    monkeypatch.setattr("onkel.learners.lasvm.learner.STEPS", 100)
    lines, start = inspect.getsourcelines(call)
    with pytest.warns(category) as caught:
        call(estimator, X, (Y * 10)[: len(X)])
    for warning in caught:
        assert (warning.filename, warning.lineno) == (__file__, start + len(lines) - 1)
