"""Ridge regression on centres: all that one pass over the data must keep, in memory that does not grow with the rows.

    min over w, b   Σᵢ sᵢ (yᵢ − w·φ(xᵢ) − b)² + α ‖w‖²           φ(x) = T⁻¹ k(S, x),  K_SS = T Tᵀ

over the functions that r centres S span (`onkel.kernels.centers`); w·φ = Σⱼ cⱼ k(sⱼ, ·) with c = T⁻ᵀ w. The solution
depends on the data only through sums:

    W = Σ s φ φᵀ (r, r)     B = Σ s φ yᵀ (r, targets)     p = Σ s φ (r,)     Σ s y     Σ s y²     Σ s

so that α may be changed without the data. Without b:  (W + αI) w = B. With b, which is not penalised, W and B are
those of centred features and targets,  W − p pᵀ / Σs  and  B − p (Σsy)ᵀ / Σs,  and  b = (Σsy − pᵀw) / Σs. Further

    RSS = Σsy² − 2 w·b + wᵀWw      df = tr W (W + αI)⁻¹ (+ 1 with b)      GCV = n RSS / (n − df)²

The textbook way, which sums the products of kernel values instead of φ, fails even in float64: its matrix has the
squared condition number of K_SS. Whitening the finished sums is too late as well; every tile of rows is whitened before
it is summed. That doubles the cost, 2 n r² flops, and keeps small α and duplicate centres safe.

All sums are in one matrix, the product of the columns [√s φ, √s y, √s, s > 0, 1] with themselves, to which one call of
BLAS adds a tile of rows. Python handles no signal within it, and no other thread of Python runs, so that a tile is
wholly added or not at all.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dsymm, dsyr, dsyrk
from scipy.linalg.lapack import dpocon, dpotrf, dpotrs, dtrtri, dtrtrs

from onkel.errors import GramError, InputError, ShapeError, ValuesError
from onkel.kernels.centers import Centers
from onkel.kernels.rows import Rows
from onkel.kernels.rows_state import kernel_rows, rows_state
from onkel.states.state import LARGEST_COUNT, Setting, State

__all__ = ["CentersSolution", "WhitenedSums", "refuse_no_penalty", "regularised_factor"]

Floats = NDArray[np.float64]
TILE_ROWS = 1024  # rows that are whitened at once: enough for BLAS, and some 8 KB for each centre
EXTRA = 3  # columns beside features and targets: √s, s > 0, 1
EPS = float(np.finfo(np.float64).eps)


@dataclasses.dataclass(frozen=True, eq=False)
class CentersSolution:
    """The solution of ridge regression on centres, for each target.

    Attributes
    ----------
    coef : the coefficients c of f(x) = Σⱼ cⱼ k(sⱼ, x) + b, shape (r, targets).
    intercept : b, shape (targets,); 0 without an intercept.
    gcv : the generalised cross-validation score n RSS / (n − df)², an estimate of the mean squared error on new rows,
        shape (targets,); n counts the rows with a positive weight, and the score is infinite if df ≥ n.
    degrees_of_freedom : df, shape (targets,).
    residual : ‖(W + αI) w − B‖ / ‖B‖, the largest of all targets: rounding errors of the solution.
    weights : w, the coordinates of f in the orthonormal basis of the centres, shape (r, targets); ‖w‖² = ‖f‖².
    alpha : the α with which each target was solved, shape (targets,). It is larger than the one asked for if
        W + αI was not positive definite to rounding.
    """

    coef: Floats
    intercept: Floats
    gcv: Floats
    degrees_of_freedom: Floats
    residual: float
    weights: Floats
    alpha: Floats


class _Parts(NamedTuple):
    """What the matrix of sums holds, centred if there is an intercept."""

    W: Floats  # (r, r); its lower triangle is valid, and it may be a view
    B: Floats  # (r, targets)
    y_squares: Floats  # (targets,): Σ s y²
    phi_sum: Floats  # (r,): Σ s φ
    y_sum: Floats  # (targets,): Σ s y
    weight: float  # Σ s
    n_weighted: int  # rows with s > 0


class WhitenedSums:
    """The sums of one pass over the data from which ridge regression on centres is solved for any alpha.

    Parameters
    ----------
    centers : the r centres with their factor.
    n_targets : ≥ 1, the number of targets.
    fit_intercept : whether f has an intercept, which is not penalised.

    Cost: r kernel values and 2 r² flops for a row; memory for r² numbers and a tile of 1024 × r.

    >>> import numpy as np
    >>> from onkel.kernels import Linear, prepare
    >>> from onkel.kernels.centers import Centers
    >>> x = prepare(Linear(), np.array([[1.0], [2.0], [3.0]]))
    >>> sums = WhitenedSums(Centers.of(Linear(), x), 1, fit_intercept=False)
    >>> sums.add(x, np.array([[2.0], [4.0], [6.0]]), None)
    >>> sums.n_seen, (sums.solve(0.0).coef * 3.0).round(9)      # the centre 3 with the coefficient 2/3
    (3, array([[2.]]))
    """

    KIND, VERSION = "learner/whitened-sums", 1

    def __init__(self, centers: Centers, n_targets: int, *, fit_intercept: bool) -> None:
        size = len(centers) + n_targets + EXTRA
        self.centers, self.n_targets, self.fit_intercept = centers, n_targets, fit_intercept
        self._sums = np.zeros((size, size), order="F")  # lower triangle; changed in place by `add` alone

    @property
    def n_seen(self) -> int:
        """The number of rows that have been added."""
        return int(self._sums[-1, -1])

    @property
    def target_sizes(self) -> Floats:
        """The root of the mean of s y² of each target, shape (targets,)."""
        r = len(self.centers)
        return np.asarray(np.sqrt(self._sums.diagonal()[r:-EXTRA] / self._sums[-EXTRA, -EXTRA]))

    # ---------------------------------------------------------------- the pass

    def add(self, rows: Rows, Y: Floats, weights: Floats | None, report: Callable[[int], None] | None = None) -> None:
        """Adds rows, tile by tile; whatever interrupts it leaves whole tiles, and `n_seen` says how many rows.

        Parameters
        ----------
        rows : n rows that the kernel of the centres can take.
        Y : their targets, shape (n, targets).
        weights : ≥ 0, shape (n,); None: all are 1.
        report : called with the number of rows done so far after every tile; None (default): it is not called.
        """
        n, r = len(rows), len(self.centers)
        if Y.shape != (n, self.n_targets) or (weights is not None and weights.shape != (n,)):
            given = "" if weights is None else f" and weights of shape {weights.shape}"
            raise ShapeError(
                f"{n} rows need targets of shape {(n, self.n_targets)} and weights of shape {(n,)}; "
                f"got targets of shape {Y.shape}{given}."
            )
        tile = np.empty((min(n, TILE_ROWS), len(self._sums)))
        values = np.empty((len(tile), r))  # as `tile`, used for all tiles in turn
        for start in range(0, n, TILE_ROWS):
            part = slice(start, start + TILE_ROWS)
            columns = tile[: min(TILE_ROWS, n - start)]
            s = np.ones(len(columns)) if weights is None else weights[part]
            root = np.sqrt(s)[:, None]
            np.multiply(self._features(rows[part], values[: len(columns)]), root, out=columns[:, :r])
            np.multiply(Y[part], root, out=columns[:, r:-EXTRA])
            columns[:, -EXTRA:] = np.column_stack([root, s > 0, np.ones(len(columns))])
            self._commit(columns)
            if report is not None:
                report(start + len(columns))

    def _commit(self, columns: Floats) -> None:
        """Adds a tile to all sums by one call of BLAS, in place."""
        if not np.isfinite(columns.sum()):  # NaN or infinity anywhere; nothing can take it out of the sums again
            raise ValuesError(
                f"kernel values, targets and weights must be finite; some of the rows {self.n_seen} to "
                f"{self.n_seen + len(columns) - 1} have NaN or infinite ones. Scale the data or choose another kernel."
            )
        self._sums = dsyrk(1.0, columns.T, beta=1.0, c=self._sums, overwrite_c=1, lower=1)

    def _features(self, x: Rows, values: Floats) -> Floats:
        """φ of a tile of rows; its kernel values are written to `values` and overwritten."""
        self.centers.fill_values(x, values)
        return self.centers.whiten(values)

    # ---------------------------------------------------------------- solutions

    def solve(self, alpha: float | Floats) -> CentersSolution:
        """The solution for alpha ≥ 0, one number or one for each target.

        If W + αI is not positive definite to rounding, a larger α is taken, which is the `alpha` of the solution; with
        α = 0 a GramError is raised. Cost: r³ flops and one more r × r matrix for each distinct alpha.
        """
        alphas, targets = np.broadcast_to(np.asarray(alpha, dtype=np.float64), (self.n_targets,)), self.n_targets
        parts = self._parts()
        refuse_no_penalty(alphas.min(), parts.n_weighted, len(self.centers), fit_intercept=self.fit_intercept)
        w, df, used = np.empty((len(self.centers), targets)), np.empty(targets), np.empty(targets)
        for value in np.unique(alphas):
            chosen = np.flatnonzero(alphas == value)
            L, used[chosen] = regularised_factor(parts.W, float(value))
            w[:, chosen] = dpotrs(L, parts.B[:, chosen], lower=1)[0]
            inverse, _ = dtrtri(L, lower=1, overwrite_c=1)
            # tr W(W + αI)⁻¹ = r − α tr (W + αI)⁻¹, and the trace of L⁻ᵀL⁻¹ is the squared length of L⁻¹
            df[chosen] = len(L) - used[chosen] * np.einsum("ij,ij->", inverse, inverse)
        Ww = _lower_times(parts.W, w)
        intercept = (parts.y_sum - parts.phi_sum @ w) / parts.weight if self.fit_intercept else np.zeros(targets)
        with np.errstate(over="ignore", invalid="ignore"):  # squares of targets of 1e200
            rss = np.maximum(parts.y_squares - 2 * (w * parts.B).sum(0) + (w * Ww).sum(0), 0.0)
        lengths = np.linalg.norm(parts.B, axis=0)
        errors = np.linalg.norm(Ww + used * w - parts.B, axis=0) / np.where(lengths > 0, lengths, 1.0)
        df = df + self.fit_intercept
        left = parts.n_weighted - df
        gcv = np.where(left > 0, parts.n_weighted * rss / np.where(left > 0, left, 1.0) ** 2, np.inf)
        return CentersSolution(self.centers.coefficients(w), intercept, gcv, df, float(errors.max()), w, used)

    def variance(self, rows: Rows, alpha: float) -> Floats:
        """The variance of f(x), shape (n,), if f is a Gaussian process with this kernel and noise of variance alpha.

        k(x, x) − ‖φ‖² + α φᵀ(W + αI)⁻¹φ. With an intercept, φ is centred in the last term and α / Σs is added, as for
        an intercept about which nothing is known. Cost: r³/3 flops, and r kernel values and 2 r² flops for a row.
        """
        parts, result = self._parts(), np.empty(len(rows))
        L, used = regularised_factor(parts.W, alpha)
        for start in range(0, len(rows), TILE_ROWS):
            x = rows[start : start + TILE_ROWS].wide()
            phi = self.centers.features(x)
            outside = self.centers.outside(x, phi)
            if self.fit_intercept:
                phi -= parts.phi_sum / parts.weight
                outside = outside + used / parts.weight
            z = dtrtrs(L, phi.T, lower=1, overwrite_b=1)[0]  # L⁻¹φ, shape (r, tile)
            result[start : start + TILE_ROWS] = outside + used * np.einsum("ij,ij->j", z, z)
        return result

    def _parts(self) -> _Parts:
        """The sums, centred if there is an intercept."""
        r, A = len(self.centers), self._sums
        weight = float(A[-EXTRA, -EXTRA])
        if weight <= 0:
            raise InputError("some row with a positive weight must be added before solving; got none.")
        W, B, p = A[:r, :r], A[r:-EXTRA, :r].T.copy(), A[-EXTRA, :r].copy()
        y_squares, y_sum = A.diagonal()[r:-EXTRA].copy(), A[-EXTRA, r:-EXTRA].copy()
        if self.fit_intercept:
            W = dsyr(-1.0 / weight, p, a=W, lower=1)  # a copy, because W is a view of other strides
            B -= np.multiply.outer(p, y_sum / weight)
            y_squares = np.maximum(y_squares - y_sum**2 / weight, 0.0)
        return _Parts(W, B, y_squares, p, y_sum, weight, round(float(A[-2, -2])))

    # ---------------------------------------------------------------- state

    def state(self) -> State:
        """Everything that was summed, with the centres, as named values and arrays."""
        c = self.centers
        settings: dict[str, Setting] = {
            "kernel": c.kernel,
            "n_targets": self.n_targets,
            "fit_intercept": self.fit_intercept,
        }
        arrays = {"places": c.places, "factor": c.factor, "sums": np.tril(self._sums)}
        return State(self.KIND, self.VERSION, settings, arrays).with_part("centers", rows_state(c.rows))

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The sums of a state; rows can be added to them as before."""
        state.expect(cls.KIND, cls.VERSION)
        kernel, n_targets = state.kernel(), state.count("n_targets", at_least=1)
        rows = kernel_rows(state, "centers", kernel)
        r, size = len(rows), len(rows) + n_targets + EXTRA
        state.check(r > 0, "there must be a centre")
        factor, sums = state.array("factor", np.float64, (r, r)), state.array("sums", np.float64, (size, size))
        state.check((factor.diagonal() > 0).all(), "the diagonal of 'factor' must be positive")
        state.check(_are_sums(sums), "'sums' must be sums of products")
        centers = Centers(kernel, rows, state.indices("places", LARGEST_COUNT, r), np.asfortranarray(factor))
        made = cls(centers, n_targets, fit_intercept=state.setting("fit_intercept", bool))
        made._sums = np.array(sums, order="F")
        return made


