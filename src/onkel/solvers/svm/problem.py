"""The dual problem of a support vector machine: what is given, what is found, and how good it is.

Classification, regression and one-class detection lead to one problem in signed variables,

    min  ½ βᵀKβ − zᵀβ      low ≤ β ≤ high,  Σβ as it is at the start,

where β_t belongs to row `row[t]` of the data:

    classification   β = yα,  z = y,      β between 0 and y C
    regression       each row twice: β = α in [0, C] with z = y − ε, and β = −α* in [−C, 0] with z = y + ε
    one class        z = 0,  β in [0, 1],  Σβ = ν n

A sample weight w multiplies the bounds of its row: C w in place of C, w in place of 1, Σw in place of n.

v = z − Kβ is the negative gradient of the objective. β is optimal if no variable that can grow has a larger v than one
that can shrink. Any b between their values is then an offset of the machine, and the sign of v − b says at which bound
a variable is: at `high` if it is positive, at `low` if it is negative. The *violation* is max v over the variables that
can grow − min v over those that can shrink; the solver stops at a violation of at most tol, which is LIBSVM's rule.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onkel.kernels import Kernel
from onkel.kernels.rows import Rows

__all__ = ["Ended", "Limits", "Problem", "Slopes", "Solution", "duality_gap", "feasible", "offset", "slopes"]


class Problem(NamedTuple):
    """min ½βᵀKβ − zᵀβ, low ≤ β ≤ high, Σβ fixed. If `sum_fixed` is False, Σβ is free, and b is 0."""

    kernel: Kernel
    rows: Rows
    row: NDArray[np.int64]  # (N,): the row to which each variable belongs
    z: NDArray[np.float64]  # (N,), as are low and high
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    sum_fixed: bool = True
    gram: Callable[[NDArray], None] | None = None  # fills the Gram matrix of all rows faster than `kernel`; or None


class Limits:
    """When to stop before convergence: after `steps`, after `seconds` from now (None: no limit), or on request."""

    def __init__(self, steps: int | None = None, seconds: float | None = None) -> None:
        self.steps = math.inf if steps is None else steps
        self._end = math.inf if seconds is None else time.monotonic() + seconds
        self.stop_requested = threading.Event()

    @property
    def over(self) -> bool:
        """Whether the time is over or a stop was requested; steps are counted by the solver."""
        return self.stop_requested.is_set() or time.monotonic() >= self._end


class Slopes(NamedTuple):
    """v of all variables, which of them can move, and the two values between which b lies at a solution."""

    v: NDArray[np.float64]
    grows: NDArray[np.bool_]
    shrinks: NDArray[np.bool_]
    top: float  # max v over the variables that can grow
    bottom: float  # min v over those that can shrink

    @property
    def violation(self) -> float:
        """By how much the worst pair violates optimality; at most 0 at a solution."""
        return self.top - self.bottom


def slopes(
    p: Problem, beta: NDArray[np.float64], f: NDArray[np.float64], live: NDArray[np.bool_] | None = None
) -> Slopes:
    """The slopes at β with scores f = Kβ (n,). With `live` (N,), only these variables count as movable."""
    v = p.z - f[p.row]
    grows, shrinks = beta < p.high, beta > p.low
    if live is not None:
        grows &= live
        shrinks &= live
    top = float(v[grows].max(initial=-np.inf))
    bottom = float(v[shrinks].min(initial=np.inf))
    if not p.sum_fixed:  # b is 0: a variable violates on its own if its v has the wrong sign
        top, bottom = max(top, 0.0), min(bottom, 0.0)
    return Slopes(v, grows, shrinks, top, bottom)


Ended = Literal["converged", "stopped", "steps", "rounding"]  # stopped: at the time limit, on request or by Ctrl-C


class Solution(NamedTuple):
    """β, its quality and how it was found; it holds no reference to the data."""

    beta: NDArray[np.float64]
    b: float  # of f(x) = Σ β k(x, ·) + b
    objective: float  # ½ βᵀKβ − zᵀβ
    dual_gap: float  # a bound of its distance from the optimum
    violation: float
    steps: int
    ended: Ended
    interrupted: KeyboardInterrupt | None

    @property
    def converged(self) -> bool:
        """Whether the violation is at most tol."""
        return self.ended == "converged"


def offset(now: Slopes) -> float:
    """b: the mean v of the variables between their bounds; if there are none, the middle of the possible values."""
    free = now.grows & now.shrinks
    if free.any():
        return float(now.v[free].mean())
    ends = [end for end in (now.top, now.bottom) if math.isfinite(end)]
    return sum(ends) / len(ends) if ends else 0.0


def duality_gap(p: Problem, beta: NDArray[np.float64], slope: NDArray[np.float64]) -> float:
    """A bound of the objective's distance from its optimum: Σ max over γ in [low, high] of (v − b)(γ − β).

    `slope` is v − b.
    """
    room = np.where(slope > 0, p.high - beta, p.low - beta)
    moves = (room != 0) & (slope != 0)  # the room of an infinite C is infinite
    with np.errstate(over="ignore"):
        return float((slope[moves] * room[moves]).sum())


def feasible(
    beta: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64], total: float
) -> NDArray[np.float64]:
    """β clipped to [low, high], and then scaled towards 0 on one side until Σβ = total.

    The bounds must contain 0, and the sum of the positive (or negative) β must be large enough for that.
    """
    beta = np.clip(beta, low, high)
    excess = beta.sum() - total
    side = beta > 0 if excess > 0 else beta < 0
    part = beta[side].sum()
    if part != 0:
        beta[side] *= (part - excess) / part
    return beta
