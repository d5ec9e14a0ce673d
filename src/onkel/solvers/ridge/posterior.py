"""The variance of the f of kernel ridge regression at any point, from the factor of its matrix.

If f is a Gaussian process with the kernel as its covariance, and yᵢ = f(xᵢ) + noise of variance α / sᵢ, then the ridge
solution is the mean of f given y, and with the notation of `onkel.solvers.ridge.exact` and k = u k(X, x) its variance
is

    var f(x) = k(x, x) − kᵀA⁻¹k                                 without an intercept
    var f(x) + b = k(x, x) − kᵀA⁻¹k + (1 − vᵀk)² / uᵀv          with one, about which nothing is known beforehand

Source: Rasmussen and Williams 2006, Gaussian Processes for Machine Learning, sec. 2.2 and 2.7.
"""

from __future__ import annotations

from typing import ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dtrtrs

from onkel.kernels import Kernel
from onkel.kernels.rows import Rows
from onkel.kernels.rows_state import kernel_rows, rows_state
from onkel.kernels.tiles import fill
from onkel.solvers.ridge.exact import CholeskyFactor
from onkel.states.state import State

__all__ = ["RidgePosterior"]

Floats = NDArray[np.float64]
TILE_ROWS = 512


class RidgePosterior:
    """The lower factor L of A = diag(u) K diag(u) + αI, with the rows X that K belongs to.

    Parameters
    ----------
    kernel, rows : the kernel and the n rows X.
    factor : L, shape (n, n), in Fortran order; what is above its diagonal is not read.
    root : u = √s, shape (n,).
    v : A⁻¹u, shape (n,), if there is an intercept; else None.

    Cost: n kernel values and n² multiply-adds for each point.
    """

    KIND: ClassVar[str] = "learner/ridge-posterior"
    VERSION: ClassVar[int] = 1

    def __init__(self, kernel: Kernel, rows: Rows, factor: Floats, root: Floats, v: Floats | None) -> None:
        self.kernel, self.rows, self.factor, self.root, self.v = kernel, rows, factor, root, v

    @classmethod
    def of(cls, kernel: Kernel, rows: Rows, factor: CholeskyFactor, *, fit_intercept: bool) -> RidgePosterior:
        """The posterior that belongs to a factor."""
        v = factor.solve(factor.root[:, None])[:, 0] if fit_intercept else None
        return cls(kernel, rows, factor.matrix, factor.root, v)

    def variance(self, x: Rows) -> Floats:
        """The variance at each row of x, shape (n,), at least 0; it is computed in float64."""
        x, rows = x.wide(), self.rows.wide()
        found = np.array(self.kernel.inner.diagonal(x), dtype=np.float64)
        for start in range(0, len(x), TILE_ROWS):
            part = slice(start, start + TILE_ROWS)
            K = np.empty((len(found[part]), len(rows)))
            fill(self.kernel, x[part], rows, K)
            K *= self.root
            if self.v is not None:
                found[part] += (1.0 - K @ self.v) ** 2 / (self.root @ self.v)
            half, _ = dtrtrs(self.factor, K.T, lower=1, overwrite_b=1)
            found[part] -= np.einsum("ij,ij->j", half, half)
        return np.maximum(found, 0.0)

    def state(self) -> State:
        """Kernel, rows and factor, as a `State`."""
        arrays = {"factor": np.tril(self.factor), "root": self.root} | ({} if self.v is None else {"v": self.v})
        state = State(self.KIND, self.VERSION, {"kernel": self.kernel}, arrays)
        return state.with_part("rows", rows_state(self.rows, copy=False))

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The posterior that has this state."""
        state.expect(cls.KIND, cls.VERSION)
        kernel = state.kernel()
        rows = kernel_rows(state, "rows", kernel)
        n = len(rows)
        factor = state.array("factor", np.float64, (n, n))
        state.check(n > 0 and (factor.diagonal() > 0).all(), "the diagonal of 'factor' must be positive")
        root, v = state.array("root", np.float64, (n,)), state.optional_array("v", np.float64, (n,))
        return cls(kernel, rows, np.asfortranarray(factor), root, v)
