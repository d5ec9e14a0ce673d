"""Budget policies: which support vector makes room for a new one. Each policy is a small class.

A learner keeps its support vectors in slots, as many as its budget. When the rule (`onkel.learners.rules`) makes a
step on an example, the policy puts the example into a slot: a free one or, if there is none, that of a support vector
which it removes. It may also shrink all weights.

A policy has one method, `take`. The policies in `NATIVE` have a twin in the compiled core, cpp/learn/budget.h, and run
there; any other policy runs here, in Python.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native

__all__ = [
    "NATIVE",
    "POLICIES",
    "Example",
    "ForgetOldest",
    "ForgetRandom",
    "Grow",
    "Memory",
    "Policy",
    "RecordField",
    "ReplaceCheapest",
    "ShrinkByNorm",
    "ShrinkThenForget",
    "forgetron_radius",
]


N = TypeVar("N", int, float)


class RecordField(Generic[N]):
    """An attribute that is the number of the same name of the owner's `record` (struct BudgetRecord in the core)."""

    def __set_name__(self, kind: type, name: str) -> None:
        self.name = name

    def __get__(self, owner: Any, kind: type | None = None) -> N:
        if owner is None:
            raise AttributeError(self.name)
        value: N = getattr(owner.record, self.name)
        return value

    def __set__(self, owner: Any, value: N) -> None:
        setattr(owner.record, self.name, value)


@dataclasses.dataclass
class Memory:
    """The slots of a learner while it learns from a chunk, and the numbers that belong to them.

    The weight of slot j in output o is ``scale * coef[o, j]``. `support_scale` is for a learner without a
    budget the product of the scales that were multiplied into `coef`: its weights outside the slots are multiplied by
    it. Q, M and `shrink` are the Forgetron's: the cost of all removals so far, the number of mistakes, and φ, the last
    factor by which it shrank. `size` is the number of slots in use, `head` the oldest slot, once all are in use, and
    `random` the state of the generator of `draw`.

    The arrays have room for as many slots as can be in use at the end of the chunk; once the budget is full, for all of
    its slots.
    """

    K: NDArray  # (b, slots): kernel values of the chunk with the slots
    K_chunk: NDArray  # (b, b): of the chunk with itself, on and below the diagonal; undefined above it
    K_slots: NDArray | None  # (slots, slots): of the slots with each other, or None if the policy does not need them
    coef: NDArray[np.float64]  # (outputs, slots)
    k_ss: NDArray[np.float64]  # (slots,): k(s, s)
    row_in_slot: NDArray[np.int64]  # (slots,): the row of the chunk that took a slot, or −1
    base: NDArray[np.float64] | None  # (b, outputs): scores by weights outside the slots, without both scales
    sq_norms: NDArray[np.float64]  # (outputs,): ‖f‖², if the policy computes it
    margin: NDArray[np.float64]  # (outputs,): NORMA's ρ or ε, and
    offset: NDArray[np.float64]  # (outputs,): b
    record: _native.BudgetRecord  # the numbers
    budget: int | None  # the most slots, or None

    scale = RecordField[float]()
    support_scale = RecordField[float]()
    Q = RecordField[float]()
    M = RecordField[float]()
    shrink = RecordField[float]()
    size = RecordField[int]()
    head = RecordField[int]()
    random = RecordField[int]()

    @property
    def full(self) -> bool:
        """Whether all slots are in use."""
        return self.size == self.budget

    def weights(self, slot: int) -> NDArray[np.float64]:
        """The weights of a slot, (outputs,)."""
        return self.scale * self.coef[:, slot]

    def scores_of(self, slot: int) -> NDArray[np.float64]:
        """The present scores f(s) of the support vector in a slot, (outputs,)."""
        assert self.K_slots is not None
        return self.scale * (self.coef[:, : self.size] @ self.K_slots[slot, : self.size].astype(np.float64))

    def put(self, slot: int, i: int, steps: NDArray[np.float64]) -> None:
        """Puts row i of the chunk into a slot, with `steps` (outputs,) as its weights."""
        if slot == self.size:
            self.size += 1
        self.coef[:, slot] = steps / self.scale
        if self.K_slots is not None:
            self.K_slots[slot, : self.size] = self.K_slots[: self.size, slot] = self.K[i, : self.size]
            self.K_slots[slot, slot] = self.K_chunk[i, i]
        self.K[i + 1 :, slot] = self.K_chunk[i + 1 :, i]
        self.k_ss[slot] = self.K_chunk[i, i]
        self.row_in_slot[slot] = i

    def fold_scale(self) -> None:
        """Multiplies the common factor into the weights and resets it to 1, when it has become small."""
        self.coef[:, : self.size] *= self.scale
        if self.budget is None:  # else there are no weights outside the slots, and it would underflow in the end
            self.support_scale *= self.scale
        self.scale = 1.0

    def next_slot(self) -> int:
        """The next free slot or, if there is none, the slot of the oldest support vector."""
        if not self.full:
            return self.size
        slot = self.head
        self.head = (slot + 1) % self.size
        return slot

    def draw(self, below: int) -> int:
        """A random number from 0 to below − 1, by splitmix64: the same numbers that the core draws."""
        z = self.random = (self.random + 0x9E3779B97F4A7C15) % 2**64
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return ((z ^ (z >> 31)) >> 32) * below >> 32


