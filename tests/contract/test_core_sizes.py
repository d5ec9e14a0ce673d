"""The compiled core checks the sizes it is given: an array that does not fit is refused, never read past its end.

`CALLS` holds one good call of each function. Every array of it is then given one element too short, along each of its
axes, and every number that becomes an address is given one too large.
"""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from strategies import as_csr

from onkel._core import PANEL_BYTES, Map, Op, _native, aligned_zeros

Arguments = dict[str, Any]
dtypes = pytest.mark.parametrize("dtype", [np.float32, np.float64])

N, D, M, C = 5, 9, 33, 3  # rows, features, support vectors (one more than fill whole panels), outputs


NORMS = {"least": 1.0, "most": 1000.0}  # of rows and support vectors, within the range of float32


def points(dtype: type, n: int = N) -> np.ndarray:
    """Points of which about half the features are 0, but not the last feature of the last row."""
    rng = np.random.default_rng(n)
    X = rng.integers(1, 9, size=(n, D)) * (rng.random((n, D)) < 0.5)
    X[-1, -1] = 1
    return X.astype(dtype)


def csr(X: np.ndarray) -> Arguments:
    rows = as_csr(X, np.int64)
    return {"indptr": rows.indptr, "indices": rows.indices.astype(np.int32), "data": rows.data}


