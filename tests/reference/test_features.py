"""The approximate maps against scikit-learn and against slow twins."""

from __future__ import annotations

import numpy as np
import pytest
from reference.feature_oracles import projected_kernel, waves
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from onkel.features import NystroemMap, RandomFourierMap
from onkel.kernels import RBF, Laplacian, Linear, Matern, Polynomial

KERNELS = [RBF(gamma=0.3), Laplacian(gamma=0.2), Polynomial(degree=2), Linear(), Matern(nu=1.5) + 0.1 * Linear()]


def data(n, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_inner_products_are_those_of_projections_on_the_span_of_the_centers(kernel):
    X, Z, S = data(30), data(7, seed=1), data(20, seed=2)
    S[-5:] = S[:5]
    nystroem = NystroemMap(kernel=kernel, centers=S).fit(X)
    expected = projected_kernel(kernel, X, Z, S)
    np.testing.assert_allclose(nystroem.transform(X) @ nystroem.transform(Z).T, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    ("params", "theirs"),
    [
        ({}, {}),
        ({"kernel": "rbf", "gamma": 0.4}, {"kernel": "rbf", "gamma": 0.4}),
        ({"kernel": "laplacian", "gamma": 0.2}, {"kernel": "laplacian", "gamma": 0.2}),
        (
            {"kernel": "poly", "gamma": 0.5, "degree": 2, "coef0": 2.0},
            {"kernel": "poly", "gamma": 0.5, "degree": 2, "coef0": 2.0},
        ),
    ],
)
def test_inner_products_are_those_of_scikit_learns_nystroem_with_the_same_centers(params, theirs):
    X, Z = data(60), data(9, seed=1)
    peer = Nystroem(n_components=14, random_state=0, **theirs)
    if theirs == {}:
        peer.gamma = 0.25  # None means 1 here, in scikit-learn, whatever it says
    expected = peer.fit(X).transform(Z) @ peer.transform(X).T
    ours = NystroemMap(centers=peer.components_, **params).fit(X)
    np.testing.assert_allclose(ours.transform(Z) @ ours.transform(X).T, expected, rtol=0, atol=1e-9 * expected.max())


def test_a_linear_model_learns_the_same_from_either_nystroem_map():
    X = data(200, d=2)
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    peer = make_pipeline(Nystroem(gamma=1.0, n_components=40, random_state=0), LinearSVC()).fit(X, y)
    ours = make_pipeline(NystroemMap(kernel=RBF(gamma=1.0), centers=peer[0].components_), LinearSVC()).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), peer.decision_function(X), rtol=0, atol=2e-3)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", Matern(nu=0.5), 3.0 * RBF()], ids=repr)
def test_waves_are_the_cosines_and_sines_of_the_frequencies(kernel):
    X = data(5, d=3)
    fourier = RandomFourierMap(8, kernel=kernel, random_state=0).fit(X)
    slow = np.array([waves(x, fourier.frequencies_, fourier.factor_) for x in X])
    np.testing.assert_allclose(fourier.transform(X), slow, rtol=0, atol=1e-12)
