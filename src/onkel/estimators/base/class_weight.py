"""Class weights: their check, and the weight that each row gets by its class."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import compute_class_weight

from onkel.checks import check_number
from onkel.errors import KindError, ParameterError
from onkel.estimators.base.labels import SHOWN, Labels
from onkel.estimators.base.targets import Floats, Targets

__all__ = ["check_class_weight", "class_weights", "weights_by_class"]


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
