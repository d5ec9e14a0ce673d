"""The learner in bounded memory: a part is learned wholly or not at all; copies, states, and sizes at the border."""

from __future__ import annotations

import copy
import dataclasses
import functools
import pickle
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from interruptions import lines_of, spread, stop_at_line
from pairwise import FULL
from reference.online_oracles import SlowForgetron
from streams import learn_in_parts

from onkel._core import _native
from onkel.errors import InputError, KindError
from onkel.kernels import RBF, Custom, Kernel, Linear, Polynomial, Precomputed, prepare
from onkel.kernels.rows import Rows
from onkel.learners import policies, rules
from onkel.learners.budgeted import learner as budgeted
from onkel.learners.budgeted.learner import BudgetedLearner
from onkel.learners.rules import Regularised, Rule
from onkel.states.state import State

N, PART, BUDGET = 60, 8, 9


class Case(NamedTuple):
    """A learner and the kind of rows that it learns from."""

    rule: Rule
    policy: policies.Policy
    norma: Regularised | None = None
    n_outputs: int = 1
    rows: str = "dense"


def timid(f: float, y: float, sq_norm: float, w: float, C: float) -> float:
    return C * w * y if y * f <= 0 else 0.0


DECAYS = Regularised(0.9, 1.0, 0.3, "constant", True)  # by a tenth at every example: the spread is soon folded
CASES = {
    "Forgetron": Case(rules.perceptron, policies.ShrinkThenForget(BUDGET)),
    "basic Forgetron, CSR": Case(rules.perceptron, policies.ShrinkByNorm(BUDGET), n_outputs=3, rows="csr"),
    "Forgetron, normalized": Case(rules.perceptron, policies.ShrinkThenForget(BUDGET), rows="normalized"),
    "Forgetron, Gram": Case(rules.perceptron, policies.ShrinkThenForget(BUDGET), rows="gram"),
    "random, objects": Case(rules.perceptron, policies.ForgetRandom(BUDGET), rows="objects"),
    "PA-I": Case(rules.pa1.with_params(C=0.5), policies.ReplaceCheapest(BUDGET), n_outputs=3),
    "NORMA": Case(rules.soft_margin, policies.ForgetOldest(BUDGET), Regularised(0.3, 0.05, 0.4, "sqrt", True)),
    "NORMA, grows": Case(rules.epsilon_insensitive, policies.Grow(), DECAYS, n_outputs=2),
    "PA, grows, CSR": Case(rules.pa, policies.Grow(), rows="csr"),
    "own rule": Case(Rule(timid, ("C",)).with_params(C=0.5), policies.ForgetOldest(BUDGET), n_outputs=2),
    "columns": Case(rules.perceptron, policies.ForgetOldest(BUDGET), rows="columns"),
}
every = pytest.mark.parametrize("name", CASES)
named = pytest.mark.parametrize("name", [name for name in CASES if name != "own rule"])


def overlap(a: str, b: str) -> float:
    return len(set(a) & set(b)) / 5


@functools.cache
def kernel_and_rows(kind: str) -> tuple[Kernel, Rows]:
    rng = np.random.default_rng(3)
    X = np.where((X := rng.normal(size=(N, 4))) < -0.3, 0.0, X).astype(np.float32)
    kernel: Any = {
        "gram": Precomputed(),
        "normalized": Polynomial(
            degree=3
        ).normalized(),  # its k(x, x) by itself is not that of a Gram matrix to the bit
        "objects": Custom(overlap, pairwise=True, takes="objects", psd=True),
        "columns": RBF(gamma=0.5).on([0, 2]) + Linear().normalized(),
    }.get(kind, RBF(gamma=0.5))
    data: Any = {
        "csr": sp.csr_array(X),
        "gram": RBF(gamma=0.5)(X),
        "objects": ["".join(rng.choice(list("abcde"), 3)) for _ in range(N)],
    }.get(kind, X)
    return kernel, prepare(kernel, data, itself=kind == "gram")


def examples(name: str) -> tuple[Rows, np.ndarray, np.ndarray, np.ndarray]:
    rng, case = np.random.default_rng(4), CASES[name]
    y = rng.choice([-1.0, 1.0], (N, case.n_outputs))
    return kernel_and_rows(case.rows)[1], y, rng.choice([0.5, 1.0, 2.0], N), 7 + np.arange(N)


