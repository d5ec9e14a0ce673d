"""What models and states promise, and what they refuse, with the words that they refuse it in."""

from __future__ import annotations

import dataclasses
import importlib

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from onkel import SVC, SVR, KernelPerceptron, OneClassSVM, RankingPerceptron, SequencePerceptron
from onkel.errors import GramError, InputError, KindError, ParameterError, ShapeError, ValuesError
from onkel.kernels import RBF, Custom
from onkel.kernels.rows_state import rows_from_state, rows_state
from onkel.models import (
    Classes,
    Columns,
    Decision,
    Expansion,
    LinearModel,
    Model,
    Number,
    Outlier,
    ScoreModel,
    Scorer,
    State,
    Vote,
    from_state,
)
from onkel.registry import KINDS
from onkel.states.state import from_json, to_json

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 3))
Y = np.arange(40) % 3
TWO = SVC(gamma=0.5).fit(X, Y % 2).model_
THREE = SVC(gamma=0.5).fit(X, Y).model_
LINEAR = ScoreModel(LinearModel(np.array([[1.0, -2.0, 0.0]]), np.array([0.5])), Classes(np.array([0, 1])), Columns(3))
VOTE = ScoreModel(
    Vote(RBF(), TWO.support, TWO.row_ids, np.array([0]), np.array([0]), *(np.ones(1) for _ in range(3))),
    Classes(np.array([0, 1])),
    Columns(3),
)
FRAME = pd.DataFrame(X, columns=["a", "b", "c"])
NAMED = SVC(gamma=0.5).fit(FRAME, Y).model_


# ---------------------------------------------------------------- the protocols


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_names_a_class_that_makes_itself_of_a_state(kind):
    module, _, name = KINDS[kind].partition(":")
    cls = getattr(importlib.import_module(module), name)
    assert kind == getattr(cls, "KIND", f"estimator/{cls.__name__}")
    with pytest.raises(InputError, match=f"a state of kind '{kind}' is needed; got one of kind 'other'"):
        cls.from_state(State("other", 1, {}))
    with pytest.raises(InputError, match=r"version up to 1; got version 2.*Update onkel"):
        from_state(State(kind, 2, {}))


@pytest.mark.parametrize("model", [TWO, THREE, LINEAR, VOTE], ids=lambda model: type(model.scorer).__name__)
def test_models_scorers_and_decisions_keep_their_protocols(model):
    assert isinstance(model, Model)
    assert isinstance(model.scorer, Scorer)
    assert isinstance(model.decision, Decision)
    assert model.scorer.n_outputs == model.scorer.scores(X).shape[1]
    assert isinstance(from_state(model.state()), ScoreModel)


# ---------------------------------------------------------------- decisions


def test_one_column_is_about_two_classes_and_a_score_of_0_is_for_the_second():
    decision = Classes(np.array(["no", "yes"]))
    assert decision.decide(np.array([[-1.0], [0.0], [2.0]])).tolist() == ["no", "yes", "yes"]


def test_of_several_columns_the_first_of_the_largest_wins():
    decision = Classes(np.array([10, 20, 30]))
    assert decision.decide(np.array([[1.0, 2.0, 2.0], [0.0, 0.0, 0.0], [-3.0, -2.0, -1.0]])).tolist() == [20, 10, 30]


def test_an_unseen_class_is_never_predicted_and_a_single_one_always():
    scores = np.array([[9.0, 1.0, 2.0], [1.0, 9.0, 2.0]])
    assert Classes(np.array([1, 2, 3]), np.array([False, True, True])).decide(scores).tolist() == [3, 2]
    column = np.array([[5.0], [-5.0]])
    assert Classes(np.array([1, 2]), np.array([False, True])).decide(column).tolist() == [2, 2]
    assert Classes(np.array([1, 2]), np.array([True, False])).decide(column).tolist() == [1, 1]
    assert Classes(np.array(["only"])).decide(column).tolist() == ["only", "only"]


