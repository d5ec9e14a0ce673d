"""The best labellings of sentences: Viterbi's search, on one table of scores for all tokens.

A labelling y of a sentence has the score

    Σ_t  E_t[y_t] + T_t[y_{t−1}][y_t] + S[y_{t−2}][y_{t−1}][y_t]

where E are the scores of labels by themselves, T of two neighbours, and S of three (order 2 only). `Lattice` holds
these tables for a corpus, in rows of `width(L)` values that the core takes: L labels, padded to a multiple of 8. T and
S have one more row for the beginning of a sentence, index L. A score of −∞ forbids a label or a pair.

Source: Viterbi 1967; the core is cpp/sequence/viterbi.h and kbest.h.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native, thread_count

__all__ = ["LANES", "Lattice", "best", "k_best", "padded", "width"]

LANES = 8  # cpp/sequence/types.h, kTagLanes
Floats = NDArray[np.floating]


def width(n_labels: int) -> int:
    """The number of values in a row of scores: the number of labels, rounded up to a multiple of 8."""
    return -(-n_labels // LANES) * LANES


def padded(table: Floats, n_labels: int) -> Floats:
    """A table (…, labels) with rows of `width(n_labels)` values."""
    out = np.zeros((*table.shape[:-1], width(n_labels)), dtype=table.dtype)
    out[..., : table.shape[-1]] = table
    return out


@dataclasses.dataclass(frozen=True)
class Lattice:
    """The scores of all labellings of some sentences; all tables float32, or all float64.

    Parameters
    ----------
    n_labels : the number of labels L.
    starts : where each sentence begins, and the end, shape (sentences + 1,).
    E : scores of labels, shape (tokens, width(L)).
    transitions : scores of a label after another one, shape (1, L + 1, width(L)), or for each token its own,
        (tokens, L + 1, width(L)). The last row is for the first token of a sentence.
    second : scores of a label after two others, shape (L + 1, L + 1, width(L)); None: order 1.
    """

    n_labels: int
    starts: NDArray[np.int64]
    E: Floats
    transitions: Floats
    second: Floats | None = None

    def __len__(self) -> int:
        return len(self.starts) - 1

    def sentences(self) -> Iterator[Lattice]:
        """Each sentence by itself."""
        for first, last in zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True):
            local = self.transitions if len(self.transitions) == 1 else self.transitions[first:last]
            starts = np.array([0, last - first])
            yield dataclasses.replace(self, starts=starts, E=self.E[first:last], transitions=local)

    def score(self, y: NDArray[np.int32]) -> NDArray[np.float64]:
        """The score of the labelling y (tokens,) of each sentence, shape (sentences,)."""
        tokens, L = np.arange(len(y)), self.n_labels
        first = np.zeros(len(y), dtype=bool)
        first[self.starts[:-1]] = True
        before = np.where(first, L, np.roll(y, 1))
        place = tokens if len(self.transitions) > 1 else np.zeros_like(tokens)
        terms = self.E[tokens, y].astype(np.float64) + self.transitions[place, before, y]
        if self.second is not None:
            earlier = np.where(first, L, np.roll(before, 1))
            terms += self.second[earlier, before, y]
        return np.add.reduceat(terms, self.starts[:-1])


def best(lattice: Lattice, threads: int | None = None) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """The best labelling of each sentence: labels (tokens,) and scores (sentences,), −∞ if all are forbidden.

    Of several labellings with the same score it is the one with the lowest labels, from the last token to the first.
    """
    y, scores = np.empty(len(lattice.E), dtype=np.int32), np.empty(len(lattice))
    n = thread_count() if threads is None else threads
    tables = lattice.transitions, lattice.second
    _native.decode(lattice.E, lattice.n_labels, lattice.starts, *tables, y, scores, n)
    return y, scores


def k_best(lattice: Lattice, k: int) -> list[tuple[NDArray[np.int32], NDArray[np.float64]]]:
    """The k best labellings of each sentence, the best first, or all that are allowed: labels (≤ k, tokens), scores.

    Cost: O(N L² k log k) for a sentence of N tokens; O(N L³ k log k) in order 2.
    """
    found = []
    for one in lattice.sentences():
        y, scores = np.empty((k, len(one.E)), dtype=np.int32), np.empty(k)
        E, transitions = np.ascontiguousarray(one.E), np.ascontiguousarray(one.transitions)
        n = _native.k_best(E, one.n_labels, transitions, one.second, y, scores)
        found.append((y[:n], scores[:n]))
    return found
