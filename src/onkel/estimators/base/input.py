"""Input of whole data sets: X and y become checked rows and targets, once, or an error is raised.

scikit-learn's `validate_data` checks everything except arrays and CSR matrices that a fitted estimator can take as
they are; it would return them unchanged, after 0.2 ms. Nothing here changes the estimator: the first data of a fit are
checked on a stand-in, and what is learned about the columns is returned.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from onkel.checks import check_sample_weight
from onkel.errors import KindError, ShapeError, ValuesError
from onkel.estimators.base.targets import check_numbers
from onkel.kernels import Kernel, prepare
from onkel.kernels.precision import in_range
from onkel.kernels.rows import ObjectRows, Rows
from onkel.kernels.vectors import VectorRows
from onkel.models.columns import Columns, dicts_of
from onkel.models.input import rows_of, takes_rows
from onkel.models.vocabulary import Vocabulary, first_columns

__all__ = [
    "FLOATS",
    "Checked",
    "all_data",
    "are_labels",
    "attributes_of",
    "first_data",
    "more_data",
    "rows_to_predict",
    "sample_weights",
]

CSR = (sp.csr_array, sp.csr_matrix)
FLOATS = [np.float64, np.float32]  # accepted as they are; other numbers become the first

TargetKind = Literal["labels", "numbers", "several numbers", "none"]  # one target, or (n, targets)


class Checked(NamedTuple):
    """Data for learning: rows, targets as given (None if there are none), and the columns of the rows."""

    rows: Rows
    y: Any
    columns: Columns | Vocabulary


def first_data(estimator: BaseEstimator, kernel: Kernel, X: Any, y: Any, targets: TargetKind) -> Checked:
    """Checks the first data of a fit, which define the columns; `kernel` says what kind of data it takes."""
    if kernel.takes == "objects":
        rows = prepare(kernel, X)
        return Checked(rows, targets_of_objects(estimator, y, len(rows), targets), Columns(None))
    examples = dicts_of(X, frames=False) if takes_rows(kernel) else None
    if examples is not None:
        rows, columns = _first_dicts(type(estimator).__name__, kernel, examples)
        return Checked(rows, targets_of_objects(estimator, y, len(rows), targets), columns)
    stand_in = object.__new__(type(estimator))  # gets the attributes that validate_data sets
    vars(stand_in).update(estimator.get_params(deep=False))
    X, y = _validated(stand_in, kernel, X, y, targets, reset=True)
    rows = in_range(kernel, prepare(kernel, X, itself=kernel.takes == "gram"))
    names = getattr(stand_in, "feature_names_in_", None)
    return Checked(rows, y, Columns(stand_in.n_features_in_, None if names is None else tuple(names), rows.dtype))


def all_data(
    estimator: BaseEstimator, kernel: Kernel, X: Any, y: Any, targets: TargetKind
) -> tuple[Rows, Any, Columns]:
    """Checks the data of a fit that sees all of it at once: rows, targets and columns, also of sparse dicts."""
    rows, y, columns = first_data(estimator, kernel, X, y, targets)
    if isinstance(columns, Vocabulary):
        columns, places = columns.columns()
        assert isinstance(rows, VectorRows)
        rows = rows.with_columns(places)
    return rows, y, columns


def _first_dicts(name: str, kernel: Kernel, examples: list[dict[Any, Any]]) -> tuple[Rows, Columns | Vocabulary]:
    """The rows of the first dicts, and their columns."""
    columns = first_columns(examples, np.dtype(np.float64))
    if not columns.n_features:
        raise ShapeError(f"{name}: the first dicts must have a feature; got {examples[0]!r}.")
    rows = columns.rows(examples, name)
    kernel.inner.check_rows(rows, "X")
    return rows, columns


def more_data(
    estimator: BaseEstimator, kernel: Kernel, columns: Columns | Vocabulary, X: Any, y: Any, targets: TargetKind
) -> Checked:
    """Checks further data for a fitted estimator, which must have its columns; they get the dtype of the first.

    Dicts, and data frames for an estimator that learns from dicts, are returned as a list of dicts (`ObjectRows`): what
    features they have shows when they are learned from.
    """
    name = type(estimator).__name__
    if kernel.takes == "gram":
        raise KindError(
            f"{name}: a precomputed Gram matrix cannot grow, so it cannot be learned from bit by bit. "
            "Use fit without warm_start, or a kernel on the points themselves."
        )
    if kernel.takes == "objects":
        rows = prepare(kernel, X)
        return Checked(rows, targets_of_objects(estimator, y, len(rows), targets), columns)
    examples = dicts_of(X, frames=columns.growing)
    if examples is not None:
        objects = np.empty(len(examples), dtype=object)
        objects[:] = examples
        return Checked(ObjectRows(objects), targets_of_objects(estimator, y, len(objects), targets), columns)
    if isinstance(columns, Vocabulary):
        columns.refuse(X, name)
    plain = _is_plain(estimator, kernel, columns, X)
    if not (plain and (targets == "none" or _is_plain_target(y, X.shape[0], targets))):
        X, y = _validated(estimator, kernel, X, y, targets, reset=False)
    rows = prepare(kernel, X)
    y = None if targets == "none" else y
    return Checked(rows.astype(columns.dtype) if isinstance(rows, VectorRows) else rows, y, columns)


def rows_to_predict(estimator: BaseEstimator, kernel: Kernel, columns: Columns, X: Any) -> Rows:
    """Checks data to predict; they get the dtype of the first data."""
    named = takes_rows(kernel) and dicts_of(X, frames=columns.growing) is not None
    if kernel.takes != "objects" and not named and not _is_plain(estimator, kernel, columns, X):
        sparse = "csr" if takes_rows(kernel) else False
        X = validate_data(estimator, X, reset=False, accept_sparse=sparse, dtype=FLOATS)
    return rows_of(X, kernel, columns, type(estimator).__name__)


def sample_weights(sample_weight: Any, n: int, name: str) -> NDArray[np.float64]:
    """The checked sample weights, shape (n,); None means 1 for all."""
    if sample_weight is None:
        return np.ones(n)
    weights = check_sample_weight(sample_weight, n, name)
    if not weights.any():
        raise ValuesError(f"{name}: sample_weight must have a positive weight; got zeros only.")
    if weights.min() < 0:
        raise ValuesError(f"{name}: sample_weight must be >= 0; got {weights.min():g}.")
    return weights


def _validated(
    estimator: BaseEstimator, kernel: Kernel, X: Any, y: Any, targets: TargetKind, *, reset: bool
) -> tuple[Any, Any]:
    sparse = "csr" if takes_rows(kernel) else False
    options: dict[str, Any] = {"reset": reset, "accept_sparse": sparse, "dtype": FLOATS}
    if targets == "none":
        return validate_data(estimator, X, **options), None
    if targets == "several numbers":
        options["multi_output"] = True
    X, y = validate_data(estimator, X, y, y_numeric=targets != "labels", **options)
    return X, y if targets == "labels" else check_numbers(y, type(estimator).__name__)


def targets_of_objects(estimator: BaseEstimator, y: Any, n: int, targets: TargetKind) -> NDArray | None:
    """y for n objects, which scikit-learn does not check."""
    if targets == "none":
        return None
    name = type(estimator).__name__
    found = np.asarray(y) if targets == "labels" else check_numbers(y, name)
    several = targets == "several numbers" and found.ndim == 2 and len(found) == n and found.shape[1] > 0
    if found.shape != (n,) and not several:
        raise ShapeError(f"{name}: y must give a label per object, shape ({n},); got {found.shape}.")
    return found


def _is_plain(estimator: BaseEstimator, kernel: Kernel, columns: Columns | Vocabulary, X: Any) -> bool:
    """Whether X is an array or a CSR matrix that `validate_data` would return unchanged."""
    sparse = type(X) in CSR and takes_rows(kernel)
    return (
        (sparse or type(X) is np.ndarray)
        and X.dtype in FLOATS
        and X.ndim == 2
        and X.shape[0] > 0
        and X.shape[1] == columns.n_features
        and not hasattr(estimator, "feature_names_in_")
        and _is_finite(X.data if sparse else X)
    )


def _is_finite(values: NDArray) -> bool:
    """Whether the sum of the values is finite; then all values are. False also if only the sum overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()))


def _is_plain_target(y: Any, n: int, targets: TargetKind) -> bool:
    """Whether y is an array of n labels, or numbers, that `validate_data` would return unchanged."""
    if type(y) is not np.ndarray or y.shape != (n,):
        return False
    return are_labels(y) if targets == "labels" else y.dtype == np.float64 and _is_finite(y)


def are_labels(y: NDArray) -> bool:
    """Whether all values are whole numbers or strings, which are labels; False if that needs a closer look."""
    if y.dtype.kind == "f":
        return bool((np.abs(y) < 1 << 53).all() and (y == np.rint(y)).all())
    return y.dtype.kind in "biuU"


def attributes_of(columns: Columns | Vocabulary) -> dict[str, Any]:
    """`n_features_in_` and `feature_names_in_`, as far as the columns have them; of a vocabulary its model tells."""
    if isinstance(columns, Vocabulary):
        return {}
    new: dict[str, Any] = {} if columns.n_features is None else {"n_features_in_": columns.n_features}
    return new if columns.names is None else new | {"feature_names_in_": columns.names_array()}
