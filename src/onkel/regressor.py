"""What every online estimator without labels shares: regressors, and detectors of novelty.

`fit` (all data, epochs), `partial_fit` (a chunk, once) and `learn_one` (an example) feed one learner with
one machine, as in `onkel.classifier`.
"""

from __future__ import annotations

import math
import numbers as number_types
from abc import abstractmethod
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from onkel.checks import check_integer
from onkel.door import Door
from onkel.errors import KindError, ValuesError
from onkel.estimator import left_as_it_was
from onkel.kernels.rows import Rows
from onkel.learners.epochs import Passes

__all__ = ["OnlineRegressor"]


class OnlineRegressor(Door):
    """The base of the regressors; not for use by itself.

    A subclass gives ``_new_learner(rows, machines)`` and ``_machine_scores(X)``, ``_machine_scores_one(row)``.
    """

    _targets: Literal["numbers", "none"] = "numbers"

    def _check_params(self) -> None:
        super()._check_params()
        check_integer(self.max_iter, "max_iter", self._who, at_least=1)

    @abstractmethod
    def _new_learner(self, rows: Rows, machines: int) -> Any:
        """A learner that has seen nothing; `rows` are the first data."""

    @abstractmethod
    def _machine_scores(self, X: Any) -> NDArray[np.float64]:
        """(n, 1)."""

    @abstractmethod
    def _machine_scores_one(self, row: Rows) -> NDArray[np.float64]:
        """(1, 1), fast."""

    # ---------------------------------------------------------------- learning

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learns from all data, in up to `max_iter` epochs; stops after one without an update.

        On Ctrl-C what was learned so far is kept, the model is usable, and KeyboardInterrupt goes on.
        """
        with left_as_it_was(self):
            go_on = bool(self.warm_start) and hasattr(self, "_learner")
            rows, y, weights, present, given = self._enter_all(X, y, sample_weight, reset=not go_on, whole=True)
            random = check_random_state(self.random_state)
            if not go_on:
                self._begin(rows)
            run = Passes(self._learner, rows, y, weights, self._seen + present)
            interrupted = self._run_epochs(run, len(rows), random, "updates")
            self._seen += given
        if interrupted is not None:
            raise interrupted
        return self

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learns from more examples, in their order, once."""
        with left_as_it_was(self):
            first = not hasattr(self, "_learner")
            rows, y, weights, present, given = self._enter_all(X, y, sample_weight, reset=first, whole=False)
            if first:
                self._begin(rows)
            numbers, interrupted = self._seen + present, None
            self._seen += given
            before = self._learner.mark()
            try:
                self._learner.learn(rows, y, weights, numbers)
            except KeyboardInterrupt as stop:
                interrupted = stop
            except Exception:
                self._learner.back_to(before)
                raise
        if interrupted is not None:
            raise interrupted
        return self

    def _enter_all(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool, whole: bool
    ) -> tuple[Rows, NDArray[np.float64], NDArray[np.float64], NDArray[np.intp], int]:
        """Rows, targets (n, 1) and weights of the examples with a weight, which these are, and of how many."""
        self._check_params()
        rows, y = self._enter(X, y, reset=reset, whole=whole, targets=self._targets)
        weights = self._sample_weights(sample_weight, len(rows))
        targets = np.ones((len(rows), 1)) if y is None else np.array(y, dtype=np.float64).reshape(-1, 1)
        present, given = np.flatnonzero(weights > 0), len(rows)
        if len(present) < len(rows):
            rows, targets, weights = rows[present], targets[present], weights[present]
        return rows, targets, weights, present, given

    def _begin(self, rows: Rows) -> None:
        self._seen, self._dtype = 0, rows.dtype
        self._learner = self._new_learner(rows, 1)
        self.n_iter_, self.converged_ = 1, False

    def learn_one(self, x: Any, y: Any = None) -> Self:
        """Learns from one example: a vector, a dict {feature: value} (or one object), and its number."""
        if self._targets == "none":
            y = 1.0
        elif not isinstance(y, number_types.Real):
            raise KindError(f"{self._who}: y must be one number; got {y!r}.")
        elif not math.isfinite(y):
            raise ValuesError(f"{self._who}: y must be finite; got {y!r}.")
        if not hasattr(self, "_learner") or self._kernel_in().takes == "gram":
            self.partial_fit(self._as_batch(x), None if self._targets == "none" else [y])
            if isinstance(x, dict):
                self._columns = {name: i for i, name in enumerate(x)}
            return self
        self._learner.learn_one(self._light_row(x, grow=True), np.array([[y]], dtype=np.float64), self._seen)
        self._seen += 1
        return self

    # ---------------------------------------------------------------- predicting

    def _scores(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self, "_learner")
        return self._machine_scores(self._enter_to_predict(X))[:, 0]

    def predict(self, X: Any) -> NDArray[np.float64]:
        """f(x) of each row."""
        return self._scores(X)

    def predict_one(self, x: Any) -> float | None:
        """f(x) of one example, or None before any learning."""
        if not hasattr(self, "_learner"):
            return None
        return float(self._machine_scores_one(self._light_row(x))[0, 0])
