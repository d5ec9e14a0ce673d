"""The ledger: the ordered list of a learner's updates.

An update adds step · φ(x) to the weight vector of one output. The perceptron makes one at every mistake and starts
from 0, so the hypothesis that it used in any round is the sum of a prefix of its ledger.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["LEDGER", "Ledger", "Window"]

LEDGER = np.dtype([("round", np.int64), ("row", np.int64), ("class", np.int64), ("step", np.float64)])


class Ledger:
    """All updates in order. Each entry holds the round, the id of the row, the output ("class") and the step.

    Rounds count from 1 over all epochs. `entries` is an array of dtype `LEDGER`.
    """

    def __init__(self) -> None:
        self._entries = np.empty(64, dtype=LEDGER)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def entries(self) -> NDArray[Any]:
        """All entries, as a view."""
        return self._entries[: self._count]

    def truncate(self, count: int) -> None:
        """Keeps the first `count` entries only."""
        self._count = count

    def end_of_longest(self, output: int, rounds: int) -> int:
        """The round that ended the hypothesis which was used longest, the first of several; rounds + 1 if none did.

        A hypothesis of the output is used until its next mistake. Its weights are the sum of the output's entries
        before the round that is returned. `rounds` is the number of rounds so far.
        """
        mistakes = self.entries["round"][self.entries["class"] == output]
        used = np.diff(np.concatenate([[0], mistakes, [rounds]]))
        best = int(np.argmax(used))  # the first of the largest
        return int(mistakes[best]) if best < len(mistakes) else rounds + 1

    def remapped(self, output_map: NDArray[np.float64]) -> Ledger:
        """The ledger after a change of outputs.

        `output_map` (old outputs, new outputs): 1 copies an output's entries, −1 copies them with opposite steps, and a
        column of zeros begins without entries.
        """
        old, new = np.nonzero(output_map)
        parts = []
        for source, target in zip(old, new, strict=True):
            part = self.entries[self.entries["class"] == source].copy()
            part["class"], part["step"] = target, part["step"] * output_map[source, target]
            parts.append(part)
        ledger = Ledger()
        entries = np.concatenate(parts) if parts else self.entries[:0]
        ledger._entries = entries[np.lexsort((entries["class"], entries["round"]))]
        ledger._count = len(entries)
        return ledger

    def add(self, steps: NDArray[np.float64], rounds: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
        """Adds the updates of a chunk: steps (b, outputs), 0 where there was none; rounds and ids of the rows (b,)."""
        chunk, output = np.nonzero(steps)
        end = self._count + len(chunk)
        if end > len(self._entries):
            grown = np.empty(max(64, end, 2 * len(self._entries)), dtype=LEDGER)
            grown[: self._count] = self._entries[: self._count]
            self._entries = grown
        new = self._entries[self._count : end]
        new["round"], new["row"], new["class"], new["step"] = rounds[chunk], rows[chunk], output, steps[chunk, output]
        self._count = end

    def add_one(self, steps: NDArray[np.float64], round: int, row: int) -> None:
        """Adds the updates of one example: steps (1, outputs)."""
        if steps.size > 1 or self._count == len(self._entries):
            self.add(steps, np.array([round]), np.array([row]))
        elif steps.item() != 0:
            self._entries[self._count] = (round, row, 0, steps.item())
            self._count += 1


class Window(Ledger):
    """The last `size` updates of a stream, in bounded memory; `len` counts all updates there ever were."""

    def __init__(self, size: int) -> None:
        self.size, self._count, self._dropped = size, 0, 0
        self._entries = np.empty(2 * size, dtype=LEDGER)

    def __len__(self) -> int:
        return self._dropped + self._count

    def remapped(self, output_map: NDArray[np.float64]) -> Window:
        window, found = Window(self.size), super().remapped(output_map).entries[-self.size :]
        window._entries[: len(found)] = found
        window._count, window._dropped = len(found), self._dropped
        return window

    def add(self, steps: NDArray[np.float64], rounds: NDArray[np.int64], rows: NDArray[np.int64]) -> None:
        """Adds the updates of a chunk, in the form that `Ledger.add` takes.

        There is room for 2 · `size` entries; when it is full, all but the last `size` are dropped.
        """
        new = np.count_nonzero(steps)
        if new > self.size:  # only the last of them will stay: skip the rows before
            extra = 1 + int(np.searchsorted(np.cumsum(np.count_nonzero(steps, axis=1)), new - self.size))
            self._count, self._dropped = 0, len(self) + int(np.count_nonzero(steps[:extra]))
            self.add(steps[extra:], rounds[extra:], rows[extra:])
            return
        if self._count + new > len(self._entries):
            self._entries[: self.size] = self._entries[self._count - self.size : self._count].copy()
            self._count, self._dropped = self.size, self._dropped + self._count - self.size
        super().add(steps, rounds, rows)

    def copy(self) -> Window:
        """An independent copy."""
        twin = Window(self.size)
        twin._entries, twin._count, twin._dropped = self._entries.copy(), self._count, self._dropped
        return twin

    @property
    def entries(self) -> NDArray[Any]:
        """The last `size` entries, as a view."""
        return self._entries[max(0, self._count - self.size) : self._count]
