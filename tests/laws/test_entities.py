"""Laws of entity scores: equal to a slow walk over the tokens on any tags, and the same for every form of the input."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from reference.entity_oracles import conlleval, strict

from onkel.evaluate import conll_f1, tag_confusion

LETTERS = {"IOB1": "BI", "IOB2": "BI", "BIOES": "BIES", "BILOU": "BILU"}


@st.composite
def sentences(draw, letters):
    """Pairs of any tags of a scheme, well formed or not, that often agree."""
    tags = ["O", *(f"{letter}-{name}" for letter in letters for name in ("X", "Y"))]
    pair = st.one_of(st.sampled_from([(t, t) for t in tags]), st.tuples(st.sampled_from(tags), st.sampled_from(tags)))
    pairs = draw(st.lists(st.lists(pair, max_size=8), max_size=6))
    return [[t for t, _ in s] for s in pairs], [[g for _, g in s] for s in pairs]


def counts(scores):
    return {name: (c.correct, c.predicted, c.support) for name, c in scores.by_type.items()}


def of(counters):
    names = sorted(name for name in set().union(*counters) if any(c[name] for c in counters))
    return {name: tuple(c[name] for c in counters) for name in names}


@given(st.sampled_from(["IOB1", "IOB2", "BIOES"]), st.data())
def test_any_tags_are_counted_as_conlleval_counts_them(scheme, data):
    true, guess = data.draw(sentences(LETTERS[scheme]))
    scores = conll_f1(true, guess, scheme=scheme)
    assert counts(scores) == of(conlleval(true, guess))
    assert (scores.correct, scores.predicted, scores.support) == tuple(c.total() for c in conlleval(true, guess))


@given(st.sampled_from(list(LETTERS)), st.data())
def test_any_tags_are_counted_strictly_as_their_scheme_says(scheme, data):
    true, guess = data.draw(sentences(LETTERS[scheme]))
    assert counts(conll_f1(true, guess, scheme=scheme, mode="strict")) == of(strict(true, guess, scheme))


def tagged(spans, n, scheme):
    """Well-formed tags of n tokens with entities (first, last, type) that do not overlap."""
    tags, before = ["O"] * n, {}
    for first, last, name in sorted(spans):
        one, head, middle, tail = {"IOB2": "BBII", "BIOES": "SBIE", "BILOU": "UBIL"}.get(scheme, "IIII")
        if scheme == "IOB1" and before.get(first - 1) == name:
            one = head = "B"
        tags[first] = f"{one if first == last else head}-{name}"
        for i in range(first + 1, last + 1):
            tags[i] = f"{tail if i == last else middle}-{name}"
        before[last] = name
    return tags


@st.composite
def spans(draw, n=12):
    cuts = sorted(draw(st.sets(st.integers(0, n), min_size=2, max_size=6)))
    runs = [(a, b - 1, draw(st.sampled_from(["X", "Y", None]))) for a, b in pairwise(cuts)]
    return {run for run in runs if run[2] is not None}


@given(st.lists(spans(), min_size=1, max_size=4), st.data())
def test_entities_that_are_well_tagged_are_found_in_every_scheme_and_mode(true, data):
    guess = [data.draw(st.one_of(st.just(s), spans())) for s in true]
    common = sum(len(a & b) for a, b in zip(true, guess, strict=True))
    expected = (common, sum(map(len, guess)), sum(map(len, true)))
    for scheme, mode in product(LETTERS, ["conlleval", "strict"]):
        sides = ([tagged(s, 12, scheme) for s in side] for side in (true, guess))
        scores = conll_f1(*sides, scheme=scheme, mode=mode)
        assert (scores.correct, scores.predicted, scores.support) == expected


@given(sentences("BI"))
def test_true_and_predicted_change_places_and_precision_becomes_recall(pair):
    one, other = conll_f1(*pair), conll_f1(*pair[::-1])
    assert (one.precision, one.f1, one.accuracy) == (other.recall, other.f1, other.accuracy)
    assert conll_f1(pair[0], pair[0]).correct == one.support


class Column:
    """A column of a corpus: distinct values, a code for each token, and where sentences begin."""

    def __init__(self, sentences, offset):
        flat = [tag for s in sentences for tag in s]
        self.values = ("unused", *sorted(set(flat)))
        lead = [0] * offset  # codes of sentences before the first of this column
        self.codes = np.array([*lead, *map(self.values.index, flat)], dtype=np.int32)
        self.starts = offset + np.cumsum([0, *map(len, sentences)])


@given(sentences("BI"), st.integers(0, 3))
def test_a_column_of_codes_scores_as_its_lists_of_strings_do(pair, offset):
    lists = conll_f1(*pair)
    assert conll_f1(*(Column(side, offset) for side in pair)) == lists
    assert conll_f1(Column(pair[0], offset), pair[1]) == lists
    arrays = [[np.array(s, dtype=str) for s in side] for side in pair]
    assert conll_f1(*arrays) == lists


@given(sentences("BI"))
def test_a_confusion_table_counts_pairs_of_tags(pair):
    table = tag_confusion(*pair)
    pairs = [p for s, g in zip(*pair, strict=True) for p in zip(s, g, strict=True)]
    assert table.labels == tuple(sorted({tag for p in pairs for tag in p}))
    for i, true in enumerate(table.labels):
        for j, guess in enumerate(table.labels):
            assert table.counts[i, j] == pairs.count((true, guess))
    fewer = tag_confusion(*pair, labels=["O", "B-X", "never"])
    assert fewer.counts.tolist() == [[pairs.count((t, g)) for g in fewer.labels] for t in fewer.labels]
