"""Copies, savepoints, states and pickles of the learner in bounded memory (`onkel.learners.budgeted`).

None of them holds the learner's caches: the kernel values of the slots with each other are computed again, to the same
bits (those of a precomputed Gram matrix cannot be, and are held). A state and a pickle hold only what is in use, not
the room of the arrays.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from onkel._core.transaction import Transaction
from onkel.errors import InputError, KindError
from onkel.kernels.rows import NO_ROWS, Rows
from onkel.learners import policies, rules
from onkel.learners.ledger import Window
from onkel.learners.policies import RECORD, Policy
from onkel.learners.rules import Regularised, Rule
from onkel.learners.slots import Slots
from onkel.learners.support import Support, SupportSize
from onkel.models.rows_state import rows_from_state, rows_state
from onkel.models.state import State

if TYPE_CHECKING:
    from onkel.learners.budgeted import BudgetedLearner

L = TypeVar("L", bound="BudgetedLearner")

PER_SLOT = {"coef": np.float64, "k_ss": np.float64, "slot_row_ids": np.int64, "entered": np.int64}
PER_OUTPUT = ("sq_norms", "margin", "offset")
ARRAYS = (*PER_SLOT, *PER_OUTPUT, "record")


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
        "window": learner.ledger.size,
        "ledger_total": len(learner.ledger),
    }
    arrays = {name: np.array(getattr(learner, name)[..., :size], order="C") for name in PER_SLOT}
    arrays |= {name: getattr(learner, name).copy() for name in (*PER_OUTPUT, "record")}
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
    name, params = _setting(state, "rule", "name"), _setting(state, "rule", "params")
    if name not in rules.RULES:
        raise InputError(f"the state of a learner names the rule {name!r}, which is not declared; import its module.")
    return rules.RULES[name].with_params(**params)


def _named_policy(state: State) -> Policy:
    name = _setting(state, "policy", "name")
    if name not in policies.POLICIES:
        raise InputError(f"the state of a learner names the policy {name!r}, which is not known; import its module.")
    return policies.POLICIES[name](_setting(state, "policy", "budget"))


def _setting(state: State, name: str, key: str) -> Any:
    """A value of a setting that is a dict."""
    value: Any = state.settings.get(name)
    if key not in (value or ()):
        raise InputError(f"the state of a learner must have the setting {name} with {key}; got {value!r}.")
    return value[key]


def _restored(kind: type[L], state: State, rule: Rule, policy: Policy) -> L:
    """A learner with this rule and policy and the contents of a state."""
    norma: Any = state.settings.get("norma")
    rows = rows_from_state(state.part("rows"))
    _check_arrays(state, len(rows))
    learner = kind(
        state.kernel(),
        len(state.array("coef")),
        rule,
        policy,
        norma=None if norma is None else Regularised(**norma),
        margin=state.setting("first_margin", float),
    )
    vars(learner).update({name: np.array(state.array(name)) for name in ARRAYS})
    learner.K_slots = np.array(state.array("K_slots")) if "K_slots" in state.arrays else None
    window, length = state.setting("window", int), state.setting("ledger_total", int)
    learner.ledger = Window.of_arrays(state.arrays, "ledger/", window, length)
    learner.grown = Support.from_state(state.part("grown"))
    if len(rows):
        with Transaction() as change:
            learner.slots.put(np.arange(len(rows)), rows, change)
    return learner


def _check_arrays(state: State, size: int) -> None:
    """Refuses arrays that do not fit each other or the rows in the slots, because a state may come from a file."""
    coef, record = state.array("coef"), state.array("record")
    fits: Any = coef.ndim == 2 and coef.shape[1] == size and record.shape == (1,) and record.dtype == RECORD
    fits = fits and record["size"][0] == size and 0 <= record["head"][0] <= max(0, size - 1)
    for name, dtype in PER_SLOT.items():
        fits = fits and state.array(name).dtype == dtype and state.array(name).shape[-1:] == (size,)
    for name in PER_OUTPUT:
        fits = fits and state.array(name).dtype == np.float64 and state.array(name).shape == coef.shape[:1]
    fits = fits and ("K_slots" not in state.arrays or state.array("K_slots").shape == (size, size))
    if not fits:
        raise InputError(f"the arrays of the state of kind {state.kind!r} do not fit each other: {state!r}.")


# ---------------------------------------------------------------- pickles


def pickled(learner: BudgetedLearner) -> tuple[State, Rule | None, Policy | None]:
    """The state, and the rule and the policy themselves if a state cannot name them."""
    named = _is_named(learner)
    return _state(learner), None if named else learner.rule, None if named else learner.policy


def unpickled(kind: type[L], state: State, rule: Rule | None, policy: Policy | None) -> L:
    """The learner of what `pickled` has returned."""
    return _restored(kind, state, rule or _named_rule(state), policy or _named_policy(state))
