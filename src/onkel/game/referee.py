"""The referee: plays a game round by round and checks every move of A against the rules."""

from __future__ import annotations

from itertools import islice

from onkel.checks import check_integer, check_number
from onkel.errors import KindError, ParameterError
from onkel.game.players import PerceptronPlayer, PlayerA, PlayerB, check_move, player_name
from onkel.game.record import Round, Trace

__all__ = ["play"]


def play(a: PlayerA, b: PlayerB, rounds: int | None = None) -> Trace:
    """Plays the game; a move of A against the rules ends it with an error.

    In each round: A gives x, ‖x‖² ≤ R; B scores it; A gives y, y u·x ≥ γ; B learns. The rules hold
    up to a relative 1e-9 and the rounding of u·x.

    Parameters
    ----------
    a : an adversary: `Orthogonal`, `RandomWithin`, `Greedy`, `Scripted`, or any `PlayerA`.
    b : a learner that has learned nothing yet: `PerceptronPlayer`, `EstimatorPlayer`, any `PlayerB`.
    rounds : how many, ≥ 1; fewer if A has no more moves. None: all that A has.

    Cost: a score and a lesson of B a round, and what A needs.

    >>> from onkel.game import Orthogonal, PerceptronPlayer, play
    >>> print(str(play(Orthogonal(8), PerceptronPlayer())).splitlines()[-1])
    B erred 8 times in 8 rounds; the theorem allows 8 = R/γ²: attained.

    Source: the notes, sec. 1.
    """
    if not isinstance(a, PlayerA):
        raise KindError(f"play: a must be an adversary such as Orthogonal(8); got {a!r}.")
    if not isinstance(b, PlayerB):
        raise KindError(f"play: b must be a PerceptronPlayer(), EstimatorPlayer(estimator) or the like; got {b!r}.")
    if isinstance(b, PerceptronPlayer) and b.n_mistakes:
        raise ParameterError(f"play: B must start from v = 0; this {b!r} has learned before. Make a new one.")
    if rounds is not None:
        check_integer(rounds, "rounds", "play", at_least=1)
    elif a.n_rounds is None:
        raise ParameterError(f"play: rounds must be given, since {player_name(a)} never ends; got None.")
    played: list[Round] = []
    for number, (x, y) in enumerate(islice(a.moves(b.score), rounds), 1):
        x, y = check_move(a, x, y, number, "play")
        score = check_number(b.score(x), f"B's score in round {number}", "play")
        mistake = bool(b.learn(x, y))
        mistakes = mistake + (played[-1].mistakes if played else 0)
        v = getattr(b, "guess", None)
        grown = (None, None) if v is None else (float(v @ a.u), float(v @ v))
        played.append(Round(number, tuple(x.tolist()), y, score, mistake, mistakes, *grown))
    return Trace(tuple(played), tuple(a.u.tolist()), a.margin, a.radius_sq, player_name(a), player_name(b))
