"""Certificates against hand-worked runs, the literal formulas of the theorem, and a slow perceptron."""

from __future__ import annotations

import math

import numpy as np
import pytest
from reference.oracles import SlowClassifier
from sklearn.svm import SVC

from onkel import bounds
from onkel.kernels import RBF, Linear, Polynomial


def literal_bounds(y, projections, radius_sq, gamma, epochs):
    """Squared slack and hinge, written as the papers have them, for a unit vector u with `projections` u·x.

    The hinge form takes the vector u/γ, of length 1/γ.
    """
    D = math.sqrt((np.maximum(0.0, gamma - y * projections) ** 2).sum())
    L = epochs * np.maximum(0.0, 1.0 - y * projections / gamma).sum()
    length = 1.0 / gamma
    squared_slack = ((math.sqrt(radius_sq) + math.sqrt(epochs) * D) / gamma) ** 2
    hinge = L + radius_sq * length**2 + math.sqrt(radius_sq) * length * math.sqrt(L)
    return squared_slack, hinge


def noisy_line(seed, n=30, d=3, flipped=4):
    """Rows and labels ±1 of a hyperplane through the origin, some of them turned over."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = np.where(X @ rng.normal(size=d) >= 0, 1, -1)
    y[:flipped] *= -1
    return X, y


# ---------------------------------------------------------------- the separable form


def test_three_mistakes_worked_by_hand():
    """x = (2, 0), (0, 1), (1, −2) with labels +, +, −: all three are mistakes, and v₃ = (1, 3).

    Scores 0, 0 and y v₂·x = −(2 − 2) = 0. Under v₃: y v·x = 2, 3, 5, ‖v₃‖ = √10, so γ = 2/√10, R = 5, and the bound is
    5 · 10/4 = 12.5; the second epoch makes no mistake.
    """
    X, y = np.array([[2.0, 0.0], [0.0, 1.0], [1.0, -2.0]]), np.array(["yes", "yes", "no"])
    model = SlowClassifier(max_iter=5).fit(X, y)
    assert model.mistakes_["row"].tolist() == [0, 1, 2]
    seen = bounds.certificate(model, X, y)
    assert (seen.mistakes, seen.radius_sq, seen.epochs) == (3, 5.0, 2)
    assert seen.margin == pytest.approx(2 / math.sqrt(10))
    grid = np.geomspace(0.1, 10, 2001)
    slack = min(min(literal_bounds(np.array([1, 1, -1]), X @ [1, 3] / math.sqrt(10), 5.0, g, 2)) for g in grid)
    assert seen.bound == pytest.approx(min(12.5, slack, 2 * 3), rel=1e-5)
    trace = bounds.trace(model, X, y)
    root = math.sqrt(10)
    np.testing.assert_allclose(trace.progress, [2 / root, 5 / root, 10 / root])  # v = (2,0), (2,1), (1,3) on (1,3)/√10
    np.testing.assert_allclose(trace.progress_floor, [2 / root, 4 / root, 6 / root])
    np.testing.assert_allclose(trace.norm_sq, [4, 5, 10])
    np.testing.assert_allclose(trace.norm_sq_ceiling, [5, 10, 15])
    assert trace.lemma_1
    assert trace.lemma_2
    assert str(trace).splitlines() == [
        "3 mistakes, R = 5, γ = 0.632456",
        "  lemma 1, v_k·u ≥ kγ: holds at every mistake; at the last 3.16228 against 1.89737",
        "  lemma 2, ‖v_k‖² ≤ kR: holds at every mistake; at the last 10 against 15",
    ]


def test_the_radius_is_that_of_the_squared_length():
    """Erratum: the notes' R bounds ‖x‖². For x = (±2), y = ±1, it is 4, and one mistake is all: R/γ² = 4/2²."""
    X, y = np.array([[2.0], [-2.0]]), np.array([1, -1])
    seen = bounds.certificate(SlowClassifier(max_iter=2).fit(X, y), X, y)
    assert seen.radius_sq == 4.0
    assert seen.margin == pytest.approx(2.0)
    assert seen.bound == pytest.approx(1.0)
    assert seen.form == "separable"
    assert seen.mistakes == 1
    assert not hasattr(seen, "radius")
    with_one = bounds.certificate(SlowClassifier(fit_intercept=True, max_iter=2).fit(X, y), X, y)
    assert with_one.radius_sq == 5.0  # K + 1


