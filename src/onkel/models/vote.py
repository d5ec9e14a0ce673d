"""The voted perceptron: all guesses of a run, each weighted by how long it was used."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native
from onkel.kernels.tiles import fill
from onkel.models.model import SupportModel

__all__ = ["Vote", "vote_weights"]

VOTE_VALUES = 1 << 21  # kernel values of a tile of rows that vote


@dataclasses.dataclass(frozen=True, eq=False)
class Vote(SupportModel):
    """The voted perceptron: all guesses of a run, weighted by how long each stood.

    f_c(x) = Σ_k m_k sign(v_k·x) / m, where v_k is the sum of the first k entries of output c and
    m_k the number of examples it was used on, the one it failed on included; sign(0) = +1.
    All prefixes of a row cost one running sum.

    Parameters
    ----------
    kernel, support, rows : as in `Expansion`.
    place, output, step, weight : for each entry of the ledger, in order: its support vector, its
        output, its signed coefficient, and m_k of the guess that it makes.
    start : m₀ of each output, shape (outputs,).
    bias : 1.0 with an intercept (the kernel is then K + 1), else 0.0.

    Cost: m kernel values and one addition per mistake a row.

    Source: Freund and Schapire 1999, Large margin classification using the perceptron algorithm.
    """

    place: NDArray[np.int64]
    output: NDArray[np.int64]
    step: NDArray[np.float64]
    weight: NDArray[np.float64]
    start: NDArray[np.float64]
    bias: float = 0.0

    def scores(self, X: Any) -> NDArray[np.float64]:
        """The share of the votes for +1 less that for −1, shape (n, outputs)."""
        x = self._rows(X)
        out = np.empty((len(x), len(self.start)))
        total = self.start + np.bincount(self.output, self.weight, minlength=len(self.start))
        step = max(1, VOTE_VALUES // max(1, len(self.support)))
        for first in range(0, len(x), step):
            part = x[first : first + step]
            K = np.empty((len(part), len(self.support)), dtype=x.dtype)
            if len(self.support):
                fill(self.kernel, part, self.support, K)
            ledger = (self.place, self.output, self.step, self.weight)
            _native.vote(K, *ledger, self.start, self.bias, out[first : first + step])
        return out / np.maximum(total, 1.0)


def vote_weights(
    rounds: NDArray[np.int64], output: NDArray[np.int64], n_outputs: int, total: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """m_k of every guess: m₀ of each output, and of the guess that each entry of the ledger makes.

    A guess is used from the round after its mistake to the round of the next one, which it fails on.
    Cohen's notes, sec. 2: mistakes at rounds 1, 4, 8 and 10 of ten give 1, 3, 4, 2 and 0.
    """
    start, weight = np.full(n_outputs, float(total)), np.empty(len(rounds))
    for o in range(n_outputs):
        mine = np.flatnonzero(output == o)
        ends = np.append(rounds[mine], total)
        start[o] = ends[0]
        weight[mine] = np.diff(ends)
    return start, weight
