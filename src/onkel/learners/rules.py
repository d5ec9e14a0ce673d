"""Update rules: the step that one output makes on one example. Each rule is a pure function.

    f ← f + step · k(x, ·)          step = rule(f, y, sq_norm, w, …)

f is the score of the example before it is learned, y its target (±1 for a class, or a number for regression),
sq_norm = k(x, x), and w its sample weight. If the step is not 0, the example becomes a support vector; a budget policy
(`onkel.learners.policies`) finds room for it.

A rule is its function and what it declares: the names of its parameters, and how its targets and its margin behave.
The decorator `rule` makes a `Rule` of a function. The rules in `NATIVE` have a twin in the compiled core,
cpp/learn/rules.h, and run there. Any other rule runs in Python, with the same result, about a hundred times slower.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any, Literal

__all__ = ["NATIVE", "RULES", "Regularised", "Rule", "is_mistake", "move_margin", "rule"]

RULES: dict[str, Rule] = {}  # every rule that was declared by the decorator `rule`, by name


@dataclasses.dataclass(frozen=True)
class Rule:
    """A rule: its function, what it declares, and the values of its parameters.

    ``step(f, y, sq_norm, w, **values)`` or, if it is regularised, ``step(f, y, sq_norm, w, eta, margin, **values)`` is
    the step. `with_params` gives the parameters their values.
    """

    step: Callable[..., float]
    params: tuple[str, ...] = ()  # the names of its parameters
    signs: bool = True  # the targets are ±1, so that y f ≤ 0 is a mistake
    regularised: bool = False  # NORMA's: needs η and a margin, see `Regularised`
    widens: bool = False  # an example outside of the margin widens it, if the margin moves
    values: Mapping[str, float] = dataclasses.field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of its function."""
        return self.step.__name__

    def with_params(self, **values: float) -> Rule:
        """The rule with these values of its parameters, all of which must be given."""
        if sorted(values) != sorted(self.params):
            raise TypeError(f"{self.name} takes the parameters {list(self.params)}; got {list(values)}.")
        return dataclasses.replace(self, values=values)

    def __call__(self, *args: float, **values: float) -> float:
        """The step, as the function computes it."""
        return self.step(*args, **values)


def rule(
    *params: str, signs: bool = True, regularised: bool = False, widens: bool = False
) -> Callable[[Callable[..., float]], Rule]:
    """Decorator that makes a `Rule` of a step function: the names of its parameters, and what else it declares."""

    def declare(step: Callable[..., float]) -> Rule:
        declared = RULES[step.__name__] = Rule(step, params, signs, regularised, widens)
        return declared

    return declare


def is_mistake(f: Any, y: Any) -> Any:
    """Whether the score f has the wrong sign or is 0, y f ≤ 0; for numbers or arrays."""
    return y * f <= 0


@rule()
def perceptron(f: float, y: float, sq_norm: float, w: float) -> float:
    """The perceptron: w y if y f ≤ 0, else 0   [Rosenblatt 1958]."""
    return w * y if is_mistake(f, y) else 0.0


# ---------------------------------------------------------------- passive-aggressive


def hinge(f: float, y: float) -> float:
    """The hinge loss max(0, 1 − y f)."""
    return max(0.0, 1.0 - y * f)


def insensitive(f: float, y: float, epsilon: float) -> float:
    """The ε-insensitive loss max(0, |y − f| − ε)."""
    return max(0.0, abs(y - f) - epsilon)


def pa_step(loss: float, sq_norm: float) -> float:
    """PA step τ = loss / ‖x‖²   [Crammer et al. 2006, sec. 3]: the least step after which the loss is 0."""
    return loss / sq_norm if sq_norm > 0.0 else 0.0


def pa1_step(loss: float, sq_norm: float, C: float) -> float:
    """PA-I step τ = min(C, loss / ‖x‖²)   [Crammer et al. 2006, sec. 3]."""
    return min(C, loss / sq_norm) if sq_norm > 0.0 else 0.0


def pa2_step(loss: float, sq_norm: float, C: float) -> float:
    """PA-II step τ = loss / (‖x‖² + 1/(2C))   [Crammer et al. 2006, sec. 3]."""
    return loss / (sq_norm + 1.0 / (2.0 * C)) if sq_norm > 0.0 else 0.0


@rule()
def pa(f: float, y: float, sq_norm: float, w: float) -> float:
    """PA for classification; the weight has no influence, as the step makes the loss 0 whatever it is."""
    return y * pa_step(hinge(f, y), sq_norm)


