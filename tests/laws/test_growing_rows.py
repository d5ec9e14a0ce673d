"""Rows that grow: products with them are those with the same rows made anew, whatever was cached in between."""

from __future__ import annotations

import numpy as np
import pytest
from strategies import EVERY_VECTOR_KERNEL

from onkel._core import _native
from onkel._core.transaction import Transaction
from onkel.kernels import RBF, Cosine, Linear
from onkel.kernels.tiles import fill
from onkel.kernels.vectors import RIGHTS, GrowingRows, VectorRows


def values(kernel, x, rows):
    out = np.empty((len(x), len(rows)), dtype=rows.dtype)
    fill(kernel, x, rows, out)
    return out


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", EVERY_VECTOR_KERNEL, ids=repr)
def test_cached_right_hand_sides_follow_rows_that_are_appended_and_overwritten(kernel, dtype):
    rng = np.random.default_rng(0)
    x, new = VectorRows(rng.random((4, 9)).astype(dtype)), rng.random((80, 9)).astype(dtype)
    rows, kept = GrowingRows(9, np.dtype(dtype)), new[:0]
    for i, s in enumerate(new):
        place = i // 3 if i % 3 == 2 else len(kept)  # every third row replaces another one
        kept = np.concatenate([kept[:place], s[None], kept[place + 1 :]])
        with Transaction() as change:
            rows.put(np.array([place]), VectorRows(s[None]), change)
        np.testing.assert_array_equal(values(kernel, x, rows), values(kernel, x, VectorRows(kept.copy())))


@pytest.mark.parametrize("kernel", [RBF(gamma=0.5), Linear(), Cosine()], ids=repr)
def test_a_single_row_keeps_the_right_hand_sides_and_more_rows_drop_them(kernel):
    x = np.random.default_rng(0).random((40, 12))
    rows = GrowingRows(12, x.dtype, 64)

    def put(first, last):
        with Transaction() as change:
            rows.append(VectorRows(x[first:last]), change)

    put(0, 3)
    values(kernel, VectorRows(x), rows)
    (right,) = (v for v in rows._kept.values() if isinstance(v, RIGHTS))
    put(3, 4)
    assert right in rows._kept.values()
    put(4, 6)
    assert not any(isinstance(v, RIGHTS) for v in rows._kept.values())


@pytest.mark.parametrize("wrong", ["place", "features", "dtype", "no right-hand side"])
def test_a_row_that_does_not_fit_a_right_hand_side_is_refused_and_nothing_is_changed(wrong):
    x = np.random.default_rng(0).random((3, 5))
    rows = VectorRows(x)
    values(RBF(gamma=0.5), rows, rows)
    (right,) = (v for v in rows._kept.values() if isinstance(v, RIGHTS))
    row = np.ones((1, 4 if wrong == "features" else 5), dtype=np.float32 if wrong == "dtype" else np.float64)
    given = (rows if wrong == "no right-hand side" else right, 10**6 if wrong == "place" else 2, row)
    target = {"a": 1}
    with pytest.raises(ValueError, match="right-hand side"):
        _native.commit([(target, {"a": 2})], [], [], [given])
    assert target == {"a": 1}
