"""Online estimators: `fit` for a data set, `partial_fit` for a chunk, `learn_one` for an example; and predicting.

All three feed one learner (`onkel.learners.learner`), which learns part by part, each part wholly or not at all. So the
estimator is at every moment what it is after `n_rounds_` examples, and a Ctrl-C needs no cleaning up: it is raised,
and what has been learned stays. A call that is refused with an error is undone as a whole.

Other threads may read while one learns: each takes the lock of the estimator, learning for one part at a time.

A subclass makes the learner and says what y means (`TARGETS`); everything else is here.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets

from onkel._core import Lock
from onkel._core.transaction import assign, restore
from onkel.bounds.theorems import Theorem
from onkel.checks import check_integer
from onkel.errors import InputError, KindError
from onkel.estimators.base.estimator import Estimator, warn_of_conflicts
from onkel.estimators.base.input import are_labels, first_data, more_data, rows_to_predict, takes_rows
from onkel.estimators.base.one_example import as_batch, brings_features, by_name, one_row
from onkel.estimators.base.parameters import BuiltWith
from onkel.estimators.base.progress import progress_bar
from onkel.estimators.base.shared_docs import shared_docs
from onkel.estimators.base.targets import Labels, Targets, check_labels, class_weights
from onkel.estimators.online import fitted
from onkel.estimators.online import state as estimator_state
from onkel.estimators.online.examples import Examples, examples_of, first_attributes
from onkel.estimators.online.learning import learn_change, learn_examples, undo_if_refused
from onkel.estimators.online.vocabulary import Vocabulary, learn_one_dict
from onkel.kernels import Kernel, Linear
from onkel.kernels.rows import ObjectRows, Rows
from onkel.learners.epochs import Epochs, StreamedEpochs, run_epochs
from onkel.learners.learner import Learner
from onkel.models.columns import Columns, dict_of
from onkel.models.decision import Decision
from onkel.models.model import ScoreModel
from onkel.models.scorer import Scorer
from onkel.states.state import State

__all__ = ["OnlineEstimator"]

LINEAR = Linear()


class OnlineEstimator(Estimator):
    """The base of the online estimators; not for use by itself."""

    max_iter: int
    shuffle: bool
    random_state: Any
    warm_start: bool
    verbose: int
    class_weight: Any  # only classifiers have it

    TARGETS: ClassVar[type[Targets]] = Labels
    FREE_PARAMS: ClassVar[frozenset[str]] = frozenset()  # besides those of every estimator (parameters.FREE)

    _learner: Learner
    _targets: Targets
    _columns: Columns | Vocabulary
    _scorer: fitted.ScorerCache
    _lock: Lock  # whoever learns or reads takes it; learning leaves it between two parts
    _built_with: BuiltWith
    _certified: fitted.Certified | None
    _is_psd: bool | None
    _draw: float
    n_iter_: int
    converged_: bool

    # ---------------------------------------------------------------- for subclasses to define

    @abstractmethod
    def _new_learner(self, kernel: Kernel, n_features: int | None, n_outputs: int) -> Learner:
        """A new learner."""

    def _new_epochs(self, learner: Learner, examples: Examples, targets: Targets) -> Epochs | None:
        """The epochs of a new fit, if they are run by something faster than giving the rows to the learner."""
        return None

    def _check_examples(self, kernel: Kernel, rows: Rows) -> None:
        """Refuses rows that this estimator cannot learn from with its kernel; by default it refuses none."""

    def _after_fit(self, run: Epochs, examples: Examples, interrupted: bool) -> None:
        """Called after the epochs of a new fit; warns of rows that cannot be separated, and certifies."""
        if self._stops_when_separated and self.max_iter > 1 and not self.converged_ and not interrupted:
            warn_of_conflicts(examples.rows, examples.y, self._name)
        if not interrupted:
            self._certified = fitted.certified(self, examples)

    _stops_when_separated: bool = True  # learns until no example is wrong: equal rows with other labels keep it going

    def _check_params(self) -> None:
        super()._check_params()
        check_integer(self.max_iter, "max_iter", self._name, at_least=1)

    # ---------------------------------------------------------------- learning from a data set

    @shared_docs
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learns from a data set in up to `max_iter` epochs; stops after an epoch without an update.

        <X, y (labels), sample_weight, new fit, returns, stopped>
        """
        return self._learn_data(X, y, sample_weight)

    def _learn_data(self, X: Any, y: Any, per_row: Any = None) -> Self:
        """Learns from a data set; `per_row` is what comes with the rows besides y: weights, or queries of a ranking."""
        with undo_if_refused(self):
            self._check_params()
            go_on = bool(self.warm_start) and hasattr(self, "_learner")
            if go_on:
                new: dict[str, Any] = {}
                examples = self._more_examples(X, y, per_row, balanced=True)
                random = check_random_state(self.random_state)
                run: Epochs = StreamedEpochs(self._learn, lambda: self._learner, *examples.learned, self._lock)
            else:
                new, examples = self._first_examples(X, y, per_row)
                random = check_random_state(self.random_state)
                run = self._begin_fit(new, examples)
            counted = "mistakes" if self.TARGETS is Labels else "updates"
            with progress_bar(self._name, self.max_iter * len(examples.rows), self.verbose) as progress:
                epochs, converged, interrupted = run_epochs(
                    run,
                    len(examples.rows),
                    random,
                    max_iter=self.max_iter,
                    shuffle=bool(self.shuffle),
                    report=lambda done: progress(done, f"{run.n_updates} {counted}"),
                )
            new |= {"_learner": run.learner(), "n_iter_": epochs, "converged_": converged}
            with self._lock:
                new["_learner"].skip_to(examples.next_row_id)
                if go_on:
                    assign(self, **new)
                else:
                    restore(self, self._unfitted() | new | {"_draw": random.uniform()})
                self._forget_features()
            if not go_on:
                self._after_fit(run, examples, interrupted is not None)
            if interrupted is None:
                self._finish_fit(examples)
        if interrupted is not None:
            raise interrupted
        return self

    def _forget_features(self) -> None:
        """Forgets the features of sparse dicts that nothing learned depends on, after the first data."""
        if isinstance(self._columns, Vocabulary):
            assign(self, _columns=self._columns.held_by(self._learner))

    def _finish_fit(self, examples: Examples) -> None:
        """Called at the end of every fit that was not interrupted."""

    def _begin_fit(self, new: dict[str, Any], examples: Examples) -> Epochs:
        """The epochs of a new fit, whose attributes are `new`."""
        targets: Targets = new["_targets"]
        learner = self._new_learner(new.get("kernel_", LINEAR), new["_columns"].n_features, targets.n_outputs)
        faster = self._new_epochs(learner, examples, targets)
        if faster is not None:
            return faster
        with self._lock:
            begun = {"_learner": learner, "n_iter_": 0, "converged_": False, "_draw": 0.0}
            restore(self, self._unfitted() | new | begun)
        return StreamedEpochs(self._learn, lambda: self._learner, *examples.learned, self._lock)

    def _first_examples(self, X: Any, y: Any, per_row: Any) -> tuple[dict[str, Any], Examples]:
        """The attributes of a new fit, all but the learner, and its examples."""
        checked = first_data(self, self._named_kernel(), X, y, self.TARGETS.kind)
        if not issubclass(self.TARGETS, Labels):
            examples = self._examples(checked, per_row, 0, None, balanced=True)
            return first_attributes(self, checked.columns, examples.rows, self.TARGETS()), examples
        check_labels(checked.y, self._name)
        examples = self._examples(checked, per_row, 0, None, balanced=True)
        classes = np.unique(examples.y)
        if len(classes) < 2:
            raise InputError(
                f"{self._name} needs at least two classes; the data has {len(classes)} class: {classes.tolist()}."
            )
        targets = self.TARGETS.known(classes, all_seen=True)
        return first_attributes(self, checked.columns, examples.rows, targets), examples

    def _more_examples(self, X: Any, y: Any, per_row: Any, *, balanced: bool) -> Examples:
        """Checked examples for an estimator that has learned before."""
        self._built_with.refuse_changed(self)
        kernel = self._learner.kernel or LINEAR
        checked = more_data(self, kernel, self._columns, X, y, self.TARGETS.kind)
        if issubclass(self.TARGETS, Labels) and not are_labels(checked.y):
            check_labels(checked.y, self._name)
        if not (isinstance(checked.rows, ObjectRows) and takes_rows(kernel)):  # dicts are checked when they are learned
            self._check_examples(kernel, checked.rows)
        next_id = self._learner.next_row_id
        return self._examples(checked, per_row, next_id, self._targets, balanced=balanced)

    # ---------------------------------------------------------------- learning from a stream

    @shared_docs
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learns from a chunk of further examples, each once, in their order.

        <X (chunk), y (chunk)>
        classes : all labels that will ever come; in the first call, later calls may repeat it. None (default): classes
            may turn up late, and the output of a late class starts at its first example.
        <sample_weight, returns, stopped (chunk)>
        """
        return self._learn_chunk(X, y, classes, sample_weight)

    def _learn_chunk(self, X: Any, y: Any, classes: Any = None, per_row: Any = None) -> Self:
        """Learns from a chunk; `per_row` as in `_learn_data`."""
        self._check_params()
        examples = None
        if hasattr(self, "_learner"):
            self._check_classes(classes)
            examples = self._more_examples(X, y, per_row, balanced=False)
        with undo_if_refused(self):
            if examples is None:
                examples = self._begin_stream(X, y, classes, per_row)
            if len(examples.rows):
                self._learn(*examples.learned)
            with self._lock:
                self._learner.skip_to(examples.next_row_id)
                self._forget_features()
        return self

    def _check_classes(self, classes: Any) -> None:
        if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), self.classes_):
            known = self.classes_.tolist()
            raise InputError(f"{self._name}: classes must be those of the first call, {known}; got {list(classes)}.")

    def _begin_stream(self, X: Any, y: Any, classes: Any, per_row: Any) -> Examples:
        """Makes the learner of a new stream, and returns its first examples."""
        kernel = self._named_kernel()
        if kernel.takes == "gram":
            more_data(self, kernel, Columns(None), X, y, self.TARGETS.kind)  # refuses it
        checked = first_data(self, kernel, X, y, self.TARGETS.kind)
        if not issubclass(self.TARGETS, Labels):
            targets: Targets = self.TARGETS()
        else:
            check_labels(checked.y, self._name)
            targets = self._known_classes(classes)
        examples = self._examples(checked, per_row, 0, targets, balanced=False)
        new = first_attributes(self, checked.columns, checked.rows, targets)
        learner = self._new_learner(new.get("kernel_", LINEAR), checked.columns.n_features, targets.n_outputs)
        draw = check_random_state(self.random_state).uniform()
        new |= {"_learner": learner, "_draw": draw, "n_iter_": 1, "converged_": False}
        with self._lock:
            restore(self, self._unfitted() | new)
        return examples

    def _known_classes(self, classes: Any) -> Labels:
        assert issubclass(self.TARGETS, Labels)
        if classes is None:
            return self.TARGETS()
        known = np.unique(np.asarray(classes))
        if len(known) < 2:
            raise InputError(f"{self._name}: classes must name at least two classes; got {known.tolist()}.")
        return self.TARGETS.known(known, all_seen=False)

    _learn = learn_examples
    _examples = examples_of

    # ---------------------------------------------------------------- learning from one example

    @shared_docs
    def learn_one(self, x: Any, y: Any) -> Self:
        """Learns from one example.

        <x, y (one label), returns>
        """
        label = y.item() if isinstance(y, np.generic) else y
        learner = self.__dict__.get("_learner")
        if learner is None or (learner.kernel is not None and learner.kernel.takes == "gram"):
            self._refuse_many(label)
            return self._learn_first(x, [y])
        if not self._built_with.checked:
            self._built_with.refuse_changed(self)
        with self._lock:
            learner, columns = self._learner, self._columns
            kernel, x = learner.kernel or LINEAR, by_name(x, columns)
            known = self._knows(label, learner)
            if self.class_weight is None and known and not brings_features(x, columns):
                row = one_row(x, kernel, columns, self._name)
                self._check_examples(kernel, row)
                target = self._targets.target(label)  # type: ignore[attr-defined]
                learner.learn_one(row, target)
            elif self.class_weight is None and known and type(x) is dict and isinstance(columns, Vocabulary):
                learn_one_dict(self, x, self._targets.target(label))  # type: ignore[attr-defined]
            else:
                self._refuse_many(label)
                labels = np.asarray([y])
                if not known:
                    check_classification_targets(labels)
                self._learn_one_more(x, labels)
        return self

    def _learn_first(self, x: Any, y: Any) -> Self:
        """Learns from the first example of a stream; a dict defines the columns."""
        kernel = self._named_kernel()
        return self._learn_chunk(as_batch(dict_of(x, frames=False) if takes_rows(kernel) else x, kernel), y)

    def _learn_one_more(self, x: Any, y: NDArray) -> None:
        """Learns from an example that may bring a class or features, or has a class weight; y (1,)."""
        kernel, columns = self._learner.kernel or LINEAR, self._columns
        targets, n_seen = self._targets, self._learner.n_seen
        brings_class = bool(targets.first_examples(y, n_seen, self._name))  # refuses a bad label
        if isinstance(targets, Labels) and targets.latest > n_seen:  # forgets first examples that never came
            self._targets = targets.with_examples(y, [], n_seen)
        weights, class_weight = np.ones(1), getattr(self, "class_weight", None)
        if class_weight is not None:
            weights = class_weights(class_weight, y, weights > 0, self._name, targets, balanced=False)
        row_id = self._learner.next_row_id
        if isinstance(x, dict) and takes_rows(kernel):
            row: Rows = ObjectRows(np.array([x]))
        else:
            row = one_row(x, kernel, columns, self._name)
            self._check_examples(kernel, row)
        if weights[0] == 0:
            self._learner.skip_to(row_id + 1)
        elif isinstance(row, ObjectRows):
            with undo_if_refused(self):
                self._learn(row, y, weights, np.array([row_id]))
        elif brings_class:
            learn_change(self, row, y, weights, np.array([row_id]), columns)
        elif weights[0] == 1:
            self._learner.learn_one(row, self._targets.encode(y))
        else:
            self._learner.learn(row, self._targets.encode(y), weights, np.array([row_id]))

    def _refuse_many(self, label: Any) -> None:
        if label is None or isinstance(label, (list, tuple, set, dict, np.ndarray, complex)):
            raise KindError(f"{self._name}: y must be one label, a whole number or a string; got {label!r}.")

    def _knows(self, label: Any, learner: Learner) -> bool:
        """Whether an example of this class has been seen, and no class is announced that has not come."""
        targets = self._targets
        assert isinstance(targets, Labels)
        if targets.latest and targets.latest > learner.n_seen:  # 0: all were known from the start; n_seen takes longer
            return False
        try:
            return label in targets.since and type(label) is not complex  # 1 + 0j equals 1
        except TypeError:  # it cannot be hashed
            return False

    # ---------------------------------------------------------------- predicting

    def _scored(self, X: Any) -> tuple[NDArray[np.float64], ScoreModel]:
        """The scores of the rows of X, (n, outputs as users see them), and the model that gave them."""
        model = fitted.model(self)
        if self._knows_no_class():  # stopped before the first example was learned
            raise NotFittedError(f"{self._name} has not learned from any example yet. Call fit or partial_fit first.")
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
        if "_learner" not in self.__dict__:
            return None
        with self._lock:
            if self._knows_no_class():
                return None
            columns = self._columns
            if isinstance(columns, Vocabulary):
                columns = columns.held_by(self._learner)
            row = one_row(x, self._learner.kernel or LINEAR, columns, self._name)
            return self._decide_one(self._scores_one(row))

    def _knows_no_class(self) -> bool:
        return isinstance(self._targets, Labels) and not self._targets.found

    def _scores_one(self, row: Rows) -> NDArray[np.float64]:
        """The scores of one row, shape (1, outputs), outputs in the learner's order, in a few microseconds."""
        return self._learner.scores(row)

    def _decide_one(self, scores: NDArray[np.float64]) -> Any:
        """What is predicted from the scores of one row, as a Python object."""
        targets = self._targets
        if isinstance(targets, Labels) and len(targets.found) == 2 and targets.all_seen(self._learner.n_seen):
            return targets.labels[scores.item() * targets.sign >= 0]
        label = self._decision().decide(targets.by_class(scores))[0]
        return label.item() if isinstance(label, np.generic) else label

    def _decision(self) -> Decision:
        """How scores, in the order of `classes_`, become predictions."""
        return self._targets.decision(self._learner.n_seen)

    def _make_scorer(self) -> Scorer:
        """What predicts, as a frozen model with the outputs in the learner's order."""
        return self._learner.scorer()

    def _hypothesis(self) -> object:
        """Parameters on which the scorer depends, besides what was learned."""
        return None

    # ---------------------------------------------------------------- what was learned

    model_ = property(fitted.model)
    support_, support_vectors_ = property(fitted.support), property(fitted.support_vectors)
    dual_coef_, intercept_ = property(fitted.dual_coef), property(fitted.intercept)
    n_rounds_, n_mistakes_ = property(fitted.n_rounds), property(fitted.n_mistakes)
    n_updates_, mistakes_ = property(fitted.n_updates), property(fitted.mistakes)
    certificate_ = property(fitted.certificate)
    n_features_in_, feature_names_in_ = fitted.FeatureAttribute(), fitted.FeatureAttribute()

    snapshot, resume = estimator_state.snapshot, estimator_state.resume
    state = estimator_state.online_state

    def __getstate__(self) -> dict[str, Any]:
        """What a pickle or a copy holds: the learner at one moment, also if another thread is learning."""
        if "_learner" not in self.__dict__:
            return dict(super().__getstate__())
        with self._lock:
            return {**super().__getstate__(), "_learner": self._learner.copy()}

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The estimator of a state; it goes on exactly as the one that gave it."""
        return estimator_state.online_from_state(cls, state)

    def _theorem(self, radius_sq: float) -> Theorem | str | None:
        """The theorem on the mistakes if k(x, x) ≤ radius_sq and all weights are 1; or, in words, why there is none.

        None if the estimator has no `certificate_` at all.
        """
        return None

    def _certified_state(self) -> object:
        """What must not have changed since the fit for its certificate to be about the estimator."""
        return self._learner.n_seen
