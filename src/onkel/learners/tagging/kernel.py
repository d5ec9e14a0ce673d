"""The structured perceptron in dual form: a token is a vector, and the score of a label is a kernel expansion.

At an update, each token that got a wrong label becomes a support vector: +1 for the right label, −1 for the one found.
With the linear kernel it makes the same updates as `onkel.learners.tagging.structured` on the features of the vectors.
For small problems: every update adds support vectors, and every score takes one kernel value for each of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native
from onkel._core.transaction import Transaction
from onkel.kernels import Kernel
from onkel.kernels.rows import NO_ROWS
from onkel.learners.storage.support import Support
from onkel.learners.tagging.learner import TagLearnerBase
from onkel.learners.tagging.log import log_of_state, rounds_of
from onkel.models.expansion import Expansion
from onkel.models.tagging.kernel_tokens import KernelRun, KernelTokens, TokenVectors, check_support
from onkel.models.tagging.token_scorer import Transitions
from onkel.models.tagging.updates import Updates, joined, no_features, updates_arrays
from onkel.models.tagging.viterbi import Lattice, best, padded
from onkel.states.state import Setting, State
from onkel.text.sentences import Sentences

__all__ = ["KernelTagLearner"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class KernelTagLearner(TagLearnerBase):
    """The dual structured perceptron.

    Parameters
    ----------
    kernel, n_labels : the kernel, and the number of labels.
    order : 1: scores of two neighbouring labels; 2: of three as well.
    margin : m ≥ 0, by which the score of the right label is lowered at every token while learning.
    log : whether all updates are kept, as a vote of all guesses needs them. Default False.
    """

    KIND: ClassVar[str] = "learner/kernel-tagging"
    VERSION: ClassVar[int] = 1
    BUILT_FROM: ClassVar[tuple[str, ...]] = ("order", "margin", "log")

    def __init__(self, kernel: Kernel, n_labels: int, *, order: int, margin: float, log: bool = False) -> None:
        self.kernel, self.n_labels, self.order, self.margin = kernel, n_labels, order, float(margin)
        self.support = Support(n_labels)
        self.log: list[Updates] | None = [] if log else None  # a new list at every update
        self.record = _native.TagCounts()
        L = n_labels
        self.first, self.first_moment = np.zeros((2, L + 1, L))
        self.second: Floats | None = np.zeros((L + 1, L + 1, L)) if order == 2 else None
        self.second_moment: Floats | None = None if self.second is None else self.second.copy()

    def part_size(self, sentences: Sentences) -> int:
        """One sentence at a time: each is a transaction of its own."""
        return 1

    def learn(self, sentences: Sentences, y: NDArray[np.int32], order: Ints) -> None:
        """Learns from the sentences `order`, one after the other; y (tokens,) are the labels of all tokens."""
        assert isinstance(sentences, TokenVectors)
        for s in order.tolist():
            begin, end = int(sentences.starts[s]), int(sentences.starts[s + 1])
            self._learn_one(sentences.part(s, s + 1), y[begin:end], begin)

    def _learn_one(self, sentence: TokenVectors, y: NDArray[np.int32], row_id: int) -> None:
        lattice = self.lattice(sentence, averaged=False)
        gold = np.arange(len(y)), y
        lattice.E[gold] -= self.margin
        z, _ = best(lattice, threads=1)
        lattice.E[gold] += self.margin
        with Transaction() as change:
            if np.array_equal(y, z):
                change.set(self, record=self._counted())
            else:
                before = float((lattice.score(y) - lattice.score(z))[0])
                self._update(sentence, y, z, before, row_id, change)

    def _update(
        self,
        sentence: TokenVectors,
        y: NDArray[np.int32],
        z: NDArray[np.int32],
        before: float,
        row_id: int,
        change: Transaction,
    ) -> None:
        """Adds Φ(x, y) − Φ(x, z), whose score under the present guess is `before`."""
        L, round = self.n_labels, self.n_seen + 1
        wrong = np.flatnonzero(y != z)
        coef = np.eye(L)[y[wrong]] - np.eye(L)[z[wrong]]
        sq_norm = 0.0
        if len(wrong):
            rows = sentence.rows[wrong]
            sq_norm = float(np.sum(self.kernel(rows, rows) * (coef @ coef.T)))
            self.support.add(rows, coef, round * coef, row_id + wrong, change)
        first, second = (a - b for a, b in zip(_counts(y, L), _counts(z, L), strict=True))
        sq_norm += float((first**2).sum())
        change.set(self, first=self.first + first, first_moment=self.first_moment + round * first)
        if self.second is not None and self.second_moment is not None:
            sq_norm += float((second**2).sum())
            change.set(self, second=self.second + second, second_moment=self.second_moment + round * second)
        change.set(self, record=self._counted(before, sq_norm))
        if self.log is not None:
            update = Updates(no_features(sentence.starts), y.copy(), z, np.array([round]))
            change.set(self, log=[*self.log, update])

    # ---------------------------------------------------------------- what was learned

    def lattice(self, sentences: Sentences, *, averaged: bool) -> Lattice:
        """The scores of all labellings, under the present guess or the average of all."""
        assert isinstance(sentences, TokenVectors)
        L, E = self.n_labels, np.zeros((len(sentences.rows), self.n_labels))
        if len(self.support):
            self.support.add_scores(self.kernel, sentences.rows, self._coef(averaged), E)
        first, second = (None if table is None else padded(table, L) for table in self._transitions(averaged))
        assert first is not None
        return Lattice(L, sentences.starts, padded(E, L), first[None], second)

    def _coef(self, averaged: bool) -> Floats:
        support = self.support
        return support.coef - support.moment / max(self.n_seen, 1) if averaged else support.coef

    def _transitions(self, averaged: bool) -> Transitions:
        n = max(self.n_seen, 1)
        if not averaged:
            return Transitions(self.first, self.second)
        second = None if self.second is None or self.second_moment is None else self.second - self.second_moment / n
        return Transitions(self.first - self.first_moment / n, second)

    def scorer(self, *, averaged: bool) -> KernelTokens:
        """What has been learned, frozen."""
        return KernelTokens(self._expansion(averaged), self._transitions(averaged))

    def _expansion(self, averaged: bool) -> Expansion:
        rows, coef = self.support.all_rows(), self._coef(averaged).copy()
        zeros, ids = np.zeros(self.n_labels), self.support.row_ids.copy()
        return Expansion(self.kernel, NO_ROWS if rows is None else rows, ids, coef, zeros)

    def update_rounds(self) -> Ints | None:
        """The round of each update, from 1; None if they are not kept."""
        return None if self.log is None else rounds_of(self.log)

    def run(self) -> KernelRun:
        """All guesses, frozen; needs the log of all updates."""
        assert self.log is not None
        return KernelRun(self._expansion(False), joined(self.log), self.order)

    # ---------------------------------------------------------------- changes

    def with_labels(self, labels: Sequence[str]) -> KernelTagLearner:
        """A copy with these labels; the weights of new ones are 0."""
        return self._wider(len(labels))

    def _wider(self, n_labels: int) -> KernelTagLearner:
        """A copy with room for so many labels."""
        twin = KernelTagLearner(self.kernel, n_labels, order=self.order, margin=self.margin)
        L, before = self.n_labels, np.r_[np.arange(self.n_labels), n_labels]
        twin.support = self.support.copy()
        twin.support.change_outputs(np.eye(L, n_labels))
        twin.first[before, :L], twin.first_moment[before, :L] = self.first, self.first_moment
        if twin.second is not None and twin.second_moment is not None:
            cells = np.ix_(before, before, np.arange(L))
            twin.second[cells], twin.second_moment[cells] = self.second, self.second_moment
        twin.record, twin.log = self.record.copy(), self.log
        return twin

    def copy(self) -> KernelTagLearner:
        """An independent copy."""
        return self._wider(self.n_labels)

    # ---------------------------------------------------------------- state

    def _tables(self) -> dict[str, Floats]:
        found = {name: getattr(self, name) for name in ("first", "first_moment", "second", "second_moment")}
        return {name: table for name, table in found.items() if table is not None}

    def state(self) -> State:
        """Everything the learner knows, as named values and arrays."""
        settings: dict[str, Setting] = {name: getattr(self, name) for name in ("kernel", "n_labels", "order", "margin")}
        settings |= self._count_settings() | {"log": self.log is not None}
        arrays: dict[str, NDArray] = {**self._tables(), **updates_arrays(joined(self.log or []), "log/")}
        return State(self.KIND, self.VERSION, settings, arrays).with_part("support", self.support.state())

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The learner of a state; it learns on exactly as the one that gave it."""
        state.expect(cls.KIND, cls.VERSION)
        L, order = state.count("n_labels", at_least=1), state.count("order", 1, 2)
        tables = {name: state.array(name, np.float64, (L + 1, L)) for name in ("first", "first_moment")}
        if order == 2:
            seconds = ("second", "second_moment")
            tables |= {name: state.array(name, np.float64, (L + 1, L + 1, L)) for name in seconds}
        margin, log = state.setting("margin", float, at_least=0), state.setting("log", bool)
        learner = cls(state.kernel(), L, order=order, margin=margin, log=log)
        for name, table in tables.items():
            setattr(learner, name, table.copy())
        learner.support = Support.from_state(state.part("support"), learner.kernel, L)
        learner._read_counts(state)
        if log:
            learner.log = log_of_state(state, 0, None, L)
            check_support(joined(learner.log), learner.support.coef, state)
        return learner

    def __reduce__(self) -> tuple[object, ...]:
        return type(self).from_state, (self.state(),)


def _counts(y: NDArray[np.int32], L: int) -> tuple[Floats, Floats]:
    """How often each label follows another, (L + 1, L), and two others, (L + 1, L + 1, L)."""
    before = np.concatenate([[L], y[:-1]])
    earlier = np.concatenate([[L], before[:-1]])
    first, second = np.zeros((L + 1, L)), np.zeros((L + 1, L + 1, L))
    np.add.at(first, (before, y), 1.0)
    np.add.at(second, (earlier, before, y), 1.0)
    return first, second
