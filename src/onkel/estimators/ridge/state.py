"""Kernel ridge estimators from states, which may come from files: all that stands in them must fit together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from onkel.estimators.base.input import attributes_of
from onkel.estimators.ridge.solvers import CHOSEN
from onkel.estimators.state.checks import check_rows, check_sorted_labels, part_of, refuse, rows_parts
from onkel.estimators.state.estimator import Known
from onkel.kernels import Kernel
from onkel.models.columns import Columns
from onkel.models.expansion import Expansion
from onkel.solvers.ridge.posterior import RidgePosterior
from onkel.solvers.ridge.whitened_sums import WhitenedSums
from onkel.states.state import Setting, State

__all__ = ["read_solution", "solution"]

FIGURES = ("gamma_", "solver_", "solver_reason_", "n_centers_", "jitter_", "rcond_", "residual_", "n_iter_")
# of a subclass, as far as it has them
ARRAYS = ("_solved_alpha", "classes_", "alpha_", "best_score_", "scores_", "gcv_", "loo_predictions_")


def solution(estimator: Any) -> Known:
    """What a fitted estimator knows."""
    settings: dict[str, Setting] = {"several": estimator._several}
    settings |= {name.strip("_"): getattr(estimator, name) for name in FIGURES if hasattr(estimator, name)}
    arrays = {name.strip("_"): np.array(vars(estimator)[name]) for name in ARRAYS if name in vars(estimator)}
    parts = {"scorer": estimator._scorer, "columns": estimator._columns}
    parts |= {"posterior": estimator._posterior, "sums": estimator._sums}
    return Known(settings, {name: part.state() for name, part in parts.items() if part is not None}, arrays)


def read_solution(state: State, estimator: Any) -> dict[str, Any]:
    """The attributes of a fitted estimator."""
    scorer: Expansion = part_of(state, "scorer", (Expansion.KIND,))
    columns: Columns = part_of(state, "columns", (Columns.KIND,))
    wide = scorer.support.dtype == np.float64  # as the rows of a model of float32 columns may be
    check_rows(state, scorer.kernel, columns, rows_parts(state.part("scorer")), np.dtype(np.float64) if wide else None)
    several = state.setting("several", bool)
    new: dict[str, Any] = {"_scorer": scorer, "_columns": columns, "kernel_": scorer.kernel, "_several": several}
    if estimator.TARGETS == "labels":
        new["classes_"] = check_sorted_labels(state, "classes")
        if several != (len(new["classes_"]) > 2) or scorer.n_outputs != (len(new["classes_"]) if several else 1):
            raise refuse(state, f"{len(new['classes_'])} classes must have as many outputs", scorer.n_outputs)
    elif scorer.n_outputs < 1 or (scorer.n_outputs > 1 and not several):
        raise refuse(state, "there must be one target, or several", scorer.n_outputs)
    new |= _read_figures(state, len(scorer.support), scorer.n_outputs)
    for name, kind in (("posterior", RidgePosterior), ("sums", WhitenedSums)):
        new[f"_{name}"] = part_of(state, name, (kind.KIND,)) if name in state.settings else None
    _check_parts(state, scorer, columns, new["_posterior"], new["_sums"])
    if new["_sums"] is not None and not isinstance(estimator.kernel, Kernel) and "gamma_" not in new:
        raise refuse(state, "the sums of a kernel that is given by its name need gamma", estimator.kernel)
    return new | attributes_of(columns)


def _read_figures(state: State, m: int, n_outputs: int) -> dict[str, Any]:
    """The numbers and arrays that a fit with m rows or centres sets."""
    new: dict[str, Any] = {"solver_": state.choice("solver", CHOSEN)}
    new |= {"solver_reason_": state.setting("solver_reason", str), "n_centers_": state.count("n_centers")}
    new |= {"jitter_": state.setting("jitter", float, at_least=0), "n_iter_": state.count("n_iter")}
    new |= {f"{name}_": state.setting(name, float) for name in ("rcond", "residual")}
    if "gamma" in state.settings:
        new["gamma_"] = state.setting("gamma", float, above=0)
    alpha = state.array("solved_alpha", np.float64, (n_outputs,))
    if not (alpha >= 0).all():
        raise refuse(state, "alpha must be >= 0", alpha.min())
    new["_solved_alpha"] = alpha.copy()
    for name in ("alpha_", "best_score_", "scores_", "gcv_", "loo_predictions_"):
        if name.strip("_") in state.arrays:
            found = _read_array(state, name.strip("_"), m, n_outputs)
            new[name] = found.item() if found.ndim == 0 else found.copy()
    return new


def _read_array(state: State, name: str, m: int, n_outputs: int) -> NDArray[np.float64]:
    """An array that the choice of alpha sets: for one target or all of them, or for each."""
    found = state.array(name, np.float64, finite=False)
    shapes = [(), (n_outputs,)]
    if name == "loo_predictions":
        shapes = [(m,), (m, n_outputs)]
    elif name == "scores":
        shapes = [found.shape[:1], (*found.shape[:1], n_outputs)]
    if found.shape not in shapes:
        raise refuse(state, f"{name!r} must have the shape {' or '.join(map(str, shapes))}", found.shape)
    return found


def _check_parts(
    state: State, scorer: Expansion, columns: Columns, posterior: RidgePosterior | None, sums: WhitenedSums | None
) -> None:
    """Refuses what belongs to another kernel, other columns or other targets than the solution."""
    for name, kernel in (
        ("posterior", None if posterior is None else posterior.kernel),
        ("sums", None if sums is None else sums.centers.kernel),
    ):
        if kernel is None:
            continue
        if kernel != scorer.kernel:
            raise refuse(state, f"{name!r} must have the kernel {scorer.kernel!r} of the solution", kernel)
        rows = list(rows_parts(state.part(name)))
        check_rows(state, kernel, columns, rows, rows[0].array("data").dtype if "data" in rows[0].arrays else None)
    if sums is not None and sums.n_targets != scorer.n_outputs:
        raise refuse(state, f"the sums must have {scorer.n_outputs} target(s), as the solution", sums.n_targets)
