"""Laws of the structured perceptron: it learns as its slow twin, in all its forms."""

from __future__ import annotations

import pickle
from collections import Counter
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from reference.tagger_oracles import TwinTagger, best, dual_twin, phi, scored, sq_norm

from onkel import SequencePerceptron
from onkel._core import simd, simd_targets, threads
from onkel.kernels import RBF, Linear, Polynomial

LABELS = ("A", "B", "C")


def sentences(n: int = 12, seed: int = 0, values: bool = False) -> tuple[list[Any], list[list[str]]]:
    """Short sentences of few features, with tags that depend on features and neighbours, and some noise."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for s in range(n):
        length = int(rng.integers(1, 5))
        words = rng.integers(0, 5, length)
        tags = [LABELS[(w + (words[t - 1] if t else 0)) % 3] for t, w in enumerate(words)]
        if rng.random() < 0.2:
            tags[0] = LABELS[int(rng.integers(3))]
        tokens = [{f"w{w}": 1.0, f"p{words[t - 1] if t else 'x'}": 1.0} for t, w in enumerate(words)]
        if values:
            tokens = [{**token, "size": float(rng.integers(-2, 3)) / 2} for token in tokens]
        X.append(tokens)
        y.append([LABELS[0], *tags[1:]] if s == 0 else tags)
    return X, y


def as_strings(X: list[Any]) -> list[list[list[str]]]:
    return [[list(token) for token in sentence] for sentence in X]


def numbered(y: list[list[str]], labels: Any = LABELS) -> list[tuple[int, ...]]:
    places = list(labels)
    return [tuple(places.index(tag) for tag in tags) for tags in y]


def twin_of(X: Any, y: Any, epochs: int, order: int = 1, margin: float = 0.0) -> TwinTagger:
    twin = TwinTagger(3, lambda x, z: phi(x, z, order), margin)
    for _ in range(epochs):
        before = len(twin.updates)
        for x, labels in zip(X, numbered(y), strict=True):
            twin.learn(x, labels)
        if len(twin.updates) == before:
            break
    return twin


def weights(tagger: SequencePerceptron, order: int = 1) -> dict[Any, float]:
    """The weights of a model, as the twin names them."""
    scorer, labels = tagger.model_.scorer, list(tagger.classes_)
    place, L = [LABELS.index(label) for label in labels], len(labels)
    found = {}
    for i, name in enumerate(scorer.index.names()):
        for label, w in zip(*scorer.weights.row(i), strict=True):
            found["feature", name, place[label]] = float(w)
    names = [*place, None]
    first, second = scorer.transitions
    found |= {("transition", names[i], place[j]): float(first[i, j]) for i in range(L + 1) for j in range(L)}
    if order == 2:
        cells = np.ndindex(second.shape)
        found |= {("second", names[h], names[i], place[j]): float(second[h, i, j]) for h, i, j in cells}
    return {key: w for key, w in found.items() if w != 0}


def assert_weights(tagger: Any, wanted: dict, order: int = 1, tolerance: float = 1e-6) -> None:
    found = weights(tagger, order)
    for key in found.keys() | wanted.keys():
        assert found.get(key, 0.0) == pytest.approx(wanted.get(key, 0.0), abs=tolerance), key


# ---------------------------------------------------------------- the twin


@pytest.mark.parametrize("target", simd_targets())
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize(("margin", "values"), [(0, False), (2, False), (0.5, False), (0, True), (1.5, True)])
def test_learning_is_that_of_the_slow_twin(order, margin, values, target):
    X, y = sentences(values=values)
    twin = twin_of(X, y, 3, order, margin)
    settings = {"order": order, "margin": margin, "max_iter": 3, "shuffle": False}
    with simd(target), threads(1 + order % 2):
        for hypothesis, v in (("last", twin.v), ("averaged", twin.averaged())):
            tagger = SequencePerceptron(hypothesis=hypothesis, **settings).fit(X if values else as_strings(X), y)
            assert (tagger.n_rounds_, tagger.n_updates_) == (len(twin.guesses), len(twin.updates))
            assert_weights(tagger, v, order)
            assert tagger._running.learner.norm_sq == pytest.approx(sq_norm(twin.v))
            assert tagger._running.learner.radius_sq == pytest.approx(max(map(sq_norm, twin.updates)))


@pytest.mark.parametrize("order", [1, 2])
def test_a_vote_of_all_guesses_is_that_of_every_guess_kept(order):
    X, y = sentences()
    new, _ = sentences(seed=1)
    twin = twin_of(X, y, 2, order)
    tagger = SequencePerceptron(hypothesis="voted", n_voters=None, order=order, max_iter=2, shuffle=False)
    found = tagger.fit(as_strings(X), y).predict(as_strings(new))
    assert numbered(found) == [twin.voted(x) for x in new]


def test_voters_are_drawn_by_how_long_they_were_used_and_the_same_seed_draws_the_same():
    X, y = sentences(30)
    taggers = [
        SequencePerceptron(hypothesis="voted", n_voters=5, max_iter=2, random_state=3).fit(as_strings(X), y)
        for _ in range(2)
    ]
    voters = [tagger.model_.scorer for tagger in taggers]
    assert voters[0].weights.sum() == 5
    assert voters[0] == voters[1]
    assert taggers[0].predict(as_strings(X)) == taggers[1].predict(as_strings(X))


def test_predicting_k_best_and_margins_are_those_of_all_labellings():
    X, y = sentences()
    tagger = SequencePerceptron(order=2, max_iter=3, random_state=0).fit(as_strings(X), y)
    v = weights(tagger, 2)
    for x, tags, ranked, margin in zip(
        X, tagger.predict(as_strings(X)), tagger.k_best(as_strings(X), 4), tagger.margins(as_strings(X)), strict=True
    ):
        wanted = scored(v, x, 3, lambda x, z: phi(x, z, 2))
        assert [found.score for found in ranked] == pytest.approx([score for score, _ in wanted[:4]], abs=1e-4)
        assert tags == ranked[0].tags
        assert margin == pytest.approx(wanted[0][0] - wanted[1][0], abs=1e-4)


def test_tables_on_observations_are_features_of_pairs_of_labels():
    X, y = sentences()
    words = [[next(iter(token)) for token in sentence] for sentence in X]

    def pairs(sentence: Any) -> list[list[str]]:
        return [[] if t == 0 else [f"B1:{word}"] for t, word in enumerate(sentence)]

    def features(sentence: Any, z: Any) -> Any:
        return phi([{f"U0:{word}": 1.0} for word in sentence], z, 1, pairs(sentence))

    twin = TwinTagger(3, features)
    for _ in range(2):
        for x, labels in zip(words, numbered(y), strict=True):
            twin.learn(x, labels)
    tagger = SequencePerceptron(templates="U0:%x[0,0]\nB\nB1:%x[0,0]", max_iter=2, shuffle=False, hypothesis="last")
    tagger.fit(words, y)
    assert tagger.n_updates_ == len(twin.updates)
    assert numbered(tagger.predict(words)) == [best(twin.v, x, 3, features) for x in words]
    vote = SequencePerceptron(
        templates="U0:%x[0,0]\nB1:%x[0,0]", max_iter=2, shuffle=False, hypothesis="voted", n_voters=None
    )
    assert numbered(vote.fit(words, y).predict(words)) == [twin.voted(x) for x in words]
    one = tagger.set_params(hypothesis="last").predict_one(words[0])
    assert one == tagger.predict(words[:1])[0]


# ---------------------------------------------------------------- one learner, many ways in


def same(one: Any, other: Any, X: Any) -> None:
    assert (one.n_rounds_, one.n_updates_) == (other.n_rounds_, other.n_updates_)
    assert one.predict(X) == other.predict(X)
    assert_weights(one, weights(other), tolerance=0.0)


@pytest.mark.parametrize("chunk", [1, 2, 5, 100])
def test_a_chunked_pass_is_one_epoch_and_the_loop_of_single_sentences(chunk):
    X, y = sentences(20)
    X = as_strings(X)
    whole = SequencePerceptron(max_iter=1, shuffle=False).fit(X, y)
    parts = SequencePerceptron()
    for first in range(0, len(X), chunk):
        parts.partial_fit(X[first : first + chunk], y[first : first + chunk], classes=LABELS)
    same(whole, parts, X)
    late = SequencePerceptron()
    for first in range(0, len(X), chunk):
        late.partial_fit(X[first : first + chunk], y[first : first + chunk])
    loop = SequencePerceptron()
    for sentence, tags in zip(X, y, strict=True):
        loop.learn_one(sentence, tags)
    same(late, loop, X)
    assert list(late.classes_) == list(dict.fromkeys(tag for tags in y for tag in tags))


def test_a_late_tag_is_predicted_only_after_its_first_sentence():
    X = [[["a"], ["b"]], [["a"], ["c"]]]
    tagger = SequencePerceptron().partial_fit(X[:1], [["P", "Q"]])
    assert set(tagger.predict(X)[1]) <= {"P", "Q"}
    tagger.partial_fit(X[1:] * 3, [["P", "R"]] * 3)
    assert tagger.predict(X)[1] == ["P", "R"]


def test_one_sentence_alone_is_tagged_as_in_a_batch():
    X, y = sentences(40)
    X = as_strings(X)
    for hypothesis in ("averaged", "last", "voted"):
        tagger = SequencePerceptron(hypothesis=hypothesis, random_state=0, order=2).fit(X, y)
        together = tagger.predict(X)
        assert together == [tagger.predict([x])[0] for x in X]
        assert together == [tagger.model_.predict_one(x) for x in X]
        assert together == [tagger.predict_one(x) for x in X]


def matrices(X: list[Any]) -> list[np.ndarray]:
    names = sorted({name for sentence in X for token in sentence for name in token})
    return [np.array([[token.get(name, 0.0) for name in names] for token in sentence]) for sentence in X]


def test_strings_dicts_matrices_and_rows_with_lengths_are_the_same_sentences():
    X, y = sentences()
    M = matrices(X)
    lengths = [len(m) for m in M]
    stacked = sp.csr_matrix(np.concatenate(M))
    settings = {"max_iter": 4, "random_state": 0, "hypothesis": "last"}  # whole numbers: sums in any order are equal
    wanted = SequencePerceptron(**settings).fit(as_strings(X), y)
    for given, more in ((X, {}), (M, {}), ([sp.csr_array(m) for m in M], {}), (stacked, {"lengths": lengths})):
        found = SequencePerceptron(**settings).fit(given, y, **more)
        assert found.n_updates_ == wanted.n_updates_
        assert found.predict(given, **more) == wanted.predict(as_strings(X))
        assert found.score(given, y, **more) == wanted.score(as_strings(X), y)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("margin", [0, 1.5])
def test_the_kernel_form_with_the_linear_kernel_is_the_linear_form(order, margin):
    X, y = sentences(values=True)
    M = matrices(X)
    settings = {"max_iter": 3, "random_state": 0, "order": order, "margin": margin, "hypothesis": "last"}
    linear = SequencePerceptron(**settings).fit(M, y)
    dual = SequencePerceptron(kernel=Linear(), **settings).fit(M, y)
    assert (dual.n_rounds_, dual.n_updates_) == (linear.n_rounds_, linear.n_updates_)
    for name in ("norm_sq", "radius_sq"):
        assert getattr(dual._running.learner, name) == pytest.approx(getattr(linear._running.learner, name))
    assert dual.predict(M) == linear.predict(M)
    np.testing.assert_allclose(dual.margins(M), linear.margins(M), rtol=1e-9, atol=1e-9)


def test_a_kernel_learns_what_no_line_separates():
    X = [np.array([[a, b]]) for a in (-1.0, 1.0) for b in (-1.0, 1.0)]
    y = [["same"] if x[0, 0] == x[0, 1] else ["other"] for x in X]
    tagger = SequencePerceptron(kernel=RBF(gamma=1.0), max_iter=100, random_state=0).fit(X, y)
    assert tagger.predict(X) == y
    assert tagger.converged_


def linear_features(sequence: Any, t: int, before: str | None, tag: str) -> dict[str, float]:
    return {f"{name}|{tag}": value for name, value in sequence[t].items()} | {f"{before}>{tag}": 1.0}


def test_a_function_of_the_user_gives_any_markov_features():
    X, y = sentences()

    settings = {"max_iter": 3, "random_state": 0, "margin": 1, "hypothesis": "last"}
    linear = SequencePerceptron(**settings).fit(X, y)
    own = SequencePerceptron(features=linear_features, **settings).fit(X, y)
    assert (own.n_rounds_, own.n_updates_) == (linear.n_rounds_, linear.n_updates_)
    assert own.predict(X) == linear.predict(X)
    np.testing.assert_allclose(own.margins(X), linear.margins(X), atol=1e-4)
    loop = SequencePerceptron(features=linear_features)
    for x, tags in zip(X, y, strict=True):
        loop.learn_one(x, tags)
    assert loop.predict_one(X[0]) == loop.predict(X[:1])[0]
    copied = pickle.loads(pickle.dumps(SequencePerceptron(features=word_and_tag).fit(X, y)))
    assert len(copied.predict(X)) == len(X)


def word_and_tag(sequence: Any, t: int, before: str | None, tag: str) -> list[str]:
    return [f"{next(iter(sequence[t]))}|{tag}", f"{before}>{tag}"]


# ---------------------------------------------------------------- votes of all forms

VALUES = sentences(values=True)
VOTES: dict[str, tuple[dict[str, Any], Any]] = {
    "linear": ({}, VALUES[0]),
    "order 2": ({"order": 2, "margin": 1}, VALUES[0]),
    "kernel": ({"kernel": RBF(gamma=0.3)}, matrices(VALUES[0])),
    "kernel, order 2": ({"kernel": Polynomial(degree=2, gamma=1.0), "order": 2, "margin": 1}, matrices(VALUES[0])),
    "function": ({"features": linear_features, "margin": 1}, VALUES[0]),
}
each_vote = pytest.mark.parametrize("form", VOTES)


@pytest.mark.parametrize("order", [1, 2])
def test_a_vote_with_a_kernel_is_that_of_every_guess_kept_as_a_sum_over_support_vectors(order):
    X, y = VALUES
    M = matrices(X)
    vectors = np.unique(np.concatenate(M), axis=0)
    places = {row.tobytes(): i for i, row in enumerate(vectors)}
    tokens = [[places[row.tobytes()] for row in m] for m in M]
    twin = dual_twin(3, lambda a, b: (a @ b + 1.0) ** 2, vectors, order)
    for x, labels in [*zip(tokens, numbered(y), strict=True)] * 2:
        twin.learn(x, labels)
    settings = {"hypothesis": "voted", "n_voters": None, "order": order, "max_iter": 2, "shuffle": False}
    tagger = SequencePerceptron(kernel=Polynomial(degree=2, gamma=1.0, coef0=1.0), **settings).fit(M, y)
    assert tagger.n_updates_ == len(twin.updates)
    assert numbered(tagger.predict(M)) == [twin.voted(x) for x in tokens]


def vote(models: list[Any], X: Any, **options: Any) -> list[list[str]]:
    """The labelling of each sentence that most models find; of several, the first that was found."""
    found = []
    for labellings in zip(*(model.predict(X, **options) for model in models), strict=True):
        votes = Counter(map(tuple, labellings))
        found.append(list(max(votes, key=lambda labelling: votes[labelling])))
    return found


@each_vote
def test_a_vote_of_any_form_is_that_of_the_models_of_all_rounds_also_if_tags_are_restricted(form):
    params, X = VOTES[form]
    y = [["B-B" if tag == "A" else f"I-{tag}" for tag in tags] for tags in VALUES[1]]
    known = [[{"B-B", "I-B"} if (s + t) % 3 else None for t in range(len(tags))] for s, tags in enumerate(y)]
    more: dict[str, Any] = {"classes": ["B-B", "B-C", "I-B", "I-C"]}
    nothing = SequencePerceptron(**{**params, "margin": 0}, hypothesis="last", scheme="BIO")
    nothing.partial_fit(X[:1], [["B-B"] * len(y[0])], **more)  # all scores are 0, so that the first tag is found
    assert nothing.n_updates_ == 0
    models, twin = [nothing.model_], SequencePerceptron(**params, hypothesis="last", scheme="BIO")
    for s in [*range(len(X)), *range(len(X))]:
        models.append(twin.partial_fit(X[s : s + 1], y[s : s + 1], **more).model_)
    tagger = SequencePerceptron(**params, hypothesis="voted", n_voters=None, scheme="BIO")
    tagger.partial_fit(X, y, **more).partial_fit(X, y)
    assert tagger.predict(X) == vote(models[:-1], X)  # the last guess was not used yet
    assert tagger.predict(X, known) == vote(models[:-1], X, allowed=known)
    assert tagger.predict(X) != twin.predict(X)  # there is something to vote on


@pytest.mark.parametrize("form", ["kernel", "sparse", "sum of kernels", "function"])
def test_a_guess_that_votes_has_the_scores_of_its_round_bit_for_bit(form):
    """Vectors that are repeated make ties, which the last bit decides."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(8, 3))
    X: list[Any] = [vectors[rng.integers(0, 8, rng.integers(1, 5))] for _ in range(40)]
    y = [[LABELS[i] for i in rng.integers(0, 3, len(x))] for x in X]
    params: dict[str, Any] = {"kernel": RBF(gamma=0.3)}
    if form == "sparse":
        X = [sp.csr_array(x) for x in X]
    elif form == "sum of kernels":
        params = {"kernel": RBF(gamma=0.3) * Linear() + Linear(), "order": 2}
    elif form == "function":
        X, params = [[{f"x{i}": v for i, v in enumerate(row)} for row in x] for x in X], {"features": linear_features}
    last = SequencePerceptron(**params, hypothesis="last").partial_fit(X[:1], y[:1], classes=LABELS)
    tagger = SequencePerceptron(**params, hypothesis="voted", n_voters=None).partial_fit(X, y, classes=LABELS)
    run = tagger.model_.scorer.run
    guesses = list(run.lattices(run.read(X), np.arange(run.n_updates + 1)))
    for x, tags in zip(X[1:], y[1:], strict=True):
        wanted = last.model_.scorer.lattice(last.model_.scorer.read(X))
        found = guesses[last.n_updates_]
        assert np.array_equal(found.E, wanted.E)
        assert np.array_equal(found.transitions, wanted.transitions)
        last.partial_fit([x], [tags])
    assert run.n_updates == last.n_updates_ > 20