def test_pairs_vote_and_ties_are_broken_by_the_first_class_or_by_the_scores():
    circle = np.array([[0.1, -0.2, 3.0]])  # 0 beats 1, 2 beats 0, 1 beats 2 by far: a vote each
    labels = np.array([0, 1, 2])
    assert Classes(labels, None, "ovr").decide(circle).tolist() == [0]
    assert Classes(labels, None, "ovr", break_ties=True).decide(circle).tolist() == [1]
    assert Classes(labels, None, "ovo").decision_function(circle).tolist() == circle.tolist()
    assert Classes(labels, None, "ovr").decision_function(circle).argmax() == 1
    assert Classes(labels, None, "ovr").decide(np.zeros((1, 3))).tolist() == [2]  # 0 is for the second class of a pair
    with pytest.raises(ParameterError, match="break_ties must be False when decision_function_shape is 'ovo'"):
        Classes(labels, None, "ovo", break_ties=True).decide(circle)


def test_a_score_at_the_threshold_is_in_or_out_as_told():
    scores = np.array([[0.5], [0.25], [0.0]])
    assert Outlier(0.25).decide(scores).tolist() == [1, 1, -1]
    assert Outlier(0.25, inclusive=False).decide(scores).tolist() == [1, -1, -1]
    assert Outlier(0.25).decision_function(scores).tolist() == [[0.25], [0.0], [-0.25]]


def test_a_score_of_exactly_0_is_an_outlier_of_a_one_class_svm():
    clf = OneClassSVM(kernel="linear", nu=1.0).fit([[1.0], [1.0]])
    assert clf.decision_function([[1.0]]).tolist() == [0.0]
    assert clf.predict([[1.0]]).tolist() == clf.model_.predict([[1.0]]).tolist() == [-1]


def test_the_intercept_of_an_outlier_model_sums_to_the_score_with_the_terms():
    inner = OneClassSVM(gamma=0.5).fit(X).model_
    model = ScoreModel(inner.scorer, Outlier(0.25), inner.columns)
    terms = sum(t.contribution for t in model.explain(X[0]))
    assert terms + model.intercept[0] == pytest.approx(model.scores(X[:1])[0, 0], abs=1e-12)


# ---------------------------------------------------------------- explanations


@pytest.mark.parametrize("output", [0, 1, 2])
def test_the_explanation_of_a_pair_of_classes_sums_to_its_score(output):
    clf = SVC(gamma=0.5, decision_function_shape="ovo").fit(X, Y)
    terms = clf.model_.explain(X[0], output)
    assert sum(t.contribution for t in terms) + clf.intercept_[output] == pytest.approx(
        clf.decision_function(X[:1])[0, output], abs=1e-12
    )
    assert [abs(t.contribution) for t in terms] == sorted((abs(t.contribution) for t in terms), reverse=True)
    pair = [(0, 1), (0, 2), (1, 2)][output]
    assert {Y[t.row_id] for t in terms} == set(pair)
    assert all((t.importance > 0) == (Y[t.row_id] == pair[0]) for t in terms)  # positive: for the first class


def test_a_linear_model_is_explained_by_its_features_by_name_where_they_have_one():
    assert LINEAR.explain([3.0, 2.0, 5.0]) == [(1, -2.0, 2.0, -4.0), (0, 1.0, 3.0, 3.0)]
    named = ScoreModel(LINEAR.scorer, LINEAR.decision, Columns(3, ("a", "b", "c")))
    assert [term.feature for term in named.explain({"a": 3.0, "b": 2.0})] == ["b", "a"]


def test_examples_are_explained_in_every_form():
    expected = NAMED.explain(X[0])
    form = [X[0].tolist(), X[:1], sp.csr_array(X[:1]), dict(zip("abc", X[0], strict=True)), FRAME[:1]]
    for x in form:
        assert [t.row_id for t in NAMED.explain(x)] == [t.row_id for t in expected]


def test_what_cannot_be_explained_or_reduced_says_so():
    with pytest.raises(KindError, match=r'a sum of terms; a Vote is not.*"averaged"'):
        VOTE.explain(X[0])
    with pytest.raises(KindError, match=r'a vote of many guesses is not.*hypothesis="averaged"'):
        VOTE.reduced(3)
    with pytest.raises(KindError, match=r"no support vectors, so that there is nothing to reduce\. Use the model"):
        LINEAR.reduced(3)
    with pytest.raises(ShapeError, match="output must be 0 to 2; got 3"):
        THREE.explain(X[0], 3)
    with pytest.raises(ShapeError, match="output must be 0 to 0; got 1"):
        LINEAR.explain(X[0], 1)


