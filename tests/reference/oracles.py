"""Slow, obvious twins of what the library does fast. Loops, float64, nothing clever."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import gamma, kv
from sklearn.base import BaseEstimator

from onkel.kernels import (
    RBF,
    Chi2,
    Cosine,
    HistogramIntersection,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)
from onkel.learners.ledger import LEDGER


def dot(x: NDArray, z: NDArray) -> float:
    return math.fsum(float(a) * float(b) for a, b in zip(x, z, strict=True))


def squared_distance(x: NDArray, z: NDArray) -> float:
    return math.fsum((float(a) - float(b)) ** 2 for a, b in zip(x, z, strict=True))


def matern(nu: float, length_scale: float, distance: float) -> float:
    """Rasmussen and Williams 2006, eq. 4.14."""
    if distance == 0:
        return 1.0
    if math.isinf(nu):
        return math.exp(-0.5 * (distance / length_scale) ** 2)
    r = math.sqrt(2 * nu) * distance / length_scale
    return float(2 ** (1 - nu) / gamma(nu) * r**nu * kv(nu, r)) if r < 600 else 0.0


def kernel_value(k: Kernel, x: NDArray, z: NDArray) -> float:
    """k(x, z) of one vector kernel on two rows, by its formula."""
    match k:
        case Linear():
            return dot(x, z)
        case Polynomial():
            return (k.gamma * dot(x, z) + k.coef0) ** k.degree
        case Sigmoid():
            return math.tanh(k.gamma * dot(x, z) + k.coef0)
        case Cosine():
            norms = math.sqrt(dot(x, x)) * math.sqrt(dot(z, z))
            return dot(x, z) / norms if norms > 0 else 0.0
        case RBF():
            return math.exp(-k.gamma * squared_distance(x, z))
        case Matern():
            return matern(k.nu, k.length_scale, math.sqrt(squared_distance(x, z)))
        case RationalQuadratic():
            return (1 + squared_distance(x, z) / (2 * k.alpha * k.length_scale**2)) ** -k.alpha
        case Laplacian():
            return math.exp(-k.gamma * math.fsum(abs(float(a) - float(b)) for a, b in zip(x, z, strict=True)))
        case Chi2():
            terms = ((float(a), float(b)) for a, b in zip(x, z, strict=True))
            return math.exp(-k.gamma * math.fsum((a - b) ** 2 / (a + b) for a, b in terms if a + b > 0))
        case HistogramIntersection():
            return math.fsum(min(float(a), float(b)) for a, b in zip(x, z, strict=True))
    raise AssertionError(k)


def gram(k: Kernel, X: NDArray, Z: NDArray) -> NDArray[np.float64]:
    return np.array([[kernel_value(k, x, z) for z in Z] for x in X])


def expand(k: Kernel, X: NDArray, S: NDArray, A: NDArray) -> NDArray[np.float64]:
    """f_c(x_i) = sum_j A_jc k(x_i, s_j), one value at a time."""
    K = gram(k, X, S)
    return np.array(
        [[math.fsum(K[i, j] * A[j, c] for j in range(len(S))) for c in range(A.shape[1])] for i in range(len(X))]
    )


# The maps of the compiled core in extended precision; t is the argument that the core passes (cpp/product/maps.h).


def exponential_map(t: NDArray, rate: float) -> NDArray:
    with np.errstate(over="ignore", under="ignore"):
        return np.exp(-np.longdouble(rate) * t.astype(np.longdouble))


def matern_map(t: NDArray, terms: int, scale: float) -> NDArray:
    r = np.longdouble(scale) * np.sqrt(-2 * t.astype(np.longdouble))
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        polynomial = [1, 1 + r, 1 + r + r * r / 3][terms - 1]
        return np.where(r > 11000, 0, polynomial * np.exp(-r))


def rational_quadratic_map(t: NDArray, alpha: float, scale: float) -> NDArray:
    return (1 - 2 * np.longdouble(scale) * t.astype(np.longdouble)) ** -np.longdouble(alpha)


def tanh_map(t: NDArray, rate: float, shift: float) -> NDArray:
    return np.tanh(np.longdouble(rate) * t.astype(np.longdouble) + np.longdouble(shift))


def polynomial_map(t: NDArray, degree: int, rate: float, shift: float) -> NDArray:
    with np.errstate(over="ignore", under="ignore"):
        return (np.longdouble(rate) * t.astype(np.longdouble) + np.longdouble(shift)) ** degree


# ---------------------------------------------------------------- perceptron


class SlowPerceptron:
    """One-vs-rest kernel perceptrons on a Gram matrix, one example at a time, every guess kept.

    Y (n, outputs) in {-1, 0, +1}. `guesses[o]` are the coefficient vectors of v_0, v_1, … of output o and
    `used[o]` on how many examples each was used, the one it failed on included.
    """

    def __init__(self, K: NDArray, Y: NDArray, *, bias: float = 0.0, weights: NDArray | None = None) -> None:
        self.K, self.Y = np.asarray(K, dtype=np.float64) + bias, Y
        self.weights = np.ones(len(K)) if weights is None else weights
        n, n_outputs = Y.shape
        self.guesses = [[np.zeros(n)] for _ in range(n_outputs)]
        self.used = [[0] for _ in range(n_outputs)]
        self.ledger: list[tuple[int, int, int, float]] = []
        self.rounds = 0

    def epoch(self, order: NDArray) -> int:
        before = len(self.ledger)
        for i in order:
            self.rounds += 1
            for o in range(self.Y.shape[1]):
                alpha, y = self.guesses[o][-1], self.Y[i, o]
                self.used[o][-1] += 1
                if y != 0 and y * float(alpha @ self.K[:, i]) <= 0:
                    step = y * self.weights[i]
                    following = alpha.copy()
                    following[i] += step
                    self.guesses[o].append(following)
                    self.used[o].append(0)
                    self.ledger.append((self.rounds, int(i), o, float(step)))
        return len(self.ledger) - before

    def scores(
        self, hypothesis: str, K: NDArray, bias: float = 0.0, at_round: int | None = None
    ) -> NDArray[np.float64]:
        """Σ over guesses, the long way, for rows of K (rows, n)."""
        K = K + bias
        columns = []
        for guesses, used in zip(self.guesses, self.used, strict=True):
            values = np.array([K @ guess for guess in guesses])  # (guesses, rows)
            m = np.array(used, dtype=float)
            match hypothesis:
                case "last":
                    columns.append(values[-1])
                case "averaged":
                    columns.append(m @ values / m.sum())
                case "voted":
                    columns.append(m @ np.where(values >= 0, 1.0, -1.0) / m.sum())
                case "best":
                    columns.append(values[int(np.argmax(m))])
                case "random":  # the guess in use at a round
                    columns.append(values[int(np.searchsorted(np.cumsum(m), at_round))])
        return np.array(columns).T


class SlowClassifier(BaseEstimator):
    """A `SlowPerceptron` with the face of an estimator, as far as certificates look at it."""

    def __init__(self, kernel: Kernel = Linear(), fit_intercept: bool = False, max_iter: int = 1) -> None:  # noqa: B008
        self.kernel = kernel
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter

    def fit(self, X, y, sample_weight=None):
        y = np.asarray(y)
        w = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight)
        self.kernel_, self.classes_ = self.kernel, np.unique(y)
        n_outputs = np.array([1]) if len(self.classes_) == 2 else np.arange(len(self.classes_))
        Y = np.where(y[:, None] == self.classes_[n_outputs], 1, -1)
        twin = SlowPerceptron(self.kernel(X), Y, bias=float(self.fit_intercept), weights=w)
        self.n_iter_, self.converged_ = 0, False
        while self.n_iter_ < self.max_iter and not self.converged_:
            self.n_iter_ += 1
            self.converged_ = twin.epoch(np.flatnonzero(w > 0)) == 0
        self.mistakes_ = np.array(twin.ledger, dtype=LEDGER)
        self.mistakes_["class"] = n_outputs[self.mistakes_["class"]]
        self.n_mistakes_, self.n_rounds_ = len(twin.ledger), twin.rounds
        return self
