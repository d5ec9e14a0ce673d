"""Laws of features by templates: the index is its slow twin, whatever the corpus, the runs and the order of calls."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.sequence_oracles import CRFSUITE_CHUNKING, SlowTemplateFeatures

from onkel.data import Corpus, TemplateFeatures, Templates
from onkel.text import template_features

# One part, two, three and five; each kind of form; text between parts; no part at all; pairs of labels.
MIXED = """
U00:%x[0,0]
U01:%x[-1,0]/%x[0,0]
# two columns
U02:%x[-2,1]|%x[0,0]|%x[3,1]
U03?:%x[-1,1]/%x[1,1]
U04:%lower.prefix2[0,0]-%suffix3[1,0]
U05:%shape[0,0]
U06:%shortshape[0,0]/%flags[-1,0]
U07:%bos
U08:%eos/%x[0,0]
U09
U10:constant
U11:%x[-2,0]%x[-1,0]%x[0,0]%x[1,0]%x[2,0]
U12?:%x[-2,0]
B
B01:%x[0,1]
B02?:%x[-1,0]/%x[1,0]
"""
WORDS = ["a", "B", "ab-3", "Straße", "ÉÉ", "x.", "_B-1", "日本", "NEW-York", "", "a/b", "1984"]
tokens = st.tuples(st.sampled_from(WORDS), st.sampled_from("XYZ"))
corpora = st.lists(st.lists(tokens, min_size=1, max_size=6), max_size=4)
texts = st.sampled_from([MIXED, CRFSUITE_CHUNKING, "U00:%x[0,0]", "B01:%x[-1,0]/%x[0,1]", "B"])


def rows(indptr, ids):
    return [ids[begin:end].tolist() for begin, end in pairwise(indptr)]


def check(features, twin, sentences, *, add):
    """The ids of features are those of the twin."""
    assert rows(features.indptr, features.ids) == twin.ids(sentences, add=add)
    bigrams = twin.ids(sentences, add=add, bigrams=True)
    if features.bigram_indptr is None:
        assert not any(bigrams)
    else:
        assert rows(features.bigram_indptr, features.bigram_ids) == bigrams
    assert features.starts.tolist() == np.cumsum([0, *map(len, sentences)]).tolist()


def check_names(index, twin):
    assert (index.n_features, index.n_bigrams) == tuple(map(len, twin.known))
    assert index.names() == twin.names()
    assert index.bigram_names() == twin.names(bigrams=True)


@settings(max_examples=25)
@given(texts, corpora, corpora, corpora, st.integers(1, 40))
def test_the_index_is_its_twin_however_it_grows(text, first, second, other, run):
    index, twin = TemplateFeatures(Templates.parse(text)), SlowTemplateFeatures(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(template_features, "RUN", run)
        check(index.add(first), twin, first, add=True)
        check(index.find(other), twin, other, add=False)
        check(index.add(Corpus.of(first + second)[len(first) :]), twin, second, add=True)
        check(index.find(other), twin, other, add=False)
    check_names(index, twin)


@settings(max_examples=25)
@given(texts, corpora, corpora)
def test_growing_by_parts_is_growing_at_once(text, first, second):
    by_parts, at_once = (TemplateFeatures(Templates.parse(text)) for _ in range(2))
    parts = [by_parts.add(first), by_parts.add(second)]
    whole = at_once.add(first + second)
    assert np.concatenate([part.ids for part in parts]).tolist() == whole.ids.tolist()
    assert by_parts.names() == at_once.names()


@settings(max_examples=25)
@given(texts, corpora, corpora)
def test_find_changes_nothing(text, known, other):
    index = TemplateFeatures(Templates.parse(text))
    index.add(known)
    before = (index.names(), index.bigram_names(), index.find(known).ids.tolist())
    index.find(other)
    assert (index.names(), index.bigram_names(), index.find(known).ids.tolist()) == before


@settings(max_examples=25)
@given(texts, corpora, corpora, st.randoms(use_true_random=False))
def test_a_selection_has_its_features_numbered_in_its_order(text, known, other, random):
    index, twin = TemplateFeatures(Templates.parse(text)), SlowTemplateFeatures(text)
    index.add(known)
    twin.ids(known, add=True)
    twin.ids(known, add=True, bigrams=True)
    kept = [random.sample(range(n), random.randint(0, n)) for n in (index.n_features, index.n_bigrams)]
    selected = index.selected(np.array(kept[0]), np.array(kept[1]))
    orders = [list(known) for known in twin.known]
    twin.known = tuple({order[i]: new for new, i in enumerate(ids)} for order, ids in zip(orders, kept, strict=True))
    check_names(selected, twin)
    check(selected.find(known), twin, known, add=False)
    check(selected.add(other), twin, other, add=True)
    assert index.selected(range(index.n_features)).names() == index.names()
    assert index.selected([]).n_bigrams == index.n_bigrams


@settings(max_examples=25)
@given(texts, corpora, corpora)
def test_an_index_comes_back_from_its_state_and_grows_alike(text, known, other):
    index = TemplateFeatures(Templates.parse(text))
    index.add(known)
    again = TemplateFeatures.from_state(index.state())
    others = [again, index.copy(), pickle.loads(pickle.dumps(index)), copy.deepcopy(index)]
    ids = index.add(other).ids.tolist()
    for one in others:
        assert one.templates == index.templates
        assert one.add(other).ids.tolist() == ids
        assert (one.names(), one.bigram_names()) == (index.names(), index.bigram_names())


def test_a_copy_grows_alone():
    index = TemplateFeatures(Templates.parse("U00:%x[0,0]\nU01:%x[-1,0]/%x[0,0]"))
    index.add([["a", "b"]])
    for other in (index.copy(), copy.copy(index), copy.deepcopy(index)):
        other.add([["c", "d"]])
        assert (other.n_features, index.n_features) == (8, 4)
    assert index.add([["c"]]).ids.tolist() == [4, 5]


def test_a_state_keeps_only_the_strings_that_a_feature_uses():
    index = TemplateFeatures(Templates.parse("U00:%x[0,0]\nU01:%lower[0,0]"))
    index.add([[f"Word{i}"] for i in range(1000)])
    selected = index.selected([0, 5])
    assert selected.names() == ["U00:Word0", "U01:word2"]
    assert selected.state().arrays["strings"].tobytes() == b"Word0word2"


@settings(max_examples=25)
@given(texts, corpora, corpora)
def test_hashed_ids_depend_on_the_strings_alone(text, first, second):
    templates = Templates.parse(text)
    index = TemplateFeatures(templates, n_bits=12)
    whole = index.add(first + second)
    parts = [TemplateFeatures(templates, n_bits=12).find(part) for part in (first, second)]
    assert whole.ids.tolist() == [i for part in parts for i in part.ids.tolist()]
    exact = TemplateFeatures(templates).add(first + second)
    assert whole.indptr.tolist() == exact.indptr.tolist()
    assert index.n_features == 2**12 * any(not template.of_bigrams for template in templates.templates)
    assert index.n_bigrams == 2**12 * (exact.bigram_ids is not None)
    assert not whole.ids.size or 0 <= whole.ids.min() <= whole.ids.max() < 2**12
    if exact.bigram_ids is not None:
        assert whole.bigram_indptr.tolist() == exact.bigram_indptr.tolist()
    twin = {}  # equal features have equal hashes
    for feature, hashed in zip(exact.ids.tolist(), whole.ids.tolist(), strict=True):
        assert twin.setdefault(feature, hashed) == hashed


def test_hashes_are_the_same_on_every_machine_and_spread():
    """The literals are a promise: models with hashed features are stored, and read elsewhere."""
    index = TemplateFeatures(Templates.parse("U00:%x[0,0]\nU01:%x[-1,0]/%lower[0,0]"), n_bits=20)
    assert index.find([["The", "Straße"]]).ids.tolist() == [886843, 176620, 427989, 477969]
    index = TemplateFeatures(Templates.parse("U00:%x[0,0]/%x[-1,0]"), n_bits=16)
    ids = index.find([[f"w{i}" for i in range(2000)]]).ids
    assert len(np.unique(ids)) > 1940  # of 2000 balls in 65536 bins, 1970 are expected to be filled


def test_a_long_sentence_and_many_short_ones_are_their_twins():
    rng = np.random.default_rng(0)
    tokens = [(f"w{i}", f"p{i % 7}") for i in rng.integers(0, 300, size=900)]
    sentences = [tokens[:300], *([token] for token in tokens[300:450]), tokens[450:]]
    index, twin = TemplateFeatures(Templates.parse(MIXED)), SlowTemplateFeatures(MIXED)
    check(index.add(sentences), twin, sentences, add=True)
    check_names(index, twin)


def test_threads_may_find_at_the_same_time():
    index = TemplateFeatures(Templates.ready("chunking"))
    rng = np.random.default_rng(0)
    corpus = Corpus.of([[(f"w{i}", f"p{i % 7}") for i in rng.integers(0, 300, size=20)] for _ in range(500)])
    ids = index.add(corpus).ids
    with ThreadPoolExecutor(4) as pool:
        assert all(np.array_equal(found.ids, ids) for found in pool.map(index.find, [corpus] * 8))


@pytest.mark.parametrize(("name", "count", "columns"), [("chunking", 36, 2), ("pos", 21, 1), ("ner", 29, 1)])
def test_ready_templates_read_back_and_use_the_columns_they_say(name, count, columns):
    templates = Templates.ready(name)
    assert Templates.parse(str(templates)) == templates == eval(repr(templates))
    assert templates.n_columns == columns
    assert sum(not template.of_bigrams for template in templates.templates) == count
    assert templates.label_bigrams
    patterns = [str(template).partition(":")[2] for template in templates.templates]
    assert len(set(patterns)) == len(patterns)


def test_templates_read_back():
    templates = Templates.parse(MIXED)
    assert Templates.parse(str(templates)) == templates
    assert len({templates, Templates.parse(str(templates))}) == 1
    assert templates != Templates.parse("B")
