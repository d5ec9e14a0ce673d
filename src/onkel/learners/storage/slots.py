"""Slots: rows of the data in numbered places that can be overwritten, for learners that also remove support vectors.

`Slots` holds the rows in one block, for learners with a budget, and `AddedRows` those of the Projectron, which are
never overwritten. `KeptRows` holds them in blocks of bounded size, for LASVM, which has no budget but removes examples.
Support vectors that are never removed are in `onkel.learners.storage.support`, and the kernel values of LASVM's slots
in `onkel.learners.storage.kernel_rows`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from onkel._core.transaction import Transaction
from onkel.kernels import Kernel
from onkel.kernels.rows import GramRows, Rows, joined
from onkel.kernels.tiles import BLOCK_BYTES, add_scores, fill
from onkel.kernels.vectors import GrowingRows, VectorRows
from onkel.learners.storage.savepoint import CopySavepoint

__all__ = ["AddedRows", "KeptRows", "Slots", "features_in_use"]

DENSE_FEATURES = 1024  # sparse rows with at most this many features are stored as dense rows


def features_in_use(blocks: Sequence[Rows], n_features: int) -> NDArray[np.bool_]:
    """Which features some row of the blocks has, shape (features,)."""
    used = np.zeros(n_features, dtype=bool)
    for rows in blocks:
        if isinstance(rows, VectorRows):
            used |= rows.features_in_use()
    return used


class Slots:
    """Rows in slots, all in one block; dense rows are packed for products when they are put in."""

    def __init__(self) -> None:
        self.rows: Rows | None = None

    def __len__(self) -> int:
        return 0 if self.rows is None else len(self.rows)

    def put(self, slots: NDArray[np.int64], x: Rows, change: Transaction) -> None:
        """Puts row x[i] into slots[i] when the transaction is committed.

        Slots past the end must come in ascending order, without a gap.
        """
        grows = isinstance(self.rows, GrowingRows) or (self.rows is None and isinstance(x, VectorRows) and x.is_dense)
        if grows and isinstance(x, VectorRows):
            rows = self.rows if isinstance(self.rows, GrowingRows) else GrowingRows(x.n_features, x.dtype)
            rows.put(slots, x, change)
            change.set(self, rows=rows)
            return
        old = len(self)
        both = x if self.rows is None else joined([self.rows, x])
        index = np.arange(max(old, int(slots.max()) + 1))
        index[slots] = old + np.arange(len(slots))
        change.set(self, rows=both[index])

    @classmethod
    def of(cls, rows: Rows | None) -> Self:
        """Slots with these rows; None: none."""
        slots = cls()
        if rows is not None:
            with Transaction() as change:
                slots.put(np.arange(len(rows)), rows, change)
        return slots

    def copy(self) -> Self:
        """An independent copy."""
        twin = type(self)()
        twin.rows = self.rows.copy() if isinstance(self.rows, GrowingRows) else self.rows
        return twin

    def savepoint(self) -> SlotsSavepoint | AddedRowsSavepoint:
        """The present rows: copied, because they can be overwritten, but not packed."""
        rows = self.rows
        return SlotsSavepoint(VectorRows(rows.dense().copy()) if isinstance(rows, GrowingRows) else rows)

    def add_features(self, n_features: int, *, sparse: bool) -> None:
        """Increases the number of features to `n_features`; all rows are 0 in the new ones."""
        if self.rows is not None:
            assert isinstance(self.rows, VectorRows)
            wide = self.rows.with_features(n_features, sparse=sparse)
            self.rows = None
            with Transaction() as change:
                self.put(np.arange(len(wide)), wide, change)

    def features_in_use(self, n_features: int) -> NDArray[np.bool_]:
        """Which features some row has, shape (features,)."""
        return features_in_use([] if self.rows is None else [self.rows], n_features)


class SlotsSavepoint(NamedTuple):
    """The rows in slots at one moment; they are not changed."""

    rows: Rows | None

    def restored(self, change: Transaction) -> Slots:
        """Slots with these rows."""
        return Slots.of(self.rows)


class AddedRows(Slots):
    """Slots whose rows are never overwritten, only added to, so that a savepoint copies nothing."""

    def savepoint(self) -> AddedRowsSavepoint:
        return AddedRowsSavepoint(self, self.rows, len(self))


class AddedRowsSavepoint(NamedTuple):
    """Rows at one moment, since when rows were only added, and how many there were."""

    slots: AddedRows
    rows: Rows | None
    size: int

    def restored(self, change: Transaction) -> AddedRows:
        """The slots without the rows since then, when the transaction is committed."""
        if isinstance(self.rows, GrowingRows):
            self.rows.truncate(self.size, change)
        change.set(self.slots, rows=self.rows)
        return self.slots


class GrowingGram(GramRows):
    """Rows of a precomputed Gram matrix, in memory with room for more."""

    def __init__(self, first: GramRows) -> None:
        assert first.block is not None
        self._room = np.empty((0, first.block.shape[1]), dtype=first.dtype)
        super().__init__(self._room, np.empty(0, dtype=np.intp), np.empty(0))

    def put(self, slots: NDArray[np.int64], x: GramRows, change: Transaction) -> None:
        """Puts row x[i] into slots[i] when the transaction is committed; slots past the end leave no gap."""
        assert self.columns is not None
        assert self.diagonal is not None
        assert x.block is not None
        assert x.columns is not None
        assert x.diagonal is not None
        size, old, room = max(len(self), int(slots.max()) + 1), len(self), self._room
        if size > len(room):
            room = np.concatenate([room, np.empty((size, room.shape[1]), dtype=self.dtype)])
        columns, diagonal = np.zeros(size, dtype=np.intp), np.zeros(size)
        columns[:old], diagonal[:old] = self.columns, self.diagonal
        columns[slots], diagonal[slots] = x.columns, x.diagonal
        change.write_rows(room, slots, np.ascontiguousarray(x.block))
        change.set(self, _room=room, block=room[:size], columns=columns, diagonal=diagonal, _kept={})

    def copy(self) -> GrowingGram:
        """An independent copy."""
        twin = GrowingGram(self)
        if len(self):
            with Transaction() as change:
                twin.put(np.arange(len(self)), self, change)
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

    def put(self, slots: NDArray[np.int64], x: Rows, change: Transaction) -> None:
        """Puts row x[i] into slots[i] when the transaction is committed; slots past the end leave no gap."""
        blocks, sparse = list(self._blocks), self._sparse
        if isinstance(x, GramRows):
            blocks = blocks or [GrowingGram(x)]
            blocks[0].put(slots, x, change)
        else:
            dense = isinstance(x, VectorRows) and (x.is_dense or x.n_features <= DENSE_FEATURES)
            if isinstance(x, VectorRows):
                sparse = sparse and not x.is_dense
            if dense and (not blocks or isinstance(blocks[0], GrowingRows)):
                assert isinstance(x, VectorRows)
                self._put_dense(blocks, slots, x if x.is_dense else VectorRows(x.dense()), change)
            else:
                blocks = blocks or [Slots()]
                blocks[0].put(slots, x, change)
        change.set(self, _blocks=blocks, _sparse=sparse)

    def _put_dense(self, blocks: list[Any], slots: NDArray[np.int64], x: VectorRows, change: Transaction) -> None:
        """Puts dense rows into the blocks, and appends blocks to the list as they are needed."""
        most = self._most or max(32, BLOCK_BYTES // (x.dtype.itemsize * max(1, x.n_features)))
        for k in range(int(slots.min()) // most, int(slots.max()) // most + 1):
            inside = np.flatnonzero(slots // most == k)  # which slots are in block k
            if len(inside):
                if k == len(blocks):
                    blocks.append(GrowingRows(x.n_features, x.dtype))
                blocks[k].put(slots[inside] - k * most, x[inside] if len(inside) < len(x) else x, change)
        change.set(self, _most=most)

    @classmethod
    def of(cls, rows: Rows, slots: NDArray[np.int64]) -> KeptRows:
        """Rows in the given slots, in ascending order; copies of the first one are in the free slots between them."""
        kept = cls()
        if len(slots):
            index = np.zeros(int(slots[-1]) + 1, dtype=np.int64)
            index[slots] = np.arange(len(slots))
            with Transaction() as change:
                kept.put(np.arange(len(index)), rows[index], change)
        return kept

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the rows, of which there must be some."""
        return self._parts()[0].dtype

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
        """out += k(x, all slots) @ coef, for coefficients (slots, outputs)."""
        start = 0
        for rows in self._parts():
            part = np.ascontiguousarray(coef[start : start + len(rows)])
            if len(x) == 1:  # small enough to need no tiles
                kernel.inner.add_scores(x, rows, part, out)
            else:
                add_scores(kernel, x, rows, part, out)
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

    def add_features(self, n_features: int, *, sparse: bool) -> None:
        """Increases the number of features to `n_features`; all rows are 0 in the new ones."""
        if self._blocks:
            rows = joined(self._parts())
            assert isinstance(rows, VectorRows)
            self._blocks, self._most, self._sparse = [], 0, self._sparse or sparse
            with Transaction() as change:
                self.put(np.arange(len(rows)), rows.with_features(n_features, sparse=sparse), change)

    def features_in_use(self, n_features: int) -> NDArray[np.bool_]:
        """Which features some row has, shape (features,)."""
        return features_in_use(self._parts(), n_features)

    def savepoint(self) -> CopySavepoint:
        """The present rows: a copy, because they can be overwritten."""
        return CopySavepoint(self.copy())

    def copy(self) -> KeptRows:
        """An independent copy."""
        twin = KeptRows()
        twin._blocks, twin._most, twin._sparse = [b.copy() for b in self._blocks], self._most, self._sparse
        return twin
