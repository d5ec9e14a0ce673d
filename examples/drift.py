"""A world that turns, and learners that follow it: test-then-train on a drifting stream.

Run me: python examples/drift.py   (writes drift.png)

Every example is first predicted and then learned from, so each one tests a model that has not seen it.
The stream is a mill with four sails that turns slowly and, twice, jumps: no line ever does better than
chance on it, and what was learned before a jump is worth nothing after it.
"""

from __future__ import annotations

import sys

import matplotlib

from onkel import Forgetron, KernelPerceptron, Perceptron, evaluate, progressive_validation
from onkel.data import drifting
from onkel.plot import ProgressDisplay

matplotlib.use("Agg")

N, DRIFTS = 30_000, [10_000, 20_000]


def main(path: str = "drift.png") -> None:
    # A stream is read in chunks of any size, and is made as it is read: a million examples need no more memory.
    stream = drifting(N, drifts=DRIFTS, turns=0.05, noise=0.05, random_state=0)

    # Without looking at x at all:
    baselines = evaluate.baselines(stream)
    print(f"majority so far errs on {baselines.majority:.1%}, the last label again on {baselines.no_change:.1%}\n")

    learners = {
        "a line": Perceptron(),
        "a kernel, the last guess": KernelPerceptron(gamma=2.0, hypothesis="last"),
        "a kernel, all guesses averaged": KernelPerceptron(gamma=2.0, hypothesis="averaged"),
        "a kernel with a budget of 100": Forgetron(gamma=2.0, budget=100),
    }
    records = {}
    for name, learner in learners.items():
        # Chunks of 100 are much faster than single examples; predictions are then up to 100 examples old.
        records[name] = list(progressive_validation(learner, stream, "f1", chunk=100, every=500, window=500))
        print(f"{name}\n  {records[name][-1]}")

    # The last guess follows a drift; the average of all guesses remembers too much of the old world. Both
    # keep every example they ever got wrong, and grow for ever. The Forgetron lets the oldest fade and
    # go: it errs a few points more, with 100 support vectors in place of 4306, however long the stream is.
    ProgressDisplay.from_records(records, drifts=DRIFTS, baselines=baselines).figure_.savefig(path, dpi=110)
    print(f"\n{path} shows the error of the last 500 examples, and how the support grows")


if __name__ == "__main__":
    main(*sys.argv[1:])
