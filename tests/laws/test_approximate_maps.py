"""Laws of the approximate maps: exact on the span of the centres, exact in the mean over frequencies."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.feature_oracles import root_mean_square_error
from strategies import draw_points, kernels, seeds

from onkel import KernelPerceptron, KernelRidge, Perceptron
from onkel.features import EigenMap, NystroemMap, RandomFourierMap
from onkel.features.reservoir import Reservoir
from onkel.kernels import RBF, Custom, Laplacian, Linear, Matern, Polynomial, Precomputed, RationalQuadratic, prepare
from onkel.solvers.ridge.centers import CENTER_CHOICES


def data(n=40, d=4, seed=0, dtype=np.float64):
    return np.random.default_rng(seed).normal(size=(n, d)).astype(dtype)


def inner(mapped, X, Z=None):
    return mapped.transform(X) @ mapped.transform(X if Z is None else Z).T


def pieces(X, sizes):
    """X cut into chunks of these sizes, the last of what is left."""
    cuts = np.cumsum(sizes)
    return np.split(X, cuts[cuts < len(X)])


# ---------------------------------------------------------------- NystroemMap

SOME = [RBF(gamma=0.3), Laplacian(gamma=0.5), Linear(), Polynomial(degree=2), Matern(nu=1.5) + 0.5 * Linear()]
some_kernels = pytest.mark.parametrize("kernel", SOME, ids=repr)


@given(kernels.filter(lambda k: k.is_psd is True), st.integers(1, 30), st.integers(1, 6), seeds)
def test_with_all_points_as_centers_inner_products_are_the_gram_matrix(kernel, n, d, seed):
    X = draw_points(kernel, n, d, seed)
    K, nystroem = kernel(X), NystroemMap(n, kernel=kernel, random_state=seed).fit(X)
    np.testing.assert_allclose(inner(nystroem, X), K, rtol=0, atol=1e-9 * K.max())
    assert nystroem.n_components_ == len(nystroem.get_feature_names_out()) <= n


@some_kernels
def test_kernel_values_with_a_center_are_exact_and_no_row_is_longer_than_it_should_be(kernel):
    X, Z = data(200), data(20, seed=1)
    nystroem = NystroemMap(15, kernel=kernel, random_state=0).fit(X)
    S = nystroem.components_
    np.testing.assert_array_equal(S, X[nystroem.component_indices_])
    np.testing.assert_allclose(inner(nystroem, Z, S), kernel(Z, S), rtol=0, atol=1e-9 * kernel.diag(X).max())
    assert ((nystroem.transform(Z) ** 2).sum(axis=1) <= kernel.diag(Z) * (1 + 1e-9)).all()


@some_kernels
def test_duplicate_centers_change_nothing(kernel):
    X, S = data(), data(12, seed=3)
    once = NystroemMap(kernel=kernel, centers=S).fit(X)
    twice = NystroemMap(kernel=kernel, centers=np.concatenate([S, S[::-1], S[:3]])).fit(X)
    assert once.n_components_ == twice.n_components_ == min(12, np.linalg.matrix_rank(kernel(S)))
    np.testing.assert_allclose(inner(twice, X), inner(once, X), rtol=0, atol=1e-9 * kernel.diag(X).max())


def test_there_are_as_many_columns_as_the_span_has_dimensions():
    X = data(60, d=5)
    for kernel, rank in [(Linear(), 5), (Polynomial(degree=2), 21), (RBF(gamma=1.0), 50)]:
        nystroem = NystroemMap(50, kernel=kernel).fit(X)
        assert nystroem.n_components_ == nystroem.transform(X).shape[1] == len(nystroem.components_) == rank


def test_more_centers_are_never_farther_from_the_kernel():
    X, kernel = data(100), RBF(gamma=0.3)
    left = [
        (1 - (NystroemMap(n, kernel=kernel, random_state=7).fit_transform(X) ** 2).sum(axis=1)).sum()
        for n in (5, 10, 20, 40, 80)
    ]
    assert (np.diff(left) < 0).all()  # the samples of one seed are nested, and so are their spans
    best = 100 - EigenMap(kernel, n_components=20).fit(X).eigenvalues_.sum()
    assert best <= left[2]


def test_centers_by_leverage_scores_are_nearer_to_a_small_cluster_than_uniform_ones():
    X = np.concatenate([0.1 * data(970, d=2), 5.0 + 2.0 * data(30, d=2, seed=1)])  # 3 % of the rows, most of the span
    kernel = RBF(gamma=1.0)

    def outside(choice, seed):
        Phi = NystroemMap(30, kernel=kernel, center_choice=choice, random_state=seed).fit_transform(X)
        return (1 - (Phi[-30:] ** 2).sum(axis=1)).mean()

    uniform, leverage, means = (np.mean([outside(how, seed) for seed in range(5)]) for how in CENTER_CHOICES)
    assert max(leverage, means) < 0.7 * uniform


@settings(max_examples=20)
@given(st.lists(st.integers(1, 40), max_size=8), st.integers(1, 70), seeds)
def test_any_chunks_give_the_same_map_as_one_fit_on_all_rows(sizes, n_components, seed):
    X = data(60)
    whole = NystroemMap(n_components, kernel=RBF(gamma=0.3), random_state=seed).fit(X)
    chunked = NystroemMap(n_components, kernel=RBF(gamma=0.3), random_state=seed)
    for part in pieces(X, sizes):
        chunked.partial_fit(part)
    np.testing.assert_array_equal(chunked.component_indices_, whole.component_indices_)
    np.testing.assert_array_equal(chunked.transform(X), whole.transform(X))
    assert chunked.n_samples_seen_ == whole.n_samples_seen_ == 60


def test_transforming_between_two_chunks_changes_nothing():
    X, looked, not_looked = data(90), *(NystroemMap(20, random_state=0) for _ in range(2))
    for part in pieces(X, [30, 30]):
        assert looked.partial_fit(part).transform(X).shape == (90, 20)
        not_looked.partial_fit(part)
    np.testing.assert_array_equal(looked.transform(X), not_looked.transform(X))


def test_given_centers_stay_whatever_chunks_come():
    X, S = data(90), data(10, seed=4)
    nystroem = NystroemMap(3, centers=S).partial_fit(X[:30])
    before = nystroem.transform(X)
    np.testing.assert_array_equal(nystroem.partial_fit(X[30:]).transform(X), before)
    assert sorted(nystroem.component_indices_.tolist()) == list(range(10))
    assert nystroem.n_samples_seen_ == 90


def test_every_row_of_a_stream_is_a_center_equally_often():
    rows, counts = prepare(RBF(), data(30)), np.zeros(30)
    for seed in range(1000):
        sample = Reservoir(6, seed).add(rows[:11]).add(rows[11:12]).add(rows[12:])
        np.testing.assert_array_equal(sample.kept.matrix, data(30)[sample.row_ids])
        assert len(set(sample.row_ids.tolist())) == 6
        counts[sample.row_ids] += 1
    spread = math.sqrt(1000 * 0.2 * 0.8)  # of a binomial variable with mean 200
    assert np.abs(counts - 200).max() < 4 * spread
    assert 0.5 < counts.std() / spread < 1.5


def test_sparse_rows_have_the_features_of_the_same_dense_rows():
    X = np.where(np.random.default_rng(2).random((50, 30)) < 0.8, 0.0, data(50, d=30))
    for kernel in (RBF(gamma=0.3), Polynomial(degree=2), Laplacian(gamma=0.1)):
        dense, sparse = (NystroemMap(12, kernel=kernel, random_state=0) for _ in range(2))
        for part in (slice(0, 20), slice(20, 50)):
            dense.partial_fit(X[part])
            sparse.partial_fit(sp.csr_matrix(X[part]))
        assert sp.issparse(sparse.components_)
        for rows in (X, sp.csr_array(X)):
            np.testing.assert_allclose(sparse.transform(rows), dense.transform(X), rtol=0, atol=1e-9)


@some_kernels
def test_float32_is_kept_and_loses_nothing_but_the_last_digits(kernel):
    X = data(300, d=2, dtype=np.float32)  # 100 centres in the plane: K_SS is singular to the last digit of float32
    narrow, wide = NystroemMap(random_state=0, kernel=kernel), NystroemMap(random_state=0, kernel=kernel)
    Phi, exact = narrow.fit_transform(X), wide.fit_transform(X.astype(np.float64))
    assert Phi.dtype == narrow.components_.dtype == np.float32
    assert exact.dtype == narrow.transform(X.astype(np.float64)).dtype == np.float64
    np.testing.assert_allclose(Phi, exact, rtol=1e-6, atol=1e-6)


def test_tiles_of_rows_give_the_features_of_all_rows_at_once(monkeypatch):
    X, nystroem = data(300), NystroemMap(20, random_state=0)
    whole = nystroem.fit_transform(X)
    monkeypatch.setattr("onkel.features.nystroem.TILE_VALUES", 20 * 64)
    np.testing.assert_allclose(nystroem.transform(X), whole, rtol=0, atol=1e-12)


def test_a_precomputed_matrix_has_the_features_of_its_kernel():
    X, Z, k = data(), data(7, seed=1), RBF(gamma=0.3)
    named, given_values = (NystroemMap(9, kernel=kernel, random_state=0) for kernel in (k, Precomputed()))
    np.testing.assert_allclose(given_values.fit_transform(k(X)), named.fit_transform(X), rtol=0, atol=1e-12)
    np.testing.assert_allclose(given_values.transform(k(Z, X)), named.transform(Z), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(given_values.components_, named.component_indices_)
    chosen = NystroemMap(kernel=Precomputed(), centers=named.component_indices_).fit(k(X))
    np.testing.assert_allclose(chosen.transform(k(Z, X)), named.transform(Z), rtol=0, atol=1e-9)


def test_words_have_features_whose_inner_products_are_the_kernel_values():
    common = Custom(lambda a, b: float(len(set(a) & set(b))), pairwise=True, takes="objects", psd=True)
    words = ["perceptron", "kernel", "margin", "mistake", "kernel"]
    nystroem = NystroemMap(kernel=common).partial_fit(words[:2]).partial_fit(words[2:])
    np.testing.assert_allclose(inner(nystroem, words), common(words), rtol=0, atol=1e-9)
    np.testing.assert_allclose(inner(nystroem, ["online"], words), common(["online"], words), rtol=0, atol=1e-9)
    assert sorted(nystroem.components_) == sorted(set(words))
    given_words = NystroemMap(kernel=common, centers=["kernel", "margin"]).fit(words)
    assert given_words.transform(words).shape == (5, 2)


@pytest.mark.parametrize("kernel", [RBF(gamma=0.3), Laplacian(gamma=0.3), Matern(nu=1.5)], ids=repr)
def test_a_perceptron_over_all_centers_makes_the_mistakes_of_the_kernel_perceptron(kernel):
    X = data(150)
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    params = {"hypothesis": "last", "max_iter": 5, "fit_intercept": False, "random_state": 0}
    machine = KernelPerceptron(kernel, **params).fit(X, y)
    linear = Perceptron(**params).fit(NystroemMap(150, kernel=kernel).fit_transform(X), y)
    assert linear.mistakes_.tolist() == machine.mistakes_.tolist()
    assert machine.n_mistakes_ > 50


@pytest.mark.parametrize("given_centers", [False, True])
@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_the_map_does_not_follow_later_changes_of_the_callers_rows(given_centers, learn):
    X, S, Z = data(), data(5, seed=1), data(3, seed=2)
    params = {"centers": S} if given_centers else {"random_state": 0}
    expected = NystroemMap(**params).fit(X).transform(Z)
    nystroem = getattr(NystroemMap(**params), learn)(X)
    X[:], S[:] = 0.0, 0.0
    np.testing.assert_array_equal(nystroem.transform(Z), expected)


# ---------------------------------------------------------------- RandomFourierMap

MATERNS = [Matern(nu=nu, length_scale=1.3) for nu in (0.1, 0.5, 0.8, 1.5, 2.5, 4.0, 60.0, math.inf)]
SPECTRAL = [RBF(gamma=0.4), Laplacian(gamma=0.3), RationalQuadratic(alpha=0.7, length_scale=1.5), *MATERNS]
spectral = pytest.mark.parametrize("kernel", SPECTRAL, ids=repr)
# Differences δ in three dimensions, near and far; along an axis the Laplacian is another one than along a diagonal.
DELTAS = np.array([[0.1, 0.0, 0.0], [0.5, -0.5, 0.2], [0.0, 0.0, 1.5], [1.0, 1.0, -1.0], [3.0, 0.0, 1.0]])


def products(kernel, n_frequencies, groups):
    """φ(x)·φ(x − δ) for each δ by `groups` independent maps of n frequencies, shape (groups, deltas)."""
    x = np.array([0.3, -0.2, 0.5])
    fourier = RandomFourierMap(n_frequencies * groups, kernel=kernel, random_state=0).fit(DELTAS)
    one, others = fourier.transform(x[None, :]), fourier.transform(x - DELTAS)
    waves = (one * others).reshape(len(DELTAS), 2, groups, n_frequencies)  # frequencies are independent of each other
    return waves.sum(axis=(1, 3)).T * groups


@spectral
def test_inner_products_of_waves_are_the_kernel_in_the_mean(kernel):
    found = products(kernel, 100_000, 1)[0]
    for value, delta in zip(found, DELTAS, strict=True):
        error = root_mean_square_error(kernel, delta, 100_000)
        assert abs(value - kernel(np.zeros((1, 3)), delta[None, :]).item()) < 4.5 * error


@spectral
@pytest.mark.parametrize("n_frequencies", [10, 100])
def test_the_error_of_waves_has_the_rate_of_theory(kernel, n_frequencies):
    groups = 2000  # the standard deviation of a mean of 2000 squares of normal variables is √(2/2000) = 0.032 of it
    errors = products(kernel, n_frequencies, groups) - kernel(np.zeros((1, 3)), DELTAS)
    for column, delta in zip(errors.T, DELTAS, strict=True):
        expected = root_mean_square_error(kernel, delta, n_frequencies)
        rms = math.sqrt(np.mean(column**2))
        spread = math.sqrt((np.mean(column**4) / rms**4 - 1) / groups)  # few large errors make it uncertain
        assert abs(rms**2 / expected**2 - 1) < 4.5 * max(spread, 0.032)
    if isinstance(kernel, RBF):
        k = kernel(np.zeros((1, 3)), DELTAS)[0]
        theory = [root_mean_square_error(kernel, delta, n_frequencies) for delta in DELTAS]
        np.testing.assert_allclose(theory, (1 - k**2) / math.sqrt(2 * n_frequencies), rtol=1e-12)


@pytest.mark.parametrize("kernel", [RBF(gamma=0.4), Laplacian(gamma=0.3), Matern(nu=1.5)], ids=repr)
def test_maps_of_different_seeds_are_independent(kernel):
    X, D, maps = data(6, d=3), 20, 400
    found = [inner(RandomFourierMap(D, kernel=kernel, random_state=seed).fit(X), X)[0, 1:] for seed in range(maps)]
    errors = np.array(found) - kernel(X)[0, 1:]
    for column, z in zip(errors.T, X[1:], strict=True):
        expected = root_mean_square_error(kernel, X[0] - z, D)
        assert abs(column.mean()) < 4.5 * expected / math.sqrt(maps)
        assert math.sqrt(np.mean(column**2)) == pytest.approx(expected, rel=0.2)


@spectral
def test_the_length_of_every_row_is_exact(kernel):
    X = data(30)
    for factor in (1.0, 2.5):
        Phi = RandomFourierMap(7, kernel=factor * kernel).fit_transform(X)
        np.testing.assert_allclose((Phi**2).sum(axis=1), factor, rtol=1e-12)


def test_a_multiple_of_a_kernel_has_the_waves_of_the_kernel_times_its_root():
    X = data()
    one, four = (RandomFourierMap(9, kernel=k, random_state=0).fit(X) for k in (RBF(gamma=0.3), 4.0 * RBF(gamma=0.3)))
    np.testing.assert_allclose(four.transform(X), 2.0 * one.transform(X), rtol=1e-14)
    np.testing.assert_array_equal(four.frequencies_, one.frequencies_)


@pytest.mark.parametrize("nu", [1e-300, 1e-4, 0.01, 1e6, 1e300])
def test_frequencies_are_finite_for_any_smoothness(nu):
    X = data(20)
    fourier = RandomFourierMap(2000, kernel=Matern(nu=nu), random_state=0).fit(X)
    assert np.isfinite(fourier.frequencies_).all()
    np.testing.assert_allclose(inner(fourier, X), Matern(nu=nu)(X), rtol=0, atol=4.5 / math.sqrt(2000))


def test_only_the_first_chunk_draws_frequencies():
    X, fourier = data(), RandomFourierMap(11)
    before = fourier.partial_fit(X[:3]).transform(X)
    np.testing.assert_array_equal(fourier.partial_fit(X[3:]).transform(X), before)
    assert fourier.kernel_ == RBF(gamma=0.25)  # 1 / 4 features


def test_waves_of_sparse_rows_are_those_of_the_same_dense_rows():
    X = np.where(np.random.default_rng(2).random((30, 50)) < 0.8, 0.0, data(30, d=50))
    fourier = RandomFourierMap(9, kernel="laplacian", gamma=0.1, random_state=0).fit(sp.csr_array(X))
    for kind in (sp.csr_array, sp.csr_matrix, sp.csc_matrix):
        found = fourier.transform(kind(X))
        assert isinstance(found, np.ndarray)
        np.testing.assert_allclose(found, fourier.transform(X), rtol=0, atol=1e-11)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@spectral
def test_waves_keep_float32_and_lose_nothing_but_the_last_digits(kernel, convert):
    X = data(50, dtype=np.float32)
    fourier = RandomFourierMap(200, kernel=kernel, random_state=0).fit(convert(X))
    Phi = fourier.transform(convert(X))
    assert Phi.dtype == np.float32
    np.testing.assert_allclose(Phi, fourier.transform(X.astype(np.float64)), rtol=1e-6, atol=1e-6)


def test_tiles_of_rows_give_the_waves_of_all_rows_at_once(monkeypatch):
    X, fourier = data(300), RandomFourierMap(20, random_state=0)
    whole = fourier.fit_transform(X)
    monkeypatch.setattr("onkel.features.random_fourier.TILE_VALUES", 20 * 7)
    np.testing.assert_allclose(fourier.transform(X), whole, rtol=0, atol=1e-14)


@pytest.mark.parametrize("name", ["rbf", "chi2", "laplacian", "poly"])
def test_without_a_gamma_a_map_has_the_kernel_of_ridge_regression(name):
    X = np.random.default_rng(0).uniform(size=(12, 3))
    assert NystroemMap(5, kernel=name).fit(X).kernel_ == KernelRidge(kernel=name).fit(X, X[:, 0]).kernel_
