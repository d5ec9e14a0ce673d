"""Laws of conjugate gradients on centres: they converge to the direct solution, and can be stopped at any time."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from onkel.errors import ParameterError
from onkel.kernels import RBF, Custom, Laplacian, Linear, Precomputed, prepare
from onkel.kernels.centers import Centers
from onkel.solvers.ridge import conjugate_gradient as module
from onkel.solvers.ridge.centers import WhitenedSums, conjugate_gradient

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 3))
Y = np.column_stack([np.sin(X[:, 0]) + 3.0, X[:, 1] * X[:, 2]]) + 0.1 * RNG.normal(size=(300, 2))
WEIGHTS = RNG.uniform(0.0, 3.0, 300)
KERNEL = RBF(gamma=0.4)
intercepts = pytest.mark.parametrize("fit_intercept", [False, True])


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch):
    monkeypatch.setattr(module, "TILE_ROWS", 64)


def both(kernel=KERNEL, rows=None, weights=None, alpha=0.1, *, fit_intercept=False, Y=Y, n_centers=40, **options):
    """Values of the direct solution and of conjugate gradients on the rows, and the latter."""
    rows = prepare(kernel, X) if rows is None else rows
    centers = Centers.of(kernel, rows[np.arange(n_centers)])
    sums = WhitenedSums(centers, Y.shape[1], fit_intercept=fit_intercept)
    sums.add(rows, Y, weights)
    direct = sums.solve(alpha)
    options = {"tol": 1e-10, "max_iter": 200} | options
    cg = conjugate_gradient(rows, Y, weights, centers, alpha, fit_intercept=fit_intercept, **options)
    K = np.empty((len(rows), len(centers)), dtype=rows.dtype)
    kernel.inner.gram(rows, centers.rows, K)
    return K @ direct.coef + direct.intercept, K @ cg.coef + cg.intercept, cg


@intercepts
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("alpha", [10.0, 1e-3, np.array([3.0, 1e-4])], ids=str)
@pytest.mark.parametrize("kernel", [KERNEL, Laplacian(gamma=0.5), Linear()], ids=repr)
def test_it_converges_to_the_direct_solution(kernel, alpha, weights, fit_intercept):
    direct, found, cg = both(kernel, alpha=alpha, weights=weights, fit_intercept=fit_intercept)
    assert np.allclose(found, direct, atol=1e-6)
    assert cg.converged
    assert not cg.interrupted
    assert cg.residual <= 1e-10
    assert 0 < cg.n_iter <= 100


@intercepts
def test_one_iteration_is_enough_if_all_rows_are_centres(fit_intercept):
    """The preconditioner is then the matrix itself: the rows of T are the features of all rows."""
    _, _, cg = both(Laplacian(gamma=1.0), n_centers=300, fit_intercept=fit_intercept)
    assert cg.n_iter == 1


def test_alpha_0_is_taken():
    direct, found, _ = both(Linear(), alpha=0.0)
    assert np.allclose(found, direct, atol=1e-8)


def test_targets_that_are_0_have_coefficients_0():
    _, found, cg = both(Y=np.zeros((300, 2)))
    assert (cg.n_iter, cg.residual, cg.converged) == (0, 0.0, True)
    assert not found.any()
    direct, found, cg = both(Y=Y * [0.0, 1.0])
    assert not found[:, 0].any()
    assert np.allclose(found, direct, atol=1e-6)


@pytest.mark.parametrize("kind", ["float32", "csr", "precomputed", "function"])
def test_every_kind_of_data_is_taken(kind):
    thin = X * (np.abs(X) > 0.7)
    kernel, rows = {
        "float32": (KERNEL, prepare(KERNEL, X.astype(np.float32))),
        "csr": (KERNEL, prepare(KERNEL, sp.csr_array(thin))),
        "precomputed": (Precomputed(), prepare(Precomputed(), KERNEL(X), itself=True)),
        "function": (Custom(KERNEL), prepare(Custom(KERNEL), X)),
    }[kind]
    direct, found, _ = both(kernel, rows, fit_intercept=True)
    assert np.allclose(found, direct, atol=1e-3 if kind == "float32" else 1e-7)


def test_every_kernel_value_is_computed_once_in_an_iteration(monkeypatch):
    counted = []
    rows = prepare(KERNEL, X)
    centers = Centers.of(KERNEL, rows[np.arange(40)])
    gram = type(KERNEL)._gram
    monkeypatch.setattr(type(KERNEL), "_gram", lambda k, x, z, out: (counted.append(out.size), gram(k, x, z, out)))
    cg = conjugate_gradient(rows, Y, None, centers, 0.1, fit_intercept=True, tol=0.0, max_iter=5)
    assert cg.n_iter == 5
    assert sum(counted) == (1 + 5) * 300 * len(centers)  # one pass for the right-hand side


def test_it_stops_after_max_iter_and_says_that_it_did_not_converge():
    _, _, cg = both(alpha=1e-6, max_iter=3, tol=1e-12)
    assert (cg.n_iter, cg.converged, cg.interrupted) == (3, False, False)
    assert cg.residual > 1e-12


def test_every_iteration_is_reported():
    told = []
    _, _, cg = both(report=lambda n, residual: told.append((n, residual)))
    assert [n for n, _ in told] == list(range(1, cg.n_iter + 1))
    assert told[-1] == (cg.n_iter, cg.residual)


def test_ctrl_c_gives_the_solution_so_far():
    def stop(n, residual):
        if n == 4:
            raise KeyboardInterrupt

    _, found, cg = both(alpha=1e-6, tol=1e-14, report=stop)
    _, same, four = both(alpha=1e-6, tol=1e-14, max_iter=4)
    assert (cg.n_iter, cg.interrupted, cg.converged) == (4, True, False)
    assert np.array_equal(found, same)
    assert cg.residual == four.residual


def test_ctrl_c_within_an_iteration_gives_the_solution_before_it(monkeypatch):
    passes, times = [], module._Data.times

    def interrupted(data, v):
        passes.append(1)
        if len(passes) == 3:
            raise KeyboardInterrupt
        return times(data, v)

    monkeypatch.setattr(module._Data, "times", interrupted)
    _, _, cg = both(alpha=1e-6, tol=1e-14)
    assert (cg.n_iter, cg.interrupted) == (2, True)


def test_weights_that_are_all_0_are_refused():
    centers = Centers.of(KERNEL, prepare(KERNEL, X[:5]))
    with pytest.raises(ParameterError, match="positive"):
        conjugate_gradient(
            prepare(KERNEL, X), Y, np.zeros(300), centers, 1.0, fit_intercept=False, tol=1e-3, max_iter=9
        )
