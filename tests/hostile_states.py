"""States as an enemy would write them: small ones of every kind, changed in one place, and what must work then."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from parts import learn_in_parts

import onkel
from onkel.errors import InputError, KindError
from onkel.kernels import RBF, HistogramIntersection, Linear, Precomputed, prepare
from onkel.kernels.rows import GramRows, Rows
from onkel.kernels.vectors import VectorRows
from onkel.learners.perceptron.groups import Groups
from onkel.models.model import ScoreModel
from onkel.models.ranking import ItemVote
from onkel.registry import KINDS
from onkel.states.state import State, from_state

REFUSED = (InputError, KindError)
ROOMS = ("model/", "decision/", "learner/")

# ---------------------------------------------------------------- one small state of every kind

rng = np.random.default_rng(0)
n = 24
X = rng.normal(size=(n, 2)) + np.repeat([[0.0, 0.0], [1.5, 1.5], [-1.5, 1.0]], 8, axis=0)
y3, y2, numbers = np.repeat([0, 1, 2], 8), np.arange(n) % 2, X[:, 0] * X[:, 1]
WORDS = ["the cat sat", "a dog ran", "the big dog sat", "cat ran", "a cat"]
TAGS = ["D N V", "D N V", "D A N V", "N V", "D N"]
sentences, tags = [s.split() for s in WORDS], [t.split() for t in TAGS]
tokens = [[[f"w={w}", f"l={w[-1]}"] for w in s] for s in sentences]
matrices = [np.array([[len(w), float(w[0] == "t")] for w in s]) for s in sentences]
queries = np.repeat(np.arange(6), 4)
k = RBF(gamma=0.5)


twice: Any = {"max_iter": 2}
voted: Any = {"hypothesis": "voted", "n_voters": 4}
templates = "U0:%x[0,0]\nU1:%x[-1,0]/%x[0,0]\nB1:%x[0,0]"


def sequence(**params: Any) -> Any:
    return onkel.SequencePerceptron(max_iter=2, random_state=0, **params)


ESTIMATORS: dict[str, Callable[[], Any]] = {
    "perceptron": lambda: onkel.Perceptron(**twice).fit(X, y3),
    "kernel perceptron": lambda: onkel.KernelPerceptron(k, **twice).fit(X, y3),
    "sparse": lambda: onkel.KernelPerceptron(k, **twice).fit(sp.csr_array(X), y2),
    "voted": lambda: onkel.KernelPerceptron(k, hypothesis="voted", fit_intercept=True, **twice).fit(X, y3),
    "gram": lambda: onkel.KernelPerceptron(Precomputed(), **twice).fit(k(X), y2),
    "forgetron": lambda: onkel.Forgetron(k, budget=5, **twice).fit(X, y2),
    "forgetron gram": lambda: onkel.Forgetron(Precomputed(), budget=5, **twice).fit(k(X), y2),
    "budget": lambda: onkel.BudgetPerceptron(k, budget=5, random_state=0, **twice).fit(X, y3),
    "norma": lambda: onkel.NormaClassifier(k, **twice).fit(X, y2),
    "norma budget": lambda: onkel.NormaRegressor(k, budget=6, **twice).fit(X, numbers),
    "novelty": lambda: onkel.NormaOneClass(k, **twice).fit(X),
    "pa": lambda: onkel.PassiveAggressiveRegressor(k, budget=6, **twice).fit(X, numbers),
    "online svm": lambda: onkel.OnlineSVC(k, **twice).fit(X, y3),
    "online svm gram": lambda: onkel.OnlineSVC(Precomputed(), **twice).fit(k(X), y2),
    "projectron": lambda: onkel.Projectron(k, **twice).fit(X, y2),
    "projectron gram": lambda: onkel.Projectron(Precomputed(), budget=6, **twice).fit(k(X), y2),
    "prank": lambda: onkel.PRank().fit(X, y3),
    "kernel prank": lambda: onkel.PRank(kernel=k).fit(X, y3),
    "ranking": lambda: onkel.RankingPerceptron(**twice).fit(X, y2, queries),
    "kernel ranking": lambda: onkel.RankingPerceptron(k, hypothesis="voted", **twice).fit(X, y2, queries),
    "recursive ridge": lambda: onkel.RecursiveKernelRidge(kernel=k, **twice).fit(X, numbers),
    "ridge": lambda: onkel.KernelRidge(kernel=k, solver="cholesky").fit(X, numbers),
    "posterior": lambda: onkel.KernelRidge(kernel=k, keep_factor=True).fit(X, numbers),
    "nystroem": lambda: onkel.KernelRidge(kernel=k, solver="nystrom", n_centers=5).fit(X, numbers),
    "svc": lambda: onkel.SVC(kernel=k).fit(X, y3),
    "one class": lambda: onkel.OneClassSVM(kernel=k).fit(X),
    "tagger": lambda: sequence().fit(tokens, tags),
    "templates": lambda: sequence(templates=templates, order=2).fit(sentences, tags),
    "templates voted": lambda: sequence(templates=templates, **voted).fit(sentences, tags),
    "hashed": lambda: sequence(n_bits=4, **voted).fit(tokens, tags),
    "vectors": lambda: sequence(**voted).fit(matrices, tags),
    "kernel tagger": lambda: sequence(kernel=k).fit(matrices, tags),
    "kernel tagger voted": lambda: sequence(kernel=k, order=2, **voted).fit(matrices, tags),
}


def parts_of(state: State) -> Iterator[State]:
    """A state, and the states inside it."""
    yield state
    for name, value in state.settings.items():
        if isinstance(value, Mapping) and set(value) == {"kind", "version", "settings"}:
            yield from parts_of(state.part(name))


@functools.cache
def states_of(name: str) -> dict[str, State]:
    """The states of models, decisions and learners that are inside the state of an estimator, by kind."""
    estimator = ESTIMATORS[name]()
    models = [estimator.model_, estimator.model_.reduced(4)] if name in ("svc", "sparse") else [estimator.model_]
    wholes = [estimator.state(), *(model.state() for model in models)]
    found = [state for whole in wholes for state in parts_of(whole)]
    return {state.kind: state for state in found if state.kind in KINDS and state.kind.startswith(ROOMS)}


# ---------------------------------------------------------------- changes of one place

VALUES = [None, "x", True, -1, 0, 1, 3, 2**31, 10**15, 2**70, -(2**70), 0.5, -1.0, 1e308, np.nan, np.inf, [], [1], {}]
KERNELS = [Linear(), Precomputed(), HistogramIntersection(), k.on([7]), 2.0 * k + 1.0]
Mutant = tuple[str, Callable[[], State]]


def changed(
    state: State, settings: Mapping[str, Any] | None = None, arrays: Mapping[str, Any] | None = None
) -> Callable[[], State]:
    plain = state.settings if settings is None else settings
    return lambda: State(state.kind, state.version, plain, state.arrays if arrays is None else arrays)


def settings_changed(value: Any) -> Iterator[tuple[str, Any]]:
    """Every setting inside a dict of settings: left out, renamed, and with other values."""
    for name, old in value.items():
        rest = {key: item for key, item in value.items() if key != name}
        yield f"without {name}", rest
        yield f"{name} renamed", {**rest, f"{name}_": old}
        for new in [*VALUES, *(KERNELS if name == "kernel" else []), *(KINDS if name == "kind" else [])]:
            yield f"{name} = {new!r:.30}", {**value, name: new}
        if isinstance(old, Mapping):
            for what, inner in settings_changed(old):
                yield f"{name}: {what}", {**value, name: inner}


def arrays_changed(array: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """An array of another dtype or shape, or with other values."""
    if max(array.shape, default=0) > 2**20:
        return  # numpy.take visits every row, also if they are all empty
    plain = array.dtype.kind in "biuf"
    for dtype in ("f4", "f8", "i4", "i8", "i1", "u8", "?", ">f8", "c16", "U3", "O"):
        if plain and np.dtype(dtype) != array.dtype:
            yield dtype, array.astype(dtype)
    for axis in range(array.ndim):
        yield f"one longer in {axis}", np.concatenate([array, array.take([-1], axis)], axis) if array.size else array
        yield f"one shorter in {axis}", np.delete(array, array.shape[axis] - 1, axis) if array.size else array
        yield f"empty in {axis}", array.take(np.arange(0), axis)
        yield f"reversed in {axis}", np.ascontiguousarray(np.flip(array, axis))
        huge = list(array.shape)
        huge[axis], huge[axis - 1] = 2**40, 0
        if array.ndim > 1:
            yield f"huge and empty in {axis}", np.empty(huge, array.dtype)
    yield "one axis more", array[None].copy()
    yield "no axis", array.reshape(-1)[:1].reshape(()) if array.size else np.zeros((), array.dtype)
    if not array.size:
        yield "with an entry", np.ones([min(max(1, length), 3) for length in array.shape], array.dtype)
        return
    for field in array.dtype.names or [None]:
        of = array if field is None else array[field]
        for new in VALUES if array.dtype == object else numbers_for(of.dtype):
            for place in sorted({0, of.size // 2, of.size - 1}):
                other = array.copy()
                (other if field is None else other[field]).reshape(-1)[place] = new
                yield f"{field or ''}[{place}] = {new!r:.30}", other
        if of.dtype.kind in "iu":
            yield f"{field or ''} off by one", _replaced(array, field, of + np.ones((), of.dtype))
            yield f"{field or ''} all equal", _replaced(array, field, np.full_like(of, of.max()))


def _replaced(array: np.ndarray, field: str | None, values: np.ndarray) -> np.ndarray:
    if field is None:
        return values
    other = array.copy()
    other[field] = values
    return other


def numbers_for(dtype: np.dtype) -> list[Any]:
    if dtype.kind == "f":
        return [np.nan, np.inf, -np.inf, -1.0, 0.0, 0.5, -1e300, float(np.finfo(dtype).max), 5e-324]
    if dtype.kind in "iu":
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        return [v for v in (-1, 0, 1, 2, 9, 100, 2**20, 2**31 - 1, 2**40, 2**62, high, low) if low <= v <= high]
    return [True, False] if dtype.kind == "b" else []


def mutants(state: State) -> list[Mutant]:
    """All states that differ from this one in one place."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return _mutants(state)


