"""Blockwise products: Gram blocks and scores of any kernel, a tile at a time.

    expand(k, X, S, A) = k(X, S) @ A         memory O(tile), never O(n · m)

The support is taken in blocks whose packed panels are a few megabytes, and for each of them the
rows in slabs that keep a native call under about 0.1 s, so that Ctrl-C is heard. Scores add up in
float64 whatever the rows' dtype. What a learner meets again it prepares once:

    rows = prepare(kernel, X)                            # norms and panels are kept with the rows
    expand(kernel, rows[later], rows[new], A, out=F)     # F += k(X_later, X_new) @ A
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel._core import simd_target, thread_count
from onkel.checks import check_integer, check_matrix, check_square, check_weights
from onkel.errors import KindError, ShapeError
from onkel.kernels.kernel import Kernel
from onkel.kernels.rows import GramRows, ObjectRows, Rows
from onkel.kernels.vectors import VectorRows

__all__ = ["expand", "gram", "prepare"]

BLOCK_BYTES = 16 << 20  # of the packed support
# Support vectors in a block come in multiples of this: where the core moves its sums to float64.
BLOCK_COLUMNS = 512
# One native call should last about this long, at a rate of multiply-adds per second and thread
# that slow machines of each kind reach.
SLAB_SECONDS = 0.08
RATES = {"baseline": 6e9, "avx2": 3e10, "avx512": 4e10}
SLAB_BYTES = 16 << 20  # of the slab's own rows, should they need a copy
GRAM_VALUES = 1 << 22  # of a slab, where they are stored: a composed kernel needs as many again


def prepare(kernel: Kernel, X: Any, *, name: str = "X", itself: bool = False) -> Rows:
    """Rows that have passed the door and keep what `kernel` computes about them.

    The rows may be sliced, and given to `expand` and to kernels in place of an array. They refer to
    the caller's memory: do not change it meanwhile. With a `Precomputed` kernel, `itself` says that
    X is the Gram matrix of its rows with themselves, so that its diagonal is k(x, x).
    """
    if isinstance(X, Rows):
        return X
    who = type(kernel).__name__
    if kernel.takes == "objects":
        return _objects(X, name, who)
    if kernel.takes == "gram":
        if itself:
            block = check_square(X, name=name, who=who)
            return GramRows(block, np.arange(len(block)), block.diagonal())
        return GramRows(np.asarray(check_matrix(X, name=name, who=who, sparse=False)), None, None)
    rows = VectorRows(check_matrix(X, name=name, who=who))
    kernel._check_rows(rows, name)
    return rows


def _objects(X: Any, name: str, who: str) -> ObjectRows:
    if isinstance(X, (str, bytes)) or not hasattr(X, "__len__"):
        raise KindError(f"{who}: {name} must be a sequence of objects; got {type(X).__name__}. For one write [{name}].")
    objects = np.empty(len(X), dtype=object)
    objects[:] = list(X)
    if len(objects) == 0:
        raise ShapeError(f"{who}: {name} must have at least one object; got none.")
    return ObjectRows(objects)


def _prepare_two(kernel: Kernel, X: Any, Z: Any, name: str) -> tuple[Rows, Rows]:
    """Both sides of a product, of one dtype and one number of features."""
    x = prepare(kernel, X, itself=Z is None)
    if kernel.takes == "gram":
        assert isinstance(x, GramRows)
        return x, _gram_columns(x, Z, name)
    z = x if Z is None else prepare(kernel, Z, name=name)
    if isinstance(x, VectorRows) and isinstance(z, VectorRows) and z is not x:
        if x.n_features != z.n_features:
            raise ShapeError(
                f"{type(kernel).__name__}: X and {name} must have the same number of columns; "
                f"got {x.n_features} and {z.n_features}."
            )
        if x.dtype != z.dtype:
            dtype = np.result_type(x.dtype, z.dtype)
            x, z = (r if r.dtype == dtype else VectorRows(r.matrix.astype(dtype)) for r in (x, z))
    return x, z


def _gram_columns(x: GramRows, Z: Any, name: str) -> GramRows:
    """The reference points that a precomputed block is read at."""
    assert x.block is not None
    if Z is None or isinstance(Z, GramRows):
        return x if Z is None else Z
    count = x.block.shape[1]
    columns = np.asarray(Z)
    if columns.ndim != 1 or columns.dtype.kind not in "iu":
        raise KindError(
            f"Precomputed: {name} must be the numbers of the wanted columns of X, such as [0, 3]; "
            f"got {columns.dtype} of shape {columns.shape}."
        )
    if columns.size == 0 or columns.min() < 0 or columns.max() >= count:
        raise ShapeError(f"Precomputed: {name} must name columns 0 to {count - 1} of X; got {columns.tolist()[:5]}.")
    return GramRows(None, columns.astype(np.intp), None)


def _work(rows: Rows) -> float:
    """Roughly the multiply-adds of one kernel value with these rows."""
    return rows.work() if isinstance(rows, VectorRows) else 32.0


def row_bytes(rows: Rows) -> int:
    """Of a row of numbers, were it dense; of any other as of one number."""
    return rows.dtype.itemsize * (rows.n_features if isinstance(rows, VectorRows) else 1)


def _blocks(s: Rows, kept: bool, tile: int | None = None) -> Iterator[tuple[slice, Rows]]:
    """The support in blocks of BLOCK_BYTES, whole multiples of BLOCK_COLUMNS where they fit.

    Rows that the caller prepared keep their blocks, and with them the packed panels.
    """
    if tile is None:
        fitting = max(32, BLOCK_BYTES // row_bytes(s))
        tile = fitting - fitting % (BLOCK_COLUMNS if fitting >= BLOCK_COLUMNS else 32)
    if tile >= len(s):
        yield slice(0, len(s)), s
        return
    for start in range(0, len(s), tile):
        where = slice(start, start + tile)
        yield where, (s.keep(("block", start, tile), partial(s.__getitem__, where)) if kept else s[where])


def _is_quick(x: Rows, columns: int) -> bool:
    """Whether the rows' products with so many support vectors are, on any machine."""
    return len(x) * columns * _work(x) < SLAB_SECONDS * RATES["baseline"]


