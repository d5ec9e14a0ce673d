"""What states of the learner in bounded memory name: its rule, its policy, NORMA's additions, and the numbers.

A state names a rule and a policy, because functions and classes cannot be written. Whoever reads it must have imported
the module that declares them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from onkel._core import _native
from onkel.errors import InputError, KindError
from onkel.learners import policies, rules
from onkel.learners.counts import COUNTS
from onkel.learners.policies import Policy
from onkel.learners.rules import Regularised, Rule
from onkel.states.state import LARGEST_COUNT, State

__all__ = [
    "are_named",
    "built_settings",
    "check_named",
    "named_norma",
    "named_policy",
    "named_rule",
    "read_record",
    "record_setting",
]

# The numbers of the record by their names in states; `support_scale` was once called "spread".
FACTORS = {"scale": "scale", "spread": "support_scale", "Q": "Q", "M": "M", "shrink": "shrink"}
NUMBERS = {**FACTORS, **{name: name for name in ("size", "head", "random", *COUNTS)}}


def are_named(rule: Rule, policy: Policy) -> bool:
    """Whether a rule and a policy can be found again by their names."""
    known = rules.RULES.get(rule.name)
    named_as_known = known is not None and known.step is rule.step
    return named_as_known and policies.POLICIES.get(type(policy).__name__) is type(policy)


def check_named(rule: Rule, policy: Policy) -> None:
    """Refuses a rule or a policy that cannot be found again by its name."""
    if not are_named(rule, policy):
        raise KindError(
            "BudgetedLearner.state: a state names its rule and its policy, so the rule must be declared by the "
            f"decorator onkel.learners.rules.rule, and the name of the policy's class be its own; got {rule.name} and "
            f"{policy}."
        )


def built_settings(rule: Rule, policy: Policy, norma: Regularised | None) -> dict[str, Any]:
    """Rule, policy and NORMA's additions, as settings of a state."""
    return {
        "rule": {"name": rule.name, "params": dict(rule.values)},
        "policy": {"name": type(policy).__name__, "budget": policy.budget},
        "norma": None if norma is None else dataclasses.asdict(norma),
    }


def named_rule(state: State) -> Rule:
    """The rule that a state names."""
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


def named_policy(state: State) -> Policy:
    """The policy that a state names."""
    given = _dict(state, "policy", {"name", "budget"})
    name, budget = given["name"], given["budget"]
    if not isinstance(name, str) or name not in policies.POLICIES:
        raise InputError(f"the state of a learner names the policy {name!r:.80}, which is unknown; import its module.")
    policy = policies.POLICIES[name]
    if budget is not None or (policy in policies.NATIVE and policy is not policies.Grow):
        right = type(budget) is int and 1 <= budget <= LARGEST_COUNT and policy is not policies.Grow
        state.check(right, f"the budget of {name} must be a whole number >= 1, or None for Grow; got {budget!r:.80}")
    return policy(budget)


def named_norma(state: State, rule: Rule) -> Regularised | None:
    """NORMA's additions to the rule; None if it is not regularised."""
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


def record_setting(record: _native.BudgetRecord) -> dict[str, Any]:
    """The numbers, as a setting of a state."""
    return {name: getattr(record, attribute) for name, attribute in NUMBERS.items()}


def read_record(state: State, budget: int | None) -> _native.BudgetRecord:
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
