"""The perceptrons as scikit-learn classifiers: at work, with bad input, watched and interrupted."""

from __future__ import annotations

import dataclasses
import pickle
import signal

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from contract.bad_calls import BAD_CALLS, BAD_CLASSES, BAD_LABELS, BAD_X, BAD_Y
from perceptron_modules import patch_learner
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onkel.learners.linear_perceptron
import onkel.models.vote
from onkel import KernelPerceptron, Perceptron
from onkel.errors import GramError, InputError, KindError, ParameterError, ShapeError, ValuesError
from onkel.kernels import RBF, Custom, Laplacian, Linear, Polynomial, Precomputed
from onkel.learners import kernel_perceptron
from onkel.models.expansion import Expansion
from onkel.models.vote import Vote

mpl.use("Agg")
BOTH = pytest.mark.parametrize("cls", [KernelPerceptron, Perceptron])
HYPOTHESES = ["averaged", "voted", "last", "random", "best"]
pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def rings(n=80, seed=0):
    """Two classes at radius 1 and 2: no line separates them, a Gaussian kernel does."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    angle = rng.uniform(0, 2 * np.pi, n)
    return (1.0 + y)[:, None] * np.c_[np.cos(angle), np.sin(angle)] + 0.05 * rng.normal(size=(n, 2)), y


def blobs(n=60, classes=2, seed=0):
    """Classes around the corners of a square, far from one another: lines separate them."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    centres = 5.0 * np.array([[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])
    return centres[y] + 0.5 * rng.normal(size=(n, 2)), y


def labels(y, names=("no", "yes", "perhaps")):
    return np.array(names)[y]


# ---------------------------------------------------------------- scikit-learn at work


def test_a_grid_search_over_the_gamma_of_a_kernel_object_finds_the_better_one():
    X, y = rings()
    search = GridSearchCV(
        KernelPerceptron(RBF(gamma=1e-6), random_state=0), {"kernel__gamma": [1e-6, 1.0]}, cv=3, error_score="raise"
    ).fit(X, y)
    assert search.best_params_ == {"kernel__gamma": 1.0}
    assert search.best_estimator_.kernel_ == RBF(gamma=1.0)
    worse, better = search.cv_results_["mean_test_score"]
    assert better > 0.9 > worse


def test_a_grid_of_names_gammas_and_degrees_runs_although_no_kernel_uses_all_of_them():
    X, y = rings()
    grid = {"kernel": ["linear", "rbf", "poly"], "gamma": ["scale", 1.0], "degree": [1, 2]}
    search = GridSearchCV(KernelPerceptron(random_state=0), grid, cv=3, error_score="raise").fit(X, y)
    scores = {
        (p["kernel"], p["gamma"], p["degree"]): s
        for p, s in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True)
    }
    assert len(scores) == 12
    assert scores["linear", "scale", 1] == scores["linear", 1.0, 2]
    assert scores["rbf", 1.0, 1] == scores["rbf", 1.0, 2] > 0.9
    assert scores["poly", 1.0, 2] > 0.9 > scores["poly", 1.0, 1]


@pytest.mark.parametrize("estimator", [KernelPerceptron(random_state=0), Perceptron(random_state=0)])
def test_a_grid_search_in_two_processes_is_the_one_in_one(estimator):
    X, y = blobs()
    grid = {"max_iter": [1, 5], "hypothesis": ["last", "averaged"]}
    one = GridSearchCV(estimator, grid, cv=3, error_score="raise").fit(X, y)
    two = GridSearchCV(estimator, grid, cv=3, error_score="raise", n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"])
    assert two.best_score_ > 0.95


@BOTH
def test_a_pipeline_hands_over_scaled_data_and_predicts_the_labels(cls):
    X, y = blobs(classes=3)
    X = X * [1.0, 1e4]  # without scaling a Gaussian kernel sees the second column only
    pipe = make_pipeline(StandardScaler(), cls(random_state=0)).fit(X, labels(y))
    assert pipe.score(X, labels(y)) == 1.0
    by_hand = cls(random_state=0).fit(StandardScaler().fit_transform(X), labels(y))
    np.testing.assert_allclose(pipe.decision_function(X), by_hand.decision_function(StandardScaler().fit_transform(X)))


@pytest.mark.parametrize(
    "estimator",
    [KernelPerceptron("poly", degree=2), KernelPerceptron(RBF(gamma=0.7), hypothesis="voted"), Perceptron(max_iter=3)],
    ids=["names", "kernel object", "primal"],
)
def test_a_clone_has_the_parameters_and_nothing_that_was_learned(estimator):
    X, y = blobs()
    fitted = clone(estimator).set_params(random_state=0).fit(X, y)
    twin = clone(fitted)
    assert twin.get_params() == fitted.get_params()
    assert [name for name in vars(twin) if name.endswith("_") or name.startswith("_")] == []
    np.testing.assert_array_equal(twin.fit(X, y).decision_function(X), fitted.decision_function(X))


def test_parameters_reach_into_the_kernel_which_is_built_anew():
    kernel = RBF(gamma=1.0)
    machine = KernelPerceptron(kernel)
    assert machine.get_params()["kernel__gamma"] == 1.0
    assert machine.set_params(kernel__gamma=2.0, max_iter=3) is machine
    assert machine.kernel == RBF(gamma=2.0)
    assert kernel == RBF(gamma=1.0)
    with pytest.raises(ParameterError, match="kernel__gamma needs kernel to be a kernel object; it is 'rbf'"):
        KernelPerceptron("rbf").set_params(kernel__gamma=2.0)
    with pytest.raises(ValueError, match="Invalid parameter 'gama'"):
        machine.set_params(gama=1.0)


def test_a_parameter_that_is_set_after_a_fit_waits_for_the_next_one():
    X, y = rings()
    machine = KernelPerceptron(random_state=0, gamma=1.0).fit(X, y)
    before = machine.decision_function(X)
    machine.set_params(gamma=5.0, kernel="poly", degree=2)
    np.testing.assert_array_equal(machine.decision_function(X), before)
    expected = KernelPerceptron("poly", gamma=5.0, degree=2, random_state=0).fit(X, y)
    np.testing.assert_array_equal(machine.fit(X, y).decision_function(X), expected.decision_function(X))


def test_a_second_fit_with_a_kernel_that_takes_other_data_is_a_fit_of_its_own():
    X, y = rings(20)
    K = RBF(gamma=1.0)(X)
    machine = KernelPerceptron("rbf", gamma=1.0, random_state=0).fit(X, y)
    expected = machine.decision_function(X)
    machine.set_params(kernel="precomputed").fit(K, y)
    np.testing.assert_allclose(machine.decision_function(K), expected, rtol=1e-12)
    machine.set_params(kernel="rbf").fit(X, y)
    np.testing.assert_allclose(machine.decision_function(X), expected, rtol=1e-12)
    machine.set_params(kernel="chi2")
    with pytest.raises(ValuesError, match=r"negative|>= 0"):
        machine.fit(X, y)


def test_a_second_fit_with_a_kernel_object_leaves_no_gamma_of_the_first_behind():
    X, y = rings(20)
    machine = KernelPerceptron("rbf", gamma=3.0).fit(X, y)
    assert machine.gamma_ == 3.0
    machine.set_params(kernel=RBF(gamma=1.0), gamma="scale").fit(X, y)
    assert machine.kernel_ == RBF(gamma=1.0)
    assert getattr(machine, "gamma_", 1.0) == 1.0


@BOTH
def test_probabilities_can_be_had_by_calibration(cls):
    X, y = blobs(classes=3)
    calibrated = CalibratedClassifierCV(cls(random_state=0), cv=3).fit(X, labels(y))
    p = calibrated.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    assert (calibrated.classes_[p.argmax(axis=1)] == labels(y)).mean() > 0.9


def test_cross_validation_of_a_precomputed_matrix_cuts_its_rows_and_columns():
    X, y = rings()
    K = RBF(gamma=1.0)(X)
    options = {"random_state": 0, "hypothesis": "last"}
    on_points = cross_val_score(KernelPerceptron(RBF(gamma=1.0), **options), X, y, cv=3, error_score="raise")
    for kernel in ("precomputed", Precomputed()):
        on_matrix = cross_val_score(KernelPerceptron(kernel, **options), K, y, cv=3, error_score="raise")
        np.testing.assert_array_equal(on_matrix, on_points)
    assert on_points.mean() > 0.9


@BOTH
@pytest.mark.parametrize("classes", [2, 3])
def test_scikit_learn_draws_the_boundary(cls, classes):
    import matplotlib.pyplot as plt

    X, y = blobs(classes=classes)
    machine = cls(random_state=0).fit(X, y)
    method = "decision_function" if classes == 2 else "predict"
    shown = DecisionBoundaryDisplay.from_estimator(machine, X, response_method=method, grid_resolution=12)
    grid = np.c_[shown.xx0.ravel(), shown.xx1.ravel()]
    np.testing.assert_allclose(np.ravel(shown.response), getattr(machine, method)(grid))
    plt.close("all")


@BOTH
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_a_pickled_machine_predicts_alike_and_goes_on_alike(cls, convert):
    X, y = blobs(classes=3)
    rows = convert(X)
    machine = cls(random_state=0).fit(rows[:40], y[:40])
    again = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(again.decision_function(rows), machine.decision_function(rows))
    np.testing.assert_array_equal(again.predict(rows), machine.predict(rows))
    assert again.get_params() == machine.get_params()
    fitted = machine.n_mistakes_
    for x, label in zip(X[40:], (y[40:] + 1) % 3, strict=True):  # other labels, so that there are mistakes to be made
        assert again.predict_one(x) == machine.predict_one(x)
        again.learn_one(x, label)
        machine.learn_one(x, label)
    assert machine.n_mistakes_ > fitted
    np.testing.assert_array_equal(again.mistakes_, machine.mistakes_)
    np.testing.assert_array_equal(again.decision_function(rows), machine.decision_function(rows))


@pytest.mark.parametrize("hypothesis", HYPOTHESES)
def test_every_hypothesis_survives_a_pickle(hypothesis):
    X, y = rings()
    machine = KernelPerceptron(hypothesis=hypothesis, random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(again.decision_function(X + 0.1), machine.decision_function(X + 0.1))
    assert again.model_ == machine.model_


@BOTH
def test_sample_weights_are_routed_where_they_were_asked_for(cls):
    X, y = blobs()
    w = np.where(np.arange(len(y)) % 3 == 0, 0.0, 2.0)
    with sklearn.config_context(enable_metadata_routing=True):
        asked = cls(random_state=0).set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), asked)
        routed = pipe.fit(X, y, sample_weight=w)[-1]
        by_hand = cls(random_state=0).fit(StandardScaler().fit_transform(X), y, sample_weight=w)
        np.testing.assert_array_equal(routed.mistakes_, by_hand.mistakes_)
        assert (np.abs(routed.mistakes_["step"]) == 2.0).all()
        got = cross_validate(asked, X, y, cv=2, params={"sample_weight": w}, return_estimator=True, error_score="raise")
        assert all((np.abs(e.mistakes_["step"]) == 2.0).all() for e in got["estimator"])
        plain = cls().set_fit_request(sample_weight=False).set_score_request(sample_weight=False)
        with pytest.raises(TypeError, match="sample_weight"):
            cross_validate(plain, X, y, cv=2, params={"sample_weight": w}, error_score="raise")
        requests = cls().set_partial_fit_request(classes=True, sample_weight=False).get_metadata_routing()
        assert requests.partial_fit.requests == {"classes": True, "sample_weight": False}


