"""The duals of support vector machines, solved by working sets.

All of them are one problem in signed variables,

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

A round takes the variables that violate most into a working set, computes their kernel values with each other, and
moves pairs of them in the core (cpp/learn/smo.h) until the violation within the set is small. Then the changes of β are
added to the scores f = Kβ of all rows, by one product that never stores a kernel value: on today's computers it is
cheaper to compute a kernel value again than to keep it. A problem that fits into one working set is solved in one
round.

Most variables soon stay at a bound. Rows whose variables are at a bound and violate with no other variable are left out
of the products (*shrinking*) until the problem of the remaining rows is solved. Then their scores are computed anew,
and if some of them violate after all, the rounds continue with all rows.

Rows in float32 have kernel values with errors of about 1e-7, and with a large C the errors of f come near tol. So
before the end the scores of all rows whose v is near b are computed in float64; if the violation is then above tol, the
rounds continue from the corrected scores.
[Fan, Chen and Lin 2005; Wen et al. 2018, ThunderSVM]
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native
from onkel.kernels import Kernel
from onkel.kernels.rows import Rows
from onkel.kernels.tiles import add_scores, fill
from onkel.kernels.vectors import VectorRows

__all__ = ["Limits", "Problem", "Solution", "feasible", "solve"]

WORKING = 2048  # variables of a working set; twice as many if more than WORKING variables are between their bounds
LEAST = 16  # variables of a working set, however small the cache is
WHOLE = 4096  # a problem of at most this many variables is one working set
INNER = 0.3  # a working set is left when its violation has fallen to this fraction of that of the whole problem
BLOCK_STEP = 32  # rows of K have a multiple of this many values: kBlockStep in cpp/target/target.h
CALL_STEPS = 1 << 25  # steps × variables of one native call: about 0.05 s
SHRINK = 0.7  # rows are left out if at most this fraction of the present rows remains, and if leaving them out would
PATIENCE = 2.0  # by now have saved this many times the kernel values that it costs to take them back
SHRUNK_BYTES = 256 << 20  # the copy of the remaining rows takes at most these bytes
COPY_BYTES = 16 << 20  # rows that are copied for one product, to float64 where that is needed
TRUE = 1e-4  # the relative error of the objective above which scores are corrected at the end
NEAR = 100.0  # × tol: rows with v this near to b get their score in float64; or 10 × the errors found, if that is more


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


class Solution(NamedTuple):
    """β, its quality and how it was found; it holds no reference to the data."""

    beta: NDArray[np.float64]
    b: float  # of f(x) = Σ β k(x, ·) + b
    objective: float  # ½ βᵀKβ − zᵀβ
    dual_gap: float  # a bound of its distance from the optimum
    violation: float
    steps: int
    converged: bool
    interrupted: KeyboardInterrupt | None


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


Report = Callable[[float, float], None]  # is called with the violation and the duality gap of every round


def solve(
    problem: Problem,
    beta: NDArray[np.float64],
    *,
    tol: float,
    cache_bytes: float,
    limits: Limits,
    shrinking: bool = True,
    report: Report | None = None,
) -> Solution:
    """Minimises the objective, from a feasible β (N,).

    Stops at a violation of at most `tol`; a limit or Ctrl-C ends it earlier, with the best β so far. `cache_bytes` is
    the memory for the kernel values of a working set. `shrinking` (default True) leaves out rows that do not move.
    `report` (default None) is called before every round with the violation and the duality gap.
    """
    run = _Run(problem, tol, cache_bytes, limits, shrinking)
    converged, interrupted = False, None
    run.begin(beta)  # a Ctrl-C here is raised: there is no result yet
    try:
        while not converged:
            now = run.slopes()
            if report is not None:
                report(now.violation, duality_gap(problem, run.beta, now.v - run.offset(now)))
            if now.violation > tol:
                if limits.over or run.steps >= limits.steps:
                    break
                run.round(now)
            elif not run.complete():
                run.take_all()
            else:
                converged = run.exact(now)
    except KeyboardInterrupt as stop:
        interrupted = stop
    run.take_all()
    run.make_objective_true()
    now = run.slopes()
    b = run.offset(now)
    objective = float(run.beta @ (0.5 * run.f[problem.row] - problem.z))
    gap = duality_gap(problem, run.beta, now.v - b)
    return Solution(run.beta, b, objective, gap, now.violation, run.steps, converged, interrupted)


class _Run:
    """The state of `solve`: β and f = Kβ of each row, always replaced together, so that they agree after a Ctrl-C."""

    def __init__(self, p: Problem, tol: float, cache_bytes: float, limits: Limits, shrinking: bool) -> None:
        self.problem, self.tol, self.limits, self.shrinking = p, tol, limits, shrinking
        self.beta, self.f = np.zeros(len(p.z)), np.zeros(len(p.rows))
        self.steps = 0
        values = int(cache_bytes) // p.rows.dtype.itemsize
        if len(p.z) > len(p.rows):  # in regression: room for the kernel values of the rows and of the variables
            values = 4 * values // 5
        fitting = math.isqrt(values) - 2 * BLOCK_STEP
        self._most = min(len(p.z), max(LEAST, fitting))
        self._make_room(WHOLE if len(p.z) <= WHOLE else WORKING)
        self._set = np.empty(0, dtype=np.int64)  # the working set
        self._live: NDArray[np.bool_] | None = None  # the variables of the rows that are not left out; None: all
        self._rows, self._which = p.rows, np.arange(len(p.rows))  # these rows, and their indices
        self._missed = 0.0  # kernel values that shrinking would have saved so far
        self._exact_at, self._wrong = -1, 0.0  # the step at which f was last corrected, and the largest error found

    def slopes(self) -> Slopes:
        """The slopes at the present β."""
        return slopes(self.problem, self.beta, self.f, self._live)

    def offset(self, now: Slopes) -> float:
        """b; 0 if Σβ is free."""
        return offset(now) if self.problem.sum_fixed else 0.0

    def begin(self, beta: NDArray[np.float64]) -> None:
        """Sets the first β, and computes its f."""
        self._change(beta.copy())

    # ---------------------------------------------------------------- a round

    def round(self, now: Slopes) -> None:
        """One round: chooses a working set, moves its pairs, and updates f."""
        p, count = self.problem, len(self.beta)
        if self.shrinking:
            self._leave_out(now)
        if len(self._set) < count:
            self._choose(now)
            self._fill(self._K[: len(self._set), : len(self._set)])
        beta, v = self._moved(now)
        if len(self._set) == count:  # the working set is the whole problem: f follows from v
            self.beta = beta
            self.f[p.row] = p.z - v
        else:
            self._change(beta)

    def _fill(self, K: NDArray) -> None:
        """Computes the kernel values of the working set with each other."""
        p = self.problem
        if len(self._set) == len(p.rows) == len(self.beta):
            if p.gram is not None:
                p.gram(K)
            else:
                fill(p.kernel, p.rows, p.rows, K, kept=False)
            return
        which, place = np.unique(p.row[self._set], return_inverse=True)
        if len(which) == len(place):
            chosen = p.rows[p.row[self._set]]
            fill(p.kernel, chosen, chosen, K, kept=False)
            return
        chosen = p.rows if len(which) == len(p.rows) else p.rows[which]
        once = np.empty((len(which), len(which)), dtype=K.dtype)  # in regression a row may be there twice
        fill(p.kernel, chosen, chosen, once, kept=False)
        for i, row in enumerate(place):
            np.take(once[row], place, out=K[i])

    def _make_room(self, size: int) -> None:
        """Makes room for the kernel values of a working set of `size` variables."""
        self.size = min(size, self._most)
        stride = -(-self.size // BLOCK_STEP) * BLOCK_STEP + BLOCK_STEP  # not a power of two, unlike most sizes
        self._K = np.zeros((self.size, stride), dtype=self.problem.rows.dtype)

    def _choose(self, now: Slopes) -> None:
        """Chooses the working set: the later half of the last set, and the variables that violate most."""
        count = len(self.beta)
        if self.size == WORKING and np.count_nonzero(now.grows & now.shrinks) > WORKING:
            self._make_room(2 * WORKING)
        if self.size >= count:
            self._set = np.arange(count)
            return
        kept = self._set[-(self.size // 2) :]
        if self._live is not None:
            kept = kept[self._live[kept]]
        free = np.ones(count, dtype=bool)
        free[kept] = False
        wanted = (self.size - len(kept)) // 2
        top = _largest(now.v, np.flatnonzero(now.grows & free & (now.v > now.bottom)), wanted)
        free[top] = False
        bottom = _largest(-now.v, np.flatnonzero(now.shrinks & free & (now.v < now.top)), wanted)
        self._set = np.concatenate([kept, top, bottom])

    def _moved(self, now: Slopes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """β after the pairs of the working set have moved, and v of the working set."""
        p, q, chosen = self.problem, len(self._set), self._set
        b, v, low, high = np.zeros((4, self._K.shape[1]))
        b[:q], v[:q], low[:q], high[:q] = self.beta[chosen], now.v[chosen], p.low[chosen], p.high[chosen]
        whole = q == len(self.beta)
        tol = 0.5 * self.tol if whole else max(0.5 * self.tol, INNER * now.violation)
        most = max(1, CALL_STEPS // q)
        while True:
            left = self.limits.steps - self.steps
            steps, gap = _native.smo(self._K, q, low, high, b, v, p.sum_fixed, tol, int(min(most, left)))
            self.steps += steps
            if gap <= tol or steps >= left or self.limits.over:
                break
        beta = self.beta.copy()
        beta[chosen] = b[:q]
        return beta, v[:q]

    def _change(self, beta: NDArray[np.float64]) -> None:
        """Replaces β, and updates the f of the rows that are not left out."""
        changed = np.flatnonzero(beta != self.beta)
        self._pushed = len(changed)
        f = np.zeros((len(self._which), 1))
        self._add(f, self._rows, changed, beta - self.beta)
        f[:, 0] += self.f[self._which]
        self.beta, self.f[self._which] = beta, f[:, 0]

    def _add(self, f: NDArray[np.float64], x: Rows, which: NDArray[np.int64], by: NDArray[np.float64]) -> None:
        """f += Σ by[t] k(x, row of t) over the variables t in `which`, with kernel values in the dtype of x."""
        p = self.problem
        if len(which) == 0:
            return
        rows, place = np.unique(p.row[which], return_inverse=True)
        A = np.bincount(place, weights=by[which]).astype(np.float64)[:, None]
        step = _rows_in(COPY_BYTES, p.rows)
        for start in range(0, len(rows), step):
            part = slice(start, start + step)
            s = p.rows[rows[part]]
            if isinstance(s, VectorRows):
                s = s.astype(x.dtype)
            add_scores(p.kernel, x, s, A[part], f, kept=False)

    # ---------------------------------------------------------------- shrinking

    def complete(self) -> bool:
        """Whether no row is left out."""
        return self._live is None

    def _leave_out(self, now: Slopes) -> None:
        """Leaves out the rows whose variables violate with no other at present, if that saves enough."""
        p = self.problem
        stays = (now.grows & (now.v >= now.bottom)) | (now.shrinks & (now.v <= now.top))
        counts = np.zeros(len(p.rows), dtype=bool)
        counts[p.row[stays]] = True
        which = np.flatnonzero(counts)
        idle = len(self._which) - len(which)
        if len(which) > min(SHRINK * len(self._which), _rows_in(SHRUNK_BYTES, p.rows)):
            return
        self._missed += idle * self._pushed
        if self._missed > PATIENCE * idle * np.count_nonzero(self.beta):
            self._which, self._rows, self._live = which, p.rows[which], counts[p.row]

    def take_all(self) -> None:
        """Takes back the rows that were left out; their f is computed anew."""
        if self.complete():
            return
        left_out = np.ones(len(self.f), dtype=bool)
        left_out[self._which] = False
        rows = np.flatnonzero(left_out)
        f = np.zeros((len(rows), 1))
        self._add(f, self.problem.rows[rows], np.flatnonzero(self.beta), self.beta)
        self.f[rows] = f[:, 0]
        self._live, self._rows, self._which = None, self.problem.rows, np.arange(len(self.f))
        self._missed = 0.0

    # ---------------------------------------------------------------- float64

    def exact(self, now: Slopes) -> bool:
        """Corrects f in float64 near b, where its errors matter; returns whether the violation is still within tol."""
        p = self.problem
        if not isinstance(p.rows, VectorRows) or p.rows.dtype == np.float64 or self._exact_at == self.steps:
            return True
        self._exact_at = self.steps
        distance = np.abs(now.v - 0.5 * (now.top + now.bottom))
        near, done = NEAR * self.tol, np.zeros(len(self.f), dtype=bool)
        while True:
            rows = np.unique(p.row[distance <= near])
            rows = rows[~done[rows]]
            wrong = self._correct(rows)
            self._wrong = max(self._wrong, wrong)
            done[rows] = True
            if not 10 * wrong > near:  # also if it is NaN
                return self.slopes().violation <= self.tol
            near = 10 * wrong

    def make_objective_true(self) -> None:
        """Corrects f of all support vectors in float64 if its errors add up in the objective, as with a large C."""
        p = self.problem
        error, about = 0.5 * self._wrong * np.abs(self.beta).sum(), abs(self.beta @ (0.5 * self.f[p.row] - p.z))
        if error > TRUE * about:
            self._correct(np.unique(p.row[self.beta != 0]))

    def _correct(self, rows: NDArray[np.int64]) -> float:
        """Computes the f of some rows in float64; returns the largest error that they had."""
        if len(rows) == 0:
            return 0.0
        f = np.zeros((len(rows), 1))
        step = _rows_in(COPY_BYTES, self.problem.rows)
        for start in range(0, len(rows), step):
            x = self.problem.rows[rows[start : start + step]]
            assert isinstance(x, VectorRows)
            part = f[start : start + step]
            self._add(part, x.astype(np.dtype(np.float64)), np.flatnonzero(self.beta), self.beta)
        wrong = float(np.abs(f[:, 0] - self.f[rows]).max())
        self.f[rows] = f[:, 0]
        return wrong


def _rows_in(size: int, rows: Rows) -> int:
    """How many rows fit into `size` bytes, with their indices if they are sparse, or in float64."""
    each = 2.0 * rows.stored_values.nbytes / len(rows) if isinstance(rows, VectorRows) else 8.0
    return max(64, int(size / max(each, 1.0)))


def _largest(values: NDArray[np.float64], of: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The `count` indices among `of` with the largest values."""
    if len(of) <= count or count == 0:
        return of[:count]
    chosen: NDArray[np.int64] = of[np.argpartition(values[of], len(of) - count)[len(of) - count :]]
    return chosen
