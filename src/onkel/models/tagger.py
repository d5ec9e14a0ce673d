"""The model of a tagger, frozen: it labels sentences by itself.

Tagger = scorer (sentences → lattices) + labels + scheme (which tags may follow one another)
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from onkel.checks import check_integer, check_one_of
from onkel.errors import InputError, KindError
from onkel.models.frozen import Frozen
from onkel.models.state import State, from_state
from onkel.models.tag_constraints import SCHEMES, allowed_mask, best_allowed, constrained, refuse_forbidden
from onkel.models.token_scorer import LinearTokens, TokenScorer
from onkel.models.viterbi import Lattice, best, k_best
from onkel.models.voted_tokens import VotedTokens

__all__ = ["FeatureWeight", "Labelling", "Tagger", "TokenTerms"]

RUN_SENTENCES = 4096  # sentences that are labelled at a time


class Labelling(NamedTuple):
    """The tags of a sentence, and the score of all of them together."""

    tags: list[str]
    score: float


class FeatureWeight(NamedTuple):
    """A feature, and its weight for a tag."""

    feature: str
    weight: float


class TokenTerms(NamedTuple):
    """Why a token got its tag: the terms of its score, the largest first, and what the tags before it add."""

    tag: str
    terms: list[FeatureWeight]
    transition: float


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

    def _best(self, part: Any, mask: NDArray[np.bool_] | None, first: int) -> NDArray[np.int32]:
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

    def _parts(self, sentences: Any, allowed: Any) -> Iterator[tuple[Any, NDArray[np.bool_] | None, int]]:
        """The sentences some at a time, with the labels that are allowed (tokens, L), and the number of the first."""
        mask, n = None, len(sentences.starts) - 1
        if allowed is not None:
            mask = allowed_mask(allowed, self.labels, sentences.starts, "allowed tags")
        for first in range(0, n, RUN_SENTENCES):
            last = min(n, first + RUN_SENTENCES)
            part = sentences if n <= RUN_SENTENCES else sentences.sentences(first, last)
            tokens = slice(int(sentences.starts[first]), int(sentences.starts[last]))
            yield part, None if mask is None else mask[tokens], first

    def _lattice(self, lattice: Lattice, mask: NDArray[np.bool_] | None) -> Lattice:
        return constrained(lattice, self.labels, self.scheme, mask)

    def _single(self, method: str) -> TokenScorer:
        """The scorer, which must be a single guess."""
        if isinstance(self.scorer, VotedTokens):
            raise KindError(f'{method}: a vote has no scores of labellings. Use hypothesis "averaged" or "last".')
        return self.scorer

    # ---------------------------------------------------------------- explaining

    def explain(self, sequence: Any, tags: Sequence[str] | None = None) -> list[TokenTerms]:
        """For each token of a sentence, the features that speak for its tag (or for the tags given), largest first."""
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
        return terms

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
        scorer: Any = from_state(state.part("scorer"))
        labels, scheme = state.settings.get("labels"), state.settings.get("scheme")
        check_labels(labels, scorer.n_labels, cls.KIND)
        if scheme is not None:
            check_one_of(scheme, "scheme", SCHEMES, cls.KIND)
        return cls(scorer, labels, scheme)  # type: ignore[arg-type]


def check_labels(labels: Any, n: int, kind: str) -> None:
    """Refuses labels of a state that are not n different strings."""
    strings = isinstance(labels, tuple) and all(isinstance(label, str) for label in labels)
    if not strings or len(labels) != n or len(set(labels)) != n:
        raise InputError(f"the state of kind {kind!r}: 'labels' must be {n} different tags.")
