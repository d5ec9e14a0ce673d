"""Transactions: changes of several objects that take effect together or not at all.

A learner keeps its state in many attributes and arrays: support vectors, weights, counters, the ledger of its updates.
If they changed one after the other, a Ctrl-C, a failed allocation or a reader in another thread could meet a state
that is half old and half new. So a learner computes everything that is new first, beside the state that it has, and
then puts it in place with a single native call, which holds the GIL: no other thread runs and no signal is handled
until it is done.

    with Transaction() as change:
        self.ledger.add(steps, rounds, row_ids, change)      # or extend_to(…); nothing changes yet
        change.set(self, coef=coef, n_seen=n_seen)
    # now everything has changed
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native

__all__ = ["Transaction", "assign", "restore"]


class Transaction:
    """New attributes of objects and new rows of arrays, which `commit` puts in place all at once.

    As a context manager it commits at the end of the block, unless the block raises.
    """

    def __init__(self) -> None:
        self._attributes: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._copies: list[tuple[NDArray, NDArray, NDArray]] = []
        self._packs: list[tuple[NDArray, NDArray, NDArray]] = []
        self._rights: list[tuple[_native.Right32, int, NDArray]] = []

    def set(self, target: object, **attributes: Any) -> None:
        """Attributes that the target will have."""
        self._attributes.append((vars(target), attributes))

    def write_rows(self, array: NDArray, places: NDArray[np.int64], rows: NDArray) -> None:
        """Row i of `rows` will be written over row places[i] of the array; both are contiguous, of one dtype."""
        self._copies.append((array, places, rows))

    def pack_rows(self, panels: NDArray, places: NDArray[np.int64], rows: NDArray) -> None:
        """Row i of `rows` will be row places[i] of packed panels (cpp/product/types.h)."""
        self._packs.append((panels, places, rows))

    def replace_in(self, right: _native.Right32, place: int, row: NDArray) -> None:
        """Row `place` of a packed right-hand side will be `row` (1, d), which is also written into its panels."""
        self._rights.append((right, place, row))

    def commit(self) -> None:
        """Puts all changes in place."""
        _native.commit(self._attributes, self._copies, self._packs, self._rights)

    def __enter__(self) -> Transaction:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, traceback: object) -> None:
        if kind is None:
            self.commit()


def restore(target: object, attributes: dict[str, Any]) -> None:
    """Gives the target exactly these attributes and no others, at once."""
    _native.replace_all(vars(target), attributes)


def assign(target: object, **attributes: Any) -> None:
    """Sets attributes of one object, all at once: the light form of a transaction."""
    target.__dict__.update(attributes)
