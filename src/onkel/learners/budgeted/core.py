"""What the compiled core needs to learn in bounded memory: settings, an object for single examples, and room."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native
from onkel.kernels.vectors import GrowingRows
from onkel.learners import policies, rules
from onkel.learners.policies import Policy
from onkel.learners.rules import Regularised, Rule

__all__ = ["One", "native_settings", "with_room"]


class One(NamedTuple):
    """The core's object that learns single examples in the learner's arrays, with the rows in the slots."""

    rows: GrowingRows
    K: NDArray  # (1, slots): where it reads the kernel values of the example with the slots
    native: _native.BudgetOne32


def native_settings(rule: Rule, policy: Policy, norma: Regularised | None) -> _native.BudgetSettings | None:
    """Rule, policy and parameters as the core takes them; None if it has no twin of the rule or the policy."""
    if all(twin.step is not rule.step for twin in rules.NATIVE) or type(policy) not in policies.NATIVE:
        return None
    norma, values = norma or Regularised(0.0, 0.0, None, "constant", False), rule.values
    return _native.budget_settings(
        rule=rule.name,
        policy=type(policy).__name__,
        budget=policy.budget,
        C=values.get("C", 1.0),
        epsilon=values.get("epsilon", 0.0),
        eta=norma.eta,
        lam=norma.lam,
        nu=np.nan if norma.nu is None else norma.nu,
        root_schedule=norma.schedule == "sqrt",
        intercept=norma.intercept,
    )


def with_room(array: NDArray, size: int, cap: int) -> NDArray:
    """A copy with room for `cap` slots along the last axis, of which the first `size` are in use; the others are 0."""
    if array.shape[-1] == cap:
        return array.copy()
    longer = np.zeros((*array.shape[:-1], cap), dtype=array.dtype)
    longer[..., :size] = array[..., :size]
    return longer
