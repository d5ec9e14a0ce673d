"""Data to predict from, or one example to learn from, as checked rows; for an estimator and its model alike.

The columns say what is expected; `who` is the name in messages. A dict {feature: value} may leave features out, which
are 0, and have unknown ones, which are ignored.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onkel._core import _native
from onkel.errors import ShapeError, ValuesError
from onkel.kernels import Kernel, prepare
from onkel.kernels.rows import GramRows, Rows
from onkel.kernels.vectors import VectorRows
from onkel.models.columns import Columns, dict_of, dicts_of
from onkel.models.scorer import as_one_row, check_width
from onkel.models.vocabulary import Vocabulary

__all__ = ["as_batch", "by_name", "named_columns", "row_of", "rows_of", "takes_rows"]


def takes_rows(kernel: Kernel | None) -> bool:
    """Whether the data are rows of numbers: a matrix, or dicts. Without a kernel they are."""
    return kernel is None or kernel.takes in ("vectors", "anything")


# ---------------------------------------------------------------- many examples


def rows_of(X: Any, kernel: Kernel, columns: Columns, who: str) -> Rows:
    """The rows of X, in the dtype of the first data."""
    if not isinstance(X, Rows) and kernel.takes != "objects":
        examples = dicts_of(X, frames=columns.growing) if takes_rows(kernel) else None
        if examples is not None:
            X = columns.rows(examples, who)
            kernel.inner.check_rows(X, "X")
        columns.check_names(X)
    rows = prepare(kernel, X)
    if isinstance(rows, VectorRows):
        assert columns.n_features is not None
        check_width(rows, columns.n_features, who)
        return rows.astype(columns.dtype)
    n = columns.n_features
    if isinstance(rows, GramRows) and rows.block is not None and rows.block.shape[1] != n:
        raise ShapeError(
            f"{who} was trained on {n} points, so X must hold kernel values with these, shape (n, {n}); got "
            f"{rows.block.shape}. For one sample write X[None, :]."
        )
    return rows


# ---------------------------------------------------------------- one example


def as_batch(x: Any, kernel: Kernel) -> Any:
    """One example as a batch of one."""
    return [x] if kernel.takes == "objects" or isinstance(x, dict) else as_one_row(x)


def row_of(x: Any, kernel: Kernel, columns: Columns | Vocabulary, who: str) -> Rows:
    """One example as a row, in a few microseconds: a vector, a dict, a Series, a CSR row or an object."""
    if isinstance(columns, Vocabulary):
        return columns.row(by_name(x, columns), who)
    if type(x) is not np.ndarray:
        if not takes_rows(kernel) or hasattr(x, "toarray"):
            return _checked_row(x, kernel, columns, who)
        x = by_name(x, columns)
        if isinstance(x, dict):
            x = columns.vector(x, who)
        elif columns.names is not None:
            columns.check_names(x)
    elif not takes_rows(kernel) or (x.dtype is not columns.dtype and x.dtype.kind == "c"):
        return _checked_row(x, kernel, columns, who)
    row = np.array(x, dtype=columns.dtype, ndmin=2, order="C")  # a copy, so that the caller may change x later
    d = columns.n_features
    if row.shape != (1, d):
        raise ShapeError(f"{who} was trained on {d} features, so x must have shape ({d},); got {np.shape(x)}.")
    if not _native.all_finite(row):
        if np.isfinite(np.asarray(x, dtype=np.float64)).all():
            return _checked_row(x, kernel, columns, who)  # says what float32 cannot hold
        raise ValuesError(f"{who}: x must be finite; got NaN or infinity.")
    if getattr(x, "dtype", None) is not row.dtype and row.dtype == np.float32 and not row.any() and np.any(x):
        return _checked_row(x, kernel, columns, who)  # too small for float32: says so
    rows = VectorRows(row)
    rows._kept["is sparse"] = False
    kernel.inner.check_rows(rows, "x")
    return rows


def by_name(x: Any, columns: Columns | Vocabulary) -> Any:
    """A Series as a dict {feature: value}, if the columns have names; anything else as it is."""
    return x if columns.names is None and not columns.growing else dict_of(x, frames=columns.growing)


def named_columns(columns: Columns, who: str) -> dict[Any, int]:
    """The column of each feature by its name; refuses columns without names."""
    columns.check_named(who)
    return columns.places


def _checked_row(x: Any, kernel: Kernel, columns: Columns, who: str) -> Rows:
    """One CSR row, object or row of kernel values, checked by the slower checks of whole data sets."""
    rows = prepare(kernel, as_batch(x, kernel))
    if isinstance(rows, VectorRows):
        d = columns.n_features
        if (len(rows), rows.n_features) != (1, d):
            raise ShapeError(
                f"{who} was trained on {d} features, so x must be one row of shape (1, {d}); "
                f"got {(len(rows), rows.n_features)}."
            )
        return rows.astype(columns.dtype)
    if isinstance(rows, GramRows) and rows.block is not None:
        n = columns.n_features
        if rows.block.shape != (1, n):
            raise ShapeError(
                f"{who} was trained on {n} points, so x must hold kernel values with these, shape ({n},); "
                f"got {np.shape(x)}."
            )
    return rows
