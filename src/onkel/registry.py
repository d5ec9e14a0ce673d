"""Static tables: all public names of the package `onkel`, the class of each kind of state, and what reads kernels.

`ENTRIES` serves the lazy imports of the package, the river adapters, and the contract tests, which test every estimator
that is listed here. `KINDS` serves `onkel.states.state.from_state`, and `FROM_CONFIG` its JSON, so that they need no
import of what they make. The module imports the standard library only.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

__all__ = ["ENTRIES", "FROM_CONFIG", "KINDS", "Entry", "Task", "estimators"]

Task = Literal["module", "function", "transform", "classify", "regress", "detect", "rank", "tag"]


class Entry(NamedTuple):
    """A public name: the module that defines it, its task, and whether it can learn one example at a time.

    `needs` is a package that its import needs and that is not installed with onkel, if there is one.
    """

    name: str
    module: str
    task: Task
    online: bool = False
    needs: str | None = None


ENTRIES = (
    Entry("bounds", "onkel.bounds", "module"),
    Entry("data", "onkel.data", "module"),
    Entry("errors", "onkel.errors", "module"),
    Entry("evaluate", "onkel.evaluate", "module"),
    Entry("features", "onkel.features", "module"),
    Entry("game", "onkel.game", "module"),
    Entry("gram", "onkel.gram", "module"),
    Entry("kernels", "onkel.kernels", "module"),
    Entry("models", "onkel.models", "module"),
    Entry("plot", "onkel.plot", "module"),
    Entry("river", "onkel.river", "module", needs="river"),
    Entry("inspect", "onkel.files", "function"),
    Entry("load", "onkel.files", "function"),
    Entry("progressive_validation", "onkel.evaluate", "function"),
    Entry("save", "onkel.files", "function"),
    Entry("KernelPerceptron", "onkel.estimators.perceptron", "classify", online=True),
    Entry("Perceptron", "onkel.estimators.perceptron", "classify", online=True),
    Entry("BudgetPerceptron", "onkel.estimators.budget_perceptrons", "classify", online=True),
    Entry("Forgetron", "onkel.estimators.budget_perceptrons", "classify", online=True),
    Entry("NormaClassifier", "onkel.estimators.norma", "classify", online=True),
    Entry("NormaOneClass", "onkel.estimators.norma", "detect", online=True),
    Entry("NormaRegressor", "onkel.estimators.norma", "regress", online=True),
    Entry("OnlineSVC", "onkel.estimators.online_svm", "classify", online=True),
    Entry("PassiveAggressiveClassifier", "onkel.estimators.passive_aggressive", "classify", online=True),
    Entry("PassiveAggressiveRegressor", "onkel.estimators.passive_aggressive", "regress", online=True),
    Entry("PRank", "onkel.estimators.prank", "rank", online=True),
    Entry("Projectron", "onkel.estimators.budget_perceptrons", "classify", online=True),
    Entry("RecursiveKernelRidge", "onkel.estimators.recursive_ridge", "regress", online=True),
    Entry("SequencePerceptron", "onkel.estimators.tagging.sequence_perceptron", "tag", online=True),
    Entry("RankingPerceptron", "onkel.estimators.ranking", "rank", online=True),
    Entry("KernelRidge", "onkel.estimators.ridge.kernel_ridge", "regress"),
    Entry("KernelRidgeCV", "onkel.estimators.ridge.cv", "regress"),
    Entry("KernelRidgeClassifier", "onkel.estimators.ridge.classifier", "classify"),
    Entry("OneClassSVM", "onkel.estimators.svm.machines", "detect"),
    Entry("SVC", "onkel.estimators.svm.machines", "classify"),
    Entry("SVR", "onkel.estimators.svm.machines", "regress"),
    Entry("EigenMap", "onkel.features", "transform"),
    Entry("NystroemMap", "onkel.features", "transform"),
    Entry("PolynomialMap", "onkel.features", "transform"),
    Entry("RandomFourierMap", "onkel.features", "transform"),
)

LEARNED = ("transform", "classify", "regress", "detect", "rank", "tag")  # the tasks of estimators
FROM_CONFIG = "onkel.kernels.config:from_config"  # a kernel from its config
# The kind of a state → the class that has `from_state` for it, as "module:Class".
KINDS = {
    "model/score": "onkel.models.model:ScoreModel",
    "features/templates": "onkel.text.template_features:TemplateFeatures",
    "features/strings": "onkel.text.string_features:StringFeatures",
    "features/vectors": "onkel.text.string_features:VectorFeatures",
    "columns/plain": "onkel.models.columns:Columns",
    "scorer/expansion": "onkel.models.expansion:Expansion",
    "scorer/reduced": "onkel.models.expansion:ReducedExpansion",
    "scorer/linear": "onkel.models.linear:LinearModel",
    "scorer/one-vs-one": "onkel.models.one_vs_one:OneVsOne",
    "scorer/vote": "onkel.models.vote:Vote",
    "model/tagger": "onkel.models.tagging.tagger:Tagger",
    "scorer/linear-tokens": "onkel.models.tagging.token_scorer:LinearTokens",
    "scorer/voted-tokens": "onkel.models.tagging.voted_tokens:VotedTokens",
    "scorer/linear-run": "onkel.models.tagging.voted_tokens:LinearRun",
    "scorer/kernel-run": "onkel.models.tagging.kernel_tokens:KernelRun",
    "scorer/kernel-tokens": "onkel.models.tagging.kernel_tokens:KernelTokens",
    "model/ranking": "onkel.models.ranking:RankingModel",
    "scorer/item-vote": "onkel.models.ranking:ItemVote",
    "decision/classes": "onkel.models.decision:Classes",
    "decision/number": "onkel.models.decision:Number",
    "decision/outlier": "onkel.models.decision:Outlier",
    "decision/ranks": "onkel.models.decision:Ranks",
    "columns/vocabulary": "onkel.models.vocabulary:Vocabulary",
    "targets/labels": "onkel.estimators.base.labels:Labels",
    "targets/grades": "onkel.estimators.base.grades:Grades",
    "targets/numbers": "onkel.estimators.base.targets:Numbers",
    "targets/queries": "onkel.estimators.base.targets:Queries",
    "targets/none": "onkel.estimators.base.targets:Unlabelled",
    "learner/linear-perceptron": "onkel.learners.perceptron.linear:LinearPerceptronLearner",
    "learner/kernel-perceptron": "onkel.learners.perceptron.kernel:KernelPerceptronLearner",
    "learner/linear-prank": "onkel.learners.perceptron.prank:LinearPRankLearner",
    "learner/kernel-prank": "onkel.learners.perceptron.prank:KernelPRankLearner",
    "learner/linear-ranking": "onkel.learners.perceptron.ranking:LinearRankingLearner",
    "learner/kernel-ranking": "onkel.learners.perceptron.ranking:KernelRankingLearner",
    "learner/budgeted": "onkel.learners.budgeted.learner:BudgetedLearner",
    "learner/projecting": "onkel.learners.projectron.learner:ProjectingLearner",
    "learner/whitened-sums": "onkel.solvers.ridge.whitened_sums:WhitenedSums",
    "learner/recursive-ridge": "onkel.learners.recursive_ridge.learner:RecursiveRidgeLearner",
    "learner/lasvm": "onkel.learners.lasvm.learner:LasvmLearner",
    "learner/ridge-posterior": "onkel.solvers.ridge.posterior:RidgePosterior",
    "learner/structured": "onkel.learners.tagging.structured:StructuredLearner",
    "learner/kernel-tagging": "onkel.learners.tagging.kernel:KernelTagLearner",
    "form/linear": "onkel.estimators.tagging.form:LinearForm",
    "form/kernel": "onkel.estimators.tagging.kernel_form:KernelForm",
    **{f"estimator/{entry.name}": f"{entry.module}:{entry.name}" for entry in ENTRIES if entry.task in LEARNED},
}


def estimators() -> tuple[Entry, ...]:
    """The entries that are scikit-learn estimators."""
    return tuple(entry for entry in ENTRIES if entry.task not in ("module", "function"))
