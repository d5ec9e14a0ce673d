"""The sequential parts of the compiled core against their slow twins."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference.oracles import SlowPerceptron
from strategies import as_csr, seeds

from onkel._core import _native, simd, simd_targets
from onkel.kernels import Linear
from onkel.learners.ledger import LEDGER

dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def problem(seed, dtype, n_outputs=2):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, size=(30, 3)).astype(dtype)
    Y = rng.choice([-1, 0, 1], size=(30, n_outputs), p=[0.45, 0.1, 0.45]).astype(np.int8)
    return X, Linear()(X), Y, rng.integers(1, 4, size=30).astype(float)


@dtypes
@given(seed=seeds, bias=st.sampled_from([0.0, 1.0]), known=st.integers(0, 30))
def test_the_pass_decides_like_its_twin_and_asks_for_the_rows_it_needs(dtype, seed, bias, known):
    _, K, Y, w = problem(seed, dtype)
    twin = SlowPerceptron(K, Y.astype(float), bias=bias, weights=w)
    twin.epoch(np.arange(30))
    expected = np.zeros(Y.shape)
    for _, row, machine, step in twin.ledger:
        expected[row, machine] = step
    place = np.where(np.arange(30) < known, np.arange(30), -1)  # the others' values come when asked for
    F, offsets, steps, squared = np.zeros(Y.shape[::-1]), np.zeros(2), np.empty(Y.shape), np.zeros(2)
    stop = 0
    while (stop := _native.perceptron_pass(K, place, stop, Y, w, bias, F, offsets, steps, squared)) < 30:
        assert place[stop] < 0
        place[stop] = stop
    np.testing.assert_array_equal(steps, expected)
    np.testing.assert_array_equal(offsets, bias * expected.sum(axis=0))
    norms = [guesses[-1] @ twin.K @ guesses[-1] for guesses in twin.guesses]
    np.testing.assert_allclose(squared, norms, rtol=1e-12)


@dtypes
@given(seed=seeds, bias=st.booleans(), eta=st.sampled_from([1.0, 0.5]), sparse=st.booleans())
def test_the_primal_pass_is_v_and_its_moments_kept_by_hand(dtype, seed, bias, eta, sparse):
    X, _, Y, w = problem(seed, dtype)
    Y, row_ids = np.where(Y > 0, 1.0, -1.0), np.arange(5, 35)
    V, M, F = np.zeros((2, 4)), np.zeros((2, 4)), np.empty(Y.shape)
    csr = as_csr(X, np.int64)
    rows = (csr.data, csr.indptr, csr.indices.astype(np.int32)) if sparse else (X.ravel(), None, None)
    counts, ledger, n_entries = _native.Counts(), np.empty(60, dtype=LEDGER), np.zeros(1, dtype=np.int64)
    counts.n_seen = 10
    state = (V, M, counts, ledger.view(np.int64).reshape(-1, 4), n_entries)
    _native.primal_pass(*rows, Y, w, row_ids, eta, bias, *state, F)
    v, m, entries = np.zeros((2, 4)), np.zeros((2, 4)), []
    for i, x in enumerate(X.astype(float)):
        row = np.append(x, 1.0 if bias else 0.0)
        for o in range(2):
            assert F[i, o] == v[o, :3] @ x + v[o, 3]  # sums of small whole numbers and halves: exact
            if Y[i, o] * F[i, o] <= 0:
                step = eta * w[i] * Y[i, o]
                entries.append((11 + i, 5 + i, o, step))
                v[o] += step * row
                m[o] += (11 + i) * step * row
    assert ledger[: n_entries[0]].tolist() == entries
    assert (counts.n_seen, counts.next_row_id) == (40, 35)
    assert counts.n_mistakes == counts.n_updates == len(entries)
    np.testing.assert_allclose(V, v, atol=1e-12)
    np.testing.assert_allclose(M, m, atol=1e-9)


@dtypes
def test_columns_are_added_where_they_are_named(dtype):
    rng = np.random.default_rng(0)
    columns = rng.standard_normal((6, 5000)).astype(dtype)
    which, A = np.array([4, 1, 4]), rng.standard_normal((3, 2)) * [[1, 0], [1, 1], [0, 1]]
    F = rng.standard_normal((2, 6000))
    expected = F.copy()
    expected[:, 500:5300] += A.T @ columns[which, 100:4900].astype(float)
    _native.add_columns(columns[:, 100:4900], which, A, F[:, 500:5300], 2)
    np.testing.assert_allclose(F, expected, rtol=1e-12, atol=1e-12)


@dtypes
def test_csr_rows_are_taken_in_any_order_and_twice(dtype):
    rng = np.random.default_rng(0)
    X = (rng.random((20, 9)) * (rng.random((20, 9)) < 0.4)).astype(dtype)
    csr, chosen = as_csr(X, np.int64), np.array([3, 19, 0, 3])
    indptr = np.concatenate([[0], np.cumsum((X[chosen] != 0).sum(axis=1))])
    indices, data = np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1], dtype=dtype)
    _native.take_csr(csr.indptr, csr.indices.astype(np.int32), csr.data, chosen, indptr, indices, data, 2)
    np.testing.assert_array_equal(indices, np.nonzero(X[chosen])[1])
    np.testing.assert_array_equal(data, X[chosen][np.nonzero(X[chosen])])


@dtypes
def test_votes_are_those_of_every_prefix(dtype):
    rng = np.random.default_rng(1)
    K = rng.standard_normal((7, 5)).astype(dtype)
    place, machine = rng.integers(0, 5, 12), rng.integers(0, 3, 12)
    step, weight, start = rng.choice([-1.0, 1.0], 12), rng.integers(0, 9, 12).astype(float), np.array([2.0, 0.0, 5.0])
    out = np.empty((7, 3))
    _native.vote(K, place, machine, step, weight, start, 1.0, out)
    for i in range(7):
        for o in range(3):
            votes, f = start[o], 0.0
            for t in np.flatnonzero(machine == o):
                f += step[t] * (float(K[i, place[t]]) + 1.0)
                votes += weight[t] if f >= 0 else -weight[t]
            assert out[i, o] == votes


@pytest.mark.parametrize("target", simd_targets())
@pytest.mark.parametrize("m", [1, 3, 4, 7, 9, 31, 130])
def test_triangular_systems_are_solved(target, m):
    rng = np.random.default_rng(m)
    L = np.tril(rng.standard_normal((m + 3, m + 3))) + 5 * np.eye(m + 3)  # with room for more
    B, A = rng.standard_normal((2, m + 3)), np.empty((2, m))
    K, Z = rng.standard_normal((37, m + 3)).astype(np.float32), np.full((37, m + 3), np.nan)
    with simd(target):
        _native.coefficients(L, B, A)
        _native.project_rows(L, m, K, Z, 2)
    np.testing.assert_allclose(A @ L[:m, :m], B[:, :m], atol=1e-12)
    np.testing.assert_allclose(Z[:, :m] @ L[:m, :m].T, K[:, :m], atol=1e-12)
    assert np.isnan(Z[:, m:]).all()
    for known in {0, m // 2, m}:  # one row alone, from any component on; nobody looks at it, so nothing is learned
        z, F, nobody = np.full((1, m + 3), np.nan), np.empty((1, 2)), np.full((1, 2), np.nan)
        z[0, :known] = Z[0, :known]
        record, one = _native.ProjectronRecord(), np.ones((1, 1), dtype=np.float32)
        record.size = m
        zero, ledger = np.zeros(1, dtype=np.int64), (np.empty((2, 4), dtype=np.int64), np.zeros(1, dtype=np.int64))
        left = (nobody, np.ones(1), zero, *ledger, F, np.empty(1, dtype=np.int64))
        with simd(target):
            assert not _native.project_pass(0.0, m, False, True, K[:1].copy(), one, z, known, L, B, record, *left)
        np.testing.assert_allclose(z[:, :m], Z[:1, :m], rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(F[0], B[:, :m] @ Z[0, :m], atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_row_is_right_where_every_output_that_looks_has_its_sign(dtype):
    k = np.array([[1.0, 2.0, 99.0]], dtype=dtype)
    A = np.array([[1.0, 1.0], [1.0, -1.0], [2.0, -1.0]])  # scores 3, −1 and 0, which is wrong for either sign
    record = _native.ProjectronRecord()
    record.size, record.next_row_id = 2, 7
    exact = _native.exact(k, A, record)
    for y, right in (((1, -1, np.nan), True), ((1, -1, 1), False), ((1, 1, np.nan), False), ((-1, -1, np.nan), False)):
        before = record.n_seen
        assert exact.all_right(np.array([y], dtype=float)) is right
        assert record.n_seen == before + right  # an example that is right is learned: there is nothing to change
        assert record.next_row_id == 7 + record.n_seen
