"""The zoo: small estimators of every kind, in every form in which they learn or hold data, each told once.

The tables of the tests are filters of `SPECIMENS`. A new estimator of the registry brings its plain forms by itself.
The forms of an online learner stand in `LEARNERS`: those with a slow twin are under the laws of
`tests/laws/test_online.py` and compared with it in `tests/reference/test_online.py`; those with the tag "storage" are
stopped anywhere by `tests/laws/test_interrupted.py`.

Tags:

learner   a form of an online learner of rows
storage   one for each way in which a learner keeps what it learns
unfitted  it has learned nothing
alike     has a state such as others have, with other values only: tests of hostile states leave it out
unkept    has a form of data of which another estimator keeps a file (`tests/contract/kept_files`)
late      a class comes after the first examples
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
import tagged
from contract.registered import CLASSIFIERS, EVERY, has
from contract.registered import ONLINE as ONLINE_CLASSES
from reference.lasvm_oracles import SlowLasvm
from reference.online_oracles import SlowBudgetPerceptron, SlowForgetron, SlowNorma, SlowPA, SlowProjectron
from specimen import (
    ON_WORDS,
    Data,
    Specimen,
    bags,
    chunks,
    corners,
    grades,
    gram,
    in_frame,
    late_labels,
    nothing,
    one_sentence,
    queries,
    rings,
    sentences,
    shrunk,
    squared,
    twice_in_float32,
    two_rings,
    unlabelled,
    words,
)
from strategies import EVERY_VECTOR_KERNEL

import onkel
from onkel.kernels import RBF, Linear, Precomputed

SMALL = 9  # a budget that a few dozen examples overflow
Given = Callable[[], Data]
Params = Mapping[str, Any]


def form(
    name: str,
    estimator: str,
    given: Given | None = None,
    tags: str = "",
    twin: Callable[..., Any] | None = None,
    **params: Any,
) -> Specimen:
    """A specimen; without data of its own it learns from points around the corners of a square."""
    own = given or functools.partial(corners, estimator)
    return Specimen(name, estimator, params, own, frozenset(tags.split()), twin)


# ---------------------------------------------------------------- the forms of online learners


def slow_regression(kernel: Any, **params: Any) -> SlowPA:
    return SlowPA(kernel, **{"epsilon": 0.1, **params})


def slow_norma(kernel: Any, **params: Any) -> SlowNorma:
    return SlowNorma(kernel, "classification", **{"fit_intercept": True, **params})


def slow_norma_regression(kernel: Any, loss: str, **params: Any) -> SlowNorma:
    return SlowNorma(kernel, loss, **params)


def slow_novelty(kernel: Any, **params: Any) -> SlowNorma:
    return SlowNorma(kernel, "novelty", rho=0.0, **params)


def learner(
    name: str, twin: Callable[..., Any] | None = None, tags: str = "", given: Given | None = None, **params: Any
) -> Specimen:
    """A form of an online learner of rows; the first word of its name is the estimator."""
    return form(name, name.split()[0], given, f"learner {tags}", twin, **params)


NORMA: Params = {"eta": 0.2, "lam": 0.05}
LEARNERS = (
    learner("BudgetPerceptron oldest", SlowBudgetPerceptron, "storage alike", budget=SMALL, forget="oldest"),
    learner("BudgetPerceptron random", None, "storage alike", budget=SMALL, forget="random", random_state=3),
    learner("Forgetron self-tuned", SlowForgetron, "storage alike", budget=SMALL, variant="self-tuned"),
    learner("Forgetron basic", SlowForgetron, "storage alike", budget=SMALL, variant="basic"),
    learner("KernelPerceptron averaged", None, "storage", two_rings, hypothesis="averaged"),
    learner("KernelPerceptron best", None, "alike", two_rings, hypothesis="best"),
    learner("KernelPerceptron last", None, "storage alike", two_rings, hypothesis="last"),
    learner("KernelPerceptron random", None, "alike", two_rings, hypothesis="random"),
    learner("KernelPerceptron voted", None, "storage", two_rings, hypothesis="voted"),
    learner("NormaClassifier budget", None, "storage alike", budget=SMALL, nu=0.3),
    learner("NormaClassifier unlimited", None, "storage", budget=None, nu=0.3),
    learner("NormaClassifier decay", slow_norma, "alike unkept", eta=0.3, lam=0.05, budget=SMALL),
    learner("NormaClassifier nu", slow_norma, "alike unkept", eta=0.3, lam=0.05, nu=0.3, budget=1000),
    learner(
        "NormaClassifier sqrt", slow_norma, "alike unkept",
        eta=1.0, lam=0.1, rho=0.5, schedule="sqrt", fit_intercept=False, budget=30,
    ),
    learner("NormaOneClass budget", slow_novelty, "storage alike", nu=0.3, budget=SMALL, **NORMA),
    learner("NormaOneClass unlimited", None, "storage alike", budget=None),
    learner(
        "NormaOneClass sqrt", slow_novelty, "alike unkept", nu=0.1, eta=0.2, lam=0.01, schedule="sqrt", budget=1000
    ),
    learner("NormaRegressor budget", None, "storage alike", budget=SMALL, nu=0.3),
    learner("NormaRegressor unlimited", None, "storage alike", budget=None, nu=0.3, fit_intercept=True),
    learner(
        "NormaRegressor insensitive", slow_norma_regression, "alike unkept",
        loss="epsilon-insensitive", budget=SMALL, **NORMA,
    ),
    learner(
        "NormaRegressor nu", slow_norma_regression, "alike unkept",
        loss="epsilon-insensitive", eta=0.05, lam=0.05, epsilon=1.0, nu=0.5, budget=1000,
    ),
    learner(
        "NormaRegressor squared", slow_norma_regression, "alike unkept",
        loss="squared", eta=0.3, lam=0.05, schedule="sqrt", budget=30,
    ),
    learner(
        "NormaRegressor huber", slow_norma_regression, "alike unkept",
        loss="huber", epsilon=0.4, budget=SMALL, **NORMA,
    ),
    learner("OnlineSVC unfinished", SlowLasvm, "storage alike", C=2.0, finish_fit=False),
    learner("OnlineSVC small cache", SlowLasvm, "storage alike", C=0.1, tol=0.1, finish_fit=False, cache_size=1e-4),
    learner("PRank kernel", None, "storage", grades),
    learner("PRank linear", None, "storage", grades, kernel=Linear()),
    learner("PassiveAggressiveClassifier budget", SlowPA, "storage alike", variant="PA-I", C=0.4, budget=SMALL),
    learner("PassiveAggressiveClassifier unlimited", SlowPA, "storage", variant="PA-I", C=0.4, budget=None),
    learner("PassiveAggressiveClassifier PA", SlowPA, "alike unkept", variant="PA", budget=SMALL),
    learner("PassiveAggressiveClassifier PA unlimited", SlowPA, "alike unkept", variant="PA", budget=None),
    learner("PassiveAggressiveClassifier PA-II", SlowPA, "alike unkept", variant="PA-II", C=0.7, budget=SMALL),
    learner("PassiveAggressiveRegressor budget", slow_regression, "storage alike", variant="PA-I", C=0.4, budget=SMALL),
    learner(
        "PassiveAggressiveRegressor unlimited", slow_regression, "storage alike",
        variant="PA", epsilon=0.2, budget=None,
    ),
    learner(
        "PassiveAggressiveRegressor PA-II", slow_regression, "alike unkept", variant="PA-II", C=0.7, budget=SMALL
    ),
    learner("Perceptron averaged", None, "storage alike", hypothesis="averaged"),
    learner("Perceptron last", None, "storage alike", hypothesis="last"),
    learner("Projectron unlimited", SlowProjectron, "storage alike", eta=0.5),
    learner("Projectron budget", SlowProjectron, "alike unkept", eta=0.0, budget=SMALL),
    learner("Projectron aggressive", SlowProjectron, "alike", eta=0.5, aggressive=True),
    learner("Projectron aggressive budget", SlowProjectron, "storage alike", eta=0.0, budget=SMALL, aggressive=True),
    learner("RecursiveKernelRidge budget", None, "storage alike", budget=SMALL),
    learner("RecursiveKernelRidge forgetting", None, "storage", nu=0.3, forgetting=0.98, budget=None),
    learner("RecursiveKernelRidge unlimited", None, "storage alike", nu=0.05, budget=None),
)  # fmt: skip

# ---------------------------------------------------------------- every estimator, with data of every kind


def of_every_estimator() -> Iterator[Specimen]:
    """Each as it is, and before it learns; with sparse rows and named columns; with late classes and features."""
    for cls in EVERY:
        name, online = cls.__name__, cls in ONLINE_CLASSES
        yield form(name, name)
        yield form(f"{name}, not fitted", name, nothing, "unfitted alike unkept")
        named = {"kernel": "rbf"} if has(cls, "kernel") else {}
        yield form(f"{name}, named columns", name, lambda n=name: corners(n, 2, in_frame), "unkept", **named)
        if online or cls in CLASSIFIERS:
            yield form(
                f"{name}, sparse float32",
                name,
                lambda n=name: corners(n, convert=lambda X: sp.csr_array(X, dtype="f4")),
                "" if online or cls is onkel.SVC else "unkept",
            )
        if online and cls in CLASSIFIERS:
            yield form(f"{name}, late classes", name, late_labels, "unkept late")
            yield form(f"{name}, dicts", name, lambda: bags(97, "partial_fit"), "unkept")


def of_every_kernel() -> Iterator[Specimen]:
    for kernel in (
        *EVERY_VECTOR_KERNEL,
        2.5 * RBF(gamma=0.5) + (Linear() * RBF(gamma=2.0)) ** 2 + 1.0,
        (0.1 * Linear()).exp().normalized(),
        RBF(gamma=1.0).on([1]) + Linear().scaled(shrunk),
        RBF(gamma=0.3).after(squared),
    ):
        tags = "alike" if kernel == Linear() else "alike unkept"
        yield form(f"kernel {kernel}", "KernelPerceptron", lambda: two_rings(np.abs), tags, kernel=kernel)


def of_labels(name: str, *labels: Any) -> Specimen:
    return form(f"labels of {name}", "KernelPerceptron", lambda: two_rings(labels=np.array(*labels)), "alike")


LABELS = (
    of_labels("objects", ["no", "yes"], object),
    of_labels("truth", [False, True]),
    of_labels("floats", [-2.0, 1e9]),
    of_labels("small integers", [200, 7], np.uint8),
    of_labels("text", ["ö", "a longer name"]),
)

# ---------------------------------------------------------------- other kinds of rows and of parameters

FEW: Params = {"max_iter": 3}
CENTRES: Params = {"solver": "nystrom", "n_centers": 9}
ROWS = (
    form("strings", "KernelPerceptron", words, kernel=ON_WORDS),
    form("strings in a budget", "BudgetPerceptron", words, kernel=ON_WORDS, budget=3),
    form("strings, projected", "Projectron", words, kernel=ON_WORDS),
    form("dicts", "Forgetron", lambda: bags(20)),
    form("sparse dicts", "KernelPerceptron", lambda: bags(5000)),
    form("sparse dicts, linear", "Perceptron", lambda: bags(5000)),
    form("named columns", "Forgetron", lambda: two_rings(in_frame, labels=["in", "out"]), budget=9),
    form("late classes", "Forgetron", late_labels, "late"),
    form("late classes, voted", "KernelPerceptron", late_labels, "late unkept", hypothesis="voted"),
    form("class weights", "KernelPerceptron", class_weight={0: 1.0, 1: 0.5, 2: 2.0}),
    form("a random state", "BudgetPerceptron", random_state=np.random.RandomState(3)),
    form("a voted intercept", "KernelPerceptron", tags="unkept", hypothesis="voted", fit_intercept=True),
    form("precomputed perceptron", "KernelPerceptron", gram, kernel=Precomputed()),
    form("precomputed Forgetron", "Forgetron", gram, "unkept", kernel=Precomputed()),
    form("precomputed OnlineSVC", "OnlineSVC", gram, "unkept", kernel=Precomputed()),
    form("precomputed Projectron", "Projectron", gram, "unkept", kernel=Precomputed(), budget=SMALL),
    form("precomputed SVC", "SVC", gram, kernel="precomputed"),
    form("precomputed ridge", "KernelRidge", gram, kernel="precomputed"),
    form("two classes SVC", "SVC", lambda: corners("SVC", 2)),
    form(
        "weights and a random state, not fitted", "SVC", nothing, "unfitted unkept",
        class_weight={0: 1.0}, random_state=np.random.RandomState(0),
    ),
    form(
        "weights and a warm start", "SVC", None, "unkept",
        class_weight={0: 2.0, 1: 1.0, 2: 1.0}, random_state=np.random.RandomState(1), warm_start=True,
    ),
)  # fmt: skip
RIDGES = (
    form("ridge with its factor", "KernelRidge", chunks, keep_factor=True),
    form(
        "ridge of two targets", "KernelRidge", lambda: chunks(several=True), alpha=np.array([0.1, 1.0])
    ),
    form("ridge of float32, predicting in float64", "KernelRidge", twice_in_float32, alpha=1e-6),
    form("ridge by eigenvalues", "KernelRidge", chunks, solver="eigen", fit_intercept=True),
    form("ridge on centres", "KernelRidge", lambda: chunks(goes_on=True), **CENTRES),
    form("ridge on given centres", "KernelRidge", chunks, solver="cg", centers=rings(9)[0]),
    form("ridge, alpha per target", "KernelRidgeCV", lambda: chunks(several=True), alpha_per_target=True),
    form("ridge classifier in chunks", "KernelRidgeClassifier", lambda: chunks(goes_on=True), **CENTRES),
)  # fmt: skip

# ---------------------------------------------------------------- rankers, taggers and maps

RANKERS = (
    form("ranker, linear", "RankingPerceptron", queries, **FEW),
    form("ranker, kernel", "RankingPerceptron", queries, kernel="rbf", gamma=0.3, pairs="all", **FEW),
    form("ranker, voted", "RankingPerceptron", queries, hypothesis="voted", **FEW),
    form("ranker, kernel voted", "RankingPerceptron", queries, kernel=Linear(), hypothesis="voted", **FEW),
    form("late grades", "PRank", late_labels, "late unkept"),
    form("late grades, kernel", "PRank", late_labels, "late unkept", kernel=RBF(gamma=0.5)),
)
TAGGERS = (
    *(
        form(f"tagger, {name}", "SequencePerceptron", lambda name=name: sentences(name), max_iter=2, **params)
        for name, (params, _) in tagged.FORMS.items()
    ),
    *(
        form(f"tagger, {name}", "SequencePerceptron", lambda name=name: sentences(name), "unkept", max_iter=2, **params)
        for name, (params, _) in tagged.VOTED_FORMS.items()
    ),
    # Hashed: of features with names the state has those with a weight only, so that their order may change on a stream.
    form("tagger, late tags", "SequencePerceptron", one_sentence, "late unkept", n_bits=8),
)
MAPS = (
    form("EigenMap", "EigenMap", unlabelled, kernel=RBF(gamma=1.0), n_components=5),
    form("EigenMap, precomputed", "EigenMap", lambda: Data((gram().probes,), gram().probes), "unkept",
         kernel=Precomputed()),
    form("NystroemMap", "NystroemMap", unlabelled, kernel="rbf", gamma=1.0, n_components=7),
    form("NystroemMap, sparse", "NystroemMap", lambda: unlabelled(sp.csr_array), kernel="rbf", gamma=1.0),
    form("NystroemMap, given centres", "NystroemMap", lambda: unlabelled(sp.csr_array), "unkept",
         centers=rings(3)[0].tolist()),
    form("PolynomialMap", "PolynomialMap", unlabelled),
    form("RandomFourierMap", "RandomFourierMap", unlabelled, n_components=6),
)  # fmt: skip

SPECIMENS = {
    specimen.name: specimen
    for specimen in (
        *of_every_estimator(), *LEARNERS, *of_every_kernel(), *LABELS, *ROWS, *RIDGES, *RANKERS, *TAGGERS, *MAPS
    )
}  # fmt: skip


def with_tags(*tags: str, without: tuple[str, ...] = ()) -> dict[str, Specimen]:
    """The specimens that have all of these tags and none of the others."""
    return {
        name: one for name, one in SPECIMENS.items() if one.tags >= set(tags) and not one.tags & set(without)
    }  # fmt: skip


# The forms of online learners that have a slow twin, and those of them that have a budget.
WITH_TWIN = tuple(one for one in LEARNERS if one.twin is not None)
WITH_BUDGET = tuple(one for one in WITH_TWIN if one.params.get("budget") is not None)


@functools.cache
def made(name: str) -> Any:
    """A specimen that has learned what comes first, which nobody may change."""
    return SPECIMENS[name].make()
