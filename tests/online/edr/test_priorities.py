"""Frames whose cap is too small: serve, keep the cap, train - in this order, or the cap first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings

from edgeopt.online import simulate
from edgeopt.online.edr.environment import EdrEnvironment
from edgeopt.online.edr.events import ClosedFrame, Frame, Slot
from edgeopt.online.edr.policies.baselines import EvenRate, Greedy
from tests.certified import linprog
from tests.draws import draws
from tests.online.edr.lives import delays, live, table, two_sites
from tests.strategies import edr_instances

if TYPE_CHECKING:
    from edgeopt.instances.edr import EdrInstance
    from edgeopt.online.edr.policies.policy import EdrPolicy


class SlotProgram:
    """The slot as a linear programme of its own, written row by row."""

    def __init__(self, instance: EdrInstance, seen: Slot) -> None:
        asked = instance.requests[seen.frame, seen.slot]
        seconds = delays(instance, seen.frame, seen.slot)
        limit = instance.slo[seen.frame, seen.slot]
        routes = [
            (j, k, n)
            for j, k, n in np.ndindex(seconds.shape)
            if asked[j, n] and instance.capable[k, n] and seconds[j, k, n] <= limit[n]
        ]
        rows = []
        for j, n in np.ndindex(asked.shape):
            rows.append(([float((a, c) == (j, n)) for a, _, c in routes], asked[j, n]))
        room = instance.capacity - seen.training / instance.slots
        for k in range(instance.sites):
            work = [instance.request_work[n] * (b == k) for _, b, n in routes]
            rows.append((work, max(room[k], 0.0)))
        self.asked = asked.sum()
        self.routes = routes
        self.rows = rows
        self.energy = [instance.request_energy[k, n] for _, k, n in routes]

    def least_unserved(self, budget: float = np.inf) -> float:
        """Requests that stay unserved at best within an energy budget."""
        if not self.routes:
            return float(self.asked)
        rows = [*self.rows, (self.energy, budget)] if np.isfinite(budget) else self.rows
        matrix, limit = zip(*rows, strict=True)
        found = linprog(-np.ones(len(self.routes)), A_ub=matrix, b_ub=limit)
        assert found.status == 0
        return float(self.asked + found.fun)

    def least_energy(self) -> float:
        """Energy of serving all that can be served."""
        if not self.routes:
            return 0.0
        matrix, limit = zip(*self.rows, strict=True)
        most = self.asked - self.least_unserved()
        served = np.ones((1, len(self.routes)))
        # The optimum is only known up to rounding.
        found = linprog(self.energy, A_ub=[*matrix, *-served], b_ub=[*limit, 1e-9 - most])
        assert found.status == 0
        return float(found.fun)


def slots(instance: EdrInstance, policy: EdrPolicy[Any]) -> list[tuple[Slot, np.ndarray]]:
    """Slots of a run, with the flows decided on."""
    steps = live(EdrEnvironment(instance), policy)
    return [
        (step.seen, table(instance, step.decision)) for step in steps if isinstance(step.seen, Slot)
    ]


@settings(max_examples=draws(40))
@given(edr_instances(capped=True))
def test_soft_serves_all_that_can_be_served_then_keeps_the_budget(instance: EdrInstance) -> None:
    for seen, flows in slots(instance, EvenRate(elastic="soft")):
        program = SlotProgram(instance, seen)
        unserved = program.asked - flows.sum()
        assert unserved == pytest.approx(program.least_unserved(), abs=1e-6)
        budget = max(seen.cap - seen.training_energy, 0.0) / instance.slots
        energy = (flows.sum(axis=0) * instance.request_energy).sum()
        if energy > budget + 1e-9:
            assert energy == pytest.approx(max(program.least_energy(), budget), abs=1e-6)


@settings(max_examples=draws(40))
@given(edr_instances(capped=True))
def test_shed_keeps_the_budget_then_serves_all_that_it_allows(instance: EdrInstance) -> None:
    for seen, flows in slots(instance, EvenRate(elastic="shed")):
        budget = max(seen.cap - seen.training_energy, 0.0) / instance.slots
        energy = (flows.sum(axis=0) * instance.request_energy).sum()
        assert energy <= budget + 1e-9
        unserved = SlotProgram(instance, seen).least_unserved(budget)
        assert instance.requests[seen.frame, seen.slot].sum() - flows.sum() == pytest.approx(
            unserved, abs=1e-6
        )


@pytest.mark.parametrize(
    "policy",
    [
        EvenRate(elastic="shed"),
        EvenRate(elastic="shed", budget="left", reserve=None),
        EvenRate(elastic="shed", budget="proportional"),
        EvenRate(elastic="shed", budget="price", guard=None),
        Greedy(elastic="shed"),
        Greedy(elastic="shed", budget="left", guard=None, reserve=None),
    ],
    ids=lambda policy: policy.name,
)
@settings(max_examples=draws(15))
@given(edr_instances(capped=True))
def test_whoever_sheds_never_breaks_a_cap(policy: EdrPolicy[Any], instance: EdrInstance) -> None:
    trajectory = simulate(EdrEnvironment(instance), policy, runs=1)
    assert not trajectory.violations.any()
    assert not trajectory.excess.any()


@pytest.mark.parametrize(
    "policy",
    [Greedy(), EvenRate(), EvenRate(guard=0.5), EvenRate(elastic="shed", guard=1.0)],
    ids=lambda policy: policy.name,
)
@settings(max_examples=draws(15))
@given(edr_instances(capped=True))
def test_training_leaves_what_inference_used_last_and_deadlines_yield_to_the_cap(
    policy: EdrPolicy[Any], instance: EdrInstance
) -> None:
    used = 0.0
    for step in live(EdrEnvironment(instance), policy):
        if isinstance(step.seen, Frame):
            energy = step.decision @ step.seen.round_energy  # type: ignore[operator]
            assert energy <= max(step.seen.cap - used, 0.0) + 1e-9
        if isinstance(step.feedback, ClosedFrame):
            used = step.feedback.energy - step.feedback.training_energy


def test_a_cap_of_zero_stops_training_and_is_broken_openly_or_kept_by_shedding() -> None:
    instance = two_sites(cap=[np.inf, 0.0, 0.0])
    soft = simulate(EdrEnvironment(instance), EvenRate(), runs=1)
    assert soft.rounds[0, 1:].sum() == 0
    assert soft.unserved.tolist() == [[0.0, 0.0, 0.0]]
    # Cheapest: 4 of the requests of type 0 at 1 Wh and 1 at 2 Wh, that of type 1 at 4 Wh.
    assert soft.excess.tolist() == [[0.0, 20.0, 20.0]]
    assert soft.violations.tolist() == [[0, 1, 1]]
    assert soft.missing.tolist() == [[2, 3]]
    shed = simulate(EdrEnvironment(instance), EvenRate(elastic="shed"), runs=1)
    assert shed.excess.tolist() == [[0.0, 0.0, 0.0]]
    assert shed.unserved.tolist() == [[0.0, 12.0, 12.0]]
    assert (shed.unserved_cost[0, 1:] > 0).all()


def test_shedding_leaves_the_requests_that_take_most_energy() -> None:
    # 3 Wh per slot: three requests of type 0 at site 0, nothing else.
    instance = two_sites(cap=[6.0, 6.0, 6.0], rounds=[1, 1], step_work=np.zeros((2, 2)))
    for seen, flows in slots(instance, EvenRate(elastic="shed")):
        assert flows.sum() == pytest.approx(3.0), seen
        assert flows[:, 0, 0].sum() == pytest.approx(3.0)
