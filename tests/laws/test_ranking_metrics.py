"""Laws of the measures of rankings: what they may depend on, and where they are 1."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds

from onkel.evaluate import mean_average_precision, mean_reciprocal_rank, ndcg

every = pytest.mark.parametrize("measure", [ndcg, mean_average_precision, mean_reciprocal_rank])


def problem(seed, n=40, queries=6):
    rng = np.random.default_rng(seed)
    grades, scores = rng.integers(0, 4, size=n), rng.integers(-5, 5, size=n) / 2
    grades[0] = 1
    return grades, scores, rng.integers(0, queries, size=n), rng


@every
@given(seeds)
def test_neither_the_order_of_the_rows_nor_the_names_of_the_queries_count(measure, seed):
    grades, scores, queries, rng = problem(seed)
    expected = measure(grades, scores, queries)
    order = rng.permutation(len(grades))
    names = np.array(["f", "zz", "b", "query d", "a", "c"])[queries]
    assert measure(grades[order], scores[order], names[order]) == pytest.approx(expected, rel=1e-12)


@every
@given(seeds)
def test_only_the_order_of_the_scores_counts(measure, seed):
    grades, scores, queries, _ = problem(seed)
    assert measure(grades, np.exp(scores), queries) == measure(grades, scores, queries)


@every
@given(seeds)
def test_values_lie_between_0_and_1_and_the_grades_themselves_get_1(measure, seed):
    grades, scores, queries, _ = problem(seed)
    assert 0 < measure(grades, scores, queries) <= 1 + 1e-12
    assert measure(grades, grades, queries) == pytest.approx(1.0, rel=1e-12)


@every
@given(seeds)
def test_a_query_without_a_relevant_item_is_left_out(measure, seed):
    grades, scores, queries, _ = problem(seed)
    more = np.zeros(5), np.arange(5.0), np.full(5, 99)
    both = (np.concatenate(pair) for pair in zip((grades, scores, queries), more, strict=True))
    assert measure(*both) == measure(grades, scores, queries)


@every
@given(seeds)
def test_no_queries_are_one_query(measure, seed):
    grades, scores, _, _ = problem(seed)
    assert measure(grades, scores) == measure(grades, scores, ["only"] * len(grades))


@given(seeds, st.integers(1, 50))
def test_a_cut_beyond_the_longest_query_cuts_nothing(seed, beyond):
    grades, scores, queries, _ = problem(seed)
    for measure in (ndcg, mean_average_precision):
        assert measure(grades, scores, queries, k=40 + beyond) == measure(grades, scores, queries)
