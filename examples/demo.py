"""A classifier that learns only from its mistakes, on scikit-learn's digits, with its certificate; and a tagger.

Run with `make demo`. Prints small tables and writes demo.png: a decision boundary with the support vectors, the
mistakes against the theorem's bound, and the Gram matrix. The classifier is saved to demo.onkel, loaded again and goes
on learning. In the end a sentence is tagged.
"""

from __future__ import annotations

import os
import sys
import time

import matplotlib
from sklearn.datasets import load_digits, make_moons
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.model_selection import train_test_split

import onkel
from onkel import KernelPerceptron, SequencePerceptron, bounds, gram
from onkel.data import load_tagged_sentences
from onkel.kernels import RBF, Laplacian, Linear, Polynomial, Sigmoid
from onkel.plot import GramDisplay, MistakesDisplay

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def digits(path: str, out) -> None:
    """Ten classes: accuracy, mistakes, support vectors and certificate of an averaged kernel perceptron; a file."""
    X, y = load_digits(return_X_y=True)
    X = X / 16.0
    train, test, y_train, y_test = train_test_split(X, y, random_state=0)
    clf = KernelPerceptron("rbf", gamma=0.1, max_iter=20, random_state=0)
    start = time.perf_counter()
    clf.fit(train, y_train)
    seconds = time.perf_counter() - start
    certificate = clf.certificate_
    out.write(f"An averaged kernel perceptron on {len(train)} digits, {clf.kernel_!r}, {seconds:.2f} s\n\n")
    rows = {
        "test accuracy": f"{clf.score(test, y_test):.4f}",
        "epochs": f"{clf.n_iter_}, the last one {'without a' if clf.converged_ else 'still with a'} mistake",
        "mistakes": f"{clf.n_mistakes_} in {clf.n_rounds_} rounds, summed over the 10 one-vs-rest classifiers",
        "support vectors": f"{len(clf.support_)} of {len(train)} examples were ever got wrong",
        "the theorem": f"at most {certificate.bound:.0f} mistakes, the sum of the bounds of the 10 classifiers: "
        f"{'IT FAILS' if certificate.holds is False else 'it holds'}",
    }
    for name, value in rows.items():
        out.write(f"  {name:<16} {value}\n")
    terms = clf.model_.explain(test[0], output=int(clf.predict(test[:1])[0]))
    named = ", ".join(
        f"a {y_train[t.row_id]} (importance {t.importance:.2f}, similarity {t.similarity:.2f})" for t in terms[:3]
    )
    out.write(f"\n  The first test digit is taken for a {clf.predict(test[:1])[0]} mostly because of {named}.\n")
    onkel.save(clf, path)
    loaded = onkel.load(path)
    scores = "the same" if (loaded.decision_function(test) == clf.decision_function(test)).all() else "OTHER"
    loaded.learn_one(test[0], y_test[0])
    size = f"{os.path.getsize(path) / 1000:.0f} kB"
    out.write(
        f"  Saved ({path}, {size}) and loaded, it gives {scores} scores, and learns on: round {loaded.n_rounds_}.\n"
    )


def kernels(out) -> None:
    """Which kernels are valid: their Gram matrices examined by `gram.check`."""
    X, _ = load_digits(return_X_y=True)
    X = X[:800] / 16.0
    out.write(f"\n  {'kernel':<34} {'valid':>5} {'smallest eigenvalue':>20} {'rank':>5} {'seconds':>8}\n")
    for kernel in (
        Linear(),
        Polynomial(gamma=0.1),
        RBF(gamma=0.1),
        Laplacian(gamma=0.1),
        Sigmoid(gamma=0.1, coef0=-1.0),
    ):
        start = time.perf_counter()
        K = kernel(X)
        seconds = time.perf_counter() - start
        found = gram.check(K)
        name = repr(kernel).replace(", coef0=1.0", "")
        valid = "yes" if found.psd else "NO"
        out.write(f"  {name:<34} {valid:>5} {found.smallest_eigenvalue:>20.2e} {found.rank:>5} {seconds:>8.3f}\n")


def pictures(path: str, out) -> None:
    """Two moons in the plane, learned until an epoch makes no mistake; draws three plots."""
    X, y = make_moons(200, noise=0.12, random_state=1)
    clf = KernelPerceptron(RBF(gamma=2.0), hypothesis="averaged", max_iter=100, random_state=0).fit(X, y)
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(17, 5), layout="constrained")
    DecisionBoundaryDisplay.from_estimator(clf, X, ax=left, response_method="predict", cmap="coolwarm", alpha=0.35)
    left.scatter(*X.T, c=y, cmap="coolwarm", s=14, edgecolors="none")
    left.scatter(*clf.support_vectors_.T, facecolors="none", edgecolors="black", s=70, label="got wrong at least once")
    left.legend(loc="upper right")
    left.set_title(f"{clf.n_mistakes_} mistakes, {len(clf.support_)} support vectors")
    MistakesDisplay.from_estimator(clf, ax=middle)
    GramDisplay.from_kernel(clf.kernel_, X, y=y, ax=right)
    figure.savefig(path, dpi=110)
    out.write(f"\n  Two moons, {path}: {bounds.certificate(clf, X, y)}\n")


def tagging(out) -> None:
    """Two taggers, of parts of speech and of names, trained on the sentences that come with onkel."""
    corpus = load_tagged_sentences()
    words, start = corpus.only("word"), time.perf_counter()
    pos = SequencePerceptron(templates="pos", margin=20, random_state=0).fit(words, corpus["pos"])
    names = SequencePerceptron(templates="ner", margin=20, scheme="BIO", random_state=0).fit(words, corpus["entity"])
    seconds = time.perf_counter() - start
    sentence = ["Clara", "Lopez", "left", "Atlas", "Bank", "and", "opened", "a", "small", "bakery", "in", "Oslo", "."]
    rows = [sentence, pos.predict_one(sentence), ["" if tag == "O" else tag for tag in names.predict_one(sentence)]]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    out.write(
        f"\nTwo taggers, trained on {len(corpus)} sentences in {seconds:.2f} s, and a sentence that is new to them\n\n"
    )
    for row in rows:
        out.write("  " + "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() + "\n")


def main(path: str = "demo.png") -> None:
    out = sys.stdout
    digits(os.path.splitext(path)[0] + ".onkel", out)
    kernels(out)
    pictures(path, out)
    tagging(out)


if __name__ == "__main__":
    main(*sys.argv[1:])
