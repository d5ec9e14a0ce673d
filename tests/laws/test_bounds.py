"""Certificates: the mistakes made are never more than the theorem allows."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from reference.oracles import SlowClassifier
from reference.test_bounds import noisy_line
from sklearn.svm import SVC
from strategies import draw_points, kernels, seeds

from onkel import KernelPerceptron, bounds
from onkel.bounds.theorems import THEOREMS
from onkel.kernels import RBF, Custom, Laplacian, Linear, Matern, Polynomial, Precomputed, Sigmoid, prepare
from onkel.solvers.svm.max_margin import max_margin

COMPARATORS = ["last", "averaged", "best", "max-margin"]
KERNELS = [
    Linear(),
    Polynomial(degree=2, gamma=0.5),
    RBF(gamma=0.7),
    Laplacian(gamma=0.4),
    Matern(nu=1.5) + 0.5 * Linear(),
]
psd_kernels = kernels.filter(lambda k: k.is_psd is True)
weightings = st.sampled_from(["none", "random", "some zero"])


def weights(kind, n, seed):
    rng = np.random.default_rng(seed)
    if kind == "none":
        return None
    w = rng.uniform(0.2, 3.0, size=n)
    if kind == "some zero":
        w[rng.random(n) < 0.3] = 0.0
    return w


def separable(kernel, seed, n=24, d=3):
    """Points, and the signs that a function of the kernel's feature space gives them, not one close to its zero."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, d))
    f = kernel(X) @ rng.normal(size=n)
    far = np.abs(f) > 0.2 * np.abs(f).max()
    return X[far], np.sign(f[far])


def within(seen):
    """Whether the mistakes are within the bound; a bound that is the number of rounds says nothing and is no claim."""
    assert (seen.holds is None) == (seen.form in (None, "rounds"))
    return seen.mistakes <= seen.bound * (1 + 1e-9)


# ---------------------------------------------------------------- the largest margin


@pytest.mark.parametrize("seed", range(4))
def test_the_largest_margin_is_found_from_every_perceptron(seed):
    """Also from one that separates the rows with a margin of 1e-21: RBF values of far points are about that."""
    rng = np.random.default_rng(seed)
    X, y, kernel = rng.normal(size=(60, 2)), rng.integers(0, 2, 60), RBF(gamma=50.0)
    rows = prepare(kernel, X)
    u = max_margin(kernel, rows, 2.0 * y - 1, np.zeros(60))
    f = kernel(X) @ u
    largest = ((2 * y - 1) * f).min() / np.sqrt(u @ f)
    assert largest > 0.05
    for epochs in (1, 2, 10):
        model = KernelPerceptron(kernel=kernel, max_iter=epochs, random_state=0).fit(X, y)
        found = bounds.certificate(model, X, y, comparator="max-margin")
        np.testing.assert_allclose(found.margin, largest, rtol=2e-3)


@pytest.mark.parametrize("intercept", [False, True])
def test_the_largest_margin_passes_through_the_origin(intercept):
    """Of orthonormal rows it is 1/√n, whatever the labels: α = 1 each, ‖w‖² = n. A free b would claim more."""
    X, y = np.eye(8), np.array([1, 1, 1, 1, 1, 1, 1, -1])
    model = KernelPerceptron(kernel="linear", fit_intercept=intercept, max_iter=100).fit(X, y)
    found = bounds.certificate(model, X, y, comparator="max-margin")
    assert found.holds
    if not intercept:  # every row errs once, and the bound is met
        assert model.n_mistakes_ == 8
        np.testing.assert_allclose(found.margin, 8**-0.5, rtol=2e-3)
        np.testing.assert_allclose(found.bound, 8, rtol=4e-3)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@given(seed=seeds, intercept=st.booleans())
def test_no_guess_has_a_larger_margin_than_the_largest(kernel, seed, intercept):
    X, y = separable(kernel, seed)
    if len(np.unique(y)) < 2:
        return
    model = KernelPerceptron(kernel=kernel, fit_intercept=intercept, max_iter=200, random_state=seed).fit(X, y)
    widest, best = (bounds.certificate(model, X, y, comparator=name) for name in ("max-margin", "best"))
    assert within(widest)
    if best.margin > 0:
        assert widest.margin >= (1 - 2e-3) * best.margin


