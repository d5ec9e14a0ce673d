"""The caller's memory: what was given may be overwritten after each call, as a reader does that refills its buffers.

Every estimator learns twice: from arrays that are overwritten after each call, and from arrays of its own that are
read-only. Both must have learned the same, to the bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from cases import grouped
from contract.registered import DETECTORS, EVERY, ONLINE, ONLINE_CLASSIFIERS, REGRESSORS, has, new, scores, state
from pairwise import pairwise

import onkel
from onkel.kernels import RBF, Custom
from onkel.registry import estimators

WIDE = 2000  # features, too many for sparse rows to be stored as dense ones


def lengths(A: Any, B: Any) -> Any:
    return np.array([[np.exp(-abs(len(a) - len(b))) for b in B] for a in A])


def dense(n: int, dtype: Any = np.float64) -> Any:
    return np.random.default_rng(0).normal(size=(n, 3)).astype(dtype)


def csr(n: int, features: int, index: Any) -> Any:
    made = sp.random(n, features, density=min(0.6, 6 / features), format="csr", random_state=0)
    made.indices, made.indptr = made.indices.astype(index), made.indptr.astype(index)
    return sp.csr_array(made)


def words(n: int, dtype: Any = object) -> Any:
    rng = np.random.default_rng(0)
    return np.array(["a" * int(k) for k in rng.integers(1, 12, n)], dtype=dtype)


DATA = {
    "dense": lambda n: dense(n),
    "dense float32": lambda n: dense(n, np.float32),
    "columns first": lambda n: np.asfortranarray(dense(n)),
    "csr": lambda n: csr(n, 5, np.int32),
    "csr int64": lambda n: csr(n, 5, np.int64),
    "wide csr": lambda n: csr(n, WIDE, np.int32),
    "wide csr int64": lambda n: csr(n, WIDE, np.int64),
    "objects": lambda n: words(n),
}


def parts(array: Any) -> list[Any]:
    return [array.data, array.indices, array.indptr] if sp.issparse(array) else [array]


def mine(array: Any) -> Any:
    """A copy that nobody can write to."""
    if array is None or np.isscalar(array):
        return array
    array = array.copy()
    for one in parts(array):
        one.flags.writeable = False
    return array


def overwrite(*arrays: Any) -> None:
    for array in arrays:
        for one in [] if array is None or np.isscalar(array) else parts(array):
            one[...] = "zz" if one.dtype == object else 1


def machine(cls: type, storage: str, **params: Any) -> Any:
    if storage == "objects":
        params["kernel"] = Custom(lengths, takes="objects", psd=True)
    return new(cls, **params)


def targets(cls: type, n: int) -> Any:
    if cls in DETECTORS:
        return None
    y = np.arange(n) % 3  # one after the other, so that the first examples are all mistakes
    return np.sin(y) if cls in REGRESSORS else y


def same(one: Any, other: Any, X: Any) -> None:
    np.testing.assert_array_equal(scores(one, X), scores(other, X))
    assert state(one) == state(other)


BUDGETS = [(cls, {"budget": budget}) for cls in ONLINE if has(cls, "budget") for budget in (4, 500)]
BUDGETS += [(cls, {"budget": None}) for cls in ONLINE if has(cls, "budget") and cls().budget is None]
STREAMS = [*((cls, {}) for cls in ONLINE), *BUDGETS]
CHUNKS = {"partial_fit by one": [1] * 9, "partial_fit": [3, 1, 2, 30, 4], "fit": [40], "warm fit": [3, 3, 30, 4]}


@grouped("made, storage, way", pairwise(STREAMS, list(DATA), list(CHUNKS)))
def test_what_a_chunk_was_given_may_be_overwritten(made, storage, way):
    cls, params = made
    if storage == "objects" and not has(cls, "kernel"):
        return
    X, y = DATA[storage](40), targets(cls, 40)
    weights = None if way == "partial_fit by one" else np.random.default_rng(1).uniform(0.5, 2.0, 40)
    warm = {"warm_start": True, "max_iter": 1} if way == "warm fit" else {}
    one, other = (machine(cls, storage, **params, **warm) for _ in range(2))
    known = {"classes": np.array([0, 1, 2])} if cls in ONLINE_CLASSIFIERS else {}
    start = 0
    for size in CHUNKS[way]:
        where = slice(start, start + size)
        start += size
        given = [X[where].copy(), None if y is None else y[where].copy()]
        if way.startswith("partial_fit"):
            names = {name: value.copy() for name, value in known.items()}
            weight = None if weights is None else weights[where].copy()
            other.partial_fit(*map(mine, given), sample_weight=mine(weight), **known)
            one.partial_fit(*given, sample_weight=weight, **names)
            overwrite(*given, weight, *names.values())
        else:
            weight = weights[where].copy()
            other.fit(*map(mine, given), sample_weight=mine(weight))
            one.fit(*given, sample_weight=weight)
            overwrite(*given, weight)
        same(one, other, X)


@grouped("made, storage", pairwise(STREAMS, list(DATA)))
def test_what_an_example_was_given_may_be_overwritten(made, storage):
    cls, params = made
    if storage == "objects":  # a string is no memory that can be overwritten
        return
    X, y = DATA[storage](30), targets(cls, 30)
    one, other = (machine(cls, storage, **params) for _ in range(2))
    for i in range(30):
        x = X[[i]].copy() if sp.issparse(X) else X[i].copy()
        label = None if y is None else y[i]
        other.learn_one(mine(x), label)
        one.learn_one(x, label)
        overwrite(x)
    same(one, other, X)


@pytest.mark.parametrize("storage", DATA)
@pytest.mark.parametrize("cls", [cls for cls in EVERY if cls not in ONLINE])
def test_what_a_support_vector_machine_was_given_may_be_overwritten(cls, storage):
    X, y = DATA[storage](40), targets(cls, 40)
    one, other = (machine(cls, storage) for _ in range(2))
    given = [X.copy(), None if y is None else y.copy(), np.random.default_rng(1).uniform(0.5, 2.0, 40)]
    other.fit(*map(mine, given))
    one.fit(*given)
    overwrite(*given)
    np.testing.assert_array_equal(scores(one, X), scores(other, X))
    np.testing.assert_array_equal(one.model_.scores(X), other.model_.scores(X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("cls", [cls for cls in EVERY if has(cls, "kernel")])
def test_a_gram_matrix_may_be_overwritten(cls, dtype):
    X, y = dense(40), targets(cls, 40)
    K = RBF(gamma=0.5)(X).astype(dtype)
    few = {"budget": None} if has(cls, "budget") and cls().budget is None else {}
    one, other = (new(cls, kernel="precomputed", **few) for _ in range(2))
    given = [K.copy(), None if y is None else y.copy()]
    other.fit(*map(mine, given))
    one.fit(*given)
    overwrite(*given)
    np.testing.assert_array_equal(scores(one, K), scores(other, K))
    assert state(one) == state(other)


@pytest.mark.parametrize("storage", ["dense", "dense float32", "csr", "wide csr", "objects"])
@pytest.mark.parametrize("entry", [entry for entry in estimators() if entry.task == "transform"], ids=lambda e: e.name)
def test_what_a_map_was_given_may_be_overwritten(entry, storage):
    cls = getattr(onkel, entry.name)
    params: dict[str, object] = {}
    if entry.name == "RandomFourierMap" and storage == "objects":
        pytest.skip("objects have no frequencies")
    if has(cls, "kernel"):
        params = {"kernel": Custom(lengths, takes="objects", psd=True) if storage == "objects" else RBF(gamma=0.5)}
    elif storage in ("objects", "wide csr"):
        return
    if has(cls, "random_state"):
        params["random_state"] = 0
    X = DATA[storage](12)
    one, other = cls(**params), cls(**params)
    given = X.copy()
    other.fit(mine(given))
    one.fit(given)
    overwrite(given)
    made, expected = (each.transform(X) for each in (one, other))
    difference = made - expected
    assert not (difference.count_nonzero() if sp.issparse(difference) else difference.any())
