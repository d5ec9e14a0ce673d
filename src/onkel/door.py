"""The door of the estimators: what a user brings becomes rows, weights, one row, or an error.

Whole data pass scikit-learn's `validate_data`, but for plain arrays and CSR matrices that a fitted estimator can take
as they are: there it has nothing to say, and takes 0.2 ms for that. One example at a time has a door of its own, a
hundred times lighter; it takes dicts as well, {feature: value}: features may appear, and the learner then grows by a
column of zeros, and vanish, and are then 0; to predict, features that were never learned from are ignored.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from onkel._core import _native
from onkel.checks import check_sample_weight
from onkel.errors import KindError, ShapeError, ValuesError
from onkel.estimator import KernelParams
from onkel.gram import check_gram
from onkel.kernels import Kernel, Linear, Precomputed, prepare
from onkel.kernels.named import named_kernel, refuse_unused, resolve_gamma
from onkel.kernels.rows import GramRows, Rows
from onkel.kernels.vectors import VectorRows
from onkel.learners.epochs import Run, run_epochs
from onkel.models.state import Snapshots
from onkel.progress import progress_bar

__all__ = ["FLOATS", "Door", "Entrance", "KernelDoor", "OwnKernel", "are_labels"]

CSR = (sp.csr_array, sp.csr_matrix)
FLOATS = [np.float64, np.float32]  # what the door lets pass; other numbers become the first


class Entrance(KernelParams, BaseEstimator):  # type: ignore[misc]
    """The door for whole data; a base of estimators."""

    n_features_in_: int
    _dtype: np.dtype  # of the rows that it was fitted on

    @property
    def _who(self) -> str:
        return type(self).__name__

    def _check_params(self) -> None:
        """Refuses parameters that cannot be used."""

    def _admit(self, rows: Rows) -> None:
        """Refuses examples that this estimator, which has its kernel, cannot learn from."""

    def _kernel_in(self, fresh: bool = False) -> Kernel:
        """A kernel that takes what this estimator takes; `fresh`: before a new fit, by its parameters."""
        return Linear()

    def _enter(
        self, X: Any, y: Any, *, reset: bool, whole: bool, targets: Literal["labels", "numbers", "none"] = "labels"
    ) -> tuple[Rows, Any]:
        """X and y at the door; `whole`: X is all there is, as in `fit`; `targets`: what y is to hold."""
        kernel = self._kernel_in(fresh=reset)
        if kernel.takes == "gram" and not (whole and reset):
            raise KindError(
                f"{self._who}: a precomputed Gram matrix cannot grow, so it cannot be learned from bit by bit. "
                "Use fit without warm_start, or a kernel on the points themselves."
            )
        if kernel.takes == "objects":
            rows = prepare(kernel, X)
            if not reset:
                self._admit(rows)
            if targets == "none":
                return rows, None
            y = np.asarray(y, dtype=np.float64 if targets == "numbers" else None)
            if y.shape != (len(rows),):
                raise ShapeError(f"{self._who}: y must give a label per object, shape ({len(rows)},); got {y.shape}.")
            return rows, y
        sparse = "csr" if kernel.takes == "vectors" else False
        options: dict[str, Any] = {"reset": reset, "accept_sparse": sparse, "dtype": FLOATS}
        plain = not reset and self._is_plain(X)
        if targets == "none":
            X, y = X if plain else validate_data(self, X, **options), None
        elif not (plain and _is_plain_target(y, X.shape[0], targets)):
            X, y = validate_data(self, X, y, y_numeric=targets == "numbers", **options)
        rows = prepare(kernel, X, itself=kernel.takes == "gram")
        if not reset and isinstance(rows, VectorRows):
            rows = rows.astype(self._dtype)
        if reset:
            self.__dict__.pop("_columns", None)  # of an earlier run on dicts
        else:
            self._admit(rows)
        return rows, y

    def _enter_to_predict(self, X: Any) -> Any:
        """X at the door of a fitted estimator."""
        takes = self._kernel_in().takes
        if takes == "objects" or self._is_plain(X):
            return X
        sparse = "csr" if takes == "vectors" else False
        return validate_data(self, X, reset=False, accept_sparse=sparse, dtype=FLOATS)

    def _is_plain(self, X: Any) -> bool:
        """Whether X is an array or a CSR matrix that `validate_data` would give back as it is."""
        sparse = type(X) in CSR and self._kernel_in().takes == "vectors"
        return (
            (sparse or type(X) is np.ndarray)
            and X.dtype in FLOATS
            and X.ndim == 2
            and X.shape[0] > 0
            and X.shape[1] == getattr(self, "n_features_in_", None)
            and not hasattr(self, "feature_names_in_")
            and _is_finite(X.data if sparse else X)
        )

    def _sample_weights(self, sample_weight: Any, n: int) -> NDArray[np.float64]:
        """What scales each example's step."""
        if sample_weight is None:
            return np.ones(n)
        weights = check_sample_weight(sample_weight, n, self._who)
        if not weights.any():
            raise ValuesError(f"{self._who}: sample_weight must have a positive weight; got zeros only.")
        if weights.min() < 0:
            raise ValuesError(f"{self._who}: sample_weight must be >= 0; got {weights.min():g}.")
        return weights

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        takes = self._kernel_in(fresh=True).takes
        tags.input_tags.pairwise = takes == "gram"
        tags.input_tags.sparse = takes in ("vectors", "anything")
        tags.input_tags.two_d_array = takes != "objects"
        return tags


