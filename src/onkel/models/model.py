"""What learning yields: frozen models, safe to share between threads, compared by content.

    Expansion    f_c(x) = Σⱼ A_jc k(sⱼ, x) + b_c
    OneVsOne     f_ab(x), such an expansion for each pair of classes
    Vote         f_c(x) = Σ_k m_k sign(v_k·x) / m      over all guesses v_k of a run

Learners change, models do not: files, exports and servers see only these.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onkel.errors import ShapeError
from onkel.kernels import Kernel, prepare
from onkel.kernels.rows import GramRows, ObjectRows, Rows
from onkel.kernels.vectors import VectorRows

__all__ = ["Contribution", "SupportModel", "support_data"]


class Contribution(NamedTuple):
    """One term of a score: how important an example is, times how similar."""

    row: int  # of the training data
    importance: float  # the example's coefficient
    similarity: float  # k(s, x)
    contribution: float  # their product


def support_data(s: Rows) -> Any:
    """Support rows as a user knows them; of a precomputed kernel, the columns."""
    if isinstance(s, VectorRows):
        return s.matrix
    if isinstance(s, ObjectRows):
        return s.objects
    assert isinstance(s, GramRows)
    return s.columns


def _same(a: Any, b: Any) -> bool:
    if hasattr(a, "toarray"):
        return hasattr(b, "toarray") and a.shape == b.shape and (a != b).nnz == 0
    return bool(np.array_equal(a, b))


@dataclasses.dataclass(frozen=True, eq=False)
class SupportModel:
    kernel: Kernel
    support: Rows  # (m rows)
    rows: NDArray[np.int64]  # (m,) which training rows they are

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        same = self.kernel == other.kernel and _same(support_data(self.support), support_data(other.support))
        names = [f.name for f in dataclasses.fields(self) if f.name not in ("kernel", "support")]
        return same and all(np.array_equal(getattr(self, n), getattr(other, n)) for n in names)

    __hash__ = None  # type: ignore[assignment]

    def _rows(self, X: Any) -> Rows:
        """X at the door, of the support's width and dtype."""
        x = prepare(self.kernel, X)
        s = self.support
        if isinstance(x, VectorRows) and isinstance(s, VectorRows):
            if x.n_features != s.n_features:
                raise ShapeError(
                    f"{type(self).__name__} was trained on {s.n_features} features, so X must have shape "
                    f"(n, {s.n_features}); got {x.matrix.shape}. For one sample write X[None, :]."
                )
            if x.dtype != s.dtype:
                x = VectorRows(x.matrix.astype(s.dtype))
        return x
