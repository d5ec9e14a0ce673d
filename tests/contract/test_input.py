"""Fitted estimators validate plain arrays without scikit-learn, with the same results as scikit-learn's validation."""

from __future__ import annotations

import functools
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from cases import grouped
from pairwise import pairwise
from sklearn.base import is_regressor

from onkel import SVC, SVR, KernelPerceptron, NormaOneClass, NormaRegressor, PassiveAggressiveClassifier, Perceptron
from onkel.kernels import RBF, Chi2, Precomputed

rng = np.random.default_rng(0)
X = rng.random((40, 3))
Y = np.arange(40) % 2
NUMBERS = np.sin(5 * X[:, 0])

MACHINES = {
    "PassiveAggressiveClassifier": lambda: PassiveAggressiveClassifier(gamma=1.0, budget=10, random_state=0).fit(X, Y),
    "KernelPerceptron": lambda: KernelPerceptron(RBF(gamma=1.0), random_state=0).fit(X, Y),
    "Perceptron": lambda: Perceptron(random_state=0).fit(X, Y),
    "NormaRegressor": lambda: NormaRegressor(gamma=1.0, random_state=0).fit(X, NUMBERS),
    "NormaOneClass": lambda: NormaOneClass(gamma=1.0, random_state=0).fit(X),
    "single precision": lambda: KernelPerceptron(RBF(gamma=1.0), random_state=0).fit(X.astype(np.float32), Y),
    "three classes": lambda: PassiveAggressiveClassifier(gamma=1.0, budget=10, random_state=0).fit(
        X, np.arange(40) % 3
    ),
    "strings": lambda: KernelPerceptron(RBF(gamma=1.0), random_state=0).fit(X, np.array(["no", "yes"])[Y]),
    "names": lambda: KernelPerceptron(RBF(gamma=1.0), random_state=0).fit(pd.DataFrame(X, columns=list("abc")), Y),
    "non-negative": lambda: KernelPerceptron(Chi2(gamma=1.0), random_state=0).fit(X, Y),
    "SVC": lambda: SVC(gamma=1.0).fit(X, Y),
    "SVR": lambda: SVR(gamma=1.0).fit(X, NUMBERS),
    "Gram": lambda: SVC(kernel=Precomputed()).fit(RBF(gamma=1.0)(X), Y),
    "Gram, perceptron": lambda: KernelPerceptron(Precomputed(), random_state=0).fit(RBF(gamma=1.0)(X), Y),
    "not fitted": lambda: KernelPerceptron(RBF(gamma=1.0), random_state=0),
}


NOT_ONLINE = ("SVC", "SVR", "Gram", "Gram, perceptron")  # a Gram matrix cannot grow


class Marked(np.ndarray):
    """An array that is not a plain one."""


def changed(value, where=(3, 1)):
    copy = X.copy()
    copy[where] = value
    return copy


ROWS = {
    "plain": X,
    "one row": X[:1],
    "float32": X.astype(np.float32),
    "float16": X.astype(np.float16),
    "whole numbers": np.rint(9 * X).astype(int),
    "other byte order": X.astype(X.dtype.newbyteorder()),
    "columns first": np.asfortranarray(X),
    "every second": X[::2],
    "backwards": X[::-1, ::-1],
    "read-only": np.broadcast_to(X[:1], (40, 3)),
    "a NaN": changed(np.nan),
    "an infinity": changed(-np.inf),
    "two infinities": changed([np.inf, -np.inf, 0.0], where=7),
    "a sum that overflows": changed(1e308, where=slice(None)),
    "negative": -X,
    "too few columns": X[:, :2],
    "one dimension": X[0],
    "three dimensions": X[None],
    "no rows": X[:0],
    "objects": X.astype(object),
    "complex": X.astype(complex),
    "list": X.tolist(),
    "frame": pd.DataFrame(X, columns=list("abc")),
    "subclass": X.view(Marked),
    "csr": sp.csr_array(X),
    "csr matrix": sp.csr_matrix(X.astype(np.float32)),
    "csr of whole numbers": sp.csr_array(np.rint(9 * X).astype(int)),
    "csr, wide indices": sp.csr_array((X.ravel(), np.tile(np.arange(3), 40), 3 * np.arange(41)), shape=X.shape),
    "csr, a NaN": sp.csr_array(changed(np.nan)),
    "csr, an infinity": sp.csr_array(changed(np.inf)),
    "csr, too few columns": sp.csr_array(X[:, :2]),
    "csr, no rows": sp.csr_array(X[:0]),
    "csr, every value zero": sp.csr_array((40, 3)),
    "csr, unsorted": sp.csr_array((X.ravel(), np.tile([2, 0, 1], 40), 3 * np.arange(41)), shape=X.shape),
    "csr, twice a column": sp.csr_array((X.ravel(), np.tile([0, 2, 0], 40), 3 * np.arange(41)), shape=X.shape),
    "csc": sp.csc_array(X),
    "matrix": X.view(np.matrix),
    "Gram": RBF(gamma=1.0)(X),
    "csr Gram": sp.csr_array(RBF(gamma=1.0)(X)),
}
TARGETS = {
    "labels": Y,
    "bytes": Y.astype(np.uint8),
    "booleans": Y.astype(bool),
    "floats": Y.astype(float),
    "strings": np.array(["no", "yes"])[Y],
    "objects": np.array(["no", "yes"], dtype=object)[Y],
    "a class never seen": Y + 1,
    "numbers": NUMBERS,
    "numbers in single precision": NUMBERS.astype(np.float32),
    "a NaN": np.where(np.arange(40) == 3, np.nan, NUMBERS),
    "too few": Y[:39],
    "a column": Y[:, None],
    "two columns": np.stack([Y, Y], axis=1),
    "every second of more": np.repeat(Y, 2)[::2],
    "list": Y.tolist(),
    "series": pd.Series(Y),
    "None": None,
}


