"""The rows that a learner keeps, in slots, and their kernel rows: as many as fit into a limit, the last used."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.kernels import Kernel
from onkel.kernels.rows import GramRows, Rows, joined
from onkel.kernels.tiles import BLOCK_BYTES, fill
from onkel.kernels.vectors import GrowingRows, VectorRows

__all__ = ["KeptRows", "Slots"]

FEW_FEATURES = 1024  # sparse rows of at most so many are kept as dense ones, packed as they come


class Slots:
    """Rows in places that can be taken by others; dense ones are packed for products as they come."""

    def __init__(self) -> None:
        self.rows: Rows | None = None

    def __len__(self) -> int:
        return 0 if self.rows is None else len(self.rows)

    def put(self, slots: NDArray[np.int64], x: Rows) -> None:
        """Rows x move into slots, of which those past the end come in order."""
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
        """The same for one row."""
        if isinstance(self.rows, GrowingRows) and isinstance(x, VectorRows):
            self.rows.put_one(slot, x)
        else:
            self.put(np.array([slot]), x)

    def copy(self) -> Slots:
        twin = Slots()
        twin.rows = self.rows.copy() if isinstance(self.rows, GrowingRows) else self.rows
        return twin

    def add_features(self, n_features: int) -> None:
        if self.rows is not None:
            assert isinstance(self.rows, VectorRows)
            wide = self.rows.with_features(n_features)
            self.rows = None
            self.put(np.arange(len(wide)), wide)


class GrowingGram(GramRows):
    """Rows of a Gram matrix with room for more."""

    def __init__(self, first: GramRows) -> None:
        assert first.block is not None
        self._room = np.empty((0, first.block.shape[1]), dtype=first.dtype)
        super().__init__(self._room, np.empty(0, dtype=np.intp), np.empty(0))

    def put(self, slots: NDArray[np.int64], x: GramRows) -> None:
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
        """Without the room, which would be saved besides what is in it."""
        return vars(self) | {"_room": self.block}

    def copy(self) -> GrowingGram:
        twin = GrowingGram(self)
        if len(self):
            twin.put(np.arange(len(self)), self)
        return twin


class KeptRows:
    """Rows in slots, in blocks that are packed for products as they come."""

    def __init__(self) -> None:
        self._blocks: list[Any] = []  # GrowingRows, all but the last of `_most` rows; or one of another kind
        self._most = 0
        self._sparse = True  # whether all that came was

    def __len__(self) -> int:
        return sum(len(block) for block in self._blocks)

    def put(self, slots: NDArray[np.int64], x: Rows) -> None:
        """Rows x move into slots, of which those past the end leave no gap."""
        if isinstance(x, GramRows):
            self._blocks = self._blocks or [GrowingGram(x)]
            self._blocks[0].put(slots, x)
            return
        if isinstance(x, VectorRows):
            self._sparse &= not x.is_dense
            if x.is_dense or x.n_features <= FEW_FEATURES:
                x = x if x.is_dense else VectorRows(x.dense())
                if not self._blocks or isinstance(self._blocks[0], GrowingRows):
                    self._put_dense(slots, x)
                    return
        if not self._blocks:
            self._blocks = [Slots()]
        self._blocks[0].put(slots, x)

    def _put_dense(self, slots: NDArray[np.int64], x: VectorRows) -> None:
        self._most = self._most or max(32, BLOCK_BYTES // (x.dtype.itemsize * x.n_features))
        for row_id in range(int(slots.min()) // self._most, int(slots.max()) // self._most + 1):
            here = np.flatnonzero(slots // self._most == row_id)
            if len(here):
                if row_id == len(self._blocks):
                    self._blocks.append(GrowingRows(x.n_features, x.dtype))
                self._blocks[row_id].put(slots[here] - row_id * self._most, x[here] if len(here) < len(x) else x)

    def _parts(self) -> list[Rows]:
        found: list[Any] = [block.rows if isinstance(block, Slots) else block for block in self._blocks]
        return found

    def fill(self, kernel: Kernel, x: Rows, out: NDArray) -> None:
        """out = k(x, all slots)."""
        start = 0
        for rows in self._parts():
            fill(kernel, x, rows, out[:, start : start + len(rows)])
            start += len(rows)

    def add_scores(self, kernel: Kernel, x: Rows, coef: NDArray[np.float64], out: NDArray[np.float64]) -> None:
        """out += k(x, all slots) @ coef, for few x."""
        start = 0
        for rows in self._parts():
            kernel._add_scores(x, rows, np.ascontiguousarray(coef[start : start + len(rows)]), out)
            start += len(rows)

    def __getitem__(self, slots: NDArray[np.int64]) -> Rows:
        """The rows in some slots, in their order, in memory of their own."""
        parts = self._parts()
        if len(parts) == 1:
            return parts[0][slots]
        order = np.argsort(slots // self._most, kind="stable")
        owner = slots[order] // self._most
        found = [rows[slots[order][owner == k] - k * self._most] for k, rows in enumerate(parts) if (owner == k).any()]
        return joined(found)[np.argsort(order)]

    def as_given(self, slots: NDArray[np.int64]) -> Rows:
        """The same as the user knows them: sparse where all that came was."""
        rows = self[slots]
        if isinstance(rows, VectorRows) and self._sparse and rows.is_dense:
            return VectorRows(rows.csr(), rows.n_features)
        return rows

    def add_features(self, n_features: int) -> None:
        """More features, in which all rows are 0."""
        if self._blocks:
            rows = joined(self._parts())
            assert isinstance(rows, VectorRows)
            self._blocks, self._most, sparse = [], 0, self._sparse
            self.put(np.arange(len(rows)), rows.with_features(n_features))
            self._sparse = sparse

    def copy(self) -> KeptRows:
        twin = KeptRows()
        twin._blocks, twin._most, twin._sparse = [b.copy() for b in self._blocks], self._most, self._sparse
        return twin
