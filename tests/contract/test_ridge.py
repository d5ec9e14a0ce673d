"""What kernel ridge regression promises beside the laws: choices that are told, refusals, states, and Ctrl-C."""

from __future__ import annotations

import json
import pickle

import matplotlib as mpl
import numpy as np
import pytest
from contract.registered import Stopping
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from onkel import KernelRidge, KernelRidgeClassifier, KernelRidgeCV
from onkel.errors import GramError, InputError, KindError, ParameterError, ShapeError
from onkel.estimators.ridge import solvers as ridge_solvers
from onkel.kernels import RBF, Custom, Sigmoid
from onkel.plot import AlphaPathDisplay
from onkel.solvers.ridge import available_memory
from onkel.states.state import State, from_json, from_state, to_json

mpl.use("Agg")

KERNEL = RBF(gamma=0.5)
RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 3))
Y = np.c_[np.sin(X[:, 0]), X[:, 1] * X[:, 2]]
y = Y[:, 0]
LABELS = np.array(["no", "yes", "perhaps"])[np.digitize(y, [-0.5, 0.5])]


# ---------------------------------------------------------------- the choice of a solver


def test_auto_says_what_it_chose_and_why(monkeypatch):
    def chosen(**params):
        reg = KernelRidge(**{"kernel": KERNEL, "random_state": 0} | params).fit(X, Y)
        return reg.solver_, reg.solver_reason_

    assert chosen() == ("cholesky", "50 rows are at most 20000, and their matrix fits into memory")
    assert chosen(solver="eigen") == ("eigen", "it was asked for")
    assert chosen(n_centers=10) == ("nystrom", "centres were asked for")
    assert chosen(centers=X[:7]) == ("nystrom", "centres were asked for")
    assert chosen(kernel=Sigmoid(gamma=0.1))[0] == "eigen"
    monkeypatch.setattr(ridge_solvers, "MANY_ALPHAS", 2)
    assert chosen(alpha=[1.0, 2.0]) == ("eigen", "there are 2 alphas, and 50 rows fit into memory")
    monkeypatch.setattr(ridge_solvers, "EXACT_ROWS", 49)
    assert chosen()[0] == "nystrom"
    assert chosen()[1] == "50 rows are more than the 49 that are solved exactly unless asked for"


def test_matrices_that_do_not_fit_into_memory_are_refused_before_they_are_made(monkeypatch):
    monkeypatch.setattr(available_memory, "available_bytes", lambda: 10_000)  # 50 × 50 numbers are 20 000 bytes
    monkeypatch.setattr("onkel.solvers.ridge.exact._matrix", None)  # which would make them
    message = (
        r"an exact solution \('{}'\) of 50 rows needs .* 50 × 50; .* available\. Use .*solver='nystrom', n_centers="
    )
    for solver in ("cholesky", "eigen"):
        with pytest.raises(ParameterError, match=message.format(solver)):
            KernelRidge(kernel=KERNEL, solver=solver).fit(X, y)
    with pytest.raises(ParameterError, match=message.format("eigen")):
        KernelRidgeCV(kernel=KERNEL).fit(X, y)
    monkeypatch.undo()
    monkeypatch.setattr(available_memory, "available_bytes", lambda: 10_000)
    reg = KernelRidge(kernel=KERNEL, random_state=0).fit(X, y)
    assert reg.solver_reason_ == "the 50 × 50 matrix of an exact solution does not fit into 0 MB of memory"
    monkeypatch.setattr(available_memory, "available_bytes", lambda: None)  # a system that does not say
    assert KernelRidge(kernel=KERNEL).fit(X, y).solver_ == "cholesky"


def test_the_memory_of_this_system_is_a_plausible_number():
    found = available_memory.available_bytes()
    assert found is None or 2**20 < found < 2**50


# ---------------------------------------------------------------- refusals


def test_alpha_zero_solves_what_has_a_solution_and_refuses_a_singular_matrix():
    for solver in ("cholesky", "eigen"):
        exact = KernelRidge(0.0, kernel=KERNEL, solver=solver)
        np.testing.assert_allclose(exact.fit(X, y).predict(X), y, atol=1e-8)
        before = pickle.dumps(exact)
        with pytest.raises(
            ParameterError, match=r"alpha must be > 0, since the Gram matrix of RBF.* is singular.*1e-8"
        ):
            exact.fit(np.r_[X, X], np.r_[y, y])
        assert pickle.dumps(exact) == before
    with pytest.raises(ParameterError, match="singular"):
        KernelRidge(0.0).fit(X, y)  # rank 3
    with pytest.raises(ParameterError, match="singular"):
        KernelRidgeCV([1.0, 0.0]).fit(X, y)
    with pytest.raises(GramError, match="alpha = 0"):
        KernelRidge(0.0, kernel=KERNEL, solver="nystrom", centers=X[:20]).fit(X[:5], y[:5])


