"""Linear models, f_c(x) = v_c·x + b_c: what the linear perceptron yields."""

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
    coef : the vectors v_c, shape (outputs, features).
    intercept : b, shape (outputs,).

    Cost: outputs × non-zeros multiply-adds a row.
    """

    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]

    def scores(self, X: Any) -> NDArray[np.float64]:
        """f(x) of each row, shape (n, outputs); X is an array or a CSR matrix."""
        return np.asarray(X @ self.coef.T) + self.intercept
