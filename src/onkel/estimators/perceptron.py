"""Perceptrons: learners that add the examples they get wrong, and do nothing else.

    v ← v + y φ(x)    if    y v·φ(x) ≤ 0

`KernelPerceptron` keeps v as the list of its mistakes and needs only kernel values; `Perceptron` keeps v itself.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin

from onkel.bounds.certificates import certify_perceptron_fit
from onkel.checks import check_number, check_one_of
from onkel.errors import ParameterError
from onkel.estimators.base.estimator import warn_of_conflicts
from onkel.estimators.base.parameters import bytes_of
from onkel.estimators.base.shared_docs import shared_docs
from onkel.estimators.online import by_task, fitted
from onkel.estimators.online.certificate import Certified
from onkel.estimators.online.estimator import OnlineEstimator
from onkel.estimators.online.fitted import reading
from onkel.estimators.online.fitting import Outcome, Work
from onkel.estimators.online.running import Batch, Running
from onkel.kernels import Kernel
from onkel.learners.perceptron.kernel import Hypothesis, KernelPerceptronLearner
from onkel.learners.perceptron.kernel_epochs import KeptScoreEpochs
from onkel.learners.perceptron.linear import LinearPerceptronLearner

__all__ = ["KernelPerceptron", "Perceptron"]


@shared_docs
class KernelPerceptron(ClassifierMixin, OnlineEstimator):  # type: ignore[misc]
    """The perceptron in dual form: the model is a count of mistakes for each example.

    f(x) = Σᵢ αᵢ yᵢ k(xᵢ, x), where αᵢ counts the mistakes on example i, and a mistake is y f(x) ≤ 0. With more than two
    classes there is one binary classifier per class (one-vs-rest); all of them share the kernel values.

    While it learns, the current guess decides what is a mistake. To predict, it uses the `hypothesis`, which is made of
    all guesses v_k of the run, each weighted by m_k, the number of examples on which it was used, including the one it
    failed on. (Freund and Schapire start counting one example later, which matters for the first and last guess only.)

    Parameters
    ----------
    <kernel, gamma, degree, coef0>
    hypothesis : what predicts: "averaged" (default), Σ m_k v_k / Σ m_k, where Σ m_k is the number of rounds; "voted",
        Σ m_k sign(v_k·x) / Σ m_k; "last", the last guess; "random", the guess that was in use in a random round, drawn
        once; "best", the guess that was used longest, and of several the earliest.
    max_iter : ≥ 1, default 10, the most epochs of `fit`, which stops earlier after an epoch without a mistake.
    fit_intercept : False (default): no intercept. True: learns with the kernel k + 1, that is, with one more feature
        that is always 1; then b = Σ αᵢ yᵢ.
    <shuffle>
    random_state : None (default), an int or a RandomState: the seed of the shuffling and of the "random" hypothesis.
        With None, two fits may differ.
    <class_weight>
    cache_size : ≥ 0, default 1000, the MB (2²⁰ bytes) of kernel columns that `fit` may keep, so that another mistake on
        the same row takes no new kernel values. Values that are computed faster than they are read from memory
        are not kept.
    <warm_start, verbose>

    Attributes
    ----------
    <classes_>
    mistakes_ : the ledger of all mistakes in order, a structured array with the fields round (from 1), row, class (the
        index of the output in `classes_`) and step. Every guess of the run is a prefix of it, so the ledger is the
        model: it grows by 32 bytes at every mistake, and nothing is ever dropped from it.
    n_mistakes_ : the number of mistakes, summed over the outputs and over all calls since the last new `fit`.
    <n_rounds_>
    mistake_counts_ : shape (outputs, m), the number of mistakes on each of the m support vectors. "outputs" is 1 for
        two classes, else the number of classes.
    support_ : shape (m,), the row indices of the support vectors, the rows that were ever got wrong, in ascending
        order. Rows are counted from 0, on through all calls since the last new `fit`.
    <support_vectors_>
    dual_coef_, intercept_ : shapes (outputs, m) and (outputs,), coefficients and b of the hypothesis; absent for
        "voted". Two classes have one output, which is positive for classes_[1]; more classes have one output each.
    coef_ : shape (outputs, features), the weight vector of the hypothesis; with a linear kernel only.
    model_ : the hypothesis, as a frozen model that does not change when the estimator learns on: ``model_.scores(X)``
        gives the scores, shape (n, outputs), and, except for "voted", ``model_.explain(x)`` lists the terms of one
        score.
    certificate_ : after `fit`, the number of mistakes and the bound of the perceptron's theorem on it, with the last
        guess as the comparator: ``.mistakes``, ``.bound``, ``.holds`` (whether mistakes ≤ bound) and ``.form`` (which
        theorem); print it to read it. It has a bound after two complete epochs or more, so never with max_iter=1; then,
        and after online learning, use ``onkel.bounds.certificate(estimator, X, y)``.
    <kernel_, gamma_, n_iter_, converged_, n_features_in_, feature_names_in_>

    <streams>

    Cost: an epoch takes (new mistakes) × n kernel values and O(n · outputs) memory besides the data; `learn_one` and
    `predict_one` take one kernel value per support vector.

    >>> from onkel import KernelPerceptron
    >>> X, y = [[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]], ["same", "same", "other", "other"]
    >>> clf = KernelPerceptron(gamma=2.0, shuffle=False).fit(X, y)
    >>> clf.predict([[0.1, 0.0], [0.1, 0.9]]).tolist(), clf.n_mistakes_, clf.converged_
    (['same', 'other'], 4, True)

    Source: Aizerman, Braverman and Rozonoer 1964; Freund and Schapire 1999, Large margin
    classification using the perceptron algorithm.
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        hypothesis: Hypothesis = "averaged",
        max_iter: int = 10,
        fit_intercept: bool = False,
        shuffle: bool = True,
        random_state: Any = None,
        class_weight: Any = None,
        cache_size: float = 1000,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.hypothesis = hypothesis
        self.max_iter = max_iter
        self.fit_intercept = fit_intercept
        self.shuffle = shuffle
        self.random_state = random_state
        self.class_weight = class_weight
        self.cache_size = cache_size
        self.warm_start = warm_start
        self.verbose = verbose

    # ---------------------------------------------------------------- making the learner

    FREE_PARAMS = frozenset({"hypothesis", "cache_size"})

    def _check_params(self) -> None:
        super()._check_params()
        check_number(self.cache_size, "cache_size", self._name, at_least=0.0)
        check_one_of(self.hypothesis, "hypothesis", KernelPerceptronLearner.HYPOTHESES, self._name)

    def _new_learner(self, kernel: Kernel, n_features: int | None, n_outputs: int) -> KernelPerceptronLearner:
        return KernelPerceptronLearner(kernel, n_outputs, float(bool(self.fit_intercept)))

    def _new_epochs(self, running: Running, batch: Batch) -> KeptScoreEpochs:
        return KeptScoreEpochs(
            running.kernel,
            batch.rows,
            running.targets.encode(batch.targets),
            batch.weights,
            row_ids=batch.row_ids,
            bias=float(bool(self.fit_intercept)),
            cache_bytes=bytes_of(self.cache_size),
            again=self.max_iter > 1,
        )

    def _after_fit(self, work: Work, outcome: Outcome) -> None:
        run = work.run
        if not isinstance(run, KeptScoreEpochs):  # a warm start
            return
        certificate = certify_perceptron_fit(run, self.n_iter_, self._is_psd)
        self._certified = Certified(self._running.learner.version, certificate)
        if self.max_iter > 1 and not outcome.converged and outcome.interrupted is None:
            warn_of_conflicts(run.rows, work.batch.targets.y[run.row_at], self._name)

    # ---------------------------------------------------------------- what was learned

    _running: Running[KernelPerceptronLearner]
    decision_function = by_task.decision_function
    coef_ = fitted.attribute(fitted.coef)

    @property
    @reading
    def mistake_counts_(self) -> NDArray[np.int64]:
        """The number of mistakes on each of the m support vectors, shape (outputs, m)."""
        learner = self._running.learner
        entries, rows = learner.ledger.entries, np.sort(learner.support.row_ids)
        counts = np.zeros((len(rows), learner.n_outputs))
        np.add.at(counts, (np.searchsorted(rows, entries["row"]), entries["class"]), 1)
        return np.abs(self._running.targets.by_class(counts)).T.astype(np.int64)


