"""Kernel ridge regression over chunks of data: `partial_fit`, and another alpha without the data.

What a pass over the rows has summed, in m² numbers for m centres, is kept as `_sums`. A call works on a copy of them,
so that a call that is refused or interrupted changes nothing.
"""

from __future__ import annotations

import numbers
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from onkel.errors import ParameterError, ShapeError, signed
from onkel.estimators.base.input import more_data, sample_weights
from onkel.estimators.base.progress import progress_bar
from onkel.estimators.ridge.base import RidgeEstimator, check_alpha
from onkel.estimators.ridge.solvers import find_centers, fit_sums
from onkel.kernels import Kernel
from onkel.kernels.rows import GramRows, ObjectRows, Rows
from onkel.solvers.ridge.centers import WhitenedSums

Ridge = TypeVar("Ridge", bound=RidgeEstimator)

__all__ = ["add_chunk", "can_learn_chunks", "can_refit_alpha", "is_first_chunk", "learn_chunk", "refit_alpha"]

Floats = NDArray[np.float64]
REASON = "it was asked for"


class HasSolver(Protocol):
    """An estimator with the parameter solver."""

    solver: str


def can_learn_chunks(estimator: HasSolver) -> bool:
    """Whether the solver keeps sums that rows can be added to."""
    if estimator.solver != "nystrom":
        raise AttributeError(f"partial_fit needs solver='nystrom'; it is {estimator.solver!r}")
    return True


def can_refit_alpha(estimator: HasSolver) -> bool:
    """Whether there are sums for another alpha: with solver "nystrom", and after a fit for which "auto" chose it."""
    if estimator.solver != "nystrom" and getattr(estimator, "_sums", None) is None:
        raise AttributeError(f"refit_alpha needs a fit with solver='nystrom'; solver is {estimator.solver!r}")
    return True


def is_first_chunk(estimator: Any) -> bool:
    """Whether no rows have been learned yet; refuses a fit to which none can be added."""
    if getattr(estimator, "_sums", None) is not None:
        return False
    if hasattr(estimator, "_scorer"):
        raise ParameterError(
            f"{estimator._name}: partial_fit cannot go on from a fit with solver {estimator.solver_!r}, which keeps no "
            "sums. Begin with partial_fit on a clone, or with fit and solver='nystrom'."
        )
    return True


def refuse_changed(estimator: Any) -> None:
    """Refuses a kernel or an intercept other than that of the sums."""
    if estimator._sums.fit_intercept != bool(estimator.fit_intercept):
        raise ParameterError(f"{estimator._name}: fit_intercept cannot change between chunks. Start anew with fit.")
    kernel = estimator.kernel
    if not isinstance(kernel, Kernel):
        number = isinstance(estimator.gamma, numbers.Real)
        kernel = estimator._named_kernel(estimator.gamma if number else estimator.gamma_)
    if kernel != estimator.kernel_:
        raise ParameterError(
            f"{estimator._name}: the kernel was {estimator.kernel_!r} when learning began, and {kernel!r} cannot take "
            "its place. Start anew with fit."
        )


def learn_chunk(self: Ridge, X: Any, y: Any, sample_weight: Any) -> Ridge:
    """`partial_fit` of KernelRidge."""
    new = self._view()
    new._check_params()
    first = is_first_chunk(new)
    if first:
        rows, y, weights = new._check_fit_data(X, y, sample_weight)
        new._several = y.ndim == 2
    else:
        rows, y, weights = more_rows(new, X, y, sample_weight)
        assert new._sums is not None
        wanted = new._sums.n_targets if new._several else None
        if (y.shape[1] if y.ndim == 2 else None) != wanted:
            shape = "(n,)" if wanted is None else f"(n, {wanted})"
            raise ShapeError(f"{self._name}: y must have shape {shape}, as at first; got {y.shape}.")
    add_chunk(new, rows, y.reshape(len(y), -1), weights, first=first)
    self._become(new)
    return self


def more_rows(new: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Rows, Any, Floats]:
    """Checks further data."""
    rows, y, columns = more_data(new, new.kernel_, new._columns, X, y, new.TARGETS)
    if isinstance(rows, ObjectRows) and new.kernel_.takes != "objects":  # dicts
        rows = columns.rows(rows.objects.tolist(), new._name)
    return rows, y, sample_weights(sample_weight, len(rows), new._name)


def add_chunk(new: Any, rows: Rows, Y: Floats, weights: Floats, *, first: bool) -> None:
    """Adds rows to a copy of the sums, and sets the solution; `new` is a view of an estimator."""
    with signed(new._name):
        _add_chunk(new, rows, Y, weights, first)


def _add_chunk(new: Any, rows: Rows, Y: Floats, weights: Floats, first: bool) -> None:
    alpha = check_alpha(new.alpha, Y.shape[1], new._name)
    if first:
        if isinstance(rows, GramRows):
            raise ParameterError(f"{new._name}: a precomputed Gram matrix cannot be learned in chunks; use fit.")
        centers = find_centers(new, new._name, new.kernel_, rows, weights, alpha)
        sums = WhitenedSums(centers, Y.shape[1], fit_intercept=bool(new.fit_intercept))
    else:
        refuse_changed(new)
        sums = WhitenedSums.from_state(new._sums.state())
    with progress_bar(new._name, len(rows), int(new.verbose)) as progress:
        sums.add(rows, Y, weights, lambda done: progress(done, f"{len(sums.centers)} centres"))
    new._set_fitted(fit_sums(sums, alpha, REASON))


def refit_alpha(self: Ridge) -> Ridge:
    """Solves anew for the present `alpha`, without the data: ``est.set_params(alpha=0.1).refit_alpha()``.

    Only after a fit by "nystrom", also one for which solver="auto" chose it (`solver_`). Cost: m³/3
    multiply-adds for m centres. Returns the estimator itself.
    """
    new = self._view()
    check_is_fitted(new, "_scorer")
    new._check_params()
    if new._sums is None:
        raise ParameterError(f"{self._name}: refit_alpha needs the sums of a fit with solver='nystrom'. Fit anew.")
    refuse_changed(new)
    alpha = check_alpha(new.alpha, new._sums.n_targets, new._name)
    with signed(self._name):
        new._set_fitted(fit_sums(new._sums, alpha, new.solver_reason_))
    self._become(new)
    return self