@pytest.mark.parametrize("n_voters", [None, 7])
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("order", "margin"), [(1, 0), (2, 1.5)])
def test_with_the_linear_kernel_or_as_a_function_the_vote_is_that_of_the_linear_form(order, margin, stream, n_voters):
    X, y = VALUES
    M, new = matrices(X), sentences(seed=1, values=True)[0]
    settings = {"hypothesis": "voted", "n_voters": n_voters, "random_state": 0, "margin": margin, "max_iter": 3}
    forms = [({"order": order}, M), ({"order": order, "kernel": Linear()}, M)]
    if order == 1:
        forms += [({}, X), ({"features": linear_features}, X)]
    found = []
    for params, data in forms:
        tagger = SequencePerceptron(**settings, **params)
        if stream:  # with tags that turn up late
            tagger.partial_fit(data[:5], y[:5]).partial_fit(data, y)
        else:
            tagger.fit(data, y)
        voters = tagger.model_.scorer
        unseen = matrices(X + new)[len(X) :] if data is M else new
        found.append((voters.guesses.tolist(), voters.weights.tolist(), tagger.predict(data), tagger.predict(unseen)))
        assert tagger.predict(data) == [tagger.predict_one(x) for x in data]
        assert tagger.predict(data) == [tagger.model_.predict_one(x) for x in data]
    assert all(one == found[0] for one in found[1:])
    assert len(found[0][0]) > 4


