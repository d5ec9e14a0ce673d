"""From scores to classes: the class that is predicted from the scores of an example."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["best_class"]


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
