"""Kernel products, compared with scikit-learn, scikit-learn-intelex and plain BLAS.

    make bench        or        python benchmarks/products.py

Sections: the RBF scores of a fitted SVC, and the same scores by `expand`; wide dense rows, compared with the sgemm that
they contain; two features, as for a plot of a decision boundary; sparse rows, compared with dense ones (a9a if
ONKEL_DATA has it, otherwise generated rows of the same shape). The floor is the time that the inner products alone take
at the BLAS rate of this run.
"""

from __future__ import annotations

import bz2
import io
import multiprocessing
import warnings
from typing import Any

import measure
import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel
from sklearn.svm import SVC

import onkel.kernels.vectors
from onkel.kernels import RBF, Polynomial, expand

Row = dict[str, Any]


def same(ours: np.ndarray, theirs: np.ndarray, tolerance: float) -> None:
    """Stops the benchmark if two answers differ: their times could not be compared."""
    error = np.abs(ours - theirs).max() / np.abs(theirs).max()
    if error > tolerance:
        raise SystemExit(f"the answers differ by {error:.1e}: the times cannot be compared")


def svc_scores(dtype: type, rates: dict[type, float], repeats: int) -> list[Row]:
    """12000 rows × about 5800 support vectors, d = 20, one output."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6000, 20)).astype(dtype)
    y = rng.integers(0, 2, 6000)  # random labels: nearly every row becomes a support vector
    T = rng.standard_normal((12000, 20)).astype(dtype)
    contenders: dict[str, Any] = {}
    peers = {"scikit-learn": SVC}
    try:
        import sklearnex.svm

        peers["scikit-learn-intelex"] = sklearnex.svm.SVC
    except ImportError:
        warnings.warn("scikit-learn-intelex is not installed: its rows are left out", stacklevel=1)
    rows = []
    model = None
    for name, peer in peers.items():
        fitted = peer(gamma=0.05, C=1.0).fit(X, y)
        contenders[name] = fitted.decision_function
        model = fitted if model is None else model
    assert model is not None
    S = np.ascontiguousarray(model.support_vectors_, dtype=dtype)
    A, b = np.ravel(model.dual_coef_).astype(np.float64), float(model.intercept_[0])
    values = len(T) * len(S)
    kernel = RBF(gamma=0.05)
    same(expand(kernel, T, S, A) + b, contenders["scikit-learn"](T), 1e-4 if dtype == np.float32 else 1e-9)
    slow = measure.interleaved({"scikit-learn": lambda: contenders["scikit-learn"](T)}, repeats=2)
    fast = measure.interleaved(
        {"onkel": lambda: expand(kernel, T, S, A)}
        | {name: (lambda f=f: f(T)) for name, f in contenders.items() if name != "scikit-learn"},
        repeats,
    )
    seconds = fast | slow
    for name in contenders:
        rows.append(
            {
                "what": f"RBF scores, 12000 × {len(S)}, d = 20, {np.dtype(dtype).name}",
                "peer": f"{name} SVC",
                "onkel_ns": seconds["onkel"] / values * 1e9,
                "peer_ns": seconds[name] / values * 1e9,
                "ratio": seconds[name] / seconds["onkel"],
                "floors": seconds["onkel"] / (values * 20 / rates[dtype]),
            }
        )
    return rows


def wide(rates: dict[type, float], repeats: int) -> list[Row]:
    """d = 784, 10000 × 20000, dense float32, compared with the sgemm alone."""
    rng = np.random.default_rng(1)
    X, S = rng.random((10_000, 784), dtype=np.float32), rng.random((20_000, 784), dtype=np.float32)
    A = rng.standard_normal(len(S))
    kernels = {"RBF": RBF(gamma=0.01), "Polynomial": Polynomial(degree=3, gamma=0.01, coef0=1.0)}
    expand(kernels["RBF"], X[:100], S[:100], A[:100])
    memory = measure.memory_above(lambda: [expand(kernel, X, S, A) for kernel in kernels.values()])
    same(expand(kernels["RBF"], X[:50], S, A), rbf_kernel(X[:50], S, 0.01) @ A, 1e-4)
    same(expand(kernels["Polynomial"], X[:50], S, A), polynomial_kernel(X[:50], S, 3, 0.01, 1.0) @ A, 1e-4)
    out = np.empty((len(X), len(S)), dtype=np.float32)
    contenders = {name: (lambda k=k: expand(k, X, S, A)) for name, k in kernels.items()}
    seconds = measure.interleaved(contenders | {"sgemm": lambda: np.dot(X, S.T, out=out)}, repeats)
    values = len(X) * len(S)
    return [
        {
            "what": f"{name} scores, 10000 × 20000, d = 784, float32"
            + ("" if memory is None else f", {memory / 1e6:.0f} MB above the inputs"),
            "peer": "sgemm alone",
            "onkel_ns": seconds[name] / values * 1e9,
            "peer_ns": seconds["sgemm"] / values * 1e9,
            "ratio": seconds["sgemm"] / seconds[name],
            "floors": seconds[name] / (values * 784 / rates[np.float32]),
            "memory_bytes": memory,
        }
        for name in kernels
    ]


def picture(dtype: type, rates: dict[type, float], repeats: int) -> list[Row]:
    """d = 2, as for the grid of a plot of a decision boundary."""
    rng = np.random.default_rng(2)
    X, S = rng.standard_normal((12000, 2)).astype(dtype), rng.standard_normal((5800, 2)).astype(dtype)
    A = rng.standard_normal(len(S))
    kernel = RBF(gamma=0.5)
    same(expand(kernel, X, S, A), rbf_kernel(X, S, 0.5) @ A, 1e-4 if dtype == np.float32 else 1e-9)
    seconds = measure.interleaved(
        {"onkel": lambda: expand(kernel, X, S, A), "peer": lambda: rbf_kernel(X, S, 0.5) @ A}, repeats
    )
    values = len(X) * len(S)
    return [
        {
            "what": f"RBF scores, 12000 × 5800, d = 2, {np.dtype(dtype).name}",
            "peer": "rbf_kernel(X, S) @ A",
            "onkel_ns": seconds["onkel"] / values * 1e9,
            "peer_ns": seconds["peer"] / values * 1e9,
            "ratio": seconds["peer"] / seconds["onkel"],
            "floors": seconds["onkel"] / (values * 2 / rates[dtype]),
        }
    ]


def a9a() -> tuple[sp.csr_array, sp.csr_array, str]:
    folder = measure.data("a9a")
    if folder is not None:
        from sklearn.datasets import load_svmlight_file

        X, T = (
            sp.csr_array(
                load_svmlight_file(io.BytesIO(bz2.decompress((folder / name).read_bytes())), n_features=123)[0]
            )
            for name in ("a9a.svm.bz2", "a9a.t.svm.bz2")
        )
        return X[:6887], T, "a9a"
    rng = np.random.default_rng(3)
    columns = np.sort(rng.permuted(np.tile(np.arange(123), (23168, 1)), axis=1)[:, :14], axis=1)
    X = sp.csr_array((np.ones(columns.size), columns.ravel(), np.arange(0, columns.size + 1, 14)), shape=(23168, 123))
    return X[:6887], X[6887:], "like a9a"


def sparse(dtype: type, rates: dict[type, float], repeats: int) -> list[Row]:
    """11 % non-zeros: our sparse code, from CSR and from dense rows, compared with our dense code."""
    S, T, name = a9a()
    S, T = S.astype(dtype), T.astype(dtype)
    Sd, Td = S.toarray(), T.toarray()
    A = np.random.default_rng(4).standard_normal(S.shape[0])
    kernel = RBF(gamma=0.01)

    def dense_path() -> np.ndarray:
        limit = onkel.kernels.vectors.SPARSE_BELOW
        onkel.kernels.vectors.SPARSE_BELOW = 0.0
        try:
            return expand(kernel, Td, Sd, A)
        finally:
            onkel.kernels.vectors.SPARSE_BELOW = limit

    same(expand(kernel, T, S, A), dense_path(), 1e-15)
    same(expand(kernel, Td, Sd, A), dense_path(), 1e-15)
    seconds = measure.interleaved(
        {"CSR": lambda: expand(kernel, T, S, A), "dense": lambda: expand(kernel, Td, Sd, A), "path": dense_path},
        repeats,
    )
    values = T.shape[0] * S.shape[0]
    return [
        {
            "what": f"RBF scores, {name} {T.shape[0]} × {S.shape[0]}, d = 123, {np.dtype(dtype).name}, from {source}",
            "peer": "our dense path",
            "onkel_ns": seconds[source] / values * 1e9,
            "peer_ns": seconds["path"] / values * 1e9,
            "ratio": seconds["path"] / seconds[source],
            "floors": seconds[source] / (values * 123 / rates[dtype]),
        }
        for source in ("CSR", "dense")
    ]


def main(repeats: int = 9) -> None:
    rates = {dtype: measure.gemm_rate(dtype) for dtype in (np.float32, np.float64)}
    rows: list[Row] = []
    for dtype in (np.float32, np.float64):
        rows += svc_scores(dtype, rates, repeats)
    # a new process, whose memory is not inflated by earlier parts
    with multiprocessing.get_context("spawn").Pool(1) as fresh:
        rows += fresh.apply(wide, (rates, 5))
    for dtype in (np.float32, np.float64):
        rows += picture(dtype, rates, repeats)
    for dtype in (np.float32, np.float64):
        rows += sparse(dtype, rates, repeats)
    header = ["scores", "beside", "onkel, ns a value", "peer, ns", "peer / onkel", "floors"]
    keys = ("onkel_ns", "peer_ns", "ratio", "floors")
    lines = [[r["what"], r["peer"], *(f"{r[key]:.3g}" for key in keys)] for r in rows]
    gflops = " and ".join(f"{2 * rate / 1e9:.0f}" for rate in rates.values())
    note = f"{measure.machine()}; sgemm and dgemm {gflops} GFLOP/s; a floor is d multiply-adds a value at that rate."
    text = f"{measure.table(header, lines)}\n\n{note}"
    measure.report("products", text, {"rates": list(rates.values()), "rows": rows})


if __name__ == "__main__":
    main()
