"""Pictures, in scikit-learn's Display convention.

A Display holds what is to be drawn: make one with ``from_gram`` and the like, which draw at
once, or with the constructor, and draw it again on other axes with ``plot``. What was drawn stays
in `ax_`, `figure_` and the like, to be changed as you wish. matplotlib is imported only to draw:
``pip install "onkel[plot]"``.
"""

from onkel.plot.gram import GramDisplay, SpectrumDisplay
from onkel.plot.mistakes import MistakesDisplay
from onkel.plot.progress import ProgressDisplay

__all__ = ["GramDisplay", "MistakesDisplay", "ProgressDisplay", "SpectrumDisplay"]
