"""The cache of kernel rows: it holds rows of the Gram matrix, so that LASVM does not compute them again.

It has a limit in bytes, and the least recently used kernel row is overwritten first. Rows of the data are not here:
those that can be replaced are in `onkel.learners.slots`, those that only grow in number in `onkel.learners.support`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["KernelRowCache"]

LEAST_PLACES = 6  # for kernel rows, however low the limit: a step reads two, a chunk needs at least one of its own


class KernelRowCache:
    """Kernel rows in places; the row of a slot holds its kernel values with all slots (cpp/learn/lasvm.h).

    The first `area` places are for the rows of the chunk that is being learned, the others are the cache. Of these only
    the first `open` are in use, and more are opened as they are needed: each row in the cache costs time, because it
    gets a new value for every slot that is taken. A copy is empty, as the values can be computed again.

    Parameters
    ----------
    limit : bytes of all kernel rows; at least `LEAST_PLACES` rows are kept whatever it is.
    area : rows of the longest chunk, ≥ 1; if the limit is low, `self.area` is smaller.
    """

    def __init__(self, limit: int, area: int) -> None:
        self.limit, self._most = limit, area
        self._buffer = np.empty(0)
        self.values = self._buffer.reshape(0, 0)
        # of each place: its slot or −1, the clock when it was last used, and how many of the chunk's columns it has
        self.held = np.empty((3, 0), dtype=np.int64)
        self.place = np.empty(0, dtype=np.int64)  # of each slot: the place of its kernel row, or −1
        self.area = self.open = 0

    def copy(self) -> KernelRowCache:
        """An empty cache with the same limits."""
        return KernelRowCache(self.limit, self._most)

    def __getstate__(self) -> dict[str, Any]:
        """The limits only: the kernel rows can be computed again, with identical bits."""
        return {"limit": self.limit, "area": self._most}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def make_room(self, cap: int, dtype: np.dtype) -> None:
        """Makes room for rows of `cap` values; the most recently used rows stay, as many as fit."""
        itemsize, old = dtype.itemsize, self.values.shape[1]
        places = min(max(self.limit // (itemsize * cap), LEAST_PLACES), cap + min(cap, self._most))
        area, used = min(self._most, places // 2), self.held[1]
        cached = self.area + np.flatnonzero(self.held[0, self.area :] >= 0)
        if len(cached) > places - area:
            cached = np.sort(cached[np.argsort(used[cached])[area - places :]])
        source, size = self._buffer, places * cap
        if source.dtype != dtype or len(source) < size:
            self._buffer = np.zeros(size, dtype=dtype)
        if (
            source is self._buffer
        ):  # first move the rows to the front, then apart: none is overwritten before it has moved
            for q, p in enumerate(cached):
                source[q * old : (q + 1) * old] = source[p * old : (p + 1) * old]
        for q in range(len(cached) - 1, -1, -1):
            to, begin = (area + q) * cap, old * (q if source is self._buffer else int(cached[q]))
            self._buffer[to : to + old] = source[begin : begin + old]
        self.values = self._buffer[:size].reshape(places, cap)
        held = np.zeros((3, places), dtype=np.int64)
        held[0] = -1
        held[:2, area : area + len(cached)] = self.held[:2, cached]
        self.held, self.area, self.open, self.place = held, area, area + len(cached), np.full(cap, -1)
        self.place[held[0, area : area + len(cached)]] = area + np.arange(len(cached))

    def vacate(self, count: int, wanted: int) -> NDArray[np.int64]:
        """Empties up to `count` places, the least recently used, and returns them.

        First opens new places until `wanted` of the cache are open, as far as there is room.
        """
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
        """Records that free places now hold the kernel rows of these slots."""
        self.held[0, places], self.held[1, places], self.held[2, places] = slots, clock, 0
        self.place[slots] = places
