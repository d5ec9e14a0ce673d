"""PRank: ordinal regression by a perceptron with thresholds.

    w ← w + (Σ τ_r) φ(x),   b_r ← b_r − τ_r    if the predicted grade is wrong

Its predictions are labels of a finite set, as a classifier's are, but the labels have an order.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from onkel.estimators.base.grades import Grades
from onkel.estimators.base.shared_docs import shared_docs
from onkel.estimators.online import fitted
from onkel.estimators.online.estimator import OnlineEstimator
from onkel.estimators.online.fitted import reading
from onkel.estimators.online.fitting import fit_in_epochs, learn_chunk
from onkel.estimators.online.running import Given, Running
from onkel.kernels import Kernel, Linear
from onkel.learners.perceptron.prank import KernelPRankLearner, LinearPRankLearner

__all__ = ["PRank"]


@shared_docs
class PRank(ClassifierMixin, OnlineEstimator):  # type: ignore[misc]
    """Ordinal regression: predicts grades, such as one to five stars, by one score and thresholds between the grades.

    The grades are the sorted labels. The predicted grade is the number of thresholds b_r with w·φ(x) − b_r ≥ 0. If it
    is wrong, every threshold on the wrong side of the score, or equal to it, moves by one, b_r ← b_r − τ_r, and the
    score moves towards them, w ← w + (Σ τ_r) φ(x), where τ_r = +1 if the grade is above threshold r, else −1. The
    thresholds start at 0 and stay in ascending order. There are no sample weights, which would break this order.

    The labels are whole numbers or strings; strings are sorted alphabetically, so that "high" < "low": use numbers. For
    scikit-learn it is a classifier, and `score` is the accuracy. To count how far off a wrong grade is, use
    ``scoring="neg_mean_absolute_error"`` in grid searches.

    Parameters
    ----------
    kernel : the kernel k(x, z): "linear" (default), "rbf", "poly", "sigmoid", "laplacian", "cosine", "chi2",
        "histogram" or "precomputed"; or a function of two blocks of numeric rows that returns their kernel values,
        shape (rows of the first, rows of the second) (for strings and other objects use ``Custom(fn,
        takes="objects")``); or a Kernel of `onkel.kernels`, whose own parameters are then set by ``kernel__gamma`` and
        the like. With the linear kernel the weight vector w itself is kept, else support vectors. With "precomputed",
        X holds kernel values: (n, n) in `fit`, and a column per training row to predict.
    <gamma, degree, coef0>
    max_iter : ≥ 1, default 10, the most epochs of `fit`, which stops earlier after an epoch without a mistake.
    <shuffle, random_state, warm_start, verbose>

    Attributes
    ----------
    classes_ : shape (k,), the grades, sorted.
    thresholds_ : shape (k − 1,), b in ascending order: thresholds_[r] lies between classes_[r] and classes_[r + 1].
    coef_ : shape (1, features), w; with the linear kernel only.
    support_ : shape (m,), the row indices of the m support vectors, in ascending order; not with the linear kernel.
        Rows are counted from 0, on through all calls since the last new `fit`.
    support_vectors_ : the m support vectors: an array or CSR matrix of shape (m, features); for a kernel on objects,
        the objects; for kernel="precomputed", the indices of their columns in the Gram matrix.
    dual_coef_ : shape (1, m), the sum of the steps τ on each support vector, so that w = Σ dual_coef_ φ(x).
    n_mistakes_ : the number of examples whose grade was not predicted, over all calls since the last new `fit`.
    n_updates_ : the number of moves of the thresholds, one or more for each mistake.
    mistakes_ : the last 100 000 moves in order, a structured array with the fields round (from 1), row, class (the
        index r of the threshold) and step (τ_r).
    <n_rounds_>
    model_ : what has been learned, as a frozen model that does not change when the estimator learns on:
        ``model_.predict(X)`` and ``predict_one(x)`` predict, ``model_.scores(X)`` gives w·φ(x) − b_r, shape (n, k − 1),
        and ``model_.explain(x)`` lists the terms of w·φ(x), the largest first.
    <kernel_, gamma_, n_iter_, converged_, n_features_in_, feature_names_in_>

    It learns from streams, too: `partial_fit` takes a chunk of examples, `learn_one` a single one, and `predict_one`
    predicts one. Grades may turn up late there: the threshold next to the new grade becomes two equal ones.

    Cost: with the linear kernel, an example takes as many multiply-adds as it has non-zero features, and one operation
    per threshold; else one kernel value per support vector.

    >>> from onkel import PRank
    >>> X, stars = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], [1, 1, 2, 2, 3, 3]
    >>> ranker = PRank(max_iter=100, shuffle=False).fit(X, stars)
    >>> ranker.predict([[0.5], [2.5], [9.0]]), ranker.converged_
    (array([1, 2, 3]), True)

    Source: Crammer and Singer 2001, Pranking with ranking.
    """

    def __init__(
        self,
        kernel: Any = "linear",
        *,
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        max_iter: int = 10,
        shuffle: bool = True,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose

    TARGETS = Grades

    _running: Running[LinearPRankLearner | KernelPRankLearner]

    def _new_learner(
        self, kernel: Kernel, n_features: int | None, n_outputs: int
    ) -> LinearPRankLearner | KernelPRankLearner:
        if type(kernel) is Linear and n_features is not None:
            return LinearPRankLearner(n_features, n_outputs)
        return KernelPRankLearner(kernel, n_outputs)

    # ---------------------------------------------------------------- learning

    @shared_docs
    def fit(self, X: Any, y: Any) -> Self:  # type: ignore[override]
        """Learns from a data set in up to `max_iter` epochs; stops after an epoch without a mistake.

        <X, y (labels), new fit, returns, stopped>
        """
        fit_in_epochs(self, Given(X, y))
        return self

    @shared_docs
    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:  # type: ignore[override]
        """Learns from a chunk of further examples, each once, in their order.

        <X (chunk), y (chunk)>
        classes : all grades that will ever come; in the first call, later calls may repeat it. None (default): grades
            may turn up late, and the threshold next to a late grade becomes two.
        <returns, stopped (chunk)>
        """
        learn_chunk(self, Given(X, y, classes=classes))
        return self

    # ---------------------------------------------------------------- predicting

    def predict(self, X: Any) -> NDArray:
        """The predicted grade of each row of X, shape (n,): classes_[r] if r thresholds are ≤ the score w·φ(x)."""
        return super().predict(X)

    # ---------------------------------------------------------------- what was learned

    @property
    @reading
    def thresholds_(self) -> NDArray[np.float64]:
        """The thresholds b between the grades, in ascending order, shape (k − 1,)."""
        return self._running.learner.thresholds.copy()

    coef_ = fitted.attribute(fitted.coef)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # a single direction need not separate classes that have no order
        return tags
