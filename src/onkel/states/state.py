"""State: what an object has learned, as plain settings and named arrays.

A `State` is the one form in which models, learners and estimators are copied, compared, pickled and written. It holds
no code and nothing private:

    State("scorer/linear", 1, {}, {"coef": …, "intercept": …})

Every class with a state has ``state()`` and a class method ``from_state(state)``, which are inverse to each other to
the bit. `from_state` of this module finds the class by the kind of the state, in the table `onkel.registry.KINDS`.

A state can hold other states, its parts: ``outer.with_part("learner", inner)`` puts the kind, version and settings of
`inner` under the setting "learner" and its arrays under names such as "learner/coef", and ``part("learner")`` returns
`inner`.

In memory a setting may be a kernel object. `to_json` writes kernels by their `config()`.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib
import math
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import DTypeLike, NDArray

from onkel.checks import check_integer
from onkel.errors import InputError, KindError, shown
from onkel.registry import FROM_CONFIG, KINDS

__all__ = ["JSON", "Setting", "State", "from_json", "from_state", "read_only", "to_json"]


@runtime_checkable
class Configured(Protocol):
    """A kernel, for this room: a value that describes itself by ``config()``."""

    def config(self) -> dict[str, Any]:
        """The value as a dict that JSON can hold."""


JSON: TypeAlias = "bool | int | float | str | Sequence[JSON] | Mapping[str, JSON] | None"
Setting: TypeAlias = "bool | int | float | str | Configured | Sequence[Setting] | Mapping[str, Setting] | None"
T = TypeVar("T", bool, int, float, str)

SCALARS = (type(None), bool, int, float, str)
KERNEL, FLOAT = "$kernel", "$float"  # keys that stand for a kernel and for NaN or infinity in JSON
LARGEST_COUNT = 2**53  # of what a learner counts: it can count on for ever, and a float64 holds it exactly
WIDEST_EMPTY = 2**20  # the longest axis of an array without entries, which takes no room in a file whatever its shape


def read_only(array: NDArray) -> NDArray:
    """A view of an array through which it cannot be written to; the array itself if it is already read-only."""
    if array.flags.writeable:
        array = array.view()
        array.flags.writeable = False
    return array


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class State:
    """What an object has learned, as plain settings and named arrays; frozen.

    Two states are equal if they have the same kind, version, settings (of the same types) and arrays (of the same
    dtype, shape and bytes, so that NaN equals NaN). States have no hash. They can be copied and pickled.

    Parameters
    ----------
    kind : what the state belongs to, such as "scorer/expansion".
    version : ≥ 1, the version of the format of this kind.
    settings : names and values: None, True, False, numbers, strings, kernels, and lists and dicts of these. NumPy's
        numbers become Python's, lists become tuples and dicts read-only mappings. A name does not start with "$".
    arrays : names and NumPy arrays. The state keeps read-only views of them, not copies, so whoever makes a state must
        not change the arrays later.
    """

    kind: str
    version: int
    settings: Mapping[str, Setting]
    arrays: Mapping[str, NDArray] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.kind, str):
            raise KindError(f'State: kind must be a string such as "scorer/expansion"; got {self.kind!r}.')
        object.__setattr__(self, "version", check_integer(self.version, "version", "State", at_least=1))
        if not isinstance(self.settings, Mapping) or not isinstance(self.arrays, Mapping):
            raise KindError("State: settings and arrays must be mappings from names to values.")
        try:
            object.__setattr__(self, "settings", _frozen(self.settings, "settings"))
        except RecursionError:
            raise KindError("State: settings must be nested less deep; got too many levels.") from None
        for name, array in self.arrays.items():
            if not isinstance(name, str) or not isinstance(array, np.ndarray):
                raise KindError(
                    f"State: arrays must map names to NumPy arrays; got {type(array).__name__} under {name!r}. "
                    "Use np.asarray, or put single numbers and strings into settings."
                )
        frozen = {name: read_only(np.asarray(array)) for name, array in self.arrays.items()}
        object.__setattr__(self, "arrays", MappingProxyType(frozen))

    # ---------------------------------------------------------------- values

    def setting(
        self,
        name: str,
        of: type[T],
        *,
        above: float | None = None,
        at_least: float | None = None,
        at_most: float | None = None,
    ) -> T:
        """The setting of this name, which must have the type `of`: bool, int, float or str.

        A number must be > `above`, ≥ `at_least` and ≤ `at_most`, and finite, as soon as one of these is given.
        """
        value = self._value(name)
        if type(value) is not of:
            raise InputError(f"{self._name}: {name!r} must be of type {of.__name__}; got {shown(value)}.")
        bounds = {">": above, ">=": at_least, "<=": at_most}
        wanted = " and ".join(f"{sign} {bound}" for sign, bound in bounds.items() if bound is not None)
        number: float = value if wanted else 0.0  # type: ignore[assignment]
        right = abs(number) < math.inf and (above is None or number > above)
        if not right or (at_least is not None and number < at_least) or (at_most is not None and number > at_most):
            raise InputError(f"{self._name}: {name!r} must be finite and {wanted}; got {shown(value)}.")
        return value

    def count(self, name: str, at_least: int = 0, at_most: int = LARGEST_COUNT) -> int:
        """The setting of this name, which must be a whole number that something was counted or is limited by."""
        return self.setting(name, int, at_least=at_least, at_most=at_most)

    def choice(self, name: str, allowed: Collection[str]) -> str:
        """The setting of this name, which must be one of the allowed strings."""
        value = self.setting(name, str)
        self.check(value in allowed, f"{name!r} must be one of {', '.join(allowed)}; got {shown(value)}")
        return value

    def has(self, name: str) -> bool:
        """Whether there is a setting of this name that is not None."""
        return self.settings.get(name) is not None

    def check(self, right: bool | np.bool_, wanted: str) -> None:
        """Refuses the state unless something is `right`; `wanted` says what must be so."""
        if not right:
            raise InputError(f"{self._name}: {wanted}.")

    def kernel(self, name: str = "kernel") -> Any:
        """The setting of this name, which must be a kernel."""
        value = self._value(name)
        if not isinstance(value, Configured):
            raise InputError(f"{self._name}: {name!r} must be a kernel; got {shown(value)}. Read JSON by from_json.")
        return value

    def array(
        self,
        name: str,
        dtype: DTypeLike | tuple[DTypeLike, ...] | None = None,
        shape: tuple[int | None, ...] | None = None,
        *,
        finite: bool = True,
    ) -> NDArray:
        """The array of this name; read-only.

        A state may come from a file that somebody else wrote, and the compiled core relies on what it is given. So a
        class says here what it needs, and anything else is refused.

        Parameters
        ----------
        dtype : the dtype that the array must have, or a tuple of those that it may have; None (default): any.
        shape : the shape that it must have; None in the place of a length, or of the whole shape: any.
        finite : whether floats of a given dtype must be finite; True by default.

        An axis of any length is limited if there are no entries, because nothing else limits what it asks for.
        """
        if name not in self.arrays:
            raise InputError(f"{self._name} must have the array {name!r}; it has {_listed(self.arrays)}.")
        array = self.arrays[name]
        dtypes = () if dtype is None else tuple(map(np.dtype, dtype if isinstance(dtype, tuple) else (dtype,)))
        if dtypes and array.dtype not in dtypes:
            wanted = " or ".join(map(str, dtypes))
            raise InputError(f"{self._name}: the array {name!r} must be of {wanted}; got {array.dtype}.")
        if shape is not None and not _fits(array.shape, shape):
            wanted = "(" + ", ".join("any" if n is None else str(n) for n in shape) + ("," * (len(shape) == 1)) + ")"
            raise InputError(f"{self._name}: the array {name!r} must have shape {wanted}; got {array.shape}.")
        if shape is not None and array.size == 0 and max(array.shape, default=0) > WIDEST_EMPTY:
            raise InputError(f"{self._name}: the array {name!r} has no entries, and the shape {array.shape}.")
        if dtypes and finite and array.dtype.kind == "f" and not np.isfinite(array).all():
            raise InputError(f"{self._name}: the array {name!r} must be finite; got NaN or infinity.")
        return array

    def optional_array(
        self,
        name: str,
        dtype: DTypeLike | tuple[DTypeLike, ...] | None = None,
        shape: tuple[int | None, ...] | None = None,
    ) -> NDArray | None:
        """The array of this name, as `array` gives it; None if there is none."""
        return self.array(name, dtype, shape) if name in self.arrays else None

    def indices(
        self, name: str, below: int, length: int | None = None, dtype: type[np.integer] = np.int64
    ) -> NDArray[Any]:
        """The array of this name, which must hold whole numbers from 0 to `below` − 1; `length` of them, if given."""
        found = self.array(name, dtype, (length,))
        inside = not found.size or 0 <= int(found.min()) <= int(found.max()) < below
        self.check(inside, f"the array {name!r} must hold indices from 0 to {below - 1}")
        return found

    def offsets(self, name: str, end: int, length: int | None = None) -> NDArray[np.int64]:
        """The array of this name, which must rise from 0 to `end`: where each of `length` parts begins, and the end."""
        found: NDArray[np.int64] = self.array(name, np.int64, (None if length is None else length + 1,))
        rises = found.size > 0 and found[0] == 0 and found[-1] == end and (found[1:] >= found[:-1]).all()
        self.check(rises, f"the array {name!r} must rise from 0 to {end}")
        return found

    def expect(self, kind: str, version: int) -> None:
        """Refuses a state of another kind, or of a newer version than `version`."""
        if self.kind != kind:
            raise InputError(f"a state of kind {kind!r} is needed; got one of kind {self.kind!r}.")
        if self.version > version:
            raise InputError(
                f"{self._name} must have a version up to {version}; got version {self.version}, which a newer onkel "
                "has written. Update onkel to read it."
            )

    @property
    def _name(self) -> str:
        return f"the state of kind {self.kind!r}"

    def _value(self, name: str) -> Setting:
        if name not in self.settings:
            raise InputError(f"{self._name} must have the setting {name!r}; it has {_listed(self.settings)}.")
        return self.settings[name]

    # ---------------------------------------------------------------- parts

    def with_part(self, name: str, part: State) -> State:
        """This state with another one inside it, from which ``part(name)`` returns it unchanged."""
        prefix = f"{name}/"
        if "/" in name or name in self.settings or any(array.startswith(prefix) for array in self.arrays):
            raise InputError(f'{self._name}: a part needs a name without "/" that is not taken yet; got {name!r}.')
        inner: dict[str, Setting] = {"kind": part.kind, "version": part.version, "settings": part.settings}
        arrays = {prefix + key: array for key, array in part.arrays.items()}
        return State(self.kind, self.version, {**self.settings, name: inner}, {**self.arrays, **arrays})

    def part(self, name: str) -> State:
        """The state that `with_part` has put under this name."""
        inner = self._value(name)
        if not isinstance(inner, Mapping) or set(inner) != {"kind", "version", "settings"}:
            raise InputError(
                f"{self._name}: {name!r} must be a part, with kind, version and settings; got {shown(inner)}."
            )
        arrays = self._arrays_of_parts.get(name, {})
        return State(inner["kind"], inner["version"], inner["settings"], arrays)  # type: ignore[arg-type]

    @functools.cached_property
    def _arrays_of_parts(self) -> dict[str, dict[str, NDArray]]:
        """The arrays of each part, found once: a state may have thousands of parts."""
        found: dict[str, dict[str, NDArray]] = {}
        for name, array in self.arrays.items():
            part, slash, rest = name.partition("/")
            if slash:
                found.setdefault(part, {})[rest] = array
        return found

    # ---------------------------------------------------------------- Python

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, State):
            return NotImplemented
        return (
            (self.kind, self.version) == (other.kind, other.version)
            and _same_setting(self.settings, other.settings)
            and self.arrays.keys() == other.arrays.keys()
            and all(_same_array(array, other.arrays[name]) for name, array in self.arrays.items())
        )

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[type[State], tuple[object, ...]]:
        # copies and pickles are made by the constructor, because an unpickled array can be written to
        return State, (self.kind, self.version, _plain(self.settings), dict(self.arrays))

    def __repr__(self) -> str:
        arrays = ", ".join(f"{name}: {array.dtype} {array.shape}" for name, array in self.arrays.items())
        return f"State({self.kind!r}, {self.version}, {_plain(self.settings)!r}, {{{arrays}}})"


def from_state(state: State, room: str = "") -> Any:
    """The object that a state was made of: its class is found by the kind of the state.

    `room` is what the kind must start with, such as "model/"; any kind by default.
    """
    if not isinstance(state, State):
        raise KindError(f"from_state: a State is needed; got {type(state).__name__}.")
    if state.kind not in KINDS or not state.kind.startswith(room):
        known = ", ".join(kind for kind in KINDS if kind.startswith(room))
        raise InputError(
            f"from_state: the kind must be one of {known}; got {shown(state.kind)}. "
            "If a newer onkel has written it, update onkel to read it."
        )
    return _imported(KINDS[state.kind]).from_state(state)


def _imported(path: str) -> Any:
    """What the registry names as "module:name"."""
    module, _, name = path.partition(":")
    return getattr(importlib.import_module(module), name)


# ---------------------------------------------------------------- settings


def _frozen(value: object, where: str) -> Setting:
    """A copy of a setting that cannot be changed; refuses what JSON could not hold, except kernels."""
    if type(value) in SCALARS:
        return value  # type: ignore[return-value]
    if isinstance(value, np.generic) and type(value.item()) in SCALARS:
        return value.item()  # type: ignore[no-any-return]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str) or key.startswith("$"):
                raise KindError(
                    f'State: the keys of {where} must be strings that do not start with "$"; got {key!r}. '
                    "Write a dict with other keys as a list of pairs [key, value]."
                )
        return MappingProxyType({str(key): _frozen(item, f"{where}[{key!r}]") for key, item in value.items()})
    if isinstance(value, (list, tuple)):
        return tuple(_frozen(item, f"{where}[{i}]") for i, item in enumerate(value))
    if isinstance(value, Configured):  # last: the check of a protocol is slow
        return value
    raise KindError(
        f"State: {where} must be None, a bool, a number, a string, a kernel, or a list or dict of these; got "
        f"{type(value).__name__}. Put arrays into `arrays`, and write other objects as numbers and strings."
    )


def _plain(value: Setting) -> Setting:
    """The setting with dicts in the place of read-only mappings, which cannot be pickled."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return tuple(map(_plain, value)) if isinstance(value, tuple) else value


