"""Support vector machines: SVC, SVR and OneClassSVM with scikit-learn's interface; they can be stopped and continued.

Each class states its dual problem in the form of `onkel.solvers.svm.dual`, has it solved there, and presents the
solution under scikit-learn's names. The class docstrings say what differs from LIBSVM, and so from scikit-learn.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, OutlierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from onkel.checks import check_number
from onkel.errors import InputError, ParameterError
from onkel.estimators.base.class_weight import check_class_weight, weights_by_class
from onkel.estimators.base.labels import check_labels
from onkel.estimators.base.parameters import bytes_of
from onkel.estimators.base.shared_docs import shared_docs
from onkel.estimators.svm.base import SupportVectorMachine, finite_total, fit_one, times
from onkel.estimators.svm.state import as_given
from onkel.kernels import Kernel
from onkel.kernels.rows import Rows
from onkel.models.decision import Classes, Number, Outlier
from onkel.models.expansion import Expansion
from onkel.models.one_vs_one import OneVsOne, all_pairs
from onkel.models.scorer import support_rows
from onkel.solvers.svm.one_vs_one import PairProblems, WarmStart
from onkel.solvers.svm.problem import Problem, Solution

__all__ = ["SVC", "SVR", "OneClassSVM"]


@shared_docs
class SVC(ClassifierMixin, SupportVectorMachine):  # type: ignore[misc]
    """The support vector classifier, with one binary classifier for each pair of classes (one-vs-one).

    min ½‖w‖² + Σ Cᵢ max(0, 1 − yᵢ (w·φ(xᵢ) + b)), solved through its dual: min ½αᵀQα − Σα with Q_ij = yᵢyⱼk(xᵢ, xⱼ), 0
    ≤ αᵢ ≤ Cᵢ and Σyᵢαᵢ = 0. Stops when no pair of variables violates the conditions of the optimum by more than `tol`.

    <SVM and LIBSVM>
    There is no `probability`: ``CalibratedClassifierCV(SVC(), ensemble=False)`` gives probabilities.
    SVC has no `partial_fit`; see `OnlineSVC`.

    Parameters
    ----------
    C : > 0, default 1, the cost of an error; inf allows none. Cᵢ is C times the sample weight times the class weight.
    <kernel, degree, gamma, coef0 (SVM), shrinking, tol, cache_size>
    class_weight : None (default): every class has weight 1. A dict {class: weight}, with weights ≥ 0 and 1 for a class
        that is missing; a key that is no class of y is an error. Or "balanced", n / (classes · examples of the class).
    <verbose (SVM), max_iter (SVM)>
    decision_function_shape : with more than two classes, `decision_function` has a column for each class ("ovr",
        default) or for each pair of classes ("ovo").
    break_ties : with more than two classes, `predict` takes the class with the most votes and, of several, the first
        (False, default), or the one with the largest value of the decision function (True; needs "ovr").
    random_state : ignored; present because scikit-learn's SVC has it.
    <time_limit>
        A pair of classes that was not solved by then has a coarse solution, on an eighth of its rows or fewer; and so
        it is after Ctrl-C.
    warm_start : False (default): `fit` starts at α = 0. True: it starts at the α of the last fit, whose rows must be
        the first rows of X; C, weights and classes may change. The solution is the same, but found sooner.

    Attributes
    ----------
    classes_, class_weight_ : shape (classes,), the labels, sorted, and the weight of each class.
    support_ : shape (m,), the row indices in X of the m support vectors, grouped by class in the order of `classes_`.
    <support_vectors_>
    n_support_ : shape (classes,), the number of support vectors of each class.
    dual_coef_ : shape (classes − 1, m), the coefficients yα; CSR if X was. With more than two classes, row j holds the
        coefficients of a support vector in the pair of its own class with the j-th of the other classes.
    intercept_ : shape (pairs,), b of each pair of classes, in the order (0, 1), (0, 2), …, (1, 2), ….
    coef_ : shape (pairs, features), the weights of the features; with a linear kernel only; read-only.
    <fit_status_>
    n_iter_ : shape (pairs,), the number of pair steps of the solver (one step changes two α).
    <shape_fit_>
    objective_, dual_gap_ : shape (pairs,), the value of the dual objective, and by how much it may exceed its minimum.
    model_ : what has been learned, as a frozen model that predicts by itself: ``model_.predict(X)``,
        ``predict_one(x)``, ``scores(X)``, the columns of `decision_function`, and ``explain(x, output)``, the terms of
        the score of two classes or, with more classes, of a pair of them.
    <kernel_, gamma_, n_features_in_, feature_names_in_>

    Cost: a few kernel values for each row and support vector; memory is the data and `cache_size`.

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

    _high: NDArray[np.float64]  # (n,): the upper bound of each row's α

    @shared_docs
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Solves the problem of each pair of classes.

        <X, y (labels), sample_weight (C), returns, stopped (SVM)>
        """
        new, warm_start = self._anew(), None
        if self.warm_start and hasattr(self, "_scorer"):
            warm_start = WarmStart(self.classes_, self._scorer, self.n_support_, self._high)
        interrupted = new._fit(X, y, sample_weight, warm_start)
        self._become(new)
        if interrupted is not None:
            raise interrupted
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, warm_start: WarmStart | None) -> KeyboardInterrupt | None:
        """Fits, and sets the fitted attributes; returns the Ctrl-C that ended it, if any."""
        rows, y, weights = self._check_fit_data(X, y, sample_weight, "labels")
        index = self._classes(y, weights)
        kernel = self._resolve(rows)
        high = self._high = times(self.C, weights * self.class_weight_[index])
        pairs = PairProblems(self.classes_, index, weights, kernel, rows.compact(), bytes_of(self.cache_size) / 2)
        tasks = [partial(pairs.problem, a, b, high, warm_start) for a, b in pairs]
        coarse = None if warm_start is not None else partial(pairs.solve_coarsely, high, float(self.tol))
        solutions, interrupted = self._solve(tasks, coarse)
        self._report(solutions, interrupted is not None)
        self._set_solutions(rows, index, pairs, solutions)
        return interrupted

    def _classes(self, y: NDArray, weights: NDArray[np.float64]) -> NDArray[np.intp]:
        """Sets `classes_` and `class_weight_`; returns the index of each row's class, shape (n,)."""
        check_labels(y, self._name)
        classes, index = np.unique(y, return_inverse=True)
        if len(classes) < 2:
            raise InputError(
                f"{self._name}: The number of classes has to be greater than one; got {len(classes)} class"
            )
        if len(np.unique(index[weights > 0])) < 2:
            raise InputError("Invalid input - all samples with positive weights belong to the same class.")
        self.classes_ = classes
        check_class_weight(self.class_weight, classes, self._name)
        self.class_weight_ = weights_by_class(self.class_weight, classes, y)
        return index

    def _set_solutions(self, rows: Rows, index: NDArray, pairs: PairProblems, solutions: list[Solution]) -> None:
        """Sets the fitted attributes from the solutions of all pairs."""
        k = len(self.classes_)
        coef = pairs.coefficients([s.beta for s in solutions])
        intercept = np.array([s.b for s in solutions])
        if k == 2:  # scikit-learn's sign: positive for the second of two classes
            coef, intercept = 0.0 - coef, 0.0 - intercept
        found = np.flatnonzero(coef.any(axis=0))
        self.support_ = found[np.argsort(index[found], kind="stable")]
        self.n_support_ = np.bincount(index[found], minlength=k)
        coef = np.ascontiguousarray(coef[:, self.support_])
        self.dual_coef_ = as_given(coef, self.kernel_, sparse=self._sparse)
        self.intercept_ = intercept
        self.n_iter_ = np.array([s.steps for s in solutions], dtype=np.int32)
        self.objective_ = np.array([s.objective for s in solutions])
        self.dual_gap_ = np.array([s.dual_gap for s in solutions])
        support, found, b = support_rows(rows, self.support_), self.support_.copy(), intercept.copy()
        self._scorer = (
            Expansion(self.kernel_, support, found, coef.T.copy(), b)
            if k == 2
            else OneVsOne(self.kernel_, support, found, self.n_support_.copy(), coef.copy(), b)
        )

    # ---------------------------------------------------------------- predicting

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The scores of the rows of X.

        With two classes shape (n,), positive for classes_[1]. With more, shape (n, classes): the votes of the pairs for
        each class, ties broken by the pairs' scores. With decision_function_shape="ovo", shape (n, pairs): positive
        for the first class of the pair.
        """
        seen = self._view()
        scores = seen.model_.scores(seen._check_to_predict(X))
        return scores[:, 0] if len(seen.classes_) == 2 else scores

    def predict(self, X: Any) -> NDArray:
        """The label of each row of X, shape (n,): the class with the most votes of the pairs, of several the first.

        With two classes, classes_[1] if the score is ≥ 0. With `break_ties`, the largest value of the decision
        function.
        """
        seen = self._view()
        check_is_fitted(seen, "kernel_")
        if seen.break_ties and seen.decision_function_shape == "ovo":
            raise ParameterError(f"{self._name}: break_ties must be False when decision_function_shape is 'ovo'.")
        return seen.model_.predict(seen._check_to_predict(X))

    def _decision(self) -> Classes:
        labels = self.classes_.copy()
        if len(labels) == 2:
            return Classes(labels)
        pairs: Literal["ovr", "ovo"] = "ovr" if self.decision_function_shape == "ovr" else "ovo"
        return Classes(labels, None, pairs, bool(self.break_ties))

    def _primal(self) -> Any:
        if len(self.classes_) == 2:
            return super()._primal()
        ends = np.cumsum(self.n_support_)
        own = [slice(end - count, end) for end, count in zip(ends, self.n_support_, strict=True)]  # of each class
        V, coef = self.support_vectors_, self.dual_coef_
        parts = [
            coef[[b - 1]][:, own[a]] @ V[own[a]] + coef[[a]][:, own[b]] @ V[own[b]] for a, b in all_pairs(len(own))
        ]
        return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.vstack(parts)


@shared_docs
class SVR(RegressorMixin, SupportVectorMachine):  # type: ignore[misc]
    """Support vector regression: an error up to ε costs nothing, a larger one its excess over ε.

    min ½‖w‖² + Σ Cᵢ max(0, |w·φ(xᵢ) + b − yᵢ| − ε), solved through its dual, with two variables for each row.

    <SVM and LIBSVM>

    Parameters
    ----------
    <kernel, degree, gamma, coef0 (SVM), tol>
    C : > 0, default 1, the cost of an error; inf allows none. Cᵢ is C times the sample weight.
    epsilon : ε ≥ 0, default 0.1, the size up to which an error costs nothing.
    <shrinking, cache_size, verbose (SVM), max_iter (SVM), time_limit>

    Attributes
    ----------
    <support_ (SVM), support_vectors_, n_support_ (SVM), dual_coef_ (SVM), intercept_ (SVM), coef_ (SVM), fit_status_>
    <n_iter_ (SVM), shape_fit_, objective_ (SVM), dual_gap_ (SVM), model_ (SVM)>
    <kernel_, gamma_, n_features_in_, feature_names_in_>

    Cost: a few kernel values for each row and support vector; memory is the data and `cache_size`.

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

    @shared_docs
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Solves the dual problem.

        <X, y (numbers), sample_weight (C), returns, stopped (SVM)>
        """
        fit_one(self, X, y, sample_weight, "numbers")
        return self

    def _problem(
        self, kernel: Kernel, rows: Rows, y: Any, weights: NDArray[np.float64]
    ) -> tuple[Problem, NDArray[np.float64]]:
        n, high = len(y), times(self.C, weights)
        z = np.concatenate([y - self.epsilon, y + self.epsilon])
        low, top = np.concatenate([np.zeros(n), -high]), np.concatenate([high, np.zeros(n)])
        return Problem(kernel, rows, np.tile(np.arange(n), 2), z, low, top), np.zeros(2 * n)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The prediction f(x) for each row of X, shape (n,)."""
        return self._first_scores(X)

    def _decision(self) -> Number:
        return Number()


