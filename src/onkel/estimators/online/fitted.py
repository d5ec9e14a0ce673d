"""What a fitted online estimator shows: its model and its attributes, which `OnlineEstimator` makes properties of.

All of them are derived from the learner when they are asked for. An estimator to which an attribute does not apply
raises AttributeError, as if it had none.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from onkel._core.transaction import assign
from onkel.bounds.certificates import certify_budgeted_fit
from onkel.bounds.theorems import Certificate, Theorem, uncertified
from onkel.estimators.base.targets import Targets
from onkel.estimators.online.vocabulary import Vocabulary
from onkel.kernels import Kernel
from onkel.kernels.rows import GramRows, ObjectRows, Rows
from onkel.kernels.vectors import VectorRows
from onkel.learners.perceptron.kernel import KernelPerceptronLearner
from onkel.learners.perceptron.linear import LinearPerceptronLearner
from onkel.models.columns import Columns
from onkel.models.expansion import Expansion
from onkel.models.linear import LinearModel
from onkel.models.model import ScoreModel
from onkel.models.scorer import Scorer, support_data
from onkel.models.vote import Vote

if TYPE_CHECKING:
    from onkel.estimators.online.estimator import OnlineEstimator
    from onkel.estimators.online.examples import Examples

Floats = NDArray[np.float64]


T = TypeVar("T")
Reader = TypeVar("Reader", bound="OnlineEstimator")


def reading(read: Callable[[Reader], T]) -> Callable[[Reader], T]:
    """Makes a function that reads a fitted estimator wait for a thread that is learning: it sees a whole state."""

    @functools.wraps(read)
    def locked(self: Reader) -> T:
        check_is_fitted(self, "_learner")
        with self._lock:
            return read(self)

    return locked


# ---------------------------------------------------------------- the model


class ScorerCache:
    """The last scorer, and what it was made from; a pickle or a copy starts with an empty one."""

    def __init__(self) -> None:
        self.learner: object = None
        self.made_from: tuple[object, ...] = ()
        self.scorer: Scorer | None = None
        self.shown: tuple[Scorer, Scorer, Columns] | None = None  # the scorer, and what `_shown` makes of it

    def __reduce__(self) -> tuple[type[ScorerCache], tuple[()]]:
        return ScorerCache, ()


class Certified(NamedTuple):
    """The certificate of a fit, and what must not have changed since for it to be about the estimator."""

    about: object
    certificate: Certificate


def scorer_of(estimator: OnlineEstimator) -> Scorer:
    """What predicts, its outputs in the order of `classes_`; made anew only if the learner has changed."""
    learner, cache = estimator._learner, estimator._scorer
    made_from = (learner.n_seen, estimator._hypothesis())
    scorer = cache.scorer
    if scorer is None or cache.learner is not learner or cache.made_from != made_from:
        scorer = in_class_order(estimator._make_scorer(), estimator._targets)
        if isinstance(scorer, Expansion | Vote) and len(scorer.support) == 0:
            scorer = dataclasses.replace(scorer, support=_no_rows(scorer.kernel, estimator._columns))
        assign(cache, scorer=scorer, learner=learner, made_from=made_from)
    return scorer


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


@reading
def model(self: OnlineEstimator) -> ScoreModel:
    """What has been learned, as a frozen model that predicts by itself and does not change when learning goes on."""
    scorer, columns = _shown(self)
    return ScoreModel(scorer, self._decision(), columns)


def _shown(estimator: OnlineEstimator) -> tuple[Scorer, Columns]:
    """What predicts, and its columns: of sparse dicts, the features that it holds, without the free columns between."""
    scorer, vocabulary, cache = scorer_of(estimator), estimator._columns, estimator._scorer
    if not isinstance(vocabulary, Vocabulary):
        return scorer, vocabulary
    shown = cache.shown
    if shown is None or shown[0] is not scorer:
        columns, places = vocabulary.held_by(estimator._learner).columns()
        shown = cache.shown = (scorer, _with_columns(scorer, places), columns)
    return shown[1:]


def _with_columns(scorer: Scorer, places: NDArray[np.int64]) -> Scorer:
    """The scorer on some of the features, those that it depends on."""
    if isinstance(scorer, LinearModel):
        return dataclasses.replace(scorer, coef=np.ascontiguousarray(scorer.coef[:, places]))
    assert isinstance(scorer, Expansion | Vote)
    assert isinstance(scorer.support, VectorRows)
    return dataclasses.replace(scorer, support=scorer.support.with_columns(places))


class FeatureAttribute:
    """The number or the names of the features of sparse dicts, which come and go: an attribute derived from the model.

    Of other data they are fixed, and stored in the estimator under the same name, where Python looks first.
    """

    def __set_name__(self, owner: type[OnlineEstimator], name: str) -> None:
        self.name = name

    def __get__(self, estimator: OnlineEstimator | None, owner: type[OnlineEstimator]) -> Any:
        if estimator is None or not isinstance(estimator.__dict__.get("_columns"), Vocabulary):
            raise AttributeError(f"{owner.__name__!r} object has no attribute {self.name!r}")
        columns = model(estimator).columns
        return columns.n_features if self.name == "n_features_in_" else columns.names_array()


# ---------------------------------------------------------------- support vectors and coefficients


def _expansion(estimator: OnlineEstimator) -> Expansion:
    scorer = _shown(estimator)[0]
    if isinstance(scorer, Vote):
        raise AttributeError("a vote of all guesses has no coefficients of its own; see mistakes_ and model_")
    if not isinstance(scorer, Expansion):
        raise AttributeError(f"a {estimator._name} keeps no support vectors; see coef_")
    return scorer


def _support_model(estimator: OnlineEstimator) -> Expansion | Vote:
    scorer = _shown(estimator)[0]
    return scorer if isinstance(scorer, Vote) else _expansion(estimator)


@reading
def support(self: OnlineEstimator) -> NDArray[np.int64]:
    """The row indices of the m support vectors, shape (m,)."""
    return _support_model(self).rows.copy()


@reading
def support_vectors(self: OnlineEstimator) -> Any:
    """The support vectors, in the order of `support_`."""
    return support_data(_support_model(self).support)


@reading
def dual_coef(self: OnlineEstimator) -> Floats:
    """The coefficients of the m support vectors, shape (outputs, m)."""
    return np.ascontiguousarray(_expansion(self).coef.T)


@reading
def intercept(self: OnlineEstimator) -> Floats:
    """The intercept b of each output, shape (outputs,)."""
    scorer = _shown(self)[0]
    return (scorer if isinstance(scorer, LinearModel) else _expansion(self)).intercept.copy()


# ---------------------------------------------------------------- the run


@reading
def n_rounds(self: OnlineEstimator) -> int:
    """The number of examples presented, with or without an update; an example counts once in each epoch."""
    return self._learner.n_seen


@reading
def n_mistakes(self: OnlineEstimator) -> int:
    """How many examples had y f(x) ≤ 0 just before they were learned from, summed over the outputs."""
    if self.TARGETS.kind != "labels":
        raise AttributeError(f"{self._name} has no classes to mistake; see n_updates_")
    return self._learner.n_mistakes


@reading
def n_updates(self: OnlineEstimator) -> int:
    """The number of updates, summed over the outputs."""
    if isinstance(self._learner, KernelPerceptronLearner | LinearPerceptronLearner):
        raise AttributeError(f"the updates of a {self._name} are its mistakes; see n_mistakes_")
    return self._learner.n_updates


@reading
def mistakes(self: OnlineEstimator) -> NDArray[np.void]:
    """The updates in order, all or the last ones, with the fields round, row, class and step.

    "class" is the index of the output in `classes_`.
    """
    return self._targets.report(self._learner.ledger.entries)


@reading
def certificate(self: OnlineEstimator) -> Certificate:
    """The mistakes of the last `fit` and the theorem's bound on them; or, as its `reason`, why there is none."""
    theorem = self._theorem(1.0)
    if theorem is None:
        known = isinstance(self._learner, LinearPerceptronLearner)
        advice = "; use onkel.bounds.certificate(estimator, X, y)" if known else ": onkel has no mistake bound for it"
        raise AttributeError(f"{self._name} has no certificate_{advice}")
    if isinstance(theorem, str):
        return uncertified(self._learner.n_mistakes, None, self.n_iter_, theorem)
    certified = self._certified
    if certified is None or certified.about != self._certified_state():
        raise AttributeError(
            "certificate_ is there after a fit that was neither interrupted nor a warm start; the examples of "
            "online learning are not kept, so that nothing can be compared on them"
        )
    return certified.certificate


def certified(estimator: OnlineEstimator, examples: Examples) -> Certified | None:
    """The certificate of a fit, with the model as the comparator, and the state it is about; None without a theorem."""
    kernel = estimator._learner.kernel
    if kernel is None or estimator._theorem(1.0) is None:
        return None
    radius_sq = float(kernel.diagonal(examples.rows).max())
    theorem = estimator._theorem(radius_sq)
    if not isinstance(theorem, Theorem):
        return None
    model = estimator._learner.scorer()
    assert isinstance(model, Expansion)
    found = certify_budgeted_fit(
        theorem,
        model,
        mistakes=estimator._learner.n_mistakes,
        rows=examples.rows,
        targets=estimator._targets.encode(examples.y),
        weights=examples.weights,
        row_ids=examples.row_ids,
        radius_sq=radius_sq,
        epochs=estimator.n_iter_,
        is_psd=estimator._is_psd,
    )
    return Certified(estimator._certified_state(), found)
