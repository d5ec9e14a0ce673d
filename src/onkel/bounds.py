"""Mistakes against the theorem: certificates.

A perceptron adds w·y·φ(x) to its guess v where it errs, y v·φ(x) ≤ 0, and nothing else. With weights w = 1, any R of
at least K(x, x) = ‖φ(x)‖², and any u of length 1 with y u·φ(x) ≥ γ > 0 on all rows, the k-th mistake leaves

    1. v_k·u ≥ kγ         each one moves the guess by γ or more along u
    2. ‖v_k‖² ≤ kR        and yet lengthens it little, as it goes against v

so kγ ≤ v_k·u ≤ ‖v_k‖ ≤ √(kR), and k ≤ R/γ². R bounds the *squared* length of the rows, as in Cohen's notes; books
that let R bound the length write R²/γ². Here it is called `radius_sq`. Where u does not separate the rows, each may
miss the margin γ by some slack, which T epochs meet T times, and k is bounded all the same:

    separable         R/γ²
    squared slack     ((√R + √T·D)/γ)²           D² = Σ max(0, γ − y u·φ(x))²
    hinge             L + R/γ² + √(R·L)/γ        L = T·Σ max(0, 1 − y u·φ(x)/γ)

R and γ enter as B = √R/γ only, the slack as z = max(0, 1 − B·a) with the cosines a = y u·φ(x)/√R: the three are B²,
(B + √(TΣz²))² and TΣz + B² + B√(TΣz). Every u and γ give a true bound, so an imprecise minimum over γ is loose, never
wrong. For γ → ∞ the last two become T·n, as many mistakes as rounds, which says nothing (form "rounds").

    weights       every bound times (w_max/w_min)²
    intercept     the machine is the perceptron on K + 1: R and the length of u are those of K + 1
    classes       one machine for each, and the sum of their bounds
    kernel        K must be an inner product (positive semi-definite); otherwise there is no theorem

u must go through the origin, as v does. An ordinary SVC has a free bias, outside its ‖w‖, and its margin gives a false
bound: for xᵢ = eᵢ with labels 7 : 1 it says R/γ² = 3.5, and the perceptron errs 8 times.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from onkel import gram
from onkel.checks import check_integer, check_number, check_weights
from onkel.errors import KindError, ParameterError, ShapeError, ValuesError
from onkel.kernels import Kernel, Linear, expand, prepare
from onkel.kernels.rows import GramRows, Rows, VectorRows

__all__ = ["Certificate", "ErrorBound", "Trace", "certificate", "certify", "generalization", "trace", "uncertified"]

Floats = NDArray[np.float64]
Form = Literal["separable", "squared slack", "hinge", "rounds", "sum"]

TOLERANCE = 1e-9  # relative: where a bound is attained, rounding would decide an exact ≤
MAX_CHECKED = 2000  # support rows whose Gram matrix is examined where a kernel's validity is unknown
SHOWN = 10  # machines, or labels, of which a text speaks one by one
FORMULAS: dict[Form, str] = {
    "separable": "mistakes ≤ R/γ²",
    "squared slack": "mistakes ≤ ((√R + √T·D)/γ)², D² = Σ max(0, γ − y u·x)², T epochs",
    "hinge": "mistakes ≤ L + R/γ² + √(R·L)/γ, L = T·Σ max(0, 1 − y u·x/γ), T epochs",
    "rounds": "mistakes ≤ rounds, which says nothing: this comparator gives no smaller bound",
    "sum": "the sum of the bounds of the machines",
}


# ---------------------------------------------------------------- certificates


@dataclass(frozen=True)
class Certificate:
    """Mistakes made, and what the theorem allows; ``print`` it to read it in words.

    Attributes
    ----------
    mistakes : updates of all machines.
    radius_sq : R, the largest K(x, x), of K + 1 with an intercept: a *squared* length.
    margin : γ̂, the smallest y u·x under the comparator u of length 1, the least of all machines; at most 0 where u
        does not separate the rows, None without a comparator.
    comparator : which u, in words.
    bound : the mistakes that the theorem allows, or None.
    holds : whether mistakes ≤ bound, up to a relative 1e-9; None without a bound.
    form : which theorem: "separable", "squared slack", "hinge", "rounds" where these say nothing, "sum" where the
        machines' differ; None without a bound.
    epochs : passes over the rows.
    reason : why there is no bound; empty where there is one.
    target : the γ that the theorem is applied with, `margin` if "separable"; None for several machines.
    weight_ratio : w_max/w_min, of which the bound has the square as a factor.
    conflict : two rows of X that are equal and have different labels, a proof that nothing separates them, or None.
    parts : the certificates of the machines, where there are several.
    """

    mistakes: int
    radius_sq: float
    margin: float | None
    comparator: str
    bound: float | None
    form: Form | None
    epochs: int
    reason: str = ""
    target: float | None = None
    weight_ratio: float = 1.0
    conflict: tuple[int, int] | None = None
    parts: tuple[Certificate, ...] = field(default=(), repr=False)

    @property
    def holds(self) -> bool | None:
        """Whether mistakes ≤ bound, up to rounding."""
        return None if self.bound is None else self.mistakes <= self.bound * (1 + TOLERANCE)

    def __str__(self) -> str:
        done = f"{_count(self.mistakes, 'mistake')} in {_count(self.epochs, 'epoch')}"
        if self.form is None:
            return f"no certificate: {done}\n  {self.reason}"
        lines = [f"{'certified' if self.holds else 'NOT certified'}: {done}, at most {self.bound:.6g} by the theorem"]
        if not self.holds:
            lines.append("u is no vector of this feature space, or these are not the rows of the run")
        lines.append(f"{self.form}: {FORMULAS[self.form]}")
        if self.weight_ratio != 1:
            lines.append(f"times (w_max/w_min)² = {self.weight_ratio**2:.6g} for the weights")
        at = "" if self.target is None else f", γ = {self.target:.6g}"
        lines += [f"R = max K(x, x) = {self.radius_sq:.6g}{at}, u is {self.comparator}", self._separation()]
        for c, part in enumerate(self.parts[:SHOWN]):
            lines.append(f"machine {c}: {_count(part.mistakes, 'mistake')}, at most {part.bound:.6g} ({part.form})")
        if len(self.parts) > SHOWN:
            lines.append(f"and {len(self.parts) - SHOWN} more machines")
        return "\n  ".join(lines)

    def _separation(self) -> str:
        if self.margin is not None and self.margin > 0:
            return f"u separates the rows with margin {self.margin:.6g}"
        if self.conflict is not None:
            return f"not separable: rows {self.conflict[0]} and {self.conflict[1]} are equal and have different labels"
        return f"no separator found in {_count(self.epochs, 'epoch')}"


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def uncertified(mistakes: NDArray | int, radius_sq: float, epochs: int, reason: str) -> Certificate:
    """A certificate without a bound, that says why there is none.

    >>> from onkel.bounds import uncertified
    >>> print(uncertified(3, radius_sq=1.0, epochs=1, reason="the rows were not kept"))
    no certificate: 3 mistakes in 1 epoch
      the rows were not kept
    """
    return Certificate(int(np.sum(mistakes)), float(radius_sq), None, "none", None, None, epochs, reason)


def certify(
    *,
    mistakes: NDArray,
    margins: NDArray,
    norms: NDArray,
    radius_sq: float,
    epochs: int,
    comparator: str,
    is_psd: bool | None = True,
    weight_ratio: float = 1.0,
) -> Certificate:
    """The certificate of a run whose numbers are known; nothing is checked.

    Of each machine the smallest of R/γ², ((√R + √T·D)/γ)² and L + R/γ² + √(R·L)/γ over all γ; then their sum.

    Parameters
    ----------
    mistakes : (machines,), updates of each.
    margins : (n, machines), y_ic f_c(xᵢ) of every row under the comparator f, of any length.
    norms : (machines,), ‖f_c‖ in feature space: √(αᵀKα), of K + 1 with an intercept; 0 is no comparator. With a bias
        that is no part of this length, as in an SVC, the bound is false.
    radius_sq : the largest K(x, x), of K + 1 with an intercept.
    epochs : how often each row was met, at most.
    comparator : which f, in words.
    is_psd : whether the kernel, or else its Gram matrix on these rows, is positive semi-definite. Only True gives a
        bound; None, unknown, does not.
    weight_ratio : ≥ 1, the largest step of an update over the smallest.

    Cost: O(n log n) a machine.

    >>> import numpy as np
    >>> from onkel.bounds import certify
    >>> run = {"mistakes": np.array([3]), "radius_sq": 1.0, "epochs": 1, "comparator": "(1, 1, 1)"}
    >>> seen = certify(margins=np.ones((3, 1)), norms=np.sqrt([3.0]), **run)  # of e₁, e₂, e₃
    >>> round(seen.bound, 9), seen.form, seen.holds
    (3.0, 'separable', True)

    Source: Novikoff 1962; Freund and Schapire 1999, Large margin classification using the perceptron algorithm,
    theorems 1 and 2; hinge: Shalev-Shwartz 2012, Online learning and online convex optimization, sec. 3.3.
    """
    if is_psd is not True:
        return uncertified(mistakes, radius_sq, epochs, _why_not(is_psd))
    parts, length = [], math.sqrt(radius_sq)
    for k, yf, norm in zip(mistakes, margins.T, norms, strict=True):
        a = yf / (norm * length) if norm * length > 0 else None
        B, bound, form = _smallest_bound(a, len(yf), epochs, weight_ratio)
        margin = None if a is None else float(a.min()) * length
        target = length / B if B > 0 else None
        known = Certificate(int(k), float(radius_sq), margin, comparator, bound, form, epochs)
        parts.append(replace(known, target=target, weight_ratio=weight_ratio))
    return _together(parts)


def _why_not(is_psd: bool | None) -> str:
    what = "the kernel is not positive semi-definite: its values are no inner products"
    if is_psd is None:
        what = "whether the kernel is positive semi-definite is unknown; onkel.gram.check(kernel(X)) examines it"
    return f"{what}, and the theorem is about inner products only"


def _together(parts: list[Certificate]) -> Certificate:
    """One machine's certificate as it is; of several the sum."""
    if len(parts) == 1:
        return parts[0]
    margins = [part.margin for part in parts if part.margin is not None]
    forms = {part.form for part in parts}
    return replace(
        parts[0],
        mistakes=sum(part.mistakes for part in parts),
        margin=min(margins) if len(margins) == len(parts) else None,
        comparator=" or ".join(dict.fromkeys(part.comparator for part in parts)),
        bound=math.fsum(part.bound or 0.0 for part in parts),
        form=forms.pop() if len(forms) == 1 else "sum",
        target=None,
        parts=tuple(parts),
    )


