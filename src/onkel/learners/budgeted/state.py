"""Copies, savepoints, states and pickles of the learner in bounded memory (`onkel.learners.budgeted.learner`).

None of them holds the learner's caches: the kernel values of the slots with each other are computed again, to the same
bits (those of a precomputed Gram matrix cannot be, and are held). A state and a pickle hold only what is in use, not
the room of the arrays.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native
from onkel._core.transaction import Transaction
from onkel.checks import FLOATS
from onkel.errors import InputError, KindError
from onkel.kernels.rows import NO_ROWS, Rows
from onkel.kernels.rows_state import kernel_rows, rows_state
from onkel.learners import policies, rules
from onkel.learners.counts import COUNTS
from onkel.learners.ledger import Window
from onkel.learners.policies import Policy
from onkel.learners.rules import Regularised, Rule
from onkel.learners.storage.slots import Slots
from onkel.learners.storage.support import Support, SupportSize
from onkel.states.state import LARGEST_COUNT, State

if TYPE_CHECKING:
    from onkel.learners.budgeted.learner import BudgetedLearner

L = TypeVar("L", bound="BudgetedLearner")

PER_SLOT = {"coef": np.float64, "k_ss": np.float64, "slot_row_ids": np.int64, "entered": np.int64}
PER_OUTPUT = ("sq_norms", "margin", "offset")
ARRAYS = (*PER_SLOT, *PER_OUTPUT, "record")
# The numbers of the record by their names in states, and their types; `support_scale` was once called "spread".
FACTORS = {"scale": "scale", "spread": "support_scale", "Q": "Q", "M": "M", "shrink": "shrink"}
NUMBERS = {**FACTORS, **{name: name for name in ("size", "head", "random", *COUNTS)}}


def _arrays(learner: BudgetedLearner) -> dict[str, NDArray | None]:
    """Copies of the learner's arrays, by the names of its attributes."""
    found: dict[str, NDArray | None] = {name: getattr(learner, name).copy() for name in ARRAYS}
    K_slots = learner.K_slots if learner.keeps_K_slots else None
    return found | {"K_slots": None if K_slots is None else K_slots.copy()}


class Savepoint(NamedTuple):
    """The arrays and parts of a learner at one moment; it shares nothing with it that will be overwritten."""

    arrays: dict[str, NDArray | None]
    slots: Rows | None
    grown: Support
    grown_size: SupportSize
    ledger: Window
    entries: dict[str, Any]  # of the ledger


def savepoint(learner: BudgetedLearner) -> Savepoint:
    """The present state of the learner."""
    slots, grown, ledger = learner.slots.savepoint(), learner.grown, learner.ledger
    return Savepoint(_arrays(learner), slots, grown, grown.savepoint(), ledger, ledger.savepoint())


def rollback(learner: BudgetedLearner, at: Savepoint) -> None:
    """Puts the learner back to a savepoint, to which one can go back again."""
    arrays = {name: None if array is None else array.copy() for name, array in at.arrays.items()}
    with Transaction() as change:
        at.grown.rollback(at.grown_size, change)
        at.ledger.rollback(at.entries, change)
        change.set(learner, **arrays, slots=Slots.at(at.slots), grown=at.grown, ledger=at.ledger)
        change.set(learner, _one=None)


def copied(learner: L) -> L:
    """An independent copy."""
    twin = type(learner).__new__(type(learner))
    vars(twin).update(vars(learner), **_arrays(learner), _one=None)
    twin.slots, twin.grown, twin.ledger = learner.slots.copy(), learner.grown.copy(), learner.ledger.copy()
    return twin


# ---------------------------------------------------------------- states


def state_of(learner: BudgetedLearner) -> State:
    """The state of the learner: its settings, and copies of its arrays as far as they are in use."""
    if not _is_named(learner):
        raise KindError(
            "BudgetedLearner.state: a state names its rule and its policy, so the rule must be declared by the "
            f"decorator onkel.learners.rules.rule, and the name of the policy's class be its own; got "
            f"{learner.rule.name} and {learner.policy}."
        )
    return _state(learner)


