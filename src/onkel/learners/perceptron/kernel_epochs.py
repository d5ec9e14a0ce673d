"""Epochs of the kernel perceptron over a data set, with the scores of all rows kept in memory.

The perceptron is the sum of the examples it got wrong, v = Σ step · φ(x). An epoch over n rows needs the score of each
row at the moment when it is visited. There are two ways to get it:

    pull   when a row is visited, compute its kernel values with all support vectors:
           n × (support vectors of all epochs) kernel values an epoch
    push   keep the scores of all rows, and after a mistake on x add its kernel column, step · k(x, ·), to them:
           (mistakes of this epoch) × n kernel values an epoch

A stream must be pulled, and `onkel.learners.perceptron.kernel` does so. Here all rows are known, and an epoch usually
makes fewer mistakes than there are support vectors from all epochs, so `KeptScoreEpochs` pushes:

- The rows are visited in chunks. Within a chunk, the decisions are made one by one on its small Gram matrix (`decide`).
- The mistakes are collected in a buffer. When it holds enough for an efficient product (`PUSH`), their kernel columns
  are added to the scores of the rows that are still to be visited. A chunk that is visited before that pulls: it
  computes its kernel values with the mistakes in the buffer.
- Before an epoch the rows are put into the order in which it visits them, so that the rows still to be visited are a
  contiguous slice.
- The rows already visited in this epoch need the new columns only if another epoch follows. They get them at its
  start, or earlier if the buffer exceeds `STORE` bytes.

In this way a kernel value is computed once an epoch, with two exceptions: those of a chunk with itself, and those that
the short chunks of the first epoch pull, which are computed again when they are pushed.

From the second epoch on, kernel columns are kept in memory, up to `cache_bytes`. Then a push goes to all rows at once,
to get whole columns, and the rows are no longer reordered. Another mistake on a row whose column is kept costs n
additions and no kernel value. If a kernel value is computed faster than it is read from memory (`KEEP`), none are kept.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native, thread_count, threads
from onkel._core.transaction import Transaction, assign
from onkel.kernels import Kernel
from onkel.kernels.rows import Rows, joined
from onkel.kernels.tiles import add_scores, row_bytes
from onkel.kernels.vectors import GrowingRows, VectorRows, grows
from onkel.learners.ledger import Ledger
from onkel.learners.perceptron.kernel import CHUNK, PANEL, KernelPerceptronLearner, decide
from onkel.learners.storage.support import Support

__all__ = ["KeptScoreEpochs", "UpdateBuffer"]

LATER = 2048  # rows of a chunk after the first epoch, when there are few mistakes; in the first there are CHUNK
PUSH = 384  # updates in the buffer from which on they are pushed
STORE = 16 << 20  # bytes of pushed rows in the buffer from which on their columns are added to the visited rows, too
TINY = 1e-300  # the least k(x, x) of a row: a kernel that is not PSD may have a negative one
KEEP = 256.0  # multiply-adds of a kernel value above which reading it from memory is cheaper than computing it again


class UpdateBuffer:
    """Updates whose kernel columns have not yet been added to the cached scores of all rows.

    Of each update, in order: the position of its row (`positions`), its `steps` (m, outputs), and the row itself,
    packed for products. `most` is the expected maximum of their number; its memory is touched only as updates come.
    """

    def __init__(self, n_outputs: int, most: int) -> None:
        self.most = most
        self.positions = np.empty(0, dtype=np.int64)
        self.steps = np.empty((0, n_outputs))
        self._rows: Rows | None = None

    def __len__(self) -> int:
        return len(self.positions)

    def add(self, positions: NDArray[np.int64], steps: NDArray[np.float64], rows: Rows) -> None:
        """Appends updates: positions (b,), steps (b, outputs), and the rows."""
        if self._rows is None and grows(rows):
            assert isinstance(rows, VectorRows)
            self._rows = GrowingRows(rows.n_features, rows.dtype, self.most)
        if isinstance(self._rows, GrowingRows):
            assert isinstance(rows, VectorRows)
            with Transaction() as change:
                self._rows.append(rows, change)
        else:
            self._rows = rows if self._rows is None else joined([self._rows, rows])
        self.positions, self.steps = np.concatenate([self.positions, positions]), np.concatenate([self.steps, steps])

    def part(self, start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.float64], Rows]:
        """The positions, steps and rows of the updates from `start` to `stop`.

        They begin at the start of a panel: earlier updates in the panel of `start` are included with steps of 0.
        """
        assert self._rows is not None
        begin = start - start % PANEL
        steps = self.steps[begin:stop].copy()
        steps[: start - begin] = 0.0
        return self.positions[begin:stop], steps, self._rows[begin:stop]

    def forget(self, count: int) -> None:
        """Drops the first `count` updates: their columns have been added to the scores of all rows."""
        if isinstance(self._rows, GrowingRows):
            self._rows.forget(count)
        elif self._rows is not None:
            self._rows = self._rows[count:] if count < len(self) else None
        self.positions, self.steps = self.positions[count:], self.steps[count:]


class KeptScoreEpochs:
    """Epochs over a data set, with the scores of all rows kept in memory.

    `scores` (outputs, n) are the scores of all rows under the current hypothesis, without `offsets` (outputs,), after
    an epoch other than the first (`complete`), once `flush` has added the updates in the buffer. The offsets,
    bias · Σ steps, are kept apart, because small kernel values would be lost beside 1.

    Parameters
    ----------
    kernel, rows : the kernel, and the rows of the data set.
    y : targets (n, outputs), ±1.
    w : sample weights (n,), > 0.
    row_ids : the ids of the rows (n,), for the ledger and the support.
    bias : 1 to learn an offset, which makes the kernel k + 1; else 0.
    cache_bytes : memory for kernel columns, ≥ 0.
    again : whether there may be more than one epoch; False saves the work for rows that are not visited again.
    """

    def __init__(
        self,
        kernel: Kernel,
        rows: Rows,
        y: NDArray[np.float64],
        w: NDArray[np.float64],
        *,
        row_ids: NDArray[np.int64],
        bias: float,
        cache_bytes: int,
        again: bool,
    ) -> None:
        self.kernel, self.bias, self.again = kernel, bias, again
        self.n, self.n_outputs = y.shape
        self._given = rows  # in the order and the format of the user
        self.rows = rows.compact()  # in the order of the epoch, in the format that is multiplied faster
        self.y, self.w, self.row_ids = y.astype(np.int8), w, row_ids  # in the same order
        self._spare: Rows | None = None  # rows that are no longer needed, whose memory the next reordering uses
        self.row_at = np.arange(self.n)  # the row of the data at each position of the epoch's order,
        self._position = np.arange(self.n)  # and the position of each row of the data
        self.ledger = Ledger()
        self.sq_norms = np.zeros(self.n_outputs)
        self.scores, self.offsets = np.zeros((self.n_outputs, self.n)), np.zeros(self.n_outputs)
        self.record, self.epoch = _native.Counts(), 0
        self.complete = False
        self._self_values: NDArray[np.float64] | None = None
        most = min(self.n, STORE // row_bytes(self.rows) + PUSH + LATER)
        self._buffer = UpdateBuffer(self.n_outputs, most)
        self._pushed = 0  # how many of these updates were pushed to the rows still to be visited
        # {a: p}: the visited rows up to position p (from that of the entry before) have got the first a updates
        self._visited: dict[int, int] = {}
        size = (
            cache_bytes // (self.rows.dtype.itemsize * self.n) if again and kernel.inner.cost(self.rows) > KEEP else 0
        )
        # the kernel columns that are kept; the operating system provides the memory only as they are written
        self._columns = np.empty((min(size, self.n), self.n), dtype=self.rows.dtype)
        self._column_of = np.full(self.n, -1, dtype=np.int64)  # of each position: its column in `_columns`, or −1
        self._kept = 0
        self._whole = False  # whether a push goes to all rows at once, to keep its columns or to avoid packing slices

    @property
    def n_updates(self) -> int:
        """The mistakes so far, over all outputs."""
        return len(self.ledger)

    def run(self, order: NDArray[np.int64] | None, progress: Callable[[int], None]) -> int:
        """Runs one epoch, and returns the number of its mistakes (over all outputs).

        `order` says which row is visited first, second, …; None: in the order of the data. `progress` is called now
        and then with the number of rows visited in this epoch.
        """
        before, self.complete = len(self.ledger), False
        self.flush()
        self.epoch += 1
        self._whole = self.epoch > 1 and (len(self._columns) > 0 or not grows(self.rows))
        if order is not None and not self._whole:
            self._sort(order)  # the rows still to be visited are then a slice
        visit = self._position[order] if order is not None and self._whole else None
        chunk = CHUNK if self.epoch == 1 else LATER
        with threads(thread_count()):  # determined once for the whole epoch
            for start in range(0, self.n, chunk):
                stop = min(start + chunk, self.n)
                positions = np.arange(start, stop) if visit is None else visit[start:stop]
                where = slice(start, stop) if visit is None else positions
                x = self.rows[where]
                scores = self._pull(x, positions, where)
                offsets, sq_norms = self.offsets.copy(), self.sq_norms.copy()
                lengths = None
                if self.epoch > 1:  # in the first epoch there are too many mistakes to choose rows by their margin
                    lengths = np.sqrt(np.maximum(self.self_values()[where] + self.bias, TINY))
                y, w = self.y[where], self.w[where]
                steps, erred = decide(self.kernel, x, y, w, self.bias, scores, offsets, sq_norms, lengths)
                self._commit(positions, steps, erred, offsets, sq_norms)
                if len(erred):
                    self._remember(positions[erred], steps[erred], x[erred])
                self._push(stop)
                progress(stop)
        self.complete = self.epoch > 1
        return len(self.ledger) - before

    def learner(self) -> KernelPerceptronLearner:
        """A learner with the hypothesis reached so far, which can go on with a stream."""
        self._spare = None  # frees its memory for the support
        online = KernelPerceptronLearner(self.kernel, self.n_outputs, self.bias)
        online.ledger, online.sq_norms = self.ledger, self.sq_norms
        online.record = self.record.copy()
        entries = self.ledger.entries
        row_ids, entry = np.unique(entries["row"], return_inverse=True)
        coef, moment = np.zeros((2, len(row_ids), self.n_outputs))
        np.add.at(coef, (entry, entries["class"]), entries["step"])
        np.add.at(moment, (entry, entries["class"]), entries["step"] * entries["round"])
        order = np.argsort(self.row_ids)
        chosen = self.row_at[order[np.searchsorted(self.row_ids, row_ids, sorter=order)]]
        online.support = Support.of(self._given, chosen, coef, moment, row_ids)
        return online

    def self_values(self) -> NDArray[np.float64]:
        """k(x, x) of each row, in the present order of the rows; computed once."""
        if self._self_values is None:
            self._self_values = self.kernel.inner.diagonal(self.rows)
        return self._self_values

    def _sort(self, order: NDArray[np.int64]) -> None:
        """Puts the rows, and everything that is stored by position, into the order of the epoch, all at once."""
        old = self._position[order]  # the present positions, in the new order
        before, rows = self.rows, self.rows.reordered(old, self._spare)
        scores = np.take(self.scores, old, axis=1) if self.epoch > 1 else self.scores  # in the first they are still 0
        self_values = None if self._self_values is None else self._self_values[old]
        position = np.empty_like(order)
        position[order] = np.arange(self.n)
        assign(
            self,
            rows=rows,
            _spare=before if before is not self._given else None,
            y=np.take(self.y, old, axis=0),
            w=self.w[old],
            row_ids=self.row_ids[old],
            scores=scores,
            _self_values=self_values,
            row_at=order,
            _position=position,
        )

    def _pull(self, x: Rows, positions: NDArray[np.int64], where: slice | NDArray[np.int64]) -> NDArray[np.float64]:
        """The scores (outputs, b) of the rows x at these positions; `where` are the same, as a slice if possible."""
        scores = self.scores[:, where].copy()
        had, waiting = self._pushed, len(self._buffer) - self._pushed
        if waiting:
            _, steps, s = self._buffer.part(self._pushed, len(self._buffer))
            add_scores(self.kernel, x, s, steps, scores.T)
            if self.epoch > 1 and not self._whole:  # the pulled scores are kept, so that they are not computed again
                self.scores[:, where] = scores
                had += waiting
        if self.again and not self._whole:
            self._visited[had] = int(positions[-1]) + 1
        return scores

    def _commit(
        self,
        positions: NDArray[np.int64],
        steps: NDArray[np.float64],
        erred: NDArray[np.intp],
        offsets: NDArray[np.float64],
        sq_norms: NDArray[np.float64],
    ) -> None:
        """Records the decisions on a chunk; only what is recorded is learned, should the epoch be interrupted."""
        row_ids, record, n_steps = self.row_ids[positions], self.record.copy(), int(np.count_nonzero(steps))
        record.add(len(positions), row_ids.max(), n_steps, n_steps)
        with Transaction() as change:
            self.ledger.add(steps[erred], self.record.n_seen + 1 + erred, row_ids[erred], change)
            change.set(self, offsets=offsets, sq_norms=sq_norms, record=record)

    def _remember(self, positions: NDArray[np.int64], steps: NDArray[np.float64], rows: Rows) -> None:
        """Adds updates to the scores of all rows if their columns are kept, and otherwise to the buffer."""
        if self._whole:
            kept = self._column_of[positions] >= 0
            if kept.any():
                self._add_kept(positions[kept], steps[kept])
                positions, steps, rows = positions[~kept], steps[~kept], rows[~kept]
        if len(positions):
            self._buffer.add(positions, steps, rows)

    def flush(self) -> None:
        """Adds all updates in the buffer to the scores; if `complete`, these are then those of the last hypothesis."""
        if self._whole and len(self._buffer):
            self._add(slice(0, self.n), *self._buffer.part(0, len(self._buffer)))
        self._pushed = len(self._buffer)
        self._catch_up()
        self._visited.clear()

    def _push(self, front: int) -> None:
        """Adds the updates in the buffer to the scores of the rows from `front` on, if there are enough of them."""
        waiting = len(self._buffer) - self._pushed
        if waiting < PUSH:
            return
        stop = len(self._buffer) - waiting % PANEL
        self._add(slice(0 if self._whole else front, self.n), *self._buffer.part(self._pushed, stop))
        self._pushed = stop
        if self._whole or not self.again or stop * row_bytes(self.rows) >= STORE:
            self._catch_up()

    def _catch_up(self) -> None:
        """Adds the pushed updates to the scores of the visited rows that lack them, and drops them from the buffer."""
        start = 0
        for had, stop in self._visited.items():
            if had < self._pushed:
                self._add(slice(start, stop), *self._buffer.part(had, self._pushed))
            start = stop
        self._visited = {max(had - self._pushed, 0): stop for had, stop in self._visited.items()}
        self._buffer.forget(self._pushed)
        self._pushed = 0

    def _add_kept(self, positions: NDArray[np.int64], A: NDArray[np.float64]) -> None:
        """scores += Aᵀ k(rows at the positions, all rows), by columns that are kept; A (m, outputs)."""
        _native.add_columns(self._columns, self._column_of[positions], A, self.scores, thread_count())

    def _add(self, where: slice, positions: NDArray[np.int64], A: NDArray[np.float64], s: Rows) -> None:
        """scores[:, where] += Aᵀ k(s, rows[where]); s are the rows at the positions, A (m, outputs) their steps.

        Their columns were not kept so far. If `_whole`, and while there is room, they are from now on. The first epoch
        keeps none: it computes each column in two parts, and touching fresh memory costs more than computing it twice.
        """
        if where.start == where.stop:
            return
        scores = self.scores[:, where]
        if self._whole and self._kept + len(positions) <= len(self._columns):
            new = slice(self._kept, self._kept + len(positions))
            self._column_of[positions] = np.arange(new.start, new.stop)
            self._kept = new.stop
            add_scores(self.kernel, self.rows, s, A, scores.T, values=self._columns[new].T)
        else:
            add_scores(self.kernel, self.rows[where], s, A, scores.T)
