"""Rows of numbers, for kernels that take vectors.

The classes are:

    VectorRows     rows of a dense or CSR matrix, with a cache of norms, packed panels and the other format
    GrowingRows    dense rows to which a learner appends and which it overwrites in place
    Csr, Panels    CSR rows and packed rows, in the layout of the compiled core
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from onkel._core import PANEL_BYTES, _native, aligned, aligned_empty, aligned_zeros, thread_count
from onkel._core.transaction import Transaction
from onkel.kernels.precision import narrow
from onkel.kernels.rows import Rows
from onkel.states.state import read_only

__all__ = ["FEW_FEATURES", "Csr", "GrowingRows", "Panels", "VectorRows", "grows"]

# Rows take the sparse product if the fraction of their values that are not zero is below this: one sparse entry costs
# about as much as three dense ones (benchmarks/products.py).
SPARSE_BELOW = 0.35

SMALL_COPY = 1 << 17  # CSR copies of fewer entries run in one thread

# For sparse products with more features than this, panels hold only the features that occur in their rows.
FEW_FEATURES = 4096

RIGHTS = (_native.Right32, _native.Right64)  # types of a packed right-hand side: onkel.kernels.product


class Csr(NamedTuple):
    """CSR rows with the index types of the compiled core."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    data: NDArray


class Panels(NamedTuple):
    """Packed rows, the right-hand side of a product: cpp/product/types.h, Panels."""

    values: NDArray  # (panels, features in a panel, rows in a panel)
    columns: int  # number of rows, without the padding of the last panel
    slots: NDArray[np.int32] | None  # position of each feature in a panel, or −1; None: panels hold all features
    features: NDArray[np.int32] | None  # feature at each position of a panel; None: panels hold all features

    def padded(self, aux: NDArray | None) -> NDArray | None:
        """`aux`, one number per row, padded with zeros to whole panels."""
        if aux is None:
            return None
        padded = np.zeros(self.values.shape[0] * self.values.shape[2], dtype=self.values.dtype)
        padded[: len(aux)] = aux
        return padded


