"""Entity scores beside stored figures of conlleval (version of 2004-01-26) and seqeval 1.2.2; hand-worked cases."""

from __future__ import annotations

import random

import pytest

from onkel.evaluate import EntityCounts, conll_f1, tag_confusion


def malformed(seed, letters, types=("PER", "LOC", "ORG"), n=60, longest=12):
    """Sentences of random tags, and guesses of which 70 % are right; few of them are well formed."""
    rng = random.Random(seed)
    tags = ["O", *(f"{letter}-{name}" for letter in letters for name in types)]
    weights = [2 * len(types)] + [1] * (len(tags) - 1)
    true = [rng.choices(tags, weights, k=rng.randint(1, longest)) for _ in range(n)]
    guess = [[t if rng.random() < 0.7 else rng.choices(tags, weights)[0] for t in s] for s in true]
    return true, guess


# What the perl script printed for malformed(0, "BI") and malformed(1, "BI").
PRINTED = [
    """\
processed 388 tokens with 186 phrases; found: 179 phrases; correct: 134.
accuracy:  80.41%; precision:  74.86%; recall:  72.04%; FB1:  73.42
              LOC: precision:  77.42%; recall:  73.85%; FB1:  75.59  62
              ORG: precision:  71.70%; recall:  65.52%; FB1:  68.47  53
              PER: precision:  75.00%; recall:  76.19%; FB1:  75.59  64""",
    """\
processed 366 tokens with 173 phrases; found: 166 phrases; correct: 118.
accuracy:  78.14%; precision:  71.08%; recall:  68.21%; FB1:  69.62
              LOC: precision:  76.47%; recall:  68.42%; FB1:  72.22  51
              ORG: precision:  70.37%; recall:  67.86%; FB1:  69.09  54
              PER: precision:  67.21%; recall:  68.33%; FB1:  67.77  61""",
]

# seqeval's report of malformed(0, letters): precision, recall, F1 and support; "all" is its micro average.
SEQEVAL = {
    ("conlleval", "IOB2"): {
        "LOC": (0.774194, 0.738462, 0.755906, 65),
        "ORG": (0.716981, 0.655172, 0.684685, 58),
        "PER": (0.75, 0.761905, 0.755906, 63),
        "all": (0.748603, 0.72043, 0.734247, 186),
    },
    ("conlleval", "BIOES"): {
        "LOC": (0.769231, 0.724638, 0.746269, 69),
        "ORG": (0.741573, 0.785714, 0.763006, 84),
        "PER": (0.764706, 0.77381, 0.769231, 84),
        "all": (0.757322, 0.763713, 0.760504, 237),
    },
    ("strict", "IOB2"): {
        "LOC": (0.774194, 0.8, 0.786885, 30),
        "ORG": (0.62963, 0.607143, 0.618182, 28),
        "PER": (0.655172, 0.655172, 0.655172, 29),
        "all": (0.689655, 0.689655, 0.689655, 87),
    },
    ("strict", "IOB1"): {
        "LOC": (0.805556, 0.690476, 0.74359, 42),
        "ORG": (0.666667, 0.666667, 0.666667, 33),
        "PER": (0.775, 0.794872, 0.78481, 39),
        "all": (0.752294, 0.719298, 0.735426, 114),
    },
    ("strict", "BIOES"): {
        "LOC": (0.809524, 0.62963, 0.708333, 27),
        "ORG": (0.708333, 0.708333, 0.708333, 24),
        "PER": (0.863636, 0.730769, 0.791667, 26),
        "all": (0.791045, 0.688312, 0.736111, 77),
    },
    ("strict", "BILOU"): {
        "LOC": (0.809524, 0.62963, 0.708333, 27),
        "ORG": (0.708333, 0.708333, 0.708333, 24),
        "PER": (0.863636, 0.730769, 0.791667, 26),
        "all": (0.791045, 0.688312, 0.736111, 77),
    },
}
LETTERS = {"IOB1": "BI", "IOB2": "BI", "BIOES": "BIES", "BILOU": "BILU"}


@pytest.mark.parametrize("seed", range(len(PRINTED)))
@pytest.mark.parametrize("scheme", ["IOB1", "IOB2"])
def test_the_table_of_malformed_tags_is_what_conlleval_prints(seed, scheme):
    assert str(conll_f1(*malformed(seed, "BI"), scheme=scheme)) == PRINTED[seed]


