"""The Matérn kernel of any smoothness ν as a function of the distance, in float64."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, kve

__all__ = ["matern"]

# From this ν on, Kᵥ is expanded in powers of 1/ν. The error of a kernel value is then below 1e-11.
EXPANDED = 50.0


def _debye(t: NDArray[np.float64], nu: float) -> NDArray[np.float64]:
    """Σ (−1)ᵏ uₖ(t) / νᵏ, up to k = 4   [DLMF 10.41.4 and 10.41.10]."""
    s = t * t
    u1 = t * (3 - 5 * s) / 24
    u2 = s * (81 + s * (-462 + s * 385)) / 1152
    u3 = t * s * (30375 + s * (-369603 + s * (765765 - s * 425425))) / 414720
    u4 = s * s * (4465125 + s * (-94121676 + s * (349922430 + s * (-446185740 + s * 185910725)))) / 39813120
    return 1 - (u1 - (u2 - (u3 - u4 / nu) / nu) / nu) / nu


def matern(nu: float, distances: NDArray[np.float64]) -> NDArray[np.float64]:
    """2¹⁻ᵛ rᵛ Kᵥ(r) / Γ(ν) with r = √(2ν) · distance, by logarithms, because its factors overflow.

    For large ν the expansion of Kᵥ(νz) for all z at once is used, with s = √(1 + z²) and w = s − 1. Its leading terms
    cancel against those of Γ(ν), which is the same expansion at z = 0:

        log k = ν (log(1 + w/2) − w) − ½ log s + log(Σ (−1)ᵏ uₖ(1/s)/νᵏ) − log(Σ (−1)ᵏ uₖ(1)/νᵏ).

    As ν → ∞, νw → distance², and k becomes the Gaussian.
    """
    with np.errstate(all="ignore"):
        if nu >= EXPANDED:
            z_squared = np.minimum(2 / nu * distances**2, 1e12)  # beyond, k is 0
            s = np.sqrt(1 + z_squared)
            w = z_squared / (1 + s)
            log = nu * (np.log1p(w / 2) - w) - 0.5 * np.log(s) + np.log(_debye(1 / s, nu) / _debye(np.ones(1), nu))
        else:
            r = np.minimum(math.sqrt(2 * nu) * distances, 1e6)  # beyond, k is 0
            log = (1 - nu) * math.log(2) - gammaln(nu) + nu * np.log(r) + np.log(kve(nu, r)) - r
        found = np.exp(np.minimum(log, 0.0))
    # Where Kᵥ(r) overflows, 1 − k ≈ r²/(4(ν − 1)) is below 1e-11.
    return np.where((distances == 0) | np.isnan(found), 1.0, found)
