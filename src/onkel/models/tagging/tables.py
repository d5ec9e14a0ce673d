"""Tables of weights of a tagger, as the core takes them: every weight with its moment.

The moment of a weight is the sum of all its steps times their rounds, so that w − moment / rounds is the average of all
guesses. Rows have `onkel.models.tagging.viterbi.width(labels)` values. The core is cpp/sequence/structured.h.
"""

from __future__ import annotations

import dataclasses
from typing import Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from onkel._core import _native
from onkel.models.tagging.viterbi import Lattice, width
from onkel.text.token_features import TokenFeatures

__all__ = ["Table", "TagTables"]

Floats = NDArray[np.float64]


@dataclasses.dataclass
class Table:
    """Weights and their moments, (…, width); there may be more rows than are in use, and these are 0."""

    w: NDArray
    moment: Floats

    @classmethod
    def zeros(cls, *shape: int, dtype: np.dtype) -> Table:
        """A table of zeros."""
        return cls(np.zeros(shape, dtype=dtype), np.zeros(shape))

    def with_rows(self, n: int, used: int) -> Table:
        """The table with room for n rows, of which the first ones are in use; itself if there is enough room.

        Rows that are not in use are not touched, and take no memory until they are.
        """
        if n <= len(self.w):
            return self
        larger = Table.zeros(n, *self.w.shape[1:], dtype=self.w.dtype)
        larger.w[:used], larger.moment[:used] = self.w[:used], self.moment[:used]
        return larger

    def rows(self, rows: NDArray[np.integer] | slice) -> Table:
        """Some rows, copied."""
        return Table(self.w[rows].copy(), self.moment[rows].copy())

    def weights(self, rounds: int | None, rows: NDArray[np.integer] | slice = slice(None)) -> Floats:
        """The weights of some rows: those of the present guess, or after so many rounds the average of all guesses."""
        if rounds is None:
            return np.asarray(self.w[rows], dtype=np.float64)
        return np.asarray(self.w[rows] - self.moment[rows] / max(rounds, 1))

    def changed(self, n: int) -> NDArray[np.int64]:
        """The rows below n that some step has changed, also back to 0."""
        inner = tuple(range(1, self.w.ndim))
        return np.flatnonzero(self.w[:n].any(axis=inner) | self.moment[:n].any(axis=inner))


@dataclasses.dataclass
class TagTables:
    """All weights of a structured perceptron.

    Parameters
    ----------
    n_labels : the number of labels L.
    rows : the row of each feature in the table `features`: 0, where all weights are 0, until its first update.
    features : of single labels, (rows, width).
    transitions : of a label after another, (L + 1, width); the last row is for the beginning of a sentence.
    second : of a label after two others, (L + 1, L + 1, width); None in order 1.
    observed : of pairs of labels at an observation, (features of pairs, L + 1, width); None if there are none.
    """

    n_labels: int
    rows: NDArray[np.int32]
    features: Table
    transitions: Table
    second: Table | None
    observed: Table | None

    @classmethod
    def zeros(cls, n_labels: int, n_features: int, n_pairs: int | None, order: int, dtype: np.dtype) -> Self:
        """Tables of zeros; `n_pairs` is the number of features of pairs of labels, None without such features."""
        L, ld = n_labels, width(n_labels)
        rows, features = np.zeros(n_features, dtype=np.int32), Table.zeros(n_features + 1, ld, dtype=dtype)
        transitions = Table.zeros(L + 1, ld, dtype=dtype)
        second = Table.zeros(L + 1, L + 1, ld, dtype=dtype) if order == 2 else None
        observed = None if n_pairs is None else Table.zeros(n_pairs, L + 1, ld, dtype=dtype)
        return cls(n_labels, rows, features, transitions, second, observed)

    def named(self) -> dict[str, Table]:
        """The tables that there are, by name."""
        found = {name: getattr(self, name) for name in ("features", "transitions", "second", "observed")}
        return {name: table for name, table in found.items() if table is not None}

    def learn(
        self,
        f: TokenFeatures,
        y: NDArray[np.int32],
        order: NDArray[np.int64],
        *,
        margin: float,
        counts: _native.TagCounts,
        z: NDArray[np.int32],
        updated: NDArray[np.uint8],
        replay: bool = False,
    ) -> None:
        """Learns from the sentences `order`, in place.

        Parameters
        ----------
        f, y : the features and the labels of all tokens.
        order : the sentences, in the order in which they are learned from.
        margin : by which the score of the right label is lowered at every token.
        counts : what the learner counts, which is updated.
        z : (tokens,), to which the labellings are written; or which holds them, if `replay`.
        updated : as long as `order`, to which is written whether a sentence changed the weights.
        replay : False (default): Viterbi finds the labellings. True: they are given, and only the updates are made.
        """
        second, observed = self.second, self.observed
        _native.learn_sentences(
            f.starts,
            f.indptr,
            f.ids,
            f.values,
            f.bigram_indptr if observed is not None else None,
            f.bigram_ids if observed is not None else None,
            order,
            y,
            margin,
            replay,
            self.n_labels,
            self.rows,
            self.features.w,
            self.features.moment,
            self.transitions.w,
            self.transitions.moment,
            None if second is None else second.w,
            None if second is None else second.moment,
            None if observed is None else observed.w,
            None if observed is None else observed.moment,
            counts,
            z,
            updated,
        )

    def lattice(self, f: TokenFeatures, rounds: int | None) -> Lattice:
        """The scores of all labellings of a few sentences: of the present guess, or the average over so many rounds."""
        dtype = self.features.w.dtype  # that of a frozen model, so that both round alike
        rows, place = np.unique(self.rows[f.ids], return_inverse=True)
        ones = (np.ones(len(f.ids)) if f.values is None else f.values).astype(dtype)
        counts = sp.csr_array((ones, place.astype(np.int64), f.indptr), shape=(f.n_tokens, len(rows)))
        E = np.ascontiguousarray(counts @ self.features.weights(rounds, rows).astype(dtype))
        first = self.transitions.weights(rounds).astype(dtype)[None]
        second = None if self.second is None else self.second.weights(rounds).astype(dtype)
        if self.observed is not None and f.bigram_ids is not None and f.bigram_indptr is not None:
            first = np.repeat(first, f.n_tokens, axis=0)
            token = np.repeat(np.arange(f.n_tokens), np.diff(f.bigram_indptr))
            np.add.at(first, token, self.observed.weights(rounds, f.bigram_ids).astype(dtype))
        return Lattice(self.n_labels, f.starts, E, first, second)
