"""Every learner keeps the contract that estimators rely on."""

from __future__ import annotations

import copy
import functools
import importlib
import inspect
import itertools
import pickle
from collections.abc import Mapping

import numpy as np
import pytest
import zoo
from contract.registered import learner_of
from mutate import with_setting

import onkel
from onkel import registry
from onkel.errors import InputError
from onkel.kernels import RBF, prepare
from onkel.learners import learner as contract
from onkel.learners.learner import Learner
from onkel.learners.perceptron.groups import Groups
from onkel.learners.perceptron.ranking import KernelRankingLearner, LinearRankingLearner
from onkel.learners.tagging.learner import TagLearner
from onkel.models.tagging.token_scorer import TokenScorer

METHODS = [name for name, value in vars(Learner).items() if inspect.isfunction(value) and not name.startswith("_")]
ONLINE = [entry.name for entry in registry.estimators() if entry.online and entry.task != "tag"]
BY_ROW = [name for name in ONLINE if name != "RankingPerceptron"]  # a round is a row, not a query


def learner_named(name):
    X = np.random.default_rng(0).random((30, 3))
    return learner_of(getattr(onkel, name)().partial_fit(X, (X[:, 0] > 0.5).astype(int)))


@pytest.mark.parametrize("name", ONLINE)
def test_every_learner_keeps_the_contract(name):
    learner = learner_named(name)
    assert isinstance(learner, Learner)
    assert (learner.n_outputs, learner.n_seen, learner.next_row_id) == (1, 30 if name in BY_ROW else 1, 30)


@pytest.mark.parametrize("name", BY_ROW)
def test_a_single_row_gets_the_next_id(name):
    learner, rows = learner_named(name), prepare(RBF(), np.random.default_rng(2).random((40, 3)))
    learner.skip_to(50)
    updates = learner.n_updates
    for i in range(40):
        learner.learn_one(rows[i : i + 1], np.array([[1.0 - 2.0 * (i % 2)]]))
        assert learner.next_row_id == 51 + i
    made = learner.n_updates - updates
    assert made
    assert set(learner.ledger.entries["row"][-made:].tolist()) <= {*range(50, 90)}


@pytest.mark.parametrize("name", BY_ROW)
def test_rounds_count_every_example_of_every_epoch(name):
    rng = np.random.default_rng(0)
    X, y = rng.random((700, 3)), rng.integers(0, 2, 700)  # labels at random: mistakes never end
    estimator = getattr(onkel, name)(max_iter=3, random_state=0).fit(X, y)
    assert estimator.n_iter_ == 3
    assert estimator.n_rounds_ == 2100
    assert estimator.mistakes_["round"].max() <= 2100


