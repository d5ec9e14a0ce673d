"""Sentences as columns of tokens: every distinct string is stored once, and a token is a row of small numbers.

A file of 200 000 tokens has some 20 000 distinct words and 50 tags. Kept as codes it takes 4 bytes per token and
column, and what depends on a word alone, such as its lower case, is computed once per word instead of once per token.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self, overload

import numpy as np
from numpy.typing import NDArray

from onkel.errors import InputError, KindError, ParameterError, ShapeError, shown

__all__ = ["Corpus", "TokenColumn"]

Codes = NDArray[np.int32]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class TokenColumn(Sequence[list[str]]):
    """One column of a corpus, such as its tags: a sequence of lists of strings, one list per sentence.

    ``values[codes[starts[i]:starts[i + 1]]]`` are the strings of sentence i. A slice or an index array gives a
    TokenColumn of these sentences.

    Parameters
    ----------
    values : the distinct strings.
    codes : for each token, the index of its string in `values`, shape (tokens,).
    starts : where each sentence begins, and the number of tokens, shape (sentences + 1,).

    >>> from onkel.data import Corpus
    >>> column = Corpus.of([[("He", "PRP"), ("runs", "VBZ")], [("Run", "VB")]], ["word", "pos"])["pos"]
    >>> column[0], column.values, column.codes.tolist()
    (['PRP', 'VBZ'], ('PRP', 'VBZ', 'VB'), [0, 1, 2])
    """

    values: tuple[str, ...]
    codes: Codes
    starts: Ints

    def __post_init__(self) -> None:
        _freeze(self, "values", tuple(self.values))
        _freeze(self, "codes", _codes(self.codes, len(self.values), "TokenColumn"))
        _freeze(self, "starts", _starts(self.starts, len(self.codes), "TokenColumn"))

    def __len__(self) -> int:
        return len(self.starts) - 1

    @overload
    def __getitem__(self, index: int) -> list[str]: ...
    @overload
    def __getitem__(self, index: slice | NDArray | list[int]) -> TokenColumn: ...
    def __getitem__(self, index: Any) -> Any:
        if _is_number(index):
            begin, end = _bounds(self.starts, index, "TokenColumn")
            values = self.values
            return [values[code] for code in self.codes[begin:end].tolist()]
        tokens, starts = _selected(self.starts, index, "TokenColumn")
        return TokenColumn(self.values, self.codes[tokens], starts)

    def __iter__(self) -> Iterator[list[str]]:
        return iter(self.tolist())

    def tolist(self) -> list[list[str]]:
        """All sentences as lists of strings."""
        values, starts = self.values, self.starts.tolist()
        words = [values[code] for code in self.codes.tolist()]
        return [words[begin:end] for begin, end in pairwise(starts)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TokenColumn):
            return NotImplemented
        return np.array_equal(self.starts, other.starts) and _same_strings(self, other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"TokenColumn({len(self)} sentences, {len(self.codes)} tokens, {len(self.values)} distinct)"


@dataclass(frozen=True, eq=False, repr=False)
class Corpus(Sequence[list[Any]]):
    """Sentences whose tokens are rows of strings: a word, its part of speech, a tag.

    A sequence of sentences. ``corpus[i]`` is a list of tuples of strings (a list of strings if there is one column),
    ``corpus[a:b]`` and ``corpus[index array]`` are corpora, ``corpus["chunk"]`` is a `TokenColumn`. A sentence has at
    least one token. Make one with `Corpus.of` or `onkel.data.read_conll`; two corpora are equal if they have the same
    column names and strings.

    Parameters
    ----------
    columns : names of the columns, each once.
    codes : per column, for each token the index of its string in `values`, shape (tokens,).
    values : per column, its distinct strings.
    starts : where each sentence begins, and the number of tokens, shape (sentences + 1,).

    Cost: 4 bytes per token and column, plus the distinct strings, which corpora made from this one share.

    >>> from onkel.data import Corpus
    >>> corpus = Corpus.of([[("He", "PRP"), ("runs", "VBZ")], [("Run", "VB")]], ["word", "pos"])
    >>> corpus
    Corpus(2 sentences, 3 tokens, columns: word, pos)
    >>> corpus[1], corpus.without("pos")[0], corpus["pos"][0]
    ([('Run', 'VB')], ['He', 'runs'], ['PRP', 'VBZ'])
    """

    columns: tuple[str, ...]
    codes: tuple[Codes, ...]
    values: tuple[tuple[str, ...], ...]
    starts: Ints

    def __post_init__(self) -> None:
        _freeze(self, "columns", check_names(self.columns, "Corpus"))
        if not len(self.columns) == len(self.codes) == len(self.values):
            raise ShapeError(
                f"Corpus: columns, codes and values must have one entry per column; got {len(self.columns)}, "
                f"{len(self.codes)} and {len(self.values)}."
            )
        _freeze(self, "values", tuple(tuple(v) for v in self.values))
        codes = tuple(_codes(c, len(v), "Corpus") for c, v in zip(self.codes, self.values, strict=True))
        _freeze(self, "codes", codes)
        n = len(codes[0]) if codes else 0
        if any(len(c) != n for c in codes):
            raise ShapeError(f"Corpus: all columns must have as many tokens; got {[len(c) for c in codes]}.")
        _freeze(self, "starts", _starts(self.starts, n, "Corpus"))

    @classmethod
    def of(cls, sequences: Any, columns: Sequence[str] | None = None) -> Self:
        """A corpus from sentences in lists.

        Parameters
        ----------
        sequences : list of sentences, each a list of at least one token; a token is a string (one column), or a tuple
            or list of as many strings as every other token. A Corpus, or a TokenColumn, is taken as it is.
        columns : names of the columns; None (default): those of a Corpus, else "0", "1", …
        """
        if isinstance(sequences, Corpus):
            if columns is None and isinstance(sequences, cls):
                return sequences
            names = sequences.columns if columns is None else check_names(columns, "Corpus.of")
            return cls(names, sequences.codes, sequences.values, sequences.starts)
        if isinstance(sequences, TokenColumn):
            names = ("0",) if columns is None else check_names(columns, "Corpus.of")
            return cls(names, (sequences.codes,), (sequences.values,), sequences.starts)
        tokens, starts = _flat(sequences, "Corpus.of")
        rows = _rows(tokens, starts, None if columns is None else len(columns))
        names = tuple(str(c) for c in range(len(rows))) if columns is None else check_names(columns, "Corpus.of")
        if not tokens and len(rows) != len(names):
            rows = [()] * len(names)
        interned = [_interned(row, "Corpus.of") for row in rows]
        return cls(names, tuple(codes for codes, _ in interned), tuple(values for _, values in interned), starts)

    @property
    def n_tokens(self) -> int:
        """The number of tokens of all sentences together."""
        return int(self.starts[-1])

    def __len__(self) -> int:
        return len(self.starts) - 1

    @overload
    def __getitem__(self, index: int) -> list[Any]: ...
    @overload
    def __getitem__(self, index: str) -> TokenColumn: ...
    @overload
    def __getitem__(self, index: slice | NDArray | list[int]) -> Corpus: ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, str):
            c = self._place(index)
            return TokenColumn(self.values[c], self.codes[c], self.starts)
        if _is_number(index):
            begin, end = _bounds(self.starts, index, "Corpus")
            return self._tokens(begin, end)
        tokens, starts = _selected(self.starts, index, "Corpus")
        return Corpus(self.columns, tuple(c[tokens] for c in self.codes), self.values, starts)

    def __iter__(self) -> Iterator[list[Any]]:
        starts = self.starts.tolist()
        return (self._tokens(begin, end) for begin, end in pairwise(starts))

    def _tokens(self, begin: int, end: int) -> list[Any]:
        """The strings of some tokens: tuples, or single strings if there is one column."""
        rows = [
            [values[code] for code in codes[begin:end].tolist()]
            for codes, values in zip(self.codes, self.values, strict=True)
        ]
        return rows[0] if len(rows) == 1 else list(zip(*rows, strict=True))

    def only(self, *columns: str) -> Corpus:
        """A corpus with these columns only, in this order."""
        places = [self._place(name) for name in columns]
        if not places:
            raise ParameterError(f"Corpus.only needs at least one of the columns {', '.join(self.columns)}; got none.")
        return Corpus(columns, tuple(self.codes[c] for c in places), tuple(self.values[c] for c in places), self.starts)

    def without(self, *columns: str) -> Corpus:
        """A corpus without these columns."""
        left_out = {self.columns[self._place(name)] for name in columns}
        return self.only(*(name for name in self.columns if name not in left_out))

    def with_column(self, name: str, strings: Any) -> Corpus:
        """A corpus with one more column, or with another one of this name.

        `strings` is a TokenColumn or a list of lists of strings, as many as the sentences have tokens.
        """
        column = strings if isinstance(strings, TokenColumn) else Corpus.of(strings, [name])[name]
        if not np.array_equal(column.starts, self.starts):
            raise ShapeError(
                f"Corpus.with_column: {name!r} must have a string per token, {_lengths(self.starts)}; got "
                f"{_lengths(column.starts)}" + _first_difference(self.starts, column.starts)
            )
        names, codes, values = list(self.columns), list(self.codes), list(self.values)
        if name not in names:
            names, codes, values = [*names, name], [*codes, column.codes], [*values, column.values]
        place = names.index(name)
        codes[place], values[place] = column.codes, column.values
        return Corpus(tuple(names), tuple(codes), tuple(values), self.starts)

    def _place(self, name: str) -> int:
        if name not in self.columns:
            raise InputError(f"Corpus: a column must be one of {', '.join(self.columns) or '(none)'}; got {name!r}.")
        return self.columns.index(name)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Corpus):
            return NotImplemented
        alike = self.columns == other.columns and np.array_equal(self.starts, other.starts)
        return alike and all(_same_strings(self[name], other[name]) for name in self.columns)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Corpus({_lengths(self.starts)}, columns: {', '.join(self.columns) or '(none)'})"


# ---------------------------------------------------------------- checks


def _freeze(instance: Any, name: str, value: Any) -> None:
    object.__setattr__(instance, name, value)


def _frozen(array: NDArray, dtype: type) -> NDArray:
    """The array itself if nobody can write to its memory, so that corpora share it; else a copy, which is read-only."""
    owner: Any = array
    while isinstance(owner, np.ndarray) and not owner.flags.writeable:
        owner = owner.base
    if owner is None and array.dtype == dtype and array.flags.c_contiguous:
        return array
    own: NDArray = np.array(array, dtype=dtype, order="C")
    own.flags.writeable = False
    return own


def _codes(codes: Any, n_values: int, who: str) -> Codes:
    array = np.asarray(codes)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise KindError(f"{who}: codes must be whole numbers, one per token; got {array.dtype} {array.shape}.")
    if array.size and not 0 <= int(array.min()) <= int(array.max()) < n_values:
        raise InputError(
            f"{who}: codes must be indices into the {n_values} values; got {array.min()} to {array.max()}."
        )
    return _frozen(array, np.int32)


def _starts(starts: Any, n_tokens: int, who: str) -> Ints:
    array = np.asarray(starts)
    if array.ndim != 1 or array.dtype.kind not in "iu" or not array.size:
        raise KindError(f"{who}: starts must be (sentences + 1,) whole numbers; got {array.dtype} {array.shape}.")
    array = _frozen(array, np.int64)
    if array[0] != 0 or array[-1] != n_tokens or (np.diff(array) < 1).any():
        raise InputError(
            f"{who}: starts must ascend from 0 to the number of tokens, {n_tokens}, as a sentence has at least one "
            f"token; got {array[0]} to {array[-1]}, the shortest sentence {np.diff(array).min(initial=n_tokens)}."
        )
    return array


def check_names(columns: Any, who: str) -> tuple[str, ...]:
    """Names of columns: strings that are not empty, each once."""
    if isinstance(columns, str) or not isinstance(columns, Sequence) or not all(isinstance(c, str) for c in columns):
        raise KindError(f"{who}: columns must be a list of names such as ['word', 'pos']; got {columns!r}.")
    if len(set(columns)) != len(columns) or "" in columns:
        raise ParameterError(f"{who}: columns must have names, each once; got {list(columns)}.")
    return tuple(columns)


def _lengths(starts: Ints) -> str:
    sentences, tokens = len(starts) - 1, int(starts[-1])
    return f"{sentences} sentence{'s' * (sentences != 1)}, {tokens} token{'s' * (tokens != 1)}"


def _first_difference(expected: Ints, got: Ints) -> str:
    lengths, others = np.diff(expected), np.diff(got)
    n = min(len(lengths), len(others))
    wrong = np.flatnonzero(lengths[:n] != others[:n])
    if not wrong.size:
        return "."
    i = wrong[0]
    return f"; corpus[{i}] has {lengths[i]} and strings[{i}] {others[i]}."


# ---------------------------------------------------------------- from lists


def _flat(sequences: Any, who: str) -> tuple[list[Any], Ints]:
    """All tokens in one list, and where each sentence begins."""
    if isinstance(sequences, (str, bytes, dict)) or not hasattr(sequences, "__iter__"):
        raise KindError(f"{who}: sequences must be a list of sentences; got {type(sequences).__name__}.")
    tokens: list[Any] = []
    starts = [0]
    for i, sentence in enumerate(sequences):
        if isinstance(sentence, (str, bytes, dict)) or not hasattr(sentence, "__iter__"):
            raise KindError(f"{who}: sequences[{i}] must be a list of tokens; got {shown(sentence)}. Split it first.")
        tokens.extend(sentence)
        if len(tokens) == starts[-1]:
            raise InputError(f"{who}: each sentence must have a token; sequences[{i}] is empty. Leave it out.")
        starts.append(len(tokens))
    return tokens, np.array(starts, dtype=np.int64)


def _rows(tokens: list[Any], starts: Ints, n_columns: int | None) -> list[Sequence[str]]:
    """The strings of each column."""
    if not tokens or isinstance(tokens[0], str):
        rows: list[Sequence[str]] = [tokens]
        width, wanted = 1, "a string, as the first token"
        good = all(isinstance(token, str) for token in tokens)
    else:
        width = len(tokens[0]) if isinstance(tokens[0], (tuple, list)) else 0
        wanted = f"a tuple of {width} strings, as the first token" if width else "a string, or a tuple of strings"
        good = width > 0 and all(isinstance(token, (tuple, list)) and len(token) == width for token in tokens)
        rows = list(zip(*tokens, strict=True)) if good else []
        good = good and all(isinstance(value, str) for row in rows for value in row)
    if not good:
        first = isinstance(tokens[0], str)
        bad = next(i for i, token in enumerate(tokens) if not _is_token(token, width, first))
        sentence = int(np.searchsorted(starts, bad, side="right")) - 1
        raise KindError(
            f"Corpus.of: each token must be {wanted}; sequences[{sentence}][{bad - starts[sentence]}] is "
            f"{shown(tokens[bad])}."
        )
    if n_columns is not None and tokens and n_columns != width:
        raise ShapeError(f"Corpus.of: there are {n_columns} names of columns; got tokens of {width} column(s).")
    return rows


def _is_token(token: Any, width: int, single: bool) -> bool:
    if single:
        return isinstance(token, str)
    return isinstance(token, (tuple, list)) and len(token) == width > 0 and all(isinstance(v, str) for v in token)


def _interned(strings: Sequence[str], who: str) -> tuple[Codes, tuple[str, ...]]:
    """Distinct strings in the order in which they come, and their codes."""
    known = dict.fromkeys(strings)
    try:
        "".join(known).encode()
    except UnicodeEncodeError as error:
        bad = next(value for value in known if any("\ud800" <= c <= "\udfff" for c in value))
        raise InputError(f"{who}: strings must be valid Unicode; {bad!r} has a lone surrogate.") from error
    place = {value: code for code, value in enumerate(known)}
    codes = np.fromiter(map(place.__getitem__, strings), dtype=np.int32, count=len(strings))
    return codes, tuple(known)


# ---------------------------------------------------------------- sentences of a corpus


def _is_number(index: Any) -> bool:
    return isinstance(index, (int, np.integer)) and not isinstance(index, (bool, np.bool_))


def _bounds(starts: Ints, index: int, who: str) -> tuple[int, int]:
    n = len(starts) - 1
    i = index + n if index < 0 else index
    if not 0 <= i < n:
        raise IndexError(f"{who}: index {index} is out of range for {n} sentences.")
    return int(starts[i]), int(starts[i + 1])


def _selected(starts: Ints, index: Any, who: str) -> tuple[Any, Ints]:
    """Which tokens the sentences of an index have, and where each of them begins then."""
    n = len(starts) - 1
    if isinstance(index, slice):
        first, stop, step = index.indices(n)
        if step == 1:
            own = starts[first : max(first, stop) + 1]
            return slice(int(own[0]), int(own[-1])), own - own[0]
        index = np.arange(first, stop, step)
    array = np.asarray(index) if np.size(index) else np.zeros(0, dtype=np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iub" or (array.dtype.kind == "b" and len(array) != n):
        raise KindError(
            f"{who}: an index must be a number, a slice, an array of sentence numbers or of {n} booleans, or the name "
            f"of a column; got {shown(index)}."
        )
    array = np.flatnonzero(array) if array.dtype.kind == "b" else array.astype(np.int64)
    if array.size and not -n <= int(array.min()) <= int(array.max()) < n:
        raise IndexError(f"{who}: sentence numbers must be below {n}; got {array.min()} to {array.max()}.")
    array = np.where(array < 0, array + n, array)
    lengths = starts[array + 1] - starts[array]
    new = np.concatenate([[0], np.cumsum(lengths)])
    return np.arange(new[-1]) + np.repeat(starts[array] - new[:-1], lengths), new


def _same_strings(a: TokenColumn, b: TokenColumn) -> bool:
    """Whether two columns of as many tokens have the same strings; their codes may differ."""
    place: dict[str, int] = {}
    mine, others = (
        np.array([place.setdefault(value, len(place)) for value in column.values], dtype=np.int64) for column in (a, b)
    )
    return not len(a.codes) or np.array_equal(mine[a.codes], others[b.codes])
