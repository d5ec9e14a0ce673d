"""Novelty detection follows the convention of scikit-learn's outlier detectors."""

from __future__ import annotations

import numpy as np
import pytest
from contract.registered import DETECTORS, ONLINE
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from onkel.kernels import RBF


@pytest.mark.parametrize("cls", DETECTORS)
def test_novelty_follows_the_convention_of_scikit_learns_outlier_detectors(cls):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    options = {"nu": 0.1} | ({"random_state": 0} if cls in ONLINE else {})
    machine = cls(kernel=RBF(gamma=0.5), **options)
    labels = machine.fit_predict(X)
    np.testing.assert_array_equal(labels, machine.predict(X))
    assert labels.dtype.kind == "i"
    assert set(labels) == {-1, 1}
    assert (labels == -1).mean() < 0.3
    np.testing.assert_array_equal(machine.decision_function(X), machine.score_samples(X) - machine.offset_)
    np.testing.assert_array_equal(labels, np.where(machine.decision_function(X) >= 0, 1, -1))
    assert machine.predict([[9.0, 9.0]]).tolist() == [-1]
    assert machine.score_samples([[0.0, 0.0]]) > machine.score_samples([[9.0, 9.0]])
    if cls in ONLINE:
        assert isinstance(machine.offset_, float)
        assert machine.predict_one([9.0, 9.0]) == -1
        assert machine.predict_one([0.0, 0.0]) == 1
    ignored = cls(kernel=RBF(gamma=0.5), **options).fit(X, np.arange(400))
    np.testing.assert_array_equal(ignored.decision_function(X), machine.decision_function(X))
    pipe = make_pipeline(StandardScaler(), cls(**options)).fit(X)
    assert set(pipe.predict(X)) == {-1, 1}
