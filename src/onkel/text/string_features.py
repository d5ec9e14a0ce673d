"""Features that come with their tokens: strings, dicts, or rows of a matrix.

    ["w=the", "pos=DT"]           each string is a feature
    {"w": "the", "len": 3}        a string is the feature "w=the"; a number is the value of the feature "len"; True is
                                  1, False and None are left out; a list of strings gives a feature each
    X[i]                          a row of numbers: the columns are the features

A token may have no feature at all; a sentence must have a token.
"""

from __future__ import annotations

import itertools
import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from onkel._core import _native
from onkel.checks import check_integer, check_matrix
from onkel.errors import InputError, KindError, ParameterError, ShapeError, ValuesError
from onkel.states.state import State
from onkel.text.corpus import Corpus
from onkel.text.token_features import TokenFeatures

__all__ = ["StringFeatures", "TokenMatrix", "VectorFeatures", "sentence_starts", "token_matrix"]

Ints = NDArray[np.int64]
WHO = "features of tokens"
MOST_BITS = 30  # of an id that is a hash
MOST_FEATURES = 2**31 - 1  # ids are int32
UNKNOWN = -1
WAY_OUT = 'give templates, such as SequencePerceptron(templates="pos"), "chunking" or "ner".'


def sentence_starts(lengths: Iterable[int], what: str = "sequences") -> Ints:
    """Where sentences of these lengths begin, and the end; refuses a sentence without tokens."""
    starts = np.concatenate([[0], np.cumsum(np.fromiter(lengths, dtype=np.int64))])
    empty = np.flatnonzero(np.diff(starts) <= 0)
    if len(starts) == 1:
        raise ShapeError(f"{WHO}: {what} must hold at least one sentence; got none.")
    if len(empty):
        raise ShapeError(f"{WHO}: every sentence must have a token; {what}[{empty[0]}] has none. Leave it out.")
    return starts


