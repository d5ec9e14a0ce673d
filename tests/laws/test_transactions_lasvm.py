"""LASVM learns a part wholly or not at all, and a copy of it, however made, goes on bit for bit."""

from __future__ import annotations

import copy
import pickle
import sys

import numpy as np
import pytest
from pairwise import FULL
from reference.lasvm_oracles import SlowLasvm
from strategies import as_csr
from streams import learn_in_parts

import onkel.learners.lasvm.learner
from onkel.kernels import RBF, Custom, Linear, Precomputed, prepare
from onkel.learners.lasvm.learner import LasvmLearner
from onkel.learners.learner import Learner

KINDS = ["dense", "float32", "sparse", "wide", "gram", "objects"]
N, OUTPUTS = 70, 3


def stream(kind, n=N):
    """Rows of a kind with their kernel, targets of three outputs, weights and row ids."""
    rng = np.random.default_rng(5)
    X = np.round(rng.standard_normal((n, 3)), 1)
    targets = np.where(X @ rng.standard_normal((3, OUTPUTS)) + rng.standard_normal((n, OUTPUTS)) > 0, 1.0, -1.0)
    kernel = RBF(gamma=0.5)
    if kind == "gram":
        kernel, X = Precomputed(), kernel(X)
    if kind == "objects":
        kernel = Custom(lambda A, B: RBF(gamma=0.5)(np.array(list(A)), np.array(list(B))), psd=True, takes="objects")
        X = [tuple(x) for x in X]
    if kind == "float32":
        X = X.astype(np.float32)
    rows = prepare(kernel, as_csr(X) if kind in ("sparse", "wide") else X, itself=kind == "gram")
    return kernel, rows, targets, rng.choice([0.5, 1.0, 3.0], n), np.arange(n)


@pytest.fixture(params=KINDS)
def kind(request, monkeypatch):
    monkeypatch.setattr(onkel.learners.lasvm.learner, "CHUNK", 4)
    if request.param == "wide":
        monkeypatch.setattr("onkel.learners.storage.slots.DENSE_FEATURES", 2)
    return request.param


def learner_of(kernel, cache_bytes=2000, window=40):
    return LasvmLearner(kernel, OUTPUTS, C=0.7, tol=1e-3, cache_bytes=cache_bytes, window=window)


def learned(data, upto, **options):
    """A learner after the first examples of a stream."""
    learner = learner_of(data[0], **options)
    feed(learner, data, 0, upto)
    return learner


def feed(learner, data, start, stop, single=False):
    _, rows, targets, weights, row_ids = data
    if single:
        for i in range(start, stop):
            learner.learn(rows[i : i + 1], targets[i : i + 1], weights[i : i + 1], row_ids[i : i + 1])
    elif start < stop:
        part = slice(start, stop)
        learn_in_parts(learner, rows[part], targets[part], weights[part], row_ids[part])


class BombError(Exception):
    """What the trace function raises."""


def traced(call, at_line):
    """Calls at_line(code, line number) before each line of onkel that the call runs."""

    def trace(frame, event, arg):
        if "onkel" not in frame.f_code.co_filename or "tests" in frame.f_code.co_filename:
            return None
        if event == "line":
            at_line(frame.f_code, frame.f_lineno)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)


def explosions(make, call, every=1):
    """Yields make() after call(made) was interrupted, at the first, second and last run of each of its lines."""
    runs, made = [], make()
    traced(lambda: call(made), lambda code, line: runs.append((code, line)))
    places = {}
    for n, run in enumerate(runs):
        places.setdefault(run, []).append(n)
    for n in sorted({n for found in places.values() for n in (*found[:2], found[-1])})[::every]:
        made, left = make(), [n]

        def explode(code, line, left=left):
            left[0] -= 1
            if left[0] < 0:
                raise BombError

        with pytest.raises(BombError):
            traced(lambda made=made: call(made), explode)
        yield made


# ---------------------------------------------------------------- all or nothing


def test_the_learner_meets_its_contract():
    assert isinstance(learner_of(Linear()), Learner)


def test_an_exception_at_any_line_of_learn_leaves_whole_parts(kind):
    data = stream(kind)
    begun, stop = learned(data, 40, cache_bytes=1 << 14), 46
    twin, expected = begun.copy(), {}
    for n in range(40, stop + 1):
        expected[n] = twin.state()
        feed(twin, data, n, n + 1)
    every = 1 if FULL else 2 if kind == "dense" else 10  # the others differ in the lines of their rows only
    count, seen = 0, set()
    for learner in explosions(begun.copy, lambda learner: feed(learner, data, 40, stop), every):
        seen.add(learner.n_seen)
        count += every
        assert learner.state() == expected[learner.n_seen]
        feed(learner, data, learner.n_seen, stop)
        assert learner.state() == expected[stop]
    assert {40, 44} <= seen <= {40, 44, stop}
    assert count > 300


