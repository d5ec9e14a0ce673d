"""The kernel perceptron on a stream: an ordered ledger of mistakes over support vectors.

A mistake-driven learner is the sum of the examples it got wrong, v = Σ step · φ(x), so the ordered list of its mistakes
says everything: the hypothesis of any earlier round is the sum of a prefix of it.

A chunk of examples is learned in two steps: its scores under the present hypothesis are computed at once, and then the
decisions are made one by one (`decide`) on the small Gram matrix of the chunk. Epochs over a data set that is known
from the start are faster with `onkel.learners.perceptron.kernel_epochs`.
"""

from __future__ import annotations

from typing import ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native
from onkel._core.transaction import Transaction
from onkel.kernels import Kernel
from onkel.kernels.rows import Rows
from onkel.kernels.tiles import fill
from onkel.learners.counts import count_settings, read_counts
from onkel.learners.learner import Floats, Ints, LearnerBase
from onkel.learners.ledger import Ledger
from onkel.learners.rules import is_mistake
from onkel.learners.storage.support import Support
from onkel.models.expansion import Expansion
from onkel.models.vote import Vote, vote_weights
from onkel.states.state import Setting, State

__all__ = ["CHUNK", "PANEL", "Hypothesis", "KernelPerceptronLearner", "decide"]

Hypothesis = Literal["averaged", "voted", "last", "random", "best"]

PANEL = 32  # products are fastest with a multiple of this many support vectors
CHUNK = 256  # rows that are decided on one Gram matrix


