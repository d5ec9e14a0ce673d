"""A running learner: the learner at work for an estimator, what y means to it, the columns of its rows, and their lock.

    Given      X, y and what comes with the rows, as the user gave them
    Batch      rows, decoded targets, positive weights and row ids; an example is a row, a query or a sentence
    Running    learns from batches

Learner, targets and columns belong together, and change together: when a class turns up, the learner gets an output
and the targets a class; when dicts bring features, the learner gets room for them and the columns their names. Such a
change is made on a copy of the learner, which then takes its place with the rest, at once. So at every moment,
whatever interruption or reader comes between, the running learner is what it is after so many examples.

A batch is given to the learner in parts (`onkel.learners.learner`). A Ctrl-C between two parts leaves what has been
learned by then; an error undoes the whole call (`savepoint`, `rollback`).
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Generic, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from onkel._core import Lock
from onkel._core.transaction import assign
from onkel.estimators.base.class_weight import class_weights
from onkel.estimators.base.input import Checked, sample_weights
from onkel.estimators.base.one_example import with_features_of
from onkel.estimators.base.targets import Decoded, Targets
from onkel.kernels import Kernel, Linear
from onkel.kernels.rows import ObjectRows, Rows
from onkel.kernels.vectors import VectorRows
from onkel.learners.learner import Learner
from onkel.learners.perceptron.groups import Groups, grouped
from onkel.models.columns import Columns
from onkel.models.input import named_columns, takes_rows
from onkel.models.scorer import Scorer
from onkel.models.vocabulary import Vocabulary, is_sparse

__all__ = ["LINEAR", "Batch", "FeatureAttribute", "Given", "Running", "Weighed", "queries_of", "weighed"]

L = TypeVar("L", bound=Learner, covariant=True)

LINEAR = Linear()
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Example = Mapping[Any, Any]


# ---------------------------------------------------------------- batches


class Given(NamedTuple):
    """What a user gave to a method that learns."""

    X: Any
    y: Any = None
    sample_weight: Any = None
    qid: Any = None  # the query of each row, of a ranker
    classes: Any = None  # all labels that will ever come
    lengths: Any = None  # the number of tokens of each sentence, of a tagger


class Batch(NamedTuple):
    """Checked examples with positive weights, ready to be learned from."""

    rows: Rows
    targets: Decoded  # (n,)
    weights: Floats  # (n,)
    row_ids: Ints  # (n,)
    next_row_id: int  # the id of the row after all that were given, also after those of weight 0

    def part(self, index: slice | NDArray) -> Batch:
        """Some of the examples."""
        return Batch(
            self.rows[index], self.targets.part(index), self.weights[index], self.row_ids[index], self.next_row_id
        )

    @property
    def n(self) -> int:
        """The number of examples."""
        return len(self.rows)


class Weighed(NamedTuple):
    """Checked examples with positive weights, whose y has not been decoded yet."""

    rows: Rows
    y: NDArray  # (n,): labels or numbers, as they were given
    weights: Floats  # (n,)
    row_ids: Ints  # (n,)
    next_row_id: int

    def decoded(self, targets: Targets, who: str) -> Batch:
        """The batch; refuses a y that these targets cannot read."""
        return Batch(self.rows, targets.decode(self.y, who), self.weights, self.row_ids, self.next_row_id)


def weighed(
    checked: Checked,
    sample_weight: Any,
    class_weight: Any,
    first_id: int,
    who: str,
    targets: Targets | None,
    *,
    balanced: bool,
) -> Weighed:
    """The examples with positive weights: sample weight times class weight.

    `targets` are those of the stream so far, None in a new fit; `balanced` says whether class_weight="balanced" is
    allowed.
    """
    rows, n = checked.rows, len(checked.rows)
    y = np.ones(n) if checked.y is None else np.asarray(checked.y)
    weights = sample_weights(sample_weight, n, who)
    if class_weight is not None:
        weights *= class_weights(class_weight, y, weights > 0, who, targets, balanced=balanced)
    present = np.flatnonzero(weights > 0)
    if len(present) < n:
        rows, y, weights = rows[present], y[present], weights[present]
    return Weighed(rows, y, weights, first_id + present, first_id + n)


def queries_of(checked: Checked, qid: Any, first_id: int, who: str) -> Weighed:
    """The queries of checked rows, each of weight 1; their grades are with the items."""
    rows, y = checked.rows, np.asarray(checked.y, dtype=np.float64)
    order, starts = grouped(qid, len(rows), who)
    if (np.diff(order) != 1).any():
        rows, y = rows[order], y[order]
    groups = Groups(rows, starts, y, first_id + order)
    n = len(groups)
    return Weighed(groups, np.zeros(n), np.ones(n), first_id + starts[:-1], first_id + len(y))


# ---------------------------------------------------------------- the running learner


class Savepoint(NamedTuple):
    """A running learner at one moment."""

    learner: Learner
    at: object  # a savepoint of the learner
    targets: Targets
    columns: Columns | Vocabulary


@dataclasses.dataclass(frozen=True, eq=False)
class Cache:
    """The last scorer, what it was made from, and what is shown of it (`onkel.estimators.online.fitted`)."""

    learner: Learner | None = None
    made_from: tuple[Any, ...] = ()
    scorer: Scorer | None = None
    shown: tuple[Scorer, Columns] | None = None


class Running(Generic[L]):
    """A learner at work.

    Parameters
    ----------
    learner, targets, columns : what learns, what y means, and the columns of the rows.
    lock : whoever learns or reads takes it; learning leaves it between two parts.
    who : the name of the estimator, for messages.
    """

    def __init__(self, learner: L, targets: Targets, columns: Columns | Vocabulary, lock: Lock, who: str) -> None:
        self.learner, self.targets, self.columns = learner, targets, columns
        self.kernel: Kernel = learner.kernel or LINEAR  # which a learner on the features themselves has
        self.can_grow = self.kernel.takes != "gram"  # whether further examples can come: a Gram matrix cannot grow
        self.lock, self.who, self.cache = lock, who, Cache()

    def copy(self) -> Self:
        """An independent copy, with the same lock."""
        return type(self)(self.learner.copy(), self.targets, self.columns, self.lock, self.who)

    # ---------------------------------------------------------------- learning

    def learn(self, batch: Batch) -> None:
        """Learns from a batch; a class of which there was none yet begins with its first example."""
        n_seen, start = self.learner.n_seen, 0
        firsts = self.targets.first_examples(batch.targets, n_seen)
        if self.targets.fixed:  # no output changes
            self.targets = self.targets.with_examples(batch.targets, firsts, n_seen)
            firsts = []
        for first in [*firsts, batch.n]:
            before = start  # where the examples begin whose classes are known by now
            targets = self.targets.encode(batch.targets.part(slice(before, first))) if before < first else None
            while targets is not None and start < first:
                with self.lock:
                    part = slice(start, start + self.learner.part_size(batch.rows, first - start))
                    rows = batch.rows if part.stop - start == batch.n else batch.rows[part]
                    of_part = targets[part.start - before : part.stop - before]
                    self.learner.learn(rows, of_part, batch.weights[part], batch.row_ids[part])
                start = part.stop
            if first < batch.n:
                with self.lock:
                    self.learn_change(batch.part(slice(first, first + 1)), self.columns)
                start = first + 1

    def learn_change(self, one: Batch, columns: Columns | Vocabulary) -> None:
        """Learns from an example that brings a class or, with other `columns` than now, features.

        A copy of the learner gets the outputs and features that it needs and learns from the example. Then it takes
        the place of the learner, together with the targets and columns, all at once. The caller has the lock.
        """
        learner, targets = self.learner.copy(), self.targets
        if columns is not self.columns and columns.n_features is not None:
            learner.add_features(columns.n_features)
        first = targets.first_examples(one.targets, learner.n_seen)
        if first:
            targets = targets.with_examples(one.targets, first, learner.n_seen)
            output_map = targets.output_map(self.targets)
            if output_map is not None:
                learner.change_outputs(output_map)
        learner.learn(one.rows, targets.encode(one.targets), one.weights, one.row_ids)
        assign(self, learner=learner, targets=targets, columns=columns)

    def end_epoch(self) -> None:
        """Lets the learner merge support vectors that are the same row. The caller has the lock."""
        self.learner.end_epoch()
        self.cache = Cache()  # neither the rounds nor the version of the learner tell of it

    def learn_chunk(self, batch: Batch) -> None:
        """Learns from a chunk of a stream, whose rows may be dicts, and drops the features that it has not used."""
        before, batch = self.columns, self.with_rows(batch)
        if batch.n:
            self.learn(batch)
        with self.lock:
            self.learner.skip_to(batch.next_row_id)
            self.forget(before, batch.rows)

    def learn_one_more(self, one: Batch) -> None:
        """Learns from a single example, which may bring a class or, as a dict, features. The caller has the lock."""
        columns = self.columns
        if isinstance(one.rows, ObjectRows) and takes_rows(self.learner.kernel):
            (x,) = one.rows.objects.tolist()
            if not isinstance(columns, Columns) or (columns.growing and is_sparse(len({*columns.places, *x}), [x])):
                self.learn_chunk(one)
                return
            columns = with_features_of(x, columns, self.who)
            one = one._replace(rows=columns.rows([x], self.who))
            self.check(one.rows, "x")
        first = not self.targets.fixed and self.targets.first_examples(one.targets, self.learner.n_seen)
        if first or columns is not self.columns:
            self.learn_change(one, columns)
        else:
            self.learn(one)
            self.learner.skip_to(one.next_row_id)

    def check(self, rows: Rows, name: str = "X") -> None:
        """Refuses rows that the learner cannot learn from; `name` is that of the argument, for messages."""
        kernel = self.learner.kernel
        if kernel is not None:
            kernel.inner.check_rows(rows, name)
            self.learner.check_rows(rows, self.who)

    # ---------------------------------------------------------------- dicts

    def with_rows(self, batch: Batch) -> Batch:
        """The batch with rows in the place of dicts; every feature of theirs has a column from now on.

        Examples are learned from with all of their features. Those on which nothing depends afterwards may be
        forgotten: see `forget`.
        """
        groups = batch.rows if isinstance(batch.rows, Groups) else None
        given = batch.rows if groups is None else groups.rows
        if not (isinstance(given, ObjectRows) and takes_rows(self.learner.kernel)):
            return batch
        with self.lock:
            rows: Rows = self._rows_of(given.objects.tolist())
        self.check(rows)
        return batch._replace(rows=rows if groups is None else groups.with_rows(rows))

    def _rows_of(self, examples: Sequence[Example]) -> VectorRows:
        """Dicts as rows to learn from: CSR rows if they are sparse, else dense ones. The caller has the lock."""
        if isinstance(self.columns, Columns):
            known = {*named_columns(self.columns, self.who)}
            if self.columns.growing and is_sparse(len(known.union(*examples)), examples):
                self._become_sparse()
        columns: Columns | Vocabulary
        if isinstance(self.columns, Vocabulary):
            columns = self.columns.with_features(examples)
        else:
            columns = with_features_of({feature: None for x in examples for feature in x}, self.columns, self.who)
        self._widen(columns)
        return columns.rows(examples, self.who)

    def _widen(self, columns: Columns | Vocabulary) -> None:
        """Puts columns in place that have all of the present features and perhaps more."""
        if columns.n_features == self.columns.n_features:
            assign(self, columns=columns)
            return
        assert columns.n_features is not None
        learner = self.learner.copy()
        learner.add_features(columns.n_features, sparse=isinstance(columns, Vocabulary))
        assign(self, learner=learner, columns=columns)

    def _become_sparse(self) -> None:
        """Gives dicts that had few features so far, as dense rows, a vocabulary."""
        learner = self.learner.copy()
        vocabulary = Vocabulary.empty(self.columns.dtype).with_features([dict.fromkeys(self.columns.names or ())])
        learner.add_features(vocabulary.n_features, sparse=True)
        assign(self, learner=learner, columns=vocabulary.held(learner.features_in_use))

    def forget(self, before: Columns | Vocabulary, rows: Rows | None = None) -> None:
        """Drops the features that no support vector or weight uses any more; `before`: the columns before the call.

        `rows` were learned from. Dense columns stay. The caller has the lock.
        """
        learner, vocabulary = self.learner, self.columns
        if not isinstance(vocabulary, Vocabulary):
            return
        if isinstance(before, Vocabulary):
            used = vocabulary.used & learner.features_in_use(vocabulary.n_features)
            if np.array_equal(used, before.used):  # so it has the same features: new ones have columns that were free
                assign(self, columns=before)
                return
        assign(self, columns=vocabulary.held(learner.features_in_use))
        if isinstance(rows, VectorRows) and len(rows) and learner.kernel is not None:
            with contextlib.suppress(Exception):  # the example has been learned, and the next one packs as well
                learner.scores(rows[-1:])  # packs what is kept now: the next example needs it

    def learn_one_dict(self, x: Example, target: Floats) -> None:
        """Learns from one sparse dict of weight 1, whose class was seen before. The caller has the lock."""
        before = self.columns
        assert isinstance(before, Vocabulary)
        try:
            self._widen(before.with_features([x]))
            row = self.columns.rows([x], self.who)
            self.check(row, "x")
            self.learner.learn_one(row, target)
        except Exception:
            self.forget(before)
            raise
        self.forget(before, row)

    def held_columns(self) -> Columns | Vocabulary:
        """The columns, of sparse dicts only those that the learner depends on."""
        columns = self.columns
        return columns.held(self.learner.features_in_use) if isinstance(columns, Vocabulary) else columns

    # ---------------------------------------------------------------- undoing

    def savepoint(self) -> Savepoint:
        """The present state, as `rollback` takes it."""
        with self.lock:
            return Savepoint(self.learner, self.learner.savepoint(), self.targets, self.columns)

    def rollback(self, to: Savepoint) -> None:
        """Undoes all changes since the savepoint was made."""
        with self.lock:  # somebody may have predicted in between, so that the cache goes
            to.learner.rollback(to.at)
            assign(self, learner=to.learner, targets=to.targets, columns=to.columns, cache=Cache())


class FeatureAttribute:
    """`n_features_in_` or `feature_names_in_` of an estimator, which follow from the columns of its running learner.

    Sparse dicts have the features that the learner depends on.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, estimator: Any, owner: type) -> Any:
        running: Running[Any] | None = None if estimator is None else vars(estimator).get("_running")
        found = None
        if running is not None:
            with running.lock:
                held = running.held_columns()
            columns = held.columns()[0] if isinstance(held, Vocabulary) else held
            found = columns.n_features if self.name == "n_features_in_" else columns.names
        if found is None:
            raise AttributeError(f"{owner.__name__!r} object has no attribute {self.name!r}")
        return found if self.name == "n_features_in_" else columns.names_array()
