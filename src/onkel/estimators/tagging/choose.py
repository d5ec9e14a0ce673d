"""Which form sentences have: the parameters of a tagger and its first sentences say it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any, Protocol

from onkel.errors import InputError, KindError
from onkel.estimators.tagging.form import LinearForm, SentenceForm
from onkel.estimators.tagging.input import are_matrices, is_matrix
from onkel.estimators.tagging.kernel_form import KernelForm, MarkovForm
from onkel.kernels import Kernel
from onkel.text.string_features import StringFeatures, VectorFeatures, checked_sequences, refuse_corpus
from onkel.text.template_features import TemplateFeatures
from onkel.text.templates import Templates
from onkel.text.token_features import FeatureIndex

__all__ = ["form_of", "templates_of"]


class Parameters(Protocol):
    """The parameters of a tagger on which the form of its sentences depends."""

    templates: Any
    features: Any
    kernel: Kernel | None
    order: Any
    margin: float
    n_bits: int | None
    hypothesis: Any


def form_of(params: Parameters, X: Any, who: str) -> SentenceForm:
    """The form of the first sentences of a tagger with these parameters; `who` is its name, for messages."""
    given = [name for name in ("templates", "features", "kernel") if getattr(params, name) is not None]
    if len(given) > 1:
        raise InputError(f"{who}: give one of templates, features and kernel; got {' and '.join(given)}.")
    order, margin = int(params.order), float(params.margin)
    log = params.hypothesis == "voted"
    if params.kernel is not None or params.features is not None:
        if params.n_bits is not None:
            raise InputError(f"{who}: {given[0]} needs n_bits=None.")
        if params.kernel is not None:
            return KernelForm(params.kernel, order=order, margin=margin, log=log)
        return MarkovForm(params.features, order=order, margin=margin, log=log)
    if params.templates is not None:
        templates = templates_of(params.templates, who)
        index: FeatureIndex = TemplateFeatures(templates, params.n_bits)
        exact = True
    elif is_matrix(X) or are_matrices(X):
        first = X if is_matrix(X) else X[0]
        if params.n_bits is not None:
            raise InputError(f"{who}: n_bits is for features that have names, not for matrices.")
        index, exact = VectorFeatures(int(first.shape[1])), False
    else:
        index, exact = StringFeatures(params.n_bits), not _has_dicts(X)
    return LinearForm(index, order=order, margin=margin, exact=exact and margin.is_integer(), log=log)


def templates_of(given: Any, who: str) -> Templates:
    """Templates, from a ready set's name or a text."""
    if isinstance(given, Templates):
        return given
    if not isinstance(given, str):
        raise KindError(f"{who}: templates must be a name such as 'chunking', a text, or Templates; got {given!r}.")
    return Templates.parse(given) if "%" in given or "\n" in given else Templates.ready(given)


def _has_dicts(X: Any) -> bool:
    refuse_corpus(X)
    kinds = set(map(type, itertools.chain.from_iterable(checked_sequences(X))))
    return any(issubclass(kind, Mapping) for kind in kinds)
