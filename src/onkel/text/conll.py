"""CoNLL files: one token per line, its values in columns, an empty line after each sentence."""

from __future__ import annotations

import bz2
import gzip
import os
import zlib
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np

from onkel._core import _native
from onkel.checks import check_one_of
from onkel.errors import InputError, KindError, ParameterError
from onkel.text.corpus import Corpus, TokenColumn, check_names

__all__ = ["read_conll", "write_conll"]

Format = Literal["conll", "conllu"]

CONLLU = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
DOCUMENT = "-DOCSTART-"
RUN = 1 << 22  # bytes that are parsed in one call of the core: about 0.03 s


def read_conll(
    path: str | os.PathLike[str],
    columns: Sequence[str] | None = None,
    *,
    separator: str | None = None,
    format: Format | None = None,
    comment: str | None = None,
) -> Corpus:
    """Reads a CoNLL file.

    CoNLL-2000, CoNLL-2003 and files like them: a line holds the values of a token, and all lines have as many values;
    empty lines end a sentence. A line whose first value is ``-DOCSTART-`` ends a sentence and is left out. CoNLL-U:
    ten columns separated by tabs; comments, multiword tokens (``1-2``) and empty nodes (``1.1``) are left out.

    Parameters
    ----------
    path : a file in UTF-8; one whose name ends in .gz or .bz2 is decompressed.
    columns : names of all columns, in order; for CoNLL-U, those that are read. None (default): "0", "1", …; for
        CoNLL-U id, form, lemma, upos, xpos, feats, head, deprel, deps, misc.
    separator : the ASCII character between two values; None (default): any number of spaces and tabs. Tabs for CoNLL-U.
    format : "conll" or "conllu"; None (default): "conllu" if the name ends in .conllu, .conllu.gz or .conllu.bz2.
    comment : lines that start with this are left out; None (default): there are no comments, as # is a token of
        CoNLL-2000. For CoNLL-U "#".

    Cost: one pass over the bytes, and a string per distinct value; about 30 million values per second.

    >>> import pathlib, tempfile
    >>> from onkel.data import read_conll
    >>> path = pathlib.Path(tempfile.mkdtemp(), "train.txt")
    >>> _ = path.write_text("He PRP B-NP\\nruns VBZ B-VP\\n\\nRun VB B-VP\\n", "utf-8")
    >>> corpus = read_conll(path, ["word", "pos", "chunk"])
    >>> corpus, corpus["chunk"][0]
    (Corpus(2 sentences, 3 tokens, columns: word, pos, chunk), ['B-NP', 'B-VP'])

    Source: Tjong Kim Sang and Buchholz 2000; Tjong Kim Sang and De Meulder 2003; universaldependencies.org/format.html.
    """
    kind = _format(path, format, "read_conll")
    names = None if columns is None else check_names(columns, "read_conll")
    separator = _separator(separator, kind, "read_conll")
    if comment is not None and (not isinstance(comment, str) or not comment):
        raise ParameterError(f"read_conll: comment must be the beginning of a line, such as '#'; got {comment!r}.")
    kept = _places(names) if kind == "conllu" else []
    n_columns = len(CONLLU) if kind == "conllu" else len(names or ())
    if comment is None:
        comment = "#" if kind == "conllu" else ""
    reader = _native.ConllReader(_bytes(path), n_columns, separator, comment, kind == "conllu", kept)
    while reader.read(RUN):
        pass
    _check_lines(reader, path, n_columns)
    return _corpus(reader, path, names, kind, n_columns)


def _corpus(
    reader: _native.ConllReader, path: Any, names: tuple[str, ...] | None, kind: Format, n_columns: int
) -> Corpus:
    """What a reader has read."""
    starts = np.empty(reader.n_starts, dtype=np.int64)
    reader.starts(starts)
    if names is None:
        names = CONLLU if kind == "conllu" else tuple(str(c) for c in range(reader.n_columns))
    codes, values = [], []
    for c in range(len(names)):
        codes.append(np.empty(reader.n_tokens, dtype=np.int32))
        reader.codes(c, codes[-1])
        strings = reader.values(c)
        if strings is None:
            _check_lines(reader, path, n_columns)
        values.append(tuple(strings or ()))
    return Corpus(names, tuple(codes), tuple(values), starts)


