"""Models that rank: scores for the items of a query, and the choice of the best one."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
from numpy.typing import NDArray

from onkel.errors import KindError
from onkel.kernels.tiles import fill
from onkel.models.expansion import Expansion
from onkel.models.model import NO_VOTES, ScoreModel
from onkel.states.state import State

__all__ = ["ItemVote", "RankingModel", "best_item"]

SCORES_AT_ONCE = 1 << 22  # scores that are computed at a time: items × guesses


def best_item(scores: NDArray[np.float64]) -> int:
    """The index of the first of the largest scores."""
    return int(np.argmax(scores))


@dataclasses.dataclass(frozen=True, eq=False)
class ItemVote(Expansion):
    """A vote of all guesses of a ranking perceptron: each chooses its own best item of a query.

    Guess v_k has m_k votes, the number of queries on which it was used, including the one it failed on; the item with
    the most votes wins, the first of several. As an `Expansion` it is the average of the guesses, Σ m_k v_k / Σ m_k,
    which gives the scores of the rows.

    Parameters
    ----------
    kernel, support, row_ids, coef, intercept : the average of the guesses, as an `Expansion`.
    place : for each term of the updates, in order, the index of its support vector, shape (terms,).
    step : the coefficient that each term added, shape (terms,).
    ends : shape (guesses,): v_k is the sum of the first ends[k] terms; ends[0] = 0.
    used : m_k of each guess, shape (guesses,).

    Cost: one kernel value per item and support vector, and one addition per item and term.
    """

    KIND: ClassVar[str] = "scorer/item-vote"

    place: NDArray[np.int64]
    step: NDArray[np.float64]
    ends: NDArray[np.int64]
    used: NDArray[np.float64]

    def votes(self, X: Any) -> NDArray[np.float64]:
        """The votes of each row of X, the items of one query, shape (n,)."""
        x = self._rows(X)
        n, best = len(x), np.zeros(len(self.used), dtype=np.intp)
        if len(self.support):
            K = np.empty((n, len(self.support)), dtype=x.dtype)
            fill(self.kernel, x, self.support, K)
            size, before = max(1, SCORES_AT_ONCE // max(1, n)), np.zeros((n, 1))
            for first in range(0, len(self.used), size):  # some guesses at a time, to bound the memory
                ends = self.ends[first : first + size]
                begin = int(self.ends[max(0, first - 1)])
                terms = K[:, self.place[begin : ends[-1]]] * self.step[begin : ends[-1]]
                sums = np.cumsum(np.hstack([before, terms]), axis=1)
                best[first : first + size] = np.argmax(sums[:, ends - begin], axis=0)
                before = sums[:, -1:]
        return np.bincount(best, self.used, minlength=n).astype(np.float64, copy=False)

    def reduced(self, n: int | None = None, *, tol: float | None = None) -> NoReturn:
        """Refused: a vote is not a single sum over support vectors."""
        raise KindError(NO_VOTES)

    def state(self) -> State:
        """The average and the terms of all updates, as a `State`."""
        names = ("coef", "intercept", "place", "step", "ends", "used")
        return self._state({name: getattr(self, name) for name in names})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The vote that has this state."""
        kernel, support, row_ids = cls._read(state)
        coef, intercept = state.array("coef", np.float64, (len(support), 1)), state.array("intercept", np.float64, (1,))
        place = state.indices("place", len(support))
        step, ends = state.array("step", np.float64, place.shape), state.offsets("ends", len(place))
        used = state.array("used", np.float64, ends.shape)
        return cls(kernel, support, row_ids, coef, intercept, place, step, ends, used)


@dataclasses.dataclass(frozen=True, eq=False)
class RankingModel(ScoreModel):
    """What a ranking estimator has learned, frozen: ``predict`` gives the score of each row, `find_best` an index.

    Parameters
    ----------
    scorer : computes the scores: a `LinearModel`, an `Expansion` or an `ItemVote`.
    decision : `Number`: the prediction for a row is its score.
    columns : the number, names and dtype of the features.

    >>> from onkel import RankingPerceptron
    >>> model = RankingPerceptron(hypothesis="last").learn_one([[0.0, 1.0], [1.0, 0.0]], 1).model_
    >>> model.find_best([[1.0, 1.0], [2.0, 0.0], [0.0, 2.0]])
    1
    """

    KIND: ClassVar[str] = "model/ranking"

    def find_best(self, X: Any) -> int:
        """The index of the best row of X, the items of one query; the first of several."""
        if not isinstance(self.scorer, ItemVote):
            return best_item(self._outputs(X)[:, 0])
        return best_item(self.scorer.votes(self._rows(X)))
