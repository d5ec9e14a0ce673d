"""Explicit maps: their inner products are the kernel's values."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.preprocessing import PolynomialFeatures
from strategies import draw_points, kernels, seeds

from onkel.errors import GramError
from onkel.features import EigenMap, PolynomialMap
from onkel.kernels import (
    RBF,
    Cosine,
    Custom,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Sigmoid,
)

KERNELS = [
    Linear(),
    Polynomial(degree=2, gamma=0.5),
    Polynomial(degree=3, coef0=0.0),
    RBF(gamma=0.3),
    Laplacian(gamma=0.5),
    Matern(nu=1.5),
    RationalQuadratic(),
    Cosine(),
    (RBF(gamma=0.2) + 0.5 * Linear()) * Laplacian(gamma=0.1),
    (0.1 * Linear()).exp().normalized(),
]
few = settings(max_examples=15)


@st.composite
def points(draw, max_rows=8):
    """Normal rows; one in three entries is 0, and in some sets the first row is there twice."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = draw(st.integers(1, max_rows)), draw(st.integers(1, 5))
    X = np.where(rng.random(shape) < 0.33, 0.0, rng.normal(size=shape))
    if draw(st.booleans()):
        X[-1] = X[0]
    return X


polynomials = st.fixed_dictionaries(
    {
        "degree": st.integers(1, 4),
        "gamma": st.sampled_from([0.0, 1.0, 2.0]) | st.floats(0.01, 3.0),
        "coef0": st.sampled_from([0.0, 1.0]) | st.floats(0.01, 3.0),
    }
)


def training_set(seed=0, n=40, d=4):
    return np.random.default_rng(seed).normal(size=(n, d))


# ---------------------------------------------------------------- PolynomialMap


@given(points(), polynomials)
def test_inner_products_of_the_polynomial_map_are_the_polynomial_kernel(X, params):
    H = PolynomialMap(**params).fit_transform(X)
    largest = (params["gamma"] * (X**2).sum(axis=1).max() + params["coef0"]) ** params["degree"]
    np.testing.assert_allclose(H @ H.T, Polynomial(**params)(X), rtol=0, atol=1e-13 * largest)


@given(points(), polynomials)
def test_each_column_is_its_coefficient_times_the_monomial_of_its_name(X, params):
    H = PolynomialMap(**params).fit(X)
    plain = PolynomialFeatures(params["degree"]).fit(X)  # all monomials up to the degree, coefficients 1
    made = plain.powers_.sum(axis=1) >= (0 if params["coef0"] else params["degree"])
    assert H.get_feature_names_out().tolist() == plain.get_feature_names_out()[made].tolist()
    np.testing.assert_allclose(H.transform(X), plain.transform(X)[:, made] * H.coefficients_, rtol=1e-13)


@given(points(), polynomials)
def test_the_map_of_sparse_rows_is_the_map_of_the_same_dense_rows(X, params):
    H = PolynomialMap(**params).fit(X)
    for kind in (sp.csr_array, sp.csr_matrix):
        mapped = H.transform(kind(X))
        assert type(mapped) is kind
        assert mapped.has_canonical_format
        assert mapped.indices.dtype == mapped.indptr.dtype == np.int32  # what most solvers take
        assert mapped.nnz <= np.count_nonzero(H.transform(X)) or params["gamma"] == 0.0
        np.testing.assert_allclose(mapped.toarray(), H.transform(X), rtol=1e-13)


@pytest.mark.parametrize("coef0", [0.0, 1.0])
def test_unsorted_and_repeated_entries_of_a_sparse_row_are_understood_and_left_alone(coef0):
    unsorted = sp.csr_array((np.array([3.0, 1.0, 0.5, 2.0]), np.array([2, 0, 0, 1]), np.array([0, 3, 4])), shape=(2, 3))
    H = PolynomialMap(degree=2, coef0=coef0).fit(unsorted)
    expected = H.transform(np.array([[1.5, 0.0, 3.0], [0.0, 2.0, 0.0]]))
    np.testing.assert_allclose(H.transform(unsorted).toarray(), expected, rtol=1e-15)
    assert unsorted.indices.tolist() == [2, 0, 0, 1]


def test_the_map_of_the_notes_is_another_kernel_and_needs_root_two_on_its_linear_terms():
    def notes(x1, x2):
        return np.array([1.0, x1, x2, math.sqrt(2) * x1 * x2, x1**2, x2**2])

    x, z = np.array([1.0, 2.0]), np.array([3.0, -1.0])
    dot = x @ z  # 1
    assert notes(*x) @ notes(*z) == pytest.approx(1 + dot + dot**2)  # 3, not (1 + 1)² = 4
    H = PolynomialMap(degree=2).fit([x])
    assert (H.transform([x]) @ H.transform([z]).T).item() == pytest.approx((1 + dot) ** 2)
    # in the notes' order: 1, x1, x2, x1x2, x1², x2²
    names = ["1", "x0", "x1", "x0 x1", "x0^2", "x1^2"]
    found = dict(zip(H.get_feature_names_out(), H.transform([x])[0], strict=True))
    corrected = notes(*x) * [1, math.sqrt(2), math.sqrt(2), 1, 1, 1]
    np.testing.assert_allclose([found[name] for name in names], corrected, rtol=1e-15)


