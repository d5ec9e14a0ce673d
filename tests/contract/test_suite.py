"""The test suite keeps its own rules: pairs are covered, `make quick` knows its files, private state has one reader."""

from __future__ import annotations

import itertools
import re
import typing
from pathlib import Path

import pytest
import zoo
from contract.bad_calls import BAD_PARAMETERS
from contract.registered import EVERY
from pairwise import pairwise

from onkel import registry

NOT_ONLINE = [f"precomputed {name}" for name in ("perceptron", "Forgetron", "OnlineSVC", "Projectron")]  # Gram matrices

ROOT = Path(__file__).parents[2]
CONTRACT = ROOT / "tests" / "contract"
MAKEFILE = (ROOT / "Makefile").read_text("utf-8")


@pytest.mark.parametrize("sizes", [(3, 2, 2), (2, 2, 2, 2, 2), (12, 40, 3), (10, 5, 2, 2), (4, 4, 4), (1, 3, 2), (5,)])
def test_every_pair_of_values_is_in_a_pairwise_covering_which_is_small(sizes, monkeypatch):
    monkeypatch.delenv("ONKEL_FULL_PRODUCTS", raising=False)
    lists = [[(k, value) for value in range(size)] for k, size in enumerate(sizes)]
    rows = pairwise(*lists)
    for i, j in itertools.combinations(range(len(lists)), 2):
        assert {(row[i], row[j]) for row in rows} == set(itertools.product(lists[i], lists[j]))
    assert rows == pairwise(*lists)
    assert len(set(rows)) == len(rows)
    longest = sorted(sizes)[-2:]
    assert len(rows) <= longest[0] * longest[-1] + 4
    monkeypatch.setenv("ONKEL_FULL_PRODUCTS", "1")
    assert pairwise(*lists) == list(itertools.product(*lists))


def test_bad_parameters_are_those_of_estimators():
    assert BAD_PARAMETERS.keys() <= {cls.__name__ for cls in EVERY}


@pytest.mark.parametrize("cls", EVERY)
def test_the_zoo_has_a_form_for_every_choice_that_an_estimator_offers(cls):
    of_class = [one.new() for one in zoo.SPECIMENS.values() if one.estimator == cls.__name__]
    for name, hint in typing.get_type_hints(cls.__init__).items():
        choices = {choice for choice in typing.get_args(hint) if isinstance(choice, str)}  # of a Literal
        assert choices <= {getattr(one, name, None) for one in of_class if choices}, name


def test_every_specimen_goes_on_from_what_it_has_learned_if_it_is_online():
    online = {entry.name for entry in registry.estimators() if entry.online}
    told = [name for name, one in zoo.with_tags(without=("unfitted",)).items() if one.estimator in online]
    assert [name for name in told if not zoo.SPECIMENS[name].goes_on] == NOT_ONLINE


def test_make_quick_leaves_out_slow_files_of_the_contract_and_no_others():
    slow = re.search(r"^SLOW := \$\(addprefix tests/contract/test_,(.*)\)$", MAKEFILE, re.MULTILINE)
    assert slow
    assert [name for name in slow[1].split() if not (CONTRACT / f"test_{name}").exists()] == []
    assert "QUICK := $(filter-out $(SLOW),$(wildcard tests/contract/test_*.py))" in MAKEFILE


def test_private_state_of_estimators_is_read_in_one_module_of_the_contract():
    private = re.compile(r"\._(running|learner|labels|seen|fitted|draw)\b")
    readers = {path.name for path in CONTRACT.glob("*.py") if private.search(path.read_text("utf-8"))}
    assert readers - {Path(__file__).name} == {"registered.py"}
