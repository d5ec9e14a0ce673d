"""What an enemy may write: settings and arrays changed in one place, in every way that has once gone wrong or may.

`mutants` lists the changes of any settings and arrays, `states` those of a `State`, which may also take a part of
another one. A change is made when its mutant is: a list of all of them is cheap.
"""

from __future__ import annotations

import copy
import functools
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from onkel.kernels import RBF, HistogramIntersection, Kernel, Linear, Precomputed
from onkel.registry import KINDS
from onkel.states.state import State

VALUES = (
    *(None, "", "x", "$float", True, -1, 0, 1, 2, 3, 2**31, 10**15, 2**62, 2**70, -(2**70)),
    *(0.5, -0.5, -1.0, 1e308, float("nan"), float("inf")),
    *([], [1], [[]], [[[]]], {}, {"x": 1}, {"$float": "nan"}),
)
PARAMETERS = (  # of estimators, as a state writes them
    {"array": [1.0], "dtype": "O"},
    {"array": [1.0], "dtype": "f8,f8"},
    {"array": ["x"], "dtype": "<U1000000000"},
    {"array": [[1.0], [1.0, 2.0]], "dtype": "<f8"},
    {"array": [2**80], "dtype": "<i8"},
    {"array": [[[[[[[[[[[[[[[[[[[[1.0]]]]]]]]]]]]]]]]]]]], "dtype": "<f8"},
    {"random": [1, 2]},
    {"random": ["MT19937", [0] * 623, 0, 0, 0.0]},
    {"random": ["MT19937", [0] * 624, 10**9, 0, 0.0]},
    {"random": ["MT19937", [-1] * 624, 0, 0, 0.0]},
    {"random": ["MT19937", [0] * 624, 0, 0, float("nan")]},
    {"function": "os.system"},
    {"pairs": [1, 2]},
    {"pairs": [[{"list": []}, 1]]},
    {"list": {}},
    {"tuple": 3},
    {"what": 1},
)
KERNELS = (Linear(), Precomputed(), HistogramIntersection(), RBF(gamma=0.5).on([7]), 2.0 * RBF(gamma=0.5) + 1.0)
DTYPES = ("f4", "f8", "i4", "i8", "i1", "u1", "u8", "?", ">f8", "c16", "U3", "O", "M8[D]")
OBJECTS = (None, [], {}, float("nan"), b"x", 1, "x", True, 2**70)
LONGEST = 2**20  # of the axes of arrays that are changed: functions of NumPy visit every row, also empty ones

Path = tuple[Any, ...]
Arrays = dict[str, NDArray]


class Mutant(NamedTuple):
    """What was changed, and what makes the settings and arrays with the change."""

    what: str
    make: Callable[[], tuple[Any, Arrays]]


# ---------------------------------------------------------------- settings


