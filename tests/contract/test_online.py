"""The learners with a budget as scikit-learn estimators: at work, with bad input, watched and interrupted."""

from __future__ import annotations

import dataclasses
import itertools
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from contract.bad_calls import BAD_CALLS, BAD_CLASSES, BAD_LABELS, BAD_NUMBERS, BAD_TARGETS, BAD_X, BAD_Y
from sklearn.base import clone, is_classifier, is_outlier_detector, is_regressor
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onkel.learners.budgeted
import onkel.learners.lasvm
import onkel.learners.projecting
from onkel import (
    BudgetPerceptron,
    Forgetron,
    NormaClassifier,
    NormaOneClass,
    NormaRegressor,
    OnlineSVC,
    PassiveAggressiveClassifier,
    PassiveAggressiveRegressor,
    Projectron,
    bounds,
)
from onkel.errors import GramError, KindError, ParameterError, ShapeError, ValuesError
from onkel.kernels import RBF, Custom, Linear, Polynomial, Precomputed, prepare
from onkel.learners import policies, rules
from onkel.learners.budgeted import BudgetedLearner
from onkel.learners.rules import Regularised, Rule
from onkel.models.state import Snapshot

CLASSIFIERS = [Forgetron, BudgetPerceptron, Projectron, PassiveAggressiveClassifier, NormaClassifier, OnlineSVC]
REGRESSORS = [PassiveAggressiveRegressor, NormaRegressor]
ALL = [*CLASSIFIERS, *REGRESSORS, NormaOneClass]
BUDGETED = [cls for cls in ALL if cls not in (Projectron, OnlineSVC)]
NORMAS = [NormaClassifier, NormaRegressor, NormaOneClass]
every = pytest.mark.parametrize("cls", ALL)
every_classifier = pytest.mark.parametrize("cls", CLASSIFIERS)
every_regressor = pytest.mark.parametrize("cls", REGRESSORS)
targeted = pytest.mark.parametrize("cls", [*CLASSIFIERS, *REGRESSORS])
pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def new(cls, **params):
    """An estimator for few points; `kernel` and the like may be given."""
    own = {"budget": 12} if cls in BUDGETED else {}
    seed = {"random_state": 0}
    return cls(**({"kernel": RBF(gamma=0.5), "max_iter": 3} | own | seed | params))