# ---------------------------------------------------------------- what data comes in

# scikit-learn 1.6 reads the column names of a polars frame only where pyarrow is installed, too
OLD = tuple(int(part) for part in sklearn.__version__.split(".")[:2]) < (1, 7)
FRAMES = [
    pytest.param(pd.DataFrame, id="pandas"),
    pytest.param(
        pl.DataFrame, id="polars", marks=pytest.mark.skipif(OLD, reason="scikit-learn 1.6 needs pyarrow for it")
    ),
]


@BOTH
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.filterwarnings("error:X does not have valid feature names")
def test_frames_give_the_names_of_the_features_and_other_columns_are_refused(cls, frame):
    X, y = blobs()
    table = frame({"age": X[:, 0], "height": X[:, 1]})
    turned = frame({"height": X[:, 1], "age": X[:, 0]})
    for machine in (cls(random_state=0).fit(table, y), cls(random_state=0).partial_fit(table, y)):
        assert machine.feature_names_in_.tolist() == ["age", "height"]
        assert machine.n_features_in_ == 2
        twin = cls(random_state=0).fit(X, y) if machine.n_iter_ > 1 or machine.converged_ else None
        if twin is not None:
            np.testing.assert_allclose(machine.decision_function(table), twin.decision_function(X), rtol=1e-12)
        for call in (
            lambda m=machine: m.predict(turned),
            lambda m=machine: m.partial_fit(turned, y),
        ):
            with pytest.raises(ValueError, match="Feature names must be in the same order as they were in fit"):
                call()
    assert not hasattr(cls().fit(X, y), "feature_names_in_")


@BOTH
def test_read_only_memory_maps_are_learned_from_as_arrays_are(cls, tmp_path):
    X, y = blobs(classes=3)
    w = np.linspace(1.0, 2.0, len(y))
    maps = []
    for name, array in (("X", X), ("y", y), ("w", w)):
        np.save(tmp_path / f"{name}.npy", array)
        maps.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    U, v, u = maps
    assert not U.flags.writeable
    mapped = cls(random_state=0).fit(U, v, sample_weight=u)
    expected = cls(random_state=0).fit(X, y, sample_weight=w)
    np.testing.assert_array_equal(mapped.mistakes_, expected.mistakes_)
    np.testing.assert_array_equal(mapped.decision_function(U), expected.decision_function(X))
    mapped.partial_fit(U, v, sample_weight=u).learn_one(U[0], v[0])
    expected.partial_fit(X, y, sample_weight=w).learn_one(X[0], y[0])
    np.testing.assert_array_equal(mapped.mistakes_, expected.mistakes_)
    assert mapped.predict_one(U[1]) == expected.predict_one(X[1])


@BOTH
def test_read_only_sparse_rows_are_learned_from_too(cls):
    X, y = blobs()
    rows = sp.csr_array(X)
    for part in (rows.data, rows.indices, rows.indptr):
        part.setflags(write=False)
    machine = cls(random_state=0).fit(rows, y).partial_fit(rows, y)
    np.testing.assert_array_equal(machine.mistakes_, cls(random_state=0).fit(X, y).partial_fit(X, y).mistakes_)


@BOTH
@pytest.mark.parametrize("turn", ["sparse first", "dense first"])
def test_dense_and_sparse_rows_may_take_turns(cls, turn):
    X, y = blobs(classes=3)
    options = {"kernel": Linear()} if cls is KernelPerceptron else {}
    dense, mixed = cls(**options), cls(**options)
    for i, start in enumerate(range(0, 60, 15)):
        part = slice(start, start + 15)
        dense.partial_fit(X[part], y[part], classes=[0, 1, 2])
        sparse = i % 2 == (turn == "dense first")
        mixed.partial_fit(sp.csr_array(X[part]) if sparse else X[part], y[part], classes=[0, 1, 2])
    np.testing.assert_array_equal(mixed.mistakes_, dense.mistakes_)
    np.testing.assert_allclose(mixed.decision_function(X), dense.decision_function(X), atol=1e-12)
    np.testing.assert_allclose(mixed.decision_function(sp.csr_array(X)), dense.decision_function(X), atol=1e-12)


# ---------------------------------------------------------------- gamma and kernels

