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
Projectron, with one output and a PSD kernel, by the score α·k, which is cheaper still. `onkel.learners.screening` and
cpp/learn/screen.h state the error bounds.
[Orabona, Keshet and Caputo 2009]
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native, aligned, aligned_empty, thread_count
from onkel.kernels import Kernel
from onkel.kernels.rows import Rows
from onkel.kernels.tiles import fill, fill_below
from onkel.learners.budgeted import CHUNK
from onkel.learners.learner import ONE, as_targets, in_parts, parts_of
from onkel.learners.ledger import Window
from onkel.learners.screening import DEFERRED, NO_UPDATE, UNDECIDED, Inverse
from onkel.learners.slots import Slots

__all__ = ["ProjectingLearner"]

SMALL_SOLVE = 1 << 21  # rows × support² of a substitution up to which a second thread does not pay
SCREENED_FROM = 128  # support vectors; with fewer, the exact projection costs no more than the screening
NO_LIMIT = np.iinfo(np.int64).max


@dataclasses.dataclass
class Part:
    """Arrays of the b examples that are being learned; `room` is the allocated size of the support."""

    K: NDArray  # (b, room): kernel values with the support
    K_chunk: NDArray  # (b, b): with each other, on and below the diagonal; or (b, 1): k(x, x) only
    Z: NDArray[np.float64]  # (b, room): their projections
    F: NDArray[np.float64]  # (b, outputs): the score of each before it was learned
    steps: NDArray[np.float64]  # (b, outputs): the steps, 0 where there was none
    added: NDArray[np.int64]  # (b,): 1 where an example became a support vector

    @classmethod
    def empty(cls, b: int, room: int, n_outputs: int, dtype: np.dtype, *, full: bool = False) -> Part:
        """Allocates the arrays. With `full` no example can become a support vector, and K_chunk is (b, 1)."""
        K_chunk = np.empty((b, 1 if full else b), dtype)
        K, Z = np.empty((b, room), dtype), aligned_empty((b, room), np.float64)
        return cls(K, K_chunk, Z, np.empty((b, n_outputs)), np.empty((b, n_outputs)), np.empty(b, dtype=np.int64))

    def fits(self, room: int, n_outputs: int, dtype: np.dtype) -> bool:
        """Whether the arrays have these sizes and this dtype."""
        return self.K.shape[1] == room and self.F.shape[1] == n_outputs and self.K.dtype == dtype


