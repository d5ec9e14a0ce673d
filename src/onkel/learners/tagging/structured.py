"""The structured perceptron: it labels a sentence by Viterbi, and learns from the sentences that it gets wrong.

    z = argmax v·Φ(x, z)          Φ counts features of tokens with their label, and labels with their neighbours
    if z ≠ y:  v ← v + Φ(x, y) − Φ(x, z)

v is kept as tables of weights (`onkel.models.tagging.tables`). The core changes them in place, together with the
counts, in one call; what is needed besides is allocated before. So a sentence is wholly learned or not at all. Other
threads must not read meanwhile: the estimator's lock sees to it.

Source: Collins 2002, Discriminative training methods for hidden Markov models; Cohen 2009, Margins, Mistakes, Ranking,
Sequential Learning and the Perceptron, sec. 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native
from onkel._core.transaction import assign
from onkel.learners.tagging.learner import TagLearnerBase
from onkel.learners.tagging.log import TagLog, log_of_state, rounds_of
from onkel.models.tagging.tables import TagTables
from onkel.models.tagging.token_scorer import LinearTokens, Transitions, sparse_weights
from onkel.models.tagging.updates import joined, places, renumbered, updates_arrays
from onkel.models.tagging.viterbi import Lattice
from onkel.models.tagging.voted_tokens import LinearRun
from onkel.states.state import Setting, State
from onkel.text.sentences import Sentences
from onkel.text.token_features import FeatureIndex, TokenFeatures

__all__ = ["StructuredLearner"]

Ints = NDArray[np.int64]

BLOCK = 4096  # rows of weights that are averaged at a time
PART_STEPS = 60_000_000  # additions of one native call, which then takes a fraction of a second


class StructuredLearner(TagLearnerBase):
    """The structured perceptron on features of tokens that have ids.

    Parameters
    ----------
    n_labels : the number of labels.
    order : 1: scores of two neighbouring labels; 2: of three as well.
    margin : m ≥ 0, by which the score of the right label is lowered at every token while learning.
    exact : True: features have no values and the margin is a whole number, so that all weights are whole numbers and
        float32 is exact; False: the weights are float64.
    observed : whether there are features of pairs of labels (B templates).
    log : whether all updates are kept, as a vote of all guesses needs them. Default False.
    """

    KIND: ClassVar[str] = "learner/structured"
    VERSION: ClassVar[int] = 1
    STATE_COUNTS: ClassVar[tuple[str, ...]] = ("n_seen", "n_updates", "n_rows", "norm_sq", "radius_sq")
    BUILT_FROM: ClassVar[tuple[str, ...]] = ("order", "margin", "exact", "observed", "log")

    def __init__(
        self, n_labels: int, *, order: int, margin: float, exact: bool, observed: bool, log: bool = False
    ) -> None:
        self.order, self.margin = order, float(margin)
        self.n_features = self.n_bigrams = 0
        dtype = np.dtype(np.float32 if exact else np.float64)
        self.tables = TagTables.zeros(n_labels, 0, 0 if observed else None, order, dtype)
        self.record = _native.TagCounts()
        self.log = TagLog() if log else None

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return self.tables.n_labels

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the weights."""
        return self.tables.features.w.dtype

    @property
    def n_rows(self) -> int:
        """Rows of the table of features that are in use, with row 0."""
        return self.record.n_rows

    # ---------------------------------------------------------------- changes

    def add_features(self, n_features: int, n_bigrams: int = 0) -> None:
        """Increases the number of features; the weights of new ones are 0."""
        tables = self.tables
        if n_features > len(tables.rows):
            room = max(n_features, 2 * len(tables.rows), 64)
            features = tables.features.with_rows(room + 1, self.n_rows)
            rows = np.concatenate([tables.rows, np.zeros(room - len(tables.rows), dtype=np.int32)])
            assign(tables, rows=rows, features=features)
        if tables.observed is not None and n_bigrams > len(tables.observed.w):
            tables.observed = tables.observed.with_rows(max(n_bigrams, 2 * self.n_bigrams, 64), self.n_bigrams)
        self.n_features, self.n_bigrams = max(self.n_features, n_features), max(self.n_bigrams, n_bigrams)

    def _empty(self, n_labels: int) -> StructuredLearner:
        """A learner of the same kind that has learned nothing, with the same counts."""
        exact, observed = self.dtype == np.float32, self.tables.observed is not None
        twin = StructuredLearner(n_labels, order=self.order, margin=self.margin, exact=exact, observed=observed)
        twin.record = self.record.copy()
        return twin

    def with_labels(self, labels: Sequence[str]) -> StructuredLearner:
        """A copy with these labels; the weights of new ones are 0. The labels that there are keep their numbers."""
        return self._wider(len(labels))

    def _wider(self, n_labels: int) -> StructuredLearner:
        """A copy with room for so many labels."""
        twin = self._empty(n_labels)
        twin.add_features(self.n_features, self.n_bigrams)
        L, old_labels = self.n_labels, np.arange(self.n_labels)
        before = np.append(old_labels, n_labels)  # labels keep their rows, and the beginning of a sentence comes last
        for name, table in self.tables.named().items():
            for part in ("w", "moment"):
                old, new = getattr(table, part), getattr(twin.tables.named()[name], part)
                if name == "features":
                    new[: self.n_rows, :L] = old[: self.n_rows, :L]
                elif name == "transitions":
                    new[before, :L] = old[:, :L]
                elif name == "second":
                    new[np.ix_(before, before, old_labels)] = old[..., :L]
                else:
                    new[: self.n_bigrams, before, :L] = old[: self.n_bigrams, :, :L]
        twin.tables.rows[: self.n_features] = self.tables.rows[: self.n_features]
        twin.log = None if self.log is None else self.log.copy()
        return twin

    def copy(self) -> StructuredLearner:
        """An independent copy."""
        return self._wider(self.n_labels)

    def used(self) -> tuple[Ints, Ints]:
        """The features, and those of pairs of labels, that an update has changed, ascending."""
        observed, none = self.tables.observed, np.empty(0, dtype=np.int64)
        pairs = none if observed is None else observed.changed(self.n_bigrams)
        return np.flatnonzero(self.tables.rows[: self.n_features]), pairs

    def restricted(self) -> StructuredLearner:
        """A copy with the features that an update has changed, numbered 0, 1, … in the order of their ids."""
        used, pairs = self.used()
        twin = self._empty(self.n_labels)
        twin.n_features, twin.n_bigrams = len(used), len(pairs)
        rows: dict[str, NDArray | slice] = {"features": np.append(0, self.tables.rows[used]), "observed": pairs}
        for name, table in self.tables.named().items():
            setattr(twin.tables, name, table.rows(rows.get(name, slice(None))))
        twin.tables.rows = np.arange(1, len(used) + 1, dtype=np.int32)
        twin.record.n_rows = len(used) + 1
        if self.log is not None:
            new = places(used, self.n_features), places(pairs, self.n_bigrams)
            parts = [part._replace(features=renumbered(part.features, *new)) for part in self.log.parts()]
            twin.log = TagLog(parts)
        return twin

    # ---------------------------------------------------------------- learning

    def part_size(self, sentences: Sentences) -> int:
        """How many sentences the next part should have, so that a native call takes a fraction of a second."""
        assert isinstance(sentences, TokenFeatures)
        f, ld = sentences, self.tables.features.w.shape[1]
        tokens, n = max(1, f.n_tokens), max(1, len(f.starts) - 1)
        step = len(f.ids) / tokens * ld + ld * (self.n_labels + 1) ** self.order
        if f.bigram_ids is not None:
            step += (len(f.bigram_ids) / tokens + 1) * ld * (self.n_labels + 1)
        return max(1, int(PART_STEPS / step / (tokens / n)))

    def learn(self, sentences: Sentences, y: NDArray[np.int32], order: Ints) -> None:
        """Learns from the sentences `order`, one after the other; y (tokens,) are the labels of all tokens."""
        assert isinstance(sentences, TokenFeatures)
        z, updated = np.empty(len(y), dtype=np.int32), np.zeros(len(order), dtype=np.uint8)
        if self.log is not None:
            self.log.begin(sentences, y, z, order, updated, self.n_seen)
        self.tables.learn(sentences, y, order, margin=self.margin, counts=self.record, z=z, updated=updated)

    # ---------------------------------------------------------------- what was learned

    def lattice(self, sentences: Sentences, *, averaged: bool) -> Lattice:
        """The scores of all labellings of a few sentences, under the present guess or the average of all."""
        assert isinstance(sentences, TokenFeatures)
        return self.tables.lattice(sentences, self.n_seen if averaged else None)

    def scorer(self, index: FeatureIndex, *, averaged: bool) -> LinearTokens:
        """What has been learned, as a frozen scorer with the features that it uses."""
        L, dtype, (used, pairs) = self.n_labels, self.dtype, self.used()
        tables, rounds = self.tables, self.n_seen if averaged else None
        rows = _blocks(tables.rows[used])
        weights = sparse_weights((tables.features.weights(rounds, some)[:, :L] for some in rows), dtype)
        first = tables.transitions.weights(rounds)[:, :L].astype(dtype)
        second = None if tables.second is None else tables.second.weights(rounds)[..., :L].astype(dtype)
        observed = None
        if tables.observed is not None:
            observed = sparse_weights((tables.observed.weights(rounds, some) for some in _blocks(pairs)), dtype)
        if index.has_names:
            index = index.selected(used, pairs)
        else:  # ids are hashes or columns: the rows between those in use are empty
            weights = weights.spread(used, self.n_features)
            observed = None if observed is None else observed.spread(pairs, self.n_bigrams)
        return LinearTokens(index, weights, Transitions(first, second), observed)

    def update_rounds(self) -> Ints | None:
        """The round of each update, from 1; None if they are not kept."""
        return None if self.log is None else rounds_of(self.log.parts())

    def run(self, index: FeatureIndex) -> LinearRun:
        """All guesses, frozen, with the features that they use; needs the log of all updates."""
        small = self.restricted() if index.has_names else self
        assert small.log is not None
        index = index.selected(*self.used()) if index.has_names else index
        sizes = {"n_labels": self.n_labels, "order": self.order, "n_features": small.n_features}
        n_pairs = None if self.tables.observed is None else small.n_bigrams
        return LinearRun(index, joined(small.log.parts()), self.dtype, n_pairs=n_pairs, **sizes)

    # ---------------------------------------------------------------- state

    def state(self) -> State:
        """Everything the learner knows, as named values and arrays; rows have L values, without padding."""
        settings: dict[str, Setting] = {"n_labels": self.n_labels, "order": self.order, "margin": self.margin}
        settings |= {"exact": self.dtype == np.float32, "observed": self.tables.observed is not None}
        settings |= self._count_settings()
        settings |= {"log": self.log is not None}
        arrays: dict[str, NDArray] = {}
        arrays["rows"] = self.tables.rows[: self.n_features].copy()
        sizes = {"features": self.n_rows, "observed": self.n_bigrams}
        for name, table in self.tables.named().items():
            used = np.s_[: sizes.get(name), ..., : self.n_labels]
            arrays |= {f"{name}/w": table.w[used].copy(), f"{name}/moment": table.moment[used].copy()}
        if self.log is not None:
            arrays |= updates_arrays(joined(self.log.parts()), "log/")
        return State(self.KIND, self.VERSION, settings, arrays)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The learner of a state; it learns on exactly as the one that gave it."""
        state.expect(cls.KIND, cls.VERSION)
        exact, observed = state.setting("exact", bool), state.setting("observed", bool)
        L, dtype = state.count("n_labels", at_least=1), np.float32 if exact else np.float64
        state.array("transitions/w", dtype, (L + 1, L))  # there are so many labels, for which memory is taken
        features = state.array("features/w", dtype, (None, L))
        pairs = len(state.array("observed/w", dtype, (None, L + 1, L))) if observed else 0
        rows = state.indices("rows", len(features), dtype=np.int32)
        once = len(features) > 0 and np.array_equal(np.sort(rows[rows != 0]), np.arange(1, len(features)))
        state.check(once, "'rows' must hold each row of 'features/w' but 0 once")
        order, margin = state.count("order", 1, 2), state.setting("margin", float, at_least=0)
        if order == 2:
            state.array("second/w", dtype, (L + 1, L + 1, L))
        log = state.setting("log", bool)
        learner = cls(L, order=order, margin=margin, exact=exact, observed=observed, log=log)
        learner.add_features(len(rows), pairs)
        learner.tables.rows[: len(rows)] = rows
        for name, table in learner.tables.named().items():
            size = {"features": len(features), "observed": pairs}.get(name, len(table.w))
            for part, weights in (("w", table.w), ("moment", table.moment)):
                shape = (size, *weights.shape[1:-1], L)
                weights[:size, ..., :L] = state.array(f"{name}/{part}", weights.dtype, shape)
        learner._read_counts(state)
        learner.record.n_rows = len(features)
        if learner.log is not None:
            learner.log = TagLog(log_of_state(state, learner.n_features, pairs if observed else None, L))
        return learner

    def __reduce__(self) -> tuple[object, ...]:
        return type(self).from_state, (self.state(),)


def _blocks(rows: NDArray) -> list[NDArray]:
    return [rows[first : first + BLOCK] for first in range(0, len(rows), BLOCK)]
