"""Estimators of onkel in river, estimators and metrics of river in onkel."""

from __future__ import annotations

import importlib
import inspect
import itertools
import pickle
import pkgutil
import subprocess
import sys

import numpy as np
import pytest
from cases import grouped
from pairwise import pairwise
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import SGDClassifier

import onkel
from onkel import KernelPerceptron, Perceptron, progressive_validation, registry
from onkel.data import Stream
from onkel.errors import KindError

pytest.importorskip("river")
from river import base, checks, datasets, evaluate, linear_model, metrics, preprocessing

from onkel.river import WrappedClassifier, WrappedRegressor, wrap

X = np.random.default_rng(0).normal(size=(80, 3))
Y = X[:, 0] * X[:, 1] > 0


class DictClassifier(ClassifierMixin, BaseEstimator):
    """The perceptron on dicts, one machine per class: the promise that `wrap` stands on, and nothing else."""

    def __init__(self, eta=1.0):
        self.eta = eta

    def learn_one(self, x, y):
        if not hasattr(self, "v_"):
            self.v_ = {}
        self.v_.setdefault(y, {})
        for label, v in self.v_.items():
            sign = 1 if label == y else -1
            if sign * self._score(v, x) <= 0:
                for name, value in x.items():
                    v[name] = v.get(name, 0.0) + self.eta * sign * value
        return self

    def predict_one(self, x):
        return max(self.v_, key=lambda label: self._score(self.v_[label], x)) if hasattr(self, "v_") else None

    @staticmethod
    def _score(v, x):
        return sum(v.get(name, 0.0) * value for name, value in sorted(x.items()))


class DictRegressor(RegressorMixin, BaseEstimator):
    """The last target, as a NumPy number."""

    def learn_one(self, x, y):
        self.last_ = np.float64(y)
        return self

    def predict_one(self, x):
        return getattr(self, "last_", None)


def with_numbers(estimator):
    """With a gamma that does not hang on the first example, a seed, and a cache that river's examples fill."""
    known, given = inspect.signature(estimator).parameters, {"gamma": 1.0, "random_state": 0, "cache_size": 0.5}
    return estimator(**{name: value for name, value in given.items() if name in known})


ONLINE = [entry for entry in registry.estimators() if entry.online and entry.task in ("classify", "regress")]


# ---------------------------------------------------------------- river's own checks


def river_checks(estimator):
    """The checks of river."""
    wrapped = wrap(estimator)
    skipped = wrapped._unit_test_skips()
    return [(estimator, check) for check in checks.yield_checks(wrapped) if check.__name__ not in skipped]


EVERY = [DictClassifier(), DictRegressor(), *(with_numbers(getattr(onkel, entry.name)) for entry in ONLINE)]


def some_of(found):
    """Every check on every estimator, each on one of river's data sets in turn: they share estimators and checks.

    A check that is not of a data set is there once.
    """
    by_name = {}
    for estimator, check in found:
        by_name.setdefault(check.__name__, []).append((estimator, check))
    return by_name


CHECKED = [some_of(river_checks(estimator)) for estimator in EVERY]
NAMES = list(dict.fromkeys(name for found in CHECKED for name in found))
CASES = list(
    dict.fromkeys(
        found[name][k % len(found[name])]
        for found, name, k in pairwise(
            CHECKED, NAMES, range(max(len(of) for found in CHECKED for of in found.values()))
        )
        if name in found
    )
)


@grouped("estimator, check", CASES)
def test_river_finds_nothing_wrong(estimator, check):
    check(wrap(estimator).clone())


def test_no_check_of_river_is_skipped():
    for estimator in EVERY:
        assert wrap(estimator)._unit_test_skips() == set()
    known = {
        "check_emerging_features",
        "check_radically_disappearing_features",
        "check_shuffle_features_no_impact",
        "check_bounded_memory_growth",
        "check_clone_is_independent",
        "check_no_state_aliasing_with_input",
        "check_pickling",
    }
    parts = [importlib.import_module(f"river.checks.{part.name}") for part in pkgutil.iter_modules(checks.__path__)]
    offered = {name for part in (checks, *parts) for name in vars(part)}  # some are newer than the oldest river
    assert {"check_emerging_features", "check_pickling"} <= offered
    assert {check.__name__ for _, check in CASES} >= known & offered


