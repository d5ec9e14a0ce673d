"""What every estimator of onkel shares: kernel parameters, fits that leave no half-done state, a warning."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Self

from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from onkel.bounds.equal_rows import conflicts
from onkel.errors import ParameterError, warn
from onkel.kernels import Kernel
from onkel.kernels.rows import Rows
from onkel.kernels.vectors import VectorRows

__all__ = ["Estimator", "KernelParams", "left_as_it_was", "warn_of_conflicts"]


class KernelParams:
    """Lets ``set_params(kernel__gamma=2.0)`` build a new kernel, since kernels are frozen values.

    A mixin to stand before BaseEstimator, whose `get_params` already lists ``kernel__gamma``.
    """

    def set_params(self, **params: Any) -> Self:
        """Sets parameters of the estimator and, as ``kernel__<name>``, of its kernel.

        A kernel given in the same call is taken first; on an error nothing is set.
        """
        changes: dict[str, dict[str, Any]] = {}
        for key in [key for key in params if "__" in key]:
            name, _, rest = key.partition("__")
            part = params.get(name, getattr(self, name, None))
            if isinstance(part, Kernel):
                changes.setdefault(name, {})[rest] = params.pop(key)
            elif hasattr(self, name) and not hasattr(part, "set_params"):
                raise ParameterError(
                    f"{type(self).__name__}: {key} needs {name} to be a kernel object; it is {part!r}. "
                    f"Set both: set_params({name}=RBF(), {key}=…)."
                )
        for name, change in changes.items():
            params[name] = params.get(name, getattr(self, name)).with_params(**change)
        super().set_params(**params)  # type: ignore[misc]
        return self


@contextlib.contextmanager
def left_as_it_was(estimator: object) -> Iterator[None]:
    """On an error inside the block the estimator is again what it was before it."""
    before = vars(estimator).copy()
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def warn_of_conflicts(rows: Rows, y: NDArray, who: str) -> None:
    """Tells of equal points with different labels: no kernel separates them, so mistakes never end."""
    if not isinstance(rows, VectorRows):
        return
    count = len(conflicts(rows, y))
    if count:
        warn(
            f"{who}: {count} row(s) are equal to another row with another label. No kernel can separate these, so "
            "training cannot end without a mistake; it stopped after max_iter epochs.",
            ConvergenceWarning,
        )


class Estimator(KernelParams, BaseEstimator):  # type: ignore[misc]
    """The base of onkel's classifiers, regressors and outlier detectors."""

    @property
    def _name(self) -> str:
        """The name by which messages call it."""
        return type(self).__name__

    def _check_params(self) -> None:
        """Refuses parameters that cannot be used."""
