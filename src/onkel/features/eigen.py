"""The eigen map: coordinates in the span of the training set in the feature space of a kernel."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from onkel.checks import check_integer
from onkel.errors import GramError, KindError, ValuesError
from onkel.estimators.base.estimator import set_params, undo_on_error
from onkel.estimators.base.input import FLOATS
from onkel.estimators.state.checks import check_rows, refuse
from onkel.features.map_state import from_map_state, map_state, read_kernel
from onkel.gram import fixed_signs, rounding
from onkel.kernels import RBF, Kernel, expand, prepare
from onkel.kernels.rows import GramRows, ObjectRows, Rows
from onkel.kernels.rows_state import rows_from_state, rows_state
from onkel.kernels.vectors import VectorRows
from onkel.states.state import State

__all__ = ["EigenMap"]


def _spectrum(
    K: NDArray[Any], n_components: int | None, kernel: Kernel
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The eigenvalues of a Gram matrix that are above rounding errors, in descending order, and their eigenvectors.

    Kernel values can have larger rounding errors than `gram.rounding` assumes (exp of large inner products in float32).
    If the kernel is known to be valid, negative eigenvalues down to −√ε λ_max are therefore taken as rounding errors,
    and positive eigenvalues of the same size are dropped.
    """
    n = len(K)
    known = kernel.is_psd is True
    # All eigenvalues, unless fewer are wanted and there is no need to check the smallest.
    wanted = n if n_components is None or not known else min(n, n_components)
    copy = K.astype(np.float64)
    values, U = eigh(copy, subset_by_index=[n - wanted, n - 1], overwrite_a=True, check_finite=False)
    largest = float(np.abs(values).max())
    tol = rounding(K.dtype, n, abs(float(K.trace(dtype=np.float64))), largest)
    allowed = max(tol, math.sqrt(np.finfo(K.dtype).eps) * largest) if known else tol
    asymmetry = float(np.abs(np.subtract(K, K.T, dtype=np.float64)).max())
    if asymmetry > allowed:
        raise GramError(
            f"EigenMap: the Gram matrix of {kernel!r} must be symmetric; got entries K_ij and K_ji that differ by "
            f"{asymmetry:.3g}. Take (K + K.T) / 2 if that is what you mean."
        )
    if values[0] < -allowed:
        raise GramError(
            f"EigenMap: the Gram matrix of {kernel!r} must have no negative eigenvalue, else it holds no inner "
            f"products; got {values[0]:.3g} (the largest is {values[-1]:.3g}), and the error's witness b has bᵀKb < 0. "
            "Take a kernel whose is_psd is True, such as RBF, or repair the matrix with onkel.gram.",
            witness=U[:, 0].copy(),
        )
    keep = np.flatnonzero(values > max(tol, -values[0]))[::-1][:n_components]
    if keep.size == 0:
        raise GramError(
            f"EigenMap: the Gram matrix of {kernel!r} must have a positive eigenvalue; got {largest:.3g} as the "
            "largest, so X has no features under this kernel. Look for rows or columns of zeros."
        )
    return values[keep], fixed_signs(U[:, keep])


class EigenMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Coordinates in the span of the training set in the feature space of a kernel.

    With the training Gram matrix K = U D Uᵀ, the training points have the coordinates Φ = U D^½, so that ΦΦᵀ = K. Any
    other point z has Φ(z) = k(z, X) U D^−½, the coordinates of its projection onto the span; with all columns,
    Φ(z)·Φ(x) = k(z, x) for every training point x. The columns are in descending order of the eigenvalues. Unlike
    KernelPCA of scikit-learn, the map does not center the points, so that inner products remain kernel values.

    `fit` raises a GramError with a witness if the Gram matrix has a negative eigenvalue that is not a rounding error.
    If `n_components` is given and the kernel says is_psd = True, only the largest eigenvalues are computed, and it
    relies on the kernel.

    Parameters
    ----------
    kernel : a kernel of `onkel.kernels`; None (default): RBF(gamma=1 / number of features). With Precomputed, X is
        K(train, train) in `fit` and K(new, train) in `transform`. ``kernel__gamma`` and the like set the parameters of
        the kernel.
    n_components : ≥ 1, the largest number of columns; None (default): no limit. Eigenvalues up to the rounding error,
        4 ε tr K with the machine epsilon ε of the dtype of X, never get a column.

    Attributes
    ----------
    kernel_ : the kernel in use.
    eigenvalues_ : the diagonal of D, in descending order, shape (columns,).
    dual_coef_ : U D^−½, shape (training rows, columns): Φ(z) = Σⱼ k(z, xⱼ) dual_coef_[j]. The sign of a column is
        chosen so that the first of its entries with at least 0.9 of the largest modulus is positive.
    X_fit_ : a copy of the training rows; with Precomputed, the column indices 0 … n − 1 of K.
    n_features_in_ : number of columns of X in `fit`.
    feature_names_in_ : column names of X in `fit`, if it is a data frame with names that are strings.

    Cost: `fit` stores n² kernel values and takes about 9n³ operations, 4n³/3 for few components of a kernel with
    is_psd = True. `transform` takes n kernel values per row, in O(tile) memory. float32 input gives float32 output.

    >>> import numpy as np
    >>> from onkel import features, kernels
    >>> X, k = np.array([[0.0], [1.0], [2.0]]), kernels.RBF(gamma=0.5)
    >>> Phi = features.EigenMap(k).fit_transform(X)
    >>> np.allclose(Phi @ Phi.T, k(X))
    True

    Source: Schölkopf, Smola and Müller 1998, Nonlinear component analysis as a kernel eigenvalue problem.
    """

    set_params = set_params

    def __init__(self, kernel: Kernel | None = None, n_components: int | None = None) -> None:
        self.kernel = kernel
        self.n_components = n_components

    def fit(self, X: Any, y: Any = None) -> Self:
        """Computes the eigenvectors of the Gram matrix of X; y is ignored."""
        self._fit(X)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fits the map and returns Φ of the training rows; cheaper than ``fit(X).transform(X)``. y is ignored."""
        return self._fit(X)

    def _fit(self, X: Any) -> NDArray[Any]:
        """Fits the map and returns Φ of the training rows."""
        who, kernel, n_components = "EigenMap", self.kernel, self.n_components
        if not (kernel is None or isinstance(kernel, Kernel)):
            raise KindError(
                f"{who}: kernel must be a kernel object such as onkel.kernels.RBF(gamma=0.5), or None; got {kernel!r}."
            )
        if n_components is not None:
            n_components = check_integer(n_components, "n_components", who, at_least=1, advice="None takes all.")
        with undo_on_error(self):
            rows = self._rows(RBF() if kernel is None else kernel, X, reset=True)
            if kernel is None:
                kernel = RBF(gamma=1.0 / self.n_features_in_)
            K = kernel(rows)
            if not np.isfinite(K).all():
                raise ValuesError(
                    f"{who}: {kernel!r} must give finite values on X; got NaN or infinity. "
                    "Scale X, or take a smaller gamma or degree."
                )
            eigenvalues, U = _spectrum(K, n_components, kernel)
            self.kernel_, self.X_fit_ = kernel, _support(rows)
            self.eigenvalues_, self.dual_coef_ = eigenvalues, U / np.sqrt(eigenvalues)
            self._n_features_out = len(eigenvalues)
        return (U * np.sqrt(eigenvalues)).astype(K.dtype, copy=False)

    def transform(self, X: Any) -> Any:
        """Φ(z) = k(z, X_fit_) @ dual_coef_ for each row z of X, shape (rows, columns)."""
        check_is_fitted(self)
        rows = self._rows(self.kernel_, X, reset=False)
        return expand(self.kernel_, rows, self.X_fit_, self.dual_coef_).astype(rows.dtype, copy=False)

    def _rows(self, kernel: Kernel, X: Any, reset: bool) -> Rows:
        """Checks X; with `reset`, as the training data, whose number and names of columns are then remembered."""
        if kernel.takes != "objects":
            sparse = False if kernel.takes == "gram" else "csr"
            X = validate_data(self, X, reset=reset, accept_sparse=sparse, dtype=FLOATS, copy=reset)
        return prepare(kernel, X, itself=reset)

    def state(self) -> State:
        """The parameters and, if the map was fitted, the kernel, the training rows and the coefficients."""
        fitted = None
        if hasattr(self, "dual_coef_"):
            arrays = {"eigenvalues": self.eigenvalues_.copy(), "dual_coef": self.dual_coef_.copy()}
            is_gram = self.kernel_.takes == "gram"
            rows = GramRows(None, self.X_fit_, None) if is_gram else prepare(self.kernel_, self.X_fit_)
            fitted = State("map/eigen", 1, {"kernel": self.kernel_}, arrays).with_part("rows", rows_state(rows))
        return map_state(self, self.get_params(deep=False), fitted)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The map that has this state; it maps alike, to the bit."""
        made, columns, fitted = from_map_state(cls, state, "map/eigen")
        if fitted is not None:
            kernel, part = read_kernel(state, fitted, columns), fitted.part("rows")
            check_rows(state, kernel, columns, [part], part.arrays["data"].dtype if "data" in part.arrays else None)
            rows, eigenvalues = rows_from_state(part), fitted.array("eigenvalues", tuple(FLOATS), (None,))
            if kernel.takes == "gram" and len(rows) != columns.n_features:
                raise refuse(state, f"there must be a row for each of the {columns.n_features} columns", len(rows))
            made.kernel_, made.X_fit_, made.eigenvalues_ = kernel, _support(rows), eigenvalues.copy()
            made.dual_coef_ = fitted.array("dual_coef", tuple(FLOATS), (len(rows), len(eigenvalues))).copy()
            made._n_features_out = len(made.eigenvalues_)
        return made

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        takes = getattr(self.kernel, "takes", "vectors")
        tags.input_tags.pairwise = takes == "gram"
        tags.input_tags.sparse = takes in ("vectors", "anything")
        tags.input_tags.two_d_array = takes != "objects"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _support(rows: Rows) -> Any:
    """The training rows in the form that `expand` takes as S."""
    if isinstance(rows, VectorRows):
        return rows.matrix
    return rows.objects if isinstance(rows, ObjectRows) else np.arange(len(rows))
