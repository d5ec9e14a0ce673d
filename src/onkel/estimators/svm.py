"""Support vector machines: scikit-learn's SVC, SVR and OneClassSVM, fast, stoppable, and able to go on.

Each states a dual (`onkel.learners.svm.dual` says which), has it solved, and tells of the solution in the words of
scikit-learn. What differs from LIBSVM, and so from scikit-learn:

- Many pairs move between two looks at all rows, so `n_iter_`, which counts pair steps, is another number.
- The stopping rule is LIBSVM's, a violation of at most tol; the solution is another one within it.
- Rows in float32 stay float32; the violation is within tol in float64 all the same.
- `cache_size` bounds the kernel values that are kept, which are those of one working set.
- There is no `probability`: ``CalibratedClassifierCV(SVC(), ensemble=False)`` gives probabilities.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import partial
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, OutlierMixin, RegressorMixin
from sklearn.utils import compute_class_weight
from sklearn.utils.validation import check_is_fitted

from onkel.checks import check_number
from onkel.errors import InputError, ParameterError
from onkel.estimators.base import left_as_it_was
from onkel.estimators.svm_base import SupportVectorMachine
from onkel.estimators.targets import check_labels
from onkel.kernels import Kernel
from onkel.kernels.rows import Rows
from onkel.learners.svm import dual
from onkel.learners.svm.one_vs_one import PairProblems, WarmStart
from onkel.models.decision import best_class
from onkel.models.expansion import Expansion
from onkel.models.one_vs_one import OneVsOne, all_pairs, by_class, votes

__all__ = ["SVC", "SVR", "OneClassSVM"]


class SVC(ClassifierMixin, SupportVectorMachine):  # type: ignore[misc]
    """The support vector classifier, one output for each pair of classes.

    min ½‖w‖² + Σ Cᵢ max(0, 1 − yᵢ(w·φ(xᵢ) + b)), in its dual: min ½αᵀQα − Σα with Q_ij = yᵢyⱼk(xᵢ, xⱼ),
    0 ≤ αᵢ ≤ Cᵢ and Σyᵢαᵢ = 0. It stops when no pair of variables violates the conditions of the optimum
    by more than tol. Use it as scikit-learn's `SVC`; the module's docstring says what differs.

    Parameters
    ----------
    C : > 0, inf included; the larger, the less may be wrong. A row's is C · weight · class weight.
    kernel : "rbf", "linear", "poly", "sigmoid", "precomputed" and the other names of `onkel.kernels`,
        a function, or a Kernel.
    degree, gamma, coef0 : of a kernel by name; `gamma` "scale", "auto", "median" or a number.
    shrinking : whether rows that stay at a bound are left out of the work for a while.
    tol : the largest violation at the end.
    cache_size : MB of kernel values that are kept, a hard limit.
    class_weight : None, "balanced" or {class: weight}.
    verbose : 1 shows a progress bar with the duality gap.
    max_iter : pair steps of each pair of classes; −1 is no limit.
    decision_function_shape : "ovr", a column for each class, or "ovo", for each pair.
    break_ties : with more than two classes, predict by the decision function instead of the votes.
    random_state : not used; here because scikit-learn's has it.
    time_limit : seconds after which `fit` ends with the best model so far; None is no limit.
    warm_start : `fit` begins at the α of the last one. The first rows of X are taken to be its rows;
        C, weights and classes may be others. The solution is the same, and sooner found.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, classes_, class_weight_,
    fit_status_, n_iter_, shape_fit_ : as in scikit-learn.
    objective_, dual_gap_ : of each pair of classes, the dual objective, and how far it may be from the
        least one.
    model_ : what was learned, as a frozen `Expansion`, or `OneVsOne`.

    Cost: a few kernel values for each row and support vector; memory the data and `cache_size`.

    Source: Boser, Guyon and Vapnik 1992; Fan, Chen and Lin 2005; Wen et al. 2018 (ThunderSVM).

    >>> from onkel import SVC
    >>> clf = SVC(kernel="linear").fit([[-2.0, -1.0], [-1.0, -1.0], [1.0, 1.0], [2.0, 1.0]], [1, 1, 2, 2])
    >>> clf.support_, clf.dual_coef_, clf.predict([[-0.8, -1.0]])
    (array([1, 2]), array([[-0.25,  0.25]]), array([1]))
    """

    def __init__(
        self,
        *,
        C: float = 1.0,
        kernel: Any = "rbf",
        degree: float = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        shrinking: bool = True,
        tol: float = 1e-3,
        cache_size: float = 200,
        class_weight: Any = None,
        verbose: int = 0,
        max_iter: int = -1,
        decision_function_shape: str = "ovr",
        break_ties: bool = False,
        random_state: Any = None,
        time_limit: float | None = None,
        warm_start: bool = False,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.shrinking = shrinking
        self.tol = tol
        self.cache_size = cache_size
        self.class_weight = class_weight
        self.verbose = verbose
        self.max_iter = max_iter
        self.decision_function_shape = decision_function_shape
        self.break_ties = break_ties
        self.random_state = random_state
        self.time_limit = time_limit
        self.warm_start = warm_start

    def _check_params(self) -> None:
        super()._check_params()
        check_number(self.C, "C", self._name, above=0.0, finite=False)
        if self.decision_function_shape not in ("ovr", "ovo"):
            raise ParameterError(
                f"{self._name}: decision_function_shape must be 'ovr' or 'ovo'; got {self.decision_function_shape!r}."
            )

    # ---------------------------------------------------------------- learning

    _high: NDArray[np.float64]  # the bound of each row's α

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Solves the output of each pair of classes.

        On Ctrl-C, and at `time_limit`, the model is the best so far; KeyboardInterrupt then goes on.
        """
        with left_as_it_was(self):
            warm_start = None
            if self.warm_start and hasattr(self, "model_"):
                warm_start = WarmStart(self.classes_, self.model_, self.n_support_, self._high)
            rows, y, weights = self._come_in(X, y, sample_weight, "labels")
            index = self._classes(y, weights)
            kernel = self._resolve(rows)
            high = self._high = _times(self.C, weights * self.class_weight_[index])
            pairs = PairProblems(self.classes_, index, weights, kernel, rows.compact(), self.cache_size * 1e6 / 2)
            tasks = [partial(pairs.task, a, b, high, warm_start) for a, b in pairs]
            solutions, interrupted = self._solve(tasks)
            self._report(solutions, interrupted is not None)
            self._tell(rows, index, pairs, solutions)
        if interrupted is not None:
            raise interrupted
        return self

    def _classes(self, y: NDArray, weights: NDArray[np.float64]) -> NDArray[np.intp]:
        """The class of each row, by number."""
        check_labels(y, self._name)
        classes, index = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise InputError(
                f"{self._name}: The number of classes has to be greater than one; got {len(classes)} class"
            )
        if len(np.unique(index[weights > 0])) < 2:
            raise InputError("Invalid input - all samples with positive weights belong to the same class.")
        self.classes_ = classes
        self.class_weight_ = compute_class_weight(self.class_weight, classes=classes, y=y)
        return index

    def _tell(self, rows: Rows, index: NDArray, pairs: PairProblems, solutions: list[dual.Solution]) -> None:
        k = len(self.classes_)
        coef = pairs.coefficients([s.beta for s in solutions])
        intercept = np.array([s.b for s in solutions])
        if k == 2:  # scikit-learn's sign: positive for the second of two classes
            coef, intercept = 0.0 - coef, 0.0 - intercept
        found = np.flatnonzero(coef.any(axis=0))
        self.support_ = found[np.argsort(index[found], kind="stable")]
        self.n_support_ = np.bincount(index[found], minlength=k)
        self._support = rows[self.support_]
        coef = np.ascontiguousarray(coef[:, self.support_])
        self.dual_coef_ = self._as_given(coef)
        self.intercept_ = intercept
        self.n_iter_ = np.array([s.steps for s in solutions], dtype=np.int32)
        self.objective_ = np.array([s.objective for s in solutions])
        self.dual_gap_ = np.array([s.dual_gap for s in solutions])
        self.model_: Expansion | OneVsOne = (
            Expansion(self.kernel_, self._support, self.support_, coef.T.copy(), self.intercept_)
            if k == 2
            else OneVsOne(self.kernel_, self._support, self.support_, self.n_support_, coef, self.intercept_)
        )

    # ---------------------------------------------------------------- predicting

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Of two classes (n,), positive for classes_[1]; else of each class, or with "ovo" of each pair."""
        scores = self._scores(X)
        if len(self.classes_) > 2 and self.decision_function_shape == "ovr":
            return by_class(scores, len(self.classes_))
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray:
        """The class with the most votes of the pairs; of two classes, classes_[1] where the score is ≥ 0."""
        check_is_fitted(self, "kernel_")
        if self.break_ties and self.decision_function_shape == "ovo":
            raise ParameterError(f"{self._name}: break_ties must be False when decision_function_shape is 'ovo'.")
        k = len(self.classes_)
        if self.break_ties and k > 2:
            chosen = self.decision_function(X).argmax(axis=1)
        else:
            scores = self._scores(X)
            chosen = best_class(scores) if k == 2 else votes(scores > 0, k).argmax(axis=1)
        found: NDArray = self.classes_[chosen]
        return found

    def _scores(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self, "kernel_")
        return self.model_.scores(self._enter_to_predict(X))

    def _primal(self) -> Any:
        if len(self.classes_) == 2:
            return super()._primal()
        ends = np.cumsum(self.n_support_)
        of = [slice(end - count, end) for end, count in zip(ends, self.n_support_, strict=True)]
        V, coef = self.support_vectors_, self.dual_coef_
        parts = [coef[[b - 1]][:, of[a]] @ V[of[a]] + coef[[a]][:, of[b]] @ V[of[b]] for a, b in all_pairs(len(of))]
        return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.vstack(parts)


def _times(C: float, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cᵢ; 0, not NaN, where an infinite C meets a weight of 0."""
    return np.multiply(C, weights, out=np.zeros(len(weights)), where=weights > 0)


