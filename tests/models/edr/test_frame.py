"""The slots of a frame that share its energy at one price."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgeopt.instances.edr import generate
from edgeopt.models.edr.routing import conditions, routing_problem, solve_routing
from tests.draws import draws
from tests.models.edr.routing_cases import cases, check_plan

ELASTIC = st.sampled_from(["soft", "shed"])


@settings(max_examples=draws(60))
@given(cases(split="even"), ELASTIC)
def test_one_price_is_optimal_for_the_frame(case, elastic):
    problem = case.problem
    plan = solve_routing(problem, elastic=elastic, gap=1e-12)
    check_plan(plan)
    best = case.penalised(problem.penalties(elastic))
    assert plan.objective == pytest.approx(best, rel=1e-7, abs=1e-7)
    assert plan.bound == pytest.approx(best, rel=1e-7, abs=1e-7)


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


def test_an_earlier_price_leads_to_the_same_plan():
    problem = uneven_frame(4)
    capped = problem.replace(budget=0.93 * solve_routing(problem).energy)
    cold = solve_routing(capped)
    warm = solve_routing(capped.replace(budget=capped.budget * 1.001), start=cold)
    assert warm.cost == pytest.approx(
        solve_routing(capped.replace(budget=capped.budget * 1.001)).cost, rel=1e-6
    )
    assert warm.gap <= 1e-6


@pytest.mark.filterwarnings("error")
def test_a_frame_that_uses_no_energy_is_routed():
    problem = uneven_frame(2)
    free = problem.replace(energy=np.zeros_like(problem.energy), budget=0.0)
    plan = solve_routing(free)
    assert plan.cost == pytest.approx(solve_routing(problem).cost)
    assert (plan.energy, plan.excess) == (0.0, 0.0)
