"""Text that the docstrings of several estimators share: parameters and attributes, each written once.

A class or a method marks the place by a line of names in angle brackets and is decorated with `shared_docs`, which
puts the text of each name there:

    <kernel, gamma, degree, coef0>

Where two families of estimators give a name different meanings, the table has an entry for each: "coef0" and
"coef0 (SVM)".
"""

from __future__ import annotations

import inspect
import re
import textwrap
from typing import TypeVar

__all__ = ["SHARED", "shared_docs"]

Documented = TypeVar("Documented")

MARKER = re.compile(r"^( *)<(.+)>$", re.MULTILINE)
DEFINITION = re.compile(r"^\w+(, \w+)* : ")


def shared_docs(documented: Documented) -> Documented:
    """Replaces the marker lines in the docstring of a class or function, and returns the class or function itself.

    Raises KeyError if a name is not in `SHARED`. Without docstrings (``python -OO``) there is nothing to do.

    >>> from onkel.estimators.base.shared_docs import shared_docs
    >>> @shared_docs
    ... class Example:
    ...     '''<verbose>'''
    >>> Example.__doc__
    'verbose : 0 (default) is silent; 1 draws a progress bar on stderr.'
    """
    if documented.__doc__ is not None:
        documented.__doc__ = MARKER.sub(_text, documented.__doc__)
    return documented


def _text(marker: re.Match[str]) -> str:
    """The text of a marker line: definitions one below the other, then paragraphs after an empty line."""
    indent, names = marker.groups()
    definitions: list[str] = []
    paragraphs: list[str] = []
    for name in names.split(", "):
        (definitions if DEFINITION.match(SHARED[name]) else paragraphs).append(SHARED[name])
    parts = ["\n".join(part) for part in (definitions, paragraphs) if part]
    return textwrap.indent("\n\n".join(parts), indent)


# ---------------------------------------------------------------- the kernel

_KERNEL = {
    "kernel": """
        kernel : the kernel k(x, z): "rbf" (default), "linear", "poly", "sigmoid", "laplacian", "cosine", "chi2",
            "histogram" or "precomputed"; or a function of two blocks of numeric rows that returns their kernel values,
            shape (rows of the first, rows of the second) (for strings and other objects use
            ``Custom(fn, takes="objects")``); or a Kernel of `onkel.kernels`, whose own parameters are then set by
            ``kernel__gamma`` and the like. With "precomputed", X holds kernel values: (n, n) in `fit`, and a column per
            training row to predict.
        """,
    "gamma": """
        gamma : γ of "rbf", "laplacian", "chi2", "poly" and "sigmoid": a number > 0; "scale" (default), 1 / (d · var X)
            for d features; "auto", 1 / d; or "median", 1 / (median of ‖x − z‖²). A string becomes a number, `gamma_`,
            at the first call that brings data; on a stream give a number, since that call may bring one example only.
            If `kernel` is a Kernel object, leave gamma, degree and coef0 at their defaults.
        """,
    "degree": """
        degree : > 0, default 3, the degree of "poly".
        """,
    "coef0": """
        coef0 : default 1, the constant c of "poly", (γ x·z + c)^degree, and of "sigmoid", tanh(γ x·z + c).
        """,
    "coef0 (SVM)": """
        coef0 : default 0, the constant c of "poly", (γ x·z + c)^degree, and of "sigmoid", tanh(γ x·z + c). (The online
            learners of onkel have the default 1.)
        """,
    "kernel_": """
        kernel_ : the Kernel object in use.
        """,
    "gamma_": """
        gamma_ : the number that `gamma` became; absent if `kernel` is a Kernel object.
        """,
}

# ---------------------------------------------------------------- parameters of the online estimators

