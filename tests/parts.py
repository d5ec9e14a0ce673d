"""A learner without an estimator: learning from a chunk, part by part."""

from __future__ import annotations

import numpy as np

from onkel.kernels.rows import Rows
from onkel.learners.learner import Floats, Ints, Learner

__all__ = ["learn_in_parts"]


def learn_in_parts(learner: Learner, rows: Rows, targets: Floats, weights: Floats, row_ids: Ints) -> Floats:
    """Learns from a chunk part by part, as an estimator does; returns the scores before each example was learned."""
    scores, start = np.empty(targets.shape), 0
    while start < len(rows):
        part = slice(start, start + learner.part_size(rows, len(rows) - start))
        scores[part] = learner.learn(rows[part], targets[part], weights[part], row_ids[part])
        start = part.stop
    return scores
