"""Laws of the Projectron's learner: a part is learned wholly or not at all, whatever exception comes between."""

from __future__ import annotations

import copy
import itertools
import pickle
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from interruptions import stop_at_line
from pairwise import FULL
from reference.online_oracles import SlowProjectron
from streams import learn_in_parts

from onkel._core import _native, aligned_zeros
from onkel.kernels import RBF, Custom, Precomputed, prepare
from onkel.learners.learner import Learner
from onkel.learners.projectron import learner as projecting
from onkel.learners.projectron.learner import NO_LIMIT, ProjectingLearner

either = pytest.mark.parametrize("aggressive", [False, True])
every_kind = pytest.mark.parametrize("kind", ["dense", "float32", "csr", "objects", "gram"])


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(projecting, "SCREENED_FROM", 4)
    monkeypatch.setattr(projecting, "CHUNK", 16)


def rbf_of_bytes(a, b):
    return np.exp(-0.5 * np.sum((np.frombuffer(a) - np.frombuffer(b)) ** 2))


class Stream:
    """Rows, targets and weights of classes that overlap, so that mistakes never end."""

    def __init__(self, kind="dense", n=240, outputs=1, seed=0):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((n, 4))
        label = (X[:, 0] > 0).astype(int) + (outputs > 1) * (X[:, 1] > 0.4)
        label = np.where(rng.random(n) < 0.15, rng.integers(0, max(2, outputs), n), label)
        self.X, self.label = X, label
        self.targets = np.where(label[:, None] == (np.arange(outputs) if outputs > 1 else [1]), 1.0, -1.0)
        self.weights, self.row_ids = rng.choice([0.5, 1.0, 2.0], n), np.arange(n)
        self.kernel = RBF(gamma=0.5)
        if kind == "float32":
            X = X.astype(np.float32)
        elif kind == "csr":
            X = sp.csr_array(np.where(np.abs(X) < 0.5, 0.0, X))
        elif kind == "objects":
            self.kernel = Custom(rbf_of_bytes, pairwise=True, takes="objects", psd=True)
            X = [x.tobytes() for x in X]
        elif kind == "gram":
            self.kernel, X = Precomputed(), RBF(gamma=0.5)(X)
        self.rows = prepare(self.kernel, X, itself=kind == "gram")

    def learner(self, *, eta=0.3, budget=12, aggressive=False, window=1000):
        kernel, outputs = self.kernel, self.targets.shape[1]
        return ProjectingLearner(kernel, outputs, eta=eta, budget=budget, aggressive=aggressive, window=window)

    def chunk(self, learner, start, stop):
        part = slice(start, stop)
        return learn_in_parts(learner, self.rows[part], self.targets[part], self.weights[part], self.row_ids[part])

    def one(self, learner, i):
        learner.learn_one(self.rows[i : i + 1], self.targets[i : i + 1])

    def ones(self, learner, start, stop):
        for i in range(start, stop):
            self.one(learner, i)


# ---------------------------------------------------------------- all or nothing


@pytest.mark.parametrize(
    ("kind", "outputs", "budget"), [("dense", 1, 12), ("dense", 3, None), ("csr", 1, None), ("gram", 1, 12)]
)
@either
def test_a_chunk_that_is_stopped_anywhere_is_learned_up_to_a_whole_part(kind, outputs, budget, aggressive):
    stream = Stream(kind, n=80, outputs=outputs)
    straight = stream.learner(budget=budget, aggressive=aggressive)
    stream.ones(straight, 0, 30)  # steps may be deferred when the chunk comes
    begin, states = straight.state(), {}
    states[30] = begin
    for start in (30, 46, 62):
        stream.chunk(straight, start, min(start + 16, 70))
        states[straight.n_seen] = straight.state()
    step = 1 if FULL or (kind, outputs) == ("dense", 1) else 5  # the others differ in the lines of their rows only
    seen = set()
    for line in itertools.count(0, step):
        learner = ProjectingLearner.from_state(begin)
        if stop_at_line(lambda learner=learner: stream.chunk(learner, 30, 70), line, MemoryError) is None:
            break
        assert learner.state() == states[learner.n_seen]
        seen.add(learner.n_seen)
        if line % 10 == 0 and learner.n_seen < 70:
            stream.chunk(learner, learner.n_seen, 70)
            assert learner.state() == states[70]
    assert learner.state() == states[70]
    assert seen - {70} == {30, 46, 62}  # after the last row there may be no line of the package


