"""Learners with a budget against published and recomputed figures, and against their slow twins."""

from __future__ import annotations

import math

import numpy as np
import pytest
import zoo
from data_sets import require
from hypothesis import given
from hypothesis import strategies as st
from reference.online_oracles import (
    SlowBudgetPerceptron,
    SlowForgetron,
    SlowPA,
    SlowProjectron,
    assert_alike,
    feed,
    largest_shrink,
    targets,
)
from strategies import few_examples, seeds
from zoo import SMALL

from onkel import (
    BudgetPerceptron,
    Forgetron,
    KernelPerceptron,
    NormaClassifier,
    NormaOneClass,
    PassiveAggressiveClassifier,
    Projectron,
    registry,
)
from onkel.kernels import RBF, Laplacian, Linear, Polynomial

EIGHT = RBF.from_sigma(8.0)  # exp(−‖·‖² / (2 · 8²))
ONCE = {"max_iter": 1, "shuffle": False}

# One pass over online_german and online_spambase as they are, B = 100: mistakes on the first order of each, and mean
# and standard deviation (n − 1) over the 20 orders of german, in percent. An own computation, made twice. Kernel values
# of spambase underflow, so that scores are 0 and replacements cost the same: rounding decides. For BPA-S it decides
# hundreds of rounds: with kernel values moved by 1e-13 ten runs made 1458 ± 24 mistakes, 1425 to 1497.
FIGURES = {
    "perceptron": (347, 1166, 35.390, 0.889),
    "Forgetron": (379, 1665, 38.160, 0.911),
    "Projectron": (362, 1534, 35.700, 1.416),
    "Projectron++": (351, 1491, 35.280, 1.188),
    "BPA-S": (345, 1458, 33.940, 0.929),
}
ESTIMATORS = {
    "perceptron": lambda: KernelPerceptron(EIGHT, hypothesis="last", **ONCE),
    "Forgetron": lambda: Forgetron(EIGHT, budget=100, **ONCE),
    "Projectron": lambda: Projectron(EIGHT, eta=0.0, budget=100, **ONCE),
    "Projectron++": lambda: Projectron(EIGHT, eta=0.0, budget=100, aggressive=True, **ONCE),
    "BPA-S": lambda: PassiveAggressiveClassifier(EIGHT, variant="PA-I", C=1.0, budget=100, **ONCE),
}
TWINS = {
    "perceptron": lambda k: SlowBudgetPerceptron(k, None),
    "Forgetron": lambda k: SlowForgetron(k, 100),
    "Projectron": lambda k: SlowProjectron(k, eta=0.0, budget=100),
    "Projectron++": lambda k: SlowProjectron(k, eta=0.0, budget=100, aggressive=True),
    "BPA-S": lambda k: SlowPA(k, "PA-I", C=1.0, budget=100),
}
SPAMBASE_SLACK = {"BPA-S": 75}  # three standard deviations


def online_set(name):
    """Rows, in float64 so that kernel values are, labels and orders."""
    data = require(f"online_{name}")
    return data["X"].astype(np.float64), data["y"].astype(int), data["order"]


def on_numbers(kernel, X):
    """The same kernel on the numbers of rows, all values computed once."""
    K = kernel(X)
    return np.arange(len(X))[:, None], lambda A, B: K[np.ix_(A[:, 0].astype(int), B[:, 0].astype(int))]


@pytest.mark.parametrize("name", FIGURES)
def test_the_first_orders_mistakes_are_the_figures(name):
    for data, figure, slack in (("german", 0, 0), ("spambase", 1, SPAMBASE_SLACK.get(name, 2))):
        X, y, order = online_set(data)
        machine = ESTIMATORS[name]().partial_fit(X[order[0]], y[order[0]], classes=[-1, 1])
        assert abs(machine.n_mistakes_ - FIGURES[name][figure]) <= slack, data


@pytest.mark.parametrize("name", FIGURES)
def test_the_means_over_twenty_orders_are_the_figures(name):
    X, y, orders = online_set("german")
    mistakes = [ESTIMATORS[name]().partial_fit(X[order], y[order], classes=[-1, 1]).n_mistakes_ for order in orders]
    percent = np.array(mistakes) / len(X) * 100
    # one mistake of the 20 000 examples is 0.005
    assert percent.mean() == pytest.approx(FIGURES[name][2], abs=0.011)
    assert percent.std(ddof=1) == pytest.approx(FIGURES[name][3], abs=0.02)


