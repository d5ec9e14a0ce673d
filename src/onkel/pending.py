"""Mistakes that some rows have not heard of yet."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onkel.kernels.rows import Rows, joined
from onkel.kernels.vectors import GrowingRows, VectorRows, grows

__all__ = ["PANEL", "Pending"]

PANEL = 32  # support vectors of a product come in multiples of this where they can


class Pending:
    """Mistakes in their order, with their rows packed for products: positions `who`, `steps` (m, machines).

    There is room for `most` of them, which takes memory only as they come.
    """

    def __init__(self, machines: int, most: int) -> None:
        self.most = most
        self.who = np.empty(0, dtype=np.int64)
        self.steps = np.empty((0, machines))
        self._rows: Rows | None = None

    def __len__(self) -> int:
        return len(self.who)

    def add(self, who: NDArray[np.int64], steps: NDArray[np.float64], rows: Rows) -> None:
        if self._rows is None and grows(rows):
            assert isinstance(rows, VectorRows)
            self._rows = GrowingRows(rows.n_features, rows.dtype, self.most)
        if isinstance(self._rows, GrowingRows):
            assert isinstance(rows, VectorRows)
            self._rows.append(rows)
        else:
            self._rows = rows if self._rows is None else joined([self._rows, rows])
        self.who, self.steps = np.concatenate([self.who, who]), np.concatenate([self.steps, steps])

    def part(self, start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.float64], Rows]:
        """Who, steps and rows from `start` to `stop`, and before them, with steps of 0, those of the same panel."""
        assert self._rows is not None
        begin = start - start % PANEL
        steps = self.steps[begin:stop].copy()
        steps[: start - begin] = 0.0
        return self.who[begin:stop], steps, self._rows[begin:stop]

    def forget(self, count: int) -> None:
        """The first so many have been heard of by all rows."""
        if isinstance(self._rows, GrowingRows):
            self._rows.forget(count)
        elif self._rows is not None:
            self._rows = self._rows[count:] if count < len(self) else None
        self.who, self.steps = self.who[count:], self.steps[count:]
