"""The two modules of the kernel perceptron's learner, and a helper that patches a name in both at once."""

from __future__ import annotations

from typing import Any

import pytest

from onkel.learners import kernel_perceptron, kernel_perceptron_epochs

MODULES = (kernel_perceptron, kernel_perceptron_epochs)


def patch_learner(monkeypatch: pytest.MonkeyPatch, name: str, value: Any) -> None:
    """Sets a constant or a function of the learner, such as CHUNK, wherever it is used."""
    modules = [module for module in MODULES if hasattr(module, name)]
    assert modules, f"no module of the kernel perceptron has {name}"
    for module in modules:
        monkeypatch.setattr(module, name, value)
