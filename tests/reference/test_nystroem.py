"""Ridge regression on centres compared with scikit-learn, and with published figures."""

from __future__ import annotations

import numpy as np
import pytest
from data_sets import require
from sklearn.datasets import load_diabetes
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge

from onkel.kernels import RBF, expand, prepare
from onkel.kernels.centers import Centers
from onkel.solvers.ridge.centers import WhitenedSums, choose_centers, conjugate_gradient


def california():
    data = require("california_housing")
    order = np.random.default_rng(0).permutation(len(data["y"]))
    X, y = data["X"][order].astype(np.float64), data["y"][order].astype(np.float64)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def fit(kernel, X, Y, centers, alpha, *, fit_intercept=True):
    sums = WhitenedSums(centers, Y.shape[1], fit_intercept=fit_intercept)
    sums.add(prepare(kernel, X), Y, None)
    return sums.solve(alpha)


def predict(centers, solution, T):
    return expand(centers.kernel, T, centers.rows, solution.coef) + solution.intercept


def r2(y, f):
    return 1 - ((y - f) ** 2).sum() / ((y - y.mean()) ** 2).sum()


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("alpha", [1.0, 1e-2])
def test_diabetes_has_the_predictions_of_nystroem_and_ridge(alpha, fit_intercept):
    X, y = load_diabetes(return_X_y=True)
    kernel, peer = RBF(gamma=5.0), Nystroem(gamma=5.0, n_components=60, random_state=0)
    ridge = Ridge(alpha=alpha, fit_intercept=fit_intercept, solver="svd").fit(peer.fit_transform(X), y)
    centers = Centers.of(kernel, prepare(kernel, X[peer.component_indices_]))
    f = predict(centers, fit(kernel, X, y[:, None], centers, alpha, fit_intercept=fit_intercept), X)[:, 0]
    assert np.allclose(f, ridge.predict(peer.transform(X)), rtol=1e-7)


def test_california_has_the_score_of_nystroem_and_ridge_with_the_same_centres():
    X, y = california()
    n = 4000
    kernel, peer = RBF(gamma=0.1), Nystroem(gamma=0.1, n_components=1000, random_state=0)
    Z, Z_test = peer.fit_transform(X[:n]), peer.transform(X[n:])
    centers = Centers.of(kernel, prepare(kernel, X[peer.component_indices_]))
    for alpha in (0.1, 1e-3, 1e-6):
        f = predict(centers, fit(kernel, X[:n], y[:n, None], centers, alpha), X[n:])[:, 0]
        assert abs(r2(y[n:], f) - r2(y[n:], Ridge(alpha=alpha).fit(Z, y[:n]).predict(Z_test))) < 0.002


def test_conjugate_gradients_reach_the_score_of_the_direct_solution_on_california():
    """Ten iterations are not enough, thirty are."""
    X, y = california()
    n, kernel, alpha = 3000, RBF(gamma=0.1), 0.1
    rows, Y = prepare(kernel, X[:n]), y[:n, None]
    centers = choose_centers(kernel, rows, 300, "uniform", np.random.RandomState(0), alpha)
    best = r2(y[n:], predict(centers, fit(kernel, X[:n], Y, centers, alpha), X[n:])[:, 0])

    def score(iterations):
        cg = conjugate_gradient(rows, Y, None, centers, alpha, fit_intercept=True, tol=0.0, max_iter=iterations)
        return r2(y[n:], predict(centers, cg, X[n:])[:, 0])

    assert abs(score(3) - best) > 0.005
    assert abs(score(30) - best) < 0.002


def test_the_digits_of_mnist_have_the_published_error():
    """One-hot targets, 1000 uniform centres: FALKON's authors publish 4.13 %."""
    data = require("mnist")
    X, T = (data[name].reshape(-1, 784) / np.float32(255) for name in ("X_train", "X_test"))
    kernel = RBF(gamma=0.02)
    centers = choose_centers(kernel, prepare(kernel, X), 1000, "uniform", np.random.RandomState(0), 6e-4)
    Y = (data["y_train"][:, None] == np.arange(10)).astype(np.float64)
    f = predict(centers, fit(kernel, X, Y, centers, 6e-4), T)
    assert (f.argmax(axis=1) != data["y_test"]).mean() <= 0.041
