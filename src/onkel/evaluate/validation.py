"""Progressive validation (test-then-train): every example is first predicted, and then learned from.

    for t = 1, 2, …:   ŷ = predict(xₜ);   mistakes += ŷ ≠ yₜ;   learn(xₜ, yₜ)

Every example tests a model that has not seen it yet, and no data has to be held out. The error over all examples so far
changes slowly; the error over the last `window` examples shows a drift when it happens.

Source: Dawid 1984, prequential analysis; Gama, Sebastião and Rodrigues 2013, On evaluating stream learning algorithms.
"""

from __future__ import annotations

import math
import sys
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, is_regressor
from sklearn.exceptions import NotFittedError

from onkel.checks import check_integer
from onkel.data.stream import Stream, stacked
from onkel.errors import InputError, KindError, ParameterError
from onkel.evaluate.model_memory import memory
from onkel.evaluate.running_metrics import OF_CLASSES, OF_NUMBERS, ErrorSums

__all__ = ["Baselines", "Progress", "baselines", "progressive_validation"]

Step: TypeAlias = tuple[list[Any], list[Any], float]  # labels, predictions (None: not predicted), seconds


@dataclass(frozen=True, slots=True)
class Progress:
    """A record of `progressive_validation`: how well a learner does after so many examples of a stream.

    Attributes
    ----------
    examples : the number of examples so far.
    mistakes : the number of wrong predictions so far; None for a regressor.
    error : mistakes / examples; for a regressor the mean absolute error over the examples that it could predict, NaN
        before the first of them.
    window_error : the same over the last examples, as many as the window holds.
    unpredicted : the number of examples that came before the model could predict.
    support : the number of support vectors; None if the estimator has none.
    memory : the bytes that the estimator holds, as computed by `onkel.evaluate.memory`.
    seconds : the time spent in predicting and learning, without that of reading the stream.
    metrics : the value of each metric over all examples so far, by name; {} (default) if there are none.

    Cost: a walk through the estimator's objects, to compute `memory`.

    >>> from onkel.evaluate import Progress
    >>> print(Progress(2000, 150, 0.075, 0.05, 1, 100, 8192, 0.25, {"f1": 0.9}))
    2,000 examples: error 0.0750, lately 0.0500, support 100, 8.2 kB, 0.25 s, f1 0.9000
    """

    examples: int
    mistakes: int | None
    error: float
    window_error: float
    unpredicted: int
    support: int | None
    memory: int
    seconds: float
    metrics: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        parts = [f"error {self.error:.4f}", f"lately {self.window_error:.4f}"]
        parts += [] if self.support is None else [f"support {self.support:,}"]
        parts += [f"{self.memory / 1e3:,.1f} kB", f"{self.seconds:.2f} s"]
        parts += [f"{name} {value:.4f}" for name, value in self.metrics.items()]
        return f"{self.examples:,} examples: {', '.join(parts)}"


