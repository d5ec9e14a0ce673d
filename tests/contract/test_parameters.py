"""Parameters: set as a whole or not at all, refused clearly, and never without effect on what is being learned."""

from __future__ import annotations

import copy
import pickle
import typing

import numpy as np
import pytest
from cases import grouped
from contract.registered import (
    CLASSIFIERS,
    DETECTORS,
    EVERY,
    ONLINE,
    ONLINE_CLASSIFIERS,
    WITH_KERNEL,
    Refusing,
    data,
    each,
    each_online,
    has,
    learn_each,
    new,
    part,
    shown,
    state,
)
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import onkel
from onkel import OnlineSVC
from onkel.errors import KindError, ParameterError
from onkel.kernels import RBF, Custom

# ---------------------------------------------------------------- set_params


@each
def test_set_params_sets_all_or_nothing(cls):
    machine, before = new(cls), new(cls).get_params()
    other = {"max_iter": 9} if has(cls, "max_iter") else {"gcv": True}
    with pytest.raises(ValueError, match="Invalid parameter 'bogus'"):
        machine.set_params(**other, bogus=1)
    assert machine.get_params() == before
    if has(cls, "kernel"):
        with pytest.raises(ValueError, match="bogus"):
            machine.set_params(**other, kernel__gamma=2.0, bogus__a=1)
        assert machine.get_params() == before


# ---------------------------------------------------------------- parameters that a learner was built with

FREE = {"max_iter", "shuffle", "random_state", "class_weight", "warm_start", "verbose", "hypothesis", "finish_fit"}
OTHER = {
    "alpha": 0.4,
    "forgetting": 0.9,
    "kernel": "laplacian",
    "gamma": 0.123,
    "degree": 5,
    "coef0": 2.5,
    "budget": 7,
    "C": 3.0,
    "eta": 0.13,
    "lam": 0.3,
    "nu": 0.3,
    "rho": 0.9,
    "epsilon": 0.77,
    "learning_rate": 3.0,
    "tol": 0.5,
    "cache_size": 10,
}


def built_in(cls):
    names = set(cls().get_params(deep=False)) - FREE
    return sorted(names - {"cache_size"} if cls is onkel.KernelPerceptron else names)


def another(cls, name):
    """Another value of a parameter, in its range."""
    value = getattr(new(cls), name)
    if isinstance(value, bool):
        return not value
    choices = typing.get_args(typing.get_type_hints(cls.__init__)[name])
    words = [choice for choice in choices if isinstance(choice, str)]  # of a Literal
    return OTHER[name] if not words else next(word for word in words if word != value)


def started(cls, **params):
    X, y = data(cls)
    named = {"kernel": "rbf", "gamma": 0.5} if has(cls, "kernel") else {}
    return new(cls, **named, **params).partial_fit(X, y)


@pytest.mark.parametrize(("cls", "name"), [(cls, name) for cls in ONLINE for name in built_in(cls)])
def test_a_parameter_that_is_set_in_mid_stream_is_refused_by_the_next_call(cls, name):
    X, y = data(cls)
    machine = started(cls, warm_start=True)
    old, value = getattr(machine, name), another(cls, name)
    before = shown(machine, X)
    calls = [
        lambda: machine.partial_fit(X, y),
        lambda: machine.learn_one(X[0], part(y, 0)),
        lambda: machine.fit(X, y),
    ]
    for call in calls:
        for set_it in (lambda: machine.set_params(**{name: value}), lambda: setattr(machine, name, value)):
            set_it()
            with pytest.raises(ParameterError, match=rf"{name} was .* when learning began.*set_params\({name}="):
                call()
            machine.set_params(**{name: old})
            assert shown(machine, X) == before
    for copied in (copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m)), lambda m: cls().resume(m.snapshot())):
        twin = copied(machine.set_params(**{name: value}))
        with pytest.raises(ParameterError, match=f"{name} was"):
            twin.learn_one(X[0], part(y, 0))
        twin.set_params(**{name: old}).learn_one(X[0], part(y, 0))
    machine.set_params(**{name: old})
    learn_each(machine.partial_fit(X, y), X, y).fit(X, y)


@each_online
def test_a_cold_fit_starts_anew_with_other_parameters(cls):
    X, y = data(cls)
    for name in built_in(cls):
        value = another(cls, name)
        machine = started(cls).set_params(**{name: value}).fit(X, y)
        assert shown(machine, X) == shown(clone(machine).fit(X, y), X)
        machine.partial_fit(X, y).learn_one(X[0], part(y, 0))


@each_online
def test_parameters_of_the_calls_may_change_in_mid_stream(cls):
    X, y = data(cls)
    machine = started(cls)
    free = {"max_iter": 2, "shuffle": False, "random_state": 5, "warm_start": True}
    free |= {"class_weight": {0: 2.0}} if has(cls, "class_weight") else {}
    free |= {"hypothesis": "averaged"} if has(cls, "hypothesis") else {}
    machine.set_params(**free)
    learn_each(machine.partial_fit(X, y), X, y).fit(X, y)
    if has(cls, "kernel"):
        equal = new(cls, kernel=RBF(gamma=0.5)).partial_fit(X, y)
        equal.set_params(kernel__gamma=0.5).learn_one(X[0], part(y, 0))


def test_the_end_of_an_svm_is_refused_with_another_tol():
    X, y = data(OnlineSVC)
    machine = new(OnlineSVC).partial_fit(X, y).set_params(tol=0.1)
    with pytest.raises(ParameterError, match=r"tol was 0\.001 when learning began"):
        machine.finish()


# ---------------------------------------------------------------- class_weight

