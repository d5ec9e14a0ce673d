"""Epochs: repeated passes over a data set, by a learner that visits one example after the other.

What an epoch does is an object with a method `run`. That of `onkel.estimators.online.fitting` suits every learner;
`onkel.learners.perceptron.kernel_epochs` has a faster one for the kernel perceptron.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Epochs"]


class Epochs(Protocol):
    """A data set and a learner, ready to run epochs."""

    @property
    def n_updates(self) -> int:
        """The updates so far."""

    def run(self, order: NDArray[np.int64] | None, progress: Callable[[int], None]) -> int:
        """Runs one epoch, and returns the number of its updates.

        `order` says which row is visited first, second, …; None: in the order of the data. `progress` is called now
        and then with the number of rows visited in this epoch.
        """

    def learner(self) -> Any:
        """The learner that has learned from the epochs so far."""