def data(cls, n=60, classes=2, seed=0):
    """Classes around the corners of a square, or numbers to regress on, or points and no target."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    centres = 2.0 * np.array([[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])
    X = centres[y] + 0.7 * rng.normal(size=(n, 2))
    if cls in CLASSIFIERS:
        return X, y
    return X, (np.sin(X[:, 0]) if cls in REGRESSORS else None)


def told(estimator, X):
    """What an estimator shows of itself."""
    scores = estimator.predict if is_regressor(estimator) else estimator.decision_function
    return (
        sorted(vars(estimator)),
        estimator.mistakes_.tolist(),
        estimator.n_rounds_,
        estimator.n_updates_,
        estimator.n_iter_,
        estimator.converged_,
        estimator.n_features_in_,
        estimator.support_.tolist(),
        estimator.dual_coef_.tolist(),
        scores(X).tolist(),
    )


def state(estimator):
    """All that an estimator is, as bytes."""
    return pickle.dumps(pickle.loads(pickle.dumps(estimator)))


def scores(estimator, X):
    return estimator.predict(X) if is_regressor(estimator) else estimator.decision_function(X)


def learn_each(estimator, X, y):
    for i in range(X.shape[0]):
        estimator.learn_one(X[i], None if y is None else y[i])
    return estimator


def assert_same(one, other, X, tolerance=0.0):
    np.testing.assert_array_equal(one.support_, other.support_)
    np.testing.assert_allclose(one.dual_coef_, other.dual_coef_, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(scores(one, X), scores(other, X), rtol=tolerance, atol=tolerance)


# ---------------------------------------------------------------- scikit-learn at work


@every
def test_each_is_of_its_kind(cls):
    kinds = [is_classifier(cls()), is_regressor(cls()), is_outlier_detector(cls())]
    assert kinds == [cls in CLASSIFIERS, cls in REGRESSORS, cls is NormaOneClass]


@targeted
def test_a_grid_search_over_the_gamma_of_a_kernel_object_finds_the_better_one(cls):
    X, y = data(cls)
    machine = new(cls, kernel=RBF(gamma=1e6))  # under which all points are alike: unlike each other
    search = GridSearchCV(machine, {"kernel__gamma": [1e6, 0.5]}, cv=3, error_score="raise").fit(X, y)
    assert search.best_params_ == {"kernel__gamma": 0.5}
    assert search.best_estimator_.kernel_ == RBF(gamma=0.5)
    worse, better = search.cv_results_["mean_test_score"]
    assert better > 0.6 > worse


@targeted
def test_a_grid_of_names_and_gammas_runs_although_no_kernel_uses_all(cls):
    X, y = data(cls)
    names = ["rbf", "laplacian", "cosine"] if cls is Forgetron else ["rbf", "linear"]
    grid = {"kernel": names, "gamma": ["scale", 0.5], "max_iter": [1, 2]}
    search = GridSearchCV(cls(random_state=0), grid, cv=2, error_score="raise").fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@targeted
def test_a_pipeline_hands_over_scaled_data(cls):
    X, y = data(cls)
    X = X * [1.0, 1e4]
    pipe = make_pipeline(StandardScaler(), new(cls)).fit(X, y)
    by_hand = new(cls).fit(StandardScaler().fit_transform(X), y)
    np.testing.assert_allclose(pipe.predict(X), by_hand.predict(StandardScaler().fit_transform(X)))
    assert pipe.score(X, y) > 0.5


@every
def test_a_clone_has_the_parameters_and_nothing_that_was_learned(cls):
    X, y = data(cls)
    machine = new(cls).fit(X, y)
    twin = clone(machine)
    assert twin.get_params() == machine.get_params()
    assert [name for name in vars(twin) if name.endswith("_") or name.startswith("_")] == []
    assert_same(twin.fit(X, y), machine, X)


@every
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_a_pickled_machine_predicts_alike_and_goes_on_alike(cls, convert):
    X, y = data(cls)
    machine = new(cls).fit(convert(X[:40]), None if y is None else y[:40])
    again = pickle.loads(pickle.dumps(machine))
    assert again.get_params() == machine.get_params()
    assert_same(again, machine, X)
    before = machine.n_updates_
    for one in (again, machine):
        learn_each(one, -X[40:], None if y is None else y[40:])
    assert machine.n_updates_ > before
    assert_same(again, machine, X)
    np.testing.assert_array_equal(again.mistakes_, machine.mistakes_)


@every
def test_parameters_that_are_set_after_a_fit_wait_for_the_next_one(cls):
    X, y = data(cls)
    machine = new(cls).fit(X, y)
    before = scores(machine, X)
    machine.set_params(kernel="laplacian", gamma=3.0)
    np.testing.assert_array_equal(scores(machine, X), before)
    assert machine.fit(X, y).kernel_ == onkel.kernels.Laplacian(gamma=3.0)
    assert machine.gamma_ == 3.0
    machine.set_params(kernel=RBF(gamma=0.5), gamma="scale").fit(X, y)
    assert not hasattr(machine, "gamma_")
    np.testing.assert_array_equal(scores(machine, X), before)


@every
@pytest.mark.parametrize("given", [{"gamma": 0.5}, {"degree": 2}, {"coef0": 0.0}])
def test_with_a_kernel_object_a_gamma_degree_or_coef0_of_ones_own_is_refused(cls, given):
    (name,) = given
    with pytest.raises(ParameterError, match=rf"{name}=.* has no effect on the kernel object RBF.*kernel__{name}"):
        new(cls, **given).fit(*data(cls))


@every
@pytest.mark.parametrize("gamma", ["scale", "auto", "median"])
def test_gamma_is_resolved_by_the_first_call_that_brings_data_and_kept(cls, gamma):
    X, y = data(cls)
    machine = new(cls, kernel="rbf", gamma=gamma).partial_fit(X, y)
    first = machine.gamma_
    assert machine.kernel_ == RBF(gamma=first)
    assert new(cls, kernel="rbf", gamma=gamma).fit(X, y).gamma_ == first
    assert machine.partial_fit(7.0 * X, y).gamma_ == first


# ---------------------------------------------------------------- what data comes in

# scikit-learn 1.6 reads the column names of a polars frame only where pyarrow is installed, too
OLD = tuple(int(part) for part in sklearn.__version__.split(".")[:2]) < (1, 7)
FRAMES = [
    pytest.param(pd.DataFrame, id="pandas"),
    pytest.param(
        pl.DataFrame, id="polars", marks=pytest.mark.skipif(OLD, reason="scikit-learn 1.6 needs pyarrow for it")
    ),
]


@every
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.filterwarnings("error:X does not have valid feature names")
def test_frames_give_the_names_of_the_features_and_other_columns_are_refused(cls, frame):
    X, y = data(cls)
    table, turned = frame({"age": X[:, 0], "size": X[:, 1]}), frame({"size": X[:, 1], "age": X[:, 0]})
    for learn in ("fit", "partial_fit"):
        machine = getattr(new(cls), learn)(table, y)
        assert machine.feature_names_in_.tolist() == ["age", "size"]
        np.testing.assert_array_equal(scores(machine, table), scores(getattr(new(cls), learn)(X, y), X))
        for call in (lambda m=machine: m.predict(turned), lambda m=machine: m.partial_fit(turned, y)):
            with pytest.raises(ValueError, match="Feature names must be in the same order as they were in fit"):
                call()
        machine.learn_one({"age": 0.1, "size": -0.2}, 0)
        assert machine.n_features_in_ == 2
    assert not hasattr(new(cls).fit(X, y), "feature_names_in_")


@every
def test_read_only_memory_maps_are_learned_from_as_arrays_are(cls, tmp_path):
    X, y = data(cls)
    w = np.linspace(1.0, 2.0, len(X))
    maps = []
    for name, array in (("X", X), ("y", np.zeros(1) if y is None else y), ("w", w)):
        np.save(tmp_path / f"{name}.npy", array)
        maps.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    U, v, u = maps
    assert not U.flags.writeable
    v = None if y is None else v
    mapped = new(cls).fit(U, v, sample_weight=u).partial_fit(U, v, sample_weight=u)
    expected = new(cls).fit(X, y, sample_weight=w).partial_fit(X, y, sample_weight=w)
    mapped.learn_one(U[0], None if y is None else v[0])
    expected.learn_one(X[0], None if y is None else y[0])
    assert_same(mapped, expected, X)
    assert mapped.predict_one(U[1]) == expected.predict_one(X[1])


@every
def test_sparse_rows_teach_what_dense_ones_do_and_may_take_turns(cls):
    X, y = data(cls)
    X = np.round(X)  # some zeros
    rows = sp.csr_array(X)
    for part in (rows.data, rows.indices, rows.indptr):
        part.setflags(write=False)
    dense = new(cls, shuffle=False, max_iter=1).fit(X, y)
    sparse = new(cls, shuffle=False, max_iter=1).fit(rows, y)
    assert_same(sparse, dense, X, 1e-9)
    assert sp.issparse(sparse.support_vectors_)
    assert isinstance(dense.support_vectors_, np.ndarray)
    np.testing.assert_array_equal(dense.support_vectors_, X[dense.support_])
    for part in (slice(0, 20), slice(20, 40)):
        labels = None if y is None else y[part]
        dense.partial_fit(rows[part], labels).partial_fit(X[part], labels).learn_one(rows[[3]], 0)
        sparse.partial_fit(X[part], labels).partial_fit(rows[part], labels).learn_one(X[3], 0)
    assert_same(sparse, dense, X, 1e-9)
    np.testing.assert_allclose(scores(dense, rows), scores(dense, X), atol=1e-9)


def shared_letters(a, b):
    """A cosine of sets of letters: 1 for equal ones."""
    one, other = set(a), set(b)
    return len(one & other) / np.sqrt(len(one) * len(other))


WORDS = ["aab", "abb", "xyz", "xxy", "ab", "zy", "b", "xz"]


@every
def test_strings_are_learned_from_by_a_kernel_that_takes_objects(cls):
    kernel = Custom(shared_letters, pairwise=True, takes="objects", psd=True)
    late = np.array([0, 0, 1, 1, 0, 1, 0, 1])
    y = np.array(["early", "late"])[late] if cls in CLASSIFIERS else late.astype(float)
    budget = {"budget": 5} if cls in BUDGETED else {"eta": 0.3} if cls is Projectron else {}
    machine = new(cls, kernel=kernel, max_iter=10, **budget).fit(WORDS, None if cls is NormaOneClass else y)
    answer = machine.predict(["ba", "zx"])
    if cls in CLASSIFIERS:
        assert answer.tolist() == ["early", "late"]
    elif cls in REGRESSORS:
        assert answer[0] < 0.5 < answer[1]
    assert machine.predict_one("ba") == answer[0]
    seen = machine.n_rounds_
    machine.learn_one("q", y[0]).partial_fit(WORDS, None if cls is NormaOneClass else y)
    assert machine.n_rounds_ == seen + 9
    assert set(machine.support_vectors_) <= {*WORDS, "q"}
    if cls is not NormaOneClass:
        with pytest.raises(ShapeError, match=r"y must give a label per object, shape \(8,\); got \(7,\)"):
            machine.fit(WORDS, y[:7])


@pytest.mark.parametrize("rows", [np.asarray, np.ndarray.tolist, sp.csr_array], ids=["array", "list", "csr"])
@pytest.mark.parametrize("given", [np.arange(40) % 2, np.full(40, np.nan), np.ones(3), np.ones((40, 2)), "y", 7])
def test_a_detector_of_novelty_does_not_look_at_y(rows, given):
    X, _ = data(NormaOneClass)
    n_outputs = []
    for y in (given, None):
        machine = new(NormaOneClass, warm_start=True).fit(rows(X), y).partial_fit(rows(X), y).fit(rows(X), y)
        n_outputs.append(machine.learn_one(X[0], y))
    assert n_outputs[0].decision_function(X).tolist() == n_outputs[1].decision_function(X).tolist()


GRAM_ADVICE = r"a precomputed Gram matrix cannot grow.*Use fit without warm_start, or a kernel on the points"


@every
def test_a_precomputed_matrix_is_learned_from_as_the_kernel_is_and_only_by_fit(cls):
    X, y = data(cls)
    kernel, fresh = RBF(gamma=0.5), X + 0.1
    machine = new(cls, kernel="precomputed").fit(kernel(X), y)
    expected = new(cls, kernel=kernel).fit(X, y)
    np.testing.assert_array_equal(machine.support_, expected.support_)
    np.testing.assert_allclose(scores(machine, kernel(fresh, X)), scores(expected, fresh), atol=1e-9)
    assert machine.predict_one(kernel(fresh, X)[3]) == pytest.approx(expected.predict_one(fresh[3]))
    before = state(machine)
    for call in (
        lambda: machine.partial_fit(kernel(X), y),
        lambda: machine.learn_one(kernel(X)[0], 0),
        lambda: new(cls, kernel=Precomputed()).partial_fit(kernel(X), y),
        lambda: new(cls, kernel=Precomputed()).learn_one(kernel(X)[0], 0),
        lambda: new(cls, kernel=Precomputed(), warm_start=True).fit(kernel(X), y).fit(kernel(X), y),
    ):
        with pytest.raises(KindError, match=GRAM_ADVICE):
            call()
    assert state(machine) == before


@every
def test_a_precomputed_matrix_that_is_none_is_refused_or_warned_of(cls):
    X, y = data(cls, n=8)
    K = RBF(gamma=0.5)(X)
    K[0, 1] += 0.3
    machine = new(cls, kernel="precomputed")
    with pytest.raises(GramError, match=r"must be symmetric; got .*K_ij and K_ji that differ by 0\.3.*\(K \+ K"):
        machine.fit(K, y)
    assert vars(machine) == vars(new(cls, kernel="precomputed"))
    w = np.ones(8)
    w[0] = 0.0  # and so the row is absent
    machine.fit(K, y, sample_weight=w)
    with pytest.raises(ValueError, match="square"):
        machine.fit(K[:, :5], y)
    not_psd = 0.5 * np.array([[1.0, 2.0], [2.0, 1.0]])  # eigenvalues 1.5 and −0.5
    with pytest.warns(UserWarning, match=r"not positive semi-definite, so no theorem.*nearest_psd\(K\) repairs it"):
        machine.fit(not_psd, None if y is None else y[:2])


def test_cross_validation_of_a_precomputed_matrix_cuts_its_rows_and_columns():
    X, y = data(Forgetron)
    K = RBF(gamma=0.5)(X)
    on_points = cross_val_score(new(Forgetron), X, y, cv=3, error_score="raise")
    on_matrix = cross_val_score(new(Forgetron, kernel="precomputed"), K, y, cv=3, error_score="raise")
    np.testing.assert_array_equal(on_matrix, on_points)


# ---------------------------------------------------------------- bad input


BAD_DATA = [
    *((cls, *case) for cls in ALL for case in BAD_X.items()),
    *((cls, *case) for cls in (*CLASSIFIERS, *REGRESSORS) for case in BAD_Y.items()),
    *((cls, *case) for cls in CLASSIFIERS for case in BAD_LABELS.items()),
    *((cls, *case) for cls in REGRESSORS for case in BAD_NUMBERS.items()),
]


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
@pytest.mark.parametrize(("cls", "name", "case"), BAD_DATA, ids=[f"{c.__name__}-{name}" for c, name, _ in BAD_DATA])
def test_bad_data_is_refused_and_changes_nothing(cls, name, case, learn):
    X, y = data(cls)
    spoil, message = case
    machine = new(cls).fit(X, y)
    shown, before = told(machine, X), state(machine)
    with pytest.raises((ValueError, TypeError), match=message):
        getattr(machine, learn)(*spoil(X, y))
    assert told(machine, X) == shown
    assert state(machine) == before
    fresh = new(cls)
    with pytest.raises((ValueError, TypeError), match=message):
        getattr(fresh, learn)(*spoil(X, y))
    assert vars(fresh) == vars(new(cls))


REFUSED = [
    *((cls, *case) for cls in ALL for case in BAD_CALLS.items()),
    *((cls, *case) for cls in CLASSIFIERS for case in BAD_CLASSES.items()),
    *((cls, *case) for cls in REGRESSORS for case in BAD_TARGETS.items()),
]


@pytest.mark.parametrize(("cls", "name", "case"), REFUSED, ids=[f"{cls.__name__}-{name}" for cls, name, _ in REFUSED])
def test_a_call_that_is_refused_says_why_and_changes_nothing(cls, name, case):
    X, y = data(cls)
    call, error, message = case
    machine = new(cls).fit(X, y)
    shown, before = told(machine, X), state(machine)
    with pytest.raises(error, match=message):
        call(machine, X, y)
    assert told(machine, X) == shown
    assert state(machine) == before


WHOLE, ABOVE, LEAST = "must be a whole number >= 1; got", "must be a finite number > 0; got", "number >= 0; got"
BAD_PARAMS = [
    *(
        (cls, *case)
        for cls in ALL
        for case in (
            ({"max_iter": 0}, ParameterError, f"max_iter {WHOLE} 0"),
            ({"max_iter": 2.5}, KindError, f"max_iter {WHOLE} 2.5"),
            ({"kernel": "gauss"}, ParameterError, "kernel must be one of .*; got 'gauss'"),
            ({"kernel": "rbf", "gamma": -2.0}, ParameterError, f"gamma {ABOVE} -2"),
            ({"kernel": "rbf", "gamma": "big"}, ParameterError, "gamma must be a number > 0 or one of .*; got 'big'"),
        )
    ),
    *(
        (cls, *case)
        for cls in (*BUDGETED, Projectron)
        for case in (
            ({"budget": 0}, ParameterError, f"budget {WHOLE} 0"),
            ({"budget": -3}, ParameterError, f"budget {WHOLE} -3"),
            ({"budget": 1.5}, KindError, f"budget {WHOLE} 1.5"),
        )
    ),
    *((cls, {"budget": None}, KindError, f"budget {WHOLE} None") for cls in (Forgetron, BudgetPerceptron)),
    *((cls, {"class_weight": {0: -1.0}}, ValuesError, "class_weight must be >= 0; got -1") for cls in CLASSIFIERS),
    (Forgetron, {"variant": "tuned"}, ParameterError, "variant must be one of self-tuned, basic; got 'tuned'"),
    (BudgetPerceptron, {"forget": "newest"}, ParameterError, "forget must be one of random, oldest; got 'newest'"),
    *((OnlineSVC, {name: 0.0}, ParameterError, f"{name} {ABOVE} 0") for name in ("C", "tol", "cache_size")),
    (OnlineSVC, {"C": "much"}, KindError, f"C {ABOVE} 'much'"),
    (Projectron, {"eta": -0.1}, ParameterError, f"eta must be a finite {LEAST} -0.1"),
    (Projectron, {"eta": "small"}, KindError, f"eta must be a finite {LEAST} 'small'"),
    *(
        (cls, *case)
        for cls in (PassiveAggressiveClassifier, PassiveAggressiveRegressor)
        for case in (
            ({"C": 0.0}, ParameterError, f"C {ABOVE} 0"),
            ({"C": -1.0}, ParameterError, f"C {ABOVE} -1"),
            ({"C": np.inf}, ParameterError, f"C {ABOVE} inf"),
            ({"variant": "PA-III"}, ParameterError, "variant must be one of PA, PA-I, PA-II; got 'PA-III'"),
        )
    ),
    *((cls, {"epsilon": -0.1}, ParameterError, f"epsilon must be a finite {LEAST} -0.1") for cls in REGRESSORS),
    (NormaRegressor, {"loss": "huber", "epsilon": 0.0}, ParameterError, f"epsilon {ABOVE} 0"),
    (NormaRegressor, {"loss": "hinge"}, ParameterError, "loss must be one of epsilon-.*, squared, huber; got 'hinge'"),
    (NormaRegressor, {"loss": "squared", "nu": 0.5}, ParameterError, "nu moves the epsilon .*got nu=0.5 .*Use nu=None"),
    (NormaOneClass, {"nu": None}, ParameterError, "nu must be between 0 and 1; got None"),
    (NormaClassifier, {"rho": np.nan}, ParameterError, "rho must be a finite number; got nan"),
    *(
        (cls, *case)
        for cls in NORMAS
        for case in (
            ({"eta": 0.0}, ParameterError, f"eta {ABOVE} 0"),
            ({"eta": -0.5}, ParameterError, f"eta {ABOVE} -0.5"),
            ({"lam": -0.1}, ParameterError, f"lam must be a finite {LEAST} -0.1"),
            ({"eta": 0.5, "lam": 2.0}, ParameterError, r"eta \* lam must be < 1,.* got 0.5 \* 2 = 1. Make one of them"),
            ({"nu": 0.0}, ParameterError, "nu must be between 0 and 1; got 0"),
            ({"nu": 1.0}, ParameterError, "nu must be between 0 and 1; got 1"),
            ({"nu": "half"}, KindError, "nu must be a finite number; got 'half'"),
            ({"schedule": "linear"}, ParameterError, "schedule must be one of constant, sqrt; got 'linear'"),
        )
    ),
]


@pytest.mark.parametrize(("cls", "params", "error", "message"), BAD_PARAMS)
def test_a_parameter_that_cannot_be_is_refused_by_name_and_a_fitted_machine_stays_so(cls, params, error, message):
    X, y = data(cls)
    for learn in ("fit", "partial_fit"):
        fresh = new(cls, **params)
        with pytest.raises(error, match=f"{cls.__name__}: {message}|{message}"):
            getattr(fresh, learn)(X, y)
        assert vars(fresh) == vars(new(cls, **params))
    fresh = new(cls, **params)
    with pytest.raises(error, match=message):
        fresh.learn_one(X[0], None if y is None else y[0])
    assert vars(fresh) == vars(new(cls, **params))
    machine = new(cls).fit(X, y)
    shown = told(machine, X)
    machine.set_params(**params)
    for learn in ("fit",) if "kernel" in params else ("fit", "partial_fit"):
        with pytest.raises(error, match=message):
            getattr(machine, learn)(X + 1.0, y)
    machine.set_params(**{name: getattr(new(cls), name) for name in params})
    assert told(machine, X) == shown


LONG = r"Forgetron needs a kernel with k\(x, x\) <= 1; got 4\. Use kernel\.normalized\(\).*, or RBF"


@pytest.mark.parametrize("kernel", [Linear(), "linear"])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_the_forgetron_refuses_points_that_are_too_long_however_they_come(kernel, convert):
    short, y = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.6, 0.8]]), np.array([0, 1, 1, 0])
    bad = short.copy()
    bad[2] *= 2.0
    for learn in ("fit", "partial_fit"):
        fresh = new(Forgetron, kernel=kernel)
        with pytest.raises(ValuesError, match=LONG):
            getattr(fresh, learn)(convert(bad), y)
        assert vars(fresh) == vars(new(Forgetron, kernel=kernel))
    fresh = new(Forgetron, kernel=kernel)
    with pytest.raises(ValuesError, match=LONG):
        fresh.learn_one(bad[2], 0)
    assert vars(fresh) == vars(new(Forgetron, kernel=kernel))
    machine = new(Forgetron, kernel=kernel).fit(convert(short), y)
    shown, before = told(machine, short), state(machine)
    for call in (
        lambda: machine.fit(convert(bad), y),
        lambda: machine.partial_fit(convert(bad), y),
        lambda: machine.learn_one(bad[2], 0),
        lambda: machine.learn_one(bad[2].tolist(), 1),
        lambda: machine.learn_one(sp.csr_array(bad[[2]]), 1),
    ):
        with pytest.raises(ValuesError, match=LONG):
            call()
        assert told(machine, short) == shown
        assert state(machine) == before
    assert machine.predict(bad).shape == (4,)  # to be told about them costs nothing


def test_the_forgetron_looks_at_the_kernel_that_it_will_have():
    X, y = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]]), [0, 1, 1]
    options = {"kernel": "poly", "degree": 1, "coef0": 0.0}
    Forgetron(gamma=0.4, **options).fit(X, y)  # k(x, x) = 0.8
    with pytest.raises(ValuesError, match=r"got 6\."):
        Forgetron(gamma=3.0, **options).fit(X, y)
    machine = Forgetron(RBF()).fit(X, y)
    with pytest.raises(ValuesError, match=r"got 27\."):
        machine.set_params(kernel=Polynomial(degree=3)).fit(X, y)
    machine.set_params(kernel=Polynomial(degree=3).normalized()).fit(X, y)
    words = Custom(lambda a, b: 2.0 * (a == b), pairwise=True, takes="objects", psd=True)
    with pytest.raises(ValuesError, match=r"got 2\."):
        Forgetron(words).fit(["a", "b"], y[:2])


@every_classifier
def test_balanced_classes_need_all_the_data(cls):
    X, y = data(cls)
    message = r"class_weight='balanced' needs all the data.*Give a dict \{class: weight\}"
    with pytest.raises(ParameterError, match=message):
        new(cls, class_weight="balanced").partial_fit(X, y)
    machine = new(cls, class_weight="balanced").fit(X, y)
    before = state(machine)
    for call in (lambda: machine.partial_fit(X, y), lambda: machine.learn_one(X[0], 0)):
        with pytest.raises(ParameterError, match=message):
            call()
    assert state(machine) == before


@every
def test_before_any_learning_there_is_no_prediction(cls):
    X, _ = data(cls)
    machine = new(cls)
    for name in ("predict", "decision_function", "score_samples"):
        if hasattr(cls, name):
            with pytest.raises(NotFittedError, match="not fitted yet"):
                getattr(machine, name)(X)
    with pytest.raises(NotFittedError, match="not fitted yet"):
        machine.snapshot()
    assert machine.predict_one(X[0]) is None
    assert machine.predict_one({"a": 1.0}) is None
    names = ["mistakes_", "n_updates_", "n_rounds_", "support_", "support_vectors_", "dual_coef_", "intercept_"]
    own = ["model_", "certificate_", "shrink_", "forgotten_", "drift_", "rho_", "epsilon_", "offset_"]
    for name in names + [name for name in own if hasattr(cls, name)]:
        assert not hasattr(machine, name)
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(machine, name)


def refusing(limit):
    """A linear kernel that has no value for points beyond `limit`."""

    def kernel(A, B):
        if np.abs(A).max() > limit:
            raise ZeroDivisionError("no value there")
        return 0.01 * (A @ B.T)

    return Custom(kernel)


@pytest.fixture
def in_small_parts(monkeypatch):
    for module in (onkel.learners.budgeted, onkel.learners.projecting, onkel.learners.lasvm):
        monkeypatch.setattr(module, "CHUNK", 4)


@every
@pytest.mark.usefixtures("in_small_parts")
@pytest.mark.parametrize("classes", [2, 3])
def test_a_kernel_that_fails_on_a_later_row_leaves_the_machine_as_it_was(cls, classes):
    X, y = data(cls, classes=classes)
    first, later = (None, None) if y is None else (y[:30] % 2 if cls in CLASSIFIERS else y[:30], y[30:])
    more = -X[30:]
    more[-1] = 1e6
    budget = {"eta": 0.01} if cls is Projectron else {}
    machine, twin = (
        learn_each(new(cls, kernel=refusing(1e5), **budget).partial_fit(X[:30], first), X[:2], first) for _ in range(2)
    )
    shown, before = told(machine, X), state_without_function(machine)
    with pytest.raises(ZeroDivisionError, match="no value there"):
        machine.partial_fit(more, later)
    assert told(machine, X) == shown
    assert state_without_function(machine) == before
    with pytest.raises(ZeroDivisionError, match="no value there"):
        machine.learn_one(more[-1], None if y is None else y[0])
    assert told(machine, X) == shown
    again = y % 2 if cls in CLASSIFIERS else y
    for one in (machine, twin):
        learn_each(one, -X[:30], again).partial_fit(-X, again)
    assert_same(machine, twin, X)


def state_without_function(machine):
    learner = machine._learner
    return machine._seen, {
        name: value.tolist()
        for name, value in vars(learner).items()
        if isinstance(value, np.ndarray) and name[0] != "_"
    }


@every
@pytest.mark.usefixtures("in_small_parts")
@pytest.mark.parametrize("learn", ["fit", "partial_fit", "warm fit"])
def test_an_interrupt_keeps_whole_parts_and_a_machine_that_goes_on(cls, learn):
    X, y = data(cls)
    calls, stop = [], []

    def kernel(A, B):
        calls.extend([1] * (len(A) > 1))  # one row with itself is asked for by the diagonal
        if stop and len(calls) == stop[0]:
            raise KeyboardInterrupt
        return np.exp(-0.5 * ((A[:, None] - B[None]) ** 2).sum(axis=2))

    options = {"kernel": Custom(kernel, psd=True), "shuffle": False, "max_iter": 2, "warm_start": learn == "warm fit"}
    machine = new(cls, **options)
    first = 0
    if learn != "fit":
        first = 20
        machine.partial_fit(X[:20], None if y is None else y[:20])
    calls.clear()
    stop.append(8)
    call = machine.partial_fit if learn == "partial_fit" else machine.fit
    with pytest.raises(KeyboardInterrupt):
        call(X[first:], None if y is None else y[first:])
    seen = machine.n_rounds_ - first
    assert 0 < seen < 60
    assert seen % 4 == 0  # whole parts
    stop.clear()
    expected = new(cls, **options).partial_fit(X[: first + seen], None if y is None else y[: first + seen])
    assert_same(machine, expected, X, 1e-12)
    if learn == "fit" and cls in CLASSIFIERS:
        assert not machine.converged_
        assert machine.certificate_.bound is None  # under such budgets, and for those without a theorem
    for one in (machine, expected):
        one.partial_fit(-X, y)
    np.testing.assert_allclose(scores(machine, X), scores(expected, X), atol=1e-12)


@pytest.mark.parametrize("cls", [Forgetron, BudgetPerceptron, Projectron])
def test_equal_rows_with_different_labels_are_warned_of(cls):
    X, y = [[0.0], [1.0], [1.0]], [0, 1, 0]
    with pytest.warns(ConvergenceWarning, match=rf"{cls.__name__}: 1 row\(s\) are equal to another row with another"):
        new(cls).fit(X, y)
    new(cls, max_iter=1).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="equal to another row"):
        PassiveAggressiveClassifier(variant="PA").fit(X, y)
    for soft in (PassiveAggressiveClassifier(), NormaClassifier(), OnlineSVC()):  # they live with noise
        soft.fit(X, y)


# ---------------------------------------------------------------- watched


@every
@pytest.mark.parametrize("warm", [False, True])
def test_a_fit_draws_on_stderr_if_asked_and_never_on_stdout(cls, warm, capfd):
    X, y = data(cls)
    machine = new(cls, verbose=1, warm_start=warm).fit(X, y)
    if warm:
        machine.fit(-X, y)
    out, err = capfd.readouterr()
    assert out == ""
    assert cls.__name__ in err
    new(cls).fit(X, y).partial_fit(X, y).learn_one(X[0], None if y is None else y[0]).predict(X)
    assert capfd.readouterr() == ("", "")


# ---------------------------------------------------------------- classes, weights, going on


@every_classifier
def test_classes_may_come_late_in_any_order_and_are_shown_sorted(cls):
    X, y = data(cls, classes=4)
    names = np.array(["d", "b", "a much longer name", "c"])[y]
    order = np.argsort(y, kind="stable")
    machine = new(cls, budget=60) if cls in BUDGETED else new(cls)
    for part in (order[:15], order[15:30], order[30:45], order[45:], order):
        machine.partial_fit(X[part], names[part])
        assert machine.classes_.tolist() == sorted(set(names[order][: machine.n_rounds_]))
        assert set(machine.predict(X)) <= set(machine.classes_)
    assert machine.dual_coef_.shape == (4, len(machine.support_))
    assert machine.decision_function(X).shape == (60, 4)
    np.testing.assert_array_equal(machine.predict(X), machine.classes_[machine.decision_function(X).argmax(axis=1)])
    np.testing.assert_allclose(machine.model_.scores(X), machine.decision_function(X), atol=1e-12)
    assert set(machine.mistakes_["class"]) <= {0, 1, 2, 3}
    assert machine.score(X, names) > 0.7


@every_classifier
def test_the_first_label_alone_is_predicted_until_another_comes(cls):
    X, _ = data(cls)
    machine = new(cls).learn_one(X[0], "only")
    assert machine.predict_one(X[1]) == "only"
    assert machine.predict(X).tolist() == ["only"] * 60
    machine.learn_one(X[1], "another")
    assert machine.classes_.tolist() == ["another", "only"]
    assert machine.decision_function(X).shape == (60,)


@every_classifier
def test_class_weights_are_sample_weights(cls):
    X, y = data(cls)
    weighted = new(cls, class_weight={1: 2.0}).fit(X, y)
    by_hand = new(cls).fit(X, y, sample_weight=np.where(y == 1, 2.0, 1.0))
    assert_same(weighted, by_hand, X)
    balanced = new(cls, class_weight="balanced").fit(X[:31], y[:31])  # 16 and 15 of the two classes
    by_hand = new(cls).fit(X[:31], y[:31], sample_weight=np.where(y[:31] == 0, 31 / 32, 31 / 30))
    assert_same(balanced, by_hand, X, 1e-12)
    online = learn_each(new(cls, class_weight={1: 2.0}), X, y)
    chunk = new(cls, class_weight={1: 2.0}).partial_fit(X, y)
    assert_same(online, chunk, X, 1e-9)


@every
def test_rows_of_no_weight_are_absent(cls):
    X, y = data(cls)
    w = np.where(np.arange(60) % 3 == 0, 0.0, 1.0)
    kept = w > 0
    for learn in ("fit", "partial_fit"):
        weighted = getattr(new(cls, shuffle=False), learn)(X, y, sample_weight=w)
        absent = getattr(new(cls, shuffle=False), learn)(X[kept], None if y is None else y[kept])
        np.testing.assert_array_equal(scores(weighted, X), scores(absent, X))
        np.testing.assert_array_equal(weighted.support_, np.flatnonzero(kept)[absent.support_])
        assert weighted.n_rounds_ == absent.n_rounds_


@every
def test_a_warm_start_goes_on_and_a_cold_one_does_not(cls):
    X, y = data(cls)
    options = {"shuffle": False, "max_iter": 1} | ({"finish_fit": False} if cls is OnlineSVC else {})
    half = [(X[:30], None), (X[30:], None)] if y is None else [(X[:30], y[:30]), (X[30:], y[30:])]
    warm = new(cls, warm_start=True, **options).fit(*half[0]).fit(*half[1])
    whole = new(cls, **options).fit(X, y)
    assert warm.n_rounds_ == whole.n_rounds_ == 60
    assert_same(warm, whole, X, 1e-12)
    cold = new(cls, **options).fit(*half[0]).fit(*half[1])
    assert_same(cold, new(cls, **options).fit(*half[1]), X)


# ---------------------------------------------------------------- dicts


def dict_stream(n=80, seed=0):
    """Examples of five features, of which each has some; the later ones turn up late."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, size=(n, 5)) * (rng.random((n, 5)) < 0.6) * (np.arange(5) <= np.arange(n)[:, None] // 5)
    X[0, 0] = 1
    X = X.astype(float)
    return X, [{"abcde"[k]: row[k] for k in range(5) if row[k] != 0} for row in X]


