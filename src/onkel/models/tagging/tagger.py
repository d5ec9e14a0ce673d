"""The model of a tagger, frozen: it labels sentences by itself.

Tagger = scorer (sentences → lattices) + labels + scheme (which tags may follow one another)
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, Self, overload

import numpy as np
from numpy.typing import NDArray

from onkel.checks import check_integer
from onkel.errors import InputError, KindError
from onkel.models.expansion import ReducedExpansion
from onkel.models.tagging.constraints import (
    SCHEMES,
    allowed_mask,
    best_allowed,
    check_scheme,
    constrained,
    refuse_forbidden,
)
from onkel.models.tagging.kernel_tokens import KernelTokens
from onkel.models.tagging.token_scorer import LinearTokens, TokenScorer
from onkel.models.tagging.viterbi import Lattice, best, k_best
from onkel.models.tagging.voted_tokens import VotedTokens
from onkel.states.frozen import Frozen
from onkel.states.state import State, from_state
from onkel.text.sentences import Sentences
from onkel.text.template_features import TemplateFeatures

__all__ = ["Explanation", "FeatureWeight", "Labelling", "Tagger", "TokenTerms"]

LABELLED_AT_ONCE = 4096  # sentences that are labelled at a time
SCORERS = (LinearTokens, VotedTokens, KernelTokens)  # those that have a state
SHOWN = 3  # terms of a token that are printed


class Labelling(NamedTuple):
    """The tags of a sentence, and the score of all of them together."""

    tags: list[str]
    score: float


class FeatureWeight(NamedTuple):
    """A feature, and its weight for a tag."""

    feature: str
    weight: float

    def __str__(self) -> str:
        return f"{self.feature} {self.weight:+.3g}"


class TokenTerms(NamedTuple):
    """Why a token got its tag: the terms of its score, the largest first, and what the tags before it add."""

    tag: str
    terms: list[FeatureWeight]
    transition: float

    def __str__(self) -> str:
        return f"{self.tag}  {self.reasons()}"

    def reasons(self) -> str:
        """The largest terms and the transition, as text."""
        shown = [str(term) for term in self.terms[:SHOWN]] or ["no feature"]
        more = [f"{len(self.terms) - SHOWN} more"] if len(self.terms) > SHOWN else []
        return f"{', '.join(shown + more)}; the tag before {self.transition:+.3g}"


@dataclasses.dataclass(frozen=True, repr=False)
class Explanation(Sequence[TokenTerms]):
    """Why the tokens of a sentence got their tags: a sequence of `TokenTerms`; printed, it is a line for each token.

    Parameters
    ----------
    tokens : what stands at the beginning of each line: the word, or the place of a token that is no word.
    terms : the terms of each token.
    """

    tokens: tuple[str, ...]
    terms: tuple[TokenTerms, ...]

    def __len__(self) -> int:
        return len(self.terms)

    @overload
    def __getitem__(self, index: int) -> TokenTerms: ...
    @overload
    def __getitem__(self, index: slice) -> Explanation: ...
    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return Explanation(self.tokens[index], self.terms[index])
        return self.terms[index]

    def __str__(self) -> str:
        a = max(map(len, self.tokens), default=0)
        b = max((len(why.tag) for why in self.terms), default=0)
        pairs = zip(self.tokens, self.terms, strict=True)
        return "\n".join(f"{token:{a}}  {why.tag:{b}}  {why.reasons()}" for token, why in pairs)

    __repr__ = __str__


@dataclasses.dataclass(frozen=True, eq=False)
class Tagger(Frozen):
    """What a tagger has learned, frozen: it labels sentences by Viterbi, and several threads may use it at once.

    Parameters
    ----------
    scorer : computes the scores of labels and of neighbouring labels.
    labels : the tags, in the order in which the scorer numbers them.
    scheme : "BIO", "IOB1" or "BIOES": only labellings that are valid in it are found; None (default): all.
    """

    KIND: ClassVar[str] = "model/tagger"
    VERSION: ClassVar[int] = 1

    scorer: TokenScorer
    labels: tuple[str, ...]
    scheme: str | None = None

    # ---------------------------------------------------------------- labelling

    def predict(self, sequences: Any, allowed: Any = None) -> list[list[str]]:
        """The tags of each sentence, in the form in which the tagger was trained on sentences.

        `allowed` restricts the tags: a list with an item for each sentence, None or a list with an item for each token:
        None (any tag), a tag, or several tags.
        """
        sentences = self.scorer.read(sequences)
        names = np.empty(len(self.labels), dtype=object)
        names[:] = self.labels
        found: list[list[str]] = []
        for part, mask, first in self._parts(sentences, allowed):
            y, starts = self._best(part, mask, first), part.starts.tolist()
            tags = names[y].tolist()
            found += [tags[a:b] for a, b in itertools.pairwise(starts)]
        return found

    def _best(self, part: Sentences, mask: NDArray[np.bool_] | None, first: int) -> NDArray[np.int32]:
        """The labels of the tokens of some sentences, the first of which has this number."""
        if not isinstance(self.scorer, VotedTokens):
            return best_allowed(self.scorer.lattice(part), self.labels, self.scheme, mask, first)
        votes: list[dict[bytes, float]] = [{} for _ in range(len(part.starts) - 1)]
        ends = 4 * part.starts  # in bytes of the labels, which are int32
        for weight, lattice in self.scorer.lattices(part):
            labels = best_allowed(lattice, self.labels, self.scheme, mask, first).tobytes()
            for s, sentence in enumerate(votes):
                labelling = labels[ends[s] : ends[s + 1]]
                sentence[labelling] = sentence.get(labelling, 0.0) + weight
        most = b"".join(max(sentence, key=lambda labelling: sentence[labelling]) for sentence in votes)
        return np.frombuffer(most, dtype=np.int32)

    def predict_one(self, sequence: Any, allowed: Any = None) -> list[str]:
        """The tags of one sentence."""
        return self.predict([sequence], None if allowed is None else [allowed])[0]

    def k_best(self, sequences: Any, k: int, allowed: Any = None) -> list[list[Labelling]]:
        """The k best labellings of each sentence, the best first; fewer if there are not as many that are allowed."""
        check_integer(k, "k", "k_best", at_least=1)
        sentences, found = self.scorer.read(sequences), []
        for part, mask, first in self._parts(sentences, allowed):
            lattice = self._lattice(self._single("k_best").lattice(part), mask)
            for s, (ys, scores) in enumerate(k_best(lattice, k)):
                refuse_forbidden(scores[:1] if len(scores) else np.array([-np.inf]), self.scheme, first + s)
                found.append([Labelling(self._tags(y), score) for y, score in zip(ys, scores.tolist(), strict=True)])
        return found

    def margins(self, sequences: Any, allowed: Any = None) -> NDArray[np.float64]:
        """How much better the best labelling of each sentence is than the second best: large where it is certain.

        Infinite for a sentence with a single labelling that is allowed.
        """
        two = self.k_best(sequences, 2, allowed)
        return np.array([found[0].score - found[1].score if len(found) > 1 else np.inf for found in two])

    def scores(self, sequences: Any, tags: Any = None) -> NDArray[np.float64]:
        """The score of a labelling of each sentence: of the best one, or of the tags given."""
        sentences = self.scorer.read(sequences)
        if tags is None:
            parts, scorer = self._parts(sentences, None), self._single("scores")
            return np.concatenate([best(self._lattice(scorer.lattice(part), None))[1] for part, _, _ in parts])
        lattice = self._single("scores").lattice(sentences)
        places = {label: i for i, label in enumerate(self.labels)}
        flat = [tag for sentence in tags for tag in sentence]
        unknown = sorted({tag for tag in flat if tag not in places})
        if unknown or [len(t) for t in tags] != np.diff(lattice.starts).tolist():
            what = f"tags that the model knows; got {unknown[0]!r}" if unknown else "a tag for each token"
            raise InputError(f"Tagger.scores: tags must have {what}.")
        return lattice.score(np.array([places[tag] for tag in flat], dtype=np.int32))

    def _tags(self, y: NDArray[np.int32]) -> list[str]:
        return [self.labels[i] for i in y.tolist()]

    def _parts(self, sentences: Sentences, allowed: Any) -> Iterator[tuple[Sentences, NDArray[np.bool_] | None, int]]:
        """The sentences some at a time, with the labels that are allowed (tokens, L), and the number of the first."""
        mask, n = None, len(sentences.starts) - 1
        if allowed is not None:
            mask = allowed_mask(allowed, self.labels, sentences.starts, "allowed tags")
        for first in range(0, n, LABELLED_AT_ONCE):
            last = min(n, first + LABELLED_AT_ONCE)
            part = sentences if n <= LABELLED_AT_ONCE else sentences.part(first, last)
            tokens = slice(int(sentences.starts[first]), int(sentences.starts[last]))
            yield part, None if mask is None else mask[tokens], first

    def _lattice(self, lattice: Lattice, mask: NDArray[np.bool_] | None) -> Lattice:
        return constrained(lattice, self.labels, self.scheme, mask)

    def _single(self, method: str) -> TokenScorer:
        """The scorer, which must be a single guess."""
        if isinstance(self.scorer, VotedTokens):
            raise KindError(f'{method}: a vote has no scores of labellings. Use hypothesis "averaged" or "last".')
        return self.scorer

    # ---------------------------------------------------------------- smaller ones

    def reduced(self, n: int | None = None, *, tol: float | None = None) -> Tagger:
        """A smaller tagger with a kernel: few of its support vectors, with the coefficients that change it least.

        They are shared by all tags. `rkhs_error` of the result has the distance of the scores of each tag from those
        before. The scores of neighbouring tags stay as they are.

        Parameters
        ----------
        n : ≥ 1, the largest number of support vectors. None (default): as many as `tol` needs.
        tol : from 0 to 1, the largest relative error ‖f_c − g_c‖ / ‖f_c‖ of any tag c, in the norm of the kernel's
            space; as few support vectors are taken as reach it. None (default): n of them. One of both must be given.

        Cost: for m support vectors, m² + n·m kernel values, n²·m flops, and memory for n·m numbers.
        """
        if not isinstance(self.scorer, KernelTokens):
            raise KindError(
                f"reduced: the tagger must have a kernel; a {type(self.scorer).__name__} has weights of features and "
                "no support vectors, so that there is nothing to reduce. Use the model as it is."
            )
        smaller = dataclasses.replace(self.scorer, expansion=self.scorer.expansion.reduced(n, tol=tol))
        return dataclasses.replace(self, scorer=smaller)

    @property
    def rkhs_error(self) -> NDArray[np.float64]:
        """Of a reduced tagger: ‖f_c − g_c‖ / ‖f_c‖ of the scores of each tag, in the norm of the kernel's space."""
        if not isinstance(self.scorer, KernelTokens) or not isinstance(self.scorer.expansion, ReducedExpansion):
            raise AttributeError("only a tagger that `reduced` has made has an rkhs_error")
        return self.scorer.expansion.rkhs_error

    # ---------------------------------------------------------------- explaining

    def explain(self, sequence: Any, tags: Sequence[str] | None = None) -> Explanation:
        """For each token of a sentence, the features that speak for its tag (or for the tags given), largest first.

        ``print`` shows the largest ones; ``explain(sequence)[t]`` has the `tag` of token t, all `terms`, and what the
        tag before it adds, `transition`.
        """
        scorer = self._linear("explain")
        f = scorer.read([sequence])
        found = self.predict_one(sequence) if tags is None else list(tags)
        places = {label: i for i, label in enumerate(self.labels)}
        if len(found) != f.n_tokens or any(tag not in places for tag in found):
            raise InputError(f"explain: tags must be a known tag for each of the {f.n_tokens} tokens; got {found!r}.")
        names, lattice = scorer.index.names(), scorer.lattice(f)
        terms, earlier, before = [], len(self.labels), len(self.labels)
        for t, tag in enumerate(found):
            here, label = [], places[tag]
            for k in range(int(f.indptr[t]), int(f.indptr[t + 1])):
                labels, weights = scorer.weights.row(int(f.ids[k]))
                value = 1.0 if f.values is None else float(f.values[k])
                here += [FeatureWeight(names[f.ids[k]], value * float(w)) for w in weights[labels == label]]
            step = float(lattice.transitions[t if len(lattice.transitions) > 1 else 0, before, label])
            if lattice.second is not None:
                step += float(lattice.second[earlier, before, label])
            terms.append(TokenTerms(tag, sorted(here, key=lambda term: -abs(term.weight)), step))
            earlier, before = before, label
        return Explanation(_words(sequence, f.n_tokens, scorer), tuple(terms))

    @property
    def transition_features(self) -> dict[tuple[str | None, ...], float]:
        """What a tag adds to the score after another, {(tag before, tag): weight}; before the first token stands None.

        In order 2, after two others, {(first tag, second tag, third tag): weight}; (None, None, tag) at the first
        token, and (None, first tag, tag) at the second. Features of observations, by templates B…, come to these.
        """
        transitions = getattr(self.scorer, "transitions", None)
        if transitions is None:
            raise AttributeError(
                f"a tagger that is a {type(self.scorer).__name__} has no transition_features: learn without features, "
                'and with hypothesis "averaged" or "last"'
            )
        (first, second), L, names = transitions, len(self.labels), (*self.labels, None)
        if second is None:
            return {(names[i], self.labels[j]): float(first[i, j]) for i, j in np.ndindex(L + 1, L)}
        return {
            (names[h], names[i], self.labels[j]): float(first[i, j]) + float(second[h, i, j])
            for h, i, j in np.ndindex(L + 1, L + 1, L)
            if i < L or h == L  # nothing stands before the beginning
        }

    def top_features(self, label: str, n: int = 10) -> list[FeatureWeight]:
        """The n features that speak most for a tag, the largest weight first."""
        check_integer(n, "n", "top_features", at_least=1)
        if label not in self.labels:
            raise InputError(f"top_features: label must be one of {', '.join(self.labels)}; got {label!r}.")
        scorer = self._linear("top_features")
        of_label = scorer.weights.places == self.labels.index(label)
        rows = np.repeat(np.arange(len(scorer.weights.indptr) - 1), np.diff(scorer.weights.indptr))[of_label]
        values, names = scorer.weights.values[of_label], scorer.index.names()
        order = np.argsort(-values, kind="stable")[:n]
        return [FeatureWeight(names[rows[i]], float(values[i])) for i in order]

    def _linear(self, method: str) -> LinearTokens:
        if not isinstance(self.scorer, LinearTokens):
            raise KindError(
                f"{method}: the model must have a weight for each feature; a {type(self.scorer).__name__} has none. "
                'Learn without kernel and features, and with hypothesis "averaged" or "last".'
            )
        return self.scorer

    # ---------------------------------------------------------------- state

    def state(self) -> State:
        """Scorer, tags and scheme, as a `State`."""
        settings = {"labels": list(self.labels), "scheme": self.scheme}
        return State(self.KIND, self.VERSION, settings).with_part("scorer", self.scorer.state())

    @classmethod
    def from_state(cls, state: State) -> Self:
        """The model that has this state."""
        state.expect(cls.KIND, cls.VERSION)
        scorer: Any = from_state(state.part("scorer"), "scorer/")
        state.check(isinstance(scorer, SCORERS), f"'scorer' must be scores of tokens; got a {type(scorer).__name__}")
        labels: Any = state.settings.get("labels")
        check_labels(labels, scorer.n_labels, cls.KIND)
        scheme = state.choice("scheme", SCHEMES) if state.has("scheme") else None
        check_scheme(labels, scheme)
        return cls(scorer, labels, scheme)


def _words(sequence: Any, n: int, scorer: LinearTokens) -> tuple[str, ...]:
    """What stands for each of the n tokens where they are shown: the first of its columns, or its place."""
    if not isinstance(scorer.index, TemplateFeatures):
        return tuple(map(str, range(n)))
    return tuple(token if isinstance(token, str) else token[0] for token in sequence)


def check_labels(labels: Any, n: int, kind: str) -> None:
    """Refuses labels of a state that are not n different strings."""
    strings = isinstance(labels, tuple) and all(isinstance(label, str) for label in labels)
    if not strings or len(labels) != n or len(set(labels)) != n:
        raise InputError(f"the state of kind {kind!r}: 'labels' must be {n} different tags.")
