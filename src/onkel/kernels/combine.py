"""Kernels that are composed of other kernels.

Users build them with operators and methods of `Kernel`: ``k1 + k2``, ``2.5 * k``, ``k ** 3``, ``k.exp()``.

Sums, multiples and scalings are linear in the values of their parts. Their scores are therefore sums of the scores of
the parts, which the compiled core computes without storing kernel values. Products, powers and exp compute a tile of
kernel values of their parts and map it.

The operators flatten what they build: nested sums and nested products are merged, the constants of a sum are added up,
the factors of a product are gathered in front, and a power of a power becomes one power. Therefore formulas that
differ only in these points compare equal, and ``eval(repr(k)) == k``.
"""

from __future__ import annotations

import dataclasses
import math
from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from onkel.checks import check_columns, check_integer, check_number
from onkel.errors import GramError, KindError, ShapeError
from onkel.kernels.kernel import LARGEST_DEGREE, Kernel, Takes, same_kind
from onkel.kernels.precision import fits, refuse_overflow, store
from onkel.kernels.rows import Rows
from onkel.kernels.vectors import VectorRows

__all__ = ["Constant", "Exp", "Multiple", "Normalized", "On", "Power", "Product", "Sum"]


def _all_psd(kernels: tuple[Kernel, ...]) -> bool | None:
    """True if all kernels are positive semi-definite, else None (unknown)."""
    return True if all(k.is_psd is True for k in kernels) else None


def wrapped(kernel: Kernel) -> str:
    """The repr of a part, in parentheses if it is a sum, a product, a multiple or a power."""
    return f"({kernel!r})" if isinstance(kernel, (Sum, Product, Multiple, Power)) else repr(kernel)


@dataclasses.dataclass(frozen=True)
class Constant(Kernel):
    """The constant kernel k(x, z) = `value` on input of any kind, written ``k + 1.0``; valid if `value` ≥ 0."""

    value: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", check_number(self.value, "value", "Constant"))

    @property
    def takes(self) -> Takes:
        return "anything"

    @property
    def is_psd(self) -> bool | None:
        return self.value >= 0

    def _gram(self, x: Rows, z: Rows, out: NDArray) -> None:
        out[...] = self.value

    def _add_scores(self, x: Rows, s: Rows, A: NDArray[np.float64], out: NDArray[np.float64]) -> None:
        out += self.value * A.sum(axis=0)

    def _diagonal(self, x: Rows) -> NDArray[np.float64]:
        return np.full(len(x), self.value)


# ---------------------------------------------------------------- several parts


@dataclasses.dataclass(frozen=True, repr=False)
class _Several(Kernel):
    """Base class of sums and products; the parts are called k1, k2, … in parameter names."""

    kernels: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.kernels, (tuple, list)) or len(self.kernels) == 0:
            raise KindError(f"{type(self).__name__}: kernels must be a tuple of kernels; got {self.kernels!r}.")
        object.__setattr__(self, "kernels", tuple(self.kernels))
        same_kind(self.kernels, type(self).__name__.lower())

    @property
    def takes(self) -> Takes:
        return same_kind(self.kernels, type(self).__name__.lower())

    @property
    def is_psd(self) -> bool | None:
        return _all_psd(self.kernels)

    def _parts(self) -> dict[str, Kernel]:
        return {f"k{i}": k for i, k in enumerate(self.kernels, start=1)}

    def _with_parts(self, parts: dict[str, Kernel]) -> Kernel:
        return dataclasses.replace(self, kernels=tuple({**self._parts(), **parts}.values()))

    def _check_rows(self, x: Rows, name: str) -> None:
        for kernel in self.kernels:
            kernel._check_rows(x, name)

    def _combined(self, x: Rows, z: Rows, out: NDArray, combine: np.ufunc) -> None:
        """out = the kernel values of all parts, combined with a ufunc."""
        first, *others = self.kernels
        first._gram(x, z, out)
        tile = np.empty(out.shape, dtype=out.dtype)
        for kernel in others:
            kernel._gram(x, z, tile)
            with np.errstate(over="ignore"):
                combine(out, tile, out=out)
        refuse_overflow(out)


