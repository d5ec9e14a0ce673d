"""Input of a tagger that is easily mistaken for another: it is refused, with the place and a way out."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Mapping
from typing import Any

import pytest

from onkel import SequencePerceptron
from onkel.data import Corpus, TemplateFeatures, Templates
from onkel.errors import InputError, KindError, OnkelError, ShapeError, ValuesError
from onkel.states.state import State, from_state

WORDS = [["He", "runs"], ["She", "sleeps", "well"], ["It", "rains"]]
TAGS = [["PRON", "VERB"], ["PRON", "VERB", "ADV"], ["PRON", "VERB"]]
PAIRS = [[(word, word[-1]) for word in sentence] for sentence in WORDS]
ONE = ["He", "runs", "well"]


def tagger(sequences: Any = WORDS, tags: Any = TAGS, **params: Any) -> SequencePerceptron:
    return SequencePerceptron(**{"templates": "pos", "random_state": 0, **params}).fit(sequences, tags)


def corpus(*columns: str) -> Corpus:
    """The words, with further columns that no template reads."""
    rows = [[(w, *[t] * (len(columns) - 1)) for w, t in zip(*s, strict=True)] for s in zip(WORDS, TAGS, strict=True)]
    return Corpus.of(rows if len(columns) > 1 else WORDS, columns)


def of_one_token(sentence: Any) -> dict[str, Any]:
    """Every call that takes sentences, given one that has a single token."""
    return {
        "predict": lambda t: t.predict([sentence]),
        "predict_one": lambda t: t.predict_one(sentence),
        "k_best": lambda t: t.k_best([sentence], 2),
        "margins": lambda t: t.margins([sentence]),
        "score": lambda t: t.score([sentence], [["PRON"]]),
        "explain": lambda t: t.explain(sentence),
        "partial_fit": lambda t: t.partial_fit([sentence], [["PRON"]]),
        "learn_one": lambda t: t.learn_one(sentence, ["PRON"]),
        "a warm fit": lambda t: t.set_params(warm_start=True).fit([sentence], [["PRON"]]),
        "the model's predict": lambda t: t.model_.predict([sentence]),
        "the model's predict_one": lambda t: t.model_.predict_one(sentence),
        "the model's scores": lambda t: t.model_.scores([sentence]),
    }


# ---------------------------------------------------------------- columns


@pytest.mark.parametrize("call", of_one_token([ONE]))
def test_a_bracket_too_many_is_refused_and_nothing_is_lost(call):
    t = tagger()
    before = t.predict(WORDS), t.n_features_, t.n_rounds_
    with pytest.raises(ShapeError, match=r"must be a string, as in the first sentences.*'He', 'runs', 'well'.*bracket"):
        of_one_token([ONE])[call](t)
    assert (t.predict(WORDS), t.n_features_, t.n_rounds_) == before


@pytest.mark.parametrize("params", [{"n_bits": 10}, {"hypothesis": "voted"}, {"hypothesis": "last"}, {"min_count": 2}])
def test_every_kind_of_tagger_remembers_its_columns(params):
    t = tagger(**params)
    for call in ("predict", "predict_one", "partial_fit"):
        with pytest.raises(ShapeError, match="must be a string"):
            of_one_token([ONE])[call](t)


def test_tokens_in_lists_must_have_the_columns_of_the_first_ones():
    t = tagger(PAIRS)
    assert t.predict_one(PAIRS[0]) == TAGS[0]
    for other, got in ((ONE, "1 column"), ([("a", "b", "c")], "3 columns")):
        with pytest.raises(ShapeError, match=rf"a tuple of 2 strings, as in the first sentences; .*{got}.*Corpus"):
            t.predict_one(other)
    with pytest.raises(ShapeError, match="must be a string"):
        tagger().predict(PAIRS)
    assert tagger().predict_one([("He",), ("runs",)]) == TAGS[0]  # a tuple of one string is one column


def test_a_corpus_may_have_further_columns_or_lack_those_that_no_template_reads():
    parts = {1: corpus("word"), 2: corpus("word", "tag"), 3: corpus("word", "a", "tag")}
    wanted = tagger().predict(WORDS)
    for first in (WORDS, PAIRS, *parts.values()):
        t = tagger(first)
        for other in (*parts.values(), parts[1]["word"]):
            assert t.predict(other) == wanted
            t.partial_fit(other, TAGS)


def test_after_a_corpus_lists_need_only_the_columns_that_the_templates_read():
    t = tagger(corpus("word", "tag"))  # a training file, whose last column is the tag
    assert t.predict(WORDS) == t.predict(PAIRS) == tagger().predict(WORDS)
    with pytest.raises(ShapeError, match=r"1 to 2 columns, as in the first sentences; .*3 columns"):
        t.predict_one([ONE])
    with pytest.raises(ShapeError, match="must be a string"):
        tagger(corpus("word")).predict_one([ONE])
    with pytest.raises(InputError, match="needs at least 2 columns"):
        tagger(corpus("word", "pos", "tag"), templates="chunking").predict(WORDS)


def test_copies_and_states_remember_the_columns():
    t = tagger()
    twins = [pickle.loads(pickle.dumps(t)), copy.deepcopy(t), from_state(t.state()), from_state(t.model_.state())]
    stream = SequencePerceptron(templates="pos").learn_one(WORDS[0], TAGS[0])
    for twin in (*twins, SequencePerceptron().resume(t.snapshot()), pickle.loads(pickle.dumps(t.model_)), stream):
        with pytest.raises(ShapeError, match="must be a string"):
            twin.predict_one([ONE])
    index = TemplateFeatures(Templates.ready("pos"))
    index.find([["a"], ["b"]])  # learns nothing
    index.add([])
    index.add(PAIRS)
    for other in (index, index.copy(), index.selected([1, 0]), TemplateFeatures.from_state(index.state())):
        with pytest.raises(ShapeError, match="a tuple of 2 strings"):
            other.find(WORDS)
        assert other.find(PAIRS).n_tokens == 7


def without_columns(state: State) -> State:
    """A state as it was before columns were counted."""

    def older(settings: Any) -> Any:
        if not isinstance(settings, Mapping):
            return settings
        return {key: older(value) for key, value in settings.items() if key not in ("n_columns", "named_columns")}

    assert "n_columns" in str(state.settings)
    return State(state.kind, state.version, older(state.settings), state.arrays)


def test_an_older_state_is_read_and_takes_the_columns_of_the_next_sentences():
    t = tagger()
    assert from_state(without_columns(t.model_.state())).predict(WORDS) == t.predict(WORDS)
    again = from_state(without_columns(t.state()))
    assert again.predict(WORDS) == t.predict(WORDS)
    again.partial_fit(WORDS, TAGS)
    with pytest.raises(ShapeError, match="must be a string"):
        again.predict_one([ONE])


@pytest.mark.parametrize("edit", [{"n_columns": 0}, {"n_columns": "1"}, {"n_columns": True}, {"named_columns": 1}])
def test_a_state_with_impossible_columns_is_refused(edit):
    index = TemplateFeatures(Templates.ready("pos"))
    index.add(WORDS)
    state = index.state()
    with pytest.raises(OnkelError, match="columns"):
        TemplateFeatures.from_state(dataclasses.replace(state, settings={**state.settings, **edit}))


def test_an_iterator_of_sentences_is_learned_from_as_a_list_of_them():
    listed, iterated = (SequencePerceptron(templates="pos") for _ in range(2))
    listed.partial_fit(WORDS, TAGS)
    iterated.partial_fit(iter(WORDS), TAGS)
    assert iterated.model_ == listed.model_
    assert iterated.score(iter(WORDS), TAGS) == listed.score(WORDS, TAGS)


# ---------------------------------------------------------------- tokens that are features

STRINGS = [[[word] for word in sentence] for sentence in WORDS]


def test_words_without_templates_are_told_of_templates():
    for t in (SequencePerceptron(), tagger(STRINGS, templates=None)):
        with pytest.raises(KindError, match=r"""SequencePerceptron\(templates="pos"\), "chunking" or "ner"""):
            t.partial_fit(WORDS, TAGS)


