"""Learning from checked examples: part by part, each of them wholly or not at all.

A chunk is given to the learner in parts (`onkel.learners.learner`). A Ctrl-C between two parts leaves what has
been learned by then; an error undoes the whole call. An example that brings a class of which there was none yet, or
features, changes the learner itself: a copy is changed and learns from it, and then takes the learner's place.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from onkel._core.transaction import assign, restore
from onkel.estimators.base.input import takes_rows
from onkel.estimators.base.one_example import named_columns, with_features_of
from onkel.estimators.base.targets import Labels
from onkel.estimators.online.fitted import ScorerCache
from onkel.estimators.online.vocabulary import (
    Vocabulary,
    become_sparse,
    checked_rows,
    end_learning,
    is_sparse,
    rows_to_learn,
)
from onkel.kernels.rows import ObjectRows, Rows
from onkel.kernels.vectors import VectorRows
from onkel.learners.learner import NO_LOCK, learn_in_parts
from onkel.learners.perceptron.groups import Groups
from onkel.models.columns import Columns

if TYPE_CHECKING:
    from onkel.estimators.online.estimator import OnlineEstimator

__all__ = ["learn_change", "learn_examples", "learn_groups", "undo_if_refused"]


@contextlib.contextmanager
def undo_if_refused(estimator: OnlineEstimator) -> Iterator[None]:
    """Undoes everything that was learned in the block if it raises an error.

    A random generator that is the estimator's `random_state` goes back, too. A Ctrl-C leaves what has been learned by
    then.
    """
    before, learner = vars(estimator).copy(), estimator.__dict__.get("_learner")
    savepoint = None
    if learner is not None:
        with estimator._lock:
            savepoint = learner.savepoint()
    random = estimator.random_state if hasattr(estimator.random_state, "get_state") else None
    drawn = None if random is None else random.get_state()
    try:
        yield
    except Exception:
        with estimator.__dict__.get("_lock", NO_LOCK):
            if learner is None:
                restore(estimator, before)
            else:
                restore(estimator, before | {"_scorer": ScorerCache()})  # somebody may have predicted in between
                learner.rollback(savepoint)
        if random is not None:
            random.set_state(drawn)
        raise


def learn_examples(
    self: OnlineEstimator, rows: Rows, y: NDArray, weights: NDArray[np.float64], row_ids: NDArray[np.int64]
) -> None:
    """Learns from examples; a class of which there was none yet begins with its first one. Rows may be dicts."""
    if isinstance(rows, ObjectRows) and takes_rows(self._learner.kernel):
        _learn_dicts(self, rows.objects.tolist(), y, weights, row_ids)
        return
    targets, n_seen, start = self._targets, self._learner.n_seen, 0
    firsts = targets.first_examples(y, n_seen, self._name)
    if isinstance(targets, Labels) and targets.fixed:  # no output changes
        if firsts or targets.latest > n_seen:
            self._targets = targets.with_examples(y, firsts, n_seen)
        firsts = []
    for first in [*firsts, len(rows)]:
        if start < first:
            same = slice(start, first)
            part = rows if first - start == len(rows) else rows[same]
            encoded = self._targets.encode(y[same])
            learn_in_parts(self._learner, part, encoded, weights[same], row_ids[same], self._lock)
        if first < len(rows):
            one = slice(first, first + 1)
            with self._lock:
                learn_change(self, rows[one], y[one], weights[one], row_ids[one], self._columns)
        start = first + 1


def _learn_dicts(
    self: OnlineEstimator,
    examples: list[dict[Any, Any]],
    y: NDArray,
    weights: NDArray[np.float64],
    row_ids: NDArray[np.int64],
) -> None:
    """Learns from dicts: as CSR rows if they are sparse, else as dense rows, whose features come with their example."""
    with self._lock:
        columns = self._columns
        if not isinstance(columns, Vocabulary):
            known = {*named_columns(columns, self._name)}
            if columns.open and is_sparse(len(known.union(*examples)), examples):
                become_sparse(self)
    if isinstance(self._columns, Vocabulary):
        with self._lock:
            before = self._columns
            assert isinstance(before, Vocabulary)
            rows = rows_to_learn(self, examples)
        learn_examples(self, checked_rows(self, rows), y, weights, row_ids)
        with self._lock:
            end_learning(self, before, rows)
        return
    start = 0
    for stop in [*_that_bring_features(examples, known), len(examples)]:
        if start < stop:
            same = slice(start, stop)
            rows = checked_rows(self, self._columns.rows(examples[same], self._name))
            learn_examples(self, rows, y[same], weights[same], row_ids[same])
        if stop < len(examples):
            one = slice(stop, stop + 1)
            with self._lock:
                columns = with_features_of(examples[stop], self._columns, self._name)
                row = checked_rows(self, columns.rows(examples[one], self._name))
                learn_change(self, row, y[one], weights[one], row_ids[one], columns)
        start = stop + 1


def _that_bring_features(examples: list[dict[Any, Any]], known: set[Any]) -> Iterator[int]:
    """The positions of the dicts with features that neither are known nor are in the dicts before."""
    for i, x in enumerate(examples):
        if not x.keys() <= known:
            known.update(x)
            yield i


def learn_change(
    estimator: OnlineEstimator,
    row: Rows,
    y: NDArray,
    weight: NDArray[np.float64],
    row_id: NDArray[np.int64],
    columns: Columns | Vocabulary,
) -> None:
    """Learns from an example that brings a class or, with other columns than now, features.

    A copy of the learner gets the outputs and features that it needs and learns from the example. Then it takes the
    place of the learner, together with the labels and columns, all at once. The caller has the lock.
    """
    new: dict[str, Any] = {}
    learner = estimator._learner.copy()
    if columns is not estimator._columns:
        assert isinstance(columns, Columns)
        assert columns.n_features is not None
        learner.add_features(columns.n_features)
        new |= {"_columns": columns, "n_features_in_": columns.n_features, "feature_names_in_": columns.names_array()}
    targets = estimator._targets
    if targets.first_examples(y, learner.n_seen, estimator._name):
        targets = targets.with_examples(y, [0], learner.n_seen)
        output_map = targets.output_map(estimator._targets)
        if output_map is not None:
            learner.change_outputs(output_map)
        new["classes_"] = targets.classes  # type: ignore[attr-defined]
    learner.learn(row, targets.encode(y), weight, row_id)
    assign(estimator, _learner=learner, _targets=targets, **new)


# ---------------------------------------------------------------- examples that are groups of rows


def learn_groups(
    self: OnlineEstimator, rows: Rows, y: NDArray, weights: NDArray[np.float64], row_ids: NDArray[np.int64]
) -> None:
    """Learns from groups of rows, which bring no classes; the rows may be dicts, which may bring features."""
    assert isinstance(rows, Groups)
    if not (isinstance(rows.rows, ObjectRows) and takes_rows(self._learner.kernel)):
        learn_in_parts(self._learner, rows, y[:, None], weights, row_ids, self._lock)
        return
    with self._lock:
        before, items = _with_columns(self, rows.rows.objects.tolist())
    learn_in_parts(self._learner, rows.with_rows(items), y[:, None], weights, row_ids, self._lock)
    if isinstance(before, Vocabulary):
        with self._lock:
            end_learning(self, before, items)


def _with_columns(
    estimator: OnlineEstimator, examples: list[dict[Any, Any]]
) -> tuple[Columns | Vocabulary, VectorRows]:
    """Dicts as rows, after each of their features has got a column; and the columns before. The caller has the lock."""
    columns, name = estimator._columns, estimator._name
    if isinstance(columns, Columns):
        known = {*named_columns(columns, name)}
        if columns.open and is_sparse(len(known.union(*examples)), examples):
            become_sparse(estimator)
    before = estimator._columns
    if isinstance(before, Vocabulary):
        return before, checked_rows(estimator, rows_to_learn(estimator, examples))
    after = with_features_of({feature: None for x in examples for feature in x}, before, name)
    rows = checked_rows(estimator, after.rows(examples, name))
    if after is not before:
        assert after.n_features is not None
        learner = estimator._learner.copy()
        learner.add_features(after.n_features)
        new = {"n_features_in_": after.n_features, "feature_names_in_": after.names_array()}
        assign(estimator, _learner=learner, _columns=after, **new)
    return before, rows
