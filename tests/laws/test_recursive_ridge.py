"""Laws of RecursiveKernelRidge: weights are repetitions, chunks are loops, budgets hold, variances are variances."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.recursive_oracles import lorenz, past_values
from strategies import few_examples, seeds

from onkel import RecursiveKernelRidge
from onkel.errors import InputError, KindError
from onkel.kernels import RBF, Polynomial, prepare
from onkel.learners.recursive_ridge.learner import RecursiveRidgeLearner
from onkel.learners.recursive_ridge.least_squares import FadingCovariance, RootCovariance, Triangle
from onkel.states.state import State, from_state

forgetting = pytest.mark.parametrize("forgetting", [1.0, 0.97])


def data(seed=0, n=90, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=n)


def seen(estimator, X):
    """All that can be seen of an estimator, bit for bit."""
    found = [*estimator.predict(X, return_std=True), estimator.dual_coef_, estimator.support_, estimator.mistakes_]
    return [array.tobytes() for array in found]


def assert_alike(one, other, X, tolerance=1e-8):
    for mine, its in zip(one.predict(X, return_std=True), other.predict(X, return_std=True), strict=True):
        np.testing.assert_allclose(mine, its, rtol=0, atol=tolerance)


# ---------------------------------------------------------------- what is learned


@given(seeds)
@few_examples(5)
def test_the_order_of_the_rows_does_not_matter_without_a_threshold(seed):
    X, y = data(seed)
    order = np.random.default_rng(seed).permutation(len(X))
    options = {"alpha": 0.1, "kernel": RBF(gamma=1.0), "nu": 0.0}
    one, other = RecursiveKernelRidge(**options).fit(X, y), RecursiveKernelRidge(**options).fit(X[order], y[order])
    assert_alike(one, other, data(seed + 1)[0])


@pytest.mark.parametrize("nu", [0.0, 0.2])
def test_sample_weights_are_repeated_rows(nu):
    X, y = data()
    weights = np.random.default_rng(1).integers(0, 4, len(X))
    options = {"alpha": 0.3, "kernel": RBF(gamma=0.5), "nu": nu}
    weighted = RecursiveKernelRidge(**options).fit(X, y, sample_weight=weights)
    repeated = RecursiveKernelRidge(**options).fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert len(weighted.support_) == len(repeated.support_)
    assert_alike(weighted, repeated, X)


def test_epochs_divide_the_ridge():
    X, y = data()
    once = RecursiveKernelRidge(0.3, kernel=RBF(gamma=0.5), nu=0.0).fit(X, y)
    thrice = RecursiveKernelRidge(0.9, kernel=RBF(gamma=0.5), nu=0.0, max_iter=3).fit(X, y)
    assert thrice.n_iter_ == 3
    np.testing.assert_array_equal(thrice.support_, once.support_)
    assert_alike(thrice, once, X)


@forgetting
@given(seeds, st.sampled_from([0.0, 1e-3, 0.3]), st.sampled_from([None, 5]))
@few_examples(8)
def test_the_variance_is_between_zero_and_that_of_the_prior(forgetting, seed, nu, budget):
    X, y = data(seed, n=60)
    kernel = Polynomial(degree=2)
    ours = RecursiveKernelRidge(1e-6, kernel=kernel, nu=nu, forgetting=forgetting, budget=budget).fit(X, y)
    x = data(seed + 1)[0]
    std = ours.predict(x, return_std=True)[1]
    assert (std >= 0).all()
    assert (std**2 <= kernel.diag(x) * (1 + 1e-9)).all()


def test_without_noise_nothing_is_uncertain_at_the_rows_that_were_learned():
    X, y = data(n=40)
    ours = RecursiveKernelRidge(1e-12, kernel=RBF(gamma=2.0), nu=0.0).fit(X, y)
    mean, std = ours.predict(X, return_std=True)
    np.testing.assert_allclose(mean, y, atol=1e-6)
    assert std.max() < 2e-6
    assert ours.predict([[50.0, 0.0, 0.0]], return_std=True)[1] == pytest.approx([1.0])  # far from all rows


@pytest.mark.parametrize("alpha", [1e-20, 1e-300])
def test_a_ridge_below_all_rounding_errors_keeps_the_covariance_positive(alpha):
    rng = np.random.default_rng(0)
    X, y = rng.integers(-2, 3, size=(600, 2)).astype(float), rng.normal(size=600)  # 25 points with conflicting targets
    ours = RecursiveKernelRidge(alpha, kernel=RBF(gamma=0.5), nu=1e-6).fit(X, y)
    mean, std = ours.predict(X, return_std=True)
    assert np.isfinite(mean).all()
    assert np.abs(mean).max() < 1e3
    assert (std >= 0).all()
    assert std.max() < 1e-3


def test_what_does_not_come_again_is_forgotten_and_the_prior_comes_back():
    X, y = data()
    here, there = X[-5:], X + 30.0
    ours = RecursiveKernelRidge(0.01, kernel=RBF(gamma=0.5), forgetting=0.98).fit(X, y)
    mean, std = ours.predict(here, return_std=True)
    assert std.max() < 0.3
    for k in range(8):
        ours.partial_fit(there, y)
        later, wider = ours.predict(here, return_std=True)
        np.testing.assert_allclose(later, mean * 0.98 ** (len(X) * (k + 1) / 2), atol=1e-9)
        np.testing.assert_allclose(1 - wider**2, (1 - std**2) * 0.98 ** (len(X) * (k + 1)), atol=1e-9)
    assert len(ours.support_) > 90  # and nothing has grown without bound
    assert ours.predict(there, return_std=True)[1].max() <= 1.0


# ---------------------------------------------------------------- the dictionary


@forgetting
@given(seeds, st.integers(1, 12))
@few_examples(5)
def test_a_full_budget_only_projects(forgetting, seed, budget):
    X, y = data(seed)
    ours = RecursiveKernelRidge(0.1, kernel=RBF(gamma=0.5), nu=1e-3, budget=budget, forgetting=forgetting)
    for row, target in zip(X, y, strict=True):
        ours.learn_one(row, target)
        assert len(ours.support_) <= budget
    assert len(ours.support_) == budget
    kept = ours.support_
    ours.partial_fit(X + 5.0, y)
    np.testing.assert_array_equal(ours.support_, kept)
    assert ours.n_rounds_ == 180


def test_a_row_is_added_exactly_if_it_is_farther_from_the_span_than_nu():
    X, y = data(n=200)
    kernel, nu = RBF(gamma=0.2), 0.05
    kept = RecursiveKernelRidge(0.1, kernel=kernel, nu=nu).fit(X, y).support_
    for i in range(len(X)):
        before = kept[kept < i]
        k = kernel(X[i : i + 1], X[before])[0] if len(before) else np.empty(0)
        outside = 1.0 - k @ np.linalg.solve(kernel(X[before]), k) if len(before) else 1.0
        assert (i in kept) == (outside > nu)


def test_on_a_smooth_series_the_features_are_no_rounding_errors():
    """Without the bound by the rounding error T is singular within 30 rows, and ‖φ‖² of other rows is 10⁷."""
    series = lorenz(2010)
    X, y = past_values((series - series.mean()) / series.std(), 10)
    learner = RecursiveRidgeLearner(RBF(gamma=0.5), 1, alpha=1e-3, nu=0.0)
    learner.learn(prepare(learner.kernel, X), y[:, None], np.ones(len(y)), np.arange(len(y)))
    T, S = learner.estimate.factor.dense(), X[learner.dictionary.row_ids]
    assert np.linalg.svd(T, compute_uv=False)[-1] > 1e-8
    phi = np.linalg.solve(T, learner.kernel(S, X))
    assert (phi**2).sum(axis=0).max() < 1.001


def test_rows_that_are_zero_in_the_space_of_features_teach_nothing():
    ours = RecursiveKernelRidge(0.1, kernel="linear").fit(np.zeros((3, 2)), [1.0, 2.0, 3.0])
    assert len(ours.support_) == 0
    assert ours.n_updates_ == 0
    assert ours.n_rounds_ == 3
    mean, std = ours.predict([[3.0, 4.0]], return_std=True)
    assert (mean.tolist(), std.tolist()) == ([0.0], [5.0])
    ours.learn_one([1.0, 0.0], 1.1)
    assert ours.predict([[1.0, 0.0], [0.0, 1.0]]) == pytest.approx([1.0, 0.0])


# ---------------------------------------------------------------- chunks, copies and states


@forgetting
@pytest.mark.parametrize("chunk", [1, 7, 64, 1000])
@pytest.mark.parametrize(("nu", "budget"), [(0.0, None), (0.05, None), (1e-3, 20)])
def test_a_chunked_pass_equals_its_samples_one_by_one(forgetting, chunk, nu, budget):
    X, y = data(n=200)
    options = {"alpha": 0.1, "kernel": RBF(gamma=0.5), "nu": nu, "budget": budget, "forgetting": forgetting}
    chunked, single = RecursiveKernelRidge(**options), RecursiveKernelRidge(**options)
    for start in range(0, len(X), chunk):
        chunked.partial_fit(X[start : start + chunk], y[start : start + chunk])
    for row, target in zip(X, y, strict=True):
        single.learn_one(row, target)
    assert seen(chunked, X) == seen(single, X)


@forgetting
def test_copies_pickles_and_states_go_on_bit_for_bit(forgetting):
    X, y = data(n=150)
    ours = RecursiveKernelRidge(0.1, kernel=RBF(gamma=0.5), nu=1e-3, forgetting=forgetting).partial_fit(X[:70], y[:70])
    snapshot = ours.snapshot()
    twins = [copy.deepcopy(ours), pickle.loads(pickle.dumps(ours)), from_state(ours.state())]
    ours.partial_fit(X[70:], y[70:])
    expected = seen(ours, X)
    for twin in [*twins, ours.resume(snapshot)]:
        assert seen(twin.partial_fit(X[70:], y[70:]), X) == expected


def test_a_state_whose_arrays_do_not_fit_each_other_is_refused():
    X, y = data()
    learner = RecursiveRidgeLearner(RBF(gamma=0.5), 1, alpha=0.1, nu=0.1)
    learner.learn(prepare(learner.kernel, X), y[:, None], np.ones(len(y)), np.arange(len(y)))
    state = learner.state()
    for name in ("factor", "lengths", "w", "covariance"):
        wrong = State(state.kind, state.version, state.settings, {**state.arrays, name: state.arrays[name][1:]})
        with pytest.raises(InputError, match=f"'{name}' must have shape"):
            from_state(wrong)


def test_several_outputs_share_one_dictionary_and_learn_as_if_alone():
    X, y = data()
    Y = np.c_[y, X[:, 1], -y]
    rows, ids, ones = prepare(RBF(gamma=0.5), X), np.arange(len(X)), np.ones(len(X))
    together = RecursiveRidgeLearner(RBF(gamma=0.5), 3, alpha=0.1, nu=0.1, forgetting=0.99)
    before = together.learn(rows, Y, ones, ids)
    for j in range(3):
        alone = RecursiveRidgeLearner(RBF(gamma=0.5), 1, alpha=0.1, nu=0.1, forgetting=0.99)
        np.testing.assert_allclose(alone.learn(rows, Y[:, j : j + 1], ones, ids)[:, 0], before[:, j], atol=1e-12)
        np.testing.assert_allclose(alone.scores(rows)[:, 0], together.scores(rows)[:, j], atol=1e-12)
    scores = together.scores(rows)
    together.change_outputs(np.array([[1.0, 0.0], [0.0, -1.0], [0.0, 0.0]]))
    np.testing.assert_allclose(together.scores(rows), np.c_[scores[:, 0], -scores[:, 1]], atol=1e-12)


def test_float32_rows_are_learned_in_float64():
    X, y = data()
    X = X.astype(np.float32)
    options = {"alpha": 1e-6, "kernel": RBF(gamma=0.5), "nu": 0.0}
    single, double = (RecursiveKernelRidge(**options).fit(X.astype(t), y) for t in (np.float32, np.float64))
    assert_alike(single, double, X, 0.0)
    assert [single.predict_one(x) for x in X[:9]] == [double.predict_one(x) for x in X[:9]]


def test_the_steps_are_errors_divided_by_their_variance():
    ours = RecursiveKernelRidge(1.0, kernel="linear").fit([[1.0], [2.0]], [3.0, 6.0])
    # f(1) = 0 with the variance 1 + α; then f(2) = 3 with the variance 4 · ½ + α
    assert ours.mistakes_["step"].tolist() == pytest.approx([3 / 2, 3 / 3])
    assert ours.n_updates_ == 2


def test_a_precomputed_kernel_predicts_but_has_no_standard_deviation():
    X, y = data()
    K = RBF(gamma=0.5)(X)
    ours = RecursiveKernelRidge(0.1, kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(
        ours.predict(K), RecursiveKernelRidge(0.1, kernel=RBF(gamma=0.5)).fit(X, y).predict(X), atol=1e-9
    )
    with pytest.raises(KindError, match=r"return_std needs k\(x, x\).*Use a kernel on the rows"):
        ours.predict(K, return_std=True)


# ---------------------------------------------------------------- the parts


@given(seeds, st.integers(1, 8), st.sampled_from([1e-9, 0.1, 100.0]))
def test_conditioning_a_covariance_is_the_textbook_formula(seed, m, noise):
    rng = np.random.default_rng(seed)
    L, phi = rng.normal(size=(m, m)), rng.normal(size=m)
    for forgetting, covariance in ((1.0, RootCovariance(L.copy())), (0.9, FadingCovariance(L @ L.T, 0.9))):
        P = forgetting * L @ L.T + (1 - forgetting) * np.eye(m)
        s = noise + phi @ P @ phi
        after = P - np.outer(P @ phi, P @ phi) / s
        gain = covariance.condition(phi, noise)
        np.testing.assert_allclose(gain.vector, P @ phi / s, rtol=1e-6, atol=1e-9)
        assert gain.s == pytest.approx(s)
        rows = rng.normal(size=(4, m))
        expected = np.einsum("ij,jk,ik->i", rows, after, rows)
        np.testing.assert_allclose(covariance.variances(rows), expected, atol=1e-7 * np.abs(P).max() * m)


def test_a_covariance_grows_by_independent_weights_of_variance_one():
    for covariance in (RootCovariance(np.empty((0, 0))), FadingCovariance(np.empty((0, 0)), 0.5)):
        for m in range(1, 6):
            covariance.grow(2)
            assert len(covariance) == len(covariance.packed()) == m
        np.testing.assert_array_equal(covariance.values, np.eye(5))


def test_a_triangle_solves_as_the_matrix_that_it_is():
    rng = np.random.default_rng(0)
    T = np.tril(rng.normal(size=(9, 9))) + 5 * np.eye(9)
    triangle = Triangle(np.empty(0), 0)
    for m in range(9):
        triangle = triangle.with_row(T[m, : m + 1])
        b = rng.normal(size=m + 1)
        np.testing.assert_array_equal(triangle.dense(), T[: m + 1, : m + 1])
        np.testing.assert_allclose(T[: m + 1, : m + 1] @ triangle.solve(b), b)
        np.testing.assert_allclose(T[: m + 1, : m + 1].T @ triangle.solve_transposed(b[:, None])[:, 0], b)


# ---------------------------------------------------------------- copies and savepoints of the learner


def learned(learner, X, y, first=0):
    rows, ids = prepare(learner.kernel, X), first + np.arange(len(X))
    learner.learn(rows, y[:, None], np.ones(len(X)), ids)
    return learner


@forgetting
def test_a_copy_and_its_original_learn_on_independently(forgetting):
    X, y = data(n=60)
    Z, z = data(seed=1, n=3)  # few, so that they fit into the memory that there is
    options = {"alpha": 0.1, "nu": 1e-3, "forgetting": forgetting}
    original, one, other = (learned(RecursiveRidgeLearner(RBF(gamma=0.5), 1, **options), X, y) for _ in range(3))
    twin = original.copy()
    learned(original, Z, z, 60)
    learned(twin, -Z, z, 60)
    assert original.state() == learned(one, Z, z, 60).state()
    assert twin.state() == learned(other, -Z, z, 60).state()


@forgetting
def test_a_rollback_undoes_what_was_learned_since(forgetting):
    X, y = data(n=60)
    Z, z = data(seed=1, n=30)
    learner = RecursiveRidgeLearner(RBF(gamma=0.5), 1, alpha=0.1, nu=1e-3, forgetting=forgetting)
    before, savepoint = learned(learner, X, y).state(), learner.savepoint()
    after = learned(learner, Z, z, 60).state()
    learned(learner, -Z, z, 90)
    learner.rollback(savepoint)
    assert learner.state() == before
    assert learned(learner, Z, z, 60).state() == after
