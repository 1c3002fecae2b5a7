"""Value iteration against exact enumeration, closed forms, and the value functions of RESCUE."""

from __future__ import annotations

import itertools
import pickle
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from scipy import sparse

from edgeopt.errors import InstanceError, OptionError, QualityWarning, SolverError
from edgeopt.instances.rescue import generate
from edgeopt.models.rescue import solve_p1_lp
from edgeopt.online import simulate
from edgeopt.online.rescue.lookup_tables import value_functions
from edgeopt.online.value_iteration import (
    DecisionProcess,
    ProcessEnvironment,
    TablePolicy,
    average_reward,
    discounted,
    finite_horizon,
)
from tests.online.chains import gain_of, random_process, values_of

METHODS = ("value", "policy", "linear")
DISCOUNT = Fraction(7, 8)


def policies(process):
    """Return all stationary policies, as numbers of decisions."""
    first = process.first
    return itertools.product(*(range(a, b) for a, b in itertools.pairwise(first)))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(6))
def test_discounted_bounds_hold_the_exact_optimum(seed, method):
    process = random_process(seed)
    exact = [max(column) for column in zip(
        *(values_of(process, one, DISCOUNT) for one in policies(process)), strict=True
    )]  # fmt: skip
    found = discounted(process, float(DISCOUNT), method=method, tolerance=1e-10)
    mine = values_of(process, found.decision[0], DISCOUNT)
    for low, best, high, own in zip(found.low, exact, found.high, mine, strict=True):
        assert Fraction(low) <= own <= best <= Fraction(high)
    assert found.gap <= 1e-10 * max(map(abs, exact))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(6))
def test_gain_bounds_hold_the_exact_optimum(seed, method):
    process = random_process(seed, everywhere=True)
    best = max(gain_of(process, one) for one in policies(process))
    found = average_reward(process, method=method, tolerance=1e-9)
    assert Fraction(float(found.low)) <= gain_of(process, found.decision[0]) <= best
    assert best <= Fraction(float(found.high))
    assert found.gap <= 1e-9 * max(abs(found.low), abs(found.high))


@pytest.mark.parametrize("most", [1, 2, 5])
def test_bounds_hold_wherever_it_stops(most):
    process = random_process(7)
    exact = [max(column) for column in zip(
        *(values_of(process, one, DISCOUNT) for one in policies(process)), strict=True
    )]  # fmt: skip
    with pytest.warns(QualityWarning, match=f"stopped after {most} rounds"):
        found = discounted(process, float(DISCOUNT), tolerance=1e-15, inner=0, most=most)
    assert all(a <= v <= b for a, v, b in zip(found.low, exact, found.high, strict=True))
    mine = values_of(process, found.decision[0], DISCOUNT)
    assert all(a <= v for a, v in zip(found.low, mine, strict=True))


def test_gains_that_differ_between_states_are_bounded_together():
    # Two absorbing states: from one nothing is earned, from the other 1 per slot.
    two = DecisionProcess([0, 1], [0.0, 1.0], np.eye(2))
    with pytest.warns(QualityWarning):
        found = average_reward(two, most=50)
    assert (round(found.low, 9), round(found.high, 9)) == (0.0, 1.0)
    with pytest.raises(SolverError, match="several recurrent classes"):
        average_reward(two, method="policy")


def test_a_chain_with_a_period_settles():
    ring = DecisionProcess([0, 1, 2], [3.0, 0.0, 0.0], np.roll(np.eye(3), 1, axis=1))
    found = average_reward(ring, inner=0)
    assert found.low <= 1.0 <= found.high
    assert found.gap <= 1e-6


def test_finite_horizon_equals_a_recursion_in_exact_numbers():
    several = [random_process(seed, states=3, actions=2) for seed in range(4)]
    terminal = [1.0, -2.0, 0.5]

    @cache
    def worth(slot, state):
        if slot == len(several):
            return Fraction(terminal[state])
        one = several[slot]
        return max(
            Fraction(one.reward[p]) + DISCOUNT * sum(
                Fraction(one.transition[p, after]) * worth(slot + 1, after) for after in range(3)
            )
            for p in range(one.first[state], one.first[state + 1])
        )  # fmt: skip

    found = finite_horizon(several, terminal=terminal, discount=float(DISCOUNT))
    for slot, state in itertools.product(range(5), range(3)):
        assert found.low[slot, state] <= worth(slot, state) <= found.high[slot, state]
    assert found.gap < 1e-12
    same = finite_horizon(several[0], 6)
    assert same.value.shape == (7, 3)
    assert np.array_equal(same.value, finite_horizon([several[0]] * 6).value)