def new(name: str) -> BudgetedLearner:
    rule, policy, norma, n_outputs, rows = CASES[name]
    kernel = kernel_and_rows(rows)[0]
    learner = BudgetedLearner(kernel, n_outputs, rule, policy, norma=norma, margin=0.5, seed=5, window=30)
    learner.skip_to(7)  # the id of the first row
    return learner


def learn(learner: BudgetedLearner, name: str, start: int, stop: int) -> np.ndarray:
    part = slice(start, stop)
    rows, y, w, ids = examples(name)
    return learn_in_parts(learner, rows[part], y[part], w[part], ids[part])


def learn_each(learner: BudgetedLearner, name: str, start: int, stop: int) -> None:
    rows, y, *_ = examples(name)
    for i in range(start, stop):
        learner.learn_one(rows[i : i + 1], y[i : i + 1])


def seen(learner: BudgetedLearner) -> State:
    """Everything the learner knows, also for rules that have no name."""
    return learner.__reduce__()[1][1]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(budgeted, "CHUNK", PART)


# ---------------------------------------------------------------- transactions


def some_of(lines: list[Any], name: str, first: int) -> Sequence[int]:
    """One run of each line of two learners whose budget is full or that have grown, and of some lines of the others."""
    if FULL:
        return range(len(lines))
    whole = name in ("Forgetron", "NORMA, grows") and first >= 40
    return spread(lines, len(lines) if whole else 40, seed=100 * first + list(CASES).index(name))


@every
@pytest.mark.parametrize("first", [0, 5, 40])
def test_a_chunk_that_is_stopped_before_any_line_is_learned_part_by_part(name, first):
    last = first + 2 * PART + 3
    start = new(name)
    if first:
        learn(start, name, 0, first)
    learner, states = start.copy(), {first: seen(start)}
    for begin in range(first, last, PART):
        learn(learner, name, begin, min(begin + PART, last))
        states[learner.n_seen] = seen(learner)
    lines = lines_of(lambda: learn(start.copy(), name, first, last))
    met = set()
    for k in some_of(lines, name, first):
        learner = start.copy()
        stop_at_line(lambda learner=learner: learn(learner, name, first, last), k, KeyboardInterrupt)
        assert seen(learner) == states[learner.n_seen], lines[k]
        met.add(learner.n_seen)
        if learner.n_seen < last:
            learn(learner, name, learner.n_seen, last)
        assert seen(learner) == states[last], lines[k]
    assert met == set(states)


@every
@pytest.mark.parametrize("first", [0, 3, 40])
def test_an_example_that_is_stopped_before_any_line_is_learned_or_not(name, first):
    last = first + 6
    start = new(name)
    if first:
        learn(start, name, 0, first)
        learn_each(start, name, first, first + 1)  # bound to its arrays
    first, learner = start.n_seen, start.copy()
    states = {first: seen(start)}
    for i in range(first, last):
        learn_each(learner, name, i, i + 1)
        states[i + 1] = seen(learner)
    lines = lines_of(lambda: learn_each(start.copy(), name, first, last))
    for k in some_of(lines, name, first):
        learner = start.copy()
        stop_at_line(lambda learner=learner: learn_each(learner, name, first, last), k, MemoryError)
        assert seen(learner) == states[learner.n_seen], lines[k]
        learn_each(learner, name, learner.n_seen, last)
        assert seen(learner) == states[last], lines[k]


def test_a_refused_kernel_value_leaves_the_learner_as_it_was():
    def picky(a: str, b: str) -> float:
        if "!" in a + b:
            raise ArithmeticError("refused")
        return overlap(a, b)

    kernel = Custom(picky, pairwise=True, takes="objects", psd=True)
    learner = BudgetedLearner(kernel, 1, rules.perceptron, policies.ShrinkThenForget(3))
    words = [a + b for a in "abcde" for b in "abcde"]
    y, w = np.where(np.arange(25) % 3, 1.0, -1.0)[:, None], np.ones(25)
    learner.learn(prepare(kernel, words), y, w, np.arange(25))
    before = learner.state()
    with pytest.raises(ArithmeticError):
        learner.learn(prepare(kernel, ["ab", "!"]), y[:2], w[:2], np.arange(2))
    assert learner.state() == before


# ---------------------------------------------------------------- chunk ≡ loop