@pytest.mark.parametrize("warm", [True, False])
def test_an_exception_at_any_line_of_learn_one_leaves_all_or_nothing(warm):
    data = stream("dense")
    _, rows, targets, _, _ = data
    begun = learned(data, 41, cache_bytes=1 << 20)

    def begin():
        learner = begun.copy()  # without kernel rows
        if warm:
            learner = learned(data, 41, cache_bytes=1 << 20)
        return learner

    def more(learner):
        learner.learn_one(rows[41:42], targets[41:42])

    before, after = begin(), begin()
    more(after)
    for learner in explosions(begin, more):
        assert learner.state() == (before if learner.n_seen == 41 else after).state()
        if learner.n_seen == 41:
            more(learner)
        assert learner.state() == after.state()


def test_an_exception_at_any_line_of_finish_keeps_steps_and_it_goes_on(monkeypatch):
    monkeypatch.setattr(onkel.learners.lasvm.learner, "WORK", 2000)  # a few steps a call
    monkeypatch.setattr(onkel.learners.lasvm.learner, "CALLS", 3)
    data = stream("dense")
    kernel, rows, *_ = data
    begun = learned(data, N, cache_bytes=1 << 20)
    finished = begun.copy()
    assert finished.finish()
    assert (finished.gap() < 0.1).all()
    objectives = set()
    for learner in explosions(begun.copy, LasvmLearner.finish, 1 if FULL else 3):
        kept = learner.solution.kept()
        assert learner.n_seen == N
        gradient = kept.sign - kept.alpha @ kernel(rows.dense()[kept.row_ids])
        np.testing.assert_allclose(kept.gradient[kept.sign != 0], gradient[kept.sign != 0], atol=1e-12)
        assert (learner.objective() <= begun.objective() + 1e-12).all()
        objectives.add(learner.objective().tobytes())
        learner.finish()
        assert learner.state() == finished.state()
    assert len(objectives) >= 4


def test_a_kernel_that_fails_now_and_then_changes_nothing_but_the_time(monkeypatch):
    rng, failed = np.random.default_rng(0), []

    def values(A, B):
        if rng.random() < 0.02:
            failed.append(1)
            raise ZeroDivisionError
        return RBF(gamma=0.5)(A, B)

    monkeypatch.setattr(onkel.learners.lasvm.learner, "CHUNK", 4)
    data = stream("dense")
    expected = learned(data, N)
    _, rows, targets, weights, row_ids = data
    learner = learner_of(Custom(values, psd=True), cache_bytes=600)
    while learner.n_seen < N:
        n = learner.n_seen
        try:
            learn_in_parts(learner, rows[n:], targets[n:], weights[n:], row_ids[n:])
        except ZeroDivisionError:
            continue
    assert len(failed) > 5
    assert {k: a.tobytes() for k, a in learner.state().arrays.items()} == {
        k: a.tobytes() for k, a in expected.state().arrays.items()
    }


# ---------------------------------------------------------------- parts, caches and twins


@pytest.mark.parametrize(("chunk", "cache", "work"), [(1, 0, 1 << 25), (16, 1 << 20, 1), (64, 3000, 200)])
def test_neither_parts_nor_cache_nor_the_length_of_native_calls_matter(chunk, cache, work, monkeypatch):
    data = stream("dense", n=200)
    expected = learned(data, 200, cache_bytes=1 << 20)
    expected.finish()
    monkeypatch.setattr(onkel.learners.lasvm.learner, "CHUNK", chunk)
    monkeypatch.setattr(onkel.learners.lasvm.learner, "WORK", work)
    learner = learned(data, 200, cache_bytes=cache)
    learner.finish()
    assert dict(learner.state().settings) | {"cache_bytes": 1 << 20} == dict(expected.state().settings)
    for name, array in expected.state().arrays.items():
        assert learner.state().arrays[name].tobytes() == array.tobytes(), name


def test_a_part_is_shorter_if_it_would_last_long(monkeypatch):
    data = stream("dense", n=200)
    learner = learned(data, 200, cache_bytes=1 << 20)
    assert learner.part_size(data[1], 150) == 150
    monkeypatch.setattr(onkel.learners.lasvm.learner, "WORK", 1000)
    assert learner.part_size(data[1], 150) == 16
    assert learner.part_size(data[1], 5) == 5


