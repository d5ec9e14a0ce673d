"""PRank against figures computed independently of this package."""

from __future__ import annotations

import numpy as np
import pytest
from reference.prank_oracles import SlowPRank
from sklearn.datasets import load_diabetes

from onkel import PRank
from onkel.kernels import RBF, Linear


@pytest.mark.parametrize(("kernel", "error"), [("linear", 41.855), (RBF(gamma=100.0), 16.063)])
def test_the_mean_absolute_error_on_diabetes_is_that_of_an_independent_program(kernel, error):
    """Targets rounded to hundreds, ten passes in order. With RBF the run is chaotic: the figure is for float64."""
    X, y = load_diabetes(return_X_y=True)
    y = np.round(y, -2)
    ranker = PRank(kernel, max_iter=10, shuffle=False).fit(X, y)
    assert ranker.classes_.tolist() == [0, 100, 200, 300]
    assert np.mean(np.abs(ranker.predict(X) - y)) == pytest.approx(error, abs=5e-4)


@pytest.mark.parametrize("kernel", [Linear(), RBF(gamma=1.0)])
def test_a_pass_over_real_numbers_makes_the_updates_of_the_slow_twin(kernel):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 4))
    y = np.digitize(X[:, 0] + 0.3 * rng.standard_normal(300), [-1.0, 0.0, 1.0])
    ranker = PRank(kernel, max_iter=1, shuffle=False).fit(X, y)
    twin = SlowPRank(kernel(X), 4).run(y)
    assert ranker.mistakes_.tolist() == twin.ledger
    assert ranker.thresholds_.tolist() == twin.b[:-1]
