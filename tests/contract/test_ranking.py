"""What RankingPerceptron promises: what its methods take and give, and that a refused call changes nothing."""

from __future__ import annotations

import copy
import pickle
import re

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from contract.registered import Refusing, state
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from onkel import RankingPerceptron, bounds
from onkel.errors import InputError, KindError, ParameterError, ShapeError, ValuesError
from onkel.estimators.online.estimator import OnlineEstimator
from onkel.evaluate import mean_reciprocal_rank, ndcg
from onkel.kernels import RBF, Custom, Linear
from onkel.models import RankingModel, from_state
from onkel.plot import MistakesDisplay

FORMS = [
    {},
    {"hypothesis": "last", "pairs": "all"},
    {"kernel": Linear(), "hypothesis": "voted"},
    {"kernel": "rbf", "gamma": 0.3},
    {"hypothesis": "voted"},
]
each_form = pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(map(str, form.values())) or "default")


def data(seed=0, n=60, n_queries=12):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.clip(np.round(2 * X[:, 0]), 0, 3), rng.integers(0, n_queries, n)


def fitted(**params):
    return RankingPerceptron(**{"random_state": 0, "max_iter": 3} | params).fit(*data())


# ---------------------------------------------------------------- what it gives


@each_form
def test_the_best_item_is_the_first_that_the_scores_or_votes_put_first(form):
    ranker, X = fitted(**form), data()[0]
    best = ranker.find_best(X[:9])
    assert type(best) is int
    assert ranker.predict_one(X[:9]) == ranker.model_.find_best(X[:9]) == best
    if form.get("hypothesis") != "voted":
        assert best == int(np.argmax(ranker.predict(X[:9]))) == ranker.rank(X[:9])[0]
    assert ranker.find_best(np.vstack([X[best], X[best]])) == 0


def test_rank_gives_row_indices_one_array_for_each_query():
    ranker, (X, _, _) = fitted(), data()
    scores = ranker.predict(X[:6])
    np.testing.assert_array_equal(ranker.rank(X[:6]), np.argsort(-scores, kind="stable"))
    first, second = ranker.rank(X[:6], ["b", "a", "b", "a", "a", "b"])
    assert sorted(first) == [0, 2, 5]
    assert sorted(second) == [1, 3, 4]
    assert (np.diff(scores[first]) <= 0).all()


def test_score_is_ndcg_at_k():
    X, y, qid = data()
    perfect = RankingPerceptron(max_iter=200, random_state=0, pairs="all").fit(X, y, qid)
    assert 0.9 < perfect.score(X, y, qid) <= 1
    top = perfect.set_params(k=1).score(X, y, qid)
    assert 0 <= top <= 1
    ranked = perfect.rank(X)
    assert perfect.score(X, y) == pytest.approx((2 ** y[ranked[0]] - 1) / (2 ** y.max() - 1))


def test_it_is_neither_a_classifier_nor_a_regressor_and_inherits_two_classes_of_onkel():
    assert not is_classifier(RankingPerceptron())
    assert not is_regressor(RankingPerceptron())
    own = [cls for cls in RankingPerceptron.__mro__ if cls.__module__.startswith("onkel")]
    assert len(own) == 3
    assert own[1] is OnlineEstimator


def test_it_predicts_nothing_before_it_has_learned():
    assert RankingPerceptron().predict_one([[1.0]]) is None
    for method in ("find_best", "predict", "rank"):
        with pytest.raises(NotFittedError):
            getattr(RankingPerceptron(), method)([[1.0]])


@each_form
def test_pickles_copies_states_and_models_are_the_same_and_go_on_the_same(form):
    X, y, qid = data()
    ranker = fitted(**form)
    for twin in (
        pickle.loads(pickle.dumps(ranker)),
        copy.deepcopy(ranker),
        RankingPerceptron.from_state(ranker.state()),
        RankingPerceptron().resume(ranker.snapshot()),
    ):
        assert twin.n_mistakes_ == ranker.n_mistakes_
        assert twin.kernel_ == ranker.kernel_
        assert str(twin.certificate_) == str(ranker.certificate_)
        np.testing.assert_array_equal(twin.predict(X), ranker.predict(X))
        again = copy.deepcopy(ranker).partial_fit(X[:20], y[:20], qid[:20])
        np.testing.assert_array_equal(twin.partial_fit(X[:20], y[:20], qid[:20]).predict(X), again.predict(X))
    model = ranker.model_
    assert isinstance(model, RankingModel)
    assert from_state(model.state()) == pickle.loads(pickle.dumps(model)) == model
    assert from_state(model.state()).find_best(X[:9]) == ranker.find_best(X[:9])
    before = model.predict(X)
    ranker.partial_fit(-X, y, qid)
    np.testing.assert_array_equal(model.predict(X), before)