def test_forgetting_at_random_errs_about_as_often_as_it_should():
    X, y, orders = online_set("german")
    mistakes = [
        BudgetPerceptron(EIGHT, budget=100, random_state=i, **ONCE)
        .partial_fit(X[order], y[order], classes=[-1, 1])
        .n_mistakes_
        for i, order in enumerate(orders)
    ]
    assert np.mean(mistakes) / 10 == pytest.approx(37.7, abs=0.6)  # the others' spread is about 1, of 20 runs 0.25


@pytest.mark.parametrize("name", FIGURES)
def test_the_slow_twins_make_the_same_mistakes(name):
    X, y, order = online_set("german")
    numbers, kernel = on_numbers(EIGHT, X)
    twin = TWINS[name](kernel)
    for i in order[0]:
        twin.learn(numbers[i], y[i])
    assert twin.mistakes == FIGURES[name][0]


# DOGMA's demo: x ~ N(0, I₂), y = sign(w·x), 10 % of the labels flipped, 10 000 rounds, K = exp(−‖·‖²); online error in
# percent and support vectors of its one run, and the standard deviations that we see among streams. DOGMA compares δ²
# with its η = 0.01: ours is 0.1.
DOGMA = {
    "perceptron": (21.56, 2156, 0.45, 45),
    "Projectron": (21.38, 106, 0.41, 3.6),
    "Projectron++": (15.90, 108, 0.27, 4.0),
    "random budget": (24.09, 106, 0.78, 0),
    "Forgetron": (23.63, 106, 0.37, 0),
}


