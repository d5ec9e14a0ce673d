"""Checks of the states of estimators: that what stands in them fits together.

The parts of a state check themselves when they are made. Whether the parts of one estimator belong to each other is
checked here, since a state may come from a file that somebody else wrote. Later code, the compiled core included,
relies on these checks.
"""

from __future__ import annotations

import numbers
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.errors import InputError
from onkel.kernels import Kernel
from onkel.kernels.combine import On
from onkel.kernels.custom import After
from onkel.kernels.rows_state import MOST_FEATURES, rows_from_state
from onkel.models.columns import Columns
from onkel.models.vocabulary import Vocabulary
from onkel.states.state import State, from_state

__all__ = [
    "check_different",
    "check_rows",
    "check_sorted_labels",
    "kernel_columns",
    "part_of",
    "refuse",
    "rows_parts",
]

PART = {"kind", "version", "settings"}


def refuse(state: State, wanted: str, got: object) -> InputError:
    """The error for a state in which something does not fit."""
    return InputError(f"the state of kind {state.kind!r}: {wanted}; got {str(got)[:200]}.")


# ---------------------------------------------------------------- parts


def part_of(state: State, name: str, kinds: Collection[str]) -> Any:
    """What a part of the state describes, which must be of one of these kinds; others are not even made."""
    part = state.part(name)
    if part.kind not in kinds:
        raise refuse(state, f"{name!r} must be of kind {' or '.join(kinds)}", part.kind)
    return from_state(part)


# ---------------------------------------------------------------- labels


def check_different(state: State, name: str, labels: NDArray) -> None:
    """Refuses an array that is not a vector of different labels: finite numbers, strings or dates."""
    kind = labels.dtype.kind
    right = labels.ndim == 1 and (kind in "USmMO" or (kind in "biuf" and labels.dtype.itemsize <= 8))
    if right and kind == "O":
        values = labels.tolist()
        are_numbers = all(isinstance(v, numbers.Real) and v - v == 0 for v in values)  # finite ones
        right = are_numbers or all(isinstance(value, str) for value in values)
    if right and kind in "fmM":
        right = not (np.isnan(labels) if kind == "f" else np.isnat(labels)).any() and not _has_infinite(labels)
    if not right or len(np.unique(labels)) != len(labels):
        raise refuse(
            state, f"{name!r} must be a vector of different numbers or strings", f"{labels.dtype} {labels.shape}"
        )


def _has_infinite(labels: NDArray) -> bool:
    return labels.dtype.kind == "f" and bool(np.isinf(labels).any())


def check_sorted_labels(state: State, name: str) -> NDArray:
    """A copy of the array of at least two labels, which must be sorted."""
    labels = state.array(name)
    check_different(state, name, labels)
    if len(labels) < 2 or (np.unique(labels) != labels).any():
        raise refuse(state, f"{name!r} must be at least two labels in ascending order", labels.tolist()[:10])
    return labels.copy()


# ---------------------------------------------------------------- kernel, columns and rows


def rows_parts(state: State) -> Iterator[State]:
    """The states of all rows that are anywhere in a state."""
    for name, value in state.settings.items():
        if isinstance(value, Mapping) and set(value) == PART:
            part = state.part(name)
            if part.kind.startswith("rows/"):
                yield part
            else:
                yield from rows_parts(part)


def kernel_columns(state: State, kernel: Kernel | None, columns: Columns | Vocabulary) -> None:
    """Refuses columns that data for this kernel cannot have; None is the linear kernel on the features themselves."""
    if columns.names is not None:
        _check_names(state, columns.names, any_kind=columns.growing)
    takes, n = "vectors" if kernel is None else kernel.takes, columns.n_features
    if takes == "objects":
        if n is not None or columns.names is not None or isinstance(columns, Vocabulary):
            raise refuse(state, f"objects, which {kernel!r} takes, have no columns", f"{n} columns")
        return
    if n is None or not 1 <= n <= MOST_FEATURES:
        raise refuse(state, f"the number of columns must be from 1 to {MOST_FEATURES}", n)
    if takes == "gram" and (isinstance(columns, Vocabulary) or columns.growing):
        raise refuse(state, "the columns of a Gram matrix cannot come from dicts", "columns of dicts")
    if kernel is not None:
        _check_on(state, kernel, n)


