"""Input validation of certificates: what is refused, with which message; and how certificates read in print."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
from reference.oracles import SlowClassifier
from reference.test_bounds import noisy_line
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

from onkel import bounds
from onkel.errors import KindError, ParameterError, ShapeError, ValuesError
from onkel.kernels import RBF, Precomputed

X, Y = noisy_line(0)
MODEL = SlowClassifier(max_iter=2).fit(X, Y)
both = pytest.mark.parametrize("function", [bounds.certificate, bounds.trace])


# ---------------------------------------------------------------- what is refused


@both
def test_an_estimator_without_a_ledger_is_refused(function):
    with pytest.raises(KindError, match="must keep a ledger of its mistakes, mistakes_; LogisticRegression has no mis"):
        function(LogisticRegression().fit(X, Y), X, Y)
    with pytest.raises(NotFittedError, match="SlowClassifier instance is not fitted yet"):
        function(SlowClassifier(), X, Y)
    for thing in (None, "perceptron", SlowClassifier):
        with pytest.raises(KindError, match=f"bounds.{function.__name__}: estimator must be a fitted KernelPerceptron"):
            function(thing, X, Y)


@both
def test_rows_and_labels_must_be_those_of_fit(function):
    who = f"bounds.{function.__name__}"
    with pytest.raises(
        ShapeError, match=rf"{who}: y must have shape \(30,\), a label for each row of X; got shape \(29,\)"
    ):
        function(MODEL, X, Y[:-1])
    with pytest.raises(ShapeError, match=r"got shape \(30, 1\)"):
        function(MODEL, X, Y[:, None])
    last = MODEL.mistakes_["row"].max()
    with pytest.raises(
        ShapeError, match=rf"X has {last} rows, and the ledger names row {last}. Give the rows and labels"
    ):
        function(MODEL, X[:last], Y[:last])
    with pytest.raises(ValuesError, match=r"y must hold labels of fit, \[-1, 1\]; got 7. Give the rows"):
        function(MODEL, X, np.where(np.arange(30) == 5, 7, Y))
    with pytest.raises(ValuesError, match=r"got 'yes'"):
        function(MODEL, X, ["yes"] * 30)
    with pytest.raises(ValuesError, match=r"y must hold the labels of fit; row \d+ erred with another one. Give"):
        function(MODEL, X, -Y)
    with pytest.raises(ValuesError, match="a NaN at row 0, column 0"):
        function(MODEL, X * np.nan, Y)
    with pytest.raises(ShapeError, match="must have shape"):
        function(MODEL, X[0], Y)


@both
def test_the_width_of_x_is_that_of_fit(function):
    model = SlowClassifier().fit(X, Y)
    model.n_features_in_ = 3
    function(model, X, Y)
    with pytest.raises(ShapeError, match=r"X must have the 3 columns of fit; got 2. Give the rows"):
        function(model, X[:, :2], Y)


@both
def test_a_precomputed_kernel_wants_the_square_gram_matrix(function):
    K = RBF()(X)
    model = SlowClassifier(Precomputed()).fit(K, Y)
    function(model, K, Y)
    with pytest.raises(ShapeError, match=r"X must be square; got shape \(30, 20\)"):
        function(model, K[:, :20], Y)


@both
def test_frames_and_lists_are_taken(function):
    assert function(MODEL, pd.DataFrame(X), pd.Series(Y)).margin == function(MODEL, X, Y).margin
    assert function(MODEL, X.tolist(), Y.tolist()).margin == function(MODEL, X, Y).margin


def test_an_unknown_comparator_is_refused():
    listed = 'comparator must be one of "last", "averaged", "best", "max-margin"; got '
    with pytest.raises(ParameterError, match=listed + r"'lastt'\."):
        bounds.certificate(MODEL, X, Y, comparator="lastt")


def test_weights_that_cannot_be_those_of_fit_are_refused():
    row = MODEL.mistakes_["row"][0]
    faults = {
        r"sample_weight must have shape \(30,\)": (np.ones(29), ShapeError),
        r"sample_weight must hold 30 numbers >= 0; got shape \(30, 2\)": (np.ones((30, 2)), ValuesError),
        "sample_weight must hold 30 numbers >= 0; got -1": (np.linspace(-1, 1, 30), ValuesError),
        "sample_weight must be finite": (np.full(30, np.nan), ValuesError),
        "sample_weight must hold real numbers": (["much"] * 30, KindError),
        f"must be that of fit; row {row} has weight 0 and yet erred": (1.0 * (np.arange(30) != row), ValuesError),
    }
    for message, (weights, error) in faults.items():
        with pytest.raises(error, match=message):
            bounds.certificate(MODEL, X, Y, sample_weight=weights)


def test_a_trace_is_of_one_machine_and_a_comparator_with_a_length():
    three = np.arange(30) % 3
    with pytest.raises(ParameterError, match="must have one output, of two classes, that erred; got 3 outputs"):
        bounds.trace(SlowClassifier().fit(X, three), X, three)
    with pytest.raises(ShapeError, match=r"u must have shape \(30,\)"):
        bounds.trace(MODEL, X, Y, u=np.ones(3))
    with pytest.raises(
        ValuesError, match=r"u must be \(30,\) coefficients of a vector with a length; got shape \(30, 2\)"
    ):
        bounds.trace(MODEL, X, Y, u=np.ones((30, 2)))
    with pytest.raises(ValuesError, match=r"got shape \(30,\) and length 0"):
        bounds.trace(MODEL, X, Y, u=np.zeros(30))
    with pytest.raises(ValuesError, match="u must be finite"):
        bounds.trace(MODEL, X, Y, u=np.full(30, np.inf))
    twice, labels = np.ones((2, 1)), np.array([1, -1])  # v = 1 − 1
    with pytest.raises(ValuesError, match="got the final guess, which is 0"):
        bounds.trace(SlowClassifier().fit(twice, labels), twice, labels)


def test_generalization_refuses_what_has_no_meaning():
    who = "bounds.generalization: "
    with pytest.raises(ParameterError, match=who + "k must be at most the m = 10 rounds; got 11"):
        bounds.generalization(11, 10)
    with pytest.raises(ParameterError, match=who + "k must be a whole number >= 0; got -1"):
        bounds.generalization(-1, 10)
    with pytest.raises(ParameterError, match=who + "m must be a whole number >= 1; got 0"):
        bounds.generalization(0, 0)
    with pytest.raises(KindError, match=who + "k must be a whole number >= 0; got 0.5"):
        bounds.generalization(0.5, 10)
    with pytest.raises(ParameterError, match=who + "delta must be a finite number > 0; got 0"):
        bounds.generalization(1, 10, delta=0)
    with pytest.raises(ParameterError, match=who + "delta must be below 1; got 1"):
        bounds.generalization(1, 10, delta=1)
    with pytest.raises(ParameterError, match=who + 'hypothesis must be "random" or "voted"; got \'last\''):
        bounds.generalization(1, 10, hypothesis="last")
    with pytest.raises(ParameterError, match=who + r"epochs must be 1, .*; got 3. Nothing is known about more; count"):
        bounds.generalization(1, 10, epochs=3)


# ---------------------------------------------------------------- runs at the edge


def test_a_run_without_a_mistake_has_nothing_to_bound():
    model = SlowClassifier().fit(X, Y)
    model.mistakes_, model.n_mistakes_ = model.mistakes_[:0], 0
    seen = bounds.certificate(model, X, Y)
    assert (seen.mistakes, seen.bound) == (0, None)
    assert seen.reason == "no mistake was made, so there is nothing to bound"
    with pytest.raises(ParameterError, match="that erred; got no mistake"):
        bounds.trace(model, X, Y)


@pytest.mark.parametrize("rows", [np.ones((2, 1)), np.zeros((2, 1))])
def test_a_guess_of_length_zero_leaves_the_number_of_rounds(rows):
    y = np.array([1, -1])
    seen = bounds.certificate(SlowClassifier(max_iter=3).fit(rows, y), rows, y)
    assert (seen.mistakes, seen.bound, seen.form, seen.holds) == (6, 6.0, "rounds", None)
    assert seen.margin is None
    assert seen.conflict == (0, 1)


def test_a_row_that_erred_more_often_than_there_were_epochs_counts_the_epochs_anew():
    """A warm start counts its own epochs only; with T too small a bound with slack would be false."""
    x, y = np.ones((2, 1)), np.array([1, -1])
    model = SlowClassifier(max_iter=7).fit(x, y)
    model.n_iter_ = 1
    seen = bounds.certificate(model, x, y)
    assert seen.epochs == 7
    assert (seen.bound, seen.holds) == (14.0, None)


# ---------------------------------------------------------------- how it reads


def test_a_certificate_cannot_be_changed():
    seen = bounds.certificate(MODEL, X, Y)
    with pytest.raises(dataclasses.FrozenInstanceError):
        seen.bound = 1.0
    trace = bounds.trace(MODEL, X, Y)
    with pytest.raises(dataclasses.FrozenInstanceError):
        trace.margin = 1.0
    for name in ("progress", "progress_floor", "norm_sq", "norm_sq_ceiling"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(trace, name)[0] = 0.0


def certify(**changes):
    numbers = {
        "mistakes": np.array([4]),
        "margins": np.full((9, 1), 1.0),
        "norms": np.array([2.0]),
        "radius_sq": 1.0,
        "epochs": 2,
        "comparator": "the final guess",
    }
    return bounds.certify(**{**numbers, **changes})


def test_a_certificate_reads_in_plain_words():
    assert str(certify()).splitlines() == [
        "certified: 4 mistakes in 2 epochs, at most 4 by the theorem",
        "  separable: mistakes ≤ R/γ²",
        "  R = max K(x, x) = 1, γ = 0.5, u is the final guess",
        "  u separates the rows with margin 0.5",
    ]
    assert str(certify(mistakes=np.array([5]))).splitlines()[:2] == [
        "NOT certified: 5 mistakes in 2 epochs, at most 4 by the theorem",
        "  u is no vector of this feature space, or these are not the rows of the run",
    ]
    assert str(certify(mistakes=np.array([1]), epochs=1, margins=-np.ones((9, 1)))).splitlines() == [
        "no useful bound: 1 mistake in 1 epoch, and no theorem allows fewer than the 9 rounds",
        "  rounds: mistakes ≤ rounds is always true, and this comparator gives no smaller bound",
        "  R = max K(x, x) = 1, u is the final guess",
        "  no separator found in 1 epoch",
    ]


def test_not_separable_is_said_with_a_proof_only():
    text = str(certify(margins=np.append(np.full(300, 1.0), -1.0)[:, None]))
    assert "no separator found in 2 epochs" in text
    assert "not separable" not in text
    proven = str(dataclasses.replace(certify(margins=-np.ones((9, 1))), conflict=(3, 8)))
    assert "not separable: rows 3 and 8 are equal and have different labels" in proven


def test_several_outputs_are_listed_up_to_ten():
    margins = np.full((9, 12), 1.0)
    margins[0, 1] = -1.0
    text = str(certify(mistakes=np.arange(12) % 3, margins=margins, norms=np.full(12, 2.0))).splitlines()
    assert text[0].startswith("certified: 12 mistakes in 2 epochs, at most ")
    assert text[1] == "  sum: the sum of the bounds of the outputs"
    assert text[3] == "  no separator found in 2 epochs"
    assert text[4] == "  output 0: 0 mistakes, at most 4 (separable)"
    assert text[5].startswith("  output 1: 1 mistake, at most ")
    assert text[-1] == "  and 2 more outputs"
    assert len(text) == 4 + 10 + 1


def test_where_nothing_can_be_said_the_reason_is():
    seen = bounds.uncertified(np.array([2, 1]), 1.5, 1, "the rows were not kept")
    assert (seen.mistakes, seen.radius_sq, seen.epochs, seen.bound, seen.holds) == (3, 1.5, 1, None, None)
    assert str(seen) == "no certificate: 3 mistakes in 1 epoch\n  the rows were not kept"
    for is_psd, said in ((False, "the kernel is not positive semi-definite"), (None, "is unknown; onkel.gram.check")):
        none = certify(is_psd=is_psd)
        assert said in none.reason
        assert str(none).startswith("no certificate: 4 mistakes in 2 epochs\n")
        assert none.mistakes == 4
