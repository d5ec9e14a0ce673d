"""Budgets: where an example that is to be learned finds room, one small class each.

A learner has its support in slots. Where a rule (`onkel.learners.rules`) makes a step, the policy puts the
example into a slot, the next free one or one that it gives up, and may shrink all weights for it.

A policy needs nothing but its `take`. Those with a `code` have a twin in the compiled core,
cpp/online.h, and run there; any other runs here, in Python.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Example",
    "ForgetOldest",
    "ForgetRandom",
    "Grow",
    "Memory",
    "Policy",
    "ReplaceCheapest",
    "ShrinkByNorm",
    "ShrinkThenForget",
    "forgetron_radius",
]


@dataclasses.dataclass
class Memory:
    """The slots of a learner while it passes over a chunk, and the numbers that go along with them.

    The weight of slot j in output o is ``scale * A[o, j]``.
    """

    K: NDArray  # (b, slots): kernel values of the chunk with the slots
    K_chunk: NDArray  # (b, b): of the chunk with itself, on and below the diagonal; above it anything
    K_slots: NDArray | None  # (slots, slots): of the slots with themselves, where the policy needs them
    A: NDArray[np.float64]  # (outputs, slots)
    k_ss: NDArray[np.float64]  # (slots,): k(s, s)
    row_in_slot: NDArray[np.int64]  # (slots,): which row of the chunk a slot has taken, else −1
    sq_norms: NDArray[np.float64]  # (outputs,): ‖f‖², where the policy keeps it
    state: NDArray[np.float64]  # scale, spread, Q, M, φ
    places: NDArray[np.int64]  # how many slots are taken; the oldest of them once all are
    random: NDArray[np.uint64]  # the state of `draw`

    @property
    def scale(self) -> float:
        return float(self.state[0])

    @property
    def size(self) -> int:
        return int(self.places[0])

    @property
    def full(self) -> bool:
        return bool(self.size == self.A.shape[1])

    def weights(self, slot: int) -> NDArray[np.float64]:
        """(outputs,) of a slot."""
        return self.scale * self.A[:, slot]

    def scores_of(self, slot: int) -> NDArray[np.float64]:
        """(outputs,): f of a support vector, as it is now."""
        assert self.K_slots is not None
        return self.scale * (self.A[:, : self.size] @ self.K_slots[slot, : self.size].astype(np.float64))

    def put(self, slot: int, i: int, steps: NDArray[np.float64]) -> None:
        """Row i of the chunk moves into a slot."""
        if slot == self.size:
            self.places[0] += 1
        self.A[:, slot] = steps / self.scale
        if self.K_slots is not None:
            self.K_slots[slot, : self.size] = self.K_slots[: self.size, slot] = self.K[i, : self.size]
            self.K_slots[slot, slot] = self.K_chunk[i, i]
        self.K[i + 1 :, slot] = self.K_chunk[i + 1 :, i]
        self.k_ss[slot] = self.K_chunk[i, i]
        self.row_in_slot[slot] = i

    def next_slot(self) -> int:
        """A free slot, or the oldest one's."""
        if not self.full:
            return self.size
        slot = int(self.places[1])
        self.places[1] = (slot + 1) % self.A.shape[1]
        return slot

    def draw(self, below: int) -> int:
        """A number from 0 to below − 1; splitmix64, as in the core."""
        with np.errstate(over="ignore"):
            self.random[0] += np.uint64(0x9E3779B97F4A7C15)
        z = int(self.random[0])
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return ((z ^ (z >> 31)) >> 32) * below >> 32


class Example(NamedTuple):
    """An example that is to be learned."""

    i: int  # its row of the chunk
    steps: NDArray[np.float64]  # (outputs,), what the rule says
    f: NDArray[np.float64]  # (outputs,), its scores before
    y: NDArray[np.float64]  # (outputs,), NaN where a output does not look
    w: float


@dataclasses.dataclass(frozen=True)
class Policy(ABC):
    """Puts examples into slots; the base of the policies."""

    budget: int | None = None
    code: ClassVar[int | None] = None  # of its twin in the core: online.h, Policy
    needs_gram: ClassVar[bool] = False  # of the support with itself

    @abstractmethod
    def take(self, memory: Memory, new: Example) -> None:
        """Finds an example a slot."""


class Grow(Policy):
    """No budget: always a new slot."""

    code = 0

    def take(self, memory: Memory, new: Example) -> None:
        memory.put(memory.size, new.i, new.steps)