class StringFeatures:
    """An index of features that are strings.

    Parameters
    ----------
    n_bits : None (default): every feature has an id of its own. A number: ids are hashes below 2**n_bits, which takes
        no memory for names; features with the same hash share their weights.

    >>> from onkel.text.string_features import StringFeatures
    >>> index = StringFeatures()
    >>> index.add([[["w=the", "DT"], ["w=cat", "NN"]]]).ids, index.find([[["NN", "w=a"]]]).ids
    (array([0, 1, 2, 3], dtype=int32), array([3], dtype=int32))
    """

    KIND: ClassVar[str] = "features/strings"
    VERSION: ClassVar[int] = 1

    n_bigrams = 0

    def __init__(self, n_bits: int | None = None) -> None:
        self.n_bits = n_bits
        self._table = _native.StringTable()  # of the names; empty if ids are hashes

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self._table.size if self.n_bits is None else 2**self.n_bits

    @property
    def has_names(self) -> bool:
        """Whether features are numbered as they come, not by their hashes."""
        return self.n_bits is None

    def add(self, sequences: Any) -> TokenFeatures:
        """The features of sentences; those that are new get the next ids, in the order in which they come."""
        return self._read(sequences, self._table.add)

    def find(self, sequences: Any) -> TokenFeatures:
        """The features of sentences, without those that are unknown."""
        found = self._read(sequences, self._table.find)
        return found.keeping(found.ids != UNKNOWN) if self.n_bits is None else found

    def _read(self, sequences: Any, number: Callable[[list[Any], NDArray], None]) -> TokenFeatures:
        """The features of sentences, whose ids `number` writes."""
        refuse_corpus(sequences)
        sentences = checked_sequences(sequences)
        starts = sentence_starts(map(len, sentences))
        tokens = list(itertools.chain.from_iterable(sentences))
        kinds = set(map(type, tokens))
        if any(issubclass(kind, str) or not issubclass(kind, Iterable) for kind in kinds):
            raise self._refused(sentences)
        values = None
        if any(issubclass(kind, Mapping) for kind in kinds):
            named = [_named(token) for token in tokens]
            values = np.array([value for token in named for _, value in token], dtype=np.float64)
            if not np.isfinite(values).all():
                raise ValuesError(f"{WHO}: values must be finite; got NaN or infinity.")
            tokens = [[name for name, _ in token] for token in named]
            values = None if (values == 1).all() else values
        elif not kinds <= {list, tuple}:
            tokens = [list(token) for token in tokens]
        indptr = np.concatenate([[0], np.cumsum(np.fromiter(map(len, tokens), np.int64, len(tokens)))])
        ids = np.empty(int(indptr[-1]), dtype=np.int32)
        try:
            if self.n_bits is None:
                number(tokens, ids)
            else:
                _native.hash_tokens(tokens, self.n_bits, ids)
        except TypeError:
            raise self._refused(sentences) from None
        except UnicodeEncodeError as error:
            raise ValuesError(f"{WHO}: features must be text that UTF-8 can encode; got {error.object!r}.") from None
        return TokenFeatures(starts, indptr, ids, values)

    def _refused(self, sentences: Sequence[Any]) -> KindError:
        for s, sentence in enumerate(sentences):
            for t, token in enumerate(sentence):
                listed = isinstance(token, Iterable) and not isinstance(token, str)
                if not listed or any(not isinstance(feature, str) for feature in token):
                    advice = f" For words themselves, {WAY_OUT}" if isinstance(token, str) else ""
                    return KindError(
                        f"{WHO}: each token must be a list of strings or a dict; sequences[{s}][{t}] is {token!r}."
                        + advice
                    )
        return KindError(f"{WHO}: each token must be a list of strings or a dict.")

    def selected(self, keep: Ints, keep_bigrams: Ints | None = None) -> Self:
        """An index of these features only, numbered 0, 1, … in this order."""
        assert self.has_names
        twin = type(self)()
        twin._table = self._table.selected(keep)
        return twin

    def names(self) -> list[str]:
        """The name of each feature; those of hashes are "#0", "#1", …"""
        return self._table.names() if self.n_bits is None else [f"#{i}" for i in range(self.n_features)]

    def bigram_names(self) -> list[str]:
        """There are no features of pairs of labels."""
        return []

    def copy(self) -> Self:
        """An independent copy."""
        twin = type(self)(self.n_bits)
        twin._table = self._table.copy()
        return twin

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_state, (self.state(),)

    def state(self) -> State:
        """The settings, and the names as bytes with their ends."""
        ends = np.empty(self._table.size, dtype=np.int64)
        self._table.ends(ends)
        names = np.frombuffer(self._table.bytes(), dtype=np.uint8)
        return State(self.KIND, self.VERSION, {"n_bits": self.n_bits}, {"names": names, "ends": ends})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The index that has this state."""
        state.expect(cls.KIND, cls.VERSION)
        settings: Mapping[str, Any] = state.settings
        n_bits, names, ends = settings.get("n_bits"), state.arrays.get("names"), state.arrays.get("ends")
        right = names is not None and names.dtype == np.uint8 and names.ndim == 1
        if not right or ends is None or ends.dtype != np.int64 or ends.ndim != 1:
            raise InputError(f"{WHO}: a state needs the arrays 'names', of bytes, and 'ends', of int64.")
        assert names is not None
        if n_bits is not None and check_integer(n_bits, "n_bits", WHO, at_least=1) > MOST_BITS:
            raise ParameterError(f"{WHO}: n_bits must be at most {MOST_BITS}; got {n_bits}.")
        index = cls(n_bits)
        try:
            index._table = _native.StringTable.load(names, ends)
            names.tobytes().decode()
        except ValueError as error:
            raise InputError(f"{WHO}: 'names' and 'ends' do not hold strings. {error}") from error
        begins = np.concatenate([[0], ends[:-1]])[ends > 0]
        if (names[begins[begins < len(names)]] & 0xC0 == 0x80).any():
            raise InputError(f"{WHO}: 'ends' must not divide a character of 'names'.")
        return index


class TokenMatrix(NamedTuple):
    """Sentences of vectors: a row for each token, and where each sentence begins."""

    matrix: Any
    starts: Ints


def token_matrix(sequences: Any, who: str = WHO) -> TokenMatrix:
    """A list of matrices, one for each sentence, as one; a `TokenMatrix` as it is."""
    if isinstance(sequences, TokenMatrix):
        return sequences
    listed = isinstance(sequences, (list, tuple)) and len(sequences) > 0
    if not listed or not all(hasattr(matrix, "shape") for matrix in sequences):
        raise KindError(f"{who}: the sentences must be matrices of numbers, with a row for each token.")
    return stacked(sequences, who)


class VectorFeatures:
    """Features that are the columns of a matrix, one row for each token."""

    KIND: ClassVar[str] = "features/vectors"
    VERSION: ClassVar[int] = 1

    n_bigrams, has_names = 0, False

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features

    def add(self, sequences: Any) -> TokenFeatures:
        """The values of the tokens that are not 0."""
        return self.find(sequences)

    def find(self, sequences: Any) -> TokenFeatures:
        """The values of the tokens that are not 0; `sequences` are matrices, one for each sentence."""
        matrix, starts = token_matrix(sequences)
        if matrix.shape[1] != self.n_features:
            raise ShapeError(f"{WHO}: tokens must have {self.n_features} columns, as before; got {matrix.shape[1]}.")
        csr = sp.csr_array(matrix)
        csr.eliminate_zeros()
        values = csr.data.astype(np.float64)
        ids, indptr = csr.indices.astype(np.int32), csr.indptr.astype(np.int64)
        return TokenFeatures(starts, indptr, ids, None if (values == 1).all() else values)

    def selected(self, keep: Ints, keep_bigrams: Ints | None = None) -> Self:
        """Columns keep their numbers, so that there is nothing to select."""
        raise KindError("an index of columns has no names to select from.")

    def names(self) -> list[str]:
        """The columns, "x0", "x1", …"""
        return [f"x{i}" for i in range(self.n_features)]

    def bigram_names(self) -> list[str]:
        """There are no features of pairs of labels."""
        return []

    def copy(self) -> Self:
        """Itself: it never changes."""
        return self

    def state(self) -> State:
        """The number of columns."""
        return State(self.KIND, self.VERSION, {"n_features": self.n_features})

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The index that has this state."""
        state.expect(cls.KIND, cls.VERSION)
        n_features = check_integer(state.settings.get("n_features"), "n_features", WHO, at_least=1)
        if n_features > MOST_FEATURES:
            raise ParameterError(f"{WHO}: n_features must be at most {MOST_FEATURES}; got {n_features}.")
        return cls(n_features)


