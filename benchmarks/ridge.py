"""Kernel ridge regression: onkel compared with scikit-learn, and with the floor of its flops.

    python benchmarks/ridge.py [--quick] [--only SECTION ...]

Sections: exact (KernelRidge, 10 000 rows), loo (50 alphas by leave-one-out), california (beside Nystroem + Ridge with
the same 1000 centres), mnist (one-hot, 1000 and 5000 centres), cg (conjugate gradients beside the direct solution),
million (10⁶ rows of 20 features, 2000 centres). `--quick` takes few rows and centres: it shows that the benchmark runs,
not how fast anything is. The data sets are read from the folder ONKEL_DATA; without it California housing is replaced
by generated rows, and MNIST by scikit-learn's digits.

The floor of one pass over n rows with M centres is 2 n M² flops at the dgemm rate of this run: M² to whiten a row by
the triangular factor, and M² to add its products with itself to half of a symmetric matrix. Kernel values come on top.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import time
from typing import Any

import measure
import numpy as np
from perceptron import Row, figures, row
from perceptron import mnist as whole_mnist
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge as SklearnKernelRidge
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import onkel
from onkel.kernels import RBF, Kernel, expand, prepare
from onkel.kernels.centers import Centers
from onkel.solvers.ridge.centers import CgSolution, Solution, WhitenedSums, choose_centers, conjugate_gradient

REPEATS = 3
Fit = tuple[Centers, Solution | CgSolution]


def fit(kernel: Kernel, X: Any, Y: np.ndarray, M: int, alpha: float, chosen: np.ndarray | None = None) -> Fit:
    """One pass over the rows, with M uniform centres or those that are given by their row numbers."""
    rows = prepare(kernel, X)
    if chosen is None:
        centers = choose_centers(kernel, rows, M, "uniform", np.random.RandomState(0), alpha)
    else:
        centers = Centers.of(kernel, rows[chosen])
    sums = WhitenedSums(centers, Y.shape[1], fit_intercept=True)
    sums.add(rows, Y, None)
    return centers, sums.solve(alpha)


def predict(fitted: Fit, T: Any) -> np.ndarray:
    centers, solution = fitted
    return np.asarray(expand(centers.kernel, T, centers.rows, solution.coef) + solution.intercept)


def r2(y: np.ndarray, f: np.ndarray) -> float:
    return float(1 - ((y - f) ** 2).sum() / ((y - y.mean()) ** 2).sum())


def timed(run: Any) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


# ---------------------------------------------------------------- sections


def million(quick: bool) -> list[Row]:
    n, M = (20_000, 500) if quick else (1_000_000, 2000)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 20))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(n)
    kernel, Y = RBF(gamma=0.02), y[:, None]
    fit(kernel, X[:2000], Y[:2000], 100, 0.1)
    what = f"{n} × 20, {M} centres, float64"
    seconds = [0.0]
    memory = measure.memory_above(lambda: seconds.append(timed(lambda: fit(kernel, X, Y, M, 0.1))))
    found = [row(f"{what}: one pass and the solution", seconds[-1], "s", "dgemm", float(n * M**2), "1.6, aim 1.2")]
    if memory is not None:
        found.append(row("— peak memory above the data", memory / 2**20, "MB", bar="500 MB, aim 200 MB"))
    return found


def california_rows() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, str]:
    folder, rng = measure.data("california_housing"), np.random.default_rng(0)
    if folder is not None:
        with np.load(folder / "data.npz") as file:
            X, y, name = file["X"].astype(np.float64), file["y"].astype(np.float64), "California"
    else:
        X = rng.standard_normal((20_640, 8))
        y, name = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * rng.standard_normal(len(X)), "like California"
    order, n = rng.permutation(len(X)), 17_000
    X = (X[order] - X.mean(axis=0)) / X.std(axis=0)
    return X[:n], y[order][:n], X[n:], y[order][n:], name


def california(quick: bool) -> list[Row]:
    X, y, T, t, name = california_rows()
    M, gamma, alpha, repeats = 1000, 0.1, 0.1, REPEATS
    if quick:
        X, y, M, repeats = X[:3000], y[:3000], 200, 1
    peer = make_pipeline(Nystroem(gamma=gamma, n_components=M, random_state=0), Ridge(alpha=alpha))
    kernel, fitted = RBF(gamma=gamma), []
    fit(kernel, X[:500], y[:500, None], 50, alpha)
    # memory first, and ours before the peer's, who may use again what we have freed
    ours_above = measure.memory_above(lambda: fit(kernel, X, y[:, None], M, alpha))
    peer_above = measure.memory_above(lambda: peer.fit(X, y))
    chosen = peer[0].component_indices_

    def ours() -> None:
        fitted[:] = fit(kernel, X, y[:, None], M, alpha, chosen)

    times = measure.interleaved({"onkel": ours, "peer": lambda: peer.fit(X, y)}, repeats)
    what = f"{name}, {len(X)} rows, {M} centres"
    found = [row(f"{what}: fit", times["onkel"], "s", "Nystroem + Ridge", times["peer"], "0.5, aim 0.33")]
    if ours_above is not None and peer_above is not None:
        memory = (ours_above / 2**20, "MB", "Nystroem + Ridge", peer_above / 2**20, "0.3")
        found.append(row("— peak memory above the data", *memory))
    scores = r2(t, predict((fitted[0], fitted[1]), T)[:, 0]), r2(t, peer.predict(T))
    found.append(row("— R² on the other rows", scores[0], "", "Nystroem + Ridge", scores[1], "within .002"))
    return found


def mnist(quick: bool) -> list[Row]:
    X, y, T, t, name = whole_mnist()
    sizes, repeats = {1000: "4.1 %", 5000: "2.3 %"}, REPEATS
    if quick:
        X, y, sizes, repeats = X[:3000], y[:3000], {200: "–"}, 1
    Y = (y[:, None] == np.arange(10)).astype(np.float64)
    kernel, found = RBF(gamma=0.02), []
    for M, bar in sizes.items():
        fitted: list[Any] = []
        times = [timed(lambda M=M, into=fitted: into.append(fit(kernel, X, Y, M, 6e-4))) for _ in range(repeats)]
        error = 100 * float((predict(fitted[0], T).argmax(axis=1) != t).mean())
        what = f"{name}, {len(X)} rows, one-hot, {M} centres, float32"
        found.append(row(f"{what}: fit", min(times), "s", "dgemm", float(len(X) * M**2)))
        found.append(row("— test error", error, "%", bar=bar))
        repeats = 1  # of the large one
    return found


def cg(quick: bool) -> list[Row]:
    """Conjugate gradients on California housing, stopped at a relative residual of 1e-3."""
    X, y, T, t, name = california_rows()
    M, alpha, kernel = (200 if quick else 2000), 0.1, RBF(gamma=0.1)
    X, y = (X[:3000], y[:3000]) if quick else (X, y)
    rows, Y = prepare(kernel, X), y[:, None]
    centers = choose_centers(kernel, rows, M, "uniform", np.random.RandomState(0), alpha)
    made: dict[str, Any] = {}

    def iterate() -> None:
        options: dict[str, Any] = {"fit_intercept": True, "tol": 1e-3, "max_iter": 200}
        made["cg"] = conjugate_gradient(rows, Y, None, centers, alpha, report=None, **options)

    def direct() -> None:
        sums = WhitenedSums(centers, 1, fit_intercept=True)
        sums.add(rows, Y, None)
        made["direct"] = sums.solve(alpha)

    times = measure.interleaved({"cg": iterate, "direct": direct}, 1 if quick else 2)
    scores = {key: r2(t, predict((centers, solution), T)[:, 0]) for key, solution in made.items()}
    what = f"{name}, {len(X)} rows, {M} centres: {made['cg'].n_iter} iterations"
    return [
        row(what, times["cg"], "s", "one pass, solved directly", times["direct"]),
        row("— R² on the other rows", scores["cg"], "", "directly", scores["direct"]),
    ]


def exact(quick: bool) -> list[Row]:
    """KernelRidge beside scikit-learn's, and float32 beside float64."""
    X, y, T, _, name = california_rows()
    n, repeats = (1500, 1) if quick else (10_000, 2)
    X, y = X[:n], y[:n]
    options = {"alpha": 0.1, "kernel": "rbf", "gamma": 0.1}
    ours, narrow, peer = onkel.KernelRidge(**options), onkel.KernelRidge(**options), SklearnKernelRidge(**options)
    small = X.astype(np.float32)
    ours.fit(X[:500], y[:500])
    peer.fit(X[:500], y[:500])
    ours_above = measure.memory_above(lambda: ours.fit(X, y))
    peer_above = measure.memory_above(lambda: peer.fit(X, y))
    fits = {"onkel": lambda: ours.fit(X, y), "float32": lambda: narrow.fit(small, y), "peer": lambda: peer.fit(X, y)}
    times = measure.interleaved(fits, repeats)
    predicting = measure.interleaved({"onkel": lambda: ours.predict(T), "peer": lambda: peer.predict(T)}, 3)
    apart = float(np.abs(ours.predict(T) - peer.predict(T)).max())
    what = f"{name}, {n} rows, exact, float64"
    found = [
        row(f"{what}: fit", times["onkel"], "s", "scikit-learn", times["peer"], "0.77, aim 0.56"),
        row("— fit in float32", times["float32"], "s", "float64", times["onkel"], "0.67, aim 0.56"),
        row(f"— predict {len(T)} rows", predicting["onkel"], "s", "scikit-learn", predicting["peer"], "0.4, aim 0.26"),
        row("— largest difference of predictions", apart, ""),
    ]
    if ours_above is not None and peer_above is not None:
        memory = (ours_above / 2**20, "MB", "scikit-learn", peer_above / 2**20, "0.40, aim 0.34")
        found.append(row("— peak memory above the data", *memory))
    return found


