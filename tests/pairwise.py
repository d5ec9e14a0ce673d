"""Pairwise covering: few combinations of many parameters, in which every pair of values still meets."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from typing import Any

__all__ = ["FULL", "name_of", "pairwise"]

FULL = bool(os.environ.get("ONKEL_FULL_PRODUCTS"))  # make test-long: every combination, more examples, every line


def pairwise(*lists: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Combinations of one value of each list, such that every two values of different lists occur together in one.

    It replaces the full product where a fault shows with two of the values at most: four lists of 10, 5, 2 and 2 values
    give about 50 combinations, not 200. The same lists give the same combinations. `make test-long` sets
    ONKEL_FULL_PRODUCTS=1, and gets the full product.

    The combinations are made parameter by parameter: all pairs of the two longest lists first; then every row gets the
    value of the next list that brings the most new pairs, and rows are added for the pairs that are left (Lei and Tai
    1998, In-parameter-order: a test generation strategy for pairwise testing).
    """
    if os.environ.get("ONKEL_FULL_PRODUCTS") or len(lists) < 3:
        return list(itertools.product(*lists))
    longest_first = sorted(range(len(lists)), key=lambda k: -len(lists[k]))
    sizes = [len(lists[k]) for k in longest_first]
    rows = [list(pair) for pair in itertools.product(range(sizes[0]), range(sizes[1]))]
    for k in range(2, len(sizes)):
        missing = {(j, a, b) for j in range(k) for a in range(sizes[j]) for b in range(sizes[k])}
        for i, row in enumerate(rows):
            new = [sum((j, row[j], b) in missing for j in range(k)) for b in range(sizes[k])]
            row.append(max(range(sizes[k]), key=lambda b: (new[b], -((b - i) % sizes[k]))))  # ties: one after the other
            missing -= {(j, row[j], row[k]) for j in range(k)}
        while missing:
            j, a, b = min(missing)
            row = [next((c for c in range(sizes[i]) if (i, c, b) in missing), 0) for i in range(k)] + [b]
            row[j] = a
            missing -= {(i, row[i], b) for i in range(k)}
            rows.append(row)
    place = [longest_first.index(k) for k in range(len(lists))]
    return [tuple(lists[k][row[place[k]]] for k in range(len(lists))) for row in sorted(rows)]


def name_of(value: Any) -> str:
    """The name of a parameter in the name of a test; the same in every process."""
    if isinstance(value, tuple):
        return " ".join(map(name_of, value))
    return getattr(value, "__name__", str(value))
