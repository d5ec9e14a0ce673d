"""Every public path of onkel, pinned: names, parameters with their defaults, methods and fitted attributes.

The list is `public_paths.txt`. Modules may move, but the names that users write must not: a change of the list is a
change that users see, and needs a line in CHANGELOG.md. To write the list anew, run

    python tests/contract/test_public_paths.py
"""

from __future__ import annotations

import inspect
import re
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import onkel
from onkel import registry
from onkel.estimators.online.estimator import OnlineEstimator

PINNED = Path(__file__).with_name("public_paths.txt")


def public_paths() -> list[str]:
    """One line per public path, sorted."""
    lines: set[str] = set()
    for entry in registry.ENTRIES:
        value = getattr(onkel, entry.name)
        if entry.task == "module":
            lines.add(f"onkel.{entry.name}")
            for name in value.__all__:
                lines.update(_of(f"onkel.{entry.name}.{name}", getattr(value, name)))
        else:
            lines.update(_of(f"onkel.{entry.name}", value))
    for entry in registry.estimators():
        estimator, path = _fitted(entry), f"onkel.{entry.name}"
        names = (name for name in vars(estimator) if name.endswith("_") and not name.startswith("_"))
        lines.update(f"{path}().{name}" for name in names)
        if isinstance(estimator, OnlineEstimator):  # some of its attributes do not apply to all subclasses
            lines -= {f"{path}.{name}" for name in vars(OnlineEstimator) if not hasattr(estimator, name)}
    return sorted(lines)


def _of(path: str, value: Any) -> Iterator[str]:
    """A function with its signature; a class with that of its constructor, and with all that it has of onkel."""
    if isinstance(value, types.FunctionType):
        yield path + _signature(value)
        return
    if not isinstance(value, type) or issubclass(value, Exception):
        yield path
        return
    yield path + _signature(value)
    seen: set[str] = set()
    for cls in value.__mro__:
        if not cls.__module__.startswith("onkel"):
            continue
        for name, member in vars(cls).items():
            if name in seen:
                continue  # overridden
            seen.add(name)
            if name.startswith("_") or name.isupper() or re.fullmatch("set_.*_request", name):
                continue  # private names, tables for developers, and methods that scikit-learn writes
            member = getattr(member, "__func__", member)
            yield f"{path}.{name}" + (_signature(member) if isinstance(member, types.FunctionType) else "")


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


def test_every_public_path_is_pinned():
    pinned = PINNED.read_text("utf-8").splitlines()
    found = public_paths()
    assert sorted(set(pinned) - set(found)) == [], "these public paths are gone"
    assert sorted(set(found) - set(pinned)) == [], "these public paths are new: see the module's docstring"


if __name__ == "__main__":
    PINNED.write_text("\n".join(public_paths()) + "\n", "utf-8")