@every
def test_dicts_whose_features_come_and_go_teach_what_vectors_with_zeros_teach(cls):
    X, dicts = dict_stream()
    y = X @ [1.0, -1.0, 2.0, 1.0, -1.0]
    y = np.where(y >= 0, "up", "down") if cls in CLASSIFIERS else np.tanh(y)
    by_dict, by_vector, seen = new(cls, kernel=RBF(gamma=0.1)), new(cls, kernel=RBF(gamma=0.1)), []
    for x, row, label in zip(dicts, X, y, strict=True):
        if set(x) <= set(seen) and seen:  # to predict, what was never learned from is ignored
            assert by_dict.predict_one(x) == pytest.approx(by_vector.predict_one(row), abs=1e-9)
        by_dict.learn_one(x, label)
        by_vector.learn_one(row, label)
        seen += [name for name in x if name not in seen]
        assert by_dict.n_features_in_ == len(seen)
    assert by_dict.n_updates_ == by_vector.n_updates_ > 5
    columns = ["abcde".index(name) for name in seen]
    np.testing.assert_allclose(scores(by_dict, X[:, columns]), scores(by_vector, X), atol=1e-9)
    assert by_dict.predict_one(dicts[-1] | {"never seen": 1e6}) == by_dict.predict_one(dicts[-1])
    for bad, error, message in (
        ({"a": "red"}, KindError, "values of x must be numbers; got 'a': 'red'"),
        ({"new": float("nan")}, ValuesError, "x must be finite"),
    ):
        before = state(by_dict)
        with pytest.raises(error, match=message):
            by_dict.learn_one(bad, y[0])
        assert state(by_dict) == before