def _check_lines(reader: _native.ConllReader, path: Any, n_columns: int) -> None:
    """Refuses a file with a malformed line."""
    found = reader.malformed()
    if found is None:
        return
    what, line, begin, end, got = found
    text = reader.text[begin:end].decode("utf-8", "backslashreplace").rstrip("\r")
    shown = repr(text if len(text) <= 80 else text[:77] + "...")
    expected = f"{reader.n_columns} values" + ("" if n_columns else ", as in the first line")
    said = {
        "columns": f"expected {expected}; got {got}: {shown}. Check the separator",
        "empty": f"expected a value in each column; column {got} is empty: {shown}. Write _ for a missing value",
        "nul": f"expected text; column {got} has a NUL character: {shown}. Is it a text file",
        "number": f"expected the number of a token, such as 7, 7-8 or 7.1, first; got {shown}. Is it CoNLL-U",
        "utf8": f"expected UTF-8; column {got} is not: {shown}. Convert the file to UTF-8",
    }[what]
    raise InputError(f"{os.fspath(path)}, line {line}: {said}{'?' if said.split('. ')[-1].startswith('Is') else '.'}")


def write_conll(
    path: str | os.PathLike[str],
    sequences: Any,
    tags: Any = None,
    *,
    separator: str | None = None,
    format: Format | None = None,
) -> None:
    """Writes sentences to a CoNLL file, so that `read_conll` reads the same.

    Nothing is written if a value cannot be: an empty one, one that contains the separator or the end of a line, or one
    that would be read as a comment or a -DOCSTART- line.

    Parameters
    ----------
    path : the file to write; one whose name ends in .gz or .bz2 is compressed.
    sequences : a Corpus, or a list of sentences as for `Corpus.of`.
    tags : one more column: a TokenColumn, or a list of lists of strings; None (default): none.
    separator : the ASCII character between two values; None (default): a space. Tabs for CoNLL-U.
    format : "conll" or "conllu"; None (default): "conllu" if the name ends in .conllu, .conllu.gz or .conllu.bz2.
        CoNLL-U takes the columns that have its names, as `corpus.with_column("upos", tags)` makes them; tokens are
        numbered if there is no column id, and other columns are _.

    Cost: one pass over the tokens.

    >>> import pathlib, tempfile
    >>> from onkel.data import write_conll
    >>> path = pathlib.Path(tempfile.mkdtemp(), "tagged.txt")
    >>> write_conll(path, [["He", "runs"], ["Run"]], [["PRP", "VBZ"], ["VB"]])
    >>> path.read_text("utf-8")
    'He PRP\\nruns VBZ\\n\\nRun VB\\n\\n'
    """
    kind = _format(path, format, "write_conll")
    separator = _separator(separator, kind, "write_conll") or " "
    corpus = Corpus.of(sequences)
    if tags is not None:
        if kind == "conllu":
            raise ParameterError("write_conll: CoNLL-U has no column for tags; use corpus.with_column('upos', tags).")
        name = next(str(i) for i in range(len(corpus.columns), 1 << 30) if str(i) not in corpus.columns)
        corpus = corpus.with_column(name, tags)
    if kind == "conllu":
        corpus = _all_of_conllu(corpus)
    elif not corpus.columns:
        corpus = Corpus.of([], ["0"])
    lines = _lines(corpus, separator, kind)
    starts = corpus.starts.tolist()
    sentences = ["\n".join(lines[begin:end]) for begin, end in pairwise(starts)]
    data = "".join(sentence + "\n\n" for sentence in sentences).encode()
    suffix = Path(path).suffix
    if suffix == ".gz":
        data = gzip.compress(data, mtime=0)
    elif suffix == ".bz2":
        data = bz2.compress(data)
    Path(path).write_bytes(data)


def _lines(corpus: Corpus, separator: str, kind: Format) -> list[str]:
    """A line per token, without its end."""
    forbidden = {separator, "\n", "\r", "\0"} | ({" ", "\t"} if separator == " " else set())
    columns = []
    for c, (name, values, codes) in enumerate(zip(corpus.columns, corpus.values, corpus.codes, strict=True)):
        used = np.zeros(len(values), dtype=bool)
        used[codes] = True
        for code in np.flatnonzero(used).tolist():
            _check_value(values[code], forbidden, name, first=c == 0, kind=kind)
        columns.append([values[code] for code in codes.tolist()])
    return list(map(separator.join, zip(*columns, strict=True)))


