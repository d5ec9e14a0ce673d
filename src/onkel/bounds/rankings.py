"""Certificates of ranking perceptrons: the numbers that the mistake theorems need, from a run over queries.

An update of a ranking perceptron adds z = φ(x_best) − φ(x_guess), or a sum of such differences, and makes it only if
v·z ≤ 0. So the proofs in `onkel.bounds.theorems` hold with z in the place of y φ(x): the mistakes are the queries with
an update, R is the largest ‖z‖², and a query misses the margin γ by max(0, γ − the smallest u·z it could be asked for).

The notes bound ‖z‖² by 2R with R ≥ ‖x‖², which needs x_best·x_guess ≥ 0. The correct constant is 4R, and it is attained
(`onkel.game.Opposite`); the largest ‖z‖² of the updates made is never larger, and is what the bound here uses.

No file of this package has the name of a public function or module; hence the plural.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from onkel.bounds.comparators import GUESSES, WORDS, check_comparator, is_psd_on
from onkel.bounds.theorems import Certificate, Floats, certify, score_errors, uncertified, why_not
from onkel.checks import check_finite
from onkel.errors import InputError, KindError, ParameterError, ShapeError, ValuesError
from onkel.kernels import Kernel, Linear, expand, prepare
from onkel.kernels.rows import Rows
from onkel.learners.perceptron.groups import Groups, grouped
from onkel.learners.perceptron.ranking import Pairs, RankingLearner

__all__ = ["certify_ranking_fit", "open_ranking", "query_margins", "ranking_certificate", "ranks", "refuse_qid"]

GIVE_AS_FITTED = "Give the rows, grades and queries that the estimator was fitted on, in their order."


def query_margins(f: Floats, groups: Groups, pairs: Pairs) -> Floats:
    """The smallest u·z that an update z of each query could have, from f = u·φ(x) of all items; (teaching queries,).

    With "best", z is an item of the top grade less a lower one. With "all", z is a sum over any of the pairs, so the
    negative ones together are the smallest; if there are none, the smallest pair is.
    """
    found = []
    for q in np.flatnonzero(groups.teaching()):
        part = slice(groups.starts[q], groups.starts[q + 1])
        found.append((_least_of_all if pairs == "all" else _least_of_best)(f[part], groups.grades[part]))
    return np.array(found)


def _least_of_best(f: Floats, grades: Floats) -> float:
    top = grades == grades.max()
    return float(f[top].min() - f[~top].max())


def _least_of_all(f: Floats, grades: Floats) -> float:
    least, negative = np.inf, 0.0
    for grade in np.unique(grades)[1:]:
        mine, lower = f[grades == grade], np.sort(f[grades < grade])
        tails = np.append(np.cumsum(lower[::-1])[::-1], 0.0)  # the sum of lower[i:]
        above = np.searchsorted(lower, mine, side="right")
        negative += float(((len(lower) - above) * mine - tails[above]).sum())
        least = min(least, float(mine.min() - lower[-1]))
    return least if least >= 0 else negative


def _certified(
    mistakes: int, margins: Floats, norm: float, radius_sq: float, item_radius_sq: float | None, **known: Any
) -> Certificate:
    """The certificate from the numbers of a ranking run.

    4R/γ² with R = `item_radius_sq` is one of its constants if u ranks all queries; None: the updates are sums of pairs.
    """
    found = certify(
        mistakes=np.array([mistakes]), margins=margins[:, None], norms=np.array([norm]), radius_sq=radius_sq, **known
    )
    if item_radius_sq is not None and found.margin is not None and found.margin > 0:
        found = replace(found, constants=(("4 max K(x, x)/margin²", 4.0 * item_radius_sq / found.margin**2),))
    return replace(found, examples="queries")


def certify_ranking_fit(learner: RankingLearner, groups: Groups, epochs: int, is_psd: bool | None) -> Certificate:
    """The certificate of a ranking perceptron's fit, with its last guess as the comparator."""
    mistakes, radius_sq, rows = learner.n_mistakes, learner.radius_sq, groups.rows
    if not mistakes:
        return uncertified(mistakes, None, epochs, "no mistake was made, so there is nothing to bound")
    if is_psd is not True:
        return uncertified(mistakes, radius_sq, epochs, why_not(is_psd))
    item_radius_sq = float((learner.kernel or Linear()).inner.diagonal(rows).max())
    errors = None
    if learner.kernel is not None:  # a margin is a difference of two scores
        errors = score_errors(rows.dtype, 2.0 * item_radius_sq, np.abs(learner.support.coef).sum(axis=0))
    margins = query_margins(learner.scores(rows)[:, 0], groups, learner.pairs)
    known = {"epochs": epochs, "comparator": "the last guess", "errors": errors}
    constant = item_radius_sq if learner.pairs == "best" else None
    return _certified(mistakes, margins, float(np.sqrt(learner.sq_norm)), radius_sq, constant, **known)


