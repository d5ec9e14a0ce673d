"""Decisions: from the scores of an example to what is predicted: a class, a grade, a number, or inlier and outlier."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar, Literal, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from onkel.errors import ParameterError
from onkel.models.one_vs_one import by_class, votes
from onkel.states.frozen import Frozen
from onkel.states.state import State

__all__ = ["Classes", "Decision", "Number", "Outlier", "Ranks", "best_class"]


@runtime_checkable
class Decision(Protocol):
    """A frozen function from the outputs of a scorer to what is predicted."""

    def decide(self, scores: NDArray[np.float64]) -> NDArray:
        """What is predicted for each row of scores (n, outputs), shape (n,)."""

    def decision_function(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """The columns of the estimator's `decision_function`, from scores (n, outputs); always two-dimensional."""

    def state(self) -> State:
        """The settings and arrays of which `from_state` makes an equal decision."""

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The decision that has this state."""


@dataclasses.dataclass(frozen=True, eq=False)
class Classes(Frozen):
    """Chooses a class.

    A single output is about two classes: labels[1] is predicted where the score is ≥ 0. Several outputs are about one
    class each: the one with the largest score is predicted, the first of several. A class of which no example was seen
    is never predicted, and a single class always. If the outputs are the scores of all pairs of classes, the class with
    the most votes is predicted.

    Parameters
    ----------
    labels : shape (classes,), the classes, sorted; of any dtype.
    seen : shape (classes,), whether there was an example of each class. None (default): of all of them.
    pairs : None (default): the outputs are one-vs-rest, as above. "ovr" or "ovo": they are those of a `OneVsOne`, and
        `decision_function` has a column for each class (its votes, ties broken by the scores) or for each pair.
    break_ties : with pairs="ovr": of several classes with the most votes, the one with the largest value of the
        decision function is predicted (True), or the first one (False, default).
    """

    KIND: ClassVar[str] = "decision/classes"
    VERSION: ClassVar[int] = 1

    labels: NDArray
    seen: NDArray[np.bool_] | None = None
    pairs: Literal["ovr", "ovo"] | None = None
    break_ties: bool = False

    def decide(self, scores: NDArray[np.float64]) -> NDArray:
        """The label that is predicted for each row of scores, in the dtype of `labels`."""
        chosen: NDArray = self.labels[self._chosen(scores)]
        return chosen

    def _chosen(self, scores: NDArray[np.float64]) -> NDArray[np.intp]:
        """The index of the predicted class of each row."""
        k = len(self.labels)
        if k == 1:
            return np.zeros(len(scores), dtype=np.intp)
        if self.pairs is None:
            return best_class(scores, None if self.seen is None else ~self.seen)
        if self.break_ties and self.pairs == "ovo":
            raise ParameterError("break_ties must be False when decision_function_shape is 'ovo'; got True.")
        by_votes = by_class(scores, k) if self.break_ties else votes(scores > 0, k)
        chosen: NDArray[np.intp] = by_votes.argmax(axis=1)
        return chosen

    def decision_function(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """The columns of the estimator's `decision_function`: one for two classes, else one per class or pair."""
        return by_class(scores, len(self.labels)) if self.pairs == "ovr" else scores

    def state(self) -> State:
        """Labels and options, as a `State`."""
        arrays = {"labels": self.labels} | ({} if self.seen is None else {"seen": self.seen})
        return State(self.KIND, self.VERSION, {"pairs": self.pairs, "break_ties": bool(self.break_ties)}, arrays)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The decision that has this state."""
        state.expect(cls.KIND, cls.VERSION)
        labels = state.array("labels", shape=(None,))
        state.check(len(labels) > 0, "there must be a label")
        seen = state.optional_array("seen", np.bool_, labels.shape)
        pairs: Any = state.choice("pairs", ("ovr", "ovo")) if state.has("pairs") else None
        break_ties = state.setting("break_ties", bool)
        state.check(not break_ties or pairs != "ovo", "'break_ties' must be False with 'pairs' \"ovo\"")
        return cls(labels, seen, pairs, break_ties)


@dataclasses.dataclass(frozen=True, eq=False)
class Number(Frozen):
    """Predicts the score itself, as regression does.

    Parameters
    ----------
    several : whether there are several targets, so that a row of numbers is predicted (True), or one number (False,
        default).
    """

    KIND: ClassVar[str] = "decision/number"
    VERSION: ClassVar[int] = 1

    several: bool = False

    def decide(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """The first column of the scores, shape (n,); all of them, shape (n, outputs), if there are several targets."""
        return scores if self.several else scores[:, 0]

    def decision_function(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """The scores."""
        return scores

    def state(self) -> State:
        """Whether there are several targets, as a `State`."""
        return State(self.KIND, self.VERSION, {"several": bool(self.several)})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The decision that has this state."""
        state.expect(cls.KIND, cls.VERSION)
        return cls(state.setting("several", bool) if "several" in state.settings else False)


