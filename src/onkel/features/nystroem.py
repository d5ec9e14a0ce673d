"""The Nyström map: coordinates in the span of some training points in the feature space of a kernel."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from onkel._core.transaction import assign
from onkel.checks import check_integer, check_one_of
from onkel.errors import GramError, InputError, KindError, ValuesError, signed
from onkel.estimators.base.estimator import set_params, undo_on_error
from onkel.estimators.base.input import FLOATS
from onkel.estimators.base.parameters import SCIKIT_LEARN, check_kernel, kernel_of, resolved_kernel, seed_of
from onkel.estimators.state.checks import check_rows, refuse
from onkel.features.map_state import from_map_state, map_state, read_kernel
from onkel.features.reservoir import Reservoir
from onkel.gram import check
from onkel.kernels import Kernel, prepare
from onkel.kernels.centers import Centers, without_block
from onkel.kernels.rows import GramRows, ObjectRows, Rows
from onkel.kernels.rows_state import rows_from_state, rows_state
from onkel.kernels.vectors import VectorRows
from onkel.solvers.ridge.centers import CENTER_CHOICES, choose_centers, given_centers
from onkel.states.state import Setting, State

__all__ = ["NystroemMap"]

TILE_VALUES = 1 << 20  # kernel values that are in memory at once: 8 MB
# The inner products of the map on its own centres differ from the kernel values by at most the tolerance of the
# factorization, 1e-12, and rounding errors, if the kernel is positive semi-definite on them.
AGREEMENT = 1e-8


@dataclasses.dataclass(frozen=True, eq=False)
class _Chosen:
    """Rows that were chosen as centres, of which those that depend on others are left out."""

    kernel: Kernel
    rows: Rows
    row_ids: NDArray[np.int64]  # their numbers among the rows of X, or among the given centres

    @functools.cached_property
    def centers(self) -> Centers:
        """The centres with their factor, in float64; computed when it is first needed."""
        rows = self.rows.wide()
        _refuse_infinite(self.kernel, self.kernel.inner.diagonal(rows))
        with signed("NystroemMap"):
            centers = Centers.of(self.kernel, rows)
        if self.kernel.is_psd is not True:
            _refuse_indefinite(self.kernel, rows, centers)
        return centers


def _refuse_infinite(kernel: Kernel, values: NDArray[np.float64]) -> None:
    if not np.isfinite(values).all():
        raise ValuesError(
            f"NystroemMap: {kernel!r} must give finite values on X; got NaN or infinity. "
            "Scale X, or take a smaller gamma or degree."
        )


def _refuse_indefinite(kernel: Kernel, rows: Rows, centers: Centers) -> None:
    """Raises GramError if the kernel values of the rows are no inner products, hence not those of their features."""
    K = kernel(rows)
    phi = centers.features(rows)
    if np.abs(phi @ phi.T - K).max() <= AGREEMENT * K.diagonal().max():
        return
    report = check(K)
    found = "entries K_ij and K_ji differ" if not report.symmetric else f"got {report.smallest_eigenvalue:.3g}"
    raise GramError(
        f"NystroemMap: the Gram matrix of {kernel!r} must be symmetric and have no negative eigenvalue, else it holds "
        f"no inner products; {found}. Take a kernel whose is_psd is True, such as RBF, or repair the matrix with "
        "onkel.gram.",
        witness=report.witness,
    )


class NystroemMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Coordinates in the span of some training points in the feature space of any valid kernel.

    With centres S and K_SS = T Tᵀ, T lower triangular, the features of x are φ(x) = T⁻¹k(S, x), the coordinates of its
    projection on the span of the centres with respect to an orthonormal basis: φ(x)·φ(z) = k(x, z) if x or z is a
    centre, and no less accurate than any other map into the span if not. Centres that depend on those before them, such
    as duplicates, are left out, so that there may be fewer columns than centres: `n_components_`.

    `partial_fit` takes the rows in chunks: the centres are a uniform sample of all rows so far, the same for any
    chunks, and the same as those of `fit` on all rows. New centres change the meaning of all columns, so let the map
    see all chunks before a model learns from its features, or give it the `centers`.

    Parameters
    ----------
    n_components : ≥ 1 (default 100), the number of centres, and the largest number of columns. If there are fewer
        rows, all of them are centres.
    kernel : a name such as "rbf" (default), a function, or a kernel of `onkel.kernels`. With Precomputed, X is
        K(train, train) in `fit` and K(new, train) in `transform`. ``kernel__gamma`` and the like set the parameters of
        a kernel object.
    gamma : γ > 0 of a kernel that is given by its name; None (default): 1 / number of features, 1 for "chi2".
        "scale", "auto" and "median" take it from the rows, in `partial_fit` from those of the first chunk.
    degree, coef0 : the degree (default 3) and the constant (default 1) of the kernels "poly" and "sigmoid".
    center_choice : how centres are chosen. "uniform" (default): rows at random, without replacement. "leverage": rows
        by approximate ridge leverage scores, which prefer those that few others resemble. "kmeans": the means of
        clusters, for vectors only. `partial_fit` makes the latter two from the first chunk.
    centers : the centres themselves, in the form of X; with Precomputed, their row numbers. None (default): chosen.
    random_state : None (default), a number or a RandomState: which rows are drawn.

    Attributes
    ----------
    kernel_ : the kernel in use.
    components_ : the centres that were kept, one for each column, in the order of the columns; with Precomputed, their
        row numbers.
    component_indices_ : their row numbers in X, counted through all chunks, or in `centers`; −1 for means.
    n_components_ : number of columns: the rank of the kernel matrix of the centres.
    n_samples_seen_ : number of rows of X so far.
    n_features_in_ : number of columns of X in `fit`.
    feature_names_in_ : column names of X in `fit`, if it is a data frame with names that are strings.

    Cost: for m centres, `fit` takes m² kernel values and m³/3 multiply-adds, and `transform` m kernel values and m²/2
    multiply-adds per row. Both compute in float64; float32 input gives float32 output. `partial_fit` only keeps m rows;
    the first `transform` after it does the work of `fit`.

    >>> import numpy as np
    >>> from onkel import features, kernels
    >>> X, k = np.array([[0.0], [1.0], [2.0], [1.0]]), kernels.RBF(gamma=0.5)
    >>> Phi = features.NystroemMap(4, kernel=k).fit_transform(X)
    >>> Phi.shape, np.allclose(Phi @ Phi.T, k(X))
    ((4, 3), True)

    Source: Williams and Seeger 2001, Using the Nyström method to speed up kernel machines; the factor is that of
    Bach and Jordan 2005, Predictive low-rank decomposition for kernel methods.
    """

    KERNEL_DEFAULTS = SCIKIT_LEARN

    set_params = set_params

    def __init__(
        self,
        n_components: int = 100,
        *,
        kernel: Any = "rbf",
        gamma: float | str | None = None,
        degree: float = 3,
        coef0: float = 1.0,
        center_choice: str = "uniform",
        centers: Any = None,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.center_choice = center_choice
        self.centers = centers
        self.random_state = random_state

    # ---------------------------------------------------------------- fit

    def fit(self, X: Any, y: Any = None) -> Self:
        """Chooses the centres and factorizes their kernel matrix; y is ignored."""
        with undo_on_error(self):
            self._start(X)
            self._chosen.centers  # noqa: B018  (computed now, so that `fit` refuses what cannot be a map)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Takes more rows into the sample of which the centres are; y is ignored.

        The parameters are those of the first call. If the centres are given or not uniform, later rows are only
        checked.
        """
        if not hasattr(self, "_chosen"):
            with undo_on_error(self):
                self._start(X)
            return self
        kernel, chosen, sample = self.kernel_, self._chosen, self._sample
        if kernel.takes == "gram":
            raise KindError(
                "NystroemMap: a precomputed Gram matrix cannot grow, so it cannot be learned from bit by bit. "
                "Use fit, or a kernel on the points themselves."
            )
        rows = self._rows(kernel, X, reset=False)
        if sample is not None:
            before, sample = sample, sample.add(rows)
            if sample.rows is not before.rows:
                chosen = _Chosen(kernel, sample.kept, sample.row_ids)
        assign(self, _chosen=chosen, _sample=sample, n_samples_seen_=self.n_samples_seen_ + len(rows))
        return self

    def _start(self, X: Any) -> None:
        """Takes the first rows, which define the columns and the kernel."""
        size = check_integer(self.n_components, "n_components", "NystroemMap", at_least=1)
        check_one_of(self.center_choice, "center_choice", CENTER_CHOICES, "NystroemMap")
        check_kernel(self)
        rows = self._rows(kernel_of(self), X, reset=True)
        (self.kernel_, _), self.n_samples_seen_ = resolved_kernel(self, rows), len(rows)
        self._sample, self._chosen = self._first_choice(self.kernel_, rows, size)

    def _first_choice(self, kernel: Kernel, rows: Rows, size: int) -> tuple[Reservoir | None, _Chosen]:
        """The centres that are given or chosen from the first rows; with their sample if more rows can change them."""
        if self.centers is not None:
            with signed("NystroemMap"):
                return None, _Chosen(kernel, *given_centers(kernel, rows, self.centers))
        if self.center_choice == "uniform":
            sample = Reservoir(size, seed_of(self.random_state)).add(rows)
            return sample, _Chosen(kernel, sample.kept, sample.row_ids)
        size, random = min(size, len(rows)), check_random_state(self.random_state)
        diagonal = kernel.inner.diagonal(rows)
        _refuse_infinite(kernel, diagonal)
        # at this ridge the leverage scores, whose sum is the number of dimensions that count, add up to at most `size`
        with signed("NystroemMap"):
            found = choose_centers(kernel, rows, size, self.center_choice, random, float(diagonal.sum()) / size)  # type: ignore[arg-type]
        chosen = rows[found.places] if isinstance(rows, GramRows) else found.rows  # with the values for their factor
        return None, _Chosen(kernel, chosen, found.places)

    def _rows(self, kernel: Kernel, X: Any, reset: bool) -> Rows:
        """Checks X; with `reset`, as the first data, whose number and names of columns are then remembered."""
        if kernel.takes != "objects":
            sparse = False if kernel.takes == "gram" else "csr"
            X = validate_data(self, X, reset=reset, accept_sparse=sparse, dtype=FLOATS)
        return prepare(kernel, X, itself=reset)

    # ---------------------------------------------------------------- the map

    def transform(self, X: Any) -> Any:
        """φ(x) = T⁻¹k(S, x) of each row of X, shape (rows, n_components_)."""
        check_is_fitted(self)
        rows = self._rows(self.kernel_, X, reset=False)
        centers = self._chosen.centers
        out = np.empty((len(rows), len(centers)), dtype=rows.dtype)
        step = max(64, TILE_VALUES // len(centers))
        for start in range(0, len(rows), step):
            phi = centers.features(rows[start : start + step].wide())
            _refuse_infinite(self.kernel_, phi)
            out[start : start + step] = phi
        return out

    @property
    def components_(self) -> Any:
        """The centres that were kept, in the order of the columns; with Precomputed, their row numbers."""
        check_is_fitted(self)
        return _plain(self._chosen.rows[self._chosen.centers.places])

    @property
    def component_indices_(self) -> NDArray[np.int64]:
        """The row numbers of the centres in X, counted through all chunks, or in `centers`; −1 for means."""
        check_is_fitted(self)
        return self._chosen.row_ids[self._chosen.centers.places]

    @property
    def n_components_(self) -> int:
        """The number of columns: the rank of the kernel matrix of the centres."""
        check_is_fitted(self)
        return len(self._chosen.centers)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    # ---------------------------------------------------------------- state, tags

    def state(self) -> State:
        """The parameters and, if the map was fitted, the kernel, the centres with their factor and the sample."""
        params = self.get_params(deep=False) | {"centers": None}
        state = map_state(self, params, self._fitted_state() if hasattr(self, "_chosen") else None)
        if self.centers is None:
            return state
        kernel = kernel_of(self)
        is_gram = kernel.takes == "gram"
        given = GramRows(None, np.asarray(self.centers, dtype=np.intp), None) if is_gram else None
        return state.with_part("centers", rows_state(given or prepare(kernel, self.centers, name="centers")))

    def _fitted_state(self) -> State:
        chosen, sample = self._chosen, self._sample
        rows, centers = without_block(chosen.rows), chosen.centers
        settings: dict[str, Setting] = {"kernel": self.kernel_, "n_samples_seen": self.n_samples_seen_}
        arrays = {"row_ids": chosen.row_ids, "places": centers.places, "factor": centers.factor}
        if sample is not None:
            settings |= {"size": sample.size, "seed": sample.seed}
            arrays["keys"] = sample.keys
        return State("map/nystroem", 1, settings, arrays).with_part("rows", rows_state(rows))

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The map that has this state; it maps alike and goes on alike, to the bit."""
        made, columns, fitted = from_map_state(cls, state, "map/nystroem")
        if "centers" in state.settings:
            made.centers = _plain(rows_from_state(state.part("centers")))
        if fitted is None:
            return made
        kernel, part = read_kernel(state, fitted, columns), fitted.part("rows")
        check_rows(state, kernel, columns, [part], part.arrays["data"].dtype if "data" in part.arrays else None)
        rows = rows_from_state(part)
        row_ids, centers = fitted.array("row_ids", np.int64, (len(rows),)).copy(), _read_centers(fitted, kernel, rows)
        made.kernel_, made.n_samples_seen_ = kernel, fitted.count("n_samples_seen", 1)
        made._chosen, made._sample = _Chosen(kernel, rows, row_ids), None
        vars(made._chosen)["centers"] = centers  # as computed then: another machine may round to another order
        if "keys" in fitted.arrays:
            size, seed = fitted.count("size", max(1, len(rows))), fitted.count("seed", at_most=2**62)
            keys = fitted.array("keys", np.float64, (len(rows),)).copy()
            made._sample = Reservoir(size, seed, made.n_samples_seen_, rows, row_ids, keys)
        return made

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            takes = kernel_of(self).takes
        except (InputError, KindError):  # `fit` refuses this kernel; here that would end a whole GridSearchCV
            takes = "vectors"
        tags.input_tags.pairwise = takes == "gram"
        tags.input_tags.sparse = takes in ("vectors", "anything")
        tags.input_tags.two_d_array = takes != "objects"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _read_centers(fitted: State, kernel: Kernel, rows: Rows) -> Centers:
    """The centres of a fitted map among its rows, with their factor."""
    places = fitted.array("places", np.int64, (None,)).copy()
    r = len(places)
    if not r or places.min() < 0 or places.max() >= len(rows) or len(np.unique(places)) != r:
        raise refuse(fitted, f"the centres must be different ones of the {len(rows)} rows", places)
    factor = np.array(fitted.array("factor", np.float64, (r, r)), order="F")
    if not (factor.diagonal() > 0).all():
        raise refuse(fitted, "the factor must have a positive diagonal", factor.diagonal().min())
    return Centers(kernel, rows.wide()[places], places, factor)


def _plain(rows: Rows) -> Any:
    """Rows as the matrix, the objects or the row numbers that a user would give."""
    if isinstance(rows, VectorRows):
        return rows.matrix
    return rows.objects if isinstance(rows, ObjectRows) else rows.columns  # type: ignore[attr-defined]
