"""The separating hyperplane through the origin with the largest margin: the best competitor for a mistake bound.

    min ½‖w‖²  with  yᵢ w·φ(xᵢ) ≥ 1      in its dual      min ½αᵀQα − Σα,  α ≥ 0,  Q_ij = yᵢ yⱼ k(xᵢ, xⱼ)

The margin is then γ = 1/‖w‖. The dual has no constraint Σyα = 0, because there is no b: the perceptron's hypotheses
pass through the origin, and a competitor with an offset of its own would give a false bound. A perceptron with an
intercept is one with the kernel k + 1; for its bound, this function is called with that kernel, too.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onkel.kernels import Kernel
from onkel.kernels.rows import Rows
from onkel.kernels.tiles import add_scores
from onkel.solvers.svm import dual
from onkel.solvers.svm.problem import Limits, Problem

__all__ = ["max_margin"]

MARGIN_TOL = 1e-3  # of yᵢ w·φ(xᵢ) ≥ 1: the relative error of the margin is about this
STEPS_A_ROW, MOST_STEPS = 1000, 2_000_000  # limits of the steps: if no hyperplane separates, α grows without end
CACHE_BYTES = 200e6  # for the kernel values of a working set


def max_margin(kernel: Kernel, rows: Rows, y: NDArray[np.float64], start: NDArray[np.float64]) -> NDArray[np.float64]:
    """The signed coefficients yα (n,) of the separating hyperplane with the largest margin.

    If no hyperplane separates the classes, the result is an approximation, for the caller to check.

    Parameters
    ----------
    kernel, rows : the kernel, and the rows.
    y : labels ±1, (n,).
    start : signed coefficients yα, α ≥ 0, to start from, (n,), such as those of a perceptron; zeros will do.

    Cost: about (rows × support vectors) kernel values, those of a hard-margin SVM.
    """
    beta = _best_multiple(kernel, rows, start)
    low, high = np.where(y < 0, -np.inf, 0.0), np.where(y > 0, np.inf, 0.0)
    problem = Problem(kernel, rows, np.arange(len(rows)), y, low, high, sum_fixed=False)
    limits = Limits(min(STEPS_A_ROW * len(rows), MOST_STEPS))
    return dual.solve(problem, beta, tol=MARGIN_TOL, cache_bytes=CACHE_BYTES, limits=limits).beta


def _best_multiple(kernel: Kernel, rows: Rows, beta: NDArray[np.float64]) -> NDArray[np.float64]:
    """The multiple sβ with the smallest dual objective ½s² βᵀKβ − sΣ|β|, where β = yα: s = Σ|β| / βᵀKβ."""
    support = np.flatnonzero(beta)
    if not len(support):
        return beta
    f = np.zeros((len(support), 1))
    add_scores(kernel, rows[support], rows[support], beta[support, None], f, kept=False)
    sq_norm = float(beta[support] @ f[:, 0])
    return beta * (np.abs(beta).sum() / sq_norm) if sq_norm > 0 else np.zeros(len(beta))
