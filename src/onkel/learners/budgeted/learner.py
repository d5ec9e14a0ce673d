"""The learner in bounded memory: an update rule, a budget policy, and slots for the support vectors.

A chunk of examples is learned in parts of at most `CHUNK` rows, and each part in three steps:

1. The kernel values of the part with the slots, and with itself, are computed at once.
2. With these values the examples are learned one by one, on copies of the learner's arrays: in the compiled core
   (cpp/learn/budget.h), or in Python (`onkel.learners.budgeted.python_pass`) if the core has no twin of the rule or
   policy. The updates are written after the counted entries of the ledger.
3. The copies take the place of the arrays, the rows that entered a slot are written into it, and the new entries of
   the ledger count, all at once.

The result does not depend on how a stream is cut into parts: a kernel value depends on its two rows only, and sums
over the slots are formed in the order of the slots.

A single example needs no copies: the core writes it into the learner's arrays by one call, if they have room for it.

Without a budget the slots are needed only while a part is learned. At its end the new support vectors are appended to a
growing support (`onkel.learners.storage.support.Support`), whose share of the scores is computed in step 1 of every
part.
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native
from onkel._core.transaction import Transaction
from onkel.checks import FLOATS
from onkel.errors import ValuesError
from onkel.kernels import Kernel
from onkel.kernels.rows import NO_ROWS, GramRows, Rows
from onkel.kernels.rows_state import kernel_rows, rows_state
from onkel.kernels.tiles import fill
from onkel.kernels.vectors import GrowingRows, VectorRows
from onkel.learners import rules
from onkel.learners.budgeted.core import One, native_settings, with_room
from onkel.learners.budgeted.python_pass import SMALL_SCALE, python_pass
from onkel.learners.budgeted.state import (
    are_named,
    built_settings,
    check_named,
    named_norma,
    named_policy,
    named_rule,
    read_record,
    record_setting,
)
from onkel.learners.learner import ONE, Floats, Ints, LearnerBase, fill_chunk
from onkel.learners.ledger import Window
from onkel.learners.policies import Memory, Policy, RecordField
from onkel.learners.rules import Regularised, Rule
from onkel.learners.storage.slots import Slots
from onkel.learners.storage.support import Support
from onkel.models.expansion import Expansion
from onkel.states.state import LARGEST_COUNT, State

__all__ = ["BudgetedLearner"]

CHUNK = 512  # rows whose kernel values are computed at once
LEAST_ROOM = 16  # slots of the first arrays, which grow as the budget fills
PER_SLOT = ("coef", "k_ss", "slot_row_ids", "entered")  # arrays with a place for each slot, along their last axis
PER_OUTPUT = ("sq_norms", "margin", "offset")


class BudgetedLearner(LearnerBase):
    """f(x) = scale · Σⱼ coefⱼ k(sⱼ, x) + b for each output, learned by a rule; the policy limits the support.

    The arrays have room for `coef.shape[1]` slots, at most the budget; they grow as it fills. `record` holds the
    numbers of the learner (struct BudgetRecord in cpp/learn/budget.h), `margin` and `offset` NORMA's margin (ρ or ε)
    and b, one of each per output.

    Parameters
    ----------
    kernel, n_outputs : the kernel, and the number of outputs.
    rule : how large a step is, with the values of its parameters (`onkel.learners.rules`).
    policy : which support vector makes room, and the budget (`onkel.learners.policies`).
    norma : NORMA's regularisation and moving margin, for a regularised rule; None (default): the rule is none.
    margin : the first value of every output's margin; default 0.
    seed : of the policy's random numbers, an integer ≥ 0; default 0.
    window : how many of the last updates the ledger keeps; default 1000.
    """

    KIND: ClassVar[str] = "learner/budgeted"
    VERSION: ClassVar[int] = 1
    CHANGES: ClassVar[tuple[str, ...]] = ("record", "ledger", "slots", "grown", *PER_SLOT, *PER_OUTPUT)
    CACHES: ClassVar[tuple[str, ...]] = ("_one",)
    BUILT_FROM: ClassVar[tuple[str, ...]] = ("rule", "policy", "norma", "first_margin")

    size = RecordField[int]()  # the number of slots in use
    shrink = RecordField[float]()  # φ, the last factor by which a Forgetron shrank all weights; 1 at first
    Q = RecordField[float]()  # the Forgetron's: what all removals so far have cost

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
        if rule.regularised != (norma is not None):
            raise ValueError(f"BudgetedLearner: norma is for regularised rules, and for them only; got {rule}.")
        self.kernel, self.rule, self.policy, self.norma = kernel, rule, policy, norma
        self.first_margin = margin
        self.slots, self.grown = Slots(), Support(n_outputs)
        self.slot_row_ids = np.zeros(0, dtype=np.int64)  # the id of the row in each slot,
        self.entered = np.zeros(0, dtype=np.int64)  # and the round in which it entered
        self.coef, self.k_ss = np.zeros((n_outputs, 0)), np.zeros(0)
        self.sq_norms = np.zeros(n_outputs)
        self.margin, self.offset = np.full(n_outputs, margin), np.zeros(n_outputs)
        self.record: _native.BudgetRecord = _native.BudgetRecord()
        self.record.random = seed
        self.ledger = Window(window)
        # The kernel values of the slots with each other and the object that is bound to the present arrays are caches.
        self.K_slots: NDArray | None = None
        self._one: One | None = None
        self._settings = native_settings(rule, policy, norma)

    # ---------------------------------------------------------------- the result of learning

    @property
    def n_outputs(self) -> int:
        return len(self.coef)

    @property
    def stops_when_separated(self) -> bool:
        return self.rule.step in (rules.perceptron.step, rules.pa.step)

    def check_rows(self, rows: Rows, who: str) -> None:
        """Refuses rows with k(x, x) > 1 if the policy needs at most 1."""
        if not self.policy.needs_unit_length or self.kernel.inner.within_one:
            return
        largest = float(self.kernel.inner.diagonal(rows).max())
        if largest > 1 + 1e-6:
            raise ValuesError(
                f"{who} needs a kernel with k(x, x) <= 1; got {largest:.6g}. "
                "Use kernel.normalized(), such as Polynomial(degree=3).normalized(), or RBF."
            )

    def __len__(self) -> int:
        return self.size + len(self.grown)

    def support(self) -> tuple[Rows, Floats, Ints]:
        """The support vectors (the oldest first), their weights (m, outputs), and the ids of their rows; as copies."""
        size, scale = self.size, self.record.scale
        if self.policy.budget is None:
            weights = scale * self.record.support_scale * self.grown.coef
            return self.grown.rows_in(np.arange(len(self.grown))), weights, self.grown.row_ids.copy()
        order = np.argsort(self.entered[:size])
        rows = NO_ROWS if self.slots.rows is None else self.slots.rows[order]
        return rows, np.ascontiguousarray(scale * self.coef[:, order].T), self.slot_row_ids[order]

    def scorer(self) -> Expansion:
        """What has been learned, as a frozen model with the support vectors in the order of `support`."""
        rows, weights, row_ids = self.support()
        return Expansion(self.kernel, rows, row_ids, weights, self.offset.copy())

    def scores(self, rows: Rows) -> Floats:
        """The scores of the rows, shape (n, outputs)."""
        out = np.zeros((len(rows), self.n_outputs))
        size = self.size
        if self.policy.budget is None:
            self.grown.add_scores(self.kernel, rows, self.grown.coef, out)
            out *= self.record.support_scale
        elif size:
            assert self.slots.rows is not None
            self.kernel.inner.add_scores(rows, self.slots.rows, np.ascontiguousarray(self.coef[:, :size].T), out)
        out *= self.record.scale
        out += self.offset
        return out

    # ---------------------------------------------------------------- changes

    def change_outputs(self, output_map: Floats) -> None:
        """Changes the number of outputs when a class appears; no transaction.

        `output_map` (old outputs, new outputs): 1 copies an output, −1 mirrors it, a column of zeros starts one at 0.
        """
        self._one = None
        self.grown.change_outputs(output_map)
        self.coef = np.ascontiguousarray(output_map.T @ self.coef)
        fresh = ~output_map.any(axis=0)
        self.margin = np.where(fresh, self.first_margin, self.margin @ np.abs(output_map))
        self.offset = self.offset @ output_map
        self.sq_norms = self.sq_norms @ np.abs(output_map)
        copies = np.abs(output_map).sum() / len(output_map)
        self.record.Q *= copies  # of the Forgetron: the mistakes of an output that is doubled count twice
        self.record.M *= copies
        self.ledger = self.ledger.remapped(output_map)

    def add_features(self, n_features: int, *, sparse: bool = False) -> None:
        """Increases the number of features to `n_features`; everything learned is 0 in the new ones. No transaction."""
        self._one = self.K_slots = None
        self.slots.add_features(n_features, sparse=sparse)
        self.grown.add_features(n_features, sparse=sparse)

    def features_in_use(self, n_features: int) -> NDArray[np.bool_]:
        """Which of the features some support vector has."""
        return self.slots.features_in_use(n_features) | self.grown.features_in_use(n_features)

    def end_epoch(self) -> None:
        """Without a budget, merges the support vectors that are the same row; slots may hold a row twice."""
        self.grown = self.grown.merged()

    # ---------------------------------------------------------------- copies, states and pickles

    def _changes(self) -> dict[str, Any]:
        return super()._changes() | {"K_slots": self.K_slots if self.keeps_K_slots else None}

    def state(self) -> State:
        """Everything the learner knows, as named values and arrays; refuses rules and policies without a name."""
        check_named(self.rule, self.policy)
        return self._state()

    def _state(self) -> State:
        """The state, which holds what is in use, but neither the room of the arrays nor caches."""
        settings = {
            "kernel": self.kernel,
            **built_settings(self.rule, self.policy, self.norma),
            "first_margin": float(self.first_margin),
            **self.ledger.settings(),
            "record": record_setting(self.record),
        }
        arrays = {name: np.array(getattr(self, name)[..., : self.size], order="C") for name in PER_SLOT}
        arrays |= {name: getattr(self, name).copy() for name in PER_OUTPUT}
        arrays |= self.ledger.arrays("ledger/")
        if self.keeps_K_slots and self.K_slots is not None:
            arrays["K_slots"] = np.array(self.K_slots[: self.size, : self.size], order="C")
        state = State(self.KIND, self.VERSION, settings, arrays).with_part("grown", self.grown.state())
        return state.with_part("rows", rows_state(NO_ROWS if self.slots.rows is None else self.slots.rows))

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The learner of a state; it learns on exactly as the one that gave it."""
        state.expect(cls.KIND, cls.VERSION)
        return cls._restored(state, named_rule(state), named_policy(state))

    @classmethod
    def _restored(cls, state: State, rule: Rule, policy: Policy) -> Self:
        """A learner with this rule and policy and the contents of a state."""
        kernel, offset = state.kernel(), state.array("offset", np.float64, (None,))
        n_outputs, record = len(offset), read_record(state, policy.budget)
        state.check(n_outputs > 0, "there must be an output")
        margin = state.setting("first_margin", float, at_least=-np.inf)
        learner = cls(kernel, n_outputs, rule, policy, norma=named_norma(state, rule), margin=margin)
        rows, size = kernel_rows(state, "rows", kernel), record.size
        state.check(size == (len(rows) if policy.budget is not None else 0), f"'rows' must have {size} rows")
        state.check(policy.budget is None or size <= policy.budget, f"there must be at most {policy.budget} rows")
        learner.record = record
        learner.coef = np.array(state.array("coef", np.float64, (n_outputs, size)))
        learner.k_ss = np.array(state.array("k_ss", np.float64, (size,)))
        learner.slot_row_ids = np.array(state.indices("slot_row_ids", LARGEST_COUNT, size))
        learner.entered = np.array(state.indices("entered", learner.n_seen + 1, size))
        for name in PER_OUTPUT:
            setattr(learner, name, np.array(state.array(name, np.float64, (n_outputs,))))
        learner.ledger = Window.of_state(state, "ledger/", n_outputs, learner.n_seen)
        learner.grown = Support.from_state(state.part("grown"), kernel, n_outputs)
        alone = policy.budget is None or len(learner.grown) == 0
        state.check(alone, "with a budget all support vectors must be in slots")
        learner.slots = Slots.of(rows if size else None)
        if learner.keeps_K_slots:
            learner.K_slots = np.array(state.array("K_slots", FLOATS, (size, size)))
        return learner

    def __reduce__(self) -> tuple[object, ...]:
        """Pickles hold the state, and the rule and the policy themselves if a state cannot name them."""
        given = (None, None) if are_named(self.rule, self.policy) else (self.rule, self.policy)
        return _unpickled, (type(self), self._state(), *given)

    # ---------------------------------------------------------------- learning

    def learn(self, rows: Rows, targets: Floats, weights: Floats, row_ids: Ints) -> Floats:
        """Learns from the examples one by one, and returns the score of each before it was learned, (n, outputs)."""
        self._one = None  # before anything that it is bound to is replaced
        memory, F = self._memory(rows), np.empty(targets.shape)
        entries, n_entries = self.ledger.room_for(targets.size)
        # fmt: off
        if self._settings is None:
            python_pass(
                self.rule, self.norma, self.policy, memory, targets, weights, row_ids, entries, n_entries, F,
            )
        else:
            m = memory
            _native.budget_pass(
                self._settings, m.K, m.K_chunk, m.K_slots, m.coef, m.k_ss, m.row_in_slot, m.base,
                m.sq_norms, m.margin, m.offset, m.record,
                targets, weights, row_ids, entries, n_entries, F,
            )
        # fmt: on
        with Transaction() as change:
            self.ledger.extend_to(n_entries, change)
            self._put_in_place(memory, rows, row_ids, change)
        return F

    def part_size(self, rows: Rows, most: int) -> int:
        """How many examples the next part of a chunk should have, at most `most`."""
        return min(CHUNK, most)

    def learn_one(self, row: Rows, target: Floats) -> None:
        """Learns from one example of weight 1, target (1, outputs)."""
        one = self._one
        if one is None:
            one = self._one = self._bound(row)
        if one is not None:
            assert isinstance(row, VectorRows)
            self.kernel.inner.gram_one(row, one.rows, one.K)
            longer = one.rows.with_next() if len(one.rows) < one.K.shape[1] else None
            if one.native.learn(row.dense(), target, self.kernel.inner.diagonal(row)[0], longer):
                return
        self.learn(row, target, ONE, np.array([self.next_row_id]))

    def _bound(self, row: Rows) -> One | None:
        """The core's object for single examples; None if it cannot learn this one.

        It is valid until one of the learner's arrays, of its slots or of its ledger is replaced.
        """
        rows = self.slots.rows
        if self._settings is None or not isinstance(rows, GrowingRows) or not isinstance(row, VectorRows):
            return None
        if self.policy.needs_gram and self.K_slots is None:
            self.K_slots = self._gram_of_slots(None, self.coef.shape[1], rows.dtype)
        K = np.empty((1, self.coef.shape[1]), dtype=rows.dtype)
        self.kernel.inner.gram_one(row, rows, K)  # caches right-hand sides, which the core can update
        # fmt: off
        return One(rows, K, _native.budget_one(
            self._settings, K, self.K_slots, self.coef, self.k_ss, self.sq_norms, self.margin, self.offset,
            self.record, self.slot_row_ids, self.entered,
            *rows.core_view(), *self.ledger.core_view(self.n_outputs),
        ))
        # fmt: on

    def _memory(self, rows: Rows) -> Memory:
        """The kernel values of a part, and copies of the learner's arrays for it to learn in."""
        b, size, budget, base = len(rows), self.size, self.policy.budget, None
        K_chunk = np.empty((b, b), dtype=rows.dtype)
        fill_chunk(self.kernel, rows, K_chunk)
        K_slots, cap = None, b
        if budget is None:
            if len(self.grown):
                base = np.zeros((b, self.n_outputs))
                self.grown.add_scores(self.kernel, rows, self.grown.coef, base)
        else:
            cap, needed = self.coef.shape[1], min(budget, size + b)
            if needed > cap:
                cap = min(budget, max(LEAST_ROOM, 2 * cap, needed))
            if self.policy.needs_gram:
                K_slots = self._gram_of_slots(self._take_K_slots(), cap, rows.dtype)
        K = np.empty((b, cap), dtype=rows.dtype)
        if size:
            assert self.slots.rows is not None
            fill(self.kernel, rows, self.slots.rows, K[:, :size])
        return Memory(
            K=K,
            K_chunk=K_chunk,
            K_slots=K_slots,
            coef=with_room(self.coef, size, cap),
            k_ss=with_room(self.k_ss, size, cap),
            row_in_slot=np.full(cap, -1, dtype=np.int64),
            base=base,
            sq_norms=self.sq_norms.copy(),
            margin=self.margin.copy(),
            offset=self.offset.copy(),
            record=self.record.copy(),
            budget=budget,
        )

    @property
    def keeps_K_slots(self) -> bool:
        """Whether the kernel values of the slots are no cache: rows of a Gram matrix do not have them any more."""
        return self.policy.needs_gram and isinstance(self.slots.rows, GramRows)

    def _take_K_slots(self) -> NDArray | None:
        """The kernel values of the slots for a pass to change: taken out of the learner, or a copy."""
        if self.keeps_K_slots:
            return None if self.K_slots is None else self.K_slots.copy()
        K_slots, self.K_slots = self.K_slots, None
        return K_slots

    def _gram_of_slots(self, known: NDArray | None, cap: int, dtype: np.dtype) -> NDArray:
        """The kernel values of the slots with each other, (cap, cap); `known` are those for a smaller capacity."""
        if known is not None and len(known) == cap and known.dtype == dtype:
            return known
        size, rows = self.size, self.slots.rows
        K_slots = np.zeros((cap, cap), dtype=dtype)
        if known is not None:
            K_slots[:size, :size] = known[:size, :size]
        elif size:
            assert rows is not None
            fill(self.kernel, rows, rows, K_slots[:size, :size])
            np.fill_diagonal(K_slots[:size, :size], self.k_ss[:size])
        return K_slots

    def _put_in_place(self, memory: Memory, rows: Rows, row_ids: Ints, change: Transaction) -> None:
        """Makes what a part has learned the learner's state when the transaction is committed."""
        b = len(rows)
        taken = (memory.row_in_slot >= 0).nonzero()[0]
        chosen = memory.row_in_slot[taken]
        if self.policy.budget is None:
            if len(taken):
                self._append(memory, rows[chosen] if len(taken) < b else rows, row_ids[chosen], change)
        else:
            size, cap = self.size, memory.coef.shape[1]
            slot_row_ids = with_room(self.slot_row_ids, size, cap)
            entered = with_room(self.entered, size, cap)
            if len(taken):
                self.slots.put(taken, rows[chosen] if b > 1 else rows, change)
                slot_row_ids[taken], entered[taken] = row_ids[chosen], self.n_seen + 1 + chosen
            change.set(self, coef=memory.coef, k_ss=memory.k_ss, slot_row_ids=slot_row_ids, entered=entered)
            change.set(self, K_slots=memory.K_slots)
        change.set(self, sq_norms=memory.sq_norms, margin=memory.margin, offset=memory.offset, record=memory.record)

    def _append(self, memory: Memory, new: Rows, row_ids: Ints, change: Transaction) -> None:
        """Without a budget: appends the rows in the slots to the growing support, and empties the slots."""
        factor = 1.0
        if memory.support_scale < SMALL_SCALE:  # the factor that the weights of the growing support lack
            factor, memory.support_scale = memory.support_scale, 1.0
        coef = np.ascontiguousarray(memory.coef[:, : len(new)].T) / memory.support_scale
        self.grown.add(new, coef, np.zeros_like(coef), row_ids, change, factor=factor)
        memory.size = 0


def _unpickled(kind: type[BudgetedLearner], state: State, rule: Rule | None, policy: Policy | None) -> BudgetedLearner:
    """The learner of what its `__reduce__` has returned."""
    return kind._restored(state, rule or named_rule(state), policy or named_policy(state))
