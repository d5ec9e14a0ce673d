"""scikit-learn's and LIBSVM's support vector outputs behind one interface, with one layout of their results."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn.svm
from libsvm import svmutil
from threadpoolctl import ThreadpoolController

from onkel.kernels import RBF, Kernel, Polynomial, Sigmoid

POOLS = ThreadpoolController()


def with_int32(X: Any) -> Any:
    """Neither peer takes sparse rows with 64-bit indices."""
    if sp.issparse(X):
        return sp.csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)
    return X


def scikit_learn(kind: str, kernel: Kernel, X: Any, y: Any, *, tol: float, weights: Any = None, **options: Any) -> Any:
    machine = getattr(sklearn.svm, kind)(**named(kernel), tol=tol, cache_size=500, **options)
    if kind == "SVC":
        machine.set_params(decision_function_shape="ovo")
    machine.fit(with_int32(X), y, sample_weight=weights)
    if weights is not None:  # its support_ counts rows of positive weight only
        machine.support_ = np.flatnonzero(weights > 0)[machine.support_].astype(np.int32)
        np.testing.assert_array_equal(X[machine.support_], machine.support_vectors_)
    return machine


def libsvm(kind: str, kernel: Kernel, X: Any, y: Any, *, tol: float, **options: Any) -> Any:
    """LIBSVM's own Python module, its model laid out as scikit-learn does: classes sorted, of two the second is +1."""
    order = np.argsort(y, kind="stable") if kind == "SVC" else np.arange(X.shape[0])
    C, nu, epsilon = options.get("C", 1.0), options.get("nu", 0.5), options.get("epsilon", 0.1)
    flags = f"-q -s {KINDS[kind]} -e {tol} -m 500 -c {C} -n {nu} -p {epsilon} {flags_of(kernel)}"
    flags += "".join(f" -w{label} {weight}" for label, weight in options.get("class_weight", {}).items())
    targets = np.zeros(X.shape[0]) if kind == "OneClassSVM" else np.asarray(y, dtype=np.float64)[order]
    with POOLS.limit(limits=1, user_api="openmp"):  # on a busy machine LIBSVM's threads wait for each other
        model = svmutil.svm_train(targets, with_int32(X[order]), flags)
    terms, flip = np.array(model.get_sv_coef()).reshape(model.l, max(1, model.nr_class - 1)).T, 1.0
    found = SimpleNamespace(support_=order[np.array(model.get_sv_indices(), dtype=int) - 1])
    if kind == "SVC":
        labels = np.array(model.get_labels())  # sorted, but for ±1, of which it always takes 1 first
        by_class = np.argsort(labels)
        found.classes_ = labels[by_class]
        found.n_support_ = np.array([model.nSV[i] for i in by_class])
        if len(labels) == 2:
            flip = -1.0 if labels[0] < labels[1] else 1.0  # LIBSVM's first is +1
            in_order = np.argsort(y[found.support_], kind="stable")
            found.support_, terms = found.support_[in_order], terms[:, in_order]
    elif kind == "OneClassSVM":
        found.offset_ = None
    found.dual_coef_ = flip * terms
    found.intercept_ = -flip * np.array([model.rho[i] for i in range(max(1, len(terms) * (len(terms) + 1) // 2))])

    def values(T: Any) -> np.ndarray:
        with POOLS.limit(limits=1, user_api="openmp"):
            _, _, scores = svmutil.svm_predict(np.zeros(T.shape[0]), with_int32(T), model, "-q")
        return flip * np.array(scores)

    found.decision_function = values
    return found


KINDS = {"SVC": 0, "OneClassSVM": 2, "SVR": 3}
PEERS = {"scikit-learn": scikit_learn, "LIBSVM": libsvm}


def named(kernel: Kernel) -> dict[str, Any]:
    match kernel:
        case RBF():
            return {"kernel": "rbf", "gamma": kernel.gamma}
        case Polynomial():
            return {"kernel": "poly", "gamma": kernel.gamma, "degree": kernel.degree, "coef0": kernel.coef0}
        case Sigmoid():
            return {"kernel": "sigmoid", "gamma": kernel.gamma, "coef0": kernel.coef0}
    return {"kernel": "linear"}


def flags_of(kernel: Kernel) -> str:
    letters = {"kernel": "t", "gamma": "g", "degree": "d", "coef0": "r"}
    numbers = {"linear": 0, "poly": 1, "rbf": 2, "sigmoid": 3}
    return " ".join(f"-{letters[key]} {numbers.get(value, value)}" for key, value in named(kernel).items())
