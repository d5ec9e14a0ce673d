"""Updates of a structured perceptron: sentences with their labels y and the labellings z that were found for them.

The sum of the first k updates is the guess v_k of the run.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onkel.data.token_features import TokenFeatures
from onkel.errors import InputError
from onkel.models.state import State

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
    values = None if f[0].values is None else np.concatenate([one.values for one in f])
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


def updates_of_arrays(state: State, prefix: str, n_features: int, n_pairs: int, n_labels: int) -> Updates | None:
    """The updates whose arrays a state holds; refuses arrays that do not fit each other, as the core relies on them."""
    if prefix + "rounds" not in state.arrays:
        return None
    y, z, rounds = (state.array(prefix + name) for name in ("y", "z", "rounds"))
    starts, indptr, ids = (state.array(prefix + name) for name in ("starts", "indptr", "ids"))
    more = [state.arrays.get(prefix + name) for name in TokenFeatures._fields[3:]]
    fits = all(array.ndim == 1 for array in (y, z, rounds, starts, indptr, ids, *(a for a in more if a is not None)))
    fits = fits and len(rounds) > 0 and len(starts) == len(rounds) + 1 and bool(rounds[0] > 0) and _ascends(rounds)
    fits = fits and _points(starts, len(y)) and _ascends(starts) and len(z) == len(y) == len(indptr) - 1
    fits = fits and _points(indptr, len(ids)) and _within(ids, n_features) and _within(y, n_labels)
    fits = fits and _within(z, n_labels) and (more[0] is None or len(more[0]) == len(ids))
    if fits and more[1] is not None and more[2] is not None:
        fits = len(more[1]) == len(indptr) and _points(more[1], len(more[2])) and _within(more[2], n_pairs)
    if not fits:
        raise InputError(
            f"the state of kind {state.kind!r}: the arrays {prefix!r} must be those of one log of updates."
        )
    return Updates(TokenFeatures(starts, indptr, ids, *more), y, z, rounds)


def _ascends(numbers: NDArray) -> bool:
    return bool((np.diff(numbers) > 0).all())


def _points(pointers: NDArray, end: int) -> bool:
    """Whether pointers begin at 0, do not fall, and end where they should."""
    return bool(len(pointers) and pointers[0] == 0 and pointers[-1] == end and (np.diff(pointers) >= 0).all())


def _within(ids: NDArray, n: int) -> bool:
    """Whether all are whole numbers from 0 to below n."""
    return ids.dtype == np.int32 and (len(ids) == 0 or bool(0 <= ids.min() <= ids.max() < n))
