"""The comparators of a certificate: the guesses that may be its u, and whether the kernel allows a theorem at all."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from onkel import gram
from onkel.errors import ParameterError
from onkel.kernels import Kernel
from onkel.kernels.rows import Rows

__all__ = ["GUESSES", "WORDS", "check_comparator", "is_psd_on"]

GUESSES = {"last": ("last",), "averaged": ("averaged",), "best": ("last", "averaged")}  # of a run, by comparator
WORDS = {
    "last": "the final guess",
    "averaged": "the averaged guess",
    "max-margin": "the separator of largest margin through the origin",
}
MAX_CHECKED = 2000  # support vectors at most whose Gram matrix is examined if the kernel's validity is unknown


def check_comparator(comparator: str, known: Iterable[str], who: str, of: str = "") -> None:
    """Refuses a comparator that is not one of those known; `of` says for which estimator these are all."""
    if comparator not in known:
        names = ", ".join(f'"{name}"' for name in known)
        raise ParameterError(f"{who}: comparator must be one of {names}{of}; got {comparator!r}.")


def is_psd_on(kernel: Kernel, rows: Rows, updates: NDArray[np.int64], one: float = 0.0) -> bool | None:
    """Whether a kernel, plus `one`, is positive semi-definite; None if that is unknown.

    If the kernel cannot say, its Gram matrix on the support vectors is examined, which span both v and u. `updates` are
    the indices of the rows of all updates.
    """
    support = np.unique(updates)
    if kernel.is_psd is not None or len(support) > MAX_CHECKED:
        return kernel.is_psd
    return gram.check(kernel(rows[support]).astype(np.float64) + one).valid