def _mutants(state: State) -> list[Mutant]:
    found: list[Mutant] = [
        ("another kind", lambda: State("scorer/linear", 1, state.settings, state.arrays)),
        ("a newer version", lambda: State(state.kind, 99, state.settings, state.arrays)),
    ]
    found += [(what, changed(state, settings)) for what, settings in settings_changed(state.settings)]
    names = list(state.arrays)
    for name, array in state.arrays.items():
        rest = {key: value for key, value in state.arrays.items() if key != name}
        found += [(f"without {name}", changed(state, arrays=rest))]
        found += [(f"{name} renamed", changed(state, arrays={**rest, f"{name}_": array}))]
        for what, other in arrays_changed(array):
            found.append((f"{name} {what}", changed(state, arrays={**state.arrays, name: other})))
        for other_name in names[: names.index(name)]:
            both = {**state.arrays, name: state.arrays[other_name], other_name: array}
            found.append((f"{name} and {other_name} exchanged", changed(state, arrays=both)))
    return found


def twice_changed(state: State, seed: int) -> Mutant:
    """A state that differs in several places, drawn at random."""
    random = np.random.default_rng(seed)
    what = []
    for _ in range(int(random.integers(2, 4))):
        choices = mutants(state)
        name, make = choices[int(random.integers(len(choices)))]
        try:
            state = make()
        except REFUSED:
            continue
        what.append(name)
    return "; ".join(what), lambda: state