def _are_sums(sums: Floats) -> bool:
    """Whether a lower triangle can be that of sums of products, |Σ ab| ≤ √(Σ a² Σ b²), up to rounding."""
    lengths = np.sqrt(np.maximum(sums.diagonal(), 0.0))
    with np.errstate(over="ignore"):
        largest = np.multiply.outer(lengths, lengths) * (1 + 1e-6)
    return bool((sums.diagonal() >= 0).all() and (np.abs(np.tril(sums)) <= largest).all())


def refuse_no_penalty(alpha: float, n_weighted: int, r: int, *, fit_intercept: bool) -> None:
    """Raises GramError for α = 0 if there are too few rows: r features, and an intercept, fit them in many ways."""
    if alpha == 0 and n_weighted < r + fit_intercept:
        raise _singular(r)


def regularised_factor(W: Floats, alpha: float) -> tuple[Floats, float]:
    """The lower Cholesky factor of W + αI, and the α that was taken; the upper triangle is 0."""
    used, smallest = alpha, len(W) * EPS * max(float(W.diagonal().max()), 0.0)
    while True:
        A = W.copy(order="F")
        A[np.diag_indices_from(A)] += used
        L, failed = dpotrf(A, lower=1, overwrite_a=1, clean=1)
        # without a penalty, a condition number of the size of rounding errors makes w arbitrary
        if not failed and (alpha > 0 or dpocon(L, _size(W), uplo="L")[0] > len(W) * EPS):
            return L, used
        if alpha == 0:
            raise _singular(len(W))
        used = max(10 * used, smallest)


def _size(W: Floats) -> float:
    """The largest sum of |values| of a column of a symmetric matrix of which only the lower triangle is valid."""
    below = np.abs(np.tril(W))
    return float((below.sum(axis=0) + below.sum(axis=1) - below.diagonal()).max())


def _singular(r: int) -> GramError:
    return GramError(
        f"ridge regression on {r} centres with alpha = 0 needs features that are linearly independent on the rows, "
        "with an intercept also of a constant; the matrix of their products is singular. Choose alpha > 0, or fewer "
        "centres than rows."
    )


def _lower_times(W: Floats, v: Floats) -> Floats:
    """W v for a symmetric matrix of which only the lower triangle is valid."""
    return np.asarray(dsymm(1.0, W, v, lower=1))
