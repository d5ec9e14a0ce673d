"""The compiled core refuses tables and sentences that do not fit, and labels and features that are out of range."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from contract.test_core_sizes import dtypes, refusal, shorter

from onkel._core import _native

L, LD, F, P, TOKENS = 3, 8, 4, 2, 5  # labels, values of a row, features, features of pairs, tokens
STARTS = np.array([0, 2, 5])


def counts(n_rows: int) -> _native.TagCounts:
    """With so many rows of features in use."""
    found = _native.TagCounts()
    found.n_rows = n_rows
    return found


def learn(dtype: type) -> dict[str, Any]:
    tables: dict[str, Any] = {}
    shapes = {
        "features": (F + 1, LD),
        "transitions": (L + 1, LD),
        "second": (L + 1, L + 1, LD),
        "observed": (P, L + 1, LD),
    }
    for name, shape in shapes.items():
        tables |= {name: np.zeros(shape, dtype), f"{name}_moment": np.zeros(shape)}
    ids = np.array([0, 1, 2, 3, 0, 3], dtype=np.int32)
    return {
        "starts": STARTS,
        "indptr": np.array([0, 1, 2, 3, 4, 6]),
        "ids": ids,
        "values": np.ones(6),
        "observed_indptr": np.array([0, 0, 1, 1, 2, 3]),
        "observed_ids": np.array([0, 1, 1], dtype=np.int32),
        "order": np.array([1, 0]),
        "y": np.array([0, 1, 2, 0, 1], dtype=np.int32),
        "margin": 0.0,
        "replay": False,
        "labels": L,
        "rows": np.zeros(F, dtype=np.int32),
        **tables,
        "counts": counts(n_rows=1),
        "z": np.zeros(TOKENS, dtype=np.int32),
        "updated": np.zeros(2, dtype=np.uint8),
    }


def decode(dtype: type) -> dict[str, Any]:
    tables = {"transitions": np.zeros((TOKENS, L + 1, LD), dtype), "second": np.zeros((L + 1, L + 1, LD), dtype)}
    out = {"y": np.zeros(TOKENS, dtype=np.int32), "scores": np.zeros(2), "threads": 2}
    return {"E": np.zeros((TOKENS, LD), dtype), "labels": L, "starts": STARTS, **tables, **out}


def k_best(dtype: type) -> dict[str, Any]:
    tables = {"transitions": np.zeros((TOKENS, L + 1, LD), dtype), "second": np.zeros((L + 1, L + 1, LD), dtype)}
    out = {"y": np.zeros((4, TOKENS), dtype=np.int32), "scores": np.zeros(4)}
    return {"E": np.zeros((TOKENS, LD), dtype), "labels": L, **tables, **out}


def add_sparse_rows(dtype: type) -> dict[str, Any]:
    rows = {"w_indptr": np.array([0, 2, 3]), "w_places": np.array([0, 2, 1], dtype=np.int32), "w": np.ones(3, dtype)}
    ids = {"indptr": np.array([0, 1, 3]), "ids": np.array([0, 1, 0], dtype=np.int32), "values": np.ones(3)}
    return {**rows, **ids, "E": np.zeros((2, L), dtype), "threads": 2}


CALLS = {"learn_sentences": learn, "decode": decode, "k_best": k_best, "add_sparse_rows": add_sparse_rows}
calls = pytest.mark.parametrize("name", list(CALLS))


@dtypes
@calls
def test_a_call_whose_arrays_fit_goes_through_and_one_that_is_too_short_is_refused(name, dtype):
    call, arguments = getattr(_native, name), CALLS[name](dtype)
    call(**arguments)
    for which, axis, wrong in shorter(CALLS[name](dtype)):
        message = refusal(call, wrong)
        assert message is not None, (which, axis)
        assert message.startswith(f"{name}: ")


WRONG = {
    "a feature without a row": ("learn_sentences", "ids", np.array([0, 1, 2, 4, 0, 3], dtype=np.int32)),
    "a negative feature": ("learn_sentences", "ids", np.array([0, -1, 2, 3, 0, 3], dtype=np.int32)),
    "a pair without a table": ("learn_sentences", "observed_ids", np.array([0, 1, 2], dtype=np.int32)),
    "a label that is too large": ("learn_sentences", "y", np.array([0, 1, 3, 0, 1], dtype=np.int32)),
    "a sentence that is not there": ("learn_sentences", "order", np.array([2, 0])),
    "an empty sentence": ("learn_sentences", "starts", np.array([0, 0, 5])),
    "more labels than a row has values": ("learn_sentences", "labels", 9),
    "a row that is not there": ("learn_sentences", "rows", np.array([0, 0, 0, 5], dtype=np.int32)),
    "more rows in use than there are": ("learn_sentences", "counts", counts(n_rows=9)),
    "no labels": ("decode", "labels", 0),
    "no threads": ("decode", "threads", 0),
    "sentences that do not end with the tokens": ("decode", "starts", np.array([0, 2, 4])),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_out_of_range_is_refused(name):
    function, which, value = WRONG[name]
    arguments = CALLS[function](np.float64)
    assert refusal(getattr(_native, function), arguments | {which: value}) is not None


def test_a_replay_checks_the_labellings_that_it_is_given():
    arguments = learn(np.float64) | {"replay": True, "z": np.array([0, 1, 2, 0, 7], dtype=np.int32)}
    assert refusal(_native.learn_sentences, arguments) is not None
