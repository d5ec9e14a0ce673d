"""Slow twins of `onkel.game.labellings`: every labelling of a sentence is written out."""

from __future__ import annotations

from collections import Counter
from itertools import product


def phi(x, y, features):
    """Φ(x, y), added up position by position."""
    total = Counter()
    for i, label in enumerate(y):
        found = features(x, i, y[i - 1] if i else None, label)
        total.update(found if isinstance(found, dict) else dict(Counter(found)))
    return total


def dot(a, b):
    return sum(value * b.get(name, 0.0) for name, value in a.items())


def scored(x, labels, features, v):
    """Every labelling with its v·Φ, in the order of the labels."""
    return {z: dot(phi(x, z, features), v) for z in product(labels, repeat=len(x))}


def distances(x, y, labels, features):
    """‖Φ(x, y) − Φ(x, z)‖² of every labelling z."""
    right, found = phi(x, y, features), {}
    for z in product(labels, repeat=len(x)):
        other = phi(x, z, features)
        found[z] = sum((right[name] - other[name]) ** 2 for name in {*right, *other})
    return found
