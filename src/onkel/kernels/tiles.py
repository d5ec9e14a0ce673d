"""Gram matrices and scores of any kernel, computed tile by tile.

    expand(k, X, S, A) = k(X, S) @ A         memory O(tile), never O(n · m)

The support S is split into blocks of at most 16 MB when packed, and X into slabs of rows. The size of a slab is chosen
so that one native call takes less than about 0.1 s; between two calls Python can handle Ctrl-C. Rows that are used
several times should be prepared once:

    rows = prepare(kernel, X)                            # caches norms and packed panels with the rows
    expand(kernel, rows[later], rows[new], A, out=F)     # F += k(X_later, X_new) @ A

Scores of float64 rows are summed in float64. Scores of float32 rows are float64 sums of partial sums in float32, of at
most 32 products each: beside the rounding of the kernel values, the error of a score is at most 34 · 2⁻²⁴ · Σ|Aⱼ kⱼ|.
If the weights that are not 0 differ by a factor above 2²⁰, or are not between 2⁻⁴⁰ and 2⁴⁰, every product is summed in
float64, with the weights in float64.
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
from onkel.kernels.precision import in_range
from onkel.kernels.rows import GramRows, ObjectRows, Rows
from onkel.kernels.vectors import VectorRows

__all__ = ["diag", "expand", "gram", "prepare"]

BLOCK_BYTES = 16 << 20  # size of a packed block of the support
# The number of support vectors in a block is a multiple of this, if so many fit. The core moves its sums to float64
# after this many or a power of two below (cpp/product/product.h, kFlush), so that scores do not depend on the blocks.
BLOCK_COLUMNS = 512
# Intended duration of one native call, and the multiply-adds per second and thread that even a slow computer with
# each SIMD target reaches.
SLAB_SECONDS = 0.08
RATES = {"baseline": 6e9, "avx2": 3e10, "avx512": 4e10}
SLAB_BYTES = 16 << 20  # largest size of the rows of a slab, in case they must be copied
# Largest number of kernel values of a slab if they are stored: a composed kernel allocates as many again.
GRAM_VALUES = 1 << 22


def prepare(kernel: Kernel, X: Any, *, name: str = "X", itself: bool = False) -> Rows:
    """Checks rows once and wraps them in an object that caches what kernels compute from them.

    The result can be sliced, and passed to `expand` and to kernels in place of an array. It refers to the memory of X,
    which must not be changed while the rows are in use.

    Parameters
    ----------
    kernel : the Kernel that the rows are meant for; it determines the kind of input and its valid values.
    X : rows: an array, a CSR matrix or a sequence of objects; for `Precomputed`, a block of kernel values. Rows that
        are already prepared are returned as they are.
    name : name of the argument in error messages (default "X").
    itself : only for `Precomputed`: True if X is the square Gram matrix of its own rows, so that its diagonal holds
        k(x, x). False (default): X holds kernel values with other points.
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
    """Checks a sequence of objects; raises an error for a single string and for an empty sequence."""
    if isinstance(X, (str, bytes)) or not hasattr(X, "__len__"):
        raise KindError(f"{who}: {name} must be a sequence of objects; got {type(X).__name__}. For one write [{name}].")
    objects = np.empty(len(X), dtype=object)
    objects[:] = list(X)
    if len(objects) == 0:
        raise ShapeError(f"{who}: {name} must have at least one object; got none.")
    return ObjectRows(objects)


def _prepare_two(kernel: Kernel, X: Any, Z: Any, name: str) -> tuple[Rows, Rows]:
    """Prepares both sides of a product and converts them to one dtype; raises ShapeError if their widths differ."""
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
            x, z = x.astype(dtype), z.astype(dtype)
    return x, z


def _gram_columns(x: GramRows, Z: Any, name: str) -> GramRows:
    """The right-hand side of a product with `Precomputed`: the column indices Z, checked."""
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
    """Estimated multiply-adds per kernel value with these rows."""
    return rows.work() if isinstance(rows, VectorRows) else 32.0


def row_bytes(rows: Rows) -> int:
    """Bytes of one row if stored densely; for objects and Gram rows, the bytes of one number."""
    return rows.dtype.itemsize * (rows.n_features if isinstance(rows, VectorRows) else 1)


