"""Precision, recall and F1 of the entities that tags such as B-PER, I-PER and O describe; a confusion table of tags.

An entity is a run of tokens with a type. The letter before the hyphen says where a token stands in its entity:

    IOB2    B the first token, I any other
    IOB1    B the first token of an entity that follows another one of its type directly, I any other
    BIOES   B the first, I a middle, E the last token of an entity, S an entity of one token
    BILOU   the same, with L for E and U for S

Predicted tags need not be well formed, as in O I-PER, and the score depends on how such tags are read. Both readings
here are of the same form, which tables for pairs of neighbouring tags describe, `SAME` and `OTHER` by whether the types
of the pair are equal:

    start    an entity may begin at the second tag
    inside   the second tag continues an entity
    end      an entity that does not go on at the second tag is complete

Tokens are joined into runs by `inside`. A run holds one entity at most: from its first `start` to its end, if the pair
at its end is in `end`. Outside of a sentence all tags are O.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from onkel.checks import check_one_of
from onkel.errors import KindError, ParameterError, ShapeError, ValuesError

__all__ = ["EntityCounts", "EntityScores", "TagConfusion", "conll_f1", "tag_confusion"]

Ints: TypeAlias = NDArray[np.int64]

PREFIXES = "OBIES"
SCHEMES = {
    "IOB2": {"O": "O", "B": "B", "I": "I"},
    "IOB1": {"O": "O", "B": "B", "I": "I"},
    "BIOES": {letter: letter for letter in PREFIXES},
    "BILOU": {"O": "O", "B": "B", "I": "I", "L": "E", "U": "S"},
}  # the letters of a scheme, and what they are in BIOES
MODES = ("conlleval", "strict")
NO_TYPE = "_"  # the type of a tag that is a letter only


# ---------------------------------------------------------------- how tags are read

SAME, OTHER = 0, 1


class Reading(NamedTuple):
    """Tables (previous letter, letter, same or other type) → bool."""

    start: NDArray[np.bool_]
    inside: NDArray[np.bool_]
    end: NDArray[np.bool_]


def _table(same: str, other: str) -> NDArray[np.bool_]:
    """A table from pairs of letters such as "BI II", for equal and for different types; * is any letter."""
    table = np.zeros((len(PREFIXES), len(PREFIXES), 2), dtype=np.bool_)
    for kind, pairs in ((SAME, same), (OTHER, other)):
        for pair in pairs.split():
            i, j = (slice(None) if c == "*" else PREFIXES.index(c) for c in pair)
            table[i, j, kind] = True
    return table


def _lenient() -> Reading:
    """The reading of conlleval: every tag but O belongs to an entity, which a tag that cannot continue it ends."""
    start = _table("*B *S OI EI SI OE EE SE", "*B *S *I *E")
    inside = ~start
    inside[:, PREFIXES.index("O")] = False
    return Reading(start, inside, np.ones_like(start))


READINGS = {
    ("strict", "IOB2"): Reading(_table("*B", "*B"), _table("BI II", ""), _table("BO IO BB IB", "BO IO BB IB BI II")),
    ("strict", "IOB1"): Reading(
        _table("OI BI IB BB", "OI BI II"), _table("BI II", ""), _table("BO IO BB IB", "BO IO IB BI II")
    ),
    ("strict", "BIOES"): Reading(_table("*B *S", "*B *S"), _table("BI BE II IE", ""), _table("E* S*", "E* S*")),
}
READINGS["strict", "BILOU"] = READINGS["strict", "BIOES"]
READINGS |= {("conlleval", scheme): _lenient() for scheme in SCHEMES}


class _Entities(NamedTuple):
    """Entities in the order of their first tokens."""

    first: Ints
    last: Ints
    type: Ints


def _find(letters: Ints, types: Ints, starts: Ints, reading: Reading) -> _Entities:
    """The entities of tags, given as a letter and a type for each token; sentences begin at `starts`."""
    n_sentences, n = len(starts) - 1, len(letters)
    place = np.arange(n) + np.repeat(np.arange(1, n_sentences + 1), np.diff(starts))  # an O before each sentence
    L, T = np.zeros((2, n + n_sentences + 1), dtype=np.int64)  # and one after the last
    L[place], T[place] = letters, types
    pair = (L[:-1], L[1:], (T[:-1] != T[1:]).astype(np.int64))
    start, inside, end = (np.flatnonzero(table[pair]) + 1 for table in reading)
    run = np.ones(len(L), dtype=np.int64)
    run[inside] = 0
    heads = np.append(np.flatnonzero(run), len(L))  # where each run begins
    run = np.cumsum(run) - 1
    of_run, at = np.unique(run[start], return_index=True)  # the first start of each run
    first, after = start[at], heads[of_run + 1]
    complete = np.isin(after, end, assume_unique=True)
    first, after = first[complete], after[complete]
    back = np.zeros(len(L), dtype=np.int64)
    back[place] = np.arange(n)
    return _Entities(back[first], back[after - 1], T[first])


# ---------------------------------------------------------------- scores


@dataclass(frozen=True)
class EntityCounts:
    """Numbers of entities, and the scores that follow from them; a score that would be 0/0 is 0.

    Attributes
    ----------
    correct : predicted entities with the first token, the last token and the type of a true one.
    predicted : all predicted entities.
    support : all true entities.
    """

    correct: int
    predicted: int
    support: int

    @property
    def precision(self) -> float:
        """correct / predicted"""
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """correct / support"""
        return self.correct / self.support if self.support else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall, 2 correct / (predicted + support)."""
        return 2 * self.correct / (self.predicted + self.support) if self.correct else 0.0

    def _percents(self) -> str:
        p, r = 100 * self.precision, 100 * self.recall
        return f"precision: {p:6.2f}%; recall: {r:6.2f}%; FB1: {2 * p * r / (p + r) if p + r else 0.0:6.2f}"


