"""The Gram doctor: is this matrix one of inner products? If not, how far off, and what to do.

K is the Gram matrix of some points under some feature map, K_ij = ⟨φ(xᵢ), φ(xⱼ)⟩, exactly when

    K = Kᵀ    and    bᵀKb ≥ 0 for every b            (= ‖Σ bᵢ φ(xᵢ)‖²: no length is negative)

The second is a matter of the eigenvalues: bᵀKb < 0 for some b iff one of them is negative, and its
eigenvector is such a b. `check` looks for one and shows it, the `witness`; `nearest_psd` repairs;
`features` gives back vectors with these inner products; `center`, `normalize` and `alignment` do
with a Gram matrix what one would do with the vectors; `mercer_form` asks the same of a kernel on
an interval, with an integral in place of the sum.

Everything is computed in float64, the caller's array is never changed, and float32 matrices come
back as float32.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.special import roots_legendre

from onkel.checks import check_finite, check_integer, check_number, check_square
from onkel.errors import GramError, KindError, ShapeError, ValuesError, warn
from onkel.kernels import Kernel, expand
from onkel.kernels.rows import GramRows

__all__ = ["Report", "alignment", "center", "check", "features", "mercer_form", "nearest_psd", "normalize"]

EPS = float(np.finfo(np.float64).eps)
# Rounding errors, in units of eps √(K_ii K_jj), that a kernel value may carry: onkel's kernels stay
# below 2 on random points, polynomials of degree 8 in float32 included.
VALUE_ERRORS = 4.0
MAX_EXAMINED = 500  # rows of a precomputed matrix whose eigenvalues a fit looks at


# ---------------------------------------------------------------- diagnosis


@dataclasses.dataclass(frozen=True, eq=False)
class Report:
    """What `check` found; ``print`` it to read it in words.

    Where K is not symmetric, all but `symmetric` and `asymmetry` are of (K + Kᵀ)/2, since bᵀKb is
    the same for both.

    Attributes
    ----------
    n : rows of K.
    symmetric : whether no two mirrored entries differ by more than `tol`.
    psd : whether no b with bᵀKb < 0 was found: no eigenvalue is below −`tol`.
    valid : both: K is a Gram matrix.
    smallest_eigenvalue, largest_eigenvalue : the ends of the spectrum; the smallest is the least
        value of bᵀKb over unit vectors b.
    rank : eigenvalues beyond ±`tol`; for a valid K the dimension that its points span.
    tol : what counts as rounding, in the units of K.
    asymmetry : the largest |K_ij − K_ji|.
    eigenvalues : all of them, ascending.
    witness : a unit vector b with bᵀKb < 0, or None where K is positive semi-definite.
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
        """Symmetric and positive semi-definite."""
        return self.symmetric and self.psd

    def __str__(self) -> str:
        shape = f"{self.n} × {self.n}"
        spectrum = f"eigenvalues from {self.smallest_eigenvalue:.3g} to {self.largest_eigenvalue:.3g}"
        spectrum += f", rank {self.rank}; up to {self.tol:.1e} counts as rounding"
        if self.valid:
            return f"valid Gram matrix: symmetric, positive semi-definite, {shape}\n  {spectrum}"
        lines = [f"NOT a valid Gram matrix, {shape}:", *self.faults, spectrum, f"what to do: {self.advice}"]
        return "\n  ".join(lines)

    @property
    def faults(self) -> list[str]:
        """What keeps K from being valid, in words; empty for a valid matrix."""
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
    """Examines whether K is a Gram matrix, and proves it where it is not.

    K valid ⇔ K = Kᵀ and λ_min((K + Kᵀ)/2) ≥ 0, both up to rounding: a λ ≥ −tol passes, one below
    must come with a vector b for which bᵀKb, computed, is negative.

    Parameters
    ----------
    K : square matrix of finite numbers.
    tol : ≥ 0, the size up to which an eigenvalue, or a difference of mirrored entries, counts as
        rounding. The default is 4 ε Σ|λ| + n ε₆₄ max|λ|, with ε the machine epsilon of K's dtype and
        ε₆₄ that of float64. First term: values off by 4 ε √(K_ii K_jj), as inner products in that
        dtype are, move no eigenvalue by more than 4 ε tr K (Weyl), and tr K = Σ|λ| for a valid K.
        Second term: the error of the eigenvalue solver itself. Both are at most n ε max|λ|, as in
        `numpy.linalg.matrix_rank`, but for the 4; in float32 the sum is usually far smaller. Where a
        float64 K holds values computed in float32, give the tol of the float32 matrix.

    Cost: about 4n³/3 operations, and a few copies of K.

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

    def lowest() -> NDArray[np.float64]:
        return np.asarray(scipy.linalg.eigh(S, subset_by_index=[0, 0], check_finite=False)[1][:, 0])

    eigenvalues = scipy.linalg.eigvalsh(S, check_finite=False)
    return _report(matrix, eigenvalues, lowest, _default_tol(K, eigenvalues) if tol is None else tol)


def _report(
    K: NDArray[Any], eigenvalues: NDArray[Any], lowest: Callable[[], NDArray[np.float64]], tol: float
) -> Report:
    """The findings of `check`; `lowest` gives the eigenvector of the smallest eigenvalue."""
    asymmetry = float(np.abs(np.subtract(K, K.T, dtype=np.float64)).max())
    witness = None
    if eigenvalues[0] < -tol:
        b = lowest()
        if b @ K @ b < 0:  # else tol is smaller than what float64 can tell
            witness = b
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
    """(K + Kᵀ)/2 as a new float64 array, symmetric to the last bit."""
    half = 0.5 * K.astype(np.float64)
    return half + half.T


def _check_tol(tol: float | None, who: str) -> float | None:
    advice = "Leave it out for rounding errors only."
    return None if tol is None else check_number(tol, "tol", who, at_least=0.0, advice=advice)


def _default_tol(K: Any, eigenvalues: NDArray[np.float64]) -> float:
    """`rounding`, for the dtype of K as the user gave it."""
    sizes = np.abs(eigenvalues)
    return rounding(np.asarray(K).dtype, len(sizes), float(sizes.sum()), float(sizes.max()))


def rounding(dtype: np.dtype, n: int, trace: float, largest: float) -> float:
    """What an eigenvalue of a Gram matrix may be off: 4 ε tr K + n ε₆₄ λ_max (see `check`)."""
    eps = max(EPS, float(np.finfo(dtype).eps)) if dtype.kind == "f" else EPS
    return VALUE_ERRORS * eps * trace + n * EPS * largest


def fixed_signs(U: NDArray[Any]) -> NDArray[Any]:
    """The same columns with their free signs fixed: the first entry of nearly the largest size is positive."""
    sizes = np.abs(U)
    first = (sizes >= 0.9 * sizes.max(axis=0)).argmax(axis=0)
    signed: NDArray[Any] = U * np.sign(U[first, np.arange(U.shape[1])])
    return signed


# ---------------------------------------------------------------- repair and features


def nearest_psd(K: Any) -> NDArray[Any]:
    """The Gram matrix that is nearest to K in the Frobenius norm.

    argmin ‖K − G‖_F over G = Gᵀ ⪰ 0 is G = Σ max(λᵢ, 0) uᵢuᵢᵀ, where λᵢ, uᵢ are the eigenpairs of
    (K + Kᵀ)/2. The result is symmetric to the last bit; a valid K comes back as it is.

    Parameters
    ----------
    K : square matrix of finite numbers.

    Cost: about 9n³ operations, and a few copies of K.

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

    With K = UDUᵀ, the rows of Φ = UD^½ have ΦΦᵀ = K. Columns belong to the eigenvalues above `tol`,
    the largest first; ‖column‖² is the eigenvalue. The sign of a column is free and fixed so: of
    its entries within a tenth of the largest modulus, the first is positive.

    Parameters
    ----------
    K : a valid Gram matrix; another one is a GramError that carries the witness.
    tol : as in `check`.

    Cost: about 9n³ operations, and a few copies of K.

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
    Phi = fixed_signs(U[:, keep] * np.sqrt(eigenvalues[keep]))  # (n, rank)
    return Phi.astype(matrix.dtype, copy=False)


