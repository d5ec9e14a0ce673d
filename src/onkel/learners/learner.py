"""The contract of every learner, and functions that several learners share.

A learner learns from rows and their targets, and gives scores. It knows neither labels nor scikit-learn: an estimator
turns labels into targets, and scores into labels. A learner has one or several *outputs*, and each output gives one
score: there is a single output for two classes and for regression, and one per class otherwise (one-vs-rest). All
outputs share the kernel values.

**Learning is transactional.** What one call of `learn` or `learn_one` learns is either wholly in the learner (support,
weights, counters, ledger, `n_seen`, `next_row_id`) or not at all, whatever signal, failed allocation or refused kernel
value comes between: everything new is computed first and then put in place at once, by
`onkel._core.transaction.Transaction` or by a native call that holds the GIL and needs nothing after it. `end_epoch` and
`rollback` are transactions as well. `change_outputs` and `add_features` are not: an estimator calls them on a copy,
which takes the place of the learner when it has learned from the example that made the change necessary.

A chunk is learned in parts, one call of `learn` each: `part_size` says how large they should be for speed, for memory,
and so that an interruption or another thread need not wait long. The result does not depend on the parts.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import nullcontext
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native
from onkel._core.transaction import Transaction
from onkel.kernels import Kernel
from onkel.kernels.rows import Rows
from onkel.kernels.tiles import fill_below
from onkel.learners.ledger import Ledger
from onkel.learners.storage.savepoint import LearnerSavepoint, copy_of
from onkel.models.scorer import Scorer
from onkel.states.state import State

__all__ = ["NO_LOCK", "ONE", "Learner", "LearnerBase", "fill_chunk"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

ONE = np.ones(1)  # the sample weights of one example without a weight
NO_LOCK = nullcontext()  # for a learner that no other thread reads


@runtime_checkable
class Learner(Protocol):
    """The attributes and methods that an online estimator needs of its learner."""

    UPDATES_ARE_MISTAKES: ClassVar[bool]

    # The settings of its state that the parameters of its estimator fix: a state with other values is refused. (The
    # kernel is compared, too.)
    BUILT_FROM: ClassVar[tuple[str, ...]]

    @property
    def kernel(self) -> Kernel | None:
        """The kernel; None if the learner works on the features themselves."""

    @property
    def ledger(self) -> Ledger:
        """The updates in order: all of them, or the last ones."""

    @property
    def n_outputs(self) -> int:
        """The number of outputs."""

    @property
    def n_features(self) -> int | None:
        """The number of features that it has weights for; None if it keeps rows instead."""

    @property
    def n_seen(self) -> int:
        """Examples learned from so far; an example that is visited in three epochs counts three times."""

    @property
    def n_mistakes(self) -> int:
        """How many examples had y f(x) ≤ 0 just before they were learned from, summed over the outputs."""

    @property
    def n_updates(self) -> int:
        """How many examples changed an output, summed over the outputs."""

    @property
    def next_row_id(self) -> int:
        """One more than the largest id of a row learned from so far; 0 at first."""

    @property
    def version(self) -> int:
        """A count that grows whenever the present guess may change: what was derived from it is then out of date."""

    @property
    def stops_when_separated(self) -> bool:
        """Whether it makes no update in an epoch over rows that it separates, so that only such rows end its epochs."""

    def check_rows(self, rows: Rows, who: str) -> None:
        """Refuses rows that it cannot learn from with its kernel; `who` is the name of the estimator, for messages."""

    def learn(self, rows: Rows, targets: Floats, weights: Floats, row_ids: Ints) -> Floats:
        """Learns from the examples of a part, one after the other.

        `targets` (n, outputs) are ±1 for classes, else numbers. `weights` (n,) > 0 are the sample weights, and
        `row_ids` (n,) the numbers under which the ledger and the support refer to the rows. Returns the scores of each
        example just before it was learned from, shape (n, outputs).
        """

    def part_size(self, rows: Rows, most: int) -> int:
        """How many examples the next part of a chunk of such rows should have, 1 to `most`."""

    def learn_one(self, row: Rows, target: Floats) -> None:
        """Learns from one example of weight 1, faster than `learn` where it can; `target` has shape (1, outputs).

        The row gets the id `next_row_id`; a group of rows brings the ids of its rows.
        """

    def skip_to(self, row_id: int) -> None:
        """Rows up to this id were given but left out, because their weight is 0: `next_row_id` is at least `row_id`."""

    def scores(self, rows: Rows) -> Floats:
        """The scores of the rows, shape (n, outputs)."""

    def scorer(self) -> Scorer:
        """What has been learned, as a frozen model that shares no memory with the learner.

        Learners with several hypotheses take the name of one and, in [0, 1), what is drawn for a random one.
        """

    def change_outputs(self, output_map: Floats) -> None:
        """Changes the number of outputs when a class appears; no transaction.

        `output_map` (old outputs, new outputs): 1 copies an output, −1 mirrors it, a column of zeros starts one at 0.
        """

    def add_features(self, n_features: int, *, sparse: bool = False) -> None:
        """Increases the number of features; everything learned so far is 0 in the new ones. No transaction.

        With `sparse`, rows that are kept are stored as CSR rows from now on, as those that will be learned from.
        """

    def features_in_use(self, n_features: int) -> NDArray[np.bool_]:
        """Which of the features what was learned depends on: those that some row that is kept has."""

    def end_epoch(self) -> None:
        """Is called at the end of every epoch; merges the support vectors that are the same row, if there are any."""

    def copy(self) -> Self:
        """An independent copy."""

    def savepoint(self) -> object:
        """The present state, as `rollback` takes it; cheaper than a copy where it can be."""

    def rollback(self, savepoint: object) -> None:
        """Undoes all changes since the savepoint was made."""

    def state(self) -> State:
        """Everything the learner knows, as named values and arrays."""

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The learner of a state; it learns on exactly as the one that gave it."""