@dataclass(frozen=True)
class EntityScores(EntityCounts):
    """Entity scores in all (micro average) and of each type; ``print`` shows them as the table of conlleval.

    Attributes
    ----------
    n_tokens, n_correct_tokens : tokens in all, and those whose predicted tag is the true one.
    by_type : type → `EntityCounts`, sorted by type; types that only one side has are listed too. A tag without a type,
        such as B, has the type "_".
    """

    n_tokens: int
    n_correct_tokens: int
    by_type: Mapping[str, EntityCounts] = field(repr=False)

    @property
    def accuracy(self) -> float:
        """n_correct_tokens / n_tokens"""
        return self.n_correct_tokens / self.n_tokens if self.n_tokens else 0.0

    @property
    def macro_f1(self) -> float:
        """The mean of the F1 of the types."""
        return sum(counts.f1 for counts in self.by_type.values()) / max(1, len(self.by_type))

    def __str__(self) -> str:
        found = f"found: {self.predicted} phrases; correct: {self.correct}."
        lines = [
            f"processed {self.n_tokens} tokens with {self.support} phrases; {found}",
            f"accuracy: {100 * self.accuracy:6.2f}%; {self._percents()}",
        ]
        lines += [f"{name:>17}: {counts._percents()}  {counts.predicted}" for name, counts in self.by_type.items()]
        return "\n".join(lines)