def test_river_can_make_one_of_each_by_itself():
    made = [kind(**params) for kind in (WrappedClassifier, WrappedRegressor) for params in kind._unit_test_params()]
    assert sorted(type(model.estimator).__name__ for model in made) == sorted(entry.name for entry in ONLINE)


# ---------------------------------------------------------------- what the wrapper is


def test_classifiers_and_regressors_become_those_of_river():
    classifier, regressor = wrap(Perceptron()), wrap(DictRegressor())
    assert isinstance(classifier, WrappedClassifier)
    assert isinstance(classifier, base.Classifier)
    assert isinstance(regressor, WrappedRegressor)
    assert isinstance(regressor, base.Regressor)
    assert classifier._multiclass
    assert classifier._supervised
    with pytest.raises(NotImplementedError):
        classifier.predict_proba_one({"a": 1.0})


def test_before_any_learning_a_classifier_says_none_and_a_regressor_zero():
    assert wrap(Perceptron()).predict_one({"a": 1.0}) is None
    assert wrap(DictRegressor()).predict_one({"a": 1.0}) == 0.0


def test_predictions_are_plain_python_values():
    regressor = wrap(DictRegressor())
    assert regressor.learn_one({"a": 1.0}, 3) is None
    assert type(regressor.predict_one({"a": 1.0})) is float

    class Numpy(DictClassifier):
        def predict_one(self, x):
            return np.bool_(True)

    assert wrap(Numpy()).predict_one({}) is True


def test_the_estimator_itself_learns_and_a_clone_is_fresh():
    estimator = DictClassifier(eta=0.5)
    model = wrap(estimator)
    model.learn_one({"a": 1.0}, "yes")
    assert estimator.v_ == {"yes": {"a": 0.5}}
    fresh = model.clone()
    assert (fresh.estimator.eta, hasattr(fresh.estimator, "v_"), fresh.predict_one({"a": 1.0})) == (0.5, False, None)
    kept = model.clone(include_attributes=True)
    assert (kept.estimator is estimator, kept.predict_one({"a": 1.0})) == (False, "yes")
    other = model.clone({"estimator": DictClassifier(eta=2.0)})
    assert other.estimator.eta == 2.0
    again = pickle.loads(pickle.dumps(model))
    assert again.estimator.v_ == estimator.v_


@pytest.mark.parametrize("estimator", [3, SGDClassifier(), KernelPerceptron, onkel.EigenMap()], ids=repr)
def test_what_is_no_online_estimator_is_refused(estimator):
    with pytest.raises(KindError, match=r"onkel\.river\.wrap: estimator must be an online estimator of onkel, .* got"):
        wrap(estimator)


def test_what_is_neither_classifier_nor_regressor_is_refused():
    class Online(BaseEstimator):
        def learn_one(self, x, y): ...
        def predict_one(self, x): ...

    with pytest.raises(KindError, match=r"estimator must be a classifier or a regressor; got Online\(\)"):
        wrap(Online())


