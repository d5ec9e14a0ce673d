"""Equal rows with different labels, which prove that no kernel separates the data."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np
from numpy.typing import NDArray

from onkel.kernels.rows import GramRows, ObjectRows, Rows
from onkel.kernels.vectors import VectorRows

__all__ = ["conflicts"]


def conflicts(rows: Rows, y: NDArray) -> NDArray[np.intp]:
    """Pairs of equal rows with different labels, shape (found, 2).

    A pair is (first, i): row i equals earlier rows, and the first of them has another label than row i. Pairs are
    sorted by i. Vectors, and rows of a Gram matrix, are compared by value: −0.0 equals 0.0, and a zero that is stored
    in a CSR matrix equals one that is not. Objects are compared with ==; objects that have no hash are skipped.

    Cost: O(n log n), plus a comparison of the rows whose norm occurs with several labels.
    """
    _, label = np.unique(y, return_inverse=True)
    if isinstance(rows, GramRows):
        assert rows.block is not None
        rows = VectorRows(rows.block)
    content, looked_at = _content(rows), np.arange(len(rows))
    if isinstance(rows, VectorRows):  # equal rows have equal norms: only these need to be compared
        norms = rows.squared_norms()
        lengths = np.sort(norms)
        lengths = np.unique(lengths[1:][lengths[1:] == lengths[:-1]])  # norms that occur more than once: usually few
        looked_at = np.flatnonzero(np.isin(norms, lengths))
        length = np.searchsorted(lengths, norms[looked_at])
        # which of these norms occur with several labels
        several = np.bincount(np.unique(length * len(rows) + label[looked_at]) // len(rows)) > 1
        looked_at = looked_at[several[length]]
    first: dict[Hashable, int] = {}
    found = []
    for i in looked_at.tolist():
        try:
            j = first.setdefault(content(i), i)
        except TypeError:  # no hash
            continue
        if label[j] != label[i]:
            found.append((j, i))
    return np.array(found, dtype=np.intp).reshape(-1, 2)


def _content(rows: Rows) -> Callable[[int], Hashable]:
    """A function that gives each row a hashable key; two keys are equal if and only if the rows are."""
    if isinstance(rows, ObjectRows):
        return lambda i: rows.objects[i]
    assert isinstance(rows, VectorRows)
    if rows.is_dense:
        X = rows.dense()
        return lambda i: (X[i] + 0.0).tobytes()  # −0.0 + 0.0 is 0.0
    indptr, indices, data = rows.csr()

    def entries(i: int) -> bytes:
        row = slice(indptr[i], indptr[i + 1])
        nonzero = data[row] != 0
        return bytes(indices[row][nonzero].tobytes() + data[row][nonzero].tobytes())

    return entries
