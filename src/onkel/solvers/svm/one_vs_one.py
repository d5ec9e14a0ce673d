"""One-vs-one: one binary SVM per pair of classes; the kernel values that the pairs share, and warm starts.

If the rows of two classes fit into one working set, their problem is solved on the Gram matrix of these rows. Two
blocks of it are the Gram matrices of the single classes. They are the same in all pairs of a class, and are computed
once. How the pairs vote is in `onkel.models.one_vs_one`.

A fit that is stopped has a sensible solution of every pair all the same: pairs that were not yet solved, or not yet as
well, are solved on a sample of the rows, an eighth of each class, and to a coarse tolerance (`solve_coarsely`). Most of
the time of a fit goes into kernel values, and an eighth of the rows takes a 64th of them. (A coarse tolerance on all
rows takes as many kernel values as a fine one, and a start from a coarse solution saves no more steps than that took.)
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.kernels import Kernel
from onkel.kernels.rows import Rows
from onkel.kernels.tiles import fill
from onkel.models.expansion import Expansion
from onkel.models.one_vs_one import OneVsOne, all_pairs
from onkel.solvers.svm import dual
from onkel.solvers.svm.problem import Problem, Solution, feasible

__all__ = ["PairProblems", "WarmStart"]

SAMPLED = 8  # one of so many rows of a class is in the sample
LEAST, MOST = 2, 2048  # rows of a class, if it has as many, and of all classes in the sample
COARSE = 0.1  # tolerance on the sample, if tol is smaller


class PairProblems:
    """The dual problems of all pairs of classes; the first class of a pair is the positive one.

    Parameters
    ----------
    classes : the k classes.
    index : (n,), the class of each row, as an index of `classes`.
    weights : sample weights (n,), ≥ 0; rows of weight 0 are left out.
    kernel, rows : the kernel, and the n rows.
    block_bytes : memory for the Gram matrices of all classes; if they take more, they are not shared.
    """

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
        self._shares = len(classes) > 2 and fits and sizes.max() >= 2  # a single pair has nothing to share
        self._class_grams: dict[int, tuple[Rows, NDArray]] = {}
        self._locks = [threading.Lock() for _ in classes]
        self._block_bytes = block_bytes

    def __iter__(self) -> Iterator[tuple[int, int]]:
        return iter(all_pairs(len(self.classes)))

    def rows_of(self, a: int, b: int) -> NDArray[np.int64]:
        """The rows of two classes, class by class. If there are only two, in the order of the data, to avoid a copy."""
        both = np.concatenate([self.members[a], self.members[b]])
        return np.sort(both) if len(self.classes) == 2 else both

    def problem(
        self, a: int, b: int, high: NDArray[np.float64], warm_start: WarmStart | None = None
    ) -> tuple[Problem, NDArray[np.float64]]:
        """The problem of the pair (a, b), and the β to start from: 0, or that of an earlier fit, made feasible.

        `high` (n,) is the bound C w of each row.
        """
        members = self.rows_of(a, b)
        first = np.zeros(self.count, dtype=bool)
        first[self.members[a]] = True
        y = np.where(first[members], 1.0, -1.0)
        ends = y * high[members]
        low, top = np.minimum(ends, 0.0), np.maximum(ends, 0.0)
        rows = self.rows if len(members) == len(self.rows) else self.rows[members]

        def gram(out: NDArray) -> None:
            self._gram(a, b, out)

        share = gram if self._shares else None
        problem = Problem(self.kernel, rows, np.arange(len(ends)), y, low, top, gram=share)
        if warm_start is None:
            return problem, np.zeros(len(ends))
        beta = y * warm_start.alpha(self.classes[a], self.classes[b], members, high[members])
        return problem, feasible(beta, low, top, 0.0)

    def solve_coarsely(self, high: NDArray[np.float64], tol: float) -> Iterator[Solution]:
        """A solution of every pair, in their order, on a sample of the rows; its other rows have β = 0.

        The kernel values of the sample are computed once, for all pairs. The duality gap is a simple bound: the
        objective is at least −Σ C w, since w = 0 costs as much.
        """
        sample = self._sample()
        which = np.concatenate([m[s] for m, s in zip(self.members, sample, strict=True)])
        ends = np.cumsum([len(s) for s in sample])
        rows = self.rows[which]
        K = np.empty((len(which), len(which)), dtype=rows.dtype)
        fill(self.kernel, rows, rows, K)
        for a, b in self:
            chosen = np.concatenate([np.arange(ends[c] - len(sample[c]), ends[c]) for c in (a, b)])
            y = np.repeat([1.0, -1.0], [len(sample[a]), len(sample[b])])
            found = dual.solve_block(K, chosen, y, high[which[chosen]], max(tol, COARSE))
            beta = np.zeros(len(self.members[a]) + len(self.members[b]))
            beta[np.concatenate([sample[a], len(self.members[a]) + sample[b]])] = found.beta
            bound = found.objective + float(high[self.members[a]].sum() + high[self.members[b]].sum())
            yield found._replace(beta=beta, dual_gap=bound)

    def _sample(self) -> list[NDArray[np.int64]]:
        """Of each class the positions of the sampled rows among its members, evenly spaced."""
        fitting = math.isqrt(int(self._block_bytes) // self.rows.dtype.itemsize)
        most = min(MOST, fitting) // len(self.classes)
        counts = [min(len(m), max(LEAST, len(m) // SAMPLED), max(LEAST, most)) for m in self.members]
        return [np.arange(count) * len(m) // max(count, 1) for count, m in zip(counts, self.members, strict=True)]

    def _gram(self, a: int, b: int, out: NDArray) -> None:
        """The Gram matrix of the rows of two classes, using the Gram matrices of each."""
        (x, Kx), (z, Kz) = self._of_class(a), self._of_class(b)
        m = len(x)
        out[:m, :m], out[m:, m:] = Kx, Kz
        fill(self.kernel, x, z, out[:m, m:])
        out[m:, :m] = out[:m, m:].T

    def _of_class(self, c: int) -> tuple[Rows, NDArray]:
        """The rows of a class and their Gram matrix, computed once."""
        with self._locks[c]:
            if c not in self._class_grams:
                rows = self.rows[self.members[c]]
                K = np.empty((len(rows), len(rows)), dtype=rows.dtype)
                fill(self.kernel, rows, rows, K)
                self._class_grams[c] = rows, K
            return self._class_grams[c]

    def coefficients(self, betas: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        """The coefficients of all rows, (k − 1, n), laid out as LIBSVM and scikit-learn do.

        Column i holds the coefficients of row i in the pairs of its class with the other classes, in their order.
        """
        coef = np.zeros((len(self.classes) - 1, self.count))
        for (a, b), beta in zip(self, betas, strict=True):
            by_row = np.zeros(self.count)
            by_row[self.rows_of(a, b)] = beta
            coef[b - 1, self.members[a]] = by_row[self.members[a]]
            coef[a, self.members[b]] = by_row[self.members[b]]
        return coef


class WarmStart:
    """The α of an earlier fit, to start from.

    Parameters
    ----------
    classes, model : the classes and the model of the earlier fit.
    counts : its number of support vectors of each class.
    high : the bound C w of each of its rows.
    """

    def __init__(
        self, classes: NDArray, model: Expansion | OneVsOne, counts: NDArray[np.int64], high: NDArray[np.float64]
    ) -> None:
        self.classes, self.support, self.high, self.ends = classes, model.row_ids, high, np.cumsum(counts)
        self.coef = np.abs(model.coef if isinstance(model, OneVsOne) else model.coef.T)

    def alpha(self, a: Any, b: Any, rows: NDArray[np.int64], high: NDArray[np.float64]) -> NDArray[np.float64]:
        """α to start from, for some rows of the pair (a, b), with new bounds `high`.

        Rows at their old bound go to the new one, others keep their α, and new rows start at 0.
        """
        size = max(int(rows.max(initial=0)) + 1, len(self.high))
        alpha, bound = np.zeros(size), np.full(size, np.inf)
        bound[: len(self.high)] = self.high
        for one, other in ((a, b), (b, a)):
            i, j = np.flatnonzero(self.classes == one), np.flatnonzero(self.classes == other)
            if len(i) and len(j):
                own = slice(self.ends[i[0] - 1] if i[0] else 0, self.ends[i[0]])  # the support vectors of class `one`
                alpha[self.support[own]] = self.coef[j[0] - (j[0] > i[0]), own]
        at_bound = np.isfinite(high) & (alpha[rows] >= bound[rows]) & (bound[rows] > 0)
        found: NDArray[np.float64] = np.where(at_bound, high, alpha[rows])
        return found
