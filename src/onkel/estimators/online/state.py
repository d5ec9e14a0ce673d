"""The state of an online estimator: its parameters and everything that it has learned, as plain values and arrays.

    settings   params, those that the learner was built with, and what a fit sets: n_iter_, converged_, gamma_, the
               certificate
    parts      targets (what is known about y), columns, learner

A state may come from a file that somebody else wrote, so that reading it checks that all of this belongs together: the
learner is the one that the parameters describe, with the outputs of the targets and rows with the columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from onkel._core import Lock
from onkel._core.transaction import assign, restore
from onkel.errors import InputError, KindError
from onkel.estimators.base.parameters import FREE, BuiltWith
from onkel.estimators.base.targets import Labels
from onkel.estimators.online.examples import attributes_of
from onkel.estimators.online.fitted import ScorerCache
from onkel.estimators.online.vocabulary import Vocabulary
from onkel.estimators.state.certificate import certified_settings, read_certified
from onkel.estimators.state.checks import check_rows, kernel_columns, part_of, refuse, rows_parts
from onkel.estimators.state.parameters import check_values, params_settings, read_params
from onkel.kernels import Kernel, Linear
from onkel.learners.learner import Learner
from onkel.models.columns import Columns
from onkel.states.state import Setting, State

if TYPE_CHECKING:
    from onkel.estimators.online.estimator import OnlineEstimator

    Online = TypeVar("Online", bound=OnlineEstimator)

__all__ = ["online_from_state", "online_state", "resume", "snapshot"]

VERSION = 1
LINEAR = {"learner/linear-perceptron": "V", "learner/linear-ranking": "V", "learner/linear-prank": "w"}
# settings of learners that follow from the parameters of their estimator
BUILT_RULE = ("rule", "policy", "norma", "first_margin", "pairs", "bias")
BUILT = (*BUILT_RULE, "eta", "budget", "aggressive", "C", "tol", "cache_bytes", "alpha", "nu", "forgetting")


# ---------------------------------------------------------------- writing


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
        settings["certificate"] = certified_settings(estimator._certified)
    state = State(f"estimator/{estimator._name}", VERSION, settings)
    columns = estimator._columns
    if isinstance(columns, Vocabulary):
        columns = columns.held_by(estimator._learner)
    parts = {"targets": estimator._targets, "columns": columns, "learner": estimator._learner}
    for key, part in parts.items():
        state = state.with_part(key, part.state())
    return state


# ---------------------------------------------------------------- reading


def online_from_state(cls: type[Online], state: State) -> Online:
    """The estimator of a state; it goes on exactly as the one that gave it."""
    state.expect(f"estimator/{cls.__name__}", VERSION)
    params = read_params(state, "params", cls)
    estimator = cls(**params)
    if "learner" not in state.settings:
        return estimator
    check_values(estimator)
    built_with = read_params(state, "built_with", cls)
    free = sorted(set(built_with) & (FREE | cls.FREE_PARAMS))
    if free:
        raise refuse(state, "parameters that may change at any time must not be in 'built_with'", ", ".join(free))
    # what the learner was built from; its random numbers have been drawn already
    unused = {"random_state": 0} if hasattr(estimator, "random_state") else {}
    built = cls(**(params | built_with | unused))
    check_values(built)
    new = _read_figures(state, estimator)
    columns = part_of(state, "columns", (Columns.KIND, Vocabulary.KIND))
    targets = part_of(state, "targets", (cls.TARGETS.KIND,))  # type: ignore[attr-defined]
    learner = _read_learner(state, built, columns, targets.n_outputs, new)
    new |= {"_learner": learner, "_targets": targets, "_columns": columns, "_certified": read_certified(state)}
    new |= {"_scorer": ScorerCache(), "_lock": Lock(), "_built_with": BuiltWith(built_with)}
    if isinstance(targets, Labels):
        new["classes_"] = targets.classes
    new |= attributes_of(columns)
    if hasattr(estimator, "kernel"):
        new["kernel_"] = learner.kernel or Linear()
    assign(estimator, **new)
    return estimator


def _read_figures(state: State, estimator: OnlineEstimator) -> dict[str, Any]:
    """The single values that a fit sets."""
    draw, is_psd = state.setting("draw", float, at_least=0), state.settings.get("is_psd")
    if draw >= 1 or not (is_psd is None or type(is_psd) is bool):
        raise refuse(state, "draw must be below 1 and is_psd be True, False or None", f"{draw} and {is_psd!r}")
    new: dict[str, Any] = {"n_iter_": state.count("n_iter"), "converged_": state.setting("converged", bool)}
    new["_draw"] = draw
    if hasattr(estimator, "kernel"):
        new["_is_psd"] = is_psd
    if "gamma" in state.settings:
        new["gamma_"] = state.setting("gamma", float, above=0)
    return new


def _read_learner(
    state: State, built: OnlineEstimator, columns: Columns | Vocabulary, n_outputs: int, new: dict[str, Any]
) -> Learner:
    """The learner of a state, which must be one that `built`, with the parameters of the first fit, would have made."""
    given, kernel = state.part("learner"), _expected_kernel(state, built, new.get("gamma_"))
    kernel_columns(state, kernel, columns)
    n_features = columns.n_features
    if given.kind in LINEAR:  # before a learner of this size is made
        name = LINEAR[given.kind]
        weights, shape = given.array(name), (n_features,) if name == "w" else (n_outputs, (n_features or 0) + 1)
        if weights.shape != shape:
            raise refuse(state, f"a learner of {n_features} features must have weights of shape {shape}", weights.shape)
    fresh = {made.kind: made for made in _learners(state, built, kernel or Linear(), n_features, n_outputs)}
    learner: Learner = part_of(state, "learner", tuple(fresh))
    own, wanted = (
        {key: s.settings[key] for key in BUILT if key in s.settings} for s in (learner.state(), fresh[given.kind])
    )
    if State("settings", 1, own) != State("settings", 1, wanted):
        raise refuse(state, f"the learner must have been built with {wanted}, as the parameters say", own)
    if learner.n_outputs != n_outputs:
        raise refuse(state, f"the learner must have {n_outputs} output(s), as the targets", learner.n_outputs)
    if hasattr(built, "kernel") and (learner.kernel or Linear()) != kernel:
        raise refuse(state, f"the learner must have the kernel {kernel!r}, as the parameters say", learner.kernel)
    wide = np.dtype(np.float64) if given.kind == "learner/recursive-ridge" else None
    check_rows(state, kernel, columns, rows_parts(given), wide)
    return learner


def _expected_kernel(state: State, built: OnlineEstimator, gamma: float | None) -> Kernel | None:
    """The kernel that the parameters and gamma describe; None if there is no parameter for it."""
    if not hasattr(built, "kernel"):
        return None
    if isinstance(built.kernel, Kernel) != (gamma is None):
        raise refuse(state, "there must be a gamma if the kernel is given by its name, and only then", gamma)
    return built._named_kernel() if gamma is None else built._named_kernel(gamma)


def _learners(
    state: State, built: OnlineEstimator, kernel: Kernel, n_features: int | None, n_outputs: int
) -> Iterator[State]:
    """The states of all learners that the parameters may have made, before they have learned."""
    hypotheses = [built.hypothesis, "voted", "last"] if "hypothesis" in built.FREE_PARAMS else [None]
    try:
        for hypothesis in hypotheses:  # it may have been another one when learning began
            if hypothesis is not None:
                built.hypothesis = hypothesis
            yield built._new_learner(kernel, n_features, n_outputs).state()
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"the state of kind {state.kind!r}: its parameters cannot be used: {error}") from error


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
