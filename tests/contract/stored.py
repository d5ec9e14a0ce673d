"""Everything that can be stored in a file: every estimator of the registry, in every form in which it holds data.

Each entry of `STORED` makes a small estimator that has learned something, always the same one, with data to predict
and, if it is online, more examples to learn. Another process makes the same:

    PYTHONPATH=tests python -m contract.stored FOLDER       writes a file of each, and says what it would have become
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from contract.registered import EVERY, ONLINE, data, learn_each, new, part, rings
from strategies import EVERY_VECTOR_KERNEL

import onkel
from onkel import registry
from onkel.kernels import RBF, Custom, Linear, Precomputed, register
from onkel.states.state import to_json


class Stored(NamedTuple):
    """An estimator, data that it can predict, and how it goes on learning; None if it cannot."""

    estimator: Any
    probes: Any
    go_on: Callable[[Any], Any] | None = None


# ---------------------------------------------------------------- functions that files name


def shared_letters(a: Any, b: Any) -> Any:
    """The number of letters that two words share: a valid kernel."""
    return np.array([[float(len(set(x) & set(z))) for z in b] for x in a])


def shrunk(X: Any) -> Any:
    return 1.0 / (1.0 + np.square(X).sum(axis=1))


def squared(X: Any) -> Any:
    return np.square(X)


if __name__ in ("contract.stored", "__main__"):  # pytest imports it again, under another name, to look for doctests
    for function in (shared_letters, shrunk, squared):
        register(f"tests.{function.__name__}", function)

WORDS = np.array(["perceptron", "kernel", "margin", "mistake", "añejo", "日本", "", "voted"], dtype=object)


# ---------------------------------------------------------------- the estimators of the contract


def plain(cls: type, convert: Callable[[Any], Any] = np.asarray, classes: int = 3, **params: Any) -> Stored:
    X, y = data(cls, classes=classes)
    estimator = new(cls, **params).fit(convert(X[:40]), part(y, slice(40)))

    def go_on(online: Any) -> Any:
        online.partial_fit(convert(-X[40:50]), part(y, slice(40, 50)))
        return learn_each(online, -X[50:], part(y, slice(50, None)))

    return Stored(estimator, convert(X), go_on if cls in ONLINE else None)


def perceptron(**params: Any) -> Stored:
    X, y = rings()
    estimator = onkel.KernelPerceptron(random_state=0, **params).fit(X, y)
    return Stored(estimator, X, lambda online: online.partial_fit(X + 0.3, y))


def of_kernel(kernel: Any) -> Stored:
    X, y = rings()
    estimator = onkel.KernelPerceptron(kernel, max_iter=2, random_state=0).fit(np.abs(X), y)
    return Stored(estimator, np.abs(X), lambda online: online.partial_fit(np.abs(X) + 0.1, y))


def of_words(cls: type, **params: Any) -> Stored:
    y = np.arange(len(WORDS)) % 2
    estimator = cls(Custom(shared_letters, takes="objects"), random_state=0, **params).fit(WORDS, y)
    return Stored(estimator, WORDS, lambda online: online.partial_fit(WORDS[::-1], y))


def of_dicts(cls: type, n_names: int) -> Stored:
    rng = np.random.default_rng(0)
    rows = [{f"w{k}": float(rng.integers(1, 4)) for k in rng.integers(0, n_names, 6)} for _ in range(50)]
    labels = ["ham" if sum(row.values()) % 2 else "spam" for row in rows]
    estimator = learn_each(new(cls), rows[:30], labels)
    return Stored(estimator, rows[:9], lambda online: learn_each(online, rows[30:], labels[30:]))


def of_frame() -> Stored:
    X, y = rings()
    frame = pd.DataFrame(X, columns=["länge", "width"])
    estimator = onkel.Forgetron(budget=9, gamma=1.0).fit(frame, np.where(y, "out", "in"))
    return Stored(estimator, frame, lambda online: online.partial_fit(frame + 0.2, np.where(y, "out", "in")))


def of_labels(labels: Any) -> Stored:
    X, y = rings()
    estimator = onkel.KernelPerceptron(gamma=1.0, random_state=0).fit(X, labels[y])
    return Stored(estimator, X, lambda online: online.partial_fit(X + 0.2, labels[y]))


def late_classes() -> Stored:
    X, y = data(onkel.Forgetron, classes=4)
    estimator = learn_each(onkel.Forgetron(budget=12, gamma=0.5), X[:2], ["b", "a"])
    names = np.array(["b", "a", "much later", "c"])
    return Stored(estimator, X, lambda online: learn_each(online, X[2:], names[y[2:]].tolist()))


def precomputed(estimator: Any) -> Stored:
    X, y = rings(40)
    K = RBF(gamma=1.0)(X)
    return Stored(estimator.fit(K, y), K)


def ridge(cls: type, several: bool = False, chunks: bool = False, **params: Any) -> Stored:
    X, y = data(cls, classes=2)
    y = np.stack([y, -y], axis=1) if several else y
    estimator = cls(kernel="rbf", gamma=0.5, **params).fit(X[:40], y[:40])
    return Stored(estimator, X, (lambda e: e.partial_fit(X[40:], y[40:])) if chunks else None)


def ridge_of_float32() -> Stored:
    X = np.repeat(rings(5)[0].astype(np.float32), 2, axis=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # alpha is below the rounding errors of the matrix
        estimator = onkel.KernelRidge(1e-6, kernel="rbf", gamma=1.0).fit(X, np.arange(10.0))
    assert estimator.X_fit_.dtype == np.float64
    return Stored(estimator, X)


# ---------------------------------------------------------------- rankers, taggers and maps


def ranker(**params: Any) -> Stored:
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(60, 3)), np.repeat(np.arange(12), 5)
    y = np.clip(np.round(2 * X[:, 0]), 0, 3)
    estimator = onkel.RankingPerceptron(**{"random_state": 0, "max_iter": 3} | params).fit(X, y, qid)
    return Stored(estimator, X, lambda online: online.partial_fit(-X, y, qid))


def prank(kernel: Any) -> Stored:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.clip(np.round(X[:, 0] + X[:, 1]), -2, 2)
    estimator = onkel.PRank(kernel, random_state=0, max_iter=3).fit(X[:40], y[:40])
    return Stored(estimator, X, lambda online: online.partial_fit(X[40:], y[40:]))


def tagger(form: str, **params: Any) -> Stored:
    from contract.test_tagging import FORMS, Y

    own, sentences = FORMS[form]
    estimator = onkel.SequencePerceptron(**{"max_iter": 2, "random_state": 0, **own, **params})
    estimator.fit(sentences[:15], Y[:15])
    return Stored(estimator, sentences, lambda online: online.partial_fit(sentences[15:], Y[15:]))


def map_of(cls: type, convert: Callable[[Any], Any] = np.asarray, **params: Any) -> Stored:
    X, _ = rings()
    return Stored(cls(**params).fit(convert(X)), convert(X))


def table() -> dict[str, Callable[[], Stored]]:
    found: dict[str, Callable[[], Stored]] = {}
    for cls in EVERY:
        found[cls.__name__] = lambda cls=cls: plain(cls)
        found[f"{cls.__name__}, not fitted"] = lambda cls=cls: Stored(new(cls), None)
    for cls in (*ONLINE, onkel.SVC):
        found[f"{cls.__name__}, sparse float32"] = lambda cls=cls: plain(cls, lambda X: sp.csr_array(X, dtype="f4"))
    for hypothesis in ("averaged", "voted", "last", "random", "best"):
        found[f"KernelPerceptron, {hypothesis}"] = lambda h=hypothesis: perceptron(hypothesis=h)
    for kernel in (
        *EVERY_VECTOR_KERNEL,
        2.5 * RBF(gamma=0.5) + (Linear() * RBF(gamma=2.0)) ** 2 + 1.0,
        (0.1 * Linear()).exp().normalized(),
        RBF(gamma=1.0).on([1]) + Linear().scaled(shrunk),
        RBF(gamma=0.3).after(squared),
    ):
        found[f"kernel {kernel}"] = lambda kernel=kernel: of_kernel(kernel)
    found |= {
        "averaged Perceptron": lambda: plain(onkel.Perceptron, hypothesis="averaged"),
        "strings": lambda: of_words(onkel.KernelPerceptron),
        "strings in a budget": lambda: of_words(onkel.BudgetPerceptron, budget=3),
        "strings, projected": lambda: of_words(onkel.Projectron),
        "dicts": lambda: of_dicts(onkel.Forgetron, 20),
        "sparse dicts": lambda: of_dicts(onkel.KernelPerceptron, 5000),
        "sparse dicts, linear": lambda: of_dicts(onkel.Perceptron, 5000),
        "named columns": of_frame,
        "labels of objects": lambda: of_labels(OBJECTS),
        "labels of truth": lambda: of_labels(np.array([False, True])),
        "labels of floats": lambda: of_labels(np.array([-2.0, 1e9])),
        "labels of small integers": lambda: of_labels(np.array([200, 7], dtype=np.uint8)),
        "labels of text": lambda: of_labels(np.array(["ö", "a longer name"])),
        "late classes": late_classes,
        "class weights": lambda: plain(onkel.KernelPerceptron, class_weight={0: 1.0, 1: 0.5, 2: 2.0}),
        "a random state": lambda: plain(onkel.BudgetPerceptron, forget="random", random_state=np.random.RandomState(3)),
        "oldest": lambda: plain(onkel.BudgetPerceptron, forget="oldest"),
        "basic Forgetron": lambda: plain(onkel.Forgetron, variant="basic"),
        "aggressive Projectron": lambda: plain(onkel.Projectron, aggressive=True, eta=0.3),
        "precomputed SVC": lambda: precomputed(onkel.SVC(kernel="precomputed")),
        "precomputed perceptron": lambda: precomputed(onkel.KernelPerceptron(Precomputed(), random_state=0)),
        "precomputed ridge": lambda: precomputed(onkel.KernelRidge(kernel="precomputed")),
        "two classes SVC": lambda: plain(onkel.SVC, classes=2),
        "ridge with its factor": lambda: ridge(onkel.KernelRidge, keep_factor=True),
        "ridge of two targets": lambda: ridge(onkel.KernelRidge, several=True, alpha=np.array([0.1, 1.0])),
        "ridge of float32, predicting in float64": lambda: ridge_of_float32(),
        "ridge by eigenvalues": lambda: ridge(onkel.KernelRidge, solver="eigen", fit_intercept=True),
        "ridge on centres": lambda: ridge(
            onkel.KernelRidge, chunks=True, solver="nystrom", n_centers=9, random_state=0
        ),
        "ridge on given centres": lambda: ridge(onkel.KernelRidge, solver="cg", centers=rings(9)[0]),
        "ridge, alpha per target": lambda: ridge(onkel.KernelRidgeCV, several=True, alpha_per_target=True),
        "ridge classifier in chunks": lambda: ridge(
            onkel.KernelRidgeClassifier, chunks=True, solver="nystrom", n_centers=9, random_state=0
        ),
        "recursive, forgetting": lambda: plain(onkel.RecursiveKernelRidge, forgetting=0.95, budget=8),
        "PRank, linear": lambda: prank("linear"),
        "PRank, kernel": lambda: prank(RBF(gamma=0.5)),
        "ranker, linear": lambda: ranker(),
        "ranker, kernel": lambda: ranker(kernel="rbf", gamma=0.3, pairs="all"),
        "ranker, voted": lambda: ranker(hypothesis="voted"),
        "ranker, kernel voted": lambda: ranker(kernel=Linear(), hypothesis="voted"),
        "EigenMap": lambda: map_of(onkel.EigenMap, kernel=RBF(gamma=1.0), n_components=5),
        "NystroemMap": lambda: map_of(onkel.NystroemMap, kernel="rbf", gamma=1.0, n_components=7, random_state=0),
        "NystroemMap, sparse": lambda: map_of(onkel.NystroemMap, sp.csr_array, kernel="rbf", gamma=1.0, random_state=0),
        "PolynomialMap": lambda: map_of(onkel.PolynomialMap),
        "RandomFourierMap": lambda: map_of(onkel.RandomFourierMap, n_components=6, random_state=0),
    }
    for form in ("strings", "dicts", "templates", "matrices", "hashed", "order 2", "voted", "kernel", "kernel voted"):
        found[f"tagger, {form}"] = lambda form=form: tagger(form)
    return found


OBJECTS = np.array(["no", "yes"], dtype=object)
STORED = table()


# ---------------------------------------------------------------- what one is


def predictions(given: Any, probes: Any) -> str:
    """What an estimator or a model makes of the probes, to the bit, as text."""
    if probes is None:
        return ""
    found = given.transform(probes) if hasattr(given, "transform") else given.predict(probes)
    if isinstance(found, list):
        return json.dumps(found)
    dense = found.toarray() if sp.issparse(found) else np.asarray(found)
    return f"{dense.dtype} {dense.shape} " + (
        repr(dense.tolist()) if dense.dtype.hasobject else hashlib.sha256(dense.tobytes()).hexdigest()
    )


def digest(estimator: Any) -> str:
    """A hash of all that an estimator is: its settings and the bits of its arrays."""
    state = estimator.state()
    found = hashlib.sha256(json.dumps([state.kind, state.version, to_json(state.settings)], sort_keys=True).encode())
    for name, array in sorted(state.arrays.items()):
        found.update(f"{name} {array.dtype} {array.shape}".encode())
        found.update(repr(array.tolist()).encode() if array.dtype.hasobject else array.tobytes())
    return found.hexdigest()


def report(stored: Stored) -> dict[str, str]:
    """What an estimator predicts and is, and what it becomes when it goes on; it goes on."""
    estimator, probes, go_on = stored
    found = {"predicts": predictions(estimator, probes), "is": digest(estimator)}
    if go_on is not None:
        go_on(estimator)
        found |= {"becomes": digest(estimator), "then predicts": predictions(estimator, probes)}
    return found


def file_name(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:16] + ".onkel"


def missing() -> set[str]:
    """The estimators of the registry that no entry makes."""
    made = {type(make().estimator).__name__ for make in STORED.values()}
    return {entry.name for entry in registry.estimators()} - made


def main(folder: str) -> None:
    found = {}
    for name, make in STORED.items():
        stored = make()
        onkel.save(stored.estimator, Path(folder, file_name(name)))
        found[name] = report(stored)
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
