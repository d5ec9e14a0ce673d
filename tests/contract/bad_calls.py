"""What every estimator refuses: bad data, bad parameters, and bad calls of a fitted estimator, with their messages.

Bad data is made from good data, two features and as many targets as rows, by ``spoil(X, y) -> X, y``; it comes with the
message that `fit` and `partial_fit` give. A bad call is ``call(estimator, X, y)``, with the error and its message; the
estimator was fitted on X and y. Classifiers have the labels 0 and 1; y is None for estimators without targets.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from onkel.errors import InputError, KindError, OnkelError, ParameterError, ShapeError, ValuesError


def with_one(value, X):
    X = X.copy()
    X[3, 1] = value
    return X


def some(y, value):
    """A target for each kind of estimator."""
    return None if y is None else value


# ---------------------------------------------------------------- data

BAD_X = {
    "nan": (lambda X, y: (with_one(np.nan, X), y), "Input X contains NaN"),
    "inf": (lambda X, y: (with_one(np.inf, X), y), "Input X contains infinity"),
    "1-D X": (lambda X, y: (X[:, 0], y), "Expected 2D array, got 1D array instead"),
    "3-D X": (lambda X, y: (X[None], y), "dim 3"),
    "strings": (lambda X, y: (np.full(X.shape, "a"), y), "could not convert string to float|dtype"),
    "complex": (lambda X, y: (X + 1j, y), "Complex data not supported"),
    "empty": (lambda X, y: (X[:0], None if y is None else y[:0]), "Found array with 0 sample"),
    "no columns": (lambda X, y: (X[:, :0], y), "0 feature"),
}
BAD_Y = {
    "short y": (lambda X, y: (X, y[:-1]), "inconsistent numbers of samples"),
    "nan y": (lambda X, y: (X, np.where(np.arange(len(y)) == 3, np.nan, y)), "Input y contains NaN"),
    "no y": (lambda X, y: (X, None), "requires y to be passed, but the target y is None"),
}
BAD_SHAPES = {
    "2-D y": (lambda X, y: (X, np.c_[y, y]), "y should be a 1d array"),
}
BAD_LABELS = {
    "continuous y": (lambda X, y: (X, y + 0.5 * X[:, 0]), "Unknown label type: continuous"),
    "mixed y": (
        lambda X, y: (X, np.array(["a", *y[1:].tolist()], dtype=object)),
        r"y must hold labels of one kind, all numbers or all strings; got 'a' \(str\) and 1 \(int\)\. Make them alike",
    ),
    "mixed y, a number first": (
        lambda X, y: (X, np.array([*y[:-1].tolist(), 2.0, "a"][1:], dtype=object)),
        r": y must hold labels of one kind.*; got 1 \(int\) and 'a' \(str\)\..* \[str\(label\) for label in",
    ),
    "none among y": (
        lambda X, y: (X, np.array(["a", None, *y[2:].astype(str)], dtype=object)),
        r"got 'a' \(str\) and None \(NoneType\)",
    ),
    "y without an order": (
        lambda X, y: (X, np.array([{"a": label} for label in y.tolist()])),
        r"y must hold labels of one kind.*; got \{'a': 0\} \(dict\) and \{'a': 0\} \(dict\)",
    ),
}
BAD_NUMBERS = {
    "complex y": (lambda X, y: (X, y + 0j), "Complex data not supported"),
    "none among y": (
        lambda X, y: (X, np.array([*y[:3], None, *y[4:]], dtype=object)),
        "y must be finite; got 1 NaN or infinite value.*, the first a NaN at position 3",
    ),
    "words for y": (lambda X, y: (X, np.full(len(y), "a")), "could not convert string|dtype|numeric"),
    "infinite y": (lambda X, y: (X, np.where(np.arange(len(y)) == 3, np.inf, y)), "Input y contains infinity"),
}

# ---------------------------------------------------------------- calls

BAD_CALLS = {
    "complex weights": (
        lambda m, X, y: m.fit(X, y, sample_weight=np.ones(len(X)) + 1j),
        ValueError,
        "sample_weight must hold real numbers; got dtype complex128",
    ),
    "weights that are words": (
        lambda m, X, y: m.fit(X, y, sample_weight=["heavy"] * len(X)),
        ValueError,
        "sample_weight must hold real numbers",
    ),
    "too few weights": (lambda m, X, y: m.fit(X, y, sample_weight=[1.0, 2.0]), ValueError, "sample_weight.shape"),
    "nan weight": (
        lambda m, X, y: m.fit(X, y, sample_weight=np.full(len(X), np.nan)),
        ValueError,
        "sample_weight must be finite; got",
    ),
    "infinite weight": (
        lambda m, X, y: m.fit(X, y, sample_weight=np.full(len(X), np.inf)),
        ValueError,
        "sample_weight must be finite; got",
    ),
    "predict width": (lambda m, X, y: m.predict(np.c_[X, X]), ValueError, "X has 4 features, but .* is expecting 2"),
    "predict nan": (lambda m, X, y: m.predict(with_one(np.nan, X)), ValueError, "Input X contains NaN"),
}
BAD_ONLINE_CALLS = {
    "width": (lambda m, X, y: m.partial_fit(np.c_[X, X], y), ValueError, "X has 4 features, but .* is expecting 2"),
    "width csr": (lambda m, X, y: m.partial_fit(sp.csr_array(np.c_[X, X]), y), ValueError, "X has 4 features"),
    "negative weight": (
        lambda m, X, y: m.partial_fit(X, y, sample_weight=np.where(np.arange(len(X)) == 3, -1.0, 1.0)),
        ValuesError,
        "sample_weight must be >= 0; got -1",
    ),
    "negative weight in fit": (
        lambda m, X, y: m.fit(X, y, sample_weight=np.where(np.arange(len(X)) == 3, -1.0, 1.0)),
        ValuesError,
        "sample_weight must be >= 0; got -1",
    ),
    "no weight": (
        lambda m, X, y: m.fit(X, y, sample_weight=np.zeros(len(X))),
        ValuesError,
        "sample_weight must have a positive weight; got zeros only",
    ),
    "no weight in partial_fit": (
        lambda m, X, y: m.partial_fit(X, y, sample_weight=np.zeros(len(X))),
        ValuesError,
        "sample_weight must have a positive weight; got zeros only",
    ),
    "long x": (
        lambda m, X, y: m.learn_one([1.0, 2.0, 3.0], some(y, 1)),
        ShapeError,
        r"trained on 2 features, so x must have shape \(2,\); got \(3,\)",
    ),
    "scalar x": (lambda m, X, y: m.learn_one(1.0, some(y, 1)), ShapeError, r"x must have shape \(2,\); got \(\)"),
    "two x": (lambda m, X, y: m.learn_one(X[:2], some(y, 1)), ShapeError, r"x must have shape \(2,\); got \(2, 2\)"),
    "long sparse x": (
        lambda m, X, y: m.learn_one(sp.csr_array([[1.0, 2.0, 3.0]]), some(y, 1)),
        ShapeError,
        r"one row of shape \(1, 2\); got \(1, 3\)",
    ),
    "two sparse x": (
        lambda m, X, y: m.learn_one(sp.csr_array(X[:2]), some(y, 1)),
        ShapeError,
        r"one row of shape \(1, 2\); got \(2, 2\)",
    ),
    "nan x": (lambda m, X, y: m.learn_one([1.0, np.nan], some(y, 1)), ValuesError, "x must be finite; got NaN or inf"),
    "inf x": (lambda m, X, y: m.learn_one([np.inf, 0.0], some(y, 1)), ValuesError, "x must be finite; got NaN or inf"),
    "nan sparse x": (
        lambda m, X, y: m.learn_one(sp.csr_array([[1.0, np.nan]]), some(y, 1)),
        ValueError,
        "finite|NaN",
    ),
    "string x": (lambda m, X, y: m.learn_one(["a", "b"], some(y, 1)), ValueError, "could not convert string to float"),
    "a dict": (lambda m, X, y: m.learn_one({"a": 1.0}, some(y, 1)), KindError, "without names, so x must be such a"),
    "predict long x": (lambda m, X, y: m.predict_one([1.0, 2.0, 3.0]), ShapeError, r"x must have shape \(2,\)"),
    "predict long sparse x": (
        lambda m, X, y: m.predict_one(sp.csr_array([[1.0, 2.0, 3.0]])),
        ShapeError,
        r"one row of shape \(1, 2\); got \(1, 3\)",
    ),
    "predict nan x": (lambda m, X, y: m.predict_one([np.nan, 1.0]), ValuesError, "x must be finite"),
    "no snapshot": (lambda m, X, y: m.resume("last week"), KindError, r"resume needs what snapshot\(\) gave; got str"),
}
BAD_SVM_CALLS = {
    "no weight": (
        lambda m, X, y: m.fit(X, y, sample_weight=np.zeros(len(X))),
        ValuesError,
        "zero or negative weights",
    ),
}
BAD_CLASSES = {
    "one class": (
        lambda m, X, y: m.fit(X, np.ones(len(y), int)),
        InputError,
        r"needs at least two classes; the data has 1 class: \[1\]",
    ),
    "one class with a weight": (
        lambda m, X, y: m.fit(X, y, sample_weight=(y == 1).astype(float)),
        InputError,
        r"needs at least two classes; the data has 1 class: \[1\]",
    ),
    "unknown class": (lambda m, X, y: m.partial_fit(X, y + 1), InputError, r"classes known from the start.*; got 2"),
    "unknown class alone": (lambda m, X, y: m.learn_one(X[0], 7), InputError, "known from the start.*; got 7"),
    "other classes": (
        lambda m, X, y: m.partial_fit(X, y, classes=[0, 1, 2]),
        InputError,
        r"classes must be those of the first call, \[0, 1\]; got \[0, 1, 2\]",
    ),
    "mixed kinds": (lambda m, X, y: m.partial_fit(X, y.astype(str)), OnkelError, "y must hold .*; got '[01]'"),
    "mixed kinds alone": (lambda m, X, y: m.learn_one(X[0], "no"), OnkelError, "y must hold .*; got 'no'"),
    "continuous label": (lambda m, X, y: m.learn_one(X[0], 0.5), ValueError, "Unknown label type: continuous"),
    "list for a label": (lambda m, X, y: m.learn_one(X[0], [1]), KindError, r"y must be one label.*; got \[1\]"),
    "none for a label": (lambda m, X, y: m.learn_one(X[0], None), KindError, "y must be one label.*; got None"),
    "complex label": (lambda m, X, y: m.learn_one(X[0], 1 + 0j), KindError, r"y must be one label.*; got \(1\+0j\)"),
    "complex labels": (lambda m, X, y: m.partial_fit(X, y + 0j), ValueError, "Complex data not supported"),
}
BAD_TARGETS = {
    "word for a number": (lambda m, X, y: m.learn_one(X[0], "much"), KindError, "y must be one number; got 'much'"),
    "complex for a number": (lambda m, X, y: m.learn_one(X[0], 1 + 0j), KindError, "y must be one number; got"),
    "none for a number": (lambda m, X, y: m.learn_one(X[0]), KindError, "y must be one number; got None"),
    "nan for a number": (lambda m, X, y: m.learn_one(X[0], np.nan), ValuesError, "y must be finite; got nan"),
}

# ---------------------------------------------------------------- parameters

WHOLE, ABOVE, LEAST = "must be a whole number >= 1; got", "must be a finite number > 0; got", "number >= 0; got"
BAD_KERNELS = [
    ({"kernel": "gauss"}, ParameterError, "kernel must be one of .*; got 'gauss'"),
    ({"kernel": 3}, KindError, "kernel must be a name such as 'rbf', a function or a Kernel; got 3"),
    ({"kernel": "rbf", "gamma": -2.0}, ParameterError, f"gamma {ABOVE} -2"),
    ({"kernel": "rbf", "gamma": "big"}, ParameterError, "gamma must be a number > 0 or one of .*; got 'big'"),
]
BAD_EPOCHS = [
    ({"max_iter": 0}, ParameterError, f"max_iter {WHOLE} 0"),
    ({"max_iter": 2.5}, KindError, f"max_iter {WHOLE} 2.5"),
]
BAD_BUDGETS = [
    ({"budget": 0}, ParameterError, f"budget {WHOLE} 0"),
    ({"budget": -3}, ParameterError, f"budget {WHOLE} -3"),
    ({"budget": 1.5}, KindError, f"budget {WHOLE} 1.5"),
]
BAD_SOLVERS = [
    ({"tol": 0.0}, ParameterError, "tol must be a finite number > 0; got 0"),
    ({"cache_size": 0}, ParameterError, "cache_size must be a finite number > 0; got 0"),
    ({"max_iter": "many"}, KindError, "max_iter must be a whole number >= -1; got 'many'"),
    ({"time_limit": -1.0}, ParameterError, "time_limit must be .* > 0; got -1.0. None is no limit"),
]
BAD_PA = [
    ({"C": 0.0}, ParameterError, f"C {ABOVE} 0"),
    ({"C": -1.0}, ParameterError, f"C {ABOVE} -1"),
    ({"C": np.inf}, ParameterError, f"C {ABOVE} inf"),
    ({"variant": "PA-III"}, ParameterError, "variant must be one of PA, PA-I, PA-II; got 'PA-III'"),
]
BAD_EPSILON = ({"epsilon": -0.1}, ParameterError, f"epsilon must be a finite {LEAST} -0.1")
BAD_NORMA = [
    ({"eta": 0.0}, ParameterError, f"eta {ABOVE} 0"),
    ({"eta": -0.5}, ParameterError, f"eta {ABOVE} -0.5"),
    ({"lam": -0.1}, ParameterError, f"lam must be a finite {LEAST} -0.1"),
    ({"eta": 0.5, "lam": 2.0}, ParameterError, r"eta \* lam must be < 1,.* got 0.5 \* 2 = 1. Make one of them"),
    ({"nu": 0.0}, ParameterError, "nu must be between 0 and 1; got 0"),
    ({"nu": 1.0}, ParameterError, "nu must be between 0 and 1; got 1"),
    ({"nu": "half"}, KindError, "nu must be a finite number; got 'half'"),
    ({"schedule": "linear"}, ParameterError, "schedule must be one of constant, sqrt; got 'linear'"),
]
BAD_RIDGE = [
    ({"alpha": -1.0}, ParameterError, "alpha must be a finite number >= 0; got -1.0"),
    ({"alpha": "much"}, KindError, "alpha must be a finite number >= 0; got 'much'"),
    ({"solver": "lu"}, ParameterError, "solver must be one of auto, cholesky, eigen, nystrom, cg; got 'lu'"),
    ({"center_choice": "best"}, ParameterError, "center_choice must be one of uniform, leverage, kmeans; got 'best'"),
    ({"n_centers": 0}, ParameterError, f"n_centers {WHOLE} 0"),
    ({"n_centers": 61}, ParameterError, "n_centers must be at most the number of rows, 60; got 61. Use fewer, or"),
    ({"n_centers": 2, "centers": [[0.0, 1.0]]}, ParameterError, "give n_centers, .*or centers themselves; not both"),
    ({"centers": [[0.0, 1.0, 2.0]]}, ShapeError, "centers must have the 2 features of X; got 3"),
    ({"max_iter": 0}, ParameterError, f"max_iter {WHOLE} 0"),
    ({"tol": 0.0}, ParameterError, f"tol {ABOVE} 0"),
    ({"fit_intercept": "yes"}, KindError, "fit_intercept must be True or False; got 'yes'"),
]
# What is special to a class; test_bad_input.py adds what several share, and what no parameter takes.
BAD_PARAMETERS = {
    "KernelPerceptron": [
        ({"hypothesis": "mean"}, ParameterError, "hypothesis must be .*; got 'mean'"),
        ({"cache_size": -1}, ParameterError, "cache_size must be a finite number >= 0; got -1"),
        ({"cache_size": "1 GB"}, KindError, "cache_size must be a finite number >= 0; got '1 GB'"),
    ],
    "Perceptron": [
        ({"hypothesis": "mean"}, ParameterError, "hypothesis must be .*; got 'mean'"),
        ({"hypothesis": "voted"}, ParameterError, "hypothesis must be last or averaged; got 'voted'"),
        ({"learning_rate": 0}, ParameterError, f"learning_rate {ABOVE} 0"),
        ({"learning_rate": np.inf}, ParameterError, f"learning_rate {ABOVE} inf"),
    ],
    "Forgetron": [
        ({"budget": None}, KindError, f"budget {WHOLE} None"),
        ({"variant": "tuned"}, ParameterError, "variant must be one of self-tuned, basic; got 'tuned'"),
    ],
    "BudgetPerceptron": [
        ({"budget": None}, KindError, f"budget {WHOLE} None"),
        ({"forget": "newest"}, ParameterError, "forget must be one of random, oldest; got 'newest'"),
    ],
    "OnlineSVC": [
        *(({name: 0.0}, ParameterError, f"{name} {ABOVE} 0") for name in ("C", "tol", "cache_size")),
        ({"C": "much"}, KindError, f"C {ABOVE} 'much'"),
    ],
    "Projectron": [
        ({"eta": -0.1}, ParameterError, f"eta must be a finite {LEAST} -0.1"),
        ({"eta": "small"}, KindError, f"eta must be a finite {LEAST} 'small'"),
    ],
    "PassiveAggressiveClassifier": BAD_PA,
    "PassiveAggressiveRegressor": [*BAD_PA, BAD_EPSILON],
    "NormaClassifier": [*BAD_NORMA, ({"rho": np.nan}, ParameterError, "rho must be a finite number; got nan")],
    "NormaRegressor": [
        *BAD_NORMA,
        BAD_EPSILON,
        ({"loss": "huber", "epsilon": 0.0}, ParameterError, f"epsilon {ABOVE} 0"),
        ({"loss": "hinge"}, ParameterError, "loss must be one of epsilon-.*, squared, huber; got 'hinge'"),
        ({"loss": "squared", "nu": 0.5}, ParameterError, "nu moves the epsilon .*got nu=0.5 .*Use nu=None"),
    ],
    "NormaOneClass": [*BAD_NORMA, ({"nu": None}, ParameterError, "nu must be between 0 and 1; got None")],
    "KernelRidge": [
        *BAD_RIDGE,
        ({"keep_factor": True, "solver": "eigen"}, ParameterError, "keep_factor needs solver='cholesky' and one alpha"),
        (
            {"alpha": [1.0, 2.0]},
            ShapeError,
            r"or one for each of the 1 target\(s\), shape \(1,\); got float64 of shape",
        ),
    ],
    "KernelRidgeClassifier": [
        *BAD_RIDGE,
        ({"class_weight": "even"}, ParameterError, "class_weight must be None, 'bal"),
    ],
    "KernelRidgeCV": [
        ({"alphas": [1.0, -1.0]}, ParameterError, "alphas must be a finite number >= 0; got -1.0"),
        ({"alphas": []}, KindError, r"alphas must be numbers >= 0 such as \[0.1, 1.0\]; got \[\]"),
        ({"alphas": "many"}, KindError, "alphas must be numbers >= 0 such as .*; got 'many'"),
        ({"scoring": 3}, KindError, "scoring must be None, a name or a function; got 3"),
        ({"scoring": "r2", "gcv": True}, ParameterError, "gcv=True has a score of its own; leave scoring=None"),
    ],
    "RecursiveKernelRidge": [
        ({"alpha": 0.0}, ParameterError, f"alpha {ABOVE} 0"),
        ({"alpha": -1.0}, ParameterError, f"alpha {ABOVE} -1"),
        ({"nu": -0.1}, ParameterError, f"nu must be a finite {LEAST} -0.1"),
        ({"nu": 1.0}, ParameterError, "nu must be < 1, or no example would ever be added to the dictionary; got 1.0"),
        ({"forgetting": 0.0}, ParameterError, "forgetting must be a finite number > 0 and <= 1; got 0.0"),
        ({"forgetting": 1.01}, ParameterError, "forgetting must be a finite number > 0 and <= 1; got 1.01"),
        ({"forgetting": "slowly"}, KindError, "forgetting must be a finite number > 0 and <= 1; got 'slowly'"),
    ],
    "SVC": [
        ({"C": 0.0}, ParameterError, "C must be a number > 0; got 0.0"),
        (
            {"decision_function_shape": "pairs"},
            ParameterError,
            "decision_function_shape must be 'ovr' or 'ovo'; got 'pairs'",
        ),
    ],
    "SVR": [({"C": -1.0}, ParameterError, "C must be a number > 0; got -1.0"), BAD_EPSILON],
    "OneClassSVM": [({"nu": value}, ParameterError, f"nu must be .*; got {value}") for value in (0.0, 1.5)],
}