def test_the_largest_margin_is_that_of_a_support_vector_machine():
    """On K + 1 there is a b, but its square counts: far from the origin's plane a hard SVM with K + 1 is the same."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    X += 1.5 * np.sign(X[:, :1])
    y = np.sign(X[:, 0])
    model = KernelPerceptron(kernel="linear", max_iter=500, random_state=0).fit(X, y)
    found = bounds.certificate(model, X, y, comparator="max-margin")
    doubled = np.vstack([X, -X])  # a mirrored copy with mirrored labels takes b to 0
    svc = SVC(kernel="linear", C=1e8, tol=1e-6).fit(doubled, np.concatenate([y, -y]))
    np.testing.assert_allclose(svc.intercept_, 0, atol=1e-4)
    np.testing.assert_allclose(found.margin, 1 / np.linalg.norm(svc.coef_), rtol=2e-3)


# ---------------------------------------------------------------- mistakes ≤ bound


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("intercept", [False, True])
@given(seed=seeds, weighting=weightings, comparator=st.sampled_from(COMPARATORS))
def test_on_separable_data_mistakes_stay_within_the_bound(kernel, intercept, seed, weighting, comparator):
    X, y = separable(kernel, seed)
    w = weights(weighting, len(y), seed)
    if len(np.unique(y if w is None else y[w > 0])) < 2:
        return
    model = SlowClassifier(kernel, fit_intercept=intercept, max_iter=60).fit(X, y, w)
    seen = bounds.certificate(model, X, y, sample_weight=w, comparator=comparator)
    assert within(seen)
    assert seen.mistakes == model.n_mistakes_
    sizes = np.abs(model.mistakes_["step"])
    assert seen.weight_ratio == pytest.approx(sizes.max() / sizes.min())
    if model.converged_ and comparator == "last":
        assert seen.margin > 0
        assert seen.bound <= seen.weight_ratio**2 * seen.radius_sq / seen.margin**2 * (1 + 1e-9)


@given(
    kernel=psd_kernels,
    intercept=st.booleans(),
    epochs=st.integers(1, 4),
    classes=st.integers(2, 4),
    weighting=weightings,
    comparator=st.sampled_from(COMPARATORS),
    seed=seeds,
)
def test_on_random_labels_mistakes_stay_within_the_bound(
    kernel, intercept, epochs, classes, weighting, comparator, seed
):
    rng = np.random.default_rng(seed)
    X, y = draw_points(kernel, 20, 3, seed), rng.integers(0, classes, size=20)
    y[: 2 * classes] = np.arange(2 * classes) % classes  # rows 0 and 1 are equal: conflicting duplicates
    w = weights(weighting, 20, seed)
    if w is not None:
        w[: 2 * classes] = 1.0
    model = SlowClassifier(kernel, fit_intercept=intercept, max_iter=epochs).fit(X, y, w)
    seen = bounds.certificate(model, X, y, sample_weight=w, comparator=comparator)
    assert within(seen)
    assert all(within(part) for part in seen.parts)
    assert seen.margin is None or seen.margin <= 1e-9 * np.sqrt(seen.radius_sq)  # nothing separates equal rows
    assert seen.conflict == (0, 1)
    assert "not separable: rows 0 and 1 are equal and have different labels" in str(seen)


@pytest.mark.parametrize("kind", ["dense", "CSR", "precomputed", "objects"])
def test_equal_rows_with_different_labels_prove_that_nothing_separates(kind):
    X, y = noisy_line(0)
    X[17], y[17] = X[4], -y[4]
    X[20], y[20] = X[9], y[9]  # equal, and of one mind
    X[1], X[2] = [0.5, 0.0, 0.0], [0.0, 0.5, 0.0]  # the same values, elsewhere
    y[1], y[2] = 1, -1
    kernel = Linear()
    if kind == "CSR":
        X = sp.csr_array(X * (np.abs(X) > 0.3))
    elif kind == "precomputed":
        X, kernel = X @ X.T, Precomputed()
    elif kind == "objects":
        X, kernel = [tuple(x) for x in X], Custom(np.dot, pairwise=True, takes="objects", psd=True)
    seen = bounds.certificate(SlowClassifier(kernel, max_iter=3).fit(X, y), X, y)
    assert seen.conflict == (None if kind == "objects" else (4, 17))
    assert ("not separable: rows 4 and 17" in str(seen)) == (kind != "objects")
    assert ("no separator found in 3 epochs" in str(seen)) == (kind == "objects")


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_a_row_of_no_weight_is_in_no_conflict_and_keeps_its_number(convert):
    X, y = noisy_line(0)
    X[[2, 4]], y[[2, 4]] = X[1], [-y[1], y[1]]
    X[17], y[17] = X[4], -y[4]
    w = np.where(np.arange(30) < 3, 0.0, 1.0)  # rows 1 and 2 are not there
    rows = convert(X)
    model = SlowClassifier(max_iter=3).fit(rows, y, w)
    assert bounds.certificate(model, rows, y, sample_weight=w).conflict == (4, 17)


@given(seed=seeds, epochs=st.integers(1, 5), gamma=st.floats(0.01, 10.0), flipped=st.integers(0, 15))
def test_both_forms_with_slack_hold_for_any_comparator_and_any_margin(seed, epochs, gamma, flipped):
    """The two theorems one by one, as the certificate applies them, with u and γ that nobody chose well."""
    X, y = noisy_line(seed, flipped=flipped)
    model = SlowClassifier(max_iter=epochs).fit(X, y)
    u = np.random.default_rng(seed + 1).normal(size=3)
    a = y * (X @ u) / np.linalg.norm(u) / (radius := np.linalg.norm(X, axis=1).max())
    z = np.maximum(0, 1 - radius / gamma * a)
    for theorem in THEOREMS.values():
        allowed = theorem(radius / gamma, model.n_iter_ * z.sum(), model.n_iter_ * z @ z)
        assert model.n_mistakes_ <= allowed * (1 + 1e-9)


# ---------------------------------------------------------------- what a bound does not depend on


@pytest.mark.parametrize("scale", [1e-6, 0.3, 7.0, 1e8])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("flipped", [0, 4])
def test_scaling_the_kernel_changes_no_bound(scale, seed, flipped):
    X, y = noisy_line(seed, flipped=flipped)
    plain, scaled = (
        bounds.certificate(SlowClassifier(k, max_iter=5).fit(X, y), X, y) for k in (Linear(), scale * Linear())
    )
    assert scaled.mistakes == plain.mistakes
    assert scaled.bound == pytest.approx(plain.bound, rel=1e-9)
    assert scaled.form == plain.form
    assert scaled.radius_sq == pytest.approx(scale * plain.radius_sq)
    assert scaled.margin == pytest.approx(np.sqrt(scale) * plain.margin)


@pytest.mark.parametrize("comparator", COMPARATORS)
def test_scaling_all_weights_changes_nothing(comparator):
    X, y = noisy_line(3)
    one, five = (
        bounds.certificate(SlowClassifier(max_iter=3).fit(X, y, np.full(30, w)), X, y, comparator=comparator)
        for w in (1.0, 5.0)
    )
    assert five.bound == pytest.approx(one.bound)
    assert five.weight_ratio == 1.0


def test_an_intercept_is_the_kernel_plus_one():
    X, y = noisy_line(5)
    kernel = RBF(gamma=0.3)
    inside = bounds.certificate(SlowClassifier(kernel + 1.0, max_iter=3).fit(X, y), X, y)
    outside = bounds.certificate(SlowClassifier(kernel, fit_intercept=True, max_iter=3).fit(X, y), X, y)
    assert outside.radius_sq == 2.0
    for name in ("mistakes", "radius_sq", "margin", "bound", "form", "target"):
        expected = getattr(inside, name)
        assert getattr(outside, name) == (expected if name == "form" else pytest.approx(expected)), name


def test_a_row_of_weight_zero_is_absent():
    X, y = noisy_line(2)
    w = np.random.default_rng(0).uniform(1, 2, size=30)
    absent = np.arange(30) % 4 == 0
    w[absent] = 0.0
    X[0] = 100.0  # would be the radius
    model = SlowClassifier(max_iter=2).fit(X, y, w)
    X_there, y_there, w_there = X[~absent], y[~absent], w[~absent]
    seen = bounds.certificate(model, X, y, sample_weight=w)
    without = bounds.certificate(SlowClassifier(max_iter=2).fit(X_there, y_there, w_there), X_there, y_there)
    for name in ("mistakes", "radius_sq", "margin", "bound", "target", "weight_ratio", "epochs"):
        assert getattr(seen, name) == pytest.approx(getattr(without, name)), name
    assert bounds.certificate(model, X, y).bound > seen.bound  # all rows: true as well, and worse


@pytest.mark.parametrize("kind", ["float32", "CSR", "precomputed", "objects", "labels", "primal"])
def test_the_certificate_is_the_same_in_every_dress(kind):
    X, y = noisy_line(4)
    kernel = Linear() if kind == "primal" else RBF(gamma=0.2)
    expected = bounds.certificate(SlowClassifier(kernel, max_iter=3).fit(X, y), X, y, comparator="best")
    if kind == "float32":
        X = X.astype(np.float32)
    elif kind == "CSR":
        X = sp.csr_array(X)
    elif kind == "precomputed":
        X, kernel = kernel(X), Precomputed()
    elif kind == "objects":
        rbf = kernel
        X, kernel = (
            [tuple(x) for x in X],
            Custom(lambda a, b: rbf([a], [b])[0, 0], pairwise=True, takes="objects", psd=True),
        )
    elif kind == "labels":
        y = np.where(y == 1, "yes", "no").astype(object)
    model = SlowClassifier(kernel, max_iter=3).fit(X, y)
    if kind == "primal":
        del model.kernel_  # linear, then
    seen = bounds.certificate(model, X, y, comparator="best")
    assert seen.mistakes == expected.mistakes
    assert seen.bound == pytest.approx(expected.bound, rel=1e-4 if kind == "float32" else 1e-9)
    trace = bounds.trace(model, X, y)
    assert trace.lemma_1
    assert trace.lemma_2


def test_nothing_given_is_changed():
    X, y = noisy_line(6)
    model = SlowClassifier(max_iter=2).fit(X, y)
    before = X.copy(), y.copy(), model.mistakes_.copy()
    bounds.certificate(model, X, y, comparator="best")
    bounds.trace(model, X, y)
    for array, same in zip((X, y, model.mistakes_), before, strict=True):
        np.testing.assert_array_equal(array, same)


# ---------------------------------------------------------------- several classes


@pytest.mark.parametrize("comparator", COMPARATORS)
@pytest.mark.parametrize("intercept", [False, True])
def test_of_several_classes_the_bound_is_the_sum_of_one_against_the_rest(intercept, comparator):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 3)), rng.choice(["a", "b", "c", "d"], size=40)
    model = SlowClassifier(RBF(gamma=0.5), fit_intercept=intercept).fit(X, y)
    seen = bounds.certificate(model, X, y, comparator=comparator)
    alone = [
        bounds.certificate(
            SlowClassifier(RBF(gamma=0.5), fit_intercept=intercept).fit(X, y == c), X, y == c, comparator=comparator
        )
        for c in "abcd"
    ]
    assert [part.mistakes for part in seen.parts] == [each.mistakes for each in alone]
    assert [part.bound for part in seen.parts] == pytest.approx([each.bound for each in alone])
    assert seen.mistakes == model.n_mistakes_ == sum(each.mistakes for each in alone)
    assert seen.bound == pytest.approx(sum(each.bound for each in alone))
    assert seen.margin == pytest.approx(min(each.margin for each in alone))


# ---------------------------------------------------------------- kernels without a theorem


@pytest.mark.parametrize("kernel", [Sigmoid(), -1.0 * Linear()])
def test_a_kernel_that_is_no_inner_product_has_no_bound(kernel):
    X, y = noisy_line(0)
    seen = bounds.certificate(SlowClassifier(kernel).fit(X, y), X, y)
    assert seen.mistakes > 0
    assert seen.bound is None
    assert seen.holds is None
    assert seen.form is None
    assert "not positive semi-definite" in seen.reason


def test_a_kernel_of_unknown_validity_is_examined_on_its_support(monkeypatch):
    X, y = noisy_line(0)
    unknown = Custom(lambda A, B: A @ B.T)
    assert unknown.is_psd is None
    model = SlowClassifier(unknown, max_iter=2).fit(X, y)
    known = bounds.certificate(SlowClassifier(Linear(), max_iter=2).fit(X, y), X, y)
    assert bounds.certificate(model, X, y).bound == pytest.approx(known.bound)
    indefinite = Custom(lambda A, B: A[:, :1] @ B[:, :1].T - A[:, 1:] @ B[:, 1:].T)
    seen = bounds.certificate(SlowClassifier(indefinite, max_iter=2).fit(X, y), X, y)
    assert seen.bound is None
    assert "not positive semi-definite" in seen.reason
    monkeypatch.setattr("onkel.bounds.comparators.MAX_CHECKED", 3)
    seen = bounds.certificate(model, X, y)
    assert seen.bound is None
    assert "unknown; onkel.gram.check(kernel(X)) examines it" in seen.reason


# ---------------------------------------------------------------- the lemmas


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@given(seed=seeds, intercept=st.booleans(), weighting=st.sampled_from(["none", "random"]), noisy=st.booleans())
def test_both_lemmas_hold_at_every_mistake(kernel, seed, intercept, weighting, noisy):
    X, y = noisy_line(seed) if noisy else separable(kernel, seed)
    if len(np.unique(y)) < 2:
        return
    model = SlowClassifier(kernel, fit_intercept=intercept, max_iter=10).fit(X, y, weights(weighting, len(y), seed))
    trace = bounds.trace(model, X, y, u=np.random.default_rng(seed).normal(size=len(y)))
    assert trace.lemma_1
    assert trace.lemma_2
    final = bounds.trace(model, X, y)
    assert final.lemma_1
    assert (final.margin > 0) == (bounds.certificate(model, X, y).margin > 0)
    assert final.progress[-1] ** 2 <= final.norm_sq[-1] * (1 + 1e-9)  # Cauchy and Schwarz


@pytest.mark.parametrize(("name", "lemma"), [("progress", "lemma_1"), ("norm_sq_ceiling", "lemma_2")])
def test_a_trace_tells_where_a_lemma_fails(name, lemma):
    X, y = noisy_line(0, flipped=0)
    trace = bounds.trace(SlowClassifier(max_iter=20).fit(X, y), X, y)
    for part, holds in ((1e-12, True), (1e-6, False)):
        floor, ceiling = trace.progress_floor, trace.norm_sq
        moved = {"progress": floor * (1 - part), "norm_sq_ceiling": ceiling * (1 - part)}[name]
        other = dataclasses.replace(trace, **{name: moved})
        assert getattr(other, lemma) is holds
        assert ("FAILS" in str(other)) is not holds


# ---------------------------------------------------------------- online to batch


@given(m=st.integers(1, 10_000), share=st.floats(0, 1), delta=st.floats(0.001, 0.999))
def test_the_error_bounds_are_rates_in_order(m, share, delta):
    k = int(share * m)
    picked, voted = (bounds.generalization(k, m, delta, h) for h in ("random", "voted"))
    assert 0 <= picked.expected <= picked.at_most <= 1
    assert picked.expected <= voted.expected <= 2 * picked.expected
    assert picked.at_most <= voted.at_most <= 2 * picked.at_most
    assert bounds.generalization(k, 2 * m, delta).at_most <= picked.at_most


def test_the_promise_of_one_pass_is_kept_as_often_as_it_says():
    """Labels are noise, so that the picked guess errs half of the time; δ = 1/4 and 200 passes."""
    rng = np.random.default_rng(0)
    kept = sum(bounds.generalization(rng.binomial(60, 0.5), 60, delta=0.25).at_most >= 0.5 for _ in range(200))
    assert 0.75 <= kept / 200 < 1.0  # by Hoeffding at least 3/4, and it can fail


def test_a_bound_that_is_attained_on_float32_rows_is_certified():
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 30))
        X = np.diag(np.full(n, rng.uniform(0.1, 3))).astype(np.float32)  # orthogonal rows: n mistakes, R/γ² = n
        y = np.array([0, 1, *rng.integers(0, 2, n - 2)])
        fitted = KernelPerceptron(kernel="linear", max_iter=10).fit(X, y)
        assert fitted.n_mistakes_ == n
        for found in (fitted.certificate_, bounds.certificate(fitted, X, y)):
            assert found.holds
            assert found.bound == pytest.approx(n, rel=1e-5)
            assert 0 < found.rounding < 0.01


def test_the_allowance_for_rounding_is_for_float32_rows_only():
    X, y = np.eye(4), np.array([0, 1, 0, 1])
    assert KernelPerceptron(kernel="linear", max_iter=10).fit(X, y).certificate_.rounding == 0.0