SQUARE = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0], [3.0, 4.0]])


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    ("gamma", "number"),
    [
        # entries 0 0 3 0 0 4 3 4: mean 14/8 = 1.75, mean square 50/8 = 6.25, variance 6.25 − 3.0625 = 3.1875
        ("scale", 1.0 / (2 * 3.1875)),
        ("auto", 0.5),
        # squared distances of the six pairs 9 16 25 25 16 9, in order 9 9 16 16 25 25
        ("median", 1.0 / 16.0),
        (0.3, 0.3),
    ],
)
def test_gamma_is_what_it_says(gamma, number, convert):
    machine = KernelPerceptron(gamma=gamma).fit(convert(SQUARE), [0, 1, 1, 0])
    assert machine.gamma_ == pytest.approx(number, rel=1e-12)
    assert machine.kernel_ == RBF(gamma=machine.gamma_)
    assert machine.gamma == gamma


def test_scale_is_that_of_scikit_learn():
    from sklearn.svm import SVC

    X, y = blobs()
    machine = KernelPerceptron().fit(X, y)
    assert machine.gamma_ == pytest.approx(SVC().fit(X, y)._gamma, rel=1e-12)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_points_that_are_all_equal_have_a_gamma_too(convert):
    X = convert(np.zeros((4, 2)))
    for gamma in ("scale", "median"):
        with pytest.warns(sklearn.exceptions.ConvergenceWarning, match="equal to another row"):
            machine = KernelPerceptron(gamma=gamma).fit(X, [0, 1, 0, 1])
        assert machine.gamma_ == 1.0


def test_repeated_rows_do_not_count_in_the_median_however_they_round():
    rng = np.random.default_rng(0)
    two = 1e3 + rng.normal(size=(2, 7))
    X = np.repeat(two, 10, axis=0)  # 90 of 190 pairs are equal points; the other 100 are all equally far
    machine = KernelPerceptron(gamma="median").fit(X, [0] * 10 + [1] * 10)
    assert machine.gamma_ == pytest.approx(1.0 / np.square(two[0] - two[1]).sum(), rel=1e-6)


@pytest.mark.parametrize("gamma", ["scale", "median"])
def test_gamma_is_resolved_by_the_first_call_that_brings_data_and_kept(gamma):
    X, y = blobs()
    machine = KernelPerceptron(gamma=gamma).partial_fit(X[:10], y[:10], classes=[0, 1])
    first = machine.gamma_
    assert first == KernelPerceptron(gamma=gamma).fit(X[:10], y[:10]).gamma_
    machine.partial_fit(100.0 * X, y).learn_one(7.0 * X[0], y[0])
    assert machine.gamma_ == first
    assert machine.kernel_ == RBF(gamma=first)
    assert machine.fit(100.0 * X, y).gamma_ < first / 100


@pytest.mark.parametrize(
    ("gamma", "error", "message"),
    [
        ("big", ParameterError, "gamma must be a number > 0 or one of scale, auto, median; got 'big'"),
        (0.0, ParameterError, "gamma must be a finite number > 0; got 0.0"),
        (-1.0, ParameterError, "gamma must be a finite number > 0; got -1.0"),
        (np.nan, ParameterError, "gamma must be a finite number > 0; got nan"),
        (None, KindError, "gamma must be a finite number > 0; got None"),
    ],
)
def test_a_gamma_that_is_none_is_refused(gamma, error, message):
    with pytest.raises(error, match=message):
        KernelPerceptron(gamma=gamma).fit(*blobs())


@pytest.mark.parametrize("given", [{"gamma": 0.5}, {"gamma": "auto"}, {"degree": 2}, {"coef0": 0.0}])
def test_with_a_kernel_object_a_gamma_degree_or_coef0_of_ones_own_is_refused(given):
    X, y = blobs()
    (name,) = given
    message = rf"{name}=.* has no effect on the kernel object Polynomial.*kernel__{name}"
    for learn in ("fit", "partial_fit"):
        with pytest.raises(ParameterError, match=message):
            getattr(KernelPerceptron(Polynomial(degree=2), **given), learn)(X, y)
    KernelPerceptron("rbf", **given).fit(X, y)  # with a name, what is not used is ignored


@pytest.mark.parametrize("given", [{"degree": 3.0}, {"coef0": 1}, {"coef0": np.float32(1.0)}, {"degree": np.int64(3)}])
def test_a_default_that_is_written_as_another_kind_of_number_is_still_the_default(given):
    X, y = blobs()
    assert KernelPerceptron(RBF(), **given).fit(X, y).kernel_ == RBF()


def test_a_function_is_a_kernel():
    X, y = rings()

    def square(A, B):
        return (A @ B.T + 1.0) ** 2

    by_function = KernelPerceptron(square, random_state=0).fit(X, y)
    by_name = KernelPerceptron("poly", degree=2, gamma=1.0, coef0=1.0, random_state=0).fit(X, y)
    assert by_function.kernel_ == Custom(square)
    np.testing.assert_array_equal(by_function.mistakes_, by_name.mistakes_)
    np.testing.assert_allclose(by_function.decision_function(X), by_name.decision_function(X), rtol=1e-9)


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("linear", Linear()),
        ("poly", Polynomial(degree=2, gamma=0.5, coef0=3.0)),
        ("rbf", RBF(gamma=0.5)),
        ("laplacian", Laplacian(gamma=0.5)),
    ],
)
def test_a_name_means_the_kernel_of_that_name_with_these_parameters(name, kernel):
    machine = KernelPerceptron(name, gamma=0.5, degree=2, coef0=3.0).fit(*blobs())
    assert machine.kernel_ == kernel


def test_other_names_and_things_are_no_kernels():
    X, y = blobs()
    with pytest.raises(ParameterError, match=r"kernel must be one of 'linear', 'poly', 'rbf'.*; got 'gauss'"):
        KernelPerceptron("gauss").fit(X, y)
    with pytest.raises(KindError, match=r"kernel must be a name such as 'rbf', a function or a Kernel; got 3"):
        KernelPerceptron(3.0).fit(X, y)


def test_objects_are_learned_from_by_a_kernel_that_takes_them():
    words, y = ["aab", "abb", "xyz", "xxy", "ab", "zy"], ["early", "early", "late", "late", "early", "late"]
    kernel = Custom(lambda a, b: len(set(a) & set(b)), pairwise=True, takes="objects")
    machine = KernelPerceptron(kernel, shuffle=False).fit(words, y)
    assert machine.predict(["ba", "zx"]).tolist() == ["early", "late"]
    assert machine.learn_one("q", "late").predict_one("bb") == "early"
    with pytest.raises(ShapeError, match=r"y must give a label per object, shape \(6,\); got \(5,\)"):
        machine.fit(words, y[:5])


# ---------------------------------------------------------------- precomputed


def test_a_precomputed_matrix_that_is_not_symmetric_is_refused():
    K = np.array([[1.0, 0.5, 0.0], [0.2, 1.0, 0.0], [0.0, 0.0, 1.0]])
    with pytest.raises(GramError, match=r"must be symmetric; got .*K_ij and K_ji that differ by 0\.3.*\(K \+ K"):
        KernelPerceptron("precomputed").fit(K, [0, 1, 0])


def test_a_precomputed_matrix_that_is_not_square_is_refused():
    with pytest.raises(ValueError, match="square"):
        KernelPerceptron("precomputed").fit(np.ones((3, 2)), [0, 1, 0])
    fitted = KernelPerceptron("precomputed").fit(np.eye(3), [0, 1, 0])
    with pytest.raises(ValueError, match="expecting 3 features"):
        fitted.predict(np.ones((4, 2)))


def test_a_small_precomputed_matrix_that_is_not_valid_is_told_of():
    K = np.array([[1.0, 2.0], [2.0, 1.0]])  # eigenvalues 3 and −1
    with pytest.warns(UserWarning, match=r"not positive semi-definite, so no theorem.*nearest_psd\(K\) repairs it"):
        KernelPerceptron("precomputed").fit(K, [0, 1])


