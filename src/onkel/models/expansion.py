"""Kernel expansions, f_c(x) = Σⱼ A_jc k(sⱼ, x) + b_c: what almost every learner yields."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.checks import check_integer
from onkel.errors import ShapeError
from onkel.kernels.tiles import add_scores, fill
from onkel.models.model import Contribution, SupportModel

__all__ = ["Expansion"]


@dataclasses.dataclass(frozen=True, eq=False)
class Expansion(SupportModel):
    """A kernel expansion f_c(x) = Σⱼ A_jc k(sⱼ, x) + b_c, one column c per output.

    Parameters
    ----------
    kernel : the kernel k.
    support : the rows sⱼ, as `onkel.kernels.prepare` gives them.
    rows : which training rows they were, shape (m,).
    coef : A, float64, shape (m, outputs).
    intercept : b, shape (outputs,).

    Cost: m kernel values a row.
    """

    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]

    def scores(self, X: Any) -> NDArray[np.float64]:
        """f(x) of each row, shape (n, outputs), in O(tile) memory."""
        x = self._rows(X)
        out = np.tile(self.intercept, (len(x), 1))
        if len(self.support):
            add_scores(self.kernel, x, self.support, self.coef, out)
        return out

    def explain(self, x: Any, output: int = 0) -> list[Contribution]:
        """Which examples make the score of one point, largest share first.

        Each term is how important an example is (its coefficient) times how similar it is to x:
        f(x) = Σ importance · similarity + b.
        """
        output = check_integer(output, "output", "explain", at_least=0)
        if output >= self.coef.shape[1]:
            raise ShapeError(f"explain: output must be 0 to {self.coef.shape[1] - 1}; got {output}.")
        rows = self._rows(_one(x) if self.kernel.takes != "objects" else [x])
        if len(rows) != 1:
            raise ShapeError(f"explain: x must be one point; got {len(rows)}.")
        K = np.empty((1, len(self.support)), dtype=rows.dtype)
        if len(self.support):
            fill(self.kernel, rows, self.support, K)
        importance, similarity = self.coef[:, output], K[0].astype(np.float64)
        share = importance * similarity
        order = np.argsort(-np.abs(share), kind="stable")
        return [
            Contribution(int(self.rows[j]), float(importance[j]), float(similarity[j]), float(share[j]))
            for j in order
            if importance[j] != 0
        ]

    def reduced(self, n: int) -> Expansion:
        """The n support vectors of the largest coefficients; the others' terms are dropped."""
        n = check_integer(n, "n", "reduced", at_least=1)
        size = np.abs(self.coef).max(axis=1, initial=0.0)
        keep = np.sort(np.argsort(-size, kind="stable")[:n])
        return dataclasses.replace(self, support=self.support[keep], rows=self.rows[keep], coef=self.coef[keep])


def _one(x: Any) -> Any:
    """One point as a row of a matrix."""
    if hasattr(x, "toarray"):
        return x if x.ndim == 2 else x.reshape(1, -1)
    array = np.asarray(x)
    return array[None, :] if array.ndim == 1 else array
