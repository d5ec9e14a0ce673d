"""Rows that have passed the door, and what kernels have worked out about them.

A learner meets the same rows again and again; a `Rows` keeps what each meeting would compute
anew: norms, the packed panels of the compiled core, a sparse or dense copy, the columns or the
mapped rows of a composed kernel. Slices share memory, and carry the norms along.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple, TypeVar

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from onkel._core import PANEL_BYTES, _native, aligned_empty, thread_count

__all__ = ["Csr", "GramRows", "ObjectRows", "Panels", "Rows", "VectorRows"]

T = TypeVar("T")

# Rows with fewer non-zeros than this part of their features are multiplied as sparse rows:
# one sparse entry costs about as much as three dense ones (benchmarks/products.py).
SPARSE_BELOW = 0.35


SMALL_COPY = 1 << 17  # entries below which a second thread costs more than it brings
# Up to so many features a panel holds all of them; with more, only those that occur in its rows.
FEW_FEATURES = 4096


class Csr(NamedTuple):
    """CSR rows as the core takes them."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray


class Panels(NamedTuple):
    """Rows as the right-hand side of a product: engine.h, Panels."""

    values: NDArray  # (panels, depth, columns of a panel)
    columns: int
    slots: NDArray[np.int32] | None
    features: NDArray[np.int32] | None

    def padded(self, aux: NDArray | None) -> NDArray | None:
        """One number per row, with zeros up to whole panels."""
        if aux is None:
            return None
        padded = np.zeros(self.values.shape[0] * self.values.shape[2], dtype=self.values.dtype)
        padded[: len(aux)] = aux
        return padded


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


