"""The sequence perceptron beside python-crfsuite's averaged perceptron: chunking of CoNLL-2000, and of generated text.

    python benchmarks/sequences.py [--repeats N] [--epochs N] [--only onkel crfsuite]

Every run is a new process, and the contenders take turns; the smallest figure of each counts, of F1 too. Both learn
from the features of CRFsuite's chunking example, up to 21 for a token: words −2 … 2 and two pairs of them, parts of
speech −2 … 2 with four pairs and three triples, left out where they reach beyond the sentence, and the first and the
last token of a sentence. The sentences are those of CoNLL-2000 in the folder ONKEL_DATA; without it,
sentences are generated, to which the bars do not apply. A contender that fails leaves its cells empty, and says why.

    file → model          from the path of the training file to a model that can tag
    fit, from strings     from lists of strings for each token to a model
    training alone        crfsuite: its epochs, the data appended before; onkel: fit and its model, on columns that were
                          read before, less the time that their features take by themselves
    raw test file → tags  from the path of the test file to lists of strings, the model loaded before
    memory                the peak of the process during file → model, above its memory before
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import measure

Sentence = list[tuple[str, ...]]  # tokens: word, part of speech, chunk

PAIRS = [("w", (i,)) for i in range(-2, 3)] + [("w", (-1, 0)), ("w", (0, 1))]
PAIRS += [("pos", (i,)) for i in range(-2, 3)] + [("pos", (i, i + 1)) for i in range(-2, 2)]
PAIRS += [("pos", (i, i + 1, i + 2)) for i in range(-2, 1)]
COLUMN = {"w": 0, "pos": 1}
TEMPLATES = "\n".join(
    f"U{k:02}?:" + "/".join(f"%x[{i},{COLUMN[name]}]" for i in places) for k, (name, places) in enumerate(PAIRS)
)
TEMPLATES += "\nU90:%bos\nU91:%eos\nB\n"
BARS = {  # onkel must be so many times as fast
    "file → model": 12.0,
    "training alone": 8.0,
    "fit, from strings": 8.0,
    "raw test file → tags": 15.0,
}


# ---------------------------------------------------------------- the data


def paths(folder: Path) -> tuple[Path, Path, str]:
    """The training and test file, as plain text in the folder, and the name of the data."""
    found = measure.data("conll2000")
    for part in ("train", "test"):
        text = gzip.decompress((found / f"{part}.txt.gz").read_bytes()) if found else generated(part).encode()
        (folder / f"{part}.txt").write_bytes(text)
    return folder / "train.txt", folder / "test.txt", "CoNLL-2000" if found else "generated sentences"


def generated(part: str) -> str:
    """Noun phrases and verbs of random words, as a CoNLL file."""
    rng, blocks = random.Random(part), []
    for _ in range(2000 if part == "train" else 500):
        tokens: list[str] = []
        for _ in range(rng.randint(1, 4)):
            tokens.append("the DT B-NP")
            tokens += [f"adj{int(rng.paretovariate(1)) % 500} JJ I-NP" for _ in range(rng.randint(0, 2))]
            tokens.append(f"noun{int(rng.paretovariate(0.8)) % 2000} NN I-NP")
            tokens.append(f"verb{int(rng.paretovariate(0.8)) % 1000} VB B-VP")
        blocks.append("\n".join([*tokens, ". . O"]))
    return "\n\n".join(blocks) + "\n"


def read(path: str) -> list[Sentence]:
    """A CoNLL file in plain Python."""
    blocks = Path(path).read_text(encoding="utf-8").strip().split("\n\n")
    return [[tuple(line.split()) for line in block.strip().split("\n")] for block in blocks]


def strings(sentence: Sentence) -> list[list[str]]:
    """The features of each token as CRFsuite's example names them, without those that reach beyond the sentence."""
    n, found = len(sentence), []
    for t in range(n):
        token = []
        for name, places in PAIRS:
            if t + places[0] >= 0 and t + places[-1] < n:
                values = "|".join(sentence[t + i][COLUMN[name]] for i in places)
                token.append(f"{name}[{'|'.join(map(str, places))}]={values}")
        token += ["__BOS__"] * (t == 0) + ["__EOS__"] * (t == n - 1)
        found.append(token)
    return found


# ---------------------------------------------------------------- the contenders, each in a process of its own


def crfsuite(train: str, test: str, epochs: int, part: str) -> dict[str, float]:
    import pycrfsuite

    model = str(Path(train).with_name("crfsuite.model"))
    trainer = pycrfsuite.Trainer(algorithm="ap", verbose=False)
    trainer.set_params({"max_iterations": epochs})
    times: dict[str, float] = {}

    def learn() -> None:
        start = time.perf_counter()
        sentences = read(train)
        tags = [[chunk for *_, chunk in sentence] for sentence in sentences]
        features = [strings(sentence) for sentence in sentences]
        ready = time.perf_counter()
        for tokens, labels in zip(features, tags, strict=True):
            trainer.append(tokens, labels)
        appended = time.perf_counter()
        trainer.train(model)
        end = time.perf_counter()
        times.update({"file → model": end - start, "fit, from strings": end - ready, "training alone": end - appended})

    memory = measure.memory_above(learn)
    times["features"] = len({name for sentence in read(train) for token in strings(sentence) for name in token})
    tagger = pycrfsuite.Tagger()
    tagger.open(model)
    start = time.perf_counter()
    found = [tagger.tag(strings(sentence)) for sentence in read(test)]
    times["raw test file → tags"] = time.perf_counter() - start
    return times | scores(test, found, memory, Path(model).stat().st_size)


