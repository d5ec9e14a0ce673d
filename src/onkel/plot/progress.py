"""Learners on a stream: their error and their support over time."""

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
    """How learners get on with a stream: their error lately and all along, and their support.

    The solid line is the error over the last examples, which climbs at a drift and falls as the learner
    follows; the dotted one of the same colour is the running error, which forgets nothing. Below, where
    there are support vectors, their number.

    Parameters
    ----------
    records : {name of a learner: its records}, as `onkel.progressive_validation` yields them.
    drifts : the examples at which the stream is known to change, drawn as vertical lines.
    baselines : {name: error}, or what `onkel.evaluate.baselines` gives, drawn as horizontal lines.
    name : the title.

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
        """Draws the records of one learner, or of several by their names; `options` go to `plot`.

        Records that are still to come, as from `progressive_validation` itself, are waited for.
        """
        who = f"{cls.__name__}.from_records"
        named = records if isinstance(records, Mapping) else {"": records}
        kept = {str(learner): _records(some, who) for learner, some in named.items()}
        if not kept:
            raise InputError(f"{who}: records must hold at least one learner; got none.")
        if len({some[0].mistakes is None for some in kept.values()}) > 1:
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
        """Draws on `ax`, or on a new figure with a panel for the support where there is any.

        Parameters
        ----------
        ax, support_ax : matplotlib axes of the errors and of the support; with `ax` alone, the support is not drawn.
        colors : of the learners, one after the other, from the first again where they do not suffice.
        running : whether to draw the running errors, too.
        legend : whether to name the learners.
        line_kw : further arguments of matplotlib's `plot` for the errors lately, such as linewidth.

        Afterwards `ax_`, `support_ax_` (or None), `figure_`, `drift_lines_`, and by their names `lines_`,
        `running_lines_`, `support_lines_` and `baseline_lines_` hold what was drawn.
        """
        if ax is None:
            wanted = support_ax is None and any(some[-1].support is not None for some in self.records.values())
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
        mistakes = next(iter(self.records.values()))[0].mistakes is not None
        for panel, label in zip(
            panels, ["mistake rate" if mistakes else "mean absolute error", "support"], strict=False
        ):
            panel.autoscale()  # over what was there before, too
            panel.set(ylabel=label, ylim=(0, panel.get_ylim()[1]), xlim=(0, panel.get_xlim()[1]))
            panel.spines[["top", "right"]].set_visible(False)
        panels[-1].set_xlabel("examples")


def _records(records: Iterable[Progress], who: str) -> list[Progress]:
    kept = list(records)
    if not kept:
        raise InputError(f"{who}: each learner must have at least one record; got none.")
    if not all(hasattr(record, "window_error") for record in kept):
        raise KindError(f"{who}: records must be what onkel.progressive_validation yields; got {kept[0]!r}.")
    return kept


def _panels() -> tuple[Axes, Axes]:
    """New axes for errors and, lower, for what else there is to see along the same stream."""
    first = drawing_axes(None)
    figure = first.figure
    first.remove()
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    return upper, lower


def _draw_level(ax: Axes, name: str, level: float, end: int) -> Any:
    """A horizontal line with its name above its left (0) or right (1) end: neighbours may be close."""
    line = ax.axhline(level, color=ZERO, linewidth=1.0)
    text = f"{name.replace('_', ' ')} {level:.3g}"
    place = ax.get_yaxis_transform()
    style: dict[str, Any] = {"ha": ("left", "right")[end], "color": ZERO, "fontsize": "small"}
    ax.annotate(text, (0.01 + 0.98 * end, level), (0, 2), place, "offset points", **style)
    return line
