"""The mistake theorems of the perceptron and its kin: from the numbers of a run to its certificate.

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
    intercept     the output is the perceptron on K + 1: R and the length of u are those of K + 1
    classes       one output for each, and the sum of their bounds
    kernel        K must be an inner product (positive semi-definite); otherwise there is no theorem

u must go through the origin, as v does. An ordinary SVC has a free bias, outside its ‖w‖, and its margin gives a false
bound: for xᵢ = eᵢ with labels 7 : 1 it says R/γ² = 3.5, and the perceptron errs 8 times.

Other learners take other steps, and have theorems of their own on the same numbers, with weights of 1 only. There a
comparator g = u/γ, of length 1/γ, misses the margin 1 by z = max(0, 1 − y g·φ(x)):

    PA            R/γ²                                where u separates the rows, else nothing is known
    PA-I          max(R, 1/C)·(1/γ² + 2C·TΣz)
    PA-II         (R + 1/(2C))·(1/γ² + 2C·TΣz²)
    Forgetron     2/γ² + 4·TΣz                        where R ≤ 1, B ≥ 83 and 1/γ ≤ U(B)

They are about sums over the outputs, with one γ for all: the outputs f₁ … f_k are one vector (f₁, …, f_k), whose
rows are all pairs of a row and a output. PA's outputs know nothing of one another, so that the sum of their bounds
is one. The Forgetron's share their support and what they forget, and so does its proof: a round in which j of them
err gains j − 2Σz, the shrinking that follows costs them together ‖g‖²(1 − φ) at most, nothing at all where
‖φf′‖ > U ≥ ‖g‖, and the forgetting (15/32)M in all. Where φ < 1 and ‖φf′‖ ≤ U, the weight λ of the vector that is
forgotten has kλ² + 2kλ + 2λ√k·U ≥ 15/32, for B ≥ 83 hence λ ≥ 1/(k√(B+1)); λ is the product of the last B + 1 φ, so
that all M mistakes shrink by no more than Σ(1 − φ) ≤ M·(½ ln(B+1) + ln k)/(B+1). With ‖g‖ ≤ U this costs M/32, and
M/2 ≤ ‖g‖² + 2TΣz is left. For k = 1 this is the paper's U; the basic variant shrinks by no more.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "PERCEPTRON",
    "Certificate",
    "Theorem",
    "certify",
    "forgetron_theorem",
    "pa_theorem",
    "together",
    "uncertified",
    "why_not",
]

Floats = NDArray[np.float64]
Form = Literal["separable", "squared slack", "hinge", "PA-I", "PA-II", "Forgetron", "rounds", "sum"]

TOLERANCE = 1e-9  # relative: where a bound is attained, rounding would decide an exact ≤
SHOWN = 10  # outputs, or labels, of which a text speaks one by one
FORMULAS: dict[Form, str] = {
    "separable": "mistakes ≤ R/γ²",
    "squared slack": "mistakes ≤ ((√R + √T·D)/γ)², D² = Σ max(0, γ − y u·x)², T epochs",
    "hinge": "mistakes ≤ L + R/γ² + √(R·L)/γ, L = T·Σ max(0, 1 − y u·x/γ), T epochs",
    "PA-I": "mistakes ≤ max(R, 1/C)·(1/γ² + 2C·L), L = T·Σ max(0, 1 − y u·x/γ), T epochs",
    "PA-II": "mistakes ≤ (R + 1/(2C))·(1/γ² + 2C·D²), D² = T·Σ max(0, 1 − y u·x/γ)², T epochs",
    "Forgetron": "mistakes ≤ 2/γ² + 4L, L = T·Σ max(0, 1 − y u·x/γ), T epochs, for 1/γ ≤ U",
    "rounds": "mistakes ≤ rounds, which says nothing: this comparator gives no smaller bound",
    "sum": "the sum of the bounds of the outputs",
}


# ---------------------------------------------------------------- certificates


@dataclass(frozen=True)
class Certificate:
    """Mistakes made, and what the theorem allows; ``print`` it to read it in words.

    Attributes
    ----------
    mistakes : updates of all outputs.
    radius_sq : R, the largest K(x, x), of K + 1 with an intercept: a *squared* length; None where no theorem asks.
    margin : γ̂, the smallest y u·x under the comparator u of length 1, the least of all outputs; at most 0 where u
        does not separate the rows, None without a comparator.
    comparator : which u, in words.
    bound : the mistakes that the theorem allows, or None.
    holds : whether mistakes ≤ bound, up to a relative 1e-9; None without a bound.
    form : which theorem: "separable", "squared slack", "hinge", "PA-I", "PA-II", "Forgetron", "rounds" where these
        say nothing, "sum" where the outputs' differ; None without a bound.
    epochs : passes over the rows.
    reason : why there is no bound; empty where there is one.
    target : the γ that the theorem is applied with, `margin` if "separable"; None for several outputs.
    weight_ratio : w_max/w_min, of which the bound has the square as a factor.
    constants : what the theorem has besides R and γ, by name: C of PA-I and PA-II, U of the Forgetron.
    conflict : two rows of X that are equal and have different labels, a proof that nothing separates them, or None.
    parts : the certificates of the outputs, where there are several.
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

    @property
    def holds(self) -> bool | None:
        """Whether mistakes ≤ bound, up to rounding."""
        return None if self.bound is None else self.mistakes <= self.bound * (1 + TOLERANCE)

    def __str__(self) -> str:
        done = f"{count(self.mistakes, 'mistake')} in {count(self.epochs, 'epoch')}"
        if self.form is None:
            return f"no certificate: {done}\n  {self.reason}"
        lines = [f"{'certified' if self.holds else 'NOT certified'}: {done}, at most {self.bound:.6g} by the theorem"]
        if not self.holds:
            lines.append("u is no vector of this feature space, or these are not the rows of the run")
        lines.append(f"{self.form}: {FORMULAS[self.form]}")
        if self.weight_ratio != 1:
            lines.append(f"times (w_max/w_min)² = {self.weight_ratio**2:.6g} for the weights")
        at = "" if self.target is None else f", γ = {self.target:.6g}"
        at += "".join(f", {name} = {value:.6g}" for name, value in self.constants)
        lines += [f"R = max K(x, x) = {self.radius_sq:.6g}{at}, u is {self.comparator}", self._separation()]
        for c, part in enumerate(self.parts[:SHOWN]):
            lines.append(f"output {c}: {count(part.mistakes, 'mistake')}, at most {part.bound:.6g} ({part.form})")
        if len(self.parts) > SHOWN:
            lines.append(f"and {len(self.parts) - SHOWN} more outputs")
        return "\n  ".join(lines)

    def _separation(self) -> str:
        if self.margin is not None and self.margin > 0:
            return f"u separates the rows with margin {self.margin:.6g}"
        if self.conflict is not None:
            return f"not separable: rows {self.conflict[0]} and {self.conflict[1]} are equal and have different labels"
        return f"no separator found in {count(self.epochs, 'epoch')}"