def test_a_precomputed_matrix_that_was_found_valid_has_a_certificate():
    X, y = rings(30)
    K = RBF(gamma=1.0)(X)
    machine = KernelPerceptron("precomputed", random_state=0, max_iter=100).fit(K, y)
    expected = KernelPerceptron(RBF(gamma=1.0), random_state=0, max_iter=100).fit(X, y).certificate_
    seen = machine.certificate_
    assert machine.converged_
    assert (seen.mistakes, seen.form, seen.holds) == (expected.mistakes, expected.form, True)
    assert seen.bound == pytest.approx(expected.bound, rel=1e-9)
    assert seen.mistakes <= seen.bound < machine.n_rounds_
    assert pickle.loads(pickle.dumps(machine)).certificate_ == seen


def test_a_precomputed_matrix_that_was_found_invalid_has_none_and_says_so():
    K = np.array([[1.0, -2.0], [-2.0, 1.0]])  # eigenvalues 3 and −1, and yet y v·x > 0 for both rows
    with pytest.warns(UserWarning, match="not positive semi-definite"):
        machine = KernelPerceptron("precomputed", shuffle=False).fit(K, [0, 1])
    assert machine.converged_
    assert machine.certificate_.bound is None
    assert "the kernel is not positive semi-definite" in machine.certificate_.reason


@pytest.mark.parametrize(("n", "kernel"), [(501, Precomputed()), (20, 2.0 * Precomputed())], ids=["large", "composed"])
def test_a_matrix_that_was_not_examined_has_no_certificate(n, kernel):
    """More than 500 rows are not, nor is what a kernel makes of the given matrix."""
    machine = KernelPerceptron(kernel, max_iter=100, random_state=0).fit(np.eye(n), np.arange(n) % 2)
    assert machine.converged_
    assert machine.certificate_.bound is None
    assert "whether the kernel is positive semi-definite is unknown" in machine.certificate_.reason


def test_rows_of_no_weight_are_absent_from_a_precomputed_matrix_too():
    X, y = rings(30)
    w = np.where(np.arange(30) % 3 == 0, 0.0, 1.0)
    K = RBF(gamma=1.0)(X)
    K[0, 1] = 10.0  # neither symmetric nor valid, were row 0 there
    machine = KernelPerceptron("precomputed", random_state=0).fit(K, y, sample_weight=w)
    expected = KernelPerceptron(RBF(gamma=1.0), random_state=0).fit(X, y, sample_weight=w)
    np.testing.assert_array_equal(machine.mistakes_, expected.mistakes_)
    np.testing.assert_allclose(machine.decision_function(K)[w > 0], expected.decision_function(X)[w > 0], atol=1e-12)
    assert machine.certificate_.bound == pytest.approx(expected.certificate_.bound, rel=1e-9)


@pytest.mark.filterwarnings("error")
def test_a_valid_precomputed_matrix_raises_no_warning_and_predicts_as_the_kernel_does():
    X, y = rings(30)
    K = RBF(gamma=1.0)(X)
    machine = KernelPerceptron("precomputed", random_state=0).fit(K, y)
    expected = KernelPerceptron(RBF(gamma=1.0), random_state=0).fit(X, y)
    np.testing.assert_array_equal(machine.mistakes_, expected.mistakes_)
    new = X[:5] + 0.1
    np.testing.assert_allclose(
        machine.decision_function(RBF(gamma=1.0)(new, X)), expected.decision_function(new), rtol=1e-12
    )
    np.testing.assert_array_equal([machine.predict_one(row) for row in RBF(gamma=1.0)(new, X)], expected.predict(new))


GRAM_ADVICE = r"a precomputed Gram matrix cannot grow.*Use fit without warm_start, or a kernel on the points"


def test_a_precomputed_matrix_cannot_be_learned_from_bit_by_bit():
    X, y = rings(12)
    K = RBF(gamma=1.0)(X)
    with pytest.raises(KindError, match=GRAM_ADVICE):
        KernelPerceptron("precomputed").partial_fit(K, y, classes=[0, 1])
    with pytest.raises(KindError, match=GRAM_ADVICE):
        KernelPerceptron("precomputed").learn_one(K[0], 0)
    fitted = KernelPerceptron(Precomputed(), random_state=0).fit(K, y)
    before = state(fitted)
    for call in (
        lambda: fitted.partial_fit(K, y),
        lambda: clone(fitted).set_params(warm_start=True).fit(K, y).fit(K, y),
    ):
        with pytest.raises(KindError, match=GRAM_ADVICE):
            call()
    assert state(fitted) == before


@pytest.mark.parametrize("label", [0, 1])
def test_a_fitted_precomputed_machine_refuses_a_single_example_whether_it_errs_or_not(label):
    X, y = rings(12)
    K = RBF(gamma=1.0)(X)
    fitted = KernelPerceptron("precomputed", random_state=0).fit(K, y)
    before = state(fitted)
    with pytest.raises(KindError, match=GRAM_ADVICE):
        fitted.learn_one(K[0], label)
    assert state(fitted) == before


# ---------------------------------------------------------------- bad input


def state(estimator):
    """All that an estimator is, as bytes; what only speeds it up is left out."""
    return pickle.dumps(pickle.loads(pickle.dumps(estimator)))


def told(estimator, X):
    """What an estimator shows of itself."""
    return (
        sorted(vars(estimator)),
        estimator.mistakes_.tolist(),
        estimator.n_rounds_,
        estimator.classes_.tolist(),
        estimator.n_iter_,
        estimator.converged_,
        estimator.n_features_in_,
        estimator.decision_function(X).tolist(),
    )


BAD_DATA = BAD_X | BAD_Y | BAD_LABELS
REFUSED = BAD_CALLS | BAD_CLASSES


@BOTH
@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
@pytest.mark.parametrize("case", BAD_DATA)
def test_bad_data_is_refused_and_changes_nothing(cls, learn, case):
    X, y = blobs()
    spoil, message = BAD_DATA[case]
    machine = cls(random_state=0).fit(X, y)
    shown, before = told(machine, X), state(machine)
    with pytest.raises((ValueError, TypeError), match=message):
        getattr(machine, learn)(*spoil(X, y))
    assert told(machine, X) == shown
    assert state(machine) == before
    new = cls()
    with pytest.raises((ValueError, TypeError), match=message):
        getattr(new, learn)(*spoil(X, y))
    assert vars(new) == vars(cls())


@pytest.fixture
def in_time():
    """A call that never ends fails, too."""

    def late(*args):
        raise TimeoutError("the call did not end within 5 seconds")

    before = signal.signal(signal.SIGALRM, late) if hasattr(signal, "SIGALRM") else None
    if before is not None:
        signal.setitimer(signal.ITIMER_REAL, 5.0)
    yield
    if before is not None:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@BOTH
@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.usefixtures("in_time")
def test_a_call_that_is_refused_says_why_and_changes_nothing(cls, case):
    X, y = blobs()
    call, error, message = REFUSED[case]
    machine = cls(random_state=0).fit(X, y)
    shown, before = told(machine, X), state(machine)
    with pytest.raises(error, match=message):
        call(machine, X, y)
    assert told(machine, X) == shown
    assert state(machine) == before


BAD_PARAMS = [
    ({"hypothesis": "mean"}, ParameterError, "hypothesis must be .*; got 'mean'"),
    ({"max_iter": 0}, ParameterError, "max_iter must be a whole number >= 1; got 0"),
    ({"max_iter": 2.5}, KindError, "max_iter must be a whole number >= 1; got 2.5"),
    ({"class_weight": {0: -1.0}}, ValuesError, "class_weight must be >= 0"),
    ({"class_weight": "heavy"}, ValueError, "class_weight"),
]


