"""Certificates of fits: the theorem's bound on the mistakes, or the reason why there is none."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from contract.registered import ONLINE_CLASSIFIERS, PERCEPTRONS, data, new, rings
from sklearn.base import clone

from onkel import (
    BudgetPerceptron,
    Forgetron,
    KernelPerceptron,
    NormaClassifier,
    OnlineSVC,
    PassiveAggressiveClassifier,
    Projectron,
    bounds,
)
from onkel.errors import KindError
from onkel.kernels import RBF, Custom, Precomputed

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")

# ---------------------------------------------------------------- the kernel perceptron


def test_a_certificate_is_there_after_a_fit_and_advice_after_learning_online():
    X, y = rings()
    machine = KernelPerceptron(RBF(gamma=1.0), random_state=0, max_iter=100).fit(X, y)
    certificate = machine.certificate_
    assert machine.converged_
    assert certificate.holds
    assert certificate.mistakes == machine.n_mistakes_ <= certificate.bound
    advice = r"certificate_ is there after fit; .*use onkel\.bounds\.certificate\(estimator, X, y\)"
    machine.partial_fit(X, 1 - y)
    assert not hasattr(machine, "certificate_")
    for online in (machine, KernelPerceptron().partial_fit(X, y), KernelPerceptron().learn_one(X[0], 0)):
        with pytest.raises(AttributeError, match=advice):
            _ = online.certificate_
    assert machine.fit(X, y).certificate_ == certificate


def test_one_epoch_leaves_no_certificate_since_later_mistakes_were_not_told_to_earlier_rows():
    X, y = rings()
    machine = KernelPerceptron(RBF(gamma=1.0), random_state=0, max_iter=1).fit(X, y)
    seen = machine.certificate_
    assert (seen.mistakes, seen.bound, seen.holds) == (machine.n_mistakes_, None, None)
    assert "no separator found in 1 epoch" in seen.reason
    assert "onkel.bounds.certificate(estimator, X, y)" in seen.reason


def test_a_certificate_counts_the_intercept_and_the_weights_of_the_updates():
    X, y = rings()
    w = np.where(np.arange(len(y)) % 2, 1.0, 3.0)
    machine = KernelPerceptron(RBF(gamma=1.0), random_state=0, max_iter=100, fit_intercept=True)
    seen = machine.fit(X, y, sample_weight=w).certificate_
    plus_one = clone(machine).set_params(kernel=RBF(gamma=1.0) + 1.0, fit_intercept=False)
    expected = plus_one.fit(X, y, sample_weight=w).certificate_
    assert machine.converged_
    assert seen.radius_sq == 2.0  # of K + 1
    assert seen.weight_ratio == 3.0
    assert (seen.mistakes, seen.form) == (expected.mistakes, expected.form)
    assert seen.bound == pytest.approx(expected.bound)


def test_a_precomputed_matrix_that_was_found_valid_has_a_certificate():
    X, y = rings(30)
    K = RBF(gamma=1.0)(X)
    machine = KernelPerceptron("precomputed", random_state=0, max_iter=100).fit(K, y)
    expected = KernelPerceptron(RBF(gamma=1.0), random_state=0, max_iter=100).fit(X, y).certificate_
    seen = machine.certificate_
    assert machine.converged_
    assert (seen.mistakes, seen.form, seen.holds) == (expected.mistakes, expected.form, True)
    assert seen.bound == pytest.approx(expected.bound, rel=1e-9)
    assert seen.mistakes <= seen.bound < machine.n_rounds_
    assert pickle.loads(pickle.dumps(machine)).certificate_ == seen


def test_a_precomputed_matrix_that_was_found_invalid_has_none_and_says_so():
    K = np.array([[1.0, -2.0], [-2.0, 1.0]])  # eigenvalues 3 and −1, and yet y v·x > 0 for both rows
    with pytest.warns(UserWarning, match="not positive semi-definite"):
        machine = KernelPerceptron("precomputed", shuffle=False).fit(K, [0, 1])
    assert machine.converged_
    assert machine.certificate_.bound is None
    assert "the kernel is not positive semi-definite" in machine.certificate_.reason


@pytest.mark.parametrize(("n", "kernel"), [(501, Precomputed()), (20, 2.0 * Precomputed())], ids=["large", "composed"])
def test_a_matrix_that_was_not_examined_has_no_certificate(n, kernel):
    """More than 500 rows are not, nor is what a kernel makes of the given matrix."""
    machine = KernelPerceptron(kernel, max_iter=100, random_state=0).fit(np.eye(n), np.arange(n) % 2)
    assert machine.converged_
    assert machine.certificate_.bound is None
    assert "whether the kernel is positive semi-definite is unknown" in machine.certificate_.reason


# ---------------------------------------------------------------- bounded learners

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
def test_a_certificate_of_a_bounded_learner_is_there_after_a_fit_and_not_after_learning_online(name):
    X, y = data(Forgetron)
    X[:, 0] += 4.0 * y  # far apart
    machine = clone(CERTIFIED[name]).fit(X, y)
    seen = machine.certificate_
    assert seen.holds is (None if seen.form == "rounds" else True)
    assert seen.mistakes == machine.n_mistakes_ <= seen.bound
    assert str(seen).startswith("no useful bound: " if seen.form == "rounds" else "certified: ")
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


def test_a_precomputed_matrix_that_was_found_valid_has_a_certificate_of_pa_too():
    X, y = data(PassiveAggressiveClassifier)
    K = RBF(gamma=0.1)(X)
    options = {"max_iter": 2, "random_state": 0}
    seen = PassiveAggressiveClassifier("precomputed", **options).fit(K, y).certificate_
    expected = PassiveAggressiveClassifier(RBF(gamma=0.1), **options).fit(X, y).certificate_
    assert (seen.mistakes, seen.form) == (expected.mistakes, expected.form)
    assert seen.bound == pytest.approx(expected.bound, rel=1e-6)
    other = PassiveAggressiveClassifier(2.0 * Precomputed(), **options).fit(K, y).certificate_
    assert "is unknown" in other.reason


@pytest.mark.parametrize("cls", [cls for cls in ONLINE_CLASSIFIERS if cls not in PERCEPTRONS])
def test_the_perceptrons_theorem_is_not_applied_to_other_learners(cls):
    X, y = data(cls)
    machine = new(cls).fit(X, y)
    for look in (bounds.certificate, bounds.trace):
        with pytest.raises(KindError, match=f"{cls.__name__} (takes other steps|has no)"):
            look(machine, X, y)
