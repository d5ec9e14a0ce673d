"""The Nyström and the random Fourier map as transformers, and the states of all maps."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from onkel.errors import GramError, InputError, KindError, ParameterError, ShapeError, ValuesError
from onkel.features import EigenMap, NystroemMap, PolynomialMap, RandomFourierMap
from onkel.kernels import RBF, Chi2, Custom, Laplacian, Linear, Matern, Polynomial, Precomputed, Sigmoid
from onkel.states.state import State, from_json, from_state, to_json

APPROXIMATE = [NystroemMap, RandomFourierMap]
words = Custom(lambda a, b: float(len(set(a) & set(b))), pairwise=True, takes="objects", psd=True)
WORDS = ["perceptron", "kernel", "margin", "mistake"]
each = pytest.mark.parametrize("cls", APPROXIMATE)


def rings(n=80):
    """Two classes at radius 1 and 2: no line separates them, a Gaussian kernel does."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    angle = rng.uniform(0, 2 * np.pi, n)
    return (1.0 + y)[:, None] * np.c_[np.cos(angle), np.sin(angle)] + 0.05 * rng.normal(size=(n, 2)), y


# ---------------------------------------------------------------- parameters


@each
def test_a_kernel_is_given_by_name_or_as_an_object(cls):
    X, _ = rings()
    assert cls().fit(X).kernel_ == RBF(gamma=0.5)  # 1 / 2 features
    assert cls(gamma=3).fit(X).kernel_ == RBF(gamma=3.0)
    assert cls(kernel="laplacian", gamma="auto").fit(X).kernel_ == Laplacian(gamma=0.5)
    assert cls(gamma="scale").fit(X).kernel_ == RBF(gamma=1 / (2 * X.var()))
    assert cls(kernel=Matern(nu=2.5)).fit(X).kernel_ == Matern(nu=2.5)
    assert NystroemMap(kernel="poly", gamma=2.0, degree=2, coef0=3.0).fit(X).kernel_ == Polynomial(2, 2.0, 3.0)


@each
def test_the_same_seed_gives_the_same_map_and_another_seed_another(cls):
    X, _ = rings()
    one, same, other = (cls(10, random_state=seed).fit_transform(X) for seed in (0, np.random.RandomState(0), 1))
    assert not np.array_equal(one, other)
    if cls is RandomFourierMap:
        np.testing.assert_array_equal(one, same)
    np.testing.assert_array_equal(one, cls(10, random_state=0).fit_transform(X))


@each
def test_parameters_of_the_kernel_can_be_searched(cls):
    X, y = rings()
    pipe = make_pipeline(cls(30, kernel=RBF(gamma=1e-6), random_state=0), RidgeClassifier())
    name = cls.__name__.lower()
    search = GridSearchCV(pipe, {f"{name}__kernel__gamma": [1e-6, 1.0]}, cv=3, error_score="raise").fit(X, y)
    assert search.best_params_ == {f"{name}__kernel__gamma": 1.0}
    scores = search.cv_results_["mean_test_score"]
    assert scores[1] > 0.95 > scores[0]


def test_cross_validation_cuts_rows_and_columns_of_a_precomputed_matrix():
    X, y = rings()
    k = RBF(gamma=1.0)
    maps = (NystroemMap(10, kernel=kernel, random_state=0) for kernel in ("precomputed", k))
    given_values, named = (make_pipeline(nystroem, RidgeClassifier()) for nystroem in maps)
    scores = cross_val_score(given_values, k(X), y, cv=3, error_score="raise")
    np.testing.assert_allclose(scores, cross_val_score(named, X, y, cv=3))


def test_centers_by_leverage_scores_or_means_come_from_the_first_chunk_and_stay():
    X, _ = rings(60)
    for choice in ("leverage", "kmeans"):
        whole, chunked = (NystroemMap(12, center_choice=choice, random_state=0) for _ in range(2))
        before = chunked.partial_fit(X[:40]).transform(X)
        np.testing.assert_array_equal(before, whole.fit(X[:40]).transform(X))
        np.testing.assert_array_equal(before, chunked.partial_fit(X[40:]).transform(X))
        assert chunked.n_samples_seen_ == 60
        ids = whole.component_indices_
        assert (ids == -1).all() if choice == "kmeans" else len(set(ids.tolist())) == len(ids) == 12
        if choice == "leverage":
            np.testing.assert_array_equal(whole.components_, X[ids])
        assert NystroemMap(center_choice=choice).fit(X[:7]).n_components_ == 7