def shown(machine):
    """What a machine is, as far as it shows."""
    parts = [sorted(vars(machine))]
    for name in ("support_", "dual_coef_", "coef_", "classes_", "mistakes_", "n_rounds_", "n_features_in_"):
        value = getattr(machine, name, None)
        parts.append(value.tolist() if isinstance(value, np.ndarray) else value)
    return parts


def outcome(machine, call):
    """What comes of a call: an error or a value, what is warned of, and what the machine then is."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            value = call(machine)
        except Exception as error:
            value = (type(error), str(error))
    value = pickle.dumps(value) if isinstance(value, np.ndarray) else value if isinstance(value, tuple) else None
    return value, [(w.category, str(w.message)) for w in heard], shown(machine)


@functools.cache
def pickled(name):
    return pickle.dumps(MACHINES[name]())


def made(name):
    """A machine of one's own; it is fitted once."""
    return pickle.loads(pickled(name))


def both_ways(monkeypatch, name, call):
    light = outcome(made(name), call)
    monkeypatch.setattr("onkel.estimators.base.input._is_plain", lambda *given: False)
    monkeypatch.setattr("onkel.estimators.online.estimator.are_labels", lambda y: False)
    return light, outcome(made(name), call)


METHODS = ("predict", "decision_function", "score")


# Pairwise: every machine with every kind of rows, since what is plain depends on both; the methods share one check.
@grouped("name, rows, method", pairwise(list(MACHINES), list(ROWS), METHODS))
def test_what_is_asked_is_answered_as_if_it_had_been_checked(name, rows, method, monkeypatch):
    machine = made(name)
    method = method if hasattr(machine, method) else "predict"
    more = (NUMBERS if is_regressor(machine) else Y,) if method == "score" else ()
    light, heavy = both_ways(monkeypatch, name, lambda machine: getattr(machine, method)(ROWS[rows], *more))
    assert light == heavy


GIVEN = [(rows, "labels") for rows in ROWS] + [("plain", y) for y in TARGETS]


@grouped("name, rows, target", [(name, *given) for name in MACHINES if name not in NOT_ONLINE for given in GIVEN])
def test_what_is_learned_is_learned_as_if_it_had_been_checked(name, rows, target, monkeypatch):
    y = TARGETS[target]
    if target == "labels" and name == "strings":
        y = TARGETS["strings"]
    if target == "labels" and name == "NormaRegressor":
        y = NUMBERS
    light, heavy = both_ways(monkeypatch, name, lambda machine: machine.partial_fit(ROWS[rows], y))
    assert light == heavy


@pytest.mark.parametrize("name", [name for name in MACHINES if name not in (*NOT_ONLINE, "names", "not fitted")])
def test_plain_arrays_are_not_checked_twice(name, monkeypatch):
    machine = made(name)
    y = TARGETS["strings"] if name == "strings" else NUMBERS if is_regressor(machine) else Y

    def refuse(*args, **kwargs):
        raise AssertionError("scikit-learn was asked")

    monkeypatch.setattr("onkel.estimators.base.input.validate_data", refuse)
    machine.partial_fit(X, y).predict(X)
    machine.partial_fit(sp.csr_array(X), y).predict(sp.csr_array(X))
    with pytest.raises(AssertionError, match="scikit-learn was asked"):
        machine.predict(X.tolist())
