"""Certificates of learners with theorems of their own: the mistakes made are never more than the theorem allows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import as_csr, seeds

from onkel import Forgetron, PassiveAggressiveClassifier, bounds
from onkel.bounds.theorems import forgetron_theorem, pa_theorem
from onkel.kernels import RBF, Cosine, Laplacian, Linear, Polynomial
from onkel.learners.policies import forgetron_radius

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
SCALES = np.geomspace(1e-3, 1e3, 61)
short_kernels = st.sampled_from([RBF(gamma=0.5), RBF(gamma=0.02), Laplacian(gamma=0.1), Cosine()])
long_kernels = st.sampled_from([Linear(), Polynomial(degree=2), 0.1 * Linear() + 1.0, RBF(gamma=0.5)])
variants = st.sampled_from(["PA", "PA-I", "PA-II"])


def data(seed, n=150, classes=2, noise=0.1, distance=1.0):
    """Classes in bands along a direction, some labels wrong."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    y[:classes] = np.arange(classes)
    X = rng.normal(size=(n, 3))
    X[:, 0] += 3 * distance * (y - (classes - 1) / 2)
    wrong = rng.random(n) < noise
    return X, np.where(wrong, rng.integers(0, classes, n), y)


def signs(y, classes):
    return np.where(y[:, None] == (np.array([1]) if classes == 2 else np.arange(classes)), 1.0, -1.0)


def comparator(machine, X, y, classes):
    """y f(x) of every row and machine, and ‖f‖ of all outputs together, by plain products."""
    K, A = machine.kernel_(machine.support_vectors_), machine.dual_coef_
    F = machine.kernel_(X, machine.support_vectors_) @ A.T
    return signs(y, classes) * F, math.sqrt(max(0.0, np.einsum("ci,ij,cj->", A, K, A)))


# ---------------------------------------------------------------- the Forgetron


def forgetron_allows(t, yf, norm, epochs):
    """2‖g‖² + 4 Σ hinge(g) of g = t f, all epochs   [Dekel, Shalev-Shwartz and Singer 2008]."""
    return 2 * (t * norm) ** 2 + 4 * epochs * np.maximum(0.0, 1 - t * yf).sum()


@given(
    seeds,
    st.sampled_from([2, 3, 5]),
    short_kernels,
    st.sampled_from([83, 120, 2000]),
    st.sampled_from(["self-tuned", "basic"]),
    st.integers(1, 3),
    st.sampled_from([0.0, 0.5]),
)
@settings(max_examples=40)
def test_a_forgetron_errs_no_more_than_its_certificate_allows(seed, classes, kernel, budget, variant, epochs, noise):
    X, y = data(seed, n=250, classes=classes, noise=noise)
    machine = Forgetron(kernel, budget=budget, variant=variant, max_iter=epochs, random_state=0).fit(X, y)
    seen = machine.certificate_
    assert seen.holds is not False
    assert seen.mistakes == machine.n_mistakes_ <= seen.bound * (1 + 1e-9)
    assert seen.bound <= machine.n_iter_ * signs(y, classes).size
    yf, norm = comparator(machine, X, y, classes)
    U = dict(forgetron_theorem(budget, yf.shape[1], 1.0).constants)["U"]
    allowed = [forgetron_allows(t, yf, norm, machine.n_iter_) for t in SCALES if t * norm <= U]
    assert machine.n_mistakes_ <= min(allowed)
    # the best scale is at least as good as any on a grid, and a true one
    assert seen.bound <= min(allowed) * (1 + 1e-6)
    if seen.form == "Forgetron":
        assert 1 / seen.target <= U * (1 + 1e-9)
        assert seen.bound == pytest.approx(
            forgetron_allows(1 / (seen.target * norm), yf, norm, machine.n_iter_), rel=1e-6
        )