def _is_named(learner: BudgetedLearner) -> bool:
    """Whether the rule and the policy can be found again by their names."""
    rule = rules.RULES.get(learner.rule.name)
    policy = policies.POLICIES.get(type(learner.policy).__name__)
    return rule is not None and rule.step is learner.rule.step and policy is type(learner.policy)


def _state(learner: BudgetedLearner) -> State:
    norma, size = learner.norma, learner.size
    settings: dict[str, Any] = {
        "kernel": learner.kernel,
        "rule": {"name": learner.rule.name, "params": dict(learner.rule.values)},
        "policy": {"name": type(learner.policy).__name__, "budget": learner.policy.budget},
        "norma": None if norma is None else dataclasses.asdict(norma),
        "first_margin": float(learner.first_margin),
        **learner.ledger.settings(),
        "record": {name: getattr(learner.record, attribute) for name, attribute in NUMBERS.items()},
    }
    arrays = {name: np.array(getattr(learner, name)[..., :size], order="C") for name in PER_SLOT}
    arrays |= {name: getattr(learner, name).copy() for name in PER_OUTPUT}
    arrays |= learner.ledger.arrays("ledger/")
    if learner.keeps_K_slots and learner.K_slots is not None:
        arrays["K_slots"] = np.array(learner.K_slots[:size, :size], order="C")
    state = State(learner.KIND, learner.VERSION, settings, arrays).with_part("grown", learner.grown.state())
    return state.with_part("rows", rows_state(NO_ROWS if learner.slots.rows is None else learner.slots.rows))


def from_state(kind: type[L], state: State) -> L:
    """The learner of a state."""
    state.expect(kind.KIND, kind.VERSION)
    return _restored(kind, state, _named_rule(state), _named_policy(state))


def _named_rule(state: State) -> Rule:
    given = _dict(state, "rule", {"name", "params"})
    name, params = given["name"], given["params"]
    if not isinstance(name, str) or name not in rules.RULES:
        raise InputError(f"the state of a learner names the rule {name!r:.80}, which is unknown; import its module.")
    rule = rules.RULES[name]
    state.check(isinstance(params, Mapping) and set(params) == set(rule.params), f"{name} needs {list(rule.params)}")
    for key, value in params.items():
        _check_number(state, key, value)
        state.check(key != "C" or value > 0, "'C' must be positive")
    return rule.with_params(**params)


def _named_policy(state: State) -> Policy:
    given = _dict(state, "policy", {"name", "budget"})
    name, budget = given["name"], given["budget"]
    if not isinstance(name, str) or name not in policies.POLICIES:
        raise InputError(f"the state of a learner names the policy {name!r:.80}, which is unknown; import its module.")
    policy = policies.POLICIES[name]
    if budget is not None or (policy in policies.NATIVE and policy is not policies.Grow):
        right = type(budget) is int and 1 <= budget <= LARGEST_COUNT and policy is not policies.Grow
        state.check(right, f"the budget of {name} must be a whole number >= 1, or None for Grow; got {budget!r:.80}")
    return policy(budget)


def _named_norma(state: State, rule: Rule) -> Regularised | None:
    state.check(state.has("norma") == rule.regularised, "'norma' is for regularised rules, and for them only")
    if not state.has("norma"):
        return None
    given = _dict(state, "norma", {field.name for field in dataclasses.fields(Regularised)})
    for name in ("eta", "lam") if given["nu"] is None else ("eta", "lam", "nu"):
        _check_number(state, name, given[name])
    state.check(given["schedule"] in ("constant", "sqrt"), "'schedule' must be constant or sqrt")
    state.check(type(given["intercept"]) is bool, "'intercept' must be True or False")
    return Regularised(**given)


def _dict(state: State, name: str, keys: set[str]) -> Mapping[str, Any]:
    """A setting that is a dict with these keys."""
    value: Any = state.settings.get(name)
    if not isinstance(value, Mapping) or set(value) != keys:
        raise InputError(f"the state of kind {state.kind!r}: {name!r} must have {sorted(keys)}; got {value!r:.80}.")
    return value


