"""Learning is transactional: a call that is stopped anywhere leaves the estimator after exactly `n_rounds_` examples.

An exception comes in front of some line of onkel's code, or a signal at some time, while an estimator learns. Then it
is, bit for bit, the estimator that has learned the first `n_rounds_` examples of the stream and was never stopped, and
so it goes on. On KeyboardInterrupt the parts of the call that were learned stay learned; after any other error nothing
of the call is, unless the error came after its last example. An estimator that had not learned before may be not
fitted.

Each run stops every call at some of its lines, and other calls at other lines. The tests that are marked long
(`make test-long`) stop every learner at every line of onkel's code that it runs. For each kind of rows, each line that
runs with it is stopped in one way to learn at least; and for each way to learn (`partial_fit` first or later, `fit`
cold or warm, `learn_one` at each of the examples that differ, a fit of two epochs in order or shuffled), each line
that runs in it is stopped by each kind of error. The lines are those that a first run of the call comes through.
"""

from __future__ import annotations

import contextlib
import itertools
import signal
import time
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
import pytest
import scipy.sparse as sp
import zoo
from interruptions import (
    Line,
    differences,
    in_turn,
    lines_of,
    outcome,
    predictions,
    runs_of,
    stop_after,
    stop_at_line,
    with_rows_moved,
)
from sklearn.exceptions import NotFittedError
from streams import KINDS, Stream, dicts, stream

import onkel
from onkel import registry

ONLINE = {entry.name: entry for entry in registry.estimators() if entry.online}
ERRORS = [KeyboardInterrupt, MemoryError]

# Every way in which a learner keeps what it learns: with and without a budget, by every policy of a budget.
LEARNERS: dict[str, dict[str, Any]] = {name: dict(one.params) for name, one in zoo.with_tags("storage").items()}
SLOW = ["RecursiveKernelRidge forgetting", "RecursiveKernelRidge unlimited"]  # whose rounds have no bounded cost
every_learner = pytest.mark.parametrize("learner", LEARNERS)
TASKS = {learner: ONLINE[learner.split()[0]].task for learner in LEARNERS if learner.split()[0] in ONLINE}
TASKS |= {learner: "classify" for learner in TASKS if learner.startswith("PRank")}  # grades are classes in order
CLASSIFIERS = [learner for learner, task in TASKS.items() if task == "classify"]


def test_every_online_estimator_is_among_the_learners():
    with_own_tests = {"RankingPerceptron", "SequencePerceptron"}  # of queries, of sentences
    assert {learner.split()[0] for learner in LEARNERS} == set(ONLINE) - with_own_tests


# ---------------------------------------------------------------- calls and their twins

How = Literal["partial_fit", "fit", "warm fit", "learn_one"]


