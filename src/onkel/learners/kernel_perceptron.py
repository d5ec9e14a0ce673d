"""The kernel perceptron on a stream: an ordered ledger of mistakes over support vectors.

A mistake-driven learner is the sum of the examples it got wrong, v = Σ step · φ(x), so the list of its mistakes in
order is all there is: every earlier guess is a prefix of it.

A chunk of examples is learned in two steps: its scores under the present guess are computed at once, and then the
decisions are made one by one (`decide`) on the small Gram matrix of the chunk.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native
from onkel.kernels import Kernel
from onkel.kernels.rows import Rows
from onkel.kernels.tiles import fill
from onkel.learners.ledger import Ledger
from onkel.learners.support import Support

__all__ = ["CHUNK", "PANEL", "KernelPerceptronLearner", "decide"]

PANEL = 32  # support vectors of a product come in multiples of this where they can
CHUNK = 256  # rows that are decided on one Gram matrix,


def decide(
    kernel: Kernel,
    x: Rows,
    y: NDArray[np.int8],
    w: NDArray[np.float64],
    bias: float,
    scores: NDArray[np.float64],
    sq_norms: NDArray[np.float64],
    lengths: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
    """The perceptron's decisions on a chunk, one by one: the steps (b, outputs) it took, and the rows it erred on.

    `scores` (outputs, b) are those of the guess before the chunk; they and `sq_norms`, the outputs'
    ‖v‖², are brought up to date. `lengths` are the rows' ‖φ(x)‖, where they are not alike.
    """
    b = len(x)
    steps, K = np.empty(y.shape), np.empty((0, b), dtype=x.dtype)
    place = np.full(b, -1)  # which row of K holds the kernel values of a row of the chunk
    held = stop = calls = 0
    while True:
        margin = np.empty(b - stop)
        wrong = _native.least_margins(place, stop, y, scores, lengths, margin)
        if wrong > b // 8 or calls > 8:  # many, or ever new ones: better have them all
            needed = np.flatnonzero(place[stop:] < 0)
        else:
            needed = _nearest(margin, wrong)
        if len(needed):
            before, held = held, held + len(needed)
            if held > len(K):
                old, K = K, np.empty((min(b, max(held, 2 * len(K), b // 8)), b), dtype=x.dtype)
                K[:before] = old[:before]
            place[stop + needed] = np.arange(before, held)
            _fill_rows(kernel, x, stop + needed, K[before:held])
        stop = _native.perceptron_pass(K, place, stop, y, w, bias, scores, steps, sq_norms)
        if stop == b:
            met = np.flatnonzero(place >= 0)  # only they can have erred
            return steps, met[steps[met].any(axis=1)]
        calls += 1


def _nearest(margin: NDArray[np.float64], wrong: int) -> NDArray[np.int64]:
    """The rows that err as things are, and those next to erring: a product comes in whole panels."""
    if wrong == 0:
        return np.empty(0, dtype=np.int64)
    count = min(-(-wrong // PANEL) * PANEL, len(margin))
    near = np.sort(np.argpartition(margin, count - 1)[:count])
    return near[margin[near] < np.inf]


def _fill_rows(kernel: Kernel, x: Rows, some: NDArray[np.int64], out: NDArray) -> None:
    """out = k(x[some], x), but for the rows of x that come before all of them."""
    if len(x) == 1:
        out[...] = kernel._diag(x)
    elif len(some) == len(x):
        fill(kernel, x, x, out)
    else:
        fill(kernel, x[some[0] :], x[some], out[:, some[0] :].T)


class KernelPerceptronLearner:
    """A learner that has seen some of a stream and goes on.

    `rounds` counts the examples it was used on, of all epochs.
    """

    def __init__(self, kernel: Kernel, n_outputs: int, bias: float) -> None:
        self.kernel, self.n_outputs, self.bias = kernel, n_outputs, bias
        self.ledger, self.support = Ledger(), Support(n_outputs)
        self.sq_norms = np.zeros(n_outputs)  # ‖v‖² of each output
        self.rounds = 0
        self.model: tuple[Any, Any] | None = None  # what the estimator last made of this state, and which it was

    def change_outputs(self, output_map: NDArray[np.float64]) -> None:
        """New outputs that are copies, mirror images or zeros: each column of (old, new) says which."""
        self.support.change_outputs(output_map)
        self.sq_norms = self.sq_norms @ np.abs(output_map)
        self.ledger = self.ledger.remapped(output_map)
        self.n_outputs = output_map.shape[1]

    def add_features(self, n_features: int) -> None:
        """More features, in which all that was learned is 0."""
        self.support.add_features(n_features)
        self.model = None

    def savepoint(self) -> Any:
        """What `rollback` needs to undo all learning from now on."""
        return (
            self.n_outputs,
            self.rounds,
            self.sq_norms.copy(),
            self.ledger,
            len(self.ledger),
            self.support.savepoint(),
        )

    def rollback(self, savepoint: Any) -> None:
        self.n_outputs, self.rounds, self.sq_norms, self.ledger, count, support = savepoint
        self.ledger.truncate(count)
        self.support.rollback(support)

    def end_epoch(self) -> None:
        """Makes one support vector of those that are the same row, met in several epochs."""
        self.support.end_epoch()

    def averaged(self) -> NDArray[np.float64]:
        """The coefficients of Σ_k m_k v_k / m: a step of round r is in the guess of R − r of the R rounds."""
        return self.support.coef - self.support.moment / max(self.rounds, 1)

    def guess_at(self, rounds: NDArray[np.int64]) -> NDArray[np.float64]:
        """The coefficients of each output's guess in a round: the updates before it."""
        entries, row_ids = self.ledger.entries, self.support.row_ids
        entries = entries[entries["round"] < rounds[entries["class"]]]
        order = np.argsort(row_ids)
        place = order[np.searchsorted(row_ids, entries["row"], sorter=order)]
        coef = np.zeros((len(row_ids), self.n_outputs))
        np.add.at(coef, (place, entries["class"]), entries["step"])
        return coef

    def scores(self, x: Rows, coef: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """(n, outputs) under the current guess, or with other coefficients."""
        coef = self.support.coef if coef is None else coef
        out = np.zeros((len(x), self.n_outputs))
        self.support.add_scores(self.kernel, x, coef, out)
        if self.bias:
            out += self.bias * coef.sum(axis=0)
        return out

    def learn(self, x: Rows, y: NDArray[np.int8], w: NDArray[np.float64], row_ids: NDArray[np.int64]) -> None:
        """A chunk of examples, one by one: y (n, outputs), w and the ids of the rows (n,)."""
        for start in range(0, len(x), CHUNK):
            where = slice(start, start + CHUNK)
            part = x[where] if len(x) > CHUNK else x
            scores = np.ascontiguousarray(self.scores(part).T)
            steps, erred = decide(self.kernel, part, y[where], w[where], self.bias, scores, self.sq_norms)
            if len(erred):
                new = part[erred] if len(erred) < len(part) else part
                steps, rounds, which = steps[erred], self.rounds + 1 + erred, row_ids[where][erred]
                self.ledger.add(steps, rounds, which)
                self.support.add(new, steps, steps * rounds[:, None], which)
            self.rounds += len(part)

    def learn_one(self, x: Rows, y: NDArray[np.float64], row_id: int) -> None:
        """One example of weight 1, y (1, outputs), without the machinery of chunks."""
        self.rounds += 1
        f = self.scores(x)
        if self.n_outputs == 1 and y[0, 0] * f[0, 0] > 0:
            return
        erred = (y * f <= 0) & (y != 0)
        if not erred.any():
            return
        steps = np.where(erred, y, 0.0)
        length = float(self.kernel._diag(x)[0]) + self.bias
        self.sq_norms += (2 * steps * f + steps * steps * length)[0]
        self.ledger.add_one(steps, self.rounds, row_id)
        self.support.add(x, steps, steps * self.rounds, np.array([row_id]))
