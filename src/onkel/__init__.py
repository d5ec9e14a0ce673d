"""onkel: ONline KErnel Learning, models that learn only from their mistakes.

Importing onkel loads the standard library only. The public names are listed in `onkel.registry`; the module of a name
is loaded when the name is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from onkel.registry import ENTRIES

if TYPE_CHECKING:
    from onkel import bounds as bounds
    from onkel import data as data
    from onkel import errors as errors
    from onkel import evaluate as evaluate
    from onkel import features as features
    from onkel import game as game
    from onkel import gram as gram
    from onkel import kernels as kernels
    from onkel import models as models
    from onkel import plot as plot
    from onkel import river as river
    from onkel.estimators.budget_perceptrons import BudgetPerceptron as BudgetPerceptron
    from onkel.estimators.budget_perceptrons import Forgetron as Forgetron
    from onkel.estimators.budget_perceptrons import Projectron as Projectron
    from onkel.estimators.norma import NormaClassifier as NormaClassifier
    from onkel.estimators.norma import NormaOneClass as NormaOneClass
    from onkel.estimators.norma import NormaRegressor as NormaRegressor
    from onkel.estimators.online_svm import OnlineSVC as OnlineSVC
    from onkel.estimators.passive_aggressive import PassiveAggressiveClassifier as PassiveAggressiveClassifier
    from onkel.estimators.passive_aggressive import PassiveAggressiveRegressor as PassiveAggressiveRegressor
    from onkel.estimators.perceptron import KernelPerceptron as KernelPerceptron
    from onkel.estimators.perceptron import Perceptron as Perceptron
    from onkel.estimators.prank import PRank as PRank
    from onkel.estimators.ranking import RankingPerceptron as RankingPerceptron
    from onkel.estimators.recursive_ridge import RecursiveKernelRidge as RecursiveKernelRidge
    from onkel.estimators.ridge.classifier import KernelRidgeClassifier as KernelRidgeClassifier
    from onkel.estimators.ridge.cv import KernelRidgeCV as KernelRidgeCV
    from onkel.estimators.ridge.kernel_ridge import KernelRidge as KernelRidge
    from onkel.estimators.svm.machines import SVC as SVC
    from onkel.estimators.svm.machines import SVR as SVR
    from onkel.estimators.svm.machines import OneClassSVM as OneClassSVM
    from onkel.estimators.tagging.sequence_perceptron import SequencePerceptron as SequencePerceptron
    from onkel.evaluate import progressive_validation as progressive_validation
    from onkel.features import EigenMap as EigenMap
    from onkel.features import NystroemMap as NystroemMap
    from onkel.features import PolynomialMap as PolynomialMap
    from onkel.features import RandomFourierMap as RandomFourierMap
    from onkel.files import inspect as inspect
    from onkel.files import load as load
    from onkel.files import save as save

__version__ = "0.1.0.dev0"
# `from onkel import *` must work on a plain install, and must not hide the package river.
__all__ = sorted(entry.name for entry in ENTRIES if entry.needs is None)

_ENTRIES = {entry.name: entry for entry in ENTRIES}


def __getattr__(name: str) -> Any:
    entry = _ENTRIES.get(name)
    if entry is None:
        raise AttributeError(f"module 'onkel' has no attribute {name!r}")
    module = importlib.import_module(entry.module)
    value = module if entry.task == "module" else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*_ENTRIES, "__version__"]
