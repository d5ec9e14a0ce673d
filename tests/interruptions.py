"""Calls that are stopped in the middle, and what is left of an estimator then.

A call is stopped in front of any line of onkel's Python code (`lines_of`, `stop_at_line`), or by a signal at any time
(`stop_after`). `outcome` is all that a user can see of an estimator, and `differences` compares two of them.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import os
import signal
import sys
import traceback
import zlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
from numpy.typing import NDArray

import onkel

PACKAGE = str(Path(onkel.__file__).parent) + os.sep

Line = tuple[str, int]  # a line of code: file and number

MISSING = object()  # an attribute that there is not
# How a fit ended, and what is made from the other attributes or from the parameters.
NOT_COMPARED = {"n_iter_", "converged_", "certificate_", "model_", "kernel_"}


# ---------------------------------------------------------------- stopping a call


@contextlib.contextmanager
def _traced(on_line: Callable[[FrameType], None], only: Line | None = None) -> Iterator[None]:
    """Calls `on_line` in front of every line of onkel's code that runs in the block, in this thread.

    With `only`, it is called in front of that line alone, and no function is traced that does not hold it. If it
    raises, Python ends the tracing, and the exception comes out of the line. Two places are left out, at which Python
    handles no signal and nothing can fail: between the last instruction of a `with` block and the call of `__exit__`;
    and the word `try`, an instruction that does nothing and that no handler covers.
    """

    def local(frame: FrameType, event: str, _: Any) -> Any:
        here = event == "line" and (only is None or frame.f_lineno == only[1])
        if here and frame.f_lasti not in _never_stopped(frame.f_code):
            on_line(frame)
        return local

    def every_call(frame: FrameType, event: str, _: Any) -> Any:
        return local if frame.f_code.co_filename.startswith(PACKAGE) else None

    def calls_with_the_line(frame: FrameType, event: str, _: Any) -> Any:
        assert only is not None
        code = frame.f_code
        return local if code.co_filename == only[0] and only[1] in _lines_in(code) else None

    before = sys.gettrace()
    sys.settrace(every_call if only is None else calls_with_the_line)
    try:
        yield
    finally:
        sys.settrace(before)


@functools.cache
def _lines_in(code: CodeType) -> set[int | None]:
    """The numbers of the lines of a function."""
    return {number for *_, number in code.co_lines()}


@functools.cache
def _never_stopped(code: CodeType) -> set[int]:
    """The offsets of `try`, and those at which `__exit__(None, None, None)` begins: no other call has three None."""
    found, loaded = set(), []
    for instruction in dis.get_instructions(code):
        if instruction.opname == "NOP":
            found.add(instruction.offset)
        if instruction.opname == "LOAD_CONST" and instruction.argval is None:
            loaded.append(instruction.offset)
        elif instruction.opname not in ("PRECALL", "CACHE"):
            if instruction.opname == "CALL" and len(loaded) == 3:
                found.add(loaded[0])
            loaded = []
    return found


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Says nothing of exceptions in a finalizer, which Python cannot raise; the call then goes on to its end."""
    before, sys.unraisablehook = sys.unraisablehook, lambda _: None
    try:
        yield
    finally:
        sys.unraisablehook = before


def lines_of(call: Callable[[], Any]) -> list[Line]:
    """The lines of onkel's code that the call runs, in order."""
    lines: list[Line] = []
    with _traced(lambda frame: lines.append((frame.f_code.co_filename, frame.f_lineno))):
        call()
    return lines


def between_lines(call: Callable[[], Any], look: Callable[[int], Any]) -> list[Any]:
    """What `look(k)` returns in front of the k-th line of onkel's code that the call runs, as another thread may."""
    found: list[Any] = []
    with _traced(lambda _: found.append(look(len(found)))):
        call()
    return found


def stop_at_line(
    call: Callable[[], Any], k: int, error: type[BaseException], lines: Sequence[Line] | None = None
) -> str | None:
    """Runs the call, and raises the error in front of its k-th line, counted from 0.

    Returns the place of that line; None if the call came to its end, since it had fewer lines or a finalizer got the
    error. With the `lines` of an equal call, which `lines_of` gave, only functions that hold the k-th of them are
    traced: the call is stopped at the same time, and runs about as fast as a call that is not traced.
    """
    only, before = (None, k) if lines is None else (lines[k], lines[:k].count(lines[k]))
    count, place = 0, ""

    def on_line(frame: FrameType) -> None:
        nonlocal count, place
        count += 1
        if count == before + 1:
            place = f"{frame.f_code.co_filename.removeprefix(PACKAGE)}:{frame.f_lineno}"
            raise error

    with _silent():
        try:
            with _traced(on_line, only):
                call()
        except error as stop:
            traceback.clear_frames(stop.__traceback__)  # no frame may keep alive what the next lines look at
            return place
    return None


