"""Small fitted estimators of every kind for the tests of hostile states, and everything that can be done with them."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from contract.registered import BUDGETED, CLASSIFIERS, EVERY, ONLINE, data, has, new, part
from sklearn.exceptions import NotFittedError

import onkel
from onkel import features, kernels
from onkel.errors import OnkelError
from onkel.kernels import RBF

N = 14  # rows


class Case(NamedTuple):
    """A fitted estimator, and calls of it: (method, arguments)."""

    estimator: Any
    calls: list[tuple[str, tuple[Any, ...]]]


def _case(cls: type, params: dict[str, Any], convert: Callable[[Any], Any] = np.asarray, classes: int = 2) -> Case:
    X, y = data(cls, n=N, classes=classes)
    rows = convert(X)
    small = {"budget": 5} if cls in BUDGETED else {}
    if has(cls, "keep_factor") and "solver" not in params:
        params = {"keep_factor": True} | params
    estimator = new(cls, **small | params)
    first = rows[:10]
    estimator.fit(first, part(y, slice(10)))
    calls: list[tuple[str, tuple[Any, ...]]] = [("predict", (first,))]
    last = rows[10:]
    if cls in ONLINE:
        one = last.iloc[0] if hasattr(last, "iloc") else last[0] if isinstance(last, list) else last[[0]]
        if isinstance(one, np.ndarray):
            one = one[0]
        calls += [("predict_one", (one,)), ("learn_one", (one, part(y, 10))), ("predict_one", (one,))]
        calls += [("partial_fit", (last, part(y, slice(10, None)))), ("predict", (first,))]
    elif params.get("solver") == "nystrom":
        calls += [("partial_fit", (last, part(y, slice(10, None)))), ("predict", (first,)), ("refit_alpha", ())]
    if cls.__name__ == "KernelRidge":
        calls += [("predict", (first, True))]
    if cls.__name__ == "SVC":
        calls += [("fit", (first, y[:10]))]  # a warm start
    return Case(estimator, calls)


def _late(cls: type, **params: Any) -> Case:
    """An online classifier whose third class has turned up late, and whose fourth has not come yet."""
    X, y = data(CLASSIFIERS[0], n=N, classes=3)
    names = np.array(["b", "a", "c"])[y]
    estimator = new(cls, **({"budget": 5} if cls in BUDGETED else {}), **params)
    estimator.partial_fit(X[:2], names[:2]).partial_fit(X[2:9], names[2:9])
    calls = [("predict", (X,)), ("predict_one", (X[0],)), ("learn_one", (X[9], "d")), ("predict", (X,))]
    return Case(estimator, [*calls, ("partial_fit", (X[10:], names[10:])), ("predict_one", (X[0],))])


def _words(n: int) -> list[dict[str, float]]:
    """Dicts with few of many features."""
    return [{f"w{(7 * i + 3 * j * j) % 97}": 1.0 + j for j in range(3)} for i in range(n)]


def _dicts(cls: type, examples: list[dict[str, float]], **params: Any) -> Case:
    y = np.arange(len(examples)) % 2
    estimator = new(cls, **({"budget": 5} if cls in BUDGETED else {}), **params)
    estimator.partial_fit(examples[:-3], y[:-3], [0, 1])
    calls = [("predict", (examples,)), ("predict_one", (examples[0],)), ("learn_one", (examples[-1], 1))]
    return Case(estimator, [*calls, ("partial_fit", (examples[-3:], y[-3:])), ("predict", (examples,))])


def _ranker(**params: Any) -> Case:
    rng = np.random.default_rng(0)
    X, qid = rng.normal(size=(N, 2)), np.arange(N) // 3
    y = np.round(2 * X[:, 0])
    estimator = onkel.RankingPerceptron(random_state=0, max_iter=2, **params).fit(X[:9], y[:9], qid[:9])
    calls = [("predict", (X,)), ("predict_one", (X[:3],)), ("learn_one", (X[:3], 1)), ("find_best", (X,))]
    return Case(estimator, [*calls, ("partial_fit", (X[9:], y[9:], qid[9:])), ("predict", (X,))])


SENTENCES = [["the", "cat", "sat"], ["a", "big", "dog"], ["the", "dog", "ran"], ["a", "cat"]]
TAGS = [["DT", "NN", "VB"], ["DT", "JJ", "NN"], ["DT", "NN", "VB"], ["DT", "NN"]]
WORDS = sorted({word for sentence in SENTENCES for word in sentence})
FORMS: dict[str, tuple[dict[str, Any], Any]] = {
    "strings": ({}, [[[f"w={word}"] for word in s] for s in SENTENCES]),
    "dicts": ({}, [[{"w": word, "size": len(word) / 2} for word in s] for s in SENTENCES]),
    "templates": ({"templates": "U0:%x[0,0]\nU1:%x[-1,0]/%x[0,0]\nB\nB1:%x[0,0]"}, SENTENCES),
    "matrices": ({}, [np.array([[float(word == w) for w in WORDS] for word in s]) for s in SENTENCES]),
    "hashed": ({"n_bits": 4}, [[[f"w={word}"] for word in s] for s in SENTENCES]),
    "order 2": ({"order": 2, "margin": 0.5}, [[[f"w={word}"] for word in s] for s in SENTENCES]),
    "voted": ({"hypothesis": "voted", "n_voters": 3}, [[[f"w={word}"] for word in s] for s in SENTENCES]),
    "kernel": (
        {"kernel": RBF(gamma=0.5), "hypothesis": "voted", "n_voters": 3},
        [np.array([[float(word == w) for w in WORDS] for word in s]) for s in SENTENCES],
    ),
}


def _tagger(form: str, *, late: bool = False) -> Case:
    params, X = FORMS[form]
    estimator = onkel.SequencePerceptron(**{"random_state": 0, "max_iter": 9} | params)
    if late:
        estimator.partial_fit(X[:1], TAGS[:1])
    else:
        estimator.fit(X, TAGS)
    calls: list[Any] = [("predict", (X,)), ("predict_one", (X[0],)), ("learn_one", (X[3], TAGS[3]))]
    return Case(estimator, [*calls, ("partial_fit", (X[1:2], TAGS[1:2])), ("predict", (X,))])


def _map(estimator: Any, X: Any) -> Case:
    calls: list[tuple[str, tuple[Any, ...]]] = [("transform", (X,)), ("get_feature_names_out", ())]
    if hasattr(estimator, "partial_fit"):
        calls += [("partial_fit", (X,)), ("transform", (X,))]
    return Case(estimator.fit(X), calls)


def _frame(X: Any) -> Any:
    return pd.DataFrame(X, columns=["first", "second"])


def cases() -> dict[str, Callable[[], Case]]:
    """The names of the cases, and what makes them."""
    found: dict[str, Callable[[], Case]] = {}
    for cls in EVERY:
        name = cls.__name__
        found[name] = functools.partial(_case, cls, {})
        if has(cls, "kernel"):
            found[f"{name} by name"] = functools.partial(_case, cls, {"kernel": "rbf"}, _frame)
        if cls in CLASSIFIERS:
            found[f"{name} sparse, 3 classes"] = functools.partial(_case, cls, {}, sp.csr_array, 3)
        if cls in CLASSIFIERS and cls in ONLINE:
            found[f"{name} late"] = functools.partial(_late, cls)
            found[f"{name} dicts"] = functools.partial(_dicts, cls, _words(60))
    X = data(EVERY[0], n=8)[0]
    found["KernelPerceptron voted"] = functools.partial(_late, onkel.KernelPerceptron, hypothesis="voted")
    few = [{"a": float(i), "b": 1.0} for i in range(8)]
    found["KernelPerceptron few dicts"] = functools.partial(_dicts, onkel.KernelPerceptron, few, random_state=3)
    found["KernelRidge sums"] = functools.partial(_case, onkel.KernelRidge, {"solver": "nystrom", "n_centers": 4})
    found["KernelRidgeClassifier sums"] = functools.partial(
        _case, onkel.KernelRidgeClassifier, {"solver": "nystrom", "n_centers": 4}, np.asarray, 3
    )
    weights = {"class_weight": {0: 2.0, 1: 1.0}, "random_state": np.random.RandomState(1), "warm_start": True}
    found["SVC weights"] = functools.partial(_case, onkel.SVC, weights)
    found["PRank"] = lambda: _late(onkel.PRank)
    found["PRank kernel"] = lambda: _late(onkel.PRank, kernel=RBF(gamma=0.5))
    for hypothesis, kernel in (("averaged", "linear"), ("voted", "linear"), ("last", RBF(gamma=0.5))):
        found[f"RankingPerceptron {hypothesis}"] = functools.partial(_ranker, hypothesis=hypothesis, kernel=kernel)
    for form in FORMS:
        found[f"SequencePerceptron {form}"] = functools.partial(_tagger, form)
    found["SequencePerceptron late"] = functools.partial(_tagger, "strings", late=True)
    found["EigenMap"] = lambda: _map(features.EigenMap(RBF(gamma=0.5)), X)
    found["EigenMap gram"] = lambda: _map(features.EigenMap(kernels.Precomputed()), X @ X.T)
    found["NystroemMap"] = lambda: _map(features.NystroemMap(4, random_state=0), X)
    found["NystroemMap centers"] = lambda: _map(features.NystroemMap(centers=X[:3].tolist()), sp.csr_array(X))
    found["PolynomialMap"] = lambda: _map(features.PolynomialMap(), X)
    found["RandomFourierMap"] = lambda: _map(features.RandomFourierMap(5, random_state=0), X)
    found["unfitted"] = lambda: Case(onkel.SVC(class_weight={0: 1.0}, random_state=np.random.RandomState(0)), [])
    return found


CASES = cases()


@functools.cache
def case(name: str) -> Case:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CASES[name]()


# ---------------------------------------------------------------- use

# what may be said about data that the estimator was not trained on: names and numbers of columns, by scikit-learn
OTHER_DATA = ("feature names", "features, but", "Unknown label type")
RAW = ("NoneType", "mappingproxy", "'tuple' object", "'str' object", "'int' object", "'float' object", "'list' object")


def use(estimator: Any, calls: list[tuple[str, tuple[Any, ...]]]) -> None:
    """Calls everything; raises if something goes wrong in another way than by an error of onkel."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        _show(estimator)
        for method, arguments in calls:
            _attempt(lambda method=method, arguments=arguments: getattr(estimator, method)(*arguments))
        _show(estimator)


def _show(estimator: Any) -> None:
    for name in dir(estimator):
        if name.endswith("_") and not name.startswith("_"):
            found = _attempt(lambda name=name: getattr(estimator, name))
            if name == "certificate_" and found is not None:
                assert str(found)
    _attempt(lambda: type(estimator).from_state(estimator.state()))


def _attempt(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except (OnkelError, NotFittedError):
        return None
    except AttributeError as error:
        if any(words in str(error) for words in RAW):
            raise
    except ValueError as error:
        if not any(words in str(error) for words in OTHER_DATA):
            raise
    return None
