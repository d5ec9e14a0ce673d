"""Certificates: the mistakes of a fit beside the bound that a theorem gives, and what is said where there is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from onkel.bounds.certificates import certify_budgeted_fit
from onkel.bounds.theorems import Certificate, Theorem, uncertified
from onkel.estimators.online.running import Batch, Running
from onkel.learners.perceptron.kernel import KernelPerceptronLearner
from onkel.learners.perceptron.linear import LinearPerceptronLearner
from onkel.models.expansion import Expansion

__all__ = ["Certified", "certificate", "certify"]

# The theorem on the mistakes if k(x, x) ≤ R² and all weights are 1; or, in words, why there is none; None if the
# estimator has no certificate at all. Given R².
Theorems = Callable[[float], Theorem | str | None]


class Certified(NamedTuple):
    """The certificate of a fit, and what must not have changed since for it to be about the estimator."""

    about: object
    certificate: Certificate


def certify(
    running: Running, batch: Batch, theorems: Theorems, *, epochs: int, is_psd: bool | None
) -> Certified | None:
    """The certificate of a fit, with what was learned as the comparator; None without a theorem."""
    learner = running.learner
    if learner.kernel is None or theorems(1.0) is None:
        return None
    radius_sq = float(learner.kernel.inner.diagonal(batch.rows).max())
    theorem = theorems(radius_sq)
    if not isinstance(theorem, Theorem):
        return None
    model = learner.scorer()
    assert isinstance(model, Expansion)
    found = certify_budgeted_fit(
        theorem,
        model,
        mistakes=learner.n_mistakes,
        rows=batch.rows,
        targets=running.targets.encode(batch.targets),
        weights=batch.weights,
        row_ids=batch.row_ids,
        radius_sq=radius_sq,
        epochs=epochs,
        is_psd=is_psd,
    )
    return Certified(learner.version, found)


def certificate(
    running: Running, found: Certified | None, theorem: Theorem | str | None, *, epochs: int
) -> Certificate:
    """The certificate of the last fit; raises AttributeError, with its reason, if there is none now."""
    learner, who = running.learner, running.who
    if isinstance(theorem, str):
        return uncertified(learner.n_mistakes, None, epochs, theorem)
    if found is not None and found.about == learner.version:
        return found.certificate
    if theorem is not None:
        raise AttributeError(
            "certificate_ is there after a fit that was neither interrupted nor a warm start; the examples of "
            "online learning are not kept, so that nothing can be compared on them"
        )
    queries, keeps_rows = running.targets.GROUPED, isinstance(learner, KernelPerceptronLearner)
    if not (keeps_rows or isinstance(learner, LinearPerceptronLearner)):
        raise AttributeError(f"{who} has no certificate_: onkel has no mistake bound for it")
    after_fit = "certificate_ is there after fit; after online learning"
    what = after_fit if keeps_rows or queries else f"{who} has no certificate_;"
    args = "estimator, X, y, qid=qid" if queries else "estimator, X, y"
    raise AttributeError(f"{what} use onkel.bounds.certificate({args})")
