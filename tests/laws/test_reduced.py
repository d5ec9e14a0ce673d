"""Laws of reduced models: the nearest ones over few support vectors, with the error that they report."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from reference.reduced_oracles import distances, greedy, lengths, nearest

import onkel
from onkel import SVC, SVR, KernelPerceptron, OneClassSVM, PRank, RankingPerceptron, SequencePerceptron, registry
from onkel.errors import GramError
from onkel.kernels import RBF, Custom, Laplacian, Linear, Polynomial, prepare
from onkel.kernels.pursuit import GrowingFactor, pursue
from onkel.models import OneVsOne, ReducedExpansion, from_state

KERNELS = [RBF(gamma=0.3), RBF(gamma=0.01), Laplacian(gamma=0.2), Polynomial(degree=3), Linear()]
kernels = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


def data(n=80, d=4, seed=0, classes=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.digitize(np.sin(2 * X[:, 0]) + X[:, 1], np.linspace(-1, 1, classes + 1)[1:-1])


X, Y = data()
T = data(seed=1)[0]
NUMBERS = np.sin(X[:, 0]) + X[:, 1]


def functions(kernel, outputs=3, seed=0):
    """Rows, their Gram matrix, and coefficients of some functions."""
    return prepare(kernel, X), kernel(X), np.random.default_rng(seed).normal(size=(len(X), outputs))


def trained(name):
    """A fitted estimator of the registry, whose model is an expansion."""
    cls = getattr(onkel, name)
    params = {"kernel": RBF(gamma=0.4)} | ({"random_state": 0} if hasattr(cls(), "random_state") else {})
    return cls(**params).fit(X, {"classify": Y, "regress": NUMBERS, "detect": None}[TASKS[name]])


TASKS = {
    entry.name: entry.task
    for entry in registry.estimators()
    if entry.task in ("classify", "regress", "detect") and hasattr(getattr(onkel, entry.name)(), "kernel")
}


def gram_of(model):
    """The Gram matrix of the support and the coefficients (m, outputs) of a model, in float64."""
    scorer = model.scorer.expansion() if isinstance(model.scorer, OneVsOne) else model.scorer
    S = model.support.matrix
    return model.kernel(S.astype(np.float64)), scorer.coef


def places_in(small, model):
    return [model.row_ids.tolist().index(row) for row in small.row_ids]


# ---------------------------------------------------------------- the pursuit


@kernels
def test_each_step_takes_the_row_that_lowers_the_error_most(kernel):
    rows, K, A = functions(kernel)
    n = 3 if isinstance(kernel, Linear) else 6  # of a space of 4 dimensions any fourth row gives the rest
    assert pursue(kernel, rows, A, n).places.tolist() == greedy(K, A, n)


@kernels
def test_coefficients_are_those_of_the_nearest_function_and_the_error_is_its_distance(kernel):
    rows, K, A = functions(kernel)
    found = pursue(kernel, rows, A, 12)
    places = found.places.tolist()
    best = nearest(K, A, places)
    np.testing.assert_allclose(K[:, places] @ found.coef, K[:, places] @ best, rtol=0, atol=1e-7 * np.abs(K @ A).max())
    for n in range(len(places) + 1):
        C = nearest(K, A, places[:n])
        np.testing.assert_allclose(found.errors[n], distances(K, A, places[:n], C) / lengths(K, A), rtol=0, atol=3e-7)


@kernels
def test_the_error_never_rises_and_fewer_steps_are_the_first_of_more(kernel):
    rows, _, A = functions(kernel)
    most = pursue(kernel, rows, A)
    assert (np.diff(most.errors, axis=0) <= 0).all()
    assert most.errors[0] == pytest.approx(1)
    for n in (1, 3, 7):
        few = pursue(kernel, rows, A, n)
        assert few.places.tolist() == most.places[:n].tolist()
        np.testing.assert_array_equal(few.errors, most.errors[: len(few.errors)])


@kernels
def test_all_independent_rows_give_the_same_function(kernel):
    rows, K, A = functions(kernel)
    found = pursue(kernel, rows, A)
    assert len(found.places) == {Linear: 4, Polynomial: 35}.get(type(kernel), len(found.places))  # the whole space
    assert found.errors[-1] == pytest.approx(0, abs=1e-7)
    np.testing.assert_allclose(
        kernel(T, X[found.places]) @ found.coef, kernel(T, X) @ A, rtol=0, atol=1e-8 * np.abs(K @ A).max()
    )


def test_the_factor_at_the_rows_that_were_taken_is_that_of_their_kernel_matrix():
    kernel = RBF(gamma=0.5)
    factor = GrowingFactor(kernel, prepare(kernel, X))
    for p in (3, 70, 4, *range(10, 50)):  # more than the columns that there is memory for at first
        factor.take(p)
    K, P = kernel(X), factor.places
    np.testing.assert_allclose(factor.phi @ factor.phi[P].T, K[:, P], atol=1e-12)
    np.testing.assert_allclose(factor.pivots, 1 - (factor.phi**2).sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(factor.centers().features(prepare(kernel, X)), factor.phi, atol=1e-9)


def test_equal_rows_become_one():
    kernel = RBF(gamma=0.3)
    A = functions(kernel)[2][:30]
    twice = np.concatenate([X[:30], X[:30][::-1], X[:7]])
    shares = np.concatenate([0.25 * A, 0.75 * A[::-1], np.zeros((7, 3))])
    shares[:7] -= 0.5 * A[:7]
    shares[60:] += 0.5 * A[:7]
    one, other = pursue(kernel, prepare(kernel, X[:30]), A), pursue(kernel, prepare(kernel, twice), shares)
    assert len(one.places) == len(other.places) == 30
    np.testing.assert_allclose(one.errors[:-1], other.errors[:-1], atol=1e-7)
    merged = {X[p].tobytes(): c for p, c in zip(one.places, one.coef, strict=True)}
    for p, c in zip(other.places, other.coef, strict=True):
        np.testing.assert_allclose(c, merged[twice[p].tobytes()], atol=1e-9)


def test_a_short_row_is_not_taken_for_a_dependent_one():
    lengths = 10.0 ** -np.arange(8)  # k(s, s) from 1 to 1e-14
    found = pursue(Linear(), prepare(Linear(), np.diag(lengths)), (1 / lengths)[:, None])  # f = all axes, equally
    assert sorted(found.places.tolist()) == list(range(8))
    np.testing.assert_allclose(found.errors[:, 0], np.sqrt(1 - np.arange(9) / 8), atol=1e-7)


def test_a_function_that_is_0_needs_no_rows():
    kernel = RBF(gamma=0.3)
    S = np.concatenate([X, X])
    A = np.concatenate([np.ones((80, 1)), -np.ones((80, 1))])
    for functions in (A * 0, np.hstack([A * 0, A * 0])):
        found = pursue(kernel, prepare(kernel, S), functions, 5)
        assert (len(found.places), found.coef.shape) == (0, (0, functions.shape[1]))
        assert (found.errors == 0).all()


def test_a_kernel_that_turns_out_to_be_indefinite_is_refused():
    flipped = Custom(lambda a, b: a @ b.T - 3 * np.outer(a[:, 0], b[:, 0]))
    with pytest.raises(GramError, match="positive semi-definite"):
        pursue(flipped, prepare(flipped, X), functions(Linear())[2], 4)


# ---------------------------------------------------------------- models


@pytest.mark.parametrize("name", TASKS)
def test_every_estimator_with_a_kernel_has_reduced_models_with_their_true_error(name):
    model = trained(name).model_
    K, A = gram_of(model)
    before = np.inf
    for n in (1, 5, 15):
        small = model.reduced(n)
        assert len(small.row_ids) == len(small.support) == min(n, len(model.row_ids))
        error = distances(K, A, places_in(small, model), small.coef) / lengths(K, A)
        np.testing.assert_allclose(small.rkhs_error, error, rtol=1e-6, atol=1e-6)
        assert (small.rkhs_error <= before + 1e-12).all()
        np.testing.assert_array_equal(small.scorer.intercept, model.scorer.intercept)
        before = small.rkhs_error
    same = model.reduced(10**6)
    np.testing.assert_allclose(same.scores(T), model.scores(T), rtol=0, atol=1e-7 * np.abs(A).sum())
    assert same.predict(T).shape == model.predict(T).shape
    if same.predict(T).dtype.kind in "iU":
        np.testing.assert_array_equal(same.predict(T), model.predict(T))


@pytest.mark.parametrize("tol", [0.7, 0.3, 0.05, 1e-3])
@pytest.mark.parametrize("estimator", [SVC(gamma=0.4, C=3.0), SVR(gamma=0.4), KernelPerceptron(gamma=0.4)])
def test_a_tolerance_is_met_with_no_more_vectors_than_are_needed(estimator, tol):
    model = estimator.fit(X, NUMBERS if isinstance(estimator, SVR) else Y).model_
    small = model.reduced(tol=tol)
    assert small.rkhs_error.max() <= tol
    assert model.reduced(len(small.row_ids) - 1).rkhs_error.max() > tol
    assert model.reduced(len(small.row_ids)) == small
    assert len(model.reduced(3, tol=tol).row_ids) == min(3, len(small.row_ids))


def test_a_score_is_off_by_no_more_than_the_error_allows():
    model = SVR(gamma=0.4).fit(X, NUMBERS).model_
    small, length = model.reduced(10), lengths(*gram_of(model))
    off = np.abs(small.scores(T) - model.scores(T)).max()
    assert 0 < off <= small.rkhs_error[0] * length[0]  # k(x, x) = 1


def test_a_machine_of_pairs_shares_its_vectors_and_still_votes():
    clf = SVC(gamma=0.4, decision_function_shape="ovo").fit(*data(classes=4))
    small = clf.model_.reduced(30)
    assert small.coef.shape == (30, 6)
    scores = clf.model_.kernel(T, small.support.matrix) @ small.coef + clf.intercept_
    np.testing.assert_allclose(small.scores(T), scores, atol=1e-12)
    assert small.decision == clf.model_.decision
    assert (small.predict(T) == small.decision.decide(scores)).all()
    pairs = clf.model_.scorer
    np.testing.assert_allclose(pairs.expansion().scores(T), pairs.scores(T), rtol=0, atol=1e-12)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array], ids=["dense", "CSR"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@kernels
def test_float32_and_sparse_support_is_kept_as_it_is_and_predicts_as_before(kernel, dtype, convert):
    S = convert(np.where(X > -0.5, X, 0.0).astype(dtype))
    model = KernelPerceptron(kernel, random_state=0).fit(S, Y).model_
    same, test = model.reduced(10**6), convert(T.astype(dtype))
    assert same.support.dtype == dtype
    tol = {np.float64: 1e-7, np.float32: 2e-3}[dtype] * np.abs(model.scores(test)).max()
    np.testing.assert_allclose(same.scores(test), model.scores(test), rtol=0, atol=tol)


def test_objects_are_reduced_too():
    words = [f"{'abcd'[i % 4] * 2}{i:b}" for i in range(40)]
    kernel = Custom(lambda a, b: len(set(a) & set(b)), pairwise=True, takes="objects")
    model = KernelPerceptron(kernel).fit(words, np.arange(40) % 4).model_
    small = model.reduced(tol=1e-6)
    assert len(small.row_ids) <= 6  # the letters a to d, 0 and 1 span the space
    np.testing.assert_allclose(small.scores(words), model.scores(words), atol=1e-9)


def test_a_reduced_model_is_a_frozen_model_with_a_state():
    for model in (SVC(gamma=0.4).fit(X, Y).model_, OneClassSVM(gamma=0.4).fit(X).model_):
        small = model.reduced(7)
        assert type(small) is type(model)
        assert isinstance(small.scorer, ReducedExpansion)
        for twin in (from_state(small.state()), pickle.loads(pickle.dumps(small)), copy.deepcopy(small)):
            assert twin == small
            np.testing.assert_array_equal(twin.rkhs_error, small.rkhs_error)
            np.testing.assert_array_equal(twin.predict(T), small.predict(T))
        assert small.state().part("scorer").kind == "scorer/reduced"
        assert small != model
        assert small == model.reduced(7)
        for array in (small.coef, small.rkhs_error, small.row_ids):
            assert not array.flags.writeable
        assert small.predict_one(T[0]) == small.predict(T[:1])[0]
        terms = small.explain(T[0])
        score = small.scorer.scores(T[:1])[0, 0]
        assert sum(term.contribution for term in terms) + small.scorer.intercept[0] == pytest.approx(score)
        assert {term.row_id for term in terms} <= set(small.row_ids.tolist())


def test_a_reduced_model_can_be_reduced_again():
    model = SVR(gamma=0.4).fit(X, NUMBERS).model_
    small = model.reduced(20)
    assert small.reduced(20).rkhs_error == pytest.approx(0, abs=1e-7)
    assert len(small.reduced(5).row_ids) == 5


def test_ranking_models_keep_their_best_items():
    items = np.random.default_rng(0).normal(size=(60, 4))
    qid = np.repeat(np.arange(12), 5)
    model = RankingPerceptron(kernel=RBF(gamma=0.3), random_state=0).fit(items, items[:, 0] > 0.5, qid).model_
    same = model.reduced(1000)
    assert type(same) is type(model)
    assert [same.find_best(T[i : i + 5]) for i in range(0, 80, 5)] == [
        model.find_best(T[i : i + 5]) for i in range(0, 80, 5)
    ]
    assert model.reduced(4).find_best(T[:5]) in range(5)
    grades = PRank(kernel=RBF(gamma=0.3), random_state=0).fit(X, Y).model_
    np.testing.assert_array_equal(grades.reduced(1000).predict(T), grades.predict(T))


def test_taggers_with_a_kernel_keep_their_tags():
    sentences = [X[i : i + 4] for i in range(0, 80, 4)]
    tags = [["AB"[int(x[0] > 0)] for x in sentence] for sentence in sentences]
    model = SequencePerceptron(kernel=RBF(gamma=0.3), random_state=0).fit(sentences, tags).model_
    same = model.reduced(1000)
    assert same.predict(sentences) == model.predict(sentences)
    small = model.reduced(5)
    assert small.rkhs_error.shape == (2,)
    assert from_state(small.state()) == small
    assert len(small.scorer.expansion.row_ids) == 5
    np.testing.assert_array_equal(small.scorer.transitions.first, model.scorer.transitions.first)


def test_a_model_that_has_learned_nothing_stays_as_it_is():
    clf = KernelPerceptron("rbf", gamma=1.0).partial_fit(X[:1], [1], classes=[0, 1])
    model = clf.model_
    small = model.reduced(3)
    np.testing.assert_array_equal(small.predict(T), model.predict(T))
    assert (small.rkhs_error == 0).all()
