"""Groups of rows: the examples of a ranking learner are queries, and each query is a list of items.

A `Groups` stands where other learners have rows: its length is the number of queries, and a slice or an index array
selects queries. So epochs, parts and progress count queries, and no query is ever split.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.errors import KindError, ShapeError, ValuesError
from onkel.kernels.rows import Rows

__all__ = ["Groups", "grouped"]

Ints = NDArray[np.int64]


class Groups(Rows):
    """Queries: the items of each are consecutive rows, with a grade and an id each.

    Parameters
    ----------
    rows : the n items of all queries.
    starts : shape (queries + 1,): the items of query q are the rows starts[q] to starts[q + 1] − 1.
    grades : shape (n,), how good each item is for its query; larger is better.
    row_ids : shape (n,), the numbers under which the ledger and the support refer to the items.
    """

    def __init__(self, rows: Rows, starts: Ints, grades: NDArray[np.float64], row_ids: Ints) -> None:
        super().__init__()
        self.rows, self.starts, self.grades, self.row_ids = rows, starts, grades, row_ids
        self.dtype = rows.dtype

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, index: slice | NDArray) -> Groups:
        if isinstance(index, slice) and index.step in (None, 1):
            first, stop, _ = index.indices(len(self))
            part = slice(int(self.starts[first]), int(self.starts[max(first, stop)]))
            starts = self.starts[first : max(first, stop) + 1] - part.start
            return Groups(self.rows[part], starts, self.grades[part], self.row_ids[part])
        sizes, begins = np.diff(self.starts)[index], self.starts[:-1][index]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        items = np.repeat(begins - starts[:-1], sizes) + np.arange(starts[-1])
        return Groups(self.rows[items], starts, self.grades[items], self.row_ids[items])

    def with_rows(self, rows: Rows) -> Groups:
        """The same queries with other rows for their items."""
        return Groups(rows, self.starts, self.grades, self.row_ids)

    def teaching(self) -> NDArray[np.bool_]:
        """Which queries have items of more than one grade, shape (queries,); the others teach nothing."""
        if not len(self):
            return np.zeros(0, dtype=bool)
        first = self.starts[:-1]
        return np.maximum.reduceat(self.grades, first) > np.minimum.reduceat(self.grades, first)


def grouped(qid: Any, n: int, who: str) -> tuple[Ints, Ints]:
    """The order of n rows in which those of one query stand together, shape (n,), and the starts of the queries.

    Queries come in the order of their first rows, and the rows of a query stay in their order. `qid` is a label for
    each row, a number or a string; None: all rows are one query. `who` is the name of the caller, for messages.
    """
    if qid is None:
        return np.arange(n), np.array([0, n])
    labels = np.asarray(qid)
    if labels.shape != (n,):
        raise ShapeError(
            f"{who}: qid must have shape ({n},), the query of each row of X; got shape {labels.shape}. Repeat the "
            "label of a query for each of its rows."
        )
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValuesError(
            f"{who}: qid must name a query for each row; got NaN at row {int(np.isnan(labels).argmax())}."
        )
    numbers: dict[Any, int] = {}
    try:
        codes = np.array([numbers.setdefault(label, len(numbers)) for label in labels.tolist()], dtype=np.int64)
    except TypeError as error:
        raise KindError(f"{who}: qid must hold labels such as numbers or strings; {error}.") from error
    order = np.argsort(codes, kind="stable")
    return order, np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=len(numbers)))])
