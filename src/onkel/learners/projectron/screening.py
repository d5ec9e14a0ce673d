"""Screening: decides about most single examples of a Projectron without computing their exact projection.

The exact projection z = L⁻¹ k(S, x) is a triangular substitution in float64 (see `onkel.learners.projectron.learner`).
An approximation z~ by the inverse of L in float32 is much cheaper: it reads half the bytes and has no chain of
divisions. Every decision takes the rounding errors into account. With u = 2⁻²⁴, ‖·‖ the Frobenius norm, m support
vectors and n = 24 + m/16,

    |z~ − z| ≤ e = ‖L⁻¹‖ (n u |k| + m · FLT_MIN),      |f~ − f| ≤ e |β~| + E (|z~| + e)     for f~ = β~·z~,

where E bounds the error that deferred steps have left in β~. If the sign of y f, the test of the margin and the test of
the distance to the span come out the same for all values within these bounds, the decision is certain; otherwise the
example is projected exactly. cpp/learn/screen.h proves the bounds, and has another one for scores by α.

The bounds leave out rounding in float64, which is negligible only while L is well conditioned: `Inverse` says when.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native, aligned_zeros

__all__ = ["DEFERRED", "LEDGER_FULL", "NO_UPDATE", "UNDECIDED", "Inverse", "with_deferred"]

# Screening is used while ‖L‖·‖L⁻¹‖ is below the first, and both norms are below the second, so that float32 holds L⁻¹;
WELL_CONDITIONED, USUAL = 1e6, 1e15
# and screening by the score α·k while ‖L‖·‖L⁻¹‖ is below this, as α = L⁻ᵀβ has larger rounding errors than β.
BETTER_CONDITIONED = 1e4
UNDECIDED, NO_UPDATE, DEFERRED, LEDGER_FULL = 0, 1, 2, 3  # enum Outcome in cpp/learn/screen.h
PANEL = 16  # rows in a panel of a triangle: kTriangle in cpp/target/target.h


class Inverse:
    """L⁻¹ in float32, computed from L row by row as L grows.

    It can be computed again at any time, to the same bits, so it is neither copied nor saved with a learner.
    `is_usable` is False once ‖L‖·‖L⁻¹‖ ≥ 1e6 or either norm is ≥ 1e15: screening is then switched off.
    `is_usable_for_alpha` is False from 1e4 on: screening by α·k is then switched off.
    """

    def __init__(self) -> None:
        self.L_inv = np.empty(0, dtype=np.float32)  # in panels, see cpp/target/target.h
        self.norm = self.sq_norm = self.sq_norm_of_L = 0.0  # ‖L⁻¹‖, ‖L⁻¹‖² and ‖L‖²
        self.size = 0  # rows of L that are inverted
        self.is_usable = self.is_usable_for_alpha = True

    def follow(self, L: NDArray[np.float64], size: int) -> None:
        """Inverts the rows of L from `self.size` up to `size`, those that were added since the last call.

        If this is interrupted, the object must not be used again.
        """
        panels = -(-len(L) // PANEL)
        entries = panels * (panels + 1) // 2 * PANEL * PANEL
        if len(self.L_inv) < entries:
            old, self.L_inv = self.L_inv, aligned_zeros((entries,), np.float32)
            self.L_inv[: len(old)] = old
        sq_norms = self.sq_norm, self.sq_norm_of_L
        self.sq_norm, self.sq_norm_of_L = _native.invert_rows(L, self.size, size, self.L_inv, *sq_norms)
        self.size, self.norm, norm_of_L = size, math.sqrt(self.sq_norm), math.sqrt(self.sq_norm_of_L)
        self.is_usable = self.norm * norm_of_L < WELL_CONDITIONED and max(self.norm, norm_of_L) < USUAL
        self.is_usable_for_alpha = self.is_usable and self.norm * norm_of_L < BETTER_CONDITIONED


def with_deferred(
    L: NDArray[np.float64], m: int, beta: NDArray[np.float64], deferred: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """β including the deferred steps, exactly; β itself if there are none."""
    if deferred is None or not deferred[0].any():
        return beta
    beta = beta.copy()
    _native.apply_deferred(L, m, deferred, beta)
    return beta
