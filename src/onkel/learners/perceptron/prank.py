"""PRank, the perceptron for ordinal regression: one direction w and k − 1 thresholds that divide it into k grades.

    predicted grade = the number of thresholds b_r with w·x − b_r ≥ 0
    if it is wrong:  τ_r = y_r where y_r (w·x − b_r) ≤ 0, else 0;    w ← w + (Σ τ_r) x,    b_r ← b_r − τ_r

The outputs of the learner are the thresholds: their scores are w·x − b_r, and the target y_r of an example is +1 if its
grade is above threshold r, else −1. The thresholds start at 0 and stay in ascending order, because all targets and
steps are ±1; weights would break that, so there are none.

`LinearPRankLearner` keeps w itself, `KernelPRankLearner` support vectors with their Σ τ_r. With the linear kernel both
make the same updates. Crammer and Singer 2001, Pranking with ranking.
"""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native
from onkel._core.transaction import Transaction
from onkel.kernels import Kernel, Linear
from onkel.kernels.rows import Rows
from onkel.kernels.vectors import VectorRows
from onkel.learners.counts import count_settings, read_counts
from onkel.learners.learner import ONE, Floats, Ints, LearnerBase, fill_chunk
from onkel.learners.ledger import Window
from onkel.learners.perceptron.primal import core_rows, most_rows, new_ledger
from onkel.learners.storage.support import Support
from onkel.models.expansion import Expansion
from onkel.models.linear import LinearModel
from onkel.states.state import Setting, State

__all__ = ["KernelPRankLearner", "LinearPRankLearner", "prank_steps"]

CHUNK = 256  # rows that are decided on one Gram matrix


def prank_steps(scores: Floats, targets: Floats) -> Floats:
    """The steps τ of one example, from its scores w·x − b and targets ±1, both (1, thresholds).

    A score of exactly 0 predicts the grade above the threshold. It is no mistake of a target +1, but moves the
    threshold if the predicted grade is wrong because of another one.
    """
    wrong = ((scores >= 0) != (targets > 0)).any()
    steps: Floats = np.where(wrong & (targets * scores <= 0), targets, 0.0)
    return steps


class _PRank(LearnerBase):
    """What the two forms share: the thresholds, the counts and the ledger.

    A mistake is an example whose grade was not predicted, and an update a step of a threshold.
    """

    KIND: ClassVar[str]
    VERSION: ClassVar[int] = 1
    STATE_COUNTS: ClassVar[tuple[str, ...]] = ("n_seen", "next_row_id", "n_mistakes")  # the ledger tells the updates
    BUILT_FROM: ClassVar[tuple[str, ...]] = ()

    def __init__(self, n_outputs: int) -> None:
        self.record, self.ledger = _native.Counts(), new_ledger()
        self.thresholds = np.zeros(n_outputs)

    @property
    def n_outputs(self) -> int:
        return len(self.thresholds)

    def change_outputs(self, output_map: Floats) -> None:
        """Changes the number of thresholds when a grade appears; w stays the same.

        `output_map` (old thresholds, new thresholds): 1 copies a threshold, a column of zeros starts one at 0. The
        ledger tells which steps were made, so the entries of a threshold that becomes two are those of the first.
        """
        self.thresholds = self.thresholds @ output_map
        if len(output_map):
            moved = np.zeros_like(output_map)
            moved[np.arange(len(output_map)), output_map.argmax(axis=1)] = 1.0
            self.ledger = self.ledger.remapped(moved)
            self.record.n_updates = len(self.ledger)

    def _state(self, settings: dict[str, Setting], arrays: dict[str, NDArray]) -> State:
        counts = count_settings(self.record, self.STATE_COUNTS)
        settings |= {"n_outputs": self.n_outputs, **counts, **self.ledger.settings()}
        arrays = {"thresholds": self.thresholds.copy(), **arrays, **self.ledger.arrays("ledger/")}
        return State(self.KIND, self.VERSION, settings, arrays)

    def _read(self, state: State) -> None:
        """Takes thresholds, counts and ledger from a state."""
        n_outputs = state.count("n_outputs")
        self.thresholds = np.array(state.array("thresholds", np.float64, (n_outputs,)))
        read_counts(state, self.record, self.STATE_COUNTS)
        self.ledger = Window.of_state(state, "ledger/", n_outputs, self.n_seen)
        self.record.n_updates = len(self.ledger)


