"""Scores of tokens that are kernel expansions: a token is a vector, and each label is an output."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from onkel.data.string_features import token_matrix
from onkel.errors import InputError
from onkel.kernels import Kernel, prepare
from onkel.kernels.rows import Rows
from onkel.models.expansion import Expansion
from onkel.models.frozen import Frozen
from onkel.models.state import State
from onkel.models.token_scorer import Transitions
from onkel.models.viterbi import Lattice, padded

__all__ = ["KernelTokens", "TokenVectors", "read_vectors"]


class TokenVectors(NamedTuple):
    """The vectors of all tokens of some sentences."""

    starts: NDArray[np.int64]  # (sentences + 1,)
    rows: Rows  # (tokens, features)

    def sentences(self, first: int, last: int) -> TokenVectors:
        """The sentences first … last − 1."""
        begin, end = int(self.starts[first]), int(self.starts[last])
        return TokenVectors(self.starts[first : last + 1] - begin, self.rows[begin:end])


def read_vectors(kernel: Kernel, sequences: Any) -> TokenVectors:
    """Sentences from matrices, one for each sentence."""
    matrix, starts = token_matrix(sequences)
    rows = prepare(kernel, matrix)
    kernel.check_rows(rows, "sequences")
    return TokenVectors(starts, rows)


@dataclasses.dataclass(frozen=True, eq=False)
class KernelTokens(Frozen):
    """Scores by a kernel: E_t[label] = Σⱼ A_j,label k(sⱼ, x_t).

    Parameters
    ----------
    expansion : the kernel expansion, with an output for each label.
    transitions : scores of neighbouring labels.
    """

    KIND: ClassVar[str] = "model/kernel_tokens"
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

    def lattice(self, sentences: TokenVectors) -> Lattice:
        """The scores of all labellings."""
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
        expansion, transitions = Expansion.from_state(state.part("expansion")), Transitions.of_arrays(state)
        if expansion.n_outputs != transitions.first.shape[1]:
            raise InputError(f"the state of kind {cls.KIND!r}: the expansion must have an output for each label.")
        return cls(expansion, transitions)
