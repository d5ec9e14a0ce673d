"""Random lives of online estimators: whatever is called in whatever order, they know what their examples say.

A life is a random sequence of calls: chunks and single examples in every storage, with sample and class weights and
late classes; calls that are refused, or stopped in front of a random line; copies, pickles and snapshots. Beside it a
twin learns the same examples one at a time, as dense float64 vectors. After every call both have learned as many
examples, made as many mistakes and give the same scores.
"""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from contract.registered import CLASSIFIERS, DETECTORS, ONLINE, ONLINE_WITH_KERNEL, has, in_small_parts, new
from interruptions import lines_of, stop_at_line
from numpy.typing import NDArray

from onkel.kernels import RBF, Custom

STEPS, MOST = 14, 12  # calls in a life, and examples in a chunk
FEW, MANY = 5, 600  # features of vectors, and of sparse dicts, each of which has at most twice FEW
KINDS = ["vectors", "frames", "dicts", "sparse dicts", "objects"]
LABELS = [["b", "a", "long name", "c"], [3, -1, 2**40, 7], [1.0, 0.0, -2.0, 5.0]]  # in the order in which they come


@dataclasses.dataclass(frozen=True)
class OfTuples:
    """A kernel on vectors, for tuples of numbers."""

    kernel: Any

    def __call__(self, A: Any, B: Any) -> Any:
        return self.kernel(np.array(A.tolist()), np.array(B.tolist()))


