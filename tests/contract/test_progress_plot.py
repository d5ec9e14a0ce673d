"""ProgressDisplay keeps scikit-learn's convention, and shows what it claims."""

from __future__ import annotations

import sys

import matplotlib as mpl
import numpy as np
import pytest

from onkel.errors import InputError, KindError
from onkel.evaluate import Baselines, Progress
from onkel.plot import ProgressDisplay
from onkel.plot.style import COLORS, ZERO

mpl.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def _close_figures():
    plt.close("all")  # of the doctests
    yield
    plt.close("all")


def records(errors, lately, support=None, mistakes=0):
    """A record every 100 examples."""
    support = [None] * len(errors) if support is None else support
    rows = zip(errors, lately, support, strict=True)
    return [Progress(100 * (i + 1), mistakes, e, w, 1, s, 1000, 0.1) for i, (e, w, s) in enumerate(rows)]


LINE = records([0.5, 0.4], [0.5, 0.3])
KERNEL = records([0.3, 0.2, 0.1], [0.3, 0.1, 0.05], [10, 15, 15])


def test_lately_and_running_error_and_support_are_drawn():
    shown = ProgressDisplay.from_records({"line": LINE, "kernel": iter(KERNEL)}, name="a stream")
    assert shown.lines_["kernel"].get_xydata().tolist() == [[100, 0.3], [200, 0.1], [300, 0.05]]
    assert shown.running_lines_["kernel"].get_xydata().tolist() == [[100, 0.3], [200, 0.2], [300, 0.1]]
    assert shown.support_lines_["kernel"].get_xydata().tolist() == [[100, 10], [200, 15], [300, 15]]
    assert list(shown.lines_) == ["line", "kernel"]
    assert list(shown.support_lines_) == ["kernel"]
    for lines in (shown.lines_, shown.running_lines_):
        assert [line.get_color() for line in lines.values()] == list(COLORS[:2])
    assert shown.support_lines_["kernel"].get_color() == COLORS[1]
    assert [text.get_text() for text in shown.ax_.get_legend().get_texts()] == ["line", "kernel"]
    labels = (shown.ax_.get_ylabel(), shown.support_ax_.get_ylabel(), shown.support_ax_.get_xlabel())
    assert labels == ("mistake rate", "support", "examples")
    assert shown.ax_.get_title() == "a stream"
    assert shown.ax_.get_ylim()[0] == shown.support_ax_.get_ylim()[0] == 0 == shown.ax_.get_xlim()[0]
    assert plt.get_fignums() == [shown.figure_.number]
    assert shown.figure_.axes == [shown.ax_, shown.support_ax_]
    shown.figure_.canvas.draw()


def test_one_learner_needs_no_name_and_no_support_needs_no_panel():
    shown = ProgressDisplay.from_records(LINE)
    assert (shown.support_ax_, shown.ax_.get_legend(), shown.ax_.get_xlabel()) == (None, None, "examples")
    assert list(shown.lines_) == [""]
    assert shown.figure_.axes == [shown.ax_]


def test_drifts_and_baselines_are_lines_across():
    shown = ProgressDisplay.from_records(KERNEL, drifts=[150, 250], baselines=Baselines(majority=0.45, no_change=0.15))
    assert [line.get_xdata()[0] for line in shown.drift_lines_] == [150, 150, 250, 250]  # both panels
    assert {name: line.get_ydata()[0] for name, line in shown.baseline_lines_.items()} == {
        "majority": 0.45,
        "no_change": 0.15,
    }
    assert [text.get_text() for text in shown.ax_.texts] == ["majority 0.45", "no change 0.15"]
    assert {line.get_color() for line in [*shown.drift_lines_, *shown.baseline_lines_.values()]} == {ZERO}
    assert shown.ax_.get_ylim()[1] >= 0.45
    mine = ProgressDisplay.from_records(KERNEL, baselines={"chance": 0.5})
    assert list(mine.baseline_lines_) == ["chance"]


def test_given_axes_are_drawn_on_and_no_figure_is_made():
    figure, axes = plt.subplots(1, 2)
    shown = ProgressDisplay.from_records(KERNEL, ax=axes[0])
    assert (shown.ax_, shown.support_ax_, shown.figure_, shown.support_lines_) == (axes[0], None, figure, {})
    both = ProgressDisplay.from_records(KERNEL, ax=axes[0], support_ax=axes[1])
    assert (both.support_ax_, list(both.support_lines_)) == (axes[1], [""])
    assert plt.get_fignums() == [figure.number]


def test_a_display_draws_again_and_beside_another():
    shown = ProgressDisplay.from_records({"line": LINE})
    first = shown.ax_
    assert shown.plot() is shown
    assert shown.ax_ is not first
    other = ProgressDisplay.from_records({"high": records([0.9] * 9, [0.8] * 9)}, ax=first, colors=["k"])
    assert first.get_ylim()[1] > 0.9
    assert first.get_xlim()[1] > 900
    assert other.lines_["high"].get_color() == "k"


def test_the_look_can_be_chosen():
    shown = ProgressDisplay.from_records({"a": KERNEL}, running=False, legend=False, line_kw={"linewidth": 4.0})
    assert (shown.running_lines_, shown.ax_.get_legend(), shown.lines_["a"].get_linewidth()) == ({}, None, 4.0)
    many = ProgressDisplay.from_records({str(i): LINE for i in range(len(COLORS) + 1)})
    assert many.lines_["0"].get_color() == many.lines_[str(len(COLORS))].get_color()


def test_a_regressor_has_a_mean_absolute_error():
    shown = ProgressDisplay.from_records(records([np.nan, 2.0], [np.nan, 1.0], mistakes=None))
    assert shown.ax_.get_ylabel() == "mean absolute error"
    shown.figure_.canvas.draw()


def test_what_is_no_record_is_refused_before_anything_is_drawn():
    with pytest.raises(
        KindError, match=r"from_records: records must be what onkel\.progressive_validation yields; got 3"
    ):
        ProgressDisplay.from_records([3])
    with pytest.raises(InputError, match="each learner must have at least one record; got none"):
        ProgressDisplay.from_records({"a": []})
    with pytest.raises(InputError, match="at least one learner; got none"):
        ProgressDisplay.from_records({})
    with pytest.raises(InputError, match="all of classifiers or all of regressors; got both"):
        ProgressDisplay.from_records({"a": LINE, "b": records([1.0], [1.0], mistakes=None)})
    assert plt.get_fignums() == []


@pytest.mark.parametrize("learner", [LINE, KERNEL])
def test_a_missing_matplotlib_is_an_import_error_that_names_the_extra(learner, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r'matplotlib, which is missing: pip install "onkel\[plot\]"'):
        ProgressDisplay.from_records(learner)
