"""SVC, SVR and OneClassSVM against the tests that scikit-learn has for its own.

`sklearn/svm/tests/test_svm.py` and `test_sparse.py`, as the installed scikit-learn ships them, are read, pointed
at onkel's classes and run here. Three things are changed, all of them in the copies that this file makes:

- `svm.SVC`, `svm.SVR` and `svm.OneClassSVM` are onkel's; NuSVC, LinearSVC and the others stay scikit-learn's;
- the argument `probability`, which onkel does not have, is left out of every call, and where a test then asks for
  `predict_proba` it gets `decision_function`: dense and sparse rows must agree on that one instead;
- `_gamma`, private there, is the public `gamma_` here.

Tests that are not run are listed in `LEFT_OUT`, with the reason.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
import types
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import sklearn
import sklearn.svm

import onkel

# scikit-learn lets its own tests warn, of fits that were stopped and of numbers that are too large.
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning"),
]

VERSION = tuple(int(part) for part in sklearn.__version__.split(".")[:2])
OURS = ("SVC", "SVR", "OneClassSVM")
RENAMED = {"predict_proba": "decision_function", "_gamma": "gamma_"}

ANOTHER_ESTIMATOR = "has no SVC, SVR or OneClassSVM in it"
PROBABILITY = "of probability=True, which onkel does not have"
PRIVATE = "sets a private attribute of LIBSVM's wrapper"
UNCHECKED = "wants fit to take a kernel function that gives a matrix of the wrong shape, as LIBSVM's wrapper does"
ALL_ROWS = "its kernel function is right only for k(X, X), which LIBSVM's wrapper asks for to predict, too"
REFUSED = "wants the words of LIBSVM's wrapper after the fit; onkel refuses values without a finite variance before it"
LEFT_OUT = {
    "test_svm": {
        "test_linearsvr_fit_sampleweight": ANOTHER_ESTIMATOR,
        "test_linearsvc_parameters": ANOTHER_ESTIMATOR,
        "test_linearsvc": ANOTHER_ESTIMATOR,
        "test_linearsvc_crammer_singer": ANOTHER_ESTIMATOR,
        "test_linearsvc_fit_sampleweight": ANOTHER_ESTIMATOR,
        "test_crammer_singer_binary": ANOTHER_ESTIMATOR,
        "test_linearsvc_iris": ANOTHER_ESTIMATOR,
        "test_dense_liblinear_intercept_handling": ANOTHER_ESTIMATOR,
        "test_liblinear_set_coef": ANOTHER_ESTIMATOR,
        "test_linearsvc_verbose": ANOTHER_ESTIMATOR,
        "test_linear_svm_convergence_warnings": ANOTHER_ESTIMATOR,
        "test_lsvc_intercept_scaling_zero": ANOTHER_ESTIMATOR,
        "test_linearsvm_liblinear_sample_weight": ANOTHER_ESTIMATOR,
        "test_dual_auto": ANOTHER_ESTIMATOR,
        "test_dual_auto_edge_cases": ANOTHER_ESTIMATOR,
        "test_probability": PROBABILITY,
        "test_hasattr_predict_proba": PROBABILITY,
        "test_tweak_params": PRIVATE,
        "test_svc_raises_error_internal_representation": PRIVATE,
        "test_svr_errors": UNCHECKED,
        "test_svc_nonfinite_params": REFUSED,
        "test_custom_kernel_not_array_input": ALL_ROWS,
    },
    "test_sparse": {
        "test_linearsvc": ANOTHER_ESTIMATOR,
        "test_linearsvc_iris": ANOTHER_ESTIMATOR,
        "test_sparse_liblinear_intercept_handling": ANOTHER_ESTIMATOR,
    },
}
if VERSION >= (1, 9):
    LEFT_OUT["test_svm"] |= {
        "test_probability_raises_futurewarning": PROBABILITY,
        "test_svc_nusvc_probA_probB_deprecated": PROBABILITY,
    }
# How many of scikit-learn's test functions run here: a suite that shrinks would pass unseen.
RUN = {(1, 6): (39, 13), (1, 9): (38, 13)}


class Pointed(ast.NodeTransformer):
    """Leaves `probability=…` out of calls, and takes the public name for a private one."""

    def visit_keyword(self, node: ast.keyword) -> ast.keyword | None:
        self.generic_visit(node)
        return None if node.arg == "probability" else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.Attribute:
        self.generic_visit(node)
        node.attr = RENAMED.get(node.attr, node.attr)
        return node


def copy_of(module: types.ModuleType, **changes: object) -> types.ModuleType:
    copy = types.ModuleType(module.__name__)
    vars(copy).update(vars(module) | changes)
    return copy


def pointed_at_onkel(name: str, beside: dict[str, types.ModuleType]) -> types.ModuleType:
    """A module of scikit-learn's tests in which `sklearn.svm` is a copy with onkel's classes.

    Only while its top level runs does the copy stand in the place of `sklearn.svm`, for the imports to find.
    """
    spec = importlib.util.find_spec(f"sklearn.svm.tests.{name}")
    assert spec is not None, "this scikit-learn comes without its tests"
    path = Path(str(spec.origin))
    tree = ast.fix_missing_locations(Pointed().visit(ast.parse(path.read_text(encoding="utf-8"))))
    svm = copy_of(sklearn.svm, **{ours: getattr(onkel, ours) for ours in OURS})
    tests = copy_of(sys.modules["sklearn.svm.tests"], **beside)
    module = types.ModuleType(f"onkel_runs_{name}")
    with (
        mock.patch.dict(sys.modules, {"sklearn.svm": svm, "sklearn.svm.tests": tests}),
        mock.patch.object(sklearn, "svm", svm),
    ):
        exec(compile(tree, str(path), "exec"), vars(module))
    return module


def functions_of(module: types.ModuleType) -> dict[str, object]:
    return {name: test for name, test in vars(module).items() if name.startswith("test_") and callable(test)}


DENSE = pointed_at_onkel("test_svm", {})
SPARSE = pointed_at_onkel("test_sparse", {"test_svm": DENSE})
SUITES = {"test_svm": functions_of(DENSE), "test_sparse": functions_of(SPARSE)}

# pytest finds them by these names, and their marks with them.
globals().update(
    {
        f"{suite}_py_{name.removeprefix('test_')}": function
        for suite, found in SUITES.items()
        for name, function in found.items()
        if name not in LEFT_OUT[suite]
    }
)


@pytest.fixture
def global_random_seed() -> int:
    """As in scikit-learn's conftest.py, where it is not told otherwise."""
    return 42


