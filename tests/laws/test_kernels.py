"""Laws that every kernel and every composition keeps."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.base import clone
from strategies import EVERY_VECTOR_KERNEL, as_csr, draw_points, kernels, scales, seeds, shapes, vector_kernels

import onkel.kernels
from onkel._core import simd
from onkel.errors import ShapeError
from onkel.kernels import (
    RBF,
    Constant,
    Custom,
    Kernel,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Sigmoid,
    from_config,
)

NAMES = vars(onkel.kernels)


@given(kernels, shapes, seeds)
def test_a_gram_matrix_is_symmetric_to_the_last_bit(kernel, shape, seed):
    K = kernel(draw_points(kernel, shape[0], shape[2], seed))
    np.testing.assert_array_equal(K, K.T)


@given(kernels, shapes, seeds)
def test_the_diagonal_agrees_with_the_gram_matrix(kernel, shape, seed):
    X = draw_points(kernel, shape[0], shape[2], seed)
    np.testing.assert_allclose(kernel.diag(X), np.diag(kernel(X)), rtol=1e-12, atol=1e-14)


@given(kernels, shapes, seeds)
def test_gram_of_a_psd_kernel_has_no_negative_eigenvalue(kernel, shape, seed):
    assume(kernel.is_psd is True)
    K = kernel(draw_points(kernel, shape[0], shape[2], seed))
    eigenvalues = np.linalg.eigvalsh(K)
    assert eigenvalues[0] >= -1e-13 * len(K) * max(1.0, eigenvalues[-1])


@given(vector_kernels, shapes, seeds, st.sampled_from([0.05, 0.3, 1.0]), st.sampled_from([np.float32, np.float64]))
def test_csr_and_dense_rows_give_the_same_bits(kernel, shape, seed, density, dtype):
    n, m, d = shape
    X = draw_points(kernel, n, d, seed, density=density).astype(dtype)
    Z = draw_points(kernel, m, d, seed + 1, density=density).astype(dtype)
    K = kernel(X, Z)
    np.testing.assert_array_equal(kernel(as_csr(X), as_csr(Z, np.int64)), K)
    np.testing.assert_array_equal(kernel(as_csr(X), Z), K)
    np.testing.assert_array_equal(kernel(X, as_csr(Z)), K)


@given(kernels, shapes, seeds, st.sampled_from([0.05, 1.0]))
def test_csr_and_dense_rows_agree_in_compositions(kernel, shape, seed, density):
    X = draw_points(kernel, shape[0], shape[2], seed, density=density)
    np.testing.assert_allclose(kernel(as_csr(X)), kernel(X), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel.diag(as_csr(X)), kernel.diag(X), rtol=1e-12, atol=1e-14)


@given(kernels, shapes, seeds)
def test_float32_agrees_with_float64_and_is_kept_where_it_has_the_range(kernel, shape, seed):
    X = draw_points(kernel, shape[0], shape[2], seed).astype(np.float32)
    K32, K64 = kernel(X), kernel(X.astype(np.float64))
    sizes = np.abs(kernel.diag(X.astype(np.float64)))
    fits = ((sizes == 0) | ((sizes >= 2.0**-120) & (sizes <= 2.0**120))).all()
    assert K32.dtype == (np.float32 if fits else np.float64)
    assert kernel.diag(X).dtype == K32.dtype
    np.testing.assert_allclose(K32, K64, rtol=2e-4, atol=2e-5 * max(1.0, np.abs(K64).max()))


@pytest.mark.parametrize("kernel", EVERY_VECTOR_KERNEL, ids=str)
@pytest.mark.parametrize("n", [1, 3])
def test_a_diagonal_is_the_callers_own(kernel, n):
    X = np.random.default_rng(0).random((n, 4))
    mine = kernel.diag(X)
    mine *= 2
    np.testing.assert_array_equal(kernel.diag(X), mine / 2)


@given(vector_kernels, shapes, seeds, st.sampled_from([np.float32, np.float64]))
def test_a_value_does_not_depend_on_its_batch(kernel, shape, seed, dtype):
    n, m, d = shape
    X = draw_points(kernel, n, d, seed).astype(dtype)
    Z = draw_points(kernel, m, d, seed + 1).astype(dtype)
    i, j = seed % n, seed % m
    assert kernel(X, Z)[i, j] == kernel(X[i : i + 1], Z[j : j + 1])[0, 0]


@given(kernels, shapes, seeds)
def test_a_value_of_a_composition_does_not_depend_on_its_batch(kernel, shape, seed):
    n, m, d = shape
    X, Z = draw_points(kernel, n, d, seed), draw_points(kernel, m, d, seed + 1)
    i, j = seed % n, seed % m
    np.testing.assert_allclose(kernel(X, Z)[i, j], kernel(X[i : i + 1], Z[j : j + 1])[0, 0], rtol=1e-13, atol=0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 100.0])
@pytest.mark.parametrize("d", [2, 30])
def test_distances_are_exactly_zero_for_equal_rows_and_careful_for_near_ones(simd_path, dtype, offset, d):
    rng = np.random.default_rng(d)
    X = (offset + rng.standard_normal((50, d))).astype(dtype)
    Z = X.copy()
    Z[1::2] += np.asarray(1e-3 * rng.standard_normal(d), dtype=dtype)
    K = RBF(gamma=100.0)(X, Z)
    assert (np.diag(K)[::2] == 1.0).all()
    exact = np.exp(-100.0 * ((X.astype(np.longdouble) - Z) ** 2).sum(axis=1))
    np.testing.assert_allclose(np.diag(K), exact.astype(float), rtol=3e-5 if dtype == np.float32 else 1e-12)
    assert (K <= 1.0).all()


@given(kernels)
def test_a_kernel_prints_so_that_it_reads_back(kernel):
    assert eval(repr(kernel), dict(NAMES)) == kernel


@given(kernels)
def test_the_config_of_a_kernel_is_json_that_reads_back(kernel):
    again = from_config(json.loads(json.dumps(kernel.config(), allow_nan=False)))
    assert again == kernel
    assert repr(again) == repr(kernel)
    assert again.config() == kernel.config()


@given(kernels, kernels)
def test_kernels_are_equal_and_hashed_by_content(kernel, other):
    again = eval(repr(kernel), dict(NAMES))
    assert again == kernel
    assert hash(again) == hash(kernel)
    assert (kernel == other) == (repr(kernel) == repr(other))


@given(kernels)
def test_a_kernel_survives_pickle_copy_and_clone(kernel):
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    assert copy.deepcopy(kernel) == kernel
    assert clone(kernel) is kernel


@given(kernels)
def test_with_params_rebuilds_a_kernel_from_its_params(kernel):
    assert kernel.with_params(**kernel.get_params(deep=False)) == kernel
    nested = {name: value for name, value in kernel.get_params().items() if isinstance(value, float)}
    assert kernel.with_params(**nested) == kernel


def test_with_params_changes_one_part_and_leaves_the_kernel_as_it_was():
    kernel = 2.0 * (RBF(gamma=1.0) + Linear())
    changed = kernel.with_params(kernel__k1__gamma=5.0)
    assert changed == 2.0 * (RBF(gamma=5.0) + Linear())
    assert kernel == 2.0 * (RBF(gamma=1.0) + Linear())


def test_with_params_flattens_like_the_algebra():
    assert (2 * RBF()).with_params(factor=1.0) == RBF()
    assert (RBF() ** 2).with_params(exponent=1) == RBF()
    assert (2 * RBF()).with_params(kernel=3 * Linear()) == 6 * Linear()
    assert (RBF() + Linear()).with_params(kernels=(RBF() + 1.0, Linear())) == RBF() + 1.0 + Linear()


@given(scales, shapes, seeds)
def test_erratum_9_the_normalised_exponential_of_the_inner_product_is_the_gaussian(gamma, shape, seed):
    kernel = (2 * gamma * Linear()).exp().normalized()
    n, m, d = shape
    X, Z = draw_points(kernel, n, d, seed), draw_points(kernel, m, d, seed + 1)
    np.testing.assert_allclose(kernel(X, Z), RBF(gamma)(X, Z), rtol=1e-12)
    np.testing.assert_allclose(kernel(30 * X), RBF(gamma)(30 * X), rtol=1e-9, atol=1e-12)  # exp alone would overflow


@given(scales, shapes, seeds)
def test_erratum_9_the_gaussian_factorises_with_both_minus_signs(gamma, shape, seed):
    X = draw_points(Linear(), shape[0], shape[2], seed)
    factored = (2 * gamma * Linear()).exp().scaled(lambda rows: np.exp(-gamma * (rows**2).sum(axis=1)))
    np.testing.assert_allclose(factored(X), RBF(gamma)(X), rtol=1e-12)


def test_erratum_1_the_gaussian_falls_with_the_square_of_the_distance():
    x, z = [[0.0, 0.0]], [[3.0, 4.0]]  # distance 5
    np.testing.assert_allclose(RBF.from_sigma(2.0)(x, z), np.exp(-25 / (2 * 2.0**2)), rtol=1e-14)
    assert RBF.from_sigma(2.0) == RBF(gamma=1 / 8)


def test_the_algebra_is_flattened():
    a, b, c = RBF(gamma=1.0), Linear(), Laplacian(gamma=0.5)
    assert (a + b) + c == a + (b + c)
    assert (a * b) * c == a * (b * c)
    assert 2 * (3 * a) == 6 * a == a * 6
    assert (2 * a) * (3 * b) == 6 * (a * b)
    assert (a**2) ** 3 == a**6
    assert a**1 == a
    assert 1 * a == a
    assert (a + 1) + 2 == a + 3
    assert a.normalized().normalized() == a.normalized()
    assert np.float64(2.0) * a == 2 * a
    assert np.float64(2.0) + a == 2.0 + a
    assert repr((a + b) * c) == "(RBF(gamma=1.0) + Linear()) * Laplacian(gamma=0.5)"
    assert repr(2.5 * (a + 1.0)) == "2.5 * (RBF(gamma=1.0) + 1.0)"
    assert repr((2 * a).exp().normalized()) == "(2.0 * RBF(gamma=1.0)).exp().normalized()"


@given(kernels, kernels, shapes, seeds)
def test_the_algebra_means_what_it_says(k, other, shape, seed):
    X = np.abs(draw_points(Linear(), shape[0], shape[2], seed))
    K, L = k(X), other(X)
    close = {"rtol": 1e-10, "atol": 1e-12}
    np.testing.assert_allclose((k + other)(X), K + L, **close)
    np.testing.assert_allclose((k * other)(X), K * L, **close)
    np.testing.assert_allclose((k + 0.5)(X), K + 0.5, **close)
    np.testing.assert_allclose((2.5 * k)(X), 2.5 * K, **close)
    np.testing.assert_allclose((k**3)(X), K**3, **close)
    np.testing.assert_allclose(k.on([0])(X), k(X[:, :1]), **close)
    np.testing.assert_allclose(k.after(np.sqrt)(X), k(np.sqrt(X)), **close)
    f = X.sum(axis=1) - 1
    np.testing.assert_allclose(k.scaled(lambda rows: rows.sum(axis=1) - 1)(X), f[:, None] * K * f, **close)


def test_a_zero_diagonal_stays_zero_under_normalisation():
    K = Linear().normalized()([[0.0, 0.0], [3.0, 4.0]])
    np.testing.assert_array_equal(K[0], [0.0, 0.0])
    np.testing.assert_allclose(K[1], [0.0, 1.0], rtol=1e-15)


def test_is_psd_follows_the_rules():
    valid, invalid, unknown = RBF(gamma=1.0), Sigmoid(), Custom(lambda X, Z: X @ Z.T)
    assert valid.is_psd is True
    assert invalid.is_psd is False
    assert unknown.is_psd is None
    for combined in (valid + valid, valid * valid, valid**2, valid.exp(), valid + 1.0, 2 * valid):
        assert combined.is_psd is True
    for part in (invalid, unknown):
        for combined in (valid + part, valid * part, part**2, part.exp()):
            assert combined.is_psd is None
    assert (2 * invalid).is_psd is False
    assert (2 * unknown).is_psd is None
    assert (0 * invalid).is_psd is True
    assert (-1 * valid).is_psd is False
    assert (-1 * invalid).is_psd is None
    assert (valid + -1.0).is_psd is None
    for kernel in (valid, invalid, unknown):
        assert kernel.normalized().is_psd is kernel.is_psd
    assert valid.on([0]).is_psd is True
    assert valid.scaled(np.sum).is_psd is True
    assert valid.after(np.abs).is_psd is True
    assert Polynomial(degree=3).is_psd is True
    assert Polynomial(degree=2.5).is_psd is None
    assert Polynomial(degree=2, gamma=-1.0).is_psd is None
    assert Polynomial(degree=2, coef0=-1.0).is_psd is None
    assert Precomputed().is_psd is None
    assert Custom(lambda X, Z: X @ Z.T, psd=True).is_psd is True
    assert Constant(-1.0).is_psd is False


@pytest.mark.parametrize("kernel", EVERY_VECTOR_KERNEL, ids=repr)
def test_every_simd_path_gives_the_same_values(kernel, simd_path):
    X, Z = draw_points(kernel, 45, 33, 1), draw_points(kernel, 70, 33, 2)
    with simd("baseline"):
        expected = kernel(X, Z)
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-12, atol=1e-14)


def test_precomputed_composes_like_any_kernel():
    X = np.random.default_rng(0).standard_normal((6, 3))
    K = RBF(gamma=0.5)(X)
    k = (2.0 * Precomputed() + 1.0) ** 2
    np.testing.assert_allclose(k(K), (2 * K + 1) ** 2)
    np.testing.assert_allclose(k(K[:2], [4, 1]), ((2 * K + 1) ** 2)[:2][:, [4, 1]])
    np.testing.assert_allclose(Precomputed().normalized()(4.0 * K), K)
    np.testing.assert_array_equal(Precomputed().diag(K), np.diag(K))
    with pytest.raises(ShapeError, match="known only of a square Gram matrix"):
        Precomputed().normalized()(K, [0, 1, 2, 3, 4, 5])  # these rows may be other points


def test_custom_pairs_blocks_and_objects_agree():
    X = np.random.default_rng(0).standard_normal((5, 3))
    block = Custom(lambda A, B: A @ B.T)
    pairs = Custom(lambda a, b: float(a @ b), pairwise=True)
    for kernel in (block, pairs):
        np.testing.assert_allclose(kernel(X), Linear()(X), rtol=1e-13)
        np.testing.assert_allclose(kernel.diag(X), Linear().diag(X), rtol=1e-13)
    np.testing.assert_allclose(pairs(sp.csr_array(X)), Linear()(X), rtol=1e-13)
    shared = Custom(lambda a, b: len(set(a) & set(b)), pairwise=True, takes="objects")
    words = ["kernel", "perceptron", "ridge"]
    assert (shared + 1.0)(words)[0, 1] == len(set("kernel") & set("perceptron")) + 1
    np.testing.assert_array_equal(shared(words), shared(words).T)
    assert isinstance(shared.normalized(), Kernel)
