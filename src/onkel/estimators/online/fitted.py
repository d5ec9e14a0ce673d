"""What a running learner shows: its scorer and model in the order of `classes_`, support vectors and coefficients.

All of it is derived from the learner when it is asked for. An estimator to which an attribute does not apply raises
AttributeError, as if it had none. The caller has the lock (`reading`).
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from onkel.estimators.base.labels import Labels
from onkel.estimators.base.targets import Targets
from onkel.estimators.online.running import Running
from onkel.kernels import Kernel, Linear
from onkel.kernels.rows import GramRows, ObjectRows, Rows
from onkel.kernels.vectors import VectorRows
from onkel.models.columns import Columns
from onkel.models.decision import Outlier, Ranks
from onkel.models.expansion import Expansion
from onkel.models.linear import LinearModel
from onkel.models.model import ScoreModel
from onkel.models.scorer import Scorer, support_data
from onkel.models.vocabulary import Vocabulary
from onkel.models.vote import Vote

__all__ = ["expansion", "in_class_order", "reading", "scorer_of", "shown"]

T = TypeVar("T")
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def reading(read: Callable[[Any], T]) -> Callable[[Any], T]:
    """Makes a function that reads a fitted estimator wait for a thread that is learning: it sees a whole state."""

    @functools.wraps(read)
    def locked(self: Any) -> T:
        check_is_fitted(self, "_running")
        with self._running.lock:
            return read(self)

    return locked


def scorer_of(running: Running, which: tuple[Any, ...] = ()) -> Scorer:
    """What predicts, its outputs in the order of `classes_`; made anew only if something has been learned since.

    `which` hypothesis it is of the learner: the arguments of its `scorer`.
    """
    learner, cache = running.learner, running.cache
    made_from = (learner.n_seen, learner.version, *which)
    if cache.scorer is None or cache.learner is not learner or cache.made_from != made_from:
        scorer = in_class_order(learner.scorer(*which), running.targets)
        if isinstance(scorer, Expansion | Vote) and len(scorer.support) == 0:
            scorer = dataclasses.replace(scorer, support=_no_rows(scorer.kernel, running.columns))
        running.cache = cache = type(cache)(learner, made_from, scorer)
    assert cache.scorer is not None
    return cache.scorer


def in_class_order(scorer: Scorer, targets: Targets) -> Scorer:
    """A scorer whose outputs are in the learner's order → one with the outputs as users see them."""
    if isinstance(scorer, Expansion):
        coef, intercept = targets.by_class(scorer.coef), targets.by_class(scorer.intercept[None, :])[0]
        return dataclasses.replace(scorer, coef=coef, intercept=intercept)
    if isinstance(scorer, LinearModel):
        coef, intercept = targets.by_class(scorer.coef.T).T, targets.by_class(scorer.intercept[None, :])[0]
        return dataclasses.replace(scorer, coef=np.ascontiguousarray(coef), intercept=intercept)
    assert isinstance(scorer, Vote)
    if targets.n_outputs == 1:
        # a score of 0 votes for +1, so a single output must have its sign: +1 means classes_[1]
        sign = targets.sign  # type: ignore[attr-defined]
        return dataclasses.replace(scorer, step=scorer.step * sign)
    order = targets.order  # type: ignore[attr-defined]
    return dataclasses.replace(scorer, output=np.argsort(order)[scorer.output], start=scorer.start[order])


def _no_rows(kernel: Kernel, columns: Columns | Vocabulary) -> Rows:
    """Rows of the kind that the kernel takes, of which there are none."""
    if kernel.takes == "gram":
        return GramRows(None, np.empty(0, dtype=np.intp), None)
    if columns.n_features is None:
        return ObjectRows(np.empty(0, dtype=object))
    return VectorRows(np.empty((0, columns.n_features), dtype=columns.dtype))


def shown(running: Running, which: tuple[Any, ...] = ()) -> tuple[Scorer, Columns]:
    """What predicts, and its columns: of sparse dicts, the features that it holds, without the free columns between."""
    scorer, vocabulary = scorer_of(running, which), running.columns
    if not isinstance(vocabulary, Vocabulary):
        return scorer, vocabulary
    found = running.cache.shown
    if found is None:
        columns, places = vocabulary.held(running.learner.features_in_use).columns()
        found = _with_columns(scorer, places), columns
        running.cache = dataclasses.replace(running.cache, shown=found)
    return found


def _with_columns(scorer: Scorer, places: NDArray[np.int64]) -> Scorer:
    """The scorer on some of the features, those that it depends on."""
    if isinstance(scorer, LinearModel):
        return dataclasses.replace(scorer, coef=np.ascontiguousarray(scorer.coef[:, places]))
    assert isinstance(scorer, Expansion | Vote)
    assert isinstance(scorer.support, VectorRows)
    return dataclasses.replace(scorer, support=scorer.support.with_columns(places))


