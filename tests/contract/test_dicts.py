"""One example at a time as a dict: features may appear and disappear, and count as 0 where they are missing."""

from __future__ import annotations

import numpy as np
import pytest

from onkel import KernelPerceptron, Perceptron
from onkel.errors import InputError, KindError, ValuesError
from onkel.kernels import RBF

LEARNERS = [KernelPerceptron(RBF(gamma=0.5)), KernelPerceptron("poly", gamma=0.5), Perceptron()]
every_learner = pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: repr(learner)[:30])


def stream(n=60, seed=0):
    """Examples of five features, of which each has some; the later ones turn up late."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, size=(n, 5)) * (rng.random((n, 5)) < 0.6) * (np.arange(5) <= np.arange(n)[:, None] // 5)
    y = np.where(X @ [1, -1, 2, 1, -1] >= 0, "up", "down")
    return X.astype(float), y


def as_dicts(X, order="abcde"):
    return [{order[k]: row[k] for k in range(5) if row[k] != 0} for row in X]


def copy_of(learner):
    return type(learner)(**learner.get_params(deep=False))


@every_learner
def test_dicts_teach_what_vectors_with_zeros_teach(learner):
    X, y = stream()
    by_dict, by_vector = copy_of(learner), copy_of(learner)
    seen: list[str] = []
    for x, row, label in zip(as_dicts(X), X, y, strict=True):
        assert by_dict.predict_one(x) == by_vector.predict_one(row)
        by_dict.learn_one(x, label)
        by_vector.learn_one(row, label)
        seen += [name for name in x if name not in seen]
        assert by_dict.n_features_in_ == len(seen)
    assert by_dict.n_mistakes_ == by_vector.n_mistakes_ > 3
    np.testing.assert_array_equal(by_dict.mistakes_, by_vector.mistakes_)
    columns = ["abcde".index(name) for name in seen]
    np.testing.assert_allclose(by_dict.decision_function(X[:, columns]), by_vector.decision_function(X), atol=1e-9)


@every_learner
def test_the_order_of_the_keys_does_not_matter(learner):
    X, y = stream()
    one, other = copy_of(learner), copy_of(learner)
    for x, label in zip(as_dicts(X), y, strict=True):
        one.learn_one(x, label)
        other.learn_one(dict(reversed(x.items())), label)
    assert one.n_mistakes_ == other.n_mistakes_


@every_learner
def test_to_predict_features_that_were_never_learned_from_are_ignored(learner):
    X, y = stream()
    machine = copy_of(learner)
    for x, label in zip(as_dicts(X), y, strict=True):
        machine.learn_one(x, label)
    x = as_dicts(X)[-1]
    assert machine.predict_one(x | {"new": 1e6}) == machine.predict_one(x)
    assert machine.n_features_in_ == 5


def test_a_model_of_a_data_frame_goes_on_with_dicts():
    pandas = pytest.importorskip("pandas")
    X, y = stream()
    frame = pandas.DataFrame(X, columns=list("abcde"))
    machine = KernelPerceptron(RBF(gamma=0.5)).partial_fit(frame[:40], y[:40])
    twin = KernelPerceptron(RBF(gamma=0.5)).partial_fit(X[:40], y[:40])
    for x, row, label in zip(as_dicts(X[40:]), X[40:], y[40:], strict=True):
        machine.learn_one(x, label)
        twin.learn_one(row, label)
    np.testing.assert_array_equal(machine.mistakes_, twin.mistakes_)
    machine.learn_one({"f": 1.0}, "up")
    assert list(machine.feature_names_in_) == list("abcdef")


@pytest.mark.parametrize(
    ("x", "label", "error", "message"),
    [
        ({"a": "red"}, "up", KindError, r"values of x must be numbers; got 'a': 'red'"),
        ({"new": float("nan")}, "up", ValuesError, "x must be finite"),
        ({"new": 1.0}, 7, KindError, "labels of one kind"),
    ],
)
def test_a_refused_dict_changes_nothing(x, label, error, message):
    X, y = stream()
    machine = KernelPerceptron(RBF(gamma=0.5))
    for row, name in zip(as_dicts(X), y, strict=True):
        machine.learn_one(row, name)
    before = machine.n_features_in_, machine.n_mistakes_, machine.n_rounds_, machine.predict_one({"a": 1.0})
    with pytest.raises(error, match=message):
        machine.learn_one(x, label)
    assert before == (machine.n_features_in_, machine.n_mistakes_, machine.n_rounds_, machine.predict_one({"a": 1.0}))


def test_a_known_set_of_classes_refuses_another_before_the_learner_grows():
    machine = KernelPerceptron(RBF(gamma=0.5)).fit(np.eye(3), [0, 1, 1])
    machine.feature_names_in_ = np.array(["a", "b", "c"], dtype=object)
    with pytest.raises(InputError, match="classes known from the start"):
        machine.learn_one({"d": 1.0}, 2)
    assert machine.n_features_in_ == 3


def test_vectors_without_names_take_no_dicts():
    machine = KernelPerceptron(RBF(gamma=0.5)).partial_fit(np.eye(2), [0, 1])
    with pytest.raises(KindError, match="without names, so x must be such a vector; got a dict"):
        machine.predict_one({"a": 1.0})


def test_a_row_outside_the_kernels_domain_does_not_make_the_learner_grow():
    machine = KernelPerceptron("chi2").learn_one({"a": 1.0}, 0).learn_one({"a": 2.0}, 1)
    with pytest.raises(ValuesError, match="negative"):
        machine.learn_one({"a": 1.0, "b": -1.0}, 0)
    assert machine.n_features_in_ == 1
    machine.learn_one({"a": 1.0, "b": 1.0}, 0)
    assert machine.n_features_in_ == 2
