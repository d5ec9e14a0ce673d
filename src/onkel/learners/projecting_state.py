"""The state of a Projectron (`onkel.learners.projecting`): everything it knows, as named values and arrays.

    settings   kernel, eta, budget, aggressive; the numbers of the record; window and ledger_total
    arrays     beta (outputs, m), L, row_ids (m,), ledger/round and so on; the support vectors as the part "support"
               deferred (2, m), while steps are deferred; K_S, if the kernel takes a Gram matrix

Of L and K_S, which are lower triangles, the rows are stored one after the other up to the diagonal, m (m + 1) / 2
numbers. Spare room and what can be computed again are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from onkel._core.transaction import Transaction
from onkel.kernels.vectors import GrowingRows
from onkel.learners.ledger import Window
from onkel.models.rows_state import rows_from_state, rows_state
from onkel.models.scorer import check_arrays
from onkel.models.state import State

if TYPE_CHECKING:
    from onkel.learners.projecting import ProjectingLearner

__all__ = ["read_state", "write_state"]

COUNTERS = ("n_seen", "n_mistakes", "n_updates", "next_row_id", "size")  # of the record
ERRORS = ("beta_error", "alpha_error")  # of the record

L_ = TypeVar("L_", bound="ProjectingLearner")


def write_state(learner: ProjectingLearner) -> State:
    """The state of a learner, which shares no memory with it."""
    m, rows, record = len(learner), learner.slots.rows, learner.record
    settings: dict[str, Any] = {
        "kernel": learner.kernel,
        "eta": learner.eta,
        "budget": learner.budget,
        "aggressive": learner.aggressive,
        "projects": learner.projects,
        "window": learner.ledger.size,
        "ledger_total": len(learner.ledger),
        "growing": isinstance(rows, GrowingRows),
        **{name: getattr(record, name) for name in (*COUNTERS, *ERRORS)},
    }
    arrays = {
        "beta": learner.beta[:, :m].copy(),
        "L": learner.L[:m, :m][np.tri(m, dtype=bool)],
        "row_ids": learner.slot_row_ids[:m].copy(),
        **learner.ledger.arrays("ledger/"),
    }
    if learner.K_S is not None:
        arrays["K_S"] = learner.K_S[:m, :m][np.tri(m, dtype=bool)]
    if learner.deferred is not None and record.beta_error > 0:
        arrays["deferred"] = learner.deferred[:, :m].copy()
    state = State(learner.KIND, learner.VERSION, settings, arrays)
    return state if rows is None else state.with_part("support", rows_state(rows))


def read_state(cls: type[L_], state: State) -> L_:
    """The learner of a state; it learns on exactly as the one that gave it."""
    state.expect(cls.KIND, cls.VERSION)
    beta = state.array("beta")
    learner = cls(
        state.kernel(),
        len(beta),
        eta=state.setting("eta", float),
        budget=None if state.settings["budget"] is None else state.setting("budget", int),
        aggressive=state.setting("aggressive", bool),
    )
    learner.projects = state.setting("projects", bool)
    for name in COUNTERS:
        setattr(learner.record, name, state.setting(name, int))
    for name in ERRORS:
        setattr(learner.record, name, state.setting(name, float))
    total = state.setting("ledger_total", int)
    learner.ledger = Window.of_arrays(state.arrays, "ledger/", state.setting("window", int), total)
    if len(learner):
        _read_support(learner, state)
    return learner


def _read_support(learner: ProjectingLearner, state: State) -> None:
    """Fills the slots and the arrays of a learner whose record is that of the state."""
    m, rows = len(learner), rows_from_state(state.part("support"))
    beta, row_ids, deferred = state.array("beta"), state.array("row_ids"), state.arrays.get("deferred")
    check_arrays(state, beta=(beta, (len(beta), m)), row_ids=(row_ids, (m,)))
    check_arrays(state, row_ids=(row_ids, (len(rows),)))
    learner.make_room(m)
    learner.beta[:, :m], learner.slot_row_ids[:m] = beta, row_ids
    for name, triangle in (("L", learner.L), ("K_S", learner.K_S)):
        if triangle is not None:
            packed: NDArray[np.float64] = state.array(name)
            check_arrays(state, **{name: (packed, (m * (m + 1) // 2,))})
            triangle[:m, :m][np.tri(m, dtype=bool)] = packed
    if deferred is not None:
        check_arrays(state, deferred=(deferred, (2, m)))
        learner.deferred = np.zeros((2, len(learner.L)))
        learner.deferred[:, :m] = deferred
    if state.setting("growing", bool):
        with Transaction() as change:
            learner.slots.put(np.arange(m), rows, change)
    else:
        learner.slots.rows = rows
