"""The structured perceptron as an estimator: it tags sequences."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from onkel._core import Lock
from onkel._core.transaction import assign, restore
from onkel.bounds.sentences import certify_tagging_fit
from onkel.bounds.theorems import Certificate
from onkel.checks import check_integer, check_number, check_one_of
from onkel.errors import InputError
from onkel.estimators.base.estimator import Estimator
from onkel.estimators.base.parameters import BuiltWith
from onkel.estimators.online import state as states
from onkel.estimators.online.certificate import Certified
from onkel.estimators.online.fitted import reading
from onkel.estimators.online.fitting import Outcome, StreamedEpochs, Work, fit_in_epochs, learn_chunk
from onkel.estimators.online.running import Given
from onkel.estimators.state.estimator import read_estimator, state_of
from onkel.estimators.tagging.choose import form_of
from onkel.estimators.tagging.form import SentenceForm
from onkel.estimators.tagging.input import Tags, read_sequences, read_tags
from onkel.estimators.tagging.running import Cached, RunningTagger, SentenceBatch
from onkel.estimators.tagging.state import learned, read_running
from onkel.kernels import Kernel
from onkel.learners.tagging.learner import TagLearnerBase
from onkel.models.tagging.constraints import SCHEMES, allowed_mask, best_allowed, check_scheme
from onkel.models.tagging.tagger import Explanation, FeatureWeight, Labelling, Tagger
from onkel.states.state import State
from onkel.text.sentences import Sentences

__all__ = ["SequencePerceptron"]

STEP = 512  # sentences between two reports of the progress


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

    _running: RunningTagger
    _lock: Lock
    _built_with: BuiltWith
    _certified: Certified | None
    _draw: int
    n_iter_: int
    converged_: bool

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
        check_one_of(self.hypothesis, "hypothesis", TagLearnerBase.HYPOTHESES, who)
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
        fit_in_epochs(self, Given(sequences, tags, lengths=lengths))
        return self

    def _begin_fit(self, given: Given) -> Work:
        """Reads sentences, and makes a learner, or goes on with the one that there is."""
        new: dict[str, Any] | None = None
        if self.warm_start and "_running" in self.__dict__:
            batch, running = self._more(given, balanced=True, besides=self._running.labels), self._running
            running.add_labels(batch.tags)
        else:
            form = form_of(self, given.X, self._name)
            sentences, tags = self._read(form, given, besides=())
            sentences = form.first_fit(sentences, int(self.min_count))
            running, new = self._begin(form, tuple(sorted(tags.values)), fixed=True, n_iter_=0, _draw=0), {}
            batch = SentenceBatch.of(sentences, tags)
        return Work(running, batch, StreamedEpochs(running, batch, STEP), None, new)

    def _end_fit(self, work: Work, outcome: Outcome, random: np.random.RandomState) -> None:
        learner, batch, epochs = work.running.learner, work.batch, outcome.epochs
        with self._lock:
            assign(self, n_iter_=epochs, converged_=outcome.converged, _draw=int(random.randint(2**31 - 1)))
            if outcome.converged and self._certified is None and learner.n_seen == epochs * batch.n:
                y = batch.numbered(work.running.labels)
                found = certify_tagging_fit(learner, batch.sentences, y, epochs)
                assign(self, _certified=Certified(learner.n_seen, found))

    def _begin(self, form: SentenceForm, labels: tuple[str, ...], *, fixed: bool, **figures: Any) -> RunningTagger:
        """Makes the learner of a new fit or stream."""
        new: dict[str, Any] = {"_lock": self.__dict__.setdefault("_lock", Lock())}
        running = RunningTagger(form.new_learner(labels), labels, form, new["_lock"], fixed=fixed)
        new |= {"_running": running, "_built_with": BuiltWith.of(self), "_certified": None, "converged_": False}
        with self._lock:
            restore(self, self._unfitted() | new | figures)
        return running

    def _read(
        self,
        form: SentenceForm,
        given: Given,
        known: tuple[str, ...] | None = None,
        besides: tuple[str, ...] | None = None,
    ) -> tuple[Sentences, Tags]:
        """Checked sentences, with their features known to the form, and their tags, which must be among the `known`.

        With those `besides`, the tags must fit the scheme; None: other tags may still come.
        """
        X = read_sequences(given.X, given.lengths, self._name)
        tags = read_tags(given.y, form.starts(X), self._name)
        if known is not None and not set(tags.values) <= set(known):
            unknown = sorted(set(tags.values) - set(known))
            raise InputError(f"{self._name}: the tags must be among {list(known)}; got {unknown[0]!r}.")
        if besides is not None:
            check_scheme(sorted({*besides, *tags.values}), self.scheme)
        with self.__dict__.setdefault("_lock", Lock()):  # others may look features up
            return form.add(X), tags

    def _more(self, given: Given, *, balanced: bool, besides: tuple[str, ...] | None = None) -> SentenceBatch:
        """The sentences of a tagger that has learned before."""
        self._built_with.refuse_changed(self)
        running = self._running
        if given.classes is not None and set(map(str, given.classes)) != set(running.labels):
            raise InputError(f"{self._name}: classes must be those of the first call, {list(running.labels)}.")
        return SentenceBatch.of(*self._read(running.form, given, running.known, besides))

    def partial_fit(self, sequences: Any, tags: Any, classes: Any = None, lengths: Any = None) -> Self:
        """Learns from further sentences, each once, in their order.

        Parameters
        ----------
        sequences, tags, lengths : as in `fit`.
        classes : all tags that will ever come; in the first call, later calls may repeat it. None (default): tags may
            turn up late; a tag is predicted only after its first sentence was learned from.
        """
        learn_chunk(self, Given(sequences, tags, classes=classes, lengths=lengths))
        return self

    def _begin_stream(self, given: Given) -> SentenceBatch:
        """Makes the learner of a new stream, and returns its first sentences."""
        form = form_of(self, given.X, self._name)
        labels = () if given.classes is None else tuple(sorted(set(map(str, given.classes))))
        batch = SentenceBatch.of(*self._read(form, given, None if given.classes is None else labels))
        draw = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._begin(form, labels, fixed=given.classes is not None, n_iter_=1, _draw=draw)
        return batch

    def learn_one(self, sequence: Any, tags: Any) -> Self:
        """Learns from one sentence."""
        return self.partial_fit([sequence], [tags])

    # ---------------------------------------------------------------- predicting

    @property
    def model_(self) -> Tagger:
        """What has been learned, as a frozen model that predicts by itself and stays as it is when learning goes on."""
        check_is_fitted(self, "_running")
        with self._lock:
            running = self._running
            if not running.labels:
                raise NotFittedError(
                    f"{self._name} has not learned from any sentence yet. Call fit or partial_fit first."
                )
            learner, cache = running.learner, running.cache
            made_from = (learner.n_seen, self.hypothesis, self.n_voters, self.scheme)
            if cache is None or cache.learner is not learner or cache.made_from != made_from:
                self._check_params()
                scorer = running.form.scorer(learner, self.hypothesis, self.n_voters, self._draw)
                cache = running.cache = Cached(learner, made_from, Tagger(scorer, running.labels, self.scheme))
            return cache.tagger

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
        if "_running" not in self.__dict__ or not self._running.labels:
            return None
        self._check_params()  # they may have been set since
        if self.hypothesis == "voted":
            return self.predict([sequence], None if allowed is None else [allowed])[0]
        with self._lock:
            form, learner, labels = self._running.form, self._running.learner, self._running.labels
            sentences = form.find(read_sequences([sequence], None, self._name))
            form.prepare(learner)  # sentences that are still to be learned from may have brought features
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

    @property
    @reading
    def classes_(self) -> NDArray:
        """The tags."""
        return np.array(self._running.labels, dtype=object)

    @property
    @reading
    def n_rounds_(self) -> int:
        """The number of sentences presented; a sentence counts once in each epoch."""
        return self._running.learner.n_seen

    @property
    @reading
    def n_updates_(self) -> int:
        """The number of sentences that changed v."""
        return self._running.learner.n_updates

    @property
    def n_mistakes_(self) -> int:
        """The number of sentences that were tagged wrongly while learning; without a margin only."""
        check_is_fitted(self, "_running")
        if self._running.form.margin:
            raise AttributeError("with a margin, sentences that were tagged rightly change v as well; see n_updates_")
        return self.n_updates_

    @property
    @reading
    def n_features_(self) -> int:
        """The number of features that are known."""
        return self._running.n_features

    @property
    def transition_features_(self) -> dict[tuple[str | None, ...], float]:
        """What a tag adds to the score after another, {(tag before, tag): weight}; None is before the first token."""
        return self.model_.transition_features

    @property
    @reading
    def certificate_(self) -> Certificate:
        """The updates of the last `fit`, and the theorem's bound on them."""
        found = self._certified
        if found is None or found.about != self._running.learner.n_seen:
            raise AttributeError(
                "certificate_ is there after a fit whose last epoch made no update: only then is there a vector that "
                "separates the sentences. Try a larger max_iter."
            )
        return found.certificate

    # ---------------------------------------------------------------- state

    snapshot, resume = states.snapshot, states.resume

    def state(self) -> State:
        """Everything the estimator is: its parameters and, if it has learned, all that it knows."""
        return state_of(self, states.known(self, ("n_iter_", "converged_", "_draw"), learned))

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The estimator of a state; it goes on exactly as the one that gave it."""
        return read_estimator(cls, state, "learner", partial(states.read_known, read_running))

    def __getstate__(self) -> dict[str, Any]:
        """What a pickle or a copy holds: the running learner at one moment, also if another thread is learning."""
        if "_running" not in self.__dict__:
            return dict(super().__getstate__())
        with self._lock:
            held = {"_running": self._running.copy(), "_built_with": self._built_with.copy()}
            return {**super().__getstate__(), **held}
