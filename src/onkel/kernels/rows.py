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

from onkel._core import PANEL_BYTES, _native, aligned_empty

__all__ = ["Csr", "GramRows", "ObjectRows", "Panels", "Rows", "VectorRows"]

T = TypeVar("T")

# Rows with fewer non-zeros than this part of their features are multiplied as sparse rows:
# one sparse entry costs about as much as three dense ones (benchmarks/products.py).
SPARSE_BELOW = 0.35


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

    def __len__(self) -> int:
        raise TypeError

    def __getitem__(self, index: slice | NDArray) -> Rows:
        raise TypeError

    def keep(self, key: Hashable, make: Callable[[], T]) -> T:
        """What `make` gives, made once for these rows."""
        if key not in self._kept:
            self._kept[key] = make()
        return self._kept[key]  # type: ignore[no-any-return]


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
    the reference points, as column numbers.
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
    """Rows of a dense or CSR matrix that has passed `checks.check_matrix`."""

    def __init__(self, matrix: NDArray | sp.csr_array) -> None:
        super().__init__()
        self.matrix: Any = matrix
        self.dtype = matrix.dtype

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.matrix.shape[1])

    def __getitem__(self, index: slice | NDArray) -> VectorRows:
        part = self.matrix[index]
        rows = VectorRows(part if sp.issparse(part) else np.ascontiguousarray(part))
        if "squared norms" in self._kept:
            rows._kept["squared norms"] = self.squared_norms()[index]
        if "is sparse" in self._kept:
            rows._kept["is sparse"] = self.is_sparse()
        csr = self._kept.get("csr")
        if csr is not None and not sp.issparse(self.matrix) and isinstance(index, slice) and index.step in (None, 1):
            start, stop, _ = index.indices(len(self))
            rows._kept["csr"] = _csr_slice(csr, start, stop)
        return rows

    def squared_norms(self) -> NDArray[np.float64]:
        """|x|² of each row, in float64; the same bits from dense and CSR rows."""
        return self.keep("squared norms", self._squared_norms)

    def _squared_norms(self) -> NDArray[np.float64]:
        norms = np.empty(len(self))
        if sp.issparse(self.matrix):
            csr = self.csr()
            _native.squared_norms_csr(csr.indptr, csr.indices, csr.data, norms)
        else:
            _native.squared_norms_dense(self.matrix, norms)
        return norms

    def is_sparse(self) -> bool:
        """Whether so few values are not zero that the sparse product is the faster one."""
        return self.keep("is sparse", self._is_sparse)

    def _is_sparse(self) -> bool:
        size = len(self) * self.n_features
        if sp.issparse(self.matrix):
            return bool(self.matrix.nnz < SPARSE_BELOW * size)
        return bool(self._nonzero_counts().sum() < SPARSE_BELOW * size)

    def _nonzero_counts(self) -> NDArray[np.int64]:
        def count() -> NDArray[np.int64]:
            counts = np.empty(len(self), dtype=np.int64)
            _native.count_nonzeros(self.matrix, counts)
            return counts

        return self.keep("non-zero counts", count)

    def csr(self) -> Csr:
        """The rows in CSR, converted once where they are dense."""
        return self.keep("csr", self._csr)

    def _csr(self) -> Csr:
        matrix = self.matrix
        if sp.issparse(matrix):
            return Csr(
                matrix.indptr.astype(np.int64, copy=False),
                matrix.indices.astype(np.int32, copy=False),
                np.ascontiguousarray(matrix.data),
            )
        indptr = np.zeros(len(self) + 1, dtype=np.int64)
        np.cumsum(self._nonzero_counts(), out=indptr[1:])
        count = int(indptr[-1])
        indices = np.empty(count + 1, dtype=np.int32)  # pack.h, compress_row: room for one more
        data = np.empty(count + 1, dtype=self.dtype)
        _native.compress_rows(matrix, indptr, indices, data)
        return Csr(indptr, indices[:count], data[:count])

    def dense(self) -> NDArray:
        """The rows as a dense array, converted once where they are CSR."""
        if sp.issparse(self.matrix):
            return self.keep("dense", lambda: np.ascontiguousarray(self.matrix.toarray()))
        return np.asarray(self.matrix)

    def panels(self, for_sparse: bool) -> Panels:
        """The rows packed for the right-hand side of a dense or a sparse product."""
        return self.keep(("panels", for_sparse), lambda: self._panels(for_sparse))

    def _panels(self, for_sparse: bool) -> Panels:
        width = PANEL_BYTES // self.dtype.itemsize
        count = -(-len(self) // width)
        if not sp.issparse(self.matrix):
            values = aligned_empty((count, self.n_features, width), self.dtype)
            _native.pack_dense(self.matrix, values)
            return Panels(values, len(self), None, None)
        csr = self.csr()
        features = slots = None
        depth = self.n_features
        if for_sparse:  # only the features that occur: the panel stays small however many there are
            features = np.unique(csr.indices)
            depth = len(features)
            slots = np.full(self.n_features, -1, dtype=np.int32)
            slots[features] = np.arange(len(features), dtype=np.int32)
        values = aligned_empty((count, depth, width), self.dtype)
        _native.pack_csr(csr.indptr, csr.indices, csr.data, slots, values)
        return Panels(values, len(self), slots, features)


def _csr_slice(csr: Csr, start: int, stop: int) -> Csr:
    begin, end = csr.indptr[start], csr.indptr[stop]
    return Csr(csr.indptr[start : stop + 1] - begin, csr.indices[begin:end], csr.data[begin:end])
