"""The contract of SequencePerceptron: scikit-learn at work, bad input, interruptions, state, models, constraints."""

from __future__ import annotations

import copy
import json
import pickle
import threading
from itertools import product
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from contract.registered import form_of_sentences
from interruptions import lines_of, spread, stop_at_line
from mutate import with_array, with_setting
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from tagged import FORMS, TAG, W, X, Y, features, vectors

from onkel import SequencePerceptron
from onkel.data import Corpus, Templates
from onkel.errors import InputError, KindError, OnkelError
from onkel.kernels import RBF
from onkel.models.tagging import viterbi
from onkel.models.tagging.tagger import Tagger
from onkel.states.state import State, from_json, from_state, to_json

each_form = pytest.mark.parametrize("form", FORMS)


def fitted(form: str, **params: Any) -> tuple[SequencePerceptron, Any]:
    own, data = FORMS[form]
    return SequencePerceptron(**{"max_iter": 3, "random_state": 0, **own, **params}).fit(data, Y), data


def bytes_of(state: State) -> Any:
    return {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in state.arrays.items()}, state.settings


# ---------------------------------------------------------------- scikit-learn at work


def test_it_is_neither_a_classifier_nor_a_regressor_and_is_cloned_by_its_parameters():
    tagger = SequencePerceptron(margin=2, order=2, templates="pos")
    assert not is_classifier(tagger)
    assert not is_regressor(tagger)
    assert clone(tagger).get_params() == tagger.get_params()
    assert tagger.set_params(margin=5).margin == 5
    with pytest.raises(NotFittedError):
        tagger.predict([["a"]])
    assert SequencePerceptron().predict_one([["a"]]) is None


def test_a_grid_search_takes_a_list_of_sequences():
    search = GridSearchCV(SequencePerceptron(random_state=0), {"margin": [0, 5], "order": [1, 2]}, cv=3).fit(X, Y)
    assert search.best_score_ > 0.9
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert np.isfinite(cross_val_score(SequencePerceptron(templates="U0:%x[0,0]"), Corpus.of(W), Y, cv=3)).all()


@each_form
def test_the_same_seed_gives_the_same_bytes_and_a_copy_is_the_same(form):
    one, data = fitted(form)
    two, _ = fitted(form)
    assert bytes_of(one.state()) == bytes_of(two.state())
    found = one.predict(data)
    for twin in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one), SequencePerceptron.from_state(one.state())):
        assert twin.predict(data) == found
        assert (twin.n_rounds_, twin.n_updates_, list(twin.classes_)) == (
            one.n_rounds_,
            one.n_updates_,
            list(one.classes_),
        )
        assert bytes_of(twin.state()) == bytes_of(one.state())


@pytest.mark.parametrize(("first", "then"), [("f4", "f8"), ("f8", "f4"), ("i8", "f4")])
def test_vectors_of_other_dtypes_may_follow(first, then):
    sentences = vectors(W)
    tagger = SequencePerceptron(kernel=RBF(gamma=0.5), random_state=0).fit([m.astype(first) for m in sentences], Y)
    found = tagger.predict([matrix.astype(then) for matrix in sentences])
    assert found == tagger.predict(sentences)
    assert tagger.partial_fit([matrix.astype(then) for matrix in sentences], Y).model_.predict(sentences) == found


@each_form
def test_what_goes_on_from_a_state_learns_as_the_original(form):
    one, data = fitted(form)
    twin = from_state(one.state())
    assert isinstance(twin, SequencePerceptron)
    kept, model = one.snapshot(), one.model_
    for estimator in (one, twin):
        estimator.partial_fit(data[:9], Y[:9])
        estimator.learn_one(data[3], Y[3])
    assert bytes_of(one.state()) == bytes_of(twin.state())
    assert one.n_rounds_ == twin.n_rounds_ > 10
    assert bytes_of(one.resume(kept).state()) == bytes_of(kept)
    assert one.model_ == model


