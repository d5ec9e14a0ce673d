"""Colours, axes and titles that all plots share."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes


__all__ = ["COLORS", "NEGATIVE", "POSITIVE", "ZERO", "drawing_axes", "set_title"]

# Blue, orange, grey and further colours that colour-blind readers can tell apart (Okabe and Ito 2008).
POSITIVE, NEGATIVE, ZERO = "#0072B2", "#D55E00", "#8A8A8A"


COLORS = (POSITIVE, NEGATIVE, "#009E73", "#CC79A7", "#E69F00", "#56B4E9")


def drawing_axes(ax: Axes | None) -> Axes:
    """The given axes; None: the axes of a new figure. Without matplotlib, an error says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('onkel.plot draws with matplotlib, which is missing: pip install "onkel[plot]"') from error
    return plt.subplots(layout="constrained")[1] if ax is None else ax


def set_title(ax: Axes, *lines: str | None) -> None:
    """Sets the title from the lines that are not empty or None, wrapped at 60 letters."""
    wrapped = [part for line in lines if line for part in textwrap.wrap(line, 60)]
    if wrapped:
        ax.set_title("\n".join(wrapped), fontsize="medium")
