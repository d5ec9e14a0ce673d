"""What kernel ridge regression refuses instead of answering wrongly."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from onkel import KernelRidge, KernelRidgeClassifier, KernelRidgeCV, RecursiveKernelRidge
from onkel.errors import GramError, InputError, KindError, ParameterError, ValuesError
from onkel.features import NystroemMap
from onkel.kernels import RBF, Custom, Sigmoid
from onkel.solvers.ridge import available_memory

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
y = X[:, 0]


@pytest.mark.parametrize("solver", ["nystrom", "cg", "auto"])
@pytest.mark.parametrize("known", [True, False])
def test_centres_need_a_kernel_that_is_positive_semi_definite(solver, known):
    sigmoid = Sigmoid(gamma=1.0, coef0=-1.0)
    kernel = sigmoid if known else Custom(lambda a, b: sigmoid(a, b))
    reg = KernelRidge(alpha=0.1, kernel=kernel, solver=solver, n_centers=30, random_state=0)
    with pytest.raises(GramError, match="solver='eigen'"):
        reg.fit(X, y)
    assert np.abs(KernelRidge(alpha=0.1, kernel=kernel, solver="eigen").fit(X, y).predict(X) - y).max() < 0.2


def chunked(**params):
    reg = KernelRidge(solver="nystrom", n_centers=10, random_state=0, **{"kernel": "rbf", "gamma": 1.0} | params)
    return reg.partial_fit(X[:20], y[:20])


@pytest.mark.parametrize(
    "change",
    [{"kernel": "laplacian"}, {"gamma": 9.0}, {"kernel": RBF(gamma=2.0), "gamma": None}, {"fit_intercept": True}],
)
def test_a_kernel_or_an_intercept_cannot_change_between_chunks(change):
    reg = chunked()
    before = reg.predict(X)
    reg.set_params(**change)
    with pytest.raises(ParameterError, match="Start anew with fit"):
        reg.partial_fit(X[20:], y[20:])
    with pytest.raises(ParameterError, match="Start anew with fit"):
        reg.refit_alpha()
    assert (reg.predict(X) == before).all()


def test_a_gamma_that_depends_on_the_data_stays_that_of_the_first_chunk():
    reg = chunked(gamma="scale").partial_fit(X[20:], y[20:])
    assert reg.kernel_ == RBF(gamma=reg.gamma_)


@pytest.mark.parametrize("cls", [KernelRidge, KernelRidgeClassifier])
def test_chunks_cannot_go_on_from_an_exact_fit(cls):
    target = (y > 0).astype(int)
    reg = cls(kernel="rbf").fit(X, target)
    with pytest.raises(ParameterError, match="cannot go on from a fit with solver 'cholesky'"):
        reg.set_params(solver="nystrom").partial_fit(X, target)


@pytest.mark.parametrize("choice", ["uniform", "leverage", "kmeans"])
def test_rows_of_weight_0_are_no_centres(choice):
    weights = np.repeat([1.0, 0.0], 20)
    options = {"kernel": "rbf", "solver": "nystrom", "n_centers": 10, "center_choice": choice, "random_state": 0}
    reg = KernelRidge(**options).fit(X, y, weights)
    alone = KernelRidge(**options).fit(X[:20], y[:20])
    assert (reg.support_ < 20).all()
    np.testing.assert_allclose(reg.predict(X), alone.predict(X), rtol=1e-9)
    with pytest.raises(ParameterError, match="rows with a weight, 20; got 30"):
        KernelRidge(**options | {"n_centers": 30}).fit(X, y, weights)


@pytest.mark.parametrize("solver", ["nystrom", "cg"])
def test_a_solution_that_overflows_is_refused(solver):
    reg = KernelRidge(kernel="rbf", solver=solver, n_centers=5, random_state=0)
    with np.errstate(all="ignore"), pytest.raises(ValuesError, match="overflowed"):
        reg.fit(X, y, np.full(40, 1e308))
    assert not hasattr(reg, "_scorer")


def test_a_row_whose_kernel_values_overflow_is_refused_and_nothing_is_lost():
    reg = RecursiveKernelRidge(kernel="poly", gamma=1.0)
    for x in ([1.0], [2.0]):
        reg.learn_one(x, 1.0)
    before = reg.predict([[1.0]])
    for learn in (lambda: reg.learn_one([1e110], 1.0), lambda: reg.partial_fit([[1.5], [1e110]], [1.0, 1.0])):
        with np.errstate(all="ignore"), pytest.raises(ValuesError, match="finite"):
            learn()
        assert reg.predict([[1.0]]) == before
    assert np.isfinite(reg.learn_one([3.0], 1.0).predict([[1.0]])).all()


@pytest.mark.parametrize("text", ["", "MemTotal: 5 kB\n", "MemAvailable:\n", "nonsense\n"])
def test_a_system_that_does_not_tell_its_memory_is_no_error(text, tmp_path, monkeypatch):
    (tmp_path / "meminfo").write_text(text)
    monkeypatch.setattr(available_memory, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(available_memory, "CGROUP", tmp_path)
    found = available_memory.available_bytes()
    assert found is None or found > 0


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_conjugate_gradients_take_targets_of_any_size(size):
    reg = KernelRidge(alpha=0.1, kernel="rbf", solver="cg", n_centers=20, random_state=0)
    expected = reg.fit(X, y).predict(X)
    np.testing.assert_allclose(reg.fit(X, y * size).predict(X) / size, expected, rtol=1e-6)


@pytest.mark.parametrize("make", [lambda a: KernelRidge(1.0, solver="eigen", **a), lambda a: KernelRidgeCV([1.0], **a)])
def test_an_alpha_that_rounding_spoils_is_a_larger_one_and_reported(make):
    rows = rng.uniform(size=(200, 4)) * 3000
    with pytest.warns(ConvergenceWarning, match="solved with alpha = .* instead of 1, .* Use this alpha or a larger"):
        reg = make({"kernel": "poly", "gamma": 1.0}).fit(rows, rows[:, 0])
    assert reg.score(rows, rows[:, 0]) > 0.98


@pytest.mark.parametrize(
    "make", [lambda a: KernelRidge(1e-10, solver="eigen", **a), lambda a: KernelRidgeCV([1e-10], **a)]
)
def test_a_solution_of_which_rounding_leaves_few_digits_is_reported(make):
    rows = rng.uniform(size=(200, 1))
    with pytest.warns(ConvergenceWarning, match="relative residual of .* Use a larger alpha"):
        make({"kernel": "rbf", "gamma": 1e-2}).fit(rows, 1e3 * rng.normal(size=200))


@pytest.mark.parametrize("scoring", ["neg_max_error", lambda estimator, X, y: 0.0], ids=["name", "function"])
def test_a_scorer_that_takes_no_weights_is_refused_with_weights(scoring):
    reg = KernelRidgeCV(scoring=scoring).fit(X, y)
    reg.fit(X, y, np.full(40, 2.0))  # all alike
    with pytest.raises(ParameterError, match="takes no sample_weight"):
        reg.fit(X, y, np.arange(40.0))


@pytest.mark.parametrize("solver", ["nystrom", "cg"])
@pytest.mark.parametrize("n", [10, 20, 40])
def test_no_penalty_is_refused_if_centres_and_intercept_are_more_than_the_rows(solver, n):
    reg = KernelRidge(alpha=0.0, kernel="rbf", gamma=1.0, solver=solver, n_centers=n)
    assert (
        np.abs(reg.fit(X[:n], y[:n]).predict(X[:n]) - y[:n]).max() < 1e-6
    )  # without an intercept there is one solution
    reg.set_params(fit_intercept=True)
    with pytest.raises(GramError, match=f"{n} centres with alpha = 0 .* Choose alpha > 0"):
        reg.fit(X[:n], y[:n])


def test_no_penalty_is_refused_if_rows_are_so_alike_that_features_depend_on_each_other():
    few = np.repeat(X[:8], 5, axis=0)  # 40 rows, 8 of them different
    reg = KernelRidge(alpha=0.0, kernel="rbf", gamma=1.0, solver="nystrom", centers=X[8:20])
    with pytest.raises(GramError, match="12 centres with alpha = 0"):
        reg.fit(few, few[:, 0])


@pytest.mark.parametrize("cls", [KernelRidge, KernelRidgeClassifier])
def test_alpha_can_change_after_a_fit_for_which_auto_chose_centres(cls):
    target = (y > 0).astype(int)
    reg = cls(kernel="rbf", n_centers=15, random_state=0)
    assert not hasattr(reg, "refit_alpha")
    assert not hasattr(cls(kernel="rbf").fit(X, target), "refit_alpha")  # an exact fit keeps no sums
    changed = reg.fit(X, target).set_params(alpha=0.01).refit_alpha()
    anew = cls(0.01, kernel="rbf", n_centers=15, random_state=0).fit(X, target)
    np.testing.assert_allclose(changed.dual_coef_, anew.dual_coef_)
    assert changed.solver_ == "nystrom"


@pytest.mark.parametrize("cls", [KernelRidge, KernelRidgeClassifier])
@pytest.mark.parametrize("solver", ["cholesky", "eigen"])
@pytest.mark.parametrize("given", [{"n_centers": 5}, {"centers": X[:5]}], ids=["number", "rows"])
def test_centres_are_refused_by_the_exact_solvers(cls, solver, given):
    with pytest.raises(ParameterError, match=f"{next(iter(given))} must be None with solver='{solver}'"):
        cls(solver=solver, **given).fit(X, y > 0)


def test_an_unknown_kernel_is_answered_with_the_known_ones():
    with pytest.raises(ParameterError, match=r"'poly', 'polynomial', 'rbf', .*; got 'gauss'"):
        KernelRidge(kernel="gauss").fit(X, y)


REFUSED = {
    "no length": lambda: KernelRidge(solver="nystrom", n_centers=5).fit(np.zeros((9, 2)), np.ones(9)),
    "kmeans of objects": lambda: KernelRidge(
        kernel=Custom(lambda a, b: float(a == b), takes="objects", pairwise=True),
        solver="nystrom",
        n_centers=2,
        center_choice="kmeans",
    ).fit(["a", "b", "c"], np.ones(3)),
    "infinite sums": lambda: KernelRidge(solver="nystrom", kernel="poly", centers=X[:5]).fit(X * 1e200, y),
    "infinite chunk": lambda: KernelRidge(solver="nystrom", kernel="poly", centers=X[:5]).partial_fit(X * 1e200, y),
    "singular, cholesky": lambda: KernelRidgeClassifier(0.0).fit(X, y > 0),
    "singular, nystrom": lambda: KernelRidgeClassifier(0.0, kernel="rbf", n_centers=40).fit(X, y > 0),
    "singular, cg": lambda: KernelRidgeClassifier(0.0, kernel="rbf", n_centers=40, solver="cg").fit(X, y > 0),
    "singular, path": lambda: KernelRidgeCV([0.0]).fit(X, y),
    "no length, map": lambda: NystroemMap(3, kernel="linear").fit(np.zeros((9, 2))),
    "no length, leverage": lambda: NystroemMap(3, kernel="linear", center_choice="leverage").fit(np.zeros((9, 2))),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_errors_name_the_estimator_that_was_called_once(call):
    with pytest.raises(
        (InputError, KindError), match=r"^(KernelRidge|KernelRidgeClassifier|KernelRidgeCV|NystroemMap): "
    ) as told:
        call()
    message = str(told.value)
    assert not any(name in message for name in ("Centers:", "WhitenedSums:", "choose_centers:", "conjugate_gradient:"))
    assert message.count(message.split(":")[0] + ":") == 1


@pytest.mark.parametrize(
    ("reg", "name"),
    [
        (KernelRidge(keep_factor="no"), "keep_factor"),
        (KernelRidge(fit_intercept=1), "fit_intercept"),
        (KernelRidgeCV(gcv="yes"), "gcv"),
        (KernelRidgeCV(alpha_per_target=0), "alpha_per_target"),
    ],
)
def test_flags_are_true_or_false(reg, name):
    with pytest.raises(KindError, match=f"{type(reg).__name__}: {name} must be True or False"):
        reg.fit(X, y)


def test_generalized_cross_validation_is_there_after_a_fit_on_centres_only():
    reg = KernelRidge(0.1, kernel="rbf", gamma=0.5, n_centers=40, random_state=0).fit(X, y)
    expected = KernelRidgeCV([0.1], kernel="rbf", gamma=0.5, gcv=True).fit(X, y)
    np.testing.assert_allclose(reg.gcv_, -expected.best_score_)
    assert KernelRidge.from_state(reg.state()).gcv_ == reg.gcv_
    assert reg.fit(X, np.stack([y, y], 1)).gcv_.shape == (2,)
    assert not hasattr(reg.set_params(n_centers=None).fit(X, y), "gcv_")


@pytest.mark.parametrize(
    ("centers", "message"),
    [([[0, 1]], r"row indices of X such as \[0, 3\]"), ([0.0], "got float64"), ([0, 40], "from 0 to 39; got .* to 40")],
)
@pytest.mark.parametrize(
    "make",
    [
        lambda **a: KernelRidge(kernel="precomputed", **a).fit(X @ X.T, y),
        lambda **a: NystroemMap(kernel="precomputed", **a).fit(X @ X.T),
    ],
)
def test_ridge_and_map_refuse_the_same_centres_of_a_precomputed_kernel(make, centers, message):
    with pytest.raises((KindError, ParameterError), match=message):
        make(centers=centers)