def test_an_indefinite_matrix_is_refused_by_cholesky_with_the_way_out():
    K = -KERNEL(X)
    with pytest.raises(GramError, match=r"must be positive semi-definite for solver='cholesky'.*Use solver='eigen'"):
        KernelRidge(0.1, kernel="precomputed", solver="cholesky").fit(K, y)


@pytest.mark.parametrize("params", [{}, {"solver": "eigen"}, {"solver": "cg", "n_centers": 10, "tol": 1e-3}])
def test_a_standard_deviation_needs_what_was_not_kept(params):
    reg = KernelRidge(kernel=KERNEL, random_state=0, **params).fit(X, y)
    with pytest.raises(ParameterError, match=r"return_std needs the factor.*Fit with keep_factor=True and solver="):
        reg.predict(X, return_std=True)


def test_the_standard_deviation_is_of_the_alpha_of_the_fit_whatever_was_set_since():
    reg = clone(CHUNKED).fit(X, y)
    before = reg.predict(X, return_std=True)[1]
    np.testing.assert_array_equal(reg.set_params(alpha=9.0).predict(X, return_std=True)[1], before)
    assert (reg.refit_alpha().predict(X, return_std=True)[1] > before).all()


def test_keep_factor_needs_one_alpha_and_points():
    with pytest.raises(ParameterError, match=r"one alpha for all targets; got solver='cholesky' and 2 alpha"):
        KernelRidge([1.0, 2.0], kernel=KERNEL, keep_factor=True).fit(X, Y)
    reg = KernelRidge(kernel="precomputed", keep_factor=True).fit(KERNEL(X), y)
    with pytest.raises(KindError, match=r"return_std needs k\(x, x\), which a precomputed block does not hold"):
        reg.predict(KERNEL(X), return_std=True)


def test_a_kernel_that_is_not_finite_is_refused():
    with pytest.raises(InputError, match="finite"):
        KernelRidge(kernel=Custom(lambda a, b: np.full((len(a), len(b)), np.nan))).fit(X, y)


def test_leave_one_out_needs_two_rows():
    with pytest.raises(InputError, match="leave-one-out needs at least 2 rows"):
        KernelRidgeCV().fit(X[:1], y[:1])
    with pytest.raises(InputError, match="leave-one-out needs at least 2 rows"):
        KernelRidgeCV().fit(X, y, np.eye(50)[0])


# ---------------------------------------------------------------- chunks

CHUNKED = KernelRidge(0.1, kernel=KERNEL, solver="nystrom", n_centers=10, random_state=0)


def test_only_nystrom_learns_chunks():
    for solver in ("auto", "cholesky", "eigen", "cg"):
        for cls in (KernelRidge, KernelRidgeClassifier):
            assert not hasattr(cls(solver=solver), "partial_fit")
            assert not hasattr(cls(solver=solver), "refit_alpha")
    assert hasattr(CHUNKED, "partial_fit")


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda reg: reg.partial_fit(X[:, :2], Y), ValueError, "X has 2 features, but KernelRidge is expecting 3"),
        (lambda reg: reg.partial_fit(X, y), ShapeError, r"y must have shape \(n, 2\), as at first; got \(50,\)"),
        (lambda reg: reg.partial_fit(X, Y, -np.ones(50)), InputError, "sample_weight must be >= 0"),
        (lambda reg: reg.set_params(alpha=-1.0).refit_alpha(), ParameterError, "alpha must be a finite number >= 0"),
        (
            lambda reg: reg.set_params(fit_intercept=True).partial_fit(X, Y),
            ParameterError,
            "fit_intercept cannot change",
        ),
    ],
)
def test_a_chunk_that_is_refused_changes_nothing(call, error, message):
    reg = clone(CHUNKED).partial_fit(X[:20], Y[:20])
    before = reg.predict(X)
    with pytest.raises(error, match=message):
        call(reg)
    np.testing.assert_array_equal(reg.predict(X), before)
    reg.set_params(alpha=0.1, fit_intercept=False).partial_fit(X[20:], Y[20:])
    expected = clone(CHUNKED).partial_fit(X[:20], Y[:20]).partial_fit(X[20:], Y[20:])
    np.testing.assert_array_equal(reg.predict(X), expected.predict(X))


