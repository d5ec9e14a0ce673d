"""The record of a game: its rounds, which can be printed, drawn, saved, loaded and replayed; and the game of points.

A record can be replayed, so it stands beside the referee that plays its game: `Trace` and `play` are here, those of the
other games in `onkel.game.ranking_record` and `onkel.game.sequence_record`.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, fields, replace
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from onkel.checks import check_number
from onkel.errors import InputError, KindError
from onkel.game.players import TOLERANCE, PerceptronPlayer, PlayerA, PlayerB, Scripted, check_move, player_name
from onkel.game.referee import check_start, growth

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from onkel.plot import MistakesDisplay

__all__ = ["GameRecord", "Round", "Trace", "outcome", "play", "table"]

FORMAT, VERSION = "onkel-game", 1
HEAD, TAIL, WIDE = 12, 6, 40  # a printed trace shows so many first and last rounds, and so many letters of a point


def table(columns: str, rows: list[list[str]], at: int) -> list[str]:
    """The lines of a table of rounds, without empty columns; column `at` says how many rounds in the middle are hidden.

    `columns` are the headings, each followed by its alignment, "<" or ">".
    """
    align = {column[:-1]: column[-1] for column in columns.split()}
    hidden = len(rows) - HEAD - TAIL
    if hidden > 0:
        note = [""] * len(align)
        note[at] = f"… {hidden} more …"
        rows = [*rows[:HEAD], note, *rows[-TAIL:]]
    shown = [column for column in zip(align, *rows, strict=True) if any(column[1:])]
    padded = [[f"{cell:{align[column[0]]}{max(map(len, column))}}" for cell in column] for column in shown]
    return ["  ".join(cells).rstrip() for cells in zip(*padded, strict=True)]


def outcome(r: Any) -> tuple[str, str, str, str]:
    """What the printed tables of all games say about a round: B's guess, its result, v·u and ‖v‖²."""
    along, length = ("" if value is None else f"{value:.4g}" for value in (r.v_dot_u, r.v_norm_sq))
    return f"v{r.mistakes - r.mistake}", f"mistake {r.mistakes}" if r.mistake else "✓", along, length


class GameRecord(ABC):
    """The base of the records of all games: their mistakes beside the bound, in numbers, in words and as a drawing."""

    COLUMNS: ClassVar[str]  # the headings of the printed table, each with its alignment, "<" or ">"
    FORMULA: ClassVar[str]  # of the bound
    LEARNER: ClassVar[str]  # the player B that the bound is about

    rounds: tuple[Any, ...]
    margin: float
    radius_sq: float
    a: str
    b: str

    @abstractmethod
    def _rules(self) -> str:
        """The rules that A kept."""

    @abstractmethod
    def _cells(self, r: Any) -> list[str]:
        """The cells of a round in the printed table, in the order of `COLUMNS`."""

    @property
    def n_mistakes(self) -> int:
        """The number of mistakes that B made."""
        return self.rounds[-1].mistakes if self.rounds else 0

    @property
    def bound(self) -> float:
        """The number of mistakes that the theorem allows."""
        return self.radius_sq / self.margin / self.margin

    @property
    def holds(self) -> bool:
        """Whether B made at most `bound` mistakes, up to a relative 1e-9."""
        return self.n_mistakes <= self.bound * (1 + TOLERANCE)

    def plot(self, ax: Axes | None = None, **options: Any) -> MistakesDisplay:
        """Draws mistakes against rounds, and the bound, with `onkel.plot.MistakesDisplay.from_trace`.

        `ax` are matplotlib axes; None (default) makes a new figure. `options` are passed to `from_trace`.
        """
        from onkel.plot import MistakesDisplay

        return MistakesDisplay.from_trace(self, ax=ax, **options)

    def __str__(self) -> str:
        lines = table(self.COLUMNS, [self._cells(r) for r in self.rounds], at=2)
        return "\n".join([f"A: {self.a}", f"   {self._rules()}", f"B: {self.b}", *lines, *self._findings()])

    def _findings(self) -> list[str]:
        """The last lines of the printed record."""
        return [f"{self._verdict()}."]

    def _verdict(self) -> str:
        k, n, most = self.n_mistakes, len(self.rounds), np.floor(self.bound * (1 + TOLERANCE))
        times, rounds = (f"{count} {word}{'' if count == 1 else 's'}" for count, word in ((k, "time"), (n, "round")))
        exact = self.bound <= most * (1 + TOLERANCE)
        allowed = f"{most:.0f} = {self.FORMULA}" if exact else f"{most:.0f} < {self.FORMULA} = {self.bound:.4g}"
        verdict = "" if k < most else ": attained" if k == most else f": exceeded, for B is no {self.LEARNER}"
        return f"B erred {times} in {rounds}; the theorem allows {allowed}{verdict}"