def test_a_machine_is_replaced_at_the_age_of_the_closed_form():
    running, price = 1.0, 20.0  # cost per age and slot, and of a new machine
    process = DecisionProcess.explore(
        [0],
        lambda age: ("keep", "replace") if 0 < age < 30 else ("replace",) if age else ("keep",),
        lambda age, what: (
            (-running * age, {age + 1: 1.0}) if what == "keep" else (-price, {1: 1.0})
        ),
    )
    # Replaced at age n, a cycle costs the price and the ages 1 to n - 1 in n - 1 + 1 slots.
    cost = {n: (price + running * n * (n - 1) / 2) / n for n in range(1, 31)}
    best = min(cost, key=cost.get)
    found = average_reward(process, tolerance=1e-9)
    assert found.low <= -cost[best] <= found.high
    ages = range(1, 30)
    assert min(age for age in ages if found.action(age) == "replace") == best


def test_stock_is_ordered_up_to_the_critical_fractile():
    holding, short, order, discount = 1.0, 9.0, 2.0, 0.9
    chance = np.array([0.1, 0.2, 0.3, 0.2, 0.1, 0.1])
    fractile = (short - (1 - discount) * order) / (short + holding)
    level = int(np.searchsorted(np.cumsum(chance), fractile))

    def step(stock, up_to):
        left = up_to - np.arange(chance.size)
        cost = holding * np.maximum(left, 0) + short * np.maximum(-left, 0)
        earned = -order * (up_to - stock) - float(chance @ cost)
        return earned, dict(zip(left.tolist(), chance.tolist(), strict=True))

    process = DecisionProcess.explore([0], lambda stock: range(max(stock, 0), 12), step)
    found = discounted(process, discount, tolerance=1e-9)
    for stock in range(-5, level + 1):
        assert found.action(stock) == level


def test_a_queue_admits_up_to_the_threshold_of_the_closed_form():
    # Naor (1969): reward for each admitted job, a cost for each in the system and unit of time.
    arrive, serve, reward, wait, room = 0.9, 1.0, 12.0, 1.0, 25
    clock, load = arrive + serve, arrive / serve

    def gain(most):
        share = load ** np.arange(most + 1)
        share /= share.sum()
        return arrive * reward * (1 - share[-1]) - wait * share @ np.arange(most + 1)

    def step(jobs, admit):
        earned = (arrive * reward * (admit and jobs < room) - wait * jobs) / clock
        return earned, [
            (min(jobs + admit, room), arrive / clock), (max(jobs - 1, 0), serve / clock)
        ]  # fmt: skip

    process = DecisionProcess.explore([0], lambda jobs: (False, True), step)
    best = max(range(1, room), key=gain)
    for method in METHODS:
        found = average_reward(process, method=method, tolerance=1e-9)
        assert found.low * clock <= gain(best) + 1e-12
        assert found.high * clock >= gain(best) - 1e-12
        assert next(n for n in range(room) if not found.action(n)) == best


def test_values_of_rescue_are_those_of_a_decision_process():
    """An idle server draws a task by the assignment, and begins it or waits for the next slot."""
    instance = generate(servers=1, devices=3, profiles=2, horizon=9, reserved=1, rng=3, longest=5)
    y = np.asarray(solve_p1_lp(instance).y)[:, :, 0]  # [T, J, L]
    assert instance.arrivals == "exclusive"
    baseline = value_functions(instance, np.asarray(solve_p1_lp(instance).y)).baseline[:, 0]
    profit, last = np.asarray(instance.expected_profit)[:, :, 0], instance.horizon

    def idle(slot):
        if slot >= last:
            return {"over": 1.0}
        kinds = {(slot, j, k): y[slot, j, k] for j, k in np.argwhere(y[slot])}
        return {**kinds, (slot, None): 1.0 - sum(kinds.values())}

    def actions(state):
        return ("wait",) if state == "over" or state[1] is None else ("wait", "begin")

    def step(state, action):
        if state == "over":
            return 0.0, {"over": 1.0}
        if action == "wait":
            return 0.0, idle(state[0] + 1)
        slot, j, k = state
        after = {}
        for length, chance in enumerate(instance.duration[k], start=1):
            for one, share in idle(min(slot + length, last)).items():
                after[one] = after.get(one, 0.0) + chance * share
        return float(profit[slot, j, k]), after

    process = DecisionProcess.explore([*idle(0)], actions, step)
    found = finite_horizon(process, last + 1)
    worth = sum(share * found.value[0, process.number(one)] for one, share in idle(0).items())
    assert worth == pytest.approx(baseline[0], rel=1e-12)
    assert baseline[0] > 0


