"""Passive-aggressive learners: no step where an example is well predicted, else the least one that makes it so."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from sklearn.base import RegressorMixin

from onkel.bounds.theorems import Theorem, pa_theorem
from onkel.checks import check_number
from onkel.estimators.online import OnlineRegressor
from onkel.estimators.online_kernel import OnlineKernelClassifier, OnlineKernelEstimator, one_of
from onkel.kernels.rows import Rows
from onkel.learners import policies, rules
from onkel.learners.budgeted import BudgetedLearner
from onkel.learners.rules import Rule

__all__ = ["PassiveAggressiveClassifier", "PassiveAggressiveRegressor"]

Variant = Literal["PA", "PA-I", "PA-II"]


class PassiveAggressiveClassifier(OnlineKernelClassifier):
    """Passive where an example has a margin of 1, else the least step that gives it one.

    f ← f + τ y k(x, ·) with the loss l = max(0, 1 − y f(x)): τ = l/k(x, x) (PA), min(C, l/k(x, x)) (PA-I),
    l/(k(x, x) + 1/(2C)) (PA-II). Over budget the example takes the place of the support vector whose
    loss it makes good best (BPA-S). With more than two classes one output for each against the rest, on
    one support.

    Parameters
    ----------
    kernel, gamma, degree, coef0 : as in `KernelPerceptron`.
    variant : "PA", "PA-I" or "PA-II".
    C : > 0, how aggressive PA-I and PA-II may be; a weight scales it.
    budget : ≥ 1, support vectors at most, for all classes together; None for no limit.
    max_iter, shuffle, random_state, class_weight, warm_start, verbose : as in `Forgetron`.

    Attributes
    ----------
    As in `Forgetron`, without `shrink_` and `forgotten_`. `n_updates_` counts the losses, `n_mistakes_` y f ≤ 0.
    certificate_ : after `fit`, the mistakes against the theorem (`onkel.bounds`): no budget and weights of 1 only, for
        "PA" where what was learned separates the rows.

    Cost: an example takes a kernel value per support vector; the certificate as many as one epoch.

    >>> from onkel import PassiveAggressiveClassifier
    >>> clf = PassiveAggressiveClassifier("linear", shuffle=False, max_iter=1)
    >>> clf.fit([[2.0], [-1.0]], [1, 0]).dual_coef_, clf.decision_function([[1.0]])
    (array([[ 0.25, -0.5 ]]), array([1.]))

    Source: Crammer et al. 2006, Online passive-aggressive algorithms; Wang and Vucetic 2010 on a budget.
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        variant: Variant = "PA-I",
        C: float = 1.0,
        budget: int | None = None,
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
        self.variant = variant
        self.C = C
        self.budget = budget
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.verbose = verbose

    RULES: ClassVar[dict[str, Any]] = {"PA": rules.pa, "PA-I": rules.pa1, "PA-II": rules.pa2}

    @property
    def _hard(self) -> bool:  # type: ignore[override]
        return self.variant == "PA"

    def _check_params(self) -> None:
        super()._check_params()
        self._check_budget(self.budget, none=True)
        check_number(self.C, "C", self._name, above=0.0)
        one_of(self.variant, "variant", self.RULES, self._name)

    def _new_learner(self, rows: Rows, n_outputs: int) -> BudgetedLearner:
        rule = Rule(self.RULES[self.variant], () if self.variant == "PA" else (float(self.C),))
        return BudgetedLearner(self._resolve(rows), n_outputs, rule, _replacing(self.budget))

    def _theorem(self, radius_sq: float) -> Theorem | str:
        if self._learner.policy.budget is not None:
            return "the theorem is about learning without a budget; with one there is none"
        return pa_theorem(self.variant, float(self.C), radius_sq)


class PassiveAggressiveRegressor(OnlineKernelEstimator, RegressorMixin, OnlineRegressor):  # type: ignore[misc]
    """Passive where an example is predicted within ε, else the least step that brings it there.

    f ← f + τ sign(y − f(x)) k(x, ·) with the loss l = max(0, |y − f(x)| − ε) and the τ of
    `PassiveAggressiveClassifier`; so is the budget.

    Parameters
    ----------
    kernel, gamma, degree, coef0 : as in `KernelPerceptron`.
    variant : "PA", "PA-I" or "PA-II".
    C : > 0, how aggressive PA-I and PA-II may be; a weight scales it.
    epsilon : ε ≥ 0, errors that do not matter.
    budget : ≥ 1, support vectors at most; None for no limit.
    max_iter : ≥ 1, epochs of `fit`; it stops earlier after one without an update.
    shuffle, random_state, warm_start, verbose : as in `Forgetron`.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_, intercept_, model_ : what was learned.
    n_updates_, n_rounds_, mistakes_ : updates; examples seen, epochs counted; the last updates.
    kernel_, gamma_, n_iter_, converged_, n_features_in_, feature_names_in_ : as usual.

    Cost: an example takes a kernel value per support vector.

    >>> from onkel import PassiveAggressiveRegressor
    >>> reg = PassiveAggressiveRegressor("linear", variant="PA", epsilon=0.0, shuffle=False, max_iter=1)
    >>> reg.fit([[1.0], [2.0]], [3.0, 6.0]).predict([[3.0]]), reg.n_updates_
    (array([9.]), 1)

    Source: Crammer et al. 2006, Online passive-aggressive algorithms, sec. 5; Wang and Vucetic 2010 on a budget.
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        variant: Variant = "PA-I",
        C: float = 1.0,
        epsilon: float = 0.1,
        budget: int | None = None,
        max_iter: int = 20,
        shuffle: bool = True,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.variant = variant
        self.C = C
        self.epsilon = epsilon
        self.budget = budget
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose

    RULES: ClassVar[dict[str, Any]] = {
        "PA": rules.pa_regression,
        "PA-I": rules.pa1_regression,
        "PA-II": rules.pa2_regression,
    }

    def _check_params(self) -> None:
        super()._check_params()
        self._check_budget(self.budget, none=True)
        check_number(self.C, "C", self._name, above=0.0)
        check_number(self.epsilon, "epsilon", self._name, at_least=0.0)
        one_of(self.variant, "variant", self.RULES, self._name)

    def _new_learner(self, rows: Rows, n_outputs: int) -> BudgetedLearner:
        more = () if self.variant == "PA" else (float(self.C),)
        rule = Rule(self.RULES[self.variant], (float(self.epsilon), *more), signs=False)
        return BudgetedLearner(self._resolve(rows), n_outputs, rule, _replacing(self.budget))


def _replacing(budget: int | None) -> policies.Policy:
    return policies.Grow() if budget is None else policies.ReplaceCheapest(budget)