@named
def test_learning_one_by_one_and_in_any_parts_gives_the_same_bits(name):
    rows, y, _, ids = examples(name)
    loop, chunks, mixed = new(name), new(name), new(name)
    learn_each(loop, name, 0, N)
    for start in range(0, N, 7):
        part = slice(start, start + 7)
        chunks.learn(rows[part], y[part], np.ones(len(y[part])), ids[part])
    for start in range(0, N, 10):
        learn_each(mixed, name, start, start + 6)
        part = slice(start + 6, start + 10)
        mixed.learn(rows[part], y[part], np.ones(4), ids[part])
    names = ("coef", "row_ids", "scores")
    found = [dict(zip(names, (*one.support()[1:], one.scores(rows)), strict=True)) for one in (loop, chunks, mixed)]
    for key in names if name not in ("columns", "Forgetron, normalized") else ("row_ids",):  # k(x, x) has other bits
        for other in found[1:]:
            if loop.policy.budget is None and key != "row_ids":  # sums over parts
                np.testing.assert_allclose(found[0][key], other[key], rtol=1e-4, atol=1e-6)
            else:
                np.testing.assert_array_equal(found[0][key], other[key])
    assert loop.n_seen == chunks.n_seen == mixed.n_seen == N
    assert loop.next_row_id == chunks.next_row_id == N + 7


@pytest.mark.parametrize("variant", ["self-tuned", "basic"])
def test_the_forgetron_equals_its_slow_twin(variant):
    kernel, rows = kernel_and_rows("dense")
    policy = {"self-tuned": policies.ShrinkThenForget, "basic": policies.ShrinkByNorm}[variant](BUDGET)
    learner, twin = BudgetedLearner(kernel, 1, rules.perceptron, policy), SlowForgetron(kernel, BUDGET, variant)
    y = examples("Forgetron")[1]
    scores = learner.learn(rows, y, np.ones(N), np.arange(N))
    expected = [twin.learn(x, target) for x, target in zip(rows.matrix, y, strict=True)]
    np.testing.assert_allclose(scores, np.array(expected), rtol=1e-5, atol=1e-5)  # kernel values in float32
    _, coef, row_ids = learner.support()
    assert row_ids.tolist() == twin.rows
    np.testing.assert_allclose(coef, twin.coef, rtol=1e-5)
    assert (learner.n_mistakes, learner.n_updates) == (twin.mistakes, twin.updates)


# ---------------------------------------------------------------- copies, savepoints, states


@every
def test_a_rollback_undoes_everything_and_can_be_done_again(name):
    learner = new(name)
    for first, last in ((0, 5), (5, 40)):
        learn(learner, name, first, last)
        before, point = seen(learner), learner.savepoint()
        for _ in range(2):
            learn(learner, name, last, N)
            learn_each(learner, name, 0, 4)
            learner.end_epoch()
            after = seen(learner)
            learner.rollback(point)
            assert seen(learner) == before
        learn(learner, name, last, N)
        learn_each(learner, name, 0, 4)
        learner.end_epoch()
        assert seen(learner) == after
        learner.rollback(point)


def test_a_rollback_undoes_new_outputs_and_features():
    for name in ("Forgetron", "NORMA, grows"):
        learner = new(name)
        learn(learner, name, 0, 40)
        before, point = seen(learner), learner.savepoint()
        learner.add_features(6)
        learner.change_outputs(np.ones((learner.n_outputs, 1)) * [[1.0, -1.0, 0.0]])
        assert learner.n_outputs == 3
        assert seen(learner) != before
        learner.rollback(point)
        assert seen(learner) == before
        learn(learner, name, 40, N)
        other = new(name)
        learn(other, name, 0, 40)
        learn(other, name, 40, N)
        assert seen(learner) == seen(other)


@every
@pytest.mark.parametrize("first", [0, 5, 40])
def test_copies_pickles_and_states_go_on_exactly_and_independently(name, first):
    learner = new(name)
    if first:
        learn(learner, name, 0, first)
        learn_each(learner, name, 0, 2)
    twins = [learner.copy(), copy.deepcopy(learner), pickle.loads(pickle.dumps(learner))]
    if name != "own rule":
        twins.append(BudgetedLearner.from_state(pickle.loads(pickle.dumps(learner.state()))))
    before = seen(learner)
    learn(learner, name, first, first + 10)
    learn_each(learner, name, 0, 10)
    learner.end_epoch()
    after = seen(learner)
    for twin in twins:
        assert seen(twin) == before
        learn(twin, name, first, first + 10)
        learn_each(twin, name, 0, 10)
        twin.end_epoch()
        assert seen(twin) == after
    assert seen(learner) == after


def test_a_rule_without_a_name_has_no_state_but_can_be_copied_and_pickled():
    with pytest.raises(KindError, match="declared by the decorator"):
        new("own rule").state()


