"""A uniform sample of a stream of rows that does not depend on how the stream is cut into chunks.

Row number i of the stream gets the i-th random number of a generator, and the rows with the smallest numbers are the
sample: every set of that size is equally likely, and only the sample itself must be kept. The generator can be set
forward to any row, so that the seed and the number of rows seen say everything about it.
"""

from __future__ import annotations

import dataclasses
from typing import Self

import numpy as np
from numpy.typing import NDArray

from onkel.kernels.rows import Rows, joined

__all__ = ["Reservoir"]


@dataclasses.dataclass(frozen=True, eq=False)
class Reservoir:
    """Up to `size` rows of a stream, uniformly without replacement; `add` returns the sample after more rows.

    Parameters
    ----------
    size : ≥ 1, the number of rows to keep.
    seed : the seed of the random numbers.
    n_seen : the number of rows of the stream so far.
    rows : the rows kept, in ascending order of their random numbers; None if there are none yet.
    row_ids, keys : their numbers in the stream and their random numbers, shape (rows,).
    """

    size: int
    seed: int
    n_seen: int = 0
    rows: Rows | None = None
    row_ids: NDArray[np.int64] = dataclasses.field(default_factory=lambda: np.empty(0, dtype=np.int64))
    keys: NDArray[np.float64] = dataclasses.field(default_factory=lambda: np.empty(0))

    @property
    def kept(self) -> Rows:
        """The rows of the sample, of which there must be some."""
        assert self.rows is not None
        return self.rows

    def add(self, rows: Rows) -> Self:
        """The sample of the stream that goes on with these rows; it shares no memory with them."""
        drawn = np.random.Generator(np.random.PCG64(self.seed).advance(self.n_seen)).random(len(rows))
        limit = self.keys[-1] if len(self.keys) == self.size else np.inf
        new = np.flatnonzero(drawn < limit)
        if len(new) > self.size:
            new = np.sort(new[np.argpartition(drawn[new], self.size)[: self.size]])
        keys = np.concatenate([self.keys, drawn[new]])
        order = np.argsort(keys, kind="stable")[: self.size]
        n_seen, known = self.n_seen + len(rows), len(self.keys)
        if known and (order < known).all():
            return dataclasses.replace(self, n_seen=n_seen)
        row_ids = np.concatenate([self.row_ids, self.n_seen + new])[order]
        both = rows[new] if self.rows is None else joined([self.rows, rows[new]])
        return dataclasses.replace(self, n_seen=n_seen, rows=both[order], row_ids=row_ids, keys=keys[order])
