"""The course of `fit` and of `partial_fit`, for every estimator that learns example by example.

An estimator reads what it was given into a batch, and its running learner learns from it. A call that is refused with
an error is undone as a whole; only a tagger of features with ids, whose tables are too large for copies, keeps the
parts that were learned if memory runs out between two of them. A Ctrl-C needs no cleaning up: what has been learned
by then stays, and it is raised.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from onkel._core.transaction import restore
from onkel.estimators.base.progress import progress_bar
from onkel.estimators.online.running import Given

__all__ = [
    "Epochs",
    "Outcome",
    "RunningLearner",
    "StreamedEpochs",
    "Work",
    "fit_in_epochs",
    "learn_chunk",
    "undo_if_refused",
]

STEP = 4096  # examples between two reports of the progress


class RunningLearner(Protocol):
    """What the frames need of a running learner, be it of rows or of sentences."""

    learner: Any
    lock: Any

    def learn(self, batch: Any) -> None:
        """Learns from a batch, part by part."""

    def end_epoch(self) -> None:
        """Is called at the end of every epoch."""

    def savepoint(self) -> Any:
        """The present state, as `rollback` takes it."""

    def rollback(self, to: Any) -> None:
        """Undoes all changes since the savepoint was made."""


class Epochs(Protocol):
    """A data set and a learner, ready for epochs: passes that visit one example after the other.

    `StreamedEpochs` suits every learner; `onkel.learners.perceptron.kernel_epochs` has faster ones for the kernel
    perceptron.
    """

    @property
    def n_updates(self) -> int:
        """The updates so far."""

    def run(self, order: NDArray[np.int64] | None, progress: Callable[[int], None]) -> int:
        """Runs one epoch, and returns the number of its updates.

        `order` says which row is visited first, second, …; None: in the order of the data. `progress` is called now
        and then with the number of rows visited in this epoch.
        """

    def learner(self) -> Any:
        """The learner that has learned from the epochs so far."""


class Work(NamedTuple):
    """A fit that has begun."""

    running: Any
    batch: Any  # of rows, queries or sentences
    run: Epochs
    columns: Any  # of the running learner, before
    new: dict[str, Any] | None  # the attributes of a new fit; None: it goes on from what was learned


class Outcome(NamedTuple):
    """How the epochs of a fit ended."""

    epochs: int  # how many were begun
    converged: bool  # whether the last one made no update
    interrupted: KeyboardInterrupt | None  # the Ctrl-C that ended them, or None


class StreamedEpochs:
    """Epochs that give a batch to a running learner, some examples at a time, as if they came from a stream."""

    def __init__(self, running: RunningLearner, batch: Any, step: int | None = None) -> None:
        self.running, self.batch, self.step = running, batch, step or STEP

    @property
    def n_updates(self) -> int:
        """The updates so far."""
        return int(self.running.learner.n_updates)

    def learner(self) -> Any:
        """The present learner; it may be another one than before, if a class appeared."""
        return self.running.learner

    def run(self, order: NDArray[np.int64] | None, progress: Callable[[int], None]) -> int:
        """Runs one epoch, and returns the number of its updates."""
        before, n = self.n_updates, self.batch.n
        for start in range(0, n, self.step):
            some = slice(start, start + self.step) if order is None else order[start : start + self.step]
            self.running.learn(self.batch.part(some))
            progress(min(start + self.step, n))
        with self.running.lock:
            self.running.end_epoch()
        return self.n_updates - before


def fit_in_epochs(estimator: Any, given: Given) -> Any:
    """Learns from a data set in epochs: up to `max_iter`, until one of them makes no update. Returns the estimator."""
    with undo_if_refused(estimator):
        estimator._check_params()
        work: Work = estimator._begin_fit(given)
        random, n, epochs = check_random_state(estimator.random_state), work.batch.n, 0
        converged, interrupted = False, None
        counted = "mistakes" if work.running.learner.UPDATES_ARE_MISTAKES else "updates"
        try:
            with progress_bar(estimator._name, estimator.max_iter * n, estimator.verbose) as progress:
                while epochs < estimator.max_iter and not converged:

                    def visited(done: int, before: int = epochs * n) -> None:
                        progress(before + done, f"{work.run.n_updates} {counted}")

                    epochs += 1
                    order = random.permutation(n) if estimator.shuffle else None
                    converged = work.run.run(order, visited) == 0
        except KeyboardInterrupt as stop:
            converged, interrupted = False, stop
        estimator._end_fit(work, Outcome(epochs, converged, interrupted), random)
    if interrupted is not None:
        raise interrupted
    return estimator


def learn_chunk(estimator: Any, given: Given) -> Any:
    """Learns from a chunk of a stream, each example once, in their order. Returns the estimator."""
    estimator._check_params()
    batch = estimator._more(given, balanced=False) if "_running" in vars(estimator) else None
    with undo_if_refused(estimator):
        if batch is None:
            batch = estimator._begin_stream(given)
        estimator._running.learn_chunk(batch)
    return estimator


@contextlib.contextmanager
def undo_if_refused(estimator: Any) -> Iterator[None]:
    """Undoes everything that was learned in the block if it raises an error.

    A random generator that is the estimator's `random_state` goes back, too. A Ctrl-C leaves what has been learned by
    then.
    """
    before = vars(estimator).copy()
    running = before.get("_running")
    savepoint = None if running is None else running.savepoint()
    random = estimator.random_state if hasattr(estimator.random_state, "get_state") else None
    drawn = None if random is None else random.get_state()
    try:
        yield
    except Exception:
        if running is None:
            restore(estimator, before)
        else:
            with running.lock:
                restore(estimator, before)
                running.rollback(savepoint)
        if random is not None:
            random.set_state(drawn)
        raise
