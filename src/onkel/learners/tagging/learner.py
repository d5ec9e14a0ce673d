"""The contract of learners that label sentences.

A learner takes sentences in one form (`onkel.text.sentences`), that of the reader that made it. It knows labels by
number only.
"""

from __future__ import annotations

from typing import Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from onkel.models.tagging.viterbi import Lattice
from onkel.states.state import State
from onkel.text.sentences import Sentences

__all__ = ["TagLearner"]

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
