"""Rows: checked input, together with a cache of what kernels have computed from it.

A learner uses the same rows many times. A `Rows` object therefore caches everything that would otherwise be computed
again at each use: norms, the packed panels of the compiled core, a sparse or dense copy, and the rows that a composed
kernel derives from it (selected columns, φ(x)). A contiguous slice shares the memory of its rows; slices and other
selections inherit the norms.

    VectorRows   rows of a dense or CSR matrix (onkel.kernels.vectors)
    ObjectRows   any Python objects
    GramRows     points that are known only by their kernel values
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from onkel.errors import ShapeError
from onkel.states.state import read_only

__all__ = ["NO_ROWS", "GramRows", "ObjectRows", "Rows", "joined"]

T = TypeVar("T")


class Rows:
    """A sequence of points; base class of the three kinds of rows."""

    dtype: np.dtype = np.dtype(np.float64)  # dtype of the kernel values of these rows

    def __init__(self) -> None:
        self._kept: dict[Hashable, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        """The cache is not copied or pickled; a copy fills its own."""
        return vars(self) | {"_kept": {}}

    def __len__(self) -> int:
        raise TypeError

    def __getitem__(self, index: slice | NDArray) -> Rows:
        raise TypeError

    @classmethod
    def joined(cls, blocks: Sequence[Any]) -> Rows:
        """Concatenates several blocks of rows of this class."""
        raise TypeError

    def wide(self) -> Rows:
        """The same rows in float64; only vectors may have another dtype."""
        return self

    def compact(self) -> Rows:
        """The same rows in the format, dense or CSR, whose product is faster."""
        return self

    def reordered(self, order: NDArray[np.int64], spare: Rows | None = None) -> Rows:
        """The same rows in another order.

        `spare` are rows of the same size that are no longer needed; their memory may be reused for the result.
        """
        return self[order]

    def read_only(self) -> Rows:
        """The same rows over the same memory, through read-only views; the cache is taken along."""
        raise TypeError

    def keep(self, key: Hashable, make: Callable[[], T]) -> T:
        """The cached value of `key`; calls `make` and caches its result if there is none yet.

        If several threads ask at once, some of them may compute the value in vain; all of them get a right one.
        """
        kept = self._kept.get(key, self)  # self is never cached, so it stands for "missing"
        if kept is self:
            kept = self._kept[key] = make()
        return kept  # type: ignore[no-any-return]


class ObjectRows(Rows):
    """One Python object per row: a string, a set or anything else."""

    def __init__(self, objects: NDArray) -> None:
        super().__init__()
        self.objects = objects

    def __len__(self) -> int:
        return len(self.objects)

    def __getitem__(self, index: slice | NDArray) -> ObjectRows:
        return ObjectRows(self.objects[index])

    def read_only(self) -> ObjectRows:
        rows = ObjectRows(read_only(self.objects))
        rows._kept = self._kept.copy()
        return rows

    @classmethod
    def joined(cls, blocks: Sequence[ObjectRows]) -> ObjectRows:
        return ObjectRows(np.concatenate([block.objects for block in blocks]))


NO_ROWS = ObjectRows(np.empty(0, dtype=object))  # the support of a learner that has no support vectors yet


class GramRows(Rows):
    """Points that are known only by their kernel values with reference points.

    On the left-hand side of a product, `block` holds the kernel values, shape (n, reference points). On the right-hand
    side, `columns` says which of the reference points the points are, as column indices. Training points have both, and
    `diagonal` holds their k(x, x).
    """

    def __init__(self, block: NDArray | None, columns: NDArray[np.intp] | None, diagonal: NDArray | None) -> None:
        super().__init__()
        self.block, self.columns, self.diagonal = block, columns, diagonal
        if block is not None:
            self.dtype = block.dtype

    def __len__(self) -> int:
        return len(self.block) if self.block is not None else len(self.columns)  # type: ignore[arg-type]

    def read(self, reference: GramRows) -> NDArray:
        """The kernel values of these points with the points `reference`."""
        assert self.block is not None
        assert reference.columns is not None
        try:
            return self.block[:, reference.columns]
        except IndexError:
            raise ShapeError(
                f"kernel values with {int(reference.columns.max()) + 1} points or more are needed; got those with "
                f"{self.block.shape[1]}."
            ) from None

    def __getitem__(self, index: slice | NDArray) -> GramRows:
        return GramRows(
            None if self.block is None else self.block[index],
            None if self.columns is None else self.columns[index],
            None if self.diagonal is None else self.diagonal[index],
        )

    def read_only(self) -> GramRows:
        given = (None if a is None else read_only(a) for a in (self.block, self.columns, self.diagonal))
        rows = GramRows(*given)
        rows._kept = self._kept.copy()
        return rows

    @classmethod
    def joined(cls, blocks: Sequence[GramRows]) -> GramRows:
        return GramRows(None, np.concatenate([block.columns for block in blocks if block.columns is not None]), None)


def joined(blocks: Sequence[Rows]) -> Rows:
    """Concatenates several blocks of rows of the same class."""
    return blocks[0].joined(blocks)
