"""A specimen: one form of an estimator, the little data that it learns from, and its slow twin if it has one."""

from __future__ import annotations

import copy
import dataclasses
import functools
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import tagged
from contract.registered import CLASSIFIERS, data, has, part, rings, small

import onkel
from onkel import registry
from onkel.kernels import RBF, Custom, Linear, register

TASKS = {entry.name: entry.task for entry in registry.estimators()}
ONLINE = {entry.name for entry in registry.estimators() if entry.online}


class Data(NamedTuple):
    """What a specimen learns from.

    first   : the arguments of `fit`, or what comes first on a stream.
    probes  : what can be predicted or transformed.
    more    : the arguments of `partial_fit`, and `ones` those of calls of `learn_one`, with which it goes on.
    how     : the method that learns `first`; `learn_one` takes it row by row.
    """

    first: tuple[Any, ...]
    probes: Any
    more: tuple[Any, ...] = ()
    ones: list[tuple[Any, Any]] = []  # noqa: RUF012
    how: Literal["fit", "partial_fit", "learn_one"] = "fit"


@dataclasses.dataclass(frozen=True, eq=False)
class Specimen:
    """One form of an estimator, always made alike.

    name      : the form, in words; unique.
    estimator : its public name.
    params    : the parameters that make the form, besides those that keep it small.
    given     : makes its data.
    tags      : what is special about it; see `zoo`.
    twin      : makes its slow twin of a kernel and `params`.
    """

    name: str
    estimator: str
    params: Mapping[str, Any]
    given: Callable[[], Data]
    tags: frozenset[str] = frozenset()
    twin: Callable[..., Any] | None = None

    @property
    def task(self) -> str:
        return TASKS[self.estimator]

    @property
    def online(self) -> bool:
        return self.estimator in ONLINE

    @property
    def takes_kernel(self) -> bool:
        return has(getattr(onkel, self.estimator), "kernel")

    @functools.cached_property
    def data(self) -> Data:
        return self.given()

    def new(self, **more: Any) -> Any:
        """The estimator before it learns; `more` goes before its own parameters."""
        cls = getattr(onkel, self.estimator)
        own = {"kernel": RBF(gamma=0.5)} if "learner" in self.tags and self.takes_kernel else {}
        return cls(**(own | small(cls) | copy.deepcopy(dict(self.params)) | more))

    def once(self, kernel: Any = RBF(gamma=0.5), **more: Any) -> Any:  # noqa: B008
        """The estimator for one pass in order, with this kernel if it takes one."""
        own = {"kernel": kernel} if self.takes_kernel else {}
        return self.new(**({"max_iter": 1, "shuffle": False} | own | more))

    def slow(self, kernel: Any = RBF(gamma=0.5)) -> Any:  # noqa: B008
        """The slow twin of `once`; without a kernel of its own it has the linear one."""
        assert self.twin is not None
        return self.twin(kernel if self.takes_kernel else Linear(), **self.params)

    def make(self) -> Any:
        """The estimator when it has learned what comes first."""
        estimator, (first, how) = self.new(), (self.data.first, self.data.how)
        if not first:
            return estimator
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few rows, few epochs
            if how != "learn_one":
                return getattr(estimator, how)(*first)
            for x, y in zip(*first, strict=True):
                estimator.learn_one(x, y)
        return estimator

    @property
    def goes_on(self) -> bool:
        return bool(self.data.more)

    def go_on(self, estimator: Any) -> Any:
        """Lets an estimator learn the rest of the data."""
        estimator.partial_fit(*self.data.more)
        for x, y in self.data.ones:
            estimator.learn_one(x, y)
        return estimator

    def __str__(self) -> str:
        return self.name


def unchanged(X: Any) -> Any:
    return X


# ---------------------------------------------------------------- data


def nothing() -> Data:
    return Data((), None)


def corners(estimator: str, classes: int = 3, convert: Callable[[Any], Any] = unchanged) -> Data:
    """Points around the corners of a square: 40 of them at first, then others on the opposite side."""
    X, y = data(getattr(onkel, estimator), classes=classes)
    rows, others = convert(X), convert(-X)
    if estimator not in ONLINE:
        return Data((rows[:40], part(y, slice(40))), rows)
    ones = [(one_of(others, i), part(y, i)) for i in range(50, 60)]
    return Data((rows[:40], part(y, slice(40))), rows, (others[40:50], part(y, slice(40, 50))), ones)


