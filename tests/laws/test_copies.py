"""A copy of a learner goes on as the learner does, bit by bit, whichever way it was made."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from onkel import (
    BudgetPerceptron,
    Forgetron,
    KernelPerceptron,
    NormaClassifier,
    OnlineSVC,
    PassiveAggressiveClassifier,
    Perceptron,
    Projectron,
)
from onkel.kernels import RBF

LEARNERS = [
    BudgetPerceptron(RBF(gamma=0.1), budget=20, random_state=0),
    Forgetron(RBF(gamma=0.1), budget=20),
    KernelPerceptron(RBF(gamma=0.1), hypothesis="last"),
    NormaClassifier(RBF(gamma=0.1), budget=20),
    OnlineSVC(RBF(gamma=0.1)),
    PassiveAggressiveClassifier(RBF(gamma=0.1), budget=20),
    PassiveAggressiveClassifier(RBF(gamma=0.1)),
    Perceptron(),
    Projectron(RBF(gamma=0.1), eta=0.3),
]
WAYS = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda machine: pickle.loads(pickle.dumps(machine)),
    "snapshot": lambda machine: type(machine)().resume(machine.snapshot()),
    "pickled snapshot": lambda machine: type(machine)().resume(pickle.loads(pickle.dumps(machine.snapshot()))),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("learner", LEARNERS, ids=lambda learner: type(learner).__name__)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_copy_in_the_middle_of_a_stream_goes_on_alike(learner, way, dtype):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 12)).astype(dtype)
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    machine = copy.deepcopy(learner)
    for x, label in zip(X[:100], y[:100], strict=True):
        machine.predict_one(x)  # which prepares the support for products, and keeps that
        machine.learn_one(x, label)
    twin = WAYS[way](machine)
    for x, label in zip(X[100:], y[100:], strict=True):
        machine.learn_one(x, label)
    before = machine.decision_function(X)
    for x, label in zip(X[100:], y[100:], strict=True):
        twin.learn_one(x, label)
    np.testing.assert_array_equal(twin.decision_function(X), before)
    if not isinstance(machine, Perceptron):  # which has its coefficients alone
        np.testing.assert_array_equal(twin.support_, machine.support_)
    np.testing.assert_array_equal(machine.decision_function(X), before)
    assert twin.n_mistakes_ == machine.n_mistakes_ > 10
