"""Classification by kernel ridge regression on ±1."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from onkel.estimators.base.class_weight import class_weights
from onkel.estimators.base.labels import Labels, check_labels, refuse_one_class, refuse_other_classes
from onkel.estimators.base.shared_docs import shared_docs
from onkel.estimators.ridge.base import RidgeEstimator, check_alpha
from onkel.estimators.ridge.chunks import (
    add_chunk,
    can_learn_chunks,
    can_refit_alpha,
    is_first_chunk,
    more_rows,
    refit_alpha,
)
from onkel.estimators.ridge.solvers import Task, check_solver, solve
from onkel.models.decision import Classes

__all__ = ["KernelRidgeClassifier"]

Floats = NDArray[np.float64]
ONLY_WEIGHTED = " Rows of weight 0 do not count."


@shared_docs
class KernelRidgeClassifier(ClassifierMixin, RidgeEstimator):  # type: ignore[misc]
    """A classifier by kernel ridge regression: each class has the target +1 on its examples and −1 on the others.

    min Σ sᵢ (yᵢ − f(xᵢ) − b)² + α‖f‖² with yᵢ = ±1, for each class; all classes share one factorization. The class with
    the largest f is predicted; two classes share one f, which is positive for classes_[1]. `KernelRidge` says how it is
    solved, exactly or on centres.

    Parameters
    ----------
    alpha : ≥ 0, default 1, the strength of the penalty.
    <kernel (ridge), gamma (ridge), degree, coef0, solver (ridge), n_centers, centers, center_choice>
    class_weight : None (default): every class has weight 1. A dict {class: weight}, with weights ≥ 0 and 1 for a class
        that is missing; a key that is no class is an error. Or "balanced", n / (classes · examples of the class), which
        needs all the data and so works in `fit` only. It multiplies the sample weight.
    fit_intercept : True (default): b is learned, and not penalised; False: b = 0.
    <max_iter (ridge), tol (ridge), verbose (ridge), random_state (ridge)>

    Attributes
    ----------
    <classes_>
    dual_coef_ : shape (outputs, m), the coefficients c; there is one output for two classes, else one for each class.
    intercept_ : shape (outputs,), b; zeros without an intercept.
    <gcv_ (ridge), X_fit_, support_ (ridge), figures (ridge), model_ (ridge)>
    <kernel_, gamma_, n_features_in_, feature_names_in_>

    Cost: that of `KernelRidge`, and n² multiply-adds more for each class.

    Source: Rifkin, Yeo and Poggio 2003, Regularized least-squares classification.

    >>> from onkel import KernelRidgeClassifier
    >>> clf = KernelRidgeClassifier(kernel="rbf", gamma=1.0).fit([[0.0], [1.0], [4.0], [5.0]], ["a", "a", "b", "b"])
    >>> clf.predict([[0.4], [4.4]]), clf.decision_function([[0.5]]).round(3)
    (array(['a', 'b'], dtype='<U1'), array([-0.658]))
    """

    TARGETS: ClassVar[Literal["labels", "several numbers"]] = "labels"

    classes_: NDArray
    gcv_: Any

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        kernel: Any = "linear",
        gamma: float | str | None = None,
        degree: float = 3,
        coef0: float = 1,
        solver: str = "auto",
        n_centers: int | None = None,
        centers: Any = None,
        center_choice: str = "uniform",
        class_weight: Any = None,
        fit_intercept: bool = True,
        max_iter: int = 100,
        tol: float = 1e-6,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.alpha = alpha
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.solver = solver
        self.n_centers = n_centers
        self.centers = centers
        self.center_choice = center_choice
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state

    def _check_params(self) -> None:
        super()._check_params()
        check_alpha(self.alpha, 1, self._name)
        check_solver(self, self._name)

    # ---------------------------------------------------------------- learning

    @shared_docs
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Solves for all rows and classes.

        <X, y (labels), sample_weight, returns, stopped (ridge)>
        """
        new = self._anew()
        new._check_params()
        rows, y, weights = new._check_fit_data(X, y, sample_weight)
        check_labels(y, self._name)
        weights = weights * class_weights(self.class_weight, y, weights > 0, self._name, None, balanced=True)
        refuse_one_class(np.unique(y[weights > 0]), self._name, ONLY_WEIGHTED)
        labels = new._set_classes(np.unique(y))
        Y = labels.encode(labels.decode(y, self._name))
        alpha = check_alpha(self.alpha, 1, self._name).repeat(Y.shape[1])
        fitted = solve(new, Task(self._name, new.kernel_, rows, Y, weights, alpha))
        new._set_fitted(fitted)
        self._become(new)
        if fitted.interrupted:
            raise KeyboardInterrupt
        return self

    @available_if(can_learn_chunks)  # type: ignore[untyped-decorator]
    @shared_docs
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Adds rows to those that were learned before, and solves for all; only with solver="nystrom".

        The result is that of `fit` on all rows with the same centres. These are drawn from the rows of the first call,
        unless `centers` are given; so is gamma, if it depends on the data. Rows are not kept.

        <X (chunk), y (chunk)>
        classes : all labels that will ever come, in the first call. None (default): those of the first call's y.
        <sample_weight, returns, stopped (ridge chunk)>
        """
        new = self._view()
        new._check_params()
        first = is_first_chunk(new)
        if first:
            rows, y, weights = new._check_fit_data(X, y, sample_weight)
        else:
            rows, y, weights = more_rows(new, X, y, sample_weight)
        check_labels(y, self._name)
        labels = new._labels_of_chunk(y, classes, first)
        weights = weights * class_weights(self.class_weight, y, weights > 0, self._name, labels, balanced=False)
        add_chunk(new, rows, labels.encode(labels.decode(y, self._name)), weights, first=first)
        self._become(new)
        return self

    refit_alpha = available_if(can_refit_alpha)(refit_alpha)

    def _labels_of_chunk(self, y: NDArray, classes: Any, first: bool) -> Labels:
        """The labels of all classes, after a check that y holds no others."""
        if first:
            known = np.unique(y if classes is None else np.asarray(classes))
            refuse_one_class(known, self._name, ONLY_WEIGHTED)
            labels = self._set_classes(known)
        else:
            labels = Labels.known(self.classes_, all_seen=True)
            refuse_other_classes(classes, self.classes_, self._name)
        labels.decode(y, self._name)  # refuses others
        return labels

    def _set_classes(self, classes: NDArray) -> Labels:
        self.classes_ = classes
        self._several = len(classes) > 2
        return Labels.known(classes, all_seen=True)

    # ---------------------------------------------------------------- predicting

    def decision_function(self, X: Any) -> Floats:
        """The scores of the rows of X: shape (n,), positive for classes_[1], or (n, classes) if there are more."""
        seen = self._view()
        scores = seen._scores(X)
        return scores if seen._several else scores[:, 0]

    def predict(self, X: Any) -> NDArray:
        """The label of each row of X, shape (n,): the class with the largest score, of several the first."""
        seen = self._view()
        scores = seen._scores(X)
        return seen._decision().decide(scores)

    def _scores(self, X: Any) -> Floats:
        rows = self._check_to_predict(X)
        return self._scorer.scores(rows)

    def _decision(self) -> Classes:
        return Classes(self.classes_.copy())

    @property
    def dual_coef_(self) -> Floats:
        """The coefficients, shape (outputs, m)."""
        return np.ascontiguousarray(self.model_.coef.T)

    @property
    def intercept_(self) -> Floats:
        """b of each output, shape (outputs,)."""
        return self.model_.intercept.copy()