def test_a_reduced_model_is_a_model():
    small = TWO.reduced(5)
    assert isinstance(small, ScoreModel)
    assert isinstance(small.scorer, Expansion)
    assert (len(small.row_ids), small.decision, small.columns) == (5, TWO.decision, TWO.columns)
    assert set(small.predict(X).tolist()) <= {0, 1}
    assert small.rkhs_error.shape == (1,)
    for model in (TWO, THREE, LINEAR, VOTE):
        with pytest.raises(AttributeError, match="only a model that `reduced` has made has an rkhs_error"):
            _ = model.rkhs_error


def test_row_ids_can_still_be_read_by_their_old_names_with_a_warning():
    model = SVC(gamma=1.0).fit(X, X[:, 0] > 0).model_
    one_vs_one = SVC(gamma=1.0).fit(X, np.arange(len(X)) % 3).model_.scorer
    vote = KernelPerceptron(gamma=1.0, hypothesis="voted").fit(X, X[:, 0] > 0).model_.scorer
    for seen in (model, model.scorer, one_vs_one, vote):
        with pytest.warns(FutureWarning, match=r"`rows` is called `row_ids` now; .* Write `row_ids`") as caught:
            assert seen.rows is seen.row_ids
        assert caught[0].filename == __file__
    (term, *_) = model.explain(X[0])
    with pytest.warns(FutureWarning, match="`row` is called `row_id` now"):
        assert term.row == term.row_id
    assert "rows" in model.scorer.state().arrays  # files keep the name that they have had


@pytest.mark.parametrize("model", [TWO, THREE], ids=["two classes", "pairs"])
def test_a_reduced_model_needs_a_size_or_a_tolerance(model):
    with pytest.raises(ParameterError, match=r"n or tol must be given, such as reduced\(50\) or reduced\(tol=0.1\)"):
        model.reduced()
    with pytest.raises(ParameterError, match="n must be a whole number >= 1; got 0"):
        model.reduced(0)
    with pytest.raises(KindError, match=r"n must be a whole number >= 1; got 0\.1"):
        model.reduced(0.1)
    for tol in (-0.1, 1.5, np.nan):
        with pytest.raises(ParameterError, match="tol must be a finite number >= 0 and <= 1"):
            model.reduced(tol=tol)


def test_kernels_without_values_or_lengths_have_no_reduced_models():
    precomputed = SVC(kernel="precomputed").fit(RBF()(X), Y).model_
    with pytest.raises(KindError, match=r"a precomputed kernel does not hold them\. Learn with a kernel"):
        precomputed.reduced(3)
    sigmoid = SVC(kernel="sigmoid", gamma=0.1).fit(X, Y).model_
    with pytest.raises(GramError, match=r"must be positive semi-definite.*Sigmoid.*is not\. Learn with"):
        sigmoid.reduced(3)
    huge = SVC(kernel=RBF(), C=1.0).fit(X, Y % 2).model_
    scorer = dataclasses.replace(huge.scorer, coef=huge.coef * 1e200)
    with pytest.raises(ValuesError, match="must be finite in float64"):
        dataclasses.replace(huge, scorer=scorer).reduced(3)


def test_the_votes_of_ranking_models_and_linear_taggers_have_no_reduced_models():
    ranked = RankingPerceptron(kernel=RBF(), hypothesis="voted", random_state=0)
    ranked.fit(X, Y, np.repeat(np.arange(8), 5))
    with pytest.raises(KindError, match=r'a vote of many guesses is not.*hypothesis="averaged"'):
        ranked.model_.reduced(3)
    assert len(ranked.set_params(hypothesis="averaged").model_.reduced(3).row_ids) == 3
    tagger = SequencePerceptron().fit([[["a"], ["b"]], [["b"]]], [["A", "B"], ["B"]]).model_
    with pytest.raises(KindError, match=r"must have a kernel; a LinearTokens has weights.*nothing to reduce"):
        tagger.reduced(3)
    with pytest.raises(AttributeError, match="only a tagger that `reduced` has made"):
        _ = tagger.rkhs_error


@pytest.mark.parametrize("name", ["coef", "intercept", "rkhs_error"])
def test_a_reduced_model_is_not_read_from_arrays_of_another_size(name):
    state = TWO.reduced(5).scorer.state()
    wrong = {**state.arrays, name: state.arrays[name][:-1]}
    with pytest.raises(InputError, match="must have shape"):
        from_state(State(state.kind, state.version, state.settings, wrong))


