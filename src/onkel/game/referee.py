"""The referee: plays a game round by round and checks every move of A against the rules."""

from __future__ import annotations

from itertools import islice
from typing import Any

from onkel.checks import check_integer, check_number
from onkel.errors import KindError, ParameterError
from onkel.game.players import PerceptronPlayer, PlayerA, PlayerB, Vector, check_move, player_name
from onkel.game.record import Round, Trace

__all__ = ["check_start", "growth", "play"]


def check_start(a: Any, b: Any, rounds: int | None, perceptron: type, who: str) -> None:
    """Refuses a player B of the class `perceptron` that has learned before, and a game that would never end."""
    if isinstance(b, perceptron) and b.n_mistakes:  # type: ignore[attr-defined]
        raise ParameterError(f"{who}: B must start from v = 0; this {b!r} has learned before. Make a new one.")
    if rounds is not None:
        check_integer(rounds, "rounds", who, at_least=1)
    elif a.n_rounds is None:
        raise ParameterError(f"{who}: rounds must be given, since {player_name(a)} never ends; got None.")


def growth(b: Any, u: Vector) -> tuple[float | None, float | None]:
    """v·u and ‖v‖² of what B has learned; None if B has no vector v."""
    v = getattr(b, "guess", None)
    return (None, None) if v is None else (float(v @ u), float(v @ v))


def play(a: PlayerA, b: PlayerB, rounds: int | None = None) -> Trace:
    """Plays the game and returns its record; a move of A that breaks the rules raises an error.

    In each round A gives x with ‖x‖² ≤ R, B scores it, A gives y with y u·x ≥ γ, and B learns. The rules are checked up
    to a relative 1e-9 and the rounding error of u·x.

    Parameters
    ----------
    a : an adversary: `Orthogonal`, `RandomWithin`, `Greedy`, `Scripted`, or another `PlayerA`.
    b : a learner that has learned nothing yet: `PerceptronPlayer`, `EstimatorPlayer`, or another `PlayerB`.
    rounds : the number of rounds, ≥ 1; the game is shorter if A runs out of moves. None (default): all moves of A,
        which must then be finitely many.

    Cost: one score and one learning step of B per round, and the cost of A's move.

    >>> from onkel.game import Orthogonal, PerceptronPlayer, play
    >>> print(str(play(Orthogonal(8), PerceptronPlayer())).splitlines()[-1])
    B erred 8 times in 8 rounds; the theorem allows 8 = R/γ²: attained.

    Source: the notes, sec. 1.
    """
    if not isinstance(a, PlayerA):
        raise KindError(f"play: a must be an adversary such as Orthogonal(8); got {a!r}.")
    if not isinstance(b, PlayerB):
        raise KindError(f"play: b must be a PerceptronPlayer(), EstimatorPlayer(estimator) or the like; got {b!r}.")
    check_start(a, b, rounds, PerceptronPlayer, "play")
    played: list[Round] = []
    for number, (x, y) in enumerate(islice(a.moves(b.score), rounds), 1):
        x, y = check_move(a, x, y, number, "play")
        score = check_number(b.score(x), f"B's score in round {number}", "play")
        mistake = bool(b.learn(x, y))
        mistakes = mistake + (played[-1].mistakes if played else 0)
        played.append(Round(number, tuple(x.tolist()), y, score, mistake, mistakes, *growth(b, a.u)))
    return Trace(tuple(played), tuple(a.u.tolist()), a.margin, a.radius_sq, player_name(a), player_name(b))
