"""Passive-aggressive learners: no step if an example is predicted well enough, else the smallest that makes it so."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from sklearn.base import ClassifierMixin, RegressorMixin

from onkel.bounds.theorems import Theorem, pa_theorem
from onkel.checks import check_number, check_one_of
from onkel.estimators.base.parameters import check_budget
from onkel.estimators.base.shared_docs import shared_docs
from onkel.estimators.base.targets import Numbers
from onkel.estimators.online import by_task
from onkel.estimators.online.estimator import OnlineEstimator
from onkel.estimators.online.running import Running
from onkel.kernels import Kernel
from onkel.learners import policies, rules
from onkel.learners.budgeted.learner import BudgetedLearner
from onkel.learners.rules import Rule

__all__ = ["PassiveAggressiveClassifier", "PassiveAggressiveRegressor"]

Variant = Literal["PA", "PA-I", "PA-II"]


@shared_docs
class PassiveAggressiveClassifier(ClassifierMixin, OnlineEstimator):  # type: ignore[misc]
    """A learner with a margin: passive if y f(x) ≥ 1, else it takes the smallest step that makes it so.

    f ← f + τ y k(x, ·), with the loss l = max(0, 1 − y f(x)) and the step

        PA       τ = l / k(x, x)
        PA-I     τ = min(C, l / k(x, x))
        PA-II    τ = l / (k(x, x) + 1/(2C))

    If the budget is full, the new example replaces the support vector whose removal, compensated by the new one's
    weight, changes f least in norm (BPA-S). With more than two classes there is one binary classifier per class
    (one-vs-rest); all of them share one support.

    Parameters
    ----------
    <kernel, gamma, degree, coef0>
    variant : "PA", "PA-I" (default) or "PA-II", the step. PA always ends the loss, even on a wrong label; PA-I and
        PA-II limit the influence of a single example and so tolerate noise.
    C : > 0, default 1, how far a step of PA-I or PA-II may go; the larger, the nearer they are to PA.
    budget : ≥ 1, the most support vectors, for all classes together; None (default): no limit.
    max_iter : ≥ 1, default 10, the most epochs of `fit`, which stops earlier after an epoch without an update.
    <shuffle, random_state, class_weight (PA), warm_start, verbose>

    Attributes
    ----------
    <classes_, support_, support_vectors_, dual_coef_, intercept_, model_>
    <n_mistakes_>
    n_updates_ : how many examples had a loss, y f(x) < 1, and were learned from, summed over the outputs and over all
        calls since the last new `fit`.
    <n_rounds_, mistakes_>
    certificate_ : after `fit`, the number of mistakes and the bound of the variant's theorem on it, with what was
        learned as the comparator. Without a bound if there is a budget, if a weight is not 1, if the kernel is not
        known to be positive semi-definite, or, for "PA", if what was learned does not separate the rows. Not available
        after online learning, since the examples are not kept.
    <kernel_, gamma_, n_iter_, converged_, n_features_in_, feature_names_in_>

    <streams>

    Cost: an example takes one kernel value per support vector; the certificate takes as many as one epoch.

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

    _running: Running[BudgetedLearner]
    decision_function = by_task.decision_function

    RULES: ClassVar[dict[str, Rule]] = {"PA": rules.pa, "PA-I": rules.pa1, "PA-II": rules.pa2}

    def _check_params(self) -> None:
        super()._check_params()
        check_budget(self.budget, self._name, none=True)
        check_number(self.C, "C", self._name, above=0.0)
        check_one_of(self.variant, "variant", self.RULES, self._name)

    def _new_learner(self, kernel: Kernel, n_features: int | None, n_outputs: int) -> BudgetedLearner:
        return BudgetedLearner(kernel, n_outputs, _rule(self), _replacing(self.budget))

    def _theorem(self, radius_sq: float) -> Theorem | str:
        if self._running.learner.policy.budget is not None:
            return "the theorem is about learning without a budget; with one there is none"
        return pa_theorem(self.variant, float(self.C), radius_sq)


@shared_docs
class PassiveAggressiveRegressor(RegressorMixin, OnlineEstimator):  # type: ignore[misc]
    """Regression that is passive if the error is at most ε, else takes the smallest step that makes it so.

    f ← f + τ sign(y − f(x)) k(x, ·), with the loss l = max(0, |y − f(x)| − ε) and the step

        PA       τ = l / k(x, x)
        PA-I     τ = min(C, l / k(x, x))
        PA-II    τ = l / (k(x, x) + 1/(2C))

    If the budget is full, the new example replaces the support vector whose removal, compensated by the new one's
    weight, changes f least in norm (BPA-S).

    Parameters
    ----------
    <kernel, gamma, degree, coef0>
    variant : "PA", "PA-I" (default) or "PA-II", the step. PA always ends the loss, even on an outlier; PA-I and PA-II
        limit the influence of a single example and so tolerate noise.
    C : > 0, default 1, how far a step of PA-I or PA-II may go; the larger, the nearer they are to PA. A sample weight
        multiplies C; plain PA ignores every weight except 0, which leaves the example out.
    epsilon : ε ≥ 0, default 0.1, the size up to which an error does not matter.
    budget : ≥ 1, the most support vectors; None (default): no limit.
    max_iter : ≥ 1, default 20, the most epochs of `fit`, which stops earlier after an epoch without an update.
    <shuffle, random_state, warm_start, verbose>

    Attributes
    ----------
    <support_, support_vectors_, dual_coef_ (one output), intercept_, model_>
    n_updates_ : how many examples had a loss, an error above ε, and were learned from, over all calls since the last
        new `fit`.
    <n_rounds_, mistakes_ (one output)>
    <kernel_, gamma_, n_iter_, converged_, n_features_in_, feature_names_in_>

    <streams (numbers)>

    Cost: an example takes one kernel value per support vector.

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

    _running: Running[BudgetedLearner]
    TARGETS = Numbers
    partial_fit = by_task.partial_fit_numbers  # type: ignore[assignment]
    learn_one = by_task.learn_one_number

    RULES: ClassVar[dict[str, Rule]] = {
        "PA": rules.pa_regression,
        "PA-I": rules.pa1_regression,
        "PA-II": rules.pa2_regression,
    }

    def _check_params(self) -> None:
        super()._check_params()
        check_budget(self.budget, self._name, none=True)
        check_number(self.C, "C", self._name, above=0.0)
        check_number(self.epsilon, "epsilon", self._name, at_least=0.0)
        check_one_of(self.variant, "variant", self.RULES, self._name)

    def _new_learner(self, kernel: Kernel, n_features: int | None, n_outputs: int) -> BudgetedLearner:
        return BudgetedLearner(kernel, n_outputs, _rule(self), _replacing(self.budget))


def _rule(estimator: PassiveAggressiveClassifier | PassiveAggressiveRegressor) -> Rule:
    """The rule of an estimator, with its parameters."""
    rule = estimator.RULES[estimator.variant]
    return rule.with_params(**{name: float(getattr(estimator, name)) for name in rule.params})


def _replacing(budget: int | None) -> policies.Policy:
    """BPA-S under a budget; a growing support without one."""
    return policies.Grow() if budget is None else policies.ReplaceCheapest(budget)
