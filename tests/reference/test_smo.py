"""The compiled SMO steps on a block of the dual, against slow twins; and the parts of the solver."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import svm_oracles as twin
from strategies import seeds

from onkel._core import _native, simd, simd_targets
from onkel.kernels import RBF, Linear, prepare
from onkel.solvers.svm import dual, working_set
from onkel.solvers.svm.problem import Limits, Problem, feasible

dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])
paths = pytest.mark.parametrize("path", simd_targets())


def block(seed, dtype, q, C=3.0):
    """K with room behind its rows, and b = 0 in a box with different ends."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(q, 3)).astype(dtype)
    room = -(-q // 32) * 32
    K = np.full((q, room), np.nan, dtype=dtype)  # what stands behind is never looked at
    K[:, :q] = RBF(gamma=0.8)(X)
    y = np.where(rng.random(q) < 0.5, 1.0, -1.0)
    ends = y * rng.uniform(0.1, C, size=q)
    return K, y, np.minimum(ends, 0.0), np.maximum(ends, 0.0)


def solved_slowly(K, y, low, high, tol, pairs=True):
    """By the twin; without the constraint on the sum one variable at a time, that with the largest slope."""
    K = K.astype(np.float64)
    if pairs:
        return y * twin.smo(twin.classification(K, y, np.abs(low + high)), tol)
    b = np.zeros(len(y))
    for _ in range(200_000):
        v = y - K @ b
        slope = np.where(v > 0, np.where(b < high, v, 0.0), np.where(b > low, -v, 0.0))
        i = int(slope.argmax())
        if slope[i] <= tol:
            return b
        b[i] = np.clip(b[i] + v[i] / K[i, i], low[i], high[i])
    raise AssertionError("the slow twin did not end")


@dtypes
@paths
@pytest.mark.parametrize("pairs", [True, False])
@pytest.mark.parametrize("q", [2, 3, 31, 32, 33, 100])
def test_steps_end_where_those_of_the_twin_do(dtype, path, pairs, q):
    K, z, low, high = block(q, dtype, q)
    z[0] = -z[1]
    low, high = np.minimum(z * np.abs(low + high), 0), np.maximum(z * np.abs(low + high), 0)
    expected = solved_slowly(K[:, :q], z, low, high, 1e-9, pairs)
    b, v = np.zeros(q), z.copy()
    with simd(path):
        steps, gap = _native.smo(K, q, low, high, b, v, pairs, 1e-9, 10**6)
    assert 0 < steps < 10**6
    assert gap <= 1e-9
    assert (low <= b).all()
    assert (b <= high).all()
    if pairs:
        np.testing.assert_allclose(b.sum(), 0, atol=1e-10)
    np.testing.assert_allclose(v, z - K[:, :q].astype(np.float64) @ b, atol=1e-9)
    objective = [0.5 * x @ K[:, :q].astype(np.float64) @ x - z @ x for x in (b, expected)]
    np.testing.assert_allclose(objective[0], objective[1], rtol=1e-7)
    np.testing.assert_allclose(b, expected, atol=1e-4)


@dtypes
@given(seed=seeds, pairs=st.booleans())
def test_every_step_lowers_the_objective_and_stays_in_the_box(dtype, seed, pairs):
    q = 20
    K, z, low, high = block(seed, dtype, q)
    b, v, before = np.zeros(q), z.copy(), 0.0
    for _ in range(30):
        steps, gap = _native.smo(K, q, low, high, b, v, pairs, 1e-7, 1)
        now = 0.5 * b @ K[:, :q].astype(np.float64) @ b - z @ b
        assert now <= before + 1e-12
        assert ((low <= b) & (b <= high)).all()
        if steps == 0:
            assert gap <= 1e-7
            break
        assert now < before
        before = now


def test_a_variable_without_room_never_moves():
    K, z, low, high = block(0, np.float64, 10)
    low[3] = high[3] = 0.0
    b, v = np.zeros(10), z.copy()
    _native.smo(K, 10, low, high, b, v, True, 1e-9, 10**5)
    assert b[3] == 0


@dtypes
@pytest.mark.parametrize("shrinking", [True, False])
@pytest.mark.parametrize("cache_bytes", [1e3, 1e5, 1e8])
def test_working_sets_of_any_size_end_at_the_same_objective(dtype, shrinking, cache_bytes, monkeypatch):
    monkeypatch.setattr(working_set, "WHOLE", 50)
    monkeypatch.setattr(working_set, "WORKING", 64)
    monkeypatch.setattr(dual, "PATIENCE", 0.0)  # rows are left out as soon as they can be
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 4)).astype(dtype)
    y = np.sign(X[:, 0] + X[:, 1] ** 2 - 1 + 0.3 * rng.normal(size=400)).astype(np.float64)
    kernel, C = RBF(gamma=0.5), 2.0
    problem = Problem(kernel, prepare(kernel, X), np.arange(400), y, np.minimum(0, C * y), np.maximum(0, C * y))
    found = dual.solve(problem, np.zeros(400), tol=1e-5, cache_bytes=cache_bytes, limits=Limits(), shrinking=shrinking)
    assert found.converged
    assert found.violation <= 1e-5
    assert found.dual_gap >= 0
    K = kernel(X.astype(np.float64))
    v = y - K @ found.beta
    assert v[found.beta < problem.high].max() - v[found.beta > problem.low].min() <= 1e-5 + 1e-9
    expected = solved_slowly(K, y, problem.low, problem.high, 1e-3)
    assert found.objective <= 0.5 * expected @ K @ expected - y @ expected + 1e-6
    # from the scores of all rows, those that had been left out included
    np.testing.assert_allclose(found.objective, 0.5 * found.beta @ K @ found.beta - y @ found.beta, rtol=1e-5)