@pytest.mark.parametrize("radius_sq", [1.0, 0.3])
def test_the_orthogonal_sequence_attains_the_bound(radius_sq):
    """√R·eᵢ, i = 1 … n, twice: n mistakes; u = Σ yᵢeᵢ/√n has γ = √(R/n), and R/γ² = n. Rounding breaks an exact ≤."""
    exact = []
    for n in range(2, 50):
        X, y = math.sqrt(radius_sq) * np.eye(n), np.arange(n) % 2
        model = SlowClassifier(max_iter=2).fit(X, y)
        seen = bounds.certificate(model, X, y)
        assert seen.mistakes == n
        assert seen.bound == pytest.approx(n, rel=1e-12)
        assert seen.form == "separable"
        assert seen.holds
        exact.append(seen.mistakes <= seen.bound)
    assert not all(exact)


def test_the_margin_of_an_svc_with_free_bias_gives_a_false_bound():
    """xᵢ = eᵢ, labels 7 : 1. Through the origin γ = 1/√8, and the bound is the 8 mistakes made. With a free bias γ is
    half the distance from the centre of seven points to the eighth, √(1/7 + 1)/2, and R/γ² = 4 · 7/8 = 3.5."""
    X, y = np.eye(8), np.array([1] * 7 + [-1])
    model = SlowClassifier(max_iter=2).fit(X, y)
    assert model.n_mistakes_ == 8
    svc = SVC(kernel="linear", C=1e6).fit(X, y)
    run = {"mistakes": np.array([8]), "radius_sq": 1.0, "epochs": 2}
    false = bounds.certify(
        margins=(y * svc.decision_function(X))[:, None],
        norms=np.linalg.norm(svc.coef_, axis=1),
        comparator="an SVC",
        **run,
    )
    assert false.radius_sq / false.margin**2 == pytest.approx(3.5, rel=1e-3)
    assert false.bound <= 3.51
    assert false.holds is False
    assert str(false).startswith("NOT certified: 8 mistakes in 2 epochs, at most 3.5")
    true = bounds.certificate(model, X, y)
    assert true.margin == pytest.approx(1 / math.sqrt(8))
    assert true.bound == pytest.approx(8.0)
    assert true.holds


# ---------------------------------------------------------------- the forms with slack


@pytest.mark.parametrize("epochs", [1, 3])
@pytest.mark.parametrize("seed", range(6))
def test_the_bound_is_the_least_of_the_literal_formulas_over_the_margin(seed, epochs):
    X, y = noisy_line(seed)
    model = SlowClassifier(max_iter=epochs).fit(X, y)
    v = np.zeros(3)
    for entry in model.mistakes_:
        v += entry["step"] * X[entry["row"]]
    projections = X @ v / np.linalg.norm(v)
    radius_sq = (X**2).sum(axis=1).max()
    literal = np.array([literal_bounds(y, projections, radius_sq, g, epochs) for g in np.geomspace(1e-2, 1e3, 2000)])
    assert (model.n_mistakes_ <= literal).all()  # the theorem itself, for one pass and for several
    seen = bounds.certificate(model, X, y)
    assert seen.margin == pytest.approx((y * projections).min())
    assert seen.margin < 0
    assert seen.bound == pytest.approx(min(literal.min(), epochs * len(X)), rel=1e-4)
    if seen.form != "rounds":
        here = dict(
            zip(["squared slack", "hinge"], literal_bounds(y, projections, radius_sq, seen.target, epochs), strict=True)
        )
        assert seen.bound == pytest.approx(here[seen.form], rel=1e-12)


