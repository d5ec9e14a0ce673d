"""Online estimators: `fit` for a data set, `partial_fit` for a chunk, `learn_one` for an example; and predicting.

All three feed one learner (`onkel.learners.learner`). A subclass makes the learner and says which function of it
predicts; everything else is here.
"""

from __future__ import annotations

import math
import numbers as number_types
from abc import abstractmethod
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from onkel.checks import check_integer
from onkel.errors import InputError, KindError, ValuesError
from onkel.estimators.base import undo_on_error
from onkel.estimators.input import KernelInput, are_labels
from onkel.estimators.one_example import OneExampleInput
from onkel.estimators.progress import progress_bar
from onkel.estimators.shared_docs import shared_docs
from onkel.estimators.targets import Labels, check_labels, class_weights
from onkel.gram import check_gram
from onkel.kernels import Kernel, Precomputed
from onkel.kernels.rows import GramRows, Rows
from onkel.learners.epochs import Epochs, StreamedEpochs, run_epochs
from onkel.models.decision import best_class
from onkel.models.state import Snapshots

__all__ = ["OnlineClassifier", "OnlineEstimator", "OnlineKernelInput", "OnlineRegressor"]


class OnlineEstimator(OneExampleInput, Snapshots):
    """The base of the online estimators; not for use by itself."""

    max_iter: int
    shuffle: bool
    random_state: Any
    warm_start: bool
    verbose: int

    def _run_epochs(self, run: Epochs, n: int, random: np.random.RandomState, counted: str) -> KeyboardInterrupt | None:
        """Runs the epochs of a fit over n rows; returns the Ctrl-C that ended them, if any."""
        with progress_bar(self._name, self.max_iter * n, self.verbose) as progress:
            self.n_iter_, self.converged_, interrupted = run_epochs(
                run,
                n,
                random,
                max_iter=self.max_iter,
                shuffle=bool(self.shuffle),
                report=lambda done: progress(done, f"{len(run.ledger)} {counted}"),
            )
        return interrupted


class OnlineKernelInput(KernelInput, OnlineEstimator):
    """The base of the online estimators whose kernel is a parameter."""

    def _resolve(self, rows: Rows) -> Kernel:
        kernel = super()._resolve(rows)
        self._is_psd = kernel.is_psd
        if isinstance(rows, GramRows):
            examined = check_gram(rows, self._name)
            if isinstance(kernel, Precomputed):  # K says nothing about a kernel derived from it, such as −K
                self._is_psd = examined
        self._check_examples(rows)
        return kernel


