"""Data: streams of examples, toy streams, columns of tokens from CoNLL files, their features, and a tagged corpus.

What is about tokens lives in `onkel.text`.
"""

from __future__ import annotations

from onkel.data.stream import Stream
from onkel.data.toy import drifting
from onkel.text.conll import read_conll, write_conll
from onkel.text.corpus import Corpus, TokenColumn
from onkel.text.tagged_sentences import load_tagged_sentences
from onkel.text.template_features import TemplateFeatures
from onkel.text.templates import Templates

__all__ = [
    "Corpus",
    "Stream",
    "TemplateFeatures",
    "Templates",
    "TokenColumn",
    "drifting",
    "load_tagged_sentences",
    "read_conll",
    "write_conll",
]
