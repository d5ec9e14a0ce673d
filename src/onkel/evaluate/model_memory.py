"""How many bytes a model holds."""

from __future__ import annotations

import gc
import sys
import types
from typing import Any

import numpy as np

__all__ = ["memory"]


def memory(estimator: Any) -> int:
    """Bytes that an estimator holds: its arrays, at their full capacity, and the Python objects around them.

    Everything that can be reached from it is counted once, a view as what it is a view of; classes,
    functions and modules are not counted.

    Cost: a visit to each object, which an array of numbers is one of.

    >>> from onkel import Perceptron
    >>> from onkel.evaluate import memory
    >>> small, large = (Perceptron().partial_fit([[0.0] * d], [1], classes=[0, 1]) for d in (10, 10_010))
    >>> memory(large) - memory(small) == 2 * 8 * 10_000  # v, and what averages it
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
