"""Dicts of words beside the same examples as CSR rows, and the memory of a stream of fresh names.

    python benchmarks/dicts.py [--names N]

The words are those of 2000 SMS from the folder ONKEL_DATA, or generated ones without it. A dict and its CSR row are
learned by `learn_one`, with the same mistakes; the bar is five times the time of the row, slicing left out. The stream
of fresh names has a new feature in every example and a budget of 100; its memory must not grow.
"""

from __future__ import annotations

import argparse
import collections
import gzip
import os
import re
import time
from pathlib import Path
from typing import Any

import measure
import numpy as np
from sklearn.feature_extraction import DictVectorizer

from onkel import (
    Forgetron,
    KernelPerceptron,
    OnlineSVC,
    PassiveAggressiveClassifier,
    Perceptron,
    Projectron,
    evaluate,
)

LEARNERS: dict[str, Any] = {
    "Forgetron, budget 200": lambda: Forgetron(gamma=0.05, budget=200),
    "PassiveAggressiveClassifier, budget 200": lambda: PassiveAggressiveClassifier(gamma=0.05, budget=200),
    "Projectron, budget 200": lambda: Projectron(gamma=0.05, budget=200),
    "KernelPerceptron": lambda: KernelPerceptron(gamma=0.05),
    "OnlineSVC": lambda: OnlineSVC(gamma=0.05),
    "Perceptron": lambda: Perceptron(),
}
REPEATS = 3


def messages() -> tuple[list[dict[str, float]], list[str], str]:
    """Dicts that count words, their labels, and what they are."""
    path = Path(os.environ.get("ONKEL_DATA", ""), "sms_spam", "SMSSpamCollection.tsv.gz")
    if not path.exists():
        rng = np.random.default_rng(0)
        drawn = [rng.zipf(1.3, 16) % 5000 for _ in range(2000)]
        counted = [collections.Counter(f"w{k}" for k in ks) for ks in drawn]
        return [dict(c) for c in counted], ["ham" if "w1" in c else "spam" for c in counted], "generated words"
    text = gzip.decompress(path.read_bytes()).decode()
    lines = [line.split("\t", 1) for line in text.split("\n") if "\t" in line]
    words = [collections.Counter(re.findall(r"\w+", text.lower())) for _, text in lines[:2000]]
    dicts = [{word: float(count) for word, count in counts.items()} for counts in words]
    return dicts, [label for label, _ in lines[:2000]], "2000 SMS"


def beside_rows() -> list[dict[str, Any]]:
    """The time of an example as a dict, and as a CSR row."""
    dicts, labels, _ = messages()
    X = DictVectorizer().fit_transform(dicts)
    rows, found = [X[i : i + 1] for i in range(len(labels))], []
    for name, make in LEARNERS.items():
        learned = {}

        def learn(examples: list[Any], kind: str, make: Any = make, learned: dict[str, Any] = learned) -> None:
            learner = learned[kind] = make()
            for x, label in zip(examples, labels, strict=True):
                learner.learn_one(x, label)

        runs = {"dict": lambda learn=learn: learn(dicts, "dict"), "row": lambda learn=learn: learn(rows, "row")}
        best = measure.interleaved(runs, REPEATS)
        assert learned["dict"].n_mistakes_ == learned["row"].n_mistakes_
        found.append(
            {
                "learner": name,
                "dict": best["dict"] / len(labels),
                "row": best["row"] / len(labels),
                "memory": evaluate.memory(learned["dict"]),
                "mistakes": learned["dict"].n_mistakes_,
            }
        )
    return found


def fresh_names(n: int) -> list[dict[str, Any]]:
    """The memory of a learner and the time, after ever more names."""
    learner, rng, found = PassiveAggressiveClassifier(gamma=0.1, budget=100), np.random.default_rng(0), []
    marks, start = [mark for mark in (25_000, 50_000, n // 2, n) if mark <= n], time.perf_counter()
    for first in range(0, n, 1000):
        values, labels = rng.normal(size=(1000, 2)), rng.integers(0, 2, 1000)
        chunk = [{f"id {first + i:08d}": 1.0, "a": a, "b": b} for i, (a, b) in enumerate(values.tolist())]
        learner.partial_fit(chunk, labels, classes=[0, 1])
        if first + 1000 in marks:
            seconds = time.perf_counter() - start
            found.append({"names": first + 1000, "memory": evaluate.memory(learner), "seconds": seconds})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--names", type=int, default=1_000_000, help="of the stream of fresh names, a million by default"
    )
    names = parser.parse_args().names
    words, memory = beside_rows(), fresh_names(names)
    first = measure.table(
        [f"{messages()[2]}, learn_one", "dict, µs", "CSR row, µs", "ratio (bar 5)", "mistakes", "memory, MB"],
        [
            [
                w["learner"],
                f"{1e6 * w['dict']:.0f}",
                f"{1e6 * w['row']:.0f}",
                f"{w['dict'] / w['row']:.2f}",
                str(w["mistakes"]),
                f"{w['memory'] / 1e6:.2f}",
            ]
            for w in words
        ],
    )
    second = measure.table(
        ["fresh names, budget 100", "memory, bytes", "examples/s"],
        [[f"{m['names']:,}", f"{m['memory']:,}", f"{m['names'] / m['seconds']:,.0f}"] for m in memory],
    )
    measure.report("dicts", "\n\n".join((first, second, measure.machine())), {"words": words, "names": memory})


if __name__ == "__main__":
    main()
