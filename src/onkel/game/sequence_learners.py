"""The learners of the sequence game: players B, which label sentences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from onkel.errors import KindError
from onkel.game.labellings import (
    Feature,
    Features,
    Label,
    Labellings,
    Sentence,
    Tags,
    add,
    check_features,
    check_labels,
    check_tags,
    markov_features,
    minus,
)
from onkel.game.players import player_name

__all__ = ["SequenceEstimatorPlayer", "SequencePlayerB", "StructuredPerceptronPlayer"]


@runtime_checkable
class SequencePlayerB(Protocol):
    """A learner: ``answer(x)`` are its labels of a sentence, and ``learn(x, y)`` returns whether it was a mistake.

    If it also has an attribute `guess`, its present vector v as a dict, the trace of the game records v·u and ‖v‖².
    """

    def answer(self, x: Sentence) -> Tags: ...
    def learn(self, x: Sentence, y: Tags) -> bool: ...


class StructuredPerceptronPlayer:
    """The learner of the theorem: a structured perceptron, which answers by Viterbi and learns from its mistakes only.

    v = Σ Φ(x, y) − Φ(x, ŷ) over its mistakes, and ŷ = argmax v·Φ(x, ŷ); ties go to the labels that come first.

    Parameters
    ----------
    labels : the labels to choose from, at least two.
    features : φ, a function (sentence, position, label before, label) → names of features, or a dict from names to
        values. Use those of A: the theorem is about them. None (default): `markov_features`.

    Cost: n L² values of φ per sentence of n tokens.

    >>> from onkel.game import StructuredPerceptronPlayer
    >>> b = StructuredPerceptronPlayer(["N", "V"])
    >>> b.answer(["time", "flies"]), b.learn(["time", "flies"], ["N", "V"])
    (['N', 'N'], True)
    >>> b.answer(["time", "flies"])
    ['N', 'V']

    Source: the notes, sec. 4; Collins 2002, Discriminative training methods for hidden Markov models.
    """

    def __init__(self, labels: Sequence[Label], features: Features | None = None) -> None:
        self.labels = check_labels(labels, "StructuredPerceptronPlayer")
        chosen = markov_features if features is None else features
        self.features = check_features(chosen, "StructuredPerceptronPlayer")
        self.guess: dict[Feature, float] = {}
        self.n_mistakes = 0

    def __repr__(self) -> str:
        return f"StructuredPerceptronPlayer({len(self.labels)} labels, {getattr(self.features, '__name__', '…')})"

    def answer(self, x: Sentence) -> list[Label]:
        """The labelling with the largest v·Φ."""
        return Labellings(x, self.labels, self.features).best(self.guess)

    def learn(self, x: Sentence, y: Tags) -> bool:
        """Adds Φ(x, y) − Φ(x, ŷ) if the answer ŷ is wrong, and returns whether it did."""
        check_tags(x, y, self.labels, "StructuredPerceptronPlayer")
        sentence = Labellings(x, self.labels, self.features)
        answer = sentence.best(self.guess)
        if answer == list(y):
            return False
        self.guess = add(self.guess, minus(sentence.phi(y), sentence.phi(answer)))
        self.n_mistakes += 1
        return True


class SequenceEstimatorPlayer:
    """An online tagger as player B: any object with ``learn_one(sentence, tags)`` and ``predict_one(sentence)``.

    A round is a mistake if the prediction before learning differs from the right labels; None, the prediction of an
    estimator that has learned nothing, does.

    Parameters
    ----------
    estimator : the tagger. The game teaches this object itself: give a new one for each game.

    Cost: that of the estimator, with two predictions per round.

    >>> from onkel.game import FreshWords, SequenceEstimatorPlayer, play_sequences
    >>> class Parrot:  # repeats the last labels
    ...     predict_one = lambda self, x: getattr(self, "heard", None)
    ...     learn_one = lambda self, x, y: setattr(self, "heard", y)
    >>> play_sequences(FreshWords(6), SequenceEstimatorPlayer(Parrot())).n_mistakes
    1
    """

    def __init__(self, estimator: Any) -> None:
        if not all(callable(getattr(estimator, name, None)) for name in ("learn_one", "predict_one")):
            raise KindError(
                f"SequenceEstimatorPlayer: estimator must have learn_one and predict_one; got {estimator!r}."
            )
        self.estimator = estimator

    def __repr__(self) -> str:
        return f"SequenceEstimatorPlayer({player_name(self.estimator)})"

    def answer(self, x: Sentence) -> list[Label]:
        """The predicted labels; [] if the estimator predicts None."""
        labels = self.estimator.predict_one(list(x))
        return [] if labels is None else list(labels)

    def learn(self, x: Sentence, y: Tags) -> bool:
        """Teaches the estimator one sentence, and returns whether it was a mistake."""
        wrong = self.answer(x) != list(y)
        self.estimator.learn_one(list(x), list(y))
        return wrong
