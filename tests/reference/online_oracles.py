"""Slow, obvious twins of the learners with a budget, written from their papers.

Every twin keeps f_c = Σ_j a_jc K(s_j, ·) + b_c as plain lists, oldest first, in float64, one column per output, and
computes every kernel value again whenever it needs it. `learn(x, y, w)` takes targets y (outputs,) and a weight w, and
returns f(x) before the update. Targets are ±1, or 0 for an output that ignores the example; in regression they are real
numbers. All twins have in common:

- an output errs if y f(x) ≤ 0; `mistakes` counts the updates of outputs that err (in regression: all updates);
- the outputs of a one-vs-rest problem share the support vectors, the budget and the kernel values;
- an example of weight 0 is absent: nothing happens, and no round is counted. Any other weight scales what the example
  adds (for passive-aggressive learners, it scales C).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel import registry

TASKS = {entry.name: entry.task for entry in registry.estimators()}
KernelFunction = Callable[[NDArray, NDArray], NDArray]


class SlowOnline(ABC):
    """The list of terms, and what may happen to it."""

    def __init__(self, kernel: KernelFunction) -> None:
        self.kernel = kernel
        self.support: list[NDArray] = []  # the points, oldest first
        self.terms: list[NDArray] = []  # their coefficients, (outputs,) each
        self.rows: list[int] = []  # the number of the example that each of them was, from 0
        self.bias: NDArray | float = 0.0
        self.seen = self.mistakes = self.updates = 0

    @property
    def coef(self) -> NDArray[np.float64]:
        """(support, outputs)"""
        return np.array(self.terms) if self.terms else np.zeros((0, 1))

    def K(self, X: list[NDArray], Z: list[NDArray]) -> NDArray[np.float64]:
        if not X or not Z:
            return np.zeros((len(X), len(Z)))
        return np.asarray(self.kernel(np.array(X), np.array(Z)), dtype=np.float64)

    def f(self, x: NDArray, n_outputs: int = 1) -> NDArray[np.float64]:
        return np.zeros(n_outputs) + self.bias + (self.K([x], self.support)[0] @ self.coef if self.support else 0.0)

    def decision(self, X: NDArray) -> NDArray[np.float64]:
        """(n, outputs)"""
        scores = self.K(list(np.asarray(X, dtype=np.float64)), self.support) @ self.coef if self.support else 0.0
        return np.zeros((len(X), self.coef.shape[1])) + self.bias + scores

    def learn(self, x: NDArray, y: NDArray | float, w: float = 1.0) -> NDArray[np.float64]:
        x, y = np.array(x, dtype=np.float64), np.atleast_1d(np.asarray(y, dtype=np.float64))
        f = self.f(x, len(y))
        if w > 0:
            self.step(x, y, w, f)
        self.seen += 1
        return f

    @abstractmethod
    def step(self, x: NDArray, y: NDArray, w: float, f: NDArray) -> None:
        """What the learner makes of an example whose score was f."""

    def add(self, x: NDArray, a: NDArray) -> None:
        self.support.append(x)
        self.terms.append(np.array(a, dtype=np.float64))
        self.rows.append(self.seen)

    def drop(self, r: int) -> None:
        del self.support[r], self.terms[r], self.rows[r]

    def scale(self, factor: float) -> None:
        self.terms = [factor * a for a in self.terms]

    def count(self, wrong: NDArray, updated: NDArray | None = None) -> None:
        self.mistakes += int(wrong.sum())
        self.updates += int((wrong if updated is None else updated).sum())


def errs(y: NDArray, f: NDArray) -> NDArray[np.bool_]:
    return (y != 0) & (y * f <= 0)


# ---------------------------------------------------------------- perceptrons that forget


class SlowForgetron(SlowOnline):
    """The Forgetron of Dekel, Shalev-Shwartz and Singer, self-tuned or basic.

    M counts the mistakes of all outputs, Q what forgetting has cost by the measure Ψ of the paper. The self-tuned φ is
    taken by its definition, the largest in (0, 1] for which Q + Ψ ≤ (15/32) M still holds:
        Ψ(φ) = a φ² + b φ,   a = k s² − 2 s m,   b = 2 k s,
    for the oldest point r: s its weight, k in how many outputs it erred, m = Σ_c y_rc f′_c(x_r) over these. Basic:
    φ = min((B+1)^(−1/(2(B+1))), U / ‖f′‖) at every round with a mistake, ‖f′‖ the largest among the outputs, so that
    each stays in its ball and two that mirror each other are one.
    """

    def __init__(self, kernel: KernelFunction, budget: int, variant: str = "self-tuned") -> None:
        super().__init__(kernel)
        self.budget, self.variant = budget, variant
        self.M, self.Q, self.phi = 0, 0.0, 1.0
        self.worst = -math.inf  # the largest Q − (15/32) M ever

    def step(self, x: NDArray, y: NDArray, w: float, f: NDArray) -> None:
        wrong = errs(y, f)
        if not wrong.any():
            return
        self.count(wrong)
        self.M += int(wrong.sum())
        self.add(x, np.where(wrong, w * y, 0.0))
        full = len(self.support) > self.budget
        if self.variant == "basic":
            norm = math.sqrt(max(a @ self.K(self.support, self.support) @ a for a in self.coef.T))
            n = self.budget + 1
            self.phi = min(n ** (-1 / (2 * n)), forgetron_radius(self.budget) / norm)
        if full:
            oldest, s = self.terms[0], float(np.abs(self.terms[0]).max())
            k, m = int((oldest != 0).sum()), float(np.sign(oldest) @ self.f(self.support[0], len(y)))
            a, b = k * s**2 - 2 * s * m, 2 * k * s
            if self.variant == "self-tuned":
                self.phi = largest_shrink(a, b, self.Q - 15 / 32 * self.M)
            self.Q += a * self.phi**2 + b * self.phi
        if full or self.variant == "basic":
            self.scale(self.phi)
        if full:
            self.drop(0)
        self.worst = max(self.worst, self.Q - 15 / 32 * self.M)


def largest_shrink(a: float, b: float, c: float) -> float:
    """The largest φ in (0, 1] with a φ² + b φ + c ≤ 0, where b > 0 > c: 1, or else the smaller root."""
    if a + b + c <= 0:
        return 1.0
    return -2 * c / (b + math.sqrt(b**2 - 4 * a * c))


def forgetron_radius(budget: int) -> float:
    """U = ¼ √((B+1) / ln(B+1))."""
    return 0.25 * math.sqrt((budget + 1) / math.log(budget + 1))


class SlowBudgetPerceptron(SlowOnline):
    """Full: forgets one point before it adds the next; `forget` is "oldest", or gives the age of the one to forget.

    A callable gets the number of points and answers with a place among them, oldest first.
    """

    def __init__(
        self, kernel: KernelFunction, budget: int | None, forget: str | Callable[[int], int] = "oldest"
    ) -> None:
        super().__init__(kernel)
        self.budget, self.forget = budget, forget

    def step(self, x: NDArray, y: NDArray, w: float, f: NDArray) -> None:
        wrong = errs(y, f)
        if not wrong.any():
            return
        self.count(wrong)
        if len(self.support) == self.budget:
            self.drop(0 if isinstance(self.forget, str) else self.forget(len(self.support)))
        self.add(x, np.where(wrong, w * y, 0.0))


# ---------------------------------------------------------------- perceptrons that project


class SlowProjectron(SlowOnline):
    """Projectron and Projectron++ of Orabona, Keshet and Caputo; every projection is a new dense least-squares problem.

    d minimises ‖Σ_j d_j φ(s_j) − φ(x)‖, δ² is the minimum. In an output that errs α += w y d where δ² ≤ η², or else x
    itself is added, with coefficient w y. With a budget B (KOL's form): the full set is never added to, whatever δ².
    Aggressive, where 0 < y f < 1, with l = 1 − y f and p = K(x,x) − δ², α += w τ y d, with d of the set before x:
    - no budget: if l − δ²/η² > 0, τ = min(1, l/p, 2(l − δ²/η²)/p);
    - a budget: τ = min(1, l/p), if 2l − τp − 2Uδ ≥ 0, U as in the Forgetron.
    A point that is in the span already (δ² ≤ 1e-12 K(x,x)) is always projected: that is the same function.
    """

    def __init__(
        self, kernel: KernelFunction, eta: float = 0.1, budget: int | None = None, aggressive: bool = False
    ) -> None:
        super().__init__(kernel)
        self.eta, self.budget, self.aggressive = eta, budget, aggressive

    def project(self, x: NDArray) -> tuple[NDArray[np.float64], float, float]:
        """d, δ² and K(x, x)."""
        square = float(self.K([x], [x])[0, 0])
        if not self.support:
            return np.zeros(0), square, square
        k = self.K(self.support, [x])[:, 0]
        d = np.linalg.lstsq(self.K(self.support, self.support), k, rcond=1e-14)[0]
        return d, max(0.0, square - float(k @ d)), square

    def step(self, x: NDArray, y: NDArray, w: float, f: NDArray) -> None:
        wrong = errs(y, f)
        margin = (y != 0) & ~wrong & (y * f < 1)
        if not wrong.any() and not (self.aggressive and margin.any()):
            return
        d, delta_sq, square = self.project(x)
        near = delta_sq <= max(self.eta**2, 1e-12 * square)
        full = len(self.support) == self.budget
        step = np.where(wrong & (near or full), w * y, 0.0)
        if self.aggressive:
            tau = np.array(
                [self.tau(1 - y_c * f_c, delta_sq, square - delta_sq) for y_c, f_c in zip(y, f, strict=True)]
            )
            step = step + np.where(margin, w * tau * y, 0.0)
        self.count(wrong, step != 0)
        self.terms = [a + step * d_j for a, d_j in zip(self.terms, d, strict=True)]
        if wrong.any() and not (near or full):
            self.add(x, np.where(wrong, w * y, 0.0))

    def tau(self, l: float, delta_sq: float, p: float) -> float:  # noqa: E741
        if p <= 0:
            return 0.0
        if self.budget is not None:
            tau = min(1.0, l / p)
            return tau if 2 * l - tau * p - 2 * forgetron_radius(self.budget) * math.sqrt(delta_sq) >= 0 else 0.0
        if delta_sq > 0:
            l_left = l - delta_sq / self.eta**2 if self.eta > 0 else -math.inf
        else:
            l_left = l
        return min(1.0, l / p, 2 * l_left / p) if l_left > 0 else 0.0


# ---------------------------------------------------------------- passive-aggressive


class SlowPA(SlowOnline):
    """Passive-aggressive learners (Crammer et al. 2006) in kernel form; on a full budget BPA-S (Wang, Vucetic 2010).

    l = max(0, 1 − y f) in classification, max(0, |y − f| − ε) with ε given; PA τ = l/K(x,x), PA-I min(C, ·), PA-II
    l/(K(x,x) + 1/(2C)). BPA-S: for each r, β_r = α_r K_rx / K_xx + τ y, and the r is replaced that has the least
        ½ (α_r² K_rr + β_r² K_xx − 2 α_r β_r K_rx) + C loss(f(x) − α_r K_rx + β_r K_xx)
    summed over the outputs (PA: without the loss; PA-II: C loss²), the oldest of equals. The new one is the youngest.
    """

    def __init__(
        self,
        kernel: KernelFunction,
        variant: str = "PA-I",
        C: float = 1.0,
        budget: int | None = None,
        epsilon: float | None = None,
    ) -> None:
        super().__init__(kernel)
        self.variant, self.C, self.budget, self.epsilon = variant, C, budget, epsilon

    def loss(self, y: NDArray, f: NDArray) -> NDArray[np.float64]:
        if self.epsilon is not None:
            return np.maximum(0.0, np.abs(y - f) - self.epsilon)
        return np.where(y != 0, np.maximum(0.0, 1 - y * f), 0.0)

    def tau(self, loss: NDArray, square: float, C: float) -> NDArray[np.float64]:
        if square <= 0:
            return np.zeros(len(loss))
        match self.variant:
            case "PA":
                return loss / square
            case "PA-I":
                return np.minimum(C, loss / square)
            case "PA-II":
                return loss / (square + 1 / (2 * C))
        raise AssertionError(self.variant)

    def step(self, x: NDArray, y: NDArray, w: float, f: NDArray) -> None:
        square = float(self.K([x], [x])[0, 0])
        sign = y if self.epsilon is None else np.sign(y - f)
        step = self.tau(self.loss(y, f), square, w * self.C) * sign
        if not step.any():
            return
        self.count(step != 0 if self.epsilon is not None else errs(y, f), step != 0)
        if len(self.support) != self.budget:
            self.add(x, step)
            return
        costs, candidates = [], []
        squares, similar = self.K(self.support, self.support).diagonal(), self.K(self.support, [x])[:, 0]
        for a, K_rr, K_rx in zip(self.terms, squares.tolist(), similar.tolist(), strict=True):
            beta = a * K_rx / square + step
            moved = 0.5 * (a**2 * K_rr + beta**2 * square - 2 * a * beta * K_rx)
            after = self.loss(y, f - a * K_rx + beta * square)
            penalty = {"PA": 0 * after, "PA-I": w * self.C * after, "PA-II": w * self.C * after**2}[self.variant]
            costs.append(float((moved + penalty).sum()))
            candidates.append(beta)
        r = int(np.argmin(costs))
        self.drop(r)
        self.add(x, candidates[r])


# ---------------------------------------------------------------- NORMA


class SlowNorma(SlowOnline):
    """NORMA of Kivinen, Smola and Williamson 2004, at round t = 1, 2, … with η_t = η or η / √t:

        f ← (1 − η_t λ) f + α K(x, ·),   the oldest terms beyond the budget dropped

    task                α                                         besides
    classification      η_t σ y, σ = 1[y (f + b) ≤ ρ]             b += η_t σ y;  ρ += η_t (ν − σ) unless ν is None
    epsilon-insensitive η_t sign δ where |δ| > ε, δ = y − f       ε += η_t (1 − ν) there, else ε −= η_t ν; or ν is None
    squared             η_t δ
    huber               η_t clip(δ / ε, −1, 1)
    novelty             η_t where f < ρ                           ρ −= η_t (1 − ν) there, else ρ += η_t ν

    ρ (novelty starts at 0) and ε are never clipped; each output has its own. A weight multiplies α and what is added
    to b, ρ and ε, not the decay: it weighs the loss, not the regulariser.
    """

    def __init__(
        self,
        kernel: KernelFunction,
        task: str = "classification",
        lam: float = 1e-3,
        eta: float = 0.2,
        nu: float | None = None,
        rho: float = 1.0,
        epsilon: float = 0.1,
        schedule: str = "constant",
        fit_intercept: bool = False,
        budget: int | None = None,
    ) -> None:
        super().__init__(kernel)
        self.task, self.lam, self.eta, self.nu = task, lam, eta, nu
        self.rho: NDArray | float = rho
        self.epsilon: NDArray | float = epsilon
        self.schedule, self.fit_intercept, self.budget = schedule, fit_intercept, budget
        self.rounds = 0

    def decision(self, X: NDArray) -> NDArray[np.float64]:
        return super().decision(X) - (self.rho if self.task == "novelty" else 0.0)

    def step(self, x: NDArray, y: NDArray, w: float, f: NDArray) -> None:
        self.rounds += 1
        eta = self.eta / math.sqrt(self.rounds) if self.schedule == "sqrt" else self.eta
        alpha = eta * w * self.slope(y, f, eta * w)
        self.scale(1 - eta * self.lam)
        self.count(errs(y, f) if self.task == "classification" else alpha != 0, alpha != 0)
        if alpha.any():
            self.add(x, alpha)
        if self.fit_intercept:
            self.bias = self.bias + alpha
        if self.budget is not None:
            while len(self.support) > self.budget:
                self.drop(0)

    def slope(self, y: NDArray, f: NDArray, rate: float) -> NDArray[np.float64]:
        """−ℓ′ of each output; moves ρ or ε, where that is wanted, by steps of `rate`."""
        delta = y - f
        match self.task:
            case "classification":
                sigma = np.where((y != 0) & (y * f <= self.rho), 1.0, 0.0)
                if self.nu is not None:
                    self.rho = self.rho + rate * np.where(y != 0, self.nu - sigma, 0.0)
                return sigma * y
            case "novelty":
                outside = f < self.rho
                self.rho = self.rho + rate * np.where(outside, -(1 - self.nu), self.nu)
                return outside.astype(np.float64)
            case "epsilon-insensitive":
                outside = np.abs(delta) > self.epsilon
                if self.nu is not None:
                    self.epsilon = self.epsilon + rate * np.where(outside, 1 - self.nu, -self.nu)
                return np.where(outside, np.sign(delta), 0.0)
            case "squared":
                return delta
            case "huber":
                return np.clip(delta / self.epsilon, -1.0, 1.0)
        raise AssertionError(self.task)


# ---------------------------------------------------------------- estimators beside their twins


def targets(y: NDArray, classes: int) -> NDArray[np.float64]:
    """Targets ±1: with two classes of one output, for class 1; otherwise of one output per class."""
    return np.where(y[:, None] == (np.array([1]) if classes == 2 else np.arange(classes)), 1.0, -1.0)


def feed(
    estimator: Any, X: Any, y: NDArray, chunk: int | None = None, w: NDArray | None = None, classes: Any = None
) -> Any:
    """Rows in order, in chunks or (None) one by one; `classes` go with every call that takes them."""
    task = TASKS[type(estimator).__name__]
    n = X.shape[0]
    for start in range(0, n, chunk or 1):
        part = slice(start, start + (chunk or 1))
        weights = None if w is None else w[part]
        if chunk is None and start > 0:
            x = X[part] if hasattr(X, "toarray") else X[start]
            estimator.learn_one(x) if task == "detect" else estimator.learn_one(x, y[start])
        elif task == "detect":
            estimator.partial_fit(X[part], sample_weight=weights)
        elif task == "regress":
            estimator.partial_fit(X[part], y[part], sample_weight=weights)
        else:
            estimator.partial_fit(X[part], y[part], classes=classes, sample_weight=weights)
    return estimator


def keeps_support(learned: Any) -> bool:
    """Whether a learner, of either kind, is a sum over support vectors; linear learners may be a vector of weights."""
    return isinstance(learned, SlowOnline) or hasattr(learned, "support_")


def terms_of(learned: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The rows of the support, ascending and once each, and their coefficients (rows, outputs), of either kind."""
    rows, coef = (
        (learned.rows, learned.coef)
        if isinstance(learned, SlowOnline)
        else (learned.support_, np.asarray(learned.dual_coef_).reshape(-1, len(learned.support_)).T)
    )
    found, place = np.unique(np.asarray(rows, dtype=np.int64), return_inverse=True)
    total = np.zeros((len(found), coef.shape[1]))
    np.add.at(total, place, coef)
    return found, total


def scores_of(learned: Any, X: Any) -> NDArray[np.float64]:
    """(n, outputs): decisions, or what regression predicts, of either kind."""
    if isinstance(learned, SlowOnline):
        return learned.decision(X)
    predict = learned.decision_function if hasattr(learned, "decision_function") else learned.predict
    return np.asarray(predict(X)).reshape(X.shape[0], -1)


def assert_alike(one: Any, other: Any, X: Any, tolerance: float = 1e-9) -> None:
    """Same support, if both have one, and same coefficients and scores up to a tolerance."""
    if keeps_support(one) and keeps_support(other):
        (rows, coef), (other_rows, other_coef) = terms_of(one), terms_of(other)
        np.testing.assert_array_equal(rows, other_rows)
        scale = max(1.0, np.abs(other_coef).max())
        np.testing.assert_allclose(coef, other_coef, rtol=tolerance, atol=tolerance * scale)
    np.testing.assert_allclose(scores_of(one, X), scores_of(other, X), rtol=tolerance, atol=10 * tolerance)
