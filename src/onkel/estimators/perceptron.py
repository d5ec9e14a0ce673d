"""Perceptrons: learners that add the examples they get wrong, and do nothing else.

    v ← v + y φ(x)    if    y v·φ(x) ≤ 0

`KernelPerceptron` keeps v as the list of its mistakes and needs only kernel values; `Perceptron` keeps v itself.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from onkel.bounds.certificates import certify_perceptron_fit
from onkel.bounds.theorems import Certificate
from onkel.checks import check_number, check_one_of
from onkel.errors import ParameterError
from onkel.estimators.base import warn_of_conflicts
from onkel.estimators.online import OnlineClassifier, OnlineKernelInput
from onkel.estimators.shared_docs import shared_docs
from onkel.kernels import Kernel
from onkel.kernels.rows import Rows
from onkel.learners.epochs import StreamedEpochs
from onkel.learners.kernel_perceptron import KernelPerceptronLearner
from onkel.learners.kernel_perceptron_epochs import KeptScoreEpochs
from onkel.learners.linear_perceptron import LinearPerceptronLearner
from onkel.models.expansion import Expansion
from onkel.models.linear import LinearModel
from onkel.models.model import support_data
from onkel.models.vote import Vote, vote_weights

__all__ = ["KernelPerceptron", "Perceptron"]

Hypothesis = Literal["averaged", "voted", "last", "random", "best"]
HYPOTHESES = ("averaged", "voted", "last", "random", "best")


class _WithLedger(OnlineClassifier):
    """A classifier that updates on mistakes only and keeps the ledger of all of them."""

    @property
    def mistakes_(self) -> NDArray[Any]:
        """The ledger of all mistakes in order; its field "class" is the index of the output in `classes_`."""
        check_is_fitted(self, "_learner")
        return self._labels.report(self._learner.ledger.entries)

    @property
    def n_mistakes_(self) -> int:
        """The number of mistakes, summed over the outputs."""
        check_is_fitted(self, "_learner")
        return len(self._learner.ledger)

    @property
    def n_rounds_(self) -> int:
        """The number of examples presented, with or without an update; an example counts once in each epoch."""
        check_is_fitted(self, "_learner")
        return int(self._learner.rounds)


@shared_docs
class KernelPerceptron(OnlineKernelInput, _WithLedger):
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
    cache_size : ≥ 0, default 1000, the MB of kernel columns that `fit` may keep, so that another mistake on the same
        row takes no new kernel values. Values that are computed faster than they are read from memory are not kept.
    <warm_start, verbose>

    Attributes
    ----------
    <classes_>
    mistakes_ : the ledger of all mistakes in order, a structured array with the fields round (from 1), row, class (the
        index of the output in `classes_`) and step. Every guess of the run is a prefix of it.
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

    def _check_params(self) -> None:
        super()._check_params()
        check_number(self.cache_size, "cache_size", self._name, at_least=0.0)
        check_one_of(self.hypothesis, "hypothesis", HYPOTHESES, self._name)

    def _resolve(self, rows: Rows) -> Kernel:
        self._certificate: Certificate | None = None
        return super()._resolve(rows)

    def _new_learner(self, rows: Rows, n_outputs: int) -> KernelPerceptronLearner:
        return KernelPerceptronLearner(self._resolve(rows), n_outputs, float(bool(self.fit_intercept)))

    def _new_run(
        self, rows: Rows, targets: NDArray[np.int8], weights: NDArray[np.float64], row_ids: NDArray
    ) -> KeptScoreEpochs:
        return KeptScoreEpochs(
            self._resolve(rows),
            rows,
            targets,
            weights,
            row_ids=row_ids,
            bias=float(bool(self.fit_intercept)),
            cache_bytes=int(self.cache_size * 1e6),
            again=self.max_iter > 1,
        )

    def _after_fit(self, run: KeptScoreEpochs, y: NDArray, interrupted: bool) -> None:
        self._certificate = certify_perceptron_fit(run, self.n_iter_, self._is_psd)
        if self.max_iter > 1 and not self.converged_ and not interrupted:
            warn_of_conflicts(run.rows, y[run.place], self._name)

    # ---------------------------------------------------------------- what was learned

    @property
    def mistake_counts_(self) -> NDArray[np.int64]:
        """The number of mistakes on each of the m support vectors, shape (outputs, m)."""
        check_is_fitted(self, "_learner")
        entries = self._learner.ledger.entries
        counts = np.zeros((len(self.support_), self._learner.n_outputs), dtype=np.int64)
        np.add.at(counts, (np.searchsorted(self.support_, entries["row"]), entries["class"]), 1)
        return (counts if self._learner.n_outputs == 1 else counts[:, self._labels.order]).T

    @property
    def support_(self) -> NDArray[np.int64]:
        """The row indices of the m support vectors, the rows ever got wrong, in ascending order, shape (m,)."""
        check_is_fitted(self, "_learner")
        found: NDArray[np.int64] = np.sort(self._learner.support.row_ids)
        return found

    @property
    def support_vectors_(self) -> Any:
        """The support vectors, in the order of `support_`."""
        return support_data(self._ordered_support())

    @property
    def dual_coef_(self) -> NDArray[np.float64]:
        """The coefficients of the hypothesis, shape (outputs, m)."""
        coef = self._coef()
        coef = coef[np.argsort(self._learner.support.row_ids)]
        return np.ascontiguousarray(self._labels.out(coef).T)

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """The intercept b of each output of the hypothesis, shape (outputs,)."""
        coef = self._coef()
        coef = self._labels.out(coef)
        found: NDArray[np.float64] = self._learner.bias * coef.sum(axis=0)
        return found

    @property
    def coef_(self) -> NDArray[np.float64]:
        """The weight vector of the hypothesis, shape (outputs, features); with a linear kernel only."""
        if getattr(self, "kernel_", None) is None or type(self.kernel_).__name__ != "Linear":
            raise AttributeError("coef_ is there only with a linear kernel")
        return np.asarray(self.dual_coef_ @ self.support_vectors_)

    @property
    def certificate_(self) -> Certificate:
        """The mistakes of the last `fit` and the theorem's bound on them; without a bound after a single epoch."""
        check_is_fitted(self, "_learner")
        if self._certificate is None or len(self._learner.ledger) != self._certificate.mistakes:
            raise AttributeError(
                "certificate_ is there after fit; after online learning use onkel.bounds.certificate(estimator, X, y)"
            )
        return self._certificate

    @property
    def model_(self) -> Expansion | Vote:
        """The hypothesis as a frozen model whose outputs are the columns of `decision_function`."""
        model = self._output_model()
        labels = self._labels
        if isinstance(model, Vote):
            if labels.n_outputs == 1:
                return model  # its output is already positive for classes_[1]
            output, start = np.argsort(labels.order)[model.output], model.start[labels.order]
            return dataclasses.replace(model, output=output, start=start)
        return Expansion(model.kernel, model.support, model.rows, labels.out(model.coef), self.intercept_)

    # ---------------------------------------------------------------- hypotheses

    def _coef(self) -> NDArray[np.float64]:
        """Coefficients (support vectors, outputs) of the hypothesis, in the order of the learner's support."""
        check_is_fitted(self, "_learner")
        learner: KernelPerceptronLearner = self._learner
        if self.hypothesis == "last":
            return learner.support.coef
        if self.hypothesis == "averaged":
            return learner.averaged()
        if self.hypothesis == "voted":
            raise AttributeError("a vote of all guesses has no coefficients of its own; see mistakes_ and model_")
        if self.hypothesis == "random":  # the guess in use at a random round
            return learner.guess_at(np.full(learner.n_outputs, 1 + int(self._draw * learner.rounds)))
        ends = [learner.ledger.end_of_longest(o, learner.rounds) for o in range(learner.n_outputs)]
        return learner.guess_at(np.array(ends))

    def _ordered_support(self) -> Rows:
        check_is_fitted(self, "_learner")
        support: Rows = self._learner.support.all_rows()
        return support[np.argsort(self._learner.support.row_ids)]

    def _output_model(self) -> Expansion | Vote:
        """The hypothesis with the outputs in the learner's order; cached until the learner changes."""
        check_is_fitted(self, "_learner")
        learner: KernelPerceptronLearner = self._learner
        key = (len(learner.ledger), learner.rounds, self.hypothesis)
        if learner.model is None or learner.model[0] != key:
            learner.model = key, self._make_model(learner)
        model: Expansion | Vote = learner.model[1]
        return model

    def _make_model(self, learner: KernelPerceptronLearner) -> Expansion | Vote:
        support, rows = self._ordered_support(), self.support_
        if self.hypothesis != "voted":
            coef = self._coef()
            ordered = np.ascontiguousarray(coef[np.argsort(learner.support.row_ids)])
            return Expansion(learner.kernel, support, rows, ordered, learner.bias * coef.sum(axis=0))
        entries = learner.ledger.entries
        start, weight = vote_weights(entries["round"], entries["class"], learner.n_outputs, learner.rounds)
        place = np.searchsorted(rows, entries["row"])
        # a score of 0 votes for +1, so a single output must have its sign here: +1 means classes_[1]
        output, step = entries["class"].copy(), entries["step"] * self._labels.sign
        return Vote(learner.kernel, support, rows, place, output, step, weight, start, learner.bias)

    def _output_scores(self, X: Any) -> NDArray[np.float64]:
        scores = self._output_model().scores(X)
        return scores * self._labels.sign if self.hypothesis == "voted" else scores

    def _output_scores_one(self, row: Rows) -> NDArray[np.float64]:
        if self.hypothesis == "averaged":
            return self._learner.scores(row, self._learner.averaged())  # type: ignore[no-any-return]
        if self.hypothesis == "last":
            return self._learner.scores(row)  # type: ignore[no-any-return]
        return self._output_scores(row)


