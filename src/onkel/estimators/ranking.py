"""The ranking perceptron: it learns to put the best item of a list first.

The examples are queries, each a list of items. The machinery of the online estimators is used as it is; what differs is
that their rows are `Groups`, one for each query.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from onkel.bounds.rankings import certify_ranking_fit
from onkel.checks import check_integer, check_one_of
from onkel.errors import ParameterError, ShapeError, warn
from onkel.estimators.base.input import rows_to_predict
from onkel.estimators.base.shared_docs import shared_docs
from onkel.estimators.base.targets import Queries
from onkel.estimators.online import fitted
from onkel.estimators.online.certificate import Certified
from onkel.estimators.online.estimator import OnlineEstimator
from onkel.estimators.online.fitting import Outcome, Work, fit_in_epochs, learn_chunk
from onkel.estimators.online.running import LINEAR, Given, Running
from onkel.kernels import Kernel
from onkel.learners.perceptron.groups import Groups, grouped
from onkel.learners.perceptron.ranking import PAIRS, KernelRankingLearner, LinearRankingLearner, Pairs, RankingLearner
from onkel.metrics.ranking import ndcg
from onkel.models.ranking import RankingModel

__all__ = ["RankingPerceptron"]


@shared_docs
class RankingPerceptron(OnlineEstimator):
    """The perceptron for ranking: it learns a score that is largest for the best item of each list.

    An example is a query: a list of items x_1 … x_n, of which ℓ is the best. The guess v chooses the item with the
    largest score v·φ(x). It errs if another item scores at least as much as the best one, and then learns from both:

        v ← v + φ(x_ℓ) − φ(x_j)    if    v·φ(x_j) ≥ v·φ(x_ℓ),    j the first of the others with the largest score

    With graded items, ℓ is the item with the largest score among those of the top grade, and j the one among those of
    lower grades. A query with a single item, or whose items all have the same grade, teaches nothing but counts as a
    round. `predict` gives a score for each row: sort the rows of a query by it. There is no intercept, which would
    cancel in every comparison.

    Parameters
    ----------
    kernel : the kernel k(x, z): "linear" (default), "rbf", "poly", "sigmoid", "laplacian", "cosine", "chi2",
        "histogram" or "precomputed"; a function of two blocks of rows; or a Kernel of `onkel.kernels`. With "linear"
        and a hypothesis other than "voted", v itself is kept, in O(features) memory; otherwise the items of all updates
        are kept as support vectors, also with ``Linear()``, which makes the same updates.
    <gamma, degree, coef0>
    hypothesis : what predicts: "averaged" (default), Σ m_k v_k / Σ m_k, where m_k is the number of queries on which the
        guess v_k was used; "voted", each v_k has m_k votes for its own best item, in `find_best` and `predict_one`,
        while `predict` gives the scores of the averaged guess; "last", the last guess. With kernel="linear", "voted"
        must be chosen before learning begins; otherwise the hypothesis may be changed at any time.
    pairs : what is learned from a query: "best" (default), the pair above; "all", the sum of φ(x_i) − φ(x_j) over all
        pairs of items in the wrong order, grade_i > grade_j and score_j ≥ score_i, in one update.
    k : ≥ 1, how many items from the top `score` looks at: NDCG@k. None (default): all.
    max_iter : ≥ 1, default 10, the most epochs of `fit`, which stops earlier after an epoch without a mistake.
    shuffle : True (default): `fit` visits the queries in a random order, a new one in each epoch; False: in the order
        of their first rows. `partial_fit` and `learn_one` never change the order.
    <random_state, warm_start, verbose>

    Attributes
    ----------
    n_mistakes_ : the number of queries with an update, over all calls since the last new `fit`.
    n_rounds_ : how many queries were presented, with or without an update; a query counts once in each epoch.
    mistakes_ : the terms of all updates in order, a structured array with the fields round (from 1), row (counted from
        0, on through all calls), class (always 0) and step: +1 for the best item and −1 for the guess, or sums of such.
        With kernel="linear" and no vote, the last 100 000.
    coef_ : shape (1, features), the weight vector of the hypothesis; with a linear kernel only.
    support_, support_vectors_, dual_coef_ : of a learner that keeps support vectors, the row indices of the m support
        vectors, in ascending order, the vectors, and their coefficients in the (averaged or last) guess, shape (1, m).
    model_ : the hypothesis, as a frozen model that does not change when the estimator learns on: ``model_.predict(X)``
        gives the score of each row and ``model_.find_best(X)`` the index of the best.
    certificate_ : after `fit`, the mistakes and the bound of the perceptron's theorem on them, max ‖z‖²/γ² if the last
        guess ranks all queries: z are the vectors that were added, and γ is the margin of the last guess, its smallest
        u·(x_ℓ − x_j). One of its constants is the looser 4R/γ², R = max k(x, x). (The notes have 2R/γ², which is wrong
        if x_ℓ·x_j < 0.) Print it to read it.
    <kernel_, gamma_, n_iter_, converged_, n_features_in_, feature_names_in_>

    Cross-validation must not split a query, and has to hand on `qid`: with scikit-learn's metadata routing enabled, use
    ``cross_val_score(ranker, X, y, params={"qid": qid}, cv=GroupKFold().set_split_request(groups="qid"))``.

    It learns from streams, too: `partial_fit` takes a chunk of whole queries, `learn_one` a single one with its best
    item, and `predict_one` finds the best item of one.

    Cost: a query takes one score for each item, items × features multiply-adds or items × support vectors kernel
    values; pairs="all" also sorts the items for each grade.

    >>> from onkel import RankingPerceptron
    >>> X, y = [[1.0, 0.0], [0.0, 1.0], [2.0, 1.0], [0.0, 3.0]], [1, 0, 1, 0]
    >>> ranker = RankingPerceptron(shuffle=False).fit(X, y, qid=["a", "a", "b", "b"])
    >>> ranker.find_best([[0.0, 1.0], [3.0, 2.0]]), ranker.rank(X, qid=["a", "a", "b", "b"])
    (1, [array([0, 1]), array([2, 3])])

    Source: Cohen 2009, Margins, Mistakes, Ranking, Sequential Learning and the Perceptron, sec. 3.
    """

    def __init__(
        self,
        kernel: Any = "linear",
        *,
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 1.0,
        hypothesis: Literal["averaged", "voted", "last"] = "averaged",
        pairs: Pairs = "best",
        k: int | None = None,
        max_iter: int = 10,
        shuffle: bool = True,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.hypothesis = hypothesis
        self.pairs = pairs
        self.k = k
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose

    TARGETS = Queries
    FREE_PARAMS = frozenset({"hypothesis", "k"})
    _running: Running[RankingLearner]

    # scikit-learn's metadata routing: a ranker asks for the queries by itself, without set_fit_request(qid=True).
    __metadata_request__fit: ClassVar[dict[str, Any]] = {"qid": True}
    __metadata_request__partial_fit: ClassVar[dict[str, Any]] = {"qid": True}
    # Pipeline.score hands on sample_weight=None in any case, and fails if its last step has never heard of it.
    __metadata_request__score: ClassVar[dict[str, Any]] = {"qid": True, "sample_weight": None}

    # ---------------------------------------------------------------- learning

    @shared_docs
    def fit(self, X: Any, y: Any, qid: Any = None) -> Self:
        """Learns from graded queries in up to `max_iter` epochs; stops after an epoch without an update.

        <X>
        y : shape (n,), the grade of each row, a number; larger is better. Only rows of one query are compared.
        qid : shape (n,), the query of each row, a number or a string. The rows of a query may stand anywhere: they are
            grouped, in their order, and the queries by their first rows. None (default): all rows are one query.
        <new fit, returns, stopped>

        Warns if no query has items of different grades, so that nothing can be learned.
        """
        fit_in_epochs(self, Given(X, y, qid=qid))
        return self

    @shared_docs
    def partial_fit(self, X: Any, y: Any, qid: Any = None) -> Self:  # type: ignore[override]
        """Learns from a chunk of further queries, each once, in the order of their first rows.

        <X (chunk)>
        y : shape (n,), the grade of each row, a number; larger is better.
        qid : shape (n,), the query of each row; None (default): one query. A query that comes again in another call is
            another query.
        <returns, stopped (chunk)>
        """
        learn_chunk(self, Given(X, y, qid=qid))
        return self

    @shared_docs
    def learn_one(self, X: Any, best: Any) -> Self:
        """Learns from one query and its best item: the method addExample of the notes.

        X : the items: an array or CSR matrix of shape (items, features), a list of dicts {feature: value}, or a list of
            objects for a kernel on objects.
        best : the index of the best item, 0 to items − 1; the others are not compared with one another.

        <returns>
        """
        n = X.shape[0] if hasattr(X, "shape") and len(X.shape) else len(X)
        if not n:
            raise ShapeError(f"{self._name}: X must have at least one item; got none.")
        index = check_integer(best, "best", self._name, at_least=0, advice="It is the index of the best item in X.")
        if index >= n:
            raise ParameterError(f"{self._name}: best must be the index of an item, 0 to {n - 1}; got {best!r}.")
        learn_chunk(self, Given(X, (np.arange(n) == index).astype(np.float64)))
        return self

    def _new_learner(self, kernel: Kernel, n_features: int | None, n_outputs: int) -> RankingLearner:
        if isinstance(self.kernel, str) and self.kernel == "linear" and self.hypothesis != "voted":
            assert n_features is not None
            return LinearRankingLearner(n_features, self.pairs)
        return KernelRankingLearner(kernel, self.pairs)

    def _after_fit(self, work: Work, outcome: Outcome) -> None:
        if outcome.interrupted is not None:
            return
        learner, queries = self._running.learner, work.batch.rows
        assert isinstance(queries, Groups)
        if work.new is not None:
            found = certify_ranking_fit(learner, queries, self.n_iter_, self._is_psd)
            self._certified = Certified(learner.version, found)
        warn_if_nothing_is_taught(queries, self._name)

    def _check_params(self) -> None:
        super()._check_params()
        check_one_of(self.hypothesis, "hypothesis", KernelRankingLearner.HYPOTHESES, self._name)
        check_one_of(self.pairs, "pairs", PAIRS, self._name)
        if self.k is not None:
            check_integer(self.k, "k", self._name, at_least=1)

    # ---------------------------------------------------------------- predicting

    def predict(self, X: Any) -> NDArray[np.float64]:
        """The score of each row of X, shape (n,); of the rows of a query, the best has the largest.

        With hypothesis="voted", the scores are those of the averaged guess, since the votes are about whole queries.
        """
        return self._scored(X)[0][:, 0]

    def find_best(self, X: Any) -> int:
        """The index of the best row of X, the items of one query: the first with the largest score, or most votes."""
        model = self.model_
        rows = rows_to_predict(self, getattr(model.scorer, "kernel", LINEAR), model.columns, X)
        if not len(rows):
            raise ShapeError(f"{self._name}: X must have at least one item; got none.")
        assert isinstance(model, RankingModel)
        return model.find_best(rows)

    def predict_one(self, X: Any) -> int | None:
        """The index of the best row of X, the items of one query, as `find_best`; None before any learning."""
        return self.find_best(X) if "_running" in self.__dict__ else None

    def rank(self, X: Any, qid: Any = None) -> NDArray[np.int64] | list[NDArray[np.int64]]:
        """The row indices of X, best first, by the scores of `predict`; equal scores in the order of the rows.

        Parameters
        ----------
        X : the rows, as in `predict`.
        qid : shape (n,), the query of each row. None (default): all rows are one query, and the result is one array of
            shape (n,). Otherwise it is a list with an array of row indices of X for each query, in the order in which
            the queries first appear.
        """
        scores = self.predict(X)
        order, starts = grouped(qid, len(scores), self._name)
        ranked = [part[np.argsort(-scores[part], kind="stable")] for part in np.split(order, starts[1:-1])]
        return ranked[0] if qid is None else ranked

    def score(self, X: Any, y: Any, qid: Any = None) -> float:
        """The mean NDCG@k of the queries, at most 1, with the parameter `k` and the gain 2^grade − 1.

        Queries without a positive grade are left out. X, y and qid are as in `fit`.
        """
        self._check_params()
        return ndcg(y, self.predict(X), qid, k=self.k)

    coef_ = fitted.attribute(fitted.coef)


def warn_if_nothing_is_taught(groups: Groups, who: str) -> None:
    """Warns of data in which no query has items of different grades, so that there is nothing to compare."""
    if groups.teaching().any():
        return
    if len(groups.rows) == len(groups):
        what, advice = "every query has a single item", "Give all rows of a list the same label in qid."
    else:
        what = "the items of each query all have the same grade"
        advice = "Items are compared within a query only: check y and qid. For grades without lists, use PRank."
    warn(f"{who}: nothing was learned, since {what}. {advice}")
