"""Input of a tagger: sentences in any of their forms, and their tags, checked once."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from onkel.checks import check_matrix
from onkel.errors import InputError, KindError, ShapeError
from onkel.text.corpus import Corpus, TokenColumn
from onkel.text.string_features import TokenMatrix, sentence_starts, stacked

__all__ = ["Tags", "read_sequences", "read_tags"]

Ints = NDArray[np.int64]


class Tags(NamedTuple):
    """The tags of some sentences: the distinct ones, and the place of each token's tag among these."""

    values: tuple[str, ...]
    codes: NDArray[np.int32]
    starts: Ints

    def numbered(self, labels: Sequence[str]) -> NDArray[np.int32]:
        """The number of each token's tag among the labels, −1 if it is not among them."""
        places = {label: i for i, label in enumerate(labels)}
        return np.array([places.get(value, -1) for value in self.values], dtype=np.int32)[self.codes]


def is_matrix(X: Any) -> bool:
    """Whether X is a matrix of numbers: sparse, or an array with two dimensions."""
    return sp.issparse(X) or (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype != object)


def are_matrices(X: Any) -> bool:
    """Whether X is a list of matrices, one for each sentence."""
    return not isinstance(X, Corpus) and isinstance(X, Sequence) and len(X) > 0 and is_matrix(X[0])


def read_sequences(X: Any, lengths: Any, who: str) -> Any:
    """Matrices as one `TokenMatrix`; an iterator as a list; sentences of any other form as they are."""
    if isinstance(X, Iterator):  # it can be read only once
        X = list(X)
    if is_matrix(X):
        if lengths is None:
            raise InputError(f"{who}: a matrix of tokens needs lengths, the number of tokens of each sentence.")
        given = np.asarray(lengths)
        if given.ndim != 1 or given.dtype.kind not in "iu":
            raise KindError(f"{who}: lengths must be a list of whole numbers; got {lengths!r}.")
        matrix, starts = check_matrix(X, who=who), sentence_starts(given.tolist(), "lengths")
        if starts[-1] != matrix.shape[0]:
            raise ShapeError(f"{who}: lengths must sum to the {matrix.shape[0]} rows of X; they sum to {starts[-1]}.")
        return TokenMatrix(matrix, starts)
    if lengths is not None:
        raise InputError(f"{who}: lengths are for a matrix with a row for each token; got {type(X).__name__}.")
    if hasattr(X, "__len__") and len(X) == 0:
        raise ShapeError(f"{who}: there must be at least one sentence; got none.")
    if are_matrices(X):
        return stacked(X, who)
    return X


def read_tags(tags: Any, starts: Ints, who: str) -> Tags:
    """The tags of sentences whose tokens begin at `starts`; one list of strings for each sentence."""
    if isinstance(tags, TokenColumn):
        found = _of_column(tags)
    else:
        found = _of_lists(tags, who)
    lengths, wanted = np.diff(found.starts), np.diff(starts)
    if len(lengths) != len(wanted):
        raise ShapeError(f"{who}: there must be tags for each of the {len(wanted)} sentences; got {len(lengths)}.")
    wrong = np.flatnonzero(lengths != wanted)
    if len(wrong):
        s = int(wrong[0])
        raise ShapeError(f"{who}: sequences[{s}] has {wanted[s]} tokens but tags[{s}] has {lengths[s]} tags.")
    return found


def _of_column(tags: TokenColumn) -> Tags:
    """The tags of a column; a part of a corpus shares the strings of the whole, of which some may not occur."""
    used = np.bincount(tags.codes, minlength=len(tags.values)) > 0
    if used.all():
        return Tags(tags.values, tags.codes, tags.starts)
    codes = (np.cumsum(used) - 1).astype(np.int32)[tags.codes]
    return Tags(tuple(itertools.compress(tags.values, used.tolist())), codes, tags.starts)


def _of_lists(tags: Any, who: str) -> Tags:
    if isinstance(tags, (str, bytes)) or not isinstance(tags, (Collection, np.ndarray)):
        raise KindError(f"{who}: tags must be a list with a list of tags for each sentence; got {tags!r}.")
    places: dict[Any, int] = {}
    codes: list[int] = []
    lengths = []
    for s, sentence in enumerate(tags):
        if isinstance(sentence, (str, bytes)) or not hasattr(sentence, "__len__"):
            raise KindError(f"{who}: tags[{s}] must be a list of tags, one for each token; got {sentence!r}.")
        lengths.append(len(sentence))
        codes += [places.setdefault(tag, len(places)) for tag in sentence]
    bad = [tag for tag in places if not isinstance(tag, str)]
    if bad:
        raise KindError(f"{who}: tags must be strings; got {bad[0]!r}. Write str(tag).")
    starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    return Tags(tuple(map(str, places)), np.array(codes, dtype=np.int32), starts)
