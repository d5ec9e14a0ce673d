"""Measures of rankings: how well scores put the items of each query in the order of their grades.

Every function takes the true grades y_true ≥ 0, the scores y_score, larger for better items, and the query of each
item, and returns the mean over the queries. An item with a grade > 0 is relevant. A query without a relevant item has
no best order and is left out; if there is no other, that is an error.

**Ties.** Items of a query with equal scores have no order, so each function returns its mean over all orders of them,
in closed form (McSherry and Najork 2008). So the value depends neither on the order of the rows nor on the sorting
algorithm, and constant scores get what a random order gets in the mean. `ndcg_score` of scikit-learn does the same;
programs that break ties by the order of the rows (trec_eval, LightGBM) give other values where there are ties.

All of them cost one sort of the items. Nothing is looped over in Python.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from onkel.checks import check_finite, check_integer, check_one_of
from onkel.errors import InputError, KindError, ShapeError, ValuesError

__all__ = ["mean_average_precision", "mean_reciprocal_rank", "ndcg"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

MOST = 1000  # the largest grade whose gain 2^grade, summed over many items, is a float


def ndcg(
    y_true: Any,
    y_score: Any,
    qid: Any = None,
    *,
    k: int | None = None,
    gain: Literal["exponential", "linear"] = "exponential",
) -> float:
    """The normalized discounted cumulative gain of a ranking, the mean over the queries, from 0 to 1.

    DCG = Σ gain(grade of the item in place p) / log2(1 + p) over the places p = 1, 2, … of a query, sorted by falling
    score, and NDCG = DCG / DCG of the items sorted by falling grade. Queries without a grade > 0 are left out. Items
    with equal scores share the mean of their discounts.

    Parameters
    ----------
    y_true : shape (n,), the grades, numbers ≥ 0, larger for better items.
    y_score : shape (n,), the scores.
    qid : shape (n,), the query of each item: any labels, in any order. None (default): all items are of one query.
    k : ≥ 1, only the first k places count (NDCG@k). None (default): all of them.
    gain : "exponential" (default): 2^grade − 1, the convention of web search, LightGBM and XGBoost; "linear": the
        grade itself, the convention of scikit-learn's `ndcg_score`. Both are the same for grades 0 and 1.

    Cost: one sort of the n items.

    >>> from onkel.evaluate import ndcg
    >>> grades, scores, queries = [2, 0, 1, 0, 1], [0.9, 0.8, 0.1, 0.3, 0.7], ["a", "a", "a", "b", "b"]
    >>> round(ndcg(grades, scores, queries), 4), round(ndcg(grades, scores, queries, k=1), 4)
    (0.982, 1.0)

    Source: Järvelin and Kekäläinen 2002; Burges et al. 2005, Learning to rank using gradient descent (the gain).
    """
    check_one_of(gain, "gain", ("exponential", "linear"), "ndcg")
    grades, scores, query = _checked(y_true, y_score, qid, "ndcg")
    if gain == "exponential":
        if grades.max() > MOST:
            raise ValuesError(
                f"ndcg: y_true must be at most {MOST}, as the gain is 2^grade − 1; got {grades.max():g}. Use "
                'gain="linear", or fewer grades.'
            )
        grades = np.exp2(grades) - 1.0
    ties = _tied(scores, query)
    discount = _discounts(ties.place, k, "ndcg")
    mean_discount = np.bincount(ties.group, discount) / ties.size
    dcg = np.bincount(ties.query, grades[ties.order] * mean_discount[ties.group])
    best = np.lexsort((-grades, query))
    ideal = np.bincount(query[best], grades[best] * discount)
    return _mean_of_queries(dcg, ideal, "ndcg")


def mean_average_precision(y_true: Any, y_score: Any, qid: Any = None, *, k: int | None = None) -> float:
    """The mean over the queries of the average precision, from 0 to 1.

    The average precision of a query with R relevant items is Σ (relevant items in the first p places) / p over the
    places p ≤ k of relevant items, sorted by falling score, divided by min(R, k). An item is relevant if its grade is
    > 0. Queries without a relevant item are left out. Where scores are equal, it is the mean over all orders of these
    items.

    Parameters
    ----------
    y_true : shape (n,), the grades, numbers ≥ 0.
    y_score : shape (n,), the scores, larger for better items.
    qid : shape (n,), the query of each item: any labels, in any order. None (default): all items are of one query.
    k : ≥ 1, only the first k places count. None (default): all of them.

    Cost: one sort of the n items.

    >>> from onkel.evaluate import mean_average_precision
    >>> mean_average_precision([1, 0, 1, 0], [4.0, 3.0, 2.0, 1.0]) == (1 / 1 + 2 / 3) / 2
    True

    Source: McSherry and Najork 2008, Computing information retrieval performance measures efficiently in the presence
    of tied scores.
    """
    grades, scores, query = _checked(y_true, y_score, qid, "mean_average_precision")
    ties, relevant = _tied(scores, query), (grades > 0).astype(np.float64)
    last = _last_place(k, "mean_average_precision")
    total = np.bincount(query, relevant)
    found = np.bincount(ties.group, relevant[ties.order])  # relevant items of each group of ties
    before = np.cumsum(found) - found  # relevant items before each group, of all queries so far
    before -= (np.cumsum(total) - total)[ties.query[ties.first]]
    found, before, size = found[ties.group], before[ties.group], ties.size[ties.group]
    # of the other items of the group, these are relevant for sure if the one in this place is, and come before it
    among = ties.within * (found - 1.0) / np.maximum(size - 1, 1)
    precision = found / size * (before + 1.0 + among) / ties.place
    summed = np.bincount(ties.query, np.where(ties.place <= last, precision, 0.0))
    return _mean_of_queries(summed, np.minimum(total, last), "mean_average_precision")


def mean_reciprocal_rank(y_true: Any, y_score: Any, qid: Any = None) -> float:
    """The mean over the queries of 1 / (place of the first relevant item, sorted by falling score), from 0 to 1.

    An item is relevant if its grade is > 0. Queries without a relevant item are left out. Where scores are equal, it
    is the mean over all orders of these items.

    Parameters
    ----------
    y_true : shape (n,), the grades, numbers ≥ 0.
    y_score : shape (n,), the scores, larger for better items.
    qid : shape (n,), the query of each item: any labels, in any order. None (default): all items are of one query.

    Cost: one sort of the n items.

    >>> from onkel.evaluate import mean_reciprocal_rank
    >>> mean_reciprocal_rank([0, 1, 0, 1], [0.9, 0.2, 0.1, 0.7], qid=[1, 1, 2, 2])
    0.75

    Source: McSherry and Najork 2008, Computing information retrieval performance measures efficiently in the presence
    of tied scores.
    """
    grades, scores, query = _checked(y_true, y_score, qid, "mean_reciprocal_rank")
    ties, relevant = _tied(scores, query), (grades > 0).astype(np.float64)
    found = np.bincount(ties.group, relevant[ties.order])
    with_relevant = np.flatnonzero(found)
    owners, first = np.unique(ties.query[ties.first[with_relevant]], return_index=True)
    decides = np.zeros(len(found), dtype=bool)  # the first group of each query that has a relevant item
    decides[with_relevant[first]] = True
    # m of the n items of the group are relevant: the first of these is in place j + 1 of the group in
    # C(n − 1 − j, m − 1) of C(n, m) cases
    among = np.flatnonzero(decides[ties.group])
    n, m, j = ties.size[ties.group[among]], found[ties.group[among]], ties.within[among]
    among, n, m, j = (values[j <= n - m] for values in (among, n, m, j))
    chance = np.exp(_log_choose(n - 1 - j, m - 1) - _log_choose(n, m))
    sums = np.bincount(ties.query[among], chance / ties.place[among], minlength=int(query.max()) + 1)
    counted = np.zeros(len(sums))
    counted[owners] = 1.0
    return _mean_of_queries(sums, counted, "mean_reciprocal_rank")


# ---------------------------------------------------------------- parts of all of them


class Ties(NamedTuple):
    """Items sorted by query and falling score, and the groups of items of one query with equal scores."""

    order: Ints  # (n,), the items in this order; the other (n,) arrays are in it
    query: Ints  # (n,)
    place: Ints  # (n,), within the query, from 1
    group: Ints  # (n,), from 0
    within: Ints  # (n,), the place within the group, from 0
    first: Ints  # (groups,), where each group starts
    size: Ints  # (groups,)


def _tied(scores: Floats, query: Ints) -> Ties:
    order = np.lexsort((-scores, query))
    of_query, score, at = query[order], scores[order], np.arange(len(order))
    new_query = np.append(True, of_query[1:] != of_query[:-1])
    new_group = new_query | np.append(True, score[1:] != score[:-1])
    first, group = np.flatnonzero(new_group), np.cumsum(new_group) - 1
    place = at - np.flatnonzero(new_query)[of_query] + 1
    return Ties(order, of_query, place, group, at - first[group], first, np.diff(np.append(first, len(order))))


def _discounts(place: Ints, k: int | None, who: str) -> Floats:
    """1 / log2(1 + p) of each place p, 0 after the k-th."""
    return np.where(place <= _last_place(k, who), 1.0 / np.log2(1.0 + place), 0.0)


def _last_place(k: int | None, who: str) -> float:
    return np.inf if k is None else float(check_integer(k, "k", who, at_least=1))


def _log_choose(n: NDArray, m: NDArray) -> Floats:
    found: Floats = gammaln(n + 1.0) - gammaln(m + 1.0) - gammaln(n - m + 1.0)
    return found


def _mean_of_queries(reached: NDArray, possible: NDArray, who: str) -> float:
    """The mean of reached / possible over the queries where something is possible."""
    counted = possible > 0
    if not counted.any():
        raise InputError(
            f"{who}: y_true must hold a grade > 0 in at least one query; got none. Without a relevant item no order "
            "is better than another."
        )
    return float(np.mean(reached[counted] / possible[counted]))


def _checked(y_true: Any, y_score: Any, qid: Any, who: str) -> tuple[Floats, Floats, Ints]:
    """Grades ≥ 0, finite scores, and the query of each item as a number from 0; all of shape (n,)."""
    grades, scores = _numbers(y_true, "y_true", who), _numbers(y_score, "y_score", who)
    if grades.shape != scores.shape:
        raise ShapeError(f"{who}: y_true and y_score must be of one length; got {len(grades)} and {len(scores)}.")
    if grades.min() < 0:
        raise ValuesError(
            f"{who}: y_true must hold grades >= 0; got {grades.min():g}. Shift the grades so that the worst is 0."
        )
    if qid is None:
        return grades, scores, np.zeros(len(grades), dtype=np.int64)
    given = np.asarray(qid)
    if given.shape != grades.shape:
        raise ShapeError(f"{who}: qid must have shape ({len(grades)},), the query of each item; got {given.shape}.")
    try:
        query = np.unique(given, return_inverse=True)[1].reshape(-1)
    except TypeError as error:
        raise KindError(f"{who}: qid must hold labels of one kind, all numbers or all strings; {error}.") from error
    return grades, scores, query.astype(np.int64)


def _numbers(values: Any, name: str, who: str) -> Floats:
    """A vector of at least one finite number."""
    given = np.asarray(values)
    if given.dtype.kind not in "biufO":
        raise KindError(f"{who}: {name} must hold real numbers; got dtype {given.dtype}.")
    try:
        numbers = given.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise KindError(f"{who}: {name} must hold real numbers; {error}.") from error
    if numbers.ndim != 1 or len(numbers) == 0:
        raise ShapeError(f"{who}: {name} must have shape (n,), a number for each item; got shape {given.shape}.")
    check_finite(numbers, name, who)
    return numbers
