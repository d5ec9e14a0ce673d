"""All labellings of one sentence, scored: what the sequence game needs of Markov features.

Φ(x, y) = Σᵢ φ(x, i, yᵢ₋₁, yᵢ) for a sentence x and labels y, where φ names the features of a position that depend on
its label and on the label before it (None at the first position). A question about the best of all L^n labellings is
then answered position by position (Viterbi 1967), in n L² steps:

    `best`        the labelling with the largest v·Φ(x, y)
    `runner_up`   the largest v·Φ(x, z) of all z ≠ y
    `widest`      the largest ‖Φ(x, y) − Φ(x, z)‖²; a square has no such form, so all z of a short sentence are tried
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onkel.errors import KindError, ParameterError, ShapeError, ValuesError

__all__ = ["Labellings", "SparseVector", "dot", "markov_features", "word_features"]

Label: TypeAlias = Hashable
Feature: TypeAlias = Hashable
Sentence: TypeAlias = Sequence[Any]
Tags: TypeAlias = Sequence[Label]
SparseVector: TypeAlias = Mapping[Feature, float]
Features: TypeAlias = Callable[[Sequence[Any], int, Any, Any], Iterable[Feature] | SparseVector]
Floats: TypeAlias = NDArray[np.float64]

MOST_TRIED = 4096  # labellings of a sentence, if all of them are tried


def word_features(sentence: Sentence, position: int, previous: Any, label: Any) -> list[Feature]:
    """The word with its label: a Φ that does not look at the label before.

    >>> from onkel.game import word_features
    >>> word_features(["time", "flies"], 1, "NOUN", "VERB")
    [('flies', 'VERB')]
    """
    return [(sentence[position], label)]


def markov_features(sentence: Sentence, position: int, previous: Any, label: Any) -> list[Feature]:
    """The word with its label, and the pair of the label before and this one: the features of a hidden Markov model.

    >>> from onkel.game import markov_features
    >>> markov_features(["time", "flies"], 1, "NOUN", "VERB")
    [('flies', 'VERB'), ('after', 'NOUN', 'VERB')]
    """
    return [(sentence[position], label), ("after", previous, label)]


class Labellings:
    """The features of all labellings of a sentence.

    Parameters
    ----------
    sentence : the tokens, at least one.
    labels : the labels to choose from; ties between labellings go to the labels that come first.
    features : φ; it gives the features of (sentence, position, label before, label), as names, each of value 1, or as a
        dict from names to values.
    """

    def __init__(self, sentence: Sentence, labels: Sequence[Label], features: Features) -> None:
        self.n, self.labels = len(sentence), tuple(labels)
        L, columns = len(self.labels), dict[Feature, int]()
        cells, names, values = [], [], []
        for i, j, k in product(range(self.n), range(L), range(L)):
            if i == 0 and j > 0:
                continue  # no label stands before the first
            found = features(sentence, i, self.labels[j] if i else None, self.labels[k])
            for name, value in _items(found):
                cells.append((i * L + j) * L + k)
                names.append(columns.setdefault(name, len(columns)))
                values.append(value)
        self.names = list(columns)
        self._cells, self._columns = np.array(cells, dtype=np.int64), np.array(names, dtype=np.int64)
        self._values = np.array(values, dtype=np.float64)

    def scores(self, v: SparseVector) -> Floats:
        """v·φ of each position, label before and label, (n, L, L); of the first position only [0, 0] counts."""
        weights = np.array([v.get(name, 0.0) for name in self.names])
        L = len(self.labels)
        cells: Floats = np.zeros(self.n * L * L)
        np.add.at(cells, self._cells, self._values * weights[self._columns])
        return cells.reshape(self.n, L, L)

    def best(self, v: SparseVector) -> list[Label]:
        """The labelling with the largest v·Φ."""
        S = self.scores(v)
        reached, before = S[0, 0], []  # the best score of labels up to here, by the last of them
        for i in range(1, self.n):
            ways = reached[:, None] + S[i]
            before.append(ways.argmax(axis=0))
            reached = ways.max(axis=0)
        path = [int(reached.argmax())]
        for pointers in reversed(before):
            path.append(int(pointers[path[-1]]))
        return [self.labels[k] for k in reversed(path)]

    def runner_up(self, v: SparseVector, y: Tags) -> float:
        """The largest v·Φ(x, z) of all labellings z other than y.

        Each step keeps the score of y so far, and the best scores of labellings that have left y already.
        """
        S, path = self.scores(v), [self.labels.index(label) for label in y]
        left = S[0, 0].copy()
        left[path[0]] = -np.inf
        along = S[0, 0, path[0]]
        for i in range(1, self.n):
            leaving = along + S[i, path[i - 1]]
            leaving[path[i]] = -np.inf
            left = np.maximum((left[:, None] + S[i]).max(axis=0), leaving)
            along += S[i, path[i - 1], path[i]]
        return float(left.max())

    def margin(self, u: SparseVector, y: Tags) -> float:
        """The smallest u·Φ(x, y) − u·Φ(x, z) of all labellings z other than y."""
        return dot(self.phi(y), u) - self.runner_up(u, y)

    def phi(self, y: Tags) -> dict[Feature, float]:
        """Φ(x, y), without zeros."""
        path, L = [self.labels.index(label) for label in y], len(self.labels)
        taken = [(i * L + j) * L + k for i, (j, k) in enumerate(zip([0, *path[:-1]], path, strict=True))]
        on = np.isin(self._cells, taken)
        total = np.bincount(self._columns[on], self._values[on], len(self.names))
        return {self.names[c]: float(total[c]) for c in np.flatnonzero(total)}

    @property
    def is_short(self) -> bool:
        """Whether all labellings can be tried."""
        return self.n * math.log(len(self.labels)) <= math.log(MOST_TRIED) * (1 + 1e-12)

    def widest(self, y: Tags) -> float:
        """The largest ‖Φ(x, y) − Φ(x, z)‖² of all labellings z of a short sentence."""
        L = len(self.labels)
        local = np.zeros((self.n * L * L, len(self.names)))
        np.add.at(local, (self._cells, self._columns), self._values)
        Z = np.stack(np.meshgrid(*[np.arange(L)] * self.n, indexing="ij"), axis=-1).reshape(-1, self.n)
        before = np.concatenate([np.zeros((len(Z), 1), dtype=np.int64), Z[:, :-1]], axis=1)
        all_phi = np.zeros((len(Z), len(self.names)))
        for i in range(self.n):
            all_phi += local[(i * L + before[:, i]) * L + Z[:, i]]
        own = self.phi(y)
        D = all_phi - [own.get(name, 0.0) for name in self.names]
        return float((D * D).sum(axis=1).max())


def _items(found: Iterable[Feature] | SparseVector) -> Iterable[tuple[Feature, float]]:
    """Features with their values."""
    if isinstance(found, (str, bytes)) or not isinstance(found, Iterable):
        raise KindError(f"features must give a list of names or a dict from names to values; got {found!r}.")
    return found.items() if isinstance(found, Mapping) else ((name, 1.0) for name in found)


def dot(a: SparseVector, b: SparseVector) -> float:
    """The inner product of two sparse vectors."""
    return float(sum(value * b.get(name, 0.0) for name, value in a.items()))


def minus(a: SparseVector, b: SparseVector) -> dict[Feature, float]:
    """a − b, without zeros."""
    difference = {name: a.get(name, 0.0) - b.get(name, 0.0) for name in (*a, *b)}
    return {name: value for name, value in difference.items() if value}


def add(a: SparseVector, b: SparseVector) -> dict[Feature, float]:
    """a + b, without zeros."""
    return minus(a, {name: -value for name, value in b.items()})


def check_labels(labels: Any, who: str) -> tuple[Label, ...]:
    """At least two different labels."""
    found = () if isinstance(labels, (str, bytes)) or not hasattr(labels, "__iter__") else tuple(labels)
    if len(found) < 2 or len(set(found)) != len(found):
        raise ParameterError(f"{who}: labels must be at least two different ones, such as ['N', 'V']; got {labels!r}.")
    return found


def check_features(features: Any, who: str) -> Features:
    """A function."""
    if not callable(features):
        raise KindError(f"{who}: features must be a function such as onkel.game.markov_features; got {features!r}.")
    checked: Features = features
    return checked


def check_tags(x: Sentence, y: Tags, labels: Tags, where: str) -> None:
    """A sentence with at least one token, and a known label for each."""
    if isinstance(x, (str, bytes)) or len(x) == 0 or len(x) != len(y):
        raise ShapeError(f"{where} a sentence must be a list of tokens with a label for each; got {x!r} and {y!r}.")
    if unknown := [label for label in y if label not in labels]:
        raise ValuesError(f"{where} labels must be among {list(labels)}; got {unknown[0]!r}.")
