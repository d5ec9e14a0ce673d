"""What the batch support vector machines refuse, with which message, and that a refused call changes nothing."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from contract.bad_calls import BAD_LABELS, BAD_NUMBERS, BAD_X, BAD_Y, with_one
from sklearn.exceptions import NotFittedError

from onkel import SVC, SVR, OneClassSVM
from onkel.errors import GramError, KindError
from onkel.kernels import RBF

ALL = [SVC, SVR, OneClassSVM]
every = pytest.mark.parametrize("cls", ALL)


def data(cls, n=20):
    """Two features, and as many targets; for one class there are none."""
    X = np.random.default_rng(0).normal(size=(n, 2))
    return X, None if cls is OneClassSVM else (np.arange(n) % 2).astype(int if cls is SVC else float)


BAD_DATA = [
    *((cls, *case) for cls in ALL for case in BAD_X.items()),
    *((cls, *case) for cls in (SVC, SVR) for case in BAD_Y.items()),
    *((SVC, *case) for case in BAD_LABELS.items()),
    *((SVR, *case) for case in BAD_NUMBERS.items()),
]


@pytest.mark.parametrize(("cls", "name", "case"), BAD_DATA, ids=[f"{cls.__name__}-{name}" for cls, name, _ in BAD_DATA])
def test_bad_data_is_refused_and_changes_nothing(cls, name, case):
    X, y = data(cls)
    spoil, message = case
    fresh, machine = cls(), cls().fit(X, y)
    before = pickle.dumps(machine)
    for each in (fresh, machine):
        with pytest.raises((ValueError, TypeError), match=message):
            each.fit(*spoil(X, y))
    assert vars(fresh) == vars(cls())
    assert pickle.dumps(machine) == before


BAD_CALLS = {
    "no weight": (
        lambda m, X, y: m.fit(X, y, sample_weight=np.zeros(len(X))),
        "zero or negative weights",
    ),
    "too few weights": (lambda m, X, y: m.fit(X, y, sample_weight=[1.0, 2.0]), "sample_weight.shape"),
    "infinite weight": (lambda m, X, y: m.fit(X, y, sample_weight=np.full(len(X), np.inf)), "sample_weight.*infinity"),
    "predict width": (lambda m, X, y: m.predict(np.c_[X, X]), "X has 4 features, but .* is expecting 2"),
    "predict nan": (lambda m, X, y: m.predict(with_one(np.nan, X)), "Input X contains NaN"),
}


@every
@pytest.mark.parametrize("case", BAD_CALLS.values(), ids=BAD_CALLS)
def test_a_call_that_is_refused_says_why_and_changes_nothing(cls, case):
    X, y = data(cls)
    call, message = case
    machine = cls().fit(X, y)
    before = pickle.dumps(machine)
    with pytest.raises(ValueError, match=message):
        call(machine, X, y)
    assert pickle.dumps(machine) == before


BAD_PARAMETERS = [
    *((cls, params, message) for cls in ALL for params, message in [
        ({"tol": 0.0}, "tol must be a finite number > 0; got 0"),
        ({"cache_size": 0}, "cache_size must be a finite number > 0; got 0"),
        ({"max_iter": "many"}, "max_iter must be"),
        ({"time_limit": -1.0}, "time_limit must be .* > 0; got -1.0. None is no limit"),
        ({"gamma": -0.5}, "gamma must be"),
        ({"kernel": "gaussian"}, "kernel must be"),
    ]),
    (SVC, {"C": 0.0}, "C must be a number > 0; got 0.0"),
    (SVR, {"C": -1.0}, "C must be a number > 0; got -1.0"),
    (SVR, {"epsilon": -0.1}, "epsilon must be a finite number >= 0; got -0.1"),
    (OneClassSVM, {"nu": 0.0}, "nu must be"),
    (OneClassSVM, {"nu": 1.5}, "nu must be"),
    (SVC, {"decision_function_shape": "pairs"}, "decision_function_shape must be 'ovr' or 'ovo'; got 'pairs'"),
    (SVC, {"class_weight": {7: 2.0}}, "class_weight"),
]  # fmt: skip


@pytest.mark.parametrize(("cls", "params", "message"), BAD_PARAMETERS)
def test_a_bad_parameter_is_refused_at_fit(cls, params, message):
    X, y = data(cls)
    machine = cls(**params)
    with pytest.raises((ValueError, TypeError), match=message):
        machine.fit(X, y)
    assert vars(machine) == vars(cls(**params))


@every
def test_a_precomputed_matrix_that_is_none_is_refused(cls):
    X, y = data(cls)
    K = RBF(gamma=0.5)(X)
    K[0, 1] += 0.3
    machine = cls(kernel="precomputed")
    with pytest.raises(GramError, match=r"must be symmetric; got .*K_ij and K_ji that differ by 0\.3.*\(K \+ K"):
        machine.fit(K, y)
    assert vars(machine) == vars(cls(kernel="precomputed"))
    with pytest.raises(ValueError, match="square"):
        machine.fit(K[:, :5], y)


@every
def test_nothing_is_predicted_before_fit(cls):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        cls().predict([[1.0, 2.0]])
    with pytest.raises(KindError, match="kernel must be"):
        cls(kernel=3).fit(*data(cls))
