"""Kernels that the user brings: values already computed, or a function."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from onkel.errors import KindError, ShapeError, ValuesError
from onkel.kernels.combine import _name, _points
from onkel.kernels.kernel import Kernel, Takes
from onkel.kernels.rows import GramRows, Rows

__all__ = ["Custom", "Precomputed"]


@dataclasses.dataclass(frozen=True)
class Precomputed(Kernel):
    """Kernel values that are already there: k(X, Z) reads them.

    X is a block of kernel values, a row per point and a column per reference point (for training
    the square Gram matrix), and Z the numbers of the reference points that are wanted; without Z
    all of a square X. `onkel.gram.check` says whether such a matrix is valid.

    Cost: a read a value.

    >>> from onkel.kernels import Precomputed
    >>> Precomputed()([[1.0, 0.5], [0.5, 1.0]], [1])
    array([[0.5],
           [1. ]])
    """

    is_psd = None

    @property
    def takes(self) -> Takes:
        return "gram"

    def _gram(self, x: Rows, z: Rows, out: NDArray) -> None:
        assert isinstance(x, GramRows)
        assert isinstance(z, GramRows)
        out[...] = x.read(z)

    def _diag(self, x: Rows) -> NDArray[np.float64]:
        assert isinstance(x, GramRows)
        if x.diagonal is None:
            raise ShapeError(
                "Precomputed: the diagonal k(x, x) is known only of a square Gram matrix. "
                "Use onkel.gram.normalize on the whole matrix first."
            )
        return x.diagonal.astype(np.float64)


@dataclasses.dataclass(frozen=True, repr=False)
class Custom(Kernel):
    """A kernel by your own function.

    Parameters
    ----------
    fn : fn(X, Z) → array of shape (rows of X, rows of Z); with `pairwise`, fn(x, z) → a number.
    pairwise : call fn once for each pair of rows: simple, and as slow as Python.
    takes : "vectors" for rows of a matrix (a tile of rows at a time, in their own dtype, CSR where
        the data is), "objects" for a sequence of anything.
    psd : True if you know that the kernel is valid, False if you know that it is not.

    Cost: that of fn. Two Custom kernels are equal when their functions are the same object.

    >>> from onkel.kernels import Custom
    >>> Custom(lambda a, b: len(set(a) & set(b)), pairwise=True, takes="objects")(["abc"], ["bcd", "x"])
    array([[2., 0.]])
    """

    fn: Callable[[Any, Any], Any]
    pairwise: bool = False
    takes: Takes = "vectors"
    psd: bool | None = None

    def __post_init__(self) -> None:
        if not callable(self.fn):
            raise KindError(f"Custom: fn must be a function of two sets of rows; got {self.fn!r}.")
        if self.takes not in ("vectors", "objects"):
            raise KindError(f'Custom: takes must be "vectors" or "objects"; got {self.takes!r}.')

    def __repr__(self) -> str:
        given = {"pairwise": self.pairwise, "takes": self.takes, "psd": self.psd}
        defaults = {"pairwise": False, "takes": "vectors", "psd": None}
        options = "".join(f", {k}={v!r}" for k, v in given.items() if v != defaults[k])
        return f"Custom({_name(self.fn)}{options})"

    @property
    def is_psd(self) -> bool | None:
        return self.psd

    def _gram(self, x: Rows, z: Rows, out: NDArray) -> None:
        X, Z = _points(x), _points(z)
        if not self.pairwise:
            values = self.fn(X, Z)
            values = values.toarray() if sp.issparse(values) else np.asarray(values)
            if values.shape != out.shape:
                raise ShapeError(f"Custom: fn(X, Z) must give an array of shape {out.shape}; got {values.shape}.")
            out[...] = values
        else:
            Z = list(_one_by_one(Z))
            for i, a in enumerate(_one_by_one(X)):
                for j, b in enumerate(Z):
                    out[i, j] = self.fn(a, b)
        if not np.isfinite(out).all():
            raise ValuesError(f"Custom: {_name(self.fn)} must give finite values; got NaN or infinity.")

    def _diag(self, x: Rows) -> NDArray[np.float64]:
        diagonal = np.empty(len(x))
        value = np.empty((1, 1))
        for i in range(len(x)):
            one = x[i : i + 1]
            self._gram(one, one, value)
            diagonal[i] = value[0, 0]
        return diagonal


def _one_by_one(points: Any) -> Any:
    """The rows of a matrix, or the objects, in turn; sparse rows come dense."""
    return points.toarray() if sp.issparse(points) else points