_ONLINE_PARAMETERS = {
    "shuffle": """
        shuffle : True (default): `fit` visits the examples in a random order, a new one in each epoch; False: in the
            order of the rows. `partial_fit` and `learn_one` never change the order.
        """,
    "random_state": """
        random_state : None (default), an int or a RandomState: the seed of the shuffling. With None, two fits may
            differ.
        """,
    "class_weight": """
        class_weight : None (default): every class has weight 1. A dict {class: weight}, with weights ≥ 0 and 1 for a
            class that is missing; a key that is not among the classes of `fit` or of ``partial_fit(classes=…)`` is an
            error, and where classes may come late, a key that is a string while the labels are numbers, or the other
            way round. Or "balanced", n / (classes · examples of the class), which needs all the data and so works in
            `fit` only. Class weight times sample weight multiplies an example's step; 0 leaves the example
            out.
        """,
    "class_weight (PA)": """
        class_weight : None (default): every class has weight 1. A dict {class: weight}, with weights ≥ 0 and 1 for a
            class that is missing; a key that is not among the classes of `fit` or of ``partial_fit(classes=…)`` is an
            error, and where classes may come late, a key that is a string while the labels are numbers, or the other
            way round. Or "balanced", n / (classes · examples of the class), which needs all the data and so works in
            `fit` only. Class weight times sample weight multiplies C for an example ("PA-I" and "PA-II"); 0
            leaves the example out. Plain "PA" ignores every weight except 0, since its step always ends the loss.
        """,
    "class_weight (C)": """
        class_weight : None (default): every class has weight 1. A dict {class: weight}, with weights ≥ 0 and 1 for a
            class that is missing; a key that is not among the classes of `fit` or of ``partial_fit(classes=…)`` is an
            error, and where classes may come late, a key that is a string while the labels are numbers, or the other
            way round. Or "balanced", n / (classes · examples of the class), which needs all the data and so works in
            `fit` only. Class weight times sample weight multiplies C for an example; 0 leaves the example out.
        """,
    "warm_start": """
        warm_start : False (default): each `fit` starts anew. True: `fit` continues from what was learned before.
        """,
    "verbose": """
        verbose : 0 (default) is silent; 1 draws a progress bar on stderr.
        """,
}

# ---------------------------------------------------------------- attributes of the online estimators

_ONLINE_ATTRIBUTES = {
    "classes_": """
        classes_ : shape (classes,), the labels, sorted.
        """,
    "support_": """
        support_ : shape (m,), the row indices of the m support vectors, in the order in which they entered. Rows are
            counted from 0, on through all calls since the last new `fit`. Under a budget, a row that was learned twice
            may be in the support twice.
        """,
    "support_vectors_": """
        support_vectors_ : the m support vectors: an array or CSR matrix of shape (m, features); for a kernel on
            objects, the objects; for kernel="precomputed", the indices of their columns in the Gram matrix.
        """,
    "dual_coef_": """
        dual_coef_ : shape (outputs, m), the coefficients of the m support vectors. "outputs" is 1 for two classes, else
            the number of classes: two classes have one output, which is positive for classes_[1]; more classes have one
            output each, in the order of `classes_`.
        """,
    "dual_coef_ (one output)": """
        dual_coef_ : shape (1, m), the coefficients of the m support vectors; there is one output.
        """,
    "intercept_": """
        intercept_ : shape (outputs,), the constants b of the outputs; zeros, as this learner has no intercept.
        """,
    "intercept_ (learned)": """
        intercept_ : shape (outputs,), the constants b of the outputs.
        """,
    "model_": """
        model_ : what has been learned, as a frozen model that does not change when the estimator learns on:
            ``model_.predict(X)`` and ``predict_one(x)`` predict, ``model_.scores(X)`` gives the scores, shape
            (n, outputs), and ``model_.explain(x)`` lists the terms of one score, the largest first.
        """,
    "n_mistakes_": """
        n_mistakes_ : how many examples had y f(x) ≤ 0 just before they were learned from, summed over the outputs and
            over all calls since the last new `fit`.
        """,
    "n_updates_": """
        n_updates_ : how many updates were made, summed over the outputs and over all calls since the last new `fit`.
        """,
    "n_updates_ (one output)": """
        n_updates_ : how many updates were made, over all calls since the last new `fit`; there is one output.
        """,
    "n_rounds_": """
        n_rounds_ : how many examples were presented, with or without an update; an example counts once in each epoch.
        """,
    "mistakes_": """
        mistakes_ : the last 1000 updates (for this learner, not only mistakes): a structured array with the fields
            round (from 1), row, class (the index of the output in `classes_`) and step; earlier updates are only
            counted.
        """,
    "mistakes_ (mistakes only)": """
        mistakes_ : the last 1000 updates (for this learner, the same as mistakes): a structured array with the fields
            round (from 1), row, class (the index of the output in `classes_`) and step; earlier updates are only
            counted.
        """,
    "mistakes_ (one output)": """
        mistakes_ : the last 1000 updates (for this learner, not only mistakes): a structured array with the fields
            round (from 1), row, class (always 0) and step; earlier updates are only counted.
        """,
    "certificate_ (none)": """
        certificate_ : a certificate without a bound, whose ``reason`` says why no theorem bounds the mistakes.
        """,
    "n_iter_": """
        n_iter_ : the number of epochs of the last `fit`; 1 after `partial_fit` or `learn_one` only.
        """,
    "converged_": """
        converged_ : whether the last epoch of `fit` made no update; False if there was no `fit`.
        """,
    "n_features_in_": """
        n_features_in_ : the number of features; absent for kernels on objects.
        """,
    "feature_names_in_": """
        feature_names_in_ : the names of the features; present after a data frame whose columns have strings as names,
            and after dicts. Of dicts with few of many features they are those that the model depends on at present.
        """,
    "streams (numbers)": """
        It learns from streams, too: `partial_fit` takes a chunk of examples, `learn_one` a single one, and
        `predict_one` predicts one.
        """,
    "streams": """
        It learns from streams, too: `partial_fit` takes a chunk of examples, `learn_one` a single one, and
        `predict_one` predicts one. Classes may turn up late there: the output of a late class starts at its first
        example.
        """,
}

