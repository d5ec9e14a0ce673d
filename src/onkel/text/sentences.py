"""What every batch of sentences has, whatever form its tokens have.

TokenFeatures     features with ids                       (onkel.text.token_features)
TokenVectors      vectors, for a kernel                   (onkel.models.tagging.kernel_tokens)
MarkovSentences   as the user gave them, for a function   (onkel.models.tagging.markov_tokens)
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Sentences"]


class Sentences(Protocol):
    """Some sentences, as one reader gives them and as the learners and scorers of the same form take them."""

    @property
    def starts(self) -> NDArray[np.int64]:
        """Where each sentence begins, in tokens, and the end of the last one, shape (sentences + 1,)."""

    def part(self, first: int, last: int) -> Sentences:
        """The sentences first … last − 1."""
