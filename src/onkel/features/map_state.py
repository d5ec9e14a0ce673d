"""What the states of all maps have in common: the parameters, and the columns that the map was fitted on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from sklearn.base import BaseEstimator

from onkel._core.transaction import assign
from onkel.estimators.base.input import attributes_of
from onkel.estimators.state.checks import kernel_columns, part_of, refuse
from onkel.estimators.state.estimator import VERSION, Known, state_of
from onkel.estimators.state.parameters import read_params
from onkel.kernels import Kernel
from onkel.models.columns import Columns
from onkel.states.state import State

__all__ = ["check_vectors", "from_map_state", "map_state", "read_kernel"]

Map = TypeVar("Map", bound=BaseEstimator)


def map_state(estimator: Any, params: Mapping[str, Any], fitted: State | None) -> State:
    """The state of a map: the parameters `params` and, if it was fitted, its columns and the part `fitted`."""
    if fitted is None:
        return state_of(estimator, None, params)
    names = getattr(estimator, "feature_names_in_", None)
    columns = Columns(getattr(estimator, "n_features_in_", None), None if names is None else tuple(names))
    return state_of(estimator, Known({}, {"columns": columns.state(), "fitted": fitted}), params)


def from_map_state(cls: type[Map], state: State, fitted: str) -> tuple[Map, Columns, State | None]:
    """A map with the parameters of the state; its columns; and the part `fitted`, or None if there is none.

    `fitted` is the kind of this part.
    """
    state.expect(f"estimator/{cls.__name__}", VERSION)
    estimator = cls(**read_params(state, "params", cls))
    if "fitted" not in state.settings:
        return estimator, Columns(None), None
    columns: Columns = part_of(state, "columns", (Columns.KIND,))
    part = state.part("fitted")
    part.expect(fitted, VERSION)
    assign(estimator, **attributes_of(columns))
    return estimator, columns, part


def read_kernel(state: State, fitted: State, columns: Columns) -> Kernel:
    """The kernel of a fitted map, which must take data with these columns."""
    kernel: Kernel = fitted.kernel()
    kernel_columns(state, kernel, columns)
    return kernel


def check_vectors(state: State, columns: Columns) -> int:
    """The number of columns of a map that takes vectors."""
    kernel_columns(state, None, columns)
    if columns.n_features is None:
        raise refuse(state, "the map must have columns", None)
    return columns.n_features
