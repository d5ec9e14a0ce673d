"""Products in the compiled core: kernel values, and scores, of rows with packed support vectors.

    scores += k(x, z) @ A        gram = k(x, z)        or both

The core computes k(x, z) = map(Σ op(xᵢ, zᵢ)): an `Op` combines two rows feature by feature, and a `Map` is applied to
the sum. A `Form` is such a pair with the parameters of the map. The right-hand side z is packed, together with its
form, into an object of the core, which is cached with the rows of z.

Rows in float32 are multiplied in float32, as long as it has the range for their norms, for the parameters and for the
values of the kernel (cpp/product/pack.h, `range_of`). Other rows are converted to float64 first; kernel values that are
to be stored in float32, and do not fit, are refused.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from abc import abstractmethod

import numpy as np
from numpy.typing import NDArray

from onkel._core import Map, Op, _native, thread_count
from onkel.kernels.kernel import Kernel
from onkel.kernels.precision import store
from onkel.kernels.rows import Rows
from onkel.kernels.vectors import VectorRows

__all__ = ["Form", "VectorKernel", "product"]

# Up to this many features a squared distance is computed as Σ(x − z)², which avoids cancellation and is as fast as by
# norms.
DIRECT_FEATURES = 8
# Products with fewer multiply-adds × bytes per number than this (about 0.3 ms) run in one thread, because a second one
# would take longer to start than it saves.
SMALL_PRODUCT = 1 << 25
ONE_ROW = (0.0, 0.0)  # in place of a range of norms: the core computes that of a single row; float64 needs none
# Ops to which a zero feature adds nothing, so that sparse rows can skip it. So can distances by norms.
SPARSE_OPS = (Op.DOT, Op.COSINE, Op.MIN)


@dataclasses.dataclass(frozen=True)
class Form:
    """A kernel as the compiled core computes it: an op, a map and the parameters of the map."""

    op: Op
    map: Map
    params: tuple[float, ...] = ()

    def op_on(self, n_features: int) -> Op:
        """The op for rows of so many features: squared distances of few features are computed directly."""
        return Op.DIRECT if self.op is Op.DISTANCE and n_features <= DIRECT_FEATURES else self.op

    @functools.cached_property
    def sparse_from(self) -> float:
        """The least number of features at which rows with few non-zeros take the sparse product; inf: never."""
        if self.op is Op.DISTANCE:
            return DIRECT_FEATURES + 1
        return 0 if self.op in SPARSE_OPS else math.inf

    def __hash__(self) -> int:
        return self._hash

    @functools.cached_property
    def _hash(self) -> int:
        """Computed once, because every product looks up its right-hand side by the form."""
        return hash((self.op, self.map, self.params))


def _aux(op: Op, rows: VectorRows) -> NDArray | None:
    """The number per row that the op needs, or None (cpp/product/types.h, Rows::aux)."""
    if op is Op.DISTANCE:
        return rows.keep("half norms", lambda: _cast(-0.5 * rows.squared_norms(), rows.dtype))
    if op is Op.COSINE:
        return rows.keep("inverse norms", lambda: _cast(_inverse(np.sqrt(rows.squared_norms())), rows.dtype))
    return None


def _cast(values: NDArray[np.float64], dtype: np.dtype) -> NDArray:
    """Values in the dtype of the rows; those too large for float32 become infinite."""
    if dtype == np.float64:
        return values
    with np.errstate(over="ignore"):  # the core computes distances of such rows again, directly
        return values.astype(dtype)


def _inverse(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / v for each value v, or 0 if v is 0."""
    return np.divide(1.0, values, out=np.zeros_like(values), where=values != 0)


