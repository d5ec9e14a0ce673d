"""Grades: labels whose order counts, as the targets of ordinal regression.

k grades have k − 1 outputs, one for each threshold between two grades that follow one another when they are sorted. The
target of output r is +1 if the grade of an example is above threshold r, that is, at least the grade r + 1, else −1.

Grades may turn up late, like classes. The new grade divides what was the place of its neighbours: the threshold next to
it becomes two, which are equal at first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.estimators.base.labels import Labels
from onkel.estimators.base.targets import Floats
from onkel.models.decision import Decision, Ranks

__all__ = ["Grades"]


class Grades(Labels):
    """The grades: `classes`, sorted. Immutable; see `Labels`, whose constructor it has."""

    KIND = "targets/grades"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.n_outputs, self.sign = max(len(self.found) - 1, 0), 1.0
        self._rank = np.argsort(self.order)  # the place of each grade in `found` among the sorted ones

    def _signs(self, index: NDArray[np.intp]) -> Floats:
        return np.where(self._rank[index][:, None] > np.arange(self.n_outputs), 1.0, -1.0)

    def output_map(self, before: Labels) -> Floats | None:
        if before.n_outputs == self.n_outputs:
            return None
        output_map = np.zeros((before.n_outputs, self.n_outputs))
        if before.n_outputs:
            below = np.cumsum([label in before.found for label in self.classes.tolist()])  # old grades up to each one
            source = np.clip(below[:-1] - 1, 0, before.n_outputs - 1)
            output_map[source, np.arange(self.n_outputs)] = 1.0
        return output_map

    def by_class(self, values: Floats) -> Floats:
        """Columns of thresholds are in ascending order everywhere."""
        return values

    def report(self, entries: NDArray[np.void]) -> NDArray[np.void]:
        """A copy of a ledger's entries; the field "class" is the index of the threshold."""
        return entries.copy()

    def decision(self, learner: Any) -> Decision:
        """How the scores w·x − b_r, (n, thresholds), become grades."""
        return Ranks(self.classes, learner.thresholds.copy())

    def decide_one(self, scores: Floats, learner: Any) -> Any:
        label = self.classes[int((scores >= 0).sum())]
        return label.item() if isinstance(label, np.generic) else label
