"""The Gram doctor against hand-worked matrices, closed forms, scikit-learn, SciPy and plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.spatial.distance import cdist
from sklearn.preprocessing import KernelCenterer

from onkel import gram
from onkel.kernels import RBF, Custom, Laplacian, Linear, Polynomial, Sigmoid


def quartic(X, Z):
    """exp(−‖x − z‖⁴): symmetric, 1 on the diagonal, smooth, and no kernel."""
    return np.exp(-(cdist(X, Z) ** 4))


QUARTIC = Custom(quartic)
ON_A_LINE = np.array([[0.0], [0.5], [1.0]])


# ---------------------------------------------------------------- check


def test_the_quartic_exponential_is_caught_on_three_points_of_a_line():
    K = QUARTIC(ON_A_LINE)
    a, c = math.exp(-1 / 16), math.exp(-1)  # K = [[1, a, c], [a, 1, a], [c, a, 1]]
    report = gram.check(K)
    assert report.symmetric
    assert not report.psd
    assert not report.valid
    root = math.sqrt(c**2 + 8 * a**2)  # (1, 0, −1) is an eigenvector; the others are (1, t, 1)
    np.testing.assert_allclose(report.eigenvalues, [(2 + c - root) / 2, 1 - c, (2 + c + root) / 2], rtol=1e-14)
    b = report.witness
    assert math.fsum(b[i] * K[i, j] * b[j] for i in range(3) for j in range(3)) < 0
    by_hand = np.array([1.0, -2 * a, 1.0])  # bᵀKb = 2 + 2c − 4a² < 0, as 4 exp(−1/8) > 2 + 2/e
    assert report.smallest_eigenvalue <= (2 + 2 * c - 4 * a**2) / (by_hand @ by_hand) < 0


def test_the_gaussian_on_the_same_points_is_valid():
    report = gram.check(RBF(gamma=1.0)(ON_A_LINE))
    assert report.valid
    assert report.rank == 3


def test_the_quartic_exponential_may_look_valid_on_points_far_apart():
    assert gram.check(QUARTIC(np.array([[0.0], [1.0], [2.0]]))).valid  # diagonally dominant: 1 > 2/e


def test_the_sigmoid_is_caught_on_two_points():
    K = Sigmoid(gamma=1.0, coef0=1.0)([[1.0], [2.0]])
    determinant = math.tanh(2) * math.tanh(5) - math.tanh(3) ** 2
    assert determinant < 0
    report = gram.check(K)
    assert not report.psd
    assert report.smallest_eigenvalue * report.largest_eigenvalue == pytest.approx(determinant)
    assert report.witness @ K @ report.witness < 0


def test_the_witness_of_an_asymmetric_matrix_is_one_for_the_matrix_itself():
    K = np.array([[1.0, 5.0], [0.0, 1.0]])  # symmetric part [[1, 2.5], [2.5, 1]]: eigenvalues −1.5 and 3.5
    report = gram.check(K)
    assert not report.symmetric
    assert report.asymmetry == 5.0
    np.testing.assert_allclose(report.eigenvalues, [-1.5, 3.5])
    assert report.witness @ K @ report.witness == pytest.approx(-1.5)


def test_rank_counts_the_dimensions_of_the_feature_space():
    X = np.random.default_rng(0).normal(size=(30, 2))
    assert gram.check(Linear()(X)).rank == 2
    assert gram.check(Polynomial(degree=2)(X)).rank == 6  # 1, x, y, x², xy, y²


def test_the_zero_matrix_is_valid_of_rank_zero():
    report = gram.check(np.zeros((3, 3)))
    assert report.valid
    assert (report.rank, report.tol) == (0, 0.0)


def test_the_default_tolerance_is_its_formula():
    K = np.array([[1.0, 2.0], [2.0, 1.0]])  # eigenvalues −1 and 3: Σ|λ| = 4, max|λ| = 3
    eps, eps32 = np.finfo(np.float64).eps, np.finfo(np.float32).eps
    assert gram.check(K).tol == pytest.approx(4 * eps * 4 + 2 * eps * 3)
    assert gram.check(K.astype(np.float32)).tol == pytest.approx(4 * eps32 * 4 + 2 * eps * 3)
    assert gram.check([[1, 2], [2, 1]]).tol == gram.check(K).tol
    assert gram.check(K.astype(np.float16)).tol > gram.check(K.astype(np.float32)).tol


def test_float32_rounding_is_not_taken_for_an_invalid_matrix():
    X = np.random.default_rng(1).normal(size=(60, 2)).astype(np.float32)
    K = Polynomial(degree=4)(X)  # rank 15 of 60: forty-five eigenvalues are rounding
    report = gram.check(K)
    assert report.smallest_eigenvalue < 0
    assert report.valid
    assert not gram.check(K.astype(np.float64)).psd  # the same numbers as if they were exact to 1e-16


def test_a_small_negative_eigenvalue_of_a_large_float32_matrix_is_not_taken_for_rounding():
    n = 200
    u = np.where(np.arange(n) % 2, 1.0, -1.0) / math.sqrt(n)
    K = (np.ones((n, n)) - 2e-3 * np.outer(u, u)).astype(np.float32)  # eigenvalues 200, 0 …, −0.002
    report = gram.check(K)
    assert report.smallest_eigenvalue == pytest.approx(-2e-3, rel=0.05)
    assert not report.psd
    assert n * np.finfo(np.float32).eps * 200 > 2e-3  # the usual n ε max|λ| would have missed it


# ---------------------------------------------------------------- nearest_psd and features


@pytest.mark.parametrize("K", [[[1.0, 2.0], [2.0, 1.0]], [[1.0, 4.0], [0.0, 1.0]]])
def test_the_nearest_psd_matrix_is_the_hand_worked_one(K):
    np.testing.assert_allclose(gram.nearest_psd(K), [[1.5, 1.5], [1.5, 1.5]], rtol=1e-14)  # 3 · (1, 1)ᵀ(1, 1)/2


def test_the_nearest_psd_matrix_to_a_negative_definite_one_is_zero():
    np.testing.assert_array_equal(gram.nearest_psd([[-2.0, 1.0], [1.0, -2.0]]), np.zeros((2, 2)))


def test_the_distance_to_the_nearest_psd_matrix_is_highams():
    K = np.random.default_rng(2).normal(size=(12, 12))
    symmetric, skew = (K + K.T) / 2, (K - K.T) / 2
    negative = np.minimum(np.linalg.eigvalsh(symmetric), 0.0)
    squared = np.sum(negative**2) + np.sum(skew**2)  # Higham 1988, theorem 2.1
    assert np.sum((K - gram.nearest_psd(K)) ** 2) == pytest.approx(squared)


def test_features_of_points_on_the_axes_are_the_points_in_order_of_length():
    X = np.array([[0.0, 3.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 2.0]])
    np.testing.assert_allclose(gram.features(X @ X.T), [[3.0, 0, 0], [0, 0, 1.0], [0, 2.0, 0]], atol=1e-15)


def test_features_of_the_gaussian_give_back_its_distances():
    X = np.random.default_rng(3).normal(size=(20, 3))
    K = RBF(gamma=0.2)(X)
    np.testing.assert_allclose(cdist(*[gram.features(K)] * 2, "sqeuclidean"), 2 - 2 * K, atol=1e-12)


# ---------------------------------------------------------------- center, normalize, alignment


def test_centring_is_scikit_learns():
    K = Polynomial(degree=2)(np.random.default_rng(4).normal(size=(25, 3)))
    np.testing.assert_allclose(gram.center(K), KernelCenterer().fit_transform(K), rtol=1e-10, atol=1e-10)


def test_centring_an_asymmetric_matrix_is_the_matrix_product():
    K = np.random.default_rng(5).normal(size=(7, 7))
    H = np.eye(7) - np.full((7, 7), 1 / 7)
    np.testing.assert_allclose(gram.center(K), H @ K @ H, atol=1e-14)


def test_normalizing_is_the_plain_loop_and_the_normalized_kernel():
    X = np.random.default_rng(6).normal(size=(9, 2))
    X[4] = 0.0
    K = Linear()(X)
    loop = np.zeros_like(K)
    for i in range(9):
        for j in range(9):
            loop[i, j] = K[i, j] / math.sqrt(K[i, i] * K[j, j]) if K[i, i] > 0 and K[j, j] > 0 else 0.0
    np.testing.assert_allclose(gram.normalize(K), loop, rtol=1e-14)
    np.testing.assert_allclose(gram.normalize(K), Linear().normalized()(X), rtol=1e-14)


@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_alignment_is_the_plain_loop(centered, dtype):
    rng = np.random.default_rng(7)
    X, y = rng.normal(size=(11, 3)), rng.choice([-1.0, 1.0], size=11)
    K, L = RBF(gamma=0.5)(X).astype(dtype), np.outer(y, y)
    H = np.eye(11) - (1 / 11 if centered else 0.0)
    A, B = H @ K.astype(np.float64) @ H, H @ L @ H
    pairs = [(A[i, j], B[i, j]) for i in range(11) for j in range(11)]
    naive = sum(a * b for a, b in pairs) / math.sqrt(sum(a * a for a, _ in pairs) * sum(b * b for _, b in pairs))
    assert gram.alignment(K, L, centered=centered) == pytest.approx(naive, rel=1e-12)


@pytest.mark.parametrize("n", [1, 4, 9])
def test_alignment_of_the_identity_with_any_labels_is_one_over_root_n(n):
    y = np.where(np.arange(n) % 3, 1, -1)
    assert gram.alignment(np.eye(n), np.outer(y, y)) == pytest.approx(1 / math.sqrt(n))  # n / (√n · n)


# ---------------------------------------------------------------- mercer_form


@pytest.mark.parametrize("gamma", [0.3, 1.0, 20.0])
def test_the_form_of_the_gaussian_and_a_constant_is_its_closed_form(gamma):
    # ∫₀¹∫₀¹ exp(−γ(x−z)²) = 2 ∫₀¹ (1 − t) exp(−γt²) dt = √(π/γ) erf √γ − (1 − e^−γ)/γ
    closed = math.sqrt(math.pi / gamma) * math.erf(math.sqrt(gamma)) - (1 - math.exp(-gamma)) / gamma
    assert gram.mercer_form(RBF(gamma=gamma), np.ones_like, 0.0, 1.0) == pytest.approx(closed, rel=1e-13)


def test_the_form_of_the_gaussian_is_that_of_adaptive_quadrature():
    def g(x):
        return np.sin(3 * x) + 0.5 * x

    expected, _ = dblquad(lambda z, x: np.exp(-2 * (x - z) ** 2) * g(x) * g(z), -1.0, 2.0, -1.0, 2.0, epsabs=1e-10)
    assert gram.mercer_form(RBF(gamma=2.0), g, -1.0, 2.0) == pytest.approx(expected, abs=1e-9)
    assert gram.mercer_form(RBF(gamma=2.0), g, -1.0, 2.0, n=40) == pytest.approx(expected, abs=1e-9)


def test_the_form_of_a_kernel_with_a_kink_converges_as_one_over_n_squared():
    closed = 2 - 2 * (1 - math.exp(-1))  # ∫₀¹∫₀¹ exp(−|x−z|)
    errors = [abs(gram.mercer_form(Laplacian(gamma=1.0), np.ones_like, 0.0, 1.0, n=n) - closed) for n in (20, 200)]
    assert errors[1] < 1e-4
    assert errors[0] / errors[1] == pytest.approx(100, rel=0.2)


def test_the_form_proves_that_the_quartic_exponential_is_no_kernel():
    def g(x):
        return np.cos(4 * x)  # the Fourier transform of exp(−t⁴) is negative about 4

    form = gram.mercer_form(QUARTIC, g, -3.0, 3.0)
    expected, _ = dblquad(lambda z, x: np.exp(-((x - z) ** 4)) * g(x) * g(z), -3.0, 3.0, -3.0, 3.0, epsabs=1e-8)
    assert form == pytest.approx(expected, abs=1e-7)
    assert form < 0
