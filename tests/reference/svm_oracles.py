"""Slow, obvious twins of the SVM solvers: one pair at a time, in float64, with the whole matrix, for tiny sets.

All three SVMs solve one problem (Chang and Lin 2011, eq. 11), with different Q, p, s and C:

    min  f(a) = 1/2 aᵀQa + pᵀa     given  sᵀa = Δ,  0 ≤ a_i ≤ C_i,  s_i = ±1

                 variables      Q                      p              s          Δ
    SVC          α (n)          y_i y_j K_ij           −1             y          0
    SVR          α, α* (2n)     [K −K; −K K]           ε − y, ε + y   1, −1      0
    OneClassSVM  α (n)          K                      0              1          ν Σ C_i

With the gradient g = Qa + p, a is optimal iff some ρ makes h = g − ρ s satisfy h_i ≥ 0 where a_i < C_i and h_i ≤ 0
where a_i > 0; the intercept is b = −ρ. How far a pair (a, ρ) is from that is measured in two ways:

- violation, by which the solvers stop: max{−s_i g_i : a_i may move along s_i} − min{−s_j g_j : a_j against s_j};
- gap = Σ a_i max(h_i, 0) + (C_i − a_i) max(−h_i, 0), the primal minus the dual objective. It bounds f(a) − f(a*), and
  since f(a) − f(a*) ≥ ½‖w − w*‖² wherever K is positive semi-definite, |⟨w − w*, φ(x)⟩| ≤ √(2 gap · k(x, x)): two
  answers to one problem may differ by that much, and no more.
"""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

ALMOST = 1e-10  # of C_i: nearer than this, a coefficient is at its bound


@dataclasses.dataclass(frozen=True)
class Problem:
    """f, its constraints, and a feasible point to start from."""

    Q: NDArray[np.float64]
    p: NDArray[np.float64]
    s: NDArray[np.float64]
    C: NDArray[np.float64]
    start: NDArray[np.float64]

    def objective(self, a: NDArray) -> float:
        return float(0.5 * a @ self.Q @ a + self.p @ a)

    def gradient(self, a: NDArray) -> NDArray:
        return self.Q @ a + self.p

    def may_move(self, a: NDArray) -> tuple[NDArray, NDArray]:
        """Which a_i may go along s_i, and which against it."""
        below, above = a < self.C * (1 - ALMOST), a > self.C * ALMOST
        return np.where(self.s > 0, below, above), np.where(self.s > 0, above, below)

    def violation(self, a: NDArray) -> float:
        v, (up, low) = -self.s * self.gradient(a), self.may_move(a)
        return float(v[up].max() - v[low].min()) if up.any() and low.any() else 0.0

    def gap(self, a: NDArray, b: float) -> float:
        h = self.gradient(a) + b * self.s
        return float(np.maximum(h, 0) @ a + np.maximum(-h, 0) @ (self.C - a))

    def worst(self, a: NDArray, b: float) -> float:
        """The largest |h_i| that has the wrong sign for where a_i is."""
        h = self.gradient(a) + b * self.s
        below, above = a < self.C * (1 - ALMOST), a > self.C * ALMOST
        return float(np.max(np.concatenate([-h[below], h[above], [0.0]])))

    def infeasible(self, a: NDArray) -> float:
        """How far a is out of the box, and sᵀa from Δ: 0 for an answer to the problem."""
        return float(max(-a.min(), (a - self.C).max(), abs(self.s @ (a - self.start)), 0.0))


def classification(K: NDArray, y: NDArray, C: NDArray) -> Problem:
    """y of ±1; C of each row."""
    y = np.asarray(y, dtype=np.float64)
    return Problem(y[:, None] * y * K, -np.ones(len(y)), y, np.broadcast_to(C, y.shape), np.zeros(len(y)))


def regression(K: NDArray, y: NDArray, C: NDArray, epsilon: float) -> Problem:
    s = np.repeat([1.0, -1.0], len(y))
    p = np.concatenate([epsilon - y, epsilon + y])
    C = np.tile(np.broadcast_to(C, y.shape), 2)
    return Problem(s[:, None] * s * np.tile(K, (2, 2)), p, s, C, np.zeros(2 * len(y)))


def one_class(K: NDArray, nu: float, weights: NDArray) -> Problem:
    start, left = np.zeros(len(weights)), nu * weights.sum()
    for i, weight in enumerate(weights):
        start[i] = min(weight, left)
        left -= start[i]
    return Problem(K, np.zeros(len(weights)), np.ones(len(weights)), np.asarray(weights, dtype=np.float64), start)


