"""Everything that can be done with an estimator, whoever wrote its state."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError
from specimen import Specimen, one_of

from onkel.errors import OnkelError

Calls = list[tuple[str, tuple[Any, ...]]]


def calls_of(specimen: Specimen) -> Calls:
    """Calls (method, arguments) of all that a specimen can do, with its own data."""
    first, probes, more, ones, _ = specimen.data
    if probes is None:
        return []
    one = probes[:3] if specimen.estimator == "RankingPerceptron" else one_of(probes, 0)  # a query is several rows
    calls: Calls = [("predict", (probes,)), ("predict_one", (one,)), ("find_best", (probes,))]
    calls += [("transform", (probes,)), ("get_feature_names_out", ())]
    for x, y in ones[:1]:
        calls += [("learn_one", (x, y)), ("predict_one", (one,))]
    if more or specimen.task == "transform":
        calls += [("partial_fit", more or first), ("predict", (probes,)), ("transform", (probes,)), ("refit_alpha", ())]
    if specimen.estimator == "KernelRidge":
        calls += [("predict", (probes, True))]
    if specimen.estimator == "SVC":
        calls += [("fit", first)]  # a warm start
    return [(method, arguments) for method, arguments in calls if hasattr(type(specimen.new()), method)]


# what may be said about data that the estimator was not trained on: names and numbers of columns, by scikit-learn
OTHER_DATA = ("feature names", "features, but", "Unknown label type")
RAW = ("NoneType", "mappingproxy", "'tuple' object", "'str' object", "'int' object", "'float' object", "'list' object")


def use(estimator: Any, calls: Calls) -> None:
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