@pytest.mark.parametrize("array", ["coef", "k_ss", "margin"])
def test_a_state_whose_arrays_do_not_fit_is_refused(array):
    learner = new("Forgetron")
    learn(learner, "Forgetron", 0, 30)
    state = learner.state()
    arrays = {**state.arrays, array: np.concatenate([state.arrays[array]] * 2, axis=-1)}
    with pytest.raises(InputError, match="must have shape"):
        BudgetedLearner.from_state(State(state.kind, state.version, state.settings, arrays))


@pytest.mark.parametrize(
    ("name", "value"), [("size", 31), ("head", -1), ("scale", 0.0), ("Q", float("nan")), ("M", 3), ("random", 2**64)]
)
def test_a_state_whose_numbers_cannot_be_is_refused(name, value):
    learner = new("Forgetron")
    learn(learner, "Forgetron", 0, 30)
    state = learner.state()
    settings = {**state.settings, "record": {**state.settings["record"], name: value}}
    with pytest.raises(InputError, match=f"'{name}' of the record|must have 31 rows"):
        BudgetedLearner.from_state(State(state.kind, state.version, settings, state.arrays))


def test_the_scorer_is_frozen_and_gives_the_scores():
    for name in ("PA-I", "NORMA, grows"):
        learner, rows = new(name), kernel_and_rows("dense")[1]
        learn(learner, name, 0, 40)
        model, expected = learner.scorer(), learner.scores(rows)
        np.testing.assert_allclose(model.scores(rows), expected, rtol=1e-6, atol=1e-6)
        before = model.scores(rows)
        learn(learner, name, 40, N)
        learn_each(learner, name, 0, 20)
        np.testing.assert_array_equal(model.scores(rows), before)
        assert (learner.scores(rows) != expected).any()


def test_a_scorer_of_a_learner_that_never_erred_has_no_support():
    learner = BudgetedLearner(RBF(gamma=0.5), 1, rules.novelty, policies.Grow(), norma=DECAYS, margin=-1.0)
    rows = kernel_and_rows("dense")[1]
    learner.learn(rows[:3], np.ones((3, 1)), np.ones(3), np.arange(3))
    assert len(learner) == 0
    assert learner.scorer().scores(rows).shape == (N, 1)
    assert BudgetedLearner.from_state(learner.state()).scorer() == learner.scorer()


# ---------------------------------------------------------------- memory


def test_memory_grows_as_the_budget_fills():
    rows, y, w, ids = examples("Forgetron")
    learner = BudgetedLearner(RBF(gamma=0.5), 1, rules.perceptron, policies.ShrinkThenForget(200_000))
    learner.learn(rows[:2], y[:2], w[:2], ids[:2])
    assert learner.coef.shape[1] < 100
    assert learner.n_seen == 2
    learner = BudgetedLearner(RBF(gamma=0.5), 1, rules.perceptron, policies.ShrinkThenForget(5000))
    learner.learn(rows[:2], y[:2], w[:2], ids[:2])
    assert len(pickle.dumps(learner)) < 5000
    filled = BudgetedLearner(RBF(gamma=0.5), 1, rules.perceptron, policies.ShrinkThenForget(20))
    for i in range(N):
        filled.learn_one(rows[i : i + 1], y[i : i + 1])
        assert filled.coef.shape[1] == len(filled.k_ss) == len(filled.entered) == len(filled.slot_row_ids) <= 20
        assert filled.K_slots is None or filled.K_slots.shape == (filled.coef.shape[1],) * 2
        assert len(filled.slots) == len(filled) <= filled.coef.shape[1]
    assert len(filled) == 20


# ---------------------------------------------------------------- the border


def arrays_of_a_pass(**changed):
    settings = _native.budget_settings("perceptron", "ForgetOldest", 9, 1.0, 0.0, 0.0, 0.0, np.nan, False, False)
    b, c, cap = 4, 2, 6
    arrays = {
        "K": np.zeros((b, cap)), "K_chunk": np.zeros((b, b)), "K_slots": np.zeros((cap, cap)),
        "coef": np.zeros((c, cap)), "k_ss": np.zeros(cap), "row_in_slot": np.zeros(cap, dtype=np.int64),
        "base": np.zeros((b, c)), "sq_norms": np.zeros(c), "margin": np.zeros(c), "offset": np.zeros(c),
        "record": _native.BudgetRecord(), "y": np.zeros((b, c)), "w": np.zeros(b),
        "row_ids": np.arange(b), "entries": np.zeros((b * c, 4), dtype=np.int64),
        "n_entries": np.zeros(1, dtype=np.int64), "F": np.zeros((b, c)),
    }  # fmt: skip
    assert changed.keys() <= arrays.keys()
    return {"settings": settings, **arrays, **changed}