def _check_number(state: State, name: str, value: Any) -> None:
    """Refuses what is not a finite number ≥ 0."""
    right = type(value) in (int, float) and 0 <= value < np.inf
    state.check(right, f"{name!r} must be a finite number >= 0; got {value!r:.80}")


def _restored(kind: type[L], state: State, rule: Rule, policy: Policy) -> L:
    """A learner with this rule and policy and the contents of a state."""
    kernel, offset = state.kernel(), state.array("offset", np.float64, (None,))
    n_outputs, record = len(offset), _record(state, policy.budget)
    state.check(n_outputs > 0, "there must be an output")
    margin = state.setting("first_margin", float, at_least=-np.inf)
    learner = kind(kernel, n_outputs, rule, policy, norma=_named_norma(state, rule), margin=margin)
    rows = kernel_rows(state, "rows", kernel)
    size = record.size
    state.check(size == (len(rows) if policy.budget is not None else 0), f"'rows' must have {size} rows")
    state.check(policy.budget is None or size <= policy.budget, f"there must be at most {policy.budget} rows")
    learner.record = record
    learner.coef = np.array(state.array("coef", np.float64, (n_outputs, size)))
    learner.k_ss = np.array(state.array("k_ss", np.float64, (size,)))
    learner.slot_row_ids = np.array(state.indices("slot_row_ids", LARGEST_COUNT, size))
    learner.entered = np.array(state.indices("entered", learner.n_seen + 1, size))
    for name in PER_OUTPUT:
        setattr(learner, name, np.array(state.array(name, np.float64, (n_outputs,))))
    learner.ledger = Window.of_state(state, "ledger/", n_outputs, learner.n_seen)
    learner.grown = Support.from_state(state.part("grown"), kernel, n_outputs)
    if policy.budget is not None:
        state.check(len(learner.grown) == 0, "with a budget all support vectors must be in slots")
    if size:
        with Transaction() as change:
            learner.slots.put(np.arange(size), rows, change)
    if learner.keeps_K_slots:
        learner.K_slots = np.array(state.array("K_slots", FLOATS, (size, size)))
    return learner


def _record(state: State, budget: int | None) -> _native.BudgetRecord:
    """The numbers of the learner: counts must be ≥ 0, factors positive, and all finite."""
    numbers = dict(_dict(state, "record", {*NUMBERS}))
    for name, value in numbers.items():
        wanted = float if name in FACTORS else int
        state.check(type(value) is wanted, f"{name!r} of the record must be of type {wanted.__name__}")
        state.check(name != "random" or 0 <= value < 2**64, f"{name!r} of the record must have 64 bits")
    if budget is not None and numbers["spread"] == 0:
        numbers["spread"] = 1.0  # unused; version 0.1.0.dev0 multiplied it as well, until it underflowed
    for name in ("scale", "spread", "shrink"):
        state.check(0 < numbers[name] < np.inf, f"{name!r} of the record must be positive; got {numbers[name]}")
    for name in ("Q", "M"):
        state.check(abs(numbers[name]) < np.inf, f"{name!r} of the record must be finite; got {numbers[name]}")
    for name in ("size", "head", *COUNTS):
        state.check(0 <= numbers[name] <= LARGEST_COUNT, f"{name!r} of the record must be >= 0; got {numbers[name]}")
    state.check(numbers["head"] <= max(0, numbers["size"] - 1), "'head' of the record must be a slot in use")
    record = _native.BudgetRecord()
    for name, attribute in NUMBERS.items():
        setattr(record, attribute, numbers[name])
    return record


# ---------------------------------------------------------------- pickles


def pickled(learner: BudgetedLearner) -> tuple[State, Rule | None, Policy | None]:
    """The state, and the rule and the policy themselves if a state cannot name them."""
    named = _is_named(learner)
    return _state(learner), None if named else learner.rule, None if named else learner.policy


def unpickled(kind: type[L], state: State, rule: Rule | None, policy: Policy | None) -> L:
    """The learner of what `pickled` has returned."""
    return _restored(kind, state, rule or _named_rule(state), policy or _named_policy(state))
