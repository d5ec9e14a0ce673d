"""The ranking game: player A gives lists of items, player B finds the best of each, and a referee checks the rules.

    margin   u·x_best − u·x_j ≥ γ for every other item j, with a secret unit vector u
    radius   ‖x‖² ≤ R for every item

B plays the ranking perceptron: v₀ = 0, its guess is the first item with the largest v·x, and if another item scores at
least as much as the best one, v ← v + x_best − x_guess. Then

    lemma 3  v_k·u ≥ kγ           each mistake adds u·(x_best − x_guess) ≥ γ
    lemma 4  ‖v_k‖² ≤ 4kR         each mistake adds 2 v_k·z + ‖z‖², z = x_best − x_guess, and v_k·z ≤ 0, ‖z‖ ≤ 2√R
    theorem  k ≤ 4R/γ²

The notes, sec. 3.2, have 2R in the place of 4R: they use ‖x − z‖² ≤ ‖x‖² + ‖z‖², which needs x·z ≥ 0. `Opposite` makes
4R/γ² mistakes, twice as many as the notes allow. The largest ‖x_best − x_j‖² of the lists on which B erred may take the
place of 4R, and never gives a larger bound.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from onkel.checks import check_integer, check_matrix, check_number
from onkel.errors import KindError, ShapeError
from onkel.game.players import EPS, Vector, check_rules, player_name
from onkel.kernels import Kernel, Linear, expand

__all__ = [
    "ListPlayerA",
    "ListPlayerB",
    "Opposite",
    "RandomLists",
    "RankerPlayer",
    "RankingPlayer",
    "ScriptedLists",
    "checked_items",
]

Items: TypeAlias = NDArray[np.float64]  # (items, dimension)
ListMove: TypeAlias = tuple[Items, int]  # a list of items and the index of its best
Choose: TypeAlias = Callable[[Items], int]


# ---------------------------------------------------------------- player A


class ListPlayerA(ABC):
    """The base class of adversaries of the ranking game: the rules that an adversary promises to keep, and its moves.

    To write your own, derive from this class, call ``super().__init__(u, margin, radius_sq)`` and write `moves`. Set
    `n_rounds` to the number of moves if they end; None (default) means that they never end.

    Parameters
    ----------
    u : the secret unit vector, shape (d,).
    margin : γ in (0, 2√R]; every move keeps u·x_best − u·x_j ≥ γ.
    radius_sq : R > 0; every item keeps ‖x‖² ≤ R.
    """

    n_rounds: int | None = None

    def __init__(self, u: Any, margin: float, radius_sq: float) -> None:
        self.u, self.margin, self.radius_sq = check_rules(u, margin, radius_sq, type(self).__name__, reach=2.0)

    @abstractmethod
    def moves(self, choose: Choose) -> Iterator[ListMove]:
        """Starts a game: an iterator over moves (items, best). `choose(items)` is what B would choose at present."""


class ScriptedLists(ListPlayerA):
    """An adversary that plays given lists; the referee checks them move by move.

    Parameters
    ----------
    lists : the lists in the order of the rounds, each of shape (items, d).
    best : the index of the best item of each list, shape (n,).
    u : a unit vector that ranks them, u·x_best − u·x_j ≥ margin, shape (d,).
    margin : γ in (0, 2√R].
    radius_sq : R > 0, at least ‖x‖² for every item.

    Cost: a copy of the lists.

    >>> from onkel.game import RankingPlayer, ScriptedLists, play_ranking
    >>> a = ScriptedLists([[[1, 0], [0, 1]], [[0, 1], [1, 1]]], [0, 1], u=[1.0, 0.0], margin=1.0, radius_sq=2.0)
    >>> play_ranking(a, RankingPlayer()).n_mistakes
    1

    Source: the rules of the notes, sec. 3.1.
    """

    def __init__(self, lists: Sequence[Any], best: Sequence[int], u: Any, margin: float, radius_sq: float) -> None:
        super().__init__(u, margin, radius_sq)
        who, d = type(self).__name__, len(self.u)
        if len(lists) != len(best):
            raise ShapeError(f"{who}: best must have an index for each list; got {len(best)} for {len(lists)}.")
        self.lists = [checked_items(items, f"lists[{i}]", who, d) for i, items in enumerate(lists)]
        self.best, self.n_rounds = list(best), len(self.lists)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.n_rounds} lists)"

    def moves(self, choose: Choose) -> Iterator[ListMove]:
        return zip(self.lists, self.best, strict=True)


class Opposite(ScriptedLists):
    """The adversary that attains the bound 4R/γ², and so refutes the 2R/γ² of the notes.

    List i holds −√R eᵢ and √R eᵢ, the best, i = 1…n, and u = Σ eᵢ/√n. Nothing that B has learned says anything about
    the next list, so that B errs in all n rounds; and γ = 2√(R/n), so that n = 4R/γ².

    Parameters
    ----------
    n : the number of lists, which is also the dimension, ≥ 1.
    radius_sq : R > 0, the squared length of every item. Default 1.0.

    Cost: 2n² numbers.

    >>> from onkel.game import Opposite, RankingPlayer, play_ranking
    >>> trace = play_ranking(Opposite(6), RankingPlayer())
    >>> trace.n_mistakes, round(trace.bound, 9), round(trace.notes_bound, 9)
    (6, 6.0, 3.0)

    Source: a counterexample to theorem 2 of the notes.
    """

    def __init__(self, n: int, radius_sq: float = 1.0) -> None:
        self.n = check_integer(n, "n", type(self).__name__, at_least=1)
        R = check_number(radius_sq, "radius_sq", type(self).__name__, above=0)
        lists = [np.array([-1.0, 1.0])[:, None] * e for e in math.sqrt(R) * np.eye(n)]
        super().__init__(lists, [1] * n, np.full(n, 1 / math.sqrt(n)), 2 * math.sqrt(R / n), R)

    def __repr__(self) -> str:
        return f"Opposite({self.n}, radius_sq={self.radius_sq})"


class RandomLists(ListPlayerA):
    """An adversary that plays random lists which keep the rules, without end; B makes far fewer mistakes than allowed.

    An item is t u + w with w ⟂ u uniform in the ball ‖w‖² ≤ R − t². The best has t uniform in [γ/2, √R], the others t
    uniform in [−√R, t_best − γ].

    Parameters
    ----------
    dimension : the dimension of the items, ≥ 1.
    items : the number of items of a list, ≥ 1. Default 5.
    radius_sq : R > 0, the largest squared length of an item. Default 1.0.
    margin : γ in (0, 2√R], the smallest u·x_best − u·x_j. Default 0.1.
    random_state : the seed of the secret u and of the items, an integer ≥ 0. Default 0.

    Cost: O(items · dimension) per round.

    >>> from onkel.game import RandomLists, RankingPlayer, play_ranking
    >>> trace = play_ranking(RandomLists(5, margin=0.2), RankingPlayer(), rounds=200)
    >>> trace.n_mistakes < 40, round(trace.bound)
    (True, 100)

    Source: the rules of the notes, sec. 3.1.
    """

    def __init__(
        self,
        dimension: int,
        items: int = 5,
        radius_sq: float = 1.0,
        margin: float = 0.1,
        *,
        random_state: int = 0,
    ) -> None:
        who = type(self).__name__
        self.dimension = check_integer(dimension, "dimension", who, at_least=1)
        self.items = check_integer(items, "items", who, at_least=1)
        self.random_state = check_integer(random_state, "random_state", who, at_least=0)
        u = np.random.default_rng([random_state, 1]).normal(size=dimension)
        super().__init__(u / np.linalg.norm(u), margin, radius_sq)

    def __repr__(self) -> str:
        names = ("items", "radius_sq", "margin", "random_state")
        shown = [f"{name}={getattr(self, name)}" for name in names]
        return f"RandomLists({', '.join([str(self.dimension), *shown])})"

    def moves(self, choose: Choose) -> Iterator[ListMove]:
        rng, longest = np.random.default_rng([self.random_state, 2]), math.sqrt(self.radius_sq)
        while True:
            best = int(rng.integers(self.items))
            top = rng.uniform(min(self.margin / 2, longest), longest)
            heights = rng.uniform(-longest, max(-longest, top - self.margin), size=self.items)
            heights[best] = top
            yield self._around(rng, heights), best

    def _around(self, rng: np.random.Generator, heights: Vector) -> Items:
        """Items heights · u + w, where w ⟂ u has a random direction and a length that R allows."""
        w = rng.normal(size=(len(heights), self.dimension)) * (self.dimension > 1)
        for _ in range(2):  # the second pass removes the part along u that rounding left
            w -= np.outer(w @ self.u, self.u)
        reach = rng.random(len(heights)) ** (1 / max(1, self.dimension - 1))
        room = np.sqrt(np.maximum(0.0, self.radius_sq - heights**2))
        w *= (reach * room / np.maximum(np.linalg.norm(w, axis=1), EPS))[:, None]
        return heights[:, None] * self.u + w


# ---------------------------------------------------------------- player B


@runtime_checkable
class ListPlayerB(Protocol):
    """A learner: ``find_best(items)`` is its choice, and ``learn(items, best)`` returns whether it made a mistake.

    If it also has an attribute `guess`, its present vector v, the trace of the game records v·u and ‖v‖².
    """

    def find_best(self, items: Items) -> int: ...
    def learn(self, items: Items, best: int) -> bool: ...


class RankingPlayer:
    """The learner of the theorem: the ranking perceptron.

    Without a kernel it stores v; with one, the items of its updates with their signs, which for k = Linear() makes the
    same choices. The rules of the game are about x itself, so the theorem says nothing about other kernels.

    Parameters
    ----------
    kernel : a kernel on vectors. None (default): the primal form.

    Cost: O(d) per item without a kernel; with one, two kernel values for each mistake made so far.

    >>> from onkel.game import RankingPlayer
    >>> b = RankingPlayer()
    >>> b.learn([[1.0, 2.0], [0.0, 1.0]], 1), b.guess, b.find_best([[1.0, 1.0], [0.0, 0.0]])
    (True, array([-1., -1.]), 1)

    Source: the notes, sec. 3.1.
    """

    def __init__(self, kernel: Kernel | None = None) -> None:
        if kernel is not None and not (isinstance(kernel, Kernel) and kernel.takes in ("vectors", "anything")):
            raise KindError(f"RankingPlayer: kernel must be a kernel on vectors such as Linear(); got {kernel!r}.")
        self.kernel, self.n_mistakes = kernel, 0
        self._v: Vector = np.empty(0)  # without a kernel
        self._S, self._signs = np.empty((0, 0)), np.empty(0)  # with a kernel: the terms of the updates, and their signs

    def __repr__(self) -> str:
        return f"RankingPlayer({'' if self.kernel is None else repr(self.kernel)})"

    @property
    def guess(self) -> Vector | None:
        """The vector v_k; None before the first mistake, and with a kernel that is not linear."""
        if self.n_mistakes == 0 or not (self.kernel is None or isinstance(self.kernel, Linear)):
            return None
        return self._v if self.kernel is None else self._signs @ self._S

    def scores(self, items: Items) -> Vector:
        """The score of each item; 0 before the first mistake."""
        if self.n_mistakes == 0:
            return np.zeros(len(items))
        if self.kernel is None:
            return np.asarray(items) @ self._v
        return expand(self.kernel, np.asarray(items), self._S, self._signs)

    def find_best(self, items: Items) -> int:
        """The first item with the largest score."""
        return int(np.argmax(self.scores(items)))

    def learn(self, items: Items, best: int) -> bool:
        """Adds x_best − x_guess if another item scores at least as much as the best, and returns whether it did."""
        scores, rows = self.scores(items), np.array(items, dtype=np.float64)
        others = np.where(np.arange(len(rows)) == best, -np.inf, scores)
        guess = int(np.argmax(others))
        if others[guess] < scores[best]:
            return False
        if self.kernel is None:
            z = rows[best] - rows[guess]
            self._v = self._v + z if self.n_mistakes else z
        else:
            self._S = np.vstack([self._S.reshape(-1, rows.shape[1]), rows[[best, guess]]])
            self._signs = np.append(self._signs, [1.0, -1.0])
        self.n_mistakes += 1
        return True


class RankerPlayer:
    """An online ranker as player B: any object with ``learn_one(X, best)`` and ``predict_one(X)``.

    Its choice is what it predicts, or item 0 if it predicts None. A round is a mistake if the `n_mistakes_` of the
    ranker has grown; for a ranker without this attribute, if it did not choose the best item.

    Parameters
    ----------
    estimator : a ranker such as `onkel.RankingPerceptron`. The game teaches this object itself.

    Cost: that of the ranker.

    >>> from onkel import RankingPerceptron
    >>> from onkel.game import Opposite, RankerPlayer, play_ranking
    >>> play_ranking(Opposite(4), RankerPlayer(RankingPerceptron())).n_mistakes
    4

    Source: the online estimators of onkel.
    """

    def __init__(self, estimator: Any) -> None:
        if not all(callable(getattr(estimator, name, None)) for name in ("learn_one", "predict_one")):
            raise KindError(f"RankerPlayer: estimator must have learn_one and predict_one; got {estimator!r}.")
        self.estimator = estimator

    def __repr__(self) -> str:
        return f"RankerPlayer({player_name(self.estimator)})"

    def find_best(self, items: Items) -> int:
        """The index that the ranker predicts; 0 if it predicts None."""
        return int(self.estimator.predict_one(items) or 0)

    def learn(self, items: Items, best: int) -> bool:
        """Teaches the ranker one list, and returns whether it made a mistake."""
        before = getattr(self.estimator, "n_mistakes_", None)
        wrong = before is None and self.find_best(items) != best
        self.estimator.learn_one(items, best)
        after = getattr(self.estimator, "n_mistakes_", None)
        return wrong if after is None else bool(after > (before or 0))


# ---------------------------------------------------------------- checks


def checked_items(items: Any, name: str, who: str, dimension: int) -> Items:
    """Checked items as a read-only copy, float64."""
    array = np.array(check_matrix(items, name=name, who=who, sparse=False, n_features=dimension), dtype=np.float64)
    array.flags.writeable = False
    return array