def progressive_validation(
    estimator: Any,
    stream: Stream | Iterable[tuple[Any, Any]],
    metrics: Any = (),
    *,
    chunk: int = 1,
    every: int = 1000,
    window: int = 1000,
    classes: Any = None,
) -> Iterator[Progress]:
    """Predicts each example of a stream before learning from it, and yields records of the error so far.

    error = (number of t with ŷₜ ≠ yₜ) / n, where ŷₜ is predicted by the model learned from the examples before t; the
    error of a regressor is the mean absolute error. A record is an `onkel.evaluate.Progress` with the fields examples,
    mistakes, error, window_error, unpredicted, support, memory, seconds and metrics; print it to read it.
    ``list(...)`` gives all records and ``*_, last = ...`` the last one; there is always a record at the end of the
    stream. The estimator itself learns; if it has learned before, it goes on from there.

    An example that comes before the estimator has learned anything cannot be predicted. It counts as a mistake of a
    classifier; a regressor's error, and metrics that are objects, leave it out.

    Parameters
    ----------
    estimator : a classifier or regressor with `predict_one` and `learn_one` (of onkel or river), or with `predict` and
        `partial_fit`. An outlier detector is treated as a classifier of +1 (inliers) and −1 (outliers). A
        `SequencePerceptron` predicts and learns whole sentences, whose tokens are counted: each is an example.
    stream : a `Stream`, or an iterable of pairs (x, y). For a tagger, of pairs (sentence, its tags).
    metrics : a metric, a list of metrics, or a dict {name: metric}; default (): none. A metric is a name, or an object
        with ``update(y_true, y_pred)`` and ``get()`` such as those of river. Names for classifiers are "accuracy",
        "error", "balanced_accuracy" (the mean recall of the classes) and "f1" (the mean F1 of the classes); for
        regressors "mae", "mse" and "r2".
    chunk : the number of examples (sentences) that are predicted and learned at a time, ≥ 1. 1 (default): one by one,
        with `predict_one` and `learn_one` if the estimator has them. Larger chunks use `predict` and `partial_fit`,
        which is much faster; but a prediction may then be made by a model that is a chunk old, and a new estimator
        cannot predict the first chunk.
    every : a record is yielded after so many examples, or at the end of the chunk in which they are reached; ≥ 1,
        default 1000.
    window : the number of examples over which `window_error` is computed, ≥ 1, default 1000.
    classes : all classes, for the first call of `partial_fit`, if the estimator must know them from the start. None
        (default): they are not given.

    Cost: one prediction and one update per example. The bookkeeping takes about 0.3 µs per example in chunks and 4 µs
    one by one, which `seconds` does not include, and O(window) memory.

    >>> from onkel import Perceptron, progressive_validation
    >>> stream = [([1.0, 0.0], "a"), ([0.0, 1.0], "b"), ([1.0, 0.0], "a"), ([0.0, 1.0], "b")]
    >>> *_, last = progressive_validation(Perceptron(), stream, "accuracy")
    >>> last.examples, last.mistakes, last.error, last.unpredicted, last.metrics
    (4, 2, 0.5, 1, {'accuracy': 0.5})

    Source: Gama, Sebastião and Rodrigues 2013; the function of this name in river is `progressive_val_score`.
    """
    who = "progressive_validation"
    for name, value in (("chunk", chunk), ("every", every), ("window", window)):
        check_integer(value, name, who, at_least=1)
    examples = Stream.of(stream)
    singly, batches = _has(estimator, "predict_one", "learn_one"), _has(estimator, "predict", "partial_fit")
    if not (batches or (singly and chunk == 1)):
        needed = "predict and partial_fit" + (", or predict_one and learn_one" if chunk == 1 else " where chunk > 1")
        raise KindError(f"{who}: estimator must have {needed}; got {estimator!r}.")
    if classes is not None and not batches:
        raise KindError(f"{who}: classes are for partial_fit, which {type(estimator).__name__} does not have.")
    tally = _Tally(_predicts_numbers(estimator), metrics, window)
    if hasattr(type(estimator), "k_best"):  # a tagger
        steps = _sentencewise(estimator, examples, chunk, classes)
    elif singly and chunk == 1:
        steps = _singly(estimator, examples, classes)
    else:
        steps = _chunkwise(estimator, examples, chunk, classes)
    return _records(estimator, steps, tally, every)


def _records(estimator: Any, steps: Iterator[Step], tally: _Tally, every: int) -> Iterator[Progress]:
    """Counts the steps, and yields a record whenever a multiple of `every` is reached, and at the end."""
    seconds, reported = 0.0, 0
    for truth, predicted, spent in steps:
        seconds += spent
        before = tally.examples
        tally.add(truth, predicted)
        if tally.examples // every > before // every:
            reported = tally.examples
            yield tally.progress(estimator, seconds)
    if tally.examples == 0:
        raise InputError("progressive_validation: stream must have at least one example; got none.")
    if reported < tally.examples:
        yield tally.progress(estimator, seconds)


