"""What KernelRidge, KernelRidgeCV and KernelRidgeClassifier share: input, kernel, model, predictions and state."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from onkel._core.transaction import assign
from onkel.checks import check_flag, check_number
from onkel.errors import KindError, ParameterError, ShapeError, warn
from onkel.estimators.base.estimator import Estimator
from onkel.estimators.base.input import all_data, attributes_of, rows_to_predict, sample_weights
from onkel.estimators.base.parameters import SCIKIT_LEARN
from onkel.estimators.ridge.solvers import Fitted
from onkel.estimators.ridge.state import read_solution, solution
from onkel.estimators.state.estimator import read_estimator, state_of
from onkel.gram import check_symmetric
from onkel.kernels import Kernel
from onkel.kernels.rows import GramRows, Rows
from onkel.models.columns import Columns
from onkel.models.decision import Decision
from onkel.models.expansion import Expansion
from onkel.models.model import ScoreModel
from onkel.models.scorer import support_data
from onkel.solvers.ridge.centers import WhitenedSums
from onkel.solvers.ridge.posterior import RidgePosterior
from onkel.states.state import State

__all__ = ["Input", "RidgeEstimator", "check_alpha"]

Floats = NDArray[np.float64]


class Input(NamedTuple):
    """The checked data of a fit."""

    rows: Rows
    y: Any
    weights: Floats


INEXACT = 1e-6  # a relative residual above it is reported


def check_alpha(alpha: Any, n_targets: int, who: str) -> Floats:
    """The alpha of each target, shape (targets,): a number ≥ 0, or one for each target."""
    if np.ndim(alpha) == 0:
        number = alpha.item() if isinstance(alpha, np.ndarray) else alpha
        return np.full(n_targets, check_number(number, "alpha", who, at_least=0.0))
    given = np.asarray(alpha)
    if given.dtype.kind not in "fiu" or given.shape != (n_targets,):
        raise ShapeError(
            f"{who}: alpha must be a number >= 0, or one for each of the {n_targets} target(s), shape ({n_targets},); "
            f"got {given.dtype} of shape {given.shape}."
        )
    for value in given.tolist():
        check_number(value, "alpha", who, at_least=0.0)
    return given.astype(np.float64)


class RidgeEstimator(Estimator):
    """The base of the estimators of kernel ridge regression; not for use by itself."""

    KERNEL_DEFAULTS = SCIKIT_LEARN
    TARGETS: ClassVar[Literal["labels", "several numbers"]] = "several numbers"

    kernel: Any
    gamma: Any
    fit_intercept: bool

    kernel_: Kernel
    solver_: str
    solver_reason_: str
    n_centers_: int
    jitter_: float
    rcond_: float
    residual_: float
    n_iter_: int

    _scorer: Expansion
    _columns: Columns
    _several: bool  # whether y had two dimensions
    _posterior: RidgePosterior | None
    _sums: WhitenedSums | None
    _solved_alpha: Floats  # the alpha of each target, which set_params does not change before the next fit

    def _check_params(self) -> None:
        super()._check_params()
        check_flag(self.fit_intercept, "fit_intercept", self._name)

    # ---------------------------------------------------------------- input

    def _check_fit_data(self, X: Any, y: Any, sample_weight: Any) -> Input:
        """Checks the data of a fit; sets the attributes that tell about the columns, and `kernel_`."""
        rows, y, columns = all_data(self, self._named_kernel(), X, y, self.TARGETS)
        weights = sample_weights(sample_weight, len(rows), self._name)
        assign(self, _columns=columns, **attributes_of(columns), **self._resolved_kernel(rows))
        if isinstance(rows, GramRows):
            check_symmetric(rows, self._name)
        return Input(rows.compact(), y, weights)

    def _check_to_predict(self, X: Any) -> Rows:
        check_is_fitted(self, "_scorer")
        return rows_to_predict(self, self.kernel_, self._columns, X)

    # ---------------------------------------------------------------- what was learned

    def _set_fitted(self, fitted: Fitted) -> None:
        """Sets the attributes of a solution."""
        scorer = Expansion(self.kernel_, fitted.support, fitted.places, fitted.coef, fitted.intercept)
        assign(self, _scorer=scorer, _posterior=fitted.posterior, _sums=fitted.sums, _solved_alpha=fitted.alpha)
        if fitted.gcv is not None:
            self.gcv_ = fitted.gcv if self._several else float(fitted.gcv[0])
        added = fitted.alpha - fitted.asked
        assign(self, jitter_=float(added.max()), **fitted.figures)
        if self.jitter_ > 0:
            most = int(added.argmax())
            warn(
                f"{self._name}: solved with alpha = {fitted.alpha[most]:.3g} instead of {fitted.asked[most]:.3g}, "
                "since the matrix is not positive definite to rounding. jitter_ is what was added. Use this alpha or a "
                "larger one, or scale the rows.",
                ConvergenceWarning,
            )
        elif self.residual_ > INEXACT and self.solver_ in ("cholesky", "eigen"):
            warn(
                f"{self._name}: the solution has a relative residual of {self.residual_:.1g}, since alpha is below the "
                "rounding errors of the kernel matrix: predictions may be wrong. Use a larger alpha, scale the rows, "
                "or use solver='nystrom'.",
                ConvergenceWarning,
            )

    @abstractmethod
    def _decision(self) -> Decision:
        """How scores become predictions."""

    @property
    def model_(self) -> ScoreModel:
        """What has been learned, as a frozen model that predicts by itself what `predict` predicts."""
        seen = self._view()
        check_is_fitted(seen, "_scorer")
        return ScoreModel(seen._scorer, seen._decision(), seen._columns)

    @property
    def support_(self) -> NDArray[np.int64]:
        """The row indices in X of the rows or centres that f is made of, shape (m,)."""
        check_is_fitted(self, "_scorer")
        return self._scorer.row_ids.copy()

    @property
    def support_vectors_(self) -> Any:
        """The same as `X_fit_`, under the name that the other kernel models have for it."""
        return self.X_fit_

    @property
    def X_fit_(self) -> Any:
        """The rows or centres that f is made of, in the order of `dual_coef_`; read-only."""
        check_is_fitted(self, "_scorer")
        return support_data(self._scorer.support)

    @property
    def dual_coef_(self) -> Floats:
        """The coefficients of f, in scikit-learn's shape: (m,), or (m, targets) if y had two dimensions."""
        seen = self._view()
        check_is_fitted(seen, "_scorer")
        coef = seen._scorer.coef
        return coef.copy() if seen._several else coef[:, 0].copy()

    @property
    def intercept_(self) -> Any:
        """b: a number, or shape (targets,) if y had two dimensions; 0 without an intercept."""
        seen = self._view()
        check_is_fitted(seen, "_scorer")
        intercept = seen._scorer.intercept
        return intercept.copy() if seen._several else float(intercept[0])

    def _std(self, rows: Rows) -> Floats:
        """The standard deviation of f at each row, shape (n,)."""
        if isinstance(rows, GramRows):
            raise KindError(
                f"{self._name}: return_std needs k(x, x), which a precomputed block does not hold. "
                "Give the points and a kernel."
            )
        if self._posterior is not None:
            return np.sqrt(self._posterior.variance(rows))
        if self._sums is not None:
            alphas = np.unique(self._solved_alpha)
            if len(alphas) > 1:
                raise ParameterError(f"{self._name}: return_std needs one alpha for all targets; got {alphas}.")
            return np.sqrt(np.maximum(self._sums.variance(rows, float(alphas[0])), 0.0))
        raise ParameterError(
            f"{self._name}: return_std needs the factor of the matrix, which was not kept: solver_ is "
            f"{self.solver_!r}. Fit with keep_factor=True and solver='cholesky', or with solver='nystrom'."
        )

    # ---------------------------------------------------------------- state

    def state(self) -> State:
        """Everything the estimator is: its parameters and, if it was fitted, the solution."""
        seen = self._view()
        return state_of(seen, solution(seen) if hasattr(seen, "_scorer") else None)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The estimator of a state."""
        return read_estimator(cls, state, "scorer", read_solution)
