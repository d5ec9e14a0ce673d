"""The estimators of the registry as the contract tests take them: small ones, data for them, and all that they show.

A new line in `onkel.registry` brings an estimator into the lists below, and so under every promise of the contract.
What is private to the package is read and patched in this module only.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import importlib
import inspect
import pickle
import pkgutil
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import MultiOutputMixin, is_regressor

import onkel
import onkel.learners
from onkel import KernelPerceptron, Perceptron, Projectron, registry
from onkel.kernels import RBF

# ---------------------------------------------------------------- which estimators there are


def predictors(*tasks: str, online: bool | None = None) -> list[type]:
    """The classes of the registry with one of these tasks, or all that predict; online ones, others, or both."""
    chosen = tasks or ("classify", "regress", "detect")
    entries = [entry for entry in registry.estimators() if entry.task in chosen and online in (None, entry.online)]
    return [getattr(onkel, entry.name) for entry in entries]


@functools.cache
def has(cls: type, parameter: str) -> bool:
    return parameter in inspect.signature(cls).parameters


EVERY = predictors()
ONLINE = predictors(online=True)
CLASSIFIERS = predictors("classify")
REGRESSORS = predictors("regress")
DETECTORS = predictors("detect")  # of novelty: they look at no target
WITH_TARGETS = [*CLASSIFIERS, *REGRESSORS]
ONE_TARGET = [cls for cls in WITH_TARGETS if not issubclass(cls, MultiOutputMixin)]
ONLINE_CLASSIFIERS = predictors("classify", online=True)
ONLINE_REGRESSORS = predictors("regress", online=True)
RIDGES = [cls for cls in predictors(online=False) if "Ridge" in cls.__name__]
SVMS = [cls for cls in predictors(online=False) if cls not in RIDGES]
WITH_KERNEL = [cls for cls in EVERY if has(cls, "kernel")]
ONLINE_WITH_KERNEL = [cls for cls in ONLINE if has(cls, "kernel")]
PERCEPTRONS = [KernelPerceptron, Perceptron]  # one keeps every mistake, one the last 100 000; the others 1000 updates
STREAMING = [cls for cls in ONLINE if cls not in PERCEPTRONS]
BUDGETED = [
    cls for cls in ONLINE if has(cls, "budget") and cls is not Projectron
]  # a Projectron is bounded by eta, too

each = pytest.mark.parametrize("cls", EVERY)
each_online = pytest.mark.parametrize("cls", ONLINE)
each_classifier = pytest.mark.parametrize("cls", CLASSIFIERS)
each_online_classifier = pytest.mark.parametrize("cls", ONLINE_CLASSIFIERS)
each_with_targets = pytest.mark.parametrize("cls", WITH_TARGETS)
each_with_kernel = pytest.mark.parametrize("cls", WITH_KERNEL)
each_online_with_kernel = pytest.mark.parametrize("cls", ONLINE_WITH_KERNEL)


def small(cls: type) -> dict[str, Any]:
    """The parameters of an estimator for few points."""
    few = {"random_state": 0} | ({"kernel": RBF(gamma=0.5)} if cls in EVERY else {})
    few |= {"max_iter": 3} if cls in ONLINE else {}
    own = {name: value for name, value in few.items() if has(cls, name)}
    return own | ({"budget": 12} if cls in BUDGETED else {})


def new(cls: type, **params: Any) -> Any:
    """An estimator for few points; `kernel` and the like may be given."""
    return cls(**(small(cls) | params))


def exact(cls: type) -> dict[str, Any]:
    """Parameters of an SVM whose solution is the optimum to about nine digits.

    With the default `tol`, kernel values that differ in the last bit (as between SIMD paths, or between rows and a Gram
    matrix) may end in solutions that differ by `tol`.
    """
    return {"tol": 1e-10} if cls in SVMS else {}


# ---------------------------------------------------------------- data


def data(cls: type, n: int = 60, classes: int = 2, seed: int = 0, apart: float = 2.0) -> tuple[Any, Any]:
    """Classes around the corners of a square, or numbers to regress on, or points and no target.

    With ``apart=5.0`` the classes are far from one another, and lines separate them.
    """
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    centres = apart * np.array([[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])
    X = centres[y] + 0.7 * rng.normal(size=(n, 2))
    if cls in CLASSIFIERS:
        return X, y
    return X, (np.sin(X[:, 0]) if cls in REGRESSORS else None)


def rings(n: int = 80, seed: int = 0) -> tuple[Any, Any]:
    """Two classes at radius 1 and 2: no line separates them, a Gaussian kernel does."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    angle = rng.uniform(0, 2 * np.pi, n)
    return (1.0 + y)[:, None] * np.c_[np.cos(angle), np.sin(angle)] + 0.05 * rng.normal(size=(n, 2)), y


def part(y: Any, where: Any) -> Any:
    """Some of the targets, where there are any."""
    return None if y is None else y[where]


def learn_each(estimator: Any, X: Any, y: Any) -> Any:
    """One example at a time."""
    for i in range(X.shape[0] if hasattr(X, "shape") else len(X)):
        estimator.learn_one(X[i], part(y, i))
    return estimator


