"""Colours, axes and titles of all pictures."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes


__all__ = ["COLORS", "NEGATIVE", "POSITIVE", "ZERO", "drawing_axes", "set_title"]

# Blue, orange and grey, and more, that colour-blind readers tell apart (Okabe and Ito 2008).
POSITIVE, NEGATIVE, ZERO = "#0072B2", "#D55E00", "#8A8A8A"


COLORS = (POSITIVE, NEGATIVE, "#009E73", "#CC79A7", "#E69F00", "#56B4E9")


def drawing_axes(ax: Axes | None) -> Axes:
    """The given axes, or new ones."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('onkel.plot draws with matplotlib, which is missing: pip install "onkel[plot]"') from error
    return plt.subplots(layout="constrained")[1] if ax is None else ax


def set_title(ax: Axes, *lines: str | None) -> None:
    """The lines that are there, long ones wrapped."""
    wrapped = [part for line in lines if line for part in textwrap.wrap(line, 60)]
    if wrapped:
        ax.set_title("\n".join(wrapped), fontsize="medium")
