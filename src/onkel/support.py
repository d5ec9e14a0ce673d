"""Support vectors that only grow in number, packed for products as they come."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel._core import PANEL_BYTES, _native, aligned, aligned_zeros
from onkel.kernels import Kernel
from onkel.kernels.rows import FEW_FEATURES, GramRows, ObjectRows, Panels, Rows, VectorRows
from onkel.kernels.tiles import add_scores
from onkel.kernels.vector import refreshed

__all__ = ["GrowingRows", "Support", "grows", "joined"]


class Support:
    """Support vectors that are only ever added, packed for products, in blocks.

    `coef` (m, machines) are their coefficients in the current guess, `moment` the same with each step
    times its round: coef − moment / R is the average of all guesses over R rounds. The last block
    of dense rows grows in place: adding a vector writes one column of its panels.
    """

    BLOCK = 4096

    def __init__(self, machines: int) -> None:
        self.blocks: list[Rows] = []
        self._size = 0
        self._coef, self._moment = np.empty((0, machines)), np.empty((0, machines))
        self._numbers = np.empty(0, dtype=np.int64)

    def __len__(self) -> int:
        return self._size

    @property
    def coef(self) -> NDArray[np.float64]:
        return self._coef[: self._size]

    @property
    def moment(self) -> NDArray[np.float64]:
        return self._moment[: self._size]

    @property
    def numbers(self) -> NDArray[np.int64]:
        return self._numbers[: self._size]

    def set_machines(self, mixing: NDArray[np.float64]) -> None:
        """New machines that are sums of the old ones: (machines, new machines)."""
        self._coef, self._moment = self.coef @ mixing, self.moment @ mixing
        self._numbers = self.numbers.copy()

    def take(self, s: Rows, coef: NDArray[np.float64], moment: NDArray[np.float64], numbers: NDArray[np.int64]) -> None:
        """Adds vectors that are nobody else's: a whole block is packed when it is first multiplied."""
        if len(s) < self.BLOCK:
            self.add(s, coef, moment, numbers)
        else:
            self._weigh(coef, moment, numbers)
            self.blocks.append(s)

    def add(self, s: Rows, coef: NDArray[np.float64], moment: NDArray[np.float64], numbers: NDArray[np.int64]) -> None:
        """Adds vectors, of which a copy is made."""
        self._weigh(coef, moment, numbers)
        last = self.blocks[-1] if self.blocks else None
        if isinstance(s, VectorRows) and s.is_dense:
            if not isinstance(last, GrowingRows) or len(last) + len(s) > self.BLOCK:
                self.blocks.append(GrowingRows(s.n_features, s.dtype))
            grown = self.blocks[-1]
            assert isinstance(grown, GrowingRows)
            grown.append(s)
        elif last is None or len(last) + len(s) > self.BLOCK:
            self.blocks.append(s)
        else:
            self.blocks[-1] = joined([last, s])

    def _weigh(self, coef: NDArray[np.float64], moment: NDArray[np.float64], numbers: NDArray[np.int64]) -> None:
        """Room for the weights of new vectors, and the weights."""
        old, new = self._size, self._size + len(coef)
        if new > len(self._coef):
            room = max(64, new, 2 * len(self._coef)) - old
            self._coef = np.concatenate([self.coef, np.empty((room, coef.shape[1]))])
            self._moment = np.concatenate([self.moment, np.empty((room, coef.shape[1]))])
            self._numbers = np.concatenate([self.numbers, np.empty(room, dtype=np.int64)])
        self._coef[old:new], self._moment[old:new], self._numbers[old:new] = coef, moment, numbers
        self._size = new

    def add_scores(self, kernel: Kernel, x: Rows, coef: NDArray[np.float64], out: NDArray[np.float64]) -> None:
        """out += k(x, support) @ coef."""
        start = 0
        for block in self.blocks:
            part = coef[start : start + len(block)]
            if len(x) == 1:  # needs no tiles
                kernel._add_scores(x, block, part, out)
            else:
                add_scores(kernel, x, block, part, out)
            start += len(block)

    def copy(self) -> Support:
        """The same vectors and weights, to go on from."""
        twin = Support(self._coef.shape[1])
        last = [b.copy() if isinstance(b, GrowingRows) else b for b in self.blocks[-1:]]
        twin.blocks, twin._size = [*self.blocks[:-1], *last], self._size
        twin._coef, twin._moment, twin._numbers = self._coef.copy(), self._moment.copy(), self._numbers.copy()
        return twin

    def mark(self) -> Any:
        """What `back_to` needs to forget everything that is added from now on."""
        last = len(self.blocks[-1]) if self.blocks else 0
        return self._size, self._coef, self._moment, self._numbers, list(self.blocks), last

    def back_to(self, mark: Any) -> None:
        self._size, self._coef, self._moment, self._numbers, self.blocks, last = mark
        if self.blocks and isinstance(self.blocks[-1], GrowingRows):
            self.blocks[-1].truncate(last)

    def merge(self) -> None:
        """Makes one vector of those that are the same row, in the place of the first of them."""
        numbers, first, place = np.unique(self.numbers, return_index=True, return_inverse=True)
        if len(numbers) == len(self):
            return
        order = np.argsort(first)
        numbers, first, place = numbers[order], first[order], np.argsort(order)[place]
        coef, moment = np.zeros((2, len(numbers), self.coef.shape[1]))
        np.add.at(coef, place, self.coef)
        np.add.at(moment, place, self.moment)
        rows = self.all_rows()
        assert rows is not None
        self.__init__(coef.shape[1])  # type: ignore[misc]
        for start in range(0, len(numbers), self.BLOCK):
            part = slice(start, start + self.BLOCK)
            self.take(rows[first[part]], coef[part], moment[part], numbers[part])

    def widen(self, n_features: int) -> None:
        """More features, in which all vectors are 0."""
        blocks, self.blocks = self.blocks, []
        for block in blocks:
            assert isinstance(block, VectorRows)
            wide = block.widened(n_features)
            if isinstance(block, GrowingRows):
                grown = GrowingRows(n_features, block.dtype)
                grown.append(wide)
                wide = grown
            self.blocks.append(wide)

    def all_rows(self) -> Rows | None:
        return joined(self.blocks) if self.blocks else None