def stop_after(call: Callable[[], Any], seconds: float) -> bool:
    """Runs the call, and raises KeyboardInterrupt by a signal after that time; returns whether it came in the call."""

    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    try:
        with _silent():
            try:
                signal.setitimer(signal.ITIMER_REAL, seconds)
                call()
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0.0)
    except KeyboardInterrupt as stopped:
        traceback.clear_frames(stopped.__traceback__)
        return True
    finally:
        signal.signal(signal.SIGALRM, before)
    return False


def runs_of(lines: list[Line]) -> dict[Line, list[int]]:
    """The positions at which each line is run."""
    runs: dict[Line, list[int]] = {}
    for k, line in enumerate(lines):
        runs.setdefault(line, []).append(k)
    return runs


def spread(lines: list[Line], count: int, times: int = 1, seed: int = 0) -> list[int]:
    """Positions in `lines` to stop at: the first and last two, and the runs of `count` other lines of code.

    A line that runs several times counts once, and is stopped at `times` of its runs: loops over rows shall not hide
    the line that puts the result in its place.
    """
    rng = np.random.default_rng(seed)
    runs = runs_of(lines)
    found = {0, 1, len(lines) - 2, len(lines) - 1}
    places = list(runs.values())
    for i in rng.permutation(len(places))[:count]:
        found.update(rng.choice(places[i], size=min(times, len(places[i])), replace=False).tolist())
    return sorted(found)


def in_turn(lines: list[Line], count: int, turn: int) -> list[int]:
    """Positions in `lines` to stop at: the first and the last, and a run of `count` lines of code whose turn it is.

    All lines of the package stand on a circle, in one order for all calls. Each call takes the next `count` lines
    that it runs from `turn` times the golden ratio on, which spreads the starts evenly. So calls that are numbered by
    `turn` are stopped at different lines, and a line that many of them run has its turn in one of them.
    """
    rng = np.random.default_rng(turn)
    runs = runs_of(lines)

    def from_start(line: Line) -> float:
        place = zlib.crc32(f"{line[0].removeprefix(PACKAGE)}:{line[1]}".encode()) / 2**32
        return (place - turn * 0.6180339887) % 1.0

    chosen = sorted(runs, key=from_start)[:count]
    return sorted({0, len(lines) - 1, *(int(rng.choice(runs[line])) for line in chosen)})


# ---------------------------------------------------------------- what is left


def outcome(estimator: Any, probes: Any) -> dict[str, Any]:
    """All that can be seen of an estimator that has learned: its attributes, and what it says of the probes."""
    own = {name for name in vars(estimator) if name[-1] == "_" and name[0] != "_"}
    found = {name: getattr(estimator, name, MISSING) for name in (_shown(type(estimator)) | own) - NOT_COMPARED}
    shown = {name: _plain(value) for name, value in found.items() if value is not MISSING}
    return shown | predictions(estimator, probes)


@functools.cache
def _shown(cls: type) -> set[str]:
    """The attributes of a class that say what was learned."""
    return {name for name in dir(cls) if name[-1] == "_" and name[0] != "_"}


def predictions(estimator: Any, probes: Any) -> dict[str, Any]:
    """What an estimator says of the probes, all of them at once and one by one; dicts go one by one only."""
    sparse, batch = hasattr(probes, "tocsr"), ("decision_function", "predict")
    if not sparse and isinstance(probes[0], dict):
        batch = ()
    found = {name: getattr(estimator, name)(probes) for name in batch if hasattr(estimator, name)}
    found["predict_one"] = [estimator.predict_one(probes[i : i + 1] if sparse else probes[i]) for i in range(3)]
    return found


def _plain(value: Any) -> Any:
    """Arrays as they are; CSR arrays as their terms; structured arrays as lists, which have no padding."""
    if hasattr(value, "tocsr"):
        rows, columns = value.nonzero()
        return [value.shape, rows.tolist(), columns.tolist(), value[rows, columns].tolist()]
    return value.tolist() if isinstance(value, np.ndarray) and value.dtype.names else value


def with_rows_moved(found: dict[str, Any], first: int, by: int) -> dict[str, Any]:
    """An outcome in which the rows from number `first` on have been counted from `first` + `by`."""

    def moved(row: int) -> int:
        return row + by * (row >= first)

    found = dict(found)
    if "support_" in found:
        found["support_"] = np.array([moved(row) for row in found["support_"].tolist()], dtype=np.int64)
    if "mistakes_" in found:
        found["mistakes_"] = [(round, moved(row), *rest) for round, row, *rest in found["mistakes_"]]
    return found


def differences(one: dict[str, Any], other: dict[str, Any]) -> list[str]:
    """In what two outcomes differ, bit for bit; an empty list if in nothing."""
    names = [name for name in one.keys() | other.keys() if not _same(one.get(name), other.get(name))]
    return [f"{name}: {_short(one.get(name))} instead of {_short(other.get(name))}" for name in sorted(names)]


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    return type(one) is type(other) and bool(one == other)


def _short(value: Any) -> str:
    text = f"{_shape(value)}{value}"
    return text if len(text) < 60 else text[:57] + "…"


def _shape(value: NDArray | Any) -> str:
    return f"{value.shape} " if isinstance(value, np.ndarray) else ""