@given(seed=seeds, total=st.floats(-1.0, 1.0))
def test_feasible_moves_into_the_box_and_to_the_sum(seed, total):
    rng = np.random.default_rng(seed)
    low, high = -rng.uniform(1, 2, size=12), rng.uniform(1, 2, size=12)
    beta = feasible(rng.normal(scale=3, size=12), low, high, 0.0)
    np.testing.assert_allclose(beta.sum(), 0.0, atol=1e-9)
    assert ((low <= beta) & (beta <= high)).all()


def test_an_interrupt_keeps_beta_and_scores_in_step(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(300, 3)), np.where(rng.random(300) < 0.5, 1.0, -1.0)
    monkeypatch.setattr(working_set, "WHOLE", 20)
    monkeypatch.setattr(working_set, "WORKING", 32)
    calls = []

    def stopped(kernel, *rest, **options):
        calls.append(1)
        add_scores(kernel, *rest, **options)
        if len(calls) == 5:
            raise KeyboardInterrupt

    add_scores = dual.add_scores
    monkeypatch.setattr(dual, "add_scores", stopped)
    kernel = Linear()
    problem = Problem(kernel, prepare(kernel, X), np.arange(300), y, np.minimum(0, y), np.maximum(0, y))
    found = dual.solve(problem, np.zeros(300), tol=1e-6, cache_bytes=1e8, limits=Limits(), shrinking=False)
    assert found.interrupted is not None
    assert not found.converged
    f = X @ (X.T @ found.beta)
    np.testing.assert_allclose(found.objective, found.beta @ (0.5 * f - y), rtol=1e-9)
    assert found.objective < 0


@pytest.mark.parametrize("C", [1e2, 1e4])
def test_the_violation_of_float32_rows_is_the_true_one(C):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 4)).astype(np.float32)
    y = np.sign(X[:, 0] + X[:, 1] ** 2 - 1 + 0.3 * rng.normal(size=600)).astype(np.float64)
    kernel = RBF(gamma=0.5)
    problem = Problem(kernel, prepare(kernel, X), np.arange(600), y, np.minimum(0, C * y), np.maximum(0, C * y))
    found = dual.solve(problem, np.zeros(600), tol=5e-4, cache_bytes=1e8, limits=Limits())
    v = y - kernel(X.astype(np.float64)) @ found.beta
    true = v[found.beta < problem.high].max() - v[found.beta > problem.low].min()
    assert true <= 5e-4
    np.testing.assert_allclose(found.violation, true, rtol=1e-6)