@pytest.mark.parametrize(("mode", "scheme"), SEQEVAL)
def test_malformed_tags_score_as_in_both_modes_of_seqeval(mode, scheme):
    scores = conll_f1(*malformed(0, LETTERS[scheme]), scheme=scheme, mode=mode)
    found = {"all": scores, **scores.by_type}
    assert set(found) == set(SEQEVAL[mode, scheme])
    for name, (precision, recall, f1, support) in SEQEVAL[mode, scheme].items():
        got = found[name]
        assert (got.precision, got.recall, got.f1) == pytest.approx((precision, recall, f1), abs=6e-7)
        assert got.support == support


# Tags, and the entities (first, last, type) in them: as conlleval reads them, and strictly as IOB2 or IOB1.
BY_HAND = [
    ("I-X I-X O", {(0, 1, "X")}, set(), {(0, 1, "X")}),
    ("B-X I-Y O", {(0, 0, "X"), (1, 1, "Y")}, {(0, 0, "X")}, {(1, 1, "Y")}),  # IOB1: no B after O
    ("B-X B-X I-X", {(0, 0, "X"), (1, 2, "X")}, {(0, 0, "X"), (1, 2, "X")}, {(1, 2, "X")}),
    ("I-X B-X I-X", {(0, 0, "X"), (1, 2, "X")}, {(1, 2, "X")}, {(0, 0, "X"), (1, 2, "X")}),
    ("I-X I-Y I-Y", {(0, 0, "X"), (1, 2, "Y")}, set(), {(0, 0, "X"), (1, 2, "Y")}),
    ("B-X O I-X", {(0, 0, "X"), (2, 2, "X")}, {(0, 0, "X")}, {(2, 2, "X")}),
    ("O O O", set(), set(), set()),
]


def spans_in(tags, **options):
    """The entities in the tags, found by scoring them against every span, itself well formed in IOB2."""
    n, found = len(tags), set()
    for name in "XY":
        for first in range(n):
            for last in range(first, n):
                span = ["O"] * n
                span[first : last + 1] = [f"{'BI'[i > first]}-{name}" for i in range(first, last + 1)]
                if options.get("scheme") == "IOB1":
                    span[first] = f"I-{name}"
                if conll_f1([tags], [span], **options).correct:
                    found.add((first, last, name))
    return found


@pytest.mark.parametrize(("tags", "conlleval", "iob2", "iob1"), BY_HAND, ids=[case[0] for case in BY_HAND])
def test_entities_worked_out_by_hand(tags, conlleval, iob2, iob1):
    assert spans_in(tags.split()) == conlleval
    assert spans_in(tags.split(), mode="strict") == iob2
    assert spans_in(tags.split(), scheme="IOB1", mode="strict") == iob1


def test_entities_of_bioes_worked_out_by_hand():
    true = ["B-X", "E-X", "S-Y", "O", "B-X", "I-X", "E-X"]
    guess = ["B-X", "E-X", "S-X", "O", "I-X", "I-X", "E-X"]  # a wrong type, and an entity without its B
    lenient, strict = (conll_f1([true], [guess], scheme="BIOES", mode=mode) for mode in ("conlleval", "strict"))
    assert lenient.by_type == {"X": EntityCounts(2, 3, 2), "Y": EntityCounts(0, 0, 1)}
    assert strict.by_type == {"X": EntityCounts(1, 2, 2), "Y": EntityCounts(0, 0, 1)}
    assert (lenient.accuracy, lenient.macro_f1) == (5 / 7, 2 / 5)


def test_an_entity_does_not_go_on_in_the_next_sentence():
    assert conll_f1([["O", "B-X"], ["I-X"]], [["O", "B-X"], ["I-X"]]).support == 2
    assert conll_f1([["O", "B-X"], ["I-X"]], [["O", "B-X"], ["I-X"]], mode="strict").support == 1


def test_a_confusion_table_prints_aligned_with_dots_for_zeros():
    true, guess = [["DET", "NOUN"] * 6, ["VERB"]], [["DET", "NOUN"] * 6, ["NOUN"]]
    shown = ["true \\ predicted  DET  NOUN  VERB", "DET                 6     .     ."]
    assert str(tag_confusion(true, guess)).splitlines()[:2] == shown
    assert str(tag_confusion(true, guess, ["VERB", "NOUN"])).splitlines()[1] == "VERB                 .     1"
