"""Kernel values against scikit-learn's, against slow twins, and on the whole range of numbers."""

from __future__ import annotations

import numpy as np
import pytest
from reference import oracles
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import pairwise
from strategies import EVERY_VECTOR_KERNEL, draw_points

from onkel._core import Map, _native
from onkel.kernels import RBF, Chi2, Cosine, Laplacian, Linear, Matern, Polynomial, RationalQuadratic, Sigmoid, expand

PAIRS = [
    (Linear(), pairwise.linear_kernel),
    (Polynomial(degree=3, gamma=0.2, coef0=1.0), lambda X, Z: pairwise.polynomial_kernel(X, Z, 3, 0.2, 1.0)),
    (Sigmoid(gamma=0.1, coef0=0.5), lambda X, Z: pairwise.sigmoid_kernel(X, Z, 0.1, 0.5)),
    (Cosine(), pairwise.cosine_similarity),
    (RBF(gamma=0.05), lambda X, Z: pairwise.rbf_kernel(X, Z, 0.05)),
    (Laplacian(gamma=0.1), lambda X, Z: pairwise.laplacian_kernel(X, Z, 0.1)),
    (Chi2(gamma=0.3), lambda X, Z: pairwise.chi2_kernel(X, Z, 0.3)),
    (Matern(nu=0.5, length_scale=2.0), gp.Matern(nu=0.5, length_scale=2.0)),
    (Matern(nu=1.5, length_scale=2.0), gp.Matern(nu=1.5, length_scale=2.0)),
    (Matern(nu=2.5, length_scale=2.0), gp.Matern(nu=2.5, length_scale=2.0)),
    (Matern(nu=0.8, length_scale=2.0), gp.Matern(nu=0.8, length_scale=2.0)),
    (RationalQuadratic(alpha=0.7, length_scale=2.0), gp.RationalQuadratic(alpha=0.7, length_scale=2.0)),
]