@pytest.mark.parametrize("name", [name for name, array in arrays_of_a_pass().items() if isinstance(array, np.ndarray)])
def test_the_core_refuses_arrays_that_do_not_fit_each_other(name):
    _native.budget_pass(**arrays_of_a_pass())
    short = arrays_of_a_pass()[name]
    short = np.ascontiguousarray(short[..., :-1])
    with pytest.raises(ValueError, match=r"budget_pass: .* must have"):
        _native.budget_pass(**arrays_of_a_pass(**{name: short}))


@pytest.mark.parametrize(("size", "head", "match"), [(7, 0, "size"), (-1, 0, "size"), (0, 6, "head"), (3, 0, "room")])
def test_the_core_refuses_numbers_that_are_no_slots(size, head, match):
    record = _native.BudgetRecord()
    record.size, record.head = size, head
    with pytest.raises(ValueError, match=match):
        _native.budget_pass(**arrays_of_a_pass(record=record))


def test_the_core_refuses_settings_that_it_does_not_have():
    given = ("perceptron", "ForgetOldest", 9, 1.0, 0.0, 0.0, 0.0, np.nan, False, False)
    for wrong in (("perceptrom", *given[1:]), (given[0], "Oldest", *given[2:]), (*given[:2], 0, *given[3:])):
        with pytest.raises(ValueError, match="budget_settings"):
            _native.budget_settings(*wrong)
    with pytest.raises(ValueError, match="every policy but Grow has a budget"):
        _native.budget_settings(*given[:2], None, *given[3:])


def test_an_example_of_another_size_is_refused_and_changes_nothing():
    learner = new("Forgetron")
    learn(learner, "Forgetron", 0, 40)
    learn_each(learner, "Forgetron", 0, 1)
    native, before = learner._one.native, learner.state()
    x, y = np.zeros((1, 4), dtype=np.float32), np.ones((1, 1))
    for wrong in ((x[:, :3].copy(), y), (np.zeros((2, 4), dtype=np.float32), y), (x, np.ones((1, 2)))):
        with pytest.raises(ValueError, match=r"BudgetOne.learn: [xy] must have shape"):
            native.learn(*wrong, 1.0, None)
    assert learner.state() == before


def test_a_regularised_rule_needs_its_regularisation():
    with pytest.raises(ValueError, match="norma is for regularised rules"):
        BudgetedLearner(Linear(), 1, rules.soft_margin, policies.Grow())
    with pytest.raises(ValueError, match="norma is for regularised rules"):
        BudgetedLearner(Linear(), 1, rules.pa, policies.Grow(), norma=DECAYS)
    with pytest.raises(TypeError, match=r"pa1 takes the parameters \['C'\]; got \[\]"):
        rules.pa1.with_params()


@pytest.mark.parametrize("policy", [policies.Grow(), policies.ForgetOldest(BUDGET)])
@pytest.mark.parametrize("native", [True, False])
def test_scores_stay_finite_however_small_the_common_factor_gets(policy, native):
    kernel, rows = kernel_and_rows("dense")  # float32, whose largest number is 3e38
    learner = BudgetedLearner(kernel, 1, rules.soft_margin, policy, norma=DECAYS, margin=1.0)
    learner._settings = learner._settings if native else None
    y = examples("Forgetron")[1]
    for _ in range(8):  # the factor of the first example is 0.1^480, which is 0
        learner.learn(rows, y, np.ones(N), np.arange(N))
        assert np.isfinite(learner.scores(rows)).all()
        assert seen(BudgetedLearner.from_state(learner.state())) == seen(learner)  # it can be saved and loaded
    np.testing.assert_allclose(learner.scores(rows), learner.scorer().scores(rows), rtol=1e-5, atol=1e-6)


def test_a_learner_with_a_budget_whose_unused_factor_has_underflowed_is_read():
    learner = new("Forgetron")
    learn(learner, "Forgetron", 0, 40)
    state = learner.state()
    lost = dataclasses.replace(
        state, settings={**state.settings, "record": {**state.settings["record"], "spread": 0.0}}
    )
    assert BudgetedLearner.from_state(lost).state() == state
