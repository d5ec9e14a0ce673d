"""The state of a tagger: its parameters, its tags, the form of its sentences, and all that its learner knows.

A state may come from a file, so that reading it checks that all that stands in it fits together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onkel._core import Lock
from onkel.estimators.state.checks import check_rows, part_of, refuse, rows_parts
from onkel.estimators.tagging.choose import templates_of
from onkel.estimators.tagging.form import LinearForm, SentenceForm
from onkel.estimators.tagging.kernel_form import KernelForm
from onkel.estimators.tagging.running import RunningTagger
from onkel.learners.tagging.kernel import KernelTagLearner
from onkel.learners.tagging.learner import TagLearner
from onkel.learners.tagging.structured import StructuredLearner
from onkel.models.columns import Columns
from onkel.models.tagging.tagger import check_labels
from onkel.states.state import Setting, State
from onkel.text.template_features import TemplateFeatures

__all__ = ["learned", "read_running"]


def learned(running: RunningTagger) -> tuple[dict[str, Setting], dict[str, State]]:
    """What a running tagger knows, as settings and parts of a state.

    Features that no update has used are left out: they change no prediction, and are numbered anew when they come.
    """
    form, learner = running.form.restricted(running.learner)
    settings: dict[str, Setting] = {"labels": list(running.labels), "fixed": running.fixed}
    return settings, {"form": form.state(), "learner": learner.state()}


def read_running(state: State, built: Any) -> dict[str, Any]:
    """The attributes of a fitted tagger; `built` has the parameters with which its learner was built."""
    form, learner = _read_form(state, built)
    labels: Any = state.settings.get("labels")
    check_labels(labels, learner.n_labels if labels else 0, state.kind)
    if not labels and learner.n_labels != 1:
        raise refuse(state, "a learner without tags must have a table for one", learner.n_labels)
    draw, fixed, lock = state.count("draw", at_most=2**31 - 1), state.setting("fixed", bool), Lock()
    return {"_draw": draw, "_lock": lock, "_running": RunningTagger(learner, labels, form, lock, fixed=fixed)}


def _read_form(state: State, built: Any) -> tuple[SentenceForm, TagLearner]:
    """Form and learner of a state, which must be those that the parameters of the first fit describe."""
    if built.features is not None:
        raise refuse(state, "a tagger with a function of features has no state", "features")
    if built.kernel is not None and built.templates is not None:
        raise refuse(state, "a tagger has a kernel or templates", "both")
    form = part_of(state, "form", ((LinearForm if built.kernel is None else KernelForm).KIND,))
    made = StructuredLearner if built.kernel is None else KernelTagLearner
    learner = part_of(state, "learner", (made.KIND,))
    own = (learner.order, learner.margin, learner.log is not None)
    wanted = (int(built.order), float(built.margin), form.log)
    if (form.order, form.margin, form.log) != wanted or own != wanted:
        raise refuse(state, f"form and learner must have order, margin and log {wanted}, as the parameters say", own)
    if isinstance(form, KernelForm):
        _check_kernel(state, form, learner, built)
    else:
        _check_features(state, form, learner, built)
    return form, learner


def _check_kernel(state: State, form: KernelForm, learner: KernelTagLearner, built: Any) -> None:
    if built.n_bits is not None or not form.kernel == learner.kernel == built.kernel:
        raise refuse(state, f"the kernel must be {built.kernel!r} everywhere", f"{form.kernel!r}, {learner.kernel!r}")
    rows = list(rows_parts(state.part("learner")))
    if rows:
        check_rows(state, form.kernel, Columns(form.n_features), rows, np.dtype(np.float64))


def _check_features(state: State, form: LinearForm, learner: StructuredLearner, built: Any) -> None:
    """Refuses an index of other features than those of the learner, or than the parameters describe."""
    index = form.index
    given = index.state().settings
    if built.templates is None:
        right = not isinstance(index, TemplateFeatures) and given.get("n_bits") == built.n_bits
    else:
        text = str(templates_of(built.templates, built._name))
        right = isinstance(index, TemplateFeatures) and (given["templates"], given["n_bits"]) == (text, built.n_bits)
    if not right:
        raise refuse(state, "the features must be those that templates and n_bits describe", dict(given))
    observed = isinstance(index, TemplateFeatures) and index.has_bigrams
    exact, is_observed = learner.dtype == np.float32, learner.tables.observed is not None
    if (exact, is_observed) != (form.exact, observed):
        raise refuse(state, "the tables of the learner must be of the kind that the form needs", (exact, is_observed))
    sizes, known = (learner.n_features, learner.n_bigrams), (index.n_features, index.n_bigrams if observed else 0)
    if sizes != known and (learner.n_seen or sizes != (0, 0) or index.has_names):
        raise refuse(state, f"the learner must have weights for {known} features", sizes)
