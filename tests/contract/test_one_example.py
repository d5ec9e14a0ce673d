"""One example at a time, as a vector or a dict: features may come and go, and count as 0 where they are missing."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from contract.registered import (
    DETECTORS,
    ONLINE,
    ONLINE_CLASSIFIERS,
    ONLINE_WITH_KERNEL,
    data,
    each_online,
    each_online_classifier,
    new,
    part,
    scores,
    shown,
    state,
    updates,
)
from sklearn.exceptions import NotFittedError

from onkel import Forgetron, KernelPerceptron
from onkel.errors import InputError, KindError, ValuesError
from onkel.kernels import RBF

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def stream(cls, n=80, seed=0):
    """Examples of five features, of which each has some, as vectors and as dicts; the later ones turn up late."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, size=(n, 5)) * (rng.random((n, 5)) < 0.6) * (np.arange(5) <= np.arange(n)[:, None] // 5)
    X[0, 0] = 1
    X = X.astype(float)
    f = X @ [1.0, -1.0, 2.0, 1.0, -1.0]
    y = np.where(f >= 0, "up", "down") if cls in ONLINE_CLASSIFIERS else np.tanh(f)
    return X, [{"abcde"[k]: row[k] for k in range(5) if row[k] != 0} for row in X], y


def fresh(cls):
    return new(cls, **({"kernel": RBF(gamma=0.1)} if cls in ONLINE_WITH_KERNEL else {}))


def taught(cls):
    """Taught by dicts."""
    X, dicts, y = stream(cls)
    machine = fresh(cls)
    for x, label in zip(dicts, y, strict=True):
        machine.learn_one(x, label)
    return machine, X, dicts, y


def on_a_polynomial(cls):
    return cls("poly", gamma=0.5)


@pytest.mark.parametrize(("cls", "make"), [*((cls, fresh) for cls in ONLINE), (KernelPerceptron, on_a_polynomial)])
def test_dicts_teach_what_vectors_with_zeros_teach(cls, make):
    X, dicts, y = stream(cls)
    by_dict, by_vector, seen = make(cls), make(cls), []
    for x, row, label in zip(dicts, X, y, strict=True):
        if cls in ONLINE_CLASSIFIERS or set(x) <= set(seen):  # to predict, what was never learned from is ignored
            assert by_dict.predict_one(x) == pytest.approx(by_vector.predict_one(row), abs=1e-9)
        by_dict.learn_one(x, label)
        by_vector.learn_one(row, label)
        seen += [name for name in x if name not in seen]
        assert by_dict.n_features_in_ == len(seen)
    assert updates(by_dict) == updates(by_vector) > 3
    fields = ["round", "row", "class"]
    np.testing.assert_array_equal(by_dict.mistakes_[fields], by_vector.mistakes_[fields])
    np.testing.assert_allclose(scores(by_dict, dicts), scores(by_vector, X), atol=1e-9)


@each_online
def test_the_order_of_the_keys_does_not_matter(cls):
    one, _, dicts, y = taught(cls)
    other = fresh(cls)
    for x, label in zip(dicts, y, strict=True):
        other.learn_one(dict(reversed(x.items())), label)
    assert updates(one) == updates(other)
    answers = [[machine.predict_one(x) for x in dicts] for machine in (one, other)]
    assert answers[0] == (answers[1] if cls in (*ONLINE_CLASSIFIERS, *DETECTORS) else pytest.approx(answers[1]))


@each_online
def test_to_predict_features_that_were_never_learned_from_are_ignored(cls):
    machine, _, dicts, _ = taught(cls)
    assert machine.predict_one(dicts[-1] | {"never seen": 1e6}) == machine.predict_one(dicts[-1])
    assert machine.n_features_in_ == 5


