"""Laws of the ranking perceptron: it is what the notes describe, whatever the form, the parts and the numbers."""

from __future__ import annotations

import copy
import dataclasses
import functools
import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from interruptions import lines_of, stop_at_line
from reference.ranking_oracles import SlowRanker, queries_of
from strategies import seeds

import onkel
from onkel import KernelPerceptron, RankingPerceptron, bounds
from onkel.kernels import RBF, Linear, Polynomial
from onkel.learners.perceptron.groups import Groups, grouped
from onkel.learners.perceptron.ranking import update_terms

KERNELS = ["linear", Linear(), Polynomial(degree=2, gamma=1.0, coef0=1.0), RBF(gamma=0.02)]
each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=["primal", "dual", "poly", "rbf"])
each_pairs = pytest.mark.parametrize("pairs", ["best", "all"])


def queries(seed, n=60, n_queries=12, d=3, grades=4):
    """Items of whole numbers, so that linear and polynomial scores are exact, with ties; random grades."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, size=(n, d)).astype(float)
    return X, rng.integers(0, grades, n).astype(float), rng.integers(0, n_queries, n)


def separable(seed, n=80, n_queries=15, d=4):
    """Queries that a secret vector ranks."""
    rng = np.random.default_rng(seed)
    X, u = rng.normal(size=(n, d)), rng.normal(size=d)
    return X, np.clip(np.round(X @ u), -1, 2), rng.integers(0, n_queries, n)


def slow(X, y, qid, kernel, pairs, epochs=1):
    twin = SlowRanker(Linear() if kernel == "linear" else kernel, pairs)
    for _ in range(epochs):
        for rows in queries_of(qid):
            twin.learn(X[rows], y[rows])
    return twin


# ---------------------------------------------------------------- the slow twin


@each_kernel
@each_pairs
@pytest.mark.parametrize("seed", range(2))
def test_it_makes_the_updates_of_the_slow_twin(kernel, pairs, seed):
    X, y, qid = queries(seed)
    ranker = RankingPerceptron(kernel, pairs=pairs, hypothesis="last").partial_fit(X, y, qid)
    twin = slow(X, y, qid, kernel, pairs)
    assert ranker.n_mistakes_ == len(twin.updates) > 3
    assert ranker.n_rounds_ == len(twin.rounds) == len(set(qid.tolist()))
    assert ranker.mistakes_["step"].tolist() == [step for _, step in twin.terms]
    np.testing.assert_array_equal(X[ranker.mistakes_["row"]], [item for item, _ in twin.terms])
    np.testing.assert_allclose(ranker.predict(X), twin.scores(X), atol=1e-9)


@each_kernel
@each_pairs
def test_the_averaged_guess_is_the_dense_average_of_all_guesses(kernel, pairs):
    X, y, qid = queries(4)
    ranker = RankingPerceptron(kernel, pairs=pairs, max_iter=3, shuffle=False).fit(X, y, qid)
    twin = slow(X, y, qid, kernel, pairs, epochs=ranker.n_iter_)
    np.testing.assert_allclose(ranker.predict(X), twin.averaged(X), atol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", Polynomial(degree=2, gamma=1.0, coef0=1.0), RBF(gamma=0.02)])
@each_pairs
def test_the_vote_is_that_of_every_guess_kept(kernel, pairs, monkeypatch):
    monkeypatch.setattr("onkel.models.ranking.SCORES_AT_ONCE", 40)  # a few guesses at a time
    X, y, qid = queries(5)
    ranker = RankingPerceptron(kernel, hypothesis="voted", pairs=pairs, max_iter=2, shuffle=False).fit(X, y, qid)
    twin = slow(X, y, qid, kernel, pairs, epochs=2)
    new = np.random.default_rng(6).integers(-3, 4, size=(12, 5, 3)).astype(float)
    assert [ranker.find_best(items) for items in new] == [twin.voted(items) for items in new]
    assert [ranker.model_.find_best(items) for items in new] == [twin.voted(items) for items in new]
    np.testing.assert_allclose(ranker.predict(X), twin.averaged(X), atol=1e-9)


@given(seeds)
@settings(max_examples=50)
def test_the_sum_over_violated_pairs_is_the_matrix_of_pairs(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 12))
    scores, grades = rng.integers(-2, 3, n).astype(float), rng.integers(0, 4, n).astype(float)
    violated = (grades[:, None] > grades) & (scores >= scores[:, None])
    update = update_terms(scores, grades, "all")
    steps = np.zeros(n)
    steps[update.items] = update.steps
    np.testing.assert_array_equal(steps, violated.sum(axis=1) - violated.sum(axis=0))


def test_a_query_of_one_item_or_one_grade_teaches_nothing_but_counts_as_a_round():
    ranker = RankingPerceptron().partial_fit([[1.0], [2.0], [3.0], [4.0]], [1, 1, 5, 0], ["a", "a", "b", "c"])
    assert (ranker.n_rounds_, ranker.n_mistakes_, len(ranker.mistakes_)) == (3, 0, 0)


def test_a_tie_at_zero_is_a_mistake_and_the_first_other_item_is_the_guess():
    ranker = RankingPerceptron(hypothesis="last").learn_one(np.eye(3), 1)
    assert ranker.n_mistakes_ == 1
    np.testing.assert_array_equal(ranker.coef_, [[-1.0, 1.0, 0.0]])


# ---------------------------------------------------------------- one learner, several forms


@pytest.mark.parametrize("seed", range(4))
def test_ranking_two_items_is_classifying_their_difference(seed):
    rng = np.random.default_rng(seed)
    pairs, best = rng.integers(-3, 4, size=(60, 2, 4)).astype(float), rng.integers(0, 2, 60)
    ranker = RankingPerceptron(hypothesis="last")
    clf = KernelPerceptron("linear", hypothesis="last")
    Z = (pairs[:, 1] - pairs[:, 0]) * np.where(best == 1, 1.0, -1.0)[:, None]  # x_best − x_other
    for items, b in zip(pairs, best, strict=True):
        ranker.learn_one(items, int(b))
    clf.partial_fit(Z, np.ones(60), classes=[-1, 1])
    assert ranker.n_mistakes_ == clf.n_mistakes_ > 5
    np.testing.assert_array_equal(np.unique(ranker.mistakes_["round"]), clf.mistakes_["round"])
    np.testing.assert_allclose(ranker.coef_, clf.coef_, atol=1e-12)


@each_pairs
@pytest.mark.parametrize("hypothesis", ["averaged", "last"])
def test_the_dual_form_with_a_linear_kernel_is_the_primal_form(pairs, hypothesis):
    X, y, qid = queries(7, n=200, n_queries=40)
    given = {"pairs": pairs, "hypothesis": hypothesis, "max_iter": 4, "random_state": 0}
    primal, dual = (RankingPerceptron(kernel, **given).fit(X, y, qid) for kernel in ("linear", Linear()))
    assert primal.n_mistakes_ == dual.n_mistakes_
    np.testing.assert_array_equal(primal.mistakes_, dual.mistakes_)
    np.testing.assert_allclose(primal.coef_, dual.coef_, atol=1e-9)
    np.testing.assert_allclose(primal.predict(X), dual.predict(X), atol=1e-9)
    assert primal.certificate_.bound == pytest.approx(dual.certificate_.bound, rel=1e-6)


@each_kernel
@each_pairs
@pytest.mark.parametrize("chunk", [1, 3, 7])
def test_a_chunk_is_its_queries_one_by_one(kernel, pairs, chunk, monkeypatch):
    X, y, qid = queries(8)
    whole = RankingPerceptron(kernel, pairs=pairs).partial_fit(X, y, qid)
    monkeypatch.setattr("onkel.learners.perceptron.ranking.CHUNK", 10)
    monkeypatch.setattr("onkel.learners.perceptron.primal.CHUNK_ROWS", 10)
    parted = RankingPerceptron(kernel, pairs=pairs)
    order = queries_of(qid)
    for start in range(0, len(order), chunk):
        rows = [row for query in order[start : start + chunk] for row in query]
        parted.partial_fit(X[rows], y[rows], qid[rows])
    assert whole.n_mistakes_ == parted.n_mistakes_
    np.testing.assert_array_equal(whole.mistakes_["step"], parted.mistakes_["step"])
    np.testing.assert_allclose(whole.predict(X), parted.predict(X), atol=1e-9)


def test_learn_one_is_a_chunk_whose_best_item_alone_has_a_higher_grade():
    rng = np.random.default_rng(9)
    lists, best = rng.integers(-3, 4, size=(40, 4, 3)).astype(float), rng.integers(0, 4, 40)
    one, chunk = RankingPerceptron(), RankingPerceptron()
    for items, b in zip(lists, best, strict=True):
        one.learn_one(items, b)
    grades = (np.arange(4) == best[:, None]).astype(float)
    chunk.partial_fit(lists.reshape(-1, 3), grades.ravel(), np.repeat(np.arange(40), 4))
    np.testing.assert_array_equal(one.mistakes_, chunk.mistakes_)
    np.testing.assert_array_equal(one.coef_, chunk.coef_)


@each_kernel
@each_pairs
def test_csr_rows_are_learned_as_dense_ones(kernel, pairs):
    X, y, qid = queries(10)
    X[np.random.default_rng(0).random(X.shape) < 0.4] = 0.0
    dense, sparse = (
        RankingPerceptron(kernel, pairs=pairs, random_state=0).fit(A, y, qid) for A in (X, sp.csr_array(X))
    )
    np.testing.assert_array_equal(dense.mistakes_, sparse.mistakes_)
    np.testing.assert_allclose(dense.predict(X), sparse.predict(sp.csr_array(X)), atol=1e-9)
    assert dense.find_best(X[:6]) == sparse.find_best(sp.csr_array(X[:6]))


@each_kernel
def test_float32_rows_are_learned_as_float64_ones(kernel):
    X, y, qid = queries(11)
    single, double = (RankingPerceptron(kernel, random_state=0).fit(A, y, qid) for A in (X.astype(np.float32), X))
    if kernel != KERNELS[3]:  # sums of whole numbers are exact in both
        np.testing.assert_array_equal(single.mistakes_, double.mistakes_)
        np.testing.assert_allclose(single.predict(X), double.predict(X), rtol=1e-5, atol=1e-5)
    assert single.certificate_.holds in (True, None)


def test_rows_of_a_query_may_stand_anywhere():
    X, y, qid = queries(12)
    rows = np.concatenate(queries_of(qid))
    given = {"random_state": 0, "max_iter": 3}
    mixed, sorted_ = (
        RankingPerceptron(**given).fit(X, y, qid),
        RankingPerceptron(**given).fit(X[rows], y[rows], qid[rows]),
    )
    np.testing.assert_array_equal(mixed.coef_, sorted_.coef_)
    np.testing.assert_array_equal(mixed.mistakes_["row"], rows[sorted_.mistakes_["row"]])
    names = np.array([f"query {q}" for q in qid])
    np.testing.assert_array_equal(mixed.coef_, RankingPerceptron(**given).fit(X, y, names).coef_)
    assert [part.tolist() for part in mixed.rank(X, qid)] == [
        sorted(query, key=lambda row: (-mixed.predict(X)[row], row)) for query in queries_of(qid)
    ]


@given(seeds, st.integers(1, 30))
@settings(max_examples=30)
def test_groups_select_whole_queries(seed, n):
    rng = np.random.default_rng(seed)
    qid = rng.integers(0, 6, n)
    order, starts = grouped(qid, n, "test")
    assert [order[a:b].tolist() for a, b in itertools.pairwise(starts)] == queries_of(qid)
    rows = onkel.kernels.prepare(Linear(), rng.normal(size=(n, 2)))
    groups = Groups(rows[order], starts, qid[order].astype(float), order)
    chosen = rng.integers(0, len(groups), 5)
    some = groups[chosen]
    assert some.row_ids.tolist() == [row for q in chosen for row in queries_of(qid)[q]]
    np.testing.assert_array_equal(some.rows.dense(), rows.dense()[some.row_ids])
    first = groups[1:3]
    assert first.row_ids.tolist() == [row for query in queries_of(qid)[1:3] for row in query]
    assert len(some) == 5
    assert first.starts[0] == 0


# ---------------------------------------------------------------- bounds


@each_kernel
@each_pairs
@pytest.mark.parametrize("make", [queries, separable])
@pytest.mark.parametrize("seed", range(2))
def test_the_mistakes_keep_to_the_bound_and_the_updates_to_both_lemmas(kernel, pairs, make, seed):
    X, y, qid = make(seed)
    ranker = RankingPerceptron(kernel, pairs=pairs, max_iter=20, random_state=seed).fit(X, y, qid)
    made = ranker.certificate_
    assert made.mistakes == ranker.n_mistakes_
    assert made.holds in (True, None)
    for comparator in ("last", "averaged", "best"):
        found = bounds.certificate(ranker, X, y, qid=qid, comparator=comparator)
        assert found.holds in (True, None)
        assert found.radius_sq == pytest.approx(made.radius_sq, rel=1e-9)
    assert bounds.certificate(ranker, X, y, qid=qid).bound == pytest.approx(made.bound, rel=1e-6)
    lemmas = bounds.trace(ranker, X, y, qid=qid)
    assert lemmas.lemma_3
    assert lemmas.lemma_4
    assert len(lemmas.progress) == ranker.n_mistakes_
    if pairs == "best":
        assert lemmas.radius_sq <= 4 * lemmas.item_radius_sq * (1 + 1e-12)


@pytest.mark.parametrize(("name", "lemma"), [("progress", "lemma_3"), ("norm_sq_ceiling", "lemma_4")])
def test_the_lemmas_have_the_numbers_of_the_notes_and_tell_where_one_fails(name, lemma):
    X, y, qid = separable(0)
    lemmas = bounds.trace(RankingPerceptron(random_state=0).fit(X, y, qid), X, y, qid=qid)
    assert isinstance(lemmas, bounds.RankingLemmas)
    assert not hasattr(lemmas, "lemma_1")
    floor = lemmas.progress_floor
    wrong = {"progress": floor - 1e-6 * np.abs(floor), "norm_sq_ceiling": lemmas.norm_sq * (1 - 1e-6)}
    for each, holds in ((lemmas, True), (dataclasses.replace(lemmas, **{name: wrong[name]}), False)):
        assert getattr(each, lemma) is holds
        line = next(line for line in str(each).splitlines() if lemma.replace("_", " ") in line)
        assert ("FAILS" in line) is not holds


def test_the_radius_is_the_largest_update_of_the_slow_twin():
    for kernel in KERNELS:
        for pairs in ("best", "all"):
            X, y, qid = queries(13)
            ranker = RankingPerceptron(kernel, pairs=pairs, max_iter=1, shuffle=False).fit(X, y, qid)
            assert ranker.certificate_.radius_sq == pytest.approx(slow(X, y, qid, kernel, pairs).radius_sq())


@pytest.mark.parametrize("n", [2, 5, 16])
@pytest.mark.parametrize("kernel", ["linear", Linear()])
def test_opposite_items_break_the_bound_of_the_notes_and_attain_the_corrected_one(n, kernel):
    """aᵢ = eᵢ against bᵢ = −eᵢ: R = 1, margin 2/√n, n mistakes; 2R/γ² = n/2, 4R/γ² = n."""
    X, y = np.repeat(np.eye(n), 2, axis=0) * np.tile([1.0, -1.0], n)[:, None], np.tile([1.0, 0.0], n)
    ranker = RankingPerceptron(kernel).fit(X, y, np.repeat(np.arange(n), 2))
    found = ranker.certificate_
    assert (ranker.n_mistakes_, found.radius_sq, found.form) == (n, 4.0, "separable")
    assert found.margin == pytest.approx(2 / np.sqrt(n))
    assert found.bound == pytest.approx(n)
    assert dict(found.constants)["4 max K(x, x)/margin²"] == pytest.approx(n)
    assert found.holds
    assert n > 2 / found.margin**2 * (1 + 1e-9)  # 2R/γ²
    assert f"at most {n}" in str(found)
    assert "max ‖z‖² = 4" in str(found)
    lemmas = bounds.trace(ranker, X, y, qid=np.repeat(np.arange(n), 2))
    np.testing.assert_allclose(lemmas.norm_sq, lemmas.norm_sq_ceiling)  # equalities, and above the 2kR of the notes
    assert f"4kR = {4 * n}" in str(lemmas)


# ---------------------------------------------------------------- interruptions


@pytest.mark.parametrize("kernel", ["linear", RBF(gamma=0.1)])
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_stop_leaves_a_whole_number_of_rounds_and_an_error_none(kernel, error, monkeypatch):
    monkeypatch.setattr("onkel.learners.perceptron.ranking.CHUNK", 8)
    monkeypatch.setattr("onkel.learners.perceptron.primal.CHUNK_ROWS", 8)
    X, y, qid = queries(14, n=20, n_queries=5)
    before, rows = RankingPerceptron(kernel, hypothesis="last").partial_fit(X, -y, qid), queries_of(qid)
    after, twin = {0: before.state()}, copy.deepcopy(before)
    for done, query in enumerate(rows, 1):
        after[done] = twin.partial_fit(X[query], y[query]).state()
    seen = set()
    files = [file for file, _ in lines_of(lambda: copy.deepcopy(before).partial_fit(X, y, qid))]
    commits = [k for k, file in enumerate(files) if file.endswith("transaction.py")]  # where a part is put in place
    for line in [*commits, *range(0, len(files), 97)]:
        stopped = copy.deepcopy(before)
        stop_at_line(functools.partial(stopped.partial_fit, X, y, qid), line, error)
        done = stopped.n_rounds_ - before.n_rounds_
        twin = RankingPerceptron.from_state(after[done])
        assert stopped.n_mistakes_ == twin.n_mistakes_
        np.testing.assert_allclose(stopped.predict(X), twin.predict(X), atol=1e-9)
        seen.add(done)
    assert len(seen) > 2 if error is KeyboardInterrupt else seen <= {0, len(rows)}
