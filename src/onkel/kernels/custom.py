"""Kernels that the user provides: precomputed values, a function of two points, and functions that change a kernel.

These are:

    Precomputed    kernel values that are read from a matrix
    Custom         k(x, z) = fn(x, z)
    Scaled         f(x) k(x, z) f(z), built by ``k.scaled(f)``
    After          k(φ(x), φ(z)), built by ``k.after(phi)``
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from onkel.checks import check_finite, check_matrix
from onkel.errors import KindError, ShapeError, ValuesError
from onkel.kernels.combine import OneKernel, OnOtherRows, add_scaled_scores, fill_scaled, wrapped
from onkel.kernels.kernel import Kernel, Takes
from onkel.kernels.rows import GramRows, ObjectRows, Rows
from onkel.kernels.vectors import VectorRows

__all__ = ["After", "Custom", "Precomputed", "Scaled"]


def points(x: Rows) -> Any:
    """The rows as the argument of a user's function: an array, a CSR array, or an array of objects."""
    if isinstance(x, VectorRows):
        return x.matrix
    if isinstance(x, ObjectRows):
        return x.objects
    raise KindError("a function of the points needs points, and a precomputed Gram matrix has none.")


def function_name(function: Callable[..., Any]) -> str:
    """The name of a function, for the repr of a kernel."""
    return getattr(function, "__qualname__", repr(function))


@dataclasses.dataclass(frozen=True)
class Precomputed(Kernel):
    """Kernel values that are read from a matrix.

    In k(X, Z), X is a matrix of kernel values with a row per point and a column per reference point, and Z lists the
    column indices of the wanted reference points. Without Z, X must be a square Gram matrix, and all of it is returned.
    An estimator takes the square Gram matrix of its training points in `fit`, and k(new, training) in `predict`.
    `onkel.gram.check` tells whether a matrix is a valid Gram matrix.

    Cost: one memory access per value.

    >>> from onkel.kernels import Precomputed
    >>> Precomputed()([[1.0, 0.5], [0.5, 1.0]], [1])
    array([[0.5],
           [1. ]])
    """

    is_psd = None

    @property
    def takes(self) -> Takes:
        return "gram"

    def _gram(self, x: Rows, z: Rows, out: NDArray) -> None:
        assert isinstance(x, GramRows)
        assert isinstance(z, GramRows)
        out[...] = x.read(z)

    def _diagonal(self, x: Rows) -> NDArray[np.float64]:
        assert isinstance(x, GramRows)
        if x.diagonal is None:
            raise ShapeError(
                "Precomputed: the diagonal k(x, x) is known only of a square Gram matrix. "
                "Use onkel.gram.normalize on the whole matrix first."
            )
        return x.diagonal.astype(np.float64)


