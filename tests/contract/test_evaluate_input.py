"""What progressive validation and baselines refuse, before anything is learned."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, SGDRegressor

from onkel import Perceptron, progressive_validation
from onkel.data import Stream
from onkel.errors import InputError, KindError, ParameterError
from onkel.evaluate import baselines

STREAM = Stream(np.eye(4), [0, 1, 0, 1])


@pytest.mark.parametrize("name", ["chunk", "every", "window"])
@pytest.mark.parametrize(("value", "error"), [(0, ParameterError), (1.5, KindError), (None, KindError)])
def test_counts_are_whole_and_positive(name, value, error):
    with pytest.raises(error, match=f"progressive_validation: {name} must be a whole number >= 1; got {value}"):
        progressive_validation(Perceptron(), STREAM, **{name: value})


def test_what_cannot_learn_bit_by_bit_is_refused():
    with pytest.raises(
        KindError, match=r"estimator must have predict and partial_fit, or predict_one and learn_one; got Logistic"
    ):
        progressive_validation(LogisticRegression(), STREAM)

    class Single:
        def learn_one(self, x, y): ...
        def predict_one(self, x): ...

    with pytest.raises(KindError, match=r"estimator must have predict and partial_fit where chunk > 1; got"):
        progressive_validation(Single(), STREAM, chunk=2)
    with pytest.raises(KindError, match="classes are for partial_fit, which Single does not have"):
        progressive_validation(Single(), STREAM, classes=[0, 1])
    assert len(list(progressive_validation(Single(), STREAM))) == 1


def test_metrics_that_do_not_fit_are_refused():
    of_classes = r"metrics of a classifier are accuracy, error, balanced_accuracy, f1 or objects .*; got 'mae'"
    with pytest.raises(ParameterError, match=of_classes):
        progressive_validation(Perceptron(), STREAM, "mae")
    with pytest.raises(ParameterError, match=r"metrics of a regressor are mae, mse, r2 or objects .*; got 'accuracy'"):
        progressive_validation(SGDRegressor(), STREAM, {"a": "accuracy"})
    with pytest.raises(KindError, match="a metric must be a name or an object with update and get; got 3"):
        progressive_validation(Perceptron(), STREAM, [3])
    with pytest.raises(KindError, match="a metric must be a name or an object with update and get; got <class"):
        progressive_validation(Perceptron(), STREAM, [Counted])
    with pytest.raises(ParameterError, match=r"metrics must have different names; got \['f1', 'f1'\]\. Give a dict"):
        progressive_validation(Perceptron(), STREAM, ["f1", "f1"])


class Counted:
    def update(self, y_true, y_pred): ...
    def get(self): ...


def test_a_stream_that_is_none_or_empty_is_refused():
    with pytest.raises(KindError, match="pairs must be an iterable of pairs"):
        progressive_validation(Perceptron(), np.eye(4))
    with pytest.raises(InputError, match="stream must have at least one example; got none"):
        list(progressive_validation(Perceptron(), iter([])))
    with pytest.raises(InputError, match="y must have at least one label; got none"):
        baselines([])


def test_dicts_may_come_one_by_one_in_chunks_and_with_classes():
    stream = [({"a": 1.0}, 0), ({"b": 1.0}, 1)]
    for options in ({"chunk": 2}, {"classes": [0, 1]}, {"chunk": 2, "classes": [0, 1]}):
        *_, last = progressive_validation(Perceptron(), stream, **options)
        assert last.examples == 2
    *_, last = progressive_validation(Perceptron(), stream)
    assert (last.examples, last.mistakes) == (2, 2)


def test_what_the_estimator_refuses_stays_refused_and_is_not_learned():
    estimator = Perceptron()
    records = progressive_validation(estimator, [([1.0], 0), ([2.0], 1), ([np.nan], 0)], every=1)
    assert [next(records).examples, next(records).examples] == [1, 2]
    with pytest.raises(ValueError, match="finite"):
        next(records)
    assert estimator.n_rounds_ == 2
