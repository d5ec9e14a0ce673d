"""Features of tokens by templates: from columns of strings to ids, without a loop over tokens in Python.

A *view* is what a part of a template reads at a token: a column, or a form of it such as its lower case. An index has
codes of its own for the strings of each view. A corpus is taken in three steps:

    strings → codes      once per distinct value of a column: the form is computed, and looked up in a dict
    tokens → codes       of each view, by NumPy; -1 for a string that the index does not know
    codes → ids          by the core (cpp/sequence/templates.h), for runs of sentences

The first codes of each view are those of _B-1, _B-2, …, _B+1, …, which stand outside a sentence.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from onkel.checks import check_integer
from onkel.errors import InputError, KindError, ParameterError, ShapeError
from onkel.states.state import Setting, State
from onkel.text.corpus import Corpus, TokenColumn
from onkel.text.feature_tables import Features, Output, Tables, View, Words
from onkel.text.string_features import MOST_BITS
from onkel.text.templates import Templates
from onkel.text.token_features import TokenFeatures

__all__ = ["TemplateFeatures"]

Ints = NDArray[np.int64]
RUN = 8192  # tokens of one call of the core
MOST_TEXT = 1 << 18  # characters of the templates of a state: each part takes memory


class FirstColumns(NamedTuple):
    """The columns of the first sentences of an index."""

    n: int
    named: bool  # in a Corpus, where columns that no template reads may come and go; else in lists


class TemplateFeatures:
    """The features that templates find in a corpus, numbered 0, 1, 2, … in the order in which they come.

    A feature is a template together with the strings of its parts. Those of templates U… and B… are numbered apart, and
    B… has none at the first token of a sentence, which has no label before it. `add` numbers new features; `find`
    leaves them out and changes nothing, so that several threads may call it.

    In lists, tokens must have as many columns as in the first call of `add`, so that words are not taken for columns
    where there is a bracket too many. A Corpus needs the columns that the templates read, and may have others; if the
    first sentences were a Corpus, lists may lack its further columns.

    Parameters
    ----------
    templates : Templates.
    n_bits : None (default): every feature has an id of its own. From 1 to 30: an id is a hash, below 2**n_bits, of the
        template and the strings, the same on every machine; nothing is stored, and features have no names.

    Cost: about 20 ns per feature of a token; about 40 bytes per distinct feature.

    >>> from onkel.data import Corpus, TemplateFeatures, Templates
    >>> index = TemplateFeatures(Templates.parse("U00:%x[0,0]\\nU01:%x[-1,0]/%x[0,0]"))
    >>> index.add(Corpus.of([["a", "b"]])).ids.tolist(), index.names()
    ([0, 1, 2, 3], ['U00:a', 'U01:_B-1/a', 'U00:b', 'U01:a/b'])
    >>> index.find(Corpus.of([["b", "a", "b"]])).ids.tolist()
    [2, 0, 2, 3]

    Source: T. Kudo, CRF++ 2005 (templates); Weinberger et al. 2009 (hashing).
    """

    KIND: ClassVar[str] = "features/templates"
    VERSION: ClassVar[int] = 1

    def __init__(self, templates: Templates, n_bits: int | None = None) -> None:
        if not isinstance(templates, Templates):
            raise KindError(
                f"TemplateFeatures: templates must be Templates, as Templates.parse makes them; got {templates!r:.60}."
            )
        if n_bits is not None:
            n_bits = check_integer(n_bits, "n_bits", "TemplateFeatures", at_least=1)
            if n_bits > MOST_BITS:
                raise ParameterError(f"TemplateFeatures: n_bits must be at most {MOST_BITS}; got {n_bits}.")
        self._templates, self._n_bits = templates, n_bits
        unigrams = [template for template in templates.templates if not template.of_bigrams]
        bigrams = [template for template in templates.templates if template.of_bigrams and template.parts]
        parts = [part for template in unigrams + bigrams for part in template.parts]
        reach = max((abs(part.offset) for part in parts), default=0)
        self._edges = [f"_B{sign}{i + 1}" for sign in "-+" for i in range(reach)]
        self._views = [View(*view, self._edges) for view in dict.fromkeys(part.view for part in parts)]
        place = {(view.column, view.forms): i for i, view in enumerate(self._views)}
        self._unigrams = Tables(unigrams, place, self._edges, n_bits, of_bigrams=False)
        self._bigrams = Tables(bigrams, place, self._edges, n_bits, of_bigrams=True)
        self._first: FirstColumns | None = None

    @property
    def templates(self) -> Templates:
        """The templates."""
        return self._templates

    @property
    def n_bits(self) -> int | None:
        """The number of bits of an id that is a hash, or None."""
        return self._n_bits

    @property
    def n_features(self) -> int:
        """The number of features of single labels: their ids are below it."""
        return self._unigrams.size

    @property
    def n_bigrams(self) -> int:
        """The number of features of pairs of labels: templates B… with parts."""
        return self._bigrams.size

    @property
    def n_columns(self) -> int | None:
        """The number of columns of the first sentences that were added; None before."""
        return None if self._first is None else self._first.n

    @property
    def has_names(self) -> bool:
        """Whether features are numbered as they come, not by their hashes."""
        return self._n_bits is None

    @property
    def has_bigrams(self) -> bool:
        """Whether there are templates B… with parts."""
        return bool(self._bigrams.templates)

    def add(self, corpus: Any) -> TokenFeatures:
        """The features of all tokens of a Corpus (or of lists, as for `Corpus.of`); new ones get the next ids."""
        return self._run(corpus, True)

    def find(self, corpus: Any) -> TokenFeatures:
        """The features of all tokens of a Corpus (or of lists, as for `Corpus.of`), without those that are unknown."""
        return self._run(corpus, False)

    def _run(self, sequences: Any, add: bool) -> TokenFeatures:
        named = isinstance(sequences, (Corpus, TokenColumn))
        corpus = self._checked(sequences, named)
        n, words = corpus.n_tokens, Words(corpus)
        if not n:
            return self._none(corpus)
        if self._n_bits is None:
            codes = [view.codes(words, add) for view in self._views]
            sizes = np.array([len(view.known) for view in self._views], dtype=np.int64)
        else:
            codes = [view.hashes(words) for view in self._views]
            sizes = np.zeros(len(codes), dtype=np.int64)
        dtype = np.int32 if self._n_bits is None else np.uint64
        outputs = [Output(tables, n) for tables in (self._unigrams, self._bigrams) if tables.templates]
        for begin, end in _runs(corpus.starts):
            first, last = int(corpus.starts[begin]), int(corpus.starts[end])
            starts = corpus.starts[begin : end + 1] - first
            block = np.empty((len(self._views), last - first), dtype=dtype)
            for row, view, own in zip(block, self._views, codes, strict=True):
                view.fill(row, own, corpus, first, starts)
            for output in outputs:
                output.run(block, sizes, starts, first, add)
        if add and self._first is None:
            self._first = FirstColumns(len(corpus.columns), named)
        made = {output.tables.of_bigrams: output.made() for output in outputs}
        indptr, ids = made.get(False, (np.zeros(n + 1, dtype=np.int64), np.zeros(0, dtype=np.int32)))
        return TokenFeatures(corpus.starts, indptr, ids, None, *made.get(True, (None, None)))

    def _none(self, corpus: Corpus) -> TokenFeatures:
        """The features of a corpus without sentences."""
        empty = np.zeros(1, dtype=np.int64), np.zeros(0, dtype=np.int32)
        return TokenFeatures(corpus.starts, *empty, None, *(empty if self._bigrams.templates else (None, None)))

    def _checked(self, sequences: Any, named: bool) -> Corpus:
        """A corpus that has all columns and, if it comes from lists, no others than the first one."""
        corpus = Corpus.of(sequences)
        if len(corpus) and len(corpus.columns) < self._templates.n_columns:
            n = len(corpus.columns)
            wrong = next(t for t in self._templates.templates if any((part.column or 0) >= n for part in t.parts))
            raise InputError(
                f"TemplateFeatures: template {str(wrong)!r} needs at least {self._templates.n_columns} columns, "
                f"numbered from 0; got {n}: {', '.join(corpus.columns)}."
            )
        if len(corpus) and not named and self._first is not None:
            self._refuse_other_columns(corpus, self._first)
        return corpus

    def _refuse_other_columns(self, corpus: Corpus, first: FirstColumns) -> None:
        """Refuses tokens of lists that have not the columns of the first sentences."""
        n, least = len(corpus.columns), max(1, self._templates.n_columns) if first.named else first.n
        if least <= n <= first.n:
            return
        got = f"sequences[0][0] is {corpus[0][0]!r:.60}, {n} column{'s' * (n != 1)}"
        if first.n == 1:
            raise ShapeError(
                f"TemplateFeatures: each token must be a string, as in the first sentences; {got}. predict_one takes a "
                "list of words, and predict a list of such lists: leave out a pair of brackets, or the further columns."
            )
        wanted = f"a tuple of {first.n} strings" if least == first.n else f"a token of {least} to {first.n} columns"
        raise ShapeError(
            f"TemplateFeatures: each token must be {wanted}, as in the first sentences; {got}. Give the same columns "
            "in the same order, or a Corpus, which needs only those that the templates read."
        )

    def selected(self, keep: Any, keep_bigrams: Any = None) -> Self:
        """An index of some features only, numbered 0, 1, … in this order.

        Parameters
        ----------
        keep : ids of features, each at most once.
        keep_bigrams : ids of features of pairs of labels; None (default): all of them.
        """
        self._need_names("selected")
        exports = []
        for tables, ids, name in ((self._unigrams, keep, "keep"), (self._bigrams, keep_bigrams, "keep_bigrams")):
            export = tables.export()
            exports.append(export if ids is None else tables.select(export, _ids(ids, tables.size, name)))
        return self._rebuilt(exports)

    def _rebuilt(self, exports: list[Features]) -> Self:
        """An index of these features, and only the strings that they use."""
        exports, strings = self._compact(exports)
        index = type(self)(self._templates)
        for view, own in zip(index._views, strings, strict=True):
            view.know(own)
        index._load(exports)
        index._first = self._first
        return index

    def _load(self, exports: list[Features]) -> None:
        sizes = np.array([len(view.known) for view in self._views], dtype=np.int64)
        for tables, export in zip((self._unigrams, self._bigrams), exports, strict=True):
            tables.load(export, sizes)

    def _compact(self, exports: list[Features]) -> tuple[list[Features], list[list[str]]]:
        """The same features, with codes only for those strings of each view that some feature uses."""
        tables, edges = (self._unigrams, self._bigrams), len(self._edges)
        places = [one.views_of(export.templates) for one, export in zip(tables, exports, strict=True)]
        codes = [export.codes.copy() for export in exports]
        strings = []
        for v, view in enumerate(self._views):
            mine = [np.flatnonzero((place == v) & (own >= edges)) for place, own in zip(places, codes, strict=True)]
            used = np.zeros(len(view.known), dtype=bool)
            for own, at in zip(codes, mine, strict=True):
                used[own[at]] = True
            new = edges - 1 + np.cumsum(used)  # the code of each string that is used
            for own, at in zip(codes, mine, strict=True):
                own[at] = new[own[at]]
            strings.append(list(itertools.compress(view.known, used.tolist())))
        return [Features(e.templates, own) for e, own in zip(exports, codes, strict=True)], strings

    def names(self) -> list[str]:
        """The name of each feature: the line of its template with strings in place of its parts."""
        return self._named(self._unigrams, "names")

    def bigram_names(self) -> list[str]:
        """The name of each feature of pairs of labels."""
        return self._named(self._bigrams, "bigram_names")

    def _named(self, tables: Tables, what: str) -> list[str]:
        self._need_names(what)
        strings = [list(view.known) for view in self._views]
        export = tables.export()
        texts = [strings[v][c] for v, c in zip(tables.views_of(export.templates).tolist(), export.codes, strict=True)]
        begins = tables.begins(export.templates).tolist()
        return [
            tables.templates[m].feature(tuple(texts[begin:end]))
            for m, begin, end in zip(export.templates.tolist(), begins, begins[1:], strict=False)
        ]

    def _need_names(self, what: str) -> None:
        if self._n_bits is not None:
            raise InputError(f"TemplateFeatures.{what}: hashed features are not stored. Leave n_bits out.")

    def copy(self) -> Self:
        """An independent copy."""
        index = type(self)(self._templates, self._n_bits)
        for mine, view in zip(index._views, self._views, strict=True):
            mine.known = view.known.copy()
        index._unigrams.native = self._unigrams.native.copy()
        index._bigrams.native = self._bigrams.native.copy()
        index._first = self._first
        return index

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_state, (self.state(),)

    def __repr__(self) -> str:
        size = f"{self.n_features} features" if self._n_bits is None else f"n_bits={self._n_bits}"
        return f"TemplateFeatures({len(self._templates)} templates, {size})"

    def state(self) -> State:
        """Everything that the index knows; of the strings, only those that some feature uses."""
        settings: dict[str, Setting] = {"templates": str(self._templates), "n_bits": self._n_bits}
        settings |= {"n_columns": self.n_columns, "named_columns": self._first is not None and self._first.named}
        if self._n_bits is not None:
            return State(self.KIND, self.VERSION, settings)
        (unigrams, bigrams), strings = self._compact([self._unigrams.export(), self._bigrams.export()])
        encoded = [string.encode() for own in strings for string in own]
        arrays: dict[str, NDArray] = {
            "templates": unigrams.templates,
            "codes": unigrams.codes,
            "bigram_templates": bigrams.templates,
            "bigram_codes": bigrams.codes,
            "strings": np.frombuffer(b"".join(encoded), dtype=np.uint8),
            "string_ends": np.cumsum([len(string) for string in encoded], dtype=np.int64),
            "n_strings": np.array([len(own) for own in strings], dtype=np.int64),
        }
        return State(self.KIND, self.VERSION, settings, arrays)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The index that has this state; refuses one whose settings and arrays do not fit each other."""
        state.expect(cls.KIND, cls.VERSION)
        settings: Mapping[str, Any] = state.settings
        arrays = state.arrays
        if not {"templates", "n_bits"} <= set(settings) <= SETTINGS:
            raise InputError(f"TemplateFeatures.from_state: expected {sorted(SETTINGS)}; got {sorted(settings)}.")
        text = settings["templates"]
        if isinstance(text, str) and len(text) > MOST_TEXT:
            raise InputError(
                f"TemplateFeatures.from_state: the templates must be a text of at most {MOST_TEXT} characters; got "
                f"{len(text)}."
            )
        index = cls(Templates.parse(text), settings["n_bits"])
        index._first = _first_columns(settings, index._templates)
        expected = {} if index._n_bits is not None else DTYPES
        if set(arrays) != set(expected):
            raise InputError(f"TemplateFeatures.from_state: expected {sorted(expected)}; got {sorted(arrays)}.")
        if not expected:
            return index
        for name, dtype in expected.items():
            array = arrays[name]
            if not isinstance(array, np.ndarray) or array.dtype != dtype or array.ndim != 1:
                raise InputError(f"TemplateFeatures.from_state: {name} must be an array of {dtype}, of one dimension.")
        strings = _strings(arrays, len(index._views))
        for view, own in zip(index._views, strings, strict=True):
            view.know(own)
        names = (("templates", "codes"), ("bigram_templates", "bigram_codes"))
        index._load([Features(arrays[which], arrays[codes]) for which, codes in names])
        return index