# ---------------------------------------------------------------- a fitted estimator, with its data


def ranks(estimator: Any) -> bool:
    """Whether an estimator is a ranking perceptron."""
    return hasattr(type(estimator), "find_best")


def refuse_qid(qid: Any, estimator: Any, who: str) -> None:
    """Refuses queries for an estimator that does not rank."""
    if qid is not None:
        raise ParameterError(f"{who}: qid must be None for a {type(estimator).__name__}, which does not rank; got one.")


class RankingRun(NamedTuple):
    """The checked contents of a fitted ranking perceptron and of its training data.

    `row`, `step` and `after` have one entry for each term of the updates, in order; `first` (M,) says where the terms
    of each of the M updates begin.
    """

    kernel: Kernel
    rows: Rows  # the n training rows, in the order of X
    groups: Groups  # the same, by query
    pairs: Pairs
    row: NDArray[np.int64]
    step: Floats
    after: NDArray[np.int64]  # the number of rounds after the update
    first: NDArray[np.int64]
    epochs: int

    def updates(self) -> Iterator[slice]:
        """The terms of each update."""
        ends = np.append(self.first[1:], len(self.row))
        return (slice(int(start), int(end)) for start, end in zip(self.first, ends, strict=True))

    def coef(self, averaged: bool = False) -> Floats:
        """The coefficients (n,) of the last guess or, up to a factor, of the averaged one."""
        steps = self.step * (self.after if averaged else 1.0)
        return np.bincount(self.row, steps, minlength=len(self.rows)).astype(np.float64, copy=False)

    def scores(self, coef: Floats) -> tuple[Floats, float]:
        """f(x) of every row, (n,), and ‖f‖, of f = Σᵢ coefᵢ φ(xᵢ)."""
        support = np.flatnonzero(coef)
        if not len(support):
            return np.zeros(len(coef)), 0.0
        f = expand(self.kernel, self.rows, self.rows[support], coef[support])
        return f, math.sqrt(max(0.0, float(coef @ f)))

    def margins(self, f: Floats) -> Floats:
        """The smallest f·z of each query that teaches something."""
        return query_margins(f[self.groups.row_ids], self.groups, self.pairs)

    def radius_sq(self) -> float:
        """The largest ‖z‖² of an update."""
        lengths = [self.step[t] @ self.kernel(self.rows[self.row[t]]) @ self.step[t] for t in self.updates()]
        return float(max(lengths, default=0.0))