class Sum(_Several):
    """The sum k₁ + k₂ + … of `kernels`; written ``k1 + k2``."""

    def __repr__(self) -> str:
        return " + ".join(repr(k.value) if isinstance(k, Constant) else repr(k) for k in self.kernels)

    def _flat(self) -> Kernel:
        return reduce(add, self.kernels)

    def _gram(self, x: Rows, z: Rows, out: NDArray) -> None:
        self._combined(x, z, out, np.add)

    def _add_scores(self, x: Rows, s: Rows, A: NDArray[np.float64], out: NDArray[np.float64]) -> None:
        for kernel in self.kernels:
            kernel._add_scores(x, s, A, out)

    def _diagonal(self, x: Rows) -> NDArray[np.float64]:
        return np.asarray(sum(k._diagonal(x) for k in self.kernels))


class Product(_Several):
    """The product k₁ · k₂ · … of `kernels`; written ``k1 * k2``."""

    def __repr__(self) -> str:
        return " * ".join(f"({k!r})" if isinstance(k, Sum) else repr(k) for k in self.kernels)

    def _flat(self) -> Kernel:
        return reduce(multiply, self.kernels)

    def _gram(self, x: Rows, z: Rows, out: NDArray) -> None:
        self._combined(x, z, out, np.multiply)

    def _diagonal(self, x: Rows) -> NDArray[np.float64]:
        return np.asarray(math.prod(k._diagonal(x) for k in self.kernels))


def add(left: Kernel | float, right: Kernel | float) -> Kernel:
    """left + right, flattened; several constants are added up, in the place of the first. One may be a number."""
    parts: list[Kernel] = []
    for operand in (left, right):
        kernel = operand if isinstance(operand, Kernel) else Constant(operand)
        parts.extend(kernel.kernels if isinstance(kernel, Sum) else (kernel,))
    constants = [k.value for k in parts if isinstance(k, Constant)]
    if len(constants) > 1:
        first = next(i for i, k in enumerate(parts) if isinstance(k, Constant))
        parts = [k for k in parts if not isinstance(k, Constant)]
        parts.insert(first, Constant(sum(constants)))
    return parts[0] if len(parts) == 1 else Sum(tuple(parts))


def multiply(left: Kernel | float, right: Kernel | float) -> Kernel:
    """left · right, flattened; factors and constants are multiplied and put in front. One may be a number."""
    if not isinstance(left, Kernel):
        left, right = right, left
    assert isinstance(left, Kernel)
    if not isinstance(right, Kernel):
        return multiple(right, left)
    factor = 1.0
    parts: list[Kernel] = []
    for kernel in (left, right):
        if isinstance(kernel, Multiple):
            factor, kernel = factor * kernel.factor, kernel.kernel
        if isinstance(kernel, Constant):
            factor *= kernel.value
        else:
            parts.extend(kernel.kernels if isinstance(kernel, Product) else (kernel,))
    if not parts:
        return Constant(factor)
    return multiple(factor, parts[0] if len(parts) == 1 else Product(tuple(parts)))


# ---------------------------------------------------------------- one part


@dataclasses.dataclass(frozen=True)
class OneKernel(Kernel):
    """Base class of the kernels that change one other kernel."""

    kernel: Kernel

    def __post_init__(self) -> None:
        same_kind((self.kernel,), type(self).__name__.lower())

    @property
    def takes(self) -> Takes:
        return self.kernel.takes

    @property
    def is_psd(self) -> bool | None:
        return True if self.kernel.is_psd is True else None

    def _parts(self) -> dict[str, Kernel]:
        return {"kernel": self.kernel}

    def _check_rows(self, x: Rows, name: str) -> None:
        self.kernel._check_rows(x, name)


@dataclasses.dataclass(frozen=True, repr=False)
class Multiple(OneKernel):
    """The multiple c · k of `kernel`, where c is `factor`; written ``2.5 * k``."""

    factor: float

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "factor", check_number(self.factor, "the factor", "a multiple of a kernel"))

    def _flat(self) -> Kernel:
        return multiple(self.factor, self.kernel)

    def __repr__(self) -> str:
        return f"{self.factor!r} * {f'({self.kernel!r})' if isinstance(self.kernel, Sum) else repr(self.kernel)}"

    @property
    def is_psd(self) -> bool | None:
        if self.factor > 0:
            return self.kernel.is_psd
        if self.factor == 0:
            return True
        return False if self.kernel.is_psd is True else None

    def _gram(self, x: Rows, z: Rows, out: NDArray) -> None:
        self.kernel._gram(x, z, out)
        with np.errstate(over="ignore", invalid="ignore"):
            np.multiply(out, self.factor, out=out, dtype=np.float64, casting="same_kind")
        refuse_overflow(out)

    def _add_scores(self, x: Rows, s: Rows, A: NDArray[np.float64], out: NDArray[np.float64]) -> None:
        self.kernel._add_scores(x, s, self.factor * A, out)

    def _diagonal(self, x: Rows) -> NDArray[np.float64]:
        return self.factor * self.kernel._diagonal(x)


