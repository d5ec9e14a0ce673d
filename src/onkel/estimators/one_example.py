"""Input of one example, for `learn_one` and `predict_one`: a vector, a dict, a CSR row or an object.

The checks take a few microseconds; scikit-learn's `validate_data` takes 130 µs, ten times as long as learning from
the example.

A dict {feature: value} may contain new features and leave out known ones. A missing feature is 0. A new feature gets
a column when the example is learned from, in which all earlier examples are 0; in a prediction it is ignored.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native
from onkel.errors import KindError, ShapeError, ValuesError
from onkel.estimators.input import DataInput
from onkel.kernels import Kernel, prepare
from onkel.kernels.rows import Rows
from onkel.kernels.vectors import VectorRows

__all__ = ["OneExampleInput"]


class OneExampleInput(DataInput):
    """An estimator that also takes single examples; once it has learned, `_learner` is its learner."""

    _learner: Any

    def _as_batch(self, x: Any) -> Any:
        """One example as a batch of one row; the first dict of a stream defines the columns."""
        if self._kernel_in().takes == "objects":
            return [x]
        if isinstance(x, dict):
            x = _vector(x, dict(zip(x, range(len(x)), strict=True)), self._name)
        if hasattr(x, "toarray"):
            return x if x.ndim == 2 else x.reshape(1, -1)
        array = np.asarray(x)
        return array[None, :] if array.ndim == 1 else array

    def _fast_row(self, x: Any, *, grow: bool = False) -> Rows:
        """One checked example, for an estimator that has learned before; with `grow`, new features get a column."""
        kernel, columns = self._kernel_in(), None
        if type(x) is not np.ndarray:
            if kernel.takes != "vectors" or hasattr(x, "toarray"):
                return self._checked_row(kernel, x, grow)
            if isinstance(x, dict):
                x, columns = self._from_dict(x, grow)
        elif kernel.takes != "vectors":
            return self._checked_row(kernel, x, grow)
        row = np.array(x, dtype=self._dtype, ndmin=2, order="C")  # a copy, so that the caller may change x later
        d = self.n_features_in_ if columns is None else len(columns)
        if row.shape != (1, d):
            raise ShapeError(
                f"{self._name} was trained on {d} features, so x must have shape ({d},); got {np.shape(x)}."
            )
        if not _native.all_finite(row):
            raise ValuesError(f"{self._name}: x must be finite; got NaN or infinity.")
        rows = VectorRows(row)
        rows._kept["is sparse"] = False
        kernel._check_rows(rows, "x")
        if grow:
            self._check_examples(rows)
        if columns is not None:
            self._learner.add_features(d)
            self._columns, self.n_features_in_ = columns, d
            if hasattr(self, "feature_names_in_"):
                self.feature_names_in_ = np.array(list(columns), dtype=object)
        return rows

    def _checked_row(self, kernel: Kernel, x: Any, learn: bool) -> Rows:
        """One CSR row or object, checked by the slower checks of whole data sets."""
        rows = prepare(kernel, self._as_batch(x))
        if isinstance(rows, VectorRows):
            if (len(rows), rows.n_features) != (1, self.n_features_in_):
                raise ShapeError(
                    f"{self._name} was trained on {self.n_features_in_} features, so x must be one row of shape "
                    f"(1, {self.n_features_in_}); got {(len(rows), rows.n_features)}."
                )
            rows = rows.astype(self._dtype)
        if learn:
            self._check_examples(rows)
        return rows

    def _from_dict(self, x: dict[Any, Any], grow: bool) -> tuple[NDArray[np.float64], dict[Any, int] | None]:
        """{feature: value} as a vector, and the extended table of columns if the example brings new features.

        With `grow` a new feature gets a column; without, it is ignored. The table is None if nothing changes.
        """
        columns = self._columns_by_name()
        new = [name for name in x if name not in columns]
        if not new:
            return _vector(x, columns, self._name), None
        if not grow:
            return _vector({name: value for name, value in x.items() if name in columns}, columns, self._name), None
        columns = columns | {name: len(columns) + i for i, name in enumerate(new)}
        return _vector(x, columns, self._name), columns

    def _columns_by_name(self) -> dict[Any, int]:
        """The column of each feature by its name, from earlier dicts or from a data frame."""
        columns: dict[Any, int] | None = self.__dict__.get("_columns")
        if columns is None:
            if not hasattr(self, "feature_names_in_"):
                raise KindError(
                    f"{self._name} was trained on vectors of {self.n_features_in_} features without names, so x must "
                    "be such a vector; got a dict. To learn from dicts begin with a dict, or with a data frame."
                )
            columns = self._columns = {name: i for i, name in enumerate(self.feature_names_in_)}
        return columns


def _vector(x: dict[Any, Any], columns: dict[Any, int], who: str) -> NDArray[np.float64]:
    """{feature: value} as a vector, 0 where a feature is missing."""
    vector = np.zeros(len(columns))
    for name, value in x.items():
        try:
            vector[columns[name]] = value
        except (TypeError, ValueError) as error:
            raise KindError(
                f"{who}: the values of x must be numbers; got {name!r}: {value!r}. "
                "Encode it first, such as {'colour=red': 1.0}."
            ) from error
    if not np.isfinite(vector).all():
        raise ValuesError(f"{who}: x must be finite; got NaN or infinity.")
    return vector
