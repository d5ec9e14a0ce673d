"""What every estimator refuses: the message says what was expected and what came; the estimator is left as it was."""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import pickle
import signal

import numpy as np
import pytest
from cases import grouped
from contract.bad_calls import (
    BAD_BUDGETS,
    BAD_CALLS,
    BAD_CLASSES,
    BAD_EPOCHS,
    BAD_KERNELS,
    BAD_LABELS,
    BAD_NUMBERS,
    BAD_ONLINE_CALLS,
    BAD_PARAMETERS,
    BAD_SHAPES,
    BAD_SOLVERS,
    BAD_SVM_CALLS,
    BAD_TARGETS,
    BAD_X,
    BAD_Y,
)
from contract.registered import (
    CLASSIFIERS,
    EVERY,
    ONE_TARGET,
    ONLINE,
    ONLINE_CLASSIFIERS,
    ONLINE_REGRESSORS,
    ONLINE_WITH_KERNEL,
    REGRESSORS,
    SVMS,
    WITH_KERNEL,
    WITH_TARGETS,
    Refusing,
    assert_same,
    data,
    each,
    each_online_classifier,
    has,
    in_small_parts,
    learn_each,
    new,
    numbers_of,
    part,
    shown,
    state,
)
from pairwise import pairwise
from sklearn.exceptions import NotFittedError

from onkel import Projectron
from onkel.errors import InputError, KindError, ParameterError, ValuesError
from onkel.kernels import Custom

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


@functools.cache
def pickled(cls):
    """A fitted estimator; each test takes a copy of its own."""
    return pickle.dumps(new(cls).fit(*data(cls)))


def fitted(cls):
    return pickle.loads(pickled(cls))


def ways_to_learn(cls):
    return ("fit", "partial_fit") if cls in ONLINE else ("fit",)


@contextlib.contextmanager
def in_time():
    """A call that never ends fails, too."""

    def late(*args):
        raise TimeoutError("the call did not end within 5 seconds")

    before = signal.signal(signal.SIGALRM, late) if hasattr(signal, "SIGALRM") else None
    if before is not None:
        signal.setitimer(signal.ITIMER_REAL, 5.0)
    try:
        yield
    finally:
        if before is not None:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, before)


def named(tables):
    """(class, name, what comes), from pairs of classes and cases by name."""
    return [(cls, name, case) for classes, cases in tables for cls in classes for name, case in cases.items()]


# ---------------------------------------------------------------- data

BAD_DATA = named(
    [
        (EVERY, BAD_X),
        (WITH_TARGETS, BAD_Y),
        (ONE_TARGET, BAD_SHAPES),
        (CLASSIFIERS, BAD_LABELS),
        (REGRESSORS, BAD_NUMBERS),
    ],
)


@grouped("cls, name, case", BAD_DATA)
def test_bad_data_is_refused_and_changes_nothing(cls, name, case):
    X, y = data(cls)
    spoil, message = case
    machine, fresh = fitted(cls), new(cls)
    visible, before = shown(machine, X), state(machine)
    for learn in ways_to_learn(cls):
        with pytest.raises((ValueError, TypeError), match=message):
            getattr(machine, learn)(*spoil(X, y))
        assert shown(machine, X) == visible
        assert state(machine) == before
        with pytest.raises((ValueError, TypeError), match=message):
            getattr(fresh, learn)(*spoil(X, y))
        assert vars(fresh) == vars(new(cls))


# ---------------------------------------------------------------- calls

REFUSED = named(
    [
        (EVERY, BAD_CALLS),
        (ONLINE, BAD_ONLINE_CALLS),
        (SVMS, BAD_SVM_CALLS),
        (ONLINE_CLASSIFIERS, BAD_CLASSES),
        (ONLINE_REGRESSORS, BAD_TARGETS),
    ]
)


@grouped("cls, name, case", REFUSED)
def test_a_call_that_is_refused_says_why_and_changes_nothing(cls, name, case):
    X, y = data(cls)
    call, error, message = case
    machine = fitted(cls)
    visible, before = shown(machine, X), state(machine)
    with pytest.raises(error, match=message), in_time():
        call(machine, X, y)
    assert shown(machine, X) == visible
    assert state(machine) == before


