"""Laws of precision: float32 rows give the numbers of float64, or are refused, at every scale."""

from __future__ import annotations

import copy
import math

import numpy as np
import pytest
from strategies import as_csr

from onkel import BudgetPerceptron, Forgetron, KernelPerceptron, PassiveAggressiveClassifier, Projectron
from onkel._core import simd, simd_targets
from onkel.errors import ParameterError, ValuesError
from onkel.kernels import (
    RBF,
    Chi2,
    Cosine,
    HistogramIntersection,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
    expand,
    prepare,
)
from onkel.kernels.named import resolve_gamma
from onkel.kernels.vectors import VectorRows

SCALES = (1e-35, 1e-25, 1e-20, 1e20, 1e25, 1e35)
each_simd = pytest.mark.parametrize("simd_path", simd_targets())


def at_scale(s: float) -> list[Kernel]:
    """Kernels with values of about 1 on rows of length s."""
    return [
        RBF(gamma=0.3 / s**2),
        Matern(nu=0.5, length_scale=s),
        Matern(nu=1.5, length_scale=s),
        Matern(nu=0.9, length_scale=s),
        RationalQuadratic(alpha=0.7, length_scale=s),
        Laplacian(gamma=0.3 / s),
        Chi2(gamma=0.3 / s),
        Cosine(),
        Sigmoid(gamma=0.3 / s**2, coef0=0.1),
        Polynomial(degree=2, gamma=1 / s**2),
        Linear().normalized(),
        (Linear() * Polynomial(degree=3, gamma=1 / s**2)).normalized(),
        HistogramIntersection().normalized(),
    ]


@pytest.mark.parametrize("s", SCALES)
@pytest.mark.parametrize("d", [3, 20])
@each_simd
def test_rows_of_any_scale_that_float32_holds_have_the_kernel_values_of_float64(s, d, simd_path):
    rng = np.random.default_rng(d)
    X, Z = (s * rng.random((7, d))).astype(np.float32), (s * rng.random((40, d))).astype(np.float32)
    A = rng.standard_normal((40, 2))
    with simd(simd_path):
        for kernel in at_scale(s):
            exact = kernel(X.astype(np.float64), Z.astype(np.float64))
            assert np.abs(exact).max() > 1e-3  # there is something to lose
            for store in (np.asarray, as_csr):
                np.testing.assert_allclose(kernel(store(X), store(Z)), exact, rtol=2e-5, atol=1e-6)
                np.testing.assert_allclose(kernel(store(X[:1]), store(Z)), exact[:1], rtol=2e-5, atol=1e-6)
                np.testing.assert_allclose(expand(kernel, store(X), store(Z), A), exact @ A, atol=1e-4)
                np.testing.assert_allclose(expand(kernel, store(X[:1]), store(Z), A), exact[:1] @ A, atol=1e-4)


@pytest.mark.parametrize("s", [1e-30, 1e25])
def test_kernel_values_that_float32_cannot_hold_are_float64(s):
    X = (s * np.random.default_rng(0).random((5, 4))).astype(np.float32)
    for kernel in (Linear(), Polynomial(degree=4, coef0=0.0), 2.0 * Linear(), Linear() ** 2):
        np.testing.assert_allclose(kernel(X), kernel(X.astype(np.float64)), rtol=1e-12)
        np.testing.assert_allclose(kernel.diag(X), kernel.diag(X.astype(np.float64)), rtol=1e-12)


@pytest.mark.parametrize("gamma", [1e39, 1e300, 1.7e308])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_rows_have_the_kernel_value_1_for_every_gamma(gamma, dtype):
    X = np.array([[1.0, 2.0], [3.0, 4.0]], dtype=dtype)
    for kernel in (RBF(gamma=gamma), Laplacian(gamma=gamma), Chi2(gamma=gamma)):
        assert kernel(X).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def pixels(n: int) -> np.ndarray:
    """Two classes of pictures in bytes."""
    rng = np.random.default_rng(0)
    means = rng.integers(0, 200, size=(2, 1, 784))
    return np.clip(means[np.arange(n) % 2, 0] + rng.integers(-60, 120, size=(n, 784)), 0, 255).astype(np.float32)