class OnlineClassifier(ClassifierMixin, OnlineEstimator):  # type: ignore[misc]
    """The base of the classifiers; not for use by itself."""

    class_weight: Any

    # ---------------------------------------------------------------- for subclasses to define

    @abstractmethod
    def _new_learner(self, rows: Rows, n_outputs: int) -> Any:
        """A new learner; `rows` are the first data, from which gamma is resolved."""

    @abstractmethod
    def _new_run(self, rows: Rows, targets: NDArray[np.int8], weights: NDArray[np.float64], row_ids: NDArray) -> Any:
        """The epochs of a new fit: an `onkel.learners.epochs.Epochs` that also has ``learner()``."""

    @abstractmethod
    def _output_scores(self, X: Any) -> NDArray[np.float64]:
        """The scores of the rows of X, shape (n, outputs), outputs in the learner's order."""

    @abstractmethod
    def _output_scores_one(self, row: Rows) -> NDArray[np.float64]:
        """The same for one row, shape (1, outputs), in a few microseconds."""

    def _check_params(self) -> None:
        super()._check_params()
        check_integer(self.max_iter, "max_iter", self._name, at_least=1)

    def _after_fit(self, run: Any, y: NDArray, interrupted: bool) -> None:
        """Called after the epochs of a new fit; warns or certifies where a subclass wants to."""

    # ---------------------------------------------------------------- learning

    @shared_docs
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learns from a data set in up to `max_iter` epochs; stops after an epoch without an update.

        <X, y (labels), sample_weight, new fit, returns, stopped>
        """
        with undo_on_error(self):
            go_on = bool(self.warm_start) and hasattr(self, "_learner")
            rows, y = self._check_labelled(X, y, reset=not go_on, whole=True)
            weights = self._weights(sample_weight, y, balanced=True)
            present, given = np.flatnonzero(weights > 0), len(rows)
            classes = np.unique(y[present])
            if len(classes) < 2 and not go_on:
                raise InputError(
                    f"{self._name} needs at least two classes; the data has {len(classes)} class: {classes.tolist()}."
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
        self, rows: Rows, y: NDArray, weights: NDArray[np.float64], row_ids: NDArray
    ) -> KeyboardInterrupt | None:
        targets = self._labels.targets(self._labels.index(y, self._name), self._labels.n_outputs)
        self.classes_ = self._labels.classes
        random = check_random_state(self.random_state)
        run = self._new_run(rows, targets, weights, row_ids)
        interrupted = self._run_epochs(run, len(rows), random, "mistakes")
        self._draw = random.uniform()  # for KernelPerceptron's "random" hypothesis
        self._learner = run.learner()
        self._after_fit(run, y, interrupted is not None)
        return interrupted

    def _epochs_more(
        self, rows: Rows, y: NDArray, weights: NDArray[np.float64], row_ids: NDArray
    ) -> KeyboardInterrupt | None:
        random = check_random_state(self.random_state)
        self.n_iter_, self.converged_ = 0, False
        with progress_bar(self._name, self.max_iter, self.verbose) as progress:
            try:
                for epoch in range(self.max_iter):
                    self.n_iter_, before = epoch + 1, len(self._learner.ledger)
                    order = random.permutation(len(rows)) if self.shuffle else np.arange(len(rows))
                    self._learn_chunk(rows[order], y[order], weights[order], row_ids[order])
                    progress(epoch + 1, f"{len(self._learner.ledger)} mistakes")
                    self.converged_ = len(self._learner.ledger) == before
                    if self.converged_:
                        break
            except KeyboardInterrupt as stop:
                return stop
            finally:
                self._learner.end_epoch()
        return None

    @shared_docs
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learns from a chunk of further examples, each once, in their order.

        <X (chunk), y (chunk)>
        classes : all labels that will ever come; in the first call, later calls may repeat it. None (default): classes
            may turn up late, and the output of a late class starts at its first example.
        <sample_weight, returns, stopped (chunk)>
        """
        with undo_on_error(self):
            first = not hasattr(self, "_learner")
            rows, y = self._check_labelled(X, y, reset=first, whole=False)
            weights = self._weights(sample_weight, y, balanced=False)
            if first:
                self._begin(rows, classes)
            elif classes is not None and not np.array_equal(np.unique(np.asarray(classes)), self.classes_):
                known = self.classes_.tolist()
                raise InputError(
                    f"{self._name}: classes must be those of the first call, {known}; got {list(classes)}."
                )
            row_ids = self._seen + np.arange(len(rows))
            self._seen += len(rows)
            present = np.flatnonzero(weights > 0)
            if len(present) < len(rows):
                rows, y, weights, row_ids = rows[present], y[present], weights[present], row_ids[present]
            interrupted = None
            try:
                if len(present):
                    self._learn_chunk(rows, y, weights, row_ids)
            except KeyboardInterrupt as stop:
                interrupted = stop
        if interrupted is not None:
            raise interrupted
        return self

    def _begin(self, rows: Rows, classes: Any) -> None:
        """Makes the learner of a new stream; `rows` are its first examples."""
        known = None if classes is None else np.unique(np.asarray(classes))
        if known is not None and len(known) < 2:
            raise InputError(f"{self._name}: classes must name at least two classes; got {known.tolist()}.")
        self._labels, self._seen, self._dtype = Labels(known), 0, rows.dtype
        self.classes_ = self._labels.classes
        self._learner = self._new_learner(rows, self._labels.n_outputs)
        self._draw = check_random_state(self.random_state).uniform()
        self.n_iter_, self.converged_ = 1, False

    def _learn_chunk(self, rows: Rows, y: NDArray, weights: NDArray[np.float64], row_ids: NDArray) -> None:
        """Learns from a chunk with its labels; if an example is refused, nothing has changed."""
        labels = self._labels.copy()
        known = len(labels.found)
        index = labels.index(y, self._name)
        output_map = labels.output_map(self._labels.n_outputs)
        before = self._learner.savepoint()
        try:
            if output_map is not None:
                self._learner.change_outputs(output_map)
            self._learner.learn(rows, labels.targets(index, known), weights, row_ids)
        except Exception:  # on KeyboardInterrupt, what has been learned stays
            self._learner.rollback(before)
            raise
        finally:
            if self._learner.n_outputs == labels.n_outputs:
                self._labels, self.classes_ = labels, labels.classes

    @shared_docs
    def learn_one(self, x: Any, y: Any) -> Self:
        """Learns from one example.

        <x, y (one label), returns>
        """
        label = y.item() if isinstance(y, np.generic) else y
        if not hasattr(self, "_learner") or self._kernel_in().takes == "gram":
            self._refuse_many(label)
            self.partial_fit(self._as_batch(x), [y])
            if isinstance(x, dict):
                self._columns = {name: i for i, name in enumerate(x)}
            return self
        if self._knows(label) and self.class_weight is None:
            self._learner.learn_one(self._fast_row(x, grow=True), self._labels.target(label), self._seen)
        else:
            self._refuse_many(label)
            targets = np.asarray([y])
            check_classification_targets(targets)
            self._labels.copy().index(targets, self._name)  # refuses a bad label before the learner changes
            weights = self._weights(None, targets, balanced=False)
            row = self._fast_row(x, grow=True)
            if weights[0] > 0:
                self._learn_chunk(row, targets, weights, np.array([self._seen]))
        self._seen += 1
        return self

    def _refuse_many(self, label: Any) -> None:
        if isinstance(label, (list, tuple, set, dict, np.ndarray)):
            raise KindError(f"{self._name}: y must be one label; got {label!r}.")

    def _knows(self, label: Any) -> bool:
        """Whether an example of this class has been seen; False if the label cannot be hashed."""
        try:
            return label in self._labels.seen
        except TypeError:
            return False

    # ---------------------------------------------------------------- predicting

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """The scores of the rows of X: shape (n,) for two classes, positive for classes_[1]; else (n, classes)."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray:
        """The label of each row of X, shape (n,): the class with the largest score.

        With two classes, classes_[1] if the score is ≥ 0. A class of which no example was seen is never predicted.
        """
        best = self._best(self._scores(X))
        chosen: NDArray = self.classes_[best]
        return chosen

    def predict_one(self, x: Any) -> Any:
        """The label of one example x, a vector, dict, CSR row or object; None before any learning."""
        if not hasattr(self, "_learner"):
            return None
        scores, labels = self._output_scores_one(self._fast_row(x)), self._labels
        if labels.n_outputs == 1 and len(labels.seen) == 2:
            label = self.classes_[int(scores[0, 0] * labels.sign >= 0)]
        else:
            label = self.classes_[self._best(labels.out(scores))[0]]
        return label.item() if isinstance(label, np.generic) else label

    def _best(self, scores: NDArray[np.float64]) -> NDArray[np.intp]:
        """The index of the predicted class of each row; a class without an example so far is never predicted."""
        if len(self.classes_) == 1:
            return np.zeros(len(scores), dtype=np.intp)
        all_seen = len(self._labels.seen) == len(self.classes_)
        return best_class(scores, None if all_seen else self._labels.unseen())

    def _scores(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self, "_learner")
        return self._labels.out(self._output_scores(self._check_to_predict(X)))

    # ---------------------------------------------------------------- input validation

    def _check_labelled(self, X: Any, y: Any, *, reset: bool, whole: bool) -> tuple[Rows, NDArray]:
        self._check_params()
        rows, labels = self._check_data(X, y, reset=reset, whole=whole)
        if reset or not are_labels(labels):
            check_labels(labels, self._name)
        return rows, labels

    def _weights(self, sample_weight: Any, y: NDArray, *, balanced: bool) -> NDArray[np.float64]:
        """The weight of each example: sample weight times class weight."""
        weights = self._sample_weights(sample_weight, len(y))
        if self.class_weight is not None:
            weights *= class_weights(self.class_weight, y, weights > 0, self._name, balanced=balanced)
        return weights


class OnlineRegressor(OnlineEstimator):
    """The base of the regressors and of novelty detection, which learn one output; not for use by itself."""

    _targets: Literal["numbers", "none"] = "numbers"

    def _check_params(self) -> None:
        super()._check_params()
        check_integer(self.max_iter, "max_iter", self._name, at_least=1)

    @abstractmethod
    def _new_learner(self, rows: Rows, n_outputs: int) -> Any:
        """A new learner; `rows` are the first data, from which gamma is resolved."""

    @abstractmethod
    def _output_scores(self, X: Any) -> NDArray[np.float64]:
        """The scores of the rows of X, shape (n, 1)."""

    @abstractmethod
    def _output_scores_one(self, row: Rows) -> NDArray[np.float64]:
        """The same for one row, shape (1, 1), in a few microseconds."""

    # ---------------------------------------------------------------- learning

    @shared_docs
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learns from a data set in up to `max_iter` epochs; stops after an epoch without an update.

        <X, y (numbers), sample_weight, new fit, returns, stopped>
        """
        with undo_on_error(self):
            go_on = bool(self.warm_start) and hasattr(self, "_learner")
            rows, y, weights, present, given = self._check_targets(X, y, sample_weight, reset=not go_on, whole=True)
            random = check_random_state(self.random_state)
            if not go_on:
                self._begin(rows)
            run = StreamedEpochs(self._learner, rows, y, weights, self._seen + present)
            interrupted = self._run_epochs(run, len(rows), random, "updates")
            self._seen += given
        if interrupted is not None:
            raise interrupted
        return self

    @shared_docs
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learns from a chunk of further examples, each once, in their order.

        <X (chunk)>
        y : shape (n,), the target numbers; novelty detection ignores it.
        <sample_weight, returns, stopped (chunk)>
        """
        with undo_on_error(self):
            first = not hasattr(self, "_learner")
            rows, y, weights, present, given = self._check_targets(X, y, sample_weight, reset=first, whole=False)
            if first:
                self._begin(rows)
            row_ids, interrupted = self._seen + present, None
            self._seen += given
            before = self._learner.savepoint()
            try:
                self._learner.learn(rows, y, weights, row_ids)
            except KeyboardInterrupt as stop:
                interrupted = stop
            except Exception:
                self._learner.rollback(before)
                raise
        if interrupted is not None:
            raise interrupted
        return self

    def _check_targets(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool, whole: bool
    ) -> tuple[Rows, NDArray[np.float64], NDArray[np.float64], NDArray[np.intp], int]:
        """Rows, targets (n, 1), weights and positions of the examples with a positive weight; the length of X."""
        self._check_params()
        rows, y = self._check_data(X, y, reset=reset, whole=whole, targets=self._targets)
        weights = self._sample_weights(sample_weight, len(rows))
        targets = np.ones((len(rows), 1)) if y is None else np.array(y, dtype=np.float64).reshape(-1, 1)
        present, given = np.flatnonzero(weights > 0), len(rows)
        if len(present) < len(rows):
            rows, targets, weights = rows[present], targets[present], weights[present]
        return rows, targets, weights, present, given

    def _begin(self, rows: Rows) -> None:
        self._seen, self._dtype = 0, rows.dtype
        self._learner = self._new_learner(rows, 1)
        self.n_iter_, self.converged_ = 1, False

    @shared_docs
    def learn_one(self, x: Any, y: Any = None) -> Self:
        """Learns from one example.

        <x, y (one number), returns>
        """
        if self._targets == "none":
            y = 1.0
        elif not isinstance(y, number_types.Real):
            raise KindError(f"{self._name}: y must be one number; got {y!r}.")
        elif not math.isfinite(y):
            raise ValuesError(f"{self._name}: y must be finite; got {y!r}.")
        if not hasattr(self, "_learner") or self._kernel_in().takes == "gram":
            self.partial_fit(self._as_batch(x), None if self._targets == "none" else [y])
            if isinstance(x, dict):
                self._columns = {name: i for i, name in enumerate(x)}
            return self
        self._learner.learn_one(self._fast_row(x, grow=True), np.array([[y]], dtype=np.float64), self._seen)
        self._seen += 1
        return self

    # ---------------------------------------------------------------- predicting

    def _scores(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self, "_learner")
        return self._output_scores(self._check_to_predict(X))[:, 0]

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The prediction f(x) for each row of X, shape (n,)."""
        return self._scores(X)

    def predict_one(self, x: Any) -> float | None:
        """The prediction f(x) for one example x, a vector, dict, CSR row or object; None before any learning."""
        if not hasattr(self, "_learner"):
            return None
        return float(self._output_scores_one(self._fast_row(x))[0, 0])
