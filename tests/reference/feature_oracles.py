"""Slow twins of the approximate feature maps."""

from __future__ import annotations

import math

import numpy as np


def projected_kernel(kernel, X, Z, S):
    """⟨P x, P z⟩, with P the projection on the span of the centres S: k(X, S) K_SS⁺ k(S, Z)."""
    return kernel(X, S) @ np.linalg.pinv(kernel(S), rcond=1e-12, hermitian=True) @ kernel(S, Z)


def waves(x, frequencies, factor):
    """The cosines and then the sines of one row, one frequency after the other."""
    phases = [sum(float(w) * float(v) for w, v in zip(column, x, strict=True)) for column in frequencies.T]
    return np.array([factor * f(phase) for f in (math.cos, math.sin) for phase in phases])


def root_mean_square_error(kernel, delta, n_frequencies):
    """√((1 + k(2δ) − 2k(δ)²)/(2D)), that of one inner product of a random Fourier map with D frequencies."""
    origin, once = np.zeros((1, len(delta))), np.asarray(delta)[None, :]
    k, k_double = kernel(origin, once).item(), kernel(origin, 2 * once).item()
    return math.sqrt((1 + k_double - 2 * k**2) / (2 * n_frequencies))
