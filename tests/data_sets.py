"""Public data sets in the folder that the environment variable ONKEL_DATA names; without it, tests on them skip."""

from __future__ import annotations

import bz2
import functools
import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file


def require(name: str) -> dict[str, Any]:
    """The arrays of a set: X_train, y_train, X_test and y_test, or those of its file; skips where it is missing."""
    return _load(folder(name))


def folder(name: str) -> Path:
    """The folder of a set; skips where it is missing."""
    root = os.environ.get("ONKEL_DATA")
    if not root:
        pytest.skip(f"needs the data set {name}: ONKEL_DATA, which names the folder of data sets, is not set")
    found = Path(root) / name
    if not found.is_dir():
        pytest.skip(f"needs the data set {name}: the folder that ONKEL_DATA names, {root}, does not have it")
    return found


def require_queries(name: str) -> dict[str, Any]:
    """A ranking set in the form of LightGBM: X_train, y_train and qid_train, and those of the test part."""
    root = os.environ.get("ONKEL_DATA")
    if not root or not (Path(root) / name).is_dir():
        pytest.skip(f"needs the data set {name} in the folder that ONKEL_DATA names")
    found: dict[str, Any] = {}
    for part in ("train", "test"):
        file = Path(root) / name / f"rank.{part}.svm.bz2"
        X, y = load_svmlight_file(io.BytesIO(bz2.decompress(file.read_bytes())), zero_based=True, n_features=301)
        sizes = np.loadtxt(file.with_name(f"rank.{part}.query"), dtype=int)
        found |= {f"X_{part}": X, f"y_{part}": y, f"qid_{part}": np.repeat(np.arange(len(sizes)), sizes)}
    return found


@functools.cache
def _load(folder: Path) -> dict[str, Any]:
    if (folder / "data.npz").exists():
        with np.load(folder / "data.npz") as file:
            return dict(file)
    train = _svmlight(folder / f"{folder.name}.svm.bz2")
    if not (folder / f"{folder.name}.t.svm.bz2").exists():
        return {"X_train": train[0], "y_train": train[1]}
    test = _svmlight(folder / f"{folder.name}.t.svm.bz2")
    d = max(train[0].shape[1], test[0].shape[1])  # the last columns of a file may be empty
    for X, _ in (train, test):
        X.resize(X.shape[0], d)
    return {"X_train": train[0], "y_train": train[1], "X_test": test[0], "y_test": test[1]}


def _svmlight(file: Path) -> tuple[sp.csr_array, np.ndarray]:
    X, y = load_svmlight_file(io.BytesIO(bz2.decompress(file.read_bytes())))
    return sp.csr_array(X), y
