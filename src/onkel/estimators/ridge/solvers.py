"""Which solver of kernel ridge regression to take, whether its memory is there, and what it finds.

cholesky   exact: one n × n matrix, n³/3 multiply-adds for each alpha
eigen      exact: 3 n × n matrices, about 9 n³ multiply-adds for any number of alphas; K may be indefinite
nystrom    f is spanned by m centres; one pass over the data, m² numbers
cg         the same f; several passes, for very many centres
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from onkel.checks import check_integer, check_number, check_one_of
from onkel.errors import GramError, ParameterError, ValuesError, shown, signed, warn
from onkel.estimators.base.progress import progress_bar
from onkel.kernels import Kernel
from onkel.kernels.centers import Centers
from onkel.kernels.rows import GramRows, Rows
from onkel.kernels.vectors import VectorRows
from onkel.models.scorer import support_rows
from onkel.solvers.ridge import available_memory
from onkel.solvers.ridge.centers import CENTER_CHOICES, WhitenedSums, choose_centers, conjugate_gradient, given_centers
from onkel.solvers.ridge.exact import EigenPath, RidgeProblem, RidgeSolution, solve_by_cholesky
from onkel.solvers.ridge.posterior import RidgePosterior

__all__ = [
    "CHOSEN",
    "Fitted",
    "Settings",
    "Task",
    "check_solver",
    "figures_of",
    "find_centers",
    "fit_sums",
    "refuse_too_large",
    "solve",
    "support_of",
    "target_sizes",
]

Floats = NDArray[np.float64]
CHOSEN = ("cholesky", "eigen", "nystrom", "cg")
SOLVERS = ("auto", *CHOSEN)  # "auto" chooses one of the others
EXACT_ROWS = 20_000  # above, "auto" takes centres: n³/3 multiply-adds take minutes
MANY_ALPHAS = 20  # from which one eigendecomposition is faster than a factorization for each
DEFAULT_CENTERS = 1000
MATRICES = {"cholesky": 1, "eigen": 3}  # n × n matrices of float64
USABLE = 0.9  # of the memory that is available
# The expected rounding error of the scores of float32 rows, relative to y, from which a model has its rows in float64.
SINGLE_SCORES = 2e-4


class Settings(Protocol):
    """The parameters of an estimator that say how to solve."""

    solver: str
    n_centers: int | None
    centers: Any
    center_choice: str
    fit_intercept: bool
    max_iter: int
    tol: float
    verbose: int
    random_state: Any


class Task(NamedTuple):
    """What is to be solved, and for whom: the name of an estimator, for messages."""

    who: str
    kernel: Kernel
    rows: Rows
    Y: Floats  # (n, targets)
    weights: Floats  # (n,), at least one of them positive
    alpha: Floats  # (targets,)
    keep_factor: bool = False  # whether the factor of an exact solution is kept, for the variance


class Fitted(NamedTuple):
    """A solution: f = Σ coefⱼ k(supportⱼ, ·) + intercept, and the attributes that tell about it."""

    support: Rows
    places: NDArray[np.int64]
    coef: Floats  # (m, targets)
    intercept: Floats  # (targets,)
    asked: Floats  # (targets,), alpha
    alpha: Floats  # (targets,), with what had to be added
    figures: dict[str, Any]
    posterior: RidgePosterior | None = None
    sums: WhitenedSums | None = None
    gcv: Floats | None = None  # (targets,), generalized cross-validation
    interrupted: bool = False


def check_solver(settings: Settings, who: str) -> None:
    """Refuses parameters of the solvers that cannot be used."""
    check_one_of(settings.solver, "solver", SOLVERS, who)
    check_one_of(settings.center_choice, "center_choice", CENTER_CHOICES, who)
    if settings.n_centers is not None:
        check_integer(settings.n_centers, "n_centers", who, at_least=1)
        if settings.centers is not None:
            raise ParameterError(f"{who}: give n_centers, to choose so many centres, or centers themselves; not both.")
    given = "n_centers" if settings.n_centers is not None else "centers"
    if settings.solver in MATRICES and getattr(settings, given) is not None:
        raise ParameterError(
            f"{who}: {given} must be None with solver={settings.solver!r}, which is exact and has no centres; got "
            f"{shown(getattr(settings, given))}. Use solver='nystrom' or 'auto', or leave {given} out."
        )
    check_integer(settings.max_iter, "max_iter", who, at_least=1)
    check_number(settings.tol, "tol", who, above=0.0)


# ---------------------------------------------------------------- the choice


def _choose(settings: Settings, task: Task) -> tuple[str, str]:
    """The solver, and why."""
    kernel, n, n_alphas = task.kernel, len(task.rows), len(np.unique(task.alpha))
    if settings.solver != "auto":
        return settings.solver, "it was asked for"
    if settings.centers is not None or settings.n_centers is not None:
        return "nystrom", "centres were asked for"
    if n > EXACT_ROWS:
        return "nystrom", f"{n} rows are more than the {EXACT_ROWS} that are solved exactly unless asked for"
    indefinite = kernel.is_psd is False
    exact = "eigen" if (n_alphas >= MANY_ALPHAS or indefinite) and not task.keep_factor else "cholesky"
    free = available_memory.available_bytes()
    if free is not None and MATRICES[exact] * 8 * n * n > USABLE * free:
        return "nystrom", f"the {n} × {n} matrix of an exact solution does not fit into {_size(free)} of memory"
    if exact == "eigen":
        what = f"{kernel!r} is not positive semi-definite" if indefinite else f"there are {n_alphas} alphas"
        return "eigen", f"{what}, and {n} rows fit into memory"
    return "cholesky", f"{n} rows are at most {EXACT_ROWS}, and their matrix fits into memory"


def refuse_too_large(n: int, solver: str, who: str) -> None:
    """Raises ParameterError if the matrices of an exact solver do not fit into the memory that is available."""
    free, needed = available_memory.available_bytes(), MATRICES[solver] * 8 * n * n
    if free is not None and needed > USABLE * free:
        raise ParameterError(
            f"{who}: an exact solution ({solver!r}) of {n} rows needs {_size(needed)} for {_matrices(solver)} of "
            f"{n} × {n}; {_size(free)} are available. Use KernelRidge(solver='nystrom', n_centers=1000), or fewer rows."
        )


def _matrices(solver: str) -> str:
    return "one matrix" if MATRICES[solver] == 1 else f"{MATRICES[solver]} matrices"


def _size(count: float) -> str:
    return f"{count / 2**30:.1f} GB" if count >= 2**30 else f"{count / 2**20:.0f} MB"


# ---------------------------------------------------------------- solving


def solve(settings: Settings, task: Task) -> Fitted:
    """Solves by the solver of the settings."""
    with signed(task.who):
        return _solve(settings, task)


def _solve(settings: Settings, task: Task) -> Fitted:
    who, kernel, rows, Y, weights, alpha, keep_factor = task
    solver, reason = _choose(settings, task)
    if keep_factor and (solver != "cholesky" or len(np.unique(alpha)) > 1):
        raise ParameterError(
            f"{who}: keep_factor needs solver='cholesky' and one alpha for all targets; got solver={solver!r} and "
            f"{len(np.unique(alpha))} alpha(s). Without it, solver='nystrom' has return_std, too."
        )
    if solver in MATRICES:
        refuse_too_large(len(rows), solver, who)
        return _exactly(settings, task, solver, reason)
    centers = find_centers(settings, who, kernel, rows, weights, alpha)
    if solver == "cg":
        return _by_gradients(settings, task, centers, reason)
    sums = WhitenedSums(centers, Y.shape[1], fit_intercept=bool(settings.fit_intercept))
    with progress_bar(who, len(rows), int(settings.verbose)) as progress:
        progress(0, f"nystrom, since {reason}")
        sums.add(rows, Y, weights, lambda done: progress(done, f"{len(centers)} centres"))
    return fit_sums(sums, alpha, reason)


def _exactly(settings: Settings, task: Task, solver: str, reason: str) -> Fitted:
    """An exact solution; rows of weight 0 have the coefficient 0."""
    who, kernel, rows, Y, weights, alpha, keep_factor = task
    present = np.flatnonzero(weights > 0)
    used = rows if len(present) == len(rows) else rows[present]
    problem = RidgeProblem(kernel, used, Y[present], np.sqrt(weights[present]), bool(settings.fit_intercept))
    with progress_bar(who, 1, int(settings.verbose)) as progress:
        progress(0, f"{solver}, since {reason}")
        solution: RidgeSolution
        if solver == "cholesky":
            try:
                solution = solve_by_cholesky(problem, alpha, keep_factor=keep_factor)
            except GramError:
                if settings.solver != "auto" or keep_factor:
                    raise
                solver, reason = "eigen", "the matrix is not positive semi-definite"
                refuse_too_large(len(rows), solver, who)
        if solver == "eigen":
            solution = EigenPath(problem).solve(alpha)
        progress(1, f"relative residual {solution.residual:.2g}")
    coef = np.zeros((len(rows), Y.shape[1]))
    coef[present] = solution.coef
    posterior = None
    if solution.factor is not None:
        kept = support_rows(used, np.arange(len(used)))
        posterior = RidgePosterior.of(kernel, kept, solution.factor, fit_intercept=problem.fit_intercept)
    figures = figures_of(solver, reason, len(rows), solution.rcond, solution.residual)
    figures["n_iter_"] = 1 + solution.n_iter
    places = np.arange(len(rows))
    support = support_of(kernel, rows, places, coef, target_sizes(Y, weights))
    return Fitted(support, places, coef, solution.intercept, alpha, solution.alpha, figures, posterior)


def figures_of(solver: str, reason: str, m: int, rcond: float, residual: float) -> dict[str, Any]:
    """The attributes that tell about a solution, but for jitter_."""
    return {
        "solver_": solver,
        "solver_reason_": reason,
        "n_centers_": m,
        "rcond_": rcond,
        "residual_": residual,
        "n_iter_": 1,
    }


def target_sizes(Y: Floats, weights: Floats) -> Floats:
    """The weighted mean of |y| of each target, shape (targets,)."""
    return np.asarray(weights @ np.abs(Y) / weights.sum())


def support_of(kernel: Kernel, rows: Rows, chosen: NDArray[np.intp], coef: Floats, sizes: Floats) -> Rows:
    """A copy of some rows, for a model with these coefficients that predicts targets of these sizes.

    Float32 rows become float64 if the coefficients are so large, and cancel so much, that the rounding errors of
    float32 kernel values, about 2⁻²⁴ √(Σⱼ cⱼ² k(sⱼ, sⱼ) k(x, x)), would be seen in the predictions.
    """
    support = support_rows(rows, chosen)
    if support.dtype != np.float32:
        return support
    lengths = np.sqrt(np.maximum(kernel.inner.diagonal(support), 0.0))
    errors = 2.0**-24 * lengths.max(initial=0.0) * np.linalg.norm(lengths[:, None] * coef, axis=0)
    return support.wide() if (errors > SINGLE_SCORES * sizes).any() else support


# ---------------------------------------------------------------- centres


def find_centers(settings: Settings, who: str, kernel: Kernel, rows: Rows, weights: Floats, alpha: Floats) -> Centers:
    """The centres that were given, or chosen among the rows that have a weight."""
    if settings.centers is None:
        found = _chosen(settings, who, kernel, rows, weights, alpha)
    else:
        given, row_ids = given_centers(kernel, rows, settings.centers)
        found = Centers.of(kernel, given.astype(rows.dtype) if isinstance(given, VectorRows) else given)
        found = dataclasses.replace(found, places=row_ids[found.places])
    _refuse_indefinite(kernel, found, rows, who)
    return found


def _refuse_indefinite(kernel: Kernel, centers: Centers, rows: Rows, who: str) -> None:
    """Raises GramError if some ‖k(x, ·)‖² is less than that of its projection on the centres."""
    if kernel.is_psd is True or (isinstance(rows, GramRows) and rows.diagonal is None):
        return
    some = rows[np.linspace(0, len(rows) - 1, min(len(rows), 1000)).astype(np.int64)]
    phi, lengths = centers.features(some), kernel.inner.diagonal(some)
    if kernel.is_psd is False or (lengths - (phi * phi).sum(axis=1)).min() < -1e-6 * lengths.max():
        raise GramError(
            f"{who}: on centres the kernel must be positive semi-definite; {kernel!r} is not. Use solver='eigen', "
            "which takes any symmetric matrix, or another kernel."
        )


def _chosen(settings: Settings, who: str, kernel: Kernel, rows: Rows, weights: Floats, alpha: Floats) -> Centers:
    """Centres chosen among the rows that have a weight."""
    among = np.flatnonzero(weights)
    wanted = min(DEFAULT_CENTERS, len(among)) if settings.n_centers is None else int(settings.n_centers)
    if wanted > len(among):
        what = "the number of rows" if len(among) == len(rows) else "the number of rows with a weight"
        raise ParameterError(
            f"{who}: n_centers must be at most {what}, {len(among)}; got {wanted}. Use fewer, or "
            "solver='cholesky', for which every row is a centre."
        )
    random = check_random_state(settings.random_state)
    part = rows if len(among) == len(rows) else rows[among]
    found = choose_centers(kernel, part, wanted, settings.center_choice, random, alpha)  # type: ignore[arg-type]
    return dataclasses.replace(found, places=np.where(found.places < 0, found.places, among[found.places]))


def refuse_infinite(values: Any, solver: str) -> None:
    """Raises ValuesError for a solution that is not finite."""
    if not np.isfinite(values).all():
        raise ValuesError(
            f"the solution by solver={solver!r} must be finite; it overflowed. Scale y, X or the sample weights."
        )


def fit_sums(sums: WhitenedSums, alpha: Floats, reason: str) -> Fitted:
    """The solution for alpha from the sums of one pass."""
    found, centers = sums.solve(alpha), sums.centers
    refuse_infinite(found.coef, "nystrom")
    figures = figures_of("nystrom", reason, len(centers), float("nan"), found.residual)
    coef = np.ascontiguousarray(found.coef)
    support = support_of(centers.kernel, centers.rows, np.arange(len(centers)), coef, sums.target_sizes)
    return Fitted(support, centers.places, coef, found.intercept, alpha, found.alpha, figures, None, sums, found.gcv)


def _by_gradients(settings: Settings, task: Task, centers: Centers, reason: str) -> Fitted:
    """A solution by conjugate gradients; after Ctrl-C, the one so far."""
    who, _, rows, Y, weights, alpha, _ = task
    scale = np.abs(Y).max(axis=0)
    scale[scale == 0] = 1.0
    with progress_bar(who, int(settings.max_iter), int(settings.verbose)) as progress:
        options: dict[str, Any] = {"fit_intercept": bool(settings.fit_intercept), "tol": float(settings.tol)}
        options |= {"max_iter": int(settings.max_iter)}
        options["report"] = lambda done, left: progress(done, f"relative residual {left:.2g}")
        found = conjugate_gradient(rows, Y / scale, weights, centers, alpha, **options)
    started = found.n_iter > 0 or found.interrupted or not Y.any()
    refuse_infinite(found.residual if started else np.inf, "cg")
    if not found.converged and not found.interrupted:
        warn(
            f"{who}: stopped after max_iter={settings.max_iter} iterations at the relative residual "
            f"{found.residual:.2g}, above tol={settings.tol:g}. Use a larger max_iter or alpha, or other centres.",
            ConvergenceWarning,
        )
    figures = figures_of("cg", reason, len(centers), float("nan"), found.residual) | {"n_iter_": found.n_iter}
    coef, intercept = np.ascontiguousarray(found.coef * scale), found.intercept * scale
    support = support_of(centers.kernel, centers.rows, np.arange(len(centers)), coef, target_sizes(Y, weights))
    return Fitted(support, centers.places, coef, intercept, alpha, alpha, figures, interrupted=found.interrupted)