def loo(quick: bool) -> list[Row]:
    """50 alphas: leave-one-out from one eigendecomposition, beside a grid search with five folds."""
    X, y, *_, name = california_rows()
    n = 300 if quick else 1500
    X, y, alphas = X[:n], y[:n], np.logspace(-4, 2, 50)
    ours = onkel.KernelRidgeCV(alphas=alphas, kernel="rbf", gamma=0.1)
    peer = GridSearchCV(SklearnKernelRidge(kernel="rbf", gamma=0.1), {"alpha": alphas})
    ours.fit(X[:200], y[:200])
    times = measure.interleaved({"onkel": lambda: ours.fit(X, y), "peer": lambda: peer.fit(X, y)}, 1 if quick else 2)
    what = f"{name}, {n} rows, 50 alphas by leave-one-out"
    return [row(what, times["onkel"], "s", "GridSearchCV", times["peer"], "0.05, aim 0.014")]


SECTIONS = {
    "exact": exact,
    "loo": loo,
    "california": california,
    "mnist": mnist,
    "cg": cg,
    "million": million,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few rows and centres, one repeat")
    parser.add_argument("--only", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    chosen = parser.parse_args()
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
    dgemm = [measure.gemm_rate(np.float64)]  # measured again after each part: it varies if others use the computer
    rows: list[Row] = []
    for section in chosen.only:
        # a new process, whose memory is not inflated by earlier parts
        with multiprocessing.get_context("spawn").Pool(1) as fresh:
            rows += fresh.apply(SECTIONS[section], (chosen.quick,))
        dgemm.append(measure.gemm_rate(np.float64))
    for r in rows:  # the best rate: with a lower one the floor would be too long, and our ratio too good
        if r["beside"] == "dgemm":
            r["floor"] /= max(dgemm)
            r["ratio"] = r["value"] / r["floor"]
    rates = ", ".join(f"{2 * rate / 1e9:.0f}" for rate in dgemm)
    note = f"{measure.machine()}. Load before the run: {load:.1f}; dgemm during the run: {rates} GFLOP/s"
    note += "." if min(dgemm) > 0.9 * max(dgemm) else ": the machine was disturbed, run it again."
    measure.report("ridge", f"{figures(rows)}\n\n{note}", {"dgemm": dgemm, "load": load, "rows": rows})


if __name__ == "__main__":
    main()