@pytest.mark.parametrize(
    ("cls", "params", "error", "message"),
    [
        *((cls, *case) for cls in (KernelPerceptron, Perceptron) for case in BAD_PARAMS),
        (KernelPerceptron, {"cache_size": -1}, ParameterError, "cache_size must be a finite number >= 0; got -1"),
        (KernelPerceptron, {"cache_size": "1 GB"}, KindError, "cache_size must be a finite number >= 0; got '1 GB'"),
        (KernelPerceptron, {"kernel": "gauss"}, ParameterError, "kernel must be one of .*; got 'gauss'"),
        (KernelPerceptron, {"gamma": -2.0, "kernel": "rbf"}, ParameterError, "gamma must be a finite number > 0"),
        (Perceptron, {"learning_rate": 0}, ParameterError, "learning_rate must be a finite number > 0; got 0"),
        (Perceptron, {"learning_rate": np.inf}, ParameterError, "learning_rate must be a finite number > 0; got inf"),
        (Perceptron, {"hypothesis": "voted"}, ParameterError, "hypothesis must be last or averaged; got 'voted'"),
    ],
)
def test_a_parameter_that_cannot_be_is_refused_by_name_and_a_fitted_machine_stays_so(cls, params, error, message):
    X, y = blobs()
    for learn in ("fit", "partial_fit"):
        with pytest.raises(error, match=message):
            getattr(cls(**params), learn)(X, y)
    machine = cls(random_state=0).fit(X, y)
    shown = told(machine, X)
    machine.set_params(**params)
    with pytest.raises(error, match=message):
        machine.fit(X + 1.0, y)
    machine.set_params(**{name: getattr(cls(), name) for name in params})
    assert told(machine, X) == shown


@BOTH
def test_balanced_classes_need_all_the_data(cls):
    X, y = blobs()
    message = r"class_weight='balanced' needs all the data.*Give a dict \{class: weight\}"
    with pytest.raises(ParameterError, match=message):
        cls(class_weight="balanced").partial_fit(X, y)
    machine = cls(class_weight="balanced", random_state=0).fit(X[:31], y[:31])  # 16 and 15 of the two classes
    assert set(np.round(np.abs(machine.mistakes_["step"]), 9)) <= set(np.round([31 / 32, 31 / 30], 9))
    before = state(machine)
    for call in (lambda: machine.partial_fit(X, y), lambda: machine.learn_one(X[0], 0)):
        with pytest.raises(ParameterError, match=message):
            call()
    assert state(machine) == before


@BOTH
def test_a_row_of_no_weight_does_not_count_in_balanced_classes(cls):
    X, y = blobs()
    w = np.where(np.arange(len(y)) % 4 == 0, 0.0, 1.0)  # half of class 0
    options = {"class_weight": "balanced", "shuffle": False}
    weighted = cls(**options).fit(X, y, sample_weight=w)
    absent = cls(**options).fit(X[w > 0], y[w > 0])
    np.testing.assert_allclose(weighted.decision_function(X), absent.decision_function(X), rtol=1e-12)


@BOTH
def test_classes_without_a_weight_have_weight_one_in_chunks_as_in_a_fit(cls):
    X, y = blobs(classes=3)
    options = {"class_weight": {0: 2.0}, "shuffle": False, "max_iter": 1}
    whole = cls(**options).fit(X, y)
    gamma = {"gamma": whole.gamma_} if cls is KernelPerceptron else {}
    chunked = cls(**options, **gamma)
    for i in range(len(X)):
        chunked.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1, 2])
    np.testing.assert_array_equal(chunked.mistakes_, whole.mistakes_)


@BOTH
@pytest.mark.parametrize("classes", [[], [1], ["a", "a"]])
def test_fewer_than_two_classes_cannot_be_all_of_them(cls, classes):
    X, y = blobs()
    machine = cls()
    with pytest.raises(InputError, match="classes must name at least two classes; got "):
        machine.partial_fit(X, y, classes=classes)
    assert vars(machine) == vars(cls())


@BOTH
def test_a_first_chunk_with_a_class_that_was_not_named_leaves_nothing_behind(cls):
    X, y = blobs(classes=3)
    machine = cls()
    with pytest.raises(InputError, match=r"classes known from the start, \[.*\]; got 2.*partial_fit\(classes=…\)"):
        machine.partial_fit(X, y, classes=[0, 1])
    assert vars(machine) == vars(cls())
    assert machine.predict_one(X[0]) is None
    machine.partial_fit(X, y, classes=[0, 1, 2])
    assert machine.classes_.tolist() == [0, 1, 2]


@BOTH
def test_labels_of_two_kinds_are_refused_however_late(cls):
    X, y = blobs()
    machine = cls().partial_fit(X, y)
    shown, before = told(machine, X), state(machine)
    with pytest.raises(KindError, match="y must hold labels of one kind; got 'no' after 0"):
        machine.partial_fit(X, labels(y))
    with pytest.raises(KindError, match="y must hold labels of one kind; got 'yes' after 0"):
        machine.learn_one(X[0], "yes")
    assert told(machine, X) == shown
    assert state(machine) == before


@BOTH
def test_before_any_learning_there_is_no_prediction(cls):
    X, _ = blobs()
    machine = cls()
    for ask in (machine.predict, machine.decision_function):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            ask(X)
    assert machine.predict_one(X[0]) is None


@pytest.mark.parametrize(
    ("cls", "names"),
    [
        (KernelPerceptron, ["mistakes_", "n_mistakes_", "n_rounds_", "mistake_counts_", "support_", "certificate_"]),
        (KernelPerceptron, ["support_vectors_", "dual_coef_", "intercept_", "model_"]),
        (Perceptron, ["mistakes_", "n_mistakes_", "n_rounds_", "coef_", "intercept_"]),
    ],
)
def test_before_any_learning_what_was_learned_is_not_there_and_says_so(cls, names):
    machine = cls()
    for name in names:
        assert not hasattr(machine, name)
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(machine, name)


def refusing(limit):
    """A linear kernel that has no value for points beyond `limit`."""

    def kernel(A, B):
        return np.where(np.abs(A).max(axis=1)[:, None] > limit, np.nan, A @ B.T)

    return Custom(kernel)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_kernel_that_fails_on_a_later_row_leaves_the_machine_as_it_was(classes, monkeypatch):
    patch_learner(monkeypatch, "CHUNK", 4)
    X, y = blobs(40, classes=classes)
    more = -X[20:]  # all on the other side, so that the first chunks err
    more[-1] = 1e6
    machine = KernelPerceptron(refusing(1e5), shuffle=False).partial_fit(X[:20], y[:20] % 2)
    shown, again = told(machine, X), state_of_numbers(machine)
    with pytest.raises(ValuesError, match="must give finite values"):
        machine.partial_fit(more, y[20:])
    assert told(machine, X) == shown
    assert state_of_numbers(machine) == again
    machine.partial_fit(X[20:], y[20:] % 2)
    expected = KernelPerceptron(refusing(1e5)).partial_fit(X, y % 2)
    np.testing.assert_array_equal(machine.mistakes_, expected.mistakes_)


def state_of_numbers(machine):
    learner = machine._learner
    return machine._seen, learner.n_outputs, learner.sq_norms.tolist(), learner.support.row_ids.tolist()


# ---------------------------------------------------------------- watched and interrupted


@BOTH
@pytest.mark.parametrize("warm", [False, True])
def test_a_fit_draws_on_stderr_if_asked_and_never_on_stdout(cls, warm, capfd):
    X, y = blobs()
    machine = cls(verbose=1, random_state=0, warm_start=warm).fit(X, y)
    out, err = capfd.readouterr()
    assert out == ""
    assert cls.__name__ in err
    assert f"{machine.n_mistakes_} mistakes" in err
    if warm:
        machine.fit(-X, y)
        out, err = capfd.readouterr()
        assert out == ""
        assert cls.__name__ in err


@BOTH
def test_nothing_is_printed_that_was_not_asked_for(cls, capfd):
    X, y = blobs()
    cls(verbose=0).fit(X, y).partial_fit(X, y).learn_one(X[0], y[0]).predict(X)
    assert capfd.readouterr() == ("", "")


def stop_at(monkeypatch, call):
    """Ctrl-C when `decide` is called for the given time, counted from 1."""
    calls, decide = [], kernel_perceptron.decide

    def interrupted(*args):
        calls.append(1)
        if len(calls) == call:
            raise KeyboardInterrupt
        return decide(*args)

    patch_learner(monkeypatch, "decide", interrupted)


