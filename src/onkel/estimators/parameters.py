"""Parameters that several online estimators have: their checks, and what follows from them."""

from __future__ import annotations

from typing import Any

from sklearn.utils import check_random_state

from onkel.checks import check_integer

__all__ = ["check_budget", "seed_of"]


def check_budget(budget: Any, name: str, *, none: bool = False) -> None:
    """Refuses a budget that is not a whole number ≥ 1; with `none`, None is allowed, too."""
    if budget is not None or not none:
        check_integer(budget, "budget", name, at_least=1)


def seed_of(random_state: Any) -> int:
    """A seed for the learner's own random numbers."""
    return int(check_random_state(random_state).randint(2**31 - 1))
