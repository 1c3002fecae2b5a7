"""The energy of inference: how a frame splits it over slots, and what yields if it is short."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings

from edgeopt.models.edr.routing import conditions
from edgeopt.online import simulate
from edgeopt.online.edr.environment import EdrEnvironment
from edgeopt.online.edr.events import ClosedFrame, Frame, Slot
from edgeopt.online.edr.policies.baselines import EvenRate, Greedy
from edgeopt.online.edr.policies.policy import mean_need, slot_budget
from edgeopt.online.edr.policies.stochastic_control import Scenario
from edgeopt.testing.strategies import edr_instances
from tests.draws import draws
from tests.edr.scenarios import step_through, table, two_sites

if TYPE_CHECKING:
    from edgeopt.instances.edr import EdrInstance
    from edgeopt.online.edr.policies.policy import EdrPolicy


def slot(number: int, *, spent: float = 0.0, cap: float = 20.0, training: float = 8.0) -> Slot:
    seen = conditions(two_sites(), 0, 0)
    return Slot(0, number, seen, cap, np.zeros(2), training, spent)


def test_even_shares_do_not_look_back() -> None:
    assert slot_budget(slot(2, spent=9.0), 3) == 4.0
    assert slot_budget(slot(0), 3) == 4.0


def test_budgets_are_never_negative_and_endless_without_a_cap() -> None:
    assert slot_budget(slot(0, training=21.0), 3) == 0.0
    assert slot_budget(slot(0, cap=np.inf), 3) == np.inf


def test_requests_need_what_they_take_on_an_average_site() -> None:
    # A request takes 1.5 Wh of type 0, (1 + 2) / 2, and 4 Wh of type 1.
    assert mean_need(two_sites(), np.ones((2, 2, 2))).tolist() == [11.0, 11.0]


def slots(instance: EdrInstance, policy: EdrPolicy[Any]) -> list[tuple[Slot, np.ndarray]]:
    """Slots of a run, with the flows decided on."""
    steps = step_through(EdrEnvironment(instance), policy)
    return [
        (step.seen, table(instance, step.decision)) for step in steps if isinstance(step.seen, Slot)
    ]


@pytest.mark.parametrize(
    "policy",
    [
        Greedy(),
        EvenRate(),
        EvenRate(guard=0.5),
        EvenRate(elastic="shed", guard=1.0),
        EvenRate(reserve="trend"),
        Scenario(),
    ],
    ids=lambda policy: policy.name,
)
@settings(max_examples=draws(15))
@given(edr_instances(capped=True))
def test_training_leaves_what_inference_used_last_and_deadlines_yield_to_the_cap(
    policy: EdrPolicy[Any], instance: EdrInstance
) -> None:
    used: list[float] = []
    for step in step_through(EdrEnvironment(instance), policy):
        if isinstance(step.seen, Frame):
            reserve = used[-1] if used else 0.0
            if policy.reserve == "trend" and len(used) > 1:
                reserve += max(used[-1] - used[-2], 0.0)
            energy = step.decision @ step.seen.round_energy  # type: ignore[operator]
            assert energy <= max(step.seen.cap - reserve, 0.0) + 1e-9
        if isinstance(step.feedback, ClosedFrame):
            used.append(step.feedback.energy - step.feedback.training_energy)


def test_rising_inference_is_reserved_for_once_more() -> None:
    # Inference takes 9, 18 and then 27 Wh; three rounds a frame take 9 Wh.
    growing = np.array([1.0, 2.0, 3.0])[:, None, None, None]
    instance = two_sites(
        cap=[np.inf, np.inf, 35.0], requests=growing * np.tile([[1.0, 0.5], [1.5, 0.0]], (2, 1, 1)),
        arrival=[0, 0], deadline=[2, 2], rounds=[9, 1], capacity=[40.0, 80.0],
    )  # fmt: skip
    cautious, other = (
        simulate(EdrEnvironment(instance), EvenRate(guard=None, reserve=reserve), runs=1)
        for reserve in ("trend", "last")
    )
    assert (cautious.energy - cautious.training_energy)[0] == pytest.approx([9.0, 18.0, 27.0])
    assert cautious.training_energy[0, 2] == 6.0
    assert other.training_energy[0, 2] == 9.0
    assert not cautious.excess.any()
    assert other.excess[0, 2] == pytest.approx(1.0)


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
