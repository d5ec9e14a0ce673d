"""The state of a Projectron (`onkel.learners.projectron.learner`): everything it knows, as named values and arrays.

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

from onkel.kernels.rows_state import kernel_rows, rows_state
from onkel.kernels.vectors import GrowingRows
from onkel.learners.counts import COUNTS, count_settings, read_counts
from onkel.learners.ledger import Window
from onkel.learners.storage.support import grown
from onkel.states.state import LARGEST_COUNT, State

if TYPE_CHECKING:
    from onkel.learners.projectron.learner import ProjectingLearner

__all__ = ["read_state", "write_state"]

SIZES = (*COUNTS, "size")  # of the record
ERRORS = ("beta_error", "alpha_error")  # of the record

L_ = TypeVar("L_", bound="ProjectingLearner")
Floats = NDArray[np.float64]


def write_state(learner: ProjectingLearner) -> State:
    """The state of a learner, which shares no memory with it."""
    m, rows, record = len(learner), learner.slots.rows, learner.record
    settings: dict[str, Any] = {
        "kernel": learner.kernel,
        "eta": learner.eta,
        "budget": learner.budget,
        "aggressive": learner.aggressive,
        "projects": learner.projects,
        **learner.ledger.settings(),
        "growing": isinstance(rows, GrowingRows),
        **count_settings(record, (*SIZES, *ERRORS)),
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
    m = state.count("size")
    beta = state.array("beta", np.float64, (None, m))
    state.check(len(beta) > 0, "there must be an output")
    learner = cls(
        state.kernel(),
        len(beta),
        eta=state.setting("eta", float, at_least=0),
        budget=state.count("budget", at_least=max(1, m)) if state.has("budget") else None,
        aggressive=state.setting("aggressive", bool),
    )
    learner.projects = state.setting("projects", bool)
    read_counts(state, learner.record, SIZES)
    for name in ERRORS:
        setattr(learner.record, name, state.setting(name, float, at_least=0))
    learner.ledger = Window.of_state(state, "ledger/", len(beta), learner.n_seen)
    if m:
        _read_support(learner, state, beta)
    return learner


def _read_support(learner: ProjectingLearner, state: State, beta: Floats) -> None:
    """Fills the slots and the arrays of a learner whose record is that of the state."""
    m, rows = len(learner), kernel_rows(state, "support", learner.kernel)
    state.check(len(rows) == m, f"'support' must have {m} rows; got {len(rows)}")
    row_ids, L = state.indices("row_ids", LARGEST_COUNT, m), _triangle(state, "L", m)
    state.check((L.diagonal() > 0).all(), "the diagonal of 'L' must be positive")
    K_S = None if learner.K_S is None else _triangle(state, "K_S", m)
    deferred = state.optional_array("deferred", np.float64, (2, m))
    state.check(deferred is None or len(beta) == 1, "steps can be deferred with one output only")
    learner.slots.rows = grown(state, rows) if state.setting("growing", bool) else rows
    learner.make_room(m)
    learner.beta[:, :m], learner.slot_row_ids[:m], learner.L[:m, :m] = beta, row_ids, L
    if learner.K_S is not None and K_S is not None:
        learner.K_S[:m, :m] = K_S
    if deferred is not None:
        learner.deferred = np.zeros((2, len(learner.L)))
        learner.deferred[:, :m] = deferred


def _triangle(state: State, name: str, m: int) -> Floats:
    """A lower triangle (m, m) whose entries are stored row after row."""
    triangle = np.zeros((m, m))
    triangle[np.tri(m, dtype=bool)] = state.array(name, np.float64, (m * (m + 1) // 2,))
    return triangle