def test_means_are_refused_for_words_and_precomputed_matrices():
    for params, data in (({"kernel": words}, WORDS), ({"kernel": "precomputed"}, np.eye(4))):
        with pytest.raises(KindError, match='"kmeans" needs vectors'):
            NystroemMap(3, center_choice="kmeans", **params).fit(data)
        assert NystroemMap(3, center_choice="leverage", **params).fit(data).n_components_ == 3


def test_columns_are_numbered_and_there_are_as_many_as_the_names_say():
    X, _ = rings()
    assert NystroemMap(2).fit(X).get_feature_names_out().tolist() == ["nystroemmap0", "nystroemmap1"]
    names = RandomFourierMap(2).fit(X).get_feature_names_out().tolist()
    assert names == [f"randomfouriermap{i}" for i in range(4)]


def test_fewer_rows_than_components_are_all_centers():
    X, _ = rings(9)
    assert sorted(NystroemMap().fit(X).component_indices_.tolist()) == list(range(9))


# ---------------------------------------------------------------- bad input


@each
@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"n_components": 0}, ParameterError, "n_components must be a whole number >= 1; got 0"),
        ({"n_components": 2.5}, KindError, "n_components must be a whole number >= 1; got 2.5"),
        ({"kernel": "gauss"}, ParameterError, "kernel must be one of 'linear'.*got 'gauss'"),
        ({"kernel": 3}, KindError, "kernel must be a name such as 'rbf'"),
        ({"gamma": 0.0}, ParameterError, "gamma must be a finite number > 0; got 0.0"),
        ({"gamma": "large"}, ParameterError, "gamma must be a number > 0 or one of scale, auto, median; got 'large'"),
        ({"kernel": RBF(), "gamma": 2.0}, ParameterError, "gamma=2.0 has no effect on the kernel object"),
    ],
)
def test_parameters_that_cannot_be_used_are_refused(cls, params, error, message):
    with pytest.raises(error, match=message):
        cls(**params).fit(rings(6)[0])


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        (
            {"center_choice": "greedy"},
            ParameterError,
            "must be one of uniform, leverage, kmeans; got 'greedy'",
        ),
        ({"centers": np.ones((2, 3))}, ShapeError, "centers must have the 2 features of X; got 3"),
        ({"centers": [1.0, 2.0]}, ShapeError, "centers must have shape"),
        ({"centers": [[np.nan, 0.0]]}, ValuesError, "centers must be finite"),
        ({"kernel": "linear", "centers": [[0.0, 0.0]]}, GramError, "must be positive"),
        ({"kernel": (1000.0 * Linear()).exp()}, ValuesError, r"must give finite values on X.*Scale X"),
        ({"kernel": Chi2()}, ValuesError, "X must have no negative value"),
    ],
)
def test_centers_that_cannot_be_are_refused(params, error, message):
    nystroem = NystroemMap(**params)
    with pytest.raises(error, match=message):
        nystroem.fit(rings(6)[0])
    assert not hasattr(nystroem, "kernel_")


@pytest.mark.parametrize(
    ("centers", "error", "message"),
    [
        ([[0, 1]], KindError, r"centers must be row indices of X such as \[0, 3\]; got int64 of shape \(1, 2\)"),
        ([0.5], KindError, "got float64"),
        ([0, 6], ParameterError, "centers must be row indices of X from 0 to 5; got numbers from 0 to 6"),
    ],
)
def test_centers_of_a_precomputed_matrix_are_its_row_numbers(centers, error, message):
    with pytest.raises(error, match=message):
        NystroemMap(kernel=Precomputed(), centers=centers).fit(RBF()(rings(6)[0]))


def test_a_precomputed_matrix_cannot_grow():
    K = RBF()(rings(6)[0])
    with pytest.raises(KindError, match="cannot grow"):
        NystroemMap(kernel="precomputed").partial_fit(K).partial_fit(K)


