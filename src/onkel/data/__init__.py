"""Data: streams of examples, toy streams, columns of tokens from CoNLL files, their features, and a tagged corpus."""

from __future__ import annotations

from onkel.data.conll import read_conll, write_conll
from onkel.data.corpus import Corpus, TokenColumn
from onkel.data.stream import Stream
from onkel.data.tagged_sentences import load_tagged_sentences
from onkel.data.template_features import TemplateFeatures
from onkel.data.templates import Templates
from onkel.data.toy import drifting

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
