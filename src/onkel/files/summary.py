"""What a file holds, without loading its arrays."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping
from inspect import signature
from typing import Any

import numpy as np

from onkel.errors import FileFormatError, shown
from onkel.files import container

__all__ = ["Summary", "inspect", "summary_of"]

SHOWN = 20  # classes and names that a file lists in its summary
FUNCTIONS = ("fn", "f", "phi")  # the parameters of kernels that are functions
# What `print` shows, in this order, and what it calls it.
NAMES = {
    "parameters": "parameters",
    "kernel": "kernel",
    "functions": "functions",
    "n_support": "support vectors",
    "n_features_in": "features",
    "feature_names": "feature names",
    "classes": "classes",
    "solver": "solver",
    "alpha": "alpha",
    "n_iter": "iterations",
    "converged": "converged",
    "n_rounds": "rounds",
    "n_mistakes": "mistakes",
    "n_updates": "updates",
    "certificate": "certificate",
}
COLUMN = 17  # where the values start
FIGURES = ("n_features_in_", "n_iter_", "n_rounds_", "n_mistakes_", "n_updates_", "converged_", "solver_", "alpha_")


# ---------------------------------------------------------------- writing


def summary_of(given: Any, settings: Mapping[str, Any], *, is_model: bool) -> dict[str, Any]:
    """What the file of an estimator or model tells about it, as JSON: public attributes, as far as it has them.

    `settings` are those of its state, as JSON.
    """
    model = given if is_model else _attribute(given, "model_")
    figures = {name.strip("_"): _number(_attribute(given, name)) for name in FIGURES}
    found: dict[str, Any] = {key: value for key, value in figures.items() if value is not None}
    if not is_model:
        found["parameters"] = _parameters(given)
    kernel, support = _attribute(model, "kernel"), _attribute(model, "support")
    kernel = _attribute(given, "kernel_") if kernel is None else kernel
    if kernel is not None:
        found["kernel"] = repr(kernel)
    functions = sorted(_functions(settings))
    if functions:
        found["functions"] = functions
    if support is not None:
        found["n_support"] = len(support)
    classes = next((c for c in map(_labels, (given, _attribute(model, "decision"), model)) if c is not None), None)
    names = _attribute(given, "feature_names_in_")
    if names is None:
        names = _attribute(_attribute(model, "columns"), "names")
    for key, values in (("classes", classes), ("feature_names", names)):
        if values is not None:
            found[key] = [str(value) for value in values[:SHOWN]]
            found[f"n_{key}"] = len(values)
    certificate = _attribute(given, "certificate_")
    if certificate is not None:
        found["certificate"] = str(certificate)
    return found


def _parameters(estimator: Any) -> str:
    """The parameters that differ from their defaults, such as "gamma=0.5, max_iter=3"."""
    defaults = signature(type(estimator)).parameters
    params = estimator.get_params(deep=False)
    changed = {name: value for name, value in params.items() if repr(value) != repr(defaults[name].default)}
    return ", ".join(f"{name}={_brief(value)}" for name, value in changed.items())


def _brief(value: Any) -> str:
    return type(value).__name__ if isinstance(value, np.random.RandomState) else shown(value)


def _functions(value: Any) -> set[str]:
    """The names of registered functions in the configs of kernels, which the reader of the file must have as well."""
    if isinstance(value, Mapping):
        named = {str(value[key]) for key in FUNCTIONS if key in value} if "kernel" in value else set()
        return named.union(*map(_functions, value.values()))
    return set().union(*map(_functions, value)) if isinstance(value, list) else set()


def _labels(given: Any) -> Any:
    """The classes of an estimator, or the labels of a decision or of a tagger."""
    found = _attribute(given, "classes_")
    return _attribute(given, "labels") if found is None else found


def _attribute(given: Any, name: str) -> Any:
    """An attribute, or None if it has none or cannot tell it: a summary must not stand in the way of saving."""
    try:
        return getattr(given, name, None)
    except Exception:
        return None


def _number(value: Any) -> Any:
    """A number, a string or a truth value as JSON has them, or a list of numbers; None for anything else."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list):
        return [_number(item) for item in value[:SHOWN]]
    return value if isinstance(value, bool | int | str) or (isinstance(value, float) and np.isfinite(value)) else None


