"""The ledger of a run's updates, however they are entered, and the window of the last ones."""

from __future__ import annotations

import numpy as np
import pytest

from onkel._core.transaction import Transaction
from onkel.learners.ledger import LEDGER, Ledger, Window


@pytest.mark.parametrize("size", [3, 10, 50])
def test_a_window_is_the_end_of_the_ledger(size):
    rng, window, ledger, seen = np.random.default_rng(size), Window(size), Ledger(), 0
    for _ in range(100):
        steps = rng.choice([0.0, 0.0, 1.0, -1.0], (int(rng.integers(1, 40)), 2))
        rounds = seen + 1 + np.arange(len(steps))
        seen += len(steps)
        for kept in (window, ledger):
            with Transaction() as change:
                kept.add(steps, rounds, 10 * rounds, change)
        shown = window.entries
        assert len(window) == len(ledger)
        assert min(size, len(ledger)) - 1 <= len(shown) <= size  # a round's entries stay together
        np.testing.assert_array_equal(shown, ledger.entries[len(ledger) - len(shown) :])
        assert window._room.nbytes <= max(64, 2 * size, size + steps.size) * shown.itemsize


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("make", [Ledger, lambda: Window(10)], ids=["ledger", "window"])
def test_one_by_one_is_the_same_as_a_chunk_of_one(make, n_outputs):
    rng, alone, chunk = np.random.default_rng(n_outputs), make(), make()
    for round in range(1, 200):
        steps = rng.choice([0.0, 0.5, -1.0], (1, n_outputs))
        with Transaction() as change:
            alone.add_one(steps, round, 10 * round, change)
            chunk.add(steps, np.array([round]), np.array([10 * round]), change)
        assert len(alone) == len(chunk)
        np.testing.assert_array_equal(alone.entries, chunk.entries)


@pytest.mark.parametrize("make", [Ledger, lambda: Window(10)], ids=["ledger", "window"])
def test_what_a_pass_enters_counts_when_it_is_committed_and_not_before(make):
    rng, by_pass, by_python = np.random.default_rng(0), make(), make()
    for round in range(1, 60):
        made = int(rng.integers(0, 9))
        steps = np.zeros((9, 1))
        steps[:made] = rng.choice([0.5, -1.0], (made, 1))
        before, count = by_pass.entries.copy(), len(by_pass)
        for committed in (False, True):  # the first pass is dropped
            entries, n_entries = by_pass.room_for(9)
            for step in steps[:made, 0]:
                entries.view(LEDGER)[n_entries[0], 0] = (round, 7, 0, step if committed else 99.0)
                n_entries[0] += 1
            assert len(by_pass) == count
            np.testing.assert_array_equal(by_pass.entries, before)
            if committed:
                with Transaction() as change:
                    by_pass.extend_to(n_entries, change)
        with Transaction() as change:
            by_python.add(steps, np.full(9, round), np.full(9, 7), change)
        assert len(by_pass) == len(by_python)
        np.testing.assert_array_equal(by_pass.entries, by_python.entries[-len(by_pass.entries) :])
