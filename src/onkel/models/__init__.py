"""Models: the frozen results of learning, which turn rows into scores.

A model is a kernel expansion, a linear function or a vote that computes a score for each row and output, and that never
changes, so that several threads can predict with it at once. A learner changes with every example, and its estimator
builds a new model when it has learned something. Models over support vectors are equal if their kernels, their support
vectors and their arrays are equal; a `LinearModel` is equal to itself only.
"""

from onkel.models.expansion import Expansion
from onkel.models.linear import LinearModel
from onkel.models.model import Contribution
from onkel.models.one_vs_one import OneVsOne
from onkel.models.vote import Vote

__all__ = ["Contribution", "Expansion", "LinearModel", "OneVsOne", "Vote"]