@shared_docs
class OneClassSVM(OutlierMixin, SupportVectorMachine):  # type: ignore[misc]
    """The one-class support vector machine, for outliers: f is positive on all but a fraction of about ν of the rows.

    min ½αᵀKα with 0 ≤ αᵢ ≤ wᵢ and Σα = ν Σw for the sample weights w; f(x) = Σ αᵢ k(xᵢ, x) − ρ.

    <SVM and LIBSVM>

    Parameters
    ----------
    <kernel, degree, gamma, coef0 (SVM), tol>
    nu : ν in (0, 1], default 0.5. It bounds the fraction of outliers from above and the fraction of support vectors
        from below.
    <shrinking, cache_size, verbose (SVM), max_iter (SVM), time_limit>

    Attributes
    ----------
    <support_ (SVM), support_vectors_, n_support_ (SVM), dual_coef_ (SVM)>
    offset_, intercept_ : shape (1,), the threshold ρ, and −ρ.
    <coef_ (SVM), fit_status_, n_iter_ (SVM), shape_fit_, objective_ (SVM), dual_gap_ (SVM), model_ (SVM)>
    <kernel_, gamma_, n_features_in_, feature_names_in_>

    Cost: a few kernel values for each row and support vector; memory is the data and `cache_size`.

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

    @shared_docs
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Solves the dual problem.

        <X, y (ignored), sample_weight (α), returns, stopped (SVM)>
        """
        fit_one(self, X, None, sample_weight, "none")
        return self

    def _problem(
        self, kernel: Kernel, rows: Rows, y: Any, weights: NDArray[np.float64]
    ) -> tuple[Problem, NDArray[np.float64]]:
        n, total = len(weights), finite_total(weights, rows.dtype, self._name)
        before = np.concatenate([[0.0], np.cumsum(weights)[:-1]])
        start = np.clip(self.nu * total - before, 0.0, weights)  # the first rows take all of Σα
        return Problem(kernel, rows, np.arange(n), np.zeros(n), np.zeros(n), weights), start

    @property
    def offset_(self) -> NDArray[np.float64]:
        """The threshold ρ = −`intercept_`, shape (1,)."""
        check_is_fitted(self, "kernel_")
        offset: NDArray[np.float64] = -self.intercept_
        return offset

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """f(x) of each row of X, shape (n,): positive for inliers."""
        return self._first_scores(X)

    def score_samples(self, X: Any) -> NDArray[np.float64]:
        """f(x) + ρ = Σ αᵢ k(xᵢ, x) of each row of X, shape (n,): the higher, the more normal."""
        seen = self._view()
        scores: NDArray[np.float64] = seen._first_scores(X) + seen.offset_
        return scores

    def predict(self, X: Any) -> NDArray[np.intp]:
        """+1 for an inlier, f(x) > 0, and −1 for an outlier, for each row of X, shape (n,)."""
        seen = self._view()
        predicted: NDArray[np.intp] = seen.model_.predict(seen._check_to_predict(X))
        return predicted

    def _decision(self) -> Outlier:
        return Outlier(inclusive=False)  # f(x) = 0 is an outlier, as in LIBSVM