def test_parts_that_a_model_does_not_have_are_named():
    assert (TWO.kernel, len(TWO.support)) == (RBF(gamma=0.5), len(TWO.row_ids))
    assert TWO.coef.shape == (len(TWO.row_ids), 1)
    np.testing.assert_array_equal(LINEAR.intercept, [0.5])
    for name in ("kernel", "support", "rows"):
        with pytest.raises(AttributeError, match=f"a LinearModel has no {name}"):
            getattr(LINEAR, name)
    for name in ("coef", "intercept"):
        with pytest.raises(AttributeError, match=f"a Vote has no {name} of its own"):
            getattr(VOTE, name)


# ---------------------------------------------------------------- input


def test_a_frame_goes_by_its_names():
    expected = NAMED.predict(X)
    for frame in (FRAME, pl.DataFrame(X, schema=["a", "b", "c"]), X):
        np.testing.assert_array_equal(NAMED.predict(frame), expected)
    np.testing.assert_array_equal(THREE.predict(FRAME), THREE.predict(X))  # without names the order counts
    unnamed = pd.DataFrame(X)  # scikit-learn takes names that are not strings for none
    np.testing.assert_array_equal(NAMED.predict(unnamed), expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame[["b", "a", "c"]], "in the same order as they were in fit"),
        (lambda frame: frame.rename(columns={"a": "x"}), "unseen at fit time:\n- x\nFeature names seen at fit time"),
        (lambda frame: frame[["a", "b"]], "yet now missing:\n- c"),
        (lambda frame: frame.assign(**{f"n{i}": 0.0 for i in range(9)}), "- n4\n- ...\n"),
    ],
)
def test_a_frame_with_other_names_is_refused_in_the_words_of_scikit_learn(change, message):
    frame, clf = change(FRAME), SVC(gamma=0.5).fit(FRAME, Y)
    with pytest.raises(InputError, match=message) as ours:
        NAMED.predict(frame)
    with pytest.raises(ValueError, match=message) as theirs:
        clf.predict(frame)
    assert str(ours.value) == str(theirs.value)
    with pytest.raises(InputError, match=message):
        NAMED.predict_one(frame[:1])


def test_a_dict_goes_by_its_names_missing_is_0_and_unknown_is_ignored():
    assert NAMED.predict_one({"c": 2.0, "new": 7.0}) == NAMED.predict_one([0.0, 0.0, 2.0])
    with pytest.raises(KindError, match=r"trained on vectors of 3 features without names.*got a dict"):
        THREE.predict_one({"a": 1.0})
    with pytest.raises(KindError, match="the values of x must be numbers; got 'a': 'red'"):
        NAMED.predict_one({"a": "red"})
    with pytest.raises(ValuesError, match="x must be finite"):
        NAMED.predict_one({"a": np.nan})


def test_a_dict_is_an_object_for_a_kernel_on_objects():
    kernel = Custom(lambda a, b: len(set(a) & set(b)), pairwise=True, takes="objects")
    data = [{"a": 1}, {"b": 1}, {"a": 1, "c": 2}, {"b": 2, "d": 1}]
    model = SVC(kernel=kernel).fit(data, [0, 1, 0, 1]).model_
    assert model.predict_one({"a": 5}) == 0
    assert model.explain({"a": 5})[0].similarity == 1.0


@pytest.mark.parametrize("model", [TWO, THREE, LINEAR, VOTE], ids=lambda model: type(model.scorer).__name__)
def test_bad_rows_are_refused(model):
    with pytest.raises(ShapeError, match=r"was trained on 3 features, so X must have shape \(n, 3\); got \(2, 4\)"):
        model.predict(np.zeros((2, 4)))
    with pytest.raises(ShapeError, match="was trained on 3 features"):
        model.scores(sp.csr_array((2, 5)))
    with pytest.raises(ShapeError, match=r"must have shape \(rows, columns\).*X\[None, :\]"):
        model.predict(X[0])
    with pytest.raises(ValuesError, match="must be finite"):
        model.predict([[np.nan, 0.0, 0.0]])
    with pytest.raises(KindError, match="real numbers"):
        model.predict([["a", "b", "c"]])
    for x in ([1.0, 2.0], X[:2], 5.0, sp.csr_array((1, 4))):
        with pytest.raises(ShapeError, match=r"trained on 3 features, so x must (have|be one row of) shape"):
            model.predict_one(x)


