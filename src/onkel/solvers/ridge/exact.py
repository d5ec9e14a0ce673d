"""Kernel ridge regression, solved exactly: a Cholesky factor for one α, an eigendecomposition for many.

    min  Σᵢ sᵢ (yᵢ − f(xᵢ) − b)² + α‖f‖²          f = Σⱼ cⱼ k(xⱼ, ·),  s > 0,  b = 0 without an intercept

Setting the derivatives to zero gives a bordered system, which the intercept adds one row and column to:

    (K + α S⁻¹) c + 1 b = y        1ᵀc = 0        S = diag(s)

Both sides of its rows are multiplied by u = √s, so that small weights do not make it ill-conditioned. With c = u c̃:

    A c̃ + u b = u y        uᵀc̃ = 0        A = diag(u) K diag(u) + α I

and with v = A⁻¹u this is solved by b = uᵀA⁻¹(u y) / uᵀv and c̃ = A⁻¹(u y) − v b. (Centring K and y instead solves the
same problem, but its leave-one-out formula is wrong.)

*Leave-one-out.* Without row i, f(xᵢ) + b misses yᵢ by c̃ᵢ / (uᵢ Gᵢᵢ), with G = A⁻¹ − v vᵀ / uᵀv, or A⁻¹ if there is no
intercept. All targets share G. The hat matrix is I − αG, so that n − α tr G is the number of degrees of freedom, and

    GCV = (Σ s r² / n) / (α tr G / n)²        r = y − f − b,  that is α c̃ / u

*Cholesky.* K is computed below the diagonal, tile by tile, in one n × n matrix, and factored in place; LAPACK does not
touch what is above the diagonal, so a copy of K is kept there, from which the residual of the solution is computed.
Float32 rows are factored in float32, which is twice as fast, and the solution is corrected by its residual, for which
the kernel is computed in float64, tile by tile. Where that does not converge, the matrix is factored in float64.

*Jitter.* An α below the rounding errors of K, at most n · EPS times its size, cannot be told from another such α: the
solution would be noise. Where a Cholesky factorization fails for that reason, or an eigenvalue of A lies below these
errors, a larger α is used and reported; everything that is computed, leave-one-out as well, is for the larger one.

Source: Saunders, Gammerman and Vovk 1998; Golub, Heath and Wahba 1979 (GCV); Higham 2002, ch. 12 (refinement).
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.linalg.blas import dsymm
from scipy.linalg.lapack import get_lapack_funcs

from onkel.errors import GramError, ParameterError
from onkel.kernels import Kernel
from onkel.kernels.rows import Rows
from onkel.kernels.tiles import add_scores, fill
from onkel.kernels.vectors import VectorRows

__all__ = ["CholeskyFactor", "EigenPath", "Path", "RidgeProblem", "RidgeSolution", "solve_by_cholesky"]

Floats = NDArray[np.float64]
BLOCK = 512  # columns of K that are computed, scaled and copied at a time
EPS = float(np.finfo(np.float64).eps)
# Float32 is tried for α above this times √n times the largest diagonal entry; a smaller α is lost in its rounding.
SINGLE_ALPHA = 2.0 * float(np.finfo(np.float32).eps)
SINGLE_RESIDUAL = 1e-7  # relative to y; at which a solution in float32 is good enough
CORRECTIONS = 5  # at most; each is several digits
JITTERS = (1.0, 1e1, 1e2, 1e3)  # what is added to alpha for a factor, times the rounding errors


@dataclasses.dataclass(frozen=True, eq=False)
class RidgeProblem:
    """min Σ sᵢ (yᵢ − f(xᵢ) − b)² + α‖f‖² for each target.

    Parameters
    ----------
    kernel, rows : the kernel and the n rows.
    Y : shape (n, targets).
    root : u = √s, shape (n,), positive.
    fit_intercept : whether there is a b; if not, it is 0.
    """

    kernel: Kernel
    rows: Rows
    Y: Floats
    root: Floats
    fit_intercept: bool

    @property
    def is_weighted(self) -> bool:
        """Whether some weight is not 1."""
        return bool((self.root != 1.0).any())

    def relative(self, R: Floats) -> float:
        """The largest ‖u r‖ / ‖u y‖ of a target; a target that is 0 counts as one of length 1."""
        lengths = np.linalg.norm(self.root[:, None] * self.Y, axis=0)
        lengths[lengths == 0] = 1.0
        return float((np.linalg.norm(R, axis=0) / lengths).max(initial=0.0))


@dataclasses.dataclass(frozen=True, eq=False)
class RidgeSolution:
    """Coefficients and intercepts, and how well they solve the system.

    Parameters
    ----------
    coef : c, shape (n, targets).
    intercept : b, shape (targets,).
    alpha : the alpha of each target with which it was solved, shape (targets,): as a rule the one that was asked for,
        a larger one where the matrix was not positive definite to rounding.
    rcond : the estimated reciprocal condition number of A, the smallest if there are several alphas.
    residual : ‖u (y − f − b) − α c̃‖ / ‖u y‖, the largest of the targets.
    n_iter : the corrections of a solution in float32; 0 if the factor is in float64.
    factor : the factor of A, if it was to be kept, else None.
    """

    coef: Floats
    intercept: Floats
    alpha: Floats
    rcond: float
    residual: float
    n_iter: int
    factor: CholeskyFactor | None = None


# ---------------------------------------------------------------- Cholesky


class CholeskyFactor:
    """A = diag(u) K diag(u) + α I = L Lᵀ, with L below the diagonal of `matrix` and diag(u) K diag(u) above it."""

    def __init__(self, matrix: NDArray, diagonal: Floats, root: Floats, alpha: float, rcond: float) -> None:
        self.matrix, self.diagonal, self.root, self.alpha, self.rcond = matrix, diagonal, root, alpha, rcond

    def solve(self, B: Floats) -> Floats:
        """A⁻¹ B for B (n, columns)."""
        (potrs,) = get_lapack_funcs(("potrs",), (self.matrix,))
        return np.asarray(potrs(self.matrix, B, lower=1)[0], dtype=np.float64)

    def product(self, C: Floats) -> Floats:
        """A C, from the copy of K; only if the matrix is float64."""
        out = dsymm(1.0, self.matrix, np.asfortranarray(C), lower=0)  # its diagonal is that of L
        return np.asarray(out + (self.diagonal + self.alpha - self.matrix.diagonal())[:, None] * C)


def _factored(problem: RidgeProblem, alpha: float, dtype: Any) -> CholeskyFactor | None:
    """The factor of A; None if A is not positive definite in this precision."""
    matrix, norms = _matrix(problem, np.dtype(dtype))
    diagonal = matrix.diagonal().astype(np.float64)
    np.fill_diagonal(matrix, diagonal + alpha)
    potrf, pocon = get_lapack_funcs(("potrf", "pocon"), (matrix,))
    matrix, failed = potrf(matrix, lower=1, clean=0, overwrite_a=1)
    if failed:
        return None
    rcond = float(pocon(matrix, norms.max() + alpha, uplo="L")[0])
    return CholeskyFactor(matrix, diagonal, problem.root, alpha, rcond)


def _matrix(problem: RidgeProblem, dtype: np.dtype) -> tuple[NDArray, Floats]:
    """diag(u) K diag(u), in Fortran order, and the sum of |values| of each column; every value is computed once."""
    rows, u, n = problem.rows, problem.root, len(problem.rows)
    if isinstance(rows, VectorRows) and rows.dtype != dtype:
        rows = rows.wide()
    matrix, norms = np.empty((n, n), dtype=dtype, order="F"), np.zeros(n)
    weighted = problem.is_weighted
    for start in range(0, n, BLOCK):
        block = slice(start, min(start + BLOCK, n))
        below = matrix[start:, block]
        fill(problem.kernel, rows[block], rows[start:], below.T, kept=False)  # rows of below.T are contiguous
        if weighted:
            below *= u[start:, None]
            below *= u[None, block]
        sizes, width = np.abs(below), block.stop - start
        norms[block] += sizes.sum(axis=0, dtype=np.float64)
        norms[block.stop :] += sizes[width:].sum(axis=1, dtype=np.float64)
        matrix[block, block.stop :] = below[width:].T
    if not np.isfinite(norms).all():
        raise GramError(f"the values of {problem.kernel!r} must be finite; got NaN or infinity.")
    return matrix, norms


def _bordered(problem: RidgeProblem, factor: CholeskyFactor, v: Floats, R: Floats, e: Floats) -> tuple[Floats, Floats]:
    """c̃ and b with A c̃ + u b = R and uᵀc̃ = e; v = A⁻¹u."""
    c = factor.solve(R)
    if not problem.fit_intercept:
        return c, np.zeros(R.shape[1])
    b = (problem.root @ c - e) / (problem.root @ v)
    return c - v[:, None] * b, b


def _residual(problem: RidgeProblem, factor: CholeskyFactor, c: Floats, b: Floats) -> Floats:
    """u y − A c̃ − u b in float64."""
    u = problem.root[:, None]
    R = u * (problem.Y - b)
    if factor.matrix.dtype == np.float64:
        return np.asarray(R - factor.product(c))
    wide, scores = problem.rows.wide(), np.zeros(c.shape)
    add_scores(problem.kernel, wide, wide, np.ascontiguousarray(u * c), scores)
    return np.asarray(R - u * scores - factor.alpha * c)


def _solve(problem: RidgeProblem, factor: CholeskyFactor) -> tuple[Floats, Floats, float, int]:
    """c̃ and b, the relative residual, and the number of corrections: none for a factor in float64."""
    u, single = problem.root, factor.matrix.dtype == np.float32
    v = factor.solve(u[:, None])[:, 0] if problem.fit_intercept else u
    c, b = _bordered(problem, factor, v, u[:, None] * problem.Y, np.zeros(problem.Y.shape[1]))
    before, n_iter = np.inf, 0
    while True:
        R = _residual(problem, factor, c, b)
        residual = problem.relative(R)
        if not single or residual <= SINGLE_RESIDUAL or not residual < before / 4 or n_iter == CORRECTIONS:
            return c, b, residual, n_iter
        more, shift = _bordered(problem, factor, v, R, -(u @ c))
        c, b, before, n_iter = c + more, b + shift, residual, n_iter + 1


def solve_by_cholesky(problem: RidgeProblem, alpha: Floats, *, keep_factor: bool = False) -> RidgeSolution:
    """Solves for each target with its alpha, shape (targets,); one factorization for each alpha that is different.

    Raises ParameterError if an alpha is 0 and K is singular, and GramError if K is not positive semi-definite. With
    `keep_factor` the factor, which is float64 then, is kept in the solution; all alphas must be equal.
    """
    coef, intercept, used = np.empty(problem.Y.shape), np.empty(problem.Y.shape[1]), np.empty(problem.Y.shape[1])
    found: list[RidgeSolution] = []
    for value in np.unique(alpha):
        mine = np.flatnonzero(alpha == value)
        part = dataclasses.replace(problem, Y=problem.Y[:, mine])
        one = _solve_one(part, float(value), keep_factor)
        coef[:, mine], intercept[mine], used[mine] = one.coef, one.intercept, one.alpha
        found.append(one)
    return RidgeSolution(
        coef,
        intercept,
        alpha=used,
        rcond=min(one.rcond for one in found),
        residual=max(one.residual for one in found),
        n_iter=max(one.n_iter for one in found),
        factor=found[-1].factor if keep_factor else None,
    )


def _solve_one(problem: RidgeProblem, alpha: float, keep_factor: bool) -> RidgeSolution:
    """The solution for one alpha: in float32 if that is enough for float32 rows, else in float64, else with jitter."""
    u, n = problem.root, len(problem.rows)
    largest = float((u**2 * problem.kernel.inner.diagonal(problem.rows)).max())
    if problem.rows.dtype == np.float32 and not keep_factor and alpha > SINGLE_ALPHA * np.sqrt(n) * largest:
        factor = _factored(problem, alpha, np.float32)
        if factor is not None:
            c, b, residual, n_iter = _solve(problem, factor)
            if residual <= SINGLE_RESIDUAL:
                return RidgeSolution(u[:, None] * c, b, np.full(len(b), alpha), factor.rcond, residual, n_iter)
        del factor  # its memory is needed
    factor = _safe_factor(problem, alpha, largest)
    c, b, residual, n_iter = _solve(problem, factor)
    kept = factor if keep_factor else None
    return RidgeSolution(u[:, None] * c, b, np.full(len(b), factor.alpha), factor.rcond, residual, n_iter, kept)


def rounding_errors(n: int, size: float) -> float:
    """A bound of the rounding errors of an n × n matrix of this size, below which no alpha is told from another."""
    return n * EPS * size


def _safe_factor(problem: RidgeProblem, alpha: float, largest: float) -> CholeskyFactor:
    """A factor in float64, of a larger alpha if it must be."""
    factor, n = _factored(problem, alpha, np.float64), len(problem.rows)
    if alpha == 0 and (factor is None or factor.rcond < rounding_errors(n, 1.0)):
        raise _singular(problem.kernel)
    if factor is not None:
        return factor
    for times in JITTERS:
        jitter = times * rounding_errors(n, largest)
        factor = _factored(problem, alpha + jitter, np.float64)
        if factor is not None:
            return factor
    raise GramError(
        f"the Gram matrix of {problem.kernel!r} must be positive semi-definite for solver='cholesky'; "
        f"with alpha = {alpha:.3g} + {jitter:.3g} it still has a negative eigenvalue. Use solver='eigen', a larger "
        "alpha, or another kernel; onkel.gram.check says more."
    )


def _singular(kernel: Kernel) -> ParameterError:
    return ParameterError(
        f"alpha must be > 0, since the Gram matrix of {kernel!r} on these rows is singular, so that "
        "alpha = 0 has no single solution. Use a small alpha such as 1e-8, or leave out rows that are equal."
    )


# ---------------------------------------------------------------- eigendecomposition


@dataclasses.dataclass(frozen=True, eq=False)
class Path:
    """What a path over alphas shows of each alpha.

    Parameters
    ----------
    loo_residuals : y − the prediction without the row itself, shape (alphas, n, targets).
    gcv : generalized cross-validation, shape (alphas, targets).
    degrees_of_freedom : of f and b together, shape (alphas,).
    """

    loo_residuals: Floats
    gcv: Floats
    degrees_of_freedom: Floats


class EigenPath:
    """diag(u) K diag(u) = Q Λ Qᵀ, from which the solution for any alpha takes n² multiply-adds.

    Cost: about 9 n³ multiply-adds and 3 n × n matrices of float64, whatever the number of alphas.
    """

    def __init__(self, problem: RidgeProblem) -> None:
        self.problem = problem
        matrix, _ = _matrix(problem, np.dtype(np.float64))
        driver = "evd" if len(matrix) > 1 else None  # SciPy 1.11 gives "evd" too little room for a single number
        values, self.vectors = eigh(matrix, lower=True, overwrite_a=True, driver=driver, check_finite=False)
        self.rounding = rounding_errors(len(values), float(np.abs(values).max()))
        self.values = np.where((values < 0) & (values >= -self.rounding), 0.0, values)  # negative only by rounding
        self._Z = self.vectors.T @ (problem.root[:, None] * problem.Y)  # (n, targets)
        self._q = self.vectors.T @ problem.root

    def used(self, alphas: Floats) -> Floats:
        """The alphas that are used in place of these: larger where λ + α would be below the rounding errors of λ."""
        sizes = np.abs(self.values[:, None] + alphas).min(axis=0)
        lost = sizes < self.rounding
        if (alphas[lost] == 0).any():
            raise _singular(self.problem.kernel)
        smallest = float(self.values.min())
        if lost.any() and smallest < 0:
            raise GramError(
                f"−alpha = {-alphas[lost][0]:.3g} is, to rounding, an eigenvalue of the Gram matrix of "
                f"{self.problem.kernel!r}, which is not positive semi-definite. Use another alpha."
            )
        return np.where(lost, (1 + 8 * EPS) * self.rounding - smallest, alphas)  # 8: not lost itself

    def _dual(self, alphas: Floats, D: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """c̃ (n, alphas, targets), b (alphas, targets), v = A⁻¹u (n, alphas) and uᵀv (alphas,)."""
        Q, u = self.vectors, self.problem.root
        n, t = self._Z.shape
        C = (Q @ (D[:, :, None] * self._Z[:, None, :]).reshape(n, -1)).reshape(n, len(alphas), t)
        if not self.problem.fit_intercept:
            return C, np.zeros((len(alphas), t)), np.zeros((n, len(alphas))), np.ones(len(alphas))
        V = Q @ (D * self._q[:, None])
        total = u @ V
        b = np.tensordot(u, C, axes=1) / total[:, None]
        return C - V[:, :, None] * b, b, V, total

    def path(self, alphas: Floats) -> Path:
        """Leave-one-out residuals and GCV for each alpha, or for the one that is `used` in its place."""
        alphas = self.used(alphas)
        n, u, D = len(self.values), self.problem.root, 1.0 / (self.values[:, None] + alphas)
        C, _, V, total = self._dual(alphas, D)
        G = np.empty((n, len(alphas)))  # the diagonal of G for each alpha
        for start in range(0, n, BLOCK):  # a block at a time, so that Q² is never stored whole
            block = slice(start, start + BLOCK)
            G[block] = np.square(self.vectors[block]) @ D
        G -= V**2 / total
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            residuals = C / (u[:, None] * G)[:, :, None]
            trace = G.sum(axis=0)  # (alphas,)
            gcv = np.square(C).sum(axis=0) * n / np.square(trace)[:, None]  # alpha cancels, so that it may be 0
        return Path(np.ascontiguousarray(residuals.transpose(1, 0, 2)), gcv, n - alphas * trace)

    def solve(self, alpha: Floats) -> RidgeSolution:
        """The solution for each target with its alpha, shape (targets,), or with the one `used` in its place."""
        alpha = self.used(alpha)
        distinct, index = np.unique(alpha, return_inverse=True)
        D, each = 1.0 / (self.values[:, None] + distinct), np.arange(len(alpha))
        C, b, _, _ = self._dual(distinct, D)
        c, b = np.ascontiguousarray(C[:, index, each]), b[index, each]
        u, Q = self.problem.root[:, None], self.vectors
        product = Q @ (self.values[:, None] * (Q.T @ c)) + alpha * c
        sizes = 1.0 / np.abs(D)
        rcond = float((sizes.min(axis=0) / sizes.max(axis=0)).min())
        return RidgeSolution(u * c, b, alpha, rcond, self.problem.relative(u * (self.problem.Y - b) - product), 0)
