"""Ridge regression on very many centres, by conjugate gradients over the data.

    (W + αI) w = B        W = Σ s φ φᵀ,  B = Σ s φ yᵀ,  φ(x) = T⁻¹ k(S, x)        (`onkel.solvers.ridge.whitened_sums`)

W, for which r² flops a row are needed, is never computed. An iteration multiplies it by a vector v, tile by tile:

    u = k(x, S) (T⁻ᵀ v)        W v = T⁻¹ Σ s u k(S, x)

Both products use the same kernel values, which are computed once in an iteration and not kept. If the centres are a
sample of the rows, r/Σs of W is about that of the centres, whose features are the rows of T. Hence the preconditioner

    P = (Σs / r) TᵀT + αI

of FALKON, with which some 20 to 30 iterations are enough. An intercept is left out of the equations by centring W, B
and P; it follows from w at the end.

The iteration stops at the relative residual √(gᵀP⁻¹g) / √(BᵀP⁻¹B) ≤ tol, where g = B − (W + αI) w. As P is about
W + αI, that is about the error of w in the norm of the objective.

Source: Rudi, Carratino, Rosasco, "FALKON: an optimal large scale kernel method", NeurIPS 2017.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrs

from onkel.errors import ParameterError
from onkel.kernels.centers import Centers
from onkel.kernels.rows import Rows
from onkel.solvers.ridge.whitened_sums import EPS, TILE_ROWS, refuse_no_penalty, regularised_factor

__all__ = ["CgSolution", "conjugate_gradient"]

Floats = NDArray[np.float64]


@dataclasses.dataclass(frozen=True, eq=False)
class CgSolution:
    """The solution that conjugate gradients reached.

    Attributes
    ----------
    coef : the coefficients c of f(x) = Σⱼ cⱼ k(sⱼ, x) + b, shape (r, targets).
    intercept : b, shape (targets,); 0 without an intercept.
    n_iter : the number of iterations done.
    residual : the relative residual, the largest of all targets.
    converged : whether the residual is at most tol.
    interrupted : whether Ctrl-C ended the iteration.
    """

    coef: Floats
    intercept: Floats
    n_iter: int
    residual: float
    converged: bool
    interrupted: bool


class _Data:
    """The rows, as the operator v ↦ W v and the right-hand side B; centred if there is an intercept."""

    def __init__(self, rows: Rows, Y: Floats, weights: Floats | None, centers: Centers, fit_intercept: bool) -> None:
        self.rows, self.centers = rows, centers
        self.weights = np.ones(len(rows)) if weights is None else weights
        self.weight = float(self.weights.sum())
        if self.weight <= 0:
            raise ParameterError("the sum of the weights must be positive; got 0.")
        sums = self._pass(lambda x, k: np.column_stack([Y[x], np.ones(len(k))]))
        self.B, p = sums[:, :-1], sums[:, -1]  # p: Σ s φ
        self.y_sum = self.weights @ Y
        self.phi_mean = p / self.weight if fit_intercept else np.zeros(len(p))
        self.B = self.B - np.multiply.outer(self.phi_mean, self.y_sum)

    def times(self, v: Floats) -> Floats:
        """W v, with one evaluation of every kernel value."""
        c = self.centers.coefficients(v)
        offset = self.phi_mean @ v
        return self._pass(lambda _, k: k @ c - offset)

    def _pass(self, values: Callable[[slice, Floats], Floats]) -> Floats:
        """Σ s φ uᵀ over all rows, where u (tile, outputs) is made of the rows' slice and their kernel values."""
        total: Floats | float = 0.0
        for start in range(0, len(self.rows), TILE_ROWS):
            part = slice(start, start + TILE_ROWS)
            x = self.rows[part]
            K = np.empty((len(x), len(self.centers)))
            self.centers.fill_values(x, K)
            total = total + K.T @ (self.weights[part, None] * values(part, K))
        return np.asarray(solve_triangular(self.centers.factor, total, lower=True, check_finite=False))

    def intercept(self, w: Floats) -> Floats:
        """b = (Σsy − (Σsφ)ᵀw) / Σs."""
        return np.asarray(self.y_sum / self.weight - self.phi_mean @ w)


