"""Progressive validation equals a loop written by hand, and its metrics equal those of scikit-learn and river."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk
from sklearn.base import BaseEstimator, ClassifierMixin, OutlierMixin, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import SGDClassifier, SGDRegressor

from onkel import KernelPerceptron, Perceptron, SequencePerceptron, progressive_validation
from onkel.data import Stream, drifting, load_tagged_sentences
from onkel.evaluate import Baselines, baselines, memory
from onkel.kernels import RBF, Custom

N = 157
X = np.random.default_rng(0).normal(size=(N, 2))
Y = np.array(["no", "yes", "perhaps"])[(X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 0] > 1)]
STREAM = Stream(X, Y)


class Mean(RegressorMixin, BaseEstimator):
    """The mean of all targets so far, on both protocols."""

    def learn_one(self, x, y):
        return self.partial_fit([x], [y])

    def partial_fit(self, X, y):
        self.seen_ = [*getattr(self, "seen_", []), *np.asarray(y).tolist()]
        return self

    def predict_one(self, x):
        return np.mean(self.seen_) if hasattr(self, "seen_") else None

    def predict(self, X):
        if not hasattr(self, "seen_"):
            raise NotFittedError
        return np.full(len(X), np.mean(self.seen_))


class Said(ClassifierMixin, BaseEstimator):
    """Predicts what it was told to, and learns nothing."""

    def __init__(self, answers=()):
        self.answers = answers

    def learn_one(self, x, y): ...

    def predict_one(self, x):
        return self.answers[x]


def kernel_perceptron():
    return KernelPerceptron(gamma=1.0, hypothesis="last")


LEARNERS = {
    "KernelPerceptron": kernel_perceptron,
    "averaged": lambda: KernelPerceptron(gamma=1.0),
    "Perceptron": Perceptron,
}
each_learner = pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS.keys())


def by_hand(estimator, chunk):
    """Predictions of the model before each example, or each chunk: None before any learning."""
    predicted = []
    for start in range(0, N, chunk):
        part = slice(start, min(start + chunk, N))
        if chunk == 1:
            predicted.append(estimator.predict_one(X[start]))
            estimator.learn_one(X[start], Y[start])
        else:
            predicted += [None] * (part.stop - start) if start == 0 else estimator.predict(X[part]).tolist()
            estimator.partial_fit(X[part], Y[part])
    return predicted


# ---------------------------------------------------------------- the protocol


@each_learner
@pytest.mark.parametrize("chunk", [1, 2, 10, 500])
def test_it_is_the_loop_written_by_hand(make, chunk):
    estimator, twin = make(), make()
    records = list(progressive_validation(estimator, STREAM, chunk=chunk, every=1, window=20))
    wrong = np.array(by_hand(twin, chunk), dtype=object) != Y
    assert [r.examples for r in records] == [*range(chunk, N, chunk), N]
    for r in records:
        assert r.mistakes == wrong[: r.examples].sum()
        assert r.error == r.mistakes / r.examples
        assert r.window_error == pytest.approx(wrong[max(0, r.examples - 20) : r.examples].mean(), rel=1e-12)
        assert r.unpredicted == min(chunk, N)
    np.testing.assert_array_equal(estimator.mistakes_, twin.mistakes_)
    support = getattr(estimator, "support_", None)
    assert records[-1].support == (None if support is None else len(support))


@each_learner
def test_the_way_the_examples_come_does_not_matter(make):
    ways = [
        STREAM,
        list(zip(X, Y, strict=True)),
        zip(X.tolist(), Y.tolist(), strict=True),
        Stream(sp.csr_array(X), Y),
        Stream.of_chunks([(X[:50], Y[:50]), (X[50:], Y[50:])]),
    ]
    results = {tuple(r.mistakes for r in progressive_validation(make(), way, every=10)) for way in ways}
    assert len(results) == 1


@pytest.mark.parametrize("chunk", [1, 7])
@pytest.mark.parametrize("form", [{"templates": "pos"}, {"templates": "pos", "hypothesis": "voted", "n_voters": 3}])
def test_a_tagger_is_judged_by_the_tokens_of_sentences_that_it_has_not_learned_from(form, chunk):
    corpus = load_tagged_sentences()[:15]
    sentences, tags = list(corpus.only("word")), [list(t) for t in corpus["pos"]]
    twin = SequencePerceptron(**form, random_state=0)
    predicted, truth = [], [tag for sentence in tags for tag in sentence]
    for start in range(0, len(tags), chunk):
        some = slice(start, start + chunk)
        new = [[None] * len(sentence) for sentence in tags[some]] if start == 0 else twin.predict(sentences[some])
        predicted += [tag for sentence in new for tag in sentence]
        twin.partial_fit(sentences[some], tags[some])
    tagger = SequencePerceptron(**form, random_state=0)
    stream = zip(sentences, tags, strict=True)
    *_, last = progressive_validation(tagger, stream, ["accuracy", "f1"], chunk=chunk, every=50)
    wrong = [a != b for a, b in zip(predicted, truth, strict=True)]
    assert (last.examples, last.mistakes) == (len(truth), sum(wrong))
    assert last.unpredicted == sum(map(len, tags[:chunk]))
    assert last.window_error == pytest.approx(np.mean(wrong[-1000:]))
    assert last.metrics["accuracy"] == pytest.approx(1 - last.error)
    assert (tagger.n_rounds_, tagger.n_updates_) == (twin.n_rounds_, twin.n_updates_)
    whole = SequencePerceptron(templates="pos")
    *_, known = progressive_validation(whole, zip(corpus.only("word"), corpus["pos"], strict=True), classes=set(truth))
    assert set(whole.classes_) == set(truth)
    assert known.examples == len(truth)


@pytest.mark.parametrize("chunk", [1, 3])
def test_sentences_of_vectors_are_judged_in_every_form(chunk):
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(n, 2)) for n in [3, 1, 4, 2] * 5]
    y = [["in" if row @ row < 1 else "out" for row in x] for x in X]
    results = set()
    for some in (X, [sp.csr_array(x) for x in X]):
        *_, last = progressive_validation(SequencePerceptron(kernel=RBF()), zip(some, y, strict=True), chunk=chunk)
        results.add((last.examples, last.mistakes))
    assert len(results) == 1
    assert last.examples == 50


def test_strings_are_learned_as_strings():
    words = ["anna", "berta", "annex", "bertram", "anne", "bert"] * 3
    shared = Custom(lambda a, b: len(set(a) & set(b)), pairwise=True, takes="objects")
    stream = Stream(words, [word[0] for word in words])
    *_, one = progressive_validation(KernelPerceptron(shared), stream)
    *_, six = progressive_validation(KernelPerceptron(shared), stream, chunk=6)
    assert (one.examples, one.mistakes, one.unpredicted) == (18, 2, 1)  # the first, and the first of the other class
    assert (six.examples, six.mistakes, six.unpredicted) == (18, 6, 6)


def test_it_is_deterministic_and_learns_in_place():
    runs = []
    for _ in range(2):
        estimator = kernel_perceptron()
        runs.append(
            [(r.examples, r.error, r.support, r.memory) for r in progressive_validation(estimator, STREAM, every=9)]
        )
    assert runs[0] == runs[1]
    assert estimator.n_rounds_ == N
    *_, again = progressive_validation(estimator, STREAM)  # goes on from where it stands
    assert estimator.n_rounds_ == 2 * N
    assert again.unpredicted == 0


@pytest.mark.parametrize(("chunk", "every", "expected"), [
    (1, 50, [50, 100, 150, 157]),
    (1, 157, [157]),
    (1, 1000, [157]),
    (20, 50, [60, 100, 157]),  # the ends of the chunks that reach 50, 100 and 150
    (20, 10, [20, 40, 60, 80, 100, 120, 140, 157]),
    (157, 1, [157]),
])  # fmt: skip
def test_records_come_every_so_many_examples_and_at_the_end(chunk, every, expected):
    records = list(progressive_validation(Perceptron(), STREAM, chunk=chunk, every=every))
    assert [r.examples for r in records] == expected
    seconds = [r.seconds for r in records]
    assert seconds == sorted(seconds)
    assert seconds[0] > 0


def test_it_reads_no_further_than_it_has_told():
    read = []
    endless = ((np.ones(2) * (-1) ** i, i % 2) for i in itertools.count() if not read.append(i))
    records = progressive_validation(Perceptron(), endless, every=10)
    assert next(records).examples == 10 == len(read)
    assert next(records).examples == 20 == len(read)


def test_classes_that_are_known_from_the_start():
    for chunk in (1, 10):
        estimator = kernel_perceptron()
        *_, last = progressive_validation(estimator, STREAM.take(2), chunk=chunk, classes=np.unique(Y))
        assert estimator.classes_.tolist() == ["no", "perhaps", "yes"]
        assert last.examples == 2


@pytest.mark.parametrize("chunk", [1, 10])
def test_estimators_of_scikit_learn_are_judged_by_the_same_protocol(chunk):
    estimator, twin = SGDClassifier(random_state=0), SGDClassifier(random_state=0)
    classes, predicted = np.unique(Y), []
    for start in range(0, N, chunk):
        part = slice(start, start + chunk)
        predicted += twin.predict(X[part]).tolist() if start else [None] * chunk
        twin.partial_fit(X[part], Y[part], classes=classes)
    *_, last = progressive_validation(estimator, STREAM, chunk=chunk, classes=classes)
    assert last.mistakes == (np.array(predicted, dtype=object) != Y).sum()
    assert last.support is None


class Always(OutlierMixin, BaseEstimator):
    """Finds nothing odd."""

    def partial_fit(self, X, y=None): ...

    def predict(self, X):
        return np.ones(len(X), dtype=int)


def test_an_outlier_detector_is_judged_by_its_signs():
    *_, last = progressive_validation(Always(), Stream(X, np.where(X[:, 0] > 1, -1, 1)), "balanced_accuracy")
    assert last.error == (X[:, 0] > 1).mean()
    assert last.metrics == {"balanced_accuracy": 0.5}


# ---------------------------------------------------------------- metrics


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abcd")), min_size=1, max_size=30), st.integers(1, 30)
)
def test_metrics_of_classes_are_those_of_scikit_learn(pairs, window):
    truth, predicted = [t for t, _ in pairs], [p for _, p in pairs]
    estimator = Said(predicted)
    names = ["accuracy", "error", "balanced_accuracy", "f1"]
    for r in progressive_validation(
        estimator, zip(range(len(truth)), truth, strict=True), names, every=1, window=window
    ):
        t, p = truth[: r.examples], predicted[: r.examples]
        recalls = [np.mean([q == c for s, q in zip(t, p, strict=True) if s == c]) for c in set(t)]
        expected = {
            "accuracy": sk.accuracy_score(t, p),
            "error": 1 - sk.accuracy_score(t, p),
            "balanced_accuracy": np.mean(recalls),  # scikit-learn warns of classes that were only predicted
            "f1": sk.f1_score(t, p, average="macro", zero_division=0),
        }
        assert r.metrics == pytest.approx(expected, abs=1e-12)
        assert r.error == pytest.approx(expected["error"], abs=1e-12)
        assert r.window_error == pytest.approx(np.mean(np.array(t[-window:]) != np.array(p[-window:])), abs=1e-12)


def test_balanced_accuracy_is_that_of_scikit_learn():
    estimator, twin = kernel_perceptron().partial_fit(X[:30], Y[:30]), kernel_perceptron().partial_fit(X[:30], Y[:30])
    *_, last = progressive_validation(estimator, STREAM, "balanced_accuracy")
    predicted = by_hand(twin, 1)
    assert last.metrics["balanced_accuracy"] == pytest.approx(sk.balanced_accuracy_score(Y, predicted), rel=1e-12)


def test_an_example_that_could_not_be_predicted_is_a_wrong_one_of_its_class():
    answers, truth = [None, "a", "b", None], ["a", "a", "b", "b"]
    names = ["accuracy", "balanced_accuracy", "f1"]
    *_, last = progressive_validation(Said(answers), zip(range(4), truth, strict=True), names)
    assert (last.mistakes, last.error, last.unpredicted) == (2, 0.5, 2)
    # each class: one of two found, and no false one: F1 = 2 · 1 / (2 + 1)
    assert last.metrics == pytest.approx({"accuracy": 0.5, "balanced_accuracy": 0.5, "f1": 2 / 3})


@pytest.mark.parametrize("chunk", [1, 8])
def test_metrics_of_numbers_are_those_of_scikit_learn(chunk):
    target = 1e3 + X[:, 0]
    predicted = [np.mean(target[: start - start % chunk]) for start in range(chunk, N)]
    stream, names = Stream(X, target), ["mae", "mse", "r2"]
    records = list(progressive_validation(Mean(), stream, names, chunk=chunk, every=chunk, window=30))
    for r in records[1:]:
        t, p = target[chunk : r.examples], predicted[: r.examples - chunk]
        assert (r.mistakes, r.unpredicted) == (None, chunk)
        assert r.metrics["mae"] == pytest.approx(sk.mean_absolute_error(t, p), rel=1e-9)
        assert r.error == pytest.approx(r.metrics["mae"], rel=1e-9)
        assert r.window_error == pytest.approx(sk.mean_absolute_error(t[-30:], p[-30:]), rel=1e-9)
        assert r.metrics["mse"] == pytest.approx(sk.mean_squared_error(t, p), rel=1e-9)
        if len(t) > 1:
            assert r.metrics["r2"] == pytest.approx(sk.r2_score(t, p), rel=1e-6, abs=1e-6)
    first = records[0]
    assert all(map(math.isnan, [first.error, first.window_error, *first.metrics.values()]))


def test_a_regressor_of_scikit_learn_is_one_too():
    *_, last = progressive_validation(SGDRegressor(random_state=0), Stream(X, X[:, 0]), "r2", chunk=5)
    assert last.mistakes is None
    assert 0 < last.metrics["r2"] < 1


class Heard:
    """A metric of one's own, in river's form."""

    def __init__(self):
        self.told = []

    def update(self, y_true, y_pred):
        self.told.append((y_true, y_pred))

    def get(self):
        return len(self.told)


def test_objects_are_told_of_every_prediction_that_was_made():
    for chunk in (1, 10):
        metric = Heard()
        predicted = by_hand(Perceptron(), chunk)
        *_, last = progressive_validation(Perceptron(), STREAM, metric, chunk=chunk)
        assert metric.told == list(zip(Y.tolist(), predicted, strict=True))[chunk:]
        assert last.metrics == {"Heard": N - chunk}
    *_, last = progressive_validation(Perceptron(), STREAM, {"mine": Heard(), "f": "f1", "g": "f1"})
    assert list(last.metrics) == ["mine", "f", "g"]
    assert last.metrics["f"] == last.metrics["g"]


# ---------------------------------------------------------------- baselines


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=40))
def test_baselines_are_their_definitions(labels):
    n = len(labels)
    no_change = sum(t == 0 or labels[t] != labels[t - 1] for t in range(n)) / n
    majority, front = 0, None
    for t, label in enumerate(labels):
        before = labels[:t]
        # the front stays until another has strictly more
        front = max(set(before), key=lambda c: (before.count(c), c == front)) if before else None
        majority += label != front
    found = baselines(labels)
    assert found == Baselines(majority / n, no_change)
    assert baselines(Stream(labels, labels)) == baselines(np.array(labels)) == found


def test_baselines_read_only_the_labels_of_a_stream():
    majority, no_change = baselines(drifting(20_000, random_state=0))
    assert abs(majority - 0.5) < 0.02  # both classes are equally likely, and independent: 5.6 standard deviations
    assert abs(no_change - 0.5) < 0.02


# ---------------------------------------------------------------- memory


def test_memory_counts_arrays_once_at_their_capacity():
    class Holder:
        def __init__(self, **things):
            vars(self).update(things)

    empty = memory(Holder())
    whole = np.zeros(10_000)
    assert memory(Holder(a=whole)) - empty == pytest.approx(80_000, abs=300)
    assert memory(Holder(a=whole, b=[whole, whole[::2]], c={"d": whole[:1]})) - empty == pytest.approx(80_000, abs=1500)
    assert memory(Holder(a=whole[:1])) - empty == pytest.approx(80_000, abs=300)  # what a view keeps alive
    assert memory(Holder(a=sp.csr_array(np.eye(1000)))) - empty == pytest.approx(8000 + 4 * 1000 + 4 * 1001, abs=3000)
    words = np.array([chr(65 + i) * 1000 for i in range(20)], dtype=object)
    assert memory(Holder(a=words)) - empty == pytest.approx(20 * 1000, abs=2500)
    assert memory(Holder(a=np.linalg, b=memory, c=Holder)) - empty < 1000  # neither modules, functions nor classes


def test_the_memory_of_a_model_grows_with_its_support():
    d = 200
    rows = np.random.default_rng(1).normal(size=(600, d))
    estimator = KernelPerceptron(gamma=1.0, hypothesis="last")
    records = list(progressive_validation(estimator, Stream(rows, np.arange(600) % 2), chunk=100, every=100))
    grown = records[-1].support - records[0].support
    assert grown > 100
    assert records[-1].memory - records[0].memory > 0.9 * 8 * d * grown
    # rows and packed panels, both at up to twice their size, and once more, as large as they are, in what predicts
    assert records[-1].memory < 1.1 * (2 * 2 + 2) * 8 * d * records[-1].support
    *_, line = progressive_validation(Perceptron(), drifting(20_000, random_state=0), chunk=1000)
    assert line.memory > 32 * line.mistakes * 0.9  # its ledger