@pytest.mark.parametrize(("outputs", "budget"), [(1, 12), (3, None)])
@either
def test_an_example_that_is_stopped_anywhere_is_learned_or_not(outputs, budget, aggressive):
    stream = Stream(n=60, outputs=outputs, seed=3)
    straight, learner = (stream.learner(budget=budget, aggressive=aggressive) for _ in range(2))
    deferred = 0
    for i in range(60):
        before = straight.state()
        stream.one(straight, i)
        after = straight.state()
        deferred += "deferred" in after.arrays
        if i == 30:
            learner = learner.copy()  # whose ledger has no room left
        line = 0 if FULL else -(i % 4)  # the next examples come to the lines between
        while learner.n_seen == i:
            line += 1 if FULL else 4
            kept = learner.alpha  # cached: must not survive an update
            if stop_at_line(lambda learner=learner, i=i: stream.one(learner, i), line - 1, MemoryError) is not None:
                assert learner.state() == (before if learner.n_seen == i else after)
            expected = kept if learner.n_seen == i else straight.copy().alpha
            np.testing.assert_array_equal(learner.alpha, expected)
        assert learner.state() == after
    assert (deferred > 5) == (outputs == 1)


@either
def test_a_rollback_that_is_stopped_has_happened_or_not(aggressive):
    stream = Stream(n=200)
    learner = stream.learner(aggressive=aggressive)
    stream.ones(learner, 0, 60)
    savepoint, before = learner.savepoint(), learner.state()
    stream.chunk(learner, 60, 90)
    stream.ones(learner, 90, 150)
    after, line = learner.state(), 0
    while learner.state() == after:
        line += 1
        if stop_at_line(lambda: learner.rollback(savepoint), line - 1, MemoryError) is not None:
            assert learner.state() in (before, after)
    assert learner.state() == before
    assert line > 3


# ---------------------------------------------------------------- savepoints


@every_kind
@either
def test_after_a_rollback_a_learner_goes_on_as_if_nothing_had_been_learned_since(kind, aggressive):
    stream = Stream(kind)
    straight, learner = (stream.learner(budget=20, aggressive=aggressive, window=30) for _ in range(2))
    begin = learner.savepoint()
    for start in (0, 9, 60):  # without support vectors, while they are added, and while steps are deferred
        savepoint, before = learner.savepoint(), learner.state()
        for _ in range(2):  # a savepoint can be used again
            stream.ones(learner, start + 20, start + 60)
            stream.chunk(learner, start + 60, start + 120)
            learner.rollback(savepoint)
            assert learner.state() == before
        for one in (straight, learner):
            stream.ones(one, start, start + 5)
            stream.chunk(one, start + 5, start + 40)
            stream.ones(one, start + 40, start + 60)
        assert learner.state() == straight.state()
    learner.rollback(begin)
    assert learner.state() == stream.learner(budget=20, aggressive=aggressive, window=30).state()


# ---------------------------------------------------------------- states and copies


@every_kind
@pytest.mark.parametrize("way", ["state", "copy", "deepcopy", "pickle"])
@either
def test_a_copy_is_equal_goes_on_equally_and_shares_nothing(kind, way, aggressive):
    stream = Stream(kind)
    learner = stream.learner(budget=20, aggressive=aggressive, window=30)
    stream.chunk(learner, 0, 50)
    stream.ones(learner, 50, 130)
    before = learner.state()
    twin = {
        "state": lambda one: ProjectingLearner.from_state(one.state()),
        "copy": lambda one: one.copy(),
        "deepcopy": copy.deepcopy,
        "pickle": lambda one: pickle.loads(pickle.dumps(one)),
    }[way](learner)
    assert twin.state() == before
    stream.ones(twin, 130, 180)
    assert learner.state() == before
    stream.ones(learner, 130, 180)
    assert twin.state() == learner.state()
    for one in (twin, learner):
        stream.chunk(one, 180, 240)
    assert twin.state() == learner.state()
    np.testing.assert_array_equal(twin.scores(stream.rows), learner.scores(stream.rows))


