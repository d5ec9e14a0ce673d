"""NORMA: stochastic gradient steps in the space of functions, with a decay that forgets.

    f ← (1 − ηλ) f − η ℓ′(f(x), y) k(x, ·)

At each example all weights decay, and where the loss has a slope the example is added. Old examples fade,
so that a budget that drops the oldest loses little: at most (1 − ηλ)^B · G √(max k(x, x)) / λ of any score,
where G is the largest slope of the loss (`truncation_error_`).

Source: Kivinen, Smola and Williamson 2004, Online learning with kernels.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OutlierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from onkel.checks import check_number
from onkel.errors import ParameterError
from onkel.estimators.online import OnlineRegressor
from onkel.estimators.online_kernel import OnlineKernelClassifier, OnlineKernelEstimator, one_of
from onkel.kernels.rows import Rows
from onkel.learners import rules
from onkel.learners.budgeted import BudgetedLearner
from onkel.learners.policies import ForgetOldest, Grow
from onkel.learners.rules import Regularised, Rule

__all__ = ["NormaClassifier", "NormaOneClass", "NormaRegressor"]

SCHEDULES = ("constant", "sqrt")


class _Norma(OnlineKernelEstimator):
    """What the three share; a mixin."""

    eta: float
    lam: float
    schedule: Literal["constant", "sqrt"]
    budget: int | None
    nu: float | None

    _slope: float | None = 1.0  # G, the largest slope of the loss; None where there is none

    def _check_params(self) -> None:
        super()._check_params()
        self._check_budget(self.budget, none=True)
        check_number(self.eta, "eta", self._name, above=0.0)
        check_number(self.lam, "lam", self._name, at_least=0.0)
        one_of(self.schedule, "schedule", SCHEDULES, self._name)
        if self.eta * self.lam >= 1:
            raise ParameterError(
                f"{self._name}: eta * lam must be < 1, or f would be turned over at every step; got "
                f"{self.eta:g} * {self.lam:g} = {self.eta * self.lam:g}. Make one of them smaller."
            )
        if self.nu is not None and not 0 < check_number(self.nu, "nu", self._name) < 1:
            raise ParameterError(f"{self._name}: nu must be between 0 and 1; got {self.nu!r}.")

    def _bounded(
        self, rows: Rows, n_outputs: int, step: Any, margin: float, *, signs: bool, intercept: bool
    ) -> BudgetedLearner:
        nu = None if self.nu is None else float(self.nu)
        norma = Regularised(float(self.eta), float(self.lam), nu, self.schedule, intercept)
        policy = Grow() if self.budget is None else ForgetOldest(self.budget)
        rule = Rule(step, signs=signs)
        return BudgetedLearner(self._resolve(rows), n_outputs, rule, policy, norma=norma, margin=float(margin))

    @property
    def truncation_error_(self) -> float:
        """What dropping the oldest examples can have changed a score by, with weights of 1 and k(x, x) of at most that
        of the support: (1 − ηλ)^B · G √(max k(x, x)) / λ; 0 without a budget or before it was full.

        Infinite where there is no such bound: λ = 0, a step that shrinks (`schedule` "sqrt"), the squared loss.
        """
        check_is_fitted(self, "_learner")
        learner: BudgetedLearner = self._learner
        if self.budget is None or len(learner) < self.budget:
            return 0.0
        if self.lam == 0 or self.schedule != "constant" or self._slope is None:
            return math.inf
        largest = float(learner.k_ss.max())
        return float((1 - self.eta * self.lam) ** self.budget * self._slope * math.sqrt(largest) / self.lam)


class NormaClassifier(_Norma, OnlineKernelClassifier):
    """NORMA with the soft margin: learns where y (f(x) + b) ≤ ρ, and forgets a little at every example.

    f ← (1 − ηλ) f, and where y (f(x) + b) ≤ ρ also f ← f + η y k(x, ·) and b ← b + η y. With `nu` the margin
    moves, ρ ← ρ + η(ν − 1[y (f(x) + b) ≤ ρ]), so that about a part ν of the examples lies inside it. With more
    than two classes one output for each against the rest, on one support, each with its own ρ and b.

    Parameters
    ----------
    kernel, gamma, degree, coef0 : as in `KernelPerceptron`.
    eta : η > 0, the step; with λ = 0, ρ = 0 and η = 1 it is the kernel perceptron.
    lam : λ ≥ 0, the decay; ηλ < 1.
    nu : ν in (0, 1), the part of the examples that is to lie inside the margin; None for a fixed margin.
    rho : ρ, or ρ₀ with `nu`. It is not clipped.
    schedule : "constant", or "sqrt" for η/√t at example t.
    fit_intercept : learn b, which does not decay.
    budget : ≥ 1, support vectors at most, for all classes together: the oldest is dropped. None for no limit.
    max_iter, shuffle, random_state, class_weight, warm_start, verbose : as in `Forgetron`.

    Attributes
    ----------
    As in `Forgetron`, without `shrink_` and `forgotten_`; `certificate_` says why there is none; and
    rho_ : ρ of each output.
    truncation_error_ : what dropping old examples can have changed a score by.

    Cost: an example takes a kernel value per support vector.

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
        check_number(self.rho, "rho", self._name)

    def _new_learner(self, rows: Rows, n_outputs: int) -> BudgetedLearner:
        intercept = bool(self.fit_intercept)
        return self._bounded(rows, n_outputs, rules.soft_margin, self.rho, signs=True, intercept=intercept)

    _hard = False

    def _theorem(self, radius_sq: float) -> str:
        return "the theorem on NORMA is about its regularised loss, not about its mistakes"

    @property
    def rho_(self) -> NDArray[np.float64]:
        """ρ of each output, of `classes_` in order."""
        check_is_fitted(self, "_learner")
        margin: NDArray[np.float64] = self._learner.margin
        return margin.copy() if self._labels.n_outputs == 1 else margin[self._labels.order]


