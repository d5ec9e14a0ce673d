"""The contract that every kernel keeps.

A kernel is a frozen value that holds numbers only: compared and hashed by content, printed so
that it reads back. From outside it is called, ``k(X, Z)``, asked for its diagonal, and combined;
inside, `tiles` drives it through three methods on rows that have passed the door:

    _gram(x, z, out)              out[i, j] = k(x_i, z_j), one tile
    _add_scores(x, s, A, out)     out += k(x, s) @ A, without ever holding more than a tile
    _diag(x)                      k(x_i, x_i), float64

A new kernel must give `_gram` and `_diag`; `_add_scores` follows from `_gram`, and kernels that
are linear in their parts, or have a map in the compiled core, give a better one.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from onkel.errors import KindError, ParameterError

if TYPE_CHECKING:
    from onkel.kernels.rows import Rows

__all__ = ["Kernel", "Takes"]

Takes = Literal["vectors", "objects", "gram", "anything"]

# Values of a tile on the general path: 1 MB of float64, so that the maps over it stay in cache.
TILE_VALUES = 1 << 17


@dataclasses.dataclass(frozen=True)
class Kernel(ABC):
    """A similarity k(x, z) that stands for an inner product ⟨φ(x), φ(z)⟩.

    Kernels combine: ``k1 + k2``, ``k + c``, ``k1 * k2``, ``2.5 * k``, ``k ** 3``, ``k.exp()``,
    ``k.normalized()``, ``k.on(columns)``, ``k.scaled(f)``, ``k.after(phi)``.
    """

    @property
    def takes(self) -> Takes:
        """What the kernel compares: rows of a matrix, objects, or rows of a Gram matrix."""
        return "vectors"

    # ---- what a user calls

    def __call__(self, X: Any, Z: Any = None) -> NDArray:
        """The Gram block of k(xᵢ, zⱼ), shape (rows of X, rows of Z); Z is X where it is left out.

        float32 rows give float32 values, everything else float64.
        """
        from onkel.kernels.tiles import gram

        return gram(self, X, Z)

    def diag(self, X: Any) -> NDArray:
        """k(xᵢ, xᵢ) for each row, without the Gram matrix."""
        from onkel.kernels.tiles import prepare

        rows = prepare(self, X, itself=True)
        return self._diag(rows).astype(rows.dtype)  # a copy: what _diag gives may be shared

    @property
    @abstractmethod
    def is_psd(self) -> bool | None:
        """True: every Gram matrix is positive semi-definite. False: not in general. None: unknown."""

    # ---- what tiles and the combinations call, inside the door

    @abstractmethod
    def _gram(self, x: Rows, z: Rows, out: NDArray) -> None: ...

    def _gram_one(self, x: Rows, z: Rows, out: NDArray) -> None:
        """out = k(x, z) of one row, followed by anything: `out`, of shape (1, n), has room for more."""
        self._gram(x, z, out[:, : len(z)])

    def _gram_below(self, x: Rows, out: NDArray) -> None:
        """out = k(x, x) on and below the diagonal; above it anything."""
        self._gram(x, x, out)

    @abstractmethod
    def _diag(self, x: Rows) -> NDArray[np.float64]: ...

    def _add_scores(self, x: Rows, s: Rows, A: NDArray[np.float64], out: NDArray[np.float64]) -> None:
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
        """The same, and values = k(x, s), whose columns are contiguous."""
        self._gram(x, s, values)
        out += values.astype(np.float64, copy=False) @ A

    @property
    def _within_one(self) -> bool:
        """Whether k(x, x) ≤ 1 for every x, by the kernel's form."""
        return False

    def _cost(self, x: Rows) -> float:
        """Roughly the multiply-adds of one value with these rows; inf where it takes Python to compute it."""
        return math.inf

    def _check_rows(self, x: Rows, name: str) -> None:
        """Refuses rows outside the kernel's domain."""

    # ---- parameters, as scikit-learn asks for them

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameter names mapped to their values; with `deep`, those of the parts too."""
        params: dict[str, Any] = {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.init}
        if deep:
            for name, part in self._parts().items():
                params.update({f"{name}__{key}": value for key, value in part.get_params().items()})
        return params

    def with_params(self, **params: Any) -> Kernel:
        """The same kernel with some parameters replaced: ``RBF(gamma=1.0).with_params(gamma=2.0)``."""
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

    def _parts(self) -> dict[str, Kernel]:
        return {}

    def _with_parts(self, parts: dict[str, Kernel]) -> Kernel:
        return dataclasses.replace(self, **parts)

    def _flat(self) -> Kernel:
        """The same kernel as the algebra would have built it."""
        return self

    def __sklearn_clone__(self) -> Self:
        return self  # frozen: a copy would be the same value

    # ---- the algebra

    __array_ufunc__ = None  # NumPy numbers leave the operators to the kernel

    def __add__(self, other: Kernel | float) -> Kernel:
        from onkel.kernels.combine import Constant, add

        if isinstance(other, Kernel):
            return add(self, other)
        return add(self, Constant(other)) if _is_number(other) else NotImplemented

    def __radd__(self, other: float) -> Kernel:
        from onkel.kernels.combine import Constant, add

        return add(Constant(other), self) if _is_number(other) else NotImplemented

    def __mul__(self, other: Kernel | float) -> Kernel:
        from onkel.kernels.combine import multiple, multiply

        if isinstance(other, Kernel):
            return multiply(self, other)
        return multiple(other, self) if _is_number(other) else NotImplemented

    def __rmul__(self, other: float) -> Kernel:
        from onkel.kernels.combine import multiple

        return multiple(other, self) if _is_number(other) else NotImplemented

    def __pow__(self, exponent: int) -> Kernel:
        """k(x, z)ᵖ for a whole number p ≥ 1."""
        from onkel.kernels.combine import power

        return power(self, exponent)

    def exp(self) -> Kernel:
        """exp(k(x, z))."""
        from onkel.kernels.combine import Exp

        return Exp(self)

    def normalized(self) -> Kernel:
        """k(x, z) / √(k(x, x) k(z, z)): every point at distance 1 from the origin; 0 stays 0."""
        from onkel.kernels.combine import Normalized

        return self if isinstance(self, Normalized) else Normalized(self)

    def on(self, columns: Sequence[int]) -> Kernel:
        """The kernel on some columns of the rows: ``RBF(gamma=1.0).on([0, 2])``."""
        from onkel.kernels.combine import On

        return On(self, columns)  # type: ignore[arg-type]

    def scaled(self, f: Callable[[Any], Any]) -> Kernel:
        """f(x) k(x, z) f(z), where f takes rows (n, d) and gives n numbers."""
        from onkel.kernels.custom import Scaled

        return Scaled(self, f)

    def after(self, phi: Callable[[Any], Any]) -> Kernel:
        """k(φ(x), φ(z)), where φ takes rows (n, d) and gives rows that the kernel takes."""
        from onkel.kernels.custom import After

        return After(self, phi)


def _is_number(value: object) -> bool:
    return isinstance(value, (numbers.Real, np.number))


def same_kind(kernels: Sequence[Kernel], what: str) -> Takes:
    """What all the parts of a combination take; refuses a mixture, and what is no kernel."""
    for kernel in kernels:
        if not isinstance(kernel, Kernel):
            raise KindError(f"a {what} needs kernels such as RBF(gamma=1.0); got {kernel!r}.")
    kinds = {k.takes for k in kernels} - {"anything"}
    if len(kinds) > 1:
        listed = ", ".join(f"{k!r} takes {k.takes}" for k in kernels)
        raise KindError(f"a {what} needs parts that take the same input; {listed}.")
    return kinds.pop() if kinds else "anything"
