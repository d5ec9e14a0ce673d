"""The contract of every learner, and what several learners share.

A learner takes rows with their targets, changes, and gives scores. It knows neither labels nor scikit-learn: an
estimator turns labels into targets, and scores into labels. It has one or several *outputs*, one score each: a single
one for two classes or for numbers, one per class otherwise (one-vs-rest). All outputs share the kernel values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from onkel.kernels.rows import Rows
from onkel.learners.ledger import Ledger

__all__ = ["ONE", "Learner", "as_targets", "in_parts", "parts_of"]

ONE = np.ones(1)  # the weight of an example that has none


@runtime_checkable
class Learner(Protocol):
    """What an online estimator asks of its learner."""

    ledger: Ledger  # of the updates, all of them or the last ones
    rounds: int  # examples that were learned from, epochs counted

    @property
    def n_outputs(self) -> int:
        """How many outputs there are."""

    def learn(self, x: Rows, y: NDArray[Any], w: NDArray[np.float64], row_ids: NDArray[np.int64]) -> Any:
        """Learns from a chunk of examples, one after the other.

        y (n, outputs) are the targets: ±1 for classes, where 0 says that the output ignores the example, or numbers;
        w (n,) > 0 are the weights, `row_ids` (n,) the ids that the ledger and the support know the rows by.
        """

    def learn_one(self, x: Rows, y: NDArray[np.float64], row_id: int) -> None:
        """The same for one example of weight 1, fast."""

    def scores(self, x: Rows) -> NDArray[np.float64]:
        """The scores of rows, shape (n, outputs)."""

    def change_outputs(self, output_map: NDArray[np.float64]) -> None:
        """Changes the number of outputs when a class appears.

        `output_map` (old outputs, new outputs): 1 copies an output, −1 mirrors it, a column of zeros starts one at 0.
        """

    def add_features(self, n_features: int) -> None:
        """Makes room for more features, in which all that was learned is 0."""

    def end_epoch(self) -> None:
        """Called at the end of an epoch: merges support vectors that are the same row, where there are such."""

    def savepoint(self) -> Any:
        """A savepoint, for `rollback`."""

    def rollback(self, savepoint: Any) -> None:
        """Undoes all learning since the savepoint."""


def as_targets(y: NDArray) -> NDArray[np.float64]:
    """Targets as the passes take them: NaN where a output does not look, which labels say by a 0."""
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
    """Learns from `size` examples at a time; the scores of all."""
    if len(x) <= size:
        return learn(x, y, w, row_ids)
    parts = [slice(start, start + size) for start in range(0, len(x), size)]
    return np.concatenate([learn(x[part], y[part], w[part], row_ids[part]) for part in parts])


def parts_of(learner: Any) -> dict[str, Any]:
    """Everything that a learner is, what changes copied."""
    return {name: value.copy() if hasattr(value, "copy") else value for name, value in vars(learner).items()}
