"""Methods that depend on the task: an online estimator lists in its body those that it has.

class Forgetron(ClassifierMixin, OnlineEstimator):
    decision_function = by_task.decision_function
"""

from __future__ import annotations

import math
import numbers as number_types
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from onkel.errors import KindError, ValuesError
from onkel.estimators.base.one_example import brings_features
from onkel.estimators.base.shared_docs import shared_docs
from onkel.estimators.online.estimator import OnlineEstimator
from onkel.estimators.online.fitting import learn_chunk
from onkel.estimators.online.running import Given
from onkel.models.input import by_name, row_of

__all__ = ["decision_function", "learn_one_number", "partial_fit_numbers"]

Online = TypeVar("Online", bound=OnlineEstimator)


def decision_function(self: OnlineEstimator, X: Any) -> NDArray[np.float64]:
    """The scores of the rows of X: shape (n,) for two classes, positive for classes_[1]; else (n, classes)."""
    scores, _ = self._scored(X)
    return scores[:, 0] if scores.shape[1] == 1 else scores


@shared_docs
def partial_fit_numbers(self: Online, X: Any, y: Any = None, sample_weight: Any = None) -> Online:
    """Learns from a chunk of further examples, each once, in their order.

    <X (chunk)>
    y : shape (n,), the target numbers; novelty detection ignores it.
    <sample_weight, returns, stopped (chunk)>
    """
    learn_chunk(self, Given(X, y, sample_weight))
    return self


@shared_docs
def learn_one_number(self: Online, x: Any, y: Any = None) -> Online:
    """Learns from one example.

    <x, y (one number), returns>
    """
    if self.TARGETS.kind == "none":
        y = 1.0
    elif not isinstance(y, number_types.Real):
        raise KindError(f"{self._name}: y must be one number; got {y!r}.")
    elif not math.isfinite(y):
        raise ValuesError(f"{self._name}: y must be finite; got {y!r}.")
    running = self.__dict__.get("_running")
    if running is None or not running.can_grow:
        return self._learn_first(x, None if self.TARGETS.kind == "none" else [y])
    if not self._built_with.checked:
        self._built_with.refuse_changed(self)
    with self._lock:
        running = self._running  # another thread may have fitted anew
        learner, columns = running.learner, running.columns
        x = by_name(x, columns)
        if brings_features(x, columns):
            self._learn_one_more(x, np.array([y], dtype=np.float64))
            return self
        row = row_of(x, running.kernel, columns, self._name)
        learner.check_rows(row, self._name)
        learner.learn_one(row, np.array([[y]], dtype=np.float64))
    return self
