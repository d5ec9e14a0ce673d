"""Test-then-train: every example is predicted by the model before it, and then learned from.

    for t = 1, 2, …:   ŷ = predict(xₜ);   mistakes += ŷ ≠ yₜ;   learn(xₜ, yₜ)

So every example tests once, on a model that has not seen it, and no data is held out. The running rate
forgets nothing; the rate over the last `window` examples shows a drift as it happens.

Source: Dawid 1984, prequential analysis; Gama, Sebastião and Rodrigues 2013, On evaluating stream
learning algorithms.
"""

from onkel.evaluate.model_memory import memory
from onkel.evaluate.validation import Baselines, Progress, baselines, progressive_validation

__all__ = ["Baselines", "Progress", "baselines", "memory", "progressive_validation"]
