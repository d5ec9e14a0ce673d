"""Two more forms of sentences: vectors with a kernel, and whatever a function of the user's takes."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from onkel.errors import InputError, KindError
from onkel.estimators.tagging.form import voters_of
from onkel.kernels import Kernel
from onkel.kernels.named import KERNEL_NAMES, named_kernel
from onkel.kernels.rows_state import MOST_FEATURES
from onkel.learners.tagging.kernel import KernelTagLearner
from onkel.learners.tagging.learner import TagLearner
from onkel.learners.tagging.markov import MarkovLearner
from onkel.models.tagging.kernel_tokens import TokenVectors, read_vectors
from onkel.models.tagging.markov_tokens import NO_STATE, MarkovSentences, read_markov
from onkel.models.tagging.token_scorer import TokenScorer
from onkel.models.tagging.voted_tokens import VotedTokens
from onkel.states.state import Setting, State
from onkel.text.sentences import Sentences
from onkel.text.string_features import checked_sequences, sentence_starts, token_matrix

__all__ = ["KernelForm", "MarkovForm"]

Ints = NDArray[np.int64]


class KernelForm:
    """Sentences of vectors, which are compared by a kernel."""

    KIND: ClassVar[str] = "form/kernel"
    VERSION: ClassVar[int] = 1

    def __init__(self, kernel: Any, *, order: int, margin: float, log: bool) -> None:
        if not isinstance(kernel, Kernel) or kernel.takes not in ("vectors", "anything"):
            named = isinstance(kernel, str) and kernel in KERNEL_NAMES and kernel != "precomputed"
            example = named_kernel(kernel if named else "rbf", 0.5, 3, 1.0, "SequencePerceptron")
            raise KindError(
                f"SequencePerceptron: kernel must be a Kernel object on vectors, which has its own gamma; got "
                f"{kernel!r}. Write kernel=onkel.kernels.{example!r}."
            )
        self.kernel, self.order, self.margin, self.log = kernel, order, margin, log
        self.n_features = 0

    def starts(self, X: Any) -> Ints:
        matrix, starts = token_matrix(X, "SequencePerceptron")
        if self.n_features not in (0, matrix.shape[1]):
            raise InputError(f"tokens must have {self.n_features} columns, as before; got {matrix.shape[1]}.")
        return starts

    def add(self, X: Any) -> TokenVectors:
        self.n_features = int(token_matrix(X).matrix.shape[1])
        return read_vectors(self.kernel, X)

    def find(self, X: Any) -> TokenVectors:
        self.starts(X)
        return read_vectors(self.kernel, X)

    def first_fit(self, sentences: Sentences, min_count: int) -> Sentences:
        return sentences

    def new_learner(self, labels: tuple[str, ...]) -> KernelTagLearner:
        return KernelTagLearner(self.kernel, max(1, len(labels)), order=self.order, margin=self.margin, log=self.log)

    def prepare(self, learner: TagLearner) -> None:
        """There is nothing to prepare."""

    def scorer(self, learner: TagLearner, hypothesis: str, n_voters: int | None, seed: int) -> TokenScorer:
        assert isinstance(learner, KernelTagLearner)
        if hypothesis == "voted":
            voters = voters_of(learner, n_voters, seed)
            return VotedTokens(learner.run(), *voters)
        return learner.scorer(averaged=hypothesis == "averaged")

    def restricted(self, learner: TagLearner) -> tuple[KernelForm, TagLearner]:
        return self, learner.copy()

    def state(self) -> State:
        settings: dict[str, Setting] = {"kernel": self.kernel, "order": self.order, "margin": self.margin}
        settings |= {"log": self.log, "n_features": self.n_features}
        return State(self.KIND, self.VERSION, settings)

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The form that has this state."""
        state.expect(cls.KIND, cls.VERSION)
        order, margin = state.count("order", 1, 2), state.setting("margin", float, at_least=0)
        form = cls(state.kernel(), order=order, margin=margin, log=state.setting("log", bool))
        form.n_features = state.count("n_features", at_most=MOST_FEATURES)
        return form


class MarkovForm:
    """Sentences of any kind, whose features a function of the user's gives."""

    def __init__(self, function: Any, *, order: int, margin: float, log: bool) -> None:
        if not callable(function):
            raise KindError(f"SequencePerceptron: features must be a function; got {function!r}.")
        if order != 1:
            raise InputError("SequencePerceptron: features see a tag and the one before, so that order must be 1.")
        self.function, self.margin, self.log = function, margin, log

    n_features = 0  # its learner numbers them

    def starts(self, X: Any) -> Ints:
        return sentence_starts(map(len, checked_sequences(X)))

    def add(self, X: Any) -> MarkovSentences:
        return read_markov(X)

    find = add

    def first_fit(self, sentences: Sentences, min_count: int) -> Sentences:
        return sentences

    def new_learner(self, labels: tuple[str, ...]) -> MarkovLearner:
        return MarkovLearner(self.function, labels, margin=self.margin, log=self.log)

    def prepare(self, learner: TagLearner) -> None:
        """There is nothing to prepare: its learner numbers the features."""

    def scorer(self, learner: TagLearner, hypothesis: str, n_voters: int | None, seed: int) -> TokenScorer:
        assert isinstance(learner, MarkovLearner)
        if hypothesis == "voted":
            voters = voters_of(learner, n_voters, seed)
            return VotedTokens(learner.run(), *voters)
        return learner.scorer(averaged=hypothesis == "averaged")

    def restricted(self, learner: TagLearner) -> tuple[MarkovForm, TagLearner]:
        return self, learner.copy()

    def state(self) -> State:
        raise InputError(NO_STATE)
