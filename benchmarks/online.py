"""Learners with a budget, compared with the time of their inner products alone, with KOL and with river.

    python benchmarks/online.py

Sections: one pass over a9a in chunks, with a budget of 500; one example at a time; a drifting stream of a million
examples, with the memory that it takes; a shorter drifting stream, compared with river; and elec2 in time order, with
all parameters tuned on its first tenth. The data sets are read from the folder ONKEL_DATA. Without it they are replaced
by generated rows, to which the bars do not apply.

The floor of a pass in chunks is the time of its inner products alone: d multiply-adds, at the BLAS rate of this run,
for each pair of a row and a support vector, and for each pair of a row and a row of its chunk.
"""

from __future__ import annotations

import copy
import itertools
import os
import time
from collections.abc import Callable, Iterable
from typing import Any

import measure
import numpy as np
from perceptron import Row, a9a, figures, row

from onkel import (
    BudgetPerceptron,
    Forgetron,
    NormaClassifier,
    PassiveAggressiveClassifier,
    Perceptron,
    Projectron,
    evaluate,
    progressive_validation,
    river,
)
from onkel.data import Stream, drifting

CHUNK, BUDGET = 1024, 500
LEARNERS: dict[str, tuple[type, dict[str, Any]]] = {
    "Forgetron": (Forgetron, {}),
    "BudgetPerceptron, random": (BudgetPerceptron, {"forget": "random", "random_state": 0}),
    "BudgetPerceptron, oldest": (BudgetPerceptron, {"forget": "oldest"}),
    "Projectron": (Projectron, {"eta": 0.0}),
    "Projectron++": (Projectron, {"eta": 0.0, "aggressive": True}),
    "PassiveAggressiveClassifier": (PassiveAggressiveClassifier, {}),
    "NormaClassifier": (NormaClassifier, {}),
}
# The bars of the pass over a9a, in floors.
FLOORS = {"Forgetron": 4, "BudgetPerceptron, random": 4, "BudgetPerceptron, oldest": 4, "Projectron": 10}
# Seconds of the public C++ library KOL for the pass over a9a on a similar computer, and our bar: how many times faster.
KOL = {"Forgetron": (1.7, 15), "BudgetPerceptron, random": (1.6, 15), "Projectron": (3.2, 8)}


def make(name: str, gamma: float, budget: int) -> Any:
    kind, options = LEARNERS[name]
    return kind(gamma=gamma, budget=budget, **options)


def learn(machine: Any, chunks: Iterable[tuple[Any, np.ndarray]], classes: Any) -> Any:
    for X, y in chunks:
        machine.partial_fit(X, y, classes=classes)
    return machine


def in_chunks(X: Any, y: np.ndarray, size: int) -> list[tuple[Any, np.ndarray]]:
    return list(Stream(X, y).chunks(size))


# ---------------------------------------------------------------- a9a


def one_pass(repeats: int) -> list[Row]:
    """One pass over a9a in file order, K = exp(−0.01‖·‖²), float32: all learners on dense and on CSR rows, in turn."""
    X, y, T, t, name = a9a()
    X, T = X.astype(np.float32), T.astype(np.float32)
    classes = np.unique(y)
    chunks = {"dense": in_chunks(X.toarray(), y, CHUNK), "CSR": in_chunks(X, y, CHUNK)}
    fitted: dict[tuple[str, str], Any] = {}

    def run(learner: str, source: str) -> None:
        fitted[learner, source] = learn(make(learner, 0.01, BUDGET), chunks[source], classes)

    pairs = list(itertools.product(LEARNERS, chunks))
    seconds = measure.interleaved({f"{a} {b}": (lambda a=a, b=b: run(a, b)) for a, b in pairs}, repeats)
    found = []
    for learner in LEARNERS:
        dense, csr = (seconds[f"{learner} {source}"] for source in chunks)
        machine = fitted[learner, "dense"]
        theirs, faster = KOL.get(learner, (None, None))
        found.append(
            {
                "set": name,
                "learner": learner,
                "seconds": dense,
                "products": 123 * X.shape[0] * (BUDGET + CHUNK),  # multiply-adds
                "bar_floors": FLOORS.get(learner),
                "csr_seconds": csr,
                "csr_ratio": csr / dense,
                "kol_seconds": theirs,
                "times_faster": None if theirs is None else theirs / dense,
                "bar_faster": faster,
                "mistakes": machine.n_mistakes_,
                "csr_mistakes": fitted[learner, "CSR"].n_mistakes_,
                "accuracy": 100 * float((machine.predict(T) == t).mean()),
            }
        )
    return found


