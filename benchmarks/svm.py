"""Support vector machines: onkel's SVC compared with those of scikit-learn and scikit-learn-intelex.

    python benchmarks/svm.py [--quick] [--only SECTION ...] [--without-scikit-learn]

Sections: a9a, ijcnn1, mnist (fit and predict, float32 and float64), hard (C = 100 and 1000), w8a (sparse rows),
mnist60k (all of MNIST, one-vs-one), stopped (the accuracy of a fit that a time limit ends), memory, growth, online.
`--quick` takes few rows: it shows that the benchmark runs, not how fast the solvers are. scikit-learn, which takes a
minute where the others take seconds, is timed once, and on float64 only, since it has no float32 solver. The data sets
are read from the folder ONKEL_DATA; without it they are replaced by generated rows, and MNIST by scikit-learn's digits.

The answers are compared as well, since a solver that stops too early is fast. The objective ½αᵀQα − Σα of every fitted
SVM is computed in float64 from its dual_coef_ and support_, and so is its violation: how far the worst pair of rows is
from optimal. Every solver claims to have brought the violation below tol = 0.001.

The floor of the fit on all of MNIST is 784 multiply-adds, at the sgemm rate of this run, for each kernel value that
a solution depends on: k(s, x) of each support vector s with the rows x of its own class and of the classes against
which it is a support vector. A value that several of the 45 pairs of classes share counts once. The floor of predicting
is 784 multiply-adds for each pair of a test row and a distinct support vector.
"""

from __future__ import annotations

import argparse
import bz2
import contextlib
import io
import itertools
import multiprocessing
import os
import time
import warnings
from collections.abc import Callable
from typing import Any

import measure
import numpy as np
import scipy.sparse as sp
import sklearn.svm
from perceptron import Row, figures, row
from perceptron import a9a as sparse_a9a
from perceptron import mnist as whole_mnist
from sklearn.exceptions import ConvergenceWarning

import onkel
from onkel import SVC
from onkel.kernels import RBF, expand

TOL, REPEATS = 1e-3, 3
Set = tuple[Any, np.ndarray, Any, np.ndarray, str]


# ---------------------------------------------------------------- sets


def dense(found: Set) -> Set:
    X, y, T, t, name = found
    return X.toarray(), y, T.toarray(), t, name


def a9a() -> Set:
    return dense(sparse_a9a())


def svmlight(path: Any, d: int) -> tuple[sp.csr_matrix, np.ndarray]:
    from sklearn.datasets import load_svmlight_file

    X, y = load_svmlight_file(io.BytesIO(bz2.decompress(path.read_bytes())), n_features=d)
    return with_int32(X), y


def with_int32(X: Any) -> sp.csr_matrix:
    """A CSR matrix with 32-bit indices; the other libraries take no 64-bit ones."""
    return sp.csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape)


