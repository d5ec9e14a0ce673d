"""Scores by a function of the user's: the features of a token, its tag and the tag before, as strings."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from onkel.errors import InputError, KindError
from onkel.models.tagging.viterbi import Lattice, width
from onkel.states.frozen import Frozen
from onkel.states.state import State
from onkel.text.sentences import Sentences
from onkel.text.string_features import StringFeatures, checked_sequences, sentence_starts
from onkel.text.token_features import TokenFeatures

__all__ = ["MarkovRun", "MarkovSentences", "MarkovTokens", "Steps", "local_features", "markov_lattice", "read_markov"]

NO_STATE = (
    "a tagger with features=<function> has no state, because a state holds no code. Pickle the estimator, or give the "
    "features by templates, strings or dicts."
)
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Function = Callable[[Any, int, str | None, str], Any]


class MarkovSentences(NamedTuple):
    """Sentences as the user gave them."""

    starts: NDArray[np.int64]
    sequences: Sequence[Any]

    def part(self, first: int, last: int) -> MarkovSentences:
        """The sentences first … last − 1."""
        return MarkovSentences(self.starts[first : last + 1] - self.starts[first], self.sequences[first:last])


def read_markov(sequences: Any) -> MarkovSentences:
    """Sentences of any kind: what a token is, only the function knows."""
    found = checked_sequences(sequences)
    return MarkovSentences(sentence_starts(map(len, found)), found)


def local_features(function: Function, sequence: Any, labels: Sequence[str]) -> list[Mapping[str, Any] | list[str]]:
    """The features of every token, tag before (the last is None: the first token) and tag, tokens × (L + 1) × L."""
    found: list[Mapping[str, Any] | list[str]] = []
    for t in range(len(sequence)):
        for before in [*labels, None]:
            for label in labels:
                beginning = before is None
                if beginning != (t == 0):
                    found.append([])
                    continue
                features = function(sequence, t, before, label)
                if isinstance(features, str) or not isinstance(features, (Mapping, Sequence, set, frozenset)):
                    raise KindError(
                        "features must return a list of strings or a dict {feature: value}; it returned "
                        f"{features!r} for position {t}, previous tag {before!r}, tag {label!r}."
                    )
                found.append(features if isinstance(features, Mapping) else list(features))
    return found


def _local_scores(f: TokenFeatures, w: Floats) -> Floats:
    """The score of each list of features that `local_features` gave, numbered by an index."""
    terms = w[f.ids] * (1.0 if f.values is None else f.values)
    cell = np.repeat(np.arange(f.n_tokens), np.diff(f.indptr))
    return np.bincount(cell, terms, minlength=f.n_tokens).astype(np.float64, copy=False)


def markov_lattice(features: Iterable[TokenFeatures], w: Floats, starts: Ints, n_labels: int) -> Lattice:
    """The scores of all labellings of sentences with these features, as `local_features` gives them, and weights w."""
    L, ld = n_labels, width(n_labels)
    tables = np.zeros((int(starts[-1]), L + 1, ld))
    for s, f in enumerate(features):
        tables[int(starts[s]) : int(starts[s + 1]), :, :L] = _local_scores(f, w).reshape(-1, L + 1, L)
    return Lattice(L, starts, np.zeros((len(tables), ld)), tables, None)


def _found(scorer: MarkovTokens | MarkovRun, sentences: MarkovSentences) -> Iterator[TokenFeatures]:
    """The features of each sentence, without those that are unknown."""
    for sequence in sentences.sequences:
        yield scorer.index.find([local_features(scorer.function, sequence, scorer.labels)])


@dataclasses.dataclass(frozen=True, eq=False)
class MarkovTokens(Frozen):
    """Scores w·φ(sequence, position, tag before, tag), where φ is a function of the user's.

    Parameters
    ----------
    function : φ.
    index : the features and their ids.
    w : the weight of each feature.
    labels : the tags.
    """

    function: Function
    index: StringFeatures
    w: NDArray[np.float64]
    labels: tuple[str, ...]

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return len(self.labels)

    def read(self, sequences: Any) -> MarkovSentences:
        """Sentences of any kind."""
        return read_markov(sequences)

    def lattice(self, sentences: Sentences) -> Lattice:
        """The scores of all labellings."""
        assert isinstance(sentences, MarkovSentences)
        return markov_lattice(_found(self, sentences), self.w, sentences.starts, self.n_labels)

    def state(self) -> State:
        """A function of the user's cannot be written."""
        raise InputError(NO_STATE)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """There is no such state."""
        raise InputError(NO_STATE)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MarkovTokens):
            return NotImplemented
        same = self.function == other.function and self.labels == other.labels
        return same and self.index.names() == other.index.names() and bool(np.array_equal(self.w, other.w))

    __hash__ = None


class Steps(NamedTuple):
    """Some updates of a run, in order: sparse rows that were added to the weights."""

    indptr: Ints  # (updates + 1,)
    ids: NDArray[np.int32]  # each at most once in a row
    values: Floats
    rounds: Ints  # (updates,): the round of each update, from 1

    def same(self, other: Steps) -> bool:
        """Whether these are the same updates."""
        arrays: Iterable[tuple[NDArray, NDArray]] = zip(self, other, strict=True)
        return all(np.array_equal(a, b) for a, b in arrays)

    @classmethod
    def joined(cls, parts: Sequence[Steps]) -> Steps:
        """The updates of all parts, as one."""
        lengths = [np.diff(part.indptr) for part in parts]
        indptr = np.cumsum(np.concatenate([[0], *lengths]), dtype=np.int64)
        ids = np.concatenate([np.empty(0, dtype=np.int32), *(part.ids for part in parts)])
        values = np.concatenate([np.empty(0), *(part.values for part in parts)])
        return cls(indptr, ids, values, np.concatenate([np.empty(0, dtype=np.int64), *(p.rounds for p in parts)]))


@dataclasses.dataclass(frozen=True, eq=False)
class MarkovRun(Frozen):
    """All guesses of a structured perceptron on the features of a function of the user's.

    Parameters
    ----------
    function : φ.
    index : the features and their ids.
    steps : the updates of the run.
    labels : the tags.

    Cost: the function is asked as often as by a single guess, however many guesses are asked for.
    """

    function: Function
    index: StringFeatures
    steps: Steps
    labels: tuple[str, ...]

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return len(self.labels)

    @property
    def n_updates(self) -> int:
        """The number of updates."""
        return len(self.steps.rounds)

    def read(self, sequences: Any) -> MarkovSentences:
        """Sentences of any kind."""
        return read_markov(sequences)

    def lattices(self, sentences: Sentences, guesses: Ints) -> Iterator[Lattice]:
        """The scores of all labellings under each of some guesses, which ascend."""
        assert isinstance(sentences, MarkovSentences)
        features, w, made = list(_found(self, sentences)), np.zeros(self.index.n_features), 0
        for guess in guesses.tolist():
            new = slice(int(self.steps.indptr[made]), int(self.steps.indptr[guess]))
            np.add.at(w, self.steps.ids[new], self.steps.values[new])
            made = guess
            yield markov_lattice(features, w, sentences.starts, self.n_labels)

    def state(self) -> State:
        """A function of the user's cannot be written."""
        raise InputError(NO_STATE)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """There is no such state."""
        raise InputError(NO_STATE)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MarkovRun):
            return NotImplemented
        same = self.function == other.function and self.labels == other.labels
        same = same and self.index.names() == other.index.names()
        return same and self.steps.same(other.steps)

    __hash__ = None
