"""The perceptron in its primal form: it keeps the weight vector v of each output, not the support vectors.

It makes the same mistakes as the kernel perceptron with the linear kernel, update for update, in O(d) memory.
"""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native
from onkel.errors import ParameterError
from onkel.kernels.rows import Rows
from onkel.kernels.vectors import VectorRows
from onkel.learners.counts import count_settings, read_counts
from onkel.learners.learner import ONE, Floats, Ints, LearnerBase
from onkel.learners.ledger import Window
from onkel.learners.perceptron.primal import core_rows, most_rows, new_ledger
from onkel.models.linear import LinearModel
from onkel.states.state import Setting, State

__all__ = ["LinearPerceptronLearner"]


class LinearPerceptronLearner(LearnerBase):
    """The weight vectors and offsets of all outputs.

    V (outputs, features + 1) holds v and, in its last column, b; M the same sums with every step multiplied by its
    round, so that V − M / n_seen is the average of all hypotheses. The core changes them in place, together with the
    counts and the ledger, in a native call that holds the GIL. The ledger keeps the last mistakes only, because v
    needs none of them. The rows must be `VectorRows`, dense or CSR.

    Parameters
    ----------
    n_features, n_outputs : the numbers of features and of outputs.
    eta : the step size, > 0.
    bias : whether an offset is learned.
    """

    UPDATES_ARE_MISTAKES = True
    KIND: ClassVar[str] = "learner/linear-perceptron"
    VERSION: ClassVar[int] = 1
    HYPOTHESES: ClassVar[tuple[str, ...]] = ("averaged", "last")
    STATE_COUNTS: ClassVar[tuple[str, ...]] = ("n_seen", "next_row_id")  # the ledger tells the others
    CHANGES: ClassVar[tuple[str, ...]] = ("record", "ledger", "V", "moments")
    BUILT_FROM: ClassVar[tuple[str, ...]] = ("eta", "bias")
    kernel = None

    def __init__(self, n_features: int, n_outputs: int, eta: float, bias: bool) -> None:
        self.record, self.ledger = _native.Counts(), new_ledger()
        self.V, self.moments = np.zeros((n_outputs, n_features + 1)), np.zeros((n_outputs, n_features + 1))
        self.eta, self.bias = float(eta), bool(bias)

    @property
    def n_outputs(self) -> int:
        return len(self.V)

    @property
    def n_features(self) -> int:
        return self.V.shape[1] - 1

    # ---------------------------------------------------------------- what was learned

    def averaged(self) -> Floats:
        """The average hypothesis, (outputs, features + 1): v and, in the last column, b."""
        return self.V - self.moments / max(self.n_seen, 1)

    def scores(self, rows: Rows, V: Floats | None = None) -> Floats:
        """The scores (n, outputs) of the current hypothesis or, if given, of other V (outputs, features + 1)."""
        assert isinstance(rows, VectorRows)
        V = self.V if V is None else V
        return np.asarray(rows.matrix @ V[:, :-1].T) + V[:, -1]

    def scorer(self, which: str = "last", draw: float = 0.0) -> LinearModel:
        """The hypothesis "last" or "averaged", as a frozen model."""
        if which not in self.HYPOTHESES:
            raise ParameterError(
                "hypothesis must be averaged or last, since the guesses of the run were not kept; got "
                f"{which!r}. Fit anew with hypothesis={which!r}."
            )
        V = self.averaged() if which == "averaged" else self.V
        return LinearModel(V[:, :-1].copy(), V[:, -1].copy())

    # ---------------------------------------------------------------- changes

    def change_outputs(self, output_map: Floats) -> None:
        """Changes the number of outputs when a class appears.

        `output_map` (old outputs, new outputs): 1 copies an output, −1 mirrors it, a column of zeros starts one at 0.
        """
        self.V = np.ascontiguousarray(output_map.T @ self.V)
        self.moments = np.ascontiguousarray(output_map.T @ self.moments)
        before, self.ledger = len(self.ledger), self.ledger.remapped(output_map)
        self.record.add(0, -1, len(self.ledger) - before, len(self.ledger) - before)

    def add_features(self, n_features: int, *, sparse: bool = False) -> None:
        """Increases the number of features to `n_features`; v is 0 in the new ones, and dense in any case."""
        self.V, self.moments = _wider(self.V, n_features), _wider(self.moments, n_features)

    def features_in_use(self, n_features: int) -> NDArray[np.bool_]:
        """Which of the features have had a part in an update."""
        used = (self.V[:, :-1] != 0) | (self.moments[:, :-1] != 0)
        return np.asarray(used.any(axis=0))

    def end_epoch(self) -> None:
        """Does nothing: there are no support vectors to merge."""

    # ---------------------------------------------------------------- learning

    def learn(self, rows: Rows, targets: Floats, weights: Floats, row_ids: Ints) -> Floats:
        """Learns from the examples one by one, and returns the score of each before it was learned, (n, outputs).

        `targets` (n, outputs) are ±1; `weights` (n,) > 0 the sample weights; `row_ids` (n,) the ids of the rows.
        """
        assert isinstance(rows, VectorRows)
        (data, indptr, indices), F = core_rows(rows), np.empty(targets.shape)
        entries, n_entries = self.ledger.core_view(len(rows) * self.n_outputs)
        # fmt: off
        _native.primal_pass(
            data, indptr, indices, targets, weights, row_ids, self.eta, self.bias,
            self.V, self.moments, self.record, entries, n_entries, F,
        )
        # fmt: on
        return F

    def part_size(self, rows: Rows, most: int) -> int:
        """How many examples the next part of a chunk should have, at most `most`."""
        assert isinstance(rows, VectorRows)
        return min(most, most_rows(rows.n_features * self.n_outputs))

    def learn_one(self, row: Rows, target: Floats) -> None:
        """Learns from one example of weight 1, target (1, outputs)."""
        self.learn(row, target, ONE, np.array([self.next_row_id]))

    # ---------------------------------------------------------------- state

    def state(self) -> State:
        """Everything the learner knows, as named values and arrays."""
        settings: dict[str, Setting] = {"eta": self.eta, "bias": self.bias}
        settings |= count_settings(self.record, self.STATE_COUNTS) | self.ledger.settings()
        arrays = {"V": self.V.copy(), "moments": self.moments.copy(), **self.ledger.arrays("ledger/")}
        return State(self.KIND, self.VERSION, settings, arrays)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The learner of a state; it learns on exactly as the one that gave it."""
        state.expect(cls.KIND, cls.VERSION)
        V = np.array(state.array("V", np.float64, (None, None)))
        state.check(V.size > 0, f"'V' must be (outputs, features + 1); got {V.shape}")
        learner = cls._untaught(state, V.shape[1] - 1, V.shape[0])
        state.check(learner.n_outputs == len(V), f"'V' must have {learner.n_outputs} outputs; got {len(V)}")
        learner.V, learner.moments = V, np.array(state.array("moments", np.float64, V.shape))
        read_counts(state, learner.record, cls.STATE_COUNTS)
        learner.ledger = Window.of_state(state, "ledger/", len(V), learner.n_seen)
        learner._count_updates(state)
        return learner

    @classmethod
    def _untaught(cls, state: State, n_features: int, n_outputs: int) -> Self:
        """A new learner with the settings of a state."""
        return cls(n_features, n_outputs, state.setting("eta", float, above=0), state.setting("bias", bool))

    def _count_updates(self, state: State) -> None:
        """Takes from a state, or counts, the mistakes and updates; every entry of the ledger is both."""
        self.record.n_mistakes = self.record.n_updates = len(self.ledger)


def _wider(V: Floats, n_features: int) -> Floats:
    """V with more features, 0 in the new ones; its last column stays the last."""
    wide = np.zeros((len(V), n_features + 1))
    wide[:, : V.shape[1] - 1], wide[:, -1] = V[:, :-1], V[:, -1]
    return wide