def count(n: int, what: str) -> str:
    """n and its noun, which has an s unless n is 1."""
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def uncertified(mistakes: NDArray | int, radius_sq: float | None, epochs: int, reason: str) -> Certificate:
    """A certificate without a bound, that says why there is none.

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
    """A bound for every comparator: from B = √R/γ, TΣz and TΣz², each a number or an array.

    `largest` is the largest B that it holds for. Without slack only, it is `separable`.
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
    """Of a passive-aggressive learner   [Crammer et al. 2006, theorems 2, 4 and 5: a mistake has a loss ≥ 1]."""
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
    """Of a Forgetron with a budget ≥ 83   [Dekel, Shalev-Shwartz and Singer 2008; several outputs: above]."""
    U = 0.25 * math.sqrt((budget + 1) / (math.log(budget + 1) + 2 * math.log(n_outputs)))
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
) -> Certificate:
    """The certificate of a run whose numbers are known; nothing is checked.

    Of each output the smallest bound over all theorems and all γ, for a perceptron of R/γ², ((√R + √T·D)/γ)² and
    L + R/γ² + √(R·L)/γ; then their sum.

    Parameters
    ----------
    mistakes : (outputs,), updates of each.
    margins : (n, outputs), y_ic f_c(xᵢ) of every row under the comparator f, of any length.
    norms : (outputs,), ‖f_c‖ in feature space: √(αᵀKα), of K + 1 with an intercept; 0 is no comparator. With a bias
        that is no part of this length, as in an SVC, the bound is false.
    radius_sq : the largest K(x, x), of K + 1 with an intercept.
    epochs : how often each row was met, at most.
    comparator : which f, in words.
    is_psd : whether the kernel, or else its Gram matrix on these rows, is positive semi-definite. Only True gives a
        bound; None, unknown, does not.
    weight_ratio : ≥ 1, the largest step of an update over the smallest.
    theorems : those of the learner.

    Cost: O(n log n) a output.

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
        return uncertified(mistakes, radius_sq, epochs, why_not(is_psd))
    parts, length = [], math.sqrt(radius_sq)
    for k, yf, norm in zip(mistakes, margins.T, norms, strict=True):
        a = yf / (norm * length) if norm * length > 0 else None
        B, bound, theorem = _smallest_bound(theorems, a, len(yf), epochs, weight_ratio)
        margin = None if a is None else float(a.min()) * length
        target = length / B if B > 0 else None
        known = Certificate(int(k), float(radius_sq), margin, comparator, bound, theorem.form, epochs)
        parts.append(replace(known, target=target, weight_ratio=weight_ratio, constants=theorem.constants))
    return together(parts)


def why_not(is_psd: bool | None) -> str:
    """The reason of a certificate that has no bound because of its kernel."""
    what = "the kernel is not positive semi-definite: its values are no inner products"
    if is_psd is None:
        what = "whether the kernel is positive semi-definite is unknown; onkel.gram.check(kernel(X)) examines it"
    return f"{what}, and the theorem is about inner products only"


def together(parts: list[Certificate]) -> Certificate:
    """One output's certificate as it is; of several the sum."""
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


# ---------------------------------------------------------------- the best γ


def _smallest_bound(
    theorems: tuple[Theorem, ...], a: Floats | None, n: int, epochs: int, weight_ratio: float
) -> tuple[float, float, Theorem]:
    """B, the bound and its theorem for the cosines a; of two equal ones the first."""
    found: list[tuple[float, float, Theorem]] = []
    if a is not None:
        a = np.sort(a)
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
    found.append((0.0, float(epochs * n), Theorem("rounds", lambda B, slack, squares: slack)))
    best = found[0]
    for other in found[1:]:
        if other[1] < best[1] * (1 - TOLERANCE):
            best = other
    return best


def _best_scale(theorem: Theorem, a: Floats, sums: Floats, epochs: int) -> float:
    """The B of the smallest bound, by a grid and then finer ones around its best point.

    √ of the squared-slack bound is convex in B, and so are those without a root, so that nothing is missed there; above
    B = √(Tn) no bound is below the T·n rounds. The rows with slack are the first, a < 1/B, so that running sums of a
    and a² are enough to search by.
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