def test_a_normalized_polynomial_of_bytes_has_the_values_of_float64():
    X, kernel = pixels(30), Polynomial(degree=6).normalized()
    exact = kernel(X.astype(np.float64))
    np.testing.assert_allclose(kernel(X), exact, rtol=1e-5)
    np.testing.assert_allclose(expand(kernel, X, X[:5], np.ones(5)), exact[:, :5].sum(axis=1), rtol=1e-5)


def test_the_forgetron_on_bytes_makes_the_mistakes_of_float64():
    X = pixels(120)
    y = np.random.default_rng(1).integers(0, 2, 120)
    made = [
        Forgetron(kernel=Polynomial(degree=6).normalized(), budget=40).partial_fit(X.astype(dtype), y).n_mistakes_
        for dtype in (np.float32, np.float64)
    ]
    assert made[0] == made[1] > 2


# ---------------------------------------------------------------- weights


@pytest.mark.parametrize(
    "A",
    [
        np.array([1e8, *np.ones(38), -1e8]),
        np.array([1e200, *np.ones(38), -1e200]),
        np.full(40, 1e-50),
        np.array([1e39, *np.full(39, -1e38)]),
        np.array([1e-300, *np.zeros(38), 1e300]),
    ],
    ids=["wide", "wider", "tiny", "huge", "both"],
)
@pytest.mark.parametrize("outputs", [1, 3])
@each_simd
def test_weights_that_float32_cannot_hold_or_add_up_are_summed_in_float64(A, outputs, simd_path):
    S = np.zeros((40, 30), dtype=np.float32)
    S[20:, 0] = 1
    x = np.zeros((3, 30), dtype=np.float32)
    k = np.where(S[:, 0] > 0, float(np.exp(-np.float64(1.0))), 1.0)
    weights = np.repeat(A[:, None], outputs, axis=1)
    with simd(simd_path):
        for store in (np.asarray, as_csr):
            found = expand(RBF(gamma=1.0), store(x), store(S), weights)
            np.testing.assert_allclose(found, math.fsum(A * k), rtol=1e-6, atol=1e-7 * np.abs(A).max() * (A[0] == 1e8))
            equal = expand(RBF(gamma=1.0), store(x), store(S[:20]), weights[:20])  # all values are 1
            np.testing.assert_allclose(equal, math.fsum(A[:20]), rtol=1e-12)


def test_scores_of_ordinary_weights_have_the_error_that_the_documentation_states():
    rng = np.random.default_rng(0)
    X, S, A = rng.random((50, 9), dtype=np.float32), rng.random((700, 9), dtype=np.float32), rng.standard_normal(700)
    A[::7] *= 2.0**-15
    K = RBF(gamma=1.0)(X, S).astype(np.float64)
    error = np.abs(expand(RBF(gamma=1.0), X, S, A) - K @ A)
    assert (error <= 34 * 2.0**-24 * (K @ np.abs(A))).all()


@pytest.mark.parametrize("weight", [1e-50, 1e39])
def test_a_common_factor_of_all_sample_weights_changes_no_prediction_on_float32_rows(weight):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 5)).astype(np.float32), rng.integers(0, 2, 200)
    options = {"gamma": 0.5, "max_iter": 3, "shuffle": False}
    plain = KernelPerceptron(**options).fit(X, y)
    weighted = KernelPerceptron(**options).fit(X, y, sample_weight=np.full(200, weight))
    assert (plain.predict(X) == weighted.predict(X)).all()
    assert plain.n_mistakes_ == weighted.n_mistakes_
    np.testing.assert_allclose(weighted.decision_function(X) / weight, plain.decision_function(X), rtol=1e-5, atol=1e-5)


# ---------------------------------------------------------------- formulas


def test_gamma_median_does_not_depend_on_an_offset():
    X = np.random.default_rng(0).standard_normal((300, 20))
    gamma = resolve_gamma("median", prepare(Linear(), X), "test")
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)[np.triu_indices(300, 1)]
    assert gamma == pytest.approx(1 / np.median(squared), rel=1e-9)
    for offset in (1e4, 1e6):
        assert resolve_gamma("median", prepare(Linear(), X + offset), "test") == pytest.approx(gamma, rel=1e-6)
    narrow = (X + 1e4).astype(np.float32)
    exact = resolve_gamma("median", prepare(Linear(), narrow.astype(np.float64)), "test")
    assert resolve_gamma("median", prepare(Linear(), narrow), "test") == exact