def _is_finite(values: NDArray) -> bool:
    """False also where only their sum is not."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()))


def _is_plain_target(y: Any, n: int, targets: str) -> bool:
    """Whether y is an array of n labels, or numbers, that `validate_data` would give back as it is."""
    if type(y) is not np.ndarray or y.shape != (n,):
        return False
    return are_labels(y) if targets == "labels" else y.dtype == np.float64 and _is_finite(y)


def are_labels(y: NDArray) -> bool:
    """Whether every value is plainly a label: a whole number or a string; False where that takes a closer look."""
    if y.dtype.kind == "f":
        return bool((np.abs(y) < 1 << 53).all() and (y == np.rint(y)).all())
    return y.dtype.kind in "biuU"


class Door(Entrance, Snapshots):
    """The base of the online estimators; not for use by itself.

    Fitted, it has `_learner`, an object with ``widen(n_features)``.
    """

    max_iter: int
    shuffle: bool
    random_state: Any
    warm_start: bool
    verbose: int

    _learner: Any

    def _run_epochs(self, run: Run, n: int, random: np.random.RandomState, counted: str) -> KeyboardInterrupt | None:
        """The epochs of a fit over n rows; gives back the Ctrl-C that ended them."""
        with progress_bar(self._who, self.max_iter * n, self.verbose) as progress:
            self.n_iter_, self.converged_, interrupted = run_epochs(
                run,
                n,
                random,
                max_iter=self.max_iter,
                shuffle=bool(self.shuffle),
                report=lambda done: progress(done, f"{len(run.ledger)} {counted}"),
            )
        return interrupted

    # ---------------------------------------------------------------- one example

    def _as_batch(self, x: Any) -> Any:
        """One example as a batch of one; with a dict begins a run on dicts."""
        if self._kernel_in().takes == "objects":
            return [x]
        if isinstance(x, dict):
            x = _vector(x, dict(zip(x, range(len(x)), strict=True)), self._who)
        if hasattr(x, "toarray"):
            return x if x.ndim == 2 else x.reshape(1, -1)
        array = np.asarray(x)
        return array[None, :] if array.ndim == 1 else array

    def _light_row(self, x: Any, *, grow: bool = False) -> Rows:
        """One example, for an estimator that has learned; with `grow`, new features of a dict get a column."""
        kernel, columns = self._kernel_in(), None
        if type(x) is not np.ndarray:
            if kernel.takes != "vectors" or hasattr(x, "toarray"):
                return self._heavy_row(kernel, x, grow)
            if isinstance(x, dict):
                x, columns = self._from_dict(x, grow)
        elif kernel.takes != "vectors":
            return self._heavy_row(kernel, x, grow)
        row = np.array(x, dtype=self._dtype, ndmin=2, order="C")  # a copy: the caller's stays the caller's
        d = self.n_features_in_ if columns is None else len(columns)
        if row.shape != (1, d):
            raise ShapeError(
                f"{self._who} was trained on {d} features, so x must have shape ({d},); got {np.shape(x)}."
            )
        if not _native.all_finite(row):
            raise ValuesError(f"{self._who}: x must be finite; got NaN or infinity.")
        rows = VectorRows(row)
        rows._kept["is sparse"] = False
        kernel._check_rows(rows, "x")
        if grow:
            self._admit(rows)
        if columns is not None:
            self._learner.widen(d)
            self._columns, self.n_features_in_ = columns, d
            if hasattr(self, "feature_names_in_"):
                self.feature_names_in_ = np.array(list(columns), dtype=object)
        return rows

    def _heavy_row(self, kernel: Kernel, x: Any, learn: bool) -> Rows:
        """One CSR row or object, by the door of blocks."""
        rows = prepare(kernel, self._as_batch(x))
        if isinstance(rows, VectorRows):
            if (len(rows), rows.n_features) != (1, self.n_features_in_):
                raise ShapeError(
                    f"{self._who} was trained on {self.n_features_in_} features, so x must be one row of shape "
                    f"(1, {self.n_features_in_}); got {(len(rows), rows.n_features)}."
                )
            rows = rows.astype(self._dtype)
        if learn:
            self._admit(rows)
        return rows

    def _from_dict(self, x: dict[Any, Any], grow: bool) -> tuple[NDArray[np.float64], dict[Any, int] | None]:
        """{feature: value} as a vector, and the columns that it needs where there are to be more of them.

        A new feature gets a column where it is to be learned, else it is ignored.
        """
        columns = self._columns_by_name()
        new = [name for name in x if name not in columns]
        if not new:
            return _vector(x, columns, self._who), None
        if not grow:
            return _vector({name: value for name, value in x.items() if name in columns}, columns, self._who), None
        columns = columns | {name: len(columns) + i for i, name in enumerate(new)}
        return _vector(x, columns, self._who), columns

    def _columns_by_name(self) -> dict[Any, int]:
        columns: dict[Any, int] | None = self.__dict__.get("_columns")
        if columns is None:
            if not hasattr(self, "feature_names_in_"):
                raise KindError(
                    f"{self._who} was trained on vectors of {self.n_features_in_} features without names, so x must be "
                    "such a vector; got a dict. To learn from dicts begin with a dict, or with a data frame."
                )
            columns = self._columns = {name: i for i, name in enumerate(self.feature_names_in_)}
        return columns


class OwnKernel(Entrance):
    """An `Entrance` with a kernel that the user names, describes or gives."""

    kernel: Any
    gamma: float | str
    degree: float
    coef0: float

    KERNEL_DEFAULTS: ClassVar[dict[str, Any]] = {"gamma": "scale", "degree": 3, "coef0": 1.0}

    def _check_params(self) -> None:
        super()._check_params()
        given = {name: getattr(self, name) for name in self.KERNEL_DEFAULTS}
        refuse_unused(self.kernel, given, self.KERNEL_DEFAULTS, self._who)

    def _kernel_in(self, fresh: bool = False) -> Kernel:
        if not fresh and hasattr(self, "kernel_"):
            return self.kernel_
        return named_kernel(self.kernel, 1.0, self.degree, self.coef0, self._who)

    def _resolve(self, rows: Rows) -> Kernel:
        """The kernel of the first data, kept."""
        gamma = 1.0
        if isinstance(self.kernel, Kernel):
            self.__dict__.pop("gamma_", None)  # of an earlier fit
        else:
            gamma = self.gamma_ = resolve_gamma(self.gamma, rows, self._who)
        self.kernel_: Kernel = named_kernel(self.kernel, gamma, self.degree, self.coef0, self._who)
        return self.kernel_


class KernelDoor(OwnKernel, Door):
    """A `Door` with a kernel of the user's."""

    def _resolve(self, rows: Rows) -> Kernel:
        kernel = super()._resolve(rows)
        self._is_psd = kernel.is_psd
        if isinstance(rows, GramRows):
            examined = check_gram(rows, self._who)
            if isinstance(kernel, Precomputed):  # of a kernel made of it, such as −K, it says nothing
                self._is_psd = examined
        self._admit(rows)
        return kernel


def _vector(x: dict[Any, Any], columns: dict[Any, int], who: str) -> NDArray[np.float64]:
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
