"""Learners that rank: the perceptron on lists of items, primal and dual.

A query is a list of items with grades. The learner scores them by v, and errs if an item of a lower grade has at least
the score of a better one. It then adds the better item and subtracts the other one:

    v ← v + z,    z = φ(x_ℓ) − φ(x_j)    if    v·φ(x_j) ≥ v·φ(x_ℓ)    [Cohen 2009, sec. 3]

which is the perceptron's step with z in the place of y φ(x), and y = +1. So both learners are perceptrons that take
`Groups` in the place of rows and decide with `update_terms`. A round is a query. The ledger has an entry for each term
of an update: the item's row, and its step, +1 for x_ℓ and −1 for x_j.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from onkel._core.transaction import Transaction
from onkel.kernels import Kernel
from onkel.kernels.rows import Rows
from onkel.kernels.tiles import fill
from onkel.kernels.vectors import VectorRows
from onkel.learners.learner import ONE, Floats, Ints
from onkel.learners.perceptron.groups import Groups
from onkel.learners.perceptron.kernel import Hypothesis, KernelPerceptronLearner
from onkel.learners.perceptron.linear import LinearPerceptronLearner
from onkel.learners.perceptron.primal import most_rows
from onkel.models.expansion import Expansion
from onkel.models.ranking import ItemVote
from onkel.models.vote import vote_weights
from onkel.states.state import State

__all__ = ["PAIRS", "KernelRankingLearner", "LinearRankingLearner", "Pairs", "RankingLearner", "update_terms"]

Pairs = Literal["best", "all"]
PAIRS = ("best", "all")
CHUNK = 256  # items that are scored at once by the dual learner, about; a query is never split


class Update(NamedTuple):
    """What a query changes: v grows by Σ steps[t] · φ(item items[t]); without items it changes nothing."""

    items: NDArray[np.intp]  # (terms,), positions in the query
    steps: Floats  # (terms,)
    margin: float  # score of the best item minus that of the best lower one, before; NaN if all have one grade


NOTHING = np.empty(0, dtype=np.intp), np.empty(0)


def update_terms(scores: Floats, grades: Floats, pairs: Pairs) -> Update:
    """The update of the ranking perceptron for one query, from its items' scores and grades, shapes (items,).

    The best item ℓ is the one with the largest score among those of the top grade, and the guess j the one with the
    largest score among those of lower grades, the first of several in both cases; a mistake is score_j ≥ score_ℓ.
    "best" gives z = x_ℓ − x_j. "all" gives the sum of x_i − x_j over all pairs with grade_i > grade_j and
    score_j ≥ score_i, which may be pairs of lower grades only.
    """
    top = grades == grades.max()
    if top.all():
        return Update(*NOTHING, np.nan)
    best = int(np.argmax(np.where(top, scores, -np.inf)))
    guess = int(np.argmax(np.where(top, -np.inf, scores)))
    margin = float(scores[best] - scores[guess])
    if pairs == "all":
        steps = _violations(scores, grades)
        items = np.flatnonzero(steps)
        return Update(items, steps[items], margin)
    if scores[guess] >= scores[best]:
        return Update(np.array([best, guess]), np.array([1.0, -1.0]), margin)
    return Update(*NOTHING, margin)


def _violations(scores: Floats, grades: Floats) -> Floats:
    """For each item, the lower-graded items that score at least as much, less the higher-graded ones that score at most
    as much; O(items log items) for each grade, and no matrix of pairs."""
    steps = np.zeros(len(scores))
    for grade in np.unique(grades):
        mine, lower, higher = grades == grade, np.sort(scores[grades < grade]), np.sort(scores[grades > grade])
        steps[mine] += len(lower) - np.searchsorted(lower, scores[mine], side="left")
        steps[mine] -= np.searchsorted(higher, scores[mine], side="right")
    return steps


class LinearRankingLearner(LinearPerceptronLearner):
    """The ranking perceptron with the linear kernel in primal form: v itself, in O(features) memory.

    A mistake is a query with an update, and `radius_sq` the largest ‖z‖² of one.

    A part is learned on a copy of v, which is put in place when its last query is done. The rows of the groups must be
    `VectorRows`, dense or CSR.

    Parameters
    ----------
    n_features : the number of features.
    pairs : "best" or "all"; see `update_terms`.
    """

    KIND: ClassVar[str] = "learner/linear-ranking"
    BUILT_FROM: ClassVar[tuple[str, ...]] = (*LinearPerceptronLearner.BUILT_FROM, "pairs")
    CHANGES: ClassVar[tuple[str, ...]] = (*LinearPerceptronLearner.CHANGES, "radius_sq")

    def __init__(self, n_features: int, pairs: Pairs) -> None:
        super().__init__(n_features, 1, 1.0, False)
        self.pairs, self.radius_sq = pairs, 0.0

    @property
    def sq_norm(self) -> float:
        """‖v‖²."""
        return float(self.V[0] @ self.V[0])

    # ---------------------------------------------------------------- learning

    def learn(self, rows: Rows, targets: Floats, weights: Floats, row_ids: Ints) -> Floats:
        """Learns from queries one by one; returns the margin of each before it was learned, shape (n, 1)."""
        assert isinstance(rows, Groups)
        assert isinstance(rows.rows, VectorRows)
        V, moments, items = self.V.copy(), self.moments.copy(), _Items(rows.rows)
        v, mistakes, radius_sq = V[0, :-1], 0, self.radius_sq
        margins, terms = np.empty((len(rows), 1)), _Terms()
        for q in range(len(rows)):
            part = slice(int(rows.starts[q]), int(rows.starts[q + 1]))
            update = update_terms(items.scores(part, v), rows.grades[part], self.pairs)
            margins[q] = update.margin
            if not len(update.items):
                continue
            where, z = items.combined(part.start + update.items, update.steps)
            v[where] += z
            moments[0, :-1][where] += (self.n_seen + 1 + q) * z
            mistakes, radius_sq = mistakes + 1, max(radius_sq, float(z @ z))
            terms.add(part.start + update.items, update.steps, self.n_seen + 1 + q)
        record = self.record.copy()
        record.add(len(rows), rows.row_ids.max(initial=-1), mistakes, mistakes)
        found, steps, rounds = terms.arrays()
        with Transaction() as change:
            self.ledger.add(steps[:, None], rounds, rows.row_ids[found], change)
            change.set(self, V=V, moments=moments, record=record, radius_sq=radius_sq)
        return margins

    def part_size(self, rows: Rows, most: int) -> int:
        """How many queries the next part of a chunk should have, at most `most`."""
        assert isinstance(rows, Groups)
        assert isinstance(rows.rows, VectorRows)
        return _queries(rows, most_rows(rows.rows.n_features), most)

    # ---------------------------------------------------------------- state

    def state(self) -> State:
        """Everything the learner knows, as named values and arrays."""
        state = super().state()
        return State(self.KIND, self.VERSION, {**state.settings, **_settings(self)}, state.arrays)

    @classmethod
    def _untaught(cls, state: State, n_features: int, n_outputs: int) -> Self:
        return cls(n_features, _pairs_of(state))

    def _count_updates(self, state: State) -> None:
        _read_updates(self, state)


class KernelRankingLearner(KernelPerceptronLearner):
    """The ranking perceptron in dual form: an update adds its items to the support, with their steps.

    A mistake is a query with an update, and `radius_sq` the largest ‖z‖² of one.

    Parameters
    ----------
    kernel : the kernel.
    pairs : "best" or "all"; see `update_terms`.
    """

    KIND: ClassVar[str] = "learner/kernel-ranking"
    BUILT_FROM: ClassVar[tuple[str, ...]] = (*KernelPerceptronLearner.BUILT_FROM, "pairs")
    HYPOTHESES: ClassVar[tuple[str, ...]] = ("averaged", "voted", "last")
    CHANGES: ClassVar[tuple[str, ...]] = (*KernelPerceptronLearner.CHANGES, "radius_sq")

    def __init__(self, kernel: Kernel, pairs: Pairs) -> None:
        super().__init__(kernel, 1, 0.0)
        self.pairs, self.radius_sq = pairs, 0.0

    @property
    def sq_norm(self) -> float:
        """‖v‖² in feature space."""
        return float(self.sq_norms[0])

    @property
    def version(self) -> int:
        return self.record.n_seen

    def scorer(self, which: Hypothesis = "last", draw: float = 0.0) -> Expansion:
        """A hypothesis as a frozen model; "voted" gives an `ItemVote`, whose scores are those of the average."""
        if which != "voted":
            found = super().scorer(which)
            assert isinstance(found, Expansion)
            return found
        average, entries = self.scorer("averaged"), self.ledger.entries
        rounds, ends = np.unique(entries["round"], return_index=True)
        start, weight = vote_weights(rounds, np.zeros(len(rounds), dtype=np.int64), 1, self.n_seen)
        vector = np.searchsorted(average.row_ids, entries["row"])
        ends = np.append(ends, len(entries)).astype(np.int64)
        used = np.concatenate([start, weight])
        given = (average.kernel, average.support, average.row_ids, average.coef, average.intercept)
        return ItemVote(*given, vector, entries["step"].copy(), ends, used)

    # ---------------------------------------------------------------- learning

    def learn(self, rows: Rows, targets: Floats, weights: Floats, row_ids: Ints) -> Floats:
        """Learns from queries one by one; returns the margin of each before it was learned, shape (n, 1).

        The scores of all items under the present guess are computed at once; an update then changes those of its own
        query and the later ones by the kernel values of its terms.
        """
        assert isinstance(rows, Groups)
        f, mistakes, radius_sq, sq_norm = self.scores(rows.rows)[:, 0], 0, self.radius_sq, self.sq_norm
        margins, terms = np.empty((len(rows), 1)), _Terms()
        for q in range(len(rows)):
            part = slice(int(rows.starts[q]), int(rows.starts[q + 1]))
            update = update_terms(f[part], rows.grades[part], self.pairs)
            margins[q] = update.margin
            if not len(update.items):
                continue
            change_of_f = self._values(rows.rows, part.start, part.start + update.items) @ update.steps
            length = max(0.0, float(update.steps @ change_of_f[update.items]))  # ‖z‖²
            sq_norm += 2.0 * float(update.steps @ f[part][update.items]) + length
            f[part.start :] += change_of_f
            mistakes, radius_sq = mistakes + 1, max(radius_sq, length)
            terms.add(part.start + update.items, update.steps, self.n_seen + 1 + q)
        found, steps, rounds = terms.arrays()
        record = self.record.copy()
        record.add(len(rows), rows.row_ids.max(initial=-1), mistakes, mistakes)
        with Transaction() as change:
            if len(found):
                column, ids = steps[:, None], rows.row_ids[found]
                self.ledger.add(column, rounds, ids, change)
                self.support.add(rows.rows[found], column, column * rounds[:, None], ids, change)
            change.set(self, record=record, sq_norms=np.array([max(0.0, sq_norm)]), radius_sq=radius_sq)
        return margins

    def _values(self, rows: Rows, first: int, terms: NDArray[np.intp]) -> Floats:
        """The kernel values of the rows from `first` on with those of the terms, (rows, terms), in float64."""
        K = np.empty((len(rows) - first, len(terms)), dtype=rows.dtype)
        fill(self.kernel, rows[first:], rows[terms], K)
        return K.astype(np.float64, copy=False)

    def part_size(self, rows: Rows, most: int) -> int:
        """How many queries the next part of a chunk should have, at most `most`."""
        assert isinstance(rows, Groups)
        return _queries(rows, CHUNK, most)

    def learn_one(self, row: Rows, target: Floats) -> None:
        """Learns from one query, which brings the ids of its rows."""
        self.learn(row, target, ONE, np.array([self.next_row_id]))

    # ---------------------------------------------------------------- state

    def state(self) -> State:
        """Everything the learner knows, as named values and arrays."""
        state = super().state()
        return State(self.KIND, self.VERSION, {**state.settings, **_settings(self)}, state.arrays)

    @classmethod
    def _untaught(cls, state: State, n_outputs: int) -> Self:
        return cls(state.kernel(), _pairs_of(state))

    def _count_updates(self, state: State) -> None:
        _read_updates(self, state)


RankingLearner = LinearRankingLearner | KernelRankingLearner


# ---------------------------------------------------------------- what both learners need


class _Terms:
    """The terms of the updates of a part, in order: positions of the items, steps and rounds."""

    def __init__(self) -> None:
        self.items: list[NDArray[np.intp]] = []
        self.steps: list[Floats] = []
        self.rounds: list[NDArray[np.int64]] = []

    def add(self, items: NDArray[np.intp], steps: Floats, round: int) -> None:
        """Adds the terms of one update."""
        self.items.append(items)
        self.steps.append(steps)
        self.rounds.append(np.full(len(items), round))

    def arrays(self) -> tuple[Ints, Floats, Ints]:
        """All terms: positions, steps and rounds, one array each."""
        none, some = np.empty(0, dtype=np.int64), np.empty(0)
        found = ([none, *self.items], [some, *self.steps], [none, *self.rounds])
        items, steps, rounds = (np.concatenate(arrays) for arrays in found)
        return items, steps, rounds


class _Items:
    """The items of a part for the primal learner: their scores under v, and sums of a few of them."""

    def __init__(self, rows: VectorRows) -> None:
        self.X = rows.dense() if rows.is_dense else None
        self.csr = None if rows.is_dense else rows.csr()

    def scores(self, part: slice, v: Floats) -> Floats:
        """v·x of the items of a part, summed in float64."""
        if self.X is not None:
            return np.asarray(self.X[part] @ v)
        assert self.csr is not None
        bounds = self.csr.indptr[part.start : part.stop + 1].astype(np.int64)
        stored = slice(int(bounds[0]), int(bounds[-1]))
        products = self.csr.data[stored] * v[self.csr.indices[stored]]
        item = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
        return np.bincount(item, products, minlength=len(bounds) - 1).astype(np.float64, copy=False)

    def combined(self, items: NDArray[np.intp], steps: Floats) -> tuple[slice | Ints, Floats]:
        """Σ steps[t] · x of some items: the features that it has, and its values there."""
        if self.X is not None:
            return slice(None), steps @ self.X[items].astype(np.float64, copy=False)
        assert self.csr is not None
        spans = [slice(int(self.csr.indptr[i]), int(self.csr.indptr[i + 1])) for i in items]
        indices = np.concatenate([self.csr.indices[span] for span in spans])
        values = np.concatenate([step * self.csr.data[span] for step, span in zip(steps, spans, strict=True)])
        where, at = np.unique(indices, return_inverse=True)
        return where, np.bincount(at, values, minlength=len(where)).astype(np.float64, copy=False)


def _queries(groups: Groups, n_items: int, most: int) -> int:
    """How many queries have about `n_items` items, 1 to `most`."""
    return min(most, max(1, n_items * len(groups) // max(1, len(groups.rows))))


def _settings(learner: RankingLearner) -> dict[str, Any]:
    return {"pairs": learner.pairs, "mistakes": learner.n_mistakes, "radius_sq": learner.radius_sq}


def _pairs_of(state: State) -> Pairs:
    return state.choice("pairs", PAIRS)  # type: ignore[return-value]


def _read_updates(learner: RankingLearner, state: State) -> None:
    """Takes from a state what the ledger does not tell: it has an entry for each term of an update."""
    learner.record.n_mistakes = learner.record.n_updates = state.count("mistakes")
    learner.radius_sq = state.setting("radius_sq", float, at_least=0)
