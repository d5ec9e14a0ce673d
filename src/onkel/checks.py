"""Input validation: turns user input into arrays that the rest of the library need not check again.

An error says what was expected, what was given, and what to do. A checked matrix is two-dimensional and not empty,
C-contiguous or in canonical CSR format, float32 or float64 (other numbers become float64) in native byte order, and has
finite values only. In every function, `name` is the name of the argument and `who` the name of the caller, for the
error message.
"""

from __future__ import annotations

import numbers
from collections.abc import Collection, Sequence
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
    """The dtype to convert to: float32 or float64; raises KindError if the values are not real numbers."""
    if dtype.newbyteorder("=") in FLOATS:
        return np.dtype(dtype.newbyteorder("="))
    if dtype.kind in "fiub":
        return np.dtype(np.float64)
    if dtype.kind == "O":
        return np.dtype(np.float64)  # the conversion raises an error if a value is not a number
    raise KindError(
        f"{who}: {name} must hold real numbers; got dtype {dtype}. "
        + ("Take the real part or its modulus first." if dtype.kind == "c" else "Encode it as numbers first.")
    )


def check_finite(values: NDArray, name: str, who: str) -> None:
    """Raises ValuesError if the float array `values` contains NaN or infinity."""
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):
            return  # the sum of values with NaN or infinity is not finite
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
    """A sparse matrix as canonical CSR (sorted column indices, no duplicates) with finite values."""
    dtype = _trusted_dtype(X.dtype, name, who)
    csr = sp.csr_array(X, dtype=dtype)
    if not csr.has_canonical_format:  # copied, so that the caller's matrix does not change
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
    """Checks a matrix with at least one row and one column, and returns it as an array or a CSR array.

    The result shares the memory of X if no conversion is needed; onkel never writes to it.

    Parameters
    ----------
    X : anything array-like, a data frame, or a SciPy sparse matrix.
    name, who : names of the argument (default "X") and of the caller in error messages.
    sparse : whether sparse matrices are allowed (default True).
    n_features : required number of columns; None (default): any.
    dtype : float32 or float64, to convert the result to; None (default): float32 stays, everything else is float64.
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
    """A dense matrix as a C-contiguous array with finite values."""
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
    """Checks a dense square matrix of finite numbers."""
    matrix = check_matrix(K, name=name, who=who, sparse=False)
    if matrix.shape[0] != matrix.shape[1]:
        raise ShapeError(f"{who}: {name} must be square; got shape {matrix.shape}. Compute it as kernel(X).")
    assert isinstance(matrix, np.ndarray)
    return matrix


def check_weights(A: Any, m: int, *, name: str = "A", who: str) -> NDArray[np.float64]:
    """Checks the weights of m support vectors, shape (m,) or (m, outputs), and returns them as float64."""
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
    """Checks one weight per row and returns a new float64 array of shape (n,); a single number counts for all rows."""
    given = np.asarray(sample_weight)
    if given.dtype.kind not in "fiubO":
        raise ValuesError(f"{who}: sample_weight must hold real numbers; got dtype {given.dtype}.")
    try:
        weights = np.array(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValuesError(f"{who}: sample_weight must hold real numbers; {error}.") from error
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
    """Checks a real number and returns it as a float.

    It must be > `above`, ≥ `at_least` and ≤ `at_most`, as far as these are given, and must not be infinite unless
    `finite` is False. `advice` is appended to the error message.
    """
    wanted = "a finite number" if finite else "a number"
    if above is not None:
        wanted += f" > {above:g}"
    if at_least is not None:
        wanted += f" >= {at_least:g}"
    if at_most is not None:
        wanted += f" and <= {at_most:g}"
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (numbers.Real, np.number)):
        raise KindError(f"{who}: {name} must be {wanted}; got {value!r}. {advice}".rstrip())
    try:
        number = float(value)
    except OverflowError:
        raise ParameterError(f"{who}: {name} must be {wanted}; got a number that no float holds. {advice}") from None
    ok = (np.isfinite(number) if finite else number == number) and (above is None or number > above)
    ok = ok and (at_most is None or number <= at_most)
    if not (ok and (at_least is None or number >= at_least)):
        raise ParameterError(f"{who}: {name} must be {wanted}; got {value!r}. {advice}".rstrip())
    return number


def check_integer(value: Any, name: str, who: str, *, at_least: int | None = None, advice: str = "") -> int:
    """Checks a whole number, ≥ `at_least` if given, and returns it as an int; `advice` ends the error message."""
    wanted = "a whole number" + (f" >= {at_least}" if at_least is not None else "")
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (numbers.Integral, np.integer)):
        raise KindError(f"{who}: {name} must be {wanted}; got {value!r}. {advice}".rstrip())
    if at_least is not None and value < at_least:
        raise ParameterError(f"{who}: {name} must be {wanted}; got {value!r}. {advice}".rstrip())
    return int(value)


def check_flag(value: Any, name: str, who: str) -> None:
    """Refuses a value that is not True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise KindError(f"{who}: {name} must be True or False; got {value!r}.")


def check_columns(columns: Any, who: str) -> tuple[int, ...]:
    """Checks a sequence of column indices ≥ 0 without repetition and returns it as a tuple."""
    if isinstance(columns, (str, bytes)) or not isinstance(columns, (Sequence, np.ndarray, range)):
        raise KindError(f"{who}: columns must be a sequence of column numbers such as [0, 2]; got {columns!r}.")
    found = tuple(check_integer(c, "each column", who, at_least=0) for c in columns)
    if not found or len(set(found)) != len(found):
        raise ParameterError(f"{who}: columns must name at least one column, each once; got {list(found)}.")
    return found


def check_one_of(value: Any, name: str, allowed: Collection[str], who: str) -> None:
    """Refuses a value that is not among the allowed strings."""
    if value not in allowed:
        raise ParameterError(f"{who}: {name} must be one of {', '.join(allowed)}; got {value!r}.")
