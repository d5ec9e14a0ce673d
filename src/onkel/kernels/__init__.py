"""Kernels, their algebra, and the functions that compute Gram matrices and scores with them.

A kernel is a frozen value: kernels compare by content, their repr reads back, and so does their JSON (`from_config`).

>>> from onkel.kernels import RBF, Linear
>>> k = (RBF(gamma=0.5) + Linear()) * RBF(gamma=2.0)
>>> k == eval(repr(k)), k.is_psd
(True, True)
"""

from onkel.kernels.combine import (
    Constant,
    Exp,
    Multiple,
    Normalized,
    On,
    Power,
    Product,
    Sum,
    add,
    multiply,
    normalized,
    power,
)
from onkel.kernels.config import from_config, register, to_config
from onkel.kernels.custom import After, Custom, Precomputed, Scaled
from onkel.kernels.kernel import Kernel, Operations
from onkel.kernels.tiles import diag, expand, gram, prepare
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

Kernel._operations = Operations(
    gram=gram,
    diag=diag,
    config=to_config,
    add=add,
    multiply=multiply,
    power=power,
    exp=Exp,
    normalized=normalized,
    on=On,
    scaled=Scaled,
    after=After,
)