@dataclasses.dataclass(frozen=True, repr=False)
class Custom(Kernel):
    """A kernel that is computed by a function of your own.

    Parameters
    ----------
    fn : function fn(X, Z) that returns an array of shape (rows of X, rows of Z); with `pairwise`, a function fn(x, z)
        of two rows that returns a number. All values must be finite.
    pairwise : True: fn is called once for each pair of rows, which is simple but slow. False (default): it is called
        with blocks of rows.
    takes : "vectors" (default): X and Z are blocks of rows of a matrix, in the dtype of the data, and CSR if the data
        is sparse (`pairwise` gets dense rows). "objects": they are arrays of arbitrary Python objects.
    psd : True if you know that the kernel is positive semi-definite, False if you know that it is not, None (default)
        if you do not know; it becomes the property `is_psd`.

    Cost: the calls of fn. Two Custom kernels are equal if they have the same function object and the same options.

    >>> from onkel.kernels import Custom
    >>> Custom(lambda a, b: len(set(a) & set(b)), pairwise=True, takes="objects")(["abc"], ["bcd", "x"])
    array([[2., 0.]])
    """

    fn: Callable[[Any, Any], Any]
    pairwise: bool = False
    takes: Takes = "vectors"
    psd: bool | None = None

    def __post_init__(self) -> None:
        if not callable(self.fn):
            raise KindError(f"Custom: fn must be a function of two sets of rows; got {self.fn!r}.")
        if self.takes not in ("vectors", "objects"):
            raise KindError(f'Custom: takes must be "vectors" or "objects"; got {self.takes!r}.')

    def __repr__(self) -> str:
        given = {"pairwise": self.pairwise, "takes": self.takes, "psd": self.psd}
        defaults = {"pairwise": False, "takes": "vectors", "psd": None}
        options = "".join(f", {k}={v!r}" for k, v in given.items() if v != defaults[k])
        return f"Custom({function_name(self.fn)}{options})"

    @property
    def is_psd(self) -> bool | None:
        return self.psd

    def _gram(self, x: Rows, z: Rows, out: NDArray) -> None:
        X, Z = points(x), points(z)
        if not self.pairwise:
            values = self.fn(X, Z)
            values = values.toarray() if sp.issparse(values) else np.asarray(values)
            if values.shape != out.shape:
                raise ShapeError(f"Custom: fn(X, Z) must give an array of shape {out.shape}; got {values.shape}.")
            out[...] = values
        else:
            Z = list(_one_by_one(Z))
            for i, a in enumerate(_one_by_one(X)):
                for j, b in enumerate(Z):
                    out[i, j] = self.fn(a, b)
        if not np.isfinite(out).all():
            raise ValuesError(f"Custom: {function_name(self.fn)} must give finite values; got NaN or infinity.")

    def _diagonal(self, x: Rows) -> NDArray[np.float64]:
        diagonal = np.empty(len(x))
        value = np.empty((1, 1))
        for i in range(len(x)):
            one = x[i : i + 1]
            self._gram(one, one, value)
            diagonal[i] = value[0, 0]
        return diagonal


def _one_by_one(points: Any) -> Any:
    """An iterable over the rows of a matrix, as dense rows, or over objects."""
    return points.toarray() if sp.issparse(points) else points


@dataclasses.dataclass(frozen=True, repr=False)
class Scaled(OneKernel):
    """f(x) k(x, z) f(z) for the `kernel` k and a function f that maps rows (n, d) to n numbers; ``k.scaled(f)``."""

    f: Callable[[Any], Any]

    def __repr__(self) -> str:
        return f"{wrapped(self.kernel)}.scaled({function_name(self.f)})"

    def _scale(self, x: Rows) -> NDArray[np.float64]:
        """f(x) of each row, computed once and cached with the rows."""

        def scale() -> NDArray[np.float64]:
            values = np.asarray(self.f(points(x)), dtype=np.float64)
            if values.shape != (len(x),):
                raise ShapeError(f"scaled(f): f must give one number per row, shape ({len(x)},); got {values.shape}.")
            check_finite(values, "f(X)", "scaled(f)")
            return values

        return x.keep((self, "scale"), scale)

    def _gram(self, x: Rows, z: Rows, out: NDArray) -> None:
        fill_scaled(self.kernel, x, z, out, self._scale(x), self._scale(z))

    def _add_scores(self, x: Rows, s: Rows, A: NDArray[np.float64], out: NDArray[np.float64]) -> None:
        add_scaled_scores(self.kernel, x, s, A, out, self._scale(x), self._scale(s))

    def _diagonal(self, x: Rows) -> NDArray[np.float64]:
        return self._scale(x) ** 2 * self.kernel._diagonal(x)


@dataclasses.dataclass(frozen=True, repr=False)
class After(OnOtherRows):
    """k(φ(x), φ(z)) for the `kernel` k and a function `phi` that maps rows (n, d) to n rows; ``k.after(phi)``."""

    phi: Callable[[Any], Any]

    @property
    def takes(self) -> Takes:
        return "vectors"

    def __repr__(self) -> str:
        return f"{wrapped(self.kernel)}.after({function_name(self.phi)})"

    def _mapped(self, x: Rows) -> Rows:
        def transform() -> VectorRows:
            mapped = check_matrix(self.phi(points(x)), name="φ(X)", who="after(phi)", dtype=x.dtype)
            if mapped.shape[0] != len(x):
                raise ShapeError(f"after(phi): phi must give a row per row, {len(x)}; got shape {mapped.shape}.")
            return VectorRows(mapped)

        return x.keep((self, "mapped"), transform)
