"""The measures of rankings against their slow twins, scikit-learn, and cases worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from reference import ranking_metric_oracles as slow
from sklearn.metrics import average_precision_score, ndcg_score

from onkel.evaluate import mean_average_precision, mean_reciprocal_rank, ndcg

# items of up to five queries, each with a grade and a score; few different scores, so that many are tied
items = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.sampled_from("abcde")), min_size=1, max_size=14)
cuts = st.sampled_from([None, 1, 2, 3, 20])


def columns(rows):
    grades, scores, queries = (list(column) for column in zip(*rows, strict=True))
    assume(max(grades) > 0)
    assume(max(sum(row[1:] == other[1:] for other in rows) for row in rows) <= 6)  # 6! orders
    return grades, scores, queries


@given(items, cuts, st.sampled_from(["exponential", "linear"]))
def test_ndcg_is_the_mean_over_all_orders_of_tied_items(rows, k, gain):
    grades, scores, queries = columns(rows)
    expected = slow.mean_over_queries(lambda ranked: slow.ndcg(ranked, k, gain), grades, scores, queries)
    assert ndcg(grades, scores, queries, k=k, gain=gain) == pytest.approx(expected, rel=1e-12)


@given(items, cuts)
def test_average_precision_is_the_mean_over_all_orders_of_tied_items(rows, k):
    grades, scores, queries = columns(rows)
    expected = slow.mean_over_queries(lambda ranked: slow.average_precision(ranked, k), grades, scores, queries)
    assert mean_average_precision(grades, scores, queries, k=k) == pytest.approx(expected, rel=1e-12)


@given(items)
def test_the_reciprocal_rank_is_the_mean_over_all_orders_of_tied_items(rows):
    grades, scores, queries = columns(rows)
    expected = slow.mean_over_queries(slow.reciprocal_rank, grades, scores, queries)
    assert mean_reciprocal_rank(grades, scores, queries) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("k", [None, 1, 5, 100])
@pytest.mark.parametrize("tied", [False, True])
def test_ndcg_with_linear_gain_is_that_of_scikit_learn(k, tied):
    rng = np.random.default_rng(0)
    grades, scores = rng.integers(0, 5, size=(30, 40)), rng.standard_normal((30, 40))
    scores = np.round(scores) if tied else scores
    found = ndcg(grades.ravel(), scores.ravel(), np.repeat(np.arange(30), 40), k=k, gain="linear")
    assert found == pytest.approx(ndcg_score(grades, scores, k=k), rel=1e-12)


def test_ndcg_with_exponential_gain_is_that_of_scikit_learn_for_the_gains():
    rng = np.random.default_rng(1)
    grades, scores = rng.integers(0, 5, size=(30, 40)), rng.standard_normal((30, 40))
    found = ndcg(grades.ravel(), scores.ravel(), np.repeat(np.arange(30), 40), k=10)
    assert found == pytest.approx(ndcg_score(2.0**grades - 1, scores, k=10), rel=1e-12)


def test_without_ties_average_precision_is_that_of_scikit_learn():
    rng = np.random.default_rng(2)
    grades, scores = rng.integers(0, 2, size=(30, 40)), rng.standard_normal((30, 40))
    expected = np.mean([average_precision_score(*query) for query in zip(grades, scores, strict=True)])
    found = mean_average_precision(grades.ravel(), scores.ravel(), np.repeat(np.arange(30), 40))
    assert found == pytest.approx(expected, rel=1e-12)


def test_values_worked_by_hand():
    """Ranked grades 1, 3, 0: gains 1, 7, 0; the discounts are 1, 1/log2(3), 1/2."""
    expected = (1 + 7 / math.log2(3)) / (7 + 1 / math.log2(3))
    assert ndcg([3, 0, 1], [2.0, 1.0, 3.0]) == pytest.approx(expected, rel=1e-15)
    assert ndcg([3, 0, 1], [2.0, 1.0, 3.0], k=1) == pytest.approx(1 / 7, rel=1e-15)
    assert mean_average_precision([0, 1, 0, 1], [4, 3, 2, 1]) == (1 / 2 + 2 / 4) / 2
    assert mean_average_precision([0, 1, 0, 1], [4, 3, 2, 1], k=2) == (1 / 2) / 2
    assert mean_reciprocal_rank([0, 0, 1], [3, 2, 1]) == pytest.approx(1 / 3)
    assert mean_reciprocal_rank([1, 0], [0, 0]) == pytest.approx((1 + 1 / 2) / 2)  # tied: first or second


def test_a_large_group_of_ties_keeps_its_precision():
    """Of n tied items one is relevant: the reciprocal rank is H_n / n in the mean."""
    n = 100_000
    harmonic = np.sum(1 / np.arange(1, n + 1))
    assert mean_reciprocal_rank(np.eye(1, n)[0], np.zeros(n)) == pytest.approx(harmonic / n, rel=1e-9)
