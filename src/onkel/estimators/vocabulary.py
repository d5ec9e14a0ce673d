"""Streams of dicts with many features: their columns, which follow what the learner holds.

A dict of words has few of very many features, so it becomes a CSR row. Each feature has a column as long as something
that was learned depends on it; after that it is forgotten, and its column is given to another feature. So a learner
with a budget takes bounded memory, however many features a stream has. Examples are learned from with all of their
features: forgetting changes nothing in what is learned. In a prediction a feature without a column is left out.

Dicts with few features, or dense ones, become dense rows (`onkel.models.columns.Columns`), whose features stay.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from onkel._core.transaction import assign, restore
from onkel.errors import InputError, KindError
from onkel.kernels.vectors import FEW_FEATURES, VectorRows
from onkel.models.columns import FEW, Columns, csr_of_dicts
from onkel.models.state import Setting, State

if TYPE_CHECKING:
    from onkel.estimators.online import OnlineEstimator

__all__ = ["SHOWN", "Vocabulary", "become_sparse", "first_columns", "is_sparse", "rows_to_learn", "tidy_up"]

WIDTH = 2 * FEW_FEATURES  # columns at first, so many that packed rows hold only the features that occur
SPARSE_BELOW = 0.25  # dicts whose features are fewer than this fraction of all known ones become CSR rows

Example = Mapping[Any, Any]


class Vocabulary:
    """The columns of sparse dicts: names that come and go.

    Every column that the learner depends on has its name here. Between a call and the next `forget` there may be names
    that it does not depend on (`tidy` is then False): they are there before the learner sees them, so that an
    interruption at any line leaves no column without its name.
    """

    KIND: ClassVar[str] = "columns/vocabulary"
    VERSION: ClassVar[int] = 1

    names = None  # unlike those of `Columns`, they have no fixed order
    open = True

    def __init__(self, n_features: int, dtype: np.dtype) -> None:
        self.dtype, self.tidy = dtype, True
        self.places: dict[Hashable, int] = {}
        self._names: list[Hashable] = [None] * n_features
        self._used = np.zeros(n_features, dtype=bool)

    @property
    def n_features(self) -> int:
        """The number of columns, with those that are free."""
        return len(self._names)

    def add(self, examples: Sequence[Example]) -> NDArray[np.int64]:
        """Gives a free column to each feature that has none; returns these columns."""
        new = list(dict.fromkeys(name for x in examples for name in x if name not in self.places))
        if not new:
            return np.empty(0, dtype=np.int64)
        self.tidy = False
        free = np.flatnonzero(~self._used)[: len(new)]
        if len(free) < len(new):
            width = max(2 * self.n_features, self.n_features + len(new))
            used = np.zeros(width, dtype=bool)
            used[: self.n_features] = self._used
            self._used = used
            self._names += [None] * (width - self.n_features)
            free = np.flatnonzero(~used)[: len(new)]
        self._used[free] = True
        for name, place in zip(new, free.tolist(), strict=True):
            self._names[place] = name
            self.places[name] = place
        return free

    def forget(self, columns: NDArray[np.int64]) -> None:
        """Takes back columns; may be repeated."""
        for place in columns.tolist():
            self.places.pop(self._names[place], None)
            self._names[place] = None
        self._used[columns] = False
        self.tidy = True

    def keep_only(self, held: NDArray[np.bool_]) -> None:
        """Forgets the features whose columns are not held; columns beyond the end of `held` are not."""
        gone = self._used.copy()
        gone[: len(held)] &= ~held
        self.forget(np.flatnonzero(gone))

    def rows(self, examples: Sequence[Example], width: int, who: str) -> VectorRows:
        """Dicts as CSR rows with `width` columns; features that have none of these are left out."""
        rows = VectorRows(csr_of_dicts(examples, self.places, width, self.dtype, who))
        rows._kept["is sparse"] = True
        return rows

    def row(self, x: Any, width: int, who: str) -> VectorRows:
        """One dict to predict, as a CSR row."""
        if not isinstance(x, dict):
            self.refuse(x, who)
        return self.rows([x], width, who)

    def refuse(self, X: Any, who: str) -> None:
        """Refuses data without names."""
        raise KindError(
            f"{who} learns from dicts of many features, whose columns come and go, so it needs dicts "
            f"{{feature: value}} or data frames; got {type(X).__name__}."
        )

    def columns(self) -> tuple[Columns, NDArray[np.int64]]:
        """The features that are held, in the order of their columns, and these columns."""
        places = np.flatnonzero(self._used)
        names = tuple(self._names[place] for place in places.tolist())
        return Columns(len(names), names, self.dtype, open=True), places

    def state(self) -> State:
        """The features with their columns."""
        columns, places = self.columns()
        names = columns.state().arrays["names"]
        settings: dict[str, Setting] = {"n_features": self.n_features, "dtype": np.dtype(self.dtype).name}
        return State(self.KIND, self.VERSION, settings, {"names": names, "places": places})

    @classmethod
    def from_state(cls, state: State) -> Vocabulary:
        """The vocabulary of a state."""
        state.expect(cls.KIND, cls.VERSION)
        names, places = state.array("names").tolist(), np.asarray(state.array("places"))
        width, dtype = state.setting("n_features", int), state.setting("dtype", str)
        rising = places.ndim == 1 and (np.diff(places) > 0).all() and (len(places) == 0 or places[0] >= 0)
        if dtype not in ("float32", "float64") or not rising or len(names) != len(places) or places[-1:].sum() >= width:
            raise InputError(
                f"the state of kind {cls.KIND!r}: each of its {len(names)} names must have a column below {width}, and "
                f"the dtype must be float32 or float64; got {len(places)} columns and {dtype}."
            )
        found = cls(width, np.dtype(dtype))
        found._used[places] = True
        for name, place in zip(names, places.tolist(), strict=True):
            found._names[place], found.places[name] = name, place
        return found


def is_sparse(n_features: int, examples: Sequence[Example]) -> bool:
    """Whether dicts become CSR rows: there are many features in all, and few in each dict."""
    return n_features > FEW and sum(map(len, examples)) < SPARSE_BELOW * n_features * len(examples)


def first_columns(examples: Sequence[Example], dtype: np.dtype) -> Columns | Vocabulary:
    """The columns of the first dicts of an estimator."""
    names = tuple(dict.fromkeys(name for x in examples for name in x))
    if not is_sparse(len(names), examples):
        return Columns(len(names), names, dtype, open=True)
    vocabulary = Vocabulary(WIDTH, dtype)
    vocabulary.add(examples)
    return vocabulary


def become_sparse(estimator: OnlineEstimator) -> None:
    """Gives an estimator whose dicts had few features so far, as dense rows, a vocabulary; the caller has the lock."""
    columns, learner = estimator._columns, estimator._learner.copy()
    vocabulary = Vocabulary(WIDTH, columns.dtype)
    vocabulary.add([dict.fromkeys(columns.names or ())])
    learner.add_features(vocabulary.n_features, sparse=True)
    before = {name: value for name, value in vars(estimator).items() if name not in SHOWN}
    restore(estimator, before | {"_learner": learner, "_columns": vocabulary, "_width": vocabulary.n_features})


SHOWN = ("n_features_in_", "feature_names_in_")  # attributes that follow from a vocabulary


def rows_to_learn(estimator: OnlineEstimator, examples: Sequence[Example]) -> VectorRows:
    """Dicts as rows to learn from, every feature with a column; the caller has the lock."""
    vocabulary = estimator._columns
    assert isinstance(vocabulary, Vocabulary)
    tidy_up(estimator)
    vocabulary.add(examples)
    vocabulary.tidy = False  # what is learned may also give up features
    if vocabulary.n_features > estimator._width:
        learner = estimator._learner.copy()
        learner.add_features(vocabulary.n_features, sparse=True)
        assign(estimator, _learner=learner, _width=vocabulary.n_features)
    return vocabulary.rows(examples, vocabulary.n_features, estimator._name)


def tidy_up(estimator: OnlineEstimator) -> None:
    """Forgets the features that nothing learned depends on, if a call may have left some; the caller has the lock."""
    vocabulary = estimator.__dict__.get("_columns")
    if isinstance(vocabulary, Vocabulary) and not vocabulary.tidy:
        vocabulary.keep_only(estimator._learner.features_in_use(estimator._width))