def test_a_table_runs_in_simulate_as_it_is_valued():
    process = random_process(11, states=4)
    found = discounted(process, 0.9, tolerance=1e-9)
    environment = ProcessEnvironment(process, 2, 120)
    fast = simulate(environment, found.policy, runs=400, rng=5)
    slow = simulate(environment, found.policy, runs=20, rng=5, compiled=False)
    assert fast.compiled
    assert np.array_equal(fast.reward[:20], slow.reward)
    sums = fast.reward @ 0.9 ** np.arange(120)
    assert abs(sums.mean() - found.value[2]) < 4.5 * sums.std() / 20 + 1e-4
    backward = finite_horizon(process, 7)
    runs = simulate(ProcessEnvironment(process, 0, 7), backward.policy, runs=4000, rng=1)
    error = 4.5 * runs.total.std() / np.sqrt(4000)
    assert abs(runs.total.mean() - backward.value[0, 0]) < error


def test_arrays_and_enumeration_are_the_same_process():
    transition = np.random.default_rng(0).dirichlet(np.ones(4), (3, 4))
    reward = np.random.default_rng(1).normal(size=(4, 3))
    one = DecisionProcess.from_arrays(transition, reward)
    two = DecisionProcess.explore(
        range(4), lambda s: range(3), lambda s, a: (reward[s, a], dict(enumerate(transition[a, s])))
    )
    assert np.allclose(discounted(one, 0.9).value, discounted(two, 0.9).value)
    three = DecisionProcess.from_arrays(
        [sparse.csr_matrix(part) for part in transition],
        np.broadcast_to(reward.T[:, :, None], (3, 4, 4)),
    )
    assert np.allclose(three.reward, one.reward)
    allowed = np.ones((4, 3), dtype=bool)
    allowed[1, 2] = False
    fewer = DecisionProcess.from_arrays(transition, reward, allowed=allowed)
    assert fewer.reward.size == 11
    assert (discounted(fewer, 0.9).value <= discounted(one, 0.9).value + 1e-9).all()
    again = pickle.loads(pickle.dumps(one))
    assert np.array_equal(discounted(again, 0.9).value, discounted(one, 0.9).value)


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_the_unit_of_rewards_changes_nothing_but_the_scale(scale):
    process = random_process(3)
    scaled = DecisionProcess(process.state, process.reward * scale, process.transition)
    one, two = (discounted(each, 0.9, tolerance=1e-9) for each in (process, scaled))
    assert np.array_equal(one.decision, two.decision)
    assert np.allclose(one.value * scale, two.value, rtol=1e-8)


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ({"transition": [[0.5, 0.4], [0.0, 1.0]]}, r"transition\[0\] = 0.9: .*sum to 1"),
        ({"transition": [[1.5, -0.5], [0.0, 1.0]]}, "not negative"),
        ({"transition": [[np.nan, 1.0], [0.0, 1.0]]}, "finite"),
        ({"state": [0, 0]}, "state 1 must have a decision"),
        ({"state": [1, 0]}, "must ascend"),
        ({"state": [0, 2]}, "must have a decision"),
        ({"state": [0.0, 1.0]}, "whole"),
        ({"reward": [1.0]}, r"shape \(2,\)"),
        ({"reward": [1.0, np.inf]}, "finite"),
        ({"states": ["one"]}, "2 labels"),
    ],
)
def test_data_that_are_no_process_are_named(parts, text):
    with pytest.raises(InstanceError, match=text):
        DecisionProcess(**{"state": [0, 1], "reward": [0.0, 1.0], "transition": np.eye(2)} | parts)


COIN = DecisionProcess([0, 0, 1], [0.0, 1.0, 2.0], [[1, 0], [0, 1], [1, 0]])


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: discounted(COIN, 1.0), "discount"),
        (lambda: discounted(COIN, 0.9, method="simplex"), "method"),
        (lambda: discounted(COIN, 0.9, tolerance=0.0), "tolerance"),
        (lambda: discounted(COIN, 0.9, start=[0.0]), "start"),
        (lambda: finite_horizon(COIN), "horizon"),
        (lambda: finite_horizon([COIN], 2), "horizon = 2"),
        (lambda: finite_horizon(COIN, 2, terminal=np.nan), "terminal"),
        (lambda: DecisionProcess.explore([0], lambda s: [1], lambda s, a: (0, {s + 1: 1}), most=9),
         "more states"),
        (lambda: TablePolicy(COIN, [[2, 2]]), "decision of its state"),
        (lambda: ProcessEnvironment(COIN, 5, 3), "state 5"),
        (lambda: COIN.number("x"), "state 'x'"),
    ],
)  # fmt: skip
def test_options_out_of_range_are_named(call, text):
    with pytest.raises(OptionError, match=text):
        call()