# ---------------------------------------------------------------- the theorem

# From B = √R/γ, TΣz and TΣz², each a number or an array.
THEOREMS: dict[Form, Callable[[Any, Any, Any], Any]] = {
    "squared slack": lambda B, slack, squares: (B + np.sqrt(squares)) ** 2,
    "hinge": lambda B, slack, squares: slack + B * B + B * np.sqrt(slack),
}


def _smallest_bound(a: Floats | None, n: int, epochs: int, weight_ratio: float) -> tuple[float, float, Form]:
    """B, the bound and its form for the cosines a; the plainer form where two are equal."""
    found: list[tuple[float, float, Form]] = []
    if a is not None:
        a = np.sort(a)
        if a[0] > 0:
            B = 1.0 / float(a[0])
            found.append((B, B * B * weight_ratio**2, "separable"))
        sums = np.zeros((2, n + 1))
        np.cumsum([a, a * a], axis=1, out=sums[:, 1:])
        for form, theorem in THEOREMS.items():
            B = _best_scale(theorem, a, sums, epochs)
            z = np.maximum(0.0, 1.0 - B * a)
            found.append((B, float(theorem(B, epochs * z.sum(), epochs * (z @ z))) * weight_ratio**2, form))
    found.append((0.0, float(epochs * n), "rounds"))
    best = found[0]
    for other in found[1:]:
        if other[1] < best[1] * (1 - TOLERANCE):
            best = other
    return best