@shared_docs
class Perceptron(_WithLedger):
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
    mistakes_ : the ledger of all mistakes in order, a structured array with the fields round (from 1), row (counted
        from 0, on through all calls since the last new `fit`), class (the index of the output in `classes_`) and step.
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

    def _check_params(self) -> None:
        super()._check_params()
        check_number(self.learning_rate, "learning_rate", self._name, above=0.0)
        if self.hypothesis not in ("last", "averaged"):
            raise ParameterError(f"{self._name}: hypothesis must be last or averaged; got {self.hypothesis!r}.")

    def _new_learner(self, rows: Rows, n_outputs: int) -> LinearPerceptronLearner:
        return LinearPerceptronLearner(
            self.n_features_in_, n_outputs, float(self.learning_rate), bool(self.fit_intercept)
        )

    def _new_run(
        self, rows: Rows, targets: NDArray[np.int8], weights: NDArray[np.float64], row_ids: NDArray
    ) -> StreamedEpochs:
        return StreamedEpochs(self._new_learner(rows, targets.shape[1]), rows, targets, weights, row_ids)

    def _after_fit(self, run: StreamedEpochs, y: NDArray, interrupted: bool) -> None:
        if self.max_iter > 1 and not self.converged_ and not interrupted:
            warn_of_conflicts(run.rows, y, self._name)

    def _v(self) -> NDArray[np.float64]:
        """v and, in the last column, b of the hypothesis, shape (outputs, features + 1)."""
        check_is_fitted(self, "_learner")
        learner: LinearPerceptronLearner = self._learner
        return learner.averaged() if self.hypothesis == "averaged" else learner.V

    def _output_scores(self, X: Any) -> NDArray[np.float64]:
        V = self._v()
        return LinearModel(V[:, :-1], V[:, -1]).scores(X)

    def _output_scores_one(self, row: Rows) -> NDArray[np.float64]:
        return self._learner.scores(row, self._v())  # type: ignore[no-any-return]

    @property
    def coef_(self) -> NDArray[np.float64]:
        """The weight vector of each output of the hypothesis, shape (outputs, features)."""
        v = self._v()
        return np.array(self._labels.out(v[:, :-1].T).T)

    @property
    def intercept_(self) -> NDArray[np.float64]:
        """The intercept b of each output of the hypothesis, shape (outputs,)."""
        v = self._v()
        return np.array(self._labels.out(v[None, :, -1])[0])