class NormaRegressor(_Norma, RegressorMixin, OnlineRegressor):  # type: ignore[misc]
    """NORMA to regress: steps along the error, and forgets a little at every example.

    f ← (1 − ηλ) f + η g k(x, ·) with δ = y − f(x) − b and the slope g of the loss: sign δ where |δ| > ε
    ("epsilon-insensitive"), δ ("squared"), δ/ε clipped to [−1, 1] ("huber"). With `nu`, ε moves so that about
    a part ν of the examples lies outside: ε ← ε + η(1[|δ| > ε] − ν), which is not clipped.

    Parameters
    ----------
    kernel, gamma, degree, coef0 : as in `KernelPerceptron`.
    loss : "epsilon-insensitive", "squared" or "huber".
    epsilon : ε ≥ 0 (> 0 for "huber"); ε₀ with `nu`.
    eta : η > 0, the step.
    lam : λ ≥ 0, the decay; ηλ < 1.
    nu : ν in (0, 1), with the ε-insensitive loss only; None for a fixed ε.
    schedule : "constant", or "sqrt" for η/√t at example t.
    fit_intercept : learn b by the same steps; it does not decay.
    budget : ≥ 1, support vectors at most: the oldest is dropped. None for no limit.
    max_iter, shuffle, random_state, warm_start, verbose : as in `PassiveAggressiveRegressor`.

    Attributes
    ----------
    As in `PassiveAggressiveRegressor`; and
    epsilon_ : ε as it is now.
    truncation_error_ : what dropping old examples can have changed a prediction by.

    Cost: an example takes a kernel value per support vector.

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

    LOSSES: ClassVar[dict[str, Any]] = {
        "epsilon-insensitive": rules.epsilon_insensitive,
        "squared": rules.squared,
        "huber": rules.huber,
    }

    def _check_params(self) -> None:
        super()._check_params()
        one_of(self.loss, "loss", self.LOSSES, self._name)
        if self.loss == "huber":
            check_number(self.epsilon, "epsilon", self._name, above=0.0)
        else:
            check_number(self.epsilon, "epsilon", self._name, at_least=0.0)
        if self.nu is not None and self.loss != "epsilon-insensitive":
            raise ParameterError(
                f"{self._name}: nu moves the epsilon of the epsilon-insensitive loss; got nu={self.nu!r} with "
                f"loss={self.loss!r}. Use nu=None."
            )

    def _new_learner(self, rows: Rows, n_outputs: int) -> BudgetedLearner:
        intercept, step = bool(self.fit_intercept), self.LOSSES[self.loss]
        return self._bounded(rows, n_outputs, step, self.epsilon, signs=False, intercept=intercept)

    @property
    def _slope(self) -> float | None:  # type: ignore[override]
        return None if self.loss == "squared" else 1.0

    @property
    def epsilon_(self) -> float:
        """ε as it is now."""
        check_is_fitted(self, "_learner")
        return float(self._learner.margin[0])


class NormaOneClass(_Norma, OutlierMixin, OnlineRegressor):  # type: ignore[misc]
    """NORMA to tell what is new: f is high where the examples are, and about a part ν of them lies below ρ.

    f ← (1 − ηλ) f; where f(x) < ρ also f ← f + η k(x, ·) and ρ ← ρ − η(1 − ν), elsewhere ρ ← ρ + ην. An example
    is an outlier, −1, where f(x) < ρ, and an inlier, +1, elsewhere, as scikit-learn's outlier detectors say it.

    Parameters
    ----------
    kernel, gamma, degree, coef0 : as in `KernelPerceptron`.
    nu : ν in (0, 1), the part of the examples that is to be new.
    eta : η > 0, the step.
    lam : λ ≥ 0, the decay; ηλ < 1.
    schedule : "constant", or "sqrt" for η/√t at example t.
    budget : ≥ 1, support vectors at most: the oldest is dropped. None for no limit.
    max_iter, shuffle, random_state, warm_start, verbose : as in `PassiveAggressiveRegressor`.

    Attributes
    ----------
    As in `PassiveAggressiveRegressor`; and
    offset_ : ρ, with decision_function = score_samples − offset_. It starts at 0 and is not clipped.
    truncation_error_ : what dropping old examples can have changed a score by.

    Cost: an example takes a kernel value per support vector.

    >>> import numpy as np
    >>> from onkel import NormaOneClass
    >>> X = np.random.default_rng(0).standard_normal((500, 2))
    >>> NormaOneClass(nu=0.1, random_state=0).fit(X).predict([[0.0, 0.0], [9.0, 9.0]])
    array([ 1, -1])

    Source: Kivinen, Smola and Williamson 2004, Online learning with kernels.
    """

    _targets = "none"

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
        if self.nu is None:
            raise ParameterError(f"{self._name}: nu must be between 0 and 1; got None.")

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> NormaOneClass:
        """Learns what the rows of X have in common, in up to `max_iter` epochs; y is not looked at.

        On Ctrl-C what was learned so far is kept, the model is usable, and KeyboardInterrupt goes on.
        """
        return super().fit(X, y, sample_weight)

    def _new_learner(self, rows: Rows, n_outputs: int) -> BudgetedLearner:
        return self._bounded(rows, n_outputs, rules.novelty, 0.0, signs=False, intercept=False)

    @property
    def offset_(self) -> float:
        """ρ."""
        check_is_fitted(self, "_learner")
        return float(self._learner.margin[0])

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """−ρ, so that `model_` scores as `decision_function` does."""
        return np.array([-self.offset_])

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """f(x) of each row: the higher, the less new."""
        return self._scores(X)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """f(x) − ρ: negative for outliers."""
        return self._scores(X) - self.offset_

    def predict(self, X: Any) -> NDArray[np.int64]:  # type: ignore[override]
        """+1 for inliers, −1 for outliers."""
        return np.where(self.decision_function(X) >= 0, 1, -1)

    def predict_one(self, x: Any) -> int | None:
        """+1 or −1 for one example, or None before any learning."""
        score = super().predict_one(x)
        return None if score is None else 1 if score >= self.offset_ else -1
