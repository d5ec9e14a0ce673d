"""Laws of screening in float32: a decision that needs no projection is never wrong, and deferred steps lose nothing."""

from __future__ import annotations

import itertools
import pickle
from collections import Counter

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pairwise import name_of, pairwise
from reference.online_oracles import SlowProjectron, assert_alike, feed, scores_of
from strategies import seeds

from onkel import Projectron
from onkel._core import _native, aligned, simd, simd_targets
from onkel.kernels import RBF, Custom, Linear, Polynomial, prepare
from onkel.learners.ledger import LEDGER
from onkel.learners.projectron import learner as projecting
from onkel.learners.projectron.learner import NO_LIMIT, ProjectingLearner
from onkel.learners.projectron.screening import DEFERRED, NO_UPDATE, UNDECIDED, Inverse

UNIT = 2.0**-24  # of rounding in single precision
every_target = pytest.mark.parametrize("target", simd_targets())
every_dtype = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def support_of(rng, m, gamma=0.5, d=5):
    """L and M of m points, and a new point's k and k(x, x)."""
    points = rng.standard_normal((m + 1, d))
    K = RBF(gamma=gamma)(points)
    room = 8 * (m // 8 + 1)  # for one more
    L = aligned(np.zeros((room, room)))
    L[:m, :m] = np.linalg.cholesky(K[:m, :m])
    inverse = Inverse()
    inverse.follow(L, m)
    return L, inverse, K[:m, m], 1.0


def doubt_of(inverse, k):
    """How far an estimate may be from what it stands for."""
    m = len(k)
    return inverse.norm * (16 + m // 16 + 8) * UNIT * np.linalg.norm(k)


def record_of(size, beta_error=0.0, alpha_error=0.0):
    """The numbers of a learner that has seen nothing, with errors that deferred steps may have left."""
    record = _native.ProjectronRecord()
    record.size, record.beta_error, record.alpha_error, record.next_row_id = size, beta_error, alpha_error, 7
    return record


def screened(settings, L, inverse, k, kxx, B, y, dtype=np.float64, deferred=None, record=None, by="projection"):
    """The verdict, the scores, the steps and the record; the ledger and the record agree on them."""
    room, c = len(L), len(B)
    K, all_B = np.zeros((1, room), dtype=dtype), np.zeros((c, room))
    K[0, : len(k)], all_B[:, : len(k)] = k, B
    F, steps, record = np.empty((1, c)), np.empty((1, c)), record or record_of(len(k))
    entries, count, seen = np.zeros((1, 4), dtype=np.int64), np.zeros(1, dtype=np.int64), record.n_seen
    # fmt: off
    screen = _native.screen(
        *settings, K, inverse.L_inv, inverse.norm, all_B, deferred, F, steps, record, entries, count
    )
    # fmt: on
    outcome = getattr(screen, f"by_{by}")(kxx, np.asarray(y, dtype=float).reshape(1, c))
    assert record.n_seen == seen + (outcome != UNDECIDED)
    assert record.next_row_id == 7 + record.n_seen
    assert count[0] == (outcome == DEFERRED)
    if outcome == DEFERRED:
        assert entries.view(LEDGER)[0].tolist() == [(record.n_seen, record.next_row_id - 1, 0, steps[0, 0])]
    return outcome, F[0], steps[0], record


def projected(settings, L, k, kxx, B, y, dtype=np.float64):
    """What the pass on exact numbers does with the example: its steps, and whether it is added."""
    room, c, m = len(L), len(B), len(k)
    K, all_B = np.zeros((1, room), dtype=dtype), np.zeros((c, room))
    K[0, :m], all_B[:, :m] = k, B
    F, added = np.empty((1, c)), np.zeros(1, dtype=np.int64)
    entries, n_entries = np.empty((c, 4), dtype=np.int64), np.zeros(1, dtype=np.int64)
    # fmt: off
    _native.project_pass(
        *settings, K, np.array([[kxx]], dtype=dtype), np.empty((1, room)), 0, L.copy(), all_B, record_of(m),
        np.asarray(y, dtype=float).reshape(1, c), np.ones(1), np.zeros(1, dtype=np.int64),
        entries, n_entries, F, added,
    )
    # fmt: on
    steps, made = np.zeros(c), entries.view(LEDGER)[: n_entries[0], 0]
    steps[made["class"]] = made["step"]
    return F[0], steps, bool(added[0])


# ---------------------------------------------------------------- the estimate


@every_target
@every_dtype
@pytest.mark.parametrize("m", [1, 2, 31, 32, 33, 63, 64, 65, 100, 300])
def test_an_estimate_is_as_near_as_it_says(target, dtype, m):
    # with the unit vectors for outputs, which look at nothing, the scores are the components of z
    rng = np.random.default_rng(m)
    L, inverse, k, kxx = support_of(rng, m)
    k = k.astype(dtype).astype(float)
    with simd(target):
        outcome, z, _, _ = screened((0.1, NO_LIMIT, True, False), L, inverse, k, kxx, np.eye(m), np.full(m, np.nan))
    exact = np.linalg.solve(L[:m, :m], k)
    M = np.linalg.inv(L[:m, :m])
    assert outcome == NO_UPDATE
    assert inverse.norm == pytest.approx(np.linalg.norm(M), rel=1e-9)
    doubt = doubt_of(inverse, k)
    assert np.linalg.norm(z - exact) <= 0.5 * doubt
    assert np.linalg.norm(z - exact) >= 1e-4 * doubt or m <= 2  # it is a bound, and not a vague one


@given(seeds, st.integers(2, 90), st.integers(1, 89))
@settings(max_examples=30)
def test_an_inverse_that_follows_row_by_row_is_the_one_made_at_once(seed, m, first):
    L, whole, _, _ = support_of(np.random.default_rng(seed), m, gamma=2.0)
    parts, first = Inverse(), min(first, m - 1)
    parts.follow(np.ascontiguousarray(L[:first, :first]), first)  # which then gets more room
    for size in (first + 1, m):
        if size > parts.size:
            parts.follow(L, size)
    np.testing.assert_array_equal(parts.L_inv, whole.L_inv)
    assert (parts.sq_norm, parts.sq_norm_of_L) == (whole.sq_norm, whole.sq_norm_of_L)


# ---------------------------------------------------------------- verdicts

etas = st.sampled_from([0.0, 0.1, 0.6, 1.0])
budgets = st.sampled_from([None, "full", "room"])
# Margins, as multiples of what divides one decision from another, and how far from it.
near = st.sampled_from([0.0, 1e-12, 1e-8, -1e-8, 1e-6, -1e-6, 1e-4, -1e-4, 1e-2, -1e-2, 0.3, -0.3])


def assert_taken(outcome, steps, taken, record):
    """The steps are those of the projection, and deferred if there are any; they are counted."""
    np.testing.assert_array_equal(steps, taken)
    assert (outcome == DEFERRED) == bool(taken.any())
    assert record.n_mistakes == record.n_updates == np.count_nonzero(taken)


@every_target
@every_dtype
@given(seeds, st.integers(1, 70), st.integers(1, 3), etas, budgets, st.sampled_from(["wrong", "step", 1]), near)
@settings(max_examples=80, deadline=None)
def test_a_verdict_is_never_wrong(target, dtype, seed, m, c, eta, budget, what, off):
    rng = np.random.default_rng(seed)
    L, inverse, k, kxx = support_of(rng, m, gamma=rng.choice([0.03, 0.1, 0.5]))
    k = k.astype(dtype).astype(float)
    if not inverse.is_usable:
        return
    settings = (eta, {None: NO_LIMIT, "full": m, "room": m + 5}[budget], True, budget is not None)
    y = rng.choice([-1.0, 1.0, np.nan] if c > 1 else [-1.0, 1.0], c)
    z = np.linalg.solve(L[:m, :m], k)
    B = rng.standard_normal((c, m))
    goal = 1.0 if what == 1 else 0.0
    if (
        what == "step"
    ):  # the margin above which none is made: twice the loss, less the gain, is 2 U δ; or the loss δ²/η²
        inside = z @ z
        delta, n = np.sqrt(max(0.0, kxx - inside)), settings[1] + 1
        U = 0.25 * np.sqrt(n / np.log(n))
        loss = (
            (2 * U * delta if 2 * U * delta < inside else U * delta + inside / 2)
            if budget
            else (delta / (eta or 1)) ** 2
        )
        goal = 1 - loss
    B[0] += (np.nan_to_num(y[0], nan=1.0) * (goal + off) - B[0] @ z) / (z @ z) * z  # the margin is goal + off
    deferred = np.zeros((2, len(L))) if c == 1 else None
    if deferred is not None:
        deferred[1, :m] = B[0]
    with simd(target):
        outcome, F, steps, record = screened(settings, L, inverse, k, kxx, B, y, dtype, deferred)
        exact, taken, added = projected(settings, L, k, kxx, B, y, dtype)
    if outcome == UNDECIDED:
        return
    np.testing.assert_allclose(F, exact, atol=1e-3 * (1 + np.abs(B).max()))
    assert not added
    assert_taken(outcome, steps, taken, record)
    if outcome == DEFERRED:
        np.testing.assert_array_equal(deferred[0, :m], steps[0] * k)
        assert record.beta_error == pytest.approx(doubt_of(inverse, k), rel=1e-5)
        assert np.linalg.norm(deferred[1, :m] - (B[0] + steps[0] * z)) <= record.beta_error


@every_target
@given(seeds, st.integers(2, 70), st.sampled_from([-1.0, 1.0]), st.sampled_from([(0.8, False), (1.3, True)]))
@settings(max_examples=30)
def test_scores_within_the_doubt_of_zero_are_in_doubt(target, seed, m, sign, share):
    rng = np.random.default_rng(seed)
    L, inverse, k, kxx = support_of(rng, m)
    z = np.linalg.solve(L[:m, :m], k)
    across = rng.standard_normal(m)
    across -= across @ z / (z @ z) * z
    across /= np.linalg.norm(across)
    deferred, (part, clear) = np.zeros((2, len(L))), share
    deferred[1, :m] = across + part * doubt_of(inverse, k) * sign / (z @ z) * z  # of length 1, but for very little
    with simd(target):
        full = (0.1, m, False, True)
        outcome, *_ = screened(full, L, inverse, k, kxx, deferred[1:, :m], [1.0], deferred=deferred)
    assert outcome == (UNDECIDED if not clear else NO_UPDATE if sign > 0 else DEFERRED)


@every_target
@given(seeds, st.integers(1, 70), st.floats(-1e3, 1e3).filter(lambda v: abs(v) > 1e-6))
@settings(max_examples=30)
def test_what_is_behind_counts_as_doubt(target, seed, m, margin):
    L, inverse, k, kxx = support_of(np.random.default_rng(seed), m)
    z = np.linalg.solve(L[:m, :m], k)
    B = (margin / (z @ z) * z)[None, :]
    deferred = np.zeros((2, len(L)))
    deferred[1, :m] = B[0]
    full = (0.1, m, False, True)
    for error_bound, clear in ((0.0, True), (0.5, True), (2.0, False)):  # B may be off by so much of what it would take
        distance = error_bound * abs(margin) / np.linalg.norm(z)
        with simd(target):
            outcome, *_ = screened(
                full, L, inverse, k, kxx, B, [1.0], deferred=deferred.copy(), record=record_of(m, distance)
            )
        assert (outcome != UNDECIDED) == clear
        assert not clear or outcome == (NO_UPDATE if margin > 0 else DEFERRED)


# ---------------------------------------------------------------- verdicts by the coefficients


def on_the_margin(rng, L, k, margin):
    """Coefficients of a machine that scores `margin` on k, and its B."""
    m = len(k)
    alpha = rng.standard_normal(m)
    alpha += (margin - alpha @ k) / (k @ k) * k
    return alpha, L[:m, :m].T @ alpha


@every_target
@every_dtype
@given(seeds, st.integers(2, 90), etas, budgets, st.sampled_from([-1.0, 1.0]), near)
@settings(max_examples=80, deadline=None)
def test_a_verdict_by_the_coefficients_is_never_wrong(target, dtype, seed, m, eta, budget, y, margin):
    rng = np.random.default_rng(seed)
    L, inverse, k, kxx = support_of(rng, m, gamma=rng.choice([0.1, 0.5]))
    k = k.astype(dtype).astype(float)
    if not inverse.is_usable_for_alpha:
        return
    settings = (eta, {None: NO_LIMIT, "full": m, "room": m + 5}[budget], False, budget is not None)
    alpha, B = on_the_margin(rng, L, k, y * margin)
    deferred = np.zeros((2, len(L)))
    deferred[1, :m] = alpha
    with simd(target):
        found = screened(settings, L, inverse, k, kxx, B[None], [y], dtype, deferred, by="coefficients")
        exact, taken, added = projected(settings, L, k, kxx, B[None], [y], dtype)
    outcome, F, steps, record = found
    assert abs(margin) < 1e-6 or outcome != UNDECIDED or budget != "full"  # there is no doubt without a reason
    if outcome == UNDECIDED:
        np.testing.assert_array_equal(deferred, [0 * deferred[0], np.pad(alpha, (0, len(L) - m))])
        assert record.n_mistakes == record.n_updates == record.n_seen == 0
        return
    np.testing.assert_allclose(F, exact, atol=1e-9)
    assert not added
    assert_taken(outcome, steps, taken, record)
    if outcome == DEFERRED:
        np.testing.assert_array_equal(deferred[0, :m], steps[0] * k)
        assert record.beta_error == pytest.approx(doubt_of(inverse, k), rel=1e-5)
        length = np.linalg.norm(np.linalg.solve(L[:m, :m], k))
        assert record.alpha_error == pytest.approx((m // 4 + 16) * UNIT * inverse.norm * length, rel=1e-3)


@every_target
@given(seeds, st.sampled_from([2, 31, 33, 64, 100, 300]), st.integers(1, 20))
@settings(max_examples=20, deadline=None)
def test_scores_by_coefficients_are_as_near_as_they_say(target, seed, m, count):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((m + count + 20, 8))
    K = RBF(gamma=0.2)(points)
    L = aligned(np.linalg.cholesky(K[:m, :m]))
    inverse = Inverse()
    inverse.follow(L, m)
    assert inverse.is_usable_for_alpha
    deferred, record, alpha = np.zeros((2, m)), record_of(m), np.zeros(m)
    for i in range(m, m + count):  # every one of them a mistake
        deferred[1] -= 100 * K[:m, i] / (K[:m, i] @ K[:m, i])
        alpha = alpha - 100 * K[:m, i] / (K[:m, i] @ K[:m, i]) + np.linalg.solve(K[:m, :m], K[:m, i])
        with simd(target):
            full = (0.1, m, False, True)
            outcome, *_ = screened(
                full,
                L,
                inverse,
                K[:m, i],
                1.0,
                np.zeros((1, m)),
                [1.0],
                deferred=deferred,
                record=record,
                by="coefficients",
            )
        assert outcome == DEFERRED
    k = K[:m, m + count :]
    off = np.abs(deferred[1] @ k - alpha @ k)
    bound = 2 * record.beta_error + record.alpha_error * np.linalg.norm(k, axis=0)
    assert (off <= 0.5 * bound).all()
    assert off.max() >= 1e-6 * bound.max()  # it is a bound, and not a vague one


@every_target
@given(seeds, st.integers(2, 70), st.sampled_from([-1.0, 1.0]), st.integers(0, 1), st.sampled_from([0.9, 1.1]))
@settings(max_examples=40)
def test_what_is_behind_counts_as_doubt_of_the_coefficients(target, seed, m, sign, which, share):
    rng = np.random.default_rng(seed)
    L, inverse, k, kxx = support_of(rng, m)
    kxx *= 4.0
    alpha, B = on_the_margin(rng, L, k, sign * 0.5)
    errors = [0.0, 0.0]  # by which the score may be off by 0.5 / share
    errors[which] = 0.5 / share / (2 * np.sqrt(kxx) if which == 0 else np.linalg.norm(k))
    deferred = np.zeros((2, len(L)))
    deferred[1, :m] = alpha
    with simd(target):
        full = (0.1, m, False, True)
        record = record_of(m, *errors)
        outcome, *_ = screened(
            full, L, inverse, k, kxx, B[None], [1.0], deferred=deferred, record=record, by="coefficients"
        )
    assert outcome == (UNDECIDED if share < 1 else NO_UPDATE if sign > 0 else DEFERRED)


@pytest.mark.parametrize("by", ["coefficients", "projection"])
@given(seeds, st.integers(2, 70))
@settings(max_examples=60)
def test_distances_within_the_doubt_of_eta_are_in_doubt(by, seed, m):
    rng = np.random.default_rng(seed)
    L, inverse, k, kxx = support_of(rng, m)
    z = np.linalg.solve(L[:m, :m], k)
    alpha, B = on_the_margin(rng, L, k, -1.0)
    for far, expected in ((1 - 1e-10, UNDECIDED), (0.9, UNDECIDED), (1.1, DEFERRED)):
        deferred = np.zeros((2, len(L)))
        deferred[1, :m] = alpha if by == "coefficients" else B
        eta = far * np.sqrt(kxx - z @ z)
        found = screened((eta, NO_LIMIT, False, False), L, inverse, k, kxx, B[None], [1.0], deferred=deferred, by=by)
        assert found[0] == expected


def test_a_machine_that_does_not_look_learns_nothing():
    L, inverse, k, kxx = support_of(np.random.default_rng(0), 40)
    deferred = np.zeros((2, len(L)))
    deferred[1, :40] = -k
    for by in ("coefficients", "projection"):
        found = screened((0.1, 40, False, True), L, inverse, k, kxx, -k[None], [np.nan], deferred=deferred, by=by)
        assert found[0] == NO_UPDATE
        assert found[2] == 0
        assert not deferred[0].any()


@pytest.mark.parametrize("scale", [1e-300, 1e-40, 1e40, 1e300])
@pytest.mark.parametrize("margin", [-2.0, 0.5, 2.0])
@every_target
def test_numbers_that_a_float_does_not_hold_are_in_doubt(target, scale, margin):
    m = 40
    L, inverse, k, kxx = support_of(np.random.default_rng(0), m)
    z = np.linalg.solve(L[:m, :m], k)
    deferred = np.zeros((2, len(L)))
    deferred[1, :m] = margin / (z @ z) / scale * z
    with simd(target):
        outcome, *_ = screened(
            (0.1, m, True, True), L, inverse, scale * k, kxx, deferred[1:, :m], [1.0], deferred=deferred
        )
    assert outcome == UNDECIDED


@pytest.mark.parametrize("scale", [1e25, 1e33, 1e36, 1e40, 1e300])
@every_target
def test_mistakes_that_a_float_does_not_hold_are_in_doubt(target, scale):
    m = 40
    L, inverse, k, kxx = support_of(np.random.default_rng(0), m)
    deferred = np.zeros((2, len(L)))
    deferred[1, :m] = -k / scale
    with simd(target):
        found = screened(
            (0.1, m, False, True), L, inverse, scale * k, kxx, -k[None], [1.0], deferred=deferred, by="coefficients"
        )
    assert found[0] == (DEFERRED if scale < 1e28 else UNDECIDED)
    assert np.isfinite(deferred).all()


@pytest.mark.parametrize(("gamma", "serves"), [(1.0, True), (0.05, False)])
def test_an_inverse_serves_while_its_support_is_well_conditioned(gamma, serves):
    assert support_of(np.random.default_rng(0), 30, gamma, d=2)[1].is_usable == serves


@pytest.mark.parametrize(("scale", "serves"), [(1.0, True), (1e-20, False), (1e20, False)])
def test_an_inverse_serves_where_a_float_holds_it(scale, serves):
    inverse = Inverse()
    inverse.follow(aligned(scale * np.eye(8)), 8)
    assert inverse.is_usable == serves


# ---------------------------------------------------------------- learners


@pytest.fixture
def small_supports_judged(monkeypatch):
    monkeypatch.setattr(projecting, "SCREENED_FROM", 1)


judging = pytest.mark.usefixtures("small_supports_judged")
either = pytest.mark.parametrize("aggressive", [False, True])


def stream(seed, n=900, d=4, classes=2, dtype=np.float64):
    """Classes that overlap: mistakes, small margins and large ones, for ever."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)).astype(dtype)
    y = ((X[:, 0] > 0).astype(int) + (X[:, 1] > 0.5) * (classes > 2)) ^ (rng.random(n) < 0.1)
    return X, y % classes


class Watch:
    """A judge whose verdicts are counted."""

    def __init__(self, screen, outcomes):
        self.screen, self.outcomes = screen, outcomes

    def _counted(self, outcome):
        self.outcomes[outcome] += 1
        return outcome

    def by_projection(self, *example):
        return self._counted(self.screen.by_projection(*example))

    def by_coefficients(self, *example):
        return self._counted(self.screen.by_coefficients(*example))

    def score(self, *row):
        return self.screen.score(*row)


@pytest.fixture
def outcomes(monkeypatch):
    """How often there was which verdict on single examples."""
    counted, prepare = Counter(), ProjectingLearner._prepare

    def watch(learner, *args):
        screen = prepare(learner, *args)
        if screen is not None:
            screen = learner._screen = Watch(screen, counted)
        return screen

    monkeypatch.setattr(ProjectingLearner, "_prepare", watch)
    return counted


@judging
# The core's code for a dtype on a target, in full, with every one of the options.
@pytest.mark.parametrize(
    ("core", "options", "kernel", "classes", "aggressive"),
    pairwise(
        list(itertools.product(simd_targets(), [np.float32, np.float64])),
        [{"budget": 70}, {"eta": 0.5}, {"eta": 0.9, "budget": 70}],
        [RBF(gamma=0.3), RBF(gamma=2.0)],
        [2, 3],
        [False, True],
    ),
    ids=name_of,
)
def test_one_by_one_a_learner_is_what_it_is_in_chunks(outcomes, core, options, kernel, classes, aggressive):
    target, dtype = core
    X, y = stream(1, classes=classes, dtype=dtype)
    options = options | {"aggressive": aggressive}
    with simd(target):
        chunked = feed(Projectron(kernel, **options), X, y, 64, classes=range(classes))
        single = Projectron(kernel, **options).partial_fit(X[:1], y[:1], classes=range(classes))
        for x, label in zip(X[1:], y[1:], strict=True):
            single.learn_one(x, label)
    assert (single.n_mistakes_, single.n_updates_) == (chunked.n_mistakes_, chunked.n_updates_)
    ledgers = [one._running.learner.ledger.entries for one in (single, chunked)]
    for column in ("round", "row"):
        np.testing.assert_array_equal(ledgers[0][column], ledgers[1][column])
    tolerance = 1e-9 if dtype == np.float64 else 2e-4
    assert_alike(single, chunked, X, tolerance)
    if aggressive or classes == 2:
        rare = not aggressive and kernel.gamma == 2.0 and "budget" not in options  # nearly every mistake is added
        assert outcomes[NO_UPDATE] > (0 if rare else 250)
        assert outcomes[UNDECIDED] > (5 if aggressive else 0)
        assert (outcomes[DEFERRED] > 10) == (classes == 2 and not rare)
    else:
        assert outcomes.total() == 0  # of many outputs mistakes are not judged


@either
def test_judging_begins_where_the_support_is_large_enough(outcomes, aggressive):
    X, y = stream(6, n=1500)
    options = {"budget": 200, "eta": 0.3, "aggressive": aggressive}
    chunked = feed(Projectron(RBF(gamma=1.0), **options), X, y, 64, classes=[0, 1])
    single = Projectron(RBF(gamma=1.0), **options).partial_fit(X[:1], y[:1], classes=[0, 1])
    sizes = []
    for x, label in zip(X[1:], y[1:], strict=True):
        before = outcomes.total()
        single.learn_one(x, label)
        sizes += [len(single._running.learner)] * (outcomes.total() > before)
    assert projecting.SCREENED_FROM <= sizes[0] < 200 == sizes[-1]
    assert sizes[0] < 140 if aggressive else sizes[0] > 130  # where mistakes are added there is nothing to judge
    assert_alike(single, chunked, X, 1e-9)


@judging
@pytest.mark.parametrize("options", [{"budget": 40, "eta": 0.0}, {"eta": 0.6}], ids=str)
@either
def test_one_by_one_a_learner_is_its_slow_twin(options, aggressive):
    X, y = stream(2, n=400)
    kernel = RBF(gamma=0.5)
    machine = Projectron(kernel, aggressive=aggressive, **options).partial_fit(X[:1], y[:1], classes=[0, 1])
    twin = SlowProjectron(kernel, aggressive=aggressive, **options)
    twin.learn(X[0], np.array([2.0 * y[0] - 1]))
    for x, label in zip(X[1:], y[1:], strict=True):
        machine.learn_one(x, label)
        twin.learn(x, np.array([2.0 * label - 1]))
    assert machine.n_mistakes_ == twin.mistakes
    np.testing.assert_array_equal(machine.support_, twin.rows)
    np.testing.assert_allclose(machine.decision_function(X), twin.decision(X)[:, 0], atol=1e-8)


@judging
@pytest.mark.parametrize("budget", [5, 15])
def test_chunks_on_a_full_support_know_how_long_each_example_is(budget):
    X, y = stream(8, n=600)
    kernel = RBF(gamma=0.5) + 0.2 * Linear()  # k(x, x) is not the same for all x
    machine, twin = (
        Projectron(kernel, aggressive=True, budget=budget),
        SlowProjectron(kernel, aggressive=True, budget=budget),
    )
    feed(machine, X, y, 64, classes=[0, 1])
    for x, label in zip(X, y, strict=True):
        twin.learn(x, np.array([2.0 * label - 1]))
    assert machine.n_mistakes_ == twin.mistakes
    assert machine.n_updates_ > twin.mistakes + 30  # steps on margins, which depend on it
    np.testing.assert_allclose(machine.decision_function(X), twin.decision(X)[:, 0], atol=1e-8)


@judging
@pytest.mark.parametrize(
    ("kernel", "scale"),
    [*itertools.product([Linear(), Polynomial(degree=2)], [1.0, 1e-9, 1e9]), (RBF(gamma=0.001), 1.0)],
    ids=str,
)
@either
def test_where_single_precision_does_not_serve_nothing_changes(kernel, scale, aggressive):
    X, y = stream(3, n=300)
    X = X * scale
    options = {"budget": 30, "eta": 0.0, "aggressive": aggressive}
    chunked = feed(Projectron(kernel, **options), X, y, 64, classes=[0, 1])
    single = feed(Projectron(kernel, **options), X, y, None, classes=[0, 1])
    assert single.n_mistakes_ == chunked.n_mistakes_
    scale = np.abs(scores_of(chunked, X)).max()
    np.testing.assert_allclose(scores_of(single, X), scores_of(chunked, X), atol=1e-6 * max(1.0, scale))


@judging
@pytest.mark.parametrize("kernel", [RBF(gamma=0.01), Custom(RBF(gamma=0.3))], ids=["rbf", "custom"])
def test_coefficients_are_judged_by_only_where_lengths_are_lengths(outcomes, kernel):
    # a support that is not well conditioned, and what may be no kernel
    X, y = stream(7, n=300)
    machine = Projectron(kernel, budget=30, eta=0.0).partial_fit(X[:1], y[:1], classes=[0, 1])
    for x, label in zip(X[1:], y[1:], strict=True):
        machine.learn_one(x, label)
    assert len(machine._running.learner) == 30
    assert outcomes.total() == 0


# ---------------------------------------------------------------- steps that wait


def waits(machine):
    return machine._running.learner.record.beta_error > 0


def learner_that_waits(aggressive, seed=4):
    X, y = stream(seed)
    machine = Projectron(RBF(gamma=0.3), budget=50, aggressive=aggressive).partial_fit(X[:500], y[:500], classes=[0, 1])
    i = 500
    while not waits(machine):
        machine.learn_one(X[i], y[i])
        i += 1
    return machine, X[i:], y[i:]


def outcome(machine, X):
    return machine.n_mistakes_, machine.dual_coef_.tobytes(), scores_of(machine, X).tobytes()


@judging
@either
def test_looking_at_a_learner_does_not_change_what_it_learns(aggressive):
    machine, X, y = learner_that_waits(aggressive)
    other = pickle.loads(pickle.dumps(machine))
    assert waits(other)
    seen = 0
    for x, label in zip(X, y, strict=True):
        machine.learn_one(x, label)
        other.learn_one(x, label)
        seen += waits(other)
        other.predict_one(x), other.dual_coef_, other.snapshot(), other.drift_
    assert seen > 50
    assert outcome(machine, X) == outcome(other, X)


@judging
@either
def test_predictions_of_single_examples_are_those_of_many_though_steps_wait(aggressive):
    machine, X, y = learner_that_waits(aggressive)
    seen = 0
    for i, (x, label) in enumerate(zip(X, y, strict=True)):
        machine.learn_one(x, label)
        others = X[5 * i % 200 :][:5]
        seen += waits(machine)
        found = [machine.predict_one(other) for other in others]
        assert found == pickle.loads(pickle.dumps(machine)).predict(others).tolist()
        if waits(machine) and not aggressive and seen % 2:
            score = machine._running.learner.scores(prepare(machine.kernel_, x[None]))
            np.testing.assert_allclose(score[0, 0], machine.decision_function(x[None])[0], atol=1e-4)
    assert seen > 50


@judging
def test_a_score_whose_sign_is_in_doubt_is_taken_exactly():
    machine, X, _ = learner_that_waits(False)
    learner = machine._running.learner
    row = prepare(machine.kernel_, X[:1])
    room = learner._one.K.copy()
    rough, exact = learner.scores(row)[0], machine.decision_function(X[:1])
    np.testing.assert_array_equal(learner._one.K, room)  # which is for learning: threads may predict at once
    assert 0 < abs(rough[0] - exact[0]) < 1e-5
    learner._alpha = None
    learner.record.beta_error = 1e3
    np.testing.assert_allclose(learner.scores(row)[0], exact, rtol=1e-12)


@judging
@pytest.mark.parametrize("way", ["pickle", "snapshot", "mark"])
@either
def test_a_learner_goes_on_where_it_was_though_steps_wait(way, aggressive):
    machine, X, y = learner_that_waits(aggressive)
    mark, copied = machine._running.learner.savepoint(), pickle.dumps(machine)
    resumed = Projectron().resume(machine.snapshot())
    for x, label in zip(X, y, strict=True):
        machine.learn_one(x, label)
    expected = outcome(machine, X)
    if way == "pickle":
        resumed = pickle.loads(copied)
    elif way == "mark":
        machine._running.learner.rollback(mark)
        resumed = machine
    for x, label in zip(X, y, strict=True):
        resumed.learn_one(x, label)
    assert outcome(resumed, X) == expected


@judging
@either
def test_undone_support_vectors_are_not_judged_by(aggressive):
    # rows of M that were made for vectors that were taken back, and replaced by others
    X, y = stream(5)
    kernel = RBF(gamma=1.0)

    def learn(learner, which):
        for i in which:
            learner.learn_one(rows[i : i + 1], signs[i : i + 1])

    rows, signs = prepare(kernel, X), np.where(y == 1, 1.0, -1.0)[:, None]
    straight, undone = (ProjectingLearner(kernel, 1, eta=0.1, budget=60, aggressive=aggressive) for _ in range(2))
    learn(straight, range(30))
    learn(undone, range(30))
    before = undone.savepoint()
    learn(undone, range(30, 300))
    assert len(undone) == 60
    undone.rollback(before)
    assert len(undone) < 40
    learn(straight, range(300, 900))
    learn(undone, range(300, 900))
    np.testing.assert_array_equal(undone.slot_row_ids[:60], straight.slot_row_ids[:60])
    np.testing.assert_array_equal(undone.alpha, straight.alpha)


@judging
@given(seeds, st.lists(st.sampled_from(["one", "chunk", "class"]), min_size=1, max_size=6))
@example(0, ["one", "class", "one"])
@settings(max_examples=15, deadline=None)
@either
def test_chunks_single_examples_and_late_classes_mix(aggressive, seed, kinds):
    X, y = stream(seed)
    machine, twin = (Projectron(RBF(gamma=0.3), budget=50, aggressive=aggressive) for _ in range(2))
    for one in (machine, twin):
        one.partial_fit(X[:200], y[:200])
    start = 200
    for kind in kinds:
        part = slice(start, start + 100)
        labels = y[part] if kind != "class" else np.where(np.arange(100) % 9 == 0, 2, y[part])
        twin.partial_fit(X[part], labels)
        if kind == "chunk":
            machine.partial_fit(X[part], labels)
            assert not waits(machine)
        else:
            for x, label in zip(X[part], labels, strict=True):
                machine.learn_one(x, label)
        start += 100
    assert machine.n_mistakes_ == twin.n_mistakes_
    assert_alike(machine, twin, X, 1e-9)
