"""Laws of every support vector machine, checked from its dual_coef_, support_ and intercept_ alone."""

from __future__ import annotations

import signal
import threading
import tracemalloc
import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reference import svm_oracles as twin
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, make_moons
from sklearn.exceptions import ConvergenceWarning
from strategies import as_csr, draw_points, kernels, seeds

from onkel import SVC, SVR, OneClassSVM
from onkel._core import threads
from onkel.kernels import RBF, Custom, Kernel, Linear, Matern, Polynomial
from onkel.solvers.svm import dual

TOL = 1e-6
penalties = st.sampled_from([1e-2, 0.5, 1.0, 7.0, 300.0])
valid = kernels.filter(lambda kernel: kernel.is_psd is True)
sizes = st.integers(4, 40)


def draw(kernel: Kernel, n: int, seed: int, classes: int = 2):
    """Points, labels of which every class has one, numbers and weights; kernel values of a sane size."""
    rng = np.random.default_rng(seed)
    X = draw_points(kernel, n, 1 + seed % 5, seed)
    y = np.where(rng.random(n) < 0.2, rng.integers(0, classes, n), np.arange(n) % classes)
    y[:classes] = np.arange(classes)
    assume(kernel.diag(X).max() < 1e3)
    return X, y, X @ rng.standard_normal(X.shape[1]) + 0.3 * rng.standard_normal(n), rng.choice([0.3, 1.0, 2.0], n)


def machines(machine, kernel: Kernel, X, y, C):
    """Each machine of a fitted estimator beside the problem that it was to solve, in float64."""
    K = kernel(twin.dense(X).astype(np.float64))
    C = np.broadcast_to(C, len(K))
    if isinstance(machine, SVC):
        return [
            (twin.classification(K[np.ix_(one.rows, one.rows)], one.s, C[one.rows]), one)
            for one in twin.pairs(machine, y)
        ]
    if isinstance(machine, SVR):
        return [(twin.regression(K, y, C, machine.epsilon), twin.single(machine, len(K)))]
    return [(twin.one_class(K, machine.nu, C), twin.single(machine, len(K)))]


def assert_solved(machine, found, tol: float = TOL) -> None:
    """Feasible, within tol of every condition of Karush, Kuhn and Tucker, and the objective as it is told."""
    objectives, gaps = np.ravel(machine.objective_), np.ravel(machine.dual_gap_)
    assert len(objectives) == len(gaps) == len(found)
    for (problem, one), objective, gap in zip(found, objectives, gaps, strict=True):
        scale = np.abs(problem.Q).max() * one.a.sum()  # what rounding is relative to
        slack = 1e-9 * (1 + scale)
        assert problem.infeasible(one.a) <= 1e-9 * max(1.0, problem.C.max())
        assert problem.violation(one.a) <= tol + slack
        assert problem.worst(one.a, one.b) <= tol + slack
        assert objective == pytest.approx(problem.objective(one.a), rel=1e-8, abs=slack * problem.C.max())
        assert 0 <= gap <= problem.C.sum() * (tol + slack)
        assert gap == pytest.approx(problem.gap(one.a, one.b), abs=problem.C.sum() * slack)


def assert_same_answer(first, second, shift: float = 1.0) -> None:
    """Two answers to one problem (K, C), or to (K, C) and (shift K, C / shift): as near as their gaps promise.

    Both are made for the rows of the first; |b − b'| follows wherever a row is strictly inside both boxes.
    """
    (problem, one), (other_problem, other) = first, second
    far = (
        np.sqrt(2 * max(problem.gap(one.a, one.b), 0)),
        np.sqrt(2 * max(other_problem.gap(other.a, other.b), 0) * shift),
    )
    norms = np.sqrt(np.diag(problem.Q))
    f, g = (p.s * (p.gradient(a.a) - p.p) for p, a in ((problem, one), (other_problem, other)))  # without b
    allowed = sum(far) * norms + 1e-9 * (1 + np.abs(f))
    assert (np.abs(f - g) <= allowed).all()
    objectives = problem.objective(one.a), other_problem.objective(other.a) * shift
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-9, abs=sum(far) ** 2 + 1e-12)
    inside = [(a.a > 1e-6 * p.C) & (a.a < (1 - 1e-6) * p.C) for p, a in ((problem, one), (other_problem, other))]
    both = inside[0] & inside[1]
    if both.any():
        assert abs(one.b - other.b) <= 2 * TOL + allowed[both].min()


