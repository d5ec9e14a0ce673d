"""What the states of all estimators and maps have in common: their parameters and, if they have learned, the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from numpy.typing import NDArray

from onkel._core.transaction import assign
from onkel.estimators.state.parameters import check_values, params_settings, read_params
from onkel.states.state import Setting, State

__all__ = ["VERSION", "Known", "read_estimator", "state_of"]

VERSION = 1
E = TypeVar("E")


class Known(NamedTuple):
    """What an estimator has learned, as settings, parts and arrays of a state."""

    settings: Mapping[str, Setting]
    parts: Mapping[str, State]
    arrays: Mapping[str, NDArray] = {}


def state_of(estimator: Any, known: Known | None, params: Mapping[str, Any] | None = None) -> State:
    """Everything an estimator is; `known` is None before it has learned, `params` are its parameters."""
    name = type(estimator).__name__
    params = estimator.get_params(deep=False) if params is None else params
    settings: dict[str, Setting] = {"params": params_settings(params, name)}
    if known is None:
        return State(f"estimator/{name}", VERSION, settings)
    state = State(f"estimator/{name}", VERSION, settings | dict(known.settings), known.arrays)
    for key, part in known.parts.items():
        state = state.with_part(key, part)
    return state


def read_estimator(cls: type[E], state: State, learned: str, read: Callable[[State, Any], Mapping[str, Any]]) -> E:
    """The estimator of a state, which may come from a file.

    The part `learned` is there if it has learned; then `read` gives the attributes of a fitted estimator, from the
    state and the estimator with its parameters.
    """
    state.expect(f"estimator/{cls.__name__}", VERSION)
    estimator = cls(**read_params(state, "params", cls))
    if learned in state.settings:
        check_values(estimator)
        assign(estimator, **read(state, estimator))
    return estimator