def test_a_fit_that_is_interrupted_keeps_the_chunks_before(monkeypatch):
    patch_learner(monkeypatch, "CHUNK", 8)
    X, y = rings(60)
    options = {"kernel": RBF(gamma=1.0), "shuffle": False}
    expected = KernelPerceptron(**options).partial_fit(X[:16], y[:16], classes=[0, 1])
    machine = KernelPerceptron(**options)
    with monkeypatch.context() as patch:
        stop_at(patch, 3)
        with pytest.raises(KeyboardInterrupt):
            machine.fit(X, y)
    assert machine.n_iter_ == 1
    assert not machine.converged_
    assert machine.n_mistakes_ == expected.n_mistakes_ > 0
    np.testing.assert_array_equal(machine.mistakes_, expected.mistakes_)
    assert machine.n_rounds_ == 16
    np.testing.assert_array_equal(machine.predict(X), expected.predict(X))
    np.testing.assert_allclose(machine.decision_function(X), expected.decision_function(X), rtol=1e-12)
    assert not machine.certificate_.holds
    machine.fit(X, y)  # and a new fit is a new one
    np.testing.assert_array_equal(machine.mistakes_, KernelPerceptron(**options).fit(X, y).mistakes_)


def test_an_interrupt_in_a_kernel_function_stops_the_fit_and_leaves_a_usable_machine(monkeypatch):
    patch_learner(monkeypatch, "CHUNK", 8)
    X, y = rings(60)
    calls = []

    def kernel(A, B):
        calls.append(1)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return (A @ B.T + 1.0) ** 2

    machine = KernelPerceptron(kernel, shuffle=False)
    with pytest.raises(KeyboardInterrupt):
        machine.fit(X, y)
    assert 0 < machine.n_rounds_ < 60
    assert machine.n_rounds_ % 8 == 0  # whole chunks
    seen = machine.n_rounds_
    expected = KernelPerceptron("poly", degree=2, gamma=1.0).partial_fit(X[:seen], y[:seen], classes=[0, 1])
    np.testing.assert_array_equal(machine.mistakes_, expected.mistakes_)
    np.testing.assert_array_equal(machine.predict(X), expected.predict(X))


def test_an_interrupt_in_a_later_epoch_certifies_nothing_that_is_not_so(monkeypatch):
    patch_learner(monkeypatch, "CHUNK", 2)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(24, 1)), rng.integers(0, 2, 24)
    y[:2] = [0, 1]
    for call in range(16, 34):  # 12 chunks in the first epoch, then 3 each: within the third epoch and later
        machine = KernelPerceptron(RBF(gamma=50.0), hypothesis="last", max_iter=50, shuffle=False)
        with monkeypatch.context() as patch:
            stop_at(patch, call)
            try:
                machine.fit(X, y)
            except KeyboardInterrupt:
                pass
            else:
                break
        assert machine.n_iter_ > 1
        sure = np.where(y == 1, 1, -1) * machine.decision_function(X)
        if machine.certificate_.holds:
            assert sure.min() > 0, call
            assert machine.certificate_.margins[0] == pytest.approx(
                sure.min() / np.sqrt(machine._learner.sq_norms[0]), rel=1e-6
            )
    assert call > 18  # it did come to that


def test_an_interrupted_fit_does_not_say_that_training_cannot_end(monkeypatch):
    """A warning would be an error here, in the place of KeyboardInterrupt."""
    stop_at(monkeypatch, 2)
    with pytest.raises(KeyboardInterrupt):
        KernelPerceptron(RBF(), shuffle=False).fit([[0.0], [1.0], [1.0]], [0, 1, 0])


def test_an_interrupted_primal_fit_keeps_the_chunks_before(monkeypatch):
    X, y = blobs(10000)
    X = X * 0.1 + np.random.default_rng(1).normal(size=X.shape)  # mixed up, so that mistakes go on
    calls, learn = [], onkel.learners.linear_perceptron.LinearPerceptronLearner.learn

    def interrupted(self, *args):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return learn(self, *args)

    machine = Perceptron(shuffle=False)
    with monkeypatch.context() as patch:
        patch.setattr(onkel.learners.linear_perceptron.LinearPerceptronLearner, "learn", interrupted)
        with pytest.raises(KeyboardInterrupt):
            machine.fit(X, y)
    seen = machine.n_rounds_
    assert 0 < seen < 10000
    expected = Perceptron().partial_fit(X[:seen], y[:seen], classes=[0, 1])
    np.testing.assert_array_equal(machine.mistakes_, expected.mistakes_)
    np.testing.assert_array_equal(machine.coef_, expected.coef_)
    np.testing.assert_array_equal(machine.predict(X), expected.predict(X))
    assert machine.n_iter_ == 1
    assert not machine.converged_


@pytest.mark.parametrize("learn", ["partial_fit", "warm fit"])
def test_an_interrupt_while_going_on_keeps_whole_chunks_and_a_machine_that_goes_on(learn, monkeypatch):
    patch_learner(monkeypatch, "CHUNK", 8)
    X, y = rings(60)
    options = {"kernel": RBF(gamma=1.0), "shuffle": False, "max_iter": 1, "warm_start": learn == "warm fit"}
    machine = KernelPerceptron(**options).fit(X[:20], y[:20])
    with monkeypatch.context() as patch:
        stop_at(patch, 3)
        with pytest.raises(KeyboardInterrupt):
            (machine.partial_fit if learn == "partial_fit" else machine.fit)(X[20:], y[20:])
    seen = machine.n_rounds_
    assert seen == 36
    expected = KernelPerceptron(**options).partial_fit(X[:seen], y[:seen], classes=[0, 1])
    np.testing.assert_array_equal(machine.mistakes_, expected.mistakes_)
    np.testing.assert_allclose(machine.decision_function(X), expected.decision_function(X), rtol=1e-12)
    machine.partial_fit(X[seen:], 1 - y[seen:])  # turned round, so that there are mistakes to be made
    expected.partial_fit(X[seen:], 1 - y[seen:])
    assert len(set(machine.support_)) == len(machine.support_)
    assert machine.mistake_counts_.sum() == machine.n_mistakes_ == expected.n_mistakes_
    np.testing.assert_allclose(machine.decision_function(X), expected.decision_function(X), rtol=1e-12)


# ---------------------------------------------------------------- labels


LABELS = {
    "str": (["yes", "no", "perhaps"], str),
    "np.str_": (np.array(["b", "a", "c"]), str),
    "object": (np.array(["b", "a", "c"], dtype=object), str),
    "int": ([3, -1, 7], int),
    "int8": (np.array([3, -1, 7], dtype=np.int8), int),
    "uint64": (np.array([3, 1, 7], dtype=np.uint64), int),
    "whole floats": ([2.0, 1.0, 4.0], float),
    "bool": ([True, False], bool),
    "np.bool_": (np.array([True, False]), bool),
}


@BOTH
@pytest.mark.parametrize("container", [list, np.asarray, pd.Series], ids=["list", "array", "Series"])
@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_every_kind_come_back_as_they_went_in(cls, container, kind):
    names, python = LABELS[kind]
    X, place = blobs(classes=len(names))
    y = container([names[i] for i in place]) if container is list else container(np.asarray(names)[place])
    machine = cls(random_state=0).fit(X, y)
    assert machine.classes_.tolist() == sorted(np.asarray(names).tolist())
    assert all(type(label) is python for label in machine.classes_.tolist())
    predicted = machine.predict(X)
    assert predicted.dtype == machine.classes_.dtype == np.unique(np.asarray(y)).dtype
    np.testing.assert_array_equal(predicted, np.asarray(y))
    assert machine.score(X, y) == 1.0
    assert machine.predict_one(X[0]) == names[0]


