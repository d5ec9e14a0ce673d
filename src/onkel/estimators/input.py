"""Data sets as input: what a user gives becomes rows, targets and weights, checked once, or an error.

Everything passes scikit-learn's `validate_data`, except arrays and CSR matrices that a fitted estimator can take as
they are: there it would find nothing, and take 0.2 ms for it.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from onkel.checks import check_sample_weight
from onkel.errors import KindError, ShapeError, ValuesError
from onkel.estimators.base import Estimator
from onkel.kernels import Kernel, Linear, prepare
from onkel.kernels.named import named_kernel, refuse_unused, resolve_gamma
from onkel.kernels.rows import Rows
from onkel.kernels.vectors import VectorRows

__all__ = ["DataInput", "KernelInput", "are_labels"]

CSR = (sp.csr_array, sp.csr_matrix)
FLOATS = [np.float64, np.float32]  # what the door lets pass; other numbers become the first


class DataInput(Estimator):
    """An estimator that takes data sets: X, y and sample weights, checked."""

    n_features_in_: int
    _dtype: np.dtype  # of the rows that it was fitted on

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
                f"{self._name}: a precomputed Gram matrix cannot grow, so it cannot be learned from bit by bit. "
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
                raise ShapeError(f"{self._name}: y must give a label per object, shape ({len(rows)},); got {y.shape}.")
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
        weights = check_sample_weight(sample_weight, n, self._name)
        if not weights.any():
            raise ValuesError(f"{self._name}: sample_weight must have a positive weight; got zeros only.")
        if weights.min() < 0:
            raise ValuesError(f"{self._name}: sample_weight must be >= 0; got {weights.min():g}.")
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


class KernelInput(DataInput):
    """A `DataInput` with a kernel that the user names, describes or gives."""

    kernel: Any
    gamma: float | str
    degree: float
    coef0: float

    KERNEL_DEFAULTS: ClassVar[dict[str, Any]] = {"gamma": "scale", "degree": 3, "coef0": 1.0}

    def _check_params(self) -> None:
        super()._check_params()
        given = {name: getattr(self, name) for name in self.KERNEL_DEFAULTS}
        refuse_unused(self.kernel, given, self.KERNEL_DEFAULTS, self._name)

    def _kernel_in(self, fresh: bool = False) -> Kernel:
        if not fresh and hasattr(self, "kernel_"):
            return self.kernel_
        return named_kernel(self.kernel, 1.0, self.degree, self.coef0, self._name)

    def _resolve(self, rows: Rows) -> Kernel:
        """The kernel of the first data, kept."""
        gamma = 1.0
        if isinstance(self.kernel, Kernel):
            self.__dict__.pop("gamma_", None)  # of an earlier fit
        else:
            gamma = self.gamma_ = resolve_gamma(self.gamma, rows, self._name)
        self.kernel_: Kernel = named_kernel(self.kernel, gamma, self.degree, self.coef0, self._name)
        return self.kernel_
