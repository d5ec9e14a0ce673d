"""Certificates: from a fitted estimator, or from a fit that has just ended, to the numbers of the theorems.

`certificate` takes any fitted perceptron with its rows and checks both. The two `certify_…_fit` are called at the end
of `fit`, where the numbers are at hand. What follows from the numbers, and why, is in `theorems`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from onkel import gram
from onkel.bounds.equal_rows import conflicts
from onkel.bounds.theorems import SHOWN, Certificate, Floats, Theorem, certify, together, uncertified, why_not
from onkel.checks import check_weights
from onkel.errors import KindError, ParameterError, ShapeError, ValuesError
from onkel.kernels import Kernel, Linear, expand, prepare
from onkel.kernels.rows import ObjectRows, Rows
from onkel.kernels.vectors import VectorRows
from onkel.learners.kernel_perceptron_epochs import KeptScoreEpochs
from onkel.learners.svm.max_margin import max_margin
from onkel.models.expansion import Expansion

__all__ = ["certificate", "certify_budgeted_fit", "certify_perceptron_fit"]

MAX_CHECKED = 2000  # support rows whose Gram matrix is examined where a kernel's validity is unknown

# ---------------------------------------------------------------- of a fitted estimator

COMPARATORS = {
    "last": ("last",),
    "averaged": ("averaged",),
    "best": ("last", "averaged"),
    "max-margin": ("max-margin",),
}
WORDS = {
    "last": "the final guess",
    "averaged": "the averaged guess",
    "max-margin": "the separator of largest margin through the origin",
}
NEEDED = ("mistakes_", "classes_", "fit_intercept", "n_iter_", "n_rounds_")
AS_FITTED = "Give the rows and labels that the estimator was fitted on, in their order."


class FittedRun(NamedTuple):
    """What a fitted estimator and its rows say, checked; the ledger has K entries."""

    kernel: Kernel
    one: float  # added to K: the constant feature of an intercept
    rows: Rows  # n
    label: NDArray[np.intp]  # (n,), places in `classes_`
    signs: Floats  # (n, outputs), y = ±1
    row: NDArray[np.int64]  # (K,)
    output: NDArray[np.intp]  # (K,)
    step: Floats  # (K,)
    after: NDArray[np.int64]  # (K,), rounds that came after the update
    epochs: int

    def gram(self, some: NDArray[np.int64]) -> Floats:
        """The Gram matrix of some rows."""
        return self.kernel(self.rows[some]).astype(np.float64) + self.one

    def scores(self, A: Floats) -> tuple[Floats, Floats]:
        """f(x) on every row, and ‖f‖, of f = Σᵢ Aᵢ φ(xᵢ) for each column of A (n, outputs)."""
        support = np.flatnonzero(A.any(axis=1))
        if not len(support):
            return np.zeros(A.shape), np.zeros(A.shape[1])
        F = expand(self.kernel, self.rows, self.rows[support], A[support]) + self.one * A.sum(axis=0)
        return F, np.sqrt(np.maximum(0.0, (A * F).sum(axis=0)))  # αᵀKα = Σ αᵢ f(xᵢ)

    def widest(self, A: Floats, kept: NDArray[np.bool_]) -> Floats:
        """The separators of largest margin, from guesses: of each output, its coefficients of the kept rows."""
        kernel = self.kernel + self.one if self.one else self.kernel
        rows = self.rows if kept.all() else self.rows[np.flatnonzero(kept)]
        found = [max_margin(kernel, rows, self.signs[kept, m], A[:, m]) for m in range(A.shape[1])]
        return np.column_stack(found)

    def is_psd(self) -> bool | None:
        """That of the kernel; where unknown, of its Gram matrix on the support, which spans v and u."""
        support = np.unique(self.row)
        if self.kernel.is_psd is not None or len(support) > MAX_CHECKED:
            return self.kernel.is_psd
        return gram.check(self.gram(support)).valid

    def conflict(self, kept: NDArray[np.bool_]) -> tuple[int, int] | None:
        """Two equal rows with different labels, if there are some: no u is right on both."""
        if isinstance(self.rows, ObjectRows):  # that two objects are equal is no proof that φ does not tell them apart
            return None
        some = np.flatnonzero(kept)
        found = conflicts(self.rows if kept.all() else self.rows[some], self.label[some])
        return (int(some[found[0, 0]]), int(some[found[0, 1]])) if len(found) else None


def open_run(estimator: Any, X: Any, y: Any, who: str) -> FittedRun:
    """The door of `certificate` and `trace`."""
    if not hasattr(estimator, "fit") or isinstance(estimator, type):
        raise KindError(f"{who}: estimator must be a fitted KernelPerceptron or the like; got {estimator!r}.")
    check_is_fitted(estimator)
    for name in NEEDED:
        if not hasattr(estimator, name):
            kind = type(estimator).__name__
            raise KindError(f"{who}: estimator must keep a ledger of its mistakes, mistakes_; {kind} has no {name}.")
    if hasattr(estimator, "n_updates_"):
        raise KindError(
            f"{who}: estimator must be a perceptron, whose updates are its mistakes; {type(estimator).__name__} takes "
            "other steps, and keeps the last ones only. Its certificate_ says what is known of its mistakes."
        )
    kernel = getattr(estimator, "kernel_", Linear())  # a perceptron in primal form has none
    rows = prepare(kernel, X, itself=True)
    n, width = len(rows), getattr(estimator, "n_features_in_", None)
    if isinstance(rows, VectorRows) and width not in (None, rows.n_features):
        raise ShapeError(f"{who}: X must have the {width} columns of fit; got {rows.n_features}. {AS_FITTED}")
    ledger, classes = estimator.mistakes_, estimator.classes_
    row, step = ledger["row"], ledger["step"]
    outside = row[(row < 0) | (row >= n)]
    if len(outside):
        raise ShapeError(f"{who}: X has {n} rows, and the ledger names row {outside[0]}. {AS_FITTED}")
    n_outputs = np.array([1]) if len(classes) == 2 else np.arange(len(classes))
    output = np.searchsorted(n_outputs, ledger["class"])
    label = _codes(y, n, classes, who)
    signs = np.where(label[:, None] == n_outputs, 1.0, -1.0)
    other = row[signs[row, output] * step <= 0]
    if len(other):
        raise ValuesError(f"{who}: y must hold the labels of fit; row {other[0]} erred with another one. {AS_FITTED}")
    again = np.bincount(row * len(n_outputs) + output, minlength=1)  # mistakes of each output on each row
    epochs = max(1, int(estimator.n_iter_), int(again.max()))  # a warm start may have counted anew
    one, after = float(estimator.fit_intercept), estimator.n_rounds_ - ledger["round"]
    return FittedRun(kernel, one, rows, label, signs, row, output, step, after, epochs)


def _codes(y: Any, n: int, classes: NDArray, who: str) -> NDArray[np.intp]:
    """Each label's place among the classes."""
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
    """The rows that count: weight 0 is absence."""
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


