"""The contract of every learner, and functions that several learners share.

A learner learns from rows and their targets, and gives scores. It knows neither labels nor scikit-learn: an estimator
turns labels into targets, and scores into labels. A learner has one or several *outputs*, and each output gives one
score: there is a single output for two classes and for regression, and one per class otherwise (one-vs-rest). All
outputs share the kernel values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from onkel.kernels.rows import Rows
from onkel.learners.ledger import Ledger

__all__ = ["ONE", "Learner", "as_targets", "in_parts", "parts_of"]

ONE = np.ones(1)  # the sample weights of one example without a weight


@runtime_checkable
class Learner(Protocol):
    """The attributes and methods that an online estimator needs of its learner."""

    ledger: Ledger  # the updates in order: all of them, or the last ones
    rounds: int  # examples visited so far; an example that is visited in three epochs counts three times

    @property
    def n_outputs(self) -> int:
        """The number of outputs."""

    def learn(self, x: Rows, y: NDArray[Any], w: NDArray[np.float64], row_ids: NDArray[np.int64]) -> Any:
        """Learns from a chunk of examples, one after the other.

        y (n, outputs) holds the targets: for classes ±1 as int8, or 0 where the output ignores the example; for
        regression numbers as float64. w (n,) > 0 are the sample weights, and `row_ids` (n,) the numbers under which
        the ledger and the support refer to the rows. Learners that compute the score of every example before learning
        from it return these scores, shape (n, outputs); the others return None.
        """

    def learn_one(self, x: Rows, y: NDArray[np.float64], row_id: int) -> None:
        """Learns from one example of weight 1, faster than `learn`; y (1, outputs) is float64."""

    def scores(self, x: Rows) -> NDArray[np.float64]:
        """The scores of the rows, shape (n, outputs)."""

    def change_outputs(self, output_map: NDArray[np.float64]) -> None:
        """Changes the number of outputs when a class appears.

        `output_map` (old outputs, new outputs): 1 copies an output, −1 mirrors it, a column of zeros starts one at 0.
        """

    def add_features(self, n_features: int) -> None:
        """Increases the number of features to `n_features`; everything learned so far is 0 in the new ones."""

    def end_epoch(self) -> None:
        """Is called at the end of every epoch; merges the support vectors that are the same row, if there are any."""

    def savepoint(self) -> Any:
        """The present state, as `rollback` takes it."""

    def rollback(self, savepoint: Any) -> None:
        """Undoes all changes since the savepoint was made."""


def as_targets(y: NDArray) -> NDArray[np.float64]:
    """The targets as float64; the 0 that marks an ignored example in int8 targets becomes NaN."""
    if y.dtype != np.int8:
        return y
    targets = y.astype(np.float64)
    if not y.all():
        targets[y == 0] = np.nan
    return targets


def in_parts(
    size: int,
    learn: Callable[[Rows, NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]], NDArray[np.float64]],
    x: Rows,
    y: NDArray[np.float64],
    w: NDArray[np.float64],
    row_ids: NDArray[np.int64],
) -> NDArray[np.float64]:
    """Calls `learn` for at most `size` examples at a time, and returns the scores of all of them."""
    if len(x) <= size:
        return learn(x, y, w, row_ids)
    parts = [slice(start, start + size) for start in range(0, len(x), size)]
    return np.concatenate([learn(x[part], y[part], w[part], row_ids[part]) for part in parts])


def parts_of(learner: Any) -> dict[str, Any]:
    """All attributes of a learner, for its savepoint; those with a `copy` method (arrays, rows) are copied."""
    return {name: value.copy() if hasattr(value, "copy") else value for name, value in vars(learner).items()}
