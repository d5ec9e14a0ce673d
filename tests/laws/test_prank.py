"""Laws of PRank: thresholds in order, chunks are loops, kernel is linear, the ledger is the model."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.prank_oracles import SlowPRank
from strategies import as_csr, seeds

import onkel.learners.perceptron.prank
import onkel.learners.storage.support
from onkel import Perceptron, PRank
from onkel.estimators.base.grades import Grades
from onkel.kernels import RBF, Custom, Linear, Polynomial
from onkel.learners.perceptron.prank import prank_steps

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

problems = st.tuples(seeds, st.integers(2, 5))
kernels = pytest.mark.parametrize("kernel", [Linear(), Custom(lambda A, B: A @ B.T, psd=True), Polynomial(degree=2)])
some = settings(max_examples=12)  # each problem meets every case many times
# fit and the stream are equal if the stream knows all grades, too
IN_ORDER = {"max_iter": 1, "shuffle": False}


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """So that a few dozen rows meet every way through chunks and blocks."""
    monkeypatch.setattr(onkel.learners.perceptron.prank, "CHUNK", 7)
    monkeypatch.setattr(onkel.learners.perceptron.primal, "CHUNK_ROWS", 9)
    monkeypatch.setattr(onkel.learners.storage.support.Support, "BLOCK", 10)


def whole_numbers(seed, grades=4, n=45, d=3):
    """Small whole numbers, on which sums are exact, ties with a threshold included; every grade occurs."""
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(grades), rng.integers(0, grades, size=n - grades))
    return rng.integers(-3, 4, size=(n, d)).astype(float), rng.permutation(y)


def same(one, other, X):
    """The same run and the same model, to the bit."""
    assert one.mistakes_.tolist() == other.mistakes_.tolist()
    assert (one.n_mistakes_, one.n_updates_, one.n_rounds_) == (other.n_mistakes_, other.n_updates_, other.n_rounds_)
    np.testing.assert_array_equal(one.thresholds_, other.thresholds_)
    np.testing.assert_array_equal(one.model_.scores(X), other.model_.scores(X))
    np.testing.assert_array_equal(one.predict(X), other.predict(X))


# ---------------------------------------------------------------- the rule


@kernels
@some
@given(problems, st.integers(1, 3))
def test_fit_makes_the_updates_of_the_slow_twin(kernel, problem, epochs):
    seed, grades = problem
    X, y = whole_numbers(seed, grades)
    ranker = PRank(kernel, max_iter=epochs, shuffle=False).fit(X, y)
    twin = SlowPRank(kernel(X), grades).run(y, epochs=ranker.n_iter_)
    assert ranker.mistakes_.tolist() == twin.ledger
    assert (ranker.n_mistakes_, ranker.n_updates_, ranker.n_rounds_) == (twin.n_mistakes, len(twin.ledger), twin.rounds)
    assert ranker.thresholds_.tolist() == twin.b[:-1]
    assert ranker.predict(X).tolist() == [twin.predict(i) for i in range(len(X))]
    updates = len(twin.ledger)
    assert not ranker.converged_ or len(twin.run(y).ledger) == updates  # another epoch changes nothing


@some
@given(problems)
def test_thresholds_stay_in_order_after_any_stream_also_where_grades_come_late(problem):
    seed, grades = problem
    X, y = whole_numbers(seed, grades)
    for kernel in (Linear(), RBF(gamma=0.3)):
        ranker = PRank(kernel)
        for x, grade in zip(X, y, strict=True):
            ranker.learn_one(x, grade)
            assert (np.diff(ranker.thresholds_) >= 0).all()
            assert len(ranker.thresholds_) == len(ranker.classes_) - 1
            assert ranker.predict_one(x) in ranker.classes_
        assert ranker.classes_.tolist() == list(range(grades))


def test_nothing_changes_where_the_grade_is_right_even_on_a_threshold():
    """At first all scores are on all thresholds, where the highest grade is predicted."""
    ranker = PRank().partial_fit([[1.0]], [3], classes=[1, 2, 3])
    assert (ranker.n_mistakes_, ranker.n_updates_, ranker.thresholds_.tolist()) == (0, 0, [0.0, 0.0])


def test_steps_in_both_directions_leave_the_score_as_it_is():
    """Grade 2 of 3 at the start: the first threshold falls, the second rises, and τ₁ + τ₂ = 0."""
    for kernel in ("linear", RBF(gamma=1.0)):
        ranker = PRank(kernel).partial_fit([[1.0]], [2], classes=[1, 2, 3])
        assert ranker.mistakes_.tolist() == [(1, 0, 0, 1.0), (1, 0, 1, -1.0)]
        assert (ranker.thresholds_.tolist(), ranker.n_mistakes_) == ([-1.0, 1.0], 1)
        if kernel == "linear":
            assert ranker.coef_.tolist() == [[0.0]]
        else:
            assert ranker.support_.tolist() == []  # no support vector
        assert ranker.predict_one([1.0]) == 2


def test_the_steps_of_one_example_are_those_of_the_formula():
    scores, targets = np.array([[2.0, 0.0, -1.0]]), np.array([[1.0, 1.0, -1.0]])
    assert prank_steps(scores, targets).tolist() == [[0.0, 0.0, 0.0]]  # right: the grade above the second threshold
    assert prank_steps(scores, -np.ones((1, 3))).tolist() == [[-1.0, -1.0, 0.0]]
    assert prank_steps(scores, np.ones((1, 3))).tolist() == [[0.0, 1.0, 1.0]]


# ---------------------------------------------------------------- the same by other ways


@kernels
@some
@given(problems, st.sampled_from([1, 5, 7, 13, 45]))
def test_a_fit_of_one_pass_is_its_chunks_and_its_examples_one_by_one(kernel, problem, size):
    seed, grades = problem
    X, y = whole_numbers(seed, grades)
    fitted = PRank(kernel, **IN_ORDER).fit(X, y)
    chunks, ones = PRank(kernel), PRank(kernel).partial_fit(X[:1], y[:1], classes=range(grades))
    for start in range(0, len(X), size):
        part = slice(start, start + size)
        chunks.partial_fit(X[part], y[part], classes=range(grades))
    for x, grade in zip(X[1:], y[1:], strict=True):
        ones.learn_one(x, grade)
    same(chunks, fitted, X)
    same(ones, fitted, X)


@some
@given(problems)
def test_the_kernel_form_with_the_linear_kernel_is_the_linear_form(problem):
    seed, grades = problem
    X, y = whole_numbers(seed, grades)
    dual = PRank(Custom(lambda A, B: A @ B.T, psd=True), max_iter=3, random_state=seed % 1000).fit(X, y)
    primal = PRank("linear", max_iter=3, random_state=seed % 1000).fit(X, y)
    same(dual, primal, X)
    np.testing.assert_array_equal(dual.dual_coef_ @ dual.support_vectors_, primal.coef_)


@pytest.mark.parametrize("kernel", [Linear(), Polynomial(degree=2)])
@pytest.mark.parametrize("to", [as_csr, lambda X: X.astype(np.float32), lambda X: as_csr(X.astype(np.float32))])
@some
@given(problems)
def test_sparse_and_single_precision_rows_make_the_same_run_on_whole_numbers(kernel, to, problem):
    seed, grades = problem
    X, y = whole_numbers(seed, grades)
    dense = PRank(kernel, max_iter=2, shuffle=False).fit(X, y)
    other = PRank(kernel, max_iter=2, shuffle=False).fit(to(X), y)
    assert other.mistakes_.tolist() == dense.mistakes_.tolist()
    np.testing.assert_array_equal(other.thresholds_, dense.thresholds_)
    np.testing.assert_array_equal(other.predict(to(X)), dense.predict(X))


@some
@given(seeds)
def test_two_grades_are_the_perceptron_with_an_intercept(seed):
    """b = −threshold. At a score of exactly 0, the start, PRank predicts the higher grade, so that an example of it is

    no mistake there; for the perceptron y f = 0 always is one. So the first example must have the lower grade; later
    scores of real numbers are not 0.
    """
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((60, 3)), rng.integers(0, 2, size=60)
    X, y = X[np.argmin(y) :], y[np.argmin(y) :]  # what comes before teaches PRank nothing
    ranker = PRank().partial_fit(X, y, classes=[0, 1])
    perceptron = Perceptron(fit_intercept=True).partial_fit(X, y, classes=[0, 1])
    assert (
        ranker.mistakes_[["round", "row", "step"]].tolist() == perceptron.mistakes_[["round", "row", "step"]].tolist()
    )
    np.testing.assert_allclose(ranker.coef_, perceptron.coef_, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(-ranker.thresholds_, perceptron.intercept_)
    np.testing.assert_array_equal(ranker.predict(X), perceptron.predict(X))


def test_leading_examples_of_the_higher_of_two_grades_teach_nothing():
    ranker = PRank().partial_fit([[1.0], [2.0], [-1.0]], [1, 1, 0], classes=[0, 1])
    assert ranker.mistakes_["row"].tolist() == [2]


# ---------------------------------------------------------------- the ledger


@some
@given(problems)
def test_the_ledger_is_the_model(problem):
    """w = Σ τ x, also where grades come late; b = −Σ τ for thresholds that were there from the start."""
    seed, grades = problem
    X, y = whole_numbers(seed, grades)
    known = PRank().partial_fit(X, y, classes=range(grades))
    late = PRank().partial_fit(X, y)
    for ranker in (known, late):
        entries = ranker.mistakes_
        np.testing.assert_array_equal(ranker.coef_[0], entries["step"] @ X[entries["row"]])
    entries = known.mistakes_
    b = -np.bincount(entries["class"], entries["step"], minlength=grades - 1)
    np.testing.assert_array_equal(known.thresholds_, b)


# ---------------------------------------------------------------- grades


def test_targets_are_signs_that_fall_from_threshold_to_threshold():
    targets = Grades.known(np.array([1, 2, 5]), all_seen=True)
    decoded = targets.decode(np.array([5, 1, 2]), "PRank")
    assert targets.encode(decoded).tolist() == [[1, 1], [-1, -1], [1, -1]]
    assert [targets.target(grade).tolist() for grade in (1, 2, 5)] == [[[-1, -1]], [[1, -1]], [[1, 1]]]


@pytest.mark.parametrize(
    ("late", "expected"),
    [
        (1, [[1, 1, 0], [0, 0, 1]]),  # below all: the lowest threshold becomes two
        (3, [[1, 1, 0], [0, 0, 1]]),  # between the grades 2 and 4
        (5, [[1, 0, 0], [0, 1, 1]]),  # between 4 and 6
        (9, [[1, 0, 0], [0, 1, 1]]),  # above all
    ],
)
def test_the_threshold_next_to_a_late_grade_becomes_two(late, expected):
    before = Grades((2, 4, 6), {2: 1, 4: 2, 6: 3})
    after = before.with_examples(before.decode(np.array([late]), "PRank"), [0], 3)
    assert after.output_map(before).tolist() == expected


def test_a_grade_above_all_others_begins_at_the_highest_threshold():
    ranker = PRank().partial_fit([[-1.0], [1.0], [3.0], [-2.0]], [1, 2, 2, 1], classes=None)
    (b,) = ranker.thresholds_
    coef, x = ranker.coef_, [100.0]
    assert ranker.predict_one(x) == 2
    ranker.learn_one(x, 3)  # predicted as soon as it is known, so nothing moves
    assert (ranker.thresholds_.tolist(), ranker.coef_.tolist()) == ([b, b], coef.tolist())
    assert ranker.predict_one(x) == 3
    ranker.learn_one(x, 2)
    assert ranker.thresholds_.tolist() == [b, b + 1]
