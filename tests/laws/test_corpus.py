"""Laws of corpora and of CoNLL files: a corpus is the list of its sentences, and what is written is read."""

from __future__ import annotations

import bz2
import gzip
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.sequence_oracles import slow_conll

from onkel.data import Corpus, TokenColumn, read_conll, write_conll
from onkel.text import conll

# Words of one and of many bytes, shorter and longer than eight bytes, which are compared in one step.
words = st.sampled_from(
    ["a", "b", "ab", "abcdefg", "abcdefgh", "abcdefghi", "abcdefghij", "straße", "日本語テキスト", "#", "-"]
)
any_words = words | st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters=" \t\ufeff"), min_size=1)


def sentences(values=words, width=2, min_size=0):
    token = st.tuples(*[values] * width)
    return st.lists(st.lists(token, min_size=1, max_size=6), min_size=min_size, max_size=6)


@settings(max_examples=30)
@given(sentences())
def test_a_corpus_is_the_list_of_its_sentences(given_):
    corpus = Corpus.of(given_, ["word", "pos"])
    assert list(corpus) == given_ == [corpus[i] for i in range(len(corpus))]
    assert len(corpus) == len(given_)
    assert corpus.n_tokens == sum(map(len, given_))
    assert corpus["pos"].tolist() == [[token[1] for token in s] for s in given_] == list(corpus["pos"])
    assert list(corpus.only("pos")) == corpus["pos"].tolist()
    assert corpus.without("word") == corpus.only("pos")
    assert all(len(set(values)) == len(values) for values in corpus.values)
    assert Corpus.of(corpus) is corpus


@settings(max_examples=30)
@given(sentences(min_size=1), st.data())
def test_parts_of_a_corpus_are_the_parts_of_the_list(given_, data):
    corpus, n = Corpus.of(given_), len(given_)
    index = data.draw(st.lists(st.integers(-n, n - 1), max_size=8))
    part = slice(
        *data.draw(st.tuples(*[st.none() | st.integers(-n - 1, n + 1)] * 2)), data.draw(st.sampled_from([1, 2, -1]))
    )
    assert list(corpus[part]) == given_[part]
    assert list(corpus["1"][part]) == [[token[1] for token in s] for s in given_[part]]
    assert list(corpus[np.array(index, dtype=np.int64)]) == [given_[i] for i in index]
    chosen = [i % 2 == 0 for i in range(n)]
    assert list(corpus[np.array(chosen)]) == given_[::2]


@settings(max_examples=30)
@given(sentences(), sentences())
def test_corpora_are_equal_if_their_strings_are_whatever_their_codes(a, b):
    assert (Corpus.of(a) == Corpus.of(b)) == (a == b)
    joined = Corpus.of(a + b)
    assert joined[: len(a)] == (Corpus.of(a) if a else joined[:0])
    assert joined[len(a) :]["0"] == (Corpus.of(b)["0"] if b else joined[:0]["0"])
    assert pickle.loads(pickle.dumps(joined)) == joined


@settings(max_examples=30)
@given(sentences(any_words), st.sampled_from([None, "\t", "|"]), st.sampled_from(["", ".gz", ".bz2"]))
def test_what_is_written_is_read(tmp_path_factory, given_, separator, suffix):
    path = tmp_path_factory.mktemp("written") / f"file.txt{suffix}"
    given_ = [[t for t in s if "|" not in "".join(t)] for s in given_]
    corpus = Corpus.of([s for s in given_ if s], ["word", "pos"])
    write_conll(path, corpus, separator=separator)
    assert read_conll(path, ["word", "pos"], separator=separator) == corpus
    tags = corpus["pos"].tolist()
    write_conll(path, corpus.only("word"), tags, separator=separator)
    assert read_conll(path, ["word", "pos"], separator=separator) == corpus


@settings(max_examples=30)
@given(sentences(any_words, width=3))
def test_what_is_written_as_conllu_is_read(tmp_path_factory, given_):
    path = tmp_path_factory.mktemp("written") / "file.conllu"
    corpus = Corpus.of(given_, ["form", "upos", "misc"])
    write_conll(path, corpus)
    assert read_conll(path, ["form", "upos", "misc"]) == corpus
    whole = read_conll(path)
    assert whole["id"].tolist() == [[str(i + 1) for i in range(len(s))] for s in given_]
    write_conll(path, whole)
    assert read_conll(path) == whole


