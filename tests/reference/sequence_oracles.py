"""Slow, obvious twins of what is done to sequences: plain Python, strings and dictionaries, one token at a time."""

from __future__ import annotations

import re
from typing import Any

Sentence = list[tuple[str, ...]]

# The features of CRFsuite's chunking example (its file example/chunking.py) as templates. The 19 of words and
# parts of speech are left out where they reach beyond the sentence; its first and last tokens are marked.
CRFSUITE_CHUNKING = "\n".join(
    [
        *(f"U{i + 2:02d}?:%x[{i},0]" for i in range(-2, 3)),
        *("U05?:%x[-1,0]/%x[0,0]", "U06?:%x[0,0]/%x[1,0]"),
        *(f"U{i + 12}?:%x[{i},1]" for i in range(-2, 3)),
        *(f"U{i + 17}?:%x[{i},1]/%x[{i + 1},1]" for i in range(-2, 2)),
        *(f"U{i + 21}?:%x[{i},1]/%x[{i + 1},1]/%x[{i + 2},1]" for i in range(-2, 1)),
        *("U22:%bos", "U23:%eos", "B"),
    ]
)


def slow_form(name: str, word: str) -> str:
    """A form of a word, character by character."""
    if name == "lower":
        return word.lower()
    if name.startswith("prefix"):
        return word[: int(name[6:])]
    if name.startswith("suffix"):
        n = int(name[6:])
        return word if len(word) <= n else word[len(word) - n :]
    shape = ["X" if c.isupper() else "x" if c.isalpha() else "0" if c.isdigit() else c for c in word]
    if name == "shape":
        return "".join(shape)
    if name == "shortshape":
        return "".join(c for i, c in enumerate(shape) if i == 0 or shape[i - 1] != c)
    assert name == "flags"
    digit, hyphen, capital = "0" in shape, "-" in shape, "X" in shape
    other = any(c not in "Xx0-" for c in shape)
    return "".join(flag for flag, there in zip("dhco", (digit, hyphen, capital, other), strict=True) if there) or "_"


def slow_part(macro: str, sentence: Sentence, t: int, inside: bool) -> str | None:
    """What stands for %x[-1,0] or the like at token t; None: nothing."""
    if macro in ("%bos", "%eos"):
        there = t == (0 if macro == "%bos" else len(sentence) - 1)
        return f"_{macro[1:].upper()}" if there else None
    found = re.fullmatch(r"%(.+)\[(.+),(.+)\]", macro)
    assert found
    place = t + int(found[2])
    if place < 0:
        return None if inside else f"_B{place}"
    if place >= len(sentence):
        return None if inside else f"_B+{place - len(sentence) + 1}"
    value = sentence[place][int(found[3])]
    for name in found[1].split("."):
        value = value if name == "x" else slow_form(name, value)
    return value


class SlowTemplateFeatures:
    """A dictionary from (template, strings of its parts) to ids, for features of labels and of pairs of labels."""

    def __init__(self, text: str) -> None:
        self.lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        self.known: tuple[dict[Any, int], dict[Any, int]] = ({}, {})

    def features(self, sentence: Sentence, t: int, bigrams: bool) -> list[tuple[str, tuple[str, ...]]]:
        """The features of one token."""
        found = []
        for line in self.lines:
            name, _, pattern = line.partition(":")
            macros = re.findall(r"%[\w.]+(?:\[[^]]*\])?", pattern)
            if name.startswith("B") != bigrams or (bigrams and (not macros or t == 0)):
                continue
            parts = [slow_part(macro, sentence, t, name.endswith("?")) for macro in macros]
            if None not in parts:
                found.append((line, tuple(parts)))
        return found

    def ids(self, sentences: list[Sentence], *, add: bool, bigrams: bool = False) -> list[list[int]]:
        """The ids of each token; unknown features are added, or left out."""
        known, rows = self.known[bigrams], []
        for sentence in sentences:
            for t in range(len(sentence)):
                features = self.features(sentence, t, bigrams)
                if add:
                    rows.append([known.setdefault(feature, len(known)) for feature in features])
                else:
                    rows.append([known[feature] for feature in features if feature in known])
        return rows

    def names(self, *, bigrams: bool = False) -> list[str]:
        """Each line with strings in place of its parts."""
        names = []
        for line, parts in self.known[bigrams]:
            rest = iter(parts)
            names.append(re.sub(r"%[\w.]+(?:\[[^]]*\])?", lambda _: next(rest), line))  # noqa: B023
        return names


def slow_conll(text: str) -> list[Sentence]:
    """The sentences of a CoNLL-2000 file."""
    sentences: list[Sentence] = [[]]
    for line in text.replace("\r\n", "\n").split("\n"):
        values = tuple(value for value in re.split("[ \t]+", line) if value)
        if values and values[0] != "-DOCSTART-":
            sentences[-1].append(values)
        elif sentences[-1]:
            sentences.append([])
    return [sentence for sentence in sentences if sentence]


def slow_conllu(text: str, columns: list[int]) -> list[Sentence]:
    """Some columns of the tokens of a CoNLL-U file."""
    blocks = [block for block in re.split(r"\n\s*\n", text) if block.strip()]
    rows = [[line.split("\t") for line in block.splitlines() if line.strip() and line[0] != "#"] for block in blocks]
    return [[tuple(row[c] for c in columns) for row in sentence if row[0].isdigit()] for sentence in rows]