@pytest.mark.parametrize(
    ("margins", "form"),
    [
        (np.ones(20), "separable"),
        (np.linspace(0.05, 1.0, 200), "squared slack"),  # many rows lack a little
        (np.append(np.ones(400), -np.ones(4)), "hinge"),  # few rows lack much
        (np.append(np.ones(10), -np.ones(10)), "rounds"),
    ],
)
def test_each_form_is_the_smallest_somewhere(margins, form):
    numbers = {"mistakes": np.array([1]), "radius_sq": 2.5, "epochs": 1, "comparator": "u"}
    seen = bounds.certify(margins=3.0 * margins[:, None], norms=np.array([2.0]), **numbers)
    gammas = np.append(np.geomspace(0.1, 100, 3000), 1.5)  # 1.5: where most rows begin to have slack
    squared_slack, hinge = np.array([literal_bounds(1, 1.5 * margins, 2.5, g, 1) for g in gammas]).T
    literal = {
        "separable": 2.5 / (1.5 * margins.min()) ** 2 if margins.min() > 0 else math.inf,
        "squared slack": squared_slack.min(),
        "hinge": hinge.min(),
        "rounds": len(margins),
    }
    assert seen.form == form == min(literal, key=literal.get)
    assert 0.9999 * literal[form] <= seen.bound <= literal[form] * (1 + 1e-7)


def test_weights_multiply_the_bound_by_the_square_of_their_ratio():
    numbers = {
        "mistakes": np.array([1]),
        "margins": np.full((500, 1), 0.7),
        "norms": np.ones(1),
        "radius_sq": 1.0,
        "epochs": 1,
        "comparator": "u",
    }
    plain, weighted = bounds.certify(**numbers), bounds.certify(**numbers, weight_ratio=3.0)
    assert weighted.bound == pytest.approx(9 * plain.bound)
    assert "times (w_max/w_min)² = 9 for the weights" in str(weighted)


def test_without_the_factor_for_the_weights_the_bound_would_be_false():
    """x₁ = (1, 0) of weight 10, then x₂ = (0.6, −0.8) with the other label and weight 0.1, again and again.

    y v·x₂ = −6 + 0.1k ≤ 0 for the first 61 times, up to rounding at 0. The bisector of x₁ and −x₂ is (1, 2)/√5, γ is
    1/√5, and R/γ² = 5; with the factor (10/0.1)² it is 50 000.
    """
    X, y, w = np.array([[1.0, 0.0], [0.6, -0.8]]), np.array([1, -1]), np.array([10.0, 0.1])
    model = SlowClassifier(max_iter=100).fit(X, y, w)
    assert model.n_mistakes_ in (61, 62)
    run = {
        "mistakes": np.array([model.n_mistakes_]),
        "norms": np.sqrt([5.0]),
        "radius_sq": 1.0,
        "epochs": model.n_iter_,
    }
    margins = (y * (X @ [1.0, 2.0]))[:, None]
    false = bounds.certify(margins=margins, comparator="the bisector", **run)
    assert (false.form, false.holds) == ("separable", False)
    assert false.bound == pytest.approx(5.0)
    true = bounds.certify(margins=margins, comparator="the bisector", weight_ratio=100.0, **run)
    assert (true.form, true.holds) == ("rounds", None)  # 50 000 is more than the 200 rounds
    seen = bounds.certificate(model, X, y)
    assert seen.weight_ratio == pytest.approx(100.0)
    assert seen.holds is not False


# ---------------------------------------------------------------- comparators


def test_the_averaged_guess_is_that_of_the_notes():
    """Σ m_k v_k, m_k the examples that v_k was used on, the one it failed on included."""
    X, y = noisy_line(7)
    model = SlowClassifier(max_iter=2).fit(X, y)
    by_round = {entry["round"]: entry for entry in model.mistakes_}
    v, total = np.zeros(3), np.zeros(3)
    for t in range(1, model.n_rounds_ + 1):
        total += v  # v meets example t, and changes after it
        if t in by_round:
            v = v + by_round[t]["step"] * X[by_round[t]["row"]]
    seen = bounds.certificate(model, X, y, comparator="averaged")
    assert seen.margin == pytest.approx((y * (X @ total)).min() / np.linalg.norm(total))
    assert seen.comparator == "the averaged guess"


def test_best_is_the_smaller_bound_of_the_two_machine_by_machine():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 2))
    y = np.digitize(X[:, 0] + 0.2 * rng.normal(size=60), [-0.5, 0.5])
    model = SlowClassifier(fit_intercept=True, max_iter=4).fit(X, y)
    last, averaged, best = (bounds.certificate(model, X, y, comparator=c) for c in ("last", "averaged", "best"))
    expected = [min(a.bound, b.bound) for a, b in zip(last.parts, averaged.parts, strict=True)]
    assert [part.bound for part in best.parts] == pytest.approx(expected)
    assert best.bound == pytest.approx(sum(expected))
    assert best.bound < min(last.bound, averaged.bound)  # here each is the better one for some class
    assert set(best.comparator.split(" or ")) == {"the final guess", "the averaged guess"}


