"""The JSON of a file: written in one canonical form, read with limits."""

from __future__ import annotations

import json
import math
import os
from typing import Any, NoReturn

from onkel.errors import FileFormatError

__all__ = ["MAX_VALUES", "canonical", "is_small", "parse"]

MAX_NESTING = 100  # lists and objects inside one another: more than any state has, fewer than Python's recursion allows
MAX_VALUES = 250_000  # in all; each may take some hundred bytes of memory


def canonical(value: Any) -> str:
    """JSON text that is the same for equal values: sorted keys, no spaces, ASCII only."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def parse(text: bytes, path: str | os.PathLike[str]) -> Any:
    """The value of JSON text from a file.

    Duplicate keys, NaN and infinities, too many values, and values that are nested too deep are refused.
    """

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise FileFormatError(path, "its JSON must not have a key twice in one object")
        return found

    def refuse(constant: str) -> NoReturn:
        raise FileFormatError(path, f"its JSON must not have {constant}")

    def finite(digits: str) -> float:
        number = float(digits)
        return number if math.isfinite(number) else refuse(digits[:20])

    try:
        value = json.loads(text.decode(), object_pairs_hook=unique, parse_constant=refuse, parse_float=finite)
    except FileFormatError:
        raise
    except (ValueError, RecursionError) as error:  # no UTF-8, no JSON, numbers of too many digits, or too deep
        raise FileFormatError(path, f"its header must be JSON: {str(error)[:200]}") from None
    if not is_small(value):
        raise FileFormatError(
            path, f"its JSON must have at most {MAX_VALUES} values, nested at most {MAX_NESTING} deep"
        )
    return value


def is_small(value: Any) -> bool:
    """Whether a JSON value is neither too deep nor too large."""
    level, n_values = [value], 1
    for _ in range(MAX_NESTING):
        level = [item for outer in level for item in _items(outer)]
        n_values += len(level)
        if not level or n_values > MAX_VALUES:
            return n_values <= MAX_VALUES
    return False


def _items(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
