"""Linear models, f_c(x) = v_c·x + b_c: the scorer of the linear perceptron."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from onkel.errors import ShapeError
from onkel.kernels import Linear, prepare
from onkel.kernels.vectors import VectorRows
from onkel.models.scorer import as_one_row, check_output, check_width
from onkel.states.frozen import Frozen
from onkel.states.state import State

__all__ = ["FeatureContribution", "LinearModel"]


class FeatureContribution(NamedTuple):
    """One term of a linear score: the weight of a feature times its value."""

    feature: Any  # the index of the feature, or its name if it has one
    weight: float
    value: float
    contribution: float  # weight · value


@dataclasses.dataclass(frozen=True, eq=False)
class LinearModel(Frozen):
    """A linear score f_c(x) = v_c·x + b_c for each output c.

    Parameters
    ----------
    coef : the weight vectors v_c, shape (outputs, features).
    intercept : the offsets b, shape (outputs,).

    Cost: outputs × non-zeros multiply-adds per row.
    """

    KIND: ClassVar[str] = "scorer/linear"
    VERSION: ClassVar[int] = 1

    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]

    @property
    def n_outputs(self) -> int:
        """The number of scores of a row."""
        return len(self.intercept)

    def scores(self, X: Any) -> NDArray[np.float64]:
        """f(x) of each row of X, shape (n, outputs); X is an array or a CSR matrix."""
        return np.asarray(self._rows(X).matrix @ self.coef.T) + self.intercept

    def explain(self, x: Any, output: int = 0) -> list[FeatureContribution]:
        """The terms of the sum v·x that, with b, is the score of one point x, the largest first; zeros are left out.

        Parameters
        ----------
        x : one point: a vector or a matrix of one row.
        output : whose score is explained: the position of the class in `classes_` (0, the default, is the first), not
            the predicted class. A model of two classes has one output only, 0, the score for classes_[1].
        """
        output = check_output(output, self.n_outputs)
        rows = self._rows(as_one_row(x))
        if len(rows) != 1:
            raise ShapeError(f"explain: x must be one point; got {len(rows)}.")
        weight, value = self.coef[output], rows.dense()[0].astype(np.float64)
        share = weight * value
        order = np.argsort(-np.abs(share), kind="stable")
        return [
            FeatureContribution(int(j), float(weight[j]), float(value[j]), float(share[j]))
            for j in order
            if share[j] != 0
        ]

    def _rows(self, X: Any) -> VectorRows:
        rows = prepare(Linear(), X)
        assert isinstance(rows, VectorRows)
        check_width(rows, self.coef.shape[1], type(self).__name__)
        return rows

    def state(self) -> State:
        """Weights and offsets, as a `State`."""
        return State(self.KIND, self.VERSION, {}, {"coef": self.coef, "intercept": self.intercept})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The linear model that has this state."""
        state.expect(cls.KIND, cls.VERSION)
        intercept = state.array("intercept", np.float64, (None,))
        return cls(state.array("coef", np.float64, (len(intercept), None)), intercept)