# ---------------------------------------------------------------- what an object must be able to do


def try_out(made: Any) -> None:
    """Uses an object that was made of a state; whatever it gives, nothing but a refusal may be raised."""
    kind = made.state().kind
    room = kind.partition("/")[0]
    if room == "decision":
        _decide(made)
    elif kind in ("learner/structured", "learner/kernel-tagging"):
        _learn_sentences(made)
    elif kind == "learner/whitened-sums":
        made.add(_rows(made.centers.kernel, made.centers.rows), np.ones((4, made.n_targets)), None)
        made.solve(1.0)
    elif kind == "learner/ridge-posterior":
        made.variance(_rows(made.kernel, made.rows))
    elif room == "learner":
        _learn(made)
    elif hasattr(made, "lattice") or hasattr(made, "lattices"):
        read = made.read(_sentences_of(made))
        if hasattr(made, "n_updates"):
            for _ in made.lattices(read, np.arange(made.n_updates + 1)):
                pass
        else:
            made.lattice(read)
    elif hasattr(made, "labels"):  # a tagger
        made.predict(_sentences_of(made.scorer))
    elif isinstance(made, ScoreModel):
        data = np.ones((3, min(made.columns.n_features or 1, 1000)))
        made.scores(data)
        made.predict(data)
    elif hasattr(made, "scores"):
        made.scores(_rows(made.kernel, made.support) if hasattr(made, "support") else np.ones((3, made.coef.shape[1])))
        if isinstance(made, ItemVote):
            made.votes(_rows(made.kernel, made.support))
    assert from_state(made.state()).state() == made.state()


