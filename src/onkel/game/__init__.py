"""The perceptron game: A gives points, B guesses their labels, and a referee keeps it fair.

A round: A gives x, B predicts the sign of a score f(x), A gives the label y ∈ {−1, +1}; B erred
iff y f(x) ≤ 0. A wants mistakes, as many as possible, and keeps two rules:

    margin   y u·x ≥ γ     for a unit vector u, A's secret, which the referee knows
    radius   ‖x‖² ≤ R

The perceptron is B's strategy v₀ = 0, f(x) = v_k·x, v_{k+1} = v_k + y x at each mistake. Then

    lemma 1  v_k·u ≥ kγ    each mistake adds y x·u ≥ γ
    lemma 2  ‖v_k‖² ≤ kR   each mistake adds 2y v_k·x + ‖x‖², and the first term is ≤ 0
    theorem  k ≤ R/γ²      since kγ ≤ v_k·u ≤ ‖v_k‖ ≤ √(kR)

whatever A does, in any dimension (Novikoff 1962). `Orthogonal` attains the bound; `Greedy` comes
near it by looking at B's scores; `RandomWithin` shows how little of it an A without malice needs;
`Scripted` plays points of your own. Since y is the sign of u·x, A has no choice left once x is
given: it hands both to the referee, who tells B the label after its guess.

Source: W. Cohen 2009, Margins, Mistakes, Ranking, Sequential Learning and the Perceptron, sec. 1
("the notes"). They write the rules as strict inequalities and a mistake as y f(x) < 0; but from
v₀ = 0 a strict test never learns.
"""

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
from onkel.game.record import Round, Trace
from onkel.game.referee import play

__all__ = [
    "EstimatorPlayer",
    "Greedy",
    "Orthogonal",
    "PerceptronPlayer",
    "PlayerA",
    "PlayerB",
    "RandomWithin",
    "Round",
    "Scripted",
    "Trace",
    "play",
]
