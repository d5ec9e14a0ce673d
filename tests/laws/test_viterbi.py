"""Laws of the search for the best labellings: it finds what trying all of them finds."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from onkel._core import simd, simd_targets
from onkel.models.tagging.constraints import SCHEMES, constrained, scheme_rules
from onkel.models.tagging.viterbi import Lattice, best, k_best, padded

NONE = -np.inf


def lattices(seed: int, count: int, dtype: Any = np.float64) -> list[Lattice]:
    """Lattices of small whole numbers: with few labels, both orders, tables of their own, forbidden labels."""
    rng, found = np.random.default_rng(seed), []
    for _ in range(count):
        L, lengths = int(rng.integers(1, 5)), rng.integers(1, 5, rng.integers(1, 4))
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        tokens, second = int(starts[-1]), None
        E = rng.integers(-3, 4, (tokens, L)).astype(dtype)
        T = rng.integers(-3, 4, (tokens if rng.random() < 0.5 else 1, L + 1, L)).astype(dtype)
        if rng.random() < 0.5:
            second = padded(rng.integers(-3, 4, (L + 1, L + 1, L)).astype(dtype), L)
        for table in (E, T):
            if rng.random() < 0.3:
                table[rng.random(table.shape) < 0.2] = NONE
        found.append(Lattice(L, starts, padded(E, L), padded(T, L), second))
    return found


def every_score(lattice: Lattice, s: int) -> list[tuple[float, tuple[int, ...]]]:
    """All labellings of a sentence with their scores, the best first, of equal ones the lowest labels from the end."""
    L, first, last, found = lattice.n_labels, int(lattice.starts[s]), int(lattice.starts[s + 1]), []
    for y in itertools.product(range(L), repeat=last - first):
        score = 0.0
        for t, label in enumerate(y):
            one, two = y[t - 1] if t > 0 else L, y[t - 2] if t > 1 else L
            score += float(lattice.E[first + t, label])
            score += float(lattice.transitions[first + t if len(lattice.transitions) > 1 else 0, one, label])
            score += 0.0 if lattice.second is None else float(lattice.second[two, one, label])
        found.append((score, y))
    return sorted(found, key=lambda pair: (-pair[0], pair[1][::-1]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("target", simd_targets())
def test_the_best_labelling_is_that_of_all_labellings(target, dtype):
    with simd(target):
        for lattice in lattices(0, 60, dtype):
            for threads in (1, 2):
                y, scores = best(lattice, threads=threads)
                for s in range(len(lattice)):
                    score, labels = every_score(lattice, s)[0]
                    assert scores[s] == score
                    if score > NONE:
                        assert tuple(y[lattice.starts[s] : lattice.starts[s + 1]]) == labels


def test_the_k_best_are_those_of_all_labellings_and_their_scores_are_those_of_their_labels():
    for lattice in lattices(1, 60):
        for k in (1, 2, 7):
            for s, (ys, scores) in enumerate(k_best(lattice, k)):
                wanted = [score for score, _ in every_score(lattice, s) if score > NONE][:k]
                assert scores.tolist() == wanted
                assert len({tuple(y) for y in ys}) == len(ys)
                one = list(lattice.sentences())[s]
                assert [one.score(y)[0] for y in ys] == wanted


def test_many_labels_take_the_wide_paths_of_the_core():
    rng = np.random.default_rng(2)
    for L in (7, 8, 9, 16, 17, 24, 25, 31, 40, 57):
        E, T = rng.normal(size=(6, L)), rng.normal(size=(1, L + 1, L))
        S = rng.normal(size=(L + 1, L + 1, L))
        score = E[0] + T[0, L]
        for t in range(1, 6):
            score = E[t] + (score[:, None] + T[0, :L]).max(axis=0)
        found = best(Lattice(L, np.array([0, 6]), padded(E, L), padded(T, L)))[1]
        np.testing.assert_allclose(found[0], score.max(), rtol=1e-12)
        score = (E[0] + T[0, L] + S[L, L])[None]  # (before, label)
        for t in range(1, 6):
            before = S[L, :L][None] if t == 1 else S[:L, :L]
            score = E[t] + T[0, :L] + (score[:, :, None] + before).max(axis=0)
        found = best(Lattice(L, np.array([0, 6]), padded(E, L), padded(T, L), padded(S, L)))[1]
        np.testing.assert_allclose(found[0], score.max(), rtol=1e-12)


# ---------------------------------------------------------------- constraints

LABELS = {
    "BIO": ("O", "B-X", "I-X", "B-Y", "I-Y"),
    "IOB2": ("O", "B-X", "I-X", "B-Y", "I-Y"),
    "IOB1": ("O", "B-X", "I-X", "I-Y"),
    "BIOES": ("O", "B-X", "I-X", "E-X", "S-X", "S-Y"),
}


def is_valid(tags: list[str], scheme: str) -> bool:
    """Whether tags keep the rules of a scheme, told chunk by chunk."""
    before = ("O", "")
    for tag in tags:
        prefix, _, kind = tag.partition("-")
        inside = before[0] in "BI" and before[1] == kind
        if scheme in ("BIO", "IOB2") and prefix == "I" and not inside:
            return False
        if scheme == "IOB1" and prefix == "B" and not inside:
            return False
        if scheme == "BIOES":
            if prefix in ("I", "E") and not inside:
                return False
            if prefix in ("O", "B", "S") and before[0] in ("B", "I"):
                return False
        before = (prefix, kind)
    return scheme != "BIOES" or before[0] not in ("B", "I")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_best_valid_labelling_is_the_best_of_those_that_are_valid(scheme):
    labels, rng = LABELS[scheme], np.random.default_rng(3)
    L = len(labels)
    for n in (1, 2, 3, 4):
        E, T = rng.integers(-3, 4, (n, L)).astype(float), rng.integers(-3, 4, (1, L + 1, L)).astype(float)
        mask = rng.random((n, L)) < 0.8
        mask[:, 0] = True
        plain = Lattice(L, np.array([0, n]), padded(E, L), padded(T, L))
        found = constrained(plain, labels, scheme, mask)
        allowed = [
            (score, y)
            for score, y in every_score(plain, 0)
            if is_valid([labels[i] for i in y], scheme) and mask[range(n), y].all()
        ]
        y, scores = best(found)
        assert scores[0] == allowed[0][0]
        assert tuple(y) == allowed[0][1]
        assert k_best(found, 5)[0][1].tolist() == [score for score, _ in allowed[:5]]


def test_tags_without_a_type_are_outside_of_every_scheme():
    for scheme in SCHEMES:
        pairs, ends = scheme_rules(("NOUN", "VERB"), scheme)
        assert pairs.all()
        assert ends.all()
