"""The growing support: support vectors that are added and never removed, with their coefficients.

It serves the learners without a budget. Rows that can be replaced are in `onkel.learners.storage.slots`, and the kernel
rows that LASVM keeps are in `onkel.learners.storage.kernel_rows`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onkel._core.transaction import Transaction
from onkel.errors import InputError
from onkel.kernels import Kernel
from onkel.kernels.rows import NO_ROWS, GramRows, Rows, joined
from onkel.kernels.rows_state import kernel_rows, rows_state
from onkel.kernels.tiles import add_scores
from onkel.kernels.vectors import GrowingRows, VectorRows
from onkel.learners.storage.slots import features_in_use
from onkel.states.state import LARGEST_COUNT, State

__all__ = ["Support", "SupportSavepoint"]


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

    def take(
        self,
        s: Rows,
        coef: NDArray[np.float64],
        moment: NDArray[np.float64],
        row_ids: NDArray[np.int64],
        change: Transaction,
    ) -> None:
        """Adds vectors, and may keep their memory: a whole block is not copied, and is packed when it is first used."""
        if len(s) < self.BLOCK:
            self.add(s, coef, moment, row_ids, change)
        else:
            self._weigh(coef, moment, row_ids, change)
            change.set(self, blocks=[*self.blocks, s])

    def add(
        self,
        s: Rows,
        coef: NDArray[np.float64],
        moment: NDArray[np.float64],
        row_ids: NDArray[np.int64],
        change: Transaction,
        *,
        factor: float = 1.0,
    ) -> None:
        """Adds vectors when the transaction is committed.

        The rows are copied, since they may share the memory of the user's data; dense ones are packed, too. The
        coefficients and moments of the vectors that are there already are multiplied by `factor`.
        """
        self._weigh(coef, moment, row_ids, change, factor)
        blocks = list(self.blocks)
        last = blocks[-1] if blocks else None
        if isinstance(s, VectorRows) and s.is_dense:
            if not isinstance(last, GrowingRows) or len(last) + len(s) > self.BLOCK:
                last = GrowingRows(s.n_features, s.dtype)
                blocks.append(last)
            last.append(s, change)
        elif last is None or len(last) + len(s) > self.BLOCK:
            blocks.append(joined([s]))
        else:
            blocks[-1] = joined([last, s])
        change.set(self, blocks=blocks)

    def _weigh(
        self,
        coef: NDArray[np.float64],
        moment: NDArray[np.float64],
        row_ids: NDArray[np.int64],
        change: Transaction,
        factor: float = 1.0,
    ) -> None:
        """Appends the coefficients, moments and row ids of new vectors, after those in use."""
        old, new = self._size, self._size + len(coef)
        rooms: list[NDArray] = [self._coef, self._moment, self._row_ids]
        if new > len(self._coef):
            more = max(64, new, 2 * len(self._coef)) - old
            rooms = [np.concatenate([room[:old], np.empty((more, *room.shape[1:]), room.dtype)]) for room in rooms]
        elif factor != 1.0:
            rooms = [room.copy() for room in rooms]  # readers and savepoints see the old ones
        for room, added in zip(rooms, (coef, moment, row_ids), strict=True):
            if factor != 1.0 and room is not rooms[-1]:
                room[:old] *= factor
            room[old:new] = added
        change.set(self, _size=new, _coef=rooms[0], _moment=rooms[1], _row_ids=rooms[2])

    def add_scores(self, kernel: Kernel, x: Rows, coef: NDArray[np.float64], out: NDArray[np.float64]) -> None:
        """out += k(x, support) @ coef, for coefficients (m, outputs)."""
        start, one = 0, len(x) == 1
        for block in self.blocks:
            end = start + len(block)
            part = coef if len(block) == len(coef) else coef[start:end]
            if one:  # small enough to need no tiles
                kernel.inner.add_scores(x, block, part, out)
            else:
                add_scores(kernel, x, block, part, out)
            start = end

    def copy(self) -> Support:
        """A copy that can be added to independently; the blocks that are complete are shared."""
        twin = Support(self._coef.shape[1])
        last = [b.copy() if isinstance(b, GrowingRows) else b for b in self.blocks[-1:]]
        twin.blocks, twin._size = [*self.blocks[:-1], *last], self._size
        twin._coef, twin._moment, twin._row_ids = self._coef.copy(), self._moment.copy(), self._row_ids.copy()
        return twin

    def savepoint(self) -> SupportSavepoint:
        """The present vectors; nothing is copied, because vectors are only ever added."""
        names = ("_size", "_coef", "_moment", "_row_ids")
        last = len(self.blocks[-1]) if self.blocks else 0
        return SupportSavepoint(self, {name: getattr(self, name) for name in names}, list(self.blocks), last)

    def merged(self) -> Support:
        """The same support without vectors that are the same row (equal row ids): each stands in its first place.

        This support itself, if there are none.
        """
        row_ids, first, merged = np.unique(self.row_ids, return_index=True, return_inverse=True)
        if len(row_ids) == len(self):
            return self
        order = np.argsort(first)
        row_ids, first, merged = row_ids[order], first[order], np.argsort(order)[merged]
        coef, moment = np.zeros((2, len(row_ids), self.coef.shape[1]))
        np.add.at(coef, merged, self.coef)
        np.add.at(moment, merged, self.moment)
        rows = self.all_rows()
        assert rows is not None
        return Support.of(rows, first, coef, moment, row_ids)

    @classmethod
    def of(
        cls,
        rows: Rows,
        chosen: NDArray[np.int64],
        coef: NDArray[np.float64],
        moment: NDArray[np.float64],
        row_ids: NDArray[np.int64],
    ) -> Support:
        """A support of some of the rows, in the order of `chosen`."""
        support = cls(coef.shape[1])
        for start in range(0, len(chosen), cls.BLOCK):
            part = slice(start, start + cls.BLOCK)
            with Transaction() as change:
                support.take(rows[chosen[part]], coef[part], moment[part], row_ids[part], change)
        return support

    def add_features(self, n_features: int, *, sparse: bool) -> None:
        """Increases the number of features to `n_features`; all vectors are 0 in the new ones."""
        blocks, self.blocks = self.blocks, []
        for block in blocks:
            assert isinstance(block, VectorRows)
            wide = block.with_features(n_features, sparse=sparse)
            if wide.is_dense:
                grown = GrowingRows(n_features, block.dtype)
                with Transaction() as change:
                    grown.append(wide, change)
                wide = grown
            self.blocks.append(wide)

    def features_in_use(self, n_features: int) -> NDArray[np.bool_]:
        """Which features some vector has, shape (features,)."""
        return features_in_use(self.blocks, n_features)

    def all_rows(self) -> Rows | None:
        """All support vectors as one block; None if there are none."""
        return joined(self.blocks) if self.blocks else None

    def rows_in(self, order: NDArray[np.intp]) -> Rows:
        """The support vectors in another order, as a copy; `NO_ROWS` if there are none."""
        rows = self.all_rows()
        return NO_ROWS if rows is None else rows[order]

    def state(self) -> State:
        """The support vectors and their coefficients, as named arrays."""
        arrays = {"coef": self.coef.copy(), "moment": self.moment.copy(), "row_ids": self.row_ids.copy()}
        settings = {"growing": [isinstance(block, GrowingRows) for block in self.blocks]}
        state = State("learner/support", 1, settings, arrays)
        for i, block in enumerate(self.blocks):
            state = state.with_part(f"block-{i}", rows_state(block))
        return state

    @classmethod
    def from_state(cls, state: State, kernel: Kernel, n_outputs: int) -> Support:
        """The support of a state, in the same blocks, so that sums over it have the same bits."""
        state.expect("learner/support", 1)
        coef = np.array(state.array("coef", np.float64, (None, n_outputs)))
        support = cls(n_outputs)
        support._size, support._coef = len(coef), coef
        support._moment = np.array(state.array("moment", np.float64, coef.shape))
        support._row_ids = np.array(state.indices("row_ids", LARGEST_COUNT, len(coef)))
        growing = state.settings.get("growing")
        if not isinstance(growing, tuple) or not all(isinstance(grows, bool) for grows in growing):
            raise InputError(f"the state of kind {state.kind!r}: 'growing' must be True or False for each block.")
        blocks = [kernel_rows(state, f"block-{i}", kernel) for i in range(len(growing))]
        state.check(sum(map(len, blocks)) == len(coef), f"there must be a row for each of {len(coef)} vectors")
        state.check(are_alike(blocks), "all blocks must be rows of one kind, dtype and number of features")
        support.blocks = [grown(state, b) if grows else b for b, grows in zip(blocks, growing, strict=True)]
        return support


class SupportSavepoint(NamedTuple):
    """A support at one moment, since when vectors were only added."""

    support: Support
    attributes: dict[str, Any]
    blocks: list[Rows]
    last: int  # rows in the last block

    def restored(self, change: Transaction) -> Support:
        """The support without the vectors since then, when the transaction is committed."""
        if self.blocks and isinstance(self.blocks[-1], GrowingRows):
            self.blocks[-1].truncate(self.last, change)
        change.set(self.support, blocks=list(self.blocks), **self.attributes)
        return self.support


def grown(state: State, rows: Rows) -> GrowingRows:
    """Rows of a state that can be added to in place, which are dense."""
    if not isinstance(rows, VectorRows) or not rows.is_dense:
        raise InputError(f"the state of kind {state.kind!r}: rows that grow must be dense vectors.")
    found = GrowingRows(rows.n_features, rows.dtype)
    with Transaction() as change:
        found.append(rows, change)
    return found


def are_alike(blocks: Sequence[Rows]) -> bool:
    """Whether rows can be used together: they are of one kind and dtype and, if they are vectors, of one width."""
    some = [block for block in blocks if len(block) or isinstance(block, VectorRows)]
    widths = {block.n_features if isinstance(block, VectorRows) else None for block in some}
    kinds = {isinstance(block, GramRows) for block in some}
    return len(widths) <= 1 and len(kinds) <= 1 and len({block.dtype for block in some}) <= 1
