"""Labels ↔ the ±1 targets of one-vs-rest outputs, also if classes turn up late.

Two classes share one output, which is positive for `classes[1]`. More classes have one output each. If the classes are
known from the start, any other label is an error. Otherwise they are found as they come:

- While there is one class, its target is +1, wherever it will stand among the sorted classes.
- The second class has the target −1. If +1 then means `classes[0]`, the sign of the output is changed whenever scores
  and coefficients are shown to the user (`sign`).
- At the third class the single output becomes two: a copy for the first class and a mirrored copy for the second. The
  output of the third class, and of every later one, starts at zero with its first example.
"""

from __future__ import annotations

import copy
import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets

from onkel.errors import InputError, KindError, ParameterError, ValuesError

__all__ = ["Labels", "check_labels", "class_weights"]


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


def class_weights(
    class_weight: Any, y: NDArray, present: NDArray[np.bool_], who: str, *, balanced: bool
) -> NDArray[np.float64]:
    """The class weight of each row, shape (n,).

    `present` (n,) marks the rows with a positive sample weight, from which "balanced" counts; `balanced` says whether
    "balanced" is allowed.
    """
    classes = np.unique(y)
    if isinstance(class_weight, str):
        if not balanced:
            raise ParameterError(
                f"{who}: class_weight={class_weight!r} needs all the data, so it cannot be used in partial_fit. "
                "Give a dict {class: weight}."
            )
        found = np.unique(y[present])
        of_class = np.zeros(len(classes))
        of_class[np.searchsorted(classes, found)] = compute_class_weight(class_weight, classes=found, y=y[present])
    else:
        of_class = np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])
        if of_class.min() < 0:
            raise ValuesError(f"{who}: class_weight must be >= 0; got {of_class.min():g}.")
    found_weights: NDArray[np.float64] = of_class[np.searchsorted(classes, y)]
    return found_weights


class Labels:
    """The classes of a learner: `found`, in the order of its outputs, and `classes`, sorted.

    `seen` are the classes of which there was an example; `fixed` says whether all classes are known from the start.
    """

    def __init__(self, known: NDArray | None = None, dtype: Any = None) -> None:
        self.fixed = known is not None
        self.dtype = dtype if known is None else known.dtype
        # a single output has the target +1 for found[0], which shall be classes[1]
        self.found: list[Any] = [] if known is None else (known[::-1] if len(known) == 2 else known).tolist()
        self.seen: set[Any] = set()
        self._index = {label: i for i, label in enumerate(self.found)}
        self._refresh()

    def _refresh(self) -> None:
        """Computes everything that follows from `found`."""
        found = np.asarray(self.found)
        if self.dtype is not None and found.dtype.kind not in "US" and len(found):
            found = found.astype(self.dtype)
        self.classes: NDArray = np.unique(found)
        if self.dtype == object:
            self.classes = self.classes.astype(object)
        self.n_outputs = 1 if len(self.found) <= 2 else len(self.found)
        # the targets (1, outputs) of each class in `found`
        self._targets: list[NDArray[np.float64]] = list(
            2 * np.eye(max(2, self.n_outputs))[:, None, : self.n_outputs] - 1
        )
        # the output of each sorted class, if there are more than two
        self.order: NDArray[np.intp] = np.argsort(found, kind="stable")
        # −1 if the single output is positive for the first of two sorted classes
        self.sign = -1.0 if len(self.found) == 2 and self.found[0] != self.classes[1] else 1.0

    def copy(self) -> Labels:
        twin = copy.copy(self)
        twin.found, twin.seen, twin._index = list(self.found), set(self.seen), dict(self._index)
        return twin

    def index(self, y: NDArray, who: str) -> NDArray[np.intp]:
        """Labels → their indices in `found`; new labels are appended there, in the order in which they appear."""
        if y.dtype.kind in "biuf" and y.dtype == self.classes.dtype and 0 < len(self.seen) == len(self.found):
            place = np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)
            if (self.classes[place] == y).all():  # no new label, so y need not be sorted
                return self.order[place]
        if self.dtype is None or self.dtype.kind in "US":
            self.dtype = y.dtype
        labels, first, inverse = np.unique(y, return_index=True, return_inverse=True)
        for i in np.argsort(first):
            self._index_one(labels[i].item() if hasattr(labels[i], "item") else labels[i], who)
        places = np.array([self._index[label.item() if hasattr(label, "item") else label] for label in labels])
        return places[inverse.ravel()]

    def _index_one(self, label: Any, who: str) -> int:
        """The index of one label in `found`, where a new one is appended."""
        if label not in self._index:
            if self.fixed:
                raise InputError(
                    f"{who}: y must hold the classes known from the start, {list(self.classes)}; got {label!r}. "
                    "Name every class in the first partial_fit(classes=…)."
                )
            if self.found and isinstance(label, str) != isinstance(self.found[0], str):
                raise KindError(f"{who}: y must hold labels of one kind; got {label!r} after {self.found[0]!r}.")
            self._index[label] = len(self.found)
            self.found.append(label)
            self._refresh()
        self.seen.add(label)
        return self._index[label]

    def targets(self, index: NDArray[np.intp], new_from: int) -> NDArray[np.int8]:
        """The targets ±1 of examples by their index, shape (n, outputs).

        Outputs from `new_from` on are new in this chunk: before their first example the target is 0, which a learner
        ignores.
        """
        if self.n_outputs == 1:
            return np.where(index == 0, 1, -1).astype(np.int8)[:, None]
        y = np.where(index[:, None] == np.arange(self.n_outputs), 1, -1).astype(np.int8)
        for output in range(max(new_from, 2), self.n_outputs):
            examples = np.flatnonzero(index == output)
            y[: examples[0] if len(examples) else len(y), output] = 0
        return y

    def target(self, label: Any) -> NDArray[np.float64]:
        """The targets ±1 of one label that was seen before, shape (1, outputs); shared, so do not write to it."""
        return self._targets[self._index[label]]

    def unseen(self) -> NDArray[np.bool_]:
        """Which of the sorted classes have had no example yet, shape (classes,)."""
        return np.array([label not in self.seen for label in self.classes.tolist()])

    def output_map(self, n_outputs: int) -> NDArray[np.float64] | None:
        """Matrix (old outputs, new outputs): 1 copies, −1 mirrors, a zero column starts at 0.

        None if the number of outputs, which was `n_outputs`, has not changed.
        """
        if n_outputs == self.n_outputs:
            return None
        output_map = np.zeros((n_outputs, self.n_outputs))
        np.fill_diagonal(output_map, 1.0)
        if n_outputs == 1:
            output_map[0, 1] = -1.0
        return output_map

    def report(self, entries: NDArray[Any]) -> NDArray[Any]:
        """A copy of a ledger's entries in which the field "class" is an index in the sorted classes."""
        entries = entries.copy()
        if self.n_outputs == 1:
            entries["class"] = len(self.classes) - 1
            entries["step"] *= self.sign
            return entries
        entries["class"] = np.argsort(self.order)[entries["class"]]
        return entries[np.lexsort((entries["class"], entries["round"]))]

    def out(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Columns in the learner's order of outputs → one column, positive for classes[1], or one per sorted class."""
        if self.n_outputs == 1:
            return scores if self.sign > 0 else -scores
        return np.ascontiguousarray(scores[:, self.order])
