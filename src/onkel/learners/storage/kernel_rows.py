"""The cache of kernel rows: it holds rows of the Gram matrix, so that LASVM does not compute them again.

It has a limit in bytes, and the least recently used kernel row is overwritten first. Rows of the data are not here:
those that can be replaced are in `onkel.learners.storage.slots`, those that only grow in number in
`onkel.learners.storage.support`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["KernelRowCache"]

LEAST_PLACES = 6  # for kernel rows, however low the limit: a step reads two, a chunk needs at least one of its own

# cpp/learn/lasvm.h has a struct with the same fields
PLACE = np.dtype(
    [
        ("slot", np.int64),  # whose kernel row the place holds, or −1
        ("last_used", np.int64),  # the clock when it was last used
        ("n_columns", np.int64),  # how many of the chunk's columns it has
    ]
)


class KernelRowCache:
    """Kernel rows in places; the row of a slot holds its kernel values with all slots (cpp/learn/lasvm.h).

    The first `area` places are for the rows of the chunk that is being learned, the others are the cache. Of these only
    the first `open` are in use, and more are opened as they are needed: each row in the cache costs time, because it
    gets a new value for every slot that is taken. All kernel rows can be computed again with identical bits, so that an
    empty cache is always as good as a full one.

    Parameters
    ----------
    limit : bytes of all kernel rows; at least `LEAST_PLACES` rows are kept whatever it is.
    most : rows of the longest chunk, ≥ 1; if the limit is low, `area` is smaller.
    """

    def __init__(self, limit: int, most: int) -> None:
        self.limit, self.most = limit, most
        self._buffer = np.empty(0)
        self.values = self._buffer.reshape(0, 0)  # (places, slots)
        self.places: NDArray[np.void] = np.empty(0, dtype=PLACE)
        self.place_of = np.empty(0, dtype=np.int64)  # of each slot: the place of its kernel row, or −1
        self.area = self.open = 0
        self.clock = np.zeros(1, dtype=np.int64)  # counts the uses of kernel rows

    def emptied(self) -> KernelRowCache:
        """An empty cache with the same limits."""
        return KernelRowCache(self.limit, self.most)

    def layout(self, capacity: int, dtype: np.dtype) -> tuple[int, int]:
        """The number of places for rows of `capacity` values, and how many of them are the area of the chunk."""
        fitting = max(self.limit // (dtype.itemsize * capacity), LEAST_PLACES)
        places = min(fitting, capacity + min(capacity, self.most))
        return places, min(self.most, places // 2)

    def make_room(self, capacity: int, dtype: np.dtype) -> None:
        """Makes room for rows of `capacity` values; the most recently used rows stay, as many as fit."""
        old = self.values.shape[1]
        if old == capacity and self.values.dtype == dtype:
            return
        places, area = self.layout(capacity, dtype)
        source, size = self._buffer, places * capacity
        cached = self.area + np.flatnonzero(self.places["slot"][self.area :] >= 0)
        if source.dtype != dtype or old > capacity:
            cached = cached[:0]
        if len(cached) > places - area:
            cached = np.sort(cached[np.argsort(self.places["last_used"][cached])[area - places :]])
        if source.dtype != dtype or len(source) < size:
            self._buffer = np.zeros(size, dtype=dtype)
        reused = source is self._buffer
        if reused:  # first move the rows to the front, then apart: none is overwritten before it has moved
            for q, p in enumerate(cached):
                source[q * old : (q + 1) * old] = source[p * old : (p + 1) * old]
        for q in range(len(cached) - 1, -1, -1):
            to, begin = (area + q) * capacity, old * (q if reused else int(cached[q]))
            self._buffer[to : to + old] = source[begin : begin + old]
        self.values = self._buffer[:size].reshape(places, capacity)
        stay = self.places[cached]
        self.places = np.zeros(places, dtype=PLACE)
        self.places["slot"] = -1
        self.places[area : area + len(stay)] = stay
        self.area, self.open, self.place_of = area, area + len(stay), np.full(capacity, -1)
        self.place_of[stay["slot"]] = area + np.arange(len(stay))

    def vacate(self, count: int, wanted: int) -> NDArray[np.int64]:
        """Empties up to `count` places, the least recently used, and returns them.

        First opens new places until `wanted` of the cache are open, as far as there is room.
        """
        self.open = max(self.open, min(len(self.places), self.area + wanted))
        used = self.places["last_used"][self.area : self.open]
        if count == 1:
            places = np.array([self.area + int(used.argmin())])
        else:
            places = self.area + (np.argpartition(used, count)[:count] if count < len(used) else np.arange(len(used)))
        before = self.places["slot"][places]
        self.place_of[before[before >= 0]] = -1
        self.places["slot"][places], self.places["last_used"][places] = -1, 0
        return places

    def give(self, places: NDArray[np.int64], slots: NDArray[np.int64]) -> None:
        """Records that free places now hold the kernel rows of these slots."""
        self.places["slot"][places], self.places["last_used"][places] = slots, self.clock
        self.places["n_columns"][places], self.place_of[slots] = 0, places

    def end_chunk(self, can_move: NDArray[np.bool_]) -> None:
        """Moves the kernel rows of the chunk that steps may need again from the area to the cache.

        `can_move` says of each slot that was ever used whether its α is between the bounds in some output.
        """
        here = np.flatnonzero(self.places["slot"][: self.area] >= 0)
        slots = self.places["slot"][here]
        self.places["slot"][here], self.place_of[slots] = -1, -1
        self.places["n_columns"] = 0
        here, slots = here[can_move[slots]], slots[can_move[slots]]
        if len(here):
            places = self.vacate(len(here), 2 * int(can_move.sum()) + self.most)
            here, slots = here[: len(places)], slots[: len(places)]
            self.values[places, : len(can_move)] = self.values[here, : len(can_move)]
            self.give(places, slots)
