"""Laws of the ranking game, whatever A plays: the lemmas, the corrected theorem, the rules, and replays."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import seeds

from onkel import RankingPerceptron
from onkel.errors import KindError, ParameterError, ShapeError, ValuesError
from onkel.game import Opposite, Orthogonal, RandomLists, RankerPlayer, RankingPlayer, ScriptedLists, play_ranking
from onkel.kernels import RBF, Linear


@pytest.mark.parametrize("n", [1, 2, 7, 30])
@pytest.mark.parametrize("radius_sq", [0.3, 1.0, 1e6])
@pytest.mark.parametrize(
    "b", [RankingPlayer, lambda: RankingPlayer(Linear()), lambda: RankerPlayer(RankingPerceptron())]
)
def test_opposite_items_attain_the_corrected_bound_and_break_that_of_the_notes(n, radius_sq, b):
    trace = play_ranking(Opposite(n, radius_sq), b())
    assert trace.n_mistakes == len(trace.rounds) == n
    assert trace.bound == pytest.approx(n)
    assert trace.observed_bound == pytest.approx(n)
    assert trace.notes_bound == pytest.approx(n / 2)
    assert trace.holds
    assert str(trace).endswith(f"the theorem allows {n} = 4R/γ²: attained (observed max ‖x_best − x_j‖²/γ² = {n}).")
    for r in trace.rounds:
        if r.v_dot_u is not None:  # both lemmas are equalities
            assert r.v_dot_u == pytest.approx(r.number * trace.margin)
            assert r.v_norm_sq == pytest.approx(r.number * 4 * radius_sq)


@given(seeds, st.integers(1, 6), st.integers(1, 6), st.floats(0.02, 2.0), st.sampled_from([0.25, 1.0, 1e4]))
@settings(max_examples=60)
def test_no_random_lists_beat_the_theorem_nor_either_lemma(seed, dimension, items, tightness, radius_sq):
    a = RandomLists(dimension, items, radius_sq, tightness * math.sqrt(radius_sq), random_state=seed)
    trace = play_ranking(a, RankingPlayer(), rounds=30)  # the referee checks the rules
    assert trace.n_mistakes <= trace.observed_bound * (1 + 1e-9) or trace.n_mistakes == 0
    assert trace.observed_bound <= trace.bound * (1 + 1e-9)
    assert trace.holds
    for r in trace.rounds:
        if r.v_dot_u is not None:
            assert r.v_dot_u >= r.mistakes * a.margin * (1 - 1e-9)
            assert r.v_norm_sq <= 4 * r.mistakes * radius_sq * (1 + 1e-9)


def test_a_replay_is_the_same_game_whatever_form_b_has():
    a = RandomLists(4, margin=0.1, random_state=3)
    trace = play_ranking(a, RankingPlayer(), rounds=60)
    assert trace.n_mistakes > 2
    assert trace.replay(RankingPlayer()) == trace
    assert play_ranking(RandomLists(4, margin=0.1, random_state=3), RankingPlayer(), rounds=60) == trace
    others = (RankingPlayer(Linear()), RankerPlayer(RankingPerceptron(hypothesis="last")))
    for b in others:
        assert [r.mistake for r in trace.replay(b).rounds] == [r.mistake for r in trace.rounds]
    assert trace.replay(RankingPlayer(RBF(gamma=0.1))).rounds[0].v_dot_u is None
    assert "… 42 more …" in str(trace)


def test_the_record_can_be_drawn():
    trace = play_ranking(Opposite(5), RankingPlayer())
    assert trace.plot().bound == pytest.approx(5)


UNIT = [1.0, 0.0]
BROKEN = {
    "margin rule": ([[[1.0, 0.0], [0.9, 0.0]]], [0], ValuesError),
    "radius rule": ([[[2.0, 0.0], [0.0, 0.0]]], [0], ValuesError),
    "index rule": ([[[1.0, 0.0], [0.0, 0.0]]], [2], ValuesError),
    "best must have an index": ([[[1.0, 0.0], [0.0, 0.0]]], [0, 1], ShapeError),
}


@pytest.mark.parametrize("rule", BROKEN)
def test_a_move_that_breaks_a_rule_is_refused(rule):
    lists, best, error = BROKEN[rule]
    with pytest.raises(error, match=rule):
        play_ranking(ScriptedLists(lists, best, UNIT, 0.5, 1.0), RankingPlayer())


def test_players_that_cannot_play_are_refused():
    with pytest.raises(KindError, match="adversary such as Opposite"):
        play_ranking(Orthogonal(3), RankingPlayer())
    with pytest.raises(KindError, match="RankingPlayer"):
        play_ranking(Opposite(3), RankingPerceptron)
    with pytest.raises(KindError, match="learn_one and predict_one"):
        RankerPlayer(object())
    with pytest.raises(ParameterError, match="never ends"):
        play_ranking(RandomLists(3), RankingPlayer())
    with pytest.raises(ParameterError, match="2√radius_sq = 2"):
        RandomLists(3, margin=2.1)
    used = RankingPlayer()
    play_ranking(Opposite(3), used)
    with pytest.raises(ParameterError, match="start from v = 0"):
        play_ranking(Opposite(3), used)


def test_a_single_item_is_always_found():
    trace = play_ranking(ScriptedLists([np.eye(2)[:1]], [0], UNIT, 0.5, 1.0), RankingPlayer())
    assert (trace.n_mistakes, trace.rounds[0].chosen, trace.observed_bound) == (0, 0, 0.0)