def panels(dtype: type) -> np.ndarray:
    width = PANEL_BYTES // np.dtype(dtype).itemsize
    return aligned_zeros((-(-M // width), D, width), dtype)


def support(dtype: type) -> Arguments:
    """The arguments of `right`, for distances: they need a number for each support vector."""
    values = panels(dtype)
    _native.pack_dense(points(dtype, M), values)
    aux = np.zeros(values.shape[0] * values.shape[2], dtype=dtype)
    form = {"op": Op.DISTANCE, "map": Map.EXPONENTIAL, "params": (0.5,)}
    return {**form, "panels": values, "columns": M, "aux": aux, "slots": None, "features": None, **NORMS}


def features_that_occur() -> Arguments:
    """Panels that hold 4 features of D; the last feature is one of them."""
    slots = np.full(D, -1, dtype=np.int32)
    slots[[0, 3, 5, D - 1]] = np.arange(4)
    return {"slots": slots, "features": np.flatnonzero(slots >= 0).astype(np.int32)}


def right_with_few_features(dtype: type) -> Arguments:
    few = np.ascontiguousarray(panels(dtype)[:, :4])
    return {**support(dtype), "panels": few, **features_that_occur()}


def results(dtype: type, n: int = N) -> Arguments:
    """The arguments of a product that are the same for dense and sparse rows; the Gram block has contiguous columns."""
    gram = np.zeros((M, n), dtype=dtype).T
    scores = {"A": np.ones((M, C)), "scores": np.zeros((n, C))}
    return {"aux": np.zeros(n, dtype=dtype), **scores, "gram": gram, "below": False, "threads": 2, **NORMS}


def perceptron_pass(dtype: type) -> Arguments:
    place = np.array([1, -1, 0, -1, 2])  # the last row of K is in use
    y, w, F = np.ones((N, C), dtype=np.int8), np.ones(N), np.ones((C, N))
    given = {"K": np.ones((3, N), dtype=dtype), "place": place, "first": 0, "y": y, "w": w, "bias": 1.0}
    return {**given, "F": F, "offsets": np.zeros(C), "steps": np.empty((N, C)), "sq_norms": np.zeros(C)}


def least_margins(_: type) -> Arguments:
    given = {"place": np.full(N, -1), "first": 2, "y": np.ones((N, C), dtype=np.int8), "F": np.ones((C, N))}
    return {**given, "offsets": np.zeros(C), "lengths": np.ones(N), "margin": np.empty(N - 2)}


def primal_pass(rows: Arguments) -> Arguments:
    """With a ledger of two entries that has room for just those that the pass might add."""
    given = {"y": np.ones((N, C)), "w": np.ones(N), "row_ids": np.arange(N), "eta": 1.0, "bias": True}
    V = {"V": np.zeros((C, D + 1)), "moments": np.zeros((C, D + 1)), "counts": _native.Counts()}
    ledger = {"entries": np.zeros((2 + N * C, 4), dtype=np.int64), "n_entries": np.array([2])}
    return {**rows, **given, **V, **ledger, "F": np.empty((N, C))}


def prank_dual_pass(dtype: type) -> Arguments:
    given = {"K": np.ones((N, N), dtype=dtype), "y": np.ones((N, C)), "f": np.ones(N), "b": np.zeros(C)}
    return {**given, "tau": np.empty((N, C)), "sums": np.empty(N), "F": np.empty((N, C))}


def prank_primal_pass(rows: Arguments) -> Arguments:
    """With a ledger of two entries that has room for just those that the pass might add."""
    given = {"y": -np.ones((N, C)), "row_ids": np.arange(N), "w": np.zeros(D), "b": np.zeros(C)}
    ledger = {"entries": np.zeros((2 + N * C, 4), dtype=np.int64), "n_entries": np.array([2])}
    return {**rows, **given, "counts": _native.Counts(), **ledger, "F": np.empty((N, C))}


def add_columns(dtype: type) -> Arguments:
    columns, which = np.ones((4, N), dtype=dtype), np.array([3, 0])
    return {"columns": columns, "which": which, "A": np.ones((2, C)), "F": np.zeros((C, N)), "threads": 1}


def vote(dtype: type) -> Arguments:
    ledger = {"support": np.array([M - 1, 0, 3]), "output": np.array([C - 1, 0, 0]), "step": np.ones(3)}
    votes = {"weight": np.ones(3), "start": np.ones(C), "bias": 0.0, "out": np.empty((N, C))}
    return {"K": np.ones((N, M), dtype=dtype), **ledger, **votes}


def smo(dtype: type) -> Arguments:
    K, box = np.eye(M, 64, dtype=dtype), {"low": np.zeros(M), "high": np.ones(M)}
    return {"K": K, "size": M, **box, "b": np.zeros(M), "v": np.ones(M), "pairs": True, "tol": 1e-3, "most": 9}


def take_csr(dtype: type) -> Arguments:
    rows, chosen = csr(points(dtype)), np.array([N - 1, 0])
    out = csr(points(dtype)[chosen])
    return {**rows, "chosen": chosen, **{f"out_{name}": array for name, array in out.items()}, "threads": 1}


def compress_rows(dtype: type) -> Arguments:
    rows = csr(points(dtype))
    wide = {name: np.append(rows[name], rows[name][:1]) for name in ("indices", "data")}  # it writes one past the end
    return {"X": points(dtype), "indptr": rows["indptr"], **wide}


def method(name: str) -> Callable[[type], Callable[..., Any]]:
    return lambda dtype: getattr(_native.right(**support(dtype)), name)


def method_with_few_features(name: str) -> Callable[[type], Callable[..., Any]]:
    return lambda dtype: getattr(_native.right(**right_with_few_features(dtype)), name)


def function(name: str) -> Callable[[type], Callable[..., Any]]:
    return lambda dtype: getattr(_native, name)


# Of each call: what is called, and its arguments.
Call = tuple[Callable[[type], Callable[..., Any]], Callable[[type], Arguments]]
CALLS: dict[str, Call] = {
    "right": (function("right"), support),
    "right, few features": (function("right"), right_with_few_features),
    "Right.dense": (method("dense"), lambda t: {"X": points(t), **results(t)}),
    "Right.csr": (method("csr"), lambda t: {**csr(points(t)), "d": D, **results(t)}),
    "Right.csr, few features": (
        method_with_few_features("csr"),
        lambda t: {**csr(points(t)), "d": D, **results(t)},
    ),
    "Right.values": (method("values"), lambda t: {"x": points(t, 1), "out": np.empty((1, M), dtype=t)}),
    "pack_dense": (function("pack_dense"), lambda t: {"S": points(t, M), "panels": panels(t)}),
    "pack_csr": (function("pack_csr"), lambda t: {**csr(points(t, M)), "slots": None, "panels": panels(t)}),
    "pack_csr, few features": (
        function("pack_csr"),
        lambda t: {
            **csr(points(t, M) * (features_that_occur()["slots"] >= 0).astype(t)),
            "slots": features_that_occur()["slots"],
            "panels": np.ascontiguousarray(panels(t)[:, :4]),
        },
    ),
    "take_csr": (function("take_csr"), take_csr),
    "squared_norms_dense": (function("squared_norms_dense"), lambda t: {"X": points(t), "sums": np.empty(N)}),
    "squared_norms_csr": (function("squared_norms_csr"), lambda t: {**csr(points(t)), "sums": np.empty(N)}),
    "row_sums_dense": (function("row_sums_dense"), lambda t: {"X": points(t), "sums": np.empty(N)}),
    "row_sums_csr": (function("row_sums_csr"), lambda t: {**csr(points(t)), "sums": np.empty(N)}),
    "count_nonzeros": (
        function("count_nonzeros"),
        lambda t: {"X": points(t), "counts": np.empty(N, dtype=np.int64)},
    ),
    "compress_rows": (function("compress_rows"), compress_rows),
    "perceptron_pass": (function("perceptron_pass"), perceptron_pass),
    "least_margins": (function("least_margins"), least_margins),
    "primal_pass": (
        function("primal_pass"),
        lambda t: primal_pass({"data": points(t).ravel(), "indptr": None, "indices": None}),
    ),
    "primal_pass, csr": (function("primal_pass"), lambda t: primal_pass(csr(points(t)))),
    "prank_dual_pass": (function("prank_dual_pass"), prank_dual_pass),
    "prank_primal_pass": (
        function("prank_primal_pass"),
        lambda t: prank_primal_pass({"data": points(t).ravel(), "indptr": None, "indices": None}),
    ),
    "prank_primal_pass, csr": (function("prank_primal_pass"), lambda t: prank_primal_pass(csr(points(t)))),
    "add_columns": (function("add_columns"), add_columns),
    "vote": (function("vote"), vote),
    "smo": (function("smo"), smo),
}
# Axes whose size nothing else in the call depends on: numbers of features.
FREE = {
    "right": [("panels", 1)],
    "squared_norms_dense": [("X", 1)],
    "row_sums_dense": [("X", 1)],
    "count_nonzeros": [("X", 1)],
}
# Functions that no size is wrong for, and how the names begin of those that other tests give wrong sizes.
NUMBERS = {"Counts", "TagCounts"}  # what learners count: no arrays
ANY_SIZE = {"all_finite", "apply_map", "norm_range", "simd_targets", "simd_target", "select_simd"} | NUMBERS
ELSEWHERE = (
    *("Budget", "budget", "Lasvm", "lasvm", "Projectron", "project", "Exact", "exact", "Screen", "screen"),
    *(
        "apply_deferred",
        "coefficients",
        "invert_rows",
        "commit",
        "replace_all",
        "Lock",
        "ConllReader",
        "FeatureIndex",
        "StringTable",
        "hash_",
        *("learn_sentences", "decode", "k_best", "add_sparse_rows"),  # test_core_sizes_sequence.py
    ),
)
calls = pytest.mark.parametrize("name", list(CALLS))


def shorter(arguments: Arguments) -> Iterator[tuple[str, int, Arguments]]:
    """The arguments with one array one element too short: its name, the axis, and all arguments."""
    for name, array in arguments.items():
        if isinstance(array, np.ndarray):
            for axis in range(array.ndim):
                cut = np.delete(array, -1, axis=axis)
                if array.flags.f_contiguous and not array.flags.c_contiguous:
                    cut = np.asfortranarray(cut)
                yield name, axis, {**arguments, name: cut}


def refusal(call: Callable[..., Any], arguments: Arguments) -> str | None:
    """The message of the ValueError that a call raises, if it does."""
    try:
        call(**arguments)
    except ValueError as error:
        return str(error)
    return None


def test_every_function_that_takes_arrays_is_called_here_or_with_its_learner():
    called = {name.split(",")[0] for name in CALLS} | {"Right32", "Right64"}
    left = set(dir(_native)) - called - ANY_SIZE
    assert [name for name in sorted(left) if not name.startswith(("__", *ELSEWHERE))] == []


@pytest.mark.parametrize("name", ["Counts", "BudgetRecord", "ProjectronRecord", "LasvmRecord", "TagCounts"])
def test_a_record_is_copied_and_pickled_with_all_its_numbers(name):
    record = getattr(_native, name)()
    numbers = [number for number in dir(record) if type(getattr(record, number)) in (int, float)]
    assert {"n_seen", "n_updates"} < {*numbers}
    values = {number: type(getattr(record, number))(3 + k) for k, number in enumerate(numbers)}
    for number, value in values.items():
        setattr(record, number, value)
    for twin in (record.copy(), copy.deepcopy(record), pickle.loads(pickle.dumps(record))):
        record.n_seen += 1
        assert {number: getattr(twin, number) for number in numbers} == values
        record.n_seen -= 1
    with pytest.raises(ValueError, match=f"{name}: a pickle must have the bytes of this version"):
        type(record).__new__(type(record)).__setstate__(b"short")


@dtypes
@calls
def test_a_call_whose_arrays_fit_each_other_goes_through(name, dtype):
    callee, arguments = CALLS[name]
    callee(dtype)(**arguments(dtype))


@dtypes
@calls
def test_an_array_that_is_too_short_along_any_axis_is_refused_by_name(name, dtype):
    callee, arguments = CALLS[name]
    answers = {(array, axis): refusal(callee(dtype), wrong) for array, axis, wrong in shorter(arguments(dtype))}
    assert [axis for axis, message in answers.items() if message is None] == FREE.get(name, [])
    for message in filter(None, answers.values()):
        assert re.match(rf"{name.split(',')[0]}: .* must ", message)


@dtypes
@calls
def test_an_array_with_another_number_of_dimensions_is_refused(name, dtype):
    callee, arguments = CALLS[name]
    given = arguments(dtype)
    for array in [key for key, value in given.items() if isinstance(value, np.ndarray)]:
        with pytest.raises(TypeError):
            callee(dtype)(**{**given, array: given[array][None]})


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("right", {"columns": 65}),
        ("right", {"columns": -1}),
        ("right", {"op": 7}),
        ("right", {"map": 8}),
        ("right", {"aux": None}),
        ("right", {"slots": np.zeros(D, dtype=np.int32)}),
        ("right, few features", {"slots": np.full(D, 4, dtype=np.int32)}),
        ("right, few features", {"features": np.arange(D - 3, D + 1, dtype=np.int32)}),
        ("Right.dense", {"aux": None}),
        ("Right.dense", {"A": None}),
        ("Right.dense", {"A": np.ones((M, 0)), "scores": np.ones((N, 0))}),
        ("Right.dense", {"gram": np.empty((N, M))}),  # by rows: only without scores
        ("Right.dense", {"gram": np.empty((2 * M, 2 * N)).T[::2, ::2]}),
        ("Right.dense", {"below": True}),
        ("Right.dense", {"threads": 0}),
        ("Right.csr", {"d": D + 1}),
        ("Right.csr", {"indptr": np.array([0, 9, 5, 6, 7, 8])}),
        ("Right.csr", {"indptr": np.array([-1, 1, 2, 3, 4, 5])}),
        ("Right.csr", {"indptr": np.empty(0, dtype=np.int64)}),
        ("Right.csr", {"indices": np.full(N * D, D, dtype=np.int32)}),
        ("Right.csr", {"indices": np.full(N * D, -1, dtype=np.int32)}),
        ("Right.csr, few features", {"indices": np.full(N * D, D, dtype=np.int32)}),
        ("pack_csr", {"indices": np.full(M * D, D, dtype=np.int32)}),
        ("pack_csr", {"indices": np.full(M * D, -1, dtype=np.int32)}),
        ("pack_csr, few features", {"indices": np.full(M * D, 1, dtype=np.int32)}),  # a feature without a slot
        ("pack_csr, few features", {"slots": np.full(D, 4, dtype=np.int32)}),
        ("take_csr", {"chosen": np.array([N, 0])}),
        ("take_csr", {"chosen": np.array([-1, 0])}),
        ("take_csr", {"chosen": np.array([1, 0])}),  # rows of another length than out_indptr says
        ("take_csr", {"threads": 0}),
        ("compress_rows", {"X": np.ones((N, D))}),  # more non-zeros than indptr says
        ("perceptron_pass", {"place": np.full(N, 3)}),
        ("perceptron_pass", {"first": -1}),
        ("perceptron_pass", {"first": N + 1}),
        ("least_margins", {"first": N + 1}),
        ("least_margins", {"first": -1, "margin": np.empty(N + 1)}),
        ("primal_pass", {"V": np.empty((C, 0)), "moments": np.empty((C, 0))}),
        ("primal_pass", {"indptr": np.arange(N + 1)}),  # without indices
        ("primal_pass", {"n_entries": np.array([3])}),
        ("primal_pass", {"n_entries": np.array([-1])}),
        ("primal_pass, csr", {"indices": np.full(N * D, D, dtype=np.int32)}),
        ("primal_pass, csr", {"indices": np.full(N * D, -1, dtype=np.int32)}),
        ("prank_primal_pass", {"indptr": np.arange(N + 1)}),  # without indices
        ("prank_primal_pass", {"n_entries": np.array([3])}),
        ("prank_primal_pass", {"n_entries": np.array([-1])}),
        ("prank_primal_pass, csr", {"indices": np.full(N * D, D, dtype=np.int32)}),
        ("add_columns", {"which": np.array([4, 0])}),
        ("add_columns", {"which": np.array([-1, 0])}),
        ("add_columns", {"columns": np.ones((4, 2 * N))[:, ::2]}),
        ("add_columns", {"F": np.ones((C, 2 * N))[:, ::2]}),
        ("add_columns", {"threads": 0}),
        ("vote", {"support": np.array([M, 0, 3])}),
        ("vote", {"support": np.array([-1, 0, 3])}),
        ("vote", {"output": np.array([C, 0, 0])}),
        ("vote", {"output": np.array([-1, 0, 0])}),
        ("smo", {"size": M + 1}),
        ("smo", {"size": -1}),
        ("smo", {"K": np.eye(M)}),  # rows must be padded to whole vectors
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_a_number_out_of_range_is_refused(name, wrong):
    callee, arguments = CALLS[name]
    with pytest.raises(ValueError, match=rf"^{name.split(',')[0]}: "):
        callee(np.float64)(**{**arguments(np.float64), **wrong})


def test_the_message_says_what_was_expected_and_what_came():
    with pytest.raises(ValueError, match=r"^perceptron_pass: F must have shape \(3, 5\); got \(3, 4\)$"):
        _native.perceptron_pass(**{**perceptron_pass(np.float32), "F": np.ones((C, N - 1))})
    with pytest.raises(ValueError, match=r"^perceptron_pass: K must have shape \(any, 5\); got \(3, 6\)$"):
        _native.perceptron_pass(**{**perceptron_pass(np.float32), "K": np.ones((3, 6), dtype=np.float32)})
    with pytest.raises(ValueError, match=r"^smo: low must have at least shape \(33,\); got \(32,\)$"):
        _native.smo(**{**smo(np.float32), "low": np.zeros(M - 1)})
    with pytest.raises(ValueError, match=r"^add_columns: which must hold indices from 0 to below 4; got 7$"):
        _native.add_columns(**{**add_columns(np.float32), "which": np.array([1, 7])})


def test_a_product_of_no_rows_is_empty():
    callee, _ = CALLS["Right.dense"]
    callee(np.float64)(X=np.empty((0, D)), **results(np.float64, 0))


def test_a_map_without_its_parameters_takes_them_as_0():
    values = np.array([2.0, 3.0])
    _native.apply_map(Map.TANH, [], values)
    assert values.tolist() == [0.0, 0.0]


def test_entries_beyond_the_end_of_csr_rows_do_not_matter():
    rows = csr(points(np.float64))
    longer = {"indices": np.append(rows["indices"], np.int32(-7)), "data": np.append(rows["data"], np.nan)}
    V = primal_pass({**rows, **longer})
    _native.primal_pass(**V)
    assert np.isfinite(V["V"]).all()