class LinearPRankLearner(_PRank):
    """PRank with the weight vector w itself, on dense or CSR rows.

    The core changes w, thresholds, counts and ledger in place, in a native call that holds the GIL.

    Parameters
    ----------
    n_features, n_outputs : the numbers of features and of thresholds.
    """

    KIND = "learner/linear-prank"
    CHANGES: ClassVar[tuple[str, ...]] = ("record", "ledger", "thresholds", "w")
    kernel: ClassVar[Kernel] = Linear()  # which w·x is

    def __init__(self, n_features: int, n_outputs: int) -> None:
        super().__init__(n_outputs)
        self.w = np.zeros(n_features)

    @property
    def n_features(self) -> int:
        return len(self.w)

    def scores(self, rows: Rows) -> Floats:
        """w·x − b_r of each row, (n, thresholds)."""
        assert isinstance(rows, VectorRows)
        return np.asarray(rows.matrix @ self.w)[:, None] - self.thresholds

    def scorer(self) -> LinearModel:
        """w·x as a frozen model of one output; the thresholds belong to the decision."""
        return LinearModel(self.w[None, :].copy(), np.zeros(1))

    def add_features(self, n_features: int, *, sparse: bool = False) -> None:
        """Increases the number of features to `n_features`; w is 0 in the new ones, and dense in any case."""
        w = np.zeros(n_features)
        w[: len(self.w)] = self.w
        self.w = w

    def features_in_use(self, n_features: int) -> NDArray[np.bool_]:
        """Which of the features have a weight."""
        return np.asarray(self.w != 0)

    def end_epoch(self) -> None:
        """Does nothing: there are no support vectors to merge."""

    def learn(self, rows: Rows, targets: Floats, weights: Floats, row_ids: Ints) -> Floats:
        """Learns from the examples one by one, and returns the scores of each before it was learned, (n, thresholds).

        `targets` (n, thresholds) are ±1 and fall from left to right; `weights` are ignored; `row_ids` (n,) are the
        ids of the rows.
        """
        assert isinstance(rows, VectorRows)
        (data, indptr, indices), F = core_rows(rows), np.empty(targets.shape)
        entries, n_entries = self.ledger.core_view(len(rows) * self.n_outputs)
        # fmt: off
        _native.prank_primal_pass(
            data, indptr, indices, targets, row_ids, self.w, self.thresholds, self.record,
            entries, n_entries, F,
        )
        # fmt: on
        return F

    def part_size(self, rows: Rows, most: int) -> int:
        """How many examples the next part of a chunk should have, at most `most`."""
        assert isinstance(rows, VectorRows)
        return min(most, most_rows(rows.n_features + self.n_outputs))

    def learn_one(self, row: Rows, target: Floats) -> None:
        """Learns from one example, target (1, thresholds)."""
        self.learn(row, target, ONE, np.array([self.next_row_id]))

    def state(self) -> State:
        """Everything the learner knows, as named values and arrays."""
        return self._state({"n_features": len(self.w)}, {"w": self.w.copy()})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The learner of a state; it learns on exactly as the one that gave it."""
        state.expect(cls.KIND, cls.VERSION)
        learner = cls(0, 0)
        learner._read(state)
        learner.w = np.array(state.array("w", np.float64, (state.count("n_features"),)))
        return learner


class KernelPRankLearner(_PRank):
    """PRank with any kernel: w = Σ (Σ_r τ_r) φ(x) over the examples with an update.

    An example whose steps sum to 0 moves thresholds, but is no support vector.

    Parameters
    ----------
    kernel, n_outputs : the kernel, and the number of thresholds.
    """

    KIND = "learner/kernel-prank"
    CHANGES: ClassVar[tuple[str, ...]] = ("record", "ledger", "thresholds", "support")

    def __init__(self, kernel: Kernel, n_outputs: int) -> None:
        super().__init__(n_outputs)
        self.kernel, self.support = kernel, Support(1)

    def scores(self, rows: Rows) -> Floats:
        """w·φ(x) − b_r of each row, (n, thresholds)."""
        return self._direction(rows) - self.thresholds

    def _direction(self, rows: Rows) -> Floats:
        """w·φ(x) of each row, (n, 1)."""
        out = np.zeros((len(rows), 1))
        self.support.add_scores(self.kernel, rows, self.support.coef, out)
        return out

    def scorer(self) -> Expansion:
        """w·φ(x) as a frozen model of one output, the support vectors in the order of their row ids."""
        order = np.argsort(self.support.row_ids)
        rows, row_ids = self.support.rows_in(order), self.support.row_ids[order]
        return Expansion(self.kernel, rows, row_ids, self.support.coef[order], np.zeros(1))

    def add_features(self, n_features: int, *, sparse: bool = False) -> None:
        """Increases the number of features to `n_features`; everything learned so far is 0 in the new ones."""
        self.support.add_features(n_features, sparse=sparse)

    def features_in_use(self, n_features: int) -> NDArray[np.bool_]:
        """Which of the features some support vector has."""
        return self.support.features_in_use(n_features)

    def end_epoch(self) -> None:
        """Merges the support vectors that are the same row, learned in several epochs."""
        self.support = self.support.merged()

    def learn(self, rows: Rows, targets: Floats, weights: Floats, row_ids: Ints) -> Floats:
        """Learns from the examples one by one, and returns the scores of each before it was learned, (n, thresholds).

        `targets` (n, thresholds) are ±1 and fall from left to right; `weights` are ignored; `row_ids` (n,) are the
        ids of the rows.
        """
        f, thresholds = self._direction(rows), self.thresholds.copy()
        F, steps, mistakes = f - thresholds, np.zeros(targets.shape), 0
        wrong = ((F >= 0) != (targets > 0)).any(axis=1)
        if wrong.any():  # nothing changes before the first mistake, so only the rows from there on need kernel values
            rest = slice(int(wrong.argmax()), len(rows))
            x = rows[rest]
            K, sums = np.empty((len(x), len(x)), dtype=x.dtype), np.empty(len(x))
            fill_chunk(self.kernel, x, K)
            inner = np.ascontiguousarray(f[rest, 0])
            mistakes = _native.prank_dual_pass(K, targets[rest], inner, thresholds, steps[rest], sums, F[rest])
        self._commit(rows, steps, mistakes, thresholds, row_ids)
        return F

    def part_size(self, rows: Rows, most: int) -> int:
        """How many examples the next part of a chunk should have, at most `most`."""
        return min(CHUNK, most)

    def learn_one(self, row: Rows, target: Floats) -> None:
        """Learns from one example, target (1, thresholds), without the overhead of chunks."""
        steps = prank_steps(self.scores(row), target)
        self._commit(row, steps, int(steps.any()), self.thresholds - steps[0], np.array([self.next_row_id]))

    def _commit(self, part: Rows, steps: Floats, mistakes: int, thresholds: Floats, row_ids: Ints) -> None:
        """Puts what was decided on a part in place: steps (n, thresholds), the mistakes and the new thresholds."""
        record = self.record.copy()
        record.add(len(part), row_ids.max(), mistakes, int(np.count_nonzero(steps)))
        with Transaction() as change:
            if mistakes:
                self.ledger.add(steps, self.n_seen + 1 + np.arange(len(part)), row_ids, change)
                coef = steps.sum(axis=1, keepdims=True)
                turned = np.flatnonzero(coef)
                if len(turned):
                    moment = np.zeros((len(turned), 1))  # only averages need it
                    self.support.add(part[turned], coef[turned], moment, row_ids[turned], change)
            change.set(self, thresholds=thresholds, record=record)

    def state(self) -> State:
        """Everything the learner knows, as named values and arrays."""
        return self._state({"kernel": self.kernel}, {}).with_part("support", self.support.state())

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The learner of a state; it learns on exactly as the one that gave it."""
        state.expect(cls.KIND, cls.VERSION)
        learner = cls(state.kernel(), 0)
        learner._read(state)
        learner.support = Support.from_state(state.part("support"), learner.kernel, 1)
        return learner