@each_form
def test_states_do_not_depend_on_how_rows_are_padded_in_memory(form, monkeypatch):
    one, data = fitted(form)
    states = one.state(), one.model_.state()
    found = one.predict(data)
    ranked = None if "voted" in form else one.k_best(data, 3)
    one.partial_fit(data[:9], Y[:9])
    monkeypatch.setattr(viterbi, "LANES", 24)  # the core takes any multiple of 8
    twin, model = map(from_state, states)
    assert (bytes_of(twin.state()), bytes_of(model.state())) == tuple(map(bytes_of, states))
    assert twin.predict(data) == model.predict(data) == found
    assert ranked is None or twin.k_best(data, 3) == model.k_best(data, 3) == ranked
    assert bytes_of(twin.partial_fit(data[:9], Y[:9]).state()) == bytes_of(one.state())


@each_form
def test_the_model_predicts_by_itself_and_survives_its_state(form):
    tagger, data = fitted(form)
    model = tagger.model_
    assert isinstance(model, Tagger)
    found = tagger.predict(data)
    assert model.predict(data) == found
    assert model.predict_one(data[0]) == found[0]
    assert [tagger.predict_one(x) for x in data] == found
    if "voted" not in form:
        assert len(model.margins(data)) == len(data)
    state = model.state()
    settings = from_json(json.loads(json.dumps(to_json(state.settings))))
    again = from_state(State(state.kind, state.version, settings, {k: v.copy() for k, v in state.arrays.items()}))
    assert again == model
    tagger.partial_fit(data, [tags[::-1] for tags in Y])
    assert tagger.model_ != model
    with pytest.raises(OnkelError):
        Tagger.from_state(State(state.kind, state.version, dict(state.settings), {}))


@pytest.mark.parametrize("form", ["strings", "templates"])
def test_models_are_read_while_the_estimator_learns(form):
    own, X = FORMS[form]
    tagger = SequencePerceptron(**own, random_state=0).partial_fit(X, Y)
    wanted, model, errors, done = tagger.predict(X), tagger.model_, [], threading.Event()

    def read() -> None:
        while not done.is_set():
            try:
                assert model.predict(X) == wanted
                tagger.predict(X[:3])
                tagger.predict_one(X[0])
                pickle.dumps(tagger)
            except Exception as error:  # pragma: no cover
                errors.append(error)
                return

    thread = threading.Thread(target=read)
    thread.start()
    for k in range(20):
        tagger.partial_fit(X, Y)
        new = f"new{k}" if form == "templates" else [f"w=new{k}"]
        tagger.partial_fit([[new]], [[f"NEW{k % 3}"]])
    done.set()
    thread.join()
    assert errors == []
    assert tagger.n_rounds_ == 21 * len(X) + 20


# ---------------------------------------------------------------- interruptions


def own_features(sequence: Any, t: int, before: str | None, tag: str) -> list[str]:
    return [f"{feature}|{tag}" for feature in sequence[t]] + [f"{before}>{tag}"]


STOPPED: dict[str, dict[str, Any]] = {
    "averaged": {},
    "voted": {"hypothesis": "voted"},
    "kernel voted": {"hypothesis": "voted", "kernel": RBF(gamma=0.5)},
    "function voted": {"hypothesis": "voted", "features": own_features},
}


