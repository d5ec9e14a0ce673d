"""The polynomial map: the features of the polynomial kernel (γ x·z + c)ᵖ, computed explicitly.

With x₀ = z₀ = 1, w₀ = c and wᵢ = γ, the kernel is homogeneous, and the multinomial theorem expands it:

    (Σ wᵢ xᵢ zᵢ)ᵖ = Σ_a  p!/Π aᵢ! · Π wᵢ^aᵢ · Π xᵢ^aᵢ · Π zᵢ^aᵢ      over exponents a with Σ aᵢ = p

So H(x) has a column √(p!/Π aᵢ! · Π wᵢ^aᵢ) · Π xᵢ^aᵢ for each monomial of degree p.

The monomials of each degree m are numbered in lexicographic order of their sorted factors, and computed from those of
degree m − 1. The monomials of degree m whose first factor is xᵢ are the products of xᵢ with the monomials of degree
m − 1 that contain only xᵢ and later variables. If these are q variables, there are C(q + m − 2, m − 1) such monomials,
and in lexicographic order they are the *last* ones of degree m − 1. `_coefficients`, `_dense_monomials` and
`_csr_monomials` all use this rule.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from itertools import combinations_with_replacement
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from onkel.checks import check_integer, check_number
from onkel.errors import ParameterError, ShapeError
from onkel.estimators.base.estimator import undo_on_error
from onkel.estimators.base.input import FLOATS
from onkel.estimators.state.checks import refuse
from onkel.features.map_state import check_vectors, from_map_state, map_state
from onkel.states.state import State

__all__ = ["PolynomialMap"]

MAX_COLUMNS = 10_000_000  # most columns of a PolynomialMap


def _multisets(q: Any, m: int) -> Any:
    """The number of monomials of degree m in q variables, C(q + m − 1, m); q is a number or an array of numbers."""
    count = 0 * q + 1
    for j in range(m):
        count = count * (q + j) // (j + 1)
    return count


def _last(lengths: NDArray[np.int64], ends: Any) -> NDArray[np.int64]:
    """Concatenates the ranges end − length … end − 1, one for each pair of length and end."""
    starts = np.cumsum(lengths) - lengths
    numbers: NDArray[np.int64] = np.repeat(ends - lengths - starts, lengths) + np.arange(lengths.sum())
    return numbers


def _coefficients(w: NDArray[np.float64], p: int) -> NDArray[np.float64]:
    """√(p!/Π aᵢ! · Π wᵢ^aᵢ) of each monomial of degree p in len(w) variables."""
    variables = np.arange(len(w))
    first, power, square = variables, np.ones(len(w)), w
    with np.errstate(over="ignore", invalid="ignore"):
        for m in range(2, p + 1):
            reach = _multisets(len(w) - variables, m - 1)
            rest = _last(reach, len(square))
            factor = np.repeat(variables, reach)
            power = np.where(first[rest] == factor, power[rest] + 1, 1)  # exponent of the first factor
            square = square[rest] * w[factor] * m / power
            first = factor
        return np.sqrt(square)


def _dense_monomials(X: NDArray[Any], p: int) -> NDArray[Any]:
    """The monomials of degree p of each row: (n, d) → (n, C(d + p − 1, p))."""
    n, d = X.shape
    block = X
    for m in range(2, p + 1):
        wider = np.empty((n, _multisets(d, m)), dtype=X.dtype)
        stop = 0
        for i in range(d):
            rest = block[:, -_multisets(d - i, m - 1) :]
            start, stop = stop, stop + rest.shape[1]
            np.multiply(X[:, i : i + 1], rest, out=wider[:, start:stop])
        block = wider
    return block


def _csr_monomials(X: Any, p: int) -> Any:
    """The monomials of degree p of canonical CSR rows, as CSR.

    A row with q non-zeros is treated like a dense row of q variables; only the column indices differ. The product of xᵢ
    and monomial t of degree m − 1 is monomial t + s of degree m, where s = C(d + m − 2, m) − C(d − i + m − 2, m): the
    number of monomials of degree m without x₀, minus the number of those without x₀ … xᵢ.
    """
    n, d = X.shape
    q = np.diff(X.indptr)
    left = np.repeat(X.indptr[1:], q).astype(np.int64) - np.arange(X.nnz)  # non-zeros of the row from this one on
    behind = d - 1 - X.indices.astype(np.int64)  # variables after this one
    values, numbers, indptr = X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)
    for m in range(2, p + 1):
        reach = _multisets(left, m - 1)
        rest = _last(reach, np.repeat(indptr[1:], q))
        values = np.repeat(X.data, reach) * values[rest]
        numbers = np.repeat(_multisets(d - 1, m) - _multisets(behind, m), reach) + numbers[rest]
        indptr = np.concatenate([[0], np.cumsum(reach)])[X.indptr]
    index = np.int32 if len(values) <= np.iinfo(np.int32).max else np.int64  # many solvers accept int32 only
    return type(X)((values, numbers.astype(index), indptr.astype(index)), shape=(n, _multisets(d, p)))


def _with_one(X: Any) -> Any:
    """The rows with a column of ones in front."""
    one = np.ones((X.shape[0], 1), dtype=X.dtype)
    return type(X)(sp.hstack([type(X)(one), X], format="csr")) if sp.issparse(X) else np.hstack([one, X])


class PolynomialMap(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The features of the polynomial kernel, one column for each monomial.

    H(x)·H(z) = (γ x·z + c)ᵖ, where the column of the monomial Π xᵢ^aᵢ of degree m ≤ p has the coefficient
    √(p! / ((p − m)! Π aᵢ!) · γᵐ cᵖ⁻ᵐ). The columns are ordered by degree, then lexicographically, and named after the
    monomial without its coefficient: ``1, x0, x1, x0^2, x0 x1, x1^2``. PolynomialFeatures of scikit-learn has the same
    columns, but all of its coefficients are 1.

    For two features and p = 2, lecture notes often give φ(x) = (1, x₁, x₂, √2x₁x₂, x₁², x₂²). Its inner product is
    1 + x·z + (x·z)². That is a kernel, but not (1 + x·z)² = 1 + 2x·z + (x·z)², whose linear columns need the factor √2,
    too. The map of (1 + x·z)² is ``PolynomialMap(degree=2)``.

    Parameters
    ----------
    degree : p, a whole number ≥ 1 (default 2).
    gamma : γ ≥ 0 (default 1), the factor of the inner product. With 0, every column but the constant is 0.
    coef0 : c ≥ 0 (default 1); the larger, the larger the columns of low degree. With 0, there are only the monomials
        of degree exactly p.

    Attributes
    ----------
    coefficients_ : the coefficient of each column, float64.
    n_features_in_ : number of columns of X in `fit`.
    feature_names_in_ : column names of X in `fit`, if it is a data frame with names that are strings.

    Cost: C(d + p, p) multiplications and numbers per row; for a sparse row with q non-zeros, C(q + p, p). More than
    10 million columns raise an error. CSR input gives CSR output, and float32 input gives float32 output.

    >>> from onkel.features import PolynomialMap
    >>> H = PolynomialMap(degree=2).fit([[0.0, 0.0]])
    >>> H.coefficients_.round(3), H.get_feature_names_out().tolist()
    (array([1.   , 1.414, 1.414, 1.   , 1.414, 1.   ]), ['1', 'x0', 'x1', 'x0^2', 'x0 x1', 'x1^2'])
    >>> H.transform([[1.0, 2.0]]) @ H.transform([[3.0, 4.0]]).T  # (1 + 11)²
    array([[144.]])

    Source: Cohen 2009, Margins, Mistakes, Ranking, Sequential Learning and the Perceptron, sec. 5.
    """

    def __init__(self, degree: int = 2, gamma: float = 1.0, coef0: float = 1.0) -> None:
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learns the number of features and computes the coefficients; y is ignored."""
        who = "PolynomialMap"
        advice = "(γ x·z + c)ᵖ is an inner product for γ, c >= 0 and whole p only."
        p = check_integer(self.degree, "degree", who, at_least=1, advice=advice)
        gamma = check_number(self.gamma, "gamma", who, at_least=0.0, advice=advice)
        coef0 = check_number(self.coef0, "coef0", who, at_least=0.0, advice=advice)
        with undo_on_error(self):
            d = validate_data(self, X, accept_sparse="csr", dtype=FLOATS).shape[1]
            w = np.array([coef0] * (coef0 > 0) + [gamma] * d)
            columns = math.comb(len(w) + p - 1, p)
            if columns > MAX_COLUMNS:
                size = f"{columns:,}" if columns < 10**15 else f"about 10^{math.log10(columns):.0f}"
                raise ParameterError(
                    f"{who}: must make at most {MAX_COLUMNS:,} columns; degree={p} on {d} features makes {size}. "
                    f"Use onkel.kernels.Polynomial(degree={p}, gamma={gamma:g}, coef0={coef0:g}), the same inner "
                    "products without the columns, or fewer features."
                )
            coefficients = _coefficients(w, p)
            if not np.isfinite(coefficients).all():
                raise ParameterError(
                    f"{who}: coefficients must fit float64; degree={p}, gamma={gamma:g} and coef0={coef0:g} give "
                    "larger ones. Take a smaller degree, or scale the data instead of gamma."
                )
            self.coefficients_ = coefficients
            self._degree, self._has_one = p, coef0 > 0
        return self

    def transform(self, X: Any) -> Any:
        """H(x) of each row: an array, or a CSR matrix if X is sparse."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=FLOATS)
        coefficients = self.coefficients_.astype(X.dtype)
        rows = _with_one(X) if self._has_one else X
        if not sp.issparse(rows):
            H = _dense_monomials(rows, self._degree)
            return np.multiply(H, coefficients, out=None if H is X else H)
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        H = _csr_monomials(rows, self._degree)
        H.data = H.data * coefficients[H.indices]  # not in place: with degree 1 they may be the caller's values
        return H

    def get_feature_names_out(self, input_features: Iterable[str] | None = None) -> NDArray[np.object_]:
        """The monomials, without their coefficients: ``1``, ``x0``, ``x0^2``, ``x0 x1``.

        `input_features` are the names of the features. None (default): `feature_names_in_` if `fit` has seen names,
        else x0, x1, …
        """
        check_is_fitted(self)
        names = _names_in(self, input_features)
        monomials = combinations_with_replacement(range(-self._has_one, len(names)), self._degree)  # −1 is the 1
        return np.array([_monomial_name(factors, names) for factors in monomials], dtype=object)

    def state(self) -> State:
        """The parameters and, if the map was fitted, its degree and coefficients, as a `State`."""
        fitted = None
        if hasattr(self, "coefficients_"):
            settings = {"degree": self._degree, "has_one": self._has_one}
            fitted = State("map/polynomial", 1, settings, {"coefficients": self.coefficients_.copy()})
        return map_state(self, self.get_params(deep=False), fitted)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The map that has this state; it maps alike, to the bit."""
        made, columns, fitted = from_map_state(cls, state, "map/polynomial")
        if fitted is not None:
            d = check_vectors(state, columns)
            p, has_one = fitted.count("degree", 1, MAX_COLUMNS - 1), fitted.setting("has_one", bool)
            q = d + has_one - 1
            size = math.comb(q + p, p) if min(q, p) < 64 else MAX_COLUMNS + 1  # which is too large to be computed
            if size > MAX_COLUMNS:
                raise refuse(state, f"a map must make at most {MAX_COLUMNS} columns", f"degree {p} on {d} features")
            made._degree, made._has_one = p, has_one
            made.coefficients_ = fitted.array("coefficients", np.float64, (size,)).copy()
        return made

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _monomial_name(factors: tuple[int, ...], names: list[str]) -> str:
    powers = Counter(i for i in factors if i >= 0)
    return " ".join(names[i] if power == 1 else f"{names[i]}^{power}" for i, power in powers.items()) or "1"


def _names_in(estimator: Any, given: Iterable[str] | None) -> list[str]:
    """The names of the input features: those given, else those seen in `fit`, else x0, x1, …"""
    known = getattr(estimator, "feature_names_in_", None)
    if given is None:
        return [f"x{i}" for i in range(estimator.n_features_in_)] if known is None else list(known)
    names = list(given)
    if known is not None and names != list(known):
        raise ParameterError(
            f"{type(estimator).__name__}: input_features is not equal to feature_names_in_; expected {list(known)}, "
            f"got {names}. Leave it out."
        )
    if len(names) != estimator.n_features_in_:
        raise ShapeError(
            f"{type(estimator).__name__}: input_features should have length equal to number of features "
            f"({estimator.n_features_in_}), got {len(names)}."
        )
    return names
