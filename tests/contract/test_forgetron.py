"""The Forgetron takes points with k(x, x) ≤ 1 only, and refuses others however they come."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from contract.registered import new, shown, state

from onkel import Forgetron
from onkel.errors import ValuesError
from onkel.kernels import RBF, Custom, Linear, Polynomial

LONG = r"Forgetron needs a kernel with k\(x, x\) <= 1; got 4\. Use kernel\.normalized\(\).*, or RBF"


@pytest.mark.parametrize("kernel", [Linear(), "linear"])
@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_the_forgetron_refuses_points_that_are_too_long_however_they_come(kernel, convert):
    short, y = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.6, 0.8]]), np.array([0, 1, 1, 0])
    bad = short.copy()
    bad[2] *= 2.0
    for learn in ("fit", "partial_fit"):
        fresh = new(Forgetron, kernel=kernel)
        with pytest.raises(ValuesError, match=LONG):
            getattr(fresh, learn)(convert(bad), y)
        assert vars(fresh) == vars(new(Forgetron, kernel=kernel))
    fresh = new(Forgetron, kernel=kernel)
    with pytest.raises(ValuesError, match=LONG):
        fresh.learn_one(bad[2], 0)
    assert vars(fresh) == vars(new(Forgetron, kernel=kernel))
    machine = new(Forgetron, kernel=kernel).fit(convert(short), y)
    visible, before = shown(machine, short), state(machine)
    for call in (
        lambda: machine.fit(convert(bad), y),
        lambda: machine.partial_fit(convert(bad), y),
        lambda: machine.learn_one(bad[2], 0),
        lambda: machine.learn_one(bad[2].tolist(), 1),
        lambda: machine.learn_one(sp.csr_array(bad[[2]]), 1),
    ):
        with pytest.raises(ValuesError, match=LONG):
            call()
        assert shown(machine, short) == visible
        assert state(machine) == before
    assert machine.predict(bad).shape == (4,)  # to be told about them costs nothing


def test_the_forgetron_looks_at_the_kernel_that_it_will_have():
    X, y = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]]), [0, 1, 1]
    options = {"kernel": "poly", "degree": 1, "coef0": 0.0}
    Forgetron(gamma=0.4, **options).fit(X, y)  # k(x, x) = 0.8
    with pytest.raises(ValuesError, match=r"got 6\."):
        Forgetron(gamma=3.0, **options).fit(X, y)
    machine = Forgetron(RBF()).fit(X, y)
    with pytest.raises(ValuesError, match=r"got 27\."):
        machine.set_params(kernel=Polynomial(degree=3)).fit(X, y)
    machine.set_params(kernel=Polynomial(degree=3).normalized()).fit(X, y)
    words = Custom(lambda a, b: 2.0 * (a == b), pairwise=True, takes="objects", psd=True)
    with pytest.raises(ValuesError, match=r"got 2\."):
        Forgetron(words).fit(["a", "b"], y[:2])
