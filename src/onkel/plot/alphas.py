"""Plots of the score of each alpha of a ridge regression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from onkel.errors import KindError
from onkel.plot.style import COLORS, ZERO, drawing_axes, set_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["AlphaPathDisplay"]


class AlphaPathDisplay:
    """The score of each alpha that a ridge regression chose from, and the one that it chose.

    A curve that is lowest (for an error) or highest (for a score) at one of its ends says that the best alpha lies
    beyond: widen the path. A flat curve says that alpha does not matter.

    Parameters
    ----------
    alphas : the alphas, in any order, each ≥ 0.
    values : the error or score of each, shape (alphas,) or (alphas, targets), a curve for each target.
    chosen : the alpha that was chosen, a number, or one for each curve.
    ylabel : what the values are; default "score".
    name : the title. None (default): only what was chosen.

    Cost: one point for each alpha and target.

    >>> from onkel import KernelRidgeCV
    >>> from onkel.plot import AlphaPathDisplay
    >>> reg = KernelRidgeCV(alphas=[0.01, 1.0, 100.0]).fit([[0.0], [1.0], [2.0]], [0.1, 0.9, 2.1])
    >>> shown = AlphaPathDisplay.from_estimator(reg)
    >>> shown.lines_[0].get_xdata().tolist(), shown.ax_.get_ylabel()
    ([0.01, 1.0, 100.0], 'leave-one-out mean squared error')

    Source: the Display objects of scikit-learn, such as `sklearn.model_selection.ValidationCurveDisplay`.
    """

    def __init__(
        self,
        alphas: NDArray[np.float64],
        values: NDArray[np.float64],
        *,
        chosen: Any,
        ylabel: str = "score",
        name: str | None = None,
    ) -> None:
        self.alphas = alphas
        self.values = values
        self.chosen = chosen
        self.ylabel = ylabel
        self.name = name

    @classmethod
    def from_estimator(cls, estimator: Any, *, name: str | None = None, ax: Axes | None = None, **options: Any) -> Self:
        """Draws the path of a fitted `KernelRidgeCV`: errors, or the scores of its `scoring`.

        Parameters
        ----------
        estimator : a fitted `KernelRidgeCV`.
        name : the title. None (default): the name of the estimator's class.
        ax : matplotlib axes. None (default): a new figure.
        options : passed to `plot`.
        """
        if not (hasattr(estimator, "alpha_") and hasattr(estimator, "scores_") and hasattr(estimator, "alphas")):
            raise KindError(
                f"{cls.__name__}.from_estimator: estimator must be a fitted KernelRidgeCV, with scores_ and alpha_; "
                f"got {estimator!r}. Call fit first."
            )
        values, ylabel = -estimator.scores_, "leave-one-out mean squared error"
        if estimator.gcv:
            ylabel = "generalized cross-validation"
        elif estimator.scoring is not None:
            of = estimator.scoring if isinstance(estimator.scoring, str) else "score"
            values, ylabel = estimator.scores_, f"leave-one-out {of}"
        name = type(estimator).__name__ if name is None else name
        alphas = np.atleast_1d(np.asarray(estimator.alphas, dtype=np.float64))
        return cls(alphas, values, chosen=estimator.alpha_, ylabel=ylabel, name=name).plot(ax, **options)

    def plot(self, ax: Axes | None = None, *, line_kw: dict[str, Any] | None = None) -> Self:
        """Draws a curve for each target, with a ring around the alpha that was chosen.

        Parameters
        ----------
        ax : matplotlib axes. None (default): a new figure.
        line_kw : further arguments for matplotlib's `plot` of the curves, such as linewidth. None (default): none.

        The drawn objects are kept in `ax_`, `figure_`, `lines_` and `rings_`, one for each target.
        """
        ax = drawing_axes(ax)
        order = np.argsort(self.alphas)
        alphas, values = self.alphas[order], np.reshape(self.values, (len(self.alphas), -1))[order]
        chosen = np.broadcast_to(self.chosen, values.shape[1])
        positive = alphas[alphas > 0]
        if len(positive) == len(alphas):
            ax.set_xscale("log")
        elif len(positive):
            ax.set_xscale("symlog", linthresh=positive[0])
        self.lines_, self.rings_ = [], []
        for t in range(values.shape[1]):
            several = {"label": f"target {t}"} if values.shape[1] > 1 else {}
            style: dict[str, Any] = {"color": COLORS[t % len(COLORS)], "linewidth": 1.8, "marker": ".", **several}
            self.lines_ += ax.plot(alphas, values[:, t], **style | (line_kw or {}))
            best = int(np.argmin(np.abs(alphas - chosen[t])))
            color = self.lines_[-1].get_color()
            self.rings_ += ax.plot(alphas[best], values[best, t], "o", ms=10, mfc="none", mec=color, mew=1.8)
        if values.shape[1] > 1:
            ax.legend(frameon=False)
        ax.set(xlabel="alpha", ylabel=self.ylabel)
        ax.grid(True, axis="y", color=ZERO, alpha=0.25, linewidth=0.8)
        ax.spines[["top", "right"]].set_visible(False)
        one = len(np.unique(chosen)) == 1
        set_title(ax, self.name, f"alpha = {chosen[0]:.3g}" if one else "an alpha for each target")
        self.ax_, self.figure_ = ax, ax.figure
        return self
