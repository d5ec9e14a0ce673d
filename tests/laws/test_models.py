"""Laws of frozen models: they predict what their estimator predicts, never change, and come back from their state."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import draw_points, kernels, seeds

from onkel import SVC, SVR, KernelPerceptron, OneClassSVM
from onkel._core.transaction import Transaction
from onkel.kernels import RBF, Custom, Linear, Precomputed, prepare
from onkel.kernels.rows import GramRows, ObjectRows
from onkel.kernels.rows_state import rows_from_state, rows_state
from onkel.kernels.vectors import GrowingRows, VectorRows
from onkel.models import (
    Classes,
    Columns,
    LinearModel,
    Number,
    Outlier,
    ScoreModel,
    State,
    from_state,
)
from onkel.states.state import from_json, to_json

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))
Z = np.concatenate([X[::7], RNG.standard_normal((40, 3))])  # rows to predict: some were learned from
INDEX = np.arange(60) % 4


def shared_letters(a, b):
    return len(set(a) & set(b)) / (1 + len(set(a) | set(b)))


WORDS = np.array([f"{'abcd'[i % 4] * 3}{i:b}" for i in range(60)], dtype=object)
LABELS = {
    "int": np.array([-3, 0, 7, 20]),
    "uint8": np.array([1, 2, 3, 250], dtype=np.uint8),
    "float": np.array([-1.0, 0.0, 2.0, 3.0]),
    "str": np.array(["a", "bb", "ccc", "dddd"]),
    "object": np.array(["a", "bb", "ccc", "dddd"], dtype=object),
}
STORAGES = {
    "array": lambda A: A,
    "float32": lambda A: A.astype(np.float32),
    "integers": lambda A: np.rint(4 * A).astype(np.int64),
    "Fortran": np.asfortranarray,
    "lists": lambda A: A.tolist(),
    "CSR": lambda A: sp.csr_array(np.where(A > 0, A, 0)),
    "float32 CSR": lambda A: sp.csr_matrix(np.where(A > 0, A, 0).astype(np.float32)),
    "pandas": lambda A: pd.DataFrame(A, columns=["a", "b", "c"]),
    "polars": lambda A: pl.DataFrame(A, schema=["a", "b", "c"]),
}
SVCS = [
    SVC(gamma=0.5),
    SVC(kernel="linear", decision_function_shape="ovo"),
    SVC(kernel="poly", break_ties=True),
    SVC(kernel=RBF(gamma=1.0) + Linear(), C=0.1),
]
OTHERS = [SVR(epsilon=0.3), OneClassSVM(nu=0.3), OneClassSVM(kernel="linear")]


def columns_of(scores):
    return scores[:, None] if scores.ndim == 1 else scores


def assert_same(found, expected):
    np.testing.assert_array_equal(found, expected)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)


def assert_predicts_as(estimator, Z):
    model = estimator.model_
    assert_same(model.predict(Z), estimator.predict(Z))
    if hasattr(estimator, "decision_function"):
        assert_same(model.scores(Z), columns_of(estimator.decision_function(Z)))
    return model


# ---------------------------------------------------------------- models predict what their estimators predict


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("classes", [2, 3, 4])
@pytest.mark.parametrize("svc", SVCS, ids=repr)
def test_the_model_of_an_svc_predicts_as_it_does_in_every_storage(svc, classes, storage):
    convert = STORAGES[storage]
    clf = copy.deepcopy(svc).fit(convert(X), INDEX % classes)
    model = assert_predicts_as(clf, convert(Z))
    singles = [Z[i : i + 1] for i in range(8)]
    rows = [convert(z) for z in singles]
    if hasattr(clf, "feature_names_in_"):  # one example of a frame with names is a dict
        rows = [dict(zip("abc", z[0].tolist(), strict=True)) for z in singles]
    elif storage == "lists":
        rows = [z[0] for z in rows]
    expected = np.concatenate([clf.predict(convert(z)) for z in singles]).tolist()
    assert [model.predict_one(row) for row in rows] == expected


@pytest.mark.parametrize("labels", LABELS)
@pytest.mark.parametrize("classes", [2, 3, 4])
@pytest.mark.parametrize("break_ties", [False, True])
def test_the_model_of_an_svc_predicts_labels_of_any_kind_in_their_dtype(labels, classes, break_ties):
    y = LABELS[labels][INDEX % classes]
    model = assert_predicts_as(SVC(break_ties=break_ties).fit(X, y), Z)
    one = model.predict_one(Z[0])
    assert one == model.predict(Z[:1])[0]
    assert not isinstance(one, np.generic)


def test_the_model_of_an_svc_predicts_bools():
    model = assert_predicts_as(SVC().fit(X, X[:, 0] > 0), Z)
    assert model.predict_one(Z[0]) in (True, False)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("estimator", OTHERS, ids=repr)
def test_the_models_of_svr_and_one_class_predict_as_they_do_in_every_storage(estimator, storage):
    convert = STORAGES[storage]
    fitted = copy.deepcopy(estimator).fit(convert(X), X[:, 0])
    model = assert_predicts_as(fitted, convert(Z))
    named = hasattr(fitted, "feature_names_in_")  # scikit-learn 1.6 reads no names from newer frames of polars
    one = model.predict_one({"a": 0.5, "b": 0.25, "c": 1.0} if named else [0.5, 0.25, 1.0])
    assert type(one) is (float if isinstance(estimator, SVR) else int)


@pytest.mark.parametrize("estimator", [SVC(), SVR(), OneClassSVM()], ids=repr)
@pytest.mark.parametrize("classes", [2, 3])
def test_models_on_objects_and_on_kernel_values_predict_as_their_estimators(estimator, classes):
    y = INDEX % classes
    clf = copy.deepcopy(estimator).set_params(kernel=Custom(shared_letters, pairwise=True, takes="objects"))
    model = assert_predicts_as(clf.fit(WORDS, y), WORDS[::-1][:20])
    assert model.predict_one(WORDS[5]) == clf.predict(WORDS[5:6])[0]
    assert model.columns.n_features is None
    clf = copy.deepcopy(estimator).set_params(kernel="precomputed")
    K, values = RBF(gamma=0.5)(X), RBF(gamma=0.5)(Z, X)
    model = assert_predicts_as(clf.fit(K, y), values)
    assert model.predict_one(values[5]) == clf.predict(values[5:6])[0]


@pytest.mark.parametrize("shape", ["ovr", "ovo"])
def test_a_model_follows_the_parameters_that_decide_after_fit(shape):
    clf = SVC().fit(X, INDEX)
    clf.set_params(decision_function_shape=shape, break_ties=shape == "ovr")
    assert_predicts_as(clf, Z)


@given(kernels.filter(lambda kernel: kernel.is_psd is True), st.integers(2, 4), seeds)
@settings(max_examples=25, deadline=None)
def test_the_model_of_an_svc_predicts_as_it_does_with_every_kernel(kernel, classes, seed):
    points = draw_points(kernel, 24, 1 + seed % 5, seed)
    clf = SVC(kernel=kernel, max_iter=1000)
    with np.errstate(all="ignore"), pytest.MonkeyPatch.context() as patch:
        patch.setattr("onkel.estimators.svm.base.warn", lambda *args: None)  # not all of these end in 1000 steps
        clf.fit(points, np.arange(24) % classes)
    model = assert_predicts_as(clf, points[::-1].copy())
    again = from_state(model.state())
    assert again == model
    assert_same(again.scores(points), model.scores(points))


# ---------------------------------------------------------------- models never change


def scorers():
    """One scorer of each class, by name."""
    y = INDEX % 3
    return {
        "Expansion": SVC().fit(X, y % 2).model_.scorer,
        "CSR": SVC().fit(sp.csr_array(np.where(X > 0, X, 0)), y % 2).model_.scorer,
        "float32": SVR().fit(X.astype(np.float32), X[:, 0]).model_.scorer,
        "objects": SVC(kernel=Custom(shared_letters, pairwise=True, takes="objects")).fit(WORDS, y % 2).model_.scorer,
        "gram": SVC(kernel="precomputed").fit(RBF()(X), y).model_.scorer,
        "OneVsOne": SVC().fit(X, y).model_.scorer,
        "LinearModel": LinearModel(RNG.standard_normal((3, 3)), RNG.standard_normal(3)),
        "Vote": vote(),
    }


def vote():
    ledger = KernelPerceptron(RBF(gamma=0.5), hypothesis="voted", random_state=0).fit(X, INDEX % 3)
    model = ledger.model_
    return getattr(model, "scorer", model)


SCORERS = scorers()
INPUTS = {"objects": WORDS, "gram": RBF()(Z, X), "CSR": sp.csr_array(np.where(Z > 0, Z, 0))}
DECISIONS = {
    "Classes": Classes(np.array(["a", "b", "c"])),
    "pairs": Classes(np.array([1, 2, 3], dtype=object), None, "ovr", True),
    "unseen": Classes(np.array([1.5, 2.0]), np.array([True, False])),
    "Number": Number(),
    "Outlier": Outlier(0.25, inclusive=False),
}


def values():
    """Every frozen value of the room, by name: scorers, decisions, columns and models."""
    columns = {
        "Columns": Columns(3, ("a", ("b", 1), 2), np.dtype(np.float32), growing=True),
        "no columns": Columns(None),
    }
    one = ScoreModel(SCORERS["Expansion"], Classes(np.array(["no", "yes"])), Columns(3))
    return SCORERS | DECISIONS | columns | {"ScoreModel": one, "SVC": SVC().fit(X, INDEX).model_}


VALUES = values()
WAYS = {
    "state": lambda value: from_state(value.state()),
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
    "replace": dataclasses.replace,
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", VALUES)
def test_a_copy_is_equal_and_frozen_however_it_was_made(name, way):
    value = VALUES[name]
    again = WAYS[way](value)
    assert type(again) is type(value)
    assert again == value
    assert again.state() == value.state()
    assert_frozen(again)
    for other_name, other in VALUES.items():
        assert (again == other) is (other_name == name)
    with pytest.raises(TypeError, match="unhashable"):
        hash(again)


def assert_frozen(value):
    for field in dataclasses.fields(value):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, field.name, None)
    for array in value.state().arrays.values():
        assert_read_only(array)
    for name in ("coef", "intercept", "row_ids", "labels", "counts", "place", "start"):
        if isinstance(getattr(value, name, None), np.ndarray):
            assert_read_only(getattr(value, name))
    support = getattr(value, "support", None)
    if isinstance(support, VectorRows):
        assert_read_only(support.matrix.data if sp.issparse(support.matrix) else support.matrix)


def assert_read_only(array):
    assert not array.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        array[...] = array


@pytest.mark.parametrize("way", ["state", "pickle", "deepcopy"])
@pytest.mark.parametrize("name", SCORERS)
def test_a_copy_of_a_scorer_gives_the_same_scores_to_the_bit(name, way):
    data = INPUTS.get(name, Z)
    assert_same(WAYS[way](SCORERS[name]).scores(data), SCORERS[name].scores(data))


def changed(array):
    """A copy that differs in one entry."""
    other = array.copy()
    other.flat[0] = "z" if other.dtype.kind in "OU" else not other.flat[0] if other.dtype == bool else other.flat[0] + 1
    return other


@pytest.mark.parametrize("name", VALUES)
def test_values_differ_in_whatever_their_states_differ(name):
    state = VALUES[name].state()
    for key, array in state.arrays.items():
        if array.size:
            other = State(state.kind, state.version, state.settings, {**state.arrays, key: changed(array)})
            assert other != state
            if key.split("/")[-1] not in ("indptr", "indices", "counts", "place", "output", "columns"):
                assert from_state(other) != VALUES[name]


@pytest.mark.parametrize("storage", ["array", "float32", "CSR"])
@pytest.mark.parametrize("estimator", [SVC(), SVR(), OneClassSVM()], ids=repr)
def test_a_model_survives_that_the_caller_changes_his_arrays_and_the_estimator_learns_on(estimator, storage):
    mine, y = STORAGES[storage](X.copy()), LABELS["int"][INDEX]
    clf = copy.deepcopy(estimator).fit(mine, y)
    data = STORAGES[storage](Z)
    model = clf.model_
    before = model.predict(data), model.scores(data), pickle.dumps(model)
    (mine.data if sp.issparse(mine) else mine)[...] = 5.0
    y[...] = 0
    for name in ("classes_", "support_", "intercept_", "n_support_"):
        if hasattr(clf, name):
            getattr(clf, name)[...] = 1
    coef = clf.dual_coef_
    (coef.data if sp.issparse(coef) else coef)[...] = 7.0
    clf.fit(STORAGES[storage](-X), np.arange(60) % 2)
    assert_same(model.predict(data), before[0])
    assert_same(model.scores(data), before[1])
    assert pickle.loads(before[2]) == model != clf.model_


@pytest.mark.parametrize("name", ["Expansion", "CSR", "float32", "OneVsOne", "Vote"])
def test_many_threads_read_the_same(name):
    data = INPUTS.get(name, Z)
    expected = SCORERS[name].scores(data)
    for _ in range(5):
        fresh = WAYS["pickle"](SCORERS[name])  # with nothing cached yet, so that all threads compute it at once
        with ThreadPoolExecutor(8) as pool:
            for found in pool.map(lambda _, fresh=fresh: fresh.scores(data), range(16)):
                assert_same(found, expected)


# ---------------------------------------------------------------- rows and states


def gram(block, columns, diagonal):
    K = RBF()(X)
    return GramRows(K if block else None, np.arange(60) if columns else None, K.diagonal() if diagonal else None)


def growing():
    rows = GrowingRows(3, np.dtype(np.float64), 100)
    with Transaction() as change:
        rows.append(VectorRows(X), change)
    return rows


ROWS = {
    "dense": prepare(Linear(), X.copy()),
    "dense32": prepare(Linear(), X.astype(np.float32)),
    "csr": prepare(Linear(), sp.csr_array(np.where(X > 0, X, 0))),
    "csr32": prepare(Linear(), sp.csr_array(np.where(X > 0, X, 0).astype(np.float32))),
    "part of csr": prepare(Linear(), sp.csr_array(np.where(X > 0, X, 0)))[10:20],
    "empty": prepare(Linear(), X)[:0],
    "empty csr": prepare(Linear(), sp.csr_array(X))[:0],
    "growing": growing(),
    "objects": ObjectRows(WORDS.copy()),
    "training gram": prepare(Precomputed(), RBF()(X), itself=True),
    "block": gram(True, False, False),
    "columns": gram(False, True, False),
    "support of gram": gram(False, True, True),
}


OTHER_ROWS = ("objects", "training gram", "block", "columns", "support of gram")


@pytest.mark.parametrize("name", ROWS)
def test_rows_come_back_from_their_state_to_the_bit_and_share_nothing(name):
    rows = ROWS[name]
    state = rows_state(rows)
    again = rows_from_state(pickle.loads(pickle.dumps(state)))
    assert rows_state(again) == state == rows_state(rows.read_only(), copy=False)
    assert (len(again), again.dtype, isinstance(again, VectorRows)) == (len(rows), rows.dtype, name not in OTHER_ROWS)
    if isinstance(rows, VectorRows):
        assert isinstance(again, VectorRows)
        assert (again.is_dense, again.n_features) == (rows.is_dense, rows.n_features)
        if len(rows):
            assert_same(RBF(gamma=0.3)(again, again), RBF(gamma=0.3)(rows, rows))
    held = rows_state(rows, copy=False).arrays
    for key, array in state.arrays.items():
        assert not np.shares_memory(array, held[key])


leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
keys = st.text().filter(lambda key: "/" not in key and not key.startswith("$"))
trees = st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(keys, inner), max_leaves=8)
arrays = st.sampled_from(
    [
        np.arange(3),
        np.array([np.nan, -0.0, np.inf]),
        np.zeros((2, 0), dtype=np.float32),
        np.array(5.0),
        np.array(["a", None, 1, float("nan")], dtype=object),
        np.array(["ab", "c"]),
        np.zeros(2, dtype=[("round", np.int64), ("step", np.float64)]),
        np.arange(6.0).reshape(2, 3).T,
    ]
)
states = st.builds(
    State,
    st.text(),
    st.integers(1, 9),
    st.dictionaries(keys, trees, max_size=4),
    st.dictionaries(keys, arrays, max_size=3),
)


@given(states, states, keys, keys)
@settings(deadline=None)
def test_a_part_of_a_state_comes_back_as_it_was_however_deep(inner, outer, name, other):
    if name in outer.settings or name in inner.settings or other == name:
        return
    nested = outer.with_part(name, inner)
    assert nested.part(name) == inner
    assert State("top", 1, {}).with_part(other, nested).part(other).part(name) == inner
    assert nested != outer
    for again in (copy.deepcopy(nested), copy.copy(nested), pickle.loads(pickle.dumps(nested))):
        assert again == nested
        assert all(not array.flags.writeable for array in again.arrays.values())


@given(states)
@settings(deadline=None)
def test_settings_come_back_from_json_exactly(state):
    text = json.dumps(to_json(state.settings), allow_nan=False)
    assert State(state.kind, state.version, from_json(json.loads(text)), state.arrays) == state
