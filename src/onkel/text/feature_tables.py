"""The parts of an index of features by templates: views of columns, tables of features, and rows of ids."""

from __future__ import annotations

from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onkel._core import _native
from onkel.errors import InputError, ShapeError
from onkel.text.corpus import Corpus
from onkel.text.templates import Template
from onkel.text.word_forms import word_form

__all__ = ["Features", "Output", "Tables", "View", "Words"]

Ints = NDArray[np.int64]
LOADED = 1 << 16  # features of one call of the core that loads them


class Words:
    """The values of the columns of one corpus that its tokens use, and their forms, each computed once."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self._used: dict[int, NDArray] = {}
        self._forms: dict[tuple[int, tuple[str, ...]], list[str]] = {}

    def used(self, column: int) -> NDArray:
        """Which values of a column occur: a part of a corpus shares the values of the whole."""
        if column not in self._used:
            occurs = np.zeros(len(self.corpus.values[column]), dtype=bool)
            occurs[self.corpus.codes[column]] = True
            self._used[column] = np.flatnonzero(occurs)
        return self._used[column]

    def forms(self, column: int, forms: tuple[str, ...]) -> list[str]:
        """These values, after some forms were applied."""
        if (column, forms) not in self._forms:
            if forms:
                form = word_form(forms[-1])
                assert form is not None  # Templates.parse has checked it
                self._forms[column, forms] = form(self.forms(column, forms[:-1]))
            else:
                values, which = self.corpus.values[column], self.used(column)
                every = len(which) == len(values)
                self._forms[column, forms] = list(values) if every else [values[i] for i in which.tolist()]
        return self._forms[column, forms]


class View:
    """What a part reads at a token: a form of a column, or the first or last token; and the strings it has met."""

    def __init__(self, column: int | None, forms: tuple[str, ...], edges: list[str]) -> None:
        self.column, self.forms, self.edges = column, forms, edges
        self.known: dict[str, int] = {}  # strings and their codes 0, 1, …
        self.know([])

    def know(self, strings: list[str]) -> None:
        """Makes these its only strings, besides those outside a sentence, which come first; they must all differ."""
        self.known = {string: code for code, string in enumerate(self.edges + strings)}
        if len(self.known) != len(self.edges) + len(strings):
            raise InputError("TemplateFeatures: the strings of a column must all differ.")

    def _strings(self, words: Words) -> list[str]:
        return [f"_{self.forms[0].upper()}"] if self.column is None else words.forms(self.column, self.forms)

    def _spread(self, found: NDArray, words: Words, absent: int) -> NDArray:
        """Numbers of the values that occur, as numbers of all values of the column."""
        if self.column is None or len(found) == len(words.corpus.values[self.column]):
            return found
        spread = np.full(len(words.corpus.values[self.column]), absent, dtype=found.dtype)
        spread[words.used(self.column)] = found
        return spread

    def codes(self, words: Words, add: bool) -> NDArray:
        """The code of each value of a column; -1 for one that is not known."""
        strings, known = self._strings(words), self.known
        if add:
            found = [known.setdefault(string, len(known)) for string in strings]
        else:
            found = list(map(known.get, strings, repeat(-1)))
        return self._spread(np.array(found, dtype=np.int32), words, -1)

    def hashes(self, words: Words) -> NDArray:
        """The hash of each value of a column."""
        return self._spread(_hashes(self._strings(words)), words, 0)

    def fill(self, row: NDArray, codes: NDArray, corpus: Corpus, first: int, starts: Ints) -> None:
        """Writes the code or hash of each token of a run that begins at token `first`."""
        if self.column is None:
            row[:] = -1 if row.dtype == np.int32 else 0
            row[starts[:-1] if self.forms[0] == "bos" else starts[1:] - 1] = codes[0]
        else:
            np.take(codes, corpus.codes[self.column][first : first + len(row)], out=row, mode="clip")


def _hashes(strings: list[str]) -> NDArray:
    hashes = np.empty(len(strings), dtype=np.uint64)
    _native.hash_strings(strings, hashes)
    return hashes


# ---------------------------------------------------------------- tables


class Features(NamedTuple):
    """Features in the order of their ids: the template of each, and the codes of all their parts."""

    templates: NDArray[np.uint16]
    codes: NDArray[np.int32]


class Tables:
    """The features of some templates: a table of the core, or hashes."""

    def __init__(
        self,
        templates: list[Template],
        place: dict[Any, int],
        edges: list[str],
        n_bits: int | None,
        *,
        of_bigrams: bool,
    ) -> None:
        self.templates, self.n_bits, self.of_bigrams = templates, n_bits, of_bigrams
        self.parts = [[(place[part.view], part.offset) for part in template.parts] for template in templates]
        self.inside = [template.inside for template in templates]
        self.n_parts = np.array([len(parts) for parts in self.parts], dtype=np.int64)
        self.native = _native.FeatureIndex(self.parts, self.inside, len(place), len(edges) // 2)
        if n_bits is not None:
            self.seeds = _hashes([template.name for template in templates])
            self.edges = _hashes(edges)

    @property
    def size(self) -> int:
        if self.n_bits is None:
            return self.native.size
        return 2**self.n_bits if self.templates else 0

    def run(self, add: bool, block: NDArray, sizes: Ints, starts: Ints, base: int, indptr: Ints, ids: NDArray) -> int:
        """Writes the ids of a run of sentences, and returns their number."""
        if self.n_bits is None:
            run = self.native.add if add else self.native.find
            return run(block, sizes, starts, self.of_bigrams, base, indptr, ids)
        settings = (self.parts, self.inside, self.seeds, self.n_bits, self.edges)
        return _native.hash_features(*settings, block, starts, self.of_bigrams, base, indptr, ids)

    def export(self) -> Features:
        native = self.native
        export = Features(np.empty(native.size, dtype=np.uint16), np.empty(native.n_codes, dtype=np.int32))
        native.export_to(export.templates, export.codes)
        return export

    def begins(self, templates: NDArray) -> Ints:
        """Where the codes of each feature begin, and the number of all codes."""
        return np.concatenate([[0], np.cumsum(self.n_parts[templates])]).astype(np.int64)

    def views_of(self, templates: NDArray) -> NDArray:
        """The view of each code."""
        begins = self.begins(templates)
        views = np.empty(int(begins[-1]), dtype=np.int32)
        for m, parts in enumerate(self.parts):
            at = begins[:-1][templates == m]
            for i, (view, _) in enumerate(parts):
                views[at + i] = view
        return views

    def select(self, export: Features, ids: Ints) -> Features:
        begins, counts = self.begins(export.templates), self.n_parts[export.templates[ids]]
        ends = np.cumsum(counts)
        total = int(ends[-1]) if len(ends) else 0
        at = np.arange(total) + np.repeat(begins[:-1][ids] - (ends - counts), counts)
        return Features(export.templates[ids], export.codes[at])

    def load(self, export: Features, sizes: Ints) -> None:
        """Adds features to empty tables; refuses those that do not fit."""
        if len(export.templates) and int(export.templates.max()) >= len(self.templates):
            raise InputError(
                f"TemplateFeatures: there are {len(self.templates)} templates; got {export.templates.max()}."
            )
        begins = self.begins(export.templates)
        if begins[-1] != len(export.codes):
            raise ShapeError(f"TemplateFeatures: the features have {begins[-1]} parts; got {len(export.codes)} codes.")
        try:
            for i in range(0, len(export.templates), LOADED):
                j = min(i + LOADED, len(export.templates))
                codes = np.ascontiguousarray(export.codes[begins[i] : begins[j]])
                self.native.load(np.ascontiguousarray(export.templates[i:j]), codes, sizes)
        except ValueError as error:
            raise InputError(f"TemplateFeatures: the codes of features must fit their strings; {error}.") from error


class Output:
    """The ids of all tokens, as they come run by run."""

    def __init__(self, tables: Tables, n_tokens: int) -> None:
        self.tables, self.count = tables, 0
        self.indptr = np.zeros(n_tokens + 1, dtype=np.int64)
        self.ids = np.empty(n_tokens * len(tables.templates), dtype=np.int32)

    def run(self, block: NDArray, sizes: Ints, starts: Ints, first: int, add: bool) -> None:
        ends = self.indptr[first + 1 : first + 1 + block.shape[1]]
        self.count += self.tables.run(add, block, sizes, starts, self.count, ends, self.ids[self.count :])

    def made(self) -> tuple[Ints, NDArray]:
        self.ids.resize(self.count, refcheck=False)  # gives the rest of the memory back
        return self.indptr, self.ids
