"""Online kernel estimators whose learner keeps only its last 1000 updates: support, coefficients, model, certificate.

(KernelPerceptron keeps all of them: perceptron.py.)
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from onkel.bounds.certificates import certify_budgeted_fit
from onkel.bounds.theorems import Certificate, Theorem, uncertified
from onkel.checks import check_integer
from onkel.estimators.base import warn_of_conflicts
from onkel.estimators.online import OnlineClassifier, OnlineKernelInput
from onkel.kernels import Kernel
from onkel.kernels.rows import Rows
from onkel.learners.epochs import StreamedEpochs
from onkel.models.expansion import Expansion
from onkel.models.model import support_data

__all__ = ["OnlineKernelClassifier", "OnlineKernelEstimator"]


class OnlineKernelEstimator(OnlineKernelInput):
    """The attributes of an estimator whose learner has a support and keeps only the last updates; a mixin."""

    _learner: Any
    random_state: Any

    def _by_class(self, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        """Columns in the learner's order of outputs → columns in the order of `decision_function`."""
        return coef

    def _check_budget(self, budget: Any, *, none: bool) -> None:
        """Refuses a budget that is not a whole number ≥ 1; with `none`, None is allowed, too."""
        if budget is not None or not none:
            check_integer(budget, "budget", self._name, at_least=1)

    def _seed(self) -> int:
        """A seed for the learner's own random numbers."""
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    @property
    def n_updates_(self) -> int:
        """The number of updates, summed over the outputs."""
        check_is_fitted(self, "_learner")
        return int(self._learner.counts[1])

    @property
    def n_rounds_(self) -> int:
        """The number of examples presented, with or without an update; an example counts once in each epoch."""
        check_is_fitted(self, "_learner")
        return int(self._learner.rounds)

    @property
    def mistakes_(self) -> NDArray[Any]:
        """The last 1000 updates, with the fields round, row, class and step; earlier ones are only counted."""
        check_is_fitted(self, "_learner")
        entries: NDArray[Any] = self._learner.ledger.entries.copy()
        return entries

    @property
    def support_(self) -> NDArray[np.int64]:
        """The row indices of the m support vectors, in the order in which they entered, shape (m,).

        Under a budget, a row that was learned twice may be in the support twice; without one it keeps its first place.
        """
        check_is_fitted(self, "_learner")
        found: NDArray[np.int64] = self._learner.support()[2].copy()
        return found

    @property
    def support_vectors_(self) -> Any:
        """The support vectors, in the order of `support_`."""
        return support_data(self._expansion().support)

    @property
    def dual_coef_(self) -> NDArray[np.float64]:
        """The coefficients of the m support vectors, shape (outputs, m)."""
        return np.ascontiguousarray(self._by_class(self._expansion().coef).T)

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """The intercept b of each output, shape (outputs,)."""
        return np.array(self._by_class(self._expansion().intercept[None, :])[0])

    @property
    def model_(self) -> Expansion:
        """What has been learned, as a frozen model whose outputs are the columns of `decision_function`."""
        model = self._expansion()
        out = self._by_class(model.coef)
        return Expansion(model.kernel, model.support, model.rows, out, self.intercept_)

    def _expansion(self) -> Expansion:
        """The model with the outputs in the learner's order; cached until the learner changes."""
        check_is_fitted(self, "_learner")
        learner = self._learner
        if learner.model is None or learner.model[0] != learner.rounds:
            rows, coef, row_ids = learner.support()
            support = self._nothing if rows is None else rows[:]
            offset = np.array(getattr(learner, "offset", np.zeros(learner.n_outputs)))
            learner.model = learner.rounds, Expansion(learner.kernel, support, row_ids.copy(), coef.copy(), offset)
        model: Expansion = learner.model[1]
        return model

    def _output_scores(self, X: Any) -> NDArray[np.float64]:
        return self._expansion().scores(X)

    def _output_scores_one(self, row: Rows) -> NDArray[np.float64]:
        found: NDArray[np.float64] = self._learner.scores(row)
        return found

    def _resolve(self, rows: Rows) -> Kernel:
        self._nothing = rows[:0]
        return super()._resolve(rows)