def one_pass_table(rows: list[Row]) -> str:
    def barred(value: float | None, bar: int | None, sign: str) -> str:
        return "–" if value is None else f"{value:.2g}" + ("" if bar is None else f" ({sign} {bar})")

    header = [f"{rows[0]['set']}, B = {BUDGET}, float32", "dense, s", "floors (bar)", "CSR, s", "CSR / dense (≤ 2)"]
    header += ["KOL, s", "times faster (bar)", "mistakes", "test accuracy"]
    lines = [
        [
            r["learner"],
            f"{r['seconds']:.3g}",
            barred(r["floors"], r["bar_floors"], "≤"),
            f"{r['csr_seconds']:.3g}",
            f"{r['csr_ratio']:.2f}",
            "–" if r["kol_seconds"] is None else f"{r['kol_seconds']}",
            barred(r["times_faster"], r["bar_faster"], "≥"),
            str(r["mistakes"]),
            f"{r['accuracy']:.2f} %",
        ]
        for r in rows
    ]
    return measure.table(header, lines)


# ---------------------------------------------------------------- one example at a time


def one_by_one(dtype: type, repeats: int) -> list[Row]:
    """`learn_one` with a full budget of 500, d = 50: in a loop, and separately for calls with and without an update.

    For the separate times each call is timed, and the learner is asked whether it has changed. The caches of the
    processor are then colder, so that these calls take longer than those in the loop.
    """
    rng = np.random.default_rng(5)
    X = rng.standard_normal((12_000, 50)).astype(dtype)
    y = ((X[:, 0] > 0) ^ (rng.random(len(X)) < 0.1)).astype(int)  # a tenth of the labels are wrong
    first, T, labels = 10_000, X[10_000:], y[10_000:].tolist()
    machines = {
        name: learn(make(name, 0.02, BUDGET), in_chunks(X[:first], y[:first], 500), [0, 1]) for name in LEARNERS
    }
    best: dict[str, tuple[float, float, float, float]] = {}
    for _ in range(repeats):
        for name, machine in machines.items():
            if len(machine.support_) < BUDGET:
                raise SystemExit(f"{name} has not filled its budget: {len(machine.support_)} of {BUDGET}")
            spent, learned = timed_one_by_one(copy.deepcopy(machine), T, labels)
            means = (in_a_loop(copy.deepcopy(machine), T, labels), spent[~learned].mean(), spent[learned].mean())
            old = best.get(name, (np.inf,) * 4)
            best[name] = (*(min(a, float(b)) for a, b in zip(old, means, strict=False)), float(learned.mean()))
    found = []
    kind = np.dtype(dtype).name
    for name, (every, idle, busy, share) in best.items():
        found += [
            row(f"{name}, {kind}: learn_one, {share:.0%} of the examples learned from", every * 1e6, "µs", bar="30 µs"),
            row("— nothing to learn", idle * 1e6, "µs"),
            row("— something to learn", busy * 1e6, "µs"),
        ]
    return found


def in_a_loop(machine: Any, T: np.ndarray, labels: list[int]) -> float:
    """Mean seconds of a `learn_one` in a loop."""
    start = time.perf_counter()
    for x, label in zip(T, labels, strict=True):
        machine.learn_one(x, label)
    return (time.perf_counter() - start) / len(T)


