"""The linear perceptron's ledger on a stream: the last mistakes are kept, all are counted, and learning is the same."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from onkel import KernelPerceptron, Perceptron, bounds
from onkel.errors import InputError
from onkel.learners.perceptron import primal


def noise(n, classes=2, seed=0):
    """Points and labels that have nothing to do with each other: every second one is a mistake."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)), rng.integers(0, classes, n)


def test_a_stream_keeps_the_last_hundred_thousand_mistakes_and_counts_all():
    X, y = noise(300_000)
    machine, whole = Perceptron(fit_intercept=False), 0
    for start in range(0, len(X), 50_000):
        machine.partial_fit(X[start : start + 50_000], y[start : start + 50_000], classes=[0, 1])
        whole = max(whole, len(machine.mistakes_))
    assert machine.n_mistakes_ > 120_000
    assert whole == len(machine.mistakes_) == 100_000
    assert len(pickle.dumps(machine)) < 4e6
    assert (np.diff(machine.mistakes_["round"]) > 0).all()
    assert machine.mistakes_["round"][-1] > 299_900
    for says in (bounds.certificate, bounds.trace):
        with pytest.raises(InputError, match=r"needs all mistakes.*; Perceptron made \d+ and keeps the last 100"):
            says(machine, X, y)


def test_a_run_with_fewer_mistakes_is_certified_and_traced():
    X, y = noise(400)
    machine = Perceptron(fit_intercept=False, max_iter=2, shuffle=False).fit(X, y)
    dual = KernelPerceptron("linear", max_iter=2, shuffle=False).fit(X, y)
    np.testing.assert_array_equal(machine.mistakes_, dual.mistakes_)
    assert bounds.certificate(machine, X, y).mistakes == machine.n_mistakes_
    assert bounds.trace(machine, X, y).norm_sq[-1] == pytest.approx(np.sum(machine.coef_**2))


WAYS = {
    "go on": lambda machine: machine,
    "deepcopy": copy.deepcopy,
    "pickle": lambda machine: pickle.loads(pickle.dumps(machine)),
    "resume": lambda machine: Perceptron().resume(machine.snapshot()),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("classes", [2, 3, 5])
def test_a_short_ledger_changes_nothing_but_its_length(classes, way, monkeypatch):
    """Through classes that come late, single examples and copies."""
    X, y = noise(600, classes)
    machines = []
    for window in (7, 100_000):
        with monkeypatch.context() as patch:
            patch.setattr(primal, "WINDOW", window)
            machine = Perceptron()
            for start in range(0, 600, 50):
                part = slice(start, start + 50)
                labels = np.minimum(y[part], start // 50)  # a class more with every chunk
                machine = WAYS[way](machine.partial_fit(X[part], labels))
                for x, label in zip(X[part], labels, strict=True):
                    machine.learn_one(-x, label)
            machines.append(machine)
    short, long = machines
    assert len(short.mistakes_) == 7
    assert short.n_mistakes_ == long.n_mistakes_ == len(long.mistakes_) > 300
    np.testing.assert_array_equal(short.mistakes_, long.mistakes_[-7:])
    np.testing.assert_array_equal(short.coef_, long.coef_)
    np.testing.assert_array_equal(short.decision_function(X), long.decision_function(X))


@pytest.mark.parametrize("learned", [3, 40, 400])
def test_a_savepoint_survives_that_its_mistakes_are_dropped(learned, monkeypatch):
    monkeypatch.setattr(primal, "WINDOW", 7)
    X, y = noise(500)
    machine = Perceptron().partial_fit(X[:learned], y[:learned], classes=[0, 1])
    learner = machine._running.learner
    before = learner.state()
    savepoint = learner.savepoint()
    for _ in range(2):  # one can go back more than once
        machine.partial_fit(-X, y)
        learner.rollback(savepoint)
        assert learner.state() == before
        assert learner.n_mistakes == machine.n_mistakes_
