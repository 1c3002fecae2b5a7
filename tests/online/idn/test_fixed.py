"""Placements that never change: fixed ones, and static greedy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from edgeopt.errors import OptionError
from edgeopt.instances.idn import IdnInstance
from edgeopt.models.idn import Demand, greedy
from edgeopt.online import simulate
from edgeopt.online.idn import FixedPlacement, IdnEnvironment, Slot, StaticGreedy, serve
from tests.strategies import idn_instances


@given(idn_instances())
def test_every_slot_is_served_by_the_placement(instance: IdnInstance) -> None:
    everything = np.where(instance.pinned[:, np.newaxis], instance.repository, True)
    environment = IdnEnvironment(instance, "fluid")
    trajectory = simulate(environment, FixedPlacement(everything, "All"), runs=1, record=True)
    assert trajectory.name == "All"
    expected = [serve(instance, r, everything, order="fluid").cost for r in instance.requests]
    np.testing.assert_array_equal(trajectory.cost[0], expected)
    assert (trajectory.hosted == everything).all()
    assert trajectory.fetched.sum() == 0


@given(idn_instances())
def test_static_greedy_deploys_what_greedy_chose(instance: IdnInstance) -> None:
    policy = StaticGreedy.plan(instance)
    expected = greedy(instance, Demand.of(instance, normalised=True))
    np.testing.assert_array_equal(policy.allocation, expected)
    trajectory = simulate(IdnEnvironment(instance), policy, runs=1)
    assert trajectory.name == "Static greedy"
    assert (trajectory.violations == 0).all()


@given(idn_instances(horizon=3))
def test_static_greedy_plans_for_the_demand_that_it_is_given(instance: IdnInstance) -> None:
    weight = np.zeros(instance.horizon)
    weight[0] = 1.0
    first = Demand.of(instance, weight=weight)
    np.testing.assert_array_equal(
        StaticGreedy.plan(instance, first).allocation, greedy(instance, first)
    )


EDGE_AND_CLOUD = IdnInstance(
    edges=[[0, 1]],
    latency=[10.0],
    size=[[1.0, 1.0], [1.0, 1.0]],
    delay=[[1.0, 1.0], [1.0, 1.0]],
    capacity=[[5.0, 5.0], [np.inf, np.inf]],
    accuracy=[90.0, 80.0],
    task=[0, 0],
    budget=[1.0, 2.0],
    repository=[[False, False], [True, False]],
    request_task=[0],
    path=[[0, 1]],
    requests=[[3]],
)


@pytest.mark.parametrize(
    ("allocation", "named"),
    [
        ([[True, False]], "shape"),
        ([[1, 0], [1, 0]], "bool"),
        ([[True, False], [True, True]], "node 1"),
        ([[True, False], [False, False]], "node 1"),
    ],
)
def test_impossible_placements_are_named(allocation: list[list[bool]], named: str) -> None:
    with pytest.raises(OptionError, match=named):
        FixedPlacement(np.array(allocation)).start(EDGE_AND_CLOUD)


def test_the_placement_cannot_be_changed_afterwards() -> None:
    allocation = np.array([[True, False], [True, False]])
    policy = FixedPlacement(allocation)
    state = policy.start(EDGE_AND_CLOUD)
    allocation[0] = False
    decision, _ = policy.decide(state, Slot(0), np.random.default_rng(0))
    assert decision[0].tolist() == [True, False]
    with pytest.raises(ValueError, match="read-only"):
        decision[0, 0] = False