def decide(
    kernel: Kernel,
    x: Rows,
    y: NDArray[np.int8],
    w: Floats,
    bias: float,
    scores: Floats,
    offsets: Floats,
    sq_norms: Floats,
    lengths: Floats | None = None,
) -> tuple[Floats, NDArray[np.intp]]:
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
    scores : (outputs, b), those of the hypothesis before the chunk, without the offset. They are updated in place: at
        the end, those of each row, with the offset, before it was learned.
    offsets : the offset of each output, (outputs,), updated in place. It is kept apart from the scores, in which small
        kernel values would be lost beside 1.
    sq_norms : ‖v‖² of each output, (outputs,), updated in place.
    lengths : ‖φ(x)‖ of each row, (b,): "closest" is then measured by y f / ‖φ(x)‖. None (default): by y f.
    """
    b = len(x)
    steps, K = np.empty(y.shape), np.empty((0, b), dtype=x.dtype)
    row_of_K = np.full(b, -1)  # the row of K that holds the kernel values of a row of the chunk, or −1
    held = stop = calls = 0
    while True:
        margin = np.empty(b - stop)
        wrong = _native.least_margins(row_of_K, stop, y, scores, offsets, lengths, margin)
        if wrong > b // 8 or calls > 8:  # many, or new ones again and again: compute all that are missing
            needed = np.flatnonzero(row_of_K[stop:] < 0)
        else:
            needed = _nearest(margin, wrong)
        if len(needed):
            before, held = held, held + len(needed)
            if held > len(K):
                old, K = K, np.empty((min(b, max(held, 2 * len(K), b // 8)), b), dtype=x.dtype)
                K[:before] = old[:before]
            row_of_K[stop + needed] = np.arange(before, held)
            _fill_rows(kernel, x, stop + needed, K[before:held])
        stop = _native.perceptron_pass(K, row_of_K, stop, y, w, bias, scores, offsets, steps, sq_norms)
        if stop == b:
            met = np.flatnonzero(row_of_K >= 0)  # only these rows can be mistakes
            return steps, met[steps[met].any(axis=1)]
        calls += 1


def _nearest(margin: Floats, wrong: int) -> Ints:
    """The `wrong` rows that are mistakes at present, and as many of the next smallest margins as fill whole panels."""
    if wrong == 0:
        return np.empty(0, dtype=np.int64)
    count = min(-(-wrong // PANEL) * PANEL, len(margin))
    near = np.sort(np.argpartition(margin, count - 1)[:count])
    return near[margin[near] < np.inf]


def _fill_rows(kernel: Kernel, x: Rows, some: Ints, out: NDArray) -> None:
    """out = k(x[some], x), for ascending `some`; the columns before some[0] are never read and may stay empty."""
    if len(x) == 1:
        out[...] = kernel.inner.diagonal(x)
    elif len(some) == len(x):
        fill(kernel, x, x, out)
    else:
        fill(kernel, x[some[0] :], x[some], out[:, some[0] :].T)


class KernelPerceptronLearner(LearnerBase):
    """The kernel perceptron on a stream; it can be asked for scores and learn more at any time.

    Parameters
    ----------
    kernel, n_outputs : the kernel, and the number of outputs.
    bias : 1 to learn an offset, which makes the kernel k + 1; else 0.
    """

    UPDATES_ARE_MISTAKES = True
    KIND: ClassVar[str] = "learner/kernel-perceptron"
    VERSION: ClassVar[int] = 1
    HYPOTHESES: ClassVar[tuple[str, ...]] = ("averaged", "voted", "last", "random", "best")
    STATE_COUNTS: ClassVar[tuple[str, ...]] = ("n_seen", "next_row_id")  # the ledger tells the others
    CHANGES: ClassVar[tuple[str, ...]] = ("record", "ledger", "support", "sq_norms", "n_outputs")
    BUILT_FROM: ClassVar[tuple[str, ...]] = ("bias",)

    def __init__(self, kernel: Kernel, n_outputs: int, bias: float) -> None:
        self.kernel, self.n_outputs, self.bias = kernel, n_outputs, float(bias)
        self.ledger, self.support = Ledger(), Support(n_outputs)
        self.sq_norms = np.zeros(n_outputs)  # ‖v‖² of each output
        self.record = _native.Counts()

    @property
    def version(self) -> int:
        return len(self.ledger)

    # ---------------------------------------------------------------- what was learned

    def averaged(self) -> Floats:
        """The coefficients of the average hypothesis: a step of round r is in the hypotheses of R − r of R rounds."""
        averaged = self.support.moment / -max(self.record.n_seen, 1)
        averaged += self.support.coef
        return averaged

    def guess_at(self, rounds: Ints) -> Floats:
        """The coefficients (m, outputs) of the hypothesis of each output o in round rounds[o]: its updates before."""
        entries, row_ids = self.ledger.entries, self.support.row_ids
        entries = entries[entries["round"] < rounds[entries["class"]]]
        order = np.argsort(row_ids)
        vector = order[np.searchsorted(row_ids, entries["row"], sorter=order)]
        coef = np.zeros((len(row_ids), self.n_outputs))
        np.add.at(coef, (vector, entries["class"]), entries["step"])
        return coef

    def hypothesis(self, which: Hypothesis, draw: float = 0.0) -> Floats:
        """The coefficients (m, outputs) of a hypothesis, in the order of the support.

        `which` is "last", "averaged", "best" (the guess that was used longest) or "random", the guess of round
        1 + draw · n_seen; the vote of all guesses has no coefficients.
        """
        if which == "last":
            return self.support.coef
        if which == "averaged":
            return self.averaged()
        if which == "random":
            return self.guess_at(np.full(self.n_outputs, 1 + int(draw * self.n_seen)))
        if which == "best":
            return self.guess_at(np.array([self.ledger.end_of_longest(o, self.n_seen) for o in range(self.n_outputs)]))
        raise AttributeError("a vote of all guesses has no coefficients of its own; ask for its scorer")

    def scores(self, rows: Rows, coef: Floats | None = None) -> Floats:
        """The scores (n, outputs) of the current hypothesis or, if given, with other coefficients (m, outputs)."""
        coef = self.support.coef if coef is None else coef
        out = self._kernel_scores(rows, coef)
        if self.bias:
            out += self.bias * coef.sum(axis=0)
        return out

    def _kernel_scores(self, rows: Rows, coef: Floats) -> Floats:
        """The scores without the offset."""
        out = np.zeros((len(rows), self.n_outputs))
        self.support.add_scores(self.kernel, rows, coef, out)
        return out

    def scorer(self, which: Hypothesis = "last", draw: float = 0.0) -> Expansion | Vote:
        """A hypothesis as a frozen model, the support vectors in the order of their row ids; see `hypothesis`."""
        order = np.argsort(self.support.row_ids)
        rows, row_ids = self.support.rows_in(order), self.support.row_ids[order]
        if which != "voted":
            coef = self.hypothesis(which, draw)
            return Expansion(self.kernel, rows, row_ids, coef[order], self.bias * coef.sum(axis=0))
        entries = self.ledger.entries
        start, weight = vote_weights(entries["round"], entries["class"], self.n_outputs, self.n_seen)
        vector, output, step = np.searchsorted(row_ids, entries["row"]), entries["class"].copy(), entries["step"].copy()
        return Vote(self.kernel, rows, row_ids, vector, output, step, weight, start, self.bias)

    # ---------------------------------------------------------------- changes

    def change_outputs(self, output_map: Floats) -> None:
        """Changes the number of outputs when a class appears.

        `output_map` (old outputs, new outputs): 1 copies an output, −1 mirrors it, a column of zeros starts one at 0.
        """
        self.support.change_outputs(output_map)
        self.sq_norms = self.sq_norms @ np.abs(output_map)
        before, self.ledger = len(self.ledger), self.ledger.remapped(output_map)
        self.record.add(0, -1, len(self.ledger) - before, len(self.ledger) - before)
        self.n_outputs = output_map.shape[1]

    def add_features(self, n_features: int, *, sparse: bool = False) -> None:
        """Increases the number of features to `n_features`; everything learned so far is 0 in the new ones."""
        self.support.add_features(n_features, sparse=sparse)

    def features_in_use(self, n_features: int) -> NDArray[np.bool_]:
        """Which of the features some support vector has."""
        return self.support.features_in_use(n_features)

    def end_epoch(self) -> None:
        """Merges the support vectors that are the same row, learned in several epochs."""
        self.support = self.support.merged()

    # ---------------------------------------------------------------- learning

    def learn(self, rows: Rows, targets: Floats, weights: Floats, row_ids: Ints) -> Floats:
        """Learns from the examples one by one, and returns the score of each before it was learned, (n, outputs).

        `targets` (n, outputs) are ±1; `weights` (n,) > 0 the sample weights; `row_ids` (n,) the ids of the rows.
        """
        coef, sq_norms = self.support.coef, self.sq_norms.copy()
        scores, offsets = np.ascontiguousarray(self._kernel_scores(rows, coef).T), self.bias * coef.sum(axis=0)
        signs = targets.astype(np.int8)
        steps, erred = decide(self.kernel, rows, signs, weights, self.bias, scores, offsets, sq_norms)
        self._commit(rows, steps, erred, row_ids, sq_norms)
        return np.ascontiguousarray(scores.T)

    def part_size(self, rows: Rows, most: int) -> int:
        """How many examples the next part of a chunk should have, at most `most`."""
        return min(CHUNK, most)

    def learn_one(self, row: Rows, target: Floats) -> None:
        """Learns from one example of weight 1, target (1, outputs), without the overhead of chunks."""
        f = self.scores(row)
        alone = self.n_outputs == 1  # whose score is compared as a number, which is faster
        erred = is_mistake(f.item(), target.item()) if alone else is_mistake(f, target)
        if not (erred if alone else erred.any()):
            self.record.count_next()
            return
        record = self.record.copy()
        row_id, n_seen, n_erred = record.count_next(), record.n_seen, 1 if alone else int(erred.sum())
        record.add(0, row_id, n_erred, n_erred)
        steps = target if alone else np.where(erred, target, 0.0)
        length = float(self.kernel.inner.diagonal(row)[0]) + self.bias
        sq_norms = self.sq_norms + (2 * steps * f + steps * steps * length)[0]
        with Transaction() as change:
            self.ledger.add_one(steps, n_seen, row_id, change)
            self.support.add(row, steps, steps * n_seen, np.array([row_id]), change)
            change.set(self, sq_norms=sq_norms, record=record)

    def _commit(self, part: Rows, steps: Floats, erred: NDArray[np.intp], row_ids: Ints, sq_norms: Floats) -> None:
        """Puts what was decided on a part in place: steps (b, outputs), and the rows `erred` where any is not 0."""
        record, n_steps = self.record.copy(), int(np.count_nonzero(steps))
        record.add(len(part), row_ids.max(), n_steps, n_steps)
        with Transaction() as change:
            if len(erred):
                new = part[erred] if len(erred) < len(part) else part
                new_steps, rounds, new_ids = steps[erred], self.n_seen + 1 + erred, row_ids[erred]
                self.ledger.add(new_steps, rounds, new_ids, change)
                self.support.add(new, new_steps, new_steps * rounds[:, None], new_ids, change)
            change.set(self, sq_norms=sq_norms, record=record)

    # ---------------------------------------------------------------- state

    def state(self) -> State:
        """Everything the learner knows, as named values and arrays."""
        settings: dict[str, Setting] = {"kernel": self.kernel, "bias": self.bias}
        settings |= count_settings(self.record, self.STATE_COUNTS)
        arrays = {"sq_norms": self.sq_norms.copy(), **self.ledger.arrays("ledger/")}
        return State(self.KIND, self.VERSION, settings, arrays).with_part("support", self.support.state())

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The learner of a state; it learns on exactly as the one that gave it."""
        state.expect(cls.KIND, cls.VERSION)
        sq_norms = np.array(state.array("sq_norms", np.float64, (None,)))
        learner = cls._untaught(state, len(sq_norms))
        state.check(len(sq_norms) == learner.n_outputs >= 1, "'sq_norms' must have a number for each output")
        learner.support = Support.from_state(state.part("support"), learner.kernel, len(sq_norms))
        learner.sq_norms = sq_norms
        read_counts(state, learner.record, cls.STATE_COUNTS)
        learner.ledger = Ledger.of_state(state, "ledger/", len(sq_norms), learner.n_seen)
        learner._count_updates(state)
        known = np.isin(learner.ledger.entries["row"], learner.support.row_ids).all()
        state.check(known, "the rows of the ledger must be support vectors")
        return learner

    @classmethod
    def _untaught(cls, state: State, n_outputs: int) -> Self:
        """A new learner with the settings of a state."""
        return cls(state.kernel(), n_outputs, state.setting("bias", float, at_least=0))

    def _count_updates(self, state: State) -> None:
        """Takes from a state, or counts, the mistakes and updates; every entry of the ledger is both."""
        self.record.n_mistakes = self.record.n_updates = len(self.ledger)