class VectorRows(Rows):
    """Rows of a dense or CSR matrix from `onkel.checks.check_matrix`, or of a `Csr` with `n_features` columns."""

    def __init__(self, matrix: Any, n_features: int | None = None) -> None:
        self._kept = {}  # what Rows.__init__ does; its call would take a third of the time for a single row
        self._dense: NDArray | None = None
        self._csr: Csr | None = None
        self.n_features: int
        if isinstance(matrix, np.ndarray):
            self._dense = matrix if type(matrix) is np.ndarray else np.asarray(matrix)
            self.n_features, self.dtype = matrix.shape[1], matrix.dtype
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
        """The rows as a NumPy array or a SciPy CSR array."""
        if self._dense is not None:
            return self._dense
        indptr, indices, data = self.csr()
        shape = (len(self), self.n_features)
        return self.keep("matrix", lambda: sp.csr_array((data, indices, indptr), shape=shape))

    @property
    def stored_values(self) -> NDArray:
        """The values of the rows; those of CSR rows without the zeros that are not stored."""
        return self.csr().data if self._dense is None else self._dense

    def work(self, *, sparse: bool = False) -> float:
        """Estimated multiply-adds per kernel value with these rows; the map of the kernel counts as 16."""
        return 16.0 + (self.csr().data if sparse else self.stored_values).size / len(self)

    def __getitem__(self, index: slice | NDArray) -> VectorRows:
        if self._dense is not None:
            rows = VectorRows(np.ascontiguousarray(self._dense[index]))
        else:
            rows = VectorRows(_csr_part(self.csr(), index), self.n_features)
        return self._inherit(rows, index)

    def reordered(self, order: NDArray[np.int64], spare: Rows | None = None) -> VectorRows:
        """The same rows in another order, in the memory of `spare` if it is given."""
        if not isinstance(spare, VectorRows):
            return self[order]
        if self._dense is not None:
            return self._inherit(VectorRows(np.take(self._dense, order, axis=0, out=spare.dense(), mode="clip")), order)
        return self._inherit(VectorRows(_csr_rows(self.csr(), order, spare.csr()), self.n_features), order)

    def _inherit(self, rows: VectorRows, index: slice | NDArray) -> VectorRows:
        """Passes the cached norms and format of these rows to `rows`, a selection of them, and returns it."""
        if "squared norms" in self._kept:
            rows._kept["squared norms"] = self.squared_norms()[index]
        if "is sparse" in self._kept:
            rows._kept["is sparse"] = self.is_sparse()
        return rows

    def read_only(self) -> VectorRows:
        if type(self) is VectorRows and not self.stored_values.flags.writeable:
            return self
        if self._dense is not None:
            rows = VectorRows(read_only(self._dense))
        else:
            indptr, indices, data = self.csr()
            rows = VectorRows(Csr(read_only(indptr), read_only(indices), read_only(data)), self.n_features)
        if type(self) is VectorRows:  # rows that grow change what they have cached
            rows._kept = {key: value for key, value in self._kept.copy().items() if key != "matrix"}
        return rows

    @property
    def is_dense(self) -> bool:
        """Whether the rows are stored as a dense array."""
        return self._dense is not None

    @classmethod
    def joined(cls, blocks: Sequence[VectorRows]) -> VectorRows:
        """Concatenates several blocks; the result is CSR only if all of them are."""
        if any(block.is_dense for block in blocks):
            return VectorRows(np.concatenate([block.dense() for block in blocks]))
        parts = [block.csr() for block in blocks]
        ends = np.cumsum([0, *(part.indptr[-1] for part in parts)])
        indptr = np.concatenate([[0], *(part.indptr[1:] + end for part, end in zip(parts, ends, strict=False))])
        csr = Csr(indptr, np.concatenate([p.indices for p in parts]), np.concatenate([p.data for p in parts]))
        return VectorRows(csr, blocks[0].n_features)

    def astype(self, dtype: np.dtype) -> VectorRows:
        """The same rows in another dtype; these rows if they have it. Refuses rows that float32 cannot hold."""
        if dtype == self.dtype:
            return self
        if dtype == np.float32:
            return VectorRows(narrow(self.matrix, self.norm_range()))
        return VectorRows(self.matrix.astype(dtype))

    def with_features(self, n_features: int, *, sparse: bool = False) -> VectorRows:
        """The same rows with `n_features` features; the new ones are 0. With `sparse` they are stored as CSR rows."""
        if self._dense is None or sparse:
            return VectorRows(self.csr(), n_features)
        wide = np.zeros((len(self), n_features), dtype=self.dtype)
        wide[:, : self.n_features] = self._dense
        return VectorRows(wide)

    def with_columns(self, columns: NDArray[np.int64]) -> VectorRows:
        """CSR rows of some of the features, in ascending order; the others must be 0 in all rows."""
        place = np.zeros(self.n_features, dtype=np.int32)
        place[columns] = np.arange(len(columns))
        csr = self.csr()
        return VectorRows(csr._replace(indices=place[csr.indices]), len(columns))

    def features_in_use(self) -> NDArray[np.bool_]:
        """Which features are not 0 in all rows, shape (features,)."""
        used = np.zeros(self.n_features, dtype=bool)
        csr = self.csr()
        used[csr.indices] = True
        return used

    def compact(self) -> VectorRows:
        """A CSR copy if the rows are dense and the sparse product is faster; else these rows."""
        if self._dense is None or not self.is_sparse():
            return self
        return self._inherit(VectorRows(self._compressed(), self.n_features), slice(None))

    def squared_norms(self) -> NDArray[np.float64]:
        """‖x‖² of each row in float64; dense and CSR rows give the same bits."""
        return self.keep("squared norms", self._squared_norms)

    def _squared_norms(self) -> NDArray[np.float64]:
        norms = np.empty(len(self))
        if self._dense is None:
            _native.squared_norms_csr(*self.csr(), norms)
        else:
            _native.squared_norms_dense(self._dense, norms)
        return norms

    def norm_range(self) -> tuple[float, float]:
        """The least ‖x‖² that is not 0 (inf if all rows are 0), and the largest."""
        return self.keep("norm range", self._norm_range)

    def _norm_range(self) -> tuple[float, float]:
        return _native.norm_range(np.ascontiguousarray(self.squared_norms()))

    def row_sums(self) -> NDArray[np.float64]:
        """Σ xᵢ of each row in float64; dense and CSR rows give the same bits."""
        sums = np.empty(len(self))
        if self._dense is None:
            _native.row_sums_csr(*self.csr(), sums)
        else:
            _native.row_sums_dense(self._dense, sums)
        return sums

    def wide(self) -> VectorRows:
        """The same rows in float64, cached."""
        return self.keep("wide", lambda: self.astype(np.dtype(np.float64)))

    def is_sparse(self) -> bool:
        """Whether the rows have so many zeros that the sparse product is faster, in whichever format they are."""
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
        """The rows in CSR format; dense rows are converted once and cached."""
        return self._csr if self._csr is not None else self.keep("csr", self._compressed)

    def _compressed(self) -> Csr:
        assert self._dense is not None
        indptr = np.zeros(len(self) + 1, dtype=np.int64)
        np.cumsum(self._nonzero_counts(), out=indptr[1:])
        count = int(indptr[-1])
        indices = np.empty(count + 1, dtype=np.int32)  # compress_row writes one past the end (cpp/product/pack.h)
        data = np.empty(count + 1, dtype=self.dtype)
        _native.compress_rows(self._dense, indptr, indices, data)
        return Csr(indptr, indices[:count], data[:count])

    def dense(self) -> NDArray:
        """The rows as a dense array; CSR rows are converted once and cached."""
        if self._dense is not None:
            return self._dense
        return self.keep("dense", lambda: np.ascontiguousarray(self.matrix.toarray()))

    def panels(self, for_sparse: bool) -> Panels:
        """The rows packed as the right-hand side of a product with dense or, with `for_sparse`, sparse rows."""
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
        if for_sparse and depth > FEW_FEATURES:  # only the features that occur, so that panels stay small
            occurs = np.zeros(self.n_features, dtype=bool)
            occurs[csr.indices] = True
            features = np.flatnonzero(occurs).astype(np.int32)
            depth = len(features)
            slots = np.full(self.n_features, -1, dtype=np.int32)
            slots[features] = np.arange(len(features), dtype=np.int32)
        values = aligned_empty((count, depth, width), self.dtype)
        _native.pack_csr(csr.indptr, csr.indices, csr.data, slots, values)
        return Panels(values, len(self), slots, features)


