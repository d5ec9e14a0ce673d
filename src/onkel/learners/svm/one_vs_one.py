"""One against one: the outputs of all pairs of classes, their shared kernel values, and their votes.

Where the rows of two classes fit into one working set, a pair is solved whole, on the Gram matrix of its
rows. Of that the two square parts are each class's own, the same in all its pairs, and computed once.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.kernels import Kernel
from onkel.kernels.rows import Rows
from onkel.kernels.tiles import fill
from onkel.learners.svm import dual
from onkel.models.expansion import Expansion
from onkel.models.one_vs_one import OneVsOne, all_pairs

__all__ = ["PairProblems", "WarmStart"]


class PairProblems:
    """The problems of all pairs of classes; the first class of a pair is the positive one."""

    def __init__(
        self,
        classes: NDArray,
        index: NDArray[np.intp],
        weights: NDArray[np.float64],
        kernel: Kernel,
        rows: Rows,
        block_bytes: float,
    ) -> None:
        self.classes, self.kernel, self.rows, self.count = classes, kernel, rows, len(index)
        self.members = [np.flatnonzero((index == c) & (weights > 0)) for c in range(len(classes))]
        sizes = np.array([len(m) for m in self.members])
        fits = (sizes.astype(float) ** 2).sum() * rows.dtype.itemsize <= block_bytes
        self._shares = len(classes) > 2 and fits and sizes.max() >= 2  # two classes share nothing
        self._class_grams: dict[int, tuple[Rows, NDArray]] = {}
        self._locks = [threading.Lock() for _ in classes]

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(all_pairs(len(self.classes)))

    def rows_of(self, a: int, b: int) -> NDArray[np.int64]:
        """The rows of two classes; of all there are in their own order, so that nothing is copied."""
        both = np.concatenate([self.members[a], self.members[b]])
        return np.sort(both) if len(self.classes) == 2 else both

    def task(
        self, a: int, b: int, high: NDArray[np.float64], warm_start: WarmStart | None
    ) -> tuple[dual.Problem, NDArray[np.float64]]:
        """The problem of a pair, and β to begin with: 0, or that of an earlier fit, made feasible."""
        where = self.rows_of(a, b)
        first = np.zeros(self.count, dtype=bool)
        first[self.members[a]] = True
        y = np.where(first[where], 1.0, -1.0)
        ends = y * high[where]
        low, top = np.minimum(ends, 0.0), np.maximum(ends, 0.0)
        rows = self.rows if len(where) == len(self.rows) else self.rows[where]

        def gram(out: NDArray) -> None:
            self._gram(a, b, out)

        share = gram if self._shares else None
        problem = dual.Problem(self.kernel, rows, np.arange(len(ends)), y, low, top, gram=share)
        if warm_start is None:
            return problem, np.zeros(len(ends))
        beta = y * warm_start.alpha(self.classes[a], self.classes[b], where, high[where])
        return problem, dual.feasible(beta, low, top, 0.0)

    def _gram(self, a: int, b: int, out: NDArray) -> None:
        """The Gram matrix of the rows of two classes, from those of each."""
        (x, Kx), (z, Kz) = self._of_class(a), self._of_class(b)
        m = len(x)
        out[:m, :m], out[m:, m:] = Kx, Kz
        fill(self.kernel, x, z, out[:m, m:])
        out[m:, :m] = out[:m, m:].T

    def _of_class(self, c: int) -> tuple[Rows, NDArray]:
        with self._locks[c]:
            if c not in self._class_grams:
                rows = self.rows[self.members[c]]
                K = np.empty((len(rows), len(rows)), dtype=rows.dtype)
                fill(self.kernel, rows, rows, K)
                self._class_grams[c] = rows, K
            return self._class_grams[c]

    def coefficients(self, betas: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        """Of all rows, (k − 1, n), as scikit-learn has them: a row's in its pairs with the other classes, in order."""
        coef = np.zeros((len(self.classes) - 1, self.count))
        for (a, b), beta in zip(self, betas, strict=True):
            by_row = np.zeros(self.count)
            by_row[self.rows_of(a, b)] = beta
            coef[b - 1, self.members[a]] = by_row[self.members[a]]
            coef[a, self.members[b]] = by_row[self.members[b]]
        return coef


class WarmStart:
    """The α of an earlier fit, and their bounds, of all its rows."""

    def __init__(
        self, classes: NDArray, model: Expansion | OneVsOne, counts: NDArray[np.int64], high: NDArray[np.float64]
    ) -> None:
        self.classes, self.support, self.high, self.ends = classes, model.rows, high, np.cumsum(counts)
        self.coef = np.abs(model.coef if isinstance(model, OneVsOne) else model.coef.T)

    def alpha(self, a: Any, b: Any, rows: NDArray[np.int64], high: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of the pair of two classes, for some rows: what was at its bound is again, and rows that are new are at 0."""
        size = max(int(rows.max(initial=0)) + 1, len(self.high))
        alpha, bound = np.zeros(size), np.full(size, np.inf)
        bound[: len(self.high)] = self.high
        for one, other in ((a, b), (b, a)):
            i, j = np.flatnonzero(self.classes == one), np.flatnonzero(self.classes == other)
            if len(i) and len(j):
                where = slice(self.ends[i[0] - 1] if i[0] else 0, self.ends[i[0]])
                alpha[self.support[where]] = self.coef[j[0] - (j[0] > i[0]), where]
        at_bound = np.isfinite(high) & (alpha[rows] >= bound[rows]) & (bound[rows] > 0)
        found: NDArray[np.float64] = np.where(at_bound, high, alpha[rows])
        return found
