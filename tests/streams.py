"""Streams of examples of many kinds: dense and sparse rows, words, dicts, weights of 0, a class that comes late.

`learn_in_parts` gives a stream to a learner without an estimator.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from onkel.kernels import RBF, Custom, Linear, Polynomial
from onkel.kernels.rows import Rows
from onkel.learners.learner import Floats, Ints, Learner


@dataclasses.dataclass(frozen=True)
class Stream:
    """Examples in their order: the rows, their targets, weights, the classes known from the start, and other rows."""

    kernel: Any
    X: Any
    y: NDArray
    probes: Any
    weights: NDArray | None = None
    classes: list[Any] | None = None

    def __len__(self) -> int:
        return len(self.y)

    def rounds(self, row: int) -> int:
        """How many examples there are before a row; those of weight 0 are none."""
        return row if self.weights is None else int(np.count_nonzero(self.weights[:row]))

    def rows(self, rounds: int) -> tuple[int, int]:
        """The row after so many examples; and the row of the next example, before which there may be weights of 0."""
        if self.weights is None:
            return rounds, rounds
        examples = np.append(np.flatnonzero(self.weights), len(self))
        return (int(examples[rounds - 1]) + 1 if rounds else 0), int(examples[rounds])


def points(n: int, d: int, seed: int = 0) -> NDArray[np.float64]:
    return np.random.default_rng(seed).standard_normal((n, d)) * min(1.0, 2 / np.sqrt(d))


def sparse_points(n: int, d: int, seed: int = 0) -> sp.csr_array:
    """Up to eight features of each row are 0.7 or a multiple; the j-th feature is as frequent as 1/j."""
    rng = np.random.default_rng(seed)
    columns = ((d + 1) ** rng.random((n, 8))).astype(np.int64).ravel() - 1
    return sp.csr_array((np.full(8 * n, 0.7), (np.repeat(np.arange(n), 8), columns)), shape=(n, d))


def words(n: int, seed: int = 0) -> list[str]:
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list("abcde"), size=rng.integers(1, 7))) for _ in range(n)]


def shared_letters(X: Any, Z: Any) -> NDArray[np.float64]:
    """The cosine of the counts of letters."""
    return np.array([_direction(word) for word in X]) @ np.array([_direction(word) for word in Z]).T


@functools.cache
def _direction(word: str) -> list[float]:
    counts = [float(word.count(letter)) for letter in "abcde"]
    return [count / math.hypot(*counts) for count in counts]


def targets(task: str, X: NDArray, classes: int, late: int | None) -> NDArray:
    """Noisy targets, so that mistakes never end; the last class comes late, or all are among the first rows."""
    rng = np.random.default_rng(1)
    if task != "classify":
        return np.sin(2 * X[:, 0]) + 0.2 * rng.standard_normal(len(X))
    bounds = np.quantile(X[:, 0], np.linspace(0, 1, classes + 1)[1:-1])
    y = np.searchsorted(bounds, X[:, 0] + 0.3 * X[:, -1] ** 2)
    y = np.where(rng.random(len(X)) < 0.1, rng.integers(0, classes, len(X)), y)
    y[:classes] = np.arange(classes)
    if late is not None:
        y[: late + 1] = np.where(y[: late + 1] == classes - 1, 0, y[: late + 1])
        y[late] = classes - 1
    return y


KINDS = [
    "double", "single", "linear", "polynomial", "csr of few features", "csr of many features", "words", "weights",
    "a late class", "a late class that is known", "three classes",
]  # fmt: skip


@functools.cache
def stream(task: str, kind: str, n: int = 740, late: int = 600) -> Stream:
    """n examples; a late class has its first one in row `late`."""
    classes = 3 if "class" in kind else 2
    X, probes = points(n, 5), points(25, 5, seed=2)
    comes = late if "late" in kind else None
    y = targets(task, X, classes, comes)
    plain = Stream(RBF(gamma=0.5), X, y, probes)
    if kind == "single":
        return dataclasses.replace(plain, X=X.astype(np.float32), probes=probes.astype(np.float32))
    if kind == "linear":
        return dataclasses.replace(plain, kernel=Linear().normalized())
    if kind == "polynomial":
        return dataclasses.replace(plain, kernel=Polynomial(degree=2).normalized())
    if kind.startswith("csr"):
        d = 12 if "few" in kind else 20_000
        return dataclasses.replace(plain, X=sparse_points(n, d), probes=sparse_points(25, d, seed=2))
    if kind == "words":
        some = words(n)
        counted = np.array([[word.count(letter) for letter in "abe"] for word in some], dtype=float)
        kernel = Custom(shared_letters, takes="objects", psd=True)
        return Stream(kernel, some, targets(task, counted, 2, None), words(25, seed=2))
    if kind == "weights":
        weights = np.random.default_rng(3).choice([0.0, 0.5, 1.0, 2.0], size=n)
        weights[:4], weights[1::2] = 1.0, 1.0  # of two rows one at least is an example
        return dataclasses.replace(plain, weights=weights)
    if kind == "a late class that is known":
        return dataclasses.replace(plain, classes=list(range(classes)))
    return plain


@functools.cache
def dicts(task: str) -> Stream:
    """Examples as dicts, some of which bring a new feature, as row 28; row 29 brings a third class."""
    X = points(40, 12)
    y = targets(task, X, 3 if task == "classify" else 2, late=29)
    known = np.minimum(3 + np.arange(40) // 4, 12)  # so many features have come up to this example
    rows = [{f"x{j}": float(row[j]) for j in range(int(count))} for row, count in zip(X, known, strict=True)]
    return Stream(RBF(gamma=0.5), rows, y, rows[:3])


def learn_in_parts(learner: Learner, rows: Rows, targets: Floats, weights: Floats, row_ids: Ints) -> Floats:
    """Learns from a chunk part by part, as an estimator does; returns the scores before each example was learned."""
    scores, start = np.empty(targets.shape), 0
    while start < len(rows):
        part = slice(start, start + learner.part_size(rows, len(rows) - start))
        scores[part] = learner.learn(rows[part], targets[part], weights[part], row_ids[part])
        start = part.stop
    return scores
