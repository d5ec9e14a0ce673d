"""Mistakes against the theorem: certificates of fitted perceptrons.

    certificate       the mistakes made, and those allowed: R/γ², or more where u does not separate the rows
    trace             the two lemmas of the theorem, mistake by mistake
    generalization    what the mistakes of one pass promise about new examples

`certify` and `uncertified` make a `Certificate` from the numbers of a run of your own.
"""

from onkel.bounds.certificates import certificate
from onkel.bounds.lemmas import Trace, trace
from onkel.bounds.online_to_batch import ErrorBound, generalization
from onkel.bounds.theorems import Certificate, certify, uncertified

__all__ = ["Certificate", "ErrorBound", "Trace", "certificate", "certify", "generalization", "trace", "uncertified"]