# ---------------------------------------------------------------- parameters

# Parameters that take any value, and those whose values depend on others or on the data and have tests of their own.
TAKE_ANY = {"class_weight", "random_state", "shuffle", "verbose", "warm_start"}
DEPEND = {"gamma", "degree", "coef0", "centers", "scoring"}


def of_no_use(cls):
    """For each parameter what no number and no choice can be, and for numbers NaN."""
    for name, parameter in inspect.signature(cls).parameters.items():
        if name in TAKE_ANY | DEPEND or isinstance(parameter.default, bool):
            continue
        yield {name: "nonsense"}, (KindError, ParameterError), f"{name} must be .*; got 'nonsense'"
        if isinstance(parameter.default, float):
            yield {name: math.nan}, ParameterError, f"{name} must be .*; got nan"


BAD = [
    *((cls, *case) for cls in EVERY for case in of_no_use(cls)),
    *((cls, *case) for cls in WITH_KERNEL for case in BAD_KERNELS),
    *((cls, *case) for cls in ONLINE for case in BAD_EPOCHS),
    *((cls, *case) for cls in ONLINE if has(cls, "budget") for case in BAD_BUDGETS),
    *((cls, *case) for cls in SVMS for case in BAD_SOLVERS),
    *((cls, *case) for cls in EVERY for case in BAD_PARAMETERS.get(cls.__name__, [])),
]


@grouped("cls, params, error, message", BAD)
def test_a_parameter_that_cannot_be_is_refused_by_name_and_a_fitted_machine_stays_so(cls, params, error, message):
    X, y = data(cls)
    for learn in ways_to_learn(cls):
        fresh = new(cls, **params)
        with pytest.raises(error, match=message):
            getattr(fresh, learn)(X, y)
        assert vars(fresh) == vars(new(cls, **params))
    if cls in ONLINE:
        fresh = new(cls, **params)
        with pytest.raises(error, match=message):
            fresh.learn_one(X[0], part(y, 0))
        assert vars(fresh) == vars(new(cls, **params))
    machine = fitted(cls)
    visible = shown(machine, X)
    machine.set_params(**params)
    for learn in ("fit",) if "kernel" in params else ways_to_learn(cls):  # a stream keeps the kernel that it has
        with pytest.raises(error, match=message):
            getattr(machine, learn)(X + 1.0, y)
    machine.set_params(**{name: getattr(new(cls), name) for name in params})
    assert shown(machine, X) == visible


# ---------------------------------------------------------------- classes


@each_online_classifier
def test_balanced_classes_need_all_the_data(cls):
    X, y = data(cls)
    message = r"class_weight='balanced' needs all the data.*Give a dict \{class: weight\}"
    with pytest.raises(ParameterError, match=message):
        new(cls, class_weight="balanced").partial_fit(X, y)
    machine = new(cls, class_weight="balanced").fit(X, y)
    before = state(machine)
    for call in (lambda: machine.partial_fit(X, y), lambda: machine.learn_one(X[0], 0)):
        with pytest.raises(ParameterError, match=message):
            call()
        assert state(machine) == before


@each_online_classifier
@pytest.mark.parametrize("classes", [[], [1], ["a", "a"]])
def test_fewer_than_two_classes_cannot_be_all_of_them(cls, classes):
    X, y = data(cls)
    machine = new(cls)
    with pytest.raises(InputError, match="classes must name at least two classes; got "):
        machine.partial_fit(X, y, classes=classes)
    assert vars(machine) == vars(new(cls))


@each_online_classifier
def test_a_first_chunk_with_a_class_that_was_not_named_leaves_nothing_behind(cls):
    X, y = data(cls, classes=3)
    machine = new(cls)
    with pytest.raises(InputError, match=r"classes known from the start, \[.*\]; got 2.*partial_fit\(classes=…\)"):
        machine.partial_fit(X, y, classes=[0, 1])
    assert vars(machine) == vars(new(cls))
    assert machine.predict_one(X[0]) is None
    machine.partial_fit(X, y, classes=[0, 1, 2])
    assert machine.classes_.tolist() == [0, 1, 2]


