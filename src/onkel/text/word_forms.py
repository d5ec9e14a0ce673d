"""Forms of words that templates can ask for: lower case, affixes, shapes, kinds of characters.

A form is a function of a list of words, as it is computed for all distinct words of a corpus at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable

__all__ = ["FORMS", "Form", "word_form"]

Form = Callable[[list[str]], list[str]]

_AFFIX = re.compile(r"(prefix|suffix)([1-9][0-9]?)")
_RUNS = re.compile(r"(.)\1+", re.DOTALL)


class _Shapes(dict[int, str]):
    """The shape of each character: X, x, 0, or the character itself."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        self[code] = "X" if char.isupper() else "x" if char.isalpha() else "0" if char.isdigit() else char
        return self[code]


_SHAPES = _Shapes()


def _lower(words: list[str]) -> list[str]:
    return [word.lower() for word in words]


def _shape(words: list[str]) -> list[str]:
    shapes = "\n".join(words).translate(_SHAPES).split("\n")  # one call is much faster than one per word
    return shapes if len(shapes) == len(words) else [word.translate(_SHAPES) for word in words]


def _short_shape(words: list[str]) -> list[str]:
    return _of_shapes(words, lambda shape: _RUNS.sub(r"\1", shape))


def _flags(words: list[str]) -> list[str]:
    return _of_shapes(words, _flags_of_shape)


def _of_shapes(words: list[str], function: Callable[[str], str]) -> list[str]:
    """A function of the shape of each word; there are far fewer shapes than words."""
    shapes = _shape(words)
    known = {shape: function(shape) for shape in set(shapes)}
    return [known[shape] for shape in shapes]


def _flags_of_shape(shape: str) -> str:
    """Which kinds of characters a word has: d digit, h hyphen, c capital, o other than these and letters; or _."""
    chars = set(shape)
    flags = "d" * ("0" in chars) + "h" * ("-" in chars) + "c" * ("X" in chars) + "o" * bool(chars - set("Xx0-"))
    return flags or "_"


FORMS: dict[str, Form] = {"lower": _lower, "shape": _shape, "shortshape": _short_shape, "flags": _flags}


def word_form(name: str) -> Form | None:
    """The function of this name: one of `FORMS`, or prefix or suffix with a length from 1 to 99; else None.

    The prefix or suffix of a word that is shorter is the whole word.
    """
    found = _AFFIX.fullmatch(name)
    if found is None:
        return FORMS.get(name)
    n = int(found[2])
    if found[1] == "prefix":
        return lambda words: [word[:n] for word in words]
    return lambda words: [word[-n:] for word in words]
