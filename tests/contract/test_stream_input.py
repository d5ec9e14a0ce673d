"""What a stream refuses, and what it says then."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from onkel.data import Stream, drifting
from onkel.errors import InputError, KindError, ParameterError, ShapeError

X, Y = np.ones((4, 2)), [0, 1, 0, 1]


def refused(error, message):
    return pytest.raises(error, match=message)


def test_arrays_that_do_not_fit_are_refused():
    with refused(ShapeError, r"Stream: y must give a label per row of X, shape \(4,\); got shape \(3,\)"):
        Stream(X, Y[:3])
    with refused(ShapeError, r"got shape \(4, 1\)\. Use y\.ravel\(\)"):
        Stream(X, np.ones((4, 1)))
    with refused(
        ShapeError,
        r"Stream: X must have shape \(rows, columns\); got shape \(4,\)\. For one feature write X\[:, None\]",
    ):
        Stream(np.ones(4), Y)
    with refused(ShapeError, r"got shape \(4, 2, 2\)"):
        Stream(np.ones((4, 2, 2)), Y)
    flat = sp.coo_array(np.ones(4))
    if flat.ndim == 1:  # older SciPy makes a row of it
        with refused(ShapeError, r"X must have two dimensions"):
            Stream(flat, Y)
    with refused(ShapeError, "all vectors of a stream must have the same length; got 1, 2"):
        Stream([[1.0, 2.0], [1.0]], [0, 1])
    with refused(KindError, r"X must be rows: an array, .* got generator\. For an iterable of pairs write Stream\.of"):
        Stream((x for x in X), Y)
    with refused(KindError, r"X must be rows: .* got str"):
        Stream("abcd", Y)
    with refused(KindError, "y must be of one kind, all numbers or all strings; got both"):
        Stream(X, [0, "one", 0, 1])


@pytest.mark.parametrize("empty", [[], np.empty((0, 2)), sp.csr_array((0, 2))], ids=lambda e: type(e).__name__)
def test_no_rows_are_refused(empty):
    with refused(ShapeError, "X must have at least one row; got none"):
        Stream(empty, [])


def test_what_is_no_iterable_of_pairs_is_refused():
    with refused(
        KindError,
        r"Stream\.of: pairs must be an iterable of pairs \(x, y\) or a function .* got int\. .* Stream\(X, y\)",
    ):
        Stream.of(3)
    with refused(KindError, "got ndarray"):
        Stream.of(X)
    with refused(KindError, "got int"):
        iter(Stream.of(lambda: 3))
    with refused(InputError, r"pairs must give at least one of pairs \(x, y\); got an empty list"):
        Stream.of([])
    with refused(KindError, r"each example must be a pair \(x, y\); got \(1, 2, 3\)\."):
        list(Stream.of([(1, 2, 3)]))
    with refused(KindError, r"each example must be a pair \(x, y\); got 5\."):
        next(Stream.of(iter([5])).chunks(2))


def test_examples_that_do_not_fit_together_are_refused():
    with refused(ShapeError, "all vectors of a stream must have the same length; got 1, 2"):
        list(Stream.of([(np.ones(2), 0), (np.ones(1), 1)]).chunks(2))
    with refused(ShapeError, "got 2, no vector"):
        list(Stream.of([(np.ones(2), 0), ("a word", 1)]).chunks(2))
    with refused(ShapeError, r"the labels must be one for each example; got shape \(2, 2\)"):
        list(Stream.of([("a", [0, 1]), ("b", [0, 1])]).chunks(2))
    with refused(ShapeError, "the labels must be one for each example"):
        list(Stream.of([("a", [0, 1]), ("b", [0])]).chunks(2))
    with refused(KindError, "the labels must be of one kind"):
        list(Stream.of([("a", 0), ("b", "one")]).chunks(2))


def test_batches_that_do_not_fit_are_refused():
    with refused(ShapeError, r"Stream\.of_chunks: y must give a label per row of X, shape \(4,\); got \(3,\)"):
        list(Stream.of_chunks([(X, Y[:3])]))
    with refused(KindError, r"each batch must be a pair \(X, y\); got an array"):
        list(Stream.of_chunks([X]))
    with refused(ShapeError, "all batches must have the same columns"):
        list(Stream.of_chunks([(X, Y), (np.ones((4, 3)), Y)]).chunks(8))
    with refused(ParameterError, "length must be a whole number >= 1; got 0"):
        Stream.of_chunks([(X, Y)], length=0)


@pytest.mark.parametrize("read", [iter, lambda stream: stream.chunks(2), lambda stream: iter(stream.take(1))])
def test_an_iterator_is_not_read_twice(read):
    for stream in (Stream.of(zip(X, Y, strict=True)), Stream.of_chunks(iter([(X, Y)]))):
        next(read(stream))
        with refused(
            InputError, r"was an iterator, which can be read once, and it has been\. Give a list, or a function"
        ):
            read(stream)


def test_what_needs_all_the_data_says_so():
    with refused(KindError, r"Stream\.shuffled needs all the data, as in Stream\(X, y\)"):
        Stream.of([("a", 1)]).shuffled()
    with refused(KindError, "known only at its end"):
        len(Stream.of(iter([("a", 1)])))


@pytest.mark.parametrize(
    ("size", "error"), [(0, ParameterError), (-1, ParameterError), (2.5, KindError), ("all", KindError)]
)
def test_sizes_are_whole_and_positive(size, error):
    with refused(error, r"Stream\.chunks: size must be a whole number >= 1; got"):
        Stream(X, Y).chunks(size)
    with refused(error, r"Stream\.take: n must be a whole number >= 1; got"):
        Stream(X, Y).take(size)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "n must be a whole number >= 1"),
        ({"d": 1}, "d must be a whole number >= 2"),
        ({"noise": -0.1}, "noise must be a finite number >= 0"),
        ({"noise": 0.5}, "noise must be below 0.5, where labels are mere chance"),
        ({"turns": np.nan}, "turns must be a finite number"),
        ({"drifts": [5, 5]}, r"drifts must ascend; got \[5, 5\]"),
        ({"drifts": [-5]}, "each of drifts must be a whole number >= 0"),
    ],
)
def test_a_mill_that_cannot_be_is_refused(options, message):
    with refused(ParameterError, message):
        drifting(**({"n": 10} | options))
