"""Metrics over a stream, computed from running counts of (label, prediction) pairs or from running sums of errors."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

__all__ = ["OF_CLASSES", "OF_NUMBERS", "ErrorSums"]


class ErrorSums:
    """Sums over a regressor's targets y and errors e = y − ŷ: n, Σ|e|, Σe², and Σ(y − mean)² by Welford 1962."""

    def __init__(self) -> None:
        self.n = 0
        self.absolute = self.squared = self.mean = self.spread = 0.0

    def add(self, pairs: list[tuple[float, float]]) -> None:
        """Adds pairs (target, prediction)."""
        for y, predicted in pairs:
            self.n += 1
            self.absolute += abs(y - predicted)
            self.squared += (y - predicted) ** 2
            off = y - self.mean
            self.mean += off / self.n
            self.spread += off * (y - self.mean)


def _accuracy(confusion: Counter[tuple[Any, Any]]) -> float:
    """The fraction of correct predictions; `confusion` counts the pairs (label, prediction)."""
    return sum(count for (t, p), count in confusion.items() if t == p) / confusion.total()


def _balanced_accuracy(confusion: Counter[tuple[Any, Any]]) -> float:
    """The mean over all actual classes of recall = tp / actual."""
    actual: Counter[Any] = Counter()
    for (t, _), count in confusion.items():
        actual[t] += count
    return sum(confusion[t, t] / count for t, count in actual.items()) / len(actual)


def _f1(confusion: Counter[tuple[Any, Any]]) -> float:
    """The mean over all classes that occur as a label or as a prediction of F1 = 2 tp / (actual + predicted)."""
    marked: Counter[Any] = Counter()
    for (t, p), count in confusion.items():
        marked[t] += count
        marked[p] += count
    del marked[None]  # None stands for an example that was not predicted
    return sum(2 * confusion[c, c] / count for c, count in marked.items()) / len(marked)


OF_CLASSES: dict[str, Callable[[Counter[tuple[Any, Any]]], float]] = {
    "accuracy": _accuracy,
    "error": lambda confusion: 1.0 - _accuracy(confusion),
    "balanced_accuracy": _balanced_accuracy,
    "f1": _f1,
}


OF_NUMBERS: dict[str, Callable[[ErrorSums], float]] = {
    "mae": lambda sums: sums.absolute / sums.n if sums.n else math.nan,
    "mse": lambda sums: sums.squared / sums.n if sums.n else math.nan,
    "r2": lambda sums: 1.0 - sums.squared / sums.spread if sums.spread > 0 else math.nan,
}
