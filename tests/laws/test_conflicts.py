"""Equal rows with different labels are found as by comparing all pairs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from strategies import as_csr, seeds

from onkel.bounds.equal_rows import conflicts
from onkel.kernels import Custom, Linear, Precomputed, prepare

kinds = pytest.mark.parametrize("kind", ["dense", "CSR", "float32", "CSR float32"])
OBJECTS = Custom(lambda a, b: float(a == b), pairwise=True, takes="objects")


def by_all_pairs(X, y):
    """(first, i) for each i whose first equal row, by ==, has another label."""
    found = []
    for i in range(len(X)):
        first = next(j for j in range(i + 1) if np.all(X[j] == X[i]))
        if y[first] != y[i]:
            found.append([first, i])
    return found


def as_kind(X, kind):
    X = X.astype(np.float32) if "float32" in kind else X
    return as_csr(X) if "CSR" in kind else X


@kinds
@given(seed=seeds, n=st.integers(1, 40), d=st.integers(1, 12), top=st.integers(1, 3), classes=st.integers(1, 4))
def test_conflicts_are_those_of_all_pairs(kind, seed, n, d, top, classes):
    rng = np.random.default_rng(seed)
    X = rng.integers(-top, top + 1, size=(n, d)) * (rng.random((n, d)) < rng.random()) * 1.0
    X[rng.random(n) < 0.3] = X[0]
    y = np.array(["no", "yes", "perhaps", "never"])[rng.integers(0, classes, n)]
    assert conflicts(prepare(Linear(), as_kind(X, kind)), y).tolist() == by_all_pairs(X, y)


@given(seed=seeds, n=st.integers(1, 30), classes=st.integers(1, 3))
def test_conflicts_of_objects_and_of_gram_rows_are_those_of_all_pairs_too(seed, n, classes):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(-1, 2, size=(n, 2)), rng.integers(0, classes, n)
    expected = by_all_pairs(X, y)
    assert conflicts(prepare(OBJECTS, [tuple(x) for x in X.tolist()]), y).tolist() == expected
    K = (X[:, None, :] == X).all(axis=2).astype(float)  # its rows are equal where the points are
    assert conflicts(prepare(Precomputed(), K, itself=True), y).tolist() == expected


def test_zeros_are_equal_with_either_sign_and_stored_or_not():
    dense = np.array([[0.0, 1.0, 0.0], [-0.0, 1.0, -0.0], [0.0, -1.0, 0.0]])
    assert conflicts(prepare(Linear(), dense), np.array([0, 1, 1])).tolist() == [[0, 1]]
    data, indices, indptr = [1.0, 0.0, 1.0, -0.0, 0.0], [1, 0, 1, 2, 1], [0, 1, 4, 5, 5]
    sparse = sp.csr_array((data, indices, indptr), shape=(4, 3))  # 010, 010, 000, 000
    assert conflicts(prepare(Linear(), sparse), np.array([0, 1, 0, 1])).tolist() == [[0, 1], [2, 3]]
    assert sparse.nnz == 5  # the caller's stays as it was


def test_rows_of_one_length_are_not_yet_equal():
    X = np.array([[3.0, 4.0], [4.0, 3.0], [5.0, 0.0], [3.0, -4.0], [4.0, 3.0]])
    for rows in (X, sp.csr_array(X)):
        assert conflicts(prepare(Linear(), rows), np.array([0, 1, 1, 1, 0])).tolist() == [[1, 4]]


def test_objects_without_a_hash_are_passed_over():
    objects = ["a", {1}, "a", {1}, ["b"], ["b"]]
    assert conflicts(prepare(OBJECTS, objects), np.array([0, 1, 1, 0, 0, 1])).tolist() == [[0, 2]]


def test_only_rows_that_are_as_long_as_one_with_another_label_are_looked_at():
    class Watched(np.ndarray):
        def __getitem__(self, index):
            looked_at.append(index)
            return np.asarray(self)[index]

    looked_at = []
    X = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0], [0.0, 2.0], [0.0, 2.0], [3.0, 3.0]])
    rows = prepare(Linear(), X)
    rows.squared_norms()
    rows._dense = X.view(Watched)
    assert conflicts(rows, np.array([0, 0, 0, 1, 0, 1])).tolist() == [[3, 4]]
    assert looked_at == [2, 3, 4]
