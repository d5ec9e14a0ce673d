"""The learner in bounded memory: an update rule, a budget policy, and slots for the support vectors.

A chunk of examples is learned in parts of at most `CHUNK` rows, and each part in three steps:

1. The kernel values of the part with the slots, and with itself, are computed at once.
2. With these values the examples are learned one by one: in the compiled core (cpp/learn/budget.h), or here if the
   core has no twin of the rule or of the policy.
3. The rows that entered a slot are copied into it.

The result does not depend on how a stream is cut into parts: a kernel value depends on its two rows only, and sums
over the slots are formed in the order of the slots.

Without a budget the slots are needed only while a part is learned. At its end the new support vectors are appended to
a growing support (`onkel.learners.support.Support`), whose share of the scores is computed in step 1 of every part.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native
from onkel.kernels import Kernel
from onkel.kernels.rows import Rows
from onkel.kernels.tiles import fill, fill_below
from onkel.learners.learner import ONE, as_targets, in_parts, parts_of
from onkel.learners.ledger import Window
from onkel.learners.policies import Example, Memory, Policy
from onkel.learners.rules import NATIVE, Regularised, Rule, epsilon_insensitive, move_margin
from onkel.learners.slots import Slots
from onkel.learners.support import Support

__all__ = ["BudgetedLearner"]

CHUNK = 512  # rows whose kernel values are computed at once
SMALL_SCALE = 1e-100  # below this the common factor is multiplied into the weights and reset to 1, before it underflows


class One(NamedTuple):
    """Arrays for one example, and the core's object that refers to them and to the learner's arrays.

    It must be made anew when the learner gets other arrays.
    """

    memory: Memory
    steps: NDArray[np.float64]
    native: _native.Budget32


class BudgetedLearner:
    """f(x) = scale · Σⱼ Aⱼ k(sⱼ, x) + b for each output, learned by a rule; the policy limits the support.

    `counts` holds the numbers of mistakes (y f ≤ 0) and of updates, over all outputs. `margin` and `offset` hold
    NORMA's margin (ρ or ε) and b, one of each per output.

    Parameters
    ----------
    kernel, n_outputs : the kernel, and the number of outputs.
    rule : how large a step is (`onkel.learners.rules`).
    policy : which support vector makes room, and the budget (`onkel.learners.policies`).
    norma : NORMA's regularisation and moving margin; None (default): the rule is not one of NORMA's.
    margin : the first value of every output's margin; default 0.
    seed : of the policy's random numbers, an integer ≥ 0; default 0.
    window : how many of the last updates the ledger keeps; default 1000.
    """

    def __init__(
        self,
        kernel: Kernel,
        n_outputs: int,
        rule: Rule,
        policy: Policy,
        *,
        norma: Regularised | None = None,
        margin: float = 0.0,
        seed: int = 0,
        window: int = 1000,
    ) -> None:
        self.kernel, self.rule, self.policy, self.norma = kernel, rule, policy, norma
        self._first_margin = margin
        slots = policy.budget or 0
        self.slots, self.grown = Slots(), Support(n_outputs)
        self.slot_row_ids = np.empty(slots, dtype=np.int64)  # the id of the row in each slot,
        self.entered = np.empty(slots, dtype=np.int64)  # and the round in which it entered
        self.coef = np.zeros((n_outputs, slots))
        self.k_ss = np.zeros(slots)
        self.K_slots: NDArray | None = None
        self.sq_norms = np.zeros(n_outputs)
        self.scalars = np.array([1.0, 1.0, 0.0, 0.0, 1.0])  # scale, spread, Q, M, φ: see policies.Memory
        self.places = np.zeros(2, dtype=np.int64)
        self.random = np.array([seed], dtype=np.uint64)
        self.margin, self.offset = np.full(n_outputs, margin), np.zeros(n_outputs)
        self.counts = np.zeros(2, dtype=np.int64)
        self.ledger, self.rounds = Window(window), 0
        self.model: Any = None  # the model that the estimator last made from this state
        self._settings = self._native_settings()
        self._one: One | None = None

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"_one": None}

    def _native_settings(self) -> tuple[Any, ...] | None:
        """Rule, policy and parameters as the core takes them; None if it has no twin of the rule or the policy."""
        code = NATIVE.get(self.rule.step)
        if code is None or self.policy.code is None:
            return None
        names = self.rule.step.__code__.co_varnames[: self.rule.step.__code__.co_argcount]
        given = dict(zip(names[4:], self.rule.params, strict=False))
        norma = self.norma or Regularised(0.0, 0.0, None, "constant", False)
        nu = np.nan if norma.nu is None else norma.nu
        parameters = (given.get("C", 1.0), given.get("epsilon", 0.0), norma.eta, norma.lam, nu)
        return code, self.policy.code, parameters, norma.schedule == "sqrt", norma.intercept

    # ---------------------------------------------------------------- the result of learning

    @property
    def n_outputs(self) -> int:
        return len(self.coef)

    def __len__(self) -> int:
        return int(self.places[0]) + len(self.grown)

    def support(self) -> tuple[Rows | None, NDArray[np.float64], NDArray[np.int64]]:
        """The support vectors (the oldest first), their weights (m, outputs), and the ids of their rows."""
        size = int(self.places[0])
        scale, spread = self.scalars[0], self.scalars[1]
        if self.policy.budget is None:
            return self.grown.all_rows(), scale * spread * self.grown.coef, self.grown.row_ids.copy()
        order = np.argsort(self.entered[:size])
        rows = None if self.slots.rows is None or size == 0 else self.slots.rows[order]
        return rows, np.ascontiguousarray(scale * self.coef[:, order].T), self.slot_row_ids[order]

    def scores(self, x: Rows) -> NDArray[np.float64]:
        """The scores of the rows, shape (n, outputs)."""
        out = np.zeros((len(x), self.n_outputs))
        size = int(self.places[0])
        if self.policy.budget is None:
            self.grown.add_scores(self.kernel, x, self.grown.coef, out)
            out *= self.scalars[1]
        elif size:
            assert self.slots.rows is not None
            self.kernel._add_scores(x, self.slots.rows, np.ascontiguousarray(self.coef[:, :size].T), out)
        out *= self.scalars[0]
        out += self.offset
        return out

    # ---------------------------------------------------------------- changes

    def change_outputs(self, output_map: NDArray[np.float64]) -> None:
        """Changes the number of outputs when a class appears.

        `output_map` (old outputs, new outputs): 1 copies an output, −1 mirrors it, a column of zeros starts one at 0.
        """
        self.grown.change_outputs(output_map)
        self.coef = np.ascontiguousarray(output_map.T @ self.coef)
        fresh = ~output_map.any(axis=0)
        self.margin = np.where(fresh, self._first_margin, self.margin @ np.abs(output_map))
        self.offset = self.offset @ output_map
        self.sq_norms = self.sq_norms @ np.abs(output_map)
        copies = np.abs(output_map).sum() / len(output_map)
        self.scalars[2:4] *= copies  # Q and M of the Forgetron: the mistakes of an output that is doubled count twice
        self.ledger = self.ledger.remapped(output_map)

    def add_features(self, n_features: int) -> None:
        """Increases the number of features to `n_features`; everything learned so far is 0 in the new ones."""
        self.slots.add_features(n_features)
        self.grown.add_features(n_features)
        self.model = None

    def savepoint(self) -> Any:
        """The present state, as `rollback` takes it.

        The kernel values of the slots with each other are not copied: after a rollback they are computed again.
        """
        K_slots, self.K_slots = self.K_slots, None
        savepoint, self.K_slots = parts_of(self), K_slots
        return savepoint

    def rollback(self, savepoint: Any) -> None:
        """Undoes all changes since the savepoint was made."""
        vars(self).update(savepoint)

    def end_epoch(self) -> None:
        """Without a budget, merges the support vectors that are the same row; slots may hold a row twice."""
        self.grown.end_epoch()

    # ---------------------------------------------------------------- learning

    def learn(
        self, x: Rows, y: NDArray[np.float64], w: NDArray[np.float64], row_ids: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Learns from the examples one by one, and returns the score of each before it was learned, (n, outputs).

        y (n, outputs) are the targets, NaN (0 if int8) where an output ignores the example; w (n,) > 0 the sample
        weights; `row_ids` (n,) the ids of the rows.
        """
        return in_parts(CHUNK, self._learn, x, as_targets(y), w, row_ids)

    def _learn(self, x: Rows, y: NDArray[np.float64], w: NDArray[np.float64], row_ids: NDArray) -> NDArray[np.float64]:
        b, budget = len(x), self.policy.budget
        memory, base = self._memory(x)
        F, steps = np.empty((b, self.n_outputs)), np.empty((b, self.n_outputs))
        run = self._learn_python if self._settings is None else self._learn_native
        any_taken = run(memory, base, y, w, F, steps)
        self.rounds += b
        if not any_taken:
            return F
        self.ledger.add(steps, self.rounds - b + 1 + np.arange(b), row_ids)
        taken = (memory.row_in_slot >= 0).nonzero()[0]
        rows = memory.row_in_slot[taken]
        new = x[rows] if b > 1 else x
        if budget is None:
            if self.scalars[1] < SMALL_SCALE:  # the factor that the weights of `past` lack
                self.grown.coef[...] *= self.scalars[1]
                self.scalars[1] = 1.0
            coef = np.ascontiguousarray(memory.coef[:, : len(taken)].T) / self.scalars[1]
            self.grown.add(new, coef, np.zeros_like(coef), row_ids[rows])
            self.places[0] = 0
        else:
            self.slots.put(taken, new)
            self.slot_row_ids[taken] = row_ids[rows]
            self.entered[taken] = self.rounds - b + 1 + rows
        return F

    def learn_one(self, x: Rows, y: NDArray[np.float64], row_id: int) -> None:
        """Learns from one example of weight 1, y (1, outputs); with a budget, on preallocated arrays."""
        one = self._one
        if one is None or one.memory.coef is not self.coef:  # `rollback` and `change_outputs` replace arrays
            if self.policy.budget is None or self._settings is None:
                self.learn(x, y, ONE, np.array([row_id]))
                return
            memory, steps = self._memory(x)[0], np.empty((1, self.n_outputs))
            one = self._one = One(memory, steps, self._bound(memory, None, np.empty((1, self.n_outputs)), steps))
        memory, rows = one.memory, self.slots.rows
        if rows is not None:
            self.kernel._gram_one(x, rows, memory.K)
        memory.K_chunk[0, 0] = self.kernel._diag(x)[0]
        slot = one.native.learn(y, ONE, self.rounds)
        self.rounds += 1
        if slot >= 0:
            self.ledger.add_one(one.steps, self.rounds, row_id)
            self.slots.put_one(slot, x)
            self.slot_row_ids[slot], self.entered[slot] = row_id, self.rounds

    def _learn_native(
        self,
        memory: Memory,
        base: NDArray[np.float64] | None,
        y: NDArray[np.float64],
        w: NDArray[np.float64],
        F: NDArray[np.float64],
        steps: NDArray[np.float64],
    ) -> bool:
        """Learns from a part in the core; returns whether any row was put into a slot."""
        return self._bound(memory, base, F, steps).learn(y, w, self.rounds) >= 0

    def _bound(
        self,
        memory: Memory,
        base: NDArray[np.float64] | None,
        F: NDArray[np.float64],
        steps: NDArray[np.float64],
    ) -> _native.Budget32:
        """The core's object for this learner and these examples; it is valid until one of the arrays is replaced."""
        assert self._settings is not None
        rule, policy, parameters, root_schedule, intercept = self._settings
        m = memory
        # fmt: off
        return _native.budget(
            rule, policy, parameters, root_schedule, intercept,
            m.K, m.K_chunk, m.K_slots, m.coef, m.k_ss, m.row_in_slot, base,
            m.sq_norms, m.scalars, m.places, m.random, self.margin, self.offset, F, steps, self.counts,
        )
        # fmt: on

    def _memory(self, x: Rows) -> tuple[Memory, NDArray[np.float64] | None]:
        """The slots with the kernel values of a part, and its scores by the support outside the slots (None: 0)."""
        b, size, base = len(x), int(self.places[0]), None
        K_chunk = np.empty((b, b), dtype=x.dtype)
        if b == 1:
            K_chunk[0, 0] = self.kernel._diag(x)[0]
        else:
            fill_below(self.kernel, x, K_chunk)
        if self.policy.budget is None:
            K, A, k_ss = np.zeros((b, b), dtype=x.dtype), np.zeros((self.n_outputs, b)), np.zeros(b)
            if len(self.grown):
                base = np.zeros((b, self.n_outputs))
                self.grown.add_scores(self.kernel, x, self.grown.coef, base)
        else:
            K, A, k_ss = np.empty((b, self.coef.shape[1]), dtype=x.dtype), self.coef, self.k_ss
            rows = self.slots.rows
            if rows is not None:
                fill(self.kernel, x, rows, K[:, :size])
            if self.policy.needs_gram and self.K_slots is None:
                self.K_slots = np.zeros((self.coef.shape[1],) * 2, dtype=x.dtype)
                if rows is not None:
                    fill(self.kernel, rows, rows, self.K_slots[:size, :size])
        row_in_slot = np.full(K.shape[1], -1, dtype=np.int64)
        return Memory(
            K, K_chunk, self.K_slots, A, k_ss, row_in_slot, self.sq_norms, self.scalars, self.places, self.random
        ), base

    def _learn_python(
        self,
        memory: Memory,
        base: NDArray[np.float64] | None,
        y: NDArray[np.float64],
        w: NDArray[np.float64],
        F: NDArray[np.float64],
        steps: NDArray[np.float64],
    ) -> bool:
        """Learns from a part in Python, by any rule and policy: the twin of budget_pass in cpp/learn/budget.h."""
        rule, norma, state = self.rule, self.norma, memory.scalars
        widens = rule.step is epsilon_insensitive
        for i in range(len(y)):
            eta = norma.rate(self.rounds + i + 1) if norma else 0.0
            size = memory.size
            grown = 0.0 if base is None else base[i] * state[1]
            F[i] = state[0] * (grown + memory.coef[:, :size] @ memory.K[i, :size].astype(np.float64)) + self.offset
            steps[i] = 0.0
            for o in np.flatnonzero(~np.isnan(y[i])):
                moving = (eta, self.margin[o]) if norma else ()
                step = rule.step(F[i, o], y[i, o], float(memory.K_chunk[i, i]), w[i], *rule.params, *moving)
                steps[i, o] = step
                self.counts += rule.signs and y[i, o] * F[i, o] <= 0, step != 0
                if norma and norma.intercept:
                    self.offset[o] += step
                if norma and norma.nu is not None:
                    self.margin[o] = move_margin(self.margin[o], step != 0, eta * w[i], norma.nu, widens=widens)
            if norma:
                state[0] *= 1 - eta * norma.lam
            if state[0] < SMALL_SCALE:
                self._fold_scale(memory)
            if steps[i].any():
                self.policy.take(memory, Example(i, steps[i], F[i], y[i], float(w[i])))
        return bool(steps.any())

    @staticmethod
    def _fold_scale(memory: Memory) -> None:
        """Multiplies the common factor into the weights and resets it to 1, before it underflows."""
        memory.coef[:, : memory.size] *= memory.scalars[0]
        memory.scalars[1] *= memory.scalars[0]
        memory.scalars[0] = 1.0