# ---------------------------------------------------------------- arithmetic of features


def center(K: Any) -> NDArray[Any]:
    """The Gram matrix of the same points, moved so that their mean in feature space is 0.

    HKH with H = I − 11ᵀ/n, that is K_ij − mean of row i − mean of column j + mean of all.

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
    columns = np.ascontiguousarray(K.T).mean(axis=1)  # summed as the rows are: a symmetric K stays so
    centered: NDArray[np.float64] = K - (rows[:, None] + columns[None, :]) + rows.mean()
    return centered


def normalize(K: Any) -> NDArray[Any]:
    """The Gram matrix of the same points, each scaled to length 1: cosines in feature space.

    K_ij / √(K_ii K_jj); a point of length 0 stays there, and its row and column are 0.

    Parameters
    ----------
    K : square matrix of finite numbers without a negative one on the diagonal.

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
    there = diagonal >= np.finfo(np.float64).tiny  # 1/K_ii of smaller, denormal numbers overflows
    scale = np.divide(1.0, np.sqrt(diagonal), out=np.zeros(len(matrix)), where=there)
    cosines: NDArray[Any] = matrix * (scale[:, None] * scale[None, :])
    np.fill_diagonal(cosines, there)  # 1, without the rounding of √
    return cosines.astype(matrix.dtype, copy=False)


