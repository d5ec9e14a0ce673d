"""The compiled core refuses arrays of tokens and features that do not fit, and codes that are out of range."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from onkel._core import _native

PARTS, INSIDE = [[(0, 0)], [(0, -1), (1, 1)]], [False, True]
TOKENS = 5


def new_index() -> Any:
    return _native.FeatureIndex(PARTS, INSIDE, 2, 1)


def run() -> dict[str, Any]:
    """The arguments of add and find, for sentences of two and three tokens."""
    return {
        "codes": np.array([[2, 3, 4, -1, 2], [3, 2, 3, 2, 2]], dtype=np.int32),
        "sizes": np.array([5, 4]),
        "starts": np.array([0, 2, 5]),
        "skip_first": False,
        "base": 0,
        "indptr": np.zeros(TOKENS, dtype=np.int64),
        "ids": np.zeros(TOKENS * len(PARTS), dtype=np.int32),
    }


def hash_run() -> dict[str, Any]:
    arguments = {name: value for name, value in run().items() if name not in ("codes", "sizes")}
    hashes = np.ones((2, TOKENS), dtype=np.uint64)
    settings = {"seeds": np.ones(2, dtype=np.uint64), "n_bits": 4, "edges": np.ones(2, dtype=np.uint64)}
    return {"parts": PARTS, "inside": INSIDE, **settings, "hashes": hashes, **arguments}


@pytest.mark.parametrize("method", ["add", "find"])
@pytest.mark.parametrize("name", ["codes", "sizes", "starts", "indptr", "ids"])
def test_the_core_refuses_a_run_whose_arrays_do_not_fit(method, name):
    call, arguments = getattr(new_index(), method), run()
    call(**arguments)
    with pytest.raises(ValueError, match=rf"FeatureIndex.{method}: .* must "):
        call(**arguments | {name: arguments[name][..., :-1].copy()})


WRONG_RUNS = {
    "a code that is too large": ("codes", np.full((2, TOKENS), 4, dtype=np.int32)),
    "a column too few": ("codes", np.zeros((1, TOKENS), dtype=np.int32)),
    "starts that descend": ("starts", np.array([0, 4, 2, 5])),
    "starts that are negative": ("starts", np.array([0, -1, 5])),
    "starts that begin later": ("starts", np.array([1, 5])),
    "starts that are missing": ("starts", np.zeros(0, dtype=np.int64)),
}


@pytest.mark.parametrize("name", WRONG_RUNS)
def test_the_core_refuses_a_run_that_is_out_of_range(name):
    argument, value = WRONG_RUNS[name]
    with pytest.raises(ValueError, match=r"FeatureIndex.add: .* must "):
        new_index().add(**run() | {argument: value})


@pytest.mark.parametrize("name", ["seeds", "edges", "hashes", "starts", "indptr", "ids"])
def test_the_core_refuses_hashes_whose_arrays_do_not_fit(name):
    arguments = hash_run()
    _native.hash_features(**arguments)
    with pytest.raises(ValueError, match=r"hash_features: .* must "):
        _native.hash_features(**arguments | {name: arguments[name][..., :-1].copy()})


@pytest.mark.parametrize("n_bits", [0, 31])
def test_the_core_refuses_hashes_of_too_many_bits(n_bits):
    with pytest.raises(ValueError, match="n_bits must be between 1 and 30"):
        _native.hash_features(**hash_run() | {"n_bits": n_bits})
    with pytest.raises(ValueError, match="hash_strings: out must have shape"):
        _native.hash_strings(["a"], np.zeros(2, dtype=np.uint64))


@pytest.mark.parametrize(
    ("parts", "inside", "columns", "reach"),
    [([[(2, 0)]], [False], 2, 1), ([[(-1, 0)]], [False], 2, 1), ([[(0, 2)]], [False], 2, 1), ([[(0, 0)]], [], 2, 1)],
)
def test_the_core_refuses_templates_that_are_out_of_range(parts, inside, columns, reach):
    with pytest.raises(ValueError, match=r"FeatureIndex: .* must "):
        _native.FeatureIndex(parts, inside, columns, reach)


LOADED = {"templates": np.array([0, 1], dtype=np.uint16), "codes": np.array([2, 3, 3], dtype=np.int32), "sizes": [5, 4]}
WRONG_LOADS = {
    "a template that is none": {"templates": np.array([0, 2], dtype=np.uint16)},
    "a code too few": {"codes": np.array([2, 3], dtype=np.int32)},
    "a code too many": {"codes": np.array([2, 3, 3, 3], dtype=np.int32)},
    "a code that is too large": {"codes": np.array([2, 3, 4], dtype=np.int32)},
    "a code that is negative": {"codes": np.array([-1, 3, 3], dtype=np.int32)},
    "a feature that comes twice": {
        "templates": np.zeros(2, dtype=np.uint16),
        "codes": np.array([2, 2], dtype=np.int32),
    },
    "a size too few": {"sizes": [5]},
}


@pytest.mark.parametrize("name", ["nothing wrong", *WRONG_LOADS])
def test_the_core_refuses_features_that_do_not_fit(name):
    arguments = LOADED | WRONG_LOADS.get(name, {})
    arguments["sizes"] = np.array(arguments["sizes"])
    index = new_index()
    if name == "nothing wrong":
        index.load(**arguments)
        assert (index.size, index.n_codes) == (2, 3)
        with pytest.raises(ValueError, match=r"FeatureIndex.export: templates must have shape"):
            index.export_to(np.zeros(1, dtype=np.uint16), np.zeros(3, dtype=np.int32))
        with pytest.raises(ValueError, match=r"FeatureIndex.export: codes must have shape"):
            index.export_to(np.zeros(2, dtype=np.uint16), np.zeros(2, dtype=np.int32))
    else:
        with pytest.raises(ValueError, match=r"FeatureIndex.load: .* must "):
            index.load(**arguments)


def test_the_core_refuses_a_reader_that_does_not_fit():
    for wrong in ({"kept": [2]}, {"kept": [-1]}, {"n_columns": -1}, {"n_columns": 0, "kept": [0]}, {"separator": "ab"}):
        arguments = {"text": b"a b", "n_columns": 2, "separator": "", "comment": "", "conllu": False, "kept": []}
        with pytest.raises(ValueError, match=r"ConllReader: .* must "):
            _native.ConllReader(**arguments | wrong)
    reader = _native.ConllReader(**arguments)
    assert not reader.read(100)
    with pytest.raises(ValueError, match="most must be at least 1"):
        reader.read(0)
    for column in (-1, 2):
        with pytest.raises(ValueError, match="column must be an index"):
            reader.values(column)
        with pytest.raises(ValueError, match="column must be an index"):
            reader.codes(column, np.zeros(1, dtype=np.int32))
    with pytest.raises(ValueError, match="out must have shape"):
        reader.codes(0, np.zeros(2, dtype=np.int32))
    with pytest.raises(ValueError, match="out must have shape"):
        reader.starts(np.zeros(1, dtype=np.int64))


@pytest.mark.parametrize("size", [2, 4])
def test_the_core_refuses_ids_that_are_not_as_many_as_the_strings(size):
    table, tokens, ids = _native.StringTable(), [["a", "b"], ("c",)], np.zeros(size, dtype=np.int32)
    for call in (table.add, table.find, lambda tokens, ids: _native.hash_tokens(tokens, 4, ids)):
        with pytest.raises(ValueError, match=r"ids must have (shape|at least)"):
            call(tokens, ids)
    assert table.size == 0
    with pytest.raises(ValueError, match="each token must be a list or a tuple"):
        table.add([{"a"}], ids)


def test_the_core_refuses_strings_that_a_table_does_not_have():
    table = _native.StringTable()
    table.add([["a"]], np.zeros(1, dtype=np.int32))
    for bad in (-1, 1):
        with pytest.raises(ValueError, match=r"StringTable.selected: ids"):
            table.selected(np.array([bad]))
    with pytest.raises(ValueError, match=r"StringTable.ends: out must have shape"):
        table.ends(np.zeros(2, dtype=np.int64))
    with pytest.raises(ValueError, match="n_bits must be between 1 and 30"):
        _native.hash_tokens([["a"]], 31, np.zeros(1, dtype=np.int32))