def _check_value(value: str, forbidden: set[str], name: str, *, first: bool, kind: Format) -> None:
    """Refuses a value that would be read as another one, or as none."""
    bad = sorted(forbidden & set(value))
    if bad:
        raise InputError(
            f"write_conll: a value must not contain {bad[0]!r}; got {value!r} in column {name}. Replace it, or choose "
            "another separator."
        )
    if not value.strip(" \t"):
        raise InputError(f"write_conll: a value must not be empty; got {value!r} in column {name}. Write _ instead.")
    if first and kind == "conll" and (value == DOCUMENT or value.startswith("\ufeff")):
        raise InputError(f"write_conll: a first value {value!r} would not be read as a token. Leave it out.")


def _all_of_conllu(corpus: Corpus) -> Corpus:
    """All ten columns of CoNLL-U."""
    unknown = [name for name in corpus.columns if name not in CONLLU]
    if unknown:
        raise ParameterError(f"write_conll: columns of CoNLL-U are {', '.join(CONLLU)}; got {', '.join(unknown)}.")
    empty = TokenColumn(("_",), np.zeros(corpus.n_tokens, dtype=np.int32), corpus.starts)
    full = corpus
    for name in CONLLU:
        if name not in corpus.columns:
            full = full.with_column(name, empty)
    if "id" not in corpus.columns:
        lengths = np.diff(corpus.starts)
        numbers = tuple(str(i + 1) for i in range(int(lengths.max(initial=0))))
        places = np.arange(corpus.n_tokens) - np.repeat(corpus.starts[:-1], lengths)
        full = full.with_column("id", TokenColumn(numbers, places.astype(np.int32), corpus.starts))
    for value in full["id"].values:
        if not (value.isascii() and value.isdigit()):
            raise InputError(f"write_conll: the column id must hold numbers of tokens, 1, 2, …; got {value!r}.")
    return full.only(*CONLLU)


# ---------------------------------------------------------------- files and arguments


def _format(path: Any, format: Any, who: str) -> Format:
    if not isinstance(path, (str, os.PathLike)):
        raise KindError(f"{who}: path must be the name of a file; got {type(path).__name__}.")
    if format is None:
        suffixes = Path(path).suffixes
        if suffixes and suffixes[-1] in (".gz", ".bz2"):
            suffixes = suffixes[:-1]
        return "conllu" if suffixes and suffixes[-1] == ".conllu" else "conll"
    check_one_of(format, "format", ("conll", "conllu"), who)
    return "conllu" if format == "conllu" else "conll"


def _separator(separator: Any, kind: Format, who: str) -> str:
    """The character between two values; empty: any spaces and tabs."""
    if separator is None:
        return "\t" if kind == "conllu" else ""
    good = isinstance(separator, str) and len(separator) == 1 and separator.isascii() and separator not in "\n\r\0"
    if not good or (kind == "conllu" and separator != "\t"):
        wanted = "a tab for CoNLL-U" if kind == "conllu" else "one ASCII character such as '\\t', or None"
        raise ParameterError(f"{who}: separator must be {wanted}; got {separator!r}.")
    return str(separator)


def _places(names: tuple[str, ...] | None) -> list[int]:
    """The numbers of columns of CoNLL-U."""
    names = CONLLU if names is None else names
    unknown = [name for name in names if name not in CONLLU]
    if unknown or not names:
        raise ParameterError(
            f"read_conll: columns of CoNLL-U are {', '.join(CONLLU)}; got {', '.join(unknown) or 'none'}."
        )
    return [CONLLU.index(name) for name in names]


def _bytes(path: Any) -> bytes:
    """The content of a file, decompressed; a line may end in CR alone, as on old Macintoshes."""
    data = Path(path).read_bytes()
    suffix = Path(path).suffix
    try:
        if suffix == ".gz":
            data = gzip.decompress(data)
        elif suffix == ".bz2":
            data = bz2.decompress(data)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise InputError(f"{os.fspath(path)}: expected a compressed file, as its name says; {error}.") from error
    if data.count(b"\r") != data.count(b"\r\n"):
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return data
