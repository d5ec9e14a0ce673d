"""Epochs over data that is all there, by a learner that takes examples one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from onkel.kernels.rows import Rows
from onkel.learners.ledger import Ledger

__all__ = ["Epochs", "Outcome", "StreamedEpochs", "run_epochs"]

STEP = 4096  # rows between two looks at the progress


class Epochs(Protocol):
    """Epochs over some rows."""

    @property
    def ledger(self) -> Ledger: ...

    def run(self, order: NDArray[np.int64] | None, progress: Callable[[int], None]) -> int:
        """One epoch in the given order of rows (None: as they are); returns its updates."""


class StreamedEpochs:
    """A `Epochs` of any learner with ``learn(rows, targets, weights, row_ids)`` and a `ledger`."""

    def __init__(self, learner: Any, rows: Rows, y: NDArray, w: NDArray[np.float64], row_ids: NDArray) -> None:
        self._learner, self.rows, self.y, self.w, self.row_ids = learner, rows, y, w, row_ids

    @property
    def ledger(self) -> Ledger:
        found: Ledger = self._learner.ledger
        return found

    def learner(self) -> Any:
        return self._learner

    def run(self, order: NDArray[np.int64] | None, progress: Callable[[int], None]) -> int:
        before, n = len(self.ledger), len(self.rows)
        for start in range(0, n, STEP):
            where = slice(start, start + STEP) if order is None else order[start : start + STEP]
            self._learner.learn(self.rows[where], self.y[where], self.w[where], self.row_ids[where])
            progress(min(start + STEP, n))
        self._learner.end_epoch()
        return len(self.ledger) - before


class Outcome(NamedTuple):
    """How a run of epochs ended."""

    epochs: int
    converged: bool  # the last one made no update
    interrupted: KeyboardInterrupt | None


def run_epochs(
    run: Epochs,
    n: int,
    random: np.random.RandomState,
    *,
    max_iter: int,
    shuffle: bool,
    report: Callable[[int], None],
) -> Outcome:
    """Up to `max_iter` epochs over n rows; ends after one without an update, and at Ctrl-C.

    `report` is told now and then how many rows were visited, epochs counted.
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