def _blocks(s: Rows, kept: bool, tile: int | None = None) -> Iterator[tuple[slice, Rows]]:
    """Splits the support into blocks of at most `tile` rows and yields each with its slice.

    If `tile` is None, a block has BLOCK_BYTES, rounded down to a multiple of BLOCK_COLUMNS rows (of 32 if fewer than
    BLOCK_COLUMNS fit). With `kept`, the blocks are cached with the rows `s`, and with them their packed panels.
    """
    if tile is None:
        fitting = max(32, BLOCK_BYTES // row_bytes(s))
        tile = fitting - fitting % (BLOCK_COLUMNS if fitting >= BLOCK_COLUMNS else 32)
    if tile >= len(s):
        yield slice(0, len(s)), s
        return
    for start in range(0, len(s), tile):
        block = slice(start, start + tile)
        yield block, (s.keep(("block", start, tile), partial(s.__getitem__, block)) if kept else s[block])


def _is_quick(x: Rows, columns: int) -> bool:
    """Whether kernel values with `columns` support vectors take less than SLAB_SECONDS on any computer."""
    return len(x) * columns * _work(x) < SLAB_SECONDS * RATES["baseline"]


def _slabs(x: Rows, columns: int, *, most: int | None = None, tile: int | None = None) -> Iterator[tuple[slice, Rows]]:
    """Splits rows into slabs of at most `tile` rows and yields each with its slice.

    If `tile` is None, a slab takes about SLAB_SECONDS with `columns` support vectors and has at most `most` rows.
    """
    if tile is None:
        if (most is None or len(x) <= most) and _is_quick(x, columns):
            yield slice(0, len(x)), x
            return
        work = SLAB_SECONDS * RATES[simd_target()] * thread_count()
        tile = int(work / (columns * _work(x)))
        if not isinstance(x, VectorRows) or x.is_dense:  # CSR rows need no copy, as a rule
            tile = min(tile, SLAB_BYTES // row_bytes(x))
        tile = max(64, tile)
        tile = tile if most is None else min(tile, most)
    if tile >= len(x):
        yield slice(0, len(x)), x
        return
    for start in range(0, len(x), tile):
        slab = slice(start, start + tile)
        yield slab, x[slab]


def gram(kernel: Kernel, X: Any, Z: Any = None) -> NDArray:
    """k(X, Z) as a new array, filled tile by tile."""
    x, z = _prepare_two(kernel, X, Z, "Z")
    if x.dtype == np.float32:
        wide = in_range(kernel, x), x if z is x else in_range(kernel, z)
        x, z = wide if wide[0] is x and wide[1] is z else (x.wide(), x.wide() if z is x else z.wide())
    out = np.empty((len(x), len(z)), dtype=x.dtype)
    fill(kernel, x, z, out, kept=isinstance(Z, Rows))
    return out


def diag(kernel: Kernel, X: Any) -> NDArray:
    """k(xᵢ, xᵢ) for each row of X."""
    rows = prepare(kernel, X, itself=True)
    values = kernel._diagonal(rows)
    return values.astype(in_range(kernel, rows).dtype)  # a copy, because the array of _diagonal may be shared


def fill(kernel: Kernel, x: Rows, z: Rows, out: NDArray, *, kept: bool = True) -> None:
    """out = k(x, z) for checked rows. `out` may be strided; with `kept`, blocks of z are cached with its rows."""
    for block, right in _blocks(z, kept):
        for slab, left in _slabs(x, len(right), most=max(1, GRAM_VALUES // len(right))):
            kernel._gram(left, right, out[slab, block])


def fill_below(kernel: Kernel, x: Rows, out: NDArray) -> None:
    """out = k(x, x) on and below the diagonal for checked rows; the entries above it are unspecified."""
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
    """out += k(x, s) @ A for checked rows; A (m, outputs) is C-contiguous, out (n, outputs) has any strides.

    If `values` is given, an array (n, m) with contiguous columns, the kernel values are stored there as well. With
    `kept`, the blocks of s are cached with its rows. `tile` limits the rows and support vectors of a tile (None: the
    automatic choice).
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

    f_c(xᵢ) = Σⱼ A_jc k(xᵢ, sⱼ); kernel models call it to predict. For the kernels of `onkel.kernels` on vectors, and
    for their sums, multiples and scalings, the compiled core computes inner products, kernel values and the weighted
    sum in one pass, without writing kernel values to memory.

    Parameters
    ----------
    kernel : any Kernel.
    X : rows to score, n of them: an array, a CSR matrix, a sequence of objects, or rows from `prepare`.
    S : support vectors, m of them, in the same form as X. Rows from `prepare` keep their packed panels for the next
        call. With `Precomputed`, the indices of the columns of X that belong to the support vectors.
    A : weights of the support vectors, shape (m,) or (m, outputs). The module says how precisely they are summed.
    out : C-contiguous float64 array of shape (n,) or (n, outputs); the scores are added to it and it is returned.
        None (default): a new array.
    tile : a pair (rows, support vectors), each ≥ 1, the size of a tile. None (default): chosen automatically. It
        changes the scores by rounding errors only.

    Cost: n · m kernel values; memory for one block of packed support vectors (16 MB).

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
