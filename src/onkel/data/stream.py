"""Streams: examples in order, one by one or in chunks, in bounded memory.

A `Stream` reads from one of three kinds of sources. Each of them yields pairs (x, y) or chunks (X, y):

    _Arrays   data in memory. Rows are sliced, so the data can be shuffled and its length is known.
    _Pairs    an iterable of pairs (x, y). A chunk takes as many pairs as it needs, and no more.
    _Blocks   an iterable of batches (X, y), which are cut and joined into chunks of the requested size.

The last two can be read several times if their iterable is a list, or a function that returns a new iterator. An
iterator can be read only once; a second reading raises an error, instead of giving an empty stream. Values are not
checked here: the estimator does that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from numbers import Real
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from onkel.checks import check_integer
from onkel.errors import InputError, KindError, ShapeError, shown

__all__ = ["Stream"]

Pair: TypeAlias = tuple[Any, Any]
Chunk: TypeAlias = tuple[Any, NDArray[Any]]

READ = 1024  # rows of a block from which single examples are taken when a stream over arrays is iterated
AGAIN = "Give a list, or a function that makes a new iterator, to read it again."


class Stream:
    """Examples (x, y) in order, from arrays or from an iterable.

    ``for x, y in stream`` yields the examples one by one, and ``stream.chunks(size)`` yields batches for `partial_fit`;
    both start at the first example. ``Stream(X, y)`` reads from arrays, `Stream.of` from an iterable of pairs, and
    `Stream.of_chunks` from an iterable of batches.

    Parameters
    ----------
    X : rows, at least one: an array (n, d), a SciPy sparse matrix, a data frame, or a list of objects such as strings
        or dicts. Arrays and data frames are not copied. Chunks of a data frame are data frames, with its column names.
    y : a label or target per row, shape (n,).

    Cost: a chunk of arrays is a slice; a chunk of an iterable holds only its own examples in memory.

    >>> from onkel.data import Stream
    >>> stream = Stream([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], ["a", "b", "a"])
    >>> [(X.tolist(), y.tolist()) for X, y in stream.chunks(2)]
    [([[0.0, 1.0], [2.0, 3.0]], ['a', 'b']), ([[4.0, 5.0]], ['a'])]
    >>> [y for x, y in stream.take(2)], len(stream), Stream.of(zip("xyz", [1, 2, 3]))
    (['a', 'b'], 3, Stream.of(an iterator))

    Source: the datasets of river, which also give (x, y) one by one; Gama, Sebastião and Rodrigues 2013.
    """

    def __init__(self, X: Any, y: Any) -> None:
        rows, labels = _rows(X, "Stream"), _labels(y, "Stream: y")
        n = _count(rows)
        if labels.shape != (n,):
            raise ShapeError(
                f"Stream: y must give a label per row of X, shape ({n},); got shape {labels.shape}."
                + (" Use y.ravel()." if labels.shape == (n, 1) else "")
            )
        if n == 0:
            raise ShapeError("Stream: X must have at least one row; got none.")
        self._source: _Source = _Arrays(rows, labels)

    @classmethod
    def of(cls, pairs: Iterable[Pair] | Callable[[], Iterable[Pair]]) -> Self:
        """A stream over pairs (x, y), where x is a vector, a sparse row, a dict or another object.

        `pairs` is an iterable of pairs, such as a list, a generator or a dataset of river, or a function without
        arguments that returns one. A chunk of vectors is an array, a chunk of sparse rows is a CSR matrix, and a chunk
        of anything else is a list.
        """
        if isinstance(pairs, cls):
            return pairs
        made, length = _readings(pairs, "Stream.of: pairs", "pairs (x, y)")
        return cls._over(_Pairs(made, length))

    @classmethod
    def of_chunks(cls, chunks: Iterable[Chunk] | Callable[[], Iterable[Chunk]], length: int | None = None) -> Self:
        """A stream over batches (X, y) of any sizes, which are independent of the chunk sizes requested later.

        `chunks` is an iterable of batches, or a function without arguments that returns one. `length` ≥ 1 is the total
        number of examples; None (default): unknown. Data frames are converted to arrays.
        """
        made, _ = _readings(chunks, "Stream.of_chunks: chunks", "batches (X, y)")
        if length is not None:
            length = check_integer(length, "length", "Stream.of_chunks", at_least=1)
        return cls._over(_Blocks(made, length))

    @classmethod
    def _over(cls, source: _Source) -> Self:
        """A stream that reads from a source."""
        stream = cls.__new__(cls)
        stream._source = source
        return stream

    def __iter__(self) -> Iterator[Pair]:
        return self._source.pairs()

    def chunks(self, size: int) -> Iterator[Chunk]:
        """Yields batches (X, y) of `size` ≥ 1 examples; the last one may be smaller."""
        return self._source.chunks(check_integer(size, "size", "Stream.chunks", at_least=1))

    def take(self, n: int) -> Stream:
        """A stream of the first `n` ≥ 1 examples, or of all if there are fewer; it does not read beyond them."""
        return self._over(self._source.take(check_integer(n, "n", "Stream.take", at_least=1)))

    def shuffled(self, random_state: Any = None) -> Stream:
        """A stream of the same examples in a random order, which is the same at every reading; for arrays only.

        `random_state` is a seed or a RandomState; None (default): a new order at every call.
        """
        if not isinstance(self._source, _Arrays):
            raise KindError(
                "Stream.shuffled needs all the data, as in Stream(X, y); got a stream that comes bit by bit. "
                "Shuffle where the examples come from."
            )
        order = check_random_state(random_state).permutation(len(self))
        return self._over(self._source.ordered(order))

    def __len__(self) -> int:
        length = self._source.length
        if length is None:
            raise KindError("Stream: the length of a stream that comes bit by bit is known only at its end.")
        return length

    def __repr__(self) -> str:
        source, length = self._source, self._source.length
        if isinstance(source, _Arrays):
            return f"Stream({length} examples)"
        of = "Stream.of" if isinstance(source, _Pairs) else "Stream.of_chunks"
        return f"{of}({'an iterator' if length is None else f'{length} examples'})"


# ---------------------------------------------------------------- sources


class _Source(Protocol):
    """What a stream reads from; `length` is the number of examples, or None if it is unknown."""

    @property
    def length(self) -> int | None: ...
    def pairs(self) -> Iterator[Pair]: ...
    def chunks(self, size: int) -> Iterator[Chunk]: ...
    def take(self, n: int) -> _Source: ...


class _Arrays:
    """Rows in memory, visited in the order of the indices `order` (None: from first to last)."""

    def __init__(self, X: Any, y: NDArray[Any], order: NDArray[np.intp] | None = None) -> None:
        self.X, self.y, self.order = X, y, order
        self.length = len(y) if order is None else len(order)

    def chunks(self, size: int) -> Iterator[Chunk]:
        for start in range(0, self.length, size):
            index: Any = slice(start, min(start + size, self.length))
            if self.order is not None:
                index = self.order[index]
            yield _some(self.X, index), self.y[index]

    def pairs(self) -> Iterator[Pair]:
        return _unpacked(self.chunks(READ))

    def take(self, n: int) -> _Arrays:
        if self.order is None:
            return _Arrays(_some(self.X, slice(n)), self.y[:n])
        return _Arrays(self.X, self.y, self.order[:n])

    def ordered(self, order: NDArray[np.intp]) -> _Arrays:
        return _Arrays(self.X, self.y, order if self.order is None else self.order[order])


class _Pairs:
    """An iterable of pairs (x, y); `made` returns a new iterator over it."""

    def __init__(self, made: Callable[[], Iterator[Any]], length: int | None) -> None:
        self.made, self.length = made, length

    def pairs(self) -> Iterator[Pair]:
        return map(_pair, self.made())

    def chunks(self, size: int) -> Iterator[Chunk]:
        return _gathered(self.pairs(), size)

    def take(self, n: int) -> _Pairs:
        return _Pairs(lambda: islice(self.made(), n), None if self.length is None else min(n, self.length))


class _Blocks:
    """An iterable of batches (X, y), up to `stop` examples; `made` returns a new iterator over it."""

    def __init__(self, made: Callable[[], Iterator[Any]], length: int | None, stop: int | None = None) -> None:
        self.made, self.length, self.stop = made, length, stop

    def _blocks(self) -> Iterator[Chunk]:
        return _cut(self.made(), self.stop)

    def pairs(self) -> Iterator[Pair]:
        return _unpacked(self._blocks())

    def chunks(self, size: int) -> Iterator[Chunk]:
        return _resized(self._blocks(), size)

    def take(self, n: int) -> _Blocks:
        stop = n if self.stop is None else min(n, self.stop)
        return _Blocks(self.made, None if self.length is None else min(n, self.length), stop)


class _Once:
    """Returns its iterator at the first call and raises an error at the second."""

    def __init__(self, iterator: Iterator[Any], who: str) -> None:
        self.iterator: Iterator[Any] | None = iterator
        self.who = who

    def __call__(self) -> Iterator[Any]:
        if self.iterator is None:
            raise InputError(f"{self.who} was an iterator, which can be read once, and it has been. {AGAIN}")
        iterator, self.iterator = self.iterator, None
        return iterator


def _readings(source: Any, who: str, what: str) -> tuple[Callable[[], Iterator[Any]], int | None]:
    """A function that returns a new iterator over `source`, and the length of `source`, if it has one.

    `source` is an iterable or a function that returns one; `what` describes its elements in error messages.
    """
    if callable(source) and not isinstance(source, Iterable):
        return lambda: iter(_iterable(source(), who, what)), None
    iterable = _iterable(source, who, what)
    if isinstance(iterable, Iterator):
        return _Once(iterable, who), None
    length = len(iterable) if isinstance(iterable, Sequence) else None
    if length == 0:
        raise InputError(f"{who} must give at least one of {what}; got an empty {type(iterable).__name__}.")
    return lambda: iter(iterable), length


def _iterable(source: Any, who: str, what: str) -> Iterable[Any]:
    """Checks that `source` is an iterable of examples or batches."""
    if isinstance(source, (str, bytes, dict, np.ndarray)) or not isinstance(source, Iterable):
        raise KindError(
            f"{who} must be an iterable of {what} or a function that makes one; got {type(source).__name__}. "
            "For data that is all there write Stream(X, y)."
        )
    return source


# ---------------------------------------------------------------- pairs and chunks


def _pair(example: Any) -> Pair:
    """Checks that an example is a pair (x, y)."""
    if not isinstance(example, (tuple, list)) or len(example) != 2:
        raise KindError(f"Stream.of: each example must be a pair (x, y); got {shown(example)}.")
    return example[0], example[1]


def _gathered(pairs: Iterator[Pair], size: int) -> Iterator[Chunk]:
    """Collects pairs into batches; reads no further than the batch needs."""
    while batch := list(islice(pairs, size)):
        yield stacked([x for x, _ in batch]), _labels([y for _, y in batch], "Stream.of: the labels")


def _unpacked(chunks: Iterator[Chunk]) -> Iterator[Pair]:
    """The single examples of batches."""
    for X, y in chunks:
        yield from zip(_singles(X), y.tolist(), strict=True)


def _cut(blocks: Iterator[Any], stop: int | None) -> Iterator[Chunk]:
    """Checks batches and yields them until there are `stop` examples (None: no limit)."""
    remaining = stop
    while remaining is None or remaining > 0:
        block = next(blocks, None)
        if block is None:
            return
        if not isinstance(block, (tuple, list)) or len(block) != 2:
            raise KindError(f"Stream.of_chunks: each batch must be a pair (X, y); got {shown(block)}.")
        X, y = _rows(block[0], "Stream.of_chunks"), _labels(block[1], "Stream.of_chunks: y")
        n = _count(X)
        if y.shape != (n,):
            raise ShapeError(f"Stream.of_chunks: y must give a label per row of X, shape ({n},); got {y.shape}.")
        if _is_frame(X):
            X = np.asarray(X)
        if remaining is not None:
            X, y = _some(X, slice(remaining)), y[:remaining]
            remaining -= len(y)
        yield X, y


def _resized(blocks: Iterator[Chunk], size: int) -> Iterator[Chunk]:
    """Cuts and joins batches into batches of `size`; less than one batch of examples is waiting at any time."""
    waiting: list[Chunk] = []
    count = 0
    for X, y in blocks:
        start = 0
        while len(y) - start >= size - count:
            stop = start + size - count
            waiting.append((_some(X, slice(start, stop)), y[start:stop]))
            yield _joined(waiting)
            waiting, count, start = [], 0, stop
        if start < len(y):
            waiting.append((_some(X, slice(start, None)), y[start:]))
            count += len(y) - start
    if waiting:
        yield _joined(waiting)


def _joined(parts: list[Chunk]) -> Chunk:
    """Concatenates batches into one."""
    if len(parts) == 1:
        return parts[0]
    blocks = [X for X, _ in parts]
    y = np.concatenate([y for _, y in parts])
    if all(isinstance(X, list) for X in blocks):
        return [x for X in blocks for x in X], y
    if len({X.shape[1] if hasattr(X, "shape") else None for X in blocks}) > 1:
        raise ShapeError("Stream.of_chunks: all batches must have the same columns; got different numbers of them.")
    return sp.vstack(blocks, format="csr") if any(map(sp.issparse, blocks)) else np.concatenate(blocks), y


# ---------------------------------------------------------------- rows of any kind


def _rows(X: Any, who: str) -> Any:
    """X in a form that `_some` can index: an array (n, d), a CSR matrix, a data frame, or a list of objects."""
    if sp.issparse(X):
        if X.ndim != 2:
            raise ShapeError(f"{who}: X must have two dimensions; got shape {X.shape}.")
        return X.tocsr()
    if _is_frame(X):
        return X
    if isinstance(X, (str, bytes)) or not hasattr(X, "__len__"):
        raise KindError(
            f"{who}: X must be rows: an array, a sparse matrix, a data frame or a list of objects; "
            f"got {type(X).__name__}. For an iterable of pairs write Stream.of(pairs)."
        )
    if isinstance(X, (list, tuple)):
        return stacked(list(X)) if len(X) else np.empty((0, 0))
    array = np.asarray(X)
    if array.ndim == 1 and array.dtype.kind in "OUS":
        return array.tolist()
    if array.ndim != 2:
        advice = " For one feature write X[:, None]." if array.ndim == 1 else ""
        raise ShapeError(f"{who}: X must have shape (rows, columns); got shape {array.shape}.{advice}")
    return array


def stacked(rows: list[Any]) -> Any:
    """Joins single examples to a batch: vectors to an array, sparse rows to CSR, anything else to a list."""
    if sp.issparse(rows[0]):
        return sp.vstack([x.reshape(1, -1) for x in rows], format="csr")
    if not _is_vector(rows[0]):
        return rows
    lengths = {len(x) if _is_vector(x) else None for x in rows}
    if len(lengths) > 1:
        found = ", ".join(sorted("no vector" if n is None else str(n) for n in lengths))
        raise ShapeError(f"Stream: all vectors of a stream must have the same length; got {found}.")
    return np.array(rows)


def _is_vector(x: Any) -> bool:
    """Whether x is a row of numbers rather than an object."""
    if isinstance(x, np.ndarray):
        return x.ndim == 1 and x.dtype.kind in "fiub"
    return isinstance(x, (list, tuple)) and len(x) > 0 and isinstance(x[0], (Real, np.bool_))


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and len(getattr(X, "shape", ())) == 2


def _count(rows: Any) -> int:
    return len(rows) if isinstance(rows, list) else int(rows.shape[0])


def _some(rows: Any, index: Any) -> Any:
    """A selection of rows, by a slice or an array of row indices."""
    if hasattr(rows, "iloc"):
        return rows.iloc[index]
    if isinstance(rows, list) and not isinstance(index, slice):
        return [rows[i] for i in index]
    return rows[index]


def _singles(rows: Any) -> Iterator[Any]:
    """The rows one by one; sparse rows as matrices of one row."""
    if sp.issparse(rows):
        return (rows[i : i + 1] for i in range(rows.shape[0]))
    return iter(np.asarray(rows) if _is_frame(rows) else rows)


def _labels(y: Any, who: str) -> NDArray[Any]:
    """The labels as an array; raises an error for lists that mix strings and numbers, or are nested."""
    try:
        labels = np.asarray(y)
    except ValueError as error:
        raise ShapeError(f"{who} must be one for each example; {error}.") from error
    if isinstance(y, list):
        if labels.ndim != 1:
            raise ShapeError(f"{who} must be one for each example; got shape {labels.shape}.")
        if labels.dtype.kind in "US" and not all(isinstance(label, (str, bytes)) for label in y):
            raise KindError(f"{who} must be of one kind, all numbers or all strings; got both.")
    return labels
