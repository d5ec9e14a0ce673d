"""Input of whole data sets: X, y and weights become rows, targets and weights, checked once, or an error is raised.

scikit-learn's `validate_data` checks everything except arrays and CSR matrices that a fitted estimator can take as
they are; it would return them unchanged, after 0.2 ms.
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
FLOATS = [np.float64, np.float32]  # accepted as they are; other numbers become the first


class DataInput(Estimator):
    """An estimator with input validation for data sets: X, y and sample weights."""

    n_features_in_: int
    _dtype: np.dtype  # of the first rows; later ones are converted to it

    def _check_examples(self, rows: Rows) -> None:
        """Refuses rows that this estimator cannot learn from with its kernel; by default it refuses none."""

    def _kernel_in(self, fresh: bool = False) -> Kernel:
        """A kernel that accepts the same input as the estimator.

        The fitted kernel if there is one; with `fresh`, as before a new fit, a kernel made from the parameters.
        """
        return Linear()

    def _check_data(
        self, X: Any, y: Any, *, reset: bool, whole: bool, targets: Literal["labels", "numbers", "none"] = "labels"
    ) -> tuple[Rows, Any]:
        """Checked input for learning: rows and targets.

        `reset`: a new fit, which defines the features. `whole`: X is all the data, not a chunk. `targets`: what y
        holds.
        """
        kernel = self._kernel_in(fresh=reset)
        if kernel.takes == "gram" and not (whole and reset):
            raise KindError(
                f"{self._name}: a precomputed Gram matrix cannot grow, so it cannot be learned from bit by bit. "
                "Use fit without warm_start, or a kernel on the points themselves."
            )
        if kernel.takes == "objects":
            rows = prepare(kernel, X)
            if not reset:
                self._check_examples(rows)
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
            self.__dict__.pop("_columns", None)  # of an earlier stream of dicts
        else:
            self._check_examples(rows)
        return rows, y

    def _check_to_predict(self, X: Any) -> Any:
        """Checked input for predicting."""
        takes = self._kernel_in().takes
        if takes == "objects" or self._is_plain(X):
            return X
        sparse = "csr" if takes == "vectors" else False
        return validate_data(self, X, reset=False, accept_sparse=sparse, dtype=FLOATS)

    def _is_plain(self, X: Any) -> bool:
        """Whether X is an array or a CSR matrix that `validate_data` would return unchanged."""
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
        """The checked sample weights, shape (n,); None means 1 for all."""
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
    """Whether the sum of the values is finite; then all values are. False also if only the sum overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()))


def _is_plain_target(y: Any, n: int, targets: str) -> bool:
    """Whether y is an array of n labels, or numbers, that `validate_data` would return unchanged."""
    if type(y) is not np.ndarray or y.shape != (n,):
        return False
    return are_labels(y) if targets == "labels" else y.dtype == np.float64 and _is_finite(y)


def are_labels(y: NDArray) -> bool:
    """Whether all values are whole numbers or strings, which are labels; False if that needs a closer look."""
    if y.dtype.kind == "f":
        return bool((np.abs(y) < 1 << 53).all() and (y == np.rint(y)).all())
    return y.dtype.kind in "biuU"


class KernelInput(DataInput):
    """A `DataInput` with the parameters kernel, gamma, degree and coef0."""

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
        """Sets `kernel_`, and `gamma_` where gamma is used, from the parameters and the first data."""
        gamma = 1.0
        if isinstance(self.kernel, Kernel):
            self.__dict__.pop("gamma_", None)  # of an earlier fit with a named kernel
        else:
            gamma = self.gamma_ = resolve_gamma(self.gamma, rows, self._name)
        self.kernel_: Kernel = named_kernel(self.kernel, gamma, self.degree, self.coef0, self._name)
        return self.kernel_
