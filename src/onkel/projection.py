"""The learner that projects: mistakes that the support nearly spans move its weights, and are not added.

With K_S = L Lᵀ, z = L⁻¹ k(S, x) is the projection of x on the span of the support in an orthonormal
basis, f(x) = β·z, and k(x, x) − ‖z‖² the squared distance to it (cpp/project.h). A vector that is added
is one more row of L, so that nothing is inverted, nothing is updated twice, and nothing can drift: the
error of L Lᵀ is that of one factorisation, however long the run. The coefficients of the support,
α = L⁻ᵀ β, are worked out when they are asked for.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native, thread_count
from onkel.bounded import CHUNK, Slots, as_targets, in_parts, parts_of
from onkel.kernels import Kernel
from onkel.kernels.rows import Rows
from onkel.kernels.tiles import fill
from onkel.ledger import Window

__all__ = ["Projected"]

# δ² below this many units of rounding, as a part of k(x, x), is 0: the vector is in the span.
ROUNDING = 100.0
# Twice the multiply-adds of a substitution below which a second thread costs more than it brings.
SMALL_SOLVE = 1 << 21


class Projected:
    """The Projectron's learner; `counts` are the mistakes and the updates of all machines."""

    def __init__(
        self, kernel: Kernel, machines: int, *, eta: float, budget: int | None, aggressive: bool, window: int = 1000
    ) -> None:
        self.kernel, self.eta, self.budget, self.aggressive = kernel, eta, budget, aggressive
        self.slots = Slots()
        self.numbers_of = np.empty(0, dtype=np.int64)  # which row of the data each support vector is
        self.L, self.B = np.zeros((0, 0)), np.zeros((machines, 0))
        self.size = np.zeros(1, dtype=np.int64)
        self.counts = np.zeros(2, dtype=np.int64)
        self.ledger, self.rounds = Window(window), 0
        self.model: Any = None
        self._alpha: NDArray[np.float64] | None = None
        self._one: tuple[NDArray, NDArray[np.float64]] | None = None  # room for the numbers of one example

    @property
    def machines(self) -> int:
        return len(self.B)

    def __len__(self) -> int:
        return int(self.size[0])

    @property
    def alpha(self) -> NDArray[np.float64]:
        """The coefficients (m, machines): Lᵀ α = β."""
        if self._alpha is None:
            self._alpha = np.empty((len(self), self.machines))
            _native.coefficients(self.L, self.B, self._alpha)
        return self._alpha

    def support(self) -> tuple[Rows | None, NDArray[np.float64], NDArray[np.int64]]:
        """The support, its weights (m, machines), and which rows of the data it is."""
        return self.slots.rows, self.alpha, self.numbers_of[: len(self)]

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
        """(n, machines)."""
        out = np.zeros((len(x), self.machines))
        if len(self):
            assert self.slots.rows is not None
            self.kernel._add_scores(x, self.slots.rows, self.alpha, out)
        return out

    # ---------------------------------------------------------------- changes

    def set_machines(self, mixing: NDArray[np.float64]) -> None:
        """New machines that are copies, mirror images or zeros: each column of (old, new) says which."""
        self.B = np.ascontiguousarray(mixing.T @ self.B)
        self._alpha = None
        self.ledger = self.ledger.mixed(mixing)

    def widen(self, n_features: int) -> None:
        """More features, in which all that was learned is 0."""
        self.slots.widen(n_features)
        self.model = None

    def mark(self) -> Any:
        """What `back_to` needs to undo all learning from now on."""
        return parts_of(self)

    def back_to(self, mark: Any) -> None:
        vars(self).update(mark)

    def merge(self) -> None:
        """Nothing to merge: a row that is met again is in the span of the support."""

    # ---------------------------------------------------------------- learning

    def learn(
        self, x: Rows, y: NDArray[np.float64], w: NDArray[np.float64], numbers: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Examples, one by one: y (n, machines), w and the rows' numbers (n,). Their scores before each."""
        y = as_targets(y)
        if len(x) == 1:
            return self._learn_one(x, y, w, numbers)
        return in_parts(CHUNK, self._learn, x, y, w, numbers)

    def _learn_one(
        self, x: Rows, y: NDArray[np.float64], w: NDArray[np.float64], numbers: NDArray
    ) -> NDArray[np.float64]:
        """One example, which is projected only where there is something to learn from it."""
        m = len(self)
        self._make_room(m + 1 if self.budget is None else min(m + 1, self.budget))
        room, rows = len(self.L), self.slots.rows
        if self._one is None or self._one[0].shape[1] != room or self._one[0].dtype != x.dtype:
            self._one = np.zeros((1, room), dtype=x.dtype), np.zeros((1, room))
        K, Z = self._one
        if rows is not None and m:
            self.kernel._gram(x, rows, K[:, :m])
        if not self.aggressive:
            f = K[:, :m].astype(np.float64) @ self.alpha
            right = float(y[0, 0] * f[0, 0]) > 0 if self.machines == 1 else bool((np.isnan(y) | (y * f > 0)).all())
            if right:
                self.rounds += 1
                return f
        own = np.full((1, 1), self.kernel._diag(x)[0], dtype=x.dtype)
        return self._pass(x, y, w, numbers, K, own, Z, 0)

    def _learn(self, x: Rows, y: NDArray[np.float64], w: NDArray[np.float64], numbers: NDArray) -> NDArray[np.float64]:
        b, m = len(x), len(self)
        self._make_room(m + b if self.budget is None else min(m + b, self.budget))
        room, own = len(self.L), np.empty((b, b), dtype=x.dtype)
        fill(self.kernel, x, x, own)
        K, Z = np.zeros((b, room), dtype=x.dtype), np.zeros((b, room))
        if m:  # Z Lᵀ = K, all rows at once
            assert self.slots.rows is not None
            fill(self.kernel, x, self.slots.rows, K[:, :m])
            _native.project_rows(self.L, m, K, Z, thread_count() if b * m * m > SMALL_SOLVE else 1)
        return self._pass(x, y, w, numbers, K, own, Z, m)

    def _pass(
        self,
        x: Rows,
        y: NDArray[np.float64],
        w: NDArray[np.float64],
        numbers: NDArray,
        K: NDArray,
        own: NDArray,
        Z: NDArray[np.float64],
        known: int,
    ) -> NDArray[np.float64]:
        """The examples one by one, on their kernel values and the `known` components of their projections."""
        b, m = len(x), len(self)
        most = self.budget if self.budget is not None else np.iinfo(np.int64).max
        F, steps, added = np.empty((b, self.machines)), np.empty((b, self.machines)), np.zeros(b, dtype=np.int64)
        least = ROUNDING * float(np.finfo(x.dtype).eps)
        settings = (self.eta, least, most, self.aggressive, self.budget is not None)
        _native.project_pass(*settings, K, own, Z, known, self.L, self.B, self.size, y, w, F, steps, added, self.counts)
        self.rounds += b
        if steps.any():
            self._alpha = None
            self.ledger.add(steps, self.rounds - b + 1 + np.arange(b), numbers)
        new = added.nonzero()[0]
        if len(new):
            places = m + np.arange(len(new))
            self.slots.put(places, x[new] if b > 1 else x)
            self.numbers_of[places] = numbers[new]
        return F

    def _make_room(self, size: int) -> None:
        """Room for so many support vectors."""
        old = len(self.L)
        if size <= old:
            return
        room = max(size, 2 * old, 64)
        room = room if self.budget is None else min(room, self.budget)
        L, B = np.zeros((room, room)), np.zeros((self.machines, room))
        L[:old, :old], B[:, :old] = self.L, self.B
        self.L, self.B = L, B
        self.numbers_of = np.concatenate([self.numbers_of, np.empty(room - old, dtype=np.int64)])
