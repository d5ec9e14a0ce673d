"""States of estimators that an enemy wrote: each is refused, or gives an estimator with which everything works.

A file may be written by somebody who computes its checksums anew, so that nothing in a state can be trusted. Here every
setting and every array of the states of all estimators is changed, dropped or renamed, and parts of two estimators are
put together. `from_state` must raise an error of onkel, or the estimator must predict, learn on and show all of its
attributes without any other kind of error.
"""

from __future__ import annotations

import random
import zlib
from collections.abc import Callable

import numpy as np
import pytest
import zoo
from contract.hostile import calls_of, use
from mutate import StateMutant, states, swapped, with_array, with_setting

import onkel
from onkel.errors import OnkelError
from onkel.states.state import State, from_state

FEW, MANY = 60, 4000  # mutants of each estimator
CASES = zoo.with_tags(without=("alike",))

each_case = pytest.mark.parametrize("name", CASES)


def state_of(name: str) -> State:
    return zoo.made(name).state()


def chosen(name: str, n: int, seed: int) -> list[StateMutant]:
    """Some of the mutants of the state of a case, at random."""
    rng = random.Random(zlib.crc32(name.encode()) + seed)
    others = rng.sample([other for other in CASES if other != name], 6)
    found = states(state_of(name), {other: state_of(other) for other in others})
    return rng.sample(found, min(n, len(found)))


def refused_or_works(make: Callable[[], State], name: str, what: str) -> None:
    try:
        made = type(zoo.made(name)).from_state(make())
    except OnkelError:
        return
    except Exception as error:
        raise AssertionError(f"{name}, {what}: from_state raised {type(error).__name__}") from error
    try:
        use(made, calls_of(CASES[name]))
    except Exception as error:
        raise AssertionError(f"{name}, {what}: the estimator raised {type(error).__name__}") from error


@each_case
def test_a_state_that_was_not_changed_gives_an_estimator_that_works(name):
    state = state_of(name)
    made = from_state(state)
    assert type(made) is type(zoo.made(name))
    assert made.state() == state
    use(made, calls_of(CASES[name]))


@each_case
def test_a_changed_state_is_refused_or_works(name):
    for what, make in chosen(name, FEW, 0):
        refused_or_works(make, name, what)


@pytest.mark.long
@each_case
def test_any_changed_state_is_refused_or_works(name):
    for what, make in chosen(name, MANY, 1):
        refused_or_works(make, name, what)


# ---------------------------------------------------------------- what no state may do


def refuses(state: State, words: str) -> None:
    with pytest.raises(OnkelError, match=words):
        from_state(state)


