"""Pursuit: few rows whose span almost holds given functions, found greedily with a pivoted Cholesky factor.

Given functions f_c = Σⱼ A_jc k(sⱼ, ·), one for each output c, over m rows S, look for n of these rows and for the
functions g_c in the span of their k(s, ·) that are nearest in the norm of the kernel's space. For fixed rows P this is
a projection: g_c is the function of the span with the values of f_c at P, and with K_PP = T Tᵀ (`Centers`)

    g_c = Σⱼ C_jc k(pⱼ, ·),    C = T⁻ᵀ w,    w = T⁻¹ f(P),    ‖f_c − g_c‖² = ‖f_c‖² − ‖w_c‖²

Which rows are best cannot be found fast, but the best one to add can. With the residual r(s) = f(s) − g(s) and the
pivot d(s) = k(s, s) − ‖φ(s)‖², the squared distance of k(s, ·) from the span, adding s lowers the squared errors by

    Σ_c r_c(s)² / d(s)

in total, since f − g is orthogonal to the span and r_c(s) is its inner product with k(s, ·). Each step takes the row
for which this is largest, and adds one column to the factor of all m rows, Φ = K_SP T⁻ᵀ, whose rows are the φ(s):

    v = (k(S, p) − Φ φ(p)) / √d(p)        r ← r − v w_new,   w_new = r(p) / √d(p)        d ← d − v²

The rows of Φ at P are T. A row that is a duplicate, or depends on rows that were taken, has the pivot 0: it is never
taken, and its coefficient is merged into theirs by the projection. Once all rows with positive pivots are taken, g = f.

Everything is computed in float64, whatever the dtype of the rows. ‖f‖² − ‖w‖² is a difference, so that errors ‖f − g‖
below about 1e-8 · Σⱼ |Aⱼ| √k(sⱼ, sⱼ), the root of its rounding error, are not told from 0.

Cost: m² kernel values for the values f(S), of which only one tile is in memory; then n·m kernel values, n²·m flops,
and memory for n·m numbers.

Source: Schölkopf et al. 1999, Input space versus feature space in kernel-based methods (reduced sets); Rebollo-Neira
and Lowe 2002, Optimized orthogonal matching pursuit (the choice of the next row).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onkel.errors import GramError, ValuesError
from onkel.kernels.centers import Centers
from onkel.kernels.kernel import Kernel
from onkel.kernels.rows import Rows
from onkel.kernels.tiles import add_scores, fill
from onkel.kernels.vectors import VectorRows

__all__ = ["GrowingFactor", "Pursuit", "pursue"]

Floats = NDArray[np.float64]
# Rows whose pivot is below this, relative to their k(s, s), depend on those taken. It is relative to each row's own
# k(s, s), because rounding errors of pivots are, and because those of a polynomial kernel differ by many powers of 10.
# `onkel.kernels.centers` says why its own tolerance and that of recursive ridge regression are others.
DEPENDENT = 1e-11
FIRST_COLUMNS = 32  # columns of the factor for which there is memory at first; it is doubled when they are full
# A step that lowers the squared errors by less than this, relative to ‖f‖², is made of rounding errors.
LEAST_GAIN = 1e-24
NEGATIVE = 1e-7  # squared lengths that are negative by more than this, relative to the largest, are no rounding errors


class Pursuit(NamedTuple):
    """What `pursue` has found."""

    places: NDArray[np.int64]  # (n,) the rows that were taken, in order
    coef: Floats  # (n, outputs) C
    errors: Floats  # (n + 1, outputs) ‖f_c − g_c‖ / ‖f_c‖ before the first step and after each; falling


class GrowingFactor:
    """The pivoted factor Φ = K_SP T⁻ᵀ of all m rows S, for a set P of them that grows by one row at a time.

    Parameters
    ----------
    kernel : the kernel, positive semi-definite on the rows.
    rows : the rows S, m ≥ 1 of them, in float64 if they are vectors.

    Attributes
    ----------
    places : P, in the order in which the rows were taken.
    pivots : d(s) = k(s, s) − ‖φ(s)‖² of each row, shape (m,), 0 for those in P.
    largest : the largest k(s, s).

    Cost: m kernel values and 2·n·m flops to take another row, if n are taken.
    """

    def __init__(self, kernel: Kernel, rows: Rows) -> None:
        self.kernel, self.rows = kernel, rows
        self.places: list[int] = []
        self.pivots = np.array(kernel._diagonal(rows), dtype=np.float64)
        self.largest = float(self.pivots.max())
        self._phi = np.empty((len(rows), min(FIRST_COLUMNS, len(rows))), order="F")

    @property
    def phi(self) -> Floats:
        """Φ, shape (m, n), in Fortran order."""
        return self._phi[:, : len(self.places)]

    def take(self, p: int) -> Floats:
        """Adds row p, whose pivot must be positive, to P; the new column v of Φ, shape (m,)."""
        n, root = len(self.places), np.sqrt(self.pivots[p])
        if n == self._phi.shape[1]:
            wider = np.empty((len(self.rows), min(2 * n, len(self.rows))), order="F")
            wider[:, :n] = self._phi
            self._phi = wider
        v: Floats = self._phi[:, n]
        fill(self.kernel, self.rows[p : p + 1], self.rows, v[None, :])
        # not @: the product is limited by memory, and BLAS waits for its threads at each step (30 × on a busy computer)
        v -= np.einsum("sn,n->s", self.phi, self.phi[p])
        v /= root
        v[self.places] = 0.0  # T is triangular
        v[p] = root
        self.pivots -= v * v
        self.places.append(p)
        self.pivots[self.places] = 0.0
        return v

    def centers(self) -> Centers:
        """The rows P with their factor T."""
        places = np.array(self.places, dtype=np.int64)
        return Centers(self.kernel, self.rows[places], places, np.asfortranarray(self.phi[places]))


def pursue(kernel: Kernel, rows: Rows, A: Floats, n: int | None = None, tol: float = 0.0) -> Pursuit:
    """At most n of the rows, and the functions of their span that are nearest to f_c = Σⱼ A_jc k(sⱼ, ·).

    Parameters
    ----------
    kernel : the kernel, positive semi-definite on the rows; raises GramError where it turns out not to be.
    rows : the rows S, m of them.
    A : the coefficients of the functions, C-contiguous, shape (m, outputs).
    n : stops after so many rows. None (default): all of them.
    tol : stops once ‖f_c − g_c‖ ≤ tol · ‖f_c‖ for each output.

    It stops earlier where all rows that are left depend on those taken, up to rounding errors, or where f is reached.

    >>> import numpy as np
    >>> from onkel.kernels import RBF, prepare
    >>> from onkel.kernels.pursuit import pursue
    >>> kernel, S = RBF(gamma=1.0), np.array([[0.0], [3.0], [0.0], [0.1]])
    >>> found = pursue(kernel, prepare(kernel, S), np.array([[1.0], [-1.0], [1.0], [0.1]]), n=2)
    >>> found.places, found.coef.round(3).ravel()     # rows 0 and 2, which are equal, and 3 become one
    (array([0, 1]), array([ 2.099, -1.   ]))
    """
    wide = rows.astype(np.dtype(np.float64)) if isinstance(rows, VectorRows) else rows
    most, factor, r = len(rows) if n is None else min(n, len(rows)), GrowingFactor(kernel, wide), np.zeros(A.shape)
    add_scores(kernel, wide, wide, A, r)
    sq_norms = np.einsum("jc,jc->c", A, r)
    slack = _check(kernel, factor, A, sq_norms)
    smallest = DEPENDENT * factor.pivots
    left, errors, w = sq_norms.copy(), [_relative(sq_norms, sq_norms)], np.zeros((most, A.shape[1]))
    while len(factor.places) < most and (errors[-1] > tol).any():
        p, gain = _best(r, factor.pivots, smallest)
        if gain <= LEAST_GAIN * sq_norms.sum():
            break
        at = w[len(factor.places)] = r[p] / np.sqrt(factor.pivots[p])
        r -= np.outer(factor.take(p), at)
        left -= at * at
        _refuse_indefinite(kernel, factor, bool((left < -slack).any()))
        errors.append(_relative(left, sq_norms))
    places, coef = np.array(factor.places, dtype=np.int64), np.zeros((0, A.shape[1]))
    if len(places):
        coef = np.ascontiguousarray(factor.centers().coefficients(w[: len(places)]))
    return Pursuit(places, coef, np.array(errors))


def _best(r: Floats, pivots: Floats, smallest: Floats) -> tuple[int, float]:
    """The row that lowers the squared errors most, Σ_c r_c(s)²/d(s), among those with a pivot above `smallest`."""
    gains = np.einsum("jc,jc->j", r, r)
    gains = np.divide(gains, pivots, out=np.zeros_like(gains), where=pivots > smallest)
    p = int(np.argmax(gains))
    return p, float(gains[p])


def _relative(left: Floats, sq_norms: Floats) -> Floats:
    """‖f_c − g_c‖ / ‖f_c‖ of each output, from the squares; 0 where f_c = 0."""
    share = np.divide(np.maximum(left, 0.0), sq_norms, out=np.zeros_like(left), where=sq_norms > 0)
    return np.sqrt(share)


def _check(kernel: Kernel, factor: GrowingFactor, A: Floats, sq_norms: Floats) -> Floats:
    """Refuses values that are not finite or that show the kernel to be indefinite.

    Returns how far below 0 the squared error of each output may be by rounding: ‖f_c‖² has the rounding errors of its
    terms, whose sum is at most (Σⱼ |A_jc| √k(sⱼ, sⱼ))².
    """
    if not (np.isfinite(sq_norms).all() and np.isfinite(factor.pivots).all()):
        raise ValuesError(
            f"the kernel values of {kernel!r} and their sums must be finite in float64; got infinite ones. Scale the "
            "data, or use normalized() of the kernel."
        )
    bound = np.abs(A).T @ np.sqrt(np.maximum(factor.pivots, 0.0))
    slack: Floats = NEGATIVE * np.maximum(sq_norms, 0.0) + 1e-12 * bound * bound
    _refuse_indefinite(kernel, factor, bool((sq_norms < -slack).any()))
    return slack


def _refuse_indefinite(kernel: Kernel, factor: GrowingFactor, negative_length: bool) -> None:
    if kernel.is_psd is not True and (negative_length or factor.pivots.min() < -NEGATIVE * abs(factor.largest)):
        raise GramError(
            f"the kernel must be positive semi-definite on the rows, so that functions have lengths; {kernel!r} is "
            "not: some squared length is negative. Learn with a kernel whose is_psd is True."
        )
