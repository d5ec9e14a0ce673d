"""Perceptrons: learners that add the examples they get wrong, and do nothing else.

    v ← v + y φ(x)    where    y v·φ(x) ≤ 0

`KernelPerceptron` keeps v as the list of its mistakes and needs only kernel values; `Perceptron`
keeps v itself.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from onkel.bounds.certificates import certify_perceptron_fit
from onkel.bounds.theorems import Certificate
from onkel.checks import check_number
from onkel.errors import ParameterError
from onkel.estimators.base import warn_of_conflicts
from onkel.estimators.online import OnlineClassifier, OnlineKernelInput
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
    """What every mistake-driven classifier tells of its mistakes."""

    @property
    def mistakes_(self) -> NDArray[Any]:
        """The ledger as the user knows the classes: a output's index is its class's."""
        check_is_fitted(self, "_learner")
        return self._labels.report(self._learner.ledger.entries)

    @property
    def n_mistakes_(self) -> int:
        check_is_fitted(self, "_learner")
        return len(self._learner.ledger)

    @property
    def n_rounds_(self) -> int:
        check_is_fitted(self, "_learner")
        return int(self._learner.rounds)


class KernelPerceptron(OnlineKernelInput, _WithLedger):
    """The perceptron in dual form: a count of mistakes per example is the whole model.

    f(x) = Σᵢ αᵢ yᵢ k(xᵢ, x), where αᵢ counts the mistakes on example i, y·f(x) ≤ 0; with more than
    two classes one such output for each against the rest, all on the same kernel values. The last
    guess decides what is a mistake; what predicts is a `hypothesis` made of all guesses v_k, each
    weighted by m_k, the number of examples it was used on, the one it failed on included (Freund
    and Schapire count from the example after; the two differ at the ends only).

    Parameters
    ----------
    kernel : "rbf", "linear", "poly", "sigmoid", "laplacian", "cosine", "chi2", "histogram",
        "precomputed", a function of two blocks of rows, or any Kernel, whose own parameters are then
        ``kernel__gamma`` and the like.
    gamma : > 0, or "scale" (1 / (d var X)), "auto" (1 / d), "median" (1 / median ‖x − z‖²), resolved by
        the first call that brings data and kept in `gamma_`.
    degree : of "poly".
    coef0 : of "poly" and "sigmoid".
    hypothesis : "averaged" Σ m_k v_k / m; "voted" Σ m_k sign(v_k·x) / m; "last"; "random", the guess
        of a random round, drawn once; "best", the one that stood longest, ties to the earliest.
    max_iter : ≥ 1, epochs of `fit`; it stops earlier after one without a mistake.
    fit_intercept : learn on K + 1, a constant feature: b = Σ αᵢ yᵢ.
    shuffle : visit the examples in a random order, a new one each epoch.
    random_state : seed of the shuffling and of the random hypothesis.
    class_weight : {class: weight} or "balanced" (not in partial_fit). A weight scales an example's step.
    cache_size : ≥ 0, MB of kernel columns that `fit` may keep, so that a row that errs again costs no kernel
        value; columns that are computed faster than memory gives them back are not kept.
    warm_start : whether `fit` goes on from the last state.
    verbose : 1 draws a progress bar on stderr.

    Attributes
    ----------
    classes_ : the labels, sorted.
    mistakes_ : the ledger: round (from 1), row, class (index of the output in `classes_`) and step of
        every update, in order; each intermediate guess is a prefix of it.
    n_mistakes_, n_rounds_ : updates of all outputs; examples seen, epochs counted.
    mistake_counts_ : mistakes on each support vector, shape (outputs, support vectors).
    support_, support_vectors_ : the rows that were ever got wrong.
    dual_coef_, intercept_ : of the hypothesis, shape (outputs, support vectors) and (outputs,).
    model_ : the hypothesis as a frozen model, with ``explain(x)``.
    certificate_ : after `fit`, the mistakes against the theorem (`onkel.bounds`).
    kernel_, gamma_, n_iter_, converged_, n_features_in_, feature_names_in_ : as usual.

    Learns one example at a time, too: `partial_fit`, `learn_one`, `predict_one`. Classes may turn up
    late there: a late class's output starts at its first example.

    Cost: an epoch takes (new mistakes) × n kernel values and O(n · outputs) memory besides the data;
    `learn_one` and `predict_one` one kernel value per support vector.

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
        if self.hypothesis not in HYPOTHESES:
            allowed = ", ".join(HYPOTHESES)
            raise ParameterError(f"{self._name}: hypothesis must be one of {allowed}; got {self.hypothesis!r}.")

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
        check_is_fitted(self, "_learner")
        entries = self._learner.ledger.entries
        counts = np.zeros((len(self.support_), self._learner.n_outputs), dtype=np.int64)
        np.add.at(counts, (np.searchsorted(self.support_, entries["row"]), entries["class"]), 1)
        return (counts if self._learner.n_outputs == 1 else counts[:, self._labels.order]).T

    @property
    def support_(self) -> NDArray[np.int64]:
        check_is_fitted(self, "_learner")
        found: NDArray[np.int64] = np.sort(self._learner.support.row_ids)
        return found

    @property
    def support_vectors_(self) -> Any:
        return support_data(self._ordered_support())

    @property
    def dual_coef_(self) -> NDArray[np.float64]:
        coef = self._coef()
        coef = coef[np.argsort(self._learner.support.row_ids)]
        return np.ascontiguousarray(self._labels.out(coef).T)

    @property
    def intercept_(self) -> NDArray[np.float64]:
        coef = self._coef()
        coef = self._labels.out(coef)
        found: NDArray[np.float64] = self._learner.bias * coef.sum(axis=0)
        return found

    @property
    def coef_(self) -> NDArray[np.float64]:
        """v itself, shape (outputs, features), where the kernel is linear."""
        if getattr(self, "kernel_", None) is None or type(self.kernel_).__name__ != "Linear":
            raise AttributeError("coef_ is there only with a linear kernel")
        return np.asarray(self.dual_coef_ @ self.support_vectors_)

    @property
    def certificate_(self) -> Certificate:
        check_is_fitted(self, "_learner")
        if self._certificate is None or len(self._learner.ledger) != self._certificate.mistakes:
            raise AttributeError(
                "certificate_ is there after fit; after online learning use onkel.bounds.certificate(estimator, X, y)"
            )
        return self._certificate

    @property
    def model_(self) -> Expansion | Vote:
        """The hypothesis as a frozen model, one output per output as in `decision_function`."""
        model = self._output_model()
        labels = self._labels
        if isinstance(model, Vote):
            if labels.n_outputs == 1:
                return model  # it already speaks for classes_[1]
            output, start = np.argsort(labels.order)[model.output], model.start[labels.order]
            return dataclasses.replace(model, output=output, start=start)
        return Expansion(model.kernel, model.support, model.rows, labels.out(model.coef), self.intercept_)

    # ---------------------------------------------------------------- hypotheses

    def _coef(self) -> NDArray[np.float64]:
        """Coefficients (support vectors, outputs) of the hypothesis, in the learner's own order."""
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
        """The hypothesis with the learner's own outputs, made once for a state of the learner."""
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
        # a vote at 0 is for +1, so that a single output must already speak for classes_[1]
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


