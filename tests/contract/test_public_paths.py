"""Every public path of onkel, pinned: names, parameters with their defaults, methods and fitted attributes.

The list is `public_paths.txt`. Modules may move, but the names that users write must not: a change of the list is a
change that users see, and needs a line in CHANGELOG.md. To write the list anew, run

    python tests/contract/test_public_paths.py

A class has one line, with what its constructor takes and what it inherits from, and one for each member that it has not
from there. A class with two paths is listed under the shorter one, and a base class without a public name by its own:

    onkel.features.EigenMap is onkel.EigenMap
    onkel.kernels.RBF(gamma=1.0) inherits onkel.kernels.Kernel
    onkel.kernels.RBF.from_sigma(cls, sigma)
    onkel.PRank(kernel=None, …) inherits OnlineEstimator without classes_
    OnlineEstimator.fit(self, X, y)
"""

from __future__ import annotations

import inspect
import re
import types
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

import onkel
from onkel import registry
from onkel.estimators.online.estimator import OnlineEstimator

PINNED = Path(__file__).with_name("public_paths.txt")


def public_names() -> dict[str, Any]:
    """What each public name stands for, by its path; modules stand for themselves."""
    found: dict[str, Any] = {}
    for entry in registry.ENTRIES:
        found[f"onkel.{entry.name}"] = value = getattr(onkel, entry.name)
        if entry.task == "module":
            found |= {f"onkel.{entry.name}.{name}": getattr(value, name) for name in value.__all__}
    return found


def fitted_estimators() -> dict[str, Any]:
    return {f"onkel.{entry.name}": _fitted(entry) for entry in registry.estimators()}


def public_paths() -> list[str]:
    """The lines of the list, sorted."""
    names, fitted = public_names(), fitted_estimators()
    classes = {path: value for path, value in names.items() if is_listed(value)}
    path_of = {cls: path for path, cls in sorted(classes.items(), key=lambda item: len(item[0]), reverse=True)}
    lines = {
        path + (_signature(value) if isinstance(value, types.FunctionType) else "") for path, value in names.items()
    }
    lines -= classes.keys()
    for path, cls in classes.items():
        if path_of[cls] != path:  # a class with two paths
            lines.add(f"{path} is {path_of[cls]}")
            continue
        absent = sorted(absent_members(fitted[path])) if path in fitted else []
        lines.add(path + _signature(cls) + _bases(cls, path_of) + (f" without {', '.join(absent)}" if absent else ""))
    for cls in {base for derived in classes.values() for base in derived.__mro__ if _is_ours(base)}:
        path = path_of.get(cls, cls.__name__)
        if path == cls.__name__ and own_members(cls):
            lines.add(path + _bases(cls, path_of))
        lines.update(f"{path}.{name}{signature}" for name, signature in own_members(cls).items())
    for path, estimator in fitted.items():
        lines.update(f"{path}().{name}" for name in fitted_attributes(estimator))
    return sorted(lines)


def is_listed(value: Any) -> bool:
    """Whether the members of a public name are listed."""
    return isinstance(value, type) and not issubclass(value, Exception)


def _is_ours(cls: type) -> bool:
    return cls.__module__.startswith("onkel")


def members(classes: Iterable[type]) -> dict[str, str]:
    """The public members of some classes of onkel, each with its signature; those that come first count."""
    found: dict[str, str] = {}
    for cls in filter(_is_ours, classes):
        for name, member in vars(cls).items():
            if name.startswith("_") or name.isupper() or re.fullmatch("set_.*_request", name):
                continue  # private names, tables for developers, and methods that scikit-learn writes
            member = getattr(member, "__func__", member)
            found.setdefault(name, _signature(member) if isinstance(member, types.FunctionType) else "")
    return found


def own_members(cls: type) -> dict[str, str]:
    """The members of a class that it does not inherit, or not with this signature."""
    inherited = members(cls.__mro__[1:])
    return {name: signature for name, signature in members([cls]).items() if inherited.get(name) != signature}


def _bases(cls: type, path_of: dict[type, str]) -> str:
    """ " inherits …": the nearest bases that add members."""
    nearest: list[str] = []
    todo = list(cls.__bases__)
    while todo:
        base = todo.pop(0)
        if base in path_of or own_members(base):
            nearest.append(path_of.get(base, base.__name__))
        elif _is_ours(base):
            todo = [*base.__bases__, *todo]
    return f" inherits {', '.join(nearest)}" if nearest else ""


def absent_members(estimator: Any) -> set[str]:
    """The members of the base class of all online estimators that this one does not have."""
    names = members([OnlineEstimator]) if isinstance(estimator, OnlineEstimator) else ()
    return {name for name in names if not hasattr(estimator, name)}


def fitted_attributes(estimator: Any) -> list[str]:
    return [name for name in vars(estimator) if name.endswith("_") and not name.startswith("_")]


def _signature(function: Any) -> str:
    signature = inspect.signature(function)
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return re.sub(r"=\(Theorem\(.*\)\)(?=\))", "=…", str(inspect.Signature(bare)))


def _fitted(entry: registry.Entry) -> Any:
    """A fitted estimator."""
    X = np.random.default_rng(0).random((20, 3))
    estimator = getattr(onkel, entry.name)()
    if entry.task == "tag":
        return estimator.fit([[["a"], ["b"]]], [["A", "B"]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return estimator.fit(X, (X[:, 0] > 0.5).astype(int))


def written_out(lines: Iterable[str]) -> set[str]:
    """The path of every member of every public class, as the lines say it: its own members and the inherited ones."""
    inherits: dict[str, list[str]] = {}
    absent: dict[str, set[str]] = {}
    own: dict[str, dict[str, str]] = {}
    for line in lines:
        if " is " in line:
            path, _, same = line.partition(" is ")
            inherits[path] = [same]
            continue
        what, _, without = line.partition(" without ")
        what, _, bases = what.partition(" inherits ")
        path, bracket, signature = what.partition("(")
        owner, _, name = path.rpartition(".")
        inherits[path], absent[path] = [base for base in bases.split(", ") if base], set(without.split(", "))
        own.setdefault(owner, {})[name] = bracket + signature

    def of(path: str) -> dict[str, str]:
        found = dict(own.get(path, {}))
        for base in inherits.get(path, []):
            found = of(base) | found
        return {name: signature for name, signature in found.items() if name not in absent.get(path, set())}

    classes = [path for path, value in public_names().items() if is_listed(value)]
    return {f"{path}.{name}{signature}" for path in classes for name, signature in of(path).items()}


def test_the_list_leaves_out_no_member_of_a_class():
    fitted, every = fitted_estimators(), set()
    for path, value in public_names().items():
        if is_listed(value):
            gone = absent_members(fitted[path]) if path in fitted else set()
            every |= {f"{path}.{name}{said}" for name, said in members(value.__mro__).items() if name not in gone}
    assert written_out(PINNED.read_text("utf-8").splitlines()) == every


def test_every_public_path_is_pinned():
    pinned = PINNED.read_text("utf-8").splitlines()
    found = public_paths()
    assert sorted(set(pinned) - set(found)) == [], "these public paths are gone"
    assert sorted(set(found) - set(pinned)) == [], "these public paths are new: see the module's docstring"


if __name__ == "__main__":
    PINNED.write_text("\n".join(public_paths()) + "\n", "utf-8")
