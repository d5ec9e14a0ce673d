"""One-vs-one classification: an expansion for each pair of classes, and the votes that choose a class."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from onkel.kernels.rows import Rows
from onkel.kernels.tiles import add_scores
from onkel.models.expansion import Expansion, ReducedExpansion
from onkel.models.scorer import Contribution, SupportModel, check_output
from onkel.states.state import State

__all__ = ["OneVsOne", "all_pairs", "by_class", "votes"]

PAIR_VALUES = 1 << 22  # scores (row, class, other class) that are computed at a time


@dataclasses.dataclass(frozen=True, eq=False)
class OneVsOne(SupportModel):
    """An expansion for each pair of classes a < b, all over the same support vectors; a score > 0 is for class a.

    A support vector of class a has k − 1 coefficients, one for each pair of a and another of the k classes. Row j of
    `coef` holds the coefficients for the pair with the j-th of the other classes, the layout of scikit-learn's
    `dual_coef_`.

    Parameters
    ----------
    kernel : the kernel k.
    support : the m support vectors, as `onkel.kernels.prepare` returns rows, sorted by class.
    row_ids : the index of each support vector in the training data, shape (m,).
    counts : the number of support vectors of each class, shape (classes,).
    coef : the coefficients, shape (classes − 1, m).
    intercept : the offsets of the pairs (0, 1), (0, 2), …, (1, 2), …, shape (pairs,).

    Cost: m kernel values per row, each of them used with k − 1 coefficients.
    """

    KIND: ClassVar[str] = "scorer/one-vs-one"

    counts: NDArray[np.int64]
    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]

    @property
    def n_outputs(self) -> int:
        """The number of scores of a row, one for each pair of classes."""
        return len(self.intercept)

    def scores(self, X: Any) -> NDArray[np.float64]:
        """The scores of all pairs (0, 1), (0, 2), …, (1, 2), …, shape (n, pairs)."""
        x = self._rows(X)
        k = len(self.counts)
        out = np.tile(self.intercept, (len(x), 1))
        step = max(1, PAIR_VALUES // (k * (k - 1)))
        for first in range(0, len(x), step):
            part = x[first : first + step] if step < len(x) else x
            out[first : first + step] += self._of_pairs(part)
        return out

    def _of_pairs(self, x: Rows) -> NDArray[np.float64]:
        """The scores of all pairs without their offsets: each is the sum of the shares of its two classes."""
        k, ends = len(self.counts), np.cumsum(self.counts)
        shares = np.zeros((k, len(x), k - 1))  # sums over the support vectors of class c, for each of its pairs
        for c in range(k):
            of_c = slice(ends[c] - self.counts[c], ends[c])
            if self.counts[c]:
                s = self.support.keep(("class", c), lambda of_c=of_c: self.support[of_c])  # type: ignore[misc]
                add_scores(self.kernel, x, s, np.ascontiguousarray(self.coef[:, of_c].T), shares[c])
        return np.column_stack([shares[a, :, b - 1] + shares[b, :, a] for a, b in all_pairs(k)])

    def explain(self, x: Any, output: int = 0) -> list[Contribution]:
        """The terms of the sum that is the score of one pair of classes at one point x, the largest first.

        Each term is the importance of a support vector (its coefficient) times its similarity to x (the kernel value):
        f_ab(x) = Σ importance · similarity + b, over the support vectors of the classes a and b. Positive terms speak
        for a. Support vectors with coefficient 0 are left out.

        Parameters
        ----------
        x : one point: a vector, a matrix of one row, or one object for kernels on objects.
        output : the pair whose score is explained, as its position in (0, 1), (0, 2), …, (1, 2), …; a class is given by
            its position in `classes_`. 0 (default) is the pair of the first two classes.
        """
        pair = all_pairs(len(self.counts))[check_output(output, self.n_outputs)]
        return self._explanation(self._coef_of_pair(*pair), self._similarities(x))

    def _coef_of_pair(self, a: int, b: int) -> NDArray[np.float64]:
        """The coefficient of each support vector in the score of the classes a < b, shape (m,)."""
        coef, ends = np.zeros(len(self.support)), np.cumsum(self.counts)
        for c, row in ((a, b - 1), (b, a)):
            of_c = slice(ends[c] - self.counts[c], ends[c])
            coef[of_c] = self.coef[row, of_c]
        return coef

    def expansion(self) -> Expansion:
        """The same scores as an expansion with a column of coefficients for each pair, shape (m, pairs)."""
        coef = np.column_stack([self._coef_of_pair(a, b) for a, b in all_pairs(len(self.counts))])
        return Expansion(self.kernel, self.support, self.row_ids, coef, self.intercept)

    def reduced(self, n: int | None = None, *, tol: float | None = None) -> ReducedExpansion:
        """The nearest expansion over few support vectors, which all pairs share; see `Expansion.reduced`."""
        return self.expansion().reduced(n, tol=tol)

    def state(self) -> State:
        """Kernel, support vectors and arrays, as a `State`."""
        return self._state({"counts": self.counts, "coef": self.coef, "intercept": self.intercept})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The model that has this state."""
        kernel, support, row_ids = cls._read(state)
        m, counts = len(support), state.indices("counts", len(support) + 1)
        k = len(counts)
        state.check(k >= 2 and sum(counts.tolist()) == m, f"'counts' must be those of two classes or more, {m} in all")
        coef = state.array("coef", np.float64, (k - 1, m))
        return cls(kernel, support, row_ids, counts, coef, state.array("intercept", np.float64, (k * (k - 1) // 2,)))


def all_pairs(k: int) -> list[tuple[int, int]]:
    """All pairs of k classes in LIBSVM's order: (0, 1), (0, 2), …, (1, 2), …."""
    return [(a, b) for a in range(k) for b in range(a + 1, k)]


def votes(first: NDArray[np.bool_], k: int) -> NDArray[np.float64]:
    """The number of votes for each class, (n, k); `first` (n, pairs) is True where a pair votes for its first class."""
    counts = np.zeros((len(first), k))
    for column, (a, b) in enumerate(all_pairs(k)):
        counts[:, a] += first[:, column]
        counts[:, b] += ~first[:, column]
    return counts


def by_class(scores: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """A score for each class, (n, k): its number of votes, plus the sum of its pairs' scores squashed into ±⅓.

    The sum only decides between classes with equally many votes. The layout is that of scikit-learn's "ovr" shape.
    """
    sums = np.zeros((len(scores), k))
    for column, (a, b) in enumerate(all_pairs(k)):
        sums[:, a] += scores[:, column]
        sums[:, b] -= scores[:, column]
    found: NDArray[np.float64] = votes(scores >= 0, k) + sums / (3 * (np.abs(sums) + 1))
    return found
