"""LASVM, the support vector machine that learns online: its Python side. cpp/learn/lasvm.h has the algorithm.

A chunk of examples is learned in parts of at most `CHUNK` rows. For each part the kernel values with all examples that
are kept, and with the part itself, are computed at once. Then the core runs PROCESS and REPROCESS on one example after
the other. Their steps also read the kernel rows of other examples: if one is missing in the cache (`KernelRowCache`),
the core returns, the row is computed here, and the core continues.

The core works on a copy of the solution, and takes the cache of kernel rows out of the learner. At the end of a part
both come back together with the rows and the ledger, by one transaction. If it does not come to that, the learner is as
it was before the part; its kernel rows are computed again.

The result depends neither on how a stream is cut into parts nor on which kernel rows were in the cache. A kernel value
depends on its two rows only, with identical bits; and the order of the examples alone determines the slot of each, and
with it the order of every sum.
[Bordes, Ertekin, Weston and Bottou 2005]
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native, thread_count
from onkel._core.transaction import Transaction
from onkel.kernels import Kernel
from onkel.kernels.rows import NO_ROWS, Rows
from onkel.kernels.rows_state import kernel_rows, rows_state
from onkel.kernels.tiles import fill
from onkel.kernels.vectors import VectorRows
from onkel.learners.counts import count_settings, read_counts
from onkel.learners.lasvm.solution import LasvmSolution, kept_of_state
from onkel.learners.learner import NO_LOCK, ONE, Floats, Ints, LearnerBase
from onkel.learners.ledger import Window
from onkel.learners.storage.kernel_rows import KernelRowCache
from onkel.learners.storage.slots import KeptRows
from onkel.models.expansion import Expansion
from onkel.states.state import Setting, State

__all__ = ["LasvmLearner"]

CHUNK = 256  # rows whose kernel values are computed at once
STEPS = 10_000_000  # at most, of FINISH per output: rounding may keep it from ever reaching a very small tol
WORK = 1 << 25  # entries of gradients that one native call visits: about 0.05 s
CALLS = 16  # native calls of FINISH between two commits, at most
PART = 2  # the work of a part, in native calls: an interruption loses it, and other threads wait for it
PRODUCTS = 16  # multiply-adds of kernel values that take as long as one entry of a gradient, on a slow computer

# cpp/learn/lasvm.h has structs with the same fields
POSITION = np.dtype(
    [
        ("row", np.int64),  # of the chunk, whose turn it is
        ("output", np.int64),
        ("phase", np.int64),  # what is next for it
        ("slot", np.int64),
        ("n_columns", np.int64),  # rows of the chunk that took a slot
        ("n_steps", np.int64),  # steps of FINISH
    ]
)
TAKEN = np.dtype([("row", np.int64), ("slot", np.int64)])  # a row of the chunk took a slot


class _Pass(NamedTuple):
    """What the core works on: a copy of the solution, and the kernel rows, which the learner is without meanwhile."""

    solution: LasvmSolution
    cache: KernelRowCache
    taken: NDArray[np.void]  # which row took which slot, in order
    position: NDArray[np.void]
    core: _native.Lasvm32


class LasvmLearner(LearnerBase):
    """Each output minimises ½ αᵀKα − yᵀα over the examples that it keeps; f(x) = Σ α_s k(s, x) + b.

    α is signed: 0 ≤ y_s α_s ≤ C_s, and Σα = 0. `n_updates` counts the steps of PROCESS.

    Parameters
    ----------
    kernel, n_outputs : the kernel, and the number of outputs.
    C : the bound of |α|, > 0; it is multiplied by the sample weight of an example.
    tol : a pair of examples makes a step of REPROCESS if its gradients differ by more than this, > 0.
    cache_bytes : memory for kernel rows.
    window : how many of the last updates the ledger keeps; default 1000.
    """

    KIND: ClassVar[str] = "learner/lasvm"
    VERSION: ClassVar[int] = 1
    CHANGES: ClassVar[tuple[str, ...]] = ("solution", "rows", "ledger")
    BUILT_FROM: ClassVar[tuple[str, ...]] = ("C", "tol", "cache_bytes")

    def __init__(
        self, kernel: Kernel, n_outputs: int, *, C: float, tol: float, cache_bytes: int, window: int = 1000
    ) -> None:
        self.kernel, self.C, self.tol = kernel, float(C), float(tol)
        self.solution, self.rows, self.ledger = LasvmSolution(n_outputs, 0), KeptRows(), Window(window)
        self.cache = KernelRowCache(cache_bytes, CHUNK)
        self._spare: LasvmSolution | None = None  # memory for the next copy of the solution
        self.n_commits = 0  # changes of the solution, by examples, by `finish` or by `rollback`

    # ---------------------------------------------------------------- what was learned

    stops_when_separated = False

    @property
    def version(self) -> int:
        return self.n_commits

    @property
    def n_outputs(self) -> int:
        return len(self.solution.outputs)

    @property
    def record(self) -> _native.LasvmRecord:  # type: ignore[override]  # it is that of the solution
        """The counts and numbers of the present solution."""
        return self.solution.record

    def __len__(self) -> int:
        """The number of examples that are kept."""
        return self.solution.n_kept

    @property
    def offset(self) -> Floats:
        """b of each output."""
        found: Floats = self.solution.outputs["offset"].copy()
        return found

    def support(self) -> tuple[Rows, Floats, Ints]:
        """The support vectors in the order of their row ids, their weights (m, outputs), and these ids; all copies."""
        kept = self.solution.kept()
        chosen = np.flatnonzero(kept.alpha.any(axis=0))
        chosen = chosen[np.argsort(kept.row_ids[chosen])]
        rows = self.rows.as_given(kept.slots[chosen]) if len(chosen) else NO_ROWS
        return rows, np.ascontiguousarray(kept.alpha[:, chosen].T), kept.row_ids[chosen]

    def scores(self, rows: Rows) -> Floats:
        """The scores of the rows, shape (n, outputs)."""
        solution = self.solution
        out = np.tile(solution.outputs["offset"], (len(rows), 1))
        if solution.n_slots:
            self.rows.add_scores(self.kernel, rows, solution.alpha[:, : solution.n_slots].T, out)
        return out

    def scorer(self) -> Expansion:
        """The expansion over the support vectors, in the order of their row ids."""
        rows, coef, row_ids = self.support()
        return Expansion(self.kernel, rows, row_ids, coef, self.offset)

    def objective(self) -> Floats:
        """The objective of each output: ½ αᵀKα − yᵀα."""
        return self.solution.objective()

    def gap(self) -> Floats:
        """The duality gap of each output on the examples it keeps: a bound of its distance from the optimum."""
        return self.solution.gap()

    # ---------------------------------------------------------------- changes

    def change_outputs(self, output_map: Floats) -> None:
        """Changes the number of outputs when a class appears.

        `output_map` (old outputs, new outputs): 1 copies an output, −1 mirrors it, a column of zeros starts one at 0.
        """
        self.solution, self._spare = self.solution.with_outputs(output_map), None
        self.ledger, self.cache = self.ledger.remapped(output_map), self.cache.emptied()

    def add_features(self, n_features: int, *, sparse: bool = False) -> None:
        """Increases the number of features to `n_features`; everything learned so far is 0 in the new ones."""
        self.rows.add_features(n_features, sparse=sparse)
        self.cache = self.cache.emptied()

    def features_in_use(self, n_features: int) -> NDArray[np.bool_]:
        """Which of the features some row in a slot has, also in one that was freed and not yet used again."""
        return self.rows.features_in_use(n_features)

    def end_epoch(self) -> None:
        """Does nothing: a row that is visited in several epochs is kept once."""

    def _without_caches(self) -> dict[str, Any]:
        return {"cache": self.cache.emptied(), "_spare": None, "n_commits": self.n_commits + 1}

    # ---------------------------------------------------------------- learning

    def learn(self, rows: Rows, targets: Floats, weights: Floats, row_ids: Ints) -> Floats:
        """Learns from the examples one by one, and returns the score of each before it was learned, (n, outputs).

        `targets` (n, outputs) are ±1; `weights` (n,) > 0 the sample weights; `row_ids` (n,) the ids of the rows.
        """
        b, kept_in = len(rows), self._slots_of(row_ids)
        with np.errstate(over="ignore"):  # a bound may be infinite
            box = self.C * weights
        K_chunk = np.empty((b, b), dtype=rows.dtype)
        fill(self.kernel, rows, rows, K_chunk)
        part = self._begin(self.solution.capacity_for(self.solution.n_slots + b), K_chunk)
        self.rows.fill(self.kernel, rows, part.cache.values[:b])
        scores, steps = np.empty(targets.shape), np.empty(targets.shape)
        while part.position["row"] < b:
            missing = part.core.process(targets, box, row_ids, kept_in, scores, steps, WORK)
            if missing >= 0:
                self._fetch(part, missing)
        part.core.end_chunk(part.cache.open, thread_count())
        part.cache.end_chunk(part.solution.can_move())
        taken = part.taken[: int(part.position["n_columns"])]
        with Transaction() as change:
            if b == 1 and len(taken):
                self.rows.put(np.array(taken["slot"]), rows, change)
            elif len(taken):
                slots, last = np.unique(taken["slot"][::-1], return_index=True)  # the last row that took each slot
                self.rows.put(slots, rows[taken["row"][::-1][last]], change)
            self.ledger.add(steps, self.n_seen + 1 + np.arange(b), row_ids, change)
            self._commit(part, change)
        return scores

    def part_size(self, rows: Rows, most: int) -> int:
        """How many examples the next part of a chunk should have: fewer if they take long, or if the cache is small."""
        n_slots = self.solution.n_slots
        products = rows.work() if isinstance(rows, VectorRows) else 32.0  # of one kernel value
        work = (n_slots + 1) * (3 * self.n_outputs + products / PRODUCTS)
        size = min(CHUNK, most, max(16, int(PART * WORK / work)))
        _, area = self.cache.layout(self.solution.capacity_for(n_slots + size), rows.dtype)
        return min(size, area)

    def learn_one(self, row: Rows, target: Floats) -> None:
        """Learns from one example of weight 1, target (1, outputs)."""
        self.learn(row, target, ONE, np.array([self.next_row_id]))

    def _slots_of(self, row_ids: Ints) -> Ints:
        """The slots of the rows that are kept already, from an earlier epoch; −1 for the others."""
        found = np.full(len(row_ids), -1)
        if len(self) and row_ids.min() < self.next_row_id:
            held = np.ascontiguousarray(self.solution.slots["row_id"][: self.solution.n_slots])
            order = np.argsort(held)
            near = order[np.minimum(np.searchsorted(held, row_ids, sorter=order), len(held) - 1)]
            found = np.where(held[near] == row_ids, near, -1)
        return found

    def _begin(self, capacity: int, K_chunk: NDArray) -> _Pass:
        """A copy of the solution with so much room and the kernel rows, bound to the kernel values of a chunk."""
        spare, self._spare = self._spare, None  # both are lost if there is no commit, and then made again
        cache, self.cache = self.cache, self.cache.emptied()
        solution = self.solution.copy(capacity, into=spare)
        cache.make_room(solution.capacity, K_chunk.dtype)
        taken, position = np.zeros(len(K_chunk), dtype=TAKEN), np.zeros((), dtype=POSITION)
        core = _native.lasvm(
            solution=solution.core,
            tol=self.tol,
            rows=cache.values,
            places=cache.places.view(np.uint8),
            place_of=cache.place_of,
            area=cache.area,
            clock=cache.clock,
            K_chunk=K_chunk,
            taken=taken.view(np.uint8),
            position=position.reshape(1).view(np.uint8),
        )
        return _Pass(solution, cache, taken, position, core)

    def _fetch(self, part: _Pass, slot: int) -> None:
        """Computes the kernel row of a slot, in the place of the least recently used one."""
        cache, slots = part.cache, np.array([slot])
        place = cache.vacate(1, cache.open - cache.area + 1)
        self.rows.fill(self.kernel, self.rows[slots], cache.values[place[0], None])
        cache.give(place, slots)

    def _commit(self, part: _Pass, change: Transaction) -> None:
        """Puts a solution and its kernel rows in place; the memory of the old one is for the next copy."""
        change.set(self, solution=part.solution, cache=part.cache, _spare=self.solution, n_commits=self.n_commits + 1)

    def finish(self, lock: AbstractContextManager[None] = NO_LOCK) -> bool:
        """FINISH: solves each output to within tol on the examples it keeps; returns whether all of them are.

        It commits now and then, because the solution is a valid one after every step: what was interrupted goes on
        from there, and other threads that take the lock can read in between. An output is given up after `STEPS` steps,
        or if all the steps between two commits lower its objective by no more than its rounding error.
        """
        output = n_steps = 0
        solved = True
        while len(self) and output < self.n_outputs:
            with lock:
                before, objective = output, self.objective()[output]
                part = self._begin(self.solution.capacity, np.empty((0, 0), dtype=self.rows.dtype))
                part.position["output"] = output
                for _ in range(CALLS):
                    missing = part.core.finish(WORK)
                    if missing < 0:
                        break
                    self._fetch(part, missing)
                with Transaction() as change:
                    self._commit(part, change)
                output = int(part.position["output"])
                n_steps = n_steps + int(part.position["n_steps"]) if output == before else 0
                if n_steps:
                    fall = objective - self.objective()[output]
                    if n_steps >= STEPS or not fall > self.solution.rounding()[output]:
                        solved, output, n_steps = False, output + 1, 0
        return solved

    # ---------------------------------------------------------------- state

    def state(self) -> State:
        """Everything the learner knows, as named values and arrays."""
        kept = self.solution.kept()
        settings: dict[str, Setting] = {
            "kernel": self.kernel,
            "C": self.C,
            "tol": self.tol,
            "cache_bytes": self.cache.limit,
            **self.ledger.settings(),
            **count_settings(self.record),
        }
        arrays = {**kept._asdict(), "offset": self.offset, **self.ledger.arrays("ledger/")}
        rows = self.rows.as_given(kept.slots) if len(kept.slots) else NO_ROWS
        return State(self.KIND, self.VERSION, settings, arrays).with_part("rows", rows_state(rows, copy=False))

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The learner of a state; it learns on exactly as the one that gave it."""
        state.expect(cls.KIND, cls.VERSION)
        kernel, offset = state.kernel(), state.array("offset", np.float64, (None,))
        state.check(len(offset) > 0, "there must be an output")
        rows = kernel_rows(state, "rows", kernel)
        kept = kept_of_state(state, rows, len(offset))
        learner = cls(
            kernel,
            len(offset),
            C=state.setting("C", float, above=0),
            tol=state.setting("tol", float, above=0),
            cache_bytes=state.count("cache_bytes"),
        )
        learner.solution = LasvmSolution.of(kept, offset)
        read_counts(state, learner.record)
        learner.rows = KeptRows.of(rows, kept.slots)
        learner.ledger = Window.of_state(state, "ledger/", len(offset), learner.n_seen)
        return learner
