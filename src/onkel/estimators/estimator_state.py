"""The state of an estimator: its parameters and everything that it has learned, as plain values and named arrays.

    settings   params, those that the learner was built with, and what a fit sets: n_iter_, converged_, gamma_, the
               certificate
    parts      targets (what is known about y), columns, learner

Parameters keep their types: the dict of `class_weight` becomes a list of pairs, a RandomState its numbers, and a kernel
that is a function a `Custom` kernel that holds it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from onkel._core import Lock
from onkel._core.transaction import assign, restore
from onkel.bounds.theorems import Certificate
from onkel.errors import KindError
from onkel.estimators.examples import attributes_of
from onkel.estimators.fitted import Certified, ScorerCache
from onkel.estimators.parameters import BuiltWith
from onkel.estimators.targets import Labels
from onkel.estimators.vocabulary import Vocabulary
from onkel.kernels import Kernel, Linear
from onkel.kernels.custom import Custom
from onkel.models.columns import Columns
from onkel.models.expansion import Expansion
from onkel.models.one_vs_one import OneVsOne
from onkel.models.state import Setting, State, from_state

if TYPE_CHECKING:
    from onkel.estimators.online import OnlineEstimator
    from onkel.estimators.svm_base import SupportVectorMachine

    Online = TypeVar("Online", bound=OnlineEstimator)
    Machine = TypeVar("Machine", bound=SupportVectorMachine)

__all__ = [
    "certificate_from_settings",
    "certificate_settings",
    "params_from_settings",
    "params_settings",
    "resume",
    "snapshot",
]

VERSION = 1


# ---------------------------------------------------------------- parameters


def params_settings(params: Mapping[str, Any], name: str) -> dict[str, Setting]:
    """The parameters of an estimator as settings; `name` is that of the estimator, for messages."""
    return {key: _encoded(value, f"{name}: {key}") for key, value in params.items()}


def params_from_settings(settings: Mapping[str, Setting]) -> dict[str, Any]:
    """The parameters whose settings these are."""
    return {key: _decoded(value) for key, value in settings.items()}


def _encoded(value: Any, what: str) -> Setting:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str, Kernel)):
        return value
    if isinstance(value, dict):
        return {"pairs": [[_encoded(key, what), _encoded(item, what)] for key, item in value.items()]}
    if isinstance(value, (list, tuple)):
        return {"tuple" if isinstance(value, tuple) else "list": [_encoded(item, what) for item in value]}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return {"array": value.tolist(), "dtype": value.dtype.str}
    if isinstance(value, np.random.RandomState):
        kind, key, position, has_gauss, gauss = value.get_state()
        return {"random": [kind, np.asarray(key).tolist(), position, has_gauss, gauss]}
    if callable(value):
        return {"function": Custom(value)}
    raise KindError(
        f"{what} cannot be kept in a state; got {type(value).__name__}. Use a number, a string or a kernel."
    )


def _decoded(value: Setting) -> Any:
    if not isinstance(value, Mapping):
        return value
    if "pairs" in value:
        return {key: _decoded(item) for key, item in value["pairs"]}  # type: ignore[union-attr, misc]
    if "list" in value or "tuple" in value:
        items: Any = value["list"] if "list" in value else value["tuple"]
        return [_decoded(item) for item in items] if "list" in value else tuple(_decoded(item) for item in items)
    if "array" in value:
        return np.array(value["array"], dtype=np.dtype(value["dtype"]))  # type: ignore[arg-type]
    if "random" in value:
        numbers: Any = value["random"]
        kind, key, position, has_gauss, gauss = numbers
        random = np.random.RandomState()
        random.set_state((kind, np.array(key, dtype=np.uint32), position, has_gauss, gauss))
        return random
    function = value["function"]
    assert isinstance(function, Custom)
    return function.fn


# ---------------------------------------------------------------- online estimators


def online_state(estimator: OnlineEstimator) -> State:
    """Everything an online estimator is: its parameters and, if it has learned, all that it knows."""
    settings: dict[str, Setting] = {"params": params_settings(estimator.get_params(deep=False), estimator._name)}
    if not hasattr(estimator, "_learner"):
        return State(f"estimator/{estimator._name}", VERSION, settings)
    with estimator._lock:
        return _fitted_state(estimator, settings)


def _fitted_state(estimator: OnlineEstimator, settings: dict[str, Setting]) -> State:
    for key in ("n_iter_", "converged_", "gamma_", "_draw", "_is_psd"):
        if hasattr(estimator, key):
            settings[key.strip("_")] = getattr(estimator, key)
    settings["built_with"] = params_settings(estimator._built_with.params, estimator._name)
    if estimator._certified is not None:
        about, certificate = estimator._certified
        settings["certificate"] = {"about": about, **certificate_settings(certificate)}  # type: ignore[dict-item]
    state = State(f"estimator/{estimator._name}", VERSION, settings)
    columns = estimator._columns
    if isinstance(columns, Vocabulary):
        columns = columns.held_by(estimator._learner)
    parts = {"targets": estimator._targets, "columns": columns, "learner": estimator._learner}
    for key, part in parts.items():
        state = state.with_part(key, part.state())
    return state


def online_from_state(cls: type[Online], state: State) -> Online:
    """The estimator of a state; it goes on exactly as the one that gave it."""
    state.expect(f"estimator/{cls.__name__}", VERSION)
    estimator = cls(**params_from_settings(state.settings["params"]))  # type: ignore[arg-type]
    if "learner" not in state.settings:
        return estimator
    learner, targets = from_state(state.part("learner")), from_state(state.part("targets"))
    columns = from_state(state.part("columns"))
    assert isinstance(columns, Columns | Vocabulary)
    new: dict[str, Any] = {"_learner": learner, "_targets": targets, "_columns": columns, "_certified": None}
    new["_scorer"], new["_lock"] = ScorerCache(), Lock()
    new["_built_with"] = BuiltWith(params_from_settings(state.settings["built_with"]))  # type: ignore[arg-type]
    for key in ("n_iter_", "converged_", "gamma_", "_draw", "_is_psd"):
        if key.strip("_") in state.settings:
            new[key] = state.settings[key.strip("_")]
    if isinstance(targets, Labels):
        new["classes_"] = targets.classes
    new |= attributes_of(columns)
    if hasattr(estimator, "kernel"):
        new["kernel_"] = learner.kernel or Linear()  # type: ignore[attr-defined]
    certificate = state.settings.get("certificate")
    if isinstance(certificate, Mapping):
        new["_certified"] = Certified(certificate["about"], certificate_from_settings(certificate))
    assign(estimator, **new)
    return estimator


def certificate_settings(certificate: Certificate) -> dict[str, Setting]:
    found = {field.name: getattr(certificate, field.name) for field in dataclasses.fields(certificate)}
    return found | {"parts": [certificate_settings(part) for part in certificate.parts]}


def certificate_from_settings(settings: Mapping[str, Setting]) -> Certificate:
    given: dict[str, Any] = {field.name: settings[field.name] for field in dataclasses.fields(Certificate)}
    given["parts"] = tuple(certificate_from_settings(part) for part in given["parts"])
    return Certificate(**given)


# ---------------------------------------------------------------- support vector machines

SVM_ARRAYS = ("classes_", "class_weight_", "_high", "support_", "n_support_", "intercept_")
SVM_FIGURES = ("n_iter_", "objective_", "dual_gap_")  # numbers, or arrays with one for each pair of classes


def svm_state(estimator: SupportVectorMachine) -> State:
    """Everything a support vector machine is: its parameters and, if it was fitted, the solution."""
    estimator = estimator._view()
    kind = f"estimator/{estimator._name}"
    settings: dict[str, Setting] = {"params": params_settings(estimator.get_params(deep=False), estimator._name)}
    if not hasattr(estimator, "_scorer"):
        return State(kind, VERSION, settings)
    for key in ("_sparse", "_on_objects", "fit_status_", "gamma_"):
        if hasattr(estimator, key):
            settings[key.strip("_")] = getattr(estimator, key)
    settings["shape_fit"] = list(estimator.shape_fit_)
    arrays = {key.strip("_"): np.array(getattr(estimator, key)) for key in SVM_ARRAYS if hasattr(estimator, key)}
    arrays |= {key.strip("_"): np.array(getattr(estimator, key)) for key in SVM_FIGURES}
    state = State(kind, VERSION, settings, arrays)
    return state.with_part("scorer", estimator._scorer.state()).with_part("columns", estimator._columns.state())


def svm_from_state(cls: type[Machine], state: State) -> Machine:
    """The estimator of a state."""
    state.expect(f"estimator/{cls.__name__}", VERSION)
    estimator = cls(**params_from_settings(state.settings["params"]))  # type: ignore[arg-type]
    if "scorer" not in state.settings:
        return estimator
    scorer, columns = from_state(state.part("scorer")), Columns.from_state(state.part("columns"))
    assert isinstance(scorer, Expansion | OneVsOne)
    new: dict[str, Any] = {"_scorer": scorer, "_columns": columns, "kernel_": scorer.kernel}
    for key in ("_sparse", "_on_objects", "fit_status_", "gamma_"):
        if key.strip("_") in state.settings:
            new[key] = state.settings[key.strip("_")]
    new["shape_fit_"] = tuple(state.settings["shape_fit"])  # type: ignore[arg-type]
    new |= {key: state.array(key.strip("_")).copy() for key in SVM_ARRAYS if key.strip("_") in state.arrays}
    for key in SVM_FIGURES:
        figure = state.array(key.strip("_"))
        new[key] = figure.item() if figure.ndim == 0 else figure.copy()
    new |= attributes_of(columns)
    assign(estimator, **new)
    coef = scorer.coef.T if isinstance(scorer, Expansion) else scorer.coef
    estimator.dual_coef_ = estimator._as_given(np.array(coef, order="C"))
    return estimator


# ---------------------------------------------------------------- checkpoints


def snapshot(self: OnlineEstimator) -> State:
    """A frozen copy of the present state: parameters, support vectors, weights, counters and random numbers."""
    check_is_fitted(self, "_learner")
    return self.state()


def resume(self: Online, state: State) -> Online:
    """Goes back to a snapshot of an estimator of the same class; its parameters are restored, too.

    The same calls after it give the same model, bit for bit.
    """
    if not isinstance(state, State):
        raise KindError(f"{self._name}: resume needs what snapshot() gave; got {type(state).__name__}.")
    if state.kind != f"estimator/{self._name}":
        given = state.kind.removeprefix("estimator/")
        raise KindError(f"{self._name}: resume needs a snapshot of a {self._name}; got one of a {given}.")
    new = self._unfitted() | dict(vars(type(self).from_state(state)))
    with self.__dict__.setdefault("_lock", Lock()):
        restore(self, new | {"_lock": self._lock})
    return self
