"""The solution of LASVM: the variables of all outputs, in slots, and its record. cpp/learn/lasvm.h works on it.

Each kept example is in a slot, which all outputs share. A solution has room for more slots than are in use, and knows
nothing of the rows of the data (`onkel.learners.storage.slots`) or of kernel values
(`onkel.learners.storage.kernel_rows`). A part of a stream is learned on a copy, which takes the place of the solution
when everything is ready.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native
from onkel.kernels.rows import GramRows, Rows
from onkel.kernels.vectors import VectorRows
from onkel.learners.storage.savepoint import CopySavepoint
from onkel.learners.storage.slots import DENSE_FEATURES
from onkel.states.state import State

__all__ = ["KeptExamples", "LasvmSolution", "kept_of_state"]

FREE_BYTES = 1 << 29  # the memory that the free slots of a state may take

# cpp/learn/lasvm.h has structs with the same fields
OUTPUT = np.dtype(
    [
        ("top", np.int64),  # the slot with the largest gradient of those whose α can grow, or −1
        ("bottom", np.int64),  # the slot with the smallest gradient of those whose α can shrink, or −1
        ("n_zeros", np.int64),  # length of the list `zeros`
        ("offset", np.float64),  # b
    ]
)
SLOT = np.dtype(
    [
        ("row_id", np.int64),  # −1 if the slot is free
        ("n_keepers", np.int64),  # outputs that keep its example
        ("box", np.float64),  # C, times the weight of the example
        ("diagonal", np.float64),  # k(x, x)
    ]
)


class KeptExamples(NamedTuple):
    """What is known of the m examples that are kept, in the order of their slots."""

    slots: NDArray[np.int64]  # (m,), ascending
    row_ids: NDArray[np.int64]  # (m,)
    box: NDArray[np.float64]  # (m,): the bound of |α|
    diagonal: NDArray[np.float64]  # (m,): k(x, x)
    alpha: NDArray[np.float64]  # (outputs, m), signed
    gradient: NDArray[np.float64]  # (outputs, m): y − Σ α k, of the examples that an output keeps
    sign: NDArray[np.int8]  # (outputs, m): y, or 0 where an output does not keep the example

    def of_slots(self, chosen: NDArray[np.bool_]) -> KeptExamples:
        """Those of the examples that are chosen, (m,), as copies."""
        per_slot = (self.slots[chosen], self.row_ids[chosen], self.box[chosen], self.diagonal[chosen])
        return KeptExamples(*per_slot, self.alpha[:, chosen], self.gradient[:, chosen], self.sign[:, chosen])


class LasvmSolution:
    """The variables of each output on the examples in the slots, with room for `capacity` slots or a few more.

    `alpha` and `gradient` (outputs, capacity) are those of KeptExamples. `can_grow` is 0 where α may grow, else −inf;
    `can_shrink` is 0 where α may shrink, else inf. `zeros` lists the slots with α = 0 that an output keeps, and
    `listed` marks them; one whose α has changed since leaves the list later. `freed` is a heap of the free slots.
    """

    def __init__(self, n_outputs: int, capacity: int) -> None:
        self.capacity = _rounded(capacity)
        shape = (n_outputs, self.capacity)
        self.record = _native.LasvmRecord()
        self.outputs: NDArray[np.void] = np.zeros(n_outputs, dtype=OUTPUT)
        self.outputs["top"] = self.outputs["bottom"] = -1
        self.slots: NDArray[np.void] = np.zeros(self.capacity, dtype=SLOT)
        self.freed = np.zeros(self.capacity, dtype=np.int64)
        self.alpha, self.gradient = np.zeros(shape), np.zeros(shape)
        self.can_grow, self.can_shrink = np.full(shape, -np.inf), np.full(shape, np.inf)
        self.sign, self.listed = np.zeros(shape, dtype=np.int8), np.zeros(shape, dtype=np.int8)
        self.zeros = np.zeros(shape, dtype=np.int64)
        self.core = _native.lasvm_solution(
            record=self.record,
            outputs=self.outputs.view(np.uint8),
            slots=self.slots.view(np.uint8),
            freed=self.freed,
            alpha=self.alpha,
            gradient=self.gradient,
            can_grow=self.can_grow,
            can_shrink=self.can_shrink,
            sign=self.sign,
            listed=self.listed,
            zeros=self.zeros,
        )

    # ---------------------------------------------------------------- what it holds

    @property
    def n_slots(self) -> int:
        """The number of slots that were ever used."""
        return self.record.n_slots

    @property
    def n_kept(self) -> int:
        """The number of examples that are kept."""
        return self.record.n_slots - self.record.n_free

    def kept(self) -> KeptExamples:
        """The examples that are kept, as copies."""
        records = self.slots[: self.n_slots]
        everything = KeptExamples(
            slots=np.arange(len(records)),
            row_ids=records["row_id"],
            box=records["box"],
            diagonal=records["diagonal"],
            alpha=self.alpha[:, : len(records)],
            gradient=self.gradient[:, : len(records)],
            sign=self.sign[:, : len(records)],
        )
        return everything.of_slots(records["row_id"] >= 0)

    def can_move(self) -> NDArray[np.bool_]:
        """Of each slot that was ever used: whether some output has its α between the bounds, but at neither."""
        size = np.abs(self.alpha[:, : self.n_slots])
        return np.asarray(((size > 0) & (size < self.slots["box"][: self.n_slots])).any(axis=0))

    def objective(self) -> NDArray[np.float64]:
        """The objective of each output: ½ αᵀKα − yᵀα = −½ Σ α (y + g)."""
        _, _, _, _, alpha, g, y = self.kept()
        found: NDArray[np.float64] = -0.5 * (alpha * (y + g)).sum(axis=1)
        return found

    def rounding(self) -> NDArray[np.float64]:
        """About the rounding error of each objective: ε times the sizes of its terms."""
        _, _, _, _, alpha, g, y = self.kept()
        found: NDArray[np.float64] = np.finfo(np.float64).eps * (np.abs(alpha) * (np.abs(y) + np.abs(g))).sum(axis=1)
        return found

    def gap(self) -> NDArray[np.float64]:
        """The duality gap of each output on the examples it keeps: a bound of its distance from the optimum."""
        _, _, C, _, alpha, g, y = self.kept()
        slack = np.maximum(0.0, y * (g - self.outputs["offset"][:, None]))  # 1 − y f
        cost = np.zeros_like(slack)
        with np.errstate(over="ignore"):
            np.multiply(C, slack, out=cost, where=slack > 0)  # C may be infinite
        found: NDArray[np.float64] = (0.5 * alpha * (y - g) + cost).sum(axis=1) + self.objective()
        return found

    # ---------------------------------------------------------------- copies

    def capacity_for(self, n_slots: int) -> int:
        """The capacity of a copy with room for so many slots; it grows by half at least."""
        return self.capacity if n_slots <= self.capacity else _rounded(max(n_slots, 3 * self.capacity // 2))

    def savepoint(self) -> CopySavepoint:
        """The present solution: a copy, because slots are overwritten."""
        return CopySavepoint(self.copy())

    def copy(self, capacity: int | None = None, into: LasvmSolution | None = None) -> LasvmSolution:
        """An independent copy with room for `capacity` slots, in the memory of `into` if that has as much."""
        capacity = self.capacity if capacity is None else capacity
        if into is None or into.capacity < capacity or len(into.outputs) != len(self.outputs):
            into = LasvmSolution(len(self.outputs), capacity)
        into.core.assign(self.core)
        return into

    @classmethod
    def of(cls, kept: KeptExamples, offset: NDArray[np.float64], *, n_slots: int = 0) -> LasvmSolution:
        """The solution with these examples and b of each output; nothing is counted yet.

        Examples that no output keeps are dropped. `n_slots` is the least number of slots. The solution goes on exactly
        as the one that `kept` comes from: neither the order of `zeros` nor that of the heap matters, and free slots
        after the last one in use are as good as new.
        """
        kept = kept.of_slots(np.asarray(kept.sign.any(axis=0)))
        slots, n_slots = kept.slots, max(n_slots, int(kept.slots.max(initial=-1)) + 1)
        new = cls(len(offset), n_slots)
        records = new.slots[:n_slots]
        records["row_id"] = -1
        records["row_id"][slots], records["box"][slots], records["diagonal"][slots] = (
            kept.row_ids,
            kept.box,
            kept.diagonal,
        )
        records["n_keepers"][slots] = (kept.sign != 0).sum(axis=0)
        free = np.flatnonzero(records["row_id"] < 0)
        new.freed[: len(free)] = free  # in ascending order, which is a heap
        new.alpha[:, slots], new.gradient[:, slots], new.sign[:, slots] = kept.alpha, kept.gradient, kept.sign
        high, low = np.maximum(0.0, kept.box * kept.sign), np.minimum(0.0, kept.box * kept.sign)
        new.can_grow[:, slots] = np.where(kept.alpha < high, 0.0, -np.inf)
        new.can_shrink[:, slots] = np.where(kept.alpha > low, 0.0, np.inf)
        new.listed[:, slots] = (kept.sign != 0) & (kept.alpha == 0)
        for output, listed, zeros in zip(new.outputs, new.listed, new.zeros, strict=True):
            at_zero = np.flatnonzero(listed)
            zeros[: len(at_zero)], output["n_zeros"] = at_zero, len(at_zero)
        new.outputs["top"] = _first_largest(new.gradient + new.can_grow)
        new.outputs["bottom"] = _first_largest(-new.gradient - new.can_shrink)
        new.outputs["offset"] = offset
        new.record.n_slots, new.record.n_free = n_slots, len(free)
        return new

    def with_outputs(self, output_map: NDArray[np.float64]) -> LasvmSolution:
        """A copy with other outputs.

        `output_map` (old outputs, new outputs): 1 copies an output, −1 mirrors it, a column of zeros starts one at 0.
        """
        flip = output_map.sum(axis=0)  # 1, −1 or 0
        source, kept = np.abs(output_map).argmax(axis=0), self.kept()
        signed = (kept.alpha[source], kept.gradient[source], kept.sign[source])
        alpha, gradient, sign = (_times(values, flip[:, None]) for values in signed)
        new = kept._replace(alpha=alpha, gradient=gradient, sign=sign)
        offset = _times(self.outputs["offset"][source], flip)
        found, before = self.of(new, offset, n_slots=self.n_slots), self.record
        found.record.add(before.n_seen, before.next_row_id - 1, before.n_mistakes, before.n_updates)
        return found


def _rounded(capacity: int) -> int:
    """A little more: an odd multiple of 16 is never a power of two, so rows do not compete for one cache set."""
    return 16 * (-(-max(capacity, 64) // 16) | 1)


def _times(values: NDArray, flip: NDArray[np.float64]) -> NDArray:
    """values · flip for factors 1, −1 and 0, in the dtype of the values; 0 whatever the value is if the factor is 0."""
    return np.where(flip == 0, 0, values * flip).astype(values.dtype)


def _first_largest(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """The first place of the largest value in each row; −1 if that is −inf."""
    at = values.argmax(axis=1)
    found: NDArray[np.int64] = np.where(np.isneginf(values.max(axis=1)), -1, at)
    return found


# ---------------------------------------------------------------- from a state


def kept_of_state(state: State, rows: Rows, n_outputs: int) -> KeptExamples:
    """The examples that a state keeps, one for each of the rows."""
    m, shape = len(rows), (n_outputs, len(rows))
    slots = state.indices("slots", _most_slots(rows, n_outputs), m)
    state.check((slots[1:] > slots[:-1]).all(), "the array 'slots' must ascend")
    row_ids = state.indices("row_ids", state.count("next_row_id"), m)
    state.check(len(np.unique(row_ids)) == m, "each row must be kept once")
    box, alpha = state.array("box", np.float64, (m,)), state.array("alpha", np.float64, shape)
    sign = state.array("sign", np.int8, shape)
    state.check((box > 0).all(), "the array 'box' must be positive")
    state.check(np.isin(sign, (-1, 0, 1)).all() and sign.any(axis=0).all(), "some output must keep each of the rows")
    inside = (sign * alpha >= 0) & (np.abs(alpha) <= np.where(sign == 0, 0.0, box))
    state.check(inside.all(), "the array 'alpha' must be within its bounds")
    if isinstance(rows, GramRows):
        state.check(rows.block is not None and rows.diagonal is not None, "rows of a Gram matrix must be complete")
    diagonal, gradient = state.array("diagonal", np.float64, (m,)), state.array("gradient", np.float64, shape)
    return KeptExamples(slots, row_ids, box, diagonal, alpha, gradient, sign)


def _most_slots(rows: Rows, n_outputs: int) -> int:
    """How many slots a state may have: the free ones between the others are not in it, but take memory all the same."""
    width = 0
    if isinstance(rows, VectorRows):
        width = rows.n_features if rows.is_dense else min(rows.n_features, DENSE_FEATURES)
    elif isinstance(rows, GramRows) and rows.block is not None:
        width = rows.block.shape[1]
    return max(FREE_BYTES // (8 * width + 64 * (n_outputs + 1)), 64 * len(rows))
