"""PRank in use: what it shows, at work in scikit-learn, kinds of data, streams, state, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onkel
from onkel import PRank
from onkel.errors import InputError, KindError, ParameterError
from onkel.kernels import RBF, Custom, Linear
from onkel.models import LinearModel, Ranks, from_state

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
KERNELS = ["linear", RBF(gamma=0.5)]
each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=["linear", "rbf"])


def stars(n=80, seed=0):
    """Points of which the first feature tells most of the grade, 1 to 4."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    y = 1 + np.digitize(X[:, 0] + 0.2 * rng.standard_normal(n), [-0.7, 0.0, 0.7])
    return X, y


def length(a, b):
    return np.array([[float(min(len(u), len(v))) for v in b] for u in a])


# ---------------------------------------------------------------- what it shows


def test_the_linear_form_shows_its_weights_and_thresholds():
    X, y = stars()
    ranker = PRank(random_state=0).fit(X, y)
    assert (ranker.coef_.shape, ranker.thresholds_.shape, ranker.classes_.tolist()) == ((1, 3), (3,), [1, 2, 3, 4])
    expected = X @ ranker.coef_.T - ranker.thresholds_
    np.testing.assert_allclose(ranker.model_.scores(X), expected, rtol=1e-12)
    np.testing.assert_array_equal(ranker.predict(X), ranker.classes_[(expected >= 0).sum(axis=1)])
    assert isinstance(ranker.model_.scorer, LinearModel)
    assert ranker.kernel_ == Linear()
    for absent in ("support_", "dual_coef_", "intercept_", "certificate_", "decision_function"):
        assert not hasattr(ranker, absent)


def test_the_kernel_form_shows_its_support_vectors_and_thresholds():
    X, y = stars()
    ranker = PRank(RBF(gamma=0.5), random_state=0).fit(X, y)
    m = len(ranker.support_)
    assert (ranker.dual_coef_.shape, ranker.support_vectors_.shape) == ((1, m), (m, 3))
    assert ranker.support_.tolist() == sorted(set(ranker.support_.tolist()))
    expected = (ranker.dual_coef_ @ RBF(gamma=0.5)(X[ranker.support_], X)).T - ranker.thresholds_
    np.testing.assert_allclose(ranker.model_.scores(X), expected, rtol=1e-9, atol=1e-12)
    with pytest.raises(AttributeError, match="coef_ is there only with a linear kernel"):
        _ = ranker.coef_


@each_kernel
def test_the_ledger_counts_moves_of_thresholds_and_the_mistakes_are_the_examples(kernel):
    X, y = stars()
    ranker = PRank(kernel).partial_fit(X, y, classes=[1, 2, 3, 4])
    assert ranker.n_mistakes_ == len(np.unique(ranker.mistakes_["round"])) < ranker.n_updates_ == len(ranker.mistakes_)
    assert set(ranker.mistakes_["class"]) <= {0, 1, 2}
    assert (ranker.n_rounds_, ranker.n_iter_, ranker.converged_) == (80, 1, False)


def test_the_ledger_is_a_window(monkeypatch):
    monkeypatch.setattr("onkel.learners.perceptron.primal.WINDOW", 20)
    X, y = stars()
    ranker = PRank().partial_fit(X, y)
    updates = ranker.n_updates_
    assert len(ranker.mistakes_) == 20 < updates
    ranker.learn_one(X[0], 7)  # a late grade, predicted or not
    assert len(ranker.mistakes_) == 20
    assert updates <= ranker.n_updates_ <= updates + 4


