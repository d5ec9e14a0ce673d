"""Entity scores refuse what they cannot score, and say where."""

from __future__ import annotations

import pytest

from onkel.errors import KindError, ParameterError, ShapeError, ValuesError
from onkel.evaluate import conll_f1, tag_confusion

GOOD = [["B-PER", "O"], ["O"]]


@pytest.mark.parametrize("score", [conll_f1, tag_confusion])
@pytest.mark.parametrize(
    ("true", "guess", "error", "message"),
    [
        (GOOD, [["O", "O"]], ShapeError, "the same number of sentences; got 2 and 1"),
        (GOOD, [["O", "O"], []], ShapeError, r"y_true\[1\] has 1 and y_pred\[1\] 0"),
        (["B-PER", "O"], ["B-PER", "O"], KindError, r"y_true\[0\] is 'B-PER'. For one sentence write \[y_true\]"),
        (GOOD, "O", KindError, "y_pred must hold a list of tags for each sentence; got 'O'"),
        (GOOD, None, KindError, "y_pred must hold a list of tags for each sentence; got None"),
        ([[0, 1], [0]], GOOD, KindError, "y_true must hold a list of tags for each sentence, each a string; got 0"),
        ([[["O"], "O"], ["O"]], GOOD, KindError, "y_true must hold a list of tags for each sentence, each a string"),
    ],
)
def test_sentences_that_do_not_fit_are_refused_with_their_place(score, true, guess, error, message):
    with pytest.raises(error, match=f"^{score.__name__}: .*{message}"):
        score(true, guess)


@pytest.mark.parametrize(
    ("tag", "scheme"),
    [("NOUN", "IOB2"), ("E-PER", "IOB2"), ("L-PER", "BIOES"), ("PER", "IOB1"), ("O-PER", "IOB2"), ("", "IOB2")],
)
def test_a_tag_that_its_scheme_does_not_have_is_refused(tag, scheme):
    with pytest.raises(
        ValuesError, match=f"conll_f1: every tag of the scheme {scheme} must be O or such .* got '{tag}'"
    ):
        conll_f1([["O"]], [[tag]], scheme=scheme)


def test_options_that_do_not_exist_are_refused():
    with pytest.raises(ParameterError, match="scheme must be one of IOB2, IOB1, BIOES, BILOU; got 'IOE2'"):
        conll_f1(GOOD, GOOD, scheme="IOE2")
    with pytest.raises(ParameterError, match="mode must be one of conlleval, strict; got 'loose'"):
        conll_f1(GOOD, GOOD, mode="loose")
    for labels in ("NOUN", ["O", "O"]):
        with pytest.raises(ParameterError, match="labels must be a list of different tags"):
            tag_confusion(GOOD, GOOD, labels)


def test_scores_of_nothing_are_zero():
    for empty in ([], [[]], [["O"]]):
        scores = conll_f1(empty, empty)
        assert (scores.precision, scores.recall, scores.f1, scores.macro_f1, scores.support) == (0, 0, 0, 0, 0)
        assert "processed" in str(scores)
    assert conll_f1([], []).accuracy == 0.0
    assert tag_confusion([], []).counts.shape == (0, 0)
    assert str(tag_confusion([], [])) == "true \\ predicted"


def test_a_tag_without_a_type_has_the_type_underscore():
    assert list(conll_f1([["B", "I", "O"]], [["B", "I", "O"]]).by_type) == ["_"]


def test_a_type_may_have_hyphens():
    assert list(conll_f1([["B-X-Y", "I-X-Y"]], [["B-X-Y", "I-X-Z"]]).by_type) == ["X-Y", "X-Z"]