@pytest.mark.parametrize("kernel", [RBF(gamma=0.01), Cosine()], ids=str)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_full_forgetron_shrinks_no_more_than_its_theorem_assumes(kernel, classes):
    """Σ ln(1/φ) ≤ M (½ ln(B+1) + ln k)/(B+1) is what the length U of the comparator makes up for."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(900, 3)), rng.integers(0, classes, 900)
    machine = Forgetron(kernel, budget=83).partial_fit(X[:1], y[:1], classes=range(classes))
    shrunk = 0.0
    for x, label in zip(X[1:], y[1:], strict=True):
        before = machine.n_mistakes_
        machine.learn_one(x, label)
        shrunk -= math.log(machine.shrink_) * (machine.n_mistakes_ > before)
    assert machine.n_mistakes_ > 400
    n_outputs = 1 if classes == 2 else classes
    assert 0 < shrunk <= machine.n_mistakes_ * (math.log(84) / 2 + math.log(n_outputs)) / 84


@pytest.mark.parametrize("budget", [83, 500])
def test_the_longest_comparator_of_one_machine_is_the_radius_of_the_basic_forgetron(budget):
    (name, U), *_ = forgetron_theorem(budget, 1, 1.0).constants
    assert name == "U"
    assert forgetron_radius(budget) == pytest.approx(U, rel=1e-12)
    several = dict(forgetron_theorem(budget, 4, 1.0).constants)["U"]
    # for k outputs that share a support the product of B + 1 shrinks may be 1/k smaller: U² ~ 1/(ln(B+1) + 2 ln k)
    assert (U / several) ** 2 == pytest.approx(1 + 2 * math.log(4) / math.log(budget + 1), rel=1e-12)


def test_the_least_budget_is_where_forgetting_costs_less_than_it_may():
    """λ² + 2λ + 2λU at λ = 1/√(B+1) is what forgetting one vector costs at most; it may cost 15/32."""

    def cost(budget):
        weight = 1 / math.sqrt(budget + 1)
        return weight**2 + 2 * weight + 2 * weight * forgetron_radius(budget)

    assert cost(82) > 15 / 32 >= cost(83)


# ---------------------------------------------------------------- passive-aggressive


def pa_allows(variant, C, R, t, yf, norm, epochs):
    """Crammer et al. 2006, theorems 2, 4 and 5, of u = t f; infinite where the theorem does not apply."""
    lost = np.maximum(0.0, 1 - t * yf)
    if variant == "PA":
        return R * (t * norm) ** 2 if lost.max() <= 1e-12 else math.inf
    if variant == "PA-I":
        return max(R, 1 / C) * ((t * norm) ** 2 + 2 * C * epochs * lost.sum())
    return (R + 1 / (2 * C)) * ((t * norm) ** 2 + 2 * C * epochs * (lost**2).sum())


@given(seeds, st.sampled_from([2, 3]), long_kernels, variants, st.sampled_from([0.01, 0.5, 20.0]), st.integers(1, 3))
@settings(max_examples=40)
def test_passive_aggressive_learners_err_no_more_than_their_certificates_allow(
    seed, classes, kernel, variant, C, epochs
):
    X, y = data(seed, classes=classes, noise=0.1 * (seed % 2))
    machine = PassiveAggressiveClassifier(kernel, variant=variant, C=C, max_iter=epochs, random_state=0).fit(X, y)
    seen = machine.certificate_
    assert seen.mistakes == machine.n_mistakes_
    yf, norm = comparator(machine, X, y, classes)
    R = kernel.diag(X).max()
    scales = [*SCALES, 1 / yf.min()] if yf.min() > 0 else SCALES
    allowed = min(pa_allows(variant, C, R, t, yf, norm, machine.n_iter_) for t in scales)
    if seen.bound is None:
        assert variant == "PA"
        assert yf.min() <= 0
        assert "no separator found" in seen.reason
    else:
        assert seen.holds is not False
        assert seen.radius_sq == pytest.approx(R)
        assert machine.n_mistakes_ <= seen.bound * (1 + 1e-9)
        assert seen.bound <= allowed * (1 + 1e-6)
        if seen.form != "rounds":
            t = 1 / (seen.target * norm) * (1 + 1e-13)
            assert seen.bound == pytest.approx(pa_allows(variant, C, R, t, yf, norm, machine.n_iter_), rel=1e-6)
    assert machine.n_mistakes_ <= allowed * (1 + 1e-9)


@given(seeds, variants, st.sampled_from([0.05, 1.0, 20.0]))
@settings(max_examples=30)
def test_any_comparator_allows_the_mistakes_of_a_passive_aggressive_learner(seed, variant, C):
    X, y = data(seed, noise=0.0, distance=2.0)
    u = np.random.default_rng(seed).normal(size=3)
    u[0] += 3.0
    kept = np.abs(X @ u) > 0.5  # with a margin
    X, y = X[kept], (X[kept] @ u > 0).astype(int)
    machine = PassiveAggressiveClassifier(Linear(), variant=variant, C=C, max_iter=2, random_state=0).fit(X, y)
    R, yf = np.square(X).sum(axis=1).max(), signs(y, 2) * (X @ u)[:, None]
    for t in [*SCALES, 1 / yf.min()]:
        allowed = pa_allows(variant, C, R, t, yf, np.linalg.norm(u), machine.n_iter_)
        assert machine.n_mistakes_ <= allowed * (1 + 1e-9)


@pytest.mark.parametrize("n", [3, 8])
def test_passive_aggressive_learners_attain_their_bounds_on_orthogonal_points(n):
    """Each eᵢ is new, f(eᵢ) = 0, and so a mistake; u = Σ yᵢ eᵢ has margin 1 and length √n: n ≤ R ‖u‖² = n."""
    y = np.arange(n) % 2
    machine = PassiveAggressiveClassifier(Linear(), variant="PA", max_iter=2, shuffle=False).fit(np.eye(n), y)
    assert machine.n_mistakes_ == n
    assert machine.certificate_.bound == pytest.approx(n, rel=1e-12)
    assert machine.certificate_.form == "separable"
    assert machine.certificate_.holds
    machine = PassiveAggressiveClassifier(Linear(), C=1.0, max_iter=2, shuffle=False).fit(np.eye(n), y)
    assert machine.certificate_.bound == pytest.approx(n, rel=1e-6)  # max(1, 1/C) n
    assert machine.certificate_.holds


def test_rows_that_are_all_zero_are_allowed_for():
    """f(0) = 0 is a mistake at every round, and no comparator is right on it."""
    X, y = np.array([[0.0], [1.0], [0.0], [-1.0], [0.0]]), np.array([1, 1, 0, 0, 1])
    for variant in ("PA-I", "PA-II"):
        for C in (1e-3, 1.0, 1e3):
            machine = PassiveAggressiveClassifier(Linear(), variant=variant, C=C, max_iter=7, random_state=0).fit(X, y)
            assert machine.n_mistakes_ >= 3 * machine.n_iter_
            assert machine.certificate_.holds is not False
    assert PassiveAggressiveClassifier(Linear(), variant="PA", max_iter=3).fit(X, y).certificate_.bound is None
    nothing = PassiveAggressiveClassifier(Linear(), max_iter=3).fit(np.zeros((4, 2)), [0, 1, 0, 1])  # and no update
    assert (nothing.n_mistakes_, nothing.certificate_.bound, nothing.certificate_.form) == (4, 4.0, "rounds")


# ---------------------------------------------------------------- what a certificate does not depend on


@pytest.mark.parametrize(
    "machine",
    [
        Forgetron(RBF(gamma=0.02), budget=2000, max_iter=1),
        PassiveAggressiveClassifier(RBF(gamma=0.02), max_iter=2),
        PassiveAggressiveClassifier(Linear(), variant="PA-II", max_iter=2),
        PassiveAggressiveClassifier(RBF(gamma=2.0), variant="PA", max_iter=100),
    ],
    ids=str,
)
@pytest.mark.parametrize("classes", [2, 3])
def test_a_certificate_is_the_same_for_sparse_rows_and_other_names_of_the_classes(machine, classes):
    X, y = data(1, n=200, classes=classes, noise=0.0, distance=3.0)
    machine.set_params(random_state=0)
    expected = machine.fit(X, y).certificate_
    assert expected.holds is not False
    if classes == 2:
        assert expected.bound < machine.n_rounds_
    for again in (machine.fit(as_csr(X), y), machine.fit(X, np.array(["c", "b", "a"])[y])):
        assert again.certificate_.mistakes == expected.mistakes
        assert again.certificate_.bound == pytest.approx(expected.bound, rel=1e-6)


def test_theorems_are_scaled_as_their_kernels_are():
    """PA on c·K is PA on K with f the same; PA-I and PA-II with C/c."""
    X, y = data(2, noise=0.1)
    for variant, form in (("PA-I", "PA-I"), ("PA-II", "PA-II")):
        one = PassiveAggressiveClassifier(RBF(gamma=0.05), variant=variant, C=0.1, max_iter=2, random_state=0).fit(X, y)
        other = PassiveAggressiveClassifier(
            100.0 * RBF(gamma=0.05), variant=variant, C=0.001, max_iter=2, random_state=0
        ).fit(X, y)
        assert one.n_mistakes_ == other.n_mistakes_
        assert one.certificate_.form == other.certificate_.form == form
        assert one.certificate_.bound == pytest.approx(other.certificate_.bound, rel=1e-6)


def test_a_theorem_applied_by_hand_is_the_certificate():
    """Two rows ±e₁ and u = e₁: margin 1, so that γ = 1 has no slack and PA-II allows (R + 1/(2C)) ‖u‖² at γ = 1."""
    run = {"mistakes": np.array([1]), "norms": np.array([1.0]), "radius_sq": 1.0, "epochs": 1, "comparator": "e₁"}
    theorem = pa_theorem("PA-II", C=100.0, radius_sq=1.0)
    seen = bounds.certify(margins=np.ones((200, 1)), theorems=(theorem,), **run)
    # the best length s minimises 1.005 (s² + 200·200 (1 − s)²): s = 40000/40001
    assert seen.bound == pytest.approx(1.005 * 40000 / 40001, rel=1e-6)
    assert seen.constants == (("C", 100.0),)
    assert "C = 100" in str(seen)
    assert "PA-II: mistakes ≤ (R + 1/(2C))·(1/γ² + 2C·D²)" in str(seen)
