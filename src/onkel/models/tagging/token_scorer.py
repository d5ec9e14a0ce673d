"""Scores of tokens: what a `Tagger` needs to fill the lattice of a sentence.

    LinearTokens   weights of features: Σ w[f, label] over the features of a token
    VotedTokens    many guesses, each the sum of the first updates of a run      (onkel.models.tagging.voted_tokens)
    KernelTokens   a kernel expansion with an output for each label              (onkel.models.tagging.kernel_tokens)
    MarkovTokens   a function of the user's                                      (onkel.models.tagging.markov_tokens)

All are frozen and have a `state`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native, thread_count
from onkel.checks import FLOATS
from onkel.models.tagging.viterbi import Lattice, padded, width
from onkel.states.frozen import Frozen
from onkel.states.state import State, from_state
from onkel.text.sentences import Sentences
from onkel.text.token_features import FeatureIndex, TokenFeatures

__all__ = ["LinearTokens", "SparseWeights", "TokenScorer", "Transitions", "sparse_weights"]

Floats = NDArray[np.floating]


@runtime_checkable
class TokenScorer(Protocol):
    """Fills the lattices of sentences."""

    @property
    def n_labels(self) -> int:
        """The number of labels."""

    def read(self, sequences: Any) -> Sentences:
        """Sentences in the form that `lattice` takes; refuses what cannot be read."""

    def lattice(self, sentences: Sentences) -> Lattice:
        """The scores of all labellings of the sentences."""

    def state(self) -> State:
        """The settings and arrays of which `from_state` makes an equal scorer."""


class Transitions(NamedTuple):
    """Scores of neighbouring labels: first (L + 1, L), the last row at the beginning; second (L + 1, L + 1, L)."""

    first: Floats
    second: Floats | None = None

    def arrays(self) -> dict[str, NDArray]:
        """The arrays by name, for a state."""
        found = {"transitions": self.first, "second": self.second}
        return {name: array for name, array in found.items() if array is not None}

    @classmethod
    def of_arrays(cls, state: State) -> Transitions:
        """The transitions whose `arrays` a state holds."""
        first = state.array("transitions", FLOATS, (None, None))
        L = first.shape[1]
        state.check(L > 0 and len(first) == L + 1, f"'transitions' must be (L + 1, L) for L labels; got {first.shape}")
        return cls(first, state.optional_array("second", first.dtype, (L + 1, L + 1, L)))


class SparseWeights(NamedTuple):
    """Rows of weights, of which only those that are not 0 are kept: CSR, with places in a row instead of columns."""

    indptr: NDArray[np.int64]  # (rows + 1,)
    places: NDArray[np.int32]
    values: Floats

    def row(self, i: int) -> tuple[NDArray[np.int32], Floats]:
        """The places and values of one row."""
        part = slice(int(self.indptr[i]), int(self.indptr[i + 1]))
        return self.places[part], self.values[part]

    def spread(self, rows: NDArray[np.int64], n: int) -> SparseWeights:
        """n rows, of which `rows` are these, and the others are empty."""
        indptr = np.zeros(n + 1, dtype=np.int64)
        indptr[rows + 1] = np.diff(self.indptr)
        return self._replace(indptr=np.cumsum(indptr))

    def with_stride(self, old: int, new: int) -> SparseWeights:
        """The same weights, with places i · new + j for i · old + j, where j < old and j < new."""
        i, j = np.divmod(self.places, old)
        return self._replace(places=i * new + j)

    def add_to(
        self, E: Floats, indptr: NDArray[np.int64], ids: NDArray[np.int32], values: NDArray[np.float64] | None
    ) -> None:
        """E[t] += the rows of the ids of token t, times their values."""
        _native.add_sparse_rows(self.indptr, self.places, self.values, indptr, ids, values, E, thread_count())

    def arrays(self, prefix: str) -> dict[str, NDArray]:
        """The arrays by name, for a state."""
        return {f"{prefix}_{name}": array for name, array in self._asdict().items()}

    @classmethod
    def of_arrays(cls, state: State, prefix: str, rows: int, width: int) -> SparseWeights:
        """The weights whose `arrays` a state holds: this many rows of this width."""
        places = state.indices(f"{prefix}_places", width, dtype=np.int32)
        indptr = state.offsets(f"{prefix}_indptr", len(places), rows)
        return cls(indptr, places, state.array(f"{prefix}_values", FLOATS, places.shape))


def sparse_weights(blocks: Iterable[Floats], dtype: np.dtype) -> SparseWeights:
    """The weights of dense rows (n, …) that are not 0; the places of a row count through all its other dimensions.

    The rows come in blocks, so that there need not be room for all of them at once.
    """
    counts, places, values = [np.zeros(1, dtype=np.int64)], [np.empty(0, np.int32)], [np.empty(0, dtype)]
    for block in blocks:
        flat = block.reshape(len(block), int(np.prod(block.shape[1:])))
        row, place = np.nonzero(flat)
        counts.append(np.bincount(row, minlength=len(flat)))
        places.append(place.astype(np.int32))
        values.append(flat[row, place].astype(dtype))
    return SparseWeights(np.cumsum(np.concatenate(counts)), np.concatenate(places), np.concatenate(values))


@dataclasses.dataclass(frozen=True, eq=False)
class LinearTokens(Frozen):
    """Scores that are sums of weights: E_t[label] = Σ w[f, label] over the features f of token t.

    Parameters
    ----------
    index : the features and their ids.
    weights : the weights of each feature, with labels as places.
    transitions : scores of neighbouring labels.
    observed : for features of pairs of labels, tables (L + 1, width(L)) as rows of places; None: there are none.
    """

    KIND: ClassVar[str] = "scorer/linear-tokens"
    VERSION: ClassVar[int] = 1

    index: FeatureIndex
    weights: SparseWeights
    transitions: Transitions
    observed: SparseWeights | None = None

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return int(self.transitions.first.shape[1])

    def read(self, sequences: Any) -> TokenFeatures:
        """The features of sentences, without those that are unknown."""
        return self.index.find(sequences)

    def lattice(self, sentences: Sentences) -> Lattice:
        """The scores of all labellings."""
        assert isinstance(sentences, TokenFeatures)
        L, f = self.n_labels, sentences
        E = np.zeros((f.n_tokens, width(L)), dtype=self.weights.values.dtype)
        self.weights.add_to(E, f.indptr, f.ids, f.values)
        first, second = (None if t is None else padded(t.astype(E.dtype, copy=False), L) for t in self.transitions)
        assert first is not None
        local = first[None]
        if self.observed is not None and f.bigram_indptr is not None:
            local = np.repeat(local, f.n_tokens, axis=0)
            self.observed.add_to(local.reshape(f.n_tokens, -1), f.bigram_indptr, f.bigram_ids, None)  # type: ignore[arg-type]
        return Lattice(L, f.starts, E, local, second)

    def state(self) -> State:
        """Features, weights and transitions, as a `State`; tables of pairs are (L + 1, L), without padding."""
        arrays = self.weights.arrays("weights") | self.transitions.arrays()
        if self.observed is not None:
            arrays |= self.observed.with_stride(width(self.n_labels), self.n_labels).arrays("observed")
        return State(self.KIND, self.VERSION, {}, arrays).with_part("index", self.index.state())

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The scorer that has this state."""
        state.expect(cls.KIND, cls.VERSION)
        index = from_state(state.part("index"), "features/")
        transitions = Transitions.of_arrays(state)
        L = int(transitions.first.shape[1])
        weights = SparseWeights.of_arrays(state, "weights", index.n_features, L)
        observed = None
        if "observed_indptr" in state.arrays:
            observed = SparseWeights.of_arrays(state, "observed", index.n_bigrams, (L + 1) * L)
            state.check(observed.values.dtype == weights.values.dtype, "all weights must be of one dtype")
            state.check((L + 1) * width(L) <= 2**31, f"a table of pairs must have at most 2**31 places; got {L} labels")
            observed = observed.with_stride(L, width(L))
        return cls(index, weights, transitions, observed)