# ---------------------------------------------------------------- support vector machines

_SVM = {
    "shrinking": """
        shrinking : True (default): rows whose α stays at a bound are left out of the computation for a while, and are
            checked again before the end; False: they never are. The result is the same within `tol`.
        """,
    "tol": """
        tol : > 0, default 1e-3: `fit` stops when no pair of variables violates the conditions of the optimum by more.
        """,
    "cache_size": """
        cache_size : > 0, default 200: a hard limit, in MB of 2²⁰ bytes, on the kernel values that are kept
            at a time.
        """,
    "verbose (SVM)": """
        verbose : 0 (default) is silent; 1 draws a progress bar on stderr with the duality gap.
        """,
    "max_iter (SVM)": """
        max_iter : ≥ 0, the most pair steps of the solver (one step changes two α; SVC counts them for each pair of
            classes); −1 (default): 10⁷ steps, or 1000 for each variable if that is more. If the limit is met, or if
            rounding keeps the solver above `tol`, `fit` warns and keeps the best model so far.
        """,
    "time_limit": """
        time_limit : > 0, seconds after which `fit` ends with a warning and the best model so far; None (default): no
            limit.
        """,
    "support_ (SVM)": """
        support_ : shape (m,), the row indices in X of the m support vectors, in ascending order.
        """,
    "n_support_ (SVM)": """
        n_support_ : shape (1,), the number m of support vectors.
        """,
    "dual_coef_ (SVM)": """
        dual_coef_ : shape (1, m), the coefficients of the support vectors; CSR if X was.
        """,
    "intercept_ (SVM)": """
        intercept_ : shape (1,), the constant b.
        """,
    "coef_ (SVM)": """
        coef_ : shape (1, features), the weights of the features; with a linear kernel only; read-only.
        """,
    "fit_status_": """
        fit_status_ : 0 if the solution is within `tol`, 1 if `fit` was stopped before.
        """,
    "n_iter_ (SVM)": """
        n_iter_ : the number of pair steps of the solver (one step changes two α).
        """,
    "shape_fit_": """
        shape_fit_ : the shape of the X of `fit`.
        """,
    "objective_ (SVM)": """
        objective_ : the value of the dual objective.
        """,
    "dual_gap_ (SVM)": """
        dual_gap_ : by how much the dual objective may exceed its minimum, at most.
        """,
    "model_ (SVM)": """
        model_ : what has been learned, as a frozen model: ``model_.predict(X)`` and ``predict_one(x)`` predict,
            ``model_.scores(X)`` gives the scores, shape (n, 1), and ``model_.explain(x)`` lists the terms of one score,
            the largest first.
        """,
    "SVM and LIBSVM": """
        Parameters, attributes and signs are those of scikit-learn's class of the same name, which uses LIBSVM. What
        differs: the solution is another one within the same `tol`; `n_iter_` counts the steps of another solver;
        `time_limit`, Ctrl-C and `dual_gap_` are new; rows in float32 stay float32.
        """,
}

