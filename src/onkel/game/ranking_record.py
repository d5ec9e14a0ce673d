"""The record of a ranking game, and its referee, who checks every move of A against the rules."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from onkel.errors import KindError, ValuesError
from onkel.game.players import EPS, TOLERANCE, player_name
from onkel.game.ranking import Items, ListPlayerA, ListPlayerB, RankingPlayer, ScriptedLists, checked_items
from onkel.game.record import GameRecord, outcome
from onkel.game.referee import check_start, growth

__all__ = ["RankingRound", "RankingTrace", "play_ranking"]


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
        lists, best = [r.items for r in self.rounds], [r.best for r in self.rounds]
        return replace(play_ranking(ScriptedLists(lists, best, self.u, self.margin, self.radius_sq), b), a=self.a)

    def _rules(self) -> str:
        return f"‖x‖² ≤ R = {self.radius_sq:.6g}, u·x_best − u·x_j ≥ γ = {self.margin:.6g}"

    def _cells(self, r: RankingRound) -> list[str]:
        guess, *rest = outcome(r)
        return [str(r.number), guess, str(len(r.items)), str(r.best), str(r.chosen), *rest]

    def _findings(self) -> list[str]:
        return [f"{self._verdict()} (observed max ‖x_best − x_j‖²/γ² = {self.observed_bound:.4g})."]


def play_ranking(a: ListPlayerA, b: ListPlayerB, rounds: int | None = None) -> RankingTrace:
    """Plays the ranking game and returns its record; a move of A that breaks the rules raises an error.

    In each round A gives a list of items, ‖x‖² ≤ R; B chooses one; A says which is the best, u·x_best − u·x_j ≥ γ for
    all others; and B learns. The rules are checked up to a relative 1e-9 and the rounding error of u·x.

    Parameters
    ----------
    a : an adversary: `Opposite`, `RandomLists`, `ScriptedLists`, or another `ListPlayerA`.
    b : a learner that has learned nothing yet: `RankingPlayer`, `RankerPlayer`, or another `ListPlayerB`.
    rounds : the number of rounds, ≥ 1; the game is shorter if A runs out of moves. None (default): all moves of A,
        which must then be finitely many.

    Cost: one choice and one learning step of B per round, and the cost of A's move.

    >>> from onkel.game import Opposite, RankingPlayer, play_ranking
    >>> print(str(play_ranking(Opposite(8), RankingPlayer())).splitlines()[-1])
    B erred 8 times in 8 rounds; the theorem allows 8 = 4R/γ²: attained (observed max ‖x_best − x_j‖²/γ² = 8).

    Source: the notes, sec. 3.
    """
    if not isinstance(a, ListPlayerA):
        raise KindError(f"play_ranking: a must be an adversary such as Opposite(8); got {a!r}.")
    if not isinstance(b, ListPlayerB):
        raise KindError(f"play_ranking: b must be a RankingPlayer(), RankerPlayer(ranker) or the like; got {b!r}.")
    check_start(a, b, rounds, RankingPlayer, "play_ranking")
    played: list[RankingRound] = []
    for number, (given, best) in enumerate(islice(a.moves(b.find_best), rounds), 1):
        items = _check_list(a, given, best, number)
        guess = b.find_best(items)
        mistake = bool(b.learn(items, int(best)))
        mistakes = mistake + (played[-1].mistakes if played else 0)
        shown = tuple(map(tuple, items.tolist()))
        played.append(RankingRound(number, shown, int(best), int(guess), mistake, mistakes, *growth(b, a.u)))
    return RankingTrace(tuple(played), tuple(a.u.tolist()), a.margin, a.radius_sq, player_name(a), player_name(b))


def _check_list(a: ListPlayerA, given: Any, best: Any, number: int) -> Items:
    """The checked items of a move of A; an error names the rule that it breaks."""
    items = checked_items(given, f"A's items in round {number}", "play_ranking", len(a.u))
    squares, along = (items**2).sum(axis=1), items @ a.u
    rounding = 2 * items.shape[1] * EPS * math.sqrt(float(squares.max()))  # the rounding error of two u·x
    broken = ""
    if isinstance(best, bool) or not isinstance(best, (int, np.integer)) or not 0 <= best < len(items):
        broken = f"index rule: best must be 0 to {len(items) - 1}; got {best!r}"
    elif squares.max() > a.radius_sq * (1 + TOLERANCE):
        broken = f"radius rule: ‖x‖² must be at most R = {a.radius_sq:.12g}; got {squares.max():.12g}"
    elif len(items) > 1:
        gap = float(along[best] - np.delete(along, best).max())
        if gap < a.margin * (1 - TOLERANCE) - rounding:
            broken = f"margin rule: u·x_best − u·x_j must be at least γ = {a.margin:.12g}; got {gap:.12g}"
    if broken:
        raise ValuesError(f"play_ranking: in round {number} A breaks the {broken}.")
    return items
