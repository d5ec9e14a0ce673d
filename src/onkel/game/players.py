"""The players of the perceptron game: adversaries A that choose the points, learners B that predict their labels."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from onkel.checks import check_integer, check_matrix, check_number
from onkel.errors import KindError, ParameterError, ShapeError, ValuesError
from onkel.kernels import Kernel, Linear, expand

__all__ = [
    "EstimatorPlayer",
    "Greedy",
    "Orthogonal",
    "PerceptronPlayer",
    "PlayerA",
    "PlayerB",
    "RandomWithin",
    "Scripted",
]

Vector: TypeAlias = NDArray[np.float64]
Move: TypeAlias = tuple[Vector, int]  # x and its label
Score: TypeAlias = Callable[[Vector], float]

TOLERANCE = 1e-9  # relative tolerance of the rules and of the bound
EPS = float(np.finfo(np.float64).eps)


# ---------------------------------------------------------------- player A


class PlayerA(ABC):
    """The base class of adversaries: the rules that an adversary promises to keep, and its moves.

    To write your own, derive from this class, call ``super().__init__(u, margin, radius_sq)`` and write `moves`. Set
    `n_rounds` to the number of moves if they end; None (default) means that they never end.

    Parameters
    ----------
    u : the secret unit vector, shape (d,).
    margin : γ in (0, √R]; every move keeps y u·x ≥ γ.
    radius_sq : R > 0; every move keeps ‖x‖² ≤ R.
    """

    n_rounds: int | None = None

    def __init__(self, u: Any, margin: float, radius_sq: float) -> None:
        self.u, self.margin, self.radius_sq = check_rules(u, margin, radius_sq, type(self).__name__)

    @abstractmethod
    def moves(self, score: Score) -> Iterator[Move]:
        """Starts a game: an iterator over moves (x, y). `score(x)` is the score that B gives a point at present."""


class Scripted(PlayerA):
    """An adversary that plays a given sequence of points; the referee checks them move by move.

    Parameters
    ----------
    X : the points in the order of the rounds, shape (n, d).
    y : their labels, −1 or +1, shape (n,).
    u : a unit vector that separates them, yᵢ u·xᵢ ≥ margin, shape (d,).
    margin : γ in (0, √R].
    radius_sq : R > 0, at least ‖xᵢ‖² for every point.

    Cost: a copy of X.

    >>> from onkel.game import PerceptronPlayer, Scripted, play
    >>> a = Scripted([[1, 0], [0, 1], [1, 1]], [1, -1, 1], u=[0.8, -0.6], margin=0.6, radius_sq=2.0)
    >>> play(a, PerceptronPlayer(), rounds=2).n_mistakes  # round 3 would break the margin rule: y u·x = 0.2
    2

    Source: the rules of the notes, sec. 1.1.
    """

    def __init__(self, X: Any, y: Any, u: Any, margin: float, radius_sq: float) -> None:
        super().__init__(u, margin, radius_sq)
        self.X = np.array(check_matrix(X, who="Scripted", sparse=False, n_features=len(self.u)), dtype=np.float64)
        self.y, self.n_rounds = np.array(y), len(self.X)
        if self.y.shape != (self.n_rounds,):
            raise ShapeError(f"Scripted: y must have a label for each row of X; got {self.y.shape} for {self.X.shape}.")

    def __repr__(self) -> str:
        return f"Scripted({self.n_rounds} points)"

    def moves(self, score: Score) -> Iterator[Move]:
        return zip(self.X, self.y.tolist(), strict=True)


class Orthogonal(Scripted):
    """The adversary that attains the bound: each point is orthogonal to all points before it.

    xᵢ = √R eᵢ with labels +1, −1, +1 …, i = 1…n, and u = Σ yᵢ eᵢ/√n. Nothing that B has learned says anything about
    the next point, v·xᵢ = 0, so that B errs in all n rounds; and γ = √(R/n), so that n = R/γ².

    Parameters
    ----------
    n : the number of points, which is also their dimension, ≥ 1.
    radius_sq : R > 0, the squared length of every point. Default 1.0.

    Cost: n² numbers.

    >>> from onkel.game import Orthogonal, PerceptronPlayer, play
    >>> trace = play(Orthogonal(4), PerceptronPlayer())
    >>> trace.n_mistakes, trace.bound
    (4, 4.0)

    Source: an answer to the notes, sec. 1.2: "How could you force B to make lots and lots of mistakes?"
    """

    def __init__(self, n: int, radius_sq: float = 1.0) -> None:
        self.n = check_integer(n, "n", "Orthogonal", at_least=1)
        R = check_number(radius_sq, "radius_sq", "Orthogonal", above=0)
        y = (-1.0) ** np.arange(n)
        super().__init__(math.sqrt(R) * np.eye(n), y, y / math.sqrt(n), math.sqrt(R / n), R)

    def __repr__(self) -> str:
        return f"Orthogonal({self.n}, radius_sq={self.radius_sq})"


class RandomWithin(PlayerA):
    """An adversary that plays random points which keep the rules, without end.

    x = y (t u + w) with y = ±1, t uniform in [γ, √R], and w ⟂ u uniform in the ball ‖w‖² ≤ R − t². B soon learns u, and
    makes far fewer mistakes than the bound allows.

    Parameters
    ----------
    dimension : the dimension of the points, ≥ 1.
    radius_sq : R > 0, the largest squared length of a point. Default 1.0.
    margin : γ in (0, √R], the smallest y u·x. Default 0.1.
    random_state : the seed of the secret u and of the points, an integer ≥ 0; the same seed plays the same game.
        Default 0.

    Cost: O(dimension) per round.

    >>> from onkel.game import PerceptronPlayer, RandomWithin, play
    >>> trace = play(RandomWithin(5, margin=0.1, random_state=0), PerceptronPlayer(), rounds=200)
    >>> trace.n_mistakes < 20, round(trace.bound)
    (True, 100)

    Source: the rules of the notes, sec. 1.1.
    """

    def __init__(self, dimension: int, radius_sq: float = 1.0, margin: float = 0.1, *, random_state: int = 0) -> None:
        who = type(self).__name__
        self.dimension = check_integer(dimension, "dimension", who, at_least=1)
        self.random_state = check_integer(random_state, "random_state", who, at_least=0)
        u = np.random.default_rng([random_state, 1]).normal(size=dimension)
        super().__init__(u / np.linalg.norm(u), margin, radius_sq)

    def __repr__(self) -> str:
        names = ("radius_sq", "margin", "candidates", "random_state")
        shown = [f"{name}={getattr(self, name)}" for name in names if hasattr(self, name)]
        return f"{type(self).__name__}({', '.join([str(self.dimension), *shown])})"

    def moves(self, score: Score) -> Iterator[Move]:
        rng = np.random.default_rng([self.random_state, 2])
        while True:
            height = rng.uniform(self.margin, math.sqrt(self.radius_sq))
            yield self._draw(rng, height, rng.random() ** (1 / max(1, self.dimension - 1)))

    def _draw(self, rng: np.random.Generator, height: float, reach: float) -> Move:
        """x = y (height · u + w), where w ⟂ u has a random direction and `reach` times the length that R allows."""
        w = rng.normal(size=self.dimension) if self.dimension > 1 else np.zeros(1)
        for _ in range(2):  # the second pass removes the part along u that rounding left
            w -= (w @ self.u) * self.u
        w *= reach * math.sqrt(max(0.0, self.radius_sq - height**2)) / (np.linalg.norm(w) or 1.0)
        y = 1 - 2 * int(rng.integers(2))
        return y * (height * self.u + w), y


class Greedy(RandomWithin):
    """An adversary that looks at B's scores and plays the worst of several random points, without end.

    All candidates have the smallest margin allowed, x = y (γ u + w) with w ⟂ u, so that a mistake increases v·u by γ
    and no more; about half of them are as long as R allows. Of the candidates that B gets wrong, it plays the one that
    adds most to ‖v‖², 2y f(x) + ‖x‖², so that v stays far from u and both lemmas are nearly equalities. If B gets all
    candidates right, it plays the one with the smallest y f(x), which is nearest to a mistake.

    Parameters
    ----------
    dimension : the dimension of the points, ≥ 1.
    radius_sq : R > 0, the largest squared length of a point. Default 1.0.
    margin : γ in (0, √R], y u·x of every point. Default 0.1.
    candidates : the number of points to choose from in each round, ≥ 1. Default 64.
    random_state : the seed of the secret u and of the candidates, an integer ≥ 0. Default 0.

    Cost: O(dimension) and one score of B for each candidate, in each round.

    >>> from onkel.game import Greedy, PerceptronPlayer, play
    >>> trace = play(Greedy(5, margin=0.1, random_state=0), PerceptronPlayer(), rounds=200)
    >>> trace.n_mistakes > 60, round(trace.bound)
    (True, 100)

    Source: the proof in the notes, sec. 1.3, read as advice to A.
    """

    def __init__(
        self,
        dimension: int,
        radius_sq: float = 1.0,
        margin: float = 0.1,
        *,
        candidates: int = 64,
        random_state: int = 0,
    ) -> None:
        super().__init__(dimension, radius_sq, margin, random_state=random_state)
        self.candidates = check_integer(candidates, "candidates", "Greedy", at_least=1)

    def moves(self, score: Score) -> Iterator[Move]:
        def harm(move: Move) -> tuple[bool, float]:
            """Sorts mistakes above correct predictions, and then by how much they hurt B."""
            x, y = move
            signed = y * score(x)
            return (True, 2 * signed + float(x @ x)) if signed <= 0 else (False, -signed)

        rng = np.random.default_rng([self.random_state, 2])
        while True:
            reaches = np.minimum(1.0, 2 * rng.random(self.candidates))
            yield max((self._draw(rng, self.margin, reach) for reach in reaches), key=harm)


# ---------------------------------------------------------------- player B


@runtime_checkable
class PlayerB(Protocol):
    """A learner: the sign of ``score(x)`` is its prediction, and ``learn(x, y)`` returns whether it was a mistake.

    If it also has an attribute `guess`, its present vector v, the trace of the game records v·u and ‖v‖².
    """

    def score(self, x: Vector) -> float: ...
    def learn(self, x: Vector, y: int) -> bool: ...


class PerceptronPlayer:
    """The learner of the theorem: a perceptron, which learns from its mistakes only.

    Without a kernel it stores v = Σ yⱼxⱼ, the sum over its mistakes, and f(x) = v·x. With a kernel it stores the
    mistakes themselves, and f(x) = Σ yⱼ k(xⱼ, x): the dual form, which makes the same predictions for k = Linear(). The
    rules of the game are about x itself, so the theorem says nothing about other kernels.

    Parameters
    ----------
    kernel : a kernel on vectors. None (default): the linear perceptron in primal form.

    Cost: O(d) per score without a kernel; with one, a kernel value for each mistake made so far.

    >>> from onkel.game import PerceptronPlayer
    >>> b = PerceptronPlayer()
    >>> b.learn([1.0, 2.0], -1), b.score([1.0, 0.0]), b.guess
    (True, -1.0, array([-1., -2.]))

    Source: Rosenblatt 1958; the notes, sec. 1.1; with kernels Aizerman, Braverman and Rozonoer 1964.
    """

    def __init__(self, kernel: Kernel | None = None) -> None:
        if kernel is not None and not (isinstance(kernel, Kernel) and kernel.takes in ("vectors", "anything")):
            raise KindError(f"PerceptronPlayer: kernel must be a kernel on vectors such as Linear(); got {kernel!r}.")
        self.kernel = kernel
        self.n_mistakes = 0
        self._v: Vector = np.empty(0)  # without a kernel
        self._S, self._signs = np.empty((0, 0)), np.empty(0)  # with a kernel: the k mistakes (k, d), their labels (k,)

    def __repr__(self) -> str:
        return f"PerceptronPlayer({'' if self.kernel is None else repr(self.kernel)})"

    @property
    def guess(self) -> Vector | None:
        """The vector v_k; None before the first mistake, and with a kernel that is not linear."""
        if self.n_mistakes == 0 or not (self.kernel is None or isinstance(self.kernel, Linear)):
            return None
        return self._v if self.kernel is None else self._signs @ self._S

    def score(self, x: Vector) -> float:
        """f(x); 0 before the first mistake."""
        if self.n_mistakes == 0:
            return 0.0
        if self.kernel is None:
            return float(np.dot(self._v, x))
        return float(expand(self.kernel, np.reshape(x, (1, -1)), self._S, self._signs)[0])

    def learn(self, x: Vector, y: int) -> bool:
        """Adds the example if y f(x) ≤ 0, and returns whether it did."""
        if y * self.score(x) > 0:
            return False
        row, first = np.array(x, dtype=np.float64), self.n_mistakes == 0
        if self.kernel is None:
            self._v = y * row if first else self._v + y * row
        else:
            self._S = row[None, :] if first else np.vstack([self._S, row])
            self._signs = np.append(self._signs, y)
        self.n_mistakes += 1
        return True


class EstimatorPlayer:
    """An online estimator as player B: any object with ``learn_one(x, y)`` and ``predict_one(x)``.

    The score is the label that the estimator predicts, or 0 if it predicts None. A round is a mistake if the
    estimator's `n_mistakes_` has grown; for an estimator without this attribute, if it did not predict y before it
    learned.

    Parameters
    ----------
    estimator : an online classifier for the labels −1 and +1. The game teaches this object itself: give a new one for
        each game.

    Cost: that of the estimator; two predictions per round if it has no `n_mistakes_`.

    >>> from onkel.game import EstimatorPlayer, Orthogonal, play
    >>> class Parrot:  # predicts the last label
    ...     predict_one = lambda self, x: getattr(self, "heard", None)
    ...     learn_one = lambda self, x, y: setattr(self, "heard", y)
    >>> play(Orthogonal(6), EstimatorPlayer(Parrot())).n_mistakes
    6

    Source: the online estimators of onkel, and of river.
    """

    def __init__(self, estimator: Any) -> None:
        if not all(callable(getattr(estimator, name, None)) for name in ("learn_one", "predict_one")):
            raise KindError(f"EstimatorPlayer: estimator must have learn_one and predict_one; got {estimator!r}.")
        self.estimator = estimator

    def __repr__(self) -> str:
        return f"EstimatorPlayer({player_name(self.estimator)})"

    def score(self, x: Vector) -> float:
        """The predicted label, −1 or +1; 0 if the estimator predicts None."""
        label = self.estimator.predict_one(x)
        if label is not None and label not in (-1, 1):
            raise ValuesError(f"{self!r}: predict_one must give a label, -1 or +1, or None; got {label!r}.")
        return float(label or 0)

    def learn(self, x: Vector, y: int) -> bool:
        """Teaches the estimator one example, and returns whether it was a mistake."""
        before = getattr(self.estimator, "n_mistakes_", None)
        wrong = before is None and self.score(x) != y
        self.estimator.learn_one(x, y)
        after = getattr(self.estimator, "n_mistakes_", None)
        return wrong if after is None else bool(after > (before or 0))


def check_rules(u: Any, margin: Any, radius_sq: Any, who: str, *, reach: float = 1.0) -> tuple[Vector, float, float]:
    """The checked u, γ and R of an adversary; γ may be at most `reach` times √R."""
    R, gamma = (
        check_number(value, name, who, above=0) for value, name in ((radius_sq, "radius_sq"), (margin, "margin"))
    )
    unit = as_vector(u, "u", who)
    norm, longest = float(np.linalg.norm(unit)), reach * math.sqrt(R)
    if gamma > longest * (1 + TOLERANCE):
        most = "√radius_sq" if reach == 1 else f"{reach:g}√radius_sq"
        raise ParameterError(
            f"{who}: margin must be at most {most} = {longest:g}, or no point keeps both rules; got {margin!r}."
        )
    if abs(norm - 1) > TOLERANCE:
        raise ParameterError(f"{who}: u must be a unit vector; got ‖u‖ = {norm:.12g}. Divide it by its norm.")
    return unit, gamma, R


def check_move(a: PlayerA, x: Any, y: Any, number: int, who: str) -> Move:
    """The checked move (x, y) of A; an error names the rule that it breaks."""
    x = as_vector(x, f"A's x in round {number}", who, len(a.u))
    square, along = float(x @ x), float(a.u @ x)
    rounding = len(x) * EPS * math.sqrt(square)  # the rounding error of u·x
    if y not in (-1, 1):
        broken = f"label rule: y must be -1 or +1; got {y!r}"
    elif square > a.radius_sq * (1 + TOLERANCE):
        broken = f"radius rule: ‖x‖² must be at most R = {a.radius_sq:.12g}; got {square:.12g}"
    elif y * along < a.margin * (1 - TOLERANCE) - rounding:
        broken = f"margin rule: y u·x must be at least γ = {a.margin:.12g}; got {y * along:.12g}"
    else:
        return x, int(y)
    raise ValuesError(f"{who}: in round {number} A breaks the {broken}.")


def as_vector(x: Any, name: str, who: str, dimension: int | None = None) -> Vector:
    """One checked point as a read-only copy, float64."""
    if np.ndim(x) != 1:
        raise ShapeError(f"{who}: {name} must be a vector, shape (dimension,); got shape {np.shape(x)}.")
    vector = np.array(check_matrix([x], name=name, who=who, n_features=dimension)[0], dtype=np.float64)
    vector.flags.writeable = False
    return vector


def player_name(player: object) -> str:
    """The repr of a player on one line; only the class name if the repr would show a memory address."""
    addressed = type(player).__repr__ is object.__repr__
    return type(player).__name__ if addressed else " ".join(repr(player).split())
