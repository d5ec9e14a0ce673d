"""Public corpora: sizes that were counted apart, columns and features as the slow twins find them."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from data_sets import folder
from reference.sequence_oracles import CRFSUITE_CHUNKING, SlowTemplateFeatures, slow_conll, slow_conllu

from onkel.data import TemplateFeatures, Templates, read_conll


@pytest.fixture(scope="module")
def chunking():
    return read_conll(folder("conll2000") / "train.txt.gz", ["word", "pos", "chunk"])


def test_conll2000_is_read_as_by_its_twin(chunking):
    text = gzip.decompress((folder("conll2000") / "train.txt.gz").read_bytes()).decode()
    assert (len(chunking), chunking.n_tokens) == (8936, 211727)  # its README gives the number of tokens
    assert list(chunking) == slow_conll(text)
    assert len(chunking["chunk"].values) == 22


@pytest.mark.parametrize(("part", "n_sentences", "n_tokens"), [("train", 12544, 204577), ("test", 2077, 25094)])
def test_english_ewt_is_read_as_by_its_twin(part, n_sentences, n_tokens):
    path = folder("ud_english_ewt") / f"en_ewt-ud-{part}.conllu.gz"
    corpus = read_conll(path, ["form", "upos"])
    assert (len(corpus), corpus.n_tokens) == (n_sentences, n_tokens)  # lines "# sent_id", lines that begin "number TAB"
    assert list(corpus) == slow_conllu(gzip.decompress(path.read_bytes()).decode(), [1, 3])


def test_crfsuites_templates_find_the_features_of_its_chunking_example(chunking):
    """The distinct attributes of that example on this file, counted apart in a set of strings: 335 674, 18 a token."""
    index = TemplateFeatures(Templates.parse(CRFSUITE_CHUNKING))
    features = index.add(chunking)
    assert index.n_features == 335_674
    assert round(len(features.ids) / chunking.n_tokens, 2) == 17.99
    assert np.array_equal(index.find(chunking).ids, features.ids)
    assert TemplateFeatures.from_state(index.state()).names() == index.names()


@pytest.mark.parametrize("name", ["chunking", "pos", "ner"])
def test_ready_templates_are_their_twins_on_real_text(chunking, name):
    corpus = chunking[2000:2060]
    index, twin = TemplateFeatures(Templates.ready(name)), SlowTemplateFeatures(str(Templates.ready(name)))
    features = index.add(corpus)
    assert features.ids.tolist() == [i for row in twin.ids(list(corpus), add=True) for i in row]
    assert index.names() == twin.names()
