"""Slow, obvious twins of reduced models: every candidate is tried, with whole Gram matrices and least squares."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def nearest(K: Floats, A: Floats, places: list[int]) -> Floats:
    """The coefficients C (n, outputs) with which Σⱼ C_jc k(pⱼ, ·), pⱼ = s[places[j]], is nearest to Σⱼ A_jc k(sⱼ, ·).

    ‖Σ C k(p, ·) − Σ A k(s, ·)‖² is least where K_PP C = K_PS A.
    """
    return np.linalg.lstsq(K[np.ix_(places, places)], K[places] @ A, rcond=1e-13)[0]


def distances(K: Floats, A: Floats, places: list[int], C: Floats) -> Floats:
    """‖f_c − g_c‖ of each output, by hᵀKh of the difference h of the coefficients."""
    h = A.copy()
    for j, place in enumerate(places):
        h[place] -= C[j]
    return np.sqrt(np.maximum(np.einsum("jc,ji,ic->c", h, K, h), 0.0))


def lengths(K: Floats, A: Floats) -> Floats:
    """‖f_c‖ of each output."""
    return np.sqrt(np.einsum("jc,ji,ic->c", A, K, A))


def greedy(K: Floats, A: Floats, n: int) -> list[int]:
    """n rows, each of which, given those before, makes the sum of the squared distances smallest."""
    places: list[int] = []
    for _ in range(n):
        candidates = [p for p in range(len(K)) if p not in places]
        errors = [(distances(K, A, [*places, p], nearest(K, A, [*places, p])) ** 2).sum() for p in candidates]
        places.append(candidates[int(np.argmin(errors))])
    return places
