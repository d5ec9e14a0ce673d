"""What learners count, in states: cpp/learn/counts.h has the record itself."""

from __future__ import annotations

from collections.abc import Iterable

from onkel._core import _native
from onkel.states.state import Setting, State

__all__ = ["COUNTS", "count_settings", "read_counts"]

COUNTS = ("n_seen", "n_mistakes", "n_updates", "next_row_id")  # what every learner counts


def count_settings(record: _native.Counts, names: Iterable[str] = COUNTS) -> dict[str, Setting]:
    """Some of the counts, as settings of a state."""
    return {name: getattr(record, name) for name in names}


def read_counts(state: State, record: _native.Counts, names: Iterable[str] = COUNTS) -> None:
    """Takes some of the counts from a state."""
    for name in names:
        setattr(record, name, state.count(name))
