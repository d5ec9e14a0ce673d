"""Laws of kernel ridge regression: the closed form, weights, leave-one-out, the order of rows, centres and variance."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from reference.ridge_oracles import gcv, leave_one_out, ridge
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import make_scorer, mean_absolute_error

from onkel import KernelRidge, KernelRidgeClassifier, KernelRidgeCV
from onkel.errors import GramError
from onkel.kernels import RBF, Custom, Laplacian, Linear, Polynomial, prepare
from onkel.solvers.ridge import exact as solvers
from onkel.solvers.ridge.exact import EigenPath, RidgeProblem, solve_by_cholesky

KERNEL = RBF(gamma=0.4)
intercepts = pytest.mark.parametrize("fit_intercept", [False, True])
weighted = pytest.mark.parametrize("weights", [None, "given"])


def data(n=40, d=3, targets=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    Y = np.sin(X[:, :1] + np.arange(targets)) + 0.1 * rng.normal(size=(n, targets)) + 3.0
    return X, Y


def weights_of(weights, n):
    """Weights from 1/30 to 3, some of them 0; None for None."""
    return None if weights is None else np.arange(n) % 7 * np.linspace(0.03, 0.5, n)


# ---------------------------------------------------------------- the closed form


@pytest.mark.parametrize("solver", ["cholesky", "eigen", "nystrom", "cg"])
@pytest.mark.parametrize("alpha", [0.3, [0.01, 5.0]])
@intercepts
@weighted
def test_every_solver_gives_the_closed_form(solver, alpha, fit_intercept, weights):
    X, Y = data()
    T, s = data(seed=1)[0], weights_of(weights, len(X))
    coef, b = ridge(KERNEL(X), Y, alpha, s, fit_intercept)
    reg = KernelRidge(alpha, kernel=KERNEL, solver=solver, fit_intercept=fit_intercept, tol=1e-13).fit(X, Y, s)
    np.testing.assert_allclose(reg.predict(T), KERNEL(T, X) @ coef + b, rtol=1e-8, atol=1e-8)
    assert reg.solver_ == solver
    assert reg.residual_ < 1e-9
    if solver in ("cholesky", "eigen"):
        np.testing.assert_allclose(reg.dual_coef_, coef, rtol=1e-8, atol=1e-8)
        np.testing.assert_allclose(reg.intercept_, b, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "kernel", [Linear(), Polynomial(degree=2), Laplacian(gamma=0.3), KERNEL + 2.0 * Linear()], ids=repr
)
def test_any_kernel_on_dense_csr_and_precomputed_rows_gives_the_closed_form(kernel):
    X, Y = data(n=30)
    X[np.abs(X) < 0.3] = 0.0
    y, K = Y[:, 0], kernel(X)
    expected = K @ ridge(K, Y[:, :1], 0.5)[0][:, 0]
    for reg, rows in (
        (KernelRidge(0.5, kernel=kernel), X),
        (KernelRidge(0.5, kernel=kernel), sp.csr_array(X)),
        (KernelRidge(0.5, kernel="precomputed"), K),
        (KernelRidge(0.5, kernel="precomputed", solver="nystrom"), K),
        (KernelRidge(0.5, kernel=Custom(lambda a, b: kernel(a, b))), X),
    ):
        np.testing.assert_allclose(reg.fit(rows, y).predict(rows), expected, rtol=1e-8, atol=1e-8)


def test_several_blocks_of_the_matrix_give_what_one_does(monkeypatch):
    X, Y = data(n=67)
    s = np.linspace(0.1, 2.0, 67)
    whole = KernelRidge(0.1, kernel=KERNEL, fit_intercept=True).fit(X, Y, s)
    monkeypatch.setattr(solvers, "BLOCK", 16)
    monkeypatch.setattr(np, "empty", lambda shape, dtype=float, order="C": np.full(shape, 7, dtype, order))
    parts = {name: KernelRidge(0.1, kernel=KERNEL, fit_intercept=True, solver=name) for name in ("cholesky", "eigen")}
    for reg in parts.values():
        np.testing.assert_allclose(reg.fit(X, Y, s).dual_coef_, whole.dual_coef_, rtol=1e-9, atol=1e-9)
    assert max(parts["cholesky"].residual_, whole.residual_) < 1e-12
    assert parts["cholesky"].rcond_ == pytest.approx(whole.rcond_, rel=1e-9)
    A = np.sqrt(s)[:, None] * KERNEL(X) * np.sqrt(s) + 0.1 * np.eye(67)
    assert whole.rcond_ == pytest.approx(1 / np.linalg.cond(A, 1), rel=0.5)  # an estimate
    assert parts["eigen"].rcond_ == pytest.approx(1 / np.linalg.cond(A, 2), rel=1e-9)


def test_a_kernel_that_is_not_psd_is_solved_by_eigenvalues():
    X, Y = data(n=30)
    K = -KERNEL(X)
    expected = K @ ridge(K, Y, 0.37)[0]
    reg = KernelRidge(0.37, kernel="precomputed").fit(K, Y)
    np.testing.assert_allclose(reg.predict(K), expected, rtol=1e-7, atol=1e-7)
    assert (reg.solver_, reg.solver_reason_) == ("eigen", "the matrix is not positive semi-definite")


# ---------------------------------------------------------------- weights and order


@pytest.mark.parametrize("solver", ["cholesky", "eigen", "nystrom"])
@intercepts
def test_a_weight_is_a_row_that_comes_as_often(solver, fit_intercept):
    X, Y = data(n=25)
    counts = np.arange(25) % 4
    options = {"kernel": KERNEL, "fit_intercept": fit_intercept, "solver": solver}
    once = KernelRidge(0.2, **options).fit(X, Y, counts)
    often = KernelRidge(0.2, **options).fit(np.repeat(X, counts, axis=0), np.repeat(Y, counts, axis=0))
    T = data(seed=2)[0]
    np.testing.assert_allclose(once.predict(T), often.predict(T), rtol=1e-8, atol=1e-8)


@intercepts
@weighted
def test_the_order_of_rows_changes_nothing(fit_intercept, weights):
    X, Y = data()
    order, s = np.random.default_rng(3).permutation(len(X)), weights_of(weights, len(X))
    one = KernelRidgeCV([0.1, 1.0], kernel=KERNEL, fit_intercept=fit_intercept).fit(X, Y, s)
    two = KernelRidgeCV([0.1, 1.0], kernel=KERNEL, fit_intercept=fit_intercept).fit(
        X[order], Y[order], None if s is None else s[order]
    )
    np.testing.assert_allclose(two.dual_coef_, one.dual_coef_[order], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(two.loo_predictions_, one.loo_predictions_[order], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(two.scores_, one.scores_, rtol=1e-9)


def test_a_constant_added_to_y_goes_into_the_intercept():
    X, Y = data()
    one, two = (KernelRidge(0.2, kernel=KERNEL, fit_intercept=True).fit(X, Y + c) for c in (0.0, 1e3))
    np.testing.assert_allclose(two.intercept_, one.intercept_ + 1e3, rtol=1e-9)
    np.testing.assert_allclose(two.dual_coef_, one.dual_coef_, atol=1e-9)


# ---------------------------------------------------------------- leave-one-out


@intercepts
@weighted
def test_leave_one_out_is_as_many_refits(fit_intercept, weights):
    X, Y = data(n=24)
    s, alphas = weights_of(weights, 24), [1e-3, 0.1, 10.0]
    expected = np.array([leave_one_out(KERNEL(X), Y, a, s, fit_intercept) for a in alphas])
    counted = np.ones(24) if s is None else s
    errors = np.einsum("i,ait->at", counted, (expected - Y) ** 2) / counted.sum()
    for per_target in (False, True):
        reg = KernelRidgeCV(alphas, kernel=KERNEL, fit_intercept=fit_intercept, alpha_per_target=per_target)
        reg.fit(X, Y, s)
        found = -errors if per_target else -errors.mean(axis=1)
        np.testing.assert_allclose(reg.scores_, found, rtol=1e-8)
        best = found.argmax(axis=0)
        np.testing.assert_array_equal(reg.alpha_, np.array(alphas)[best])
        loo = expected[np.broadcast_to(best, 2), :, np.arange(2)].T
        np.testing.assert_allclose(reg.loo_predictions_, loo, rtol=1e-8, atol=1e-8)
        again = KernelRidge(reg.alpha_, kernel=KERNEL, fit_intercept=fit_intercept).fit(X, Y, s)
        np.testing.assert_allclose(reg.predict(X), again.predict(X), rtol=1e-9, atol=1e-9)


@intercepts
@weighted
def test_gcv_is_its_dense_definition(fit_intercept, weights):
    X, Y = data(n=24)
    present = np.arange(24) % 7 > 0 if weights else np.full(24, True)
    X, Y = X[present], Y[present]
    s = weights_of(weights, 24)[present] if weights else None
    alphas = np.array([1e-3, 0.1, 10.0])
    reg = KernelRidgeCV(alphas, kernel=KERNEL, fit_intercept=fit_intercept, gcv=True).fit(X, Y, s)
    expected = [gcv(KERNEL(X), Y, a, s, fit_intercept).mean() for a in alphas]
    np.testing.assert_allclose(reg.scores_, -np.array(expected), rtol=1e-8)
    problem = RidgeProblem(KERNEL, prepare(KERNEL, X), Y, np.ones(len(X)) if s is None else np.sqrt(s), fit_intercept)
    on_centers = KernelRidge(0.1, kernel=KERNEL, fit_intercept=fit_intercept, solver="nystrom").fit(X, Y, s)
    sums = on_centers._sums.solve(0.1)
    path = EigenPath(problem).path(alphas)
    np.testing.assert_allclose(sums.gcv, path.gcv[1], rtol=1e-6)
    np.testing.assert_allclose(sums.degrees_of_freedom, path.degrees_of_freedom[1], rtol=1e-8)


def test_another_score_is_that_of_the_leave_one_out_predictions():
    X, Y = data(n=24)
    y, alphas = Y[:, 0], [1e-3, 0.1, 10.0]
    expected = [mean_absolute_error(y, leave_one_out(KERNEL(X), Y[:, :1], a)[:, 0]) for a in alphas]
    for scoring in ("neg_mean_absolute_error", make_scorer(mean_absolute_error, greater_is_better=False)):
        reg = KernelRidgeCV(alphas, kernel=KERNEL, scoring=scoring).fit(X, y)
        np.testing.assert_allclose(reg.scores_, -np.array(expected), rtol=1e-9)
        assert reg.best_score_ == reg.scores_.max()
        assert reg.loo_predictions_.shape == (24,)


def test_another_score_is_weighted_by_the_sample_weights():
    X, Y = data(n=24)
    y, s, alphas = Y[:, 0], weights_of("given", 24), [1e-3, 0.1, 10.0]

    def scorer(estimator, X, y, sample_weight=None):
        return -mean_absolute_error(y, estimator.predict(X), sample_weight=sample_weight)

    heavy = s > 0
    loo = [leave_one_out(KERNEL(X[heavy]), Y[heavy, :1], a, s[heavy])[:, 0] for a in alphas]
    expected = [-mean_absolute_error(y[heavy], p, sample_weight=s[heavy]) for p in loo]
    for scoring in ("neg_mean_absolute_error", scorer):
        reg = KernelRidgeCV(alphas, kernel=KERNEL, scoring=scoring).fit(X, y, s)
        np.testing.assert_allclose(reg.scores_, expected, rtol=1e-9)


# ---------------------------------------------------------------- precision


@intercepts
@weighted
def test_float32_rows_are_solved_as_in_float64_by_one_or_two_corrections(fit_intercept, weights):
    X, Y = data(n=300)
    X, s = X.astype(np.float32), weights_of(weights, 300)
    single = KernelRidge(0.1, kernel=KERNEL, fit_intercept=fit_intercept).fit(X, Y, s)
    double = KernelRidge(0.1, kernel=KERNEL, fit_intercept=fit_intercept).fit(X.astype(np.float64), Y, s)
    assert 1 < single.n_iter_ <= 3
    assert double.n_iter_ == 1
    np.testing.assert_allclose(
        KERNEL(X.astype(np.float64)) @ single.dual_coef_ + single.intercept_,
        KERNEL(X.astype(np.float64)) @ double.dual_coef_ + double.intercept_,
        rtol=3e-7,
    )


def test_an_alpha_that_float32_cannot_resolve_is_solved_in_float64():
    X, Y = data(n=100)
    twice = np.concatenate([X, X]).astype(np.float32)  # K is singular
    reg = KernelRidge(1e-9, kernel=KERNEL).fit(twice, np.concatenate([Y, Y]))
    assert (reg.n_iter_, reg.jitter_) == (1, 0.0)
    expected = KernelRidge(1e-9, kernel=KERNEL).fit(twice.astype(np.float64), np.concatenate([Y, Y]))
    np.testing.assert_array_equal(reg.dual_coef_, expected.dual_coef_)


def test_a_float32_factor_that_fails_gives_way_to_float64(monkeypatch):
    X, Y = data(n=100)
    twice, targets = np.concatenate([X, X]).astype(np.float32), np.concatenate([Y, Y])
    monkeypatch.setattr(solvers, "SINGLE_ALPHA", 0.0)  # float32 is tried whatever alpha is
    reg = KernelRidge(1e-9, kernel=KERNEL).fit(twice, targets)
    assert (reg.n_iter_, reg.jitter_) == (1, 0.0)
    assert reg.residual_ < 1e-6


def test_corrections_that_do_not_converge_give_way_to_float64(monkeypatch):
    X, Y = data(n=100)
    monkeypatch.setattr(solvers, "SINGLE_RESIDUAL", 0.0)  # which no solution reaches
    reg = KernelRidge(0.1, kernel=KERNEL).fit(X.astype(np.float32), Y)
    double = KernelRidge(0.1, kernel=KERNEL).fit(X.astype(np.float32).astype(np.float64), Y)
    assert reg.n_iter_ == 1
    np.testing.assert_array_equal(reg.dual_coef_, double.dual_coef_)


@pytest.mark.parametrize("solver", ["cholesky", "nystrom", "cg"])
@pytest.mark.parametrize("alpha", [0.1, 1e-6])
def test_float32_rows_predict_as_float64_rows_with_many_centers_and_a_smooth_kernel(solver, alpha):
    # Centres that almost depend on each other: T⁻¹ multiplies rounding errors by up to 1e6, and with alpha = 1e-6 the
    # coefficients, about 1e7 in total, do so once more in the predictions.
    X, y = data(n=300, d=2, targets=1)
    X, kernel = X.astype(np.float32), RBF(gamma=0.2)
    T = data(n=100, d=2, seed=1)[0].astype(np.float32)
    centers = {} if solver == "cholesky" else {"n_centers": 300, "max_iter": 300}
    single, double = (
        KernelRidge(alpha, kernel=kernel, solver=solver, **centers).fit(X.astype(dtype), y).predict(T.astype(dtype))
        for dtype in (np.float32, np.float64)
    )
    np.testing.assert_allclose(single, double, atol=1e-4)


def test_float32_rows_stay_float32_in_the_model_unless_its_coefficients_cancel():
    X, y = data(n=300, d=2, targets=1)
    X = X.astype(np.float32)
    kinds = [KernelRidge(alpha, kernel=RBF(gamma=0.2)).fit(X, y).X_fit_.dtype for alpha in (0.1, 1e-6)]
    assert kinds == [np.float32, np.float64]


def test_an_alpha_below_rounding_becomes_the_larger_one_that_is_told():
    X, Y = data(n=60)
    rows, targets = np.concatenate([X] * 5), np.concatenate([Y] * 5)
    with pytest.warns(ConvergenceWarning, match=r"solved with alpha = .*e-1[0-9] instead of 1e-18"):
        reg = KernelRidge(1e-18, kernel=KERNEL, solver="cholesky").fit(rows, targets)
    assert 0 < reg.jitter_ < 1e-9
    told = KernelRidge(1e-18 + reg.jitter_, kernel=KERNEL, solver="cholesky").fit(rows, targets)
    np.testing.assert_array_equal(told.dual_coef_, reg.dual_coef_)


def singular_data():
    """60 rows, each of 12 five times, and a function of them without noise, for which the smallest alpha is best."""
    X = np.concatenate([data(n=12)[0]] * 5)
    return X, np.sin(X[:, 0])


def precise_leave_one_out(K, y, alpha):
    """Coefficients and predictions of each row by a fit to the others, in extended precision."""
    n = len(y)
    A = np.concatenate([K + alpha * np.eye(n), np.eye(n)], axis=1).astype(np.longdouble)
    for i in range(n):  # Gauss-Jordan; the matrix is positive definite, so that it needs no pivots
        A[i] /= A[i, i]
        A -= np.where(np.arange(n) == i, 0, A[:, i])[:, None] * A[i]
    G = A[:, n:]
    return (G @ y).astype(np.float64), (y - G @ y / G.diagonal()).astype(np.float64)


def test_eigenvalues_below_rounding_are_solved_with_the_larger_alpha_that_is_told():
    X, y = singular_data()
    with pytest.warns(ConvergenceWarning, match=r"solved with alpha = .*e-1[0-9] instead of 1e-18"):
        reg = KernelRidge(1e-18, kernel=KERNEL, solver="eigen").fit(X, y)
    assert 0 < reg.jitter_ < 1e-10
    coef, _ = precise_leave_one_out(KERNEL(X), y, 1e-18 + reg.jitter_)
    np.testing.assert_allclose(KERNEL(X) @ reg.dual_coef_, KERNEL(X) @ coef, atol=1e-3)


def test_of_several_alphas_only_those_below_rounding_become_larger():
    X, y = singular_data()
    with pytest.warns(ConvergenceWarning, match="instead of 1e-18"):
        both = KernelRidge([1e-18, 0.5], kernel=KERNEL, solver="cholesky").fit(X, np.stack([y, y], 1))
    np.testing.assert_array_equal(both._solved_alpha, [1e-18 + both.jitter_, 0.5])


def test_leave_one_out_of_an_alpha_below_rounding_is_that_of_the_alpha_that_was_used():
    X, y = singular_data()
    with pytest.warns(ConvergenceWarning, match="KernelRidgeCV: solved with alpha = .* instead of 1e-20"):
        reg = KernelRidgeCV([1e-20, 1e-18, 1e-3, 1.0], kernel=KERNEL).fit(X, y)
    assert reg.alpha_ == 1e-20
    assert reg.jitter_ > 0
    assert reg.scores_[0] == reg.scores_[1]  # both stand for the same alpha
    _, loo = precise_leave_one_out(KERNEL(X), y, 1e-20 + reg.jitter_)
    np.testing.assert_allclose(reg.loo_predictions_, loo, atol=1e-3)
    np.testing.assert_allclose(-reg.best_score_, np.square(y - loo).mean(), atol=1e-6)


def test_an_alpha_that_almost_cancels_an_eigenvalue_of_an_indefinite_kernel_is_refused():
    K = np.diag([2.0, 1.0, -0.5])
    with pytest.raises(GramError, match="another alpha"):
        KernelRidge(0.5 + 1e-16, kernel="precomputed", solver="eigen").fit(K, np.ones(3))


# ---------------------------------------------------------------- chunks and another alpha


@intercepts
def test_chunks_are_the_whole_and_alpha_changes_without_the_data(fit_intercept):
    X, Y = data(n=90)
    s = np.linspace(0.1, 2.0, 90)
    options = {"kernel": KERNEL, "solver": "nystrom", "centers": X[:15], "fit_intercept": fit_intercept}
    whole, chunks = KernelRidge(0.3, **options).fit(X, Y, s), KernelRidge(5.0, **options)
    for part in (slice(0, 10), slice(10, 70), slice(70, 90)):
        chunks.partial_fit(X[part], Y[part], s[part])
    chunks.set_params(alpha=0.3).refit_alpha()
    np.testing.assert_allclose(chunks.dual_coef_, whole.dual_coef_, rtol=1e-7, atol=1e-7)
    np.testing.assert_allclose(chunks.intercept_, whole.intercept_, rtol=1e-9)
    again = whole.set_params(alpha=7.0).refit_alpha().predict(X)
    np.testing.assert_allclose(again, KernelRidge(7.0, **options).fit(X, Y, s).predict(X), rtol=1e-10)


def test_a_classifier_learns_chunks_as_the_whole():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = np.array(["a", "b", "c"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5)]
    options = {"kernel": KERNEL, "solver": "nystrom", "centers": X[:30], "class_weight": {"a": 2.0}}
    whole, chunks = KernelRidgeClassifier(0.1, **options).fit(X, y), KernelRidgeClassifier(0.1, **options)
    chunks.partial_fit(X[:40], y[:40], classes=["c", "b", "a"])
    for part in (slice(40, 41), slice(41, 120)):
        chunks.partial_fit(X[part], y[part])
    np.testing.assert_allclose(chunks.decision_function(X), whole.decision_function(X), rtol=1e-8, atol=1e-8)
    np.testing.assert_array_equal(chunks.predict(X), whole.predict(X))


# ---------------------------------------------------------------- classes


@pytest.mark.parametrize("classes", [2, 3])
def test_a_classifier_is_the_regression_on_plus_and_minus_one(classes):
    X, _ = data(n=60)
    y = (np.arange(60) % classes) * 10
    balanced = np.where(y == 0, 3.0, 1.0)
    clf = KernelRidgeClassifier(0.3, kernel=KERNEL, class_weight={0: 3.0}).fit(X, y)
    Y = np.where(y[:, None] == np.unique(y), 1.0, -1.0)
    coef, b = ridge(KERNEL(X), Y, 0.3, balanced, True)
    F = KERNEL(X) @ coef + b
    np.testing.assert_allclose(clf.decision_function(X), F[:, 1] if classes == 2 else F, rtol=1e-8, atol=1e-8)
    np.testing.assert_array_equal(clf.predict(X), np.unique(y)[F.argmax(axis=1)])
    np.testing.assert_array_equal(clf.model_.predict(X), clf.predict(X))


# ---------------------------------------------------------------- variance


@intercepts
def test_the_variance_of_the_exact_solution_is_that_of_all_rows_as_centers(fit_intercept):
    X, Y = data()
    T, s = 2 * data(seed=4)[0], np.linspace(0.2, 2.0, 40)
    s[5] = 0.0
    options = {"kernel": KERNEL, "fit_intercept": fit_intercept}
    exact = KernelRidge(0.1, keep_factor=True, **options).fit(X, Y, s)
    centers = KernelRidge(0.1, solver="nystrom", **options).fit(X, Y, s)
    (mean, std), (_, other) = (reg.predict(T, return_std=True) for reg in (exact, centers))
    np.testing.assert_array_equal(mean, exact.predict(T))
    np.testing.assert_allclose(std, other, rtol=1e-7)
    assert (std > 0).all()


def test_without_noise_nothing_is_uncertain_at_the_training_points():
    X, Y = data(n=20)
    reg = KernelRidge(1e-12, kernel=KERNEL, keep_factor=True).fit(X, Y)
    mean, std = reg.predict(X, return_std=True)
    assert (std < 1e-4).all()
    np.testing.assert_allclose(mean, Y, rtol=1e-6)
    assert reg.predict(X + 100.0, return_std=True)[1] == pytest.approx(1.0)  # nothing is known far away


def test_a_per_target_alpha_shares_nothing_between_targets():
    X, Y = data(targets=3)
    alphas = np.array([0.1, 2.0, 0.1])
    problem = RidgeProblem(KERNEL, prepare(KERNEL, X), Y, np.ones(40), True)
    for solution in (solve_by_cholesky(problem, alphas), EigenPath(problem).solve(alphas)):
        for t, alpha in enumerate(alphas):
            alone = solve_by_cholesky(
                RidgeProblem(KERNEL, prepare(KERNEL, X), Y[:, [t]], np.ones(40), True), np.array([alpha])
            )
            np.testing.assert_allclose(solution.coef[:, [t]], alone.coef, rtol=1e-8, atol=1e-8)
            np.testing.assert_allclose(solution.intercept[t], alone.intercept[0], rtol=1e-9)