def multiple(factor: float, kernel: Kernel) -> Kernel:
    """factor · kernel, flattened."""
    factor = check_number(factor, "the factor", "a multiple of a kernel")
    if isinstance(kernel, Multiple):
        factor, kernel = factor * kernel.factor, kernel.kernel
    if isinstance(kernel, Constant):
        return Constant(factor * kernel.value)
    return kernel if factor == 1.0 else Multiple(kernel, factor)


@dataclasses.dataclass(frozen=True, repr=False)
class Power(OneKernel):
    """The power kᵖ of `kernel`, where p, a whole number ≥ 1, is `exponent`; written ``k ** 3``."""

    exponent: int

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "exponent", _exponent(self.exponent))

    def _flat(self) -> Kernel:
        return power(self.kernel, self.exponent)

    def __repr__(self) -> str:
        return f"{wrapped(self.kernel)} ** {self.exponent}"

    def _gram(self, x: Rows, z: Rows, out: NDArray) -> None:
        self.kernel._gram(x, z, out)
        with np.errstate(over="ignore"):
            np.power(out, self.exponent, out=out)
        refuse_overflow(out)

    def _diagonal(self, x: Rows) -> NDArray[np.float64]:
        return self.kernel._diagonal(x) ** self.exponent


def _exponent(value: Any) -> int:
    advice = "A fractional power of a valid kernel need not be valid."
    exponent = check_integer(value, "the exponent", "a power of a kernel", at_least=1, advice=advice)
    check_number(exponent, "the exponent", "a power of a kernel", at_most=LARGEST_DEGREE)
    return exponent


def power(kernel: Kernel, exponent: int) -> Kernel:
    """kernel ** exponent, flattened."""
    exponent = _exponent(exponent)
    if isinstance(kernel, Power):
        return Power(kernel.kernel, kernel.exponent * exponent)
    return kernel if exponent == 1 else Power(kernel, exponent)


@dataclasses.dataclass(frozen=True, repr=False)
class Exp(OneKernel):
    """The exponential exp(k(x, z)) of `kernel`; written ``k.exp()``."""

    def __repr__(self) -> str:
        return f"{wrapped(self.kernel)}.exp()"

    def _gram(self, x: Rows, z: Rows, out: NDArray) -> None:
        self.kernel._gram(x, z, out)
        with np.errstate(over="ignore", under="ignore"):
            np.exp(out, out=out)
        refuse_overflow(out)

    def _diagonal(self, x: Rows) -> NDArray[np.float64]:
        with np.errstate(over="ignore", under="ignore"):
            return np.exp(self.kernel._diagonal(x))


@dataclasses.dataclass(frozen=True, repr=False)
class Normalized(OneKernel):
    """The normalized `kernel` k(x, z) / √(k(x, x) k(z, z)), 0 if k(x, x) or k(z, z) is 0; ``k.normalized()``.

    exp(k) is normalized in the exponent, as exp(k(x, z) − k(x, x)/2 − k(z, z)/2), so that it cannot overflow:
    ``(2 * gamma * Linear()).exp().normalized()`` equals ``RBF(gamma)`` on any data.
    """

    def __repr__(self) -> str:
        return f"{wrapped(self.kernel)}.normalized()"

    @property
    def is_psd(self) -> bool | None:
        return self.kernel.is_psd

    def _scale(self, x: Rows) -> NDArray[np.float64]:
        """1 / √k(x, x) of each row, or 0 if k(x, x) is 0."""

        def scale() -> NDArray[np.float64]:
            diagonal = self.kernel._diagonal(x)
            if diagonal.min() < 0:
                raise GramError(
                    f"normalized() needs k(x, x) >= 0, a squared length; {self.kernel!r} gives {diagonal.min():.3g}. "
                    "Take a kernel whose is_psd is True."
                )
            return np.divide(1.0, np.sqrt(diagonal), out=np.zeros(len(x)), where=diagonal > 0)

        return x.keep((self, "scale"), scale)

    def _gram(self, x: Rows, z: Rows, out: NDArray) -> None:
        if isinstance(self.kernel, Exp):
            log = self.kernel.kernel
            log._gram(x, z, out)
            out -= np.add.outer(0.5 * log._diagonal(x), 0.5 * log._diagonal(z)).astype(out.dtype, copy=False)
            with np.errstate(under="ignore"):
                np.exp(out, out=out)
        else:
            fill_scaled(self.kernel, x, z, out, self._scale(x), self._scale(z))

    def _add_scores(self, x: Rows, s: Rows, A: NDArray[np.float64], out: NDArray[np.float64]) -> None:
        if isinstance(self.kernel, Exp):
            super()._add_scores(x, s, A, out)
        else:
            add_scaled_scores(self.kernel, x, s, A, out, self._scale(x), self._scale(s))

    def _diagonal(self, x: Rows) -> NDArray[np.float64]:
        return np.sign(self.kernel._diagonal(x))


