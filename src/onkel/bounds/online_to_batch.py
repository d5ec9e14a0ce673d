"""Online to batch: what the mistakes of one pass promise about new examples."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from onkel.checks import check_integer, check_number
from onkel.errors import ParameterError

__all__ = ["ErrorBound", "generalization"]


class ErrorBound(NamedTuple):
    """How often a hypothesis errs on new examples: `expected`, and `at_most` with probability 1 − δ."""

    expected: float
    at_most: float


def generalization(
    k: int, m: int, delta: float = 0.05, hypothesis: Literal["random", "voted"] = "random", *, epochs: int = 1
) -> ErrorBound:
    """What k mistakes in m rounds promise about new examples: online to batch.

    A guess v_k picked with probability m_k/m, m_k the rounds it was used in, errs at a rate of k/m in expectation, and
    with probability 1 − δ of at most k/m + √(ln(1/δ)/(2m)); the vote of all guesses errs only where half of them do,
    at most twice as often. No rate is above 1.

    Parameters
    ----------
    k, m : mistakes and rounds of the one pass over independent examples, 0 ≤ k ≤ m, m ≥ 1.
    delta : δ, between 0 and 1.
    hypothesis : "random" for the picked guess, "voted" for the vote.
    epochs : 1; more are an error, since the theorem needs every example to be new to the guess that meets it.

    Cost: none.

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
