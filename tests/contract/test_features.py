"""The explicit maps as scikit-learn transformers."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline

from onkel.errors import GramError, KindError, ParameterError, ShapeError, ValuesError
from onkel.features import EigenMap, NystroemMap, PolynomialMap, RandomFourierMap
from onkel.kernels import RBF, Custom, Laplacian, Linear, Matern, Polynomial, Precomputed

MAPS = {
    "polynomial": PolynomialMap(),
    "eigen": EigenMap(),
    "composed": EigenMap(Matern(nu=1.5) + 0.1 * Linear(), n_components=5),
    "nystroem": NystroemMap(6, random_state=0),
    "fourier": RandomFourierMap(4, random_state=0),
}
each_map = pytest.mark.parametrize("estimator", MAPS.values(), ids=MAPS.keys())


def rings(n=80):
    """Two classes at radius 1 and 2: no line separates them, a square of the radius does."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    angle = rng.uniform(0, 2 * np.pi, n)
    return (1.0 + y)[:, None] * np.c_[np.cos(angle), np.sin(angle)] + 0.05 * rng.normal(size=(n, 2)), y


# ---------------------------------------------------------------- parameters


def test_set_params_reaches_into_the_kernel_and_builds_a_new_one():
    kernel = RBF(gamma=1.0)
    eigen = EigenMap(kernel)
    assert eigen.get_params()["kernel__gamma"] == 1.0
    assert eigen.set_params(kernel__gamma=2.0, n_components=3) is eigen
    assert eigen.kernel == RBF(gamma=2.0)
    assert eigen.n_components == 3
    assert kernel == RBF(gamma=1.0)


def test_set_params_reaches_the_parts_of_a_composed_kernel():
    eigen = EigenMap(RBF(gamma=1.0) + 2.0 * Laplacian(gamma=1.0))
    eigen.set_params(kernel__k1__gamma=3.0, kernel__k2__kernel__gamma=4.0, kernel__k2__factor=5.0)
    assert eigen.kernel == RBF(gamma=3.0) + 5.0 * Laplacian(gamma=4.0)


def test_a_kernel_set_in_the_same_call_is_the_one_whose_parameter_is_set():
    eigen = EigenMap(RBF(gamma=1.0)).set_params(kernel__degree=4, kernel=Polynomial(degree=2))
    assert eigen.kernel == Polynomial(degree=4)
    assert EigenMap().set_params(kernel=RBF(), kernel__gamma=7.0).kernel == RBF(gamma=7.0)


@pytest.mark.parametrize(
    ("kernel", "params", "message"),
    [
        (RBF(), {"kernel__gama": 1.0}, "RBF has no parameter 'gama'; it has gamma"),
        (RBF(), {"kernel__gamma": -1.0}, "gamma must be a finite number > 0; got -1.0"),
        (None, {"kernel__gamma": 1.0}, "kernel__gamma needs kernel to be a kernel object; it is None"),
        (RBF(), {"kern": 1.0}, "Invalid parameter 'kern'"),
        (RBF(), {"kern__gamma": 1.0}, "Invalid parameter 'kern'"),
    ],
)
def test_a_parameter_that_cannot_be_set_is_named_and_nothing_is_set(kernel, params, message):
    eigen = EigenMap(kernel)
    with pytest.raises(ValueError, match=message):
        eigen.set_params(**params)
    assert eigen.kernel == kernel
    with pytest.raises(ValueError, match=message):
        eigen.set_params(n_components=2, **{k: v for k, v in params.items() if k.startswith("kernel")} or params)
    if any(k.startswith("kernel") for k in params):
        assert eigen.n_components is None


def test_clones_have_the_same_kernel_and_are_not_fitted():
    X, _ = rings()
    eigen = EigenMap(RBF(gamma=0.7), n_components=4).fit(X)
    copy = clone(eigen)
    assert copy.kernel == RBF(gamma=0.7)
    assert not hasattr(copy, "eigenvalues_")
    copy.set_params(kernel__gamma=1.0)
    assert eigen.kernel == RBF(gamma=0.7)


def test_the_default_kernel_is_a_gaussian_by_the_number_of_features():
    X = np.random.default_rng(0).normal(size=(9, 4))
    eigen = EigenMap().fit(X)
    assert eigen.kernel is None
    assert eigen.kernel_ == RBF(gamma=0.25)


def test_a_grid_search_over_the_kernels_gamma_finds_a_better_one():
    X, y = rings()
    pipe = Pipeline([("eigenmap", EigenMap(RBF(gamma=1e-6), n_components=10)), ("classify", RidgeClassifier())])
    search = GridSearchCV(pipe, {"eigenmap__kernel__gamma": [1e-6, 1.0]}, cv=3, error_score="raise").fit(X, y)
    assert search.best_params_ == {"eigenmap__kernel__gamma": 1.0}
    assert search.best_estimator_["eigenmap"].kernel_ == RBF(gamma=1.0)
    scores = search.cv_results_["mean_test_score"]
    assert scores[1] > 0.95 > scores[0]


