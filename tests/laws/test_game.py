"""Laws of the perceptron game, whatever A plays: the lemmas, the theorem, and that a replay is the same game."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds

from onkel.game import EstimatorPlayer, Greedy, Orthogonal, PerceptronPlayer, RandomWithin, Scripted, Trace, play
from onkel.kernels import RBF, Linear, Polynomial

RADII = st.sampled_from([1e-6, 0.25, 1.0, 3.0, 1e6])
TIGHTNESS = st.floats(0.05, 1.0)  # γ/√R
DIMENSIONS = st.integers(1, 8)


@st.composite
def adversaries(draw):
    radius_sq = draw(RADII)
    kind = draw(st.sampled_from([RandomWithin, Greedy]))
    options = {"candidates": draw(st.integers(1, 20))} if kind is Greedy else {}
    margin = draw(TIGHTNESS) * math.sqrt(radius_sq)
    return kind(draw(DIMENSIONS), radius_sq, margin, random_state=draw(seeds), **options)


@st.composite
def scripts(draw):
    """Points of whole numbers with the labels of a vector (±3, ±4)/5: all sums are exact but those with u."""
    rng = np.random.default_rng(draw(seeds))
    u = np.array([3, -4] if draw(st.booleans()) else [-3, 4]) / 5
    X = rng.integers(-20, 21, size=(draw(st.integers(1, 40)), 2))
    X = X[np.abs(X @ u) > 0.1]
    X = X if len(X) else np.array([[3, -4]])
    y = np.sign(X @ u).astype(int)
    return Scripted(X, y, u, float(np.min(y * (X @ u))), float(np.max((X**2).sum(axis=1))))


# ---------------------------------------------------------------- the theorem


@pytest.mark.parametrize("n", [1, 2, 3, 8, 50])
@pytest.mark.parametrize("radius_sq", [0.3, 1.0, 7.0, 1e6])
@pytest.mark.parametrize("kernel", [None, Linear()])
def test_orthogonal_points_attain_the_bound(n, radius_sq, kernel):
    trace = play(Orthogonal(n, radius_sq), PerceptronPlayer(kernel))
    assert trace.n_mistakes == len(trace.rounds) == n
    assert trace.bound == pytest.approx(n, rel=1e-12)
    assert trace.holds
    for r in trace.rounds:  # both lemmas are equalities
        assert r.v_dot_u == pytest.approx(r.number * trace.margin, rel=1e-12)
        assert r.v_norm_sq == pytest.approx(r.number * radius_sq, rel=1e-12)


@given(st.one_of(adversaries(), scripts()), st.sampled_from([None, Linear()]))
def test_no_adversary_beats_the_theorem_nor_either_lemma(a, kernel):
    trace = play(a, PerceptronPlayer(kernel), rounds=40)
    assert 1 <= trace.n_mistakes <= trace.bound * (1 + 1e-9)
    assert trace.holds
    k = 0
    for r in trace.rounds:
        k += r.mistake
        assert r.mistakes == k
        assert r.v_dot_u >= k * a.margin * (1 - 1e-9)
        assert r.v_norm_sq <= k * a.radius_sq * (1 + 1e-9)


@given(adversaries())
def test_every_move_keeps_the_rules(a):
    trace = play(a, PerceptronPlayer(), rounds=30)
    X, y = np.array([r.x for r in trace.rounds]), np.array([r.y for r in trace.rounds])
    assert np.linalg.norm(trace.u) == pytest.approx(1.0, rel=1e-12)
    assert ((X**2).sum(axis=1) <= a.radius_sq * (1 + 1e-12)).all()
    heights = y * (X @ np.array(trace.u))
    assert (heights >= a.margin * (1 - 1e-12)).all()
    if isinstance(a, Greedy):
        np.testing.assert_allclose(heights, a.margin, rtol=1e-9)


def test_random_points_fill_what_the_rules_leave():
    """In the plane: heights over all of [γ, √R], and on either side of u out to the circle."""
    a = RandomWithin(2, 4.0, 0.5, random_state=1)
    trace = play(a, PerceptronPlayer(), rounds=4000)
    X, y = np.array([r.x for r in trace.rounds]), np.array([r.y for r in trace.rounds])
    height, aside = y * (X @ a.u), y * (X @ [-a.u[1], a.u[0]])
    np.testing.assert_allclose(np.quantile(height, [0.0, 0.5, 1.0]), [0.5, 1.25, 2.0], atol=0.05)
    np.testing.assert_allclose(
        np.quantile(aside / np.sqrt(4 - height**2), [0, 0.25, 0.75, 1]), [-1, -0.5, 0.5, 1], atol=0.05
    )
    assert abs(y.mean()) < 0.05


@pytest.mark.parametrize("dimension", [2, 3, 10])
def test_greed_hurts_far_more_than_chance(dimension):
    def mean_mistakes(kind):
        games = (play(kind(dimension, margin=0.2, random_state=s), PerceptronPlayer(), rounds=60) for s in range(8))
        return np.mean([trace.n_mistakes for trace in games])

    assert mean_mistakes(Greedy) > 2 * mean_mistakes(RandomWithin)


@given(seeds, st.integers(1, 6), st.booleans())
def test_greed_plays_the_candidate_that_hurts_most(seed, dimension, learned):
    a = Greedy(dimension, 2.0, 0.4, candidates=9, random_state=seed)
    noise = np.random.default_rng(seed).normal(size=dimension)
    v = 3.0 * a.u + 0.2 * noise if learned else noise
    seen = []

    def score(x):
        seen.append(x)
        return float(v @ x)

    x, y = next(a.moves(score))
    assert len(seen) == 9
    signed = [float(np.sign(c @ a.u) * (v @ c)) for c in seen]
    wrong = [float(np.sum((v + np.sign(c @ a.u) * c) ** 2)) for c, s in zip(seen, signed, strict=True) if s <= 0]
    if wrong:
        assert y * (v @ x) <= 0
        assert np.sum((v + y * x) ** 2) == pytest.approx(max(wrong), rel=1e-12)
    else:
        assert y * (v @ x) == pytest.approx(min(signed), rel=1e-12)


def test_half_of_the_candidates_are_as_long_as_the_rules_allow():
    seen = []
    next(Greedy(4, 9.0, 1.0, candidates=400).moves(lambda x: float(seen.append(x @ x) or 0)))
    assert 160 < np.isclose(seen, 9.0).sum() < 240
    assert min(seen) < 1.5


# ---------------------------------------------------------------- the players B


@given(scripts())
def test_the_perceptron_plays_as_the_notes_say(a):
    v, k = np.zeros(2), 0
    for r in play(a, PerceptronPlayer()).rounds:
        assert r.score == v @ r.x
        assert r.mistake == (r.y * (v @ r.x) <= 0)
        if r.mistake:
            v, k = v + r.y * np.array(r.x), k + 1
        assert (r.mistakes, r.v_dot_u, r.v_norm_sq) == (k, pytest.approx(v @ a.u, abs=1e-12), v @ v)


@given(scripts())
def test_the_dual_form_with_a_linear_kernel_is_the_primal_one_round_for_round(a):
    assert play(a, PerceptronPlayer(Linear())).rounds == play(a, PerceptronPlayer()).rounds


@given(scripts(), st.sampled_from([RBF(gamma=0.01), Polynomial(degree=2)]))
def test_a_kernel_player_sums_kernel_values_over_its_mistakes(a, kernel):
    mistakes = []
    for r in play(a, PerceptronPlayer(kernel)).rounds:
        f = sum(y * float(kernel([x], [r.x])[0, 0]) for x, y in mistakes)
        assert r.score == pytest.approx(f, rel=1e-9, abs=1e-9)
        assert r.mistake == (r.y * r.score <= 0)
        assert r.v_dot_u is r.v_norm_sq is None
        if r.mistake:
            mistakes.append((r.x, r.y))


class Twin:
    """A perceptron with the methods of an online estimator."""

    def __init__(self):
        self.player = PerceptronPlayer()

    def predict_one(self, x):
        return None if self.player.n_mistakes == 0 else 1 if self.player.score(x) >= 0 else -1

    def learn_one(self, x, y):
        if self.player.learn(x, y):
            self.n_mistakes_ = self.player.n_mistakes  # appears with the first update, as after a fit


@given(scripts())
def test_an_estimator_that_counts_its_updates_plays_as_it_counts(a):
    trace, plain = play(a, EstimatorPlayer(Twin())), play(a, PerceptronPlayer())
    assert [r.mistake for r in trace.rounds] == [r.mistake for r in plain.rounds]
    assert [r.score for r in trace.rounds[1:]] == [1 if r.score >= 0 else -1 for r in plain.rounds[1:]]
    assert trace.rounds[0].score == 0


# ---------------------------------------------------------------- the same game again


@given(adversaries())
def test_a_seed_is_a_game(a):
    first, second = (play(a, PerceptronPlayer(), rounds=20) for _ in range(2))
    assert first == second
    longer = play(a, PerceptronPlayer(), rounds=30)
    assert longer.rounds[:20] == first.rounds
    assert longer != first


@pytest.mark.parametrize("kind", [RandomWithin, Greedy])
def test_another_seed_is_another_secret_and_other_moves(kind):
    one, two = (play(kind(3, random_state=s), PerceptronPlayer(), rounds=20) for s in (0, 1))
    assert one.u != two.u
    assert [r.y for r in one.rounds] != [r.y for r in two.rounds]


@given(st.one_of(adversaries(), scripts()), st.sampled_from([None, Linear(), RBF(gamma=0.5)]))
def test_saved_and_loaded_a_trace_is_the_same_to_the_last_bit(tmp_path_factory, a, kernel):
    trace = play(a, PerceptronPlayer(kernel), rounds=10)
    path = tmp_path_factory.mktemp("game") / "trace.jsonl"
    trace.save(path)
    again = Trace.load(path)
    assert again == trace
    assert hash(again) == hash(trace)
    assert str(again) == str(trace)
    assert again.replay(PerceptronPlayer(kernel)) == trace


@given(adversaries())
def test_a_replay_gives_another_b_the_same_points_and_labels(a):
    trace = play(a, PerceptronPlayer(), rounds=20)
    other = trace.replay(PerceptronPlayer(RBF()))
    assert [(r.x, r.y) for r in other.rounds] == [(r.x, r.y) for r in trace.rounds]
    assert (other.a, other.b) == (trace.a, "PerceptronPlayer(RBF(gamma=1.0))")
    assert (other.u, other.margin, other.radius_sq) == (trace.u, trace.margin, trace.radius_sq)
    assert other != trace
    assert trace.replay(PerceptronPlayer()) == trace
