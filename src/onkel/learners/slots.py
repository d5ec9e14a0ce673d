"""Slots: rows of the data in numbered places that can be overwritten, for learners that also remove support vectors.

`Slots` holds the rows in one block, for learners with a budget and for the Projectron. `KeptRows` holds them in blocks
of bounded size, for LASVM, which has no budget but removes examples. Support vectors that are never removed are in
`onkel.learners.support`, and the kernel values of LASVM's slots in `onkel.learners.kernel_cache`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.kernels import Kernel
from onkel.kernels.rows import GramRows, Rows, joined
from onkel.kernels.tiles import BLOCK_BYTES, fill
from onkel.kernels.vectors import GrowingRows, VectorRows

__all__ = ["KeptRows", "Slots"]

DENSE_FEATURES = 1024  # sparse rows with at most this many features are stored as dense rows


class Slots:
    """Rows in slots, all in one block; dense rows are packed for products when they are put in."""

    def __init__(self) -> None:
        self.rows: Rows | None = None

    def __len__(self) -> int:
        return 0 if self.rows is None else len(self.rows)

    def put(self, slots: NDArray[np.int64], x: Rows) -> None:
        """Puts row x[i] into slots[i]; slots past the end must come in ascending order, without a gap."""
        if isinstance(x, VectorRows) and x.is_dense:
            if self.rows is None:
                self.rows = GrowingRows(x.n_features, x.dtype)
            if isinstance(self.rows, GrowingRows):
                self.rows.put(slots, x)
                return
        old = len(self)
        both = x if self.rows is None else joined([self.rows, x])
        index = np.arange(max(old, int(slots.max()) + 1))
        index[slots] = old + np.arange(len(slots))
        self.rows = both[index]

    def put_one(self, slot: int, x: Rows) -> None:
        """Puts one row into a slot."""
        if isinstance(self.rows, GrowingRows) and isinstance(x, VectorRows):
            self.rows.put_one(slot, x)
        else:
            self.put(np.array([slot]), x)

    def copy(self) -> Slots:
        """An independent copy."""
        twin = Slots()
        twin.rows = self.rows.copy() if isinstance(self.rows, GrowingRows) else self.rows
        return twin

    def add_features(self, n_features: int) -> None:
        """Increases the number of features to `n_features`; all rows are 0 in the new ones."""
        if self.rows is not None:
            assert isinstance(self.rows, VectorRows)
            wide = self.rows.with_features(n_features)
            self.rows = None
            self.put(np.arange(len(wide)), wide)


class GrowingGram(GramRows):
    """Rows of a precomputed Gram matrix, in memory with room for more."""

    def __init__(self, first: GramRows) -> None:
        assert first.block is not None
        self._room = np.empty((0, first.block.shape[1]), dtype=first.dtype)
        super().__init__(self._room, np.empty(0, dtype=np.intp), np.empty(0))

    def put(self, slots: NDArray[np.int64], x: GramRows) -> None:
        """Puts row x[i] into slots[i]; slots past the end leave no gap."""
        assert self.columns is not None
        assert self.diagonal is not None
        assert x.columns is not None
        assert x.diagonal is not None
        size, old = max(len(self), int(slots.max()) + 1), len(self)
        if size > len(self._room):
            self._room = np.concatenate([self._room, np.empty((size, self._room.shape[1]), dtype=self.dtype)])
        if size > old:
            self.columns = np.concatenate([self.columns, np.zeros(size - old, dtype=np.intp)])
            self.diagonal = np.concatenate([self.diagonal, np.zeros(size - old)])
        self._room[slots], self.columns[slots], self.diagonal[slots] = x.block, x.columns, x.diagonal
        self.block = self._room[:size]

    def __getstate__(self) -> dict[str, Any]:
        """Without the unused memory; the rows in use would otherwise be saved twice."""
        return vars(self) | {"_room": self.block}

    def copy(self) -> GrowingGram:
        """An independent copy."""
        twin = GrowingGram(self)
        if len(self):
            twin.put(np.arange(len(self)), self)
        return twin


class KeptRows:
    """Rows in slots, any number of them.

    Dense rows, and sparse rows with few features, are in blocks, so that growing never copies all of them, and are
    packed for products when they are put in. Sparse rows with many features, and objects, are in one `Slots`; rows of a
    Gram matrix in one `GrowingGram`.
    """

    def __init__(self) -> None:
        # GrowingRows of `_most` rows each, the last one of fewer; or a single block of another kind
        self._blocks: list[Any] = []
        self._most = 0
        self._sparse = True  # whether all rows that were put in were sparse

    def __len__(self) -> int:
        return sum(len(block) for block in self._blocks)

    def put(self, slots: NDArray[np.int64], x: Rows) -> None:
        """Puts row x[i] into slots[i]; slots past the end leave no gap."""
        if isinstance(x, GramRows):
            self._blocks = self._blocks or [GrowingGram(x)]
            self._blocks[0].put(slots, x)
            return
        if isinstance(x, VectorRows):
            self._sparse &= not x.is_dense
            if x.is_dense or x.n_features <= DENSE_FEATURES:
                x = x if x.is_dense else VectorRows(x.dense())
                if not self._blocks or isinstance(self._blocks[0], GrowingRows):
                    self._put_dense(slots, x)
                    return
        if not self._blocks:
            self._blocks = [Slots()]
        self._blocks[0].put(slots, x)

    def _put_dense(self, slots: NDArray[np.int64], x: VectorRows) -> None:
        self._most = self._most or max(32, BLOCK_BYTES // (x.dtype.itemsize * x.n_features))
        for k in range(int(slots.min()) // self._most, int(slots.max()) // self._most + 1):
            inside = np.flatnonzero(slots // self._most == k)  # which slots are in block k
            if len(inside):
                if k == len(self._blocks):
                    self._blocks.append(GrowingRows(x.n_features, x.dtype))
                self._blocks[k].put(slots[inside] - k * self._most, x[inside] if len(inside) < len(x) else x)

    def _parts(self) -> list[Rows]:
        found: list[Any] = [block.rows if isinstance(block, Slots) else block for block in self._blocks]
        return found

    def fill(self, kernel: Kernel, x: Rows, out: NDArray) -> None:
        """out = k(x, all slots), shape (n, slots)."""
        start = 0
        for rows in self._parts():
            fill(kernel, x, rows, out[:, start : start + len(rows)])
            start += len(rows)

    def add_scores(self, kernel: Kernel, x: Rows, coef: NDArray[np.float64], out: NDArray[np.float64]) -> None:
        """out += k(x, all slots) @ coef; x are few rows, because they are not cut into slabs."""
        start = 0
        for rows in self._parts():
            kernel._add_scores(x, rows, np.ascontiguousarray(coef[start : start + len(rows)]), out)
            start += len(rows)

    def __getitem__(self, slots: NDArray[np.int64]) -> Rows:
        """The rows in some slots, in the order of `slots`, as a copy."""
        parts = self._parts()
        if len(parts) == 1:
            return parts[0][slots]
        order = np.argsort(slots // self._most, kind="stable")
        owner = slots[order] // self._most
        found = [rows[slots[order][owner == k] - k * self._most] for k, rows in enumerate(parts) if (owner == k).any()]
        return joined(found)[np.argsort(order)]

    def as_given(self, slots: NDArray[np.int64]) -> Rows:
        """The rows in some slots in the form in which they came: sparse if all rows that were put in were."""
        rows = self[slots]
        if isinstance(rows, VectorRows) and self._sparse and rows.is_dense:
            return VectorRows(rows.csr(), rows.n_features)
        return rows

    def add_features(self, n_features: int) -> None:
        """Increases the number of features to `n_features`; all rows are 0 in the new ones."""
        if self._blocks:
            rows = joined(self._parts())
            assert isinstance(rows, VectorRows)
            self._blocks, self._most, sparse = [], 0, self._sparse
            self.put(np.arange(len(rows)), rows.with_features(n_features))
            self._sparse = sparse

    def copy(self) -> KeptRows:
        """An independent copy."""
        twin = KeptRows()
        twin._blocks, twin._most, twin._sparse = [b.copy() for b in self._blocks], self._most, self._sparse
        return twin
