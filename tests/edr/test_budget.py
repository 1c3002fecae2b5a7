"""The energy of inference: how a frame splits it over slots, and what yields if it is short."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.models.edr.routing import conditions, routing_problem, solve_routing
from edgeopt.online import simulate
from edgeopt.online.edr.energy_budget import (
    BUDGETS,
    expected_needs,
    mean_need,
    slot_budget,
    update_needs,
)
from edgeopt.online.edr.environment import EdrEnvironment
from edgeopt.online.edr.events import ClosedFrame, Frame, Slot
from edgeopt.online.edr.policies.baselines import EvenRate, Greedy
from edgeopt.online.edr.policies.stochastic_control import Scenario
from edgeopt.testing.strategies import edr_instances
from tests.draws import draws
from tests.edr.scenarios import step_through, table, two_sites

if TYPE_CHECKING:
    from edgeopt.instances.edr import EdrInstance
    from edgeopt.online.edr.energy_budget import Budget
    from edgeopt.online.edr.policies.policy import EdrPolicy


def slot(number: int, *, spent: float = 0.0, cap: float = 20.0, training: float = 8.0) -> Slot:
    seen = conditions(two_sites(), 0, 0)
    return Slot(0, number, seen, cap, np.zeros(2), training, spent)


def test_even_shares_do_not_look_back_and_the_rest_is_what_is_left() -> None:
    assert slot_budget("even", slot(2, spent=9.0), 3) == 4.0
    assert slot_budget("left", slot(1, spent=9.0), 3) == 1.5
    assert slot_budget("left", slot(2, spent=9.0), 3) == 3.0
    needs = np.array([5.0, 1.0, 2.0])
    for split in ("proportional", "price"):
        assert slot_budget(split, slot(0), 3, needs) == 12.0 * 5 / 8  # type: ignore[arg-type]
        assert slot_budget(split, slot(1, spent=6.0), 3, needs) == 2.0  # type: ignore[arg-type]
        assert slot_budget(split, slot(1, spent=9.0), 3) == 1.5  # type: ignore[arg-type]
        assert slot_budget(split, slot(1, spent=9.0), 3, 0 * needs) == 1.5  # type: ignore[arg-type]


@pytest.mark.parametrize("split", BUDGETS)
def test_budgets_are_never_negative_and_endless_without_a_cap(split: Budget) -> None:
    assert slot_budget(split, slot(0, training=21.0), 3) == 0.0
    assert slot_budget(split, slot(0, cap=np.inf), 3) == np.inf
    if split != "even":
        assert slot_budget(split, slot(1, spent=13.0), 3) == 0.0


@given(
    st.sampled_from(["left", "proportional", "price"]),
    st.lists(st.integers(0, 5), min_size=1, max_size=5),
    st.lists(st.floats(0.0, 1.0), min_size=5, max_size=5),
)
def test_who_uses_its_budget_up_uses_the_room_up(
    split: Budget, needs: list[int], shares: list[float]
) -> None:
    slots = len(needs)
    spent = 0.0
    for number in range(slots):
        last = number == slots - 1
        now = slot(number, spent=spent)
        budget = slot_budget(split, now, slots, np.array(needs, dtype=float))
        assert spent + budget <= 12.0 + 1e-9
        spent += budget if last else budget * shares[number]
    # Where nothing is expected to be needed any more, what is left is split evenly.
    assert spent == pytest.approx(12.0) or split != "left"
    if needs[-1] > 0:
        assert spent == pytest.approx(12.0)


def test_needs_are_rescaled_to_the_requests_that_came() -> None:
    instance = two_sites()
    expected = np.ones((2, 2, 2))
    # A request takes 1.5 Wh of type 0, (1 + 2) / 2, and 4 Wh of type 1.
    assert mean_need(instance, expected).tolist() == [11.0, 11.0]
    seen = slot(1)
    updated = update_needs(instance, seen, expected, np.array([11.0, 4.0]))
    assert updated == pytest.approx([11.0, 4.0 * (5 * 1.5 + 4.0) / 11.0])
    nothing = update_needs(instance, seen, 0 * expected, np.array([11.0, 0.0]))
    assert nothing == pytest.approx([11.0, 11.5])


def frame_cost(instance: EdrInstance, frame: int, decisions: list[Any], terms: float) -> float:
    """Cost of a frame's flows at a price."""
    total = 0.0
    for d, decision in enumerate(decisions):
        flows = table(instance, decision)
        cost = instance.energy_weight * terms * instance.request_energy[None]
        cost = cost + instance.delay_weight * instance.request_seconds(frame, d)
        total += float((flows * cost).sum())
    return total


