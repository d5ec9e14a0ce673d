"""Input of one example, for `learn_one` and `predict_one`: a vector, a dict, a CSR row or an object.

The checks take a few microseconds; scikit-learn's `validate_data` takes 130 µs, ten times as long as learning from
the example.

A dict {feature: value} may contain new features and leave out known ones. A missing feature is 0. A new feature gets
a column when the example is learned from, in which all earlier examples are 0; in a prediction it is ignored.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from onkel._core import _native
from onkel.errors import KindError, ShapeError, ValuesError
from onkel.estimators.base.input import takes_rows
from onkel.kernels import Kernel, prepare
from onkel.kernels.rows import Rows
from onkel.kernels.vectors import VectorRows
from onkel.models.columns import Columns, dict_of
from onkel.models.vocabulary import Vocabulary

__all__ = ["as_batch", "brings_features", "by_name", "named_columns", "one_row", "with_features_of"]


def as_batch(x: Any, kernel: Kernel) -> Any:
    """One example as a batch of one."""
    if kernel.takes == "objects":
        return [x]
    if isinstance(x, dict):
        return [x]
    if hasattr(x, "toarray"):
        return x if x.ndim == 2 else x.reshape(1, -1)
    array = np.asarray(x)
    return array[None, :] if array.ndim == 1 else array


def one_row(x: Any, kernel: Kernel, columns: Columns | Vocabulary, name: str) -> Rows:
    """One checked example, for an estimator with these columns; features of a dict that have no column are ignored."""
    if isinstance(columns, Vocabulary):
        return columns.row(by_name(x, columns), name)
    if type(x) is not np.ndarray:
        if not takes_rows(kernel) or hasattr(x, "toarray"):
            return _checked_row(x, kernel, columns, name)
        x = by_name(x, columns)
        if isinstance(x, dict):
            named_columns(columns, name)
            x = columns.vector(x, name)
        elif columns.names is not None:
            columns.check_names(x)
    elif not takes_rows(kernel):
        return _checked_row(x, kernel, columns, name)
    row = np.array(x, dtype=columns.dtype, ndmin=2, order="C")  # a copy, so that the caller may change x later
    d = columns.n_features
    if row.shape != (1, d):
        raise ShapeError(f"{name} was trained on {d} features, so x must have shape ({d},); got {np.shape(x)}.")
    if not _native.all_finite(row):
        if np.isfinite(np.asarray(x, dtype=np.float64)).all():
            return _checked_row(x, kernel, columns, name)  # says what float32 cannot hold
        raise ValuesError(f"{name}: x must be finite; got NaN or infinity.")
    if getattr(x, "dtype", None) is not row.dtype and row.dtype == np.float32 and not row.any() and np.any(x):
        return _checked_row(x, kernel, columns, name)  # too small for float32: says so
    rows = VectorRows(row)
    rows._kept["is sparse"] = False
    kernel.check_rows(rows, "x")
    return rows


def by_name(x: Any, columns: Columns | Vocabulary) -> Any:
    """A Series as a dict {feature: value}, if the columns have names; anything else as it is."""
    return x if columns.names is None and not columns.open else dict_of(x, frames=columns.open)


def brings_features(x: Any, columns: Columns | Vocabulary) -> bool:
    """Whether x is a dict, or a Series, that may have features without a column; all columns of sparse dicts may go."""
    if isinstance(columns, Vocabulary):
        return True
    return isinstance(x, dict) and columns.names is not None and not x.keys() <= columns.places.keys()


def with_features_of(x: dict[Any, Any], columns: Columns, name: str) -> Columns:
    """The columns, extended by the features of a dict that have none yet; the same columns if it has no new ones.

    From then on data frames are read as dicts, too: those without the new features are not refused.
    """
    known = named_columns(columns, name)
    new = [feature for feature in x if feature not in known]
    if not new:
        return columns
    assert columns.names is not None
    names = (*columns.names, *new)
    return dataclasses.replace(columns, n_features=len(names), names=names, open=True)


def named_columns(columns: Columns, name: str) -> dict[Any, int]:
    """The column of each feature by its name; refuses columns without names."""
    if columns.names is None:
        raise KindError(
            f"{name} was trained on vectors of {columns.n_features} features without names, so x must "
            "be such a vector; got a dict. To learn from dicts begin with a dict, or with a data frame."
        )
    return columns.places


def _checked_row(x: Any, kernel: Kernel, columns: Columns, name: str) -> Rows:
    """One CSR row or object, checked by the slower checks of whole data sets."""
    rows = prepare(kernel, as_batch(x, kernel))
    if isinstance(rows, VectorRows):
        d = columns.n_features
        if (len(rows), rows.n_features) != (1, d):
            raise ShapeError(
                f"{name} was trained on {d} features, so x must be one row of shape (1, {d}); "
                f"got {(len(rows), rows.n_features)}."
            )
        rows = rows.astype(columns.dtype)
    return rows
