"""Laws of kernel products: `expand` gives the same result for all tiles, threads, SIMD paths and storages."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from cases import grouped
from hypothesis import assume, given
from hypothesis import strategies as st
from pairwise import pairwise
from strategies import EVERY_VECTOR_KERNEL, as_csr, draw_points, kernels, seeds, shapes, vector_kernels

import onkel.kernels.product
import onkel.kernels.vectors
from onkel._core import simd, simd_targets
from onkel.kernels import RBF, Custom, Linear, Polynomial, Precomputed, expand, prepare
from onkel.kernels.tiles import add_scores, fill, fill_below
from onkel.kernels.vectors import RIGHTS

tiles = st.one_of(st.none(), st.tuples(st.integers(1, 50), st.integers(1, 50)))


@pytest.fixture(scope="module", autouse=True)
def products_of_any_size_are_shared_among_threads():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(onkel.kernels.product, "SMALL_PRODUCT", 0)
        yield


@given(kernels, shapes, seeds, tiles, st.integers(0, 3))
def test_expand_is_the_product_for_every_tile_size(kernel, shape, seed, tile, outputs):
    n, m, d = shape
    X, S = draw_points(kernel, n, d, seed), draw_points(kernel, m, d, seed + 1)
    A = np.random.default_rng(seed).standard_normal((m, outputs) if outputs else m)
    K = kernel(X, S)
    scale = np.abs(K).max() * np.abs(A).sum() + 1
    np.testing.assert_allclose(expand(kernel, X, S, A, tile=tile), K @ A, rtol=1e-12, atol=1e-13 * scale)


@given(vector_kernels, seeds, st.sampled_from([1, 2, 5]), st.sampled_from([np.float32, np.float64]))
def test_scores_have_the_same_bits_for_every_number_of_threads(kernel, seed, threads, dtype):
    X, S = draw_points(kernel, 300, 30, seed).astype(dtype), draw_points(kernel, 250, 30, seed + 1).astype(dtype)
    A = np.random.default_rng(seed).standard_normal((250, 2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ONKEL_NUM_THREADS", "1")
        one = expand(kernel, X, S, A)
        patch.setenv("ONKEL_NUM_THREADS", str(threads))
        np.testing.assert_array_equal(expand(kernel, X, S, A), one)


@given(vector_kernels, shapes, seeds, st.sampled_from([0.1, 1.0]), st.sampled_from([np.float32, np.float64]))
def test_scores_have_the_same_bits_from_csr_and_dense_rows(kernel, shape, seed, density, dtype):
    n, m, d = shape
    X = draw_points(kernel, n, d, seed, density=density).astype(dtype)
    S = draw_points(kernel, m, d, seed + 1, density=density).astype(dtype)
    A = np.random.default_rng(seed).standard_normal(m)
    np.testing.assert_array_equal(expand(kernel, as_csr(X), as_csr(S), A), expand(kernel, X, S, A))


@pytest.mark.parametrize("n", [70, 110, 600, 1000])
@pytest.mark.parametrize("threads", ["1", "2", "3"])
def test_rows_of_very_different_lengths_find_room_wherever_a_threads_share_begins(n, threads, monkeypatch):
    monkeypatch.setenv("ONKEL_NUM_THREADS", threads)
    rng = np.random.default_rng(n)
    heavy = rng.integers(0, n, size=1 + n // 60)
    X = rng.random((n, 400)) * (rng.random((n, 400)) < 0.01)
    for row in heavy:  # a few dozen full rows in a row, here and there
        X[row : row + 30] = rng.random((len(X[row : row + 30]), 400))
    X[: n // 2] = 0
    A = rng.standard_normal(50)
    S = as_csr(rng.random((50, 400)))
    for kernel in (Linear(), RBF(gamma=0.01)):
        np.testing.assert_array_equal(expand(kernel, as_csr(X), S, A), expand(kernel, X, S.toarray(), A))


# What a path does with a kernel depends on how many rows are left over: these three in full, d with each of them.
@grouped(
    "kernel_on_path, m, d",
    pairwise(list(itertools.product(EVERY_VECTOR_KERNEL, simd_targets())), [1, 31, 32, 33, 600], [1, 9, 40]),
)
def test_every_simd_path_scores_like_the_gram_matrix(kernel_on_path, m, d):
    kernel, path = kernel_on_path
    with simd(path):
        assert_scores_are_those_of_the_gram_matrix(kernel, m, d)


def assert_scores_are_those_of_the_gram_matrix(kernel, m, d):
    X, S = draw_points(kernel, 67, d, 3), draw_points(kernel, m, d, 4)
    A = np.random.default_rng(5).standard_normal((m, 3))
    expected = kernel(X, S) @ A
    np.testing.assert_allclose(expand(kernel, X, S, A), expected, rtol=1e-11, atol=1e-11)
    single = expand(kernel, X.astype(np.float32), S.astype(np.float32), A)
    assert single.dtype == np.float64
    np.testing.assert_allclose(single, expected, rtol=1e-3, atol=2e-4 * np.sqrt(m) * max(1, np.abs(kernel(X, S)).max()))


@given(kernels, shapes, seeds)
def test_expand_adds_to_what_is_kept(kernel, shape, seed):
    n, m, d = shape
    X, S = draw_points(kernel, n, d, seed), draw_points(kernel, m, d, seed + 1)
    A = np.random.default_rng(seed).standard_normal((m, 2))
    kept = np.ones((n, 2))
    assert expand(kernel, X, S, A, out=kept) is kept
    np.testing.assert_allclose(kept, 1 + expand(kernel, X, S, A), rtol=1e-12, atol=1e-12)


@given(kernels, seeds, st.sampled_from([0.1, 1.0]))
def test_prepared_rows_and_their_parts_score_like_arrays(kernel, seed, density):
    X = draw_points(kernel, 40, 12, seed, density=density)
    A = np.random.default_rng(seed).standard_normal(7)
    rows = prepare(kernel, X)
    new = np.array([3, 8, 11, 20, 21, 30, 39])
    expected = expand(kernel, X[10:], X[new], A)
    support = rows[new]
    for _ in range(2):  # the second time with what the first has kept
        np.testing.assert_allclose(expand(kernel, rows[10:], support, A), expected, rtol=1e-13, atol=1e-13)
        expand(kernel, rows, support, A)
    np.testing.assert_allclose(kernel(rows, support), kernel(X, X[new]), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("density", [0.1, 1.0])
def test_prepared_support_larger_than_a_block_keeps_its_panels(monkeypatch, density):
    monkeypatch.setattr(onkel.kernels.tiles, "BLOCK_BYTES", 64 * 1024)
    X = draw_points(Linear(), 3000, 30, 0, density=density)
    A = np.random.default_rng(0).standard_normal(3000)
    support = prepare(RBF(), X)
    first = expand(RBF(), X[:50], support, A)
    blocks = [value for key, value in support._kept.items() if key[0] == "block"]
    panels = [block.panels(density < 0.35) for block in blocks]
    assert len(blocks) > 1
    again = expand(RBF(), X[:50], support, A)
    assert all(block.panels(density < 0.35) is kept for block, kept in zip(blocks, panels, strict=True))
    np.testing.assert_array_equal(first, again)
    np.testing.assert_allclose(first, RBF()(X[:50], X) @ A, rtol=1e-11, atol=1e-11)


def test_the_density_is_seen():
    sparse, dense = draw_points(Linear(), 40, 50, 0, density=0.1), draw_points(Linear(), 40, 50, 0)
    for X, is_sparse in ((sparse, True), (as_csr(sparse), True), (dense, False), (as_csr(dense), False)):
        rows = prepare(RBF(), X)
        RBF()(rows, rows)
        assert [(RBF()._form, sparse) in rows._kept for sparse in (False, True)] == [not is_sparse, is_sparse]


# n goes from a part of a chunk of the core's to many; rows are dense and CSR on every path, with every kernel and n.
@grouped(
    "kernel_on_path, n, store",
    pairwise(
        list(itertools.product([*EVERY_VECTOR_KERNEL, RBF() + Linear()], simd_targets())),
        [1, 40, 300, 513],
        [np.asarray, as_csr],
    ),
)
def test_below_the_diagonal_a_gram_matrix_is_the_whole_one(kernel_on_path, n, store):
    kernel, simd_path = kernel_on_path
    for d, density, dtype in ((20, 1.0, np.float32), (20, 0.1, np.float64), (3, 1.0, np.float64)):
        X = draw_points(kernel, n, d, 0, density=density).astype(dtype)
        X[1::9], X[7::9] = X[: len(X[1::9])], X[6::9][: len(X[7::9])]  # some rows twice, far from each other and near
        whole, below = np.full((2, n, n), np.nan, dtype=dtype)  # what is left out shows
        with simd(simd_path):
            rows = prepare(kernel, store(X))
            fill(kernel, rows, rows, whole)
            fill_below(kernel, rows, below)
        np.testing.assert_array_equal(np.tril(below), np.tril(whole))


def test_rows_keep_one_right_hand_side_for_equal_kernels():
    rows = prepare(RBF(), draw_points(Linear(), 40, 50, 0))
    for gamma in (1.0, 2.0, 1.0):
        RBF(gamma=gamma)(rows, rows)
    assert sum(isinstance(kept, RIGHTS) for kept in rows._kept.values()) == 2


def test_a_sparse_product_needs_no_memory_for_features_that_do_not_occur():
    wide = sp.csr_array(([1.0, 2.0, 3.0, 4.0], [5, 2_000_000_000, 5, 7], [0, 2, 4]), shape=(2, 2_000_000_001))
    np.testing.assert_array_equal(Linear()(wide[:, :100]), [[1.0, 3.0], [3.0, 25.0]])
    rows = prepare(RBF(), wide[:, :10_000_000])
    assert rows.panels(True).values.nbytes < 10_000
    np.testing.assert_allclose(RBF(gamma=0.1)(rows, rows), [[1, np.exp(-2.0)], [np.exp(-2.0), 1]], rtol=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scores_of_float32_rows_add_up_in_float64(dtype):
    n = 60_000  # a plain float32 sum of as many ones and tiny values would be far off
    S = np.zeros((n, 1), dtype=dtype)
    A = np.where(np.arange(n) % 2, 1.0, 1e-3)
    score = expand(Linear() + 1.0, np.ones((1, 1), dtype=dtype), S, A)
    np.testing.assert_allclose(score, A.sum(), rtol=1e-12)
    score = expand(Polynomial(degree=1, coef0=1.0), np.ones((1, 1), dtype=dtype), S, A)
    np.testing.assert_allclose(score, A.sum(), rtol=3e-7 if dtype == np.float32 else 1e-12)


def test_expand_takes_precomputed_and_custom_kernels():
    X = np.random.default_rng(0).standard_normal((20, 3))
    A = np.random.default_rng(1).standard_normal(4)
    K = RBF()(X)
    np.testing.assert_allclose(expand(Precomputed(), K, [1, 5, 7, 19], A), K[:, [1, 5, 7, 19]] @ A)
    custom = Custom(lambda P, Q: RBF()(P, Q))
    np.testing.assert_allclose(expand(custom, X, X[:4], A), K[:, :4] @ A)
    strings = Custom(lambda a, b: float(len(a) * len(b)), pairwise=True, takes="objects")
    np.testing.assert_allclose(expand(strings, ["a", "bb"], ["ccc"], [2.0]), [6.0, 12.0])


def test_the_callers_arrays_are_neither_changed_nor_needed_writable():
    X = draw_points(Linear(), 30, 9, 0)
    X.setflags(write=False)
    before = X.copy()
    for kernel in (*EVERY_VECTOR_KERNEL[:8], (RBF() * Linear()).normalized().exp()):
        expand(kernel, X, X[:5], np.ones(5))
        kernel(X)
    np.testing.assert_array_equal(X, before)


@given(kernels, shapes, seeds, st.sampled_from([0.1, 1.0]), st.sampled_from([np.float32, np.float64]))
def test_values_kept_beside_the_scores_are_the_gram_matrix(kernel, shape, seed, density, dtype):
    n, m, d = shape
    X = draw_points(kernel, n, d, seed, density=density).astype(dtype)
    S = draw_points(kernel, m, d, seed + 1, density=density).astype(dtype)
    A = np.random.default_rng(seed).standard_normal((m, 2))
    x, s = prepare(kernel, X), prepare(kernel, S)
    kept, scores = np.full((m + 2, n), np.nan, dtype=dtype), np.ones((2, n))
    K = kernel(X, S)
    assume(K.dtype == dtype)  # float32 has the range for the values
    add_scores(kernel, x, s, A, scores.T, values=kept[1:-1].T)
    np.testing.assert_array_equal(kept[1:-1].T, K)
    assert np.isnan(kept[[0, -1]]).all()
    scale = (np.abs(kernel(X, S)).max() * np.abs(A).sum() + 1) * np.finfo(dtype).eps
    np.testing.assert_allclose(scores.T - 1, expand(kernel, X, S, A), rtol=0, atol=20 * scale)
