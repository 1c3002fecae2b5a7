"""The guard: no reserved task fails, and what it forbids could have made one fail."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from edgeopt.instances.edf import demand_criterion
from edgeopt.instances.rescue import RescueInstance, ReservedTasks
from edgeopt.online import simulate
from edgeopt.online.rescue import (
    Arrival,
    Guard,
    PickConfigs,
    RandomPolicy,
    RescueEnvironment,
    expected_violations,
)
from tests.online.rescue.plans import all_policies, plan_of
from tests.strategies import rescue_instances

if TYPE_CHECKING:
    from edgeopt.online.rescue import Placement
    from edgeopt.online.rescue.rules import Rule


@given(rescue_instances(reserved=True, arrivals=None), st.integers(0, 2**32 - 1))
def test_no_reserved_task_ever_fails(instance, seed):
    environment = RescueEnvironment(instance)
    for policy in all_policies(plan_of(instance), guarded=True):
        trajectory = simulate(environment, policy, rng=seed, runs=20)
        assert not trajectory.violations.any(), policy.name


@given(rescue_instances(reserved=True, arrivals=None, horizon=3))
def test_no_reserved_task_fails_on_any_path(instance):
    """Exactly: violations have probability zero under every duration and coin."""
    for policy in (RandomPolicy(guarded=True), PickConfigs(guarded=True)):
        assert expected_violations(instance, policy) == 0


@dataclass(frozen=True, eq=False)
class Pressing(RandomPolicy):
    """Takes the first run that the guard allows, whatever it earns: presses as hard as it can."""

    def decide(
        self, state: Rule, observation: Arrival, rng: np.random.Generator | None = None
    ) -> tuple[Placement | None, Rule]:
        cells = np.argwhere(state.valid(observation))
        return (tuple(cells[-1].tolist()) if cells.size else None), state


@given(rescue_instances(reserved=True, arrivals=None), st.integers(0, 2**32 - 1))
def test_the_guard_holds_against_a_policy_that_presses(instance, seed):
    """Long profiles first, at every arrival, with demands that fill the capacity to the brim."""
    trajectory = simulate(
        RescueEnvironment(instance), Pressing(guarded=True), rng=seed, runs=10, compiled=False
    )
    assert not trajectory.violations.any()


@given(rescue_instances(reserved=True, servers=1), st.data())
def test_forbids_exactly_what_could_make_a_task_fail(instance, data):
    """Twin: the demand criterion of what is left, with no capacity while the run may last."""
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


def test_without_the_guard_tasks_do_fail():
    failed = simulate(RescueEnvironment(one_task()), PickConfigs(), runs=4).violations
    assert failed.tolist() == [[0, 1]] * 4
    assert expected_violations(one_task(), PickConfigs()) == 1
