"""The theorem of the structured perceptron, and the certificate of a fit of a tagger.

An update adds z = Φ(x, y) − Φ(x, ŷ), where ŷ is the labelling that was found, and is made only if v·z ≤ 0. So the
proofs in `onkel.bounds.theorems` hold with z in the place of y φ(x): if u gives every sentence's labels a score that is
larger by δ than that of any other labelling, there are at most R/δ² updates, where R is the largest ‖z‖². With a margin
m an update may have v·z up to m·N for a sentence of N tokens, so that ‖v‖² grows by up to R + 2mN, and the bound is (R
+ 2mN)/δ².
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from onkel.bounds.theorems import SEPARABLE, Certificate, Theorem, certify
from onkel.learners.tagging.learner import TagLearner
from onkel.models.tagging.viterbi import k_best
from onkel.text.sentences import Sentences

__all__ = ["certify_tagging_fit", "structured_theorem"]

SCORED_AT_ONCE = 256  # sentences whose scores are in memory at a time


def structured_theorem(margin: float, longest: int, radius_sq: float) -> Theorem:
    """The theorem for updates with ‖z‖² ≤ radius_sq, and sentences of up to `longest` tokens.

    [Collins 2002, theorem 1; without a margin it is the perceptron's own.]
    """
    if margin == 0 or radius_sq == 0:
        return SEPARABLE
    more = (radius_sq + 2 * margin * longest) / radius_sq
    constants = (("m", margin), ("N", float(longest)))
    return Theorem("sequences", lambda B, slack, squares: more * B * B, separable=True, constants=constants)


def certify_tagging_fit(learner: TagLearner, sentences: Sentences, y: NDArray[np.int32], epochs: int) -> Certificate:
    """The certificate of a fit whose last epoch made no update, with the last guess as the comparator.

    The margin of a sentence is the score of its labels less that of the best other labelling, found by 2-best Viterbi.
    A sentence with a single labelling has none.
    """
    margins, n = [], len(sentences.starts) - 1
    for first in range(0, n, SCORED_AT_ONCE):
        part = sentences.part(first, min(n, first + SCORED_AT_ONCE))
        begin = int(sentences.starts[first])
        for one in learner.lattice(part, averaged=False).sentences():
            labels, begin = y[begin : begin + len(one.E)], begin + len(one.E)
            [(ys, scores)] = k_best(one, 2)
            if len(ys) > 1:
                found_first = np.array_equal(ys[0], labels)
                margins.append(scores[0] - scores[1] if found_first else float(one.score(labels)[0] - scores[0]))
    longest = int(np.diff(sentences.starts).max())
    found = certify(
        mistakes=np.array([learner.n_updates]),
        margins=np.array(margins or [0.0])[:, None],
        norms=np.array([np.sqrt(learner.norm_sq)]),
        radius_sq=learner.radius_sq,
        epochs=epochs,
        comparator="the last guess",
        theorems=(structured_theorem(learner.margin, longest, learner.radius_sq),),
    )
    return replace(found, examples="sentences")