BAD_WEIGHTS = [
    ({0: np.inf}, ParameterError, r"class_weight\[0\] must be a finite number >= 0; got inf"),
    ({0: np.nan}, ParameterError, r"class_weight\[0\] must be a finite number >= 0; got nan"),
    ({1: -1.0}, ParameterError, r"class_weight\[1\] must be a finite number >= 0; got -1"),
    ({0: "much"}, KindError, r"class_weight\[0\] must be a finite number >= 0; got 'much'"),
    ({0: None}, KindError, r"class_weight\[0\] must be a finite number >= 0; got None"),
    ([1.0, 2.0], KindError, r"class_weight must be None, 'balanced' or a dict .*; got \[1.0, 2.0\]"),
    (np.ones(2), KindError, r"class_weight must be None, 'balanced' or a dict .*; got array"),
    ("heavy", ParameterError, r"class_weight must be None, 'balanced' or a dict .*; got 'heavy'"),
    ({"0": 2.0}, ParameterError, r"class_weight must name classes of y, \[0, 1\]; got the key '0'"),
    ({0: 1.0, 5: 2.0}, ParameterError, r"class_weight must name classes of y, \[0, 1\]; got the key 5"),
]


@grouped("cls, weights, error, message", [(cls, *case) for cls in CLASSIFIERS for case in BAD_WEIGHTS])
def test_class_weights_that_cannot_be_are_refused(cls, weights, error, message):
    X, y = data(cls)
    calls = [lambda m: m.fit(X, y)]
    if cls in ONLINE:
        calls.append(lambda m: m.partial_fit(X, y, classes=[0, 1]))
        if "key 5" not in message:  # a class that may come later
            calls += [lambda m: m.partial_fit(X[:1], y[:1]).partial_fit(X, y), lambda m: learn_each(m, X, y)]
            message = message.replace(r"\[0, 1\]", r"\[0(, 1)?\]")
    for call in calls:
        fresh = new(cls, class_weight=weights)
        with pytest.raises(error, match=message):
            call(fresh)
        assert vars(fresh).keys() == vars(new(cls)).keys()
    if cls in ONLINE:
        machine = new(cls).fit(X, y)
        before = state(machine)
        machine.set_params(class_weight=weights)
        for call in (lambda: machine.partial_fit(X, y), lambda: machine.learn_one(X[0], 0)):
            with pytest.raises(error, match=message):
                call()
        assert state(machine.set_params(class_weight=None)) == before


@pytest.mark.parametrize("cls", ONLINE_CLASSIFIERS)
def test_the_weight_of_a_class_that_comes_late_waits_for_it(cls):
    X, y = data(cls, classes=3)
    weighted, plain = new(cls, class_weight={2: 0.0}), new(cls)
    weighted.partial_fit(X[:2], y[:2]).partial_fit(X, y)
    kept = y < 2
    plain.partial_fit(X[:2], y[:2]).partial_fit(X[kept], y[kept])
    assert weighted.classes_.tolist() == [0, 1]
    np.testing.assert_allclose(weighted.decision_function(X), plain.decision_function(X), rtol=1e-12)


# ---------------------------------------------------------------- a search, and its random numbers


@pytest.mark.filterwarnings("ignore::Warning")  # of the candidates that failed
@pytest.mark.parametrize("cls", WITH_KERNEL)
def test_a_kernel_that_does_not_exist_fails_its_candidate_and_not_the_search(cls):
    X, y = data(cls)
    scoring = {"scoring": lambda machine, X, y=None: 1.0} if cls in DETECTORS else {}
    given = {"kernel": ["rbf", "gauss", 3], "degree": [3], "coef0": [0.0]}
    search = GridSearchCV(new(cls, kernel="rbf"), given, cv=2, error_score=np.nan, **scoring)
    search.fit(X, y)
    assert search.best_params_["kernel"] == "rbf"
    assert np.isnan(search.cv_results_["mean_test_score"]).tolist() == [False, True, True]


def beyond(X):
    """Points of which the last has no kernel value."""
    return np.r_[X[:-1], [[1e6, 1e6]]]


@pytest.mark.parametrize("cls", [cls for cls in EVERY if has(cls, "random_state")])
def test_a_refused_fit_does_not_advance_the_random_numbers(cls):
    X, y = data(cls)
    random = np.random.RandomState(0)
    kernel = {"kernel": Custom(Refusing(1e5, raises=True), psd=True)} if has(cls, "kernel") else {}
    bad = beyond(X) if kernel else np.where(X[-1] == X, np.nan, X)
    machine = new(cls, random_state=random, **kernel)
    drawn = [array.tolist() if isinstance(array, np.ndarray) else array for array in random.get_state()]
    for learn in ("fit", "partial_fit") if cls in ONLINE else ("fit",):
        for _ in range(2):  # a new one, and one that has learned
            with pytest.raises((ZeroDivisionError, ValueError)):
                getattr(machine, learn)(bad, y)
            now = [array.tolist() if isinstance(array, np.ndarray) else array for array in random.get_state()]
            assert now == drawn
            state_of_fit = random.get_state()
            machine.set_params(warm_start=True) if has(cls, "warm_start") else None
            machine.fit(X, y)
            random.set_state(state_of_fit)


def test_a_shallow_copy_checks_its_own_parameters():
    machine = onkel.Forgetron(gamma=1.0, budget=9).partial_fit([[0.0], [1.0]], [0, 1])
    twin = copy.copy(machine)
    twin.budget = 5
    machine.learn_one([2.0], 0)
    with pytest.raises(ParameterError, match="budget was 9 when learning began"):
        twin.learn_one([2.0], 0)
