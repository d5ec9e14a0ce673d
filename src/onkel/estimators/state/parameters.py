"""The parameters of an estimator as settings of a state, and back.

Parameters keep their types: the dict of `class_weight` becomes a list of pairs, an array its numbers and its dtype, a
RandomState its numbers, and a kernel that is a function a `Custom` kernel that holds it.

A state may come from a file that somebody else wrote. So reading checks everything: parameters that the class does not
have, and settings that `params_settings` does not write, are refused, and nothing is as large as a setting says.
"""

from __future__ import annotations

import inspect
import math
import numbers
import re
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

import numpy as np
from sklearn.utils import check_random_state

from onkel.errors import InputError, KindError
from onkel.kernels import Kernel
from onkel.kernels.custom import Custom
from onkel.states.state import Setting, State
from onkel.text.templates import Templates

__all__ = ["check_values", "params_settings", "read_params"]

DEEPEST = 16  # lists inside of lists
LEAST, MOST = -(1 << 63), (1 << 64) - 1  # whole numbers
DTYPE = re.compile(r"[<>|=]?[biuf][1248]")
KEYS = 624  # numbers of a Mersenne Twister
SEVERAL = {"alpha", "alphas", "centers", "class_weight"}  # parameters that may be lists, dicts or arrays


# ---------------------------------------------------------------- writing


def params_settings(params: Mapping[str, Any], name: str) -> dict[str, Setting]:
    """The parameters of an estimator as settings; `name` is that of the estimator, for messages."""
    return {key: _encoded(value, f"{name}: {key}") for key, value in params.items()}


def _encoded(value: Any, what: str) -> Setting:
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str, Kernel)):
        return value
    if isinstance(value, Templates):
        return str(value)
    if isinstance(value, dict):
        return {"pairs": [[_encoded(key, what), _encoded(item, what)] for key, item in value.items()]}
    if isinstance(value, (list, tuple)):
        return {"tuple" if isinstance(value, tuple) else "list": [_encoded(item, what) for item in value]}
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return {"array": value.ravel().tolist(), "shape": list(value.shape), "dtype": value.dtype.str}
    if isinstance(value, np.random.RandomState):
        kind, key, position, has_gauss, gauss = value.get_state()
        return {"random": [kind, np.asarray(key).tolist(), position, has_gauss, gauss]}
    if callable(value):
        return {"function": Custom(value)}
    raise KindError(
        f"{what} cannot be kept in a state; got {type(value).__name__}. Use a number, a string or a kernel."
    )


# ---------------------------------------------------------------- reading


def read_params(state: State, setting: str, cls: type) -> dict[str, Any]:
    """The parameters under a setting of a state, which must be parameters of the class."""
    given = state.settings.get(setting)
    known = list(inspect.signature(cls).parameters)
    if not isinstance(given, Mapping) or not set(given) <= set(known):
        shown = list(given) if isinstance(given, Mapping) else given
        raise InputError(
            f"the state of kind {state.kind!r}: {setting!r} must hold parameters of {cls.__name__}, which are "
            f"{', '.join(known)}; got {str(shown)[:200]}."
        )
    return {name: _decoded(value, f"the state of kind {state.kind!r}: {name}", 0) for name, value in given.items()}


def _decoded(value: Setting, what: str, depth: int) -> Any:
    if not isinstance(value, (Mapping, tuple)):
        if isinstance(value, int) and not LEAST <= value <= MOST:
            _refuse(what, "a number that 64 bits hold", value)
        return value
    if depth > DEEPEST:
        _refuse(what, f"at most {DEEPEST} lists inside of each other", "more")
    if not isinstance(value, Mapping) or frozenset(value) not in DECODERS:
        _refuse(what, "a value, a list, a dict, an array, a RandomState or a function", value)
    return DECODERS[frozenset(value)](value, what, depth + 1)


def _refuse(what: str, wanted: str, got: object) -> NoReturn:
    raise InputError(f"{what} must be {wanted}; got {str(got)[:200]}.")


def _items(value: Setting, what: str) -> tuple[Setting, ...]:
    if not isinstance(value, tuple):
        _refuse(what, "a list of values", value)
    return value


def _dict(value: Mapping[str, Setting], what: str, depth: int) -> dict[Any, Any]:
    pairs = [_items(pair, what) for pair in _items(value["pairs"], what)]
    if any(len(pair) != 2 for pair in pairs):
        _refuse(what, "pairs of a key and a value", pairs)
    found = {_key(key, what, depth): _decoded(item, what, depth) for key, item in pairs}
    if len(found) != len(pairs):
        _refuse(what, "a dict whose keys differ", list(found))
    return found