def normalized(kernel: Kernel) -> Kernel:
    """The kernel normalized, once only."""
    return kernel if isinstance(kernel, Normalized) else Normalized(kernel)


SCALES = 2.0**60  # float32 holds the product of two scales below this, and its inverse


def fill_scaled(
    kernel: Kernel, x: Rows, z: Rows, out: NDArray, scale_x: NDArray[np.float64], scale_z: NDArray[np.float64]
) -> None:
    """out[i, j] = scale_x[i] · k(xᵢ, zⱼ) · scale_z[j], in float64 if the scales are out of the range of float32."""
    scales = np.multiply.outer(scale_x, scale_z)  # multiplied first, which keeps a symmetric block symmetric
    if out.dtype == np.float64 or (fits(scale_x, SCALES) and fits(scale_z, SCALES)):
        kernel._gram(x, z, out)
        out *= scales.astype(out.dtype, copy=False)
    else:
        values = np.empty(out.shape)
        kernel._gram(x.wide(), z.wide(), values)
        store(values * scales, out)


def add_scaled_scores(
    kernel: Kernel,
    x: Rows,
    s: Rows,
    A: NDArray[np.float64],
    out: NDArray[np.float64],
    scale_x: NDArray[np.float64],
    scale_s: NDArray[np.float64],
) -> None:
    """out += diag(scale_x) k(x, s) diag(scale_s) A, in float64 if the scales are out of the range of float32."""
    if x.dtype == np.float32 and not (fits(scale_x, SCALES) and fits(scale_s, SCALES)):
        x, s = x.wide(), s.wide()
    inner = np.zeros_like(out)
    kernel._add_scores(x, s, np.ascontiguousarray(scale_s[:, None] * A), inner)
    inner *= scale_x[:, None]
    out += inner


@dataclasses.dataclass(frozen=True, repr=False)
class OnOtherRows(OneKernel):
    """Base class of the kernels that map the rows and apply `kernel` to the mapped rows."""

    def _mapped(self, x: Rows) -> Rows:
        """The rows that `kernel` is applied to; subclasses implement it and cache the result with x."""
        raise TypeError

    def _gram(self, x: Rows, z: Rows, out: NDArray) -> None:
        self.kernel._gram(self._mapped(x), self._mapped(z), out)

    def _add_scores(self, x: Rows, s: Rows, A: NDArray[np.float64], out: NDArray[np.float64]) -> None:
        self.kernel._add_scores(self._mapped(x), self._mapped(s), A, out)

    def _diagonal(self, x: Rows) -> NDArray[np.float64]:
        return self.kernel._diagonal(self._mapped(x))

    def _check_rows(self, x: Rows, name: str) -> None:
        self.kernel._check_rows(self._mapped(x), name)


@dataclasses.dataclass(frozen=True, repr=False)
class On(OnOtherRows):
    """The `kernel` on some columns of the rows, in the given order; written ``k.on([0, 2])``."""

    columns: tuple[int, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kernel.takes not in ("vectors", "anything"):
            raise KindError(f"on(columns) needs a kernel on vectors; {self.kernel!r} takes {self.kernel.takes}.")
        object.__setattr__(self, "columns", check_columns(self.columns, "on(columns)"))

    def __repr__(self) -> str:
        return f"{wrapped(self.kernel)}.on({list(self.columns)})"

    def _mapped(self, x: Rows) -> Rows:
        assert isinstance(x, VectorRows)

        def select() -> VectorRows:
            if max(self.columns) >= x.n_features:
                raise ShapeError(f"on({list(self.columns)}) needs {max(self.columns) + 1} columns; got {x.n_features}.")
            part = x.matrix[:, list(self.columns)]
            return VectorRows(_sorted_csr(part) if sp.issparse(part) else np.ascontiguousarray(part))

        return x.keep(("on", self.columns), select)


def _sorted_csr(matrix: sp.csr_array) -> sp.csr_array:
    matrix.sum_duplicates()
    return matrix
