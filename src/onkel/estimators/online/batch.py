"""Batches: what a user gives to learn from, checked and decoded once, before anything is learned.

Given      X, y and what comes with the rows, as the user gave them
Batch      rows, decoded targets, positive weights and row ids; an example is a row, a query or a sentence
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onkel.estimators.base.class_weight import class_weights
from onkel.estimators.base.input import Checked, sample_weights
from onkel.estimators.base.targets import Decoded, Targets
from onkel.kernels.rows import Rows
from onkel.learners.perceptron.groups import Groups, grouped

__all__ = ["Batch", "Given", "Weighed", "queries_of", "weighed"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Given(NamedTuple):
    """What a user gave to a method that learns."""

    X: Any
    y: Any = None
    sample_weight: Any = None
    qid: Any = None  # the query of each row, of a ranker
    classes: Any = None  # all labels that will ever come
    lengths: Any = None  # the number of tokens of each sentence, of a tagger


class Batch(NamedTuple):
    """Checked examples with positive weights, ready to be learned from."""

    rows: Rows
    targets: Decoded  # (n,)
    weights: Floats  # (n,)
    row_ids: Ints  # (n,)
    next_row_id: int  # the id of the row after all that were given, also after those of weight 0

    def part(self, index: slice | NDArray) -> Batch:
        """Some of the examples."""
        return Batch(
            self.rows[index], self.targets.part(index), self.weights[index], self.row_ids[index], self.next_row_id
        )

    @property
    def n(self) -> int:
        """The number of examples."""
        return len(self.rows)


class Weighed(NamedTuple):
    """Checked examples with positive weights, whose y has not been decoded yet."""

    rows: Rows
    y: NDArray  # (n,): labels or numbers, as they were given
    weights: Floats  # (n,)
    row_ids: Ints  # (n,)
    next_row_id: int

    def decoded(self, targets: Targets, who: str) -> Batch:
        """The batch; refuses a y that these targets cannot read."""
        return Batch(self.rows, targets.decode(self.y, who), self.weights, self.row_ids, self.next_row_id)


def weighed(
    checked: Checked,
    sample_weight: Any,
    class_weight: Any,
    first_id: int,
    who: str,
    targets: Targets | None,
    *,
    balanced: bool,
) -> Weighed:
    """The examples with positive weights: sample weight times class weight.

    `targets` are those of the stream so far, None in a new fit; `balanced` says whether class_weight="balanced" is
    allowed.
    """
    rows, n = checked.rows, len(checked.rows)
    y = np.ones(n) if checked.y is None else np.asarray(checked.y)
    weights = sample_weights(sample_weight, n, who)
    if class_weight is not None:
        weights *= class_weights(class_weight, y, weights > 0, who, targets, balanced=balanced)
    present = np.flatnonzero(weights > 0)
    if len(present) < n:
        rows, y, weights = rows[present], y[present], weights[present]
    return Weighed(rows, y, weights, first_id + present, first_id + n)


def queries_of(checked: Checked, qid: Any, first_id: int, who: str) -> Weighed:
    """The queries of checked rows, each of weight 1; their grades are with the items."""
    rows, y = checked.rows, np.asarray(checked.y, dtype=np.float64)
    order, starts = grouped(qid, len(rows), who)
    if (np.diff(order) != 1).any():
        rows, y = rows[order], y[order]
    groups = Groups(rows, starts, y, first_id + order)
    n = len(groups)
    return Weighed(groups, np.zeros(n), np.ones(n), first_id + starts[:-1], first_id + len(y))
