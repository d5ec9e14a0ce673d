"""Slow, obvious twins of the measures of rankings: every order of tied items is written down and measured."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence

Grades = Sequence[float]


def orders(grades: Grades, scores: Sequence[float]) -> Iterator[list[float]]:
    """The grades by falling score, in every order of items with equal scores."""
    groups = [[g for g, s in zip(grades, scores, strict=True) if s == score] for score in sorted(set(scores))[::-1]]
    for some in itertools.product(*(itertools.permutations(group) for group in groups)):
        yield [grade for group in some for grade in group]


def dcg(ranked: Grades, k: int | None, gain: str) -> float:
    gains = [g if gain == "linear" else 2.0**g - 1 for g in ranked[:k]]
    return sum(g / math.log2(1 + place) for place, g in enumerate(gains, start=1))


def ndcg(ranked: Grades, k: int | None = None, gain: str = "exponential") -> float:
    return dcg(ranked, k, gain) / dcg(sorted(ranked, reverse=True), k, gain)


def average_precision(ranked: Grades, k: int | None = None) -> float:
    relevant = [grade > 0 for grade in ranked]
    found = [sum(relevant[:p]) / p for p in range(1, len(ranked) + 1) if relevant[p - 1] and (k is None or p <= k)]
    return sum(found) / min(sum(relevant), len(ranked) if k is None else k)


def reciprocal_rank(ranked: Grades) -> float:
    return 1 / next(p for p, grade in enumerate(ranked, start=1) if grade > 0)


def mean_over_queries(
    measure: Callable[[Grades], float], grades: Grades, scores: Sequence[float], queries: Sequence[object]
) -> float:
    """The mean over the queries with a relevant item of the mean over all orders."""
    values = []
    for query in dict.fromkeys(queries):
        mine = [i for i, other in enumerate(queries) if other == query]
        if any(grades[i] > 0 for i in mine):
            found = [measure(ranked) for ranked in orders([grades[i] for i in mine], [scores[i] for i in mine])]
            values.append(sum(found) / len(found))
    return sum(values) / len(values)