def _same_setting(a: object, b: object) -> bool:
    """Whether two settings have the same types and values; 1, 1.0 and True differ, and so do 0.0 and −0.0."""
    if isinstance(a, Mapping):
        return isinstance(b, Mapping) and a.keys() == b.keys() and all(_same_setting(a[key], b[key]) for key in a)
    if isinstance(a, tuple):
        return isinstance(b, tuple) and len(a) == len(b) and all(map(_same_setting, a, b))
    if type(a) is not type(b):
        return False
    return a.hex() == b.hex() if isinstance(a, float) and isinstance(b, float) else bool(a == b)


def _same_array(a: NDArray, b: NDArray) -> bool:
    """Whether two arrays have the same dtype, shape and bytes; objects must be equal and of the same type."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if not a.dtype.hasobject:
        return a.tobytes() == b.tobytes()
    return all(map(_same_object, a.ravel().tolist(), b.ravel().tolist()))


def _same_object(a: object, b: object) -> bool:
    if a is b or type(a) is not type(b):
        return a is b
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return _same_array(a, b)
    return bool(a == b) or bool(a != a and b != b)  # NaN equals NaN


def _fits(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(shape) == len(wanted) and all(n is None or n == m for n, m in zip(wanted, shape, strict=True))


def _listed(names: Mapping[str, object]) -> str:
    return ", ".join(map(repr, names)) or "none"


# ---------------------------------------------------------------- JSON


def to_json(settings: Mapping[str, Setting]) -> dict[str, JSON]:
    """Settings as a dict that `json.dumps` can write and `from_json` reads.

    A kernel becomes {"$kernel": kernel.config()}, which refuses functions that are not registered. NaN and infinities,
    which JSON does not have, become {"$float": "nan"} and the like.

    >>> from onkel.states.state import to_json
    >>> to_json({"budget": 50, "rate": float("inf")})
    {'budget': 50, 'rate': {'$float': 'inf'}}
    """
    return {key: _to_json(value) for key, value in settings.items()}


def _to_json(value: Setting) -> JSON:
    if isinstance(value, Configured):
        return {KERNEL: value.config()}
    if isinstance(value, float) and not math.isfinite(value):
        return {FLOAT: str(value)}
    if isinstance(value, Mapping):
        return to_json(value)
    return value if isinstance(value, str) or not isinstance(value, Sequence) else [_to_json(item) for item in value]


def from_json(plain: Mapping[str, JSON]) -> dict[str, Setting]:
    """The settings that `to_json` has written."""
    return {key: _from_json(value) for key, value in plain.items()}


def _from_json(value: JSON) -> Setting:
    if isinstance(value, Mapping):
        if KERNEL in value:
            kernel: Configured = _imported(FROM_CONFIG)(value[KERNEL])
            return kernel
        if FLOAT in value:
            if value[FLOAT] not in ("nan", "inf", "-inf"):
                raise InputError(f"from_json: {FLOAT} must be 'nan', 'inf' or '-inf'; got {value[FLOAT]!r}.")
            return float(str(value[FLOAT]))
        return from_json(value)
    return value if isinstance(value, str) or not isinstance(value, Sequence) else [_from_json(item) for item in value]
