"""A linear perceptron over a feature map approaches the kernel perceptron.

A kernel perceptron predicts with a sum over all examples that it ever got wrong. The same function is linear in the
features of the kernel, of which there may be infinitely many. A map with a few hundred of them makes a model whose size
and speed do not depend on the data. How many does it take? Run me: python examples/approximate_maps.py   (a few
seconds; writes approximate_maps.png)
"""

from __future__ import annotations

import sys

import matplotlib
import numpy as np
from matplotlib.ticker import PercentFormatter, ScalarFormatter
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline

from onkel import KernelPerceptron, Perceptron
from onkel.features import NystroemMap, RandomFourierMap
from onkel.kernels import RBF

matplotlib.use("Agg")
import matplotlib.pyplot as plt

COLUMNS = [10, 20, 50, 100, 200, 500]
SEEDS = range(3)
BLUE, ORANGE, GRAY, DARK = "#1f5fa8", "#d9731a", "#8a8f98", "#33373d"


def main(path: str = "approximate_maps.png") -> None:
    # 8 × 8 images of handwritten digits, of which 1078 are for training.
    X, y = load_digits(return_X_y=True)
    train, test, y_train, y_test = train_test_split(X / 16.0, y, test_size=0.4, stratify=y, random_state=0)
    kernel = RBF(gamma=0.3)
    same = {"hypothesis": "averaged", "max_iter": 5, "fit_intercept": False, "random_state": 0}

    # The two ends: a line in the pixels, and a line in the infinitely many features of the Gaussian kernel.
    linear = Perceptron(**same | {"fit_intercept": True}).fit(train, y_train)
    machine = KernelPerceptron(kernel, **same).fit(train, y_train)
    line, goal = linear.score(test, y_test), machine.score(test, y_test)
    print(f"perceptron on the pixels           {line:.1%} of the test digits are right")
    print(f"kernel perceptron, {kernel}  {goal:.1%}, with {len(machine.support_)} support vectors\n")

    # In between: the same perceptron, on features φ(x) whose inner products approximate the kernel.
    #
    #   NystroemMap       kernel values with some training points, the centres, made orthonormal. It is exact for pairs
    #                     of which one is a centre, so it spends its columns where the data are.
    #   RandomFourierMap  cosines and sines with random frequencies. It needs no data, and the error of an inner
    #                     product is about 1/√columns anywhere in space.
    def accuracies(cls: type, columns: int) -> list[float]:
        size = columns // 2 if cls is RandomFourierMap else columns  # a frequency has two columns, a cosine and a sine
        models = [make_pipeline(cls(size, kernel=kernel, random_state=seed), Perceptron(**same)) for seed in SEEDS]
        return [model.fit(train, y_train).score(test, y_test) for model in models]

    found: dict[str, list[float]] = {"NystroemMap": [], "RandomFourierMap": []}
    print(f"{'columns':>8}  {'NystroemMap':>12}  {'RandomFourierMap':>17}     (mean of {len(SEEDS)} maps)")
    for columns in COLUMNS:
        for cls in (NystroemMap, RandomFourierMap):
            found[cls.__name__].append(float(np.mean(accuracies(cls, columns))))
        print(f"{columns:>8}  {found['NystroemMap'][-1]:>12.1%}  {found['RandomFourierMap'][-1]:>17.1%}")

    # Few random waves are worse than no map at all. A few hundred columns of either kind are better than the pixels,
    # and Nyström's come close to the kernel perceptron.
    #
    # With every training point as a centre nothing is left to approximate: the perceptron makes the mistakes of the
    # kernel perceptron, one by one.
    model = make_pipeline(NystroemMap(len(train), kernel=kernel), Perceptron(**same)).fit(train, y_train)
    mistakes = model[-1].n_mistakes_
    print(f"\nall {len(train)} centres: {mistakes} mistakes in training; the kernel perceptron: {machine.n_mistakes_}")
    assert mistakes == machine.n_mistakes_
    assert (model.predict(test) == machine.predict(test)).all()

    draw(found, line, goal, path)
    print(f"{path} shows the error against the number of columns")


def draw(found: dict[str, list[float]], line: float, goal: float, path: str) -> None:
    """Draws the test error of both maps between those of the two ends, each with its name beside its curve."""
    plt.rcParams.update({"font.size": 11, "axes.labelcolor": DARK, "xtick.color": DARK, "ytick.color": DARK})
    figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    for (name, accuracy), color, above in zip(found.items(), (BLUE, ORANGE), (False, True), strict=True):
        errors = 1 - np.array(accuracy)
        ax.plot(COLUMNS, errors, color=color, marker="o", markersize=4)
        place = {"ha": "left", "va": "bottom"} if above else {"ha": "right", "va": "top"}
        at, offset = (COLUMNS[3], errors[3]), (6, 3) if above else (-6, -3)
        ax.annotate(name, at, offset, textcoords="offset points", color=color, fontweight="bold", **place)
    for level, name in ((1 - line, "perceptron on the pixels"), (1 - goal, "kernel perceptron")):
        ax.axhline(level, color=GRAY, linewidth=1, linestyle=":")
        ax.text(COLUMNS[0], level * 0.96, name, color=DARK, va="top", fontsize=9)
    ax.set(xscale="log", yscale="log", xlabel="columns of the map", ylabel="error on the test digits", xticks=COLUMNS)
    ax.set_yticks([0.01, 0.02, 0.05, 0.1, 0.2, 0.5])
    ax.xaxis.set_major_formatter(ScalarFormatter())
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.minorticks_off()
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main(*sys.argv[1:])