# ---------------------------------------------------------------- the answer


@given(valid, sizes, seeds, penalties, st.integers(2, 4), st.booleans())
def test_svc_is_solved_within_tol(kernel, n, seed, C, classes, weighted):
    X, y, _, weights = draw(kernel, n, seed, classes)
    machine = SVC(kernel=kernel, C=C, tol=TOL).fit(X, y, weights if weighted else None)
    assert_solved(machine, machines(machine, kernel, X, y, C * weights if weighted else C))


@given(valid, sizes, seeds, penalties, st.sampled_from([0.0, 0.1, 5.0]), st.booleans())
def test_svr_is_solved_within_tol(kernel, n, seed, C, epsilon, weighted):
    X, _, y, weights = draw(kernel, n, seed)
    machine = SVR(kernel=kernel, C=C, epsilon=epsilon, tol=TOL).fit(X, y, weights if weighted else None)
    assert_solved(machine, machines(machine, kernel, X, y, C * weights if weighted else C))


@given(valid, sizes, seeds, st.sampled_from([0.02, 0.3, 0.5, 1.0]), st.booleans())
def test_one_class_is_solved_within_tol(kernel, n, seed, nu, weighted):
    X, *_, weights = draw(kernel, n, seed)
    machine = OneClassSVM(kernel=kernel, nu=nu, tol=TOL).fit(X, sample_weight=weights if weighted else None)
    assert_solved(machine, machines(machine, kernel, X, None, weights if weighted else 1.0))
    assert machine.offset_ == -machine.intercept_


@settings(max_examples=25)
@given(valid, st.integers(4, 16), seeds, st.sampled_from([0.5, 7.0]))
def test_the_answers_are_those_of_the_slow_twin(kernel, n, seed, C):
    X, labels, numbers, weights = draw(kernel, n, seed)
    for machine, y, bounds in (
        (SVC(kernel=kernel, C=C, tol=TOL).fit(X, labels, weights), labels, C * weights),
        (SVR(kernel=kernel, C=C, tol=TOL).fit(X, numbers, weights), numbers, C * weights),
        (OneClassSVM(kernel=kernel, nu=0.4, tol=TOL).fit(X, None, weights), None, weights),
    ):
        ((problem, one),) = machines(machine, kernel, X, y, bounds)
        best = problem.objective(twin.smo(problem))
        assert problem.objective(one.a) == pytest.approx(best, rel=1e-9, abs=TOL * problem.C.sum())


@given(valid, sizes, seeds, penalties)
def test_a_row_of_weight_two_is_the_row_twice_and_of_weight_zero_none(kernel, n, seed, C):
    X, y, _, _ = draw(kernel, n, seed)
    counts = np.random.default_rng(seed).integers(0, 3, n)
    counts[:2] = 1  # a row of each class
    twice = np.repeat(np.arange(n), counts)
    weighted = SVC(kernel=kernel, C=C, tol=TOL).fit(X, y, counts)
    repeated = SVC(kernel=kernel, C=C, tol=TOL).fit(X[twice], y[twice])
    ((problem, one),) = machines(weighted, kernel, X, y, C * counts)
    ((_, other),) = machines(repeated, kernel, X[twice], y[twice], C)
    summed = np.bincount(twice, weights=other.a, minlength=n)
    assert_same_answer((problem, one), (problem, other._replace(rows=one.rows, s=one.s, a=summed)))
    assert not np.isin(weighted.support_, np.flatnonzero(counts == 0)).any()


@given(valid, sizes, seeds, penalties)
def test_the_order_of_the_rows_does_not_matter(kernel, n, seed, C):
    X, y, _, weights = draw(kernel, n, seed)
    order = np.random.default_rng(seed).permutation(n)
    straight = SVC(kernel=kernel, C=C, tol=TOL).fit(X, y, weights)
    permuted = SVC(kernel=kernel, C=C, tol=TOL).fit(X[order], y[order], weights[order])
    ((problem, one),) = machines(straight, kernel, X, y, C * weights)
    ((_, other),) = machines(permuted, kernel, X[order], y[order], (C * weights)[order])
    assert_same_answer((problem, one), (problem, other._replace(s=one.s, a=other.a[np.argsort(order)])))


