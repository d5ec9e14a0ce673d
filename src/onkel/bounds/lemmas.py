"""The two lemmas of the mistake bound, followed through the mistakes of a fitted perceptron."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from onkel.bounds.certificates import open_run
from onkel.bounds.rankings import open_ranking, ranks, refuse_qid
from onkel.bounds.theorems import TOLERANCE, Floats, count
from onkel.checks import check_weights
from onkel.errors import ParameterError, ValuesError

__all__ = ["RankingLemmas", "Trace", "trace"]


@dataclass(frozen=True, eq=False)
class _Lemmas:
    """The numbers of two lemmas, one on v_k·u and one on ‖v_k‖², at each mistake k = 1 … M."""

    progress: Floats = field(repr=False)
    progress_floor: Floats = field(repr=False)
    norm_sq: Floats = field(repr=False)
    norm_sq_ceiling: Floats = field(repr=False)
    margin: float
    radius_sq: float

    def __post_init__(self) -> None:
        for array in (self.progress, self.progress_floor, self.norm_sq, self.norm_sq_ceiling):
            array.flags.writeable = False

    def _on_progress(self) -> bool:
        return bool((self.progress >= self.progress_floor - TOLERANCE * np.abs(self.progress_floor)).all())

    def _on_norm(self) -> bool:
        return bool((self.norm_sq <= self.norm_sq_ceiling * (1 + TOLERANCE)).all())

    def _in_words(self, numbers: str, on_progress: str, on_norm: str, beside: str = "") -> str:
        """The numbers of the run, and each lemma with whether it holds, and its two sides at the last mistake."""
        says = {True: "holds at every mistake", False: "FAILS"}
        return (
            f"{count(len(self.progress), 'mistake')}, {numbers}, γ = {self.margin:.6g}\n"
            f"  {on_progress}: {says[self._on_progress()]}; "
            f"at the last {self.progress[-1]:.6g} against {self.progress_floor[-1]:.6g}\n"
            f"  {on_norm}: {says[self._on_norm()]}; "
            f"at the last {self.norm_sq[-1]:.6g} against {self.norm_sq_ceiling[-1]:.6g}{beside}"
        )


@dataclass(frozen=True, eq=False)
class Trace(_Lemmas):
    """The numbers of both lemmas at each mistake k = 1 … M; ``print`` the trace to read it in words.

    With weights, the sum of w over the first k updates replaces k in lemma 1, and the sum of w² replaces it in lemma 2.

    Attributes
    ----------
    progress : v_k·u after each mistake, shape (M,).
    progress_floor : kγ, shape (M,); lemma 1 says that `progress` does not fall below it.
    norm_sq : ‖v_k‖² after each mistake, shape (M,).
    norm_sq_ceiling : kR, shape (M,); lemma 2 says that `norm_sq` does not exceed it.
    margin : γ, the smallest y u·x of all rows; not positive if u does not separate them.
    radius_sq : R, the largest K(x, x), or the largest K(x, x) + 1 with an intercept.
    lemma_1, lemma_2 : whether the lemma holds at every mistake, up to a relative 1e-9.
    """

    @property
    def lemma_1(self) -> bool:
        """Whether v_k·u ≥ kγ at every mistake."""
        return self._on_progress()

    @property
    def lemma_2(self) -> bool:
        """Whether ‖v_k‖² ≤ kR at every mistake."""
        return self._on_norm()

    def __str__(self) -> str:
        return self._in_words(f"R = {self.radius_sq:.6g}", "lemma 1, v_k·u ≥ kγ", "lemma 2, ‖v_k‖² ≤ kR")


@dataclass(frozen=True, eq=False)
class RankingLemmas(_Lemmas):
    """The numbers of lemmas 3 and 4 of the notes, on ranking, at each mistake k = 1 … M; ``print`` it to read it.

    They are lemmas 1 and 2 with z = x_best − x_guess, the vector that an update adds, in the place of y x. The notes
    give ‖v_k‖² ≤ 2kR, which needs x_best·x_guess ≥ 0; without that it is 4kR, or k times the largest ‖z‖² of the run.

    Attributes
    ----------
    progress, norm_sq : v_k·u and ‖v_k‖² after each mistake, shape (M,).
    progress_floor : kγ, shape (M,); lemma 3 says that `progress` does not fall below it.
    norm_sq_ceiling : k max ‖z‖², shape (M,); lemma 4, with what was observed, says that `norm_sq` does not exceed it.
    margin : γ, the smallest u·z that an update of some query could have; not positive if u ranks a query wrongly.
    radius_sq : the largest ‖z‖² of the updates made.
    item_radius_sq : R, the largest K(x, x) of an item. With pairs="best", `radius_sq` ≤ 4R.
    lemma_3, lemma_4 : whether the lemma holds at every mistake, up to a relative 1e-9.
    """

    item_radius_sq: float

    @property
    def lemma_3(self) -> bool:
        """Whether v_k·u ≥ kγ at every mistake."""
        return self._on_progress()

    @property
    def lemma_4(self) -> bool:
        """Whether ‖v_k‖² ≤ k max ‖z‖² at every mistake."""
        return self._on_norm()

    def __str__(self) -> str:
        single = self.radius_sq <= 4.0 * self.item_radius_sq * (1 + TOLERANCE)  # not a sum of many pairs
        four = f" (4kR = {4.0 * self.item_radius_sq * len(self.progress):.6g})" if single else ""
        numbers = f"R = max K(x, x) = {self.item_radius_sq:.6g}, max ‖z‖² = {self.radius_sq:.6g}"
        return self._in_words(numbers, "lemma 3, v_k·u ≥ kγ", "lemma 4, ‖v_k‖² ≤ k max ‖z‖²", four)


def trace(estimator: Any, X: Any, y: Any, u: Any = None, *, qid: Any = None) -> Trace | RankingLemmas:
    """Both lemmas of the theorem, followed through the mistakes of a two-class perceptron.

    v_k = v_{k−1} + w·y·φ(x), so v_k·u grows by w·y·u·φ(x), and ‖v_k‖² by 2w·y·v_{k−1}·φ(x) + w²K(x, x).
    Returns a `Trace`, of a ranking perceptron `RankingLemmas`; print it to read it.

    Parameters
    ----------
    estimator : a fitted `KernelPerceptron` or `Perceptron` of two classes that made at least one mistake (a
        `Perceptron` at most 100 000, the most that it keeps), or an estimator of your own that adds w·y·φ(x) on
        mistakes only and keeps a ledger of them.
    X, y : the rows and labels that the estimator was fitted on, in their order.
    u : coefficients (n,) of the comparator Σ uᵢ φ(xᵢ), which is scaled to length 1 and must not be 0. None (default):
        the last guess.
    qid : for a `RankingPerceptron`, the queries that were given to `fit`, (n,); its y are the grades. None (default):
        one query. Then z = x_best − x_guess takes the place of y x, and the result is a `RankingLemmas`.

    Cost: n × support vectors kernel values, computed tile by tile, and the Gram matrix of the support vectors.

    >>> from onkel import KernelPerceptron, bounds
    >>> X, y = [[0.0, 2.0], [1.0, 1.0], [0.0, -1.0], [-1.0, 0.0]], [1, 1, 0, 0]
    >>> lemmas = bounds.trace(KernelPerceptron(kernel="linear").fit(X, y), X, y)
    >>> lemmas.lemma_1, lemmas.lemma_2
    (True, True)

    Source: Cohen 2009, Margins, Mistakes, Ranking, Sequential Learning and the Perceptron, sec. 1.3.
    """
    who = "bounds.trace"
    if ranks(estimator):
        return ranking_trace(estimator, X, y, qid, u, who)
    refuse_qid(qid, estimator, who)
    run = open_run(estimator, X, y, who)
    n, n_outputs = run.signs.shape
    if n_outputs != 1 or not len(run.row):
        got = count(n_outputs, "output") if n_outputs != 1 else "no mistake"
        raise ParameterError(f"{who}: estimator must have one output, of two classes, that erred; got {got}.")
    final = np.bincount(run.row, weights=run.step, minlength=n)
    A = check_weights(final if u is None else u, n, name="u", who=who).reshape(n, -1)
    F, norms = run.scores(A)
    if len(norms) != 1 or not norms[0] > 0:
        got = "the final guess, which is 0" if u is None else f"shape {np.shape(u)} and length {norms.max(initial=0):g}"
        raise ValuesError(f"{who}: u must be ({n},) coefficients of a vector with a length; got {got}.")
    along = F[:, 0] / norms[0]  # u·φ(x) of every row
    support, place = np.unique(run.row, return_inverse=True)
    K = run.gram(support)
    guess, growth = np.zeros(len(support)), np.empty(len(place))  # v_k·φ(s) of each support vector; growth of ‖v_k‖²
    for k, (i, step) in enumerate(zip(place, run.step, strict=True)):
        growth[k] = 2.0 * step * guess[i] + step * step * K[i, i]
        guess += step * K[i]
    margin = float((run.signs[:, 0] * along).min())
    radius_sq = float(run.kernel.diag(run.rows).max()) + run.one
    progress, progress_floor = np.cumsum(run.step * along[run.row]), margin * np.cumsum(np.abs(run.step))
    norm_sq, norm_sq_ceiling = np.cumsum(growth), radius_sq * np.cumsum(run.step**2)
    return Trace(progress, progress_floor, norm_sq, norm_sq_ceiling, margin, radius_sq)


def ranking_trace(estimator: Any, X: Any, y: Any, qid: Any, u: Any, who: str) -> RankingLemmas:
    """Lemmas 3 and 4 of the notes, followed through the mistakes of a ranking perceptron; see `trace`."""
    run = open_ranking(estimator, X, y, qid, who)
    n, first = len(run.groups.rows), run.first
    if not len(run.row):
        raise ParameterError(f"{who}: estimator must have erred; got no mistake.")
    A = check_weights(run.coef() if u is None else u, n, name="u", who=who).reshape(n, -1)
    F, norm = run.scores(A[:, 0])
    if A.shape[1] != 1 or not norm > 0:
        raise ValuesError(f"{who}: u must be ({n},) coefficients of a vector with a length; got shape {np.shape(u)}.")
    support, place = np.unique(run.row, return_inverse=True)
    K = run.kernel(run.rows[support]).astype(np.float64)
    guess, growth, lengths = np.zeros(len(support)), np.empty(len(first)), np.empty(len(first))
    for k, terms in enumerate(run.updates()):
        i, step = place[terms], run.step[terms]
        change = step @ K[i]
        lengths[k] = change[i] @ step  # ‖z‖²
        growth[k] = 2.0 * step @ guess[i] + lengths[k]
        guess += change
    along = np.add.reduceat(run.step * F[run.row] / norm, first)  # u·z of each update
    counts = np.arange(1.0, len(first) + 1)
    margin, radius_sq = float(run.margins(F).min()) / norm, float(lengths.max())
    items = float(run.kernel.inner.diagonal(run.rows).max())
    progress, norm_sq = np.cumsum(along), np.cumsum(growth)
    return RankingLemmas(progress, margin * counts, norm_sq, radius_sq * counts, margin, radius_sq, items)
