"""Evaluation of learners on streams.

progressive_validation    predicts each example, then learns from it, and yields the error so far
baselines                 the error of predictions that ignore x
memory                    the bytes that an estimator holds

No file here has the name of a public function, since `onkel.evaluate.memory` could not be both.
"""

from onkel.evaluate.model_memory import memory
from onkel.evaluate.validation import Baselines, Progress, baselines, progressive_validation

__all__ = ["Baselines", "Progress", "baselines", "memory", "progressive_validation"]