@each_online_classifier
def test_labels_of_two_kinds_are_refused_however_late(cls):
    X, y = data(cls)
    machine = new(cls).partial_fit(X, y)
    visible, before = shown(machine, X), state(machine)
    with pytest.raises(KindError, match="y must hold labels of one kind; got 'no' after 0"):
        machine.partial_fit(X, np.array(["no", "yes"])[y])
    with pytest.raises(KindError, match="y must hold labels of one kind; got 'yes' after 0"):
        machine.learn_one(X[0], "yes")
    assert shown(machine, X) == visible
    assert state(machine) == before


# ---------------------------------------------------------------- too early


@each
def test_before_any_learning_there_is_no_prediction(cls):
    X, _ = data(cls)
    machine = new(cls)
    for name in ("predict", "decision_function", "score_samples"):
        if hasattr(cls, name):
            with pytest.raises(NotFittedError, match="not fitted yet"):
                getattr(machine, name)(X)
    if cls in ONLINE:
        with pytest.raises(NotFittedError, match="not fitted yet"):
            machine.snapshot()
        assert machine.predict_one(X[0]) is None
        assert machine.predict_one({"a": 1.0}) is None


@each
def test_before_any_learning_what_was_learned_is_not_there_and_says_so(cls):
    machine, learned = new(cls), fitted(cls)
    of_fits = [name for name in dir(learned) if name.endswith("_") and not name.startswith("_")]
    assert len(of_fits) > 6
    for name in of_fits:
        assert not hasattr(machine, name), name
        if isinstance(getattr(cls, name, None), property) and name != "coef_":  # with a linear kernel only
            with pytest.raises(NotFittedError, match="not fitted yet"):
                getattr(machine, name)


# ---------------------------------------------------------------- a kernel without a value


@pytest.mark.parametrize(("cls", "classes", "raises"), pairwise(ONLINE_WITH_KERNEL, [2, 3], [True, False]))
def test_a_kernel_that_fails_on_a_later_row_leaves_the_machine_as_it_was(cls, classes, raises, monkeypatch):
    in_small_parts(monkeypatch, 4)
    X, y = data(cls, classes=classes)
    first, later = part(y, slice(30)), part(y, slice(30, None))
    first = first % 2 if cls in CLASSIFIERS else first
    more = -X[30:]  # all on the other side, so that the first parts err
    more[-1] = 1e6
    own = {"eta": 0.01} if cls is Projectron else {}
    machine, twin = (
        learn_each(new(cls, kernel=Custom(Refusing(1e5, raises)), **own).partial_fit(X[:30], first), X[:2], first)
        for _ in range(2)
    )
    visible, before = shown(machine, X), numbers_of(machine)
    failure = (
        pytest.raises(ZeroDivisionError, match="no value there")
        if raises
        else pytest.raises(ValuesError, match="must give finite values")
    )
    with failure:
        machine.partial_fit(more, later)
    assert shown(machine, X) == visible
    assert numbers_of(machine) == before
    again = y % 2 if cls in CLASSIFIERS else y
    for one in (machine, twin):
        learn_each(one, -X[:30], again).partial_fit(-X, again)
    assert_same(machine, twin, X)


@pytest.mark.parametrize("raises", [True, False])
@pytest.mark.parametrize("cls", ONLINE_WITH_KERNEL)
def test_a_kernel_that_fails_on_one_example_leaves_the_machine_as_it_was(cls, raises):
    X, y = data(cls)
    machine = learn_each(new(cls, kernel=Custom(Refusing(1e5, raises))), X, y)
    visible, before = shown(machine, X), numbers_of(machine)
    with pytest.raises((ZeroDivisionError, ValuesError), match=r"no value there|must give finite values"):
        machine.learn_one([1e6, 1e6], part(y, 0))
    assert shown(machine, X) == visible
    assert numbers_of(machine) == before
