"""Reading while another thread learns: every reader sees a whole state, soon."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from contract.registered import ONLINE, in_small_parts, new, scores

import onkel
from onkel._core import Lock

SECONDS = 0.1  # for which a thread learns


def stream(n=3000):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


def beside(learn, read):
    """Calls `read` again and again while `learn` does so in another thread; returns what went wrong in either."""
    errors, done = [], threading.Event()

    def learning():
        end = time.monotonic() + SECONDS
        try:
            while time.monotonic() < end:
                learn()
        except Exception as error:
            errors.append(error)
        finally:
            done.set()

    thread = threading.Thread(target=learning)
    thread.start()
    try:
        while not done.is_set():
            read()
    except Exception as error:
        errors.append(error)
    finally:
        thread.join()
    return errors


@pytest.mark.parametrize("how", ["learn_one", "partial_fit"])
@pytest.mark.parametrize("cls", ONLINE)
def test_a_reader_beside_a_learning_thread_sees_a_whole_state(cls, how):
    (X, y), at = stream(), 0
    estimator = new(cls).partial_fit(X[:50], y[:50])

    def learn():
        nonlocal at
        at = (at + 40) % 2900
        if how == "learn_one":
            for i in range(at, at + 40):
                estimator.learn_one(X[i], int(y[i]))
        else:
            estimator.partial_fit(X[at : at + 40], y[at : at + 40])

    def read():
        for x in X[:5]:
            estimator.predict_one(x)
        estimator.predict(X[:20])
        if hasattr(estimator, "decision_function"):
            assert np.isfinite(estimator.decision_function(X[:20])).all()
        model = estimator.model_
        np.testing.assert_array_equal(model.predict(X[:20]), model.predict(X[:20]))
        estimator.snapshot()
        twin = pickle.loads(pickle.dumps(estimator))
        assert twin.n_rounds_ == copy.deepcopy(twin).n_rounds_

    assert beside(learn, read) == []


@pytest.mark.parametrize("cls", ONLINE)
def test_what_a_reader_sees_is_the_state_after_some_number_of_examples(cls):
    X, y = stream(400)
    estimator, seen = new(cls).partial_fit(X[:50], y[:50]), []
    at = 50

    def learn():
        nonlocal at
        if at < 400:
            estimator.learn_one(X[at], int(y[at]))
            at += 1

    assert beside(learn, lambda: seen.append(estimator.snapshot()) if len(seen) < 30 else None) == []
    again = new(cls).partial_fit(X[:50], y[:50])
    states = {again.n_rounds_: again.snapshot()}
    for x, label in zip(X[50:], y[50:], strict=True):
        again.learn_one(x, int(label))
        states[again.n_rounds_] = again.snapshot()
    for state in seen:
        rounds = new(cls).resume(state).n_rounds_
        assert state == states[rounds]


@pytest.mark.parametrize("cls", ONLINE)
def test_a_reader_between_two_parts_of_sparse_dicts_takes_no_feature_from_those_to_come(cls, monkeypatch):
    in_small_parts(monkeypatch, 3)
    rng = np.random.default_rng(0)
    dicts = [{f"w{k}": 1.0 + k % 3 for k in rng.integers(0, 300, 5)} for _ in range(300)]
    y = [i % 2 for i in range(300)]
    alone, estimator = (new(cls).partial_fit(dicts[:20], y[:20]) for _ in range(2))
    alone.partial_fit(dicts[20:], y[20:])
    thread = threading.Thread(target=lambda: estimator.partial_fit(dicts[20:], y[20:]))
    thread.start()
    while thread.is_alive():
        estimator.predict(dicts[:3])
    np.testing.assert_array_equal(estimator.feature_names_in_, alone.feature_names_in_)
    np.testing.assert_allclose(scores(estimator, dicts), scores(alone, dicts), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("cls", [onkel.Forgetron, onkel.PassiveAggressiveClassifier])
def test_a_reader_beside_cold_fits_sees_one_of_them(cls):
    X, y = stream(400)
    three = np.arange(400) % 3
    estimator, at = new(cls).fit(X, y), 0

    def learn():
        nonlocal at
        at += 1
        estimator.fit(X, three if at % 2 else y)

    def read():
        model = estimator.model_
        assert model.scores(X[:3]).shape[1] in (1, 3)
        estimator.predict_one(X[0])

    assert beside(learn, read) == []


def test_the_lock_is_given_in_the_order_in_which_threads_ask():
    lock, order, waiting = Lock(), [], []
    with lock:
        for k in range(5):
            started = threading.Event()

            def wait(k=k, started=started):
                started.set()
                with lock:
                    order.append(k)

            waiting.append(threading.Thread(target=wait))
            waiting[-1].start()
            started.wait()
            time.sleep(0.01)
    for thread in waiting:
        thread.join()
    assert order == [0, 1, 2, 3, 4]


def test_a_reader_is_not_overtaken_by_a_thread_that_takes_the_lock_again_and_again():
    lock, done, turns = Lock(), threading.Event(), 0

    def busy():
        nonlocal turns
        while not done.is_set():
            with lock:
                turns += 1
                time.sleep(0.002)

    thread = threading.Thread(target=busy)
    thread.start()
    while turns < 3:
        time.sleep(0.001)
    before = turns
    with lock:
        waited = turns - before
    done.set()
    thread.join()
    assert waited <= 2


def test_the_lock_can_be_entered_again_and_left_only_by_its_owner():
    lock = Lock()
    with lock, lock:
        pass
    with pytest.raises(RuntimeError, match="has entered"):
        lock.__exit__(None, None, None)
    twin = pickle.loads(pickle.dumps(lock))
    with lock, twin:
        pass


FORKED = """
import os, signal, sys, threading, time, warnings
from onkel._core import Lock

warnings.simplefilter("ignore")
lock, held, done, who = Lock(), threading.Event(), threading.Event(), sys.argv[1]

def use(times=300):
    for _ in range(times):
        with lock:
            time.sleep(0)

def hold():
    with lock:
        held.set()
        done.wait()

def fork():
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    try:
        signal.alarm(20)  # ends a child that waits for ever
        threads = [threading.Thread(target=use) for _ in range(3)]
        for thread in threads:  # the first one may get the id of a thread that the parent has
            thread.start()
        use()
        if who == "itself":  # what this thread entered before it forked is still its own
            time.sleep(0.1)
            assert all(thread.is_alive() for thread in threads)
            lock.__exit__(None, None, None)
        for thread in threads:
            thread.join()
        os._exit(0)
    finally:
        os._exit(1)

if who == "itself":
    with lock:
        code = fork()
else:
    threads = [threading.Thread(target=hold)]
    threads[0].start()
    held.wait()
    if who == "others waiting":
        threads += [threading.Thread(target=use, args=(1,)) for _ in range(3)]
        for thread in threads[1:]:
            thread.start()
        time.sleep(0.1)
    if who == "a handler, while this thread waits":
        def fork_here(*_):
            global child
            child = os.fork()
            done.set()
            if not child:
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(20)
        signal.signal(signal.SIGALRM, fork_here)
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with lock:
            pass
        if not child:
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    else:
        code = fork()
        done.set()
    for thread in threads:
        thread.join()
print(code)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.parametrize("who", ["itself", "another", "others waiting", "a handler, while this thread waits"])
def test_threads_of_a_forked_process_wait_for_no_thread_that_it_does_not_have(who):
    for _ in range(3):
        found = subprocess.run([sys.executable, "-c", FORKED, who], capture_output=True, text=True, timeout=100)
        assert (found.stdout.strip(), found.stderr) == ("0", "")
