"""A small corpus that ships with onkel: English sentences with parts of speech and named entities."""

from __future__ import annotations

from importlib.resources import as_file, files

from onkel.text.conll import read_conll
from onkel.text.corpus import Corpus

__all__ = ["load_tagged_sentences"]


def load_tagged_sentences() -> Corpus:
    """Loads 120 short English sentences, 1017 tokens, for examples and first trials of a tagger.

    The columns are word, pos and entity: the part of speech is one of 15 universal tags such as NOUN, and the entity is
    O, or B- (first token) or I- (any other) with the type PER, LOC or ORG: the scheme IOB2. The sentences were written
    for onkel; people and firms are invented.

    Returns
    -------
    corpus : a `Corpus`; ``corpus["pos"]`` are the tags of a column, and ``corpus[0]`` is a list of tuples.

    Cost: some milliseconds.

    >>> from onkel.data import load_tagged_sentences
    >>> corpus = load_tagged_sentences()
    >>> corpus[0][:2], len(corpus)
    ([('Anna', 'PROPN', 'B-PER'), ('lives', 'VERB', 'O')], 120)

    Source: the tags of Universal Dependencies 2, and the scheme of the CoNLL shared tasks.
    """
    with as_file(files("onkel.text").joinpath("tagged_sentences.conll")) as path:
        return read_conll(path, columns=("word", "pos", "entity"))
