"""The compiled core refuses arrays of LASVM that do not fit each other, and numbers that are out of range."""

from __future__ import annotations

import numpy as np
import pytest

from onkel._core import _native
from onkel.learners.lasvm.learner import POSITION, TAKEN
from onkel.learners.lasvm.solution import OUTPUT, SLOT, LasvmSolution
from onkel.learners.storage.kernel_rows import PLACE


def solution_arrays(c=2, cap=80):
    """The arguments of lasvm_solution."""
    arrays = {name: np.zeros((c, cap)) for name in ("alpha", "gradient", "can_grow", "can_shrink")}
    arrays |= {name: np.zeros((c, cap), dtype=np.int8) for name in ("sign", "listed")}
    arrays |= {"zeros": np.zeros((c, cap), dtype=np.int64), "freed": np.zeros(cap, dtype=np.int64)}
    for name, struct, count in (("outputs", OUTPUT, c), ("slots", SLOT, cap)):
        arrays[name] = np.zeros(count * struct.itemsize, dtype=np.uint8)
    return arrays


@pytest.mark.parametrize("name", sorted(set(solution_arrays()) - {"alpha"}))
def test_the_core_refuses_a_solution_whose_arrays_do_not_fit(name):
    arrays = solution_arrays()
    _native.lasvm_solution(_native.LasvmRecord(), **arrays)
    short = np.ascontiguousarray(arrays[name][..., :-1])
    with pytest.raises(ValueError, match=rf"lasvm_solution: {name} must have shape"):
        _native.lasvm_solution(_native.LasvmRecord(), **arrays | {name: short})


def pass_arguments(b=3):
    """The arguments of lasvm, for a chunk of b rows."""
    solution = LasvmSolution(2, 64)
    cap, places = solution.capacity, 8
    return solution, {
        "solution": solution.core,
        "tol": 1e-3,
        "rows": np.zeros((places, cap)),
        "places": np.full(places, -1, dtype=PLACE).view(np.uint8),
        "place_of": np.full(cap, -1),
        "area": 4,
        "clock": np.zeros(1, dtype=np.int64),
        "K_chunk": np.eye(b),
        "taken": np.zeros(b, dtype=TAKEN).view(np.uint8),
        "position": np.zeros(1, dtype=POSITION).view(np.uint8),
    }


WRONG = {
    "rows": lambda a: a["rows"][:, :-1].copy(),
    "places": lambda a: a["places"][:-1],
    "place_of": lambda a: a["place_of"][:-1],
    "area": lambda a: 9,
    "clock": lambda a: np.zeros(2, dtype=np.int64),
    "K_chunk": lambda a: np.zeros((3, 2)),
    "taken": lambda a: a["taken"][:-1],
    "position": lambda a: a["position"][:-8],
}


@pytest.mark.parametrize("name", WRONG)
def test_the_core_refuses_kernel_rows_and_chunks_that_do_not_fit(name):
    _, arguments = pass_arguments()
    _native.lasvm(**arguments)
    with pytest.raises(ValueError, match=rf"lasvm: {name} must"):
        _native.lasvm(**arguments | {name: WRONG[name](arguments)})


def test_the_core_refuses_numbers_that_are_out_of_range():
    solution, arguments = pass_arguments()
    with pytest.raises(ValueError, match="lasvm: place_of must hold places, or -1"):
        _native.lasvm(**arguments | {"place_of": np.full(solution.capacity, 8)})
    with pytest.raises(ValueError, match="lasvm: a chunk must have at most `area` rows"):
        _native.lasvm(**arguments | {"area": 2})
    bound = _native.lasvm(**arguments)
    with pytest.raises(ValueError, match=r"Lasvm.end_chunk: open must be between 4 and 8; got 9"):
        bound.end_chunk(9, 1)
    solution.record.n_slots = solution.capacity - 2  # no room for three more
    with pytest.raises(ValueError, match=r"Lasvm.finish: n_slots must be between 0 and 77; got 78"):
        bound.finish(1)
    position = arguments["position"].view(POSITION)
    solution.record.n_slots, position["phase"], position["slot"] = 5, 2, 5
    with pytest.raises(ValueError, match=r"Lasvm.finish: position.slot"):
        bound.finish(1)


@pytest.mark.parametrize("name", ["targets", "box", "row_ids", "kept_in", "scores", "steps"])
def test_process_refuses_arrays_that_do_not_fit_the_chunk(name):
    _, arguments = pass_arguments()
    bound = _native.lasvm(**arguments)
    given = {"targets": np.ones((3, 2)), "box": np.ones(3), "row_ids": np.arange(3), "kept_in": np.full(3, -1)}
    given |= {"scores": np.zeros((3, 2)), "steps": np.zeros((3, 2))}
    with pytest.raises(ValueError, match=rf"Lasvm.process: {name} must have shape"):
        bound.process(**given | {name: given[name][:2]}, work=1)
    with pytest.raises(ValueError, match=r"Lasvm.process: kept_in must hold slots, or -1"):
        bound.process(**given | {"kept_in": np.full(3, 80)}, work=1)
    assert bound.process(**given, work=1 << 20) == -1


def test_a_solution_is_copied_only_into_one_of_as_many_outputs_with_room():
    small, large, other = LasvmSolution(2, 64), LasvmSolution(2, 200), LasvmSolution(3, 64)
    with pytest.raises(ValueError, match=r"LasvmSolution.assign: both must have the same number of outputs"):
        other.core.assign(small.core)
    large.record.n_slots = 150
    with pytest.raises(ValueError, match=r"LasvmSolution.assign: n_slots must be between 0 and 80; got 150"):
        small.core.assign(large.core)
