"""Laws of the sequence game: Viterbi is as good as trying all labellings; the lemmas and the theorem hold for all A."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import labelling_oracles as slow
from strategies import seeds

from onkel.game import (
    FreshWords,
    LongSentences,
    RandomSentences,
    ScriptedSentences,
    SequenceEstimatorPlayer,
    StructuredPerceptronPlayer,
    markov_features,
    play_sequences,
    word_features,
)
from onkel.game.labellings import Labellings


def valued_features(sentence, position, previous, label):
    """Features with values, which look at the whole sentence."""
    return {("n", label): len(sentence), (previous, label): 0.5, (sentence[position - 1], label): -1.5}


@st.composite
def problems(draw):
    """A sentence, labels, features, whole numbers as weights for all of them, and a labelling."""
    x = draw(st.lists(st.sampled_from("abc"), min_size=1, max_size=5))
    labels = draw(st.sampled_from(["XY", "XYZ"]))
    features = draw(st.sampled_from([word_features, markov_features, valued_features]))
    rng = np.random.default_rng(draw(seeds))
    v = {name: float(rng.integers(-3, 4)) for name in Labellings(x, labels, features).names}
    return x, labels, features, v, [draw(st.sampled_from(labels)) for _ in x]


@given(problems())
def test_viterbi_and_trying_all_labellings_agree(problem):
    x, labels, features, v, y = problem
    sentence, scores = Labellings(x, labels, features), slow.scored(x, labels, features, v)
    best = sentence.best(v)
    assert scores[tuple(best)] == max(scores.values())
    assert slow.dot(sentence.phi(best), v) == max(scores.values())
    others = [score for z, score in scores.items() if z != tuple(y)]
    assert sentence.runner_up(v, y) == max(others)
    assert sentence.margin(v, y) == scores[tuple(y)] - max(others)
    assert sentence.phi(y) == {name: value for name, value in slow.phi(x, y, features).items() if value}
    assert sentence.widest(y) == max(slow.distances(x, y, labels, features).values())


def test_ties_go_to_the_labels_that_come_first():
    assert Labellings("abc", "XYZ", markov_features).best({}) == ["X", "X", "X"]
    assert Labellings("ab", "XY", word_features).best({("b", "Y"): 1.0}) == ["X", "Y"]


@settings(max_examples=15)
@given(seeds, st.integers(1, 12), st.integers(2, 3), st.integers(1, 4), st.sampled_from([0.001, 0.02]))
def test_no_random_sentences_beat_the_theorem_nor_either_lemma(seed, n_words, n_labels, length, margin):
    a = RandomSentences(n_words, n_labels, length, margin, random_state=seed)
    trace = play_sequences(a, StructuredPerceptronPlayer(a.labels, a.features), rounds=15)
    assert trace.holds
    v, k = {}, 0
    for r in trace.rounds:  # as the notes say, with every labelling tried
        scores = slow.scored(r.sentence, a.labels, a.features, v)
        assert scores[r.answer] == max(scores.values())
        assert r.mistake == (r.answer != r.labels)
        if r.mistake:
            right, wrong = (slow.phi(r.sentence, y, a.features) for y in (r.labels, r.answer))
            v = {name: v.get(name, 0) + right[name] - wrong[name] for name in {*v, *right, *wrong}}
            k += 1
        assert (r.mistakes, r.v_norm_sq) == (k, slow.dot(v, v))
        assert r.v_dot_u == pytest.approx(slow.dot(v, a.u), abs=1e-12)
        assert r.v_dot_u >= k * a.margin * (1 - 1e-9)
        assert r.v_norm_sq <= k * a.radius_sq
    assert (trace.lemma_1, trace.lemma_2) == (True, True)


@pytest.mark.parametrize("n", [1, 2, 7, 60])
def test_fresh_words_attain_the_bound_and_make_both_lemmas_equalities(n):
    a = FreshWords(n)
    trace = play_sequences(a, StructuredPerceptronPlayer(a.labels, a.features))
    assert trace.n_mistakes == len(trace.rounds) == n
    assert trace.bound == pytest.approx(n, rel=1e-12)
    for r in trace.rounds:
        assert r.v_dot_u == pytest.approx(r.number * a.margin, rel=1e-12)
        assert r.v_norm_sq == r.number * a.radius_sq


@pytest.mark.parametrize(("n", "length"), [(5, 2), (4, 3)])
def test_from_longer_sentences_of_fresh_words_b_learns_more_at_each_mistake(n, length):
    a = FreshWords(n, length)
    trace = play_sequences(a, StructuredPerceptronPlayer(a.labels, a.features))
    assert trace.n_mistakes == n
    assert trace.bound == pytest.approx(n * length**2)
    measured = ScriptedSentences(a.sentences, a.tags, a.u, labels=a.labels, features=word_features)
    assert (measured.margin, measured.radius_sq) == pytest.approx((a.margin, a.radius_sq))


def test_a_large_r_forces_many_mistakes_at_the_same_margin():
    games = [LongSentences(length) for length in (1, 2, 4, 8)]
    traces = [play_sequences(a, StructuredPerceptronPlayer(a.labels, a.features)) for a in games]
    mistakes = [trace.n_mistakes for trace in traces]
    for trace in traces:
        assert trace.margin == pytest.approx(math.sqrt(2 / 3))
        assert all(r.mistake for r in trace.rounds)
        assert trace.n_mistakes >= trace.bound / 4  # a constant part of what the theorem allows, for any length
        assert trace.holds
    assert mistakes[-1] > 3 * mistakes[-2] > 9 * mistakes[0]
    measured = ScriptedSentences(games[1].sentences, games[1].tags, games[1].u, features=games[1].features)
    assert (measured.margin, measured.radius_sq) == pytest.approx((games[1].margin, games[1].radius_sq))


class Twin:
    """A structured perceptron with the methods of an online tagger."""

    def __init__(self, a):
        self.player = StructuredPerceptronPlayer(a.labels, a.features)

    def predict_one(self, x):
        return self.player.answer(x) if self.player.n_mistakes else None

    def learn_one(self, x, y):
        self.player.learn(x, y)


@pytest.mark.parametrize("a", [FreshWords(4, 2), LongSentences(3)], ids=str)
def test_a_tagger_plays_as_the_perceptron_that_it_is(a):
    trace, plain = (
        play_sequences(a, b)
        for b in (SequenceEstimatorPlayer(Twin(a)), StructuredPerceptronPlayer(a.labels, a.features))
    )
    assert [r.mistake for r in trace.rounds] == [r.mistake for r in plain.rounds]
    assert [r.answer for r in trace.rounds[1:]] == [r.answer for r in plain.rounds[1:]]
    assert trace.rounds[0].answer == ()
    assert trace.lemma_1 is trace.lemma_2 is trace.rounds[0].v_dot_u is None


def test_a_seed_is_a_game_and_a_replay_is_the_same_game():
    def game(seed, rounds):
        a = RandomSentences(random_state=seed)
        return play_sequences(a, StructuredPerceptronPlayer(a.labels, a.features), rounds)

    one = game(3, 12)
    assert game(3, 12) == one
    assert game(3, 20).rounds[:12] == one.rounds
    assert game(4, 12) != one
    again = one.replay(StructuredPerceptronPlayer(one.labels, one.features))
    assert (again, hash(again), str(again)) == (one, hash(one), str(one))
