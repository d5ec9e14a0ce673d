"""The learner that projects: mistakes that the support nearly spans move its weights, and are not added.

With K_S = L Lᵀ, z = L⁻¹ k(S, x) is the projection of x on the span of the support in an orthonormal
basis, f(x) = β·z, and k(x, x) − ‖z‖² the squared distance to it (cpp/project.h). A vector that is added
is one more row of L, so that nothing is inverted, nothing is updated twice, and nothing can drift: the
error of L Lᵀ is that of one factorisation, however long the run. The coefficients of the support,
α = L⁻ᵀ β, are worked out when they are asked for.

An example that comes alone is first judged without its projection, by L⁻¹ in single precision or by α, and
projected where that leaves a doubt; the steps of mistakes wait for each other until then (cpp/learn/screen.h).
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

# Twice the multiply-adds of a substitution below which a second thread costs more than it brings.
SMALL_SOLVE = 1 << 21
SCREENED_FROM = 128  # support vectors: a projection on fewer costs no more than a verdict
NO_LIMIT = np.iinfo(np.int64).max


@dataclasses.dataclass
class Part:
    """Examples while they are learned: what is known of them, and what becomes of them."""

    K: NDArray  # (b, room): kernel values with the support
    K_chunk: NDArray  # (b, b): with each other, on and below the diagonal; or (b, 1): with themselves
    Z: NDArray[np.float64]  # (b, room): their projections
    F: NDArray[np.float64]  # (b, outputs): scores before each was learned,
    steps: NDArray[np.float64]  # (b, outputs): and what was then learned
    added: NDArray[np.int64]  # (b,): 1 where an example became a support vector

    @classmethod
    def empty(cls, b: int, room: int, n_outputs: int, dtype: np.dtype, *, full: bool = False) -> Part:
        """`full`: none of them can become a support vector."""
        K_chunk = np.empty((b, 1 if full else b), dtype)
        K, Z = np.empty((b, room), dtype), aligned_empty((b, room), np.float64)
        return cls(K, K_chunk, Z, np.empty((b, n_outputs)), np.empty((b, n_outputs)), np.empty(b, dtype=np.int64))

    def fits(self, room: int, n_outputs: int, dtype: np.dtype) -> bool:
        return self.K.shape[1] == room and self.F.shape[1] == n_outputs and self.K.dtype == dtype


class ProjectingLearner:
    """The Projectron's learner; `counts` are the mistakes and the updates of all outputs."""

    def __init__(
        self, kernel: Kernel, n_outputs: int, *, eta: float, budget: int | None, aggressive: bool, window: int = 1000
    ) -> None:
        self.kernel, self.eta, self.budget, self.aggressive = kernel, eta, budget, aggressive
        self.slots = Slots()
        self.slot_row_ids = np.empty(0, dtype=np.int64)  # which row of the data each support vector is
        self.L, self.B = np.zeros((0, 0)), np.zeros((n_outputs, 0))
        # steps of one output that β lacks: times L, and roughly with β, or with α; and how far that is off
        self.deferred: NDArray[np.float64] | None = None
        self.error_bound = np.zeros(2)
        self.projects = False  # whether the last mistake was projected
        self.size = np.zeros(1, dtype=np.int64)
        self.counts = np.zeros(2, dtype=np.int64)
        self.ledger, self.rounds = Window(window), 0
        self.model: Any = None
        self._alpha: NDArray[np.float64] | None = None
        self._one: Part | None = None  # room for one example
        self._inverse: Inverse | None = None  # of L, where single examples are judged
        self._screen: _native.Screen32 | None = None  # of the state as it is

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_one": None, "_inverse": None, "_screen": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.L = aligned(self.L)  # which copying did not keep

    @property
    def n_outputs(self) -> int:
        return len(self.B)

    @property
    def _settings(self) -> tuple[float, int, bool, bool]:
        """As cpp/project.h takes them."""
        return self.eta, NO_LIMIT if self.budget is None else self.budget, self.aggressive, self.budget is not None

    def __len__(self) -> int:
        return self.size.item()

    @property
    def alpha(self) -> NDArray[np.float64]:
        """The coefficients (outputs, m): Lᵀ α = β."""
        if self._alpha is None:
            self._alpha = np.empty((self.n_outputs, len(self)))
            _native.coefficients(self.L, self._beta(), self._alpha)
        return self._alpha

    def _beta(self) -> NDArray[np.float64]:
        """β with the steps that wait."""
        if self.deferred is None or not self.deferred[0].any():
            return self.B
        B = self.B.copy()
        _native.apply_deferred(self.L, len(self), self.deferred, B)
        return B

    def _apply_deferred(self) -> None:
        """Gives β the steps that wait."""
        self._screen = None
        if self.deferred is not None:
            self.B, self.deferred, self.error_bound = self._beta(), None, np.zeros(2)

    def support(self) -> tuple[Rows | None, NDArray[np.float64], NDArray[np.int64]]:
        """The support, its weights (m, outputs), and which rows of the data it is."""
        return self.slots.rows, np.ascontiguousarray(self.alpha.T), self.slot_row_ids[: len(self)]

    def drift(self) -> float:
        """max |L Lᵀ − K_S|: how far the factor is from what it stands for."""
        m = len(self)
        if m == 0:
            return 0.0
        assert self.slots.rows is not None
        K = np.empty((m, m), dtype=self.slots.rows.dtype)
        fill(self.kernel, self.slots.rows, self.slots.rows, K)
        L = self.L[:m, :m]
        return float(np.abs(L @ L.T - K).max())

    def scores(self, x: Rows) -> NDArray[np.float64]:
        """(n, outputs); that of one example in single precision where steps wait and its sign is clear."""
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
        """New outputs that are copies, mirror images or zeros: each column of (old, new) says which."""
        self._apply_deferred()
        self.B = np.ascontiguousarray(output_map.T @ self.B)
        self._alpha = None
        self.ledger = self.ledger.remapped(output_map)

    def add_features(self, n_features: int) -> None:
        """More features, in which all that was learned is 0."""
        self.slots.add_features(n_features)
        self.model = None

    def savepoint(self) -> Any:
        """What `rollback` needs to undo all learning from now on."""
        return parts_of(self)

    def rollback(self, savepoint: Any) -> None:
        vars(self).update(savepoint)
        self._inverse = self._screen = None  # it may have followed L further

    def end_epoch(self) -> None:
        """Nothing to merge: a row that is met again is in the span of the support."""

    # ---------------------------------------------------------------- learning

    def learn(
        self, x: Rows, y: NDArray[np.float64], w: NDArray[np.float64], row_ids: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Examples, one by one: y (n, outputs), w and the ids of the rows (n,). Their scores before each."""
        return in_parts(CHUNK, self._learn, x, as_targets(y), w, row_ids)

    def learn_one(self, x: Rows, y: NDArray[np.float64], row_id: int) -> None:
        """One example of weight 1, y (1, outputs), on arrays that are there already.

        It is projected only where there may be something to learn.
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
            verdict = screen.by_projection(kxx, y) if self.aggressive else screen.by_coefficients(kxx, y)
        else:
            right = not self.aggressive and _native.all_right(part.K, self.alpha, y, part.F)
            verdict = NO_UPDATE if right else UNDECIDED
        if verdict == UNDECIDED:
            part.K_chunk[0, 0] = kxx
            self._pass(x, y, ONE, np.array([row_id]), part, 0)
            return
        self.rounds += 1
        if verdict == DEFERRED:
            self._alpha = None
            self.ledger.add_one(part.steps, self.rounds, row_id)

    def _prepare(self, m: int, dtype: np.dtype) -> _native.Screen32 | None:
        """Room for one example, and what judges it without its projection, unless that leaves a doubt."""
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
        if inverse.size < m and inverse.serves:
            inverse.follow(self.L, m)
        if not (inverse.serves_alpha if by_alpha else inverse.serves):
            return None
        if self.deferred is None and self.n_outputs == 1:  # of several outputs each would have to be updated
            self.deferred = np.zeros((2, len(self.L)))
            self.deferred[1, :m] = self.alpha[0] if by_alpha else self.B[0, :m]
        # fmt: off
        self._screen = _native.screen(
            *self._settings, part.K, m, inverse.M, inverse.norm,
            self.B, self.deferred, self.error_bound, part.F, part.steps, self.counts,
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
        if m:  # Z Lᵀ = K, all rows at once
            assert self.slots.rows is not None
            fill(self.kernel, x, self.slots.rows, part.K[:, :m])
            threads = thread_count() if b * m * m > SMALL_SOLVE else 1
            _native.project_rows(self.L, m, part.K, part.Z, threads)
        self._pass(x, y, w, row_ids, part, m)
        return part.F

    def _pass(
        self, x: Rows, y: NDArray[np.float64], w: NDArray[np.float64], row_ids: NDArray, part: Part, known: int
    ) -> None:
        """The examples one by one, on their kernel values and the `known` components of their projections."""
        b, m, p = len(x), len(self), part
        self._apply_deferred()
        # fmt: off
        learned = _native.project_pass(
            *self._settings, p.K, p.K_chunk, p.Z, known,
            self.L, self.B, self.size, y, w, p.F, p.steps, p.added, self.counts,
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
        """Room for so many support vectors, or for as many as there may be."""
        old, most = len(self.L), size if self.budget is None else self.budget
        if min(size, most) <= old:
            return
        room = max(size, 2 * old, 64)
        room = room if self.budget is None else min(room, self.budget)
        room = 8 * (-(-room // 8) | 1)  # an odd number of cache lines: rows then do not compete for one place
        self._apply_deferred()
        L, B = aligned(np.zeros((room, room))), np.zeros((self.n_outputs, room))
        L[:old, :old], B[:, :old] = self.L, self.B
        self.L, self.B = L, B
        self.slot_row_ids = np.concatenate([self.slot_row_ids, np.empty(room - old, dtype=np.int64)])
