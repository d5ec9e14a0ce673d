"""The index of features that are strings ≡ a dict that numbers strings as they come."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onkel.errors import InputError, KindError, ValuesError
from onkel.text.string_features import StringFeatures

# few letters make equal strings, long ones share their beginnings, some are not ASCII
texts = st.one_of(st.text("ab", max_size=3), st.text("aé€😀\0", max_size=5), st.integers(0, 40).map(lambda n: "w" * n))
sentences = st.lists(st.lists(st.lists(texts, max_size=40), min_size=1, max_size=3), min_size=1, max_size=4)


def flat(sequences: list[list[list[str]]]) -> list[str]:
    return list(itertools.chain.from_iterable(itertools.chain.from_iterable(sequences)))


def same(one: StringFeatures, other: StringFeatures) -> bool:
    return one.names() == other.names() and one.n_bits == other.n_bits


@given(sentences, sentences)
def test_strings_are_numbered_as_a_dict_numbers_them(first, second):
    index, ids = StringFeatures(), {}
    for sequences in (first, second):
        expected = [ids.setdefault(text, len(ids)) for text in flat(sequences)]
        found = index.add(sequences)
        assert found.ids.tolist() == expected
        assert np.diff(found.indptr).tolist() == [len(token) for sentence in sequences for token in sentence]
    assert index.names() == list(ids)
    assert index.n_features == len(ids)


@given(sentences, sentences)
def test_unknown_strings_are_left_out_and_finding_changes_nothing(known, others):
    index = StringFeatures()
    index.add(known)
    before = index.names()
    found = index.find(others)
    assert found.ids.tolist() == [before.index(text) for text in flat(others) if text in before]
    assert index.names() == before


@given(sentences, sentences)
def test_copies_and_states_are_the_same_index_and_independent(first, second):
    index = StringFeatures()
    index.add(first)
    before = index.names()
    twins = [
        index.copy(),
        copy.deepcopy(index),
        pickle.loads(pickle.dumps(index)),
        StringFeatures.from_state(index.state()),
    ]
    expected = [twin.add(second).ids.tolist() for twin in twins]
    assert index.names() == before
    assert expected == [index.add(second).ids.tolist()] * len(twins)
    assert all(same(twin, index) for twin in twins)


@given(sentences, st.randoms(use_true_random=False))
def test_a_selection_has_its_strings_in_its_order(sequences, random):
    index = StringFeatures()
    index.add(sequences)
    keep = random.sample(range(index.n_features), k=index.n_features // 2)
    part = index.selected(np.array(keep, dtype=np.int64))
    assert part.names() == [index.names()[i] for i in keep]


def test_thousands_of_strings_keep_their_numbers():
    index, names = StringFeatures(), [f"feature {i}" for i in range(20_000)]
    assert index.add([[names[:9999]], [names]]).ids.tolist() == [*range(9999), *range(20_000)]
    assert index.find([[names[::-7]]]).ids.tolist() == list(range(20_000))[::-7]


@pytest.mark.parametrize("token", [["new", 3], ["new", None], ["new", b"x"], 7, "word"])
def test_a_refused_token_leaves_the_index_as_it_was(token):
    index = StringFeatures()
    index.add([[["a"], ["b"]]])
    with pytest.raises(KindError, match=r"sequences\[1\]\[0\]"):
        index.add([[["c", "a"]], [token]])
    assert index.names() == ["a", "b"]
    assert index.add([[["c", "b"]]]).ids.tolist() == [2, 1]


def test_a_string_that_utf8_cannot_encode_is_refused():
    index = StringFeatures()
    with pytest.raises(ValuesError, match="UTF-8"):
        index.add([[["a", "\ud800"]]])
    assert index.n_features == 0


def test_tokens_may_be_any_collection_of_strings():
    lists = StringFeatures().add([[["a", "b"], ["c"]]])
    for tokens in ([("a", "b"), ("c",)], [{"a": True, "b": True}, {"c": True}], [dict.fromkeys("ab", 1).keys(), ["c"]]):
        assert StringFeatures().add([tokens]).ids.tolist() == lists.ids.tolist()


@given(sentences)
def test_hashes_do_not_depend_on_what_came_before(sequences):
    index = StringFeatures(n_bits=5)
    found = index.add(sequences).ids
    assert found.tolist() == StringFeatures(n_bits=5).find(sequences).ids.tolist()
    assert ((found >= 0) & (found < 32)).all()
    assert len({(text, int(i)) for text, i in zip(flat(sequences), found, strict=True)}) == len(set(flat(sequences)))


def test_hashes_are_the_same_on_every_machine():
    strings = ["w=the", "é", "", "a long string of more than sixteen bytes"]
    assert StringFeatures(n_bits=20).find([[strings]]).ids.tolist() == [slow_hash(s) % 2**20 for s in strings]


def slow_hash(text: str) -> int:
    """The hash of cpp/sequence/strings.h."""
    factor, most = 0x9E3779B97F4A7C15, 2**64 - 1
    h = 0x2545F4914F6CDD1D
    for byte in text.encode():
        h = ((h ^ byte) * factor & most) ^ (h >> 47)
    h = (h ^ (h >> 32)) * factor & most
    return h ^ (h >> 29)


@pytest.mark.parametrize(
    "change",
    [
        {"ends": np.array([1, 3], dtype=np.int64)},  # beyond the bytes, or before their end
        {"ends": np.array([2, 1], dtype=np.int64)},
        {"ends": np.array([-1, 2], dtype=np.int64)},
        {"ends": np.array([1, 2], dtype=np.int32)},
        {"names": np.array([97, 97], dtype=np.uint8)},  # twice the same
        {"names": np.array([97, 0xFF], dtype=np.uint8)},  # not UTF-8
        {"names": np.array([0xC3, 0xA9], dtype=np.uint8)},  # é, divided
        {"names": np.array([97.0, 98.0])},
    ],
)
def test_a_state_that_holds_no_strings_is_refused(change):
    index = StringFeatures()
    index.add([[["a", "b"]]])
    state = index.state()
    with pytest.raises(InputError):
        StringFeatures.from_state(dataclasses.replace(state, arrays={**state.arrays, **change}))
