"""The measures of rankings refuse what they cannot use, and say why."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from onkel.errors import InputError, KindError, ParameterError, ShapeError, ValuesError
from onkel.evaluate import mean_average_precision, mean_reciprocal_rank, ndcg

EVERY = [ndcg, mean_average_precision, mean_reciprocal_rank]
GRADES, SCORES = [2, 0, 1], [0.5, 0.1, 0.9]
BAD = [
    (([], []), ShapeError, r"y_true must have shape \(n,\)"),
    (([[1, 0]], [[0.5, 0.1]]), ShapeError, r"y_true must have shape \(n,\).*got shape \(1, 2\)"),
    ((GRADES, SCORES[:2]), ShapeError, "y_true and y_score must be of one length; got 3 and 2"),
    ((GRADES, SCORES, [1, 1]), ShapeError, r"qid must have shape \(3,\).*got \(2,\)"),
    ((GRADES, SCORES, [1, "a", None]), (KindError, ShapeError), "qid must"),
    ((["good", "bad", "bad"], SCORES), KindError, "y_true must hold real numbers"),
    (([None, "x", 1], SCORES), KindError, "y_true must hold real numbers"),
    ((GRADES, [1j, 0, 0]), KindError, "y_score must hold real numbers"),
    (([np.nan, 1, 0], SCORES), ValuesError, "y_true must be finite"),
    ((GRADES, [np.inf, 1, 0]), ValuesError, "y_score must be finite"),
    (([-1, 1, 0], SCORES), ValuesError, "y_true must hold grades >= 0; got -1"),
    (([0, 0, 0], SCORES), InputError, "y_true must hold a grade > 0 in at least one query; got none"),
]


@pytest.mark.parametrize("measure", EVERY)
@pytest.mark.parametrize(("arguments", "error", "message"), BAD)
def test_bad_input_is_refused_with_the_name_of_the_function(measure, arguments, error, message):
    with pytest.raises(error, match=f"^{measure.__name__}: {message}"):
        measure(*arguments)


@pytest.mark.parametrize("measure", EVERY[:2])
@pytest.mark.parametrize(
    ("k", "error"), [(0, ParameterError), (-1, ParameterError), (1.5, KindError), ("5", KindError)]
)
def test_k_must_be_a_whole_number(measure, k, error):
    with pytest.raises(error, match="k must be a whole number >= 1; got"):
        measure(GRADES, SCORES, k=k)


def test_an_unknown_gain_and_grades_without_a_finite_gain_are_refused():
    with pytest.raises(ParameterError, match="gain must be one of exponential, linear; got 'cubic'"):
        ndcg(GRADES, SCORES, gain="cubic")
    with pytest.raises(ValuesError, match=r"y_true must be at most 1000.*got 2000"):
        ndcg([2000, 0, 1], SCORES)
    assert ndcg([2000, 0, 1], SCORES, gain="linear") < 1


@pytest.mark.parametrize("measure", EVERY)
def test_columns_of_a_frame_do_and_nothing_is_changed(measure):
    frame = pd.DataFrame({"grade": GRADES, "score": SCORES, "query": ["a", "b", "a"]})
    before = frame.copy()
    assert isinstance(measure(frame["grade"], frame["score"], frame["query"]), float)
    pd.testing.assert_frame_equal(frame, before)