class ProjectingLearner:
    """The learner of the Projectron and, if `aggressive`, of Projectron++.

    `counts` holds the numbers of mistakes and of updates, over all outputs. L (room, room) and beta (outputs, room)
    have room for more support vectors than there are.

    Parameters
    ----------
    kernel, n_outputs : the kernel, and the number of outputs.
    eta : a mistake is projected if its distance δ to the span is at most this, ≥ 0.
    budget : the most support vectors, from which on every mistake is projected; None: no limit.
    aggressive : whether to learn also from correct examples with a margin below 1 (Projectron++).
    window : how many of the last updates the ledger keeps; default 1000.
    """

    def __init__(
        self, kernel: Kernel, n_outputs: int, *, eta: float, budget: int | None, aggressive: bool, window: int = 1000
    ) -> None:
        self.kernel, self.eta, self.budget, self.aggressive = kernel, eta, budget, aggressive
        self.slots = Slots()
        self.slot_row_ids = np.empty(0, dtype=np.int64)  # the row id of each support vector
        self.L, self.beta = np.zeros((0, 0)), np.zeros((n_outputs, 0))
        # (2, room), if there is one output: Σ s k over the deferred steps s; and β~ or α~, which include these steps
        self.deferred: NDArray[np.float64] | None = None
        self.error_bound = np.zeros(2)  # E and E' of cpp/learn/screen.h: bounds of the errors of β~ and α~
        self.projects = False  # whether the last chunk or example with an update added no support vector
        self.size = np.zeros(1, dtype=np.int64)  # the number of support vectors; the core updates it in place
        self.counts = np.zeros(2, dtype=np.int64)
        self.ledger, self.rounds = Window(window), 0
        self.model: Any = None
        self._alpha: NDArray[np.float64] | None = None
        self._one: Part | None = None  # the arrays of `learn_one`
        self._inverse: Inverse | None = None  # of L, once single examples are screened
        self._screen: _native.Screen32 | None = None  # the core's screening, valid until the state changes otherwise

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_one": None, "_inverse": None, "_screen": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.L = aligned(self.L)  # a copy has lost its alignment

    @property
    def n_outputs(self) -> int:
        return len(self.beta)

    @property
    def _settings(self) -> tuple[float, int, bool, bool]:
        """The settings in the order in which the core takes them: struct Projection in cpp/learn/projectron.h."""
        return self.eta, NO_LIMIT if self.budget is None else self.budget, self.aggressive, self.budget is not None

    def __len__(self) -> int:
        return self.size.item()

    @property
    def alpha(self) -> NDArray[np.float64]:
        """The coefficients of the support vectors, (outputs, m): the solution of Lᵀ α = β."""
        if self._alpha is None:
            self._alpha = np.empty((self.n_outputs, len(self)))
            _native.coefficients(self.L, self._beta(), self._alpha)
        return self._alpha

    def _beta(self) -> NDArray[np.float64]:
        """β including the deferred steps, exactly."""
        if self.deferred is None or not self.deferred[0].any():
            return self.beta
        beta = self.beta.copy()
        _native.apply_deferred(self.L, len(self), self.deferred, beta)
        return beta

    def _apply_deferred(self) -> None:
        """Applies the deferred steps to β; then none are deferred, and the error bounds are 0."""
        self._screen = None
        if self.deferred is not None:
            self.beta, self.deferred, self.error_bound = self._beta(), None, np.zeros(2)

    def support(self) -> tuple[Rows | None, NDArray[np.float64], NDArray[np.int64]]:
        """The support vectors, their weights (m, outputs), and the ids of their rows."""
        return self.slots.rows, np.ascontiguousarray(self.alpha.T), self.slot_row_ids[: len(self)]

    def drift(self) -> float:
        """max |L Lᵀ − K_S|, the error of the Cholesky factor."""
        m = len(self)
        if m == 0:
            return 0.0
        assert self.slots.rows is not None
        K = np.empty((m, m), dtype=self.slots.rows.dtype)
        fill(self.kernel, self.slots.rows, self.slots.rows, K)
        L = self.L[:m, :m]
        return float(np.abs(L @ L.T - K).max())

    def scores(self, x: Rows) -> NDArray[np.float64]:
        """The scores of the rows, (n, outputs).

        While steps are deferred, the score of a single row is approximate if its sign is certain.
        """
        out = np.zeros((len(x), self.n_outputs))
        screen = self._screen
        if screen is not None and len(x) == 1 and self._alpha is None and not self.aggressive:
            assert self.slots.rows is not None
            values = np.empty((1, len(self)), dtype=x.dtype)
            self.kernel._gram_one(x, self.slots.rows, values)
            score = screen.score(values, float(self.kernel._diag(x)[0]))
            if not math.isnan(score):
                out[0, 0] = score
                return out
        if len(self):
            assert self.slots.rows is not None
            self.kernel._add_scores(x, self.slots.rows, np.ascontiguousarray(self.alpha.T), out)
        return out

    # ---------------------------------------------------------------- changes

    def change_outputs(self, output_map: NDArray[np.float64]) -> None:
        """Changes the number of outputs when a class appears.

        `output_map` (old outputs, new outputs): 1 copies an output, −1 mirrors it, a column of zeros starts one at 0.
        """
        self._apply_deferred()
        self.beta = np.ascontiguousarray(output_map.T @ self.beta)
        self._alpha = None
        self.ledger = self.ledger.remapped(output_map)

    def add_features(self, n_features: int) -> None:
        """Increases the number of features to `n_features`; everything learned so far is 0 in the new ones."""
        self.slots.add_features(n_features)
        self.model = None

    def savepoint(self) -> Any:
        """The present state, as `rollback` takes it."""
        return parts_of(self)

    def rollback(self, savepoint: Any) -> None:
        """Undoes all changes since the savepoint was made."""
        vars(self).update(savepoint)
        self._inverse = self._screen = None  # the inverse may include rows of L that were undone

    def end_epoch(self) -> None:
        """Does nothing: a support vector that is visited again lies in the span and is projected, never added twice."""

    # ---------------------------------------------------------------- learning

    def learn(
        self, x: Rows, y: NDArray[np.float64], w: NDArray[np.float64], row_ids: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Learns from the examples one by one, and returns the score of each before it was learned, (n, outputs).

        y (n, outputs) are the targets ±1, NaN (0 if int8) where an output ignores the example; w (n,) > 0 the sample
        weights; `row_ids` (n,) the ids of the rows.
        """
        return in_parts(CHUNK, self._learn, x, as_targets(y), w, row_ids)

    def learn_one(self, x: Rows, y: NDArray[np.float64], row_id: int) -> None:
        """Learns from one example of weight 1, y (1, outputs), on preallocated arrays.

        It is projected exactly only if neither the screening nor the exact score α·k decides about it.
        """
        screen, m = self._screen, len(self)
        if screen is None:
            screen = self._prepare(m, x.dtype)
        part = self._one
        assert part is not None
        if m:
            assert self.slots.rows is not None
            self.kernel._gram_one(x, self.slots.rows, part.K)
        kxx = float(self.kernel._diag(x)[0])
        if screen is not None:
            outcome = screen.by_projection(kxx, y) if self.aggressive else screen.by_coefficients(kxx, y)
        else:
            right = not self.aggressive and _native.all_right(part.K, self.alpha, y, part.F)
            outcome = NO_UPDATE if right else UNDECIDED
        if outcome == UNDECIDED:
            part.K_chunk[0, 0] = kxx
            self._pass(x, y, ONE, np.array([row_id]), part, 0)
            return
        self.rounds += 1
        if outcome == DEFERRED:
            self._alpha = None
            self.ledger.add_one(part.steps, self.rounds, row_id)

    def _prepare(self, m: int, dtype: np.dtype) -> _native.Screen32 | None:
        """Prepares the arrays for one example, and returns the core's screening; None if it is of no use at present."""
        if m == len(self.L):
            self._make_room(m + 1)
        part, inverse = self._one, self._inverse
        if part is None or not part.fits(len(self.L), self.n_outputs, dtype):
            part = self._one = Part.empty(1, len(self.L), self.n_outputs, dtype)
        by_alpha = not self.aggressive
        if m < SCREENED_FROM or (by_alpha and not (self.projects and self.n_outputs == 1 and self.kernel.is_psd)):
            return None
        if inverse is None:
            inverse = self._inverse = Inverse()
        if inverse.size < m and inverse.is_usable:
            inverse.follow(self.L, m)
        if not (inverse.is_usable_for_alpha if by_alpha else inverse.is_usable):
            return None
        if self.deferred is None and self.n_outputs == 1:  # steps of several outputs are not deferred
            self.deferred = np.zeros((2, len(self.L)))
            self.deferred[1, :m] = self.alpha[0] if by_alpha else self.beta[0, :m]
        # fmt: off
        self._screen = _native.screen(
            *self._settings, part.K, m, inverse.L_inv, inverse.norm,
            self.beta, self.deferred, self.error_bound, part.F, part.steps, self.counts,
        )
        # fmt: on
        return self._screen

    def _learn(self, x: Rows, y: NDArray[np.float64], w: NDArray[np.float64], row_ids: NDArray) -> NDArray[np.float64]:
        b, m = len(x), len(self)
        self._make_room(m + b)
        full = self.budget is not None and m >= self.budget
        part = Part.empty(b, len(self.L), self.n_outputs, x.dtype, full=full)
        if full:
            part.K_chunk[:, 0] = self.kernel._diag(x)
        else:
            fill_below(self.kernel, x, part.K_chunk)
        if m:  # solves Z Lᵀ = K for all rows at once
            assert self.slots.rows is not None
            fill(self.kernel, x, self.slots.rows, part.K[:, :m])
            threads = thread_count() if b * m * m > SMALL_SOLVE else 1
            _native.project_rows(self.L, m, part.K, part.Z, threads)
        self._pass(x, y, w, row_ids, part, m)
        return part.F

    def _pass(
        self, x: Rows, y: NDArray[np.float64], w: NDArray[np.float64], row_ids: NDArray, part: Part, known: int
    ) -> None:
        """Learns from the examples one by one, given K and K_chunk; the first `known` components of Z are computed."""
        b, m, p = len(x), len(self), part
        self._apply_deferred()
        # fmt: off
        learned = _native.project_pass(
            *self._settings, p.K, p.K_chunk, p.Z, known,
            self.L, self.beta, self.size, y, w, p.F, p.steps, p.added, self.counts,
        )
        # fmt: on
        self.rounds += b
        if not learned:
            return
        self._alpha, self.projects = None, len(self) == m
        self.ledger.add(p.steps, np.arange(self.rounds - b + 1, self.rounds + 1), row_ids)
        if len(self) > m:
            new = p.added.nonzero()[0]
            places = m + np.arange(len(new))
            self.slots.put(places, x[new] if b > 1 else x)
            self.slot_row_ids[places] = row_ids[new]

    def _make_room(self, size: int) -> None:
        """Makes room for `size` support vectors, at most for the budget."""
        old, most = len(self.L), size if self.budget is None else self.budget
        if min(size, most) <= old:
            return
        room = max(size, 2 * old, 64)
        room = room if self.budget is None else min(room, self.budget)
        room = 8 * (-(-room // 8) | 1)  # rows of an odd number of cache lines: they do not compete for one cache set
        self._apply_deferred()
        L, beta = aligned(np.zeros((room, room))), np.zeros((self.n_outputs, room))
        L[:old, :old], beta[:, :old] = self.L, self.beta
        self.L, self.beta = L, beta
        self.slot_row_ids = np.concatenate([self.slot_row_ids, np.empty(room - old, dtype=np.int64)])
