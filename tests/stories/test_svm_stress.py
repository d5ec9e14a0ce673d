"""Two hundred small problems of many kinds, solved by onkel and by LIBSVM: nothing hangs, and both agree."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from reference import svm_oracles as twin
from reference.svm_peers import libsvm
from strategies import as_csr

from onkel import SVC, SVR, OneClassSVM
from onkel.kernels import RBF, Kernel, Linear, Polynomial

COUNT, AT_ONCE = 200, 20
TOL = 1e-4
TIME_LIMIT = 5.0  # seconds for a problem; beyond it fit warns, and a warning is an error here


class Problem(NamedTuple):
    kind: str
    kernel: Kernel
    X: np.ndarray
    y: np.ndarray | None
    counts: np.ndarray  # how often each row stands in the set
    options: dict[str, Any]


def draw(number: int) -> Problem:
    rng = np.random.default_rng(number)
    kind = rng.choice(["SVC", "SVC", "SVR", "OneClassSVM"])
    n, d = int(rng.integers(2, 60)), int(rng.integers(1, 8))
    X = rng.standard_normal((n, d)) * 10 ** rng.uniform(-2, 1)
    y = np.arange(n) % int(rng.integers(2, min(n, 5) + 1))
    noise = rng.choice([0.0, 0.1, 1.0])  # of the labels: separable by chance, nearly, not at all
    y = np.where(rng.random(n) < noise, rng.permutation(y), y)
    X[:, 0] += y * rng.choice([0.0, 3.0]) * np.abs(X).max()
    match rng.integers(0, 8):
        case 0:  # the same rows over and over, with other labels
            X = X[rng.integers(0, min(n, 3), n)]
        case 1:  # all rows are one
            X[:] = X[0]
        case 2:  # a grid: many ties
            X = np.round(X / np.abs(X).max() * 2)
        case 3:  # columns that say nothing
            X[:, d // 2 :] = 0.0
    X = (X / max(1.0, np.abs(X).max())).astype(np.float32 if number % 4 == 0 else np.float64)
    gamma = float(10 ** rng.uniform(-1, 1.5))
    kernels = (RBF(gamma), Linear(), Polynomial(degree=int(rng.integers(2, 4)), gamma=0.5, coef0=1.0))
    kernel = kernels[rng.choice(3, p=[0.6, 0.2, 0.2])]
    counts = rng.integers(1, 4, n) if rng.random() < 0.3 else np.ones(n, dtype=int)
    options: dict[str, Any] = {"C": float(10 ** rng.uniform(-3, 4))}
    if kind == "OneClassSVM":
        return Problem(kind, kernel, X, None, counts, {"nu": float(rng.uniform(0.02, 1.0))})
    if kind == "SVR":
        spread = float(rng.choice([0.0, 1.0, 10.0]))
        numbers = spread * (np.sin(3 * X[:, 0]) + noise * rng.standard_normal(n))
        return Problem(kind, kernel, X, numbers, counts, options | {"epsilon": float(rng.choice([0.0, 0.1, 1.0]))})
    if rng.random() < 0.3:
        options["class_weight"] = {int(label): float(10 ** rng.uniform(-1, 1)) for label in np.unique(y)}
    return Problem(kind, kernel, X, y, counts, options)


def objectives(machine: Any, problem: Problem, X: np.ndarray, y: np.ndarray | None) -> np.ndarray:
    return twin.objectives(machine, problem.kernel, X, y, problem.options.get("epsilon", 0.0))


@pytest.mark.parametrize("first", range(0, COUNT, AT_ONCE))
def test_onkel_and_libsvm_end_at_the_same_objective(first):
    for number in range(first, first + AT_ONCE):
        problem = draw(number)
        estimator = {"SVC": SVC, "SVR": SVR, "OneClassSVM": OneClassSVM}[problem.kind]
        ours = estimator(kernel=problem.kernel, tol=TOL, time_limit=TIME_LIMIT, **problem.options)
        ours.fit(problem.X if number % 3 else as_csr(problem.X), problem.y, sample_weight=problem.counts)
        times = np.repeat(np.arange(len(problem.X)), problem.counts)
        X, y = problem.X[times].astype(np.float64), None if problem.y is None else problem.y[times]
        theirs = libsvm(problem.kind, problem.kernel, X, y, tol=TOL, **problem.options)
        expected, found = (
            objectives(theirs, problem, X, y),
            objectives(ours, problem, problem.X.astype(np.float64), problem.y),
        )
        allowed = 1e-3 * np.abs(expected) + TOL * abs(ours.dual_coef_).sum()  # an objective may be 0
        assert (np.abs(found - expected) <= allowed).all(), (number, problem, found, expected)
        told = np.ravel(ours.objective_)
        rtol = 1e-6 if problem.X.dtype == np.float64 else 1e-4
        np.testing.assert_allclose(told, found, rtol=rtol, atol=1e-9, err_msg=str(number))
