"""The state of an index of features: which room it comes from is told by its kind."""

from __future__ import annotations

from typing import Any

from onkel.data.string_features import StringFeatures, VectorFeatures
from onkel.data.template_features import TemplateFeatures
from onkel.data.token_features import FeatureIndex
from onkel.errors import InputError
from onkel.states.state import State

__all__ = ["index_from_state", "index_state"]

VERSION = 1
INDEXES: dict[str, Any] = {
    "features/templates": TemplateFeatures,
    "features/strings": StringFeatures,
    "features/vectors": VectorFeatures,
}


def index_state(index: FeatureIndex) -> State:
    """The settings and arrays of an index, as a `State`."""
    kind = next(kind for kind, cls in INDEXES.items() if type(index) is cls)
    settings, arrays = index.state()
    return State(kind, VERSION, settings, arrays)


def index_from_state(state: State) -> FeatureIndex:
    """The index that has this state."""
    if state.kind not in INDEXES:
        raise InputError(f"the state of features must be of kind {', '.join(INDEXES)}; got {state.kind!r}.")
    state.expect(state.kind, VERSION)
    index: FeatureIndex = INDEXES[state.kind].from_state(dict(state.settings), dict(state.arrays))
    return index
