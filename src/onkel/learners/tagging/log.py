"""The log of a structured perceptron: every update, with what is needed to make it again.

A guess v_k is the sum of the first k updates, and an update is a sentence with its labels y and the labelling z that
was found. So the log of a run gives every guess again, as a vote of all guesses needs them.

    TagLog      of features that have ids; the core learns many sentences in a call, and writes into it meanwhile
    a list      of the forms that learn one sentence at a time: a new list is put in place together with the update
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from onkel.errors import InputError
from onkel.models.tagging.updates import Updates, chosen, tokens_of, updates_of_arrays
from onkel.states.state import State
from onkel.text.token_features import TokenFeatures

__all__ = ["TagLog", "Voters", "draw_voters", "log_of_state", "rounds_of"]

Ints = NDArray[np.int64]


class Voters(NamedTuple):
    """The guesses that vote, each by its number of updates, ascending, and the weights of their votes."""

    guesses: Ints
    weights: NDArray[np.float64]


def draw_voters(rounds: Ints, n_seen: int, n_voters: int | None, random: np.random.RandomState) -> Voters:
    """All guesses, with the number of rounds that each was used; or `n_voters`, drawn by these numbers.

    Parameters
    ----------
    rounds : the round of each update, from 1, shape (updates,).
    n_seen : the number of rounds.
    n_voters : ≥ 1, how many are drawn, where one that is drawn twice votes twice; None: all guesses vote.
    random : draws them.
    """
    used = np.diff(np.concatenate([[0], rounds, [n_seen]]))  # how long each of the guesses 0 … k was used
    if n_voters is not None and n_voters < np.count_nonzero(used):
        used = random.multinomial(n_voters, used / used.sum())
    guesses = np.flatnonzero(used)
    return Voters(guesses, used[guesses].astype(np.float64))


class _Rounds(Protocol):
    @property
    def rounds(self) -> Ints: ...


def rounds_of(parts: Sequence[_Rounds]) -> Ints:
    """The round of each update of a log, from 1."""
    return np.concatenate([np.empty(0, dtype=np.int64), *(part.rounds for part in parts)])


def log_of_state(state: State, n_features: int, n_pairs: int | None, n_labels: int) -> list[Updates]:
    """The log that a learner's state holds under "log/"; refuses one that does not fit its counts."""
    updates = updates_of_arrays(state, "log/", n_features, n_pairs, n_labels)
    if updates is not None and updates.rounds[-1] > state.setting("n_seen", int):
        raise InputError(f"the state of kind {state.kind!r}: the rounds of its log must be at most n_seen.")
    return [] if updates is None else [updates]


@dataclasses.dataclass
class _LearnedPart:
    """A part that is being learned: the core writes z and marks the updates while it learns."""

    features: TokenFeatures
    y: NDArray[np.int32]
    z: NDArray[np.int32]
    order: Ints
    updated: NDArray[np.uint8]
    before: int  # rounds before the part

    def updates(self) -> Updates:
        which = np.flatnonzero(self.updated)
        sentences = self.order[which]
        tokens = tokens_of(self.features.starts, sentences)
        return Updates(chosen(self.features, sentences), self.y[tokens], self.z[tokens], self.before + 1 + which)


class TagLog:
    """All updates of a run.

    A part is entered before it is learned, when none of its updates is marked yet. So there is nothing to do after the
    native call that learns it, and nothing can come between.
    """

    def __init__(self, updates: list[Updates] | None = None) -> None:
        self._done = updates or []
        self._part: _LearnedPart | None = None

    def begin(
        self,
        features: TokenFeatures,
        y: NDArray[np.int32],
        z: NDArray[np.int32],
        order: Ints,
        updated: NDArray[np.uint8],
        n_seen: int,
    ) -> None:
        """Enters a part that will be learned next."""
        done = self.parts()
        self._done, self._part = done, _LearnedPart(features, y, z, order, updated, n_seen)

    def parts(self) -> list[Updates]:
        """All updates so far, in parts."""
        last = [] if self._part is None or not self._part.updated.any() else [self._part.updates()]
        return [*self._done, *last]

    def copy(self) -> TagLog:
        """An independent copy; what is in it never changes."""
        return TagLog(self.parts())
