"""Online estimators: `fit` for a data set, `partial_fit` for a chunk, `learn_one` for an example; and predicting.

All three feed one running learner (`onkel.estimators.online.running`), which learns part by part, each part wholly or
not at all. So the estimator is at every moment what it is after `n_rounds_` examples, and a Ctrl-C needs no cleaning
up: it is raised, and what has been learned stays. A call that is refused with an error is undone as a whole.

Other threads may read while one learns: each takes the lock of the estimator, learning for one part at a time.

A subclass makes the learner and says what y means (`TARGETS`); everything else is here.
"""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets

from onkel._core import Lock
from onkel._core.transaction import assign, restore
from onkel.bounds.theorems import Certificate, Theorem
from onkel.checks import check_integer
from onkel.errors import InputError, KindError
from onkel.estimators.base.class_weight import class_weights
from onkel.estimators.base.estimator import Estimator, warn_of_conflicts
from onkel.estimators.base.input import Checked, are_labels, first_data, more_data, rows_to_predict
from onkel.estimators.base.labels import Labels, check_labels, refuse_one_class, refuse_other_classes
from onkel.estimators.base.one_example import brings_features
from onkel.estimators.base.parameters import BuiltWith
from onkel.estimators.base.shared_docs import shared_docs
from onkel.estimators.base.targets import Targets
from onkel.estimators.online import fitted
from onkel.estimators.online import state as states
from onkel.estimators.online.certificate import Certified, certificate, certify
from onkel.estimators.online.fitted import reading
from onkel.estimators.online.fitting import (
    Epochs,
    Outcome,
    StreamedEpochs,
    Work,
    fit_in_epochs,
    learn_chunk,
    undo_if_refused,
)
from onkel.estimators.online.running import (
    LINEAR,
    Batch,
    FeatureAttribute,
    Given,
    Running,
    Weighed,
    queries_of,
    weighed,
)
from onkel.estimators.state.estimator import read_estimator, state_of
from onkel.gram import check_gram
from onkel.kernels import Kernel, Precomputed
from onkel.kernels.rows import GramRows, ObjectRows, Rows
from onkel.kernels.vectors import VectorRows
from onkel.learners.learner import Learner
from onkel.models.columns import Columns, dict_of
from onkel.models.input import as_batch, by_name, row_of, takes_rows
from onkel.models.model import ScoreModel
from onkel.models.vocabulary import Vocabulary
from onkel.states.state import State

__all__ = ["OnlineEstimator"]


