"""Laws of the learners with a budget: chunks equal loops, budgets hold, steps land where they should."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
import zoo
from hypothesis import given, settings
from hypothesis import strategies as st
from pairwise import pairwise
from reference.online_oracles import assert_alike, feed, keeps_support, scores_of, terms_of
from specimen import Specimen
from strategies import as_csr, few_examples, seeds
from zoo import SMALL

from onkel import (
    BudgetPerceptron,
    Forgetron,
    KernelPerceptron,
    NormaClassifier,
    NormaRegressor,
    OnlineSVC,
    PassiveAggressiveClassifier,
    PassiveAggressiveRegressor,
    Projectron,
)
from onkel.kernels import RBF, Cosine, Laplacian, Linear, Polynomial

# `BudgetPerceptron random` has a twin in tests/reference/test_online.py, which is told what was forgotten.
LEARNERS = (*zoo.WITH_TWIN, zoo.SPECIMENS["BudgetPerceptron random"])
BUDGETED = (*zoo.WITH_BUDGET, zoo.SPECIMENS["BudgetPerceptron random"])
every_learner = pytest.mark.parametrize("learner", LEARNERS, ids=str)
every_support = pytest.mark.parametrize("learner", [one for one in LEARNERS if one.takes_kernel], ids=str)
ONCE = {"max_iter": 1, "shuffle": False}


def unnamed(estimator: str, **params) -> Specimen:
    """A form of its own for one law."""
    return zoo.form(", ".join([estimator, *map(str, params.values())]), estimator, tags="learner", **params)


def data(learner, seed, n=90, classes=2, d=3):
    """Points in general position, and what the learner wants of them: labels or numbers."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    if learner.task == "regress":
        return X, np.sin(2 * X[:, 0]) + 0.2 * rng.standard_normal(n)
    y = rng.integers(0, classes, n)
    y[:classes] = np.arange(classes)
    return X, y