def test_a_linear_model_behind_the_polynomial_map_separates_rings():
    X, y = rings()
    assert cross_val_score(RidgeClassifier(), X, y, cv=3).mean() < 0.8
    assert cross_val_score(make_pipeline(PolynomialMap(), RidgeClassifier()), X, y, cv=3).mean() > 0.95


def test_cross_validation_cuts_rows_and_columns_of_a_precomputed_matrix():
    X, y = rings()
    k = RBF(gamma=1.0)
    model = make_pipeline(EigenMap(Precomputed(), n_components=10), RidgeClassifier())
    named = make_pipeline(EigenMap(k, n_components=10), RidgeClassifier())
    precomputed = cross_val_score(model, k(X), y, cv=3, error_score="raise")
    np.testing.assert_allclose(precomputed, cross_val_score(named, X, y, cv=3))


# ---------------------------------------------------------------- frames, names, pickles


@pytest.mark.parametrize(("output", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)])
@each_map
def test_set_output_gives_frames_with_the_names_of_the_features(estimator, output, frame):
    X, _ = rings(12)
    mapped = clone(estimator).set_output(transform=output)
    for table in (mapped.fit_transform(X), mapped.fit(X).transform(X)):
        assert isinstance(table, frame)
        assert list(table.columns) == mapped.get_feature_names_out().tolist()
        np.testing.assert_allclose(np.asarray(table), clone(estimator).fit(X).transform(X), atol=1e-12)


def test_monomials_are_named_after_the_columns_of_a_frame():
    X = pd.DataFrame({"age": [1.0, 2.0], "height": [3.0, 4.0]})
    H = PolynomialMap(degree=3).fit(X)
    assert H.get_feature_names_out().tolist() == [
        *("1", "age", "height", "age^2", "age height", "height^2"),
        *("age^3", "age^2 height", "age height^2", "height^3"),
    ]
    with pytest.raises(ParameterError, match="input_features is not equal to feature_names_in_"):
        H.get_feature_names_out(["height", "age"])
    assert H.set_params(coef0=0.0, degree=2).fit(X).get_feature_names_out().tolist() == [
        *("age^2", "age height", "height^2"),
    ]


def test_a_frame_without_names_takes_those_that_the_caller_gives():
    H = PolynomialMap(degree=1).fit(np.zeros((1, 2)))
    assert H.get_feature_names_out().tolist() == ["1", "x0", "x1"]
    assert H.get_feature_names_out(["a", "b"]).tolist() == ["1", "a", "b"]
    with pytest.raises(ShapeError, match=r"should have length equal to number of features \(2\), got 1"):
        H.get_feature_names_out(["a"])


def test_parameters_changed_after_fit_wait_for_the_next_fit():
    X, _ = rings(6)
    H = PolynomialMap().fit(X)
    before, names = H.transform(X), H.get_feature_names_out()
    H.set_params(degree=3, gamma=9.0, coef0=0.0)
    np.testing.assert_array_equal(H.transform(X), before)
    assert H.get_feature_names_out().tolist() == names.tolist()


def test_eigen_features_are_numbered():
    X, _ = rings(12)
    eigen = EigenMap(n_components=2).fit(X)
    assert eigen.get_feature_names_out().tolist() == ["eigenmap0", "eigenmap1"]


@each_map
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_a_pickled_map_maps_alike(estimator, convert):
    X = convert(rings(12)[0])
    mapped = clone(estimator).fit(X)
    again = pickle.loads(pickle.dumps(mapped))
    assert abs(again.transform(X) - mapped.transform(X)).max() == 0
    assert again.get_params() == mapped.get_params()


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"degree": 0}, ParameterError, "degree must be a whole number >= 1; got 0"),
        ({"degree": 2.5}, KindError, "degree must be a whole number >= 1; got 2.5"),
        ({"degree": True}, KindError, "degree must be a whole number"),
        ({"gamma": -0.1}, ParameterError, "gamma must be a finite number >= 0; got -0.1"),
        ({"gamma": "scale"}, KindError, "gamma must be a finite number >= 0; got 'scale'"),
        ({"coef0": -1.0}, ParameterError, "coef0 must be a finite number >= 0; got -1.0"),
        ({"coef0": np.inf}, ParameterError, "coef0 must be a finite number >= 0; got inf"),
        ({"degree": 3, "gamma": 1e200}, ParameterError, "coefficients must fit float64"),
    ],
)
def test_a_polynomial_map_that_cannot_be_is_refused_at_fit_with_its_parameter(params, error, message):
    with pytest.raises(error, match=message):
        PolynomialMap(**params).fit([[1.0, 2.0]])