@each_vote
def test_a_vote_that_was_pickled_in_the_middle_goes_on_as_one_that_was_not(form):
    params, X = VOTES[form]
    y = VALUES[1]
    whole = SequencePerceptron(**params, hypothesis="voted", n_voters=9, random_state=0).fit(X, y)
    other = pickle.loads(pickle.dumps(whole))
    model, found = whole.model_, whole.predict(X)
    if form != "function":
        again = SequencePerceptron().resume(whole.snapshot())
        assert again.predict(X) == found
    for tagger in (whole, other, *([] if form == "function" else [again])):
        tagger.partial_fit(X[3:], [tags[::-1] for tags in y[3:]])
        assert tagger.model_.scorer == whole.model_.scorer
        assert tagger.predict(X) == whole.predict(X)
    assert model.scorer != whole.model_.scorer
    assert model.predict(X) == found == pickle.loads(pickle.dumps(model)).predict(X)
    for hypothesis in ("last", "averaged"):  # can be taken of the same run
        plain = SequencePerceptron(**params, hypothesis=hypothesis, random_state=0).fit(X, y)
        plain.partial_fit(X[3:], [tags[::-1] for tags in y[3:]])
        assert whole.set_params(hypothesis=hypothesis).predict(X) == plain.predict(X)


# ---------------------------------------------------------------- features


