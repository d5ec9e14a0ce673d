"""The mistake theorems of the perceptron and related learners: from the numbers of a run to its certificate.

A perceptron adds w·y·φ(x) to its guess v where it errs, y v·φ(x) ≤ 0, and nothing else. With weights w = 1, any R of
at least K(x, x) = ‖φ(x)‖², and any u of length 1 with y u·φ(x) ≥ γ > 0 on all rows, the k-th mistake leaves

    1. v_k·u ≥ kγ         each one moves the guess by γ or more along u
    2. ‖v_k‖² ≤ kR        and yet lengthens it little, as it goes against v

so kγ ≤ v_k·u ≤ ‖v_k‖ ≤ √(kR), and k ≤ R/γ². R bounds the *squared* length of the rows (W. Cohen 2009, Margins,
Mistakes, Ranking, Sequential Learning and the Perceptron); books in which R bounds the length write R²/γ². The code
calls it `radius_sq`. If u does not separate the rows, a row may miss the margin γ by some slack, which counts T times
in T epochs, and k is bounded all the same:

    separable         R/γ²
    squared slack     ((√R + √T·D)/γ)²           D² = Σ max(0, γ − y u·φ(x))²
    hinge             L + R/γ² + √(R·L)/γ        L = T·Σ max(0, 1 − y u·φ(x)/γ)

R and γ enter only as B = √R/γ, the slack only as z = max(0, 1 − B·a) with the cosines a = y u·φ(x)/√R: the three
bounds are B², (B + √(TΣz²))² and TΣz + B² + B√(TΣz). (This B is not a budget.) Every u and γ give a true bound, so an
imprecise minimum over γ is loose, never wrong. For γ → ∞ the last two become T·n, as many mistakes as rounds. A bound
that is not below the number of rounds says nothing (form "rounds").

    weights       every bound times (w_max/w_min)²
    intercept     the learner is the perceptron on K + 1: R and the length of u are those of K + 1
    classes       one output for each class (one-vs-rest), and the sum of their bounds
    kernel        K must be an inner product (positive semi-definite); otherwise there is no theorem

The hyperplane of u must go through the origin, as that of v does. An ordinary SVC has a free bias that is not part of
its ‖w‖, and its margin gives a false bound: for eight rows xᵢ = eᵢ, seven of one class and one of the other, it would
be R/γ² = 3.5, but the perceptron errs 8 times.

Other learners take other steps. They have theorems of their own on the same numbers, for weights of 1 only. There a
comparator g = u/γ, of length 1/γ, misses the margin 1 by z = max(0, 1 − y g·φ(x)):

    PA            R/γ²                                if u separates the rows; otherwise there is no theorem
    PA-I          max(R, 1/C)·(1/γ² + 2C·TΣz)
    PA-II         (R + 1/(2C))·(1/γ² + 2C·TΣz²)
    Forgetron     2/γ² + 4·TΣz                        if R ≤ 1, the budget B ≥ 83 and 1/γ ≤ U(B)

These theorems bound the mistakes of all outputs summed, with one γ: the outputs f₁ … f_k are taken as one vector
(f₁, …, f_k), and each pair of a row and an output is one row for it. The outputs of PA are independent of one another,
so that the sum of their bounds is a bound. The outputs of the Forgetron share their support vectors and forget the
same ones, so that its proof is about all k outputs at once. From here on B is the budget, M the number of mistakes and
f′ the function before it is shrunk by φ:

- A round in which j outputs err gains j − 2Σz. The shrinking after it costs all outputs together at most ‖g‖²(1 − φ),
  and nothing at all if ‖φf′‖ > U ≥ ‖g‖. Forgetting costs at most (15/32)M in all.
- If φ < 1 and ‖φf′‖ ≤ U, the weight λ of the forgotten vector satisfies kλ² + 2kλ + 2λ√k·U ≥ 15/32, hence
  λ ≥ 1/(k√(B+1)) for B ≥ 83.
- λ is the product of the last B + 1 factors φ, so that all M mistakes together shrink by at most
  Σ(1 − φ) ≤ M·(½ ln(B+1) + ln k)/(B+1).
- With ‖g‖ ≤ U this costs M/32, and M/2 ≤ ‖g‖² + 2TΣz is left.

For k = 1, U is that of the paper. The basic variant keeps to the same bound on Σ(1 − φ).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from onkel.learners.policies import forgetron_radius

__all__ = [
    "PERCEPTRON",
    "SEPARABLE",
    "Certificate",
    "Theorem",
    "certify",
    "forgetron_theorem",
    "pa_theorem",
    "score_errors",
    "summed",
    "uncertified",
    "why_not",
]

Floats = NDArray[np.float64]
Form = Literal["separable", "squared slack", "hinge", "PA-I", "PA-II", "Forgetron", "sequences", "rounds", "sum"]

TOLERANCE = 1e-9  # relative tolerance of mistakes ≤ bound: without it, rounding would decide if a bound is attained
SHOWN = 10  # outputs, or labels, that a text lists at most
FORMULAS: dict[Form, str] = {
    "separable": "mistakes ≤ R/γ²",
    "squared slack": "mistakes ≤ ((√R + √T·D)/γ)², D² = Σ max(0, γ − y u·x)², T epochs",
    "hinge": "mistakes ≤ L + R/γ² + √(R·L)/γ, L = T·Σ max(0, 1 − y u·x/γ), T epochs",
    "PA-I": "mistakes ≤ max(R, 1/C)·(1/γ² + 2C·L), L = T·Σ max(0, 1 − y u·x/γ), T epochs",
    "PA-II": "mistakes ≤ (R + 1/(2C))·(1/γ² + 2C·D²), D² = T·Σ max(0, 1 − y u·x/γ)², T epochs",
    "Forgetron": "mistakes ≤ 2/γ² + 4L, L = T·Σ max(0, 1 − y u·x/γ), T epochs, for 1/γ ≤ U",
    "sequences": "updates ≤ (R + 2mN)/γ², m the margin, N the longest sentence",
    "rounds": "mistakes ≤ rounds is always true, and this comparator gives no smaller bound",
    "sum": "the sum of the bounds of the outputs",
}

# what an update adds in the place of y x
STEPS = {
    "rows": "",
    "queries": ", with z = x_best − x_guess for y x",
    "sentences": ", with z = Φ(x, tags) − Φ(x, tags found) for y x",
}


# ---------------------------------------------------------------- certificates


@dataclass(frozen=True)
class Certificate:
    """The mistakes of a run, and the mistakes that a theorem allows; ``print`` the certificate to read it in words.

    Attributes
    ----------
    mistakes : the number of mistakes, summed over the outputs.
    radius_sq : R, the largest K(x, x), or the largest K(x, x) + 1 with an intercept: a *squared* length. None if the
        learner has no theorem.
    margin : the smallest y u·x of all rows and outputs, for the comparator u of length 1; at most 0 if u does not
        separate the rows, None without a comparator.
    comparator : the vector u in words, such as "the last guess".
    bound : the number of mistakes that the theorem allows; None if there is no bound.
    holds : whether mistakes ≤ bound, up to rounding: a relative 1e-9, and `rounding` for float32 rows; None without a
        bound, and for the form "rounds".
    form : the theorem that gives the bound: "separable", "squared slack", "hinge", "PA-I", "PA-II" or "Forgetron";
        "rounds" if none of them is below the number of rounds; "sum" if it is not the same for all outputs; None
        without a bound.
    epochs : the number of passes over the rows.
    reason : why there is no bound; empty if there is one.
    target : the γ for which the theorem gives the smallest bound; equal to `margin` for the form "separable". None for
        several outputs, which have a γ each, for the form "rounds", and without a bound.
    weight_ratio : w_max/w_min, the largest weight of an update over the smallest; its square is a factor of the bound.
        1.0 without weights.
    constants : further constants of the theorem as pairs (name, value): C for PA-I and PA-II, U for the Forgetron.
    conflict : two equal rows of X with different labels, which prove that no u separates the rows. None if none were
        found or looked for.
    parts : one certificate for each output if there are several; otherwise empty.
    examples : what the margins are of: "rows"; or "queries" of a ranking learner or "sentences" of a tagger, where z,
        the vector that an update adds, takes the place of y x in all forms, and R is the largest ‖z‖² of the updates.
    rounding : by how much, relative to the bound, the rounding of float32 kernel values may have lowered it; 0.0 for
        float64 rows.
    """

    mistakes: int
    radius_sq: float | None
    margin: float | None
    comparator: str
    bound: float | None
    form: Form | None
    epochs: int
    reason: str = ""
    target: float | None = None
    weight_ratio: float = 1.0
    constants: tuple[tuple[str, float], ...] = ()
    conflict: tuple[int, int] | None = None
    parts: tuple[Certificate, ...] = field(default=(), repr=False)
    rounding: float = 0.0
    examples: Literal["rows", "queries", "sentences"] = "rows"

    @property
    def holds(self) -> bool | None:
        """Whether mistakes ≤ bound, up to rounding; None if there is no bound, or none below the number of rounds."""
        if self.bound is None or self.form == "rounds":
            return None
        return self.mistakes <= self.bound * (1 + TOLERANCE + self.rounding)

    def __str__(self) -> str:
        what = "update" if self.examples == "sentences" else "mistake"  # with a margin they differ
        done = f"{count(self.mistakes, what)} in {count(self.epochs, 'epoch')}"
        if self.form is None:
            return f"no certificate: {done}\n  {self.reason}"
        lines = [f"{'certified' if self.holds else 'NOT certified'}: {done}, at most {self.bound:.6g} by the theorem"]
        if self.holds is None:
            lines = [f"no useful bound: {done}, and no theorem allows fewer than the {self.bound:.6g} rounds"]
        if self.holds is False:
            lines.append("u is no vector of this feature space, or these are not the rows of the run")
        lines.append(f"{self.form}: {FORMULAS[self.form]}{STEPS[self.examples]}")
        if self.weight_ratio != 1:
            lines.append(f"times (w_max/w_min)² = {self.weight_ratio**2:.6g} for the weights")
        at = "" if self.target is None else f", γ = {self.target:.6g}"
        at += "".join(f", {name} = {value:.6g}" for name, value in self.constants)
        R = "max K(x, x)" if self.examples == "rows" else "max ‖z‖²"
        lines += [f"R = {R} = {self.radius_sq:.6g}{at}, u is {self.comparator}", self._separation()]
        for c, part in enumerate(self.parts[:SHOWN]):
            lines.append(f"output {c}: {count(part.mistakes, 'mistake')}, at most {part.bound:.6g} ({part.form})")
        if len(self.parts) > SHOWN:
            lines.append(f"and {len(self.parts) - SHOWN} more outputs")
        return "\n  ".join(lines)

    def _separation(self) -> str:
        if self.margin is not None and self.margin > 0:
            return f"u separates the {self.examples} with margin {self.margin:.6g}"
        if self.conflict is not None:
            return f"not separable: rows {self.conflict[0]} and {self.conflict[1]} are equal and have different labels"
        if self.examples == "queries":
            return "u does not put every item of a better grade above those of lower grades"
        return f"no separator found in {count(self.epochs, 'epoch')}"


def count(n: int, what: str) -> str:
    """n with its noun, in the plural unless n is 1."""
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def uncertified(mistakes: NDArray | int, radius_sq: float | None, epochs: int, reason: str) -> Certificate:
    """A certificate without a bound, with the reason why there is none.

    Parameters
    ----------
    mistakes : the number of mistakes, or an array (outputs,) of them, which is summed.
    radius_sq : the largest K(x, x), or None if it is unknown.
    epochs : the number of passes over the rows.
    reason : why there is no bound, in words.

    Cost: O(outputs).

    >>> from onkel.bounds import uncertified
    >>> print(uncertified(3, radius_sq=1.0, epochs=1, reason="the rows were not kept"))
    no certificate: 3 mistakes in 1 epoch
      the rows were not kept
    """
    known = None if radius_sq is None else float(radius_sq)
    return Certificate(int(np.sum(mistakes)), known, None, "none", None, None, epochs, reason)


# ---------------------------------------------------------------- the theorems


@dataclass(frozen=True)
class Theorem:
    """A mistake theorem: for every comparator, a bound on the mistakes from B = √R/γ and the slack z.

    Parameters
    ----------
    form : its name in `Certificate.form`.
    bound : the function (B, TΣz, TΣz²) → bound, of numbers or arrays.
    largest : the largest B for which the theorem holds. Default: any.
    separable : whether it holds only if no row has slack. Default False.
    constants : further constants of the theorem, as pairs (name, value), to be shown. Default: none.
    """

    form: Form
    bound: Callable[[Any, Any, Any], Any]
    largest: float = math.inf
    separable: bool = False
    constants: tuple[tuple[str, float], ...] = ()


SEPARABLE = Theorem("separable", lambda B, slack, squares: B * B, separable=True)
THEOREMS: dict[Form, Callable[[Any, Any, Any], Any]] = {
    "squared slack": lambda B, slack, squares: (B + np.sqrt(squares)) ** 2,
    "hinge": lambda B, slack, squares: slack + B * B + B * np.sqrt(slack),
}
PERCEPTRON = (SEPARABLE, *(Theorem(form, bound) for form, bound in THEOREMS.items()))


def pa_theorem(variant: Literal["PA", "PA-I", "PA-II"], C: float, radius_sq: float) -> Theorem:
    """The theorem of a passive-aggressive learner with R = radius_sq and aggressiveness C (unused by "PA").

    [Crammer et al. 2006, theorems 2, 4 and 5; they bound squared losses, and a mistake has a loss of at least 1.]
    """
    R, constants = radius_sq, (("C", C),)
    if variant == "PA":
        return SEPARABLE
    if variant == "PA-I":
        most = max(R, 1.0 / C)
        return Theorem("PA-I", lambda B, slack, squares: most * (B * B / R + 2 * C * slack), constants=constants)
    most = R + 1.0 / (2 * C)
    return Theorem("PA-II", lambda B, slack, squares: most * (B * B / R + 2 * C * squares), constants=constants)


FORGETRON_LEAST = 83  # the smallest budget that the Forgetron's theorem holds for


def forgetron_theorem(budget: int, n_outputs: int, radius_sq: float) -> Theorem:
    """The theorem of a Forgetron with a budget ≥ 83 and R = radius_sq ≤ 1.

    [Dekel, Shalev-Shwartz and Singer 2008; the proof for several outputs is at the top of this module.]
    """
    U = forgetron_radius(budget, n_outputs)
    return Theorem(
        "Forgetron",
        lambda B, slack, squares: 2 * B * B / radius_sq + 4 * slack,
        largest=U * math.sqrt(radius_sq),
        constants=(("U", U),),
    )


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
    theorems: tuple[Theorem, ...] = PERCEPTRON,
    errors: NDArray | None = None,
) -> Certificate:
    """The certificate of a run whose numbers are known; nothing is checked.

    The bound is the sum over the outputs of the smallest bound over all theorems and all γ. The theorems of the
    perceptron are R/γ², ((√R + √T·D)/γ)² and L + R/γ² + √(R·L)/γ.

    Parameters
    ----------
    mistakes : the number of mistakes of each output, shape (outputs,).
    margins : y_ic f_c(xᵢ) of every row and output for the comparator f, which may have any length, shape (n, outputs).
    norms : the length ‖f_c‖ in feature space, √(αᵀKα), shape (outputs,); with an intercept the length for K + 1. An
        output of length 0 has no comparator. If f has a bias that this length does not include, as an SVC has, the
        bound is false.
    radius_sq : the largest K(x, x); with an intercept the largest K(x, x) + 1.
    epochs : the number of passes: how often each row was met at most, ≥ 1.
    comparator : the comparator f in words, to be printed.
    is_psd : whether the kernel, or its Gram matrix on these rows, is positive semi-definite. True (default): there is a
        bound. False, or None for unknown: there is none.
    weight_ratio : the largest weight of an update over the smallest, ≥ 1. Default 1.0: all weights are equal.
    theorems : the theorems of the learner. Default: the three of the perceptron.
    errors : by how much rounding may have changed the margins of each output, (outputs,), as `score_errors` says. The
        bound is then also computed with the margins that much smaller, for `Certificate.rounding`. None (default): not
        at all.

    Cost: O(n log n) for each output.

    >>> import numpy as np
    >>> from onkel.bounds import certify
    >>> run = {"mistakes": np.array([3]), "radius_sq": 1.0, "epochs": 2, "comparator": "(1, 1, 1)"}
    >>> seen = certify(margins=np.ones((3, 1)), norms=np.sqrt([3.0]), **run)  # a run over the rows e₁, e₂, e₃, twice
    >>> round(seen.bound, 9), seen.form, seen.holds
    (3.0, 'separable', True)

    Source: Novikoff 1962; Freund and Schapire 1999, Large margin classification using the perceptron algorithm,
    theorems 1 and 2; hinge: Shalev-Shwartz 2012, Online learning and online convex optimization, sec. 3.3.
    """
    if is_psd is not True:
        return uncertified(mistakes, radius_sq, epochs, why_not(is_psd))
    parts, length = [], math.sqrt(radius_sq)
    for o, (k, yf, norm) in enumerate(zip(mistakes, margins.T, norms, strict=True)):
        a = np.sort(yf) / (norm * length) if norm * length > 0 else None
        B, bound, theorem = _smallest_bound(theorems, a, len(yf), epochs, weight_ratio)
        rounding = 0.0
        if errors is not None and a is not None and bound > 0:
            least = a - errors[o] / (norm * length)  # the error of ‖f‖ is covered by that of f(x) on its rows
            rounding = max(0.0, _smallest_bound(theorems, least, len(yf), epochs, weight_ratio)[1] / bound - 1)
        margin = None if a is None else float(a[0]) * length
        target = length / B if B > 0 else None
        known = Certificate(int(k), float(radius_sq), margin, comparator, bound, theorem.form, epochs)
        known = replace(known, target=target, weight_ratio=weight_ratio, constants=theorem.constants)
        parts.append(replace(known, rounding=rounding))
    return summed(parts)


FLOAT32_VALUES = 1e-5  # the error of a float32 kernel value, relative to the largest k(x, x)


def score_errors(dtype: np.dtype, radius_sq: float, coef_sums: NDArray) -> NDArray | None:
    """How far rounding may have moved scores Σ αᵢ k(xᵢ, x), with Σ|αᵢ| of each output; None for float64 rows."""
    return FLOAT32_VALUES * radius_sq * coef_sums if dtype == np.float32 else None


def why_not(is_psd: bool | None) -> str:
    """Why there is no bound for a kernel that is not known to be positive semi-definite."""
    what = "the kernel is not positive semi-definite: its values are no inner products"
    if is_psd is None:
        what = "whether the kernel is positive semi-definite is unknown; onkel.gram.check(kernel(X)) examines it"
    return f"{what}, and the theorem is about inner products only"


def summed(parts: list[Certificate]) -> Certificate:
    """The certificate of all outputs: that of a single output unchanged, otherwise the sum over the outputs."""
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
        rounding=max(part.rounding for part in parts),
        parts=tuple(parts),
    )


# ---------------------------------------------------------------- the best γ


def _smallest_bound(
    theorems: tuple[Theorem, ...], a: Floats | None, n: int, epochs: int, weight_ratio: float
) -> tuple[float, float, Theorem]:
    """The B = √R/γ of the smallest bound, that bound and its theorem; of equal bounds, the first theorem's.

    A bound that is not below the number of rounds does not count: then that number is the bound. `a` (n,) are the
    cosines y u·φ(x)/√R, ascending; None without a comparator.
    """
    found: list[tuple[float, float, Theorem]] = []
    if a is not None:
        sums = np.zeros((2, n + 1))
        np.cumsum([a, a * a], axis=1, out=sums[:, 1:])
        for theorem in theorems:
            if theorem.separable:
                if a[0] <= 0:
                    continue
                B = 1.0 / float(a[0])
                z = np.zeros(1)
            else:
                B = _best_scale(theorem, a, sums, epochs)
                z = np.maximum(0.0, 1.0 - B * a)
            bound = float(theorem.bound(B, epochs * z.sum(), epochs * (z @ z)))
            found.append((B, bound * weight_ratio**2, theorem))
    best = (0.0, float(epochs * n), Theorem("rounds", lambda B, slack, squares: slack))
    for other in found:
        if other[1] < best[1] * (1 - TOLERANCE):
            best = other
    return best


def _best_scale(theorem: Theorem, a: Floats, sums: Floats, epochs: int) -> float:
    """The B = √R/γ of a theorem's smallest bound, found on a grid and on finer grids around its best point.

    The square root of the squared-slack bound is convex in B, and so are the bounds without a square root, so that the
    search finds their minimum. Above B = √(Tn) every bound is above the T·n rounds. `a` is sorted, so that the rows
    with slack, a < 1/B, are the first ones, and the running sums of a and a², `sums` (2, n + 1), give Σz and Σz².
    """
    high = math.log(min(math.sqrt(epochs * len(a)), theorem.largest))
    low = min(math.log(0.01), high - 1.0)
    for _ in range(7):
        grid = np.linspace(low, high, 65)
        B = np.exp(grid)
        k = np.searchsorted(a, 1.0 / B)
        first, second = sums[:, k]
        slack, squares = k - B * first, k - 2.0 * B * first + B * B * second
        best = int(np.argmin(theorem.bound(B, epochs * np.maximum(0.0, slack), epochs * np.maximum(0.0, squares))))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    return float(B[best])