@pytest.mark.parametrize(("degree", "d", "coef0"), [(1, 3, 1.0), (3, 5, 1.0), (3, 5, 0.0), (7, 2, 2.0)])
def test_there_is_one_column_for_each_monomial(degree, d, coef0):
    H = PolynomialMap(degree=degree, coef0=coef0).fit(np.zeros((1, d)))
    variables = d + (coef0 > 0)
    assert len(H.coefficients_) == math.comb(variables + degree - 1, degree)
    assert len(set(H.get_feature_names_out())) == len(H.coefficients_) == H.transform(np.ones((1, d))).shape[1]


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("degree", "coef0"), [(1, 0.0), (1, 1.0), (3, 1.0)])
def test_the_polynomial_map_keeps_float32_and_leaves_its_input_alone(convert, degree, coef0):
    X = training_set().astype(np.float32)
    rows = convert(X.copy())
    H = PolynomialMap(degree=degree, gamma=0.5, coef0=coef0).fit(rows)
    mapped = H.transform(rows)
    assert mapped.dtype == np.float32
    assert abs(rows - convert(X)).max() == 0
    exact = H.transform(X.astype(np.float64))
    np.testing.assert_allclose(mapped.toarray() if sp.issparse(mapped) else mapped, exact, rtol=1e-5)


# ---------------------------------------------------------------- EigenMap


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@few
@given(X=points(max_rows=25))
def test_inner_products_of_the_eigen_features_are_the_training_gram_matrix(kernel, X):
    X[0] += 0.1  # so that not all rows are zero, where Linear has no features
    K = kernel(X)
    Phi = EigenMap(kernel).fit_transform(X)
    np.testing.assert_allclose(Phi @ Phi.T, K, rtol=0, atol=1e-12 * K.max())


@given(kernels.filter(lambda k: k.is_psd is True), st.integers(1, 30), st.integers(1, 6), seeds)
def test_whatever_valid_kernels_make_has_eigen_features_too(kernel, n, d, seed):
    X = draw_points(kernel, n, d, seed)
    K, eigen = kernel(X), EigenMap(kernel)
    Phi = eigen.fit_transform(X)
    np.testing.assert_allclose(Phi @ Phi.T, K, rtol=0, atol=1e-12 * K.max())
    np.testing.assert_allclose(eigen.transform(X), Phi, rtol=0, atol=1e-7 * np.abs(Phi).max())


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@few
@given(X=points(max_rows=25))
def test_transforming_the_training_rows_gives_what_fit_transform_gave(kernel, X):
    X[0] += 0.1
    eigen = EigenMap(kernel)
    Phi = eigen.fit_transform(X)
    np.testing.assert_allclose(eigen.transform(X), Phi, rtol=0, atol=1e-7 * np.abs(Phi).max())
    np.testing.assert_allclose(eigen.transform(X[:1]), Phi[:1], rtol=0, atol=1e-7 * np.abs(Phi).max())


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_a_new_point_has_its_kernel_values_with_the_training_points_and_no_more_length_than_it_should(kernel):
    X, Z = training_set(), training_set(seed=1, n=7)
    eigen = EigenMap(kernel).fit(X)
    Phi = eigen.transform(Z)
    np.testing.assert_allclose(Phi @ eigen.transform(X).T, kernel(Z, X), rtol=0, atol=1e-8 * kernel.diag(X).max())
    assert ((Phi**2).sum(axis=1) <= kernel.diag(Z) * (1 + 1e-8)).all()  # a projection


@pytest.mark.parametrize("kernel", [RBF(gamma=0.3), Polynomial(degree=2), Custom(lambda X, Z: X @ Z.T + 1.0)], ids=repr)
def test_fewer_components_are_the_first_of_all(kernel):
    X = training_set()
    every, some = EigenMap(kernel), EigenMap(kernel, n_components=3)
    Phi, first = every.fit_transform(X), some.fit_transform(X)
    assert first.shape == (40, 3)
    np.testing.assert_allclose(first, Phi[:, :3], rtol=0, atol=1e-11)
    np.testing.assert_allclose(some.transform(X), first, rtol=0, atol=1e-11)
    np.testing.assert_allclose(some.eigenvalues_, every.eigenvalues_[:3], rtol=1e-12)
    assert (np.diff(every.eigenvalues_) <= 0).all()
    np.testing.assert_allclose((Phi**2).sum(axis=0), every.eigenvalues_, rtol=1e-10)


def test_the_linear_kernel_has_as_many_features_as_the_data_has_dimensions():
    X = training_set(d=6)
    X[:, 5] = X[:, 0] - 2 * X[:, 1]  # rank 5
    eigen = EigenMap(Linear(), n_components=20).fit(X)
    singular = np.linalg.svd(X, compute_uv=False)
    np.testing.assert_allclose(eigen.eigenvalues_, singular[:5] ** 2, rtol=1e-12)
    assert eigen.transform(X).shape == (40, 5)


