"""Checkpoints: the whole state of a learner, frozen, to go on from bit by bit."""

from __future__ import annotations

import copy
import dataclasses
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from onkel.errors import KindError

__all__ = ["Snapshot", "Snapshots"]


@dataclasses.dataclass(frozen=True, eq=False)
class Snapshot:
    """What an estimator was at one moment: its parameters and all that it had learned.

    It shares no memory with the estimator, which may go on; ``estimator.resume(snapshot)`` goes back.

    Attributes
    ----------
    kind : the estimator's class.
    params : its parameters.
    arrays : the learner's arrays, read-only: weights, counters, the state of its random numbers.
    """

    kind: str
    _params: dict[str, Any]
    _fitted: dict[str, Any] = dataclasses.field(repr=False)

    @property
    def params(self) -> MappingProxyType[str, Any]:
        return MappingProxyType(self._params)

    @property
    def arrays(self) -> MappingProxyType[str, NDArray[Any]]:
        found = {}
        for name, value in vars(self._fitted["_learner"]).items():
            if isinstance(value, np.ndarray):
                found[name.strip("_")] = value.view()
                found[name.strip("_")].flags.writeable = False
        return MappingProxyType(found)


class Snapshots:
    """Gives an estimator `snapshot` and `resume`."""

    def snapshot(self) -> Snapshot:
        """The state of now: support, weights, counters, random numbers."""
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(self, "_learner")
        params = self.get_params(deep=False)  # type: ignore[attr-defined]
        fitted = {name: value for name, value in vars(self).items() if name not in params}
        return Snapshot(type(self).__name__, copy.deepcopy(params), copy.deepcopy(fitted))

    def resume(self, state: Snapshot) -> Self:
        """Goes on from a snapshot: the same later calls give the same model, bit for bit."""
        who = type(self).__name__
        if not isinstance(state, Snapshot):
            raise KindError(f"{who}: resume needs what snapshot() gave; got {type(state).__name__}.")
        if state.kind != who:
            raise KindError(f"{who}: resume needs a snapshot of a {who}; got one of a {state.kind}.")
        vars(self).clear()
        vars(self).update(copy.deepcopy(state._params), **copy.deepcopy(state._fitted))
        return self
