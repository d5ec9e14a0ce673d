"""The state of a support vector machine: its parameters and the solution, as plain values and named arrays.

settings   params, and what a fit sets: fit_status_, gamma_, shape_fit_ and the like
arrays     classes_, support_, intercept_ and the like; with several classes, a number for each pair
parts      scorer, columns
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from onkel.estimators.base.input import attributes_of
from onkel.estimators.state.checks import check_rows, check_sorted_labels, part_of, refuse, rows_parts
from onkel.estimators.state.estimator import Known
from onkel.kernels import Kernel
from onkel.kernels.custom import Custom
from onkel.models.columns import Columns
from onkel.models.expansion import Expansion
from onkel.models.one_vs_one import OneVsOne
from onkel.states.state import Setting, State

__all__ = ["as_given", "read_solution", "solution"]

ARRAYS = ("classes_", "class_weight_", "_high", "support_", "n_support_", "intercept_")
FIGURES = ("n_iter_", "objective_", "dual_gap_")  # numbers, or arrays with one for each pair of classes


def solution(machine: Any) -> Known:
    """What a fitted support vector machine knows."""
    settings: dict[str, Setting] = {"shape_fit": list(machine.shape_fit_)}
    for key in ("_sparse", "_on_objects", "fit_status_", "gamma_"):
        if hasattr(machine, key):
            settings[key.strip("_")] = getattr(machine, key)
    arrays = {key.strip("_"): np.array(getattr(machine, key)) for key in ARRAYS if hasattr(machine, key)}
    arrays |= {key.strip("_"): np.array(getattr(machine, key)) for key in FIGURES}
    return Known(settings, {"scorer": machine._scorer.state(), "columns": machine._columns.state()}, arrays)


def read_solution(state: State, machine: Any) -> dict[str, Any]:
    """The attributes of a fitted support vector machine; all that stands in the state must fit together."""
    classes = check_sorted_labels(state, "classes") if hasattr(machine, "class_weight") else None
    k = 2 if classes is None else len(classes)
    scorer = part_of(state, "scorer", (Expansion.KIND if k == 2 else OneVsOne.KIND,))
    columns = part_of(state, "columns", (Columns.KIND,))
    if scorer.n_outputs != k * (k - 1) // 2:
        raise refuse(state, f"the scorer of {k} classes must have {k * (k - 1) // 2} output(s)", scorer.n_outputs)
    check_rows(state, scorer.kernel, columns, rows_parts(state.part("scorer")))
    new: dict[str, Any] = {"_scorer": scorer, "_columns": columns, "kernel_": scorer.kernel}
    new |= _read_settings(state, scorer, columns) | attributes_of(columns)
    n = new["shape_fit_"][0]
    new |= _read_arrays(state, scorer, n, 1 if classes is None else k, () if classes is None else (scorer.n_outputs,))
    if classes is not None:
        new |= {"classes_": classes, "class_weight_": _positive(state, "class_weight", (k,))}
        new["_high"] = _positive(state, "high", (n,), finite=False)
    coef = np.array(scorer.coef.T if isinstance(scorer, Expansion) else scorer.coef, order="C")
    return new | {"dual_coef_": as_given(coef, scorer.kernel, sparse=new["_sparse"])}


def as_given(coef: NDArray[np.float64], kernel: Kernel, *, sparse: bool) -> Any:
    """Dual coefficients in scikit-learn's format: CSR if the data is CSR."""
    return sp.csr_array(coef) if sparse and not isinstance(kernel, Custom) else coef


def _read_settings(state: State, scorer: Expansion | OneVsOne, columns: Columns) -> dict[str, Any]:
    """The single values that a fit sets."""
    new: dict[str, Any] = {f"_{name}": state.setting(name, bool) for name in ("sparse", "on_objects")}
    new["fit_status_"] = state.count("fit_status", at_most=1)
    if "gamma" in state.settings:
        new["gamma_"] = state.setting("gamma", float, above=0)
    shape: Any = state.settings.get("shape_fit")
    right = isinstance(shape, tuple) and 1 <= len(shape) <= 2 and all(type(n) is int and n > 0 for n in shape)
    if right and len(shape) == 2 and scorer.kernel.takes != "objects":
        right = shape[1] == columns.n_features
    if right and scorer.kernel.takes == "gram":
        right = shape[0] == columns.n_features
    if not right:
        raise refuse(state, f"shape_fit must be that of data with {columns.n_features} columns", shape)
    return new | {"shape_fit_": shape}


def _read_arrays(
    state: State, scorer: Expansion | OneVsOne, n: int, k: int, figures: tuple[int, ...]
) -> dict[str, Any]:
    """The arrays of the solution on n rows of k classes; `figures` is the shape of the figures about the solution."""
    m = len(scorer.support)
    support, n_support = state.array("support", np.int64, (m,)), state.array("n_support", (np.int32, np.int64), (k,))
    for row_ids in (support, scorer.row_ids):
        if m and not (row_ids.min() >= 0 and row_ids.max() < n):
            raise refuse(state, f"support vectors must be among the {n} rows", row_ids)
    if n_support.min() < 0 or n_support.max() > m or n_support.sum() != m:
        raise refuse(state, f"n_support must sum to the number of support vectors, {m}", n_support.tolist()[:10])
    new: dict[str, Any] = {"support_": support.copy(), "n_support_": n_support.copy()}
    new["intercept_"] = state.array("intercept", np.float64, (scorer.n_outputs,)).copy()
    for name in FIGURES:
        dtypes = (np.int32, np.int64) if name == "n_iter_" else (np.float64,)
        figure = state.array(name.strip("_"), dtypes, figures, finite=False)
        new[name] = figure.item() if figure.ndim == 0 else figure.copy()
    return new


def _positive(state: State, name: str, shape: tuple[int, ...], *, finite: bool = True) -> NDArray[np.float64]:
    """A copy of an array of numbers ≥ 0."""
    found = state.array(name, np.float64, shape, finite=finite)
    if not (found >= 0).all():
        raise refuse(state, f"{name!r} must be >= 0", found.min())
    return found.copy()