def _singly(estimator: Any, stream: Stream, classes: Any) -> Iterator[Step]:
    """Predicts and learns one example at a time; `classes`, if given, make the first update a `partial_fit`."""
    clock = time.perf_counter
    for x, y in stream:
        start = clock()
        predicted = estimator.predict_one(x)
        if classes is None:
            estimator.learn_one(x, y)
        else:
            estimator.partial_fit([x] if isinstance(x, dict) else stacked([x]), [y], classes=classes)
            classes = None
        spent = clock() - start
        yield [y], [predicted.item() if isinstance(predicted, np.generic) else predicted], spent


def _chunkwise(estimator: Any, stream: Stream, size: int, classes: Any) -> Iterator[Step]:
    """Predicts and learns whole chunks; `classes`, if given, go to the first `partial_fit`."""
    clock = time.perf_counter
    first = {} if classes is None else {"classes": classes}
    for X, y in stream.chunks(size):
        start = clock()
        try:
            predicted = np.asarray(estimator.predict(X)).tolist()
        except NotFittedError:
            predicted = [None] * len(y)
        estimator.partial_fit(X, y, **first)
        spent = clock() - start
        first = {}
        yield y.tolist(), predicted, spent


def _sentencewise(tagger: Any, stream: Stream, size: int, classes: Any) -> Iterator[Step]:
    """Predicts and learns `size` sentences at a time, and yields their tokens; `classes` go to the first update."""
    clock, pairs = time.perf_counter, iter(stream)
    while part := list(islice(pairs, size)):
        sentences, tags = [x for x, _ in part], [y for _, y in part]
        start = clock()
        try:  # a single sentence needs no frozen model
            predicted = [tagger.predict_one(sentences[0])] if size == 1 else tagger.predict(sentences)
        except NotFittedError:
            predicted = [None] * len(part)
        tagger.partial_fit(sentences, tags, classes=classes)
        spent = clock() - start
        classes = None
        found = [[None] * len(y) if z is None else z for y, z in zip(tags, predicted, strict=True)]
        yield [tag for y in tags for tag in y], [tag for z in found for tag in z], spent


# ---------------------------------------------------------------- counting


class _Tally:
    """All counts and sums of a validation, in memory that does not grow with the stream."""

    def __init__(self, numbers: bool, metrics: Any, window: int) -> None:
        self.numbers = numbers  # True for a regressor, False for a classifier
        self.examples = self.unpredicted = 0
        self.confusion: Counter[tuple[Any, Any]] = Counter()  # (label, prediction) → count
        self.sums = ErrorSums()
        self.loss = 0.0
        self.lately: deque[float] = deque(maxlen=window)
        self.metrics = self._named(metrics)
        self.objects = [metric for metric in self.metrics.values() if not isinstance(metric, str)]

    def add(self, truth: list[Any], predicted: list[Any]) -> None:
        pairs = list(zip(truth, predicted, strict=True))
        self.examples += len(pairs)
        known = [pair for pair in pairs if pair[1] is not None]
        self.unpredicted += len(pairs) - len(known)
        if self.numbers:
            known = [(float(t), float(p)) for t, p in known]
            losses = [abs(t - p) for t, p in known]
            self.sums.add(known)
        else:
            losses = [float(t != p) for t, p in pairs]
            self.confusion.update(pairs)
        self.loss += sum(losses)
        self.lately.extend(losses)
        for metric in self.objects:
            for t, p in known:
                metric.update(t, p)

    def progress(self, estimator: Any, seconds: float) -> Progress:
        """The record of the examples so far."""
        judged = self.examples - self.unpredicted if self.numbers else self.examples
        support = getattr(estimator, "support_", None)
        return Progress(
            examples=self.examples,
            mistakes=None if self.numbers else int(self.loss),
            error=self.loss / judged if judged else math.nan,
            window_error=sum(self.lately) / len(self.lately) if self.lately else math.nan,
            unpredicted=self.unpredicted,
            support=None if support is None else len(support),
            memory=memory(estimator),
            seconds=seconds,
            metrics={name: self._value(metric) for name, metric in self.metrics.items()},
        )

    def _value(self, metric: Any) -> float:
        """The value of a metric over the examples so far."""
        if not isinstance(metric, str):
            return float(metric.get())
        return OF_NUMBERS[metric](self.sums) if self.numbers else OF_CLASSES[metric](self.confusion)

    def _named(self, metrics: Any) -> dict[str, Any]:
        """The metrics as a checked dict {name: metric}; a metric is a known name or an object with update and get."""
        who = "progressive_validation"
        if isinstance(metrics, str) or (_has(metrics, "update", "get") and not isinstance(metrics, Mapping)):
            metrics = [metrics]
        if not isinstance(metrics, Mapping):
            names = [metric if isinstance(metric, str) else type(metric).__name__ for metric in metrics]
            if len(set(names)) < len(names):
                raise ParameterError(
                    f"{who}: metrics must have different names; got {names}. Give a dict {{name: metric}}."
                )
            metrics = dict(zip(names, metrics, strict=True))
        known, kind = (OF_NUMBERS, "regressor") if self.numbers else (OF_CLASSES, "classifier")
        for metric in metrics.values():
            if isinstance(metric, str) and metric not in known:
                raise ParameterError(
                    f"{who}: metrics of a {kind} are {', '.join(known)} or objects with update and get; got {metric!r}."
                )
            if not isinstance(metric, str) and (isinstance(metric, type) or not _has(metric, "update", "get")):
                raise KindError(f"{who}: a metric must be a name or an object with update and get; got {metric!r}.")
        return dict(metrics)


