"""Templates of features, in the syntax of CRF++.

A line is a template. At each token, its parts are replaced by what stands there, and the result is a feature:

    U01:%x[-1,0]/%x[0,0]     the word before (column 0, one row up), and the word       U01:the/dog
    U02:%lower.suffix3[0,0]  a form of a word; forms are applied from left to right     U02:ing
    U03?:%x[-2,0]            with ?, left out where a part is outside the sentence
    U04:%bos   U05:%eos      at the first, at the last token of a sentence only         U04:_BOS
    B                        pairs of neighbouring labels, which SequencePerceptron learns in any case
    B01:%x[0,1]              pairs of neighbouring labels together with an observation
    # a comment

Outside the sentence, a part is _B-1, _B-2, … before its first token and _B+1, _B+2, … after its last one, whatever its
form. Forms of a word (onkel.text.word_forms) are lower, prefix1, prefix2, …, suffix1, …, shape (Xxx-00), shortshape
(Xx-0) and flags (d digit, h hyphen, c capital, o other). An affix of a shorter word is the whole word. Names that end
in ?, the forms, %bos and %eos are additions to CRF++.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Self

from onkel.checks import check_one_of
from onkel.errors import InputError, KindError
from onkel.text.word_forms import FORMS, word_form

__all__ = ["Part", "Template", "Templates"]

FARTHEST = 99  # the largest offset, in absolute value
MOST_FORMS = 20  # of one part
EDGES = ("bos", "eos")
_MACRO = re.compile(r"%([a-z0-9.]+)(?:\[\s*([+-]?\d{1,9})\s*,\s*(\d{1,9})\s*\])?")
_NAME = re.compile(r"[UB][^:%\s]*")


@dataclass(frozen=True)
class Part:
    """What a template reads: a form of the value in a column, some tokens from the current one.

    `column` is None for %bos and %eos, which stand in `forms`.
    """

    offset: int
    column: int | None
    forms: tuple[str, ...] = ()

    def __str__(self) -> str:
        if self.column is None:
            return f"%{self.forms[0]}"
        return f"%{'.'.join(self.forms) or 'x'}[{self.offset},{self.column}]"

    @property
    def view(self) -> tuple[int | None, tuple[str, ...]]:
        """What it reads at a token: the column and the forms."""
        return self.column, self.forms


@dataclass(frozen=True)
class Template:
    """A line of templates: a name, and pieces that are parts or plain text."""

    name: str
    pieces: tuple[str | Part, ...] = ()

    @property
    def parts(self) -> tuple[Part, ...]:
        """The pieces that are replaced by what stands in the columns."""
        return tuple(piece for piece in self.pieces if isinstance(piece, Part))

    @property
    def of_bigrams(self) -> bool:
        """Whether its features are of pairs of labels."""
        return self.name.startswith("B")

    @property
    def inside(self) -> bool:
        """Whether it is left out where a part is outside the sentence."""
        return self.name.endswith("?")

    def __str__(self) -> str:
        return self.name + (":" + "".join(map(str, self.pieces)) if self.pieces else "")

    def feature(self, values: tuple[str, ...]) -> str:
        """The name of a feature: the line with these values in place of its parts."""
        rest = iter(values)
        filled = "".join(next(rest) if isinstance(piece, Part) else piece for piece in self.pieces)
        return self.name + (":" + filled if self.pieces else "")


@dataclass(frozen=True)
class Templates:
    """Templates of features in the syntax of CRF++, with forms of words.

    Made by `Templates.parse` from text, or by `Templates.ready`; ``str(templates)`` is text that reads back.

    Parameters
    ----------
    templates : tuple of Template, each with another name.

    >>> from onkel.data import Templates
    >>> templates = Templates.parse("U01:%x[-1,0]/%x[0,0]  \\n# suffixes\\nU02:%lower.suffix3[0,0]\\nB")
    >>> print(templates)
    U01:%x[-1,0]/%x[0,0]
    U02:%lower.suffix3[0,0]
    B

    Source: T. Kudo, CRF++: Yet Another CRF toolkit, 2005, its template files.
    """

    templates: tuple[Template, ...]

    def __post_init__(self) -> None:
        names = [template.name for template in self.templates]
        double = sorted(name for name, n in Counter(names).items() if n > 1)
        if double:
            raise InputError(f"Templates: each template must have a name of its own; got {', '.join(double)} twice.")

    @classmethod
    def parse(cls, text: str) -> Self:
        """The templates of a text, one per line; blank lines and lines that start with # are left out."""
        if not isinstance(text, str):
            raise KindError(f"Templates.parse: expected text; got {type(text).__name__}. Read the file first.")
        found: dict[str, Template] = {}
        for number, line in enumerate(text.splitlines(), start=1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            who = f"Templates.parse, line {number}, {line!r}"
            template = _template(line, who)
            if template.name in found:
                raise InputError(
                    f"{who}: each template must have a name of its own; {template.name} is also that of "
                    f"{str(found[template.name])!r}. Number them: U00, U01, …"
                )
            found[template.name] = template
        return cls(tuple(found.values()))

    @classmethod
    def ready(cls, name: str) -> Self:
        """A set of templates for a task: "chunking" (columns word and part of speech), "ner" or "pos" (column word)."""
        check_one_of(name, "name", tuple(READY), "Templates.ready")
        return cls.parse(READY[name])

    @property
    def n_columns(self) -> int:
        """The number of columns that they need."""
        columns = [part.column for template in self.templates for part in template.parts]
        return 1 + max((column for column in columns if column is not None), default=-1)

    @property
    def label_bigrams(self) -> bool:
        """Whether they ask for pairs of neighbouring labels: a line B without parts."""
        return any(template.of_bigrams and not template.parts for template in self.templates)

    def __str__(self) -> str:
        return "\n".join(map(str, self.templates))

    def __repr__(self) -> str:
        return f"Templates.parse({str(self)!r})"

    def __len__(self) -> int:
        return len(self.templates)


def _template(line: str, who: str) -> Template:
    """Reads one line."""
    name, colon, pattern = line.partition(":")
    if not _NAME.fullmatch(name):
        raise InputError(f"{who}: a template must start with a name U… or B… and a colon, such as U01:%x[0,0].")
    pieces: list[str | Part] = []
    at = 0
    for found in _MACRO.finditer(pattern):
        pieces += [pattern[at : found.start()]] if found.start() > at else []
        pieces.append(_part(found, who))
        at = found.end()
    pieces += [pattern[at:]] if at < len(pattern) else []
    if any(isinstance(piece, str) and "%" in piece for piece in pieces):
        raise InputError(f"{who}: a part must be written as %x[offset,column] or %form[offset,column].")
    if colon and not pieces:
        raise InputError(f"{who}: expected a part, such as %x[0,0], behind the colon.")
    return Template(name, tuple(pieces))


def _part(found: re.Match[str], who: str) -> Part:
    """Reads one part."""
    forms = tuple(found[1].split("."))
    if found[2] is None:
        if len(forms) == 1 and forms[0] in EDGES:
            return Part(0, None, forms)
        raise InputError(f"{who}: expected [offset,column] behind %{found[1]}, such as %{found[1]}[0,0].")
    forms = () if forms == ("x",) else forms
    if len(forms) > MOST_FORMS:
        raise InputError(f"{who}: a part must have at most {MOST_FORMS} forms; got {len(forms)}.")
    for form in forms:
        if word_form(form) is None:
            raise InputError(
                f"{who}: a form must be x, {', '.join(FORMS)}, or prefix or suffix with a number from 1 to 99; "
                f"got {form!r}."
            )
    offset = int(found[2])
    if abs(offset) > FARTHEST:
        raise InputError(f"{who}: an offset must be between -{FARTHEST} and {FARTHEST}; got {offset}.")
    return Part(offset, int(found[3]), forms)


# ---------------------------------------------------------------- ready templates


def _numbered(*patterns: str) -> str:
    lines = [f"U{i:02d}:{pattern}" for i, pattern in enumerate(patterns)]
    return "\n".join([*lines, "B"])


_WORDS = tuple(f"%x[{i},0]" for i in range(-2, 3))
_WORD_PAIRS = ("%x[-1,0]/%x[0,0]", "%x[0,0]/%x[1,0]")
_TAGS = tuple(f"%x[{i},1]" for i in range(-2, 3))
_TAG_PAIRS = tuple(f"%x[{i},1]/%x[{i + 1},1]" for i in range(-2, 2))
_TAG_TRIPLES = tuple(f"%x[{i},1]/%x[{i + 1},1]/%x[{i + 2},1]" for i in range(-2, 1))
_MIXED = tuple(f"%x[{i},0]/%x[{j},1]" for i, j in ((0, 0), (0, -1), (0, 1), (-1, 0), (1, 0)))


def _affixes(kind: str, first: int, last: int) -> tuple[str, ...]:
    return tuple(f"%lower.{kind}{n}[0,0]" for n in range(first, last + 1))


READY = {
    # Words and parts of speech as in CRFsuite's chunking example, forms of the word, pairs of word and part of speech.
    "chunking": _numbered(
        *(*_WORDS, *_WORD_PAIRS, *_TAGS, *_TAG_PAIRS, *_TAG_TRIPLES),
        *("%lower[0,0]", *(f"%prefix{n}[0,0]" for n in (2, 3, 4)), *(f"%suffix{n}[0,0]" for n in (1, 2, 3, 4))),
        *(*(f"%shape[{i},0]" for i in (-1, 0, 1)), "%shortshape[0,0]", *_MIXED),
    ),
    # Shapes and affixes find names that were not seen; the words around them say of which kind they are.
    "ner": _numbered(
        *(*_WORDS, *_WORD_PAIRS, *(f"%lower[{i},0]" for i in (-1, 0, 1))),
        *(*_affixes("prefix", 1, 4), *_affixes("suffix", 1, 4)),
        *(*(f"%shortshape[{i},0]" for i in range(-2, 3)), "%shape[0,0]"),
        *("%shortshape[-1,0]/%shortshape[0,0]", "%shortshape[0,0]/%shortshape[1,0]"),
        *("%lower[-1,0]/%shortshape[0,0]", "%shortshape[0,0]/%lower[1,0]", "%flags[0,0]"),
    ),
    "pos": _numbered(
        *("%x[0,0]", *(f"%lower[{i},0]" for i in range(-2, 3))),
        *("%lower[-1,0]/%lower[0,0]", "%lower[0,0]/%lower[1,0]"),
        *(*_affixes("prefix", 1, 4), *_affixes("suffix", 1, 5)),
        *("%lower.suffix3[-1,0]", "%lower.suffix3[1,0]", "%shortshape[0,0]", "%flags[0,0]"),
    ),
}