@given(valid, sizes, seeds, penalties, st.sampled_from([0.125, 3.0, 64.0]))
def test_a_kernel_times_c_with_a_cth_of_the_penalty_is_the_same_machine(kernel, n, seed, C, c):
    X, y, _, _ = draw(kernel, n, seed)
    plain = SVC(kernel=kernel, C=C, tol=TOL).fit(X, y)
    scaled = SVC(kernel=c * kernel, C=C / c, tol=TOL).fit(X, y)
    ((first,), (second,)) = machines(plain, kernel, X, y, C), machines(scaled, c * kernel, X, y, C / c)
    assert_same_answer(first, second, shift=c)


@given(seeds, st.integers(2, 30), st.sampled_from([1e4, 1e8, np.inf]))
def test_a_large_penalty_on_separable_rows_gives_the_widest_margin(seed, n, C):
    """No slack: every margin is at least 1, some of both classes exactly, and ‖w‖² = Σα = −2 × the objective."""
    rng = np.random.default_rng(seed)
    X = np.concatenate([rng.uniform(0.5, 3, (n, 2)), rng.uniform(-3, -0.5, (n, 2))])
    y = np.repeat([1, -1], n)
    machine = SVC(kernel="linear", C=C, tol=TOL).fit(X, y)
    margins = y * machine.decision_function(X)
    assert margins.min() == pytest.approx(1, abs=3 * TOL)
    assert [margins[y == label].min() for label in (-1, 1)] == pytest.approx([1, 1], abs=3 * TOL)
    square = float(np.sum(machine.coef_**2))
    assert np.abs(machine.dual_coef_).sum() == pytest.approx(square, rel=1e-4)
    assert machine.objective_[0] == pytest.approx(-square / 2, rel=1e-4)


# ---------------------------------------------------------------- the ways in


def moons(dtype: type = np.float64):
    X, y = make_moons(300, noise=0.25, random_state=0)
    return X.astype(dtype), y


def test_float32_is_kept_and_nothing_is_copied_to_float64():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 40_000), dtype=np.float32)  # 19 MB; its kernel values are nothing beside it
    y = np.arange(120) % 2
    SVC(gamma=1e-5).fit(X[:, :100], y)
    for machine in (SVC(gamma=1e-5), SVR(gamma=1e-5), OneClassSVM(gamma=1e-5)):
        tracemalloc.start()
        machine.fit(X, y)
        machine.predict(X)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert machine.support_vectors_.dtype == np.float32
        # in float32, the support vectors and what products are made of; one X in float64 would be two more
        assert peak < 3.5 * X.nbytes


@pytest.mark.parametrize("shrinking", [False, True])
@pytest.mark.parametrize("cache_size", [0.02, 0.5, 200])  # working sets of at least 42 and 242 variables, and of all
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("estimator", [SVC, SVR, OneClassSVM])
def test_neither_the_cache_nor_shrinking_changes_the_answer(estimator, dtype, cache_size, shrinking):
    X, y = moons(dtype)
    kernel, C = RBF(gamma=2.0), 1.0 if estimator is OneClassSVM else 20.0
    options = {} if estimator is OneClassSVM else {"C": C}
    machine = estimator(kernel=kernel, tol=1e-4, cache_size=cache_size, shrinking=shrinking, **options).fit(X, y)
    ((problem, one),) = machines(machine, kernel, X, y, C)
    rounding = 4 * np.finfo(dtype).eps * one.a.sum()
    assert problem.infeasible(one.a) <= 1e-9 * C
    assert problem.violation(one.a) <= 1e-4 + rounding
    assert problem.worst(one.a, one.b) <= 1e-4 + rounding
    assert machine.objective_ == pytest.approx(problem.objective(one.a), rel=1e-8 if dtype is np.float64 else 1e-5)


