"""Streams: chunks of any size are the same examples, and nothing is read before it is asked for."""

from __future__ import annotations

import itertools
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from onkel.data import Stream, drifting

SIZES = [1, 2, 3, 7, 20, 100]
X = np.random.default_rng(0).normal(size=(20, 3)) * (np.arange(60).reshape(20, 3) % 4 > 0)
Y = np.array(["b", "a", "c", "a", "b"] * 4)
WORDS = [f"w{i}" for i in range(20)]


def pairs():
    return zip(X, Y.tolist(), strict=True)


def blocks(*sizes, rows=X):
    """X and Y in batches of the given sizes."""
    ends = np.cumsum((0, *sizes))
    return [(rows[a:b], Y[a:b]) for a, b in itertools.pairwise(ends)]


def dense(X):
    """Rows of any kind as an array or a list."""
    return X.toarray() if sp.issparse(X) else X if isinstance(X, list) else np.asarray(X)


SOURCES = {
    "an array": lambda: Stream(X, Y),
    "float32": lambda: Stream(X.astype(np.float32), Y),
    "CSR": lambda: Stream(sp.csr_array(X), Y),
    "another sparse format": lambda: Stream(sp.coo_array(X), Y),
    "a list of rows": lambda: Stream(X.tolist(), Y.tolist()),
    "pandas": lambda: Stream(pd.DataFrame(X, index=range(40, 20, -1)), pd.Series(Y, index=range(40, 20, -1))),
    "polars": lambda: Stream(pl.DataFrame(X, schema=["a", "b", "c"]), pl.Series(Y)),
    "a list of pairs": lambda: Stream.of(list(pairs())),
    "an iterator": lambda: Stream.of(pairs()),
    "a function": lambda: Stream.of(pairs),
    "sparse pairs": lambda: Stream.of([(sp.csr_array(x[None]), y) for x, y in pairs()]),
    "lists as vectors": lambda: Stream.of([(x.tolist(), y) for x, y in pairs()]),
    "batches": lambda: Stream.of_chunks(blocks(5, 1, 9, 5)),
    "CSR batches": lambda: Stream.of_chunks(blocks(11, 9, rows=sp.csr_array(X)), length=20),
    "frames as batches": lambda: Stream.of_chunks(
        [(pd.DataFrame(X[a : a + 4]), Y[a : a + 4]) for a in (0, 4, 8, 12, 16)]
    ),
}
each_source = pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES.keys())


@each_source
@pytest.mark.parametrize("size", SIZES)
def test_chunks_of_any_size_are_the_examples_in_their_order(source, size):
    chunks = list(source().chunks(size))
    assert [len(y) for _, y in chunks] == [size] * (20 // size) + [20 % size] * (20 % size > 0)
    assert [dense(part).shape for part, _ in chunks] == [(len(y), 3) for _, y in chunks]
    np.testing.assert_allclose(np.concatenate([dense(part) for part, _ in chunks]), X, rtol=1e-7)
    assert np.concatenate([y for _, y in chunks]).tolist() == Y.tolist()


@each_source
def test_one_by_one_are_the_examples_in_their_order(source):
    singles = list(source())
    np.testing.assert_allclose(np.array([np.ravel(dense(x)) for x, _ in singles]), X, rtol=1e-7)
    assert [y for _, y in singles] == Y.tolist()
    assert {type(y) for _, y in singles} == {str}


@each_source
@pytest.mark.parametrize("n", [1, 6, 20, 50])
def test_a_part_is_the_first_examples(source, n):
    assert [y for _, y in source().take(n)] == Y.tolist()[:n]
    assert [len(y) for _, y in source().take(n).take(8).chunks(3)] == [3, 3, 3, 3][: min(n, 8) // 3] + [
        min(n, 8) % 3
    ] * (min(n, 8) % 3 > 0)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=12), st.integers(1, 25))
