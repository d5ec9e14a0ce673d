"""Models: the frozen results of learning, which predict by themselves.

A `ScoreModel` is what an estimator shows as `model_`. It consists of a scorer, which computes scores from rows
(`Expansion`, `LinearModel`, `OneVsOne`, `Vote`), a decision, which makes labels of scores (`Classes`, `Ranks`,
`Number`, `Outlier`), and the `Columns` of the data. All of them are frozen, so that several threads can predict at
once, and are equal if all that they hold is equal. A learner changes with every example, and its estimator builds a new
model when it has learned something.

``model_.reduced(n)`` is a model over n support vectors that is as near as they can be; its scorer is a
`ReducedExpansion`, which says how near.

A `RankingModel` is a `ScoreModel` that also finds the best item of a query; its scorer may be an `ItemVote`.

A `State` holds what a model, a learner or an estimator is made of, as plain settings and named arrays; `from_state`
makes the object again.
"""

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

__all__ = [
    "Classes",
    "Columns",
    "Contribution",
    "Decision",
    "Expansion",
    "FeatureContribution",
    "ItemVote",
    "LinearModel",
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
    "Vote",
    "from_state",
]
