"""The slow, obvious twin of the structured perceptron: counters, all labellings, every guess kept.

Features are strings; Φ(x, y) is a Counter of features together with labels. Nothing here is clever.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

Vector = dict[Any, float]
Phi = Callable[[Any, Sequence[int]], Vector]


def phi(
    sentence: Sequence[dict[str, float]],
    y: Sequence[int],
    order: int = 1,
    pairs: Sequence[Sequence[str]] | None = None,
) -> Vector:
    """Φ(x, y): features with their label, labels with those before; `pairs` are the features of two labels."""
    found: Counter = Counter()
    for t, (features, label) in enumerate(zip(sentence, y, strict=True)):
        before = y[t - 1] if t > 0 else None
        for name, value in features.items():
            found["feature", name, label] += value
        found["transition", before, label] += 1
        if order == 2:
            found["second", y[t - 2] if t > 1 else None, before, label] += 1
        for name in pairs[t] if pairs is not None else ():
            found["pair", name, before, label] += 1
    return found


def dot(v: Vector, x: Vector) -> float:
    return sum(v.get(key, 0.0) * value for key, value in x.items())


def add(v: Vector, x: Vector, step: float = 1.0) -> Vector:
    found = Counter(v)
    for key, value in x.items():
        found[key] += step * value
    return dict(found)


def sq_norm(v: Vector) -> float:
    return sum(value * value for value in v.values())


def labellings(n: int, n_labels: int, allowed: Callable[[Sequence[int]], bool] = lambda y: True) -> list[tuple]:
    return [y for y in itertools.product(range(n_labels), repeat=n) if allowed(y)]


def scored(v: Vector, x: Any, n_labels: int, features: Phi, **options: Any) -> list[tuple[float, tuple]]:
    """All labellings with their scores, the best first; of equal ones, that with the lowest labels from the end."""
    found = [(dot(v, features(x, y)), y) for y in labellings(len(x), n_labels, **options)]
    return sorted(found, key=lambda pair: (-pair[0], pair[1][::-1]))


def best(
    v: Vector, x: Any, n_labels: int, features: Phi, gold: Sequence[int] | None = None, margin: float = 0.0
) -> tuple:
    """The best labelling; with a margin, each token with its gold label costs that much."""

    def score(y: tuple) -> float:
        lost = 0.0 if gold is None else margin * sum(a == b for a, b in zip(y, gold, strict=True))
        return dot(v, features(x, y)) - lost

    return min(labellings(len(x), n_labels), key=lambda y: (-score(y), y[::-1]))


class TwinTagger:
    """The structured perceptron, with a list of every guess: guesses[t] was in use in round t + 1.

    The score of a labelling is v·features(x, y), or v·scoring(x, y) where v is made of support vectors.
    """

    def __init__(self, n_labels: int, features: Phi = phi, margin: float = 0.0, scoring: Phi | None = None) -> None:
        self.n_labels, self.features, self.margin = n_labels, features, margin
        self.scoring = features if scoring is None else scoring
        self.v: Vector = {}
        self.guesses: list[Vector] = []
        self.updates: list[Vector] = []

    def learn(self, x: Any, y: Sequence[int]) -> None:
        self.guesses.append(self.v)
        z = best(self.v, x, self.n_labels, self.scoring, y, self.margin)
        if tuple(y) != z:
            step = add(self.features(x, tuple(y)), self.features(x, z), -1.0)
            self.v = add(self.v, step)
            self.updates.append(step)

    def averaged(self) -> Vector:
        total: Vector = {}
        for guess in self.guesses:
            total = add(total, guess)
        return {key: value / len(self.guesses) for key, value in total.items()}

    def voted(self, x: Any) -> tuple:
        """The labelling that most guesses find, each counted as often as it was used; of several, the first found."""
        votes: dict[tuple, int] = {}
        for guess in self.guesses:
            z = best(guess, x, self.n_labels, self.scoring)
            votes[z] = votes.get(z, 0) + 1
        return max(votes, key=lambda z: votes[z])


def dual_twin(n_labels: int, kernel: Callable[[Any, Any], float], vectors: Sequence[Any], order: int = 1) -> TwinTagger:
    """The twin with a kernel: v counts how often each of the vectors was right or wrong with a label.

    A token is the number of its vector in `vectors`, and its score with a label is Σ v[vector, label] k(vector, token).
    """
    values = [[float(kernel(a, b)) for b in vectors] for a in vectors]

    def added(sentence: Sequence[int], y: Sequence[int]) -> Vector:
        return phi([{token: 1.0} for token in sentence], y, order)

    def scoring(sentence: Sequence[int], y: Sequence[int]) -> Vector:
        return phi([dict(enumerate(values[token])) for token in sentence], y, order)

    return TwinTagger(n_labels, added, scoring=scoring)
