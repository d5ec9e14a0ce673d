"""Pictures, in scikit-learn's Display convention.

A Display holds what is to be drawn: make one with ``from_gram`` and the like, which draw at
once, or with the constructor, and draw it again on other axes with ``plot``. What was drawn stays
in `ax_`, `figure_` and the like, to be changed as you wish. matplotlib is imported only to draw:
``pip install "onkel[plot]"``.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from onkel import gram as doctor
from onkel.checks import check_square
from onkel.errors import InputError, KindError, ShapeError
from onkel.kernels import Kernel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from onkel.evaluate import Progress
    from onkel.game import Trace

__all__ = ["GramDisplay", "MistakesDisplay", "ProgressDisplay", "SpectrumDisplay"]

# Blue, orange and grey, and more, that colour-blind readers tell apart (Okabe and Ito 2008).
POSITIVE, NEGATIVE, ZERO = "#0072B2", "#D55E00", "#8A8A8A"
COLORS = (POSITIVE, NEGATIVE, "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
NAMES = 30  # of classes along an axis, or letters side by side, before they overlap
DWARFED = 4.0  # a bound beyond so many times the mistakes is told, not drawn


class GramDisplay:
    """A Gram matrix as a picture: row i, column j coloured by K_ij.

    With classes, rows are sorted by class: a kernel that fits the task shows bright squares along
    the diagonal. Zero has a colour of its own: the darkest where no value is negative, white
    between blue and red where some are.

    Parameters
    ----------
    gram : square matrix, its rows in the order to be drawn.
    order : which of the original rows those are, shape (n,); kept for the reader, not drawn.
    classes, counts : the classes and how many rows each has, in the order of the rows.
    name : the title, such as the kernel's repr.

    Cost: n² values; a picture has no more pixels than the figure.

    >>> from onkel.plot import GramDisplay
    >>> display = GramDisplay.from_gram([[1.0, 0.2, 0.9], [0.2, 1.0, 0.3], [0.9, 0.3, 1.0]], y=["b", "a", "b"])
    >>> display.order.tolist(), display.classes.tolist(), display.counts.tolist()
    ([1, 0, 2], ['a', 'b'], [1, 2])

    Source: the Display objects of scikit-learn, such as `sklearn.metrics.ConfusionMatrixDisplay`.
    """

    def __init__(
        self,
        gram: NDArray[Any],
        *,
        order: NDArray[np.intp] | None = None,
        classes: NDArray[Any] | None = None,
        counts: NDArray[np.intp] | None = None,
        name: str | None = None,
    ) -> None:
        self.gram = gram
        self.order = order
        self.classes = classes
        self.counts = counts
        self.name = name

    @classmethod
    def from_gram(
        cls, K: Any, *, y: Any = None, name: str | None = None, ax: Axes | None = None, **options: Any
    ) -> Self:
        """Draws K; with classes y, one per row, sorted by class. `options` go to `plot`."""
        who = f"{cls.__name__}.from_gram"
        matrix = check_square(K, who=who)
        if y is None:
            return cls(matrix.copy(), name=name).plot(ax, **options)
        classes, numbers = _classes(y, len(matrix), who)
        order = np.argsort(numbers, kind="stable")
        matrix, counts = matrix[np.ix_(order, order)], np.bincount(numbers)
        return cls(matrix, order=order, classes=classes, counts=counts, name=name).plot(ax, **options)

    @classmethod
    def from_kernel(cls, kernel: Kernel, X: Any, *, y: Any = None, ax: Axes | None = None, **options: Any) -> Self:
        """Draws kernel(X), under the kernel's name."""
        K = _gram_of(kernel, X, f"{cls.__name__}.from_kernel")
        return cls.from_gram(K, y=y, name=repr(kernel), ax=ax, **options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        cmap: Any = None,
        colorbar: bool = True,
        border_color: Any = None,
        im_kw: dict[str, Any] | None = None,
    ) -> Self:
        """Draws on `ax`, or on a new figure.

        Parameters
        ----------
        ax : matplotlib axes.
        cmap : colour map; "magma" where no value is negative, else "RdBu_r" with white at 0.
        colorbar : whether to draw the scale beside the matrix.
        border_color : of the lines between classes; one that is seen on the colour map.
        im_kw : further arguments of matplotlib's `imshow`, such as vmin and vmax.

        Afterwards `ax_`, `figure_`, `image_`, `colorbar_` (or None) and `borders_` hold what was drawn.
        """
        ax = _axes(ax)
        signed = bool(self.gram.min() < 0)
        top = float(np.abs(self.gram).max()) or 1.0
        options: dict[str, Any] = {"vmin": -top if signed else 0.0, "vmax": top} | (im_kw or {})
        if "norm" in options:  # it brings its own limits
            del options["vmin"], options["vmax"]
        self.image_ = ax.imshow(self.gram, cmap=cmap or ("RdBu_r" if signed else "magma"), **options)
        self.borders_ = self._draw_borders(ax, border_color or ("0.2" if signed else "white"))
        for spine in ax.spines.values():
            spine.set_visible(False)
        _set_title(ax, self.name)
        self.ax_, self.figure_ = ax, ax.figure
        self.colorbar_ = self.figure_.colorbar(self.image_, ax=ax, label="k(x, z)") if colorbar else None
        if self.colorbar_ is not None:
            self.colorbar_.outline.set_visible(False)
        return self

    def _draw_borders(self, ax: Axes, color: Any) -> list[Any]:
        """Lines between the classes, and each class's name at the middle of its rows."""
        if self.classes is None or self.counts is None:
            ax.set(xlabel="column", ylabel="row")
            ax.locator_params(integer=True, min_n_ticks=1)
            return []
        ends = np.cumsum(self.counts)
        width = 1.2 if len(ends) <= NAMES else 0.5
        lines = [draw(e - 0.5, color=color, linewidth=width) for e in ends[:-1] for draw in (ax.axhline, ax.axvline)]
        some = slice(None, None, -(-len(ends) // NAMES))
        middles = (ends - 0.5 * self.counts - 0.5)[some]
        names = [str(c) for c in self.classes[some]]
        ax.set_yticks(middles, names)
        ax.set_xticks(middles, names, rotation=90 if sum(map(len, names)) > NAMES else 0)
        ax.tick_params(length=0)
        return lines


class SpectrumDisplay:
    """The eigenvalues of a Gram matrix, the largest first, on a scale that shows tiny and negative ones.

    The scale is logarithmic on both sides of a band around 0, |λ| ≤ tol, that rounding fills: dots
    in the band are zeros, dots above it count towards the rank, and dots below it prove that the
    matrix is not valid.

    Parameters
    ----------
    eigenvalues : all of them, in any order.
    tol : ≥ 0, the size up to which one counts as zero: `onkel.gram.check` gives both.
    name : the title's first line, such as the kernel's repr.

    Cost: that of `onkel.gram.check`, about 4n³/3 operations, and n dots.

    >>> from onkel.plot import SpectrumDisplay
    >>> SpectrumDisplay.from_gram([[1.0, 2.0], [2.0, 1.0]]).ax_.get_title()
    'rank 2 of 2, smallest eigenvalue -1: not valid'

    Source: the Display objects of scikit-learn, such as `sklearn.metrics.RocCurveDisplay`.
    """

    def __init__(self, eigenvalues: NDArray[np.float64], *, tol: float = 0.0, name: str | None = None) -> None:
        self.eigenvalues = np.sort(eigenvalues)[::-1]
        self.tol = tol
        self.name = name

    @classmethod
    def from_gram(
        cls, K: Any, *, tol: float | None = None, name: str | None = None, ax: Axes | None = None, **options: Any
    ) -> Self:
        """Draws the spectrum of K (of its symmetric part); `options` go to `plot`."""
        report = doctor.check(K, tol)
        return cls(report.eigenvalues, tol=report.tol, name=name).plot(ax, **options)

    @classmethod
    def from_kernel(
        cls, kernel: Kernel, X: Any, *, tol: float | None = None, ax: Axes | None = None, **options: Any
    ) -> Self:
        """Draws the spectrum of kernel(X), under the kernel's name."""
        K = _gram_of(kernel, X, f"{cls.__name__}.from_kernel")
        return cls.from_gram(K, tol=tol, name=repr(kernel), ax=ax, **options)

    @property
    def rank(self) -> int:
        """Eigenvalues beyond ±tol."""
        return int(np.count_nonzero(np.abs(self.eigenvalues) > self.tol))

    def plot(
        self,
        ax: Axes | None = None,
        *,
        color: Any = POSITIVE,
        negative_color: Any = NEGATIVE,
        zero_color: Any = ZERO,
        legend: bool = True,
    ) -> Self:
        """Draws on `ax`, or on a new figure.

        Parameters
        ----------
        ax : matplotlib axes.
        color, negative_color, zero_color : of the eigenvalues above tol, below −tol, and between.
        legend : whether to say how many there are of each.

        Afterwards `ax_`, `figure_` and `points_`, the dots of each kind that occurs, hold what was drawn.
        """
        ax = _axes(ax)
        values, tol = self.eigenvalues, self.tol
        place = np.arange(1, len(values) + 1)
        size = float(np.clip(120 / len(values), 2.5, 6.0))
        kinds = {
            "positive": (values > tol, color),
            f"zero (within {tol:.1g})": (np.abs(values) <= tol, zero_color),
            "negative": (values < -tol, negative_color),
        }
        self.points_ = []
        for kind, (chosen, shade) in kinds.items():
            if chosen.any():
                label = f"{np.count_nonzero(chosen)} {kind}"
                self.points_ += ax.plot(place[chosen], values[chosen], "o", color=shade, markersize=size, label=label)
        self._set_scale(ax, zero_color)
        ax.set(xlabel="number, largest first", ylabel="eigenvalue")
        ax.locator_params(axis="x", integer=True, min_n_ticks=1)
        ax.spines[["top", "right"]].set_visible(False)
        if legend:
            ax.legend(frameon=False, loc="upper right", markerscale=6.0 / size)
        finding = f"rank {self.rank} of {len(values)}, smallest eigenvalue {values[-1]:.3g}"
        _set_title(ax, self.name, finding + (": not valid" if values[-1] < -tol else ""))
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _set_scale(self, ax: Axes, zero_color: Any) -> None:
        """Linear within two decades, logarithmic beyond, on both sides of the band ±tol if need be."""
        high, low, tol = float(self.eigenvalues[0]), float(self.eigenvalues[-1]), self.tol
        sizes = np.abs(self.eigenvalues)
        linear = sizes[sizes > tol].min(initial=np.inf) >= 0.01 * sizes.max()
        if low > tol:
            ax.set(**({"ylim": (0.0, None)} if linear else {"yscale": "log"}))
            return
        ax.axhline(0.0, color=zero_color, linewidth=0.8)
        if not linear and tol > 0:
            ax.axhspan(-tol, tol, color=zero_color, alpha=0.15, linewidth=0)
            ax.set_yscale("symlog", linthresh=tol, linscale=0.5)
            ax.set_yticks(_decades(low, high, tol))
            ax.yaxis.minorticks_off()


def _decades(low: float, high: float, tol: float) -> list[float]:
    """0 and about a dozen powers of ten, evenly apart, from 3 tol outwards on either side."""
    first = int(np.ceil(np.log10(3 * tol)))
    up, down = (int(np.floor(np.log10(max(top, tol)))) for top in (high, -low))
    step = max(1, round((max(0, up - first) + max(0, down - first)) / 10))
    positive, negative = ([10.0**p for p in range(first, last + 1) if p % step == 0] for last in (up, down))
    return [*(-t for t in negative), 0.0, *positive]


class MistakesDisplay:
    """Mistakes against rounds, as a staircase, and the bound that a theorem sets them.

    A curve that flattens has learned; one that climbs steadily has not. The bound is a line where it
    is within four times the mistakes, and else told in the title, so that the curve keeps its room.

    Parameters
    ----------
    rounds : the rounds, counted from 1, in which mistakes happened, ascending; one that occurs twice
        was a mistake of two machines.
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
        """Draws what a fitted online estimator remembers: the mistakes of all its machines, and their certificate."""
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
        ax = _axes(ax)
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
        _set_title(ax, self.name, finding)
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
            ax, support_ax = _panels() if wanted else (_axes(None), support_ax)
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
        _set_title(ax, self.name)
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
    first = _axes(None)
    figure = first.figure
    first.remove()
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=[3, 1])
    return upper, lower


def _draw_level(ax: Axes, name: str, level: float, end: int) -> Any:
    """A horizontal line with its name above its left (0) or right (1) end: neighbours may be close."""
    line = ax.axhline(level, color=ZERO, linewidth=1.0)
    told = f"{name.replace('_', ' ')} {level:.3g}"
    place = ax.get_yaxis_transform()
    style: dict[str, Any] = {"ha": ("left", "right")[end], "color": ZERO, "fontsize": "small"}
    ax.annotate(told, (0.01 + 0.98 * end, level), (0, 2), place, "offset points", **style)
    return line


# ---------------------------------------------------------------- what all need


def _axes(ax: Axes | None) -> Axes:
    """The given axes, or new ones."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('onkel.plot draws with matplotlib, which is missing: pip install "onkel[plot]"') from error
    return plt.subplots(layout="constrained")[1] if ax is None else ax


def _gram_of(kernel: Kernel, X: Any, who: str) -> NDArray[Any]:
    if not isinstance(kernel, Kernel):
        raise KindError(f"{who}: kernel must be a Kernel such as RBF(gamma=1.0); got {kernel!r}.")
    return kernel(X)


def _classes(y: Any, n: int, who: str) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The distinct classes, sorted, and the number of each row's class."""
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise ShapeError(f"{who}: y must give one class per row, shape ({n},); got shape {labels.shape}.")
    try:
        classes, numbers = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise KindError(f"{who}: y must hold classes of one kind, all numbers or all strings; {error}.") from error
    return classes, numbers


def _set_title(ax: Axes, *lines: str | None) -> None:
    """The lines that are there, long ones wrapped."""
    wrapped = [part for line in lines if line for part in textwrap.wrap(line, 60)]
    if wrapped:
        ax.set_title("\n".join(wrapped), fontsize="medium")
