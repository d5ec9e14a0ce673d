"""The sequence game and its adversaries: player A chooses sentences and their labels, player B labels them.

In each round A sends a sentence x, B answers with labels ŷ, and A tells the right labels y. B has made a mistake if any
label is wrong. With Φ(x, y) = Σᵢ φ(x, i, yᵢ₋₁, yᵢ), the features of a labelled sentence, A has to keep two rules:

    margin   u·Φ(x, y) − u·Φ(x, z) ≥ δ    for every other labelling z, and a unit vector u that A keeps secret from B
    radius   ‖Φ(x, y) − Φ(x, z)‖² ≤ R²    for every z

B's strategy is the structured perceptron: v₀ = 0, the answer is the labelling with the largest v_k·Φ(x, ŷ), found by
Viterbi, and v_{k+1} = v_k + Φ(x, y) − Φ(x, ŷ) after each mistake. It is the ranking game, played on all labellings of a
sentence, and its lemmas are those of the perceptron with z = Φ(x, y) − Φ(x, ŷ) in the place of y x:

    lemma 1  v_k·u ≥ kδ        each mistake adds z·u ≥ δ
    lemma 2  ‖v_k‖² ≤ kR²      each mistake adds 2 v_k·z + ‖z‖², and the first term is ≤ 0, for B preferred ŷ
    theorem  k ≤ R²/δ²

How can A force many mistakes? By a small margin (`FreshWords`): every sentence is about a new word, so that nothing
learned helps, and u must be spread over all words. Or by a large R (`LongSentences`): words that say nothing, many in a
sentence, swing v so far at each mistake that the one word that counts is outvoted for long.

The notes write γ for δ, and bound ‖Φ‖² itself by R, which gives 4R in the place of R² (not 2R, as they have it).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from typing import Any, TypeAlias

import numpy as np

from onkel.checks import check_integer, check_number
from onkel.errors import ParameterError, ShapeError, ValuesError
from onkel.game.labellings import (
    Feature,
    Features,
    Label,
    Labellings,
    Sentence,
    SparseVector,
    Tags,
    add,
    check_features,
    check_labels,
    check_tags,
    dot,
    markov_features,
    minus,
    word_features,
)
from onkel.game.players import TOLERANCE

__all__ = [
    "FreshWords",
    "LongSentences",
    "RandomSentences",
    "ScriptedSentences",
    "SequencePlayerA",
]

Answer: TypeAlias = Callable[[Sentence], Tags]


class SequencePlayerA(ABC):
    """The base class of adversaries: the rules that an adversary promises to keep, and its moves.

    To write your own, derive from this class, call ``super().__init__(labels, features, u, margin, radius_sq)`` and
    write `moves`. Set `n_rounds` to the number of moves if they end; None (default) means that they never end.

    Parameters
    ----------
    labels : the labels to choose from, at least two; B's ties go to the first.
    features : φ, a function (sentence, position, label before, label) → names of features, or a dict from names to
        values; the label before the first position is None. Ready ones: `word_features`, `markov_features`.
    u : the secret unit vector, a dict from names of features to numbers.
    margin : δ > 0; every move keeps u·Φ(x, y) − u·Φ(x, z) ≥ δ for all labellings z ≠ y.
    radius_sq : R² > 0; every move keeps ‖Φ(x, y) − Φ(x, z)‖² ≤ R².
    """

    n_rounds: int | None = None

    def __init__(
        self, labels: Sequence[Label], features: Features, u: SparseVector, margin: float, radius_sq: float
    ) -> None:
        who = type(self).__name__
        self.labels, self.features, self.u = check_labels(labels, who), check_features(features, who), dict(u)
        self.margin = check_number(margin, "margin", who, above=0)
        self.radius_sq = check_number(radius_sq, "radius_sq", who, above=0)
        norm = math.sqrt(dot(self.u, self.u))
        if not abs(norm - 1) <= TOLERANCE:
            raise ParameterError(f"{who}: u must be a unit vector; got ‖u‖ = {norm:.12g}. Divide it by its norm.")

    @abstractmethod
    def moves(self, answer: Answer) -> Iterator[tuple[Sentence, Tags]]:
        """Starts a game: an iterator over moves (x, y). `answer(x)` are the labels that B gives at present."""


class ScriptedSentences(SequencePlayerA):
    """An adversary that plays given sentences; the referee checks them move by move.

    Parameters
    ----------
    sentences : lists of tokens, in the order of the rounds.
    tags : the right labels of each.
    u : a dict from names of features to numbers, of length 1, that prefers the right labels to all others.
    labels : the labels to choose from. None (default): those of `tags`, sorted.
    features : φ, a function (sentence, position, label before, label) → names of features, or a dict from names to
        values. None (default): `markov_features`.
    margin : δ > 0. None (default): the largest that all sentences keep.
    radius_sq : R² > 0. None (default): the smallest that all sentences keep; they must be short enough to try all their
        labellings, of which there may be 4096.

    Cost: n L² values of φ for each sentence of n tokens, and all its labellings without `radius_sq`.

    >>> from onkel.game import ScriptedSentences, word_features
    >>> u = {("time", "N"): 0.5, ("flies", "V"): 0.5, ("time", "V"): -0.5, ("flies", "N"): -0.5}
    >>> a = ScriptedSentences([["time", "flies"]], [["N", "V"]], u, features=word_features)
    >>> a.margin, a.radius_sq
    (1.0, 4.0)

    Source: the rules of the notes, sec. 4.
    """

    def __init__(
        self,
        sentences: Sequence[Sentence],
        tags: Sequence[Tags],
        u: SparseVector,
        *,
        labels: Sequence[Label] | None = None,
        features: Features | None = None,
        margin: float | None = None,
        radius_sq: float | None = None,
    ) -> None:
        who = type(self).__name__
        self.sentences, self.tags = [tuple(s) for s in sentences], [tuple(t) for t in tags]
        if not self.sentences or len(self.sentences) != len(self.tags):
            got = f"{len(self.sentences)} and {len(self.tags)}"
            raise ShapeError(f"{who}: sentences and tags must be as many, at least one; got {got}.")
        given = sorted({label for t in self.tags for label in t}, key=str) if labels is None else labels
        labels = check_labels(given, who)
        features = check_features(markov_features if features is None else features, who)
        for number, (x, y) in enumerate(zip(self.sentences, self.tags, strict=True), 1):
            check_tags(x, y, labels, f"{who}: in round {number}")
        if margin is None or radius_sq is None:
            scored = [Labellings(x, labels, features) for x in self.sentences]
            if radius_sq is None and not all(sentence.is_short for sentence in scored):
                raise ParameterError(f"{who}: radius_sq must be given, for a sentence has too many labellings to try.")
            if margin is None:
                margin = min(map(Labellings.margin, scored, repeat(u), self.tags))
                if margin <= 0:
                    wanted = f"{who}: u must prefer the right labels of each sentence to all others"
                    raise ValuesError(f"{wanted}; got a margin of {margin:.6g}.")
            if radius_sq is None:
                radius_sq = max(map(Labellings.widest, scored, self.tags))
        super().__init__(labels, features, u, margin, radius_sq)
        self.n_rounds = len(self.sentences)

    def __repr__(self) -> str:
        return f"ScriptedSentences({self.n_rounds} sentences)"

    def moves(self, answer: Answer) -> Iterator[tuple[Sentence, Tags]]:
        return zip(self.sentences, self.tags, strict=True)


class FreshWords(ScriptedSentences):
    """The adversary with a small margin: every word of every sentence is new, and B has to guess.

    Words w₁, w₂, …, all labelled "yes", where B's first guess is "no"; Φ counts (word, label). A unit vector that is
    right about n·length words has 1/√(2n·length) for each, and the margin is δ = √(2/(n·length)), while R² = 2·length:
    the smaller A makes the margin, the more sentences it may send. With one word a sentence, B errs n = R²/δ² times,
    as often as the theorem allows; with more, B learns them all from one mistake.

    Parameters
    ----------
    n : the number of sentences, ≥ 1; B errs in all of them.
    length : words per sentence, ≥ 1. Default 1. R²/δ² is n·length².

    Cost: 2n·length numbers.

    >>> from onkel.game import FreshWords, StructuredPerceptronPlayer, play_sequences
    >>> a = FreshWords(50)
    >>> trace = play_sequences(a, StructuredPerceptronPlayer(a.labels, a.features))
    >>> trace.n_mistakes, round(trace.bound, 9)
    (50, 50.0)

    Source: an answer to the notes' question "How could you force B to make lots and lots of mistakes?", sec. 1.2, in
    the game of sec. 4.
    """

    def __init__(self, n: int, length: int = 1) -> None:
        self.n = check_integer(n, "n", "FreshWords", at_least=1)
        self.length = check_integer(length, "length", "FreshWords", at_least=1)
        words = [[f"w{i * length + j + 1}" for j in range(length)] for i in range(n)]
        each = 1 / math.sqrt(2 * n * length)
        u: dict[Feature, float] = {(w, y): s * each for x in words for w in x for y, s in (("no", -1), ("yes", 1))}
        tags = [["yes"] * length] * n
        rules = {"margin": 2 * each, "radius_sq": 2.0 * length}
        super().__init__(words, tags, u, labels=("no", "yes"), features=word_features, **rules)

    def __repr__(self) -> str:
        return f"FreshWords({self.n}, length={self.length})"


def first_word_features(sentence: Sentence, position: int, previous: Any, label: Any) -> list[Feature]:
    """The word with its label, and whether the label is that of the word before."""
    again: list[Feature] = [] if position == 0 else ["same" if label == previous else "change"]
    return [(sentence[position], label), *again]


class LongSentences(ScriptedSentences):
    """The adversary with a large R: one word decides, and a crowd of words that say nothing outvotes it.

    A sentence is "ask" or "tell" and then up to `length` times "um"; all its labels are "Q" after "ask", and "S" after
    "tell". Φ counts (word, label), and how often a label is that of the word before; u needs only the first word and
    that labels stay, so that δ = √(2/3) for any length. But each mistake moves the weights of "um" by the number of
    them, R² grows as length², and B errs until the first word has gained enough weight to be heard. Of the sentences
    that a structured perceptron would get wrong next, A sends the one that adds most to ‖v‖², 2 v·z + ‖z‖², and it
    stops when none is left; it finds them by playing against one in advance.

    Parameters
    ----------
    length : the largest number of words that say nothing, from 1 to 11. Default 5.

    Cost: 2·length answers of B for each mistake; 0.1 s for 5, 0.6 s for 11.

    >>> from onkel.game import LongSentences, StructuredPerceptronPlayer, play_sequences
    >>> for a in (LongSentences(2), LongSentences(5)):
    ...     trace = play_sequences(a, StructuredPerceptronPlayer(a.labels, a.features))
    ...     trace.n_mistakes, round(trace.bound)
    (8, 18)
    (32, 102)

    Source: an answer to the notes' question "How could you force B to make lots and lots of mistakes?", sec. 1.2, in
    the game of sec. 4.
    """

    def __init__(self, length: int = 5) -> None:
        self.length = check_integer(length, "length", "LongSentences", at_least=1)
        if length > 11:
            raise ParameterError(f"LongSentences: length must be at most 11, to try all labellings; got {length!r}.")
        labels, each = ("Q", "S"), 1 / math.sqrt(6)
        u: dict[Feature, float] = {("ask", "Q"): each, ("ask", "S"): -each, ("tell", "Q"): -each, ("tell", "S"): each}
        u |= {"same": each, "change": -each}
        sentences, tags, radius_sq = _hurtful(length, labels)
        rules = {"margin": 2 * each, "radius_sq": radius_sq}
        super().__init__(sentences, tags, u, labels=labels, features=first_word_features, **rules)

    def __repr__(self) -> str:
        return f"LongSentences({self.length})"


def _hurtful(length: int, labels: Tags) -> tuple[list[Sentence], list[Tags], float]:
    """The sentences of `LongSentences` that a structured perceptron gets wrong one after the other, and their R²."""
    x = [(word, *["um"] * count) for word in ("ask", "tell") for count in range(1, length + 1)]
    pairs = [(s, ("Q" if s[0] == "ask" else "S",) * len(s)) for s in x]
    scored = [(Labellings(s, labels, first_word_features), y) for s, y in pairs]
    right = [sentence.phi(y) for sentence, y in scored]
    v: dict[Feature, float] = {}
    sent: list[int] = []
    while True:
        updates = {
            i: minus(right[i], sentence.phi(guess))
            for i, (sentence, y) in enumerate(scored)
            if (guess := tuple(sentence.best(v))) != y
        }
        if not updates:
            radius_sq = max(scored[i][0].widest(pairs[i][1]) for i in set(sent))
            return [pairs[i][0] for i in sent], [pairs[i][1] for i in sent], radius_sq
        worst = max(updates, key=lambda i: (2 * dot(v, updates[i]) + dot(updates[i], updates[i]), len(pairs[i][0])))
        sent.append(worst)
        v = add(v, updates[worst])


class RandomSentences(SequencePlayerA):
    """An adversary that plays random sentences which keep the rules, without end.

    u has random weights for each (word, label) and each pair of labels; a sentence of random words is labelled by u,
    and sent if no other labelling comes nearer than the margin. B soon learns u, and makes far fewer mistakes than the
    bound allows.

    Parameters
    ----------
    n_words : the number of different words, ≥ 1. Default 20.
    n_labels : the number of labels, ≥ 2. Default 3.
    length : words per sentence, ≥ 1; at most 4096 labellings, so that the radius rule can be checked. Default 5.
    margin : δ > 0. Default 0.05. Too large a margin, which no sentence of many keeps, is refused when A plays.
    random_state : the seed of u and of the sentences, an integer ≥ 0. Default 0.

    Cost: some n L² values of φ per round.

    >>> from onkel.game import RandomSentences, StructuredPerceptronPlayer, play_sequences
    >>> a = RandomSentences(random_state=0)
    >>> trace = play_sequences(a, StructuredPerceptronPlayer(a.labels, a.features), rounds=100)
    >>> trace.n_mistakes < 50 < trace.bound
    True

    Source: the rules of the notes, sec. 4.
    """

    def __init__(
        self, n_words: int = 20, n_labels: int = 3, length: int = 5, margin: float = 0.05, *, random_state: int = 0
    ) -> None:
        who = "RandomSentences"
        self.n_words = check_integer(n_words, "n_words", who, at_least=1)
        self.n_labels = check_integer(n_labels, "n_labels", who, at_least=2)
        self.length = check_integer(length, "length", who, at_least=1)
        self.random_state = check_integer(random_state, "random_state", who, at_least=0)
        if n_labels**length > 4096:
            raise ParameterError(f"{who}: n_labels**length must be at most 4096; got {n_labels}**{length}.")
        self.words = [f"w{i + 1}" for i in range(n_words)]
        labels = [f"L{i + 1}" for i in range(n_labels)]
        names: list[Feature] = [(w, y) for w in self.words for y in labels]
        names += [("after", p, y) for p in (None, *labels) for y in labels]
        weights = np.random.default_rng([random_state, 1]).normal(size=len(names))
        u = dict(zip(names, (weights / np.linalg.norm(weights)).tolist(), strict=True))
        # For counts a and b of `length` words or pairs of labels, ‖a − b‖² ≤ ‖a‖² + ‖b‖² ≤ 2 length².
        super().__init__(labels, markov_features, u, margin, 4.0 * length**2)

    def __repr__(self) -> str:
        shown = f"{self.n_words}, {self.n_labels}, {self.length}, margin={self.margin}"
        return f"RandomSentences({shown}, random_state={self.random_state})"

    def moves(self, answer: Answer) -> Iterator[tuple[Sentence, Tags]]:
        rng = np.random.default_rng([self.random_state, 2])
        while True:
            for _ in range(1000):
                x = tuple(self.words[i] for i in rng.integers(self.n_words, size=self.length))
                sentence = Labellings(x, self.labels, self.features)
                y = tuple(sentence.best(self.u))
                if sentence.margin(self.u, y) >= self.margin:
                    break
            else:
                raise ParameterError(f"{self!r}: margin must be smaller: no sentence of 1000 keeps it.")
            yield x, y
