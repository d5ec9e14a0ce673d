"""Laws of the choice of centres: uniform, by leverage scores, by k-means."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from reference.nystroem_oracles import leverage

from onkel.errors import KindError, ParameterError
from onkel.kernels import RBF, Custom, Linear, Precomputed, prepare
from onkel.solvers.ridge.centers import _spread, choose_centers, leverage_scores

X = np.random.default_rng(0).normal(size=(200, 3))
KERNEL = RBF(gamma=0.5)
ways = pytest.mark.parametrize("how", ["uniform", "leverage", "kmeans"])


def chosen(how, n_centers=30, X=X, kernel=KERNEL, seed=0, alpha=0.1):
    return choose_centers(kernel, prepare(kernel, X), n_centers, how, np.random.RandomState(seed), alpha)


@ways
def test_the_same_random_numbers_give_the_same_centres(how):
    one, same, other = chosen(how), chosen(how), chosen(how, seed=1)
    assert np.array_equal(one.rows.dense(), same.rows.dense())
    assert not np.array_equal(one.rows.dense(), other.rows.dense())


@pytest.mark.parametrize("how", ["uniform", "leverage"])
@pytest.mark.parametrize("n_centers", [1, 30, 200])
def test_centres_are_different_rows_and_places_say_which(how, n_centers):
    centers = chosen(how, n_centers)
    assert len(np.unique(centers.places)) == len(centers) == n_centers
    assert np.array_equal(centers.rows.dense(), X[centers.places])


@ways
def test_more_centres_than_rows_are_refused(how):
    with pytest.raises(ParameterError, match="between 1 and the number of rows, 200; got 201"):
        chosen(how, 201)


def test_an_unknown_way_is_refused():
    with pytest.raises(ParameterError, match='"uniform", "leverage" or "kmeans"; got \'best\''):
        chosen("best")


@pytest.mark.parametrize("how", ["uniform", "leverage"])
def test_objects_and_precomputed_kernels_have_rows_as_centres(how):
    gram = prepare(Precomputed(), KERNEL(X), itself=True)
    centers = choose_centers(Precomputed(), gram, 20, how, np.random.RandomState(0), 0.1)
    assert np.array_equal(centers.rows.columns, centers.places)
    words = [format(i, "06b") for i in range(64)]
    same = Custom(lambda a, b: float(a == b), pairwise=True, takes="objects")
    assert len(chosen(how, 20, words, same)) == 20


def test_objects_and_precomputed_kernels_have_no_means():
    with pytest.raises(KindError, match="needs vectors"):
        choose_centers(Precomputed(), prepare(Precomputed(), KERNEL(X)), 5, "kmeans", np.random.RandomState(0), 1.0)


# ---------------------------------------------------------------- leverage scores


@pytest.mark.parametrize("alpha", [10.0, 0.1, 1e-3])
def test_scores_from_all_rows_are_the_exact_ones(alpha):
    found = leverage_scores(KERNEL, prepare(KERNEL, X), 200, np.random.RandomState(0), alpha)
    assert np.allclose(found, leverage(KERNEL(X), alpha), atol=1e-8)


def test_scores_from_a_sample_are_near_the_exact_ones():
    found = leverage_scores(KERNEL, prepare(KERNEL, X), 100, np.random.RandomState(0), 1.0)
    exact = leverage(KERNEL(X), 1.0)
    ratio = np.abs(np.log(found / exact))
    assert ratio.max() < np.log(3)
    assert np.median(ratio) < np.log(1.5)
    assert found.sum() == pytest.approx(exact.sum(), rel=0.3)


def test_rare_rows_become_centres_by_their_leverage():
    """1990 rows at the origin and 10 far from everything: 20 uniform centres have 0.1 of these on average."""
    many = np.concatenate([np.random.default_rng(1).normal(size=(1990, 2)) * 0.01, 100.0 * np.eye(10, 2) + 9.0])
    many[-10:, 0] += 50.0 * np.arange(10)
    rare = {how: (chosen(how, 20, many, alpha=0.5).places >= 1990).sum() for how in ("uniform", "leverage")}
    assert rare["leverage"] >= 8
    assert rare["uniform"] <= 1


@pytest.mark.parametrize("alpha", [0.0, np.array([0.0, 1.0])], ids=str)
def test_scores_exist_without_a_ridge(alpha):
    found = leverage_scores(KERNEL, prepare(KERNEL, X), 20, np.random.RandomState(0), alpha)
    assert (found > 0).all()
    assert (found <= 1).all()


# ---------------------------------------------------------------- k-means


def test_the_means_of_separate_clusters_are_found():
    rng = np.random.default_rng(0)
    middles = 100.0 * np.column_stack([np.arange(8) % 4, np.arange(8) // 4])
    Z = np.repeat(middles, 10, axis=0) + rng.normal(size=(80, 2))  # as many rows as it takes into account
    for kernel, rows in ((KERNEL, Z), (KERNEL, sp.csr_array(Z)), (KERNEL, Z.astype(np.float32))):
        centers = chosen("kmeans", 8, rows, kernel)
        found = np.array(sorted((centers.rows.dense() / 100).round().tolist(), key=lambda m: (m[1], m[0])))
        assert np.array_equal(found, middles / 100)
        assert centers.rows.dtype == rows.dtype
        assert (centers.places == -1).all()
    S = chosen("kmeans", 8, Z).rows.dense()
    assert np.allclose(S[np.lexsort(S.round(-2).T)], Z.reshape(8, 10, 2).mean(axis=1))


def test_means_are_nearer_to_the_rows_than_random_rows_are():
    def error(how):
        S = chosen(how, 20).rows.dense()
        return ((X[:, None] - S) ** 2).sum(axis=2).min(axis=1).mean()

    assert error("kmeans") < 0.8 * error("uniform")


def test_duplicate_rows_give_as_many_means_as_there_are_different_rows():
    Z = np.repeat(np.arange(5.0)[:, None], 20, axis=0)
    assert sorted(chosen("kmeans", 30, Z).rows.dense()[:, 0].tolist()) == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert len(chosen("kmeans", 3, np.ones((9, 2)), Linear())) == 1


def test_rows_far_from_all_others_become_means():
    """Ten rows of 120: twelve uniform centres would have one of these on average."""
    Z = np.concatenate([np.random.default_rng(1).normal(size=(110, 2)), 1000.0 * np.arange(2, 22).reshape(10, 2)])
    assert (chosen("kmeans", 12, Z).rows.dense()[:, 0] > 1000).sum() >= 9


def test_no_row_is_drawn_twice_although_distances_are_rounded():
    Z = (X + 1000.0).astype(np.float32)
    first = _spread(Z, np.einsum("ij,ij->i", Z, Z, dtype=np.float64), len(Z), np.random.RandomState(0))
    assert np.array_equal(np.unique(first, axis=0), np.unique(Z, axis=0))
