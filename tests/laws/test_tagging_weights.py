"""Laws of what a tagger shows of its weights: transitions and explanations add up to the scores of all labellings."""

from __future__ import annotations

import itertools
import pickle
from collections import Counter
from typing import Any

import numpy as np
import pytest
from reference.tagger_oracles import TwinTagger, phi

from onkel import SequencePerceptron
from onkel.kernels import Linear
from onkel.models.tagging.tagger import Explanation, TokenTerms

LABELS = ("A", "B", "C")
X = [["a", "b", "a"], ["b", "c"], ["c", "a", "b", "b"], ["a"], ["c", "c", "a"]]
Y = [["A", "B", "C"], ["C", "C"], ["B", "A", "A", "C"], ["B"], ["A", "C", "B"]]
FEATURES = [[{word: 1.0} for word in sentence] for sentence in X]
STRINGS = [[[word] for word in sentence] for sentence in X]


def fitted(**params: Any) -> SequencePerceptron:
    return SequencePerceptron(**{"max_iter": 3, "shuffle": False, **params}).fit(STRINGS, Y)


def twin(order: int) -> TwinTagger:
    found = TwinTagger(3, lambda x, z: phi(x, z, order))
    for _ in range(3):
        for x, tags in zip(FEATURES, Y, strict=True):
            found.learn(x, [LABELS.index(tag) for tag in tags])
    return found


# ---------------------------------------------------------------- transitions


@pytest.mark.parametrize("hypothesis", ["averaged", "last"])
@pytest.mark.parametrize("order", [1, 2])
def test_transitions_are_those_of_the_slow_twin(order, hypothesis):
    tagger = fitted(order=order, hypothesis=hypothesis)
    v = twin(order).v if hypothesis == "last" else twin(order).averaged()
    place: dict[Any, Any] = {None: None} | {tag: i for i, tag in enumerate(LABELS)}
    found = tagger.transition_features_
    histories = [h for h in itertools.product((*LABELS, None), repeat=order) if h in ((None, None), (None,)) or h[-1]]
    assert set(found) == {(*h, tag) for h in histories for tag in LABELS}
    for key, weight in found.items():
        places = [place[tag] for tag in key]
        wanted = v.get(("transition", *places[-2:]), 0.0)
        wanted += v.get(("second", *places), 0.0) if order == 2 else 0.0
        assert weight == pytest.approx(wanted, abs=1e-5), key
    assert any(found.values())
    assert all(type(weight) is float for weight in found.values())


@pytest.mark.parametrize("params", [{}, {"order": 2}, {"kernel": Linear()}, {"kernel": Linear(), "order": 2}], ids=str)
def test_tokens_and_transitions_add_up_to_the_score_of_every_labelling(params):
    if "kernel" in params:
        data: Any = [np.array([[float(word == w) for w in "abc"] for word in sentence]) for sentence in X]
        tagger = SequencePerceptron(max_iter=3, shuffle=False, **params).fit(data, Y)
    else:
        data, tagger = STRINGS, fitted(**params)
    transitions, order, model = tagger.transition_features_, params.get("order", 1), tagger.model_
    assert model.transition_features == transitions
    start = (None,) * order
    of_word = {}  # the score of a tag by itself: that of a sentence of one token, without its transition
    for s, t in ((0, 0), (0, 1), (1, 1)):
        for tag in LABELS:
            of_word[X[s][t], tag] = model.scores([data[s][t : t + 1]], [[tag]])[0] - transitions[(*start, tag)]
    for x, words in zip(data, X, strict=True):
        for tags in itertools.product(LABELS, repeat=len(words)):
            padded = (*start, *tags)
            steps = sum(transitions[padded[t : t + order + 1]] for t in range(len(tags)))
            total = steps + sum(of_word[word, tag] for word, tag in zip(words, tags, strict=True))
            assert total == pytest.approx(model.scores([x], [list(tags)])[0], abs=1e-4)


def test_the_lesson_of_sklearn_crfsuite_works():
    top = Counter(fitted().transition_features_).most_common(2)
    assert [f"{before} -> {tag}" for (before, tag), _ in top]
    assert top[0][1] >= top[1][1]


def test_a_vote_and_a_function_have_no_transitions():
    def own(sentence: Any, t: int, before: str | None, tag: str) -> list[str]:
        return [f"{sentence[t]} {tag}"]

    for tagger in (fitted(hypothesis="voted"), SequencePerceptron(features=own).fit(X, Y)):
        with pytest.raises(AttributeError, match="transition_features"):
            _ = tagger.transition_features_
        assert not hasattr(tagger, "transition_features_")


# ---------------------------------------------------------------- explanations


def test_an_explanation_is_read_by_people_and_by_programs():
    words = [["the", "cat", "sat"], ["a", "cat"]]
    tagger = SequencePerceptron(templates="U0:%x[0,0]\nU1:%suffix1[0,0]\nU2:%lower[0,0]\nU3:%shape[0,0]")
    tagger.fit(words, [["DT", "NN", "VB"], ["DT", "NN"]])
    found = tagger.explain(words[0])
    assert isinstance(found, Explanation)
    assert found.tokens == ("the", "cat", "sat")
    assert [why.tag for why in found] == ["DT", "NN", "VB"]
    assert found[1] == found[-2] == list(found)[1]
    assert isinstance(found[0], TokenTerms)
    tag, terms, transition = found[1]  # as a tuple
    assert (tag, len(found), len(found[1:])) == ("NN", 3, 2)
    assert found == tagger.model_.explain(words[0]) == pickle.loads(pickle.dumps(found))
    lines = str(found).splitlines()
    assert len(lines) == 3
    assert repr(found) == str(found)
    assert [line.split()[:2] for line in lines] == [["the", "DT"], ["cat", "NN"], ["sat", "VB"]]
    assert str(terms[0]) == f"{terms[0].feature} {terms[0].weight:+.3g}"
    assert all(str(term) in lines[1] for term in terms[:3])
    assert lines[1].endswith(f"1 more; the tag before {transition:+.3g}")
    assert str(found[1]) in lines[1]
    assert "(" not in str(found)


def test_tokens_that_are_features_are_shown_by_their_places():
    tagger = fitted()
    found = tagger.explain(STRINGS[0])
    assert found.tokens == ("0", "1", "2")
    assert str(found[1:]).splitlines() == str(found).splitlines()[1:]
    empty = tagger.explain([[]])
    assert "no feature" in str(empty)
    pairs = [[(word, "x") for word in sentence] for sentence in X]
    assert SequencePerceptron(templates="U:%x[0,0]").fit(pairs, Y).explain(pairs[1]).tokens == ("b", "c")