# ---------------------------------------------------------------- kernel ridge regression

_RIDGE = {
    "kernel (ridge)": """
        kernel : the kernel k(x, z): "linear" (default), "rbf", "poly" or "polynomial", "sigmoid", "laplacian",
            "cosine", "chi2", "histogram" or "precomputed"; or a function of two blocks of numeric rows that returns
            their kernel values; or a Kernel of `onkel.kernels`, whose own parameters are then set by ``kernel__gamma``
            and the like. With "precomputed", X holds kernel values: (n, n) in `fit`, and a column per training row to
            predict.
        """,
    "gamma (ridge)": """
        gamma : γ of "rbf", "laplacian", "chi2", "poly" and "sigmoid": a number > 0; None (default), 1 / d for d
            features, and 1 for "chi2", as in scikit-learn; "scale", 1 / (d · var X); "auto", 1 / d; or "median",
            1 / (median of ‖x − z‖²). If `kernel` is a Kernel object, leave gamma, degree and coef0 at their defaults.
        """,
    "solver (ridge)": """
        solver : "cholesky": exact, one n × n matrix, for each alpha that is different; float32 rows are factored in
            float32 and the solution is corrected in float64. "eigen": exact, three n × n matrices for all alphas; the
            kernel need not be positive semi-definite. "nystrom": f is a sum over centres, one pass over the data. "cg":
            the same f by conjugate gradients, for very many centres. "auto" (default): "nystrom" if centres are asked
            for, if there are more than 20 000 rows or if memory does not suffice; else "eigen" for 20 alphas or more
            and for an indefinite kernel, else "cholesky". `solver_reason_` tells why.
        """,
    "n_centers": """
        n_centers : 1 to n, the number of centres of "nystrom" and "cg"; None (default): 1000, or n if that is less.
            The exact solvers refuse it.
        """,
    "centers": """
        centers : the centres themselves, in the form of X; for "precomputed", row indices. None (default): they are
            chosen among the rows.
        """,
    "center_choice": """
        center_choice : "uniform" (default): rows drawn alike; "leverage": rows drawn by approximate ridge leverage
            scores, which finds rare kinds of rows; "kmeans": the means of clusters, for vectors only.
        """,
    "fit_intercept (ridge)": """
        fit_intercept : False (default): b = 0, as in scikit-learn; True: b is learned, and not penalised.
        """,
    "keep_factor": """
        keep_factor : True keeps the n × n factor of "cholesky" in float64, which ``predict(X, return_std=True)``
            needs; False (default) does not.
        """,
    "max_iter (ridge)": """
        max_iter : ≥ 1, default 100, the most iterations of "cg".
        """,
    "tol (ridge)": """
        tol : > 0, default 1e-6, the relative residual at which "cg" stops.
        """,
    "verbose (ridge)": """
        verbose : 0 (default) is silent; 1 draws a progress bar on stderr, with the solver and why it was chosen.
        """,
    "random_state (ridge)": """
        random_state : None (default), an int or a RandomState: the seed of the choice of centres.
        """,
    "gcv_ (ridge)": """
        gcv_ : after "nystrom" only, the score of generalized cross-validation, n RSS / (n − df)², a number or one for
            each target: an estimate of the squared error on new rows, by which to choose alpha with `refit_alpha`.
        """,
    "X_fit_": """
        X_fit_, support_vectors_ : the m rows or centres that f is made of: all rows of X for an exact solver.
        """,
    "support_ (ridge)": """
        support_ : shape (m,), their row indices in X, or in `centers`; −1 for means of clusters.
        """,
    "figures (ridge)": """
        solver_, solver_reason_ : the solver that was taken, and why.
        n_centers_ : m; centres that depend on others to rounding are left out.
        jitter_ : what had to be added to alpha, because the matrix was not positive definite to rounding; 0 as a rule.
        rcond_ : the estimated reciprocal condition number of the matrix of an exact solver; NaN for the others.
        residual_ : the relative residual of the equations, the largest of all targets.
        n_iter_ : the iterations of "cg"; for "cholesky", 1 and the corrections of a factor in float32; else 1.
        """,
    "model_ (ridge)": """
        model_ : what has been learned, as a frozen model: ``model_.predict(X)`` and ``predict_one(x)`` predict,
            ``model_.scores(X)`` gives the scores, shape (n, outputs), and ``model_.explain(x, output)`` lists the terms
            of one score, the largest first.
        """,
    "y (targets)": """
        y : shape (n,) or (n, targets), the target numbers.
        """,
    "stopped (ridge)": """
        On Ctrl-C, "cg" keeps the solution so far, the other solvers change nothing, and KeyboardInterrupt is raised.
        """,
    "stopped (ridge chunk)": """
        A call that is interrupted or refused changes nothing.
        """,
}

