"""Every fit of a support vector machine ends: within tol, or with a warning that says why not, and always finite.

A stall is how a solver runs for ever: rounding keeps the violation above tol, or the dual has no minimum.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from reference import svm_oracles as twin
from sklearn.exceptions import ConvergenceWarning

from onkel import SVC, SVR, OneClassSVM, OnlineSVC
from onkel.errors import ValuesError
from onkel.kernels import RBF, prepare
from onkel.learners.lasvm import learner as lasvm
from onkel.solvers.svm import dual, working_set
from onkel.solvers.svm.problem import Limits, Problem

STEPS = 300_000  # for fits that cannot converge: enough to see that nothing overflows
KERNEL = RBF(gamma=0.04)
dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])


@pytest.fixture(autouse=True)
def few_steps(monkeypatch):
    """A fit that does not end by itself would take 10⁷ steps."""
    monkeypatch.setattr(lasvm, "STEPS", STEPS)


def points(dtype, n=120):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 2)).astype(dtype)
    return X, rng.standard_normal(n)


def conflicting(dtype):
    """Rows that are there twice, with different targets."""
    X, numbers = points(dtype)
    return np.concatenate([X, X]), np.concatenate([numbers, 1.0 - numbers])


def assert_finite(machine, X) -> None:
    for name in ("dual_coef_", "intercept_", "objective_"):
        assert np.isfinite(getattr(machine, name)).all(), name
    assert not np.isnan(machine.dual_gap_).any()
    scores = machine.predict if isinstance(machine, SVR) else machine.decision_function
    assert np.isfinite(scores(X)).all()


def quiet_fit(machine, *data):
    """Fits; no warning but that of convergence is allowed, such as one of NumPy. Returns the messages."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        machine.fit(*data)
    assert {warning.category for warning in said} <= {ConvergenceWarning}
    return " ".join(str(warning.message) for warning in said)


def test_float32_that_stalls_goes_on_in_float64():
    """C = 1e5: the errors of float32 kernel values are 20 times tol, and no end within tol would be seen."""
    X = np.random.default_rng(0).standard_normal((120, 2)).astype(np.float32)
    y = np.arange(120) < 6
    machine = SVC(C=1e5, kernel=KERNEL, time_limit=60)
    assert quiet_fit(machine, X, y) == ""
    assert machine.fit_status_ == 0
    assert machine.support_vectors_.dtype == np.float32
    (one,) = twin.pairs(machine, y)
    assert twin.classification(KERNEL(X.astype(np.float64)), one.s, np.full(120, 1e5)).violation(one.a) <= 1.01e-3
    double = SVC(C=1e5, kernel=KERNEL).fit(X.astype(np.float64), y)
    assert machine.objective_ == pytest.approx(double.objective_, abs=2 * machine.dual_gap_[0])


@pytest.mark.parametrize("tol", [1e-300, 1e-14])
@dtypes
def test_working_sets_whose_errors_are_above_tol_end(dtype, tol, monkeypatch):
    monkeypatch.setattr(working_set, "WHOLE", 50)
    monkeypatch.setattr(working_set, "WORKING", 64)
    X, numbers = points(dtype, 400)
    y, zeros = np.sign(numbers), np.zeros(400)
    problem = Problem(KERNEL, prepare(KERNEL, X), np.arange(400), y, np.minimum(0, 10 * y), np.maximum(0, 10 * y))
    found = dual.solve(problem, zeros, tol=tol, cache_bytes=1e8, limits=Limits(seconds=60))
    assert found.ended in ("rounding", "converged")
    assert found.violation < 1e-9
    assert tol > 1e-300 or found.ended == "rounding"


@dtypes
@pytest.mark.parametrize("estimator", [SVC, SVR, OneClassSVM, OnlineSVC])
def test_a_tol_below_rounding_ends_with_a_warning_or_within_it(estimator, dtype):
    X, numbers = points(dtype)
    machine = estimator(kernel=KERNEL, tol=1e-300)
    said = quiet_fit(machine, X, numbers if estimator is SVR else numbers > 0)
    assert "tol=1e-300" in said or estimator is OnlineSVC
    assert_finite(machine, X)
    assert np.max(machine.dual_gap_) < 1e-9


@dtypes
@pytest.mark.parametrize("estimator", [SVC, SVR])
def test_an_infinite_penalty_on_conflicting_rows_ends_with_a_warning(estimator, dtype, monkeypatch):
    monkeypatch.setattr(dual, "STEPS", STEPS)
    X, numbers = conflicting(dtype)
    machine = estimator(kernel=KERNEL, C=np.inf)
    said = quiet_fit(machine, X, numbers if estimator is SVR else np.arange(240) < 120)
    assert "Solver terminated early" in said
    assert "dual_gap_" in said
    assert machine.fit_status_ == 1
    assert_finite(machine, X)


@dtypes
@pytest.mark.parametrize("weight", [1e300, 1e308])
@pytest.mark.parametrize("rows", [points, conflicting])
@pytest.mark.parametrize("estimator", [SVC, SVR, OnlineSVC])
def test_weights_that_are_far_too_large_end_with_a_warning(estimator, rows, weight, dtype, monkeypatch):
    monkeypatch.setattr(dual, "STEPS", STEPS)
    X, numbers = rows(dtype)
    y = numbers if estimator is SVR else np.arange(len(X)) % 2
    machine = estimator(kernel=KERNEL, C=10.0)
    said = quiet_fit(machine, X, y, np.full(len(X), weight))
    assert "terminated early" in said or "stopped before" in said
    assert_finite(machine, X)
    assert np.max(machine.objective_) < 0  # better than nothing at all


@dtypes
def test_weights_of_one_class_that_overflow_are_refused(dtype):
    """The first α is at the weights themselves, and the objective at their squares."""
    X, _ = points(dtype)
    for weight in (1e300, 1e308):
        with pytest.raises(ValuesError, match=r"sum of sample_weight must be below .* divide them by their largest"):
            OneClassSVM(kernel=KERNEL).fit(X, sample_weight=np.full(120, weight))
    assert_finite(OneClassSVM(kernel=KERNEL).fit(X, sample_weight=np.full(120, 3.0)), X)


@pytest.mark.parametrize("options", [{}, {"max_iter": 700}])
def test_without_a_minimum_the_steps_come_to_an_end(options, monkeypatch):
    """A line cannot separate random labels; β grows with every step. max_iter=-1 is many steps, not without end."""
    monkeypatch.setattr(dual, "STEPS", 5000)
    monkeypatch.setattr(dual, "STEPS_A_ROW", 10)
    X, numbers = points(np.float64)
    machine = SVC(kernel="linear", C=np.inf, **options)
    said = quiet_fit(machine, X, numbers > 0)
    most = options.get("max_iter", 5000)
    assert machine.n_iter_.tolist() == [most]
    assert f"max_iter={most}" in said if options else "no more than 5000 steps" in said
    assert "warm_start=True" in said
    assert_finite(machine, X)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("scale", [1e-6, 1e-9, 1e-12])
def test_small_kernel_values_with_a_large_C_are_the_same_problem(scale, dtype):
    """K s² with C / s² has the α of K with C, divided by s²."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    y = (X[:, 0] + 0.3 * rng.normal(size=300) > 0).astype(int)
    small = (X * scale).astype(dtype)
    expected = SVC(kernel="linear").fit(X, y)
    found = SVC(kernel="linear", C=scale**-2).fit(small, y)
    assert found.n_iter_ < 3 * expected.n_iter_
    np.testing.assert_allclose(found.decision_function(small), expected.decision_function(X), atol=5e-3)
