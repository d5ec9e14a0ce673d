"""What every online classifier of onkel shares: labels, doors, and learning in three sizes.

`fit` (all data, epochs), `partial_fit` (a chunk, once) and `learn_one` (an example) feed one learner:
an object with ``learn(rows, targets, weights, numbers)``, the same for one example of weight 1,
``learn_one(row, target, number)``, ``set_machines(mixing)``, a `ledger` and `rounds`. A subclass makes
the learner and says how its scores predict.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state, compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from onkel.checks import check_integer
from onkel.door import Door, are_labels
from onkel.errors import InputError, KindError, ParameterError, ValuesError
from onkel.estimator import left_as_it_was
from onkel.kernels.rows import Rows
from onkel.labels import Labels, check_labels
from onkel.models.decision import best_class
from onkel.progress import progress_bar

__all__ = ["OnlineClassifier"]


class OnlineClassifier(ClassifierMixin, Door):  # type: ignore[misc]
    """The base of the classifiers; not for use by itself."""

    class_weight: Any

    # ---------------------------------------------------------------- what a subclass gives

    @abstractmethod
    def _new_learner(self, rows: Rows, machines: int) -> Any:
        """A learner that has seen nothing; `rows` are the first data."""

    @abstractmethod
    def _new_run(self, rows: Rows, targets: NDArray[np.int8], weights: NDArray[np.float64], numbers: NDArray) -> Any:
        """Epochs over `rows`: an object with ``run(order, progress) -> mistakes`` and ``learner()``."""

    @abstractmethod
    def _machine_scores(self, X: Any) -> NDArray[np.float64]:
        """(n, machines) by what predicts."""

    @abstractmethod
    def _machine_scores_one(self, row: Rows) -> NDArray[np.float64]:
        """(1, machines) by what predicts, fast."""

    def _check_params(self) -> None:
        """Refuses parameters that cannot be used."""
        check_integer(self.max_iter, "max_iter", self._who, at_least=1)

    def _after_fit(self, run: Any, y: NDArray, interrupted: bool) -> None:
        """What is left to do after the epochs of a new fit."""

    # ---------------------------------------------------------------- learning

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learns from all data, in up to `max_iter` epochs; stops after one without a mistake.

        On Ctrl-C the mistakes so far are kept, the model is usable, and KeyboardInterrupt goes on.
        """
        with left_as_it_was(self):
            go_on = bool(self.warm_start) and hasattr(self, "_learner")
            rows, y = self._enter_labelled(X, y, reset=not go_on, whole=True)
            weights = self._weights(sample_weight, y, balanced=True)
            present, given = np.flatnonzero(weights > 0), len(rows)
            classes = np.unique(y[present])
            if len(classes) < 2 and not go_on:
                raise InputError(
                    f"{self._who} needs at least two classes; the data has {len(classes)} class: {classes.tolist()}."
                )
            if len(present) < len(rows):
                rows, y, weights = rows[present], y[present], weights[present]
            if not go_on:
                self._dtype, self._seen, self._labels = rows.dtype, 0, Labels(classes)
            epochs = self._epochs_more if go_on else self._epochs_new
            interrupted = epochs(rows, y, weights, self._seen + present)
            self._seen += given
        if interrupted is not None:
            raise interrupted
        return self

    def _epochs_new(
        self, rows: Rows, y: NDArray, weights: NDArray[np.float64], numbers: NDArray
    ) -> KeyboardInterrupt | None:
        targets = self._labels.targets(self._labels.index(y, self._who), self._labels.machines)
        self.classes_ = self._labels.classes
        random = check_random_state(self.random_state)
        run = self._new_run(rows, targets, weights, numbers)
        interrupted = self._run_epochs(run, len(rows), random, "mistakes")
        self._draw = random.uniform()  # of the random hypothesis
        self._learner = run.learner()
        self._after_fit(run, y, interrupted is not None)
        return interrupted

    def _epochs_more(
        self, rows: Rows, y: NDArray, weights: NDArray[np.float64], numbers: NDArray
    ) -> KeyboardInterrupt | None:
        random = check_random_state(self.random_state)
        self.n_iter_, self.converged_ = 0, False
        with progress_bar(self._who, self.max_iter, self.verbose) as progress:
            try:
                for epoch in range(self.max_iter):
                    self.n_iter_, before = epoch + 1, len(self._learner.ledger)
                    order = random.permutation(len(rows)) if self.shuffle else np.arange(len(rows))
                    self._take(rows[order], y[order], weights[order], numbers[order])
                    progress(epoch + 1, f"{len(self._learner.ledger)} mistakes")
                    self.converged_ = len(self._learner.ledger) == before
                    if self.converged_:
                        break
            except KeyboardInterrupt as stop:
                return stop
            finally:
                self._learner.merge()
        return None

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learns from more examples, in their order, once.

        With `classes` in the first call every class is known from the start; without, they may come
        late, and a late class's machine starts at its first example.
        """
        with left_as_it_was(self):
            first = not hasattr(self, "_learner")
            rows, y = self._enter_labelled(X, y, reset=first, whole=False)
            weights = self._weights(sample_weight, y, balanced=False)
            if first:
                self._begin(rows, classes)
            elif classes is not None and not np.array_equal(np.unique(np.asarray(classes)), self.classes_):
                known = self.classes_.tolist()
                raise InputError(f"{self._who}: classes must be those of the first call, {known}; got {list(classes)}.")
            numbers = self._seen + np.arange(len(rows))
            self._seen += len(rows)
            present = np.flatnonzero(weights > 0)
            if len(present) < len(rows):
                rows, y, weights, numbers = rows[present], y[present], weights[present], numbers[present]
            interrupted = None
            try:
                if len(present):
                    self._take(rows, y, weights, numbers)
            except KeyboardInterrupt as stop:
                interrupted = stop
        if interrupted is not None:
            raise interrupted
        return self

    def _begin(self, rows: Rows, classes: Any) -> None:
        known = None if classes is None else np.unique(np.asarray(classes))
        if known is not None and len(known) < 2:
            raise InputError(f"{self._who}: classes must name at least two classes; got {known.tolist()}.")
        self._labels, self._seen, self._dtype = Labels(known), 0, rows.dtype
        self.classes_ = self._labels.classes
        self._learner = self._new_learner(rows, self._labels.machines)
        self._draw = check_random_state(self.random_state).uniform()
        self.n_iter_, self.converged_ = 1, False

    def _take(self, rows: Rows, y: NDArray, weights: NDArray[np.float64], numbers: NDArray) -> None:
        """A chunk with its labels; nothing has changed when one of them is refused."""
        labels = self._labels.copy()
        known = len(labels.found)
        index = labels.index(y, self._who)
        mixing = labels.mixing(self._labels.machines)
        before = self._learner.mark()
        try:
            if mixing is not None:
                self._learner.set_machines(mixing)
            self._learner.learn(rows, labels.targets(index, known), weights, numbers)
        except Exception:  # not KeyboardInterrupt: what was learned until then stays
            self._learner.back_to(before)
            raise
        finally:
            if self._learner.machines == labels.machines:
                self._labels, self.classes_ = labels, labels.classes

    def learn_one(self, x: Any, y: Any) -> Self:
        """Learns from one example: a vector, a dict {feature: value} (or one object), and its label."""
        label = y.item() if isinstance(y, np.generic) else y
        if not hasattr(self, "_learner") or self._kernel_in().takes == "gram":
            self._refuse_many(label)
            self.partial_fit(self._as_batch(x), [y])
            if isinstance(x, dict):
                self._columns = {name: i for i, name in enumerate(x)}
            return self
        if self._knows(label) and self.class_weight is None:
            self._learner.learn_one(self._light_row(x, grow=True), self._labels.target(label), self._seen)
        else:
            self._refuse_many(label)
            targets = np.asarray([y])
            check_classification_targets(targets)
            self._labels.copy().index(targets, self._who)  # refuses it before the learner grows
            weights = self._weights(None, targets, balanced=False)
            row = self._light_row(x, grow=True)
            if weights[0] > 0:
                self._take(row, targets, weights, np.array([self._seen]))
        self._seen += 1
        return self

    def _refuse_many(self, label: Any) -> None:
        if isinstance(label, (list, tuple, set, dict, np.ndarray)):
            raise KindError(f"{self._who}: y must be one label; got {label!r}.")

    def _knows(self, label: Any) -> bool:
        """Whether an example of the class was seen; a label that is no label is not known."""
        try:
            return label in self._labels.seen
        except TypeError:
            return False

    # ---------------------------------------------------------------- predicting

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Scores: (n,) of two classes, positive for classes_[1]; otherwise (n, classes)."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray:
        """The class of the largest score; of two classes, classes_[1] where the score is ≥ 0."""
        best = self._best(self._scores(X))
        chosen: NDArray = self.classes_[best]
        return chosen

    def predict_one(self, x: Any) -> Any:
        """The class of one example, or None before any learning."""
        if not hasattr(self, "_learner"):
            return None
        scores, labels = self._machine_scores_one(self._light_row(x)), self._labels
        if labels.machines == 1 and len(labels.seen) == 2:
            label = self.classes_[int(scores[0, 0] * labels.sign >= 0)]
        else:
            label = self.classes_[self._best(labels.out(scores))[0]]
        return label.item() if isinstance(label, np.generic) else label

    def _best(self, scores: NDArray[np.float64]) -> NDArray[np.intp]:
        """The chosen class of each row; a class that was never seen is never chosen."""
        if len(self.classes_) == 1:
            return np.zeros(len(scores), dtype=np.intp)
        all_seen = len(self._labels.seen) == len(self.classes_)
        return best_class(scores, None if all_seen else self._labels.unseen())

    def _scores(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self, "_learner")
        return self._labels.out(self._machine_scores(self._enter_to_predict(X)))

    # ---------------------------------------------------------------- the door

    def _enter_labelled(self, X: Any, y: Any, *, reset: bool, whole: bool) -> tuple[Rows, NDArray]:
        self._check_params()
        rows, labels = self._enter(X, y, reset=reset, whole=whole)
        if reset or not are_labels(labels):
            check_labels(labels, self._who)
        return rows, labels

    def _weights(self, sample_weight: Any, y: NDArray, *, balanced: bool) -> NDArray[np.float64]:
        """What scales each example's step: sample weight times class weight."""
        weights = self._sample_weights(sample_weight, len(y))
        if self.class_weight is None:
            return weights
        classes = np.unique(y)
        if isinstance(self.class_weight, str):
            if not balanced:
                raise ParameterError(
                    f"{self._who}: class_weight={self.class_weight!r} needs all the data, so it cannot be used in "
                    "partial_fit. Give a dict {class: weight}."
                )
            present = y[weights > 0]
            found = np.unique(present)
            of_class = np.zeros(len(classes))
            of_class[np.searchsorted(classes, found)] = compute_class_weight(
                self.class_weight, classes=found, y=present
            )
        else:
            of_class = np.array([float(self.class_weight.get(label, 1.0)) for label in classes.tolist()])
            if of_class.min() < 0:
                raise ValuesError(f"{self._who}: class_weight must be >= 0; got {of_class.min():g}.")
        weights *= of_class[np.searchsorted(classes, y)]
        return weights
