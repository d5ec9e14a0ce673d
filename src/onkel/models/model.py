"""Models: what an estimator has learned, frozen, able to predict by itself.

    ScoreModel = scorer (rows → scores) + decision (scores → labels) + columns (names and dtype of the data)

An estimator changes when it learns; its `model_` does not. Files and servers take models: they need neither the
estimator nor the algorithm that has learned it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from onkel.errors import InputError, KindError
from onkel.kernels import Kernel, Linear
from onkel.kernels.rows import GramRows, Rows
from onkel.kernels.vectors import VectorRows
from onkel.models.columns import Columns
from onkel.models.decision import Classes, Decision, Outlier, Ranks
from onkel.models.expansion import Expansion, ReducedExpansion
from onkel.models.input import row_of, rows_of
from onkel.models.linear import FeatureContribution, LinearModel
from onkel.models.one_vs_one import OneVsOne
from onkel.models.scorer import Contribution, Scorer, SupportModel, support_data, warn_renamed
from onkel.states.frozen import Frozen
from onkel.states.state import State, from_state

__all__ = ["Contribution", "Model", "ScoreModel", "SupportModel", "support_data"]


NO_VOTES = (
    "reduced: the model must be a sum over support vectors; a vote of many guesses is not. Choose another hypothesis "
    'of the estimator: set_params(hypothesis="averaged").model_.reduced(…).'
)


@runtime_checkable
class Model(Protocol):
    """A frozen model, which several threads may use at once."""

    def predict(self, X: Any) -> NDArray:
        """What is predicted for each row of X."""

    def predict_one(self, x: Any) -> Any:
        """What is predicted for one example."""

    def explain(self, x: Any, output: int = 0) -> Sequence[Contribution] | Sequence[FeatureContribution]:
        """The terms of a score of one example, the largest first."""

    def state(self) -> State:
        """The settings and arrays of which `from_state` makes an equal model."""


@dataclasses.dataclass(frozen=True, eq=False)
class ScoreModel(Frozen):
    """What an estimator has learned, frozen: it predicts by itself, and does not change when the estimator learns on.

    Two models are equal if all that they hold is equal, to the bit. A model may be used by several threads at once. It
    can be pickled, and has a `state`.

    Parameters
    ----------
    scorer : computes the scores: an `Expansion`, a `OneVsOne`, a `LinearModel` or a `Vote`.
    decision : turns scores into predictions: `Classes`, `Ranks`, `Number` or `Outlier`.
    columns : the number, names and dtype of the features.

    Attributes
    ----------
    kernel, support, row_ids : the kernel, the support vectors, and their row indices in the training data.
    coef, intercept : the coefficients and offsets of the scores.
    rkhs_error : of a model that `reduced` has made, its distance from the larger one.

    >>> from onkel import SVC
    >>> model = SVC(kernel="linear").fit([[-1.0], [0.0], [1.0], [2.0]], ["low", "low", "high", "high"]).model_
    >>> model.predict([[-3.0], [3.0]]), model.predict_one([3.0])
    (array(['low', 'high'], dtype='<U4'), 'high')
    """

    KIND: ClassVar[str] = "model/score"
    VERSION: ClassVar[int] = 1

    scorer: Scorer
    decision: Decision
    columns: Columns

    # ---------------------------------------------------------------- predicting

    def scores(self, X: Any) -> NDArray[np.float64]:
        """The scores of each row of X, shape (n, outputs): the columns of the estimator's `decision_function`."""
        return self.decision.decision_function(self._outputs(X))

    def predict(self, X: Any) -> NDArray:
        """What the estimator predicts for each row of X, shape (n,): labels, numbers, or +1 and −1.

        X is an array or a CSR matrix with the features that the model was trained on, a data frame with the same names
        in the same order, or a sequence of objects if the kernel takes objects.
        """
        return self.decision.decide(self._outputs(X))

    def predict_one(self, x: Any) -> Any:
        """What the estimator predicts for one example x, as a Python object.

        x is a vector, a CSR row, an object if the kernel takes objects, or a dict {feature: value} if the features have
        names: a feature that is missing counts as 0, and one that is unknown is ignored.
        """
        predicted = self.decision.decide(self.scorer.scores(self._row(x)))[0]
        return predicted.item() if isinstance(predicted, np.generic) else predicted

    def explain(self, x: Any, output: int = 0) -> Sequence[Contribution] | Sequence[FeatureContribution]:
        """The terms of a score of one example x, as in `predict_one`, the largest first.

        Of a kernel model these are, for each support vector, its importance (the coefficient) times its similarity to x
        (the kernel value); of a linear model, for each feature, its weight times its value. With the intercept they sum
        to the score. Terms with coefficient 0 are left out.

        Parameters
        ----------
        x : one example.
        output : whose score is explained: the position of the class in `classes_` (0, the default, is the first), not
            the predicted class. A model of two classes has one output only, 0, the score for classes_[1]. An `SVC` of
            more classes has an output for each pair of them, in the order (0, 1), (0, 2), …, (1, 2), …, whose positive
            terms speak for the first of the two.
        """
        scorer = self.scorer
        if isinstance(scorer, (Expansion, OneVsOne)):
            return scorer.explain(self._row(x), output)
        if isinstance(scorer, LinearModel):
            terms, names = scorer.explain(self._row(x), output), self.columns.names
            return terms if names is None else [t._replace(feature=names[int(t.feature)]) for t in terms]
        raise KindError(
            f"explain: the model must be a sum of terms; a {type(scorer).__name__} is not. "
            'Of a KernelPerceptron, explain another hypothesis, such as "averaged".'
        )

    def reduced(self, n: int | None = None, *, tol: float | None = None) -> Self:
        """A smaller model with almost the same scores: few of the support vectors, with coefficients of their own.

        Support vectors are chosen greedily, each time the one that lowers the distance between the scores f of this
        model and those of the smaller one, g, most, for all outputs together; their coefficients are those with which
        g is nearest to f (a projection). The distance is that of the kernel's space (RKHS); `rkhs_error` of the result
        reports it. For classification it may be large while almost all predictions stay the same, so look at the
        accuracy, too. Where n is at least the rank of the kernel matrix, all scores stay the same, up to rounding;
        support vectors that are equal become one. Intercepts stay as they are.

        Parameters
        ----------
        n : ≥ 1, the largest number of support vectors. None (default): as many as `tol` needs.
        tol : from 0 to 1, the largest relative error ‖f_c − g_c‖ / ‖f_c‖ of any output c; as few support vectors are
            taken as reach it. None (default): n of them. One of both must be given; with both, it stops at the first.

        Cost: for m support vectors, m² + n·m kernel values, n²·m flops, and memory for n·m numbers.

        >>> import numpy as np, onkel
        >>> X = np.random.default_rng(0).normal(size=(300, 2))
        >>> model = onkel.SVC(gamma=0.5).fit(X, X[:, 0] * X[:, 1] > 0).model_
        >>> small = model.reduced(12)
        >>> same = small.predict(X) == model.predict(X)
        >>> len(model.support), len(small.support), small.rkhs_error.round(2), int(sum(same))
        (121, 12, array([0.31]), 298)
        """
        if isinstance(self.scorer, LinearModel):
            raise KindError(
                "reduced: a linear model has a weight for each feature and no support vectors, so that there is "
                "nothing to reduce. Use the model as it is."
            )
        if not isinstance(self.scorer, (Expansion, OneVsOne)):
            raise KindError(NO_VOTES)
        return dataclasses.replace(self, scorer=self.scorer.reduced(n, tol=tol))

    @property
    def rkhs_error(self) -> NDArray[np.float64]:
        """Of a reduced model: ‖f_c − g_c‖ / ‖f_c‖ of each output, its distance g from the model f before; read-only.

        The norm is that of the kernel's space, without intercepts. It bounds how far a score can be off:
        |f_c(x) − g_c(x)| ≤ rkhs_error[c] · ‖f_c‖ · √k(x, x).
        """
        if not isinstance(self.scorer, ReducedExpansion):
            raise AttributeError("only a model that `reduced` has made has an rkhs_error")
        return self.scorer.rkhs_error

    # ---------------------------------------------------------------- parts

    @property
    def kernel(self) -> Kernel:
        """The kernel."""
        return self._support_model("kernel").kernel

    @property
    def support(self) -> Rows:
        """The support vectors, as checked rows; read-only."""
        return self._support_model("support").support

    @property
    def row_ids(self) -> NDArray[np.int64]:
        """The index of each support vector in the training data; read-only."""
        return self._support_model("row_ids").row_ids

    @property
    def rows(self) -> NDArray[np.int64]:
        """The name of `row_ids` up to onkel 0.1."""
        row_ids = self._support_model("rows").row_ids
        warn_renamed("rows", "row_ids")
        return row_ids

    @property
    def coef(self) -> NDArray[np.float64]:
        """The coefficients of the support vectors, or the weights of a linear model; read-only."""
        return self._summed("coef").coef

    @property
    def intercept(self) -> NDArray[np.float64]:
        """The offsets that, with the terms of `explain`, sum to the scores; read-only."""
        intercept = self._summed("intercept").intercept
        if isinstance(self.decision, Outlier) and self.decision.threshold != 0:
            intercept = intercept - self.decision.threshold
            intercept.flags.writeable = False
        if isinstance(self.decision, Ranks):
            intercept = intercept - self.decision.thresholds  # one for each column of `scores`
            intercept.flags.writeable = False
        return intercept

    def _support_model(self, name: str) -> SupportModel:
        if not isinstance(self.scorer, SupportModel):
            raise AttributeError(f"a {type(self.scorer).__name__} has no {name}; it has coef and intercept")
        return self.scorer

    def _summed(self, name: str) -> Expansion | OneVsOne | LinearModel:
        if not isinstance(self.scorer, (Expansion, OneVsOne, LinearModel)):
            raise AttributeError(f"a {type(self.scorer).__name__} has no {name} of its own; see its `scorer`")
        return self.scorer

    # ---------------------------------------------------------------- input

    def _outputs(self, X: Any) -> NDArray[np.float64]:
        """The scorer's outputs for each row of X, checked."""
        return self.scorer.scores(self._rows(X))

    def _rows(self, X: Any) -> Rows:
        return rows_of(X, self._kernel, self.columns, type(self).__name__)

    def _row(self, x: Any) -> Rows:
        return row_of(x, self._kernel, self.columns, type(self).__name__)

    @property
    def _kernel(self) -> Kernel:
        """The kernel, which says what data the scorer takes; the linear one if it has none."""
        return self.scorer.kernel if isinstance(self.scorer, SupportModel) else Linear()

    # ---------------------------------------------------------------- state

    def state(self) -> State:
        """Scorer, decision and columns, as the parts of a `State`."""
        state = State(self.KIND, self.VERSION, {})
        for name, part in (("scorer", self.scorer), ("decision", self.decision), ("columns", self.columns)):
            state = state.with_part(name, part.state())
        return state

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The model that has this state."""
        state.expect(cls.KIND, cls.VERSION)
        scorer, decision = from_state(state.part("scorer"), "scorer/"), from_state(state.part("decision"), "decision/")
        if not isinstance(scorer, Scorer) or not isinstance(decision, Decision):
            raise InputError(
                f"the state of kind {cls.KIND!r} must have a scorer and a decision; got {type(scorer).__name__} and "
                f"{type(decision).__name__}."
            )
        columns = Columns.from_state(state.part("columns"))
        n = scorer.n_outputs
        state.check(_decides(decision, n), f"its decision, {type(decision).__name__}, must be about {n} outputs")
        state.check(_has_width(scorer, columns.n_features), f"its scorer must have {columns.n_features} features")
        return cls(scorer, decision, columns)


def _decides(decision: Decision, n_outputs: int) -> bool:
    """Whether a decision is about so many outputs."""
    if isinstance(decision, Ranks):
        return n_outputs == 1
    if not isinstance(decision, Classes):
        return n_outputs >= 1
    k = len(decision.labels)
    if decision.pairs is not None:
        return n_outputs == k * (k - 1) // 2
    return k == 1 or n_outputs == k or (k == 2 and n_outputs == 1)


def _has_width(scorer: Scorer, n_features: int | None) -> bool:
    """Whether a scorer takes rows of so many features: kernel values with so many points, if it takes these."""
    if isinstance(scorer, LinearModel):
        return bool(scorer.coef.shape[1] == n_features)
    if not isinstance(scorer, SupportModel):
        return False
    support = scorer.support
    if isinstance(support, VectorRows):
        return support.n_features == n_features
    if isinstance(support, GramRows) and support.columns is not None and len(support.columns):
        return n_features is not None and int(support.columns.max()) < n_features
    return True