# ---------------------------------------------------------------- checkpoints


@every
def test_a_snapshot_is_frozen_and_does_not_change_while_the_estimator_goes_on(cls):
    X, y = data(cls)
    machine = learn_each(new(cls).partial_fit(X[:30], None if y is None else y[:30]), X[30:], y)
    taken = machine.snapshot()
    assert isinstance(taken, Snapshot)
    assert taken.kind == cls.__name__
    assert dict(taken.params) == machine.get_params(deep=False)
    frozen = {name: array.tolist() for name, array in taken.arrays.items()}
    assert len(frozen) > 2
    for array in taken.arrays.values():
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    for change in (lambda: setattr(taken, "kind", "other"), lambda: taken.params.update(a=1)):
        with pytest.raises((dataclasses.FrozenInstanceError, AttributeError)):
            change()
    then = told(machine, X)
    learn_each(machine, -X, y).partial_fit(X, y)
    assert told(machine, X) != then
    assert {name: array.tolist() for name, array in taken.arrays.items()} == frozen
    later = told(machine, X)
    resumed = cls(max_iter=99).resume(taken)
    assert told(resumed, X) == then
    assert resumed.get_params() == new(cls).get_params()
    learn_each(resumed, -X, y).partial_fit(X, y)
    assert told(resumed, X) == later
    assert told(machine.resume(taken), X) == then
    assert told(pickle.loads(pickle.dumps(machine)).resume(taken), X) == then


