"""Perceptrons in bounded memory, for streams without an end.

The support of a kernel perceptron grows with every mistake; the support of these learners does not. `Forgetron` and
`BudgetPerceptron` combine the perceptron's update rule (`onkel.learners.rules`) with a budget policy
(`onkel.learners.policies`); `Projectron` has a learner of its own (`onkel.learners.projectron.learner`).
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from sklearn.base import ClassifierMixin

from onkel.bounds.theorems import FORGETRON_LEAST, Theorem, forgetron_theorem
from onkel.checks import check_number, check_one_of
from onkel.estimators.base.parameters import check_budget, seed_of
from onkel.estimators.base.shared_docs import shared_docs
from onkel.estimators.online import by_task
from onkel.estimators.online.estimator import OnlineEstimator
from onkel.estimators.online.fitted import reading
from onkel.estimators.online.running import Running
from onkel.kernels import Kernel
from onkel.learners import policies, rules
from onkel.learners.budgeted.learner import BudgetedLearner
from onkel.learners.projectron.learner import ProjectingLearner

__all__ = ["BudgetPerceptron", "Forgetron", "Projectron"]


@shared_docs
class Forgetron(ClassifierMixin, OnlineEstimator):  # type: ignore[misc]
    """A perceptron on a budget that shrinks all weights just enough and then drops its oldest support vector.

    At a mistake, y f(x) ≤ 0, the example is added: f′ = f + y k(x, ·). If that exceeds the budget B, all weights are
    multiplied by a factor φ ≤ 1, and the oldest support vector is dropped. The self-tuned φ is the largest one with
    which Q, the sum of the theorem's losses from dropping so far, stays within (15/32) M for M mistakes; the mistake
    bound needs exactly this. The basic variant shrinks at every mistake, by φ = min{(B+1)^(−1/(2(B+1))), U/‖f′‖} with
    U = ¼ √((B+1)/ln(B+1)).

    The kernel must have k(x, x) ≤ 1, as RBF and every ``kernel.normalized()``; others are refused. With more than two
    classes there is one binary classifier per class (one-vs-rest); all of them share one support, one φ, one M and
    one Q. If `fit` does not converge, it warns of equal rows with different labels, on which no function is right.

    Parameters
    ----------
    <kernel, gamma, degree, coef0>
    budget : ≥ 1, default 100, the most support vectors, for all classes together.
    variant : "self-tuned" (default) or "basic", the choice of φ.
    max_iter : ≥ 1, default 10, the most epochs of `fit`, which stops earlier after an epoch without a mistake.
    <shuffle, random_state, class_weight, warm_start, verbose>

    Attributes
    ----------
    <classes_, support_, support_vectors_, dual_coef_, intercept_, model_>
    <n_mistakes_, n_updates_, n_rounds_, mistakes_ (mistakes only)>
    shrink_ : the φ of the last mistake; 1 if nothing was shrunk.
    forgotten_ : Q, the sum of the theorem's losses from dropping support vectors; at most 15/32 of the mistakes
        (self-tuned).
    certificate_ : after `fit`, the number of mistakes and the bound of the Forgetron's theorem on it, with what was
        learned as the comparator. Without a bound if budget < 83, if a weight is not 1, or if the kernel is not known
        to be positive semi-definite. Not available after online learning, since the examples are not kept.
    <kernel_, gamma_, n_iter_, converged_, n_features_in_, feature_names_in_>

    <streams>

    Cost: an example takes `budget` kernel values, and a mistake budget × outputs more multiply-adds; memory is
    budget × (features + budget). The certificate takes as many kernel values as one epoch.

    >>> from onkel import Forgetron
    >>> clf = Forgetron(gamma=1.0, budget=2, shuffle=False, max_iter=1)
    >>> clf.fit([[0.0], [1.0], [0.1], [0.9], [0.4]], [0, 1, 0, 1, 1]).support_.tolist()
    [1, 4]

    Source: Dekel, Shalev-Shwartz and Singer 2008, The Forgetron: a kernel-based perceptron on a budget.
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        budget: int = 100,
        variant: Literal["self-tuned", "basic"] = "self-tuned",
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
        self.budget = budget
        self.variant = variant
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.verbose = verbose

    _running: Running[BudgetedLearner]
    decision_function = by_task.decision_function

    POLICIES: ClassVar[dict[str, type[policies.Policy]]] = {
        "self-tuned": policies.ShrinkThenForget,
        "basic": policies.ShrinkByNorm,
    }

    def _check_params(self) -> None:
        super()._check_params()
        check_budget(self.budget, self._name)
        check_one_of(self.variant, "variant", self.POLICIES, self._name)

    def _new_learner(self, kernel: Kernel, n_features: int | None, n_outputs: int) -> BudgetedLearner:
        policy = self.POLICIES[self.variant](self.budget)
        return BudgetedLearner(kernel, n_outputs, rules.perceptron, policy)

    def _theorem(self, radius_sq: float) -> Theorem | str:
        budget = self._running.learner.policy.budget
        assert budget is not None
        if budget < FORGETRON_LEAST:
            return f"the Forgetron's theorem needs a budget of at least {FORGETRON_LEAST}; this one is {budget}"
        return forgetron_theorem(budget, self._running.targets.n_outputs, radius_sq)

    @property
    @reading
    def shrink_(self) -> float:
        """The factor φ of the last mistake."""
        return float(self._running.learner.shrink)

    @property
    @reading
    def forgotten_(self) -> float:
        """Q, the sum of the theorem's losses from dropping support vectors.

        It is at most 15/32 of the mistakes (self-tuned).
        """
        return float(self._running.learner.Q)


