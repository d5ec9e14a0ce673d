"""Kernels at work on scikit-learn's digits: which are valid, and what their Gram matrices look like.

Run with `make demo`. Prints a table and writes demo.png.
"""

from __future__ import annotations

import sys
import time

import matplotlib
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import euclidean_distances

from onkel import gram
from onkel.kernels import RBF, Chi2, Cosine, Custom, Laplacian, Linear, Matern, Polynomial, Sigmoid
from onkel.plot import GramDisplay, SpectrumDisplay

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def main(path: str = "demo.png") -> None:
    X, y = load_digits(return_X_y=True)
    X = X / 16.0  # 1797 images of 8 × 8 pixels, in [0, 1]
    kernels = {
        "linear": Linear(),
        "cubic": Polynomial(degree=3, gamma=0.1, coef0=1.0),
        "Gaussian": RBF(gamma=0.1),
        "Matérn 3/2": Matern(nu=1.5, length_scale=2.0),
        "Laplacian": Laplacian(gamma=0.1),
        "chi-squared": Chi2(gamma=0.1),
        "cubic of the cosine": Cosine() ** 3,
        "Gaussian of halves": RBF(gamma=0.2).on(range(32)) + RBF(gamma=0.2).on(range(32, 64)),
        "sigmoid": Sigmoid(gamma=0.1, coef0=-1.0),
        "exp(-|x - z|^4)": Custom(lambda A, B: np.exp(-0.002 * euclidean_distances(A, B, squared=True) ** 2)),
    }
    out = sys.stdout
    out.write(f"{len(X)} digits of {X.shape[1]} pixels. A kernel is valid if none of its Gram matrices has a\n")
    out.write("negative eigenvalue: known by its formula, and seen here by the Gram doctor.\n\n")
    columns = f"{'known valid':>11} {'valid here':>10} {'smallest eigenvalue':>19} {'rank':>5} {'seconds':>8}"
    out.write(f"{'kernel':<20} {columns}\n")
    known = {True: "yes", False: "no", None: "unknown"}
    for name, kernel in kernels.items():
        start = time.perf_counter()
        K = kernel(X)
        seconds = time.perf_counter() - start
        found = gram.check(K)
        out.write(
            f"{name:<20} {known[kernel.is_psd]:>11} {'yes' if found.psd else 'NO':>10} "
            f"{found.smallest_eigenvalue:>19.2e} {found.rank:>5} {seconds:>8.3f}\n"
        )
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(17, 5), layout="constrained")
    some = np.flatnonzero(y < 5)[:300]
    GramDisplay.from_kernel(Linear(), X[some], y=y[some], ax=left)
    left.set_title("Linear: every digit looks like every other")
    GramDisplay.from_kernel(RBF(gamma=0.1), X[some], y=y[some], ax=middle)
    middle.set_title("Gaussian: digits of a kind look alike")
    SpectrumDisplay.from_kernel(Sigmoid(gamma=0.1, coef0=-1.0), X[some], ax=right)
    right.set_title(f"Sigmoid, not a valid kernel\n{right.get_title()}")
    figure.savefig(path, dpi=110)
    out.write(f"\nWrote {path}: two Gram matrices, and the spectrum of a kernel that is not one.\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
