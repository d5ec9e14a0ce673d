"""The rows that a learner keeps, in slots, and their kernel rows: as many as fit into a limit, the last used."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.bounded import Slots
from onkel.kernels import Kernel
from onkel.kernels.rows import GramRows, Rows, joined
from onkel.kernels.tiles import BLOCK_BYTES, fill
from onkel.kernels.vectors import GrowingRows, VectorRows

__all__ = ["KeptRows", "KernelRows"]

FEW_FEATURES = 1024  # sparse rows of at most so many are kept as dense ones, packed as they come
LEAST_PLACES = 6  # of kernel rows, whatever the limit: a step takes two, a chunk at least one


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
        for number in range(int(slots.min()) // self._most, int(slots.max()) // self._most + 1):
            here = np.flatnonzero(slots // self._most == number)
            if len(here):
                if number == len(self._blocks):
                    self._blocks.append(GrowingRows(x.n_features, x.dtype))
                self._blocks[number].put(slots[here] - number * self._most, x[here] if len(here) < len(x) else x)

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

    def told(self, slots: NDArray[np.int64]) -> Rows:
        """The same as the user knows them: sparse where all that came was."""
        rows = self[slots]
        if isinstance(rows, VectorRows) and self._sparse and rows.is_dense:
            return VectorRows(rows.csr(), rows.n_features)
        return rows

    def widen(self, n_features: int) -> None:
        """More features, in which all rows are 0."""
        if self._blocks:
            rows = joined(self._parts())
            assert isinstance(rows, VectorRows)
            self._blocks, self._most, sparse = [], 0, self._sparse
            self.put(np.arange(len(rows)), rows.widened(n_features))
            self._sparse = sparse

    def copy(self) -> KeptRows:
        twin = KeptRows()
        twin._blocks, twin._most, twin._sparse = [b.copy() for b in self._blocks], self._most, self._sparse
        return twin


class KernelRows:
    """Kernel rows in places, each K of one slot with all slots (cpp/lasvm.h); a copy begins empty.

    The first `area` places are for the rows that are learned now. The others are opened as they are
    needed: every row that is held costs, for it grows with every slot that is taken.
    """

    def __init__(self, limit: int, area: int) -> None:
        self.limit, self._most = limit, area
        self._buffer = np.empty(0)
        self.values = self._buffer.reshape(0, 0)
        self.held = np.empty((3, 0), dtype=np.int64)  # of each place: its slot, when it was used, columns it has
        self.place = np.empty(0, dtype=np.int64)  # of each slot, or −1
        self.area = self.open = 0

    def copy(self) -> KernelRows:
        return KernelRows(self.limit, self._most)

    def __getstate__(self) -> dict[str, Any]:
        """The limit alone: what is held can be computed again, to the bit."""
        return {"limit": self.limit, "area": self._most}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def make_room(self, cap: int, dtype: np.dtype) -> None:
        """Room for rows of `cap` values; of those held, as many as fit stay, the last used."""
        itemsize, old = dtype.itemsize, self.values.shape[1]
        places = min(max(self.limit // (itemsize * cap), LEAST_PLACES), cap + min(cap, self._most))
        area, used = min(self._most, places // 2), self.held[1]
        cached = self.area + np.flatnonzero(self.held[0, self.area :] >= 0)
        if len(cached) > places - area:
            cached = np.sort(cached[np.argsort(used[cached])[area - places :]])
        source, size = self._buffer, places * cap
        if source.dtype != dtype or len(source) < size:
            self._buffer = np.zeros(size, dtype=dtype)
        if source is self._buffer:  # first down, then apart: no row is written over before it has moved
            for q, p in enumerate(cached):
                source[q * old : (q + 1) * old] = source[p * old : (p + 1) * old]
        for q in range(len(cached) - 1, -1, -1):
            at, begin = (area + q) * cap, old * (q if source is self._buffer else int(cached[q]))
            self._buffer[at : at + old] = source[begin : begin + old]
        self.values = self._buffer[:size].reshape(places, cap)
        held = np.zeros((3, places), dtype=np.int64)
        held[0] = -1
        held[:2, area : area + len(cached)] = self.held[:2, cached]
        self.held, self.area, self.open, self.place = held, area, area + len(cached), np.full(cap, -1)
        self.place[held[0, area : area + len(cached)]] = area + np.arange(len(cached))

    def vacate(self, count: int, wanted: int) -> NDArray[np.int64]:
        """Places made free: those not used for longest, and new ones while fewer than `wanted` are open."""
        self.open = max(self.open, min(len(self.held[0]), self.area + wanted))
        used = self.held[1, self.area : self.open]
        if count == 1:
            places = np.array([self.area + int(used.argmin())])
        else:
            places = self.area + (np.argpartition(used, count)[:count] if count < len(used) else np.arange(len(used)))
        before = self.held[0, places]
        self.place[before[before >= 0]] = -1
        self.held[0, places], self.held[1, places] = -1, 0
        return places

    def give(self, places: NDArray[np.int64], slots: NDArray[np.int64], clock: int) -> None:
        """Free places to slots whose rows are in them now."""
        self.held[0, places], self.held[1, places], self.held[2, places] = slots, clock, 0
        self.place[slots] = places
