"""Prices for reserved work: the instance on which the guard alone loses everything."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from edgeopt.instances.rescue import RescueInstance, ReservedTasks
from edgeopt.online.rescue import Rescue, RescuePlus, policy_value
from edgeopt.online.rescue.policies import blocked_capacity, reserved_charge
from tests.online.rescue.plans import plan_of
from tests.strategies import rescue_instances


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


def test_prices_recover_what_the_guard_loses():
    rare = crumb = 0.01
    instance = trap(rare, crumb)
    plan = plan_of(instance)
    assert plan.objective == pytest.approx(1 + (1 - rare) * crumb)
    lost = (1 - rare) * crumb + rare
    assert policy_value(instance, Rescue(guarded=True, plan=plan)) == pytest.approx(lost)
    plain = RescuePlus(guarded=True, plan=plan)
    assert policy_value(instance, plain) < 0.03
    priced = RescuePlus(guarded=True, plan=plan, price_reserved=True)
    assert policy_value(instance, priced) == pytest.approx(1.0)


@given(rescue_instances(reserved=True))
def test_a_charge_is_what_the_slots_of_a_run_cost(instance):
    tasks = instance.reserved
    dual = -np.array([1.5, 0.5, 1.0])[: len(tasks)]  # at most three; windows overlap
    charge = reserved_charge(instance, dual)
    offered = blocked_capacity(instance)
    T, _, K, L, D = instance.shape
    for t in range(T):
        for k in range(K):
            for profile in range(L):
                cost, work = 0.0, 0.0
                for age in range(D):
                    alive = instance.survival[profile, age]
                    work += alive * instance.capacity[k, min(t + age, T - 1)]
                    prices = [
                        instance.capacity[k, t + age] * -dual[i]
                        for i in tasks.of_server(k)
                        if tasks.start[i] <= t + age <= tasks.end[i]
                    ]
                    cost += alive * max(prices, default=0.0)
                assert charge[t, k, profile] == pytest.approx(cost)
                assert offered[t, k, profile] == pytest.approx(work)


def test_rounding_in_duals_is_no_subsidy():
    instance = trap(0.5, 1.0)
    assert not reserved_charge(instance, np.array([1e-9])).any()


@given(rescue_instances(reserved=False))
def test_without_reserved_work_prices_change_nothing(instance):
    plan = plan_of(instance)
    free, priced = (RescuePlus(plan=plan, price_reserved=price) for price in (False, True))
    assert policy_value(instance, free) == pytest.approx(policy_value(instance, priced))