def test_kernel_values_with_too_few_points_are_refused():
    model = SVR(kernel="precomputed").fit(RBF()(X), X[:, 0]).model_
    with pytest.raises(ShapeError, match=r"trained on 40 points.*shape \(n, 40\); got \(5, 39\)"):
        model.predict(RBF()(X[:5], X[:39]))
    with pytest.raises(ShapeError, match=r"trained on 40 points.*shape \(40,\); got \(39,\)"):
        model.predict_one(np.zeros(39))


def test_a_precomputed_model_holds_no_kernel_values():
    model = SVC(kernel="precomputed").fit(RBF()(X), Y).model_
    assert sorted(name for name in model.state().arrays if "support" in name) == [
        "scorer/support/columns",
        "scorer/support/diagonal",
    ]


# ---------------------------------------------------------------- states


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"f": len}, r"settings\['f'\] must be .* got builtin_function_or_method"),
        ({"a": {"b": [1, np.zeros(2)]}}, r"settings\['a'\]\['b'\]\[1\] must be .* got ndarray.*Put arrays"),
        ({"weights": {1: 2.0}}, r"keys of settings\['weights'\] must be strings.*got 1.*list of pairs"),
        ({"$kernel": 1}, 'must be strings that do not start with "\\$"'),
        ({"z": 1j}, "got complex"),
        ({"z": {1, 2}}, "got set"),
    ],
)
def test_a_state_holds_plain_settings_only(settings, message):
    with pytest.raises(KindError, match=message):
        State("a", 1, settings)


def test_a_state_refuses_what_it_cannot_hold():
    with pytest.raises(KindError, match=r"arrays must map names to NumPy arrays; got list under 'a'"):
        State("a", 1, {}, {"a": [1, 2]})
    with pytest.raises(KindError, match="kind must be a string"):
        State(1, 1, {})
    with pytest.raises(ParameterError, match="version must be a whole number >= 1; got 0"):
        State("a", 0, {})
    with pytest.raises(InputError, match="a name without \"/\" that is not taken yet; got 'b'"):
        State("a", 1, {"b": 1}).with_part("b", State("c", 1, {}))
    with pytest.raises(InputError, match="that is not taken yet; got 'b'"):
        State("a", 1, {}, {"b/x": np.zeros(1)}).with_part("b", State("c", 1, {}))


def test_numpy_numbers_become_those_of_python_and_types_count():
    state = State("a", 1, {"i": np.int32(3), "f": np.float32(0.5), "b": np.bool_(True), "s": np.str_("x"), "l": [1]})
    assert [type(state.settings[name]) for name in "ifbs"] == [int, float, bool, str]
    assert state.settings["l"] == (1,)
    assert State("a", 1, {"x": 1}) != State("a", 1, {"x": 1.0})
    assert State("a", 1, {"x": 1}) != State("a", 1, {"x": True})
    assert State("a", 1, {"x": 0.0}) != State("a", 1, {"x": -0.0})
    assert State("a", 1, {"x": float("nan")}) == State("a", 1, {"x": float("nan")})
    assert State("a", 1, {}, {"x": np.zeros(2)}) != State("a", 1, {}, {"x": np.zeros(2, dtype=np.int64)})
    assert State("a", 1, {}, {"x": np.zeros(2)}) != State("a", 1, {}, {"x": np.zeros((2, 1))})
    assert State("a", 1, {}) != State("a", 2, {})
    assert State("a", 1, {}) != 5
    assert repr(State("a", 1, {"x": [1]}, {"y": np.zeros(2)})) == "State('a', 1, {'x': (1,)}, {y: float64 (2,)})"


def test_a_state_does_not_freeze_the_array_of_its_maker():
    mine = np.zeros(3)
    state = State("a", 1, {}, {"x": mine})
    mine[0] = 1.0
    assert mine.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        state.arrays["x"][0] = 2.0
    with pytest.raises(TypeError):
        state.arrays["y"] = mine
    with pytest.raises(TypeError):
        State("a", 1, {"x": {"y": 1}}).settings["x"]["y"] = 2


