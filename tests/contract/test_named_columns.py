"""Named columns go by name: data frames, Series, dicts and lists of dicts; and sparse dicts in bounded memory."""

from __future__ import annotations

import copy
import itertools
import pickle
import threading
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from contract.registered import (
    BUDGETED,
    SVMS,
    columns_of,
    each,
    each_online,
    learn_each,
    ledger_bytes,
    new,
    part,
    scores,
)
from contract.registered import data as points
from sklearn.feature_extraction import DictVectorizer

import onkel
from onkel import evaluate, kernels
from onkel.data import Stream
from onkel.errors import KindError, ValuesError

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
    return type(columns_of(estimator)).__name__ == "Vocabulary"


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


@each_online
def test_a_refused_warm_fit_of_sparse_dicts_brings_back_names_and_scores(cls, monkeypatch):
    monkeypatch.setattr("onkel.estimators.online.fitting.STEP", 40)
    dicts, y = words(300)
    estimator = learn_each(new(cls, warm_start=True, shuffle=False), dicts[:100], y[:100])
    before, expected = estimator.snapshot(), scores(estimator, dicts)
    bad = [*dicts[100:280], {f"new {i}": 1.0 for i in range(10_000)}, {"w1": float("nan")}]
    for call in (estimator.fit, estimator.partial_fit):
        with pytest.raises(ValuesError, match="must be finite"):
            call(bad, y[: len(bad)])
        assert estimator.snapshot() == before
        np.testing.assert_array_equal(scores(estimator, dicts), expected)
        assert estimator.predict_one({"new 9999": 1.0}) == pytest.approx(estimator.predict_one({}))
    learn_each(estimator, dicts[100:], y[100:])
    again = learn_each(new(cls, warm_start=True, shuffle=False), dicts, y)
    assert estimator.snapshot() == again.snapshot()


@each_online
def test_copies_of_an_estimator_on_sparse_dicts_share_nothing(cls):
    dicts, y = words(300)
    estimator = learn_each(new(cls), dicts[:100], y[:100])
    before = estimator.snapshot()
    for twin in (copy.copy(estimator), copy.deepcopy(estimator)):
        learn_each(twin, dicts[100:], y[100:])
        assert estimator.snapshot() == before
    estimator.predict(dicts)


@each_online
def test_a_reader_beside_sparse_dicts_changes_nothing_in_what_is_learned(cls):
    dicts, y = words(600, vocabulary=3000)
    estimator, alone = new(cls), new(cls)
    done, errors = threading.Event(), []

    def read():
        try:
            while not done.is_set():
                if estimator.predict_one(dicts[0]) is not None:
                    estimator.predict(dicts[:3])
                    pickle.loads(pickle.dumps(estimator)).predict(dicts[:3])
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    try:
        for start in range(0, 600, 50):
            estimator.partial_fit(dicts[start : start + 50], y[start : start + 50])
            alone.partial_fit(dicts[start : start + 50], y[start : start + 50])
    finally:
        done.set()
        thread.join()
    assert errors == []
    assert estimator.snapshot() == alone.snapshot()


@pytest.mark.parametrize("gamma", ["scale", "auto", "median"])
def test_gamma_of_sparse_dicts_is_that_of_their_rows(gamma):
    dicts, y = words()
    by_dict = onkel.KernelPerceptron(gamma=gamma).partial_fit(dicts, y)
    by_row = onkel.KernelPerceptron(gamma=gamma).partial_fit(DictVectorizer().fit_transform(dicts), y)
    assert by_dict.gamma_ == pytest.approx(by_row.gamma_, rel=1e-12)


def test_sparse_dicts_of_which_nothing_was_learned_are_predicted():
    dicts, _ = words()
    estimator = onkel.PassiveAggressiveRegressor(epsilon=0.5, gamma=1.0).partial_fit(dicts, np.zeros(len(dicts)))
    assert estimator.predict(dicts[:3]).tolist() == estimator.model_.predict(dicts[:3]).tolist() == [0.0, 0.0, 0.0]
    assert estimator.predict_one(dicts[0]) == estimator.model_.predict_one(dicts[0]) == 0.0


# ---------------------------------------------------------------- kinds of names


@each_online
def test_a_frame_of_one_row_and_a_list_of_series_go_by_name(cls):
    frame, dicts, y = frame_and_dicts(cls)
    turned = frame[["c", "a", "b"]]
    for estimator in (new(cls).partial_fit(frame, y), new(cls).partial_fit(dicts, y)):
        assert estimator.predict_one(frame.iloc[[3]]) == estimator.predict_one(dicts[3])
        if estimator.model_.columns.growing:
            assert estimator.predict_one(turned.iloc[[3]]) == estimator.predict_one(dicts[3])
        else:
            with pytest.raises(ValueError, match="same order"):
                estimator.predict_one(turned.iloc[[3]])
        np.testing.assert_array_equal(
            estimator.predict([turned.iloc[i] for i in range(9)]), estimator.predict(dicts[:9])
        )


