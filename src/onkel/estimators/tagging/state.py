"""The state of a tagger: its parameters, its tags, the form of its sentences, and all that its learner knows.

Also the checkpoints that are made of states, and what a fitted tagger shows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from onkel._core import Lock
from onkel._core.transaction import assign, restore
from onkel.bounds.theorems import Certificate
from onkel.errors import KindError
from onkel.estimators.base.parameters import FREE, BuiltWith
from onkel.estimators.state.certificate import certified_settings, read_certified
from onkel.estimators.state.checks import check_rows, part_of, refuse, rows_parts
from onkel.estimators.state.parameters import check_values, params_settings, read_params
from onkel.estimators.tagging.form import Form, LinearForm, templates_of
from onkel.estimators.tagging.kernel_form import KernelForm
from onkel.learners.tagging.kernel import KernelTagLearner
from onkel.learners.tagging.learner import TagLearner
from onkel.learners.tagging.markov import MarkovLearner
from onkel.learners.tagging.structured import StructuredLearner
from onkel.models.columns import Columns
from onkel.models.tagging.tagger import check_labels
from onkel.states.state import Setting, State
from onkel.text.template_features import TemplateFeatures
from onkel.text.templates import Templates

if TYPE_CHECKING:
    from onkel.estimators.tagging.sequence_perceptron import SequencePerceptron

    Tagging = TypeVar("Tagging", bound=SequencePerceptron)

VERSION = 1
FIGURES = ("n_iter_", "converged_", "_draw", "_fixed")


def _params(params: dict[str, Any], name: str) -> dict[str, Setting]:
    """Parameters as settings; templates as their text."""
    plain = {key: str(value) if isinstance(value, Templates) else value for key, value in params.items()}
    return params_settings(plain, name)


def state(self: SequencePerceptron) -> State:
    """Everything the estimator is: its parameters and, if it has learned, all that it knows.

    Features that no update has used are left out: they change no prediction, and are numbered anew when they come.
    """
    settings: dict[str, Setting] = {"params": _params(self.get_params(deep=False), self._name)}
    kind = f"estimator/{self._name}"
    if not hasattr(self, "_learner"):
        return State(kind, VERSION, settings)
    with self._lock:
        settings |= {key.strip("_"): getattr(self, key) for key in FIGURES}
        settings |= {"labels": list(self._labels), "built_with": _params(self._built_with.params, self._name)}
        if self._certified is not None:
            settings["certificate"] = certified_settings(self._certified)
        form, learner = self._form.restricted(self._learner)
        return State(kind, VERSION, settings).with_part("form", form.state()).with_part("learner", learner.state())


def from_state(cls: type[Tagging], state: State) -> Tagging:
    """The estimator of a state; it goes on exactly as the one that gave it.

    The state may come from a file, so that all that stands in it must fit together.
    """
    state.expect(f"estimator/{cls.__name__}", VERSION)
    params = read_params(state, "params", cls)
    estimator = cls(**params)
    if "learner" not in state.settings:
        return estimator
    check_values(estimator)
    built_with = read_params(state, "built_with", cls)
    free = sorted(set(built_with) & (FREE | cls.FREE_PARAMS))
    if free:
        raise refuse(state, "parameters that may change at any time must not be in 'built_with'", ", ".join(free))
    built = cls(**(params | built_with))
    check_values(built)
    form, learner = _read_form(state, built)
    labels = state.settings.get("labels")
    check_labels(labels, learner.n_labels if labels else 0, state.kind)
    if not labels and learner.n_labels != 1:
        raise refuse(state, "a learner without tags must have a table for one", learner.n_labels)
    new: dict[str, Any] = {"_form": form, "_learner": learner, "_labels": labels, "_cache": None, "_lock": Lock()}
    new |= {"n_iter_": state.count("n_iter"), "_draw": state.count("draw", at_most=2**31 - 1)}
    new |= {"converged_": state.setting("converged", bool), "_fixed": state.setting("fixed", bool)}
    new |= {"_built_with": BuiltWith(built_with), "_certified": read_certified(state)}
    assign(estimator, **new)
    return estimator


def _read_form(state: State, built: SequencePerceptron) -> tuple[Form, TagLearner]:
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


def _check_kernel(state: State, form: KernelForm, learner: KernelTagLearner, built: SequencePerceptron) -> None:
    if built.n_bits is not None or not form.kernel == learner.kernel == built.kernel:
        raise refuse(state, f"the kernel must be {built.kernel!r} everywhere", f"{form.kernel!r}, {learner.kernel!r}")
    rows = list(rows_parts(state.part("learner")))
    if rows:
        check_rows(state, form.kernel, Columns(form.n_features), rows, np.dtype(np.float64))


def _check_features(state: State, form: LinearForm, learner: StructuredLearner, built: SequencePerceptron) -> None:
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


def snapshot(self: SequencePerceptron) -> State:
    """A frozen copy of the present state: parameters, weights, counters and tags."""
    check_is_fitted(self, "_learner")
    return self.state()


def resume(self: Tagging, state: State) -> Tagging:
    """Goes back to a snapshot; its parameters are restored, too. The same calls after it give the same model."""
    if not isinstance(state, State) or state.kind != f"estimator/{self._name}":
        got = state.kind if isinstance(state, State) else type(state).__name__
        raise KindError(f"{self._name}: resume needs what snapshot() of a {self._name} gave; got {got}.")
    new = self._unfitted() | dict(vars(type(self).from_state(state)))
    with self.__dict__.setdefault("_lock", Lock()):
        restore(self, new | {"_lock": self._lock})
    return self


# ---------------------------------------------------------------- what was learned


def classes(self: SequencePerceptron) -> NDArray:
    """The tags."""
    check_is_fitted(self, "_learner")
    return np.array(self._labels, dtype=object)


def n_rounds(self: SequencePerceptron) -> int:
    """The number of sentences presented; a sentence counts once in each epoch."""
    check_is_fitted(self, "_learner")
    return self._learner.n_seen


def n_updates(self: SequencePerceptron) -> int:
    """The number of sentences that changed v."""
    check_is_fitted(self, "_learner")
    return self._learner.n_updates


def n_mistakes(self: SequencePerceptron) -> int:
    """The number of sentences that were tagged wrongly while learning; without a margin only."""
    if self.margin:
        raise AttributeError("with a margin, sentences that were tagged rightly change v as well; see n_updates_")
    return n_updates(self)


def n_features(self: SequencePerceptron) -> int:
    """The number of features that are known."""
    check_is_fitted(self, "_learner")
    learner = self._learner
    return learner.index.n_features if isinstance(learner, MarkovLearner) else self._form.n_features


def transition_features(self: SequencePerceptron) -> dict[tuple[str | None, ...], float]:
    """What a tag adds to the score after another, {(tag before, tag): weight}; None stands before the first token."""
    return self.model_.transition_features


def certificate(self: SequencePerceptron) -> Certificate:
    """The updates of the last `fit`, and the theorem's bound on them."""
    check_is_fitted(self, "_learner")
    found = self._certified
    if found is None or found.about != self._learner.n_seen:
        raise AttributeError(
            "certificate_ is there after a fit whose last epoch made no update: only then is there a vector that "
            "separates the sentences. Try a larger max_iter."
        )
    return found.certificate
