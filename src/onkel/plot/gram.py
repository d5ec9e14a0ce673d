"""Plots of Gram matrices and of their eigenvalues."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from onkel import gram as doctor
from onkel.checks import check_square
from onkel.errors import KindError, ShapeError
from onkel.kernels import Kernel
from onkel.plot.style import NEGATIVE, POSITIVE, ZERO, drawing_axes, set_title

if TYPE_CHECKING:
    from matplotlib.axes import Axes


__all__ = ["GramDisplay", "SpectrumDisplay"]

NAMES = 30  # class names along an axis, and letters of unrotated names, that fit without overlapping


class GramDisplay:
    """A Gram matrix as a picture: the pixel in row i and column j is coloured by K_ij.

    With classes, rows are sorted by class: a kernel that fits the task shows bright squares along the diagonal. Zero is
    drawn in the darkest colour if no value is negative; otherwise it is white, negative values are blue and positive
    ones red.

    Parameters
    ----------
    gram : square matrix (n, n), its rows in the order in which they are drawn.
    order : the index of each drawn row in the original data, shape (n,). It is not drawn. None (default): unknown.
    classes : the classes, in the order of the rows. None (default): no classes are drawn.
    counts : the number of rows of each class. None (default): no classes are drawn.
    name : the title, such as the repr of the kernel. None (default): no title.

    Cost: n² values; the picture has no more pixels than the figure.

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
        """Draws a Gram matrix.

        Parameters
        ----------
        K : square matrix (n, n).
        y : the class of each row, shape (n,); rows and columns are then sorted by class. None (default): as they are.
        name : the title. None (default): no title.
        ax : matplotlib axes. None (default): a new figure.
        options : passed to `plot`.
        """
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
        """Draws the Gram matrix kernel(X), with the repr of the kernel as the title.

        Parameters
        ----------
        kernel : a kernel object such as ``RBF(gamma=1.0)``.
        X : n rows that the kernel takes.
        y : the class of each row, shape (n,); rows and columns are then sorted by class. None (default): as they are.
        ax : matplotlib axes. None (default): a new figure.
        options : passed to `plot`.
        """
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
        """Draws the matrix.

        Parameters
        ----------
        ax : matplotlib axes. None (default): a new figure.
        cmap : colour map. None (default): "magma" if no value is negative, otherwise "RdBu_r" with white at 0.
        colorbar : whether to draw the colour scale beside the matrix. Default True.
        border_color : colour of the lines between classes. None (default): white if no value is negative, else grey.
        im_kw : further arguments for matplotlib's `imshow`, such as vmin and vmax. None (default): none.

        The drawn objects are kept in `ax_`, `figure_`, `image_`, `colorbar_` (None without one) and `borders_`.
        """
        ax = drawing_axes(ax)
        signed = bool(self.gram.min() < 0)
        top = float(np.abs(self.gram).max()) or 1.0
        options: dict[str, Any] = {"vmin": -top if signed else 0.0, "vmax": top} | (im_kw or {})
        if "norm" in options:  # a norm has limits of its own
            del options["vmin"], options["vmax"]
        self.image_ = ax.imshow(self.gram, cmap=cmap or ("RdBu_r" if signed else "magma"), **options)
        self.borders_ = self._draw_borders(ax, border_color or ("0.2" if signed else "white"))
        for spine in ax.spines.values():
            spine.set_visible(False)
        set_title(ax, self.name)
        self.ax_, self.figure_ = ax, ax.figure
        self.colorbar_ = self.figure_.colorbar(self.image_, ax=ax, label="k(x, z)") if colorbar else None
        if self.colorbar_ is not None:
            self.colorbar_.outline.set_visible(False)
        return self

    def _draw_borders(self, ax: Axes, color: Any) -> list[Any]:
        """Draws lines between the classes, and the name of each class at the middle of its rows; returns the lines."""
        if self.classes is None or self.counts is None:
            ax.set(xlabel="column", ylabel="row")
            ax.locator_params(integer=True, min_n_ticks=1)
            return []
        ends = np.cumsum(self.counts)
        width = 1.2 if len(ends) <= NAMES else 0.5
        lines = [draw(e - 0.5, color=color, linewidth=width) for e in ends[:-1] for draw in (ax.axhline, ax.axvline)]
        named = slice(None, None, -(-len(ends) // NAMES))  # every class, or every second, third …
        middles = (ends - 0.5 * self.counts - 0.5)[named]
        names = [str(c) for c in self.classes[named]]
        ax.set_yticks(middles, names)
        ax.set_xticks(middles, names, rotation=90 if sum(map(len, names)) > NAMES else 0)
        ax.tick_params(length=0)
        return lines


class SpectrumDisplay:
    """The eigenvalues of a Gram matrix, the largest first, on a scale that shows tiny and negative ones, too.

    If the eigenvalues span more than two decades, the scale is logarithmic on both sides of the band |λ| ≤ tol, in
    which eigenvalues cannot be told from rounding errors. Dots inside the band count as zeros, dots outside it count
    towards the rank, and dots below it prove that the matrix is not valid.

    Parameters
    ----------
    eigenvalues : all eigenvalues, in any order, shape (n,). `onkel.gram.check` computes them, and a `tol` for them.
    tol : an eigenvalue with |λ| ≤ tol counts as zero; ≥ 0, default 0.0.
    name : the first line of the title, such as the repr of the kernel. None (default): no such line.

    Cost: n dots; `from_gram` and `from_kernel` also call `onkel.gram.check`, about 4n³/3 operations.

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
        """Draws the eigenvalues of the symmetric part of K.

        Parameters
        ----------
        K : square matrix (n, n).
        tol : an eigenvalue with |λ| ≤ tol counts as zero. None (default): the estimate of `onkel.gram.check`.
        name : the first line of the title. None (default): no such line.
        ax : matplotlib axes. None (default): a new figure.
        options : passed to `plot`.
        """
        report = doctor.check(K, tol)
        return cls(report.eigenvalues, tol=report.tol, name=name).plot(ax, **options)

    @classmethod
    def from_kernel(
        cls, kernel: Kernel, X: Any, *, tol: float | None = None, ax: Axes | None = None, **options: Any
    ) -> Self:
        """Draws the eigenvalues of the Gram matrix kernel(X), with the repr of the kernel in the title.

        Parameters
        ----------
        kernel : a kernel object such as ``RBF(gamma=1.0)``.
        X : n rows that the kernel takes.
        tol : an eigenvalue with |λ| ≤ tol counts as zero. None (default): the estimate of `onkel.gram.check`.
        ax : matplotlib axes. None (default): a new figure.
        options : passed to `plot`.
        """
        K = _gram_of(kernel, X, f"{cls.__name__}.from_kernel")
        return cls.from_gram(K, tol=tol, name=repr(kernel), ax=ax, **options)

    @property
    def rank(self) -> int:
        """The number of eigenvalues with |λ| > tol."""
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
        """Draws the eigenvalues.

        Parameters
        ----------
        ax : matplotlib axes. None (default): a new figure.
        color, negative_color, zero_color : colours of the eigenvalues above tol (default blue), below −tol (default
            orange), and between (default grey).
        legend : whether to show how many eigenvalues there are of each kind. Default True.

        The drawn objects are kept in `ax_`, `figure_` and `points_` (a list, the dots of each kind that occurs).
        """
        ax = drawing_axes(ax)
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
        set_title(ax, self.name, finding + (": not valid" if values[-1] < -tol else ""))
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _set_scale(self, ax: Axes, zero_color: Any) -> None:
        """A linear scale if all eigenvalues outside ±tol are within two decades, otherwise a logarithmic one."""
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
    """Ticks: 0, and about a dozen evenly spaced powers of ten from 3 tol outwards on either side."""
    first = int(np.ceil(np.log10(3 * tol)))
    up, down = (int(np.floor(np.log10(max(top, tol)))) for top in (high, -low))
    step = max(1, round((max(0, up - first) + max(0, down - first)) / 10))
    positive, negative = ([10.0**p for p in range(first, last + 1) if p % step == 0] for last in (up, down))
    return [*(-t for t in negative), 0.0, *positive]


def _gram_of(kernel: Kernel, X: Any, who: str) -> NDArray[Any]:
    """kernel(X), after checking that `kernel` is a kernel."""
    if not isinstance(kernel, Kernel):
        raise KindError(f"{who}: kernel must be a Kernel such as RBF(gamma=1.0); got {kernel!r}.")
    return kernel(X)


def _classes(y: Any, n: int, who: str) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The distinct classes, sorted, and the index of each row's class among them."""
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise ShapeError(f"{who}: y must give one class per row, shape ({n},); got shape {labels.shape}.")
    try:
        classes, numbers = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise KindError(f"{who}: y must hold classes of one kind, all numbers or all strings; {error}.") from error
    return classes, numbers
