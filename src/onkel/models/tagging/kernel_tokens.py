"""Scores of tokens that are kernel expansions: a token is a vector, and each label is an output."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from onkel.errors import InputError
from onkel.kernels import Kernel, prepare
from onkel.kernels.rows import Rows
from onkel.models.expansion import Expansion
from onkel.models.tagging.tables import TagTables
from onkel.models.tagging.token_scorer import Transitions
from onkel.models.tagging.updates import Updates, no_features, updates_arrays, updates_of_arrays
from onkel.models.tagging.viterbi import Lattice, padded
from onkel.models.tagging.voted_tokens import replayed
from onkel.states.frozen import Frozen
from onkel.states.state import State, from_state
from onkel.text.sentences import Sentences
from onkel.text.string_features import token_matrix

__all__ = ["KernelRun", "KernelTokens", "TokenVectors", "check_support", "read_vectors"]

Ints = NDArray[np.int64]


class TokenVectors(NamedTuple):
    """The vectors of all tokens of some sentences."""

    starts: NDArray[np.int64]  # (sentences + 1,)
    rows: Rows  # (tokens, features)

    def part(self, first: int, last: int) -> TokenVectors:
        """The sentences first … last − 1."""
        begin, end = int(self.starts[first]), int(self.starts[last])
        return TokenVectors(self.starts[first : last + 1] - begin, self.rows[begin:end])


def read_vectors(kernel: Kernel, sequences: Any) -> TokenVectors:
    """Sentences from matrices, one for each sentence, in float64."""
    matrix, starts = token_matrix(sequences)
    rows = prepare(kernel, matrix.astype(np.float64, copy=False))
    kernel.inner.check_rows(rows, "sequences")
    return TokenVectors(starts, rows)


@dataclasses.dataclass(frozen=True, eq=False)
class KernelTokens(Frozen):
    """Scores by a kernel: E_t[label] = Σⱼ A_j,label k(sⱼ, x_t).

    Parameters
    ----------
    expansion : the kernel expansion, with an output for each label.
    transitions : scores of neighbouring labels.
    """

    KIND: ClassVar[str] = "scorer/kernel-tokens"
    VERSION: ClassVar[int] = 1

    expansion: Expansion
    transitions: Transitions

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return int(self.transitions.first.shape[1])

    def read(self, sequences: Any) -> TokenVectors:
        """Sentences from matrices, one for each sentence."""
        return read_vectors(self.expansion.kernel, sequences)

    def lattice(self, sentences: Sentences) -> Lattice:
        """The scores of all labellings."""
        assert isinstance(sentences, TokenVectors)
        L, E = self.n_labels, self.expansion.scores(sentences.rows)
        first, second = (None if table is None else padded(table, L) for table in self.transitions)
        assert first is not None
        return Lattice(L, sentences.starts, padded(E, L), first[None], second)

    def state(self) -> State:
        """Expansion and transitions, as a `State`."""
        state = State(self.KIND, self.VERSION, {}, self.transitions.arrays())
        return state.with_part("expansion", self.expansion.state())

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The scorer that has this state."""
        state.expect(cls.KIND, cls.VERSION)
        expansion, transitions = from_state(state.part("expansion"), "scorer/"), Transitions.of_arrays(state)
        if not isinstance(expansion, Expansion) or expansion.n_outputs != transitions.first.shape[1]:
            raise InputError(f"the state of kind {cls.KIND!r}: an expansion must have an output for each label.")
        state.check(transitions.first.dtype == np.float64, "'transitions' must be of float64, as the expansion is")
        return cls(expansion, transitions)


@dataclasses.dataclass(frozen=True, eq=False)
class KernelRun(Frozen):
    """All guesses of a structured perceptron with a kernel.

    An update adds support vectors, the tokens whose label was wrong, and changes the coefficients of none that was
    there. So guess k is the expansion over the first support vectors, those of its updates.

    Parameters
    ----------
    expansion : the kernel expansion of the last guess, with the support vectors in the order in which they came.
    updates : the updates of the run, in order, as sentences without features; None if there were none.
    order : 1: scores of two neighbouring labels; 2: of three as well.

    Cost: each guess takes a kernel value for each token and each of its support vectors. To go on from the sums of the
    guess before would take fewer, but round otherwise than the guess did when it was in use, and repeated rows make
    ties.
    """

    KIND: ClassVar[str] = "scorer/kernel-run"
    VERSION: ClassVar[int] = 1

    expansion: Expansion
    updates: Updates | None
    order: int

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return self.expansion.n_outputs

    @property
    def n_updates(self) -> int:
        """The number of updates."""
        return 0 if self.updates is None else len(self.updates.rounds)

    def read(self, sequences: Any) -> TokenVectors:
        """Sentences from matrices, one for each sentence."""
        return read_vectors(self.expansion.kernel, sequences)

    def lattices(self, sentences: Sentences, guesses: Ints) -> Iterator[Lattice]:
        """The scores of all labellings under each of some guesses, which ascend."""
        assert isinstance(sentences, TokenVectors)
        L, sizes = self.n_labels, _support_sizes(self.updates)
        tables, plain = TagTables.zeros(L, 0, None, self.order, np.dtype(np.float64)), no_features(sentences.starts)
        for guess in replayed(self.updates, guesses, tables):
            E = self._prefix(int(sizes[guess])).scores(sentences.rows)
            yield dataclasses.replace(tables.lattice(plain, None), E=padded(E, L))

    def _prefix(self, n: int) -> Expansion:
        """The expansion over the first n support vectors."""
        e = self.expansion
        return dataclasses.replace(e, support=e.support[:n], row_ids=e.row_ids[:n], coef=e.coef[:n])

    def state(self) -> State:
        """Expansion and updates, as a `State`."""
        state = State(self.KIND, self.VERSION, {"order": self.order}, updates_arrays(self.updates, "updates/"))
        return state.with_part("expansion", self.expansion.state())

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The run that has this state."""
        state.expect(cls.KIND, cls.VERSION)
        expansion, order = Expansion.from_state(state.part("expansion")), state.count("order", 1, 2)
        state.check(expansion.n_outputs > 0, "its expansion must have an output for each label")
        updates = updates_of_arrays(state, "updates/", 0, None, expansion.n_outputs)
        check_support(updates, expansion.coef, state)
        return cls(expansion, updates, order)


def _support_sizes(updates: Updates | None) -> Ints:
    """The number of support vectors of each guess, (updates + 1,): of the tokens whose label was wrong so far."""
    if updates is None:
        return np.zeros(1, dtype=np.int64)
    wrong = np.concatenate([[0], np.cumsum(updates.y != updates.z)])
    return wrong[updates.features.starts]


def check_support(updates: Updates | None, coef: NDArray[np.float64], state: State) -> None:
    """Refuses the updates of a state that did not give its support vectors these coefficients (vectors, labels)."""
    none, wanted = np.empty(0, dtype=np.int32), "its updates must be those that gave its coefficients"
    y, z = (none, none) if updates is None else (updates.y, updates.z)
    wrong = y != z
    state.check(np.count_nonzero(wrong) == len(coef), wanted)
    steps, vector = np.zeros(coef.shape), np.arange(len(coef))
    steps[vector, y[wrong]], steps[vector, z[wrong]] = 1.0, -1.0
    state.check(np.array_equal(steps, coef), wanted)