def test_it_is_the_slow_twin():
    kernel, rows, targets, weights, row_ids = stream("dense")
    slow, learner = SlowLasvm(lambda A, B: kernel(A, B), C=0.7), learner_of(kernel)
    F = learn_in_parts(learner, rows, targets, weights, row_ids)
    expected = np.array([slow.learn(x, y, w) for x, y, w in zip(rows.dense(), targets, weights, strict=True)])
    np.testing.assert_allclose(F, expected, atol=1e-9)
    found = learner.scorer()
    assert found.row_ids.tolist() == slow.rows
    np.testing.assert_allclose(found.coef, slow.coef, atol=1e-9)
    assert (learner.n_seen, learner.n_mistakes, learner.n_updates, learner.next_row_id) == (
        N,
        slow.mistakes,
        slow.updates,
        N,
    )


# ---------------------------------------------------------------- copies


WAYS = {
    "copy": lambda learner: learner.copy(),
    "deepcopy": copy.deepcopy,
    "state": lambda learner: LasvmLearner.from_state(learner.state()),
    "pickle": lambda learner: pickle.loads(pickle.dumps(learner)),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_goes_on_alike_and_by_itself(kind, way):
    if kind == "objects" and way == "pickle":
        pytest.skip("a kernel that is a lambda cannot be pickled")
    data = stream(kind)
    learner = learned(data, 45)
    before, twin = learner.state(), WAYS[way](learner)
    assert twin.state() == before
    np.testing.assert_array_equal(twin.scores(data[1]), learner.scores(data[1]))
    feed(learner, data, 45, N)
    learner.finish()
    assert twin.state() == before
    feed(twin, data, 45, N, single=True)
    twin.finish()
    assert twin.state() == learner.state()
    assert twin.scorer() == learner.scorer()


def test_a_row_of_an_earlier_epoch_is_met_again_by_a_copy():
    data = stream("dense")
    learner = learned(data, N)
    twin = LasvmLearner.from_state(learner.state())
    for each in (learner, twin):
        feed(each, data, 0, N)
    assert twin.state() == learner.state()
    assert (learner.n_seen, learner.next_row_id) == (2 * N, N)


def test_a_rollback_undoes_all_changes_and_can_be_repeated(kind):
    data = stream(kind)
    learner = learned(data, 30)
    before, point = learner.state(), learner.savepoint()
    for _ in range(2):
        feed(learner, data, 30, N)
        learner.finish()
        after = learner.state()
        learner.rollback(point)
        assert learner.state() == before
    feed(learner, data, 30, N)
    learner.finish()
    assert learner.state() == after


def test_an_exception_at_any_line_of_rollback_leaves_one_of_two_states():
    data = stream("dense")
    before, after = learned(data, 30).state(), learned(data, 40).state()

    def begin():
        learner = learned(data, 30)
        point = learner.savepoint()
        feed(learner, data, 30, 40)
        return learner, point

    for learner, _ in explosions(begin, lambda made: made[0].rollback(made[1])):
        assert learner.state() in (before, after)


@pytest.mark.parametrize("cap", [1000, 20])
def test_a_state_holds_only_what_is_used(cap):
    learner = learner_of(RBF(gamma=0.5), cache_bytes=1 << 24)
    X = np.repeat([[-9.0, 0.0], [9.0, 0.0]], cap, axis=0)
    rows = prepare(learner.kernel, X + 0.01 * np.arange(2 * cap)[:, None])
    y = np.where(np.arange(2 * cap) < cap, -1.0, 1.0)
    learn_in_parts(learner, rows, np.tile(y[:, None], OUTPUTS), np.ones(2 * cap), np.arange(2 * cap))
    state = learner.state()
    kept = len(learner)
    bytes_each = sum(array.nbytes for name, array in state.arrays.items() if not name.startswith("ledger")) / kept
    assert bytes_each < 8 * (4 + 2 * OUTPUTS) + OUTPUTS + 2 * 8 + 24
    assert not any(array.flags.writeable for array in state.arrays.values())


def test_changed_outputs_are_copies_mirrors_and_new_ones():
    data = stream("dense")
    _, rows, targets, weights, row_ids = data
    learner = learned(data, 40)
    f = learner.scores(rows)
    learner.change_outputs(np.array([[1.0, -1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 0.0, 0.0]]))
    np.testing.assert_array_equal(learner.scores(rows), np.stack([f[:, 0], -f[:, 0], 0 * f[:, 0], f[:, 1]], axis=1))
    kept = learner.solution.kept()  # what only the third output kept is gone
    assert kept.sign.any(axis=0).all()
    np.testing.assert_array_equal(learner.solution.slots["n_keepers"][kept.slots], (kept.sign != 0).sum(axis=0))
    four = np.stack([targets[:, 0], -targets[:, 0], targets[:, 2], targets[:, 1]], axis=1)
    F = learn_in_parts(learner, rows[40:], four[40:], weights[40:], row_ids[40:])
    np.testing.assert_array_equal(F[:, 0], -F[:, 1])