# ---------------------------------------------------------------- baselines


class Baselines(NamedTuple):
    """The mistake rates of two predictions that ignore x: the majority label, and the last label. See `baselines`."""

    majority: float
    no_change: float


def baselines(y: Any) -> Baselines:
    """The mistake rates of predictions that ignore x, on the labels of a stream.

    `majority` predicts the most frequent label so far (of equally frequent ones, the one that it predicted before),
    `no_change` predicts the last label again. If labels come in runs, as those of prices and weather do,
    no_change is hard to beat, and a learner that does not beat it has learned nothing useful. The first example is a
    mistake of both.

    Parameters
    ----------
    y : the labels in their order, shape (n,), or a `Stream`, of which only the labels are used.

    Cost: O(1) per label, and memory for one count per class.

    >>> from onkel.evaluate import baselines
    >>> baselines(["rain", "rain", "rain", "sun", "sun"])
    Baselines(majority=0.6, no_change=0.4)

    Source: Žliobaitė, Bifet, Read, Pfahringer and Holmes 2015, Evaluation methods and decision theory for
    classification of streaming data with temporal dependence.
    """
    labels: Iterable[Any] = (label for _, label in y) if isinstance(y, Stream) else iter(np.asarray(y).tolist())
    counts: Counter[Any] = Counter()
    front = last = None
    n = majority = no_change = 0
    for label in labels:
        majority += n == 0 or label != front
        no_change += n == 0 or label != last
        counts[label] += 1
        if counts[label] > counts[front]:
            front = label
        last, n = label, n + 1
    if n == 0:
        raise InputError("baselines: y must have at least one label; got none.")
    return Baselines(majority / n, no_change / n)


# ---------------------------------------------------------------- kinds of estimators


def _has(estimator: Any, *methods: str) -> bool:
    """Whether an object has all of these methods."""
    return all(callable(getattr(estimator, name, None)) for name in methods)


def _predicts_numbers(estimator: Any) -> bool:
    """Whether an estimator is a regressor, of scikit-learn or of river; anything else is taken for a classifier."""
    if isinstance(estimator, BaseEstimator):
        return bool(is_regressor(estimator))
    steps = getattr(estimator, "steps", None)
    last = (
        list(steps.values())[-1] if isinstance(steps, Mapping) and steps else estimator
    )  # the last step of a pipeline of river
    river = sys.modules.get("river.base")  # if river was not imported, this is no estimator of river
    return river is not None and isinstance(last, river.Regressor)
