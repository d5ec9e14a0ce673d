"""The ranking perceptron as the notes have it, slow and obvious: every guess is kept, every sum is written out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from onkel.kernels import Kernel, Linear


@dataclass
class SlowRanker:
    """Keeps the terms of every update, and after each round the number of terms of the guess that was used in it."""

    kernel: Kernel = field(default_factory=Linear)
    pairs: str = "best"
    terms: list[tuple[Any, float]] = field(default_factory=list)  # (item, step)
    rounds: list[int] = field(default_factory=list)  # the number of terms of the guess that each round used
    updates: list[list[tuple[Any, float]]] = field(default_factory=list)

    def scores(self, items: Any, n_terms: int | None = None) -> list[float]:
        """The scores of items under the present guess, or under the sum of the first terms."""
        chosen = self.terms if n_terms is None else self.terms[:n_terms]
        if not chosen:
            return [0.0] * len(items)
        K = self.kernel(np.array([item for item, _ in chosen]), np.asarray(items))
        return list(np.array([step for _, step in chosen]) @ K)

    def learn(self, items: Any, grades: Any) -> bool:
        self.rounds.append(len(self.terms))
        scores = self.scores(items)
        update = self._all(items, grades, scores) if self.pairs == "all" else self._best(items, grades, scores)
        self.terms += update
        if update:
            self.updates.append(update)
        return bool(update)

    def _best(self, items: Any, grades: Any, scores: list[float]) -> list[tuple[Any, float]]:
        best = guess = None
        for i, grade in enumerate(grades):
            if grade == max(grades):
                best = i if best is None or scores[i] > scores[best] else best
            else:
                guess = i if guess is None or scores[i] > scores[guess] else guess
        if guess is None or scores[guess] < scores[best]:
            return []
        return [(items[best], 1.0), (items[guess], -1.0)]

    def _all(self, items: Any, grades: Any, scores: list[float]) -> list[tuple[Any, float]]:
        steps = [0.0] * len(items)
        for i in range(len(items)):
            for j in range(len(items)):
                if grades[i] > grades[j] and scores[j] >= scores[i]:
                    steps[i] += 1
                    steps[j] -= 1
        return [(items[i], step) for i, step in enumerate(steps) if step]

    def averaged(self, items: Any) -> Any:
        return sum(np.array(self.scores(items, n)) for n in self.rounds) / len(self.rounds)

    def voted(self, items: Any) -> int:
        votes = [0] * len(items)
        for n in self.rounds:  # the guess of every round votes: m_k times the same one
            scores = self.scores(items, n)
            votes[scores.index(max(scores))] += 1
        return votes.index(max(votes))

    def radius_sq(self) -> float:
        """The largest ‖z‖² of an update."""
        found = []
        for update in self.updates:
            items, steps = np.array([item for item, _ in update]), np.array([step for _, step in update])
            found.append(float(steps @ self.kernel(items) @ steps))
        return max(found)


def queries_of(qid: Any) -> list[list[int]]:
    """The rows of each query, queries in the order of their first rows."""
    found: dict[Any, list[int]] = {}
    for row, label in enumerate(qid):
        found.setdefault(label, []).append(row)
    return list(found.values())
