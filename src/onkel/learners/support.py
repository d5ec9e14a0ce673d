"""The growing support: support vectors that are added and never removed, with their coefficients.

It serves the learners without a budget. Rows that can be replaced are in `onkel.learners.slots`, and the kernel rows
that LASVM keeps are in `onkel.learners.kernel_cache`.
"""

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
    """Support vectors in blocks that are packed for products, and their coefficients.

    `coef` (m, outputs) holds the sum of the steps on each vector, `moment` (m, outputs) the sum of these steps times
    their rounds: coef are the coefficients of the current hypothesis, and coef − moment / R those of the average of
    all hypotheses over R rounds. `row_ids` (m,) are the ids of the rows. The last block of dense rows grows in place,
    so that adding a vector writes one row and its values in the packed panels.
    """

    BLOCK = 4096  # the most vectors of a block

    def __init__(self, n_outputs: int) -> None:
        self.blocks: list[Rows] = []
        self._size = 0
        self._coef, self._moment = np.empty((0, n_outputs)), np.empty((0, n_outputs))
        self._row_ids = np.empty(0, dtype=np.int64)

    def __len__(self) -> int:
        return self._size

    @property
    def coef(self) -> NDArray[np.float64]:
        """The coefficients of the current hypothesis, (m, outputs)."""
        return self._coef[: self._size]

    @property
    def moment(self) -> NDArray[np.float64]:
        """The sum of steps times rounds of each vector, (m, outputs)."""
        return self._moment[: self._size]

    @property
    def row_ids(self) -> NDArray[np.int64]:
        """The ids of the rows, (m,)."""
        return self._row_ids[: self._size]

    def change_outputs(self, output_map: NDArray[np.float64]) -> None:
        """Changes the outputs: each column of `output_map` (old, new) gives a new one as a sum of old ones."""
        self._coef, self._moment = self.coef @ output_map, self.moment @ output_map
        self._row_ids = self.row_ids.copy()

    def take(self, s: Rows, coef: NDArray[np.float64], moment: NDArray[np.float64], row_ids: NDArray[np.int64]) -> None:
        """Adds vectors, and may keep their memory: a whole block is not copied, and is packed when it is first used."""
        if len(s) < self.BLOCK:
            self.add(s, coef, moment, row_ids)
        else:
            self._weigh(coef, moment, row_ids)
            self.blocks.append(s)

    def add(self, s: Rows, coef: NDArray[np.float64], moment: NDArray[np.float64], row_ids: NDArray[np.int64]) -> None:
        """Adds vectors. Dense rows are copied and packed; rows of other kinds are kept, and must not change later."""
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
        """Appends the coefficients, moments and row ids of new vectors."""
        old, new = self._size, self._size + len(coef)
        if new > len(self._coef):
            room = max(64, new, 2 * len(self._coef)) - old
            self._coef = np.concatenate([self.coef, np.empty((room, coef.shape[1]))])
            self._moment = np.concatenate([self.moment, np.empty((room, coef.shape[1]))])
            self._row_ids = np.concatenate([self.row_ids, np.empty(room, dtype=np.int64)])
        self._coef[old:new], self._moment[old:new], self._row_ids[old:new] = coef, moment, row_ids
        self._size = new

    def add_scores(self, kernel: Kernel, x: Rows, coef: NDArray[np.float64], out: NDArray[np.float64]) -> None:
        """out += k(x, support) @ coef, for coefficients (m, outputs)."""
        start = 0
        for block in self.blocks:
            part = coef[start : start + len(block)]
            if len(x) == 1:  # small enough to need no tiles
                kernel._add_scores(x, block, part, out)
            else:
                add_scores(kernel, x, block, part, out)
            start += len(block)

    def copy(self) -> Support:
        """A copy that can be added to independently; the blocks that are complete are shared."""
        twin = Support(self._coef.shape[1])
        last = [b.copy() if isinstance(b, GrowingRows) else b for b in self.blocks[-1:]]
        twin.blocks, twin._size = [*self.blocks[:-1], *last], self._size
        twin._coef, twin._moment, twin._row_ids = self._coef.copy(), self._moment.copy(), self._row_ids.copy()
        return twin

    def savepoint(self) -> Any:
        """The present state, as `rollback` takes it."""
        last = len(self.blocks[-1]) if self.blocks else 0
        return self._size, self._coef, self._moment, self._row_ids, list(self.blocks), last

    def rollback(self, savepoint: Any) -> None:
        """Removes all vectors that were added since the savepoint was made."""
        self._size, self._coef, self._moment, self._row_ids, self.blocks, last = savepoint
        if self.blocks and isinstance(self.blocks[-1], GrowingRows):
            self.blocks[-1].truncate(last)

    def end_epoch(self) -> None:
        """Merges vectors that are the same row (equal row ids), in the place of the first of them."""
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
        """Increases the number of features to `n_features`; all vectors are 0 in the new ones."""
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
        """All support vectors as one block; None if there are none."""
        return joined(self.blocks) if self.blocks else None
