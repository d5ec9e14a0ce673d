"""Evaluation of learners on streams, and measures of rankings and of tags.

progressive_validation    predicts each example, then learns from it, and yields the error so far
baselines                 the error of predictions that ignore x
memory                    the bytes that an estimator holds
ndcg, mean_average_precision, mean_reciprocal_rank    how well scores order the items of queries
conll_f1, tag_confusion   precision, recall and F1 of tagged entities; which tags are taken for which

No file here has the name of a public function, since `onkel.evaluate.memory` could not be both.
"""

from onkel.evaluate.model_memory import memory
from onkel.evaluate.validation import Baselines, Progress, baselines, progressive_validation
from onkel.metrics.entities import EntityCounts, EntityScores, TagConfusion, conll_f1, tag_confusion
from onkel.metrics.ranking import mean_average_precision, mean_reciprocal_rank, ndcg

__all__ = [
    "Baselines",
    "EntityCounts",
    "EntityScores",
    "Progress",
    "TagConfusion",
    "baselines",
    "conll_f1",
    "mean_average_precision",
    "mean_reciprocal_rank",
    "memory",
    "ndcg",
    "progressive_validation",
    "tag_confusion",
]
