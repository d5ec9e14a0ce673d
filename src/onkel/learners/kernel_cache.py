"""Kernel rows that were computed and may be needed again: as many as fit into a limit, the last used."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["KernelRowCache"]

LEAST_PLACES = 6  # of kernel rows, whatever the limit: a step takes two, a chunk at least one


class KernelRowCache:
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

    def copy(self) -> KernelRowCache:
        return KernelRowCache(self.limit, self._most)

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
