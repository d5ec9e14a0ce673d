"""What a newcomer does with a stream: watch learners follow a drift, stop and resume, and let one run for ever."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from onkel import (
    BudgetPerceptron,
    Forgetron,
    NormaClassifier,
    PassiveAggressiveClassifier,
    Perceptron,
    Projectron,
    evaluate,
    progressive_validation,
)
from onkel.data import drifting

MILLION, CHUNK = 1_000_000, 4000

FOLLOWERS = {
    "Forgetron": lambda: Forgetron(gamma=2.0, budget=100),
    "BudgetPerceptron": lambda: BudgetPerceptron(gamma=2.0, budget=100, random_state=0),
    "Projectron": lambda: Projectron(gamma=2.0, eta=0.1, budget=100),
    "PassiveAggressiveClassifier": lambda: PassiveAggressiveClassifier(gamma=2.0, budget=100),
    "NormaClassifier": lambda: NormaClassifier(gamma=2.0, budget=100),
}


def resident() -> int:
    """Bytes of this process that are in memory now."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) * 1024


@pytest.fixture(scope="module")
def mill():
    """It jumps in the middle."""
    return drifting(8000, drifts=[4000], noise=0.05, random_state=0)


def test_several_learners_follow_a_drift_that_no_line_can(mill):
    errors = {}
    for name, make in FOLLOWERS.items():
        records = list(progressive_validation(make(), mill, "f1", chunk=50, every=500, window=500))
        before, jump, end = records[7], records[8], records[-1]
        assert [r.examples for r in (before, jump, end)] == [4000, 4500, 8000]
        assert before.window_error < 0.25
        assert jump.window_error > before.window_error + 0.03, "what was learned before the jump is wrong after it"
        assert end.window_error < 0.25, f"{name} did not recover"
        assert end.support <= 100
        assert end.metrics["f1"] == pytest.approx(1 - end.error, abs=0.02)  # the classes are equally likely
        errors[name] = end.error
    *_, line = progressive_validation(Perceptron(), mill, chunk=50)
    assert line.error > 0.45
    assert max(errors.values()) < line.error - 0.2
    assert evaluate.baselines(mill).no_change > 0.45


@pytest.mark.parametrize("name", FOLLOWERS)
def test_after_a_crash_a_learner_goes_on_from_its_checkpoint_as_if_nothing_had_happened(name, mill):
    chunks = list(mill.take(3000).chunks(100))
    straight = FOLLOWERS[name]()
    for X, y in chunks:
        straight.partial_fit(X, y)

    machine, checkpoints = FOLLOWERS[name](), {}

    def run_until_unplugged():
        for number, (X, y) in enumerate(chunks):
            if number == 17:
                raise OSError("unplugged")
            machine.partial_fit(X, y)
            if number % 5 == 4:
                checkpoints[number + 1] = machine.snapshot()

    with pytest.raises(OSError, match="unplugged"):
        run_until_unplugged()
    learned, checkpoint = max(checkpoints.items())
    assert learned == 15  # two chunks were learned after it, and are lost with the machine
    machine = FOLLOWERS[name]().resume(checkpoint)
    for X, y in chunks[learned:]:
        machine.partial_fit(X, y)

    points = chunks[0][0]
    assert machine.n_mistakes_ == straight.n_mistakes_
    assert machine.support_.tolist() == straight.support_.tolist()
    assert machine.dual_coef_.tobytes() == straight.dual_coef_.tobytes()
    assert machine.decision_function(points).tobytes() == straight.decision_function(points).tobytes()
    assert FOLLOWERS[name]().resume(checkpoint).n_rounds_ == 1500  # the checkpoint itself has not moved


def test_one_by_one_with_names_that_come_and_go():
    machine = Forgetron(gamma=1.0, budget=20)
    for t in range(200):
        x = {"temperature": float(t % 2), "wind": 0.1} if t < 100 else {"temperature": float(t % 2), "rain": 0.2}
        machine.learn_one(x, "warm" if t % 2 else "cold")
    assert machine.predict_one({"temperature": 1.0}) == "warm"
    assert machine.predict_one({"temperature": 0.0, "fog": 9.0}) == "cold"  # fog was never learned from


def test_a_million_examples_take_no_more_memory_than_the_first():
    machine = Forgetron(gamma=2.0, budget=100)
    stream = drifting(MILLION, drifts=[MILLION // 2], turns=1.0, noise=0.05, random_state=0)
    held, process, has_status = {}, {}, Path("/proc/self/status").exists()
    for seen, (X, y) in enumerate(stream.chunks(CHUNK), start=1):
        machine.partial_fit(X, y, classes=[0, 1])
        if seen * CHUNK in (100_000, MILLION):
            machine.predict(X)
            held[seen * CHUNK] = evaluate.memory(machine)
            process[seen * CHUNK] = resident() if has_status else 0
    assert machine.n_rounds_ == MILLION
    assert len(machine.support_) == 100
    assert len(machine.mistakes_) <= 1000 < machine.n_mistakes_
    assert held[MILLION] == held[100_000], "the learner itself has grown"
    assert process[MILLION] - process[100_000] < 4_000_000, "the process has grown"


@pytest.mark.parametrize("name", FOLLOWERS)
def test_every_learner_gives_back_what_it_takes(name):
    machine = FOLLOWERS[name]()
    chunks = list(drifting(40_000, turns=1.0, noise=0.05, random_state=0).chunks(1000))
    for X, y in chunks[:20]:
        machine.partial_fit(X, y, classes=[0, 1])
    assert np.isfinite(machine.dual_coef_).all()
    own = evaluate.memory(machine)
    tracemalloc.start()  # counts what Python and NumPy allocate from here on, and have not given back
    try:
        for X, y in chunks[20:]:
            machine.partial_fit(X, y)
        left, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert np.isfinite(machine.dual_coef_).all()
    assert evaluate.memory(machine) <= own * 1.02 + 1000
    assert left < 1.2 * own + 200_000
