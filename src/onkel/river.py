"""Online estimators of onkel as estimators of river, for river's pipelines, metrics and evaluation.

    model = river.preprocessing.StandardScaler() | onkel.river.wrap(onkel.KernelPerceptron(gamma=1.0))

The examples of river are dicts {feature: value}. They are passed unchanged to the estimator's `learn_one` and
`predict_one`, which take a missing feature as 0 and add a column for a new one. This module needs river:
``pip install "onkel[river]"``.
"""

from __future__ import annotations

import copy
import importlib
from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor

from onkel import registry
from onkel.errors import KindError

try:
    from river import base
except ImportError as error:
    raise ImportError('onkel.river makes estimators of river, which is missing: pip install "onkel[river]"') from error

__all__ = ["WrappedClassifier", "WrappedRegressor", "wrap"]


def wrap(estimator: Any) -> WrappedClassifier | WrappedRegressor:
    """Wraps an online estimator of onkel as an estimator of river.

    The estimator that is given learns itself, not a copy of it; its attributes, such as `support_` and `mistakes_`, are
    available in ``wrapped.estimator``. `clone` returns a new model with the same parameters.

    Parameters
    ----------
    estimator : an online classifier or regressor of onkel. Give a kernel's gamma as a number: river shows a model one
        example at a time, so that a rule such as gamma="scale" would compute it from the first example alone.

    Cost: that of the estimator's own `learn_one` and `predict_one`.

    >>> from onkel import Perceptron
    >>> from onkel.river import wrap
    >>> wrap(Perceptron(hypothesis="averaged"))
    WrappedClassifier (
      estimator=Perceptron(hypothesis='averaged')
    )

    Source: `compat.convert_sklearn_to_river` of river, which does not allow features to appear or disappear.
    """
    if not isinstance(estimator, BaseEstimator) or not all(
        callable(getattr(estimator, name, None)) for name in ("learn_one", "predict_one")
    ):
        raise KindError(
            f"onkel.river.wrap: estimator must be an online estimator of onkel, with learn_one and predict_one; got "
            f"{estimator!r}. For others see river.compat.convert_sklearn_to_river."
        )
    if is_classifier(estimator):
        return WrappedClassifier(estimator)
    if is_regressor(estimator):
        return WrappedRegressor(estimator)
    raise KindError(f"onkel.river.wrap: estimator must be a classifier or a regressor; got {estimator!r}.")


class _Wrapped:
    """The common part of both wrappers. The estimator is the only parameter, and holds all state."""

    _task: ClassVar[str]

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Learns from one example: a dict of features and its label or target."""
        self.estimator.learn_one(x, y)

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Self:
        """A new model with the same parameters.

        Parameters
        ----------
        new_params : {"estimator": another estimator} to clone that one. None (default): this one.
        include_attributes : whether the new model is a copy of all that was learned. False (default): it has learned
            nothing.
        """
        estimator = (new_params or {}).get("estimator", self.estimator)
        return type(self)(copy.deepcopy(estimator) if include_attributes else clone(estimator))

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        """Parameters with which river's own checks make models: one for each estimator that can be wrapped."""
        for entry in registry.estimators():
            if entry.online and entry.task == cls._task:
                yield {"estimator": getattr(importlib.import_module(entry.module), entry.name)()}

    def _predicted(self, x: dict[Any, Any]) -> Any:
        """The prediction for one example as a Python object; None before any learning."""
        predicted = self.estimator.predict_one(x)
        return predicted.item() if isinstance(predicted, np.generic) else predicted


class WrappedClassifier(_Wrapped, base.Classifier):
    """A classifier of onkel as a classifier of river, made by `wrap`. It predicts labels, not probabilities."""

    _task = "classify"

    @property
    def _multiclass(self) -> bool:
        return True

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """The label of one example, or None before any learning."""
        return self._predicted(x)


class WrappedRegressor(_Wrapped, base.Regressor):
    """A regressor of onkel as a regressor of river, made by `wrap`."""

    _task = "regress"

    def predict_one(self, x: dict[Any, Any]) -> float:
        """The prediction for one example; 0 before any learning, the convention of river's regressors."""
        predicted = self._predicted(x)
        return 0.0 if predicted is None else float(predicted)
