"""Input validation of kernels: what the error says, and that the input is not changed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from onkel.errors import GramError, InputError, KindError, OnkelError, ParameterError, ShapeError, ValuesError
from onkel.kernels import (
    RBF,
    Chi2,
    Constant,
    Custom,
    HistogramIntersection,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    RationalQuadratic,
    Sigmoid,
    expand,
)

X = np.arange(6.0).reshape(3, 2)
WITH_NAN, WITH_INF = X.copy(), X.copy()
WITH_NAN[1, 0], WITH_INF[2, 1] = np.nan, -np.inf

CALLS = [
    (lambda: RBF()(X[0]), ShapeError, r"X must have shape \(rows, columns\); got shape \(2,\). For one sample"),
    (lambda: RBF()(5.0), ShapeError, r"got shape \(\)"),
    (lambda: RBF()(np.empty((0, 2))), ShapeError, "at least one row"),
    (lambda: RBF()(sp.csr_array((0, 2))), ShapeError, "at least one row"),
    (lambda: RBF()(np.empty((2, 0))), ShapeError, "at least one column"),
    (lambda: RBF()([[1.0, 2.0], [3.0]]), ShapeError, "all rows of one length"),
    (lambda: RBF()(WITH_NAN), ValuesError, r"X must be finite; got 1 NaN .*, the first a NaN at row 1, column 0"),
    (lambda: RBF()(X, WITH_INF), ValuesError, "Z must be finite.*infinity at row 2, column 1"),
    (lambda: RBF()(sp.csr_array(WITH_NAN)), ValuesError, "must be finite"),
    (lambda: RBF()(X + 1j), KindError, "real numbers; got dtype complex128. Take the real part"),
    (lambda: RBF()([["a", "b"]]), KindError, "Encode it as numbers"),
    (lambda: RBF()(np.array([[{}, 1.0]], dtype=object)), KindError, "Encode it as numbers"),
    (lambda: RBF()(X, X[:, :1]), ShapeError, "same number of columns; got 2 and 1"),
    (lambda: RBF().on([0, 2])(X), ShapeError, r"on\(\[0, 2\]\) needs 3 columns; got 2"),
    (lambda: Chi2()(X - 1), ValuesError, "Chi2 compares histograms: X must have no negative value; got -1"),
    (lambda: HistogramIntersection()(X, X - 1), ValuesError, "Z must have no negative value"),
    (lambda: (RBF() + Chi2()).normalized()(sp.csr_array(X - 1)), ValuesError, "no negative value"),
    (lambda: RBF(gamma=0.0), ParameterError, "RBF: gamma must be a finite number > 0; got 0.0"),
    (lambda: RBF(gamma=np.nan), ParameterError, "gamma must be a finite number"),
    (lambda: RBF(gamma="scale"), KindError, "gamma must be a finite number > 0; got 'scale'"),
    (lambda: RBF(gamma=True), KindError, "gamma must be"),
    (lambda: RBF.from_sigma(-1), ParameterError, "sigma must be a finite number > 0"),
    (lambda: Laplacian(gamma=-1.0), ParameterError, "Laplacian: gamma"),
    (lambda: Polynomial(degree=0), ParameterError, "Polynomial: degree must be a finite number > 0"),
    (lambda: Polynomial(coef0=np.inf), ParameterError, "Polynomial: coef0"),
    (lambda: Sigmoid(gamma=None), KindError, "Sigmoid: gamma"),
    (lambda: Matern(nu=-1), ParameterError, "Matern: nu must be a number > 0"),
    (lambda: Matern(length_scale=0), ParameterError, "Matern: length_scale"),
    (lambda: RationalQuadratic(alpha=0), ParameterError, "RationalQuadratic: alpha"),
    (lambda: Constant("1"), KindError, "Constant: value"),
    (lambda: RBF() ** 0.5, KindError, "exponent must be a whole number >= 1; got 0.5. A fractional power"),
    (lambda: RBF() ** 0, ParameterError, "exponent must be a whole number >= 1"),
    (lambda: np.inf * RBF(), ParameterError, "factor must be a finite number"),
    (lambda: RBF() + "1", TypeError, "unsupported operand"),
    (lambda: RBF().on([0, 0]), ParameterError, "each once"),
    (lambda: RBF().on([]), ParameterError, "at least one column"),
    (lambda: RBF().on("ab"), KindError, "sequence of column numbers"),
    (lambda: RBF().on([-1]), ParameterError, "each column must be a whole number >= 0"),
    (lambda: Precomputed().on([0]), KindError, "needs a kernel on vectors"),
    (lambda: RBF() + Precomputed(), KindError, "parts that take the same input"),
    (lambda: RBF().scaled(lambda r: r)(X), ShapeError, r"one number per row, shape \(3,\); got \(3, 2\)"),
    (lambda: RBF().scaled(lambda r: r[:, 0] / 0)(X), ValuesError, r"f\(X\) must be finite"),
    (lambda: RBF().after(lambda r: r[:1])(X), ShapeError, "a row per row, 3"),
    (lambda: Precomputed().scaled(np.sum)(np.eye(2)), KindError, "precomputed Gram matrix has none"),
    (lambda: Precomputed()(X), ShapeError, r"X must be square; got shape \(3, 2\)"),
    (lambda: Precomputed()(X, [5]), ShapeError, "columns 0 to 1 of X"),
    (lambda: Precomputed()(X, [0.5]), KindError, "numbers of the wanted columns"),
    (lambda: Precomputed()(sp.csr_array(np.eye(3))), KindError, "must be dense"),
    (lambda: Precomputed().normalized()(X, [0]), ShapeError, "known only of a square Gram matrix"),
    (lambda: Custom("rbf"), KindError, "fn must be a function"),
    (lambda: Custom(len, takes="gram"), KindError, 'takes must be "vectors" or "objects"'),
    (lambda: Custom(lambda A, B: A)(X), ShapeError, r"must give an array of shape \(3, 3\); got \(3, 2\)"),
    (lambda: Custom(lambda A, B: np.full((3, 3), np.nan))(X), ValuesError, "finite values"),
    (lambda: Custom(len, takes="objects")("abc"), KindError, "sequence of objects; got str"),
    (lambda: Custom(len, takes="objects")([]), ShapeError, "at least one object"),
    (lambda: RBF().with_params(degree=2), ParameterError, "RBF has no parameter 'degree'; it has gamma"),
    (lambda: (RBF() + Linear()).with_params(k3__gamma=1.0), ParameterError, "has no parameter 'k3'"),
    (lambda: (2 * RBF()).with_params(kernel="rbf"), KindError, "needs kernels such as RBF"),
    (lambda: (RBF() + Linear()).with_params(kernels=3), KindError, "must be a tuple of kernels; got 3"),
    (lambda: Sigmoid(coef0=-9.0).normalized()(X), GramError, r"needs k\(x, x\) >= 0.*gives -1"),
    (lambda: expand(RBF(), X, X, [1.0]), ShapeError, r"A must have shape \(3,\) or \(3, outputs\).*got \(1,\)"),
    (lambda: expand(RBF(), X, X, [1.0, np.nan, 0.0]), ValuesError, "A must be finite.*position 1"),
    (lambda: expand(RBF(), X, X, ["a", "b", "c"]), KindError, "A must hold real numbers"),
    (lambda: expand(RBF(), X, X, np.ones(3), out=np.zeros(2)), ShapeError, r"out must be a C-contiguous float64"),
    (lambda: expand(RBF(), X, X, np.ones(3), out=np.zeros(3, dtype=np.float32)), ShapeError, "got float32"),
    (lambda: expand(RBF(), X, X, np.ones(3), out=[0, 0, 0]), ShapeError, "got list"),
    (lambda: expand(RBF(), X, X, np.ones(3), tile=(0, 1)), ParameterError, "tile must be a whole number >= 1"),
]


@pytest.mark.parametrize(("call", "error", "message"), CALLS, ids=[c[2][:40] for c in CALLS])
@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning", "ignore:invalid value:RuntimeWarning")
def test_bad_input_is_refused_with_expected_got_and_advice(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_the_errors_are_one_tree_that_is_also_pythons_own():
    assert issubclass(ShapeError, InputError)
    assert issubclass(InputError, (OnkelError, ValueError))
    assert issubclass(KindError, (OnkelError, TypeError))


def test_a_refused_expand_leaves_the_kept_scores_alone():
    kept = np.ones(3)
    with pytest.raises(ValuesError):
        expand(RBF(), WITH_NAN, X, np.ones(3), out=kept)
    np.testing.assert_array_equal(kept, 1.0)


def test_kernels_are_frozen():
    with pytest.raises(AttributeError):
        RBF().gamma = 2.0


def test_integers_booleans_lists_and_frames_become_float64():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    expected = Linear()(X)
    frames = (X.astype(int), X.tolist(), pd.DataFrame(X), pl.DataFrame(X), np.asfortranarray(X), X.astype(">f8"))
    for data in (*frames, sp.coo_array(X), sp.csc_matrix(X)):
        K = Linear()(data)
        assert K.dtype == np.float64
        np.testing.assert_array_equal(K, expected)
    ones = X.astype(bool).astype(float)
    np.testing.assert_array_equal(Linear()(X.astype(bool)), ones @ ones.T)
    assert Linear()(X.astype(np.float16)).dtype == np.float64
    assert Linear()(X.astype(np.float32), X).dtype == np.float64


def test_csr_with_duplicates_and_unsorted_indices_is_read_right_and_left_alone():
    messy = sp.csr_array((np.array([1.0, 2.0, 5.0, 4.0]), np.array([1, 1, 2, 0]), np.array([0, 2, 4])), shape=(2, 3))
    before = messy.copy()
    np.testing.assert_array_equal(Linear()(messy), [[9.0, 0.0], [0.0, 41.0]])
    np.testing.assert_array_equal(messy.indices, before.indices)
    np.testing.assert_array_equal(messy.data, before.data)
