"""Kernel ridge regression that chooses alpha by leave-one-out, in closed form, from one eigendecomposition."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.metrics import get_scorer

from onkel.checks import check_flag, check_number
from onkel.errors import InputError, KindError, ParameterError, signed
from onkel.estimators.base.shared_docs import shared_docs
from onkel.estimators.ridge.base import RidgeEstimator
from onkel.estimators.ridge.solvers import Fitted, figures_of, refuse_too_large, support_of, target_sizes
from onkel.kernels.rows import Rows
from onkel.kernels.tiles import add_scores
from onkel.models.decision import Number
from onkel.solvers.ridge.exact import EigenPath, RidgeProblem

__all__ = ["KernelRidgeCV"]

Floats = NDArray[np.float64]


@shared_docs
class KernelRidgeCV(MultiOutputMixin, RegressorMixin, RidgeEstimator):  # type: ignore[misc]
    """Kernel ridge regression with the alpha that predicts each row best from all the others.

    min Σ sᵢ (yᵢ − f(xᵢ) − b)² + α‖f‖², as `KernelRidge`. The prediction of a row by a fit to all others is
    yᵢ − cᵢ / Gᵢᵢ, with G = (K + αS⁻¹)⁻¹ − G11ᵀG / 1ᵀG1 if there is an intercept, so that no fit is repeated: one
    eigendecomposition of K serves all alphas, targets and rows. To choose the kernel or gamma as well, use
    ``GridSearchCV`` on `KernelRidge`, or compare `best_score_`.

    Parameters
    ----------
    alphas : the alphas to choose from, each ≥ 0; default (0.1, 1, 10). One below the rounding errors of K stands for
        the smallest above them; if it is chosen, a warning says so, and jitter_ is the difference.
    <kernel (ridge), gamma (ridge), degree, coef0, fit_intercept (ridge)>
    scoring : None (default): minus the mean squared error of the leave-one-out predictions, weighted by the sample
        weights. Or a scorer of scikit-learn, by name or as a function of (estimator, X, y), that is applied to these
        predictions; a larger score is better. Sample weights are given to it as `sample_weight`; a scorer that does
        not take them is refused if there are any.
    gcv : True: alpha is chosen by generalized cross-validation, (Σ s r² / n) / (1 − df / n)², which does not change
        when the rows are rotated, instead of leave-one-out. Default False.
    alpha_per_target : False (default): one alpha for all targets, by the mean of their scores; True: one for each.

    Attributes
    ----------
    alpha_ : the alpha that was chosen, a number; shape (targets,) with `alpha_per_target` and a y of two dimensions.
    best_score_ : its score, of the same shape; minus the error if `scoring` is None.
    scores_ : the score of each alpha, shape (alphas,); (alphas, targets) where alpha_ has an entry for each target.
    loo_predictions_ : the prediction of each row by the fit to all others with alpha_, in the shape of y.
    dual_coef_ : shape (n,), or (n, targets) if y has two dimensions, the coefficients c.
    intercept_ : b, a number, or shape (targets,) if y has two dimensions; 0 without an intercept.
    <X_fit_, support_ (ridge), figures (ridge), model_ (ridge), kernel_, gamma_, n_features_in_, feature_names_in_>

    Cost: about 9 n³ multiply-adds and three n × n matrices, and n² multiply-adds for each alpha and target.

    Source: Wahba 1990; Rifkin and Lippert 2007, Notes on regularized least squares.

    >>> from onkel import KernelRidgeCV
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.1, 0.9, 2.1, 2.9]
    >>> reg = KernelRidgeCV(alphas=[0.01, 1.0, 100.0]).fit(X, y)
    >>> reg.alpha_, reg.loo_predictions_.round(2).tolist()
    (0.01, [0.0, 0.99, 1.92, 3.05])
    """

    def __init__(
        self,
        alphas: Any = (0.1, 1.0, 10.0),
        *,
        kernel: Any = "linear",
        gamma: float | str | None = None,
        degree: float = 3,
        coef0: float = 1,
        fit_intercept: bool = False,
        scoring: Any = None,
        gcv: bool = False,
        alpha_per_target: bool = False,
    ) -> None:
        self.alphas = alphas
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.scoring = scoring
        self.gcv = gcv
        self.alpha_per_target = alpha_per_target

    def _check_params(self) -> None:
        super()._check_params()
        check_flag(self.gcv, "gcv", self._name)
        check_flag(self.alpha_per_target, "alpha_per_target", self._name)
        if self.gcv and self.scoring is not None:
            raise ParameterError(f"{self._name}: gcv=True has a score of its own; leave scoring=None with it.")

    def _alphas(self) -> Floats:
        given = np.asarray(self.alphas)
        if given.dtype.kind not in "fiu" or given.ndim > 1 or given.size == 0:
            raise KindError(f"{self._name}: alphas must be numbers >= 0 such as [0.1, 1.0]; got {self.alphas!r}.")
        return np.array([check_number(a, "alphas", self._name, at_least=0.0) for a in given.ravel().tolist()])

    @shared_docs
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Chooses alpha, and solves with it for all rows.

        <X, y (targets), sample_weight, returns, stopped (ridge chunk)>
        """
        new = self._anew()
        new._check_params()
        alphas = new._alphas()
        rows, y, weights = new._check_fit_data(X, y, sample_weight)
        present = np.flatnonzero(weights > 0)
        if len(present) < 2:
            raise InputError(
                f"{self._name}: leave-one-out needs at least 2 rows (n_samples); got {len(present)} sample."
            )
        refuse_too_large(len(present), "eigen", self._name)
        new._several, Y = y.ndim == 2, y.reshape(len(y), -1)
        used = rows if len(present) == len(rows) else rows[present]
        problem = RidgeProblem(new.kernel_, used, Y[present], np.sqrt(weights[present]), bool(self.fit_intercept))
        with signed(self._name):
            new._choose(alphas, EigenPath(problem), rows, Y, weights)
        self._become(new)
        return self

    def _choose(self, alphas: Floats, eigen: EigenPath, rows: Rows, Y: Floats, weights: Floats) -> None:
        """Sets alpha_, the scores, the predictions and the solution."""
        path, present = eigen.path(alphas), np.flatnonzero(weights > 0)
        predicted = Y[present] - path.loo_residuals  # (alphas, n, targets)
        scores = -path.gcv if self.gcv else self._scores(predicted, Y[present], weights[present])
        if not self.alpha_per_target:
            scores = scores.mean(axis=1, keepdims=True)
        best = np.where(np.isnan(scores), -np.inf, scores).argmax(axis=0)  # (1,) or (targets,)
        chosen = np.broadcast_to(best, Y.shape[1])
        solution = eigen.solve(alphas[chosen])
        coef, places = np.zeros(Y.shape), np.arange(len(Y))
        coef[present] = solution.coef
        figures = figures_of("eigen", "it gives all alphas at once", len(Y), solution.rcond, solution.residual)
        support = support_of(self.kernel_, rows, places, coef, target_sizes(Y, weights))
        asked = alphas[chosen]
        self._set_fitted(Fitted(support, places, coef, solution.intercept, asked, solution.alpha, figures))
        loo = np.tile(solution.intercept, (len(Y), 1))  # rows of weight 0 are left out of every fit
        if len(present) < len(Y):
            add_scores(self.kernel_, rows, rows, coef, loo)
        loo[present] = predicted[chosen, :, np.arange(Y.shape[1])].T
        single = not (self.alpha_per_target and self._several)
        self.alpha_ = float(alphas[best[0]]) if single else alphas[best]
        self.best_score_ = float(scores[best[0], 0]) if single else scores[best, np.arange(len(best))]
        self.scores_ = scores[:, 0] if single else scores
        self.loo_predictions_ = loo if self._several else loo[:, 0]

    def _scores(self, predicted: Floats, Y: Floats, weights: Floats) -> Floats:
        """The score of each alpha and target, shape (alphas, targets), of predictions (alphas, n, targets)."""
        if self.scoring is None:
            squares = np.square(predicted - Y)
            return np.asarray(-np.einsum("i,ait->at", weights, squares) / weights.sum())
        if not (callable(self.scoring) or isinstance(self.scoring, str)):
            raise KindError(f"{self._name}: scoring must be None, a name or a function; got {self.scoring!r}.")
        scorer: Callable[..., float] = get_scorer(self.scoring)
        places, extra = np.arange(len(Y))[:, None], {} if (weights == weights[0]).all() else {"sample_weight": weights}
        if extra and not _takes(scorer, "sample_weight"):
            raise self._unweighted()
        try:
            found = [[scorer(_Given(p[:, t]), places, Y[:, t], **extra) for t in range(Y.shape[1])] for p in predicted]
        except TypeError as error:  # a scorer of scikit-learn takes sample_weight, and its metric may not
            if extra and "sample_weight" in str(error):
                raise self._unweighted() from error
            raise
        return np.array(found, dtype=np.float64)

    def _unweighted(self) -> ParameterError:
        return ParameterError(
            f"{self._name}: scoring={self.scoring!r} takes no sample_weight, and the rows have different weights, "
            "which would not count in the choice of alpha. Use a scorer that takes sample_weight, scoring=None, or "
            "leave the weights out."
        )

    def predict(self, X: Any) -> Floats:
        """f(x) + b of each row of X, shape (n,), or (n, targets) if y had two dimensions."""
        seen = self._view()
        rows = seen._check_to_predict(X)
        return seen._decision().decide(seen._scorer.scores(rows))

    def _decision(self) -> Number:
        return Number(self._several)


def _takes(function: Callable[..., Any], name: str) -> bool:
    """Whether a function has a parameter of this name, or takes any."""
    parameters = inspect.signature(function).parameters
    return name in parameters or any(p.kind == inspect.Parameter.VAR_KEYWORD for p in parameters.values())


class _Given(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Predictions that are there already, in the form in which a scorer asks for them."""

    def __init__(self, predictions: Any = None) -> None:
        self.predictions = predictions

    def predict(self, X: Any) -> Any:
        return self.predictions[np.asarray(X)[:, 0]]

    def __sklearn_is_fitted__(self) -> bool:
        return True
