"""Perceptrons for streams: in bounded memory, and for ever.

A kernel perceptron grows with every mistake. These do not: each is an update rule (`onkel.learners.rules`) and
a budget policy (`onkel.learners.policies`), put together by a few lines here.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from sklearn.utils.validation import check_is_fitted

from onkel.bounds.theorems import FORGETRON_LEAST, Theorem, forgetron_theorem
from onkel.checks import check_number
from onkel.errors import ValuesError
from onkel.estimators.online_kernel import OnlineKernelClassifier, one_of
from onkel.kernels.rows import Rows
from onkel.learners import policies, rules
from onkel.learners.budgeted import BudgetedLearner
from onkel.learners.projecting import ProjectingLearner
from onkel.learners.rules import Rule

__all__ = ["BudgetPerceptron", "Forgetron", "Projectron"]


class Forgetron(OnlineKernelClassifier):
    """The perceptron on a budget that forgets its oldest example, after shrinking all of them just enough.

    At a mistake, y f(x) ≤ 0, the example is added, f′ = f + y k(x, ·); over budget all weights are
    multiplied by a φ ≤ 1, and the oldest example is dropped. The self-tuned φ is the largest one that keeps
    the damage done so far, Q, within (15/32) M for M mistakes, and with that the mistake bound. The
    basic one is min{(B+1)^(−1/(2(B+1))), U/‖f′‖}, U = ¼ √((B+1)/ln(B+1)), at every mistake.

    Needs k(x, x) ≤ 1, as RBF and every ``kernel.normalized()`` have it. Equal rows with different labels, on which no
    function is right, are warned of after a `fit` that did not end by itself. With more than two classes one output
    for each against the rest, on one support, with one φ, M and Q.

    Parameters
    ----------
    kernel : "rbf", "laplacian", "cosine" and the like, a function, or any Kernel.
    gamma, degree, coef0 : of a kernel that is named, as in `KernelPerceptron`.
    budget : ≥ 1, support vectors at most, for all classes together.
    variant : "self-tuned" or "basic".
    max_iter : ≥ 1, epochs of `fit`; it stops earlier after one without a mistake.
    shuffle : whether `fit` visits the examples in a random order, a new one each epoch.
    random_state : seed of the shuffling.
    class_weight : {class: weight} or "balanced" (not in partial_fit). A weight scales an example's step.
    warm_start : whether `fit` goes on from the last state.
    verbose : 1 draws a progress bar on stderr.

    Attributes
    ----------
    support_, support_vectors_, dual_coef_, intercept_, model_ : what was learned, the oldest example first.
    n_mistakes_, n_updates_, n_rounds_ : mistakes and updates of all outputs; examples seen, epochs counted.
    mistakes_ : the last updates; older ones are only counted.
    shrink_, forgotten_ : the last φ, and Q.
    certificate_ : after `fit`, the mistakes against the theorem (`onkel.bounds`): budget ≥ 83 and weights of 1 only.
    classes_, kernel_, gamma_, n_iter_, converged_, n_features_in_, feature_names_in_ : as usual.

    Learns one example at a time, too: `partial_fit`, `learn_one`, `predict_one`. Classes may turn up
    late there: a late class's output starts at its first example.

    Cost: an example takes `budget` kernel values, a mistake budget × outputs multiply-adds more; memory
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

    POLICIES: ClassVar[dict[str, type[policies.Policy]]] = {
        "self-tuned": policies.ShrinkThenForget,
        "basic": policies.ShrinkByNorm,
    }

    def _check_params(self) -> None:
        super()._check_params()
        self._check_budget(self.budget, none=False)
        one_of(self.variant, "variant", self.POLICIES, self._name)

    def _admit(self, rows: Rows) -> None:
        if self.kernel_._within_one:
            return
        largest = float(self.kernel_._diag(rows).max())
        if largest > 1 + 1e-6:
            raise ValuesError(
                f"{self._name} needs a kernel with k(x, x) <= 1; got {largest:.6g}. "
                "Use kernel.normalized(), such as Polynomial(degree=3).normalized(), or RBF."
            )

    def _new_learner(self, rows: Rows, n_outputs: int) -> BudgetedLearner:
        policy = self.POLICIES[self.variant](self.budget)
        return BudgetedLearner(self._resolve(rows), n_outputs, Rule(rules.perceptron), policy)

    def _theorem(self, radius_sq: float) -> Theorem | str:
        budget = self._learner.policy.budget
        if budget < FORGETRON_LEAST:
            return f"the Forgetron's theorem needs a budget of at least {FORGETRON_LEAST}; this one is {budget}"
        return forgetron_theorem(budget, self._labels.n_outputs, radius_sq)

    @property
    def shrink_(self) -> float:
        """The φ of the last mistake."""
        check_is_fitted(self, "_learner")
        return float(self._learner.state[4])

    @property
    def forgotten_(self) -> float:
        """Q, the damage that forgetting has done; at most (15/32) of the mistakes (self-tuned)."""
        check_is_fitted(self, "_learner")
        return float(self._learner.state[2])


