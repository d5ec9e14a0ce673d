"""The kernel perceptron on a stream: an ordered ledger of mistakes over support vectors.

A mistake-driven learner is the sum of the examples it got wrong, v = Σ step · φ(x), so the ordered list of its mistakes
says everything: the hypothesis of any earlier round is the sum of a prefix of it.

A chunk of examples is learned in two steps: its scores under the present hypothesis are computed at once, and then the
decisions are made one by one (`decide`) on the small Gram matrix of the chunk. Epochs over a data set that is known
from the start are faster with `onkel.learners.kernel_perceptron_epochs`.
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

PANEL = 32  # products are fastest with a multiple of this many support vectors
CHUNK = 256  # rows that are decided on one Gram matrix


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
    """The perceptron's decisions on the b rows of a chunk, one by one.

    Returns the steps (b, outputs), w y at a mistake of the output and else 0, and the rows on which some output made a
    mistake. Only these rows need their kernel values with the chunk. They are computed for the rows that are mistakes
    at present and for those closest to becoming one; the pass in the core stops when it needs others.

    Parameters
    ----------
    kernel, x : the kernel, and the rows of the chunk.
    y : targets (b, outputs), ±1, or 0 where an output ignores the row.
    w : sample weights (b,), > 0.
    bias : 1 to learn an offset, which makes the kernel k + 1; else 0.
    scores : (outputs, b), those of the hypothesis before the chunk. After a mistake the scores of the later rows are
        updated in place.
    sq_norms : ‖v‖² of each output, (outputs,), updated in place.
    lengths : ‖φ(x)‖ of each row, (b,): "closest" is then measured by y f / ‖φ(x)‖. None (default): by y f.
    """
    b = len(x)
    steps, K = np.empty(y.shape), np.empty((0, b), dtype=x.dtype)
    place = np.full(b, -1)  # the row of K that holds the kernel values of a row of the chunk, or −1
    held = stop = calls = 0
    while True:
        margin = np.empty(b - stop)
        wrong = _native.least_margins(place, stop, y, scores, lengths, margin)
        if wrong > b // 8 or calls > 8:  # many, or new ones again and again: compute all that are missing
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
            met = np.flatnonzero(place >= 0)  # only these rows can be mistakes
            return steps, met[steps[met].any(axis=1)]
        calls += 1


def _nearest(margin: NDArray[np.float64], wrong: int) -> NDArray[np.int64]:
    """The `wrong` rows that are mistakes at present, and as many of the next smallest margins as fill whole panels."""
    if wrong == 0:
        return np.empty(0, dtype=np.int64)
    count = min(-(-wrong // PANEL) * PANEL, len(margin))
    near = np.sort(np.argpartition(margin, count - 1)[:count])
    return near[margin[near] < np.inf]


def _fill_rows(kernel: Kernel, x: Rows, some: NDArray[np.int64], out: NDArray) -> None:
    """out = k(x[some], x), for ascending `some`; the columns before some[0] are never read and may stay empty."""
    if len(x) == 1:
        out[...] = kernel._diag(x)
    elif len(some) == len(x):
        fill(kernel, x, x, out)
    else:
        fill(kernel, x[some[0] :], x[some], out[:, some[0] :].T)


class KernelPerceptronLearner:
    """The kernel perceptron on a stream; it can be asked for scores and learn more at any time.

    `bias` is 1 to learn an offset, which makes the kernel k + 1, else 0. `rounds` counts the examples visited so far,
    over all epochs.
    """

    def __init__(self, kernel: Kernel, n_outputs: int, bias: float) -> None:
        self.kernel, self.n_outputs, self.bias = kernel, n_outputs, bias
        self.ledger, self.support = Ledger(), Support(n_outputs)
        self.sq_norms = np.zeros(n_outputs)  # ‖v‖² of each output
        self.rounds = 0
        self.model: tuple[Any, Any] | None = (
            None  # the model that the estimator last made, and the state that it made it from
        )

    def change_outputs(self, output_map: NDArray[np.float64]) -> None:
        """Changes the number of outputs when a class appears.

        `output_map` (old outputs, new outputs): 1 copies an output, −1 mirrors it, a column of zeros starts one at 0.
        """
        self.support.change_outputs(output_map)
        self.sq_norms = self.sq_norms @ np.abs(output_map)
        self.ledger = self.ledger.remapped(output_map)
        self.n_outputs = output_map.shape[1]

    def add_features(self, n_features: int) -> None:
        """Increases the number of features to `n_features`; everything learned so far is 0 in the new ones."""
        self.support.add_features(n_features)
        self.model = None

    def savepoint(self) -> Any:
        """The present state, as `rollback` takes it."""
        return (
            self.n_outputs,
            self.rounds,
            self.sq_norms.copy(),
            self.ledger,
            len(self.ledger),
            self.support.savepoint(),
        )

    def rollback(self, savepoint: Any) -> None:
        """Undoes all changes since the savepoint was made."""
        self.n_outputs, self.rounds, self.sq_norms, self.ledger, count, support = savepoint
        self.ledger.truncate(count)
        self.support.rollback(support)

    def end_epoch(self) -> None:
        """Merges the support vectors that are the same row, learned in several epochs."""
        self.support.end_epoch()

    def averaged(self) -> NDArray[np.float64]:
        """The coefficients of the average hypothesis: a step of round r is in the hypotheses of R − r of R rounds."""
        return self.support.coef - self.support.moment / max(self.rounds, 1)

    def guess_at(self, rounds: NDArray[np.int64]) -> NDArray[np.float64]:
        """The coefficients (m, outputs) of the hypothesis of each output o in round rounds[o]: its updates before."""
        entries, row_ids = self.ledger.entries, self.support.row_ids
        entries = entries[entries["round"] < rounds[entries["class"]]]
        order = np.argsort(row_ids)
        place = order[np.searchsorted(row_ids, entries["row"], sorter=order)]
        coef = np.zeros((len(row_ids), self.n_outputs))
        np.add.at(coef, (place, entries["class"]), entries["step"])
        return coef

    def scores(self, x: Rows, coef: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """The scores (n, outputs) of the current hypothesis or, if given, with other coefficients (m, outputs)."""
        coef = self.support.coef if coef is None else coef
        out = np.zeros((len(x), self.n_outputs))
        self.support.add_scores(self.kernel, x, coef, out)
        if self.bias:
            out += self.bias * coef.sum(axis=0)
        return out

    def learn(self, x: Rows, y: NDArray[np.int8], w: NDArray[np.float64], row_ids: NDArray[np.int64]) -> None:
        """Learns from the examples one by one.

        y (n, outputs) are the targets, ±1, or 0 where an output ignores the example; w (n,) > 0 the sample weights;
        `row_ids` (n,) the ids of the rows.
        """
        for start in range(0, len(x), CHUNK):
            chunk = slice(start, start + CHUNK)
            part = x[chunk] if len(x) > CHUNK else x
            scores = np.ascontiguousarray(self.scores(part).T)
            steps, erred = decide(self.kernel, part, y[chunk], w[chunk], self.bias, scores, self.sq_norms)
            if len(erred):
                new = part[erred] if len(erred) < len(part) else part
                steps, rounds, new_ids = steps[erred], self.rounds + 1 + erred, row_ids[chunk][erred]
                self.ledger.add(steps, rounds, new_ids)
                self.support.add(new, steps, steps * rounds[:, None], new_ids)
            self.rounds += len(part)

    def learn_one(self, x: Rows, y: NDArray[np.float64], row_id: int) -> None:
        """Learns from one example of weight 1, y (1, outputs), without the overhead of chunks."""
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