def certificate(estimator: Any, X: Any, y: Any, *, sample_weight: Any = None, comparator: str = "last") -> Certificate:
    """The mistakes of a fitted perceptron, and what the theorem allows.

    Of each output the smallest of R/γ², ((√R + √T·D)/γ)² and L + R/γ² + √(R·L)/γ over all γ, with a guess of the
    output itself, scaled to length 1, as the comparator u. Any u gives a true bound; it is the tighter the larger
    the margin of u, and that of a guess is rarely the largest.

    Parameters
    ----------
    estimator : a fitted KernelPerceptron or Perceptron, or the like: it adds w·y·φ(x) on mistakes only and keeps a
        ledger of them.
    X, y : the rows and labels it was fitted on, in their order.
    sample_weight : that of fit; rows of weight 0 are left out. The factor w_max/w_min is taken over the updates in
        the ledger, class weights included, whether this is given or not.
    comparator : "last" for the final guess, "averaged" for that of the averaged perceptron, "best" for whichever of
        the two gives the smaller bound, output by output; "max-margin" for the separator of largest margin through
        the origin, with which R/γ² is the smallest; it takes the solution of a support vector machine.

    Cost: n × support kernel values in O(tile) memory; "max-margin" some more. Where `kernel_.is_psd` is None, the Gram
    matrix of the support is examined too, up to 2000 rows; beyond them, and where it is False, there is no bound.

    >>> from onkel import KernelPerceptron, bounds
    >>> X, y = [[0.0, 2.0], [1.0, 1.0], [0.0, -1.0], [-1.0, 0.0]], [1, 1, 0, 0]
    >>> bounds.certificate(KernelPerceptron(kernel="linear").fit(X, y), X, y).holds
    True

    Source: as `certify`.
    """
    who = "bounds.certificate"
    if comparator not in COMPARATORS:
        known = ", ".join(f'"{name}"' for name in COMPARATORS)
        raise ParameterError(f"{who}: comparator must be one of {known}; got {comparator!r}.")
    run = open_run(estimator, X, y, who)
    kept = _kept(sample_weight, run, who)
    n, n_outputs = run.signs.shape
    mistakes = np.bincount(run.output, minlength=n_outputs)
    radius_sq = float(run.kernel.diag(run.rows)[kept].max(initial=0.0)) + run.one
    if not len(run.row):
        return uncertified(mistakes, radius_sq, run.epochs, "no mistake was made, so there is nothing to bound")
    is_psd = run.is_psd()
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
        )
        for g, guess in enumerate(guesses)
    ]
    by_output = zip(*(each.parts or (each,) for each in found), strict=True)
    best = together([min(parts, key=lambda part: part.bound or 0.0) for parts in by_output])
    separates = best.margin is not None and best.margin > 0
    return best if separates else replace(best, conflict=run.conflict(kept))


