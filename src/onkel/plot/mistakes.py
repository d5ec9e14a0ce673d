"""Mistakes against rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from onkel.errors import KindError
from onkel.plot.style import NEGATIVE, POSITIVE, drawing_axes, set_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from onkel.game import Trace

__all__ = ["MistakesDisplay"]

DWARFED = 4.0  # a bound beyond so many times the mistakes is told, not drawn


class MistakesDisplay:
    """Mistakes against rounds, as a staircase, and the bound that a theorem sets them.

    A curve that flattens has learned; one that climbs steadily has not. The bound is a line where it
    is within four times the mistakes, and else told in the title, so that the curve keeps its room.

    Parameters
    ----------
    rounds : the rounds, counted from 1, in which mistakes happened, ascending; one that occurs twice
        was a mistake of two outputs.
    n_rounds : rounds in all.
    bound : the number of mistakes that the theorem allows, or None.
    name : the title.

    Cost: two points for each mistake.

    >>> from onkel.game import Orthogonal, PerceptronPlayer, play
    >>> from onkel.plot import MistakesDisplay
    >>> shown = MistakesDisplay.from_trace(play(Orthogonal(3), PerceptronPlayer()))
    >>> shown.line_.get_ydata().tolist(), float(round(shown.bound_line_.get_ydata()[0], 9))
    ([0, 1, 2, 3, 3], 3.0)

    Source: the Display objects of scikit-learn, such as `sklearn.model_selection.LearningCurveDisplay`.
    """

    def __init__(
        self, rounds: NDArray[np.int64], n_rounds: int, *, bound: float | None = None, name: str | None = None
    ) -> None:
        self.rounds = rounds
        self.n_rounds = n_rounds
        self.bound = bound
        self.name = name

    @classmethod
    def from_trace(cls, trace: Trace, *, name: str | None = None, ax: Axes | None = None, **options: Any) -> Self:
        """Draws a game, `onkel.game.play`, under the players' names. `options` go to `plot`."""
        if not (hasattr(trace, "rounds") and hasattr(trace, "bound")):
            raise KindError(f"{cls.__name__}.from_trace: trace must be what onkel.game.play gives; got {trace!r}.")
        rounds = np.array([r.number for r in trace.rounds if r.mistake], dtype=np.int64)
        name = f"{trace.a} against {trace.b}" if name is None else name
        return cls(rounds, len(trace.rounds), bound=trace.bound, name=name).plot(ax, **options)

    @classmethod
    def from_estimator(cls, estimator: Any, *, name: str | None = None, ax: Axes | None = None, **options: Any) -> Self:
        """Draws what a fitted online estimator remembers: the mistakes of all its outputs, and their certificate."""
        if not (hasattr(estimator, "mistakes_") and hasattr(estimator, "n_rounds_")):
            raise KindError(
                f"{cls.__name__}.from_estimator: estimator must be a fitted online estimator, with mistakes_ and "
                f"n_rounds_; got {estimator!r}. Call fit, partial_fit or learn_one first."
            )
        if hasattr(estimator, "n_updates_"):
            raise KindError(
                f"{cls.__name__}.from_estimator: {type(estimator).__name__} keeps only its last updates and counts the "
                "others. Draw the records of onkel.progressive_validation by ProgressDisplay."
            )
        rounds = np.sort(estimator.mistakes_["round"])
        bound = getattr(getattr(estimator, "certificate_", None), "bound", None)
        name = type(estimator).__name__ if name is None else name
        return cls(rounds, int(estimator.n_rounds_), bound=bound, name=name).plot(ax, **options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        color: Any = POSITIVE,
        bound_color: Any = NEGATIVE,
        line_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draws on `ax`, or on a new figure.

        Parameters
        ----------
        ax : matplotlib axes.
        color, bound_color : of the mistakes, and of their bound.
        line_kw : further arguments of matplotlib's `plot` for the mistakes, such as linewidth.

        Afterwards `ax_`, `figure_`, `line_`, `bound_line_` and `bound_text_` (both None where the bound is
        not drawn) hold what was drawn.
        """
        ax = drawing_axes(ax)
        count, n = len(self.rounds), self.n_rounds
        x = np.concatenate([[0], self.rounds, [n]])
        y = np.concatenate([np.arange(count + 1), [count]])
        style: dict[str, Any] = {"color": color, "linewidth": 1.8, "drawstyle": "steps-post", "label": self.name}
        (self.line_,) = ax.plot(x, y, **style | (line_kw or {}))
        finding = f"{count:,} mistake{'' if count == 1 else 's'} in {n:,} round{'' if n == 1 else 's'}"
        top = float(max(1, count))
        self.bound_line_: Any = None
        self.bound_text_: Any = None
        if self.bound is not None and self.bound <= DWARFED * top:
            self._draw_bound(ax, self.bound, bound_color)
            top = max(top, self.bound)
        elif self.bound is not None:
            finding += f"; {_allowed(self.bound)}"
        ax.margins(x=0.02, y=0.12)
        right, upper = max(1, 1.02 * n, ax.get_xlim()[1]), max(1.12 * top, ax.get_ylim()[1])  # room for other curves
        ax.set(xlabel="round", ylabel="mistakes", xlim=(0, right), ylim=(0, upper))
        ax.locator_params(integer=True, min_n_ticks=1)
        ax.spines[["top", "right"]].set_visible(False)
        set_title(ax, self.name, finding)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_bound(self, ax: Axes, bound: float, color: Any) -> None:
        """A line, and what it means above its right end."""
        self.bound_line_ = ax.axhline(bound, color=color, linewidth=1.2, linestyle="--")
        place = ax.get_yaxis_transform()
        self.bound_text_ = ax.annotate(
            _allowed(bound), (0.99, bound), (0, 3), place, "offset points", ha="right", color=color
        )


def _allowed(bound: float) -> str:
    """The bound in words; mistakes are whole, and 1e-9 of it is rounding, as for certificates."""
    most = bound * (1 + 1e-9)
    return f"the theorem allows {f'{np.floor(most):,.0f}' if most < 1e6 else f'{most:.2g}'}"
