"""Every learner keeps the contract that estimators rely on."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from contract.registered import learner_of

import onkel
from onkel import registry
from onkel.kernels import RBF, prepare
from onkel.learners import learner as contract
from onkel.learners.learner import Learner
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


def names_its_arguments_as(promise, kept, method):
    promised = list(inspect.signature(getattr(promise, method)).parameters)[1:]
    given = list(inspect.signature(getattr(kept, method)).parameters.values())
    assert [parameter.name for parameter in given][: len(promised)] == promised
    assert all(parameter.default is not inspect.Parameter.empty for parameter in given[len(promised) :])


@pytest.mark.parametrize("name", ONLINE)
@pytest.mark.parametrize("method", METHODS)
def test_every_learner_names_its_arguments_as_the_contract_does(name, method):
    names_its_arguments_as(Learner, learner_named(name), method)


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
