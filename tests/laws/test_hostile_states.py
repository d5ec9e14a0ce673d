"""A state that somebody has tampered with is refused, or gives an object that works: never a crash or another error.

A file may be written by an enemy who recomputes its checksums, and the compiled core relies on sizes and indices.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import zoo
from hostile_states import REFUSED, ROOMS, states_of, try_out
from mutate import StateMutant, several_times, states

from onkel.registry import KINDS
from onkel.states.state import from_state

TRIED = 60  # mutants of each state in a short run
CASES = zoo.with_tags(without=("alike", "unfitted", "late"))

each_specimen = pytest.mark.parametrize("name", CASES)


def check(kind: str, mutant: StateMutant) -> None:
    what, make = mutant
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try_out(from_state(make()))
    except REFUSED:
        pass
    except Exception as error:
        raise AssertionError(f"{kind}, {what}: {type(error).__name__}: {error}") from error


def test_every_kind_of_model_decision_and_learner_is_tried():
    tried = {kind for name in CASES for kind in states_of(name)}
    assert tried == {kind for kind in KINDS if kind.startswith(ROOMS)}


@each_specimen
def test_a_state_that_was_changed_in_one_place_is_refused_or_works(name):
    for kind, state in states_of(name).items():
        try_out(from_state(state))
        found = states(state)
        for i in np.random.default_rng(len(name)).permutation(len(found))[:TRIED]:
            check(kind, found[i])


@pytest.mark.long
@each_specimen
def test_every_change_of_one_place_and_random_changes_of_several_are_refused_or_work(name):
    for kind, state in states_of(name).items():
        for mutant in states(state):
            check(kind, mutant)
        for seed in range(100):
            check(kind, several_times(state, seed, REFUSED))
