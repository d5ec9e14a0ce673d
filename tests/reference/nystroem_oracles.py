"""Ridge regression on centres, slow and plain: one least-squares problem over all rows, by NumPy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class DenseFit(NamedTuple):
    """A fit on n rows: f of the test rows, and the hat matrix with which √s f = H √s y."""

    f: np.ndarray  # (test rows, targets)
    intercept: np.ndarray  # (targets,)
    hat: np.ndarray  # (n, n)
    gcv: np.ndarray  # (targets,)


def features(K_SS, K):
    """Coordinates in an orthonormal basis of the span of the centres, from the eigenvectors of their kernel matrix."""
    values, V = np.linalg.eigh(K_SS)
    kept = values > 1e-10 * values.max()
    return K @ V[:, kept] / np.sqrt(values[kept])


def dense_fit(kernel, X, Y, weights, S, alpha, test, *, fit_intercept):
    """min Σ s (y − w·φ − b)² + α‖w‖², solved by the pseudo-inverse of the rows [√s φ, √s] over [√α I, 0]."""
    phi, phi_test = (features(kernel(S), kernel(x, S)) for x in (X, test))
    root = np.sqrt(np.ones(len(X)) if weights is None else weights)[:, None]
    r, constant = phi.shape[1], np.ones((len(X), int(fit_intercept)))
    design = root * np.hstack([phi, constant])
    penalty = np.sqrt(alpha) * np.eye(r, design.shape[1])
    inverse = np.linalg.pinv(np.vstack([design, penalty]))[:, : len(X)]
    w = inverse @ (root * Y)
    hat = design @ inverse
    rows = int((root > 0).sum())
    rss = ((root * Y - hat @ (root * Y)) ** 2).sum(axis=0)
    f = phi_test @ w[:r] + w[r:].sum(axis=0)
    return DenseFit(f, w[r:].sum(axis=0), hat, rows * rss / (rows - np.trace(hat)) ** 2)


def leverage(K, alpha):
    """diag K (K + αI)⁻¹."""
    return np.diagonal(np.linalg.solve(K + alpha * np.eye(len(K)), K))