class OnlineEstimator(Estimator):
    """The base of the online estimators; not for use by itself."""

    max_iter: int
    shuffle: bool
    random_state: Any
    warm_start: bool
    verbose: int

    TARGETS: ClassVar[type[Targets]] = Labels
    FREE_PARAMS: ClassVar[frozenset[str]] = frozenset()  # besides those of every estimator (parameters.FREE)

    _running: Running
    _lock: Lock  # of the running learner, and of those after it
    _built_with: BuiltWith
    _certified: Certified | None
    _is_psd: bool | None
    _draw: float
    n_iter_: int
    converged_: bool

    # ---------------------------------------------------------------- for subclasses to define

    @abstractmethod
    def _new_learner(self, kernel: Kernel, n_features: int | None, n_outputs: int) -> Learner:
        """A new learner."""

    def _new_epochs(self, running: Running, batch: Batch) -> Epochs | None:
        """The epochs of a new fit, if they are run by something faster than giving the rows to the learner."""
        return None

    def _after_fit(self, work: Work, outcome: Outcome) -> None:
        """Called at the end of every fit: warns of rows that cannot be separated, and certifies a new fit."""
        if work.new is None or outcome.interrupted is not None:
            return
        stops = self.TARGETS.kind == "labels" and self._running.learner.stops_when_separated
        if stops and self.max_iter > 1 and not outcome.converged:
            warn_of_conflicts(work.batch.rows, work.batch.targets.y, self._name)
        is_psd = getattr(self, "_is_psd", True)  # without a kernel it is the linear one
        found = certify(self._running, work.batch, self._theorem, epochs=self.n_iter_, is_psd=is_psd)
        self._certified = found

    def _theorem(self, radius_sq: float) -> Theorem | str | None:
        """The theorem on the mistakes if k(x, x) ≤ radius_sq and all weights are 1; or, in words, why there is none.

        None if the estimator has no `certificate_` at all.
        """
        return None

    def _check_params(self) -> None:
        super()._check_params()
        check_integer(self.max_iter, "max_iter", self._name, at_least=1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.TARGETS.kind != "none"
        return tags

    # ---------------------------------------------------------------- learning from a data set

    @shared_docs
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learns from a data set in up to `max_iter` epochs; stops after an epoch without an update.

        <X, y (labels), sample_weight, new fit, returns, stopped>
        """
        fit_in_epochs(self, Given(X, y, sample_weight))
        return self

    def _begin_fit(self, given: Given) -> Work:
        """Reads a data set, and makes a learner, or goes on with the one that there is."""
        if self.warm_start and "_running" in self.__dict__:
            running, before = self._running, self._running.columns
            batch = running.with_rows(self._more(given, balanced=True))
            return Work(running, batch, StreamedEpochs(running, batch), before, None)
        checked = first_data(self, self._named_kernel(), given.X, given.y, self.TARGETS.kind)
        if issubclass(self.TARGETS, Labels):
            check_labels(checked.y, self._name)
        found = self._weighed(checked, given, 0, None, balanced=True)
        targets = self._all_classes(found.y) if issubclass(self.TARGETS, Labels) else self.TARGETS()
        new, running = self._first(checked, found, targets)
        batch = found.decoded(targets, self._name)
        run = self._new_epochs(running, batch)
        if run is None:  # from now on it is what it has learned by then
            run = StreamedEpochs(running, batch)
            with self._lock:
                restore(self, self._unfitted() | new | {"n_iter_": 0, "converged_": False, "_draw": 0.0})
        return Work(running, batch, run, running.columns, new)

    def _all_classes(self, y: NDArray) -> Labels:
        """The classes of a new fit, which knows all of them from the start."""
        assert issubclass(self.TARGETS, Labels)
        classes = np.unique(y)
        refuse_one_class(classes, self._name)
        return self.TARGETS.known(classes, all_seen=True)

    def _end_fit(self, work: Work, outcome: Outcome, random: np.random.RandomState) -> None:
        """Puts in place what a fit has learned."""
        running, new = work.running, {"n_iter_": outcome.epochs, "converged_": outcome.converged}
        with self._lock:
            assign(running, learner=work.run.learner())
            running.learner.skip_to(work.batch.next_row_id)
            if work.new is None:
                assign(self, **new)
            else:
                restore(self, self._unfitted() | work.new | new | {"_draw": random.uniform()})
            running.forget(work.columns)
        self._after_fit(work, outcome)

    # ---------------------------------------------------------------- reading what was given

    def _first(self, checked: Checked, found: Weighed, targets: Targets) -> tuple[dict[str, Any], Running]:
        """The attributes that the first data of a fit or a stream decide, and a running learner for them."""
        rows, columns = checked.rows if self.TARGETS.GROUPED else found.rows, checked.columns
        if isinstance(columns, Vocabulary) and isinstance(rows, VectorRows):
            rows = rows.with_columns(columns.columns()[1])  # gamma depends on the number of features
        new: dict[str, Any] = {"_certified": None, "_built_with": BuiltWith.of(self)}
        if hasattr(self, "kernel"):
            new |= self._resolved_kernel(rows)
            new["_is_psd"] = new["kernel_"].is_psd
            if isinstance(rows, GramRows):
                examined = check_gram(rows, self._name)
                if isinstance(new["kernel_"], Precomputed):  # K says nothing about a kernel derived from it, as −K
                    new["_is_psd"] = examined
        learner = self._new_learner(new.get("kernel_", LINEAR), columns.n_features, targets.n_outputs)
        learner.check_rows(rows, self._name)
        new["_lock"] = self.__dict__.setdefault("_lock", Lock())
        new["_running"] = Running(learner, targets, columns, new["_lock"], self._name)
        return new, new["_running"]

    def _more(self, given: Given, *, balanced: bool) -> Batch:
        """The batch of an estimator that has learned before; its rows may be dicts."""
        if given.classes is not None:
            refuse_other_classes(given.classes, self.classes_, self._name)
        self._built_with.refuse_changed(self)
        running, learner = self._running, self._running.learner
        checked = more_data(self, running.kernel, running.columns, given.X, given.y, self.TARGETS.kind)
        if issubclass(self.TARGETS, Labels) and not are_labels(checked.y):
            check_labels(checked.y, self._name)
        if not (isinstance(checked.rows, ObjectRows) and takes_rows(running.kernel)):  # dicts are checked as rows
            learner.check_rows(checked.rows, self._name)
        found = self._weighed(checked, given, learner.next_row_id, running.targets, balanced=balanced)
        return found.decoded(running.targets, self._name)

    def _weighed(
        self, checked: Checked, given: Given, first_id: int, targets: Targets | None, *, balanced: bool
    ) -> Weighed:
        """The examples, rows or queries, that have a weight; `targets` are those so far."""
        if self.TARGETS.GROUPED:
            return queries_of(checked, given.qid, first_id, self._name)
        weights = given.sample_weight, getattr(self, "class_weight", None)
        return weighed(checked, *weights, first_id, self._name, targets, balanced=balanced)

    # ---------------------------------------------------------------- learning from a stream

    @shared_docs
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learns from a chunk of further examples, each once, in their order.

        <X (chunk), y (chunk)>
        classes : all labels that will ever come; in the first call, later calls may repeat it. None (default): classes
            may turn up late, and the output of a late class starts at its first example.
        <sample_weight, returns, stopped (chunk)>
        """
        learn_chunk(self, Given(X, y, sample_weight, classes=classes))
        return self

    def _begin_stream(self, given: Given) -> Batch:
        """Makes the learner of a new stream, and returns its first examples."""
        kernel = self._named_kernel()
        if kernel.takes == "gram":
            more_data(self, kernel, Columns(None), given.X, given.y, self.TARGETS.kind)  # refuses it
        checked = first_data(self, kernel, given.X, given.y, self.TARGETS.kind)
        if issubclass(self.TARGETS, Labels):
            check_labels(checked.y, self._name)
            targets: Targets = self._known_classes(given.classes)
        else:
            targets = self.TARGETS()
        found = self._weighed(checked, given, 0, targets, balanced=False)
        new, _ = self._first(checked, found, targets)
        batch = found.decoded(targets, self._name)
        new |= {"_draw": check_random_state(self.random_state).uniform(), "n_iter_": 1, "converged_": False}
        with self._lock:
            restore(self, self._unfitted() | new)
        return batch

    def _known_classes(self, classes: Any) -> Labels:
        assert issubclass(self.TARGETS, Labels)
        if classes is None:
            return self.TARGETS()
        known = np.unique(np.asarray(classes))
        if len(known) < 2:
            raise InputError(f"{self._name}: classes must name at least two classes; got {known.tolist()}.")
        return self.TARGETS.known(known, all_seen=False)

    # ---------------------------------------------------------------- learning from one example

    @shared_docs
    def learn_one(self, x: Any, y: Any) -> Self:
        """Learns from one example.

        <x, y (one label), returns>
        """
        label = y.item() if isinstance(y, np.generic) else y
        running = self.__dict__.get("_running")
        if running is None or not running.can_grow:
            self._refuse_many(label)
            return self._learn_first(x, [y])
        if not self._built_with.checked:
            self._built_with.refuse_changed(self)
        with self._lock:
            running = self._running  # another thread may have fitted anew
            learner, columns = running.learner, running.columns
            x = by_name(x, columns)
            known = running.targets.knows(label, learner.n_seen) and getattr(self, "class_weight", None) is None
            if known and not brings_features(x, columns):
                row = row_of(x, running.kernel, columns, self._name)
                learner.check_rows(row, self._name)
                learner.learn_one(row, running.targets.target(label))
            elif known and type(x) is dict and isinstance(columns, Vocabulary):
                running.learn_one_dict(x, running.targets.target(label))
            else:
                self._refuse_many(label)
                labels = np.asarray([y])
                check_classification_targets(labels)
                self._learn_one_more(x, labels)
        return self

    def _learn_first(self, x: Any, y: Any) -> Self:
        """Learns from the first example of a stream; a dict defines the columns."""
        kernel = self._named_kernel()
        x = as_batch(dict_of(x, frames=False) if takes_rows(kernel) else x, kernel)
        learn_chunk(self, Given(x, y))
        return self

    def _learn_one_more(self, x: Any, y: NDArray) -> None:
        """Learns from an example that may bring a class or features, or has a class weight; y (1,)."""
        running, row_id, weights = self._running, self._running.learner.next_row_id, np.ones(1)
        decoded, class_weight = running.targets.decode(y, self._name), getattr(self, "class_weight", None)
        if class_weight is not None:
            weights = class_weights(class_weight, y, weights > 0, self._name, running.targets, balanced=False)
        if isinstance(x, dict) and takes_rows(running.kernel):
            row: Rows = ObjectRows(np.array([x]))
        else:
            row = row_of(x, running.kernel, running.columns, self._name)
            running.learner.check_rows(row, self._name)
        if weights[0] == 0:
            running.learner.skip_to(row_id + 1)
            return
        one = Batch(row, decoded, weights, np.array([row_id]), row_id + 1)
        with undo_if_refused(self) if isinstance(row, ObjectRows) else contextlib.nullcontext():
            running.learn_one_more(one)

    def _refuse_many(self, label: Any) -> None:
        if label is None or isinstance(label, (list, tuple, set, dict, np.ndarray, complex)):
            raise KindError(f"{self._name}: y must be one label, a whole number or a string; got {label!r}.")

    # ---------------------------------------------------------------- predicting

    def _scored(self, X: Any) -> tuple[NDArray[np.float64], ScoreModel]:
        """The scores of the rows of X, (n, outputs as users see them), and the model that gave them."""
        model: ScoreModel = self.model_
        rows = rows_to_predict(self, getattr(model.scorer, "kernel", LINEAR), model.columns, X)
        return model.scorer.scores(rows), model

    def predict(self, X: Any) -> NDArray:
        """The prediction for each row of X, shape (n,): a label, a number, or +1 (inlier) and −1 (outlier).

        The label is the class with the largest score; with two classes, classes_[1] if the score is ≥ 0. A class of
        which no example was seen is never predicted.
        """
        scores, model = self._scored(X)
        return model.decision.decide(scores)

    def predict_one(self, x: Any) -> Any:
        """The prediction for one example x, a vector, dict, CSR row or object; None before any learning."""
        if "_running" not in self.__dict__:
            return None
        with self._lock:
            running = self._running
            if self._knows_no_class():
                return None
            learner, which = running.learner, getattr(self, "hypothesis", "last")
            row = row_of(x, running.kernel, running.held_columns(), self._name)
            if which in ("last", "averaged"):  # without making a scorer first
                scores = learner.scores(row, *([learner.averaged()] if which == "averaged" else []))
                return running.targets.decide_one(scores, learner)
            scores = fitted.scorer_of(running, self._which()).scores(row)
            label = running.targets.decision(learner).decide(scores)[0]
            return label.item() if isinstance(label, np.generic) else label

    def _knows_no_class(self) -> bool:
        targets = self._running.targets
        return isinstance(targets, Labels) and not targets.found

    def _which(self) -> tuple[Any, ...]:
        """Which of the learner's hypotheses predicts: the arguments of its `scorer`."""
        return (self.hypothesis, self._draw) if "hypothesis" in self.FREE_PARAMS else ()

    # ---------------------------------------------------------------- what was learned

    classes_, model_ = fitted.attribute(fitted.classes), fitted.attribute(fitted.model)
    support_, support_vectors_ = fitted.attribute(fitted.support), fitted.attribute(fitted.support_vectors)
    dual_coef_, intercept_ = fitted.attribute(fitted.dual_coef), fitted.attribute(fitted.intercept)
    n_rounds_, n_mistakes_ = fitted.attribute(fitted.n_rounds), fitted.attribute(fitted.n_mistakes)
    n_updates_, mistakes_ = fitted.attribute(fitted.n_updates), fitted.attribute(fitted.mistakes)
    n_features_in_, feature_names_in_ = FeatureAttribute(), FeatureAttribute()

    @property
    @reading
    def certificate_(self) -> Certificate:
        """The mistakes of the last `fit` and the theorem's bound on them; or, as its `reason`, why there is none."""
        return certificate(self._running, self._certified, self._theorem(1.0), epochs=self.n_iter_)

    # ---------------------------------------------------------------- state

    snapshot, resume = states.snapshot, states.resume

    def state(self) -> State:
        """Everything the estimator is: its parameters and, if it has learned, all that it knows."""
        return state_of(
            self, states.known(self, ("n_iter_", "converged_", "gamma_", "_draw", "_is_psd"), states.learned)
        )

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The estimator of a state; it goes on exactly as the one that gave it."""
        return read_estimator(cls, state, "learner", partial(states.read_known, states.read_running))

    def __getstate__(self) -> dict[str, Any]:
        """What a pickle or a copy holds: the running learner at one moment, also if another thread is learning."""
        if "_running" not in self.__dict__:
            return dict(super().__getstate__())
        with self._lock:
            held = {"_running": self._running.copy(), "_built_with": self._built_with.copy()}
            return {**super().__getstate__(), **held}
