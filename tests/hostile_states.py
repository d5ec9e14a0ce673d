"""The states of models, decisions and learners, and everything that can be done with what a state is read as."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
import tagged
import zoo
from specimen import WORDS
from streams import learn_in_parts

from onkel.errors import InputError, KindError
from onkel.kernels import Linear, prepare
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


def parts_of(state: State) -> Iterator[State]:
    """A state, and the states inside it."""
    yield state
    for name, value in state.settings.items():
        if isinstance(value, Mapping) and set(value) == {"kind", "version", "settings"}:
            yield from parts_of(state.part(name))


@functools.cache
def states_of(name: str) -> dict[str, State]:
    """The states of models, decisions and learners that are inside the state of a specimen, by kind."""
    estimator = zoo.made(name)
    models = [estimator.model_] if hasattr(type(estimator), "model_") else []
    if name in ("SVC", "KernelPerceptron, sparse float32"):
        models.append(estimator.model_.reduced(4))
    wholes = [estimator.state(), *(model.state() for model in models)]
    found = [state for whole in wholes for state in parts_of(whole)]
    return {state.kind: state for state in found if state.kind in KINDS and state.kind.startswith(ROOMS)}


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
        width = 40 if like is None or getattr(like, "block", None) is None else like.block.shape[1]
        if getattr(like, "columns", None) is not None and len(like.columns):
            width = max(width, min(int(like.columns.max()) + 1, 10**6))
        dtype = np.float64 if like is None else like.dtype
        return GramRows(np.ones((b, width), dtype), np.arange(b) % width, np.ones(b, dtype))
    if isinstance(like, VectorRows):
        made = np.random.default_rng(1).random((b, min(like.n_features, 10**6))).astype(like.dtype)
        return prepare(kernel, made)
    if kernel.takes == "objects":
        return prepare(kernel, WORDS[:b])
    return prepare(kernel, np.random.default_rng(0).normal(size=(b, 2)))


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
    if hasattr(learner, "pairs"):
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
    return tagged.W[:5] if kind == "TemplateFeatures" else tagged.X[:5]


def _decide(decision: Any) -> None:
    labels = getattr(decision, "labels", None)
    outputs = 1 if labels is None or hasattr(decision, "thresholds") else max(1, len(labels))
    if getattr(decision, "pairs", None) is not None:
        outputs = len(labels) * (len(labels) - 1) // 2
    scores = np.random.default_rng(0).normal(size=(3, outputs))
    decision.decide(scores)
    decision.decision_function(scores)