def test_rare_features_are_left_out_of_a_fit():
    X = [[["often", f"once{s}"]] for s in range(6)]
    tagger = SequencePerceptron(min_count=2).fit(X, [["A"], ["B"]] * 3)
    assert tagger.n_features_ == 1
    tagger.partial_fit([[["new"]]], [["A"]])
    assert tagger.n_features_ == 2


def test_hashed_features_with_many_bits_predict_as_names_do():
    X, y = sentences(30)
    X = as_strings(X)
    named = SequencePerceptron(max_iter=3, shuffle=False).fit(X, y)
    hashed = SequencePerceptron(max_iter=3, shuffle=False, n_bits=20).fit(X, y)
    assert hashed.n_updates_ == named.n_updates_
    assert hashed.predict(X) == named.predict(X)
    small = SequencePerceptron(max_iter=3, n_bits=1, random_state=0).fit(X, y)
    assert small.predict(X) == SequencePerceptron(max_iter=3, n_bits=1, random_state=0).fit(X, y).predict(X)


def test_the_order_of_the_features_of_a_token_does_not_matter():
    X, y = sentences(30)
    X = as_strings(X)
    turned = [[token[::-1] for token in sentence] for sentence in X]
    settings = {"max_iter": 3, "random_state": 0}
    same(SequencePerceptron(**settings).fit(X, y), SequencePerceptron(**settings).fit(turned, y), X)