def _best_scale(theorem: Callable[[Any, Any, Any], Any], a: Floats, sums: Floats, epochs: int) -> float:
    """The B of the smallest bound, by a grid and then finer ones around its best point.

    √ of the squared-slack bound is convex in B, so that nothing is missed there; above B = √(Tn) no bound is below the
    T·n rounds. The rows with slack are the first, a < 1/B, so that running sums of a and a² are enough to search by.
    """
    low, high = math.log(0.01), math.log(epochs * len(a)) / 2
    for _ in range(7):
        grid = np.linspace(low, high, 65)
        B = np.exp(grid)
        k = np.searchsorted(a, 1.0 / B)
        first, second = sums[:, k]
        slack, squares = k - B * first, k - 2.0 * B * first + B * B * second
        best = int(np.argmin(theorem(B, epochs * np.maximum(0.0, slack), epochs * np.maximum(0.0, squares))))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    return float(B[best])


# ---------------------------------------------------------------- of a fitted estimator

COMPARATORS = {"last": ("last",), "averaged": ("averaged",), "best": ("last", "averaged")}
WORDS = {"last": "the final guess", "averaged": "the averaged guess"}
NEEDED = ("mistakes_", "classes_", "fit_intercept", "n_iter_", "n_rounds_")
AS_FITTED = "Give the rows and labels that the estimator was fitted on, in their order."


