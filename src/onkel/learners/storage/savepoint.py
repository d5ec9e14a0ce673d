"""Savepoints: a learner at one moment, to which it can go back as often as it likes.

A learner says which of its attributes learning changes (`onkel.learners.learner.LearnerBase`). Its savepoint keeps each
of them in the way that suits its kind:

    a storage (support, slots, ledger …)   its own savepoint: sizes where it is only added to, copies where it is
                                           overwritten
    an array, or a record of counts        a copy, because it may be changed in place
    any other value                        itself, because it is replaced, never changed
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from onkel._core import _native
from onkel._core.transaction import Transaction

__all__ = ["CopySavepoint", "LearnerSavepoint", "StorageSavepoint", "copy_of"]


class StorageSavepoint(Protocol):
    """A storage at one moment."""

    def restored(self, change: Transaction) -> Any:
        """The storage as it was, when the transaction is committed."""


class CopySavepoint(NamedTuple):
    """A savepoint of what has a method `copy` and may be changed anywhere: a copy."""

    kept: Any

    def restored(self, change: Transaction) -> Any:
        """Another copy, so that this one stays as it is."""
        return self.kept.copy()


class LearnerSavepoint(NamedTuple):
    """The attributes of a learner that learning changes: storages, and values that are replaced, never changed."""

    storages: dict[str, StorageSavepoint]
    values: dict[str, Any]

    @classmethod
    def of(cls, attributes: Mapping[str, Any]) -> LearnerSavepoint:
        """A savepoint of these attributes."""
        found = cls({}, {})
        for name, value in attributes.items():
            if hasattr(value, "savepoint"):
                found.storages[name] = value.savepoint()
            elif isinstance(value, np.ndarray | _native.Counts):
                found.storages[name] = CopySavepoint(value.copy())
            else:
                found.values[name] = value
        return found

    def restored(self, change: Transaction) -> dict[str, Any]:
        """The attributes as they were, when the transaction is committed."""
        return {name: storage.restored(change) for name, storage in self.storages.items()} | self.values


def copy_of(value: Any) -> Any:
    """An independent copy of an attribute; the value itself if it has no method `copy`, as it then never changes."""
    return value.copy() if hasattr(value, "copy") else value