def one_of(rows: Any, i: int) -> Any:
    """One row as `learn_one` and `predict_one` take it."""
    if isinstance(rows, pd.DataFrame):
        return rows.iloc[i]
    return rows[[i]] if hasattr(rows, "tocsr") else rows[i]


def in_frame(X: Any) -> Any:
    return pd.DataFrame(X, columns=["länge", "width"])


def two_rings(
    convert: Callable[[Any], Any] = unchanged, n: int = 80, labels: Any = (0, 1), *, goes_on: bool = True
) -> Data:
    X, y = rings(n)
    named = np.asarray(labels)[y]
    return Data((convert(X), named), convert(X), (convert(X + 0.2), named) if goes_on else ())


def gram() -> Data:
    """Kernel values of rows with one another."""
    X, y = rings(40)
    K = RBF(gamma=1.0)(X)
    return Data((K, y), K)


def chunks(several: bool = False, goes_on: bool = False) -> Data:
    """For a ridge: 40 rows, and others if it goes on; one target or two."""
    X, y = data(CLASSIFIERS[0])
    y = np.stack([y, -y], axis=1) if several else y
    return Data((X[:40], y[:40]), X, (X[40:], y[40:]) if goes_on else ())


def twice_in_float32() -> Data:
    X = np.repeat(rings(5)[0].astype(np.float32), 2, axis=0)
    return Data((X, np.arange(10.0)), X)


def words() -> Data:
    y = np.arange(len(WORDS)) % 2
    return Data((WORDS, y), WORDS, (WORDS[::-1], y))


def bags(n_names: int, how: Literal["partial_fit", "learn_one"] = "learn_one") -> Data:
    """Dicts with six of so many features."""
    rng = np.random.default_rng(0)
    rows = [{f"w{k}": float(rng.integers(1, 4)) for k in rng.integers(0, n_names, 6)} for _ in range(50)]
    labels = ["ham" if sum(row.values()) % 2 else "spam" for row in rows]
    ones = list(zip(rows[40:], labels[40:], strict=True))
    return Data((rows[:30], labels[:30]), rows[:9], (rows[30:40], labels[30:40]), ones, how)


def late_labels() -> Data:
    """Two classes at first, and two more that come later; not in the order of their names."""
    X, y = data(CLASSIFIERS[0], classes=4)
    names = np.array(["b", "a", "much later", "c"])[y]
    ones = list(zip(X[32:], names[32:].tolist(), strict=True))
    return Data((X[:2], names[:2].tolist()), X, (X[2:32], names[2:32]), ones, "learn_one")


def grades() -> Data:
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = np.clip(np.round(X[:, 0] + X[:, 1]), -2, 2)
    return Data((X[:40], y[:40]), X, (X[40:58], y[40:58]), [(X[58], y[58]), (X[59], y[59])])


def queries() -> Data:
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(60, 3)), np.repeat(np.arange(12), 5)
    y = np.clip(np.round(2 * X[:, 0]), 0, 3)
    return Data((X, y, qid), X, (-X, y, qid), [(X[:3], 1)])


def sentences(form: str) -> Data:
    X, Y = (tagged.FORMS | tagged.VOTED_FORMS)[form][1], tagged.Y
    return Data((X[:15], Y[:15]), X, (X[15:28], Y[15:28]), [(X[28], Y[28]), (X[29], Y[29])])


def one_sentence() -> Data:
    """The tags of one sentence at first, and others that come later."""
    return sentences("strings")._replace(first=(tagged.X[:1], tagged.Y[:1]), how="partial_fit")


def unlabelled(convert: Callable[[Any], Any] = unchanged) -> Data:
    X = convert(rings()[0])
    return Data((X,), X)


# ---------------------------------------------------------------- functions that files name


WORDS = np.array(["perceptron", "kernel", "margin", "mistake", "añejo", "日本", "", "voted"], dtype=object)


def shared_letters(a: Any, b: Any) -> Any:
    """The number of letters that two words share, which is a valid kernel; also of what is no word."""
    return np.array([[float(len(set(str(x)) & set(str(z)))) for z in b] for x in a])


def shrunk(X: Any) -> Any:
    return 1.0 / (1.0 + np.square(X).sum(axis=1))


def squared(X: Any) -> Any:
    return np.square(X)


if __name__ == "specimen":  # pytest imports it again, under another name, to look for doctests
    for function in (shared_letters, shrunk, squared):
        register(f"tests.{function.__name__}", function)

ON_WORDS = Custom(shared_letters, takes="objects")