def test_parameters_that_a_class_does_not_have_are_refused():
    refuses(with_setting(state_of("SVC"), ("params", "kernels"), "rbf"), "parameters of SVC")
    refuses(
        with_setting(state_of("weights and a random state, not fitted"), ("params", "__class__"), "rbf"),
        "parameters of SVC",
    )
    refuses(with_setting(state_of("KernelPerceptron"), ("built_with", "random_state"), 0), "built_with")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"array": [1.0], "shape": [1], "dtype": "O"}, "plain dtype"),
        ({"array": ["x"], "shape": [1], "dtype": "<U1000000000"}, "plain dtype"),
        ({"array": ["x"], "shape": [1], "dtype": "<f8"}, "array of numbers"),
        ({"random": ["MT19937", [0] * 624, 10**9, 0, 0.0]}, "position"),
        ({"function": "os.system"}, "Custom kernel"),
        ({"anything": 1}, "must be a value"),
        (2**70, "64 bits"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_parameter_that_is_no_parameter_is_refused(value, words):
    refuses(with_setting(state_of("weights and a random state, not fitted"), ("params", "random_state"), value), words)


def test_lists_inside_of_lists_inside_of_lists_are_refused():
    value: object = 1.0
    for _ in range(100):
        value = {"list": [value]}
    refuses(with_setting(state_of("weights and a random state, not fitted"), ("params", "C"), value), "lists inside")


def test_a_learner_must_have_the_outputs_of_the_targets_and_the_columns_of_the_estimator():
    two, three = state_of("KernelPerceptron averaged"), state_of("KernelPerceptron")
    refuses(swapped(two, three, "learner"), "output")
    refuses(swapped(two, three, "targets"), "output")
    refuses(with_setting(two, ("columns", "settings", "n_features"), 5), "5 columns")
    refuses(with_setting(state_of("Perceptron"), ("columns", "settings", "n_features"), 2**30), "1073741824 features")
    refuses(swapped(state_of("Perceptron, named columns"), state_of("Perceptron"), "targets"), "3 output")


def test_a_learner_must_be_the_one_that_the_parameters_describe():
    state = state_of("Forgetron")
    refuses(swapped(state, state_of("PassiveAggressiveClassifier"), "learner"), "built with")
    refuses(swapped(state, state_of("Projectron"), "learner"), "learner/budgeted")
    refuses(with_setting(state, ("built_with", "budget"), 6), "built with")
    refuses(with_setting(state, ("built_with", "kernel"), onkel.kernels.Linear()), "kernel")


def test_a_kernel_on_columns_that_there_are_not_is_refused():
    state, kernel = state_of("KernelPerceptron"), onkel.kernels.RBF(gamma=0.5).on([7])
    for path in (("params", "kernel"), ("built_with", "kernel"), ("learner", "settings", "kernel")):
        state = with_setting(state, path, kernel)
    refuses(state, "columns below 2")


def test_no_memory_is_taken_because_a_number_says_so():
    refuses(with_setting(state_of("Perceptron, dicts"), ("columns", "settings", "n_features"), 2**40), "at most")
    many = with_array(state_of("KernelPerceptron"), "targets/found", np.arange(500_000))
    refuses(with_array(many, "targets/since", np.zeros(500_000, dtype=np.int64)), "500000 output")
    refuses(with_setting(state_of("PolynomialMap"), ("fitted", "settings", "degree"), 10**6), "at most")
    refuses(with_setting(state_of("PolynomialMap"), ("fitted", "settings", "degree"), 2**50), "degree")


def test_columns_of_dicts_must_have_different_names_and_ascending_places():
    state = state_of("Perceptron, dicts")
    names, places = state.arrays["columns/names"].copy(), state.arrays["columns/places"].copy()
    names[0] = names[1]
    refuses(with_array(state, "columns/names", names), "differ")
    refuses(with_array(state, "columns/places", places[::-1].copy()), "ascending")
    places[-1] = np.iinfo(np.int64).min  # the difference overflows
    refuses(with_array(state, "columns/places", places), "ascending")


def test_columns_of_a_data_frame_must_have_different_strings_as_names():
    for names in (["first", "first"], ["first", b"second"], ["first", None], ["first", []]):
        array = np.empty(2, dtype=object)
        array[:] = names
        refuses(with_array(state_of("SVC, named columns"), "columns/names", array), "name")


def test_labels_must_be_different_finite_and_of_one_kind():
    state = state_of("KernelPerceptron, sparse float32")
    for found in ([0.0, 1.0, np.nan], [0, 1, 1], [[0], [1], [2]]):
        refuses(with_array(state, "targets/found", np.array(found)), "different")
    refuses(with_array(state, "targets/found", np.array([0, "a", None], dtype=object)), "different")
    refuses(with_array(state_of("SVC"), "classes", np.array([1, 0])), "ascending")


def test_a_certificate_can_be_printed_or_is_refused():
    state = state_of("KernelPerceptron")
    refuses(with_setting(state, ("certificate", "bound"), None), "bound")
    refuses(with_setting(state, ("certificate", "form"), "a theorem"), "form")
    refuses(with_setting(state, ("certificate", "weight_ratio"), 1e200), "weight_ratio")