@shared_docs
class BudgetPerceptron(ClassifierMixin, OnlineEstimator):  # type: ignore[misc]
    """A perceptron on a budget: when the budget is full, each example that is added replaces another one.

    At a mistake, y f(x) ≤ 0, the example is added: f ← f + y k(x, ·). If the budget is full, a support vector drawn at
    random, or the oldest one, is dropped. With more than two classes there is one binary classifier per class
    (one-vs-rest); all of them share one support.

    Parameters
    ----------
    <kernel, gamma, degree, coef0>
    budget : ≥ 1, default 100, the most support vectors, for all classes together.
    forget : which support vector is dropped: "random" (default), one drawn at random, or "oldest".
    max_iter : ≥ 1, default 10, the most epochs of `fit`, which stops earlier after an epoch without a mistake.
    <shuffle>
    random_state : None (default), an int or a RandomState: the seed of the shuffling and of the choice which support
        vector is dropped. With None, two fits may differ.
    <class_weight, warm_start, verbose>

    Attributes
    ----------
    <classes_, support_, support_vectors_, dual_coef_, intercept_, model_>
    <n_mistakes_, n_updates_, n_rounds_, mistakes_ (mistakes only), certificate_ (none)>
    <kernel_, gamma_, n_iter_, converged_, n_features_in_, feature_names_in_>

    <streams>

    Cost: an example takes `budget` kernel values; memory is budget × features.

    >>> from onkel import BudgetPerceptron
    >>> clf = BudgetPerceptron(gamma=1.0, budget=2, forget="oldest", shuffle=False, max_iter=1)
    >>> clf.fit([[0.0], [1.0], [0.1], [0.9], [0.4]], [0, 1, 0, 1, 1]).support_.tolist()
    [1, 4]

    Source: Cavallanti, Cesa-Bianchi and Gentile 2007, Tracking the best hyperplane with a simple budget
    perceptron (random); Crammer, Kandola and Singer 2004, Online classification on a budget (the first budget policy).
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        budget: int = 100,
        forget: Literal["random", "oldest"] = "random",
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
        self.budget = budget
        self.forget = forget
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.verbose = verbose

    _running: Running[BudgetedLearner]
    decision_function = by_task.decision_function

    POLICIES: ClassVar[dict[str, type[policies.Policy]]] = {
        "random": policies.ForgetRandom,
        "oldest": policies.ForgetOldest,
    }

    def _check_params(self) -> None:
        super()._check_params()
        check_budget(self.budget, self._name)
        check_one_of(self.forget, "forget", self.POLICIES, self._name)

    def _new_learner(self, kernel: Kernel, n_features: int | None, n_outputs: int) -> BudgetedLearner:
        policy = self.POLICIES[self.forget](self.budget)
        return BudgetedLearner(kernel, n_outputs, rules.perceptron, policy, seed=seed_of(self.random_state))

    def _theorem(self, radius_sq: float) -> str:
        if isinstance(self._running.learner.policy, policies.ForgetRandom):
            return "the theorem on forgetting at random is about the mistakes to be expected, not about those of a run"
        return "on forgetting the oldest example without shrinking the others there is no theorem; Forgetron has one"


@shared_docs
class Projectron(ClassifierMixin, OnlineEstimator):  # type: ignore[misc]
    """A perceptron that adds an example only if the support does not nearly span it; otherwise it projects.

    At a mistake, y f(x) ≤ 0, let δ be the distance of φ(x) from the span of the support. If δ ≤ η, the projection of
    φ(x) onto the span is added to f, which changes the weights of the support vectors and adds none.
    Otherwise the example itself is added. So the support stays finite on every bounded set, even without a budget; with
    one, a full support is never extended, and every mistake is projected. With more than two classes there is one
    binary classifier per class (one-vs-rest); all of them share one support.

    Parameters
    ----------
    <kernel, gamma, degree, coef0>
    eta : η ≥ 0, default 0.1, the distance δ up to which a mistake is projected. Choose it relative to the length of
        φ(x), √k(x, x), which is 1 for RBF: a larger η gives a smaller support. With 0 and no budget this is the kernel
        perceptron.
    budget : ≥ 1, the most support vectors, for all classes together; None (default): only η limits the support.
    aggressive : False (default): learns from mistakes only. True: Projectron++, which also learns from examples with
        0 < y f(x) < 1, by a step of at most 1 along the projection, unless the projection loses too much.
    max_iter : ≥ 1, default 10, the most epochs of `fit`, which stops earlier after an epoch without an update.
    <shuffle, random_state, class_weight, warm_start, verbose>

    Attributes
    ----------
    <classes_, support_, support_vectors_, dual_coef_, intercept_, model_>
    <n_mistakes_, n_updates_, n_rounds_>
    mistakes_ : the last 1000 updates (with aggressive=True, not only mistakes): a structured array with the fields
        round (from 1), row, class (the index of the output in `classes_`) and step; earlier updates are only counted.
    <certificate_ (none)>
    drift_ : max |L Lᵀ − K_S|, the rounding error of the Cholesky factor L that projects, against the Gram matrix K_S of
        the support.
    <kernel_, gamma_, n_iter_, converged_, n_features_in_, feature_names_in_>

    <streams>

    Cost: an example takes m kernel values and m²/2 multiply-adds for m support vectors; memory is m × (features + m).

    >>> from onkel import Projectron
    >>> clf = Projectron(gamma=1.0, eta=0.5, shuffle=False, max_iter=1)
    >>> clf.fit([[0.0], [1.0], [0.1], [0.9], [0.4]], [0, 1, 0, 1, 1]).support_.tolist()
    [0, 1]

    Source: Orabona, Keshet and Caputo 2009, Bounded kernel-based online learning.
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        eta: float = 0.1,
        budget: int | None = None,
        aggressive: bool = False,
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
        self.budget = budget
        self.aggressive = aggressive
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.verbose = verbose

    _running: Running[ProjectingLearner]
    decision_function = by_task.decision_function

    def _check_params(self) -> None:
        super()._check_params()
        check_budget(self.budget, self._name, none=True)
        check_number(self.eta, "eta", self._name, at_least=0.0)

    def _new_learner(self, kernel: Kernel, n_features: int | None, n_outputs: int) -> ProjectingLearner:
        eta, aggressive = float(self.eta), bool(self.aggressive)
        return ProjectingLearner(kernel, n_outputs, eta=eta, budget=self.budget, aggressive=aggressive)

    def _theorem(self, radius_sq: float) -> str:
        return "what the projections lose depends on eta and the comparator, and onkel has no theorem that counts it"

    @property
    @reading
    def drift_(self) -> float:
        """max |L Lᵀ − K_S|, where L is the Cholesky factor that projects and K_S the support's Gram matrix."""
        return float(self._running.learner.drift())
