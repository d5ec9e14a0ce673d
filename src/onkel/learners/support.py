"""Support vectors that only grow in number, packed for products as they come."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.kernels import Kernel
from onkel.kernels.rows import Rows, joined
from onkel.kernels.tiles import add_scores
from onkel.kernels.vectors import GrowingRows, VectorRows

__all__ = ["Support"]


class Support:
    """Support vectors that are only ever added, packed for products, in blocks.

    `coef` (m, outputs) are their coefficients in the current guess, `moment` the same with each step
    times its round: coef − moment / R is the average of all guesses over R rounds. The last block
    of dense rows grows in place: adding a vector writes one column of its panels.
    """

    BLOCK = 4096

    def __init__(self, n_outputs: int) -> None:
        self.blocks: list[Rows] = []
        self._size = 0
        self._coef, self._moment = np.empty((0, n_outputs)), np.empty((0, n_outputs))
        self._row_ids = np.empty(0, dtype=np.int64)

    def __len__(self) -> int:
        return self._size

    @property
    def coef(self) -> NDArray[np.float64]:
        return self._coef[: self._size]

    @property
    def moment(self) -> NDArray[np.float64]:
        return self._moment[: self._size]

    @property
    def row_ids(self) -> NDArray[np.int64]:
        return self._row_ids[: self._size]

    def change_outputs(self, output_map: NDArray[np.float64]) -> None:
        """New outputs that are sums of the old ones: (outputs, new outputs)."""
        self._coef, self._moment = self.coef @ output_map, self.moment @ output_map
        self._row_ids = self.row_ids.copy()

    def take(self, s: Rows, coef: NDArray[np.float64], moment: NDArray[np.float64], row_ids: NDArray[np.int64]) -> None:
        """Adds vectors that are nobody else's: a whole block is packed when it is first multiplied."""
        if len(s) < self.BLOCK:
            self.add(s, coef, moment, row_ids)
        else:
            self._weigh(coef, moment, row_ids)
            self.blocks.append(s)

    def add(self, s: Rows, coef: NDArray[np.float64], moment: NDArray[np.float64], row_ids: NDArray[np.int64]) -> None:
        """Adds vectors, of which a copy is made."""
        self._weigh(coef, moment, row_ids)
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

    def _weigh(self, coef: NDArray[np.float64], moment: NDArray[np.float64], row_ids: NDArray[np.int64]) -> None:
        """Room for the weights of new vectors, and the weights."""
        old, new = self._size, self._size + len(coef)
        if new > len(self._coef):
            room = max(64, new, 2 * len(self._coef)) - old
            self._coef = np.concatenate([self.coef, np.empty((room, coef.shape[1]))])
            self._moment = np.concatenate([self.moment, np.empty((room, coef.shape[1]))])
            self._row_ids = np.concatenate([self.row_ids, np.empty(room, dtype=np.int64)])
        self._coef[old:new], self._moment[old:new], self._row_ids[old:new] = coef, moment, row_ids
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
        twin._coef, twin._moment, twin._row_ids = self._coef.copy(), self._moment.copy(), self._row_ids.copy()
        return twin

    def savepoint(self) -> Any:
        """What `rollback` needs to forget everything that is added from now on."""
        last = len(self.blocks[-1]) if self.blocks else 0
        return self._size, self._coef, self._moment, self._row_ids, list(self.blocks), last

    def rollback(self, savepoint: Any) -> None:
        self._size, self._coef, self._moment, self._row_ids, self.blocks, last = savepoint
        if self.blocks and isinstance(self.blocks[-1], GrowingRows):
            self.blocks[-1].truncate(last)

    def end_epoch(self) -> None:
        """Makes one vector of those that are the same row, in the place of the first of them."""
        row_ids, first, place = np.unique(self.row_ids, return_index=True, return_inverse=True)
        if len(row_ids) == len(self):
            return
        order = np.argsort(first)
        row_ids, first, place = row_ids[order], first[order], np.argsort(order)[place]
        coef, moment = np.zeros((2, len(row_ids), self.coef.shape[1]))
        np.add.at(coef, place, self.coef)
        np.add.at(moment, place, self.moment)
        rows = self.all_rows()
        assert rows is not None
        self.__init__(coef.shape[1])  # type: ignore[misc]
        for start in range(0, len(row_ids), self.BLOCK):
            part = slice(start, start + self.BLOCK)
            self.take(rows[first[part]], coef[part], moment[part], row_ids[part])

    def add_features(self, n_features: int) -> None:
        """More features, in which all vectors are 0."""
        blocks, self.blocks = self.blocks, []
        for block in blocks:
            assert isinstance(block, VectorRows)
            wide = block.with_features(n_features)
            if isinstance(block, GrowingRows):
                grown = GrowingRows(n_features, block.dtype)
                grown.append(wide)
                wide = grown
            self.blocks.append(wide)

    def all_rows(self) -> Rows | None:
        return joined(self.blocks) if self.blocks else None