def test_a_degree_whose_binomial_coefficients_overflow_is_refused():
    with pytest.raises(ParameterError, match="coefficients must fit float64; degree=1100"):
        PolynomialMap(degree=1100).fit([[1.0]])  # C(1100, 550) > 1e308


def test_a_map_of_too_many_columns_says_how_many_and_points_to_the_kernel():
    X = np.zeros((1, 784))
    with pytest.raises(ParameterError, match=r"makes 15,943,435,565\. Use onkel\.kernels\.Polynomial\(degree=4"):
        PolynomialMap(degree=4).fit(X)  # C(788, 4)
    with pytest.raises(ParameterError, match=r"makes about 10\^995"):
        PolynomialMap(degree=5000).fit(X)  # C(5784, 784): its logarithm is 994.92


@pytest.mark.parametrize("kernel", ["rbf", RBF, 3.0])
def test_what_is_no_kernel_object_is_refused_with_an_example_of_one(kernel):
    with pytest.raises(KindError, match=r"kernel must be a kernel object such as onkel\.kernels\.RBF\(gamma=0\.5\)"):
        EigenMap(kernel).fit([[1.0], [2.0]])


@pytest.mark.parametrize(
    ("n", "error"), [(0, ParameterError), (-3, ParameterError), (2.5, KindError), ("all", KindError)]
)
def test_a_number_of_components_that_is_none_is_refused(n, error):
    with pytest.raises(error, match=r"n_components must be a whole number >= 1; got .* None takes all"):
        EigenMap(n_components=n).fit([[1.0], [2.0]])


@pytest.mark.parametrize(
    ("K", "error", "message"),
    [
        ([[1.0, 2.0], [2.0, 1.0]], GramError, "no negative eigenvalue.*got -1 .*the largest is 3.*onkel.gram"),
        ([[1.0, 0.5], [0.2, 1.0]], GramError, "must be symmetric; got entries K_ij and K_ji that differ by 0.3"),
        ([[0.0, 0.0], [0.0, 0.0]], GramError, "must have a positive eigenvalue; got 0"),
        ([[1.0, 0.5, 0.2], [0.5, 1.0, 0.2]], ShapeError, "must be square"),
    ],
)
def test_a_matrix_that_is_no_gram_matrix_is_refused_with_its_fault(K, error, message):
    with pytest.raises(error, match=message):
        EigenMap(Precomputed()).fit(K)


def test_lengths_of_new_points_are_not_read_off_a_precomputed_block_that_happens_to_be_square():
    X, k = rings(6)[0], Polynomial(degree=2)
    eigen = EigenMap(Precomputed().normalized())
    Phi = eigen.fit_transform(k(X))
    np.testing.assert_allclose(Phi @ Phi.T, k.normalized()(X), atol=1e-12)
    with pytest.raises(ShapeError, match=r"the diagonal k\(x, x\) is known only"):
        eigen.transform(k(X + 1.0, X))


def test_the_witness_of_a_precomputed_matrix_proves_the_fault():
    K = np.array([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(GramError) as caught:
        EigenMap(Precomputed()).fit(K)
    b = caught.value.witness
    assert b @ K @ b == pytest.approx(-1.0)


def test_a_function_that_lies_about_being_valid_is_caught():
    liar = Custom(lambda X, Z: -X @ Z.T, psd=True)
    with pytest.raises(GramError, match="no negative eigenvalue"):
        EigenMap(liar).fit([[1.0], [2.0]])


def test_kernel_values_that_overflow_are_refused_with_advice():
    with np.errstate(over="ignore"), pytest.raises(ValuesError, match=r"must give finite values.*Scale X"):
        EigenMap(Linear().exp()).fit([[100.0], [1.0]])


def test_a_failed_fit_leaves_the_map_as_it_was():
    X, _ = rings(12)
    named = pd.DataFrame(X, columns=["a", "b"])
    for estimator, bad in [
        (EigenMap(Polynomial(degree=1, coef0=0.0)), np.zeros((3, 5))),  # no positive eigenvalue
        (PolynomialMap(degree=2), np.zeros((1, 5000))),  # 12.5 million columns
    ]:
        expected = estimator.fit(named).transform(named)
        with pytest.raises(ValueError, match=r"must have a positive|must make at most"):
            estimator.fit(pd.DataFrame(bad).rename(columns="c{}".format))
        assert estimator.n_features_in_ == 2
        assert estimator.feature_names_in_.tolist() == ["a", "b"]
        np.testing.assert_array_equal(estimator.transform(named), expected)
