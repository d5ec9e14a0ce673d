"""Laws of centres: features are whitened, duplicates change nothing, and nothing is lost inside of the span."""

from __future__ import annotations

import numpy as np
import pytest

from onkel.errors import GramError
from onkel.kernels import RBF, Linear, Polynomial, Precomputed, prepare
from onkel.kernels.centers import Centers

KERNELS = [RBF(gamma=0.3), Polynomial(degree=3), Linear()]
kernels = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


def data(n=30, d=4, dtype=np.float64, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(dtype)


@kernels
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_features_of_the_centers_have_the_kernel_as_inner_products(kernel, dtype):
    X = data(dtype=dtype)
    centers = Centers.of(kernel, prepare(kernel, X))
    K = kernel(X.astype(np.float64))
    tol = 1e-9 * K.diagonal().max()
    phi = centers.features(prepare(kernel, X))
    assert np.allclose(phi @ phi.T, K, atol=tol)
    assert np.allclose(centers.factor @ centers.factor.T, K[np.ix_(centers.places, centers.places)], atol=tol)
    assert np.allclose(np.triu(centers.factor, 1), 0)


def test_the_rank_of_the_span_is_kept():
    X = data(d=4)
    assert len(Centers.of(Linear(), prepare(Linear(), X))) == 4
    assert len(Centers.of(Polynomial(degree=2), prepare(Polynomial(degree=2), X))) == 15
    assert len(Centers.of(RBF(gamma=1.0), prepare(RBF(gamma=1.0), X))) == 30


def test_duplicates_change_nothing():
    kernel, X = RBF(gamma=0.5), data()
    twice = np.concatenate([X, X[::-1], X[:5]])
    one, other = (Centers.of(kernel, prepare(kernel, rows)) for rows in (X, twice))
    assert len(one) == len(other) == len(X)
    T = prepare(kernel, data(seed=1))
    a, b = one.features(T), other.features(T)
    assert np.allclose(a @ a.T, b @ b.T, atol=1e-9)


def test_a_center_is_kept_before_those_that_are_nearer_to_the_span():
    kernel, X = RBF(gamma=1.0), np.array([[0.0], [0.1], [5.0], [0.05]])
    assert Centers.of(kernel, prepare(kernel, X)).places.tolist()[:2] == [0, 2]


@kernels
def test_coefficients_of_a_function_give_its_values(kernel):
    X, rng = data(), np.random.default_rng(2)
    centers, x = Centers.of(kernel, prepare(kernel, X)), prepare(kernel, data(seed=3))
    w = rng.normal(size=(len(centers), 2))
    values = kernel(data(seed=3), X[centers.places]) @ centers.coefficients(w)
    assert np.allclose(centers.features(x) @ w, values, rtol=1e-6, atol=1e-6 * np.abs(values).max())


def test_what_lies_outside_of_the_span_is_what_a_projection_leaves():
    kernel, X, Z = RBF(gamma=0.5), data(12), data(9, seed=5)
    centers, x = Centers.of(kernel, prepare(kernel, X)), prepare(kernel, Z)
    K, k = kernel(X), kernel(Z, X)
    left = 1 - np.einsum("ij,ij->i", k @ np.linalg.inv(K), k)
    assert np.allclose(centers.outside(x, centers.features(x)), left, atol=1e-10)
    assert centers.outside(centers.rows, centers.features(centers.rows)) == pytest.approx(0, abs=1e-12)


def test_rows_without_length_are_refused():
    with pytest.raises(GramError, match="positive"):
        Centers.of(Linear(), prepare(Linear(), np.zeros((3, 2))))


def test_centers_of_a_gram_matrix_keep_no_kernel_values_with_other_rows():
    K = RBF(gamma=0.3)(data())
    rows = prepare(Precomputed(), K, itself=True)
    centers = Centers.of(Precomputed(), rows[np.arange(0, 30, 3)])
    assert centers.rows.block is None
    np.testing.assert_array_equal(centers.rows.columns, 3 * centers.places)
    phi = centers.features(rows)
    np.testing.assert_allclose(phi[3 * centers.places], centers.factor, atol=1e-9)
