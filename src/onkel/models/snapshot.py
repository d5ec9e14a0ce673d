"""Snapshots: the whole state of an estimator, frozen, from which learning can be resumed exactly."""

from __future__ import annotations

import copy
import dataclasses
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from onkel.errors import KindError

__all__ = ["Snapshot", "Snapshots"]


@dataclasses.dataclass(frozen=True, eq=False)
class Snapshot:
    """The state of an estimator at one moment: its parameters and everything that it had learned.

    A snapshot shares no memory with the estimator, so the estimator can go on learning without changing it.
    ``estimator.resume(snapshot)`` goes back to it.

    Attributes
    ----------
    kind : the name of the estimator's class.
    params : the estimator's parameters, by name; a read-only mapping.
    arrays : the arrays that the learner itself holds, by name, as read-only views: depending on the learner, weights,
        counters and the state of its random numbers. Arrays inside its parts, such as the support vectors, are saved
        and restored as well, but are not listed here.
    """

    kind: str
    _params: dict[str, Any]
    _fitted: dict[str, Any] = dataclasses.field(repr=False)

    @property
    def params(self) -> MappingProxyType[str, Any]:
        """The estimator's parameters, by name."""
        return MappingProxyType(self._params)

    @property
    def arrays(self) -> MappingProxyType[str, NDArray[Any]]:
        """The arrays that the learner itself holds, by name, as read-only views."""
        found = {}
        for name, value in vars(self._fitted["_learner"]).items():
            if isinstance(value, np.ndarray):
                found[name.strip("_")] = value.view()
                found[name.strip("_")].flags.writeable = False
        return MappingProxyType(found)


class Snapshots:
    """Mixin that gives an estimator the methods `snapshot` and `resume`."""

    def snapshot(self) -> Snapshot:
        """A frozen copy of the present state: parameters, support vectors, weights, counters and random numbers."""
        check_is_fitted(self, "_learner")
        params = self.get_params(deep=False)  # type: ignore[attr-defined]
        fitted = {name: value for name, value in vars(self).items() if name not in params}
        return Snapshot(type(self).__name__, copy.deepcopy(params), copy.deepcopy(fitted))

    def resume(self, state: Snapshot) -> Self:
        """Goes back to a snapshot of an estimator of the same class; its parameters are restored, too.

        The same calls after it give the same model, bit for bit.
        """
        who = type(self).__name__
        if not isinstance(state, Snapshot):
            raise KindError(f"{who}: resume needs what snapshot() gave; got {type(state).__name__}.")
        if state.kind != who:
            raise KindError(f"{who}: resume needs a snapshot of a {who}; got one of a {state.kind}.")
        vars(self).clear()
        vars(self).update(copy.deepcopy(state._params), **copy.deepcopy(state._fitted))
        return self
