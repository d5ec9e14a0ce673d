"""Kernels by name: from the parameters of an estimator to a Kernel.

An estimator takes a name with its parameters, ``kernel="rbf", gamma="scale", degree=3, coef0=1.0``, a function of two
blocks of rows, or a Kernel. Names are resolved here, in one table.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel._core import Map, Op
from onkel.checks import check_number
from onkel.errors import KindError, ParameterError, ValuesError
from onkel.kernels.custom import Custom, Precomputed
from onkel.kernels.kernel import Kernel
from onkel.kernels.product import Form, product
from onkel.kernels.vector import RBF, Chi2, Cosine, HistogramIntersection, Laplacian, Linear, Polynomial, Sigmoid
from onkel.kernels.vectors import VectorRows

__all__ = ["KERNEL_NAMES", "default_gamma", "named_kernel", "resolve_gamma"]

# The kernel of each name, from gamma, degree and coef0. Like scikit-learn, it ignores parameters that the kernel of a
# name does not have.
_TABLE: dict[str, Callable[[float, float, float], Kernel]] = {
    "linear": lambda gamma, degree, coef0: Linear(),
    "poly": lambda gamma, degree, coef0: Polynomial(degree=degree, gamma=gamma, coef0=coef0),
    "polynomial": lambda gamma, degree, coef0: Polynomial(degree=degree, gamma=gamma, coef0=coef0),
    "rbf": lambda gamma, degree, coef0: RBF(gamma=gamma),
    "laplacian": lambda gamma, degree, coef0: Laplacian(gamma=gamma),
    "sigmoid": lambda gamma, degree, coef0: Sigmoid(gamma=gamma, coef0=coef0),
    "cosine": lambda gamma, degree, coef0: Cosine(),
    "chi2": lambda gamma, degree, coef0: Chi2(gamma=gamma),
    "histogram": lambda gamma, degree, coef0: HistogramIntersection(),
    "precomputed": lambda gamma, degree, coef0: Precomputed(),
}
KERNEL_NAMES = tuple(_TABLE)
GAMMAS = ("scale", "auto", "median")
# gamma="median" takes every k-th row, with the largest k that leaves at least this many rows.
MEDIAN_ROWS = 1000


def named_kernel(kernel: Any, gamma: float, degree: float, coef0: float, who: str) -> Kernel:
    """The Kernel for the parameters of an estimator; `gamma` is already a number."""
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        if kernel not in _TABLE:
            raise ParameterError(
                f"{who}: kernel must be one of {', '.join(map(repr, KERNEL_NAMES))}, a function or a Kernel; "
                f"got {kernel!r}."
            )
        return _TABLE[kernel](gamma, degree, coef0)
    if callable(kernel):
        return Custom(kernel)
    raise KindError(f"{who}: kernel must be a name such as 'rbf', a function or a Kernel; got {kernel!r}.")


def refuse_unused(kernel: Any, given: dict[str, Any], defaults: dict[str, Any], who: str) -> None:
    """Raises ParameterError if the user sets gamma, degree or coef0 with a Kernel object, which would ignore them."""
    if isinstance(kernel, Kernel):
        for name, value in given.items():
            if isinstance(value, str) != isinstance(defaults[name], str) or value != defaults[name]:
                raise ParameterError(
                    f"{who}: {name}={value!r} has no effect on the kernel object {kernel!r}. "
                    f"Set it there, with kernel__{name}, or leave it out."
                )


def default_gamma(kernel: Any) -> float | str:
    """What gamma=None stands for, as in scikit-learn: 1 for "chi2", "auto" (1 / d) for the other kernels."""
    return 1.0 if isinstance(kernel, str) and kernel == "chi2" else "auto"


def resolve_gamma(gamma: Any, x: Any, who: str) -> float:
    """The value of gamma for the rows x.

    A number > 0 stands for itself, "scale" for 1 / (d · variance of X), "auto" for 1 / d, and "median" for
    1 / median ‖x − z‖² over pairs of different rows.
    """
    if not isinstance(gamma, str):
        return check_number(gamma, "gamma", who, above=0.0, advice=f"Or one of {', '.join(GAMMAS)}.")
    if gamma not in GAMMAS:
        raise ParameterError(f"{who}: gamma must be a number > 0 or one of {', '.join(GAMMAS)}; got {gamma!r}.")
    if not isinstance(x, VectorRows):
        return 1.0  # kernels on objects and precomputed values do not use it
    if gamma == "auto":
        return 1.0 / x.n_features
    if gamma == "scale":
        variance = _variance(x)
        if not np.isfinite(variance):
            raise ValuesError(f"{who}: gamma='scale' needs the variance of X, but its values are too large. Scale X.")
        return 1.0 / (x.n_features * variance) if variance > 0 else 1.0
    step = max(1, len(x) // MEDIAN_ROWS)
    distances = _squared_distances(x[::step])
    apart = distances[distances > 0]
    median = float(np.median(apart)) if apart.size else 1.0
    if not np.isfinite(median):
        raise ValuesError(f"{who}: gamma='median' needs distances in X, but its values are too large. Scale X.")
    return 1.0 / median


def _variance(x: VectorRows) -> float:
    """The variance of all entries, including the zeros that CSR rows do not store."""
    values, size = x.stored_values, len(x) * x.n_features
    with np.errstate(over="ignore", invalid="ignore"):
        if values.size == size:
            return float(values.var(dtype=np.float64))
        mean = float(values.sum(dtype=np.float64)) / size
        squares = float(np.square(np.subtract(values, mean, dtype=np.float64)).sum()) + (size - values.size) * mean**2
        return squares / size


def _squared_distances(x: VectorRows) -> NDArray[np.float64]:
    """The squared distances of all pairs of rows i < j, in float64."""
    rows = x.wide()
    squared = np.empty((len(rows), len(rows)))
    product(Form(Op.DISTANCE, Map.IDENTITY), rows, rows, gram=squared)
    return squared[np.triu_indices(len(rows), 1)]
