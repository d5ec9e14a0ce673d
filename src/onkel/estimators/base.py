"""What all estimators share: parameters of a kernel, the undoing of a failed call, and a warning."""

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

__all__ = ["Estimator", "KernelParams", "undo_on_error", "warn_of_conflicts"]


class KernelParams:
    """Makes ``set_params(kernel__gamma=2.0)`` work: kernels are frozen, so it replaces the kernel by a new one.

    A mixin that must come before BaseEstimator in the list of bases. BaseEstimator's `get_params` already lists
    ``kernel__gamma``.
    """

    def set_params(self, **params: Any) -> Self:
        """Sets parameters of the estimator and, as ``kernel__<name>``, of its kernel.

        If the same call also sets the kernel, ``kernel__<name>`` applies to the new one. On an error nothing is set.
        Returns the estimator.
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
def undo_on_error(estimator: object) -> Iterator[None]:
    """Restores the attributes of the estimator if the block raises."""
    before = vars(estimator).copy()
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def warn_of_conflicts(rows: Rows, y: NDArray, who: str) -> None:
    """Warns of equal rows with different labels: no kernel separates them, so every epoch has a mistake."""
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
        """The name of the class, for messages."""
        return type(self).__name__

    def _check_params(self) -> None:
        """Refuses parameters that cannot be used."""
