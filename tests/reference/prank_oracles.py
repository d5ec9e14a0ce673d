"""A slow, obvious twin of PRank, as Crammer and Singer 2001 write it: loops, float64, nothing clever."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


class SlowPRank:
    """PRank on the rows of a Gram matrix K, with grades 0 … k − 1; b has an infinite threshold at its end."""

    def __init__(self, K: NDArray, k: int) -> None:
        self.K, self.k = K, k
        self.coef = [0.0] * len(K)
        self.b = [0.0] * (k - 1) + [math.inf]
        self.rounds = self.n_mistakes = 0
        self.ledger: list[tuple[int, int, int, float]] = []  # round, row, threshold, step

    def score(self, i: int) -> float:
        return sum(a * float(value) for a, value in zip(self.coef, self.K[i], strict=True))

    def predict(self, i: int) -> int:
        """The least r with w·x < b_r."""
        return next(r for r in range(self.k) if self.score(i) < self.b[r])

    def learn(self, i: int, grade: int) -> None:
        self.rounds += 1
        if self.predict(i) == grade:
            return
        self.n_mistakes += 1
        score, b = self.score(i), list(self.b)
        for r in range(self.k - 1):
            y = 1.0 if grade > r else -1.0
            if y * (score - b[r]) <= 0:
                self.coef[i] += y
                self.b[r] -= y
                self.ledger.append((self.rounds, i, r, y))

    def run(self, grades: NDArray, epochs: int = 1) -> SlowPRank:
        for _ in range(epochs):
            for i, grade in enumerate(np.asarray(grades).tolist()):
                self.learn(i, grade)
        return self