def test_a_missing_river_is_an_import_error_that_names_the_extra():
    code = """
import sys
sys.modules["river"] = None  # as if it were not installed
import onkel, onkel.evaluate, onkel.data
try:
    onkel.river.wrap(onkel.Perceptron())
except ImportError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == 'onkel.river makes estimators of river, which is missing: pip install "onkel[river]"'


def test_judging_does_not_import_river():
    code = "import sys, onkel.evaluate, onkel.data, onkel.plot; raise SystemExit('river' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---------------------------------------------------------------- metrics and estimators of river in onkel


@pytest.mark.parametrize("chunk", [1, 16])
def test_metrics_of_river_are_told_what_ours_count(chunk):
    ours = ["accuracy", "balanced_accuracy", "f1"]
    theirs = [metrics.Accuracy(), metrics.BalancedAccuracy(), metrics.MacroF1()]
    warm = KernelPerceptron(gamma=1.0, hypothesis="last").partial_fit(X[:10], Y[:10])
    *_, last = progressive_validation(warm, Stream(X[10:], Y[10:]), [*ours, *theirs], chunk=chunk)
    values = list(last.metrics.values())
    assert list(last.metrics)[3:] == ["Accuracy", "BalancedAccuracy", "MacroF1"]
    assert values[:3] == pytest.approx(values[3:], rel=1e-12)
    *_, one = progressive_validation(Perceptron(), Stream(X, Y), metrics.Accuracy(), chunk=chunk)
    assert list(one.metrics) == ["Accuracy"]


def test_a_model_of_river_is_judged_as_river_judges_it():
    def model():
        return preprocessing.StandardScaler() | linear_model.LogisticRegression()

    expected = evaluate.progressive_val_score(datasets.Phishing(), model(), metrics.Accuracy())
    *_, last = progressive_validation(model(), datasets.Phishing(), "accuracy")
    assert last.examples == 1250
    assert last.metrics["accuracy"] == pytest.approx(expected.get(), rel=1e-12)
    *_, last = progressive_validation(
        preprocessing.StandardScaler() | linear_model.LinearRegression(),
        datasets.TrumpApproval(),
        ["mae", metrics.MAE()],
    )
    assert last.mistakes is None
    assert last.metrics["mae"] == pytest.approx(last.metrics["MAE"], rel=1e-9)


# ---------------------------------------------------------------- estimators of onkel in river


def dicts(X):
    return [dict(zip("abc", row.tolist(), strict=True)) for row in X]


@pytest.mark.parametrize("entry", ONLINE, ids=lambda entry: entry.name)
def test_dicts_in_river_are_vectors_in_onkel(entry):
    target = X[:, 0] if entry.task == "regress" else Y
    estimator = with_numbers(getattr(onkel, entry.name))
    model = wrap(with_numbers(getattr(onkel, entry.name)))
    for x, as_dict, y in zip(X, dicts(X), target.tolist(), strict=True):
        expected = estimator.predict_one(x)
        if entry.task == "regress":
            expected = pytest.approx(0.0 if expected is None else expected, rel=1e-9)
        assert model.predict_one(as_dict) == expected
        model.learn_one(as_dict, y)
        estimator.learn_one(x, y)


def test_river_judges_a_wrapped_estimator_as_onkel_does():
    model = wrap(KernelPerceptron(gamma=1.0, hypothesis="last"))
    pairs = list(zip(dicts(X), Y.tolist(), strict=True))
    expected = evaluate.progressive_val_score(pairs, model, metrics.Accuracy())
    *_, last = progressive_validation(KernelPerceptron(gamma=1.0, hypothesis="last"), Stream(X, Y), metrics.Accuracy())
    assert last.metrics["Accuracy"] == pytest.approx(expected.get(), rel=1e-12)
    *_, ours = progressive_validation(model.clone(), pairs)
    assert (ours.mistakes, ours.support) == (last.mistakes, None)


def test_a_wrapped_estimator_stands_at_the_end_of_a_pipeline():
    model = preprocessing.StandardScaler() | wrap(KernelPerceptron(gamma=0.5, hypothesis="last"))
    score = evaluate.progressive_val_score(datasets.Phishing().take(600), model, metrics.Accuracy())
    assert score.get() > 0.8
    many = preprocessing.StandardScaler() | wrap(KernelPerceptron(gamma=0.1, hypothesis="last"))
    score = evaluate.progressive_val_score(datasets.ImageSegments().take(700), many, metrics.Accuracy())
    assert score.get() > 0.6


def test_features_come_and_go_as_zeros():
    rows = [{"a": 1.0}, {"a": -1.0, "b": 0.5}, {"b": 2.0}, {"c": 1.0, "a": 0.0}, {}]
    labels = [True, False, True, False, True]
    table = np.array([[x.get(name, 0.0) for name in "abc"] for x in rows])
    model, twin = wrap(Perceptron(fit_intercept=False)), Perceptron(fit_intercept=False)
    for x, row, y in itertools.islice(zip(itertools.cycle(rows), itertools.cycle(table), itertools.cycle(labels)), 25):
        assert model.predict_one(x) == twin.predict_one(row)
        model.learn_one(x, y)
        twin.learn_one(row, y)
