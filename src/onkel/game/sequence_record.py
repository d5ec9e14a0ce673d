"""The referee of the sequence game, who checks every move of A against the rules; and the record of a game."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from onkel.errors import KindError, ParameterError, ValuesError
from onkel.game.labellings import Feature, Features, Label, Labellings, Sentence, Tags, check_tags, dot, minus
from onkel.game.players import TOLERANCE, player_name
from onkel.game.record import WIDE, GameRecord, outcome
from onkel.game.referee import check_start
from onkel.game.sequence_learners import SequencePlayerB, StructuredPerceptronPlayer
from onkel.game.sequences import ScriptedSentences, SequencePlayerA

__all__ = ["SequenceRound", "SequenceTrace", "play_sequences"]


@dataclass(frozen=True)
class SequenceRound:
    """One round of a sequence game.

    Attributes
    ----------
    number : the number of the round, from 1.
    sentence, labels : the sentence and its right labels.
    answer : B's labels, before it learned the right ones; empty if it had none.
    mistake : whether B erred.
    mistakes : the number of mistakes up to and including this round.
    v_dot_u, v_norm_sq : v·u and ‖v‖² after the round; None if B has no vector v.
    """

    number: int
    sentence: tuple[Any, ...]
    labels: tuple[Label, ...]
    answer: tuple[Label, ...]
    mistake: bool
    mistakes: int
    v_dot_u: float | None = None
    v_norm_sq: float | None = None


@dataclass(frozen=True)
class SequenceTrace(GameRecord):
    """The record of a sequence game; ``print`` shows it as a table, and two traces are equal if their contents are.

    Attributes
    ----------
    rounds : the rounds, in order.
    labels, features, u : the labels to choose from, φ, and the secret unit vector of A.
    margin, radius_sq : δ and R², the rules that A kept.
    a, b : the names of the players.

    Cost: the sentences, with two labels for each token.

    >>> from onkel.game import FreshWords, StructuredPerceptronPlayer, play_sequences
    >>> a = FreshWords(3)
    >>> trace = play_sequences(a, StructuredPerceptronPlayer(a.labels, a.features))
    >>> trace.holds, trace.lemma_1, trace.lemma_2
    (True, True, True)

    Source: the table of guesses, inputs and results in the notes, sec. 2, for the game of sec. 4.
    """

    rounds: tuple[SequenceRound, ...]
    labels: tuple[Label, ...]
    features: Features = field(repr=False)
    u: Mapping[Feature, float] = field(repr=False, hash=False)
    margin: float
    radius_sq: float
    a: str
    b: str

    COLUMNS = "i> guess< sentence< labels< answer< result< v·u> kδ> ‖v‖²> kR²>"
    FORMULA, LEARNER = "R²/δ²", "structured perceptron on Φ"

    @property
    def bound(self) -> float:
        """R²/δ²: no structured perceptron makes more mistakes."""
        return super().bound

    @property
    def lemma_1(self) -> bool | None:
        """Whether v·u ≥ kδ after every round; None if B has no vector v."""
        known = [(r.v_dot_u, r.mistakes * self.margin) for r in self.rounds if r.v_dot_u is not None]
        return all(got >= floor * (1 - TOLERANCE) - TOLERANCE for got, floor in known) if known else None

    @property
    def lemma_2(self) -> bool | None:
        """Whether ‖v‖² ≤ kR² after every round; None if B has no vector v."""
        known = [(r.v_norm_sq, r.mistakes * self.radius_sq) for r in self.rounds if r.v_norm_sq is not None]
        return all(got <= ceiling * (1 + TOLERANCE) for got, ceiling in known) if known else None

    def replay(self, b: SequencePlayerB) -> SequenceTrace:
        """The trace of a new game with the same sentences and labels against another B."""
        script = ScriptedSentences(
            [r.sentence for r in self.rounds],
            [r.labels for r in self.rounds],
            self.u,
            labels=self.labels,
            features=self.features,
            margin=self.margin,
            radius_sq=self.radius_sq,
        )
        return replace(play_sequences(script, b), a=self.a)

    def _rules(self) -> str:
        return f"u·Φ(x, y) − u·Φ(x, z) ≥ δ = {self.margin:.6g}, ‖Φ(x, y) − Φ(x, z)‖² ≤ R² = {self.radius_sq:.6g}"

    def _cells(self, r: SequenceRound) -> list[str]:
        words = [_shortened(part) for part in (r.sentence, r.labels, r.answer if r.mistake else ())]
        guess, result, along, length = outcome(r)
        floor, ceiling = ("" if r.v_dot_u is None else f"{r.mistakes * x:.4g}" for x in (self.margin, self.radius_sq))
        return [str(r.number), guess, *words, result, along, floor, length, ceiling]

    def _findings(self) -> list[str]:
        """The mistakes beside the bound; and both lemmas at the last round, if B has a vector v."""
        k, lines = self.n_mistakes, super()._findings()
        says = {True: "holds", False: "FAILS"}
        last = self.rounds[-1] if self.rounds else None
        if last is not None and self.lemma_1 is not None and self.lemma_2 is not None:
            lines.append(f"  lemma 1, v·u ≥ kδ: {says[self.lemma_1]}; {last.v_dot_u:.6g} against {k * self.margin:.6g}")
            ceiling = k * self.radius_sq
            lines.append(f"  lemma 2, ‖v‖² ≤ kR²: {says[self.lemma_2]}; {last.v_norm_sq:.6g} against {ceiling:.6g}")
        return lines


def _shortened(words: tuple[Any, ...]) -> str:
    """Words on one line, cut after `WIDE` letters."""
    text = " ".join(map(str, words))
    return text if len(text) <= WIDE else text[:WIDE].rsplit(" ", 1)[0] + " …"


def play_sequences(a: SequencePlayerA, b: SequencePlayerB, rounds: int | None = None) -> SequenceTrace:
    """Plays the sequence game and returns its record; a move of A that breaks the rules raises an error.

    In each round A sends a sentence, B answers with labels, A tells the right ones, and B learns. The rules are checked
    up to a relative 1e-9: the margin rule for all labellings, by Viterbi; the radius rule for all labellings of a
    sentence that has at most 4096, and of a longer one for B's answer only, which is all that the theorem needs.

    Parameters
    ----------
    a : an adversary: `FreshWords`, `LongSentences`, `RandomSentences`, `ScriptedSentences`, or another
        `SequencePlayerA`.
    b : a learner that has learned nothing yet: `StructuredPerceptronPlayer`, `SequenceEstimatorPlayer`, or another
        `SequencePlayerB`.
    rounds : the number of rounds, ≥ 1; the game is shorter if A runs out of moves. None (default): all moves of A,
        which must then be finitely many.

    Cost: one answer and one learning step of B per round, n L² values of φ, and all labellings of a short sentence.

    >>> from onkel.game import LongSentences, StructuredPerceptronPlayer, play_sequences
    >>> a = LongSentences(2)
    >>> trace = play_sequences(a, StructuredPerceptronPlayer(a.labels, a.features))
    >>> print(str(trace).splitlines()[-3])
    B erred 8 times in 8 rounds; the theorem allows 18 = R²/δ².

    Source: the notes, sec. 4.
    """
    who = "play_sequences"
    _check_players(a, b, rounds, who)
    played: list[SequenceRound] = []
    for number, (x, y) in enumerate(islice(a.moves(b.answer), rounds), 1):
        x, y = tuple(x), tuple(y)
        sentence = _check_move(a, x, y, number, who)
        answer = tuple(b.answer(x))
        if not sentence.is_short and len(answer) == len(x) and set(answer) <= set(a.labels):
            difference = minus(sentence.phi(y), sentence.phi(answer))
            _check_radius(a, dot(difference, difference), number, who)
        mistake = bool(b.learn(x, y))
        mistakes = mistake + (played[-1].mistakes if played else 0)
        v = getattr(b, "guess", None)
        grown = (None, None) if v is None else (dot(v, a.u), dot(v, v))
        played.append(SequenceRound(number, x, y, answer, mistake, mistakes, *grown))
    names = (player_name(a), player_name(b))
    return SequenceTrace(tuple(played), a.labels, a.features, a.u, a.margin, a.radius_sq, *names)


def _check_players(a: SequencePlayerA, b: SequencePlayerB, rounds: int | None, who: str) -> None:
    """Refuses players that cannot play this game."""
    if not isinstance(a, SequencePlayerA):
        raise KindError(f"{who}: a must be an adversary such as FreshWords(8); got {a!r}.")
    if not isinstance(b, SequencePlayerB):
        raise KindError(f"{who}: b must be a StructuredPerceptronPlayer(labels, features) or the like; got {b!r}.")
    check_start(a, b, rounds, StructuredPerceptronPlayer, who)
    if isinstance(b, StructuredPerceptronPlayer) and (set(b.labels) != set(a.labels) or b.features is not a.features):
        raise ParameterError(
            f"{who}: B must have A's labels and features, which the rules are about; "
            "make it by StructuredPerceptronPlayer(a.labels, a.features)."
        )


def _check_move(a: SequencePlayerA, x: Sentence, y: Tags, number: int, who: str) -> Labellings:
    """The labellings of a sentence that keeps the rules; an error names the rule that it breaks."""
    check_tags(x, y, a.labels, f"{who}: in round {number}")
    sentence = Labellings(x, a.labels, a.features)
    best, other = dot(sentence.phi(y), a.u), sentence.runner_up(a.u, y)
    if not best - other >= a.margin * (1 - TOLERANCE) - TOLERANCE * abs(best):
        raise ValuesError(
            f"{who}: in round {number} A breaks the margin rule: u·Φ(x, y) − u·Φ(x, z) must be at least "
            f"δ = {a.margin:.12g}; got {best - other:.12g}."
        )
    if sentence.is_short:
        _check_radius(a, sentence.widest(y), number, who)
    return sentence


def _check_radius(a: SequencePlayerA, square: float, number: int, who: str) -> None:
    """Refuses ‖Φ(x, y) − Φ(x, z)‖² above R²."""
    if square > a.radius_sq * (1 + TOLERANCE):
        raise ValuesError(
            f"{who}: in round {number} A breaks the radius rule: ‖Φ(x, y) − Φ(x, z)‖² must be at most "
            f"R² = {a.radius_sq:.12g}; got {square:.12g}."
        )
