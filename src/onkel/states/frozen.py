"""The base class of values that never change, such as models."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod

import numpy as np

from onkel.states.state import State, read_only

__all__ = ["Frozen"]


@dataclasses.dataclass(frozen=True, eq=False)
class Frozen(ABC):
    """A value that never changes: a frozen dataclass whose arrays and rows are read-only.

    Two values are equal if they are of one class and their states are equal. They have no hash, because they hold
    arrays. The arrays are views, not copies, of those that were given: whoever makes a value must not change them
    later.
    """

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                object.__setattr__(self, field.name, read_only(value))
            elif hasattr(value, "read_only"):  # rows
                object.__setattr__(self, field.name, value.read_only())

    @abstractmethod
    def state(self) -> State:
        """The settings and arrays of which `from_state` makes an equal value; it shares the arrays."""

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        assert isinstance(other, Frozen)
        return self is other or self.state() == other.state()

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        # copies and pickles are made by the constructor, because an unpickled array can be written to
        return type(self), tuple(getattr(self, field.name) for field in dataclasses.fields(self))
