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
from onkel.kernels.rows import GramRows, ObjectRows, Rows
from onkel.kernels.vectors import Csr, VectorRows
from onkel.models.state import State

__all__ = ["rows_from_state", "rows_state"]

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

    The sizes are checked, because the compiled core relies on them and a state may come from a file.
    """
    state.expect(state.kind, 1)
    match state.kind:
        case "rows/dense":
            data = np.ascontiguousarray(state.array("data"))
            _check(data.ndim == 2 and data.dtype in FLOATS, state, "data must be a matrix of float32 or float64")
            return VectorRows(data)
        case "rows/csr":
            return VectorRows(_csr(state), state.setting("n_features", int))
        case "rows/objects":
            objects = state.array("objects")
            _check(objects.ndim == 1 and objects.dtype == object, state, "objects must be a vector of objects")
            return ObjectRows(objects)
        case "rows/gram":
            return GramRows(*_gram(state))
    raise InputError(f"rows have the kind rows/dense, rows/csr, rows/objects or rows/gram; got {state.kind!r}.")


def _csr(state: State) -> Csr:
    indptr, indices, data = (np.ascontiguousarray(state.array(name)) for name in Csr._fields)
    n_features = state.setting("n_features", int)
    right_types = indptr.dtype == np.int64 and indices.dtype == np.int32 and data.dtype in FLOATS
    _check(right_types, state, "indptr must be int64, indices int32 and data float32 or float64")
    one_dimension = indptr.ndim == indices.ndim == data.ndim == 1
    _check(one_dimension and indptr.size > 0, state, "indptr, indices and data must be vectors")
    starts = indptr[0] == 0 and (np.diff(indptr) >= 0).all() and indptr[-1] == len(indices) == len(data)
    _check(starts, state, "indptr must rise from 0 to the number of entries")
    inside = not indices.size or (indices.min() >= 0 and indices.max() < n_features)
    _check(inside, state, "indices must be columns of the matrix")
    return Csr(indptr, indices, data)


def _gram(state: State) -> tuple[NDArray | None, NDArray[np.intp] | None, NDArray | None]:
    block, columns, diagonal = (state.arrays.get(name) for name in GRAM)
    dimensions = (a is None or a.ndim == d for a, d in ((block, 2), (columns, 1), (diagonal, 1)))
    _check(all(dimensions), state, "block must be a matrix, columns and diagonal vectors")
    lengths = {len(a) for a in (block, columns, diagonal) if a is not None}
    _check(len(lengths) == 1, state, "block, columns and diagonal must be of one length")
    _check(columns is None or columns.dtype == np.intp, state, "columns must be whole numbers")
    return block, columns, diagonal


def _check(right: bool | np.bool_, state: State, wanted: str) -> None:
    if not right:
        shapes = ", ".join(f"{name} {array.dtype} {array.shape}" for name, array in state.arrays.items())
        raise InputError(f"the state of kind {state.kind!r}: {wanted}; got {shapes}.")
