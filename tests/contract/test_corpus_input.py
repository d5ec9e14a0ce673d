"""Input of corpora, CoNLL files and templates that cannot be used: a clear error that names the place, nothing lost."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from onkel.data import Corpus, TemplateFeatures, Templates, TokenColumn, read_conll, write_conll
from onkel.errors import InputError, KindError, OnkelError

GOOD = [[("He", "PRP"), ("runs", "VBZ")], [("Run", "VB")]]

# ---------------------------------------------------------------- corpora

BAD_SENTENCES = {
    "a sentence that is text": (["He runs"], r"sequences\[0\] must be a list of tokens; got 'He runs'"),
    "an empty sentence": ([["a"], []], r"sequences\[1\] is empty"),
    "a token that is no string": ([["a", 3]], r"must be a string, as the first token; sequences\[0\]\[1\] is 3"),
    "tokens of several widths": ([[("a", "b")], [("c",)]], r"tuple of 2 strings.*; sequences\[1\]\[0\] is \('c',\)"),
    "a number in a tuple": ([[("a", "b"), ("c", 1)]], r"sequences\[0\]\[1\] is \('c', 1\)"),
    "a token of no columns": ([[()]], "must be a string, or a tuple of strings"),
    "a dict": ([[{"word": "a"}]], "must be a string, or a tuple of strings"),
    "a lone surrogate": ([["a\ud800"]], "lone surrogate"),
    "a text": ("text", "must be a list of sentences; got str"),
    "a number": (3, "must be a list of sentences; got int"),
}


@pytest.mark.parametrize("name", BAD_SENTENCES)
def test_sentences_that_are_none_are_refused(name):
    sentences, message = BAD_SENTENCES[name]
    with pytest.raises(OnkelError, match=message):
        Corpus.of(sentences)


def test_names_of_columns_must_fit():
    with pytest.raises(InputError, match=r"3 names of columns; got tokens of 2 column"):
        Corpus.of(GOOD, ["a", "b", "c"])
    with pytest.raises(InputError, match="each once"):
        Corpus.of(GOOD, ["a", "a"])
    with pytest.raises(KindError, match=r"list of names such as .*; got 'ab'"):
        Corpus.of(GOOD, "ab")
    corpus = Corpus.of(GOOD, ["word", "pos"])
    for call in (corpus.only, corpus.without, corpus.__getitem__):
        with pytest.raises(InputError, match="must be one of word, pos; got 'tag'"):
            call("tag")
    with pytest.raises(InputError, match="at least one"):
        corpus.without("word", "pos")


def test_an_index_that_is_none_is_refused():
    corpus = Corpus.of(GOOD)
    for index in (2, -3, [0, 2]):
        with pytest.raises(IndexError, match="sentence"):
            corpus[index]
    for index in (0.5, [0.5], [True], [[0]]):
        with pytest.raises(KindError, match="an index must be"):
            corpus[index]


def test_a_column_must_have_a_string_for_each_token():
    corpus = Corpus.of(GOOD)
    with pytest.raises(InputError, match=r"3 tokens; got 2 sentences, 2 tokens; corpus\[0\] has 2 and strings\[0\] 1"):
        corpus.with_column("tag", [["A"], ["B"]])


@pytest.mark.parametrize(
    ("codes", "starts"),
    [([0, 2], [0, 2]), ([-1, 0], [0, 2]), ([0, 1], [0, 3]), ([0, 1], [1, 2]), ([0, 1], [0, 1, 1, 2]), ([0.0], [0, 1])],
)
def test_codes_and_starts_must_fit(codes, starts):
    with pytest.raises(OnkelError, match=r"TokenColumn: (codes|starts) must"):
        TokenColumn(("a", "b"), np.array(codes), np.array(starts))
    with pytest.raises(OnkelError, match=r"Corpus: (codes|starts) must"):
        Corpus(("c",), (np.array(codes),), (("a", "b"),), np.array(starts))


# ---------------------------------------------------------------- files

BAD_LINES = {
    "too few values": (b"a b\n\nc\n", "line 3: expected 2 values, as in the first line; got 1: 'c'"),
    "too many values": (b"a b\r\nc d e\r\n", "line 2: expected 2 values, as in the first line; got 3: 'c d e'"),
    "bad UTF-8": (b"a b\n\nc \xff\n", r"line 3: expected UTF-8; column 2 is not: 'c \\\\xff'"),
    "bad UTF-8 in the first line": (b"\xc3 b", "line 1: expected UTF-8; column 1"),
    "a surrogate": (b"a \xed\xa0\x80", "line 1: expected UTF-8; column 2"),
    "a NUL": (b"a b\nc d\0\n", "line 2: expected text; column 2 has a NUL"),
}


@pytest.mark.parametrize("name", BAD_LINES)
def test_a_malformed_line_is_named(tmp_path, name):
    content, message = BAD_LINES[name]
    path = tmp_path / "bad.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=f"bad.txt, {message}"):
        read_conll(path)


def test_a_line_must_have_the_columns_that_are_named(tmp_path):
    path = tmp_path / "bad.txt"
    path.write_text("a b\n", "utf-8")
    with pytest.raises(InputError, match=r"line 1: expected 3 values; got 2: 'a b'\. Check the separator"):
        read_conll(path, ["word", "pos", "chunk"])
    path.write_text("a,,b\n", "utf-8")
    with pytest.raises(InputError, match="line 1: expected a value in each column; column 2 is empty"):
        read_conll(path, separator=",")


def test_conllu_must_have_ten_columns_and_numbers(tmp_path):
    path = tmp_path / "bad.conllu"
    rest = "\t_" * 8
    path.write_text(f"# text\n1\ta{rest}\n1-2\tab{rest}\n1.1\tb{rest}\n2\tb{rest}\n", "utf-8")
    assert read_conll(path, ["form"])[0] == ["a", "b"]
    path.write_text("1\ta\n", "utf-8")
    with pytest.raises(InputError, match="line 1: expected 10 values; got 2"):
        read_conll(path)
    for wrong in ("a", "1-", ".1", "1-2-3", "-1"):
        path.write_text(f"1\ta{rest}\n{wrong}\ta{rest}\n", "utf-8")
        with pytest.raises(InputError, match="line 2: expected the number of a token"):
            read_conll(path)
    with pytest.raises(InputError, match=r"columns of CoNLL-U are id, form, .*; got word"):
        read_conll(path, ["word"])
    with pytest.raises(InputError, match="separator must be a tab for CoNLL-U"):
        read_conll(path, separator=" ")


def test_arguments_of_files_are_checked(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("a b\n", "utf-8")
    for bad in ({"separator": "ab"}, {"separator": "é"}, {"separator": "\n"}, {"separator": ""}, {"separator": 3}):
        with pytest.raises(InputError, match="separator must be one ASCII character"):
            read_conll(path, **bad)
    with pytest.raises(InputError, match="format must be one of conll, conllu; got 'xml'"):
        read_conll(path, format="xml")
    with pytest.raises(InputError, match="comment must be"):
        read_conll(path, comment="")
    with pytest.raises(KindError, match="path must be the name of a file"):
        read_conll(3)
    with pytest.raises(FileNotFoundError):
        read_conll(tmp_path / "missing.txt")
    for name in ("no.gz", "no.bz2"):
        (tmp_path / name).write_bytes(b"a b\n")
        with pytest.raises(InputError, match=f"{name}: expected a compressed file"):
            read_conll(tmp_path / name)


BAD_VALUES = {
    "empty": ("", None, "must not be empty"),
    "the separator": ("a b", None, "must not contain ' '"),
    "another blank": ("a\tb", None, r"must not contain '\\t'"),
    "another separator": ("a,b", ",", "must not contain ','"),
    "the end of a line": ("a\n", ",", "must not contain"),
    "a NUL": ("a\0", ",", "must not contain"),
    "a blank value": (" ", ",", "must not be empty"),
    "a document line": ("-DOCSTART-", None, "would not be read as a token"),
    "a byte order mark": ("\ufeffa", None, "would not be read as a token"),
}


@pytest.mark.parametrize("name", BAD_VALUES)
def test_a_value_that_would_not_be_read_is_not_written(tmp_path, name):
    value, separator, message = BAD_VALUES[name]
    path = tmp_path / "file.txt"
    path.write_text("before", "utf-8")
    with pytest.raises(InputError, match=message):
        write_conll(path, [["good", value]], separator=separator)
    assert path.read_text("utf-8") == "before"


def test_tags_must_fit_what_is_written(tmp_path):
    with pytest.raises(InputError, match="a string per token"):
        write_conll(tmp_path / "a.txt", [["a", "b"]], [["A"]])
    with pytest.raises(InputError, match=r"corpus.with_column\('upos', tags\)"):
        write_conll(tmp_path / "a.conllu", Corpus.of([["a"]], ["form"]), [["A"]])
    with pytest.raises(InputError, match="columns of CoNLL-U are"):
        write_conll(tmp_path / "a.conllu", [["a"]])
    with pytest.raises(InputError, match="id must hold numbers"):
        write_conll(tmp_path / "a.conllu", Corpus.of([["a"]], ["id"]))
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------- templates

BAD_TEMPLATES = {
    "no template": ("X01:%x[0,0]", "must start with a name"),
    "a sentence": ("U ser templates", "must start with a name"),
    "no colon": ("U01%x[0,0]", "must start with a name"),
    "nothing behind the colon": ("U01:", "expected a part"),
    "an unknown form": ("U01:%upper[0,0]", "a form must be x, lower, .*; got 'upper'"),
    "an unknown form in a chain": ("U01:%lower.prefix0[0,0]", "got 'prefix0'"),
    "x in a chain": ("U01:%x.lower[0,0]", "got 'x'"),
    "a missing column": ("U01:%x[0]", r"expected \[offset,column\]"),
    "a negative column": ("U01:%x[0,-1]", r"expected \[offset,column\]"),
    "a part cut short": ("U01:%x[0,0", r"expected \[offset,column\]"),
    "a lone percent sign": ("U01:100%", "a part must be written as"),
    "a far token": ("U01:%x[-100,0]", "between -99 and 99; got -100"),
}


@pytest.mark.parametrize("name", BAD_TEMPLATES)
def test_a_line_that_is_no_template_is_named(name):
    line, message = BAD_TEMPLATES[name]
    with pytest.raises(InputError, match=rf"line 3, .*{message}"):
        Templates.parse(f"# comment\nU00:%x[0,0]\n  {line}")


def test_templates_must_have_names_of_their_own():
    with pytest.raises(InputError, match=r"line 2, 'U01:%x\[1,0\]': .* U01 is also that of 'U01:%x\[0,0\]'"):
        Templates.parse("U01:%x[0,0]\nU01:%x[1,0]")
    with pytest.raises(InputError, match="U01 twice"):
        Templates(Templates.parse("U01:%x[0,0]").templates * 2)
    with pytest.raises(KindError, match="expected text; got list"):
        Templates.parse(["U01:%x[0,0]"])
    with pytest.raises(InputError, match="must be one of chunking, ner, pos; got 'chess'"):
        Templates.ready("chess")


def test_a_template_with_a_wrong_column_is_named_and_nothing_is_added():
    index = TemplateFeatures(Templates.parse("U00:%x[0,0]\nU01:%x[-1,0]/%x[0,2]"))
    for call in (index.add, index.find):
        with pytest.raises(
            InputError, match=r"template 'U01:%x\[-1,0\]/%x\[0,2\]' needs at least 3 columns.*got 2: 0, 1"
        ):
            call(GOOD)
    with pytest.raises(InputError, match=r"sequences\[1\] is empty"):
        index.add([["a"], []])
    assert (index.n_features, index.state().arrays["strings"].size) == (0, 0)


def test_arguments_of_an_index_are_checked():
    templates = Templates.parse("U00:%x[0,0]")
    with pytest.raises(KindError, match="must be Templates"):
        TemplateFeatures("U00:%x[0,0]")
    for bits in (0, 31, 1.5, True):
        with pytest.raises(OnkelError, match="n_bits must be"):
            TemplateFeatures(templates, n_bits=bits)
    hashed = TemplateFeatures(templates, n_bits=4)
    for call in (hashed.names, hashed.bigram_names, lambda: hashed.selected([0])):
        with pytest.raises(InputError, match="hashed features are not stored"):
            call()
    index = TemplateFeatures(templates)
    index.add([["a", "b"]])
    for ids, message in (
        ([2], "below 2"),
        ([-1], "below 2"),
        ([0, 0], "only once"),
        ([0.5], "list of ids"),
        (0, "list"),
    ):
        with pytest.raises(OnkelError, match=message):
            index.selected(ids)


def index_with_pairs():
    index = TemplateFeatures(Templates.parse("U00:%x[0,0]\nU01:%x[-1,0]/%lower[0,0]\nB01:%x[0,0]"))
    index.add([["a", "b", "A"]])
    return index


def damaged(arrays):
    """Arrays of a state, each with one thing wrong."""
    for name, array in arrays.items():
        yield {**arrays, name: array[:-1]}
        yield {**arrays, name: np.append(array, array[-1:])}
        yield {**arrays, name: array.astype(np.float64)}
        yield {**arrays, name: array[:, None]}
        yield {other: values for other, values in arrays.items() if other != name}
        if name == "strings":
            continue
        for i, change in itertools.product(range(len(array)), (-1, 1, 1000, 2**15)):
            wrong = array.astype(np.int64)
            wrong[i] += change
            if wrong[i] >= 0 or array.dtype.kind == "i":
                yield {**arrays, name: wrong.astype(array.dtype)}
    yield {**arrays, "strings": np.full_like(arrays["strings"], 255)}
    yield {**arrays, "strings": np.full_like(arrays["strings"], ord("a"))}
    yield {**arrays, "more": arrays["codes"]}


def test_arrays_that_do_not_fit_each_other_are_refused_or_harmless():
    index = index_with_pairs()
    state = index.state()
    refused = 0
    for wrong in damaged(state.arrays):
        try:
            other = TemplateFeatures.from_state(dataclasses.replace(state, arrays=wrong))
        except InputError:
            refused += 1
        else:  # another index, but a sound one
            assert len(other.names()) == other.n_features
            other.add([["c", "a", "b"]])
    assert refused > 50


@pytest.mark.parametrize("settings", [{}, {"templates": "U00:%x[0,0]"}, {"templates": "?", "n_bits": None}])
def test_settings_that_are_none_are_refused(settings):
    with pytest.raises(OnkelError):
        TemplateFeatures.from_state(dataclasses.replace(index_with_pairs().state(), settings=settings))


def test_lines_may_end_in_carriage_returns_alone(tmp_path):
    path = tmp_path / "old.txt"
    path.write_bytes(b"He PRP\rruns VBZ\r\rRun VB\r")
    assert list(read_conll(path)) == [[("He", "PRP"), ("runs", "VBZ")], [("Run", "VB")]]
