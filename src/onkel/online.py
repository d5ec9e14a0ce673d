"""Learners for streams: in bounded memory, and for ever.

A kernel perceptron grows with every mistake. These do not: each is an update rule (`onkel.rules`) and
a budget policy (`onkel.budget`), put together by a few lines here.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from onkel import bounds, rules
from onkel import budget as budgets
from onkel.bounded import Bounded
from onkel.checks import check_integer, check_number
from onkel.classifier import OnlineClassifier
from onkel.door import KernelDoor
from onkel.errors import ParameterError, ValuesError
from onkel.estimator import warn_of_conflicts
from onkel.kernels import Kernel, Precomputed, expand
from onkel.kernels.rows import GramRows, Rows, VectorRows
from onkel.model import Expansion, support_data
from onkel.passes import Passes
from onkel.projection import Projected
from onkel.regressor import OnlineRegressor
from onkel.rules import Rule
from onkel.theorem import FORGETRON_LEAST, Theorem, forgetron_theorem, pa_theorem, why_not

__all__ = [
    "BudgetPerceptron",
    "Forgetron",
    "PassiveAggressiveClassifier",
    "PassiveAggressiveRegressor",
    "Projectron",
]

PARAMETERS = """kernel : "rbf", "linear", "poly", "sigmoid", "laplacian", "cosine", "chi2", "histogram",
        "precomputed", a function of two blocks of rows, or any Kernel, whose own parameters are then
        ``kernel__gamma`` and the like.
    gamma, degree, coef0 : of a kernel that is named; `gamma` > 0, or "scale", "auto", "median", resolved by the
        first call that brings data and kept in `gamma_`."""


class InSlots(KernelDoor):
    """What every learner in bounded memory tells of itself; a mixin."""

    _learner: Any
    random_state: Any

    def _out(self, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        """Machines' columns as the user knows them."""
        return coef

    def _check_budget(self, budget: Any, *, none: bool) -> None:
        if budget is not None or not none:
            check_integer(budget, "budget", self._who, at_least=1)

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    @property
    def n_updates_(self) -> int:
        """Steps of all machines."""
        check_is_fitted(self, "_learner")
        return int(self._learner.counts[1])

    @property
    def n_rounds_(self) -> int:
        """Examples seen, epochs counted."""
        check_is_fitted(self, "_learner")
        return int(self._learner.rounds)

    @property
    def mistakes_(self) -> NDArray[Any]:
        """The last updates: round, row, class (machine) and step; older ones are only counted."""
        check_is_fitted(self, "_learner")
        entries: NDArray[Any] = self._learner.ledger.entries.copy()
        return entries

    @property
    def support_(self) -> NDArray[np.int64]:
        """Which rows of the data the support vectors are, the oldest first; one learned twice is in it twice."""
        check_is_fitted(self, "_learner")
        found: NDArray[np.int64] = self._learner.support()[2].copy()
        return found

    @property
    def support_vectors_(self) -> Any:
        return support_data(self._expansion().support)

    @property
    def dual_coef_(self) -> NDArray[np.float64]:
        """Weights of the support vectors, shape (machines, support vectors)."""
        return np.ascontiguousarray(self._out(self._expansion().coef).T)

    @property
    def intercept_(self) -> NDArray[np.float64]:
        return np.array(self._out(self._expansion().intercept[None, :])[0])

    @property
    def model_(self) -> Expansion:
        """What was learned, as a frozen model with one output per machine as in `decision_function`."""
        model = self._expansion()
        out = self._out(model.coef)
        return Expansion(model.kernel, model.support, model.rows, out, self.intercept_)

    def _expansion(self) -> Expansion:
        """The model with the learner's own machines, made once for a state of the learner."""
        check_is_fitted(self, "_learner")
        learner = self._learner
        if learner.model is None or learner.model[0] != learner.rounds:
            rows, coef, numbers = learner.support()
            support = self._nothing if rows is None else rows[:]
            offset = learner.offset.copy() if isinstance(learner, Bounded) else np.zeros(learner.machines)
            learner.model = learner.rounds, Expansion(learner.kernel, support, numbers.copy(), coef.copy(), offset)
        model: Expansion = learner.model[1]
        return model

    def _machine_scores(self, X: Any) -> NDArray[np.float64]:
        return self._expansion().scores(X)

    def _machine_scores_one(self, row: Rows) -> NDArray[np.float64]:
        found: NDArray[np.float64] = self._learner.scores(row)
        return found

    def _resolve(self, rows: Rows) -> Kernel:
        self._nothing = rows[:0]
        kernel = super()._resolve(rows)
        self._is_psd = kernel.is_psd
        if isinstance(rows, GramRows):
            examined = bounds.check_gram(rows, self._who)
            # what was examined is not the matrix of a kernel that is made of the given one, such as −K
            self._is_psd = examined if isinstance(kernel, Precomputed) else kernel.is_psd
        return kernel


