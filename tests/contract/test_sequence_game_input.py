"""The referee of the sequence game refuses what is wrong and says why; a trace says what happened, and can be drawn."""

from __future__ import annotations

import pytest

from onkel.errors import KindError, ParameterError, ShapeError, ValuesError
from onkel.game import (
    FreshWords,
    LongSentences,
    PerceptronPlayer,
    RandomSentences,
    ScriptedSentences,
    SequenceEstimatorPlayer,
    SequencePlayerA,
    StructuredPerceptronPlayer,
    play_sequences,
    word_features,
)

U = {("a", "X"): 0.5, ("a", "Y"): -0.5, ("b", "X"): -0.5, ("b", "Y"): 0.5}


class Free(SequencePlayerA):
    """An A that plays whatever it is given."""

    def __init__(self, *moves, margin=1.0, radius_sq=4.0):
        super().__init__(["X", "Y"], word_features, U, margin, radius_sq)
        self.given, self.n_rounds = moves, len(moves)

    def moves(self, answer):
        return iter(self.given)


class Recorder:
    """A B that keeps what it is taught."""

    def __init__(self):
        self.taught = []

    def answer(self, x):
        return ["X"] * len(x)

    def learn(self, x, y):
        self.taught.append((x, y))
        return True


@pytest.mark.parametrize(
    ("move", "rules", "error", "message"),
    [
        (("ab", "XY"), {}, ValuesError, None),
        (("ab", "XX"), {}, ValuesError, r"in round 1 A breaks the margin rule: .* at least δ = 1; got -1\.$"),
        (("ab", "XY"), {"margin": 1.1}, ValuesError, r"margin rule: .* δ = 1.1; got 1\.$"),
        (("abab", "XYXY"), {}, ValuesError, r"in round 1 A breaks the radius rule: .* at most R² = 4; got 16\.$"),
        (("ab", "X"), {}, ShapeError, "in round 1 a sentence must be a list of tokens with a label for each"),
        (("", ""), {}, ShapeError, "a sentence must be a list of tokens"),
        (("ab", "XZ"), {}, ValuesError, r"in round 1 labels must be among \['X', 'Y'\]; got 'Z'"),
        # 2^13 labellings: only B's answer, which is wrong about every b, is held against the radius rule
        (("ab" * 6 + "a", "XY" * 6 + "X"), {"radius_sq": 71.9}, ValuesError, r"radius rule: .* R² = 71.9; got 72\.$"),
        (("ab" * 6 + "a", "XY" * 6 + "X"), {"radius_sq": 72.0}, ValuesError, None),
    ],
)
def test_a_move_against_the_rules_is_refused_before_b_learns_from_it(move, rules, error, message):
    b, a = Recorder(), Free((list(move[0]), list(move[1])), **rules)
    if message is None:
        assert play_sequences(a, b).n_mistakes == len(b.taught) == 1
        return
    with pytest.raises(error, match=f"^play_sequences: .*{message}"):
        play_sequences(a, b)
    assert b.taught == []


def learned():
    b = StructuredPerceptronPlayer(["no", "yes"], word_features)
    b.learn(["w"], ["yes"])
    return b