def test_gamma_scale_of_csr_rows_does_not_depend_on_an_offset():
    X = np.random.default_rng(0).standard_normal((50, 20)) + 1e6
    X[3, 4] = 0
    dense, sparse = (resolve_gamma("scale", prepare(Linear(), store(X)), "test") for store in (np.asarray, as_csr))
    assert sparse == pytest.approx(dense, rel=1e-9)


def half_integer_matern(p: int, d: float) -> float:
    """exp(−r) p!/(2p)! Σ (p + i)!/(i! (p − i)!) (2r)ᵖ⁻ⁱ for ν = p + ½   [Rasmussen and Williams 2006, eq. 4.16]."""
    r, f = math.sqrt(2 * p + 1) * d, math.lgamma
    logs = [f(p + i + 1) - f(i + 1) - f(p - i + 1) + (p - i) * math.log(2 * r) for i in range(p + 1)]
    top = max(logs)
    return math.exp(top + math.log(math.fsum(math.exp(v - top) for v in logs)) + f(p + 1) - f(2 * p + 1) - r)


@pytest.mark.parametrize("p", [3, 49, 50, 100, 171, 1000])
def test_a_smooth_matern_kernel_is_its_closed_form(p):
    distances = np.array([[0.01], [0.5], [1.0], [3.0], [10.0], [100.0]])
    exact = [half_integer_matern(p, d) for d in distances[:, 0]]
    np.testing.assert_allclose(Matern(nu=p + 0.5)(np.zeros((1, 1)), distances)[0], exact, rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("nu", [100.0, 171.0, 1e6, 1e12, 1e300])
def test_a_very_smooth_matern_kernel_nears_the_gaussian(nu):
    distances = np.array([[0.0], [1e-9], [0.01], [0.5], [1.0], [3.0], [10.0], [100.0], [1e6]])
    found = Matern(nu=nu)(np.zeros((1, 1)), distances)[0]
    assert found[0] == 1.0
    assert (np.diff(found) <= 0).all()
    np.testing.assert_allclose(found, np.exp(-(distances[:, 0] ** 2) / 2), rtol=1e-14, atol=0.3 / nu + 1e-15)


def test_a_matern_kernel_is_continuous_where_its_expansion_begins():
    distances = np.array([[1e-9], [0.01], [0.5], [1.0], [3.0], [10.0], [20.0]])
    below, above = (Matern(nu=nu)(np.zeros((1, 1)), distances)[0] for nu in (np.nextafter(50.0, 0), 50.0))
    np.testing.assert_allclose(below, above, rtol=1e-10)


@pytest.mark.parametrize("alpha", [1e4, 1e6, 1e10, 1e30])
@each_simd
def test_a_rational_quadratic_of_large_alpha_nears_the_gaussian_also_in_float32(alpha, simd_path):
    X = np.random.default_rng(0).standard_normal((40, 10)).astype(np.float32)
    squared = ((X[:, None].astype(np.float64) - X[None]) ** 2).sum(axis=2)
    exact = np.exp(-alpha * np.log1p(squared / (2 * alpha)))
    with simd(simd_path):
        np.testing.assert_allclose(RationalQuadratic(alpha=alpha)(X), exact, rtol=1e-4)
        np.testing.assert_allclose(RationalQuadratic(alpha=alpha)(X.astype(np.float64)), exact, rtol=1e-9)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_diagonal_of_the_histogram_kernel_has_the_same_bits_for_dense_and_csr_rows(dtype):
    X = (np.random.default_rng(0).random((200, 37)) * (np.random.default_rng(1).random((200, 37)) < 0.4)).astype(dtype)
    kernel = HistogramIntersection()
    assert (kernel.inner.diagonal(prepare(kernel, X)) == kernel.inner.diagonal(prepare(kernel, as_csr(X)))).all()
    np.testing.assert_allclose(kernel.diag(X), X.sum(axis=1, dtype=np.float64), rtol=1e-6)


def test_a_power_of_high_degree_is_right_or_refused():
    X = np.array([[1.0 + 2.0**-20], [1.0]], dtype=np.float32)
    exact = (np.float64(X[0, 0]) ** 2) ** 1_000_000
    for kernel in (Polynomial(degree=1_000_000, coef0=0.0), Linear() ** 1_000_000):
        assert kernel(X.astype(np.float64))[0, 0] == pytest.approx(exact, rel=1e-9)
    assert Polynomial(degree=1_000_000, coef0=0.0)(X)[0, 0] == pytest.approx(exact, rel=1e-6)
    for degree in (1e19, 10**19, 2e9, 1e300):
        with pytest.raises(ParameterError, match="degree must be a finite number > 0 and <= 1e"):
            Polynomial(degree=degree)
    with pytest.raises(ParameterError, match="the exponent must be a finite number and <= 1e"):
        Linear() ** 10**19


@pytest.mark.parametrize("length", [1e200, 1e-200, 1e308, 5e-324])
def test_a_length_whose_square_leaves_float64_is_refused(length):
    for make in (RBF.from_sigma, lambda v: Matern(length_scale=v), lambda v: Matern(nu=math.inf, length_scale=v)):
        with pytest.raises(ParameterError, match="must be a length whose inverse square float64 can hold"):
            make(length)
    with pytest.raises(ParameterError, match="must be a length whose inverse square float64 can hold"):
        RationalQuadratic(length_scale=length)


@pytest.mark.parametrize("length", [1e-140, 1e140])
def test_a_length_whose_square_float64_holds_has_right_values(length):
    x, z = np.array([[0.0]]), np.array([[length]])
    for kernel in (RBF.from_sigma(length), Matern(nu=math.inf, length_scale=length)):
        assert kernel(x, z)[0, 0] == pytest.approx(math.exp(-0.5), rel=1e-12)
    assert RationalQuadratic(length_scale=length)(x, z)[0, 0] == pytest.approx(1 / 1.5, rel=1e-12)
    assert Matern(nu=0.5, length_scale=length)(x, z)[0, 0] == pytest.approx(math.exp(-1), rel=1e-12)


# ---------------------------------------------------------------- learners


def test_an_intercept_loses_no_kernel_value_inside_a_chunk():
    rng = np.random.default_rng(0)
    for _ in range(300):
        X, y = rng.uniform(0, 12, size=(6, 1)), rng.permutation([0, 1, *rng.integers(0, 2, 4)])
        chunk = KernelPerceptron(gamma=1.0, fit_intercept=True).partial_fit(X, y, classes=[0, 1])
        loop = KernelPerceptron(gamma=1.0, fit_intercept=True)
        for i in range(6):
            loop.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])
        fitted = KernelPerceptron(gamma=1.0, fit_intercept=True, shuffle=False, max_iter=1).fit(X, y)
        assert chunk.n_mistakes_ == loop.n_mistakes_ == fitted.n_mistakes_
        voted = [KernelPerceptron(gamma=1.0, fit_intercept=True, hypothesis="voted").partial_fit(X, y, classes=[0, 1])]
        assert np.isfinite(voted[0].decision_function(X)).all()


