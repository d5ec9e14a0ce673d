"""Rows as a state, and back: data of every kind as named arrays.

    rows/dense      data (n, features)
    rows/csr        data, indices, indptr; the setting n_features
    rows/objects    objects (n,), an array of Python objects
    rows/gram       block (n, reference points), columns (n,), diagonal (n,), as far as the rows have them

What rows have cached is not part of their state. Rows with spare capacity become rows without.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onkel.checks import FLOATS
from onkel.errors import InputError, KindError
from onkel.kernels import Kernel
from onkel.kernels.rows import GramRows, ObjectRows, Rows
from onkel.kernels.vectors import Csr, VectorRows
from onkel.states.state import LARGEST_COUNT, State

__all__ = ["MOST_FEATURES", "kernel_rows", "rows_from_state", "rows_state"]

MOST_FEATURES = 2**31 - 1  # of CSR rows, whose indices are int32
GRAM = ("block", "columns", "diagonal")


def rows_state(rows: Rows, *, copy: bool = True) -> State:
    """The state of any rows, from which `rows_from_state` makes rows with the same values to the bit.

    With `copy` (default) it shares no array with the rows; Python objects themselves are not copied. False is for rows
    that never change.
    """
    if isinstance(rows, VectorRows):
        if rows.is_dense:
            return State("rows/dense", 1, {}, {"data": _kept(rows.dense(), copy)})
        csr = {name: _kept(array, copy) for name, array in rows.csr()._asdict().items()}
        return State("rows/csr", 1, {"n_features": rows.n_features}, csr)
    if isinstance(rows, ObjectRows):
        return State("rows/objects", 1, {}, {"objects": _kept(rows.objects, copy)})
    if isinstance(rows, GramRows):
        given = {name: getattr(rows, name) for name in GRAM}
        return State("rows/gram", 1, {}, {name: _kept(a, copy) for name, a in given.items() if a is not None})
    raise KindError(f"rows_state: rows must be VectorRows, ObjectRows or GramRows; got {type(rows).__name__}.")


def _kept(array: NDArray, copy: bool) -> NDArray:
    return np.array(array, order="C") if copy else array


def rows_from_state(state: State) -> Rows:
    """The rows that `rows_state` has written, over the read-only arrays of the state.

    Everything is checked, because the compiled core relies on it and a state may come from a file.
    """
    state.expect(state.kind, 1)
    match state.kind:
        case "rows/dense":
            return VectorRows(np.ascontiguousarray(state.array("data", FLOATS, (None, None))))
        case "rows/csr":
            return _csr(state)
        case "rows/objects":
            return ObjectRows(state.array("objects", object, (None,)))
        case "rows/gram":
            return _gram(state)
    raise InputError(f"rows have the kind rows/dense, rows/csr, rows/objects or rows/gram; got {state.kind!r}.")


def kernel_rows(state: State, name: str, kernel: Kernel) -> Rows:
    """The rows that are the part `name` of a state; refuses those that the kernel cannot take as second argument."""
    rows = rows_from_state(state.part(name))
    if isinstance(rows, ObjectRows) and not len(rows):
        return rows  # NO_ROWS, which every kernel takes
    takes = "vectors" if isinstance(rows, VectorRows) else "objects" if isinstance(rows, ObjectRows) else "gram"
    state.check(kernel.takes in (takes, "anything"), f"{name!r} must be {kernel.takes}, as {kernel!r} takes them")
    if isinstance(rows, GramRows):
        state.check(rows.columns is not None, f"{name!r} must have the columns of a Gram matrix that its points are")
    elif isinstance(rows, VectorRows) and len(rows):
        kernel._check_rows(rows, name)
    return rows


def _csr(state: State) -> VectorRows:
    n_features = state.count("n_features", at_most=MOST_FEATURES)
    data = state.array("data", FLOATS, (None,))
    indices = state.indices("indices", n_features, len(data), np.int32)
    indptr = state.offsets("indptr", len(data))
    rises = np.ones(len(indices), dtype=bool)
    rises[1:] = indices[1:] > indices[:-1]
    rises[indptr[:-1][indptr[:-1] < len(indices)]] = True  # the first entry of a row
    state.check(rises.all(), "the array 'indices' must rise within each row")
    csr = Csr(np.ascontiguousarray(indptr), np.ascontiguousarray(indices), np.ascontiguousarray(data))
    return VectorRows(csr, n_features)


def _gram(state: State) -> GramRows:
    block, diagonal = state.optional_array("block", FLOATS, (None, None)), state.optional_array("diagonal", FLOATS)
    lengths = {len(a) for a in (block, state.arrays.get("columns"), diagonal) if a is not None and a.ndim}
    state.check(len(lengths) == 1, "block, columns and diagonal must be of one length, and one of them must be there")
    n, columns = lengths.pop(), None
    if "columns" in state.arrays:
        columns = state.indices("columns", LARGEST_COUNT if block is None else block.shape[1], n, np.intp)
    return GramRows(block, columns, state.optional_array("diagonal", FLOATS, (n,)))