def smo(problem: Problem, tol: float = 1e-9, steps: int = 100_000) -> NDArray[np.float64]:
    """The most violating row and, of the others, the one that promises most [Fan, Chen, Lin 2005, WSS 2]."""
    Q, s, C, a = problem.Q, problem.s, problem.C, problem.start.copy()
    for _ in range(steps):
        v, (up, low) = -s * problem.gradient(a), problem.may_move(a)
        if not up.any() or not low.any():
            return a
        i = int(np.where(up, v, -np.inf).argmax())
        ahead = v[i] - v
        if ahead[low].max() < tol:
            return a
        curvature = Q[i, i] + np.diag(Q) - 2 * s[i] * s * Q[i]
        curvature = np.where(curvature > 0, curvature, 1e-12)
        j = int(np.where(low & (ahead > 0), ahead**2 / curvature, -np.inf).argmax())
        rooms = (C[i] - a[i] if s[i] > 0 else a[i], a[j] if s[j] > 0 else C[j] - a[j])
        step = min(ahead[j] / curvature[j], *rooms)
        a[i], a[j] = a[i] + s[i] * step, a[j] - s[j] * step
    raise AssertionError(f"no answer after {steps} steps: still {problem.violation(a)} from it")


# ---------------------------------------------------------------- what an estimator found


class Answer(NamedTuple):
    """One machine of an estimator: the rows that it saw, its s of them, a and b."""

    rows: NDArray[np.intp]
    s: NDArray[np.float64]
    a: NDArray[np.float64]
    b: float


def dense(A: Any) -> NDArray:
    return A.toarray() if sp.issparse(A) else np.asarray(A)


def pairs(machine: Any, y: NDArray) -> list[Answer]:
    """The one-vs-one outputs of an SVC, read from dual_coef_, support_, n_support_ and intercept_ alone.

    Laid out as scikit-learn does: of two classes, the second is +1; of more, of each pair the first.
    """
    D, classes = dense(machine.dual_coef_).astype(np.float64), machine.classes_
    starts = np.concatenate([[0], np.cumsum(machine.n_support_)])
    found = []
    for number, (i, j) in enumerate(itertools.combinations(range(len(classes)), 2)):
        rows = np.flatnonzero((y == classes[i]) | (y == classes[j]))
        terms = np.zeros(len(y))
        of_i, of_j = (slice(starts[c], starts[c + 1]) for c in (i, j))
        terms[machine.support_[of_i]] = D[j - 1, of_i]
        terms[machine.support_[of_j]] = D[i, of_j]
        plus = classes[j] if len(classes) == 2 else classes[i]
        s = np.where(y[rows] == plus, 1.0, -1.0)
        found.append(Answer(rows, s, s * terms[rows], float(machine.intercept_[number])))
    return found


def single(machine: Any, n: int) -> Answer:
    """The machine of an SVR, its a = (α, α*), or of a OneClassSVM."""
    terms = np.zeros(n)
    terms[machine.support_] = dense(machine.dual_coef_)[0]
    b = float(np.ravel(machine.intercept_)[0])
    if hasattr(machine, "offset_"):
        return Answer(np.arange(n), np.ones(n), terms, b)
    a = np.concatenate([np.maximum(terms, 0), np.maximum(-terms, 0)])
    return Answer(np.arange(n), np.repeat([1.0, -1.0], n), a, b)


def objectives(machine: Any, kernel: Any, X: Any, y: NDArray, epsilon: float = 0.0) -> NDArray[np.float64]:
    """f(a) of each output, from its support vectors alone, in float64: for sets whose matrix is too large."""
    if hasattr(machine, "classes_"):
        return np.array(
            [_value(kernel, X[one.rows[one.a > 0]], (one.s * one.a)[one.a > 0]) for one in pairs(machine, y)]
        )
    terms = dense(machine.dual_coef_)[0].astype(np.float64)
    half = _half(kernel, X[machine.support_], terms)
    if hasattr(machine, "offset_"):
        return np.array([half])
    return np.array([half + epsilon * np.abs(terms).sum() - y[machine.support_] @ terms])


def _half(kernel: Any, S: Any, terms: NDArray) -> float:
    return float(0.5 * terms @ kernel(S.astype(np.float64)) @ terms) if len(terms) else 0.0


def _value(kernel: Any, S: Any, terms: NDArray) -> float:
    return _half(kernel, S, terms) - float(np.abs(terms).sum())
