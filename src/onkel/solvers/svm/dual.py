"""The duals of support vector machines, solved by working sets.

`onkel.solvers.svm.problem` states the problem: min ½ βᵀKβ − zᵀβ with low ≤ β ≤ high and a fixed Σβ, its slopes
v = z − Kβ, and its violation, which the solver brings below tol.

A round takes the variables that violate most into a working set (`onkel.solvers.svm.working_set`), and moves pairs of
them in the core (cpp/learn/smo.h) until the violation within the set is small. Then the changes of β are added to the
scores f = Kβ of all rows, by one product that never stores a kernel value: on today's computers it is cheaper to
compute a kernel value again than to keep it. A problem that fits into one working set is solved in one round.

Most variables soon stay at a bound. Rows whose variables are at a bound and violate with no other variable are left out
of the products (*shrinking*) until the problem of the remaining rows is solved. Then their scores are computed anew,
and if some of them violate after all, the rounds continue with all rows.

Rows in float32 have kernel values with errors of about 1e-7, and with a large C the errors of f come near tol. So
before the end the scores of all rows whose v is near b are computed in float64; if the violation is then above tol, the
rounds continue from the corrected scores.

Rounding may keep the violation above tol for ever: the solver *stalls*. It is taken to stall if

- the corrected violation is above tol, and above half of what it was at the correction before;
- the errors of f at the rows that violate most, looked at every `LOOK` rounds and after a long one, are as large as the
  violation; or
- a native call of many steps within a working set lowers the objective by no more than the rounding error of its terms,
  or ends with a violation within the rounding error of v in float64, or with rounding errors in float32 that are as
  large as z.

Then the rounds continue in float64, on a copy of the rows, from the β that was found, or from the first one if that is
better: kernel values in float32 are not quite positive semi-definite, and with a large C steps may lead far away. If
the kernel values are in float64 already, the solver ends, with the best β so far. It ends, too, after `STEPS` steps
(`STEPS_A_ROW` for each variable, if that is more) unless the limits say otherwise. LIBSVM has such an end as well: with
C = ∞ and classes that overlap the dual has no minimum, and β grows with every step.
[Fan, Chen and Lin 2005; Wen et al. 2018, ThunderSVM]
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native
from onkel.kernels.rows import Rows
from onkel.kernels.tiles import add_scores
from onkel.kernels.vectors import VectorRows
from onkel.solvers.svm.problem import Ended, Limits, Problem, Slopes, Solution, duality_gap, offset, slopes
from onkel.solvers.svm.working_set import BLOCK_STEP, WorkingSet, largest

__all__ = ["solve", "solve_block"]

INNER = 0.3  # a working set is left when its violation has fallen to this fraction of that of the whole problem
CALL_STEPS = 1 << 25  # steps × variables of one native call: about 0.05 s
# Rows are left out if at most the fraction SHRINK of the present rows remains, and if leaving them out would by now
# have saved PATIENCE times the kernel values that it costs to take them back.
SHRINK, PATIENCE = 0.7, 2.0
SHRUNK_BYTES = 256 << 20  # the copy of the remaining rows takes at most these bytes
COPY_BYTES = 16 << 20  # rows that are copied for one product, to float64 where that is needed
TRUE = 1e-4  # the relative error of the objective above which scores are corrected at the end
LOOK = 32  # rounds between two looks at the errors of f
CALLS = 16  # native calls of a round at most: about 0.8 s
LOOKED_AT = 32  # rows with the largest v, and with the smallest, whose errors are looked at
STEPS, STEPS_A_ROW = 10_000_000, 1000
EPS, EPS32 = float(np.finfo(np.float64).eps), float(np.finfo(np.float32).eps)
NEAR = 100.0  # × tol: rows with v this near to b get their score in float64; or 10 × the errors found, if that is more


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

    Stops at a violation of at most `tol`; a limit, rounding or Ctrl-C ends it earlier, with the best β so far.
    `cache_bytes` is the memory for the kernel values of a working set. `shrinking` (default True) leaves out rows that
    do not move. `report` (default None) is called before every round with the violation and the duality gap.
    """
    run = _Run(problem, tol, cache_bytes, limits, shrinking)
    ended: Ended | None = None
    interrupted = None
    run.begin(beta)  # a Ctrl-C here is raised: there is no result yet
    try:
        while ended is None:
            now = run.slopes()
            if report is not None:
                report(now.violation, duality_gap(problem, run.beta, now.v - run.offset(now)))
            if now.violation > tol:
                if limits.over or run.steps >= run.most_steps:
                    ended = "stopped" if limits.over else "steps"
                    break
                run.round(now)
            elif not run.complete():
                run.take_all()
            elif run.exact(now):
                ended = "converged"
            if run.stalled and not run.continue_in_float64(beta):
                ended = "rounding"
    except KeyboardInterrupt as stop:
        ended, interrupted = "stopped", stop
    run.take_all()
    run.make_objective_true()
    now = run.slopes()
    b = run.offset(now)
    objective = run.objective()
    gap = duality_gap(problem, run.beta, now.v - b)
    return Solution(run.beta, b, objective, gap, now.violation, run.steps, ended, interrupted)


