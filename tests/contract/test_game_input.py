"""The referee and the file reader refuse what is wrong and say why; a trace says what happened."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys

import numpy as np
import pytest

from onkel.errors import InputError, KindError, OnkelError, ParameterError, ShapeError, ValuesError
from onkel.game import EstimatorPlayer, Greedy, Orthogonal, PerceptronPlayer, PlayerA, RandomWithin, Scripted, play
from onkel.game import Trace as Kept
from onkel.kernels import RBF, Linear, Precomputed

U = [0.6, 0.8]


def scripted(X=((1.0, 0.0), (0.0, 1.0)), y=(1, 1), u=U, margin=0.6, radius_sq=1.0):
    return Scripted(X, y, u, margin, radius_sq)


class Recorder:
    """A B that keeps what it is shown."""

    def __init__(self):
        self.taught = []

    def score(self, x):
        return 0.0

    def learn(self, x, y):
        self.taught.append((x, y))
        return True


class Free(PlayerA):
    """An A that plays whatever it is given."""

    def __init__(self, *moves, n_rounds=1):
        super().__init__(U, 0.5, 1.0)
        self.given, self.n_rounds = moves, n_rounds

    def moves(self, score):
        return iter(self.given)


# ---------------------------------------------------------------- a cheating A


@pytest.mark.parametrize(
    ("move", "error", "message"),
    [
        (
            ([0.1, 0.1], 1),
            ValuesError,
            r"in round 1 A breaks the margin rule: y u·x must be at least γ = 0.5; got 0.14\.$",
        ),
        (([0.6, 0.8], -1), ValuesError, r"A breaks the margin rule: .* got -1\.$"),
        (([3.0, 4.0], 1), ValuesError, r"in round 1 A breaks the radius rule: ‖x‖² must be at most R = 1; got 25\.$"),
        (([0.6, 0.8], 0), ValuesError, r"in round 1 A breaks the label rule: y must be -1 or \+1; got 0\.$"),
        (([0.6, 0.8], "spam"), ValuesError, r"label rule: y must be -1 or \+1; got 'spam'"),
        (([0.6, 0.8], 2), ValuesError, "label rule"),
        (([0.6, 0.8, 0.0], 1), ShapeError, "A's x in round 1 must have 2 columns"),
        (([[0.6, 0.8]], 1), ShapeError, r"A's x in round 1 must be a vector, shape \(dimension,\); got shape \(1, 2\)"),
        (([np.nan, 0.8], 1), ValuesError, "A's x in round 1 must be finite"),
        ((["a", "b"], 1), KindError, "A's x in round 1 must hold real numbers"),
    ],
)
def test_a_move_against_the_rules_is_refused_before_b_learns_from_it(move, error, message):
    b = Recorder()
    with pytest.raises(error, match=message) as caught:
        play(Free(move), b)
    assert str(caught.value).startswith("play: ")
    assert b.taught == []


def test_the_round_of_the_foul_is_named_and_the_ones_before_were_played():
    a, b = scripted([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]], [1, 1, 1]), PerceptronPlayer()
    with pytest.raises(ValuesError, match="in round 3 A breaks the margin rule"):
        play(a, b)
    assert b.guess.tolist() == [1.0, 1.0]
    assert len(play(a, PerceptronPlayer(), rounds=2).rounds) == 2


@pytest.mark.parametrize("slack", [1e-10, -1e-10, 1e-8])
def test_the_rules_hold_up_to_a_billionth(slack):
    short, long = np.array(U) * 0.5 * (1 - slack), np.array(U) * np.sqrt(1 + slack)
    for x in (short, long):
        if slack < 1e-9:
            play(Free((x, 1)), Recorder())
        else:
            with pytest.raises(ValuesError, match="rule"):
                play(Free((x, 1)), Recorder())


def test_a_tiny_margin_is_not_a_foul_by_rounding():
    a = Greedy(50, 1.0, 1e-11, random_state=3, candidates=2)
    assert len(play(a, PerceptronPlayer(), rounds=50).rounds) == 50


# ---------------------------------------------------------------- players that cannot play


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Orthogonal(0), ParameterError, "Orthogonal: n must be a whole number >= 1; got 0"),
        (lambda: Orthogonal(2.0), KindError, "Orthogonal: n must be a whole number"),
        (lambda: Orthogonal(3, radius_sq=0.0), ParameterError, "Orthogonal: radius_sq must be a finite number > 0"),
        (lambda: RandomWithin(0), ParameterError, "RandomWithin: dimension must be a whole number >= 1"),
        (lambda: RandomWithin(2, -1.0), ParameterError, "RandomWithin: radius_sq must be"),
        (lambda: RandomWithin(2, margin=0.0), ParameterError, "RandomWithin: margin must be a finite number > 0"),
        (lambda: RandomWithin(2, 4.0, 2.1), ParameterError, "margin must be at most √radius_sq = 2, .*; got 2.1"),
        (lambda: RandomWithin(2, random_state=None), KindError, "RandomWithin: random_state must be a whole number"),
        (lambda: Greedy(2, random_state=-1), ParameterError, "Greedy: random_state must be a whole number >= 0"),
        (lambda: Greedy(2, candidates=0), ParameterError, "Greedy: candidates must be a whole number >= 1"),
        (lambda: scripted(u=[1.0, 1.0]), ParameterError, r"Scripted: u must be a unit vector; got ‖u‖ = 1.41421"),
        (lambda: scripted(u=1.0), ShapeError, "Scripted: u must be a vector"),
        (lambda: scripted(u=[np.inf, 0.0]), ValuesError, "Scripted: u must be finite"),
        (lambda: scripted(X=[[1.0, 0.0, 0.0]], y=[1]), ShapeError, "Scripted: X must have 2 columns"),
        (lambda: scripted(X=[1.0, 0.0]), ShapeError, "Scripted: X must have shape"),
        (lambda: scripted(y=[1, 1, 1]), ShapeError, r"y must have a label for each row of X; got \(3,\) for \(2, 2\)"),
        (lambda: scripted(margin="wide"), KindError, "Scripted: margin must be a finite number"),
        (
            lambda: PerceptronPlayer("rbf"),
            KindError,
            r"kernel must be a kernel on vectors such as Linear\(\); got 'rbf'",
        ),
        (lambda: PerceptronPlayer(Precomputed()), KindError, "kernel must be a kernel on vectors"),
        (lambda: EstimatorPlayer(object()), KindError, "estimator must have learn_one and predict_one"),
        (lambda: play(PerceptronPlayer(), Orthogonal(2)), KindError, "play: a must be an adversary"),
        (lambda: play(Orthogonal(2), Linear()), KindError, "play: b must be a PerceptronPlayer()"),
        (lambda: play(Orthogonal(2), Recorder(), rounds=0), ParameterError, "play: rounds must be a whole number >= 1"),
        (lambda: play(Greedy(2), Recorder()), ParameterError, r"rounds must be given, since Greedy\(.*\) never ends"),
    ],
)
def test_wrong_input_is_refused_with_its_name(make, error, message):
    with pytest.raises(error, match=message) as caught:
        make()
    assert isinstance(caught.value, OnkelError)


def test_a_perceptron_that_has_learned_must_not_start_a_game():
    b = PerceptronPlayer()
    trace = play(Orthogonal(2), b)
    for again in (lambda: play(Orthogonal(3), b), lambda: trace.replay(b)):
        with pytest.raises(ParameterError, match=r"B must start from v = 0; this PerceptronPlayer\(\) has learned"):
            again()
    assert b.n_mistakes == 2


@pytest.mark.parametrize("score", [float("nan"), None])
def test_a_b_without_a_score_is_refused(score):
    b = Recorder()
    b.score = lambda x: score
    with pytest.raises((ParameterError, KindError), match="play: B's score in round 1 must be a finite number"):
        play(Orthogonal(2), b)


def test_players_cannot_change_the_points_and_do_not_hold_the_callers():
    X = np.array([[1.0, 0.0], [0.0, 1.0]])
    b = Recorder()
    trace = play(scripted(X), b)
    with pytest.raises(ValueError, match="read-only"):
        b.taught[0][0][0] = 7.0
    a = scripted(X)
    X[:] = 9.0
    assert play(a, Recorder()).rounds == trace.rounds
    x = np.array([1.0, 2.0])
    for player in (PerceptronPlayer(), PerceptronPlayer(Linear())):
        player.learn(x, 1)
        x[:] = 1.0, 2.0
        assert player.guess.tolist() == [1.0, 2.0]
        x[:] = 0.0
        assert player.guess.tolist() == [1.0, 2.0]
        x[:] = 1.0, 2.0


# ---------------------------------------------------------------- estimators as B


class Parrot:
    """Predicts what it heard last, and counts nothing."""

    heard = None

    def predict_one(self, x):
        return self.heard

    def learn_one(self, x, y):
        self.heard = y


class Forgiving(Parrot):
    """Calls every second lesson a mistake."""

    lessons = 0

    def learn_one(self, x, y):
        self.lessons += 1
        self.n_mistakes_ = self.lessons // 2


def game(labels):
    y = np.array(labels)
    return Scripted(y[:, None] * np.ones((1, 2)) / 2, y, np.ones(2) / np.sqrt(2), 0.7, 0.5)


def test_an_estimator_that_does_not_count_errs_when_it_predicts_another_label_or_none():
    trace = play(game([1, 1, -1, -1, 1]), EstimatorPlayer(Parrot()))
    assert [r.mistake for r in trace.rounds] == [True, False, True, False, True]
    assert [r.score for r in trace.rounds] == [0.0, 1.0, 1.0, -1.0, -1.0]
    assert trace.b == "EstimatorPlayer(Parrot)"
    assert trace.rounds[0].v_dot_u is None


def test_an_estimator_that_counts_is_believed():
    trace = play(game([1, 1, -1, -1, 1]), EstimatorPlayer(Forgiving()))
    assert [r.mistake for r in trace.rounds] == [False, True, False, True, False]
    assert [r.mistakes for r in trace.rounds] == [0, 1, 1, 2, 2]


def test_labels_of_another_kind_are_refused():
    estimator = Parrot()
    estimator.heard = "positive"
    with pytest.raises(
        ValuesError, match=r"EstimatorPlayer\(Parrot\): predict_one must give a label, .*; got 'positive'"
    ):
        play(Orthogonal(2), EstimatorPlayer(estimator))


# ---------------------------------------------------------------- in words


def test_a_trace_prints_as_the_table_of_the_notes():
    assert str(play(Orthogonal(3, 4.0), PerceptronPlayer())).splitlines() == [
        "A: Orthogonal(3, radius_sq=4.0)",
        "   ‖x‖² ≤ R = 4, y u·x ≥ γ = 1.1547",
        "B: PerceptronPlayer()",
        "i  guess  x           y  score  result       v·u  ‖v‖²",
        "1  v0     (2, 0, 0)  +1      0  mistake 1  1.155     4",
        "2  v1     (0, 2, 0)  -1      0  mistake 2  2.309     8",
        "3  v2     (0, 0, 2)  +1      0  mistake 3  3.464    12",
        "B erred 3 times in 3 rounds; the theorem allows 3 = R/γ²: attained.",
    ]


def test_right_guesses_are_ticked_and_the_columns_of_v_need_a_v():
    lines = str(play(game([1, 1]), EstimatorPlayer(Parrot()))).splitlines()
    assert lines[3:6] == [
        "i  guess  x            y  score  result",
        "1  v0     (0.5, 0.5)  +1      0  mistake 1",
        "2  v1     (0.5, 0.5)  +1      1  ✓",
    ]


def test_long_games_and_long_points_are_shortened():
    text = str(play(RandomWithin(30), PerceptronPlayer(), rounds=100))
    assert len(text.splitlines()) == 3 + 1 + 12 + 1 + 6 + 1
    assert "… 82 more …" in text
    assert text.count(", …)") == 18
    assert max(map(len, text.splitlines())) < 120
    assert "more" not in str(play(RandomWithin(30), PerceptronPlayer(), rounds=18))


def test_the_last_sentence_compares_mistakes_with_the_bound():
    def last(a, b):
        return str(play(a, b)).splitlines()[-1]

    one = "B erred 1 time in 1 round; the theorem allows "
    assert last(Orthogonal(1), PerceptronPlayer()) == one + "1 = R/γ²: attained."
    assert last(game([1]), PerceptronPlayer()) == one + "1 < R/γ² = 1.02: attained."  # 0.5/0.49
    assert last(scripted(y=[1], X=[[1.0, 0.0]], margin=0.5), PerceptronPlayer()) == one + "4 = R/γ²."
    stubborn = play(game([1, 1, 1]), Recorder())
    assert not stubborn.holds
    assert str(stubborn).endswith(
        "B erred 3 times in 3 rounds; the theorem allows 1 < R/γ² = 1.02: exceeded, for B is no linear perceptron."
    )


def test_players_are_named_so_that_the_game_can_be_set_up_again():
    a = Greedy(3, 2.0, 0.5, candidates=5, random_state=7)
    assert repr(a) == "Greedy(3, radius_sq=2.0, margin=0.5, candidates=5, random_state=7)"
    assert play(eval(repr(a)), PerceptronPlayer(), rounds=5) == play(a, PerceptronPlayer(), rounds=5)
    assert repr(RandomWithin(3)) == "RandomWithin(3, radius_sq=1.0, margin=0.1, random_state=0)"
    assert repr(PerceptronPlayer(RBF(gamma=2.0))) == "PerceptronPlayer(RBF(gamma=2.0))"
    assert repr(game([1, -1])) == "Scripted(2 points)"
    assert play(Orthogonal(1), Recorder()).b == "Recorder"  # no address of an object


def test_a_trace_is_frozen_and_nothing_is_printed(capsys):
    trace = play(Orthogonal(2), PerceptronPlayer())
    for thing, name in ((trace, "margin"), (trace.rounds[0], "score")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(thing, name, 0.0)
    assert capsys.readouterr() == ("", "")


# ---------------------------------------------------------------- files


@pytest.fixture
def saved(tmp_path):
    path = tmp_path / "trace.jsonl"
    play(Orthogonal(2), PerceptronPlayer()).save(path)
    return path


def test_the_file_is_a_header_and_a_line_for_each_round(saved):
    header, *rounds = map(json.loads, saved.read_text(encoding="utf-8").splitlines())
    assert (header["format"], header["version"], header["n_rounds"]) == ("onkel-game", 1, 2)
    assert (header["a"], header["b"]) == ("Orthogonal(2, radius_sq=1.0)", "PerceptronPlayer()")
    assert header["u"] == pytest.approx([0.5**0.5, -(0.5**0.5)], rel=1e-15)
    assert rounds[1] == {
        "number": 2,
        "x": [0.0, 1.0],
        "y": -1,
        "score": 0.0,
        "mistake": True,
        "mistakes": 2,
        "v_dot_u": pytest.approx(2**0.5),
        "v_norm_sq": 2.0,
    }


def change(line, **values):
    def apply(lines):
        lines[line] = json.dumps(json.loads(lines[line]) | values)
        return lines

    return apply


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda lines: [], "not enough values"),
        (lambda lines: lines[:2], "n_rounds should be 1; got 2"),
        (lambda lines: [*lines, lines[-1]], "n_rounds should be 3; got 2"),
        (lambda lines: [*lines[:2], lines[2][:20]], "JSONDecodeError"),
        (lambda lines: lines[1:], "'format'"),
        (lambda lines: ["[1, 2]", *lines[1:]], "TypeError"),
        (lambda lines: [lines[0], "7", lines[2]], "TypeError"),
        (change(0, format="something else"), "format should be 'onkel-game'; got 'something else'"),
        (change(0, version=2), "version should be 1; got 2"),
        (change(0, colour="red"), "colour"),
        (change(0, margin=0.0), "margin must be a finite number > 0"),
        (change(0, u=[1.0, 1.0]), "u must be a unit vector"),
        (change(0, u=1.0), "TypeError"),
        (change(1, x=[0.0, 1.0]), "in round 1 A breaks the margin rule"),
        (change(2, x=[0.0, 5.0]), "in round 2 A breaks the radius rule"),
        (change(2, x=[0.0]), "."),
        (change(2, x=[0.0, "b"]), "real numbers"),
        (change(2, y=3), "in round 2 A breaks the label rule"),
        (change(2, y=-1.0), "line 3 should be round 2"),
        (change(2, score=None), "each score, .* as in round 2, must be a finite number"),
        (change(2, score=float("nan")), "must be a finite number"),
        (change(2, score=10**400), "got a number that no float holds"),
        (change(2, v_dot_u="far"), "must be a finite number"),
        (change(2, mistake=False), "line 3 should be round 2, mistakes so far 1; got"),
        (change(2, mistake="yes"), "TypeError"),
        (change(2, mistakes=7), "line 3 should be round 2, mistakes so far 2; got"),
        (change(2, number=1), "line 3 should be round 2"),
        (change(2, colour="red"), "colour"),
    ],
)
def test_a_broken_file_is_refused_with_its_name_and_the_fault(saved, damage, message):
    lines = damage(saved.read_text(encoding="utf-8").splitlines())
    saved.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(InputError, match=message) as caught:
        Kept.load(saved)
    assert str(caught.value).startswith(f"Trace.load: {saved} is not as Trace.save writes it; ")


def test_a_file_that_is_no_text_is_refused_and_a_missing_one_is_missing(tmp_path):
    (tmp_path / "binary").write_bytes(b"\x80\x04\x95\xff")
    with pytest.raises(InputError, match=r"binary is not as Trace\.save writes it; UnicodeDecodeError"):
        Kept.load(tmp_path / "binary")
    with pytest.raises(FileNotFoundError):
        Kept.load(tmp_path / "missing")


def test_the_game_needs_neither_the_estimators_nor_matplotlib():
    code = (
        "import sys; from onkel.game import *; play(Orthogonal(2), PerceptronPlayer()); "
        "raise SystemExit(bool({'matplotlib', 'onkel.estimators.perceptron', 'onkel.plot'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
