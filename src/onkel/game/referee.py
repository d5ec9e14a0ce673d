"""What the referees of all games do: the check of the players before a game, and the note of B's progress."""

from __future__ import annotations

from typing import Any

from onkel.checks import check_integer
from onkel.errors import ParameterError
from onkel.game.players import Vector, player_name

__all__ = ["check_start", "growth"]


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
