"""The state of every estimator: pickled, copied, taken and resumed, and gone on from by a warm start."""

from __future__ import annotations

import dataclasses
import pickle
import tracemalloc

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from contract.registered import (
    BUDGETED,
    COPIES,
    ONLINE,
    assert_same,
    data,
    each,
    each_online,
    learn_each,
    new,
    part,
    rings,
    shown,
    state,
    updates,
)
from pairwise import pairwise

from onkel import BudgetPerceptron, Forgetron, KernelPerceptron, OnlineSVC, Projectron
from onkel.errors import KindError
from onkel.kernels import RBF

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


# ---------------------------------------------------------------- pickles and copies


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@each
def test_a_pickled_machine_predicts_alike_and_goes_on_alike(cls, convert):
    X, y = data(cls, classes=3)
    rows = convert(X)
    machine = new(cls).fit(rows[:40], part(y, slice(40)))
    again = pickle.loads(pickle.dumps(machine))
    assert again.get_params() == machine.get_params()
    assert shown(again, rows) == shown(machine, rows)
    np.testing.assert_array_equal(again.predict(rows), machine.predict(rows))
    if cls not in ONLINE:
        return
    before = updates(machine)
    for x, label in zip(-X[40:], [None] * 20 if y is None else y[40:], strict=True):
        assert again.predict_one(x) == machine.predict_one(x)
        again.learn_one(x, label)
        machine.learn_one(x, label)
    assert updates(machine) > before
    assert shown(again, rows) == shown(machine, rows)


@pytest.mark.parametrize("hypothesis", ["averaged", "voted", "last", "random", "best"])
def test_every_hypothesis_survives_a_pickle(hypothesis):
    X, y = rings()
    machine = KernelPerceptron(hypothesis=hypothesis, random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(machine))
    np.testing.assert_array_equal(again.decision_function(X + 0.1), machine.decision_function(X + 0.1))
    assert again.model_ == machine.model_


# with budgets that are full soon, and without
COPIED = [
    *((cls, {}) for cls in ONLINE),
    *((cls, {"budget": None}) for cls in BUDGETED if cls().budget is None),
    (KernelPerceptron, {"hypothesis": "last"}),
    (Projectron, {"eta": 0.3}),
]


@pytest.mark.parametrize(("made", "way", "dtype"), pairwise(COPIED, list(COPIES), [np.float32, np.float64]))
def test_a_copy_in_the_middle_of_a_stream_goes_on_alike(made, way, dtype):
    cls, params = made
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 12)).astype(dtype)
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    machine = new(cls, **({"kernel": RBF(gamma=0.1)} if "kernel" in cls().get_params() else {}), **params)
    for x, label in zip(X[:100], y[:100], strict=True):
        machine.predict_one(x)  # which prepares the support for products, and keeps that
        machine.learn_one(x, label)
    twin = COPIES[way](machine)
    learn_each(machine, X[100:], y[100:])
    before = shown(machine, X)
    learn_each(twin, X[100:], y[100:])
    assert shown(twin, X) == before
    assert shown(machine, X) == before
    assert updates(machine) > 10


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@each_online
def test_a_memory_mapped_machine_learns_on(cls, convert, tmp_path):
    X, y = data(cls)
    joblib.dump(new(cls, warm_start=True).fit(convert(X), y), tmp_path / "machine")
    mapped, plain = (joblib.load(tmp_path / "machine", mmap_mode=mode) for mode in ("r", None))
    for machine in (mapped, plain):
        machine.partial_fit(convert(-X), y)
        learn_each(machine, -X, y).fit(convert(X), y)
    assert shown(mapped, X) == shown(plain, X)


@pytest.mark.parametrize("learn", ["fit", "partial_fit", "learn_one"])
@pytest.mark.parametrize(
    ("cls", "params"),
    [
        *((cls, {}) for cls in ONLINE if "budget" in cls().get_params()),
        (Forgetron, {"variant": "basic"}),
        (BudgetPerceptron, {"forget": "oldest"}),
        (Projectron, {"aggressive": True}),
    ],
)
def test_a_large_budget_takes_memory_only_as_it_fills(cls, params, learn):
    X, y = data(cls, n=2)
    tracemalloc.start()
    machine = new(cls, **params | {"budget": 200_000})
    learn_each(machine, X, y) if learn == "learn_one" else getattr(machine, learn)(X, y)
    assert len(pickle.dumps(machine)) < 1e5
    assert shown(type(machine)().resume(machine.snapshot()), X) == shown(machine, X)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2e6


# ---------------------------------------------------------------- checkpoints


@each_online
def test_a_snapshot_is_frozen_and_does_not_change_while_the_estimator_goes_on(cls):
    X, y = data(cls)
    machine = learn_each(new(cls).partial_fit(X[:30], part(y, slice(30))), X[30:], y)
    taken = machine.snapshot()
    assert taken.kind == f"estimator/{cls.__name__}"
    assert taken.settings["params"].keys() == machine.get_params(deep=False).keys()
    frozen = {name: array.tolist() for name, array in taken.arrays.items()}
    assert len(frozen) > 0
    for array in taken.arrays.values():
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    for change in (lambda: setattr(taken, "kind", "other"), lambda: taken.settings.update(a=1)):
        with pytest.raises((dataclasses.FrozenInstanceError, AttributeError)):
            change()
    then = shown(machine, X)
    learn_each(machine, -X, y).partial_fit(X, y)
    later = shown(machine, X)
    assert later != then
    assert {name: array.tolist() for name, array in taken.arrays.items()} == frozen
    resumed = cls(max_iter=99).resume(taken)
    assert shown(resumed, X) == then
    assert resumed.get_params() == new(cls).get_params()
    learn_each(resumed, -X, y).partial_fit(X, y)
    assert shown(resumed, X) == later
    assert shown(machine.resume(taken), X) == then
    assert shown(pickle.loads(pickle.dumps(machine)).resume(taken), X) == then


@each_online
def test_a_snapshot_of_another_kind_is_refused(cls):
    X, y = data(cls)
    other = ONLINE[ONLINE.index(cls) - 1]
    taken = new(other).fit(*data(other)).snapshot()
    machine = new(cls).fit(X, y)
    before = state(machine)
    with pytest.raises(KindError, match=f"resume needs a snapshot of a {cls.__name__}; got one of a {other.__name__}"):
        machine.resume(taken)
    assert state(machine) == before


# ---------------------------------------------------------------- warm starts


@each_online
def test_a_warm_start_goes_on_and_a_cold_one_does_not(cls):
    X, y = data(cls)
    options = {"shuffle": False, "max_iter": 1} | ({"finish_fit": False} if cls is OnlineSVC else {})
    half = [(X[:30], part(y, slice(30))), (X[30:], part(y, slice(30, None)))]
    warm = new(cls, warm_start=True, **options).fit(*half[0]).fit(*half[1])
    whole = new(cls, **options).fit(X, y)
    assert warm.n_rounds_ == whole.n_rounds_ == 60
    assert_same(warm, whole, X, 1e-12)
    cold = new(cls, **options).fit(*half[0]).fit(*half[1])
    assert shown(cold, X) == shown(new(cls, **options).fit(*half[1]), X)