def test_a_corpus_is_never_read_as_features():
    t = tagger(STRINGS, templates=None)
    for call in (
        lambda: t.predict(Corpus.of(PAIRS)),
        lambda: t.partial_fit(Corpus.of(PAIRS), TAGS),
        lambda: tagger(corpus("word", "tag"), templates=None),
    ):
        with pytest.raises(InputError, match=r"""a Corpus has columns.*SequencePerceptron\(templates="pos"\)"""):
            call()


def test_a_feature_that_is_no_string_is_refused_in_predicting_too():
    t = tagger(STRINGS, templates=None)
    for odd in ((("He",), ("runs",)), [1, 2]):
        with pytest.raises(KindError, match=r"sequences\[0\]\[0\] is"):
            t.predict_one([odd])


# ---------------------------------------------------------------- schemes

UNFIT = {
    "BIO": [["PRON", "VERB"], ["O", "I-X"], ["S-X", "O"]],
    "IOB2": [["PRON", "O"]],
    "IOB1": [["PRON", "VERB"], ["O", "B-X"]],
    "BIOES": [["PRON", "VERB"], ["B-X", "I-X"], ["B-X", "E-Y"]],
}


@pytest.mark.parametrize(("scheme", "tags"), [(scheme, tags) for scheme, all_ in UNFIT.items() for tags in all_])
def test_a_scheme_in_which_the_tags_make_up_no_chunk_is_refused(scheme, tags):
    message = rf"scheme '{scheme}' .*the tags are {', '.join(sorted(tags))}"
    new = SequencePerceptron(templates="pos", scheme=scheme)
    with pytest.raises(InputError, match=message):
        new.fit([["a", "b"]], [tags])
    assert not hasattr(new, "classes_")
    warm = SequencePerceptron(templates="pos", warm_start=True).partial_fit([["a"]], [["O"]]).set_params(scheme=scheme)
    with pytest.raises(InputError, match=f"scheme '{scheme}'"):
        warm.fit([["b", "c"]], [tags])
    assert (warm.n_features_, list(warm.classes_)) == (21, ["O"])  # of the first sentence
    late = tagger([["a", "b"]], [tags]).set_params(scheme=scheme)
    for call in (late.predict, lambda x: late.predict_one(x[0]), lambda x: late.k_best(x, 2), late.model_.scores):
        with pytest.raises(InputError, match=message):
            call([["a", "b"]])
    assert late.set_params(scheme=None).predict_one(["a", "b"]) == tags