class ForgetOldest(Policy):
    """Gives up the oldest vector."""

    code = 1

    def take(self, memory: Memory, new: Example) -> None:
        memory.put(memory.next_slot(), new.i, new.steps)


class ForgetRandom(Policy):
    """Gives up a vector drawn at random   [Cesa-Bianchi and Gentile 2007]."""

    code = 2

    def take(self, memory: Memory, new: Example) -> None:
        memory.put(memory.draw(memory.size) if memory.full else memory.size, new.i, new.steps)


def self_tuned_shrink(s: float, m: float, k: float, Q: float, M: float) -> float:
    """The largest φ ≤ 1 with Q + Ψ(φs, φm) ≤ (15/32) M, where Ψ(λ, μ) = kλ² + 2kλ − 2λμ.

    s is the weight of the vector to be forgotten, m = Σ y f(x) over the k outputs in which it erred.
    The root of aφ² + bφ + c in its stable form, −2c / (b + √d), which is right for every sign of a.
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


def forgetron_radius(budget: int) -> float:
    """U = ¼ √((B + 1) / ln(B + 1)): how long a comparator may be   [Dekel, Shalev-Shwartz and Singer 2008]."""
    return 0.25 * math.sqrt((budget + 1) / math.log(budget + 1))


class ShrinkThenForget(Policy):
    """Shrinks all weights just enough that the oldest vector can be forgotten at little cost."""

    code = 3
    needs_gram = True

    def take(self, memory: Memory, new: Example) -> None:
        memory.state[3] += np.count_nonzero(new.steps)
        k, s, m = self._oldest(memory, new) if memory.full else (0, 0.0, 0.0)
        phi = self._shrink(memory, new, k, s, m)
        memory.state[2] += k * (phi * s) ** 2 + 2 * k * phi * s - 2 * phi * s * phi * m
        memory.put(memory.next_slot(), new.i, new.steps)
        memory.state[0] *= phi
        memory.state[4] = phi

    def _oldest(self, memory: Memory, new: Example) -> tuple[int, float, float]:
        """Of the oldest vector: the outputs in which it erred, its weight, and Σ y f(x) with the new example."""
        r = int(memory.places[1])
        alpha = memory.weights(r)
        after = memory.scores_of(r) + new.steps * float(memory.K[new.i, r])
        return int(np.count_nonzero(alpha)), float(np.abs(alpha).max()), float(np.sign(alpha) @ after)

    def _shrink(self, memory: Memory, new: Example, k: int, s: float, m: float) -> float:
        return self_tuned_shrink(s, m, k, memory.state[2], memory.state[3]) if k else 1.0


class ShrinkByNorm(ShrinkThenForget):
    """Shrinks all weights by a fixed factor at every mistake, and more where a output's ‖f‖ exceeds U."""

    code = 4

    def _shrink(self, memory: Memory, new: Example, k: int, s: float, m: float) -> float:
        (i, steps, f, *_), sq_norms, B = new, memory.sq_norms, memory.A.shape[1]
        sq_norms += 2 * steps * f + steps * steps * float(memory.K_chunk[i, i])
        phi = min(float((B + 1) ** (-1 / (2 * (B + 1)))), forgetron_radius(B) / math.sqrt(sq_norms.max()))
        if memory.full:
            r = int(memory.places[1])
            alpha, after = memory.weights(r), memory.scores_of(r) + steps * float(memory.K[i, r])
            sq_norms -= 2 * alpha * after - alpha * alpha * memory.k_ss[r]
        sq_norms[:] = np.maximum(0.0, phi * phi * sq_norms)
        return phi


class ReplaceCheapest(Policy):
    """BPA-S: the example takes the place of the vector that this costs least, and what it can of its weight.

    To give up r for x with β = α_r k(r, x)/k(x, x) + τ y changes f by ½‖α_r φ(r) − β φ(x)‖², and leaves the loss of x
    what it is without a budget, whatever r: the least of α_r² (k(r, r) − k(r, x)²/k(x, x)) goes, with several
    outputs of their sum; of equal ones the first.
    [Wang and Vucetic 2010, Online passive-aggressive algorithms on a budget]
    """

    code = 5

    def take(self, memory: Memory, new: Example) -> None:
        i, steps, *_ = new
        if not memory.full:
            memory.put(memory.size, i, steps)
            return
        krx, kxx = memory.K[i].astype(np.float64), float(memory.K_chunk[i, i])
        cost = (memory.A**2).sum(axis=0) * (memory.k_ss - krx * krx / kxx)
        r = int(cost.argmin())
        steps += memory.weights(r) * (krx[r] / kxx)
        memory.put(r, i, steps)
