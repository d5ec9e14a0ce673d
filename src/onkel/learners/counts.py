"""What the learners that keep a weight vector share: a record of counts that the core changes, and a window of updates.

The core takes the counts as bytes, and the rows as data, indptr and indices; dense rows have only data.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from onkel.kernels.vectors import VectorRows
from onkel.learners.learner import LearnerBase
from onkel.learners.ledger import Window
from onkel.states.state import Setting, State

__all__ = ["CHUNK_ROWS", "CHUNK_VALUES", "CountedLearner", "core_rows"]

CHUNK_VALUES = 1 << 22  # rows × features × outputs of one native call, which then takes a fraction of a second
CHUNK_ROWS = 4096  # rows of one native call, at most
WINDOW = 100_000  # updates that the ledger keeps


class CountedLearner(LearnerBase):
    """The base of learners whose counts are one record, and whose ledger keeps the last `WINDOW` updates."""

    COUNTS: ClassVar[np.dtype[Any]]  # the fields that the core counts, n_seen and next_row_id first

    def __init__(self) -> None:
        self.counts = np.zeros(1, dtype=self.COUNTS)
        self.ledger = Window(WINDOW)

    @property
    def n_seen(self) -> int:
        return int(self.counts["n_seen"][0])

    @property
    def next_row_id(self) -> int:
        return int(self.counts["next_row_id"][0])

    def skip_to(self, row_id: int) -> None:
        """Rows up to this id were given but left out: `next_row_id` is at least `row_id`."""
        counts = self.counts.copy()  # a savepoint may hold the record itself
        counts["next_row_id"] = max(self.next_row_id, row_id)
        self.counts = counts

    def _counted(self) -> dict[str, Setting]:
        """The counts, and the size of the ledger, as the settings of a state."""
        counts: dict[str, Setting] = {name: int(self.counts[name][0]) for name in self.COUNTS.names or ()}
        return counts | {"window": self.ledger.size, "ledger_total": len(self.ledger)}

    def _read_counted(self, state: State, n_outputs: int) -> None:
        """Takes the counts and the ledger from a state."""
        for name in self.COUNTS.names or ():
            self.counts[name] = state.count(name)
        self.ledger = Window.of_state(state, "ledger/", n_outputs, self.n_seen)


def core_rows(rows: VectorRows) -> tuple[NDArray, NDArray | None, NDArray | None]:
    """The values of dense or CSR rows, their indptr and their indices, as the core takes them."""
    if rows.is_dense:
        return rows.dense().ravel(), None, None
    csr = rows.csr()
    return csr.data, csr.indptr, csr.indices