def timed_one_by_one(machine: Any, T: np.ndarray, labels: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Seconds of each call of `learn_one`, and whether it changed the learner."""
    spent, learned, clock = np.empty(len(T)), np.empty(len(T), dtype=bool), time.perf_counter
    for i, (x, label) in enumerate(zip(T, labels, strict=True)):
        before, start = machine.n_updates_, clock()
        machine.learn_one(x, label)
        spent[i] = clock() - start
        learned[i] = machine.n_updates_ > before
    return spent, learned


# ---------------------------------------------------------------- a million examples


def a_million(repeats: int) -> list[Row]:
    """A drifting stream in the plane that turns and jumps, B = 100. The data is generated before the clock starts."""
    n = 1_000_000
    stream = drifting(n, drifts=[n // 3, 2 * n // 3], turns=1.0, noise=0.05, random_state=0)
    whole = [np.concatenate(part) for part in zip(*stream.chunks(4096), strict=True)]
    names = [name for name in LEARNERS if name not in ("BudgetPerceptron, oldest", "Projectron++")]
    found = []
    for dtype, size in ((np.float64, 1000), (np.float64, 4096), (np.float32, 4096)):
        chunks = in_chunks(whole[0].astype(dtype), whole[1], size)
        fitted: dict[str, Any] = {}

        def run(name: str, chunks: Any = chunks, fitted: dict[str, Any] = fitted) -> None:
            fitted[name] = learn(make(name, 2.0, 100), chunks, [0, 1])

        for name in names:  # warms up, so that one-off allocations do not count as memory of the pass
            learn(make(name, 2.0, 100), chunks[:20], [0, 1])
        memory = {name: measure.memory_above(lambda name=name: run(name)) for name in names}
        seconds = measure.interleaved({name: (lambda name=name: run(name)) for name in names}, repeats)
        for name in names:
            what = f"{name}, {np.dtype(dtype).name}, chunks of {size}: error {fitted[name].n_mistakes_ / n:.1%}"
            what += "" if memory[name] is None else f", {memory[name] / 1e6:.1f} MB more at the most"
            found.append(row(what, n / seconds[name], "examples/s", bar="500000 examples/s"))
    return found


def beside_river(repeats: int) -> list[Row]:
    """Progressive validation on 20 000 examples: random Fourier features and a linear PA of river, and our learners.

    RBFSampler of river maps every feature by itself, so that no later step sees two features together, which this
    stream needs. We therefore also time random Fourier features of the whole vector, computed by a function of ours in
    a pipeline of river.
    """
    try:
        from river import compose, feature_extraction, linear_model
    except ImportError:
        return []
    rng = np.random.default_rng(0)
    # random Fourier features of exp(−2‖·‖²)
    W, phase = rng.normal(scale=2.0, size=(100, 2)), rng.uniform(0, 2 * np.pi, 100)

    def together(x: dict[str, float]) -> dict[int, float]:
        return dict(enumerate(np.cos(W @ (x["a"], x["b"]) + phase).tolist()))

    n, size = 20_000, 100
    stream = drifting(n, drifts=[n // 3, 2 * n // 3], turns=0.05, noise=0.05, random_state=0)
    pairs = list(stream)
    named = [({"a": float(x[0]), "b": float(x[1])}, int(label)) for x, label in pairs]

    def beside(features: Any) -> Any:
        return features | linear_model.PAClassifier(C=1.0, mode=1)

    contenders: dict[str, Callable[[], Any]] = {
        "river, RBFSampler(100) and PAClassifier": lambda: (
            beside(feature_extraction.RBFSampler(gamma=2.0, n_components=100, seed=0)),
            named,
            1,
        ),
        "river, 100 features of the whole vector and PAClassifier": lambda: (
            beside(compose.FuncTransformer(together)),
            named,
            1,
        ),
    }
    for name in ("Forgetron", "PassiveAggressiveClassifier"):
        contenders |= {
            f"{name}(budget=100) wrapped for river, dicts": lambda name=name: (
                river.wrap(make(name, 2.0, 100)),
                named,
                1,
            ),
            f"{name}(budget=100), one by one": lambda name=name: (make(name, 2.0, 100), pairs, 1),
            f"{name}(budget=100), chunks of {size}": lambda name=name: (make(name, 2.0, 100), pairs, size),
        }
    last: dict[str, Any] = {}
    best = dict.fromkeys(contenders, np.inf)
    for _, (what, start) in itertools.product(range(repeats), contenders.items()):
        model, examples, chunk = start()
        *_, last[what] = progressive_validation(model, Stream.of(examples), chunk=chunk, every=n)
        best[what] = min(best[what], last[what].seconds)  # the time of predicting and learning alone
    return [row(f"{what}: error {last[what].error:.1%}", n / best[what], "examples/s") for what in contenders]


# ---------------------------------------------------------------- elec2

# The parameters of each learner that are tuned besides gamma and the kernel.
OWN: dict[str, dict[str, list[Any]]] = {
    "Forgetron": {"variant": ["self-tuned", "basic"]},
    "BudgetPerceptron": {"forget": ["random", "oldest"]},
    "Projectron": {"eta": [0.0, 0.1, 0.3]},
    "Projectron++": {"eta": [0.0, 0.1, 0.3]},
    "PassiveAggressiveClassifier": {"variant": ["PA-I", "PA-II"], "C": [0.1, 1.0, 10.0, 100.0]},
    "NormaClassifier": {"eta": [0.05, 0.2, 1.0], "lam": [1e-4, 1e-3, 1e-2], "rho": [0.0, 1.0]},
}
KERNELS, GAMMAS = ("rbf", "laplacian"), (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)


def elec2() -> tuple[np.ndarray, np.ndarray, list[str], str]:
    folder = measure.data("elec2")
    if folder is not None:
        with np.load(folder / "data.npz") as file:
            return file["X"].astype(np.float64), file["y"].astype(int), file["feature_names"].tolist(), "elec2"
    X, y = next(drifting(45_312, d=3, drifts=[20_000], turns=0.1, noise=0.05, random_state=0).chunks(45_312))
    return X, y, ["a", "b", "noise"], "a mill for elec2"


def standardised_so_far(X: np.ndarray, limit: float = 3.0) -> np.ndarray:
    """Each value standardised with the mean and deviation of its column so far, clipped to ±limit."""
    count = np.arange(1, len(X) + 1)[:, None]
    mean = X.cumsum(axis=0) / count
    deviation = np.sqrt(np.maximum((X**2).cumsum(axis=0) / count - mean**2, 0.0))
    deviation[deviation < 1e-6] = 1.0  # a column that has been constant so far
    return np.clip((X - mean) / deviation, -limit, limit)


def mistakes(machine: Any, X: np.ndarray, y: np.ndarray) -> int:
    """The mistakes y f ≤ 0 of one pass; each example is scored before it is learned from."""
    return int(learn(machine, in_chunks(X, y, CHUNK), [0, 1]).n_mistakes_)


def tuned(name: str, X: np.ndarray, y: np.ndarray, columns: list[list[int]]) -> tuple[int, list[int], Any]:
    """The fewest mistakes on these examples, with the columns and the estimator that make them.

    First the columns, the kernel and gamma are tuned, and then gamma and the parameters of the learner in `OWN`.
    """
    if name == "Perceptron":
        made = [(at, Perceptron(fit_intercept=b)) for at in columns for b in (True, False)]
    else:
        kind, options = LEARNERS["BudgetPerceptron, random" if name == "BudgetPerceptron" else name]
        options = options | {"budget": BUDGET}
        made = [(at, kind(kernel, gamma=gamma, **options)) for at in columns for kernel in KERNELS for gamma in GAMMAS]
        _, at, machine = fewest(made, X, y)
        own = [dict(zip(OWN[name], values, strict=True)) for values in itertools.product(*OWN[name].values())]
        made = [(at, kind(machine.kernel, gamma=gamma, **options | more)) for gamma in GAMMAS for more in own]
    return fewest(made, X, y)


def fewest(made: list[tuple[list[int], Any]], X: np.ndarray, y: np.ndarray) -> tuple[int, list[int], Any]:
    """The candidate with the fewest mistakes; of equal ones, the first."""
    found = [(mistakes(copy.copy(machine), X[:, at], y), at, machine) for at, machine in made]
    return min(found, key=lambda entry: entry[0])


def in_time_order() -> tuple[list[Row], Row]:
    """Progressive errors on elec2 under three protocols, each tuned in the same way.

    All columns as published; all columns standardised with their values so far; and the best subset of the latter.
    """
    X, y, names, name = elec2()
    tenth, everything = len(y) // 10, [list(range(X.shape[1]))]
    published = X / np.array([1, 7, *[1] * (X.shape[1] - 2)])  # the day of the week, 1 to 7, is scaled as the others
    moving = [j for j in range(X.shape[1]) if np.ptp(X[:tenth, j]) > 1e-3]
    subsets = [list(at) for k in range(1, len(moving) + 1) for at in itertools.combinations(moving, k)]
    protocols = {
        "as published": (published, everything),
        "standardised": (standardised_so_far(X), everything),
        "chosen": (standardised_so_far(X), subsets),
    }
    found = []
    for protocol, (Z, columns) in protocols.items():
        for learner in ("Perceptron", *OWN):
            first, at, machine = tuned(learner, Z[:tenth], y[:tenth], columns)
            told = f"{machine!r}".replace("\n", "").replace(" " * 2, "")
            whole = mistakes(machine, Z[:, at], y)
            found.append(
                {
                    "set": name,
                    "protocol": protocol,
                    "learner": learner,
                    "estimator": told,
                    "columns": [names[j] for j in at],
                    "first_tenth": 100 * first / tenth,
                    "rest": 100 * (whole - first) / (len(y) - tenth),
                    "whole": 100 * whole / len(y),
                }
            )
    without = {"majority": 100 * float(min(y.mean(), 1 - y.mean())), "no_change": 100 * evaluate.baselines(y).no_change}
    return found, without


def in_time_order_table(rows: list[Row], without: Row) -> str:
    header = [f"{rows[0]['set']}, B = {BUDGET}, progressive error", "first tenth (tuned)", "the rest", "all"]
    header += ["below the line's", "chosen on the first tenth"]
    lines = []
    for r in rows:
        line = next(s["whole"] for s in rows if s["protocol"] == r["protocol"] and s["learner"] == "Perceptron")
        errors = [f"{r[key]:.2f} %" for key in ("first_tenth", "rest", "whole")]
        columns = "" if r["protocol"] != "chosen" else f", on {', '.join(r['columns'])}"
        below = "–" if r["learner"] == "Perceptron" else f"{line - r['whole']:.2f}"
        lines.append([f"{r['protocol']}: {r['learner']}", *errors, below, f"`{r['estimator']}`{columns}"])
    told = f"Without looking: the less frequent label {without['majority']:.1f} %, the last label again "
    told += f"{without['no_change']:.1f} %. The bar is 2 points below the line for the best learner."
    return f"{measure.table(header, lines)}\n\n{told}"


# ---------------------------------------------------------------- the report


def main() -> None:
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    sgemm = [measure.gemm_rate(np.float32)]  # measured again after each part: it varies if others use the computer
    passes = one_pass(repeats=10)
    rows: list[Row] = []
    parts: tuple[Callable[[], list[Row]], ...] = (
        lambda: one_by_one(np.float32, repeats=15),
        lambda: one_by_one(np.float64, repeats=15),
        lambda: a_million(repeats=4),
        lambda: beside_river(repeats=2),
    )
    for part in parts:
        sgemm.append(measure.gemm_rate(np.float32))
        rows += part()
    sgemm.append(measure.gemm_rate(np.float32))
    for r in passes:  # the best rate: with a lower one the floor would be too long, and our ratio too good
        r["floors"] = r["seconds"] / (r["products"] / max(sgemm))
    in_time, without = in_time_order()
    note = f"{measure.machine()}; sgemm {2 * max(sgemm) / 1e9:.0f} GFLOP/s. Load before the run: {load:.1f}; "
    note += f"sgemm during the run: {', '.join(f'{2 * rate / 1e9:.0f}' for rate in sgemm)} GFLOP/s"
    note += "." if min(sgemm) > 0.9 * max(sgemm) else ": the machine was disturbed, run it again."
    tables = (one_pass_table(passes), figures(rows), note, in_time_order_table(in_time, without))
    results = {"sgemm": sgemm, "load": load, "a9a": passes, "rows": rows, "elec2": in_time, "without": without}
    measure.report("online", "\n\n".join(tables), results)


if __name__ == "__main__":
    main()
