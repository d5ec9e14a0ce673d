"""The columns of the data that a model was trained on: how many, their names and their dtype.

If they have names, examples may come by name: as a dict or a Series {feature: value}, or as a list of dicts. A feature
that is missing counts as 0, and one that has no column is left out.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from onkel.errors import InputError, KindError, ValuesError
from onkel.kernels.vectors import Csr, VectorRows
from onkel.states.frozen import Frozen
from onkel.states.state import State

__all__ = ["FEW", "Columns", "csr_of_dicts", "dict_of", "dicts_of"]

DOUBLE = np.dtype(np.float64)
SHOWN = 5  # names that a message lists
FEW = 64  # dicts with at most this many features in all become dense rows


def dict_of(x: Any, *, frames: bool) -> Any:
    """One example that has names as a dict {feature: value}; anything else as it is.

    It is a mapping or a Series whose index are strings; with `frames`, also a data frame of one row whose columns are
    strings.
    """
    if type(x) is np.ndarray or isinstance(x, dict):
        return x
    if isinstance(x, Mapping):
        return dict(x)
    if frames and _is_frame(x) and len(x) == 1:
        return _rows_of_frame(x)[0]
    if hasattr(x, "index") and hasattr(x, "to_numpy") and getattr(x, "ndim", 0) == 1:
        names = list(x.index)
        if names and all(isinstance(name, str) for name in names):
            return dict(zip(names, x.to_numpy().tolist(), strict=True))
    return x


def dicts_of(X: Any, *, frames: bool) -> list[dict[Any, Any]] | None:
    """Examples that have names as a list of dicts; None if they have none.

    They are a sequence of mappings or of Series whose index are strings; with `frames`, also a data frame whose columns
    are strings.
    """
    if frames and _is_frame(X):
        return _rows_of_frame(X)
    is_sequence = isinstance(X, (list, tuple)) or (type(X) is np.ndarray and X.ndim == 1 and X.dtype == object)
    if is_sequence and len(X) and (isinstance(X[0], Mapping) or hasattr(X[0], "index")):
        found = [dict_of(x, frames=False) for x in X]
        if all(isinstance(x, dict) for x in found):
            return found
    return None


def _is_frame(X: Any) -> bool:
    """Whether X is a data frame whose columns are strings."""
    return hasattr(X, "columns") and hasattr(X, "to_numpy") and all(isinstance(name, str) for name in X.columns)


def _rows_of_frame(X: Any) -> list[dict[Any, Any]]:
    names = list(X.columns)
    return [dict(zip(names, row, strict=True)) for row in X.to_numpy().tolist()]


def csr_of_dicts(examples: Sequence[Mapping[Any, Any]], places: Mapping[Any, int], dtype: np.dtype, who: str) -> Csr:
    """Dicts as CSR rows; `places` has the column of each feature, others are left out."""
    indptr, indices, data = [0], [], []
    for x in examples:
        row = {places[name]: _number(name, value, who) for name, value in x.items() if name in places}
        indices += sorted(row)
        data += [row[place] for place in sorted(row)]
        indptr.append(len(indices))
    values = np.array(data, dtype=np.float64)
    if not np.isfinite(values).all():
        raise ValuesError(f"{who}: x must be finite; got NaN or infinity.")
    return Csr(np.array(indptr, dtype=np.int64), np.array(indices, dtype=np.int32), values.astype(dtype, copy=False))


def _number(name: Any, value: Any, who: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise KindError(
            f"{who}: the values of x must be numbers; got {name!r}: {value!r}. "
            "Encode it first, such as {'colour=red': 1.0}."
        ) from error


@dataclasses.dataclass(frozen=True, eq=False)
class Columns(Frozen):
    """The columns of the data that a model was trained on.

    Parameters
    ----------
    n_features : their number; None for objects, which have none.
    names : their names, from a data frame or from dicts; None (default): they have none.
    dtype : the dtype of the data, float64 (default) or float32.
    growing : whether the estimator learns from dicts, which may bring more features; False by default. A model only
        records it.
    """

    KIND: ClassVar[str] = "columns/plain"
    VERSION: ClassVar[int] = 1

    n_features: int | None
    names: tuple[Hashable, ...] | None = None
    dtype: np.dtype = DOUBLE
    growing: bool = False

    @functools.cached_property
    def places(self) -> dict[Hashable, int]:
        """The column of each name."""
        return {name: i for i, name in enumerate(self.names or ())}

    def check_named(self, who: str) -> None:
        """Refuses dicts if the columns have no names."""
        if self.names is None:
            raise KindError(
                f"{who} was trained on vectors of {self.n_features} features without names, so x must be such a "
                "vector; got a dict. For dicts, begin to learn from dicts or from a data frame."
            )

    def vector(self, x: Mapping[Any, Any], who: str) -> NDArray[np.float64]:
        """{feature: value} as a vector: 0 where a feature is missing; features without a column are left out."""
        self.check_named(who)
        vector = np.zeros(len(self.names or ()))
        for name, value in x.items():
            place = self.places.get(name)
            if place is not None:
                vector[place] = _number(name, value, who)
        if not np.isfinite(vector).all():
            raise ValuesError(f"{who}: x must be finite; got NaN or infinity.")
        return vector

    def rows(self, examples: Sequence[Mapping[Any, Any]], who: str) -> VectorRows:
        """Dicts as rows: dense ones, or CSR rows if there are more than `FEW` features."""
        if self.names is None or len(self.names) <= FEW:
            return VectorRows(np.array([self.vector(x, who) for x in examples], dtype=self.dtype))
        return VectorRows(csr_of_dicts(examples, self.places, self.dtype, who), len(self.names))

    def check_names(self, X: Any) -> None:
        """Refuses a data frame whose columns have other names or another order; of other data it checks nothing."""
        found = getattr(X, "columns", None)
        if found is None or self.names is None or not all(isinstance(name, str) for name in found):
            return
        given = tuple(found)
        if given == self.names:
            return
        message = "The feature names should match those that were passed during fit.\n"
        new, missing = sorted(set(given) - set(self.names)), sorted(map(str, set(self.names) - set(given)))
        if new:
            message += "Feature names unseen at fit time:\n" + _listed(new)
        if missing:
            message += "Feature names seen at fit time, yet now missing:\n" + _listed(missing)
        if not new and not missing:
            message += "Feature names must be in the same order as they were in fit.\n"
        raise InputError(message)

    def names_array(self) -> NDArray:
        """The names as an array of objects."""
        names = np.empty(len(self.names or ()), dtype=object)
        for i, name in enumerate(self.names or ()):  # one by one, because a name may be a tuple
            names[i] = name
        return names

    def state(self) -> State:
        """Number, names and dtype, as a `State`."""
        settings = {"n_features": self.n_features, "dtype": np.dtype(self.dtype).name, "open": bool(self.growing)}
        if self.names is None:
            return State(self.KIND, self.VERSION, settings)
        return State(self.KIND, self.VERSION, settings, {"names": self.names_array()})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The columns that have this state."""
        state.expect(cls.KIND, cls.VERSION)
        n_features = state.count("n_features") if state.has("n_features") else None
        given, names = state.optional_array("names", object, (n_features,)), None
        if given is not None:
            state.check(n_features is not None, "features with names must have a number")
            names = tuple(given.tolist())
            state.check(all(isinstance(name, Hashable) for name in names), "the names of features must be hashable")
        dtype = np.dtype(state.choice("dtype", ("float32", "float64")))
        return cls(n_features, names, dtype, state.setting("open", bool))


def _listed(names: list[str]) -> str:
    lines = [f"- {name}\n" for name in names[:SHOWN]]
    return "".join(lines) + ("- ...\n" if len(names) > SHOWN else "")
