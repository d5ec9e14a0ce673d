"""What SVC, SVR and OneClassSVM share: input validation, weights, solving, and the attributes of a solution."""

from __future__ import annotations

import contextlib
import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from itertools import zip_longest
from typing import Any, ClassVar, Literal, Protocol, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from onkel._core import thread_count, threads
from onkel._core.transaction import assign
from onkel.checks import check_integer, check_number, check_sample_weight
from onkel.errors import KindError, ParameterError, ValuesError, warn
from onkel.estimators.base.estimator import Estimator
from onkel.estimators.base.input import all_data, attributes_of, rows_to_predict
from onkel.estimators.base.parameters import bytes_of
from onkel.estimators.base.progress import progress_bar
from onkel.estimators.state.estimator import read_estimator, state_of
from onkel.estimators.svm.state import as_given, read_solution, solution
from onkel.gram import check_symmetric
from onkel.kernels import Kernel, Linear
from onkel.kernels.custom import Custom
from onkel.kernels.rows import GramRows, Rows
from onkel.models.columns import Columns
from onkel.models.decision import Decision
from onkel.models.expansion import Expansion
from onkel.models.model import ScoreModel
from onkel.models.one_vs_one import OneVsOne
from onkel.models.scorer import support_data, support_rows
from onkel.solvers.svm import dual
from onkel.solvers.svm.problem import Limits, Problem, Solution
from onkel.states.state import State

__all__ = ["SupportVectorMachine", "finite_total", "fit_one", "times"]

BAR = 1000  # steps of the progress bar

Task = Callable[[], tuple[Problem, NDArray[np.float64]]]  # makes a problem and the β to start from


Coarse = Callable[[], Iterable[Solution]]  # gives a coarse solution of each problem


