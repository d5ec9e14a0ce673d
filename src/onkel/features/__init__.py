"""Explicit maps: vectors whose inner products are a kernel's values.

A valid kernel is an inner product of features, k(x, z) = H(x)·H(z), that it never writes down.
The maps of this module do, as scikit-learn transformers; a linear model behind one of them is a
kernel method.

    PolynomialMap    the monomials of (γ x·z + c)ᵖ: the same for any data, exact, C(d + p, p) wide
    EigenMap         what n training points span under any valid kernel: at most n wide
"""

from onkel.features.eigen import EigenMap
from onkel.features.polynomial import PolynomialMap

__all__ = ["EigenMap", "PolynomialMap"]