def onkel(train: str, test: str, epochs: int, part: str) -> dict[str, float]:
    """One part in a process: "strings" measures fit from strings, every other the rest."""
    from onkel import SequencePerceptron
    from onkel.data import TemplateFeatures, Templates, read_conll

    columns, times, kept = ("word", "pos", "chunk"), {}, {}
    options: dict[str, Any] = {"max_iter": epochs, "random_state": 0}
    if part == "strings":
        sentences = read(train)
        tags = [[chunk for *_, chunk in sentence] for sentence in sentences]
        features = [strings(sentence) for sentence in sentences]
        start = time.perf_counter()
        SequencePerceptron(**options).fit(features, tags)
        return {"fit, from strings": time.perf_counter() - start}

    def learn() -> None:
        start = time.perf_counter()
        corpus = read_conll(train, columns=columns)
        ready = time.perf_counter()
        tagger = SequencePerceptron(templates=TEMPLATES, **options).fit(corpus.without("chunk"), corpus["chunk"])
        kept["model"] = tagger.model_
        end = time.perf_counter()
        found = TemplateFeatures(Templates.parse(TEMPLATES)).add(corpus.without("chunk"))
        features = time.perf_counter() - end
        assert len(found.ids)
        times.update({"file → model": end - start, "training alone": end - ready - features})

    memory = measure.memory_above(learn)
    start = time.perf_counter()
    found = kept["model"].predict(read_conll(test, columns=columns).without("chunk"))
    found = [list(tags) for tags in found]
    times["raw test file → tags"] = time.perf_counter() - start
    size = sum(array.nbytes for array in kept["model"].state().arrays.values())
    return times | scores(test, found, memory, size)


def scores(test: str, found: list[list[str]], memory: int | None, size: int) -> dict[str, float]:
    from onkel.evaluate import conll_f1

    true = [[chunk for *_, chunk in sentence] for sentence in read(test)]
    result = {"F1, %": 100 * conll_f1(true, found).f1, "model, MB": size / 1e6, "tokens": sum(map(len, true))}
    return result | ({} if memory is None else {"memory, MB": memory / 1e6})


CONTENDERS: dict[str, tuple[Callable[[str, str, int, str], dict[str, float]], list[str]]] = {
    "crfsuite": (crfsuite, ["all"]),
    "onkel": (onkel, ["all", "strings"]),
}


# ---------------------------------------------------------------- the report


def run(name: str, part: str, files: tuple[Path, Path], epochs: int) -> dict[str, float]:
    """The figures of one contender, from a new process."""
    command = [sys.executable, __file__, "--run", name, part, *map(str, files), "--epochs", str(epochs)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        sys.stderr.write(f"{name}: {done.stderr.strip().splitlines()[-1]}\n")
        return {}
    figures: dict[str, float] = json.loads(done.stdout)
    return figures


def rows(found: dict[str, list[dict[str, float]]]) -> list[list[str]]:
    """One row for each figure: the best of the repeats, and how many times as fast onkel is."""
    lines = []
    names = ["file → model", "fit, from strings", "training alone", "raw test file → tags"]
    for key in [*names, "memory, MB", "model, MB", "features", "F1, %"]:
        best = {name: min((f[key] for f in figures if key in f), default=None) for name, figures in found.items()}
        shown = [
            ("" if value is None else f"{value:,.3f}" if key in names else f"{value:,.2f}") for value in best.values()
        ]
        ours, peer = best.get("onkel"), best.get("crfsuite")
        ratio = f"{peer / ours:.1f}" if ours and peer and key in names else ""
        lines.append([f"{key}{', s' if key in names else ''}", *shown, ratio, f"{BARS[key]:g}" if key in BARS else ""])
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--only", nargs="+", choices=list(CONTENDERS), default=list(CONTENDERS))
    parser.add_argument("--run", nargs=4, help=argparse.SUPPRESS)  # a contender, a part, the two files
    chosen = parser.parse_args()
    if chosen.run:
        name, part, train, test = chosen.run
        print(json.dumps(CONTENDERS[name][0](train, test, chosen.epochs, part)))
        return
    with tempfile.TemporaryDirectory() as folder:
        *files, name = paths(Path(folder))
        found: dict[str, list[dict[str, float]]] = {contender: [] for contender in chosen.only}
        for _ in range(chosen.repeats):
            for contender in chosen.only:
                parts = [run(contender, part, (files[0], files[1]), chosen.epochs) for part in CONTENDERS[contender][1]]
                found[contender].append({key: value for part in parts for key, value in part.items()})
    header = [f"{name}, {chosen.epochs} epochs", *found, "times as fast", "bar"]
    text = "\n\n".join((measure.table(header, rows(found)), measure.machine()))
    measure.report("sequences", text, {"data": name, "epochs": chosen.epochs, "runs": found})


if __name__ == "__main__":
    main()
