"""The exceptions of onkel, and warnings that point to the user's line of code.

    OnkelError
    ├── InputError (ValueError)      data or a parameter that cannot be used
    │   ├── ShapeError               wrong number of dimensions, rows or columns
    │   ├── ValuesError              NaN, infinity, or values outside a kernel's domain
    │   ├── ParameterError           a parameter outside its range
    │   ├── GramError                a matrix that is not a valid Gram matrix; carries `witness`
    │   └── FileFormatError          a file that cannot be read as what it should be; carries `path` and `reason`
    └── KindError (TypeError)        the wrong kind of object or dtype

Every message says what was expected, what was given, and what to do.
"""

from __future__ import annotations

import contextlib
import os
import re
import reprlib
import sys
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "FileFormatError",
    "GramError",
    "InputError",
    "KindError",
    "OnkelError",
    "ParameterError",
    "ShapeError",
    "ValuesError",
]


class OnkelError(Exception):
    """Base class of all exceptions of onkel."""


class InputError(OnkelError, ValueError):
    """Data or a parameter that cannot be used; also a ValueError."""


class ShapeError(InputError):
    """Wrong number of dimensions, rows or columns."""


class ValuesError(InputError):
    """NaN, infinity, or values outside a kernel's domain."""


class ParameterError(InputError):
    """A parameter outside its range."""


class GramError(InputError):
    """A matrix that is not a valid Gram matrix.

    `witness` is a vector b with bᵀKb < 0, or None if the matrix is invalid for another reason.
    """

    def __init__(self, message: str, witness: NDArray | None = None) -> None:
        super().__init__(message)
        self.witness = witness


class FileFormatError(InputError):
    """A file that cannot be read as a model: not an onkel file, damaged, or written by a newer onkel.

    `path` is the file, `reason` what is wrong with it.
    """

    def __init__(self, path: str | os.PathLike[str], reason: str) -> None:
        super().__init__(path, reason)
        self.path, self.reason = os.fspath(path), reason

    def __str__(self) -> str:
        return f"{self.path} cannot be loaded: {self.reason}."


class KindError(OnkelError, TypeError):
    """The wrong kind of object or dtype; also a TypeError."""


_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = 60


def shown(value: object) -> str:
    """A value in a message: its repr, shortened, since what came may be huge, or have too many digits to print."""
    if getattr(value, "shape", ()):
        return f"an array of shape {value.shape}"  # type: ignore[attr-defined]
    try:
        return _REPR.repr(value)
    except ValueError:
        return f"a {type(value).__name__} that cannot be printed"


_SIGNED = re.compile(r"\w+(\.\w+)*: ")


@contextlib.contextmanager
def signed(who: str) -> Iterator[None]:
    """Puts `who`, what the user called, before the messages of errors that do not begin with a name.

    Rooms below the estimators do not know for whom they work, so their messages have no name.
    """
    try:
        yield
    except OnkelError as error:
        if len(error.args) == 1 and not _SIGNED.match(str(error)):
            error.args = (f"{who}: {error}",)
        raise


_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Issues a warning that is attributed to the innermost line outside onkel that led to it."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)
