"""Equal rows with different labels: the proof that no kernel separates the data."""

from __future__ import annotations

from collections.abc import Callable, Hashable

import numpy as np
from numpy.typing import NDArray

from onkel.kernels.rows import GramRows, ObjectRows, Rows
from onkel.kernels.vectors import VectorRows

__all__ = ["conflicts"]


def conflicts(rows: Rows, y: NDArray) -> NDArray[np.intp]:
    """Pairs (first, i): row i equals an earlier one, and the first such row has another label; by i, shape (found, 2).

    Vectors and rows of a Gram matrix are equal by value: −0.0 is 0.0, and a stored zero of CSR rows is none. Objects
    are equal where Python says so; those without a hash are passed over.

    Cost: O(n log n), and a look at each row that is as long as one with another label.
    """
    _, label = np.unique(y, return_inverse=True)
    if isinstance(rows, GramRows):
        assert rows.block is not None
        rows = VectorRows(rows.block)
    content, looked_at = _content(rows), np.arange(len(rows))
    if isinstance(rows, VectorRows):  # equal rows are equally long
        norms = rows.squared_norms()
        lengths = np.sort(norms)
        lengths = np.unique(lengths[1:][lengths[1:] == lengths[:-1]])  # of several rows: mostly few
        looked_at = np.flatnonzero(np.isin(norms, lengths))
        length = np.searchsorted(lengths, norms[looked_at])
        several = np.bincount(np.unique(length * len(rows) + label[looked_at]) // len(rows)) > 1  # labels of a length
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
    """What is equal for two rows iff they are."""
    if isinstance(rows, ObjectRows):
        return lambda i: rows.objects[i]
    assert isinstance(rows, VectorRows)
    if rows.is_dense:
        X = rows.dense()
        return lambda i: (X[i] + 0.0).tobytes()  # −0.0 + 0.0 is 0.0
    indptr, indices, data = rows.csr()

    def entries(i: int) -> bytes:
        here = slice(indptr[i], indptr[i + 1])
        stored = data[here] != 0
        return bytes(indices[here][stored].tobytes() + data[here][stored].tobytes())

    return entries
