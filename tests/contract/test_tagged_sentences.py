"""The corpus that ships with onkel is well formed."""

from __future__ import annotations

import copy

from onkel.data import load_tagged_sentences
from onkel.evaluate import conll_f1

UNIVERSAL = {
    "ADJ",
    "ADP",
    "ADV",
    "AUX",
    "CCONJ",
    "DET",
    "INTJ",
    "NOUN",
    "NUM",
    "PART",
    "PRON",
    "PROPN",
    "PUNCT",
    "SCONJ",
    "SYM",
    "VERB",
    "X",
}
SENTENCES = load_tagged_sentences()


def test_every_token_has_a_word_a_universal_part_of_speech_and_an_entity_tag():
    assert 80 <= len(SENTENCES) <= 120
    for sentence in SENTENCES:
        assert len(sentence) > 3
        for word, pos, entity in sentence:
            assert word
            assert not any(letter.isspace() for letter in word)
            assert pos in UNIVERSAL
            assert entity in {"O", *(f"{letter}-{name}" for letter in "BI" for name in ("PER", "LOC", "ORG"))}


def test_every_entity_tag_is_valid_in_iob2():
    for sentence in SENTENCES:
        before = "O"
        for *_, entity in sentence:
            assert entity[0] != "I" or before[1:] == entity[1:], sentence
            before = entity
    tags = [[entity for *_, entity in sentence] for sentence in SENTENCES]
    lenient, strict = conll_f1(tags, tags), conll_f1(tags, tags, mode="strict")
    assert lenient == strict
    assert lenient.f1 == 1.0
    assert all(counts.support >= 30 for counts in lenient.by_type.values())
    assert list(lenient.by_type) == ["LOC", "ORG", "PER"]


def test_sentences_differ_and_end_with_a_mark():
    assert len({tuple(word for word, *_ in sentence) for sentence in SENTENCES}) == len(SENTENCES)
    assert {sentence[-1][1] for sentence in SENTENCES} == {"PUNCT"}
    assert all(sentence[0][0][0].isupper() for sentence in SENTENCES)


def test_a_word_without_a_capital_is_in_no_entity_and_marks_are_marks():
    for sentence in SENTENCES:
        for word, pos, entity in sentence:
            assert entity == "O" or word[0].isupper() or word == "of"
            assert (pos == "PUNCT") == (word in {".", ",", "?", "!"})


def test_what_a_caller_does_to_the_sentences_stays_with_the_caller():
    before = copy.deepcopy(SENTENCES)
    load_tagged_sentences()[0].clear()
    assert load_tagged_sentences() == before
