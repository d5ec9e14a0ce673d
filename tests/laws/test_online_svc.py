"""Laws of the online support vector machine."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pairwise import pairwise
from reference.lasvm_oracles import SlowLasvm, best_objective, objective
from reference.online_oracles import feed, targets
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from strategies import as_csr, few_examples, seeds

import onkel.learners.lasvm.learner
from onkel import OnlineSVC
from onkel._core import simd, simd_targets
from onkel.kernels import RBF, Custom, Linear, Polynomial, Precomputed, prepare
from onkel.learners.lasvm.learner import LasvmLearner

ONCE = {"max_iter": 1, "shuffle": False, "finish_fit": False}
kernels = st.sampled_from([RBF(gamma=0.5), Linear(), Polynomial(degree=2)])


def data(seed, n=120, classes=2, noise=0.7):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    y[:classes] = np.arange(classes)
    centres = np.array([[-1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0], [1.0, -1.0, 0.0]])
    return centres[y] + noise * rng.standard_normal((n, 3)), y


def whole_numbers(seed, n=90, classes=2):
    """Small whole numbers: equal points, with equal labels and with others."""
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-2, 3, size=(n, 3)).astype(float), rng.integers(0, classes, n)
    y[:classes] = np.arange(classes)
    return X, y


def parts(machine):
    """Of the learner's slots in use: α, g and y (outputs, slots), C, rows of the data, points."""
    learner = machine._running.learner
    solution, kept = learner.solution, learner.solution.kept()
    free = solution.freed[: solution.record.n_free]
    assert sorted([*kept.slots, *free]) == list(range(solution.n_slots))
    assert all(free[(k - 1) // 2] < free[k] for k in range(1, len(free)))  # a heap
    np.testing.assert_array_equal(solution.slots["n_keepers"][kept.slots], (kept.sign != 0).sum(axis=0))
    return kept.alpha, kept.gradient, kept.sign, kept.box, kept.row_ids, learner.rows[kept.slots].matrix


def outcome(machine, X):
    """All that can be seen of a machine, bit for bit."""
    return (
        machine.n_mistakes_,
        machine.n_updates_,
        machine.n_kept_,
        machine.support_.tolist(),
        machine.dual_coef_.tobytes(),
        machine.intercept_.tobytes(),
        machine.objective_.tobytes(),
        machine.decision_function(X).tobytes(),
    )


# ---------------------------------------------------------------- the state of a machine


@given(seeds, st.sampled_from([2, 3]), kernels, st.sampled_from([0.1, 2.0]), st.booleans())
@settings(max_examples=25)
def test_alpha_stays_in_its_box_sums_to_zero_and_the_gradient_goes_along(seed, classes, kernel, C, equal_points):
    X, y = (whole_numbers if equal_points else data)(seed, classes=classes)
    w = np.random.default_rng(seed).choice([0.5, 1.0, 3.0], len(X))
    machine = OnlineSVC(kernel, C=C, **ONCE)
    for start in range(0, len(X), 30):
        part = slice(start, start + 30)
        machine.partial_fit(X[part], y[part], classes=range(classes), sample_weight=w[part])
        alpha, g, signs, box, rows, points = parts(machine)
        np.testing.assert_array_equal(points, X[rows])
        np.testing.assert_allclose(box, C * w[rows], rtol=1e-15)
        bound = box * signs
        assert (alpha >= np.minimum(0, bound)).all()
        assert (alpha <= np.maximum(0, bound)).all()
        np.testing.assert_allclose(alpha.sum(axis=1), 0.0, atol=1e-12 * len(X) * C)
        K = kernel(points)
        scale = max(1.0, np.abs(K).max() * np.abs(alpha).sum(axis=1).max())
        kept = signs != 0
        np.testing.assert_allclose(g[kept], (signs - alpha @ K)[kept], atol=1e-12 * scale)
        expected = [objective(K, sign, a) for sign, a in zip(signs, alpha, strict=True)]
        np.testing.assert_allclose(machine.objective_, expected, rtol=1e-9, atol=1e-9)
        assert (machine.dual_gap_ >= -1e-9 * scale).all()


@given(seeds, st.sampled_from([2, 3]))
@settings(max_examples=10)
def test_what_goes_has_no_weight_and_is_on_the_right_side(seed, classes):
    X, y = data(seed, classes=classes, noise=0.4)
    machine = feed(OnlineSVC(RBF(gamma=0.5), **ONCE), X, y, 50, classes=range(classes))
    assert machine.n_kept_ < len(X)
    assert set(machine.support_) <= set(parts(machine)[4])
    _, _, signs, *_ = parts(machine)
    assert (signs != 0).any(axis=0).all()  # a slot is free where no machine keeps it


# ---------------------------------------------------------------- one order of examples, one result


@pytest.mark.parametrize("chunk", [1, 7, 64, 1000])
@given(seeds, st.sampled_from([2, 3]), kernels, st.sampled_from([np.float32, np.float64]), st.booleans())
@few_examples(4)
def test_chunks_are_loops_bit_for_bit(chunk, seed, classes, kernel, dtype, sparse):
    X, y = whole_numbers(seed, n=130, classes=classes)
    X = X.astype(dtype)
    rows = as_csr(X) if sparse else X
    chunked = feed(OnlineSVC(kernel, C=0.7, **ONCE), rows, y, chunk, classes=range(classes))
    single = feed(OnlineSVC(kernel, C=0.7, **ONCE), rows, y, None, classes=range(classes))
    assert outcome(chunked, X) == outcome(single, X)
    if chunk == 1000:
        assert outcome(OnlineSVC(kernel, C=0.7, **ONCE).fit(rows, y), X) == outcome(single, X)


@pytest.mark.parametrize("size", [1, 16, 100])
def test_neither_the_parts_of_a_chunk_nor_the_size_of_the_cache_matter(size, monkeypatch):
    X, y = data(0, n=450, classes=3, noise=1.5)
    expected = OnlineSVC(RBF(gamma=0.5), max_iter=2, random_state=0).fit(X, y)
    monkeypatch.setattr(onkel.learners.lasvm.learner, "CHUNK", size)
    machine = OnlineSVC(RBF(gamma=0.5), max_iter=2, random_state=0, cache_size=0.002 * size).fit(X, y)
    assert outcome(machine, X) == outcome(expected, X)
    assert machine.n_kept_ > 150


def test_whole_numbers_are_learned_alike_on_every_simd_path():
    X, y = whole_numbers(3, n=200)
    found = set()
    for target in simd_targets():
        with simd(target):
            found.add(OnlineSVC(Linear(), C=0.3, max_iter=3, random_state=0).fit(X, y).dual_coef_.tobytes())
    assert len(found) == 1


@given(seeds, st.sampled_from([2, 3]), st.integers(0, 100))
@settings(max_examples=10)
def test_a_resumed_machine_goes_on_bit_for_bit(seed, classes, stop):
    X, y = data(seed, classes=classes)
    straight = feed(OnlineSVC(RBF(gamma=0.5), **ONCE), X[: stop + 10], y[: stop + 10], 16, classes=range(classes))
    resumed = OnlineSVC().resume(straight.snapshot())
    for machine in (straight, resumed):
        feed(machine, X[stop + 10 :], y[stop + 10 :], None if stop % 2 else 16, classes=range(classes)).finish()
    assert outcome(straight, X) == outcome(resumed, X)


@given(seeds)
@settings(max_examples=10)
def test_a_mirror_image_is_one_and_goes_on_as_one(seed):
    X, y = data(seed)
    rows, signs = prepare(RBF(gamma=0.5), X), targets(y, 2)
    learner = LasvmLearner(RBF(gamma=0.5), 1, C=1.0, tol=1e-3, cache_bytes=1 << 20)
    learner.learn(rows[:60], signs[:60], np.ones(60), np.arange(60))
    f = learner.scores(rows)
    learner.change_outputs(np.array([[1.0, -1.0, 0.0]]))
    np.testing.assert_array_equal(learner.scores(rows), np.hstack([f, -f, 0 * f]))
    three = np.hstack([signs, -signs, np.full_like(signs, -1.0)])
    F = learner.learn(rows[60:], three[60:], np.ones(60), np.arange(60, 120))
    np.testing.assert_array_equal(F[:, 0], -F[:, 1])
    np.testing.assert_array_equal(learner.objective()[0], learner.objective()[1])


# ---------------------------------------------------------------- the optimum


@given(seeds, st.sampled_from([2, 3]), st.booleans())
@settings(max_examples=15)
def test_finish_is_the_batch_machine_on_what_is_kept(seed, classes, weighted):
    X, y = data(seed, classes=classes)
    w = np.random.default_rng(seed).choice([0.5, 1.0, 3.0], len(X)) if weighted else np.ones(len(X))
    machine = OnlineSVC(RBF(gamma=0.5), tol=1e-5, **ONCE).partial_fit(X, y, classes=range(classes), sample_weight=w)
    before = machine.objective_
    machine.finish()
    assert (machine.objective_ <= before + 1e-12).all()
    assert (machine.dual_gap_ <= 1e-5 * len(X) * w.max()).all()
    _, _, signs, box, _, points = parts(machine)
    for o, found in enumerate(machine.objective_):
        kept = signs[o] != 0
        best = best_objective(RBF(gamma=0.5)(points[kept]), signs[o, kept].astype(float), box[kept])
        assert found == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_repeated_passes_reach_the_objective_of_all_the_data(seed):
    X, y = data(seed, n=300)
    best = best_objective(RBF(gamma=0.5)(X), np.where(y == 1, 1.0, -1.0), 1.0)
    once, five = (OnlineSVC(RBF(gamma=0.5), tol=1e-4, max_iter=n, random_state=seed).fit(X, y) for n in (1, 5))
    assert best <= five.objective_[0] + 1e-3
    assert once.objective_[0] == pytest.approx(best, rel=0.05)
    assert five.objective_[0] == pytest.approx(best, rel=1e-3)
    batch = SVC(gamma=0.5).fit(X, y)
    np.testing.assert_allclose(five.decision_function(X), batch.decision_function(X), atol=0.05)


def test_single_precision_reaches_what_double_does():
    X, y = data(0, n=300)
    X = X.astype(np.float32)
    single, double = (
        OnlineSVC(RBF(gamma=0.5), tol=1e-5, max_iter=8, random_state=0).fit(Z, y) for Z in (X, X.astype(np.float64))
    )
    assert single.support_vectors_.dtype == np.float32
    np.testing.assert_allclose(single.objective_, double.objective_, rtol=1e-4)
    np.testing.assert_allclose(single.decision_function(X), double.decision_function(X), atol=5e-3)


def test_a_row_that_is_met_in_several_passes_is_kept_once():
    X, y = data(1, n=200, noise=1.5)
    machine = OnlineSVC(RBF(gamma=0.5), max_iter=4, random_state=0).fit(X, y)
    rows = parts(machine)[4]
    assert len(rows) == len(set(rows)) == machine.n_kept_ > 60
    assert machine.n_rounds_ == 200 * machine.n_iter_ > 200


# ---------------------------------------------------------------- the twin, and other rows


@given(seeds, st.sampled_from([2, 3]), st.sampled_from([0.1, 5.0]))
@few_examples(6)
def test_the_twin_learns_and_finishes_alike(seed, classes, C):
    X, y = data(seed, n=70, classes=classes)
    twin = SlowLasvm(RBF(gamma=0.5), C=C)
    for x, t in zip(X, targets(y, classes), strict=True):
        twin.learn(x, t)
    machine = feed(OnlineSVC(RBF(gamma=0.5), C=C, **ONCE), X, y, 32, classes=range(classes))
    for _ in range(2):
        assert machine.support_.tolist() == twin.rows
        np.testing.assert_allclose(machine.dual_coef_.T, twin.coef, atol=1e-9)
        np.testing.assert_allclose(machine.intercept_, twin.level, atol=1e-9)
        assert sorted(parts(machine)[4]) == sorted(twin.number[s] for s in {s for m in twin.outputs for s in m})
        assert (machine.n_mistakes_, machine.n_updates_) == (twin.mistakes, twin.updates)
        machine.finish()
        twin.finish()


def test_a_gram_matrix_is_learned_from_in_several_passes_and_with_few_rows_held():
    X, y = data(2, n=300, noise=1.5)
    K = RBF(gamma=0.5)(X)
    options = {"max_iter": 3, "random_state": 0, "cache_size": 0.01}
    on_matrix, on_points = OnlineSVC(Precomputed(), **options).fit(K, y), OnlineSVC(RBF(gamma=0.5), **options).fit(X, y)
    assert on_matrix.support_.tolist() == on_points.support_.tolist()
    np.testing.assert_array_equal(on_matrix.dual_coef_, on_points.dual_coef_)
    before = on_matrix.decision_function(K)
    K_copy = K.copy()
    K[:] = 7.0  # what is kept is not the caller's
    np.testing.assert_allclose(on_matrix.finish().decision_function(K_copy), before, atol=1e-3)


@pytest.mark.parametrize("wide", [False, True])
def test_rows_of_many_features_and_of_few_are_kept_alike(wide, monkeypatch):
    monkeypatch.setattr("onkel.learners.storage.slots.BLOCK_BYTES", 32 * 3 * 8)  # several blocks
    if wide:
        monkeypatch.setattr("onkel.learners.storage.slots.DENSE_FEATURES", 2)
    X, y = data(3, n=400, noise=1.5)
    expected = OnlineSVC(RBF(gamma=0.5), **ONCE).fit(X, y)
    machine = feed(OnlineSVC(RBF(gamma=0.5), **ONCE), as_csr(X), y, 33, classes=[0, 1])
    assert outcome(machine, X) == outcome(expected, X)
    np.testing.assert_array_equal(machine.support_vectors_.toarray(), X[machine.support_])
    np.testing.assert_array_equal(expected.support_vectors_, X[expected.support_])


# ---------------------------------------------------------------- memory


def test_kernel_rows_are_held_within_the_limit():
    X, y = data(0, n=3000, noise=3.0)
    machine = OnlineSVC(RBF(gamma=0.5), cache_size=0.5, **ONCE)
    for start in range(0, len(X), 500):
        machine.partial_fit(X[start : start + 500], y[start : start + 500])
        cache = machine._running.learner.cache
        assert cache.values.nbytes <= cache._buffer.nbytes <= 2**19
    assert machine.n_kept_ > 1000


def test_kernel_rows_are_neither_copied_nor_saved():
    X, y = data(0, n=1500, noise=3.0)
    machine = OnlineSVC(RBF(gamma=0.5), **ONCE).fit(X, y)
    assert machine._running.learner.cache._buffer.nbytes > 2**23
    assert len(pickle.dumps(machine)) < 2**19
    assert machine._running.learner.copy().cache._buffer.nbytes == 0


def test_examples_that_go_leave_no_memory_behind():
    rng = np.random.default_rng(0)
    machine, sizes = OnlineSVC(RBF(gamma=0.5), **ONCE), []
    for chunk in range(40):  # two clouds far apart: few support vectors
        y = rng.integers(0, 2, 500)
        machine.partial_fit(rng.standard_normal((500, 2)) * 0.3 + 4 * y[:, None], y)
        if chunk in (19, 39):
            sizes.append(len(pickle.dumps(machine)))
    assert machine.n_kept_ < 100
    assert sizes[1] <= sizes[0] + 1000


@pytest.mark.parametrize(
    ("stop", "classes", "then"),
    pairwise([1, 2, 3, 5, 8, 20, 30, 60], [2, 3], ["Ctrl-C", "an error", "an error in learn_one"]),
)
def test_what_interrupts_in_the_middle_of_a_chunk_leaves_a_machine_that_is_whole(stop, classes, then):
    X, y = data(0, n=100, classes=classes, noise=2.0)
    calls, left = [], []
    error = KeyboardInterrupt if then == "Ctrl-C" else ZeroDivisionError

    def kernel(A, B):
        calls.extend([1] * (len(A) == 1 < len(B)))  # a row that is asked for in the middle
        if left and len(calls) >= stop:
            raise left.pop()
        return RBF(gamma=0.5)(A, B)

    options = {"cache_size": 1e-3, "tol": 1e-4} | ONCE
    machine = OnlineSVC(Custom(kernel, psd=True), **options)
    machine.partial_fit(X[:40], y[:40], classes=range(classes))
    before, state = outcome(machine, X), machine.snapshot()
    calls.clear()
    left.append(error)
    with pytest.raises(error):
        feed(machine, X[40:], y[40:], None if then == "an error in learn_one" else 60)
    seen = machine.n_rounds_
    left.clear()
    if then == "an error":
        assert outcome(machine, X) == before
    else:  # whole parts
        assert 40 <= seen < 100
        twin = OnlineSVC().resume(state)
        if seen > 40:
            twin.partial_fit(X[40:seen], y[40:seen])
        assert outcome(twin, X) == outcome(machine, X)
    alpha, g, signs, _, rows, points = parts(machine)
    assert (signs != 0).any(axis=0).all()
    assert len(rows) == machine.n_kept_
    np.testing.assert_allclose(alpha.sum(axis=1), 0.0, atol=1e-12)
    np.testing.assert_allclose(g[signs != 0], (signs - alpha @ RBF(gamma=0.5)(points))[signs != 0], atol=1e-12)
    np.testing.assert_array_equal(points, X[rows])
    machine.partial_fit(X[seen:], y[seen:]).finish()
    assert (machine.dual_gap_ < 0.1).all()


def test_an_interrupted_finish_keeps_a_machine_that_goes_on(monkeypatch):
    X, y = data(0, n=300, noise=1.5)
    machine = OnlineSVC(RBF(gamma=0.5), tol=1e-6, **ONCE).partial_fit(X, y)
    before, expected = machine.objective_, OnlineSVC().resume(machine.snapshot()).finish()
    monkeypatch.setattr(onkel.learners.lasvm.learner, "WORK", 5000)  # a few steps at a time
    monkeypatch.setattr(onkel.learners.lasvm.learner, "CALLS", 2)
    commits, commit = [], LasvmLearner._commit

    def interrupted(*args):
        commits.append(1)
        if len(commits) == 3:
            raise KeyboardInterrupt
        commit(*args)

    monkeypatch.setattr(LasvmLearner, "_commit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        machine.finish()
    assert expected.objective_ < machine.objective_ < before
    machine.finish()
    assert outcome(machine, X) == outcome(expected, X)


def test_a_tol_that_rounding_does_not_allow_is_given_up_with_a_warning(monkeypatch):
    monkeypatch.setattr(onkel.learners.lasvm.learner, "STEPS", 1)
    monkeypatch.setattr(onkel.learners.lasvm.learner, "WORK", 1)  # one step at a time
    X, y = data(0, n=300, noise=3.0)
    machine = OnlineSVC(RBF(gamma=0.5), tol=1e-300, C=1e3, **ONCE).partial_fit(X, y)
    with pytest.warns(ConvergenceWarning, match=r"finish stopped before .* within tol=1e-300; .* gap of at most"):
        machine.finish()
    assert np.isfinite(machine.decision_function(X)).all()


def test_a_machine_that_was_copied_can_be_finished_at_once():
    X, y = data(0, n=300, noise=1.5)
    machine = OnlineSVC(RBF(gamma=0.5), **ONCE).partial_fit(X.astype(np.float32), y)
    twin = pickle.loads(pickle.dumps(machine))
    assert outcome(twin.finish(), X) == outcome(machine.finish(), X)
    assert machine.dual_gap_[0] < 0.5
