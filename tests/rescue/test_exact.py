"""Exact values against simulation, the guard, and prices of reserved work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.instances.edf import demand_criterion
from edgeopt.instances.rescue import RescueInstance, ReservedTasks, generate, small
from edgeopt.online import simulate
from edgeopt.online.rescue import (
    Arrival,
    Guard,
    PickConfigs,
    RandomPolicy,
    Rescue,
    RescueEnvironment,
    RescuePlus,
    Sumita,
    policy_value,
)
from edgeopt.online.rescue.expected_value import follow
from edgeopt.online.rescue.policies import blocked_capacity
from edgeopt.testing.strategies import rescue_instances
from tests.draws import draws
from tests.rescue.plans import all_policies, expected_violations, plan_of

if TYPE_CHECKING:
    from edgeopt.online.rescue import Placement
    from edgeopt.online.rescue.policies import Rule


@given(rescue_instances(arrivals=None, beyond=None))
def test_forward_recursion_equals_the_joint_distribution(instance):
    plan = plan_of(instance)
    for policy in (Rescue(plan=plan), Sumita(plan=plan)):
        rule = policy.start(instance)
        joint = follow(instance, rule.distributions, track=False, limit=10**6, name="joint")
        assert joint.profit == pytest.approx(policy_value(instance, policy), rel=1e-9, abs=1e-12)


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
        for share, placement in rule.distributions(slot, idle, arrival.remaining)(device):
            if placement is not None:
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
    with pytest.raises(OptionError, match=r"policy is a object, .* exact_value takes any policy"):
        policy_value(small(0), object())


@dataclass(frozen=True, eq=False)
class Pressing(RandomPolicy):
    """Takes the first run that the guard allows, whatever it earns: presses as hard as it can."""

    def decide(
        self, state: Rule, observation: Arrival, rng: np.random.Generator | None = None
    ) -> tuple[Placement | None, Rule]:
        pairs = np.argwhere(
            state.permitted(observation.slot, observation.idle, observation.remaining)
        )
        return (tuple(pairs[-1].tolist()) if pairs.size else None), state


@given(rescue_instances(reserved=True, arrivals=None), st.integers(0, 2**32 - 1))
def test_the_guard_holds_against_a_policy_that_presses(instance, seed):
    """Long profiles first, at every arrival, with demands that fill the capacity to the brim."""
    trajectory = simulate(
        RescueEnvironment(instance), Pressing(guarded=True), rng=seed, runs=10, compiled=False
    )
    assert not trajectory.violations.any()


@given(rescue_instances(reserved=True, servers=1), st.data())
def test_forbids_exactly_what_could_make_a_task_fail(instance, data):
    """Reference: the demand criterion of what is left, with no capacity while the run may last."""
    tasks, guard = instance.reserved, Guard.of(instance)
    assume(len(tasks))
    slot = data.draw(st.integers(0, instance.horizon - 1))
    half = st.integers(0, 4).map(lambda n: n / 4)
    remaining = tasks.demand * np.array([data.draw(half) for _ in range(len(tasks))])
    for profile in range(instance.profiles):
        conflict = demand_criterion(
            tasks.start,
            tasks.end,
            tasks.demand,
            instance.capacity[0],
            remaining=remaining,
            slot=slot,
            free=slot + int(instance.longest[profile]),
        )
        assert guard.safe(0, profile, slot, remaining) == (conflict is None)


def one_task(**changes):
    """One server of capacity 1, a task of 1 in slots 0..1, a run of one or two slots."""
    fields = {
        "arrival": np.ones((2, 1)),
        "duration": np.array([[1.0, 0.0], [0.5, 0.5]]),
        "capacity": np.ones((1, 2)),
        "reserved": ReservedTasks([0], [0], [1], [1.0]),
        "profit": np.ones((1, 1, 1, 1, 1)),
    }
    return RescueInstance(**(fields | changes))


@pytest.mark.parametrize(
    ("slot", "left", "allowed"),
    [
        (0, 1.0, [True, False]),  # one slot is left for the task, or none
        (1, 1.0, [False, False]),
        (1, 0.0, [True, True]),
        (1, 1e-10, [True, True]),  # rounding is no demand
        (1, 1e-8, [False, False]),  # and this is more than rounding, though no failure yet
    ],
)
def test_by_hand(slot, left, allowed):
    guard = Guard.of(one_task())
    permitted = guard.permitted(np.array([True]), slot, np.array([left]))
    assert permitted.tolist() == [allowed]
    assert not guard.permitted(np.array([False]), slot, np.array([left])).any()


def test_dust_of_past_tasks_is_ignored():
    instance = one_task(reserved=ReservedTasks([0, 0], [0, 1], [0, 1], [1.0, 0.5]))
    guard = Guard.of(instance)
    assert guard.safe(0, 0, 0, np.array([0.0, 0.5]))
    assert not guard.safe(0, 0, 1, np.array([0.0, 0.5]))
    assert guard.safe(0, 1, 1, np.array([0.7, 0.0]))


def trap(rare: float, crumb: float) -> RescueInstance:
    """Crumbs for certain now, a rare feast next; reserved work needs one of the two slots."""
    profit = np.zeros((2, 2, 1, 1, 1))
    profit[0, 0], profit[1, 1] = crumb, 1 / rare
    return RescueInstance(
        arrival=np.array([[1.0, 0.0], [0.0, rare]]),
        duration=np.ones((1, 1)),
        capacity=np.ones((1, 2)),
        reserved=ReservedTasks([0], [0], [1], [1.0]),
        profit=profit,
    )


def test_the_guard_loses_what_the_plan_did_not_foresee():
    rare = crumb = 0.01
    instance = trap(rare, crumb)
    plan = plan_of(instance)
    assert plan.objective == pytest.approx(1 + (1 - rare) * crumb)
    lost = (1 - rare) * crumb + rare
    assert policy_value(instance, Rescue(guarded=True, plan=plan)) == pytest.approx(lost)
    assert policy_value(instance, RescuePlus(guarded=True, plan=plan)) < 0.03


@given(rescue_instances(reserved=True))
def test_blocked_capacity_is_that_of_the_slots_of_a_run(instance):
    offered = blocked_capacity(instance)
    T, _, K, L, D = instance.shape
    for t in range(T):
        for k in range(K):
            for profile in range(L):
                work = 0.0
                for age in range(D):
                    survival = instance.survival[profile, age]
                    work += survival * instance.capacity[k, min(t + age, T - 1)]
                assert offered[t, k, profile] == pytest.approx(work)
