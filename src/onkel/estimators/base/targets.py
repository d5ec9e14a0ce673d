"""What y means: labels, numbers or nothing; and how it becomes the targets of a learner's outputs.

    Labels       ±1 for each output, one-vs-rest; classes may turn up late (`Grades`, in order: base/grades.py)
    Numbers      the numbers themselves, for one output
    Unlabelled   1 for every row: there is no y
    Queries      grades of items, which are compared within a query

All are immutable. When a class turns up, new `Labels` take the place of the old ones, in the same transaction in
which the learner gets its new output.

Two classes share one output, which is positive for `classes[1]`. More classes have one output each. If the classes are
known from the start, any other label is an error. Otherwise they are found as they come:

- While there is one class, its target is +1, wherever it will stand among the sorted classes.
- The second class has the target −1. If +1 then means `classes[0]`, the sign of the output is changed whenever scores
  and coefficients are shown to the user (`sign`).
- At the third class the single output becomes two: a copy for the first class and a mirrored copy for the second. The
  output of the third class, and of every later one, starts at zero with its first example.
"""

from __future__ import annotations

import dataclasses
import itertools
import numbers
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from onkel.checks import check_finite, check_number
from onkel.errors import InputError, KindError, ParameterError
from onkel.estimators.state.checks import check_different
from onkel.models.decision import Classes, Decision, Number
from onkel.states.state import State

__all__ = [
    "Labels",
    "Numbers",
    "Queries",
    "Targets",
    "Unlabelled",
    "check_class_weight",
    "check_labels",
    "check_numbers",
    "class_weights",
    "weights_by_class",
]

Floats = NDArray[np.float64]
SHOWN = 10  # classes at most that a message lists


class Targets(Protocol):
    """What an online estimator needs to know about y."""

    kind: ClassVar[Literal["labels", "numbers", "none"]]

    @property
    def n_outputs(self) -> int:
        """The number of outputs that the learner needs."""

    def encode(self, y: NDArray) -> Floats:
        """The targets of examples whose labels have all been seen, shape (n, outputs)."""

    def first_examples(self, y: NDArray, n_seen: int, name: str) -> list[int]:
        """The positions of the examples that are the first of their class, ascending; refuses what cannot be a label.

        `n_seen` examples were learned before y. `name` is that of the estimator, for messages.
        """

    def with_examples(self, y: NDArray, first: list[int], n_seen: int) -> Self:
        """The targets after the examples of y at the positions `first`, which are the first of their classes."""

    def output_map(self, before: Self) -> Floats | None:
        """How the outputs follow from those of the targets `before`; None if they are the same.

        Matrix (old outputs, new outputs): 1 copies an output, −1 mirrors it, a zero column starts one at 0.
        """

    def by_class(self, values: Floats) -> Floats:
        """Columns in the learner's order of outputs → columns in the order in which users see them."""

    def report(self, entries: NDArray[np.void]) -> NDArray[np.void]:
        """A copy of a ledger's entries in which the field "class" is as users see it."""

    def decision(self, n_seen: int) -> Decision:
        """How scores, in the order of `by_class`, become predictions after `n_seen` examples."""

    def state(self) -> State:
        """Everything that is known about y."""


@dataclasses.dataclass(frozen=True)
class Numbers:
    """The targets of regression: one output, whose target is y itself."""

    KIND: ClassVar[str] = "targets/numbers"
    VERSION: ClassVar[int] = 1
    kind: ClassVar[Literal["labels", "numbers", "none"]] = "numbers"

    @property
    def n_outputs(self) -> int:
        return 1

    def encode(self, y: NDArray) -> Floats:
        return np.array(y, dtype=np.float64).reshape(-1, 1)

    def first_examples(self, y: NDArray, n_seen: int, name: str) -> list[int]:
        return []

    def with_examples(self, y: NDArray, first: list[int], n_seen: int) -> Self:
        return self

    def output_map(self, before: Self) -> Floats | None:
        return None

    def by_class(self, values: Floats) -> Floats:
        return values

    def report(self, entries: NDArray[np.void]) -> NDArray[np.void]:
        return entries.copy()

    def decision(self, n_seen: int) -> Decision:
        return Number()

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


@dataclasses.dataclass(frozen=True)
class Queries(Numbers):
    """The targets of ranking: one output; the grades are with the items (`onkel.learners.perceptron.groups`)."""

    KIND = "targets/queries"


