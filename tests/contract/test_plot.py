"""The displays keep scikit-learn's convention, and show what they claim."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import colors

from onkel import game, gram
from onkel.errors import KindError, ParameterError, ShapeError, ValuesError
from onkel.kernels import RBF, Custom, Linear, Sigmoid
from onkel.plot import GramDisplay, MistakesDisplay, SpectrumDisplay
from onkel.plot.style import NEGATIVE, POSITIVE, ZERO

mpl.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

X = np.random.default_rng(0).normal(size=(7, 2))
Y = np.array(["b", "a", "b", "c", "a", "b", "c"])
K = RBF(gamma=0.5)(X)
INDEFINITE = np.array([[1.0, 2.0], [2.0, 1.0]])
each_display = pytest.mark.parametrize("display", [GramDisplay, SpectrumDisplay])


@pytest.fixture(autouse=True)
def _close_figures():
    plt.close("all")  # those of doctests that ran before
    yield
    plt.close("all")


def labels(ticks):
    return [tick.get_text() for tick in ticks]


# ---------------------------------------------------------------- the convention


@each_display
def test_a_new_figure_is_made_and_kept(display):
    shown = display.from_gram(K)
    assert shown.figure_ is shown.ax_.figure
    assert plt.get_fignums() == [shown.figure_.number]
    shown.figure_.canvas.draw()


@each_display
def test_given_axes_are_drawn_on_and_no_figure_is_made(display):
    figure, axes = plt.subplots(1, 2)
    shown = display.from_gram(K, ax=axes[1])
    other = display.from_kernel(Linear(), X, ax=axes[0])
    assert (shown.ax_, other.ax_) == (axes[1], axes[0])
    assert shown.figure_ is figure
    assert plt.get_fignums() == [figure.number]


@each_display
def test_a_display_draws_again_on_other_axes(display):
    shown = display.from_gram(K)
    first = shown.ax_
    assert shown.plot() is shown
    assert shown.ax_ is not first


@each_display
def test_from_kernel_is_from_gram_under_the_kernels_name(display):
    shown, plain = display.from_kernel(RBF(gamma=0.5), X), display.from_gram(K)
    assert shown.ax_.get_title().startswith("RBF(gamma=0.5)")
    assert "RBF" not in plain.ax_.get_title()
    data = "gram" if display is GramDisplay else "eigenvalues"
    np.testing.assert_array_equal(getattr(shown, data), getattr(plain, data))


@each_display
def test_from_kernel_takes_objects_and_sparse_rows_as_the_kernel_does(display):
    shared = Custom(lambda a, b: len(set(a) & set(b)), pairwise=True, takes="objects")
    display.from_kernel(shared, ["abc", "bcd", "xyz"]).figure_.canvas.draw()
    sparse = pytest.importorskip("scipy.sparse").csr_array(X)
    display.from_kernel(Linear(), sparse).figure_.canvas.draw()


@each_display
def test_a_long_name_is_wrapped(display):
    title = display.from_kernel(sum((RBF(gamma=g) for g in range(2, 9)), RBF()), X).ax_.get_title()
    assert max(map(len, title.splitlines())) <= 60


@each_display
@pytest.mark.parametrize("start", ["from_gram", "plot"])
def test_a_missing_matplotlib_is_an_import_error_that_names_the_extra(display, start, monkeypatch):
    made = display(K) if display is GramDisplay else display(np.array([1.0, 2.0]))
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)  # as if it were not installed
    with pytest.raises(ImportError, match=r'matplotlib, which is missing: pip install "onkel\[plot\]"'):
        made.plot() if start == "plot" else display.from_gram(K)


def test_importing_the_module_does_not_import_matplotlib():
    code = "import sys, onkel.plot; raise SystemExit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@each_display
def test_bad_input_is_refused_before_anything_is_drawn(display):
    with pytest.raises(ShapeError, match="K must be square"):
        display.from_gram(np.ones((2, 3)))
    with pytest.raises(ValuesError, match="NaN"):
        display.from_gram([[np.nan]])
    with pytest.raises(KindError, match=r"from_kernel: kernel must be a Kernel such as RBF\(gamma=1.0\); got 'rbf'"):
        display.from_kernel("rbf", X)
    assert plt.get_fignums() == []


# ---------------------------------------------------------------- GramDisplay


def test_the_picture_is_the_matrix():
    shown = GramDisplay.from_gram(K)
    np.testing.assert_array_equal(shown.image_.get_array(), K)
    assert (shown.order, shown.classes, shown.borders_) == (None, None, [])
    assert (shown.ax_.get_xlabel(), shown.ax_.get_ylabel()) == ("column", "row")


def test_a_display_keeps_the_matrix_as_it_was():
    changed = K.copy()
    shown = GramDisplay.from_gram(changed)
    changed[:] = 0.0
    np.testing.assert_array_equal(shown.gram, K)


def test_rows_are_sorted_by_class_and_keep_their_order_within():
    shown = GramDisplay.from_gram(K, y=Y)
    assert shown.order.tolist() == [1, 4, 0, 2, 5, 3, 6]  # a a b b b c c
    np.testing.assert_array_equal(shown.image_.get_array(), K[np.ix_(shown.order, shown.order)])
    np.testing.assert_array_equal(GramDisplay.from_kernel(RBF(gamma=0.5), X, y=list(Y)).gram, shown.gram)


def test_classes_are_bordered_and_named_at_their_middles():
    shown = GramDisplay.from_gram(K, y=Y)
    across = [line.get_ydata()[0] for line in shown.borders_[0::2]]
    down = [line.get_xdata()[0] for line in shown.borders_[1::2]]
    assert across == down == [1.5, 4.5]
    assert shown.ax_.get_xticks().tolist() == shown.ax_.get_yticks().tolist() == [0.5, 3.0, 5.5]
    assert labels(shown.ax_.get_xticklabels()) == labels(shown.ax_.get_yticklabels()) == ["a", "b", "c"]


def test_long_class_names_are_turned_and_many_classes_are_thinned():
    turned = GramDisplay.from_gram(K, y=[f"a long name {c}" for c in Y])
    assert {tick.get_rotation() for tick in turned.ax_.get_xticklabels()} == {90.0}
    many = GramDisplay.from_gram(np.eye(100), y=np.arange(100))
    assert labels(many.ax_.get_yticklabels())[:3] == ["0", "4", "8"]
    assert len(many.borders_) == 2 * 99


def test_one_class_has_a_name_and_no_border():
    shown = GramDisplay.from_gram(K, y=np.ones(7, dtype=int))
    assert shown.borders_ == []
    assert labels(shown.ax_.get_yticklabels()) == ["1"]


def test_zero_has_a_colour_of_its_own():
    positive, signed = GramDisplay.from_gram(K), GramDisplay.from_gram(Linear()(X))
    assert (positive.image_.get_cmap().name, positive.image_.get_clim()) == ("magma", (0.0, 1.0))
    top = np.abs(Linear()(X)).max()
    assert (signed.image_.get_cmap().name, signed.image_.get_clim()) == ("RdBu_r", (-top, top))
    assert GramDisplay.from_gram(np.zeros((2, 2))).image_.get_clim() == (0.0, 1.0)


def test_the_look_can_be_chosen():
    shown = GramDisplay.from_gram(K, y=Y, cmap="viridis", colorbar=False, border_color="red", im_kw={"vmax": 0.5})
    assert shown.image_.get_cmap().name == "viridis"
    assert shown.image_.get_clim() == (0.0, 0.5)
    assert shown.colorbar_ is None
    assert len(shown.figure_.axes) == 1
    assert shown.borders_[0].get_color() == "red"
    assert len(GramDisplay.from_gram(K).figure_.axes) == 2
    norm = colors.LogNorm(0.1, 1.0)
    assert GramDisplay.from_gram(K, im_kw={"norm": norm}).image_.norm is norm


@pytest.mark.parametrize("y", [Y[:3], Y[:, None], "abababa"])
def test_classes_must_be_one_per_row(y):
    with pytest.raises(
        ShapeError, match=r"GramDisplay.from_gram: y must give one class per row, shape \(7,\); got shape"
    ):
        GramDisplay.from_gram(K, y=y)


def test_classes_must_be_of_one_kind():
    with pytest.raises(KindError, match="y must hold classes of one kind, all numbers or all strings"):
        GramDisplay.from_gram(np.eye(2), y=np.array(["a", 1], dtype=object))


# ---------------------------------------------------------------- SpectrumDisplay


def test_eigenvalues_are_drawn_largest_first_in_the_colour_of_their_kind():
    M = np.diag([0.0, 3.0, -2.0, 1e-5])
    shown = SpectrumDisplay.from_gram(M)
    drawn = [(p.get_color(), p.get_xdata().tolist(), p.get_ydata().tolist()) for p in shown.points_]
    assert drawn == [(POSITIVE, [1, 2], [3.0, 1e-5]), (ZERO, [3], [0.0]), (NEGATIVE, [4], [-2.0])]
    assert [text.split(" (")[0] for text in labels(shown.ax_.get_legend().get_texts())] == [
        "2 positive",
        "1 zero",
        "1 negative",
    ]


def test_the_title_tells_rank_and_smallest_eigenvalue_and_whether_it_proves_anything():
    assert SpectrumDisplay.from_gram(INDEFINITE).ax_.get_title() == "rank 2 of 2, smallest eigenvalue -1: not valid"
    assert SpectrumDisplay.from_gram(np.diag([1.0, 0.5])).ax_.get_title() == "rank 2 of 2, smallest eigenvalue 0.5"
    assert SpectrumDisplay.from_gram(np.diag([1.0, 0.0])).ax_.get_title() == "rank 1 of 2, smallest eigenvalue 0"
    named = SpectrumDisplay.from_kernel(Sigmoid(gamma=1.0, coef0=-1.0), X).ax_.get_title()
    assert named.startswith("Sigmoid(gamma=1.0, coef0=-1.0)\nrank ")
    assert named.endswith(": not valid")


@pytest.mark.parametrize(
    ("diagonal", "scale"),
    [
        ([3.0, 1.0, 0.5], "linear"),
        ([3.0, 1e-6], "log"),
        ([3.0, -2.0], "linear"),
        ([3.0, -1e-6], "symlog"),
        ([3.0, 1e-6, 0.0], "symlog"),
        ([0.0, 0.0], "linear"),
        ([-1.0, -1e-9], "symlog"),
    ],
)
def test_the_scale_fits_the_eigenvalues(diagonal, scale):
    shown = SpectrumDisplay.from_gram(np.diag(diagonal))
    assert shown.ax_.get_yscale() == scale
    shown.figure_.canvas.draw()
    bottom, top = shown.ax_.get_ylim()
    assert bottom < min(diagonal)
    assert top > max(diagonal)
    ticks = shown.ax_.get_yticks()
    if scale == "symlog":
        assert 0.0 in ticks
        assert len(ticks) <= 16
        assert np.abs(ticks[ticks != 0]).min() > shown.tol


def test_every_display_of_a_spectrum_with_tiny_eigenvalues_marks_the_tolerance():
    shown = SpectrumDisplay.from_gram(np.diag([1.0, 1e-4, 0.0]))
    (band,) = shown.ax_.patches
    assert band.get_y() == -shown.tol
    assert band.get_height() == 2 * shown.tol


def test_the_tolerance_is_that_of_check_or_the_given_one():
    assert SpectrumDisplay.from_gram(K).tol == gram.check(K).tol
    shown = SpectrumDisplay.from_gram(INDEFINITE, tol=1.5)
    assert (shown.tol, shown.rank) == (1.5, 1)
    assert SpectrumDisplay.from_kernel(Linear(), X, tol=1e9).rank == 0
    with pytest.raises(ParameterError, match="tol must be"):
        SpectrumDisplay.from_gram(K, tol=-1.0)


def test_colours_and_legend_of_a_spectrum_can_be_chosen():
    shown = SpectrumDisplay.from_gram(INDEFINITE, color="k", negative_color="m", legend=False)
    assert [p.get_color() for p in shown.points_] == ["k", "m"]
    assert shown.ax_.get_legend() is None


def test_a_spectrum_display_sorts_what_its_constructor_is_given():
    given = np.array([1.0, 3.0, -2.0])
    shown = SpectrumDisplay(given, tol=0.5)
    assert shown.eigenvalues.tolist() == [3.0, 1.0, -2.0]
    assert given.tolist() == [1.0, 3.0, -2.0]


# ---------------------------------------------------------------- MistakesDisplay


def make_trace(a=None, rounds=None):
    return game.play(a or game.Orthogonal(3), game.PerceptronPlayer(), rounds)


def staircase(shown):
    return shown.line_.get_xdata().tolist(), shown.line_.get_ydata().tolist()


def fitted(rounds, n_rounds=10, **attributes):
    ledger = np.zeros(len(rounds), dtype=[("round", np.int64), ("class", np.int64)])
    ledger["round"] = rounds
    return SimpleNamespace(mistakes_=ledger, n_rounds_=n_rounds, **attributes)


def test_mistakes_climb_a_step_in_the_round_of_each():
    shown = MistakesDisplay(np.array([1, 4, 8, 10]), 10).plot()  # the ten rounds of Cohen's notes
    assert staircase(shown) == ([0, 1, 4, 8, 10, 10], [0, 1, 2, 3, 4, 4])
    assert shown.line_.get_drawstyle() == "steps-post"
    assert (shown.bound_line_, shown.bound_text_) == (None, None)
    assert (shown.ax_.get_xlabel(), shown.ax_.get_ylabel()) == ("round", "mistakes")
    assert shown.ax_.get_title() == "4 mistakes in 10 rounds"


def test_a_mistakes_display_keeps_the_convention():
    shown = MistakesDisplay.from_trace(make_trace())
    assert shown.figure_ is shown.ax_.figure
    assert plt.get_fignums() == [shown.figure_.number]
    shown.figure_.canvas.draw()
    first = shown.ax_
    assert shown.plot() is shown
    assert shown.ax_ is not first
    figure, axes = plt.subplots(1, 2)
    drawn = make_trace().plot(axes[0], color="k")
    assert (drawn.ax_, drawn.figure_, drawn.line_.get_color()) == (axes[0], figure, "k")
    assert MistakesDisplay.from_estimator(fitted([1]), ax=axes[1]).ax_ is axes[1]
    assert len(plt.get_fignums()) == 3


def test_a_game_is_drawn_with_its_bound_under_the_players_names():
    shown = MistakesDisplay.from_trace(make_trace())
    assert staircase(shown) == ([0, 1, 2, 3, 3], [0, 1, 2, 3, 3])
    assert shown.bound_line_.get_ydata() == pytest.approx([3.0, 3.0])
    assert shown.bound_text_.get_text() == "the theorem allows 3"
    assert shown.ax_.get_title() == ("Orthogonal(3, radius_sq=1.0) against PerceptronPlayer()\n3 mistakes in 3 rounds")
    assert MistakesDisplay.from_trace(make_trace(), name="a game").ax_.get_title().startswith("a game\n")
    longer = make_trace(game.RandomWithin(3), rounds=50)
    mistakes = [r.number for r in longer.rounds if r.mistake]
    assert 1 < len(mistakes) < 20
    assert staircase(longer.plot()) == ([0, *mistakes, 50], [*range(len(mistakes) + 1), len(mistakes)])


def test_a_bound_a_rounding_below_a_whole_number_allows_that_number():
    assert MistakesDisplay(np.arange(1, 9), 8, bound=7.999999999999999).plot().bound_text_.get_text().endswith(" 8")
    assert MistakesDisplay(np.arange(1, 9), 8, bound=7.99).plot().bound_text_.get_text().endswith(" 7")


def test_the_mistakes_of_several_outputs_are_summed():
    shown = MistakesDisplay.from_estimator(fitted([1, 5, 9, 1, 5], certificate_=SimpleNamespace(bound=6.25)))
    assert staircase(shown) == ([0, 1, 1, 5, 5, 9, 10], [0, 1, 2, 3, 4, 5, 5])
    assert shown.bound_line_.get_ydata()[0] == 6.25
    assert shown.bound_text_.get_text() == "the theorem allows 6"
    assert shown.ax_.get_title() == "SimpleNamespace\n5 mistakes in 10 rounds"


@pytest.mark.parametrize("attributes", [{}, {"certificate_": None}, {"certificate_": SimpleNamespace(bound=None)}])
def test_an_estimator_without_a_certificate_has_no_bound(attributes):
    shown = MistakesDisplay.from_estimator(fitted([1, 2], **attributes))
    assert (shown.bound, shown.bound_line_) == (None, None)
    assert "theorem" not in shown.ax_.get_title()


@pytest.mark.parametrize(("bound", "drawn"), [(5.0, True), (20.0, True), (20.5, False), (1e9, False)])
def test_a_bound_that_would_squash_the_curve_is_told_instead(bound, drawn):
    shown = MistakesDisplay(np.arange(1, 6), 50, bound=bound).plot()
    assert (shown.bound_line_ is not None) == (shown.bound_text_ is not None) == drawn
    top = bound if drawn else 5
    assert shown.ax_.get_ylim() == (0.0, pytest.approx(1.12 * top))
    told = {20.5: "; the theorem allows 20", 1e9: "; the theorem allows 1e+09"}.get(bound, "")
    assert shown.ax_.get_title() == "5 mistakes in 50 rounds" + told


def test_no_mistake_and_one_mistake_are_drawn_too():
    none = MistakesDisplay(np.array([], dtype=int), 1, bound=3.0).plot()
    assert staircase(none) == ([0, 1], [0, 0])
    assert none.bound_line_ is not None
    assert none.ax_.get_title() == "0 mistakes in 1 round"
    assert MistakesDisplay(np.array([2]), 2000).plot().ax_.get_title() == "1 mistake in 2,000 rounds"


def test_several_curves_fit_on_the_same_axes():
    long = MistakesDisplay(np.arange(1, 31), 100, name="long")
    short = MistakesDisplay(np.arange(1, 4), 20, name="short")
    for first, second in ((long, short), (short, long)):
        ax = second.plot(first.plot().ax_).ax_
        assert (ax.get_xlim(), ax.get_ylim()) == ((0.0, pytest.approx(102.0)), (0.0, pytest.approx(1.12 * 30)))
        assert ax.get_legend_handles_labels()[1] == [first.name, second.name]
    assert MistakesDisplay(np.arange(1, 31), 100, bound=90.0).plot(ax).ax_.get_ylim()[1] == pytest.approx(1.12 * 90)


def test_the_look_of_mistakes_can_be_chosen():
    shown = make_trace().plot(color="k", bound_color="m", line_kw={"linewidth": 3.0})
    assert (shown.line_.get_color(), shown.line_.get_linewidth(), shown.bound_line_.get_color()) == ("k", 3.0, "m")
    assert shown.bound_text_.get_color() == "m"
    plain = make_trace().plot()
    assert (plain.line_.get_color(), plain.bound_line_.get_color()) == (POSITIVE, NEGATIVE)


def test_what_made_no_mistakes_yet_is_refused_before_anything_is_drawn():
    with pytest.raises(
        KindError, match=r"from_estimator: estimator must be a fitted online estimator, .* got namespace"
    ):
        MistakesDisplay.from_estimator(SimpleNamespace(n_rounds_=3))
    with pytest.raises(KindError, match=r"from_trace: trace must be what onkel\.game\.play gives; got 3"):
        MistakesDisplay.from_trace(3)
    assert plt.get_fignums() == []
