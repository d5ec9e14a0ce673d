"""The kernel that the parameters of an estimator or a map describe: an object, or a name with gamma, degree and coef0.

What they are by default is in `KERNEL_DEFAULTS` of the class; gamma=None there stands for scikit-learn's default. A
class without the parameter kernel has the linear one.
"""

from __future__ import annotations

from typing import Any

from onkel.kernels import Kernel, Linear
from onkel.kernels.named import default_gamma, named_kernel, refuse_unused, resolve_gamma
from onkel.kernels.rows import Rows

__all__ = ["SCIKIT_LEARN", "check_kernel", "kernel_of", "resolved_kernel"]

SCIKIT_LEARN: dict[str, Any] = {"gamma": None, "degree": 3, "coef0": 1}  # the defaults of its ridge and its maps


def check_kernel(estimator: Any) -> None:
    """Refuses gamma, degree or coef0 beside a kernel object, which has its own."""
    if hasattr(estimator, "kernel"):
        defaults = estimator.KERNEL_DEFAULTS
        given = {name: getattr(estimator, name, default) for name, default in defaults.items()}
        refuse_unused(estimator.kernel, given, defaults, type(estimator).__name__)


def kernel_of(estimator: Any, gamma: float = 1.0) -> Kernel:
    """The kernel with this gamma; before gamma is known, it says what kind of data the estimator takes."""
    if not hasattr(estimator, "kernel"):
        return Linear()
    degree, coef0 = (getattr(estimator, name, estimator.KERNEL_DEFAULTS[name]) for name in ("degree", "coef0"))
    return named_kernel(estimator.kernel, gamma, degree, coef0, type(estimator).__name__)


def resolved_kernel(estimator: Any, rows: Rows) -> tuple[Kernel, float | None]:
    """The kernel for the first data of a fit, and gamma; None for a kernel object."""
    if isinstance(estimator.kernel, Kernel):
        return estimator.kernel, None
    gamma = estimator.gamma
    if gamma is None and estimator.KERNEL_DEFAULTS["gamma"] is None:
        gamma = default_gamma(estimator.kernel)
    gamma = resolve_gamma(gamma, rows, type(estimator).__name__)
    return kernel_of(estimator, gamma), gamma