GOOD = ([["a", "b"]], [["X", "Y"]], U)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: FreshWords(0), ParameterError, "FreshWords: n must be a whole number >= 1; got 0"),
        (lambda: FreshWords(2, 0), ParameterError, "FreshWords: length must be a whole number >= 1"),
        (lambda: LongSentences(12), ParameterError, "LongSentences: length must be at most 11"),
        (lambda: LongSentences(0.5), KindError, "LongSentences: length must be a whole number"),
        (lambda: RandomSentences(n_labels=1), ParameterError, "n_labels must be a whole number >= 2"),
        (lambda: RandomSentences(length=9), ParameterError, r"n_labels\*\*length must be at most 4096; got 3\*\*9"),
        (lambda: RandomSentences(margin=0.0), ParameterError, "RandomSentences: margin must be a finite number > 0"),
        (lambda: RandomSentences(random_state=None), KindError, "random_state must be a whole number"),
        (
            lambda: play_sequences(RandomSentences(2, 2, 1, margin=9.0), Recorder(), rounds=1),
            ParameterError,
            "margin must be smaller: no sentence of 1000 keeps it",
        ),
        (
            lambda: ScriptedSentences([], [], U),
            ShapeError,
            "sentences and tags must be as many, at least one; got 0 and 0",
        ),
        (lambda: ScriptedSentences(*GOOD, labels="XY"), ParameterError, "labels must be at least two different ones"),
        (lambda: ScriptedSentences(*GOOD, labels=["X"]), ParameterError, "labels must be at least two different ones"),
        (lambda: ScriptedSentences(*GOOD, features="words"), KindError, "features must be a function such as"),
        (
            lambda: ScriptedSentences(*GOOD, features=lambda *_: "word"),
            KindError,
            "features must give a list of names or a dict from names to values; got 'word'",
        ),
        (
            lambda: ScriptedSentences([["a"]], [["Y"]], U, labels=["X", "Y"], features=word_features),
            ValuesError,
            "u must prefer the right labels of each sentence to all others; got a margin of -1",
        ),
        (
            lambda: ScriptedSentences([["a"] * 13], [["X"] * 13], U, labels=["X", "Y"], features=word_features),
            ParameterError,
            "radius_sq must be given",
        ),
        (
            lambda: ScriptedSentences(*GOOD[:2], {("a", "X"): 1.0, ("b", "Y"): 1.0}, features=word_features),
            ParameterError,
            r"u must be a unit vector; got ‖u‖ = 1.41421",
        ),
        (lambda: StructuredPerceptronPlayer(["X", "X"]), ParameterError, "labels must be at least two different ones"),
        (lambda: StructuredPerceptronPlayer(["X", "Y"]).learn(["a"], ["Z"]), ValuesError, "got 'Z'"),
        (lambda: SequenceEstimatorPlayer(object()), KindError, "estimator must have learn_one and predict_one"),
        (lambda: play_sequences(Recorder(), Recorder()), KindError, "a must be an adversary such as FreshWords"),
        (
            lambda: play_sequences(FreshWords(2), PerceptronPlayer()),
            KindError,
            "b must be a StructuredPerceptronPlayer",
        ),
        (lambda: play_sequences(FreshWords(2), learned()), ParameterError, "has learned before. Make a new one"),
        (
            lambda: play_sequences(FreshWords(2), StructuredPerceptronPlayer(["no", "yes"])),
            ParameterError,
            r"B must have A's labels and features, .* StructuredPerceptronPlayer\(a.labels, a.features\)",
        ),
        (lambda: play_sequences(RandomSentences(), Recorder()), ParameterError, "rounds must be given"),
        (lambda: play_sequences(FreshWords(2), Recorder(), 0), ParameterError, "rounds must be a whole number >= 1"),
    ],
)
def test_players_that_cannot_play_are_refused_with_the_reason(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_a_trace_prints_as_a_table_with_the_theorem_and_both_lemmas():
    a = FreshWords(2)
    shown = str(play_sequences(a, StructuredPerceptronPlayer(a.labels, a.features)))
    assert shown == "\n".join(
        [
            "A: FreshWords(2, length=1)",
            "   u·Φ(x, y) − u·Φ(x, z) ≥ δ = 1, ‖Φ(x, y) − Φ(x, z)‖² ≤ R² = 2",
            "B: StructuredPerceptronPlayer(2 labels, word_features)",
            "i  guess  sentence  labels  answer  result     v·u  kδ  ‖v‖²  kR²",
            "1  v0     w1        yes     no      mistake 1    1   1     2    2",
            "2  v1     w2        yes     no      mistake 2    2   2     4    4",
            "B erred 2 times in 2 rounds; the theorem allows 2 = R²/δ²: attained.",
            "  lemma 1, v·u ≥ kδ: holds; 2 against 2",
            "  lemma 2, ‖v‖² ≤ kR²: holds; 4 against 4",
        ]
    )
    long = str(play_sequences(FreshWords(30, 12), Recorder()))
    assert "… 12 more …" in long
    assert " yes …" in long
    assert "v·u  " not in long.split("\n", 2)[2]  # this B has no vector


def test_a_b_that_never_learns_exceeds_the_bound_and_the_trace_says_so():
    a = ScriptedSentences([["b"]] * 9, [["Y"]] * 9, U, labels=["X", "Y"], features=word_features)
    trace = play_sequences(a, Recorder())
    assert (trace.n_mistakes, trace.bound, trace.holds) == (9, 2.0, False)
    assert str(trace).endswith("the theorem allows 2 = R²/δ²: exceeded, for B is no structured perceptron on Φ.")


def test_the_game_is_drawn_as_mistakes_against_rounds():
    pytest.importorskip("matplotlib").use("Agg")
    a = LongSentences(3)
    shown = play_sequences(a, StructuredPerceptronPlayer(a.labels, a.features)).plot()
    assert shown.line_.get_ydata()[-1] == 11
    assert shown.bound_line_.get_ydata()[0] == pytest.approx(39)
    shown.figure_.clear()
