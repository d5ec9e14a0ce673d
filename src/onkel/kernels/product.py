"""The call of the compiled core: a kernel as an `Op` and a `Map`, and the product of rows with packed support vectors.

    scores += k(x, z) @ A        gram = k(x, z)        or both

The right-hand side z is packed and bound once for each kernel, and kept with its rows.
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
from onkel.kernels.rows import Rows
from onkel.kernels.vectors import VectorRows

__all__ = ["Form", "VectorKernel", "product"]

# Up to this many features a squared distance is taken directly, Σ(x − z)²: exact, and as fast.
DIRECT_FEATURES = 8


# Bytes of multiply-adds below which a second thread costs more than it brings (about 0.3 ms of work).
SMALL_PRODUCT = 1 << 25


SPARSE_OPS = (Op.DOT, Op.COSINE, Op.MIN)  # a zero adds nothing to these, nor to a distance by norms


@dataclasses.dataclass(frozen=True)
class Form:
    """A kernel as the compiled core knows it."""

    op: Op
    map: Map
    params: tuple[float, ...] = ()

    def op_on(self, n_features: int) -> Op:
        return Op.DIRECT if self.op is Op.DISTANCE and n_features <= DIRECT_FEATURES else self.op

    @functools.cached_property
    def sparse_from(self) -> float:
        """Features from which on rows with few non-zeros are multiplied as sparse ones."""
        if self.op is Op.DISTANCE:
            return DIRECT_FEATURES + 1
        return 0 if self.op in SPARSE_OPS else math.inf

    def __hash__(self) -> int:
        return self._hash

    @functools.cached_property
    def _hash(self) -> int:
        """Made once: rows are asked at every product what they keep by a form."""
        return hash((self.op, self.map, self.params))


def _aux(op: Op, rows: VectorRows) -> NDArray | None:
    """What the op needs of each row by itself: engine.h, Rows."""
    if op is Op.DISTANCE:
        return rows.keep("half norms", lambda: _cast(-0.5 * rows.squared_norms(), rows.dtype))
    if op is Op.COSINE:
        return rows.keep("inverse norms", lambda: _cast(_inverse(np.sqrt(rows.squared_norms())), rows.dtype))
    return None


def _cast(values: NDArray[np.float64], dtype: np.dtype) -> NDArray:
    if dtype == np.float64:
        return values
    with np.errstate(over="ignore"):  # the core takes distances of such rows again, directly
        return values.astype(dtype)


def _inverse(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """1 / v, and 0 where v is 0."""
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
    """One call of the fused product: scores += k(x, z) @ A, or gram = k(x, z), or both (gram then by columns).

    With `below`, x and z are the same rows, and what `gram` gets above the diagonal may be anything.
    """
    n, d = len(x), x.n_features
    sparse = d >= form.sparse_from and x.is_sparse()
    right = z.keep((form, sparse), lambda: _right(form, z, sparse))
    values = n * len(z) / (2 if below else 1)
    small = n == 1 or values * x.work(sparse=sparse) * x.dtype.itemsize <= SMALL_PRODUCT
    threads = 1 if small else thread_count()
    aux = None if n == 1 and not sparse else _aux(form.op_on(d), x)  # of a dense single row the core makes it itself
    if sparse:
        right.csr(*x.csr(), d, aux, A, scores, gram, below, threads)
    else:
        right.dense(x.dense(), aux, A, scores, gram, below, threads)


def _right(form: Form, z: VectorRows, for_sparse: bool) -> _native.Right32:
    """The right-hand side of products."""
    panels, op = z.panels(for_sparse), form.op_on(z.n_features)
    aux = panels.padded(_aux(op, z))
    return _native.right(op, form.map, form.params, panels.values, panels.columns, aux, panels.slots, panels.features)


@dataclasses.dataclass(frozen=True)
class VectorKernel(Kernel):
    """A kernel with a `Form`; `_finish` maps the form's values further where the core cannot."""

    @functools.cached_property
    @abstractmethod
    def _form(self) -> Form: ...

    def _finish(self, values: NDArray) -> None:
        """Maps the form's values to the kernel's, in place; nothing to do where the core did it."""

    @property
    def _fused(self) -> bool:
        return True

    def _cost(self, x: Rows) -> float:
        assert isinstance(x, VectorRows)
        return x.work() if self._fused else math.inf

    def _gram(self, x: Rows, z: Rows, out: NDArray) -> None:
        assert isinstance(x, VectorRows)
        assert isinstance(z, VectorRows)
        product(self._form, x, z, gram=out)
        if not self._fused:
            self._finish(out)

    def _gram_one(self, x: Rows, z: Rows, out: NDArray) -> None:
        assert isinstance(x, VectorRows)
        right = z._kept.get((self._form, False)) if self._fused and not x.is_sparse() else None
        if right is None:
            super()._gram_one(x, z, out)  # which makes it
        else:
            right.values(x.dense(), out)

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
