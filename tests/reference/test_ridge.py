"""Kernel ridge regression beside scikit-learn's KernelRidge, RidgeCV and GaussianProcessRegressor."""

from __future__ import annotations

import numpy as np
import pytest
from data_sets import require
from sklearn.datasets import load_diabetes
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as gp
from sklearn.kernel_ridge import KernelRidge as Peer
from sklearn.linear_model import RidgeClassifier, RidgeCV
from sklearn.preprocessing import StandardScaler

from onkel import KernelRidge, KernelRidgeClassifier, KernelRidgeCV

ROWS = 2000


def scaled(name):
    """At most 2000 scaled rows of a set, and their targets."""
    if name == "diabetes":
        X, y = load_diabetes(return_X_y=True)
    else:
        found = require(name)
        keys = ("X_train", "y_train") if "X_train" in found else ("X", "y")
        X, y = (found[key][:ROWS] for key in keys)
        X = X.toarray() if hasattr(X, "toarray") else X
    return StandardScaler().fit_transform(np.asarray(X, dtype=np.float64)), np.asarray(y, dtype=np.float64)


@pytest.mark.parametrize("name", ["diabetes", "california_housing", "cpusmall"])
@pytest.mark.parametrize(
    ("alpha", "params"),
    [
        (1.0, {"kernel": "rbf"}),
        (0.1, {"kernel": "laplacian", "gamma": 0.05}),
        (2.0, {"kernel": "poly", "degree": 2, "coef0": 2}),
        (0.5, {}),
    ],
)
def test_the_exact_solution_is_that_of_scikit_learn(name, alpha, params):
    X, y = scaled(name)
    train = np.arange(len(X)) % 4 > 0
    peer = Peer(alpha, **params).fit(X[train], y[train]).predict(X[~train])
    ours = KernelRidge(alpha, **params).fit(X[train], y[train])
    assert ours.solver_ == "cholesky"
    np.testing.assert_allclose(ours.predict(X[~train]), peer, rtol=1e-8, atol=1e-8 * np.abs(peer).max())


@pytest.mark.parametrize(
    "kernel", ["linear", "poly", "polynomial", "rbf", "laplacian", "sigmoid", "cosine", "chi2", "precomputed"]
)
def test_the_kernels_that_scikit_learn_names_have_its_results(kernel):
    X, y = scaled("diabetes")
    X, y = X[:120] - X.min(), y[:120]  # "chi2" takes no negative numbers
    X = X @ X.T if kernel == "precomputed" else X
    params = {"alpha": 5.0, "kernel": kernel} | ({"gamma": 0.01} if kernel in ("chi2", "sigmoid") else {})
    solver = "eigen" if kernel == "sigmoid" else "auto"
    peer = Peer(**params).fit(X, y).predict(X)
    np.testing.assert_allclose(KernelRidge(**params, solver=solver).fit(X, y).predict(X), peer, rtol=1e-7)


def test_coefficients_weights_and_alphas_have_scikit_learns_shapes_and_values():
    X, y = scaled("diabetes")
    Y, w = np.c_[y, y**2 / 100], np.linspace(0.1, 2.0, len(y))
    for targets, alpha in ((y, 0.7), (Y, 0.7), (Y, np.array([0.7, 3.0]))):
        peer = Peer(alpha, kernel="rbf", gamma=0.1).fit(X, targets, w)
        ours = KernelRidge(alpha, kernel="rbf", gamma=0.1).fit(X, targets, w)
        assert ours.dual_coef_.shape == peer.dual_coef_.shape
        np.testing.assert_allclose(ours.dual_coef_, peer.dual_coef_, rtol=1e-8, atol=1e-8)
        np.testing.assert_array_equal(ours.X_fit_, peer.X_fit_)
        np.testing.assert_allclose(ours.predict(X), peer.predict(X), rtol=1e-9)


def test_leave_one_out_of_a_linear_kernel_is_ridge_cv_of_scikit_learn():
    X, y = scaled("diabetes")
    alphas = np.logspace(-2, 4, 13)
    for fit_intercept in (False, True):
        peer = RidgeCV(alphas, fit_intercept=fit_intercept).fit(X, y)
        ours = KernelRidgeCV(alphas, fit_intercept=fit_intercept).fit(X, y)
        assert ours.alpha_ == peer.alpha_
        assert ours.best_score_ == pytest.approx(peer.best_score_, rel=1e-7)
        np.testing.assert_allclose(ours.predict(X), peer.predict(X), rtol=1e-7, atol=1e-7)


def test_a_linear_classifier_is_ridge_classifier_of_scikit_learn():
    X, y = scaled("diabetes")
    for labels in (y > 150, np.digitize(y, [90, 150, 250])):
        peer = RidgeClassifier(2.0).fit(X, labels)
        ours = KernelRidgeClassifier(2.0).fit(X, labels)
        np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(X), rtol=1e-8, atol=1e-8)
        np.testing.assert_array_equal(ours.predict(X), peer.predict(X))


def test_the_standard_deviation_is_that_of_a_gaussian_process():
    X, y = scaled("diabetes")
    length = 2.0
    w = np.linspace(0.5, 2.0, 300)
    for noise, weights in ((0.1, None), (0.1 / w, w)):
        peer = GaussianProcessRegressor(gp.RBF(length), alpha=noise, optimizer=None).fit(X[:300], y[:300])
        mean, std = peer.predict(X[250:], return_std=True)
        options = {"kernel": "rbf", "gamma": 1 / (2 * length**2)}
        for more, tol in (({"keep_factor": True}, 1e-9), ({"solver": "nystrom"}, 1e-6)):
            ours = KernelRidge(0.1, **options, **more).fit(X[:300], y[:300], weights)
            found = ours.predict(X[250:], return_std=True)
            np.testing.assert_allclose(found[0], mean, rtol=1e-6, atol=1e-6)
            np.testing.assert_allclose(found[1], std, rtol=tol)
