"""A running tagger: the learner at work, its tags, the form of its sentences, and their lock.

It is to sentences what `onkel.estimators.online.running` is to rows. Tags may turn up late, as classes may; then the
learner gets room for them, and both change at once.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from onkel._core import Lock
from onkel._core.transaction import assign
from onkel.estimators.tagging.form import SentenceForm
from onkel.estimators.tagging.input import Tags
from onkel.learners.tagging.learner import TagLearner
from onkel.learners.tagging.markov import MarkovLearner
from onkel.learners.tagging.structured import StructuredLearner
from onkel.models.tagging.tagger import Tagger
from onkel.text.sentences import Sentences

__all__ = ["Cached", "RunningTagger", "SentenceBatch"]

Ints = NDArray[np.int64]


@dataclasses.dataclass
class SentenceBatch:
    """Sentences with their tags, read once: those of `order`, one after the other."""

    sentences: Sentences
    tags: Tags
    order: Ints
    numbers: dict[tuple[str, ...], NDArray[np.int32]] = dataclasses.field(default_factory=dict)

    @classmethod
    def of(cls, sentences: Sentences, tags: Tags) -> Self:
        """All of the sentences, in their order."""
        return cls(sentences, tags, np.arange(len(sentences.starts) - 1))

    @property
    def n(self) -> int:
        """The number of sentences."""
        return len(self.order)

    def part(self, index: slice | NDArray) -> SentenceBatch:
        """Some of the sentences."""
        return dataclasses.replace(self, order=np.ascontiguousarray(self.order[index]))

    def numbered(self, labels: tuple[str, ...]) -> NDArray[np.int32]:
        """The number of each token's tag among the labels, −1 if it is not among them; of all sentences."""
        if labels not in self.numbers:
            self.numbers.clear()
            self.numbers[labels] = self.tags.numbered(labels)
        return self.numbers[labels]

    def tags_of(self, position: int) -> Tags:
        """The tags of the sentence at a position of the order."""
        first, last = self.sentences.starts[self.order[position]], self.sentences.starts[self.order[position] + 1]
        return Tags(self.tags.values, self.tags.codes[first:last], self.tags.starts)


class Cached(NamedTuple):
    """The last model, and what it was made from."""

    learner: TagLearner
    made_from: tuple[Any, ...]
    tagger: Tagger


class TaggerSavepoint(NamedTuple):
    """A running tagger at one moment."""

    learner: TagLearner
    form: SentenceForm
    labels: tuple[str, ...]


class RunningTagger:
    """A learner of sentences at work.

    Parameters
    ----------
    learner, labels, form : what learns, the tags, and how sentences are read.
    fixed : whether other tags than these are an error.
    lock : whoever learns or reads takes it; learning leaves it between two parts.
    """

    def __init__(
        self, learner: TagLearner, labels: tuple[str, ...], form: SentenceForm, lock: Lock, *, fixed: bool
    ) -> None:
        self.learner, self.labels, self.form, self.lock, self.fixed = learner, labels, form, lock, fixed
        self.cache: Cached | None = None

    @property
    def known(self) -> tuple[str, ...] | None:
        """The tags among which all must be; None if others may come."""
        return self.labels if self.fixed else None

    @property
    def n_features(self) -> int:
        """The number of features that are known."""
        learner = self.learner
        return learner.index.n_features if isinstance(learner, MarkovLearner) else self.form.n_features

    # ---------------------------------------------------------------- learning

    def learn(self, batch: SentenceBatch) -> None:
        """Learns from sentences; one that brings tags of which there were none yet is learned with them."""
        starts, first = batch.sentences.starts, 0
        while first < batch.n:
            y, stop = batch.numbered(self.labels), batch.n
            if (y < 0).any():
                lengths = np.diff(starts)[batch.order[first:]]
                tokens = np.repeat(np.arange(first, batch.n), lengths)
                unknown = np.concatenate([y[starts[s] : starts[s + 1]] for s in batch.order[first:]]) < 0
                stop = int(tokens[unknown].min(initial=batch.n))
                y = np.maximum(y, 0)  # those of sentences that are not learned from yet
            if stop == first:
                self._learn_late(batch, first)
                first += 1
                continue
            with self.lock:
                self.form.prepare(self.learner)
            step = self.learner.part_size(batch.sentences)
            for start in range(first, stop, step):
                with self.lock:
                    part = np.ascontiguousarray(batch.order[start : min(start + step, stop)])
                    self.learner.learn(batch.sentences, y, part)
            first = stop

    def _learn_late(self, batch: SentenceBatch, position: int) -> None:
        """Learns from a sentence that brings tags: a copy of the learner does, and takes its place with the tags."""
        with self.lock:
            labels, learner = self._with_tags(batch.tags_of(position))
            self.form.prepare(learner)
            y = np.maximum(batch.numbered(labels), 0)  # tags of later sentences may be unknown
            learner.learn(batch.sentences, y, np.ascontiguousarray(batch.order[position : position + 1]))
            assign(self, labels=labels, learner=learner)

    def add_labels(self, tags: Tags) -> None:
        """Adds the tags of some tokens that are new, in the order in which they come."""
        with self.lock:
            labels, learner = self._with_tags(tags)
            assign(self, labels=labels, learner=learner)

    def _with_tags(self, tags: Tags) -> tuple[tuple[str, ...], TagLearner]:
        """The tags with those of some tokens, and a learner of them; a copy if there are new ones. Needs the lock."""
        present = dict.fromkeys(tags.codes.tolist())
        new = [tags.values[code] for code in present if tags.values[code] not in self.labels]
        if not new:
            return self.labels, self.learner
        labels = (*self.labels, *new)
        return labels, self.learner.with_labels(labels) if self.labels else self.form.new_learner(labels)

    def learn_chunk(self, batch: SentenceBatch) -> None:
        """Learns from a chunk of a stream."""
        self.learn(batch)

    def end_epoch(self) -> None:
        """There is nothing to merge at the end of an epoch."""

    # ---------------------------------------------------------------- copies and undoing

    def copy(self) -> RunningTagger:
        """An independent copy with the same lock; of form and learner, what an update has used."""
        form, learner = self.form.restricted(self.learner)
        return RunningTagger(learner, self.labels, form, self.lock, fixed=self.fixed)

    def savepoint(self) -> TaggerSavepoint:
        """The present state, as `rollback` takes it.

        Input is checked before anything is learned. Only a kernel or a function of the user's can refuse a sentence
        later, so that only their learners, which are small, are copied.
        """
        with self.lock:
            learner = self.learner if isinstance(self.learner, StructuredLearner) else self.learner.copy()
            return TaggerSavepoint(learner, self.form, self.labels)

    def rollback(self, to: Any) -> None:
        """Undoes all changes since the savepoint was made."""
        with self.lock:
            assign(self, learner=to.learner, form=to.form, labels=to.labels, cache=None)
