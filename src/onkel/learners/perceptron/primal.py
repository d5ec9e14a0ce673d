"""What the learners that keep a weight vector share: the rows as the core takes them, and how many at a time.

The core takes the rows as data, indptr and indices; dense rows have only data.
"""

from __future__ import annotations

from numpy.typing import NDArray

from onkel.kernels.vectors import VectorRows
from onkel.learners.ledger import Window

__all__ = ["core_rows", "most_rows", "new_ledger"]

CHUNK_VALUES = 1 << 22  # rows × weights of one native call, which then takes a fraction of a second
CHUNK_ROWS = 4096  # rows of one native call, at most
WINDOW = 100_000  # updates that the ledger keeps


def new_ledger() -> Window:
    """The ledger of a learner that needs none of its updates, and so keeps the last ones only."""
    return Window(WINDOW)


def core_rows(rows: VectorRows) -> tuple[NDArray, NDArray | None, NDArray | None]:
    """The values of dense or CSR rows, their indptr and their indices, as the core takes them."""
    if rows.is_dense:
        return rows.dense().ravel(), None, None
    csr = rows.csr()
    return csr.data, csr.indptr, csr.indices


def most_rows(n_weights: int) -> int:
    """How many rows one native call should have if it visits so many weights for each."""
    return max(1, min(CHUNK_ROWS, CHUNK_VALUES // max(1, n_weights)))
