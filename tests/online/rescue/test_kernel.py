"""The compiled loop equals the plain one, bit by bit."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.instances.rescue import generate
from edgeopt.online import simulate
from edgeopt.online.rescue import PickConfigs, RescueEnvironment, RescueTrajectory, kernel, tables
from edgeopt.online.rescue.rules import Rule
from tests.online.rescue.plans import all_policies, plan_of
from tests.strategies import rescue_instances

BOOKED = [
    field.name
    for field in fields(RescueTrajectory)
    if field.name not in ("name", "seconds", "compiled")
]


def assert_equal(one: RescueTrajectory, two: RescueTrajectory) -> None:
    for name in BOOKED:
        left, right = getattr(one, name), getattr(two, name)
        assert left.dtype == right.dtype, name
        assert np.array_equal(left, right), name


def both(environment, policy, *, seed, runs=4):
    plain, compiled = (
        simulate(environment, policy, rng=seed, runs=runs, record=True, compiled=compiled)
        for compiled in (False, True)
    )
    assert compiled.compiled
    assert not plain.compiled
    assert plain.name == compiled.name == policy.name
    return plain, compiled


@given(rescue_instances(arrivals=None, beyond=None), st.integers(0, 2**32 - 1), st.booleans())
def test_equals_the_plain_loop(instance, seed, guarded):
    environment, plan = RescueEnvironment(instance), plan_of(instance)
    for policy in all_policies(plan, guarded=guarded):
        assert_equal(*both(environment, policy, seed=seed))


@pytest.mark.parametrize("arrivals", ["exclusive", "independent"])
@pytest.mark.parametrize("beyond", ["hold", "drop"])
@pytest.mark.parametrize("guarded", [False, True])
def test_equals_the_plain_loop_on_a_generated_instance(arrivals, beyond, guarded):
    """Long runs, many reserved tasks, an unexpanded profit model."""
    instance = generate(servers=3, devices=4, profiles=3, horizon=30, reserved=9, rng=2)
    instance = instance.replace(arrivals=arrivals, beyond=beyond)
    environment, plan = RescueEnvironment(instance), plan_of(instance)
    for policy in all_policies(plan, guarded=guarded):
        plain, compiled = both(environment, policy, seed=0, runs=3)
        assert plain.accepted.any()
        assert_equal(plain, compiled)


@pytest.mark.parametrize("arrivals", ["exclusive", "independent"])
def test_blocks_of_slots_change_nothing(monkeypatch, arrivals):
    """Instances too large for one table are played block by block of slots."""
    instance = generate(servers=2, devices=3, profiles=2, horizon=20, reserved=4, rng=1)
    instance = instance.replace(arrivals=arrivals)
    plan = plan_of(instance)
    for guarded in (False, True):
        whole = [
            simulate(RescueEnvironment(instance), policy, rng=4, runs=5, record=True)
            for policy in all_policies(plan, guarded=guarded)
        ]
        monkeypatch.setattr(
            tables, "ENTRIES", 3 * instance.devices * instance.servers * instance.max_duration
        )
        environment = RescueEnvironment(instance)
        assert len(environment.profit.blocks) == 7
        for policy, expected in zip(all_policies(plan, guarded=guarded), whole, strict=True):
            for trajectory in both(environment, policy, seed=4, runs=5):
                assert_equal(trajectory, expected)
        monkeypatch.undo()


def test_details_are_kept_only_when_recorded():
    instance = generate(servers=2, devices=2, profiles=2, horizon=10, reserved=2)
    for compiled in (False, True):
        trajectory = simulate(RescueEnvironment(instance), PickConfigs(), runs=2, compiled=compiled)
        assert trajectory.device is None
        assert trajectory.profile is None
        assert trajectory.served is None


def test_the_clock_leaves_compilation_out():
    """Seconds are those of the loop: building the kernel has run it once on no scenario."""
    instance = generate(servers=2, devices=2, profiles=2, horizon=10, reserved=2)
    environment, policy = RescueEnvironment(instance), PickConfigs()
    ready = policy.compiled(environment, policy.start(instance))
    nothing = ready(np.empty((0, 10, 1, 3)))
    assert nothing.reward.shape == (0, 10)
    assert nothing.seconds == pytest.approx(0, abs=1e-2)


def test_no_kernel_for_another_environment_or_rule():
    instance = generate(servers=2, devices=2, profiles=2, horizon=10, reserved=2)
    policy = PickConfigs()
    rule = policy.start(instance)
    assert policy.compiled(object(), rule) is None

    class Never(Rule):
        def choose(self, arrival):
            return None

        def law(self, slot, device, valid):
            return []

    with pytest.raises(OptionError, match="no kernel follows a Never"):
        kernel.RescueKernel(RescueEnvironment(instance), Never(2, 2, None), "mine")
