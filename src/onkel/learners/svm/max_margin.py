"""The separator of largest margin through the origin: the best comparator that a mistake bound can have.

    min ½‖w‖²  with  yᵢ w·φ(xᵢ) ≥ 1      in its dual      min ½αᵀQα − Σα,  α ≥ 0,  Q_ij = yᵢ yⱼ k(xᵢ, xⱼ)

The margin is then γ = 1/‖w‖. There is no Σyα = 0, because there is no b: the perceptron's guesses pass
through the origin, and with a b of its own the separator would give a bound that is false. With an
intercept the perceptron is one on k + 1, and so is this.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onkel.kernels import Kernel
from onkel.kernels.rows import Rows
from onkel.kernels.tiles import add_scores
from onkel.learners.svm import dual

__all__ = ["max_margin"]

TOL = 1e-3  # of yᵢ w·φ(xᵢ) ≥ 1: the margin found is within about this part of the largest
STEPS_A_ROW, MOST_STEPS = 1000, 2_000_000  # where there is no separator α grows without end
CACHE_BYTES = 200e6


def max_margin(kernel: Kernel, rows: Rows, y: NDArray[np.float64], start: NDArray[np.float64]) -> NDArray[np.float64]:
    """The signed α, (n,), of the separator, from those of any guess; where there is none, of a good try.

    Cost: about the rows × support vectors kernel values of an SVM without errors.
    """
    f = np.zeros((len(rows), 1))
    support = np.flatnonzero(start)
    if len(support):
        add_scores(kernel, rows, rows[support], start[support, None], f, kept=False)
    least = float((y * f[:, 0]).min())
    beta = start / least if least > 0 else np.zeros(len(rows))  # a separator is scaled to yᵢ f(xᵢ) ≥ 1
    low, high = np.where(y < 0, -np.inf, 0.0), np.where(y > 0, np.inf, 0.0)
    problem = dual.Problem(kernel, rows, np.arange(len(rows)), y, low, high, sum_fixed=False)
    limits = dual.Limits(min(STEPS_A_ROW * len(rows), MOST_STEPS))
    return dual.solve(problem, beta, tol=TOL, cache_bytes=CACHE_BYTES, limits=limits).beta