def check_labels(y: NDArray, who: str) -> None:
    """Refuses a y that cannot be class labels."""
    try:
        np.unique(y)
    except TypeError as error:
        raise _mixed_kinds(y, who) from error
    check_classification_targets(y)


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


def _mixed_kinds(y: NDArray, who: str) -> KindError:
    """The error for labels that cannot be sorted; it shows two that cannot be compared."""
    of_kind: dict[type, Any] = {}
    for label in y.tolist():
        of_kind.setdefault(type(label), label)
    shown = "labels that have no order"
    for one, other in itertools.combinations_with_replacement(of_kind.values(), 2):
        try:
            _ = one < other
        except TypeError:
            shown = f"{one!r} ({type(one).__name__}) and {other!r} ({type(other).__name__})"
            break
    return KindError(
        f"{who}: y must hold labels of one kind, all numbers or all strings; got {shown}. "
        "Make them alike, for example strings by [str(label) for label in y]."
    )


def class_weights(
    class_weight: Any, y: NDArray, present: NDArray[np.bool_], who: str, targets: Targets | None, *, balanced: bool
) -> NDArray[np.float64]:
    """The class weight of each row, shape (n,).

    `present` (n,) marks the rows with a positive sample weight, from which "balanced" counts; `balanced` says whether
    "balanced" is allowed. `targets` are the classes so far; None: those of y are all.
    """
    if isinstance(class_weight, str) and class_weight == "balanced" and not balanced:
        raise ParameterError(
            f"{who}: class_weight={class_weight!r} needs all the data, so it cannot be used in partial_fit. "
            "Give a dict {class: weight}."
        )
    classes, index = np.unique(y, return_inverse=True)
    if isinstance(targets, Labels):
        check_class_weight(class_weight, targets.classes if targets.found else classes, who, more=not targets.fixed)
    else:
        check_class_weight(class_weight, classes, who)
    return weights_by_class(class_weight, classes, y[present])[index.ravel()]


def check_class_weight(class_weight: Any, classes: NDArray, who: str, *, more: bool = False) -> None:
    """Refuses a class_weight that is not None, "balanced" or a dict of classes and their weights.

    `more` says whether further classes may come: then a key must be a label of the kind of the classes that there are.
    """
    if class_weight is None or (isinstance(class_weight, str) and class_weight == "balanced"):
        return
    if not isinstance(class_weight, dict):
        wanted = "None, 'balanced' or a dict {class: weight}"
        kind = ParameterError if isinstance(class_weight, str) else KindError
        raise kind(f"{who}: class_weight must be {wanted}; got {class_weight!r}.")
    known = set(classes.tolist())
    words = any(isinstance(label, str) for label in known)
    for key, weight in class_weight.items():
        possible = more and isinstance(key, str) == words and (words or isinstance(key, numbers.Real))
        if key not in known and not possible:
            shown = f"{str(classes.tolist()[:SHOWN])[:-1]}, …]" if len(known) > SHOWN else str(classes.tolist())
            raise ParameterError(
                f"{who}: class_weight must name classes of y, {shown}; got the key {key!r}. Leave it out, or write it "
                "as the label is written in y."
            )
        check_number(weight, f"class_weight[{key!r}]", who, at_least=0.0)


