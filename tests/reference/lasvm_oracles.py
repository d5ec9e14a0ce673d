"""The slow, obvious twin of the online support vector machine."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from reference.online_oracles import KernelFunction, SlowOnline


class SlowLasvm(SlowOnline):
    """LASVM [Bordes, Ertekin, Weston and Bottou 2005], each machine with examples of its own in common slots.

    After a step that meets no bound g_i = g_j but for rounding, and rounding then decides who steps next: so sums have
    an order. A new example takes the first slot that is free; of equal gradients the first slot's is chosen; and the
    sum over the slots is that of sixteen, each of every sixteenth slot.
    """

    def __init__(self, kernel: KernelFunction, C: float = 1.0, tol: float = 1e-3, **_: Any) -> None:
        super().__init__(kernel)
        self.C, self.tau = C, tol
        self.points: list[NDArray] = []  # in the slots
        self.number: list[int] = []
        self.free: set[int] = set()
        self.box: list[float] = []
        self.outputs: list[dict[int, list[float]]] = []  # slot → [y, α, g] of what a machine keeps
        self.level: list[float] = []  # b of each

    # ---------------------------------------------------------------- as the other twins tell it

    def _slots(self) -> list[int]:
        found = {s for m in self.outputs for s, (_, a, _) in m.items() if a != 0}
        return sorted(found, key=lambda s: self.number[s])

    @property
    def rows(self) -> list[int]:
        return [self.number[s] for s in self._slots()]

    @rows.setter
    def rows(self, _: Any) -> None:
        pass

    @property
    def coef(self) -> NDArray[np.float64]:
        return np.array([[m[s][1] if s in m else 0.0 for m in self.outputs] for s in self._slots()]).reshape(
            -1, len(self.outputs)
        )

    def f(self, x: NDArray, n_outputs: int = 1) -> NDArray[np.float64]:
        while len(self.outputs) < n_outputs:
            self.outputs.append({})
            self.level.append(0.0)
        k = self.K([x], self.points)[0]
        return np.array([self.weighted(m, k) + b for m, b in zip(self.outputs, self.level, strict=True)])

    def decision(self, X: NDArray) -> NDArray[np.float64]:
        return np.array([self.f(np.asarray(x, dtype=np.float64), self.coef.shape[1]) for x in X])

    # ---------------------------------------------------------------- learning

    def weighted(self, machine: dict[int, list[float]], k: NDArray) -> float:
        sums = [0.0] * 16
        for s in range(len(self.points)):
            sums[s % 16] += machine[s][1] * float(k[s]) if s in machine else 0.0
        return sum(sums)

    def step(self, x: NDArray, y: NDArray, w: float, f: NDArray) -> None:
        k = self.K([x], self.points)[0]
        if self.free:
            s = min(self.free)
            self.free.remove(s)
            self.points[s], self.number[s], self.box[s] = x, self.seen, self.C * w
        else:
            s = len(self.points)
            self.points.append(x)
            self.number.append(self.seen)
            self.box.append(self.C * w)
        held = {s}
        for o, machine in enumerate(self.outputs):
            if y[o] == 0:
                continue
            self.mistakes += y[o] * f[o] <= 0
            machine[s] = [y[o], 0.0, y[o] - self.weighted(machine, k)]
            i, j = self.ends(machine)
            i, j = (s, j) if y[o] > 0 else (i, s)
            if i is not None and j is not None and machine[i][2] > machine[j][2]:
                self.pair_step(machine, i, j)
                self.updates += 1
            self.reprocess(o, machine, held)
        self.let_go(held)

    def ends(self, machine: dict[int, list[float]]) -> tuple[int | None, int | None]:
        """Where g is largest among those that can rise, and smallest among those that can fall."""
        rising = [s for s, (y, a, _) in machine.items() if a < max(0.0, self.box[s] * y)]
        falling = [s for s, (y, a, _) in machine.items() if a > min(0.0, self.box[s] * y)]
        i = min(rising, key=lambda s: (-machine[s][2], s)) if rising else None
        j = min(falling, key=lambda s: (machine[s][2], s)) if falling else None
        return i, j

    def pair_step(self, machine: dict[int, list[float]], i: int, j: int) -> None:
        ki, kj = self.K([self.points[i], self.points[j]], self.points)
        (yi, ai, gi), (yj, aj, gj) = machine[i], machine[j]
        top, bottom = max(0.0, self.box[i] * yi), min(0.0, self.box[j] * yj)
        step = min((gi - gj) / max(ki[i] + kj[j] - 2 * ki[j], 1e-12), top - ai, aj - bottom)
        machine[i][1] = top if step == top - ai else ai + step
        machine[j][1] = bottom if step == aj - bottom else aj - step
        for s, entry in machine.items():
            entry[2] -= step * float(ki[s] - kj[s])

    def reprocess(self, o: int, machine: dict[int, list[float]], held: set[int]) -> bool:
        i, j = self.ends(machine)
        violated = i is not None and j is not None and machine[i][2] - machine[j][2] > self.tau
        if violated:
            self.pair_step(machine, i, j)
            i, j = self.ends(machine)
        if i is None or j is None:
            one = i if j is None else j
            self.level[o] = 0.0 if one is None else machine[one][2]
            return violated
        most, least = machine[i][2], machine[j][2]
        self.level[o] = (most + least) / 2
        for s, (y, a, g) in list(machine.items()):
            if a == 0 and (g >= most if y < 0 else g <= least):
                del machine[s]
                held.add(s)
        return violated

    def let_go(self, slots: set[int]) -> None:
        """Slots that no machine keeps are free."""
        self.free |= {s for s in slots if not any(s in m for m in self.outputs)}

    def finish(self) -> None:
        held: set[int] = set()
        for o, machine in enumerate(self.outputs):
            while self.reprocess(o, machine, held):
                pass
        self.let_go(held)


def objective(K: NDArray, y: NDArray, alpha: NDArray) -> float:
    """½ αᵀKα − yᵀα."""
    return float(0.5 * alpha @ K @ alpha - y @ alpha)


def best_objective(K: NDArray, y: NDArray, C: NDArray | float) -> float:
    """That of LIBSVM's solution on a Gram matrix, for y of ±1 and a C for each."""
    from sklearn.svm import SVC

    weights = np.full(len(y), C, dtype=float)
    machine = SVC(kernel="precomputed", C=1.0, tol=1e-8).fit(K, y, sample_weight=weights)
    alpha = np.zeros(len(y))
    alpha[machine.support_] = machine.dual_coef_[0]
    assert math.isclose(alpha.sum(), 0.0, abs_tol=1e-6)
    return objective(K, y, alpha)