# How to come to an estimator that goes on as another one does.
COPIES: dict[str, Callable[[Any], Any]] = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda estimator: pickle.loads(pickle.dumps(estimator)),
    "state": lambda estimator: type(estimator).from_state(estimator.state()),
    "snapshot": lambda estimator: type(estimator)().resume(estimator.snapshot()),
    "pickled snapshot": lambda estimator: type(estimator)().resume(pickle.loads(pickle.dumps(estimator.snapshot()))),
}

# scikit-learn 1.6 reads the column names of a polars frame only where pyarrow is installed, too
OLD = tuple(int(part) for part in sklearn.__version__.split(".")[:2]) < (1, 7)
FRAMES = [
    pytest.param(pd.DataFrame, id="pandas"),
    pytest.param(
        pl.DataFrame, id="polars", marks=pytest.mark.skipif(OLD, reason="scikit-learn 1.6 needs pyarrow for it")
    ),
]

# ---------------------------------------------------------------- what an estimator shows

SHOWN = (
    "classes_ mistakes_ mistake_counts_ n_mistakes_ n_updates_ n_rounds_ n_iter_ converged_ n_features_in_ "
    "feature_names_in_ support_ n_support_ dual_coef_ coef_ intercept_ kernel_ gamma_ offset_ rho_ epsilon_ shrink_ "
    "forgotten_ drift_ fit_status_ objective_"
)


def scores(estimator: Any, X: Any) -> Any:
    return estimator.predict(X) if is_regressor(estimator) else estimator.decision_function(X)


def updates(estimator: Any) -> int:
    """How often it was changed by an example."""
    return int(estimator.n_updates_ if hasattr(estimator, "n_updates_") else estimator.n_mistakes_)


def shown(estimator: Any, X: Any) -> dict[str, Any]:
    """All that an estimator shows of itself."""
    found = {name: getattr(estimator, name) for name in SHOWN.split() if hasattr(estimator, name)}
    found = {name: value.toarray() if sp.issparse(value) else value for name, value in found.items()}
    found = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in found.items()}
    return found | {"attributes": sorted(vars(estimator)), "scores": scores(estimator, X).tolist()}


def state(estimator: Any) -> bytes:
    """All that an estimator is, as bytes; what only speeds it up is left out."""
    return pickle.dumps(pickle.loads(pickle.dumps(estimator)))


def assert_same(one: Any, other: Any, X: Any, tolerance: float = 0.0) -> None:
    """The same support, coefficients and scores."""
    for name in ("support_", "dual_coef_", "coef_", "intercept_"):
        assert hasattr(one, name) == hasattr(other, name)
        if hasattr(one, name):
            mine, its = (found.toarray() if sp.issparse(found := getattr(e, name)) else found for e in (one, other))
            np.testing.assert_allclose(mine, its, rtol=tolerance, atol=tolerance, err_msg=name)
    np.testing.assert_allclose(scores(one, X), scores(other, X), rtol=tolerance, atol=tolerance)


# ---------------------------------------------------------------- kernels that go wrong


@dataclasses.dataclass(frozen=True)
class Refusing:
    """A linear kernel that has no value for points beyond `limit`: it raises an error, or gives NaN."""

    limit: float
    raises: bool

    def __call__(self, A: Any, B: Any) -> Any:
        beyond = np.abs(A).max(axis=1) > self.limit
        if self.raises and beyond.any():
            raise ZeroDivisionError("no value there")
        return np.where(beyond[:, None], np.nan, 0.01 * (A @ B.T))


@dataclasses.dataclass(eq=False)
class Stopping:
    """A Gaussian kernel during which Ctrl-C comes at the given call with more than one row; 0: never."""

    at: int = 0
    calls: int = 0

    def __call__(self, A: Any, B: Any) -> Any:
        self.calls += len(A) > 1  # one row with itself is asked for by the diagonal
        if self.at and self.calls == self.at:
            self.at = 0
            raise KeyboardInterrupt
        return np.exp(-0.5 * ((A[:, None] - B[None]) ** 2).sum(axis=2))


# ---------------------------------------------------------------- what is private


def learner_of(estimator: Any) -> Any:
    return estimator._running.learner


def form_of_sentences(tagger: Any) -> Any:
    return tagger._running.form


def columns_of(estimator: Any) -> Any:
    return estimator._running.columns


def numbers_of(estimator: Any) -> Any:
    """What an online estimator holds, whatever the room for more that it has taken and not given back."""
    if isinstance(estimator, KernelPerceptron):
        learner = learner_of(estimator)
        return learner.n_outputs, learner.sq_norms.tolist(), learner.support.row_ids.tolist(), learner.next_row_id
    return state(estimator)


def ledger_bytes(estimator: Any) -> int:
    """The memory of the updates that an online estimator keeps."""
    return int(learner_of(estimator).ledger.entries.base.nbytes)


def in_small_parts(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Lets every learner take chunks in parts of `size` rows, so that few rows make many parts."""
    found = pkgutil.walk_packages(onkel.learners.__path__, "onkel.learners.")
    modules = [importlib.import_module(module.name) for module in found]
    with_parts = [module for module in modules if hasattr(module, "CHUNK")]
    assert len(with_parts) >= 4
    for module in with_parts:
        monkeypatch.setattr(module, "CHUNK", size)
    monkeypatch.setattr("onkel.learners.perceptron.primal.CHUNK_VALUES", 2 * size)  # of two features
