"""Mistakes against the theorem: certificates of fitted perceptrons.

    certificate       the mistakes made, and those allowed: R/γ², or more where u does not separate the rows
    trace             the two lemmas of the theorem, mistake by mistake
    generalization    what the mistakes of one pass promise about new examples

Here estimators and their rows come in, and are turned into numbers. What follows from the numbers, and why, is in
`onkel.theorem`, whose `Certificate`, `certify` and `uncertified` are also found here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from onkel import gram
from onkel.checks import check_integer, check_number, check_weights
from onkel.conflicts import conflicts
from onkel.errors import KindError, ParameterError, ShapeError, ValuesError
from onkel.kernels import Kernel, Linear, expand, prepare
from onkel.kernels.rows import ObjectRows, Rows
from onkel.kernels.vectors import VectorRows
from onkel.learners.svm.max_margin import max_margin
from onkel.theorem import SHOWN, TOLERANCE, Certificate, Floats, certify, count, together, uncertified, why_not

__all__ = ["Certificate", "ErrorBound", "Trace", "certificate", "certify", "generalization", "trace", "uncertified"]

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


class _Run(NamedTuple):
    """What a fitted estimator and its rows say, checked; the ledger has K entries."""

    kernel: Kernel
    one: float  # added to K: the constant feature of an intercept
    rows: Rows  # n
    label: NDArray[np.intp]  # (n,), places in `classes_`
    signs: Floats  # (n, machines), y = ±1
    row: NDArray[np.int64]  # (K,)
    machine: NDArray[np.intp]  # (K,)
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
        """The separators of largest margin, from guesses: of each machine, its coefficients of the kept rows."""
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


def _open(estimator: Any, X: Any, y: Any, who: str) -> _Run:
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
    machines = np.array([1]) if len(classes) == 2 else np.arange(len(classes))
    machine = np.searchsorted(machines, ledger["class"])
    label = _codes(y, n, classes, who)
    signs = np.where(label[:, None] == machines, 1.0, -1.0)
    other = row[signs[row, machine] * step <= 0]
    if len(other):
        raise ValuesError(f"{who}: y must hold the labels of fit; row {other[0]} erred with another one. {AS_FITTED}")
    again = np.bincount(row * len(machines) + machine, minlength=1)  # mistakes of each machine on each row
    epochs = max(1, int(estimator.n_iter_), int(again.max()))  # a warm start may have counted anew
    one, after = float(estimator.fit_intercept), estimator.n_rounds_ - ledger["round"]
    return _Run(kernel, one, rows, label, signs, row, machine, step, after, epochs)


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


def _kept(sample_weight: Any, run: _Run, who: str) -> NDArray[np.bool_]:
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

    Of each machine the smallest of R/γ², ((√R + √T·D)/γ)² and L + R/γ² + √(R·L)/γ over all γ, with a guess of the
    machine itself, scaled to length 1, as the comparator u. Any u gives a true bound; it is the tighter the larger
    the margin of u, and that of a guess is rarely the largest.

    Parameters
    ----------
    estimator : a fitted KernelPerceptron or Perceptron, or the like: it adds w·y·φ(x) on mistakes only and keeps a
        ledger of them.
    X, y : the rows and labels it was fitted on, in their order.
    sample_weight : that of fit; rows of weight 0 are left out. The factor w_max/w_min is taken over the updates in
        the ledger, class weights included, whether this is given or not.
    comparator : "last" for the final guess, "averaged" for that of the averaged perceptron, "best" for whichever of
        the two gives the smaller bound, machine by machine; "max-margin" for the separator of largest margin through
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
    run = _open(estimator, X, y, who)
    kept = _kept(sample_weight, run, who)
    n, machines = run.signs.shape
    mistakes = np.bincount(run.machine, minlength=machines)
    radius_sq = float(run.kernel.diag(run.rows)[kept].max(initial=0.0)) + run.one
    if not len(run.row):
        return uncertified(mistakes, radius_sq, run.epochs, "no mistake was made, so there is nothing to bound")
    is_psd = run.is_psd()
    if is_psd is not True:
        return uncertified(mistakes, radius_sq, run.epochs, why_not(is_psd))
    guesses, sizes = COMPARATORS[comparator], np.abs(run.step)
    A = np.zeros((n, len(guesses), machines))
    for g, guess in enumerate(guesses):
        np.add.at(A[:, g], (run.row, run.machine), run.step * (run.after if guess == "averaged" else 1.0))
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
    by_machine = zip(*(each.parts or (each,) for each in found), strict=True)
    best = together([min(parts, key=lambda part: part.bound or 0.0) for parts in by_machine])
    separates = best.margin is not None and best.margin > 0
    return best if separates else replace(best, conflict=run.conflict(kept))


# ---------------------------------------------------------------- the lemmas, mistake by mistake


@dataclass(frozen=True, eq=False)
class Trace:
    """The two lemmas at each mistake k = 1 … K; ``print`` it to read it in words.

    With weights, Σw of the first k updates stands for k in lemma 1, and Σw² in lemma 2.

    Attributes
    ----------
    progress, progress_floor : (K,), v_k·u and kγ, which lemma 1 says it does not fall below.
    norm_sq, norm_sq_ceiling : (K,), ‖v_k‖² and kR, which lemma 2 says it does not exceed.
    margin : γ, the smallest y u·x of all rows; negative where u does not separate them.
    radius_sq : R, the largest K(x, x), of K + 1 with an intercept.
    lemma_1, lemma_2 : whether they hold at every mistake, up to a relative 1e-9.
    """

    progress: Floats = field(repr=False)
    progress_floor: Floats = field(repr=False)
    norm_sq: Floats = field(repr=False)
    norm_sq_ceiling: Floats = field(repr=False)
    margin: float
    radius_sq: float

    @property
    def lemma_1(self) -> bool:
        """Whether v_k·u ≥ kγ at every mistake."""
        return bool((self.progress >= self.progress_floor - TOLERANCE * np.abs(self.progress_floor)).all())

    @property
    def lemma_2(self) -> bool:
        """Whether ‖v_k‖² ≤ kR at every mistake."""
        return bool((self.norm_sq <= self.norm_sq_ceiling * (1 + TOLERANCE)).all())

    def __str__(self) -> str:
        says = {True: "holds at every mistake", False: "FAILS"}
        return (
            f"{count(len(self.progress), 'mistake')}, R = {self.radius_sq:.6g}, γ = {self.margin:.6g}\n"
            f"  lemma 1, v_k·u ≥ kγ: {says[self.lemma_1]}; "
            f"at the last {self.progress[-1]:.6g} against {self.progress_floor[-1]:.6g}\n"
            f"  lemma 2, ‖v_k‖² ≤ kR: {says[self.lemma_2]}; "
            f"at the last {self.norm_sq[-1]:.6g} against {self.norm_sq_ceiling[-1]:.6g}"
        )


def trace(estimator: Any, X: Any, y: Any, u: Any = None) -> Trace:
    """Both lemmas of the theorem, followed through the mistakes of a two-class perceptron.

    v_k = v_{k−1} + w·y·φ(x), so v_k·u grows by w·y·u·φ(x), and ‖v_k‖² by 2w·y·v_{k−1}·φ(x) + w²K(x, x).

    Parameters
    ----------
    estimator, X, y : as in `certificate`, of two classes, with a mistake at least.
    u : (n,), the comparator Σ uᵢ φ(xᵢ), of any length but 0; the final guess where it is left out.

    Cost: n × support kernel values in O(tile) memory, and one Gram matrix of the support rows.

    >>> from onkel import KernelPerceptron, bounds
    >>> X, y = [[0.0, 2.0], [1.0, 1.0], [0.0, -1.0], [-1.0, 0.0]], [1, 1, 0, 0]
    >>> lemmas = bounds.trace(KernelPerceptron(kernel="linear").fit(X, y), X, y)
    >>> lemmas.lemma_1, lemmas.lemma_2
    (True, True)

    Source: Cohen 2009, Margins, Mistakes, Ranking, Sequential Learning and the Perceptron, sec. 1.3.
    """
    who = "bounds.trace"
    run = _open(estimator, X, y, who)
    n, machines = run.signs.shape
    if machines != 1 or not len(run.row):
        got = count(machines, "machine") if machines != 1 else "no mistake"
        raise ParameterError(f"{who}: estimator must have one machine, of two classes, that erred; got {got}.")
    final = np.bincount(run.row, weights=run.step, minlength=n)
    A = check_weights(final if u is None else u, n, name="u", who=who).reshape(n, -1)
    F, norms = run.scores(A)
    if len(norms) != 1 or not norms[0] > 0:
        got = "the final guess, which is 0" if u is None else f"shape {np.shape(u)} and length {norms.max(initial=0):g}"
        raise ValuesError(f"{who}: u must be ({n},) coefficients of a vector with a length; got {got}.")
    along = F[:, 0] / norms[0]  # u·φ(x) on every row
    support, place = np.unique(run.row, return_inverse=True)
    K = run.gram(support)
    guess, growth = np.zeros(len(support)), np.empty(len(place))  # v_k·φ(x) on the support; of ‖v_k‖²
    for k, (i, step) in enumerate(zip(place, run.step, strict=True)):
        growth[k] = 2.0 * step * guess[i] + step * step * K[i, i]
        guess += step * K[i]
    margin = float((run.signs[:, 0] * along).min())
    radius_sq = float(run.kernel.diag(run.rows).max()) + run.one
    progress, progress_floor = np.cumsum(run.step * along[run.row]), margin * np.cumsum(np.abs(run.step))
    norm_sq, norm_sq_ceiling = np.cumsum(growth), radius_sq * np.cumsum(run.step**2)
    for array in (progress, progress_floor, norm_sq, norm_sq_ceiling):
        array.flags.writeable = False
    return Trace(progress, progress_floor, norm_sq, norm_sq_ceiling, margin, radius_sq)


# ---------------------------------------------------------------- from mistakes to new examples


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
