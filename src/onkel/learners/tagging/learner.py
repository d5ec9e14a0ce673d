"""The contract of learners that label sentences, and their epochs.

A learner takes sentences in one form (`onkel.text.sentences`), that of the reader that made it. It knows labels by
number only.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from onkel.learners.learner import NO_LOCK
from onkel.models.tagging.viterbi import Lattice
from onkel.states.state import State
from onkel.text.sentences import Sentences

__all__ = ["SentenceEpochs", "TagLearner", "learn_sentences"]

Ints = NDArray[np.int64]


@runtime_checkable
class TagLearner(Protocol):
    """What a tagger needs of its learner."""

    @property
    def n_labels(self) -> int:
        """The number of labels."""

    @property
    def margin(self) -> float:
        """By how much the score of the right label is lowered at every token while learning."""

    @property
    def n_seen(self) -> int:
        """Sentences learned from so far; one that is visited in three epochs counts three times."""

    @property
    def n_updates(self) -> int:
        """Sentences that changed what was learned."""

    @property
    def radius_sq(self) -> float:
        """The largest ‖Φ(x, y) − Φ(x, z)‖² of an update."""

    @property
    def norm_sq(self) -> float:
        """‖v‖² of the present guess."""

    def learn(self, sentences: Sentences, y: NDArray[np.int32], order: Ints) -> None:
        """Learns from the sentences `order`, one after the other; y (tokens,) are the labels of all tokens."""

    def part_size(self, sentences: Sentences) -> int:
        """How many sentences one call of `learn` should have."""

    def with_labels(self, n_labels: int) -> Self:
        """A copy with more labels."""

    def lattice(self, sentences: Sentences, *, averaged: bool) -> Lattice:
        """The scores of all labellings, under the present guess or the average of all."""

    def update_rounds(self) -> Ints | None:
        """The round of each update, from 1; None if updates are not kept, as a vote needs them."""

    def copy(self) -> Self:
        """An independent copy."""

    def state(self) -> State:
        """Everything the learner knows, as named values and arrays."""


def learn_sentences(
    learner: TagLearner,
    sentences: Sentences,
    y: NDArray[np.int32],
    order: Ints,
    lock: AbstractContextManager[None] = NO_LOCK,
    progress: Callable[[int], None] = lambda done: None,
) -> None:
    """Learns from sentences part by part; the lock is taken for each part, so that others can read in between."""
    step = learner.part_size(sentences)
    for first in range(0, len(order), step):
        part = np.ascontiguousarray(order[first : first + step])
        with lock:
            learner.learn(sentences, y, part)
        progress(first + len(part))


class SentenceEpochs:
    """Epochs over sentences, for `onkel.learners.epochs.run_epochs`."""

    def __init__(
        self, learner: TagLearner, sentences: Sentences, y: NDArray[np.int32], lock: AbstractContextManager[None]
    ) -> None:
        self._learner, self._sentences, self._y, self._lock = learner, sentences, y, lock

    @property
    def n_updates(self) -> int:
        """The updates so far."""
        return self._learner.n_updates

    def run(self, order: Ints | None, progress: Callable[[int], None]) -> int:
        """Runs one epoch, and returns the number of its updates."""
        before = self.n_updates
        every = np.arange(len(self._sentences.starts) - 1) if order is None else order
        learn_sentences(self._learner, self._sentences, self._y, every, self._lock, progress)
        return self.n_updates - before
