"""Explicit feature maps: vectors whose inner products are the values of a kernel.

A valid kernel is an inner product of features, k(x, z) = H(x)·H(z), which a kernel method never computes. The
transformers of this package compute H(x), so that a linear model on H(x) is a kernel method.

    PolynomialMap      the monomials of (γ x·z + c)ᵖ: exact for any data, C(d + p, p) columns
    EigenMap           coordinates in the span of n training points under any valid kernel: at most n columns
    NystroemMap        coordinates in the span of m of them: m columns, exact on the span, whatever n is
    RandomFourierMap   random waves, for kernels of x − z: any number of columns, exact in the mean
"""

from onkel.features.eigen import EigenMap
from onkel.features.nystroem import NystroemMap
from onkel.features.polynomial import PolynomialMap
from onkel.features.random_fourier import RandomFourierMap

__all__ = ["EigenMap", "NystroemMap", "PolynomialMap", "RandomFourierMap"]
