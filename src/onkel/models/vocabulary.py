"""Streams of dicts with many features: their columns, which follow what the learner holds.

A dict of words has few of very many features, so it becomes a CSR row. Each feature has a column as long as something
that was learned depends on it; after that it is forgotten, and its column is given to another feature. So a learner
with a budget takes bounded memory, however many features a stream has. Examples are learned from with all of their
features: forgetting changes nothing in what is learned. In a prediction a feature without a column is left out.

Dicts with few features, or dense ones, become dense rows (`onkel.models.columns.Columns`), whose features stay.

A vocabulary never changes: learning puts another one in its place, before the learner sees new features, together with
a learner that has room for them, and again when it has learned. So every column that the learner depends on has its
name at any moment, whatever interruption, reader or undoing comes between.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from onkel.errors import InputError, KindError
from onkel.kernels.vectors import FEW_FEATURES, VectorRows
from onkel.models.columns import FEW, Columns, csr_of_dicts
from onkel.states.state import Setting, State

__all__ = ["WIDTH", "Vocabulary", "first_columns", "is_sparse"]

WIDTH = 2 * FEW_FEATURES  # columns at first, so many that packed rows hold only the features that occur
MOST_WIDTH = 1 << 26  # columns of a state with few names: more were free when it was made
SPARSE_DICTS_BELOW = 0.25  # dicts whose features are fewer than this fraction of all known ones become CSR rows

Example = Mapping[Any, Any]


class Vocabulary:
    """The columns of sparse dicts; immutable.

    Parameters
    ----------
    places : the column of each feature that has one.
    used : which columns have a feature, (n_features,).
    dtype : of the rows.
    tidy : whether all features that nothing learned depends on have been dropped, as `held` does.
    """

    KIND: ClassVar[str] = "columns/vocabulary"
    VERSION: ClassVar[int] = 1

    names = None  # unlike those of `Columns`, they have no fixed order
    growing = True

    def __init__(
        self, places: dict[Hashable, int], used: NDArray[np.bool_], dtype: np.dtype, *, tidy: bool = False
    ) -> None:
        self.places, self.used, self.dtype, self.tidy = places, used, dtype, tidy

    @property
    def n_features(self) -> int:
        """The number of columns, with those that are free."""
        return len(self.used)

    def with_features(self, examples: Sequence[Example]) -> Vocabulary:
        """The vocabulary in which every feature of the dicts has a column."""
        new = list(dict.fromkeys(name for x in examples for name in x if name not in self.places))
        if not new:
            return Vocabulary(self.places, self.used, self.dtype)
        used = self.used.copy()
        if np.count_nonzero(used) + len(new) > len(used):
            used = np.concatenate([used, np.zeros(max(len(used), len(new)), dtype=bool)])
        free = np.flatnonzero(~used)[: len(new)]
        used[free] = True
        return Vocabulary(self.places | dict(zip(new, free.tolist(), strict=True)), used, self.dtype)

    @classmethod
    def empty(cls, dtype: np.dtype) -> Vocabulary:
        """The vocabulary without features, with room for some."""
        return cls({}, np.zeros(WIDTH, dtype=bool), dtype)

    def held(self, in_use: Callable[[int], NDArray[np.bool_]]) -> Vocabulary:
        """The vocabulary with only those features that something learned depends on.

        `in_use(n)` tells which of n columns the learner depends on.
        """
        if self.tidy:
            return self
        used, places = self.used & in_use(self.n_features), self.places
        if np.count_nonzero(used) < len(places):
            places = {name: place for name, place in places.items() if used[place]}
        return Vocabulary(places, used, self.dtype, tidy=True)

    def rows(self, examples: Sequence[Example], who: str) -> VectorRows:
        """Dicts as CSR rows; features without a column are left out."""
        rows = VectorRows(csr_of_dicts(examples, self.places, self.dtype, who), self.n_features)
        rows._kept["is sparse"] = True
        return rows

    def row(self, x: Any, who: str) -> VectorRows:
        """One dict as a CSR row; refuses anything else."""
        if not isinstance(x, dict):
            self.refuse(x, who)
        return self.rows([x], who)

    def refuse(self, X: Any, who: str) -> NoReturn:
        """Refuses data without names."""
        raise KindError(
            f"{who} learns from dicts of many features, whose columns come and go, so it needs dicts "
            f"{{feature: value}} or data frames; got {type(X).__name__}."
        )

    def columns(self) -> tuple[Columns, NDArray[np.int64]]:
        """The features in the order of their columns, and these columns."""
        names = tuple(sorted(self.places, key=self.places.__getitem__))
        places = np.array([self.places[name] for name in names], dtype=np.int64)
        return Columns(len(names), names, self.dtype, growing=True), places

    def state(self) -> State:
        """The features with their columns."""
        columns, places = self.columns()
        settings: dict[str, Setting] = {"n_features": self.n_features, "dtype": np.dtype(self.dtype).name}
        return State(self.KIND, self.VERSION, settings, {"names": columns.names_array(), "places": places})

    @classmethod
    def from_state(cls, state: State) -> Vocabulary:
        """The vocabulary of a state; refuses one whose names and columns do not belong together."""
        state.expect(cls.KIND, cls.VERSION)
        names = state.array("names", object, (None,)).tolist()
        places = state.array("places", np.int64, (len(names),))
        width, dtype = state.setting("n_features", int), state.setting("dtype", str)
        rising = (places[1:] > places[:-1]).all() and (len(places) == 0 or (places[0] >= 0 and places[-1] < width))
        most = max(MOST_WIDTH, 4 * len(names))  # memory is taken for so many, whoever wrote the state
        if dtype not in ("float32", "float64") or not rising or not 1 <= width <= most:
            raise InputError(
                f"the state of kind {cls.KIND!r}: its {len(names)} names must have ascending columns below the number "
                f"of columns, which is at most {most}, of float32 or float64; got {width} columns of {dtype}."
            )
        try:
            column_of = dict(zip(names, places.tolist(), strict=True))
        except TypeError as error:  # a name cannot be hashed
            raise InputError(f"the state of kind {cls.KIND!r}: a name cannot be that of a feature: {error}.") from error
        if len(column_of) != len(names):
            raise InputError(f"the state of kind {cls.KIND!r}: the names of its features must differ.")
        used = np.zeros(width, dtype=bool)
        used[places] = True
        return cls(column_of, used, np.dtype(dtype), tidy=True)


def is_sparse(n_features: int, examples: Sequence[Example]) -> bool:
    """Whether dicts become CSR rows: there are many features in all, and few in each dict."""
    return n_features > FEW and sum(map(len, examples)) < SPARSE_DICTS_BELOW * n_features * len(examples)


def first_columns(examples: Sequence[Example], dtype: np.dtype) -> Columns | Vocabulary:
    """The columns of the first dicts of an estimator."""
    names = tuple(dict.fromkeys(name for x in examples for name in x))
    if not is_sparse(len(names), examples):
        return Columns(len(names), names, dtype, growing=True)
    return Vocabulary.empty(dtype).with_features(examples)
