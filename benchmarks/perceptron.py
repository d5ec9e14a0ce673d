"""The kernel perceptron, compared with the time of its inner products alone.

    python benchmarks/perceptron.py

Sections: MNIST with (1 + x·z)³, ten classes, one epoch and ten; one pass over a9a, from CSR and dense rows; one example
at a time; the time of an import; and a table of Freund and Schapire 1999, reproduced. The data sets are read from the
folder ONKEL_DATA. Without it, MNIST is replaced by scikit-learn's digits, and a9a by generated rows of the same shape
and density, to which the bars do not apply.

The floor of learning is d multiply-adds, at the BLAS rate of this run, for each pair of a support vector and a row
that had not been scored yet when the support vector was added; the floor of testing is d multiply-adds for each kernel
value.
"""

from __future__ import annotations

import bz2
import copy
import io
import multiprocessing
import os
import subprocess
import sys
import time
from typing import Any

import measure
import numpy as np
import scipy.sparse as sp

from onkel import KernelPerceptron
from onkel.kernels import Polynomial

Row = dict[str, Any]

# Freund and Schapire 1999, T = 1: mistakes, support, test error of the vote in %; None: not noted
PUBLISHED = {2: (10201, 8190, 2.8), 3: (8475, 6774, 2.3), 4: (None, 6338, None)}


def row(what: str, value: float, unit: str, beside: str = "", floor: float | None = None, bar: str = "") -> Row:
    """A measured value; with a floor in the same unit, also their ratio."""
    ratio = None if floor is None else value / floor
    return {"what": what, "value": value, "unit": unit, "beside": beside, "floor": floor, "ratio": ratio, "bar": bar}


def learning_values(machine: KernelPerceptron, n: int) -> int:
    """The kernel values that one epoch needs: of each support vector with the rows after its first mistake."""
    entries = machine.mistakes_  # in the order of their rounds
    _, first = np.unique(entries["row"], return_index=True)
    return int((n - entries["round"][first]).sum())


# ---------------------------------------------------------------- MNIST


def mnist() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, str]:
    folder = measure.data("mnist")
    if folder is not None:
        with np.load(folder / "data.npz") as file:
            X, T = ((file[name].reshape(-1, 784) / np.float32(255)) for name in ("X_train", "X_test"))
            return X, file["y_train"], T, file["y_test"], "MNIST"
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    X, order = (X / 16).astype(np.float32), np.random.default_rng(0).permutation(len(y))
    train, test = order[:1400], order[1400:]
    return X[train], y[train], X[test], y[test], "digits"


def epochs(rates: dict[type, float], repeats: int) -> list[Row]:
    """One epoch and ten epochs in turn; before them, ten epochs whose memory is measured."""
    X, y, T, t, name = mnist()
    n, d = X.shape
    fitted: dict[int, KernelPerceptron] = {}

    def fit(count: int) -> None:
        machine = KernelPerceptron(Polynomial(degree=3), max_iter=count, random_state=0, cache_size=6000)
        fitted[count] = machine.fit(X, y)

    KernelPerceptron(Polynomial(degree=3), max_iter=2).fit(X[:500], y[:500])
    memory = measure.memory_above(lambda: fit(10))
    seconds = measure.interleaved({"one": lambda: fit(1), "ten": lambda: fit(10)}, repeats)
    floor = d * learning_values(fitted[1], n) / rates[np.float32]
    what = f"{name} {n} × {d}, (1 + x·z)³, {len(fitted[1].classes_)} classes, float32"
    support = {count: len(machine.support_) for count, machine in fitted.items()}
    error = 100 * float((fitted[10].predict(T) != t).mean())
    found = [
        row(f"{what}: one epoch, {support[1]} support rows", seconds["one"], "s", "sgemm", floor, "ratio 1.2"),
        row(f"— ten epochs, {support[10]} support rows", seconds["ten"], "s", "one epoch", seconds["one"], "ratio 4"),
        row("— ten epochs, test error of the average", error, "%", bar="1.8 %"),
    ]
    if memory is not None:
        kept = support[10] * n * 4 / 1e6
        found.append(row("— ten epochs, memory above the data", memory / 1e6, "MB", "support × n × 4 bytes", kept))
    return found


def freund_and_schapire() -> list[Row]:
    """One epoch in a random order, degrees 2, 3, 4: mistakes, support vectors and test errors of the hypotheses."""
    X, y, T, t, name = mnist()
    found = []
    for degree in PUBLISHED:
        machine = KernelPerceptron(Polynomial(degree=degree), max_iter=1, random_state=0).fit(X, y)
        errors = {}
        for hypothesis in ("voted", "averaged", "last", "random"):
            machine.set_params(hypothesis=hypothesis)
            errors[hypothesis] = 100 * float((machine.predict(T) != t).mean())
        found.append(
            {"set": name, "degree": degree, "mistakes": machine.n_mistakes_, "support": len(machine.support_)} | errors
        )
    return found


