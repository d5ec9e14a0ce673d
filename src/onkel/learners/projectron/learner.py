"""The Projectron: a mistake that the support nearly spans is projected on the span, instead of being added.

With the Cholesky factor K_S = L Lᵀ of the support's Gram matrix, z = L⁻¹ k(S, x) is the projection of x on the span of
the support vectors, in an orthonormal basis:

    f(x) = β·z        δ² = k(x, x) − ‖z‖², the squared distance of x to the span
    mistake, projected (δ ≤ η):   β ← β + step · z
    mistake, added:               L gets the row (z, δ), and β the further component step · δ

A new support vector is one more row of L. No matrix is inverted, no row of L changes later, and the error of L Lᵀ stays
that of one factorisation, however long the run (`drift` measures it). The coefficients of the support vectors,
α = L⁻ᵀ β, are computed when they are asked for. The passes over chunks are in cpp/learn/projectron.h.

Single examples (`learn_one`) are screened first, from `SCREENED_FROM` support vectors on: a decision is taken from an
approximation in single precision, if it is certain within the error bound, and without the exact projection. There are
three outcomes: no update; a deferred step, for a mistake that is projected; or undecided, and then the example is
projected exactly. Deferred steps are summed before they are projected, because

    β + s₁z₁ + s₂z₂ = β + L⁻¹(s₁k₁ + s₂k₂),

and applied to β together, when an exact β is needed. Projectron++ screens by the approximate projection; the
Projectron, with one output and a PSD kernel, by the score α·k, which is cheaper still.
`onkel.learners.projectron.screening` and cpp/learn/screen.h state the error bounds.

How a part is learned at once: β is copied and the copy is updated, and the rows of L and the ids of new support vectors
are written after those in use, which is all that readers see; then a transaction puts everything in place. The
screening needs none: one native call decides and makes all changes.
[Orabona, Keshet and Caputo 2009]
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native, thread_count
from onkel._core.transaction import Transaction
from onkel.kernels import Kernel
from onkel.kernels.rows import NO_ROWS, Rows
from onkel.kernels.rows_state import kernel_rows, rows_state
from onkel.kernels.tiles import fill
from onkel.kernels.vectors import GrowingRows
from onkel.learners.counts import COUNTS, count_settings, read_counts
from onkel.learners.learner import ONE, Floats, Ints, LearnerBase, fill_chunk
from onkel.learners.ledger import Window
from onkel.learners.projectron.arrays import PartArrays, entries_of, triangle_of_state, wider
from onkel.learners.projectron.screening import LEDGER_FULL, UNDECIDED, Inverse, with_deferred
from onkel.learners.storage.slots import AddedRows
from onkel.learners.storage.support import grown
from onkel.models.expansion import Expansion
from onkel.states.state import LARGEST_COUNT, State

__all__ = ["ProjectingLearner"]

CHUNK = 512  # rows whose kernel values are computed at once
SMALL_SOLVE = 1 << 21  # rows × support² of a substitution up to which a second thread does not pay
SCREENED_FROM = 128  # support vectors; with fewer, the exact projection costs no more than the screening
NO_LIMIT = np.iinfo(np.int64).max
SIZES, ERRORS = (*COUNTS, "size"), ("beta_error", "alpha_error")  # of the record, in a state


class Alpha(NamedTuple):
    """Coefficients, and the state from which they were computed: they are valid while both are the learner's."""

    values: Floats  # (outputs, m)
    beta: Floats
    n_updates: int


