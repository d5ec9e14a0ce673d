"""Kernels as JSON: `Kernel.config` writes a kernel as a dict, and `from_config` reads it.

A config names the class of the kernel under "kernel" and has one more entry for each parameter. The kernel inside
another one is under "of":

    RBF(gamma=0.5)               {"kernel": "RBF", "gamma": 0.5}
    2.0 * Linear().on([0, 2])    {"kernel": "Multiple", "of": {"kernel": "On", "of": {"kernel": "Linear"},
                                  "columns": [0, 2]}, "factor": 2.0}

The values are those that JSON can hold, as the type of the dataclass field says: a number, True, False, None, a string,
a list for a tuple, a config for a kernel, and the registered name for a function. JSON has no infinity, so that it is
written as "inf". Finite floats come back bit by bit, because json writes the shortest decimal that reads back.

A config may come from a file that somebody else wrote. Therefore only the kernels that `onkel.kernels` exports are
built, only registered functions are found, every value is checked against the type of its field before the checks of
the kernel itself, and the nesting is limited.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

from onkel.errors import KindError, ParameterError, shown
from onkel.kernels import combine, custom, vector
from onkel.kernels.custom import function_name
from onkel.kernels.kernel import Kernel

__all__ = ["from_config", "register", "to_config"]

Function = TypeVar("Function", bound=Callable[..., Any])

# Kernels inside kernels: far more than a formula has, and far fewer than Python's recursion limit allows.
MAX_DEPTH = 50
MAX_PARTS = 1000  # of a sum or a product
INFINITE = {"inf": math.inf, "-inf": -math.inf}
# What messages say of a type, and how a value is known to have it.
SCALARS: dict[Any, tuple[str, Callable[[Any], bool]]] = {
    bool: ("True or False", lambda value: isinstance(value, bool)),
    int: ("a whole number", lambda value: isinstance(value, int) and not isinstance(value, bool)),
    float: ("a number", lambda value: isinstance(value, (int, float)) and not isinstance(value, bool)),
    str: ("a string", lambda value: isinstance(value, str)),
    types.NoneType: ("None", lambda value: value is None),
}
ADVICE = "Write it as kernel.config() does."

_functions: dict[str, Callable[..., Any]] = {}


# ---------------------------------------------------------------- functions by name


def register(name: str, fn: Function) -> Function:
    """Gives a function a name, by which the configs of kernels refer to it; returns the function.

    JSON cannot hold the functions of ``Custom(fn)``, ``k.scaled(f)`` and ``k.after(phi)``. Register them under the same
    names in the program that writes a config and in the one that reads it.

    Parameters
    ----------
    name : the name, a string that is not empty. It stands for one function: to register another one under a name that
        is taken is an error. To register the same one again, or its new definition, after the cell of a notebook was
        run again, is not.
    fn : the function. If it is registered under several names, configs use the first.

    >>> import numpy as np
    >>> from onkel.kernels import Linear, from_config, register
    >>> _ = register("sqrt", np.sqrt)
    >>> bhattacharyya = Linear().after(np.sqrt)
    >>> bhattacharyya.config()
    {'kernel': 'After', 'of': {'kernel': 'Linear'}, 'phi': 'sqrt'}
    >>> from_config(bhattacharyya.config()) == bhattacharyya
    True
    """
    if not isinstance(name, str):
        raise KindError(f"register: name must be a string; got {shown(name)}. Write register('name', fn).")
    if not name:
        raise ParameterError("register: name must not be empty; got ''. Write register('name', fn).")
    if not callable(fn):
        raise KindError(f"register: fn must be a function; got {shown(fn)}. Write register('name', fn).")
    taken = _functions.setdefault(name, fn)  # one step, so that two threads cannot both take the name
    if _is_redefined(taken, fn):
        _functions[name] = fn
    elif not _same(taken, fn):
        raise ParameterError(
            f"register: the name {name!r} must stand for one function; it stands for {function_name(taken)} already, "
            f"which is not the given {function_name(fn)}. Choose another name."
        )
    return fn


def _same(one: object, other: object) -> bool:
    """Whether two functions are equal, as kernels compare them: ``scaler.transform`` is a new object at each access."""
    return one is other or bool(one == other)


def _is_redefined(old: object, new: object) -> bool:
    """Whether `new` was defined in the place of `old`: a cell of a notebook was run again, or a module reloaded."""
    if old is new or not (isinstance(old, types.FunctionType) and isinstance(new, types.FunctionType)):
        return False
    is_local = "<" in new.__qualname__  # a lambda, or a function inside another one: many have this name
    return not is_local and (old.__module__, old.__qualname__) == (new.__module__, new.__qualname__)


def _write_function(fn: Any, what: str) -> str:
    for name, registered in list(_functions.items()):
        if _same(registered, fn):
            return name
    raise ParameterError(
        f"{what} must be a registered function to be written as JSON; got {function_name(fn)}, which has no name. "
        "Call onkel.kernels.register(name, fn) first, here and where the config is read."
    )


def _read_function(name: Any, what: str) -> Callable[..., Any]:
    if not isinstance(name, str):
        raise KindError(
            f"{what} must be the name of a function, a string; got {shown(name)}. "
            "Names are given by onkel.kernels.register(name, fn)."
        )
    if name not in _functions:
        raise ParameterError(
            f"{what} must be the name of a registered function; got {shown(name)}, which is not registered. "
            f"Call onkel.kernels.register({shown(name)}, fn) first, with the function that the kernel had."
        )
    return _functions[name]


# ---------------------------------------------------------------- kernels


@functools.cache
def kernel_classes() -> Mapping[str, type[Kernel]]:
    """The classes that a config can name: every kernel that `onkel.kernels` exports."""
    rooms = {name: room for room in (combine, custom, vector) for name in room.__all__}
    names = sorted(rooms, key=lambda name: (not name.isupper(), name))  # as in onkel.kernels.__all__
    return {name: getattr(rooms[name], name) for name in names}


class Parameter(typing.NamedTuple):
    """A parameter of a kernel: its key in a config, its name, and its type."""

    key: str
    name: str
    hint: Any


@functools.cache
def parameters(cls: type[Kernel]) -> tuple[Parameter, ...]:
    """The parameters of a class: what its configs have besides its name, which is under "kernel"."""
    hints = typing.get_type_hints(cls)
    names = [field.name for field in dataclasses.fields(cls) if field.init]
    return tuple(Parameter("of" if name == "kernel" else name, name, hints[name]) for name in names)


def to_config(kernel: Kernel, depth: int = 1) -> dict[str, Any]:
    """The kernel as a dict that JSON can hold; `depth` counts the kernels that it is inside of, itself included."""
    cls = type(kernel)
    name = cls.__name__
    if kernel_classes().get(name) is not cls:
        raise KindError(
            f"config() writes the kernels of onkel.kernels, which from_config can build; got a {name} of "
            f"{cls.__module__}. Write it as Custom(fn), and register fn by onkel.kernels.register(name, fn)."
        )
    _check_depth(depth, "config()")
    written = {p.key: _write(getattr(kernel, p.name), p.hint, f"{name}: {p.name}", depth) for p in parameters(cls)}
    return {"kernel": name, **written}


def from_config(config: Mapping[str, Any]) -> Kernel:
    """The kernel that was written by `Kernel.config`: ``from_config(k.config()) == k``, also by way of JSON text.

    It builds only the kernels of `onkel.kernels` and finds only functions that `register` has named, so that a config
    from somebody else runs no code of theirs. Missing, unknown and mistyped entries are refused.

    Parameters
    ----------
    config : a dict such as ``{"kernel": "RBF", "gamma": 0.5}``, with every parameter of the kernel.

    >>> import json
    >>> from onkel.kernels import RBF, from_config
    >>> text = json.dumps((2 * RBF(gamma=0.5) + 1).config())
    >>> from_config(json.loads(text))
    2.0 * RBF(gamma=0.5) + 1.0
    """
    return _build(config, 1)


def _build(config: Any, depth: int) -> Kernel:
    if not isinstance(config, Mapping):
        raise KindError(
            f'from_config: a kernel must be a dict such as {{"kernel": "RBF", "gamma": 0.5}}; got {shown(config)}. '
            + ("Read the text by json.loads first." if isinstance(config, (str, bytes)) else ADVICE)
        )
    _check_depth(depth, "from_config")
    name = config.get("kernel")
    if not isinstance(name, str):
        got = f"{shown(name)} there" if "kernel" in config else f"the keys {shown(list(config))}"
        raise KindError(f'from_config: a config must have the name of its kernel under "kernel"; got {got}. {ADVICE}')
    cls = kernel_classes().get(name)
    if cls is None:
        known = ", ".join(kernel_classes())
        raise ParameterError(f"from_config: the kernel must be one of {known}; got {shown(name)}. {ADVICE}")
    expected = ["kernel", *(p.key for p in parameters(cls))]
    for key in expected:
        if key not in config:
            raise ParameterError(f"from_config: {name} needs {_listed(expected)}; {key!r} is missing. {ADVICE}")
    for key in config:
        if key not in expected:
            raise ParameterError(f"from_config: {name} needs {_listed(expected)}; got {shown(key)} as well. {ADVICE}")
    return cls(**{p.name: _read(config[p.key], p.hint, f"{name}: {p.name}", depth) for p in parameters(cls)})


def _check_depth(depth: int, who: str) -> None:
    if depth > MAX_DEPTH:
        raise ParameterError(
            f"{who}: kernels must be nested at most {MAX_DEPTH} deep; got more. "
            "Sums, products, multiples and powers that are built with operators are flat."
        )


def _check_length(items: Any, hint: Any, what: str) -> None:
    if typing.get_args(hint)[0] is Kernel and len(items) > MAX_PARTS:
        raise ParameterError(f"{what} must be at most {MAX_PARTS} kernels; got {len(items)}.")


def _listed(keys: list[str]) -> str:
    return ", ".join(map(repr, keys))


# ---------------------------------------------------------------- values


def _write(value: Any, hint: Any, what: str, depth: int) -> Any:
    """The value of a parameter, as JSON; `what` names the parameter in messages."""
    if hint is Kernel:
        return to_config(value, depth + 1)
    if typing.get_origin(hint) is Callable:
        return _write_function(value, what)
    if typing.get_origin(hint) is tuple:
        _check_length(value, hint, what)
        return [_write(item, typing.get_args(hint)[0], what, depth) for item in value]
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    _check_scalar(value, hint, what)
    return value


def _read(value: Any, hint: Any, what: str, depth: int) -> Any:
    """The value of a parameter, from JSON; the kernel itself checks its range."""
    if hint is Kernel:
        return _build(value, depth + 1)
    if typing.get_origin(hint) is Callable:
        return _read_function(value, what)
    if typing.get_origin(hint) is tuple:
        if not isinstance(value, (list, tuple)):
            raise KindError(f"{what} must be a list; got {shown(value)}. {ADVICE}")
        _check_length(value, hint, what)
        return tuple(_read(item, typing.get_args(hint)[0], what, depth) for item in value)
    if float in _members(hint) and isinstance(value, str) and value in INFINITE:
        return INFINITE[value]
    _check_scalar(value, hint, what)
    return value


def _check_scalar(value: Any, hint: Any, what: str) -> None:
    """Refuses a value of another type than the parameter has, and numbers that are no finite float."""
    if typing.get_origin(hint) is Literal:
        words: tuple[str, ...] = typing.get_args(hint)
        if not (isinstance(value, str) and value in words):
            raise KindError(f"{what} must be one of {', '.join(map(repr, words))}; got {shown(value)}. {ADVICE}")
        return
    members = _members(hint)
    if not any(SCALARS[member][1](value) for member in members):
        wanted = " or ".join(SCALARS[member][0] for member in members)
        raise KindError(f"{what} must be {wanted}; got {shown(value)}. {ADVICE}")
    if float in members and not _is_finite(value):
        raise ParameterError(f'{what} must be a finite number, or "inf", as JSON has no infinity; got {shown(value)}.')


def _members(hint: Any) -> tuple[Any, ...]:
    """The types of a union such as ``bool | None``, or the one type."""
    return typing.get_args(hint) or (hint,)


def _is_finite(number: float | None) -> bool:
    try:
        return number is None or math.isfinite(number)
    except OverflowError:  # a whole number that is larger than every float
        return False