def expansion(scorer: Scorer, who: str, *, or_vote: bool = False) -> Any:
    """The scorer, if it is a sum over support vectors; with `or_vote`, a vote is one, too."""
    if isinstance(scorer, Vote) and not or_vote:
        raise AttributeError("a vote of all guesses has no coefficients of its own; see mistakes_ and model_")
    if not isinstance(scorer, Expansion | Vote):
        raise AttributeError(f"a {who} keeps no support vectors; see coef_")
    return scorer


# ---------------------------------------------------------------- attributes


def attribute(read: Callable[[Running, tuple[Any, ...], str], T]) -> Any:
    """A property of an estimator, from its running learner, its hypothesis and its name, at one moment."""

    def get(self: Any) -> T:
        check_is_fitted(self, "_running")
        with self._running.lock:
            return read(self._running, self._which(), self._name)

    get.__doc__ = read.__doc__
    return property(get)


def classes(running: Running, which: tuple[Any, ...], who: str) -> NDArray:
    """The classes, sorted."""
    if not isinstance(running.targets, Labels):
        raise AttributeError(f"a {who} has no classes")
    return running.targets.classes


def model(running: Running, which: tuple[Any, ...], who: str) -> ScoreModel:
    """What has been learned, as a frozen model that predicts by itself and does not change when learning goes on."""
    if isinstance(running.targets, Labels) and not running.targets.found:  # stopped before the first example
        raise NotFittedError(f"{who} has not learned from any example yet. Call fit or partial_fit first.")
    scorer, columns = shown(running, which)
    return running.targets.MODEL(scorer, running.targets.decision(running.learner), columns)


def support(running: Running, which: tuple[Any, ...], who: str) -> Ints:
    """The row indices of the m support vectors, shape (m,)."""
    return np.array(expansion(shown(running, which)[0], who, or_vote=True).row_ids)


def support_vectors(running: Running, which: tuple[Any, ...], who: str) -> Any:
    """The support vectors, in the order of `support_`."""
    return support_data(expansion(shown(running, which)[0], who, or_vote=True).support)


def dual_coef(running: Running, which: tuple[Any, ...], who: str) -> Floats:
    """The coefficients of the m support vectors, shape (outputs, m)."""
    return np.ascontiguousarray(expansion(shown(running, which)[0], who).coef.T)


def intercept(running: Running, which: tuple[Any, ...], who: str) -> Floats:
    """The intercept b of each output, shape (outputs,)."""
    scorer, decision = shown(running, which)[0], running.targets.decision(running.learner)
    if isinstance(decision, Ranks):
        raise AttributeError(f"{who} has no intercept_; see thresholds_")
    found = (scorer if isinstance(scorer, LinearModel) else expansion(scorer, who)).intercept
    return found - decision.threshold if isinstance(decision, Outlier) else found.copy()


def coef(running: Running, which: tuple[Any, ...], who: str) -> Floats:
    """The weight vector of each output, shape (outputs, features); with a linear kernel only."""
    scorer = shown(running, which)[0]
    if isinstance(scorer, LinearModel):
        return scorer.coef.copy()
    if type(running.kernel) is not Linear:
        raise AttributeError("coef_ is there only with a linear kernel; see dual_coef_ and support_vectors_")
    found = expansion(scorer, who)
    return np.asarray(found.coef.T @ support_data(found.support))


def n_rounds(running: Running, which: tuple[Any, ...], who: str) -> int:
    """The number of examples presented, with or without an update; an example counts once in each epoch."""
    return int(running.learner.n_seen)


def n_mistakes(running: Running, which: tuple[Any, ...], who: str) -> int:
    """How many examples were mistaken just before they were learned from, summed over the outputs."""
    if not running.targets.MISTAKEN:
        raise AttributeError(f"{who} has no classes to mistake; see n_updates_")
    return int(running.learner.n_mistakes)


def n_updates(running: Running, which: tuple[Any, ...], who: str) -> int:
    """The number of updates, summed over the outputs."""
    if running.learner.UPDATES_ARE_MISTAKES:
        raise AttributeError(f"the updates of a {who} are its mistakes; see n_mistakes_")
    return int(running.learner.n_updates)


def mistakes(running: Running, which: tuple[Any, ...], who: str) -> NDArray[np.void]:
    """The updates in order, all or the last ones, with the fields round, row, class and step.

    "class" is the index of the output in `classes_`.
    """
    return running.targets.report(running.learner.ledger.entries)