# ---------------------------------------------------------------- methods

_METHODS = {
    "X": """
        X : array or CSR matrix of shape (n, features); the Gram matrix, shape (n, n), if kernel="precomputed"; a list
            of n objects for a kernel on objects.
        """,
    "X (chunk)": """
        X : array or CSR matrix of shape (n, features), or a list of n objects for a kernel on objects. A precomputed
            Gram matrix cannot be learned in chunks.
        """,
    "y (chunk)": """
        y : shape (n,), the labels, numbers or strings.
        """,
    "y (labels)": """
        y : shape (n,), the labels, numbers or strings, of at least two classes.
        """,
    "y (numbers)": """
        y : shape (n,), the target numbers.
        """,
    "y (ignored)": """
        y : ignored; present because scikit-learn's pipelines give it.
        """,
    "sample_weight": """
        sample_weight : shape (n,), weights ≥ 0; 0 leaves an example out. None (default): all are 1.
        """,
    "sample_weight (C)": """
        sample_weight : shape (n,), factors of C; a row without a positive weight is left out. None (default): all are
            1.
        """,
    "sample_weight (α)": """
        sample_weight : shape (n,), the upper bound of each α; a row without a positive weight is left out. None
            (default): all are 1.
        """,
    "x": """
        x : one example: a vector of shape (features,), a dict {feature: value}, a CSR row, or an object for a kernel on
            objects. In a dict, a missing feature is 0, and a new feature gets a column.
        """,
    "y (one label)": """
        y : its label.
        """,
    "y (one number)": """
        y : its target number; novelty detection ignores it.
        """,
    "new fit": """
        What was learned before is forgotten, unless `warm_start` is set.
        """,
    "returns": """
        Returns the estimator itself.
        """,
    "stopped": """
        On Ctrl-C, what has been learned so far is kept, the model is usable, and KeyboardInterrupt is raised.
        """,
    "stopped (chunk)": """
        On Ctrl-C, the examples learned so far stay learned, and KeyboardInterrupt is raised.
        """,
    "stopped (SVM)": """
        At `time_limit` and on Ctrl-C the best model so far is kept; after Ctrl-C, KeyboardInterrupt is raised.
        """,
}

SHARED = {
    name: inspect.cleandoc(text)
    for name, text in (_KERNEL | _ONLINE_PARAMETERS | _ONLINE_ATTRIBUTES | _SVM | _RIDGE | _METHODS).items()
}