def _key(value: Setting, what: str, depth: int) -> Any:
    key = _decoded(value, what, depth)
    if not all(part is None or isinstance(part, (bool, int, float, str)) for part in _leaves(key, what, depth)):
        _refuse(what, "a dict with numbers or strings as keys", key)
    return key


def _leaves(value: Any, what: str, depth: int) -> Iterator[Any]:
    """The values in tuples that are inside of each other."""
    if depth > DEEPEST:
        _refuse(what, f"at most {DEEPEST} lists inside of each other", "more")
    if isinstance(value, tuple):
        for item in value:
            yield from _leaves(item, what, depth + 1)
    else:
        yield value


def _list(value: Mapping[str, Setting], what: str, depth: int) -> list[Any]:
    return [_decoded(item, what, depth) for item in _items(value["list"], what)]


def _tuple(value: Mapping[str, Setting], what: str, depth: int) -> tuple[Any, ...]:
    return tuple(_decoded(item, what, depth) for item in _items(value["tuple"], what))


def _array(value: Mapping[str, Setting], what: str, depth: int) -> np.ndarray:
    given, shape, dtype = _items(value["array"], what), _items(value["shape"], what), value["dtype"]
    if not isinstance(dtype, str) or DTYPE.fullmatch(dtype) is None:
        _refuse(what, "an array of a plain dtype such as '<f8'", dtype)
    if not all(isinstance(number, (bool, int, float)) for number in given):
        _refuse(what, "an array of numbers", given)
    if not all(type(n) is int and n >= 0 for n in shape) or math.prod(shape) != len(given):  # type: ignore[arg-type]
        _refuse(what, f"an array of a shape with {len(given)} numbers", shape)
    try:
        return np.array(given, dtype=np.dtype(dtype)).reshape(shape)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{what} must be an array of {dtype}; {error}.") from error


def _random(value: Mapping[str, Setting], what: str, depth: int) -> np.random.RandomState:
    given = _items(value["random"], what)
    wanted = f"the name 'MT19937', {KEYS} numbers of 32 bits, a position up to {KEYS}, 0 or 1, and a finite number"
    if len(given) != 5:
        _refuse(what, wanted, given)
    kind, key, position, has_gauss, gauss = given
    right = kind == "MT19937" and isinstance(key, tuple) and len(key) == KEYS
    right = right and all(type(number) is int and 0 <= number < 1 << 32 for number in key)  # type: ignore[union-attr]
    right = right and type(position) is int and 0 <= position <= KEYS
    right = right and type(has_gauss) is int and has_gauss in (0, 1)
    if not (right and type(gauss) is float and math.isfinite(gauss)):
        _refuse(what, wanted, given)
    random = np.random.RandomState(0)
    random.set_state((kind, np.array(key, dtype=np.uint32), position, has_gauss, gauss))  # type: ignore[arg-type]
    return random


def _function(value: Mapping[str, Setting], what: str, depth: int) -> Any:
    function = value["function"]
    if not isinstance(function, Custom):
        _refuse(what, "a function in a Custom kernel", function)
    return function.fn


DECODERS = {
    frozenset({"pairs"}): _dict,
    frozenset({"list"}): _list,
    frozenset({"tuple"}): _tuple,
    frozenset({"array", "shape", "dtype"}): _array,
    frozenset({"random"}): _random,
    frozenset({"function"}): _function,
}


# ---------------------------------------------------------------- values


def check_values(estimator: Any) -> None:
    """Refuses parameters of a fitted estimator with which it could not learn on.

    `_check_params` checks the values of most, as at the beginning of every fit. Here are the others.
    """
    name = type(estimator).__name__
    for key, value in estimator.get_params(deep=False).items():
        if isinstance(value, (list, tuple, dict, np.ndarray)) and key not in SEVERAL:
            raise InputError(f"{name}: {key} must be a single value; got {str(value)[:200]}.")
    for key in ("verbose", "shuffle", "warm_start"):
        value = getattr(estimator, key, 0)
        if not isinstance(value, (numbers.Real, np.bool_)) or not math.isfinite(value):
            raise InputError(f"{name}: {key} must be a finite number, True or False; got {str(value)[:200]}.")
    if hasattr(estimator, "random_state") and not isinstance(estimator.random_state, np.random.RandomState):
        try:
            check_random_state(estimator.random_state)
        except ValueError as error:
            raise InputError(f"{name}: random_state must be None, a seed or a RandomState; {error}.") from error
    estimator._check_params()
