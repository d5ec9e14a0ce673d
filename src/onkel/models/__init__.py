"""What learning yields: frozen models, safe to share between threads, compared by content."""

from onkel.models.expansion import Expansion
from onkel.models.linear import LinearModel
from onkel.models.model import Contribution
from onkel.models.one_vs_one import OneVsOne
from onkel.models.vote import Vote

__all__ = ["Contribution", "Expansion", "LinearModel", "OneVsOne", "Vote"]
