"""Class labels as targets: ±1 for each output, one-vs-rest; and the check of labels.

Two classes share one output, which is positive for `classes[1]`. More classes have one output each. If the classes are
known from the start, any other label is an error. Otherwise they are found as they come:

- While there is one class, its target is +1, wherever it will stand among the sorted classes.
- The second class has the target −1. If +1 then means `classes[0]`, the sign of the output is changed whenever scores
  and coefficients are shown to the user (`sign`).
- At the third class the single output becomes two: a copy for the first class and a mirrored copy for the second. The
  output of the third class, and of every later one, starts at zero with its first example.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from onkel.errors import InputError, KindError
from onkel.estimators.base.targets import Decoded, Floats
from onkel.estimators.state.checks import check_different
from onkel.learners.learner import Learner
from onkel.models.decision import Classes, Decision
from onkel.models.model import ScoreModel
from onkel.states.state import State

__all__ = ["SHOWN", "Labels", "check_labels", "refuse_one_class", "refuse_other_classes"]

SHOWN = 10  # classes at most that a message lists


def check_labels(y: NDArray, who: str) -> None:
    """Refuses a y that cannot be class labels."""
    try:
        np.unique(y)
    except TypeError as error:
        raise _mixed_kinds(y, who) from error
    check_classification_targets(y)


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


def _exact(labels: Sequence[Any]) -> NDArray | None:
    """Labels as an array that holds each of them exactly; None if NumPy has no dtype for them."""
    array = np.asarray(labels)
    if array.tolist() == list(labels):
        return array
    if all(isinstance(label, int) for label in labels) and min(labels) >= 0 and max(labels) < 1 << 64:
        return np.array(labels, dtype=np.uint64)  # which NumPy takes for float64
    return None


def refuse_one_class(classes: NDArray, who: str, advice: str = "") -> None:
    """Refuses data with a single class, or none."""
    if len(classes) < 2:
        raise InputError(
            f"{who} needs at least two classes; the data has {len(classes)} class: {classes.tolist()}.{advice}"
        )


def refuse_other_classes(given: Any, classes: NDArray, who: str) -> None:
    """Refuses the `classes` of a later call of partial_fit that are not those of the first; None repeats them."""
    if given is not None and not np.array_equal(np.unique(np.asarray(given)), classes):
        raise InputError(f"{who}: classes must be those of the first call, {classes.tolist()}; got {list(given)}.")


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
    MISTAKEN: ClassVar[bool] = True
    GROUPED: ClassVar[bool] = False
    MODEL: ClassVar[type[ScoreModel]] = ScoreModel

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

    def decode(self, y: NDArray, who: str) -> Decoded:
        if y.dtype.kind in "biuf" and y.dtype == self.classes.dtype and self.found:
            place = np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)
            if (self.classes[place] == y).all():  # no new label, so y need not be sorted
                return Decoded(self.order[place], self.found, y.dtype)
        labels, first, inverse = np.unique(y, return_index=True, return_inverse=True)
        given = labels.tolist()
        for label in given:
            self._check(label, who)
        new = [given[i] for i in np.argsort(first, kind="stable").tolist() if given[i] not in self._index]
        places = self._index | {label: len(self.found) + i for i, label in enumerate(new)}
        codes = np.array([places[label] for label in given], dtype=np.intp)[inverse.ravel()]
        return Decoded(codes, (*self.found, *new), y.dtype)

    def first_examples(self, decoded: Decoded, n_seen: int) -> list[int]:
        if decoded.labels is self.found and self.all_seen(n_seen):
            return []
        unseen = np.array([not self.has_seen(label, n_seen) for label in decoded.labels], dtype=bool)
        candidates = np.flatnonzero(unseen[decoded.y])
        _, first = np.unique(decoded.y[candidates], return_index=True)
        found: list[int] = sorted(candidates[first].tolist())
        return found

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

    def with_examples(self, decoded: Decoded, first: list[int], n_seen: int) -> Self:
        if not first and self.latest <= n_seen:
            return self
        since = {label: round for label, round in self.since.items() if round <= n_seen}
        new = [decoded.labels[decoded.y[i]] for i in first]
        since |= {label: n_seen + 1 + i for label, i in zip(new, first, strict=True)}
        late = tuple(label for label in new if label not in self._index)
        found = (*self.found, *late) if late else self.found
        dtype = self._joint(decoded.dtype) if new else self.dtype
        if dtype is not None and dtype.kind == "f" and all(isinstance(label, int) for label in found):
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

    def encode(self, decoded: Decoded) -> Floats:
        if decoded.labels is self.found:
            return self._signs(decoded.y)
        places = np.array([self._index.get(label, -1) for label in decoded.labels], dtype=np.intp)
        return self._signs(places[decoded.y])

    def knows(self, y: Any, n_seen: int) -> bool:
        if self.latest and self.latest > n_seen:  # 0: all were known from the start; n_seen takes longer
            return False
        try:
            return y in self.since and type(y) is not complex  # 1 + 0j equals 1
        except TypeError:  # it cannot be hashed
            return False

    def target(self, y: Any) -> Floats:
        index = self._index[y]
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

    def decision(self, learner: Learner) -> Decision:
        n_seen = learner.n_seen
        if self.all_seen(n_seen):
            return Classes(self.classes)
        return Classes(self.classes, np.array([self.has_seen(label, n_seen) for label in self.classes.tolist()]))

    def decide_one(self, scores: Floats, learner: Learner) -> Any:
        if len(self.found) == 2 and self.all_seen(learner.n_seen):
            return self.labels[scores.item() * self.sign >= 0]
        label = self.decision(learner).decide(self.by_class(scores))[0]
        return label.item() if isinstance(label, np.generic) else label

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