def test_batches_of_any_sizes_come_out_in_any_size(sizes, size):
    n = sum(sizes)
    numbers = np.arange(n)
    ends = np.cumsum([0, *sizes])
    made = [(numbers[a:b, None], numbers[a:b]) for a, b in itertools.pairwise(ends)]
    chunks = list(Stream.of_chunks(made).chunks(size))
    assert [len(y) for _, y in chunks] == [size] * (n // size) + [n % size] * (n % size > 0)
    assert [i for part, y in chunks for i in y] == numbers.tolist() == [i for part, _ in chunks for i in part[:, 0]]


@pytest.mark.parametrize("size", [1, 3])
def test_objects_stay_what_they_are(size):
    dicts = [{"a": i, str(i): 1.0} for i in range(20)]
    for things in (WORDS, dicts, [frozenset({w}) for w in WORDS], [(w, 1) for w in WORDS]):
        for stream in (Stream(things, Y), Stream.of(list(zip(things, Y, strict=True)))):
            assert [x for x, _ in stream] == things
            assert [x for part, _ in stream.chunks(size) for x in part] == things
            assert isinstance(next(stream.chunks(size))[0], list)
    assert [x for x, _ in Stream(np.array(WORDS), Y)] == [x for x, _ in Stream(pd.Series(WORDS), Y)] == WORDS


def test_frames_keep_their_names_in_chunks_and_are_vectors_one_by_one():
    for frame in (pd.DataFrame(X, columns=["a", "b", "c"]), pl.DataFrame(X, schema=["a", "b", "c"])):
        part, _ = next(Stream(frame, Y).chunks(4))
        assert type(part) is type(frame)
        assert list(part.columns) == ["a", "b", "c"]
        assert all(isinstance(x, np.ndarray) and x.shape == (3,) for x, _ in Stream(frame, Y))


def test_dtype_is_kept_and_nothing_is_copied():
    for dtype in (np.float32, np.float64, np.uint8):
        rows = X.astype(dtype)
        part, _ = next(Stream(rows, Y).chunks(5))
        assert part.dtype == dtype
        assert np.shares_memory(part, rows)
        assert all(np.shares_memory(x, rows) for x, _ in Stream(rows, Y))
        assert next(Stream.of(zip(rows, Y, strict=True)).chunks(5))[0].dtype == dtype


# ---------------------------------------------------------------- how far it is read


class Counted:
    """An iterator that says how often it was asked."""

    def __init__(self, things):
        self.things, self.asked = iter(things), 0

    def __iter__(self):
        return self

    def __next__(self):
        self.asked += 1
        return next(self.things)


@pytest.mark.parametrize("size", [1, 4, 8, 19])
def test_no_more_is_read_than_the_chunk_needs(size):
    source = Counted(pairs())
    chunks = Stream.of(source).chunks(size)
    assert source.asked == 0
    next(chunks)
    assert source.asked == size
    source = Counted(pairs())
    next(iter(Stream.of(source)))
    assert source.asked == 1
    source = Counted(blocks(8, 8, 4))
    chunks = Stream.of_chunks(source).chunks(size)
    next(chunks)
    assert source.asked == -(-size // 8)


def test_a_part_reads_no_further_than_itself():
    source = Counted(pairs())
    assert len(list(Stream.of(source).take(6).chunks(4))) == 2
    assert source.asked == 6
    source = Counted(blocks(8, 8, 4))
    assert len(list(Stream.of_chunks(source).take(8).chunks(3))) == 3
    assert source.asked == 1


def test_a_stream_without_end_can_be_begun():
    endless = Stream.of(((float(i), 1.0), i % 2) for i in itertools.count())
    assert [y.tolist() for _, y in itertools.islice(endless.chunks(3), 2)] == [[0, 1, 0], [1, 0, 1]]


def test_memory_does_not_grow_with_the_stream():
    def peak(n):
        rows = Stream.of((np.ones(50), i % 2) for i in range(n))
        tracemalloc.start()
        for _ in rows.chunks(64):
            pass
        for _ in drifting(n).chunks(100):
            pass
        top = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return top

    peak(10_000)  # what is made once
    assert peak(80_000) < 1.2 * peak(10_000)


# ---------------------------------------------------------------- again, and in another order


@pytest.mark.parametrize("name", [name for name in SOURCES if name != "an iterator"])
def test_what_can_be_read_again_gives_the_same_again(name):
    stream = SOURCES[name]()
    first = [y for _, y in stream]
    assert [y for _, y in stream] == first == [y for _, part in stream.chunks(6) for y in part]


def test_lengths_where_they_are_known():
    assert [len(Stream(X, Y)), len(Stream(WORDS, Y)), len(Stream(X, Y).take(7)), len(Stream(X, Y).take(70))] == [
        20,
        20,
        7,
        20,
    ]
    assert [
        len(Stream.of(list(pairs()))),
        len(Stream.of(list(pairs())).take(3)),
        len(Stream.of(list(pairs())).take(30)),
    ] == [20, 3, 20]
    assert [len(drifting(1234)), len(drifting(1234).take(9999))] == [1234, 1234]
    assert repr(Stream(X, Y)) == "Stream(20 examples)"
    assert repr(drifting(1234)) == "Stream.of_chunks(1234 examples)"
    stream = Stream.of(pairs())
    assert Stream.of(stream) is stream


@pytest.mark.parametrize(
    "rows", [X, sp.csr_array(X), X.tolist(), WORDS, pd.DataFrame(X)], ids=lambda r: type(r).__name__
)
def test_shuffled_is_a_permutation_that_keeps_rows_and_labels_together(rows):
    stream = Stream(rows, np.arange(20))
    shuffled = stream.shuffled(random_state=3)
    order = [y for _, y in shuffled]
    assert sorted(order) == list(range(20)) != order
    assert order == [y for _, y in shuffled] == [y for _, y in stream.shuffled(random_state=3)]
    assert order != [y for _, y in stream.shuffled(random_state=4)]
    singles = [x for x, _ in stream]
    for x, y in shuffled:
        np.testing.assert_array_equal(dense(x), dense(singles[y]))
    assert [y for _, y in shuffled.take(5)] == order[:5]
    again = [y for _, y in shuffled.shuffled(random_state=0)]
    assert sorted(again) == list(range(20)) != again
    assert [y for _, y in stream] == list(range(20))


# ---------------------------------------------------------------- the mill


def mill(X, theta):
    """The classes by the angle itself."""
    return np.sin(2 * (np.arctan2(X[:, 1], X[:, 0]) - theta)) > 0


@pytest.mark.parametrize("chunk", [100, 4096, 5000])
def test_the_mill_turns_and_jumps_as_it_says(chunk):
    n, drifts, turns = 10_000, [3000, 7500], 0.75
    parts = list(drifting(n, d=4, drifts=drifts, turns=turns, random_state=5).chunks(chunk))
    rows, y = np.concatenate([p for p, _ in parts]), np.concatenate([y for _, y in parts])
    assert rows.shape == (n, 4)
    t = np.arange(n)
    theta = 2 * np.pi * turns * t / n + np.pi / 4 * ((t >= 3000).astype(int) + (t >= 7500))
    np.testing.assert_array_equal(y, mill(rows, theta).astype(int))
    np.testing.assert_allclose(rows.mean(axis=0), 0, atol=5 / np.sqrt(n))
    np.testing.assert_allclose(np.cov(rows.T), np.eye(4), atol=5 * np.sqrt(2 / n))


def test_the_noise_of_the_mill_is_what_was_asked_for():
    n, noise = 20_000, 0.2
    (rows, y), *rest = drifting(n, noise=noise, random_state=0).chunks(n)
    assert rest == []
    wrong = (y != mill(rows, 0.0)).mean()
    assert abs(wrong - noise) < 5 * np.sqrt(noise * (1 - noise) / n)


def test_the_mill_is_the_same_at_every_reading_also_without_a_seed():
    stream = drifting(5000, noise=0.1)
    (a, ya), (b, yb) = next(stream.chunks(5000)), next(stream.chunks(5000))
    np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(ya, yb)
    np.testing.assert_array_equal(
        next(drifting(5000, random_state=1).chunks(9))[0], next(drifting(5000, random_state=1).chunks(9))[0]
    )
    assert (next(drifting(50, random_state=1).chunks(9))[0] != next(drifting(50, random_state=2).chunks(9))[0]).all()