SETTINGS = {"templates", "n_bits", "n_columns", "named_columns"}  # older states lack the last two
DTYPES = {
    "templates": np.dtype(np.uint16),
    "codes": np.dtype(np.int32),
    "bigram_templates": np.dtype(np.uint16),
    "bigram_codes": np.dtype(np.int32),
    "strings": np.dtype(np.uint8),
    "string_ends": np.dtype(np.int64),
    "n_strings": np.dtype(np.int64),
}


def _first_columns(settings: Mapping[str, Any], templates: Templates) -> FirstColumns | None:
    """The columns of the first sentences, from the settings of a state."""
    n, named = settings.get("n_columns"), settings.get("named_columns", False)
    if not isinstance(named, bool):
        raise KindError(f"TemplateFeatures.from_state: named_columns must be True or False; got {named!r}.")
    if n is None:
        return None
    least = max(1, templates.n_columns)
    return FirstColumns(check_integer(n, "n_columns", "TemplateFeatures.from_state", at_least=least), named)


def _strings(arrays: Mapping[str, NDArray], n_views: int) -> list[list[str]]:
    """The strings of each view, from their bytes."""
    ends, counts, data = arrays["string_ends"], arrays["n_strings"], arrays["strings"].tobytes()
    begins = np.concatenate([[0], ends[:-1]]) if len(ends) else ends
    fit = (ends >= begins).all() and (ends[-1] if len(ends) else 0) == len(data)
    if (
        not fit
        or len(counts) != n_views
        or (counts < 0).any()
        or (counts > len(ends)).any()
        or counts.sum() != len(ends)
    ):
        raise InputError("TemplateFeatures.from_state: string_ends and n_strings must fit the strings and templates.")
    try:
        rest = iter([data[b:e].decode() for b, e in zip(begins.tolist(), ends.tolist(), strict=True)])
    except UnicodeDecodeError as error:
        raise InputError(f"TemplateFeatures.from_state: strings must be UTF-8; {error}.") from error
    return [[next(rest) for _ in range(count)] for count in counts.tolist()]


def _ids(ids: Any, size: int, name: str) -> Ints:
    """Ids of features, each at most once."""
    array = np.asarray(ids)
    if array.ndim != 1 or (array.dtype.kind not in "iu" and array.size):
        raise KindError(f"TemplateFeatures.selected: {name} must be a list of ids; got {array.dtype} {array.shape}.")
    array = array.astype(np.int64)
    if array.size and not 0 <= int(array.min()) <= int(array.max()) < size:
        raise InputError(
            f"TemplateFeatures.selected: {name} must be ids below {size}; got {array.min()}–{array.max()}."
        )
    seen = np.zeros(size, dtype=bool)
    seen[array] = True
    if np.count_nonzero(seen) != len(array):
        raise InputError(f"TemplateFeatures.selected: {name} must hold each id only once.")
    return array


def _runs(starts: Ints) -> Iterator[tuple[int, int]]:
    """Runs of sentences of about RUN tokens: pairs (first sentence, one past the last)."""
    begin, n = 0, len(starts) - 1
    while begin < n:
        end = int(np.searchsorted(starts, starts[begin] + RUN, side="right")) - 1
        end = min(max(end, begin + 1), n)
        yield begin, end
        begin = end
