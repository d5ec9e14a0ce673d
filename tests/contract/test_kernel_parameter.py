"""What `kernel` and `gamma` may be: names, functions, kernel objects, numbers, and words for numbers."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from contract.registered import ONLINE_WITH_KERNEL, RIDGES, WITH_KERNEL, data, each_with_kernel, new, rings, scores
from pairwise import pairwise

from onkel import KernelPerceptron
from onkel.errors import KindError, ParameterError
from onkel.kernels import RBF, Custom, Laplacian, Linear, Polynomial

SQUARE = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0], [3.0, 4.0]])
BLOBS = data(KernelPerceptron, apart=5.0)
GAMMAS = [
    # entries 0 0 3 0 0 4 3 4: mean 14/8 = 1.75, mean square 50/8 = 6.25, variance 6.25 − 3.0625 = 3.1875
    ("scale", 1.0 / (2 * 3.1875)),
    ("auto", 0.5),
    # squared distances of the six pairs 9 16 25 25 16 9, in order 9 9 16 16 25 25
    ("median", 1.0 / 16.0),
    (0.3, 0.3),
]


@pytest.mark.parametrize(("cls", "case", "convert"), pairwise(WITH_KERNEL, GAMMAS, [np.asarray, sp.csr_array]))
def test_gamma_is_what_it_says(cls, case, convert):
    gamma, number = case
    machine = cls(kernel="rbf", gamma=gamma).fit(convert(SQUARE), [0, 1, 1, 0])
    assert machine.gamma_ == pytest.approx(number, rel=1e-12)
    assert machine.kernel_ == RBF(gamma=machine.gamma_)
    assert machine.gamma == gamma


def test_scale_is_that_of_scikit_learn():
    from sklearn.svm import SVC

    machine = KernelPerceptron().fit(*BLOBS)
    assert machine.gamma_ == pytest.approx(SVC().fit(*BLOBS)._gamma, rel=1e-12)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_points_that_are_all_equal_have_a_gamma_too(convert):
    X = convert(np.zeros((4, 2)))
    for gamma in ("scale", "median"):
        with pytest.warns(sklearn.exceptions.ConvergenceWarning, match="equal to another row"):
            machine = KernelPerceptron(gamma=gamma).fit(X, [0, 1, 0, 1])
        assert machine.gamma_ == 1.0


def test_repeated_rows_do_not_count_in_the_median_however_they_round():
    rng = np.random.default_rng(0)
    two = 1e3 + rng.normal(size=(2, 7))
    X = np.repeat(two, 10, axis=0)  # 90 of 190 pairs are equal points; the other 100 are all equally far
    machine = KernelPerceptron(gamma="median").fit(X, [0] * 10 + [1] * 10)
    assert machine.gamma_ == pytest.approx(1.0 / np.square(two[0] - two[1]).sum(), rel=1e-6)


@pytest.mark.parametrize("gamma", ["scale", "auto", "median"])
@pytest.mark.parametrize("cls", ONLINE_WITH_KERNEL)
def test_gamma_is_resolved_by_the_first_call_that_brings_data_and_kept(cls, gamma):
    X, y = data(cls)
    machine = new(cls, kernel="rbf", gamma=gamma).partial_fit(X, y)
    first = machine.gamma_
    assert machine.kernel_ == RBF(gamma=first)
    assert new(cls, kernel="rbf", gamma=gamma).fit(X, y).gamma_ == first
    machine.partial_fit(100.0 * X, y).learn_one(7.0 * X[0], None if y is None else y[0])
    assert (machine.gamma_, machine.kernel_) == (first, RBF(gamma=first))
    assert machine.fit(100.0 * X, y).gamma_ < first / 100 or gamma == "auto"


BAD_GAMMAS = [
    ("big", ParameterError, "gamma must be a number > 0 or one of scale, auto, median; got 'big'"),
    (0.0, ParameterError, "gamma must be a finite number > 0; got 0.0"),
    (-1.0, ParameterError, "gamma must be a finite number > 0; got -1.0"),
    (np.nan, ParameterError, "gamma must be a finite number > 0; got nan"),
    (None, KindError, "gamma must be a finite number > 0; got None"),
]


@each_with_kernel
def test_a_gamma_that_is_none_is_refused(cls):
    for gamma, error, message in BAD_GAMMAS:
        if gamma is None and cls in RIDGES:  # whose default it is, as in scikit-learn
            continue
        with pytest.raises(error, match=message):
            cls(kernel="rbf", gamma=gamma).fit(*data(cls))


@pytest.mark.parametrize("given", [{"degree": 3.0}, {"degree": np.int64(3)}, {"coef0": 1}, {"coef0": np.float32(1.0)}])
def test_a_default_that_is_written_as_another_kind_of_number_is_still_the_default(given):
    assert KernelPerceptron(RBF(), **given).fit(*BLOBS).kernel_ == RBF()


@each_with_kernel
def test_a_function_is_a_kernel(cls):
    X, y = data(cls)
    X = X / 10.0  # a Forgetron wants k(x, x) ≤ 1

    def square(A, B):
        return (A @ B.T + 0.5) ** 2

    by_function = new(cls, kernel=square).fit(X, y)
    by_name = new(cls, kernel="poly", degree=2, gamma=1.0, coef0=0.5).fit(X, y)
    assert by_function.kernel_ == Custom(square)
    np.testing.assert_array_equal(by_function.support_, by_name.support_)
    np.testing.assert_allclose(scores(by_function, X), scores(by_name, X), rtol=1e-9, atol=1e-9)


def test_a_function_makes_the_mistakes_of_the_kernel_that_it_computes():
    X, y = rings()

    def square(A, B):
        return (A @ B.T + 1.0) ** 2

    by_function = KernelPerceptron(square, random_state=0).fit(X, y)
    by_name = KernelPerceptron("poly", degree=2, gamma=1.0, coef0=1.0, random_state=0).fit(X, y)
    np.testing.assert_array_equal(by_function.mistakes_, by_name.mistakes_)


NAMED = [
    ("linear", Linear()),
    ("poly", Polynomial(degree=2, gamma=0.5, coef0=3.0)),
    ("rbf", RBF(gamma=0.5)),
    ("laplacian", Laplacian(gamma=0.5)),
]


@each_with_kernel
def test_a_name_means_the_kernel_of_that_name_with_these_parameters(cls):
    X, y = data(cls)
    for name, kernel in NAMED:
        machine = new(cls, kernel=name, gamma=0.5, degree=2, coef0=3.0)
        if kernel.diag(X).max() > 1 and cls.__name__ == "Forgetron":
            continue  # it refuses such points (test_forgetron.py)
        assert machine.fit(X, y).kernel_ == kernel


@each_with_kernel
def test_other_names_and_things_are_no_kernels(cls):
    X, y = data(cls)
    with pytest.raises(
        ParameterError, match=r"kernel must be one of 'linear', 'poly', 'polynomial', 'rbf'.*; got 'gauss'"
    ):
        cls(kernel="gauss").fit(X, y)
    with pytest.raises(KindError, match=r"kernel must be a name such as 'rbf', a function or a Kernel; got 3"):
        cls(kernel=3.0).fit(X, y)
