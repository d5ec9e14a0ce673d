"""Linear models, f_c(x) = v_c·x + b_c: the model of the linear perceptron."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["LinearModel"]


@dataclasses.dataclass(frozen=True, eq=False)
class LinearModel:
    """A linear score f_c(x) = v_c·x + b_c for each output c.

    Parameters
    ----------
    coef : the weight vectors v_c, shape (outputs, features).
    intercept : the offsets b, shape (outputs,).

    Cost: outputs × non-zeros multiply-adds per row.
    """

    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]

    def scores(self, X: Any) -> NDArray[np.float64]:
        """f(x) of each row of X, shape (n, outputs); X is an array or a CSR matrix, and is not checked."""
        return np.asarray(X @ self.coef.T) + self.intercept
