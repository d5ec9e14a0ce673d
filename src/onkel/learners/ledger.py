"""The ledger: the ordered list of a learner's updates.

An update adds step · φ(x) to the weight vector of one output. The perceptron makes one at every mistake and starts
from 0, so the hypothesis that it used in any round is the sum of a prefix of its ledger.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from onkel._core.transaction import Transaction
from onkel.states.state import LARGEST_COUNT, Setting, State

__all__ = ["LEDGER", "Ledger", "Window"]

# cpp/learn/ledger.h has the same fields
LEDGER = np.dtype([("round", np.int64), ("row", np.int64), ("class", np.int64), ("step", np.float64)])


class Ledger:
    """All updates in order. Each entry holds the round, the id of the row, the output ("class") and the step.

    Rounds count from 1 over all epochs. `entries` is an array of dtype `LEDGER`. New entries are written after
    the last counted entry; readers see them only after the commit. They come in three ways:

    add, add_one         Python has the steps; the entries count when the transaction is committed.
    room_for, extend_to  A pass in the core writes them; they count when the transaction is committed.
    core_view            A native call that holds the GIL changes the whole learner; they count at once.
    """

    def __init__(self) -> None:
        self._room = np.empty(64, dtype=LEDGER)
        self._count = np.zeros(1, dtype=np.int64)  # entries in use; an array, so that the core can count on

    def __len__(self) -> int:
        """The number of updates so far."""
        return self._count.item()

    @property
    def entries(self) -> NDArray[np.void]:
        """All entries, as a view."""
        return self._room[: self._count.item()]

    def core_view(self, more: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Room for `more` entries and the number of those in use, as the core takes them (cpp/learn/ledger.h).

        The core adds entries in place, and they count at once. The arrays are the ledger's until it makes room, is
        rolled back or extended.
        """
        self.reserve(more)
        return self._room.view(np.int64).reshape(-1, 4), self._count

    def room_for(self, more: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The same with a copy of the number, for a pass whose entries shall count with the rest of what it learns.

        They count when `extend_to` has been committed. If the pass is stopped, nothing has changed: what it wrote lies
        after the last counted entry, and the next pass writes over it.
        """
        entries, n_entries = self.core_view(more)
        return entries, n_entries.copy()

    def extend_to(self, n_entries: NDArray[np.int64], change: Transaction) -> None:
        """What a pass wrote into `room_for` counts when the transaction is committed; the ledger keeps the array."""
        change.set(self, _count=n_entries)

    def reserve(self, more: int) -> None:
        """Makes room for `more` entries; the ledger stays the same."""
        count = self._count.item()
        if count + more > len(self._room):
            longer = np.empty(max(64, count + more, 2 * count), dtype=LEDGER)
            longer[:count] = self._room[:count]
            self._room = longer

    def add(
        self,
        steps: NDArray[np.float64],
        rounds: NDArray[np.int64],
        row_ids: NDArray[np.int64],
        change: Transaction,
    ) -> None:
        """Adds the updates of a chunk: steps (b, outputs), 0 where there was none; rounds and row ids (b,)."""
        chunk, output = np.nonzero(steps)
        self.reserve(len(chunk))
        count = self._count.item()
        new = self._room[count : count + len(chunk)]
        new["round"], new["row"] = rounds[chunk], row_ids[chunk]
        new["class"], new["step"] = output, steps[chunk, output]
        change.set(self, _count=np.array([count + len(chunk)]))

    def add_one(self, steps: NDArray[np.float64], round: int, row_id: int, change: Transaction) -> None:
        """Adds the updates of one example, faster than `add`: steps (1, outputs), its round and the id of its row."""
        new = [(round, row_id, output, step) for output, step in enumerate(steps[0].tolist()) if step]
        self.reserve(len(new))
        count = self._count.item()
        self._room[count : count + len(new)] = new
        change.set(self, _count=np.array([count + len(new)]))

    def savepoint(self) -> LedgerSavepoint:
        """The present entries; nothing is copied, because entries are only ever added."""
        return LedgerSavepoint(self, self._count.item(), {"_room": self._room})

    def end_of_longest(self, output: int, rounds: int) -> int:
        """The round that ended the hypothesis which was used longest, the first of several; rounds + 1 if none did.

        A hypothesis of the output is used until its next mistake. Its weights are the sum of the output's entries
        before the round that is returned. `rounds` is the number of rounds so far.
        """
        mistakes = self.entries["round"][self.entries["class"] == output]
        used = np.diff(np.concatenate([[0], mistakes, [rounds]]))
        best = int(np.argmax(used))  # the first of the largest
        return int(mistakes[best]) if best < len(mistakes) else rounds + 1

    def remapped(self, output_map: NDArray[np.float64]) -> Self:
        """The ledger after a change of outputs, as a copy.

        `output_map` (old outputs, new outputs): 1 copies an output's entries, −1 copies them with opposite steps, and a
        column of zeros begins without entries.
        """
        old, new = np.nonzero(output_map)
        parts = [self.entries[:0]]
        for source, target in zip(old, new, strict=True):
            part = self.entries[self.entries["class"] == source].copy()
            part["class"], part["step"] = target, part["step"] * output_map[source, target]
            parts.append(part)
        entries = np.concatenate(parts)
        return self._with_entries(entries[np.lexsort((entries["class"], entries["round"]))])

    def copy(self) -> Self:
        """An independent copy."""
        return self._with_entries(self.entries.copy())

    def arrays(self, prefix: str) -> dict[str, NDArray]:
        """The entries as one array a field, named `prefix` and the field's name, for a state."""
        return {prefix + name: self.entries[name].copy() for name in LEDGER.names or ()}

    @classmethod
    def of_state(cls, state: State, prefix: str, n_outputs: int, n_seen: int) -> Self:
        """The ledger whose `arrays` a state holds, of a learner with so many outputs that has seen so many examples."""
        return cls()._with_entries(_entries(state, prefix, n_outputs, n_seen))

    def _with_entries(self, entries: NDArray[np.void]) -> Self:
        twin = type(self)()
        twin._room, twin._count = entries, np.array([len(entries)])
        return twin


class LedgerSavepoint(NamedTuple):
    """A ledger at one moment, since when entries were only added; how many of its room were in use."""

    ledger: Ledger
    n_entries: int
    attributes: dict[str, Any]

    def restored(self, change: Transaction) -> Ledger:
        """The ledger without the entries since then, when the transaction is committed."""
        change.set(self.ledger, _count=np.array([self.n_entries]), **self.attributes)
        return self.ledger


class Window(Ledger):
    """The last `size` updates of a stream, in bounded memory; `len` counts all updates there ever were.

    When there is no room left, the last entries move to new memory, so that the entries of a savepoint stay as they
    were.
    """

    def __init__(self, size: int = 1000) -> None:
        super().__init__()
        self.size, self._dropped = size, 0

    def __len__(self) -> int:
        return self._dropped + self._count.item()

    @property
    def entries(self) -> NDArray[np.void]:
        """The last `size` entries, as a view."""
        count = self._count.item()
        return self._room[max(0, count - self.size) : count]

    def reserve(self, more: int) -> None:
        """Makes room for `more` entries; if there is none, all but the last `size` entries are dropped."""
        count = self._count.item()
        if count + more > len(self._room):
            kept = self.entries
            room = np.empty(max(64, 2 * len(kept), len(kept) + more), dtype=LEDGER)
            room[: len(kept)] = kept
            with Transaction() as change:
                dropped = self._dropped + count - len(kept)
                change.set(self, _room=room, _count=np.array([len(kept)]), _dropped=dropped)

    def savepoint(self) -> LedgerSavepoint:
        return LedgerSavepoint(self, self._count.item(), {"_room": self._room, "_dropped": self._dropped})

    def remapped(self, output_map: NDArray[np.float64]) -> Self:
        twin = super().remapped(output_map)
        copies = int(np.abs(output_map).sum()) // len(output_map)  # of each old output, the same for all
        twin._dropped = copies * len(self) - len(twin.entries)
        return twin

    def settings(self) -> dict[str, Setting]:
        """The size of the window, and the number of all updates, as `of_state` takes them."""
        return {"window": self.size, "ledger_total": len(self)}

    @classmethod
    def of_state(cls, state: State, prefix: str, n_outputs: int, n_seen: int) -> Self:
        """The window whose `arrays` a state holds, with the settings "window", its size, and "ledger_total"."""
        entries, window = _entries(state, prefix, n_outputs, n_seen), cls(state.count("window", at_least=1))
        state.check(len(entries) <= window.size, f"{prefix!r} must have at most {window.size} updates")
        window._dropped = state.count("ledger_total", at_least=len(entries))
        return window._with_entries(entries)

    def _with_entries(self, entries: NDArray[np.void]) -> Self:
        twin = super()._with_entries(entries[-self.size :].copy())
        twin.size = self.size
        twin._dropped = len(self) - len(twin.entries)
        return twin


def _entries(state: State, prefix: str, n_outputs: int, n_seen: int) -> NDArray[np.void]:
    """The entries of a ledger, from the arrays of a state."""
    rounds = state.indices(prefix + "round", n_seen + 1)
    state.check(not len(rounds) or rounds[0] > 0, f"the rounds of {prefix!r} must count from 1")
    state.check((rounds[1:] >= rounds[:-1]).all(), f"the rounds of {prefix!r} must not fall")
    entries = np.empty(len(rounds), dtype=LEDGER)
    entries["round"], entries["row"] = rounds, state.indices(prefix + "row", LARGEST_COUNT, len(rounds))
    entries["class"] = state.indices(prefix + "class", n_outputs, len(rounds))
    entries["step"] = state.array(prefix + "step", np.float64, rounds.shape)
    return entries