def alignment(K: Any, L: Any, centered: bool = False) -> float:
    """How alike two Gram matrices of the same points are: the cosine of the angle between them.

    A(K, L) = ⟨K, L⟩_F / (‖K‖_F ‖L‖_F) with ⟨K, L⟩_F = Σ K_ij L_ij; in [0, 1] for valid matrices, in
    [−1, 1] for any, and 1 iff one is a positive multiple of the other. With L = yyᵀ for labels ±1 it
    says how well a kernel fits a task.

    Parameters
    ----------
    K, L : square matrices of one shape, neither zero.
    centered : center both first. It undoes a constant added to a kernel and unequal class sizes,
        which make everything look alike, and follows a classifier's accuracy far better.

    Cost: 3n² operations, centred 13n².

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


def mercer_form(
    kernel: Kernel, g: Callable[[NDArray[np.float64]], Any], low: float, high: float, n: int = 200
) -> float:
    """Mercer's integral of a kernel and a function on an interval.

    ∬ k(x, z) g(x) g(z) dx dz over [low, high]² ≈ Σ wᵢwⱼ g(xᵢ) g(xⱼ) k(xᵢ, xⱼ), with the nodes x and
    weights w of Gauss and Legendre. A continuous, symmetric kernel is valid on the interval iff this is ≥ 0
    for every square-integrable g: one negative value is a proof that it is not.

    Parameters
    ----------
    kernel : a Kernel that takes vectors; it sees rows of one column.
    g : function of an array of shape (n,), giving one real number each.
    low, high : the interval, low < high, both finite.
    n : ≥ 1, nodes. The error of smooth k and g falls exponentially with n; with a kink at x = z
        (Laplacian, Matern of ν = 1/2) as 1/n².

    Cost: n² kernel values, in O(tile) memory, and O(n²) for the nodes.

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
    A = half * weights * values
    X = x[:, None]
    return float(A @ expand(kernel, X, X, A))


# ---------------------------------------------------------------- matrices that an estimator is given


def check_symmetric(rows: GramRows, who: str) -> NDArray:
    """A precomputed matrix of its rows with themselves; refuses one that is not symmetric."""
    assert rows.block is not None
    K = rows.block if len(rows) == rows.block.shape[1] else rows.read(rows)  # rows of weight 0 are gone, columns not
    parts = [slice(i, i + 512) for i in range(0, len(K), 512)]  # no second matrix
    asymmetry = max(float(np.abs(K[part] - K[:, part].T).max()) for part in parts)
    if asymmetry > 1e-5 * float(np.abs(K).max()):
        raise GramError(
            f"{who}: a precomputed Gram matrix must be symmetric; got K_ij and K_ji that differ by {asymmetry:.3g}. "
            "Take (K + K.T) / 2 if that is what you mean; onkel.gram.check(K) tells more."
        )
    return K


def check_gram(rows: GramRows, who: str) -> bool | None:
    """Whether a precomputed matrix is positive semi-definite, None if it is too large to tell; it must be symmetric."""
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