def test_a_state_holds_what_is_used_and_no_spare_room():
    stream = Stream()
    learner = stream.learner(budget=5000, eta=0.0)
    stream.chunk(learner, 0, 100)
    small = stream.learner(budget=5000)
    stream.one(small, 0)
    assert sum(array.nbytes for array in small.state().arrays.values()) < 200
    m = len(learner)
    assert m > 20
    assert learner.state().array("L").shape == (m * (m + 1) // 2,)
    assert learner.L.nbytes < 5000 * 5000


@every_kind
def test_a_scorer_shares_nothing_with_its_learner(kind):
    stream = Stream(kind)
    learner = stream.learner()
    assert len(learner.scorer().support) == 0
    stream.chunk(learner, 0, 60)
    scorer = learner.scorer()
    expected = learner.scores(stream.rows)
    np.testing.assert_allclose(scorer.scores(stream.rows), expected, rtol=1e-12)
    fixed = scorer.scores(stream.rows)
    stream.ones(learner, 60, 200)
    np.testing.assert_array_equal(scorer.scores(stream.rows), fixed)
    assert not np.allclose(learner.scores(stream.rows), fixed)


# ---------------------------------------------------------------- what is learned


@pytest.mark.parametrize("chunk", [1, 7, 50, None])
@pytest.mark.parametrize("options", [{"eta": 0.3, "budget": None}, {"eta": 0.1, "budget": 15}], ids=str)
@either
def test_a_learner_is_its_slow_twin(chunk, options, aggressive):
    stream = Stream(outputs=3)
    stream.weights[:] = 1.0
    learner, twin = (
        stream.learner(aggressive=aggressive, **options),
        SlowProjectron(stream.kernel, aggressive=aggressive, **options),
    )
    for x, y in zip(stream.X, stream.targets, strict=True):
        twin.learn(x, y)
    if chunk is None:
        stream.ones(learner, 0, 240)
    else:
        for start in range(0, 240, chunk):
            stream.chunk(learner, start, min(240, start + chunk))
    assert (learner.n_seen, learner.next_row_id) == (240, 240)
    assert learner.n_mistakes == twin.mistakes
    np.testing.assert_array_equal(learner.slot_row_ids[: len(learner)], twin.rows)
    np.testing.assert_allclose(learner.scores(stream.rows), twin.decision(stream.X), atol=1e-8)


def test_a_single_row_gets_the_next_id_on_every_path():
    stream = Stream()
    learner = stream.learner()
    assert isinstance(learner, Learner)
    learner.skip_to(1000)
    outcomes = set()
    for i in range(240):
        updates = learner.n_updates
        learner.learn_one(stream.rows[i : i + 1], stream.targets[i : i + 1])
        assert (learner.n_seen, learner.next_row_id) == (i + 1, 1001 + i)
        if learner.n_updates > updates:
            assert learner.ledger.entries["row"][-1] == 1000 + i
        outcomes.add((learner.n_updates > updates, learner._screen is None))
    assert len(outcomes) >= 3
    learner.learn(stream.rows[:3], stream.targets[:3], np.ones(3), np.array([5, 9000, 7]))
    assert learner.next_row_id == 9001
    learner.skip_to(9000)
    assert learner.next_row_id == 9001
    learner.skip_to(9005)
    assert (learner.next_row_id, learner.n_seen) == (9005, 243)


@either
def test_the_drift_on_a_gram_matrix_is_that_of_its_factor(aggressive):
    stream = Stream("gram")
    learner = stream.learner(aggressive=aggressive, budget=30)
    assert learner.drift() == 0.0
    stream.chunk(learner, 0, 100)
    stream.ones(learner, 100, 200)
    m = len(learner)
    assert m > 10
    K = RBF(gamma=0.5)(stream.X[learner.slot_row_ids[:m]])
    assert learner.drift() == pytest.approx(np.abs(learner.L[:m, :m] @ learner.L[:m, :m].T - K).max(), abs=1e-15)
    assert learner.drift() < 1e-14
    assert learner.copy().drift() == learner.drift()
    learner.L[3, 1] += 0.25
    assert learner.drift() > 0.01


def test_outputs_and_features_of_a_copy_change_alone():
    stream = Stream()
    learner = stream.learner(aggressive=True)
    stream.ones(learner, 0, 100)
    before, scores = learner.state(), learner.scores(stream.rows)
    twin = learner.copy()
    twin.change_outputs(np.array([[-1.0, 1.0, 0.0]]))
    np.testing.assert_allclose(twin.scores(stream.rows), scores * [-1.0, 1.0, 0.0], atol=1e-12)
    wide = learner.copy()
    wide.add_features(6)
    rows = prepare(stream.kernel, np.pad(stream.X, ((0, 0), (0, 2))))
    np.testing.assert_allclose(wide.scores(rows), scores, atol=1e-12)
    for one, x in ((twin, stream.rows), (wide, rows)):
        targets = np.repeat(stream.targets, one.n_outputs, axis=1)
        one.learn_one(x[:1], targets[:1])
        one.learn(x[1:60], targets[1:60], np.ones(59), np.arange(59))
        assert one.n_seen == 160
    assert learner.state() == before


# ---------------------------------------------------------------- the border of the core


def arguments(function):
    """Arguments that fit: 3 examples, 2 outputs (1 for the screening), 4 support vectors, room for 8."""
    record, L = _native.ProjectronRecord(), np.eye(8)
    record.size = 4
    settings = {"eta": 0.1, "budget": NO_LIMIT, "aggressive": True, "kol": False}
    if function == "project_pass":
        chunk = {"K": np.ones((3, 8)), "K_chunk": np.ones((3, 3)), "Z": np.ones((3, 8)), "known": 4, "L": L}
        given = {"beta": np.ones((2, 8)), "record": record, "y": np.ones((3, 2)), "w": np.ones(3)}
        found = {"row_ids": np.arange(3), "F": np.ones((3, 2)), "added": np.arange(3)}
        ledger = {"entries": np.zeros((6, 4), dtype=np.int64), "n_entries": np.zeros(1, dtype=np.int64)}
        return settings | chunk | given | found | ledger
    if function == "screen":
        one = {"K": np.ones((1, 4)), "F": np.ones((1, 1)), "steps": np.ones((1, 1)), "record": record}
        inverse = {"L_inv": aligned_zeros((256,), np.float32), "norm": 1.0}
        ledger = {"entries": np.zeros((9, 4), dtype=np.int64), "n_entries": np.zeros(1, dtype=np.int64)}
        return settings | one | inverse | ledger | {"beta": np.ones((1, 8)), "deferred": np.zeros((2, 8))}
    if function == "exact":
        return {"K": np.ones((1, 4)), "A": np.ones((2, 4)), "record": record}
    return {
        "project_rows": {"L": L, "size": 4, "K": np.ones((3, 8)), "Z": np.ones((3, 8)), "threads": 1},
        "coefficients": {"L": L, "beta": np.ones((2, 8)), "A": np.ones((2, 4))},
        "apply_deferred": {"L": L, "size": 4, "deferred": np.zeros((2, 8)), "beta": np.ones((1, 8))},
        "invert_rows": {
            "L": L,
            "first": 0,
            "last": 4,
            "L_inv": aligned_zeros((256,), np.float32),
            "sq_norm": 0.0,
            "sq_norm_of_L": 0.0,
        },
    }[function]


def with_size(size):
    record = _native.ProjectronRecord()
    record.size = size
    return record


WRONG = {
    "project_rows": {
        "L": [np.ones((7, 8)), np.ones((3, 3))],
        "size": [9, -1],
        "K": [np.ones((3, 3)), np.ones((2, 8))],
        "Z": [np.ones((2, 8)), np.ones((3, 7))],
        "threads": [0],
    },
    "exact": {"K": [np.ones((1, 3)), np.ones((0, 4))]},
    "project_pass": {
        "K": [np.ones((3, 6)), np.ones((2, 8))],
        "K_chunk": [np.ones((3, 1)), np.ones((2, 3))],
        "Z": [np.ones((2, 8)), np.ones((3, 7))],
        "known": [5, -1],
        "L": [np.ones((7, 8)), np.eye(7), np.eye(9)],
        "beta": [np.ones((2, 7)), np.ones((1, 8))],
        "record": [with_size(6), with_size(9), with_size(-1)],
        "y": [np.ones((2, 2)), np.ones((3, 1))],
        "w": [np.ones(2)],
        "row_ids": [np.arange(2)],
        "entries": [np.zeros((5, 4), dtype=np.int64), np.zeros((6, 3), dtype=np.int64)],
        "n_entries": [np.zeros(2, dtype=np.int64), np.array([-1]), np.array([1]), np.array([2**63 - 1])],
        "F": [np.ones((2, 2)), np.ones((3, 1))],
        "added": [np.arange(2)],
    },
    "screen": {
        "K": [np.ones((1, 3)), np.ones((0, 4))],
        "F": [np.ones((1, 2)), np.ones((0, 1))],
        "steps": [np.ones((1, 2)), np.ones((0, 1))],
        "record": [with_size(5), with_size(-1)],
        "L_inv": [np.zeros(255, dtype=np.float32)],
        "entries": [np.zeros((9, 3), dtype=np.int64)],
        "n_entries": [np.zeros(0, dtype=np.int64), np.array([-1])],
        "beta": [np.ones((1, 7)), np.ones((2, 8))],
        "deferred": [np.zeros((1, 8)), np.zeros((2, 7))],
    },
    "coefficients": {"L": [np.ones((7, 8)), np.eye(7)], "beta": [np.ones((1, 8))], "A": [np.ones((2, 9))]},
    "apply_deferred": {
        "L": [np.ones((7, 8)), np.eye(7)],
        "size": [9, -1],
        "deferred": [np.zeros((1, 8)), np.zeros((2, 7))],
        "beta": [np.ones((2, 8)), np.ones((1, 7))],
    },
    "invert_rows": {"L": [np.ones((7, 8)), np.eye(3)], "first": [5, -1], "last": [9], "L_inv": [np.zeros(9, "f4")]},
}


@pytest.mark.parametrize("function", WRONG)
def test_the_core_refuses_sizes_that_do_not_fit(function):
    call = getattr(_native, function)
    call(**arguments(function))
    for name, values in WRONG[function].items():
        for value in values:
            with pytest.raises(ValueError, match=f"^{function}: .* must"):
                call(**arguments(function) | {name: value})


def test_exact_decisions_refuse_targets_that_do_not_fit():
    given = arguments("exact")
    exact = _native.exact(**given)
    with pytest.raises(ValueError, match=r"y must have shape \(1, 2\); got \(1, 1\)"):
        exact.all_right(np.ones((1, 1)))
    given["record"].size = 3
    with pytest.raises(ValueError, match="must not have changed"):
        exact.all_right(np.ones((1, 2)))


def test_a_screen_refuses_targets_and_values_that_do_not_fit():
    given = arguments("screen")
    screen = _native.screen(**given)
    for way in (screen.by_projection, screen.by_coefficients):
        with pytest.raises(ValueError, match=r"y must have shape \(1, 1\); got \(1, 2\)"):
            way(1.0, np.ones((1, 2)))
    with pytest.raises(ValueError, match="K must have at least shape"):
        screen.score(np.ones((1, 3)), 1.0)
    given["record"].size = 3
    with pytest.raises(ValueError, match="must not have changed"):
        screen.by_projection(1.0, np.ones((1, 1)))
    without = _native.screen(**arguments("screen") | {"deferred": None})
    with pytest.raises(ValueError, match="deferred must be given"):
        without.by_coefficients(1.0, np.ones((1, 1)))
    with pytest.raises(ValueError, match="deferred must be given"):
        without.score(np.ones((1, 4)), 1.0)


def test_a_screen_keeps_its_record_alive():
    given = arguments("screen")
    screen = _native.screen(**given)
    held = sys.getrefcount(given["record"])
    del screen
    free = sys.getrefcount(given["record"])
    assert free == held - 1
