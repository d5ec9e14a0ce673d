"""States as an enemy would write them: each setting and array of a state changed, dropped or renamed, one at a time."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from onkel.states.state import State

VALUES = (None, "x", True, -1, 0, 3, 2**70, 1e308, float("nan"), float("inf"), -0.5, [], {}, [1], {"x": 1}, [[[]]])
PARAMETERS = (
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


def plain(value: Any) -> Any:
    """Settings as dicts and lists that can be changed."""
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, tuple) else value


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths to all settings, also to those inside of others; of long lists, to the first items and the last."""
    items = (
        list(value.items()) if isinstance(value, dict) else list(enumerate(value)) if isinstance(value, list) else []
    )
    for key, item in items if len(items) < 40 else [*items[:2], items[-1]]:
        yield (*path, key)
        yield from places(item, (*path, key))


def with_setting(state: State, path: tuple[Any, ...], value: Any) -> State:
    settings = plain(state.settings)
    inner = settings
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return State(state.kind, state.version, settings, state.arrays)


def without_setting(state: State, path: tuple[Any, ...], name: Any = None) -> State:
    """The state without a setting, or with another name for it."""
    settings = plain(state.settings)
    inner = settings
    for key in path[:-1]:
        inner = inner[key]
    value = inner.pop(path[-1])
    if name is not None and isinstance(inner, dict):
        inner[name] = value
    return State(state.kind, state.version, settings, state.arrays)


def with_array(state: State, name: str, array: np.ndarray | None, other: str | None = None) -> State:
    """The state with another array, or, with None, without it."""
    arrays = {key: value for key, value in state.arrays.items() if key != name}
    if array is not None:
        arrays[other or name] = array
    return State(state.kind, state.version, state.settings, arrays)


def arrays_like(array: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Arrays that are almost like this one: of other dtypes, shapes and values."""
    yield "longer", np.concatenate([array, array[-1:]]) if array.ndim and len(array) else np.zeros(1, array.dtype)
    yield "shorter", array[:-1] if array.ndim else array.reshape(1)
    yield "empty", np.empty((0,) * max(1, array.ndim), array.dtype)
    yield "another axis", array[None]
    yield "huge axis", np.empty((2**16, 0), array.dtype)
    yield "no axis", np.array(array.reshape(-1)[0]) if array.size else np.zeros((), array.dtype)
    yield "objects", array.astype(object)
    if array.ndim == 2:
        yield "turned", np.ascontiguousarray(array.T)
        yield "wider", np.concatenate([array, array], axis=1)
    for dtype in ("f4", "f8", "i4", "i8", "u1", "?", "c16", "U3", "O", ">f8", "M8[D]"):
        if array.dtype != np.dtype(dtype):
            yield f"as {dtype}", np.zeros(array.shape, dtype)
    if array.dtype.kind not in "iufO" or not array.size:
        return
    values: tuple[Any, ...] = (-1, 0, 1)
    if array.dtype.kind == "f":
        values += (np.nan, np.inf, -np.inf, 1e300)
    if array.dtype.kind in "iu":
        values += (np.iinfo(array.dtype).max, np.iinfo(array.dtype).min, array.size)
    if array.dtype.kind == "O":
        values = (None, [], {}, float("nan"), b"x", 1, "x")
    for value in values:
        for where in (0, array.size - 1, slice(None)):
            changed = array.copy().reshape(-1)
            if array.dtype.kind == "O":
                for i in [where] if isinstance(where, int) else range(array.size):
                    changed[i] = value
            else:
                with np.errstate(all="ignore"):
                    changed[where] = np.array(value).astype(array.dtype)
            yield f"{value!r} at {where}", changed.reshape(array.shape)


def mutants(state: State, others: Mapping[str, State]) -> Iterator[tuple[str, Callable[[], State]]]:
    """What makes each state that differs from this one in one place, and each with a part of another one."""
    settings = plain(state.settings)
    for path in places(settings):
        yield f"without {path}", partial(without_setting, state, path)
        yield f"renamed {path}", partial(without_setting, state, path, "another")
        for value in VALUES:
            yield f"{path} = {value!r}", partial(with_setting, state, path, copy.deepcopy(value))
        if len(path) == 2 and path[0] in ("params", "built_with"):
            for value in PARAMETERS:
                yield f"{path} = {str(value)[:60]}", partial(with_setting, state, path, copy.deepcopy(value))
                yield f"both {path} = {str(value)[:60]}", partial(_with_both, state, path, value)
            for value in VALUES:
                if path[1] in settings.get("built_with", ()):
                    yield f"both {path} = {value!r}", partial(_with_both, state, ("params", path[1]), value)
    for name, array in state.arrays.items():
        yield f"without the array {name}", partial(with_array, state, name, None)
        yield f"the array {name} renamed", partial(with_array, state, name, array, "another")
        for what, changed in arrays_like(array):
            yield f"the array {name}: {what}", partial(with_array, state, name, changed)
    yield "another version", partial(State, state.kind, state.version + 1, state.settings, state.arrays)
    for name, other in others.items():
        yield f"called {other.kind}", partial(State, other.kind, state.version, state.settings, state.arrays)
        for part in ("learner", "targets", "columns", "scorer", "form", "posterior", "sums", "fitted", "certificate"):
            if part in state.settings and part in other.settings:
                yield f"{part} of {name}", partial(swapped, state, other, part)


def _with_both(state: State, path: tuple[Any, ...], value: Any) -> State:
    """The state with another value for a parameter, also where the learner says what it was built with."""
    state = with_setting(state, path, copy.deepcopy(value))
    if path[1] in state.settings.get("built_with", ()):
        state = with_setting(state, ("built_with", path[1]), copy.deepcopy(value))
    return state


def swapped(state: State, other: State, part: str) -> State:
    """The state with a part of another one."""
    arrays = {key: array for key, array in state.arrays.items() if not key.startswith(f"{part}/")}
    arrays |= {key: array for key, array in other.arrays.items() if key.startswith(f"{part}/")}
    return State(state.kind, state.version, {**state.settings, part: other.settings[part]}, arrays)
