"""The base class of all kernels: what users call, and what a new kernel implements.

A kernel is a frozen dataclass whose fields are its parameters. Kernels are compared and hashed by content, and their
repr reads back (unless they hold a function). Users call ``k(X, Z)`` and ``k.diag(X)`` and combine kernels; for them a
new kernel defines the property `is_psd` and, unless it compares rows of a matrix, the property `takes`. `k.config()`
writes the kernel as JSON; it follows the types of the fields (`onkel.kernels.config`), so that a new kernel need not
define it.

The rest of the library uses the members below; other rooms reach them as `k.inner.gram`, without the underscore.
Their arguments x, z and s are checked input (`onkel.kernels.rows.Rows`), so that only `_check_rows` validates them. A
new kernel must implement the first two; the others have defaults:

    _gram(x, z, out)             out[i, j] = k(xᵢ, zⱼ). `out` has shape (len(x), len(z)) and may be a strided view.
    _diagonal(x)                 k(xᵢ, xᵢ), shape (n,), float64. The array may be shared: callers do not write to it.

    _gram_one(x, z, out)         k(x, z) of a single row x, written to the first len(z) entries of `out`, which may
                                 have more columns. Default: `_gram`.
    _gram_below(x, out)          k(x, x) on and below the diagonal; the entries above it are unspecified.
                                 Default: `_gram`, which fills the whole block.
    _add_scores(x, s, A, out)    out += k(x, s) @ A. Default: `_gram` for one tile of rows after the other, so that
                                 only one tile of kernel values is in memory.
    _add_scores_keeping(x, s, A, out, values)
                                 The same, and values = k(x, s). Default: `_gram`, then a matrix product.
    _within_one                  Property: True if the form of the kernel guarantees k(x, x) ≤ 1. Default: False.
    _cost(x)                     Estimated multiply-adds per kernel value, from which a learner decides whether to
                                 cache kernel values. Default: inf, as for every kernel that is computed in Python.
    _check_rows(x, name)         Raises an error for rows outside the kernel's domain. Default: all rows are valid.

Kernels that are linear in the values of their parts (sums, multiples) override `_add_scores`, which saves them from
storing kernel values. A kernel that the compiled core can compute derives from `onkel.kernels.product.VectorKernel`: it
defines `_diagonal` and `_form`, its formula in the terms of the core, and inherits `_cost` and the five methods that
compute Gram matrices and scores.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from onkel.errors import KindError, ParameterError
from onkel.kernels.rows import Rows

__all__ = ["Inner", "Kernel", "Operations", "Takes"]

Takes = Literal["vectors", "objects", "gram", "anything"]

# The largest exponent of a power: rounding errors of the base are multiplied by it.
LARGEST_DEGREE = 1e9
# Kernel values of a tile in the default `_add_scores`: 1 MB of float64, so that a tile stays in cache.
TILE_VALUES = 1 << 17


class Operations(NamedTuple):
    """What the public methods of `Kernel` call.

    The modules of these functions are built on kernels, so that this one cannot import them. `onkel.kernels` imports
    them all, and names the functions.
    """

    gram: Callable[[Kernel, Any, Any], NDArray]
    diag: Callable[[Kernel, Any], NDArray]
    config: Callable[[Kernel], dict[str, Any]]
    add: Callable[[Kernel | float, Kernel | float], Kernel]
    multiply: Callable[[Kernel | float, Kernel | float], Kernel]
    power: Callable[[Kernel, int], Kernel]
    exp: Callable[[Kernel], Kernel]
    normalized: Callable[[Kernel], Kernel]
    on: Callable[[Kernel, tuple[int, ...]], Kernel]
    scaled: Callable[[Kernel, Callable[[Any], Any]], Kernel]
    after: Callable[[Kernel, Callable[[Any], Any]], Kernel]


class Inner:
    """What the other rooms ask of a kernel, about rows that are checked; the module says what each member does.

    The members are the bound methods of the kernel, so that a call costs no more than one of the method itself.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.gram = kernel._gram
        self.gram_one = kernel._gram_one
        self.gram_below = kernel._gram_below
        self.diagonal = kernel._diagonal
        self.add_scores = kernel._add_scores
        self.add_scores_keeping = kernel._add_scores_keeping
        self.within_one = kernel._within_one
        self.cost = kernel._cost
        self.check_rows = kernel._check_rows
        # whether there may be rows outside of its domain
        self.refuses_rows = type(kernel)._check_rows is not Kernel._check_rows