def solve_block(
    K: NDArray, which: NDArray[np.int64], y: NDArray[np.float64], C: NDArray[np.float64], tol: float
) -> Solution:
    """The problem of classification on some rows of a Gram matrix K, from β = 0, by one native call.

    `y` (q,) are the signs of these rows, and `C` (q,) the bounds of their α.
    """
    q = len(which)
    block = np.zeros((q, -(-q // BLOCK_STEP) * BLOCK_STEP + BLOCK_STEP), dtype=K.dtype)
    block[:, :q] = K[np.ix_(which, which)]
    beta, v, low, high = np.zeros((4, block.shape[1]))
    v[:q], low[:q], high[:q] = y, np.minimum(0.0, y * C), np.maximum(0.0, y * C)
    steps, gap = _native.smo(block, q, low, high, beta, v, True, tol, max(1, CALL_STEPS // q))
    beta, v, grows, shrinks = beta[:q], v[:q], beta[:q] < high[:q], beta[:q] > low[:q]
    now = Slopes(v, grows, shrinks, v[grows].max(initial=-np.inf), v[shrinks].min(initial=np.inf))
    objective = -0.5 * float(beta @ (y + v))  # Kβ = y − v
    return Solution(beta, offset(now), objective, math.inf, float(gap), int(steps), "stopped", None)


class _Run:
    """The state of `solve`: β and f = Kβ of each row, always replaced together, so that they agree after a Ctrl-C."""

    def __init__(self, p: Problem, tol: float, cache_bytes: float, limits: Limits, shrinking: bool) -> None:
        self.problem, self.tol, self.limits, self.shrinking = p, tol, limits, shrinking
        self.beta, self.f = np.zeros(len(p.z)), np.zeros(len(p.rows))
        self.steps, self._rounds, self.stalled = 0, 0, False  # rounds since the last look at the errors of f
        self.most_steps = limits.steps if limits.steps < math.inf else max(STEPS, STEPS_A_ROW * len(p.z))
        self._set = WorkingSet(p, cache_bytes)
        # what is not left out: the variables (None: all), the rows that they belong to, and the indices of these
        self._live: NDArray[np.bool_] | None = None
        self._rows, self._which = p.rows, np.arange(len(p.rows))
        self._missed = 0.0  # kernel values that shrinking would have saved so far
        self._exact_at, self._wrong = -1, 0.0  # the step at which f was last corrected, and the largest error found
        self._corrected = math.inf  # the violation after the last correction

    def objective(self) -> float:
        """½ βᵀKβ − zᵀβ at the present β."""
        return self._objective(self.beta, self.f)

    def _objective(self, beta: NDArray[np.float64], f: NDArray[np.float64]) -> float:
        return float(beta @ (0.5 * f[self.problem.row] - self.problem.z))

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
        p = self.problem
        self._rounds += 1
        if self._rounds > LOOK:
            self._look_at_errors(now)
            return
        if self.shrinking:
            self._leave_out(now)
        self._set.choose(now, self._live)
        beta, v = self._moved(now)
        if self._set.is_whole:  # f follows from v
            self.beta = beta
            self.f[p.row] = p.z - v
        else:
            self._change(beta)

    def _moved(self, now: Slopes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """β after the pairs of the working set have moved, and v of the working set."""
        p, q, chosen, K = self.problem, len(self._set), self._set.variables, self._set.K
        b, v, low, high = np.zeros((4, K.shape[1]))
        b[:q], v[:q], low[:q], high[:q] = self.beta[chosen], now.v[chosen], p.low[chosen], p.high[chosen]
        tol = 0.5 * self.tol if self._set.is_whole else max(0.5 * self.tol, INNER * now.violation)
        most = max(1, CALL_STEPS // q)
        for _ in range(CALLS):
            left = self.most_steps - self.steps
            last_b, last_v = b.copy(), v.copy()
            steps, gap = _native.smo(K, q, low, high, b, v, p.sum_fixed, tol, int(min(most, left)))
            self.steps += steps
            if not gap > tol or steps >= left or self.limits.over:
                break
            fall = 0.5 * (b - last_b)[:q] @ (v + last_v)[:q]  # of the objective, since v is linear in β
            terms = np.abs(b[:q]) @ (np.abs(p.z[chosen]) + 0.5 * np.abs(p.z[chosen] - v[:q]))
            self.stalled = not fall > EPS * terms or gap <= self._rounding(b) or self._far_away(b)
            if self.stalled:
                break
        else:
            self._rounds = LOOK
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
        inexact = self._in_float32() or self._rounding(self.beta) > 0.1 * self.tol
        if not inexact or self._exact_at == self.steps:
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
                break
            near = 10 * wrong
        violation = self.slopes().violation
        self.stalled = violation > max(self.tol, 0.5 * self._corrected)
        self._corrected = violation
        return violation <= self.tol

    def _in_float32(self) -> bool:
        """Whether the kernel values are in float32 and could be in float64."""
        return isinstance(self.problem.rows, VectorRows) and self.problem.rows.dtype != np.float64

    def _rounding(self, beta: NDArray[np.float64]) -> float:
        """About the rounding error in float64 of v at β, or at the β of the working set."""
        return EPS * float(np.linalg.norm(beta)) * self._set.largest_square()

    def _far_away(self, beta: NDArray[np.float64]) -> bool:
        """Whether kernel values in float32 are too inexact for a β this large."""
        return self._in_float32() and EPS32 * self._rounding(beta) > EPS * float(np.abs(self.problem.z).max()) > 0.0

    def _look_at_errors(self, now: Slopes) -> None:
        """Corrects f of the rows that violate most; the solver stalls if its errors are as large as the violation."""
        top = largest(now.v, np.flatnonzero(now.grows), LOOKED_AT)
        bottom = largest(-now.v, np.flatnonzero(now.shrinks), LOOKED_AT)
        wrong = self._correct(np.unique(self.problem.row[np.concatenate([top, bottom])]))
        self._wrong = max(self._wrong, wrong)
        self.stalled, self._rounds = wrong >= now.violation, 0

    def continue_in_float64(self, first: NDArray[np.float64]) -> bool:
        """Replaces the rows by a copy in float64, and computes f anew; returns False if they cannot be replaced.

        `first` is the first β of the run: it is taken if its objective is better than that of the present one.
        """
        if not self._in_float32():
            return False
        rows = self.problem.rows
        assert isinstance(rows, VectorRows)
        wide, found = rows.astype(np.dtype(np.float64)), []
        for beta in (self.beta, first.copy()):
            f = np.zeros((len(self.f), 1))
            self._add(f, wide, np.flatnonzero(beta), beta)
            found.append((self._objective(beta, f[:, 0]), beta, f[:, 0]))
        _, self.beta, self.f = min(found, key=lambda one: one[0])  # a Ctrl-C before this leaves all as it was
        self.problem = self.problem._replace(rows=wide, gram=None)
        self._live, self._rows, self._which = None, wide, np.arange(len(self.f))
        self._set.restart(self.problem)
        self.stalled, self._missed, self._wrong, self._corrected = False, 0.0, 0.0, math.inf
        return True

    def make_objective_true(self) -> None:
        """Corrects f of all support vectors in float64 if its errors add up in the objective, as with a large C."""
        error = 0.5 * self._wrong * np.abs(self.beta).sum()
        if error > TRUE * abs(self.objective()):
            self._correct(np.unique(self.problem.row[self.beta != 0]))

    def _correct(self, rows: NDArray[np.int64]) -> float:
        """Computes the f of some rows in float64; returns the largest error that they had."""
        if len(rows) == 0:
            return 0.0
        f = np.zeros((len(rows), 1))
        step = _rows_in(COPY_BYTES, self.problem.rows)
        for start in range(0, len(rows), step):
            x = self.problem.rows[rows[start : start + step]]
            if isinstance(x, VectorRows):
                x = x.astype(np.dtype(np.float64))
            self._add(f[start : start + step], x, np.flatnonzero(self.beta), self.beta)
        wrong = float(np.abs(f[:, 0] - self.f[rows]).max())
        self.f[rows] = f[:, 0]
        return wrong


def _rows_in(size: int, rows: Rows) -> int:
    """How many rows fit into `size` bytes, with their indices if they are sparse, or in float64."""
    each = 2.0 * rows.stored_values.nbytes / len(rows) if isinstance(rows, VectorRows) else 8.0
    return max(64, int(size / max(each, 1.0)))