@pytest.mark.parametrize("cls", [Projectron, PassiveAggressiveClassifier])
def test_on_float32_rows_a_loop_of_learn_one_is_a_chunk_also_if_kxx_is_not_1(cls):
    options = {"eta": 0.7} if cls is Projectron else {"budget": 20}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((60, 12)).astype(np.float32), rng.integers(0, 2, 60)
        chunk = cls(kernel=Polynomial(degree=2, gamma=0.3), **options).partial_fit(X, y, classes=[0, 1])
        loop = cls(kernel=Polynomial(degree=2, gamma=0.3), **options)
        loop.partial_fit(X[:1], y[:1], classes=[0, 1])
        for i in range(1, 60):
            loop.learn_one(X[i], y[i])
        assert (chunk.model_.scorer.coef == loop.model_.scorer.coef).all()


@pytest.mark.parametrize("store", [np.asarray, as_csr])
def test_rows_that_float32_cannot_hold_are_refused_once_learning_has_begun_in_it(store):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 3)), np.arange(20) % 2
    for big, such in ((1e39, "1e\\+39"), (1e-50, "1e-50")):
        model = KernelPerceptron(gamma=0.5).partial_fit(X.astype(np.float32), y, classes=[0, 1])
        wrong = store(np.array([[0.0, big, 0.0], [0.0, 0.0, big]]))
        before = model.decision_function(X)
        for call in (lambda m, W: m.partial_fit(W, [0, 1]), lambda m, W: m.predict(W)):
            with pytest.raises(ValuesError, match=f"the first rows were float32.*got rows of length {such}"):
                call(model, wrong)
        assert (model.decision_function(X) == before).all()


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_an_example_that_float32_cannot_hold_is_refused_once_learning_has_begun_in_it():
    X, y = np.random.default_rng(0).standard_normal((20, 3)).astype(np.float32), np.arange(20) % 2
    model = KernelPerceptron(gamma=0.5).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValuesError, match="the first rows were float32"):
        model.learn_one(np.array([0.0, 1e39, 0.0]), 1)


