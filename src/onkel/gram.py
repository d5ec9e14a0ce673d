"""The Gram doctor: checks whether a matrix is a valid Gram matrix, and repairs and transforms Gram matrices.

A matrix K is the Gram matrix of some points under some feature map, K_ij = ⟨φ(xᵢ), φ(xⱼ)⟩, if and only if

    K = Kᵀ    and    bᵀKb ≥ 0 for every b            (bᵀKb is the squared length ‖Σ bᵢ φ(xᵢ)‖²)

The second condition holds if and only if no eigenvalue is negative. If one is, its eigenvector b has bᵀKb < 0; `check`
reports this b as the `witness`. `nearest_psd` repairs a matrix, and `features` finds vectors with the given inner
products. `center`, `normalize` and `alignment` do to a Gram matrix what centring and scaling do to the vectors and the
cosine does to two of them. `mercer_form` tests a kernel on an interval, with an integral in place of the sum.

All results are computed in float64, and float32 matrices are returned as float32. The caller's array is never changed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, eigvalsh
from scipy.special import roots_legendre

from onkel.checks import check_finite, check_integer, check_number, check_square
from onkel.errors import GramError, KindError, ShapeError, ValuesError, warn
from onkel.kernels import Kernel, expand
from onkel.kernels.rows import GramRows

__all__ = ["Report", "alignment", "center", "check", "features", "mercer_form", "nearest_psd", "normalize"]

EPS = float(np.finfo(np.float64).eps)
# Assumed rounding error of a kernel value, in units of eps √(K_ii K_jj). The errors of onkel's kernels on random points
# are below 2, even those of polynomials of degree 8 in float32.
VALUE_ERRORS = 4.0
MAX_EXAMINED = 500  # `check_gram` computes the eigenvalues of matrices up to this size


@dataclasses.dataclass(frozen=True, eq=False)
class Report:
    """The findings of `check` about a matrix K; ``print(report)`` shows them in words.

    The eigenvalues, the rank and the witness are those of (K + Kᵀ)/2, which has the same bᵀKb as K.

    Attributes
    ----------
    n : number of rows of K.
    symmetric : whether |K_ij − K_ji| ≤ `tol` for all i and j.
    psd : whether K is positive semi-definite up to rounding: no eigenvalue below −`tol` with a witness was found.
    valid : `symmetric` and `psd`: K is a Gram matrix.
    smallest_eigenvalue, largest_eigenvalue : the minimum and the maximum of bᵀKb over unit vectors b.
    rank : number of eigenvalues λ with |λ| > `tol`; for a valid K, the dimension of the span of its points.
    tol : the size up to which a number counts as a rounding error.
    asymmetry : the largest |K_ij − K_ji|.
    eigenvalues : all eigenvalues, in ascending order.
    witness : a unit vector b with bᵀKb < 0, or None if K is positive semi-definite.
    """

    n: int
    symmetric: bool
    psd: bool
    smallest_eigenvalue: float
    largest_eigenvalue: float
    rank: int
    tol: float
    asymmetry: float
    eigenvalues: NDArray[np.float64] = dataclasses.field(repr=False)
    witness: NDArray[np.float64] | None = dataclasses.field(repr=False)

    @property
    def valid(self) -> bool:
        """Whether K is symmetric and positive semi-definite."""
        return self.symmetric and self.psd

    def __str__(self) -> str:
        shape = f"{self.n} × {self.n}"
        spectrum = f"eigenvalues from {self.smallest_eigenvalue:.3g} to {self.largest_eigenvalue:.3g}"
        spectrum += f", rank {self.rank}; up to {self.tol:.1e} counts as rounding"
        if self.valid:
            return f"valid Gram matrix: symmetric, positive semi-definite, {shape}\n  {spectrum}"
        return "\n  ".join([f"NOT a valid Gram matrix, {shape}:", *self.faults, spectrum, f"what to do: {self.advice}"])

    @property
    def faults(self) -> list[str]:
        """The reasons why K is not valid, in words; empty for a valid matrix."""
        faults = []
        if not self.symmetric:
            faults.append(f"not symmetric: |K_ij - K_ji| is up to {self.asymmetry:.3g}")
        if not self.psd:
            low = f"{self.smallest_eigenvalue:.3g}"
            faults.append(f"not positive semi-definite: smallest eigenvalue {low}; the witness b gives bᵀKb = {low}")
        return faults

    @property
    def advice(self) -> str:
        """What to do about the faults."""
        if self.valid:
            return "nothing"
        repair = "onkel.gram.nearest_psd(K) gives the nearest valid matrix"
        source = "take a kernel whose is_psd is True" if self.symmetric else "compute K as kernel(X)"
        return f"{repair}; or {source}"


def check(K: Any, tol: float | None = None) -> Report:
    """Checks whether K is a valid Gram matrix, and proves it if K is not; returns a `Report`.

    K is valid if and only if K = Kᵀ and λ_min((K + Kᵀ)/2) ≥ 0, up to tol. The report has valid, symmetric, psd,
    smallest_eigenvalue, witness, …; the witness is the eigenvector b of a λ_min < −tol, if the computed bᵀKb < 0.

    Parameters
    ----------
    K : square matrix of finite numbers.
    tol : ≥ 0, the size up to which an eigenvalue or |K_ij − K_ji| counts as a rounding error. None (default):
        4 ε Σ|λ| + n ε₆₄ max|λ|, with the machine epsilon ε of the dtype of K, and ε₆₄ of float64. First term: kernel
        values with errors of up to 4 ε √(K_ii K_jj) change no eigenvalue by more than 4 ε tr K (Weyl), and tr K = Σ|λ|
        for a valid K. Second term: the error of the eigenvalue solver. If a float64 K holds values that were computed
        in float32, pass the tol of the float32 matrix.

    Cost: about 4n³/3 operations, and memory for a few copies of K.

    >>> from onkel import gram
    >>> report = gram.check([[1.0, 2.0], [2.0, 1.0]])
    >>> report.valid, round(report.smallest_eigenvalue, 6), abs(report.witness.round(4))
    (False, -1.0, array([0.7071, 0.7071]))

    Source: Shawe-Taylor and Cristianini 2004, Kernel Methods for Pattern Analysis, sec. 3.1.
    """
    who = "gram.check"
    tol = _check_tol(tol, who)
    matrix = check_square(K, who=who)
    S = _symmetric_part(matrix)
    eigenvalues = eigvalsh(S, check_finite=False)
    tol = _default_tol(K, eigenvalues) if tol is None else tol
    return _report(matrix, eigenvalues, lambda: eigh(S, subset_by_index=[0, 0], check_finite=False)[1][:, 0], tol)


def _report(K: NDArray, eigenvalues: NDArray, lowest: Callable[[], NDArray], tol: float) -> Report:
    """Builds the report; `lowest` computes the eigenvector of the smallest eigenvalue."""
    asymmetry = float(np.abs(np.subtract(K, K.T, dtype=np.float64)).max())
    b = lowest() if eigenvalues[0] < -tol else None
    witness = b if b is not None and b @ K @ b < 0 else None  # bᵀKb ≥ 0: tol is below the precision of float64
    if witness is not None:
        witness.flags.writeable = False
    eigenvalues.flags.writeable = False
    return Report(
        n=len(K),
        symmetric=asymmetry <= tol,
        psd=witness is None,
        smallest_eigenvalue=float(eigenvalues[0]),
        largest_eigenvalue=float(eigenvalues[-1]),
        rank=int(np.count_nonzero(np.abs(eigenvalues) > tol)),
        tol=tol,
        asymmetry=asymmetry,
        eigenvalues=eigenvalues,
        witness=witness,
    )


def _symmetric_part(K: NDArray[Any]) -> NDArray[np.float64]:
    """(K + Kᵀ)/2 as a new float64 array, exactly symmetric."""
    half = 0.5 * K.astype(np.float64)
    return half + half.T


def _check_tol(tol: float | None, who: str) -> float | None:
    advice = "Leave it out for rounding errors only."
    return None if tol is None else check_number(tol, "tol", who, at_least=0.0, advice=advice)


def _default_tol(K: Any, eigenvalues: NDArray[np.float64]) -> float:
    """The default of `tol`, for the dtype that K has before it is converted."""
    sizes = np.abs(eigenvalues)
    return rounding(np.asarray(K).dtype, len(sizes), float(sizes.sum()), float(sizes.max()))


def rounding(dtype: np.dtype, n: int, trace: float, largest: float) -> float:
    """Bound on the rounding error of an eigenvalue of a Gram matrix: 4 ε tr K + n ε₆₄ λ_max (derived in `check`)."""
    eps = max(EPS, float(np.finfo(dtype).eps)) if dtype.kind == "f" else EPS
    return VALUE_ERRORS * eps * trace + n * EPS * largest


def fixed_signs(U: NDArray[Any]) -> NDArray[Any]:
    """Fixes the signs of eigenvectors: in each column, the first entry of ≥ 0.9 the largest modulus is positive."""
    sizes = np.abs(U)
    first = (sizes >= 0.9 * sizes.max(axis=0)).argmax(axis=0)
    return np.asarray(U * np.sign(U[first, np.arange(U.shape[1])]))


# ---------------------------------------------------------------- repair, features and their arithmetic


def nearest_psd(K: Any) -> NDArray[Any]:
    """The valid Gram matrix that is nearest to K in the Frobenius norm.

    G = Σ max(λᵢ, 0) uᵢuᵢᵀ minimizes ‖K − G‖_F over G = Gᵀ ⪰ 0, where λᵢ, uᵢ are the eigenvalues and eigenvectors of
    (K + Kᵀ)/2. The result is exactly symmetric. If no eigenvalue is negative, it is (K + Kᵀ)/2 itself.

    Parameters
    ----------
    K : square matrix of finite numbers.

    Cost: about 9n³ operations, and memory for a few copies of K.

    >>> from onkel import gram
    >>> gram.nearest_psd([[1.0, 2.0], [2.0, 1.0]]).round(4)
    array([[1.5, 1.5],
           [1.5, 1.5]])

    Source: Higham 1988, Computing a nearest symmetric positive semidefinite matrix, theorem 2.1.
    """
    matrix = check_square(K, who="gram.nearest_psd")
    G = _symmetric_part(matrix)
    eigenvalues, U = np.linalg.eigh(G)
    if eigenvalues[0] < 0:
        positive = eigenvalues > 0
        Phi = U[:, positive] * np.sqrt(eigenvalues[positive])  # (n, positive eigenvalues)
        G = _symmetric_part(Phi @ Phi.T)
    return G.astype(matrix.dtype, copy=False)


def features(K: Any, tol: float | None = None) -> NDArray[Any]:
    """Vectors, one row per point, whose inner products are the entries of K.

    With the eigendecomposition K = UDUᵀ, the rows of Φ = UD^½ have ΦΦᵀ = K. There is a column for each eigenvalue above
    `tol`, in descending order; ‖column‖² is the eigenvalue. The sign of a column is arbitrary; it is chosen so that the
    first of its entries with at least 0.9 of the largest modulus is positive.

    Parameters
    ----------
    K : a valid Gram matrix. Any other matrix raises a GramError, which carries the witness if it has one.
    tol : ≥ 0, the size up to which an eigenvalue or |K_ij − K_ji| counts as a rounding error. None (default): a bound
        on the rounding errors in the dtype of K; `check` states the formula.

    Cost: about 9n³ operations, and memory for a few copies of K.

    >>> from onkel import gram
    >>> Phi = gram.features([[2.0, 0.0, 2.0], [0.0, 1.0, 0.0], [2.0, 0.0, 2.0]])
    >>> Phi.shape, (Phi @ Phi.T).round(6).tolist()
    ((3, 2), [[2.0, 0.0, 2.0], [0.0, 1.0, 0.0], [2.0, 0.0, 2.0]])

    Source: Shawe-Taylor and Cristianini 2004, Kernel Methods for Pattern Analysis, sec. 3.1.
    """
    who = "gram.features"
    tol = _check_tol(tol, who)
    matrix = check_square(K, who=who)
    eigenvalues, U = np.linalg.eigh(_symmetric_part(matrix))
    tol = _default_tol(K, eigenvalues) if tol is None else tol
    report = _report(matrix, eigenvalues, lambda: np.ascontiguousarray(U[:, 0]), tol)
    if not report.valid:
        raise GramError(
            f"{who}: K must be a valid Gram matrix (symmetric, positive semi-definite); got one that is "
            f"{'; and '.join(report.faults)}. What to do: {report.advice}.",
            witness=report.witness,
        )
    keep = np.flatnonzero(eigenvalues > tol)[::-1]
    return fixed_signs(U[:, keep] * np.sqrt(eigenvalues[keep])).astype(matrix.dtype, copy=False)  # (n, rank)


def center(K: Any) -> NDArray[Any]:
    """The Gram matrix of the same points, shifted so that their mean in feature space is 0.

    HKH with H = I − 11ᵀ/n: from K_ij the means of row i and column j are subtracted, and the mean of K is added.

    Parameters
    ----------
    K : square matrix of finite numbers.

    Cost: 5n² operations.

    >>> from onkel import gram
    >>> gram.center([[0.0, 0.0], [0.0, 4.0]])  # of the points 0 and 2
    array([[ 1., -1.],
           [-1.,  1.]])

    Source: Schölkopf, Smola and Müller 1998, Nonlinear component analysis as a kernel eigenvalue problem.
    """
    matrix = check_square(K, who="gram.center")
    return _centered(matrix.astype(np.float64)).astype(matrix.dtype, copy=False)


def _centered(K: NDArray[np.float64]) -> NDArray[np.float64]:
    rows = K.mean(axis=1)
    columns = np.ascontiguousarray(K.T).mean(axis=1)  # summed in the same order as rows: a symmetric K stays symmetric
    return np.asarray(K - (rows[:, None] + columns[None, :]) + rows.mean())


def normalize(K: Any) -> NDArray[Any]:
    """The Gram matrix of the same points, scaled to length 1 in feature space; its entries are cosines.

    K_ij / √(K_ii K_jj); the row and the column of a point of length 0 are 0.

    Parameters
    ----------
    K : square matrix of finite numbers with a diagonal ≥ 0.

    Cost: 2n² operations.

    >>> from onkel import gram
    >>> gram.normalize([[4.0, 3.0], [3.0, 9.0]])
    array([[1. , 0.5],
           [0.5, 1. ]])

    Source: Shawe-Taylor and Cristianini 2004, Kernel Methods for Pattern Analysis, ch. 5.
    """
    who = "gram.normalize"
    matrix = check_square(K, who=who)
    diagonal = matrix.diagonal().astype(np.float64)
    lowest = int(diagonal.argmin())
    if diagonal[lowest] < 0:
        raise GramError(
            f"{who}: the diagonal of K holds squared lengths, so it must be >= 0; got K[{lowest}, {lowest}] = "
            f"{diagonal[lowest]:.3g}. Repair K first, with onkel.gram.nearest_psd(K).",
            witness=np.eye(1, len(matrix), lowest)[0],
        )
    nonzero = diagonal >= np.finfo(np.float64).tiny  # 1/K_ii of smaller, denormal numbers overflows
    scale = np.divide(1.0, np.sqrt(diagonal), out=np.zeros(len(matrix)), where=nonzero)
    cosines: NDArray[Any] = matrix * (scale[:, None] * scale[None, :])
    np.fill_diagonal(cosines, nonzero)  # exactly 1
    return cosines.astype(matrix.dtype, copy=False)


def alignment(K: Any, L: Any, centered: bool = False) -> float:
    """The similarity of two Gram matrices of the same points: the cosine of the angle between them.

    A(K, L) = Σ K_ij L_ij / (‖K‖_F ‖L‖_F), in [0, 1] for valid matrices and in [−1, 1] for any; 1 only for positive
    multiples of each other. With L = yyᵀ for labels y = ±1, it measures how well the kernel fits the labels.

    Parameters
    ----------
    K, L : square matrices of the same shape, neither of them zero.
    centered : whether to center both matrices first (default False). That removes the effect of a constant added to a
        kernel and of unequal class sizes, and agrees far better with the accuracy of a classifier.

    Cost: 3n² operations; 13n² if centered.

    >>> import numpy as np
    >>> from onkel import gram
    >>> y = np.array([1, 1, -1])
    >>> round(gram.alignment(np.outer(y, y), [[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]]), 4)
    0.7127

    Source: Cristianini, Shawe-Taylor, Elisseeff and Kandola 2001, On kernel-target alignment;
    centred: Cortes, Mohri and Rostamizadeh 2012, JMLR 13, sec. 2.
    """
    who = "gram.alignment"
    left, right = check_square(K, who=who), check_square(L, name="L", who=who)
    if left.shape != right.shape:
        raise ShapeError(
            f"{who}: K and L must be of the same points, hence of one shape; got {left.shape} and {right.shape}. "
            "Compute both on the same rows."
        )
    cosine = np.vdot(_direction(left, "K", who, centered), _direction(right, "L", who, centered))
    return float(np.clip(cosine, -1.0, 1.0))


def _direction(K: NDArray[Any], name: str, who: str, centered: bool) -> NDArray[np.float64]:
    """K / ‖K‖_F, scaled first so that no square overflows."""
    scaled: NDArray[np.float64] = K.astype(np.float64) / (np.abs(K).max() or 1.0)
    rounding = len(K) * EPS * np.linalg.norm(scaled)
    if centered:
        scaled = _centered(scaled)
    norm = np.linalg.norm(scaled)
    if norm <= rounding:
        what = "that centring makes zero, as a constant one" if centered else "of zeros"
        raise ValuesError(f"{who}: {name} must have a direction; got a matrix {what}. Choose another kernel.")
    return scaled / norm


# ---------------------------------------------------------------- Mercer's condition


def mercer_form(kernel: Kernel, g: Callable[[NDArray], Any], low: float, high: float, n: int = 200) -> float:
    """The integral of Mercer's condition for a kernel and a function on an interval.

    ∬ k(x, z) g(x) g(z) dx dz over [low, high]² ≈ Σ wᵢwⱼ g(xᵢ) g(xⱼ) k(xᵢ, xⱼ), with the nodes x and weights w of
    Gauss-Legendre quadrature. A continuous, symmetric kernel is valid on the interval if and only if the integral is
    ≥ 0 for every square-integrable g. One negative value, beyond the quadrature error, proves that it is not.

    Parameters
    ----------
    kernel : a Kernel that takes vectors; it is called with rows of one column.
    g : function that maps an array of shape (n,) to n real, finite numbers.
    low, high : ends of the interval, finite, low < high.
    n : number of nodes, ≥ 1 (default 200). The error falls exponentially with n for smooth k and g, and like 1/n² for
        kernels with a kink at x = z (Laplacian, Matern with ν = 1/2).

    Cost: n² kernel values in O(tile) memory, and O(n²) operations for the nodes.

    >>> import numpy as np
    >>> from onkel.gram import mercer_form
    >>> from onkel.kernels import Linear
    >>> round(mercer_form(Linear(), np.ones_like, 0.0, 1.0), 12)  # (∫x dx)²
    0.25

    Source: Mercer 1909, Functions of positive and negative type, Phil. Trans. R. Soc. A 209.
    """
    who = "gram.mercer_form"
    if not isinstance(kernel, Kernel) or kernel.takes not in ("vectors", "anything"):
        raise KindError(f"{who}: kernel must be a Kernel on vectors such as RBF(gamma=1.0); got {kernel!r}.")
    if not callable(g):
        raise KindError(f"{who}: g must be a function of an array such as np.sin; got {g!r}.")
    low = check_number(low, "low", who)
    high = check_number(high, "high", who, above=low, advice="The interval is [low, high].")
    n = check_integer(n, "n", who, at_least=1)
    nodes, weights = roots_legendre(n)
    half = 0.5 * high - 0.5 * low
    x = 0.5 * low + 0.5 * high + half * nodes  # (n,)
    values = np.asarray(g(x.copy()))
    if values.dtype.kind not in "fiub":
        raise KindError(f"{who}: g must give real numbers; got dtype {values.dtype}.")
    if values.shape != (n,):
        raise ShapeError(
            f"{who}: g must give one number for each of the {n} nodes, shape ({n},); got shape {values.shape}. "
            "Write it with NumPy functions; for a constant, np.full_like(x, c)."
        )
    values = values.astype(np.float64)
    check_finite(values, "g(x)", who)
    A, X = half * weights * values, x[:, None]
    return float(A @ expand(kernel, X, X, A))


# ---------------------------------------------------------------- precomputed matrices in estimators


def check_symmetric(rows: GramRows, who: str) -> NDArray:
    """The precomputed Gram matrix of training rows; raises GramError if it is not symmetric."""
    assert rows.block is not None
    K = rows.block if len(rows) == rows.block.shape[1] else rows.read(rows)  # rows of weight 0 were dropped
    asymmetry = max(float(np.abs(K[i : i + 512] - K[:, i : i + 512].T).max()) for i in range(0, len(K), 512))
    if asymmetry > 1e-5 * float(np.abs(K).max()):
        raise GramError(
            f"{who}: a precomputed Gram matrix must be symmetric; got K_ij and K_ji that differ by {asymmetry:.3g}. "
            "Take (K + K.T) / 2 if that is what you mean; onkel.gram.check(K) tells more."
        )
    return K


def check_gram(rows: GramRows, who: str) -> bool | None:
    """Whether the precomputed Gram matrix of training rows is valid; warns if not. None: it is too large to check."""
    K = check_symmetric(rows, who)
    if len(rows) > MAX_EXAMINED:
        return None
    psd = check(K).psd
    if not psd:
        warn(
            f"{who}: the precomputed Gram matrix is not positive semi-definite, so no theorem on the mistakes holds. "
            "onkel.gram.nearest_psd(K) repairs it.",
        )
    return psd
