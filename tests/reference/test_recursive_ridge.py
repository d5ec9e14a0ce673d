"""RecursiveKernelRidge against the batch solution, the tracker on explicit matrices, scikit-learn, and two series."""

from __future__ import annotations

import numpy as np
import pytest
from reference.recursive_oracles import SlowTracker, batch_ridge, lorenz, mackey_glass, past_values
from sklearn.gaussian_process import GaussianProcessRegressor, kernels
from streams import learn_in_parts

from onkel import RecursiveKernelRidge
from onkel.kernels import RBF, Laplacian, Linear, Polynomial, prepare
from onkel.learners.recursive_ridge.learner import RecursiveRidgeLearner

KERNELS = [RBF(gamma=0.5), Laplacian(gamma=0.5), Linear(), Polynomial(degree=2)]


def data(n=120, seed=0, probes=40):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=n), rng.normal(size=(probes, 3))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("alpha", [10.0, 0.1, 1e-3])
def test_without_a_threshold_it_is_batch_ridge_regression_on_the_same_rows(kernel, alpha):
    X, y, x = data()
    f, variance = batch_ridge(kernel, X, y, alpha, x)
    mean, std = RecursiveKernelRidge(alpha, kernel=kernel, nu=0.0).fit(X, y).predict(x, return_std=True)
    np.testing.assert_allclose(mean, f, rtol=0, atol=1e-8)
    np.testing.assert_allclose(std**2, variance, rtol=0, atol=1e-8)


def test_the_standard_deviation_is_that_of_a_gaussian_process():
    X, y, x = data()
    peer = GaussianProcessRegressor(kernels.RBF(1.0), alpha=0.05, optimizer=None).fit(X, y)
    ours = RecursiveKernelRidge(0.05, kernel="rbf", gamma=0.5, nu=0.0).fit(X, y)
    for one, other in zip(ours.predict(x, return_std=True), peer.predict(x, return_std=True), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("forgetting", [1.0, 0.95, 0.5])
@pytest.mark.parametrize(("nu", "budget"), [(0.0, None), (0.1, None), (1e-3, 3)])
def test_it_is_the_tracker_on_explicit_matrices(kernel, forgetting, nu, budget):
    X, y, x = data(n=60)
    nu = 1e-8 if nu == 0 else nu  # the twin inverts K, and has no floor
    weights = np.random.default_rng(1).choice([0.5, 1.0, 3.0], len(X))
    ours = RecursiveKernelRidge(0.1, kernel=kernel, nu=nu, forgetting=forgetting, budget=budget)
    ours.fit(X, y, sample_weight=weights)
    twin = SlowTracker(kernel, 0.1, nu, forgetting, budget)
    for row, target, weight in zip(X, y, weights, strict=True):
        twin.learn(row, target, weight)
    assert ours.support_.tolist() == twin.places
    mean, variance = twin.predict(x)
    scale = kernel.diag(x).max()
    np.testing.assert_allclose(ours.predict(x), mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(ours.predict(x, return_std=True)[1] ** 2, variance, rtol=0, atol=1e-8 * scale)


def test_mackey_glass_is_predicted_to_8e_4():
    """One progressive pass with ten past values; measured 5.1e-4, with 291 rows in the dictionary."""
    X, y = past_values(mackey_glass(5010), 10)
    learner = RecursiveRidgeLearner(RBF(gamma=0.5), 1, alpha=1e-3, nu=1e-4)
    scores = learn_in_parts(learner, prepare(learner.kernel, X), y[:, None], np.ones(len(y)), np.arange(len(y)))[:, 0]
    last = slice(4000, 5000)
    assert np.mean((X[last, -1] - y[last]) ** 2) / y[last].var() > 0.3  # the series is not an easy one
    assert np.mean((scores[last] - y[last]) ** 2) / y[last].var() <= 8e-4
    assert 200 < len(learner.dictionary) < 400


@pytest.mark.parametrize(
    ("n", "nu", "forgetting", "error"), [(10_000, 1e-4, 1.0, 1e-5), (3000, 0.0, 1.0, 1e-3), (3000, 1e-4, 0.999, 0.05)]
)
def test_lorenz_stays_finite_and_is_learned(n, nu, forgetting, error):
    """A series on which an explicit inverse of the kernel matrix overflows."""
    series = lorenz(n + 10)
    X, y = past_values((series - series.mean()) / series.std(), 10)
    ours = RecursiveKernelRidge(1e-3, kernel="rbf", gamma=0.5, nu=nu, forgetting=forgetting).partial_fit(X, y)
    mean, std = ours.predict(X, return_std=True)
    assert np.isfinite(std).all()
    assert np.mean((mean - y) ** 2) / y.var() < error
