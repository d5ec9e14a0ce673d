"""Reduced models of public data: they stay accurate where the RKHS error is still large."""

from __future__ import annotations

import numpy as np
from data_sets import require

from onkel import SVC, KernelPerceptron


def a9a(n):
    data = require("a9a")
    X, T = (data[name].astype(np.float32) for name in ("X_train", "X_test"))
    return X[:n], data["y_train"][:n], T, data["y_test"]


# An own sketch (NumPy, whole Gram matrices) kept 99 % of the accuracy of a machine of 3006 support vectors with 20.
def test_50_vectors_keep_99_percent_of_the_accuracy_of_a_machine_on_a9a():
    X, y, T, expected = a9a(8000)
    model = SVC(C=1.0, gamma=0.05).fit(X, y).model_
    small = model.reduced(50)
    whole, reduced = ((m.predict(T) == expected).mean() for m in (model, small))
    assert len(model.row_ids) > 2500
    assert len(small.row_ids) == 50
    assert reduced >= 0.99 * whole
    assert 0.01 < small.rkhs_error[0] < 1


def test_50_vectors_keep_99_percent_of_the_accuracy_of_a_perceptron_on_a9a():
    X, y, T, expected = a9a(8000)
    model = KernelPerceptron("rbf", gamma=0.05, max_iter=1, random_state=0).fit(X, y).model_
    whole, reduced = ((m.predict(T) == expected).mean() for m in (model, model.reduced(50)))
    assert reduced >= 0.99 * whole
