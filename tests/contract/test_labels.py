"""Labels, classes and weights: labels of every kind, classes that come late, weights of classes and of examples."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from contract.registered import (
    BUDGETED,
    CLASSIFIERS,
    ONLINE,
    ONLINE_CLASSIFIERS,
    PERCEPTRONS,
    assert_same,
    data,
    each_classifier,
    each_online,
    each_online_classifier,
    has,
    learn_each,
    new,
    part,
    scores,
)
from pairwise import pairwise
from sklearn.exceptions import ConvergenceWarning

from onkel import (
    BudgetPerceptron,
    Forgetron,
    NormaClassifier,
    OnlineSVC,
    PassiveAggressiveClassifier,
    Projectron,
)
from onkel.errors import InputError

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def able(cls):
    """One that is always right on classes far from one another."""
    return new(cls, **({"nu": None, "rho": 0.5, "eta": 0.5, "budget": 60} if cls is NormaClassifier else {}))


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


@pytest.mark.parametrize(
    ("cls", "container", "kind"), pairwise(CLASSIFIERS, [list, np.asarray, pd.Series], list(LABELS))
)
def test_labels_of_every_kind_come_back_as_they_went_in(cls, container, kind):
    names, python = LABELS[kind]
    X, place = data(cls, classes=len(names), apart=5.0)
    y = container([names[i] for i in place]) if container is list else container(np.asarray(names)[place])
    machine = able(cls).fit(X, y)
    assert machine.classes_.tolist() == sorted(np.asarray(names).tolist())
    assert all(type(label) is python for label in machine.classes_.tolist())
    predicted = machine.predict(X)
    assert predicted.dtype == machine.classes_.dtype == np.unique(np.asarray(y)).dtype
    np.testing.assert_array_equal(predicted, np.asarray(y))
    assert machine.score(X, y) == 1.0
    if cls in ONLINE:
        assert machine.predict_one(X[0]) == names[0]
        assert type(machine.predict_one(X[0])) is python


@pytest.mark.parametrize("kind", LABELS)
@each_online_classifier
def test_python_and_numpy_labels_are_learned_one_by_one_alike(cls, kind):
    names, _ = LABELS[kind]
    X, place = data(cls, classes=len(names), apart=5.0)
    python, numpy, whole = able(cls), able(cls), able(cls)
    array = np.asarray(names)
    for x, i in zip(X, place, strict=True):
        python.learn_one(x, array.tolist()[i])
        numpy.learn_one(x, array[i])
    whole.partial_fit(X, array[place], classes=array)
    for machine in (python, numpy):
        assert machine.classes_.tolist() == whole.classes_.tolist() == sorted(array.tolist())
        np.testing.assert_array_equal(machine.predict(X), array[place])
    np.testing.assert_array_equal(python.mistakes_, numpy.mistakes_)
    if len(names) == 2 and cls in PERCEPTRONS:
        np.testing.assert_array_equal(python.mistakes_, whole.mistakes_)


@each_online_classifier
def test_classes_may_come_late_in_any_order_and_are_shown_sorted(cls):
    X, y = data(cls, classes=4)
    names = np.array(["d", "b", "a much longer name", "c"])[y]  # which is not cut
    order = np.argsort(y, kind="stable")
    machine = new(cls, budget=60) if cls in BUDGETED else new(cls)
    for where in (order[:15], order[15:30], order[30:45], order[45:], order):
        machine.partial_fit(X[where], names[where])
        assert machine.classes_.tolist() == sorted(set(names[order][: machine.n_rounds_]))
        assert set(machine.predict(X)) <= set(machine.classes_)
    assert machine.decision_function(X).shape == (60, 4)
    np.testing.assert_array_equal(machine.predict(X), machine.classes_[machine.decision_function(X).argmax(axis=1)])
    if has(cls, "kernel"):
        assert machine.dual_coef_.shape == (4, len(machine.support_))
        np.testing.assert_allclose(machine.model_.scores(X), machine.decision_function(X), atol=1e-12)
    assert set(machine.mistakes_["class"]) <= {0, 1, 2, 3}
    assert machine.score(X, names) > 0.7
    assert "a much longer name" in machine.predict(X)


@each_online_classifier
def test_a_longer_name_that_comes_late_is_not_cut(cls):
    X, y = data(cls, classes=3, apart=5.0)
    names = np.array(["a", "bb", "a much longer name"])[y]
    machine = new(cls).partial_fit(X[y < 2], names[y < 2]).partial_fit(X, names).partial_fit(X, names)
    assert machine.classes_.tolist() == ["a", "a much longer name", "bb"]
    assert set(machine.predict(X)) <= set(names.tolist())
    assert "a much longer name" in machine.predict(X)


LATE = {  # the labels that come first, those that come late, and the dtype of all of them
    "int8, then a large one": (np.array([0, 1], np.int8), np.array([0, 300]), np.int64),
    "uint8, then a negative one": (np.array([0, 1], np.uint8), np.array([0, -1]), np.int64),
    "bool, then a number": (np.array([False, True]), np.array([0, 2]), np.int64),
    "a number, then bool": (np.array([5, 7]), np.array([False, True]), np.int64),
    "int32, then a large one": (np.array([0, 1], np.int32), np.array([0, 1 << 40]), np.int64),
    "float32, then a large one": (np.array([0.0, 1.0], np.float32), np.array([0, (1 << 24) + 1]), np.float64),
    "int64, then uint64": (np.array([-1, 1]), np.array([1, 2], np.uint64), np.int64),
    "uint64": (np.array([1 << 63, 1], np.uint64), np.array([1, (1 << 63) + 1], np.uint64), np.uint64),
    "uint64, then int64": (np.array([(1 << 63) + 1, 1], np.uint64), np.array([1, 2]), np.uint64),
}


@pytest.mark.parametrize(("cls", "late", "one_by_one"), pairwise(ONLINE_CLASSIFIERS, list(LATE), [False, True]))
def test_labels_that_come_late_are_not_wrapped_or_rounded(cls, late, one_by_one):
    first, then, dtype = LATE[late]
    X = np.array([[-5.0, -5.0], [5.0, 5.0], [-5.0, -5.0], [-5.0, 5.0]])
    chunks = [(X[:2], first), (X[2:], then)] + 3 * [(X[1:2], first[1:]), (X[2:], then)]
    machine = able(cls)
    for rows, labels in chunks:
        if one_by_one:
            learn_each(machine, rows, labels)
        else:
            machine.partial_fit(rows, labels)
    expected = sorted({*first.tolist(), *then.tolist()})
    for twin in (machine, pickle.loads(pickle.dumps(machine)), cls().resume(machine.snapshot())):
        assert twin.classes_.tolist() == twin.model_.decision.labels.tolist() == expected
        assert twin.classes_.dtype == dtype
        assert set(twin.predict(X).tolist()) <= set(expected)
        assert twin.predict_one(X[3]) == twin.predict(X[3:])[0] == then[1]
        twin.learn_one(X[3], then[1]).partial_fit(X[2:], then)
        assert twin.classes_.tolist() == expected


ROUNDED = {
    "a negative number after uint64": (np.array([(1 << 63) + 1, 1], np.uint64), np.array([1, -1])),
    "uint64 after a negative number": (np.array([-1, 1]), np.array([1, (1 << 64) - 1], np.uint64)),
    "a large number after floats": (np.array([0.0, 1.0]), np.array([0, (1 << 53) + 1])),
    "floats after a large number": (np.array([(1 << 53) + 1, 1 << 53]), np.array([1.0, 2.0])),
}


@pytest.mark.parametrize("case", ROUNDED)
@each_online_classifier
def test_labels_that_no_dtype_holds_together_are_refused(cls, case):
    first, then = ROUNDED[case]
    X, _ = data(cls)
    machine = new(cls).partial_fit(X[:2], first)
    before = machine.classes_.tolist(), machine.n_rounds_
    for call in (lambda: machine.partial_fit(X[2:4], then), lambda: machine.learn_one(X[2], then[1])):
        with pytest.raises(InputError, match=r"labels that fit into one dtype; got .* after .*or strings by"):
            call()
        assert (machine.classes_.tolist(), machine.n_rounds_) == before


@each_online_classifier
def test_the_first_label_alone_is_predicted_until_another_comes(cls):
    X, _ = data(cls)
    machine = new(cls).learn_one(X[0], "only")
    assert machine.predict_one(X[1]) == "only"
    assert machine.predict(X).tolist() == ["only"] * 60
    machine.learn_one(X[1], "another")
    assert machine.classes_.tolist() == ["another", "only"]
    assert machine.decision_function(X).shape == (60,)


@each_online_classifier
def test_a_class_without_an_example_is_never_predicted(cls):
    X, y = data(cls)
    machine = new(cls).partial_fit(X, y + 1, classes=[0, 1, 2])
    everywhere = np.r_[X, 100.0 * X]  # also where every score is 0
    assert set(machine.predict(everywhere)) == {1, 2}
    assert {machine.predict_one(x) for x in everywhere} == {1, 2}


@pytest.mark.parametrize("first", [0, 1])
@each_online_classifier
def test_the_score_of_two_classes_is_positive_for_the_second_whichever_came_first(cls, first):
    X, y = data(cls, apart=5.0)
    machine = able(cls).partial_fit(X[first:], y[first:])  # labels 0 1 0 1 … or 1 0 1 0 …
    np.testing.assert_array_equal(machine.decision_function(X) > 0, y == 1)
    np.testing.assert_array_equal(machine.predict(X), y)
    assert [machine.predict_one(x) for x in X] == y.tolist()


@pytest.mark.parametrize("cls", [*PERCEPTRONS, Forgetron, BudgetPerceptron, Projectron])
def test_equal_rows_with_different_labels_are_warned_of(cls):
    X, y = [[0.0], [1.0], [1.0]], [0, 1, 0]
    with pytest.warns(ConvergenceWarning, match=rf"{cls.__name__}: 1 row\(s\) are equal to another row with another"):
        new(cls).fit(X, y)
    new(cls, max_iter=1).fit(X, y)


def test_learners_that_live_with_noise_do_not_warn_of_it():
    X, y = [[0.0], [1.0], [1.0]], [0, 1, 0]
    with pytest.warns(ConvergenceWarning, match="equal to another row"):
        PassiveAggressiveClassifier(variant="PA").fit(X, y)
    for soft in (PassiveAggressiveClassifier(), NormaClassifier(), OnlineSVC()):
        soft.fit(X, y)


# ---------------------------------------------------------------- weights


@each_classifier
def test_class_weights_are_sample_weights(cls):
    X, y = data(cls)
    weighted = new(cls, class_weight={1: 2.0}).fit(X, y)
    by_hand = new(cls).fit(X, y, sample_weight=np.where(y == 1, 2.0, 1.0))
    assert_same(weighted, by_hand, X)
    balanced = new(cls, class_weight="balanced").fit(X[:31], y[:31])  # 16 and 15 of the two classes
    by_hand = new(cls).fit(X[:31], y[:31], sample_weight=np.where(y[:31] == 0, 31 / 32, 31 / 30))
    assert_same(balanced, by_hand, X, 1e-12)
    if cls in PERCEPTRONS:
        assert set(np.round(np.abs(balanced.mistakes_["step"]), 9)) <= set(np.round([31 / 32, 31 / 30], 9))
    if cls in ONLINE:
        online = learn_each(new(cls, class_weight={1: 2.0}), X, y)
        chunk = new(cls, class_weight={1: 2.0}).partial_fit(X, y)
        assert_same(online, chunk, X, 1e-9)


@each_online_classifier
def test_a_row_of_no_weight_does_not_count_in_balanced_classes(cls):
    X, y = data(cls)
    w = np.where(np.arange(len(y)) % 4 == 0, 0.0, 1.0)  # half of class 0
    options = {"class_weight": "balanced", "shuffle": False}
    weighted = new(cls, **options).fit(X, y, sample_weight=w)
    absent = new(cls, **options).fit(X[w > 0], y[w > 0])
    np.testing.assert_allclose(weighted.decision_function(X), absent.decision_function(X), rtol=1e-12)


@each_online_classifier
def test_classes_without_a_weight_have_weight_one_in_chunks_as_in_a_fit(cls):
    X, y = data(cls, classes=3)
    once = {"shuffle": False, "max_iter": 1} | ({"finish_fit": False} if cls is OnlineSVC else {})
    whole, chunked = (new(cls, class_weight={0: 2.0}, **once) for _ in range(2))
    whole.fit(X, y)
    for i in range(len(X)):
        chunked.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1, 2])
    np.testing.assert_array_equal(chunked.mistakes_["row"], whole.mistakes_["row"])
    np.testing.assert_allclose(chunked.mistakes_["step"], whole.mistakes_["step"], rtol=1e-9)


@each_online
def test_rows_of_no_weight_are_absent(cls):
    X, y = data(cls)
    w = np.where(np.arange(60) % 3 == 0, 0.0, 1.0)
    kept = w > 0
    for learn in ("fit", "partial_fit"):
        weighted = getattr(new(cls, shuffle=False), learn)(X, y, sample_weight=w)
        absent = getattr(new(cls, shuffle=False), learn)(X[kept], part(y, kept))
        np.testing.assert_array_equal(scores(weighted, X), scores(absent, X))
        np.testing.assert_array_equal(weighted.mistakes_["row"], np.flatnonzero(kept)[absent.mistakes_["row"]])
        if has(cls, "kernel"):
            np.testing.assert_array_equal(weighted.support_, np.flatnonzero(kept)[absent.support_])
        assert weighted.n_rounds_ == absent.n_rounds_