# ---------------------------------------------------------------- reading


def refuse_corpus(sequences: Any) -> None:
    """Refuses a corpus, whose columns would be taken for features."""
    if isinstance(sequences, Corpus):
        raise InputError(f"{WHO}: a Corpus has columns, not features; {WAY_OUT}")


def checked_sequences(sequences: Any) -> Sequence[Any]:
    """Sentences as a sequence of sequences."""
    if isinstance(sequences, (str, bytes, Mapping)) or not isinstance(sequences, Iterable):
        raise KindError(f"{WHO}: sequences must be a list of sentences, each a list of tokens; got {sequences!r}.")
    found = sequences if isinstance(sequences, (list, tuple)) else list(sequences)
    for s, sentence in enumerate(found):
        if isinstance(sentence, (str, bytes, Mapping)) or not hasattr(sentence, "__len__"):
            raise KindError(f"{WHO}: each sentence must be a list of tokens; sequences[{s}] is {sentence!r}.")
    return found


def _named(token: Any) -> list[tuple[str, float]]:
    """The features of a dict, or of a list of strings, with their values."""
    if not isinstance(token, Mapping):
        return [(feature, 1.0) for feature in token]
    found: list[tuple[str, float]] = []
    for name, value in token.items():
        if isinstance(value, str):
            found.append((f"{name}={value}", 1.0))
        elif value is None or value is False:
            continue
        elif isinstance(value, numbers.Real):
            found.append((str(name), float(value)))
        elif isinstance(value, (list, tuple, set)) and all(isinstance(one, str) for one in value):
            found += [(f"{name}={one}", 1.0) for one in value]
        else:
            raise KindError(f"{WHO}: a value must be a string, a number or a list of strings; got {name!r}: {value!r}.")
    return found


def stacked(matrices: Sequence[Any], who: str) -> TokenMatrix:
    """Sentences that are matrices, one row for each token, as one matrix and the starts of the sentences."""
    checked = [check_matrix(matrix, name="each sentence", who=who) for matrix in matrices]
    starts = sentence_starts(matrix.shape[0] for matrix in checked)
    widths = {matrix.shape[1] for matrix in checked}
    if len(widths) > 1:
        raise ShapeError(f"{who}: all sentences must have the same number of columns; got {sorted(widths)}.")
    sparse = any(sp.issparse(matrix) for matrix in checked)
    return TokenMatrix(sp.csr_array(sp.vstack(checked)) if sparse else np.concatenate(checked), starts)
