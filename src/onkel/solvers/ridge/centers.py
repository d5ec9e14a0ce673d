"""Ridge regression on centres: which rows to take as centres, and the two ways to solve for their coefficients.

    given_centers          those of a user, checked
    choose_centers         uniformly, by leverage scores, or by k-means
    WhitenedSums           one pass over the data, then any alpha (`onkel.solvers.ridge.whitened_sums`)
    conjugate_gradient     several passes, for very many centres (`onkel.solvers.ridge.conjugate_gradient`)

**Leverage scores.** The ridge leverage score of a row, ℓᵢ = [K (K + αI)⁻¹]ᵢᵢ in [0, 1], says how much the fit at xᵢ
depends on yᵢ; Σ ℓᵢ are the degrees of freedom. Rows of which there are few like them have high scores, and a uniform
sample misses them. α ℓᵢ is the posterior variance of a Gaussian process at xᵢ. It is estimated with a uniform sample J
of m rows in the place of all n, each of which counts n/m times:

    ℓᵢ ≈ (k(xᵢ, xᵢ) − k(xᵢ, J) (K_JJ + α (m/n) I)⁻¹ k(J, xᵢ)) / α

Source: Alaoui, Mahoney, "Fast randomized kernel ridge regression with statistical guarantees", NIPS 2015; Rudi,
Calandriello, Carratino, Rosasco, "On fast leverage score sampling and optimal learning", NeurIPS 2018.

**k-means.** Centres at the means of clusters in the input space have a small quantisation error, which bounds the error
of the kernel matrix for kernels that depend smoothly on the distance (Zhang, Tsang, Kwok, ICML 2008). Clusters are
found in a sample of the rows: the first centres by the rule of k-means++ (a row is drawn with a probability that is
proportional to its squared distance from those drawn before), several in each round; then by a few steps of
Lloyd's algorithm.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from onkel.errors import KindError, ParameterError, ShapeError
from onkel.kernels import Kernel, prepare
from onkel.kernels.centers import Centers
from onkel.kernels.rows import GramRows, Rows
from onkel.kernels.vectors import VectorRows
from onkel.solvers.ridge.conjugate_gradient import CgSolution, conjugate_gradient
from onkel.solvers.ridge.whitened_sums import CentersSolution, WhitenedSums

__all__ = [
    "CENTER_CHOICES",
    "CenterChoice",
    "CentersSolution",
    "CgSolution",
    "WhitenedSums",
    "choose_centers",
    "conjugate_gradient",
    "given_centers",
]

CenterChoice = Literal["uniform", "leverage", "kmeans"]
CENTER_CHOICES = get_args(CenterChoice)
Floats = NDArray[np.float64]

PILOT = 0.5  # rows of the sample for leverage scores, relative to the number of centres: a quarter of a fit's cost
LEAST_SCORE = 1e-9  # relative to the largest leverage score, so that as many rows as are wanted can be drawn
LEAST_ALPHA = 1e-12  # relative to the trace of the kernel matrix, for leverage scores with alpha = 0
CLUSTERED = 10  # rows of the sample for k-means, relative to the number of centres
ROUNDS = 32  # in which the first centres of k-means are drawn
LLOYD = 5  # iterations of k-means
DISTANCES = 1 << 22  # squared distances that are computed at once


def choose_centers(
    kernel: Kernel,
    rows: Rows,
    n_centers: int,
    how: CenterChoice,
    random: np.random.RandomState,
    alpha: float | Floats,
) -> Centers:
    """Chooses centres among rows, or in between them, and leaves out those that depend on the others.

    Parameters
    ----------
    kernel, rows : the kernel, and n rows.
    n_centers : 1 to n, the number M of centres to choose; fewer are kept if some depend on the others.
    how : "uniform": M different rows, all alike. "leverage": M different rows by approximate ridge leverage scores.
        "kmeans": the means of M clusters, for vectors only.
    random : the random numbers.
    alpha : the ridge for which leverage scores are meant, > 0; of several the geometric mean is taken.

    `places` of the result are the numbers of the chosen rows; those of means are −1.

    Cost: M² kernel values and M³/3 flops; "leverage" adds n M/2 kernel values and n M²/2 flops, "kmeans" about
    60 M² d multiply-adds for d features.

    >>> import numpy as np
    >>> from onkel.kernels import RBF, prepare
    >>> from onkel.solvers.ridge.centers import choose_centers
    >>> kernel, X = RBF(gamma=1.0), np.array([[0.0], [1.0], [50.0], [52.0]])
    >>> centers = choose_centers(kernel, prepare(kernel, X), 2, "kmeans", np.random.RandomState(0), 1.0)
    >>> sorted(centers.rows.dense()[:, 0].tolist())
    [0.5, 51.0]
    """
    n = len(rows)
    if not 1 <= n_centers <= n:
        raise ParameterError(
            f"n_centers must be between 1 and the number of rows, {n}; got {n_centers}. "
            "Choose fewer centres, or solve exactly."
        )
    if how == "kmeans":
        means = Centers.of(kernel, _means(rows, n_centers, random))
        return dataclasses.replace(means, places=np.full(len(means), -1))
    if how not in ("uniform", "leverage"):
        raise ParameterError(f'how must be "uniform", "leverage" or "kmeans"; got {how!r}.')
    p = None if how == "uniform" else leverage_scores(kernel, rows, max(1, int(PILOT * n_centers)), random, alpha)
    if p is not None:
        p = np.maximum(p, LEAST_SCORE * p.max())
        p /= p.sum()
    chosen = np.sort(random.choice(n, n_centers, replace=False, p=p))
    centers = Centers.of(kernel, rows[chosen])
    return dataclasses.replace(centers, places=chosen[centers.places])


def given_centers(kernel: Kernel, rows: Rows, centers: Any) -> tuple[Rows, NDArray[np.int64]]:
    """The centres that a user gives, as rows that share no memory with them, and their row ids.

    Parameters
    ----------
    kernel, rows : the kernel, and the rows of X, whose columns the centres must have.
    centers : in the form of X, with row ids 0, 1, …; with a precomputed kernel, row indices of X, their row ids.
    """
    if isinstance(rows, GramRows):
        places = np.asarray(centers)
        if places.ndim != 1 or places.dtype.kind not in "iu" or not len(places):
            raise KindError(
                "with a precomputed kernel, centers must be row indices of X such as [0, 3]; got "
                f"{places.dtype} of shape {places.shape}."
            )
        if places.min() < 0 or places.max() >= len(rows):
            raise ParameterError(
                f"centers must be row indices of X from 0 to {len(rows) - 1}; got numbers from {places.min()} to "
                f"{places.max()}."
            )
        return rows[places], places.astype(np.int64)
    points = prepare(kernel, centers, name="centers")
    row_ids = np.arange(len(points))
    if isinstance(points, VectorRows) and isinstance(rows, VectorRows) and points.n_features != rows.n_features:
        raise ShapeError(f"centers must have the {rows.n_features} features of X; got {points.n_features}.")
    return points[row_ids], row_ids


def leverage_scores(
    kernel: Kernel, rows: Rows, n_pilot: int, random: np.random.RandomState, alpha: float | Floats
) -> Floats:
    """Approximate ridge leverage scores of all rows, shape (n,), in (0, 1], from a uniform sample of `n_pilot` rows."""
    n = len(rows)
    trace = float(kernel.inner.diagonal(rows).sum())
    ridge = float(np.exp(np.mean(np.log(np.maximum(alpha, LEAST_ALPHA * max(trace, 1e-300))))))
    pilot = rows[np.sort(random.choice(n, n_pilot, replace=False))]
    sums = WhitenedSums(Centers.of(kernel, pilot), 1, fit_intercept=False)
    sums.add(pilot, np.zeros((n_pilot, 1)), np.full(n_pilot, n / n_pilot))
    return np.minimum(sums.variance(rows, ridge) / ridge, 1.0)


# ---------------------------------------------------------------- k-means


def _means(rows: Rows, n_centers: int, random: np.random.RandomState) -> VectorRows:
    """The means of `n_centers` clusters, as dense rows."""
    if not isinstance(rows, VectorRows):
        raise KindError(
            '"kmeans" needs vectors, of which it takes means; got objects or a precomputed kernel. '
            'Choose "uniform" or "leverage".'
        )
    n = len(rows)
    if n > CLUSTERED * n_centers:
        rows = rows[np.sort(random.choice(n, CLUSTERED * n_centers, replace=False))]
    X, sq_norms = rows.matrix, rows.squared_norms()
    C = _spread(X, sq_norms, n_centers, random)
    for _ in range(LLOYD):
        nearest, _ = _nearest(X, sq_norms, C)
        members = sp.csr_array((np.ones(len(nearest)), (nearest, np.arange(len(nearest)))), (n_centers, len(nearest)))
        sizes = np.bincount(nearest, minlength=n_centers)[:, None]
        C = np.where(sizes > 0, _dense(members @ X) / np.maximum(sizes, 1), C)
    return VectorRows(np.ascontiguousarray(C, dtype=rows.dtype))


def _spread(X: Any, sq_norms: Floats, n_centers: int, random: np.random.RandomState) -> Floats:
    """Different rows that are far from each other, by the rule of k-means++, drawn in about `ROUNDS` rounds."""
    chosen = [int(random.randint(X.shape[0]))]
    distances = np.full(X.shape[0], np.inf)
    new = chosen
    while True:
        distances = np.minimum(distances, _nearest(X, sq_norms, _dense(X[new]).astype(np.float64))[1])
        distances[chosen] = 0.0
        wanted = min(n_centers - len(chosen), max(1, n_centers // ROUNDS))
        far = np.flatnonzero(distances > 0)
        if wanted == 0:
            return _dense(X[chosen]).astype(np.float64)
        if len(far) <= wanted:  # all others are duplicates: any will do
            left = np.setdiff1d(np.arange(X.shape[0]), [*chosen, *far])
            new = [*far.tolist(), *left[: wanted - len(far)].tolist()]
        else:
            p = distances[far] / distances[far].sum()
            new = random.choice(far, wanted, replace=False, p=p).tolist()
        chosen = [*chosen, *new]


def _nearest(X: Any, sq_norms: Floats, C: Floats) -> tuple[NDArray[np.int64], Floats]:
    """The nearest of the points C for each row of X, and its squared distance."""
    half = 0.5 * np.einsum("ij,ij->i", C, C)
    nearest, distances = np.empty(X.shape[0], dtype=np.int64), np.empty(X.shape[0])
    step = max(1, DISTANCES // len(C))
    columns = C.T.astype(X.dtype)
    for start in range(0, X.shape[0], step):
        part = slice(start, start + step)
        D = half - np.asarray(X[part] @ columns)  # (‖x − c‖² − ‖x‖²) / 2
        nearest[part] = D.argmin(axis=1)
        distances[part] = D[np.arange(len(D)), nearest[part]]
    return nearest, np.maximum(sq_norms + 2 * distances, 0.0)


def _dense(X: Any) -> NDArray:
    return np.asarray(X.toarray() if sp.issparse(X) else X)
