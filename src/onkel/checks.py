"""The door: user input → trusted arrays, or an error that says expected, got, what to do.

Inside the door nothing re-checks. Trusted means: two-dimensional, C-contiguous or canonical
CSR, float32 or float64 (other numbers become float64), finite, native byte order.
"""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from onkel.errors import KindError, ParameterError, ShapeError, ValuesError

__all__ = [
    "check_finite",
    "check_integer",
    "check_matrix",
    "check_number",
    "check_sample_weight",
    "check_square",
    "check_weights",
]

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def _trusted_dtype(dtype: np.dtype, name: str, who: str) -> np.dtype:
    if dtype.newbyteorder("=") in FLOATS:
        return np.dtype(dtype.newbyteorder("="))
    if dtype.kind in "fiub":
        return np.dtype(np.float64)
    if dtype.kind == "O":
        return np.dtype(np.float64)  # decided by the conversion, value by value
    raise KindError(
        f"{who}: {name} must hold real numbers; got dtype {dtype}. "
        + ("Take the real part or its modulus first." if dtype.kind == "c" else "Encode it as numbers first.")
    )


def check_finite(values: NDArray, name: str, who: str) -> None:
    """Refuses NaN and infinity; `values` is float."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):
            return  # a NaN or an infinity would have shown in the sum
    bad = ~np.isfinite(values)
    if bad.any():
        first = tuple(int(i) for i in np.argwhere(bad)[0])
        what = "a NaN" if np.isnan(values[first]) else "an infinity"
        place = f"row {first[0]}, column {first[1]}" if len(first) == 2 else f"position {first[0]}"
        raise ValuesError(
            f"{who}: {name} must be finite; got {int(bad.sum())} NaN or infinite value(s), the first {what} at "
            f"{place}. Impute or drop such rows first."
        )


def _check_csr(X: Any, name: str, who: str) -> sp.csr_array:
    dtype = _trusted_dtype(X.dtype, name, who)
    csr = sp.csr_array(X, dtype=dtype)
    if not csr.has_canonical_format:  # the caller's matrix stays as it was
        csr = csr.copy()
        csr.sum_duplicates()
    if csr.data.size:
        check_finite(csr.data, name, who)
    return csr


def check_matrix(
    X: Any,
    *,
    name: str = "X",
    who: str,
    sparse: bool = True,
    n_features: int | None = None,
    dtype: np.dtype | None = None,
) -> NDArray | sp.csr_array:
    """Rows of numbers: anything array-like, a data frame, or a SciPy sparse matrix.

    Returns the caller's own memory where it can be used as it is; nothing is written to it.
    """
    if sp.issparse(X):
        if not sparse:
            raise KindError(f"{who}: {name} must be dense; got a sparse {type(X).__name__}. Use {name}.toarray().")
        if X.ndim != 2:
            raise ShapeError(f"{who}: {name} must have two dimensions; got shape {X.shape}.")
        matrix = _check_csr(X, name, who)
    else:
        matrix = _check_dense(X, name, who)
    if matrix.shape[0] == 0:
        raise ShapeError(f"{who}: {name} must have at least one row; got shape {matrix.shape}.")
    if matrix.shape[1] == 0:
        raise ShapeError(f"{who}: {name} must have at least one column; got shape {matrix.shape}.")
    if n_features is not None and matrix.shape[1] != n_features:
        raise ShapeError(
            f"{who}: {name} must have {n_features} columns, as the rows it meets; got shape {matrix.shape}."
        )
    return matrix if dtype is None else matrix.astype(dtype, copy=False)


def _check_dense(X: Any, name: str, who: str) -> NDArray:
    try:
        array = np.asarray(X)
    except ValueError as error:  # rows of different lengths
        raise ShapeError(f"{who}: {name} must be a table, all rows of one length; {error}.") from error
    if array.ndim != 2:
        advice = f"For one sample write {name}[None, :]; for one feature {name}[:, None]." if array.ndim == 1 else ""
        raise ShapeError(f"{who}: {name} must have shape (rows, columns); got shape {array.shape}. {advice}".rstrip())
    dtype = _trusted_dtype(array.dtype, name, who)
    try:
        array = np.ascontiguousarray(array, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise KindError(f"{who}: {name} must hold real numbers; {error}. Encode it as numbers first.") from error
    check_finite(array, name, who)
    return array


def check_square(K: Any, *, name: str = "K", who: str) -> NDArray:
    """A dense square matrix of finite numbers."""
    matrix = check_matrix(K, name=name, who=who, sparse=False)
    if matrix.shape[0] != matrix.shape[1]:
        raise ShapeError(f"{who}: {name} must be square; got shape {matrix.shape}. Compute it as kernel(X).")
    assert isinstance(matrix, np.ndarray)
    return matrix


def check_weights(A: Any, m: int, *, name: str = "A", who: str) -> NDArray[np.float64]:
    """One or several weights for each of m rows: shape (m,) or (m, outputs), float64."""
    array = np.asarray(A)
    if array.dtype.kind not in "fiub":
        raise KindError(f"{who}: {name} must hold real numbers; got dtype {array.dtype}.")
    if array.ndim not in (1, 2) or array.shape[0] != m:
        raise ShapeError(
            f"{who}: {name} must have shape ({m},) or ({m}, outputs), a row per support vector; got {array.shape}."
        )
    array = np.ascontiguousarray(array, dtype=np.float64)
    if array.size:
        check_finite(array, name, who)
    return array


def check_sample_weight(sample_weight: Any, n: int, who: str) -> NDArray[np.float64]:
    """One weight for each of n rows as a new array; a number is the weight of all."""
    try:
        weights = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise KindError(f"{who}: sample_weight must hold numbers; {error}.") from error
    if weights.ndim == 0:
        weights = np.full(n, weights)
    if weights.ndim != 1:
        raise ShapeError(f"{who}: Sample weights must be 1D array or scalar; got shape {weights.shape}.")
    if len(weights) != n:
        raise ShapeError(f"{who}: sample_weight.shape == {weights.shape}, expected {(n,)}!")
    check_finite(weights, "sample_weight", who)
    return weights


def check_number(
    value: Any,
    name: str,
    who: str,
    *,
    above: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    finite: bool = True,
    advice: str = "",
) -> float:
    """A real number in a range, as a float."""
    wanted = "a finite number" if finite else "a number"
    if above is not None:
        wanted += f" > {above:g}"
    if at_least is not None:
        wanted += f" >= {at_least:g}"
    if at_most is not None:
        wanted += f" and <= {at_most:g}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (numbers.Real, np.number)):
        raise KindError(f"{who}: {name} must be {wanted}; got {value!r}. {advice}".rstrip())
    number = float(value)
    ok = (np.isfinite(number) if finite else number == number) and (above is None or number > above)
    ok = ok and (at_most is None or number <= at_most)
    if not (ok and (at_least is None or number >= at_least)):
        raise ParameterError(f"{who}: {name} must be {wanted}; got {value!r}. {advice}".rstrip())
    return number


def check_integer(value: Any, name: str, who: str, *, at_least: int | None = None, advice: str = "") -> int:
    """A whole number in a range, as an int."""
    wanted = "a whole number" + (f" >= {at_least}" if at_least is not None else "")
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (numbers.Integral, np.integer)):
        raise KindError(f"{who}: {name} must be {wanted}; got {value!r}. {advice}".rstrip())
    if at_least is not None and value < at_least:
        raise ParameterError(f"{who}: {name} must be {wanted}; got {value!r}. {advice}".rstrip())
    return int(value)


def check_columns(columns: Any, who: str) -> tuple[int, ...]:
    """Column numbers, each once, as a tuple."""
    if isinstance(columns, (str, bytes)) or not isinstance(columns, (Sequence, np.ndarray, range)):
        raise KindError(f"{who}: columns must be a sequence of column numbers such as [0, 2]; got {columns!r}.")
    found = tuple(check_integer(c, "each column", who, at_least=0) for c in columns)
    if not found or len(set(found)) != len(found):
        raise ParameterError(f"{who}: columns must name at least one column, each once; got {list(found)}.")
    return found