def weights_by_class(class_weight: Any, classes: NDArray, y: NDArray) -> Floats:
    """The weight of each class, shape (classes,), by a class_weight that has been checked; "balanced" counts y."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, dict):
        return np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])
    found, weights = np.unique(y), np.zeros(len(classes))
    weights[np.searchsorted(classes, found)] = compute_class_weight("balanced", classes=found, y=y)
    return weights


def _exact(labels: Sequence[Any]) -> NDArray | None:
    """Labels as an array that holds each of them exactly; None if NumPy has no dtype for them."""
    array = np.asarray(labels)
    if array.tolist() == list(labels):
        return array
    if all(isinstance(label, int) for label in labels) and min(labels) >= 0 and max(labels) < 1 << 64:
        return np.array(labels, dtype=np.uint64)  # which NumPy takes for float64
    return None


class Labels:
    """The classes: `found`, in the order of the learner's outputs, and `classes`, sorted. Immutable.

    A class is seen from the round of its first example on. If all classes are known from the start, labels can be told
    the rounds of first examples before the learner has come there; those that it never reaches are forgotten.

    Parameters
    ----------
    found : the classes, in the order of the outputs.
    since : the round, counted from 1, of the first example of each class that has one; 0: seen from the start.
    fixed : whether all classes are known from the start, so that any other label is an error.
    dtype : of `classes`; None: that of the labels themselves.
    """

    KIND: ClassVar[str] = "targets/labels"
    VERSION: ClassVar[int] = 1
    kind: ClassVar[Literal["labels", "numbers", "none"]] = "labels"

    def __init__(
        self,
        found: tuple[Any, ...] = (),
        since: Mapping[Any, int] | None = None,
        *,
        fixed: bool = False,
        dtype: np.dtype | None = None,
    ) -> None:
        self.found, self.fixed, self.dtype = found, fixed, dtype
        self.since: dict[Any, int] = dict(since or {})
        self.latest = max(self.since.values(), default=0)  # the round of the last of the first examples
        self._index = {label: i for i, label in enumerate(found)}
        exact = _exact(found)
        labels = np.asarray(found) if exact is None else exact
        if dtype is not None and labels.dtype.kind not in "US" and len(labels):
            labels = labels.astype(dtype)
        self.classes: NDArray = np.unique(labels)
        if dtype is not None and dtype.kind == "O":
            self.classes = self.classes.astype(object)
        # the sorted classes as Python objects
        self.labels = [c.item() if isinstance(c, np.generic) else c for c in self.classes]
        self.n_outputs = 1 if len(found) <= 2 else len(found)
        self._rows: dict[int, Floats] = {}  # the targets (1, outputs) of classes in `found` that `target` was asked for
        # the output of each sorted class, if there are more than two
        self.order: NDArray[np.intp] = np.argsort(labels, kind="stable")
        # −1 if the single output is positive for the first of two sorted classes
        self.sign = -1.0 if len(found) == 2 and found[0] != self.classes[1] else 1.0

    @classmethod
    def known(cls, classes: NDArray, *, all_seen: bool) -> Self:
        """Labels whose classes, sorted, are known from the start."""
        # a single output has the target +1 for found[0], which shall be classes[1]
        found = tuple((classes[::-1] if len(classes) == 2 else classes).tolist())
        return cls(found, dict.fromkeys(found, 0) if all_seen else {}, fixed=True, dtype=classes.dtype)

    def has_seen(self, label: Any, n_seen: int) -> bool:
        """Whether there is an example of this class among the first `n_seen`."""
        return self.since.get(label, n_seen + 1) <= n_seen

    def all_seen(self, n_seen: int) -> bool:
        """Whether there is an example of every class among the first `n_seen`."""
        return len(self.since) == len(self.found) and self.latest <= n_seen

    # ---------------------------------------------------------------- labels → targets

    def first_examples(self, y: NDArray, n_seen: int, name: str) -> list[int]:
        """The positions of the examples that are the first of their class, ascending; refuses other labels."""
        if y.dtype.kind in "biuf" and y.dtype == self.classes.dtype and self.found and self.all_seen(n_seen):
            place = np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)
            if (self.classes[place] == y).all():  # no new label, so y need not be sorted
                return []
        labels, first = np.unique(y, return_index=True)
        new = []
        for label, position in zip(labels.tolist(), first.tolist(), strict=True):
            self._check(label, name)
            if not self.has_seen(label, n_seen):
                new.append(position)
        return sorted(new)

    def _check(self, label: Any, name: str) -> None:
        """Refuses a label that is not one of the classes known from the start, or of another kind than the others."""
        if label in self._index:
            return
        if self.fixed:
            raise InputError(
                f"{name}: y must hold the classes known from the start, {list(self.classes)}; got {label!r}. "
                "Name every class in the first partial_fit(classes=…)."
            )
        if self.found and isinstance(label, str) != isinstance(self.found[0], str):
            raise KindError(f"{name}: y must hold labels of one kind; got {label!r} after {self.found[0]!r}.")
        if _exact([*self.found, label]) is None:
            raise InputError(
                f"{name}: y must hold labels that fit into one dtype; got {label!r} after {list(self.found[:SHOWN])}, "
                "and NumPy would round them. Use labels of one dtype, or strings by [str(label) for label in y]."
            )

    def with_examples(self, y: NDArray, first: list[int], n_seen: int) -> Self:
        since = {label: round for label, round in self.since.items() if round <= n_seen}
        labels = y.tolist()
        since |= {labels[i]: n_seen + 1 + i for i in first}
        found = (*self.found, *(labels[i] for i in first if labels[i] not in self._index))
        dtype = self._joint(y.dtype)
        if dtype.kind == "f" and all(isinstance(label, int) for label in found):
            exact = _exact(found)  # where NumPy promotes int64 and uint64 to float64
            dtype = dtype if exact is None else exact.dtype
        return type(self)(found, since, fixed=self.fixed, dtype=dtype)

    def _joint(self, dtype: np.dtype) -> np.dtype:
        """A dtype for the classes so far and labels of `dtype`."""
        if self.fixed or self.dtype is None:
            return dtype if self.dtype is None else self.dtype
        if self.dtype.kind in "US":
            return dtype
        return np.promote_types(self.dtype, dtype) if {self.dtype.kind, dtype.kind} <= set("biuf") else self.dtype

    def encode(self, y: NDArray) -> Floats:
        """The targets ±1 of examples, shape (n, outputs)."""
        return self._signs(self._indices(y))

    def _indices(self, y: NDArray) -> NDArray[np.intp]:
        """The place of each label in `found`."""
        if y.dtype.kind in "biuf" and y.dtype == self.classes.dtype:
            return self.order[np.searchsorted(self.classes, y)]
        labels, inverse = np.unique(y, return_inverse=True)
        return np.array([self._index[label] for label in labels.tolist()], dtype=np.intp)[inverse.ravel()]

    def target(self, label: Any) -> Floats:
        """The targets ±1 of one label that was seen before, shape (1, outputs); shared, so do not write to it."""
        index = self._index[label]
        row = self._rows.get(index)
        if row is None:
            row = self._rows[index] = self._signs(np.array([index]))
        return row

    def _signs(self, index: NDArray[np.intp]) -> Floats:
        """The targets ±1 of classes, given by their places in `found`, shape (n, outputs)."""
        if self.n_outputs == 1:
            return np.where(index == 0, 1.0, -1.0)[:, None]
        return np.where(index[:, None] == np.arange(self.n_outputs), 1.0, -1.0)

    def output_map(self, before: Labels) -> Floats | None:
        if before.n_outputs == self.n_outputs:
            return None
        output_map = np.zeros((before.n_outputs, self.n_outputs))
        np.fill_diagonal(output_map, 1.0)
        if before.n_outputs == 1:
            output_map[0, 1] = -1.0
        return output_map

    # ---------------------------------------------------------------- what users see

    def by_class(self, values: Floats) -> Floats:
        """Columns in the learner's order of outputs → one column, positive for classes[1], or one per sorted class."""
        if self.n_outputs == 1:
            return values if self.sign > 0 else -values
        return np.ascontiguousarray(values[:, self.order])

    def report(self, entries: NDArray[np.void]) -> NDArray[np.void]:
        """A copy of a ledger's entries in which the field "class" is an index in the sorted classes."""
        entries = entries.copy()
        if self.n_outputs == 1:
            entries["class"] = len(self.classes) - 1
            entries["step"] *= self.sign
            return entries
        entries["class"] = np.argsort(self.order)[entries["class"]]
        return entries[np.lexsort((entries["class"], entries["round"]))]

    def decision(self, n_seen: int) -> Decision:
        if self.all_seen(n_seen):
            return Classes(self.classes)
        return Classes(self.classes, np.array([self.has_seen(label, n_seen) for label in self.classes.tolist()]))

    def state(self) -> State:
        """The classes in the order of the outputs, and since when each of them is seen (−1: not yet)."""
        found = np.empty(len(self.found), dtype=self.classes.dtype)
        found[:] = self.found
        since = np.array([self.since.get(label, -1) for label in self.found], dtype=np.int64)
        return State(self.KIND, self.VERSION, {"fixed": self.fixed}, {"found": found, "since": since})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The labels of a state; refuses those that cannot be labels, or are not different."""
        state.expect(cls.KIND, cls.VERSION)
        labels = state.array("found")
        check_different(state, "found", labels)
        rounds = state.array("since", np.int64, labels.shape)
        if (rounds < -1).any():
            raise InputError(f"the state of kind {cls.KIND!r}: 'since' must be >= -1; got {rounds.min()}.")
        found = tuple(labels.tolist())
        since = {label: round for label, round in zip(found, rounds.tolist(), strict=True) if round >= 0}
        return cls(found, since, fixed=state.setting("fixed", bool), dtype=labels.dtype if found else None)