def _rows(kernel: Any, like: Rows | None, b: int = 4) -> Rows:
    """Rows that can be used together with those that an object holds."""
    if isinstance(like, GramRows) or kernel.takes == "gram":
        width = n if like is None or getattr(like, "block", None) is None else like.block.shape[1]
        if getattr(like, "columns", None) is not None and len(like.columns):
            width = max(width, min(int(like.columns.max()) + 1, 10**6))
        dtype = np.float64 if like is None else like.dtype
        return GramRows(np.ones((b, width), dtype), np.arange(b) % width, np.ones(b, dtype))
    if isinstance(like, VectorRows):
        made = np.random.default_rng(1).random((b, min(like.n_features, 10**6))).astype(like.dtype)
        return prepare(kernel, made)
    return prepare(kernel, X[:b])


def _learn(learner: Any) -> None:
    b, kernel = 4, learner.kernel
    support = getattr(learner, "support", None)
    if hasattr(learner, "dictionary"):
        support = learner.dictionary
    if hasattr(learner, "grown") and len(learner.grown):
        support = learner.grown
    like = getattr(support, "blocks", [None])[0] if getattr(support, "blocks", None) else None
    if like is None and hasattr(learner, "slots"):
        like = learner.slots.rows
    if like is None and hasattr(learner, "rows") and learner.rows._blocks:
        like = learner.rows._parts()[0]
    if hasattr(learner, "V") or hasattr(learner, "w"):
        width = learner.V.shape[1] - 1 if hasattr(learner, "V") else len(learner.w)
        rows: Any = prepare(Linear(), np.ones((b, max(1, width))) if width else np.ones((b, 1)))
        if not width:
            return
    else:
        rows = _rows(kernel, like, b)
    ids = np.arange(b) + min(learner.next_row_id, 2**52)
    targets = np.where(np.arange(b * max(1, learner.n_outputs)).reshape(b, -1) % 2, 1.0, -1.0)[:, : learner.n_outputs]
    learner.scores(rows)
    if hasattr(learner, "tally"):
        rows = Groups(rows, np.array([0, 2, 4]), np.array([0.0, 1.0, 1.0, 0.0]), ids)
        learner.learn(rows, np.zeros((2, 1)), np.ones(2), np.arange(2))
    else:
        learn_in_parts(learner, rows, targets, np.ones(b), ids)
        learner.learn_one(rows[:1], targets[:1])
    learner.scorer()
    if hasattr(learner, "hypothesis"):
        learner.scorer("voted").scores(rows if isinstance(rows, Rows) and not isinstance(rows, Groups) else rows.rows)
    if hasattr(learner, "finish"):
        learner.finish()


def _learn_sentences(learner: Any) -> None:
    starts, y = np.array([0, 2, 3]), np.array([0, 1, 1], dtype=np.int32) % learner.n_labels
    if hasattr(learner, "tables"):
        from onkel.text.token_features import TokenFeatures

        ids = np.array([0, 1, 0, 1], dtype=np.int32)
        learner.add_features(2, 1)
        pairs = (np.array([0, 1, 1, 1]), np.zeros(1, dtype=np.int32)) if learner.tables.observed is not None else ()
        found: Any = TokenFeatures(starts, np.array([0, 2, 3, 4]), ids, None, *pairs)
    else:
        from onkel.models.tagging.kernel_tokens import TokenVectors

        blocks = learner.support.blocks
        found = TokenVectors(starts, _rows(learner.kernel, blocks[0] if blocks else None, 3))
    learner.learn(found, y.astype(np.int32), np.arange(2))
    learner.lattice(found, averaged=True)


def _sentences_of(scorer: Any) -> Any:
    scorer = getattr(scorer, "run", scorer)
    if hasattr(scorer, "expansion"):
        support = scorer.expansion.support
        width = support.n_features if isinstance(support, VectorRows) else 2
        return [np.ones((2, min(width, 10**6)))]
    kind = type(scorer.index).__name__
    if kind == "VectorFeatures":
        return [sp.csr_array((2, scorer.index.n_features))]
    return sentences if kind == "TemplateFeatures" else tokens


def _decide(decision: Any) -> None:
    labels = getattr(decision, "labels", None)
    outputs = 1 if labels is None or hasattr(decision, "thresholds") else max(1, len(labels))
    if getattr(decision, "pairs", None) is not None:
        outputs = len(labels) * (len(labels) - 1) // 2
    scores = np.random.default_rng(0).normal(size=(3, outputs))
    decision.decide(scores)
    decision.decision_function(scores)