@each_online
def test_a_model_of_a_data_frame_goes_on_with_dicts(cls):
    X, dicts, y = stream(cls)
    machine = fresh(cls).partial_fit(pd.DataFrame(X[:40], columns=list("abcde")), y[:40])
    twin = fresh(cls).partial_fit(X[:40], y[:40])
    for x, row, label in zip(dicts[40:], X[40:], y[40:], strict=True):
        machine.learn_one(x, label)
        twin.learn_one(row, label)
    np.testing.assert_array_equal(machine.mistakes_, twin.mistakes_)
    machine.learn_one({"f": 1.0}, y[0])
    assert list(machine.feature_names_in_) == list("abcdef")


@each_online
def test_a_refused_dict_changes_nothing(cls):
    machine, _, dicts, y = taught(cls)
    cases = [
        ({"a": "red"}, y[0], KindError, r"values of x must be numbers; got 'a': 'red'"),
        ({"new": float("nan")}, y[0], ValuesError, "x must be finite"),
    ]
    if cls in ONLINE_CLASSIFIERS:
        cases.append(({"new": 1.0}, 7, KindError, "labels of one kind"))
    visible, before = shown(machine, dicts), state(machine)
    for x, label, error, message in cases:
        with pytest.raises(error, match=message):
            machine.learn_one(x, label)
        assert shown(machine, dicts) == visible
        assert state(machine) == before


@each_online_classifier
def test_a_known_set_of_classes_refuses_another_before_the_learner_grows(cls):
    table = pd.DataFrame(0.5 * np.eye(3), columns=list("abc"))
    machine = fresh(cls).fit(table, [0, 1, 1])
    before = state(machine)
    with pytest.raises(InputError, match="classes known from the start"):
        machine.learn_one({"d": 1.0}, 2)
    assert machine.n_features_in_ == 3
    assert state(machine) == before


@each_online
def test_vectors_without_names_take_no_dicts(cls):
    machine = fresh(cls).partial_fit(np.eye(2), [0, 1])
    with pytest.raises(KindError, match="without names, so x must be such a vector; got a dict"):
        machine.predict_one({"a": 1.0})


@pytest.mark.parametrize("cls", ONLINE_WITH_KERNEL)
def test_a_row_outside_the_kernels_domain_does_not_make_the_learner_grow(cls):
    machine = new(cls, kernel="chi2").learn_one({"a": 1.0}, 0).learn_one({"a": 2.0}, 1)
    with pytest.raises(ValuesError, match="negative"):
        machine.learn_one({"a": 1.0, "b": -1.0}, 0)
    assert machine.n_features_in_ == 1
    machine.learn_one({"a": 1.0, "b": 1.0}, 0)
    assert machine.n_features_in_ == 2


@each_online
def test_one_prediction_is_the_one_of_a_row_among_many(cls):
    X, y = data(cls, classes=3)
    machine = new(cls).partial_fit(X[:40], part(y, slice(40)))
    answers = [machine.predict_one(x) for x in X]
    np.testing.assert_allclose(answers, machine.predict(X), atol=1e-12)
    assert type(answers[0]) in (int, float)


@each_online
def test_complex_numbers_are_refused(cls):
    X, y = data(cls)
    estimator = new(cls).partial_fit(X[:20], part(y, slice(20)))
    x, label = X[20] + 1j, None if y is None else y[20]
    before = estimator.snapshot()
    for call in (lambda: estimator.learn_one(x, label), lambda: estimator.predict_one(x)):
        with pytest.raises(KindError, match="must hold real numbers; got dtype complex128"):
            call()
    assert estimator.snapshot() == before


def test_before_any_class_there_is_no_model():
    machine = Forgetron(class_weight={0: 0.0, 1: 1.0}, gamma=1.0).partial_fit([[0.0, 1.0]], [0])
    assert machine.predict_one([0.0, 1.0]) is None
    for ask in (lambda: machine.model_, lambda: machine.predict([[0.0, 1.0]])):
        with pytest.raises(NotFittedError, match="has not learned from any example yet"):
            ask()