@pytest.mark.parametrize("name", DOGMA)
def test_the_demo_of_dogma_comes_out_within_its_spread(name):
    kernel, error, support = RBF(gamma=1.0), [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, w = rng.standard_normal((10_000, 2)), rng.standard_normal(2)
        y = np.where((X @ w >= 0) == (rng.random(10_000) >= 0.1), 1, -1)
        machine = {
            "perceptron": KernelPerceptron(kernel, hypothesis="last", **ONCE),
            "Projectron": Projectron(kernel, eta=0.1, **ONCE),
            "Projectron++": Projectron(kernel, eta=0.1, aggressive=True, **ONCE),
            "random budget": BudgetPerceptron(kernel, budget=106, random_state=seed, **ONCE),
            "Forgetron": Forgetron(kernel, budget=106, **ONCE),
        }[name].partial_fit(X, y, classes=[-1, 1])
        error.append(machine.n_mistakes_ / 100)
        support.append(len(machine.support_))
    figure, size, error_sd, size_sd = DOGMA[name]
    assert np.mean(error) == pytest.approx(figure, abs=3 * error_sd)
    assert np.mean(support) == pytest.approx(size, abs=3 * size_sd)


def test_the_averaged_perceptron_of_dogmas_demo_tests_at_the_noise():
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((20_000, 2)), rng.standard_normal(2)
    y = np.where((X @ w >= 0) == (rng.random(20_000) >= 0.1), 1, -1)
    machine = KernelPerceptron(RBF(gamma=1.0), hypothesis="averaged", **ONCE).fit(X[:10_000], y[:10_000])
    wrong = (machine.predict(X[10_000:]) != y[10_000:]).mean() * 100
    assert wrong == pytest.approx(10.1, abs=0.9)  # 10 % of noise on 10 000 labels has a standard deviation of 0.3


# ---------------------------------------------------------------- twins

CLASSIFIERS = [one for one in zoo.WITH_TWIN if one.task == "classify"]
OTHERS = [one for one in zoo.WITH_TWIN if one.task != "classify"]
ELSEWHERE = {"KernelPerceptron", "PRank", "Perceptron", "RecursiveKernelRidge"}  # have theirs in other files, as have
OF_SEVERAL_ROWS = {"RankingPerceptron", "SequencePerceptron"}  # learners of queries and of sentences


def test_every_online_estimator_has_a_slow_twin():
    online = {entry.name for entry in registry.estimators() if entry.online}
    assert {one.estimator for one in zoo.WITH_TWIN} == online - ELSEWHERE - OF_SEVERAL_ROWS


def data(seed, n=70, classes=2):
    """Points in general position: no score is 0 but by construction, no two replacements cost the same."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, 3)), rng.integers(0, classes, n)
    y[:classes] = np.arange(classes)
    return X, y, rng


@pytest.mark.parametrize("learner", CLASSIFIERS, ids=str)
@given(seeds, st.sampled_from([2, 3, 4]), st.sampled_from([RBF(gamma=0.5), Laplacian(gamma=0.7)]), st.booleans())
@few_examples(8)
def test_classifiers_learn_like_their_twins(learner, seed, classes, kernel, weighted):
    X, y, rng = data(seed, classes=classes)
    w = rng.choice([0.0, 0.5, 1.0, 2.0], len(X)) if weighted else np.ones(len(X))
    w[0] = 1.0
    estimator, twin = learner.once(kernel), learner.slow(kernel)
    for start in range(0, len(X), 16):
        part = slice(start, start + 16)
        estimator.partial_fit(
            X[part], y[part], classes=range(classes), sample_weight=w[part] if w[part].any() else None
        )
        for x, t, weight in zip(X[part], targets(y[part], classes), w[part], strict=True):
            twin.learn(x, t, weight)
        assert estimator.n_mistakes_ == twin.mistakes
        assert_alike(estimator, twin, X[:20], 1e-8)
        if isinstance(twin, SlowForgetron):
            np.testing.assert_allclose(estimator.forgotten_, twin.Q, rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(estimator.shrink_, twin.phi, rtol=1e-9)


@pytest.mark.parametrize("learner", OTHERS, ids=str)
@given(seeds, st.sampled_from([RBF(gamma=0.5), Laplacian(gamma=0.7)]), st.booleans())
@few_examples(8)
def test_regression_and_novelty_learn_like_their_twins(learner, seed, kernel, weighted):
    X, _, rng = data(seed)
    y = np.sin(2 * X[:, 0]) + 0.2 * rng.standard_normal(len(X))
    w = rng.choice([0.0, 0.5, 1.0, 2.0], len(X)) if weighted else np.ones(len(X))
    w[0] = 1.0
    estimator, twin = learner.once(kernel), learner.slow(kernel)
    feed(estimator, X, y, 70, w)
    for x, t, weight in zip(X, y, w, strict=True):
        twin.learn(x, t, weight)
    assert_alike(estimator, twin, X[:20], 1e-8)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(degree=2)], ids=str)
@pytest.mark.parametrize("variant", ["PA", "PA-I", "PA-II"])
@pytest.mark.parametrize("budget", [None, SMALL])
def test_passive_aggressive_twins_where_points_are_not_equally_long(kernel, variant, budget):
    X, y, _ = data(5)
    machine = PassiveAggressiveClassifier(kernel, variant=variant, C=0.05, budget=budget, **ONCE)
    twin = SlowPA(kernel, variant, 0.05, budget)
    machine.partial_fit(X, y, classes=[0, 1])
    for x, t in zip(X, targets(y, 2), strict=True):
        twin.learn(x, t)
    assert machine.n_mistakes_ == twin.mistakes
    assert_alike(machine, twin, X, 1e-8)


@given(seeds, st.sampled_from([2, 3]))
@few_examples(8)
def test_forgetting_at_random_drops_one_old_point_and_nothing_else(seed, classes):
    X, y, _ = data(seed, classes=classes)
    machine = zoo.SPECIMENS["BudgetPerceptron random"].once(random_state=seed)
    gone: list[int] = []
    twin = SlowBudgetPerceptron(RBF(gamma=0.5), SMALL, lambda n: gone[0])
    for i, (x, t) in enumerate(zip(X, targets(y, classes), strict=True)):
        if i == 0:
            machine.partial_fit(X[:1], y[:1], classes=range(classes))
        else:
            machine.learn_one(x, y[i])
        kept = set(np.asarray(machine.support_).tolist())
        gone = [place for place, row in enumerate(twin.rows) if row not in kept]
        assert len(gone) <= 1
        twin.learn(x, t)
        assert set(twin.rows) == kept
    assert machine.n_mistakes_ == twin.mistakes
    assert_alike(machine, twin, X)


def test_forgetting_at_random_is_uniform_over_ages():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((3000, 5)), rng.integers(0, 2, 3000)
    machine = BudgetPerceptron(RBF(gamma=2.0), budget=5, random_state=1, **ONCE).partial_fit(
        X[:1], y[:1], classes=[0, 1]
    )
    ages, before = np.zeros(5), [0]
    for i in range(1, 3000):
        machine.learn_one(X[i], y[i])
        now = sorted(np.asarray(machine.support_).tolist())
        if len(before) == 5 and now != before:
            (lost,) = set(before) - set(now)
            ages[before.index(lost)] += 1
        before = now
    n = ages.sum()
    assert n > 1000
    assert np.abs(ages - n / 5).max() < 4 * math.sqrt(n * 0.2 * 0.8)


@pytest.mark.parametrize("learner", CLASSIFIERS, ids=str)
@given(seeds, st.permutations([0, 1, 2, 3]))
@few_examples(4)
def test_a_late_class_starts_at_its_first_example(learner, seed, arrival):
    X, y, _ = data(seed, n=45, classes=4)
    place = np.argsort(arrival)  # class c is not there before row 10 * its place
    y = np.array([c if i >= 10 * place[c] else arrival[0] for i, c in enumerate(y)])
    y[[0, 10, 20, 30]] = arrival
    first = {c: int(np.flatnonzero(y == c)[0]) for c in range(4)}
    Y = targets(y, 4)
    for c in arrival[2:]:  # the first two are each other's mirror image from the beginning
        Y[: first[c], c] = 0
    twin = learner.slow()
    for x, t in zip(X, Y, strict=True):
        twin.learn(x, t)
    chunked, single = learner.once(), learner.once()
    for start in range(0, len(X), 13):
        chunked.partial_fit(X[start : start + 13], y[start : start + 13])
    for x, label in zip(X, y, strict=True):
        single.learn_one(x, label)
    for machine in (chunked, single):
        assert machine.classes_.tolist() == [0, 1, 2, 3]
        assert_alike(machine, twin, X[:20], 1e-8)


def test_the_scale_of_a_heavy_decay_does_not_vanish():
    # 1500 rounds of × 0.05 are 1e-1950
    X, y, _ = data(2, n=1500)
    options = {"eta": 0.95, "lam": 1.0, "budget": 50}
    machine = NormaClassifier(RBF(gamma=0.5), fit_intercept=False, **options).partial_fit(X, y, classes=[0, 1])
    assert np.isfinite(machine.dual_coef_).all()
    last = X[np.asarray(machine.support_)[np.argmax(machine.support_)]]
    rows, coef = np.asarray(machine.support_), np.abs(np.asarray(machine.dual_coef_)[0])
    np.testing.assert_allclose(coef, 0.95 * 0.05 ** (1499.0 - rows), rtol=1e-6, atol=1e-300)
    assert np.isfinite(machine.decision_function([last])).all()


def test_novelty_tells_a_tenth_of_the_stream_from_the_rest():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 2))
    machine = NormaOneClass(RBF(gamma=0.5), nu=0.1, eta=0.05, lam=0.01, budget=500, **ONCE).partial_fit(X)
    outside = machine.predict(X[2000:]) == -1
    assert set(machine.predict(X).tolist()) == {-1, 1}
    assert 0.03 < outside.mean() < 0.25
    assert np.linalg.norm(X[2000:][outside], axis=1).mean() > 1.5 * np.linalg.norm(X[2000:][~outside], axis=1).mean()
    np.testing.assert_array_equal(machine.predict([[9.0, 9.0], [0.0, 0.0]]), [-1, 1])


# ---------------------------------------------------------------- the twins among themselves


@given(st.floats(1e-6, 1.0), st.integers(1, 5), st.floats(-3, 3), st.floats(1e-6, 50.0))
def test_the_papers_cases_are_the_largest_shrink_that_the_budget_allows(s, k, m, room):
    a, b, c = k * s * s - 2 * s * m, 2 * k * s, -room
    d = b * b - 4 * a * c
    if a > 1e-6 or (a < -1e-6 and d > 0 and (-b - math.sqrt(d)) / (2 * a) > 1):
        paper = min(1.0, (-b + math.sqrt(d)) / (2 * a))
    elif abs(a) <= 1e-6:
        return
    else:
        paper = 1.0
    phi = largest_shrink(a, b, c)
    assert phi == pytest.approx(paper, rel=1e-6)
    assert 0 < phi <= 1
    assert a * phi**2 + b * phi + c <= 1e-12 * max(1.0, abs(a), b, room)


@pytest.mark.parametrize("learner", CLASSIFIERS, ids=str)
@given(seeds)
@few_examples(3)
def test_two_mirrored_outputs_are_one(learner, seed):
    X, y, _ = data(seed)
    one, two = learner.slow(), learner.slow()
    for x, t in zip(X, targets(y, 2), strict=True):
        one.learn(x, t)
        two.learn(x, np.array([-t[0], t[0]]))
    assert two.mistakes == 2 * one.mistakes
    assert one.rows == two.rows
    np.testing.assert_allclose(two.coef, one.coef * [[-1.0, 1.0]], atol=1e-9)
    if isinstance(one, SlowForgetron):
        np.testing.assert_allclose(two.Q, 2 * one.Q, atol=1e-9)
