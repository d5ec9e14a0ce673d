"""Mistake bounds: certificates that compare the mistakes of a fitted perceptron with the mistake theorem.

    certificate       the mistakes made, and the mistakes allowed: R/γ², or more if u does not separate the rows
    trace             the two lemmas of the theorem, followed mistake by mistake
    generalization    a bound on the error rate on new examples, from the mistakes of one pass

`certify` and `uncertified` make a `Certificate` from the numbers of your own run.

No file here has the name of a public function, since `onkel.bounds.certificate` could not be both.
"""

from onkel.bounds.certificates import certificate
from onkel.bounds.lemmas import RankingLemmas, Trace, trace
from onkel.bounds.online_to_batch import ErrorBound, generalization
from onkel.bounds.theorems import Certificate, certify, uncertified

__all__ = [
    "Certificate",
    "ErrorBound",
    "RankingLemmas",
    "Trace",
    "certificate",
    "certify",
    "generalization",
    "trace",
    "uncertified",
]
