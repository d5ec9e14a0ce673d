"""The number of bytes that an estimator holds."""

from __future__ import annotations

import gc
import sys
import types
from typing import Any

import numpy as np

__all__ = ["memory"]


def memory(estimator: Any) -> int:
    """The number of bytes that an estimator holds: its arrays, with their spare capacity, and all its Python objects.

    Every object that can be reached from the estimator is counted once. A view of an array counts as the whole array
    that it keeps alive. Classes, functions and modules are not counted.

    Parameters
    ----------
    estimator : any Python object.

    Cost: one visit to each object; an array of numbers is one object.

    >>> from onkel import Perceptron
    >>> from onkel.evaluate import memory
    >>> small, large = (Perceptron().partial_fit([[0.0] * d], [1], classes=[0, 1]) for d in (10, 10_010))
    >>> memory(large) - memory(small) == 2 * 8 * 10_000  # two vectors of float64: v, and the sum for its average
    True

    Source: the recipe in the documentation of `sys.getsizeof`.
    """
    elsewhere = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)
    total, seen, waiting = 0, set(), [estimator]
    while waiting:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, elsewhere):
            continue
        seen.add(id(thing))
        if isinstance(thing, np.ndarray):
            if isinstance(thing.base, np.ndarray):
                waiting.append(thing.base)
                continue
            total += thing.nbytes
            waiting += thing.ravel().tolist() if thing.dtype == object else []
        else:
            total += sys.getsizeof(thing)
            waiting += gc.get_referents(thing)
    return total
