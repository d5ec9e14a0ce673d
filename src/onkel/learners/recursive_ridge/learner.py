"""Kernel ridge regression, one example after the other, on a dictionary that grows only where it must.

    min over f   Σᵢ ωᵢ (yᵢ − f(xᵢ))² + α ‖f‖²         ωᵢ the sample weights

f is sought among the functions Σⱼ cⱼ k(sⱼ, ·) of a dictionary S. With K_SS = T Tᵀ these are w·φ(x) for the whitened
features φ(x) = T⁻¹ k(S, x) (`onkel.kernels.centers`), whose penalty is ‖w‖², so that ordinary recursive least squares
solves the problem (`onkel.learners.recursive_ridge.least_squares`). An example x is added to the dictionary if the part
of k(x, ·) outside of its span is long enough (approximate linear dependence):

    k(x, x) − ‖φ(x)‖² > ν k(x, x)

T then gets the row [φ(x)ᵀ, √(k(x, x) − ‖φ(x)‖²)] and w a new weight with the prior mean 0 and variance 1; what was
learned before does not depend on it. Any other example is learned by its projection on the span, and so is every one
when a budget is full. Explicit inverses of K_SS, with which the method was published, overflow on smooth series; T and
a root of the covariance do not.

The distance from the span must also be more than its own rounding error. With q = K_SS⁻¹ k(S, x) it is
k(x, x) − 2 q·k(S, x) + qᵀK_SS q, so that relative errors u of the kernel values change it by up to

    u (√k(x, x) + Σⱼ |qⱼ| √k(sⱼ, sⱼ))²

and q becomes large on smooth series, where the next row is nearly a combination of the last ones with large
coefficients of either sign. A dictionary that takes such a row has a T with singular values of 10⁻¹² within some 30
rows, and its features are noise. A bound on the distance alone, even 10⁻⁷, does not exclude that. Beyond the error
every row adds at most 1/u to the trace of K_SS⁻¹ (if k(x, x) = 1), so that K_SS stays regular.

With ν = 0 all examples are in the dictionary, except those that are in the span of others up to rounding, and f is the
solution of kernel ridge regression.

Engel, Mannor and Meir 2004, The kernel recursive least-squares algorithm; Van Vaerenbergh, Lázaro-Gredilla and
Santamaría 2012, Kernel recursive least-squares tracker for time-varying regression (forgetting).
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native
from onkel._core.transaction import Transaction
from onkel.errors import ValuesError
from onkel.kernels import Kernel
from onkel.kernels.centers import Centers
from onkel.kernels.rows import Rows
from onkel.kernels.tiles import fill
from onkel.learners.counts import count_settings, read_counts
from onkel.learners.learner import ONE, Floats, Ints, LearnerBase, fill_chunk
from onkel.learners.ledger import Window
from onkel.learners.recursive_ridge.least_squares import Covariance, Triangle, prior
from onkel.learners.storage.support import Support
from onkel.models.expansion import Expansion
from onkel.states.state import Setting, State

__all__ = ["FLOOR", "RecursiveRidgeLearner", "variances"]

CHUNK = 64  # rows whose kernel values are computed at once
ROUNDING = 100 * np.finfo(np.float64).eps  # u, a bound on the relative error of kernel values, with a margin
WORK = 1 << 24  # entries of covariances that a part visits: about 0.1 s
# `onkel.kernels.centers` compares this with the tolerances of the other factors.
FLOOR = 1e-10  # the least ν that is used: below it 1/√(k(x, x) − ‖φ‖²) multiplies rounding errors by more than 10⁵
TILE_VALUES = 1 << 20  # features of rows whose variances are computed at once


class Estimate:
    """What is known of f, without the rows of the dictionary.

    Parameters
    ----------
    factor : T, (m, m).
    lengths : √k(s, s) of the rows of the dictionary, (m,).
    w, covariance : the mean (m, outputs) and the covariance of the weights.
    """

    def __init__(self, factor: Triangle, lengths: Floats, w: Floats, covariance: Covariance) -> None:
        self.factor, self.lengths, self.w, self.covariance = factor, lengths, w, covariance

    def __len__(self) -> int:
        return len(self.w)

    def working_copy(self) -> Estimate:
        """A copy that may be changed by `learn`."""
        return Estimate(self.factor, self.lengths, self.w.copy(), self.covariance.working_copy())

    def copy(self) -> Estimate:
        """An independent copy."""
        factor = Triangle.of(self.factor.entries, len(self))
        return Estimate(factor, self.lengths.copy(), self.w.copy(), self.covariance.working_copy())

    def rounding_error(self, phi: Floats, square: float) -> float:
        """A bound on the error of k(x, x) − ‖φ(x)‖², where `square` is k(x, x)."""
        q = self.factor.solve_transposed(phi[:, None])[:, 0]
        return float(ROUNDING * (math.sqrt(square) + np.abs(q) @ self.lengths) ** 2)

    def add(self, phi: Floats, square: float, more: int) -> Floats:
        """Adds the row with the features phi to the dictionary, and returns its new features.

        `square` > ‖φ(x)‖² is its k(x, x); `more` ≥ 1 says for how many rows room is taken if there is none.
        """
        phi, self.lengths = (
            np.append(phi, math.sqrt(square - float(phi @ phi))),
            np.append(self.lengths, math.sqrt(square)),
        )
        self.factor = self.factor.with_row(phi)
        self.w = np.concatenate([self.w, np.zeros((1, self.w.shape[1]))])
        self.covariance.grow(more)
        return phi

    def learn(self, phi: Floats, target: Floats, noise: float, forgetting: float) -> Floats:
        """Learns the numbers `target` (outputs,), and returns the steps: the errors divided by their variance.

        A step times the covariance of f(x) and f is what f has changed by.
        """
        if forgetting < 1:
            self.w *= math.sqrt(forgetting)
        gain = self.covariance.condition(phi, noise)
        if not gain.vector.any():
            return np.zeros(len(target))
        errors = target - phi @ self.w
        self.w += np.outer(gain.vector, errors)
        steps: Floats = errors / gain.s
        return steps


class RecursiveRidgeLearner(LearnerBase):
    """f(x) = w·φ(x) by recursive least squares in the whitened features of a dictionary; the essay above says how.

    All kernel values are in float64, whatever the dtype of the rows, because T⁻¹ multiplies their rounding errors. A
    sample weight ω makes the noise of an example α/ω. `n_updates` counts the examples that have changed f; there are
    no mistakes, as the targets are numbers.

    Parameters
    ----------
    kernel, n_outputs : the kernel, positive semi-definite, and the number of outputs.
    alpha : α > 0, the ridge, which is the variance of the noise if f is a Gaussian process.
    nu : ν ≥ 0, how far a row must be outside of the dictionary to be added, relative to k(x, x); at least `FLOOR`.
    forgetting : 0 < λ ≤ 1, by which what was learned returns to the prior at every example; 1 forgets nothing.
    budget : the most rows of the dictionary; None (default): no limit.
    window : how many of the last updates the ledger keeps; default 1000.

    Cost: m kernel values and O(m²) for an example, for m rows in the dictionary.
    """

    KIND: ClassVar[str] = "learner/recursive-ridge"
    VERSION: ClassVar[int] = 1
    STATE_COUNTS: ClassVar[tuple[str, ...]] = ("n_seen", "next_row_id")  # the ledger tells the updates
    BUILT_FROM: ClassVar[tuple[str, ...]] = ("alpha", "nu", "forgetting", "budget")
    CHANGES: ClassVar[tuple[str, ...]] = ("record", "ledger", "dictionary", "estimate")
    CACHES: ClassVar[tuple[str, ...]] = ("_coef",)
    stops_when_separated = False

    def __init__(
        self,
        kernel: Kernel,
        n_outputs: int,
        *,
        alpha: float,
        nu: float,
        forgetting: float = 1.0,
        budget: int | None = None,
        window: int = 1000,
    ) -> None:
        self.kernel, self.alpha, self.nu = kernel, float(alpha), float(nu)
        self.forgetting, self.budget = float(forgetting), budget
        self.dictionary = Support(0)
        nothing = Triangle(np.empty(0), 0), np.empty(0), np.empty((0, n_outputs)), prior(self.forgetting)
        self.estimate = Estimate(*nothing)
        self.ledger = Window(window)
        self.record = _native.Counts()
        self._coef: Floats | None = np.empty((0, n_outputs))  # None: to be computed when it is asked for

    # ---------------------------------------------------------------- what was learned

    @property
    def n_outputs(self) -> int:
        return int(self.estimate.w.shape[1])

    @property
    def coef(self) -> Floats:
        """The coefficients T⁻ᵀw of the dictionary, (m, outputs)."""
        if self._coef is None:
            self._coef = self.estimate.factor.solve_transposed(self.estimate.w)
        return self._coef

    def scores(self, rows: Rows) -> Floats:
        """The scores of the rows, shape (n, outputs)."""
        out = np.zeros((len(rows), self.n_outputs))
        self.dictionary.add_scores(self.kernel, rows.wide(), self.coef, out)
        return out

    def scorer(self) -> Expansion:
        """The expansion over the dictionary, in the order in which its rows were added."""
        rows = self.dictionary.rows_in(np.arange(len(self.dictionary)))
        return Expansion(self.kernel, rows, self.dictionary.row_ids.copy(), self.coef.copy(), np.zeros(self.n_outputs))

    # ---------------------------------------------------------------- changes

    def change_outputs(self, output_map: Floats) -> None:
        """Changes the number of outputs.

        `output_map` (old outputs, new outputs): 1 copies an output, −1 mirrors it, a column of zeros starts one at 0.
        """
        self.estimate = self.estimate.copy()
        self.estimate.w = self.estimate.w @ output_map
        self.ledger, self._coef = self.ledger.remapped(output_map), None
        self.record.n_updates = len(self.ledger)

    def add_features(self, n_features: int, *, sparse: bool = False) -> None:
        """Increases the number of features to `n_features`; everything learned so far is 0 in the new ones."""
        self.dictionary.add_features(n_features, sparse=sparse)

    def features_in_use(self, n_features: int) -> NDArray[np.bool_]:
        """Which of the features some row of the dictionary has."""
        return self.dictionary.features_in_use(n_features)

    def end_epoch(self) -> None:
        """Does nothing: a row that is visited in several epochs is in the dictionary once, and then in its span."""

    def _parameters(self) -> dict[str, Any]:
        names = ("alpha", "nu", "forgetting", "budget")
        return {name: getattr(self, name) for name in names} | {"window": self.ledger.size}

    # ---------------------------------------------------------------- learning

    def learn(self, rows: Rows, targets: Floats, weights: Floats, row_ids: Ints) -> Floats:
        """Learns from the examples one by one, and returns the score of each before it was learned, (n, outputs).

        `targets` (n, outputs) are numbers; `weights` (n,) > 0 the sample weights; `row_ids` (n,) the ids of the rows.
        """
        x, estimate, b = rows.wide(), self.estimate.working_copy(), len(rows)
        K, K_chunk, squares = self._kernel_values(x)
        if not (all(np.isfinite(values).all() for values in (K, np.tril(K_chunk), squares))):
            raise ValuesError(
                f"{self.kernel!r} must give finite values; got NaN or infinity. Scale the rows, or use a smaller gamma "
                "or degree."
            )
        scores, steps = np.empty(targets.shape), np.empty(targets.shape)
        added: list[int] = []
        least, most = max(self.nu, FLOOR), math.inf if self.budget is None else self.budget
        for i, (square, weight) in enumerate(zip(squares.tolist(), weights.tolist(), strict=True)):
            phi = estimate.factor.solve(np.concatenate([K[i], K_chunk[i][added]]))
            scores[i] = phi @ estimate.w
            if len(estimate) < most:
                outside = square - float(phi @ phi)
                if outside > least * square and outside > estimate.rounding_error(phi, square):
                    phi = estimate.add(phi, square, b - i)
                    added.append(i)
            steps[i] = estimate.learn(phi, targets[i], self.alpha / weight, self.forgetting)
        estimate.covariance = estimate.covariance.packed()
        self._commit(x, estimate, np.array(added, dtype=np.int64), steps, row_ids)
        return scores

    def _kernel_values(self, x: Rows) -> tuple[Floats, Floats, Floats]:
        """k(x, S), k(x, x) on and below the diagonal (undefined above it), and the k(xᵢ, xᵢ).

        The last two are not needed if the budget is full.
        """
        b, start = len(x), 0
        K = np.empty((b, len(self.dictionary)))
        for block in self.dictionary.blocks:
            fill(self.kernel, x, block, K[:, start : start + len(block)])
            start += len(block)
        if len(self.dictionary) == self.budget:
            return K, np.empty((b, 0)), np.zeros(b)
        if b == 1:
            return K, np.empty((1, 0)), self.kernel.inner.diagonal(x)
        K_chunk = np.empty((b, b))
        fill_chunk(self.kernel, x, K_chunk)
        return K, K_chunk, K_chunk.diagonal()

    def _commit(self, x: Rows, estimate: Estimate, added: Ints, steps: Floats, row_ids: Ints) -> None:
        """Puts what was learned from a part in place."""
        rounds, record = self.n_seen + 1 + np.arange(len(x)), self.record.copy()
        record.add(len(x), row_ids.max(), updates=int(np.count_nonzero(steps)))
        with Transaction() as change:
            if len(added):
                nothing = np.empty((len(added), 0))  # the coefficients are kept here
                self.dictionary.add(x[added], nothing, nothing, row_ids[added], change)
            self.ledger.add(steps, rounds, row_ids, change)
            change.set(self, estimate=estimate, record=record, _coef=None)

    def part_size(self, rows: Rows, most: int) -> int:
        """How many examples the next part of a chunk should have: fewer if the dictionary is large."""
        return max(1, min(CHUNK, most, WORK // (len(self.dictionary) + 1) ** 2))

    def learn_one(self, row: Rows, target: Floats) -> None:
        """Learns from one example of weight 1, target (1, outputs)."""
        self.learn(row, target, ONE, np.array([self.next_row_id]))

    # ---------------------------------------------------------------- state

    def state(self) -> State:
        """Everything the learner knows, as named values and arrays."""
        settings: dict[str, Setting] = {"kernel": self.kernel, **self._parameters()}
        settings |= count_settings(self.record, self.STATE_COUNTS) | self.ledger.settings()
        known = self.estimate.copy()
        arrays = {"factor": known.factor.entries, "lengths": known.lengths, "w": known.w}
        arrays["covariance"] = known.covariance.values
        state = State(self.KIND, self.VERSION, settings, arrays | self.ledger.arrays("ledger/"))
        return state.with_part("dictionary", self.dictionary.state())

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The learner of a state; it learns on exactly as the one that gave it."""
        state.expect(cls.KIND, cls.VERSION)
        kernel = state.kernel()
        dictionary = Support.from_state(state.part("dictionary"), kernel, 0)
        m, alone = len(dictionary), all(block.dtype == np.float64 for block in dictionary.blocks)
        state.check(alone, "the rows of the dictionary must be of float64")
        w, lengths = np.array(state.array("w", np.float64, (m, None))), state.array("lengths", np.float64, (m,))
        state.check(w.shape[1] > 0, "there must be an output")
        factor = Triangle.of(state.array("factor", np.float64, (m * (m + 1) // 2,)), m)
        state.check((factor.dense().diagonal() > 0).all(), "the diagonal of 'factor' must be positive")
        parameters: dict[str, Any] = {
            "alpha": state.setting("alpha", float, at_least=0),
            "nu": state.setting("nu", float, at_least=0),
            "forgetting": state.setting("forgetting", float, above=0, at_most=1),
            "budget": state.count("budget", at_least=max(1, m)) if state.has("budget") else None,
        }
        learner = cls(kernel, w.shape[1], **parameters)
        covariance = prior(learner.forgetting, np.array(state.array("covariance", np.float64, (m, m))))
        learner.estimate, learner.dictionary = Estimate(factor, np.array(lengths), w, covariance), dictionary
        read_counts(state, learner.record, cls.STATE_COUNTS)
        learner.ledger = Window.of_state(state, "ledger/", w.shape[1], learner.n_seen)
        learner.record.n_updates = len(learner.ledger)
        learner._coef = None
        return learner


def variances(kernel: Kernel, dictionary: Rows, estimate: Estimate, x: Rows) -> Floats:
    """The variance of f at each row of x, shape (n,): k(x, x) − ‖φ(x)‖² + φ(x)ᵀPφ(x).

    The first two terms are the variance that no example has touched, as it lies outside of the dictionary's span.
    """
    x = x.wide()
    if len(estimate) == 0:
        return np.maximum(kernel.inner.diagonal(x), 0.0)
    centers = Centers(kernel, dictionary, np.arange(len(dictionary)), estimate.factor.dense())
    found, step = np.empty(len(x)), max(1, TILE_VALUES // len(estimate))
    for start in range(0, len(x), step):
        part = x[start : start + step]
        phi = centers.features(part)
        found[start : start + step] = centers.outside(part, phi) + estimate.covariance.variances(phi)
    return found
