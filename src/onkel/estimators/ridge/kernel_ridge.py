"""Kernel ridge regression: scikit-learn's KernelRidge, and the same with centres for data of any size."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

from onkel.checks import check_flag
from onkel.estimators.base.shared_docs import shared_docs
from onkel.estimators.ridge.base import RidgeEstimator, check_alpha
from onkel.estimators.ridge.chunks import can_learn_chunks, can_refit_alpha, learn_chunk, refit_alpha
from onkel.estimators.ridge.solvers import Task, check_solver, solve
from onkel.models.decision import Number

__all__ = ["KernelRidge"]


@shared_docs
class KernelRidge(MultiOutputMixin, RegressorMixin, RidgeEstimator):  # type: ignore[misc]
    """Kernel ridge regression: least squares with a penalty on the length of f, exactly or on centres.

    min Σ sᵢ (yᵢ − f(xᵢ) − b)² + α‖f‖²; the solution is f = Σ cᵢ k(xᵢ, ·) with (K + αS⁻¹) c + b = y and Σc = 0, where S
    holds the sample weights, and b = 0 without an intercept. The default solvers compute it exactly, with the results
    of scikit-learn's KernelRidge, in one n × n matrix. With solver="nystrom" or "cg", f is a sum over m centres only,
    and memory does not grow with the number of rows.

    Parameters
    ----------
    alpha : ≥ 0, default 1, the strength of the penalty; or an array with one for each target.
    <kernel (ridge), gamma (ridge), degree, coef0, solver (ridge), n_centers, centers, center_choice>
    <fit_intercept (ridge), keep_factor, max_iter (ridge), tol (ridge), verbose (ridge), random_state (ridge)>

    Attributes
    ----------
    dual_coef_ : shape (m,), or (m, targets) if y has two dimensions, the coefficients c.
    intercept_ : b, a number, or shape (targets,) if y has two dimensions; 0 without an intercept.
    <gcv_ (ridge), X_fit_, support_ (ridge), figures (ridge), model_ (ridge)>
    <kernel_, gamma_, n_features_in_, feature_names_in_>

    Cost: n²/2 kernel values and n³/3 multiply-adds ("cholesky"); n·m kernel values, n·m² multiply-adds and m² numbers
    ("nystrom").

    Source: Saunders, Gammerman and Vovk 1998; Rudi, Carratino and Rosasco 2017 (FALKON).

    >>> from onkel import KernelRidge
    >>> reg = KernelRidge(alpha=0.1, kernel="rbf", gamma=1.0).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 0.0])
    >>> reg.predict([[1.0]]).round(3), reg.solver_, reg.residual_ < 1e-12
    (array([0.883]), 'cholesky', True)
    """

    gcv_: Any

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        kernel: Any = "linear",
        gamma: float | str | None = None,
        degree: float = 3,
        coef0: float = 1,
        solver: str = "auto",
        n_centers: int | None = None,
        centers: Any = None,
        center_choice: str = "uniform",
        fit_intercept: bool = False,
        keep_factor: bool = False,
        max_iter: int = 100,
        tol: float = 1e-6,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.solver = solver
        self.n_centers = n_centers
        self.centers = centers
        self.center_choice = center_choice
        self.fit_intercept = fit_intercept
        self.keep_factor = keep_factor
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state

    def _check_params(self) -> None:
        super()._check_params()
        check_flag(self.keep_factor, "keep_factor", self._name)
        if np.ndim(self.alpha) == 0:
            check_alpha(self.alpha, 1, self._name)
        check_solver(self, self._name)

    @shared_docs
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Solves for all rows.

        <X, y (targets), sample_weight, returns, stopped (ridge)>
        """
        new = self._anew()
        new._check_params()
        rows, y, weights = new._check_fit_data(X, y, sample_weight)
        new._several, Y = y.ndim == 2, y.reshape(len(y), -1)
        alpha = check_alpha(self.alpha, Y.shape[1], self._name)
        fitted = solve(new, Task(self._name, new.kernel_, rows, Y, weights, alpha, bool(self.keep_factor)))
        new._set_fitted(fitted)
        self._become(new)
        if fitted.interrupted:
            raise KeyboardInterrupt
        return self

    @available_if(can_learn_chunks)  # type: ignore[untyped-decorator]
    @shared_docs
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Adds rows to those that were learned before, and solves for all; only with solver="nystrom".

        The result is that of `fit` on all rows with the same centres. These are drawn from the rows of the first call,
        unless `centers` are given; so is gamma, if it depends on the data. Rows are not kept.

        <X (chunk), y (targets), sample_weight, returns, stopped (ridge chunk)>
        """
        return learn_chunk(self, X, y, sample_weight)

    refit_alpha = available_if(can_refit_alpha)(refit_alpha)

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """f(x) + b of each row of X, shape (n,), or (n, targets) if y had two dimensions.

        With `return_std`, a pair of them and of the standard deviation of f, shape (n,): that of a Gaussian process
        with the kernel as its covariance and noise of variance alpha (not that of a new y, which has the noise as
        well). It needs ``keep_factor=True`` or solver="nystrom".
        """
        seen = self._view()
        rows = seen._check_to_predict(X)
        mean = seen._decision().decide(seen._scorer.scores(rows))
        return (mean, seen._std(rows)) if return_std else mean

    def _decision(self) -> Number:
        return Number(self._several)