def test_it_works_in_pipelines_clones_and_grid_search_without_queries():
    X, y, qid = data()
    search = GridSearchCV(RankingPerceptron(random_state=0), {"max_iter": [1, 5], "k": [3, None]}, cv=3).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    pipe = make_pipeline(StandardScaler(), RankingPerceptron(random_state=0))
    pipe.fit(X, y, rankingperceptron__qid=qid)
    assert pipe.predict(X).shape == (60,)
    assert (
        clone(fitted(pairs="all")).get_params()
        == RankingPerceptron(pairs="all", random_state=0, max_iter=3).get_params()
    )


SKLEARN = tuple(int(part) for part in sklearn.__version__.split(".")[:2])
ROUTES = {
    "queries as groups": lambda qid: ({"qid": qid}, GroupKFold(4).set_split_request(groups="qid")),
    "queries and groups": lambda qid: ({"qid": qid, "groups": qid}, GroupKFold(4)),
}


@pytest.mark.parametrize("requested", [False, True], ids=["by default", "by request"])
@pytest.mark.parametrize("route", ROUTES)
def test_metadata_routing_brings_the_queries_to_fit_and_score_and_splits_none(route, requested):
    X, y, qid = data()
    folds = list(GroupKFold(4).split(X, y, qid))
    assert all(set(qid[train]).isdisjoint(qid[test]) for train, test in folds)
    by_hand = [fitted().fit(X[a], y[a], qid[a]).score(X[b], y[b], qid[b]) for a, b in folds]
    with sklearn.config_context(enable_metadata_routing=True):
        ranker = RankingPerceptron(max_iter=3, random_state=0)
        if requested:
            ranker.set_fit_request(qid=True).set_score_request(qid=True)
        params, cv = ROUTES[route](qid)
        np.testing.assert_array_equal(cross_val_score(ranker, X, y, params=params, cv=cv), by_hand)
        search = GridSearchCV(ranker, {"pairs": ["all", "best"]}, cv=cv).fit(X, y, **params)
    assert search.cv_results_["mean_test_score"][1] == np.mean(by_hand)


def test_metadata_routing_reaches_a_ranker_in_a_pipeline_and_measures_with_queries():
    X, y, qid = data()
    cv = GroupKFold(4)
    by_hand = []
    for a, b in cv.split(X, y, qid):
        scale = StandardScaler().fit(X[a])
        ranker = fitted().fit(scale.transform(X[a]), y[a], qid[a])
        found = ranker.predict(scale.transform(X[b]))
        by_hand.append((ndcg(y[b], found, qid[b]), mean_reciprocal_rank(y[b], found, qid[b])))
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(StandardScaler(), RankingPerceptron(max_iter=3, random_state=0))
        reciprocal = make_scorer(mean_reciprocal_rank).set_score_request(qid=True)
        own = make_scorer(ndcg).set_score_request(qid=True) if SKLEARN < (1, 8) else None  # before, it lost the queries
        for scoring, wanted in zip((own, reciprocal), np.transpose(by_hand), strict=True):
            cv = GroupKFold(4).set_split_request(groups="qid")
            found = cross_val_score(pipe, X, y, scoring=scoring, params={"qid": qid}, cv=cv, error_score="raise")
            np.testing.assert_array_equal(found, wanted)


NOTHING_TAUGHT = {
    "every query has a single item": ((np.arange(60), np.arange(60)), "same label in qid"),
    "a single item": (([1.0], ["a"]), "same label in qid"),
    "all grades equal": ((np.ones(60), np.arange(60) % 12), "check y and qid"),
    "one grade for each query": ((np.arange(60) % 12, np.arange(60) % 12), "use PRank"),
    "all grades equal in one query": ((np.ones(60), None), "check y and qid"),
}


@pytest.mark.parametrize("what", NOTHING_TAUGHT)
@each_form
def test_a_fit_that_teaches_nothing_warns_and_says_what_to_do_and_a_stream_does_not(form, what):
    (y, qid), advice = NOTHING_TAUGHT[what]
    X = data()[0][: len(y)]
    ranker = RankingPerceptron(**form)
    for warm in (False, True):
        with pytest.warns(UserWarning, match=f"RankingPerceptron: nothing was learned, since .*{advice}") as caught:
            ranker.set_params(warm_start=warm).fit(X, y, qid)
        assert [each.filename for each in caught] == [__file__]
    assert (ranker.n_mistakes_, ranker.converged_) == (0, True)
    ranker.partial_fit(X, y, qid).learn_one(X[:1], 0)  # warnings are errors in these tests
    assert ranker.n_mistakes_ == 0