def product(
    form: Form,
    x: VectorRows,
    z: VectorRows,
    *,
    A: NDArray[np.float64] | None = None,
    scores: NDArray[np.float64] | None = None,
    gram: NDArray | None = None,
    below: bool = False,
) -> None:
    """One call of the core: scores += k(x, z) @ A, or gram = k(x, z), or both.

    For both, the columns of `gram` must be contiguous. With `below`, x and z are the same rows, and the entries of
    `gram` above the diagonal are unspecified.
    """
    n, d = len(x), x.n_features
    sparse = d >= form.sparse_from and x.is_sparse()
    right = z._kept.get((form, sparse))
    if right is None:  # seldom: `keep` alone would make the closure at every call
        right = z.keep((form, sparse), lambda: _right(form, z, sparse))
    if n == 1 and not sparse:  # the core computes the aux and the norm of a single dense row
        done = right.dense(x.dense(), None, A, scores, gram, below, 1, *ONE_ROW)
    else:
        aux, norms = _aux(form.op_on(d), x), x.norm_range() if n > 1 and x.dtype == np.float32 else ONE_ROW
        values = n * len(z) / (2 if below else 1)
        small = n == 1 or values * x.work(sparse=sparse) * x.dtype.itemsize <= SMALL_PRODUCT
        threads = 1 if small else thread_count()
        if sparse:
            done = right.csr(*x.csr(), d, aux, A, scores, gram, below, threads, *norms)
        else:
            done = right.dense(x.dense(), aux, A, scores, gram, below, threads, *norms)
    if not done:
        _wide_product(form, x, z, A, scores, gram)


def _wide_product(
    form: Form,
    x: VectorRows,
    z: VectorRows,
    A: NDArray[np.float64] | None,
    scores: NDArray[np.float64] | None,
    gram: NDArray | None,
) -> None:
    """The same product of float32 rows, computed in float64."""
    values = None if gram is None else np.empty(gram.shape, order="C" if A is None else "F")
    product(form, x.wide(), z.wide(), A=A, scores=scores, gram=values)
    if gram is not None and values is not None:
        store(values, gram)


def _right(form: Form, z: VectorRows, for_sparse: bool) -> _native.Right32:
    """The packed right-hand side of products, bound to its form."""
    panels, op = z.panels(for_sparse), form.op_on(z.n_features)
    aux = panels.padded(_aux(op, z))
    norms = z.norm_range() if z.dtype == np.float32 else ONE_ROW
    return _native.right(
        op, form.map, form.params, panels.values, panels.columns, aux, panels.slots, panels.features, *norms
    )


@dataclasses.dataclass(frozen=True)
class VectorKernel(Kernel):
    """Base class of the kernels that the compiled core computes.

    A subclass defines `_form` and `diagonal`. If the core has no map for its parameters, `_fused` is False: the form
    then gives plain inner products or distances in float64, and `_finish` maps a tile of them to kernel values with
    NumPy.
    """

    @functools.cached_property
    @abstractmethod
    def _form(self) -> Form:
        """The formula of the kernel in the terms of the core."""

    def _finish(self, values: NDArray[np.float64]) -> None:
        """Maps the values of the form to kernel values, in place; called only if `_fused` is False."""

    @property
    def _fused(self) -> bool:
        """Whether the core computes the kernel values completely."""
        return True

    def _cost(self, x: Rows) -> float:
        assert isinstance(x, VectorRows)
        return x.work() if self._fused else math.inf

    def _gram(self, x: Rows, z: Rows, out: NDArray) -> None:
        assert isinstance(x, VectorRows)
        assert isinstance(z, VectorRows)
        if self._fused:
            product(self._form, x, z, gram=out)
        else:
            values = np.empty(out.shape)
            product(self._form, x.wide(), z.wide(), gram=values)
            self._finish(values)
            store(values, out)

    def _gram_one(self, x: Rows, z: Rows, out: NDArray) -> None:
        assert isinstance(x, VectorRows)
        right = z._kept.get((self._form, False)) if self._fused and not x.is_sparse() else None
        if right is None or not right.values(x.dense(), out):
            super()._gram_one(x, z, out)  # packs z and caches it for the next call, or computes in float64

    def _gram_below(self, x: Rows, out: NDArray) -> None:
        assert isinstance(x, VectorRows)
        if self._fused:
            product(self._form, x, x, gram=out, below=True)
        else:
            super()._gram_below(x, out)

    def _add_scores(self, x: Rows, s: Rows, A: NDArray[np.float64], out: NDArray[np.float64]) -> None:
        assert isinstance(x, VectorRows)
        assert isinstance(s, VectorRows)
        if self._fused:
            product(self._form, x, s, A=A, scores=out)
        else:
            super()._add_scores(x, s, A, out)

    def _add_scores_keeping(
        self, x: Rows, s: Rows, A: NDArray[np.float64], out: NDArray[np.float64], values: NDArray
    ) -> None:
        assert isinstance(x, VectorRows)
        assert isinstance(s, VectorRows)
        if self._fused:
            product(self._form, x, s, A=A, scores=out, gram=values)
        else:
            super()._add_scores_keeping(x, s, A, out, values)
