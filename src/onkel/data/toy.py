"""Toy streams, generated while they are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from sklearn.utils import check_random_state

from onkel.checks import check_integer, check_number
from onkel.data.stream import Chunk, Stream
from onkel.errors import ParameterError

__all__ = ["drifting"]

BLOCK = 4096  # examples that are drawn at a time, so that the stream does not depend on the chunk size


def drifting(
    n: int,
    *,
    d: int = 2,
    drifts: Sequence[int] = (),
    turns: float = 0.0,
    noise: float = 0.0,
    random_state: int | np.random.RandomState | None = None,
) -> Stream:
    """Two classes in four sectors of the plane, like the blades of a windmill, which turn over time.

    x ~ N(0, I) and y = [sin 2(φ − θ) > 0], where φ is the angle of (x₁, x₂), and θ is the angle of the mill at example
    t: θ = 2π · turns · t / n, plus an eighth of a turn for each drift up to t. Both classes are equally likely at any
    time, and no linear classifier does better than chance. A model that stops learning falls to chance at the first
    drift.

    Parameters
    ----------
    n : number of examples, ≥ 1.
    d : number of features, ≥ 2 (default 2). Only the first two matter; the others are noise.
    drifts : indices of the examples, from 0 and ascending, at which the mill jumps by an eighth of a turn. Empty
        (default): no jumps.
    turns : number of turns that the mill makes slowly during the stream; any number. 0 (default): it does not turn.
    noise : fraction of labels that are flipped, in [0, 0.5) (default 0). No learner can have a smaller error for long.
    random_state : seed or RandomState. The stream is the same at every reading; None (default): another one for each
        call of this function.

    Cost: O(d) per example, and memory for 4096 examples, however long the stream is.

    >>> from onkel.data import drifting
    >>> X, y = next(drifting(1_000_000, drifts=[500_000], random_state=0).chunks(1000))
    >>> X.shape, bool((y == (X[:, 0] * X[:, 1] > 0)).all())
    ((1000, 2), True)

    Source: after the rotating hyperplane of Hulten, Spencer and Domingos 2001; this boundary needs a kernel.
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