class BudgetPerceptron(OnlineKernelClassifier):
    """The perceptron on a budget: when it is full, one example is dropped for each that is added.

    f ← f + y k(x, ·) where y f(x) ≤ 0; over budget a support vector drawn at random, or the oldest, is
    dropped. With more than two classes one output for each against the rest, on one support.

    Parameters
    ----------
    kernel, gamma, degree, coef0 : as in `KernelPerceptron`.
    budget : ≥ 1, support vectors at most, for all classes together.
    forget : "random" or "oldest".
    max_iter, shuffle, class_weight, warm_start, verbose : as in `Forgetron`.
    random_state : seed of the shuffling and of what is forgotten.

    Attributes
    ----------
    As in `Forgetron`, without `shrink_` and `forgotten_`; `certificate_` says why there is none.

    Cost: an example takes `budget` kernel values; memory budget × features.

    >>> from onkel import BudgetPerceptron
    >>> clf = BudgetPerceptron(gamma=1.0, budget=2, forget="oldest", shuffle=False, max_iter=1)
    >>> clf.fit([[0.0], [1.0], [0.1], [0.9], [0.4]], [0, 1, 0, 1, 1]).support_.tolist()
    [1, 4]

    Source: Cavallanti, Cesa-Bianchi and Gentile 2007, Tracking the best hyperplane with a simple budget
    perceptron (random); Crammer, Kandola and Singer 2004 began with policies.
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

    POLICIES: ClassVar[dict[str, type[policies.Policy]]] = {
        "random": policies.ForgetRandom,
        "oldest": policies.ForgetOldest,
    }

    def _check_params(self) -> None:
        super()._check_params()
        self._check_budget(self.budget, none=False)
        one_of(self.forget, "forget", self.POLICIES, self._name)

    def _new_learner(self, rows: Rows, n_outputs: int) -> BudgetedLearner:
        policy = self.POLICIES[self.forget](self.budget)
        return BudgetedLearner(self._resolve(rows), n_outputs, Rule(rules.perceptron), policy, seed=self._seed())

    def _theorem(self, radius_sq: float) -> str:
        if isinstance(self._learner.policy, policies.ForgetRandom):
            return "the theorem on forgetting at random is about the mistakes to be expected, not about those of a run"
        return "on forgetting the oldest example without shrinking the others there is no theorem; Forgetron has one"


class Projectron(OnlineKernelClassifier):
    """The perceptron that adds an example only where the support does not nearly span it.

    At a mistake, let δ be the distance of φ(x) from the span of the support. Where δ ≤ η the projection of φ(x)
    is added, which moves the weights of the support and adds nothing to it; otherwise the example itself.
    So the support stays finite on every bounded set, without a budget; with one, a full support only projects.

    Parameters
    ----------
    kernel, gamma, degree, coef0 : as in `KernelPerceptron`.
    eta : η ≥ 0, in units of √k(x, x). With 0 and no budget it is the kernel perceptron.
    budget : ≥ 1, support vectors at most, for all classes together; None for no limit but η's.
    aggressive : Projectron++: also learns from examples with 0 < y f(x) < 1, by a step along the projection.
    max_iter, shuffle, random_state, class_weight, warm_start, verbose : as in `Forgetron`.

    Attributes
    ----------
    As in `Forgetron`, without `shrink_` and `forgotten_`; `certificate_` says why there is none; and
    drift_ : max |L Lᵀ − K_S|, how far the factor that projects is from the Gram matrix of the support.

    Cost: an example takes m kernel values and m²/2 multiply-adds for m support vectors; memory m × (features + m).

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

    def _check_params(self) -> None:
        super()._check_params()
        self._check_budget(self.budget, none=True)
        check_number(self.eta, "eta", self._name, at_least=0.0)

    def _new_learner(self, rows: Rows, n_outputs: int) -> ProjectingLearner:
        eta, aggressive = float(self.eta), bool(self.aggressive)
        return ProjectingLearner(self._resolve(rows), n_outputs, eta=eta, budget=self.budget, aggressive=aggressive)

    def _theorem(self, radius_sq: float) -> str:
        return "what the projections lose depends on eta and the comparator, and onkel has no theorem that counts it"

    @property
    def drift_(self) -> float:
        """max |L Lᵀ − K_S|."""
        check_is_fitted(self, "_learner")
        return float(self._learner.drift())
