"""The perceptron in its primal form: it keeps the weight vector v of each output, not the support vectors.

It makes the same mistakes as the kernel perceptron with the linear kernel, update for update, in O(d) memory.
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

CHUNK_VALUES = 1 << 22  # rows × features × outputs of one native call, which then takes a fraction of a second


class LinearPerceptronLearner:
    """The weight vectors and offsets of all outputs.

    V (outputs, features + 1) holds v and, in its last column, b; M the same sums with every step multiplied by its
    round, so that V − M / rounds is the average of all hypotheses. `eta` is the step size, and `bias` says whether an
    offset is learned. The rows must be `VectorRows`, dense or CSR.
    """

    def __init__(self, n_features: int, n_outputs: int, eta: float, bias: bool) -> None:
        self.V, self.moments = np.zeros((n_outputs, n_features + 1)), np.zeros((n_outputs, n_features + 1))
        self.eta, self.bias = eta, bias
        self.ledger = Ledger()
        self.rounds = 0

    @property
    def n_outputs(self) -> int:
        return len(self.V)

    def averaged(self) -> NDArray[np.float64]:
        """The average hypothesis, (outputs, features + 1): v and, in the last column, b."""
        return self.V - self.moments / max(self.rounds, 1)

    def change_outputs(self, output_map: NDArray[np.float64]) -> None:
        """Changes the number of outputs when a class appears.

        `output_map` (old outputs, new outputs): 1 copies an output, −1 mirrors it, a column of zeros starts one at 0.
        """
        self.V, self.moments = (
            np.ascontiguousarray(output_map.T @ self.V),
            np.ascontiguousarray(output_map.T @ self.moments),
        )
        self.ledger = self.ledger.remapped(output_map)

    def add_features(self, n_features: int) -> None:
        """Increases the number of features to `n_features`; v is 0 in the new ones."""
        for name in ("V", "moments"):
            old = getattr(self, name)
            wide = np.zeros((len(old), n_features + 1))
            wide[:, : old.shape[1] - 1], wide[:, -1] = old[:, :-1], old[:, -1]
            setattr(self, name, wide)

    def savepoint(self) -> Any:
        """The present state, as `rollback` takes it."""
        return self.V.copy(), self.moments.copy(), self.rounds, self.ledger, len(self.ledger)

    def rollback(self, savepoint: Any) -> None:
        """Undoes all changes since the savepoint was made."""
        self.V, self.moments, self.rounds, self.ledger, count = savepoint
        self.ledger.truncate(count)

    def end_epoch(self) -> None:
        """Does nothing: there are no support vectors to merge."""

    def scores(self, x: Rows, V: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
        """The scores (n, outputs) of the current hypothesis or, if given, of other V (outputs, features + 1)."""
        assert isinstance(x, VectorRows)
        V = self.V if V is None else V
        return np.asarray(x.matrix @ V[:, :-1].T) + V[:, -1]

    def learn_one(self, x: Rows, y: NDArray[np.float64], row_id: int) -> None:
        """Learns from one example of weight 1, y (1, outputs)."""
        self.learn(x, y.astype(np.int8), np.ones(1), np.array([row_id]))

    def learn(self, x: Rows, y: NDArray[np.int8], w: NDArray[np.float64], row_ids: NDArray[np.int64]) -> None:
        """Learns from the examples one by one.

        y (n, outputs) are the targets, ±1, or 0 where an output ignores the example; w (n,) > 0 the sample weights;
        `row_ids` (n,) the ids of the rows.
        """
        assert isinstance(x, VectorRows)
        step = max(1, CHUNK_VALUES // (x.n_features * self.n_outputs))
        for start in range(0, len(x), step):
            chunk = slice(start, start + step)
            part = x[chunk] if len(x) > step else x
            steps = np.empty((len(part), self.n_outputs))
            csr = None if part.is_dense else part.csr()
            data = part.dense().ravel() if csr is None else csr.data
            indptr, indices = (None, None) if csr is None else (csr.indptr, csr.indices)
            first = self.rounds + 1
            settings = (y[chunk], w[chunk], self.eta, self.bias, first)
            _native.primal_pass(data, indptr, indices, *settings, self.V, self.moments, steps)
            self.ledger.add(steps, first + np.arange(len(part)), row_ids[chunk])
            self.rounds += len(part)
