"""Laws of the perceptrons: dual is primal, chunks are loops, prefixes are guesses, weights are steps."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from perceptron_modules import drawn_round, patch_learner, sq_norms
from reference.oracles import SlowPerceptron
from strategies import as_csr, seeds

import onkel.learners.storage.support
from onkel import KernelPerceptron, Perceptron
from onkel.features import PolynomialMap
from onkel.kernels import RBF, Kernel, Laplacian, Linear, Polynomial
from onkel.models.vote import vote_weights

HYPOTHESES = ["averaged", "voted", "last", "random", "best"]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """So that a few dozen rows meet every way through chunks, waiting pushes, panels, kept columns and blocks."""
    for name, value in (("CHUNK", 7), ("LATER", 11), ("PUSH", 6), ("PANEL", 4), ("STORE", 500), ("KEEP", 0.0)):
        patch_learner(monkeypatch, name, value)
    monkeypatch.setattr(onkel.learners.storage.support.Support, "BLOCK", 10)


def whole_numbers(seed, n=60, d=4, classes=2):
    """Small whole numbers: Linear and Polynomial are exact on them, ties at 0 included."""
    rng = np.random.default_rng(seed)
    return rng.integers(-3, 4, size=(n, d)).astype(float), rng.integers(0, classes, size=n)


def ones_against_rest(y, classes):
    if classes == 2:
        return np.where(y == 1, 1, -1)[:, None]
    return np.where(y[:, None] == np.arange(classes), 1, -1)


def ledger_of(estimator, binary):
    return [(int(r), int(i), 0 if binary else int(c), float(s)) for r, i, c, s in estimator.mistakes_.tolist()]


problems = st.tuples(seeds, st.sampled_from([2, 3, 5]))
exact_kernels = st.sampled_from([Linear(), Polynomial(degree=2), Polynomial(degree=3, gamma=2.0, coef0=0.0)])


@given(problems, exact_kernels, st.booleans(), st.integers(1, 4), st.sampled_from([0, 0.003, 100]), st.booleans())
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_fit_makes_the_mistakes_of_the_slow_twin(problem, kernel, intercept, epochs, cache_size, shuffle):
    seed, classes = problem
    X, y = whole_numbers(seed, n=57, classes=classes)  # 57 = 8 · 7 + 1 = 2 · 28 + 1: the last chunk has one row
    machine = KernelPerceptron(
        kernel, max_iter=epochs, fit_intercept=intercept, cache_size=cache_size, shuffle=shuffle, random_state=seed
    ).fit(X, y)
    twin = SlowPerceptron(kernel(X), ones_against_rest(y, classes), bias=float(intercept))
    random = np.random.RandomState(seed)
    for _ in range(epochs):
        if twin.epoch(random.permutation(len(X)) if shuffle else np.arange(len(X))) == 0:
            assert machine.converged_
            break
    assert machine.n_iter_ == twin.rounds // len(X)
    assert ledger_of(machine, classes == 2) == twin.ledger
    assert machine.n_rounds_ == twin.rounds
    norms = [guesses[-1] @ twin.K @ guesses[-1] for guesses in twin.guesses]
    np.testing.assert_allclose(sq_norms(machine), norms, rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", ["dense", "csr", "wide csr", "gram"])
@pytest.mark.parametrize("store", [1, 1 << 20])  # bytes: visited rows hear of every push at once, or at the end
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_pushes_of_whole_panels_make_the_mistakes_of_the_slow_twin(storage, dtype, store, monkeypatch):
    for name, value in (("CHUNK", 48), ("LATER", 20), ("PUSH", 70), ("PANEL", 32), ("STORE", store), ("KEEP", 1e9)):
        patch_learner(monkeypatch, name, value)
    X, y = whole_numbers(3, n=700, classes=3)
    X = X.astype(dtype)
    kernel, rows = Polynomial(degree=2), X
    if storage == "gram":
        rows = kernel(X)
    elif storage == "csr":
        rows = as_csr(X)
    elif storage == "wide csr":
        rows = as_csr(np.hstack([np.zeros((700, 5000), dtype=dtype), X]))
    machine = KernelPerceptron("precomputed" if storage == "gram" else kernel, max_iter=4, cache_size=0, random_state=5)
    machine.fit(rows, y)
    twin = SlowPerceptron(kernel(X).astype(float), ones_against_rest(y, 3))
    random = np.random.RandomState(5)
    for _ in range(4):
        twin.epoch(random.permutation(len(X)))
    assert ledger_of(machine, False) == twin.ledger
    assert len(twin.ledger) > 1000


@given(problems, exact_kernels, st.booleans(), st.sampled_from(HYPOTHESES))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_hypotheses_made_of_prefixes_are_those_of_all_guesses_kept(problem, kernel, intercept, hypothesis):
    seed, classes = problem
    X, y = whole_numbers(seed, classes=classes)
    Z, _ = whole_numbers(seed + 1, n=20)
    machine = KernelPerceptron(
        kernel, hypothesis=hypothesis, max_iter=2, fit_intercept=intercept, shuffle=False, random_state=seed
    ).fit(X, y)
    twin = SlowPerceptron(kernel(X), ones_against_rest(y, classes), bias=float(intercept))
    for _ in range(2):
        if twin.epoch(np.arange(len(X))) == 0:
            break
    at_round = drawn_round(machine, twin.rounds)
    expected = twin.scores(hypothesis, kernel(Z, X), float(intercept), at_round)
    scores = machine.decision_function(Z).reshape(len(Z), -1)
    np.testing.assert_allclose(scores, expected, rtol=1e-10, atol=1e-10 * max(1.0, np.abs(expected).max()))
    chosen = machine.predict(Z)
    if classes == 2:
        np.testing.assert_array_equal(chosen, (scores[:, 0] >= 0).astype(int))
    np.testing.assert_array_equal([machine.predict_one(z) for z in Z], chosen)
    if hypothesis != "voted":
        coef, support = machine.dual_coef_, machine.support_
        by_hand = kernel(Z, X[support]) @ coef.T + machine.intercept_
        np.testing.assert_allclose(by_hand, scores, rtol=1e-10, atol=1e-9 * max(1.0, np.abs(scores).max()))
        np.testing.assert_allclose(machine.model_.scores(Z), scores, rtol=1e-12)


@given(problems, exact_kernels, st.booleans(), st.sampled_from([1, 2, 7, 23, 60]), st.sampled_from(["dense", "csr"]))
def test_one_pass_is_any_chunking_is_the_loop_of_single_examples(problem, kernel, intercept, chunk, storage):
    seed, classes = problem
    X, y = whole_numbers(seed, classes=classes)
    y[:classes] = np.arange(classes)
    rows = X if storage == "dense" else as_csr(X)
    options = {"kernel": kernel, "fit_intercept": intercept, "shuffle": False, "max_iter": 1}
    whole = KernelPerceptron(**options).fit(rows, y)
    chunked, single = KernelPerceptron(**options), KernelPerceptron(**options)
    for start in range(0, len(X), chunk):
        chunked.partial_fit(rows[start : start + chunk], y[start : start + chunk], classes=range(classes))
    for i in range(len(X)):
        if i == 0:
            single.partial_fit(rows[:1], y[:1], classes=range(classes))
        else:
            single.learn_one(X[i] if storage == "dense" else rows[[i]], y[i])
    for other in (chunked, single):
        assert ledger_of(other, False) == ledger_of(whole, False)
        np.testing.assert_array_equal(other.support_, whole.support_)
        np.testing.assert_allclose(other.dual_coef_, whole.dual_coef_, rtol=1e-12)
        np.testing.assert_array_equal(other.intercept_, whole.intercept_)
        np.testing.assert_allclose(other.decision_function(X), whole.decision_function(X), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(sq_norms(other), sq_norms(whole), rtol=1e-12)


@given(seeds, st.sampled_from([np.float32, np.float64]), st.sampled_from([5, 31]))
def test_chunks_are_loops_for_real_data_too(seed, dtype, chunk):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((70, 3)).astype(dtype), rng.integers(0, 3, 70)
    y[:3] = [0, 1, 2]
    whole = KernelPerceptron(RBF(gamma=0.7), shuffle=False, max_iter=1).fit(X, y)
    chunked = KernelPerceptron(RBF(gamma=0.7))
    for start in range(0, 70, chunk):
        chunked.partial_fit(X[start : start + chunk], y[start : start + chunk], classes=[0, 1, 2])
    assert ledger_of(chunked, False) == ledger_of(whole, False)
    assert whole.support_vectors_.dtype == dtype


@pytest.mark.parametrize("block", [10, 4096])
@pytest.mark.parametrize("d", [3, 40])  # distances directly, or from norms and products
@pytest.mark.parametrize("chunk", [1, 50])
def test_a_support_that_grows_on_a_stream_is_that_of_a_fit(block, d, chunk, monkeypatch):
    monkeypatch.setattr(onkel.learners.storage.support.Support, "BLOCK", block)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((250, d)), rng.integers(0, 2, 250)
    options = {"kernel": RBF(gamma=1.0 / d), "hypothesis": "last", "shuffle": False, "max_iter": 1}
    whole, stream = KernelPerceptron(**options).fit(X, y), KernelPerceptron(**options)
    for start in range(0, len(X), chunk):
        part = slice(start, start + chunk)
        if chunk == 1 and start:
            stream.learn_one(X[start], y[start])
        else:
            stream.partial_fit(X[part], y[part], classes=[0, 1])
    assert whole.n_mistakes_ > 64  # more than a first block has room for
    assert ledger_of(stream, False) == ledger_of(whole, False)
    np.testing.assert_allclose(stream.decision_function(X), whole.decision_function(X), atol=1e-12)


@given(problems, st.booleans(), st.sampled_from(["dense", "csr"]), st.sampled_from(["last", "averaged"]))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_dual_with_a_linear_kernel_is_primal_update_for_update(problem, intercept, storage, hypothesis):
    seed, classes = problem
    X, y = whole_numbers(seed, classes=classes)
    rows = X if storage == "dense" else as_csr(X)
    options = {"fit_intercept": intercept, "max_iter": 3, "random_state": seed, "hypothesis": hypothesis}
    dual, primal = KernelPerceptron("linear", **options).fit(rows, y), Perceptron(**options).fit(rows, y)
    assert ledger_of(dual, False) == ledger_of(primal, False)
    np.testing.assert_allclose(
        dual.coef_ if storage == "dense" else dual.dual_coef_ @ dual.support_vectors_.toarray(),
        primal.coef_,
        atol=1e-12,
    )
    np.testing.assert_allclose(dual.intercept_, primal.intercept_, atol=1e-12)
    scores = primal.decision_function(rows)
    np.testing.assert_allclose(dual.decision_function(rows), scores, atol=1e-9)
    best = np.sort(scores.reshape(len(X), -1), axis=1)
    sure = (
        best[:, -1] - best[:, -2] > 1e-9 if classes > 2 else np.abs(scores) > 1e-9
    )  # of equal scores rounding decides
    np.testing.assert_array_equal(dual.predict(rows)[sure], primal.predict(rows)[sure])


@given(seeds, st.sampled_from([2, 3]))
def test_a_polynomial_kernel_is_the_perceptron_on_its_explicit_map(seed, degree):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((60, 3)), rng.integers(0, 2, 60)
    y[:2] = [0, 1]
    kernel = Polynomial(degree=degree, gamma=0.5, coef0=1.0)
    H = PolynomialMap(degree=degree, gamma=0.5, coef0=1.0).fit_transform(X)
    options = {"shuffle": False, "max_iter": 1, "hypothesis": "last"}
    dual, primal = KernelPerceptron(kernel, **options).fit(X, y), Perceptron(fit_intercept=False, **options).fit(H, y)
    assert ledger_of(dual, False) == ledger_of(primal, False)
    np.testing.assert_allclose(dual.decision_function(X), primal.decision_function(H), atol=1e-9)


@given(problems, exact_kernels)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_erratum_8_an_intercept_is_the_kernel_plus_one(problem, kernel):
    seed, classes = problem
    X, y = whole_numbers(seed, classes=classes)
    with_intercept = KernelPerceptron(kernel, fit_intercept=True, random_state=0, max_iter=2).fit(X, y)
    plus_one = KernelPerceptron(kernel + 1.0, random_state=0, max_iter=2).fit(X, y)
    assert ledger_of(with_intercept, False) == ledger_of(plus_one, False)
    np.testing.assert_allclose(with_intercept.decision_function(X), plus_one.decision_function(X), rtol=1e-12)


@given(seeds, st.sampled_from([0.25, 2.0, 1024.0]))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scaling_the_kernel_by_a_power_of_two_changes_no_decision(seed, factor):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((60, 3)), rng.integers(0, 3, 60)
    plain = KernelPerceptron(Laplacian(gamma=0.5), random_state=seed).fit(X, y)
    scaled = KernelPerceptron(factor * Laplacian(gamma=0.5), random_state=seed).fit(X, y)
    assert ledger_of(plain, False) == ledger_of(scaled, False)
    np.testing.assert_array_equal(plain.predict(X), scaled.predict(X))


@given(problems, st.sampled_from([KernelPerceptron, Perceptron]))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_weight_zero_is_absence_and_other_weights_scale_the_step(problem, cls):
    seed, classes = problem
    X, y = whole_numbers(seed, classes=classes)
    y[:classes] = np.arange(classes)
    w = np.random.default_rng(seed).integers(0, 4, len(y)).astype(float)
    w[:classes] = 1.0
    options = {"shuffle": False, "max_iter": 2} | ({"kernel": Linear()} if cls is KernelPerceptron else {})
    weighted, absent = (
        cls(**options).fit(X, y, sample_weight=w),
        cls(**options).fit(X[w > 0], y[w > 0], sample_weight=w[w > 0]),
    )
    kept = np.flatnonzero(w > 0)
    assert [(r, int(kept[i]), c, s) for r, i, c, s in ledger_of(absent, False)] == ledger_of(weighted, False)
    entries = weighted.mistakes_
    np.testing.assert_array_equal(np.abs(entries["step"]), w[entries["row"]])
    online = cls(**(options | {"max_iter": 1})).partial_fit(X, y, sample_weight=w, classes=range(classes))
    once = cls(**(options | {"max_iter": 1})).fit(X, y, sample_weight=w)
    assert ledger_of(online, False) == ledger_of(once, False)


def test_class_weights_multiply_sample_weights():
    X, y = whole_numbers(0)
    given_twice = KernelPerceptron(Linear(), class_weight={0: 2.0, 1: 3.0}, shuffle=False, max_iter=1)
    by_hand = KernelPerceptron(Linear(), shuffle=False, max_iter=1).fit(X, y, sample_weight=np.where(y == 0, 2.0, 3.0))
    assert ledger_of(given_twice.fit(X, y), False) == ledger_of(by_hand, False)


def test_the_notes_voting_table():
    # mistakes at rounds 1, 4, 8 and 10 of ten: v0 1/10, v1 3/10, v2 4/10, v3 2/10, and v4 0
    start, weight = vote_weights(np.array([1, 4, 8, 10]), np.zeros(4, dtype=int), 1, 10)
    assert start.tolist() == [1.0]
    assert weight.tolist() == [3.0, 4.0, 2.0, 0.0]


def test_erratum_2_from_nothing_the_first_example_is_a_mistake_and_zero_is_the_positive_class():
    machine = KernelPerceptron(Linear(), hypothesis="last", shuffle=False, max_iter=1)
    machine.fit([[1.0, 0.0], [0.0, 1.0]], ["no", "yes"])
    assert machine.mistakes_["round"].tolist() == [1, 2]  # f = 0 both times
    assert machine.mistakes_["step"].tolist() == [-1.0, 1.0]
    assert machine.decision_function([[0.0, 0.0]]) == 0.0
    assert machine.predict([[0.0, 0.0]]) == ["yes"]


def test_erratum_3_a_score_is_a_sum_over_examples_of_importance_times_similarity():
    X, y = np.array([[1.0, 2.0], [2.0, -1.0], [-1.0, -1.0]]), np.array([1, 1, 0])
    machine = KernelPerceptron(Polynomial(degree=2), hypothesis="last", shuffle=False, max_iter=3).fit(X, y)
    x = np.array([0.5, 1.0])
    terms = machine.model_.explain(x)
    assert sum(t.contribution for t in terms) == pytest.approx(machine.decision_function([x])[0])
    assert all(t.contribution == pytest.approx(t.importance * t.similarity) for t in terms)
    assert [abs(t.contribution) for t in terms] == sorted((abs(t.contribution) for t in terms), reverse=True)
    assert {t.row_id for t in terms} <= set(machine.support_)


def test_erratum_7_equal_points_with_different_labels_are_told_of_and_do_not_loop_for_ever():
    from sklearn.exceptions import ConvergenceWarning

    X, y = [[0.0], [1.0], [1.0]], [0, 1, 0]
    for rows in (X, sp.csr_array(X)):
        with pytest.warns(ConvergenceWarning, match=r"1 row\(s\) are equal to another row with another label"):
            machine = KernelPerceptron(RBF(), max_iter=20).fit(rows, y)
        assert not machine.converged_
        assert machine.n_iter_ == 20


@given(seeds)
def test_the_gaussian_kernel_separates_distinct_points(seed):
    rng = np.random.default_rng(seed)
    X = (rng.permutation(40) + 0.3 * rng.random(40))[:, None]  # no two pairs equally far: no score cancels to 0
    y = np.random.default_rng(seed + 1).integers(0, 2, 40)
    y[:2] = [0, 1]
    machine = KernelPerceptron(RBF(gamma=2.0), max_iter=100, hypothesis="last", random_state=0).fit(X, y)
    assert machine.converged_
    np.testing.assert_array_equal(machine.predict(X), y)
    assert machine.certificate_.holds


# ---------------------------------------------------------------- classes that come late


@given(seeds, st.permutations(["a", "b"]), st.sampled_from([KernelPerceptron, Perceptron]))
def test_two_classes_found_on_the_way_are_two_known_from_the_start(seed, names, cls):
    X, y = whole_numbers(seed)
    labels = np.array(names)[np.sort(y)]  # all of one, then all of the other
    options = {"kernel": Linear()} if cls is KernelPerceptron else {}
    known, found = cls(**options), cls(**options)
    for start in range(0, len(X), 9):
        part = slice(start, start + 9)
        known.partial_fit(X[part], labels[part], classes=["a", "b"])
        found.partial_fit(X[part], labels[part])
    if len(set(labels)) == 2:
        assert ledger_of(known, False) == ledger_of(found, False)
        np.testing.assert_array_equal(known.predict(X), found.predict(X))
        np.testing.assert_allclose(known.decision_function(X), found.decision_function(X), atol=1e-12)


@given(seeds, st.permutations([0, 1, 2, 3]), st.sampled_from([KernelPerceptron, Perceptron]), st.sampled_from([13, 60]))
def test_a_late_class_starts_at_its_first_example(seed, arrival, cls, chunk):
    X, y = whole_numbers(seed, classes=4)
    place = np.argsort(arrival)  # class c is not there before row 10 * its place
    y = np.array([c if i >= 10 * place[c] else arrival[0] for i, c in enumerate(y)])
    y[[0, 10, 20, 30]] = arrival
    first = {c: int(np.flatnonzero(y == c)[0]) for c in range(4)}
    Y = np.where(y[:, None] == np.arange(4), 1, -1)
    for c in arrival[2:]:  # the first two are each other's mirror image from the beginning
        Y[: first[c], c] = 0
    twin = SlowPerceptron(Linear()(X), Y)
    twin.epoch(np.arange(len(X)))
    chunked, single = (
        cls(fit_intercept=False, **({"kernel": Linear()} if cls is KernelPerceptron else {})) for _ in "ab"
    )
    for start in range(0, len(X), chunk):
        chunked.partial_fit(X[start : start + chunk], y[start : start + chunk])
    for x, label in zip(X, y, strict=True):
        single.learn_one(x, label)
    norms = [guesses[-1] @ twin.K @ guesses[-1] for guesses in twin.guesses]
    for machine in (chunked, single):
        assert machine.classes_.tolist() == [0, 1, 2, 3]
        assert ledger_of(machine, False) == twin.ledger
        if cls is KernelPerceptron:
            np.testing.assert_allclose(sq_norms(machine, by_class=True), norms, rtol=1e-12)


def test_a_class_that_was_named_but_not_seen_is_never_predicted():
    X, y = whole_numbers(3, classes=2)
    machine = KernelPerceptron(Linear()).partial_fit(X, y, classes=[0, 1, 2])
    assert set(machine.predict(np.vstack([X, -X, 100 * X]))) <= {0, 1}
    assert machine.decision_function(X).shape == (60, 3)
    alone = KernelPerceptron(Linear()).partial_fit(X[:5], [1] * 5, classes=[0, 1])
    assert set(alone.predict(np.vstack([X, -X]))) == {1}
    lonely = Perceptron().learn_one(X[0], "only")
    assert lonely.predict_one(X[1]) == "only"
    assert lonely.predict(X[:3]).tolist() == ["only"] * 3


# ---------------------------------------------------------------- going on


@given(seeds, st.sampled_from([KernelPerceptron, Perceptron]))
def test_partial_fit_after_fit_goes_on_from_there(seed, cls):
    X, y = whole_numbers(seed)
    y[:2] = [0, 1]
    options = {"shuffle": False, "max_iter": 1} | ({"kernel": Linear()} if cls is KernelPerceptron else {})
    whole = cls(**options).fit(X, y)
    parts = cls(**options).fit(X[:30], y[:30]).partial_fit(X[30:], y[30:])
    assert ledger_of(parts, False) == ledger_of(whole, False)
    warm = cls(warm_start=True, **options).fit(X[:30], y[:30]).fit(X[30:], y[30:])
    assert ledger_of(warm, False) == ledger_of(whole, False)


@given(seeds, st.sampled_from([KernelPerceptron, Perceptron]), st.sampled_from(["fit", "partial_fit"]))
def test_rows_of_no_weight_keep_their_numbers_while_learning_goes_on(seed, cls, learn):
    X, y = whole_numbers(seed)
    y[:2], w = [0, 1], np.random.default_rng(seed).integers(0, 2, len(y)).astype(float)
    w[[0, 1, 29, 59]] = 1.0
    options = {"shuffle": False, "max_iter": 1} | ({"kernel": Linear()} if cls is KernelPerceptron else {})
    whole, parts = cls(**options).fit(X, y, sample_weight=w), cls(**options)
    getattr(parts, learn)(X[:30], y[:30], sample_weight=w[:30])
    parts.partial_fit(X[30:], y[30:], sample_weight=w[30:])
    assert ledger_of(parts, False) == ledger_of(whole, False)
    parts.learn_one(-X[0], y[0])
    assert set(parts.mistakes_["row"]) <= {*np.flatnonzero(w).tolist(), 60}


@pytest.mark.parametrize("cls", [KernelPerceptron, Perceptron])
def test_a_warm_fit_may_bring_one_class_only(cls):
    X, y = whole_numbers(0)
    machine = cls(warm_start=True, max_iter=1, shuffle=False).fit(X, y)
    twin = cls(max_iter=1, shuffle=False).fit(X, y).partial_fit(-X[y == 1], y[y == 1])
    assert ledger_of(machine.fit(-X[y == 1], y[y == 1]), False) == ledger_of(twin, False)


@given(problems, st.booleans(), st.sampled_from(["averaged", "voted", "last", "best"]), st.sampled_from([1, 3]))
def test_a_warm_fit_goes_on_as_the_slow_twin(problem, shuffle, hypothesis, most):
    seed, classes = problem
    X, y = whole_numbers(seed, classes=classes)
    y[:classes] = np.arange(classes)
    options = {"hypothesis": hypothesis, "shuffle": shuffle, "random_state": seed, "warm_start": True}
    machine = KernelPerceptron(Linear(), max_iter=1, **options).fit(X[:30], y[:30])
    machine.set_params(max_iter=most).fit(X[30:], y[30:])
    twin, epochs, mistakes = SlowPerceptron(Linear()(X), ones_against_rest(y, classes)), 0, 1
    twin.epoch(np.random.RandomState(seed).permutation(30) if shuffle else np.arange(30))
    random = np.random.RandomState(seed)
    while epochs < most and mistakes:
        epochs, mistakes = epochs + 1, twin.epoch(30 + (random.permutation(30) if shuffle else np.arange(30)))
    assert ledger_of(machine, classes == 2) == twin.ledger
    assert (machine.n_iter_, machine.converged_, machine.n_rounds_) == (epochs, mistakes == 0, twin.rounds)
    assert machine.support_.tolist() == sorted({row for _, row, _, _ in twin.ledger})
    assert machine.mistake_counts_.sum() == machine.n_mistakes_
    scores, expected = machine.decision_function(X).reshape(len(X), -1), twin.scores(hypothesis, Linear()(X))
    np.testing.assert_allclose(scores, expected, rtol=1e-10, atol=1e-9)
    if hypothesis != "voted":
        by_hand = X @ machine.support_vectors_.T @ machine.dual_coef_.T + machine.intercept_
        np.testing.assert_allclose(by_hand, expected, rtol=1e-10, atol=1e-9)


def test_the_callers_arrays_are_neither_kept_nor_changed():
    X, y = whole_numbers(0)
    machine = KernelPerceptron(Linear(), hypothesis="last")
    x = X[0].copy()
    for i in range(20):
        x[:] = X[i]
        machine.learn_one(x, y[i])
    before = machine.decision_function(X)
    x[:] = 1e6
    np.testing.assert_array_equal(machine.decision_function(X), before)
    again = KernelPerceptron(Linear(), hypothesis="last")
    Z = X.copy()
    again.partial_fit(Z, y)
    np.testing.assert_array_equal(Z, X)
    Z[:] = 1e6
    assert np.abs(again.support_vectors_).max() < 10


@pytest.mark.parametrize("kernel", ["rbf", Polynomial(degree=2)], ids=str)
def test_a_precomputed_gram_matrix_learns_like_its_kernel(kernel):
    rng = np.random.default_rng(0)
    X, y, Z = rng.standard_normal((50, 3)), rng.integers(0, 3, 50), rng.standard_normal((10, 3))
    y[:3] = [0, 1, 2]
    plain = KernelPerceptron(kernel, random_state=1, max_iter=4).fit(X, y)
    k: Kernel = plain.kernel_
    given_gram = KernelPerceptron("precomputed", random_state=1, max_iter=4).fit(k(X), y)
    assert ledger_of(plain, False) == ledger_of(given_gram, False)
    np.testing.assert_allclose(plain.decision_function(Z), given_gram.decision_function(k(Z, X)), atol=1e-10)