def plain(value: Any) -> Any:
    """Settings as dicts and lists that can be changed."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """The paths to all settings, also to those inside of others; of long lists, to the first items and the last."""
    items = list(value.items()) if isinstance(value, Mapping) else []
    if isinstance(value, list | tuple):
        items = list(enumerate(value))
    for key, item in items if len(items) < 40 else [*items[:2], items[-1]]:
        yield (*path, key)
        yield from places(item, (*path, key))


def at(settings: Any, path: Path) -> Any:
    """The setting in this place."""
    return functools.reduce(lambda inner, key: inner[key], path, settings)


def changed(settings: Any, *changes: tuple[Path, Any]) -> Any:
    """The settings with other values in these places."""
    found = plain(settings)
    for path, value in changes:
        at(found, path[:-1])[path[-1]] = copy.deepcopy(value)
    return found


def without(settings: Any, path: Path, name: Any = None) -> Any:
    """The settings without this one, or with another name for it."""
    found = plain(settings)
    inner = at(found, path[:-1])
    value = inner.pop(path[-1])
    if name is not None and isinstance(inner, dict):
        inner[name] = value
    return found


def values_for(path: Path, old: Any) -> Iterator[Any]:
    """What to write in this place."""
    yield from VALUES
    if isinstance(old, Kernel):
        yield from KERNELS
    if path[-1] == "kind":
        yield from KINDS
    if len(path) == 2 and path[0] in ("params", "built_with"):
        yield from PARAMETERS


def of_settings(settings: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """All settings that differ from these in one place, or in a parameter that stands in two."""
    found = list(places(settings))
    for path, neighbour in zip(found, [*found[1:], *found[:1]], strict=True):
        yield f"without {path}", functools.partial(without, settings, path)
        yield f"{path} renamed", functools.partial(without, settings, path, f"{path[-1]}_")
        values = [*values_for(path, at(settings, path)), plain(at(settings, neighbour))]
        for value in values:
            yield f"{path} = {value!r:.60}", functools.partial(changed, settings, (path, value))
        if path[0] == "params" and len(path) == 2 and path[1] in settings.get("built_with", ()):
            for value in values:
                both = (path, value), (("built_with", path[1]), value)
                yield f"both {path} = {value!r:.60}", functools.partial(changed, settings, *both)


# ---------------------------------------------------------------- arrays


def of_array(array: NDArray) -> Iterator[tuple[str, Callable[[], NDArray]]]:
    """Arrays that are almost like this one: of other dtypes, shapes and values."""
    if max(array.shape, default=0) > LONGEST:
        return
    for dtype in DTYPES:
        if array.dtype != np.dtype(dtype):
            yield f"zeros as {dtype}", functools.partial(np.zeros, array.shape, dtype)
            if array.dtype.kind in "biuf" and dtype != "M8[D]":
                yield f"as {dtype}", functools.partial(array.astype, dtype)
    yield "as objects", functools.partial(array.astype, object)
    yield from _shapes(array)
    for field in array.dtype.names or [None]:
        of = array if field is None else array[field]
        for value in _values(of):
            for where in (*sorted({0, of.size // 2, of.size - 1}), slice(None)) if of.size else ():
                yield f"{field or ''}[{where}] = {value!r:.30}", functools.partial(_with, array, field, where, value)
        if of.size and of.dtype.kind in "iu":
            yield f"{field or ''} off by one", lambda f=field, of=of: _replaced(array, f, of + np.ones((), of.dtype))
            yield f"{field or ''} all equal", lambda f=field, of=of: _replaced(array, f, np.full_like(of, of.max()))


def _shapes(array: NDArray) -> Iterator[tuple[str, Callable[[], NDArray]]]:
    for axis in range(array.ndim):
        last = array.take([-1], axis) if array.shape[axis] and array.size else array
        yield f"longer in {axis}", lambda axis=axis, last=last: np.concatenate([array, last], axis)
        yield f"twice in {axis}", lambda axis=axis: np.concatenate([array, array], axis)
        yield f"shorter in {axis}", lambda axis=axis: array.take(np.arange(max(0, array.shape[axis] - 1)), axis)
        yield f"empty in {axis}", lambda axis=axis: array.take(np.arange(0), axis)
        yield f"reversed in {axis}", lambda axis=axis: np.ascontiguousarray(np.flip(array, axis))
        if array.ndim > 1:
            huge = list(array.shape)
            huge[axis], huge[axis - 1] = 2**40, 0
            yield f"huge and empty in {axis}", functools.partial(np.empty, huge, array.dtype)
    yield "empty", lambda: np.empty((0,) * max(1, array.ndim), array.dtype)
    yield "one axis more", lambda: array[None].copy()
    yield "huge axis", lambda: np.empty((2**16, 0), array.dtype)
    yield "no axis", lambda: array.reshape(-1)[:1].reshape(()) if array.size else np.zeros((), array.dtype)
    if array.ndim == 2:
        yield "turned", lambda: np.ascontiguousarray(array.T)
        yield "in another shape", lambda: array.T.reshape(array.shape[::-1])
    if not array.size:
        yield "with an entry", lambda: np.ones([min(max(1, n), 3) for n in array.shape], array.dtype)


def _values(array: NDArray) -> tuple[Any, ...]:
    """What to write into an array of this dtype."""
    match array.dtype.kind:
        case "f":
            largest = float(np.finfo(array.dtype).max)
            return (np.nan, np.inf, -np.inf, -1.0, 0.0, 0.5, 1.0, largest, -largest, 5e-324)
        case "i" | "u":
            low, high = int(np.iinfo(array.dtype).min), int(np.iinfo(array.dtype).max)
            numbers = (-1, 0, 1, 2, 9, 100, array.size, 2**20, 2**31 - 1, 2**31, 2**40, 2**62, high, low)
            return tuple(dict.fromkeys(number for number in numbers if low <= number <= high))
        case "b":
            return True, False
        case "O":
            return OBJECTS
    return ()


def _with(array: NDArray, field: str | None, where: Any, value: Any) -> NDArray:
    other = array.copy()
    flat = (other if field is None else other[field]).reshape(-1)
    if array.dtype.hasobject:
        for i in range(flat.size)[where] if isinstance(where, slice) else [where]:
            flat[i] = value  # one by one: it may be a list
    else:
        flat[where] = value
    return other if field is not None else flat.reshape(array.shape)


def _replaced(array: NDArray, field: str | None, values: NDArray) -> NDArray:
    if field is None:
        return values
    other = array.copy()
    other[field] = values
    return other


def of_arrays(arrays: Mapping[str, NDArray]) -> Iterator[tuple[str, Callable[[], Arrays]]]:
    """All arrays by name, of which one is changed, left out or renamed, or two are exchanged."""
    names = list(arrays)
    for name, array in arrays.items():
        rest = {key: value for key, value in arrays.items() if key != name}
        yield f"without the array {name}", lambda rest=rest: dict(rest)
        yield f"the array {name} renamed", lambda rest=rest, name=name: {**rest, f"{name}_": arrays[name]}
        for what, make in of_array(array):
            yield f"the array {name} {what}", lambda name=name, make=make: {**arrays, name: make()}
        for other in names[: names.index(name)]:
            both = {name: arrays[other], other: array}
            yield f"the arrays {name} and {other} exchanged", lambda both=both: {**arrays, **both}


# ---------------------------------------------------------------- settings and arrays, and states


def mutants(settings: Any, arrays: Mapping[str, NDArray]) -> list[Mutant]:
    """Everything that differs from these settings and arrays in one place."""
    found = [Mutant(what, lambda make=make: (make(), dict(arrays))) for what, make in of_settings(settings)]
    return found + [Mutant(what, lambda make=make: (plain(settings), make())) for what, make in of_arrays(arrays)]


StateMutant = tuple[str, Callable[[], State]]


def states(state: State, others: Mapping[str, State] | None = None) -> list[StateMutant]:
    """All states that differ from this one in one place, and those with the kind or a part of one of the others."""

    def made(mutant: Mutant) -> State:
        return State(state.kind, state.version, *mutant.make())

    def with_kind(kind: str, version: int) -> State:
        return State(kind, version, state.settings, state.arrays)

    found = [(mutant.what, functools.partial(made, mutant)) for mutant in mutants(state.settings, state.arrays)]
    found += [(f"version {new}", functools.partial(with_kind, state.kind, new)) for new in (state.version + 1, 99)]
    kinds = {"scorer/linear", *(other.kind for other in (others or {}).values())} - {state.kind}
    found += [(f"called {kind}", functools.partial(with_kind, kind, state.version)) for kind in sorted(kinds)]
    for name, other in (others or {}).items():
        for part in sorted(parts_of(state).keys() & parts_of(other).keys()):
            found.append((f"{part} of {name}", functools.partial(swapped, state, other, part)))
    return found


def parts_of(state: State) -> dict[str, Any]:
    """The settings that are states of parts, or hold several values."""
    return {name: value for name, value in state.settings.items() if isinstance(value, Mapping) and name != "params"}


def swapped(state: State, other: State, part: str) -> State:
    """The state with a part of another one."""
    arrays = {key: array for key, array in state.arrays.items() if not key.startswith(f"{part}/")}
    arrays |= {key: array for key, array in other.arrays.items() if key.startswith(f"{part}/")}
    return State(state.kind, state.version, {**state.settings, part: other.settings[part]}, arrays)


def with_setting(state: State, path: Path, value: Any) -> State:
    return State(state.kind, state.version, changed(state.settings, (path, value)), state.arrays)


def with_array(state: State, name: str, array: NDArray) -> State:
    return State(state.kind, state.version, state.settings, {**state.arrays, name: array})


def several_times(state: State, seed: int, refused: tuple[type[Exception], ...]) -> StateMutant:
    """A state that differs in two or three places, drawn at random."""
    rng, what = random.Random(seed), []
    for _ in range(rng.randint(2, 3)):
        name, make = rng.choice(states(state))
        try:
            state = make()
        except refused:  # not even a `State`
            continue
        what.append(name)
    return "; ".join(what), lambda: state
