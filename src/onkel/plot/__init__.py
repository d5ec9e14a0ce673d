"""Plots, in scikit-learn's Display convention.

    GramDisplay        a Gram matrix as a picture
    SpectrumDisplay    the eigenvalues of a Gram matrix
    MistakesDisplay    mistakes against rounds, with the bound of a theorem
    AlphaPathDisplay   the score of each alpha of a ridge regression
    ProgressDisplay    the error and the number of support vectors along a stream

A Display holds the data of a plot. Class methods such as ``from_gram`` make one and draw it at once; a Display that was
made with the constructor is drawn by ``plot``, which can also draw it again on other axes. The matplotlib objects stay
available in attributes such as `ax_` and `figure_`, so that you can change them. matplotlib is imported only when
something is drawn: ``pip install "onkel[plot]"``.
"""

from onkel.plot.alphas import AlphaPathDisplay
from onkel.plot.gram import GramDisplay, SpectrumDisplay
from onkel.plot.mistakes import MistakesDisplay
from onkel.plot.progress import ProgressDisplay

__all__ = ["AlphaPathDisplay", "GramDisplay", "MistakesDisplay", "ProgressDisplay", "SpectrumDisplay"]
