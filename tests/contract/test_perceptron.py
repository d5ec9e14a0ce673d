"""What is special to the perceptrons: hypotheses, counts of mistakes, explanations, coefficients."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from contract.registered import data, rings
from sklearn.model_selection import GridSearchCV

import onkel.models.vote
from onkel import KernelPerceptron
from onkel.errors import ParameterError, ShapeError
from onkel.kernels import RBF, Linear
from onkel.models.expansion import Expansion
from onkel.models.vote import Vote

HYPOTHESES = ["averaged", "voted", "last", "random", "best"]
pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def blobs(classes=2):
    """Classes far from one another."""
    return data(KernelPerceptron, classes=classes, apart=5.0)


def test_a_grid_finds_the_kernels_that_separate_rings():
    X, y = rings()
    grid = {"kernel": ["linear", "rbf", "poly"], "gamma": ["scale", 1.0], "degree": [1, 2]}
    search = GridSearchCV(KernelPerceptron(random_state=0), grid, cv=3, error_score="raise").fit(X, y)
    scores = {
        (p["kernel"], p["gamma"], p["degree"]): s
        for p, s in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True)
    }
    assert len(scores) == 12
    assert scores["linear", "scale", 1] == scores["linear", 1.0, 2]
    assert scores["rbf", 1.0, 1] == scores["rbf", 1.0, 2] > 0.9
    assert scores["poly", 1.0, 2] > 0.9 > scores["poly", 1.0, 1]


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(("classes", "n_outputs"), [(2, 1), (3, 3)])
@pytest.mark.parametrize("hypothesis", ["averaged", "last", "random", "best"])
def test_what_every_hypothesis_has_learned_has_the_shapes_it_should(convert, classes, n_outputs, hypothesis):
    X, y = blobs(classes=classes)
    X = convert(X - 3.0)
    machine = KernelPerceptron(hypothesis=hypothesis, fit_intercept=True, random_state=0).fit(X, y)
    m = len(machine.support_)
    assert machine.support_.tolist() == sorted(set(machine.mistakes_["row"].tolist()))
    assert machine.dual_coef_.shape == (n_outputs, m)
    assert machine.intercept_.shape == (n_outputs,)
    assert machine.mistake_counts_.shape == (n_outputs, m)
    assert machine.support_vectors_.shape == (m, 2)
    assert sp.issparse(machine.support_vectors_) == sp.issparse(X)
    assert abs(machine.support_vectors_ - X[machine.support_]).max() == 0
    per_output = np.bincount(machine.mistakes_["class"], minlength=classes)
    of_outputs = per_output[1:] if classes == 2 else per_output  # the one output of two is that of classes_[1]
    assert machine.mistake_counts_.sum(axis=1).tolist() == of_outputs.tolist()
    assert machine.n_mistakes_ == len(machine.mistakes_) == machine.mistake_counts_.sum() > 0
    assert machine.n_rounds_ == machine.n_iter_ * 60
    scores = RBF(gamma=machine.gamma_)(X, machine.support_vectors_) @ machine.dual_coef_.T + machine.intercept_
    np.testing.assert_allclose(machine.decision_function(X).reshape(60, -1), scores, atol=1e-12)


def test_counts_are_the_last_guess_where_every_step_is_one():
    X, y = rings()
    machine = KernelPerceptron(hypothesis="last", random_state=0).fit(X, y)
    signs = np.where(y[machine.support_] == 1, 1, -1)
    np.testing.assert_array_equal(machine.dual_coef_[0], signs * machine.mistake_counts_[0])


@pytest.mark.parametrize("hypothesis", HYPOTHESES)
def test_a_model_is_frozen_and_equal_to_that_of_the_same_fit(hypothesis):
    X, y = rings()
    first, second = (KernelPerceptron(hypothesis=hypothesis, random_state=0).fit(X, y) for _ in "ab")
    model = first.model_
    assert type(model.scorer) is (Vote if hypothesis == "voted" else Expansion)
    with pytest.raises(dataclasses.FrozenInstanceError):
        model.scorer.kernel = Linear()
    assert model == second.model_
    assert model != KernelPerceptron(hypothesis=hypothesis, random_state=0).fit(X + 0.01, y).model_
    np.testing.assert_allclose(model.scores(X)[:, 0], first.decision_function(X), rtol=1e-12)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_models_are_equal_by_all_that_they_hold(convert):
    X, y = rings()
    rows = convert(X)
    model = KernelPerceptron(gamma=1.0, random_state=0).fit(rows, y).model_.scorer
    other = KernelPerceptron(gamma=1.0, random_state=0).fit(convert(X + 0.01), y).model_.scorer
    assert dataclasses.replace(model) == model
    assert len(other.row_ids) == len(model.row_ids)
    for change in (
        {"support": other.support},
        {"kernel": RBF(gamma=2.0)},
        {"row_ids": model.row_ids + 1},
        {"coef": 2.0 * model.coef},
        {"intercept": model.intercept + 1.0},
    ):
        assert dataclasses.replace(model, **change) != model


def test_a_vote_in_tiles_is_the_vote_at_once(monkeypatch):
    X, y = rings()
    model = KernelPerceptron(gamma=1.0, hypothesis="voted", fit_intercept=True, random_state=0).fit(X, y).model_
    at_once = model.scores(X)
    monkeypatch.setattr(onkel.models.vote, "VOTE_VALUES", 7 * len(model.support))
    np.testing.assert_array_equal(model.scores(X[::-1]), at_once[::-1])  # turned: no memory holds the answer yet


@pytest.mark.parametrize("hypothesis", ["averaged", "voted"])
def test_a_model_takes_rows_of_another_dtype_as_its_own(hypothesis):
    X, y = rings()
    narrow = X.astype(np.float32)
    model = KernelPerceptron(gamma=1.0, hypothesis=hypothesis, random_state=0).fit(narrow, y).model_
    np.testing.assert_array_equal(model.scores(narrow.astype(np.float64)), model.scores(narrow))


@pytest.mark.parametrize("hypothesis", HYPOTHESES)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_model_does_not_change_while_its_learner_goes_on(hypothesis, classes):
    X, y = blobs(classes=classes)
    machine = KernelPerceptron(RBF(gamma=0.1), hypothesis=hypothesis, random_state=0).partial_fit(X, y)
    model = machine.model_
    before = model.scores(X)
    np.testing.assert_allclose(before.reshape(60, -1), machine.decision_function(X).reshape(60, -1), rtol=1e-12)
    for x, label in zip(X, y, strict=True):
        machine.learn_one(-x, label)
    machine.partial_fit(-X, y).learn_one(X[0], 9)
    np.testing.assert_array_equal(model.scores(X), before)
    assert model != machine.model_


@pytest.mark.parametrize("hypothesis", HYPOTHESES)
def test_classes_that_came_in_another_order_are_shown_sorted(hypothesis):
    X, y = rings()[0], np.random.default_rng(0).choice(3, 80, p=[0.2, 0.3, 0.5])
    y[:3] = [1, 2, 0]
    machine = KernelPerceptron(RBF(gamma=0.1), hypothesis=hypothesis, random_state=0).partial_fit(X, y)
    assert machine.classes_.tolist() == [0, 1, 2]
    of_class = np.bincount(machine.mistakes_["class"], minlength=3)
    assert len(set(of_class.tolist())) == 3
    assert machine.mistake_counts_.sum(axis=1).tolist() == of_class.tolist()
    np.testing.assert_allclose(machine.model_.scores(X), machine.decision_function(X), rtol=1e-12)
    np.testing.assert_array_equal(machine.predict(X), machine.decision_function(X).argmax(axis=1))


@pytest.mark.parametrize("hypothesis", HYPOTHESES)
def test_what_predicts_follows_every_round_mistake_or_not(hypothesis):
    X, y = rings()
    options = {"kernel": RBF(gamma=1.0), "hypothesis": hypothesis, "random_state": 0}
    asked, silent = KernelPerceptron(**options), KernelPerceptron(**options)
    mistakes = []
    for start in range(0, 80, 10):
        part = slice(start, start + 10)
        asked.partial_fit(X[part], y[part]).decision_function(X)
        silent.partial_fit(X[part], y[part])
        mistakes.append(asked.n_mistakes_)
    assert mistakes[-1] == mistakes[-2] > mistakes[0]  # the last ten rounds had none
    np.testing.assert_array_equal(asked.decision_function(X), silent.decision_function(X))
    other = "last" if hypothesis != "last" else "averaged"
    expected = KernelPerceptron(**(options | {"hypothesis": other})).partial_fit(X, y).decision_function(X)
    np.testing.assert_allclose(asked.set_params(hypothesis=other).decision_function(X), expected, rtol=1e-12)


@pytest.mark.parametrize("learn", ["fit", "partial_fit"])
def test_the_random_hypothesis_is_drawn_by_random_state(learn):
    X, y = rings()[0], np.random.default_rng(0).integers(0, 2, 80)  # labels that no guess keeps to for long
    scores = [
        getattr(KernelPerceptron(RBF(gamma=1.0), hypothesis="random", shuffle=False, random_state=seed), learn)(X, y)
        .decision_function(X)
        .tolist()
        for seed in (0, 0, 1, 2, 3)
    ]
    assert scores[0] == scores[1]
    assert any(other != scores[0] for other in scores[2:])


def test_a_reduced_model_is_made_of_some_of_the_support_vectors():
    X, y = rings()
    y = np.where(X[:, 0] > 0.7, 2, y)
    model = KernelPerceptron(gamma=3.0, random_state=0).fit(X, y).model_
    small = model.reduced(3)
    assert len(small.row_ids) == len(small.support) == len(small.coef) == 3
    assert set(small.row_ids) < set(model.row_ids)
    by_hand = model.kernel(X, X[small.row_ids]) @ small.coef + small.intercept
    np.testing.assert_allclose(small.scores(X), by_hand, atol=1e-12)
    with pytest.raises(ParameterError, match="n must be a whole number >= 1; got 0"):
        model.reduced(0)


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_an_explanation_sums_to_the_score_largest_share_first(classes, convert):
    X, y = blobs(classes=classes)
    rows = convert(X - 3.0)
    machine = KernelPerceptron(fit_intercept=True, random_state=0).fit(rows, y)
    x = X[0] - 2.5
    for output, score in enumerate(machine.decision_function([x]).ravel()):
        terms = machine.model_.explain(x, output)
        assert sum(t.contribution for t in terms) + machine.intercept_[output] == pytest.approx(score, abs=1e-12)
        shares = [abs(t.contribution) for t in terms]
        assert shares == sorted(shares, reverse=True)
        assert {t.row_id for t in terms} == set(machine.support_[machine.dual_coef_[output] != 0].tolist())
        term = terms[0]
        place = machine.support_.tolist().index(term.row_id)
        assert term.importance == machine.dual_coef_[output, place]
        assert term.similarity == pytest.approx(float(machine.kernel_([x], [X[term.row_id] - 3.0])[0, 0]), rel=1e-9)
    with pytest.raises(ShapeError, match="output must be 0 to"):
        machine.model_.explain(x, classes)
    with pytest.raises(ShapeError, match="was trained on 2 features"):
        machine.model_.explain([1.0, 2.0, 3.0])


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("kernel", ["linear", Linear()])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_linear_kernel_has_coefficients_of_features(kernel, convert, classes):
    X, y = blobs(classes=classes)
    machine = KernelPerceptron(kernel, random_state=0, fit_intercept=True).fit(convert(X), y)
    assert machine.coef_.shape == (1 if classes == 2 else 3, 2)
    assert isinstance(machine.coef_, np.ndarray)
    by_hand = X @ machine.coef_.T + machine.intercept_
    np.testing.assert_allclose(by_hand, machine.decision_function(X).reshape(60, -1), atol=1e-9)


def test_other_kernels_and_votes_have_none():
    X, y = blobs()
    for machine in (KernelPerceptron("poly", degree=1), KernelPerceptron("rbf")):
        assert not hasattr(machine, "coef_")
        with pytest.raises(AttributeError, match="coef_ is there only with a linear kernel"):
            _ = machine.fit(X, y).coef_
    vote = KernelPerceptron("linear", hypothesis="voted").fit(X, y)
    for name in ("coef_", "dual_coef_", "intercept_"):
        with pytest.raises(AttributeError, match="a vote of all guesses has no coefficients"):
            getattr(vote, name)
    assert vote.support_vectors_.shape == (len(vote.support_), 2)
