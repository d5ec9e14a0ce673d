"""Updates of a structured perceptron: sentences with their labels y and the labellings z that were found for them.

The sum of the first k updates is the guess v_k of the run.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onkel.states.state import LARGEST_COUNT, State
from onkel.text.token_features import TokenFeatures

__all__ = [
    "Updates",
    "chosen",
    "joined",
    "no_features",
    "places",
    "renumbered",
    "tokens_of",
    "updates_arrays",
    "updates_of_arrays",
]

Ints = NDArray[np.int64]


class Updates(NamedTuple):
    """The sentences of some updates, in order."""

    features: TokenFeatures
    y: NDArray[np.int32]  # (tokens,): the right labels
    z: NDArray[np.int32]  # (tokens,): those that were found
    rounds: Ints  # (updates,): the round of each update, from 1


def no_features(starts: Ints) -> TokenFeatures:
    """Sentences whose tokens have no features: only labels that follow one another are counted."""
    return TokenFeatures(starts, np.zeros(int(starts[-1]) + 1, dtype=np.int64), np.empty(0, dtype=np.int32))


def tokens_of(starts: Ints, sentences: Ints) -> Ints:
    """The tokens of some sentences, one sentence after the other."""
    lengths = starts[sentences + 1] - starts[sentences]
    ends = np.cumsum(lengths)
    return np.repeat(starts[sentences] - (ends - lengths), lengths) + np.arange(ends[-1] if len(ends) else 0)


def chosen(features: TokenFeatures, sentences: Ints) -> TokenFeatures:
    """The features of some sentences, in the order given; a sentence may come more than once."""
    f, tokens = features, tokens_of(features.starts, sentences)
    starts = np.concatenate([[0], np.cumsum(f.starts[sentences + 1] - f.starts[sentences])])
    entries = tokens_of(f.indptr, tokens)
    indptr = np.concatenate([[0], np.cumsum(f.indptr[tokens + 1] - f.indptr[tokens])])
    values = None if f.values is None else f.values[entries]
    if f.bigram_indptr is None or f.bigram_ids is None:
        return TokenFeatures(starts, indptr, f.ids[entries], values)
    b_entries = tokens_of(f.bigram_indptr, tokens)
    b_indptr = np.concatenate([[0], np.cumsum(f.bigram_indptr[tokens + 1] - f.bigram_indptr[tokens])])
    return TokenFeatures(starts, indptr, f.ids[entries], values, b_indptr, f.bigram_ids[b_entries])


def joined(parts: list[Updates]) -> Updates | None:
    """All updates as one; None if there are none."""
    if not parts:
        return None
    f = [part.features for part in parts]
    values = None
    if any(one.values is not None for one in f):  # of those without values all are 1
        values = np.concatenate([np.ones(len(one.ids)) if one.values is None else one.values for one in f])
    bigrams = None if f[0].bigram_indptr is None else _stacked([one.bigram_indptr for one in f])  # type: ignore[misc]
    b_ids = None if bigrams is None else np.concatenate([one.bigram_ids for one in f])
    ids = np.concatenate([one.ids for one in f])
    starts, indptr = _stacked([one.starts for one in f]), _stacked([one.indptr for one in f])
    y, z, rounds = (np.concatenate([part[k] for part in parts]) for k in (1, 2, 3))
    return Updates(TokenFeatures(starts, indptr, ids, values, bigrams, b_ids), y, z, rounds)


def _stacked(pointers: list[Ints]) -> Ints:
    """Pointers of parts that follow one another as the pointers of all."""
    ends = np.cumsum([p[-1] for p in pointers])
    return np.concatenate([pointers[0], *(p[1:] + end for p, end in zip(pointers[1:], ends, strict=False))])


def places(kept: Ints, n: int) -> NDArray[np.int32]:
    """The place of each of n ids among those that are kept, −1 for the others."""
    found = np.full(n, -1, dtype=np.int32)
    found[kept] = np.arange(len(kept), dtype=np.int32)
    return found


def renumbered(features: TokenFeatures, ids: NDArray[np.int32], pairs: NDArray[np.int32]) -> TokenFeatures:
    """The features with other ids: `ids` has the new id of each old one, −1 for those that are left out."""
    new = ids[features.ids]
    found = features._replace(ids=new).keeping(new >= 0)
    if features.bigram_ids is None or features.bigram_indptr is None:
        return found
    new = pairs[features.bigram_ids]
    other = features._replace(indptr=features.bigram_indptr, ids=new, values=None).keeping(new >= 0)
    return found._replace(bigram_indptr=other.indptr, bigram_ids=other.ids)


# ---------------------------------------------------------------- state


def updates_arrays(updates: Updates | None, prefix: str) -> dict[str, NDArray]:
    """The arrays of updates by name, for a state; none if there are no updates."""
    if updates is None:
        return {}
    fields = {**updates.features._asdict(), "y": updates.y, "z": updates.z, "rounds": updates.rounds}
    return {prefix + name: array for name, array in fields.items() if array is not None}


def updates_of_arrays(state: State, prefix: str, n_features: int, n_pairs: int | None, n_labels: int) -> Updates | None:
    """The updates whose arrays a state holds; refuses arrays that do not fit each other, as the core relies on them.

    `n_pairs` is the number of features of pairs of labels; None: there are no such features.
    """
    if prefix + "rounds" not in state.arrays:
        return None
    y = state.indices(prefix + "y", n_labels, dtype=np.int32)
    z = state.indices(prefix + "z", n_labels, len(y), np.int32)
    ids = state.indices(prefix + "ids", n_features, dtype=np.int32)
    indptr = state.offsets(prefix + "indptr", len(ids), len(y))
    values = state.optional_array(prefix + "values", np.float64, ids.shape)
    bigram_indptr, bigram_ids = None, None
    if n_pairs is not None:
        bigram_ids = state.indices(prefix + "bigram_ids", n_pairs, dtype=np.int32)
        bigram_indptr = state.offsets(prefix + "bigram_indptr", len(bigram_ids), len(y))
    rounds = state.indices(prefix + "rounds", LARGEST_COUNT)
    starts = state.offsets(prefix + "starts", len(y), len(rounds))
    ascend = len(rounds) > 0 and rounds[0] > 0 and _ascends(rounds) and _ascends(starts)
    state.check(ascend, f"the rounds of {prefix!r} must ascend from 1, and every sentence must have a token")
    return Updates(TokenFeatures(starts, indptr, ids, values, bigram_indptr, bigram_ids), y, z, rounds)


def _ascends(numbers: Ints) -> bool:
    return bool((numbers[1:] > numbers[:-1]).all())