class _OneExpansion(SupportVectorMachine):
    """What SVR and OneClassSVM share: one problem, one expansion."""

    model_: Expansion

    @abstractmethod
    def _state(
        self, kernel: Kernel, rows: Rows, y: Any, weights: NDArray[np.float64]
    ) -> tuple[dual.Problem, NDArray[np.float64]]:
        """The problem of rows that all have a weight, and the β to begin with."""

    def _fit_one(self, X: Any, y: Any, sample_weight: Any, targets: Literal["numbers", "none"]) -> Self:
        with left_as_it_was(self):
            rows, y, weights = self._come_in(X, y, sample_weight, targets)
            interrupted = self._solve_and_tell(rows, y, weights)
        if interrupted is not None:
            raise interrupted
        return self

    def _solve_and_tell(self, rows: Rows, y: Any, weights: NDArray[np.float64]) -> KeyboardInterrupt | None:
        present = np.flatnonzero(weights > 0)
        some = rows if len(present) == len(rows) else rows[present]
        y = None if y is None else np.asarray(y, dtype=np.float64)[present]
        problem, start = self._state(self._resolve(rows), some.compact(), y, weights[present])
        (solution,), interrupted = self._solve([lambda: (problem, start)])
        self._report([solution], interrupted is not None)
        coef = np.zeros(len(present))
        np.add.at(coef, problem.row, solution.beta)  # a row of SVR is there twice
        found = np.flatnonzero(coef)
        self.support_ = present[found]
        self._support = rows[self.support_]
        self.n_support_ = np.array([len(found)], dtype=np.int32)
        self.dual_coef_ = self._as_given(coef[None, found])
        self.intercept_ = np.array([solution.b])
        self.n_iter_, self.objective_, self.dual_gap_ = solution.steps, solution.objective, solution.dual_gap
        self.model_ = Expansion(self.kernel_, self._support, self.support_, coef[found][:, None], self.intercept_)
        return interrupted

    def _scores(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self, "kernel_")
        return self.model_.scores(self._enter_to_predict(X))[:, 0]


