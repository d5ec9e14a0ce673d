"""Named columns go by name: data frames, Series, dicts and lists of dicts; and sparse dicts in bounded memory."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from contract.registered import BUDGETED, SVMS, each, each_online, learn_each, ledger_bytes, new, part, scores
from contract.registered import data as points
from sklearn.feature_extraction import DictVectorizer

import onkel
from onkel import evaluate
from onkel.data import Stream
from onkel.errors import KindError

NAMES = list("abc")


def frame_and_dicts(cls, n=60):
    X, y = points(cls, n)
    X = np.column_stack([X, X[:, 0] * X[:, 1]])
    return pd.DataFrame(X, columns=NAMES), [dict(zip(NAMES, x, strict=True)) for x in X.tolist()], y


def words(n=200, seed=0, vocabulary=400, length=6):
    """Dicts of a few of many words, and whether one of the first fifty is among them."""
    rng = np.random.default_rng(seed)
    found = [{f"w{k}": float(rng.integers(1, 4)) for k in rng.integers(0, vocabulary, length)} for _ in range(n)]
    return found, [int(any(int(name[1:]) < 50 for name in x)) for x in found]


def is_sparse(estimator):
    return "n_features_in_" not in vars(estimator)


# ---------------------------------------------------------------- begun with a frame


@each
def test_after_a_frame_one_in_another_order_is_refused_and_dicts_go_by_name(cls):
    frame, dicts, y = frame_and_dicts(cls)
    estimator = new(cls).fit(frame, y)
    with pytest.raises(ValueError, match="same order"):
        estimator.predict(frame[["c", "a", "b"]])
    turned = [{name: x[name] for name in "cab"} for x in dicts]
    np.testing.assert_array_equal(estimator.predict(turned), estimator.predict(frame))
    np.testing.assert_array_equal(estimator.model_.predict(turned), estimator.predict(frame))


@each_online
def test_a_series_goes_by_name(cls):
    frame, dicts, y = frame_and_dicts(cls)
    estimator = new(cls).fit(frame, y)
    for i in range(5):
        row = frame.iloc[i]
        expected = estimator.predict_one(dicts[i])
        assert estimator.predict_one(row) == expected
        assert estimator.predict_one(row[["c", "a", "b"]]) == expected
        assert estimator.model_.predict_one(row[["c", "a", "b"]]) == pytest.approx(expected)
    one, other = (new(cls) for _ in range(2))
    for i in range(40):
        label = part(y, i) if y is not None else None
        one.learn_one(frame.iloc[i][["b", "c", "a"]] if i % 2 else frame.iloc[i], label)
        other.learn_one(dicts[i], label)
    np.testing.assert_array_equal(scores(one, dicts), scores(other, dicts))


# ---------------------------------------------------------------- begun with dicts


@each_online
def test_after_dicts_frames_series_and_lists_of_dicts_are_read_by_name(cls):
    frame, dicts, y = frame_and_dicts(cls)
    estimator = learn_each(new(cls), dicts, y)
    assert list(estimator.feature_names_in_) == NAMES
    expected = estimator.predict(dicts)
    for X in (frame, frame[["c", "a", "b"]], frame.assign(unknown=7.0), tuple(dicts), np.array(dicts)):
        np.testing.assert_array_equal(estimator.predict(X), expected)
        np.testing.assert_array_equal(estimator.model_.predict(X), expected)
    without_b = [{"a": x["a"], "c": x["c"]} for x in dicts]
    zero_b = [x | {"b": 0.0} for x in dicts]
    np.testing.assert_array_equal(estimator.predict(without_b), estimator.predict(zero_b))
    np.testing.assert_array_equal(estimator.predict(frame[["a", "c"]]), estimator.predict(zero_b))


@each_online
@pytest.mark.parametrize("sparse", [False, True])
def test_chunks_of_dicts_are_their_dicts_one_by_one(cls, sparse):
    if sparse:
        dicts, y = words()
    else:
        _, dicts, y = frame_and_dicts(cls)
        dicts = [{name: x[name] for name in NAMES[: 1 + i // 20]} for i, x in enumerate(dicts)]  # features come late
    y = None if y is None else list(y)
    one, chunks = learn_each(new(cls), dicts, y), new(cls)
    for start, stop in pairwise([0, 1, 8, 30, 31, 57, len(dicts)]):
        chunks.partial_fit(dicts[start:stop], None if y is None else y[start:stop])
    assert is_sparse(one) == is_sparse(chunks) == sparse
    assert one.n_rounds_ == chunks.n_rounds_
    assert set(one.feature_names_in_) == set(chunks.feature_names_in_)
    np.testing.assert_allclose(scores(one, dicts), scores(chunks, dicts), atol=1e-9)


@each_online
def test_features_come_in_the_middle_of_a_frame_and_a_refused_one_brings_none(cls):
    frame, dicts, y = frame_and_dicts(cls)
    estimator = learn_each(new(cls), [{"a": x["a"]} for x in dicts[:20]], None if y is None else y[:20])
    with pytest.raises(KindError, match="values of x must be numbers"):
        estimator.partial_fit([{"b": 1.0}, {"c": "red"}], None if y is None else y[:2])
    assert list(estimator.feature_names_in_) == ["a"]
    assert estimator.n_rounds_ == 20
    estimator.partial_fit(frame[["b", "a"]].iloc[:10], None if y is None else y[:10])
    assert list(estimator.feature_names_in_) == ["a", "b"]
    assert estimator.n_features_in_ == 2
    assert estimator.n_rounds_ == 30


@each_online
def test_fit_takes_dicts_and_a_stream_gives_chunks_of_them(cls):
    _, dicts, y = frame_and_dicts(cls)
    X = DictVectorizer(sparse=False).fit_transform(dicts)
    by_dict, by_row = new(cls).fit(dicts, y), new(cls).fit(X, y)
    np.testing.assert_allclose(scores(by_dict, dicts), scores(by_row, X), atol=1e-9)
    if y is not None:
        estimator = new(cls)
        for chunk, labels in Stream(dicts, y).chunks(16):
            estimator.partial_fit(chunk, labels)
            assert len(estimator.predict(chunk)) == len(labels)


@pytest.mark.parametrize("cls", SVMS)
def test_support_vector_machines_take_dicts_too(cls):
    dicts, y = words(120)
    vectorizer = DictVectorizer()
    X = vectorizer.fit_transform(dicts)
    by_dict, by_row = new(cls).fit(dicts, y), new(cls).fit(X, y)
    np.testing.assert_allclose(scores(by_dict, dicts), scores(by_row, X), atol=2e-3)


# ---------------------------------------------------------------- sparse dicts


@each_online
def test_sparse_dicts_teach_what_csr_rows_teach(cls):
    dicts, y = words()
    X = DictVectorizer().fit_transform(dicts)
    by_dict, by_row = new(cls), new(cls)
    for i, x in enumerate(dicts):
        by_dict.learn_one(x, y[i])
        by_row.learn_one(X[i : i + 1], y[i])
    assert is_sparse(by_dict)
    np.testing.assert_array_equal(by_dict.mistakes_["round"], by_row.mistakes_["round"])
    known = set(by_dict.feature_names_in_)
    inside = [i for i, x in enumerate(dicts) if set(x) <= known]  # to predict, a feature that is not held is ignored
    assert len(inside) > 3
    np.testing.assert_allclose(scores(by_dict, [dicts[i] for i in inside]), scores(by_row, X[inside]), atol=1e-9)


@each_online
def test_of_sparse_dicts_the_features_that_are_held_are_shown(cls):
    dicts, y = words()
    estimator = learn_each(new(cls), dicts, y)
    names, model = list(estimator.feature_names_in_), estimator.model_
    assert estimator.n_features_in_ == len(names) == len(set(names)) == model.columns.n_features
    assert list(model.columns.names) == names
    if hasattr(estimator, "support_vectors_"):
        held = estimator.support_vectors_
        assert held.shape[1] == len(names)
        if cls is not onkel.OnlineSVC:  # it keeps examples that are no support vectors
            assert (abs(held).sum(axis=0) > 0).all()
        by_row = {
            row: dict(zip(names, x, strict=True)) for row, x in zip(estimator.support_, held.toarray(), strict=True)
        }
        for row, x in by_row.items():
            assert {name: value for name, value in x.items() if value} == dicts[row]
    np.testing.assert_array_equal(model.predict(dicts), estimator.predict(dicts))
    assert [model.predict_one(x) for x in dicts[:20]] == pytest.approx([estimator.predict_one(x) for x in dicts[:20]])
    unknown = [x | {"never seen": 9.0} for x in dicts[:20]]
    np.testing.assert_array_equal(estimator.predict(unknown), estimator.predict(dicts[:20]))
    assert [estimator.predict_one(x) for x in unknown] == [estimator.predict_one(x) for x in dicts[:20]]


@each_online
def test_sparse_dicts_go_on_bit_for_bit_from_snapshots_pickles_and_copies(cls):
    dicts, y = words()
    estimator = learn_each(new(cls), dicts[:120], y[:120])
    twins = [new(cls).resume(estimator.snapshot()), pickle.loads(pickle.dumps(estimator))]
    for one in (estimator, *twins):
        learn_each(one, dicts[120:], y[120:])
    for twin in twins:
        assert twin.snapshot() == estimator.snapshot()
        np.testing.assert_array_equal(twin.feature_names_in_, estimator.feature_names_in_)


@each_online
def test_sparse_dicts_need_names_from_then_on(cls):
    dicts, y = words()
    estimator = learn_each(new(cls), dicts, y)
    before = estimator.snapshot()
    for call in (
        lambda: estimator.learn_one(np.zeros(estimator.n_features_in_), y[0]),
        lambda: estimator.partial_fit(np.zeros((2, estimator.n_features_in_)), y[:2]),
        lambda: estimator.predict_one(np.zeros(estimator.n_features_in_)),
    ):
        with pytest.raises(KindError, match="dicts of many features"):
            call()
    assert estimator.snapshot() == before


@each_online
def test_few_or_dense_features_stay_dense_and_keep_all_names(cls):
    rng = np.random.default_rng(0)
    names = [f"sensor {i}" for i in range(80)]
    dicts = [dict(zip(names, rng.normal(size=80).tolist(), strict=True)) for _ in range(30)]
    y = [i % 2 for i in range(30)]
    estimator = learn_each(new(cls), dicts, y)
    assert not is_sparse(estimator)
    assert list(estimator.feature_names_in_) == names


# ---------------------------------------------------------------- memory


def fresh_ids(n, rng):
    for i in range(n):
        yield {f"id {i:07d}": 1.0, "a": rng.normal(), "b": rng.normal(), "c": rng.normal()}, int(rng.integers(2))


@pytest.mark.parametrize("cls", BUDGETED)
def test_a_budget_bounds_the_memory_of_a_stream_of_fresh_names(cls):
    estimator, memory = new(cls), []
    for i, (x, y) in enumerate(fresh_ids(6000, np.random.default_rng(0)), 1):
        estimator.learn_one(x, y)
        if i % 3000 == 0:
            memory.append(evaluate.memory(estimator) - ledger_bytes(estimator))
    assert estimator.n_features_in_ <= 12 + 3
    assert memory[0] == pytest.approx(memory[1], abs=100)  # a counter may become an object of its own