def test_an_indefinite_kernel_is_refused_with_a_witness():
    X, k = rings(40)[0], Sigmoid(gamma=1.0, coef0=-1.0)
    with pytest.raises(GramError, match="no negative eigenvalue") as caught:
        NystroemMap(40, kernel=k, random_state=0).fit(X)
    assert caught.value.witness is not None
    K = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(GramError, match="no negative eigenvalue") as caught:
        NystroemMap(kernel="precomputed", centers=[0, 1]).fit(K)
    assert caught.value.witness @ K @ caught.value.witness == pytest.approx(-1.0)
    with pytest.raises(GramError, match="K_ij and K_ji differ"):
        NystroemMap(kernel=lambda A, B: A @ B.T + A.sum(axis=1)[:, None]).fit(X)
    with pytest.raises(GramError, match="no negative eigenvalue"):  # `partial_fit` only keeps rows
        NystroemMap(40, kernel=k, random_state=0).partial_fit(X).transform(X)


def test_a_kernel_that_is_not_valid_in_general_serves_where_its_gram_matrix_is():
    Phi = NystroemMap(kernel=Sigmoid(gamma=1.0, coef0=0.0)).fit_transform(np.eye(3))
    np.testing.assert_allclose(Phi @ Phi.T, np.tanh(1.0) * np.eye(3), atol=1e-15)


@pytest.mark.parametrize(
    "kernel", ["poly", "precomputed", Linear(), Chi2(), RBF() + Laplacian(), -1.0 * RBF(), np.dot], ids=str
)
def test_a_kernel_without_a_known_spectrum_is_refused_with_those_that_have_one(kernel):
    X = np.abs(rings(6)[0])
    with pytest.raises(ParameterError, match=r"must be RBF, Laplacian, Matern or RationalQuadratic.*NystroemMap takes"):
        RandomFourierMap(kernel=kernel).fit(X)


def test_rows_whose_kernel_values_overflow_are_refused():
    nystroem = NystroemMap(kernel=Linear().exp()).fit(rings(6)[0])
    with pytest.raises(ValuesError, match=r"must give finite values on X; got NaN or infinity"):
        nystroem.transform([[500.0, 500.0], [-500.0, -500.0]])


def test_rows_whose_phases_overflow_are_refused():
    fourier = RandomFourierMap(3, gamma=1e10, random_state=0).fit([[1.0, 2.0]])
    with pytest.raises(ValuesError, match=r"must be finite; got values of 1e\+308 in X.*Scale X"):
        fourier.transform([[1e308, -1e308]])


@each
def test_a_refused_call_changes_nothing(cls):
    X, _ = rings(12)
    named = pd.DataFrame(X, columns=["a", "b"])
    mapped = cls(5, random_state=0).fit(named)
    expected, taken = mapped.transform(named), mapped.state()
    for call in (mapped.partial_fit, mapped.transform):
        for bad in (np.zeros((3, 5)), [[np.nan, 0.0]]):
            with pytest.raises(ValueError, match=r"features|NaN"), pytest.warns(UserWarning, match="feature names"):
                call(bad)
    mapped.set_params(kernel="poly" if cls is RandomFourierMap else "precomputed")
    with pytest.raises(InputError):
        mapped.fit(pd.DataFrame(np.ones((2, 3)), columns=["c", "d", "e"]))
    mapped.set_params(kernel="rbf")
    assert mapped.state() == taken
    np.testing.assert_array_equal(mapped.transform(named), expected)
    assert mapped.feature_names_in_.tolist() == ["a", "b"]


@each
def test_an_unfitted_map_says_so(cls):
    with pytest.raises(NotFittedError):
        cls().transform([[1.0]])
    with pytest.raises(NotFittedError):
        cls().get_feature_names_out()
    assert not hasattr(cls(), "n_components_")


# ---------------------------------------------------------------- states

