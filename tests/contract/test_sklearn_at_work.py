"""Every estimator at work in scikit-learn: clones, parameters, grid searches, pipelines, calibration, routing."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
import sklearn
from contract.registered import (
    CLASSIFIERS,
    DETECTORS,
    EVERY,
    ONLINE_WITH_KERNEL,
    PERCEPTRONS,
    REGRESSORS,
    RIDGES,
    SVMS,
    WITH_KERNEL,
    WITH_TARGETS,
    assert_same,
    data,
    each,
    each_classifier,
    each_online_classifier,
    each_with_kernel,
    each_with_targets,
    exact,
    has,
    new,
    scores,
    shown,
)
from pairwise import pairwise
from sklearn.base import clone, is_classifier, is_outlier_detector, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from onkel import Forgetron, KernelPerceptron, Perceptron
from onkel.errors import ParameterError, ValuesError
from onkel.kernels import RBF, Laplacian, Polynomial, Precomputed

mpl.use("Agg")
pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")
each_with_both = pytest.mark.parametrize("cls", [cls for cls in WITH_KERNEL if cls in WITH_TARGETS])
NAMES = np.array(["no", "yes", "perhaps"])


def far_apart(cls, classes=3):
    """Classes with names that lines separate, or numbers."""
    X, y = data(cls, classes=classes, apart=5.0)
    return X, NAMES[y] if cls in CLASSIFIERS else y


@each
def test_each_is_of_its_kind(cls):
    kinds = [is_classifier(cls()), is_regressor(cls()), is_outlier_detector(cls())]
    assert kinds == [cls in CLASSIFIERS, cls in REGRESSORS, cls in DETECTORS]


# ---------------------------------------------------------------- parameters

OTHER_WAYS = [KernelPerceptron("poly", degree=2), KernelPerceptron(RBF(gamma=0.7), hypothesis="voted"), Perceptron()]


@pytest.mark.parametrize("estimator", [*map(new, EVERY), *OTHER_WAYS], ids=lambda one: repr(one)[:40])
def test_a_clone_has_the_parameters_and_nothing_that_was_learned(estimator):
    X, y = data(type(estimator))
    fitted = clone(estimator).set_params(**({"random_state": 0} if "random_state" in estimator.get_params() else {}))
    fitted.fit(X, y)
    twin = clone(fitted)
    assert twin.get_params() == fitted.get_params()
    assert [name for name in vars(twin) if name.endswith("_") or name.startswith("_")] == []
    assert shown(twin.fit(X, y), X) == shown(fitted, X)


@each_with_kernel
def test_parameters_reach_into_the_kernel_which_is_built_anew(cls):
    kernel = RBF(gamma=1.0)
    machine = cls(kernel=kernel)
    assert machine.get_params()["kernel__gamma"] == 1.0
    name = "max_iter" if has(cls, "max_iter") else "alphas"
    assert machine.set_params(kernel__gamma=2.0, **{name: 3}) is machine
    assert machine.kernel == RBF(gamma=2.0)
    assert getattr(machine, name) == 3
    assert kernel == RBF(gamma=1.0)
    with pytest.raises(ParameterError, match="kernel__gamma needs kernel to be a kernel object; it is 'rbf'"):
        cls(kernel="rbf").set_params(kernel__gamma=2.0)
    with pytest.raises(ValueError, match="Invalid parameter 'gama'"):
        machine.set_params(gama=1.0)


@each_with_kernel
def test_parameters_that_are_set_after_a_fit_wait_for_the_next_one(cls):
    X, y = data(cls)
    machine = new(cls).fit(X, y)
    before = shown(machine, X)
    machine.set_params(kernel="laplacian", gamma=3.0)
    assert shown(machine, X) == before
    machine.fit(X, y)
    assert (machine.kernel_, machine.gamma_) == (Laplacian(gamma=3.0), 3.0)
    assert_same(machine, new(cls, kernel="laplacian", gamma=3.0).fit(X, y), X)
    machine.set_params(kernel=RBF(gamma=0.5), gamma=cls().gamma).fit(X, y)
    assert not hasattr(machine, "gamma_")
    assert shown(machine, X) == before


@each_with_kernel
def test_a_second_fit_with_a_kernel_that_takes_other_data_is_a_fit_of_its_own(cls):
    X, y = data(cls, n=20)
    K = RBF(gamma=1.0)(X)
    machine = new(cls, kernel="rbf", gamma=1.0, **exact(cls)).fit(X, y)
    expected = scores(machine, X)
    machine.set_params(kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(scores(machine, K), expected, rtol=1e-9, atol=1e-9)
    machine.set_params(kernel="rbf").fit(X, y)
    np.testing.assert_array_equal(scores(machine, X), expected)
    machine.set_params(kernel="chi2")
    with pytest.raises(ValuesError, match=r"negative|>= 0"):
        machine.fit(X, y)


@pytest.mark.parametrize(
    ("cls", "given", "learn"),
    pairwise(
        ONLINE_WITH_KERNEL, [{"gamma": 0.5}, {"gamma": "auto"}, {"degree": 2}, {"coef0": 0.0}], ["fit", "partial_fit"]
    ),
)
def test_with_a_kernel_object_a_gamma_degree_or_coef0_of_ones_own_is_refused(cls, given, learn):
    (name,) = given
    message = rf"{name}=.* has no effect on the kernel object Polynomial.*kernel__{name}"
    machine = new(cls, kernel=Polynomial(degree=2), **given)
    with pytest.raises(ParameterError, match=message):
        getattr(machine, learn)(*data(cls))
    new(cls, kernel="rbf", **given).fit(*data(cls))  # with a name, what is not used is ignored


# ---------------------------------------------------------------- searches


@each_with_both
def test_a_grid_search_over_the_gamma_of_a_kernel_object_finds_the_better_one(cls):
    X, y = data(cls)
    machine = new(cls, kernel=RBF(gamma=1e6))  # under which all points are alike: unlike each other
    search = GridSearchCV(machine, {"kernel__gamma": [1e6, 0.5]}, cv=3, error_score="raise").fit(X, y)
    assert search.best_params_ == {"kernel__gamma": 0.5}
    assert search.best_estimator_.kernel_ == RBF(gamma=0.5)
    worse, better = search.cv_results_["mean_test_score"]
    assert better > 0.6 > worse


@each_with_both
def test_a_grid_of_names_gammas_and_degrees_runs_although_no_kernel_uses_all_of_them(cls):
    X, y = data(cls)
    names = ["rbf", "laplacian", "cosine"] if cls is Forgetron else ["rbf", "poly", "linear"]
    grid = {"kernel": names, "gamma": ["scale", 0.5], "degree": [1, 2]}
    machine = cls(**({"random_state": 0} if "random_state" in cls().get_params() else {}))
    search = GridSearchCV(machine, grid, cv=2, error_score="raise").fit(X, y)
    found = {
        (p["kernel"], p["gamma"], p["degree"]): score
        for p, score in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True)
    }
    assert len(found) == 12
    assert np.isfinite(list(found.values())).all()
    for name, gamma, degree in found:
        if name != "poly":
            assert found[name, gamma, degree] == found[name, gamma, 1]
        if name in ("linear", "cosine"):
            assert found[name, gamma, degree] == found[name, "scale", 1]
    if cls in REGRESSORS:  # every classifier may be right with either degree
        assert found["poly", 0.5, 1] != found["poly", 0.5, 2]


def test_a_grid_search_in_two_processes_is_the_one_in_one():
    for cls in WITH_TARGETS:
        grid = (
            {"C": [0.5, 1.0]}
            if cls in SVMS
            else {"kernel__gamma": [0.5, 1.0]}
            if cls in RIDGES
            else {"max_iter": [1, 5]}
        )
        X, y = far_apart(cls, classes=2)
        one = GridSearchCV(new(cls), grid, cv=3, error_score="raise").fit(X, y)
        two = GridSearchCV(new(cls), grid, cv=3, error_score="raise", n_jobs=2).fit(X, y)
        np.testing.assert_array_equal(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"])
        assert two.best_score_ > 0.95 or cls in REGRESSORS


@each_with_both
def test_cross_validation_of_a_precomputed_matrix_cuts_its_rows_and_columns(cls):
    X, y = data(cls)
    K = RBF(gamma=0.5)(X)
    on_points = cross_val_score(new(cls), X, y, cv=3, error_score="raise")
    for kernel in ("precomputed", Precomputed()):
        on_matrix = cross_val_score(new(cls, kernel=kernel), K, y, cv=3, error_score="raise")
        np.testing.assert_allclose(on_matrix, on_points, rtol=1e-9)
    assert on_points.mean() > 0.6


# ---------------------------------------------------------------- around an estimator


@each_with_targets
def test_a_pipeline_hands_over_scaled_data_and_predicts_the_labels(cls):
    X, y = far_apart(cls)
    X = X * [1.0, 1e4]  # without scaling a Gaussian kernel sees the second column only
    scaled = StandardScaler().fit_transform(X)
    pipe = make_pipeline(StandardScaler(), new(cls)).fit(X, y)
    by_hand = new(cls).fit(scaled, y)
    np.testing.assert_array_equal(pipe.predict(X), by_hand.predict(scaled))
    np.testing.assert_array_equal(scores(by_hand, scaled), scores(pipe[-1], scaled))
    assert pipe.score(X, y) == 1.0 if cls in PERCEPTRONS else pipe.score(X, y) > 0.5


@each_classifier
def test_probabilities_can_be_had_by_calibration(cls):
    X, y = far_apart(cls)
    calibrated = CalibratedClassifierCV(new(cls), cv=3).fit(X, y)
    p = calibrated.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert (calibrated.classes_[p.argmax(axis=1)] == y).mean() > 0.9


@each_classifier
def test_scikit_learn_draws_the_boundary(cls):
    import matplotlib.pyplot as plt

    for classes, method in ((2, "decision_function"), (3, "predict")):
        X, y = data(cls, classes=classes)
        machine = new(cls).fit(X, y)
        shown = DecisionBoundaryDisplay.from_estimator(machine, X, response_method=method, grid_resolution=12)
        grid = np.c_[shown.xx0.ravel(), shown.xx1.ravel()]
        np.testing.assert_allclose(np.ravel(shown.response), getattr(machine, method)(grid))
    plt.close("all")


@each_online_classifier
def test_sample_weights_are_routed_where_they_were_asked_for(cls):
    X, y = data(cls)
    w = np.where(np.arange(len(y)) % 3 == 0, 0.0, 2.0)
    with sklearn.config_context(enable_metadata_routing=True):
        asked = new(cls).set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), asked)
        routed = pipe.fit(X, y, sample_weight=w)[-1]
        scaled = StandardScaler().fit_transform(X)
        by_hand = new(cls).fit(scaled, y, sample_weight=w)
        assert shown(routed, scaled)["scores"] == shown(by_hand, scaled)["scores"]
        np.testing.assert_array_equal(routed.mistakes_, by_hand.mistakes_)
        if cls in PERCEPTRONS:
            assert (np.abs(routed.mistakes_["step"]) == 2.0).all()
        options = {"cv": 2, "params": {"sample_weight": w}, "error_score": "raise"}
        got = cross_validate(asked, X, y, return_estimator=True, return_indices=True, **options)
        for fitted, train in zip(got["estimator"], got["indices"]["train"], strict=True):
            assert_same(fitted, new(cls).fit(X[train], y[train], sample_weight=w[train]), X)
        plain = new(cls).set_fit_request(sample_weight=False).set_score_request(sample_weight=False)
        with pytest.raises(TypeError, match="sample_weight"):
            cross_validate(plain, X, y, **options)
        requests = cls().set_partial_fit_request(classes=True, sample_weight=False).get_metadata_routing()
        assert requests.partial_fit.requests == {"classes": True, "sample_weight": False}