@settings(max_examples=draws(40))
@given(edr_instances(frames=1, tasks=0, capped=True, negative=False), st.integers(2, 4))
def test_one_price_with_foresight_is_the_best_split_where_delays_stay(
    drawn: EdrInstance, demand: int
) -> None:
    instance = drawn.replace(
        propagation=np.broadcast_to(drawn.propagation[:, :1], drawn.propagation.shape),
        slo=np.full_like(drawn.slo, drawn.slot_seconds),
        requests=drawn.requests * demand / 2,
    )
    all_slots = [conditions(instance, 0, d) for d in range(instance.slots)]
    price = float(instance.price_prior or 0.0)
    room = float(instance.cap[0])
    together = solve_routing(routing_problem(instance, all_slots, price=price, budget=room))
    environment = EdrEnvironment(instance, foresight=True)
    costs, energies, unserved = {}, {}, {}
    for split in BUDGETS:
        steps = step_through(environment, EvenRate(budget=split))
        decisions = [step.decision for step in steps if isinstance(step.seen, Slot)]
        flows = sum(table(instance, decision) for decision in decisions)
        costs[split] = frame_cost(instance, 0, decisions, price)
        energies[split] = float((np.sum(flows, axis=0) * instance.request_energy).sum())
        unserved[split] = float(instance.requests.sum() - np.sum(flows))
    # Whoever splits otherwise pays more or breaks the cap.
    assert unserved["price"] == pytest.approx(float(together.unserved.sum()), abs=1e-6)
    assert energies["price"] == pytest.approx(together.energy, abs=1e-6) or (
        energies["price"] <= room + 1e-6 and together.energy <= room + 1e-6
    )
    assert costs["price"] == pytest.approx(together.cost, rel=1e-6, abs=1e-6)
    for split in BUDGETS:
        assert unserved[split] == pytest.approx(unserved["price"], abs=1e-6)
        assert energies[split] > room + 1e-7 or costs[split] >= costs["price"] - 1e-6


def test_one_price_beats_even_shares_where_demand_varies() -> None:
    # The first slot asks for four times as much as the second.
    requests = np.zeros((1, 2, 2, 2))
    requests[0, :, 1, 0] = [4.0, 1.0]
    instance = two_sites(
        cap=[7.0], price=[0.0], price_prior=0.0, requests=requests, slo=np.full((1, 2, 2), 5.0),
        propagation=np.broadcast_to([[0.0, 1.0], [1.0, 0.0]], (1, 2, 2, 2)),
        rate=np.ones((1, 2, 2)), arrival=[0, 0], deadline=[0, 0], step_work=np.zeros((2, 2)),
    )  # fmt: skip
    costs = {}
    for split in ("even", "left", "price"):
        environment = EdrEnvironment(instance, foresight=True)
        steps = step_through(environment, EvenRate(budget=split))  # type: ignore[arg-type]
        decisions = [step.decision for step in steps if isinstance(step.seen, Slot)]
        costs[split] = frame_cost(instance, 0, decisions, 0.0)
    # At home a request takes 2 Wh and costs 0.25, away 1 Wh and 1.5. Together, 7 Wh let two of the
    # five stay at home; halves of 3.5 Wh let only that of the second slot.
    assert costs["price"] == pytest.approx(2 * 0.25 + 3 * 1.5)
    assert costs["even"] == pytest.approx(1 * 0.25 + 4 * 1.5)
    assert costs["left"] == pytest.approx(1 * 0.25 + 4 * 1.5)


def test_last_requests_stand_in_where_there_is_no_foresight() -> None:
    requests = np.zeros((3, 2, 2, 2))
    requests[0, :, 0, 0] = [3.0, 1.0]
    requests[1, :, 0, 0] = [2.0, 2.0]
    instance = two_sites(cap=[8.0, 8.0, 8.0], requests=requests)
    policy = EvenRate(budget="proportional")
    environment = EdrEnvironment(instance)
    episode, state = environment.episode(0), policy.start(environment.instance)
    seen_needs = []
    while (seen := episode.observe()) is not None:
        decision, state = policy.decide(state, seen, np.random.default_rng(0))
        if isinstance(seen, Frame):
            assert state.needs is None
        else:
            seen_needs.append(None if state.needs is None else state.needs.tolist())
        state = policy.learn(state, seen, decision, episode.act(decision))
    # Nothing to go by in frame 0; in frame 1 the pattern of frame 0, as corrected by what came.
    assert seen_needs[:2] == [None, None]
    assert seen_needs[2] == [3.0, 1.5]
    assert seen_needs[3] == [3.0, 3.0]


def test_splits_that_need_nothing_expect_nothing() -> None:
    instance = two_sites()
    terms = EvenRate().terms(None, step_through(EdrEnvironment(instance), EvenRate())[0].seen)  # type: ignore[arg-type]
    requests = np.ones((2, 2, 2))
    for split in ("even", "left"):
        assert expected_needs(split, instance, slot(0), requests, terms, "soft") is None  # type: ignore[arg-type]
    for split in ("proportional", "price"):
        endless = slot(0, cap=np.inf)
        assert expected_needs(split, instance, endless, requests, terms, "soft") is None  # type: ignore[arg-type]
        assert expected_needs(split, instance, slot(0), None, terms, "soft") is None  # type: ignore[arg-type]


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
    assert cautious.inference_energy[0] == pytest.approx([9.0, 18.0, 27.0])
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
