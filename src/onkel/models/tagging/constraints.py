"""Which labellings are allowed: the rules of a tagging scheme, and tags that are known or ruled out for single tokens.

    scheme   a tag              may follow
    BIO      I-X                B-X, I-X                     (IOB2)
    IOB1     B-X                B-X, I-X
    BIOES    I-X, E-X           B-X, I-X                     and after B-X or I-X comes I-X or E-X

A tag without a type, such as O or NOUN, is outside of every chunk.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.errors import InputError, KindError, ParameterError, ShapeError, ValuesError
from onkel.models.tagging.viterbi import Lattice, best

__all__ = ["SCHEMES", "allowed_mask", "best_allowed", "check_scheme", "constrained", "scheme_rules"]

SCHEMES = ("BIO", "IOB2", "IOB1", "BIOES")  # the first two are the same
CHUNKS = {"BIO": "B-X I-X", "IOB2": "B-X I-X", "IOB1": "I-X I-X", "BIOES": "B-X I-X E-X"}  # a chunk of type X
Allowed = Sequence[Sequence[Any] | None]


def _parts(tag: str) -> tuple[str, str]:
    """The prefix and the type of a tag: ("B", "NP") of B-NP; ("O", "") of a tag outside of chunks."""
    prefix, dash, kind = tag.partition("-")
    return (prefix, kind) if dash and prefix in ("B", "I", "E", "S") else ("O", "")


def scheme_rules(labels: Sequence[str], scheme: str) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """What a scheme allows: pairs (L + 1, L), one tag after another, the last row at the beginning; and ends (L,)."""
    parts = [_parts(label) for label in labels]
    before = [*parts, ("O", "")]
    pairs = np.array([[_may_follow(a, b, scheme) for b in parts] for a in before], dtype=bool)
    ends = np.array([scheme != "BIOES" or prefix not in ("B", "I") for prefix, _ in parts], dtype=bool)
    return pairs.reshape(len(before), len(parts)), ends


def _may_follow(before: tuple[str, str], tag: tuple[str, str], scheme: str) -> bool:
    continues = before[0] in ("B", "I") and before[1] == tag[1]  # a chunk of the same type goes on
    if scheme in ("BIO", "IOB2"):
        return tag[0] != "I" or continues
    if scheme == "IOB1":
        return tag[0] != "B" or continues
    inside = tag[0] in ("I", "E")
    return continues if inside else before[0] not in ("B", "I")


def check_scheme(labels: Sequence[str], scheme: str | None) -> None:
    """Refuses a scheme in which the labels make up no chunk, such as parts of speech; O alone fits every scheme."""
    if scheme is None or all(label == "O" for label in labels) or _has_chunks({*map(_parts, labels)}, scheme):
        return
    shown = ", ".join(labels[:5]) + (", …" if len(labels) > 5 else "")
    raise ParameterError(
        f"scheme {scheme!r} needs tags that make up a chunk, such as {CHUNKS[scheme]}; the tags are {shown}. Set the "
        "scheme of your tags, or None."
    )


def _has_chunks(parts: set[tuple[str, str]], scheme: str) -> bool:
    """Whether some chunk is valid in the scheme: begins as it must, and can end."""
    if scheme == "BIOES":
        return any(prefix == "S" or (prefix == "E" and ("B", kind) in parts) for prefix, kind in parts)
    return any(prefix == ("I" if scheme == "IOB1" else "B") for prefix, _ in parts)


def allowed_mask(allowed: Allowed, labels: Sequence[str], starts: NDArray[np.int64], who: str) -> NDArray[np.bool_]:
    """Which labels each token may have, (tokens, L): all True where nothing is said.

    `allowed` has an item for each sentence: None, or a list with an item for each token: None, a tag, or several.
    """
    places = {label: i for i, label in enumerate(labels)}
    if isinstance(allowed, (str, bytes)) or not isinstance(allowed, Collection):
        raise KindError(f"{who}: allowed must be a list with an item for each sentence; got {allowed!r}.")
    if len(allowed) != len(starts) - 1:
        raise ShapeError(
            f"{who}: allowed must have an item for each of {len(starts) - 1} sentences; got {len(allowed)}."
        )
    mask = np.ones((int(starts[-1]), len(labels)), dtype=bool)
    for s, sentence in enumerate(allowed):
        if sentence is None:
            continue
        first, n = int(starts[s]), int(starts[s + 1] - starts[s])
        if isinstance(sentence, str) or len(sentence) != n:
            got = repr(sentence) if isinstance(sentence, str) else f"{len(sentence)} items"
            raise ShapeError(f"{who}: allowed[{s}] must have an item for each of the {n} tokens; got {got}.")
        for t, tags in enumerate(sentence):
            if tags is not None:
                mask[first + t] = False
                for tag in [tags] if isinstance(tags, str) else tags:
                    if tag not in places:
                        raise InputError(
                            f"{who}: allowed[{s}][{t}] must name tags that the model knows, {', '.join(labels)}; "
                            f"got {tag!r}."
                        )
                    mask[first + t, places[tag]] = True
    return mask


def constrained(lattice: Lattice, labels: Sequence[str], scheme: str | None, mask: NDArray[np.bool_] | None) -> Lattice:
    """The lattice without the labellings that the scheme or the mask (tokens, L) forbid."""
    L, none = lattice.n_labels, -np.inf
    E, transitions = lattice.E, lattice.transitions
    if scheme is not None:
        check_scheme(labels, scheme)
        pairs, ends = scheme_rules(labels, scheme)
        transitions = transitions.copy()
        transitions[:, ~pairs if transitions.shape[2] == L else _wide(~pairs, transitions.shape[2])] = none
        if not ends.all():
            last = np.ones((len(E), L), dtype=bool)
            last[lattice.starts[1:] - 1] = ends
            mask = last if mask is None else mask & last
    if mask is not None:
        E = E.copy()
        E[:, :L][~mask] = none
    return dataclasses.replace(lattice, E=E, transitions=transitions)


def _wide(forbidden: NDArray[np.bool_], width: int) -> NDArray[np.bool_]:
    out = np.zeros((len(forbidden), width), dtype=bool)
    out[:, : forbidden.shape[1]] = forbidden
    return out


def best_allowed(
    lattice: Lattice, labels: Sequence[str], scheme: str | None, mask: NDArray[np.bool_] | None, first: int = 0
) -> NDArray[np.int32]:
    """The best labelling that is allowed, (tokens,); refuses a sentence that has none.

    `first` is the number of the first sentence, for the message.
    """
    y, scores = best(constrained(lattice, labels, scheme, mask))
    refuse_forbidden(scores, scheme, first)
    return y


def refuse_forbidden(scores: NDArray[np.float64], scheme: str | None, first: int) -> None:
    """Raises an error if a best score is −∞: all labellings of that sentence are forbidden."""
    bad = np.flatnonzero(scores == -np.inf)
    if len(bad):
        valid = f" that is valid in {scheme}" if scheme else ""
        raise ValuesError(f"sequences[{first + bad[0]}] has no labelling{valid} with the tags that are allowed.")
