"""What a second thread sees of a support vector machine that is fitted anew: the old fit or the new, never a mixture.

A second thread may run between any two lines of the first. So its view is taken in front of every line.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from interruptions import between_lines, lines_of, spread

from onkel import SVC, SVR, OneClassSVM, OnlineSVC
from onkel._core.transaction import restore
from onkel.kernels import Linear
from onkel.solvers.svm import dual

METHODS = {
    SVC: ("predict", "decision_function"),
    SVR: ("predict",),
    OneClassSVM: ("predict", "decision_function", "score_samples"),
}
methods = pytest.mark.parametrize(("cls", "method"), [(cls, name) for cls in METHODS for name in METHODS[cls]])


def data(seed: int, classes: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = np.arange(40) % classes
    return rng.normal(size=(40, 3)) + 2.0 * y[:, None], y


def two_fits(cls: type) -> tuple[Any, Any]:
    """A fit to two classes, and one to other rows of three classes with another kernel and with weights."""
    first = cls(gamma=0.5).fit(*data(0, 2))
    return first, cls(kernel=Linear()).fit(*data(1, 3), np.linspace(0.5, 2.0, 40))


@pytest.mark.parametrize("cls", METHODS)
def test_a_new_fit_takes_the_place_of_the_old_one_at_once(cls):
    machine = cls(gamma=0.5).fit(*data(0, 2))
    before = {name: id(value) for name, value in vars(machine).items()}
    X, y = data(1, 3)
    seen = between_lines(
        lambda: machine.fit(X, y, np.linspace(0.5, 2.0, 40)),
        lambda _: {name: id(value) for name, value in vars(machine).items()},
    )
    after = {name: id(value) for name, value in vars(machine).items()}
    assert after != before
    assert before in seen
    assert all(one in (before, after) for one in seen)


@methods
def test_what_is_predicted_meanwhile_is_of_one_fit(cls, method):
    old, new = two_fits(cls)
    X = data(2, 3)[0]
    expected = [getattr(machine, method)(X) for machine in (old, new)]
    state, results, machine = dict(vars(new)), [], old._view()
    for k in spread(lines_of(lambda: getattr(old, method)(X)), 40):
        restore(machine, dict(vars(old)))
        between_lines(
            lambda: results.append(getattr(machine, method)(X)),
            lambda line, k=k: restore(machine, state) if line == k else None,
        )
    for found in results:
        assert any(found.shape == one.shape and (found == one).all() for one in expected)


def test_a_failed_fit_leaves_the_old_one():
    machine = SVC(gamma=0.5).fit(*data(0, 2))
    before = dict(vars(machine))
    with pytest.raises(ValueError, match="number of classes"):
        machine.fit(data(1, 3)[0], np.zeros(40))
    assert vars(machine) == before or all(vars(machine)[name] is value for name, value in before.items())


def test_a_megabyte_of_cache_is_the_same_for_all(monkeypatch):
    """2²⁰ bytes, as in scikit-learn."""
    given, solve = [], dual.solve

    def noted(*arguments, **options):
        given.append(options["cache_bytes"])
        return solve(*arguments, **options)

    monkeypatch.setattr(dual, "solve", noted)
    X, y = data(0, 2)
    SVC(cache_size=3).fit(X, y)
    SVR(cache_size=3).fit(X, y)
    OneClassSVM(cache_size=3).fit(X)
    assert given == [3 << 20] * 3
    assert OnlineSVC(cache_size=3).fit(X, y)._running.learner.cache.limit == 3 << 20
