"""NORMA: stochastic gradient descent in the space of functions, on a regularised loss.

    f ← (1 − ηλ) f − η ℓ′(f(x), y) k(x, ·)

At each example all weights decay by the factor 1 − ηλ, and if the loss has a slope there, the example is added. Old
examples fade, so dropping the oldest when a budget B is full costs little: at most (1 − ηλ)^B · G √(max k(x, x)) / λ in
any score, where G is the largest slope of the loss (`truncation_error_`).

Source: Kivinen, Smola and Williamson 2004, Online learning with kernels.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, OutlierMixin, RegressorMixin

from onkel.checks import check_number, check_one_of
from onkel.errors import ParameterError
from onkel.estimators.base.labels import Labels
from onkel.estimators.base.parameters import check_budget
from onkel.estimators.base.shared_docs import shared_docs
from onkel.estimators.base.targets import Numbers, Targets, Unlabelled
from onkel.estimators.online import by_task
from onkel.estimators.online.estimator import OnlineEstimator
from onkel.estimators.online.fitted import reading
from onkel.estimators.online.fitting import fit_in_epochs
from onkel.estimators.online.running import Given, Running
from onkel.kernels import Kernel
from onkel.learners import rules
from onkel.learners.budgeted.learner import BudgetedLearner
from onkel.learners.policies import ForgetOldest, Grow
from onkel.learners.rules import Regularised, Rule
from onkel.models.decision import Outlier

__all__ = ["NormaClassifier", "NormaOneClass", "NormaRegressor"]

SCHEDULES = ("constant", "sqrt")
NormaEstimator: TypeAlias = "NormaClassifier | NormaRegressor | NormaOneClass"


def _check_norma(self: NormaEstimator) -> None:
    check_budget(self.budget, self._name, none=True)
    check_number(self.eta, "eta", self._name, above=0.0)
    check_number(self.lam, "lam", self._name, at_least=0.0)
    check_one_of(self.schedule, "schedule", SCHEDULES, self._name)
    if self.eta * self.lam >= 1:
        raise ParameterError(
            f"{self._name}: eta * lam must be < 1, or f would be turned over at every step; got "
            f"{self.eta:g} * {self.lam:g} = {self.eta * self.lam:g}. Make one of them smaller."
        )
    if self.nu is not None and not 0 < check_number(self.nu, "nu", self._name) < 1:
        raise ParameterError(f"{self._name}: nu must be between 0 and 1; got {self.nu!r}.")


def _norma_learner(
    self: NormaEstimator, kernel: Kernel, n_outputs: int, rule: Rule, margin: float, *, intercept: bool
) -> BudgetedLearner:
    nu = None if self.nu is None else float(self.nu)
    norma = Regularised(float(self.eta), float(self.lam), nu, self.schedule, intercept)
    policy = Grow() if self.budget is None else ForgetOldest(self.budget)
    return BudgetedLearner(kernel, n_outputs, rule, policy, norma=norma, margin=float(margin))


def _truncation_error(self: NormaEstimator, slope: float | None) -> float:
    """`truncation_error_`, where `slope` is G, the largest slope of the loss; None if it is unbounded."""
    if self.budget is None or len(self._running.learner) < self.budget:
        return 0.0
    if self.lam == 0 or self.schedule != "constant" or slope is None:
        return math.inf
    largest = max(float(self._running.learner.k_ss.max()), 0.0)  # only a kernel that is not valid has negative ones
    return float((1 - self.eta * self.lam) ** self.budget * slope * math.sqrt(largest) / self.lam)


@shared_docs
class NormaClassifier(ClassifierMixin, OnlineEstimator):  # type: ignore[misc]
    """NORMA for classification: learns if y (f(x) + b) ≤ ρ, and lets all weights decay at every example.

    At each example f ← (1 − ηλ) f; and if y (f(x) + b) ≤ ρ, also f ← f + η y k(x, ·) and b ← b + η y. With `nu` the
    margin adapts itself, ρ ← ρ + η (ν − 1[y (f(x) + b) ≤ ρ]), so that about a fraction ν of the examples lies inside
    it. With more than two classes there is one binary classifier per class (one-vs-rest); all of them share one
    support, and each has its own ρ and b.

    Parameters
    ----------
    <kernel, gamma, degree, coef0>
    eta : η > 0, default 0.2, the step size. A weight multiplies the step.
    lam : λ ≥ 0, default 0.001, the decay; ηλ must be < 1. An example's weight halves in about 0.7/(ηλ) further
        examples. With λ = 0, ρ = 0, η = 1 and no intercept, NORMA is the kernel perceptron.
    nu : ν in (0, 1), the fraction of examples that shall lie inside the margin; None (default): the margin ρ is fixed.
    rho : default 1, the margin ρ, or its value at the start if `nu` is given. ρ may become negative.
    schedule : "constant" (default): η at every example; "sqrt": η/√t at example t.
    fit_intercept : True (default): learns b, which does not decay; False: b = 0.
    budget : ≥ 1, default 1000, the most support vectors, for all classes together; if it is full, the oldest is
        dropped. None: no limit.
    max_iter : ≥ 1, default 10, the most epochs of `fit`, which stops earlier after an epoch without an update.
    <shuffle, random_state, class_weight, warm_start, verbose>

    Attributes
    ----------
    <classes_, support_, support_vectors_, dual_coef_, intercept_ (learned), model_>
    rho_ : shape (outputs,), the margin ρ of each output.
    truncation_error_ : a bound on how much dropping old support vectors has changed any score; inf if there is none.
    <n_mistakes_, n_updates_, n_rounds_, mistakes_, certificate_ (none)>
    <kernel_, gamma_, n_iter_, converged_, n_features_in_, feature_names_in_>

    <streams>

    Cost: an example takes one kernel value per support vector.

    >>> from onkel import NormaClassifier
    >>> clf = NormaClassifier("linear", eta=0.5, lam=0.1, shuffle=False, max_iter=1, fit_intercept=False)
    >>> clf.fit([[1.0], [-1.0]], [1, 0]).dual_coef_  # the first has decayed by 1 − ηλ
    array([[ 0.475, -0.5  ]])

    Source: Kivinen, Smola and Williamson 2004, Online learning with kernels.
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        eta: float = 0.2,
        lam: float = 1e-3,
        nu: float | None = None,
        rho: float = 1.0,
        schedule: Literal["constant", "sqrt"] = "constant",
        fit_intercept: bool = True,
        budget: int | None = 1000,
        max_iter: int = 10,
        shuffle: bool = True,
        random_state: Any = None,
        class_weight: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.eta = eta
        self.lam = lam
        self.nu = nu
        self.rho = rho
        self.schedule = schedule
        self.fit_intercept = fit_intercept
        self.budget = budget
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.verbose = verbose

    def _check_params(self) -> None:
        super()._check_params()
        _check_norma(self)
        check_number(self.rho, "rho", self._name)

    def _new_learner(self, kernel: Kernel, n_features: int | None, n_outputs: int) -> BudgetedLearner:
        intercept = bool(self.fit_intercept)
        return _norma_learner(self, kernel, n_outputs, rules.soft_margin, self.rho, intercept=intercept)

    _running: Running[BudgetedLearner]
    decision_function = by_task.decision_function

    def _theorem(self, radius_sq: float) -> str:
        return "the theorem on NORMA is about its regularised loss, not about its mistakes"

    @property
    @reading
    def truncation_error_(self) -> float:
        """A bound on how much dropping the oldest examples has changed any score; infinite where there is none."""
        return _truncation_error(self, slope=1.0)

    @property
    @reading
    def rho_(self) -> NDArray[np.float64]:
        """The margin ρ of each output, in the order of `classes_`, shape (outputs,)."""
        margin, targets = self._running.learner.margin, self._running.targets
        assert isinstance(targets, Labels)
        return margin.copy() if targets.n_outputs == 1 else margin[targets.order]