def whole_numbers(seed, n=60, d=4, classes=2):
    """Small whole numbers: equal points, equal distances, ties at 0."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-3, 4, size=(n, d)).astype(float), rng.integers(0, classes, n)
    y[:classes] = np.arange(classes)
    return X, y


def mistakes_of(learner, estimator):
    return estimator.n_mistakes_ if learner.task == "classify" else None


def assert_same(learner, one, other, X, tolerance=1e-9):
    assert mistakes_of(learner, one) == mistakes_of(learner, other)
    assert_alike(one, other, X, tolerance)


def outcome(learner, estimator, X):
    """All that can be seen of a learner, bit for bit."""
    terms = [array.tobytes() for array in terms_of(estimator)] if keeps_support(estimator) else []
    return mistakes_of(learner, estimator), *terms, scores_of(estimator, X).tobytes()


# ---------------------------------------------------------------- every learner


@pytest.mark.parametrize(("learner", "chunk", "classes"), pairwise(LEARNERS, [1, 7, 64, 1000], [2, 3, 5]), ids=str)
@given(seeds)
@few_examples(2)
def test_a_chunked_pass_equals_its_samples_one_by_one(learner, chunk, classes, seed):
    X, y = data(learner, seed, n=130, classes=classes)
    chunked = feed(learner.once(), X, y, chunk, classes=range(classes))
    single = feed(learner.once(), X, y, None, classes=range(classes))
    assert_same(learner, chunked, single, X)
    if chunk == 1000:
        fitted = learner.once()
        fitted.fit(X) if learner.task == "detect" else fitted.fit(X, y)
        assert_same(learner, chunked, fitted, X)


@every_learner
@pytest.mark.parametrize("d", [3, 20])  # of many features more rows are taken at a time
def test_chunks_larger_than_any_tile_are_loops_too(learner, d):
    X, y = data(learner, 1, n=2500, d=d)
    chunked = feed(learner.once(), X, y, 2200, classes=[0, 1])
    single = feed(learner.once(), X, y, None, classes=[0, 1])
    assert_same(learner, chunked, single, X[:100], 1e-7)


@pytest.mark.parametrize("learner", BUDGETED, ids=str)
@given(seeds, st.sampled_from([2, 3]), st.integers(1, 12))
@few_examples(5)
def test_the_support_is_never_larger_than_the_budget(learner, seed, classes, budget):
    X, y = whole_numbers(seed, classes=classes)
    if learner.task == "regress":
        y = y + X[:, 0]
    estimator = learner.once(budget=budget)
    for i in range(len(X)):
        if i == 0:
            feed(estimator, X[:1], y[:1], 1, classes=range(classes))
        else:
            estimator.learn_one(X[i]) if learner.task == "detect" else estimator.learn_one(X[i], y[i])
        assert len(estimator.support_) <= budget
        assert estimator.support_vectors_.shape == (len(estimator.support_), X.shape[1])
        assert np.asarray(estimator.dual_coef_).shape[-1] == len(estimator.support_)
        assert np.isfinite(estimator.dual_coef_).all()
    feed(estimator, X, y, 1000, classes=range(classes))
    assert len(estimator.support_) <= budget


@every_support
@given(seeds, st.sampled_from([2, 3]), st.sampled_from([None, 1, 7, 64, 1000]))
@few_examples(4)
def test_the_support_is_in_the_order_in_which_it_entered(learner, seed, classes, chunk):
    X, y = data(learner, seed, n=130, classes=classes)
    estimator = feed(learner.once(), X[:80], y[:80], chunk, classes=range(classes))
    for one in (estimator, learner.once().resume(estimator.snapshot())):
        feed(one, X[80:], y[80:], chunk or 1, classes=range(classes))
        assert (np.diff(one.support_) > 0).all()  # rows are numbered as they come


@every_support
@given(seeds, st.sampled_from([2, 3]))
@few_examples(3)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_support_is_in_the_order_in_which_it_entered_also_where_rows_are_not(learner, seed, classes):
    X, y = data(learner, seed, n=130, classes=classes)
    unlimited = learner.params.get("budget") is None  # then a row is in it once, however often it was learned
    estimator = learner.once(shuffle=True, random_state=seed, max_iter=3 if unlimited else 1)
    estimator.fit(X) if learner.task == "detect" else estimator.fit(X, y)
    support, learned = estimator.support_.tolist(), dict.fromkeys(estimator.mistakes_["row"].tolist())
    if isinstance(estimator, OnlineSVC):  # in the order of the rows, as in SVC; steps of others may have put them there
        learned = sorted(support)
    assert support == [row for row in learned if row in support]


@every_learner
@given(seeds, st.sampled_from([1, 20, 1000]), st.sampled_from([2, 3]))
@few_examples(4)
def test_a_resumed_learner_goes_on_bit_for_bit(learner, seed, chunk, classes):
    X, y = data(learner, seed, n=120, classes=classes)
    straight = feed(learner.once(), X[:60], y[:60], chunk, classes=range(classes))
    state, then = straight.snapshot(), outcome(learner, straight, X)
    feed(straight, X[60:], y[60:], chunk, classes=range(classes))
    end = outcome(learner, straight, X)
    for _ in range(2):  # neither what came after nor another that resumed has changed the state
        resumed = learner.once()
        resumed.resume(state)
        assert outcome(learner, resumed, X) == then
        feed(resumed, X[60:], y[60:], chunk, classes=range(classes))
        assert outcome(learner, resumed, X) == end
    assert outcome(learner, straight, X) == end


@every_learner
@pytest.mark.parametrize("storage", ["dense", "csr"])
def test_the_callers_arrays_are_neither_kept_nor_changed(learner, storage):
    X, y = data(learner, 0)
    w = np.ones(len(X))
    rows, labels, weights = (X.copy() if storage == "dense" else as_csr(X)), y.copy(), w.copy()
    estimator = feed(learner.once(), rows, labels, 40, weights, classes=[0, 1])
    np.testing.assert_array_equal(rows if storage == "dense" else rows.toarray(), X)
    np.testing.assert_array_equal(labels, y)
    np.testing.assert_array_equal(weights, w)
    before = scores_of(estimator, X)
    (rows if storage == "dense" else rows.data)[:] = 1e6
    labels[:] = 0
    weights[:] = 7.0
    np.testing.assert_array_equal(scores_of(estimator, X), before)
    x = np.empty(X.shape[1])
    for i in range(len(X)):
        x[:] = X[i]
        estimator.learn_one(x) if learner.task == "detect" else estimator.learn_one(x, y[i])
    before = scores_of(estimator, X)
    x[:] = 1e6
    np.testing.assert_array_equal(scores_of(estimator, X), before)


@every_learner
@given(seeds, st.sampled_from([2, 3]))
@few_examples(4)
def test_weight_zero_is_absence(learner, seed, classes):
    X, y = data(learner, seed, classes=classes)
    w = np.random.default_rng(seed + 1).integers(0, 3, len(y)).astype(float)
    w[:classes] = 1.0
    kept = np.flatnonzero(w > 0)
    weighted = feed(learner.once(), X, y, 1000, w, classes=range(classes))
    absent = feed(learner.once(), X[kept], y[kept], 1000, w[kept], classes=range(classes))
    assert mistakes_of(learner, weighted) == mistakes_of(learner, absent)
    np.testing.assert_allclose(scores_of(weighted, X), scores_of(absent, X), rtol=1e-12, atol=1e-12)
    if not keeps_support(weighted):
        return
    rows, coef = terms_of(weighted)
    absent_rows, absent_coef = terms_of(absent)
    np.testing.assert_array_equal(rows, kept[absent_rows])
    np.testing.assert_allclose(coef, absent_coef, rtol=1e-12, atol=1e-12)


@every_learner
@given(seeds)
@few_examples(3)
def test_weight_one_is_no_weight(learner, seed):
    X, y = data(learner, seed)
    plain = feed(learner.once(), X, y, 32, classes=[0, 1])
    weighted = feed(learner.once(), X, y, 32, np.ones(len(X)), classes=[0, 1])
    assert outcome(learner, plain, X) == outcome(learner, weighted, X)


@every_learner
@given(seeds, st.sampled_from([2, 3]))
@few_examples(3)
def test_sparse_rows_are_dense_rows(learner, seed, classes):
    X, y = data(learner, seed, classes=classes, d=8)
    rng = np.random.default_rng(seed)
    X[:, 1:] *= rng.random((len(X), 7)) < 0.3  # the first feature stays: no two rows are equal
    dense = feed(learner.once(), X, y, 32, classes=range(classes))
    for index_dtype in (np.int32, np.int64):
        sparse = feed(learner.once(), as_csr(X, index_dtype), y, 32, classes=range(classes))
        assert_same(learner, sparse, dense, X)
    single = feed(learner.once(), as_csr(X), y, None, classes=range(classes))
    assert_same(learner, single, dense, X)
    np.testing.assert_allclose(scores_of(dense, as_csr(X)), scores_of(dense, X), atol=1e-9)


# LASVM chooses between gradients that are equal but for rounding (laws/test_online_svc.py)
@pytest.mark.parametrize("learner", [learner for learner in LEARNERS if learner.estimator != "OnlineSVC"], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_single_precision_is_close_to_double(learner, seed):
    X, y = data(learner, seed, n=60)
    X = X.astype(np.float32)
    single = feed(learner.once(), X, y, 32, classes=[0, 1])
    double = feed(learner.once(), X.astype(np.float64), y, 32, classes=[0, 1])
    if learner.takes_kernel:
        assert single.support_vectors_.dtype == np.float32
    assert_same(learner, single, double, X, 2e-4)


@every_support
def test_the_model_of_a_learner_scores_as_it_does(learner):
    X, y = data(learner, 4)
    estimator = feed(learner.once(), X, y, 32, classes=[0, 1])
    kernel = RBF(gamma=0.5)
    by_hand = kernel(X, estimator.support_vectors_) @ np.atleast_2d(estimator.dual_coef_).T + estimator.intercept_
    np.testing.assert_allclose(by_hand, scores_of(estimator, X), atol=1e-10)
    np.testing.assert_allclose(estimator.model_.scores(X), scores_of(estimator, X), atol=1e-10)


@pytest.mark.parametrize("learner", BUDGETED, ids=str)
def test_memory_stops_growing(learner):
    rng = np.random.default_rng(0)
    estimator, sizes = learner.once(), []
    for chunk in range(60):  # labels that nobody can guess: half of the examples are mistakes
        X, y = rng.standard_normal((500, 2)), rng.integers(0, 2, 500)
        feed(estimator, X, y + 0.0 if learner.task == "regress" else y, 500, classes=[0, 1])
        if chunk in (29, 59):
            sizes.append(len(pickle.dumps(estimator)))
    assert sizes[1] <= sizes[0] + 1000


# ---------------------------------------------------------------- on a large enough budget: the perceptron

# Points on which scores are never 0 but by construction, some of them twice; every K(x, x) ≤ 1.
perceptron_kernels = st.sampled_from([RBF(gamma=0.5), Laplacian(gamma=1.0), Cosine()])


@pytest.mark.parametrize(
    "learner",
    [
        unnamed("Forgetron", budget=1000),
        unnamed("BudgetPerceptron", budget=1000, forget="random"),
        unnamed("BudgetPerceptron", budget=1000, forget="oldest"),
        unnamed("Projectron", eta=0.0),
        unnamed("Projectron", eta=0.0, budget=1000),
    ],
    ids=str,
)
@given(seeds, st.sampled_from([2, 3, 5]), perceptron_kernels, st.integers(1, 3))
@few_examples(20)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_budget_that_never_fills_is_the_kernel_perceptron(learner, seed, classes, kernel, epochs):
    X, y = data(learner, seed, n=60, classes=classes)
    X[40], X[41] = X[3], X[7]
    perceptron = KernelPerceptron(kernel, hypothesis="last", shuffle=False, max_iter=epochs).fit(X, y)
    estimator = learner.once(kernel, max_iter=epochs).fit(X, y)
    if epochs == 1 or not perceptron.converged_:
        assert estimator.n_mistakes_ == perceptron.n_mistakes_
    scale = np.abs(perceptron.decision_function(X)).max()
    np.testing.assert_allclose(scores_of(estimator, X), scores_of(perceptron, X), atol=1e-9 * max(1.0, scale))


@given(seeds, st.sampled_from([2, 3]), st.sampled_from([Linear(), Polynomial(degree=2), RBF(gamma=0.05)]))
@few_examples(15)
def test_a_projectron_in_few_dimensions_is_the_perceptron_with_few_points(seed, classes, kernel):
    rng = np.random.default_rng(seed)
    X, y = rng.uniform(0.5, 1.5, (200, 2)) * rng.choice([-1, 1], (200, 2)), rng.integers(0, classes, 200)
    y[:classes] = np.arange(classes)
    perceptron = KernelPerceptron(kernel, hypothesis="last", **ONCE).fit(X, y)
    machine = Projectron(kernel, eta=1e-3, **ONCE).fit(X, y)
    if isinstance(kernel, (Linear, Polynomial)):  # 2 and 6 dimensions
        assert len(machine.support_) <= (2 if isinstance(kernel, Linear) else 6)
    assert machine.n_mistakes_ == pytest.approx(perceptron.n_mistakes_, abs=2)
    if machine.n_mistakes_ == perceptron.n_mistakes_:
        scale = max(1.0, np.abs(perceptron.decision_function(X)).max())
        np.testing.assert_allclose(scores_of(machine, X), scores_of(perceptron, X), atol=1e-2 * scale)


@given(seeds, st.sampled_from([2, 3, 5]), st.sampled_from([Linear(), Polynomial(degree=2)]), st.integers(1, 3))
@few_examples(25)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_norma_without_decay_margin_and_bias_is_the_kernel_perceptron(seed, classes, kernel, epochs):
    X, y = whole_numbers(seed, classes=classes)  # every score is exact, ties at 0 included
    perceptron = KernelPerceptron(kernel, hypothesis="last", max_iter=epochs, shuffle=False).fit(X, y)
    norma = NormaClassifier(
        kernel, eta=1.0, lam=0.0, rho=0.0, nu=None, fit_intercept=False, budget=1000, max_iter=epochs, shuffle=False
    ).fit(X, y)
    assert norma.n_mistakes_ == perceptron.n_mistakes_
    np.testing.assert_array_equal(scores_of(norma, X), scores_of(perceptron, X))


@pytest.mark.parametrize(
    "learner",
    [
        unnamed("Projectron", eta=0.3),
        unnamed("PassiveAggressiveClassifier", variant="PA", budget=None),
        unnamed("PassiveAggressiveClassifier", variant="PA-I", C=0.4, budget=None),
        unnamed("PassiveAggressiveClassifier", variant="PA-II", C=0.4, budget=None),
        unnamed("NormaClassifier", eta=0.3, lam=0.05, nu=0.3, budget=1000),
    ],
    ids=str,
)
@given(seeds)
@few_examples(8)
def test_the_one_output_of_two_classes_is_both_outputs_of_a_pair(learner, seed):
    # a third class that is named and never comes has a machine of its own; a budget or φ they would share with it
    X, y = data(learner, seed)
    two = feed(learner.once(), X, y, 32, classes=[0, 1])
    three = feed(learner.once(), X, y, 32, classes=[0, 1, 2])
    scores = scores_of(three, X)
    np.testing.assert_allclose(scores[:, 1], scores_of(two, X)[:, 0], atol=1e-9)
    np.testing.assert_allclose(scores[:, 0], -scores[:, 1], atol=1e-9)
    np.testing.assert_array_equal(three.predict(X) == 1, scores[:, 1] > 0)


# ---------------------------------------------------------------- Forgetron


@given(seeds, st.sampled_from([2, 3, 5]), st.integers(1, 12), st.booleans(), st.booleans())
@few_examples(20)
def test_what_the_forgetron_forgets_never_exceeds_its_allowance(seed, classes, budget, equal_points, weighted):
    X, y = whole_numbers(seed, n=90, d=1 if equal_points else 4, classes=classes)
    w = np.random.default_rng(seed).choice([0.1, 1.0, 5.0], len(X)) if weighted else np.ones(len(X))
    machine = Forgetron(RBF(gamma=0.3), budget=budget, **ONCE)
    for i in range(len(X)):
        machine.partial_fit(X[i : i + 1], y[i : i + 1], classes=range(classes), sample_weight=w[i : i + 1])
        M = machine.n_mistakes_
        assert machine.forgotten_ <= 15 / 32 * M + 1e-9 * M
        assert 0 < machine.shrink_ <= 1


@given(seeds, st.sampled_from([2, 3]), st.integers(1, 12))
@few_examples(10)
def test_the_basic_forgetron_stays_in_its_ball_and_keeps_old_weights_small(seed, classes, budget):
    X, y = whole_numbers(seed, n=60, classes=classes)
    kernel, n = RBF(gamma=0.3), budget + 1
    machine = Forgetron(kernel, budget=budget, variant="basic", **ONCE)
    U, shrink = 0.25 * math.sqrt(n / math.log(n)), n ** (-1 / (2 * n))
    for i in range(len(X)):
        before = 0 if i == 0 else machine.n_mistakes_
        machine.partial_fit(X[i : i + 1], y[i : i + 1], classes=range(classes))
        if machine.n_mistakes_ > before:
            assert 0 < machine.shrink_ <= shrink * (1 + 1e-12)
            if machine.n_mistakes_ <= budget:  # nothing forgotten: the norm is that of f″ = φ f′
                A, K = np.atleast_2d(machine.dual_coef_), kernel(machine.support_vectors_)
                assert np.einsum("ci,ij,cj->c", A, K, A).max() <= U**2 * (1 + 1e-9)
    oldest_first = np.argsort(machine.support_)
    sizes = np.abs(np.atleast_2d(machine.dual_coef_)[:, oldest_first]).max(axis=0)
    ages = np.arange(len(sizes), 0, -1)  # each of the later ones shrank it once more
    assert (sizes <= shrink**ages * (1 + 1e-9)).all()


# ---------------------------------------------------------------- Projectron


@given(seeds, st.sampled_from([2, 3]), st.sampled_from([RBF(gamma=0.5), Laplacian(gamma=0.5), Polynomial(degree=2)]))
@few_examples(10)
def test_a_projection_is_the_least_squares_one(seed, classes, kernel):
    X, y = data(unnamed("Projectron"), seed, n=80, classes=classes)
    machine = Projectron(kernel, eta=0.0, budget=5, **ONCE)
    projected = 0
    for i in range(len(X)):
        before = terms_of(machine) if i else None
        f = scores_of(machine, X[i : i + 1])[0] if i else None
        feed(machine, X[i : i + 1], y[i : i + 1], 1, classes=range(classes))
        if before is None or len(before[0]) < 5:
            continue
        rows, coef = terms_of(machine)
        np.testing.assert_array_equal(rows, before[0])  # full: nothing is added, nothing forgotten
        sign = np.where(y[i] == (np.array([1]) if classes == 2 else np.arange(classes)), 1.0, -1.0)
        step = coef - before[1]
        wrong = sign * f <= 0
        np.testing.assert_array_equal(step[:, ~wrong], 0.0)
        K, k = kernel(X[rows]), kernel(X[rows], X[i : i + 1])[:, 0]
        scale = np.abs(K).max() * np.abs(step).max() if wrong.any() else 1.0
        for c in np.flatnonzero(wrong):
            projected += 1
            d = sign[c] * step[:, c]
            np.testing.assert_allclose(K @ d, k, atol=1e-8 * max(1.0, scale))  # the normal equations
    assert projected > 5


@given(seeds, st.sampled_from([0.05, 0.2, 0.5]))
@few_examples(8)
def test_points_are_added_exactly_where_the_projection_is_farther_than_eta(seed, eta):
    X, y = data(unnamed("Projectron"), seed, n=120, d=2)
    kernel = RBF(gamma=0.5)
    machine = Projectron(kernel, eta=eta, **ONCE)
    for i in range(len(X)):
        support = np.asarray(machine.support_) if i else np.zeros(0, dtype=int)
        mistakes = machine.n_mistakes_ if i else 0
        feed(machine, X[i : i + 1], y[i : i + 1], 1, classes=[0, 1])
        added = len(machine.support_) > len(support)
        if machine.n_mistakes_ == mistakes:
            assert not added
            continue
        if len(support):
            k = kernel(X[support], X[i : i + 1])[:, 0]
            distance_sq = 1.0 - k @ np.linalg.lstsq(kernel(X[support]), k, rcond=None)[0]
            if abs(distance_sq - eta**2) > 1e-6:
                assert added == (distance_sq > eta**2)
        else:
            assert added


@pytest.mark.parametrize("gamma", [0.5, 0.05, 0.005])
@pytest.mark.parametrize("seed", range(3))
def test_projections_do_not_drift_on_an_ill_conditioned_set(gamma, seed):
    # 40 points of the plane under a wide Gaussian: K_S has condition numbers up to 1e18, so d is not unique to
    # rounding, but how far φ(x) is from Σ d_j φ(s_j) is: the excess over the best is what a projection may err. It is a
    # difference of terms of the size ‖d‖², up to 1e12 here, of which rounding leaves about 1e-16 (2e-15 at the most,
    # over 25 seeds).
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((1500, 2)), rng.integers(0, 2, 1500)
    kernel = RBF(gamma=gamma)
    machine = Projectron(kernel, eta=0.0, budget=40, **ONCE).partial_fit(X[:1000], y[:1000], classes=[0, 1])
    worst, seen = 0.0, 0
    for i in range(1000, 1500):
        (rows, before), mistakes = terms_of(machine), machine.n_mistakes_
        machine.learn_one(X[i], y[i])
        after_rows, after = terms_of(machine)
        if machine.n_mistakes_ == mistakes or not np.array_equal(rows, after_rows):
            continue
        seen += 1
        d = (after - before)[:, 0] * (1 if y[i] == 1 else -1)
        K, k = kernel(X[rows]), kernel(X[rows], X[i : i + 1])[:, 0]
        best = np.linalg.lstsq(K, k, rcond=1e-14)[0]
        excess = (d @ K @ d - 2 * d @ k) - (best @ K @ best - 2 * best @ k)
        worst = max(worst, excess / max(1.0, d @ d, best @ best))
    assert seen > 100
    assert worst < 2e-14
    assert machine.drift_ < 1e-14


# ---------------------------------------------------------------- passive-aggressive: where a step lands

pa_settings = st.tuples(
    st.sampled_from(["PA", "PA-I", "PA-II"]),
    st.sampled_from([0.01, 0.3, 5.0]),
    st.sampled_from([None, SMALL]),
    st.sampled_from([RBF(gamma=0.5), Linear(), Polynomial(degree=2)]),
)


@given(seeds, st.sampled_from([2, 3]), pa_settings)
@few_examples(16)
def test_passive_aggressive_steps_land_where_they_should(seed, classes, setting):
    variant, C, budget, kernel = setting
    X, y = data(unnamed("PassiveAggressiveClassifier"), seed, n=50, classes=classes)
    machine = PassiveAggressiveClassifier(kernel, variant=variant, C=C, budget=budget, **ONCE)
    for i in range(len(X)):
        x = X[i : i + 1]
        f = scores_of(machine, x)[0] if i else np.zeros(1 if classes == 2 else classes)
        feed(machine, x, y[i : i + 1], 1, classes=range(classes))
        sign = np.where(y[i] == (np.array([1]) if classes == 2 else np.arange(classes)), 1.0, -1.0)
        margin, square = sign * f, float(kernel(x)[0, 0])
        loss = np.maximum(0.0, 1 - margin)
        expected = {
            "PA": margin + loss,
            "PA-I": margin + np.minimum(C * square, loss),
            "PA-II": margin + loss - loss / (1 + 2 * C * square),
        }[variant]
        if budget is not None and not loss.any():
            assert i > 0  # passive
        np.testing.assert_allclose(sign * scores_of(machine, x)[0], expected, rtol=1e-7, atol=1e-7)


@given(seeds, pa_settings, st.sampled_from([0.0, 0.1, 0.5]))
@few_examples(16)
def test_passive_aggressive_regression_lands_on_the_tube(seed, setting, epsilon):
    variant, C, budget, kernel = setting
    X, y = data(unnamed("PassiveAggressiveRegressor"), seed, n=50)
    machine = PassiveAggressiveRegressor(kernel, variant=variant, C=C, epsilon=epsilon, budget=budget, **ONCE)
    for i in range(len(X)):
        x = X[i : i + 1]
        f = float(machine.predict(x)[0]) if i else 0.0
        machine.partial_fit(x, y[i : i + 1])
        error, square = y[i] - f, float(kernel(x)[0, 0])
        loss = max(0.0, abs(error) - epsilon)
        left = {
            "PA": 0.0,
            "PA-I": loss - min(C * square, loss),
            "PA-II": loss / (1 + 2 * C * square),
        }[variant]
        now = y[i] - float(machine.predict(x)[0])
        expected = error if loss == 0 else math.copysign(epsilon + left, error)
        assert now == pytest.approx(expected, rel=1e-7, abs=1e-7)


@given(seeds, st.sampled_from(["PA", "PA-I", "PA-II"]))
@settings(max_examples=15)
def test_what_is_far_enough_on_the_right_side_changes_nothing(seed, variant):
    X, y = data(unnamed("PassiveAggressiveClassifier"), seed, n=40)
    machine = PassiveAggressiveClassifier(RBF(gamma=0.5), variant=variant, C=50.0, budget=SMALL, **ONCE)
    machine.partial_fit(X, y, classes=[0, 1])
    before = terms_of(machine)
    scores = scores_of(machine, X)[:, 0]
    for i in np.flatnonzero(np.abs(scores) > 1):
        machine.learn_one(X[i], int(scores[i] > 0))
    for mine, its in zip(terms_of(machine), before, strict=True):
        np.testing.assert_array_equal(mine, its)


# ---------------------------------------------------------------- NORMA


def decays(eta, lam, schedule, rounds):
    """η_t and Π_{u > t} (1 − η_u λ) for t = 1, …, rounds."""
    rates = np.full(rounds, eta) if schedule == "constant" else eta / np.sqrt(np.arange(1, rounds + 1))
    later = np.cumprod((1 - rates * lam)[::-1])[::-1]
    return rates, np.append(later[1:], 1.0)


norma_settings = st.tuples(
    st.sampled_from([0.05, 0.3, 1.0]), st.sampled_from([0.0, 0.01, 0.5]), st.sampled_from(["constant", "sqrt"])
)


@given(seeds, norma_settings, st.booleans(), st.sampled_from([None, 0.4]))
@few_examples(20)
def test_normas_weights_are_the_closed_form_of_the_decay(seed, setting, intercept, nu):
    eta, lam, schedule = setting
    X, y = data(unnamed("NormaClassifier"), seed)
    machine = NormaClassifier(
        RBF(gamma=0.5), eta=eta, lam=lam, nu=nu, schedule=schedule, fit_intercept=intercept, budget=1000, **ONCE
    ).partial_fit(X, y, classes=[0, 1])
    rates, later = decays(eta, lam, schedule, len(X))
    rows, coef = terms_of(machine)
    sign = np.where(y == 1, 1.0, -1.0)
    np.testing.assert_allclose(coef[:, 0], (sign * rates * later)[rows], rtol=1e-10)
    expected = (sign * rates)[rows].sum() if intercept else 0.0  # the bias does not decay
    np.testing.assert_allclose(machine.intercept_, [expected], atol=1e-10)


@given(seeds, norma_settings)
@settings(max_examples=20)
def test_normas_weights_of_a_regression_decay_alike(seed, setting):
    eta, lam, schedule = setting
    X, y = data(unnamed("NormaRegressor"), seed)
    machine = NormaRegressor(RBF(gamma=0.5), eta=eta, lam=lam, schedule=schedule, budget=1000, **ONCE).partial_fit(X, y)
    rates, later = decays(eta, lam, schedule, len(X))
    rows, coef = terms_of(machine)
    np.testing.assert_allclose(np.abs(coef[:, 0]), (rates * later)[rows], rtol=1e-10)


@given(seeds, st.sampled_from([0.1, 0.5]), st.sampled_from([0.05, 0.3]), st.integers(1, 30))
@settings(max_examples=20)
def test_truncation_costs_no_more_than_stated(seed, eta, lam, terms):
    # what lies behind the last τ terms: at most (1 − ηλ)^τ C X / λ, and C = X = 1 for the hinge and an RBF
    X, y = data(unnamed("NormaClassifier"), seed, n=200)
    options = {"eta": eta, "lam": lam, "fit_intercept": False}
    machine = NormaClassifier(RBF(gamma=0.5), budget=1000, **options, **ONCE).partial_fit(X, y, classes=[0, 1])
    rows, coef = terms_of(machine)
    oldest_first = np.argsort(rows)
    dropped = np.abs(coef[oldest_first, 0])[: max(0, len(rows) - terms)]
    assert dropped.sum() <= (1 - eta * lam) ** terms / lam * (1 + 1e-9)


@given(seeds, st.sampled_from([0.1, 0.3, 0.6]))
@settings(max_examples=15)
def test_the_part_of_margin_errors_tends_to_nu(seed, nu):
    # ρ += η (ν − σ) summed over the rounds: |mean σ − ν| = |ρ_T − ρ₀| / (η T), whatever the data
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((1500, 2)), rng.integers(0, 2, 1500)
    machine = NormaClassifier(RBF(gamma=0.5), eta=0.1, lam=0.1, nu=nu, budget=2000, **ONCE)
    machine.partial_fit(X, y, classes=[0, 1])
    assert len(machine.support_) / len(X) == pytest.approx(nu, abs=0.05)


def test_the_support_of_a_budget_perceptron_that_forgets_the_oldest_is_its_last_mistakes():
    X, y = data(unnamed("BudgetPerceptron"), 0)
    machine = BudgetPerceptron(RBF(gamma=0.5), budget=6, forget="oldest", **ONCE)
    errors = []
    for i in range(len(X)):
        before = machine.n_mistakes_ if i else 0
        feed(machine, X[i : i + 1], y[i : i + 1], 1, classes=[0, 1])
        if machine.n_mistakes_ > before:
            errors.append(i)
        assert sorted(machine.support_) == errors[-6:]