def preconditioner(centers: Centers, weight: float, alpha: float, fit_intercept: bool) -> Floats:
    """The lower Cholesky factor of P = (Σs / r) TᵀT + αI, in which the features are centred for an intercept."""
    T = centers.factor - centers.factor.mean(axis=0) if fit_intercept else centers.factor
    P = dsyrk(weight / len(T), T, trans=1, lower=1)
    return regularised_factor(P, max(alpha, EPS * len(T) * float(P.diagonal().max())))[0]


def conjugate_gradient(
    rows: Rows,
    Y: Floats,
    weights: Floats | None,
    centers: Centers,
    alpha: float | Floats,
    *,
    fit_intercept: bool,
    tol: float,
    max_iter: int,
    report: Callable[[int, float], None] | None = None,
) -> CgSolution:
    """Ridge regression on centres by preconditioned conjugate gradients, all targets side by side.

    Parameters
    ----------
    rows : n rows that the kernel of the centres can take.
    Y, weights : targets (n, targets), and weights ≥ 0 (n,); None: all are 1.
    centers : r centres with their factor, best a sample of the rows.
    alpha : ≥ 0, one number or one for each target. The targets share one preconditioner, that of the geometric mean.
    fit_intercept : whether f has an intercept, which is not penalised.
    tol : the relative residual at which to stop.
    max_iter : ≥ 0, the largest number of iterations.
    report : called with the number of iterations and the residual after each; None (default): it is not called.

    Ctrl-C during the iterations ends them, and the solution so far is returned.

    Cost: n r kernel values and 4 n r flops a target and iteration, r³ flops at the start; memory for two r × r matrices
    and a tile of 1024 × r.
    """
    data = _Data(rows, Y, weights, centers, fit_intercept)
    alphas = np.broadcast_to(np.asarray(alpha, dtype=np.float64), (Y.shape[1],))
    n_weighted = len(rows) if weights is None else int(np.count_nonzero(weights))
    refuse_no_penalty(alphas.min(), n_weighted, len(centers), fit_intercept=fit_intercept)
    shared = float(np.exp(np.log(alphas).mean())) if (alphas > 0).all() else 0.0
    L = preconditioner(centers, data.weight, shared, fit_intercept)
    run = _Iteration(data, alphas, L)
    interrupted = False
    try:
        while run.now.n < max_iter and run.now.residual > tol:
            run.step()
            if report is not None:
                report(run.now.n, run.now.residual)
    except KeyboardInterrupt:
        interrupted = True
    now = run.now
    coef, intercept = centers.coefficients(now.w), data.intercept(now.w) if fit_intercept else np.zeros(len(alphas))
    return CgSolution(coef, intercept, now.n, now.residual, now.residual <= tol, interrupted)


@dataclasses.dataclass(frozen=True)
class _Iterate:
    """Where the iteration is: w, the residual g, the direction d, gᵀP⁻¹g of each target, and the relative residual."""

    w: Floats
    g: Floats
    d: Floats
    decrement: Floats
    residual: float
    n: int


class _Iteration:
    """Conjugate gradients for (W + αI) w = B; `now` is replaced as a whole, so that Ctrl-C finds it complete."""

    def __init__(self, data: _Data, alphas: Floats, L: Floats) -> None:
        self.data, self.alphas, self.L = data, alphas, L
        z = self._precondition(data.B)
        self.start = (data.B * z).sum(axis=0)
        self.now = _Iterate(np.zeros_like(data.B), data.B, z, self.start, float((self.start > 0).any()), 0)

    def _precondition(self, g: Floats) -> Floats:
        return np.asarray(dpotrs(self.L, g, lower=1)[0])

    def step(self) -> None:
        """One iteration."""
        now = self.now
        Ad = self.data.times(now.d) + self.alphas * now.d
        a = _ratio(now.decrement, (now.d * Ad).sum(axis=0))
        w, g = now.w + a * now.d, now.g - a * Ad
        z = self._precondition(g)
        decrement = (g * z).sum(axis=0)
        d = z + _ratio(decrement, now.decrement) * now.d
        residual = float(np.sqrt(_ratio(decrement, self.start).max()))
        self.now = _Iterate(w, g, d, decrement, residual, now.n + 1)


def _ratio(a: Floats, b: Floats) -> Floats:
    """a / b, and 0 where b is not positive: a target that is solved, or 0, does not move."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)