class OnlineKernelClassifier(OnlineKernelEstimator, OnlineClassifier):
    """The base of the online kernel classifiers, except the kernel perceptron; not for use by itself.

    A subclass says in `_theorem` which theorem bounds its mistakes, or why none does.
    """

    _stops_when_separated: bool = (
        True  # learns until no example is wrong: `fit` then warns of equal rows with different labels
    )

    def _after_fit(self, run: StreamedEpochs, y: NDArray, interrupted: bool) -> None:
        if self._stops_when_separated and self.max_iter > 1 and not self.converged_ and not interrupted:
            warn_of_conflicts(run.rows, y, self._name)

    @abstractmethod
    def _theorem(self, radius_sq: float) -> Theorem | str:
        """The theorem on the mistakes if k(x, x) ≤ radius_sq and all weights are 1; or, in words, why there is none."""

    def _by_class(self, coef: NDArray[np.float64]) -> NDArray[np.float64]:
        return self._labels.out(coef)

    @property
    def n_mistakes_(self) -> int:
        """How many examples had y f(x) ≤ 0 just before they were learned from, summed over the outputs."""
        check_is_fitted(self, "_learner")
        return int(self._learner.counts[0])

    def _new_run(
        self, rows: Rows, targets: NDArray[np.int8], weights: NDArray[np.float64], row_ids: NDArray
    ) -> StreamedEpochs:
        return StreamedEpochs(self._new_learner(rows, targets.shape[1]), rows, targets, weights, row_ids)

    # ---------------------------------------------------------------- the certificate

    def _epochs_new(
        self, rows: Rows, y: NDArray, weights: NDArray[np.float64], row_ids: NDArray
    ) -> KeyboardInterrupt | None:
        interrupted = super()._epochs_new(rows, y, weights, row_ids)
        self._certified: tuple[int, Certificate] | None = None
        if interrupted is None:
            try:
                self._certified = self._certify(rows, y, weights, row_ids)
            except KeyboardInterrupt as stop:  # the model is complete; only its certificate is missing
                interrupted = stop
        return interrupted

    def _certify(
        self, rows: Rows, y: NDArray, weights: NDArray[np.float64], row_ids: NDArray
    ) -> tuple[int, Certificate] | None:
        """n_rounds_ and the certificate of a fit, with the model as the comparator; None without a theorem."""
        radius_sq = float(self.kernel_._diag(rows).max())
        theorem = self._theorem(radius_sq)
        if isinstance(theorem, str):
            return None
        found = certify_budgeted_fit(
            theorem,
            self._expansion(),
            mistakes=self.n_mistakes_,
            rows=rows,
            targets=self._labels.targets(self._labels.index(y, self._name), self._labels.n_outputs),
            weights=weights,
            row_ids=row_ids,
            radius_sq=radius_sq,
            epochs=self.n_iter_,
            is_psd=self._is_psd,
        )
        return self.n_rounds_, found

    @property
    def certificate_(self) -> Certificate:
        """The mistakes of the last `fit` and the theorem's bound on them; or, as its `reason`, why there is none."""
        check_is_fitted(self, "_learner")
        theorem = self._theorem(1.0)
        if isinstance(theorem, str):
            return uncertified(self.n_mistakes_, None, self.n_iter_, theorem)
        certified = self.__dict__.get("_certified")
        if certified is None or certified[0] != self.n_rounds_:
            raise AttributeError(
                "certificate_ is there after a fit that was neither interrupted nor a warm start; the examples of "
                "online learning are not kept, so that nothing can be compared on them"
            )
        found: Certificate = certified[1]
        return found

    @property
    def mistakes_(self) -> NDArray[Any]:
        """The last 1000 updates, with the fields round, row, class (the index in `classes_`) and step."""
        entries = super().mistakes_
        return self._labels.report(entries)
