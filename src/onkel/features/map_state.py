"""What the states of all maps have in common: the parameters, and the columns that the map was fitted on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from sklearn.base import BaseEstimator

from onkel._core.transaction import assign
from onkel.estimators.estimator_state import params_from_settings, params_settings
from onkel.estimators.examples import attributes_of
from onkel.models.columns import Columns
from onkel.models.state import Setting, State

__all__ = ["from_map_state", "map_state"]

VERSION = 1
Map = TypeVar("Map", bound=BaseEstimator)


def map_state(estimator: Any, params: Mapping[str, Any], fitted: State | None) -> State:
    """The state of a map: the parameters `params` and, if it was fitted, its columns and the part `fitted`."""
    name = type(estimator).__name__
    settings: dict[str, Setting] = {"params": params_settings(params, name)}
    state = State(f"estimator/{name}", VERSION, settings)
    if fitted is None:
        return state
    names = getattr(estimator, "feature_names_in_", None)
    columns = Columns(getattr(estimator, "n_features_in_", None), None if names is None else tuple(names))
    return state.with_part("columns", columns.state()).with_part("fitted", fitted)


def from_map_state(cls: type[Map], state: State) -> tuple[Map, State | None]:
    """A map with the parameters and the columns of the state; and the part `fitted`, or None if there is none."""
    state.expect(f"estimator/{cls.__name__}", VERSION)
    estimator = cls(**params_from_settings(state.settings["params"]))  # type: ignore[arg-type]
    if "fitted" not in state.settings:
        return estimator, None
    assign(estimator, **attributes_of(Columns.from_state(state.part("columns"))))
    return estimator, state.part("fitted")
