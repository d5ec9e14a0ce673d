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

Source: W. Cohen 2009, Margins, Mistakes, Ranking, Sequential Learning and the Perceptron, sec. 1 ("the notes" in this
package). The notes write the rules as strict inequalities, and a mistake as y f(x) < 0; but a perceptron that starts
from v₀ = 0 and is tested strictly never learns.
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
