"""The compiled part: what may be called of it, under names.

`_native` takes contiguous arrays and numbers and fills arrays that the caller owns. It checks types and
dimensions, not sizes: the caller guarantees that its arrays fit each other (cpp/bind/module.cpp). The codes
of cpp/product/types.h have their names here. Environment variables, read here and nowhere else:

- ``ONKEL_SIMD``: one of `simd_targets()`, to force a path that is not the machine's best;
- ``ONKEL_NUM_THREADS``, else ``OMP_NUM_THREADS``, else the CPUs that this process may use.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from enum import IntEnum

import numpy as np
from numpy.typing import DTypeLike, NDArray

from onkel._core import _native
from onkel.errors import ParameterError

__all__ = [
    "PANEL_BYTES",
    "Map",
    "Op",
    "aligned",
    "aligned_empty",
    "aligned_zeros",
    "simd",
    "simd_target",
    "simd_targets",
    "thread_count",
    "threads",
]

PANEL_BYTES = 128  # of one feature in one panel: cpp/product/types.h, kPanelBytes


class Op(IntEnum):
    """How two rows meet, feature by feature: cpp/product/types.h, Op."""

    DOT = 0
    DISTANCE = 1
    COSINE = 2
    MANHATTAN = 3
    CHI2 = 4
    MIN = 5
    DIRECT = 6


class Map(IntEnum):
    """What is then done with each result: cpp/product/types.h, Map."""

    IDENTITY = 0
    POLYNOMIAL = 1
    TANH = 2
    EXPONENTIAL = 3
    MATERN12 = 4
    MATERN32 = 5
    MATERN52 = 6
    RATIONAL_QUADRATIC = 7


simd_targets = _native.simd_targets  # what this machine can run, best first
simd_target = _native.simd_target  # what runs now


def _select(name: str, who: str) -> None:
    if not _native.select_simd(name):
        raise ParameterError(f"{who} must be one of {', '.join(simd_targets())} on this machine; got {name!r}.")


@contextlib.contextmanager
def simd(name: str) -> Iterator[None]:
    """Runs a block on another SIMD path; for tests and benchmarks."""
    before = simd_target()
    _select(name, "the SIMD path")
    try:
        yield
    finally:
        _select(before, "the SIMD path")


_asked: ContextVar[int | None] = ContextVar("threads", default=None)


@contextlib.contextmanager
def threads(count: int) -> Iterator[None]:
    """Products of a block use so many threads; where the caller has threads of its own, one each."""
    before = _asked.set(count)
    try:
        yield
    finally:
        _asked.reset(before)


def thread_count() -> int:
    """Threads that a large product may use."""
    asked = _asked.get()
    if asked is not None:
        return asked
    for variable in ("ONKEL_NUM_THREADS", "OMP_NUM_THREADS"):
        text = os.environ.get(variable, "").split(",")[0].strip()
        if text:
            if not text.isdecimal() or int(text) < 1:
                raise ParameterError(f"{variable} must be a whole number of threads, 1 or more; got {text!r}.")
            return int(text)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def aligned_empty(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray:
    """An uninitialised array that starts on a cache line."""
    return _aligned(np.empty, shape, dtype)


def aligned_zeros(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray:
    """Zeros that start on a cache line; memory is taken as they are touched."""
    return _aligned(np.zeros, shape, dtype)


def _aligned(make: Callable[..., NDArray], shape: tuple[int, ...], dtype: DTypeLike) -> NDArray:
    dtype = np.dtype(dtype)
    raw = make(dtype.itemsize * math.prod(shape) + 64, dtype=np.uint8)
    start = -raw.__array_interface__["data"][0] % 64
    return np.ndarray(shape, dtype, raw, start)


def aligned(array: NDArray) -> NDArray:
    """A copy that starts on a cache line."""
    copy = aligned_empty(array.shape, array.dtype)
    copy[...] = array
    return copy


if os.environ.get("ONKEL_SIMD"):
    _select(os.environ["ONKEL_SIMD"], "ONKEL_SIMD")