@every
def test_a_snapshot_of_another_kind_is_refused(cls):
    X, y = data(cls)
    other = ALL[ALL.index(cls) - 1]
    taken = new(other).fit(*data(other)).snapshot()
    machine = new(cls).fit(X, y)
    before = state(machine)
    with pytest.raises(KindError, match=f"resume needs a snapshot of a {cls.__name__}; got one of a {other.__name__}"):
        machine.resume(taken)
    assert state(machine) == before


# ---------------------------------------------------------------- what was learned


@every
def test_the_ledger_is_a_window_that_stays_small_and_the_counts_go_on(cls):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 2))
    y = rng.integers(0, 2, 6000) if cls in CLASSIFIERS else 3 * rng.normal(size=6000)
    own = {"eta": 0.5} if cls is Projectron else {"nu": 0.5} if cls is NormaOneClass else {}
    machine = new(cls, **own)
    for start in range(0, 6000, 500):
        machine.partial_fit(X[start : start + 500], None if cls is NormaOneClass else y[start : start + 500])
        assert len(machine.mistakes_) <= 1000
        assert machine._learner.ledger.entries.base.nbytes < 1e6
    assert machine.n_updates_ > 1500
    assert machine.mistakes_["round"].max() > 5900
    assert (np.diff(machine.mistakes_["round"]) >= 0).all()
    assert len(machine.mistakes_) == 1000
    machine.mistakes_["round"] = 0  # a copy
    assert machine.mistakes_["round"].min() > 0