@pytest.mark.parametrize(("kernel", "peer"), PAIRS, ids=[repr(k) for k, _ in PAIRS])
@pytest.mark.parametrize("d", [2, 20, 150])
def test_values_are_scikit_learns_to_1e_10(kernel, peer, d, simd_path):
    X, Z = draw_points(kernel, 41, d, 1), draw_points(kernel, 67, d, 2)
    np.testing.assert_allclose(kernel(X, Z), peer(X, Z), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kernel", EVERY_VECTOR_KERNEL, ids=repr)
@pytest.mark.parametrize("d", [3, 17])
def test_values_and_scores_are_those_of_the_slow_twin(kernel, d, simd_path):
    X, S = draw_points(kernel, 9, d, 3), draw_points(kernel, 35, d, 4)
    A = np.random.default_rng(0).standard_normal((35, 2))
    np.testing.assert_allclose(kernel(X, S), oracles.gram(kernel, X, S), rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(expand(kernel, X, S, A), oracles.expand(kernel, X, S, A), rtol=1e-11, atol=1e-12)


# ---------------------------------------------------------------- the maps on the whole range


def whole_range(dtype: type) -> np.ndarray:
    """Zero, subnormals, every binade of both signs' magnitudes, and the largest numbers."""
    info = np.finfo(dtype)
    binades = np.exp2(np.arange(info.minexp - 20, info.maxexp, 0.37, dtype=np.longdouble)).astype(dtype)
    ordinary = np.linspace(1e-4, 800, 20_001, dtype=dtype)
    special = np.array([0.0, info.smallest_subnormal, info.tiny, info.max], dtype=dtype)
    return np.concatenate([special, binades, ordinary])


def assert_map(map_code, params, t, expected, dtype, tolerance, lowest=1.0):
    """Relative error within tolerance; under `lowest` smallest normal numbers 0 is as good."""
    values = t.copy()
    _native.apply_map(map_code, list(params), values)
    tiny = lowest * np.finfo(dtype).tiny
    with np.errstate(over="ignore"):
        overflow = np.abs(expected) > np.finfo(dtype).max
    ordinary = ~overflow & (np.abs(expected) >= tiny)
    got, want = values[ordinary].astype(np.longdouble), expected[ordinary]
    assert not np.isnan(values).any()
    assert (np.isinf(values[overflow])).all()
    assert (np.abs(values[~overflow & ~ordinary]) <= 2 * tiny).all()
    allowed = tolerance if np.isscalar(tolerance) else tolerance[ordinary]
    worst = np.argmax(np.abs(got - want) / np.abs(want) / allowed)
    assert (np.abs(got - want) <= allowed * np.abs(want)).all(), (t[ordinary][worst], got[worst], want[worst])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("rate", [1.0, 0.5, 1e-3, 20.0])
def test_exp_is_within_two_ulp_of_its_rounded_argument(dtype, rate, simd_path):
    t = whole_range(dtype)
    # the core rounds rate * log2(e), then its product with t: allow for both in the exponent
    with np.errstate(over="ignore"):
        exponent = np.minimum(np.abs(t.astype(np.longdouble) * rate), 1e4)
    eps = np.finfo(dtype).eps
    tolerance = (2 if dtype == np.float32 else 4) * eps + 1.5 * eps * exponent
    assert_map(Map.EXPONENTIAL, [rate], t, oracles.exponential_map(t, rate), dtype, tolerance)
    if dtype == np.float64 and rate == 1.0:
        inside = t[t < 700]
        assert_map(Map.EXPONENTIAL, [rate], inside, oracles.exponential_map(inside, rate), dtype, 1.2e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("code", "terms"), [(Map.MATERN12, 1), (Map.MATERN32, 2), (Map.MATERN52, 3)])
def test_matern_maps_follow_their_twin(code, terms, dtype, simd_path):
    t = -whole_range(dtype)
    eps = np.finfo(dtype).eps
    with np.errstate(over="ignore"):
        r = np.minimum(np.sqrt(-2 * t.astype(np.longdouble)), 1e4)
    assert_map(code, [1.0], t, oracles.matern_map(t, terms, 1.0), dtype, 6 * eps + 3 * eps * r, lowest=1e6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("alpha", [0.3, 1.0, 5.0])
def test_rational_quadratic_map_follows_its_twin(alpha, dtype, simd_path):
    t = -whole_range(dtype) / dtype(8)
    eps = np.finfo(dtype).eps
    expected = oracles.rational_quadratic_map(t, alpha, 0.5)
    tolerance = 4 * eps + 3 * eps * alpha * np.abs(np.log2(np.maximum(expected, 1e-4000)))
    assert_map(Map.RATIONAL_QUADRATIC, [alpha, 0.5], t, expected, dtype, 4 * eps * (1 + alpha) + tolerance)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_tanh_map_follows_its_twin_and_keeps_the_sign_of_zero(dtype, simd_path):
    t = np.concatenate([whole_range(dtype), -whole_range(dtype)])
    assert_map(Map.TANH, [1.0, 0.0], t, oracles.tanh_map(t, 1.0, 0.0), dtype, 5 * np.finfo(dtype).eps)
    zeros = np.array([0.0, -0.0], dtype=dtype)
    _native.apply_map(Map.TANH, [1.0, 0.0], zeros)
    np.testing.assert_array_equal(zeros, 0.0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("degree", [1, 2, 3, 4, 7, 20])
def test_polynomial_map_follows_its_twin(degree, dtype, simd_path):
    t = np.concatenate([whole_range(dtype), -whole_range(dtype)])
    expected = oracles.polynomial_map(t, degree, 1.0, 0.0)
    assert_map(Map.POLYNOMIAL, [degree, 1.0, 0.0], t, expected, dtype, 2 * degree * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [3, 25])
def test_huge_and_tiny_distances_give_0_and_1_never_nan(dtype, d, simd_path):
    info = np.finfo(dtype)
    big, small = np.sqrt(info.max), info.tiny
    X = np.array([[0.0], [small], [-small], [1.0], [big], [-big], [info.max / 4], [-info.max / 4]], dtype=dtype)
    X = np.repeat(X, d, axis=1)
    for kernel in (RBF(gamma=1.0), Matern(nu=1.5), RationalQuadratic(), Laplacian(gamma=1.0)):
        K = kernel(X)
        assert np.isfinite(K).all()
        np.testing.assert_array_equal(np.diag(K), 1.0)
        np.testing.assert_array_equal(K[:3, :3], 1.0)
        if not isinstance(kernel, RationalQuadratic):
            np.testing.assert_array_equal(K[4:, :4], 0.0)
            np.testing.assert_array_equal(K[4:, 4:], np.eye(4))