# ---------------------------------------------------------------- bounds


@pytest.mark.parametrize("margin", [0, 3])
@pytest.mark.parametrize("order", [1, 2])
def test_the_certificate_bounds_the_updates_by_the_margin_of_all_labellings(order, margin):
    certified = 0
    for seed in range(6):
        X, _ = sentences(8, seed=seed)
        y = [[LABELS[int(next(iter(token))[1]) % 3] for token in x] for x in X]
        tagger = SequencePerceptron(order=order, margin=margin, max_iter=200, random_state=0, hypothesis="last")
        tagger.fit(as_strings(X) * 60, y * 60)  # often enough for a bound below the number of rounds
        assert tagger.converged_
        found, v = tagger.certificate_, weights(tagger, order)
        margins = []
        for x, labels in zip(X, numbered(y), strict=True):
            every = {z: score for score, z in scored(v, x, 3, lambda x, z: phi(x, z, order))}
            margins.append(every.pop(labels) - max(every.values()))
        delta, R, N = min(margins) / np.sqrt(sq_norm(v)), tagger._running.learner.radius_sq, max(map(len, X))
        assert found.margin == pytest.approx(delta)
        if found.form != "rounds":  # where the right labelling wins clearly
            certified += 1
            assert found.holds
            assert found.bound == pytest.approx((R + 2 * margin * N) / delta**2)
            assert tagger.n_updates_ <= found.bound
    assert certified >= 1