@every
@pytest.mark.parametrize("classes", [2, 3])
def test_what_was_learned_has_the_shapes_it_should(cls, classes):
    X, y = data(cls, classes=classes)
    machine = new(cls).fit(X, y)
    n_outputs, m = (classes if cls in CLASSIFIERS and classes > 2 else 1), len(machine.support_)
    assert machine.dual_coef_.shape == (n_outputs, m)
    assert machine.intercept_.shape == (n_outputs,)
    np.testing.assert_array_equal(machine.support_vectors_, X[machine.support_])
    assert machine.n_rounds_ == 60 * machine.n_iter_
    by_hand = RBF(gamma=0.5)(X, machine.support_vectors_) @ machine.dual_coef_.T + machine.intercept_
    np.testing.assert_allclose(scores(machine, X).reshape(60, -1), by_hand, atol=1e-12)
    model = machine.model_
    np.testing.assert_allclose(model.scores(X), by_hand, atol=1e-12)
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.kernel = Linear()
    before = model.scores(X)
    machine.partial_fit(-X, y)
    np.testing.assert_array_equal(model.scores(X), before)


def test_novelty_follows_the_convention_of_scikit_learns_outlier_detectors():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    machine = NormaOneClass(RBF(gamma=0.5), nu=0.1, random_state=0)
    labels = machine.fit_predict(X)
    np.testing.assert_array_equal(labels, machine.predict(X))
    assert labels.dtype.kind == "i"
    assert set(labels) == {-1, 1}
    assert (labels == -1).mean() < 0.3
    np.testing.assert_array_equal(machine.decision_function(X), machine.score_samples(X) - machine.offset_)
    np.testing.assert_array_equal(labels, np.where(machine.decision_function(X) >= 0, 1, -1))
    assert isinstance(machine.offset_, float)
    assert machine.predict([[9.0, 9.0]]).tolist() == [-1]
    assert machine.predict_one([9.0, 9.0]) == -1
    assert machine.predict_one([0.0, 0.0]) == 1
    assert machine.score_samples([[0.0, 0.0]]) > machine.score_samples([[9.0, 9.0]])
    ignored = NormaOneClass(RBF(gamma=0.5), nu=0.1, random_state=0).fit(X, np.arange(400))
    np.testing.assert_array_equal(ignored.decision_function(X), machine.decision_function(X))
    pipe = make_pipeline(StandardScaler(), NormaOneClass(nu=0.1, random_state=0)).fit(X)
    assert set(pipe.predict(X)) == {-1, 1}