def conll_f1(y_true: Any, y_pred: Any, *, scheme: str = "IOB2", mode: str = "conlleval") -> EntityScores:
    """Precision, recall and F1 of predicted entities, in all and of each type, and the accuracy of the tags.

    A predicted entity is correct if a true entity has the same first token, last token and type:
    precision = correct / predicted, recall = correct / true, F1 = 2 correct / (predicted + true).

    Parameters
    ----------
    y_true, y_pred : the tags of sentences, a list of strings for each; a column of a corpus also serves. A tag is O, or
        a letter of the scheme, a hyphen and a type.
    scheme : "IOB2" (default; also called BIO), "IOB1", "BIOES" (also called IOBES) or "BILOU".
    mode : how tags that are not well formed are read. "conlleval" (default): as the script of the CoNLL shared tasks
        reads them, so that an I-PER after O begins an entity; IOB1 and IOB2 are then the same, and E and S, which the
        script does not know, are read as seqeval does. "strict": only what the scheme allows is an entity, as in the
        strict mode of seqeval.

    Cost: one look-up per token, and O(n) array operations: some 10 ms for 50 000 tokens.

    >>> from onkel.evaluate import conll_f1
    >>> true, guess = [["B-PER", "I-PER", "O", "B-LOC"]], [["I-PER", "I-PER", "O", "O"]]
    >>> conll_f1(true, guess).f1, conll_f1(true, guess, mode="strict").f1
    (0.6666666666666666, 0.0)

    Source: Tjong Kim Sang and Buchholz 2000, Introduction to the CoNLL-2000 shared task, and its script conlleval.
    """
    who = "conll_f1"
    scheme = {"BIO": "IOB2", "IOBES": "BIOES"}.get(scheme, scheme)
    check_one_of(scheme, "scheme", SCHEMES, who)
    check_one_of(mode, "mode", MODES, who)
    tags, (true, guess), starts = _read_pair(y_true, y_pred, who)
    letters, types, names = _split(tags, scheme, who)
    found = [_find(letters[codes], types[codes], starts, READINGS[mode, scheme]) for codes in (true, guess)]
    hit = _common(*found)
    counts = np.stack([np.bincount(of, minlength=len(names)) for of in (hit, found[1].type, found[0].type)], axis=1)
    rows = {name: EntityCounts(*row) for name, row in zip(names, counts.tolist(), strict=True) if any(row)}
    by_type = {name: rows[name] for name in sorted(rows)}
    correct, predicted, support = counts.sum(axis=0).tolist()
    return EntityScores(correct, predicted, support, len(true), int((true == guess).sum()), by_type)


def _split(tags: Sequence[str], scheme: str, who: str) -> tuple[Ints, Ints, list[str]]:
    """The letter (a place in `PREFIXES`) and the type (a place in the returned list) of each distinct tag."""
    known, names = SCHEMES[scheme], {"": 0}  # type 0 is that of O
    letters, types = np.zeros((2, len(tags)), dtype=np.int64)
    for i, tag in enumerate(tags):
        letter, hyphen, name = tag.partition("-")
        if letter not in known or (letter == "O" and hyphen):
            others = " or ".join(f"{c}-PER" for c in known if c != "O")
            raise ValuesError(
                f"{who}: every tag of the scheme {scheme} must be O or such as {others}; got {tag!r}. "
                f"Choose another scheme ({', '.join(SCHEMES)}), or score plain tags by tag_confusion."
            )
        letters[i] = PREFIXES.index(known[letter])
        if letter != "O":
            types[i] = names.setdefault(name or NO_TYPE, len(names))
    return letters, types, list(names)


def _common(one: _Entities, other: _Entities) -> Ints:
    """The types of the entities that both sides have."""
    _, i, j = np.intersect1d(one.first, other.first, assume_unique=True, return_indices=True)
    types: Ints = one.type[i]
    common: Ints = types[(one.last[i] == other.last[j]) & (types == other.type[j])]
    return common


# ---------------------------------------------------------------- the confusion table


@dataclass(frozen=True, eq=False)
class TagConfusion:
    """How often each tag was predicted for each true tag; ``print`` shows the table.

    Attributes
    ----------
    labels : the tags, in the order of the rows and columns.
    counts : whole numbers, (true, predicted).
    """

    labels: tuple[str, ...]
    counts: Ints

    def __str__(self) -> str:
        corner = "true \\ predicted"
        cells = [[label, *(str(c or ".") for c in row)] for label, row in zip(self.labels, self.counts, strict=True)]
        widths = [max(map(len, column)) for column in zip([corner, *self.labels], *cells, strict=True)]
        lines = [[corner, *self.labels], *cells]
        aligned = ((f"{cell:{'>' if k else '<'}{widths[k]}}" for k, cell in enumerate(line)) for line in lines)
        return "\n".join("  ".join(line) for line in aligned)


