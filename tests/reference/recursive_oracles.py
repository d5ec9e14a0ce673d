"""Slow twins of recursive kernel ridge regression: the batch solution, and KRLS-T on explicit matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def batch_ridge(
    kernel: Any, X: Floats, y: Floats, alpha: float, x: Floats, w: Floats | None = None
) -> tuple[Floats, Floats]:
    """f(x) of kernel ridge regression and its variance: k'(K + αS⁻¹)⁻¹y and k(x, x) − k'(K + αS⁻¹)⁻¹k."""
    G = kernel(X) + alpha * np.diag(1 / (np.ones(len(X)) if w is None else w))
    k = kernel(x, X)
    return k @ np.linalg.solve(G, y), kernel.diag(x) - np.einsum("ij,ji->i", k, np.linalg.solve(G, k.T))


class SlowTracker:
    """The kernel recursive least-squares tracker by its published formulas: mean μ and covariance Σ of f on the rows S.

    At each example, with K = k(S, S), k = k(S, x) and q = K⁻¹k:

        forgetting      μ ← √λ μ,  Σ ← λΣ + (1 − λ)K
        prediction      ŷ = q·μ,  γ² = k(x, x) − q·k,  σ² = q·Σq (+ γ² if x is added),  s = α/ω + σ²
        x is added      μ ← [μ; ŷ],  Σ ← [Σ, Σq; (Σq)', σ²],  p = the last column
        else            p = Σq
        correction      μ ← μ + p (y − ŷ)/s,  Σ ← Σ − p p'/s

    x is added if γ² > ν k(x, x) and the budget allows it. [Van Vaerenbergh et al. 2012, algorithm 1. There γ² is also
    in the s of a row that is not added; here such a row is taken as its projection, as in Nyström regression.]
    """

    def __init__(
        self, kernel: Any, alpha: float, nu: float, forgetting: float = 1.0, budget: int | None = None
    ) -> None:
        self.kernel, self.alpha, self.nu, self.forgetting, self.budget = kernel, alpha, nu, forgetting, budget
        self.S: list[Floats] = []
        self.places: list[int] = []
        self.mu, self.Sigma = np.empty(0), np.empty((0, 0))
        self.seen = 0

    def _onto(self, x: Floats) -> tuple[Floats, Floats]:
        """q of each row of x, and what of it lies outside of the span."""
        if not self.S:
            return np.empty((len(x), 0)), self.kernel.diag(x)
        k = self.kernel(x, np.array(self.S))
        q = np.linalg.solve(self.kernel(np.array(self.S)), k.T).T
        return q, self.kernel.diag(x) - (q * k).sum(axis=1)

    def learn(self, x: Floats, y: float, weight: float = 1.0) -> None:
        if self.S:
            self.mu = np.sqrt(self.forgetting) * self.mu
            K = self.kernel(np.array(self.S))
            self.Sigma = self.forgetting * self.Sigma + (1 - self.forgetting) * K
        q, outside = (found[0] for found in self._onto(x[None, :]))
        guess, p = q @ self.mu, self.Sigma @ q
        variance = q @ p
        full = self.budget is not None and len(self.S) == self.budget
        if outside > self.nu * self.kernel.diag(x[None, :])[0] and not full:
            variance += outside
            self.mu, p = np.append(self.mu, guess), np.append(p, variance)
            self.Sigma = np.block([[self.Sigma, p[:-1, None]], [p[None, :]]])
            self.S.append(x)
            self.places.append(self.seen)
        s = self.alpha / weight + variance
        self.mu = self.mu + p * (y - guess) / s
        self.Sigma = self.Sigma - np.outer(p, p) / s
        self.seen += 1

    def predict(self, x: Floats) -> tuple[Floats, Floats]:
        """The mean and the variance of f at each row of x."""
        q, outside = self._onto(x)
        return q @ self.mu, outside + np.einsum("ij,jk,ik->i", q, self.Sigma, q)


def mackey_glass(n: int, tau: int = 30, every: int = 6, substeps: int = 5) -> Floats:
    """x(6), x(12), … of dx/dt = 0.2 x(t − 30)/(1 + x(t − 30)¹⁰) − 0.1 x(t), n values after 300 units of time.

    From x = 1.2 by Heun's method, with five steps in a unit of time. The present value as a prediction of the next one
    has a normalised squared error of .37, and a linear combination of the last ten values .13.
    """
    h, lag = 1.0 / substeps, tau * substeps
    total = lag + (n * every + 300) * substeps
    x = np.full(total + 1, 1.2)

    def slope(now: float, then: float) -> float:
        return 0.2 * then / (1.0 + then**10) - 0.1 * now

    for t in range(lag, total):
        first = slope(x[t], x[t - lag])
        x[t + 1] = x[t] + h / 2 * (first + slope(x[t] + h * first, x[t - lag + 1]))
    return x[lag + 300 * substeps :: every * substeps][:n]


def lorenz(n: int, h: float = 0.01) -> Floats:
    """The first coordinate of the Lorenz system (10, 28, 8/3) from (1, 1, 1), by Runge and Kutta with the step h."""

    def slope(u: Floats) -> Floats:
        x, y, z = u
        return np.array([10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z])

    u, found = np.ones(3), np.empty(n)
    for t in range(n):
        a = slope(u)
        b = slope(u + h / 2 * a)
        c = slope(u + h / 2 * b)
        u = u + h / 6 * (a + 2 * b + 2 * c + slope(u + h * c))
        found[t] = u[0]
    return found


def past_values(series: Floats, lags: int) -> tuple[Floats, Floats]:
    """Rows of the last `lags` values, and the value that comes next."""
    return np.lib.stride_tricks.sliding_window_view(series, lags)[:-1].copy(), series[lags:]