@pytest.mark.parametrize("kernel", [None, RBF(gamma=0.3)])
def test_the_margin_of_real_numbers_is_that_of_the_second_best_labelling(kernel):
    X, _ = sentences(8, values=True)
    y = [[LABELS[int(next(iter(token))[1]) % 3] for token in x] for x in X]
    M = matrices(X)
    tagger = SequencePerceptron(kernel=kernel, max_iter=500, random_state=0, hypothesis="last").fit(M, y)
    assert tagger.converged_
    assert tagger.predict(M) == y
    wanted = tagger.margins(M).min() / np.sqrt(tagger._running.learner.norm_sq)
    assert tagger.certificate_.margin == pytest.approx(wanted)
    assert wanted > 1e-6


def test_with_a_margin_the_bound_without_it_is_false():
    """One token and two labels: with m = 20 there are far more updates than R²/δ²."""
    tagger = SequencePerceptron(margin=20, max_iter=100).fit([[["x"]]], [["b"]])
    assert tagger.n_updates_ == 0  # a single label is never wrong
    tagger = SequencePerceptron(margin=20, max_iter=100, hypothesis="last").partial_fit(
        [[["x"]]], [["b"]], classes=["a", "b"]
    )
    tagger.set_params(warm_start=True, max_iter=100)
    tagger.fit([[["x"]]], [["b"]])
    R, margin = (
        tagger._running.learner.radius_sq,
        tagger.margins([[["x"]]])[0] / np.sqrt(tagger._running.learner.norm_sq),
    )
    assert tagger.n_updates_ > R / margin**2
    assert tagger.n_updates_ <= (R + 2 * 20) / margin**2


def test_a_vote_takes_chunks_whose_values_are_all_1_together_with_others():
    X, y = [np.eye(2), np.eye(2), np.eye(2) / 2, np.eye(2)], [["A", "B"], ["B", "A"], ["A", "A"], ["B", "B"]]
    chunks, whole = (SequencePerceptron(hypothesis="voted", n_voters=None) for _ in range(2))
    whole.partial_fit(X, y)
    for sentence, tags in zip(X, y, strict=True):
        chunks.partial_fit([sentence], [tags])
    one, all_at_once = (tagger.model_.state().arrays["scorer/run/updates/values"] for tagger in (chunks, whole))
    assert np.array_equal(one, all_at_once)
    assert 0.5 in one
    assert 1.0 in one