# ---------------------------------------------------------------- a9a


def a9a() -> tuple[sp.csr_array, np.ndarray, sp.csr_array, np.ndarray, str]:
    folder = measure.data("a9a")
    if folder is not None:
        from sklearn.datasets import load_svmlight_file

        (X, y), (T, t) = (
            load_svmlight_file(io.BytesIO(bz2.decompress((folder / name).read_bytes())), n_features=123)
            for name in ("a9a.svm.bz2", "a9a.t.svm.bz2")
        )
        return sp.csr_array(X), y, sp.csr_array(T), t, "a9a"
    rng, n = np.random.default_rng(3), 32561 + 16281
    columns = np.sort(rng.permuted(np.tile(np.arange(123), (n, 1)), axis=1)[:, :14], axis=1)
    X = sp.csr_array((np.ones(columns.size), columns.ravel(), np.arange(0, columns.size + 1, 14)), shape=(n, 123))
    y = np.sign(X @ rng.standard_normal(123) + 2 * rng.standard_normal(n) - 3)
    return X[:32561], y[:32561], X[32561:], y[32561:], "like a9a"


def one_pass(dtype: type, rates: dict[type, float], repeats: int) -> list[Row]:
    """One pass over a9a in file order, K = exp(−0.01‖·‖²): times of learning, and of testing with the last guess."""
    X, y, T, t, name = a9a()
    X, T = X.astype(dtype), T.astype(dtype)
    sources = {"CSR": (X, T), "dense": (X.toarray(), T.toarray())}
    fitted: dict[str, KernelPerceptron] = {}
    right: dict[str, int] = {}

    def learn(source: str) -> None:
        machine = KernelPerceptron("rbf", gamma=0.01, hypothesis="last", max_iter=1, shuffle=False)
        fitted[source] = machine.fit(sources[source][0], y)

    def test(source: str) -> None:
        right[source] = int((fitted[source].predict(sources[source][1]) == t).sum())

    contenders = {
        f"{source} {run.__name__}": (lambda s=source, r=run: r(s)) for source in sources for run in (learn, test)
    }
    seconds = measure.interleaved(contenders, repeats)
    found = []
    for source, machine in fitted.items():
        support, n = len(machine.support_), X.shape[0]
        values = {"learn": learning_values(machine, n), "test": T.shape[0] * support}
        told = {"learn": f"{support} support vectors", "test": f"{right[source]} of {T.shape[0]} right"}
        for run in ("learn", "test"):
            what = f"{name}, RBF, {np.dtype(dtype).name}, {source}: {run}, {told[run]}"
            floor = 123 * values[run] / rates[dtype]
            found.append(row(what, seconds[f"{source} {run}"], "s", "dense BLAS", floor, "ratio 1.0"))
    return found


# ---------------------------------------------------------------- one example at a time


def one_by_one(dtype: type, rates: dict[type, float], repeats: int) -> list[Row]:
    """1000 support vectors, d = 50: times of predict_one, and of learn_one without a mistake and with one."""
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((4000, 50)).astype(dtype), rng.integers(0, 2, 4000)  # random labels: many mistakes
    machine = KernelPerceptron("rbf", gamma=0.02, hypothesis="last", random_state=0)
    for start in range(0, len(X), 10):
        machine.partial_fit(X[start : start + 10], y[start : start + 10], classes=[0, 1] if start == 0 else None)
        if len(machine.support_) >= 1000:
            break
    T = rng.standard_normal((2000, 50)).astype(dtype)
    labels = [machine.predict_one(x) for x in T]
    averaged = copy.deepcopy(machine).set_params(hypothesis="averaged")

    def predict(model: KernelPerceptron) -> None:
        for x in T:
            model.predict_one(x)

    def learn() -> None:
        for x, label in zip(T, labels, strict=True):
            machine.learn_one(x, label)

    before = machine.n_mistakes_
    seconds = measure.interleaved(
        {"last": lambda: predict(machine), "averaged": lambda: predict(averaged), "learn": learn}, repeats
    )
    if machine.n_mistakes_ != before:
        raise SystemExit("the labels were the machine's own, and still it erred: the times cannot be compared")
    erring = min(mistakes_one_by_one(copy.deepcopy(machine), T[:200]) for _ in range(repeats))
    support = len(machine.support_)
    what, floor = f"{support} support vectors, d = 50, RBF, {np.dtype(dtype).name}", support * 50 / rates[dtype] * 1e6
    bar = "30 µs" if dtype == np.float64 else "20 µs"
    return [
        row(f"{what}: predict_one, last", seconds["last"] / len(T) * 1e6, "µs", "BLAS", floor, bar),
        row("— predict_one, averaged", seconds["averaged"] / len(T) * 1e6, "µs", "BLAS", floor, bar),
        row("— learn_one, no mistake", seconds["learn"] / len(T) * 1e6, "µs", "BLAS", floor, bar),
        row(f"— learn_one, a mistake, {support} to {support + 200}", erring * 1e6, "µs", "BLAS", floor),
    ]


