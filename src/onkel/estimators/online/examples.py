"""Examples: checked data with their weights, and the attributes that the first data of an estimator decide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onkel._core import Lock
from onkel.estimators.base.input import Checked, sample_weights
from onkel.estimators.base.parameters import BuiltWith
from onkel.estimators.base.targets import Labels, Targets, class_weights
from onkel.estimators.online.fitted import ScorerCache
from onkel.estimators.online.vocabulary import Vocabulary
from onkel.gram import check_gram
from onkel.kernels import Precomputed
from onkel.kernels.rows import GramRows, Rows
from onkel.kernels.vectors import VectorRows
from onkel.models.columns import Columns

if TYPE_CHECKING:
    from onkel.estimators.online.estimator import OnlineEstimator

__all__ = ["Examples", "attributes_of", "examples_of", "first_attributes"]


class Examples(NamedTuple):
    """Checked examples with positive weights."""

    rows: Rows
    y: NDArray  # (n,): labels or numbers
    weights: NDArray[np.float64]  # (n,)
    row_ids: NDArray[np.int64]  # (n,)
    next_row_id: int  # the id of the row after all that were given, also after those of weight 0

    @property
    def learned(self) -> tuple[Rows, NDArray, NDArray[np.float64], NDArray[np.int64]]:
        """What is learned from: rows, y, weights and row ids."""
        return self.rows, self.y, self.weights, self.row_ids


def examples_of(
    estimator: OnlineEstimator,
    checked: Checked,
    sample_weight: Any,
    first_id: int,
    targets: Targets | None,
    *,
    balanced: bool,
) -> Examples:
    """The examples with positive weights: sample weight times class weight.

    `targets` are those of the stream so far, None in a new fit; `balanced` says whether class_weight="balanced" is
    allowed.
    """
    rows, n = checked.rows, len(checked.rows)
    y = np.ones(n) if checked.y is None else np.asarray(checked.y)
    weights = sample_weights(sample_weight, n, estimator._name)
    class_weight = getattr(estimator, "class_weight", None)
    if class_weight is not None:
        weights *= class_weights(class_weight, y, weights > 0, estimator._name, targets, balanced=balanced)
    present = np.flatnonzero(weights > 0)
    if len(present) < n:
        rows, y, weights = rows[present], y[present], weights[present]
    return Examples(rows, y, weights, first_id + present, first_id + n)


def first_attributes(
    estimator: OnlineEstimator, columns: Columns | Vocabulary, rows: Rows, targets: Targets
) -> dict[str, Any]:
    """The attributes that the first data of a fit or a stream decide."""
    new: dict[str, Any] = {"_targets": targets, "_columns": columns, "_certified": None}
    new["_scorer"], new["_built_with"] = ScorerCache(), BuiltWith.of(estimator)
    new["_lock"] = estimator.__dict__.setdefault("_lock", Lock())
    if isinstance(targets, Labels):
        new["classes_"] = targets.classes
    new |= attributes_of(columns)
    if hasattr(estimator, "kernel"):
        new |= estimator._resolved_kernel(_of_features(rows, columns))
        kernel = new["kernel_"]
        new["_is_psd"] = kernel.is_psd
        if isinstance(rows, GramRows):
            examined = check_gram(rows, estimator._name)
            if isinstance(kernel, Precomputed):  # K says nothing about a kernel derived from it, such as −K
                new["_is_psd"] = examined
        estimator._check_examples(kernel, rows)
    return new


def attributes_of(columns: Columns | Vocabulary) -> dict[str, Any]:
    """The attributes that tell the number and the names of the features; those of a vocabulary are told by itself."""
    if isinstance(columns, Vocabulary):
        return {}
    new: dict[str, Any] = {} if columns.n_features is None else {"n_features_in_": columns.n_features}
    return new if columns.names is None else new | {"feature_names_in_": columns.names_array()}


def _of_features(rows: Rows, columns: Columns | Vocabulary) -> Rows:
    """The rows without the free columns of a vocabulary: gamma depends on the number of features."""
    if isinstance(columns, Vocabulary) and isinstance(rows, VectorRows):
        return rows.with_columns(columns.columns()[1])
    return rows