@pytest.mark.parametrize("C", [1.0, 300.0])
def test_float32_rows_are_solved_within_tol_of_their_float64_problem(C):
    X, y = moons(np.float32)
    machine = SVC(kernel=RBF(gamma=2.0), C=C, tol=1e-3).fit(X, y)
    ((problem, one),) = machines(machine, RBF(gamma=2.0), X, y, C)
    rounding = 4 * np.finfo(np.float32).eps * one.a.sum()  # of kernel values in float32, at most 1
    assert problem.violation(one.a) <= 1e-3 + rounding
    assert machine.decision_function(X).dtype == np.float64


@pytest.mark.parametrize("kernel", [RBF(gamma=0.3), Linear(), Polynomial(degree=2, gamma=0.5, coef0=1.0)], ids=repr)
@pytest.mark.parametrize("estimator", [SVC, SVR, OneClassSVM])
def test_every_way_to_give_a_kernel_gives_the_same_machine(estimator, kernel):
    X, y = load_iris(return_X_y=True)
    X = X - X.mean(axis=0)
    named = {"RBF": "rbf", "Linear": "linear", "Polynomial": "poly"}[type(kernel).__name__]
    options = {"gamma": getattr(kernel, "gamma", 1.0), "degree": getattr(kernel, "degree", 3)}
    straight = estimator(kernel=kernel, tol=TOL).fit(X, y)
    expected = scores(straight, X[:40])
    ways = {
        "name": (estimator(kernel=named, coef0=getattr(kernel, "coef0", 0.0), **options), X, X[:40]),
        "function": (estimator(kernel=lambda a, b: kernel(a, b)), X, X[:40]),
        "Custom": (estimator(kernel=Custom(lambda a, b: kernel(a, b))), X, X[:40]),
        "precomputed": (estimator(kernel="precomputed"), kernel(X), kernel(X[:40], X)),
        "CSR": (estimator(kernel=kernel), as_csr(X), as_csr(X[:40])),
        "CSR, int64": (estimator(kernel=kernel), as_csr(X, np.int64), as_csr(X[:40], np.int64)),
        "CSR, then dense": (estimator(kernel=kernel), as_csr(X), X[:40]),
    }
    for way, (machine, A, T) in ways.items():
        machine.set_params(tol=TOL).fit(A, y)
        assert np.ravel(machine.objective_) == pytest.approx(np.ravel(straight.objective_), rel=1e-6), way
        np.testing.assert_allclose(scores(machine, T), expected, atol=2e-4, err_msg=way)
        assert np.isin(machine.support_, straight.support_).mean() > 0.95


def scores(machine, X):
    """Of SVC and OneClassSVM the decision values, of SVR the predictions."""
    return getattr(machine, "decision_function", machine.predict)(X)


@pytest.mark.parametrize(
    "kernel",
    [RBF(gamma=2.0) + 0.5 * Linear(), RBF(gamma=1.0) * Polynomial(degree=2), Matern(nu=1.5).on([0]) + 1.0],
    ids=repr,
)
def test_a_composition_is_solved_like_any_kernel(kernel):
    X, y = moons()
    machine = SVC(kernel=kernel, C=5.0, tol=TOL).fit(X, y)
    assert_solved(machine, machines(machine, kernel, X, y, 5.0))
    assert machine.score(X, y) > 0.7
    again = clone(machine).set_params(kernel=kernel).fit(X, y)
    np.testing.assert_array_equal(again.dual_coef_, machine.dual_coef_)


@pytest.mark.parametrize("estimator", [SVC, SVR, OneClassSVM])
def test_to_predict_a_function_is_asked_for_the_support_vectors_only(estimator):
    X, y = moons()
    asked = []

    def linear(A, B):
        asked.append((len(A), len(B)))
        return A @ B.T

    machine = estimator(kernel=linear).fit(X, y)
    m = len(machine.support_)
    assert 0 < m < len(X)
    asked.clear()
    machine.predict(X[:70])
    assert sum(rows * columns for rows, columns in asked) == 70 * m


@pytest.mark.parametrize("container", ["dense", "CSR"])
def test_rows_that_come_are_neither_changed_nor_kept(container):
    X, y = moons()
    X = X if container == "dense" else as_csr(X)
    before = X.copy()
    machine = SVC(C=3.0).fit(X, y)
    expected = machine.decision_function(X)
    assert (twin.dense(X) == twin.dense(before)).all()
    (X if container == "dense" else X.data)[...] = 7.0
    np.testing.assert_array_equal(machine.decision_function(before), expected)


