"""The forms that sentences can have, and what each of them needs: how it is read, its learner and its scorer.

LinearForm   features with ids: strings, dicts, templates over columns, or the columns of a matrix
KernelForm   vectors, by a kernel
MarkovForm   a function of the user's
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from onkel.errors import InputError, ParameterError
from onkel.learners.tagging.learner import TagLearner
from onkel.learners.tagging.log import Voters, draw_voters
from onkel.learners.tagging.structured import StructuredLearner
from onkel.models.tagging.token_scorer import TokenScorer
from onkel.models.tagging.updates import places, renumbered
from onkel.models.tagging.viterbi import width
from onkel.models.tagging.voted_tokens import VotedTokens
from onkel.states.state import State, from_state
from onkel.text.corpus import Corpus
from onkel.text.sentences import Sentences
from onkel.text.string_features import (
    VectorFeatures,
    checked_sequences,
    sentence_starts,
    token_matrix,
)
from onkel.text.template_features import TemplateFeatures
from onkel.text.token_features import FeatureIndex, TokenFeatures

__all__ = ["LinearForm", "SentenceForm", "voters_of"]

Ints = NDArray[np.int64]
MOST_TABLE_BYTES = 2**30  # of hashed tables of pairs of tags


class SentenceForm(Protocol):
    """How a tagger reads its sentences, and what learns from them."""

    margin: float

    @property
    def n_features(self) -> int:
        """The number of features that are known."""

    def starts(self, X: Any) -> Ints:
        """Where each sentence begins, and the end; refuses a sentence without tokens."""

    def add(self, X: Any) -> Sentences:
        """Sentences to learn from."""

    def find(self, X: Any) -> Sentences:
        """Sentences to be tagged."""

    def first_fit(self, sentences: Sentences, min_count: int) -> Sentences:
        """The sentences of a first fit, after rare features were left out."""

    def new_learner(self, labels: tuple[str, ...]) -> TagLearner:
        """A learner of these tags that has learned nothing."""

    def prepare(self, learner: TagLearner) -> None:
        """Makes the learner ready for all features that are known by now."""

    def scorer(self, learner: TagLearner, hypothesis: str, n_voters: int | None, seed: int) -> TokenScorer:
        """What predicts, frozen."""

    def restricted(self, learner: TagLearner) -> tuple[Self, TagLearner]:
        """Copies of form and learner that hold only what an update has used."""

    def state(self) -> State:
        """What is known about the form of the sentences."""


def voters_of(learner: TagLearner, n_voters: int | None, seed: int) -> Voters:
    """The guesses that vote."""
    rounds = learner.update_rounds()
    if rounds is None:
        raise ParameterError(
            "SequencePerceptron: a vote needs the log of all updates, so that hypothesis='voted' must be set before "
            "learning begins. Use 'averaged' or 'last', or fit anew."
        )
    return draw_voters(rounds, learner.n_seen, n_voters, check_random_state(seed))


class LinearForm:
    """Sentences whose tokens have features with ids."""

    KIND: ClassVar[str] = "form/linear"
    VERSION: ClassVar[int] = 1

    def __init__(self, index: FeatureIndex, *, order: int, margin: float, exact: bool, log: bool) -> None:
        self.index, self.order, self.margin, self.exact, self.log = index, order, margin, exact, log

    @property
    def n_features(self) -> int:
        return self.index.n_features

    def starts(self, X: Any) -> Ints:
        if isinstance(self.index, VectorFeatures):
            return token_matrix(X, "SequencePerceptron").starts
        if isinstance(X, Corpus):
            return X.starts
        return sentence_starts(map(len, checked_sequences(X)))

    def add(self, X: Any) -> TokenFeatures:
        n_features, n_bigrams = self.index.n_features, self.index.n_bigrams
        found = self.index.add(X)
        if self.exact and found.values is not None:
            if self.index.has_names:  # forgets those that these sentences brought
                self.index = self.index.selected(np.arange(n_features), np.arange(n_bigrams))
            raise InputError("features must have no values: there were none when learning began. Begin with dicts.")
        return found

    def find(self, X: Any) -> TokenFeatures:
        return self.index.find(X)

    def first_fit(self, sentences: Sentences, min_count: int) -> TokenFeatures:
        assert isinstance(sentences, TokenFeatures)
        if min_count == 1 or not self.index.has_names:
            return sentences
        ids, n = np.bincount(sentences.ids, minlength=self.index.n_features), self.index.n_bigrams
        pairs = np.zeros(0, int) if sentences.bigram_ids is None else np.bincount(sentences.bigram_ids, minlength=n)
        keep, keep_pairs = np.flatnonzero(ids >= min_count), np.flatnonzero(pairs >= min_count)
        self.index = self.index.selected(keep, keep_pairs)
        return renumbered(sentences, places(keep, len(ids)), places(keep_pairs, len(pairs)))

    def new_learner(self, labels: tuple[str, ...]) -> StructuredLearner:
        n_labels = max(1, len(labels))  # tables are never empty
        observed = isinstance(self.index, TemplateFeatures) and self.index.has_bigrams
        if observed and not self.index.has_names:
            size = self.index.n_bigrams * (n_labels + 1) * width(n_labels) * 12
            if size > MOST_TABLE_BYTES:
                raise InputError(
                    f"SequencePerceptron: {n_labels} tags and B templates with parts need {size / 2**20:.0f} MB for "
                    f"2**n_bits tables of pairs of tags, more than {MOST_TABLE_BYTES >> 20}. Use fewer "
                    "bits, or n_bits=None."
                )
        return StructuredLearner(
            n_labels, order=self.order, margin=self.margin, exact=self.exact, observed=observed, log=self.log
        )

    def prepare(self, learner: TagLearner) -> None:
        assert isinstance(learner, StructuredLearner)
        learner.add_features(self.index.n_features, self.index.n_bigrams)

    def scorer(self, learner: TagLearner, hypothesis: str, n_voters: int | None, seed: int) -> TokenScorer:
        assert isinstance(learner, StructuredLearner)
        if hypothesis == "voted":
            voters = voters_of(learner, n_voters, seed)
            return VotedTokens(learner.run(self.index), *voters)
        return learner.scorer(self.index, averaged=hypothesis == "averaged")

    def restricted(self, learner: TagLearner) -> tuple[LinearForm, StructuredLearner]:
        assert isinstance(learner, StructuredLearner)
        if not self.index.has_names:
            return self, learner.copy()
        same = {"order": self.order, "margin": self.margin, "exact": self.exact, "log": self.log}
        return LinearForm(self.index.selected(*learner.used()), **same), learner.restricted()  # type: ignore[arg-type]

    def state(self) -> State:
        settings = {"order": self.order, "margin": self.margin, "exact": self.exact, "log": self.log}
        return State(self.KIND, self.VERSION, settings).with_part("index", self.index.state())

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The form that has this state."""
        state.expect(cls.KIND, cls.VERSION)
        order, margin = state.count("order", 1, 2), state.setting("margin", float, at_least=0)
        exact, log = state.setting("exact", bool), state.setting("log", bool)
        return cls(from_state(state.part("index"), "features/"), order=order, margin=margin, exact=exact, log=log)
