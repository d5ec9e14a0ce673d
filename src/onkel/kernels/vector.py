"""The ten kernels on rows of numbers.

The formula of each kernel is in its docstring. Its `_form` says how the compiled core computes it: an `Op` combines two
rows feature by feature, and a `Map` is applied to the sum. If the core has no map for a parameter (a fractional degree
of `Polynomial`, most ν of `Matern`), the core computes a tile of inner products or distances, and NumPy maps it.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, kve

from onkel._core import Map, Op
from onkel.checks import check_number
from onkel.errors import ParameterError, ValuesError
from onkel.kernels.kernel import LARGEST_DEGREE, Kernel
from onkel.kernels.product import Form, VectorKernel
from onkel.kernels.rows import Rows
from onkel.kernels.vectors import VectorRows

__all__ = [
    "RBF",
    "Chi2",
    "Cosine",
    "HistogramIntersection",
    "Laplacian",
    "Linear",
    "Matern",
    "Polynomial",
    "RationalQuadratic",
    "Sigmoid",
]

ONE = np.ones(1)  # k(x, x) of a single row; shared, hence read-only
ONE.flags.writeable = False


class _Stationary(VectorKernel):
    """A positive semi-definite kernel with k(x, x) = 1 for every x."""

    _within_one = True

    def _diagonal(self, x: Rows) -> NDArray[np.float64]:
        return ONE if len(x) == 1 else np.ones(len(x))

    @property
    def is_psd(self) -> bool | None:
        return True


def _set(kernel: Kernel, name: str, **limits: Any) -> None:
    """Checks one parameter of a frozen kernel and stores it as a float."""
    value = check_number(getattr(kernel, name), name, type(kernel).__name__, **limits)
    object.__setattr__(kernel, name, value)


def _refuse_unless_held(value: float, kernel: str, name: str, given: float) -> float:
    """A factor that was computed from a length `given`; raises ParameterError if float64 cannot hold it."""
    if not np.finfo(np.float64).tiny <= value < math.inf:
        raise ParameterError(
            f"{kernel}: {name} must be a length whose inverse square float64 can hold, about 1e-150 to 1e150; "
            f"got {given!r}. Scale the data and the length."
        )
    return value


# ---------------------------------------------------------------- inner products


@dataclasses.dataclass(frozen=True)
class Linear(VectorKernel):
    """The linear kernel, the inner product k(x, z) = x·z.

    Cost: d multiply-adds per value.

    >>> from onkel.kernels import Linear
    >>> Linear()([[1.0, 2.0]], [[3.0, 4.0]])
    array([[11.]])
    """

    is_psd = True

    @functools.cached_property
    def _form(self) -> Form:
        return Form(Op.DOT, Map.IDENTITY)

    def _diagonal(self, x: Rows) -> NDArray[np.float64]:
        assert isinstance(x, VectorRows)
        return x.squared_norms()


@dataclasses.dataclass(frozen=True)
class Polynomial(VectorKernel):
    """The polynomial kernel k(x, z) = (γ x·z + c)ᵖ.

    Its features are all products of up to p coordinates; `onkel.features.PolynomialMap` computes them. The kernel is
    valid (positive semi-definite) if p is a whole number, γ ≥ 0 and c ≥ 0.

    Parameters
    ----------
    degree : p > 0 and at most 1e9 (default 3). A fractional power of a negative number is NaN.
    gamma : γ, any number (default 1): the factor of the inner product.
    coef0 : c, any number (default 1); the larger, the more the products of few coordinates count. With c = 0, only
        the products of exactly p coordinates remain.

    Cost: d multiply-adds per value.

    >>> from onkel.kernels import Polynomial
    >>> Polynomial(degree=2)([[1.0, 2.0]], [[3.0, 4.0]])  # (1 + 11)²
    array([[144.]])
    """

    degree: float = 3
    gamma: float = 1.0
    coef0: float = 1.0

    def __post_init__(self) -> None:
        degree = check_number(self.degree, "degree", "Polynomial", above=0.0, at_most=LARGEST_DEGREE)
        object.__setattr__(self, "degree", int(degree) if degree.is_integer() else degree)
        _set(self, "gamma")
        _set(self, "coef0")

    @property
    def is_psd(self) -> bool | None:
        return True if self._fused and self.gamma >= 0 and self.coef0 >= 0 else None

    @property
    def _fused(self) -> bool:
        return isinstance(self.degree, int)

    @functools.cached_property
    def _form(self) -> Form:
        if self._fused:
            return Form(Op.DOT, Map.POLYNOMIAL, (float(self.degree), self.gamma, self.coef0))
        return Form(Op.DOT, Map.POLYNOMIAL, (1.0, self.gamma, self.coef0))

    def _finish(self, values: NDArray[np.float64]) -> None:
        np.power(values, self.degree, out=values)

    def _diagonal(self, x: Rows) -> NDArray[np.float64]:
        assert isinstance(x, VectorRows)
        return (self.gamma * x.squared_norms() + self.coef0) ** self.degree


@dataclasses.dataclass(frozen=True)
class Sigmoid(VectorKernel):
    """The sigmoid kernel k(x, z) = tanh(γ x·z + c), here for historical reasons.

    It is not positive semi-definite in general, so no mistake bound holds for it.

    Parameters
    ----------
    gamma : γ, any number (default 1): the factor of the inner product.
    coef0 : c, any number (default 1): the offset inside the tanh.

    Cost: d multiply-adds and a tanh per value.

    >>> from onkel.kernels import Sigmoid
    >>> Sigmoid(gamma=0.5).is_psd
    False
    """

    gamma: float = 1.0
    coef0: float = 1.0
    is_psd = False

    def __post_init__(self) -> None:
        _set(self, "gamma")
        _set(self, "coef0")

    @functools.cached_property
    def _form(self) -> Form:
        return Form(Op.DOT, Map.TANH, (self.gamma, self.coef0))

    def _diagonal(self, x: Rows) -> NDArray[np.float64]:
        assert isinstance(x, VectorRows)
        return np.tanh(self.gamma * x.squared_norms() + self.coef0)


@dataclasses.dataclass(frozen=True)
class Cosine(VectorKernel):
    """The cosine of the angle between two rows, k(x, z) = x·z / (‖x‖ ‖z‖); 0 if either row is zero.

    Cost: d multiply-adds per value.

    >>> from onkel.kernels import Cosine
    >>> Cosine()([[3.0, 4.0]], [[6.0, 8.0]])
    array([[1.]])
    """

    is_psd = True

    @functools.cached_property
    def _form(self) -> Form:
        return Form(Op.COSINE, Map.IDENTITY)

    def _diagonal(self, x: Rows) -> NDArray[np.float64]:
        assert isinstance(x, VectorRows)
        return (x.squared_norms() > 0).astype(np.float64)


# ---------------------------------------------------------------- distances


@dataclasses.dataclass(frozen=True)
class RBF(_Stationary):
    """The Gaussian kernel k(x, z) = exp(−γ ‖x − z‖²), γ = 1 / (2σ²); ``RBF.from_sigma(sigma)`` takes σ instead of γ.

    Every finite set of distinct points is linearly separable in its feature space, for any labels.

    Parameters
    ----------
    gamma : γ > 0 (default 1), a number (strings such as "scale" are for estimators); the larger, the closer two points
        must be to count as similar.

    Cost: d multiply-adds and an exp per value.

    >>> from onkel.kernels import RBF
    >>> RBF(gamma=0.5)([[0.0], [1.0]]).round(4)
    array([[1.    , 0.6065],
           [0.6065, 1.    ]])
    """

    gamma: float = 1.0

    def __post_init__(self) -> None:
        _set(self, "gamma", above=0.0)

    @classmethod
    def from_sigma(cls, sigma: float) -> RBF:
        """The kernel exp(−‖x − z‖² / (2σ²)) of width `sigma` > 0."""
        width = check_number(sigma, "sigma", "RBF.from_sigma", above=0.0)
        return cls(gamma=_refuse_unless_held(0.5 / width / width, "RBF.from_sigma", "sigma", width))

    @functools.cached_property
    def _form(self) -> Form:
        return Form(Op.DISTANCE, Map.EXPONENTIAL, (self.gamma,))


MATERN_MAPS = {0.5: Map.MATERN12, 1.5: Map.MATERN32, 2.5: Map.MATERN52}


@dataclasses.dataclass(frozen=True, repr=False)
class Matern(_Stationary):
    """The Matérn kernel of smoothness ν: k(x, z) = 2¹⁻ᵛ rᵛ Kᵥ(r) / Γ(ν) with r = √(2ν) ‖x − z‖ / ℓ.

    Special cases: exp(−r) for ν = 1/2, (1 + r) exp(−r) for ν = 3/2, (1 + r + r²/3) exp(−r) for ν = 5/2, and the
    Gaussian exp(−‖x − z‖² / (2ℓ²)) for ν = inf.

    Parameters
    ----------
    nu : ν > 0, inf included (default 1.5); the larger, the smoother the learned function. The compiled core
        computes 0.5, 1.5, 2.5 and inf.
    length_scale : ℓ > 0 (default 1): the distance over which the similarity falls off.

    Cost: d multiply-adds and an exp per value (other ν: a Bessel function, which is far slower).

    >>> from onkel.kernels import Matern
    >>> Matern(nu=0.5)([[0.0]], [[1.0]]).round(4)
    array([[0.3679]])
    """

    nu: float = 1.5
    length_scale: float = 1.0

    def __post_init__(self) -> None:
        _set(self, "nu", above=0.0, finite=False)
        _set(self, "length_scale", above=0.0)
        _refuse_unless_held(0.5 / self.length_scale / self.length_scale, "Matern", "length_scale", self.length_scale)

    def __repr__(self) -> str:
        nu = 'float("inf")' if math.isinf(self.nu) else repr(self.nu)  # eval could not read a bare inf
        return f"Matern(nu={nu}, length_scale={self.length_scale!r})"

    @property
    def _fused(self) -> bool:
        return self.nu in MATERN_MAPS or math.isinf(self.nu)

    @functools.cached_property
    def _form(self) -> Form:
        if math.isinf(self.nu):
            return Form(Op.DISTANCE, Map.EXPONENTIAL, (0.5 / self.length_scale / self.length_scale,))
        if self._fused:
            return Form(Op.DISTANCE, MATERN_MAPS[self.nu], (math.sqrt(2 * self.nu) / self.length_scale,))
        return Form(Op.DISTANCE, Map.IDENTITY)

    def _finish(self, values: NDArray[np.float64]) -> None:
        values[...] = _matern(self.nu, np.sqrt(values) / self.length_scale)


@dataclasses.dataclass(frozen=True)
class RationalQuadratic(_Stationary):
    """The rational quadratic kernel k(x, z) = (1 + ‖x − z‖² / (2αℓ²))^−α.

    It is a mixture of Gaussian kernels of many widths; as α → ∞, it approaches the Gaussian of width ℓ.

    Parameters
    ----------
    alpha : α > 0 (default 1); the smaller, the more the widths of the mixture differ.
    length_scale : ℓ > 0 (default 1): the typical width.

    Cost: d multiply-adds, a log and an exp per value.

    >>> from onkel.kernels import RationalQuadratic
    >>> RationalQuadratic(alpha=1.0)([[0.0]], [[2.0]]).round(4)
    array([[0.3333]])
    """

    alpha: float = 1.0
    length_scale: float = 1.0

    def __post_init__(self) -> None:
        _set(self, "alpha", above=0.0)
        _set(self, "length_scale", above=0.0)
        _refuse_unless_held(self._rate, "RationalQuadratic", "length_scale", self.length_scale)

    @property
    def _rate(self) -> float:
        """1 / (2αℓ²)."""
        return 0.5 / self.alpha / self.length_scale / self.length_scale

    @functools.cached_property
    def _form(self) -> Form:
        return Form(Op.DISTANCE, Map.RATIONAL_QUADRATIC, (self.alpha, self._rate))


@dataclasses.dataclass(frozen=True)
class Laplacian(_Stationary):
    """The Laplacian kernel k(x, z) = exp(−γ ‖x − z‖₁).

    Parameters
    ----------
    gamma : γ > 0 (default 1); the larger, the closer two points must be to count as similar.

    Cost: 3d operations and an exp per value; sparse rows are converted to dense ones first.

    >>> from onkel.kernels import Laplacian
    >>> Laplacian(gamma=1.0)([[0.0, 0.0]], [[1.0, -1.0]]).round(4)
    array([[0.1353]])
    """

    gamma: float = 1.0

    def __post_init__(self) -> None:
        _set(self, "gamma", above=0.0)

    @functools.cached_property
    def _form(self) -> Form:
        return Form(Op.MANHATTAN, Map.EXPONENTIAL, (self.gamma,))


# ---------------------------------------------------------------- histograms


def _refuse_negative(kernel: Kernel, x: Rows, name: str) -> None:
    """Raises ValuesError if the rows have a negative value."""
    assert isinstance(x, VectorRows)
    values = x.stored_values
    if values.size and values.min() < 0:
        raise ValuesError(
            f"{type(kernel).__name__} compares histograms: {name} must have no negative value; got {values.min():g}. "
            "Shift or clip the data first."
        )


@dataclasses.dataclass(frozen=True)
class Chi2(_Stationary):
    """The exponential χ² kernel k(x, z) = exp(−γ Σ (xᵢ − zᵢ)² / (xᵢ + zᵢ)), where 0/0 counts as 0.

    It is for histograms and other rows without negative values.

    Parameters
    ----------
    gamma : γ > 0 (default 1); the larger, the closer two histograms must be to count as similar.

    Cost: d divisions and an exp per value; sparse rows are converted to dense ones first.

    >>> from onkel.kernels import Chi2
    >>> Chi2(gamma=1.0)([[1.0, 0.0]], [[0.0, 1.0]]).round(4)
    array([[0.1353]])
    """

    gamma: float = 1.0

    def __post_init__(self) -> None:
        _set(self, "gamma", above=0.0)

    @functools.cached_property
    def _form(self) -> Form:
        return Form(Op.CHI2, Map.EXPONENTIAL, (self.gamma,))

    def _check_rows(self, x: Rows, name: str) -> None:
        _refuse_negative(self, x, name)


@dataclasses.dataclass(frozen=True)
class HistogramIntersection(VectorKernel):
    """The histogram intersection kernel k(x, z) = Σ min(xᵢ, zᵢ), for rows without negative values.

    Cost: 2d operations per value.

    >>> from onkel.kernels import HistogramIntersection
    >>> HistogramIntersection()([[1.0, 2.0]], [[3.0, 1.0]])
    array([[2.]])
    """

    is_psd = True

    @functools.cached_property
    def _form(self) -> Form:
        return Form(Op.MIN, Map.IDENTITY)

    def _diagonal(self, x: Rows) -> NDArray[np.float64]:
        assert isinstance(x, VectorRows)
        return x.row_sums()

    def _check_rows(self, x: Rows, name: str) -> None:
        _refuse_negative(self, x, name)


# ---------------------------------------------------------------- the Matérn kernel of any ν, in float64

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


def _matern(nu: float, distances: NDArray[np.float64]) -> NDArray[np.float64]:
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
