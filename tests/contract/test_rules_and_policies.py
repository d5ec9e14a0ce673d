"""Every update rule with every budget policy: the compiled core and its twin in Python, and rules of one's own."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from cases import grouped

from onkel._core import _native
from onkel.kernels import RBF, Linear, prepare
from onkel.learners import policies, rules
from onkel.learners.budgeted.learner import BudgetedLearner
from onkel.learners.budgeted.state import NUMBERS
from onkel.learners.rules import Regularised, Rule

NORMA = Regularised(0.3, 0.05, None, "constant", True)
MOVING = Regularised(0.3, 0.05, 0.4, "sqrt", False)
# A new rule or policy is one line here.
RULES = {
    "perceptron": (rules.perceptron, None),
    "PA": (rules.pa, None),
    "PA-I": (rules.pa1.with_params(C=0.4), None),
    "PA-II": (rules.pa2.with_params(C=0.4), None),
    "PA regression": (rules.pa_regression.with_params(epsilon=0.1), None),
    "PA-I regression": (rules.pa1_regression.with_params(epsilon=0.1, C=0.4), None),
    "PA-II regression": (rules.pa2_regression.with_params(epsilon=0.1, C=0.4), None),
    "NORMA": (rules.soft_margin, NORMA),
    "NORMA, nu": (rules.soft_margin, MOVING),
    "NORMA, epsilon": (rules.epsilon_insensitive, NORMA),
    "NORMA, epsilon and nu": (rules.epsilon_insensitive, MOVING),
    "NORMA, squared": (rules.squared, NORMA),
    "NORMA, huber": (rules.huber, NORMA),
    "NORMA, novelty": (rules.novelty, MOVING),
}
POLICIES = {
    "grow": policies.Grow(),
    "oldest": policies.ForgetOldest(7),
    "random": policies.ForgetRandom(7),
    "Forgetron": policies.ShrinkThenForget(7),
    "basic Forgetron": policies.ShrinkByNorm(7),
    "replace": policies.ReplaceCheapest(7),
}


# All with all, but the basic Forgetron with NORMA: it keeps ‖f‖², which a decay would change behind its back.
TRIPLES = [
    (rule, policy, n_outputs)
    for (rule, (_, norma)), policy, n_outputs in itertools.product(RULES.items(), POLICIES, (1, 3))
    if norma is None or policy != "basic Forgetron"
]


def learner_of(rule, policy, n_outputs, *, native):
    step, norma = rule
    learner = BudgetedLearner(RBF(gamma=0.5), n_outputs, step, policy, norma=norma, margin=0.5, seed=3)
    assert learner._settings is not None
    if not native:
        learner._settings = None
    return learner


@grouped("rule, policy, n_outputs", TRIPLES)
def test_every_rule_and_policy_is_the_same_in_the_core_and_in_python(rule, policy, n_outputs):
    rng = np.random.default_rng(1)
    X, w = rng.normal(size=(90, 3)), rng.choice([0.5, 1.0, 2.0], 90)
    y = rng.choice([-1.0, 1.0], (90, n_outputs)) if RULES[rule][0].signs else rng.normal(size=(90, n_outputs))
    native, python = (learner_of(RULES[rule], POLICIES[policy], n_outputs, native=native) for native in (True, False))
    rows = prepare(RBF(gamma=0.5), X)
    for part in (slice(0, 40), slice(40, 41), slice(41, 80)):
        before = native.savepoint()
        native.learn(rows[:30], y[:30], w[:30], np.arange(30))
        native.rollback(before)  # what is undone leaves nothing behind
        scored = [one.learn(rows[part], y[part], w[part], np.arange(90)[part]) for one in (native, python)]
        np.testing.assert_allclose(*scored, rtol=1e-12, atol=1e-12)
    for one in (native, python):
        one.skip_to(200)  # the id of the next row
    for i in range(80, 90):
        for one in (native, python):
            one.learn_one(rows[i : i + 1], y[i : i + 1])
    assert (native.n_seen, native.n_mistakes, native.n_updates) == (90, python.n_mistakes, python.n_updates)
    assert native.n_updates > 7
    assert native.next_row_id == python.next_row_id == 210
    (_, coef, numbers), (_, other_coef, other_numbers) = native.support(), python.support()
    np.testing.assert_array_equal(numbers, other_numbers)
    np.testing.assert_allclose(coef, other_coef, rtol=1e-12, atol=1e-12)
    for name in ("margin", "offset"):
        np.testing.assert_allclose(getattr(native, name), getattr(python, name), rtol=1e-12, atol=1e-12)
    for name in NUMBERS.values():
        one, other = getattr(native.record, name), getattr(python.record, name)
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    entries, others = native.ledger.entries, python.ledger.entries
    for name in ("round", "row", "class"):
        np.testing.assert_array_equal(entries[name], others[name])
    np.testing.assert_allclose(entries["step"], others["step"], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("policy", POLICIES)
def test_a_first_mistake_on_a_row_of_zeros_is_the_same_in_the_core_and_in_python(policy):
    rows = prepare(Linear(), np.zeros((1, 3)))  # k(x, x) = 0, and ‖f‖ stays 0
    found = []
    for native in (True, False):
        learner = BudgetedLearner(Linear(), 1, rules.perceptron, POLICIES[policy], seed=3)
        learner._settings = learner._settings if native else None
        learner.learn(rows, np.ones((1, 1)), np.ones(1), np.arange(1))
        found.append((learner.state().settings["record"], learner.support()[1].tolist()))
    assert found[0] == found[1]


def test_every_rule_and_policy_of_the_core_is_in_these_tables():
    assert {rule.name for rule, _ in RULES.values()} == {rule.name for rule in rules.NATIVE}
    assert {type(policy) for policy in POLICIES.values()} == set(policies.NATIVE)


def test_the_core_declares_the_same_rules_and_policies_as_python():
    declared = {rule.name: (rule.signs, rule.regularised, rule.widens) for rule in rules.NATIVE}
    assert _native.budget_rules() == declared
    assert _native.budget_policies() == {policy.__name__: policy.needs_gram for policy in policies.NATIVE}


def test_a_rule_and_a_policy_of_ones_own_run_in_python():
    def timid(f, y, sq_norm, w):
        """Half a perceptron."""
        return 0.5 * w * y if y * f <= 0 else 0.0

    class Newest(policies.Policy):
        """Gives up the newest vector."""

        def take(self, memory, new):
            memory.put(min(memory.size, memory.coef.shape[1] - 1), new.i, new.steps)

    X = np.eye(6)
    y, w, numbers = np.array([[1.0], [-1.0], [1.0], [1.0], [-1.0], [-1.0]]), np.ones(6), np.arange(6)
    learner = BudgetedLearner(Linear(), 1, Rule(timid), Newest(3))
    assert learner._settings is None
    learner.learn(prepare(Linear(), X), y, w, numbers)
    _, coef, kept = learner.support()
    assert kept.tolist() == [0, 1, 5]
    assert coef[:, 0].tolist() == [0.5, -0.5, -0.5]
    assert (learner.n_mistakes, learner.n_updates) == (6, 6)
    one = BudgetedLearner(Linear(), 1, Rule(timid), Newest(3))
    for i in range(6):
        one.learn_one(prepare(Linear(), X)[i : i + 1], y[i : i + 1])
    np.testing.assert_array_equal(one.support()[1], coef)
