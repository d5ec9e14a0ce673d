"""The JSON of a file: written in one canonical form, read with limits."""

from __future__ import annotations

import json
import os
from typing import Any, NoReturn

from onkel.errors import FileFormatError

__all__ = ["canonical", "parse"]

MAX_DEPTH = 100  # lists and objects inside one another: more than any state has, fewer than Python's recursion allows


def canonical(value: Any) -> str:
    """JSON text that is the same for equal values: sorted keys, no spaces, ASCII only."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def parse(text: bytes, path: str | os.PathLike[str]) -> Any:
    """The value of JSON text from a file. Duplicate keys, NaN, and too deep nesting are refused."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise FileFormatError(path, "its JSON must not have a key twice in one object")
        return found

    def refuse(constant: str) -> NoReturn:
        raise FileFormatError(path, f"its JSON must not have {constant}")

    try:
        value = json.loads(text.decode(), object_pairs_hook=unique, parse_constant=refuse)
    except FileFormatError:
        raise
    except (ValueError, RecursionError) as error:  # no UTF-8, no JSON, numbers of too many digits, or too deep
        raise FileFormatError(path, f"its header must be JSON: {str(error)[:200]}") from None
    if not _is_shallow(value):
        raise FileFormatError(path, f"its JSON must be nested at most {MAX_DEPTH} deep")
    return value


def _is_shallow(value: Any) -> bool:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [item for outer in level for item in _items(outer)]
        if not level:
            return True
    return False


def _items(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
