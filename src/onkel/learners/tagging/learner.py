"""The contract of learners that label sentences.

A learner takes sentences in one form (`onkel.text.sentences`), that of the reader that made it. It knows labels by
number only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native
from onkel.models.tagging.viterbi import Lattice
from onkel.states.state import Setting, State
from onkel.text.sentences import Sentences

__all__ = ["TagLearner", "TagLearnerBase"]

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

    def with_labels(self, labels: Sequence[str]) -> Self:
        """A copy with these labels: those that it has, with the same numbers, and new ones behind them."""

    def lattice(self, sentences: Sentences, *, averaged: bool) -> Lattice:
        """The scores of all labellings, under the present guess or the average of all."""

    def update_rounds(self) -> Ints | None:
        """The round of each update, from 1; None if updates are not kept, as a vote needs them."""

    def copy(self) -> Self:
        """An independent copy."""

    def state(self) -> State:
        """Everything the learner knows, as named values and arrays."""


class TagLearnerBase:
    """What all learners of sentences count (struct TagCounts in cpp/sequence/types.h), in `record`."""

    HYPOTHESES: ClassVar[tuple[str, ...]] = ("averaged", "voted", "last")
    STATE_COUNTS: ClassVar[tuple[str, ...]] = ("n_seen", "n_updates", "norm_sq", "radius_sq")
    UPDATES_ARE_MISTAKES: ClassVar[bool] = False  # with a margin they are not
    record: _native.TagCounts

    @property
    def n_seen(self) -> int:
        """Sentences learned from so far; one that is visited in three epochs counts three times."""
        return self.record.n_seen

    @property
    def n_updates(self) -> int:
        """Sentences that changed what was learned. Without a margin these were labelled wrongly."""
        return self.record.n_updates

    @property
    def radius_sq(self) -> float:
        """The largest ‖Φ(x, y) − Φ(x, z)‖² of an update."""
        return self.record.radius_sq

    @property
    def norm_sq(self) -> float:
        """‖v‖² of the present guess."""
        return self.record.norm_sq

    def _counted(self, before: float = 0.0, sq_norm: float | None = None) -> _native.TagCounts:
        """The record after one more sentence; with an update if there is a `sq_norm`, ‖Φ(x, y) − Φ(x, z)‖².

        `before` is v·(Φ(x, y) − Φ(x, z)) under the guess before it.
        """
        record = self.record.copy()
        record.n_seen += 1
        if sq_norm is not None:
            record.n_updates += 1
            record.norm_sq += 2 * before + sq_norm
            record.radius_sq = max(record.radius_sq, sq_norm)
        return record

    def _count_settings(self) -> dict[str, Setting]:
        """The counts, as settings of a state."""
        return {name: getattr(self.record, name) for name in self.STATE_COUNTS}

    def _read_counts(self, state: State) -> None:
        """Takes the counts from a state."""
        for name in self.STATE_COUNTS:
            number = state.setting(name, float, at_least=-np.inf) if name.endswith("_sq") else state.count(name)
            setattr(self.record, name, number)
