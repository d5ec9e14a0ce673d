"""Epochs: repeated passes over a data set, by a learner that visits one example after the other.

`run_epochs` repeats epochs until one of them makes no update. What an epoch does is an object with a method `run`:
`StreamedEpochs` here suits every learner; `onkel.learners.perceptron.kernel_epochs` has a faster one for the kernel
perceptron.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from onkel.kernels.rows import Rows
from onkel.learners.learner import NO_LOCK, Learner

__all__ = ["Epochs", "Outcome", "Passes", "StreamedEpochs", "run_epochs"]

STEP = 4096  # rows between two reports of the progress

# learns from rows, labels, weights and row ids: what is learned is learned part by part
Learn = Callable[[Rows, NDArray, NDArray[np.float64], NDArray[np.int64]], None]


class Passes(Protocol):
    """Something that can pass over its data set again and again."""

    @property
    def n_updates(self) -> int:
        """The updates so far."""

    def run(self, order: NDArray[np.int64] | None, progress: Callable[[int], None]) -> int:
        """Runs one epoch, and returns the number of its updates.

        `order` says which row is visited first, second, …; None: in the order of the data. `progress` is called now
        and then with the number of rows visited in this epoch.
        """


class Epochs(Passes, Protocol):
    """A data set and a learner, ready to run epochs."""

    def learner(self) -> Learner:
        """The learner that has learned from the epochs so far."""


class StreamedEpochs:
    """Epochs that give the rows to a function that learns from them, `STEP` at a time, as if they came from a stream.

    Parameters
    ----------
    learn : learns from rows, y, weights and row ids.
    learner : returns the present learner; it may be another one after `learn`, if a class appeared.
    rows, y, w, row_ids : the data set: rows, labels or numbers, weights and ids of the rows.
    lock : is taken for what changes the learner at the end of an epoch.
    """

    def __init__(
        self,
        learn: Learn,
        learner: Callable[[], Learner],
        rows: Rows,
        y: NDArray,
        w: NDArray[np.float64],
        row_ids: NDArray[np.int64],
        lock: AbstractContextManager[None] = NO_LOCK,
    ) -> None:
        self._learn, self.learner, self._lock = learn, learner, lock
        self.rows, self.y, self.w, self.row_ids = rows, y, w, row_ids

    @property
    def n_updates(self) -> int:
        return self.learner().n_updates

    def run(self, order: NDArray[np.int64] | None, progress: Callable[[int], None]) -> int:
        before, n = self.n_updates, len(self.rows)
        for start in range(0, n, STEP):
            part = slice(start, start + STEP) if order is None else order[start : start + STEP]
            self._learn(self.rows[part], self.y[part], self.w[part], self.row_ids[part])
            progress(min(start + STEP, n))
        with self._lock:
            self.learner().end_epoch()
        return self.n_updates - before


class Outcome(NamedTuple):
    """How `run_epochs` ended."""

    epochs: int  # how many were begun
    converged: bool  # whether the last one made no update
    interrupted: KeyboardInterrupt | None  # the Ctrl-C that ended the run, or None


def run_epochs(
    run: Passes,
    n: int,
    random: np.random.RandomState,
    *,
    max_iter: int,
    shuffle: bool,
    report: Callable[[int], None],
) -> Outcome:
    """Runs up to `max_iter` epochs over n rows; ends after an epoch without an update, and at Ctrl-C.

    With `shuffle` every epoch visits the rows in a new random order. `report` is called now and then with the number
    of rows visited since the first epoch began.
    """
    epochs, converged = 0, False
    try:
        while epochs < max_iter and not converged:

            def visited(done: int, before: int = epochs * n) -> None:
                report(before + done)

            epochs += 1
            order = random.permutation(n) if shuffle else None
            converged = run.run(order, visited) == 0
    except KeyboardInterrupt as stop:
        return Outcome(epochs, False, stop)
    return Outcome(epochs, converged, None)