class SupportVectorMachine(Estimator):
    """The base of SVC, SVR and OneClassSVM; not for use by itself."""

    tol: float
    cache_size: float
    max_iter: int
    time_limit: float | None
    shrinking: bool
    verbose: int

    KERNEL_DEFAULTS: ClassVar[dict[str, Any]] = {"gamma": "scale", "degree": 3, "coef0": 0.0}

    _scorer: Expansion | OneVsOne  # the solution
    _columns: Columns
    kernel_: Kernel

    def state(self) -> State:
        """Everything the estimator is: its parameters and, if it was fitted, the solution."""
        seen = self._view()
        return state_of(seen, solution(seen) if hasattr(seen, "_scorer") else None)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The estimator of a state."""
        return read_estimator(cls, state, "scorer", read_solution)

    def _check_params(self) -> None:
        super()._check_params()
        who = self._name
        check_number(self.tol, "tol", who, above=0.0)
        check_number(self.cache_size, "cache_size", who, above=0.0)
        check_integer(self.max_iter, "max_iter", who, at_least=-1, advice="-1 is 10⁷ steps or more.")
        if self.time_limit is not None:
            check_number(self.time_limit, "time_limit", who, above=0.0, advice="None is no limit.")

    # ---------------------------------------------------------------- input validation

    def _named_kernel(self, gamma: float = 1.0) -> Kernel:
        kernel = super()._named_kernel(gamma)
        if isinstance(kernel, Custom) and self.__dict__.get("_on_objects"):
            return replace(kernel, takes="objects")
        return kernel

    def _check_fit_data(
        self, X: Any, y: Any, sample_weight: Any, targets: Literal["labels", "numbers", "none"]
    ) -> tuple[Rows, Any, NDArray[np.float64]]:
        """Checked input: rows, targets and weights; a weight of 0 leaves a row out."""
        self._check_params()
        self._on_objects = callable(self.kernel) and not isinstance(self.kernel, Kernel) and _holds_objects(X)
        self._sparse = sp.issparse(X)
        kernel = self._named_kernel()
        if self._sparse and kernel.takes == "gram":
            raise KindError(f"{self._name}: Sparse precomputed kernels are not supported; give a dense matrix.")
        rows, y, columns = all_data(self, kernel, X, y, targets)
        assign(self, _columns=columns, **attributes_of(columns))
        self.shape_fit_ = getattr(X, "shape", (len(rows),))
        return rows, y, self._positive_weights(sample_weight, len(rows))

    def _positive_weights(self, sample_weight: Any, n: int) -> NDArray[np.float64]:
        """The weights, with 0 for those that are not positive: LIBSVM leaves such rows out, too."""
        if sample_weight is None:
            return np.ones(n)
        weights = check_sample_weight(sample_weight, n, self._name)
        if not (weights > 0).any():
            raise ValuesError(
                f"Invalid input - all samples have zero or negative weights. {self._name} needs a positive one."
            )
        positive: NDArray[np.float64] = np.maximum(weights, 0.0)
        return positive

    def _resolve(self, rows: Rows) -> Kernel:
        """Sets `kernel_`, and `gamma_` where gamma is used, from the parameters and the data."""
        assign(self, **self._resolved_kernel(rows))
        if isinstance(rows, GramRows):
            check_symmetric(rows, self._name)
        return self.kernel_

    def _check_to_predict(self, X: Any) -> Rows:
        check_is_fitted(self, "kernel_")
        if sp.issparse(X) and not self._sparse and not isinstance(self.kernel_, Custom):
            raise ParameterError(
                f"cannot use sparse input in {self._name!r} trained on dense data: give X.toarray(), or train on CSR."
            )
        return rows_to_predict(self, self.kernel_, self._columns, X)

    # ---------------------------------------------------------------- solving

    def _solve(
        self, tasks: Sequence[Task], coarse: Coarse | None = None
    ) -> tuple[list[Solution], KeyboardInterrupt | None]:
        """Solves all problems, several in parallel; a problem that is stopped returns the best solution so far.

        `coarse` gives solutions for problems that were stopped too early to have a better one; default: there are none.
        """
        one = len(tasks) == 1
        limits = Limits(None if self.max_iter < 0 else int(self.max_iter), self.time_limit)
        options: dict[str, Any] = {
            "tol": float(self.tol),
            "cache_bytes": bytes_of(self.cache_size) / (1 if one else 2 * min(len(tasks), thread_count())),
            "limits": limits,
            "shrinking": bool(self.shrinking),
        }
        with progress_bar(self._name, BAR if one else len(tasks), int(self.verbose)) as progress:
            if one:
                report = _GapReport(progress, self.tol) if self.verbose else None
                solution = dual.solve(*tasks[0](), **options, report=report)
                return [solution], solution.interrupted
            # a user's function is called from one thread only
            workers = 1 if isinstance(self.kernel_, Custom) else thread_count()
            at_least = list(coarse()) if coarse is not None and self.time_limit is not None else []
            found, interrupted = _solve_many(tasks, workers, options, limits, progress)
        if interrupted is not None and coarse is not None and not at_least:
            with contextlib.suppress(KeyboardInterrupt):  # of a user who cannot wait
                at_least = list(coarse())
        best = [_better(one, other) for one, other in zip_longest(found, at_least)]
        solutions = [one for one in best if one is not None]
        if len(solutions) < len(tasks):
            assert interrupted is not None
            raise interrupted
        return solutions, interrupted

    def _report(self, solutions: Sequence[Solution], interrupted: bool) -> None:
        """Refuses solutions that are not finite, sets `fit_status_`, and warns if a limit was met."""
        if not all(np.isfinite(s.beta).all() and math.isfinite(s.b + s.objective) for s in solutions):
            raise ValuesError(
                "The dual coefficients or intercepts are not finite. The input data may contain large values and need "
                "to be preprocessed."
            )
        self.fit_status_ = int(not all(s.converged for s in solutions))
        if self.fit_status_ == 0 or interrupted:
            return
        gap = max(s.dual_gap for s in solutions)
        ways = {s.ended for s in solutions}
        limit = f"time_limit={self.time_limit}"
        if "rounding" in ways:
            limit = f"tol={self.tol:g}: rounding errors keep the violation above it; use a larger tol or a smaller C"
        elif "steps" in ways:
            limit = f"max_iter={self.max_iter}"
            if self.max_iter < 0:
                most = max(s.steps for s in solutions)
                limit += f", which allows no more than {most} steps: C is too large for classes that overlap"
        warn(
            f"Solver terminated early ({limit}).  Consider pre-processing your data with StandardScaler or "
            f"MinMaxScaler. dual_gap_ says how far the objective may be from the optimum: {gap:.3g} at most."
            + (" To go on from here, fit again with warm_start=True." if hasattr(self, "warm_start") else ""),
            ConvergenceWarning,
        )

    # ---------------------------------------------------------------- the solution

    def _first_scores(self, X: Any) -> NDArray[np.float64]:
        """The scores of the first output for the rows of X, shape (n,)."""
        seen = self._view()
        rows = seen._check_to_predict(X)
        return seen._scorer.scores(rows)[:, 0]

    @abstractmethod
    def _decision(self) -> Decision:
        """How scores become predictions, with the present parameters."""

    @property
    def model_(self) -> ScoreModel:
        """What has been learned, as a frozen model that predicts by itself what `predict` predicts."""
        seen = self._view()
        check_is_fitted(seen, "kernel_")
        return ScoreModel(seen._scorer, seen._decision(), seen._columns)

    @property
    def support_vectors_(self) -> Any:
        """The support vectors, in the order of `support_`; read-only."""
        check_is_fitted(self, "kernel_")
        return support_data(self._scorer.support)

    @property
    def coef_(self) -> Any:
        """The weights of the features, shape (outputs, features); with a linear kernel only; read-only."""
        seen = self._view()
        check_is_fitted(seen, "kernel_")
        if not isinstance(seen.kernel_, Linear):
            raise AttributeError("coef_ is only available when using a linear kernel")
        coef = seen._primal()
        (coef.data if sp.issparse(coef) else coef).flags.writeable = False
        return coef

    def _primal(self) -> Any:
        """w = Σ αᵢ yᵢ xᵢ."""
        return self.dual_coef_ @ self.support_vectors_


class OneProblem(Protocol):
    """What `fit_one` needs of SVR and OneClassSVM: an estimator whose solution is a single expansion."""

    def _problem(
        self, kernel: Kernel, rows: Rows, y: Any, weights: NDArray[np.float64]
    ) -> tuple[Problem, NDArray[np.float64]]:
        """The dual problem of rows with positive weights, and the β to start from."""


def fit_one(svm: Any, X: Any, y: Any, sample_weight: Any, targets: Literal["numbers", "none"]) -> None:
    """Fits an estimator with one problem (a `SupportVectorMachine` that is a `OneProblem`)."""
    new = svm._anew()
    rows, y, weights = new._check_fit_data(X, y, sample_weight, targets)
    present = np.flatnonzero(weights > 0)
    present_rows = rows if len(present) == len(rows) else rows[present]
    y = None if y is None else np.asarray(y, dtype=np.float64)[present]
    problem, start = new._problem(new._resolve(rows), present_rows.compact(), y, weights[present])
    (solution,), interrupted = new._solve([lambda: (problem, start)])
    new._report([solution], interrupted is not None)
    coef = np.zeros(len(present))
    np.add.at(coef, problem.row, solution.beta)  # SVR has two variables for each row
    found = np.flatnonzero(coef)
    new.support_ = present[found]
    new.n_support_ = np.array([len(found)], dtype=np.int32)
    new.dual_coef_ = as_given(coef[None, found], new.kernel_, sparse=new._sparse)
    new.intercept_ = np.array([solution.b])
    new.n_iter_, new.objective_, new.dual_gap_ = solution.steps, solution.objective, solution.dual_gap
    support, intercept = support_rows(rows, new.support_), new.intercept_.copy()
    new._scorer = Expansion(new.kernel_, support, new.support_.copy(), coef[found][:, None], intercept)
    svm._become(new)
    if interrupted is not None:
        raise interrupted


def times(C: float, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """C times the weights; 0, not NaN, if C is infinite and the weight is 0."""
    with np.errstate(over="ignore"):  # the product may be infinite, too
        return np.multiply(C, weights, out=np.zeros(len(weights)), where=weights > 0)


def finite_total(weights: NDArray[np.float64], dtype: np.dtype, who: str) -> float:
    """The sum of the weights, if its square does not overflow in the dtype of the rows."""
    with np.errstate(over="ignore"):
        total, most = float(weights.sum()), math.sqrt(float(np.finfo(dtype).max) / len(weights))
    if not total < most:
        raise ValuesError(
            f"{who}: the sum of sample_weight must be below {most:.3g} for {len(weights)} rows in {dtype}, where the "
            f"objective does not overflow; got {total:.3g}. Only the ratios of the weights matter to predict: divide "
            "them by their largest."
        )
    return total


class _GapReport:
    """Progress of one problem: the duality gap in words, the violation on a logarithmic scale down to tol."""

    def __init__(self, progress: Any, tol: float) -> None:
        self._progress, self._tol, self._first = progress, tol, 0.0

    def __call__(self, violation: float, gap: float) -> None:
        self._first = max(self._first, violation, 2 * self._tol)
        left = math.log(max(violation, self._tol) / self._tol) / math.log(self._first / self._tol)
        self._progress(int(BAR * (1 - left)), f"duality gap {gap:.3g}")


def _solve_many(
    tasks: Sequence[Task], workers: int, options: dict[str, Any], limits: Limits, progress: Any
) -> tuple[list[Solution | None], KeyboardInterrupt | None]:
    """Solves the problems in parallel, each in one thread; with one worker, one after the other in this thread.

    After a Ctrl-C all end soon, with their best so far; a problem that has none yet is None.
    """
    interrupted: KeyboardInterrupt | None = None
    done, gap = 0, 0.0

    def tell(solution: Solution) -> None:
        nonlocal done, gap
        done, gap = done + 1, gap + solution.dual_gap
        progress(done, f"duality gap {gap:.3g} in {done} of {len(tasks)} pairs of classes")

    if workers == 1:
        found: list[Solution | None] = []
        for task in tasks:
            solution = None
            try:
                solution = dual.solve(*task(), **options)
                tell(solution)
                interrupted = solution.interrupted or interrupted
            except KeyboardInterrupt as stop:
                interrupted = stop
            found.append(solution)
            if interrupted is not None:
                limits.stop_requested.set()
        return found, interrupted

    def solved(task: Task) -> Solution:
        with threads(1):
            return dual.solve(*task(), **options)

    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(solved, task) for task in tasks]
        try:
            for future in as_completed(futures):
                tell(future.result())
        except BaseException as stop:
            limits.stop_requested.set()
            if not isinstance(stop, KeyboardInterrupt):
                raise
            interrupted = stop
    return [future.result() for future in futures], interrupted


def _better(one: Solution | None, coarse: Solution | None) -> Solution | None:
    """The coarse solution of a problem if there is one, and if the other was stopped before it was as good."""
    if coarse is None or (one is not None and (one.ended != "stopped" or one.objective <= coarse.objective)):
        return one
    return coarse


def _holds_objects(X: Any) -> bool:
    """Whether X is a sequence of objects that are not rows of numbers, such as strings."""
    if hasattr(X, "dtype") or hasattr(X, "columns"):
        return getattr(X, "ndim", 2) == 1
    return len(X) > 0 and (isinstance(X[0], (str, bytes, set, frozenset, dict)) or not hasattr(X[0], "__len__"))
