"""The voted tagger: guesses of a run label a sentence, each with a weight of the number of rounds it was used."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from onkel.data.token_features import FeatureIndex, TokenFeatures
from onkel.errors import InputError
from onkel.models.frozen import Frozen
from onkel.models.index_state import index_from_state, index_state
from onkel.models.state import State
from onkel.models.tag_tables import TagTables, new_counts
from onkel.models.tag_updates import Updates, updates_arrays, updates_of_arrays
from onkel.models.viterbi import Lattice

__all__ = ["VotedTokens"]


@dataclasses.dataclass(frozen=True, eq=False)
class VotedTokens(Frozen):
    """Guesses of a run that vote: guess k is the sum of the first k updates.

    Parameters
    ----------
    index : the features and their ids.
    updates : the updates of the run, in order; None if there were none.
    guesses : the guesses that vote, each by its number of updates, ascending, shape (voters,).
    weights : their weights, shape (voters,).
    dtype : float32 or float64, of the scores.
    n_labels, order, n_features : the number of labels, 1 or 2, and the number of features.
    n_pairs : the number of features of pairs of labels; None (default): there are none.

    Cost: all updates up to the last voter are made again, once for each call, and each voter labels each sentence.
    """

    KIND: ClassVar[str] = "model/voted_tokens"
    VERSION: ClassVar[int] = 1

    index: FeatureIndex
    updates: Updates | None
    guesses: NDArray[np.int64]
    weights: NDArray[np.float64]
    dtype: np.dtype
    n_labels: int
    order: int
    n_features: int
    n_pairs: int | None = None

    def read(self, sequences: Any) -> TokenFeatures:
        """The features of sentences, without those that are unknown."""
        return self.index.find(sequences)

    def lattices(self, sentences: TokenFeatures) -> Iterator[tuple[float, Lattice]]:
        """The weight and the scores of each voter."""
        tables = TagTables.zeros(self.n_labels, self.n_features, self.n_pairs, self.order, self.dtype)
        counts, made = new_counts(), 0
        for guess, weight in zip(self.guesses.tolist(), self.weights.tolist(), strict=True):
            if guess > made:
                assert self.updates is not None
                f, y, z, _ = self.updates
                order, updated = np.arange(made, guess), np.empty(guess - made, dtype=np.uint8)
                tables.learn(f, y, order, margin=0.0, counts=counts, z=z.copy(), updated=updated, replay=True)
                made = guess
            yield weight, tables.lattice(sentences, None)

    def lattice(self, sentences: TokenFeatures) -> Lattice:
        """The scores of the last voter."""
        return list(self.lattices(sentences))[-1][1]

    def state(self) -> State:
        """Features, updates and voters, as a `State`."""
        settings = {name: getattr(self, name) for name in ("n_labels", "order", "n_features", "n_pairs")}
        arrays = {"guesses": self.guesses, "weights": self.weights, **updates_arrays(self.updates, "updates/")}
        state = State(self.KIND, self.VERSION, {**settings, "dtype": self.dtype.name}, arrays)
        return state.with_part("index", index_state(self.index))

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The scorer that has this state."""
        state.expect(cls.KIND, cls.VERSION)
        sizes = {name: state.setting(name, int) for name in ("n_labels", "order", "n_features")}
        n_pairs = None if state.settings.get("n_pairs") is None else state.setting("n_pairs", int)
        if sizes["order"] not in (1, 2) or min(sizes.values()) < 0:
            raise InputError(f"the state of kind {cls.KIND!r}: order must be 1 or 2, and sizes ≥ 0; got {sizes}.")
        updates = updates_of_arrays(state, "updates/", sizes["n_features"], n_pairs or 0, sizes["n_labels"])
        guesses, weights = state.array("guesses"), state.array("weights")
        n_updates = 0 if updates is None else len(updates.rounds)
        ascend = guesses.ndim == 1 and len(guesses) > 0 and guesses[0] >= 0 and (np.diff(guesses) > 0).all()
        if not ascend or guesses.shape != weights.shape or guesses[-1] > n_updates:
            raise InputError(f"the state of kind {cls.KIND!r}: 'guesses' must ascend, from 0 to at most {n_updates}.")
        index, dtype = index_from_state(state.part("index")), np.dtype(state.setting("dtype", str))
        return cls(index, updates, guesses, weights, dtype, n_pairs=n_pairs, **sizes)
