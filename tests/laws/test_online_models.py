"""The frozen model of every online estimator predicts what the estimator does; states and pickles go on alike."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import zoo
from contract.registered import COPIES
from pairwise import pairwise

import onkel
from onkel import registry
from onkel.errors import InputError
from onkel.estimators.base.labels import Labels
from onkel.estimators.online.running import Running
from onkel.models.model import ScoreModel
from onkel.states.state import State, from_state

# queries and sentences have tests of their own
ONLINE = {
    e.name: e.task
    for e in registry.estimators()
    if e.online and e.name not in ("RankingPerceptron", "SequencePerceptron")
}
rng = np.random.default_rng(0)
X = rng.standard_normal((120, 3))
LABELS = {"two": (X[:, 0] > 0).astype(int), "three": np.array(["b", "c", "a"])[rng.integers(0, 3, 120)]}


def learned(name, y="two", rows=X):
    task = ONLINE[name]
    targets = {"classify": LABELS[y], "rank": LABELS[y], "regress": X[:, 1], "detect": None}[task]
    estimator = getattr(onkel, name)(random_state=0)
    return estimator.partial_fit(rows[:90], None if targets is None else targets[:90]), targets


@pytest.mark.parametrize("name", ONLINE)
@pytest.mark.parametrize("y", LABELS)
@pytest.mark.parametrize("rows", [X, X.astype(np.float32), sp.csr_array(X)], ids=["float64", "float32", "csr"])
def test_a_model_predicts_what_its_estimator_predicts(name, y, rows):
    estimator, targets = learned(name, y, rows)
    model = estimator.model_
    assert isinstance(model, ScoreModel)
    given = X if rows.dtype == np.float32 else rows  # a model of float32 rows takes others as float32, too
    np.testing.assert_array_equal(model.predict(given), estimator.predict(given))
    if hasattr(estimator, "decision_function"):
        scores = estimator.decision_function(given)
        np.testing.assert_array_equal(model.scores(given), scores.reshape(len(X), -1))
    one = rows[:1] if sp.issparse(rows) else rows[0]
    assert model.predict_one(one) == estimator.predict(rows[:1])[0]
    before = model.predict(given)
    estimator.partial_fit(-rows[90:], None if targets is None else targets[90:])  # the model does not change
    np.testing.assert_array_equal(model.predict(given), before)
    assert from_state(model.state()) == model


GOING_ON = [name for name, one in zoo.SPECIMENS.items() if one.online and one.goes_on]


@pytest.mark.parametrize(("name", "way"), pairwise(GOING_ON, list(COPIES)))
def test_what_was_copied_goes_on_bit_for_bit(name, way):
    estimator = zoo.SPECIMENS[name].make()
    twin = COPIES[way](estimator)
    assert twin.state() == estimator.state()
    for each in (estimator, twin):
        zoo.SPECIMENS[name].go_on(each)
    assert twin.state() == estimator.state()


@pytest.mark.parametrize("name", ONLINE)
def test_a_pickle_holds_only_what_is_used(name):
    if "budget" not in getattr(onkel, name)().get_params():
        pytest.skip("has no budget")
    y = None if ONLINE[name] == "detect" else [0, 1]
    estimator = getattr(onkel, name)(gamma=1.0, budget=5000).partial_fit([[0.0] * 50, [1.0] * 50], y)
    assert len(pickle.dumps(estimator)) < 20_000


def test_a_stream_stopped_before_its_first_example_can_be_pickled(monkeypatch):
    def stopped(self, *given):
        raise KeyboardInterrupt

    estimator = onkel.KernelPerceptron(gamma=1.0)
    with monkeypatch.context() as patch:
        patch.setattr("onkel.learners.perceptron.kernel.KernelPerceptronLearner.learn", stopped)
        with pytest.raises(KeyboardInterrupt):
            estimator.partial_fit(X, LABELS["two"])
    twin = pickle.loads(pickle.dumps(estimator))
    assert twin.predict_one(X[0]) is None
    assert twin.partial_fit(X, LABELS["two"]).n_rounds_ == 120


def test_a_class_that_was_announced_and_never_came_is_not_predicted(monkeypatch):
    from onkel.learners.budgeted import learner as budgeted

    y = np.zeros(120, dtype=int)
    y[100:] = 1  # beyond the part that is learned
    monkeypatch.setattr(budgeted, "CHUNK", 50)
    estimator, learn = onkel.Forgetron(gamma=1.0), budgeted.BudgetedLearner.learn

    def stopped_at_100(self, *given):
        if self.n_seen == 100:
            raise KeyboardInterrupt
        return learn(self, *given)

    monkeypatch.setattr(budgeted.BudgetedLearner, "learn", stopped_at_100)
    with pytest.raises(KeyboardInterrupt):
        estimator.partial_fit(X, y, classes=[0, 1])
    monkeypatch.setattr(budgeted.BudgetedLearner, "learn", learn)
    for x in X[:30]:
        estimator.learn_one(x, 0)
    assert estimator.n_rounds_ == 130
    assert set(estimator.predict(X)) == {0}


@pytest.mark.parametrize("name", ONLINE)
def test_a_state_whose_arrays_do_not_fit_each_other_is_refused(name):
    estimator, _ = learned(name)
    state = estimator.state()
    for spoiled, array in state.arrays.items():
        if not spoiled.startswith("learner/") or array.size == 0 or array.ndim == 0 or "record" in spoiled:
            continue
        arrays = dict(state.arrays) | {spoiled: array[..., :-1].copy()}
        if array.ndim == 2 and (array.shape[1] == 1 or spoiled.endswith("data")):
            arrays[spoiled] = array[:-1].copy()
        with pytest.raises(InputError):
            from_state(State(state.kind, state.version, dict(state.settings), arrays))


def test_support_vectors_that_were_merged_at_the_end_of_an_epoch_show_at_once(monkeypatch):
    X, y = np.random.default_rng(0).normal(size=(60, 2)), np.tile([0, 1], 30)
    machine = onkel.PassiveAggressiveClassifier(gamma=1.0, budget=None, max_iter=2, random_state=0)
    seen, end_epoch = [], Running.end_epoch

    def read_before(running):
        seen.append(len(machine.support_))  # as another thread may
        end_epoch(running)

    monkeypatch.setattr(Running, "end_epoch", read_before)
    machine.fit(X, y)
    assert len(machine.support_) == len(set(machine.support_.tolist())) < seen[-1]


def test_a_late_class_for_each_few_rows_costs_no_more_than_the_classes_and_their_rows(monkeypatch):
    encoded = 0
    encode = Labels.encode

    def counted(self, decoded):
        nonlocal encoded
        encoded += len(decoded.y)
        return encode(self, decoded)

    monkeypatch.setattr(Labels, "encode", counted)
    n, classes = 600, 30
    X, y = np.random.default_rng(0).normal(size=(n, 3)), np.arange(n) // (n // classes)
    onkel.Perceptron().partial_fit(X, y)
    assert encoded == n
