"""Plots of mistakes against rounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from onkel.errors import KindError
from onkel.plot.style import NEGATIVE, POSITIVE, drawing_axes, set_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from onkel.game.record import GameRecord

__all__ = ["MistakesDisplay"]

DWARFED = 4.0  # a bound above so many times the mistakes is written in the title, not drawn


class MistakesDisplay:
    """The number of mistakes against rounds, as a staircase, and the bound on them that a theorem gives.

    The curve of a learner that has learned its task flattens; otherwise it climbs steadily. The bound is drawn as a
    line if it is at most four times the number of mistakes. A larger bound is written in the title instead, since the
    line would leave the curve too little space.

    Parameters
    ----------
    rounds : the rounds, counted from 1, in which mistakes were made, ascending; a round in which two outputs erred is
        listed twice.
    n_rounds : the number of rounds, with and without mistakes.
    bound : the number of mistakes that the theorem allows. None (default): no bound is shown.
    name : the title. None (default): only the numbers of mistakes and rounds.

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
    def from_trace(
        cls,
        trace: GameRecord,
        *,
        name: str | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draws a game.

        Parameters
        ----------
        trace : the record of a game, returned by `onkel.game.play`, `play_ranking` or `play_sequences`.
        name : the title. None (default): the names of the players.
        ax : matplotlib axes. None (default): a new figure.
        options : passed to `plot`.
        """
        if not (hasattr(trace, "rounds") and hasattr(trace, "bound")):
            raise KindError(f"{cls.__name__}.from_trace: trace must be what onkel.game.play gives; got {trace!r}.")
        rounds = np.array([r.number for r in trace.rounds if r.mistake], dtype=np.int64)
        name = f"{trace.a} against {trace.b}" if name is None else name
        return cls(rounds, len(trace.rounds), bound=trace.bound, name=name).plot(ax, **options)

    @classmethod
    def from_estimator(cls, estimator: Any, *, name: str | None = None, ax: Axes | None = None, **options: Any) -> Self:
        """Draws the mistakes of all outputs of a fitted perceptron, and the bound of its certificate if it has one.

        Parameters
        ----------
        estimator : a fitted `KernelPerceptron` or `Perceptron`, whose `mistakes_` list all mistakes. Estimators that
            remember only their last updates are refused.
        name : the title. None (default): the name of the estimator's class.
        ax : matplotlib axes. None (default): a new figure.
        options : passed to `plot`.
        """
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
        if hasattr(type(estimator), "find_best"):  # an update of a ranker has several terms
            rounds = np.unique(rounds)
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
        """Draws the staircase and the bound.

        Parameters
        ----------
        ax : matplotlib axes. None (default): a new figure.
        color : colour of the staircase. Default blue.
        bound_color : colour of the bound. Default orange.
        line_kw : further arguments for matplotlib's `plot` of the staircase, such as linewidth. None (default): none.

        The drawn objects are kept in `ax_`, `figure_`, `line_`, `bound_line_` and `bound_text_`; the last two are None
        if the bound is not drawn as a line.
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
        right, upper = (
            max(1, 1.02 * n, ax.get_xlim()[1]),
            max(1.12 * top, ax.get_ylim()[1]),
        )  # curves that were there before stay visible
        ax.set(xlabel="round", ylabel="mistakes", xlim=(0, right), ylim=(0, upper))
        ax.locator_params(integer=True, min_n_ticks=1)
        ax.spines[["top", "right"]].set_visible(False)
        set_title(ax, self.name, finding)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_bound(self, ax: Axes, bound: float, color: Any) -> None:
        """Draws the bound as a line, with its meaning written above the right end."""
        self.bound_line_ = ax.axhline(bound, color=color, linewidth=1.2, linestyle="--")
        place = ax.get_yaxis_transform()
        self.bound_text_ = ax.annotate(
            _allowed(bound), (0.99, bound), (0, 3), place, "offset points", ha="right", color=color
        )


def _allowed(bound: float) -> str:
    """The bound in words, rounded down, since mistakes are whole numbers; a relative 1e-9 allows for rounding."""
    most = bound * (1 + 1e-9)
    return f"the theorem allows {f'{np.floor(most):,.0f}' if most < 1e6 else f'{most:.2g}'}"