# ---------------------------------------------------------------- the lemmas


@pytest.mark.parametrize("kernel", [Linear(), RBF(gamma=0.5), Polynomial(degree=2)])
@pytest.mark.parametrize("intercept", [False, True])
def test_the_trace_is_what_every_prefix_gives_anew(kernel, intercept):
    X, y = noisy_line(1)
    w = np.random.default_rng(2).uniform(0.5, 2.0, size=len(y))
    model = SlowClassifier(kernel, fit_intercept=intercept, max_iter=3).fit(X, y, w)
    K = kernel(X) + intercept
    u = np.random.default_rng(4).normal(size=len(y))
    trace = bounds.trace(model, X, y, u)
    length = math.sqrt(u @ K @ u)
    margin = min(y * (K @ u)) / length
    assert trace.margin == pytest.approx(margin)
    assert trace.radius_sq == pytest.approx(K.diagonal().max())
    for k in range(1, model.n_mistakes_ + 1):
        v = np.zeros(len(y))
        for entry in model.mistakes_[:k]:
            v[entry["row"]] += entry["step"]
        steps = np.abs(model.mistakes_["step"][:k])
        assert trace.progress[k - 1] == pytest.approx(v @ K @ u / length, abs=1e-9)
        assert trace.norm_sq[k - 1] == pytest.approx(v @ K @ v)
        assert trace.progress_floor[k - 1] == pytest.approx(margin * steps.sum())
        assert trace.norm_sq_ceiling[k - 1] == pytest.approx(K.diagonal().max() * (steps**2).sum())
    final = bounds.trace(model, X, y)
    assert final.progress[-1] == pytest.approx(math.sqrt(trace.norm_sq[-1]))  # v_K·u for u = v_K/‖v_K‖


def test_a_trace_computes_one_gram_block_of_the_support_and_one_product():
    calls = []

    class Counting(Linear):
        def _gram(self, x, z, out):
            calls.append(("gram", len(x) * len(z)))
            super()._gram(x, z, out)

        def _add_scores(self, x, s, A, out):
            calls.append(("scores", len(x) * len(s)))
            super()._add_scores(x, s, A, out)

    X, y = noisy_line(1, n=50, flipped=10)
    model = SlowClassifier(max_iter=5).fit(X, y)
    model.kernel_ = Counting()
    support = len(np.unique(model.mistakes_["row"]))
    assert model.n_mistakes_ > support
    bounds.trace(model, X, y)
    assert calls == [("scores", len(np.flatnonzero(final_guess(model, len(y)))) * 50), ("gram", support**2)]


def final_guess(model, n):
    return np.bincount(model.mistakes_["row"], weights=model.mistakes_["step"], minlength=n)


# ---------------------------------------------------------------- online to batch


def test_the_figures_of_the_notes_for_four_mistakes_in_ten_rounds():
    """Sec. 2: mistakes at rounds 1, 4, 8 and 10 of ten; Σ (1/m_k)(m_k/m) = k/m = 4/10."""
    m_k = [1, 3, 4, 2]
    assert sum(1 / used * used / 10 for used in m_k) == pytest.approx(0.4)
    picked = bounds.generalization(4, 10, delta=0.5)
    assert picked.expected == pytest.approx(0.4)
    assert picked.at_most == pytest.approx(0.4 + math.sqrt(math.log(2) / 20))
    voted = bounds.generalization(4, 10, hypothesis="voted")
    assert voted.expected == pytest.approx(0.8)
    assert voted.at_most == 1.0  # twice 0.4 + √(ln 20 / 20) is more than always


def test_the_deviation_is_hoeffdings():
    """k/m + √(ln(1/δ)/(2m)): for m = 1000, δ = 1/e² it is √(2/2000) = √0.001."""
    assert bounds.generalization(0, 1000, delta=math.exp(-2)).at_most == pytest.approx(math.sqrt(0.001))
    assert bounds.generalization(0, 1000, delta=math.exp(-2), hypothesis="voted").at_most == pytest.approx(
        2 * math.sqrt(0.001)
    )
