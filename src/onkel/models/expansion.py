"""Kernel expansions, f_c(x) = Σⱼ A_jc k(sⱼ, x) + b_c: the scorers of almost all learners."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from onkel.checks import check_integer
from onkel.kernels.tiles import add_scores
from onkel.models.scorer import Contribution, SupportModel, check_arrays, check_output
from onkel.models.state import State

__all__ = ["Expansion"]


@dataclasses.dataclass(frozen=True, eq=False)
class Expansion(SupportModel):
    """A kernel expansion f_c(x) = Σⱼ A_jc k(sⱼ, x) + b_c, one column c per output.

    There is one output for two classes and for regression, else one for each class.

    Parameters
    ----------
    kernel : the kernel k.
    support : the m support vectors sⱼ, as `onkel.kernels.prepare` returns rows.
    rows : the index of each support vector in the training data, shape (m,).
    coef : the coefficients A, float64, shape (m, outputs).
    intercept : the offsets b, shape (outputs,).

    Cost: m kernel values per row.
    """

    KIND: ClassVar[str] = "model/expansion"

    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]

    @property
    def n_outputs(self) -> int:
        """The number of scores of a row."""
        return len(self.intercept)

    def scores(self, X: Any) -> NDArray[np.float64]:
        """f(x) of each row of X, shape (n, outputs). Kernel values are computed tile by tile and never all stored."""
        x = self._rows(X)
        out = np.tile(self.intercept, (len(x), 1))
        if len(self.support):
            add_scores(self.kernel, x, self.support, self.coef, out)
        return out

    def explain(self, x: Any, output: int = 0) -> list[Contribution]:
        """The terms of the sum that is the score of one point x, the largest first.

        Each term is the importance of a support vector (its coefficient) times its similarity to x (the kernel value):
        f(x) = Σ importance · similarity + b. Support vectors with coefficient 0 are left out.

        Parameters
        ----------
        x : one point: a vector, a matrix of one row, or one object for kernels on objects.
        output : whose score is explained: the position of the class in `classes_` (0, the default, is the first), not
            the predicted class. A model of two classes has one output only, 0, the score for classes_[1].
        """
        output = check_output(output, self.n_outputs)
        return self._explanation(self.coef[:, output], self._similarities(x))

    def reduced(self, n: int) -> Expansion:
        """A smaller model: only the n ≥ 1 support vectors with the largest coefficients are kept, unchanged."""
        n = check_integer(n, "n", "reduced", at_least=1)
        size = np.abs(self.coef).max(axis=1, initial=0.0)
        keep = np.sort(np.argsort(-size, kind="stable")[:n])
        return dataclasses.replace(self, support=self.support[keep], rows=self.rows[keep], coef=self.coef[keep])

    def state(self) -> State:
        """Kernel, support vectors and arrays, as a `State`."""
        return self._state({"coef": self.coef, "intercept": self.intercept})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The expansion that has this state."""
        kernel, support, rows = cls._read(state)
        coef, intercept = state.array("coef"), state.array("intercept")
        check_arrays(state, coef=(coef, (len(support), intercept.size)), intercept=(intercept, (intercept.size,)))
        return cls(kernel, support, rows, coef, intercept)
