"""Laws of ridge regression on centres: one pass, its sums, their solutions and variances."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import scipy.sparse as sp
from interruptions import lines_of, spread, stop_at_line
from reference.nystroem_oracles import dense_fit
from sklearn import gaussian_process

from onkel.errors import GramError, InputError, ShapeError, ValuesError
from onkel.kernels import RBF, Custom, Laplacian, Linear, Polynomial, Precomputed, expand, prepare
from onkel.kernels.centers import Centers
from onkel.solvers.ridge import whitened_sums
from onkel.solvers.ridge.centers import WhitenedSums
from onkel.states.state import from_state

RNG = np.random.default_rng(0)
X, TEST = RNG.normal(size=(90, 3)), RNG.normal(size=(25, 3))
Y = np.column_stack([np.sin(X[:, 0]) + 3.0, X[:, 1] * X[:, 2]]) + 0.1 * RNG.normal(size=(90, 2))
WEIGHTS = RNG.uniform(0.0, 3.0, 90) * (RNG.random(90) < 0.9)  # some are 0
KERNEL = RBF(gamma=0.4)
intercepts = pytest.mark.parametrize("fit_intercept", [False, True])
weighted = pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["unweighted", "weighted"])


@pytest.fixture(autouse=True)
def _small_tiles(monkeypatch):
    monkeypatch.setattr(whitened_sums, "TILE_ROWS", 32)


def centers_of(kernel, S):
    return Centers.of(kernel, prepare(kernel, S))


def summed(kernel=KERNEL, X=X, Y=Y, weights=None, S=X[:20], *, fit_intercept=False):
    sums = WhitenedSums(centers_of(kernel, S), Y.shape[1], fit_intercept=fit_intercept)
    sums.add(prepare(kernel, X), Y, weights)
    return sums


def scores(sums, solution, test=TEST):
    return expand(sums.centers.kernel, test, sums.centers.rows, solution.coef) + solution.intercept


def predicted(alpha=0.1, **data):
    sums = summed(**data)
    return scores(sums, sums.solve(alpha))


# ---------------------------------------------------------------- the solution


@intercepts
@weighted
@pytest.mark.parametrize("alpha", [10.0, 0.1, 1e-6])
@pytest.mark.parametrize("kernel", [KERNEL, Polynomial(degree=2), Laplacian(gamma=0.5)], ids=repr)
def test_the_solution_is_that_of_one_least_squares_problem(kernel, weights, fit_intercept, alpha):
    sums = summed(kernel, weights=weights, fit_intercept=fit_intercept)
    solution = sums.solve(alpha)
    dense = dense_fit(kernel, X, Y, weights, X[:20], alpha, TEST, fit_intercept=fit_intercept)
    assert np.allclose(scores(sums, solution), dense.f, atol=1e-6)
    assert np.allclose(solution.intercept, dense.intercept, atol=1e-6)
    assert np.allclose(solution.degrees_of_freedom, np.trace(dense.hat), atol=1e-6)
    assert np.allclose(solution.gcv, dense.gcv, rtol=1e-6)
    assert solution.residual < 1e-9
    assert np.array_equal(solution.alpha, [alpha, alpha])


@intercepts
def test_all_points_as_centres_give_the_exact_closed_form(fit_intercept):
    K, alpha = KERNEL(X), 0.05
    if fit_intercept:  # [K + αI, 1; 1ᵀ, 0] [c; b] = [y; 0]
        bordered = np.block([[K + alpha * np.eye(90), np.ones((90, 1))], [np.ones((1, 90)), np.zeros((1, 1))]])
        c = np.linalg.solve(bordered, np.vstack([Y, np.zeros((1, 2))]))
        f = KERNEL(TEST, X) @ c[:-1] + c[-1]
    else:
        f = KERNEL(TEST, X) @ np.linalg.solve(K + alpha * np.eye(90), Y)
    assert np.allclose(predicted(alpha, S=X, fit_intercept=fit_intercept), f, atol=1e-9)


@intercepts
def test_each_target_has_its_own_alpha(fit_intercept):
    sums = summed(fit_intercept=fit_intercept, weights=WEIGHTS)
    both, each = sums.solve(np.array([2.0, 0.01])), [sums.solve(2.0), sums.solve(0.01)]
    for t in (0, 1):
        assert np.allclose(both.coef[:, t], each[t].coef[:, t])
        for name in ("intercept", "gcv", "degrees_of_freedom"):
            assert getattr(both, name)[t] == pytest.approx(getattr(each[t], name)[t])


@intercepts
@pytest.mark.parametrize("cut", [1, 32, 40])
def test_chunks_give_the_solution_of_the_whole(cut, fit_intercept):
    whole, chunks = (
        summed(weights=WEIGHTS, fit_intercept=fit_intercept),
        summed(X=X[:cut], Y=Y[:cut], weights=WEIGHTS[:cut], fit_intercept=fit_intercept),
    )
    chunks.add(prepare(KERNEL, X[cut:]), Y[cut:], WEIGHTS[cut:])
    assert chunks.n_seen == whole.n_seen == 90
    one, other = whole.solve(1e-3), chunks.solve(1e-3)
    assert np.allclose(scores(whole, one), scores(chunks, other), atol=1e-10)
    assert np.allclose(one.gcv, other.gcv, rtol=1e-9)


@intercepts
def test_the_order_of_the_rows_does_not_matter(fit_intercept):
    order = np.random.default_rng(1).permutation(90)
    one = predicted(weights=WEIGHTS, fit_intercept=fit_intercept)
    other = predicted(X=X[order], Y=Y[order], weights=WEIGHTS[order], S=X[19::-1], fit_intercept=fit_intercept)
    assert np.allclose(one, other, atol=1e-9)


def test_duplicate_centres_change_nothing():
    twice = np.concatenate([X[:20], X[5:15], X[:20] + 1e-9])
    assert np.allclose(predicted(1e-6), predicted(1e-6, S=twice), atol=1e-6)


@intercepts
def test_weights_are_repetitions_of_rows(fit_intercept):
    times = np.random.default_rng(2).integers(0, 4, 90)
    repeated = np.repeat(np.arange(90), times)
    one = predicted(weights=times.astype(float), fit_intercept=fit_intercept)
    assert np.allclose(one, predicted(X=X[repeated], Y=Y[repeated], fit_intercept=fit_intercept), atol=1e-9)


def test_rows_of_weight_0_count_as_seen_but_not_for_the_score():
    heavy = WEIGHTS > 0
    one, other = summed(weights=WEIGHTS), summed(X=X[heavy], Y=Y[heavy], weights=WEIGHTS[heavy])
    assert (one.n_seen, other.n_seen) == (90, heavy.sum())
    assert np.allclose(one.solve(0.1).gcv, other.solve(0.1).gcv)


def test_the_score_is_infinite_without_degrees_of_freedom_to_spare():
    assert np.isinf(summed(X=X[:20], Y=Y[:20], S=X[:20]).solve(0.0).gcv).all()


# ---------------------------------------------------------------- kinds of data


def test_float32_rows_are_summed_in_float64():
    assert np.allclose(predicted(X=X.astype(np.float32), S=X[:20].astype(np.float32)), predicted(), atol=1e-4)
    sums = summed(S=X[:20].astype(np.float32))  # float64 rows meet float32 centres
    assert np.allclose(scores(sums, sums.solve(0.1), TEST.astype(np.float32)), predicted(), atol=1e-4)


def test_csr_rows_give_the_solution_of_dense_rows():
    thin = X * (np.abs(X) > 0.8)
    assert np.allclose(predicted(X=sp.csr_array(thin), S=sp.csr_array(thin[:20])), predicted(X=thin, S=thin[:20]))


def test_objects_are_taken():
    words = [format(i, "07b") for i in range(90)]
    kernel = Custom(lambda a, b: 0.5 ** sum(p != q for p, q in zip(a, b, strict=True)), takes="objects", pairwise=True)
    sums = summed(kernel, X=words, S=words[::5])
    one = scores(sums, sums.solve(0.1), words)
    K = np.array([[kernel([a], [b])[0, 0] for b in words] for a in words])
    k = K[:, ::5]
    assert np.allclose(one, k @ np.linalg.solve(k.T @ k + 0.1 * K[::5, ::5], k.T @ Y), atol=1e-8)


def test_centres_of_a_precomputed_kernel_are_columns():
    kernel, rows = Precomputed(), prepare(Precomputed(), KERNEL(X), itself=True)
    sums = WhitenedSums(Centers.of(kernel, rows[np.arange(20)]), 2, fit_intercept=True)
    sums.add(rows, Y, None)
    solution = sums.solve(0.1)
    f = KERNEL(TEST, X)[:, sums.centers.rows.columns] @ solution.coef + solution.intercept
    assert np.allclose(f, predicted(fit_intercept=True), atol=1e-9)


# ---------------------------------------------------------------- variance


@pytest.mark.parametrize("alpha", [1.0, 1e-2])
def test_the_variance_with_all_points_as_centres_is_that_of_a_gaussian_process(alpha):
    rbf = gaussian_process.kernels.RBF(1 / np.sqrt(2 * 0.4))
    peer = gaussian_process.GaussianProcessRegressor(rbf, alpha=alpha, optimizer=None).fit(X, Y[:, 0])
    far = np.concatenate([TEST, TEST + 100.0, X])
    found = summed(S=X).variance(prepare(KERNEL, far), alpha)
    assert np.allclose(found, peer.predict(far, return_std=True)[1] ** 2, atol=1e-10)


def test_without_noise_the_training_points_have_no_variance():
    rows = prepare(Linear(), X)
    assert summed(Linear(), S=X).variance(rows, 0.0) == pytest.approx(0, abs=1e-12)


@intercepts
@weighted
@pytest.mark.parametrize("alpha", [1.0, 1e-3, 1e-9])
def test_the_variance_is_the_dense_one_and_never_negative(alpha, weights, fit_intercept):
    """The covariance of (w, b) is α times the inverse of the bordered matrix; nothing is known of b before."""
    sums = summed(weights=weights, fit_intercept=fit_intercept)
    x, rows = prepare(KERNEL, np.concatenate([TEST, X])), prepare(KERNEL, X)
    phi, z = sums.centers.features(rows), sums.centers.features(x)
    s = np.ones(90) if weights is None else weights
    if fit_intercept:
        phi, z = np.column_stack([phi, np.ones(90)]), np.column_stack([z, np.ones(len(z))])
    H = phi.T @ (s[:, None] * phi) + alpha * np.diag(np.arange(phi.shape[1]) < len(sums.centers))
    outside = 1 - (sums.centers.features(x) ** 2).sum(axis=1)
    found = sums.variance(x, alpha)
    assert (found >= 0).all()
    assert np.allclose(found, outside + alpha * np.einsum("ij,ij->i", z, np.linalg.solve(H, z.T).T), atol=1e-8)


# ---------------------------------------------------------------- one tile, wholly or not at all


def test_whatever_line_is_interrupted_whole_tiles_are_left():
    rows, batch = prepare(KERNEL, X), (Y, WEIGHTS)
    empty = WhitenedSums(centers_of(KERNEL, X[:20]), 2, fit_intercept=True)
    tiles = [empty]
    for part in (slice(0, 32), slice(32, 64), slice(64, 90)):
        tiles.append(copy.deepcopy(tiles[-1]))
        tiles[-1].add(rows[part], *(values[part] for values in batch))
    by_rows = {sums.n_seen: sums.state() for sums in tiles}
    assert list(by_rows) == [0, 32, 64, 90]
    lines = lines_of(lambda: copy.deepcopy(empty).add(rows, *batch))
    met = set()
    for k in spread(lines, 60, times=3):
        sums = copy.deepcopy(empty)
        stop_at_line(lambda sums=sums: sums.add(rows, *batch), k, KeyboardInterrupt)
        assert sums.state() == by_rows[sums.n_seen]
        met.add(sums.n_seen)
    assert met == {0, 32, 64, 90}


def test_a_refused_tile_changes_nothing():
    sums = summed()
    before = sums.state()
    bad = Y.copy()
    bad[10, 1] = np.nan
    with pytest.raises(ValuesError, match="rows 90 to 121"):
        sums.add(prepare(KERNEL, X), bad, None)
    with pytest.raises(ShapeError, match="shape"):
        sums.add(prepare(KERNEL, X), Y[:, 0], None)
    assert sums.state() == before


def test_progress_is_reported_by_rows():
    told = []
    WhitenedSums(centers_of(KERNEL, X[:20]), 2, fit_intercept=False).add(prepare(KERNEL, X), Y, None, told.append)
    assert told == [32, 64, 90]


def test_the_callers_arrays_are_not_changed():
    given = [X.copy(), Y.copy(), WEIGHTS.copy()]
    sums = summed(X=given[0], Y=given[1], weights=given[2], fit_intercept=True)
    sums.solve(0.1)
    before = sums.state()
    sums.variance(prepare(KERNEL, given[0]), 0.1)
    assert sums.state() == before
    assert all(np.array_equal(a, b) for a, b in zip(given, [X, Y, WEIGHTS], strict=True))


# ---------------------------------------------------------------- bad problems


def test_alpha_0_on_dependent_features_is_refused():
    with pytest.raises(GramError, match="alpha > 0"):
        summed(X=X[:10], Y=Y[:10], S=X[:20]).solve(0.0)


@pytest.mark.parametrize("seed", range(8))
def test_alpha_0_on_features_that_depend_to_rounding_is_refused(seed):
    """Cholesky may find a last pivot of the size of rounding errors, with either sign."""
    line = np.outer(np.random.default_rng(seed).normal(size=50), [1.0, 1.0 + 1e-9])
    with pytest.raises(GramError, match="alpha > 0"):
        summed(Linear(), X=line, Y=Y[:50], S=np.eye(2)).solve(0.0)


def test_a_larger_alpha_than_asked_for_is_told():
    sums = summed(X=np.repeat(X[:10], 100, axis=0), Y=np.repeat(Y[:10], 100, axis=0), S=X[:20])
    solution = sums.solve(np.array([1e-30, 1.0]))
    assert 1e-30 < solution.alpha[0] < 1e-9
    assert solution.alpha[1] == 1.0
    assert np.allclose(scores(sums, solution, X[:10])[:, 0], Y[:10, 0], atol=1e-6)


def test_nothing_is_solved_before_a_row_is_seen():
    sums = WhitenedSums(centers_of(KERNEL, X[:20]), 2, fit_intercept=False)
    with pytest.raises(InputError, match="added before"):
        sums.solve(1.0)


# ---------------------------------------------------------------- state


@intercepts
def test_the_state_brings_back_sums_that_go_on_as_before(fit_intercept):
    sums = summed(fit_intercept=fit_intercept)
    again = from_state(sums.state())
    assert again.state() == sums.state()
    for one in (sums, again):
        one.add(prepare(KERNEL, TEST), np.zeros((25, 2)), None)
    assert again.state() == sums.state()
    assert np.array_equal(again.solve(0.1).coef, sums.solve(0.1).coef)


def test_a_state_of_other_sizes_is_refused():
    state = summed().state()
    wrong = type(state)(state.kind, state.version, state.settings, {**state.arrays, "factor": np.eye(3)})
    with pytest.raises(InputError, match="must have shape"):
        WhitenedSums.from_state(wrong)
