"""LASVM, the support vector machine that learns online."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from onkel.checks import check_number
from onkel.errors import warn
from onkel.estimators.base.parameters import bytes_of
from onkel.estimators.base.shared_docs import shared_docs
from onkel.estimators.online import by_task
from onkel.estimators.online.estimator import OnlineEstimator
from onkel.estimators.online.fitted import reading
from onkel.estimators.online.fitting import Outcome, Work
from onkel.estimators.online.running import Running
from onkel.kernels import Kernel
from onkel.learners.lasvm.learner import LasvmLearner

__all__ = ["OnlineSVC"]


@shared_docs
class OnlineSVC(ClassifierMixin, OnlineEstimator):  # type: ignore[misc]
    """A support vector machine that sees each example once and comes close to one that sees all the data at once.

    It keeps the examples that may become support vectors, and minimises ½ αᵀKα − yᵀα over them, under Σα = 0; K is
    their Gram matrix, and f(x) = Σ α_s k(s, x) + b. Here α is signed: α_s lies between 0 and C y_s. A new example makes
    one step together with the kept example with which it violates the conditions of the optimum most. Then the pair of
    kept examples that violates them most makes one, and examples that will stay at α = 0 are dropped. `finish` repeats
    such steps until no pair violates the conditions by more than `tol`. With more than two classes there is one binary
    classifier per class (one-vs-rest).

    Parameters
    ----------
    <kernel>
    C : > 0, default 1, the cost of an error and the bound of |α|. Weights multiply it.
    <gamma, degree, coef0>
    tol : > 0, default 1e-3: a pair that violates the conditions of the optimum by no more makes no step.
    max_iter : ≥ 1, default 1, the most passes of `fit` over the data. One pass comes within about one per cent of the
        objective on all the data; a few more reach it.
    finish_fit : True (default): `fit` ends with `finish`; False: it does not.
    cache_size : > 0, default 200, the MB (2²⁰ bytes) of kernel values that are kept for reuse; a few rows are
        always kept.
    <shuffle, random_state, class_weight (C), warm_start, verbose>

    Attributes
    ----------
    <classes_>
    support_ : shape (m,), the row indices of the m support vectors (α ≠ 0), in ascending order. Rows are counted from
        0, on through all calls since the last new `fit`.
    <support_vectors_, dual_coef_, intercept_ (learned), model_>
    n_kept_ : the number of kept examples; those at α = 0 are not support vectors yet.
    objective_ : shape (outputs,), the dual objective ½ αᵀKα − yᵀα on the kept examples.
    dual_gap_ : shape (outputs,), by how much the objective may exceed its minimum over the kept examples, at most.
    <n_mistakes_>
    n_updates_ : how many examples made a step when they came, summed over the outputs and over all calls since the
        last new `fit`.
    <n_rounds_, mistakes_, certificate_ (none)>
    <kernel_, gamma_, n_iter_, converged_, n_features_in_, feature_names_in_>

    <streams>

    Cost: an example takes one kernel value per kept example, and two passes over the gradients. Memory is the kept
    examples, about as many as the support vectors of an SVM trained on all the data, and `cache_size`. It is not
    bounded on noisy data, where the support vectors grow in number with the examples.

    >>> from onkel import OnlineSVC
    >>> clf = OnlineSVC("linear", shuffle=False).fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
    >>> clf.support_, clf.decision_function([[1.0], [2.0], [3.0]])
    (array([1, 2]), array([-1.,  0.,  1.]))

    Source: Bordes, Ertekin, Weston and Bottou 2005, Fast kernel classifiers with online and active learning.
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        C: float = 1.0,
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = 1,
        finish_fit: bool = True,
        cache_size: float = 200,
        shuffle: bool = True,
        random_state: Any = None,
        class_weight: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter
        self.finish_fit = finish_fit
        self.cache_size = cache_size
        self.shuffle = shuffle
        self.random_state = random_state
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.verbose = verbose

    FREE_PARAMS = frozenset({"finish_fit"})

    def _check_params(self) -> None:
        super()._check_params()
        for name in ("C", "tol", "cache_size"):
            check_number(getattr(self, name), name, self._name, above=0.0)

    def _new_learner(self, kernel: Kernel, n_features: int | None, n_outputs: int) -> LasvmLearner:
        limit = bytes_of(self.cache_size)
        return LasvmLearner(kernel, n_outputs, C=float(self.C), tol=float(self.tol), cache_bytes=limit)

    _running: Running[LasvmLearner]
    decision_function = by_task.decision_function

    def _theorem(self, radius_sq: float) -> str:
        return "there is no theorem on the mistakes of LASVM, only on where its steps lead"

    # ---------------------------------------------------------------- the end of a fit

    def finish(self) -> Self:
        """Makes further steps on the kept examples until they are optimal to within `tol`; returns the estimator.

        The result is the support vector machine of the kept examples. `fit` calls this unless finish_fit=False; after
        `partial_fit` and `learn_one` call it before you predict. It warns if it gives up before the optimum. On Ctrl-C
        the steps made so far are kept, and KeyboardInterrupt is raised.
        """
        check_is_fitted(self, "_running")
        self._built_with.refuse_changed(self)
        if not self._running.learner.finish(self._lock):
            warn(
                f"{self._name}: finish stopped before all pairs were within tol={self.tol:g}; what is kept leaves a "
                f"gap of at most {self.dual_gap_.max():g}. Use a larger tol or a smaller C, or scale the features.",
                ConvergenceWarning,
            )
        return self

    def _after_fit(self, work: Work, outcome: Outcome) -> None:
        super()._after_fit(work, outcome)
        if self.finish_fit and outcome.interrupted is None:
            self.finish()

    # ---------------------------------------------------------------- the solution

    @property
    @reading
    def n_kept_(self) -> int:
        """The number of kept examples."""
        return len(self._running.learner)

    @property
    @reading
    def objective_(self) -> NDArray[np.float64]:
        """The dual objective ½ αᵀKα − yᵀα of each output on the kept examples, shape (outputs,)."""
        return self._in_class_order(self._running.learner.objective())

    @property
    @reading
    def dual_gap_(self) -> NDArray[np.float64]:
        """By how much each objective may exceed its minimum over the kept examples, at most, shape (outputs,)."""
        return self._in_class_order(self._running.learner.gap())

    def _in_class_order(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values of the outputs, from the learner's order to that of `classes_`."""
        return self._running.targets.by_class(values[None, :])[0] if self._running.targets.n_outputs > 1 else values
