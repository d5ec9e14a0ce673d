"""Learners that follow a changing concept: progressive validation on a drifting stream.

Run me: python examples/drift.py   (writes drift.png)

Every example is first predicted and then learned from, so each one tests a model that has not seen it. The two
classes lie in four sectors, like the sails of a windmill. The mill turns slowly and jumps twice: no linear classifier
ever does better than chance on it, and a model that was learned before a jump is wrong after it.

The picture in the README is made by: python examples/drift.py docs/images/drift.png
"""

from __future__ import annotations

import sys

import matplotlib
import matplotlib.pyplot as plt
from matplotlib.ticker import PercentFormatter, StrMethodFormatter
from PIL import Image

from onkel import Forgetron, KernelPerceptron, PassiveAggressiveClassifier, Perceptron, evaluate, progressive_validation
from onkel.data import drifting
from onkel.plot import ProgressDisplay

matplotlib.use("Agg")

N, DRIFTS, NOISE, WINDOW = 30_000, [10_000, 20_000], 0.05, 1000

GRAY, ORANGE, BLUE, DARK = "#8a8f98", "#d9731a", "#1f5fa8", "#33373d"


def main(path: str = "drift.png") -> None:
    # The stream is generated as it is read, in chunks of any size: a million examples need no more memory.
    stream = drifting(N, drifts=DRIFTS, turns=0.05, noise=NOISE, random_state=0)

    # The mistake rates of predictions that ignore x:
    baselines = evaluate.baselines(stream)
    print(f"majority so far errs on {baselines.majority:.1%}, the last label again on {baselines.no_change:.1%}\n")

    learners = {
        "linear": Perceptron(),
        "kernel, the average of all guesses": KernelPerceptron(gamma=2.0, hypothesis="averaged"),
        "kernel, the last guess": KernelPerceptron(gamma=2.0, hypothesis="last"),
        "Forgetron, budget 100": Forgetron(gamma=2.0, budget=100),
        "passive-aggressive, budget 100": PassiveAggressiveClassifier(gamma=2.0, budget=100),
    }
    records = {}
    for name, learner in learners.items():
        # Chunks of 100 are much faster than single examples; a prediction is then up to 100 examples old.
        records[name] = list(progressive_validation(learner, stream, "f1", chunk=100, every=200, window=WINDOW))
        print(f"{name}\n  {records[name][-1]}")

    # The average of all guesses is the best model of a concept that does not change, and the worst of one that jumps,
    # because it also averages the guesses from before the jump. The last guess follows the concept. Both learners keep
    # every example that they ever got wrong, and grow without end. The learners with a budget follow as well, with 100
    # support vectors, however long the stream is.
    draw(records, path)
    print(f"\n{path} shows the error over the last {WINDOW} examples and the number of support vectors")


def draw(records: dict, path: str) -> None:
    """Draws three of the learners, each with its name beside its curve."""
    linear, averaged, *_, budgeted = records
    colors = {linear: GRAY, averaged: ORANGE, budgeted: BLUE}
    plt.rcParams.update({"font.size": 11, "axes.labelcolor": DARK, "xtick.color": DARK, "ytick.color": DARK})
    figure, (errors, support) = plt.subplots(
        2, 1, figsize=(8, 4.8), sharex=True, height_ratios=[2.4, 1], layout="constrained"
    )
    shown = {name: records[name] for name in colors}
    display = ProgressDisplay(shown, drifts=DRIFTS)
    display.plot(errors, support_ax=support, colors=[*colors.values()], running=False, legend=False)

    errors.set(ylim=(0, 0.86), ylabel=f"error rate over the\nlast {WINDOW:,} examples", yticks=[0, 0.25, 0.5, 0.75])
    errors.yaxis.set_major_formatter(PercentFormatter(1.0))
    support.set(xlim=(0, N), ylim=(0, 4800), xlabel="examples seen so far", ylabel="support vectors")
    support.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    support.yaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    figure.align_ylabels()

    errors.axhline(NOISE, color=DARK, linewidth=0.8, linestyle=":")
    errors.text(N, NOISE - 0.012, f"{NOISE:.0%} of the labels are wrong", ha="right", va="top", color=DARK, fontsize=9)
    for t in DRIFTS:
        errors.text(t + 200, 0.86, "the concept jumps", va="top", color=DARK, fontsize=9)
    label(errors, 2_300, 0.57, "linear perceptron", GRAY)
    label(errors, 20_900, 0.755, "averaged kernel perceptron", ORANGE)
    label(errors, 11_800, 0.185, "passive-aggressive\nwith a budget of 100", BLUE)
    label(support, 400, 3_250, "averaged kernel perceptron: keeps every mistake", ORANGE)
    label(support, 20_400, 430, "passive-aggressive: 100", BLUE)
    figure.savefig(path, dpi=150)
    Image.open(path).convert("RGB").quantize(64).save(
        path, optimize=True
    )  # a palette of 64 colours takes a quarter of the bytes


def label(ax: plt.Axes, x: float, y: float, text: str, color: str) -> None:
    """Writes a name in the color of its curve, on a white background that hides the lines behind it."""
    ax.text(x, y, text, color=color, fontweight="bold", fontsize=10, bbox={"color": "white", "pad": 1.0})


if __name__ == "__main__":
    main(*sys.argv[1:])
