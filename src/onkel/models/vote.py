"""The voted perceptron: a vote of all guesses of a run, each weighted by the number of examples it was used on."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native
from onkel.kernels.tiles import fill
from onkel.models.scorer import SupportModel
from onkel.states.state import State

__all__ = ["Vote", "vote_weights"]

VOTE_VALUES = 1 << 21  # kernel values that are computed at a time
TERMS = ("place", "output", "step", "weight")  # the arrays with an entry for each mistake


@dataclasses.dataclass(frozen=True, eq=False)
class Vote(SupportModel):
    """The voted perceptron: a vote of all guesses of a run, each weighted by the number of examples it was used on.

    f_c(x) = Σ_k m_k sign(v_k·x) / Σ_k m_k, where v_k is the sum of the first k mistakes of output c, m_k is the number
    of examples that v_k was used on, including the one it failed on, and Σ_k m_k is the number of rounds; sign(0) = +1.
    Since each guess adds one term to the one before it, a running sum over the mistakes gives the votes of all guesses.

    Parameters
    ----------
    kernel : the kernel k.
    support : the support vectors, as `onkel.kernels.prepare` returns rows.
    row_ids : the index of each support vector in the training data, shape (support vectors,).
    place : for each mistake, in order, the index of its support vector, shape (mistakes,).
    output : for each mistake, the output that made it, shape (mistakes,).
    step : for each mistake, the signed coefficient that was added, shape (mistakes,).
    weight : for each mistake, m_k of the guess that it led to, shape (mistakes,).
    start : m₀ of each output, the number of examples that v₀ = 0 was used on, shape (outputs,).
    bias : 1.0 with an intercept (the kernel is then k + 1), 0.0 (default) without.

    Cost: one kernel value per support vector and one addition per mistake, for each row.

    Source: Freund and Schapire 1999, Large margin classification using the perceptron algorithm.
    """

    KIND: ClassVar[str] = "scorer/vote"

    place: NDArray[np.int64]
    output: NDArray[np.int64]
    step: NDArray[np.float64]
    weight: NDArray[np.float64]
    start: NDArray[np.float64]
    bias: float = 0.0

    @property
    def n_outputs(self) -> int:
        """The number of scores of a row."""
        return len(self.start)

    def scores(self, X: Any) -> NDArray[np.float64]:
        """The fraction of votes for +1 minus the fraction of votes for −1, in [−1, 1], shape (n, outputs)."""
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

    def state(self) -> State:
        """Kernel, support vectors and the ledger of mistakes, as a `State`."""
        return self._state({name: getattr(self, name) for name in (*TERMS, "start")}, {"bias": float(self.bias)})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The vote that has this state."""
        kernel, support, row_ids = cls._read(state)
        start, place = state.array("start", np.float64, (None,)), state.indices("place", len(support))
        output = state.indices("output", len(start), len(place))
        step, weight = (state.array(name, np.float64, place.shape) for name in ("step", "weight"))
        bias = state.setting("bias", float, at_least=0)
        return cls(kernel, support, row_ids, place, output, step, weight, start, bias)


def vote_weights(
    rounds: NDArray[np.int64], output: NDArray[np.int64], n_outputs: int, total: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How long each guess was used: m₀ of each output, and m_k of the guess that each mistake led to.

    A guess is used from the round after the mistake that led to it up to the round of the next mistake, which is its
    own. Example of W. Cohen's notes (2009, sec. 2): mistakes in rounds 1, 4, 8 and 10 of ten rounds give 1, 3, 4, 2, 0.

    Parameters
    ----------
    rounds, output : the round, counted from 1, and the output of each mistake, in order.
    n_outputs : number of outputs.
    total : number of rounds of the run.
    """
    start, weight = np.full(n_outputs, float(total)), np.empty(len(rounds))
    for o in range(n_outputs):
        mine = np.flatnonzero(output == o)
        ends = np.append(rounds[mine], total)
        start[o] = ends[0]
        weight[mine] = np.diff(ends)
    return start, weight