def test_one_query_that_teaches_is_enough_for_no_warning():
    X = data()[0]
    assert RankingPerceptron().fit(X[:4], [1, 1, 1, 0], [1, 1, 2, 2]).n_mistakes_ > 0


def test_a_warm_start_goes_on_and_another_fit_starts_anew():
    X, y, qid = data()
    ranker = RankingPerceptron(warm_start=True, max_iter=1, shuffle=False).fit(X, y, qid).fit(X, y, qid)
    assert ranker.n_rounds_ == 2 * len(set(qid.tolist()))
    np.testing.assert_array_equal(ranker.mistakes_["row"][:2], fitted(max_iter=1, shuffle=False).mistakes_["row"][:2])
    assert ranker.set_params(warm_start=False).fit(X, y, qid).n_rounds_ == len(set(qid.tolist()))


def test_dicts_may_bring_features_and_objects_are_ranked_by_their_kernel():
    ranker = RankingPerceptron(hypothesis="last")
    ranker.learn_one([{"a": 1.0}, {"b": 1.0}], 1).learn_one([{"c": 2.0}, {"b": 1.0}], 0)
    assert ranker.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(ranker.coef_, [[-1.0, 0.0, 2.0]])
    assert ranker.find_best([{"a": 1.0}, {"c": 1.0}, {"unknown": 9.0}]) == 1
    words = [{f"word {i}": 1.0} for i in range(300)]
    many = RankingPerceptron(hypothesis="last").partial_fit(words, np.arange(300) == 7)
    many.learn_one([{"word 1": 1.0}, {"new": 1.0}], 1)
    assert many.find_best([{"word 3": 1.0}, {"new": 1.0}]) == 1

    def common(A, B):
        return np.array([[len(set(a) & set(b)) for b in B] for a in A], dtype=float)

    strings = RankingPerceptron(Custom(common, takes="objects"), hypothesis="last")
    strings.learn_one(["xyz", "abc"], 1)
    assert strings.find_best(["yz", "q", "ab"]) == 2


def test_a_precomputed_gram_matrix_is_the_kernel_on_the_points():
    X, y, qid = data()
    K = RBF(gamma=0.3)(X)
    given, computed = fitted(kernel=RBF(gamma=0.3)), RankingPerceptron("precomputed", random_state=0, max_iter=3)
    np.testing.assert_allclose(computed.fit(K, y, qid).predict(K), given.predict(X), atol=1e-9)


def test_the_hypothesis_may_change_but_a_vote_needs_its_guesses():
    ranker, X = fitted(), data()[0]
    last = ranker.set_params(hypothesis="last").predict(X)
    np.testing.assert_array_equal(last, fitted(hypothesis="last").predict(X))
    with pytest.raises(ParameterError, match="Fit anew"):
        ranker.set_params(hypothesis="voted").predict(X)
    dual = fitted(kernel=Linear())
    assert dual.set_params(hypothesis="voted").find_best(X) == fitted(kernel=Linear(), hypothesis="voted").find_best(X)


def test_the_certificate_is_about_the_last_fit_only_and_the_mistakes_can_be_drawn():
    X, y, qid = data()
    ranker = fitted()
    assert "queries" in str(ranker.certificate_) or "z = x_best" in str(ranker.certificate_)
    assert len(MistakesDisplay.from_estimator(ranker).rounds) == ranker.n_mistakes_
    ranker.partial_fit(X, y, qid)
    assert not hasattr(ranker, "certificate_")
    assert not hasattr(ranker, "n_updates_")


# ---------------------------------------------------------------- what it refuses

