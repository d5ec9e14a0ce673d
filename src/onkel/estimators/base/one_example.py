"""One example that is learned from, as a dict {feature: value}: it may bring features that have no column yet.

A new feature gets a column when the example is learned from, in which all earlier examples are 0.
"""

from __future__ import annotations

import dataclasses
from typing import Any

from onkel.models.columns import Columns
from onkel.models.input import named_columns
from onkel.models.vocabulary import Vocabulary

__all__ = ["brings_features", "with_features_of"]


def brings_features(x: Any, columns: Columns | Vocabulary) -> bool:
    """Whether x is a dict, or a Series, that may have features without a column; all columns of sparse dicts may go."""
    if isinstance(columns, Vocabulary):
        return True
    return isinstance(x, dict) and columns.names is not None and not x.keys() <= columns.places.keys()


def with_features_of(x: dict[Any, Any], columns: Columns, name: str) -> Columns:
    """The columns, extended by the features of a dict that have none yet; the same columns if it has no new ones.

    From then on data frames are read as dicts, too: those without the new features are not refused.
    """
    known = named_columns(columns, name)
    new = [feature for feature in x if feature not in known]
    if not new:
        return columns
    assert columns.names is not None
    names = (*columns.names, *new)
    return dataclasses.replace(columns, n_features=len(names), names=names, growing=True)
