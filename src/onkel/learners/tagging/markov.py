"""The structured perceptron on features that a function of the user's gives: any Markov features, as in the notes.

Φ(x, y) = Σ_t φ(x, t, y_{t−1}, y_t). The function is asked for every token, tag before and tag: L² calls a token, each
time that a sentence is visited.

Source: Cohen 2009, Margins, Mistakes, Ranking, Sequential Learning and the Perceptron, sec. 4.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native
from onkel._core.transaction import Transaction
from onkel.errors import InputError
from onkel.learners.tagging.learner import TagLearnerBase
from onkel.learners.tagging.log import rounds_of
from onkel.models.tagging.markov_tokens import (
    NO_STATE,
    Function,
    MarkovRun,
    MarkovSentences,
    MarkovTokens,
    Steps,
    local_features,
    markov_lattice,
)
from onkel.models.tagging.viterbi import Lattice, best
from onkel.states.state import State
from onkel.text.sentences import Sentences
from onkel.text.string_features import StringFeatures
from onkel.text.token_features import TokenFeatures

__all__ = ["MarkovLearner"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class MarkovLearner(TagLearnerBase):
    """The structured perceptron on a function φ(sequence, position, previous tag or None, tag).

    Parameters
    ----------
    function : φ, which returns a list of strings or a dict {feature: value}.
    labels : the tags.
    margin : m ≥ 0, by which the score of the right label is lowered at every token while learning.
    log : whether all updates are kept, as a vote of all guesses needs them. Default False.
    """

    def __init__(self, function: Function, labels: tuple[str, ...], *, margin: float, log: bool = False) -> None:
        self.function, self.labels, self.margin = function, labels, float(margin)
        self.index = StringFeatures()
        self.w, self.moment = np.zeros(0), np.zeros(0)
        self.record = _native.TagCounts()
        self.log: list[Steps] | None = [] if log else None  # a new list at every update

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return len(self.labels)

    def part_size(self, sentences: Sentences) -> int:
        """One sentence at a time: each is a transaction of its own."""
        return 1

    def learn(self, sentences: Sentences, y: NDArray[np.int32], order: Ints) -> None:
        """Learns from the sentences `order`, one after the other; y (tokens,) are the labels of all tokens."""
        assert isinstance(sentences, MarkovSentences)
        for s in order.tolist():
            f = self.index.add([local_features(self.function, sentences.sequences[s], self.labels)])
            if len(self.w) < self.index.n_features:
                more = np.zeros(max(self.index.n_features, 2 * len(self.w)) - len(self.w))
                with Transaction() as change:
                    change.set(self, w=np.r_[self.w, more], moment=np.r_[self.moment, more])
            self._learn_one(f, y[sentences.starts[s] : sentences.starts[s + 1]])

    def _learn_one(self, f: TokenFeatures, y: NDArray[np.int32]) -> None:
        lattice = markov_lattice([f], self.w, np.array([0, len(y)]), self.n_labels)
        gold = np.arange(len(y)), y
        lattice.E[gold] -= self.margin
        z, _ = best(lattice, threads=1)
        with Transaction() as change:
            if np.array_equal(y, z):
                change.set(self, record=self._counted())
            else:
                step = self._counts(f, y) - self._counts(f, z)
                sq_norm, round = float(step @ step), self.n_seen + 1
                change.set(self, w=self.w + step, moment=self.moment + round * step)
                change.set(self, record=self._counted(float(self.w @ step), sq_norm))
                if self.log is not None:
                    ids = np.flatnonzero(step)
                    sparse = Steps(np.array([0, len(ids)]), ids.astype(np.int32), step[ids], np.array([round]))
                    change.set(self, log=[*self.log, sparse])

    def _counts(self, f: TokenFeatures, y: NDArray[np.int32]) -> Floats:
        """Φ(x, y), as long as w."""
        L, before = self.n_labels, np.concatenate([[self.n_labels], y[:-1]])
        counts = np.zeros(len(self.w))
        for cell in (np.arange(len(y)) * (L + 1) + before) * L + y:
            part = slice(int(f.indptr[cell]), int(f.indptr[cell + 1]))
            np.add.at(counts, f.ids[part], 1.0 if f.values is None else f.values[part])
        return counts

    # ---------------------------------------------------------------- what was learned

    def _weights(self, averaged: bool) -> Floats:
        return self.w - self.moment / max(self.n_seen, 1) if averaged else self.w.copy()

    def scorer(self, *, averaged: bool) -> MarkovTokens:
        """What has been learned, frozen."""
        n = self.index.n_features
        return MarkovTokens(self.function, self.index.copy(), self._weights(averaged)[:n].copy(), self.labels)

    def update_rounds(self) -> Ints | None:
        """The round of each update, from 1; None if they are not kept."""
        return None if self.log is None else rounds_of(self.log)

    def run(self) -> MarkovRun:
        """All guesses, frozen; needs the log of all updates."""
        assert self.log is not None
        return MarkovRun(self.function, self.index.copy(), Steps.joined(self.log), self.labels)

    def lattice(self, sentences: Sentences, *, averaged: bool) -> Lattice:
        """The scores of all labellings, under the present guess or the average of all."""
        assert isinstance(sentences, MarkovSentences)
        return self.scorer(averaged=averaged).lattice(sentences)

    def with_labels(self, labels: Sequence[str]) -> MarkovLearner:
        """A copy with these labels."""
        twin = self.copy()
        twin.labels = tuple(labels)
        return twin

    def copy(self) -> MarkovLearner:
        """An independent copy."""
        twin = MarkovLearner(self.function, self.labels, margin=self.margin)
        twin.__dict__.update({key: value for key, value in vars(self).items() if key != "index"})
        twin.index = self.index.copy()
        return twin

    def state(self) -> State:
        """A function of the user's cannot be written."""
        raise InputError(NO_STATE)