# ---------------------------------------------------------------- reading


@dataclasses.dataclass(frozen=True)
class Summary:
    """What a file says that it holds; the arrays are not read, so that they may say something else. ``print`` shows it.

    Attributes
    ----------
    path, size : the file, and its size in bytes.
    kind : what it holds, such as "estimator/Forgetron" or "model/score".
    format, onkel_version : the version of the format, and of the onkel that wrote it.
    params : the parameters of an estimator, as they are written; empty for a model.
    about : kernel, number of support vectors, classes, feature names, counts and certificate, as far as there are.
    arrays : dtype and shape of each array, by name.
    """

    path: str
    size: int
    kind: str
    format: int
    onkel_version: str
    params: Mapping[str, Any]
    about: Mapping[str, Any]
    arrays: Mapping[str, tuple[str, tuple[int, ...]]]

    def __str__(self) -> str:
        room, _, name = self.kind.partition("/")
        what = name if room == "estimator" else f"a frozen model ({self.kind})"
        lines = [f"{self.path}: {what}, {_bytes(self.size)}, written by onkel {self.onkel_version}"]
        for key in filter(self.about.__contains__, NAMES):
            lines += f"{NAMES[key]:<{COLUMN}}{_listed(self.about[key], self.about.get(f'n_{key}'))}".split("\n")
        largest = sorted(self.arrays.items(), key=lambda item: -math.prod(item[1][1]))
        lines.append(f"{'arrays':<{COLUMN}}{len(self.arrays)}")
        lines += [f"  {name:<37} {dtype:<9}{' × '.join(map(str, shape))}" for name, (dtype, shape) in largest[:SHOWN]]
        if len(largest) > SHOWN:
            lines.append(f"  … and {len(largest) - SHOWN} smaller ones")
        return "\n".join(map(_printable, lines))


def inspect(path: str | os.PathLike[str]) -> Summary:
    """What a file of `onkel.save` holds, from its header alone: the arrays are not read, nothing is built.

    >>> import onkel, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "machine.onkel")
    >>> onkel.save(onkel.Forgetron(kernel="rbf", gamma=1.0, budget=5).fit([[0.0], [1.0]], [0, 1]), path)
    >>> found = onkel.inspect(path)
    >>> found.kind, found.about["kernel"], found.about["classes"]
    ('estimator/Forgetron', 'RBF(gamma=1.0)', ['0', '1'])
    """
    contents = container.read_header(path)
    document = contents.document
    state, about = document.get("state"), document.get("summary")
    settings = state.get("settings") if isinstance(state, dict) else None
    right = isinstance(settings, dict) and isinstance(about, dict) and isinstance(document.get("onkel_version"), str)
    if not right or not isinstance(state.get("kind"), str):  # type: ignore[union-attr]
        raise FileFormatError(path, "its document must have onkel_version, state and summary")
    arrays = {name: (dtype.name, shape) for name, (dtype, shape) in contents.tensors.items()}
    params = settings.get("params", {})  # type: ignore[union-attr]
    where, kind = os.fspath(path), state["kind"]  # type: ignore[index]
    return Summary(where, contents.size, kind, document["format"], document["onkel_version"], params, about, arrays)  # type: ignore[arg-type]


def _bytes(n: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if n >= size:
            return f"{n / size:.1f} {unit}"
    return f"{n} bytes"


def _listed(value: Any, n: Any) -> str:
    """A value as text; of a list of n things, of which the first are shown, their number as well."""
    if not isinstance(value, list):
        return str(value).replace("\n", "\n" + " " * COLUMN)
    number = "" if n is None else f"{n}: "
    return number + ", ".join(map(str, value)) + (", …" if n is not None and n != len(value) else "")


def _printable(line: str) -> str:
    """A line without what a terminal would obey, such as colours and line breaks."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in line)