def open_ranking(estimator: Any, X: Any, y: Any, qid: Any, who: str) -> RankingRun:
    """The run of a fitted ranking perceptron, after checking the input of `certificate` or `trace`."""
    check_is_fitted(estimator)
    kernel = estimator.kernel_
    rows = prepare(kernel, X, itself=True)
    n, ledger, made = len(rows), estimator.mistakes_, estimator.n_mistakes_
    width = getattr(estimator, "n_features_in_", None)
    if width not in (None, getattr(rows, "n_features", width)):
        raise ShapeError(f"{who}: X must have the {width} columns of fit; got {rows.n_features}. {GIVE_AS_FITTED}")  # type: ignore[attr-defined]
    grades = _grades(y, n, who)
    order, starts = grouped(qid, n, who)
    rounds, first = np.unique(ledger["round"], return_index=True)
    if len(rounds) < made:
        raise InputError(
            f"{who}: needs all mistakes of the run; {type(estimator).__name__} made {made} and keeps the last "
            f"{len(rounds)}. Use kernel=Linear(), which keeps all, or fit fewer epochs."
        )
    row, step = ledger["row"].copy(), ledger["step"].copy()
    if len(row) and not 0 <= row.min() <= row.max() < n:
        raise ShapeError(f"{who}: X has {n} rows, and the ledger names row {int(row.max())}. {GIVE_AS_FITTED}")
    query = np.empty(n, dtype=np.int64)
    query[order] = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    groups = Groups(rows[order], starts, grades[order], order)
    _check_updates(query, grades, row, step, first, who)
    epochs = max(1, int(estimator.n_iter_), int(np.bincount(query[row[first]], minlength=1).max()))
    after = estimator.n_rounds_ - ledger["round"]
    return RankingRun(kernel, rows, groups, estimator.pairs, row, step, after, first, epochs)


def _check_updates(
    query: NDArray[np.int64],
    grades: Floats,
    row: NDArray[np.int64],
    step: Floats,
    first: NDArray[np.int64],
    who: str,
) -> None:
    """Refuses queries or grades under which the updates of the ledger could not have been made."""
    if not len(first):
        return
    least, most = (reduce.reduceat(query[row], first) for reduce in (np.minimum, np.maximum))
    above = np.maximum.reduceat(np.where(step > 0, grades[row], -np.inf), first)
    below = np.minimum.reduceat(np.where(step < 0, grades[row], np.inf), first)
    for wrong, what in ((least != most, "qid must hold the queries"), (above <= below, "y must hold the grades")):
        if wrong.any():
            at = int(row[first[wrong.argmax()]])
            raise ValuesError(f"{who}: {what} of fit; the update with row {at} was made with others. {GIVE_AS_FITTED}")


def _grades(y: Any, n: int, who: str) -> Floats:
    try:
        grades = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise KindError(f"{who}: y must hold the grades of the rows, numbers; {error}.") from error
    if grades.shape != (n,):
        raise ShapeError(f"{who}: y must have shape ({n},), a grade for each row of X; got shape {grades.shape}.")
    check_finite(grades, "y", who)
    return grades


def ranking_certificate(
    estimator: Any, X: Any, y: Any, qid: Any, sample_weight: Any, comparator: str, who: str
) -> Certificate:
    """The mistakes of a fitted ranking perceptron and the bound on them; see `onkel.bounds.certificate`."""
    if sample_weight is not None:
        raise ParameterError(f"{who}: sample_weight must be None for a ranking perceptron, which has no weights.")
    check_comparator(comparator, GUESSES, who, " for a ranking perceptron")
    run = open_ranking(estimator, X, y, qid, who)
    mistakes, epochs = len(run.first), run.epochs
    if not mistakes:
        return uncertified(0, None, epochs, "no mistake was made, so there is nothing to bound")
    is_psd, radius_sq = is_psd_on(run.kernel, run.rows, run.row), run.radius_sq()
    if is_psd is not True:
        return uncertified(mistakes, radius_sq, epochs, why_not(is_psd))
    item_radius_sq, found = float(run.kernel.inner.diagonal(run.rows).max()), []
    for guess in GUESSES[comparator]:
        coef = run.coef(averaged=guess == "averaged")
        f, norm = run.scores(coef)
        errors = score_errors(run.rows.dtype, 2.0 * item_radius_sq, np.abs(coef).sum(keepdims=True))
        given = {"epochs": epochs, "comparator": WORDS[guess], "errors": errors}
        constant = item_radius_sq if run.pairs == "best" else None
        found.append(_certified(mistakes, run.margins(f), norm, radius_sq, constant, **given))
    return min(found, key=lambda each: each.bound or 0.0)
