"""Recursive least squares with a prior: the mean and the covariance of weights, conditioned on one number at a time.

The model is y = w·φ + noise, where w has the prior mean 0 and covariance I, and the noise the variance α. After the
examples (φᵢ, yᵢ), w has the mean and the covariance

    w = (Σφᵢφᵢᵀ + αI)⁻¹ Σφᵢyᵢ            P = α (Σφᵢφᵢᵀ + αI)⁻¹

so that the mean is the solution of ridge regression. One more example changes them by

    h = Pφ      s = α + φ·h      w ← w + h (y − w·φ)/s      P ← P − h hᵀ/s          O(m²) for m features

In this form P loses its sign to rounding: the small eigenvalues, α/(α + n), are differences of numbers near 1. There
are two remedies, and two classes.

`RootCovariance` keeps a root L of P = L Lᵀ. With v = Lᵀφ, Potter's formula changes the root itself,

    L ← L − L v vᵀ / (s + √(αs))

so that P is positive semi-definite whatever is rounded, and no variance φᵀPφ = ‖v‖² can be negative.

`FadingCovariance` forgets: before every example w ← √λ w and P ← λP + (1 − λ)I, which leads back to the prior if
nothing comes. (To divide P by λ instead lets it grow without bound in directions that the examples do not visit.) No
formula in O(m²) does that to a root, but here none is needed: P has at least the eigenvalue 1 − λ before every example,
and rounding errors are multiplied by λ each time, so that they do not add up.

Potter 1963, in Bierman 1977, Factorization methods for discrete sequential estimation; Van Vaerenbergh,
Lázaro-Gredilla and Santamaría 2012, Kernel recursive least-squares tracker for time-varying regression.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dtpsv

__all__ = ["Covariance", "FadingCovariance", "Gain", "RootCovariance", "Triangle", "prior"]

Floats = NDArray[np.float64]


class Gain(NamedTuple):
    """What an example does: w ← w + `vector` · (y − w·φ), where s is the variance of y before."""

    vector: Floats  # h/s, (m,)
    s: float


class Covariance(ABC):
    """The covariance P of m weights. `grow` and `condition` change it in place, and so are for a `working_copy`.

    Parameters
    ----------
    values : P or its root, (m, m).
    """

    def __init__(self, values: Floats) -> None:
        self.values = self._room = values  # after `grow` the values are a corner of the room

    def __len__(self) -> int:
        return len(self.values)

    @abstractmethod
    def condition(self, phi: Floats, noise: float) -> Gain:
        """Conditions on an example with the features phi (m,) and the variance `noise` ≥ 0 of its number."""

    @abstractmethod
    def variances(self, phi: Floats) -> Floats:
        """φᵀPφ ≥ 0 of each row of phi (n, m), shape (n,)."""

    def grow(self, more: int) -> None:
        """Adds a weight with the prior variance 1, and takes room for `more` ≥ 1 if there is none."""
        m = len(self)
        if len(self._room) == m:
            self._room = np.zeros((m + more, m + more))
            self._room[:m, :m] = self.values
        self._room[m, m] = 1.0
        self.values = self._room[: m + 1, : m + 1]

    @abstractmethod
    def with_values(self, values: Floats) -> Self:
        """A covariance of the same kind with other values."""

    def working_copy(self) -> Self:
        """A copy that may be changed, without room."""
        return self.with_values(np.array(self.values, order="C"))

    def packed(self) -> Self:
        """The same covariance without the room that it does not need."""
        return self if len(self._room) == len(self) else self.working_copy()


class RootCovariance(Covariance):
    """P = L Lᵀ by its root L, which is not triangular."""

    def condition(self, phi: Floats, noise: float) -> Gain:
        L = self.values
        v = phi @ L
        s = noise + float(v @ v)
        if s == 0:  # nothing is unknown about this number
            return Gain(np.zeros(len(L)), s)
        h = L @ v
        L -= np.outer(h / (s + math.sqrt(noise * s)), v)
        return Gain(h / s, s)

    def variances(self, phi: Floats) -> Floats:
        V = phi @ self.values
        return np.asarray(np.einsum("ij,ij->i", V, V))

    def with_values(self, values: Floats) -> Self:
        return type(self)(values)


class FadingCovariance(Covariance):
    """P itself, which returns to the prior: P ← λP + (1 − λ)I before every example, for a `forgetting` λ < 1."""

    def __init__(self, values: Floats, forgetting: float) -> None:
        super().__init__(values)
        self.forgetting = forgetting

    def condition(self, phi: Floats, noise: float) -> Gain:
        P = self.values
        P *= self.forgetting
        np.einsum("ii->i", P)[...] += 1.0 - self.forgetting
        h = P @ phi
        s = noise + max(0.0, float(phi @ h))
        if s == 0:
            return Gain(np.zeros(len(P)), s)
        root = h / math.sqrt(s)
        P -= np.outer(root, root)  # symmetric to the bit
        return Gain(h / s, s)

    def variances(self, phi: Floats) -> Floats:
        return np.asarray(np.maximum(np.einsum("ij,ij->i", phi @ self.values, phi), 0.0))

    def with_values(self, values: Floats) -> Self:
        return type(self)(values, self.forgetting)


def prior(forgetting: float, values: Floats | None = None) -> Covariance:
    """The covariance of no weights, or of those whose `values` are given; forgetting = 1 forgets nothing."""
    values = np.empty((0, 0)) if values is None else values
    return RootCovariance(values) if forgetting == 1 else FadingCovariance(values, forgetting)


class Triangle:
    """A lower triangular matrix T (m, m) that grows by rows, stored row after row without the zeros.

    It does not change: `with_row` returns a longer one, which may be in the same memory after the last row. So only
    one of several longer triangles can be used.
    """

    def __init__(self, room: Floats, size: int) -> None:
        self._room, self._size = room, size

    def __len__(self) -> int:
        return self._size

    @classmethod
    def of(cls, entries: Floats, size: int) -> Triangle:
        """The triangle of `size` rows with these entries, which are copied."""
        return cls(np.array(entries, dtype=np.float64), size)

    @property
    def entries(self) -> Floats:
        """The entries on and below the diagonal, row after row, as a view."""
        return self._room[: self._size * (self._size + 1) // 2]

    def with_row(self, row: Floats) -> Triangle:
        """The triangle with one more row, (m + 1,)."""
        start = len(self.entries)
        room = self._room
        if start + len(row) > len(room):
            room = np.empty(max(64, 2 * (start + len(row))))
            room[:start] = self.entries
        room[start : start + len(row)] = row
        return Triangle(room, len(row))

    # BLAS reads the rows of T as the columns of Tᵀ, an upper triangle

    def solve(self, b: Floats) -> Floats:
        """T⁻¹ b, (m,)."""
        return np.asarray(dtpsv(len(self), self._room, b, lower=0, trans=1)) if len(self) else b

    def solve_transposed(self, B: Floats) -> Floats:
        """T⁻ᵀ B, (m, columns)."""
        solved = np.empty(B.shape)
        for j in range(B.shape[1] if len(self) else 0):
            solved[:, j] = dtpsv(len(self), self._room, B[:, j], lower=0, trans=0)
        return solved

    def dense(self) -> Floats:
        """T as a square matrix, in Fortran order."""
        T = np.zeros((len(self), len(self)))
        T[np.tril_indices(len(self))] = self.entries
        return np.asfortranarray(T)