class Example(NamedTuple):
    """An example on which the rule makes a step."""

    i: int  # its row in the chunk
    steps: NDArray[np.float64]  # (outputs,): the rule's steps; `take` may add to them, and the ledger gets the sums
    f: NDArray[np.float64]  # (outputs,): its scores before the step
    y: NDArray[np.float64]  # (outputs,): its targets
    w: float  # its sample weight


POLICIES: dict[str, type[Policy]] = {}  # every policy by the name of its class, by which a state refers to it


@dataclasses.dataclass(frozen=True)
class Policy(ABC):
    """The base of all policies: puts examples into slots.

    `budget` is the number of slots, ≥ 1; None (default): no limit.
    """

    budget: int | None = None
    needs_gram: ClassVar[bool] = False  # whether it reads the kernel values of the slots with each other
    needs_unit_length: ClassVar[bool] = False  # whether it relies on k(x, x) ≤ 1

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        POLICIES[cls.__name__] = cls

    @abstractmethod
    def take(self, memory: Memory, new: Example) -> None:
        """Puts the example into a slot."""


class Grow(Policy):
    """No budget: every example gets a new slot."""

    def take(self, memory: Memory, new: Example) -> None:
        memory.put(memory.size, new.i, new.steps)


class ForgetOldest(Policy):
    """Removes the oldest support vector."""

    def take(self, memory: Memory, new: Example) -> None:
        memory.put(memory.next_slot(), new.i, new.steps)


class ForgetRandom(Policy):
    """Removes a support vector drawn at random   [Cavallanti, Cesa-Bianchi and Gentile 2007]."""

    def take(self, memory: Memory, new: Example) -> None:
        memory.put(memory.draw(memory.size) if memory.full else memory.size, new.i, new.steps)


def self_tuned_shrink(s: float, m: float, k: float, Q: float, M: float) -> float:
    """The largest φ ≤ 1 with Q + Ψ(φs, φm) ≤ (15/32) M, where Ψ(λ, μ) = kλ² + 2kλ − 2λμ.

    Ψ bounds the cost of removing the oldest vector x: s is its weight, and m = Σ y f(x) its margins, summed over the k
    outputs that made a mistake on it. φ is a root of aφ² + bφ + c, computed as −2c / (b + √d), which is numerically
    stable for either sign of a.
    [Dekel, Shalev-Shwartz and Singer 2008, sec. 4]
    """
    a, b, c = k * s * s - 2 * s * m, 2 * k * s, Q - 15 / 32 * M
    if a == 0:
        return min(1.0, -c / b)
    d = b * b - 4 * a * c
    root = math.sqrt(max(d, 0.0))
    if a > 0 or (d > 0 and (-b - root) / (2 * a) > 1):
        return min(1.0, -2 * c / (b + root))
    return 1.0


def forgetron_radius(budget: int, n_outputs: int = 1) -> float:
    """U = ¼ √((B + 1) / (ln(B + 1) + 2 ln c)), the largest norm of a competitor in the Forgetron's mistake bound.

    [Dekel, Shalev-Shwartz and Singer 2008 for c = 1 output; `onkel.bounds.theorems` for several that share a support]
    """
    return 0.25 * math.sqrt((budget + 1) / (math.log(budget + 1) + 2 * math.log(n_outputs)))