@rule("C")
def pa1(f: float, y: float, sq_norm: float, w: float, C: float) -> float:
    """PA-I for classification; the weight multiplies C."""
    return y * pa1_step(hinge(f, y), sq_norm, C * w)


@rule("C")
def pa2(f: float, y: float, sq_norm: float, w: float, C: float) -> float:
    """PA-II for classification; the weight multiplies C."""
    return y * pa2_step(hinge(f, y), sq_norm, C * w)


@rule("epsilon", signs=False)
def pa_regression(f: float, y: float, sq_norm: float, w: float, epsilon: float) -> float:
    """PA for regression; the weight has no influence   [Crammer et al. 2006, sec. 5]."""
    return math.copysign(pa_step(insensitive(f, y, epsilon), sq_norm), y - f)


@rule("epsilon", "C", signs=False)
def pa1_regression(f: float, y: float, sq_norm: float, w: float, epsilon: float, C: float) -> float:
    """PA-I for regression; the weight multiplies C."""
    return math.copysign(pa1_step(insensitive(f, y, epsilon), sq_norm, C * w), y - f)


@rule("epsilon", "C", signs=False)
def pa2_regression(f: float, y: float, sq_norm: float, w: float, epsilon: float, C: float) -> float:
    """PA-II for regression; the weight multiplies C."""
    return math.copysign(pa2_step(insensitive(f, y, epsilon), sq_norm, C * w), y - f)


# ---------------------------------------------------------------- NORMA: steps against the gradient of a loss


@dataclasses.dataclass(frozen=True)
class Regularised:
    """NORMA's additions to a rule: f ← (1 − η_t λ) f before each step, a margin that may move, and an offset.

    The rule is called with η_t and the margin (ρ or ε).
    """

    eta: float  # step size, > 0
    lam: float  # regularisation λ ≥ 0
    nu: float | None  # the margin moves until a fraction ν of the examples is outside of it; None: the margin is fixed
    schedule: Literal["constant", "sqrt"]  # η_t = eta, or eta/√t
    intercept: bool  # whether an offset is learned

    def rate(self, t: int) -> float:
        """η_t, the step size of round t = 1, 2, …."""
        return self.eta / math.sqrt(t) if self.schedule == "sqrt" else self.eta


@rule(regularised=True)
def soft_margin(f: float, y: float, sq_norm: float, w: float, eta: float, rho: float) -> float:
    """η w y if y f ≤ ρ, else 0   [Kivinen, Smola and Williamson 2004, sec. III]."""
    return eta * w * y if y * f <= rho else 0.0


@rule(signs=False, regularised=True, widens=True)
def epsilon_insensitive(f: float, y: float, sq_norm: float, w: float, eta: float, epsilon: float) -> float:
    """η w sign(y − f) if |y − f| > ε, else 0."""
    return math.copysign(eta * w, y - f) if abs(y - f) > epsilon else 0.0


@rule(signs=False, regularised=True)
def squared(f: float, y: float, sq_norm: float, w: float, eta: float, epsilon: float) -> float:
    """η w (y − f): the squared loss."""
    return eta * w * (y - f)


@rule(signs=False, regularised=True)
def huber(f: float, y: float, sq_norm: float, w: float, eta: float, epsilon: float) -> float:
    """η w (y − f) / ε if |y − f| ≤ ε, else η w sign(y − f): Huber's loss."""
    return eta * w * ((y - f) / epsilon if abs(y - f) <= epsilon else math.copysign(1.0, y - f))


@rule(signs=False, regularised=True)
def novelty(f: float, y: float, sq_norm: float, w: float, eta: float, rho: float) -> float:
    """η w if f < ρ, else 0: novelty detection."""
    return eta * w if f < rho else 0.0


def move_margin(margin: float, outside: bool, eta: float, nu: float, *, widens: bool) -> float:
    """The margin after an example: ρ + η(ν − σ) or, if it `widens`, ε + η(σ − ν); it is not clipped.

    σ is 1 if the example is outside of the margin, else 0: an example outside lowers ρ, and widens ε.
    """
    return margin + eta * ((outside - nu) if widens else (nu - outside))


# The rules of the compiled core: kRules in cpp/learn/rules.h.
NATIVE = (
    perceptron,
    pa,
    pa1,
    pa2,
    pa_regression,
    pa1_regression,
    pa2_regression,
    soft_margin,
    epsilon_insensitive,
    squared,
    huber,
    novelty,
)
