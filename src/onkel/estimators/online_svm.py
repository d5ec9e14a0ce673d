"""The support vector machine that learns online: LASVM."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from onkel.checks import check_number
from onkel.errors import warn
from onkel.estimators.online_kernel import OnlineKernelClassifier
from onkel.kernels.rows import Rows
from onkel.learners.lasvm import LasvmLearner

__all__ = ["OnlineSVC"]


class OnlineSVC(OnlineKernelClassifier):
    """A support vector machine that sees each example once, and comes close to one that sees all at once.

    It keeps the examples that may be support vectors, with min ½ αᵀKα − yᵀα under Σα = 0 and
    α_s between 0 and C y_s over them, f(x) = Σ α_s k(s, x) + b. A new example makes one step with the
    partner that it violates the optimum with most, then the pair of all that does so most makes one, and
    examples that will stay at α = 0 go. `finish` makes such steps until none is left. With more than two
    classes one output for each against the rest.

    Parameters
    ----------
    kernel, gamma, degree, coef0 : as in `KernelPerceptron`.
    C : > 0, the most that an example can weigh; times its weight.
    tol : > 0, a pair that violates the optimum by no more is left as it is.
    max_iter : ≥ 1, passes of `fit` over the data: one comes within about a percent of the objective of all the
        data, a few more reach it.
    finish_fit : end `fit` by `finish`.
    cache_size : > 0, megabytes of kernel values that are held to be used again; a few rows whatever it says.
    shuffle : a new order of the rows in each pass of `fit`.
    random_state : seed of these orders.
    class_weight : {class: weight}, or "balanced" (in `fit`).
    warm_start : a second `fit` goes on from what was learned.
    verbose : 1 for a progress bar on stderr.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_, gamma_, kernel_, n_iter_, converged_, support_vectors_,
    dual_coef_, intercept_, model_, mistakes_, n_updates_, n_rounds_ : as in `Forgetron`.
    n_mistakes_ : examples that a output got wrong before it learned from them, y f ≤ 0, summed over the outputs.
    support_ : which rows of the data the support vectors are, in the order of the rows.
    n_kept_ : examples that are kept; those at α = 0 are no support vectors yet.
    objective_ : ½ αᵀKα − yᵀα of each output.
    dual_gap_ : how much smaller it can get at most on what is kept.
    certificate_ : says why there is none.

    Cost: an example takes a kernel value per kept example, and the two steps a pass over their gradients. Memory:
    what is kept, about the support vectors of the output on all the data.

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

    def _check_params(self) -> None:
        super()._check_params()
        for name in ("C", "tol", "cache_size"):
            check_number(getattr(self, name), name, self._name, above=0.0)

    def _new_learner(self, rows: Rows, n_outputs: int) -> LasvmLearner:
        limit = int(float(self.cache_size) * 2**20)
        return LasvmLearner(self._resolve(rows), n_outputs, C=float(self.C), tol=float(self.tol), cache_bytes=limit)

    _hard = False

    def _theorem(self, radius_sq: float) -> str:
        return "there is no theorem on the mistakes of LASVM, only on where its steps lead"

    # ---------------------------------------------------------------- the end of a fit

    def finish(self) -> Self:
        """Steps on what is kept until it is optimal to within `tol`: the support vector machine on these examples.

        On Ctrl-C the steps so far are kept.
        """
        check_is_fitted(self, "_learner")
        if not self._learner.finish():
            warn(
                f"{self._name}: finish stopped before all pairs were within tol={self.tol:g}; what is kept leaves a "
                f"gap of at most {self.dual_gap_.max():g}. Use a larger tol, or scale the features.",
                ConvergenceWarning,
            )
        return self

    def _epochs_new(
        self, rows: Rows, y: NDArray, weights: NDArray[np.float64], row_ids: NDArray
    ) -> KeyboardInterrupt | None:
        return super()._epochs_new(rows, y, weights, row_ids) or self._finished()

    def _epochs_more(
        self, rows: Rows, y: NDArray, weights: NDArray[np.float64], row_ids: NDArray
    ) -> KeyboardInterrupt | None:
        return super()._epochs_more(rows, y, weights, row_ids) or self._finished()

    def _finished(self) -> KeyboardInterrupt | None:
        try:
            if self.finish_fit:
                self.finish()
        except KeyboardInterrupt as stop:
            return stop
        return None

    # ---------------------------------------------------------------- what was learned

    @property
    def n_kept_(self) -> int:
        """Examples that are kept."""
        check_is_fitted(self, "_learner")
        return len(self._learner)

    @property
    def objective_(self) -> NDArray[np.float64]:
        """½ αᵀKα − yᵀα of each output, of `classes_` in order."""
        check_is_fitted(self, "_learner")
        return self._in_class_order(self._learner.objective())

    @property
    def dual_gap_(self) -> NDArray[np.float64]:
        """How much smaller the objective of each output can get at most on what is kept."""
        check_is_fitted(self, "_learner")
        return self._in_class_order(self._learner.gap())

    def _in_class_order(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        return values if self._labels.n_outputs == 1 else values[self._labels.order]
