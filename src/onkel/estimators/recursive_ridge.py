"""Kernel ridge regression that learns online: recursive least squares on a sparse dictionary."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from onkel.checks import check_number
from onkel.errors import KindError, ParameterError
from onkel.estimators.base.input import rows_to_predict
from onkel.estimators.base.parameters import check_budget
from onkel.estimators.base.shared_docs import shared_docs
from onkel.estimators.base.targets import Numbers
from onkel.estimators.online import by_task, fitted
from onkel.estimators.online.estimator import OnlineEstimator
from onkel.estimators.online.fitting import fit_in_epochs
from onkel.estimators.online.running import Given, Running
from onkel.kernels import Kernel
from onkel.learners.recursive_ridge.learner import Estimate, RecursiveRidgeLearner, variances
from onkel.models.expansion import Expansion
from onkel.models.model import ScoreModel

__all__ = ["RecursiveKernelRidge"]

Floats = NDArray[np.float64]


@shared_docs
class RecursiveKernelRidge(RegressorMixin, OnlineEstimator):  # type: ignore[misc]
    """Kernel ridge regression, example by example: always the solution for the examples so far, and its uncertainty.

    f minimises Σᵢ ωᵢ (yᵢ − f(xᵢ))² + α ‖f‖² for the sample weights ωᵢ, among the functions Σⱼ cⱼ k(sⱼ, ·) of a
    dictionary. An example is added to the dictionary if it is not nearly a combination of those in it, that is, if the
    squared distance of k(x, ·) from their span is more than ν k(x, x); the others are learned by their projection on
    the span. With ν = 0 and without a budget, f is the solution of kernel ridge regression on all examples, up to
    rounding; of a smooth kernel on rows in sorted order rounding is not small, so keep the default ν there. In other
    words, f is the mean of a Gaussian process with the covariance k and the noise variance α.

    Parameters
    ----------
    alpha : α > 0, default 1, the ridge: the larger, the smoother is f.
    <kernel, gamma, degree, coef0>
    nu : ν in [0, 1), default 1e-4, how far an example must be outside of the dictionary's span to be added, relative
        to k(x, x). Values below 1e-10 count as 1e-10, since the rest would be rounding errors.
    forgetting : λ in (0, 1], default 1. With λ < 1 every example first moves what was learned back to the prior (f = 0
        with the covariance k): the mean by the factor √λ, the variance by λ. What was learned n examples ago counts
        about λⁿ. 1 forgets nothing.
    budget : ≥ 1, the most rows in the dictionary; if it is full, every example is learned by its projection. None
        (default): no limit.
    max_iter : ≥ 1, default 1, the epochs of `fit`. Each epoch counts all examples once more, so that, with λ = 1, t
        epochs are one epoch with alpha / t.
    shuffle : False (default): `fit` visits the examples in the order of the rows; True: in a random order, a new one
        in each epoch. `partial_fit` and `learn_one` never change the order.
    <random_state, warm_start, verbose>

    Attributes
    ----------
    support_ : shape (m,), the row indices of the dictionary, in the order in which they were added. Rows are counted
        from 0, on through all calls since the last new `fit`.
    support_vectors_ : the rows of the dictionary, in float64: an array or CSR matrix of shape (m, features); for a
        kernel on objects, the objects; for kernel="precomputed", the indices of their columns in the Gram matrix.
    <dual_coef_ (one output), intercept_, model_>
    n_updates_ : how many examples had an error and so changed f, over all calls since the last new `fit`.
    <n_rounds_>
    mistakes_ : the last 1000 updates: a structured array with the fields round (from 1), row, class (always 0) and
        step, the error y − f(x) divided by its variance: f changes by the step times the covariance of f(x) and f.
        Earlier updates are only counted.
    <kernel_, gamma_, n_iter_, converged_, n_features_in_, feature_names_in_>

    A sample weight ω counts as ω equal examples (with λ < 1, as ω that come at once). The kernel shall be positive
    semi-definite; kernel values are computed in float64, also of rows in float32.

    <streams (numbers)>

    Cost: an example takes m kernel values and O(m²) operations, for m rows in the dictionary; memory O(m²).

    >>> from onkel import RecursiveKernelRidge
    >>> reg = RecursiveKernelRidge(alpha=1.0, kernel="linear")
    >>> for x, y in ([1.0], 3.0), ([2.0], 6.0):
    ...     reg = reg.learn_one(x, y)
    >>> reg.predict([[2.0]], return_std=True)  # 15 / (5 + α) · 2, and 2 · √(α / (5 + α))
    (array([5.]), array([0.81649658]))

    Source: Engel, Mannor and Meir 2004, The kernel recursive least-squares algorithm; Van Vaerenbergh, Lázaro-Gredilla
    and Santamaría 2012, Kernel recursive least-squares tracker for time-varying regression.
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        kernel: Any = "rbf",
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        nu: float = 1e-4,
        forgetting: float = 1.0,
        budget: int | None = None,
        max_iter: int = 1,
        shuffle: bool = False,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.nu = nu
        self.forgetting = forgetting
        self.budget = budget
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose

    _running: Running[RecursiveRidgeLearner]
    TARGETS = Numbers
    partial_fit = by_task.partial_fit_numbers  # type: ignore[assignment]
    learn_one = by_task.learn_one_number

    @shared_docs
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> RecursiveKernelRidge:
        """Learns from a data set in `max_iter` epochs, by default in one.

        <X, y (numbers), sample_weight, new fit, returns, stopped>
        """
        fit_in_epochs(self, Given(X, y, sample_weight))
        return self

    def _check_params(self) -> None:
        super()._check_params()
        check_number(self.alpha, "alpha", self._name, above=0.0)
        if check_number(self.nu, "nu", self._name, at_least=0.0) >= 1:
            raise ParameterError(
                f"{self._name}: nu must be < 1, or no example would ever be added to the dictionary; got {self.nu!r}."
            )
        check_number(self.forgetting, "forgetting", self._name, above=0.0, at_most=1.0)
        check_budget(self.budget, self._name, none=True)

    def _new_learner(self, kernel: Kernel, n_features: int | None, n_outputs: int) -> RecursiveRidgeLearner:
        alpha, nu, forgetting = float(self.alpha), float(self.nu), float(self.forgetting)
        return RecursiveRidgeLearner(kernel, n_outputs, alpha=alpha, nu=nu, forgetting=forgetting, budget=self.budget)

    # ---------------------------------------------------------------- predicting

    @overload
    def predict(self, X: Any, return_std: Literal[False] = False) -> Floats: ...

    @overload
    def predict(self, X: Any, return_std: Literal[True]) -> tuple[Floats, Floats]: ...

    def predict(self, X: Any, return_std: bool = False) -> Floats | tuple[Floats, Floats]:
        """f(x) for each row of X, shape (n,); with `return_std`, also its standard deviation.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, features), or a list of n objects for a kernel on objects.
        return_std : False (default), or True: returns the pair of f and the standard deviation of f (not of y, whose
            noise has the variance α besides), both of shape (n,). It is √k(x, x) where nothing is known, and needs
            k(x, x), which a precomputed kernel does not have.
        """
        if not return_std:
            return super().predict(X)
        model, estimate = self._known()
        scorer = model.scorer
        assert isinstance(scorer, Expansion)
        if scorer.kernel.takes == "gram":
            raise KindError(
                f"{self._name}: return_std needs k(x, x) of each row; a precomputed kernel has only the values with "
                "the training rows. Use a kernel on the rows themselves."
            )
        rows = rows_to_predict(self, scorer.kernel, model.columns, X)
        variance = variances(scorer.kernel, scorer.support, estimate, rows)
        return model.decision.decide(scorer.scores(rows)), np.sqrt(variance)

    @fitted.reading
    def _known(self) -> tuple[ScoreModel, Estimate]:
        """The model, and the mean and covariance that belong to it."""
        return self.model_, self._running.learner.estimate.copy()