X, Y, QID = data()
BAD_CALLS = {
    "a grade that is no number": (lambda r: r.partial_fit(X, ["good"] * 60, QID), KindError, "real numbers"),
    "a grade that is NaN": (lambda r: r.partial_fit(X, np.where(QID == 3, np.nan, Y), QID), ValueError, "NaN"),
    "too few grades": (lambda r: r.partial_fit(X, Y[:-1], QID), ValueError, "inconsistent|shape"),
    "too few queries": (lambda r: r.partial_fit(X, Y, QID[:-1]), ShapeError, r"qid must have shape \(60,\)"),
    "a query that is NaN": (lambda r: r.partial_fit(X, Y, np.where(QID == 3, np.nan, QID)), ValuesError, "qid.*NaN"),
    "queries that are lists": (lambda r: r.partial_fit(X[:2], Y[:2], np.array([{}, {}])), KindError, "qid"),
    "a best item out of range": (lambda r: r.learn_one(X[:3], 3), ParameterError, "0 to 2; got 3"),
    "a negative best item": (lambda r: r.learn_one(X[:3], -1), ParameterError, "best"),
    "a best item that is no index": (lambda r: r.learn_one(X[:3], 0.5), KindError, "best"),
    "no items": (lambda r: r.learn_one(X[:0], 0), InputError, "at least one item"),
    "no items to choose from": (lambda r: r.find_best(X[:0]), ValueError, "0 sample|at least one"),
    "other features": (lambda r: r.learn_one(X[:3, :2], 0), ValueError, "features"),
    "NaN in an item": (lambda r: r.learn_one(np.full((2, 3), np.nan), 0), ValueError, "NaN"),
    "other queries to rank": (lambda r: r.rank(X, QID[:5]), ShapeError, "qid"),
    "another kernel": (lambda r: r.set_params(kernel="poly").partial_fit(X, Y, QID), ParameterError, "kernel was"),
    "other pairs": (lambda r: r.set_params(pairs="all").partial_fit(X, Y, QID), ParameterError, "pairs was"),
    "unknown pairs": (lambda r: r.set_params(pairs="some").fit(X, Y, QID), ParameterError, "best, all"),
    "an unknown hypothesis": (lambda r: r.set_params(hypothesis="best").fit(X, Y), ParameterError, "averaged, voted"),
    "k of zero": (lambda r: r.set_params(k=0).fit(X, Y, QID), ParameterError, "k must be"),
}


@pytest.mark.parametrize("what", BAD_CALLS)
@pytest.mark.parametrize("form", [{}, {"kernel": RBF(gamma=0.3)}], ids=["primal", "dual"])
def test_a_bad_call_is_refused_with_advice_and_changes_nothing(what, form):
    call, error, message = BAD_CALLS[what]
    ranker = fitted(**form)
    before = ranker.get_params(), ranker.mistakes_.tolist(), ranker.n_rounds_, ranker.predict(X).tolist()
    with pytest.raises(error, match=re.compile(message, re.DOTALL)):
        call(ranker)
    ranker.set_params(**before[0])
    assert (ranker.get_params(), ranker.mistakes_.tolist(), ranker.n_rounds_, ranker.predict(X).tolist()) == before


def test_a_kernel_that_refuses_a_later_query_undoes_the_whole_call(monkeypatch):
    monkeypatch.setattr("onkel.learners.perceptron.ranking.CHUNK", 8)  # so that parts are learned before
    ranker = RankingPerceptron(Custom(Refusing(100.0, raises=True)), random_state=0).fit(X, Y, QID)
    before = state(ranker)
    with pytest.raises(ZeroDivisionError):
        ranker.partial_fit(np.vstack([-X, np.full((2, 3), 1e3)]), np.append(Y, [0, 1]), np.append(QID, [99, 99]))
    assert state(ranker) == before
    assert ranker.partial_fit(-X, Y, QID).n_rounds_ > 0


BAD_BOUNDS = {
    "other queries": ({"qid": np.arange(60)}, ValuesError, "qid must hold the queries of fit"),
    "other grades": ({"y": -Y}, ValuesError, "y must hold the grades of fit"),
    "fewer rows": ({"X": X[:5], "y": Y[:5], "qid": QID[:5]}, ShapeError, "the ledger names row"),
    "weights": ({"sample_weight": np.ones(60)}, ParameterError, "sample_weight"),
    "an unknown comparator": ({"comparator": "max-margin"}, ParameterError, "for a ranking perceptron"),
    "grades in words": ({"y": ["a"] * 60}, KindError, "numbers"),
}


@pytest.mark.parametrize("what", BAD_BOUNDS)
def test_bounds_refuse_data_that_the_ranker_was_not_fitted_on(what):
    given, error, message = BAD_BOUNDS[what]
    with pytest.raises(error, match=message):
        bounds.certificate(fitted(), **{"X": X, "y": Y, "qid": QID} | given)


def test_bounds_take_queries_for_rankers_only():
    from onkel import Perceptron

    with pytest.raises(ParameterError, match="does not rank"):
        bounds.trace(Perceptron().fit(X, Y > 0), X, Y > 0, qid=QID)
    sparse = RankingPerceptron(random_state=0).fit(sp.csr_array(X), Y, QID)
    assert bounds.certificate(sparse, sp.csr_array(X), Y, qid=QID).mistakes == sparse.n_mistakes_
