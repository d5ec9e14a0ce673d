"""Arrays of a Projectron: those of the examples that are being learned, and lower triangles."""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from onkel._core import aligned, aligned_empty
from onkel.states.state import State

__all__ = ["PartArrays", "entries_of", "triangle_of_state", "wider"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclasses.dataclass
class PartArrays:
    """Arrays of the b examples that are being learned; `room` is the allocated size of the support."""

    K: NDArray  # (b, room): kernel values with the support
    K_chunk: NDArray  # (b, b): with each other, on and below the diagonal; or (b, 1): k(x, x) only
    Z: Floats  # (b, room): their projections
    F: Floats  # (b, outputs): the score of each before it was learned
    steps: Floats  # (1, outputs): where the screening of a single example writes its steps
    added: Ints  # (b,): 1 where an example became a support vector

    @classmethod
    def empty(cls, b: int, room: int, n_outputs: int, dtype: np.dtype, *, full: bool = False) -> PartArrays:
        """Allocates the arrays. With `full` no example can become a support vector, and K_chunk is (b, 1)."""
        K_chunk = np.empty((b, 1 if full else b), dtype)
        K, Z = np.empty((b, room), dtype), aligned_empty((b, room), np.float64)
        return cls(K, K_chunk, Z, np.empty((b, n_outputs)), np.empty((1, n_outputs)), np.empty(b, dtype=np.int64))

    def fits(self, room: int, n_outputs: int, dtype: np.dtype) -> bool:
        """Whether the arrays have these sizes and this dtype."""
        return self.K.shape[1] == room and self.F.shape[1] == n_outputs and self.K.dtype == dtype


def wider(triangle: Floats, room: int) -> Floats:
    """An aligned copy of a lower triangle with this many rows and columns."""
    wide, old = aligned(np.zeros((room, room))), len(triangle)
    wide[:old, :old] = triangle
    return wide


def entries_of(triangle: Floats, m: int) -> Floats:
    """The first m rows of a lower triangle, one after the other up to the diagonal: m (m + 1) / 2 numbers."""
    return np.asarray(triangle[:m, :m][np.tri(m, dtype=bool)])


def triangle_of_state(state: State, name: str, m: int) -> Floats:
    """A lower triangle (m, m) whose `entries_of` a state holds."""
    triangle = np.zeros((m, m))
    triangle[np.tri(m, dtype=bool)] = state.array(name, np.float64, (m * (m + 1) // 2,))
    return triangle
