"""What is private to the kernel perceptron and yet tested: the two modules of its learner, its norms, its draw."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from onkel.learners.perceptron import kernel as kernel_perceptron
from onkel.learners.perceptron import kernel_epochs as kernel_perceptron_epochs

MODULES = (kernel_perceptron, kernel_perceptron_epochs)


def patch_learner(monkeypatch: pytest.MonkeyPatch, name: str, value: Any) -> None:
    """Sets a constant or a function of the learner, such as CHUNK, wherever it is used."""
    modules = [module for module in MODULES if hasattr(module, name)]
    assert modules, f"no module of the kernel perceptron has {name}"
    for module in modules:
        monkeypatch.setattr(module, name, value)


def sq_norms(machine: Any, *, by_class: bool = False) -> NDArray[np.float64]:
    """‖v‖² of the last guess of every output, in the order of the learner or, `by_class`, of `classes_`."""
    found: NDArray[np.float64] = machine._running.learner.sq_norms
    return found[machine._running.targets.order] if by_class else found


def drawn_round(machine: Any, rounds: int) -> int:
    """The round whose guess is the "random" hypothesis."""
    return 1 + int(machine._draw * rounds)