@pytest.mark.parametrize("form", STOPPED)
@pytest.mark.parametrize("name", ["learn_one", "partial_fit"])
def test_a_call_that_is_stopped_at_any_line_leaves_a_whole_number_of_sentences(name, form):
    params, words = STOPPED[form], W
    read = vectors if "kernel" in params else features
    begun = SequencePerceptron(n_voters=None, **params).partial_fit(read(words[:6]), Y[:6])
    data, late = read(words), read([["late"], [*words[5], "late"]])
    more = [late[1:], [[*Y[5], "LATE"]]]
    if name == "partial_fit":
        more = [[*data[:4], late[0], *data[4:6]], [*Y[:4], ["LATE"], *Y[4:6]]]

    def call(tagger: SequencePerceptron) -> None:
        if name == "learn_one":
            tagger.learn_one(more[0][0], more[1][0])
        else:
            tagger.partial_fit(*more)

    wanted = {}
    for n in range(len(more[0]) + 1):
        twin = copy.deepcopy(begun)
        for x, y in zip(more[0][:n], more[1][:n], strict=True):
            twin.learn_one(x, y)
        wanted[twin.n_rounds_] = twin, twin.predict(data)
    seen = set()
    first = copy.deepcopy(begun)
    for k in spread(lines_of(lambda: call(first)), 60):
        tagger = copy.deepcopy(begun)
        stop_at_line(lambda tagger=tagger: call(tagger), k, KeyboardInterrupt)
        twin, found = wanted[tagger.n_rounds_]
        seen.add(tagger.n_rounds_)
        assert tagger.predict(data) == found
        assert tagger.n_updates_ == twin.n_updates_
        if "voted" in form:
            assert tagger.model_.scorer.run.n_updates == tagger.n_updates_
        tagger.learn_one(data[0], Y[0])
    assert len(seen) >= 2


def test_ctrl_c_leaves_what_a_fit_has_learned_and_is_raised():
    tagger = SequencePerceptron(max_iter=50, margin=1e6, random_state=0)
    learned: list[int] = []

    class Stop:
        def __init__(self) -> None:
            self.calls = 0

        def __call__(self, *args: Any) -> list[str]:
            self.calls += 1
            if self.calls == 3000:
                raise KeyboardInterrupt
            learned.append(self.calls)
            return [f"{args[0][args[1]][0]}|{args[3]}"]

    tagger.set_params(features=Stop())
    with pytest.raises(KeyboardInterrupt):
        tagger.fit(X, Y)
    assert tagger.n_rounds_ > 0
    assert len(tagger.predict(X[:2])) == 2
    tagger.partial_fit(X[:2], Y[:2])


# ---------------------------------------------------------------- bad input

