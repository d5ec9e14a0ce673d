"""Screening: single examples judged without their projection, in single precision, to within an error bound."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native, aligned_zeros

__all__ = ["DEFERRED", "NO_UPDATE", "UNDECIDED", "Inverse"]

WELL_CONDITIONED, USUAL = 1e6, 1e15  # ‖L‖ ‖L⁻¹‖, and numbers, up to which single precision serves


BETTER_CONDITIONED = 1e4  # so that a projection is not much longer than what is projected, rounding or not


UNDECIDED, NO_UPDATE, DEFERRED = 0, 1, 2  # verdicts of cpp/learn/screen.h


PANEL = 16  # rows of a triangle that lie side by side: kTriangle of cpp/engine.h


class Inverse:
    """M = L⁻¹ in single precision. Each row is made from L, once: it is no part of what was learned."""

    def __init__(self) -> None:
        self.M = np.empty(0, dtype=np.float32)  # in panels, as cpp/engine.h says
        self.sq_norms = np.zeros(2)  # Σ M² and Σ L²
        self.norm = 0.0  # √Σ M²
        self.size = 0
        # while rounding in double is nothing beside that of a float, and a float holds M; and for coefficients
        self.serves = self.serves_alpha = True

    def follow(self, L: NDArray[np.float64], size: int) -> None:
        """Takes in the rows that L has got since."""
        panels = -(-len(L) // PANEL)
        entries = panels * (panels + 1) // 2 * PANEL * PANEL
        if len(self.M) < entries:
            old, self.M = self.M, aligned_zeros((entries,), np.float32)
            self.M[: len(old)] = old
        _native.invert_rows(L, self.size, size, self.M, self.sq_norms)
        self.size, (self.norm, of_L) = size, np.sqrt(self.sq_norms).tolist()
        self.serves = self.norm * of_L < WELL_CONDITIONED and max(self.norm, of_L) < USUAL
        self.serves_alpha = self.serves and self.norm * of_L < BETTER_CONDITIONED