# ---------------------------------------------------------------- certificates

UNCERTIFIED = {
    BudgetPerceptron: "mistakes to be expected",
    Projectron: "no theorem",
    NormaClassifier: "regularised loss",
    OnlineSVC: "no theorem on the mistakes of LASVM",
}


@pytest.mark.parametrize("cls", UNCERTIFIED)
def test_where_there_is_no_theorem_the_certificate_says_why(cls):
    X, y = data(cls)
    for machine in (new(cls).fit(X, y), new(cls).partial_fit(X, y), new(cls).learn_one(X[0], 1)):
        seen = machine.certificate_
        assert (seen.bound, seen.form, seen.holds) == (None, None, None)
        assert seen.mistakes == machine.n_mistakes_
        assert UNCERTIFIED[cls] in seen.reason
        assert str(seen).startswith("no certificate: ")
    oldest = new(BudgetPerceptron, forget="oldest").fit(X, y)
    assert "on forgetting the oldest example" in oldest.certificate_.reason


CERTIFIED = {
    "Forgetron": Forgetron(RBF(gamma=0.1), budget=83, random_state=0),
    "basic": Forgetron(RBF(gamma=0.1), budget=83, variant="basic", random_state=0),
    "PA": PassiveAggressiveClassifier(RBF(gamma=0.1), variant="PA", max_iter=100, random_state=0),
    "PA-I": PassiveAggressiveClassifier(RBF(gamma=0.1), variant="PA-I", random_state=0),
    "PA-II": PassiveAggressiveClassifier(RBF(gamma=0.1), variant="PA-II", random_state=0),
}


@pytest.mark.parametrize("name", CERTIFIED)
def test_a_certificate_is_there_after_a_fit_and_not_after_learning_online(name):
    X, y = data(Forgetron)
    X[:, 0] += 4.0 * y  # far apart
    machine = clone(CERTIFIED[name]).fit(X, y)
    seen = machine.certificate_
    assert seen.holds
    assert seen.mistakes == machine.n_mistakes_ <= seen.bound
    assert str(seen).startswith("certified: ")
    assert pickle.loads(pickle.dumps(machine)).certificate_ == seen
    machine.set_params(budget=5)  # for the next fit
    assert machine.certificate_ == seen
    machine = clone(CERTIFIED[name]).fit(X, y)
    taken = machine.snapshot()
    advice = "certificate_ is there after a fit that was neither interrupted nor a warm start"
    online = [
        machine.partial_fit(X[:1], y[:1]),
        clone(machine).partial_fit(X, y),
        clone(machine).learn_one(X[0], 0),
        clone(machine).set_params(warm_start=True).fit(X, y).fit(X, y),
    ]
    for one in online:
        assert not hasattr(one, "certificate_")
        with pytest.raises(AttributeError, match=advice):
            _ = one.certificate_
    assert machine.resume(taken).certificate_ == seen
    assert machine.fit(X, y).certificate_ == seen


@pytest.mark.parametrize("name", CERTIFIED)
def test_a_certificate_without_a_bound_says_why(name):
    X, y = data(Forgetron)
    w = np.where(y == 1, 2.0, 1.0)
    weighted = clone(CERTIFIED[name]).fit(X, y, sample_weight=w).certificate_
    assert (weighted.bound, weighted.reason) == (None, "the theorem is about weights of 1; others change the steps")
    kept = clone(CERTIFIED[name]).fit(X, y, sample_weight=(np.arange(60) > 9).astype(float)).certificate_
    assert kept.reason == ""
    unknown = clone(CERTIFIED[name]).set_params(kernel=Custom(lambda A, B: RBF(gamma=0.1)(A, B))).fit(X, y)
    assert "whether the kernel is positive semi-definite is unknown" in unknown.certificate_.reason
    if name in ("Forgetron", "basic"):
        small = clone(CERTIFIED[name]).set_params(budget=82)
        reason = "the Forgetron's theorem needs a budget of at least 83; this one is 82"
        assert small.fit(X, y).certificate_.reason == reason
        assert small.partial_fit(X, y).certificate_.reason == reason
    else:
        short = clone(CERTIFIED[name]).set_params(budget=10).fit(X, y)
        assert short.certificate_.reason == "the theorem is about learning without a budget; with one there is none"


def test_pa_has_a_certificate_only_with_a_separator():
    X, _ = data(PassiveAggressiveClassifier)
    machine = PassiveAggressiveClassifier("linear", variant="PA", max_iter=3, random_state=0).fit(X, np.arange(60) % 3)
    assert machine.certificate_.bound is None
    assert (
        "no separator found in 3 epoch(s), and the theorem is about rows that have one" in machine.certificate_.reason
    )


def test_a_precomputed_matrix_that_was_found_valid_has_a_certificate():
    X, y = data(PassiveAggressiveClassifier)
    K = RBF(gamma=0.1)(X)
    options = {"max_iter": 2, "random_state": 0}
    seen = PassiveAggressiveClassifier("precomputed", **options).fit(K, y).certificate_
    expected = PassiveAggressiveClassifier(RBF(gamma=0.1), **options).fit(X, y).certificate_
    assert (seen.mistakes, seen.form) == (expected.mistakes, expected.form)
    assert seen.bound == pytest.approx(expected.bound, rel=1e-6)
    other = PassiveAggressiveClassifier(2.0 * Precomputed(), **options).fit(K, y).certificate_
    assert "is unknown" in other.reason