BAD = {
    "an empty sentence": (lambda t: t.partial_fit([[]], [[]]), InputError, "token"),
    "no sentence": (lambda t: t.partial_fit([], []), InputError, "sentence"),
    "no sentence to tag": (lambda t: t.predict([]), InputError, "sentence"),
    "a string for sentences": (lambda t: t.partial_fit("the cat", [["A"]]), KindError, "list of sentences"),
    "a string for a sentence": (lambda t: t.partial_fit(["the cat"], [["A"]]), KindError, "list of tokens"),
    "words for tokens": (lambda t: t.partial_fit([["the"]], [["DT"]]), KindError, "templates"),
    "numbers for features": (lambda t: t.partial_fit([[[1, 2]]], [["DT"]]), KindError, "strings"),
    "unequal lengths": (lambda t: t.partial_fit([[["a"]]], [["DT", "NN"]]), InputError, r"1 tokens but tags\[0\]"),
    "too few tags": (lambda t: t.partial_fit([[["a"]], [["b"]]], [["DT"]]), InputError, "2 sentences"),
    "tags that are numbers": (lambda t: t.partial_fit([[["a"]]], [[1]]), KindError, "strings"),
    "tags of one sentence only": (lambda t: t.partial_fit([[["a"]]], ["DT"]), KindError, r"tags\[0\]"),
    "a value that is NaN": (lambda t: t.partial_fit([[{"a": float("nan")}]], [["DT"]]), InputError, "finite"),
    "a value that is an object": (lambda t: t.partial_fit([[{"a": object()}]], [["DT"]]), KindError, "value"),
    "an unknown tag in a constraint": (lambda t: t.predict(X[:1], [[["XX"]] * len(X[0])]), InputError, "XX"),
    "a constraint that is too short": (lambda t: t.predict(X[:1], [[]]), InputError, "allowed"),
    "constraints for other sentences": (lambda t: t.predict(X[:2], [None]), InputError, "2 sentences"),
    "tokens without any tag": (lambda t: t.predict(X[:1], [[[]] * len(X[0])]), InputError, "no labelling"),
    "k below 1": (lambda t: t.k_best(X, 0), InputError, "k must be"),
    "an unknown label": (lambda t: t.top_features("XX"), InputError, "XX"),
    "a parameter that was built in": (lambda t: t.set_params(order=2).partial_fit(X, Y), InputError, "order"),
    "a scheme that is none": (lambda t: t.set_params(scheme="BIOX").predict(X), InputError, "scheme"),
    "lengths without a matrix": (lambda t: t.partial_fit(X, Y, lengths=[1]), InputError, "matrix"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_clearly_and_nothing_is_lost(name):
    bad, error, message = BAD[name]
    tagger = SequencePerceptron(random_state=0).fit(X, Y)
    before = bytes_of(tagger.state())[0]
    with pytest.raises(error, match=message):
        bad(tagger)
    tagger.set_params(order=1, scheme=None)
    assert bytes_of(tagger.state())[0] == before
    new = SequencePerceptron()
    if "predict" not in str(name) and name in list(BAD)[:13] and name != "no sentence to tag":
        with pytest.raises(error):
            bad(new)
        assert not hasattr(new, "classes_")


BAD_PARAMETERS = [
    {"order": 3},
    {"order": True},
    {"margin": -1},
    {"hypothesis": "best"},
    {"n_voters": 0},
    {"n_bits": 31},
    {"min_count": 0},
    {"max_iter": 0},
    {"templates": "nonsense"},
    {"templates": "U0:%x[0,9]"},
    {"templates": 3},
    {"features": 3},
    {"kernel": "rbf"},
    {"templates": "U0:%x[0,0]\nB0:%x[0,0]", "n_bits": 24},
    {"kernel": RBF(), "features": len},
    {"features": len, "order": 2},
    {"kernel": RBF(), "n_bits": 4},
]


@pytest.mark.parametrize("params", BAD_PARAMETERS, ids=str)
def test_parameters_that_cannot_be_used_are_refused(params):
    with pytest.raises((OnkelError, ValueError, TypeError)):
        SequencePerceptron(**params).fit(W if "templates" in params else vectors(W) if "kernel" in params else X, Y)


def test_matrices_must_fit():
    tagger = SequencePerceptron().fit(vectors(W), Y)
    stacked = sp.csr_array(np.concatenate(vectors(W)))
    for wrong in ({"sequences": stacked}, {"sequences": stacked, "lengths": [3]}, {"sequences": [np.ones((2, 3))]}):
        with pytest.raises(OnkelError):
            tagger.predict(**wrong)
    with pytest.raises(KindError, match="matrices"):
        tagger.partial_fit(X, Y)


@pytest.mark.parametrize(
    ("kernel", "written"),
    [("rbf", r"RBF\(gamma=0.5\)"), ("poly", r"Polynomial\(degree=3, gamma=0.5.*\)"), ("gauss", r"RBF\(gamma=0.5\)")],
)
def test_the_name_of_a_kernel_is_answered_with_what_to_write(kernel, written):
    with pytest.raises(KindError, match=rf"got '{kernel}'. Write kernel=onkel.kernels.{written}"):
        SequencePerceptron(kernel=kernel).fit([[[1.0, 2.0], [0.0, 1.0]]], [["a", "b"]])


def test_a_function_that_fails_in_the_middle_undoes_the_whole_call():
    def own(sequence: Any, t: int, before: str | None, tag: str) -> list[str]:
        if sequence[t] == ["fail"]:
            raise ZeroDivisionError
        return [f"{sequence[t][0]}|{tag}", f"{before}|{tag}"]

    tagger = SequencePerceptron(features=own, shuffle=False).fit(X, Y)
    before = tagger.n_rounds_, tagger.n_updates_, tagger.predict(X)
    with pytest.raises(ZeroDivisionError):
        tagger.partial_fit([*X[:5], [["fail"]]], [*[tags[::-1] for tags in Y[:5]], ["DT"]])
    assert (tagger.n_rounds_, tagger.n_updates_, tagger.predict(X)) == before


# ---------------------------------------------------------------- constraints and explanations


def test_schemes_and_known_tags_restrict_what_is_predicted():
    rng = np.random.default_rng(0)
    data = [[[f"w{w}"] for w in rng.integers(0, 4, 5)] for _ in range(30)]
    tags = [[["O", "B-X", "I-X", "I-X"][int(token[0][1])] for token in s] for s in data]
    free = SequencePerceptron(random_state=0).fit(data, tags)
    valid = SequencePerceptron(random_state=0, scheme="BIO").fit(data, tags)
    broken = [s for s in free.predict(data) for a, b in zip(["O", *s], s, strict=False) if b == "I-X" and a == "O"]
    assert broken
    for s in valid.predict(data):
        assert all(not (b == "I-X" and a == "O") for a, b in zip(["O", *s], s, strict=False))
        assert valid.predict_one(data[0]) == valid.predict(data[:1])[0]
    known = [None, *[["B-X", {"B-X", "O"}, None, "O", None]] * 29]
    for wanted, s in zip(known[1:], free.predict(data, known)[1:], strict=True):
        assert s[0] == "B-X"
        assert s[1] in wanted[1]
        assert s[3] == "O"
    assert free.predict_one(data[0], known[1])[0] == "B-X"
    assert free.k_best(data[:1], 3, [known[1]])[0][0].tags[3] == "O"


NOTHING_LEARNED = {
    "the first sentence of a stream": (lambda: SequencePerceptron().learn_one([["w"]], ["a"]), [[["w"]]]),
    "one tag, hashed": (lambda: SequencePerceptron(n_bits=3).fit([[["w"]]], [["a"]]), [[["w"]]]),
    "all features too rare": (
        lambda: SequencePerceptron(min_count=5).fit([[["w"]], [["v"]]], [["a"], ["b"]]),
        [[["w"]]],
    ),
    "tokens without features": (lambda: SequencePerceptron().fit([[[], []]], [["a", "b"]]), [[[]]]),
    "a table that was never used": (
        lambda: SequencePerceptron(templates="U0:%x[0,0]\nB1:%x[0,0]").fit([["p"], ["q"]], [["x"], ["y"]]),
        [["p"]],
    ),
}


@pytest.mark.parametrize("name", NOTHING_LEARNED)
def test_a_tagger_that_has_no_weight_for_any_feature_predicts(name):
    make, data = NOTHING_LEARNED[name]
    tagger = make()
    assert tagger.predict(data) == [tagger.predict_one(data[0])]
    again = from_state(tagger.model_.state())
    assert again.predict(data) == tagger.predict(data)


def test_a_refused_call_leaves_no_features_behind():
    tagger = SequencePerceptron().partial_fit(X, Y, classes=sorted(set(TAG.values())))
    known = tagger.n_features_
    with pytest.raises(InputError, match="tags must be among"):
        tagger.partial_fit([[["new"]]], [["NEW"]])
    assert tagger.n_features_ == known


def test_the_tags_of_a_part_of_a_corpus_are_those_that_occur_in_it():
    whole = Corpus.of([[(w, t) for w, t in zip(a, b, strict=True)] for a, b in zip(W, Y, strict=True)], ["word", "tag"])
    part = whole[:2]
    tagger = SequencePerceptron(templates="U0:%x[0,0]").fit(part.only("word"), part["tag"])
    assert list(tagger.classes_) == sorted({tag for tags in Y[:2] for tag in tags})


def edited(state: State, name: str, value: Any) -> State:
    if name in state.arrays:
        return with_array(state, name, value(state.arrays[name].copy()))
    return with_setting(state, (name,), value)


def put(place: int, number: int) -> Any:
    def change(array: np.ndarray) -> np.ndarray:
        array[place] = number
        return array

    return change


HOSTILE = {
    "a round below 1": ("estimator", "learner/log/rounds", put(0, -1000)),
    "a round after the last": ("estimator", "learner/log/rounds", put(-1, 10**6)),
    "a feature that is not there": ("estimator", "learner/log/ids", put(0, 10**6)),
    "a label that is not there": ("estimator", "learner/log/z", put(0, 99)),
    "sentences that overlap": ("estimator", "learner/log/starts", put(1, 10**6)),
    "weights of another shape": ("estimator", "learner/features/w", lambda a: a[:, :-1].copy()),
    "a tag twice": ("model", "labels", ["DT"] * 4),
    "a tag that is a number": ("model", "labels", [1, 2, 3, 4]),
    "a scheme that is none": ("model", "scheme", "nonsense"),
    "guesses that fall": ("model", "scorer/guesses", lambda a: a[::-1].copy()),
    "names that are no text": ("model", "scorer/run/index/names", lambda a: np.full_like(a, 255)),
}
HOSTILE_KERNEL = {
    "an update of other labels": ("estimator", "learner/log/z", put(0, 1)),
    "a round after the last": ("estimator", "learner/log/rounds", put(-1, 10**6)),
    "a vote with an update of other labels": ("model", "scorer/run/updates/z", put(0, 1)),
    "a guess after the last": ("model", "scorer/guesses", put(-1, 10**6)),
    "one label too few": ("model", "scorer/run/expansion/intercept", lambda a: a[1:].copy()),
}


@pytest.mark.parametrize(("form", "name"), [*product(["voted"], HOSTILE), *product(["kernel voted"], HOSTILE_KERNEL)])
def test_an_edited_state_is_refused(form, name):
    which, key, value = (HOSTILE if form == "voted" else HOSTILE_KERNEL)[name]
    tagger, _ = fitted(form)
    state = tagger.state() if which == "estimator" else tagger.model_.state()
    assert from_state(state) is not None
    with pytest.raises(OnkelError):
        from_state(edited(state, key, value))


def test_the_state_of_a_vote_must_hold_a_run():
    vote = fitted("kernel voted")[0].model_.scorer
    for other in (vote.run.expansion, vote):
        state = State("scorer/voted-tokens", 1, {}, {"guesses": vote.guesses, "weights": vote.weights})
        with pytest.raises(InputError, match="the guesses of a run"):
            from_state(state.with_part("run", other.state()))


def test_the_hypothesis_can_be_changed_except_to_a_vote_that_was_not_logged():
    tagger, voted = fitted("strings")[0], fitted("voted")[0]
    averaged = tagger.predict(X)
    assert tagger.set_params(hypothesis="last").partial_fit(X, Y).predict(X)
    assert tagger.model_ != fitted("strings")[0].model_
    with pytest.raises(InputError, match="log of all updates"):
        tagger.set_params(hypothesis="voted").predict(X)
    with pytest.raises(InputError, match="log of all updates"):
        tagger.predict_one(X[0])
    assert voted.set_params(hypothesis="averaged").predict(X) == averaged
    kernel, data = fitted("kernel")
    with pytest.raises(InputError, match="log of all updates"):
        kernel.set_params(hypothesis="voted").predict(data)
    own = SequencePerceptron(features=own_features).fit(X, Y)
    with pytest.raises(InputError, match="log of all updates"):
        own.set_params(hypothesis="voted").predict(X)


def test_features_tell_why_a_token_has_its_tag():
    tagger, _ = fitted("strings")
    assert tagger.top_features("DT", 3)[0].weight >= tagger.top_features("DT", 3)[1].weight
    terms = tagger.explain(X[0])
    total = sum(sum(term.weight for term in token.terms) + token.transition for token in terms)
    assert total == pytest.approx(tagger.k_best(X[:1], 1)[0][0].score, rel=1e-5)
    assert total == pytest.approx(tagger.model_.scores(X[:1])[0], rel=1e-5)
    assert total == pytest.approx(tagger.model_.scores(X[:1], [[t.tag for t in terms]])[0], rel=1e-5)
    second = fitted("order 2")[0]
    total = sum(sum(term.weight for term in token.terms) + token.transition for token in second.explain(X[0]))
    assert total == pytest.approx(second.k_best(X[:1], 1)[0][0].score, rel=1e-5)
    with pytest.raises(KindError, match="weight for each feature"):
        fitted("voted")[0].explain(X[0])
    with pytest.raises(AttributeError, match="n_updates_"):
        _ = SequencePerceptron(margin=1).fit(X, Y).n_mistakes_
    assert Templates.ready("pos").n_columns == 1


# ---------------------------------------------------------------- between reading and learning


def test_a_refused_chunk_leaves_no_features_and_single_sentences_are_still_tagged():
    X, y = [[["w=a"], ["w=b"]]], [["A", "B"]]
    tagger = SequencePerceptron(hypothesis="last", random_state=0).partial_fit(X * 2, y * 2)
    before = tagger.n_features_, tagger.snapshot()
    many = [[{f"new{i}": 2.0} for i in range(300)]]
    with pytest.raises(InputError, match="features must have no values"):
        tagger.partial_fit(many, [["A"] * 300])
    assert (tagger.n_features_, tagger.snapshot()) == before
    assert tagger.predict_one([["w=a"], ["w=b"]]) == ["A", "B"]


def test_a_sentence_is_tagged_while_others_are_read_but_not_learned_from_yet():
    tagger = SequencePerceptron(hypothesis="last", random_state=0)
    tagger.partial_fit([[["w=a"], ["w=b"]]] * 2, [["A", "B"]] * 2)
    new = [[[f"new{i}"] for i in range(300)]]
    form_of_sentences(tagger).add(new)  # as another thread does
    assert len(tagger.predict_one(new[0])) == 300
    assert tagger.predict_one([["w=a"], ["w=b"]]) == ["A", "B"]


def test_mistakes_are_those_of_the_margin_that_was_learned_with():
    tagger = SequencePerceptron(margin=1, random_state=0).fit([[["w=a"], ["w=b"]]], [["A", "B"]])
    tagger.set_params(margin=0)
    with pytest.raises(AttributeError, match="see n_updates_"):
        _ = tagger.n_mistakes_


def test_a_late_tag_comes_with_its_first_sentence_or_not_at_all(monkeypatch):
    def pairs(x, i, before, tag):
        return [f"{x[i]}|{tag}", f"{before}|{tag}"]

    tagger = SequencePerceptron(features=pairs, hypothesis="last", random_state=0)
    tagger.partial_fit([["a", "b"]] * 2, [["A", "B"]] * 2)
    before, expected = tagger.n_rounds_, tagger.predict([["a", "b"], ["c"]])
    with monkeypatch.context() as patch:

        def stop(*_):
            raise KeyboardInterrupt

        patch.setattr("onkel.learners.tagging.markov.MarkovLearner.learn", stop)
        with pytest.raises(KeyboardInterrupt):
            tagger.partial_fit([["c"]], [["C"]])
    assert (tagger.n_rounds_, tagger.classes_.tolist()) == (before, ["A", "B"])
    assert tagger.predict([["a", "b"], ["c"]]) == expected
    tagger.partial_fit([["c"]], [["C"]])
    assert (tagger.n_rounds_, tagger.classes_.tolist()) == (before + 1, ["A", "B", "C"])
