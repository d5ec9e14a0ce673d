"""Online to batch: a bound on the error rate on new examples, from the mistakes of one pass."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from onkel.checks import check_integer, check_number
from onkel.errors import ParameterError

__all__ = ["ErrorBound", "generalization"]


class ErrorBound(NamedTuple):
    """Bounds on the error rate of a hypothesis on new examples.

    `expected` bounds the expected error rate; with probability 1 − δ the error rate is at most `at_most`.
    """

    expected: float
    at_most: float


def generalization(
    k: int, m: int, delta: float = 0.05, hypothesis: Literal["random", "voted"] = "random", *, epochs: int = 1
) -> ErrorBound:
    """A bound on the error rate on new examples, from k mistakes in m rounds of one pass.

    A guess that is drawn at random, with a probability proportional to the number of rounds it was used in, has an
    expected error rate of k/m, and with probability 1 − δ an error rate of at most k/m + √(ln(1/δ)/(2m)). The vote of
    all guesses errs only if at least half of them do, so both numbers are doubled for it. A bound above 1 is set to 1.

    Parameters
    ----------
    k, m : the number of mistakes and of rounds of one pass over independent examples, 0 ≤ k ≤ m, m ≥ 1.
    delta : δ in (0, 1), the probability that the bound fails. Default 0.05.
    hypothesis : "random" (default) for a guess that is drawn at random, "voted" for the vote of all guesses.
    epochs : must be 1 (default): the theorem is about guesses that meet each example for the first time.

    Cost: O(1).

    >>> from onkel.bounds import generalization
    >>> generalization(50, 1000, hypothesis="voted").expected
    0.1

    Source: Cohen 2009, Margins, Mistakes, Ranking, Sequential Learning and the Perceptron, sec. 2; Cesa-Bianchi,
    Conconi and Gentile 2004, On the generalization ability of on-line learning algorithms.
    """
    who = "bounds.generalization"
    m = check_integer(m, "m", who, at_least=1)
    k = check_integer(k, "k", who, at_least=0)
    delta = check_number(delta, "delta", who, above=0.0)
    if k > m:
        raise ParameterError(f"{who}: k must be at most the m = {m} rounds; got {k}.")
    if delta >= 1:
        raise ParameterError(f"{who}: delta must be below 1; got {delta:g}.")
    if hypothesis not in ("random", "voted"):
        raise ParameterError(f'{who}: hypothesis must be "random" or "voted"; got {hypothesis!r}.')
    if check_integer(epochs, "epochs", who, at_least=1) > 1:
        advice = "Nothing is known about more; count the mistakes and rounds of the first."
        raise ParameterError(f"{who}: epochs must be 1, one pass over independent examples; got {epochs}. {advice}")
    times = 2 if hypothesis == "voted" else 1
    rate = k / m + math.sqrt(math.log(1.0 / delta) / (2.0 * m))
    return ErrorBound(min(1.0, times * k / m), min(1.0, times * rate))
