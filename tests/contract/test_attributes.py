"""What every estimator shows of what it has learned: shapes, supports, coefficients, ledgers, frozen models."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from contract.registered import (
    CLASSIFIERS,
    DETECTORS,
    ONLINE_CLASSIFIERS,
    ONLINE_WITH_KERNEL,
    STREAMING,
    WITH_KERNEL,
    data,
    each_online,
    has,
    ledger_bytes,
    new,
    part,
    scores,
)
from pairwise import pairwise

from onkel import SVC, NormaOneClass, Projectron
from onkel.kernels import RBF, Linear

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


@pytest.mark.parametrize(
    ("cls", "classes", "convert"), pairwise(ONLINE_WITH_KERNEL, [2, 3], [np.asarray, sp.csr_array])
)
def test_what_was_learned_has_the_shapes_it_should(cls, classes, convert):
    X, y = data(cls, classes=classes)
    rows = convert(X)
    machine = new(cls).fit(rows, y)
    n_outputs, m = (classes if cls in CLASSIFIERS and classes > 2 else 1), len(machine.support_)
    assert machine.dual_coef_.shape == (n_outputs, m)
    assert machine.intercept_.shape == (n_outputs,)
    assert machine.support_vectors_.shape == (m, 2)
    assert sp.issparse(machine.support_vectors_) == sp.issparse(rows)
    assert abs(machine.support_vectors_ - rows[machine.support_]).max() == 0
    assert machine.n_rounds_ == 60 * machine.n_iter_
    by_hand = RBF(gamma=0.5)(rows, machine.support_vectors_) @ machine.dual_coef_.T + machine.intercept_
    np.testing.assert_allclose(scores(machine, rows).reshape(60, -1), by_hand, atol=1e-12)
    np.testing.assert_allclose(machine.model_.scores(rows), by_hand, atol=1e-12)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("cls", WITH_KERNEL)
def test_a_model_is_frozen_and_scores_as_the_estimator_does(cls, classes):
    X, y = data(cls, classes=classes)
    own = {"decision_function_shape": "ovo"} if cls is SVC else {}
    machine = new(cls, **own).fit(X, y)
    model = machine.model_
    before = model.scores(X)
    np.testing.assert_allclose(before, scores(machine, X).reshape(60, -1), atol=1e-12)
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.kernel = Linear()
    if cls in ONLINE_WITH_KERNEL:
        machine.partial_fit(-X, y).learn_one(X[0], part(y, 1))
    else:
        machine.fit(-X, y)
    np.testing.assert_array_equal(model.scores(X), before)


@pytest.mark.parametrize(("classes", "shape"), [(2, (60,)), (3, (60, 3))])
@pytest.mark.parametrize("cls", CLASSIFIERS)
def test_scores_are_one_column_for_two_classes_and_one_per_class_for_more(cls, classes, shape):
    X, y = data(cls, classes=classes)
    machine = new(cls).fit(X, y)
    assert machine.decision_function(X).shape == shape
    if not has(cls, "kernel"):
        n_outputs = 1 if classes == 2 else classes
        assert machine.coef_.shape == (n_outputs, 2)
        assert machine.intercept_.shape == (n_outputs,)
        by_hand = X @ machine.coef_.T + machine.intercept_
        np.testing.assert_allclose(machine.decision_function(X).reshape(60, -1), by_hand, rtol=1e-12)


@pytest.mark.parametrize("cls", STREAMING)
def test_the_ledger_is_a_window_that_stays_small_and_the_counts_go_on(cls):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 2))
    y = rng.integers(0, 2, 6000) if cls in ONLINE_CLASSIFIERS else 3 * rng.normal(size=6000)
    own = {"eta": 0.5} if cls is Projectron else {"nu": 0.5} if cls is NormaOneClass else {}
    machine = new(cls, **own)
    for start in range(0, 6000, 500):
        machine.partial_fit(X[start : start + 500], None if cls in DETECTORS else y[start : start + 500])
        assert len(machine.mistakes_) <= 1000
        assert ledger_bytes(machine) < 1e6
    assert machine.n_updates_ > 1500
    assert machine.mistakes_["round"].max() > 5900
    assert (np.diff(machine.mistakes_["round"]) >= 0).all()
    assert len(machine.mistakes_) == 1000


@each_online
def test_the_ledger_that_is_shown_is_a_copy(cls):
    X, y = data(cls)
    machine = new(cls).fit(X, y)
    before = machine.mistakes_.tolist()
    machine.mistakes_["round"] = 0
    assert machine.mistakes_.tolist() == before
