"""The kernel of a map, from its parameters: an object, or a name with gamma, degree and coef0."""

from __future__ import annotations

from typing import Any

from onkel.kernels import Kernel
from onkel.kernels.named import default_gamma, named_kernel, refuse_unused, resolve_gamma
from onkel.kernels.rows import Rows

__all__ = ["input_kernel", "map_kernel"]

DEFAULTS: dict[str, Any] = {"gamma": None, "degree": 3, "coef0": 1.0}


def input_kernel(estimator: Any) -> Kernel:
    """The kernel before gamma is known: it says what kind of data the map takes."""
    given = {name: getattr(estimator, name, default) for name, default in DEFAULTS.items()}
    refuse_unused(estimator.kernel, given, DEFAULTS, type(estimator).__name__)
    return _named(estimator, 1.0)


def map_kernel(estimator: Any, rows: Rows) -> Kernel:
    """The kernel for the first rows; without a gamma, that of a name has its default."""
    if isinstance(estimator.kernel, Kernel):
        return estimator.kernel
    gamma = default_gamma(estimator.kernel) if estimator.gamma is None else estimator.gamma
    return _named(estimator, resolve_gamma(gamma, rows, type(estimator).__name__))


def _named(estimator: Any, gamma: float) -> Kernel:
    degree, coef0 = (getattr(estimator, name, DEFAULTS[name]) for name in ("degree", "coef0"))
    return named_kernel(estimator.kernel, gamma, degree, coef0, type(estimator).__name__)