class VectorRows(Rows):
    """Rows of a dense or CSR matrix that has passed `checks.check_matrix`, or of a `Csr`."""

    def __init__(self, matrix: Any, n_features: int | None = None) -> None:
        super().__init__()
        self._dense: NDArray | None = None
        self._csr: Csr | None = None
        self.n_features: int
        if isinstance(matrix, np.ndarray):
            self._dense, self.n_features, self.dtype = np.asarray(matrix), matrix.shape[1], matrix.dtype
        elif isinstance(matrix, Csr):
            assert n_features is not None
            self._csr, self.n_features, self.dtype = matrix, n_features, matrix.data.dtype
        else:
            self._csr = Csr(
                matrix.indptr.astype(np.int64, copy=False),
                matrix.indices.astype(np.int32, copy=False),
                np.ascontiguousarray(matrix.data),
            )
            self.n_features, self.dtype = int(matrix.shape[1]), matrix.dtype

    def __len__(self) -> int:
        return len(self._dense) if self._dense is not None else len(self.csr().indptr) - 1

    @property
    def matrix(self) -> Any:
        """The rows as a user knows them: an array, or a CSR matrix."""
        if self._dense is not None:
            return self._dense
        indptr, indices, data = self.csr()
        shape = (len(self), self.n_features)
        return self.keep("matrix", lambda: sp.csr_array((data, indices, indptr), shape=shape))

    @property
    def stored_values(self) -> NDArray:
        """All values of dense rows, the stored ones of CSR rows."""
        return self.csr().data if self._dense is None else self._dense

    def work(self, *, sparse: bool = False) -> float:
        """Roughly the multiply-adds of a kernel value with one of these rows, 16 of them for its map."""
        return 16.0 + (self.csr().data if sparse else self.stored_values).size / len(self)

    def __getitem__(self, index: slice | NDArray) -> VectorRows:
        if self._dense is not None:
            rows = VectorRows(np.ascontiguousarray(self._dense[index]))
        else:
            rows = VectorRows(_csr_part(self.csr(), index), self.n_features)
        return self._told(rows, index)

    def reordered(self, order: NDArray[np.int64], spare: Rows | None = None) -> VectorRows:
        if not isinstance(spare, VectorRows):
            return self[order]
        if self._dense is not None:
            return self._told(VectorRows(np.take(self._dense, order, axis=0, out=spare.dense(), mode="clip")), order)
        return self._told(VectorRows(_csr_rows(self.csr(), order, spare.csr()), self.n_features), order)

    def _told(self, rows: VectorRows, index: slice | NDArray) -> VectorRows:
        """Some of these rows, told what is known of them."""
        if "squared norms" in self._kept:
            rows._kept["squared norms"] = self.squared_norms()[index]
        if "is sparse" in self._kept:
            rows._kept["is sparse"] = self.is_sparse()
        return rows

    @property
    def is_dense(self) -> bool:
        """Whether the rows are stored as a dense array."""
        return self._dense is not None

    @classmethod
    def joined(cls, blocks: list[VectorRows]) -> VectorRows:
        """Several blocks as one; CSR only if all are."""
        if any(block.is_dense for block in blocks):
            return VectorRows(np.concatenate([block.dense() for block in blocks]))
        parts = [block.csr() for block in blocks]
        ends = np.cumsum([0, *(part.indptr[-1] for part in parts)])
        indptr = np.concatenate([[0], *(part.indptr[1:] + end for part, end in zip(parts, ends, strict=False))])
        csr = Csr(indptr, np.concatenate([p.indices for p in parts]), np.concatenate([p.data for p in parts]))
        return VectorRows(csr, blocks[0].n_features)

    def astype(self, dtype: np.dtype) -> VectorRows:
        """The same rows in another dtype; themselves if it is theirs."""
        return self if dtype == self.dtype else VectorRows(self.matrix.astype(dtype))

    def widened(self, n_features: int) -> VectorRows:
        """The same rows with more features, all 0."""
        if self._dense is None:
            return VectorRows(self.csr(), n_features)
        wide = np.zeros((len(self), n_features), dtype=self.dtype)
        wide[:, : self.n_features] = self._dense
        return VectorRows(wide)

    def compact(self) -> VectorRows:
        """CSR, in memory of its own, where they are dense and that is the faster product."""
        return VectorRows(self._compressed(), self.n_features) if self._dense is not None and self.is_sparse() else self

    def squared_norms(self) -> NDArray[np.float64]:
        """|x|² of each row, in float64; the same bits from dense and CSR rows."""
        return self.keep("squared norms", self._squared_norms)

    def _squared_norms(self) -> NDArray[np.float64]:
        norms = np.empty(len(self))
        if self._dense is None:
            csr = self.csr()
            _native.squared_norms_csr(csr.indptr, csr.indices, csr.data, norms)
        else:
            _native.squared_norms_dense(self._dense, norms)
        return norms

    def is_sparse(self) -> bool:
        """Whether so few values are not zero that the sparse product is the faster one."""
        return self.keep("is sparse", self._is_sparse)

    def _is_sparse(self) -> bool:
        stored = self.csr().data.size if self._dense is None else self._nonzero_counts().sum()
        return bool(stored < SPARSE_BELOW * len(self) * self.n_features)

    def _nonzero_counts(self) -> NDArray[np.int64]:
        def count() -> NDArray[np.int64]:
            assert self._dense is not None
            counts = np.empty(len(self), dtype=np.int64)
            _native.count_nonzeros(self._dense, counts)
            return counts

        return self.keep("non-zero counts", count)

    def csr(self) -> Csr:
        """The rows in CSR, converted once where they are dense."""
        return self._csr if self._csr is not None else self.keep("csr", self._compressed)

    def _compressed(self) -> Csr:
        assert self._dense is not None
        indptr = np.zeros(len(self) + 1, dtype=np.int64)
        np.cumsum(self._nonzero_counts(), out=indptr[1:])
        count = int(indptr[-1])
        indices = np.empty(count + 1, dtype=np.int32)  # pack.h, compress_row: room for one more
        data = np.empty(count + 1, dtype=self.dtype)
        _native.compress_rows(self._dense, indptr, indices, data)
        return Csr(indptr, indices[:count], data[:count])

    def dense(self) -> NDArray:
        """The rows as a dense array, converted once where they are CSR."""
        if self._dense is not None:
            return self._dense
        return self.keep("dense", lambda: np.ascontiguousarray(self.matrix.toarray()))

    def panels(self, for_sparse: bool) -> Panels:
        """The rows packed for the right-hand side of a dense or a sparse product."""
        return self.keep(("panels", for_sparse), lambda: self._panels(for_sparse))

    def _panels(self, for_sparse: bool) -> Panels:
        width = PANEL_BYTES // self.dtype.itemsize
        count = -(-len(self) // width)
        if self._dense is not None:
            values = aligned_empty((count, self.n_features, width), self.dtype)
            _native.pack_dense(self._dense, values)
            return Panels(values, len(self), None, None)
        csr = self.csr()
        features = slots = None
        depth = self.n_features
        if for_sparse and depth > FEW_FEATURES:  # only those that occur: the panel stays small
            occurs = np.zeros(self.n_features, dtype=bool)
            occurs[csr.indices] = True
            features = np.flatnonzero(occurs).astype(np.int32)
            depth = len(features)
            slots = np.full(self.n_features, -1, dtype=np.int32)
            slots[features] = np.arange(len(features), dtype=np.int32)
        values = aligned_empty((count, depth, width), self.dtype)
        _native.pack_csr(csr.indptr, csr.indices, csr.data, slots, values)
        return Panels(values, len(self), slots, features)


def _csr_part(csr: Csr, index: slice | NDArray) -> Csr:
    """Some rows: a slice shares the memory of its entries."""
    if isinstance(index, slice) and index.step in (None, 1):
        start, stop, _ = index.indices(len(csr.indptr) - 1)
        begin, end = csr.indptr[start], csr.indptr[max(start, stop)]
        return Csr(csr.indptr[start : max(start, stop) + 1] - begin, csr.indices[begin:end], csr.data[begin:end])
    return _csr_rows(csr, np.arange(len(csr.indptr) - 1)[index])


def _csr_rows(csr: Csr, chosen: NDArray[np.int64], spare: Csr | None = None) -> Csr:
    """The chosen rows, one after the other, in new memory or in that of as many entries that can be spared."""
    indptr = np.zeros(len(chosen) + 1, dtype=np.int64)
    np.cumsum(csr.indptr[chosen + 1] - csr.indptr[chosen], out=indptr[1:])
    if spare is None:
        spare = Csr(indptr, np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1], dtype=csr.data.dtype))
    part = Csr(indptr, spare.indices, spare.data)
    _native.take_csr(*csr, chosen, *part, thread_count() if indptr[-1] > SMALL_COPY else 1)
    return part
