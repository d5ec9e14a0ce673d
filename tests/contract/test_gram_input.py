"""Bad input to the Gram doctor: each error says what was expected, what came and what to do."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

from onkel import gram
from onkel.errors import GramError, InputError, KindError, ParameterError, ShapeError, ValuesError
from onkel.kernels import RBF, Chi2, Custom, Precomputed

GOOD = np.array([[2.0, 1.0], [1.0, 2.0]])
INDEFINITE = np.array([[1.0, 2.0], [2.0, 1.0]])

OF_ONE_MATRIX = {
    "check": gram.check,
    "nearest_psd": gram.nearest_psd,
    "center": gram.center,
    "normalize": gram.normalize,
    "features": gram.features,
    "alignment": lambda K: gram.alignment(K, GOOD),
}
each_function = pytest.mark.parametrize("name", OF_ONE_MATRIX)

BAD = {
    "not square": (np.ones((2, 3)), ShapeError, r"K must be square; got shape \(2, 3\)"),
    "one row": (np.ones(3), ShapeError, r"K must have shape \(rows, columns\); got shape \(3,\)"),
    "a number": (3.0, ShapeError, r"got shape \(\)"),
    "empty": (np.empty((0, 0)), ShapeError, r"at least one row; got shape \(0, 0\)"),
    "ragged": ([[1.0, 2.0], [3.0]], ShapeError, "all rows of one length"),
    "NaN": ([[1.0, np.nan], [0.0, 1.0]], ValuesError, "the first a NaN at row 0, column 1"),
    "infinity": ([[1.0, 0.0], [-np.inf, 1.0]], ValuesError, "infinity at row 1, column 0"),
    "complex": (np.eye(2) * 1j, KindError, "real numbers; got dtype complex128"),
    "strings": (np.array([["a", "b"], ["c", "d"]]), KindError, "real numbers; got dtype <U1"),
    "sparse": (sp.csr_array(np.eye(2)), KindError, r"K must be dense; got a sparse csr_array. Use K.toarray\(\)"),
}


@each_function
@pytest.mark.parametrize("fault", BAD)
def test_a_matrix_that_cannot_be_used_is_refused(name, fault):
    K, error, message = BAD[fault]
    with pytest.raises(error, match=message) as caught:
        OF_ONE_MATRIX[name](K)
    assert str(caught.value).startswith(f"gram.{name}: ")


@each_function
@pytest.mark.parametrize("kind", ["integers", "booleans", "big-endian", "Fortran", "list", "read-only", "float16"])
def test_any_array_of_real_numbers_is_taken_as_its_values(name, kind):
    K = {
        "integers": GOOD.astype(np.int16),
        "booleans": np.eye(2, dtype=bool),
        "big-endian": GOOD.astype(">f8"),
        "Fortran": np.asfortranarray(GOOD),
        "list": GOOD.tolist(),
        "read-only": np.frombuffer(GOOD.tobytes()).reshape(2, 2),
        "float16": GOOD.astype(np.float16),
    }[kind]
    result, expected = (OF_ONE_MATRIX[name](M) for M in (K, np.array(K, dtype=np.float64)))
    if name == "check":
        np.testing.assert_array_equal(result.eigenvalues, expected.eigenvalues)
    else:
        np.testing.assert_array_equal(result, expected)


def test_alignment_names_the_matrix_that_is_at_fault():
    with pytest.raises(ShapeError, match=r"gram.alignment: L must be square; got shape \(2, 3\)"):
        gram.alignment(GOOD, np.ones((2, 3)))
    with pytest.raises(ShapeError, match=r"K and L .* one shape; got \(2, 2\) and \(3, 3\). Compute both on the same"):
        gram.alignment(GOOD, np.eye(3))


def test_alignment_with_a_matrix_of_no_direction_is_refused():
    with pytest.raises(ValuesError, match=r"gram.alignment: L must have a direction; got a matrix of zeros"):
        gram.alignment(GOOD, np.zeros((2, 2)))
    additive = np.add.outer(np.arange(7) / 10, np.arange(7) / 7)  # centring leaves rounding errors only
    assert gram.center(additive).any()
    assert gram.alignment(additive, np.eye(7)) > 0
    with pytest.raises(ValuesError, match="K must have a direction; got a matrix that centring makes zero"):
        gram.alignment(additive, np.eye(7), centered=True)


@pytest.mark.parametrize("function", [gram.check, gram.features])
def test_a_tolerance_must_be_a_number_of_at_least_zero(function):
    with pytest.raises(ParameterError, match=r"tol must be a finite number >= 0; got -1e-09. Leave it out"):
        function(GOOD, tol=-1e-9)
    with pytest.raises(ParameterError, match="tol must be a finite number"):
        function(GOOD, tol=np.nan)
    with pytest.raises(KindError, match="tol must be a finite number >= 0; got 'tight'"):
        function(GOOD, tol="tight")


# ---------------------------------------------------------------- matrices that are not Gram matrices


def test_features_of_an_indefinite_matrix_is_an_error_with_the_witness():
    with pytest.raises(GramError, match=r"smallest eigenvalue -1; .* What to do: onkel.gram.nearest_psd") as caught:
        gram.features(INDEFINITE)
    b = caught.value.witness
    assert b @ INDEFINITE @ b < 0
    assert isinstance(caught.value, InputError)
    assert isinstance(caught.value, ValueError)


def test_features_of_an_asymmetric_matrix_is_an_error_without_a_witness():
    with pytest.raises(GramError, match=r"not symmetric: \|K_ij - K_ji\| is up to 0.5.* compute K as kernel") as caught:
        gram.features([[2.0, 1.0], [0.5, 2.0]])
    assert caught.value.witness is None


def test_features_passes_what_a_given_tolerance_calls_rounding():
    assert gram.features(INDEFINITE, tol=1.5).shape == (2, 1)


def test_normalizing_a_negative_diagonal_is_an_error_with_a_unit_vector():
    K = np.diag([1.0, -0.5, -2.0])
    with pytest.raises(GramError, match=r"got K\[2, 2\] = -2. Repair K first, with onkel.gram.nearest_psd") as caught:
        gram.normalize(K)
    np.testing.assert_array_equal(caught.value.witness, [0.0, 0.0, 1.0])


def test_normalizing_numbers_too_small_for_their_inverse_gives_zero_and_not_infinity():
    K = np.diag([5e-324, 1.0, 3e-308])
    np.testing.assert_array_equal(gram.normalize(K), np.diag([0.0, 1.0, 1.0]))


# ---------------------------------------------------------------- the report


def test_a_report_cannot_be_changed():
    report = gram.check(INDEFINITE)
    with pytest.raises(dataclasses.FrozenInstanceError):
        report.psd = True
    for array in (report.eigenvalues, report.witness):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0


def test_a_report_reads_in_plain_words():
    assert str(gram.check(GOOD)).splitlines() == [
        "valid Gram matrix: symmetric, positive semi-definite, 2 × 2",
        "  eigenvalues from 1 to 3, rank 2; up to 4.9e-15 counts as rounding",  # (4 · 4 + 2 · 3) · 2.2e-16
    ]
    assert str(gram.check(INDEFINITE)).splitlines() == [
        "NOT a valid Gram matrix, 2 × 2:",
        "  not positive semi-definite: smallest eigenvalue -1; the witness b gives bᵀKb = -1",
        "  eigenvalues from -1 to 3, rank 2; up to 4.9e-15 counts as rounding",
        "  what to do: onkel.gram.nearest_psd(K) gives the nearest valid matrix; or take a kernel whose is_psd is True",
    ]
    asymmetric = str(gram.check([[1.0, 0.5], [0.0, 1.0]]))
    assert "not symmetric: |K_ij - K_ji| is up to 0.5" in asymmetric
    assert "compute K as kernel(X)" in asymmetric
    assert "semi-definite" not in asymmetric


def test_the_repr_of_a_report_is_one_line_of_its_numbers():
    assert repr(gram.check(GOOD)).startswith("Report(n=2, symmetric=True, psd=True, smallest_eigenvalue=")
    assert "array" not in repr(gram.check(INDEFINITE))


# ---------------------------------------------------------------- mercer_form


def mercer(kernel=RBF(), g=np.ones_like, low=0.0, high=1.0, **options):  # noqa: B008 - a frozen value
    return gram.mercer_form(kernel, g, low, high, **options)


@pytest.mark.parametrize("kernel", ["rbf", Precomputed(), Custom(lambda X, Z: X, takes="objects")])
def test_the_form_needs_a_kernel_on_vectors(kernel):
    with pytest.raises(KindError, match=r"gram.mercer_form: kernel must be a Kernel on vectors such as RBF.*; got"):
        mercer(kernel)


def test_the_form_needs_an_interval():
    with pytest.raises(
        ParameterError, match=r"high must be a finite number > 1; got 1.0. The interval is \[low, high\]"
    ):
        mercer(low=1.0)
    with pytest.raises(ParameterError, match="low must be a finite number; got -inf"):
        mercer(low=-np.inf)
    with pytest.raises(ParameterError, match="high must be a finite number > 0; got inf"):
        mercer(high=np.inf)
    with pytest.raises(KindError, match="low must be a finite number; got '0'"):
        mercer(low="0")


@pytest.mark.parametrize(("n", "error"), [(0, ParameterError), (10.0, KindError), (True, KindError)])
def test_the_form_needs_a_whole_number_of_nodes(n, error):
    with pytest.raises(error, match="n must be a whole number >= 1; got"):
        mercer(n=n)


def test_the_form_needs_a_function_that_gives_one_finite_real_number_for_each_node():
    with pytest.raises(KindError, match=r"g must be a function of an array such as np.sin; got 1.0"):
        mercer(g=1.0)
    with pytest.raises(ShapeError, match=r"shape \(5,\); got shape \(\). Write it with NumPy .* np.full_like\(x, c\)"):
        mercer(g=lambda x: 1.0, n=5)
    with pytest.raises(ShapeError, match=r"got shape \(5, 1\)"):
        mercer(g=lambda x: x[:, None], n=5)
    with pytest.raises(ValuesError, match=r"g\(x\) must be finite; got 5 NaN or infinite value\(s\)"):
        mercer(g=lambda x: x * np.nan, n=5)
    with pytest.raises(KindError, match="g must give real numbers; got dtype complex128"):
        mercer(g=lambda x: 1j * x)


def test_the_form_hands_g_an_array_of_its_own():
    def spoil(x):
        values = np.sin(x)
        x[:] = 0.0
        return values

    assert mercer(g=spoil) == mercer(g=np.sin)


def test_the_form_keeps_to_the_domain_of_the_kernel():
    with pytest.raises(ValuesError, match="Chi2 compares histograms"):
        mercer(Chi2(), low=-1.0)
    assert mercer(Chi2(), low=0.0) > 0


def test_the_public_names_are_these():
    assert sorted(gram.__all__) == [
        "Report",
        "alignment",
        "center",
        "check",
        "features",
        "mercer_form",
        "nearest_psd",
        "normalize",
    ]