class SVR(RegressorMixin, _OneExpansion):  # type: ignore[misc]
    """Support vector regression: errors up to ε cost nothing, larger ones their size.

    min ½‖w‖² + Σ Cᵢ max(0, |w·φ(xᵢ) + b − yᵢ| − ε), in its dual. Use it as scikit-learn's `SVR`; the module's
    docstring says what differs.

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol, C, shrinking, cache_size, verbose, max_iter, time_limit : as in `SVC`.
    epsilon : ε ≥ 0.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, coef_, fit_status_, n_iter_, shape_fit_ : as in
        scikit-learn.
    objective_, dual_gap_ : the dual objective, and how far it may be from the least one.
    model_ : what was learned, as a frozen `Expansion`.

    Cost: as `SVC` with each row twice, but each kernel value once.

    Source: Smola and Schölkopf 2004, A tutorial on support vector regression.

    >>> from onkel import SVR
    >>> SVR(kernel="linear", C=10.0, epsilon=0.5).fit([[0.0], [2.0], [4.0]], [0.0, 2.0, 4.0]).predict([[2.0]])
    array([2.])
    """

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: float = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        C: float = 1.0,
        epsilon: float = 0.1,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: int = 0,
        max_iter: int = -1,
        time_limit: float | None = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.C = C
        self.epsilon = epsilon
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.time_limit = time_limit

    def _check_params(self) -> None:
        super()._check_params()
        check_number(self.C, "C", self._name, above=0.0, finite=False)
        check_number(self.epsilon, "epsilon", self._name, at_least=0.0)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Solves the output; on Ctrl-C and at `time_limit` it is the best so far, and KeyboardInterrupt goes on."""
        return self._fit_one(X, y, sample_weight, "numbers")

    def _state(
        self, kernel: Kernel, rows: Rows, y: Any, weights: NDArray[np.float64]
    ) -> tuple[dual.Problem, NDArray[np.float64]]:
        n, high = len(y), self.C * weights
        z = np.concatenate([y - self.epsilon, y + self.epsilon])
        low, top = np.concatenate([np.zeros(n), -high]), np.concatenate([high, np.zeros(n)])
        return dual.Problem(kernel, rows, np.tile(np.arange(n), 2), z, low, top), np.zeros(2 * n)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """f(x) of each row."""
        return self._scores(X)


class OneClassSVM(OutlierMixin, _OneExpansion):  # type: ignore[misc]
    """Finds outliers: a function that is positive on all but about a share ν of the rows, and small elsewhere.

    min ½αᵀKα with 0 ≤ αᵢ ≤ wᵢ and Σα = ν Σw; f(x) = Σαᵢ k(xᵢ, x) − ρ. Use it as scikit-learn's `OneClassSVM`; the
    module's docstring says what differs.

    Parameters
    ----------
    kernel, degree, gamma, coef0, tol, shrinking, cache_size, verbose, max_iter, time_limit : as in `SVC`.
    nu : ν in (0, 1], at most the share of outliers, at least the share of support vectors.

    Attributes
    ----------
    support_, support_vectors_, n_support_, dual_coef_, intercept_, offset_, coef_, fit_status_, n_iter_,
    shape_fit_ : as in scikit-learn.
    objective_, dual_gap_ : the dual objective, and how far it may be from the least one.
    model_ : what was learned, as a frozen `Expansion`.

    Cost: as `SVC`.

    Source: Schölkopf et al. 2001, Estimating the support of a high-dimensional distribution.

    >>> from onkel import OneClassSVM
    >>> OneClassSVM(gamma=1.0, nu=0.5).fit([[0.0], [0.1], [0.2], [3.0]]).predict([[0.1], [9.0]])
    array([ 1, -1])
    """

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        degree: float = 3,
        gamma: float | str = "scale",
        coef0: float = 0.0,
        tol: float = 1e-3,
        nu: float = 0.5,
        shrinking: bool = True,
        cache_size: float = 200,
        verbose: int = 0,
        max_iter: int = -1,
        time_limit: float | None = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.nu = nu
        self.shrinking = shrinking
        self.cache_size = cache_size
        self.verbose = verbose
        self.max_iter = max_iter
        self.time_limit = time_limit

    def _check_params(self) -> None:
        super()._check_params()
        check_number(self.nu, "nu", self._name, above=0.0, at_most=1.0)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Solves the output; on Ctrl-C and at `time_limit` it is the best so far, and KeyboardInterrupt goes on."""
        return self._fit_one(X, None, sample_weight, "none")

    def _state(
        self, kernel: Kernel, rows: Rows, y: Any, weights: NDArray[np.float64]
    ) -> tuple[dual.Problem, NDArray[np.float64]]:
        n, before = len(weights), np.concatenate([[0.0], np.cumsum(weights)[:-1]])
        start = np.clip(self.nu * weights.sum() - before, 0.0, weights)  # the first rows take all of Σα
        return dual.Problem(kernel, rows, np.arange(n), np.zeros(n), np.zeros(n), weights), start

    @property
    def offset_(self) -> NDArray[np.float64]:
        """ρ = −`intercept_`."""
        check_is_fitted(self, "kernel_")
        offset: NDArray[np.float64] = -self.intercept_
        return offset

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """f(x), positive for inliers."""
        return self._scores(X)

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """f(x) + ρ: Σαᵢ k(xᵢ, x)."""
        scores: NDArray[np.float64] = self._scores(X) + self.offset_
        return scores

    def predict(self, X: Any) -> NDArray[np.intp]:
        """+1 for inliers, f(x) > 0, and −1 for outliers."""
        return np.where(self._scores(X) > 0, 1, -1).astype(np.intp)
