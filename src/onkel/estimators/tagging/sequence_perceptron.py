"""The structured perceptron as an estimator: it tags sequences."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from onkel._core import Lock
from onkel._core.transaction import assign, restore
from onkel.bounds.sentences import certify_tagging_fit
from onkel.checks import check_integer, check_number, check_one_of
from onkel.errors import InputError
from onkel.estimators.base.estimator import Estimator, undo_on_error
from onkel.estimators.base.parameters import HYPOTHESES, BuiltWith
from onkel.estimators.base.progress import progress_bar
from onkel.estimators.online.fitted import Certified
from onkel.estimators.tagging import state as sequence_state
from onkel.estimators.tagging.form import Form, form_of
from onkel.estimators.tagging.input import Tags, read_sequences, read_tags
from onkel.kernels import Kernel
from onkel.learners.epochs import run_epochs
from onkel.learners.tagging.learner import SentenceEpochs, TagLearner, learn_sentences
from onkel.learners.tagging.structured import StructuredLearner
from onkel.models.tagging.constraints import SCHEMES, allowed_mask, best_allowed, check_scheme
from onkel.models.tagging.tagger import Explanation, FeatureWeight, Labelling, Tagger
from onkel.states.state import State
from onkel.text.sentences import Sentences

__all__ = ["SequencePerceptron"]


class SequencePerceptron(Estimator):
    """The structured perceptron: it tags a sentence as a whole, and learns from the sentences that it gets wrong.

    A labelling z of a sentence x has the score v·Φ(x, z), where Φ counts the features of the tokens together with their
    tags, and the tags together with the tags before them. Viterbi's algorithm finds the labelling with the largest
    score, and where it is wrong, v ← v + Φ(x, y) − Φ(x, z). If some unit vector gives every right labelling a score
    that is larger than all others by δ, this happens at most R²/δ² times, where R bounds ‖Φ(x, y) − Φ(x, z)‖.

    Parameters
    ----------
    templates : what features are made of the columns of a token: "chunking", "ner" or "pos" (ready ones),
        `onkel.data.Templates`, or a text in the syntax of CRF++. None (default): tokens come with their features.
    features : a function (sequence, position, previous tag or None, tag) → a list of strings, or a dict {feature:
        value}: any features of a token, its tag and the one before. Slow, but free. None (default): none.
    kernel : a `Kernel`, such as ``RBF(gamma=0.5)``: tokens are vectors, and the score of a tag is a kernel expansion;
        for small problems. None (default): the scores are linear in the features.
    max_iter : ≥ 1, default 10, the most epochs of `fit`, which stops earlier after an epoch without an update.
    hypothesis : what predicts: "averaged" (default), the mean of all guesses of the run; "voted", the labelling that
        most guesses find; "last", the last guess. A vote needs the log of all updates, which is kept only if "voted"
        is set when learning begins.
    n_voters : ≥ 1, default 100, the number of guesses that vote, drawn by how long they were used; None: all.
    margin : ≥ 0, default 0, by which the score of the right tag is lowered at every token while learning, so that
        right labellings win clearly. 20 is a good value for sparse features.
    order : 1 (default): scores of a tag after another; 2: of a tag after two others as well.
    min_count : ≥ 1, default 1; features that `fit` meets less often are left out; later calls add every feature. For
        strings, dicts and templates without `n_bits`.
    n_bits : None (default): every feature has its own weights. A number: features are hashed into 2**n_bits, in bounded
        memory.
    scheme : "BIO" (or "IOB2", the same), "IOB1" or "BIOES": only labellings that are valid in it are predicted, and
        the tags must make up chunks in it. None (default): all.
    shuffle : True (default): `fit` visits the sentences in a new random order in every epoch.
    random_state : None (default), an int or a RandomState: the seed of the shuffling and of the voters.
    warm_start : False (default): `fit` starts anew; True: it goes on from what was learned.
    verbose : 0 (default): silent; 1: `fit` draws a progress bar.

    Attributes
    ----------
    classes_ : the tags: sorted after `fit`, otherwise in the order in which they came.
    n_rounds_, n_updates_ : the sentences presented, and those that changed v.
    n_mistakes_ : the sentences that were tagged wrongly; without a margin only, where these are the updates.
    n_features_ : the number of features that are known; a copy knows those that an update has used.
    transition_features_ : {(tag before, tag): weight}, what a tag adds after another; before the first token stands
        None. In order 2, {(tag, tag, tag): weight}. Not of a vote, nor with `features`.
    n_iter_, converged_ : the epochs of the last `fit`, and whether the last one made no update.
    model_ : what has been learned, as a frozen `Tagger` that does not change when the estimator learns on: serve from
        it.
    certificate_ : after a `fit` that ended without an update, the number of updates and the theorem's bound on it.

    A sentence is a list of tokens. A token is a list of strings, its features; or a dict, {"w": "the"} for a feature
    "w=the" and {"len": 3.0} for a feature with a value; with templates, a tuple of its columns, and the sentences may
    be a `Corpus`, as `onkel.data.read_conll` reads it; or a row of numbers: the sentences are then a list of matrices,
    or one matrix and the `lengths` of the sentences. Tags are strings, a list for each sentence.

    `partial_fit` and `learn_one` learn from further sentences, each once; features may turn up late. So may tags, if
    learning began with one of these and without `classes`; `fit` knows all tags from the start, and any other is an
    error then. Templates always come with the pairs of neighbouring tags, whether they have a line B or not.

    Cost: a token takes (features · tags + tags²) additions to be tagged, tags³ in order 2.

    >>> from onkel import SequencePerceptron
    >>> X = [[["w=the"], ["w=cat"], ["w=sat"]], [["w=a"], ["w=cat"]]]
    >>> tagger = SequencePerceptron(random_state=0).fit(X, [["DT", "NN", "VB"], ["DT", "NN"]])
    >>> tagger.predict([[["w=a"], ["w=dog"], ["w=sat"]]])
    [['DT', 'NN', 'VB']]

    Source: Collins 2002, Discriminative training methods for hidden Markov models; Cohen 2009, Margins, Mistakes,
    Ranking, Sequential Learning and the Perceptron, sec. 4.
    """

    FREE_PARAMS: ClassVar[frozenset[str]] = frozenset({"hypothesis", "n_voters", "scheme", "min_count"})

    def __init__(
        self,
        *,
        templates: Any = None,
        features: Any = None,
        kernel: Kernel | None = None,
        max_iter: int = 10,
        hypothesis: Literal["averaged", "voted", "last"] = "averaged",
        n_voters: int | None = 100,
        margin: float = 0,
        order: Literal[1, 2] = 1,
        min_count: int = 1,
        n_bits: int | None = None,
        scheme: str | None = None,
        shuffle: bool = True,
        random_state: Any = None,
        warm_start: bool = False,
        verbose: int = 0,
    ) -> None:
        self.templates = templates
        self.features = features
        self.kernel = kernel
        self.max_iter = max_iter
        self.hypothesis = hypothesis
        self.n_voters = n_voters
        self.margin = margin
        self.order = order
        self.min_count = min_count
        self.n_bits = n_bits
        self.scheme = scheme
        self.shuffle = shuffle
        self.random_state = random_state
        self.warm_start = warm_start
        self.verbose = verbose

    _form: Form
    _learner: TagLearner
    _labels: tuple[str, ...]
    _fixed: bool  # whether other tags than these are an error
    _lock: Lock
    _built_with: BuiltWith
    _certified: Certified | None
    _draw: int
    _cache: tuple[object, int, object, Tagger] | None

    # ---------------------------------------------------------------- parameters

    def _check_params(self) -> None:
        who = self._name
        for name in ("max_iter", "min_count"):
            check_integer(getattr(self, name), name, who, at_least=1)
        for name in ("n_voters", "n_bits"):
            if getattr(self, name) is not None:
                check_integer(getattr(self, name), name, who, at_least=1)
        if self.n_bits is not None and self.n_bits > 30:
            raise InputError(f"{who}: n_bits must be at most 30; got {self.n_bits}.")
        check_number(self.margin, "margin", who, at_least=0.0)
        check_one_of(self.hypothesis, "hypothesis", HYPOTHESES, who)
        if self.order not in (1, 2) or isinstance(self.order, bool):
            raise InputError(f"{who}: order must be 1 or 2; got {self.order!r}.")
        if self.scheme is not None:
            check_one_of(self.scheme, "scheme", SCHEMES, who)

    def __sklearn_tags__(self) -> Any:
        tags = super(Estimator, self).__sklearn_tags__()
        tags.input_tags.two_d_array, tags.target_tags.required = False, True
        return tags

    # ---------------------------------------------------------------- learning

    def fit(self, sequences: Any, tags: Any, lengths: Any = None) -> Self:
        """Learns from sentences in up to `max_iter` epochs; stops after an epoch without an update.

        Parameters
        ----------
        sequences : the sentences, in one of the forms that the class describes.
        tags : a list of tags for each sentence.
        lengths : the number of tokens of each sentence, if `sequences` is one matrix; else None (default).
        """
        with self._undo_if_refused():
            self._check_params()
            go_on = bool(self.warm_start) and hasattr(self, "_learner")
            if go_on:
                self._built_with.refuse_changed(self)
                known = self._labels if self._fixed else None
                sentences, given = self._read(self._form, sequences, tags, lengths, known, besides=self._labels)
                self._add_labels(given)
            else:
                form = form_of(self, sequences)
                sentences, given = self._read(form, sequences, tags, lengths, besides=())
                sentences = form.first_fit(sentences, int(self.min_count))
                self._begin(form, tuple(sorted(given.values)), fixed=True)
            random = check_random_state(self.random_state)
            outcome = self._run(sentences, given.numbered(self._labels), random)
        if outcome is not None:
            raise outcome
        return self

    def _run(
        self, sentences: Sentences, y: NDArray[np.int32], random: np.random.RandomState
    ) -> KeyboardInterrupt | None:
        """Runs the epochs of a fit; returns the Ctrl-C that ended them, if one did."""
        with self._lock:
            self._form.prepare(self._learner, self._labels)
        run, n = SentenceEpochs(self._learner, sentences, y, self._lock), len(sentences.starts) - 1
        with progress_bar(self._name, self.max_iter * n, self.verbose) as progress:
            epochs, converged, interrupted = run_epochs(
                run,
                n,
                random,
                max_iter=self.max_iter,
                shuffle=bool(self.shuffle),
                report=lambda done: progress(done, f"{run.n_updates} updates"),
            )
        with self._lock:
            assign(self, n_iter_=epochs, converged_=converged, _draw=int(random.randint(2**31 - 1)))
            if converged and self._certified is None and self._learner.n_seen == epochs * n:
                certificate = certify_tagging_fit(self._learner, sentences, y, epochs)
                assign(self, _certified=Certified(self._learner.n_seen, certificate))
        return interrupted

    def _begin(self, form: Form, labels: tuple[str, ...], *, fixed: bool) -> None:
        """Makes the learner of a new fit or stream."""
        learner = form.new_learner(max(1, len(labels)))
        new: dict[str, Any] = {"_form": form, "_learner": learner, "_labels": labels, "_fixed": fixed, "_cache": None}
        new |= {"_built_with": BuiltWith.of(self), "_certified": None, "n_iter_": 0, "converged_": False, "_draw": 0}
        new["_lock"] = self.__dict__.setdefault("_lock", Lock())
        with self._lock:
            restore(self, self._unfitted() | new)

    def _read(
        self,
        form: Form,
        sequences: Any,
        tags: Any,
        lengths: Any,
        known: tuple[str, ...] | None = None,
        besides: tuple[str, ...] | None = None,
    ) -> tuple[Sentences, Tags]:
        """Checked sentences, with their features known to the form, and their tags, which must be among the `known`.

        With those `besides`, the tags must fit the scheme; None: other tags may still come.
        """
        X = read_sequences(sequences, lengths, self._name)
        given = read_tags(tags, form.starts(X), self._name)
        self._refuse_unknown(given, known)
        if besides is not None:
            check_scheme(sorted({*besides, *given.values}), self.scheme)
        with self.__dict__.setdefault("_lock", Lock()):  # others may look features up
            return form.add(X), given

    def partial_fit(self, sequences: Any, tags: Any, classes: Any = None, lengths: Any = None) -> Self:
        """Learns from further sentences, each once, in their order.

        Parameters
        ----------
        sequences, tags, lengths : as in `fit`.
        classes : all tags that will ever come; in the first call, later calls may repeat it. None (default): tags may
            turn up late; a tag is predicted only after its first sentence was learned from.
        """
        self._check_params()
        with self._undo_if_refused():
            if not hasattr(self, "_learner"):
                form = form_of(self, sequences)
                labels = () if classes is None else tuple(sorted(set(map(str, classes))))
                known = None if classes is None else labels
                sentences, given = self._read(form, sequences, tags, lengths, known)
                self._begin(form, labels, fixed=classes is not None)
                assign(self, n_iter_=1, _draw=int(check_random_state(self.random_state).randint(2**31 - 1)))
            else:
                self._built_with.refuse_changed(self)
                if classes is not None and set(map(str, classes)) != set(self._labels):
                    raise InputError(f"{self._name}: classes must be those of the first call, {list(self._labels)}.")
                known = self._labels if self._fixed else None
                sentences, given = self._read(self._form, sequences, tags, lengths, known)
            self._learn_in_order(sentences, given)
        return self

    @contextlib.contextmanager
    def _undo_if_refused(self) -> Iterator[None]:
        """Undoes a call that raises an error; a Ctrl-C leaves what has been learned by then.

        Input is checked before anything is learned. Only a kernel or a function of the user's can refuse a sentence
        later, so that only their learners, which are small, are copied.
        """
        learner = self.__dict__.get("_learner")
        before = None if learner is None or isinstance(learner, StructuredLearner) else learner.copy()
        try:
            with undo_on_error(self, only=Exception):
                yield
        except Exception:
            if before is not None:
                assign(self, _learner=before)
            raise

    def learn_one(self, sequence: Any, tags: Any) -> Self:
        """Learns from one sentence."""
        return self.partial_fit([sequence], [tags])

    def _learn_in_order(self, sentences: Sentences, given: Tags) -> None:
        """Learns from sentences; one that brings tags of which there were none yet is learned with them."""
        first, n = 0, len(sentences.starts) - 1
        while first < n:
            y = given.numbered(self._labels)
            unknown = np.flatnonzero(y[sentences.starts[first] :] < 0)
            stop = n
            if len(unknown):
                token = int(sentences.starts[first] + unknown[0])
                stop = int(np.searchsorted(sentences.starts, token, side="right")) - 1
            if stop == first:  # this sentence brings a tag
                part = slice(int(sentences.starts[first]), int(sentences.starts[first + 1]))
                self._add_labels(Tags(given.values, given.codes[part], given.starts))
                continue
            with self._lock:
                self._form.prepare(self._learner, self._labels)
            y[y < 0] = 0  # of sentences that are not learned from yet
            learn_sentences(self._learner, sentences, y, np.arange(first, stop), self._lock)
            first = stop

    def _add_labels(self, given: Tags) -> None:
        """Adds the tags of some tokens that are new, in the order in which they come."""
        present = dict.fromkeys(given.codes.tolist())
        new = [given.values[code] for code in present if given.values[code] not in self._labels]
        if not new:
            return
        labels = (*self._labels, *new)
        learner = self._learner.with_labels(len(labels)) if self._labels else self._form.new_learner(len(labels))
        with self._lock:
            assign(self, _labels=labels, _learner=learner)

    def _refuse_unknown(self, given: Tags, known: tuple[str, ...] | None) -> None:
        if known is not None and not set(given.values) <= set(known):
            unknown = sorted(set(given.values) - set(known))
            raise InputError(f"{self._name}: the tags must be among {list(known)}; got {unknown[0]!r}.")

    # ---------------------------------------------------------------- predicting

    @property
    def model_(self) -> Tagger:
        """What has been learned, as a frozen model that predicts by itself and stays as it is when learning goes on."""
        check_is_fitted(self, "_learner")
        with self._lock:
            if not self._labels:
                raise NotFittedError(
                    f"{self._name} has not learned from any sentence yet. Call fit or partial_fit first."
                )
            key = (self._learner, self._learner.n_seen, (self.hypothesis, self.n_voters, self.scheme))
            cache = self._cache
            if cache is None or cache[0] is not key[0] or cache[1:3] != key[1:]:
                self._check_params()
                scorer = self._form.scorer(self._learner, self.hypothesis, self.n_voters, self._draw)
                cache = (*key, Tagger(scorer, self._labels, self.scheme))
                self._cache = cache
            return cache[3]

    def predict(self, sequences: Any, allowed: Any = None, lengths: Any = None) -> list[list[str]]:
        """The tags of each sentence.

        Parameters
        ----------
        sequences, lengths : as in `fit`.
        allowed : restricts the tags: a list with an item for each sentence, None or a list with an item for each token:
            None (any tag), a tag, or several tags. None (default): no restriction.
        """
        return self.model_.predict(read_sequences(sequences, lengths, self._name), allowed)

    def predict_one(self, sequence: Any, allowed: Any = None) -> list[str] | None:
        """The tags of one sentence; None before any learning."""
        if not self.__dict__.get("_labels"):
            return None
        self._check_params()  # they may have been set since
        if self.hypothesis == "voted":
            return self.predict([sequence], None if allowed is None else [allowed])[0]
        with self._lock:
            form, learner, labels = self._form, self._learner, self._labels
            sentences = form.find(read_sequences([sequence], None, self._name))
            lattice = learner.lattice(sentences, averaged=self.hypothesis == "averaged")
        mask = None if allowed is None else allowed_mask([allowed], labels, sentences.starts, self._name)
        return [labels[i] for i in best_allowed(lattice, labels, self.scheme, mask).tolist()]

    def k_best(self, sequences: Any, k: int, allowed: Any = None, lengths: Any = None) -> list[list[Labelling]]:
        """The k best labellings of each sentence with their scores, the best first."""
        return self.model_.k_best(read_sequences(sequences, lengths, self._name), k, allowed)

    def margins(self, sequences: Any, allowed: Any = None, lengths: Any = None) -> NDArray[np.float64]:
        """How much better the best labelling of each sentence is than the second best: a measure of confidence."""
        return self.model_.margins(read_sequences(sequences, lengths, self._name), allowed)

    def score(self, sequences: Any, tags: Any, lengths: Any = None) -> float:
        """The fraction of tokens that get the right tag."""
        X = read_sequences(sequences, lengths, self._name)
        model = self.model_
        sentences = model.scorer.read(X)
        given = read_tags(tags, sentences.starts, self._name)
        right = total = 0
        for found, first, last in zip(model.predict(X), given.starts[:-1], given.starts[1:], strict=True):
            right += sum(given.values[code] == tag for code, tag in zip(given.codes[first:last], found, strict=True))
            total += len(found)
        return right / total

    def top_features(self, label: str, n: int = 10) -> list[FeatureWeight]:
        """The n features that speak most for a tag, the largest weight first."""
        return self.model_.top_features(label, n)

    def explain(self, sequence: Any, tags: Any = None) -> Explanation:
        """For each token of a sentence, the features that speak for its tag, the largest first; made to be printed."""
        return self.model_.explain(sequence, tags)

    # ---------------------------------------------------------------- what was learned

    classes_, n_features_ = property(sequence_state.classes), property(sequence_state.n_features)
    n_rounds_, n_updates_ = property(sequence_state.n_rounds), property(sequence_state.n_updates)
    n_mistakes_, certificate_ = property(sequence_state.n_mistakes), property(sequence_state.certificate)
    transition_features_ = property(sequence_state.transition_features)

    # ---------------------------------------------------------------- state

    state = sequence_state.state

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The estimator of a state; it goes on exactly as the one that gave it."""
        return sequence_state.from_state(cls, state)

    snapshot, resume = sequence_state.snapshot, sequence_state.resume

    def __getstate__(self) -> dict[str, Any]:
        """What a pickle or a copy holds: the learner at one moment, also if another thread is learning."""
        if "_learner" not in self.__dict__:
            return dict(super().__getstate__())
        with self._lock:
            form, learner = self._form.restricted(self._learner)
            return {**super().__getstate__(), "_learner": learner, "_form": form, "_cache": None}