@shared_docs
class NormaRegressor(RegressorMixin, OnlineEstimator):  # type: ignore[misc]
    """NORMA for regression: a gradient step on the error, and a decay of all weights at every example.

    f ← (1 − ηλ) f + η g k(x, ·), with the error δ = y − f(x) − b and the slope g of the loss: sign δ if |δ| > ε, else 0
    ("epsilon-insensitive"); δ ("squared"); δ/ε clipped to [−1, 1] ("huber"). With `nu`, ε adapts itself,
    ε ← ε + η (1[|δ| > ε] − ν), so that about a fraction ν of the examples lies outside.

    Parameters
    ----------
    <kernel, gamma, degree, coef0>
    loss : "epsilon-insensitive" (default), "squared" or "huber".
    epsilon : ε ≥ 0, default 0.1: the size up to which an error costs nothing ("epsilon-insensitive"; the value at the
        start if `nu` is given), or up to which the loss is quadratic ("huber", > 0). "squared" does not use it.
    eta : η > 0, default 0.2, the step size. A sample weight multiplies the step.
    lam : λ ≥ 0, default 0.001, the decay; ηλ must be < 1. An example's weight halves in about 0.7/(ηλ) further
        examples.
    nu : ν in (0, 1), the fraction of examples that shall lie outside ε, with the "epsilon-insensitive" loss only; None
        (default): ε is fixed. ε may become negative.
    schedule : "constant" (default): η at every example; "sqrt": η/√t at example t.
    fit_intercept : True: learns b by the same steps, without decay; False (default): b = 0.
    budget : ≥ 1, default 1000, the most support vectors; if it is full, the oldest is dropped. None: no limit.
    max_iter : ≥ 1, default 10, the most epochs of `fit`, which stops earlier after an epoch without an update.
    <shuffle, random_state, warm_start, verbose>

    Attributes
    ----------
    <support_, support_vectors_, dual_coef_ (one output), intercept_ (learned), model_>
    epsilon_ : the current ε.
    truncation_error_ : a bound on how much dropping old support vectors has changed any score; inf if there is none.
    <n_updates_ (one output), n_rounds_, mistakes_ (one output)>
    <kernel_, gamma_, n_iter_, converged_, n_features_in_, feature_names_in_>

    <streams (numbers)>

    Cost: an example takes one kernel value per support vector.

    >>> from onkel import NormaRegressor
    >>> reg = NormaRegressor("linear", loss="squared", eta=0.5, lam=0.0, shuffle=False, max_iter=1)
    >>> reg.fit([[1.0], [1.0]], [4.0, 4.0]).predict([[1.0]])
    array([3.])

    Source: Kivinen, Smola and Williamson 2004, Online learning with kernels.
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        loss: Literal["epsilon-insensitive", "squared", "huber"] = "epsilon-insensitive",
        epsilon: float = 0.1,
        eta: float = 0.2,
        lam: float = 1e-3,
        nu: float | None = None,
        schedule: Literal["constant", "sqrt"] = "constant",
        fit_intercept: bool = False,
        budget: int | None = 1000,
        max_iter: int = 10,
        shuffle: bool = True,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.loss = loss
        self.epsilon = epsilon
        self.eta = eta
        self.lam = lam
        self.nu = nu
        self.schedule = schedule
        self.fit_intercept = fit_intercept
        self.budget = budget
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose

    _running: Running[BudgetedLearner]
    TARGETS = Numbers
    partial_fit = by_task.partial_fit_numbers  # type: ignore[assignment]
    learn_one = by_task.learn_one_number

    LOSSES: ClassVar[dict[str, Any]] = {
        "epsilon-insensitive": rules.epsilon_insensitive,
        "squared": rules.squared,
        "huber": rules.huber,
    }

    def _check_params(self) -> None:
        super()._check_params()
        _check_norma(self)
        check_one_of(self.loss, "loss", self.LOSSES, self._name)
        if self.loss == "huber":
            check_number(self.epsilon, "epsilon", self._name, above=0.0)
        else:
            check_number(self.epsilon, "epsilon", self._name, at_least=0.0)
        if self.nu is not None and self.loss != "epsilon-insensitive":
            raise ParameterError(
                f"{self._name}: nu moves the epsilon of the epsilon-insensitive loss; got nu={self.nu!r} with "
                f"loss={self.loss!r}. Use nu=None."
            )

    def _new_learner(self, kernel: Kernel, n_features: int | None, n_outputs: int) -> BudgetedLearner:
        intercept, step = bool(self.fit_intercept), self.LOSSES[self.loss]
        return _norma_learner(self, kernel, n_outputs, step, self.epsilon, intercept=intercept)

    @property
    @reading
    def truncation_error_(self) -> float:
        """A bound on how much dropping the oldest examples has changed any score; infinite where there is none."""
        return _truncation_error(self, slope=None if self.loss == "squared" else 1.0)

    @property
    @reading
    def epsilon_(self) -> float:
        """The current ε."""
        return float(self._running.learner.margin[0])


@shared_docs
class NormaOneClass(OutlierMixin, OnlineEstimator):  # type: ignore[misc]
    """NORMA for novelty detection: f is high where examples are dense; along the stream, about a fraction ν is below ρ.

    At each example f ← (1 − ηλ) f. If f(x) < ρ, also f ← f + η k(x, ·) and ρ ← ρ − η (1 − ν); otherwise ρ ← ρ + ην. An
    example with f(x) < ρ is an outlier and is predicted as −1; the others are inliers, +1.

    ρ starts at 0. Early in a stream it has not settled yet, and an example may be called an outlier although it has
    just been learned from; the very first one always is. About a fraction ν of the examples are outliers along the
    stream, each at the time it comes. The threshold ρ fluctuates, so that the fraction of the training data that the
    final model calls outliers may differ (ν = 0.1 gave from 5 % to 36 % on samples of 1000 normal points). The scores
    have no fixed scale.

    Parameters
    ----------
    <kernel, gamma, degree, coef0>
    nu : ν in (0, 1), default 0.1, the fraction of examples that shall be outliers along the stream.
    eta : η > 0, default 0.2, the step size. A sample weight multiplies the step.
    lam : λ ≥ 0, default 0.001, the decay; ηλ must be < 1. An example's weight halves in about 0.7/(ηλ) further
        examples.
    schedule : "constant" (default): η at every example; "sqrt": η/√t at example t.
    budget : ≥ 1, default 1000, the most support vectors; if it is full, the oldest is dropped. None: no limit.
    max_iter : ≥ 1, default 10, the most epochs of `fit`, which stops earlier after an epoch without an update.
    <shuffle, random_state, warm_start, verbose>

    Attributes
    ----------
    <support_, support_vectors_, dual_coef_ (one output)>
    offset_ : the threshold ρ: decision_function = score_samples − offset_. It may become negative.
    intercept_ : shape (1,), −ρ.
    <model_>
    truncation_error_ : a bound on how much dropping old support vectors has changed any score; inf if there is none.
    <n_updates_ (one output), n_rounds_, mistakes_ (one output)>
    <kernel_, gamma_, n_iter_, converged_, n_features_in_, feature_names_in_>

    <streams (numbers)>

    Cost: an example takes one kernel value per support vector.

    >>> import numpy as np
    >>> from onkel import NormaOneClass
    >>> X = np.random.default_rng(0).standard_normal((500, 2))
    >>> NormaOneClass(nu=0.1, random_state=0).fit(X).predict([[0.0, 0.0], [9.0, 9.0]])
    array([ 1, -1])

    Source: Kivinen, Smola and Williamson 2004, Online learning with kernels.
    """

    _running: Running[BudgetedLearner]
    TARGETS: ClassVar[type[Targets]] = Unlabelled
    partial_fit = by_task.partial_fit_numbers  # type: ignore[assignment]
    learn_one = by_task.learn_one_number

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        nu: float = 0.1,
        eta: float = 0.2,
        lam: float = 1e-3,
        schedule: Literal["constant", "sqrt"] = "constant",
        budget: int | None = 1000,
        max_iter: int = 10,
        shuffle: bool = True,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.nu = nu
        self.eta = eta
        self.lam = lam
        self.schedule = schedule
        self.budget = budget
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose

    def _check_params(self) -> None:
        super()._check_params()
        _check_norma(self)
        if self.nu is None:
            raise ParameterError(f"{self._name}: nu must be between 0 and 1; got None.")

    @shared_docs
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> NormaOneClass:
        """Learns from a data set without labels, in up to `max_iter` epochs.

        <X, y (ignored), sample_weight, new fit, returns, stopped>
        """
        fit_in_epochs(self, Given(X, y, sample_weight))
        return self

    def _new_learner(self, kernel: Kernel, n_features: int | None, n_outputs: int) -> BudgetedLearner:
        return _norma_learner(self, kernel, n_outputs, rules.novelty, 0.0, intercept=False)

    @property
    @reading
    def truncation_error_(self) -> float:
        """A bound on how much dropping the oldest examples has changed any score; infinite where there is none."""
        return _truncation_error(self, slope=1.0)

    @property
    @reading
    def offset_(self) -> float:
        """The threshold ρ."""
        return float(self._running.learner.margin[0])

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """The score f(x) of each row of X, shape (n,): the higher, the more normal."""
        return self._scored(X)[0][:, 0]

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """f(x) − ρ of each row of X, shape (n,): negative for outliers."""
        scores, model = self._scored(X)
        assert isinstance(model.decision, Outlier)
        return scores[:, 0] - model.decision.threshold