class ShrinkThenForget(Policy):
    """The self-tuned Forgetron: shrinks all weights just enough that removing the oldest vector costs little.

    [Dekel, Shalev-Shwartz and Singer 2008, sec. 4]
    """

    needs_gram, needs_unit_length = True, True

    def take(self, memory: Memory, new: Example) -> None:
        memory.M += np.count_nonzero(new.steps)
        k, s, m = self._oldest(memory, new) if memory.full else (0, 0.0, 0.0)
        phi = self._shrink(memory, new, k, s, m)
        memory.Q += k * (phi * s) ** 2 + 2 * k * phi * s - 2 * phi * s * phi * m
        memory.put(memory.next_slot(), new.i, new.steps)
        memory.scale *= phi
        memory.shrink = phi

    def _oldest(self, memory: Memory, new: Example) -> tuple[int, float, float]:
        """Of the oldest vector: the number k of outputs that made a mistake on it, its weight s, and its margins m.

        m = Σ y f(x) over these k outputs, where f already includes the new example.
        """
        r = memory.head
        alpha = memory.weights(r)
        after = memory.scores_of(r) + new.steps * float(memory.K[new.i, r])
        return int(np.count_nonzero(alpha)), float(np.abs(alpha).max()), float(np.sign(alpha) @ after)

    def _shrink(self, memory: Memory, new: Example, k: int, s: float, m: float) -> float:
        return self_tuned_shrink(s, m, k, memory.Q, memory.M) if k else 1.0


class ShrinkByNorm(ShrinkThenForget):
    """The basic Forgetron: shrinks all weights by a fixed factor at every mistake, and more if ‖f‖ > U in any output.

    [Dekel, Shalev-Shwartz and Singer 2008]
    """

    needs_unit_length = True

    def _shrink(self, memory: Memory, new: Example, k: int, s: float, m: float) -> float:
        (i, steps, f, *_), sq_norms, B = new, memory.sq_norms, self.budget
        assert B is not None
        sq_norms += 2 * steps * f + steps * steps * float(memory.K_chunk[i, i])
        phi, norm = float((B + 1) ** (-1 / (2 * (B + 1)))), math.sqrt(sq_norms.max())
        if norm > 0:  # k(x, x) may be 0
            phi = min(phi, forgetron_radius(B) / norm)
        if memory.full:
            r = memory.head
            alpha, after = memory.weights(r), memory.scores_of(r) + steps * float(memory.K[i, r])
            sq_norms -= 2 * alpha * after - alpha * alpha * memory.k_ss[r]
        sq_norms[:] = np.maximum(0.0, phi * phi * sq_norms)
        return phi


class ReplaceCheapest(Policy):
    """BPA-S: replaces the support vector whose removal, compensated by the new one's weight, changes f least in norm.

    The new example x replaces r with the weight β = τ y + α_r k(r, x)/k(x, x). Whichever r is removed, the score of x
    is then f(x) + τ y k(x, x), the same as without a budget, and f changes by

        ‖α_r φ(r) − β φ(x)‖² = α_r² (k(r, r) − k(r, x)²/k(x, x)) + τ² k(x, x).

    The r with the smallest first term is removed, summed over the outputs if there are several; the first of equals.
    [Wang and Vucetic 2010, Online passive-aggressive algorithms on a budget]
    """

    def take(self, memory: Memory, new: Example) -> None:
        i, steps, *_ = new
        if not memory.full:
            memory.put(memory.size, i, steps)
            return
        krx, kxx = memory.K[i].astype(np.float64), float(memory.K_chunk[i, i])
        cost = (memory.coef**2).sum(axis=0) * (memory.k_ss - krx * krx / kxx)
        r = int(cost.argmin())
        steps += memory.weights(r) * (krx[r] / kxx)
        memory.put(r, i, steps)


# The policies of the compiled core: kPolicies in cpp/learn/budget.h has the names of these classes.
NATIVE = (Grow, ForgetOldest, ForgetRandom, ShrinkThenForget, ShrinkByNorm, ReplaceCheapest)
