"""What learning yields: frozen models, safe to share between threads, compared by content.

    Expansion    f_c(x) = Σⱼ A_jc k(sⱼ, x) + b_c
    OneVsOne     f_ab(x), such an expansion for each pair of classes
    Vote         f_c(x) = Σ_k m_k sign(v_k·x) / m      over all guesses v_k of a run

Learners change, models do not: files, exports and servers see only these.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native
from onkel.checks import check_integer
from onkel.errors import ShapeError
from onkel.kernels import Kernel, prepare
from onkel.kernels.rows import GramRows, ObjectRows, Rows
from onkel.kernels.tiles import add_scores, fill
from onkel.kernels.vectors import VectorRows

__all__ = ["Contribution", "Expansion", "OneVsOne", "Vote", "support_data"]


class Contribution(NamedTuple):
    """One term of a score: how important an example is, times how similar."""

    row: int  # of the training data
    importance: float  # the example's coefficient
    similarity: float  # k(s, x)
    contribution: float  # their product


def support_data(s: Rows) -> Any:
    """Support rows as a user knows them; of a precomputed kernel, the columns."""
    if isinstance(s, VectorRows):
        return s.matrix
    if isinstance(s, ObjectRows):
        return s.objects
    assert isinstance(s, GramRows)
    return s.columns


def _same(a: Any, b: Any) -> bool:
    if hasattr(a, "toarray"):
        return hasattr(b, "toarray") and a.shape == b.shape and (a != b).nnz == 0
    return bool(np.array_equal(a, b))


@dataclasses.dataclass(frozen=True, eq=False)
class _OnSupport:
    kernel: Kernel
    support: Rows  # (m rows)
    rows: NDArray[np.int64]  # (m,) which training rows they are

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        same = self.kernel == other.kernel and _same(support_data(self.support), support_data(other.support))
        names = [f.name for f in dataclasses.fields(self) if f.name not in ("kernel", "support")]
        return same and all(np.array_equal(getattr(self, n), getattr(other, n)) for n in names)

    __hash__ = None  # type: ignore[assignment]

    def _rows(self, X: Any) -> Rows:
        """X at the door, of the support's width and dtype."""
        x = prepare(self.kernel, X)
        s = self.support
        if isinstance(x, VectorRows) and isinstance(s, VectorRows):
            if x.n_features != s.n_features:
                raise ShapeError(
                    f"{type(self).__name__} was trained on {s.n_features} features, so X must have shape "
                    f"(n, {s.n_features}); got {x.matrix.shape}. For one sample write X[None, :]."
                )
            if x.dtype != s.dtype:
                x = VectorRows(x.matrix.astype(s.dtype))
        return x


@dataclasses.dataclass(frozen=True, eq=False)
class Expansion(_OnSupport):
    """A kernel expansion f_c(x) = Σⱼ A_jc k(sⱼ, x) + b_c, one column c per output.

    Parameters
    ----------
    kernel : the kernel k.
    support : the rows sⱼ, as `onkel.kernels.prepare` gives them.
    rows : which training rows they were, shape (m,).
    coef : A, float64, shape (m, outputs).
    intercept : b, shape (outputs,).

    Cost: m kernel values a row.
    """

    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]

    def scores(self, X: Any) -> NDArray[np.float64]:
        """f(x) of each row, shape (n, outputs), in O(tile) memory."""
        x = self._rows(X)
        out = np.tile(self.intercept, (len(x), 1))
        if len(self.support):
            add_scores(self.kernel, x, self.support, self.coef, out)
        return out

    def explain(self, x: Any, output: int = 0) -> list[Contribution]:
        """Which examples make the score of one point, largest share first.

        Each term is how important an example is (its coefficient) times how similar it is to x:
        f(x) = Σ importance · similarity + b.
        """
        output = check_integer(output, "output", "explain", at_least=0)
        if output >= self.coef.shape[1]:
            raise ShapeError(f"explain: output must be 0 to {self.coef.shape[1] - 1}; got {output}.")
        rows = self._rows(_one(x) if self.kernel.takes != "objects" else [x])
        if len(rows) != 1:
            raise ShapeError(f"explain: x must be one point; got {len(rows)}.")
        K = np.empty((1, len(self.support)), dtype=rows.dtype)
        if len(self.support):
            fill(self.kernel, rows, self.support, K)
        importance, similarity = self.coef[:, output], K[0].astype(np.float64)
        share = importance * similarity
        order = np.argsort(-np.abs(share), kind="stable")
        return [
            Contribution(int(self.rows[j]), float(importance[j]), float(similarity[j]), float(share[j]))
            for j in order
            if importance[j] != 0
        ]

    def reduced(self, n: int) -> Expansion:
        """The n support vectors of the largest coefficients; the others' terms are dropped."""
        n = check_integer(n, "n", "reduced", at_least=1)
        size = np.abs(self.coef).max(axis=1, initial=0.0)
        keep = np.sort(np.argsort(-size, kind="stable")[:n])
        return dataclasses.replace(self, support=self.support[keep], rows=self.rows[keep], coef=self.coef[keep])


PAIR_VALUES = 1 << 22  # scores of a slab of rows


@dataclasses.dataclass(frozen=True, eq=False)
class OneVsOne(_OnSupport):
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


def _one(x: Any) -> Any:
    """One point as a row of a matrix."""
    if hasattr(x, "toarray"):
        return x if x.ndim == 2 else x.reshape(1, -1)
    array = np.asarray(x)
    return array[None, :] if array.ndim == 1 else array


VOTE_VALUES = 1 << 21  # kernel values of a tile of rows that vote


@dataclasses.dataclass(frozen=True, eq=False)
class Vote(_OnSupport):
    """The voted perceptron: all guesses of a run, weighted by how long each stood.

    f_c(x) = Σ_k m_k sign(v_k·x) / m, where v_k is the sum of the first k entries of machine c and
    m_k the number of examples it was used on, the one it failed on included; sign(0) = +1.
    All prefixes of a row cost one running sum.

    Parameters
    ----------
    kernel, support, rows : as in `Expansion`.
    place, machine, step, weight : for each entry of the ledger, in order: its support vector, its
        machine, its signed coefficient, and m_k of the guess that it makes.
    start : m₀ of each machine, shape (machines,).
    bias : 1.0 with an intercept (the kernel is then K + 1), else 0.0.

    Cost: m kernel values and one addition per mistake a row.

    Source: Freund and Schapire 1999, Large margin classification using the perceptron algorithm.
    """

    place: NDArray[np.int64]
    machine: NDArray[np.int64]
    step: NDArray[np.float64]
    weight: NDArray[np.float64]
    start: NDArray[np.float64]
    bias: float = 0.0

    def scores(self, X: Any) -> NDArray[np.float64]:
        """The share of the votes for +1 less that for −1, shape (n, machines)."""
        x = self._rows(X)
        out = np.empty((len(x), len(self.start)))
        total = self.start + np.bincount(self.machine, self.weight, minlength=len(self.start))
        step = max(1, VOTE_VALUES // max(1, len(self.support)))
        for first in range(0, len(x), step):
            part = x[first : first + step]
            K = np.empty((len(part), len(self.support)), dtype=x.dtype)
            if len(self.support):
                fill(self.kernel, part, self.support, K)
            ledger = (self.place, self.machine, self.step, self.weight)
            _native.vote(K, *ledger, self.start, self.bias, out[first : first + step])
        return out / np.maximum(total, 1.0)
