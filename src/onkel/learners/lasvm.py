"""LASVM, the support vector machine that learns online: its Python side. cpp/learn/lasvm.h has the algorithm.

A chunk of examples is learned in parts of at most `CHUNK` rows. For each part the kernel values with all examples that
are kept, and with the part itself, are computed at once. Then the core runs PROCESS and REPROCESS on one example after
the other. Their steps also read the kernel rows of other examples: if one is missing in the cache (`KernelRowCache`),
the core returns, the row is computed here, and the core continues.

The result depends neither on how a stream is cut into parts nor on which kernel rows were in the cache. A kernel value
depends on its two rows only, with identical bits; and the order of the examples alone determines the slot of each, and
with it the order of every sum.
[Bordes, Ertekin, Weston and Bottou 2005]
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

CHUNK = 256  # rows whose kernel values are computed at once
STEPS = 10_000_000  # at most, of FINISH per output: rounding may keep it from ever reaching a very small tol
WORK = 1 << 25  # entries of gradients that one native call visits: about 0.05 s


class LasvmLearner:
    """Each output minimises ½ αᵀKα − yᵀα over the examples that it keeps; f(x) = Σ α_s k(s, x) + b.

    α is signed: 0 ≤ y_s α_s ≤ C_s, and Σα = 0. `counts` holds the numbers of mistakes (y f ≤ 0) and of steps of
    PROCESS, over all outputs.

    Parameters
    ----------
    kernel, n_outputs : the kernel, and the number of outputs.
    C : the bound of |α|, > 0; it is multiplied by the sample weight of an example.
    tol : a pair of examples makes a step of REPROCESS if its gradients differ by more than this, > 0.
    cache_bytes : memory for kernel rows.
    window : how many of the last updates the ledger keeps; default 1000.
    """

    def __init__(
        self, kernel: Kernel, n_outputs: int, *, C: float, tol: float, cache_bytes: int, window: int = 1000
    ) -> None:
        self.kernel, self.C, self.tol = kernel, C, tol
        self.rows, self.cache = KeptRows(), KernelRowCache(cache_bytes, CHUNK)
        self.kept = np.zeros((3, 0), dtype=np.int64)  # of each slot: how many outputs keep it; free slots; row id
        self.sizes = np.zeros((2, 0))  # of each slot: C and k(x, x)
        # α; g; 0, or −inf if α cannot grow; 0, or inf if α cannot shrink
        self.values: NDArray[np.float64] = np.zeros((4, n_outputs, 0))
        self.marks: NDArray[np.int8] = np.zeros((2, n_outputs, 0), dtype=np.int8)  # y, 0 if not kept; 1 if in `zeros`
        self.zeros = np.zeros((n_outputs, 0), dtype=np.int64)  # the slots with α = 0 that an output keeps
        self.ends = np.full((n_outputs, 3), (-1, -1, 0))  # slots i and j of the most violating pair; length of `zeros`
        self.level = np.zeros((n_outputs, 2))  # b, and g_i − g_j of that pair
        self.tally = np.zeros(4, dtype=np.int64)  # slots ever used, free slots, columns of the chunk, the clock
        self.counts = np.zeros(2, dtype=np.int64)
        self.ledger, self.rounds = Window(window), 0
        self.model: Any = None  # the model that the estimator last made from this state

    # ---------------------------------------------------------------- the result of learning

    @property
    def n_outputs(self) -> int:
        return len(self.ends)

    @property
    def top(self) -> int:
        """The number of slots that were ever used."""
        return int(self.tally[0])

    def __len__(self) -> int:
        """The number of examples that are kept."""
        return int(self.tally[0] - self.tally[1])

    @property
    def offset(self) -> NDArray[np.float64]:
        """b of each output."""
        return self.level[:, 0].copy()

    def support(self) -> tuple[Rows | None, NDArray[np.float64], NDArray[np.int64]]:
        """The support vectors in the order of their row ids, their weights (m, outputs), and these ids."""
        alpha = self.values[0]
        slots = np.flatnonzero(alpha.any(axis=0))
        slots = slots[np.argsort(self.kept[2, slots])]
        rows = self.rows.as_given(slots) if len(slots) else None
        return rows, np.ascontiguousarray(alpha[:, slots].T), self.kept[2, slots]

    def scores(self, x: Rows) -> NDArray[np.float64]:
        """The scores of the rows, shape (n, outputs)."""
        out = np.tile(self.level[:, 0], (len(x), 1))
        if len(self.rows):
            self.rows.add_scores(self.kernel, x, self.values[0, :, : self.top].T, out)
        return out

    def objective(self) -> NDArray[np.float64]:
        """The objective of each output: ½ αᵀKα − yᵀα = −½ Σ α (y + g)."""
        alpha, g, y = *self.values[:2, :, : self.top], self.marks[0, :, : self.top]
        found: NDArray[np.float64] = -0.5 * (alpha * (y + g)).sum(axis=1)
        return found

    def gap(self) -> NDArray[np.float64]:
        """The duality gap of each output on the examples it keeps: a bound of its distance from the optimum."""
        alpha, g, y = *self.values[:2, :, : self.top], self.marks[0, :, : self.top]
        slack = np.maximum(0.0, y * (g - self.level[:, :1]))  # 1 − y f
        found: NDArray[np.float64] = (0.5 * alpha * (y - g) + self.sizes[0, : self.top] * slack).sum(
            axis=1
        ) + self.objective()
        return found

    # ---------------------------------------------------------------- changes

    def change_outputs(self, output_map: NDArray[np.float64]) -> None:
        """Changes the number of outputs when a class appears.

        `output_map` (old outputs, new outputs): 1 copies an output, −1 mirrors it, a column of zeros starts one at 0.
        """
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
        """Increases the number of features to `n_features`; everything learned so far is 0 in the new ones."""
        self.rows.add_features(n_features)
        self.model = None

    def savepoint(self) -> Any:
        """The present state, as `rollback` takes it."""
        return parts_of(self)

    def rollback(self, savepoint: Any) -> None:
        """Undoes all changes since the savepoint was made."""
        vars(self).update(savepoint)

    def end_epoch(self) -> None:
        """Does nothing: a row that is visited in several epochs is kept once."""

    def _make_room(self, size: int, dtype: np.dtype) -> None:
        """Makes room for `size` slots, and for kernel rows as long as that."""
        old = self.values.shape[2]
        if size > old:
            # an odd multiple of 16, never a power of two: rows do not compete for one cache set
            cap = 16 * (-(-max(size, 3 * old // 2, 64) // 16) | 1)
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
        """Learns from the examples one by one, and returns the score of each before it was learned, (n, outputs).

        y (n, outputs) are the targets ±1, NaN (0 if int8) where an output ignores the example; w (n,) > 0 the sample
        weights; `row_ids` (n,) the ids of the rows.
        """
        y, F, start = as_targets(y), np.empty(y.shape), 0
        slots = self._slots_of(row_ids)
        while start < len(x):
            self._make_room(self.top + min(CHUNK, len(x) - start), x.dtype)
            part = slice(start, start + min(CHUNK, self.cache.area))
            piece = x[part] if len(x) > part.stop - start else x
            F[part] = self._learn(piece, y[part], self.C * w[part], row_ids[part], slots[part])
            start += len(piece)
        return F

    def learn_one(self, x: Rows, y: NDArray[np.float64], row_id: int) -> None:
        """Learns from one example of weight 1, y (1, outputs)."""
        self.learn(x, y, ONE, np.array([row_id]))

    def _slots_of(self, row_ids: NDArray[np.int64]) -> NDArray[np.int64]:
        """The slots of the rows that are kept already, from an earlier epoch; −1 for the others."""
        found, held = np.full(len(row_ids), -1), self.kept[2, : self.top]
        if len(held) and row_ids.min() <= held.max():
            order = np.argsort(held)
            near = order[np.minimum(np.searchsorted(held, row_ids, sorter=order), len(held) - 1)]
            found = np.where(held[near] == row_ids, near, -1)
        return found

    def _learn(
        self, x: Rows, y: NDArray[np.float64], C: NDArray[np.float64], row_ids: NDArray, at: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Learns from a part, with the bounds C (b,) of its examples; `at` (b,): their slots, or −1."""
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
            while position[2] > 0:  # completes the example that was interrupted
                self._pass(args, 1)
            raise
        finally:
            self._end_chunk(x, state, position, log)
            seen = int(position[0])
            self.ledger.add(steps[:seen], self.rounds + 1 + np.arange(seen), row_ids[:seen])
            self.rounds += seen
        return F

    def _state(self, K_chunk: NDArray, log: NDArray[np.int64]) -> tuple[Any, ...]:
        """The arrays of struct Lasvm in cpp/learn/lasvm.h, in the order in which the core takes them."""
        cache, kept = self.cache, (self.kept, self.sizes, self.values, self.marks, self.zeros)
        rows = (cache.values, cache.held, cache.place, cache.area)
        return self.tol, *rows, *kept, self.ends, self.level, self.tally, K_chunk, log

    def _pass(self, args: tuple[Any, ...], work: int) -> None:
        """One native call, and the kernel row that it asks for."""
        need = _native.lasvm_pass(*args, work)
        if need >= 0:
            self._fetch(need)

    def _fetch(self, slot: int) -> None:
        """Computes the kernel row of a slot, in the place of the least recently used one."""
        place, slots = self.cache.vacate(1, self.cache.open - self.cache.area + 1), np.array([slot])
        self.rows.fill(self.kernel, self.rows[slots], self.cache.values[place[0], None])
        self.cache.give(place, slots, int(self.tally[3]))

    def _end_chunk(self, x: Rows, state: tuple[Any, ...], position: NDArray[np.int64], log: NDArray[np.int64]) -> None:
        """Copies the examples that were kept into their slots, and their kernel rows into the cache."""
        cache, tally = self.cache, self.tally
        if position[2] > 0:  # an error or a second Ctrl-C: the example stays in the outputs that keep it by now
            position[0] += 1
            self._release(int(position[3]))
        _native.lasvm_end_chunk(*state, cache.open, thread_count())
        brought = log[: tally[2]][::-1]
        if len(brought):
            slots, last = np.unique(brought[:, 1], return_index=True)  # the last row that took each slot
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
        """One output less keeps the slot; without any it becomes free. Twin of Lasvm::release in cpp/learn/lasvm.h."""
        self.kept[0, slot] -= 1
        if self.kept[0, slot] == 0:
            free, place = int(self.tally[1]), int(self.cache.place[slot])
            if place >= 0:
                self.cache.held[:2, place], self.cache.place[slot] = (-1, 0), -1
            self.kept[2, slot], self.kept[1, free], self.tally[1] = -1, slot, free + 1
            self.kept[1, : free + 1].sort()  # a sorted array is a heap, as the core needs it

    def finish(self) -> bool:
        """FINISH: solves each output to within tol on the examples it keeps; returns whether `STEPS` were enough."""
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
