"""From scores to classes: which class the scores of an example choose."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["best_class"]


def best_class(scores: NDArray[np.float64], unseen: NDArray[np.bool_] | None = None) -> NDArray[np.intp]:
    """The place of the chosen class among the sorted classes, for each row.

    One column of scores stands for two classes: the second where it is ≥ 0. Several stand for one class each: the
    first of the largest. `unseen` marks classes that no example had yet; they are never chosen.
    """
    if unseen is None or not unseen.any():
        return (scores[:, 0] >= 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)
    if scores.shape[1] == 1:
        return np.repeat(np.argmin(unseen), len(scores))
    best: NDArray[np.intp] = np.where(unseen, -np.inf, scores).argmax(axis=1)
    return best
