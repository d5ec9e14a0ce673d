"""Kernel expansions, f_c(x) = Σⱼ A_jc k(sⱼ, x) + b_c: the scorers of almost all learners, whole and reduced."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from onkel.checks import check_integer, check_number
from onkel.errors import GramError, KindError, ParameterError
from onkel.kernels import Kernel
from onkel.kernels.pursuit import pursue
from onkel.kernels.tiles import add_scores
from onkel.models.scorer import Contribution, SupportModel, check_output
from onkel.states.state import State

__all__ = ["Expansion", "ReducedExpansion"]


@dataclasses.dataclass(frozen=True, eq=False)
class Expansion(SupportModel):
    """A kernel expansion f_c(x) = Σⱼ A_jc k(sⱼ, x) + b_c, one column c per output.

    There is one output for two classes and for regression, else one for each class.

    Parameters
    ----------
    kernel : the kernel k.
    support : the m support vectors sⱼ, as `onkel.kernels.prepare` returns rows.
    row_ids : the index of each support vector in the training data, shape (m,).
    coef : the coefficients A, float64, shape (m, outputs).
    intercept : the offsets b, shape (outputs,).

    Cost: m kernel values per row.
    """

    KIND: ClassVar[str] = "scorer/expansion"

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

    def reduced(self, n: int | None = None, *, tol: float | None = None) -> ReducedExpansion:
        """The nearest expansion over few of the support vectors, which `onkel.kernels.pursuit` chooses.

        Parameters
        ----------
        n : ≥ 1, the largest number of support vectors. None (default): as many as `tol` needs.
        tol : from 0 to 1, the largest relative error ‖f_c − g_c‖ / ‖f_c‖ of any output, in the norm of the kernel's
            space; as few support vectors are taken as reach it. None (default): n of them. One of both must be given.

        Cost: m² kernel values; then n·m kernel values, n²·m flops, and memory for n·m numbers.
        """
        if n is None and tol is None:
            raise ParameterError(
                "reduced: n or tol must be given, such as reduced(50) or reduced(tol=0.1); got neither."
            )
        n = None if n is None else check_integer(n, "n", "reduced", at_least=1)
        tol = 0.0 if tol is None else check_number(tol, "tol", "reduced", at_least=0, at_most=1)
        _refuse_kernel(self.kernel)
        if not len(self.support):
            return ReducedExpansion(
                self.kernel, self.support, self.row_ids, self.coef, self.intercept, np.zeros(self.n_outputs)
            )
        found = pursue(self.kernel, self.support, np.ascontiguousarray(self.coef), n, tol)
        support, row_ids = self.support[found.places], self.row_ids[found.places]
        return ReducedExpansion(self.kernel, support, row_ids, found.coef, self.intercept, found.errors[-1])

    def state(self) -> State:
        """Kernel, support vectors and arrays, as a `State`."""
        return self._state({"coef": self.coef, "intercept": self.intercept})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The expansion that has this state."""
        kernel, support, row_ids = cls._read(state)
        intercept = state.array("intercept", np.float64, (None,))
        coef = state.array("coef", np.float64, (len(support), len(intercept)))
        return cls(kernel, support, row_ids, coef, intercept)


@dataclasses.dataclass(frozen=True, eq=False)
class ReducedExpansion(Expansion):
    """A kernel expansion over few support vectors, the nearest to a larger one: see `Expansion.reduced`.

    Parameters
    ----------
    kernel, support, row_ids, coef, intercept : as of an `Expansion`; the support vectors are in the order in which they
        were chosen, those that lower the error most first, and the intercept is that of the larger one.
    rkhs_error : ‖f_c − g_c‖ / ‖f_c‖ of each output, shape (outputs,): the distance between the larger expansion f and
        this one, g, both without intercepts, in the norm of the kernel's space (RKHS), relative to f.

    Cost: m kernel values per row.
    """

    KIND: ClassVar[str] = "scorer/reduced"

    rkhs_error: NDArray[np.float64]

    def state(self) -> State:
        """Kernel, support vectors and arrays, as a `State`."""
        return self._state({"coef": self.coef, "intercept": self.intercept, "rkhs_error": self.rkhs_error})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The expansion that has this state."""
        kernel, support, row_ids = cls._read(state)
        intercept = state.array("intercept", np.float64, (None,))
        coef = state.array("coef", np.float64, (len(support), len(intercept)))
        return cls(kernel, support, row_ids, coef, intercept, state.array("rkhs_error", np.float64, intercept.shape))


def _refuse_kernel(kernel: Kernel) -> None:
    """Refuses kernels for which there is no nearest expansion, or none that can be computed."""
    if kernel.takes == "gram":
        raise KindError(
            "reduced: the kernel values among the support vectors are needed, and a model with a precomputed kernel "
            "does not hold them. Learn with a kernel that onkel can compute, such as RBF or Custom(fn)."
        )
    if kernel.is_psd is False:
        raise GramError(
            f"reduced: the kernel must be positive semi-definite, so that functions have distances; {kernel!r} is not. "
            "Learn with a kernel whose is_psd is True, such as RBF."
        )
