"""Plots of learners on a stream: their error and their number of support vectors over time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from onkel.errors import InputError, KindError
from onkel.plot.style import COLORS, ZERO, drawing_axes, set_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from onkel.evaluate import Progress

__all__ = ["ProgressDisplay"]


class ProgressDisplay:
    """The errors of learners along a stream, and their numbers of support vectors.

    The solid line of a learner is its error over the last examples, which rises at a drift and falls as the learner
    follows. The dotted line of the same colour is the error over all examples so far. A second panel below shows the
    number of support vectors, if any learner has some.

    Parameters
    ----------
    records : a dict {name of a learner: list of the records that `onkel.progressive_validation` yields}.
    drifts : the examples at which the stream is known to change, drawn as vertical lines. Default (): none.
    baselines : a dict {name: error}, drawn as horizontal lines; `from_records` also takes the result of
        `onkel.evaluate.baselines`. None (default): none.
    name : the title. None (default): no title.

    Cost: three points for each record.

    >>> from onkel import Perceptron, progressive_validation
    >>> from onkel.data import drifting
    >>> from onkel.plot import ProgressDisplay
    >>> records = progressive_validation(Perceptron(), drifting(3000, random_state=0), chunk=100)
    >>> ProgressDisplay.from_records({"a line": records}).lines_["a line"].get_xdata().tolist()
    [1000, 2000, 3000]

    Source: the Display objects of scikit-learn; Gama, Sebastião and Rodrigues 2013, On evaluating stream
    learning algorithms.
    """

    def __init__(
        self,
        records: Mapping[str, Sequence[Progress]],
        *,
        drifts: Iterable[float] = (),
        baselines: Any = None,
        name: str | None = None,
    ) -> None:
        self.records = records
        self.drifts = drifts
        self.baselines = baselines
        self.name = name

    @classmethod
    def from_records(
        cls,
        records: Mapping[str, Iterable[Progress]] | Iterable[Progress],
        *,
        drifts: Iterable[float] = (),
        baselines: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draws the records of one learner or of several learners.

        Parameters
        ----------
        records : a dict {name of a learner: its records}, or the records of a single learner without a name. The
            iterator that `onkel.progressive_validation` returns can be given itself; it is read to its end.
        drifts : the examples at which the stream is known to change, drawn as vertical lines. Default (): none.
        baselines : horizontal lines: a dict {name: error}, or the result of `onkel.evaluate.baselines`. None (default):
            none.
        name : the title. None (default): no title.
        ax : matplotlib axes for the errors. None (default): a new figure.
        options : passed to `plot`.
        """
        who = f"{cls.__name__}.from_records"
        named = records if isinstance(records, Mapping) else {"": records}
        kept = {str(learner): _records(found, who) for learner, found in named.items()}
        if not kept:
            raise InputError(f"{who}: records must hold at least one learner; got none.")
        if len({found[0].mistakes is None for found in kept.values()}) > 1:
            raise InputError(f"{who}: records must be all of classifiers or all of regressors; got both.")
        given = baselines._asdict() if hasattr(baselines, "_asdict") else dict(baselines or {})
        return cls(kept, drifts=tuple(drifts), baselines=given, name=name).plot(ax, **options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        support_ax: Axes | None = None,
        colors: Sequence[Any] = COLORS,
        running: bool = True,
        legend: bool = True,
        line_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draws the errors and the numbers of support vectors.

        Parameters
        ----------
        ax : matplotlib axes for the errors. None (default): a new figure, with a second panel for the support vectors
            if any learner has some and `support_ax` is None.
        support_ax : matplotlib axes for the numbers of support vectors. None (default): with `ax` given, they are not
            drawn.
        colors : colours of the learners, in their order; they are repeated if there are more learners. Default: six
            colours that colour-blind readers can tell apart.
        running : whether to draw the errors over all examples so far. Default True.
        legend : whether to draw a legend with the names of the learners. Default True.
        line_kw : further arguments for matplotlib's `plot` of the solid lines, such as linewidth. None (default): none.

        The drawn objects are kept in `ax_`, `support_ax_` (None without one), `figure_`, `drift_lines_` (a list) and
        the dicts `lines_`, `running_lines_`, `support_lines_` and `baseline_lines_`, by name.
        """
        if ax is None:
            wanted = support_ax is None and any(found[-1].support is not None for found in self.records.values())
            ax, support_ax = _panels() if wanted else (drawing_axes(None), support_ax)
        self.lines_: dict[str, Any] = {}
        self.running_lines_: dict[str, Any] = {}
        self.support_lines_: dict[str, Any] = {}
        for i, (learner, records) in enumerate(self.records.items()):
            color, x = colors[i % len(colors)], np.array([r.examples for r in records])
            style: dict[str, Any] = {"color": color, "linewidth": 1.8, "label": learner or None} | (line_kw or {})
            (self.lines_[learner],) = ax.plot(x, [r.window_error for r in records], **style)
            if running:
                thin = {"color": color, "linewidth": 1.2, "linestyle": ":"}
                (self.running_lines_[learner],) = ax.plot(x, [r.error for r in records], **thin)
            if support_ax is not None and records[-1].support is not None:
                sizes = [np.nan if r.support is None else r.support for r in records]
                (self.support_lines_[learner],) = support_ax.plot(x, sizes, color=color, linewidth=1.8)
        panels = [ax] if support_ax is None else [ax, support_ax]
        self.drift_lines_ = [
            p.axvline(t, color=ZERO, linewidth=1.0, linestyle="--") for t in self.drifts for p in panels
        ]
        levels = enumerate((self.baselines or {}).items())
        self.baseline_lines_ = {str(name): _draw_level(ax, str(name), level, i % 2) for i, (name, level) in levels}
        self._set_scales(panels)
        if legend and any(self.lines_):
            ax.legend(loc="best", framealpha=0.8, edgecolor="none")
        set_title(ax, self.name)
        self.ax_, self.support_ax_, self.figure_ = ax, support_ax, ax.figure
        return self

    def _set_scales(self, panels: list[Axes]) -> None:
        """Labels the axes, and lets both scales start at 0."""
        mistakes = next(iter(self.records.values()))[0].mistakes is not None
        for panel, label in zip(
            panels, ["mistake rate" if mistakes else "mean absolute error", "support"], strict=False
        ):
            panel.autoscale()  # to include curves that were drawn before
            panel.set(ylabel=label, ylim=(0, panel.get_ylim()[1]), xlim=(0, panel.get_xlim()[1]))
            panel.spines[["top", "right"]].set_visible(False)
        panels[-1].set_xlabel("examples")


def _records(records: Iterable[Progress], who: str) -> list[Progress]:
    """The records of one learner as a checked list."""
    kept = list(records)
    if not kept:
        raise InputError(f"{who}: each learner must have at least one record; got none.")
    if not all(hasattr(record, "window_error") for record in kept):
        raise KindError(f"{who}: records must be what onkel.progressive_validation yields; got {kept[0]!r}.")
    return kept


def _panels() -> tuple[Axes, Axes]:
    """A new figure with two panels that share their x axis: a high one for errors, and a low one below it."""
    first = drawing_axes(None)
    figure = first.figure
    first.remove()
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    return upper, lower


def _draw_level(ax: Axes, name: str, level: float, end: int) -> Any:
    """Draws a horizontal line, with its name above its left end (`end` = 0) or right end (1): lines may be close."""
    line = ax.axhline(level, color=ZERO, linewidth=1.0)
    text = f"{name.replace('_', ' ')} {level:.3g}"
    place = ax.get_yaxis_transform()
    style: dict[str, Any] = {"ha": ("left", "right")[end], "color": ZERO, "fontsize": "small"}
    ax.annotate(text, (0.01 + 0.98 * end, level), (0, 2), place, "offset points", **style)
    return line
