"""The compiled core: its codes, the choice of the SIMD target, the number of threads, and aligned memory.

The functions of the core are in the extension module `_native` (its signatures are in _native.pyi). They take
contiguous arrays and numbers, and write results to arrays of the caller. A wrong dtype or number of dimensions is a
TypeError; arrays that do not fit each other, and indices out of range, are a ValueError (cpp/bind/check.h).

Two environment variables are read here and nowhere else:

- ``ONKEL_SIMD``: one of `simd_targets()`, instead of the best that this computer can run;
- ``ONKEL_NUM_THREADS``: the number of threads of a large product. If it is not set, ``OMP_NUM_THREADS`` is used, and
  if that is not set either, the number of CPUs that this process may use.
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
    "Lock",
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

Lock = _native.Lock  # reentrant, and fair: threads get it in the order in which they ask for it
PANEL_BYTES = 128  # bytes of one feature in a panel of packed rows: cpp/product/types.h, kPanelBytes


class Op(IntEnum):
    """How two rows are combined, feature by feature, before the sum: cpp/product/types.h, Op."""

    DOT = 0
    DISTANCE = 1
    COSINE = 2
    MANHATTAN = 3
    CHI2 = 4
    MIN = 5
    DIRECT = 6


class Map(IntEnum):
    """The function that is applied to each sum: cpp/product/types.h, Map."""

    IDENTITY = 0
    POLYNOMIAL = 1
    TANH = 2
    EXPONENTIAL = 3
    MATERN12 = 4
    MATERN32 = 5
    MATERN52 = 6
    RATIONAL_QUADRATIC = 7


simd_targets = _native.simd_targets  # names of the targets that this computer can run, the best first
simd_target = _native.simd_target  # name of the target in use


def _select(name: str, who: str) -> None:
    if not _native.select_simd(name):
        raise ParameterError(f"{who} must be one of {', '.join(simd_targets())} on this machine; got {name!r}.")


@contextlib.contextmanager
def simd(name: str) -> Iterator[None]:
    """Context manager that runs a block with another SIMD target; for tests and benchmarks."""
    before = simd_target()
    _select(name, "the SIMD path")
    try:
        yield
    finally:
        _select(before, "the SIMD path")


_asked: ContextVar[int | None] = ContextVar("threads", default=None)


@contextlib.contextmanager
def threads(count: int) -> Iterator[None]:
    """Context manager: products in a block use `count` threads, such as 1 if the caller runs threads of its own."""
    before = _asked.set(count)
    try:
        yield
    finally:
        _asked.reset(before)


def thread_count() -> int:
    """The number of threads that a large product may use."""
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
    """An uninitialized array that is aligned to a cache line."""
    return _aligned(np.empty, shape, dtype)


def aligned_zeros(shape: tuple[int, ...], dtype: DTypeLike) -> NDArray:
    """Zeros, aligned to a cache line; the system assigns memory when they are first written."""
    return _aligned(np.zeros, shape, dtype)


def _aligned(make: Callable[..., NDArray], shape: tuple[int, ...], dtype: DTypeLike) -> NDArray:
    dtype = np.dtype(dtype)
    raw = make(dtype.itemsize * math.prod(shape) + 64, dtype=np.uint8)
    start = -raw.__array_interface__["data"][0] % 64
    return np.ndarray(shape, dtype, raw, start)


def aligned(array: NDArray) -> NDArray:
    """A copy that is aligned to a cache line."""
    copy = aligned_empty(array.shape, array.dtype)
    copy[...] = array
    return copy


if os.environ.get("ONKEL_SIMD"):
    _select(os.environ["ONKEL_SIMD"], "ONKEL_SIMD")
