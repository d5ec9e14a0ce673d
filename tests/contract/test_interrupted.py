"""Fits that are watched and interrupted: Ctrl-C keeps what was learned before it, and learning can go on."""

from __future__ import annotations

import numpy as np
import pytest
from contract.registered import (
    ONLINE_CLASSIFIERS,
    ONLINE_WITH_KERNEL,
    PERCEPTRONS,
    Stopping,
    assert_same,
    data,
    each_online,
    in_small_parts,
    new,
    part,
    rings,
    scores,
)
from perceptron_modules import patch_learner, sq_norms

import onkel.learners.perceptron.linear
from onkel import KernelPerceptron, Perceptron
from onkel.kernels import RBF, Custom
from onkel.learners.perceptron import kernel as kernel_perceptron

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


# ---------------------------------------------------------------- watched


@each_online
@pytest.mark.parametrize("warm", [False, True])
def test_a_fit_draws_on_stderr_if_asked_and_never_on_stdout(cls, warm, capfd):
    X, y = data(cls)
    machine = new(cls, verbose=1, warm_start=warm).fit(X, y)
    out, err = capfd.readouterr()
    assert out == ""
    assert cls.__name__ in err
    if cls in PERCEPTRONS:
        assert f"{machine.n_mistakes_} mistakes" in err
    if warm:
        machine.fit(-X, y)
        out, err = capfd.readouterr()
        assert out == ""
        assert cls.__name__ in err
    new(cls, verbose=0).fit(X, y).partial_fit(X, y).learn_one(X[0], part(y, 0)).predict(X)
    assert capfd.readouterr() == ("", "")  # what was not asked for


# ---------------------------------------------------------------- interrupted


@pytest.mark.parametrize("cls", ONLINE_WITH_KERNEL)
@pytest.mark.parametrize("learn", ["fit", "partial_fit", "warm fit"])
def test_an_interrupt_keeps_whole_parts_and_a_machine_that_goes_on(cls, learn, monkeypatch):
    in_small_parts(monkeypatch, 4)
    X, y = data(cls)
    kernel = Stopping()
    options = {"kernel": Custom(kernel, psd=True), "shuffle": False, "max_iter": 2, "warm_start": learn == "warm fit"}
    machine = new(cls, **options)
    first = 0
    if learn != "fit":
        first = 20
        machine.partial_fit(X[:20], part(y, slice(20)))
    kernel.calls, kernel.at = 0, 8
    call = machine.partial_fit if learn == "partial_fit" else machine.fit
    with pytest.raises(KeyboardInterrupt):
        call(X[first:], part(y, slice(first, None)))
    seen = machine.n_rounds_ - first
    assert 0 < seen < 60
    assert seen % 4 == 0  # whole parts
    expected = new(cls, **options).partial_fit(X[: first + seen], part(y, slice(first + seen)))
    assert_same(machine, expected, X, 1e-12)
    np.testing.assert_array_equal(machine.mistakes_["row"], expected.mistakes_["row"])
    if learn == "fit" and cls in ONLINE_CLASSIFIERS:
        assert not machine.converged_
        assert machine.certificate_.bound is None  # under such budgets, and for those without a theorem
    for one in (machine, expected):
        one.partial_fit(-X, y)
    assert machine.n_rounds_ == expected.n_rounds_
    np.testing.assert_allclose(scores(machine, X), scores(expected, X), atol=1e-12)


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
                sure.min() / np.sqrt(sq_norms(machine)[0]), rel=1e-6
            )
    assert call > 18  # it did come to that


def test_an_interrupted_fit_does_not_say_that_training_cannot_end(monkeypatch):
    """A warning would be an error here, in the place of KeyboardInterrupt."""
    stop_at(monkeypatch, 2)
    with pytest.raises(KeyboardInterrupt):
        KernelPerceptron(RBF(), shuffle=False).fit([[0.0], [1.0], [1.0]], [0, 1, 0])


def test_an_interrupted_primal_fit_keeps_the_chunks_before(monkeypatch):
    X, y = data(Perceptron, n=10000, apart=5.0)
    X = X * 0.1 + np.random.default_rng(1).normal(size=X.shape)  # mixed up, so that mistakes go on
    calls, learn = [], onkel.learners.perceptron.linear.LinearPerceptronLearner.learn

    def interrupted(self, *args):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return learn(self, *args)

    machine = Perceptron(shuffle=False)
    with monkeypatch.context() as patch:
        patch.setattr(onkel.learners.perceptron.linear.LinearPerceptronLearner, "learn", interrupted)
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