@BOTH
@pytest.mark.parametrize("kind", LABELS)
def test_python_and_numpy_labels_are_learned_one_by_one_alike(cls, kind):
    names, _ = LABELS[kind]
    X, place = blobs(classes=len(names))
    options = {"kernel": RBF(gamma=0.1)} if cls is KernelPerceptron else {}
    python, numpy, whole = cls(**options), cls(**options), cls(**options)
    array = np.asarray(names)
    for x, i in zip(X, place, strict=True):
        python.learn_one(x, array.tolist()[i])
        numpy.learn_one(x, array[i])
    whole.partial_fit(X, array[place], classes=array)
    for machine in (python, numpy):
        assert machine.classes_.tolist() == whole.classes_.tolist() == sorted(array.tolist())
        np.testing.assert_array_equal(machine.predict(X), array[place])
    np.testing.assert_array_equal(python.mistakes_, numpy.mistakes_)
    if len(names) == 2:
        np.testing.assert_array_equal(python.mistakes_, whole.mistakes_)


@BOTH
def test_a_longer_name_that_comes_late_is_not_cut(cls):
    X, y = blobs(classes=3)
    names = labels(y, ("a", "bb", "a much longer name"))
    machine = cls().partial_fit(X[y < 2], names[y < 2]).partial_fit(X, names).partial_fit(X, names)
    assert machine.classes_.tolist() == ["a", "a much longer name", "bb"]
    assert set(machine.predict(X)) <= set(names.tolist())
    assert "a much longer name" in machine.predict(X)


# ---------------------------------------------------------------- what was learned


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("classes", "n_outputs"), [(2, 1), (3, 3)])
@pytest.mark.parametrize("hypothesis", ["averaged", "last", "random", "best"])
def test_what_was_learned_has_the_shapes_it_should(convert, classes, n_outputs, hypothesis):
    X, y = blobs(classes=classes)
    X = convert(X - 3.0)
    machine = KernelPerceptron(hypothesis=hypothesis, fit_intercept=True, random_state=0).fit(X, y)
    m = len(machine.support_)
    assert machine.support_.tolist() == sorted(set(machine.mistakes_["row"].tolist()))
    assert machine.dual_coef_.shape == (n_outputs, m)
    assert machine.intercept_.shape == (n_outputs,)
    assert machine.mistake_counts_.shape == (n_outputs, m)
    assert machine.support_vectors_.shape == (m, 2)
    assert sp.issparse(machine.support_vectors_) == sp.issparse(X)
    assert abs(machine.support_vectors_ - X[machine.support_]).max() == 0
    per_output = np.bincount(machine.mistakes_["class"], minlength=classes)
    of_outputs = per_output[1:] if classes == 2 else per_output  # the one output of two is that of classes_[1]
    assert machine.mistake_counts_.sum(axis=1).tolist() == of_outputs.tolist()
    assert machine.n_mistakes_ == len(machine.mistakes_) == machine.mistake_counts_.sum() > 0
    assert machine.n_rounds_ == machine.n_iter_ * 60
    scores = RBF(gamma=machine.gamma_)(X, machine.support_vectors_) @ machine.dual_coef_.T + machine.intercept_
    np.testing.assert_allclose(machine.decision_function(X).reshape(60, -1), scores, atol=1e-12)


@pytest.mark.parametrize(("classes", "shape"), [(2, (60,)), (3, (60, 3))])
@BOTH
def test_scores_are_one_column_for_two_classes_and_one_per_class_for_more(cls, classes, shape):
    X, y = blobs(classes=classes)
    machine = cls(random_state=0).fit(X, y)
    assert machine.decision_function(X).shape == shape
    if cls is Perceptron:
        n_outputs = 1 if classes == 2 else classes
        assert machine.coef_.shape == (n_outputs, 2)
        assert machine.intercept_.shape == (n_outputs,)
        by_hand = X @ machine.coef_.T + machine.intercept_
        np.testing.assert_allclose(machine.decision_function(X).reshape(60, -1), by_hand, rtol=1e-12)


def test_counts_are_the_last_guess_where_every_step_is_one():
    X, y = rings()
    machine = KernelPerceptron(hypothesis="last", random_state=0).fit(X, y)
    signs = np.where(y[machine.support_] == 1, 1, -1)
    np.testing.assert_array_equal(machine.dual_coef_[0], signs * machine.mistake_counts_[0])


@pytest.mark.parametrize("hypothesis", HYPOTHESES)
def test_a_model_is_frozen_and_equal_to_that_of_the_same_fit(hypothesis):
    X, y = rings()
    first, second = (KernelPerceptron(hypothesis=hypothesis, random_state=0).fit(X, y) for _ in "ab")
    model = first.model_
    assert type(model) is (Vote if hypothesis == "voted" else Expansion)
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.kernel = Linear()
    assert model == second.model_
    assert model != KernelPerceptron(hypothesis=hypothesis, random_state=0).fit(X + 0.01, y).model_
    np.testing.assert_allclose(model.scores(X)[:, 0], first.decision_function(X), rtol=1e-12)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_models_are_equal_by_all_that_they_hold(convert):
    X, y = rings()
    rows = convert(X)
    model = KernelPerceptron(gamma=1.0, random_state=0).fit(rows, y).model_
    other = KernelPerceptron(gamma=1.0, random_state=0).fit(convert(X + 0.01), y).model_
    assert dataclasses.replace(model) == model
    assert len(other.rows) == len(model.rows)
    for change in (
        {"support": other.support},
        {"kernel": RBF(gamma=2.0)},
        {"rows": model.rows + 1},
        {"coef": 2.0 * model.coef},
        {"intercept": model.intercept + 1.0},
    ):
        assert dataclasses.replace(model, **change) != model


def test_a_vote_in_tiles_is_the_vote_at_once(monkeypatch):
    X, y = rings()
    model = KernelPerceptron(gamma=1.0, hypothesis="voted", fit_intercept=True, random_state=0).fit(X, y).model_
    at_once = model.scores(X)
    monkeypatch.setattr(onkel.models.vote, "VOTE_VALUES", 7 * len(model.support))
    np.testing.assert_array_equal(model.scores(X[::-1]), at_once[::-1])  # turned: no memory holds the answer yet


@pytest.mark.parametrize("hypothesis", ["averaged", "voted"])
def test_a_model_takes_rows_of_another_dtype_as_its_own(hypothesis):
    X, y = rings()
    narrow = X.astype(np.float32)
    model = KernelPerceptron(gamma=1.0, hypothesis=hypothesis, random_state=0).fit(narrow, y).model_
    np.testing.assert_array_equal(model.scores(narrow.astype(np.float64)), model.scores(narrow))


@pytest.mark.parametrize("hypothesis", HYPOTHESES)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_model_does_not_change_while_its_learner_goes_on(hypothesis, classes):
    X, y = blobs(classes=classes)
    machine = KernelPerceptron(RBF(gamma=0.1), hypothesis=hypothesis, random_state=0).partial_fit(X, y)
    model = machine.model_
    before = model.scores(X)
    np.testing.assert_allclose(before.reshape(60, -1), machine.decision_function(X).reshape(60, -1), rtol=1e-12)
    for x, label in zip(X, y, strict=True):
        machine.learn_one(-x, label)
    machine.partial_fit(-X, y).learn_one(X[0], 9)
    np.testing.assert_array_equal(model.scores(X), before)
    assert model != machine.model_


@pytest.mark.parametrize("hypothesis", HYPOTHESES)
def test_classes_that_came_in_another_order_are_shown_sorted(hypothesis):
    X, y = rings()[0], np.random.default_rng(0).choice(3, 80, p=[0.2, 0.3, 0.5])
    y[:3] = [1, 2, 0]
    machine = KernelPerceptron(RBF(gamma=0.1), hypothesis=hypothesis, random_state=0).partial_fit(X, y)
    assert [machine._labels.found, machine.classes_.tolist()] == [[1, 2, 0], [0, 1, 2]]
    of_class = np.bincount(machine.mistakes_["class"], minlength=3)
    assert len(set(of_class.tolist())) == 3
    assert machine.mistake_counts_.sum(axis=1).tolist() == of_class.tolist()
    np.testing.assert_allclose(machine.model_.scores(X), machine.decision_function(X), rtol=1e-12)
    np.testing.assert_array_equal(machine.predict(X), machine.decision_function(X).argmax(axis=1))