def learn(learner, seed, n=12):
    """Lets a learner learn from rows, or from queries of three rows each, that it has not seen."""
    rng = np.random.default_rng(seed)
    rows, y = prepare(RBF(), rng.random((n, 3))), rng.choice([-1.0, 1.0], (n, 1))
    row_ids = learner.next_row_id + np.arange(n)
    if isinstance(learner, LinearRankingLearner | KernelRankingLearner):
        rows, y = Groups(rows, np.arange(0, n + 1, 3), y[:, 0], row_ids), y[::3]
        learner.learn(rows, y, np.ones(len(y)), row_ids[::3])
        return
    learner.learn(rows[: n // 2], y[: n // 2], np.ones(n // 2), row_ids[: n // 2])
    for i in range(n // 2, n):
        learner.learn_one(rows[i : i + 1], y[i : i + 1])


@pytest.mark.parametrize("name", ONLINE)
def test_a_rollback_undoes_what_was_learned_however_often_and_nothing_before(name):
    """What is forgotten in `CHANGES` stays as it is."""
    learner = learner_named(name)
    scored, before, version = prepare(RBF(), np.random.default_rng(5).random((9, 3))), learner.state(), learner.version
    scores, savepoint = learner.scores(scored), learner.savepoint()
    for seed in (1, 2):
        learn(learner, seed)
        assert learner.state() != before
        assert learner.version != version
        learner.rollback(savepoint)
        assert learner.state() == before
        np.testing.assert_array_equal(learner.scores(scored), scores)
    learn(learner, 3)
    again = type(learner).from_state(before)
    learn(again, 3)
    assert again.state() == learner.state()


COPIES = {
    "copy": lambda learner: learner.copy(),
    "deepcopy": copy.deepcopy,
    "pickle": lambda learner: pickle.loads(pickle.dumps(learner)),
}


@pytest.mark.parametrize("name", ONLINE)
@pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
def test_a_copy_and_the_learner_do_not_touch_each_other(name, copied):
    learner = learner_named(name)
    before, twin = learner.state(), copied(learner)
    other = type(learner).from_state(before)
    assert twin.state() == before
    learn(twin, 1)
    assert learner.state() == before
    known = twin.state()
    learn(learner, 2)
    learn(other, 1)
    assert twin.state() == known == other.state()


def names_its_arguments_as(promise, kept, method):
    promised = list(inspect.signature(getattr(promise, method)).parameters)[1:]
    given = list(inspect.signature(getattr(kept, method)).parameters.values())
    assert [parameter.name for parameter in given][: len(promised)] == promised, method
    assert all(parameter.default is not inspect.Parameter.empty for parameter in given[len(promised) :]), method


@pytest.mark.parametrize("name", ONLINE)
def test_every_learner_names_its_arguments_as_the_contract_does(name):
    learner = learner_named(name)
    for method in METHODS:
        names_its_arguments_as(Learner, learner, method)


def pair(sequence, t, before, tag):
    return [f"{sequence[t]} {tag}", f"{before} {tag}"]


FORMS = {  # parameters of the tagger, and two sentences: of two tokens and of one
    "strings": ({}, [[["a"], ["b"]], [["a"]]]),
    "vectors": ({"kernel": RBF(gamma=0.5)}, [np.eye(2), np.ones((1, 2))]),
    "function": ({"features": pair}, [["a", "b"], ["a"]]),
}


def tagging(form, hypothesis):
    """The learner and the scorer of a tagger, and the sentences that it was fitted on."""
    options, sentences = FORMS[form]
    tagger = onkel.SequencePerceptron(hypothesis=hypothesis, **options).fit(sentences, [["X", "Y"], ["Y"]])
    return learner_of(tagger), tagger.model_.scorer, sentences


@pytest.mark.parametrize("hypothesis", ["averaged", "voted"])
@pytest.mark.parametrize("form", FORMS)
def test_every_learner_of_sentences_and_its_scorer_keep_their_contracts(form, hypothesis):
    learner, scorer, _ = tagging(form, hypothesis)
    assert isinstance(learner, TagLearner)
    assert isinstance(scorer, TokenScorer)
    for promise, kept in ((TagLearner, learner), (TokenScorer, scorer)):
        for method in (name for name, value in vars(promise).items() if inspect.isfunction(value) and name[0] != "_"):
            names_its_arguments_as(promise, kept, method)


@pytest.mark.parametrize("hypothesis", ["averaged", "voted"])
@pytest.mark.parametrize("form", FORMS)
def test_a_learner_of_sentences_takes_what_its_scorer_reads(form, hypothesis):
    learner, scorer, sentences = tagging(form, hypothesis)
    read = scorer.read(sentences)
    assert read.starts.tolist() == [0, 2, 3]
    assert read.part(1, 2).starts.tolist() == [0, 1]
    lattices = scorer.lattice(read), learner.lattice(read, averaged=False)
    assert all((lattice.starts == read.starts).all() and lattice.n_labels == 2 for lattice in lattices)


@pytest.mark.parametrize("name", ONLINE)
def test_no_learner_reads_the_kernel_values_of_a_chunk_above_the_diagonal(name, monkeypatch):
    right = learner_named(name)
    fill_below = contract.fill_below

    def with_nan_above(kernel, x, out):
        fill_below(kernel, x, out)
        out[np.triu_indices(len(out), 1)] = np.nan

    monkeypatch.setattr(contract, "fill_below", with_nan_above)
    poisoned, X = learner_named(name), prepare(RBF(), np.random.default_rng(1).random((9, 3)))
    np.testing.assert_array_equal(poisoned.scores(X), right.scores(X))


# ---------------------------------------------------------------- what the parameters fix, and what learning does

# The settings that learning changes: counts, sizes, and sums of what was learned.
COUNTED = {"n_seen", "n_mistakes", "mistakes", "n_updates", "next_row_id", "record", "norm_sq", "radius_sq"}
SIZES = {"n_outputs", "n_features", "n_labels", "n_rows", "size", "window", "ledger_total"}
OF_PROJECTIONS = {"projects", "growing", "beta_error", "alpha_error"}
LEARNED = COUNTED | SIZES | OF_PROJECTIONS
OTHER = {  # of a setting that is no number: another value that the learner takes
    "rule": {"name": "pa", "params": {}},
    "policy": {"name": "ForgetOldest", "budget": 2000},
    "norma": {"eta": 0.3, "lam": 0.5, "nu": None, "schedule": "sqrt", "intercept": False},
    "budget": 2000,
    "pairs": "all",
}
# Settings that a learner has from its base, and gives the same value whatever a state says.
CONSTANT = {("LinearRankingLearner", "eta"), ("LinearRankingLearner", "bias"), ("KernelRankingLearner", "bias")}


def kinds_of_learners():
    named = {kind: path for kind, path in registry.KINDS.items() if path.startswith("onkel.learners.")}
    return {kind: path for kind, path in named.items() if kind.startswith("learner/")}


@functools.cache
def estimators_by_learner():
    """The states of estimators with each kind of learner."""
    found = {}
    for state in (zoo.made(name).state() for name in zoo.with_tags(without=("alike", "unfitted"))):
        if "learner" in state.settings:
            found.setdefault(state.settings["learner"]["kind"], []).append(state)
    return found


def learner_class(kind):
    module, name = kinds_of_learners()[kind].split(":")
    return getattr(importlib.import_module(module), name)


@pytest.mark.parametrize("kind", kinds_of_learners())
def test_every_setting_of_a_learner_is_fixed_by_the_parameters_or_changed_by_learning(kind):
    """A setting that is forgotten in `BUILT_FROM` would be loaded with any value."""
    for estimator in estimators_by_learner()[kind]:
        settings = estimator.part("learner").settings
        inside = {name for name, value in settings.items() if isinstance(value, Mapping) and "kind" in value}
        assert {*settings} - inside - {"kernel"} - LEARNED == {*learner_class(kind).BUILT_FROM}


@pytest.mark.parametrize("kind", kinds_of_learners())
def test_no_learner_is_loaded_that_was_built_otherwise_than_the_parameters_say(kind):
    cls = learner_class(kind)
    for state, name in itertools.product(estimators_by_learner()[kind], cls.BUILT_FROM):
        estimator = getattr(onkel, state.kind.removeprefix("estimator/"))
        value = state.part("learner").settings[name]
        if name == "norma" and value is None:
            continue  # the rule is none of NORMA's, which is what the learner itself says
        other = not value if isinstance(value, bool) else OTHER.get(name)
        other = 3 - value if name == "order" else 2 * value + 1 if other is None else other
        other = "best" if value == "all" else other
        lying = with_setting(state, ("learner", "settings", name), other)
        if (cls.__name__, name) in CONSTANT:
            assert estimator.from_state(lying).state().part("learner") == state.part("learner")
            continue
        with pytest.raises(InputError, match=r"parameters say|kind that the form needs|the state of kind 'learner"):
            estimator.from_state(lying)
