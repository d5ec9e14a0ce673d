"""What float32 can hold, and what happens to numbers that it cannot.

Rows in float32 stay float32, and so do their kernel values, as long as float32 has the range for them. There are three
places where it may not:

    rows             The compiled core computes in float64 where norms, parameters or values leave the range of its
                     intermediate results (`onkel.kernels.product`).
    kernel values    Float32 rows become float64 rows if k(x, x) leaves the range of float32 (`in_range`). Where it is
                     too late for that, because a learner has already begun in float32, the values are refused (`store`,
                     `refuse_overflow`).
    conversion       Float64 rows that float32 cannot hold are refused where float32 is needed (`narrow`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.errors import ValuesError
from onkel.kernels.kernel import Kernel
from onkel.kernels.rows import Rows

__all__ = ["fits", "in_range", "narrow", "refuse_overflow", "store"]

MOST, LEAST = float(np.finfo(np.float32).max), float(np.finfo(np.float32).tiny)
ROOM = 2.0**120  # values between 1/ROOM and ROOM leave some room for sums and products
IN_FLOAT64 = "Give all rows in float64, X.astype(numpy.float64), or scale them."


def fits(values: NDArray[np.float64], most: float = ROOM) -> bool:
    """Whether the sizes of all values that are not 0 lie between 1/most and `most`."""
    sizes = np.abs(values)
    smallest = np.where(sizes > 0, sizes, 1.0).min(initial=1.0)
    return bool(smallest >= 1 / most and sizes.max(initial=0.0) <= most)


def in_range(kernel: Kernel, rows: Rows) -> Rows:
    """The rows; in float64 if they are float32 and k(x, x) of some row is out of the range of float32.

    If the kernel is positive semi-definite, no |k(x, z)| is larger than the largest k(x, x).
    """
    if rows.dtype == np.float64 or kernel.takes == "gram" or fits(kernel._diagonal(rows)):
        return rows
    return rows.wide()


def store(values: NDArray[np.float64], out: NDArray) -> None:
    """out = values; raises ValuesError if `out` is float32 and cannot hold the largest value."""
    if out.dtype == np.float32:
        largest = float(np.abs(values).max(initial=0.0))
        if largest > MOST or 0 < largest < LEAST:
            raise ValuesError(
                f"kernel values of float32 rows must lie between {LEAST:.1e} and {MOST:.1e}; got values of "
                f"{largest:.3g}. {IN_FLOAT64}"
            )
    with np.errstate(under="ignore"):
        out[...] = values


def refuse_overflow(values: NDArray) -> None:
    """Raises ValuesError if kernel values that were computed in float32 have overflowed."""
    if values.dtype == np.float32 and not np.isfinite(values).all():
        raise ValuesError(f"kernel values of float32 rows must be at most {MOST:.1e}; got larger ones. {IN_FLOAT64}")


def narrow(matrix: Any, sq_norms: tuple[float, float]) -> Any:
    """A float64 matrix, dense or CSR, in float32; raises ValuesError if float32 cannot hold its rows.

    `sq_norms` are the least ‖x‖² of its rows that is not 0, and the largest.
    """
    with np.errstate(over="ignore", under="ignore"):
        narrowed = matrix.astype(np.float32)
        values = narrowed.data if hasattr(narrowed, "indptr") else narrowed
        if sq_norms[0] < LEAST**2 or not (sq_norms[1] < MOST or np.isfinite(values).all()):
            raise ValuesError(
                "the first rows were float32, so all rows are used in float32, and their numbers must lie between "
                f"{LEAST:.1e} and {MOST:.1e}; got rows of length {sq_norms[0] ** 0.5:.3g} to {sq_norms[1] ** 0.5:.3g}. "
                "Begin with rows in float64, X.astype(numpy.float64), or scale them."
            )
    return narrowed
