"""Scorers: frozen functions from rows to scores, one score for each output.

    Expansion      f_c(x) = Σⱼ A_jc k(sⱼ, x) + b_c       onkel.models.expansion
    LinearModel    f_c(x) = v_c·x + b_c      onkel.models.linear
    OneVsOne       f_ab(x), an expansion for each pair of classes a < b      onkel.models.one_vs_one
    Vote           f_c(x) = Σ_k m_k sign(v_k·x) / Σ_k m_k, over all guesses v_k of a run      onkel.models.vote

Learners change, scorers do not. A `ScoreModel` (onkel.models.model) adds the decision that makes labels of scores.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from onkel.checks import check_integer
from onkel.errors import ShapeError, warn
from onkel.kernels import Kernel, prepare
from onkel.kernels.rows import GramRows, ObjectRows, Rows
from onkel.kernels.rows_state import kernel_rows, rows_state
from onkel.kernels.tiles import fill
from onkel.kernels.vectors import VectorRows
from onkel.states.frozen import Frozen
from onkel.states.state import Setting, State

__all__ = ["Contribution", "Scorer", "SupportModel", "support_data", "support_rows"]


@runtime_checkable
class Scorer(Protocol):
    """A frozen function from rows to scores, which several threads may call at once."""

    @property
    def n_outputs(self) -> int:
        """The number of scores of a row."""

    def scores(self, X: Any) -> NDArray[np.float64]:
        """The scores of each row of X, shape (n, outputs); X is checked, unless it is `Rows`."""

    def state(self) -> State:
        """The settings and arrays of which `from_state` makes an equal scorer."""

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The scorer that has this state."""


class Contribution(NamedTuple):
    """One term of a score: the importance of a support vector times its similarity to the point x."""

    row_id: int  # index of the support vector in the training data
    importance: float  # its coefficient
    similarity: float  # k(s, x)
    contribution: float  # importance · similarity

    @property
    def row(self) -> int:
        """The name of `row_id` up to onkel 0.1."""
        warn_renamed("row", "row_id")
        return self.row_id


def warn_renamed(old: str, new: str) -> None:
    """Warns the user of an attribute that will have only its new name."""
    warn(f"`{old}` is called `{new}` now; the old name goes with onkel 0.2. Write `{new}`.", FutureWarning)


def support_data(s: Rows) -> Any:
    """Support vectors in the form in which users gave them; of a precomputed kernel, their columns of the matrix."""
    if isinstance(s, VectorRows):
        return s.matrix
    if isinstance(s, ObjectRows):
        return s.objects
    assert isinstance(s, GramRows)
    return s.columns


def support_rows(rows: Rows, chosen: NDArray[np.intp]) -> Rows:
    """A copy of the rows that a model keeps; of a Gram matrix, what a right-hand side needs: no kernel values."""
    if isinstance(rows, GramRows):
        assert rows.columns is not None
        return GramRows(None, rows.columns[chosen], None if rows.diagonal is None else rows.diagonal[chosen])
    return rows[chosen]


@dataclasses.dataclass(frozen=True, eq=False)
class SupportModel(Frozen):
    """The base class of scorers that are computed from kernel values k(s, x) with support vectors s.

    Parameters
    ----------
    kernel : the kernel k.
    support : the m support vectors, as `onkel.kernels.prepare` returns rows.
    row_ids : the index of each support vector in the training data, shape (m,).
    """

    KIND: ClassVar[str]
    VERSION: ClassVar[int] = 1

    kernel: Kernel
    support: Rows
    row_ids: NDArray[np.int64]

    def _rows(self, X: Any) -> Rows:
        """X as checked rows, with as many features as the support vectors and in their dtype."""
        x = prepare(self.kernel, X)
        s = self.support
        if isinstance(x, VectorRows) and isinstance(s, VectorRows):
            check_width(x, s.n_features, type(self).__name__)
            x = x.astype(s.dtype)
        return x

    def _similarities(self, x: Any) -> NDArray[np.float64]:
        """k(s, x) of one point x with each support vector, shape (m,)."""
        rows = self._rows(as_one_row(x) if isinstance(x, Rows) or self.kernel.takes != "objects" else [x])
        if len(rows) != 1:
            raise ShapeError(f"explain: x must be one point; got {len(rows)}.")
        K = np.empty((1, len(self.support)), dtype=rows.dtype)
        if len(self.support):
            fill(self.kernel, rows, self.support, K)
        similarities: NDArray[np.float64] = K[0].astype(np.float64)
        return similarities

    def _explanation(self, importance: NDArray[np.float64], similarity: NDArray[np.float64]) -> list[Contribution]:
        """The terms of Σ importance · similarity over the support vectors, the largest first, without those of 0."""
        share = importance * similarity
        order = np.argsort(-np.abs(share), kind="stable")
        return [
            Contribution(int(self.row_ids[j]), float(importance[j]), float(similarity[j]), float(share[j]))
            for j in order
            if importance[j] != 0
        ]

    @property
    def rows(self) -> NDArray[np.int64]:
        """The name of `row_ids` up to onkel 0.1."""
        warn_renamed("rows", "row_ids")
        return self.row_ids

    # ---------------------------------------------------------------- state

    def _state(self, arrays: Mapping[str, NDArray], settings: Mapping[str, Setting] | None = None) -> State:
        """The state: kernel, support vectors, their row ids under the name "rows", and what the subclass adds."""
        everything = {"rows": self.row_ids, **arrays}
        state = State(self.KIND, self.VERSION, {"kernel": self.kernel, **(settings or {})}, everything)
        return state.with_part("support", rows_state(self.support, copy=False))

    @classmethod
    def _read(cls, state: State) -> tuple[Kernel, Rows, NDArray[np.int64]]:
        """Kernel, support vectors and their row ids, from a state of this class."""
        state.expect(cls.KIND, cls.VERSION)
        kernel = state.kernel()
        support = kernel_rows(state, "support", kernel)
        return kernel, support, state.array("rows", np.int64, (len(support),))


def check_width(x: VectorRows, n_features: int, who: str) -> None:
    """Refuses rows with another number of features than the model has."""
    if x.n_features != n_features:
        raise ShapeError(
            f"{who} was trained on {n_features} features, so X must have shape (n, {n_features}); "
            f"got {(len(x), x.n_features)}. For one sample write X[None, :]."
        )


def check_output(output: Any, n_outputs: int) -> int:
    """Refuses an output that the model does not have."""
    checked = check_integer(output, "output", "explain", at_least=0)
    if checked >= n_outputs:
        raise ShapeError(f"explain: output must be 0 to {n_outputs - 1}; got {checked}.")
    return checked


def as_one_row(x: Any) -> Any:
    """One point as a matrix of one row; a matrix stays as it is, and so do rows."""
    if isinstance(x, Rows):
        return x
    if hasattr(x, "toarray"):
        return x if x.ndim == 2 else x.reshape(1, -1)
    array = np.asarray(x)
    return array[None, :] if array.ndim == 1 else array