# ---------------------------------------------------------------- of a fit that has just ended


def certify_perceptron_fit(run: KeptScoreEpochs, epochs: int, is_psd: bool | None) -> Certificate:
    """The mistakes of a kernel perceptron's epochs against the theorem, with its last guess as the comparator."""
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
        margins=(run.y.T * run.scores).T,
        norms=np.sqrt(np.maximum(run.sq_norms, 0.0)),
        radius_sq=radius_sq,
        epochs=epochs,
        comparator="the last guess",
        is_psd=is_psd,
        weight_ratio=float(steps.max() / steps.min()),  # of the updates: only they enter the proof
    )


def certify_budgeted_fit(
    theorem: Theorem,
    model: Expansion,
    *,
    mistakes: int,
    rows: Rows,
    targets: NDArray[np.int8],
    weights: Floats,
    row_ids: NDArray[np.int64],
    radius_sq: float,
    epochs: int,
    is_psd: bool | None,
) -> Certificate:
    """The mistakes of a fit against a theorem on the sum of all outputs, with what was learned as the comparator."""
    if (weights != 1).any():
        return uncertified(mistakes, radius_sq, epochs, "the theorem is about weights of 1; others change the steps")
    if is_psd is not True:
        return uncertified(mistakes, radius_sq, epochs, why_not(is_psd))
    F, sq_norms = np.zeros(targets.shape), 0.0
    if len(model.support):
        F = expand(model.kernel, rows, model.support, model.coef)
        sq_norms = (model.coef * F[np.searchsorted(row_ids, model.rows)]).sum()  # αᵀKα = Σ αᵢ f(xᵢ)
    seen = certify(  # all outputs as one
        mistakes=np.array([mistakes]),
        margins=(targets * F).reshape(-1, 1),
        norms=np.sqrt(np.maximum(0.0, [sq_norms])),
        radius_sq=radius_sq,
        epochs=epochs,
        comparator="what was learned",
        theorems=(theorem,),
    )
    if theorem.separable and not (seen.margin or 0.0) > 0:
        reason = f"no separator found in {epochs} epoch(s), and the theorem is about rows that have one"
        return uncertified(mistakes, radius_sq, epochs, reason)
    return seen
