"""The online support vector machine against LIBSVM's figures."""

from __future__ import annotations

import numpy as np
import pytest
from data_sets import require

from onkel import OnlineSVC
from onkel.kernels import RBF

# a9a, C = 1, gamma = 0.05: the objective of LIBSVM's solution, with 11617 support vectors, and its test accuracy
OBJECTIVE, ACCURACY = -10725.851, 0.8509


@pytest.mark.parametrize("storage", [pytest.param("dense", marks=pytest.mark.long), "csr"])
def test_one_pass_over_a9a_comes_close_to_the_batch_machine(storage):
    data = require("a9a")
    X, X_test = (
        data[name].astype(np.float32) if storage == "csr" else data[name].toarray().astype(np.float32)
        for name in ("X_train", "X_test")
    )
    machine = OnlineSVC(RBF(gamma=0.05), C=1.0, random_state=0).fit(X, data["y_train"])
    assert machine.score(X_test, data["y_test"]) == pytest.approx(ACCURACY, abs=0.003)
    assert machine.objective_[0] == pytest.approx(OBJECTIVE, rel=0.01)
    assert machine.objective_[0] >= OBJECTIVE - 0.01
    assert 10_500 < len(machine.support_) < 12_000
    assert machine.dual_gap_[0] < 1.0
