"""Features of tokens, as numbers: what a tagger learns from, whatever form its input has.

    TemplateFeatures   columns of a corpus, by templates (onkel.text.template_features)
    StringFeatures     a list of strings, or a dict, for each token
    VectorFeatures     a row of a matrix for each token

Each of them is a growing index from features to ids 0, 1, 2, …: `add` numbers the features of new sentences, `find`
leaves unknown ones out. An index only ever grows, and a feature that it knows but no update has used changes no
prediction.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from onkel.states.state import State

__all__ = ["FeatureIndex", "TokenFeatures"]

Ints = NDArray[np.int64]


class TokenFeatures(NamedTuple):
    """The features of all tokens of some sentences, as CSR rows of ids."""

    starts: Ints  # (sentences + 1,): where each sentence begins
    indptr: Ints  # (tokens + 1,): ids[indptr[t]:indptr[t + 1]] are the features of token t
    ids: NDArray[np.int32]
    values: NDArray[np.float64] | None = None  # None: all 1
    bigram_indptr: Ints | None = None  # the features of B templates, numbered apart; None if there are none
    bigram_ids: NDArray[np.int32] | None = None

    @property
    def n_tokens(self) -> int:
        """The number of tokens."""
        return len(self.indptr) - 1

    def keeping(self, kept: NDArray[np.bool_]) -> TokenFeatures:
        """The features without some entries; those of pairs of labels stay as they are."""
        if kept.all():
            return self
        left = np.concatenate([[0], np.cumsum(kept)])
        values = None if self.values is None else self.values[kept]
        return self._replace(indptr=left[self.indptr], ids=self.ids[kept], values=values)

    def part(self, first: int, last: int) -> TokenFeatures:
        """The sentences first … last − 1; ids and values share the memory of all."""
        begin, end = int(self.starts[first]), int(self.starts[last])
        rows = slice(int(self.indptr[begin]), int(self.indptr[end]))
        found = TokenFeatures(
            self.starts[first : last + 1] - begin,
            self.indptr[begin : end + 1] - rows.start,
            self.ids[rows],
            None if self.values is None else self.values[rows],
        )
        if self.bigram_indptr is None or self.bigram_ids is None:
            return found
        pairs = slice(int(self.bigram_indptr[begin]), int(self.bigram_indptr[end]))
        indptr = self.bigram_indptr[begin : end + 1] - pairs.start
        return found._replace(bigram_indptr=indptr, bigram_ids=self.bigram_ids[pairs])


class FeatureIndex(Protocol):
    """What a tagger needs of its features."""

    @property
    def n_features(self) -> int:
        """The number of features: their ids are below it."""

    @property
    def has_names(self) -> bool:
        """Whether features are numbered as they come; else ids are hashes or columns, and are never changed."""

    @property
    def n_bigrams(self) -> int:
        """The number of features of pairs of labels."""

    def add(self, sequences: Any) -> TokenFeatures:
        """The features of sentences; those that are new get the next ids, in the order in which they come."""

    def find(self, sequences: Any) -> TokenFeatures:
        """The features of sentences, without those that are unknown."""

    def selected(self, keep: Ints, keep_bigrams: Ints | None = None) -> Self:
        """An index of these features only, numbered 0, 1, … in this order; for an index that has names."""

    def names(self) -> list[str]:
        """The name of each feature."""

    def bigram_names(self) -> list[str]:
        """The name of each feature of pairs of labels."""

    def copy(self) -> Self:
        """An independent copy."""

    def state(self) -> State:
        """What the features are, and their numbers."""

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The index that has this state; refuses one whose settings and arrays do not fit each other."""