def ijcnn1() -> Set:
    folder = measure.data("ijcnn1")
    if folder is not None:
        (X, y), (T, t) = (svmlight(folder / name, 22) for name in ("ijcnn1.svm.bz2", "ijcnn1.t.svm.bz2"))
        return X.toarray(), y, T.toarray(), t, "ijcnn1"
    rng, n = np.random.default_rng(3), 49_990
    X = rng.uniform(-1, 1, (n + 20_000, 22))
    f = np.sin(3 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2
    y = np.where(f > np.quantile(f, 0.9), 1.0, -1.0)  # a tenth of the rows are positive
    return X[:n], y[:n], X[n:], y[n:], "like ijcnn1"


def mnist() -> Set:
    X, y, T, t, name = whole_mnist()
    n = min(10_000, len(X))
    return X[:n], y[:n], T, t, f"{name}, first {n}"


def w8a() -> Set:
    """w8a without its test part: the last tenth of the rows is used to test, although it is learned from, too."""
    folder = measure.data("w8a")
    if folder is not None:
        X, y = svmlight(folder / "w8a.svm.bz2", 300)
        name = "w8a, CSR"
    else:
        rng, n = np.random.default_rng(3), 20_000
        X = with_int32(sp.csr_matrix((rng.random((n, 300)) < 0.04).astype(float)))
        y = np.where(X @ rng.standard_normal(300) > 2.5, 1.0, -1.0)
        name = "like w8a, CSR"
    return X, y, X[-len(y) // 10 :], y[-len(y) // 10 :], name


def some(found: Set, n: int) -> Set:
    """A random choice of at most n rows, and of at most n test rows."""
    X, y, T, t, name = found
    if n >= len(y):
        return found
    rng = np.random.default_rng(0)
    rows, tests = rng.permutation(len(y))[:n], rng.permutation(len(t))[:n]
    return X[rows], y[rows], T[tests], t[tests], f"{name}, {n} rows"


# ---------------------------------------------------------------- the quality of a solution


def terms(machine: Any) -> np.ndarray:
    """y α of each pair of classes, (support vectors, pairs), from dual_coef_ in the layout of scikit-learn."""
    D = machine.dual_coef_
    D = np.asarray(D.toarray() if sp.issparse(D) else D, dtype=np.float64)
    if len(D) == 1:
        return D.T
    starts = np.concatenate([[0], np.cumsum(machine.n_support_)])
    pairs = list(itertools.combinations(range(len(D) + 1), 2))
    A = np.zeros((D.shape[1], len(pairs)))
    for column, (i, j) in enumerate(pairs):
        of_i, of_j = slice(starts[i], starts[i + 1]), slice(starts[j], starts[j + 1])
        A[of_i, column], A[of_j, column] = D[j - 1, of_i], D[i, of_j]
    return A


def objective(machine: Any, X: Any, gamma: float) -> float:
    """The dual objective ½αᵀQα − Σα, summed over the pairs of classes, in float64."""
    A, S = terms(machine), X[machine.support_].astype(np.float64)
    return float(0.5 * (A * expand(RBF(gamma), S, S, A)).sum() - np.abs(A).sum())


def violation(machine: Any, X: Any, y: np.ndarray, gamma: float, C: float) -> float | None:
    """max{y_i − f(x_i) : y_i α_i may grow} − min{y_j − f(x_j) : y_j α_j may shrink}, in float64.

    None for more than two classes.
    """
    if len(machine.classes_) != 2:
        return None
    signed, s = np.zeros(len(y)), np.where(y == machine.classes_[1], 1.0, -1.0)
    signed[machine.support_] = terms(machine)[:, 0]
    X = X.astype(np.float64)
    f = expand(RBF(gamma), X, X[machine.support_], terms(machine))[:, 0]
    up, low = (s > 0) & (s * signed < C), (s > 0) & (signed != 0)
    up, low = up | ((s < 0) & (signed != 0)), low | ((s < 0) & (s * signed < C))
    return float((s - f)[up].max() - (s - f)[low].min())


# ---------------------------------------------------------------- the race


def contenders(*, slow: bool) -> dict[str, Callable[..., Any]]:
    """onkel and the other libraries that are installed; scikit-learn only if `slow`."""
    found: dict[str, Callable[..., Any]] = {"onkel": SVC}
    with contextlib.suppress(ImportError):
        import sklearnex.svm

        found["intelex"] = sklearnex.svm.SVC
    if slow:
        found["scikit-learn"] = sklearn.svm.SVC
    return found


def race(found: Set, gamma: float, C: float, repeats: int, *, slow: bool) -> list[Row]:
    """All contenders on float32 and on float64; scikit-learn on float64 only."""
    rows = []
    for dtype in (np.float32, np.float64):
        rows += in_turn(found, dtype, gamma, C, repeats, contenders(slow=slow and dtype is np.float64))
    return with_ratios(rows)


def in_turn(
    found: Set, dtype: type, gamma: float, C: float, repeats: int, makers: dict[str, Callable[..., Any]]
) -> list[Row]:
    """Every contender fits and predicts, once to warm up and then `repeats` times; scikit-learn only once.

    A prediction takes little time, so each fitted model predicts three times.
    """
    X, y, T, t, name = found
    X, T = X.astype(dtype), T.astype(dtype)
    machines: dict[str, Any] = {}
    guesses: dict[str, np.ndarray] = {}
    best = dict.fromkeys(makers, (np.inf, np.inf))
    for turn, (who, make) in itertools.product(range(repeats + 1), makers.items()):
        if who == "scikit-learn" and turn != 1:
            continue
        begin = time.perf_counter()
        machines[who] = make(C=C, gamma=gamma, tol=TOL).fit(X, y)
        fitted = time.perf_counter() - begin
        for _ in range(1 if who == "scikit-learn" else 3):
            middle = time.perf_counter()
            guesses[who] = machines[who].predict(T)
            predicted = time.perf_counter() - middle
            if turn > 0:
                best[who] = (min(best[who][0], fitted), min(best[who][1], predicted))
    values = {who: objective(machine, X, gamma) for who, machine in machines.items()}
    return [
        {
            "set": name,
            "C": C,
            "gamma": gamma,
            "dtype": np.dtype(dtype).name,
            "who": who,
            "fit": best[who][0],
            "predict": best[who][1],
            "objective": values[who],
            "beside_onkel": (values[who] - values["onkel"]) / abs(values["onkel"]),
            "violation": violation(machines[who], X, y, gamma, C),
            "support": len(machines[who].support_),
            "accuracy": 100 * float((guesses[who] == t).mean()),
        }
        for who in makers
    ]


def with_ratios(rows: list[Row]) -> list[Row]:
    """Adds how many times faster onkel is than the fastest of the others.

    The others are compared on the same dtype; scikit-learn, which has float64 only, is compared with both.
    """
    for r in rows:
        peers = [p for p in rows if p["who"] != "onkel" and (p["dtype"] == r["dtype"] or p["who"] == "scikit-learn")]
        for what in ("fit", "predict"):
            faster = min((p[what] for p in peers), default=None)
            r[f"{what}_ratio"] = faster / r[what] if r["who"] == "onkel" and faster is not None else None
    return rows


def race_table(rows: list[Row]) -> str:
    def told(value: float | None, form: str) -> str:
        return "–" if value is None else format(value, form)

    header = ["set", "who", "fit, s", "times faster than the faster peer", "predict, s", "times faster"]
    header += ["objective", "beside onkel (≤ 1e-4)", "violation (≤ 1e-3)", "support", "test accuracy"]
    lines = [
        [
            f"{r['set']}, C = {r['C']:g}, γ = {r['gamma']:g}, {r['dtype']}",
            r["who"],
            f"{r['fit']:.3g}",
            told(r["fit_ratio"], ".3g"),
            f"{r['predict']:.3g}",
            told(r["predict_ratio"], ".3g"),
            f"{r['objective']:.8g}",
            f"{r['beside_onkel']:+.1e}",
            told(r["violation"], ".1e"),
            str(r["support"]),
            f"{r['accuracy']:.2f} %",
        ]
        for r in rows
    ]
    return measure.table(header, lines)


# ---------------------------------------------------------------- all of MNIST


def needed(machine: Any, y: np.ndarray) -> int:
    """The number of kernel values that a solution depends on, as the floor at the top of this file counts them."""
    A, counts = terms(machine) != 0, np.bincount(np.searchsorted(machine.classes_, y))
    own = np.repeat(np.arange(len(machine.classes_)), machine.n_support_)
    values = int(counts[own].sum())
    for column, (i, j) in enumerate(itertools.combinations(range(len(machine.classes_)), 2)):
        used = own[A[:, column]]
        values += int((used == i).sum() * counts[j] + (used == j).sum() * counts[i])
    return values


def all_of_mnist(quick: bool) -> list[Row]:
    """Fit and predict on all of MNIST; floors are in multiply-adds until `main` divides them by the BLAS rate."""
    X, y, T, t, name = whole_mnist()
    X, y, T, t, name = some((X, y, T, t, name), len(X) // 10 if quick else len(X))
    n, d = X.shape
    SVC(C=5.0, gamma=0.02).fit(X[:1000], y[:1000]).predict(T[:100])
    fitted: list[Any] = []

    def fit() -> None:
        fitted[:] = [SVC(C=5.0, gamma=0.02).fit(X, y)]

    start = time.perf_counter()
    memory = measure.memory_above(fit)
    fit_seconds = time.perf_counter() - start
    machine = fitted[0]
    start = time.perf_counter()
    error = 100 * float((machine.predict(T) != t).mean())
    predict_seconds = time.perf_counter() - start
    support = len(machine.support_)
    what = f"{name} {n} × {d}, one against one, C = 5, γ = 0.02, float32"
    found = [
        row(f"{what}: fit, {support} support vectors", fit_seconds, "s", "sgemm", d * needed(machine, y)),
        row(f"— predict {len(t)} rows", predict_seconds, "s", "sgemm", d * len(t) * support),
        row("— test error", error, "%"),
    ]
    if memory is not None:
        found.append(row("— memory of the fit above the data", memory / 2**20, "MB", "cache_size", machine.cache_size))
    return found


def stopped(quick: bool) -> list[Row]:
    """The test accuracy of one-vs-one fits that `time_limit` ends after a part of the time of a full fit."""
    X, y, T, t, name = some(whole_mnist(), 2000 if quick else 20_000)
    machine = SVC(C=5.0, gamma=0.02)
    machine.fit(X[:1000], y[:1000])
    start = time.perf_counter()
    machine.fit(X, y)
    full = time.perf_counter() - start
    found = [row(f"{name}: full fit, {100 * machine.score(T, t):.2f} % right", full, "s")]
    for part in (0.02, 0.2, 0.5):
        machine.set_params(time_limit=part * full)
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            machine.fit(X, y)
        seconds = time.perf_counter() - start
        what = f"— time_limit = {part:.0%} of it, {100 * machine.score(T, t):.2f} % right"
        found.append(row(what, seconds, "s", "time_limit", part * full))
    return found


# ---------------------------------------------------------------- memory, growth, online


def memory(quick: bool) -> list[Row]:
    found = []
    for load, C, gamma in ((a9a, 1.0, 0.05), (ijcnn1, 10.0, 1.0)):
        X, y, *_, name = some(load(), 3000 if quick else 10**9)
        X = X.astype(np.float32)
        SVC(C=C, gamma=gamma).fit(X[:1000], y[:1000])
        machine = SVC(C=C, gamma=gamma)
        held = measure.memory_above(lambda machine=machine, X=X, y=y: machine.fit(X, y))
        if held is not None:
            what = f"{name}, float32: memory of the fit above the data ({X.nbytes / 2**20:.0f} MB)"
            found.append(row(what, held / 2**20, "MB", "cache_size", float(machine.cache_size)))
    return found


def growth(quick: bool) -> list[Row]:
    """Fit times for growing numbers of rows n, with the exponent p of n^p between one and the next."""
    X, y, *_, name = ijcnn1()
    X, order = X.astype(np.float32), np.random.default_rng(0).permutation(len(y))
    found: list[Row] = []
    before: dict[str, float] = {}
    for n in (500, 1000, 2000, 4000) if quick else (5000, 10_000, 20_000, 40_000):
        A, b = X[order[:n]], y[order[:n]]
        runs = {
            who: (lambda make=make, A=A, b=b: make(C=10.0, gamma=1.0).fit(A, b))
            for who, make in contenders(slow=False).items()
        }
        seconds = measure.interleaved(runs, 1 if quick else REPEATS)
        for who in runs:
            grown = f", n^{np.log2(seconds[who] / before[who]):.2f}" if before else ""
            peer = seconds.get("intelex") if who == "onkel" else None
            found.append(row(f"{name}, n = {n}, float32, {who}{grown}", seconds[who], "s", "intelex", peer))
        before = seconds
    return found


def online(quick: bool) -> list[Row]:
    """One pass of LASVM over a9a, compared with the batch solvers of onkel and scikit-learn-intelex."""
    X, y, T, t, name = some(a9a(), 3000 if quick else 10**9)
    X, T = X.astype(np.float32), T.astype(np.float32)
    fitted: dict[str, Any] = {}
    makers = contenders(slow=False)
    makers["OnlineSVC"] = lambda **options: onkel.OnlineSVC(max_iter=1, random_state=0, **options)

    def fit(who: str) -> None:
        fitted[who] = makers[who](C=1.0, gamma=0.05).fit(X, y)

    seconds = measure.interleaved({who: (lambda who=who: fit(who)) for who in makers}, 1 if quick else REPEATS)
    peer = seconds.get("intelex")
    found = []
    for who, machine in fitted.items():
        right = 100 * float((machine.predict(T) == t).mean())
        what = f"{name}, float32, {who}: fit, {len(machine.support_)} support vectors, {right:.2f} % right"
        found.append(row(what, seconds[who], "s", "intelex", peer))
    return found


# ---------------------------------------------------------------- the report

RACES: dict[str, list[tuple[Callable[[], Set], float, float]]] = {  # γ and C
    "a9a": [(a9a, 0.05, 1.0)],
    "ijcnn1": [(ijcnn1, 1.0, 10.0)],
    "mnist": [(mnist, 0.02, 5.0)],
    "hard": [(a9a, 0.05, 100.0), (ijcnn1, 2.0, 1000.0)],
    "w8a": [(w8a, 0.03125, 16.0)],
}
OTHERS: dict[str, Callable[[bool], list[Row]]] = {
    "mnist60k": all_of_mnist,
    "stopped": stopped,
    "memory": memory,
    "growth": growth,
    "online": online,
}
SECTIONS = (*RACES, *OTHERS)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, one repeat")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    parser.add_argument("--without-scikit-learn", action="store_true", help="leave out the slow one")
    chosen = parser.parse_args()
    repeats = 1 if chosen.quick else REPEATS
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    sgemm = [measure.gemm_rate(np.float32)]  # measured again after each part: it varies if others use the computer
    raced: list[Row] = []
    others: list[Row] = []
    for section in chosen.only:
        if section in RACES:
            slow = section in ("a9a", "ijcnn1", "mnist") and not chosen.without_scikit_learn
            for read, gamma, C in RACES[section]:
                found = some(read(), 3000 if chosen.quick else 10**9)
                raced += race(found, gamma, C, 1 if section == "hard" else repeats, slow=slow)
        else:
            # a new process, whose memory is not inflated by earlier parts
            with multiprocessing.get_context("spawn").Pool(1) as fresh:
                others += fresh.apply(OTHERS[section], (chosen.quick,))
        sgemm.append(measure.gemm_rate(np.float32))
    for r in others:  # the best rate: with a lower one the floor would be too long, and our ratio too good
        if r["beside"] == "sgemm":
            r["floor"] /= max(sgemm)
            r["ratio"] = r["value"] / r["floor"]
    note = f"{measure.machine()}; sgemm {2 * max(sgemm) / 1e9:.0f} GFLOP/s. Load before the run: {load:.1f}; "
    note += f"sgemm during the run: {', '.join(f'{2 * rate / 1e9:.0f}' for rate in sgemm)} GFLOP/s"
    note += "." if min(sgemm) > 0.9 * max(sgemm) else ": the machine was disturbed, run it again."
    parts = [race_table(raced)] if raced else []
    parts += [figures(others)] if others else []
    measure.report("svm", "\n\n".join([*parts, note]), {"sgemm": sgemm, "load": load, "races": raced, "rows": others})


if __name__ == "__main__":
    main()