class InSlotsClassifier(InSlots, OnlineClassifier):
    """A classifier in bounded memory; not for use by itself.

    A subclass with a theorem on its mistakes gives `_theorem`; one without says so in `_why_uncertified`.
    """

    _hard: bool = True  # whether it learns until no example is wrong, which equal rows with different labels prevent

    def _after_fit(self, run: Passes, y: NDArray, interrupted: bool) -> None:
        if self._hard and self.max_iter > 1 and not self.converged_ and not interrupted:
            warn_of_conflicts(run.rows, y, self._who)

    def _why_uncertified(self) -> str:
        """Why there is no theorem on the mistakes, whatever the data; empty where there is one."""
        return ""

    def _theorem(self, radius_sq: float) -> Theorem:
        """The theorem on the mistakes where k(x, x) ≤ radius_sq and all weights are 1."""
        raise NotImplementedError

    def _out(self, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._labels.out(coef)

    @property
    def n_mistakes_(self) -> int:
        """Examples that a machine got wrong, y f ≤ 0, summed over the machines."""
        check_is_fitted(self, "_learner")
        return int(self._learner.counts[0])

    def _new_run(self, rows: Rows, targets: NDArray[np.int8], weights: NDArray[np.float64], numbers: NDArray) -> Passes:
        return Passes(self._new_learner(rows, targets.shape[1]), rows, targets, weights, numbers)

    # ---------------------------------------------------------------- the certificate

    def _epochs_new(
        self, rows: Rows, y: NDArray, weights: NDArray[np.float64], numbers: NDArray
    ) -> KeyboardInterrupt | None:
        interrupted = super()._epochs_new(rows, y, weights, numbers)
        self._certified: tuple[int, bounds.Certificate] | None = None
        if interrupted is None and not self._why_uncertified():
            try:
                self._certified = self.n_rounds_, self._certify(rows, y, weights, numbers)
            except KeyboardInterrupt as stop:  # what was learned stays
                interrupted = stop
        return interrupted

    def _certify(self, rows: Rows, y: NDArray, weights: NDArray[np.float64], numbers: NDArray) -> bounds.Certificate:
        """The mistakes of a fit against the theorem, with what was learned as the comparator."""
        radius_sq = float(self.kernel_._diag(rows).max())
        run = (self.n_mistakes_, radius_sq, self.n_iter_)
        if (weights != 1).any():
            return bounds.uncertified(*run, "the theorem is about weights of 1; others change the steps")
        if self._is_psd is not True:
            return bounds.uncertified(*run, why_not(self._is_psd))
        model = self._expansion()
        F, squared = np.zeros((len(rows), self._learner.machines)), 0.0
        if len(model.support):
            F = expand(self.kernel_, rows, model.support, model.coef)
            squared = (model.coef * F[np.searchsorted(numbers, model.rows)]).sum()  # αᵀKα = Σ αᵢ f(xᵢ)
        targets = self._labels.targets(self._labels.index(y, self._who), self._labels.machines)
        seen = bounds.certify(  # all machines as one
            mistakes=np.array([self.n_mistakes_]),
            margins=(targets * F).reshape(-1, 1),
            norms=np.sqrt(np.maximum(0.0, [squared])),
            radius_sq=radius_sq,
            epochs=self.n_iter_,
            comparator="what was learned",
            theorems=(self._theorem(radius_sq),),
        )
        if self._theorem(radius_sq).separable and not (seen.margin or 0.0) > 0:
            reason = f"no separator found in {self.n_iter_} epoch(s), and the theorem is about rows that have one"
            return bounds.uncertified(*run, reason)
        return seen

    @property
    def certificate_(self) -> bounds.Certificate:
        """After `fit` the mistakes of all machines against the theorem; where there is none, why."""
        check_is_fitted(self, "_learner")
        reason = self._why_uncertified()
        if reason:
            return bounds.uncertified(self.n_mistakes_, None, self.n_iter_, reason)
        certified = self.__dict__.get("_certified")
        if certified is None or certified[0] != self.n_rounds_:
            raise AttributeError(
                "certificate_ is there after a fit that was neither interrupted nor a warm start; the examples of "
                "online learning are not kept, so that nothing can be compared on them"
            )
        found: bounds.Certificate = certified[1]
        return found

    @property
    def mistakes_(self) -> NDArray[Any]:
        """The last updates: round, row, class (index of the machine in `classes_`) and step; older ones are counted."""
        entries = super().mistakes_
        if self._labels.machines == 1:
            entries["class"] = len(self.classes_) - 1
            entries["step"] *= self._labels.sign
        else:
            entries["class"] = np.argsort(self._labels.order)[entries["class"]]
        return entries


# ---------------------------------------------------------------- perceptrons that forget


class Forgetron(InSlotsClassifier):
    """The perceptron on a budget that forgets its oldest example, after shrinking all of them just enough.

    At a mistake, y f(x) ≤ 0, the example is added, f′ = f + y k(x, ·); over budget all weights are
    multiplied by a φ ≤ 1, and the oldest example is dropped. The self-tuned φ is the largest one that keeps
    the damage done so far, Q, within (15/32) M for M mistakes, and with that the mistake bound. The
    basic one is min{(B+1)^(−1/(2(B+1))), U/‖f′‖}, U = ¼ √((B+1)/ln(B+1)), at every mistake.

    Needs k(x, x) ≤ 1, as RBF and every ``kernel.normalized()`` have it. Equal rows with different labels, on which no
    function is right, are warned of after a `fit` that did not end by itself. With more than two classes one machine
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
    n_mistakes_, n_updates_, n_rounds_ : mistakes and updates of all machines; examples seen, epochs counted.
    mistakes_ : the last updates; older ones are only counted.
    shrink_, forgotten_ : the last φ, and Q.
    certificate_ : after `fit`, the mistakes against the theorem (`onkel.bounds`): budget ≥ 83 and weights of 1 only.
    classes_, kernel_, gamma_, n_iter_, converged_, n_features_in_, feature_names_in_ : as usual.

    Learns one example at a time, too: `partial_fit`, `learn_one`, `predict_one`. Classes may turn up
    late there: a late class's machine starts at its first example.

    Cost: an example takes `budget` kernel values, a mistake budget × machines multiply-adds more; memory
    budget × (features + budget). The certificate takes as many kernel values as one epoch.

    >>> from onkel import Forgetron
    >>> machine = Forgetron(gamma=1.0, budget=2, shuffle=False, max_iter=1)
    >>> machine.fit([[0.0], [1.0], [0.1], [0.9], [0.4]], [0, 1, 0, 1, 1]).support_.tolist()
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

    POLICIES: ClassVar[dict[str, type[budgets.Policy]]] = {
        "self-tuned": budgets.Forgetron,
        "basic": budgets.BasicForgetron,
    }

    def _check_params(self) -> None:
        super()._check_params()
        self._check_budget(self.budget, none=False)
        one_of(self.variant, "variant", self.POLICIES, self._who)

    def _admit(self, rows: Rows) -> None:
        if self.kernel_._within_one:
            return
        largest = float(self.kernel_._diag(rows).max())
        if largest > 1 + 1e-6:
            raise ValuesError(
                f"{self._who} needs a kernel with k(x, x) <= 1; got {largest:.6g}. "
                "Use kernel.normalized(), such as Polynomial(degree=3).normalized(), or RBF."
            )

    def _light_row(self, x: Any, *, grow: bool = False) -> Rows:
        row = super()._light_row(x, grow=grow)
        if grow and not (isinstance(row, VectorRows) and row.is_dense):  # CSR rows and objects come by another way
            self._admit(row)
        return row

    def _new_learner(self, rows: Rows, machines: int) -> Bounded:
        policy = self.POLICIES[self.variant](self.budget)
        return Bounded(self._resolve(rows), machines, Rule(rules.perceptron), policy)

    def _why_uncertified(self) -> str:
        budget = self._learner.policy.budget
        if budget >= FORGETRON_LEAST:
            return ""
        return f"the Forgetron's theorem needs a budget of at least {FORGETRON_LEAST}; this one is {budget}"

    def _theorem(self, radius_sq: float) -> Theorem:
        return forgetron_theorem(self._learner.policy.budget, self._labels.machines, radius_sq)

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


class BudgetPerceptron(InSlotsClassifier):
    """The perceptron on a budget: when it is full, one example is dropped for each that is added.

    f ← f + y k(x, ·) where y f(x) ≤ 0; over budget a support vector drawn at random, or the oldest, is
    dropped. With more than two classes one machine for each against the rest, on one support.

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
    >>> machine = BudgetPerceptron(gamma=1.0, budget=2, forget="oldest", shuffle=False, max_iter=1)
    >>> machine.fit([[0.0], [1.0], [0.1], [0.9], [0.4]], [0, 1, 0, 1, 1]).support_.tolist()
    [1, 4]

    Source: Cavallanti, Cesa-Bianchi and Gentile 2007, Tracking the best hyperplane with a simple budget
    perceptron (random); Crammer, Kandola and Singer 2004 began with budgets.
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

    POLICIES: ClassVar[dict[str, type[budgets.Policy]]] = {"random": budgets.Random, "oldest": budgets.Oldest}

    def _check_params(self) -> None:
        super()._check_params()
        self._check_budget(self.budget, none=False)
        one_of(self.forget, "forget", self.POLICIES, self._who)

    def _new_learner(self, rows: Rows, machines: int) -> Bounded:
        policy = self.POLICIES[self.forget](self.budget)
        return Bounded(self._resolve(rows), machines, Rule(rules.perceptron), policy, seed=self._seed())

    def _why_uncertified(self) -> str:
        if isinstance(self._learner.policy, budgets.Random):
            return "the theorem on forgetting at random is about the mistakes to be expected, not about those of a run"
        return "on forgetting the oldest example without shrinking the others there is no theorem; Forgetron has one"


class Projectron(InSlotsClassifier):
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
    >>> machine = Projectron(gamma=1.0, eta=0.5, shuffle=False, max_iter=1)
    >>> machine.fit([[0.0], [1.0], [0.1], [0.9], [0.4]], [0, 1, 0, 1, 1]).support_.tolist()
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
        check_number(self.eta, "eta", self._who, at_least=0.0)

    def _new_learner(self, rows: Rows, machines: int) -> Projected:
        eta, aggressive = float(self.eta), bool(self.aggressive)
        return Projected(self._resolve(rows), machines, eta=eta, budget=self.budget, aggressive=aggressive)

    def _why_uncertified(self) -> str:
        return "what the projections lose depends on eta and the comparator, and onkel has no theorem that counts it"

    @property
    def drift_(self) -> float:
        """max |L Lᵀ − K_S|."""
        check_is_fitted(self, "_learner")
        return float(self._learner.drift())


# ---------------------------------------------------------------- passive-aggressive

Variant = Literal["PA", "PA-I", "PA-II"]


class PassiveAggressiveClassifier(InSlotsClassifier):
    """Passive where an example has a margin of 1, else the least step that gives it one.

    f ← f + τ y k(x, ·) with the loss l = max(0, 1 − y f(x)): τ = l/k(x, x) (PA), min(C, l/k(x, x)) (PA-I),
    l/(k(x, x) + 1/(2C)) (PA-II). Over budget the example takes the place of the support vector whose
    loss it makes good best (BPA-S). With more than two classes one machine for each against the rest, on
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
    >>> machine = PassiveAggressiveClassifier("linear", shuffle=False, max_iter=1)
    >>> machine.fit([[2.0], [-1.0]], [1, 0]).dual_coef_, machine.decision_function([[1.0]])
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
        check_number(self.C, "C", self._who, above=0.0)
        one_of(self.variant, "variant", self.RULES, self._who)

    def _new_learner(self, rows: Rows, machines: int) -> Bounded:
        rule = Rule(self.RULES[self.variant], () if self.variant == "PA" else (float(self.C),))
        return Bounded(self._resolve(rows), machines, rule, _replacing(self.budget))

    def _why_uncertified(self) -> str:
        with_budget = "the theorem is about learning without a budget; with one there is none"
        return "" if self._learner.policy.budget is None else with_budget

    def _theorem(self, radius_sq: float) -> Theorem:
        return pa_theorem(self.variant, float(self.C), radius_sq)


class PassiveAggressiveRegressor(InSlots, RegressorMixin, OnlineRegressor):  # type: ignore[misc]
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
    >>> machine = PassiveAggressiveRegressor("linear", variant="PA", epsilon=0.0, shuffle=False, max_iter=1)
    >>> machine.fit([[1.0], [2.0]], [3.0, 6.0]).predict([[3.0]]), machine.n_updates_
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
        check_number(self.C, "C", self._who, above=0.0)
        check_number(self.epsilon, "epsilon", self._who, at_least=0.0)
        one_of(self.variant, "variant", self.RULES, self._who)

    def _new_learner(self, rows: Rows, machines: int) -> Bounded:
        more = () if self.variant == "PA" else (float(self.C),)
        rule = Rule(self.RULES[self.variant], (float(self.epsilon), *more), signs=False)
        return Bounded(self._resolve(rows), machines, rule, _replacing(self.budget))


def _replacing(budget: int | None) -> budgets.Policy:
    return budgets.Grow() if budget is None else budgets.Replace(budget)


def one_of(value: Any, name: str, allowed: Any, who: str) -> None:
    if value not in allowed:
        raise ParameterError(f"{who}: {name} must be one of {', '.join(allowed)}; got {value!r}.")