FITTED = {
    "polynomial": lambda X: PolynomialMap(3, coef0=0.0).fit(X),
    "eigen": lambda X: EigenMap(RBF(gamma=0.3), n_components=4).fit(X),
    "eigen, float32 CSR": lambda X: EigenMap(RBF(gamma=0.3)).fit(sp.csr_array(X.astype(np.float32))),
    "nystroem": lambda X: NystroemMap(7, random_state=3).fit(X),
    "nystroem, float32 CSR": lambda X: NystroemMap(7, random_state=3).fit(sp.csr_array(X.astype(np.float32))),
    "nystroem, chunks": lambda X: NystroemMap(7, random_state=3).partial_fit(X[:9]).partial_fit(X[9:]),
    "nystroem, centres": lambda X: NystroemMap(centers=X[:5].tolist(), kernel="laplacian").fit(X),
    "nystroem, means": lambda X: (
        NystroemMap(5, center_choice="kmeans", random_state=0).partial_fit(X[:15]).partial_fit(X[15:])
    ),
    "nystroem, frame": lambda X: NystroemMap(5).fit(pd.DataFrame(X, columns=["a", "b"])),
    "fourier": lambda X: RandomFourierMap(6, kernel=2.0 * Matern(nu=0.5), random_state=np.random.RandomState(0)).fit(X),
}


@pytest.mark.parametrize("make", FITTED.values(), ids=FITTED.keys())
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_a_map_of_a_state_is_the_same_map(make):
    X, _ = rings(20)
    mapped = make(X)
    state = mapped.state()
    plain = State(state.kind, state.version, from_json(to_json(state.settings)), state.arrays)
    for again in (from_state(state), type(mapped).from_state(plain), pickle.loads(pickle.dumps(mapped))):
        assert type(again) is type(mapped)
        assert again.state() == state
        for rows in (X, X.astype(np.float32), sp.csr_array(X)):
            assert abs(again.transform(rows) - mapped.transform(rows)).max() == 0
        assert again.get_feature_names_out().tolist() == mapped.get_feature_names_out().tolist()
        assert clone(again).get_params().keys() == mapped.get_params().keys()
        fitted = {name for name in vars(mapped) if name.endswith("_") or name == "_sample"}
        assert fitted <= set(vars(again))


@pytest.mark.parametrize("make", FITTED.values(), ids=FITTED.keys())
def test_a_state_of_a_map_that_was_not_fitted_has_its_parameters(make):
    unfitted = clone(make(rings(20)[0]))
    again = from_state(unfitted.state())
    assert again.state() == unfitted.state()
    assert not [name for name in vars(again) if name.endswith("_")]


@pytest.mark.parametrize("way", [lambda m: from_state(m.state()), copy.deepcopy], ids=["state", "deepcopy"])
def test_a_copy_in_the_middle_of_a_stream_draws_the_same_centers(way):
    X, _ = rings(200)
    nystroem = NystroemMap(9, random_state=0).partial_fit(X[:60])
    twin = way(nystroem)
    nystroem.partial_fit(X[60:])
    assert twin.n_samples_seen_ == 60
    twin.partial_fit(X[60:])
    assert max(twin.component_indices_) > 60
    np.testing.assert_array_equal(twin.transform(X), nystroem.transform(X))
    assert twin.state() == nystroem.state()


def test_maps_of_words_and_of_a_precomputed_matrix_have_states():
    X, _ = rings(12)
    K = RBF()(X)
    for mapped, data in [
        (EigenMap(words).fit(WORDS), WORDS),
        (NystroemMap(3, kernel=words).fit(WORDS), WORDS),
        (NystroemMap(kernel=words, centers=WORDS[:2]).fit(WORDS), WORDS),
        (EigenMap(Precomputed()).fit(K), K),
        (NystroemMap(5, kernel="precomputed").fit(K), K),
        (NystroemMap(kernel=Precomputed(), centers=[3, 1]).fit(K), K),
    ]:
        again = from_state(mapped.state())
        np.testing.assert_array_equal(again.transform(data), mapped.transform(data))
        assert again.state() == mapped.state()


def test_a_state_of_another_map_is_refused():
    with pytest.raises(InputError, match=r"kind 'estimator/NystroemMap' is needed; got .* 'estimator/EigenMap'"):
        NystroemMap.from_state(EigenMap().state())