def test_a_classifier_refuses_classes_that_were_not_named():
    clf = KernelRidgeClassifier(kernel=KERNEL, solver="nystrom", n_centers=5, random_state=0)
    clf.partial_fit(X[:20], LABELS[:20], classes=["no", "perhaps", "yes"])
    with pytest.raises(InputError, match=r"classes known from the start.*; got 'maybe'"):
        clf.partial_fit(X[:2], ["no", "maybe"])
    with pytest.raises(InputError, match="classes must be those of the first call"):
        clf.partial_fit(X[:2], ["no", "yes"], classes=["no", "yes"])
    with pytest.raises(ParameterError, match="class_weight='balanced' needs all the data"):
        clf.set_params(class_weight="balanced").partial_fit(X[:2], ["no", "yes"])
    with pytest.raises(InputError, match=r"needs at least two classes; the data has 1 class: \['no'\]"):
        KernelRidgeClassifier().fit(X, ["no"] * 50)


# ---------------------------------------------------------------- interrupted


def test_ctrl_c_in_conjugate_gradients_keeps_the_solution_so_far():
    calls = Stopping()
    options = {"solver": "cg", "centers": X[:20], "tol": 1e-14, "max_iter": 9}
    kernel = Custom(calls)
    with pytest.warns(ConvergenceWarning, match="stopped after max_iter=9"):
        KernelRidge(0.1, kernel=kernel, **options).fit(X, y)
    calls.at, calls.calls = calls.calls - 2, 0  # near the end of as many calls again
    reg = KernelRidge(0.1, kernel=kernel, **options)
    with pytest.raises(KeyboardInterrupt):
        reg.fit(X, y)
    assert 1 <= reg.n_iter_ < 9
    assert np.corrcoef(reg.predict(X), y)[0, 1] > 0.9


@pytest.mark.parametrize("solver", ["cholesky", "eigen", "nystrom"])
def test_ctrl_c_in_another_solver_changes_nothing(solver):
    stopping = Stopping()
    reg = KernelRidge(0.1, kernel=Custom(stopping), solver=solver, n_centers=None if solver != "nystrom" else 10)
    reg.set_params(random_state=0).fit(X, y)
    before = reg.dual_coef_
    stopping.at, stopping.calls = 1, 0
    with pytest.raises(KeyboardInterrupt):
        reg.fit(2 * X, y)
    np.testing.assert_array_equal(reg.dual_coef_, before)


def test_ctrl_c_in_the_middle_of_a_chunk_changes_nothing(monkeypatch):
    monkeypatch.setattr("onkel.solvers.ridge.whitened_sums.TILE_ROWS", 8)
    stopping = Stopping()
    reg = KernelRidge(0.1, kernel=Custom(stopping), solver="nystrom", centers=X[:5]).partial_fit(X[:10], y[:10])
    taken = reg.state()
    stopping.at, stopping.calls = 3, 0  # after two tiles
    with pytest.raises(KeyboardInterrupt):
        reg.partial_fit(X[10:], y[10:])
    assert reg.state() == taken


# ---------------------------------------------------------------- states and models

FITTED = {
    "exact": lambda: KernelRidge([0.1, 1.0], kernel=KERNEL, fit_intercept=True).fit(X, Y),
    "factor": lambda: KernelRidge(0.1, kernel=KERNEL, fit_intercept=True, keep_factor=True).fit(X, y),
    "chunks": lambda: clone(CHUNKED).partial_fit(X, Y),
    "cg": lambda: KernelRidge(kernel="rbf", solver="cg", centers=X[:10].tolist(), tol=1e-3).fit(X, y),
    "cv": lambda: KernelRidgeCV(np.logspace(-2, 1, 4), kernel=KERNEL, alpha_per_target=True).fit(X, Y),
    "classes": lambda: KernelRidgeClassifier(kernel=KERNEL, class_weight={"no": 2.0}).fit(X, LABELS),
    "not fitted": lambda: KernelRidge(alpha=(1.0, 2.0), solver="nystrom"),
}