lines = st.sampled_from(
    ["He PRP", "runs\tVBZ", "  a   b  ", "", " ", "\t", "-DOCSTART- -X-", "# #", "abcdefgh abcdefghi"]
)


@settings(max_examples=30)
@given(st.lists(lines, max_size=12), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.integers(1, 30))
def test_a_file_is_read_as_by_its_twin_in_runs_of_any_length(tmp_path_factory, given_, newline, last, run):
    path = tmp_path_factory.mktemp("read") / "file.txt"
    text = newline.join(given_) + newline * last
    path.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conll, "RUN", run)
        assert list(read_conll(path)) == slow_conll(text)


@pytest.mark.parametrize("content", ["", "\n", "\r\n\n \n", "\ufeff", "-DOCSTART- -X- O\n\n"])
def test_a_file_without_tokens_is_an_empty_corpus(tmp_path, content):
    path = tmp_path / "empty.txt"
    path.write_text(content, "utf-8")
    assert len(read_conll(path)) == 0
    assert read_conll(path, ["word", "pos"]).columns == ("word", "pos")
    write_conll(path, read_conll(path))
    assert path.read_bytes() == b""


def test_a_byte_order_mark_and_compression_change_nothing(tmp_path):
    text = b"He PRP\nruns VBZ\n\nRun VB"
    contents = {
        "a.txt": text,
        "b.txt": b"\xef\xbb\xbf" + text,
        "c.gz": gzip.compress(text),
        "d.bz2": bz2.compress(text),
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    first, *others = [read_conll(tmp_path / name) for name in contents]
    assert list(first) == [[("He", "PRP"), ("runs", "VBZ")], [("Run", "VB")]]
    assert all(other == first for other in others)


def test_comments_are_left_out_only_if_asked_for(tmp_path):
    path = tmp_path / "comments.txt"
    path.write_text("# id 1\na O\n", "utf-8")
    assert list(read_conll(path, comment="# ")) == [[("a", "O")]]
    path.write_text("# O\na O\n", "utf-8")
    assert read_conll(path)[0][0] == ("#", "O")


def test_many_distinct_values_keep_their_codes(tmp_path):
    values = [f"w{i * 7919 % 5000}" for i in range(6000)]
    path = tmp_path / "many.txt"
    path.write_text("\n".join(values), "utf-8")
    corpus = read_conll(path)
    assert corpus[0] == values
    assert corpus.values[0] == tuple(dict.fromkeys(values))


def test_a_column_can_be_added_or_replaced_by_tags():
    corpus = Corpus.of([[("a", "X"), ("b", "Y")], [("c", "Z")]], ["word", "tag"])
    replaced = corpus.with_column("tag", [["1", "2"], ["3"]])
    assert list(replaced) == [[("a", "1"), ("b", "2")], [("c", "3")]]
    assert corpus.with_column("more", replaced["tag"]).columns == ("word", "tag", "more")
    assert list(corpus)[1] == [("c", "Z")]


def test_nothing_of_a_corpus_can_be_changed():
    corpus = Corpus.of([["a", "b"]])
    for array in (corpus.codes[0], corpus.starts, corpus["0"].codes):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    with pytest.raises(AttributeError):
        corpus.columns = ("x",)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_a_corpus_does_not_change_with_the_arrays_it_was_made_of(dtype):
    codes, starts, values = np.array([0, 1, 0], dtype), np.array([0, 2, 3], np.int64), ["a", "b"]
    hidden = codes.view()
    hidden.flags.writeable = False  # read-only, but of memory that is not
    made = [Corpus(("w",), (codes,), (values,), starts), Corpus(("w",), (hidden,), (values,), starts)]
    made += [TokenColumn(values, codes, starts), TokenColumn(values, hidden, starts)]
    codes[:], starts[:], values[:] = 1, 0, ["x", "y"]
    for one in made:
        assert list(one) == [["a", "b"], ["a"]]
    assert np.shares_memory(made[0]["w"].codes, made[0].codes[0])  # what is frozen is shared
    assert np.shares_memory(made[0][:1].codes[0], made[0].codes[0])