class LearnerBase(ABC):
    """What all learners answer alike, and how they are copied, undone and pickled.

    `record` holds what the learner counts (cpp/learn/counts.h) and, in a derived class, the other numbers that its
    examples change. The core changes it in place, within a call that holds the GIL; a pass that takes longer works on a
    copy, which takes its place in the transaction.
    """

    CHANGES: ClassVar[tuple[str, ...]]  # the attributes that learning changes
    APPENDED: ClassVar[tuple[str, ...]] = ()  # those of its arrays that it only adds to, after the part in use
    CACHES: ClassVar[tuple[str, ...]] = ()  # the attributes that can be computed again, and are None until then

    UPDATES_ARE_MISTAKES: ClassVar[bool] = False  # whether it learns from mistakes only

    record: _native.Counts
    stops_when_separated: Any = True

    @property
    def n_features(self) -> int | None:
        """The number of features that it has weights for; None: it keeps rows instead."""
        return None

    @property
    def n_seen(self) -> int:
        """Examples learned from so far."""
        return self.record.n_seen

    @property
    def n_mistakes(self) -> int:
        """Examples with y f ≤ 0 before they were learned from, summed over the outputs."""
        return self.record.n_mistakes

    @property
    def n_updates(self) -> int:
        """Examples that changed an output, summed over the outputs."""
        return self.record.n_updates

    @property
    def next_row_id(self) -> int:
        """One more than the largest id of a row learned from."""
        return self.record.next_row_id

    def skip_to(self, row_id: int) -> None:
        """Rows up to this id were given but left out: `next_row_id` is at least `row_id`."""
        self.record.skip_to(row_id)

    @property
    def version(self) -> int:
        """A count that grows whenever the present guess may change."""
        return self.record.n_seen

    def check_rows(self, rows: Rows, who: str) -> None:
        """Refuses no rows."""

    # ---------------------------------------------------------------- copies, savepoints, pickles

    @abstractmethod
    def state(self) -> State:
        """Everything the learner knows, as named values and arrays."""

    @classmethod
    @abstractmethod
    def from_state(cls, state: State) -> Self:
        """The learner of a state; it learns on exactly as the one that gave it."""

    def __reduce__(self) -> tuple[object, ...]:
        """Pickles hold the state, without spare room and caches."""
        return type(self).from_state, (self.state(),)

    def _changes(self) -> dict[str, Any]:
        """The attributes that learning changes."""
        return {name: getattr(self, name) for name in self.CHANGES}

    def _without_caches(self) -> dict[str, Any]:
        """What the attributes with caches are when there are none."""
        return dict.fromkeys(self.CACHES)

    def copy(self) -> Self:
        """An independent copy, without caches."""
        twin = type(self).__new__(type(self))
        changes = self._changes() | {name: getattr(self, name) for name in self.APPENDED}
        copies = {name: copy_of(value) for name, value in changes.items()}
        vars(twin).update(vars(self) | copies | self._without_caches())
        return twin

    def __deepcopy__(self, memo: object) -> Self:
        return self.copy()

    def savepoint(self) -> LearnerSavepoint:
        """The present state, as `rollback` takes it; cheaper than a copy where it can be."""
        found = LearnerSavepoint.of(self._changes())
        found.values.update({name: getattr(self, name) for name in self.APPENDED})
        return found

    def rollback(self, savepoint: object) -> None:
        """Undoes all changes since the savepoint was made."""
        assert isinstance(savepoint, LearnerSavepoint)
        with Transaction() as change:
            change.set(self, **savepoint.restored(change) | self._without_caches())


def fill_chunk(kernel: Kernel, x: Rows, out: NDArray) -> None:
    """Fills `out`, C-contiguous, with k(x, x) on and below the diagonal; the entries above it are unspecified.

    On the diagonal are the bits that a learner computes for each row alone, so that chunk ≡ loop.
    """
    if len(x) > 1:
        fill_below(kernel, x, out)
    assert out.flags.c_contiguous
    out.ravel()[:: len(x) + 1] = kernel.inner.diagonal(x)