def test_a_frame_whose_columns_are_numbers_has_no_names():
    estimator = onkel.KernelPerceptron("linear").partial_fit([{"a": 1.0, "b": 0.0}, {"a": 0.0, "b": 1.0}], [0, 1])
    with pytest.warns(UserWarning, match="valid feature names"):
        assert estimator.predict(pd.DataFrame([[1.0, 0.0], [0.0, 1.0]])).tolist() == [0, 1]


@each_online
def test_after_a_dict_with_a_new_feature_frames_without_it_are_read_by_name(cls):
    frame, _, y = frame_and_dicts(cls)
    estimator = new(cls).fit(frame, y)
    estimator.learn_one({"a": 1.0, "z": 1.0}, part(y, 0))
    assert list(estimator.feature_names_in_) == [*NAMES, "z"]
    assert len(estimator.predict(frame)) == len(frame)


@pytest.mark.parametrize("kernel", ["cosine", kernels.Polynomial(degree=2).normalized(), kernels.Constant(1.0) + 0.5])
def test_every_kernel_on_vectors_takes_dicts(kernel):
    dicts, y = [{"a": 1.0, "b": 1.0}, {"a": 1.0, "b": -1.0}], [0, 1]
    cls = (
        onkel.KernelPerceptron if isinstance(kernel, kernels.Kernel) and kernel.takes == "anything" else onkel.Forgetron
    )
    estimator = cls(kernel).partial_fit(dicts, y).partial_fit(dicts, y).learn_one(dicts[0], 0)
    assert estimator.n_rounds_ == 5
    assert len(estimator.predict(dicts)) == 2
    assert estimator.predict_one(dicts[1]) in (0, 1)


def test_a_kernel_on_objects_gets_every_series_as_it_is():
    def alike(a, b):
        assert type(a) is type(b) is pd.Series
        return float((a == b).mean())

    estimator = onkel.KernelPerceptron(kernels.Custom(alike, pairwise=True, takes="objects", psd=True))
    for i in range(4):
        estimator.learn_one(pd.Series({"a": i, "b": 1}), i % 2)
    assert estimator.n_rounds_ == 4


def test_names_may_be_tuples():
    dicts, y = [{("a", 1): 1.0, ("b", 2): 0.0}, {("a", 1): 0.0, ("b", 2): 1.0}], [0, 1]
    for estimator in (onkel.SVC(), onkel.KernelPerceptron()):
        assert estimator.fit(dicts, y).feature_names_in_.tolist() == [("a", 1), ("b", 2)]
        assert estimator.predict(dicts).tolist() == y


def test_progressive_validation_takes_chunks_of_dicts():
    dicts, y = words(600)
    *_, last = onkel.progressive_validation(onkel.Perceptron(), zip(dicts, y, strict=True), chunk=50)
    assert (last.examples, last.unpredicted) == (600, 50)
    assert last.error < 0.5


# ---------------------------------------------------------------- memory


def fresh_ids(n, rng):
    for i in range(n):
        yield {f"id {i:07d}": 1.0, "a": rng.normal(), "b": rng.normal(), "c": rng.normal()}, int(rng.integers(2))


@pytest.mark.parametrize("cls", BUDGETED)
def test_a_budget_bounds_the_memory_of_a_stream_of_fresh_names(cls):
    estimator, memory, examples = new(cls), [], list(fresh_ids(6000, np.random.default_rng(0)))
    for start in range(0, 6000, 500):
        dicts, y = zip(*examples[start : start + 490], strict=True)
        estimator.partial_fit(list(dicts), y)
        for x, label in examples[start + 490 : start + 500]:
            estimator.learn_one(x, label)
        if start in (2500, 5500):
            memory.append(evaluate.memory(estimator) - ledger_bytes(estimator))
    assert estimator.n_features_in_ <= 12 + 3
    assert memory[0] == pytest.approx(memory[1], abs=100)  # a counter may become an object of its own


def test_a_kernel_that_fails_after_an_example_was_learned_does_not_refuse_it():
    left = [10**9]

    def kernel(a, b):
        left[0] -= 1
        if left[0] == 0:
            raise RuntimeError
        return float(np.exp(-0.3 * ((a - b) ** 2).sum()))

    dicts, y = words(40, vocabulary=300, length=5)
    machine = onkel.BudgetPerceptron(kernels.Custom(kernel, pairwise=True, psd=True), budget=5, random_state=0)
    learn_each(machine, dicts[:20], y[:20])
    refused = 0
    for i, at in itertools.product(range(20, 28), range(1, 30)):
        twin = copy.deepcopy(machine)
        rounds, left[0] = twin.n_rounds_, at
        try:
            twin.learn_one(dicts[i], y[i])
        except RuntimeError:
            refused += 1
            assert twin.n_rounds_ == rounds
        else:
            assert twin.n_rounds_ == rounds + 1
        left[0] = 10**9
    assert 0 < refused < 8 * 29
