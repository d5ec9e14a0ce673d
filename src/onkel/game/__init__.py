"""The perceptron game: player A chooses points, player B predicts their labels, and a referee checks the rules.

In each round A gives a point x, B predicts the sign of a score f(x), and A gives the label y ∈ {−1, +1}. B has made a
mistake if y f(x) ≤ 0. A wants B to make as many mistakes as possible, and has to keep two rules:

    margin   y u·x ≥ γ     for a unit vector u, which A keeps secret from B; the referee knows it
    radius   ‖x‖² ≤ R

The perceptron is one strategy of B: v₀ = 0, f(x) = v_k·x, and v_{k+1} = v_k + y x after each mistake. Then

    lemma 1  v_k·u ≥ kγ    each mistake adds y x·u ≥ γ
    lemma 2  ‖v_k‖² ≤ kR   each mistake adds 2y v_k·x + ‖x‖², and the first term is ≤ 0
    theorem  k ≤ R/γ²      since kγ ≤ v_k·u ≤ ‖v_k‖ ≤ √(kR)

whatever A does, in any dimension (Novikoff 1962). `Orthogonal` attains the bound; `Greedy` comes near it by looking at
B's scores; with `RandomWithin`, which plays random points, B stays far below it; `Scripted` plays points of your own.
Since y is the sign of u·x, A has no choice of y once x is given: it gives both to the referee, who tells B the label
after the prediction.

The ranking game (`play_ranking`) is the same with lists: A gives items and knows which is the best, B finds it, and the
margin rule is u·x_best − u·x_j ≥ γ. Its theorem is k ≤ 4R/γ² (`onkel.game.ranking`). `Opposite` attains this bound;
`RandomLists` and `ScriptedLists` play random lists and lists of your own.

Source: W. Cohen 2009, Margins, Mistakes, Ranking, Sequential Learning and the Perceptron, sec. 1 ("the notes" in this
package). The notes write the rules as strict inequalities, and a mistake as y f(x) < 0; but a perceptron that starts
from v₀ = 0 and is tested strictly never learns.

`play_sequences` plays the notes' game of labelled sentences, sec. 4, whose rules and players are in
`onkel.game.sequences`.
"""

from onkel.game.labellings import markov_features, word_features
from onkel.game.players import (
    EstimatorPlayer,
    Greedy,
    Orthogonal,
    PerceptronPlayer,
    PlayerA,
    PlayerB,
    RandomWithin,
    Scripted,
)
from onkel.game.ranking import (
    ListPlayerA,
    ListPlayerB,
    Opposite,
    RandomLists,
    RankerPlayer,
    RankingPlayer,
    ScriptedLists,
)
from onkel.game.ranking_record import RankingRound, RankingTrace, play_ranking
from onkel.game.record import Round, Trace, play
from onkel.game.sequence_learners import SequenceEstimatorPlayer, SequencePlayerB, StructuredPerceptronPlayer
from onkel.game.sequence_record import SequenceRound, SequenceTrace, play_sequences
from onkel.game.sequences import FreshWords, LongSentences, RandomSentences, ScriptedSentences, SequencePlayerA

__all__ = [
    "EstimatorPlayer",
    "FreshWords",
    "Greedy",
    "ListPlayerA",
    "ListPlayerB",
    "LongSentences",
    "Opposite",
    "Orthogonal",
    "PerceptronPlayer",
    "PlayerA",
    "PlayerB",
    "RandomLists",
    "RandomSentences",
    "RandomWithin",
    "RankerPlayer",
    "RankingPlayer",
    "RankingRound",
    "RankingTrace",
    "Round",
    "Scripted",
    "ScriptedLists",
    "ScriptedSentences",
    "SequenceEstimatorPlayer",
    "SequencePlayerA",
    "SequencePlayerB",
    "SequenceRound",
    "SequenceTrace",
    "StructuredPerceptronPlayer",
    "Trace",
    "markov_features",
    "play",
    "play_ranking",
    "play_sequences",
    "word_features",
]
