"""Sentences of seven words, each of which has one tag, and every form in which a tagger reads them."""

from __future__ import annotations

from typing import Any

import numpy as np

from onkel.kernels import RBF

WORDS = ["the", "a", "cat", "dog", "sat", "ran", "big"]
TAG = {"the": "DT", "a": "DT", "cat": "NN", "dog": "NN", "sat": "VB", "ran": "VB", "big": "JJ"}


def corpus(n: int = 30, seed: int = 0) -> tuple[list[list[str]], list[list[str]]]:
    rng = np.random.default_rng(seed)
    words = [[WORDS[i] for i in rng.integers(0, len(WORDS), rng.integers(1, 6))] for _ in range(n)]
    return words, [[TAG[word] for word in sentence] for sentence in words]


def features(words: list[list[str]]) -> list[list[list[str]]]:
    return [[[f"w={w}", f"before={s[t - 1] if t else '<'}", f"last={w[-1]}"] for t, w in enumerate(s)] for s in words]


def vectors(words: list[list[str]]) -> list[np.ndarray]:
    return [np.array([[float(word == w) for w in WORDS] for word in s]) for s in words]


W, Y = corpus()
X = features(W)
TEMPLATES = "U0:%x[0,0]\nU1:%x[-1,0]/%x[0,0]\nB\nB1:%x[0,0]"
VOTED: dict[str, Any] = {"hypothesis": "voted", "n_voters": 7}

FORMS: dict[str, tuple[dict[str, Any], Any]] = {  # parameters of the tagger, and the sentences as it reads them
    "strings": ({}, X),
    "dicts": ({}, [[{"w": w, "size": len(w) / 2} for w in s] for s in W]),
    "templates": ({"templates": TEMPLATES}, W),
    "matrices": ({}, vectors(W)),
    "hashed": ({"n_bits": 8}, X),
    "order 2": ({"order": 2}, X),
    "voted": (VOTED, X),
    "kernel": ({"kernel": RBF(gamma=0.5)}, vectors(W)),
    "kernel voted": ({"kernel": RBF(gamma=0.5), "order": 2, **VOTED}, vectors(W)),
}
VOTED_FORMS: dict[str, tuple[dict[str, Any], Any]] = {
    f"{form} voted": ({**FORMS[form][0], **VOTED}, FORMS[form][1]) for form in ("templates", "matrices", "hashed")
}