class _Run(NamedTuple):
    """What a fitted estimator and its rows say, checked; the ledger has K entries."""

    kernel: Kernel
    one: float  # added to K: the constant feature of an intercept
    rows: Rows  # n
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

    def is_psd(self) -> bool | None:
        """That of the kernel; where unknown, of its Gram matrix on the support, which spans v and u."""
        support = np.unique(self.row)
        if self.kernel.is_psd is not None or len(support) > MAX_CHECKED:
            return self.kernel.is_psd
        return gram.check(self.gram(support)).valid

    def conflict(self, kept: NDArray[np.bool_]) -> tuple[int, int] | None:
        """Two rows of the same bytes and different labels, if there are some: no u is right on both."""
        if not isinstance(self.rows, (VectorRows, GramRows)):
            return None
        matrix: Any = self.rows.matrix if isinstance(self.rows, VectorRows) else self.rows.block

        def content(i: int) -> bytes:
            if not sp.issparse(matrix):
                return bytes(matrix[i].tobytes())
            entries = slice(matrix.indptr[i], matrix.indptr[i + 1])
            return bytes(matrix.indices[entries].tobytes() + matrix.data[entries].tobytes())

        first: dict[int, int] = {}
        for i in np.flatnonzero(kept).tolist():
            j = first.setdefault(hash(content(i)), i)
            if (self.signs[j] != self.signs[i]).any() and content(j) == content(i):
                return j, i
        return None


def _open(estimator: Any, X: Any, y: Any, who: str) -> _Run:
    """The door of `certificate` and `trace`."""
    if not hasattr(estimator, "fit") or isinstance(estimator, type):
        raise KindError(f"{who}: estimator must be a fitted KernelPerceptron or the like; got {estimator!r}.")
    check_is_fitted(estimator)
    for name in NEEDED:
        if not hasattr(estimator, name):
            kind = type(estimator).__name__
            raise KindError(f"{who}: estimator must keep a ledger of its mistakes, mistakes_; {kind} has no {name}.")
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
    signs = np.where(_codes(y, n, classes, who)[:, None] == machines, 1.0, -1.0)
    other = row[signs[row, machine] * step <= 0]
    if len(other):
        raise ValuesError(f"{who}: y must hold the labels of fit; row {other[0]} erred with another one. {AS_FITTED}")
    again = np.bincount(row * len(machines) + machine, minlength=1)  # mistakes of each machine on each row
    epochs = max(1, int(estimator.n_iter_), int(again.max()))  # a warm start may have counted anew
    one, after = float(estimator.fit_intercept), estimator.n_rounds_ - ledger["round"]
    return _Run(kernel, one, rows, signs, row, machine, step, after, epochs)


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
        the two gives the smaller bound, machine by machine.

    Cost: n × support kernel values in O(tile) memory. Where `kernel_.is_psd` is None, the Gram matrix of the support
    is examined too, up to 2000 rows; beyond them, and where it is False, there is no bound.

    >>> from onkel import KernelPerceptron, bounds
    >>> X, y = [[0.0, 2.0], [1.0, 1.0], [0.0, -1.0], [-1.0, 0.0]], [1, 1, 0, 0]
    >>> bounds.certificate(KernelPerceptron(kernel="linear").fit(X, y), X, y).holds
    True

    Source: as `certify`.
    """
    who = "bounds.certificate"
    if comparator not in COMPARATORS:
        later = ', which comes in a later release; "best" is the tightest until then' * (comparator == "max-margin")
        known = ", ".join(f'"{name}"' for name in COMPARATORS)
        raise ParameterError(f"{who}: comparator must be one of {known}; got {comparator!r}{later}.")
    run = _open(estimator, X, y, who)
    kept = _kept(sample_weight, run, who)
    n, machines = run.signs.shape
    mistakes = np.bincount(run.machine, minlength=machines)
    radius_sq = float(run.kernel.diag(run.rows)[kept].max(initial=0.0)) + run.one
    if not len(run.row):
        return uncertified(mistakes, radius_sq, run.epochs, "no mistake was made, so there is nothing to bound")
    is_psd = run.is_psd()
    if is_psd is not True:
        return uncertified(mistakes, radius_sq, run.epochs, _why_not(is_psd))
    guesses, sizes = COMPARATORS[comparator], np.abs(run.step)
    A = np.zeros((n, len(guesses), machines))
    for g, guess in enumerate(guesses):
        np.add.at(A[:, g], (run.row, run.machine), run.step * (run.after if guess == "averaged" else 1.0))
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
    best = _together([min(parts, key=lambda part: part.bound or 0.0) for parts in by_machine])
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
            f"{_count(len(self.progress), 'mistake')}, R = {self.radius_sq:.6g}, γ = {self.margin:.6g}\n"
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
        got = _count(machines, "machine") if machines != 1 else "no mistake"
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
