"""The slots of a frame that share its energy: equal parts, parts by demand, one price."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.errors import OptionError
from edgeopt.instances.edr import generate, mixed_price
from edgeopt.models.edr.routing import (
    Prices,
    conditions,
    dual_bound,
    routing_problem,
    solve_frame,
    solve_routing,
)
from edgeopt.models.edr.routing.network_simplex import solve_by_network
from tests.draws import draws
from tests.models.edr.routing_cases import cases, check_plan

ELASTIC = st.sampled_from(["soft", "shed"])
BUDGETS = ("even", "proportional", "price")


@settings(max_examples=draws(60))
@given(cases(split="even"), ELASTIC)
def test_one_price_is_optimal_for_the_frame(case, elastic):
    problem = case.problem
    plan = solve_frame(problem, elastic=elastic, gap=1e-12)
    check_plan(plan)
    best = case.penalised(problem.penalties(elastic))
    assert plan.objective == pytest.approx(best, rel=1e-7, abs=1e-7)
    assert plan.bound == pytest.approx(best, rel=1e-7, abs=1e-7)


@settings(max_examples=draws(50))
@given(cases(split="even"), ELASTIC, st.sampled_from(["even", "proportional"]))
def test_parts_of_a_budget_are_kept_slot_by_slot(case, elastic, budget):
    instance, problem = case.instance, case.problem
    plan = solve_frame(problem, elastic=elastic, budget=budget)
    check_plan(plan)
    need = np.ones(instance.slots)
    if budget == "proportional":
        means = []
        for row in range(problem.demand.size):
            ends = problem.site[problem.first[row] : problem.first[row + 1]]
            used = [problem.energy[k, row % instance.types] for k in ends]
            means.append(problem.demand.ravel()[row] * np.mean(used) if used else 0.0)
        need = np.reshape(means, (instance.slots, -1)).sum(axis=1)
    if not need.any():
        need = np.ones(instance.slots)
    for slot in range(instance.slots):
        alone = routing_problem(
            instance,
            conditions(instance, case.frame, slot),
            price=float(instance.price[case.frame]),
            training=case.training,
            budget=case.budget * need[slot] / need.sum() if np.isfinite(case.budget) else np.inf,
        )
        best = solve_by_network(alone, problem.penalties(elastic))
        mine = problem.slot == slot
        energy = float(plan.flow[mine] @ problem.route_energy[mine])
        unserved = float(plan.unserved[slot].sum())
        value = float(plan.flow[mine] @ problem.cost[mine])
        value += plan.penalties.unserved * unserved
        value += plan.penalties.excess * max(energy - alone.budget, 0.0)
        assert value == pytest.approx(best.objective, rel=1e-9, abs=1e-9)
        # Of the prices that slots pay the one that proves most is taken for all.
        prices = Prices(best.prices.energy, plan.prices.site, plan.prices.room)
        other = dual_bound(problem, prices, elastic)
        assert plan.bound >= other - 1e-9 * max(1.0, abs(other))
    whole = solve_routing(problem, elastic=elastic)
    close = 1e-9 * max(1.0, abs(whole.objective))
    assert plan.objective >= whole.objective - close
    assert plan.bound <= whole.objective + close


def test_the_price_alone_is_not_a_plan():
    instance = mixed_price()
    problem = routing_problem(instance, conditions(instance, 0, 0), price=1.0, budget=1.5)
    plan = solve_frame(problem)
    assert plan.energy == pytest.approx(1.5)
    assert plan.flow == pytest.approx([0.5, 0.5])
    assert plan.cost == pytest.approx(5.0)
    assert plan.energy_price == pytest.approx(10.0)
    assert plan.gap <= 1e-9


def uneven_frame(seed):
    """A frame that only minimises delay, the demand of its slots differing up to five times."""
    drawn = generate(
        rng=seed, sites=6, slots=6, types=2, tasks=0, frames=1, capped=None, capable_share=0.5,
        headroom=10.0,
    )  # fmt: skip
    scale = np.random.default_rng(1000 + seed).uniform(0.3, 1.7, drawn.slots)
    instance = drawn.replace(requests=drawn.requests * scale[:, None, None])
    slots = [conditions(instance, 0, slot) for slot in range(instance.slots)]
    return routing_problem(instance, slots, price=0.0)


def test_even_parts_cost_much_where_demand_is_uneven():
    """Caps between the least energy and that of the fastest routes, and half of that."""
    cost, excess = np.zeros((2, 3, 8)), np.zeros((2, 3, 8))
    for seed in range(8):
        problem = uneven_frame(seed)
        most = solve_routing(problem).energy
        least = solve_routing(problem.replace(cost=problem.route_energy)).energy
        for i, share in enumerate((0.1, 0.4)):
            capped = problem.replace(budget=least + share * (most - least))
            best = solve_routing(capped)
            assert best.excess == 0
            assert best.unserved.sum() == 0
            for b, budget in enumerate(BUDGETS):
                plan = solve_frame(capped, budget=budget)
                assert plan.bound <= best.objective * (1 + 1e-9)
                cost[i, b, seed] = plan.cost / best.cost - 1
                excess[i, b, seed] = plan.excess / capped.budget
    even, proportional, price = cost.mean(axis=2).T
    assert abs(price).max() < 1e-5
    assert (proportional < 0.03).all()
    assert even[1] > 0.15
    even, proportional, price = excess.mean(axis=2).T
    assert even[0] > 0.01
    assert proportional.max() < 1e-3
    assert price.max() == 0


def test_an_earlier_price_leads_to_the_same_plan():
    problem = uneven_frame(4)
    capped = problem.replace(budget=0.93 * solve_routing(problem).energy)
    cold = solve_frame(capped)
    warm = solve_frame(capped.replace(budget=capped.budget * 1.001), start=cold)
    assert warm.cost == pytest.approx(
        solve_frame(capped.replace(budget=capped.budget * 1.001)).cost, rel=1e-6
    )
    assert warm.gap <= 1e-6


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("budget", BUDGETS)
def test_a_frame_that_uses_no_energy_is_routed(budget):
    problem = uneven_frame(2)
    free = problem.replace(energy=np.zeros_like(problem.energy), budget=0.0)
    plan = solve_frame(free, budget=budget)
    assert plan.cost == pytest.approx(solve_routing(problem).cost)
    assert (plan.energy, plan.excess) == (0.0, 0.0)


def test_what_ties_slots_together_is_refused():
    instance = generate(sites=4, slots=2, frames=1, tasks=0, capped=None)
    slots = [conditions(instance, 0, slot) for slot in range(2)]
    training = 1.5 * instance.capacity
    tied = routing_problem(instance, slots, price=0.0, training=training, split="free")
    with pytest.raises(OptionError, match="free"):
        solve_frame(tied)
    with pytest.raises(OptionError, match="budget = 'half'"):
        solve_frame(routing_problem(instance, slots, price=0.0), budget="half")
