"""The working set: the variables whose pairs a round moves, and their kernel values with each other.

The set of a round has the later half of the set of the round before, and the variables that violate most. A problem of
up to `WHOLE` variables is one set; of a larger one, a set has `WORKING` variables, or fewer if the cache for their
kernel values is too small.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from onkel.kernels.tiles import fill
from onkel.solvers.svm.problem import Problem, Slopes

__all__ = ["BLOCK_STEP", "WorkingSet", "largest"]

WORKING = 2048  # variables of a working set; twice as many if more than WORKING variables are between their bounds
LEAST = 16  # variables of a working set, however small the cache is
WHOLE = 4096  # a problem of at most this many variables is one working set
BLOCK_STEP = 32  # rows of K have a multiple of this many values: kBlockStep in cpp/target/target.h


class WorkingSet:
    """The working set of a problem; empty until `choose` is called.

    Parameters
    ----------
    problem : the problem.
    cache_bytes : memory for the kernel values.

    Attributes
    ----------
    variables : the variables of the set, (q,).
    K : their kernel values with each other, in the first q rows and columns; the rest is unspecified.
    """

    def __init__(self, problem: Problem, cache_bytes: float) -> None:
        self._cache_bytes = cache_bytes
        self.restart(problem, WHOLE if len(problem.z) <= WHOLE else WORKING)

    def restart(self, problem: Problem, size: int | None = None) -> None:
        """Empties the set, for a problem with the same variables; `size` limits the set, None: as it was limited."""
        self._problem = problem
        self.variables = np.empty(0, dtype=np.int64)
        self._make_room(self._size if size is None else size)

    def __len__(self) -> int:
        return len(self.variables)

    @property
    def is_whole(self) -> bool:
        """Whether every variable of the problem is in the set."""
        return len(self.variables) == len(self._problem.z)

    def largest_square(self) -> float:
        """The largest |k(x, x)| in the set; 0 if it is empty."""
        return float(np.abs(np.diagonal(self.K)).max(initial=0.0))

    def choose(self, now: Slopes, live: NDArray[np.bool_] | None) -> None:
        """Chooses the variables, and computes their kernel values. With `live` (N,), only these variables stay."""
        if self.is_whole:
            return
        if self._size == WORKING and np.count_nonzero(now.grows & now.shrinks) > WORKING:
            self._make_room(2 * WORKING)
        self.variables = self._chosen(now, live)
        self._fill(self.K[: len(self), : len(self)])

    def _chosen(self, now: Slopes, live: NDArray[np.bool_] | None) -> NDArray[np.int64]:
        """The later half of the last set, and the variables that violate most."""
        count = len(self._problem.z)
        if self._size >= count:
            return np.arange(count)
        kept = self.variables[-(self._size // 2) :]
        if live is not None:
            kept = kept[live[kept]]
        free = np.ones(count, dtype=bool)
        free[kept] = False
        wanted = (self._size - len(kept)) // 2
        top = largest(now.v, np.flatnonzero(now.grows & free & (now.v > now.bottom)), wanted)
        free[top] = False
        bottom = largest(-now.v, np.flatnonzero(now.shrinks & free & (now.v < now.top)), wanted)
        return np.concatenate([kept, top, bottom])

    def _make_room(self, size: int) -> None:
        """Makes room for the kernel values of a set of `size` variables, as far as the cache allows."""
        p = self._problem
        values = int(self._cache_bytes) // p.rows.dtype.itemsize
        if len(p.z) > len(p.rows):  # in regression: room for the kernel values of the rows and of the variables
            values = 4 * values // 5
        self._size = min(size, len(p.z), max(LEAST, math.isqrt(values) - 2 * BLOCK_STEP))
        stride = -(-self._size // BLOCK_STEP) * BLOCK_STEP + BLOCK_STEP  # not a power of two, unlike most sizes
        self.K = np.zeros((self._size, stride), dtype=p.rows.dtype)

    def _fill(self, K: NDArray) -> None:
        """Computes the kernel values of the variables with each other."""
        p = self._problem
        if len(self) == len(p.rows) == len(p.z):
            if p.gram is not None:
                p.gram(K)
            else:
                fill(p.kernel, p.rows, p.rows, K, kept=False)
            return
        which, place = np.unique(p.row[self.variables], return_inverse=True)
        if len(which) == len(place):
            chosen = p.rows[p.row[self.variables]]
            fill(p.kernel, chosen, chosen, K, kept=False)
            return
        chosen = p.rows if len(which) == len(p.rows) else p.rows[which]
        once = np.empty((len(which), len(which)), dtype=K.dtype)  # in regression a row may be there twice
        fill(p.kernel, chosen, chosen, once, kept=False)
        for i, row in enumerate(place):
            np.take(once[row], place, out=K[i])


def largest(values: NDArray[np.float64], of: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """The `count` indices among `of` with the largest values."""
    if len(of) <= count or count == 0:
        return of[:count]
    chosen: NDArray[np.int64] = of[np.argpartition(values[of], len(of) - count)[len(of) - count :]]
    return chosen