class GrowingRows(VectorRows):
    """Dense rows with room for more, at first for `room`; norms and panels grow with them."""

    def __init__(self, n_features: int, dtype: np.dtype, room: int = 0) -> None:
        width = PANEL_BYTES // dtype.itemsize
        room = -(-room // width) * width
        self._room = np.empty((room, n_features), dtype=dtype)
        super().__init__(self._room[:0])
        self._norms = np.empty(room)
        self._values = aligned_zeros((room // width, n_features, width), dtype)

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_dense": len(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._dense = self._room[: state["_dense"]]

    def __getitem__(self, index: slice | NDArray) -> VectorRows:
        """Some rows; a slice of whole panels shares them, until the rows change."""
        some, width = super().__getitem__(index), self._values.shape[2]
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step == 1 and start < stop and start % width == 0 and (stop % width == 0 or stop == len(self)):
                shared = Panels(self._values[start // width : -(-stop // width)], stop - start, None, None)
                some._kept["panels", False] = some._kept["panels", True] = shared
        return some

    def append(self, s: VectorRows) -> None:
        self.put(np.arange(len(self), len(self) + len(s)), s)

    def put(self, slots: NDArray[np.int64], s: VectorRows) -> None:
        """Rows move into places, of which those past the end come in order."""
        old, new, width = len(self), max(len(self), int(slots.max()) + 1), self._values.shape[2]
        if new > len(self._room):
            size = -(-max(64, 2 * len(self._room), new) // width) * width
            self._room = np.concatenate([self.dense(), np.empty((size - old, self.n_features), dtype=self.dtype)])
            self._norms = np.concatenate([self._norms[:old], np.empty(size - old)])
            values = aligned_zeros((size // width, self.n_features, width), self.dtype)
            values[: len(self._values)] = self._values
            self._values = values
        self._room[slots], self._norms[slots] = s.dense(), s.squared_norms()
        if len(slots) > width and slots[0] == old == new - len(slots):  # many at the end: whole panels at once
            first = old // width
            _native.pack_dense(self._room[first * width : new], self._values[first : -(-new // width)])
        else:
            self._values[slots // width, :, slots % width] = s.dense()
        self._dense = self._room[:new]
        self._kept.clear()

    def put_one(self, slot: int, s: VectorRows) -> None:
        """The same for one row, fast where the place is there already."""
        if slot >= len(self):
            self.put(np.array([slot]), s)
            return
        x = s.dense()
        _native.place_row(x, slot, self._room, self._norms, self._values)
        self._kept = refreshed(self._kept, slot, x)

    def copy(self) -> GrowingRows:
        """The same rows in memory of their own."""
        twin = GrowingRows(self.n_features, self.dtype)
        twin._room, twin._norms, twin._values = self._room.copy(), self._norms.copy(), aligned(self._values)
        twin._dense = twin._room[: len(self)]
        return twin

    def truncate(self, size: int) -> None:
        """Forgets the rows from `size` on."""
        whole, part = divmod(size, self._values.shape[2])
        if size < len(self):
            self._values[whole, :, part:] = 0
            self._values[whole + 1 : -(-len(self) // self._values.shape[2])] = 0
        self._dense = self._room[:size]
        self._kept.clear()

    def forget(self, count: int) -> None:
        """Forgets the first so many rows; the others move to the front."""
        rest = VectorRows(self.dense()[count:].copy())
        self.truncate(0)
        if len(rest):
            self.append(rest)

    def squared_norms(self) -> NDArray[np.float64]:
        return self._norms[: len(self)]

    def panels(self, for_sparse: bool) -> Panels:
        width = self._values.shape[2]
        return Panels(self._values[: -(-len(self) // width)], len(self), None, None)


def grows(rows: Rows) -> bool:
    """Whether rows like these can grow in place without taking much more memory than they do."""
    return isinstance(rows, VectorRows) and (rows.is_dense or rows.n_features <= FEW_FEATURES)


def joined(blocks: list[Rows]) -> Rows:
    """Blocks of one kind as one."""
    first = blocks[0]
    if isinstance(first, VectorRows):
        return VectorRows.joined([b for b in blocks if isinstance(b, VectorRows)])
    if isinstance(first, ObjectRows):
        return ObjectRows(np.concatenate([b.objects for b in blocks if isinstance(b, ObjectRows)]))
    return GramRows(
        None, np.concatenate([b.columns for b in blocks if isinstance(b, GramRows) and b.columns is not None]), None
    )
