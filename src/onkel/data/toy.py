"""Toy streams, generated as they are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from sklearn.utils import check_random_state

from onkel.checks import check_integer, check_number
from onkel.data.stream import Chunk, Stream
from onkel.errors import ParameterError

__all__ = ["drifting"]

BLOCK = 4096  # examples that are drawn at a time, whatever the chunks


def drifting(
    n: int,
    *,
    d: int = 2,
    drifts: Sequence[int] = (),
    turns: float = 0.0,
    noise: float = 0.0,
    random_state: int | np.random.RandomState | None = None,
) -> Stream:
    """Two classes in four sectors of the plane, like the arms of a mill, that turn as time goes on.

    x ~ N(0, I) and y = [sin 2(φ − θ) > 0], where φ is the angle of (x₁, x₂) and θ that of the mill at
    example t: θ = 2π · turns · t / n, and an eighth of a turn more after each drift. No line does better
    than chance at any time, and a model that no longer learns falls to chance at the first drift; both
    classes are equally likely always.

    Parameters
    ----------
    n : ≥ 1, examples.
    d : ≥ 2, features; those beyond the second tell nothing.
    drifts : numbers of the examples, counted from 0 and ascending, at which the mill jumps.
    turns : whole turns that it makes slowly during the stream.
    noise : in [0, 0.5), the part of the labels that are wrong: no learner has a smaller error for long.
    random_state : seed; the stream is the same at every reading.

    Cost: O(d) an example, and 4096 examples of memory, however long the stream is.

    >>> from onkel.data import drifting
    >>> X, y = next(drifting(1_000_000, drifts=[500_000], random_state=0).chunks(1000))
    >>> X.shape, bool((y == (X[:, 0] * X[:, 1] > 0)).all())
    ((1000, 2), True)

    Source: after the rotating hyperplane of Hulten, Spencer and Domingos 2001, with a boundary that needs a kernel.
    """
    who = "drifting"
    check_integer(n, "n", who, at_least=1)
    check_integer(d, "d", who, at_least=2)
    check_number(turns, "turns", who)
    if check_number(noise, "noise", who, at_least=0.0) >= 0.5:
        raise ParameterError(f"{who}: noise must be below 0.5, where labels are mere chance; got {noise!r}.")
    jumps = np.array([check_integer(t, "each of drifts", who, at_least=0) for t in drifts], dtype=np.int64)
    if (np.diff(jumps) <= 0).any():
        raise ParameterError(f"{who}: drifts must ascend; got {list(drifts)}.")
    seed = int(check_random_state(random_state).randint(2**31 - 1))

    def blocks() -> Iterator[Chunk]:
        random = np.random.default_rng(seed)
        for start in range(0, n, BLOCK):
            t = np.arange(start, min(start + BLOCK, n))
            X = random.standard_normal((len(t), d))
            wrong = random.random(len(t)) < noise
            theta = 2 * np.pi * turns * t / n + np.pi / 4 * np.searchsorted(jumps, t, side="right")
            yield X, (_mill(X[:, 0], X[:, 1], theta) ^ wrong).astype(np.int64)

    return Stream.of_chunks(blocks, length=n)


def _mill(a: np.ndarray, b: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """sin 2(φ − θ) > 0 by the double-angle formulas: r² sin 2φ = 2ab, r² cos 2φ = a² − b²."""
    above: np.ndarray = 2 * a * b * np.cos(2 * theta) > (a * a - b * b) * np.sin(2 * theta)
    return above