class Life:
    """An estimator, its twin, and the stream that both learn from."""

    def __init__(self, cls: type, kind: str, seed: int) -> None:
        self.cls, self.kind, self.rng = cls, kind, np.random.default_rng(seed)
        self.scale = 2.0 ** self.pick([0, 0, 90, -90])  # about 1e27
        self.width = MANY if kind == "sparse dicts" else FEW
        self.names = [f"w{k}" for k in range(self.width)]
        self.labels = self.pick(LABELS)
        options = {"kernel": RBF(gamma=0.3 / self.scale**2)} if cls in ONLINE_WITH_KERNEL else {}
        self.twin = new(cls, **options)
        if kind == "objects":
            options["kernel"] = Custom(OfTuples(options["kernel"]), takes="objects")
        self.estimator = new(cls, **options)
        self.class_weight: dict[Any, float] | None = None
        self.probes = self.vectors(8)

    # ------------------------------------------------------------ random things

    def pick(self, choices: Any) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def vectors(self, n: int) -> NDArray[np.float64]:
        """Numbers whose distances are exact in any order, and which float32 holds; where they are many, most are 0."""
        X = self.rng.normal(size=(n, self.width))
        X[self.rng.random(X.shape) > (FEW / MANY if self.width == MANY else 0.8)] = 0.0
        return np.round(X * 4096) / 4096 * self.scale

    def targets(self, X: NDArray[np.float64]) -> Any:
        if self.cls in DETECTORS:
            return None
        if self.cls not in CLASSIFIERS:
            return np.sin(X.sum(axis=1) / self.scale)
        known = 1 if not self.started else min(len(self.labels), 2 + self.estimator.n_rounds_ // 40)
        return np.array(self.labels[:known])[self.rng.integers(known, size=len(X))]

    @property
    def started(self) -> bool:
        return hasattr(self.estimator, "n_rounds_")

    # ------------------------------------------------------------ storages

    def stored(self, X: NDArray[np.float64], *, first: bool = False) -> Any:
        """The rows in one of the storages of this kind of life."""
        if self.kind == "objects":
            return [tuple(x) for x in X.tolist()]
        if self.kind == "frames" and (first or self.rng.random() < 0.5):
            return pd.DataFrame(X, columns=self.names)
        if self.kind != "vectors":
            return [self.as_dict(x, all_names=first and self.kind == "dicts") for x in X]
        if first:
            return self.pick([X.copy, lambda: np.asfortranarray(X), lambda: sp.csr_array(X)])()
        csr = sp.csr_matrix(X)
        wide = sp.csr_array((csr.data, csr.indices.astype(np.int64), csr.indptr.astype(np.int64)), shape=X.shape)
        return self.pick([X.copy(), np.asfortranarray(X), X.astype(np.float32), X.tolist(), csr, wide, X[::-1][::-1]])

    def as_dict(self, x: NDArray[np.float64], *, all_names: bool = False) -> dict[str, float]:
        """A vector by name, in any order; a feature that is 0 may be left out."""
        places = self.rng.permutation(np.arange(self.width) if self.width == FEW else np.flatnonzero(x))
        return {self.names[k]: float(x[k]) for k in places if x[k] or all_names or self.rng.random() < 0.5}

    def stored_one(self, x: NDArray[np.float64]) -> Any:
        if self.kind == "objects":
            return tuple(x.tolist())
        if self.kind != "vectors":
            return self.pick([self.as_dict(x), pd.Series(x, index=self.names)])
        return self.pick([x, x.tolist(), x.astype(np.float32), sp.csr_array(x[None, :])])

    # ------------------------------------------------------------ calls

    def call(self, X: NDArray[np.float64], y: Any, weights: Any) -> Callable[[Any], Any]:
        """A learning call on these examples, for any estimator that knows as much as this one."""
        if len(X) == 1 and weights is None and self.started:
            x, label = self.stored_one(X[0]), None if y is None else y.tolist()[0]
            return lambda e: e.learn_one(x) if y is None else e.learn_one(x, label)
        rows = self.stored(X, first=not self.started)
        given = () if y is None else (y if self.rng.random() < 0.5 else y.tolist(),)
        return lambda e: e.partial_fit(rows, *given, sample_weight=weights)

    def tell_twin(self, X: NDArray[np.float64], y: Any, weights: Any, upto: int) -> None:
        """Lets the twin learn, one by one, until it has seen `upto` examples; those of weight 0 do not count."""
        w = np.ones(len(X)) if weights is None else weights
        for i in range(len(X)):
            weight = w[i] * (self.class_weight or {}).get(None if y is None else y[i].item(), 1.0)
            if weight > 0 and getattr(self.twin, "n_rounds_", 0) < upto:
                self.twin.partial_fit(X[i : i + 1], *(() if y is None else (y[i : i + 1],)), sample_weight=[weight])
        assert getattr(self.twin, "n_rounds_", 0) == upto

    def learn(self, *, stop: bool = False) -> None:
        X = self.vectors(self.pick([1, 1, int(self.rng.integers(2, MOST + 1))]))
        y, weights = self.targets(X), None
        if self.rng.random() < 0.4:
            weights = self.rng.choice([0.0, 0.5, 1.0, 3.0], size=len(X))
            weights[-1] = 1.0
        call = self.call(X, y, weights)
        if stop:
            lines = len(lines_of(lambda: call(copy.deepcopy(self.estimator))))
            stop_at_line(lambda: call(self.estimator), int(self.rng.integers(lines)), KeyboardInterrupt)
        else:
            call(self.estimator)
        self.tell_twin(X, y, weights, getattr(self.estimator, "n_rounds_", 0))

    def stopped(self) -> None:
        self.learn(stop=True)

    def refused(self) -> None:
        """A call whose last example cannot be learned from, or a parameter that is built in: nothing changes."""
        if not self.started:
            return
        self.class_weight = None
        self.estimator.set_params(**({"class_weight": None} if has(self.cls, "class_weight") else {}))
        X, before = self.vectors(5), self.estimator.state()
        y, weights = self.targets(X), None
        match self.pick(["value", "weight", "label", "parameter"]):
            case "weight":
                weights = np.array([1.0, 1.0, 1.0, 1.0, -1.0])
            case "label" if y is not None:
                y = np.array([*y.tolist()[:-1], None], dtype=object)
            case "parameter" if self.cls in ONLINE_WITH_KERNEL:
                kernel = self.estimator.kernel
                self.estimator.set_params(kernel=RBF(gamma=123.0))
                with pytest.raises(ValueError, match="kernel"):
                    self.call(X, y, np.ones(5))(self.estimator)
                self.estimator.set_params(kernel=kernel)
                X = X[:0]
            case _:
                X[-1, :] = np.nan
        if len(X):
            rows = self.stored(X)
            with pytest.raises((ValueError, TypeError)):
                self.estimator.partial_fit(rows, *(() if y is None else (y,)), sample_weight=weights)
        assert self.estimator.state() == before

    def copied(self) -> None:
        """Goes on with a copy, and spoils the original."""
        if not self.started:
            return
        original = self.estimator
        if self.rng.random() < 0.3:
            self.estimator = new(self.cls).resume(original.snapshot())
        else:
            self.estimator = self.pick([copy.copy, copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])(original)
        X = self.vectors(9)
        y = self.targets(X)
        original.partial_fit(self.stored(X), *(() if y is None else (y,)))

    def weighted(self) -> None:
        if has(self.cls, "class_weight") and getattr(self.estimator, "n_rounds_", 0):
            known = self.estimator.classes_.tolist()
            self.class_weight = self.pick([None, {self.pick(known): 2.0}, {self.pick(known): 0.0}])
            self.estimator.set_params(class_weight=self.class_weight)

    # ------------------------------------------------------------ what must hold

    def check(self) -> None:
        one, twin = self.estimator, self.twin
        if not getattr(one, "n_rounds_", 0):  # stopped before the first example was learned
            return
        for name in ("n_rounds_", "n_mistakes_", "n_updates_"):
            assert getattr(one, name, None) == getattr(twin, name, None), name
        if self.cls in CLASSIFIERS:
            assert one.classes_.tolist() == twin.classes_.tolist()
        probes = self.probes.copy()
        if "dicts" in self.kind:  # features that nothing learned depends on are left out
            probes[:, ~np.isin(self.names, one.feature_names_in_.astype(str))] = 0.0
        rows = self.stored(self.probes)
        score = "decision_function" if hasattr(one, "decision_function") else "predict"
        expected = getattr(twin, score)(probes)
        size = max(1.0, np.abs(expected).max())
        np.testing.assert_allclose(getattr(one, score)(rows) / size, expected / size, rtol=1e-9, atol=1e-9)
        if np.abs(expected).min() > 1e-9 * size:  # a score near 0 may be on either side
            assert [one.predict_one(self.stored_one(x)) for x in self.probes] == pytest.approx(
                one.predict(rows).tolist()
            )

    def live(self) -> None:
        calls = [self.learn, self.learn, self.learn, self.stopped, self.refused, self.copied, self.weighted]
        for _ in range(STEPS):
            self.pick(calls)()
            self.check()


CASES = [(cls, kind) for cls in ONLINE for kind in KINDS if kind != "objects" or cls in ONLINE_WITH_KERNEL]
SHORT = CASES[::4]  # every estimator, and every kind twice or more
SEEDS = range(1, 31)


@pytest.mark.parametrize(("cls", "kind"), SHORT)
def test_an_estimator_knows_what_its_examples_say_whatever_happens_to_it(cls, kind, monkeypatch):
    in_small_parts(monkeypatch, 3)
    Life(cls, kind, seed=0).live()


@pytest.mark.long
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("cls", "kind"), CASES)
def test_an_estimator_knows_what_its_examples_say_in_many_lives(cls, kind, seed, monkeypatch):
    in_small_parts(monkeypatch, 3)
    Life(cls, kind, seed).live()
