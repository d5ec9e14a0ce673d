"""One against one: an expansion for each pair of classes, and how their votes make a class."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.kernels.rows import Rows
from onkel.kernels.tiles import add_scores
from onkel.models.model import SupportModel

__all__ = ["OneVsOne", "all_pairs", "by_class", "votes"]

PAIR_VALUES = 1 << 22  # scores of a slab of rows


@dataclasses.dataclass(frozen=True, eq=False)
class OneVsOne(SupportModel):
    """An expansion for each pair of classes a < b, positive for a, over one set of support vectors.

    A support vector of class a has a coefficient in each of the k − 1 pairs of its class; row j of
    `coef` is the pair with the j-th of the other classes, as in scikit-learn's `dual_coef_`.

    Parameters
    ----------
    kernel, support, rows : as in `Expansion`; the support vectors of a class stand together.
    counts : how many each class has, shape (classes,).
    coef : shape (classes − 1, m).
    intercept : of the pairs (0, 1), (0, 2), …, (1, 2), ….

    Cost: m kernel values a row, each with k − 1 coefficients.
    """

    counts: NDArray[np.int64]
    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]

    def scores(self, X: Any) -> NDArray[np.float64]:
        """(n, pairs)."""
        x = self._rows(X)
        k = len(self.counts)
        out = np.tile(self.intercept, (len(x), 1))
        step = max(1, PAIR_VALUES // (k * (k - 1)))
        for first in range(0, len(x), step):
            part = x[first : first + step] if step < len(x) else x
            out[first : first + step] += self._of_pairs(part)
        return out

    def _of_pairs(self, x: Rows) -> NDArray[np.float64]:
        k, ends = len(self.counts), np.cumsum(self.counts)
        shares = np.zeros((k, len(x), k - 1))  # of each class's support vectors
        for c in range(k):
            where = slice(ends[c] - self.counts[c], ends[c])
            if self.counts[c]:
                s = self.support.keep(("class", c), lambda where=where: self.support[where])  # type: ignore[misc]
                add_scores(self.kernel, x, s, np.ascontiguousarray(self.coef[:, where].T), shares[c])
        return np.column_stack([shares[a, :, b - 1] + shares[b, :, a] for a in range(k) for b in range(a + 1, k)])


def all_pairs(k: int) -> list[tuple[int, int]]:
    """(0, 1), (0, 2), …, (1, 2), …, as LIBSVM orders them."""
    return [(a, b) for a in range(k) for b in range(a + 1, k)]


def votes(first: NDArray[np.bool_], k: int) -> NDArray[np.float64]:
    """How many pairs vote for each class; `first` (n, pairs): whether a pair votes for its first class."""
    counts = np.zeros((len(first), k))
    for column, (a, b) in enumerate(all_pairs(k)):
        counts[:, a] += first[:, column]
        counts[:, b] += ~first[:, column]
    return counts


def by_class(scores: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """A score for each class: its votes and, within a third of a vote, the sum of its pairs' scores."""
    sums = np.zeros((len(scores), k))
    for column, (a, b) in enumerate(all_pairs(k)):
        sums[:, a] += scores[:, column]
        sums[:, b] -= scores[:, column]
    found: NDArray[np.float64] = votes(scores >= 0, k) + sums / (3 * (np.abs(sums) + 1))
    return found