def test_kernel_values_that_float32_cannot_hold_are_refused_once_learning_has_begun_in_it():
    X, y = np.random.default_rng(0).standard_normal((20, 3)).astype(np.float32), np.arange(20) % 2
    large = np.float32(1e25) * X[:2]
    for kernel in (Linear(), Linear() * Linear(), Linear() ** 2, 1e30 * Linear() * Linear()):
        model = BudgetPerceptron(kernel=kernel, budget=5).partial_fit(X, y, classes=[0, 1])
        with pytest.raises(ValuesError, match="kernel values of float32 rows must"):
            model.partial_fit(large, [0, 1])


def test_a_learner_that_begins_with_large_float32_rows_learns_as_from_float64():
    X, y = np.random.default_rng(0).standard_normal((40, 3)).astype(np.float32), np.arange(40) % 2
    large = np.float32(1e25) * X
    narrow, wide = (
        BudgetPerceptron(kernel="linear", budget=9, random_state=0).fit(R, y) for R in (large, large.astype(np.float64))
    )
    assert narrow.n_mistakes_ == wide.n_mistakes_
    assert (narrow.decision_function(large) == wide.decision_function(large)).all()


@pytest.mark.parametrize("value", [1e39, 1e-50])
@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
def test_one_row_that_float32_cannot_hold_is_refused(value):
    estimator = KernelPerceptron(gamma=1.0).partial_fit(np.eye(2, dtype=np.float32), [0, 1])
    for call in (lambda: estimator.learn_one(np.full(2, value), 0), lambda: estimator.predict_one([value, value])):
        with pytest.raises(ValuesError, match="float32"):
            call()
    assert estimator.n_rounds_ == 2


@pytest.mark.parametrize("learn", ["learn_one", "partial_fit"])
def test_a_row_out_of_range_leaves_no_trace_when_it_has_left_the_slots(learn):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 3)).astype(np.float32), rng.integers(0, 2, 60)
    X[20] *= np.float32(1e13)  # ‖x‖² is above 2⁸⁰: products with it are computed in float64
    model = BudgetPerceptron(gamma=0.5, budget=5, forget="oldest").partial_fit(X[:9], y[:9], classes=[0, 1])
    y[20] = 1 - model.predict_one(X[20])  # it becomes a support vector
    for i in range(9, 60):
        model.learn_one(X[i], y[i]) if learn == "learn_one" else model.partial_fit(X[i : i + 1], y[i : i + 1])
        anew = copy.deepcopy(model)  # packs its support vectors anew
        for row in (prepare(model.kernel_, x[None]) for x in X[:9]):
            assert (model._running.learner.scores(row) == anew._running.learner.scores(row)).all()
        if i == 20:
            assert 20 in model.support_
    assert model.support_.min() > 20


@pytest.mark.parametrize(
    ("X", "least", "most"),
    [(np.zeros((0, 2)), math.inf, 0.0), (np.zeros((3, 2)), math.inf, 0.0), ([[0, 0], [3, 4], [1, 0]], 1.0, 25.0)],
)
def test_the_range_of_norms_leaves_out_zeros(X, least, most):
    assert VectorRows(np.array(X, dtype=np.float32)).norm_range() == (least, most)
