"""The log of a structured perceptron: every update, with what is needed to make it again.

A guess v_k is the sum of the first k updates, and an update is a sentence with its labels y and the labelling z that
was found. So the log of a run gives every guess again, as a vote of all guesses needs them.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from onkel.data.token_features import TokenFeatures
from onkel.models.tag_updates import Updates, chosen, tokens_of

__all__ = ["TagLog"]

Ints = NDArray[np.int64]


@dataclasses.dataclass
class _Part:
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
        self._part: _Part | None = None

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
        self._done, self._part = done, _Part(features, y, z, order, updated, n_seen)

    def parts(self) -> list[Updates]:
        """All updates so far, in parts."""
        last = [] if self._part is None or not self._part.updated.any() else [self._part.updates()]
        return [*self._done, *last]

    def copy(self) -> TagLog:
        """An independent copy; what is in it never changes."""
        return TagLog(self.parts())
