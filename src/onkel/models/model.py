"""The base class of all models over support vectors, and the terms in which a score is explained.

    Expansion    f_c(x) = Σⱼ A_jc k(sⱼ, x) + b_c       onkel.models.expansion
    OneVsOne     f_ab(x), an expansion for each pair of classes a < b      onkel.models.one_vs_one
    Vote         f_c(x) = Σ_k m_k sign(v_k·x) / Σ_k m_k, over all guesses v_k of a run      onkel.models.vote

Learners change, models do not.
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
    """One term of a score: the importance of a support vector times its similarity to the point x."""

    row: int  # index of the support vector in the training data
    importance: float  # its coefficient
    similarity: float  # k(s, x)
    contribution: float  # importance · similarity


def support_data(s: Rows) -> Any:
    """Support vectors in the form in which users gave them; of a precomputed kernel, their columns of the matrix."""
    if isinstance(s, VectorRows):
        return s.matrix
    if isinstance(s, ObjectRows):
        return s.objects
    assert isinstance(s, GramRows)
    return s.columns


def _same(a: Any, b: Any) -> bool:
    """Whether two arrays, or two sparse matrices, hold the same values."""
    if hasattr(a, "toarray"):
        return hasattr(b, "toarray") and a.shape == b.shape and (a != b).nnz == 0
    return bool(np.array_equal(a, b))


@dataclasses.dataclass(frozen=True, eq=False)
class SupportModel:
    """The base class of models that are computed from kernel values k(s, x) with support vectors s.

    Two models are equal if they are of one class and their kernels, support vectors and arrays are equal. Models have
    no hash, because they hold arrays.

    Parameters
    ----------
    kernel : the kernel k.
    support : the m support vectors, as `onkel.kernels.prepare` returns rows.
    rows : the index of each support vector in the training data, shape (m,).
    """

    kernel: Kernel
    support: Rows
    rows: NDArray[np.int64]

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        same = self.kernel == other.kernel and _same(support_data(self.support), support_data(other.support))
        names = [f.name for f in dataclasses.fields(self) if f.name not in ("kernel", "support")]
        return same and all(np.array_equal(getattr(self, n), getattr(other, n)) for n in names)

    __hash__ = None  # type: ignore[assignment]

    def _rows(self, X: Any) -> Rows:
        """X as checked rows, with as many features as the support vectors and in their dtype."""
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