@dataclasses.dataclass(frozen=True, eq=False)
class Outlier(Frozen):
    """Predicts +1, an inlier, where the score is above a threshold, and −1, an outlier, where it is below.

    Parameters
    ----------
    threshold : ρ, default 0.
    inclusive : whether a score of exactly ρ is an inlier (True, default) or an outlier (False).
    """

    KIND: ClassVar[str] = "decision/outlier"
    VERSION: ClassVar[int] = 1

    threshold: float = 0.0
    inclusive: bool = True

    def decide(self, scores: NDArray[np.float64]) -> NDArray[np.intp]:
        """+1 or −1 for each row of scores."""
        inlier = scores[:, 0] >= self.threshold if self.inclusive else scores[:, 0] > self.threshold
        return np.where(inlier, 1, -1).astype(np.intp)

    def decision_function(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """The scores minus ρ: negative for outliers."""
        return scores - self.threshold

    def state(self) -> State:
        """The threshold, as a `State`."""
        settings = {"threshold": float(self.threshold), "inclusive": bool(self.inclusive)}
        return State(self.KIND, self.VERSION, settings)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The decision that has this state."""
        state.expect(cls.KIND, cls.VERSION)
        return cls(state.setting("threshold", float, at_least=-math.inf), state.setting("inclusive", bool))


@dataclasses.dataclass(frozen=True, eq=False)
class Ranks(Frozen):
    """Predicts a grade: the score of an example lies between two of k − 1 ascending thresholds.

    Parameters
    ----------
    labels : shape (k,), the grades, sorted; of any dtype.
    thresholds : b, shape (k − 1,), ascending: labels[r] is predicted if r thresholds are ≤ the score.
    """

    KIND: ClassVar[str] = "decision/ranks"
    VERSION: ClassVar[int] = 1

    labels: NDArray
    thresholds: NDArray[np.float64]

    def decide(self, scores: NDArray[np.float64]) -> NDArray:
        """The grade that is predicted for each row of scores (n, 1), in the dtype of `labels`."""
        chosen: NDArray = self.labels[(scores >= self.thresholds).sum(axis=1)]
        return chosen

    def decision_function(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """The score minus each threshold, shape (n, k − 1): those that are ≥ 0 are passed."""
        return scores - self.thresholds

    def state(self) -> State:
        """Grades and thresholds, as a `State`."""
        return State(self.KIND, self.VERSION, {}, {"labels": self.labels, "thresholds": self.thresholds})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The decision that has this state."""
        state.expect(cls.KIND, cls.VERSION)
        labels = state.array("labels", shape=(None,))
        state.check(len(labels) > 0, "there must be a grade")
        thresholds = state.array("thresholds", np.float64, (len(labels) - 1,))
        state.check((thresholds[1:] >= thresholds[:-1]).all(), "the array 'thresholds' must ascend")
        return cls(labels, thresholds)


def best_class(scores: NDArray[np.float64], unseen: NDArray[np.bool_] | None = None) -> NDArray[np.intp]:
    """The index of the predicted class among the sorted classes, for each row.

    A single column of scores is about two classes: the second one is predicted where the score is ≥ 0. Several columns
    are about one class each: the class with the largest score is predicted, the first one if several are equal.
    `unseen` (classes,) marks classes of which no example has come yet: they are never predicted. None (default): all
    classes may be predicted.
    """
    if unseen is None or not unseen.any():
        return (scores[:, 0] >= 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)
    if scores.shape[1] == 1:
        return np.repeat(np.argmin(unseen), len(scores))
    best: NDArray[np.intp] = np.where(unseen, -np.inf, scores).argmax(axis=1)
    return best
