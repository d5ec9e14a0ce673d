"""The voted tagger: guesses of a run label a sentence, each with a weight of the number of rounds it was used.

A run is all guesses of a learner: guess k is the sum of its first k updates. Each form of the perceptron keeps its
updates in its own way, and makes them again to get the scores of a guess:

    LinearRun   sentences with their features, made again by the core
    KernelRun   support vectors in the order in which they came            (onkel.models.tagging.kernel_tokens)
    MarkovRun   sums of the features of a function of the user's           (onkel.models.tagging.markov_tokens)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, ClassVar, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native
from onkel.errors import InputError
from onkel.models.tagging.tables import TagTables
from onkel.models.tagging.updates import Updates, updates_arrays, updates_of_arrays
from onkel.models.tagging.viterbi import Lattice
from onkel.states.frozen import Frozen
from onkel.states.state import State, from_state
from onkel.text.sentences import Sentences
from onkel.text.token_features import FeatureIndex, TokenFeatures

__all__ = ["LinearRun", "Run", "VotedTokens", "replayed"]

Ints = NDArray[np.int64]
MOST_LABELS = 2**15  # far more than can be learned: a table of scores has a number for every two labels


class Run(Protocol):
    """All guesses of a learner: guess k is the sum of its first k updates."""

    @property
    def n_labels(self) -> int:
        """The number of labels."""

    @property
    def n_updates(self) -> int:
        """The number of updates; there is one guess more."""

    def read(self, sequences: Any) -> Sentences:
        """Sentences in the form that `lattices` takes; refuses what cannot be read."""

    def lattices(self, sentences: Sentences, guesses: Ints) -> Iterator[Lattice]:
        """The scores of all labellings under each of some guesses, which ascend."""

    def state(self) -> State:
        """The settings and arrays of which `from_state` makes an equal run."""


@dataclasses.dataclass(frozen=True, eq=False)
class VotedTokens(Frozen):
    """Guesses of a run that vote: each labels a sentence, and its whole labelling gets its weight.

    Parameters
    ----------
    run : all guesses of a learner.
    guesses : the guesses that vote, each by its number of updates, ascending, shape (voters,).
    weights : their weights, shape (voters,).

    Cost: all updates up to the last voter are made again, once for each call, and each voter labels each sentence.
    """

    KIND: ClassVar[str] = "scorer/voted-tokens"
    VERSION: ClassVar[int] = 1

    run: Run
    guesses: Ints
    weights: NDArray[np.float64]

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return self.run.n_labels

    def read(self, sequences: Any) -> Sentences:
        """Sentences in the form that `lattices` takes."""
        return self.run.read(sequences)

    def lattices(self, sentences: Sentences) -> Iterator[tuple[float, Lattice]]:
        """The weight and the scores of each voter."""
        return zip(self.weights.tolist(), self.run.lattices(sentences, self.guesses), strict=True)

    def lattice(self, sentences: Sentences) -> Lattice:
        """The scores of the last voter."""
        return next(self.run.lattices(sentences, self.guesses[-1:]))

    def state(self) -> State:
        """Run and voters, as a `State`."""
        state = State(self.KIND, self.VERSION, {}, {"guesses": self.guesses, "weights": self.weights})
        return state.with_part("run", self.run.state())

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The scorer that has this state."""
        state.expect(cls.KIND, cls.VERSION)
        run = from_state(state.part("run"), "scorer/")
        if not (isinstance(run, Frozen) and hasattr(run, "n_updates")):
            got = type(run).__name__
            raise InputError(f"the state of kind {cls.KIND!r}: 'run' must be the guesses of a run; got a {got}.")
        guesses = state.indices("guesses", run.n_updates + 1)
        state.check(len(guesses) > 0 and (guesses[1:] > guesses[:-1]).all(), "'guesses' must ascend, one at least")
        return cls(run, guesses, state.array("weights", np.float64, guesses.shape))  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, VotedTokens):
            return NotImplemented
        same = np.array_equal(self.guesses, other.guesses) and np.array_equal(self.weights, other.weights)
        return same and self.run == other.run

    __hash__ = None


@dataclasses.dataclass(frozen=True, eq=False)
class LinearRun(Frozen):
    """All guesses of a structured perceptron on features of tokens.

    Parameters
    ----------
    index : the features and their ids.
    updates : the updates of the run, in order; None if there were none.
    dtype : float32 or float64, of the scores.
    n_labels, order, n_features : the number of labels, 1 or 2, and the number of features.
    n_pairs : the number of features of pairs of labels; None (default): there are none.
    """

    KIND: ClassVar[str] = "scorer/linear-run"
    VERSION: ClassVar[int] = 1

    index: FeatureIndex
    updates: Updates | None
    dtype: np.dtype
    n_labels: int
    order: int
    n_features: int
    n_pairs: int | None = None

    @property
    def n_updates(self) -> int:
        """The number of updates."""
        return 0 if self.updates is None else len(self.updates.rounds)

    def read(self, sequences: Any) -> TokenFeatures:
        """The features of sentences, without those that are unknown."""
        return self.index.find(sequences)

    def lattices(self, sentences: Sentences, guesses: Ints) -> Iterator[Lattice]:
        """The scores of all labellings under each of some guesses, which ascend."""
        assert isinstance(sentences, TokenFeatures)
        tables = TagTables.zeros(self.n_labels, self.n_features, self.n_pairs, self.order, self.dtype)
        for _ in replayed(self.updates, guesses, tables):
            yield tables.lattice(sentences, None)

    def state(self) -> State:
        """Features and updates, as a `State`."""
        settings = {name: getattr(self, name) for name in ("n_labels", "order", "n_features", "n_pairs")}
        arrays = updates_arrays(self.updates, "updates/")
        state = State(self.KIND, self.VERSION, {**settings, "dtype": self.dtype.name}, arrays)
        return state.with_part("index", self.index.state())

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The run that has this state."""
        state.expect(cls.KIND, cls.VERSION)
        index = from_state(state.part("index"), "features/")
        n_labels, order = state.count("n_labels", 1, MOST_LABELS), state.count("order", 1, 2)
        n_features = state.count("n_features", index.n_features, index.n_features)
        n_pairs = state.count("n_pairs", index.n_bigrams, index.n_bigrams) if state.has("n_pairs") else None
        updates = updates_of_arrays(state, "updates/", n_features, n_pairs, n_labels)
        dtype = np.dtype(state.choice("dtype", ("float32", "float64")))
        return cls(index, updates, dtype, n_labels, order, n_features, n_pairs)


def replayed(updates: Updates | None, guesses: Ints, tables: TagTables) -> Iterator[int]:
    """Makes updates again, in tables of zeros: yields each guess when the tables hold its weights."""
    counts, made = _native.TagCounts(), 0
    for guess in guesses.tolist():
        if guess > made:
            assert updates is not None
            f, y, z, _ = updates
            order, updated = np.arange(made, guess), np.empty(guess - made, dtype=np.uint8)
            tables.learn(f, y, order, margin=0.0, counts=counts, z=z.copy(), updated=updated, replay=True)
            made = guess
        yield guess
