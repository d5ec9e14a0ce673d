"""onkel's online estimators as estimators of river: pipelines, metrics and evaluation take them as their own.

    model = river.preprocessing.StandardScaler() | onkel.river.wrap(onkel.KernelPerceptron(gamma=1.0))

River's examples are dicts. They go as they are to the estimator's `learn_one` and `predict_one`, where a
feature that is missing counts as 0 and a new one gets a column of its own. This module needs river:
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
    """An estimator of river that learns and predicts by an online estimator of onkel.

    The estimator itself learns, so what it tells of itself (`support_`, `mistakes_`) is to be read there,
    in ``wrapped.estimator``; `clone` gives a fresh one with the same parameters.

    Parameters
    ----------
    estimator : a classifier or regressor with `learn_one` and `predict_one`. River shows a model one example
        at a time, so a gamma such as "scale" would be taken from the first one alone: give a number.

    Cost: that of the estimator's own `learn_one` and `predict_one`.

    >>> from onkel import Perceptron
    >>> from onkel.river import wrap
    >>> wrap(Perceptron(hypothesis="averaged"))
    WrappedClassifier (
      estimator=Perceptron(hypothesis='averaged')
    )

    Source: river's own `compat.convert_sklearn_to_river`, which cannot let features come and go.
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
    """What both kinds share: the estimator is the only parameter, and all the state there is."""

    _task: ClassVar[str]

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Learns from one example: a dict of features and its label or target."""
        self.estimator.learn_one(x, y)

    def clone(self, new_params: dict[str, Any] | None = None, include_attributes: bool = False) -> Self:
        """A new model with the same parameters, that has learned nothing unless `include_attributes`."""
        estimator = (new_params or {}).get("estimator", self.estimator)
        return type(self)(copy.deepcopy(estimator) if include_attributes else clone(estimator))

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        """What river may make for its own tests: one of each estimator that can be wrapped."""
        for entry in registry.estimators():
            if entry.online and entry.task == cls._task:
                yield {"estimator": getattr(importlib.import_module(entry.module), entry.name)()}

    def _predicted(self, x: dict[Any, Any]) -> Any:
        predicted = self.estimator.predict_one(x)
        return predicted.item() if isinstance(predicted, np.generic) else predicted


class WrappedClassifier(_Wrapped, base.Classifier):
    """A classifier of onkel as one of river, made by `wrap`. It has no probabilities, only labels."""

    _task = "classify"

    @property
    def _multiclass(self) -> bool:
        return True

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """The label of one example, or None before any learning."""
        return self._predicted(x)


class WrappedRegressor(_Wrapped, base.Regressor):
    """A regressor of onkel as one of river, made by `wrap`."""

    _task = "regress"

    def predict_one(self, x: dict[Any, Any]) -> float:
        """The prediction for one example, 0 before any learning, as river has it."""
        predicted = self._predicted(x)
        return 0.0 if predicted is None else float(predicted)