@each_kernel
def test_a_model_is_frozen_explains_and_comes_back_from_its_state(kernel):
    X, y = stars()
    ranker = PRank(kernel).partial_fit(X[:40], y[:40], classes=[1, 2, 3, 4])
    model, before = ranker.model_, ranker.predict(X)
    assert isinstance(model.decision, Ranks)
    ranker.partial_fit(-X, y)
    np.testing.assert_array_equal(model.predict(X), before)
    assert [model.predict_one(x) for x in X[:5]] == before[:5].tolist()
    assert from_state(model.state()) == model
    total = sum(term.contribution for term in model.explain(X[0]))
    np.testing.assert_allclose(total + model.intercept, model.scores(X[:1])[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("thresholds", [[1.0, 0.0], [0.0], [[0.0, 1.0]]])
def test_a_state_with_thresholds_that_cannot_be_is_refused(thresholds):
    state = Ranks(np.array([1, 2, 3]), np.array([0.0, 1.0])).state()
    arrays = dict(state.arrays) | {"thresholds": np.array(thresholds)}
    with pytest.raises(InputError, match="'thresholds' must"):
        Ranks.from_state(type(state)(state.kind, state.version, {}, arrays))


# ---------------------------------------------------------------- at work


def test_scikit_learn_takes_it_for_a_classifier_and_can_score_how_far_off_it_is():
    X, y = stars()
    assert is_classifier(PRank())
    search = GridSearchCV(
        PRank(RBF(), random_state=0), {"kernel__gamma": [0.01, 1.0]}, scoring="neg_mean_absolute_error", cv=3
    ).fit(X, y)
    assert search.best_score_ > -1.0
    pipe = make_pipeline(StandardScaler(), PRank(random_state=0))
    assert cross_val_score(pipe, X, y, cv=3).mean() > 0.5
    assert clone(PRank("rbf", gamma=2.0)).get_params()["gamma"] == 2.0
    ranker = PRank(random_state=0).fit(X, y)
    assert ranker.score(X, y) == np.mean(ranker.predict(X) == y)


@each_kernel
def test_a_warm_start_goes_on_and_a_new_fit_does_not(kernel):
    X, y = stars()
    warm = PRank(kernel, max_iter=1, shuffle=False, warm_start=True).fit(X, y)
    once = warm.n_mistakes_
    warm.fit(X, y)
    assert (warm.n_rounds_, warm.n_iter_) == (160, 1)
    assert warm.set_params(warm_start=False).fit(X, y).n_mistakes_ == once


@each_kernel
def test_a_fit_stops_after_an_epoch_without_a_mistake(kernel):
    X = np.arange(12.0)[:, None] / 6
    ranker = PRank(kernel, max_iter=1000, random_state=0).fit(X, np.arange(12) // 4)
    assert ranker.converged_
    assert ranker.n_iter_ < 1000
    assert ranker.score(X, np.arange(12) // 4) == 1.0


def test_precomputed_values_and_kernels_on_objects_do():
    X, y = stars()
    K = RBF(gamma=0.5)(X)
    given = PRank("precomputed", shuffle=False).fit(K, y)
    np.testing.assert_array_equal(given.predict(K), PRank(RBF(gamma=0.5), shuffle=False).fit(X, y).predict(X))
    words, grades = ["a", "bb", "ccc", "dddd", "e", "ff"], [1, 1, 2, 2, 1, 1]
    ranker = PRank(Custom(length, takes="objects"), max_iter=100, random_state=0).fit(words, grades)
    assert ranker.predict(words).tolist() == grades
    assert ranker.predict_one("eeeeeee") == 2


def test_it_learns_from_dicts_and_csr_rows():
    ranker = PRank()
    examples = [({"good": 1.0}, 2), ({"bad": 1.0}, 1), ({"bad": 1.0, "so": 1.0}, 1), ({"good": 1.0, "so": 1.0}, 2)]
    for x, grade in 3 * examples:
        ranker.learn_one(x, grade)
    assert [ranker.predict_one({"bad": 1.0}), ranker.predict_one({"good": 2.0})] == [1, 2]
    X, y = stars()
    assert PRank(shuffle=False).fit(sp.csr_array(X), y).coef_.shape == (1, 3)


def test_progressive_validation_takes_it():
    X, y = stars()
    *_, last = onkel.progressive_validation(PRank(), zip(X, y.tolist(), strict=True))
    assert last.examples == 80
    assert last.mistakes < 60


# ---------------------------------------------------------------- streams


@each_kernel
def test_grades_may_come_late_in_any_order_and_are_shown_sorted(kernel):
    X, y = stars()
    ranker = PRank(kernel)
    assert ranker.predict_one(X[0]) is None
    seen = set()
    for i in np.argsort(-y, kind="stable"):
        ranker.learn_one(X[i], y[i])
        seen.add(int(y[i]))
        assert ranker.classes_.tolist() == sorted(seen)
        assert ranker.model_.scores(X).shape == (80, len(seen) - 1)
    assert set(ranker.predict(X)) <= seen


def test_a_stream_of_one_grade_predicts_it():
    ranker = PRank().partial_fit([[1.0], [2.0]], ["only", "only"])
    assert ranker.predict([[5.0]]).tolist() == ["only"]
    assert ranker.predict_one([5.0]) == "only"
    assert (ranker.thresholds_.shape, ranker.n_mistakes_) == ((0,), 0)


# ---------------------------------------------------------------- what it refuses

REFUSED = [
    (lambda e, X, y: e.fit(X, y + 0.5), ValueError, "continuous"),
    (lambda e, X, y: e.fit(X, np.ones(80, dtype=int)), InputError, "at least two classes"),
    (lambda e, X, y: e.partial_fit(X, np.where(y == 4, 9, y)), InputError, "classes known from the start.*got 9"),
    (lambda e, X, y: e.partial_fit(X * np.nan, y), ValueError, "NaN"),
    (lambda e, X, y: e.partial_fit(X[:, :2], y), ValueError, "features"),
    (lambda e, X, y: e.partial_fit(X, y, classes=[1, 2]), InputError, "classes must be those of the first call"),
    (lambda e, X, y: e.learn_one(X[0], "five"), (InputError, KindError), "y must hold"),
    (lambda e, X, y: e.learn_one(X[0], None), KindError, "y must be one label"),
    (lambda e, X, y: e.fit(X, y, sample_weight=np.ones(80)), TypeError, "sample_weight"),
    (lambda e, X, y: e.set_params(max_iter=0).fit(X, y), ParameterError, "max_iter must be a whole number >= 1"),
]


@each_kernel
@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_a_call_that_is_refused_says_why_and_changes_nothing_of_what_was_learned(kernel, call, error, message):
    X, y = stars()
    ranker = PRank(kernel).partial_fit(X, y, classes=[1, 2, 3, 4])
    before = ranker.state().part("learner"), ranker.predict(X).tolist()
    with pytest.raises(error, match=message):
        call(ranker, X, y)
    assert (ranker.state().part("learner"), ranker.predict(X).tolist()) == before


def test_other_refusals():
    X, y = stars()
    with pytest.raises(NotFittedError):
        PRank().predict(X)
    with pytest.raises(ParameterError, match="gamma"):
        PRank(RBF(), gamma=2.0).fit(X, y)
    with pytest.raises(TypeError, match="class_weight"):
        PRank(class_weight="balanced")


def test_bounds_say_that_there_is_none_for_it_and_point_to_a_certificate_only_where_there_is_one():
    X, y = stars()
    with pytest.raises(KindError, match="PRank has no certificate_: onkel has no mistake bound for it"):
        onkel.bounds.certificate(PRank().fit(X, y), X, y)
    forgetron = onkel.Forgetron(budget=100, random_state=0)
    with pytest.raises(KindError, match="Its certificate_ says what is known of its mistakes"):
        onkel.bounds.certificate(forgetron.fit(X, y > 2), X, y > 2)
    with pytest.raises(KindError, match="certificate_ is there after a fit"):
        onkel.bounds.certificate(forgetron.partial_fit(X, y > 2), X, y > 2)
