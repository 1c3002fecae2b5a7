"""Compiled and plain loop agree, and results scale with the units of the instance."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgeopt.errors import InstanceError, OptionError
from edgeopt.instances.rescue import RescueInstance, ReservedTasks, generate
from edgeopt.online import simulate
from edgeopt.online.rescue import (
    Cvs,
    PickConfigs,
    RescueEnvironment,
    RescuePlus,
    RescueTrajectory,
)
from edgeopt.online.rescue import kernels as kernel
from edgeopt.online.rescue import lookup_tables as tables
from edgeopt.online.rescue.policies import Rule
from edgeopt.testing.strategies import rescue_instances
from tests.draws import every
from tests.rescue.plans import all_policies, expected_violations, plan_of
from tests.rescue.safe_cases import everybody
from tests.rescue.scaling import scaled

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
        simulate(environment, policy, rng=seed, runs=runs, keep_trace=True, compiled=compiled)
        for compiled in (False, True)
    )
    assert compiled.compiled
    assert not plain.compiled
    assert plain.name == compiled.name == policy.name
    return plain, compiled


@given(rescue_instances(arrivals=None, beyond=None), st.integers(0, 2**32 - 1))
def test_equals_the_plain_loop(instance, seed):
    environment = RescueEnvironment(instance)
    for policy in everybody(instance, plan_of(instance)):
        assert_equal(*both(environment, policy, seed=seed))


@pytest.mark.parametrize("arrivals", ["exclusive", "independent"])
@pytest.mark.parametrize("beyond", every(2, ["hold", "drop"]))
def test_equals_the_plain_loop_on_a_generated_instance(arrivals, beyond):
    """Long runs, many reserved tasks, an unexpanded profit model."""
    instance = generate(servers=3, devices=4, profiles=3, horizon=30, reserved=9, rng=2)
    instance = instance.replace(arrivals=arrivals, beyond=beyond)
    environment = RescueEnvironment(instance)
    for policy in everybody(instance, plan_of(instance)):
        plain, compiled = both(environment, policy, seed=0, runs=3)
        assert plain.accepted.any()
        assert_equal(plain, compiled)


@pytest.mark.parametrize("arrivals", ["exclusive", "independent"])
def test_blocks_of_slots_change_nothing(monkeypatch, arrivals):
    """Instances too large for one table are simulated block by block of slots."""
    instance = generate(servers=2, devices=3, profiles=2, horizon=20, reserved=4, rng=1)
    instance = instance.replace(arrivals=arrivals)
    plan = plan_of(instance)
    whole = [
        simulate(RescueEnvironment(instance), policy, rng=4, runs=5, keep_trace=True)
        for policy in everybody(instance, plan)
    ]
    monkeypatch.setattr(
        tables, "ENTRIES", 3 * instance.devices * instance.servers * instance.max_duration
    )
    environment = RescueEnvironment(instance)
    assert len(environment.profit.blocks) == 7
    for policy, expected in zip(everybody(instance, plan), whole, strict=True):
        for trajectory in both(environment, policy, seed=4, runs=5):
            assert_equal(trajectory, expected)


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
        def distribution(self, slot, device, valid):
            return []

    with pytest.raises(OptionError, match="no kernel follows a Never"):
        kernel.RescueKernel(RescueEnvironment(instance), Never(2, 2, None), "mine")


POWERS = (2.0**-40, 2.0**-34, 2.0**40)
OTHERS = (1e-10, 1e-8, 1e-5, 1e6, 1e10)


def run_policy(instance, policy, seed):
    return simulate(RescueEnvironment(instance), policy, rng=seed, runs=8, keep_trace=True)


def in_other_units(plan, instance, *, profit=1.0, work=1.0):
    """The plan of the instance in other units: only its prices change."""
    price = profit / np.broadcast_to(work, instance.servers)[instance.reserved.server]
    duals = replace(plan.duals, reserved=plan.duals.reserved * price)
    return replace(plan, objective=plan.objective * profit, duals=duals)


@given(
    instance=rescue_instances(reserved=True, arrivals=None),
    seed=st.integers(0, 2**32 - 1),
    guarded=st.booleans(),
    data=st.data(),
)
def test_powers_of_two_change_no_bit_of_a_decision_or_of_a_violation(instance, seed, guarded, data):
    plan = plan_of(instance)
    unit = {
        "profit": data.draw(st.sampled_from(POWERS)),
        "work": data.draw(st.sampled_from(POWERS)),
    }
    if data.draw(st.booleans()):  # the unit of one server's work alone
        unit["work"] = np.where(np.arange(instance.servers) == 0, unit["work"], 1.0)
    changed = scaled(instance, **unit)
    pairs = zip(
        all_policies(plan, guarded=guarded),
        all_policies(in_other_units(plan, instance, **unit), guarded=guarded),
        strict=True,
    )
    for policy, same in pairs:
        if isinstance(policy, Cvs) and np.ndim(unit["work"]):
            continue  # compares the work of one server with that of another
        before, after = run_policy(instance, policy, seed), run_policy(changed, same, seed)
        for name in ("device", "profile", "violations"):
            np.testing.assert_array_equal(getattr(before, name), getattr(after, name))
        np.testing.assert_array_equal(unit["profit"] * before.reward, after.reward)
        work = np.broadcast_to(unit["work"], instance.servers)[instance.reserved.server]
        served = before.served * work[:, np.newaxis]
        np.testing.assert_array_equal(served, after.served)


@given(
    instance=rescue_instances(reserved=True, arrivals=None),
    seed=st.integers(0, 2**32 - 1),
    work=st.sampled_from(OTHERS),
    uneven=st.booleans(),
)
def test_the_guard_holds_in_every_unit_and_who_fails_without_it_fails_in_all(
    instance, seed, work, uneven
):
    # Thirds and sevenths: what fits to the brim is off by rounding, in every unit another way.
    share = np.array([3.0, 7.0])[: instance.servers] if uneven else 1.0
    instance = scaled(instance, work=1.0 / np.broadcast_to(share, instance.servers))
    changed = scaled(instance, work=work)
    plan = plan_of(instance)
    other = in_other_units(plan, instance, work=work)
    for policy in all_policies(other, guarded=True):
        assert not run_policy(changed, policy, seed).violations.any(), policy.name
    pairs = zip(all_policies(plan, guarded=False), all_policies(other, guarded=False), strict=True)
    for policy, same in pairs:
        before, after = run_policy(instance, policy, seed), run_policy(changed, same, seed)
        if np.array_equal(before.profile, after.profile):  # no tie that rounding has broken
            np.testing.assert_array_equal(before.violations, after.violations)


def one_task(unit):
    """A run of two slots, worth it, on a server whose two slots a reserved task needs."""
    return RescueInstance(
        arrival=np.ones((2, 1)),
        duration=np.array([[0.0, 1.0]]),
        capacity=np.full((1, 2), unit),
        reserved=ReservedTasks([0], [0], [1], [2.0 * unit]),
        profit=np.ones((1, 1, 1, 1, 1)),
    )


@pytest.mark.parametrize("unit", [*POWERS, *OTHERS, 1.0, 2.0**-150])
def test_what_breaks_a_task_is_refused_and_counted_in_every_unit(unit):
    instance = one_task(unit)
    for compiled in (True, False):
        environment = RescueEnvironment(instance)
        free = simulate(environment, PickConfigs(), runs=2, compiled=compiled)
        assert free.violations.tolist() == [[0, 1]] * 2
        safe = simulate(environment, PickConfigs(guarded=True), runs=2, compiled=compiled)
        assert not safe.accepted.any()
        assert not safe.violations.any()
    assert expected_violations(instance, PickConfigs()) == 1
    assert expected_violations(instance, PickConfigs(guarded=True)) == 0


@pytest.mark.parametrize("unit", [*POWERS, *OTHERS, 1.0])
def test_a_tie_is_a_tie_in_every_unit_of_profit(unit):
    """Waiting is worth what the run is worth, but for the last digits of a sum of thirds."""
    instance = RescueInstance(
        arrival=np.ones((4, 1)),
        duration=np.array([[1.0]]),
        capacity=np.ones((1, 4)),
        reserved=ReservedTasks([0], [0], [3], [1.0]),
        profit=np.full((1, 1, 1, 1, 1), 1 / 3),
    )
    plan = in_other_units(plan_of(instance), instance, profit=unit * (1 - 1e-12))
    policy = RescuePlus(guarded=True, plan=plan)
    instance = scaled(instance, profit=unit)
    accepted = simulate(RescueEnvironment(instance), policy, runs=1).accepted
    assert accepted.sum() == 3  # slots are left of four


@pytest.mark.parametrize("unit", [2.0**-34, 1.0, 1e10])
def test_a_conflict_that_only_rounding_shows_is_named(unit):
    """The second task is so small beside the first that the rounding of the slot hides it."""
    with pytest.raises(InstanceError, match=r"tasks 0, 1 of server 0 cannot all be finished"):
        RescueInstance(
            arrival=np.ones((1, 1)),
            duration=np.ones((1, 1)),
            capacity=np.full((1, 1), unit),
            reserved=ReservedTasks([0, 0], [0, 0], [0, 0], [unit, unit * 1e-17]),
            profit=np.ones((1, 1, 1, 1, 1)),
        )