def _check_names(state: State, names: tuple[Any, ...], *, any_kind: bool) -> None:
    """Refuses names that columns cannot have; those of data frames are strings, those of dicts may be of `any_kind`."""
    try:
        different = len(set(names)) == len(names)
    except TypeError as error:  # a name cannot be hashed
        raise InputError(f"the state of kind {state.kind!r}: a column cannot have such a name: {error}.") from error
    if not different or not (any_kind or all(isinstance(name, str) for name in names)):
        raise refuse(state, "the names of the columns must be different strings", names[:10])


def _check_on(state: State, kernel: Kernel, n_features: int) -> None:
    """Refuses a kernel on columns that there are not."""
    if isinstance(kernel, After):  # maps the rows to others, about which nothing is known
        return
    if isinstance(kernel, On):
        if max(kernel.columns) >= n_features:
            raise refuse(state, f"the kernel must be on columns below {n_features}", list(kernel.columns))
        n_features = len(kernel.columns)
    for part in _kernels_in(kernel):
        _check_on(state, part, n_features)


def _kernels_in(kernel: Kernel) -> list[Kernel]:
    found: list[Any] = []
    for value in kernel.get_params(deep=False).values():
        found += value if isinstance(value, tuple) else [value]
    return [part for part in found if isinstance(part, Kernel)]


def _has_map(kernel: Kernel) -> bool:
    return isinstance(kernel, After) or any(map(_has_map, _kernels_in(kernel)))


def check_rows(
    state: State,
    kernel: Kernel | None,
    columns: Columns | Vocabulary,
    parts: Iterable[State],
    dtype: np.dtype | None = None,
) -> None:
    """Refuses rows in a state that data for the kernel cannot be, or that do not have the columns.

    `dtype` is that of the rows; None (default): that of the columns.
    """
    kernel_columns(state, kernel, columns)
    takes = "vectors" if kernel is None else kernel.takes
    kinds = {"objects": ("rows/objects",), "gram": ("rows/gram",)}.get(takes, ("rows/dense", "rows/csr"))
    for part in parts:
        if part.kind == "rows/objects" and len(part.array("objects")) == 0:  # there are no rows
            continue
        if part.kind not in kinds:
            raise refuse(state, f"the rows must be of kind {' or '.join(kinds)}, which the kernel takes", part.kind)
        if part.kind == "rows/gram":
            _check_gram(state, part, columns.n_features or 0)
        elif part.kind != "rows/objects":
            _check_vectors(state, part, columns.n_features or 0, np.dtype(dtype or columns.dtype))
            if kernel is not None and kernel.inner.refuses_rows and not _has_map(kernel):
                kernel.inner.check_rows(rows_from_state(part), "a row of the state")


def _check_gram(state: State, part: State, n: int) -> None:
    places = part.array("columns", np.intp, (None,))
    if len(places) and not (places.min() >= 0 and places.max() < n):
        raise refuse(state, f"the rows of a Gram matrix must be among its {n} columns", places)
    if "block" in part.arrays:
        part.array("block", (np.float32, np.float64), (len(places), n))
    if "diagonal" in part.arrays:
        part.array("diagonal", (np.float32, np.float64), (len(places),))


def _check_vectors(state: State, part: State, n: int, dtype: np.dtype) -> None:
    sparse = part.kind == "rows/csr"
    data = part.array("data", shape=(None,) if sparse else (None, None))
    width = part.setting("n_features", int) if sparse else data.shape[-1]
    if width != n or data.dtype != dtype:
        raise refuse(state, f"the rows must have {n} columns of {dtype}", f"{width} of {data.dtype}")
