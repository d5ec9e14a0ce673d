"""Scores by a function of the user's: the features of a token, its tag and the tag before, as strings."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from onkel.data.string_features import StringFeatures, checked_sequences, sentence_starts
from onkel.data.token_features import TokenFeatures
from onkel.errors import InputError, KindError
from onkel.models.frozen import Frozen
from onkel.models.state import State
from onkel.models.viterbi import Lattice, width

__all__ = ["MarkovSentences", "MarkovTokens", "local_features", "local_scores", "read_markov"]

Function = Callable[[Any, int, str | None, str], Any]


class MarkovSentences(NamedTuple):
    """Sentences as the user gave them."""

    starts: NDArray[np.int64]
    sequences: Sequence[Any]

    def sentences(self, first: int, last: int) -> MarkovSentences:
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


def local_scores(f: TokenFeatures, w: NDArray[np.float64]) -> NDArray[np.float64]:
    """The score of each list of features that `local_features` gave, numbered by an index."""
    terms = w[f.ids] * (1.0 if f.values is None else f.values)
    cell = np.repeat(np.arange(f.n_tokens), np.diff(f.indptr))
    return np.bincount(cell, terms, minlength=f.n_tokens).astype(np.float64, copy=False)


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

    def lattice(self, sentences: MarkovSentences) -> Lattice:
        """The scores of all labellings."""
        L, ld = self.n_labels, width(self.n_labels)
        tables = np.zeros((int(sentences.starts[-1]), L + 1, ld))
        for s, sequence in enumerate(sentences.sequences):
            part = slice(int(sentences.starts[s]), int(sentences.starts[s + 1]))
            f = self.index.find([local_features(self.function, sequence, self.labels)])
            tables[part, :, :L] = local_scores(f, self.w).reshape(-1, L + 1, L)
        return Lattice(L, sentences.starts, np.zeros((len(tables), ld)), tables, None)

    def state(self) -> State:
        """A function of the user's cannot be written."""
        raise InputError(
            "a tagger with features=<function> has no state, because a state holds no code. Keep the estimator, or "
            "give the features by templates, strings or dicts."
        )

    @classmethod
    def from_state(cls, state: State) -> Self:
        """There is no such state."""
        raise InputError("a tagger with features=<function> has no state.")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MarkovTokens):
            return NotImplemented
        same = self.function == other.function and self.labels == other.labels
        return same and self.index.names() == other.index.names() and bool(np.array_equal(self.w, other.w))

    __hash__ = None
