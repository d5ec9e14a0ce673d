"""What the Gram doctor promises of every matrix.

Matrices are made of small integers and their eighths, so that products are exact and a law that
fails does so for a reason other than the rounding of its own input.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from onkel import gram
from onkel.kernels import RBF, Cosine, Laplacian, Linear, Matern, Polynomial

EIGHTHS = st.integers(-40, 40).map(lambda i: i / 8)
SIZES = st.integers(1, 6)
PSD_KERNELS = [
    Linear(),
    Polynomial(degree=3),
    RBF(gamma=0.3),
    Laplacian(gamma=0.5),
    Matern(nu=1.5),
    Cosine(),
    Linear().normalized() + 2.0,
    (0.1 * Linear()).exp().normalized(),
]


@st.composite
def matrices(draw, rows=SIZES, columns=None):
    n = draw(rows)
    return draw(arrays(np.float64, (n, n if columns is None else draw(columns)), elements=EIGHTHS))


squares = matrices()
points = matrices(columns=st.integers(1, 4))
symmetric = squares.map(lambda A: A + A.T)
valid = points.map(lambda A: A @ A.T)


def forms(K, b):
    """bᵀKb, summed in three orders."""
    return [b @ K @ b, b @ (K @ b), float(np.sum(np.outer(b, b) * K))]


# ---------------------------------------------------------------- check


@given(points, st.sampled_from(PSD_KERNELS), st.sampled_from([np.float32, np.float64]))
def test_the_gram_matrix_of_a_psd_kernel_is_valid(X, kernel, dtype):
    report = gram.check(kernel(X.astype(dtype)))
    assert report.valid
    assert report.witness is None


@given(points)
def test_inner_products_are_valid_and_have_the_rank_of_the_points(X):
    report = gram.check(X @ X.T)
    assert report.valid
    assert report.rank == np.linalg.matrix_rank(X)


@given(symmetric)
def test_a_matrix_is_psd_or_comes_with_a_unit_vector_of_negative_form(K):
    report = gram.check(K)
    assert report.symmetric
    assert report.psd == (report.smallest_eigenvalue >= -report.tol)
    if report.psd:
        assert report.witness is None
    else:
        assert np.linalg.norm(report.witness) == pytest.approx(1.0)
        assert all(form < 0 for form in forms(K, report.witness))
        assert report.witness @ K @ report.witness == pytest.approx(report.smallest_eigenvalue, abs=report.tol)


@given(symmetric)
def test_the_spectrum_is_that_of_numpy_ascending(K):
    report = gram.check(K)
    np.testing.assert_allclose(report.eigenvalues, np.linalg.eigvalsh(K), atol=report.tol)
    assert np.all(np.diff(report.eigenvalues) >= 0)
    assert (report.smallest_eigenvalue, report.largest_eigenvalue) == (report.eigenvalues[0], report.eigenvalues[-1])


@given(squares)
def test_an_asymmetric_matrix_is_judged_by_its_symmetric_part(K):
    report, part = gram.check(K), gram.check(0.5 * (K + K.T))
    np.testing.assert_array_equal(report.eigenvalues, part.eigenvalues)
    assert (report.psd, report.rank, report.tol) == (part.psd, part.rank, part.tol)
    assert report.asymmetry == np.abs(K - K.T).max()
    assert report.symmetric == np.array_equal(K, K.T)  # eighths differ by far more than rounding
    assert report.valid == (report.symmetric and report.psd)
    if not report.psd:
        assert all(form < 0 for form in forms(K, report.witness))


@given(squares, st.integers(-60, 60))
def test_the_verdict_does_not_depend_on_the_unit_of_measurement(K, exponent):
    one, other = gram.check(K), gram.check(K * 2.0**exponent)
    assert (one.symmetric, one.psd, one.rank) == (other.symmetric, other.psd, other.rank)


@given(symmetric, st.randoms(use_true_random=False))
def test_the_verdict_does_not_depend_on_the_order_of_the_points(K, random):
    order = random.sample(range(len(K)), len(K))
    one, other = gram.check(K), gram.check(K[np.ix_(order, order)])
    assert one.psd == other.psd
    np.testing.assert_allclose(one.eigenvalues, other.eigenvalues, atol=one.tol)


@given(symmetric, st.floats(0.0, 20.0))
def test_a_given_tolerance_is_the_one_used(K, tol):
    report = gram.check(K, tol=tol)
    assert report.tol == tol
    assert report.rank == np.count_nonzero(np.abs(report.eigenvalues) > tol)
    if report.smallest_eigenvalue >= -tol:
        assert report.psd


@given(points, st.sampled_from([0.0, 1e-300]))
def test_a_witness_is_true_even_where_the_tolerance_is_below_rounding(X, tol):
    K = X @ X.T
    report = gram.check(K, tol=tol)
    assert report.psd == (report.witness is None)
    assert report.psd or report.witness @ K @ report.witness < 0


# ---------------------------------------------------------------- nearest_psd


@given(squares)
def test_the_repaired_matrix_is_symmetric_to_the_bit_and_valid(K):
    G = gram.nearest_psd(K)
    np.testing.assert_array_equal(G, G.T)
    assert gram.check(G).valid


@given(squares)
def test_repairing_twice_is_repairing_once(K):
    G = gram.nearest_psd(K)
    np.testing.assert_allclose(gram.nearest_psd(G), G, atol=gram.check(K).tol)


@given(valid)
def test_a_valid_matrix_is_its_own_repair(K):
    np.testing.assert_allclose(gram.nearest_psd(K), K, atol=gram.check(K).tol)


@given(SIZES.flatmap(lambda n: st.tuples(matrices(rows=st.just(n)), matrices(rows=st.just(n), columns=st.just(n)))))
def test_no_valid_matrix_is_nearer_than_the_repaired_one(pair):
    K, B = pair
    G = gram.nearest_psd(K)
    assert np.linalg.norm(K - G) <= np.linalg.norm(K - B @ B.T) * (1 + 1e-12) + 1e-12
    moved = G + 0.1 * (B @ B.T - G)  # a step inside the valid ones, which are convex
    assert np.linalg.norm(K - G) <= np.linalg.norm(K - moved) * (1 + 1e-12) + 1e-12


# ---------------------------------------------------------------- features


@given(valid)
def test_features_have_the_inner_products_of_the_matrix(K):
    Phi = gram.features(K)
    report = gram.check(K)
    assert Phi.shape == (len(K), report.rank)
    np.testing.assert_allclose(Phi @ Phi.T, K, atol=len(K) * report.tol)
    if report.rank:
        largest_first = report.eigenvalues[::-1][: report.rank]
        np.testing.assert_allclose(Phi.T @ Phi, np.diag(largest_first), atol=len(K) * report.tol)


@given(valid)
def test_the_first_large_entry_of_each_feature_is_positive(K):
    for column in gram.features(K).T:
        first = next(v for v in column if abs(v) >= 0.9 * np.abs(column).max())
        assert first > 0


@given(squares)
def test_any_matrix_has_features_once_it_is_repaired(K):
    G = gram.nearest_psd(K)
    Phi = gram.features(G)
    np.testing.assert_allclose(Phi @ Phi.T, G, atol=len(K) * gram.check(K).tol)


# ---------------------------------------------------------------- center, normalize, alignment


@given(points)
def test_centring_the_matrix_is_centring_the_points(X):
    centered = gram.center(X @ X.T)
    moved = X - X.mean(axis=0)
    np.testing.assert_allclose(centered, moved @ moved.T, atol=1e-10)
    np.testing.assert_array_equal(centered, centered.T)
    np.testing.assert_allclose(centered.sum(axis=0), 0.0, atol=1e-9)


@given(squares)
def test_centring_twice_is_centring_once(K):
    np.testing.assert_allclose(gram.center(gram.center(K)), gram.center(K), atol=1e-12)


@given(points)
def test_normalizing_the_matrix_is_normalizing_the_points(X):
    lengths = np.linalg.norm(X, axis=1)
    unit = np.divide(X, lengths[:, None], out=np.zeros_like(X), where=lengths[:, None] > 0)
    cosines = gram.normalize(X @ X.T)
    np.testing.assert_allclose(cosines, unit @ unit.T, atol=1e-14)
    np.testing.assert_array_equal(cosines, cosines.T)
    np.testing.assert_array_equal(cosines.diagonal(), lengths > 0)


@given(points, st.data())
def test_normalizing_undoes_any_scaling_of_the_points(X, data):
    scale = data.draw(arrays(np.float64, len(X), elements=st.sampled_from([0.01, 0.5, 3.0, 1e6])))
    K = X @ X.T
    np.testing.assert_allclose(gram.normalize(scale[:, None] * K * scale), gram.normalize(K), atol=1e-14)


not_zero = SIZES.filter(lambda n: n > 1).flatmap(
    lambda n: st.tuples(*[matrices(rows=st.just(n)).map(lambda K: K + 12.0 * np.eye(len(K)))] * 2)
)


@given(not_zero, st.booleans())
def test_alignment_is_a_cosine(pair, centered):
    K, L = pair
    value = gram.alignment(K, L, centered=centered)
    assert -1.0 <= value <= 1.0
    assert value == pytest.approx(gram.alignment(L, K, centered=centered), abs=1e-14)
    assert gram.alignment(1e200 * K, 1e-200 * L, centered=centered) == pytest.approx(value, abs=1e-12)
    assert gram.alignment(-2.0 * K, L, centered=centered) == pytest.approx(-value, abs=1e-12)
    assert gram.alignment(K, K, centered=centered) == pytest.approx(1.0)


@given(not_zero, st.integers(-20, 20))
def test_centred_alignment_does_not_see_an_added_constant_and_is_that_of_centred_matrices(pair, c):
    K, L = pair
    value = gram.alignment(K, L, centered=True)
    assert gram.alignment(K + c, L, centered=True) == pytest.approx(value, abs=1e-12)
    assert gram.alignment(gram.center(K), gram.center(L)) == pytest.approx(value, abs=1e-12)


@given(valid.filter(lambda K: K.any()), valid)
def test_valid_matrices_are_never_opposed(K, L):
    if K.shape == L.shape and L.any():
        assert gram.alignment(K, L) >= -1e-15


# ---------------------------------------------------------------- mercer_form


@given(st.sampled_from(PSD_KERNELS), arrays(np.float64, 4, elements=EIGHTHS), EIGHTHS)
def test_the_form_of_a_psd_kernel_is_never_negative_and_quadratic_in_g(kernel, coefficients, c):
    def g(x):
        return np.polynomial.chebyshev.chebval(x, coefficients)

    form = gram.mercer_form(kernel, g, -1.0, 2.0, n=40)
    size = gram.mercer_form(kernel, lambda x: np.abs(g(x)), -1.0, 2.0, n=40)
    assert form >= -1e-12 * size
    scaled = gram.mercer_form(kernel, lambda x: c * g(x), -1.0, 2.0, n=40)
    assert scaled == pytest.approx(c**2 * form, abs=1e-10 * (1 + c**2) * (1 + size))


# ---------------------------------------------------------------- the caller's array


@given(points, st.sampled_from([np.float32, np.float64]))
def test_results_keep_the_dtype_and_the_callers_array_stays_as_it_was(X, dtype):
    K = (X @ X.T).astype(dtype)
    before = K.copy()
    for result in (gram.nearest_psd(K), gram.center(K), gram.normalize(K), gram.features(K)):
        assert result.dtype == dtype
        assert not np.shares_memory(result, K)
    gram.check(K)
    if K.any():
        gram.alignment(K, K)
    np.testing.assert_array_equal(K, before)