@pytest.mark.parametrize("kernel", [RBF(gamma=0.3), Polynomial(degree=2), Laplacian(gamma=0.5)], ids=repr)
def test_eigen_features_of_sparse_rows_are_those_of_the_same_dense_rows(kernel):
    X = np.where(np.random.default_rng(2).random((30, 9)) < 0.8, 0.0, training_set(n=30, d=9))
    dense, sparse = EigenMap(kernel, n_components=4), EigenMap(kernel, n_components=4)
    np.testing.assert_allclose(sparse.fit_transform(sp.csr_matrix(X)), dense.fit_transform(X), rtol=0, atol=1e-11)
    for rows in (X, sp.csr_array(X)):  # and either kind goes in later
        np.testing.assert_allclose(sparse.transform(rows), dense.transform(X), rtol=0, atol=1e-11)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_eigen_features_keep_float32(kernel):
    X = training_set().astype(np.float32)
    eigen = EigenMap(kernel)
    Phi, K = eigen.fit_transform(X), kernel(X.astype(np.float64))
    assert Phi.dtype == eigen.transform(X).dtype == np.float32
    assert eigen.transform(X.astype(np.float64)).dtype == np.float64
    size = math.sqrt(K.max())
    np.testing.assert_allclose(Phi @ Phi.T, K, rtol=0, atol=1e-4 * size**2)
    np.testing.assert_allclose(eigen.transform(X), Phi, rtol=0, atol=1e-4 * size)


def test_eigen_features_of_a_precomputed_matrix_are_those_of_its_kernel():
    X, Z, k = training_set(), training_set(seed=1, n=7), RBF(gamma=0.3)
    named, given_values = EigenMap(k, n_components=5), EigenMap(Precomputed(), n_components=5)
    np.testing.assert_allclose(given_values.fit_transform(k(X)), named.fit_transform(X), rtol=0, atol=1e-12)
    np.testing.assert_allclose(given_values.transform(k(Z, X)), named.transform(Z), rtol=0, atol=1e-12)


def test_eigen_features_of_strings_have_the_kernel_values_as_inner_products():
    common = Custom(lambda a, b: float(len(set(a) & set(b))), pairwise=True, takes="objects")
    words = ["perceptron", "kernel", "margin", "mistake"]
    eigen = EigenMap(common)
    Phi = eigen.fit_transform(words)
    np.testing.assert_allclose(Phi @ Phi.T, common(words), rtol=0, atol=1e-12)
    np.testing.assert_allclose(eigen.transform(["online"]) @ Phi.T, common(["online"], words), rtol=0, atol=1e-12)


def test_the_sign_of_a_column_is_that_of_its_first_large_entry_whatever_the_solver_chose():
    columns = EigenMap(RBF(gamma=0.3)).fit_transform(training_set()).T
    assert len(columns) == 40
    for column in columns:
        assert next(value for value in column if abs(value) >= 0.9 * abs(column).max()) > 0


@pytest.mark.parametrize("n_components", [None, 2])
def test_an_indefinite_kernel_is_refused_with_a_witness(n_components):
    X, k = training_set(), Sigmoid(gamma=1.0, coef0=-1.0)
    with pytest.raises(GramError, match="no negative eigenvalue") as caught:
        EigenMap(k, n_components=n_components).fit(X)
    b = caught.value.witness
    assert b is not None
    assert b @ k(X) @ b < 0


def test_a_kernel_that_is_not_valid_in_general_serves_where_its_gram_matrix_is():
    X = np.eye(3)
    Phi = EigenMap(Sigmoid(gamma=1.0, coef0=0.0)).fit_transform(X)  # tanh(1) on the diagonal, 0 elsewhere
    np.testing.assert_allclose(Phi @ Phi.T, math.tanh(1.0) * np.eye(3), atol=1e-15)


def test_a_valid_kernel_that_loses_digits_in_float32_is_not_called_invalid():
    X = (50.0 + np.abs(training_set(n=100, d=5))).astype(np.float32)
    k = (0.2 * Linear()).exp().normalized()  # exp of inner products near 2500, where float32 is 2e-4 apart
    lowest = np.linalg.eigvalsh(k(X).astype(np.float64))[0]
    assert lowest < -1e-4
    eigen = EigenMap(k)
    Phi = eigen.fit_transform(X)
    assert np.abs(Phi @ Phi.T - k(X)).max() < 0.01
    assert eigen.eigenvalues_[-1] > -lowest  # what is no larger than the noise is noise


def test_the_estimator_does_not_follow_later_changes_of_the_callers_rows():
    X = training_set()
    eigen = EigenMap(RBF(gamma=0.3)).fit(X)
    before = eigen.transform(X[:3].copy())
    rows = X[:3].copy()
    X[:] = 0.0
    np.testing.assert_array_equal(eigen.transform(rows), before)