def test_every_test_that_is_left_out_is_one_of_scikit_learn():
    for suite, names in LEFT_OUT.items():
        assert names.keys() <= SUITES[suite].keys()


def test_as_many_of_its_tests_run_as_scikit_learn_has():
    if VERSION not in RUN:
        pytest.skip(f"the tests of scikit-learn {sklearn.__version__} have not been counted")
    assert tuple(len(found) - len(LEFT_OUT[suite]) for suite, found in SUITES.items()) == RUN[VERSION]


def test_the_suite_has_the_classes_of_onkel_and_scikit_learn_has_its_own():
    for ours in OURS:
        theirs = getattr(sklearn.svm, ours)
        assert theirs.__module__.startswith("sklearn.")
        assert getattr(DENSE.svm, ours) is getattr(SPARSE.svm, ours) is getattr(onkel, ours) is not theirs
    assert DENSE.SVR is onkel.SVR
    assert DENSE.svm.NuSVC is sklearn.svm.NuSVC
    assert sys.modules["sklearn.svm"] is sklearn.svm


# ---------------------------------------------------------------- in place of what is left out


@pytest.mark.parametrize("estimator", [onkel.SVC, onkel.SVR])
def test_fit_refuses_a_kernel_function_that_gives_a_matrix_of_the_wrong_shape(estimator):
    with pytest.raises(ValueError, match="shape"):
        estimator(kernel=lambda x, z: np.array([[1.0]])).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize("estimator", [onkel.SVC, onkel.SVR])
def test_a_kernel_function_on_strings_gives_the_machine_of_their_counts(estimator):
    """scikit-learn's test_custom_kernel_not_array_input, with a function that is right for any two sets of rows."""
    strings, y = ["A A", "A", "B", "B B", "A B"], [1, 1, 2, 2, 1]
    X = np.array([[string.count(letter) for letter in "AB"] for string in strings], dtype=float)

    def common(first, second):
        return np.array([[sum(a.count(letter) * b.count(letter) for letter in "AB") for b in second] for a in first])

    by_function = estimator(kernel=common).fit(strings, y)
    by_counts = estimator(kernel="linear").fit(X, y)
    np.testing.assert_allclose(by_function.dual_coef_, by_counts.dual_coef_)
    np.testing.assert_allclose(by_function.predict(strings), by_counts.predict(X))
    if estimator is onkel.SVC:
        np.testing.assert_allclose(by_function.decision_function(strings), by_counts.decision_function(X))
