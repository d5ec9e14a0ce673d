"""What y means: labels, numbers or nothing; and how it becomes the targets of a learner's outputs.

    Labels       ±1 for each output, one-vs-rest; classes may turn up late (base/labels.py)
    Grades       labels whose order counts (base/grades.py)
    Numbers      the numbers themselves, for one output
    Unlabelled   1 for every row: there is no y
    Queries      grades of items, which are compared within a query

All are immutable. When a class turns up, new `Labels` take the place of the old ones, in the same transaction in
which the learner gets its new output.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from onkel.checks import check_finite
from onkel.errors import KindError
from onkel.learners.learner import Learner
from onkel.models.decision import Decision, Number, Outlier
from onkel.models.model import ScoreModel
from onkel.models.ranking import RankingModel
from onkel.states.state import State

__all__ = ["Decoded", "Numbers", "Queries", "Targets", "Unlabelled", "check_numbers"]

Floats = NDArray[np.float64]


class Decoded(NamedTuple):
    """y, read once: numbers, or, for each example, the place of its class in `labels`."""

    y: NDArray  # (n,)
    labels: tuple[Any, ...] = ()  # the classes found before, in the order of the outputs, and then those that are new
    dtype: np.dtype = np.dtype(np.float64)  # of y as it was given

    def part(self, index: slice | NDArray) -> Decoded:
        """The same of some of the examples."""
        return Decoded(self.y[index], self.labels, self.dtype)


class Targets(Protocol):
    """What an online estimator needs to know about y."""

    kind: ClassVar[Literal["labels", "numbers", "none"]]
    MISTAKEN: ClassVar[bool]  # whether an example can be mistaken
    GROUPED: ClassVar[bool]  # whether an example is a query, a list of rows with grades
    MODEL: ClassVar[type[ScoreModel]]  # of what is learned

    @property
    def fixed(self) -> bool:
        """Whether no output can come."""

    @property
    def n_outputs(self) -> int:
        """The number of outputs that the learner needs."""

    def decode(self, y: NDArray, who: str) -> Decoded:
        """Reads the y of a data set; refuses what cannot be a label. `who` is the name of the estimator, for messages.

        Classes that are known from the start keep their places for ever; others have theirs in this data set only.
        """

    def encode(self, decoded: Decoded) -> Floats:
        """The targets of examples whose classes have all been found, shape (n, outputs)."""

    def first_examples(self, decoded: Decoded, n_seen: int) -> list[int]:
        """The positions of the examples that are the first of their class, ascending, after `n_seen` examples."""

    def with_examples(self, decoded: Decoded, first: list[int], n_seen: int) -> Self:
        """The targets after the examples at the positions `first`, which are the first of their classes."""

    def knows(self, y: Any, n_seen: int) -> bool:
        """Whether `target` has the targets of such an example; False also if that needs a closer look."""

    def target(self, y: Any) -> Floats:
        """The targets of one example, shape (1, outputs); may be shared, so do not write to it."""

    def output_map(self, before: Self) -> Floats | None:
        """How the outputs follow from those of the targets `before`; None if they are the same.

        Matrix (old outputs, new outputs): 1 copies an output, −1 mirrors it, a zero column starts one at 0.
        """

    def by_class(self, values: Floats) -> Floats:
        """Columns in the learner's order of outputs → columns in the order in which users see them."""

    def report(self, entries: NDArray[np.void]) -> NDArray[np.void]:
        """A copy of a ledger's entries in which the field "class" is as users see it."""

    def decision(self, learner: Learner) -> Decision:
        """How the learner's scores, in the order of `by_class`, become predictions."""

    def decide_one(self, scores: Floats, learner: Learner) -> Any:
        """What is predicted from the learner's scores of one row, (1, outputs), as a Python object; None: nothing."""

    def state(self) -> State:
        """Everything that is known about y."""


@dataclasses.dataclass(frozen=True)
class Numbers:
    """The targets of regression: one output, whose target is y itself."""

    KIND: ClassVar[str] = "targets/numbers"
    VERSION: ClassVar[int] = 1
    kind: ClassVar[Literal["labels", "numbers", "none"]] = "numbers"
    fixed: ClassVar[bool] = True
    MISTAKEN: ClassVar[bool] = False
    GROUPED: ClassVar[bool] = False
    MODEL: ClassVar[type[ScoreModel]] = ScoreModel

    @property
    def n_outputs(self) -> int:
        return 1

    def decode(self, y: NDArray, who: str) -> Decoded:
        return Decoded(np.asarray(y, dtype=np.float64))

    def encode(self, decoded: Decoded) -> Floats:
        return np.array(decoded.y).reshape(-1, 1)

    def first_examples(self, decoded: Decoded, n_seen: int) -> list[int]:
        return []

    def with_examples(self, decoded: Decoded, first: list[int], n_seen: int) -> Self:
        return self

    def knows(self, y: Any, n_seen: int) -> bool:
        return True

    def target(self, y: Any) -> Floats:
        return np.array([[y]], dtype=np.float64)

    def output_map(self, before: Self) -> Floats | None:
        return None

    def by_class(self, values: Floats) -> Floats:
        return values

    def report(self, entries: NDArray[np.void]) -> NDArray[np.void]:
        return entries.copy()

    def decision(self, learner: Learner) -> Decision:
        return Number()

    def decide_one(self, scores: Floats, learner: Learner) -> Any:
        return self.decision(learner).decide(scores)[0].item()

    def state(self) -> State:
        return State(self.KIND, self.VERSION, {})

    @classmethod
    def from_state(cls, state: State) -> Self:
        state.expect(cls.KIND, cls.VERSION)
        return cls()


@dataclasses.dataclass(frozen=True)
class Unlabelled(Numbers):
    """The targets of novelty detection, which has no y: one output, whose target is 1."""

    KIND = "targets/none"
    kind: ClassVar[Literal["labels", "numbers", "none"]] = "none"

    def decision(self, learner: Any) -> Decision:
        return Outlier(float(learner.margin[0]))


@dataclasses.dataclass(frozen=True)
class Queries(Numbers):
    """The targets of ranking: one output; the grades are with the items (`onkel.learners.perceptron.groups`)."""

    KIND = "targets/queries"
    MISTAKEN: ClassVar[bool] = True
    GROUPED: ClassVar[bool] = True
    MODEL: ClassVar[type[ScoreModel]] = RankingModel


def check_numbers(y: Any, who: str) -> Floats:
    """Targets of a regression as finite float64 numbers; refuses complex ones, and None, which NumPy takes for NaN."""
    given = np.asarray(y)
    if given.dtype.kind not in "biufO":
        raise KindError(f"{who}: y must hold real numbers; got dtype {given.dtype}.")
    try:
        found: Floats = given.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise KindError(f"{who}: y must hold real numbers; {error}.") from error
    if found.size:
        check_finite(found, "y", who)
    return found