@pytest.mark.parametrize("made", list(FITTED))
def test_an_estimator_comes_back_from_its_state(made):
    first = FITTED[made]()
    taken = first.state()
    settings = from_json(json.loads(json.dumps(to_json(taken.settings))))
    read = State(taken.kind, taken.version, settings, taken.arrays)
    for again in (
        type(first).from_state(taken),
        from_state(read),
        pickle.loads(pickle.dumps(first)),
    ):
        assert type(again) is type(first)
        assert {name: str(v) for name, v in again.get_params().items()} == {
            name: str(v) for name, v in first.get_params().items()
        }
        assert again.state() == taken
        if made == "not fitted":
            continue
        np.testing.assert_array_equal(again.predict(X), first.predict(X))
        np.testing.assert_array_equal(again.model_.predict(X), first.predict(X))
        if made in ("factor", "chunks"):
            one, other = (e.predict(X, return_std=True)[1] for e in (again, first))
            np.testing.assert_allclose(one, other, rtol=1e-12)
        if made == "chunks":
            np.testing.assert_array_equal(
                again.partial_fit(X, Y).predict(X), FITTED[made]().partial_fit(X, Y).predict(X)
            )


def test_a_model_of_several_targets_predicts_a_row_of_numbers():
    reg = KernelRidge(0.1, kernel=KERNEL, fit_intercept=True).fit(X, Y)
    assert reg.model_.predict(X).shape == (50, 2)
    np.testing.assert_array_equal(reg.model_.predict_one(X[3]), reg.predict(X[3:4])[0])
    terms = reg.model_.explain(X[3], 1)
    assert sum(t.contribution for t in terms) + reg.intercept_[1] == pytest.approx(reg.predict(X[3:4])[0, 1])
    column = KernelRidge(0.1, kernel=KERNEL, fit_intercept=True).fit(X, Y[:, :1])
    assert (column.predict(X).shape, column.dual_coef_.shape) == ((50, 1), (50, 1))


def test_dicts_are_learned_from_and_chunks_of_them():
    dicts = [{"a": float(a), "b": float(b)} for a, b in X[:, :2]]
    by_dict, by_row = (KernelRidge(0.1, kernel=KERNEL).fit(rows, y) for rows in (dicts, X[:, :2]))
    np.testing.assert_allclose(by_dict.predict(dicts), by_row.predict(X[:, :2]))
    assert by_dict.model_.predict_one(dicts[3]) == pytest.approx(by_row.predict(X[3:4, :2])[0])
    by_dict, by_row = (
        clone(CHUNKED).partial_fit(rows[:20], y[:20]).partial_fit(rows[20:], y[20:]) for rows in (dicts, X[:, :2])
    )
    np.testing.assert_allclose(by_dict.predict(dicts), by_row.predict(X[:, :2]))


# ---------------------------------------------------------------- the picture


def test_the_path_of_alphas_is_drawn_with_the_one_that_was_chosen():
    import matplotlib.pyplot as plt

    alphas = [1.0, 0.0, 0.01]
    reg = KernelRidgeCV(alphas, kernel=KERNEL, alpha_per_target=True).fit(X, Y)
    shown = AlphaPathDisplay.from_estimator(reg)
    assert [line.get_xdata().tolist() for line in shown.lines_] == [sorted(alphas)] * 2
    for t, (line, ring) in enumerate(zip(shown.lines_, shown.rings_, strict=True)):
        np.testing.assert_array_equal(line.get_ydata(), -reg.scores_[[1, 2, 0], t])
        assert ring.get_xdata()[0] == reg.alpha_[t]
        assert ring.get_ydata()[0] == line.get_ydata().min() == -reg.best_score_[t]
    assert [text.get_text() for text in shown.ax_.get_legend().get_texts()] == ["target 0", "target 1"]
    assert shown.ax_.get_xscale() == "symlog"
    one = AlphaPathDisplay.from_estimator(KernelRidgeCV([0.1, 1.0], scoring="r2").fit(X, y), name="mine")
    assert (one.ax_.get_ylabel(), one.ax_.get_xscale(), one.ax_.get_legend()) == ("leave-one-out r2", "log", None)
    assert one.ax_.get_title().splitlines()[0] == "mine"
    gcv = AlphaPathDisplay.from_estimator(KernelRidgeCV([0.1, 1.0], gcv=True).fit(X, y))
    assert gcv.ax_.get_ylabel() == "generalized cross-validation"
    with pytest.raises(KindError, match="estimator must be a fitted KernelRidgeCV"):
        AlphaPathDisplay.from_estimator(KernelRidgeCV())
    plt.close("all")


def test_verbose_says_which_solver_was_chosen(capsys):
    for params in ({}, {"solver": "nystrom"}, {"solver": "cg"}):
        KernelRidge(kernel=KERNEL, verbose=1, **params).fit(X, y)
    said = capsys.readouterr().err
    assert "relative residual" in said
    assert "centres" in said
