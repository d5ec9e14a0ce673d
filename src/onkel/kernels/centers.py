"""Centres: some rows with the pivoted Cholesky factor of their kernel matrix.

The functions Σⱼ cⱼ k(sⱼ, ·) of r centres s₁, …, s_r span a space of at most r dimensions, and with K_SS = T Tᵀ, T lower
triangular, the features

    φ(x) = T⁻¹ k(S, x)            φ(x)·φ(z) ≈ k(x, z), with equality if x or z is a centre

are coordinates in it with respect to an orthonormal basis: the projection of a function on this space is w·φ, and its
squared length is ‖w‖². Ridge regression on φ is therefore an ordinary one, with the identity as its penalty. The part
of k(x, ·) that lies outside of the space has the squared length k(x, x) − ‖φ(x)‖².

Working with φ instead of the kernel values is what keeps the numbers safe: K_SS may be singular to the last digit, and
its square, which the normal equations of the kernel values contain, all the more. A pivoted factorization takes the
centre that is farthest from the span of those before it, and stops where only rounding errors are left, so that
duplicates and centres that depend on others are left out.

All kernel values are computed in float64, whatever the dtype of the rows: T⁻¹ multiplies their rounding errors by up to
TOL^(-1/2), a million, of which float32 would leave no digit. (Float32 values with the tolerance 1e-6 are as good for a
large alpha of ridge regression, but miss by some per cent for alpha = 1e-6, where float64 ones keep five digits.)
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from onkel.errors import GramError
from onkel.kernels.kernel import Kernel
from onkel.kernels.rows import GramRows, Rows
from onkel.kernels.tiles import fill, fill_below

__all__ = ["Centers", "without_block"]

Floats = NDArray[np.float64]
# Centres whose squared distance from the span of those before is below this, relative to the largest k(s, s), are left
# out: they would add nothing but rounding errors, which T⁻¹ makes larger by the inverse root.
#
# Three pivoted factors of this package grow by such distances, and each has its own tolerance:
#   TOL, 1e-12                           All rows are here, and the farthest is taken first, so that pivots fall and a
#     (here)                             tolerance relative to the largest is enough; LAPACK takes no other.
#   DEPENDENT, 1e-11                     The row that lowers an error most is taken, whatever its pivot. So it is
#     (onkel.kernels.pursuit)            compared with its own k(s, s), of which its rounding errors are a part; they
#                                        add up over the columns, hence ten times as many.
#   FLOOR, 1e-10                         Rows come in the order of a stream, without pivoting, so that errors grow with
#     (onkel.learners.recursive_ridge)   every row that almost depends on those before; ν is a user's, this its least.
TOL = 1e-12


def without_block(rows: Rows) -> Rows:
    """Precomputed points without their kernel values with all others: new rows bring their values with them."""
    return GramRows(None, rows.columns, rows.diagonal) if isinstance(rows, GramRows) else rows


@dataclasses.dataclass(frozen=True, eq=False)
class Centers:
    """Rows S with the pivoted Cholesky factor T of their kernel matrix, K_SS = T Tᵀ.

    Parameters
    ----------
    kernel : the kernel, positive semi-definite on the rows.
    rows : the r centres that were kept, in the order in which the factorization took them.
    places : their places among the rows that were given, shape (r,).
    factor : T, lower triangular, shape (r, r).

    Cost: r kernel values and r² multiply-adds for the features of a row.

    >>> import numpy as np
    >>> from onkel.kernels import RBF, prepare
    >>> from onkel.kernels.centers import Centers
    >>> kernel, X = RBF(gamma=1.0), np.array([[0.0], [1.0], [0.0], [3.0]])
    >>> centers = Centers.of(kernel, prepare(kernel, X))      # the third row is the first once more
    >>> len(centers), np.allclose(centers.features(centers.rows), centers.factor)
    (3, True)
    """

    kernel: Kernel
    rows: Rows
    places: NDArray[np.int64]
    factor: Floats

    @classmethod
    def of(cls, kernel: Kernel, rows: Rows, tol: float = TOL) -> Centers:
        """The centres among the rows, without those that depend on the others.

        A row is left out if its squared distance from the span of those taken before is at most `tol` times the
        largest k(x, x).
        """
        K = np.empty((len(rows), len(rows)), order="F")
        fill_below(kernel, rows.wide(), K)
        largest = float(K.diagonal().max(initial=0.0))
        if not np.isfinite(K.diagonal()).all() or largest <= 0:
            raise GramError(
                f"some k(x, x) of {kernel!r} must be positive; the largest is {largest:.3g}. All rows are 0 "
                "in the space of features, or the kernel is not positive semi-definite."
            )
        T, pivots, rank, _ = dpstrf(K, tol=tol * largest, lower=1, overwrite_a=1)
        places = pivots[:rank].astype(np.int64) - 1
        factor = np.asfortranarray(np.tril(T[:rank, :rank]))
        return cls(kernel, without_block(rows[places]), places, factor)

    def __len__(self) -> int:
        return len(self.rows)

    def features(self, x: Rows) -> Floats:
        """φ(x) = T⁻¹ k(S, x) of each row, shape (n, r), in Fortran order."""
        values = np.empty((len(x), len(self)))
        self.fill_values(x, values)
        return self.whiten(values)

    def fill_values(self, x: Rows, out: Floats) -> None:
        """out = k(x, S), shape (n, r), computed in float64 whatever the dtype of the rows."""
        fill(self.kernel, x.wide(), self.rows.wide(), out)

    def whiten(self, values: Floats) -> Floats:
        """φ of rows whose kernel values k(x, S) are given, shape (n, r), C-contiguous; they are overwritten."""
        # values.T is Fortran-contiguous, so that LAPACK solves T φᵀ = k(S, x) in place
        return np.asarray(solve_triangular(self.factor, values.T, lower=True, overwrite_b=True, check_finite=False).T)

    def coefficients(self, w: Floats) -> Floats:
        """The coefficients c = T⁻ᵀ w with which w·φ(x) = Σⱼ cⱼ k(sⱼ, x); w (r,) or (r, outputs)."""
        return np.asarray(solve_triangular(self.factor, w, lower=True, trans="T", check_finite=False))

    def outside(self, x: Rows, phi: Floats) -> Floats:
        """k(x, x) − ‖φ(x)‖² of each row, at least 0: the squared length of the part of k(x, ·) outside of the span."""
        return np.asarray(np.maximum(self.kernel._diagonal(x) - np.einsum("ij,ij->i", phi, phi), 0.0))