class GrowingRows(VectorRows):
    """Dense rows with spare capacity, so that rows can be appended and overwritten in place.

    Norms and packed panels are kept up to date. `room` is the initial capacity; it doubles whenever it is exhausted.
    """

    def __init__(self, n_features: int, dtype: np.dtype, room: int = 0) -> None:
        width = PANEL_BYTES // dtype.itemsize
        room = -(-room // width) * width
        self._room = np.empty((room, n_features), dtype=dtype)
        super().__init__(self._room[:0])
        self._norms = np.empty(room)
        self._values = aligned_zeros((room // width, n_features, width), dtype)

    def __getitem__(self, index: slice | NDArray) -> VectorRows:
        """A selection of rows; a slice that consists of whole panels shares them, so it is valid until rows change."""
        selected, width = super().__getitem__(index), self._values.shape[2]
        selected._kept["squared norms"] = np.array(self.squared_norms()[index])
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step == 1 and start < stop and start % width == 0 and (stop % width == 0 or stop == len(self)):
                shared = Panels(self._values[start // width : -(-stop // width)], stop - start, None, None)
                selected._kept["panels", False] = selected._kept["panels", True] = shared
        return selected

    def append(self, s: VectorRows, change: Transaction) -> None:
        """Appends the rows s when the transaction is committed."""
        end = len(self) + len(s)
        self.put(np.arange(len(self), end), s, change, end)

    def put(self, slots: NDArray[np.int64], s: VectorRows, change: Transaction, end: int | None = None) -> None:
        """Writes the rows s to the given slots when the transaction is committed, to which this is done only once.

        Slots beyond the end must continue the rows without gaps, in order.
        """
        old, width = len(self), self._values.shape[2]
        new = max(old, int(slots.max()) + 1) if end is None else end
        room, norms, values = self._room, self._norms, self._values
        if new > len(room):
            size = -(-max(64, 2 * len(room), new) // width) * width
            room = np.concatenate([self.dense(), np.empty((size - old, self.n_features), dtype=self.dtype)])
            norms = np.concatenate([norms[:old], np.empty(size - old)])
            values = aligned_zeros((size // width, self.n_features, width), self.dtype)
            values[: len(self._values)] = self._values
        rows, kept = np.ascontiguousarray(s.dense()), {}
        if len(slots) == 1 and values is self._values:  # right-hand sides can follow a single row
            place = int(slots[0])
            kept = {key: v for key, v in self._kept.items() if isinstance(v, RIGHTS) and v.can_replace(place)}
            for right in kept.values():
                change.replace_in(right, place, rows)
        change.write_rows(room, slots, rows)
        change.write_rows(norms, slots, s.squared_norms())
        change.pack_rows(values, slots, rows)
        change.set(self, _room=room, _norms=norms, _values=values, _dense=room[:new], _kept=kept)

    def core_view(self) -> tuple[NDArray, NDArray[np.float64], NDArray, dict[str, Any], dict[Any, Any]]:
        """Rows, norms, panels, attributes and cache, as a learner in the core takes them to write rows in place.

        The cache then has only packed right-hand sides, which the core updates. All are valid until the next `put`.
        """
        self._kept = {key: right for key, right in self._kept.items() if isinstance(right, RIGHTS)}
        return self._room, self._norms, self._values, vars(self), self._kept

    def with_next(self) -> NDArray:
        """The rows and the one that will be written behind them, as a view; without it if there is no room."""
        return self._room[: len(self) + 1]

    def copy(self) -> GrowingRows:
        """A copy that shares no memory with these rows."""
        twin = GrowingRows(self.n_features, self.dtype)
        twin._room, twin._norms, twin._values = self._room.copy(), self._norms.copy(), aligned(self._values)
        twin._dense = twin._room[: len(self)]
        return twin

    def truncate(self, size: int, change: Transaction) -> None:
        """Keeps the first `size` rows and drops the others when the transaction is committed."""
        if size < len(self):  # panels are 0 behind the last row
            dropped = np.arange(size, len(self))
            change.pack_rows(self._values, dropped, np.zeros((len(dropped), self.n_features), dtype=self.dtype))
        change.set(self, _dense=self._room[:size], _kept={})

    def forget(self, count: int) -> None:
        """Drops the first `count` rows, and moves the others to the front; at once, not in a transaction."""
        rest = VectorRows(self.dense()[count:].copy())
        self._values[: -(-len(self) // self._values.shape[2])] = 0
        self._dense, self._kept = self._room[:0], {}
        if len(rest):
            with Transaction() as change:
                self.append(rest, change)

    def squared_norms(self) -> NDArray[np.float64]:
        return self._norms[: len(self)]

    def panels(self, for_sparse: bool) -> Panels:
        width = self._values.shape[2]
        return Panels(self._values[: -(-len(self) // width)], len(self), None, None)


def grows(rows: Rows) -> bool:
    """Whether rows of this kind may be stored as `GrowingRows`: dense ones, and CSR ones with few features."""
    return isinstance(rows, VectorRows) and (rows.is_dense or rows.n_features <= FEW_FEATURES)


def _csr_part(csr: Csr, index: slice | NDArray) -> Csr:
    """A selection of CSR rows; a contiguous slice shares the memory of indices and values."""
    if isinstance(index, slice) and index.step in (None, 1):
        start, stop, _ = index.indices(len(csr.indptr) - 1)
        begin, end = csr.indptr[start], csr.indptr[max(start, stop)]
        return Csr(csr.indptr[start : max(start, stop) + 1] - begin, csr.indices[begin:end], csr.data[begin:end])
    return _csr_rows(csr, np.arange(len(csr.indptr) - 1)[index])


def _csr_rows(csr: Csr, chosen: NDArray[np.int64], spare: Csr | None = None) -> Csr:
    """Copies of the chosen CSR rows, in the given order; in the memory of `spare`, if given, of as many entries."""
    indptr = np.zeros(len(chosen) + 1, dtype=np.int64)
    np.cumsum(csr.indptr[chosen + 1] - csr.indptr[chosen], out=indptr[1:])
    if spare is None:
        spare = Csr(indptr, np.empty(indptr[-1], dtype=np.int32), np.empty(indptr[-1], dtype=csr.data.dtype))
    part = Csr(indptr, spare.indices, spare.data)
    _native.take_csr(*csr, chosen, *part, thread_count() if indptr[-1] > SMALL_COPY else 1)
    return part
