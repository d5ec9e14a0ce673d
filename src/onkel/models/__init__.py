"""Models: the frozen results of learning, which predict by themselves.

A model is what an estimator shows as `model_`, and what files and servers hold. It needs neither the estimator nor the
algorithm that has learned it. All models, and all that they consist of, are frozen, so that several threads can predict
at once, and are equal if all that they hold is equal. A learner changes with every example, and its estimator builds a
new model when it has learned something.

`ScoreModel` predicts for rows. It has three parts:

    scorer     rows → scores            `Expansion` and `ReducedExpansion` (a kernel), `LinearModel`, `OneVsOne`, `Vote`
    decision   scores → predictions     `Classes`, `Ranks`, `Number`, `Outlier`
    columns    the features of the data, with their names: `Columns`

`RankingModel` is a `ScoreModel` that also finds the best item of a query; its scorer may be an `ItemVote`. `Tagger`
labels sentences; its scorer (`LinearTokens`, `KernelTokens`, `MarkovTokens`, `VotedTokens`) gives the scores of labels
and of neighbouring labels. ``model_.reduced(n)`` is a model over n support vectors that is as near as they can be.

``model_.explain(x)`` is a list of `Contribution` (of support vectors) or `FeatureContribution`; of a tagger, an
`Explanation`. `Model`, `Scorer`, `TokenScorer` and `Decision` are the protocols: whatever has their methods will do.

A `State` holds what a model, a learner or an estimator is made of, as plain settings and named arrays; `from_state`
makes the object again.

>>> from onkel import KernelPerceptron
>>> from onkel.models import Classes, Expansion, from_state
>>> model = KernelPerceptron(kernel="linear").fit([[-1.0], [2.0]], ["low", "high"]).model_
>>> isinstance(model.scorer, Expansion), isinstance(model.decision, Classes), from_state(model.state()) == model
(True, True, True)
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from onkel.models.columns import Columns
from onkel.models.decision import Classes, Decision, Number, Outlier, Ranks
from onkel.models.expansion import Expansion, ReducedExpansion
from onkel.models.linear import FeatureContribution, LinearModel
from onkel.models.model import Model, ScoreModel
from onkel.models.one_vs_one import OneVsOne
from onkel.models.ranking import ItemVote, RankingModel
from onkel.models.scorer import Contribution, Scorer
from onkel.models.vote import Vote
from onkel.states.state import State, from_state

if TYPE_CHECKING:
    from onkel.models.tagging.kernel_tokens import KernelTokens
    from onkel.models.tagging.markov_tokens import MarkovTokens
    from onkel.models.tagging.tagger import Explanation, FeatureWeight, Labelling, Tagger, TokenTerms
    from onkel.models.tagging.token_scorer import LinearTokens, TokenScorer
    from onkel.models.tagging.voted_tokens import VotedTokens

__all__ = [
    "Classes",
    "Columns",
    "Contribution",
    "Decision",
    "Expansion",
    "Explanation",
    "FeatureContribution",
    "FeatureWeight",
    "ItemVote",
    "KernelTokens",
    "Labelling",
    "LinearModel",
    "LinearTokens",
    "MarkovTokens",
    "Model",
    "Number",
    "OneVsOne",
    "Outlier",
    "RankingModel",
    "Ranks",
    "ReducedExpansion",
    "ScoreModel",
    "Scorer",
    "State",
    "Tagger",
    "TokenScorer",
    "TokenTerms",
    "Vote",
    "VotedTokens",
    "from_state",
]

# Names that are imported when they are first used: what is about tags takes half as long to import as all the rest.
_LATER = {
    "Explanation": "tagger",
    "FeatureWeight": "tagger",
    "KernelTokens": "kernel_tokens",
    "Labelling": "tagger",
    "LinearTokens": "token_scorer",
    "MarkovTokens": "markov_tokens",
    "Tagger": "tagger",
    "TokenScorer": "token_scorer",
    "TokenTerms": "tagger",
    "VotedTokens": "voted_tokens",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'onkel.models' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"onkel.models.tagging.{_LATER[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
