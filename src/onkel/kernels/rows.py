"""Rows that have passed the door, and what kernels have worked out about them.

A learner meets the same rows again and again; a `Rows` keeps what each meeting would compute
anew: norms, the packed panels of the compiled core, a sparse or dense copy, the columns or the
mapped rows of a composed kernel. Slices share memory, and carry the norms along.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["GramRows", "ObjectRows", "Rows", "joined"]

T = TypeVar("T")


class Rows:
    """A sequence of points; subclasses say of what kind."""

    dtype: np.dtype = np.dtype(np.float64)  # of kernel values on these rows

    def __init__(self) -> None:
        self._kept: dict[Hashable, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Without what is kept: a copy works it out anew."""
        return vars(self) | {"_kept": {}}

    def __len__(self) -> int:
        raise TypeError

    def __getitem__(self, index: slice | NDArray) -> Rows:
        raise TypeError

    @classmethod
    def joined(cls, blocks: Sequence[Any]) -> Rows:
        """Several blocks of one kind as one."""
        raise TypeError

    def compact(self) -> Rows:
        """The same rows, stored as they are best multiplied."""
        return self

    def reordered(self, order: NDArray[np.int64], spare: Rows | None = None) -> Rows:
        """The same rows in another order; in the memory of `spare`, of as many no longer needed, if it will do."""
        return self[order]

    def keep(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` gives, made once for these rows."""
        kept = self._kept.get(key, self)  # these rows: nothing that could be kept
        if kept is self:
            kept = self._kept[key] = make()
        return kept  # type: ignore[no-any-return]


class ObjectRows(Rows):
    """Strings, sets, anything: one object per row."""

    def __init__(self, objects: NDArray) -> None:
        super().__init__()
        self.objects = objects

    def __len__(self) -> int:
        return len(self.objects)

    def __getitem__(self, index: slice | NDArray) -> ObjectRows:
        return ObjectRows(self.objects[index])

    @classmethod
    def joined(cls, blocks: Sequence[ObjectRows]) -> ObjectRows:
        return ObjectRows(np.concatenate([block.objects for block in blocks]))


class GramRows(Rows):
    """Points known only by their kernel values with reference points.

    On the left of a product: a block of values (n, reference points). On the right: which of
    the reference points, as column numbers. Training points have both, and their own k(x, x).
    """

    def __init__(self, block: NDArray | None, columns: NDArray[np.intp] | None, diagonal: NDArray | None) -> None:
        super().__init__()
        self.block, self.columns, self.diagonal = block, columns, diagonal
        if block is not None:
            self.dtype = block.dtype

    def __len__(self) -> int:
        return len(self.block) if self.block is not None else len(self.columns)  # type: ignore[arg-type]

    def read(self, reference: GramRows) -> NDArray:
        """The values of these points with the reference points."""
        assert self.block is not None
        assert reference.columns is not None
        return self.block[:, reference.columns]

    def __getitem__(self, index: slice | NDArray) -> GramRows:
        return GramRows(
            None if self.block is None else self.block[index],
            None if self.columns is None else self.columns[index],
            None if self.diagonal is None else self.diagonal[index],
        )

    @classmethod
    def joined(cls, blocks: Sequence[GramRows]) -> GramRows:
        return GramRows(None, np.concatenate([block.columns for block in blocks if block.columns is not None]), None)


def joined(blocks: Sequence[Rows]) -> Rows:
    """Several blocks of one kind as one."""
    return blocks[0].joined(blocks)
