"""Labels ↔ the ±1 targets of one-vs-rest outputs, also when labels turn up late.

Two classes share one output: +1 is `classes[1]`. More have a output each. Where the classes are
known from the start any other label is an error; otherwise they are found as they come:

- with one class so far, the one output says +1 for it, whatever its place will be;
- the second class is that output's −1, and the sign is set right on the way out;
- at the third class the output is doubled, for the first class as it is and for the second
  mirrored, and the third one's output starts, at zero, with its first example, as all later ones.
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
    """Refuses what cannot be the labels of classes."""
    try:
        np.unique(y)
    except TypeError as error:
        raise _mixed_kinds(y, who) from error
    check_classification_targets(y)


def _mixed_kinds(y: NDArray, who: str) -> KindError:
    """The error for labels that cannot be sorted, with two of them to show it."""
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
    """The class weight of each row; `present` marks the rows that count, `balanced` allows "balanced"."""
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
    """The classes of a learner, in the order of its outputs (`found`) and sorted (`classes`)."""

    def __init__(self, known: NDArray | None = None, dtype: Any = None) -> None:
        self.fixed = known is not None
        self.dtype = dtype if known is None else known.dtype
        # a single output says +1 for found[0], and that is to be classes[1]
        self.found: list[Any] = [] if known is None else (known[::-1] if len(known) == 2 else known).tolist()
        self.seen: set[Any] = set()
        self._index = {label: i for i, label in enumerate(self.found)}
        self._refresh()

    def _refresh(self) -> None:
        """What follows from `found`."""
        found = np.asarray(self.found)
        if self.dtype is not None and found.dtype.kind not in "US" and len(found):
            found = found.astype(self.dtype)
        self.classes: NDArray = np.unique(found)
        if self.dtype == object:
            self.classes = self.classes.astype(object)
        self.n_outputs = 1 if len(self.found) <= 2 else len(self.found)
        # of each of `found`
        self._targets: list[NDArray[np.float64]] = list(
            2 * np.eye(max(2, self.n_outputs))[:, None, : self.n_outputs] - 1
        )
        # which output stands for each of the sorted classes (more than two of them)
        self.order: NDArray[np.intp] = np.argsort(found, kind="stable")
        # −1 where the single output's +1 is not the second of two sorted classes
        self.sign = -1.0 if len(self.found) == 2 and self.found[0] != self.classes[1] else 1.0

    def copy(self) -> Labels:
        twin = copy.copy(self)
        twin.found, twin.seen, twin._index = list(self.found), set(self.seen), dict(self._index)
        return twin

    def index(self, y: NDArray, who: str) -> NDArray[np.intp]:
        """Labels → places in `found`, where new ones are added at the end, in order of appearance."""
        if y.dtype.kind in "biuf" and y.dtype == self.classes.dtype and 0 < len(self.seen) == len(self.found):
            at = np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)
            if (self.classes[at] == y).all():  # nothing new: they need not be sorted
                return self.order[at]
        if self.dtype is None or self.dtype.kind in "US":
            self.dtype = y.dtype
        labels, first, inverse = np.unique(y, return_index=True, return_inverse=True)
        for i in np.argsort(first):
            self._index_one(labels[i].item() if hasattr(labels[i], "item") else labels[i], who)
        places = np.array([self._index[label.item() if hasattr(label, "item") else label] for label in labels])
        return places[inverse.ravel()]

    def _index_one(self, label: Any, who: str) -> int:
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
        """(n, outputs) of ±1; outputs from `new_from` on look at nothing before their first example."""
        if self.n_outputs == 1:
            return np.where(index == 0, 1, -1).astype(np.int8)[:, None]
        y = np.where(index[:, None] == np.arange(self.n_outputs), 1, -1).astype(np.int8)
        for output in range(max(new_from, 2), self.n_outputs):
            here = np.flatnonzero(index == output)
            y[: here[0] if len(here) else len(y), output] = 0
        return y

    def target(self, label: Any) -> NDArray[np.float64]:
        """(1, outputs) of ±1 for one label that was seen before; not to be written to."""
        return self._targets[self._index[label]]

    def unseen(self) -> NDArray[np.bool_]:
        """Which of the sorted classes no example had yet."""
        return np.array([label not in self.seen for label in self.classes.tolist()])

    def output_map(self, n_outputs: int) -> NDArray[np.float64] | None:
        """How the outputs of now come from as many as there were; None if nothing changed."""
        if n_outputs == self.n_outputs:
            return None
        output_map = np.zeros((n_outputs, self.n_outputs))
        np.fill_diagonal(output_map, 1.0)
        if n_outputs == 1:
            output_map[0, 1] = -1.0
        return output_map

    def report(self, entries: NDArray[Any]) -> NDArray[Any]:
        """Entries of a ledger as the user knows the classes: a output's index is its class's."""
        entries = entries.copy()
        if self.n_outputs == 1:
            entries["class"] = len(self.classes) - 1
            entries["step"] *= self.sign
            return entries
        entries["class"] = np.argsort(self.order)[entries["class"]]
        return entries[np.lexsort((entries["class"], entries["round"]))]

    def out(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Machines' columns as the user knows them: one, for classes[1], or one per sorted class."""
        if self.n_outputs == 1:
            return scores if self.sign > 0 else -scores
        return np.ascontiguousarray(scores[:, self.order])
