"""The state of an estimator that learns online: its parameters and all that it has learned, as plain values and arrays.

    settings   params, those that the learner was built with, and what a fit sets: n_iter_, converged_, gamma_, the
               certificate
    parts      what the running learner consists of: targets (what is known about y), columns, learner

A state may come from a file that somebody else wrote, so that reading it checks that all of this belongs together: the
learner is the one that the parameters describe, with the outputs of the targets and rows with the columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from onkel._core import Lock
from onkel._core.transaction import restore
from onkel.errors import InputError, KindError
from onkel.estimators.base.parameters import FREE, BuiltWith
from onkel.estimators.online.running import Running
from onkel.estimators.state.certificate import certified_settings, read_certified
from onkel.estimators.state.checks import check_rows, kernel_columns, part_of, refuse, rows_parts
from onkel.estimators.state.estimator import Known
from onkel.estimators.state.parameters import check_values, params_settings, read_params
from onkel.kernels import Kernel, Linear
from onkel.learners.learner import Learner
from onkel.models.columns import Columns
from onkel.models.vocabulary import Vocabulary
from onkel.states.state import Setting, State

__all__ = ["known", "learned", "read_known", "read_running", "resume", "snapshot"]

E = TypeVar("E")


# ---------------------------------------------------------------- of any estimator


Learned = tuple[dict[str, Setting], dict[str, State]]  # settings and parts of a state


def known(estimator: Any, figures: Sequence[str], learned: Callable[[Any], Learned]) -> Known | None:
    """What an estimator knows: these figures, if it has them, and what its running learner knows; None: nothing yet.

    `learned` gives what the running learner knows, under the lock.
    """
    if not hasattr(estimator, "_running"):
        return None
    with estimator._running.lock:
        settings, parts = learned(estimator._running)
        settings |= {key.strip("_"): getattr(estimator, key) for key in figures if hasattr(estimator, key)}
        settings["built_with"] = params_settings(estimator._built_with.params, estimator._name)
        if estimator._certified is not None:
            settings["certificate"] = certified_settings(estimator._certified)
        return Known(settings, parts)


def read_known(read: Callable[[State, Any], dict[str, Any]], state: State, estimator: Any) -> dict[str, Any]:
    """The attributes of an estimator that has learned; it goes on exactly as the one that gave the state.

    `read` gives what belongs to the running learner, from the state and an estimator with the parameters of its first
    fit.
    """
    built_with = read_params(state, "built_with", type(estimator))
    free = sorted(set(built_with) & (FREE | estimator.FREE_PARAMS))
    if free:
        raise refuse(state, "parameters that may change at any time must not be in 'built_with'", ", ".join(free))
    # what the learner was built from; its random numbers have been drawn already
    unused = {"random_state": 0} if hasattr(estimator, "random_state") else {}
    built: Any = type(estimator)(**(estimator.get_params(deep=False) | built_with | unused))
    check_values(built)
    new = {"n_iter_": state.count("n_iter"), "converged_": state.setting("converged", bool)}
    return new | read(state, built) | {"_built_with": BuiltWith(built_with), "_certified": read_certified(state)}


def snapshot(self: Any) -> State:
    """A frozen copy of the present state: parameters, all that was learned, counters and random numbers."""
    check_is_fitted(self, "_running")
    state: State = self.state()
    return state


def resume(self: E, state: State) -> E:
    """Goes back to a snapshot of an estimator of the same class; its parameters are restored, too.

    The same calls after it give the same model, bit for bit.
    """
    estimator: Any = self
    name = estimator._name
    if not isinstance(state, State):
        raise KindError(f"{name}: resume needs what snapshot() gave; got {type(state).__name__}.")
    if state.kind != f"estimator/{name}":
        given = state.kind.removeprefix("estimator/")
        raise KindError(f"{name}: resume needs a snapshot of a {name}; got one of a {given}.")
    new = estimator._unfitted() | vars(type(estimator).from_state(state))
    with vars(estimator).setdefault("_lock", Lock()):
        lock = estimator._lock
        if "_running" in new:
            new["_running"].lock = lock
        restore(estimator, new | {"_lock": lock})
    return self


# ---------------------------------------------------------------- of an estimator that learns from rows


def learned(running: Running) -> Learned:
    """What a running learner knows, as parts of a state."""
    parts = {"targets": running.targets, "columns": running.held_columns(), "learner": running.learner}
    return {}, {key: part.state() for key, part in parts.items()}


def read_running(state: State, built: Any) -> dict[str, Any]:
    """The attributes of a fitted estimator; `built` has the parameters with which its learner was built."""
    new = _read_figures(state, built)
    columns = part_of(state, "columns", (Columns.KIND, Vocabulary.KIND))
    targets = part_of(state, "targets", (built.TARGETS.KIND,))
    learner = _read_learner(state, built, columns, targets.n_outputs, new)
    lock = Lock()
    if hasattr(built, "kernel"):
        new["kernel_"] = learner.kernel or Linear()
    return new | {"_lock": lock, "_running": Running(learner, targets, columns, lock, built._name)}


def _read_figures(state: State, built: Any) -> dict[str, Any]:
    """The single values that a fit sets."""
    draw, is_psd = state.setting("draw", float, at_least=0), state.settings.get("is_psd")
    if draw >= 1 or not (is_psd is None or type(is_psd) is bool):
        raise refuse(state, "draw must be below 1 and is_psd be True, False or None", f"{draw} and {is_psd!r}")
    new: dict[str, Any] = {"_draw": draw}
    if hasattr(built, "kernel"):
        new["_is_psd"] = is_psd
    if "gamma" in state.settings:
        new["gamma_"] = state.setting("gamma", float, above=0)
    return new


def _read_learner(
    state: State, built: Any, columns: Columns | Vocabulary, n_outputs: int, new: dict[str, Any]
) -> Learner:
    """The learner of a state, which must be one that `built`, with the parameters of the first fit, would have made."""
    given, kernel = state.part("learner"), _expected_kernel(state, built, new.get("gamma_"))
    kernel_columns(state, kernel, columns)
    fresh = {made.kind: made for made in _learners(state, built, kernel or Linear(), columns.n_features, n_outputs)}
    learner: Learner = part_of(state, "learner", tuple(fresh))
    own, wanted = (
        {name: made.settings[name] for name in learner.BUILT_FROM} for made in (learner.state(), fresh[given.kind])
    )
    if State("settings", 1, own) != State("settings", 1, wanted):
        raise refuse(state, f"the learner must have been built with {wanted}, as the parameters say", own)
    if learner.n_features not in (None, columns.n_features):
        raise refuse(state, f"the learner must have weights for {columns.n_features} features", learner.n_features)
    if learner.n_outputs != n_outputs:
        raise refuse(state, f"the learner must have {n_outputs} output(s), as the targets", learner.n_outputs)
    if hasattr(built, "kernel") and (learner.kernel or Linear()) != kernel:
        raise refuse(state, f"the learner must have the kernel {kernel!r}, as the parameters say", learner.kernel)
    wide = np.dtype(np.float64) if given.kind == "learner/recursive-ridge" else None
    check_rows(state, kernel, columns, rows_parts(given), wide)
    return learner


def _expected_kernel(state: State, built: Any, gamma: float | None) -> Kernel | None:
    """The kernel that the parameters and gamma describe; None if there is no parameter for it."""
    if not hasattr(built, "kernel"):
        return None
    if isinstance(built.kernel, Kernel) != (gamma is None):
        raise refuse(state, "there must be a gamma if the kernel is given by its name, and only then", gamma)
    kernel: Kernel = built._named_kernel() if gamma is None else built._named_kernel(gamma)
    return kernel


def _learners(state: State, built: Any, kernel: Kernel, n_features: int | None, n_outputs: int) -> Iterator[State]:
    """The states of all learners that the parameters may have made, before they have learned; without any features.

    A state may say that there are more features than memory has room for. Those of the learner itself are in arrays.
    """
    hypotheses = [built.hypothesis, "voted", "last"] if "hypothesis" in built.FREE_PARAMS else [None]
    try:
        for hypothesis in hypotheses:  # it may have been another one when learning began
            if hypothesis is not None:
                built.hypothesis = hypothesis
            yield built._new_learner(kernel, None if n_features is None else 0, n_outputs).state()
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"the state of kind {state.kind!r}: its parameters cannot be used: {error}") from error
