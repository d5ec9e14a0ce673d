"""Update rules: how far one output steps on one example, one pure function each.

    f ← f + step · k(x, ·)          step = rule(f, y, sq_norm, w, …)

f is the score of the example before it is learned, y its target (±1, or a number to regress on),
sq_norm = k(x, x), w its weight. What an estimator does with a step, a budget policy decides
(`onkel.learners.policies`).

A rule needs nothing but its function. Those in `NATIVE` have a twin in the compiled core, cpp/online.h,
and run there; any other runs here, in Python, a hundred times slower and to the same end.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Literal

__all__ = ["NATIVE", "Regularised", "Rule", "move_margin"]


@dataclasses.dataclass(frozen=True)
class Rule:
    """A rule with its parameters: `step(f, y, sq_norm, w, *params)`."""

    step: Callable[..., float]
    params: tuple[float, ...] = ()
    signs: bool = True  # the targets are ±1, and y f ≤ 0 is a mistake


def perceptron(f: float, y: float, sq_norm: float, w: float) -> float:
    """The perceptron: y where y f ≤ 0, else nothing   [Rosenblatt 1958]."""
    return w * y if y * f <= 0 else 0.0


# ---------------------------------------------------------------- passive-aggressive


def hinge(f: float, y: float) -> float:
    """max(0, 1 − y f)."""
    return max(0.0, 1.0 - y * f)


def insensitive(f: float, y: float, epsilon: float) -> float:
    """max(0, |y − f| − ε)."""
    return max(0.0, abs(y - f) - epsilon)


def pa_step(loss: float, sq_norm: float) -> float:
    """PA step τ = loss / ‖x‖²   [Crammer et al. 2006, sec. 3]: the least step that ends the loss."""
    return loss / sq_norm if sq_norm > 0.0 else 0.0


def pa1_step(loss: float, sq_norm: float, C: float) -> float:
    """PA-I step τ = min(C, loss / ‖x‖²)   [Crammer et al. 2006, sec. 3]."""
    return min(C, loss / sq_norm) if sq_norm > 0.0 else 0.0


def pa2_step(loss: float, sq_norm: float, C: float) -> float:
    """PA-II step τ = loss / (‖x‖² + 1/(2C))   [Crammer et al. 2006, sec. 3]."""
    return loss / (sq_norm + 1.0 / (2.0 * C)) if sq_norm > 0.0 else 0.0


def pa(f: float, y: float, sq_norm: float, w: float) -> float:
    """PA to classify."""
    return y * pa_step(hinge(f, y), sq_norm)


def pa1(f: float, y: float, sq_norm: float, w: float, C: float) -> float:
    """PA-I to classify; the weight scales C."""
    return y * pa1_step(hinge(f, y), sq_norm, C * w)


def pa2(f: float, y: float, sq_norm: float, w: float, C: float) -> float:
    """PA-II to classify; the weight scales C."""
    return y * pa2_step(hinge(f, y), sq_norm, C * w)


def pa_regression(f: float, y: float, sq_norm: float, w: float, epsilon: float) -> float:
    """PA to regress   [Crammer et al. 2006, sec. 5]."""
    return math.copysign(pa_step(insensitive(f, y, epsilon), sq_norm), y - f)


def pa1_regression(f: float, y: float, sq_norm: float, w: float, epsilon: float, C: float) -> float:
    """PA-I to regress; the weight scales C."""
    return math.copysign(pa1_step(insensitive(f, y, epsilon), sq_norm, C * w), y - f)


def pa2_regression(f: float, y: float, sq_norm: float, w: float, epsilon: float, C: float) -> float:
    """PA-II to regress; the weight scales C."""
    return math.copysign(pa2_step(insensitive(f, y, epsilon), sq_norm, C * w), y - f)


# ---------------------------------------------------------------- NORMA: steps against the gradient of a loss


@dataclasses.dataclass(frozen=True)
class Regularised:
    """What NORMA adds to a rule: f ← (1 − ηλ) f before each step, and a margin that moves.

    η_t is `eta`, or eta/√t with `schedule` "sqrt". The rule is called with η_t and the margin, ρ or ε,
    after its own parameters. With `nu` the margin moves so that a part ν of the examples is outside.
    """

    eta: float
    lam: float
    nu: float | None
    schedule: Literal["constant", "sqrt"]
    intercept: bool

    def rate(self, t: int) -> float:
        """η of round t, from 1."""
        return self.eta / math.sqrt(t) if self.schedule == "sqrt" else self.eta


def soft_margin(f: float, y: float, sq_norm: float, w: float, eta: float, rho: float) -> float:
    """η y where y f ≤ ρ   [Kivinen, Smola and Williamson 2004, sec. III]."""
    return eta * w * y if y * f <= rho else 0.0


def epsilon_insensitive(f: float, y: float, sq_norm: float, w: float, eta: float, epsilon: float) -> float:
    """η sign(y − f) where |y − f| > ε."""
    return math.copysign(eta * w, y - f) if abs(y - f) > epsilon else 0.0


def squared(f: float, y: float, sq_norm: float, w: float, eta: float, epsilon: float) -> float:
    """η (y − f)."""
    return eta * w * (y - f)


def huber(f: float, y: float, sq_norm: float, w: float, eta: float, epsilon: float) -> float:
    """η (y − f) / ε, and η sign(y − f) where |y − f| > ε."""
    return eta * w * ((y - f) / epsilon if abs(y - f) <= epsilon else math.copysign(1.0, y - f))


def novelty(f: float, y: float, sq_norm: float, w: float, eta: float, rho: float) -> float:
    """η where f < ρ."""
    return eta * w if f < rho else 0.0


def move_margin(margin: float, outside: bool, eta: float, nu: float, *, widens: bool) -> float:
    """ρ + η(ν − σ), where an example outside (σ = 1) lowers ρ; or ε + η(σ − ν), where it widens ε; unclipped."""
    return margin + eta * ((outside - nu) if widens else (nu - outside))


# The rules of the compiled core: online.h, Rule.
NATIVE: dict[Callable[..., float], int] = {
    perceptron: 0,
    pa: 1,
    pa1: 2,
    pa2: 3,
    pa_regression: 4,
    pa1_regression: 5,
    pa2_regression: 6,
    soft_margin: 7,
    epsilon_insensitive: 8,
    squared: 9,
    huber: 10,
    novelty: 11,
}