# ---------------------------------------------------------------- the game of points


@dataclass(frozen=True)
class Round:
    """One round of a game.

    Attributes
    ----------
    number : the number of the round, from 1.
    x, y : the point and its label, −1 or +1.
    score : B's score of x before it learned the label.
    mistake : whether B erred.
    mistakes : the number of mistakes up to and including this round.
    v_dot_u, v_norm_sq : v·u and ‖v‖² after the round; None if B has no vector v.
    """

    number: int
    x: tuple[float, ...]
    y: int
    score: float
    mistake: bool
    mistakes: int
    v_dot_u: float | None = None
    v_norm_sq: float | None = None


@dataclass(frozen=True)
class Trace(GameRecord):
    """The record of a game; ``print`` shows it as a table, and two traces are equal if their contents are.

    Attributes
    ----------
    rounds : the rounds, in order.
    u : the secret unit vector of A.
    margin, radius_sq : γ and R, the rules that A kept.
    a, b : the names of the players.

    Cost: d + 7 numbers per round.

    >>> from onkel.game import Orthogonal, PerceptronPlayer, play
    >>> trace = play(Orthogonal(8), PerceptronPlayer())
    >>> trace.holds, trace.replay(PerceptronPlayer()) == trace
    (True, True)

    Source: the table of guesses, inputs and results in the notes, sec. 2.
    """

    rounds: tuple[Round, ...]
    u: tuple[float, ...]
    margin: float
    radius_sq: float
    a: str
    b: str

    COLUMNS = "i> guess< x< y> score> result< v·u> ‖v‖²>"
    FORMULA, LEARNER = "R/γ²", "linear perceptron"

    @property
    def bound(self) -> float:
        """R/γ²: no linear perceptron makes more mistakes."""
        return super().bound

    def replay(self, b: PlayerB) -> Trace:
        """The trace of a new game with the same points and labels against another B."""
        return replace(play(self._script(), b), a=self.a)

    def _script(self) -> Scripted:
        """An adversary that plays the points of this game again."""
        return Scripted([r.x for r in self.rounds], [r.y for r in self.rounds], self.u, self.margin, self.radius_sq)

    def _rules(self) -> str:
        return f"‖x‖² ≤ R = {self.radius_sq:.6g}, y u·x ≥ γ = {self.margin:.6g}"

    def _cells(self, r: Round) -> list[str]:
        x = ", ".join(f"{value:.3g}" for value in r.x)
        x = x if len(x) <= WIDE else x[:WIDE].rsplit(",", 1)[0] + ", …"
        guess, *rest = outcome(r)
        return [str(r.number), guess, f"({x})", f"{r.y:+d}", f"{r.score + 0.0:.4g}", *rest]

    def save(self, path: str | PathLike[str]) -> None:
        """Writes JSON lines: a header with the rules, then a line for each round. Floats read back exactly."""
        header = {"format": FORMAT, "version": VERSION, "n_rounds": len(self.rounds)}
        header |= {f.name: getattr(self, f.name) for f in fields(self) if f.name != "rounds"}
        lines = [json.dumps(line, allow_nan=False) for line in (header, *map(asdict, self.rounds))]
        Path(path).write_text("\n".join(lines) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """Reads a file that `save` wrote; every round is checked against the rules again."""
        try:
            header, *lines = map(json.loads, Path(path).read_text(encoding="utf-8").splitlines())
            for key, wanted in {"format": FORMAT, "version": VERSION, "n_rounds": len(lines)}.items():
                if (got := header.pop(key)) != wanted:
                    raise InputError(f"{key} should be {wanted!r}; got {got!r}.")
            rounds = tuple(Round(**line | {"x": tuple(line["x"])}) for line in lines)
            trace = cls(rounds, tuple(header.pop("u")), **header)
            trace._check()
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            what = f"{type(error).__name__}: {error}"
            raise InputError(f"Trace.load: {path} is not as Trace.save writes it; {what}") from error
        return trace

    def _check(self) -> None:
        """Raises an error if this cannot be the record of a game: a broken rule, or counts that do not fit."""
        a, mistakes = self._script(), 0
        for number, r in enumerate(self.rounds, 1):
            check_move(a, r.x, r.y, number, "Trace")
            for value in (r.score, *(v for v in (r.v_dot_u, r.v_norm_sq) if v is not None)):
                check_number(value, f"each score, v·u and ‖v‖², as in round {number},", "Trace")
            mistakes += r.mistake
            if (r.number, r.mistakes) != (number, mistakes) or (type(r.y), type(r.mistake)) != (int, bool):
                raise InputError(f"line {number + 1} should be round {number}, mistakes so far {mistakes}; got {r}.")


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