class ProjectingLearner(LearnerBase):
    """The learner of the Projectron and, if `aggressive`, of Projectron++.

    `record` holds the counts, the number of support vectors, and the error bounds of the screening. L (room, room) and
    beta (outputs, room) have room for more support vectors; the array beta never changes, it is replaced.

    Parameters
    ----------
    kernel, n_outputs : the kernel, and the number of outputs.
    eta : a mistake is projected if its distance δ to the span is at most this, ≥ 0.
    budget : the most support vectors, from which on every mistake is projected; None: no limit.
    aggressive : whether to learn also from correct examples with a margin below 1 (Projectron++).
    window : how many of the last updates the ledger keeps; default 1000.
    """

    KIND: ClassVar[str] = "learner/projecting"
    VERSION: ClassVar[int] = 1
    CHANGES: ClassVar[tuple[str, ...]] = ("record", "ledger", "slots", "beta", "deferred", "projects")
    APPENDED: ClassVar[tuple[str, ...]] = ("L", "K_S", "slot_row_ids")
    CACHES: ClassVar[tuple[str, ...]] = ("_alpha", "_one", "_inverse", "_screen", "_exact")
    BUILT_FROM: ClassVar[tuple[str, ...]] = ("eta", "budget", "aggressive")

    def __init__(
        self, kernel: Kernel, n_outputs: int, *, eta: float, budget: int | None, aggressive: bool, window: int = 1000
    ) -> None:
        self.kernel, self.eta, self.budget, self.aggressive = kernel, float(eta), budget, aggressive
        self.slots = AddedRows()
        self.slot_row_ids = np.empty(0, dtype=np.int64)  # the row id of each support vector
        self.L, self.beta = np.zeros((0, 0)), np.zeros((n_outputs, 0))
        # (room, room): K_S on and below the diagonal, if the kernel values of the support cannot be computed again
        self.K_S = np.zeros((0, 0)) if kernel.takes == "gram" else None
        # (2, room), if there is one output: Σ s k over the deferred steps s; and β~ or α~, which include these steps.
        # None, or Σ s k = 0 and β~ = β, while no steps are deferred.
        self.deferred: Floats | None = None
        self.projects = False  # whether the last chunk or example with an update added no support vector
        self.record: _native.ProjectronRecord = _native.ProjectronRecord()
        self.ledger = Window(window)
        self._alpha: Alpha | None = None
        self._one: PartArrays | None = None  # the arrays of `learn_one`
        self._inverse: Inverse | None = None  # of L, once single examples are screened
        self._screen: _native.Screen32 | None = None  # the core's screening, valid until the state changes otherwise
        self._exact: _native.Exact32 | None = None  # decides by α·k where there is no screening; valid as long

    @property
    def n_outputs(self) -> int:
        return len(self.beta)

    @property
    def _settings(self) -> tuple[float, int, bool, bool]:
        """The settings in the order in which the core takes them: struct Projection in cpp/learn/projectron.h."""
        return self.eta, NO_LIMIT if self.budget is None else self.budget, self.aggressive, self.budget is not None

    def __len__(self) -> int:
        return self.record.size

    @property
    def alpha(self) -> Floats:
        """The coefficients of the support vectors, (outputs, m): the solution of Lᵀ α = β."""
        known = self._known_alpha()
        if known is not None:
            return known
        now = vars(self).copy()  # all attributes at one moment, in case another thread is learning
        record, n_updates = now["record"], now["record"].n_updates
        beta = with_deferred(now["L"], record.size, now["beta"], now["deferred"])
        alpha = np.empty((len(beta), record.size))
        _native.coefficients(now["L"], beta, alpha)
        self._alpha = Alpha(alpha, now["beta"], n_updates)
        return alpha

    def _known_alpha(self) -> Floats | None:
        """The coefficients, if they were computed since the last update."""
        known = self._alpha
        valid = known is not None and known.beta is self.beta and known.n_updates == self.record.n_updates
        return known.values if valid and known is not None else None

    def _support_rows(self, m: int) -> Rows:
        """The first m ≥ 1 support vectors; another thread may have added more."""
        rows = self.slots.rows
        assert rows is not None
        return rows if len(rows) == m else rows[:m]

    def drift(self) -> float:
        """max |L Lᵀ − K_S|, the error of the Cholesky factor."""
        m = len(self)
        if m == 0:
            return 0.0
        L = self.L[:m, :m]
        if self.K_S is not None:
            return float(np.abs(np.tril(L @ L.T - self.K_S[:m, :m])).max())
        rows = self._support_rows(m)
        K = np.empty((m, m), dtype=rows.dtype)
        fill(self.kernel, rows, rows, K)
        return float(np.abs(L @ L.T - K).max())

    def scores(self, rows: Rows) -> Floats:
        """The scores of the rows, (n, outputs).

        While steps are deferred, the score of a single row is approximate if its sign is certain.
        """
        out = np.zeros((len(rows), self.n_outputs))
        screen = self._screen
        if screen is not None and len(rows) == 1 and not self.aggressive and self._known_alpha() is None:
            support = self.slots.rows
            assert support is not None
            values = np.empty((1, len(support)), dtype=rows.dtype)
            self.kernel.inner.gram_one(rows, support, values)
            score = screen.score(values, float(self.kernel.inner.diagonal(rows)[0]))
            if not math.isnan(score):
                out[0, 0] = score
                return out
        alpha = self.alpha
        if alpha.shape[1]:
            self.kernel.inner.add_scores(rows, self._support_rows(alpha.shape[1]), np.ascontiguousarray(alpha.T), out)
        return out

    def scorer(self) -> Expansion:
        """What has been learned, as a frozen model that shares no memory with the learner."""
        alpha = self.alpha
        m = alpha.shape[1]
        rows = self._support_rows(m)[np.arange(m)] if m else NO_ROWS
        return Expansion(self.kernel, rows, self.slot_row_ids[:m].copy(), alpha.T.copy(), np.zeros(len(alpha)))

    # ---------------------------------------------------------------- changes

    def change_outputs(self, output_map: Floats) -> None:
        """Changes the number of outputs when a class appears.

        `output_map` (old outputs, new outputs): 1 copies an output, −1 mirrors it, a column of zeros starts one at 0.
        """
        beta = with_deferred(self.L, len(self), self.beta, self.deferred)
        self.beta, self.deferred = np.ascontiguousarray(output_map.T @ beta), None
        self.record.beta_error = self.record.alpha_error = 0.0
        self.ledger = self.ledger.remapped(output_map)
        self._alpha = self._one = self._screen = self._exact = None

    def add_features(self, n_features: int, *, sparse: bool = False) -> None:
        """Increases the number of features to `n_features`; everything learned so far is 0 in the new ones."""
        self.slots.add_features(n_features, sparse=sparse)

    def features_in_use(self, n_features: int) -> NDArray[np.bool_]:
        """Which of the features some support vector has."""
        return self.slots.features_in_use(n_features)

    def end_epoch(self) -> None:
        """Does nothing: a support vector that is visited again lies in the span and is projected, never added twice."""

    def copy(self) -> Self:
        """An independent copy, without spare room and caches."""
        return self.from_state(self.state())

    def state(self) -> State:
        """Everything the learner knows, as named values and arrays.

        Of L and K_S, which are lower triangles, it holds the rows one after the other up to the diagonal.
        """
        m, rows = len(self), self.slots.rows
        settings: dict[str, Any] = {
            "kernel": self.kernel,
            "eta": self.eta,
            "budget": self.budget,
            "aggressive": self.aggressive,
            "projects": self.projects,
            **self.ledger.settings(),
            "growing": isinstance(rows, GrowingRows),
            **count_settings(self.record, (*SIZES, *ERRORS)),
        }
        arrays = {
            "beta": self.beta[:, :m].copy(),
            "L": entries_of(self.L, m),
            "row_ids": self.slot_row_ids[:m].copy(),
            **self.ledger.arrays("ledger/"),
        }
        if self.K_S is not None:
            arrays["K_S"] = entries_of(self.K_S, m)
        if self.deferred is not None and self.record.beta_error > 0:
            arrays["deferred"] = self.deferred[:, :m].copy()
        state = State(self.KIND, self.VERSION, settings, arrays)
        return state if rows is None else state.with_part("support", rows_state(rows))

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The learner of a state; it learns on exactly as the one that gave it."""
        state.expect(cls.KIND, cls.VERSION)
        m = state.count("size")
        beta = state.array("beta", np.float64, (None, m))
        state.check(len(beta) > 0, "there must be an output")
        learner = cls(
            state.kernel(),
            len(beta),
            eta=state.setting("eta", float, at_least=0),
            budget=state.count("budget", at_least=max(1, m)) if state.has("budget") else None,
            aggressive=state.setting("aggressive", bool),
        )
        learner.projects = state.setting("projects", bool)
        read_counts(state, learner.record, SIZES)
        for name in ERRORS:
            setattr(learner.record, name, state.setting(name, float, at_least=0))
        learner.ledger = Window.of_state(state, "ledger/", len(beta), learner.n_seen)
        if m:
            learner._read_support(state, beta)
        return learner

    def _read_support(self, state: State, beta: Floats) -> None:
        """Fills the slots and the arrays of a learner whose record is that of the state."""
        m, rows = len(self), kernel_rows(state, "support", self.kernel)
        state.check(len(rows) == m, f"'support' must have {m} rows; got {len(rows)}")
        row_ids, L = state.indices("row_ids", LARGEST_COUNT, m), triangle_of_state(state, "L", m)
        state.check((L.diagonal() > 0).all(), "the diagonal of 'L' must be positive")
        K_S = None if self.K_S is None else triangle_of_state(state, "K_S", m)
        deferred = state.optional_array("deferred", np.float64, (2, m))
        state.check(deferred is None or len(beta) == 1, "steps can be deferred with one output only")
        self.slots.rows = grown(state, rows) if state.setting("growing", bool) else rows
        self.make_room(m)
        self.beta[:, :m], self.slot_row_ids[:m], self.L[:m, :m] = beta, row_ids, L
        if self.K_S is not None and K_S is not None:
            self.K_S[:m, :m] = K_S
        if deferred is not None:
            self.deferred = np.zeros((2, len(self.L)))
            self.deferred[:, :m] = deferred

    # ---------------------------------------------------------------- learning

    def learn(self, rows: Rows, targets: Floats, weights: Floats, row_ids: Ints) -> Floats:
        """Learns from the examples one by one, and returns the score of each before it was learned, (n, outputs).

        `targets` (n, outputs) are ±1, or NaN where an output ignores the example; `weights` (n,) > 0 the sample
        weights; `row_ids` (n,) the ids of the rows.
        """
        b, m = len(rows), len(self)
        self.make_room(m + b)
        full = self.budget is not None and m >= self.budget
        part = PartArrays.empty(b, len(self.L), self.n_outputs, rows.dtype, full=full)
        if full:
            part.K_chunk[:, 0] = self.kernel.inner.diagonal(rows)
        else:
            fill_chunk(self.kernel, rows, part.K_chunk)
        if m:  # solves Z Lᵀ = K for all rows at once
            assert self.slots.rows is not None
            fill(self.kernel, rows, self.slots.rows, part.K[:, :m])
            threads = thread_count() if b * m * m > SMALL_SOLVE else 1
            _native.project_rows(self.L, m, part.K, part.Z, threads)
        self._pass(rows, targets, weights, row_ids, part, m)
        return part.F

    def part_size(self, rows: Rows, most: int) -> int:
        """How many examples the next part of a chunk should have, at most `most`."""
        return min(CHUNK, most)

    def learn_one(self, row: Rows, target: Floats) -> None:
        """Learns from one example of weight 1, target (1, outputs), on preallocated arrays.

        It is projected exactly only if neither the screening nor the exact score α·k decides about it.
        """
        screen, m = self._screen, self.record.size
        if screen is None:
            screen = self._prepare(m, row.dtype)
        part = self._one
        assert part is not None
        if m:
            assert self.slots.rows is not None
            self.kernel.inner.gram_one(row, self.slots.rows, part.K)
        part.K_chunk[0, 0] = self.kernel.inner.diagonal(row)[0]
        kxx = part.K_chunk.item(0)  # rounded to the dtype of the rows, as in a chunk
        if screen is not None:
            decide = screen.by_projection if self.aggressive else screen.by_coefficients
            outcome = decide(kxx, target)
            if outcome == LEDGER_FULL:
                self._screen = None  # `_prepare` makes room in the ledger
                self.learn_one(row, target)
            if outcome != UNDECIDED:
                return
        elif not self.aggressive:
            exact = self._exact
            if exact is None:
                exact = self._exact = _native.exact(part.K, self.alpha, self.record)
            if exact.all_right(target):
                return
        self._pass(row, target, ONE, np.array([self.next_row_id]), part, 0)

    def _prepare(self, m: int, dtype: np.dtype) -> _native.Screen32 | None:
        """Prepares the arrays for one example, and returns the core's screening; None if it is of no use at present."""
        if m == len(self.L):
            self.make_room(m + 1)
        part, inverse = self._one, self._inverse
        if part is None or not part.fits(len(self.L), self.n_outputs, dtype):
            self._exact = None
            part = self._one = PartArrays.empty(1, len(self.L), self.n_outputs, dtype)
        by_alpha = not self.aggressive
        if m < SCREENED_FROM or (by_alpha and not (self.projects and self.n_outputs == 1 and self.kernel.is_psd)):
            return None
        if inverse is None:
            inverse = Inverse()
        if inverse.size < m and inverse.is_usable:
            self._inverse = None  # until it has followed L
            inverse.follow(self.L, m)
        self._inverse = inverse
        if not (inverse.is_usable_for_alpha if by_alpha else inverse.is_usable):
            return None
        if self.deferred is None and self.n_outputs == 1:  # steps of several outputs are not deferred
            deferred = np.zeros((2, len(self.L)))
            deferred[1, :m] = self.alpha[0] if by_alpha else self.beta[0, :m]
            self.deferred = deferred
        # fmt: off
        self._screen = _native.screen(
            *self._settings, part.K, inverse.L_inv, inverse.norm, self.beta, self.deferred, part.F, part.steps,
            self.record, *self.ledger.core_view(1),
        )
        # fmt: on
        return self._screen

    def _pass(self, x: Rows, y: Floats, w: Floats, row_ids: Ints, part: PartArrays, known: int) -> None:
        """Learns from the examples one by one, given K and K_chunk; the first `known` components of Z are computed."""
        b, m, p, record = len(x), len(self), part, self.record.copy()
        self._screen = self._exact = None  # they write to the present record
        applied = with_deferred(self.L, m, self.beta, self.deferred)
        beta, record.beta_error, record.alpha_error = applied.copy(), 0.0, 0.0
        entries, n_entries = self.ledger.room_for(y.size)
        # fmt: off
        learned = _native.project_pass(
            *self._settings, p.K, p.K_chunk, p.Z, known, self.L, beta, record,
            y, w, row_ids, entries, n_entries, p.F, p.added,
        )
        # fmt: on
        with Transaction() as change:
            change.set(self, record=record, beta=beta if learned else applied, deferred=None)
            if learned:
                change.set(self, projects=record.size == m)
                self.ledger.extend_to(n_entries, change)
            if record.size > m:
                new = p.added.nonzero()[0]
                slots = np.arange(m, record.size)
                self.slot_row_ids[slots] = row_ids[new]
                if self.K_S is not None:
                    for slot, i in zip(slots, new, strict=True):
                        self.K_S[slot, :slot], self.K_S[slot, slot] = p.K[i, :slot], p.K_chunk[i, i]
                self.slots.put(slots, x[new] if b > 1 else x, change)

    def make_room(self, size: int) -> None:
        """Makes room for `size` support vectors, at most for the budget; what was learned stays the same."""
        old, most = len(self.L), size if self.budget is None else self.budget
        if min(size, most) <= old:
            return
        room = max(size, 2 * old, 64)
        room = room if self.budget is None else min(room, self.budget)
        room = 8 * (-(-room // 8) | 1)  # rows of an odd number of cache lines: they do not compete for one cache set
        more = ((0, 0), (0, room - old))
        with Transaction() as change:
            change.set(self, L=wider(self.L, room), beta=np.pad(self.beta, more), _one=None, _screen=None, _exact=None)
            change.set(self, slot_row_ids=np.pad(self.slot_row_ids, (0, room - old)))
            if self.K_S is not None:
                change.set(self, K_S=wider(self.K_S, room))
            if self.deferred is not None:
                change.set(self, deferred=np.pad(self.deferred, more))