def mistakes_one_by_one(machine: KernelPerceptron, T: np.ndarray) -> float:
    """Mean seconds of a learn_one with the label that is not predicted."""
    before, seconds = machine.n_mistakes_, 0.0
    for x in T:
        label = 1 - machine.predict_one(x)
        start = time.perf_counter()
        machine.learn_one(x, label)
        seconds += time.perf_counter() - start
    assert machine.n_mistakes_ == before + len(T)
    return seconds / len(T)


# ---------------------------------------------------------------- import


def import_time(repeats: int) -> list[Row]:
    def seconds(statement: str) -> float:
        code = f"import time; t = time.perf_counter(); {statement}; print(time.perf_counter() - t)"
        return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)

    best = {}
    for statement in ("import onkel", "from onkel import KernelPerceptron", "import sklearn.base"):
        best[statement] = min(seconds(statement) for _ in range(repeats)) * 1e3
    floor = best.pop("import sklearn.base")
    return [row(statement, value, "ms", "import sklearn.base", floor) for statement, value in best.items()]


# ---------------------------------------------------------------- the report


def figures(rows: list[Row]) -> str:
    header = ["what", "measured", "floor", "ratio", "bar"]
    lines = []
    for r in rows:
        floor = "–" if r["floor"] is None else f"{r['floor']:.3g} {r['unit']} ({r['beside']})"
        ratio = "–" if r["ratio"] is None else f"{r['ratio']:.3g}"
        lines.append([r["what"], f"{r['value']:.3g} {r['unit']}", floor, ratio, r["bar"] or "–"])
    return measure.table(header, lines)


def published(rows: list[Row]) -> str:
    hypotheses = ("voted", "averaged", "last", "random")
    header = [f"{rows[0]['set']}, one epoch", "mistakes", "support", *hypotheses, "Freund and Schapire 1999"]
    lines = []
    for r in rows:
        theirs = PUBLISHED[r["degree"]] if r["set"] == "MNIST" else (None, None, None)
        mistakes, support, vote = ("–" if value is None else str(value) for value in theirs)
        errors = [f"{r[hypothesis]:.2f} %" for hypothesis in hypotheses]
        ours = [f"(1 + x·z)^{r['degree']}", str(r["mistakes"]), str(r["support"]), *errors]
        lines.append([*ours, f"mistakes {mistakes}, support {support}, voted {vote} %"])
    return measure.table(header, lines)


def main() -> None:
    kinds = (np.float32, np.float64)
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    rates = {dtype: measure.gemm_rate(dtype) for dtype in kinds}
    sgemm = [rates[np.float32]]  # measured again after each part: it varies if others use the computer
    # a new process, whose memory is not inflated by earlier parts
    with multiprocessing.get_context("spawn").Pool(1) as fresh:
        rows = fresh.apply(epochs, (rates, 7))
        sgemm.append(measure.gemm_rate(np.float32))
        table = fresh.apply(freund_and_schapire)
    for part in (one_pass, one_by_one):
        for dtype in kinds:
            rows += part(dtype, rates, repeats=5)
            sgemm.append(measure.gemm_rate(np.float32))
    rows += import_time(repeats=5)
    gflops = " and ".join(f"{2 * rate / 1e9:.0f}" for rate in rates.values())
    note = f"{measure.machine()}; sgemm and dgemm {gflops} GFLOP/s; a floor is d multiply-adds a value at that rate."
    during = ", ".join(f"{2 * rate / 1e9:.0f}" for rate in sgemm)
    note += f" Load before the run: {load:.1f}; sgemm during the run: {during} GFLOP/s"
    note += "." if min(sgemm) > 0.9 * max(sgemm) else ": the machine was disturbed, run it again."
    explained = (
        "Mistakes are summed over the classes; support counts the rows with a mistake in any class; "
        "random is one draw; Freund and Schapire's permutation is another one."
    )
    text = f"{figures(rows)}\n\n{note}\n\n{published(table)}\n\n{explained}"
    measure.report(
        "perceptron", text, {"rates": list(rates.values()), "sgemm": sgemm, "rows": rows, "published": table}
    )


if __name__ == "__main__":
    main()
