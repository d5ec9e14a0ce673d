"""Certificates: from a fitted estimator, or from a fit that has just ended, to the numbers that the theorems need.

`certificate` takes any fitted perceptron with its rows and checks both. `certify_perceptron_fit` and
`certify_budgeted_fit` are called at the end of `fit`, where the numbers are at hand. The theorems, their proofs and the
step from the numbers to a bound are in `onkel.bounds.theorems`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from onkel.bounds.comparators import GUESSES, WORDS, check_comparator, is_psd_on
from onkel.bounds.equal_rows import conflicts
from onkel.bounds.rankings import ranking_certificate, ranks, refuse_qid
from onkel.bounds.theorems import (
    SHOWN,
    Certificate,
    Floats,
    Theorem,
    certify,
    score_errors,
    summed,
    uncertified,
    why_not,
)
from onkel.checks import check_weights
from onkel.errors import InputError, KindError, ShapeError, ValuesError
from onkel.kernels import Kernel, Linear, expand, prepare
from onkel.kernels.rows import ObjectRows, Rows
from onkel.kernels.vectors import VectorRows
from onkel.learners.perceptron.kernel_epochs import KeptScoreEpochs
from onkel.models.expansion import Expansion
from onkel.solvers.svm.max_margin import max_margin

__all__ = ["certificate", "certify_budgeted_fit", "certify_perceptron_fit"]

# ---------------------------------------------------------------- the certificate of a fitted estimator

COMPARATORS = GUESSES | {"max-margin": ("max-margin",)}
NEEDED = ("mistakes_", "classes_", "fit_intercept", "n_iter_", "n_rounds_")
AS_FITTED = "Give the rows and labels that the estimator was fitted on, in their order."


class FittedRun(NamedTuple):
    """The checked contents of a fitted estimator and of its training rows.

    n is the number of rows, M the number of mistakes in the ledger; `row`, `output`, `step` and `after` have one entry
    for each mistake, in order.
    """

    kernel: Kernel
    one: float  # 1.0 with an intercept, which is the kernel K + 1; else 0.0
    rows: Rows  # the n training rows
    label: NDArray[np.intp]  # (n,), indices into `classes_`
    signs: Floats  # (n, outputs), the targets y = ±1
    row: NDArray[np.int64]  # (M,), the row of each mistake
    output: NDArray[np.intp]  # (M,), the output that made it
    step: Floats  # (M,), w·y, the coefficient that was added
    after: NDArray[np.int64]  # (M,), the number of rounds after it
    epochs: int

    def gram(self, some: NDArray[np.int64]) -> Floats:
        """The Gram matrix of some rows, given by their indices."""
        return self.kernel(self.rows[some]).astype(np.float64) + self.one

    def scores(self, A: Floats) -> tuple[Floats, Floats]:
        """f(x) of every row (n, outputs), and ‖f‖ (outputs,), of f = Σᵢ Aᵢ φ(xᵢ) for each column of A (n, outputs)."""
        support = np.flatnonzero(A.any(axis=1))
        if not len(support):
            return np.zeros(A.shape), np.zeros(A.shape[1])
        F = expand(self.kernel, self.rows, self.rows[support], A[support]) + self.one * A.sum(axis=0)
        return F, np.sqrt(np.maximum(0.0, (A * F).sum(axis=0)))  # αᵀKα = Σ αᵢ f(xᵢ)

    def widest(self, A: Floats, kept: NDArray[np.bool_]) -> Floats:
        """The separator of largest margin of each output, as coefficients of the kept rows, (kept, outputs).

        `kept` (n,) marks the rows that count; `A` (kept, outputs) holds the coefficients to start from.
        """
        kernel = self.kernel + self.one if self.one else self.kernel
        rows = self.rows if kept.all() else self.rows[np.flatnonzero(kept)]
        found = [max_margin(kernel, rows, self.signs[kept, m], A[:, m]) for m in range(A.shape[1])]
        return np.column_stack(found)

    def conflict(self, kept: NDArray[np.bool_]) -> tuple[int, int] | None:
        """Two equal rows with different labels, on which no u can be right at once; None if there are no such rows."""
        if isinstance(self.rows, ObjectRows):  # φ may differ on two objects that are equal in Python
            return None
        index = np.flatnonzero(kept)
        found = conflicts(self.rows if kept.all() else self.rows[index], self.label[index])
        return (int(index[found[0, 0]]), int(index[found[0, 1]])) if len(found) else None


def open_run(estimator: Any, X: Any, y: Any, who: str) -> FittedRun:
    """The run of a fitted estimator, after checking the input of `certificate` or `trace`; messages name `who`."""
    if not hasattr(estimator, "fit") or isinstance(estimator, type):
        raise KindError(f"{who}: estimator must be a fitted KernelPerceptron or the like; got {estimator!r}.")
    check_is_fitted(estimator)
    if hasattr(estimator, "n_updates_"):
        raise KindError(
            f"{who}: estimator must be a perceptron, whose updates are its mistakes; {type(estimator).__name__} takes "
            f"other steps, and keeps the last ones only. {_what_is_known(estimator)}"
        )
    for name in NEEDED:
        if not hasattr(estimator, name):
            kind = type(estimator).__name__
            raise KindError(f"{who}: estimator must keep a ledger of its mistakes, mistakes_; {kind} has no {name}.")
    kernel = getattr(estimator, "kernel_", Linear())  # a linear perceptron has no kernel_
    rows = prepare(kernel, X, itself=True)
    n, width = len(rows), getattr(estimator, "n_features_in_", None)
    if isinstance(rows, VectorRows) and width not in (None, rows.n_features):
        raise ShapeError(f"{who}: X must have the {width} columns of fit; got {rows.n_features}. {AS_FITTED}")
    ledger, classes = estimator.mistakes_, estimator.classes_
    made = getattr(estimator, "n_mistakes_", len(ledger))
    if len(ledger) < made:
        raise InputError(
            f"{who}: needs all mistakes of the run; {type(estimator).__name__} made {made} and keeps the last "
            f"{len(ledger)}. Use KernelPerceptron, which keeps all (kernel='linear' makes the same mistakes), or fit "
            "fewer epochs."
        )
    row, step = ledger["row"], ledger["step"]
    outside = row[(row < 0) | (row >= n)]
    if len(outside):
        raise ShapeError(f"{who}: X has {n} rows, and the ledger names row {outside[0]}. {AS_FITTED}")
    positive = np.array([1]) if len(classes) == 2 else np.arange(len(classes))  # the class that each output is for
    output = np.searchsorted(positive, ledger["class"])
    label = _codes(y, n, classes, who)
    signs = np.where(label[:, None] == positive, 1.0, -1.0)
    other = row[signs[row, output] * step <= 0]
    if len(other):
        raise ValuesError(f"{who}: y must hold the labels of fit; row {other[0]} erred with another one. {AS_FITTED}")
    again = np.bincount(row * len(positive) + output, minlength=1)  # the mistakes of each output on each row
    epochs = max(1, int(estimator.n_iter_), int(again.max()))  # a warm start counts its epochs from 1 again
    one, after = float(estimator.fit_intercept), estimator.n_rounds_ - ledger["round"]
    return FittedRun(kernel, one, rows, label, signs, row, output, step, after, epochs)


def _what_is_known(estimator: Any) -> str:
    """Where to read of the mistakes of an estimator that is no perceptron; or why nothing is known of them."""
    try:
        _ = estimator.certificate_
    except AttributeError as error:
        return f"{error}."
    return "Its certificate_ says what is known of its mistakes."


def _codes(y: Any, n: int, classes: NDArray, who: str) -> NDArray[np.intp]:
    """The index of each label among the classes, after checking y."""
    labels = np.asarray(y)
    if labels.shape != (n,):
        raise ShapeError(f"{who}: y must have shape ({n},), a label for each row of X; got shape {labels.shape}.")
    places = {label: place for place, label in enumerate(classes.tolist())}
    codes = [places.get(label, -1) for label in labels.tolist()]
    if -1 in codes:
        unknown = labels.tolist()[codes.index(-1)]
        raise ValuesError(f"{who}: y must hold labels of fit, {list(places)[:SHOWN]}; got {unknown!r}. {AS_FITTED}")
    return np.array(codes, dtype=np.intp)


def _kept(sample_weight: Any, run: FittedRun, who: str) -> NDArray[np.bool_]:
    """Marks the rows that count, (n,): a row of weight 0 is treated as absent."""
    n = len(run.rows)
    weights = check_weights(np.ones(n) if sample_weight is None else sample_weight, n, name="sample_weight", who=who)
    if weights.ndim != 1 or weights.min() < 0:
        got = f"shape {weights.shape}" if weights.ndim != 1 else f"{weights.min():g}"
        raise ValuesError(f"{who}: sample_weight must hold {n} numbers >= 0; got {got}.")
    kept: NDArray[np.bool_] = weights > 0
    absent = run.row[~kept[run.row]]
    if len(absent):
        raise ValuesError(f"{who}: sample_weight must be that of fit; row {absent[0]} has weight 0 and yet erred.")
    return kept


def certificate(
    estimator: Any, X: Any, y: Any, *, sample_weight: Any = None, comparator: str = "last", qid: Any = None
) -> Certificate:
    """The mistakes of a fitted perceptron, and the mistakes that the theorem allows.

    The bound of an output is the smallest of R/γ², ((√R + √T·D)/γ)² and L + R/γ² + √(R·L)/γ over all γ, where R is the
    largest K(x, x), T the number of epochs, γ the margin, and D and L measure how far rows fall short of the margin.
    The comparator u of the theorem is a guess of the output itself, scaled to length 1. Every u gives a true bound: the
    larger its margin, the tighter the bound. The margin of a guess is rarely the largest possible. The certificate
    sums over the outputs; with two classes there is one output, with more there is one per class.

    Returns a `Certificate` with ``mistakes``, ``bound``, ``holds`` (whether mistakes ≤ bound; None without a bound, or
    without one below the number of rounds), ``form`` (which theorem), ``reason`` (why there is no bound) and more;
    print it to read it.

    Parameters
    ----------
    estimator : a fitted `KernelPerceptron`, `RankingPerceptron` or `Perceptron` (with at most 100 000 mistakes, the
        most that it keeps); or an estimator of your own that adds w·y·φ(x) on mistakes only and keeps a ledger of them.
    X, y : the rows and labels that the estimator was fitted on, in their order.
    sample_weight : the weights that were given to `fit`, (n,), each ≥ 0; rows of weight 0 are left out. None (default):
        no row is left out. The factor w_max/w_min is always computed from the updates in the ledger, which include
        class weights.
    comparator : "last" (default) for the last guess, "averaged" for the averaged perceptron, "best" for the one of
        these two that gives the smaller bound, chosen for each output; "max-margin" for the separator of largest margin
        through the origin, which makes R/γ² smallest but has to be computed as a support vector machine is.
    qid : for a `RankingPerceptron`, the queries that were given to `fit`, (n,); its y are the grades. None (default):
        one query. The margin of a query is then the smallest u·z that an update z could have had, R is the largest
        ‖z‖² of the updates made, and "max-margin" is not available.

    Cost: n × support vectors kernel values, computed tile by tile; "max-margin" also solves a support vector machine.
    If `kernel_.is_psd` is None, the Gram matrix of the support vectors is examined, too, if they are at most 2000. With
    more support vectors, or if the kernel is not positive semi-definite, there is no bound.

    >>> from onkel import KernelPerceptron, bounds
    >>> X, y = [[0.0, 2.0], [1.0, 1.0], [0.0, -1.0], [-1.0, 0.0]], [1, 1, 0, 0]
    >>> bounds.certificate(KernelPerceptron(kernel="linear").fit(X, y), X, y).holds
    True

    Source: Novikoff 1962; Freund and Schapire 1999, Large margin classification using the perceptron algorithm,
    theorems 1 and 2; hinge: Shalev-Shwartz 2012, Online learning and online convex optimization, sec. 3.3.
    """
    who = "bounds.certificate"
    check_comparator(comparator, COMPARATORS, who)
    if ranks(estimator):
        return ranking_certificate(estimator, X, y, qid, sample_weight, comparator, who)
    refuse_qid(qid, estimator, who)
    run = open_run(estimator, X, y, who)
    kept = _kept(sample_weight, run, who)
    n, n_outputs = run.signs.shape
    mistakes = np.bincount(run.output, minlength=n_outputs)
    radius_sq = float(run.kernel.inner.diagonal(run.rows)[kept].max(initial=0.0)) + run.one
    if not len(run.row):
        return uncertified(mistakes, radius_sq, run.epochs, "no mistake was made, so there is nothing to bound")
    is_psd = is_psd_on(run.kernel, run.rows, run.row, run.one)
    if is_psd is not True:
        return uncertified(mistakes, radius_sq, run.epochs, why_not(is_psd))
    guesses, sizes = COMPARATORS[comparator], np.abs(run.step)
    A = np.zeros((n, len(guesses), n_outputs))
    for g, guess in enumerate(guesses):
        np.add.at(A[:, g], (run.row, run.output), run.step * (run.after if guess == "averaged" else 1.0))
    if comparator == "max-margin":
        A[kept, 0] = run.widest(A[kept, 0], kept)
    F, norms = run.scores(A.reshape(n, -1))
    found = [
        certify(
            mistakes=mistakes,
            margins=(run.signs * F.reshape(A.shape)[:, g])[kept],
            norms=norms.reshape(A.shape[1:])[g],
            radius_sq=radius_sq,
            epochs=run.epochs,
            comparator=WORDS[guess],
            weight_ratio=float(sizes.max() / sizes.min()),
            errors=score_errors(run.rows.dtype, radius_sq, np.abs(A[:, g]).sum(axis=0)),
        )
        for g, guess in enumerate(guesses)
    ]
    by_output = zip(*(each.parts or (each,) for each in found), strict=True)
    best = summed([min(parts, key=lambda part: part.bound or 0.0) for parts in by_output])
    separates = best.margin is not None and best.margin > 0
    return best if separates else replace(best, conflict=run.conflict(kept))


# ---------------------------------------------------------------- the certificate of a fit that has just ended


def certify_perceptron_fit(run: KeptScoreEpochs, epochs: int, is_psd: bool | None) -> Certificate:
    """The certificate of a kernel perceptron's fit in epochs, with its last guess as the comparator.

    There is no bound if the fit ended before the scores of all rows under the last guess were complete: after a
    single epoch, or in the middle of one.
    """
    entries = run.ledger.entries
    mistakes, steps = np.bincount(entries["class"], minlength=run.n_outputs), np.abs(entries["step"])
    radius_sq = float(run.self_values().max()) + run.bias
    if not run.complete:
        reason = (
            f"no separator found in {epochs} epoch(s). "
            "onkel.bounds.certificate(estimator, X, y) looks for a bound with a comparator."
        )
        return uncertified(mistakes, radius_sq, epochs, reason)
    run.flush()
    return certify(
        mistakes=mistakes,
        margins=(run.y.T * (run.scores + run.offsets[:, None])).T,
        norms=np.sqrt(np.maximum(run.sq_norms, 0.0)),
        radius_sq=radius_sq,
        epochs=epochs,
        comparator="the last guess",
        is_psd=is_psd,
        weight_ratio=float(steps.max() / steps.min()),  # only the weights of updates enter the proof
        errors=score_errors(run.rows.dtype, radius_sq, np.bincount(entries["class"], steps, run.n_outputs)),
    )


def certify_budgeted_fit(
    theorem: Theorem,
    model: Expansion,
    *,
    mistakes: int,
    rows: Rows,
    targets: Floats,
    weights: Floats,
    row_ids: NDArray[np.int64],
    radius_sq: float,
    epochs: int,
    is_psd: bool | None,
) -> Certificate:
    """The certificate of a fit whose theorem is about the sum over all outputs; the comparator is the model learned.

    `rows` and `row_ids` (n,) are the training rows and their ids, ascending; `targets` (n, outputs) are ±1 and
    `weights` (n,) the weights of fit: if they are not all 1, there is no bound. `mistakes` is summed over all outputs.
    """
    if (weights != 1).any():
        return uncertified(mistakes, radius_sq, epochs, "the theorem is about weights of 1; others change the steps")
    if is_psd is not True:
        return uncertified(mistakes, radius_sq, epochs, why_not(is_psd))
    F, sq_norms = np.zeros(targets.shape), 0.0
    if len(model.support):
        F = expand(model.kernel, rows, model.support, model.coef)
        sq_norms = (model.coef * F[np.searchsorted(row_ids, model.row_ids)]).sum()  # αᵀKα = Σ αᵢ f(xᵢ)
    seen = certify(  # one vector (f₁, …, f_k) for all outputs
        mistakes=np.array([mistakes]),
        margins=(targets * F).reshape(-1, 1),
        norms=np.sqrt(np.maximum(0.0, [sq_norms])),
        radius_sq=radius_sq,
        epochs=epochs,
        comparator="what was learned",
        theorems=(theorem,),
        errors=score_errors(rows.dtype, radius_sq, np.abs(model.coef).sum(keepdims=True)[0]),
    )
    if theorem.separable and not (seen.margin or 0.0) > 0:
        reason = f"no separator found in {epochs} epoch(s), and the theorem is about rows that have one"
        return uncertified(mistakes, radius_sq, epochs, reason)
    return seen