def tag_confusion(y_true: Any, y_pred: Any, labels: Sequence[str] | None = None) -> TagConfusion:
    """Counts how often each tag was predicted for each true tag.

    C[i, j] is the number of tokens whose true tag is labels[i] and whose predicted tag is labels[j].

    Parameters
    ----------
    y_true, y_pred : the tags of sentences, a list of strings for each; any strings serve as tags.
    labels : the tags to show, in this order; tokens with another tag, true or predicted, are left out. None (default):
        all tags, sorted.

    Cost: one look-up per token, and labels² numbers.

    >>> from onkel.evaluate import tag_confusion
    >>> print(tag_confusion([["DET", "NOUN", "VERB"]], [["DET", "VERB", "VERB"]]))
    true \\ predicted  DET  NOUN  VERB
    DET                 1     .     .
    NOUN                .     .     1
    VERB                .     .     1
    """
    who = "tag_confusion"
    tags, (true, guess), _ = _read_pair(y_true, y_pred, who)
    shown = tuple(sorted(tags) if labels is None else labels)
    if isinstance(labels, str) or len(set(shown)) != len(shown):
        raise ParameterError(f"{who}: labels must be a list of different tags; got {labels!r}.")
    place, m = {label: i for i, label in enumerate(shown)}, len(shown)
    index = np.array([place.get(tag, -1) for tag in tags], dtype=np.int64)
    i, j = index[true], index[guess]
    kept = (i >= 0) & (j >= 0)
    counts = np.bincount(i[kept] * m + j[kept], minlength=m * m).reshape(m, m)
    counts.flags.writeable = False
    return TagConfusion(shown, counts)


# ---------------------------------------------------------------- input


def _read_pair(y_true: Any, y_pred: Any, who: str) -> tuple[list[str], tuple[Ints, Ints], Ints]:
    """The distinct tags of both sides, the tags of all tokens as places among them, and where sentences begin."""
    sides = [_read(y, name, who) for y, name in ((y_true, "y_true"), (y_pred, "y_pred"))]
    starts, other = sides[0][2], sides[1][2]
    if len(starts) != len(other):
        got = f"{len(starts) - 1} and {len(other) - 1}"
        raise ShapeError(f"{who}: y_true and y_pred must have the same number of sentences; got {got}.")
    lengths, others = np.diff(starts), np.diff(other)
    if (wrong := np.flatnonzero(lengths != others)).size:
        i = int(wrong[0])
        raise ShapeError(
            f"{who}: y_true and y_pred must have as many tags for each sentence; y_true[{i}] has {lengths[i]} and "
            f"y_pred[{i}] {others[i]}."
        )
    table: dict[str, int] = {}
    codes = []
    for tags, own, _ in sides:
        codes.append(np.array([table.setdefault(tag, len(table)) for tag in tags], dtype=np.int64)[own])
    return list(table), (codes[0], codes[1]), starts


def _read(y: Any, name: str, who: str) -> tuple[list[str], Ints, Ints]:
    """The distinct tags of one side, the tags of all tokens as places among them, and where sentences begin."""
    if all(hasattr(y, part) for part in ("values", "codes", "starts")):  # a column of a corpus has them already
        used, codes = np.unique(y.codes[y.starts[0] : y.starts[-1]], return_inverse=True)
        return [y.values[i] for i in used], codes.reshape(-1), np.asarray(y.starts - y.starts[0], dtype=np.int64)
    wanted = f"{who}: {name} must hold a list of tags for each sentence"
    if isinstance(y, (str, bytes)) or not hasattr(y, "__iter__"):
        raise KindError(f"{wanted}; got {y!r}.")
    sentences = list(y)
    for i, sentence in enumerate(sentences):
        if isinstance(sentence, (str, bytes)) or not hasattr(sentence, "__len__"):
            raise KindError(f"{wanted}; {name}[{i}] is {sentence!r}. For one sentence write [{name}].")
    starts = np.zeros(len(sentences) + 1, dtype=np.int64)
    np.cumsum([len(sentence) for sentence in sentences], out=starts[1:])
    flat = list(chain.from_iterable(sentences))
    try:
        places = {tag: i for i, tag in enumerate(dict.fromkeys(flat))}
    except TypeError as error:  # such as a list in the place of a tag
        raise KindError(f"{wanted}, each a string; {error}.") from error
    if odd := [tag for tag in places if not isinstance(tag, str)]:
        raise KindError(f"{wanted}, each a string; got {odd[0]!r}.")
    return list(places), np.fromiter(map(places.__getitem__, flat), dtype=np.int64, count=len(flat)), starts
