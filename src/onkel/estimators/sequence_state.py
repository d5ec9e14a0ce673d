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
from onkel.data.templates import Templates
from onkel.errors import KindError
from onkel.estimators.estimator_state import (
    certificate_from_settings,
    certificate_settings,
    params_from_settings,
    params_settings,
)
from onkel.estimators.fitted import Certified
from onkel.estimators.parameters import BuiltWith
from onkel.learners.markov_tagging import MarkovLearner
from onkel.models.state import Setting, State
from onkel.models.state import from_state as made_from
from onkel.models.tagger import check_labels

if TYPE_CHECKING:
    from onkel.estimators.sequence import SequencePerceptron

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
            about, found = self._certified
            settings["certificate"] = {"about": about, **certificate_settings(found)}  # type: ignore[dict-item]
        form, learner = self._form.restricted(self._learner)
        return State(kind, VERSION, settings).with_part("form", form.state()).with_part("learner", learner.state())


def from_state(cls: type[Tagging], state: State) -> Tagging:
    """The estimator of a state; it goes on exactly as the one that gave it."""
    state.expect(f"estimator/{cls.__name__}", VERSION)
    estimator = cls(**params_from_settings(state.settings["params"]))  # type: ignore[arg-type]
    if "learner" not in state.settings:
        return estimator
    form, learner, labels = made_from(state.part("form")), made_from(state.part("learner")), state.settings["labels"]
    check_labels(labels, learner.n_labels if labels else 0, state.kind)  # type: ignore[attr-defined]
    new: dict[str, Any] = {"_form": form, "_learner": learner, "_labels": labels, "_certified": None, "_cache": None}
    new |= {key: state.settings[key.strip("_")] for key in FIGURES}
    new["_built_with"] = BuiltWith(params_from_settings(state.settings["built_with"]))  # type: ignore[arg-type]
    new["_lock"] = Lock()
    given: Any = state.settings.get("certificate")
    if given is not None:
        new["_certified"] = Certified(given["about"], certificate_from_settings(given))
    assign(estimator, **new)
    return estimator


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