@every_classifier
def test_the_perceptrons_theorem_is_not_applied_to_other_learners(cls):
    X, y = data(cls)
    machine = new(cls).fit(X, y)
    for look in (bounds.certificate, bounds.trace):
        with pytest.raises(KindError, match=f"{cls.__name__} (takes other steps|has no)"):
            look(machine, X, y)


# ---------------------------------------------------------------- rules × policies

NORMA = Regularised(0.3, 0.05, None, "constant", True)
MOVING = Regularised(0.3, 0.05, 0.4, "sqrt", False)
# A new rule or policy is one line here.
RULES = {
    "perceptron": (Rule(rules.perceptron), None),
    "PA": (Rule(rules.pa), None),
    "PA-I": (Rule(rules.pa1, (0.4,)), None),
    "PA-II": (Rule(rules.pa2, (0.4,)), None),
    "PA regression": (Rule(rules.pa_regression, (0.1,), signs=False), None),
    "PA-I regression": (Rule(rules.pa1_regression, (0.1, 0.4), signs=False), None),
    "PA-II regression": (Rule(rules.pa2_regression, (0.1, 0.4), signs=False), None),
    "NORMA": (Rule(rules.soft_margin), NORMA),
    "NORMA, nu": (Rule(rules.soft_margin), MOVING),
    "NORMA, epsilon": (Rule(rules.epsilon_insensitive, signs=False), NORMA),
    "NORMA, epsilon and nu": (Rule(rules.epsilon_insensitive, signs=False), MOVING),
    "NORMA, squared": (Rule(rules.squared, signs=False), NORMA),
    "NORMA, huber": (Rule(rules.huber, signs=False), NORMA),
    "NORMA, novelty": (Rule(rules.novelty, signs=False), MOVING),
}
POLICIES = {
    "grow": policies.Grow(),
    "oldest": policies.ForgetOldest(7),
    "random": policies.ForgetRandom(7),
    "Forgetron": policies.ShrinkThenForget(7),
    "basic Forgetron": policies.ShrinkByNorm(7),
    "replace": policies.ReplaceCheapest(7),
}


# All with all, but the basic Forgetron with NORMA: it keeps ‖f‖², which a decay would change behind its back.
PAIRS = [
    pytest.param(rule, policy)
    for (rule, (_, norma)), policy in itertools.product(RULES.items(), POLICIES)
    if norma is None or policy != "basic Forgetron"
]


def learner_of(rule, policy, n_outputs, *, native):
    step, norma = rule
    learner = BudgetedLearner(RBF(gamma=0.5), n_outputs, step, policy, norma=norma, margin=0.5, seed=3)
    assert learner._settings is not None
    if not native:
        learner._settings = None
    return learner


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize(("rule", "policy"), PAIRS)
def test_every_rule_and_policy_is_the_same_in_the_core_and_in_python(rule, policy, n_outputs):
    rng = np.random.default_rng(1)
    X, w = rng.normal(size=(90, 3)), rng.choice([0.5, 1.0, 2.0], 90)
    y = rng.choice([-1.0, 1.0], (90, n_outputs)) if RULES[rule][0].signs else rng.normal(size=(90, n_outputs))
    y[:10, -1] = np.nan  # a machine that does not look yet
    native, python = (learner_of(RULES[rule], POLICIES[policy], n_outputs, native=native) for native in (True, False))
    rows = prepare(RBF(gamma=0.5), X)
    for part in (slice(0, 40), slice(40, 41), slice(41, 80)):
        before = native.savepoint()
        native.learn(rows[:30], y[:30], w[:30], np.arange(30))
        native.rollback(before)  # what is undone leaves nothing behind
        scored = [one.learn(rows[part], y[part], w[part], np.arange(90)[part]) for one in (native, python)]
        np.testing.assert_allclose(*scored, rtol=1e-12, atol=1e-12)
    for i in range(80, 90):
        for one in (native, python):
            one.learn_one(rows[i : i + 1], y[i : i + 1], i)
    assert native.counts.tolist() == python.counts.tolist()
    assert native.counts[1] > 7
    (_, coef, numbers), (_, other_coef, other_numbers) = native.support(), python.support()
    np.testing.assert_array_equal(numbers, other_numbers)
    np.testing.assert_allclose(coef, other_coef, rtol=1e-12, atol=1e-12)
    for name in ("margin", "offset", "scalars"):
        np.testing.assert_allclose(getattr(native, name), getattr(python, name), rtol=1e-12, atol=1e-12)
    entries, others = native.ledger.entries, python.ledger.entries
    for name in ("round", "row", "class"):
        np.testing.assert_array_equal(entries[name], others[name])
    np.testing.assert_allclose(entries["step"], others["step"], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_first_mistake_on_a_row_of_zeros_is_the_same_in_the_core_and_in_python(policy):
    rows = prepare(Linear(), np.zeros((1, 3)))  # k(x, x) = 0, and ‖f‖ stays 0
    found = []
    for native in (True, False):
        learner = BudgetedLearner(Linear(), 1, Rule(rules.perceptron), POLICIES[policy], seed=3)
        learner._settings = learner._settings if native else None
        learner.learn(rows, np.ones((1, 1)), np.ones(1), np.arange(1))
        found.append((learner.scalars.tolist(), learner.support()[1].tolist()))
    assert found[0] == found[1]


def test_every_rule_and_policy_of_the_core_is_in_these_tables():
    assert {rule.step for rule, _ in RULES.values()} == set(rules.NATIVE)
    classes = [cls for cls in vars(policies).values() if isinstance(cls, type) and issubclass(cls, policies.Policy)]
    assert {type(policy) for policy in POLICIES.values()} == {cls for cls in classes if cls.code is not None}


def test_a_rule_and_a_policy_of_ones_own_run_in_python():
    def timid(f, y, sq_norm, w):
        """Half a perceptron."""
        return 0.5 * w * y if y * f <= 0 else 0.0

    class Newest(policies.Policy):
        """Gives up the newest vector."""

        def take(self, memory, new):
            memory.put(min(memory.size, memory.coef.shape[1] - 1), new.i, new.steps)

    X = np.eye(6)
    y, w, numbers = np.array([[1.0], [-1.0], [1.0], [1.0], [-1.0], [-1.0]]), np.ones(6), np.arange(6)
    learner = BudgetedLearner(Linear(), 1, Rule(timid), Newest(3))
    assert learner._settings is None
    learner.learn(prepare(Linear(), X), y, w, numbers)
    _, coef, kept = learner.support()
    assert kept.tolist() == [0, 1, 5]
    assert coef[:, 0].tolist() == [0.5, -0.5, -0.5]
    assert learner.counts.tolist() == [6, 6]
    one = BudgetedLearner(Linear(), 1, Rule(timid), Newest(3))
    for i in range(6):
        one.learn_one(prepare(Linear(), X)[i : i + 1], y[i : i + 1], i)
    np.testing.assert_array_equal(one.support()[1], coef)