@shared_docs
class Perceptron(ClassifierMixin, OnlineEstimator):  # type: ignore[misc]
    """The linear perceptron: v ← v + η y x and b ← b + η y whenever y (v·x + b) ≤ 0.

    With more than two classes there is one binary classifier per class (one-vs-rest). Without the intercept it makes
    the same mistakes as ``KernelPerceptron(kernel="linear")``, update for update, in O(d) memory.

    Parameters
    ----------
    learning_rate : η > 0, default 1. Since v starts at 0, η only multiplies v and b; it does not change the
        predictions.
    hypothesis : what predicts: "last" (default), the current v; or "averaged", the mean of all v of the run, each
        weighted by the number of examples on which it was used.
    fit_intercept : True (default): learns b as well, as the weight of a feature that is always 1; False: b = 0.
    max_iter : ≥ 1, default 100, the most epochs of `fit`, which stops earlier after an epoch without a mistake.
    <shuffle, random_state, class_weight, warm_start, verbose>

    Attributes
    ----------
    <classes_>
    coef_, intercept_ : shapes (outputs, features) and (outputs,), v and b of the hypothesis. "outputs" is 1 for two
        classes, else the number of classes: two classes have one output, which is positive for classes_[1]; more
        classes have one output each, in the order of `classes_`.
    mistakes_ : the last 100 000 mistakes in order, a structured array with the fields round (from 1), row (counted
        from 0, on through all calls since the last new `fit`), class (the index of the output in `classes_`) and step.
        `onkel.bounds` needs all mistakes, and refuses a run that made more.
    n_mistakes_ : the number of mistakes, summed over the outputs and over all calls since the last new `fit`.
    <n_rounds_, n_iter_, converged_, n_features_in_, feature_names_in_>

    <streams>

    Cost: an example takes outputs × (non-zero features) multiply-adds.

    >>> from onkel import Perceptron
    >>> clf = Perceptron(shuffle=False).fit([[1.0, 1.0], [-1.0, 0.5]], [1, 0])
    >>> clf.coef_, clf.intercept_, clf.n_mistakes_
    (array([[2. , 0.5]]), array([0.]), 2)

    Source: Rosenblatt 1958; Cohen 2009, Margins, Mistakes, Ranking, Sequential Learning and the Perceptron.
    """

    def __init__(
        self,
        *,
        learning_rate: float = 1.0,
        hypothesis: Literal["last", "averaged"] = "last",
        fit_intercept: bool = True,
        max_iter: int = 100,
        shuffle: bool = True,
        random_state: Any = None,
        class_weight: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.learning_rate = learning_rate
        self.hypothesis = hypothesis
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.verbose = verbose

    FREE_PARAMS = frozenset({"hypothesis"})

    def _check_params(self) -> None:
        super()._check_params()
        check_number(self.learning_rate, "learning_rate", self._name, above=0.0)
        if self.hypothesis not in ("last", "averaged"):
            raise ParameterError(f"{self._name}: hypothesis must be last or averaged; got {self.hypothesis!r}.")

    def _new_learner(self, kernel: Kernel, n_features: int | None, n_outputs: int) -> LinearPerceptronLearner:
        assert n_features is not None
        return LinearPerceptronLearner(n_features, n_outputs, float(self.learning_rate), bool(self.fit_intercept))

    # ---------------------------------------------------------------- what was learned

    _running: Running[LinearPerceptronLearner]
    decision_function = by_task.decision_function
    coef_ = fitted.attribute(fitted.coef)
