"""The learner of the support vector machine that learns online (cpp/lasvm.h has the algorithm).

A chunk is taken in parts. For each its kernel values with all that is kept, and with itself, are
computed at once; then PROCESS and REPROCESS of its examples, one by one, run in the core. What they
need of other kernel rows is there (`KernelRowCache`), or the core comes back to ask for it. The result does
not depend on the parts, nor on which rows were there: a kernel value depends on its two rows only, to the
bit, and an example has its slot, and so its place in every sum, from the order of the examples alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native, thread_count
from onkel.kernels import Kernel
from onkel.kernels.rows import Rows
from onkel.kernels.tiles import fill
from onkel.learners.kernel_cache import KernelRowCache
from onkel.learners.learner import ONE, as_targets, parts_of
from onkel.learners.ledger import Window
from onkel.learners.slots import KeptRows

__all__ = ["LasvmLearner"]

CHUNK = 256  # rows that are learned on one set of kernel values
STEPS = 10_000_000  # of FINISH for a output, where tol is below what rounding allows
WORK = 1 << 25  # entries of gradients that one native call goes through: some 0.05 s


class LasvmLearner:
    """One output per class, min ½ αᵀKα − yᵀα over what it keeps; f(x) = Σ α_s k(s, x) + b.

    `counts` are the mistakes (y f ≤ 0) and the steps of PROCESS of all outputs.
    """

    def __init__(
        self, kernel: Kernel, n_outputs: int, *, C: float, tol: float, cache_bytes: int, window: int = 1000
    ) -> None:
        self.kernel, self.C, self.tol = kernel, C, tol
        self.rows, self.cache = KeptRows(), KernelRowCache(cache_bytes, CHUNK)
        self.kept = np.zeros((3, 0), dtype=np.int64)  # of each slot: outputs that keep it, free ones, its row id
        self.sizes = np.zeros((2, 0))  # C and k(x, x)
        self.values: NDArray[np.float64] = np.zeros((4, n_outputs, 0))  # α, g, what bars them from rising, from falling
        self.marks: NDArray[np.int8] = np.zeros((2, n_outputs, 0), dtype=np.int8)  # y, and whether it is among `zeros`
        self.zeros = np.zeros((n_outputs, 0), dtype=np.int64)
        self.ends = np.full((n_outputs, 3), (-1, -1, 0))  # i, j, and how many are at zero
        self.level = np.zeros((n_outputs, 2))  # b and g_i − g_j
        self.tally = np.zeros(4, dtype=np.int64)  # slots, free ones, columns of the chunk, the clock
        self.counts = np.zeros(2, dtype=np.int64)
        self.ledger, self.rounds = Window(window), 0
        self.model: Any = None  # what the estimator last made of this state

    # ---------------------------------------------------------------- what was learned

    @property
    def n_outputs(self) -> int:
        return len(self.ends)

    @property
    def top(self) -> int:
        """Slots that were ever used."""
        return int(self.tally[0])

    def __len__(self) -> int:
        """How many examples are kept."""
        return int(self.tally[0] - self.tally[1])

    @property
    def offset(self) -> NDArray[np.float64]:
        return self.level[:, 0].copy()

    def support(self) -> tuple[Rows | None, NDArray[np.float64], NDArray[np.int64]]:
        """The support, its weights (m, outputs), and which rows of the data it is, in their order."""
        alpha = self.values[0]
        slots = np.flatnonzero(alpha.any(axis=0))
        slots = slots[np.argsort(self.kept[2, slots])]
        rows = self.rows.as_given(slots) if len(slots) else None
        return rows, np.ascontiguousarray(alpha[:, slots].T), self.kept[2, slots]

    def scores(self, x: Rows) -> NDArray[np.float64]:
        """(n, outputs)."""
        out = np.tile(self.level[:, 0], (len(x), 1))
        if len(self.rows):
            self.rows.add_scores(self.kernel, x, self.values[0, :, : self.top].T, out)
        return out

    def objective(self) -> NDArray[np.float64]:
        """½ αᵀKα − yᵀα of each output = −½ Σ α (y + g)."""
        alpha, g, y = *self.values[:2, :, : self.top], self.marks[0, :, : self.top]
        found: NDArray[np.float64] = -0.5 * (alpha * (y + g)).sum(axis=1)
        return found

    def gap(self) -> NDArray[np.float64]:
        """How far each output can be from the best on what it keeps: the primal less the dual objective."""
        alpha, g, y = *self.values[:2, :, : self.top], self.marks[0, :, : self.top]
        slack = np.maximum(0.0, y * (g - self.level[:, :1]))  # 1 − y f
        found: NDArray[np.float64] = (0.5 * alpha * (y - g) + self.sizes[0, : self.top] * slack).sum(
            axis=1
        ) + self.objective()
        return found

    # ---------------------------------------------------------------- changes

    def change_outputs(self, output_map: NDArray[np.float64]) -> None:
        """New outputs that are copies, mirror images or zeros: each column of (old, new) says which."""
        sign, source = output_map.sum(axis=0), np.abs(output_map).argmax(axis=0)
        values, marks = np.ascontiguousarray(self.values[:, source]), np.ascontiguousarray(self.marks[:, source])
        ends, level, zeros = self.ends[source], self.level[source], self.zeros[source]
        mirrored, fresh = np.flatnonzero(sign < 0), np.flatnonzero(sign == 0)
        values[:2, mirrored] *= -1
        values[2:, mirrored] = -values[:1:-1, mirrored]
        marks[0, mirrored] *= -1
        ends[mirrored, :2] = ends[mirrored, 1::-1]
        level[mirrored, 0] *= -1
        values[:2, fresh], values[2, fresh], values[3, fresh] = 0.0, -np.inf, np.inf
        marks[:, fresh], ends[fresh], level[fresh] = 0, (-1, -1, 0), 0.0
        self.values, self.marks, self.zeros, self.ends, self.level = values, marks, zeros, ends, level
        self.kept[0] = (marks[0] != 0).sum(axis=0)
        self.ledger = self.ledger.remapped(output_map)

    def add_features(self, n_features: int) -> None:
        """More features, in which all that was learned is 0."""
        self.rows.add_features(n_features)
        self.model = None

    def savepoint(self) -> Any:
        """What `rollback` needs to undo all learning from now on."""
        return parts_of(self)

    def rollback(self, savepoint: Any) -> None:
        vars(self).update(savepoint)

    def end_epoch(self) -> None:
        """Nothing to merge: a row that is met again is kept once."""

    def _make_room(self, size: int, dtype: np.dtype) -> None:
        old = self.values.shape[2]
        if size > old:
            cap = 16 * (-(-max(size, 3 * old // 2, 64) // 16) | 1)  # never a power of two
            more, c = cap - old, self.n_outputs
            self.kept = np.concatenate([self.kept, np.tile([[0], [0], [-1]], more)], axis=1)
            self.sizes = np.concatenate([self.sizes, np.zeros((2, more))], axis=1)
            bars = np.broadcast_to(np.array([0.0, 0.0, -np.inf, np.inf])[:, None, None], (4, c, more))
            self.values = np.concatenate([self.values, bars], axis=2)
            self.marks = np.concatenate([self.marks, np.zeros((2, c, more), dtype=np.int8)], axis=2)
            self.zeros = np.concatenate([self.zeros, np.zeros((c, more), dtype=np.int64)], axis=1)
        if self.cache.values.shape[1] != self.values.shape[2] or self.cache.values.dtype != dtype:
            self.cache.make_room(self.values.shape[2], dtype)

    # ---------------------------------------------------------------- learning

    def learn(
        self, x: Rows, y: NDArray[np.float64], w: NDArray[np.float64], row_ids: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Examples, one by one: y (n, outputs), w and the ids of the rows (n,). Their scores before each."""
        y, F, start = as_targets(y), np.empty(y.shape), 0
        at = self._slots_of(row_ids)
        while start < len(x):
            self._make_room(self.top + min(CHUNK, len(x) - start), x.dtype)
            part = slice(start, start + min(CHUNK, self.cache.area))
            piece = x[part] if len(x) > part.stop - start else x
            F[part] = self._learn(piece, y[part], self.C * w[part], row_ids[part], at[part])
            start += len(piece)
        return F

    def learn_one(self, x: Rows, y: NDArray[np.float64], row_id: int) -> None:
        """One example of weight 1, y (1, outputs)."""
        self.learn(x, y, ONE, np.array([row_id]))

    def _slots_of(self, row_ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where rows of the data are kept already, in a later epoch; else −1."""
        found, held = np.full(len(row_ids), -1), self.kept[2, : self.top]
        if len(held) and row_ids.min() <= held.max():
            order = np.argsort(held)
            near = order[np.minimum(np.searchsorted(held, row_ids, sorter=order), len(held) - 1)]
            found = np.where(held[near] == row_ids, near, -1)
        return found

    def _learn(
        self, x: Rows, y: NDArray[np.float64], C: NDArray[np.float64], row_ids: NDArray, at: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        b = len(x)
        K_chunk, log = np.empty((b, b), dtype=x.dtype), np.empty((b, 2), dtype=np.int64)
        fill(self.kernel, x, x, K_chunk)
        self.rows.fill(self.kernel, x, self.cache.values[:b])
        F, steps, position = np.zeros(y.shape), np.zeros(y.shape), np.zeros(4, dtype=np.int64)
        self.tally[2], self.cache.held[2] = 0, 0
        state = self._state(K_chunk, log)
        args = (*state, y, C, row_ids, at, position, F, steps, self.counts)
        try:
            while position[0] < b:
                self._pass(args, WORK)
        except KeyboardInterrupt:
            while position[2] > 0:  # the example whose turn it is
                self._pass(args, 1)
            raise
        finally:
            self._end_chunk(x, state, position, log)
            seen = int(position[0])
            self.ledger.add(steps[:seen], self.rounds + 1 + np.arange(seen), row_ids[:seen])
            self.rounds += seen
        return F

    def _state(self, K_chunk: NDArray, log: NDArray[np.int64]) -> tuple[Any, ...]:
        cache, kept = self.cache, (self.kept, self.sizes, self.values, self.marks, self.zeros)
        rows = (cache.values, cache.held, cache.place, cache.area)
        return self.tol, *rows, *kept, self.ends, self.level, self.tally, K_chunk, log

    def _pass(self, args: tuple[Any, ...], work: int) -> None:
        need = _native.lasvm_pass(*args, work)
        if need >= 0:
            self._fetch(need)

    def _fetch(self, slot: int) -> None:
        """The kernel row of a slot takes the place of that which was not used for longest."""
        place, slots = self.cache.vacate(1, self.cache.open - self.cache.area + 1), np.array([slot])
        self.rows.fill(self.kernel, self.rows[slots], self.cache.values[place[0], None])
        self.cache.give(place, slots, int(self.tally[3]))

    def _end_chunk(self, x: Rows, state: tuple[Any, ...], position: NDArray[np.int64], log: NDArray[np.int64]) -> None:
        """What is left of a chunk moves into its slots, and its kernel rows to the cache."""
        cache, tally = self.cache, self.tally
        if position[2] > 0:  # an error, or a second Ctrl-C: the example stays as it is now, where a output keeps it
            position[0] += 1
            self._release(int(position[3]))
        _native.lasvm_end_chunk(*state, cache.open, thread_count())
        brought = log[: tally[2]][::-1]
        if len(brought):
            slots, last = np.unique(brought[:, 1], return_index=True)  # the last that took each slot
            taken = brought[last, 0]
            self.rows.put(slots, x[taken] if len(x) > 1 else x)
        here = np.flatnonzero(cache.held[0, : cache.area] >= 0)
        slots = cache.held[0, here]
        stay = cache.place[slots] == here
        size = np.abs(self.values[0])
        moves = ((size > 0) & (size < self.sizes[0])).any(axis=0)
        stay &= moves[slots]
        here, slots = here[stay], slots[stay]
        cache.held[0, : cache.area] = -1
        cache.place[cache.place < cache.area] = -1
        if len(here):
            places = cache.vacate(len(here), 2 * int(moves.sum()) + CHUNK)
            here, slots = here[: len(places)], slots[: len(places)]
            cache.values[places, : self.top] = cache.values[here, : self.top]
            cache.give(places, slots, int(tally[3]))

    def _release(self, slot: int) -> None:
        """lasvm.h, release."""
        self.kept[0, slot] -= 1
        if self.kept[0, slot] == 0:
            free, place = int(self.tally[1]), int(self.cache.place[slot])
            if place >= 0:
                self.cache.held[:2, place], self.cache.place[slot] = (-1, 0), -1
            self.kept[2, slot], self.kept[1, free], self.tally[1] = -1, slot, free + 1
            self.kept[1, : free + 1].sort()  # which is a heap

    def finish(self) -> bool:
        """FINISH: the outputs' optimum on what they keep, to within tol; whether it came to that."""
        if len(self) == 0:
            return True
        dtype = self.cache.values.dtype if self.cache.area else self.rows[np.zeros(1, dtype=np.int64)].dtype
        self._make_room(self.top, dtype)
        K_chunk, log = np.empty((0, 0), dtype=dtype), np.empty((0, 2), dtype=np.int64)
        position, most = np.zeros(2, dtype=np.int64), STEPS * self.n_outputs
        self.tally[2], self.model = 0, None
        state = self._state(K_chunk, log)
        while position[0] < self.n_outputs and position[1] < most:
            need = _native.lasvm_finish(*state, position, WORK)
            if need >= 0:
                self._fetch(need)
        return bool(position[0] == self.n_outputs)
