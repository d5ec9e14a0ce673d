"""Slow twins of `onkel.metrics.entities`: walks over tokens that count as conlleval does, and strictly by a scheme."""

from __future__ import annotations

from collections import Counter


def split(tag):
    """The letter and the type, as conlleval splits a tag at its first hyphen."""
    letter, _, name = tag.partition("-")
    return letter, name


def begins(before, now):
    """Whether conlleval lets a chunk begin at the second tag; E and S as seqeval reads them."""
    (p, p_type), (letter, name) = split(before), split(now)
    if letter == "O":
        return False
    return letter in "BS" or p in "OES" or p_type != name


def ends(before, now):
    """Whether conlleval lets a chunk end before the second tag; E and S as seqeval reads them."""
    (p, p_type), (letter, name) = split(before), split(now)
    if p == "O":
        return False
    return letter in "OBS" or p in "ES" or p_type != name


def conlleval(y_true, y_pred):
    """(correct, predicted, support) as three Counters over types, in one walk with a flag, as the script has it."""
    correct, predicted, support = Counter(), Counter(), Counter()
    together = False  # both sides are in a chunk that began at the same token with the same type
    last_true = last_guess = "O"
    for sentence, guesses in zip(y_true, y_pred, strict=True):
        for true, guess in [*zip(sentence, guesses, strict=True), ("O", "O")]:  # a line without words ends a sentence
            if together:
                over = ends(last_true, true), ends(last_guess, guess)
                if all(over) and split(last_true)[1] == split(last_guess)[1]:
                    correct[split(last_true)[1]] += 1
                    together = False
                elif any(over) or split(true)[1] != split(guess)[1]:
                    together = False
            new = begins(last_true, true), begins(last_guess, guess)
            if all(new) and split(true)[1] == split(guess)[1]:
                together = True
            support[split(true)[1]] += new[0]
            predicted[split(guess)[1]] += new[1]
            last_true, last_guess = true, guess
    return correct, predicted, support


def entities(tags, scheme):
    """The set of (first, last, type) of one sentence that a strict reading of the scheme finds."""
    found, i, n = set(), 0, len(tags)
    padded = ["O", *tags, "O"]
    while i < n:
        (before, before_type), (letter, name) = split(padded[i]), split(padded[i + 1])
        same = before_type == name
        if scheme == "IOB1":  # B only between two entities of a type
            fresh = before in "OB" or not same if letter == "I" else letter == "B" and before in "BI" and same
        else:
            fresh = letter in "BSU"
        if not fresh:
            i += 1
            continue
        j = i  # the last token of the entity
        if letter in "BI":
            while split(padded[j + 2])[1] == name and split(padded[j + 1])[0] in "BI":
                if split(padded[j + 2])[0] not in ("I", "E", "L"):
                    break
                j += 1
        last, following = split(padded[j + 1])[0], split(padded[j + 2])
        complete = last in "ESLU" if scheme in ("BIOES", "BILOU") else True
        if scheme == "IOB1" and last == "B" and following[0] == "B" and following[1] != name:
            complete = False  # seqeval's table has no end for B-X B-Y, where B-Y is malformed
        if complete:
            found.add((i, j, name))
        i = j + 1
    return found


def strict(y_true, y_pred, scheme):
    """(correct, predicted, support) as three Counters over types."""
    correct, predicted, support = Counter(), Counter(), Counter()
    for sentence, guesses in zip(y_true, y_pred, strict=True):
        true, guess = entities(sentence, scheme), entities(guesses, scheme)
        for counter, found in ((correct, true & guess), (predicted, guess), (support, true)):
            counter.update(name for _, _, name in found)
    return correct, predicted, support
