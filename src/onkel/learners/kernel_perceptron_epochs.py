"""The dual learner: an ordered ledger of mistakes over support vectors, and scores that are kept.

A mistake-driven output is the sum of the examples it got wrong, v = Σ step · φ(x), so the list of
its mistakes in order is all there is: every earlier guess is a prefix of it.

Learning from data that is all there (`KeptScoreEpochs`) keeps the scores of all rows under the current
guess. Rows are visited in chunks; within a chunk the decisions are made one by one on its small
Gram matrix, and the examples that were got wrong are *pushed*: their kernel columns are added to
the scores of the rows still to come. That is (new mistakes) × n kernel values an epoch, where
asking each row for its score, *pulling*, would be n × (all support). Pushes wait until there are
enough for whole panels; a chunk pulls what still waits. The rows stand in the order of the epoch, so
that those to come are a slice; those that have been visited hear of a push at the end of the epoch,
if another one comes. So, but for a chunk's own Gram matrix and the short chunks of the first epoch,
a kernel value is computed once an epoch. From the second one on whole kernel columns are kept
(`cache_bytes`), and a row whose column is there errs again at the cost of an addition; kernel values
that are computed faster than memory gives them back are not kept.

Learning from a stream (`KernelPerceptronLearner`) pulls, chunk by chunk, and keeps the support packed.
In both, the perceptron's decisions of a chunk are `decide`; other rules will take its place there.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native, thread_count, threads
from onkel.kernels import Kernel
from onkel.kernels.rows import Rows, joined
from onkel.kernels.tiles import add_scores, row_bytes
from onkel.kernels.vectors import GrowingRows, VectorRows, grows
from onkel.learners.kernel_perceptron import CHUNK, PANEL, KernelPerceptronLearner, decide
from onkel.learners.ledger import Ledger
from onkel.learners.support import Support

__all__ = ["KeptScoreEpochs", "UpdateBuffer"]

LATER = 2048  # and after the first epoch, when few err
PUSH = 384  # support vectors that wait for a push
STORE = 16 << 20  # bytes of rows that were pushed, after which those visited before hear of them
TINY = 1e-300  # least squared length of a row, where a kernel that is not PSD has a negative one
KEEP = 256.0  # multiply-adds of a kernel value above which a kept one is cheaper than a new one


# ---------------------------------------------------------------- all data at once


class UpdateBuffer:
    """Mistakes in their order, with their rows packed for products: positions `who`, `steps` (m, outputs).

    There is room for `most` of them, which takes memory only as they come.
    """

    def __init__(self, n_outputs: int, most: int) -> None:
        self.most = most
        self.who = np.empty(0, dtype=np.int64)
        self.steps = np.empty((0, n_outputs))
        self._rows: Rows | None = None

    def __len__(self) -> int:
        return len(self.who)

    def add(self, who: NDArray[np.int64], steps: NDArray[np.float64], rows: Rows) -> None:
        if self._rows is None and grows(rows):
            assert isinstance(rows, VectorRows)
            self._rows = GrowingRows(rows.n_features, rows.dtype, self.most)
        if isinstance(self._rows, GrowingRows):
            assert isinstance(rows, VectorRows)
            self._rows.append(rows)
        else:
            self._rows = rows if self._rows is None else joined([self._rows, rows])
        self.who, self.steps = np.concatenate([self.who, who]), np.concatenate([self.steps, steps])

    def part(self, start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.float64], Rows]:
        """Who, steps and rows from `start` to `stop`, and before them, with steps of 0, those of the same panel."""
        assert self._rows is not None
        begin = start - start % PANEL
        steps = self.steps[begin:stop].copy()
        steps[: start - begin] = 0.0
        return self.who[begin:stop], steps, self._rows[begin:stop]

    def forget(self, count: int) -> None:
        """The first so many have been heard of by all rows."""
        if isinstance(self._rows, GrowingRows):
            self._rows.forget(count)
        elif self._rows is not None:
            self._rows = self._rows[count:] if count < len(self) else None
        self.who, self.steps = self.who[count:], self.steps[count:]


class KeptScoreEpochs:
    """Passes over rows that are all there, with kept scores.

    y (n, outputs) in {−1, 0, +1}, w (n,) > 0. `scores` (outputs, n) are those of the current guess
    on every row once an epoch after the first has ended (`complete`) and what waits is added (`flush`).
    """

    def __init__(
        self,
        kernel: Kernel,
        rows: Rows,
        y: NDArray[np.int8],
        w: NDArray[np.float64],
        *,
        row_ids: NDArray[np.int64],
        bias: float,
        cache_bytes: int,
        again: bool,
    ) -> None:
        self.kernel, self.bias, self.again = kernel, bias, again
        self.n, self.n_outputs = y.shape
        self._given = rows  # as the user knows them, and as they are best multiplied
        self.rows = rows.compact()
        self.y, self.w, self.row_ids = y, w, row_ids  # by position, the ids to name the rows by
        self._spare: Rows | None = None  # memory of as many rows that are no longer needed
        self.place = np.arange(self.n)  # which row of the data stands at a position,
        self._position = np.arange(self.n)  # and the reverse
        self.ledger = Ledger()
        self.sq_norms = np.zeros(self.n_outputs)
        self.scores = np.zeros((self.n_outputs, self.n))
        self.rounds = self.epoch = 0
        self.complete = False
        self._self_values: NDArray[np.float64] | None = None
        most = min(self.n, STORE // row_bytes(self.rows) + PUSH + LATER)
        self._pending = UpdateBuffer(self.n_outputs, most)  # mistakes that some rows have not heard of,
        self._pushed = 0  # how many of them were pushed to the rows to come,
        self._visited: dict[int, int] = {}  # and up to which position the visited rows have had so many
        size = cache_bytes // (self.rows.dtype.itemsize * self.n) if again and kernel._cost(self.rows) > KEEP else 0
        self._columns = np.empty((min(size, self.n), self.n), dtype=self.rows.dtype)  # touched as it fills
        self._column_of = np.full(self.n, -1, dtype=np.int64)
        self._kept = 0
        self._whole = False  # whether a push goes to all rows at once: its columns are kept, or parts are not packed

    def run(self, order: NDArray[np.int64] | None, progress: Callable[[int], None]) -> int:
        """One epoch in the given order of rows (None: as they are); returns its mistakes."""
        before, self.complete = len(self.ledger), False
        self.flush()
        self.epoch += 1
        self._whole = self.epoch > 1 and (len(self._columns) > 0 or not grows(self.rows))
        if order is not None and not self._whole:
            self._sort(order)  # so that "later" is a slice
        visit = self._position[order] if order is not None and self._whole else None
        chunk = CHUNK if self.epoch == 1 else LATER
        with threads(thread_count()):  # asked once
            for start in range(0, self.n, chunk):
                stop = min(start + chunk, self.n)
                positions = np.arange(start, stop) if visit is None else visit[start:stop]
                self._chunk(positions, slice(start, stop) if visit is None else positions)
                self._push(stop)
                progress(stop)
        self.complete = self.epoch > 1
        return len(self.ledger) - before

    def learner(self) -> KernelPerceptronLearner:
        """A learner that goes on from here."""
        self._spare = None  # its memory is better used for the support
        online = KernelPerceptronLearner(self.kernel, self.n_outputs, self.bias)
        online.ledger, online.sq_norms, online.rounds = self.ledger, self.sq_norms, self.rounds
        entries = self.ledger.entries
        row_ids, entry = np.unique(entries["row"], return_inverse=True)
        coef, moment = np.zeros((2, len(row_ids), self.n_outputs))
        np.add.at(coef, (entry, entries["class"]), entries["step"])
        np.add.at(moment, (entry, entries["class"]), entries["step"] * entries["round"])
        order = np.argsort(self.row_ids)
        place = self.place[order[np.searchsorted(self.row_ids, row_ids, sorter=order)]]
        for start in range(0, len(row_ids), Support.BLOCK):
            part = slice(start, start + Support.BLOCK)
            online.support.take(self._given[place[part]], coef[part], moment[part], row_ids[part])
        return online

    def self_values(self) -> NDArray[np.float64]:
        """k(x, x) of each row, by position, computed once; to be asked when the rows are in their order."""
        if self._self_values is None:
            self._self_values = self.kernel._diag(self.rows)
        return self._self_values

    def _sort(self, order: NDArray[np.int64]) -> None:
        here = self._position[order]
        before, self.rows = self.rows, self.rows.reordered(here, self._spare)
        self._spare = before if before is not self._given else None
        self.y, self.w, self.row_ids = np.take(self.y, here, axis=0), self.w[here], self.row_ids[here]
        if self.epoch > 1:  # before it they are 0
            self.scores = np.take(self.scores, here, axis=1)
        if self._self_values is not None:
            self._self_values = self._self_values[here]
        self.place = order
        self._position[order] = np.arange(self.n)

    def _chunk(self, positions: NDArray[np.int64], where: slice | NDArray[np.int64]) -> None:
        x = self.rows[where]
        scores = self.scores[:, where].copy()
        had, waiting = self._pushed, len(self._pending) - self._pushed
        if waiting:
            _, steps, s = self._pending.part(self._pushed, len(self._pending))
            add_scores(self.kernel, x, s, steps, scores.T)
            scores += self.bias * steps.sum(axis=0)[:, None]
            if self.epoch > 1 and not self._whole:  # long chunks: what was pulled is not computed again
                self.scores[:, where] = scores
                had += waiting
        if self.again and not self._whole:
            self._visited[had] = int(positions[-1]) + 1
        lengths = None
        if self.epoch > 1:  # at first too many err to choose among them
            lengths = np.sqrt(np.maximum(self.self_values()[where] + self.bias, TINY))
        steps, erred = decide(self.kernel, x, self.y[where], self.w[where], self.bias, scores, self.sq_norms, lengths)
        who, steps, before = positions[erred], steps[erred], self.rounds + 1
        self.rounds += len(positions)
        if len(erred) == 0:
            return
        self.ledger.add(steps, before + erred, self.row_ids[who])
        new = x[erred]
        if self._whole:  # those whose columns are kept need not wait
            kept = self._column_of[who] >= 0
            if kept.any():
                self._add_kept(who[kept], steps[kept])
                who, steps, new = who[~kept], steps[~kept], new[~kept]
        if len(who):
            self._pending.add(who, steps, new)

    def flush(self) -> None:
        """Adds what is due to any row: after it, if `complete`, the scores are those of the last guess."""
        if self._whole and len(self._pending):
            self._add(slice(0, self.n), *self._pending.part(0, len(self._pending)))
        self._pushed = len(self._pending)
        self._catch_up()
        self._visited.clear()

    def _push(self, front: int) -> None:
        """Adds what waits to the scores of the rows from `front` on, once there is enough of it."""
        waiting = len(self._pending) - self._pushed
        if waiting < PUSH:
            return
        stop = len(self._pending) - waiting % PANEL
        self._add(slice(0 if self._whole else front, self.n), *self._pending.part(self._pushed, stop))
        self._pushed = stop
        if self._whole or not self.again or stop * row_bytes(self.rows) >= STORE:
            self._catch_up()

    def _catch_up(self) -> None:
        """Adds what was pushed to the visited rows that have not had it, and forgets it."""
        start = 0
        for had, stop in self._visited.items():
            if had < self._pushed:
                self._add(slice(start, stop), *self._pending.part(had, self._pushed))
            start = stop
        self._visited = {max(had - self._pushed, 0): stop for had, stop in self._visited.items()}
        self._pending.forget(self._pushed)
        self._pushed = 0

    def _add_kept(self, who: NDArray[np.int64], A: NDArray[np.float64]) -> None:
        """scores += A' k(who, rows), by columns that are kept."""
        if self.bias:
            self.scores += self.bias * A.sum(axis=0)[:, None]
        _native.add_columns(self._columns, self._column_of[who], A, self.scores, thread_count())

    def _add(self, where: slice, who: NDArray[np.int64], A: NDArray[np.float64], s: Rows) -> None:
        """scores[:, where] += A' k(s, rows[where]); s are the rows of `who`, whose columns are not kept.

        From now on they are, while there is room. In the first epoch columns come in two parts, and
        fresh memory costs more than computing twice, so that keeping begins with the second.
        """
        if where.start == where.stop:
            return
        scores = self.scores[:, where]
        if self.bias:
            scores += self.bias * A.sum(axis=0)[:, None]
        if self._whole and self._kept + len(who) <= len(self._columns):
            place = slice(self._kept, self._kept + len(who))
            self._column_of[who] = np.arange(place.start, place.stop)
            self._kept = place.stop
            add_scores(self.kernel, self.rows, s, A, scores.T, values=self._columns[place].T)
        else:
            add_scores(self.kernel, self.rows[where], s, A, scores.T)