def test_what_a_state_lacks_is_named():
    state = State("a", 1, {"x": 1, "p": {}}, {"data": np.zeros(1)})
    with pytest.raises(InputError, match="must have the setting 'y'; it has 'x', 'p'"):
        state.setting("y", int)
    with pytest.raises(InputError, match="'x' must be of type float; got 1"):
        state.setting("x", float)
    with pytest.raises(InputError, match="must have the array 'coef'; it has 'data'"):
        state.array("coef")
    with pytest.raises(InputError, match="'x' must be a kernel; got 1"):
        state.kernel("x")
    with pytest.raises(InputError, match="'p' must be a part"):
        state.part("p")
    with pytest.raises(InputError, match=r"kind must be one of .*model/score.*got 'a'.*update onkel"):
        from_state(state)
    with pytest.raises(KindError, match="a State is needed; got dict"):
        from_state({})


def test_kernels_in_settings_are_written_by_their_config():
    settings = {"kernel": RBF(gamma=0.5), "inner": [{"kernel": RBF() + 1.0}], "rate": float("-inf")}
    plain = to_json(settings)
    assert plain["kernel"] == {"$kernel": {"kernel": "RBF", "gamma": 0.5}}
    assert plain["rate"] == {"$float": "-inf"}
    assert State("a", 1, from_json(plain)) == State("a", 1, settings)
    with pytest.raises(InputError, match=r"must be 'nan', 'inf' or '-inf'; got '3'"):
        from_json({"x": {"$float": "3"}})


def broken(name, value, state=None):
    state = rows_state(TWO.support) if state is None else state
    return State(state.kind, 1, state.settings, {**state.arrays, name: value})


def csr(**arrays):
    whole = {"indptr": np.array([0, 1, 2]), "indices": np.array([0, 2], dtype=np.int32), "data": np.ones(2), **arrays}
    return State("rows/csr", 1, {"n_features": 3}, whole)


@pytest.mark.parametrize(
    "state",
    [
        broken("data", np.zeros(3)),
        broken("data", np.zeros((3, 3), dtype=np.int64)),
        csr(indptr=np.array([0, 1, 3])),
        csr(indptr=np.array([0, 3, 2])),
        csr(indptr=np.array([0, 1, 2], dtype=np.int32)),
        csr(indices=np.array([0, 3], dtype=np.int32)),
        csr(indices=np.array([-1, 2], dtype=np.int32)),
        csr(data=np.ones(3)),
        State("rows/objects", 1, {}, {"objects": np.zeros(2)}),
        State("rows/gram", 1, {}, {"columns": np.zeros(2)}),
        State("rows/gram", 1, {}, {"block": np.zeros((2, 2)), "columns": np.arange(3)}),
        State("rows/gram", 1, {}),
        State("rows/other", 1, {}),
    ],
)
def test_rows_of_wrong_sizes_are_refused_before_the_core_reads_them(state):
    with pytest.raises(InputError, match="rows"):
        rows_from_state(state)


@pytest.mark.parametrize(
    ("scorer", "name", "value"),
    [
        (TWO.scorer, "coef", np.zeros((2, 1))),
        (TWO.scorer, "rows", np.zeros(2, dtype=np.int64)),
        (TWO.scorer, "intercept", np.zeros(2)),
        (THREE.scorer, "counts", np.array([1, 1, 1])),
        (THREE.scorer, "intercept", np.zeros(2)),
        (LINEAR.scorer, "coef", np.zeros((2, 3))),
        (VOTE.scorer, "place", np.array([1000])),
        (VOTE.scorer, "output", np.array([-1])),
        (VOTE.scorer, "step", np.ones(2)),
        (Classes(np.array([1, 2])), "seen", np.ones(3, dtype=bool)),
        (Columns(3, ("a", "b", "c")), "names", np.array(["a"], dtype=object)),
    ],
)
def test_arrays_of_wrong_sizes_are_refused(scorer, name, value):
    with pytest.raises(InputError, match="the state of kind"):
        from_state(broken(name, value, scorer.state()))


def test_parts_in_each_others_place_are_refused():
    state = State("model/score", 1, {}).with_part("scorer", Number().state()).with_part("decision", Number().state())
    with pytest.raises(InputError, match=r"the kind must be one of scorer/expansion"):
        from_state(state.with_part("columns", Columns(3).state()))