class Call:
    """A call that learns the rows from `before` to `end` of a stream, after those before, and the law on it."""

    def __init__(self, learner: str, stream: Stream, how: How, before: int, end: int) -> None:
        self.learner, self.stream, self.how, self.before, self.end = learner, stream, how, before, end
        self.learned_ones = 0  # how many calls of learn_one came to their end
        self._twins: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}

    def new(self) -> Any:
        name = self.learner.split()[0]
        options = {"shuffle": False, "max_iter": 1, "random_state": 0, "warm_start": self.how == "warm fit"}
        if zoo.SPECIMENS[self.learner].takes_kernel:
            options["kernel"] = self.stream.kernel
        return getattr(onkel, name)(**(options | LEARNERS[self.learner]))

    def learn(self, estimator: Any, start: int, end: int, how: str = "partial_fit") -> Any:
        """Learns the rows from `start` to `end`; `how` is a method."""
        if start == end:
            return estimator
        X, y = self.stream.X, self.stream.y
        supervised = TASKS[self.learner] != "detect"
        if how == "learn_one":
            for i in range(start, end):
                x = X[i : i + 1] if sp.issparse(X) else X[i]
                if i == 0 and self.classes is not None:
                    self.learn(estimator, 0, 1)
                else:
                    estimator.learn_one(*((x, y[i]) if supervised else (x,)))
                self.learned_ones = i + 1
            return estimator
        options: dict[str, Any] = {"y": y[start:end] if supervised else None}
        if self.stream.weights is not None:
            options["sample_weight"] = self.stream.weights[start:end]
        if how == "partial_fit" and TASKS[self.learner] == "classify" and start == 0:
            options["classes"] = self.classes
        return getattr(estimator, how)(X[start:end], **options)

    @property
    def classes(self) -> list[Any] | None:
        """The classes known from the start; a new fit knows those of its data."""
        return np.unique(self.stream.y).tolist() if self.how == "fit" else self.stream.classes

    @property
    def piece(self) -> str:
        """The method that learns what comes before the call, and after it."""
        return "learn_one" if self.how == "learn_one" else "partial_fit"

    def begun(self, end: int) -> Any:
        """A new estimator that has learned the rows up to `end`; one by one, it takes all but two at once."""
        chunk = max(0, end - 2) if self.piece == "learn_one" else end
        return self.learn(self.learn(self.new(), 0, chunk), chunk, end, self.piece)

    def start(self) -> Any:
        """The estimator just before the call. It has predicted, so that it keeps whatever it keeps for predictions."""
        estimator = self.begun(self.before)
        self.learned_ones = self.before
        if self.before:
            predictions(estimator, self.stream.probes)
        return estimator

    def run(self, estimator: Any) -> None:
        """The call itself."""
        self.learn(estimator, self.before, self.end, self.how.split()[-1])

    def go_on(self, estimator: Any, row: int) -> dict[str, Any]:
        """The outcome after the rows from `row` on, to the end of the stream; the last of them come in one chunk."""
        chunk = min(self.end + 2, len(self.stream)) if self.piece == "learn_one" else self.end
        self.learn(estimator, row, chunk, self.piece)
        self.learn(estimator, chunk, len(self.stream))
        return outcome(estimator, self.stream.probes)

    def twin(self, rounds: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """What is seen of an estimator that learned so many examples without a stop, then and at the end."""
        if rounds not in self._twins:
            row, _ = self.stream.rows(rounds)
            estimator = self.learn(self.begun(min(self.before, row)), self.before, row, self.piece)
            then = outcome(estimator, self.stream.probes) if rounds else {}
            self._twins[rounds] = then, self.go_on(estimator, row)
        return self._twins[rounds]

    def examine(self, estimator: Any, error: type[BaseException] | None) -> None:
        """Asserts the law after the call, which was stopped by the error, or came to its end (None)."""
        rounds = getattr(estimator, "n_rounds_", None)
        if rounds is None:
            assert self.before == self.learned_ones == 0, "not fitted any more"
            assert error is not None
            probes = self.stream.probes
            assert estimator.predict_one(probes[:1] if sp.issparse(probes) else probes[0]) is None
            with pytest.raises(NotFittedError):
                estimator.predict(self.stream.probes)
            rounds = 0
        else:
            first, last = (self.stream.rounds(row) for row in (self.before, self.end))
            if self.how == "learn_one":
                first, last = self.learned_ones, min(self.learned_ones + 1, last)
            if error is None:
                assert rounds == last
            elif error is KeyboardInterrupt:
                assert first <= rounds <= last, f"{rounds} rounds, not from {first} to {last}"
            else:
                assert rounds in (first, last), f"a refused call is not undone as a whole: {rounds} rounds"
                assert rounds > 0, "fitted by a refused call"
            if rounds == 0:
                with contextlib.suppress(NotFittedError):  # there is nothing to say, but also no other error
                    predictions(estimator, self.stream.probes)
        then, at_the_end = self.twin(rounds)
        seen = outcome(estimator, self.stream.probes) if rounds else {}
        if found := differences(seen, then):
            raise AssertionError(f"not as after {rounds} examples: {found}")
        row, following = self.stream.rows(rounds)
        # A fit may count all its rows at once, and rows of weight 0 with the example before or after them.
        counted = {0, following - row, self.end - row if self.how in ("fit", "warm fit") else 0}
        seen = self.go_on(estimator, row)
        never = self.twin(self.stream.rounds(self.end))[1]
        for expected in (at_the_end, never):
            if found := min((differences(seen, with_rows_moved(expected, row, by)) for by in counted), key=len):
                raise AssertionError(f"not as if it had not been stopped: {found}")


Lines = list[Line]
Stops = Iterable[tuple[int, type[BaseException]]]


def some_stops(lines: Lines, count: int, turn: int) -> Stops:
    """Stops at `count` lines whose turn it is, two in three of them by KeyboardInterrupt."""
    errors = itertools.cycle([KeyboardInterrupt, MemoryError, KeyboardInterrupt])
    return zip(in_turn(lines, count, turn), itertools.islice(errors, turn % 3, None), strict=False)


def lines_in(call: Call) -> Lines:
    """The lines that a call runs."""
    for _ in range(2):  # imports and caches come in the first run
        estimator = call.start()
        lines = lines_of(lambda: call.run(estimator))  # noqa: B023
    call.examine(estimator, None)
    return lines


def assert_law(call: Call, lines: Lines, stops: Stops) -> None:
    """The law for stops at some of the lines of a call; shows all lines where it fails, not only the first."""
    failed: dict[str, str] = {}
    for k, error in stops:
        estimator = call.start()
        place = stop_at_line(lambda: call.run(estimator), k, error, lines)  # noqa: B023
        try:
            call.examine(estimator, None if place is None else error)
        except Exception as wrong:
            text = str(wrong).split("\nassert")[0] if isinstance(wrong, AssertionError) else repr(wrong)
            failed.setdefault(f"{error.__name__} at {place or '(not raised)'}", text)
    assert not failed, f"{len(failed)} places: " + "\n".join(f"{place}: {why}" for place, why in failed.items())


def assert_law_at_some_lines(call: Call, count: int, turn: int) -> None:
    lines = lines_in(call)
    assert_law(call, lines, some_stops(lines, count, turn))


def assert_law_at_every_line(calls: dict[tuple[str, Any], Call]) -> None:
    """The law for every line of calls that are (kind of rows, way to learn).

    For each kind of rows, each line that runs with it is stopped; and for each way to learn, each line that runs in it
    is stopped by each error: in one of the line's runs, in the first call with which there is something new.
    """
    rng = np.random.default_rng(0)
    ran: dict[tuple[str, Any], set[Line]] = {}
    met: set[tuple[Any, ...]] = set()

    def new(line: Line, kind: str, way: Any, error: type[BaseException]) -> set[tuple[Any, ...]]:
        return {(line, "with", kind), (line, "in", way, error)} - met

    for turn, (key, call) in enumerate(calls.items()):
        lines, stops = lines_in(call), []
        ran[key] = set(lines)
        for line, runs in runs_of(lines).items():
            one, other = ERRORS if turn % 2 else ERRORS[::-1]
            error = max(one, other, key=lambda error: len(new(line, *key, error)))
            if found := new(line, *key, error):
                met |= found
                stops.append((int(rng.choice(runs)), error))
        assert_law(call, lines, stops)
    for key, call in calls.items():  # lines of calls that are too few for each error
        again = [(line, error) for line in ran[key] for error in ERRORS if new(line, *key, error)]
        if again:
            lines = lines_in(call)
            runs = runs_of(lines)
            assert_law(call, lines, [(runs[line][-1], error) for line, error in again if line in runs])
            met |= {(line, "in", key[1], error) for line, error in again}


# ---------------------------------------------------------------- chunks

# Each kind of rows with each way to learn, before or after other rows; every learner meets a few of them.
HOW: list[tuple[How, int]] = [("partial_fit", 40), ("partial_fit", 0), ("fit", 0), ("warm fit", 40)]
CASES = [(kind, how, before) for kind in KINDS for how, before in HOW if not ("late" in kind and how == "fit")]


def suits(learner: str, kind: str) -> bool:
    """Linear learners have no kernel, only classifiers have classes, and PRank has no weights."""
    linear = learner == "PRank linear" or not zoo.SPECIMENS[learner].takes_kernel
    if linear and kind in ("words", "polynomial", "linear"):
        return False
    if learner.startswith("PRank") and kind == "weights":
        return False
    return TASKS[learner] == "classify" or "class" not in kind


def chunk(learner: str, kind: str, how: How, before: int) -> Call:
    """A call with more rows than a learner takes at a time; a small cache asks for kernel values all the time."""
    if "small cache" in learner:
        return Call(learner, stream(TASKS[learner], kind, n=120, late=80), how, before, 100)
    if "Ridge" in learner:  # 64 rows at a time
        return Call(learner, stream(TASKS[learner], kind, n=190), how, before, 150)
    return Call(learner, stream(TASKS[learner], kind), how, before, 700)


def few_cases() -> list[tuple[str, str, How, int]]:
    """For each learner a few cases, and other ones than for the learner before."""
    found = []
    for i, learner in enumerate(LEARNERS):
        cases = [case for case in CASES if suits(learner, case[0])]
        found += [(learner, *cases[(19 * j + i) % len(cases)]) for j in range(2)]
    late = [(learner, "a late class", "partial_fit", 40) for learner in CLASSIFIERS]
    return list(dict.fromkeys(found + late))


FEW_CASES = few_cases()


@pytest.mark.parametrize(("learner", "kind", "how", "before"), FEW_CASES)
def test_a_chunk_that_is_stopped_at_a_line_is_learned_up_to_a_whole_part(learner, kind, how, before):
    turn = FEW_CASES.index((learner, kind, how, before))
    assert_law_at_some_lines(chunk(learner, kind, how, before), 16, turn)


@pytest.mark.long
@every_learner
def test_a_chunk_that_is_stopped_at_any_line_is_learned_up_to_a_whole_part(learner):
    cases = [case for case in CASES if suits(learner, case[0])]
    cases.sort(key=lambda case: (KINDS.index(case[0]) + HOW.index(case[1:])) % len(HOW))  # each kind in another way
    assert_law_at_every_line({(kind, (how, before)): chunk(learner, kind, how, before) for kind, how, before in cases})


# ---------------------------------------------------------------- one example


def ones(task: str, kind: str) -> Stream:
    """A short stream, in which a late class has its first example in row 29."""
    return dicts(task) if kind == "dicts" else stream(task, kind, n=40, late=29)


ONES = ["double", "dicts", "a late class", "a late class that is known", "single", "words", "csr of few features"]


def few_ones() -> list[tuple[str, str, int]]:
    """For each learner: dicts, a late class, one other kind of rows, and the first examples of a stream."""
    found = []
    for i, learner in enumerate(LEARNERS):
        kinds = [kind for kind in ONES if suits(learner, kind)]
        found += [(learner, "dicts", 28), (learner, kinds[1:][i % (len(kinds) - 1)], 0)]
        found += [(learner, "a late class" if learner in CLASSIFIERS else kinds[i % len(kinds)], 28)]
    return list(dict.fromkeys(found))


FEW_ONES = few_ones()


@pytest.mark.parametrize(("learner", "kind", "before"), FEW_ONES)
def test_an_example_is_learned_as_a_whole_or_not_at_all(learner, kind, before):
    turn = len(FEW_CASES) + FEW_ONES.index((learner, kind, before))
    call = Call(learner, ones(TASKS[learner], kind), "learn_one", before, before + 3)
    assert_law_at_some_lines(call, 20, turn)


@pytest.mark.long
@every_learner
def test_an_example_that_is_stopped_at_any_line_is_learned_as_a_whole_or_not_at_all(learner):
    examples = [0, 1, 28, 29, 30]  # 28 may bring a new feature, 29 a late class
    cases = [(kind, i) for kind in ONES if suits(learner, kind) for i in examples]
    cases.sort(key=lambda case: (ONES.index(case[0]) + examples.index(case[1])) % len(examples))
    assert_law_at_every_line(
        {(kind, i): Call(learner, ones(TASKS[learner], kind), "learn_one", i, i + 1) for kind, i in cases}
    )


# ---------------------------------------------------------------- several epochs


class Epochs(Call):
    """A fit of two epochs. Its ledger is the beginning of that of the fit that was not stopped."""

    def __init__(self, learner: str, shuffle: bool) -> None:
        n = 100 if "small cache" in learner else 160 if learner in SLOW else 560
        super().__init__(learner, stream(TASKS[learner], "double", n=n), "fit", 0, n)
        self.shuffle = shuffle
        never = self.new()
        self.run(never)
        self.never = never.mistakes_

    def new(self) -> Any:
        return super().new().set_params(max_iter=2, shuffle=self.shuffle)

    def examine(self, estimator: Any, error: type[BaseException] | None) -> None:
        rounds, all_rounds = getattr(estimator, "n_rounds_", None), 2 * len(self.stream)
        if rounds is None:
            assert error is not None
            rounds = 0
        else:
            assert rounds == all_rounds if error is None else 0 <= rounds <= all_rounds
            assert error in (None, KeyboardInterrupt) or rounds == all_rounds, "a refused call is not undone as a whole"
            self.compare(estimator, rounds)
        self.learn(estimator, 0, len(self.stream))
        assert estimator.n_rounds_ == rounds + len(self.stream)
        assert np.isfinite(estimator.predict(self.stream.probes)).all()

    def compare(self, estimator: Any, rounds: int) -> None:
        """With the fit that was not stopped, and with a stream in which the rows come again and again."""
        found = estimator.mistakes_
        # the rounds of which both ledgers have all updates; none, if the window of `never` begins later
        both, late = (found, self.never), rounds + 1
        latest = max(ledger["round"].min(initial=late) if len(ledger) == 1000 else 0 for ledger in both)
        both = tuple(ledger[(ledger["round"] >= latest) & (ledger["round"] <= rounds)] for ledger in both)
        assert both[0].tolist() == both[1].tolist()
        assert found["round"].max(initial=0) <= rounds
        if hasattr(estimator, "support_") and isinstance(self.stream.X, np.ndarray):
            np.testing.assert_array_equal(estimator.support_vectors_, self.stream.X[estimator.support_])
        if self.shuffle or rounds == 0 or self.learner.startswith("OnlineSVC"):  # which knows a row that comes again
            return
        again, n = self.new(), len(self.stream)
        self.learn(again, 0, min(rounds, n))
        if rounds > n:
            again.partial_fit(self.stream.X[: rounds - n], self.stream.y[: rounds - n])
        for name in ("n_rounds_", "n_mistakes_", "n_updates_"):
            assert getattr(estimator, name, None) == getattr(again, name, None), name
        # Support vectors of equal rows are merged after an epoch, so that sums are rounded in another order.
        np.testing.assert_allclose(
            estimator.predict(self.stream.probes), again.predict(self.stream.probes), rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("shuffle", [False, True], ids=["in order", "shuffled"])
@every_learner
def test_a_fit_that_is_stopped_in_some_epoch_has_learned_the_first_rounds(learner, shuffle):
    turn = len(FEW_CASES) + len(FEW_ONES) + 2 * list(LEARNERS).index(learner) + shuffle
    assert_law_at_some_lines(Epochs(learner, shuffle), 11, turn)


@pytest.mark.long
@every_learner
def test_a_fit_that_is_stopped_at_any_line_has_learned_the_first_rounds(learner):
    assert_law_at_every_line(
        {(epoch, shuffle): Epochs(learner, shuffle) for epoch in ("one", "the other") for shuffle in (False, True)}
    )


# ---------------------------------------------------------------- signals


def assert_law_of_signals(call: Call, times: int) -> None:
    """The law for Ctrl-C at random times over the length of the call."""
    lengths = []
    for _ in range(3):
        estimator, begun = call.start(), time.perf_counter()
        call.run(estimator)
        lengths.append(time.perf_counter() - begun)
    moments = np.random.default_rng(0).uniform(1e-6, 1.1 * min(lengths), size=times)
    for moment in moments.tolist():
        estimator = call.start()
        stopped = stop_after(lambda: call.run(estimator), moment)  # noqa: B023
        call.examine(estimator, KeyboardInterrupt if stopped else None)


with_signals = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timers on this system")


@with_signals
@every_learner
def test_ctrl_c_at_any_time_in_a_chunk_leaves_whole_parts(learner):
    kind = "a late class" if learner in CLASSIFIERS else "double"
    assert_law_of_signals(chunk(learner, kind, "partial_fit", 40), 8)
    assert_law_of_signals(chunk(learner, "double", "fit", 0), 6)


@with_signals
@every_learner
def test_ctrl_c_at_any_time_between_examples_leaves_whole_ones(learner):
    assert_law_of_signals(Call(learner, dicts(TASKS[learner]), "learn_one", 20, 36), 8)


WITH_SIGNALS = [
    (learner, kind, how, before)
    for learner, kind, (how, before) in itertools.product(LEARNERS, ["double", "csr of few features", "weights"], HOW)
    if suits(learner, kind)
]


@with_signals
@pytest.mark.long
@pytest.mark.parametrize(("learner", "kind", "how", "before"), WITH_SIGNALS)
def test_ctrl_c_at_any_of_many_times_leaves_whole_parts(learner, kind, how, before):
    assert_law_of_signals(chunk(learner, kind, how, before), 150)
