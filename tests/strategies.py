"""Hypothesis strategies for the laws: kernels, compositions of kernels, and points for them."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from hypothesis import settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from pairwise import FULL

from onkel.kernels import (
    RBF,
    Chi2,
    Cosine,
    HistogramIntersection,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)

scales = st.floats(0.05, 2.0).map(lambda v: round(v, 3))
seeds = st.integers(0, 2**32 - 1)


def few_examples(n: int) -> settings:
    """A decorator: n examples of a test that every learner takes, or that is slow; `make test-long` has 5 n of them."""
    return settings(max_examples=5 * n if FULL else n)


# One of each, for tests that go through all kernels one by one.
EVERY_VECTOR_KERNEL = (
    Linear(),
    Polynomial(degree=3, gamma=0.5, coef0=1.0),
    Polynomial(degree=7, gamma=0.1, coef0=0.0),
    Polynomial(degree=2.5, gamma=0.01, coef0=2.0),
    Sigmoid(gamma=0.3, coef0=-0.2),
    Cosine(),
    RBF(gamma=0.7),
    Matern(nu=0.5, length_scale=2.0),
    Matern(nu=1.5, length_scale=0.8),
    Matern(nu=2.5, length_scale=1.3),
    Matern(nu=float("inf"), length_scale=1.1),
    Matern(nu=0.9, length_scale=1.7),
    RationalQuadratic(alpha=0.6, length_scale=1.4),
    Laplacian(gamma=0.4),
    Chi2(gamma=0.8),
    HistogramIntersection(),
)
# Of these every entry lies in [-1, 1].
bounded_kernels = st.one_of(
    st.builds(RBF, gamma=scales),
    st.builds(Matern, nu=st.sampled_from([0.5, 1.5, 2.5, float("inf")]), length_scale=scales),
    st.builds(RationalQuadratic, alpha=scales, length_scale=scales),
    st.builds(Laplacian, gamma=scales),
    st.builds(Chi2, gamma=scales),
    st.just(Cosine()),
    st.builds(Sigmoid, gamma=scales, coef0=st.sampled_from([-0.5, 0.0, 1.0])),
)
vector_kernels = st.one_of(
    bounded_kernels,
    st.just(Linear()),
    st.just(HistogramIntersection()),
    st.builds(Polynomial, degree=st.integers(1, 4), gamma=scales, coef0=st.sampled_from([0.0, 0.5, 1.0])),
)


def _combinations(parts: st.SearchStrategy[Kernel]) -> st.SearchStrategy[Kernel]:
    return st.one_of(
        st.tuples(parts, parts).map(lambda p: p[0] + p[1]),
        st.tuples(parts, parts).map(lambda p: p[0] * p[1]),
        st.tuples(parts, st.sampled_from([0.5, 2.0, 3.25])).map(lambda p: p[1] * p[0]),
        st.tuples(parts, st.sampled_from([0.25, 1.0])).map(lambda p: p[0] + p[1]),
        parts.map(lambda k: k**2),
        parts.filter(lambda k: k.is_psd is True).map(lambda k: k.normalized()),
        parts.map(lambda k: k.on([0])),
        bounded_kernels.map(lambda k: (0.5 * k).exp()),
    )


kernels = st.recursive(vector_kernels, _combinations, max_leaves=4)


def needs_nonnegative(kernel: Kernel) -> bool:
    return "Chi2" in repr(kernel) or "HistogramIntersection" in repr(kernel)


def draw_points(kernel: Kernel, n: int, d: int, seed: int, *, density: float = 1.0) -> NDArray[np.float64]:
    """Rows in [-1, 1], or [0, 1] where the kernel wants that; some rows are equal, some zero."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, d)) * (rng.random((n, d)) < density)
    if n > 3:
        X[1] = X[0]
        X[2] = 0.0
        X[3] = X[0] + 1e-9
    return np.abs(X) if needs_nonnegative(kernel) else X


shapes = st.tuples(st.integers(1, 40), st.integers(1, 40), st.integers(1, 20))


def as_csr(X: NDArray, index_dtype: type = np.int32) -> sp.csr_array:
    csr = sp.csr_array(X)
    csr.indices = csr.indices.astype(index_dtype)
    csr.indptr = csr.indptr.astype(index_dtype)
    return csr
