"""The record of a ranking game: its rounds, which can be printed, drawn and replayed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from onkel.game.players import TOLERANCE
from onkel.game.record import GameRecord, outcome

if TYPE_CHECKING:
    from onkel.game.ranking import ListPlayerB

__all__ = ["RankingRound", "RankingTrace"]


@dataclass(frozen=True)
class RankingRound:
    """One round of a ranking game.

    Attributes
    ----------
    number : the number of the round, from 1.
    items : the items of the list, each a tuple of numbers.
    best, chosen : the index of the best item, and of the one that B chose.
    mistake : whether B erred: another item scored at least as much as the best, so also if B chose it from a tie.
    mistakes : the number of mistakes up to and including this round.
    v_dot_u, v_norm_sq : v·u and ‖v‖² after the round; None if B has no vector v.
    """

    number: int
    items: tuple[tuple[float, ...], ...]
    best: int
    chosen: int
    mistake: bool
    mistakes: int
    v_dot_u: float | None = None
    v_norm_sq: float | None = None

    @property
    def largest_sq(self) -> float:
        """The largest ‖x_best − x_j‖² of the list."""
        items = np.array(self.items)
        return float(((items[self.best] - items) ** 2).sum(axis=1).max())


@dataclass(frozen=True)
class RankingTrace(GameRecord):
    """The record of a ranking game; ``print`` shows it as a table, and two traces are equal if their contents are.

    Attributes
    ----------
    rounds : the rounds, in order.
    u : the secret unit vector of A.
    margin, radius_sq : γ and R, the rules that A kept.
    a, b : the names of the players.

    Cost: the items of all rounds, and seven numbers per round.

    >>> from onkel.game import Opposite, RankingPlayer, play_ranking
    >>> trace = play_ranking(Opposite(8), RankingPlayer())
    >>> trace.holds, trace.replay(RankingPlayer()) == trace
    (True, True)

    Source: the game of the notes, sec. 3.1.
    """

    rounds: tuple[RankingRound, ...]
    u: tuple[float, ...]
    margin: float
    radius_sq: float
    a: str
    b: str

    COLUMNS = "i> guess< items> best> chosen> result< v·u> ‖v‖²>"
    FORMULA, LEARNER = "4R/γ²", "linear perceptron"

    @property
    def bound(self) -> float:
        """4R/γ²: no linear ranking perceptron makes more mistakes."""
        return 4.0 * super().bound

    @property
    def observed_bound(self) -> float:
        """The largest ‖x_best − x_j‖² of the lists on which B erred, over γ²; at most `bound`."""
        return max((r.largest_sq for r in self.rounds if r.mistake), default=0.0) / self.margin / self.margin

    @property
    def notes_bound(self) -> float:
        """2R/γ², the bound of the notes; it holds only if x_best·x_guess ≥ 0 at every mistake."""
        return self.bound / 2

    @property
    def holds(self) -> bool:
        """Whether B made at most `observed_bound` mistakes, up to a relative 1e-9, and so at most `bound`."""
        return self.n_mistakes <= self.observed_bound * (1 + TOLERANCE)

    def replay(self, b: ListPlayerB) -> RankingTrace:
        """The trace of a new game with the same lists against another B."""
        from onkel.game.ranking import ScriptedLists, play_ranking

        lists, best = [r.items for r in self.rounds], [r.best for r in self.rounds]
        return replace(play_ranking(ScriptedLists(lists, best, self.u, self.margin, self.radius_sq), b), a=self.a)

    def _rules(self) -> str:
        return f"‖x‖² ≤ R = {self.radius_sq:.6g}, u·x_best − u·x_j ≥ γ = {self.margin:.6g}"

    def _cells(self, r: RankingRound) -> list[str]:
        guess, *rest = outcome(r)
        return [str(r.number), guess, str(len(r.items)), str(r.best), str(r.chosen), *rest]

    def _findings(self) -> list[str]:
        return [f"{self._verdict()} (observed max ‖x_best − x_j‖²/γ² = {self.observed_bound:.4g})."]
