"""The primal learner: v itself, one vector per output, for rows of numbers.

The same mistakes as the kernel perceptron with the linear kernel, update for update, in O(d) memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native
from onkel.kernels.rows import Rows
from onkel.kernels.vectors import VectorRows
from onkel.learners.ledger import Ledger

__all__ = ["LinearPerceptronLearner"]

CHUNK_VALUES = 1 << 22  # of one native call: a fraction of a second


class LinearPerceptronLearner:
    """v and b of each output, and what averages them: V − M / rounds, last column b."""

    def __init__(self, n_features: int, n_outputs: int, eta: float, bias: bool) -> None:
        self.V, self.M = np.zeros((n_outputs, n_features + 1)), np.zeros((n_outputs, n_features + 1))
        self.eta, self.bias = eta, bias
        self.ledger = Ledger()
        self.rounds = 0

    @property
    def n_outputs(self) -> int:
        return len(self.V)

    def averaged(self) -> NDArray[np.float64]:
        return self.V - self.M / max(self.rounds, 1)

    def change_outputs(self, output_map: NDArray[np.float64]) -> None:
        self.V, self.M = np.ascontiguousarray(output_map.T @ self.V), np.ascontiguousarray(output_map.T @ self.M)
        self.ledger = self.ledger.remapped(output_map)

    def add_features(self, n_features: int) -> None:
        """More features, in which v is 0."""
        for name in ("V", "M"):
            old = getattr(self, name)
            wide = np.zeros((len(old), n_features + 1))
            wide[:, : old.shape[1] - 1], wide[:, -1] = old[:, :-1], old[:, -1]
            setattr(self, name, wide)

    def savepoint(self) -> Any:
        """What `rollback` needs to undo all learning from now on."""
        return self.V.copy(), self.M.copy(), self.rounds, self.ledger, len(self.ledger)

    def rollback(self, savepoint: Any) -> None:
        self.V, self.M, self.rounds, self.ledger, count = savepoint
        self.ledger.truncate(count)

    def end_epoch(self) -> None:
        """Nothing to merge: there are no support vectors."""

    def scores(self, x: Rows, V: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """(n, outputs) under the current guess, or with other vectors."""
        assert isinstance(x, VectorRows)
        V = self.V if V is None else V
        return np.asarray(x.matrix @ V[:, :-1].T) + V[:, -1]

    def learn_one(self, x: Rows, y: NDArray[np.float64], row_id: int) -> None:
        """One example of weight 1, y (1, outputs)."""
        self.learn(x, y.astype(np.int8), np.ones(1), np.array([row_id]))

    def learn(self, x: Rows, y: NDArray[np.int8], w: NDArray[np.float64], row_ids: NDArray[np.int64]) -> None:
        """A chunk of examples, one by one."""
        assert isinstance(x, VectorRows)
        step = max(1, CHUNK_VALUES // (x.n_features * self.n_outputs))
        for start in range(0, len(x), step):
            where = slice(start, start + step)
            part = x[where] if len(x) > step else x
            steps = np.empty((len(part), self.n_outputs))
            csr = None if part.is_dense else part.csr()
            data = part.dense().ravel() if csr is None else csr.data
            indptr, indices = (None, None) if csr is None else (csr.indptr, csr.indices)
            first = self.rounds + 1
            settings = (y[where], w[where], self.eta, self.bias, first)
            _native.primal_pass(data, indptr, indices, *settings, self.V, self.M, steps)
            self.ledger.add(steps, first + np.arange(len(part)), row_ids[where])
            self.rounds += len(part)