class Perceptron(_WithLedger):
    """The perceptron: v ← v + η y x whenever y (v·x + b) ≤ 0.

    With more than two classes one such output for each against the rest. It makes the mistakes of
    ``KernelPerceptron(kernel="linear")``, update for update, in O(d) memory.

    Parameters
    ----------
    learning_rate : η > 0. From v = 0 it only scales v, unless an example's weight says otherwise.
    hypothesis : "last", or "averaged", the mean of all guesses weighted by how long each stood.
    fit_intercept : learn b as well, a constant feature.
    max_iter : ≥ 1, epochs of `fit`; it stops earlier after one without a mistake.
    shuffle : visit the examples in a random order, a new one each epoch.
    random_state : seed of the shuffling.
    class_weight : {class: weight} or "balanced" (not in partial_fit). A weight scales an example's step.
    warm_start : whether `fit` goes on from the last state.
    verbose : 1 draws a progress bar on stderr.

    Attributes
    ----------
    coef_, intercept_ : of the hypothesis, shape (outputs, features) and (outputs,).
    mistakes_, n_mistakes_, n_rounds_, classes_, n_iter_, converged_ : as in `KernelPerceptron`.

    Cost: outputs × non-zeros multiply-adds an example.

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
        v = self._v()
        return np.array(self._labels.out(v[:, :-1].T).T)

    @property
    def intercept_(self) -> NDArray[np.float64]:
        v = self._v()
        return np.array(self._labels.out(v[None, :, -1])[0])