def test_the_error_shows_only_some_of_many_tags():
    tags = [f"T{i:02d}" for i in range(30)]
    with pytest.raises(InputError, match=r"the tags are T00, T01, T02, T03, T04, …"):
        tagger([["a"] * 30], [tags], scheme="BIO")


def test_a_stream_that_has_only_seen_o_may_have_a_scheme():
    for scheme, chunk in (("BIO", ["B-X"]), ("IOB1", ["I-X"]), ("BIOES", ["S-X"]), ("BIOES", ["B-X", "E-X"])):
        t = SequencePerceptron(templates="pos", scheme=scheme).learn_one(["a"], ["O"])
        assert t.predict_one(["a"]) == ["O"]
        assert t.learn_one(["b", "c"][: len(chunk)], chunk).predict_one(["a"])


# ---------------------------------------------------------------- places are those of Python


def test_places_are_told_as_python_counts_them():
    t, words = tagger(), Corpus.of(WORDS)
    short = [*TAGS[:2], ["PRON"]]
    for call, error, message in (
        (lambda: t.partial_fit(WORDS, short), ShapeError, r"sequences\[2\] has 2 tokens but tags\[2\] "),
        (lambda: t.predict(WORDS, [None, None, [[], []]]), ValuesError, r"sequences\[2\] has no labelling"),
        (lambda: t.k_best(WORDS, 2, [None, None, [[], []]]), ValuesError, r"sequences\[2\] has no labelling"),
        (lambda: t.predict([["a"], "b c"]), KindError, r"sequences\[1\] must be a list of tokens; got 'b c'"),
        (lambda: t.predict([["a"], []]), InputError, r"sequences\[1\] is empty"),
        (lambda: t.predict([["a"], ["b", 3]]), KindError, r"sequences\[1\]\[1\] is 3"),
        (lambda: words[3], IndexError, r"index 3 is out of range for 3 sentences"),
        (lambda: words.with_column("x", short), ShapeError, r"corpus\[2\] has 2 and strings\[2\] 1"),
    ):
        with pytest.raises(error, match=message):
            call()