@dataclasses.dataclass(frozen=True)
class Kernel(ABC):
    """A similarity k(x, z) that stands for an inner product ⟨φ(x), φ(z)⟩ of feature vectors.

    Kernels can be combined: ``k1 + k2``, ``k + c``, ``k1 * k2``, ``2.5 * k``, ``k ** 3``, ``k.exp()``,
    ``k.normalized()``, ``k.on(columns)``, ``k.scaled(f)``, ``k.after(phi)``.
    """

    _operations: ClassVar[Operations]

    @property
    def takes(self) -> Takes:
        """The kind of input: "vectors" (rows of a matrix), "objects", "gram" (kernel values) or "anything"."""
        return "vectors"

    # ---- public methods

    def __call__(self, X: Any, Z: Any = None) -> NDArray:
        """The matrix of kernel values k(xᵢ, zⱼ), shape (rows of X, rows of Z).

        Z = None (default) stands for X, which gives the Gram matrix of X. The values are float32 if both X and Z are
        and float32 has the range for k(x, x) of their rows, else float64.
        """
        return self._operations.gram(self, X, Z)

    def diag(self, X: Any) -> NDArray:
        """k(xᵢ, xᵢ) for each row of X, computed without the Gram matrix."""
        return self._operations.diag(self, X)

    @property
    @abstractmethod
    def is_psd(self) -> bool | None:
        """True if every Gram matrix is positive semi-definite, False if not in general, None if it is unknown."""

    # ---- called by the rest of the library, on checked input (see the table above)

    @functools.cached_property
    def inner(self) -> Inner:
        """What the rest of the library asks of the kernel; nothing there checks its arguments."""
        return Inner(self)

    def __getstate__(self) -> dict[str, Any]:
        """The parameters; what was computed from them is neither copied nor pickled."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}

    @abstractmethod
    def _gram(self, x: Rows, z: Rows, out: NDArray) -> None:
        """out[i, j] = k(xᵢ, zⱼ)."""

    def _gram_one(self, x: Rows, z: Rows, out: NDArray) -> None:
        """out[0, :len(z)] = k(x, z) for a single row x. `out` (1, capacity) may be wider; its rest is unspecified."""
        self._gram(x, z, out[:, : len(z)])

    def _gram_below(self, x: Rows, out: NDArray) -> None:
        """out = k(x, x) on and below the diagonal; the entries above it are unspecified."""
        self._gram(x, x, out)

    @abstractmethod
    def _diagonal(self, x: Rows) -> NDArray[np.float64]:
        """k(xᵢ, xᵢ), shape (n,); callers do not write to it."""

    def _add_scores(self, x: Rows, s: Rows, A: NDArray[np.float64], out: NDArray[np.float64]) -> None:
        """out += k(x, s) @ A, tile by tile."""
        step = max(1, TILE_VALUES // max(1, len(s)))
        tile = np.empty((min(step, len(x)), len(s)), dtype=x.dtype)
        for start in range(0, len(x), step):
            part = x[start : start + step] if step < len(x) else x
            values = tile[: len(part)]
            self._gram(part, s, values)
            out[start : start + step] += values.astype(np.float64, copy=False) @ A

    def _add_scores_keeping(
        self, x: Rows, s: Rows, A: NDArray[np.float64], out: NDArray[np.float64], values: NDArray
    ) -> None:
        """out += k(x, s) @ A and values = k(x, s); the columns of `values` are contiguous."""
        self._gram(x, s, values)
        out += values.astype(np.float64, copy=False) @ A

    @property
    def _within_one(self) -> bool:
        """Whether the form of the kernel guarantees k(x, x) ≤ 1 for every x."""
        return False

    def _cost(self, x: Rows) -> float:
        """Estimated multiply-adds per kernel value on these rows; inf if values are computed in Python."""
        return math.inf

    def _check_rows(self, x: Rows, name: str) -> None:
        """Raises an error for rows outside the kernel's domain; `name` is the argument's name in the message."""

    # ---- parameters: the methods that scikit-learn uses

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """A dict of parameter names and values.

        With deep = True (default) it includes the parameters of the parts of a composed kernel, as ``part__name``.
        """
        params: dict[str, Any] = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.init}
        if deep:
            for name, part in self._parts().items():
                params.update({f"{name}__{key}": value for key, value in part.get_params().items()})
        return params

    def with_params(self, **params: Any) -> Kernel:
        """A copy with some parameters replaced: ``RBF(gamma=1.0).with_params(gamma=2.0)``.

        ``part__name`` replaces a parameter of a part of a composed kernel.
        """
        own = {key: value for key, value in params.items() if "__" not in key}
        nested: dict[str, dict[str, Any]] = {}
        for key, value in params.items():
            if "__" in key:
                part, _, rest = key.partition("__")
                nested.setdefault(part, {})[rest] = value
        known = {f.name for f in dataclasses.fields(self) if f.init}
        unknown = sorted((set(own) - known) | (set(nested) - set(self._parts())))
        if unknown:
            raise ParameterError(
                f"{type(self).__name__} has no parameter {unknown[0]!r}; it has {', '.join(sorted(self.get_params()))}."
            )
        kernel: Kernel = dataclasses.replace(self, **own)
        parts = {name: kernel._parts()[name].with_params(**changes) for name, changes in nested.items()}
        return (kernel._with_parts(parts) if parts else kernel)._flat()

    def config(self) -> dict[str, Any]:
        """The kernel as a dict that JSON can hold, from which `onkel.kernels.from_config` makes an equal kernel.

        It has the name of the class under "kernel", and the parameters; the kernel inside another one is under "of".
        Functions (``Custom(fn)``, ``k.scaled(f)``, ``k.after(phi)``) are written as the names that
        `onkel.kernels.register` gave them; one without a name is refused, and so are kernels that are not onkel's.

        >>> from onkel.kernels import RBF, from_config
        >>> RBF(gamma=0.5).exp().config()
        {'kernel': 'Exp', 'of': {'kernel': 'RBF', 'gamma': 0.5}}
        >>> from_config({"kernel": "RBF", "gamma": 0.5})
        RBF(gamma=0.5)
        """
        return self._operations.config(self)

    def _parts(self) -> dict[str, Kernel]:
        """The kernels that this kernel is made of, by the names that `get_params` uses."""
        return {}

    def _with_parts(self, parts: dict[str, Kernel]) -> Kernel:
        """A copy with some of its parts replaced."""
        return dataclasses.replace(self, **parts)

    def _flat(self) -> Kernel:
        """The same kernel in the flattened form that the operators build."""
        return self

    def __sklearn_clone__(self) -> Self:
        return self  # frozen: a copy would be the same value

    # ---- the algebra

    __array_ufunc__ = None  # so that ``np.float64(2) * k`` calls __rmul__ of the kernel

    def __add__(self, other: Kernel | float) -> Kernel:
        return self._operations.add(self, other) if _is_operand(other) else NotImplemented

    def __radd__(self, other: float) -> Kernel:
        return self._operations.add(other, self) if _is_operand(other) else NotImplemented

    def __mul__(self, other: Kernel | float) -> Kernel:
        return self._operations.multiply(self, other) if _is_operand(other) else NotImplemented

    def __rmul__(self, other: float) -> Kernel:
        return self._operations.multiply(other, self) if _is_operand(other) else NotImplemented

    def __pow__(self, exponent: int) -> Kernel:
        """k(x, z)ᵖ for a whole number p ≥ 1."""
        return self._operations.power(self, exponent)

    def exp(self) -> Kernel:
        """exp(k(x, z))."""
        return self._operations.exp(self)

    def normalized(self) -> Kernel:
        """k(x, z) / √(k(x, x) k(z, z)): feature vectors are scaled to length 1; those of length 0 stay 0."""
        return self._operations.normalized(self)

    def on(self, columns: Sequence[int]) -> Kernel:
        """The kernel on the given columns only: ``RBF(gamma=1.0).on([0, 2])``."""
        return self._operations.on(self, columns)  # type: ignore[arg-type]

    def scaled(self, f: Callable[[Any], Any]) -> Kernel:
        """f(x) k(x, z) f(z), where f maps rows of shape (n, d) to n numbers."""
        return self._operations.scaled(self, f)

    def after(self, phi: Callable[[Any], Any]) -> Kernel:
        """k(φ(x), φ(z)), where φ maps rows of shape (n, d) to a matrix with n rows."""
        return self._operations.after(self, phi)


def _is_operand(value: object) -> bool:
    return isinstance(value, (Kernel, numbers.Real, np.number))


def same_kind(kernels: Sequence[Kernel], what: str) -> Takes:
    """The kind of input that all parts of a combination take; raises KindError if they differ or are not kernels.

    `what` names the combination in the message, such as "sum".
    """
    for kernel in kernels:
        if not isinstance(kernel, Kernel):
            raise KindError(f"a {what} needs kernels such as RBF(gamma=1.0); got {kernel!r}.")
    kinds = {k.takes for k in kernels} - {"anything"}
    if len(kinds) > 1:
        listed = ", ".join(f"{k!r} takes {k.takes}" for k in kernels)
        raise KindError(f"a {what} needs parts that take the same input; {listed}.")
    return kinds.pop() if kinds else "anything"
