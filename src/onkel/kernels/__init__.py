"""Kernels, their algebra, and the functions that compute Gram matrices and scores with them.

A kernel is a frozen value: kernels compare by content, their repr reads back, and so does their JSON (`from_config`).

>>> from onkel.kernels import RBF, Linear
>>> k = (RBF(gamma=0.5) + Linear()) * RBF(gamma=2.0)
>>> k == eval(repr(k)), k.is_psd
(True, True)
"""

from onkel.kernels.combine import Constant, Exp, Multiple, Normalized, On, Power, Product, Sum
from onkel.kernels.config import from_config, register
from onkel.kernels.custom import After, Custom, Precomputed, Scaled
from onkel.kernels.kernel import Kernel
from onkel.kernels.tiles import expand, prepare
from onkel.kernels.vector import (
    RBF,
    Chi2,
    Cosine,
    HistogramIntersection,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)

__all__ = [
    "RBF",
    "After",
    "Chi2",
    "Constant",
    "Cosine",
    "Custom",
    "Exp",
    "HistogramIntersection",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Multiple",
    "Normalized",
    "On",
    "Polynomial",
    "Power",
    "Precomputed",
    "Product",
    "RationalQuadratic",
    "Scaled",
    "Sigmoid",
    "Sum",
    "expand",
    "from_config",
    "prepare",
    "register",
]
