"""Exact values: backward, forward, joint and simulated agree."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.instances.rescue import generate, small
from edgeopt.online import simulate
from edgeopt.online.rescue import (
    PickConfigs,
    Rescue,
    RescueEnvironment,
    RescuePlus,
    Sumita,
    expected_violations,
    policy_value,
    value_functions,
)
from edgeopt.online.rescue.exact import follow
from tests.draws import draws
from tests.online.rescue.plans import all_policies, plan_of
from tests.strategies import rescue_instances

ALARM = 1e-6
"""Probability that a statistical test of this file fails although the code is right."""


@given(rescue_instances(arrivals=None, beyond=None))
def test_value_of_rescue_is_the_sum_of_its_baselines(instance):
    plan = plan_of(instance)
    baseline = value_functions(instance, plan.y).baseline
    assert policy_value(instance, Rescue(plan=plan)) == pytest.approx(
        baseline[:, 0].sum(), rel=1e-9, abs=1e-12
    )


@given(rescue_instances(arrivals=None, beyond=None))
def test_forward_recursion_equals_the_joint_distribution(instance):
    plan = plan_of(instance)
    for policy in (Rescue(plan=plan), Sumita(plan=plan)):
        rule = policy.start(instance)
        joint = follow(instance, rule.laws, track=False, limit=10**6, name="joint")
        assert joint.profit == pytest.approx(policy_value(instance, policy), rel=1e-9, abs=1e-12)


@given(rescue_instances(arrivals=None, beyond=None))
def test_rescue_plus_improves_on_rescue(instance):
    plan = plan_of(instance)
    better = policy_value(instance, RescuePlus(plan=plan))
    assert better >= policy_value(instance, Rescue(plan=plan)) - 1e-9


@pytest.mark.parametrize("arrivals", ["exclusive", "independent"])
@pytest.mark.parametrize("guarded", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_simulation_agrees_with_exact_values(seed, guarded, arrivals):
    """Hoeffding's inequality, which needs no approximation; the error is shared by all checks."""
    runs, instance = 40_000, small(seed + 10, arrivals=arrivals)
    steps = instance.devices if arrivals == "independent" else 1
    most = min(steps, instance.servers) * instance.realised_profit.max() * instance.horizon
    policies = all_policies(plan_of(instance), guarded=guarded)
    checks = 3 * 2 * 2 * len(policies) * 2
    width = math.sqrt(math.log(2 * checks / ALARM) / (2 * runs))
    for policy in policies:
        trajectory = simulate(RescueEnvironment(instance), policy, rng=seed, runs=runs)
        profit = policy_value(instance, policy)
        assert abs(trajectory.total.mean() - profit) <= width * most, policy.name
        failed = trajectory.violations.sum(axis=1).mean()
        expected = expected_violations(instance, policy)
        assert abs(failed - expected) <= width * len(instance.reserved), policy.name


@settings(max_examples=draws(50))
@given(rescue_instances(arrivals=None), st.booleans(), st.data())
def test_choices_follow_the_law(instance, guarded, data):
    """Coins on a fine grid: every placement takes its share of them."""
    from edgeopt.online.rescue import Arrival

    slot = data.draw(st.integers(0, instance.horizon - 1))
    device = data.draw(st.integers(0, instance.devices - 1))
    idle = np.array([data.draw(st.booleans()) for _ in range(instance.servers)])
    points = 240
    for policy in all_policies(plan_of(instance), guarded=guarded):
        rule = policy.start(instance)
        counts: dict[object, int] = {}
        for coin in (np.arange(points) + 0.5) / points:
            arrival = Arrival(slot, device, idle, instance.reserved.demand, float(coin))
            answer = rule.choose(arrival)
            counts[answer] = counts.get(answer, 0) + 1
        shares: dict[object, float] = {}
        for share, placement in rule.law(slot, device, rule.valid(arrival)):
            shares[placement] = shares.get(placement, 0.0) + share
        shares[None] = 1 - sum(shares.values())
        for answer in counts.keys() | shares.keys():
            # A share is an interval of coins, or for Sumita and rejection a few of them.
            slack = 1 + instance.servers * instance.profiles
            assert abs(counts.get(answer, 0) - points * shares.get(answer, 0.0)) <= slack


def test_gives_up_beyond_the_limit():
    instance = generate(servers=3, devices=3, profiles=2, horizon=12, reserved=3)
    with pytest.raises(OptionError, match="PickConfigs: more than 100 joint states in slot"):
        policy_value(instance, PickConfigs(), limit=100)
    with pytest.raises(OptionError, match="RESCUE: more than 10 joint states"):
        expected_violations(instance, Rescue(plan=plan_of(instance)), limit=10)


def test_refuses_a_policy_without_a_rule():
    with pytest.raises(OptionError, match="policy is a object"):
        policy_value(small(0), object())