def _slabs(x: Rows, columns: int, *, most: int | None = None, tile: int | None = None) -> Iterator[tuple[slice, Rows]]:
    """The rows in slabs that take SLAB_SECONDS with so many support vectors."""
    if tile is None:
        if (most is None or len(x) <= most) and _is_quick(x, columns):
            yield slice(0, len(x)), x
            return
        work = SLAB_SECONDS * RATES[simd_target()] * thread_count()
        tile = int(work / (columns * _work(x)))
        if not isinstance(x, VectorRows) or x.is_dense:  # CSR rows are multiplied where they are
            tile = min(tile, SLAB_BYTES // row_bytes(x))
        tile = max(64, tile)
        tile = tile if most is None else min(tile, most)
    if tile >= len(x):
        yield slice(0, len(x)), x
        return
    for start in range(0, len(x), tile):
        where = slice(start, start + tile)
        yield where, x[where]


def gram(kernel: Kernel, X: Any, Z: Any = None) -> NDArray:
    """k(X, Z) as a new array, filled tile by tile."""
    x, z = _prepare_two(kernel, X, Z, "Z")
    out = np.empty((len(x), len(z)), dtype=x.dtype)
    fill(kernel, x, z, out, kept=isinstance(Z, Rows))
    return out


def fill(kernel: Kernel, x: Rows, z: Rows, out: NDArray, *, kept: bool = True) -> None:
    """out = k(x, z), inside the door; rows or columns of `out` may lie apart."""
    for block, right in _blocks(z, kept):
        for slab, left in _slabs(x, len(right), most=max(1, GRAM_VALUES // len(right))):
            kernel._gram(left, right, out[slab, block])


def fill_below(kernel: Kernel, x: Rows, out: NDArray) -> None:
    """out = k(x, x) on and below the diagonal, inside the door; above it anything."""
    if _is_quick(x, len(x)) and len(x) * row_bytes(x) <= BLOCK_BYTES:
        kernel._gram_below(x, out)
    else:
        fill(kernel, x, x, out)


def add_scores(
    kernel: Kernel,
    x: Rows,
    s: Rows,
    A: NDArray[np.float64],
    out: NDArray[np.float64],
    *,
    kept: bool = True,
    tile: tuple[int | None, int | None] = (None, None),
    values: NDArray | None = None,
) -> None:
    """out += k(x, s) @ A, inside the door; A (m, c) is C-contiguous, out (n, c) has any strides.

    With `values`, (n, m) with contiguous columns, the kernel values are stored there as well.
    """
    for block, right in _blocks(s, kept, tile=tile[1]):
        most = None if values is None else max(1, GRAM_VALUES // len(right))
        for slab, left in _slabs(x, len(right), most=most, tile=tile[0]):
            if values is None:
                kernel._add_scores(left, right, A[block], out[slab])
            else:
                kernel._add_scores_keeping(left, right, A[block], out[slab], values[slab, block])


def expand(
    kernel: Kernel,
    X: Any,
    S: Any,
    A: Any,
    *,
    out: NDArray[np.float64] | None = None,
    tile: tuple[int, int] | None = None,
) -> NDArray[np.float64]:
    """The scores k(X, S) @ A of a kernel expansion, in O(tile) memory.

    f_c(xᵢ) = Σⱼ A_jc k(xᵢ, sⱼ), the operation that every learner of onkel lives on. For the
    kernels of `onkel.kernels` on vectors, their sums, multiples and scalings, inner products, the
    kernel's map and the weighted sum are one pass that never writes a kernel value to memory.

    Parameters
    ----------
    kernel : any Kernel.
    X : rows to score: an array, a CSR matrix, a sequence of objects, or `prepare(kernel, X)`.
    S : support rows, likewise. Prepared rows keep their packed panels for the next call.
        With `Precomputed`, the numbers of the columns of X that are the support.
    A : weights, shape (m,) or (m, outputs).
    out : float64, shape (n,) or (n, outputs), to add the scores to; given back.
    tile : rows and support vectors of a tile, where the automatic choice will not do. The scores
        do not depend on it but for the rounding of the last digits.

    Cost: n · m kernel values; memory for one block of packed support (16 MB).

    >>> from onkel.kernels import Polynomial, expand
    >>> expand(Polynomial(degree=2), X=[[1.0], [2.0]], S=[[1.0], [0.0]], A=[1.0, -1.0])
    array([3., 8.])
    """
    who = "expand"
    x, s = _prepare_two(kernel, X, S, "S")
    weights = check_weights(A, len(s), who=who)
    shape = (len(x), *weights.shape[1:])
    if out is None:
        out = np.zeros(shape)
    elif not isinstance(out, np.ndarray) or out.dtype != np.float64 or out.shape != shape or not out.flags.c_contiguous:
        got = f"{out.dtype} of shape {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
        raise ShapeError(f"{who}: out must be a C-contiguous float64 array of shape {shape}; got {got}.")
    x_tile, s_tile = (None, None) if tile is None else (check_integer(t, "tile", who, at_least=1) for t in tile)
    scores, columns = out.reshape(len(x), -1), weights.reshape(len(s), -1)
    add_scores(kernel, x, s, columns, scores, kept=isinstance(S, Rows), tile=(x_tile, s_tile))
    return out