@pytest.mark.parametrize("hypothesis", HYPOTHESES)
def test_what_predicts_follows_every_round_mistake_or_not(hypothesis):
    X, y = rings()
    options = {"kernel": RBF(gamma=1.0), "hypothesis": hypothesis, "random_state": 0}
    asked, silent = KernelPerceptron(**options), KernelPerceptron(**options)
    mistakes = []
    for start in range(0, 80, 10):
        part = slice(start, start + 10)
        asked.partial_fit(X[part], y[part]).decision_function(X)
        silent.partial_fit(X[part], y[part])
        mistakes.append(asked.n_mistakes_)
    assert mistakes[-1] == mistakes[-2] > mistakes[0]  # the last ten rounds had none
    np.testing.assert_array_equal(asked.decision_function(X), silent.decision_function(X))
    other = "last" if hypothesis != "last" else "averaged"
    expected = KernelPerceptron(**(options | {"hypothesis": other})).partial_fit(X, y).decision_function(X)
    np.testing.assert_allclose(asked.set_params(hypothesis=other).decision_function(X), expected, rtol=1e-12)


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_the_random_hypothesis_is_drawn_by_random_state(learn):
    X, y = rings()[0], np.random.default_rng(0).integers(0, 2, 80)  # labels that no guess keeps to for long
    scores = [
        getattr(KernelPerceptron(RBF(gamma=1.0), hypothesis="random", shuffle=False, random_state=seed), learn)(X, y)
        .decision_function(X)
        .tolist()
        for seed in (0, 0, 1, 2, 3)
    ]
    assert scores[0] == scores[1]
    assert any(other != scores[0] for other in scores[2:])


def test_a_reduced_model_has_the_largest_coefficients():
    X, y = rings()
    y = np.where(X[:, 0] > 0.7, 2, y)
    model = KernelPerceptron(gamma=3.0, random_state=0).fit(X, y).model_
    size = np.abs(model.coef).max(axis=1)
    small = model.reduced(3)
    assert len(small.rows) == len(small.support) == len(small.coef) == 3
    assert np.abs(small.coef).max(axis=1).min() >= np.sort(size)[-3]
    assert set(small.rows) < set(model.rows)
    assert model.reduced(10**6) == model
    by_hand = model.kernel(X, X[small.rows]) @ small.coef + small.intercept
    np.testing.assert_allclose(small.scores(X), by_hand, atol=1e-12)
    with pytest.raises(ParameterError, match="n must be a whole number >= 1; got 0"):
        model.reduced(0)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_an_explanation_sums_to_the_score_largest_share_first(classes, convert):
    X, y = blobs(classes=classes)
    rows = convert(X - 3.0)
    machine = KernelPerceptron(fit_intercept=True, random_state=0).fit(rows, y)
    x = X[0] - 2.5
    for output, score in enumerate(machine.decision_function([x]).ravel()):
        terms = machine.model_.explain(x, output)
        assert sum(t.contribution for t in terms) + machine.intercept_[output] == pytest.approx(score, abs=1e-12)
        shares = [abs(t.contribution) for t in terms]
        assert shares == sorted(shares, reverse=True)
        assert {t.row for t in terms} == set(machine.support_[machine.dual_coef_[output] != 0].tolist())
        term = terms[0]
        place = machine.support_.tolist().index(term.row)
        assert term.importance == machine.dual_coef_[output, place]
        assert term.similarity == pytest.approx(float(machine.kernel_([x], [X[term.row] - 3.0])[0, 0]), rel=1e-9)
    with pytest.raises(ShapeError, match="output must be 0 to"):
        machine.model_.explain(x, classes)
    with pytest.raises(ShapeError, match="was trained on 2 features"):
        machine.model_.explain([1.0, 2.0, 3.0])


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("kernel", ["linear", Linear()])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_linear_kernel_has_coefficients_of_features(kernel, convert, classes):
    X, y = blobs(classes=classes)
    machine = KernelPerceptron(kernel, random_state=0, fit_intercept=True).fit(convert(X), y)
    assert machine.coef_.shape == (1 if classes == 2 else 3, 2)
    assert isinstance(machine.coef_, np.ndarray)
    by_hand = X @ machine.coef_.T + machine.intercept_
    np.testing.assert_allclose(by_hand, machine.decision_function(X).reshape(60, -1), atol=1e-9)


def test_other_kernels_and_votes_have_none():
    X, y = blobs()
    for machine in (KernelPerceptron("poly", degree=1), KernelPerceptron("rbf")):
        assert not hasattr(machine, "coef_")
        with pytest.raises(AttributeError, match="coef_ is there only with a linear kernel"):
            _ = machine.fit(X, y).coef_
    vote = KernelPerceptron("linear", hypothesis="voted").fit(X, y)
    for name in ("coef_", "dual_coef_", "intercept_"):
        with pytest.raises(AttributeError, match="a vote of all guesses has no coefficients"):
            getattr(vote, name)
    assert vote.support_vectors_.shape == (len(vote.support_), 2)


def test_a_certificate_is_there_after_a_fit_and_advice_after_learning_online():
    X, y = rings()
    machine = KernelPerceptron(RBF(gamma=1.0), random_state=0, max_iter=100).fit(X, y)
    certificate = machine.certificate_
    assert machine.converged_
    assert certificate.holds
    assert certificate.mistakes == machine.n_mistakes_ <= certificate.bound
    advice = r"certificate_ is there after fit; .*use onkel\.bounds\.certificate\(estimator, X, y\)"
    machine.partial_fit(X, 1 - y)
    assert not hasattr(machine, "certificate_")
    for online in (machine, KernelPerceptron().partial_fit(X, y), KernelPerceptron().learn_one(X[0], 0)):
        with pytest.raises(AttributeError, match=advice):
            _ = online.certificate_
    assert machine.fit(X, y).certificate_ == certificate


def test_support_vectors_are_dense_where_the_data_was():
    rng = np.random.default_rng(0)
    X = (rng.random((80, 40)) * (rng.random((80, 40)) < 0.1)).astype(np.float32)  # multiplied as sparse rows
    y = rng.integers(0, 2, 80)
    fitted = KernelPerceptron(RBF(gamma=0.5), max_iter=2, random_state=0).fit(X, y)
    assert isinstance(fitted.support_vectors_, np.ndarray)
    np.testing.assert_array_equal(fitted.support_vectors_, X[fitted.support_])
    from_csr = KernelPerceptron(RBF(gamma=0.5), max_iter=2, random_state=0).fit(sp.csr_array(X), y)
    assert sp.issparse(from_csr.support_vectors_)
    np.testing.assert_array_equal(from_csr.support_vectors_.toarray(), X[from_csr.support_])


def test_one_epoch_leaves_no_certificate_since_later_mistakes_were_not_told_to_earlier_rows():
    X, y = rings()
    machine = KernelPerceptron(RBF(gamma=1.0), random_state=0, max_iter=1).fit(X, y)
    seen = machine.certificate_
    assert (seen.mistakes, seen.bound, seen.holds) == (machine.n_mistakes_, None, None)
    assert "no separator found in 1 epoch" in seen.reason
    assert "onkel.bounds.certificate(estimator, X, y)" in seen.reason


def test_a_certificate_counts_the_intercept_and_the_weights_of_the_updates():
    X, y = rings()
    w = np.where(np.arange(len(y)) % 2, 1.0, 3.0)
    machine = KernelPerceptron(RBF(gamma=1.0), random_state=0, max_iter=100, fit_intercept=True)
    seen = machine.fit(X, y, sample_weight=w).certificate_
    plus_one = clone(machine).set_params(kernel=RBF(gamma=1.0) + 1.0, fit_intercept=False)
    expected = plus_one.fit(X, y, sample_weight=w).certificate_
    assert machine.converged_
    assert seen.radius_sq == 2.0  # of K + 1
    assert seen.weight_ratio == 3.0
    assert (seen.mistakes, seen.form) == (expected.mistakes, expected.form)
    assert seen.bound == pytest.approx(expected.bound)
