"""The pass over a chunk in bounded memory, in Python: for rules and policies of which the core has no twin.

It is the twin of budget_pass in cpp/learn/budget.h, on the same arrays, and about a hundred times slower.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from onkel.learners.ledger import LEDGER
from onkel.learners.policies import Example, Memory, Policy
from onkel.learners.rules import Regularised, Rule, is_mistake, move_margin

__all__ = ["SMALL_SCALE", "python_pass"]

# Below this the common factor is multiplied into the weights and reset to 1. Weights are stored divided by it, and so
# must fit into a float32, in which the scores of float32 data are summed.
SMALL_SCALE = 1e-20

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def python_pass(
    rule: Rule,
    norma: Regularised | None,
    policy: Policy,
    memory: Memory,
    y: Floats,
    w: Floats,
    row_ids: Ints,
    entries: Ints,
    n_entries: Ints,
    F: Floats,
) -> None:
    """Learns from the examples of a chunk one by one, by any rule and policy.

    Given the targets y (b, outputs), the sample weights w (b,), the ids of the rows (b,), `memory`, which it updates,
    and room in the ledger (`Ledger.room_for`), where it enters the steps. Result: the scores F (b, outputs) of each
    example before it was learned.
    """
    ledger, record = entries.view(LEDGER)[:, 0], memory.record
    for i in range(len(y)):
        eta = norma.rate(record.n_seen + 1) if norma else 0.0
        size = memory.size
        past = 0.0 if memory.base is None else memory.base[i] * memory.support_scale
        f = memory.coef[:, :size] @ memory.K[i, :size].astype(np.float64)
        F[i] = memory.scale * (past + f) + memory.offset
        steps = np.empty(len(F[i]))
        for o in range(len(steps)):
            moving = (eta, memory.margin[o]) if norma else ()
            step = rule.step(F[i, o], y[i, o], float(memory.K_chunk[i, i]), w[i], *moving, **rule.values)
            steps[o] = step
            record.n_mistakes += rule.signs and bool(is_mistake(F[i, o], y[i, o]))
            record.n_updates += bool(step != 0)
            if norma and norma.intercept:
                memory.offset[o] += step
            if norma and norma.nu is not None:
                margin, outside = memory.margin[o], step != 0
                memory.margin[o] = move_margin(margin, outside, eta * w[i], norma.nu, widens=rule.widens)
        record.add(1, row_ids[i])
        if norma:
            memory.scale *= 1 - eta * norma.lam
        if memory.scale < SMALL_SCALE:
            memory.fold_scale()
        if steps.any():
            policy.take(memory, Example(i, steps, F[i], y[i], float(w[i])))
            if memory.scale < SMALL_SCALE:
                memory.fold_scale()
            for o in np.flatnonzero(steps).tolist():  # with what the policy has added to them
                ledger[n_entries[0]] = record.n_seen, row_ids[i], o, steps[o]
                n_entries[0] += 1
