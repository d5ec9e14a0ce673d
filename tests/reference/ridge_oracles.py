"""Kernel ridge regression as the books write it: one dense system, solved anew for every question."""

from __future__ import annotations

import numpy as np


def ridge(K, Y, alpha, weights=None, fit_intercept=False):
    """Coefficients (n, targets) and intercepts (targets,), by the bordered system; alpha is a number or one per target.

    Rows of weight 0 are left out, and have the coefficient 0.
    """
    n, t = Y.shape
    s = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    here = np.flatnonzero(s > 0)
    m = len(here)
    coef, intercept = np.zeros((n, t)), np.zeros(t)
    for j, a in enumerate(np.broadcast_to(alpha, t)):
        M = np.zeros((m + 1, m + 1))
        M[:m, :m] = K[np.ix_(here, here)] + a * np.diag(1 / s[here])
        M[:m, m] = M[m, :m] = 1.0 if fit_intercept else 0.0
        M[m, m] = 0.0 if fit_intercept else 1.0
        found = np.linalg.solve(M, np.append(Y[here, j], 0.0))
        coef[here, j], intercept[j] = found[:m], found[m]
    return coef, intercept


def leave_one_out(K, Y, alpha, weights=None, fit_intercept=False):
    """The prediction of each row by a fit to all the others, shape (n, targets)."""
    n = len(K)
    s = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    found = np.empty(Y.shape)
    for i in range(n):
        others = np.arange(n) != i
        coef, b = ridge(K[np.ix_(others, others)], Y[others], alpha, s[others], fit_intercept)
        found[i] = K[i, others] @ coef + b
    return found


def hat_matrix(K, alpha, weights=None, fit_intercept=False):
    """H with f(x_i) + b = Σ_j H_ij y_j on the training rows, column by column."""
    coef, b = ridge(K, np.eye(len(K)), alpha, weights, fit_intercept)
    return K @ coef + b


def gcv(K, Y, alpha, weights=None, fit_intercept=False):
    """(Σ s r² / n) / (1 − tr H / n)² of each target."""
    n = len(K)
    s = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    H = hat_matrix(K, alpha, weights, fit_intercept)
    return (s[:, None] * (Y - H @ Y) ** 2).sum(axis=0) / n / (1 - np.trace(H) / n) ** 2