def test_predict_is_the_sign_of_the_votes_and_the_votes_are_the_pairs():
    X, y = load_iris(return_X_y=True)
    machine = SVC(C=0.5, decision_function_shape="ovo").fit(X, y)
    votes = np.zeros((len(X), 3))
    for column, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        positive = machine.decision_function(X)[:, column] > 0
        votes[np.arange(len(X)), np.where(positive, i, j)] += 1
    np.testing.assert_array_equal(machine.predict(X), machine.classes_[votes.argmax(axis=1)])


# ---------------------------------------------------------------- stopped early


def hard(n: int = 600):
    """Labels that nothing explains, and a penalty that asks to learn them by heart: many steps."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, 3)), rng.integers(0, 2, n), rng.standard_normal(n)


def assert_usable(machine, kernel, X, y, C) -> None:
    for problem, one in machines(machine, kernel, X, y, C):
        assert problem.infeasible(one.a) <= 1e-9 * problem.C.max()
        assert problem.objective(one.a) <= problem.objective(problem.start)
    assert (np.ravel(machine.dual_gap_) > 0).all()
    assert np.isfinite(scores(machine, X)).all()
    assert len(machine.predict(X)) == len(X)


@pytest.mark.parametrize("limit", [{"max_iter": 20}, {"time_limit": 1e-3}], ids=str)
@pytest.mark.parametrize("estimator", [SVC, SVR, OneClassSVM])
def test_a_limit_gives_a_usable_model_and_a_warning(estimator, limit):
    X, labels, numbers = hard(2000 if "time_limit" in limit else 600)
    kernel, y = RBF(gamma=0.5), numbers if estimator is SVR else labels
    options = {"nu": 0.5} if estimator is OneClassSVM else {"C": 1e4}
    machine = estimator(kernel=kernel, tol=1e-9, **limit, **options)
    with pytest.warns(ConvergenceWarning, match=next(iter(limit))):
        machine.fit(X, y)
    assert_usable(machine, kernel, X, y, options.get("C", 1.0))
    if "max_iter" in limit:
        assert np.max(machine.n_iter_) == 20


def test_a_longer_way_leads_nearer():
    X, y, _ = hard()
    objectives = []
    for steps in (10, 100, 1000, 10_000):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            objectives.append(SVC(gamma=0.5, C=1e3, max_iter=steps).fit(X, y).objective_[0])
    assert objectives == sorted(objectives, reverse=True)
    assert objectives[-1] < objectives[0]


# ---------------------------------------------------------------- warm starts


def steps_of(machine) -> int:
    return int(np.sum(machine.n_iter_))


@pytest.mark.parametrize("rows", [500, 569])
@pytest.mark.parametrize("C", [2.0, 3.0, 1.5])
def test_a_warm_start_takes_fewer_steps_to_the_same_machine(rows, C):
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    kernel = RBF(gamma=0.02)
    warm = SVC(kernel=kernel, C=2.0, tol=1e-4, warm_start=True).fit(X[:rows], y[:rows])
    warm.set_params(C=C).fit(X, y)
    cold = SVC(kernel=kernel, C=C, tol=1e-4).fit(X, y)
    ((first,), (second,)) = machines(warm, kernel, X, y, C), machines(cold, kernel, X, y, C)
    assert_solved(warm, [first], 1e-4)
    assert_same_answer_at(first, second, 1e-4)
    assert steps_of(warm) < steps_of(cold)
    if (rows, C) == (569, 2.0):
        assert steps_of(warm) <= 1


def assert_same_answer_at(first, second, tol: float) -> None:
    objectives = [problem.objective(one.a) for problem, one in (first, second)]
    assert objectives[0] == pytest.approx(objectives[1], abs=tol * first[0].C.sum())


@given(valid, sizes, seeds, penalties, penalties, st.sampled_from([0.5, 1.0, 2.0]), st.integers(2, 4))
def test_a_warm_start_never_changes_the_answer(kernel, n, seed, before, C, share, classes):
    """Whatever was fitted before: other labels, other classes, other weights, fewer rows or more, another penalty."""
    X, y, _, weights = draw(kernel, n, seed, classes)
    others = np.concatenate([X, X[::-1]])[: max(4, int(share * n))]
    machine = SVC(kernel=kernel, C=before, tol=TOL, warm_start=True)
    machine.fit(others, np.arange(len(others)) % (2 + seed % 3))
    machine.set_params(C=C).fit(X, y, weights)
    assert_solved(machine, machines(machine, kernel, X, y, C * weights))


# ---------------------------------------------------------------- Ctrl-C


@pytest.mark.parametrize("share", [0.0, 1.0])
@pytest.mark.parametrize("estimator", [SVC, SVR, OneClassSVM])
def test_an_interrupted_fit_leaves_a_usable_model(estimator, share):
    X, labels, numbers = hard(600)
    rbf, y = RBF(gamma=0.5), numbers if estimator is SVR else labels
    left = [share * X.shape[0] ** 2]  # kernel values until Ctrl-C

    def function(A, B):
        left[0] -= len(A) * len(B)
        if left[0] < 0:
            raise KeyboardInterrupt
        return rbf(A, B)

    # in a small cache the fit takes many rounds, which ask for kernel values anew
    options = {"nu": 0.5, "tol": 1e-9} if estimator is OneClassSVM else {"C": 1e4}
    machine = estimator(kernel=Custom(function), cache_size=0.1, **options)
    with pytest.raises(KeyboardInterrupt):
        machine.fit(X, y)
    left[0] = 1 << 60
    if share == 0 and estimator is OneClassSVM:  # Σα = νn needs a kernel value to be known: nothing was learned
        assert not hasattr(machine, "support_")
        return
    assert (len(machine.support_) > 0) or share == 0
    assert_usable(machine, rbf, X, y, options.get("C", 1.0))


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no signal can be sent to one thread here")
def test_an_interrupted_fit_of_several_classes_leaves_a_usable_model():
    """Its pairs are solved in threads of their own; the signal comes to the main one."""
    X, _, _ = hard(600)
    y, rbf = np.arange(600) % 4, RBF(gamma=0.5)
    left = [X.shape[0] ** 2]

    def function(A, B):
        left[0] -= len(A) * len(B)
        if left[0] < 0:
            left[0] = 1 << 60
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        return rbf(A, B)

    machine = SVC(kernel=Custom(function), C=1e4, tol=1e-9, cache_size=0.1, time_limit=60)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    try:
        with pytest.raises(KeyboardInterrupt):
            machine.fit(X, y)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(machine.support_) > 0
    for problem, one in machines(machine, rbf, X, y, 1e4):
        assert problem.infeasible(one.a) <= 1e-9 * 1e4
    assert set(machine.predict(X)) <= set(range(4))


def test_a_fit_of_ten_classes_that_is_stopped_early_knows_every_class(monkeypatch):
    """Stopped so that a fifth of the steps of a full fit are made, it is right on nine of ten digits.

    Steps are counted, not seconds: Ctrl-C comes after a twentieth of them, and a coarse solution of the pairs that are
    left takes the rest. One after the other, only the pairs of the first classes would have been solved.
    """
    X, y = load_digits(return_X_y=True)
    X = X / 16
    train, test = np.arange(len(y)) % 3 > 0, np.arange(len(y)) % 3 == 0
    native, made, most = dual._native, [0], [1 << 60]

    class Counting:
        @staticmethod
        def smo(*arguments):
            steps, gap = native.smo(*arguments)
            made[0] += steps
            if made[0] > most[0]:
                most[0] = 1 << 60
                raise KeyboardInterrupt
            return steps, gap

    monkeypatch.setattr(dual, "_native", Counting)
    with threads(1):
        full = SVC(C=5.0, gamma=0.1).fit(X[train], y[train])
        total, most[0], made[0] = made[0], made[0] // 20, 0
        assert total == full.n_iter_.sum()
        stopped = SVC(C=5.0, gamma=0.1)
        with pytest.raises(KeyboardInterrupt):
            stopped.fit(X[train], y[train])
    assert made[0] <= 0.2 * total
    assert full.score(X[test], y[test]) > 0.98
    assert stopped.score(X[test], y[test]) >= 0.9
    assert (stopped.dual_gap_ >= stopped.objective_ - full.objective_).all()  # a bound, also for coarse solutions
